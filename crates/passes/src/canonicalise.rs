//! Brings equivalent forms into one: TVM's `CanonicalizeOps` and `CanonicalizeCast` (`src/relay/transforms/canonicalize_ops.cc`,
//! `canonicalize_cast.cc`).
//!
//! A bias becomes an ordinary addition, so that passes which handle additions handle biases; a constant bias gets its axes at
//! once. Quantized operators that others define are written by these ([`super::canonicalise_qnn`]). Conversions without effect are
//! removed. Two conversions in a row become one where the first loses nothing.
//! `canonicalize-ops` is the part that TVM's pass of that name has: biases, without the axes of constants computed.
//!
//! The rewrite is sound. The addition broadcasts the same elements that the bias adds. Their number must be known to equal the
//! number of channels; otherwise the call may trap, and it stays. If the intermediate dtype holds every value, two conversions
//! give the result of the direct one. The exception is integer to float to integer: it saturates where the direct conversion
//! wraps.
//!
//! ```text
//! nn.bias_add(%x, %b)                       →    add(%x, expand_dims(%b, axis=1, num_newaxis=2))
//! cast(cast(%x, "float32"), "float16")      →    cast(%x, "float16")    where %x: Tensor[…, int8]
//! ```

use super::build::{args, dtype, value_of};
use super::canonicalise_qnn::composed;
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::types::{DType, DTypeCode};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{ADD, BIAS_ADD, BiasAddAttrs, CAST, EXPAND_DIMS};

pub(crate) const PASS: Pass = Pass {
    name: "canonicalise",
    doc: "Writes biases as additions and removes conversions that do nothing. Constant biases get the axes they need at once. \
          Quantized joins, means and transposed convolutions are written by operators that have kernels.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

pub(crate) const OPS_PASS: Pass = Pass {
    name: "canonicalize-ops",
    doc: "Writes biases as additions and nothing else, as TVM's `CanonicalizeOps` does.",
    run: |module, cx| Ok(rewrite(module, |module, expr| addition(module, cx, expr, false))),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    rewrite(module, |module, expr| {
        let simpler = bias(module, cx, expr).or_else(|| conversion(module, cx, expr));
        simpler.or_else(|| composed(module, cx, expr))
    })
}

/// A bias as an addition; a constant one gets its axes at once.
pub(crate) fn bias(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    addition(module, cx, expr, true)
}

/// `bias_add(x, b, axis) == x + expand_dims(b, 1, n)`, with `n` axes behind `axis`; if `folds`, computed for a constant.
fn addition(module: &mut Module, cx: &PassCx, expr: ExprId, folds: bool) -> Option<ExprId> {
    if !cx.calls(module, expr, &BIAS_ADD) {
        return None;
    }
    let span = module.exprs[expr].span;
    let [data, bias] = args(module, expr).try_into().ok()?;
    let (shape, _) = module.types.as_tensor(module.ty(data))?;
    let (vector, _) = module.types.as_tensor(module.ty(bias))?;
    let axis = BiasAddAttrs::read(module.call_attrs(expr)).axis.rem_euclid(shape.len() as i64) as usize;
    let channels = shape.get(axis)?.value()?;
    if vector.len() != 1 || vector[0].value() != Some(channels) {
        return None;
    }
    let n_after = shape.len() - axis - 1;
    let spread = match value_of(module, bias).cloned().filter(|_| folds) {
        _ if n_after == 0 => bias,
        Some(value) => {
            let mut shape = vec![1; n_after + 1];
            shape[0] = value.len();
            cx.constant(module, module.exprs[bias].span, value.reshape(&shape)?)
        }
        None => {
            let places = [("axis", AttrValue::int(1)), ("num_newaxis", AttrValue::int(n_after as i64))];
            cx.call(module, span, &EXPAND_DIMS, &[bias], EXPAND_DIMS.attrs?.values(&places))
        }
    };
    Some(cx.call(module, span, &ADD, &[data, spread], vec![]))
}

/// `cast(x, dtype(x)) == x`, and `cast(cast(x, a), b) == cast(x, b)` where `a` holds every value of `x`.
fn conversion(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    if !cx.calls(module, expr, &CAST) {
        return None;
    }
    let [between] = args(module, expr).try_into().ok()?;
    let to = dtype(module, expr)?;
    let mut data = between;
    while cx.calls(module, data, &CAST) {
        let [inner] = args(module, data).try_into().ok()?;
        let (from, through) = (dtype(module, inner)?, dtype(module, data)?);
        if !holds(from, through) || (!from.is_float() && through.is_float() && !to.is_float() && !to.is_bool()) {
            break;
        }
        data = inner;
    }
    if dtype(module, data) == Some(to) {
        return Some(data);
    }
    let values = module.call_attrs(expr).to_vec();
    (data != between).then(|| cx.call(module, module.exprs[expr].span, &CAST, &[data], values))
}

/// Whether every value of a dtype is one of another.
fn holds(from: DType, to: DType) -> bool {
    if !DType::RUNTIME.contains(&from) || !DType::RUNTIME.contains(&to) {
        return false;
    }
    let bits = |dtype: DType| dtype.bytes() * 8;
    // The integers up to 2^n are all values of the float.
    let exact = match to {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        _ => 53,
    };
    match (from.is_float(), to.is_float()) {
        _ if from == to || from.is_bool() => true,
        (_, false) if to.is_bool() => false,
        (true, true) => to == DType::F64 || (to == DType::F32 && from != DType::F64),
        (true, false) => false,
        (false, true) => bits(from) <= exact,
        (false, false) => match (from.code, to.code) {
            (DTypeCode::Int, DTypeCode::UInt) => false,
            (DTypeCode::UInt, DTypeCode::Int) => bits(from) < bits(to),
            _ => bits(from) <= bits(to),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_ir::tensor::Tensor;

    /// Every value of the 8- and 16-bit dtypes comes back from each dtype that is said to hold it.
    #[test]
    fn what_holds_a_value_gives_it_back() {
        for from in [DType::BOOL, DType::I8, DType::U8, DType::I16, DType::U16, DType::F16, DType::BF16] {
            let width = from.bytes() as usize;
            let bytes: Vec<u8> = (0..=u16::MAX).flat_map(|bits| bits.to_le_bytes()[..width].to_vec()).collect();
            let all = Tensor::from_le_bytes(from, &[bytes.len() / width], &bytes).expect("its own bytes");
            for to in DType::RUNTIME {
                let back = all.cast(to).and_then(|there| there.cast(from)).expect("a tensor's dtype");
                let pairs = all.to_f64s().into_iter().zip(back.to_f64s());
                let kept = pairs.into_iter().all(|(x, y)| x == y || (x.is_nan() && y.is_nan()));
                assert!(kept || !holds(from, to), "{from} in {to}");
            }
        }
        assert!(!holds(DType::I32, DType::F32) && !holds(DType::F64, DType::F32) && holds(DType::U32, DType::I64));
    }
}
