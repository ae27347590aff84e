//! Products of integers of 8 bits in place of products of what they stand for.

use super::super::PassCx;
use super::super::build::{args, dims, dtype, number, sides};
use super::find::{self, Weights, Zero};
use super::unsigned::Unsigned;
use relayc_base::Span;
use relayc_ir::kernel::{ByteProducts, is_exact_by_tiles};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{
    ADD, CONV2D, Conv2dAttrs, DENSE, MATMUL, MULTIPLY, MatmulAttrs, PAD, QNN_CONV2D, QNN_DENSE, SUBTRACT,
};

/// The integers whose products a machine adds at once.
const WORD: usize = 4;

/// The products of bytes whose sum is within int32 whatever they are. A sum of floats may have no more; one of int32 wraps anyway.
const MOST_TERMS: usize = i32::MAX as usize / (255 * 128);

/// Tiles of Winograd's method that are too few to read its weights for.
const FEW_TILES: i64 = 16;

pub(super) struct Products<'a> {
    cx: &'a PassCx<'a>,
    unsigned: Unsigned<'a>,
}

/// The data of a product: unsigned integers, and what they are less.
struct Data {
    q: ExprId,
    zero: Zero,
    scale: Option<ExprId>,
}

impl<'a> Products<'a> {
    pub(super) fn new(cx: &'a PassCx<'a>) -> Products<'a> {
        Products { cx, unsigned: Unsigned::new(cx) }
    }

    /// The replacement of an expression: of a product, or of a signed tensor that there is as an unsigned one.
    pub(super) fn visit(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        if let Some(skipped) = self.unsigned.skipped(module, expr).or_else(|| self.unsigned.widened(module, expr)) {
            return Some(skipped);
        }
        let name = self.cx.called(module, expr)?.name;
        let (sum, data, scales) = match name {
            _ if name == CONV2D.name || name == QNN_CONV2D.name => self.conv(module, expr)?,
            _ if name == DENSE.name || name == QNN_DENSE.name => self.rows(module, expr, true)?,
            _ if name == MATMUL.name => {
                let MatmulAttrs { transpose_a, transpose_b, .. } = MatmulAttrs::read(module.call_attrs(expr));
                (!transpose_a).then_some(())?;
                self.rows(module, expr, transpose_b)?
            }
            _ => return None,
        };
        let (Some(scale), Some(scales)) = (data.scale, scales) else { return Some(sum) };
        let span = module.exprs[expr].span;
        let factor = match number(module, scale) {
            Some(scale) => {
                let factors = scales.to_vec::<f32>()?.iter().map(|factor| factor * scale as f32).collect::<Vec<f32>>();
                self.cx.constant(module, span, Tensor::from_vec(scales.shape(), factors))
            }
            None => {
                let scales = self.cx.constant(module, span, scales);
                self.cx.typed_call(module, span, &MULTIPLY, &[scales, scale], vec![])?
            }
        };
        let float = self.cx.cast(module, span, sum, DType::F32)?;
        self.cx.typed_call(module, span, &MULTIPLY, &[float, factor], vec![])
    }

    /// Weights in the dtype that is multiplied: as pairs, or as words of bytes where the machine has products of those.
    fn factors(&self, ints: Tensor, as_pairs: bool) -> Option<Tensor> {
        if as_pairs || self.cx.byte_products == ByteProducts::Pairs { ints.cast(DType::I16) } else { Some(ints) }
    }

    /// Whether Winograd's method on pairs is faster than direct sums of words. It has a quarter of the products, which take twice as
    /// long; what is left pays for its transforms if there are many channels, and for its larger weights if there are many tiles.
    fn pays_by_tiles(&self, ins: usize, shape: &[Dim]) -> Option<bool> {
        let [batch, _, height, width] = *shape.first_chunk()?;
        let tiles = [height, width]
            .iter()
            .try_fold(batch.value()?, |tiles, side| Some(tiles.saturating_mul(side.value()?.saturating_add(3) / 4)))?;
        Some(ins >= 64 && tiles > FEW_TILES)
    }

    /// Whether Winograd's method computes a convolution by these weights, in `OIHW`, in integers: blocks of channels fill its
    /// vectors of pairs.
    fn exact_by_tiles(&self, ints: &Tensor) -> Option<bool> {
        let &[outs, ins, height, width] = ints.shape() else { return None };
        let lanes = self.cx.lanes;
        let whole = outs.is_multiple_of(lanes) && ins.is_multiple_of(2 * lanes);
        let rows = ints.to_vec::<i8>()?;
        let mut rows = rows.chunks_exact((ins * height * width).max(1));
        Some(whole && rows.all(|row| is_exact_by_tiles(row.iter().map(|&weight| weight.into()))))
    }

    /// Data and weights of a product; the scales are both there or both not.
    fn operands(&mut self, module: &mut Module, expr: ExprId) -> Option<(Data, Weights)> {
        let operands = args(module, expr);
        let [data, weight] = operands[..].first_chunk().copied()?;
        let span = module.exprs[expr].span;
        let (widened, scale, weights) = match (operands.len(), dtype(module, expr)?) {
            (2, DType::F32) => {
                let of = find::dequantized(module, self.cx, data).filter(|of| find::is_one(module, of.scale))?;
                (of.widened, Some(of.scale), find::weights(module, self.cx, weight).filter(|of| of.scale.is_some())?)
            }
            (2, DType::I32) => {
                let of = find::widened(module, self.cx, data)?;
                (of, None, find::weights(module, self.cx, weight).filter(|of| of.scale.is_none())?)
            }
            // A product of `qnn`, with its zero points behind the operands.
            (6, DType::I32) => {
                let of = find::with_zero_points(module, &operands)?;
                (of.0, None, of.1)
            }
            _ => return None,
        };
        (!weights.ints.is_empty()).then_some(())?;
        let (q, shift) = self.unsigned.of(module, span, widened.q)?;
        let zero = Zero { number: widened.zero.number + shift, ..widened.zero };
        Some((Data { q, zero, scale }, weights))
    }

    /// A convolution in `NCHW` and `OIHW`, of all channels or of each one alone.
    fn conv(&mut self, module: &mut Module, expr: ExprId) -> Option<(ExprId, Data, Option<Tensor>)> {
        let span = module.exprs[expr].span;
        let of = Conv2dAttrs::read(module.call_attrs(expr));
        let plain = of.data_layout == "NCHW" && of.kernel_layout == "OIHW" && ["", "NCHW"].contains(&of.out_layout.as_str());
        let channels = dims(module, expr)?.get(1)?.value()?;
        let data = dims(module, args(module, expr)[0])?;
        let depthwise = of.groups > 1 && of.groups == channels && data.get(1)?.value() == Some(channels);
        (plain && (of.groups == 1 || depthwise) && data.len() == 4).then_some(())?;
        let (mut data, weights) = self.operands(module, expr)?;
        let &[outs, ins, height, width] = weights.ints.shape() else { return None };
        // Winograd's method needs fewer than half the products of floats, which are as fast as pairs of bytes then, unless it is
        // exact for these.
        let winograd = !depthwise && [height, width] == [3, 3] && of.strides == [1, 1] && of.dilation == [1, 1];
        let by_tiles = winograd && self.exact_by_tiles(&weights.ints)?;
        let in_floats = self.cx.byte_products == ByteProducts::Pairs && winograd && !by_tiles;
        let as_pairs = by_tiles && self.pays_by_tiles(ins, dims(module, expr)?).unwrap_or(false);
        (data.scale.is_none() || ins * height * width <= MOST_TERMS && !in_floats).then_some(())?;
        let scales = match data.scale {
            Some(_) => Some(columns(weights.scales(0)?, &[outs, 1, 1])),
            None => None,
        };
        // Words of channels, the last one filled with zeros; a depthwise window has no more than one.
        let whole = if depthwise { ins } else { ins.next_multiple_of(WORD) };
        let ints = weights.ints.permute(&[0, 2, 3, 1]);
        let mut kernel = vec![0i8; outs * height * width * whole];
        for (to, from) in kernel.chunks_exact_mut(whole).zip(ints.to_vec::<i8>()?.chunks_exact(ins)) {
            to[..ins].copy_from_slice(from);
        }
        let sums: Vec<i32> =
            kernel.chunks_exact(height * width * whole).map(|row| row.iter().map(|&w| i32::from(w)).sum()).collect();
        let schema = CONV2D.attrs?;
        let mut values = module.call_attrs(expr).to_vec();
        let set = |values: &mut Vec<AttrValue>, name: &str, value: AttrValue| schema.position(name).map(|at| values[at] = value);
        let pads = sides(&of.padding)?;
        let padded = pads.iter().any(|&pad| pad > 0) && (data.zero.number != 0 || data.zero.other.is_some());
        (!padded || data.zero.other.is_none()).then_some(())?;
        if padded || whole > ins {
            let [top, left, bottom, right] = if padded { pads } else { [0; 4] };
            let widths = [[0, 0], [0, (whole - ins) as i64], [top, bottom], [left, right]];
            let number = if padded { data.zero.number } else { 0 };
            data.q = self.pad(module, span, data.q, &widths, number)?;
        }
        if padded {
            set(&mut values, "padding", AttrValue::ints(&[0, 0, 0, 0]))?;
        }
        set(&mut values, "out_dtype", AttrValue::DType(Some(DType::I32)))?;
        let kernel = match depthwise {
            // Lanes of the sum.
            true => weights.ints.cast(DType::I32)?,
            false => {
                set(&mut values, "kernel_layout", AttrValue::str("OHWI"))?;
                self.factors(Tensor::from_vec(&[outs, height, width, whole], kernel), as_pairs)?
            }
        };
        let kernel = self.cx.constant(module, span, kernel);
        let sum = self.cx.typed_call(module, span, &CONV2D, &[data.q, kernel], values)?;
        let sum = self.without_zero(module, span, sum, data.zero, Tensor::from_vec(&[outs, 1, 1], sums))?;
        Some((sum, data, scales))
    }

    /// A product of rows with a matrix of two axes, whose columns are its rows if it is `transposed`.
    fn rows(&mut self, module: &mut Module, expr: ExprId, transposed: bool) -> Option<(ExprId, Data, Option<Tensor>)> {
        let span = module.exprs[expr].span;
        let (data, weights) = self.operands(module, expr)?;
        let &[rows, columns_of] = weights.ints.shape() else { return None };
        let (axis, units, inputs) = if transposed { (0, rows, columns_of) } else { (1, columns_of, rows) };
        (inputs.is_multiple_of(WORD) && (data.scale.is_none() || inputs <= MOST_TERMS)).then_some(())?;
        let scales = match data.scale {
            Some(_) => Some(columns(weights.scales(axis)?, &[units])),
            None => None,
        };
        let ints = if transposed { weights.ints } else { weights.ints.permute(&[1, 0]) };
        let sums: Vec<i32> =
            ints.to_vec::<i8>()?.chunks_exact(inputs).map(|row| row.iter().map(|&w| i32::from(w)).sum()).collect();
        let values =
            DENSE.attrs?.values(&[("units", AttrValue::int(units as i64)), ("out_dtype", AttrValue::DType(Some(DType::I32)))]);
        let ints = self.factors(ints, false)?;
        let matrix = self.cx.constant(module, span, ints);
        let sum = self.cx.typed_call(module, span, &DENSE, &[data.q, matrix], values)?;
        let sum = self.without_zero(module, span, sum, data.zero, Tensor::from_vec(&[units], sums))?;
        Some((sum, data, scales))
    }

    /// A tensor between margins of a number.
    fn pad(&self, module: &mut Module, span: Span, data: ExprId, widths: &[[i64; 2]], number: i64) -> Option<ExprId> {
        let widths = AttrValue::List(widths.iter().map(|pair| AttrValue::ints(pair)).collect());
        let values = PAD.attrs?.values(&[("pad_width", widths)]);
        let number = self.cx.constant(module, span, Tensor::scalar(u8::try_from(number).ok()?));
        self.cx.typed_call(module, span, &PAD, &[data, number], values)
    }

    /// The sum less the products of the zero point with the weights.
    fn without_zero(&self, module: &mut Module, span: Span, sum: ExprId, zero: Zero, weights: Tensor) -> Option<ExprId> {
        let mut sum = sum;
        if zero.number != 0 {
            let number = i32::try_from(zero.number).ok()?;
            let products = weights.to_vec::<i32>()?.iter().map(|&w| w.wrapping_mul(number).wrapping_neg()).collect();
            let products = self.cx.constant(module, span, Tensor::from_vec(weights.shape(), products));
            sum = self.cx.typed_call(module, span, &ADD, &[sum, products], vec![])?;
        }
        if let Some(zero) = zero.other {
            let weights = self.cx.constant(module, span, weights);
            let products = self.cx.typed_call(module, span, &MULTIPLY, &[weights, zero], vec![])?;
            sum = self.cx.typed_call(module, span, &SUBTRACT, &[sum, products], vec![])?;
        }
        Some(sum)
    }
}

/// Scales as a constant that runs along the columns.
fn columns(scales: Vec<f32>, shape: &[usize]) -> Tensor {
    if scales.len() == 1 { Tensor::from_vec(&[], scales) } else { Tensor::from_vec(shape, scales) }
}
