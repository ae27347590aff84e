//! Resizes by a triangle filter as wide as the reduction: Pillow's `BILINEAR` (`src/libImaging/Resample.c`), in single precision
//! between the two passes.

#![allow(
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    reason = "sides are at most 16,384 and their products checked before: all fit, and f32 is near enough for a weight"
)]

use super::Image;

/// The source pixels that one target pixel is the weighted mean of.
struct Window {
    first: usize,
    weights: Vec<f32>,
}

/// An image of this size. The same size gives the image itself.
pub(super) fn resize(image: Image, width: usize, height: usize) -> Image {
    if (image.width, image.height) == (width, height) {
        return image;
    }
    let (channels, row) = (image.channels, (image.width * image.channels).max(1));
    // Rows first: each new row is a mean of whole old rows.
    let mut rows = vec![0.0f32; row * height];
    for (sums, window) in rows.chunks_exact_mut(row).zip(windows(image.height, height)) {
        for (weight, values) in window.weights.iter().zip(image.values.chunks_exact(row).skip(window.first)) {
            for (sum, &value) in sums.iter_mut().zip(values) {
                *sum += f32::from(value) * weight;
            }
        }
    }
    let columns = windows(image.width, width);
    let mut values = Vec::with_capacity(width * height * channels);
    for row in rows.chunks_exact(row) {
        for window in &columns {
            let pixels = |channel: usize| row.iter().skip(window.first * channels + channel).step_by(channels);
            let sum = |channel| window.weights.iter().zip(pixels(channel)).fold(0.0, |sum, (weight, value)| sum + value * weight);
            values.extend((0..channels).map(|channel| to_u8(sum(channel))));
        }
    }
    Image { width, height, channels, values }
}

/// The window of each of `to` pixels among `from`.
fn windows(from: usize, to: usize) -> Vec<Window> {
    // In units of half a target pixel, so that the bounds are exact.
    let support = 2 * from.max(to);
    (0..to)
        .map(|at| {
            let center = (2 * at + 1) * from;
            let first = (center.saturating_sub(support) / (2 * to)).min(from.saturating_sub(1));
            let last = (center + support).div_ceil(2 * to).min(from).max(first + 1);
            let weight = |source: usize| (support as f32 - ((2 * source + 1) * to).abs_diff(center) as f32).max(0.0);
            let weights: Vec<f32> = (first..last).map(weight).collect();
            let sum: f32 = weights.iter().sum();
            Window { first, weights: weights.into_iter().map(|weight| weight / sum).collect() }
        })
        .collect()
}

/// The nearest integer, halves away from zero.
fn to_u8(value: f32) -> u8 {
    value.clamp(0.0, 255.0).round() as u8
}
