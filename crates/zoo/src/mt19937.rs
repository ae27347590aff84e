//! NumPy's legacy random numbers: `numpy.random.seed(n)`, then `random_sample()`.
//!
//! The Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded by Knuth's recurrence. A double has 53 random bits from
//! two outputs. A block of states is computed at once, for speed.

const N: usize = 624;
const M: usize = 397;

pub(crate) struct Mt19937 {
    state: [u32; N],
    /// The doubles made from `state`, and how many of them are used.
    doubles: [f64; N / 2],
    used: usize,
}

impl Mt19937 {
    pub(crate) fn new(seed: u32) -> Mt19937 {
        let mut state = [seed; N];
        for i in 1..N {
            let last = state[i - 1];
            state[i] = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Mt19937 { state, doubles: [0.0; N / 2], used: N / 2 }
    }

    /// Passes the next `n` doubles in `[0, 1)` to `take`, some at a time.
    pub(crate) fn fill(&mut self, n: usize, mut take: impl FnMut(&[f64])) {
        let mut left = n;
        while left > 0 {
            if self.used == N / 2 {
                self.next_block();
            }
            let n = left.min(N / 2 - self.used);
            take(&self.doubles[self.used..self.used + n]);
            self.used += n;
            left -= n;
        }
    }

    fn next_block(&mut self) {
        let state = &mut self.state;
        // Each new word depends on old ones to its right, or on new ones at least N - M to its left: no chain within a loop.
        for i in 0..N - M {
            state[i] = state[i + M] ^ twist(state[i], state[i + 1]);
        }
        for i in N - M..N - 1 {
            state[i] = state[i + M - N] ^ twist(state[i], state[i + 1]);
        }
        state[N - 1] = state[M - 1] ^ twist(state[N - 1], state[0]);
        for (double, pair) in self.doubles.iter_mut().zip(state.chunks_exact(2)) {
            // 27 bits and 26 bits; all steps are exact.
            let (high, low) = (temper(pair[0]) >> 5, temper(pair[1]) >> 6);
            *double = (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0;
        }
        self.used = 0;
    }
}

fn twist(high: u32, low: u32) -> u32 {
    let word = (high & 0x8000_0000) | (low & 0x7fff_ffff);
    (word >> 1) ^ ((word & 1).wrapping_neg() & 0x9908_b0df)
}

fn temper(mut word: u32) -> u32 {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    word ^ (word >> 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nth(seed: u32, nths: &[usize]) -> Vec<f64> {
        let mut all = vec![];
        Mt19937::new(seed).fill(nths.iter().max().map_or(0, |n| n + 1), |some| all.extend_from_slice(some));
        nths.iter().map(|&n| all[n]).collect()
    }

    #[test]
    fn as_numpy() {
        assert_eq!(nth(0, &[0, 1, 2]), [0.5488135039273248, 0.7151893663724195, 0.6027633760716439]);
        // Around the blocks' ends.
        let nths = [311, 312, 623, 624, 9999];
        let of_0 = [0.14694664540037505, 0.07952208258675575, 0.8130538632474607, 0.97622566345382, 0.8135750799512289];
        let of_max = [0.2845819535787153, 0.89887815082878, 0.16177415711968401, 0.558929113358157, 0.4906684539227597];
        assert_eq!(nth(0, &nths), of_0);
        assert_eq!(nth(u32::MAX, &nths), of_max);
    }

    #[test]
    fn pieces_continue_each_other() {
        let mut random = Mt19937::new(1);
        let mut pieces = vec![];
        [0, 1, 310, 2, 700].into_iter().for_each(|n| random.fill(n, |some| pieces.extend_from_slice(some)));
        let mut whole = vec![];
        Mt19937::new(1).fill(1013, |some| whole.extend_from_slice(some));
        assert_eq!(pieces, whole);
    }
}
