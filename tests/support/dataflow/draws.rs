//! The decisions of a program: numbers of a generator, or bytes that are choices as long as there are any.

use fastrand::Rng;
use std::ops::{Bound, RangeBounds};
use std::vec::IntoIter;

pub struct Draws {
    choices: IntoIter<u8>,
    /// Decides what the choices leave open.
    rng: Rng,
}

impl Draws {
    pub fn of_seed(seed: u64) -> Draws {
        Draws::of_choices(&[], seed)
    }

    pub fn of_choices(choices: &[u8], seed: u64) -> Draws {
        Draws { choices: Vec::from(choices).into_iter(), rng: Rng::with_seed(seed) }
    }

    /// A number of a range without an end in the type; one choice tells 256 apart.
    fn chosen(&mut self, start: Bound<&i64>, end: Bound<&i64>) -> Option<i64> {
        let choice = i64::from(self.choices.next()?);
        let least = if let Bound::Included(&least) = start { least } else { 0 };
        let n = match end {
            Bound::Included(&most) => most - least + 1,
            Bound::Excluded(&end) => end - least,
            Bound::Unbounded => 256,
        };
        Some(least + choice % n)
    }

    pub fn usize(&mut self, range: impl RangeBounds<usize>) -> usize {
        let wide = |bound: Bound<&usize>| bound.map(|&at| at as i64);
        let (start, end) = (wide(range.start_bound()), wide(range.end_bound()));
        self.chosen(start.as_ref(), end.as_ref()).map_or_else(|| self.rng.usize(range), |chosen| chosen as usize)
    }

    pub fn u8(&mut self, range: impl RangeBounds<u8>) -> u8 {
        let wide = |bound: Bound<&u8>| bound.map(|&at| i64::from(at));
        let (start, end) = (wide(range.start_bound()), wide(range.end_bound()));
        self.chosen(start.as_ref(), end.as_ref()).map_or_else(|| self.rng.u8(range), |chosen| chosen as u8)
    }

    pub fn i32(&mut self, range: impl RangeBounds<i32>) -> i32 {
        let wide = |bound: Bound<&i32>| bound.map(|&at| i64::from(at));
        let (start, end) = (wide(range.start_bound()), wide(range.end_bound()));
        self.chosen(start.as_ref(), end.as_ref()).map_or_else(|| self.rng.i32(range), |chosen| chosen as i32)
    }

    pub fn bool(&mut self) -> bool {
        self.choices.next().map_or_else(|| self.rng.bool(), |choice| choice % 2 == 1)
    }

    /// From 0 up to 1.
    pub fn f32(&mut self) -> f32 {
        self.choices.next().map_or_else(|| self.rng.f32(), |choice| f32::from(choice) / 256.0)
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.rng.shuffle(items);
    }
}
