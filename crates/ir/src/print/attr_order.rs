//! Computes the order in which the attributes of a function print (language 5.7; `include/tvm/runtime/container/map.h`).
//!
//! TVM keeps them in a map. Up to four attributes stay in the order written. Five or more are in a hash table with chains of
//! slots, which prints by slot. This module builds the same table, for its order only.

/// The most entries TVM's small map holds.
const MAX_SMALL: usize = 4;

/// The indices of the keys in printed order. All keys must be different.
pub(super) fn printed_order(keys: &[&str]) -> Vec<usize> {
    let written = 0..keys.len();
    if keys.len() <= MAX_SMALL {
        return written.collect();
    }
    let hashes: Vec<u64> = keys.iter().map(|key| hash(key.as_bytes())).collect();
    let mut table = Table::new(3);
    for key in written {
        if is_full(key, table.slots.len()) || table.insert(key, &hashes).is_none() {
            table = grown(&table, key, &hashes);
        }
    }
    table.entries().collect()
}

/// `BytesHash`, which is the hash of a string.
fn hash(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0, |hash: u64, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash.wrapping_mul(1_099_511_628_211).wrapping_add(u64::from_le_bytes(word)) % 2_147_483_647
    })
}

fn is_full(n_entries: usize, n_slots: usize) -> bool {
    (n_entries + 1) * 100 > n_slots * 99
}

/// Twice the slots: the new entry goes in first, then the old ones slot by slot.
fn grown(old: &Table, key: usize, hashes: &[u64]) -> Table {
    let mut bits = old.bits + 1;
    loop {
        let mut table = Table::new(bits);
        let mut all = [key].into_iter().chain(old.entries());
        if all.all(|key| table.insert(key, hashes).is_some()) {
            return table;
        }
        bits += 1;
    }
}

#[derive(Clone, Copy)]
enum Slot {
    Empty,
    /// Emptied for a new chain; must stay empty until then.
    Protected,
    Full {
        key: usize,
        is_head: bool,
        next: Option<usize>,
    },
}

struct Table {
    bits: u32,
    slots: Vec<Slot>,
}

impl Table {
    fn new(bits: u32) -> Table {
        Table { bits, slots: vec![Slot::Empty; 1 << bits] }
    }

    fn entries(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Full { key, .. } => Some(*key),
            Slot::Empty | Slot::Protected => None,
        })
    }

    /// Fibonacci hashing.
    fn home(&self, hash: u64) -> usize {
        (hash.wrapping_mul(11_400_714_819_323_198_485) >> (64 - self.bits)) as usize
    }

    fn next(&self, slot: usize) -> Option<usize> {
        match self.slots[slot] {
            Slot::Full { next, .. } => next,
            Slot::Empty | Slot::Protected => None,
        }
    }

    fn link(&mut self, from: usize, to: usize) {
        if let Slot::Full { next, .. } = &mut self.slots[from] {
            *next = Some(to);
        }
    }

    /// The first empty slot after one: 1, 2, … 15 further, then by triangular numbers.
    fn empty_after(&self, slot: usize) -> Option<usize> {
        let triangles = (6..).map(|n: usize| n * (n + 1) / 2).take(110);
        let at = |distance: usize| (slot + distance) & (self.slots.len() - 1);
        (1..16).chain(triangles).map(at).find(|&at| matches!(self.slots[at], Slot::Empty))
    }

    /// `None` where the table must grow.
    fn insert(&mut self, key: usize, hashes: &[u64]) -> Option<()> {
        let home = self.home(hashes[key]);
        let full = |is_head| Slot::Full { key, is_head, next: None };
        match self.slots[home] {
            Slot::Empty | Slot::Protected => self.slots[home] = full(true),
            Slot::Full { is_head: true, .. } => {
                let mut tail = home;
                while let Some(next) = self.next(tail) {
                    tail = next;
                }
                let empty = self.empty_after(tail)?;
                self.slots[empty] = full(false);
                self.link(tail, empty);
            }
            // The slot belongs to another chain: what is there and behind moves away.
            Slot::Full { is_head: false, .. } => {
                self.move_away(home, hashes)?;
                self.slots[home] = full(true);
            }
        }
        Some(())
    }

    fn move_away(&mut self, target: usize, hashes: &[u64]) -> Option<()> {
        let Slot::Full { key, .. } = self.slots[target] else { return Some(()) };
        let mut last = self.home(hashes[key]);
        while self.next(last) != Some(target) {
            last = self.next(last)?;
        }
        let mut from = Some(target);
        while let Some(slot) = from {
            let empty = self.empty_after(last)?;
            let Slot::Full { key, next, .. } = self.slots[slot] else { return Some(()) };
            self.slots[empty] = Slot::Full { key, is_head: false, next: None };
            self.slots[slot] = if slot == target { Slot::Protected } else { Slot::Empty };
            self.link(last, empty);
            (last, from) = (empty, next);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_and_more_print_by_slot() {
        let keys = ["Primitive", "hash", "data_layout", "kernel_layout", "out_layout"];
        assert_eq!(
            printed_order(&keys).iter().map(|&i| keys[i]).collect::<Vec<_>>(),
            ["Primitive", "hash", "kernel_layout", "data_layout", "out_layout"]
        );
        assert_eq!(printed_order(&keys[..4]), [0, 1, 2, 3]);
    }

    #[test]
    fn every_key_is_there_once() {
        let names: Vec<String> = (0..500).map(|i| format!("key_{i}")).collect();
        for n in [5, 7, 8, 15, 16, 33, 500] {
            let keys: Vec<&str> = names[..n].iter().map(String::as_str).collect();
            let mut order = printed_order(&keys);
            order.sort_unstable();
            assert_eq!(order, (0..n).collect::<Vec<_>>());
        }
    }
}
