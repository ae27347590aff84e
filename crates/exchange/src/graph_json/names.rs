//! Generates TVM's names for compiled functions and their calls (`src/ir/name_supply.cc`, and `LowerToTECompute::Lower` of
//! `src/relay/backend/te_compiler_cache.cc`).

use rustc_hash::FxHashMap;

/// The prefix of function names: that of the module, which is `default` unless named.
const PREFIX: &str = "tvmgen_default_";

/// Longer names are truncated, with a hash of the whole name appended.
const MAX_LENGTH: usize = 80;

/// A supply of unique names.
#[derive(Default)]
pub(crate) struct Names {
    /// Number of repeated requests of each name.
    taken: FxHashMap<String, u32>,
}

impl Names {
    /// The name, or the first of `name_1`, `name_2`, … that is free. Dots become underscores.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        let name = name.replace('.', "_");
        let Some(mut again) = self.taken.get(&name).copied() else {
            self.taken.insert(name.clone(), 0);
            return name;
        };
        let free = loop {
            again = again.saturating_add(1);
            let free = format!("{name}_{again}");
            if !self.taken.contains_key(&free) {
                break free;
            }
        };
        self.taken.insert(name, again);
        self.taken.insert(free.clone(), 0);
        free
    }
}

/// The name of a function with these operators, before it is made unique: `nn.conv2d`, `add` give
/// `tvmgen_default_fused_nn.conv2d_add`.
pub(crate) fn function(ops: &[&str]) -> String {
    let mut name = "fused".to_owned();
    for op in ops {
        name.push('_');
        name.push_str(op);
    }
    // Names of operators are ASCII.
    match name.get(..MAX_LENGTH) {
        Some(start) if name.len() > MAX_LENGTH => format!("{PREFIX}{start}_{:x}_", hash(name.as_bytes())),
        _ => format!("{PREFIX}{name}"),
    }
}

/// MurmurHash64A in the variant of GNU's `std::hash<std::string>`, because TVM's names contain its values.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0xc70f_6907;
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    let mixed = |word: u64| word ^ (word >> 47);
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let mut hash = SEED ^ length.wrapping_mul(FACTOR);
    let mut words = bytes.chunks_exact(8);
    for word in words.by_ref() {
        let word = word.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        hash = (hash ^ mixed(word.wrapping_mul(FACTOR)).wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        hash = (hash ^ word).wrapping_mul(FACTOR);
    }
    mixed(mixed(hash).wrapping_mul(FACTOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_as_tvm_counts() {
        let mut names = Names::default();
        assert_eq!(names.fresh("fused_nn.relu"), "fused_nn_relu");
        assert_eq!(names.fresh("fused_nn.relu"), "fused_nn_relu_1");
        assert_eq!(names.fresh("fused_nn_relu"), "fused_nn_relu_2");
        // A number that somebody had before is passed over.
        assert_eq!(names.fresh("a_1"), "a_1");
        assert_eq!(names.fresh("a"), "a");
        assert_eq!(names.fresh("a"), "a_2");
    }

    #[test]
    fn long_names_are_cut_and_hashed() {
        assert_eq!(function(&["nn.conv2d", "add", "nn.relu"]), "tvmgen_default_fused_nn.conv2d_add_nn.relu");
        let long = function(&["nn.conv2d"; 12]);
        assert!(long.starts_with("tvmgen_default_fused_nn.conv2d_nn.conv2d_") && long.ends_with('_'), "{long}");
        let (before, _) = long.trim_end_matches('_').rsplit_once('_').expect("a hash behind");
        assert_eq!(before.len(), PREFIX.len() + MAX_LENGTH);
    }

    /// Compares with values of GNU's C++ library.
    #[test]
    fn the_hash_is_that_of_gnu() {
        assert_eq!(hash(b""), 0x553e_9390_1e46_2a6e);
        assert_eq!(hash(b"abc"), 0x32d8_2bf8_ed3d_ba39);
        assert_eq!(hash(b"fused_nn.conv2d_add_nn.relu"), 0x775e_afea_de5b_4318);
    }
}
