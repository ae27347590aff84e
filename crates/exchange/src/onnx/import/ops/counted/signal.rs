//! Converts signal operators: `DFT`, `STFT`, and their windows, which are constants.

use super::building_blocks::*;
use super::{Converter, op};
use std::f64::consts::TAU;

/// The dtype in `output_datatype`, float32 by default.
fn wanted(cx: &mut Cx) -> Result<DType> {
    let code = cx.int("output_datatype", 1)?;
    cx.dtype_of(code)
}

/// `a0 - a1 cos(x) + a2 cos(2x)` over one period; unless `periodic`, the last number is at its end.
fn window(cx: &mut Cx, terms: &[f64]) -> Results {
    let size = cx.given_int(0, "a size")?;
    if size < 0 {
        return Err(Refusal::wrong(format!("a window of {size} numbers")));
    }
    let dtype = wanted(cx)?;
    let period = (if cx.flag("periodic", true)? { size } else { size - 1 }).max(1);
    let at = |i: usize| {
        let x = TAU * i as f64 / period as f64;
        terms
            .iter()
            .enumerate()
            .map(|(k, a)| if k % 2 == 0 { a * (k as f64 * x).cos() } else { -a * (k as f64 * x).cos() })
            .sum::<f64>()
    };
    one(cx.put_numbers(&[size], dtype, at)?)
}

/// Triangular filters on the mel scale, for the frequencies of a transform (`mel = 2595 log10(1 + f / 700)`).
fn mel_weights(cx: &mut Cx) -> Results {
    let number = |cx: &mut Cx, i: usize, name: &str| cx.number_of(cx.input(i)?, name);
    let (n_mels, n_dft) = (cx.given_int(0, "num_mel_bins")?, cx.given_int(1, "dft_length")?);
    let (rate, low, high) =
        (number(cx, 2, "sample_rate")?, number(cx, 3, "lower_edge_hertz")?, number(cx, 4, "upper_edge_hertz")?);
    let dtype = wanted(cx)?;
    let n_bins = n_dft / 2 + 1;
    if n_mels < 0 || n_dft < 0 || rate <= 0.0 || n_bins.saturating_mul(n_mels) > MAX_CONSTANT {
        return Err(refuse("a matrix that is too large to be written out"));
    }
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let hertz = |mel: f64| 700.0 * (10f64.powf(mel / 2595.0) - 1.0);
    let step = (mel(high) - mel(low)) / (n_mels as f64 + 2.0);
    let edge = |i: i64| ((n_dft as f64 + 1.0) * hertz(mel(low) + i as f64 * step) / rate).floor().clamp(-1e9, 1e9) as i64;
    cx.charge(n_bins * n_mels)?;
    let mut matrix = vec![0f64; (n_bins * n_mels) as usize];
    for i in 0..n_mels {
        let (left, middle, right) = (edge(i), edge(i + 1), edge(i + 2));
        let mut set = |bin: i64, value: f64| {
            if (0..n_bins).contains(&bin) {
                matrix[(bin * n_mels + i) as usize] = value;
            }
        };
        if left == middle {
            set(middle, 1.0);
        } else {
            (left.max(0)..=middle.min(n_bins)).for_each(|bin| set(bin, (bin - left) as f64 / (middle - left) as f64));
        }
        if right > middle {
            (middle.max(0)..right.min(n_bins)).for_each(|bin| set(bin, (right - bin) as f64 / (right - middle) as f64));
        }
    }
    let shape = [n_bins as usize, n_mels as usize];
    one(cx.put_as(Tensor::from_vec(&shape, matrix), dtype)?)
}

