//! Regions of interest: boxes of images, cut into bins of which each becomes an element.

use super::real::Real;
use super::{Operands, Wrong};
use crate::number::Number;
use crate::words::Words;

/// Rows `image, left, top, right, bottom`, each a line: the bins of the box in all channels of the image. The operands are images,
/// rows, and the result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Regions {
    pub n_images: usize,
    pub n_channels: usize,
    pub dims: [usize; 2],
    /// Whether the channels of a position lie one after the other.
    pub channels_last: bool,
    pub n_rows: usize,
    pub bins: [usize; 2],
    /// The factor from coordinates of rows to coordinates of images.
    pub scale: f64,
    /// Bytes of an element of images and of rows, and what they mean.
    pub element: (usize, Number),
    pub row: (usize, Number),
    pub of_bin: OfBin,
    /// The number of points of a bin along an axis; 0 for its number of elements.
    pub n_points: usize,
}

/// What becomes of a bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfBin {
    /// The mean of points, each interpolated between four elements.
    Mean,
    /// The largest point.
    Largest,
    /// The largest element.
    LargestElement,
}

/// The most points of a bin: a region may be as large as a float.
const MAX_POINTS: f64 = 16_777_216.0;

/// So many channels are computed at once, each point having its weights once for all of them.
const TOGETHER: usize = 16;

/// The elements around a coordinate, and their weights.
#[derive(Clone, Copy)]
struct Taps<T> {
    n: usize,
    at: [usize; 2],
    weights: [T; 2],
}

