//! A map of what the latest programs used.

use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::hash::Hash;

/// Number of programs for which an entry is kept that none of them uses, if nothing else is said.
const PATIENCE: u64 = 16;

/// Values by key, each as long as one of the latest programs used it.
#[derive(Debug)]
pub struct Recent<K, V> {
    /// With the number of the last program that used it.
    of: FxHashMap<K, (V, u64)>,
    /// Number of programs so far.
    now: u64,
    patience: u64,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent::of(PATIENCE)
    }
}

impl<K, V> Recent<K, V> {
    /// Of values that are kept for so many programs that do not use them.
    pub fn of(patience: u64) -> Recent<K, V> {
        Recent { of: FxHashMap::default(), now: 0, patience }
    }
}

impl<K: Hash + Eq, V> Recent<K, V> {
    /// A value, which the current program uses then.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (value, used) = self.of.get_mut(key)?;
        *used = self.now;
        Some(value)
    }

    pub fn insert(&mut self, key: K, value: V) {
        self.of.insert(key, (value, self.now));
    }

    /// Ends a program: drops what none of the latest has used.
    pub fn end(&mut self) {
        let (now, patience) = (self.now, self.patience);
        self.of.retain(|_, (_, used)| *used + patience > now);
        self.now += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_goes() {
        let mut recent: Recent<String, u8> = Recent::default();
        recent.insert("a".into(), 1);
        recent.insert("b".into(), 2);
        for _ in 0..PATIENCE {
            assert!(recent.get("a").is_some());
            recent.end();
        }
        assert!(recent.get("b").is_some());
        for _ in 0..=PATIENCE {
            assert!(recent.get("a").is_some());
            recent.end();
        }
        assert!(recent.get("b").is_none());
    }
}
