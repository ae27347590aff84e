//! Computes each tap of a dilated convolution where it meets its data alone, if most of the products are with padding.
//!
//! The windows of a segmentation network are nearly as wide as its maps: with a dilation of 12 over 14 positions, a tap beside the middle
//! meets two rows of fourteen. Each tap becomes a 1x1 convolution of its part of the data, padded to the size of the result, and the
//! results are added.
//!
//! The rewrite is sound because padding is zero and the products with it are zeros, which a sum of floats that starts at zero does not
//! show: the weight is a constant without NaN and infinities. Sums are added in another order.
//!
//! The sum of all taps but the largest is kept out of the group of the largest, whose code has few operands.
//!
//! Does not rewrite weights that are not constant, layouts other than NCHW and OIHW, and convolutions that would save little.
//!
//! ```text
//! nn.conv2d(%x, W, padding=[12, 12, 12, 12], dilation=[12, 12], kernel_size=[3, 3])
//!     →    %0 = nn.pad(nn.conv2d(strided_slice(%x, begin=[0, 0, 0, 0], end=[1, 960, 2, 2]), W[:, :, 0:1, 0:1]), pad_width=[…, [12, 0], [12, 0]]);
//!          …
//!          add(nn.conv2d(%x, W[:, :, 1:2, 1:2]), annotation.stop_fusion(add(…, %0)))
//! ```

use super::build::{args, dtype, shape, sides, value_of};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_base::Span;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{ADD, CONV2D, Conv2dAttrs, PAD, STOP_FUSION, STRIDED_SLICE};
use std::ops::Range;

pub(crate) const PASS: Pass = Pass {
    name: "split-windows",
    doc: "Computes the taps of dilated 2D convolutions one by one, where each meets its data, if most of them meet padding.",
    level: 2,
    reorders_terms: true,
    run: |module, cx| Ok(rewrite(module, |module, expr| split(module, cx, expr))),
    ..Pass::BASE
};

/// The most taps that are computed one by one.
const MOST_TAPS: usize = 9;

/// Of the products, at most this part must be left: parts of the data are computed more slowly than all of it.
const MOST_LEFT: f64 = 0.6;

/// The least number of products to save, which take longer than the calls of more kernels.
const LEAST_SAVED: f64 = 4e6;

/// A tap of the window, and the rows and columns of the result at which it meets the data.
struct Tap {
    at: [usize; 2],
    places: [Range<i64>; 2],
}

impl Tap {
    /// The number of its places.
    fn size(&self) -> i64 {
        self.places.iter().map(|places| places.end - places.start).product()
    }
}

/// A convolution that is split.
struct Split<'a> {
    cx: &'a PassCx<'a>,
    span: Span,
    data: ExprId,
    weight: Tensor,
    of: Conv2dAttrs,
    /// Rows and columns of padding before the data.
    before: [i64; 2],
    /// Shapes of the data and the result.
    from: Vec<i64>,
    to: Vec<i64>,
}

fn split(module: &mut Module, cx: &PassCx, conv: ExprId) -> Option<ExprId> {
    cx.calls(module, conv, &CONV2D).then_some(())?;
    let of = Conv2dAttrs::read(module.call_attrs(conv));
    let plain = of.data_layout == "NCHW" && of.kernel_layout == "OIHW" && ["", "NCHW"].contains(&of.out_layout.as_str());
    let &[data, weight] = &args(module, conv)[..] else { return None };
    let floats = [data, weight, conv].iter().all(|&tensor| dtype(module, tensor) == Some(DType::F32));
    let [top, left, _, _] = sides(&of.padding)?;
    let (from, to) = (shape(module, data)?, shape(module, conv)?);
    let weight = value_of(module, weight)?;
    let &[filters, channels, rows, columns] = weight.shape() else { return None };
    (plain && floats && (2..=MOST_TAPS).contains(&(rows * columns))).then_some(())?;
    let split = Split { cx, span: module.exprs[conv].span, data, weight: weight.clone(), of, before: [top, left], from, to };
    let [of_rows, of_columns] =
        [(0, rows), (1, columns)].map(|(axis, n)| (0..n).map(|tap| split.places(axis, tap)).collect::<Option<Vec<Range<i64>>>>());
    let (of_rows, of_columns) = (of_rows?, of_columns?);
    let mut taps: Vec<Tap> = (0..rows * columns)
        .map(|at| [at / columns, at % columns])
        .map(|at| Tap { at, places: [of_rows[at[0]].clone(), of_columns[at[1]].clone()] })
        .filter(|tap| tap.places.iter().all(|places| !places.is_empty()))
        .collect();
    let left: i64 = taps.iter().map(Tap::size).sum();
    let all = (split.to[2] * split.to[3]) as f64 * (rows * columns) as f64;
    let products = (split.to[0] as f64) * (filters * channels) as f64;
    let saves = (left as f64) <= MOST_LEFT * all && (all - left as f64) * products >= LEAST_SAVED;
    (saves && split.weight.to_f64s().into_iter().all(f64::is_finite)).then_some(())?;
    // The largest one last. All of its places are computed without padding.
    taps.sort_by_key(Tap::size);
    let largest = taps.pop().filter(|tap| (0..2).all(|axis| tap.places[axis] == (0..split.to[2 + axis])))?;
    let mut sum = None;
    for tap in &taps {
        let own = split.padded(module, tap)?;
        sum = Some(match sum {
            Some(sum) => cx.typed_call(module, split.span, &ADD, &[sum, own], vec![])?,
            None => own,
        });
    }
    let own = split.computed(module, &largest)?;
    let Some(sum) = sum else { return Some(own) };
    let sum = cx.typed_call(module, split.span, &STOP_FUSION, &[sum], vec![])?;
    cx.typed_call(module, split.span, &ADD, &[own, sum], vec![])
}