impl Regions {
    pub(super) fn is_wide(&self) -> bool {
        self.element.0 == 8 || self.row.0 == 8
    }

    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        let [height, width] = self.dims;
        let of_bin = match self.of_bin {
            OfBin::Mean => 0,
            OfBin::Largest => 1,
            OfBin::LargestElement => 2,
        };
        let channels_last = usize::from(self.channels_last);
        let sizes = [self.n_images, self.n_channels, height, width, channels_last, self.n_rows, self.bins[0], self.bins[1]];
        sizes.iter().for_each(|&size| word(size as u64));
        [self.element, self.row].into_iter().flat_map(Number::words).for_each(&mut *word);
        [self.scale.to_bits(), of_bin, self.n_points as u64].into_iter().for_each(word);
    }

    pub(super) fn read(words: &mut Words) -> Regions {
        let [n_images, n_channels, height, width, channels_last, n_rows, rows, columns] =
            core::array::from_fn(|_| words.number());
        let [element, row] = core::array::from_fn(|_| Number::read(words));
        let scale = f64::from_bits(words.word());
        let of_bin = match words.word() {
            0 => OfBin::Mean,
            1 => OfBin::Largest,
            _ => OfBin::LargestElement,
        };
        Regions {
            n_images,
            n_channels,
            dims: [height, width],
            channels_last: channels_last != 0,
            n_rows,
            bins: [rows, columns],
            scale,
            element,
            row,
            of_bin,
            n_points: words.number(),
        }
    }

    /// # Safety
    /// There is such a row.
    unsafe fn row<T: Real>(&self, row: usize, operands: &Operands) -> [T; 5] {
        // SAFETY: as the caller says.
        core::array::from_fn(|at| unsafe { T::element(operands[1], row * 5 + at, self.row) })
    }

    /// Errors: the first row of an image that is not there, or with too many points.
    ///
    /// # Safety
    /// The operands hold all rows.
    pub(super) unsafe fn check<T: Real>(&self, operands: &Operands) -> Result<(), Wrong> {
        for at in 0..self.n_rows {
            // SAFETY: as the caller says.
            unsafe { self.sound_row::<T>(at, operands) }?;
        }
        Ok(())
    }

    /// A row. Errors: that it is of an image that is not there, or has too many points.
    ///
    /// # Safety
    /// There is such a row.
    unsafe fn sound_row<T: Real>(&self, at: usize, operands: &Operands) -> Result<[T; 5], Wrong> {
        // SAFETY: as the caller says.
        let row = unsafe { self.row::<T>(at, operands) };
        let image = row[0].to_f64();
        let is_there = image > -1.0 && (image as usize) < self.n_images;
        let too_many = || self.of_bin != OfBin::LargestElement && self.points(&row).iter().product::<f64>() > MAX_POINTS;
        if is_there && !too_many() { Ok(row) } else { Err(Wrong { message: usize::from(is_there), number: Some(at as i128) }) }
    }

    /// Where a region starts along an axis, and the length of a bin.
    fn side<T: Real>(&self, row: &[T; 5], axis: usize) -> (T, T) {
        let scale = T::at(self.scale);
        let (start, end) = (row[2 - axis] * scale, row[4 - axis] * scale);
        (start, (end - start).most(T::ONE) / T::at(self.bins[axis] as f64))
    }

    /// The number of points of a bin along both axes.
    fn points<T: Real>(&self, row: &[T; 5]) -> [f64; 2] {
        [0, 1].map(|axis| match self.n_points {
            0 => ceil(self.side(row, axis).1.to_f64()),
            n => n as f64,
        })
    }

    /// # Safety
    /// The operands hold all rows and were [checked](Regions::check); no other thread uses the result of this row.
    pub(super) unsafe fn line<T: Real>(&self, line: usize, operands: &Operands) {
        // SAFETY: as the caller says. Another thread of the caller may have changed the row since it was checked.
        let Ok(row) = (unsafe { self.sound_row::<T>(line, operands) }) else { return };
        let n_bins = self.bins[0] * self.bins[1];
        for bin in 0..n_bins {
            let at = [bin / self.bins[1], bin % self.bins[1]];
            // SAFETY: as the caller says.
            if let Some(values) = unsafe { self.in_place(line * n_bins + bin, operands) } {
                let images = operands[0].cast::<T>();
                // SAFETY: as the caller says.
                unsafe { self.sampled::<T, true>(&row, at, 0, values, |at| images.wrapping_add(at).read_unaligned()) };
                continue;
            }
            for first in (0..self.n_channels).step_by(TOGETHER) {
                let n = TOGETHER.min(self.n_channels - first);
                let mut values = [T::ZERO; TOGETHER];
                let images = operands[0];
                let element = |at: usize| {
                    // SAFETY: `sampled` asks for elements that are there.
                    unsafe { T::element(images, at, self.element) }
                };
                // SAFETY: as the caller says.
                unsafe {
                    match self.of_bin {
                        OfBin::LargestElement => self.elements(&row, at, first, images, &mut values[..n]),
                        _ => self.sampled::<T, false>(&row, at, first, &mut values[..n], element),
                    }
                }
                for (channel, value) in (first..).zip(&values[..n]) {
                    let place = match self.channels_last {
                        true => (line * n_bins + bin) * self.n_channels + channel,
                        false => (line * self.n_channels + channel) * n_bins + bin,
                    };
                    // SAFETY: the result has as many elements.
                    unsafe { value.put(operands[2], place, self.element) };
                }
            }
        }
    }

    /// A bin of the result, if it can be computed where it lies: all channels one after the other, with a point's weights once for all
    /// and whole vectors of elements.
    ///
    /// # Safety
    /// The result has such a bin, and no other thread uses it.
    unsafe fn in_place<'a, T: Real>(&self, bin: usize, operands: &Operands) -> Option<&'a mut [T]> {
        let values = operands[2].cast::<T>().wrapping_add(bin * self.n_channels);
        let is_own = self.element.0 == size_of::<T>() && self.of_bin != OfBin::LargestElement;
        let lies_so = self.channels_last && is_own && values.is_aligned();
        // SAFETY: as the caller says.
        lies_so.then(|| unsafe { core::slice::from_raw_parts_mut(values, self.n_channels) })
    }

    /// The position of a channel in an image, and the distances of channels, rows, and columns.
    fn places(&self, image: usize, channel: usize) -> (usize, [usize; 3]) {
        let [height, width] = self.dims;
        let n = self.n_channels;
        let start = image * n * height * width;
        match self.channels_last {
            true => (start + channel, [1, width * n, n]),
            false => (start + channel * height * width, [height * width, width, 1]),
        }
    }

    /// Samples a bin in channels from `first` on, as many as there are values; `DENSE` if they lie one after the other.
    ///
    /// # Safety
    /// The images have these channels, and `element` reads an element of them.
    #[inline(always)]
    unsafe fn sampled<T: Real, const DENSE: bool>(
        &self,
        row: &[T; 5],
        bin: [usize; 2],
        first: usize,
        values: &mut [T],
        element: impl Fn(usize) -> T,
    ) {
        let n_points = self.points(row);
        let count = n_points[0] * n_points[1];
        // SAFETY: as the caller says.
        unsafe {
            if self.of_bin != OfBin::Mean {
                self.merged::<T, DENSE>(row, bin, first, values, element, T::at(f64::NEG_INFINITY), T::largest);
            } else if (count as u64).is_power_of_two() {
                // A power of two divides as its reciprocal multiplies.
                let share = T::at(1.0 / count);
                self.merged::<T, DENSE>(row, bin, first, values, element, T::ZERO, |sum, sample| sum + sample * share);
            } else {
                let count = T::at(count);
                self.merged::<T, DENSE>(row, bin, first, values, element, T::ZERO, |sum, sample| sum + sample / count);
            }
        }
    }

    /// Merges the points of a bin, beginning with `none`.
    ///
    /// # Safety
    /// As of [`Regions::sampled`].
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "a loop over points, inlined for each way to merge them")]
    unsafe fn merged<T: Real, const DENSE: bool>(
        &self,
        row: &[T; 5],
        bin: [usize; 2],
        first: usize,
        values: &mut [T],
        element: impl Fn(usize) -> T,
        none: T,
        merge: impl Fn(T, T) -> T,
    ) {
        let n_points = self.points(row);
        let sides = [self.side(row, 0), self.side(row, 1)];
        let taps = |axis: usize, point: usize| {
            let (start, length) = sides[axis];
            let begin = start + T::at(bin[axis] as f64) * length;
            let at = begin + (T::at(point as f64) + T::at(0.5)) * length / T::at(n_points[axis]);
            Taps::of(at, self.dims[axis])
        };
        let (start, [channel, down, right]) = self.places(row[0].to_f64() as usize, first);
        let channel = if DENSE { 1 } else { channel };
        values.fill(none);
        for y in 0..n_points[0] as usize {
            let ys = taps(0, y);
            for x in 0..n_points[1] as usize {
                let Some((ys, xs)) = ys.zip(taps(1, x)) else {
                    each(values, start, channel, &merge, |_| T::ZERO);
                    continue;
                };
                let [[a, b], [c, d]] = ys.at.map(|y| xs.at.map(|x| y.wrapping_mul(down).wrapping_add(x.wrapping_mul(right))));
                let ([wa, wb], [wy, wz]) = (xs.weights, ys.weights);
                let element = |place: usize, tap: usize| element(place.wrapping_add(tap));
                if (ys.n, xs.n) == (2, 2) {
                    each(values, start, channel, &merge, |at| {
                        (element(at, a) * wa + element(at, b) * wb) * wy + (element(at, c) * wa + element(at, d) * wb) * wz
                    });
                    continue;
                }
                let of = |at: usize, y: usize, x: usize| element(at, [[a, b], [c, d]][y][x]);
                each(values, start, channel, &merge, |at| ys.sum(|y| xs.sum(|x| of(at, y, x))));
            }
        }
    }

    /// The largest elements of a bin in channels from `first` on, as many as there are values; 0 if there are none.
    ///
    /// # Safety
    /// The images have these channels.
    unsafe fn elements<T: Real>(&self, row: &[T; 5], bin: [usize; 2], first: usize, images: *const u8, values: &mut [T]) {
        let [ys, xs] = [0, 1].map(|axis| {
            let rounded = |x: T| round((x * T::at(self.scale)).to_f64()) as i64;
            let (start, end) = (rounded(row[2 - axis]), rounded(row[4 - axis]));
            let size = end.saturating_sub(start).saturating_add(1).max(1);
            let length = T::at(size as f64) / T::at(self.bins[axis] as f64);
            // A little more or less, so that rounding does not add an element.
            let little = T::at(1e-5);
            let inside = |at: f64| start.saturating_add(at as i64).clamp(0, self.dims[axis] as i64) as usize;
            let p = bin[axis] as f64;
            let begin = inside(floor((T::at(p) * length + little).to_f64()));
            begin..inside(ceil((T::at(p + 1.0) * length - little).to_f64()))
        });
        let (start, [channel, down, right]) = self.places(row[0].to_f64() as usize, first);
        let mut is_first = true;
        for y in ys {
            for x in xs.clone() {
                for (at, value) in values.iter_mut().enumerate() {
                    // SAFETY: the position is inside.
                    let element = unsafe { T::element(images, start + at * channel + y * down + x * right, self.element) };
                    *value = if is_first { element } else { value.largest(element) };
                }
                is_first = false;
            }
        }
    }
}

