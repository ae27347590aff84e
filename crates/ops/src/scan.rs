//! Scans: combine each element with all elements before it.

use super::attrs::OptBool;
use crate::prelude::*;
use relayc_ir::kernel::{self, Clip, Lines, ReduceDim, Reduction, Routine};
use relayc_ir::tensor::{Acc, Real};

attrs! {
    "relay.attrs.ScanopAttrs" =>
    pub(crate) struct ScanopAttrs {
        /// The axis to scan; a negative axis counts from the end. `None` scans all elements in row-major order.
        pub(crate) axis: Option<i64> = None;
        /// The dtype of the result; by default that of `data`.
        pub(crate) dtype: Option<DType> = None;
        /// Whether to exclude the element itself.
        pub(crate) exclusive: OptBool = Some(false);
    }
}

pub const CUMSUM: OpDef = OpDef {
    name: "cumsum",
    doc: "The sum of each element of `data`, converted to `dtype`, and all before it along `axis`; of those before it alone if \
          `exclusive`, which is 0 for the first. Sums are taken in order, those of f16 and bf16 in f32; integers wrap \
          (`python/tvm/topi/scan.py`).",
    args: &[Arg::tensor("data")],
    attrs: Some(&AttrSchema { declared: false, ..*ScanopAttrs::SCHEMA }),
    rules: &[
        "C1: axis is in -rank(data)…rank(data)-1, if given",
        "C2: the product of the dimensions is an int64, if axis is not given",
        "C3: dtype is the dtype of a tensor, if given",
    ],
    rel: scan_rel,
    eval: |cx| scan_eval::<Sums>(cx),
    lower: Some(Lower::NestOr(|call| scan_nest(call, Reduction::Sum), |call| scan_routine(call, false))),
    ..OpDef::BASE
};

pub const CUMPROD: OpDef = OpDef {
    name: "cumprod",
    doc: "The product of each element of `data`, converted to `dtype`, and all before it along `axis`; of those before it alone \
          if `exclusive`, which is 1 for the first. Products are taken in order, those of f16 and bf16 in f32; integers wrap \
          (`python/tvm/topi/scan.py`).",
    eval: |cx| scan_eval::<Products>(cx),
    lower: Some(Lower::NestOr(|call| scan_nest(call, Reduction::Product), |call| scan_routine(call, true))),
    ..CUMSUM
};

fn scan_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ScanopAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let dtype = rel::require_tensor_dtype(cx, "C3", "dtype", attrs.dtype.or(Some(data.dtype)))?;
    if let Some(axis) = attrs.axis {
        cx.axis("C1", "axis", axis, data.rank())?;
        return cx.set_out(data.dims(), dtype);
    }
    let mut dims = data.shape.iter();
    let mut elements = dims.next().copied().unwrap_or(Dim::known(1));
    for &dim in dims {
        let fits = elements.value().zip(dim.value()).is_none_or(|(a, b)| a.checked_mul(b).is_some());
        cx.require("C2", fits, || Fault::new(codes::E0803, "the product of the dimensions is too large").at(data.place(), ""))?;
        elements = cx.types.symbols.built(SymbolOp::Mul, elements, dim);
    }
    cx.set_out(Shape::from_slice(&[SDim::new(elements, DimOrigin::Rule("C2"))]), dtype)
}

/// How a scan processes the next element.
trait Step {
    fn first<T: Real>() -> T;
    fn next<T: Real>(before: T, x: T) -> T;
}

struct Sums;

impl Step for Sums {
    fn first<T: Real>() -> T {
        T::ZERO
    }

    fn next<T: Real>(before: T, x: T) -> T {
        before.add(x)
    }
}

struct Products;

impl Step for Products {
    fn first<T: Real>() -> T {
        T::ONE
    }

    fn next<T: Real>(before: T, x: T) -> T {
        before.mul(x)
    }
}

fn scan_eval<S: Step>(cx: &EvalCx) -> EvalResult {
    let (dtype, attrs) = (cx.out_dtype(), ScanopAttrs::read(cx.attrs));
    let shape = cx.out_shape();
    let axis = attrs.axis.unwrap_or(0).rem_euclid(shape.len() as i64) as usize;
    let lines = (shape[axis], shape[axis + 1..].iter().product());
    let exclusive = attrs.exclusive.0.unwrap_or(false);
    let acc = cx.tensor_as(0, dtype)?.to_acc();
    let scanned = match &acc {
        Acc::F32(_) => f32::from_elements(shape, scan::<f32, S>(&acc, lines, exclusive)),
        Acc::F64(_) => f64::from_elements(shape, scan::<f64, S>(&acc, lines, exclusive)),
        Acc::I64(_) => i64::from_elements(shape, scan::<i64, S>(&acc, lines, exclusive)),
    };
    Ok(scanned.into_tensor(dtype).into())
}

/// Longer lines are done faster one element after the other.
const LONGEST: u64 = 256;

