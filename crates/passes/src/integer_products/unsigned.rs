//! Signed tensors of 8 bits as unsigned ones, 128 more: the machine multiplies unsigned data by signed weights.
//!
//! A tensor is made unsigned where it is quantized, so that no conversion is left. Operators that move elements, and maxima,
//! work on the unsigned tensor.

use super::super::PassCx;
use super::super::build::{args, dtype, number, value_of};
use super::super::quantize::keeps_scale;
use super::find::{self, Dequantized};
use relayc_base::Span;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{ADD, BIAS_ADD, CAST, CLIP, ClipAttrs, DEQUANTIZE, DIVIDE, MULTIPLY, QUANTIZE, RELU, SUBTRACT};
use rustc_hash::FxHashMap;

/// How much greater the unsigned integers are.
pub(super) const SHIFT: i64 = 128;

/// A number whose sum with another rounds that to an integer, as a float32 has no bits behind the point there: `1.5 * 2^23`.
pub(super) const ROUNDING: f64 = 12_582_912.0;

/// Number of operators before a quantization that are looked at: two products with their scales and biases, their sum, and an activation.
const DEPTH: u32 = 8;

pub(super) struct Unsigned<'a> {
    cx: &'a PassCx<'a>,
    /// The unsigned tensors, by the signed ones.
    known: FxHashMap<ExprId, ExprId>,
}

/// A quantization: `round(x / scale) + zero`, limited to a dtype of 8 bits.
#[derive(Clone, Copy)]
struct Quantization {
    x: ExprId,
    scale: f64,
    zero: i64,
}

impl<'a> Unsigned<'a> {
    pub(super) fn new(cx: &'a PassCx<'a>) -> Unsigned<'a> {
        Unsigned { cx, known: FxHashMap::default() }
    }

    /// An unsigned tensor, and how much greater it is.
    pub(super) fn of(&mut self, module: &mut Module, span: Span, q: ExprId) -> Option<(ExprId, i64)> {
        if dtype(module, q)? == DType::U8 {
            return Some((q, 0));
        }
        if let Some(made) = self.made(module, q) {
            return Some((made, SHIFT));
        }
        let unsigned = self.shifted(module, span, q)?;
        self.known.insert(q, unsigned);
        Some((unsigned, SHIFT))
    }

    /// The sum of a signed tensor and [`SHIFT`]. Where that is the end of a quantization, the kernel converts once.
    fn shifted(&self, module: &mut Module, span: Span, q: ExprId) -> Option<ExprId> {
        let wide = self.cx.cast(module, span, q, DType::I16)?;
        let shift = self.cx.constant(module, span, Tensor::scalar(SHIFT as i16));
        let sum = self.cx.typed_call(module, span, &ADD, &[wide, shift], vec![])?;
        self.cx.cast(module, span, sum, DType::U8)
    }

    /// A conversion or a dequantization of a signed tensor, of the unsigned one in its place.
    pub(super) fn widened(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let operands = args(module, expr);
        let &q = operands.first()?;
        let converts = self.cx.calls(module, expr, &CAST) && dtype(module, expr) == Some(DType::I32);
        (converts || self.cx.calls(module, expr, &DEQUANTIZE)).then_some(())?;
        (dtype(module, q) == Some(DType::I8)).then_some(())?;
        let span = module.exprs[expr].span;
        if converts {
            let unsigned = self.made(module, q)?;
            let wide = self.cx.cast(module, span, unsigned, DType::I32)?;
            let shift = self.cx.constant(module, span, Tensor::scalar(SHIFT as i32));
            return self.cx.typed_call(module, span, &SUBTRACT, &[wide, shift], vec![]);
        }
        let zero = number(module, *operands.get(2)?)? as i64 + SHIFT;
        let unsigned = self.made(module, q)?;
        let zero = self.cx.constant(module, span, Tensor::scalar(i32::try_from(zero).ok()?));
        let values = module.call_attrs(expr).to_vec();
        self.cx.typed_call(module, span, &DEQUANTIZE, &[unsigned, operands[1], zero], values)
    }

    /// The operand of a dequantization that a quantization with the same numbers undoes, moved as it was between the two.
    pub(super) fn skipped(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        (dtype(module, expr)? == DType::U8).then_some(())?;
        let of = quantization(module, self.cx, expr)?;
        self.undone(module, of, of.zero)
    }

    fn undone(&mut self, module: &mut Module, of: Quantization, zero: i64) -> Option<ExprId> {
        let moved = keeps_scale(module, self.cx, of.x);
        let from = if moved { *args(module, of.x).first()? } else { of.x };
        let Dequantized { widened, scale } = find::dequantized(module, self.cx, from)?;
        let same = dtype(module, widened.q) == Some(DType::U8)
            && number(module, scale) == Some(of.scale)
            && widened.zero.other.is_none()
            && widened.zero.number == zero;
        same.then_some(())?;
        if !moved {
            return Some(widened.q);
        }
        self.moved(module, of.x, widened.q)
    }

    /// The same operator on another tensor.
    fn moved(&self, module: &mut Module, expr: ExprId, of: ExprId) -> Option<ExprId> {
        let (span, def, values) = (module.exprs[expr].span, self.cx.called(module, expr)?, module.call_attrs(expr).to_vec());
        self.cx.typed_call(module, span, def, &[of], values)
    }

    /// The unsigned tensor in the place of a signed one, if it is made as that was.
    fn made(&mut self, module: &mut Module, q: ExprId) -> Option<ExprId> {
        if let Some(&known) = self.known.get(&q) {
            return Some(known);
        }
        let span = module.exprs[q].span;
        let of = quantization(module, self.cx, q);
        let unsigned = match of.and_then(|of| self.undone(module, of, of.zero + SHIFT)) {
            Some(undone) => undone,
            None if keeps_scale(module, self.cx, q) => {
                let from = self.made(module, *args(module, q).first()?)?;
                self.moved(module, q, from)?
            }
            None if self.cx.calls(module, q, &QUANTIZE) => {
                let operands = args(module, q);
                let zero = i32::try_from(number(module, operands[2])? as i64 + SHIFT).ok()?;
                let zero = self.cx.constant(module, span, Tensor::scalar(zero));
                let mut values = module.call_attrs(q).to_vec();
                values[QUANTIZE.attrs?.position("out_dtype")?] = AttrValue::DType(Some(DType::U8));
                self.cx.typed_call(module, span, &QUANTIZE, &[operands[0], operands[1], zero], values)?
            }
            None => {
                let from = of?.x;
                match greatest(module, self.cx, from, DEPTH) {
                    Some(size) if size < f64::from(f32::MAX) => self.limited(module, q)?,
                    _ => self.shifted(module, span, q)?,
                }
            }
        };
        self.known.insert(q, unsigned);
        Some(unsigned)
    }

    /// `cast(clip(y, …), "int8")` as `cast(clip(y + 128, …), "uint8")`, for numbers: NaN would become 0 rather than 128.
    fn limited(&self, module: &mut Module, q: ExprId) -> Option<ExprId> {
        let span = module.exprs[q].span;
        let clip = *args(module, q).first()?;
        let (y, limits) = (*args(module, clip).first()?, ClipAttrs::read(module.call_attrs(clip)));
        let shift = SHIFT as f64;
        let (x, zero) = match (self.cx.calls(module, y, &ADD), &args(module, y)[..]) {
            (true, &[x, zero]) => match number(module, zero) {
                Some(number) if number.abs() <= shift => (x, number),
                _ => (y, 0.0),
            },
            _ => (y, 0.0),
        };
        let zero = self.cx.constant(module, span, Tensor::scalar((zero + shift) as f32));
        let sum = self.cx.typed_call(module, span, &ADD, &[x, zero], vec![])?;
        let ends = [("a_min", limits.a_min), ("a_max", limits.a_max)]
            .map(|(end, value)| (end, AttrValue::Float { value: value + shift, bits: 32 }));
        let clip = self.cx.typed_call(module, span, &CLIP, &[sum], CLIP.attrs?.values(&ends))?;
        self.cx.cast(module, span, clip, DType::U8)
    }
}

