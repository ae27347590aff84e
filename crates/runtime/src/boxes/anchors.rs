//! Boxes of the single shot detector: anchors with a class, moved and scaled by predictions.

use super::Operands;
use super::real::Real;
use crate::number::Number;
use crate::words::Words;

/// For each image, a line, the rows `class, probability, left, top, right, bottom` of the anchors with a class. The operands are
/// probabilities, predictions, anchors, rows, and the number of rows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Anchors {
    pub n_images: usize,
    pub n_classes: usize,
    pub n_anchors: usize,
    /// Bytes of an element, and what they mean.
    pub element: (usize, Number),
    /// Whether boxes are cut to the image.
    pub is_cut: bool,
    /// Whether the boxes of class 0 stay.
    pub has_background: bool,
    /// The least probability of another class.
    pub threshold: f64,
    /// The factors of predictions.
    pub variances: [f64; 4],
}

impl Anchors {
    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        let flags = usize::from(self.is_cut) + 2 * usize::from(self.has_background);
        [self.n_images, self.n_classes, self.n_anchors, flags].into_iter().for_each(|size| word(size as u64));
        Number::words(self.element).into_iter().for_each(&mut *word);
        [self.threshold].iter().chain(&self.variances).for_each(|number| word(number.to_bits()));
    }

    pub(super) fn read(words: &mut Words) -> Anchors {
        let [n_images, n_classes, n_anchors, flags] = core::array::from_fn(|_| words.number());
        let element = Number::read(words);
        let threshold = f64::from_bits(words.word());
        let variances = core::array::from_fn(|_| f64::from_bits(words.word()));
        let (is_cut, has_background) = (flags & 1 != 0, flags & 2 != 0);
        Anchors { n_images, n_classes, n_anchors, element, is_cut, has_background, threshold, variances }
    }

    /// # Safety
    /// The operands hold all images, and nobody else uses the results of this one.
    pub(super) unsafe fn image<T: Real>(&self, image: usize, operands: &Operands) {
        let (first, n) = (image * self.n_anchors, self.n_anchors);
        let mut to = first;
        for anchor in 0..n {
            // SAFETY: as the caller says.
            let read = |operand: usize, at: usize| unsafe { T::element(operands[operand], at, self.element) };
            // The most probable class, the first of several; NaN is none.
            let (mut best, mut score) = (0, -T::ONE);
            for class in usize::from(!self.has_background)..self.n_classes {
                let probability = read(0, (image * self.n_classes + class) * n + anchor);
                if probability > score {
                    (best, score) = (class, probability);
                }
            }
            if score < T::at(self.threshold) {
                best = 0;
            }
            if !self.has_background && best == 0 {
                continue;
            }
            let class = if self.has_background { best } else { best - 1 };
            let corners = core::array::from_fn(|at| read(2, anchor * 4 + at));
            let moved = self.moved(corners, core::array::from_fn(|at| read(1, (first + anchor) * 4 + at)));
            let row = [T::at(class as f64), score].into_iter().chain(moved);
            // SAFETY: there are as many rows as anchors.
            unsafe { self.put(to, row, operands) };
            to += 1;
        }
        // SAFETY: as above, and each image has a count.
        unsafe {
            operands[4].cast::<i32>().wrapping_add(image).write_unaligned((to - first) as i32);
            (to..first + n).for_each(|to| self.put(to, [-T::ONE; 6].into_iter(), operands));
        }
    }

    /// # Safety
    /// There is room for the row.
    unsafe fn put<T: Real>(&self, to: usize, row: impl Iterator<Item = T>, operands: &Operands) {
        // SAFETY: as the caller says.
        row.enumerate().for_each(|(at, value)| unsafe { value.put(operands[3], to * 6 + at, self.element) });
    }

    /// An anchor, moved by shares of its size and scaled by powers of e.
    fn moved<T: Real>(&self, anchor: [T; 4], prediction: [T; 4]) -> [T; 4] {
        let two = T::at(2.0);
        let change = |at: usize| prediction[at] * T::at(self.variances[at]);
        let axis = |at: usize| {
            let (low, high) = (anchor[at], anchor[at + 2]);
            let middle = change(at) * (high - low) + (low + high) / two;
            let half = T::at(exp(change(at + 2).to_f64())) * (high - low) / two;
            [middle - half, middle + half]
        };
        let ([left, right], [top, bottom]) = (axis(0), axis(1));
        [left, top, right, bottom].map(|x| if self.is_cut { x.least(T::ONE).most(T::ZERO) } else { x })
    }
}

/// `e^x`, to the last place or the one before.
fn exp(x: f64) -> f64 {
    // ln 2 without its last bits, so that its products with exponents are exact, and the rest.
    const HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    if !(-746.0..711.0).contains(&x) {
        return match () {
            () if x.is_nan() => x,
            () if x > 0.0 => f64::INFINITY,
            () => 0.0,
        };
    }
    let quotient = x * core::f64::consts::LOG2_E;
    let n = (if x < 0.0 { quotient - 0.5 } else { quotient + 0.5 }) as i64;
    let r = x - n as f64 * HIGH - n as f64 * LOW;
    // Taylor's series, cut where a term no longer reaches the last place.
    let sum = (1..14).rev().fold(1.0, |sum, k| 1.0 + sum * r / f64::from(k));
    let power = |n: i64| f64::from_bits(((n + 1023) as u64) << 52);
    // Two factors of about half the exponent each: the first product is exact.
    sum * power(n / 2) * power(n - n / 2)
}

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn powers_of_e() {
        for x in (-7460..7110).map(|n| f64::from(n) / 10.0).chain([1e-300, -1e-20, f64::NEG_INFINITY, f64::INFINITY]) {
            let (found, expected) = (exp(x), x.exp());
            let is_near = (found - expected).abs() <= 4.0 * f64::EPSILON * expected + f64::from_bits(4);
            assert!(found == expected || is_near, "exp({x}) is {found:e}, not {expected:e}");
        }
        assert!(exp(f64::NAN).is_nan());
    }
}