impl<T: Real> Taps<T> {
    /// Those of a coordinate: none more than an element outside, and the border up to there.
    fn of(x: T, n: usize) -> Option<Taps<T>> {
        if n == 0 || x < -T::ONE || x > T::at(n as f64) {
            return None;
        }
        let x = x.most(T::ZERO);
        if x >= T::at(n as f64 - 1.0) {
            return Some(Taps { n: 1, at: [n - 1, 0], weights: [T::ONE, T::ZERO] });
        }
        let below = floor(x.to_f64());
        let (place, t) = (below as usize, x - T::at(below));
        // Below the last element, there are two.
        Some(Taps { n: 2, at: [place, place + 1], weights: [T::ONE - t, t] })
    }

    /// The weighted sum of the values of taps.
    #[inline(always)]
    fn sum(&self, value: impl Fn(usize) -> T) -> T {
        let first = value(0) * self.weights[0];
        if self.n == 1 { first } else { first + value(1) * self.weights[1] }
    }
}

/// Merges a point with the value of each channel.
#[inline(always)]
fn each<T: Real>(values: &mut [T], start: usize, channel: usize, merge: impl Fn(T, T) -> T, sample: impl Fn(usize) -> T) {
    let mut at = start;
    for value in values {
        *value = merge(*value, sample(at));
        at = at.wrapping_add(channel);
    }
}

/// From here on floats are whole numbers.
const WHOLE: f64 = (1u64 << 52) as f64;

fn floor(x: f64) -> f64 {
    if x.abs() < WHOLE {
        let whole = x as i64 as f64;
        return if whole > x { whole - 1.0 } else { whole };
    }
    x
}

fn ceil(x: f64) -> f64 {
    -floor(-x)
}

/// Rounds halves away from zero.
fn round(x: f64) -> f64 {
    // The greatest number below a half: nothing below one is rounded up.
    let up = floor(x.abs() + 0.5f64.next_down());
    if x < 0.0 { -up } else { up }
}