/// For each element the fold of a window that ends there, clipped to the line: of integers alone, as a fold starts from +0, where the
/// first element of a line may be -0.
fn scan_nest(call: &Call, fold: Reduction) -> Option<Template> {
    let (data, out, attrs) = (call.arg(0), call.out(), ScanopAttrs::read(call.attrs));
    let plain = data.dtype == DType::I32 && out.dtype == DType::I32;
    (plain && !attrs.exclusive.0.unwrap_or(false) && !out.shape.contains(&0)).then_some(())?;
    let axis = call.axis(attrs.axis.unwrap_or(0), out.shape.len())?;
    let n = out.shape[axis];
    (n <= LONGEST).then_some(())?;
    let before = n as i64 - 1;
    let clip = Clip { dim: axis, stride: 1, dilation: 1, before, size: n as i64 };
    let mut index: Vec<AxisMap> = (0..out.shape.len()).map(AxisMap::of).collect();
    let own = index.clone();
    index[axis] = AxisMap { offset: -before, terms: vec![(axis, 1), (out.shape.len(), 1)] };
    let reduce = vec![ReduceDim { extent: n, clip: Some(clip) }];
    let mut template = Template::folded(out.shape.clone(), reduce, vec![Read::of(Source::Arg(0), index)], fold, own);
    if data.shape != out.shape {
        template.shapes.push((0, out.shape.clone()));
    }
    Some(template)
}

/// Scans as a routine: integers and floats of any width, lines of any length.
fn scan_routine(call: &Call, product: bool) -> Option<Routine> {
    let (data, out, attrs) = (call.arg(0), call.out(), ScanopAttrs::read(call.attrs));
    let whole = |dtype: DType| dtype.is_int() || dtype == DType::BOOL;
    let known = data.dtype == out.dtype || whole(data.dtype) && whole(out.dtype);
    (known && out.dtype != DType::BOOL).then_some(())?;
    let axis = call.axis(attrs.axis.unwrap_or(0), out.shape.len())?;
    let (lines, exclusive) = (Lines::along(&out.shape, axis), attrs.exclusive.0.unwrap_or(false));
    Some(Routine::Scan(kernel::Scan { lines, from: data.dtype, to: out.dtype, product, exclusive }))
}

/// Lines have `length` elements, `inner` apart.
fn scan<T: Real, S: Step>(acc: &Acc, (length, inner): (usize, usize), exclusive: bool) -> Vec<T> {
    let elements = T::elements(acc);
    let mut out = Vec::<T>::with_capacity(elements.len());
    for (i, &x) in elements.iter().enumerate() {
        let first = i / inner % length == 0;
        out.push(match (first, exclusive) {
            (true, true) => S::first(),
            (true, false) => x,
            (false, true) => S::next(out[i - inner], elements[i - inner]),
            (false, false) => S::next(out[i - inner], x),
        });
    }
    out
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(CUMSUM.name, Onnx::Nodes(cumsum_onnx))];

fn cumsum_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, dtype) = (ScanopAttrs::read(cx.attrs), cx.out_dtype());
    if ![DType::F32, DType::F64, DType::I32, DType::I64].contains(&dtype) {
        return Err(format!("sums of `{dtype}`, where ONNX takes float32, float64, int32 and int64 only"));
    }
    let mut data = cx.operand_as_out(0)?;
    if attrs.axis.is_none() {
        data = cx.reshaped(data, &[-1]);
    }
    let axis = cx.constant("axis", Tensor::scalar(attrs.axis.unwrap_or(0)));
    Ok(cx.node("CumSum", &[data, axis]).int("exclusive", attrs.exclusive.0.unwrap_or(false).into()).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[CUMSUM, CUMPROD];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};
    use relayc_ir::attrs::AttrValue;

    #[test]
    fn shapes() {
        assert_eq!(call(&CUMSUM).out(&["(2, 3i64) int8"]), "Tensor[(6i64), int8]");
        assert_eq!(call(&CUMSUM).out(&["(2, ?) int8"]), "Tensor[(Mul(2, ?)), int8]");
        assert_eq!(call(&CUMSUM).out(&["() int8"]), "Tensor[(1), int8]");
        let wide = || call(&CUMPROD).int("axis", -1).attr("dtype", AttrValue::DType(Some(DType::I64)));
        assert_eq!(wide().out(&["(2, ?) int8"]), "Tensor[(2, ?), int64]");
        assert_eq!(wide().fault(&["() int8"]).rule, "C1");
        assert_eq!(call(&CUMSUM).fault(&["(9223372036854775807, 2, 0) int8"]).rule, "C2");
        extremes(wide, &["(2, 3) float32"]);
    }

    #[test]
    fn scans() {
        let x = Tensor::from_vec(&[2, 3], vec![1i8, 2, 3, 100, 50, 4]);
        let sum = || call(&CUMSUM);
        assert_eq!(sum().int("axis", 1).values(&[&x]), [1.0, 3.0, 6.0, 100.0, -106.0, -102.0]);
        assert_eq!(sum().int("axis", 0).values(&[&x]), [1.0, 2.0, 3.0, 101.0, 52.0, 7.0]);
        assert_eq!(sum().values(&[&x])[5], -96.0);
        let wide = sum().attr("dtype", AttrValue::DType(Some(DType::I32))).attr("exclusive", AttrValue::Bool(true));
        assert_eq!(wide.values(&[&x]), [0.0, 1.0, 3.0, 6.0, 106.0, 156.0]);
        let product = call(&CUMPROD).int("axis", 0).attr("exclusive", AttrValue::Bool(true));
        assert_eq!(product.values(&[&x]), [1.0, 1.0, 1.0, 1.0, 2.0, 3.0]);
        assert_eq!(sum().values(&[&Tensor::scalar(7u64)]), [7.0]);
        assert!(sum().int("axis", 0).values(&[&Tensor::from_vec::<f32>(&[3, 0], vec![])]).is_empty());
    }
}
