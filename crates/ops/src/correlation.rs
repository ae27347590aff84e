//! Correlation: compares patches of one image with patches of another around the same position.

use super::rel::require_one_dtype;
use super::window::{self, Window};
use crate::prelude::*;
use relayc_ir::tensor::{Acc, Real};
use relayc_ir::types::Symbols;

attrs! {
    "relay.attrs.CorrelationAttrs" =>
    pub(crate) struct CorrelationAttrs {
        /// The height and width of a patch.
        pub(crate) kernel_size: i64 = 1;
        /// The largest distance of a patch of `data2` from the patch of `data1`.
        pub(crate) max_displacement: i64 = 1;
        /// The step from one patch of `data1` to the next.
        pub(crate) stride1: i64 = 1;
        /// The step from one patch of `data2` to the next.
        pub(crate) stride2: i64 = 1;
        /// The padding: for all sides, or (height, width), or (top, left, bottom, right).
        pub(crate) padding: Vec<i64> = &[0, 0];
        /// Whether to multiply elements; otherwise, to take their absolute difference.
        pub(crate) is_multiply: bool = true;
        /// The axes of both operands; only `NCHW`.
        pub(crate) layout: String = "NCHW";
    }
}

pub(crate) const CORRELATION: OpDef = OpDef {
    name: "nn.correlation",
    doc: "With `r = max_displacement / stride2` (rounded down), `D = 2 * r + 1` and `K = kernel_size`: `out[n, (i + r) * D + j + r, y, x]` \
          is the mean over `c`, `h`, `w` of `data1[n, c, Y + h, X + w] * data2[n, c, Y + i * stride2 + h, X + j * stride2 + w]` for \
          `i`, `j` from `-r` to `r`, where `Y = y * stride1 + max_displacement - top`, `X` alike, and padding is 0; without \
          `is_multiply`, of `abs(data1[…] - data2[…])`. `H` and `W` of the result have `ceil((in + padding - 2 * (max_displacement + \
          (K - 1) / 2)) / stride1)` elements. Integers are divided towards zero (`src/relay/op/nn/correlation.cc`, \
          `python/tvm/topi/nn/correlation.py`).",
    args: &[Arg::tensor("data1"), Arg::tensor("data2")],
    attrs: Some(CorrelationAttrs::SCHEMA),
    rules: &[
        "C1: layout is \"NCHW\"",
        "C2: both operands are of rank 4, of one dtype and of one shape",
        "C3: kernel_size is odd and >= 1, max_displacement >= 0, stride1 and stride2 >= 1",
        "C4: padding has 1, 2 or 4 values, each >= 0",
        "C5: in + padding - 2 * (max_displacement + (kernel_size - 1) / 2) >= 1 for H and W, unless in is 0",
        "C6: the channels of the result are int64",
    ],
    rel: correlation_rel,
    eval: correlation_eval,
    fuse: Some(Fuse::OutEWiseFusable),
    macs: Some(correlation_macs),
    ..OpDef::BASE
};

impl CorrelationAttrs {
    /// The steps from the middle of `data2`'s patches to the outermost ones.
    fn radius(&self) -> i64 {
        self.max_displacement / self.stride2
    }

    /// The places of `data1`'s patches along both axes: windows without the border that no patch's middle lies in.
    fn windows(&self) -> Option<[Window; 2]> {
        let border = (self.kernel_size - 1) / 2;
        let kernel = self.max_displacement.checked_add(border)?.checked_mul(2)?.checked_add(1)?;
        let windows = window::windows(&[kernel; 2], &[self.stride1; 2], &[1; 2], &self.padding);
        Some([windows[0], windows[1]])
    }

    /// The number of positions along an axis of unknown size, as TVM writes it:
    /// `(dim + padding - border + stride1 - 1) // stride1`.
    fn symbolic_out(&self, symbols: &mut Symbols, dim: Dim, window: &Window) -> Dim {
        let stride = Dim::known(self.stride1);
        let padding = window.before.checked_add(window.after).map_or(Dim::Any, Dim::known);
        let padded = symbols.built(SymbolOp::Add, dim, padding);
        let inside = symbols.built(SymbolOp::Sub, padded, Dim::known(window.kernel - 1));
        let above = symbols.built(SymbolOp::Add, inside, stride);
        let above = symbols.built(SymbolOp::Sub, above, Dim::known(1));
        symbols.built(SymbolOp::FloorDiv, above, stride)
    }
}