/// A bound of the size of an expression's numbers, if its last `depth` operators and their constants keep them finite.
fn greatest(module: &Module, cx: &PassCx, expr: ExprId, depth: u32) -> Option<f64> {
    let depth = depth.checked_sub(1)?;
    if let Some(value) = value_of(module, expr) {
        let sizes = value.to_f64s().into_iter().map(f64::abs);
        return sizes.reduce(|a, b| if a.is_nan() || a > b { a } else { b }).filter(|size| size.is_finite());
    }
    let def = cx.called(module, expr)?;
    let operands = args(module, expr);
    let of = |at: usize| greatest(module, cx, *operands.get(at)?, depth);
    match def.name {
        name if name == CAST.name => {
            let from = dtype(module, *operands.first()?)?;
            (from.is_int() && from.bits <= 32).then(|| f64::from(from.bits).exp2())
        }
        name if name == ADD.name || name == SUBTRACT.name || name == BIAS_ADD.name => Some(of(0)? + of(1)?),
        name if name == MULTIPLY.name => Some(of(0)? * of(1)?),
        name if name == RELU.name || name == CLIP.name => of(0),
        _ => None,
    }
}

/// The quantization to 8 bits that an expression is, as `qnn.quantize` or in the steps of ONNX.
fn quantization(module: &Module, cx: &PassCx, expr: ExprId) -> Option<Quantization> {
    let (least, greatest) = match dtype(module, expr)? {
        DType::I8 => (-128.0, 127.0),
        DType::U8 => (0.0, 255.0),
        _ => return None,
    };
    if cx.calls(module, expr, &QUANTIZE) {
        let &[x, scale, zero] = &args(module, expr)[..] else { return None };
        return Some(Quantization { x, scale: number(module, scale)?, zero: number(module, zero)? as i64 });
    }
    let (quotient, zero) = rounded(module, cx, expr, (least, greatest))?;
    cx.calls(module, quotient, &DIVIDE).then_some(())?;
    let &[x, scale] = &args(module, quotient)[..] else { return None };
    Some(Quantization { x, scale: number(module, scale)?, zero })
}

/// The number that a conversion to integers rounds, limits to exactly these and adds a zero point to, and that.
pub(super) fn rounded(module: &Module, cx: &PassCx, expr: ExprId, (least, greatest): (f64, f64)) -> Option<(ExprId, i64)> {
    let within = |expr: ExprId, def: &OpDef| if cx.calls(module, expr, def) { Some(args(module, expr)) } else { None };
    let clip = *within(expr, &CAST)?.first()?;
    let sum = *within(clip, &CLIP)?.first()?;
    let limits = ClipAttrs::read(module.call_attrs(clip));
    (limits.a_min == least && limits.a_max == greatest).then_some(())?;
    let (rounded, zero) = match within(sum, &ADD).as_deref() {
        Some(&[rounded, zero]) => (rounded, number(module, zero)?),
        _ => (sum, 0.0),
    };
    let is_rounding = |expr: ExprId| number(module, expr) == Some(ROUNDING);
    let &[shifted, back] = &within(rounded, &SUBTRACT)?[..] else { return None };
    let &[number, there] = &within(shifted, &ADD)?[..] else { return None };
    let whole = zero.fract() == 0.0 && zero.abs() <= 255.0;
    (is_rounding(back) && is_rounding(there) && whole).then_some((number, zero as i64))
}
