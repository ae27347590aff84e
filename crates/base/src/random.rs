//! Random numbers that are the same on every machine: the SplitMix64 generator (Steele, Lea, Flood, 2014).

/// The generator: a counter whose bits are mixed.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream for a seed and a name; the name is hashed with FNV-1a.
    pub fn new(seed: u64, name: &str) -> SplitMix64 {
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        let mut mixed = SplitMix64 { state: hash };
        SplitMix64 { state: seed ^ mixed.next_u64() }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next multiple of 2^-bits in [0, 1), taken from the highest bits; `bits` is at most 53.
    pub fn next_unit(&mut self, bits: u32) -> f64 {
        (self.next_u64() >> (64 - bits)) as f64 / (1u64 << bits) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference values from state 0.
    #[test]
    fn the_numbers_never_change() {
        let mut stream = SplitMix64 { state: 0 };
        assert_eq!([stream.next_u64(), stream.next_u64()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }
}