fn correlation_rel(cx: &mut RelCx) -> RelResult {
    let attrs = CorrelationAttrs::read(cx.attrs);
    cx.require("C1", attrs.layout == "NCHW", || {
        Fault::attr("layout", format!("expected \"NCHW\", found {:?}", attrs.layout)).set_attr("layout", "\"NCHW\"")
    })?;
    cx.require("C3", attrs.kernel_size >= 1 && attrs.kernel_size % 2 == 1, || {
        Fault::attr("kernel_size", format!("expected an odd number of at least 1, found {}", attrs.kernel_size))
    })?;
    for (name, value, least) in
        [("max_displacement", attrs.max_displacement, 0), ("stride1", attrs.stride1, 1), ("stride2", attrs.stride2, 1)]
    {
        cx.require("C3", value >= least, || Fault::attr(name, format!("expected at least {least}, found {value}")))?;
    }
    window::padding(cx, "C4", &attrs.padding, 2)?;
    let (data1, data2) = (cx.tensor(0)?, cx.tensor(1)?);
    for data in [&data1, &data2] {
        cx.require("C2", data.rank() == 4, || Fault::rank(4, data))?;
    }
    require_one_dtype(cx, "C2", &data1, &data2)?;
    for axis in 0..4 {
        cx.require("C2", data1.shape[axis].compatible(data2.shape[axis]), || {
            Fault::shape(format!("expected operands of one shape, found {} and {}", data1.shape_text(), data2.shape_text()))
                .at(data2.axis(axis), "")
                .at(data1.axis(axis), "")
        })?;
    }
    let across = attrs.radius().checked_mul(2).and_then(|steps| steps.checked_add(1));
    let channels = across.and_then(|across| across.checked_mul(across));
    let windows = attrs.windows();
    cx.require("C6", channels.is_some() && windows.is_some(), || {
        Fault::attr("max_displacement", format!("{} is too far", attrs.max_displacement))
    })?;
    let mut shape = Shape::from_slice(&[data1.dim(0), SDim::known(channels.unwrap_or(0), DimOrigin::Attr("max_displacement"))]);
    // As in TVM, the height is that of data1 and the width that of data2.
    for (at, (letter, dim)) in [('H', data1.dim(2)), ('W', data2.dim(3))].into_iter().enumerate() {
        shape.push(match (dim.value(), windows) {
            (None, Some(windows)) => {
                SDim::new(attrs.symbolic_out(&mut cx.types.symbols, dim.dim, &windows[at]), DimOrigin::Rule("C5"))
            }
            _ => window::out_dim(cx, "C5", letter, dim, windows.map(|windows| windows[at]), false)?,
        });
    }
    cx.set_out(shape, data1.dtype)
}

fn correlation_eval(cx: &EvalCx) -> EvalResult {
    let attrs = CorrelationAttrs::read(cx.attrs);
    let (data1, data2) = (cx.tensor(0), cx.tensor(1));
    let out = match data1.to_acc() {
        Acc::F32(_) => correlate::<f32>(&attrs, data1, data2, cx.out_shape()),
        Acc::F64(_) => correlate::<f64>(&attrs, data1, data2, cx.out_shape()),
        Acc::I64(_) => correlate::<i64>(&attrs, data1, data2, cx.out_shape()),
    };
    Ok(out.into_tensor(cx.out_dtype()).into())
}

fn correlate<T: Real>(attrs: &CorrelationAttrs, data1: &Tensor, data2: &Tensor, shape: &[usize]) -> Acc {
    let sides = window::sides(&attrs.padding, 2);
    let &[_, channels, height, width] = data1.shape() else { unreachable!("the relation required rank 4") };
    let (data1, data2) = (T::elements(&data1.to_acc()), T::elements(&data2.to_acc()));
    let (radius, across) = (attrs.radius(), 2 * attrs.radius() + 1);
    // An element of an image in the padding around it.
    let at = |image: &[T], y: i64, x: i64| {
        let inside = (0..height as i64).contains(&y) && (0..width as i64).contains(&x);
        if inside { image[y as usize * width + x as usize] } else { T::ZERO }
    };
    let distance = |a: T, b: T| {
        let difference = a.add(b.mul(T::from_int(-1)));
        if attrs.is_multiply { a.mul(b) } else { difference.max(difference.mul(T::from_int(-1))) }
    };
    let n_products = T::from_int(i128::from(attrs.kernel_size) * i128::from(attrs.kernel_size) * channels as i128);
    let mut out = vec![T::ZERO; shape.iter().product()];
    if channels > 0 {
        T::each_part(&mut out, shape[2] * shape[3], &|plane, sums| {
            let (n, q) = (plane / shape[1], (plane % shape[1]) as i64);
            let (down, along) = ((q / across - radius) * attrs.stride2, (q % across - radius) * attrs.stride2);
            for (i, sum) in sums.iter_mut().enumerate() {
                // In i128: what is left of two large numbers may be small.
                let start = |i: usize, before: i64| {
                    i as i128 * i128::from(attrs.stride1) + i128::from(attrs.max_displacement) - i128::from(before)
                };
                let (top, left) = (start(i / shape[3], sides[0].0), start(i % shape[3], sides[1].0));
                for c in 0..channels {
                    let [first, second] =
                        [&data1, &data2].map(|data| &data[(n * channels + c) * height * width..][..height * width]);
                    for y in either(top, attrs.kernel_size, height, down) {
                        for x in either(left, attrs.kernel_size, width, along) {
                            *sum = sum.add(distance(at(first, y, x), at(second, y + down, x + along)));
                        }
                    }
                }
                *sum = sum.div(n_products);
            }
        });
    }
    T::from_elements(shape, out)
}