impl Split<'_> {
    /// The places of the result along an axis at which a tap meets the data.
    fn places(&self, axis: usize, tap: usize) -> Option<Range<i64>> {
        let (stride, n, n_out) = (self.of.strides[axis], self.from[2 + axis], self.to[2 + axis]);
        let first = self.begin(axis, tap)?;
        let at_least = |least: i64| Some(least.checked_sub(first)?.max(0).checked_add(stride - 1)? / stride);
        Some(at_least(0)?.min(n_out)..at_least(n)?.min(n_out))
    }

    /// The position of the data that a tap meets at the first place.
    fn begin(&self, axis: usize, tap: usize) -> Option<i64> {
        i64::try_from(tap).ok()?.checked_mul(self.of.dilation[axis])?.checked_sub(self.before[axis])
    }

    /// The results of a tap at its places.
    fn computed(&self, module: &mut Module, tap: &Tap) -> Option<ExprId> {
        let (mut begin, mut end) = (vec![0; 4], self.from.clone());
        for axis in 0..2 {
            let (places, stride) = (&tap.places[axis], self.of.strides[axis]);
            begin[2 + axis] = self.begin(axis, tap.at[axis])? + places.start * stride;
            end[2 + axis] = begin[2 + axis] + (places.end - places.start - 1) * stride + 1;
        }
        let data = if begin == [0; 4] && end == self.from {
            self.data
        } else {
            let bounds = [("begin", &begin), ("end", &end), ("strides", &vec![1; 4])];
            let attrs = STRIDED_SLICE.attrs?.values(&bounds.map(|(name, ints)| (name, AttrValue::ints(ints))));
            self.cx.typed_call(module, self.span, &STRIDED_SLICE, &[self.data], attrs)?
        };
        let &[filters, channels, rows, columns] = self.weight.shape() else { return None };
        let at = tap.at[0] * columns + tap.at[1];
        let weight = self.weight.pick(&[filters, channels, 1, 1], 0.0, |i| Some(i * rows * columns + at));
        let weight = self.cx.constant(module, self.span, weight);
        let attrs = [
            ("strides", AttrValue::ints(&self.of.strides)),
            ("channels", AttrValue::int(self.to[1])),
            ("groups", AttrValue::int(self.of.groups)),
            ("kernel_size", AttrValue::ints(&[1, 1])),
        ];
        self.cx.typed_call(module, self.span, &CONV2D, &[data, weight], CONV2D.attrs?.values(&attrs))
    }

    /// The results of a tap, zero at other places.
    fn padded(&self, module: &mut Module, tap: &Tap) -> Option<ExprId> {
        let own = self.computed(module, tap)?;
        let around = |axis: usize| AttrValue::ints(&[tap.places[axis].start, self.to[2 + axis] - tap.places[axis].end]);
        let widths = [AttrValue::ints(&[0, 0]), AttrValue::ints(&[0, 0]), around(0), around(1)];
        let zero = self.cx.constant(module, self.span, Tensor::scalar(0f32));
        let attrs = PAD.attrs?.values(&[("pad_width", AttrValue::List(widths.into()))]);
        self.cx.typed_call(module, self.span, &PAD, &[own, zero], attrs)
    }
}