/// Real and imaginary part are along the last axis, of length 2, or 1 for real numbers; `axis` is an operand from operator set
/// 20 on.
fn dft(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let axis = if cx.version < 20 {
        cx.axis_attr("axis", 1, rank)?
    } else {
        let axis = match cx.opt(2) {
            Some(_) => cx.given_int(2, "axis")?,
            None => -2,
        };
        cx.axis(axis, rank)?
    };
    if axis + 1 >= rank {
        return Err(refuse("a transform along the axis of real and imaginary part"));
    }
    let inverse = cx.flag("inverse", false)?;
    let onesided = cx.flag("onesided", false)?;
    if inverse && onesided {
        return Err(refuse("an inverse transform of one side, which the standard does not define"));
    }
    let length = match cx.opt(1) {
        Some(_) => Some(cx.given_int(1, "dft_length")?),
        None => None,
    };
    let n = cx.size(x, axis)?;
    let length = length.unwrap_or(n);
    let x = if length == n { x } else { resized(cx, x, axis, length - n)? };
    // The axis goes to the end, before it the parts are taken apart.
    let parts = match cx.dim(x, rank - 1)? {
        1 => {
            let real = cx.call("squeeze", &[x], &[("axis", positions(&[rank - 1]))])?;
            let imaginary = cx.call("zeros_like", &[real], &[])?;
            [real, imaginary]
        }
        2 => {
            let parts = cx.split(x, 2, -1)?;
            let flat = |cx: &mut Cx, part: Val| cx.call("squeeze", &[part], &[("axis", positions(&[rank - 1]))]);
            [flat(cx, parts[0])?, flat(cx, parts[1])?]
        }
        n => return Err(refuse(format!("numbers of {n} parts"))),
    };
    let mut swap: Vec<usize> = (0..rank - 1).collect();
    swap.swap(axis, rank - 2);
    let (real, imaginary) = (cx.transpose(parts[0], &swap)?, cx.transpose(parts[1], &swap)?);
    let results = cx.call_many("dft", &[real, imaginary], &[("inverse", AttrValue::Bool(inverse))], 2)?;
    let (real, imaginary) = (cx.transpose(results[0], &swap)?, cx.transpose(results[1], &swap)?);
    let result = cx.stack(&[real, imaginary], rank - 1)?;
    one(if onesided { resized(cx, result, axis, length / 2 + 1 - length)? } else { result })
}

/// Appends zeros to an axis, or truncates it.
fn resized(cx: &mut Cx, x: Val, axis: usize, more: i64) -> Result {
    let rank = cx.rank(x)?;
    let widths: Vec<(i64, i64)> = (0..rank).map(|i| (0, if i == axis { more } else { 0 })).collect();
    let zero = cx.like(x, 0.0)?;
    cx.padded(x, zero, &widths, "constant")
}

/// `(batch, length, 1)` to `(batch, frames, frequencies, 2)`.
fn stft(cx: &mut Cx) -> Results {
    let signal = cx.input(0)?;
    let dtype = cx.dtype(signal)?;
    let step = cx.given_int(1, "frame_step")?;
    let shape = cx.sizes(signal)?;
    let &[batch, n, 1] = &shape[..] else { return Err(refuse("complex signals, where Relay takes real ones")) };
    let window = cx.opt(2);
    let length = match (cx.opt(3), window) {
        (Some(_), _) => cx.given_int(3, "frame_length")?,
        (None, Some(window)) => cx.size(window, 0)?,
        (None, None) => return Err(refuse("neither a window nor its length")),
    };
    let window = match window {
        Some(window) => window,
        None => cx.ones(&[length], dtype)?,
    };
    let data = cx.reshape(signal, &[batch, n])?;
    let attrs = [
        ("n_fft", AttrValue::int(length)),
        ("hop_length", AttrValue::int(step)),
        ("win_length", AttrValue::int(length)),
        ("normalized", AttrValue::Bool(false)),
        ("onesided", AttrValue::Bool(cx.flag("onesided", true)?)),
    ];
    let result = cx.call("stft", &[data, window], &attrs)?;
    one(cx.transpose(result, &[0, 2, 1, 3])?)
}

pub(crate) const FAMILY: &[Converter] = &[
    op("DFT", &[17, 20], dft).but("a length that only a run knows"),
    op("STFT", &[17], stft).but("complex signals; steps and lengths that only a run knows"),
    op("HannWindow", &[17], |cx| window(cx, &[0.5, 0.5])).but("a size that only a run knows"),
    op("HammingWindow", &[17], |cx| window(cx, &[25.0 / 46.0, 21.0 / 46.0])).but("a size that only a run knows"),
    op("BlackmanWindow", &[17], |cx| window(cx, &[0.42, 0.5, 0.08])).but("a size that only a run knows"),
    op("MelWeightMatrix", &[17], mel_weights).but("numbers that only a run knows"),
];