/// The places from `start` on, as many as a patch has, that lie in an image of this size or in one `away` from it. At all
/// others, both are padding, and a patch may have many of those.
fn either(start: i128, kernel: i64, size: usize, away: i64) -> impl Iterator<Item = i64> {
    let inside = move |shift: i64| {
        let bound = |place: i128| place.clamp(-i128::from(shift), size as i128 - i128::from(shift)) as i64;
        bound(start)..bound(start + i128::from(kernel))
    };
    inside(0).chain(inside(away).filter(move |place| !(0..size as i64).contains(place)))
}

/// One product for each element of a patch, for each element of the result.
fn correlation_macs(shapes: &Shapes) -> u128 {
    let size = CorrelationAttrs::read(shapes.attrs).kernel_size.unsigned_abs() as u128;
    Shapes::elements(shapes.out).saturating_mul(size.saturating_mul(size)).saturating_mul(Shapes::elements(&shapes.args[0][1..2]))
}

pub(crate) const FAMILY: &[OpDef] = &[CORRELATION];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::attrs::AttrValue;

    const DATA: &str = "(2, 3, 9, 8) float32";

    #[test]
    fn types() {
        let correlation = || call(&CORRELATION).int("max_displacement", 4).ints("padding", &[4, 4]);
        assert_eq!(correlation().out(&[DATA, "(?, 3, ?, 8) float32"]), "Tensor[(2, 81, 9, 8), float32]");
        let steps = correlation().int("kernel_size", 3).int("stride1", 2).int("stride2", 3);
        assert_eq!(steps.out(&[DATA, DATA]), "Tensor[(2, 9, 4, 3), float32]");
        assert_eq!(correlation().text("layout", "NHWC").fault(&[DATA, DATA]).rule, "C1");
        assert_eq!(correlation().fault(&[DATA, "(2, 3, 9, 9) float32"]).rule, "C2");
        assert_eq!(correlation().fault(&[DATA, "(2, 3, 9, 8) float16"]).rule, "C2");
        assert_eq!(correlation().int("kernel_size", 2).fault(&[DATA, DATA]).rule, "C3");
        assert_eq!(correlation().int("max_displacement", -1).fault(&[DATA, DATA]).rule, "C3");
        assert_eq!(correlation().ints("padding", &[1, 2, 3]).fault(&[DATA, DATA]).rule, "C4");
        assert_eq!(correlation().ints("padding", &[0]).fault(&[DATA, DATA]).rule, "C5");
        assert_eq!(correlation().int("max_displacement", 1 << 40).fault(&[DATA, DATA]).rule, "C6");
        extremes(correlation, &[DATA, DATA]);
    }

    #[test]
    fn values() {
        let x = Tensor::from_vec(&[1, 1, 1, 3], vec![1f32, 2.0, 3.0]);
        let y = Tensor::from_vec(&[1, 1, 1, 3], vec![10f32, 20.0, 40.0]);
        let rows = |multiply: bool| {
            let correlation = call(&CORRELATION).ints("padding", &[1, 1]).attr("is_multiply", AttrValue::Bool(multiply));
            correlation.values(&[&x, &y])[9..18].to_vec()
        };
        // The middle row of displacements: one to the left, none, one to the right.
        assert_eq!(rows(true), [0.0, 20.0, 60.0, 10.0, 40.0, 120.0, 20.0, 80.0, 0.0]);
        assert_eq!(rows(false), [1.0, 8.0, 17.0, 9.0, 18.0, 37.0, 19.0, 38.0, 3.0]);
        let ones = Tensor::from_fn(&[1, 2, 3, 3], |i| (i / 9 + 1) as i32);
        let patches = call(&CORRELATION).int("kernel_size", 3).int("max_displacement", 0);
        assert_eq!(patches.values(&[&ones, &ones]), [2.0]);
        let none = Tensor::from_vec::<f32>(&[1, 0, 3, 3], vec![]);
        assert_eq!(call(&CORRELATION).values(&[&none, &none]), [0.0; 9]);
    }
}
