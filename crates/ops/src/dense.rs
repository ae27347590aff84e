//! Fully connected layers: the product with a weight matrix, the addition of a bias, and flattening.

use super::lower::{self, Product};
use super::rel::require_same_dtype;
use crate::prelude::*;
use relayc_ir::tensor::{Acc, Real};

attrs! {
    "relay.attrs.DenseAttrs" =>
    pub(crate) struct DenseAttrs {
        /// The number of rows of the weight, the last dimension of the result; `None` takes it from the weight.
        pub(crate) units: Option<Dim>;
        /// The dtype of the result; by default that of `data`.
        pub(crate) out_dtype: Option<DType> = None;
    }

    "relay.attrs.BiasAddAttrs" =>
    pub struct BiasAddAttrs {
        /// The axis of `data` along which the bias runs.
        pub axis: i64 = 1;
    }
}

pub const DENSE: OpDef = OpDef {
    name: "nn.dense",
    doc: "`out[…, u] = sum over k of data[…, k] * weight[u, k]`: `data` is `(…, K)`, `weight` is `(units, K)`, the result is \
          `(…, units)`. Operands are converted to the result's dtype first (`src/relay/op/nn/nn.h`, `MatmulRel`).",
    args: &[Arg::of("data", "nD Tensor"), Arg::of("weight", "2D Tensor")],
    attrs: Some(DenseAttrs::SCHEMA),
    rules: &[
        "C1: rank(data) >= 1",
        "C2: rank(weight) == 2",
        "C3: weight[1] == data[-1]",
        "C4: weight[0] == units",
        "C5: units >= 0",
    ],
    rel: dense_rel,
    eval: dense_eval,
    lower: Some(Lower::Product(dense_product)),
    fuse: Some(Fuse::OutEWiseFusable),
    macs: Some(|shapes| Shapes::elements(shapes.out) * Shapes::elements(&shapes.args[1][1..])),
    ..OpDef::BASE
};

fn dense_rel(cx: &mut RelCx) -> RelResult {
    let attrs = DenseAttrs::read(cx.attrs);
    let units = attrs.units.map(|units| SDim::new(units, DimOrigin::Attr("units")));
    if let Some(value) = units.and_then(SDim::value) {
        cx.require("C5", value >= 0, || Fault::attr("units", format!("expected at least 0, found {value}")))?;
    }
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() >= 1, || Fault::rank("1 or more", &data))?;
    let input = data.dim(data.rank() - 1);
    let weight = cx.known_tensor(1)?;
    let last = match (units, &weight) {
        (Some(units), None) => {
            cx.set_arg("C3", 1, Shape::from_slice(&[units, input]), data.dtype)?;
            units
        }
        (None, None) => return Err(Stop::NotYet),
        (units, Some(weight)) => {
            dense_weight(cx, weight, units, &data)?;
            units.unwrap_or(weight.dim(0))
        }
    };
    let mut shape = data.dims();
    shape[data.rank() - 1] = last;
    cx.set_out(shape, attrs.out_dtype.unwrap_or(data.dtype))
}

/// Checks a weight whose type is known.
fn dense_weight(cx: &RelCx, weight: &TensorTy, units: Option<SDim>, data: &TensorTy) -> RelResult {
    let input = data.dim(data.rank() - 1);
    cx.require("C2", weight.rank() == 2, || Fault::rank(2, weight))?;
    let (rows, columns) = (weight.shape[0], weight.shape[1]);
    cx.require("C3", columns.compatible(input.dim), || {
        let fault = Fault::shape(format!("expected a weight for {} inputs, found one for {columns}", input.dim))
            .at(weight.axis(1), "")
            .at(input.place(), "")
            .equation("weight[1] == data[-1]", format!("{columns} == {}", input.dim));
        let turned = rows.same(input.dim) && units.is_none_or(|units| units.dim.compatible(columns));
        if turned {
            fault.help("the weight is written (units, inputs): transpose it")
        } else {
            not_flattened(fault, data, columns)
        }
    })?;
    let Some(units) = units else { return Ok(()) };
    cx.require("C4", rows.compatible(units.dim), || {
        Fault::shape(format!("expected a weight of {} units, found {rows}", units.dim))
            .at(Place::attr("units"), "")
            .at(weight.axis(0), "")
            .equation("weight[0] == units", format!("{rows} == {}", units.dim))
            .set_attr("units", rows)
    })
}

/// Proposes to flatten the images that a weight for `inputs` takes as rows.
pub(super) fn not_flattened(fault: Fault, data: &TensorTy, inputs: Dim) -> Fault {
    let sizes: Option<Vec<u64>> = data.shape.iter().skip(1).map(|dim| u64::try_from(dim.value()?).ok()).collect();
    let row = sizes.filter(|sizes| sizes.len() > 1).and_then(|sizes| sizes.into_iter().try_fold(1, u64::checked_mul));
    let wanted = inputs.value().and_then(|inputs| u64::try_from(inputs).ok());
    if row.is_none() || row != wanted {
        return fault;
    }
    fault.help("only the last axis is multiplied: `nn.batch_flatten` of the operand makes one row of each image")
}

pub(super) fn dense_product(call: &Call) -> Option<Vec<Product>> {
    product_of_rows(call, false, true)
}

/// The product of rows of the first operand with a matrix, each possibly transposed.
pub(super) fn product_of_rows(call: &Call, transpose_a: bool, transpose_b: bool) -> Option<Vec<Product>> {
    let (a, b, out) = (call.arg(0), call.arg(1), call.out());
    if !lower::multiplies([a, b, out]) || a.shape.is_empty() {
        return None;
    }
    let rank = a.shape.len();
    let points: Vec<u64> = out.shape[..rank - 1].to_vec();
    let (k, units) = (a.shape[if transpose_a { rank - 2 } else { rank - 1 }], out.shape[rank - 1]);
    (b.shape[usize::from(transpose_b)] == k).then_some(())?;
    let (sum, column) = (AxisMap::of(rank + 2), AxisMap::of(rank + 1));
    let mut data: Vec<AxisMap> = (0..rank - 1).map(|point| AxisMap::of(1 + point)).chain([sum.clone()]).collect();
    if transpose_a {
        data.swap(rank - 2, rank - 1);
    }
    let weight = if transpose_b { vec![column.clone(), sum] } else { vec![sum, column.clone()] };
    let out = (0..rank - 1).map(|point| AxisMap::of(1 + point)).chain([column]).collect();
    Some(vec![Product { groups: 1, points, columns: [1, units], sum: vec![k], data, weight, out, data_arg: 0, depthwise: false }])
}

fn dense_eval(cx: &EvalCx) -> EvalResult {
    let dtype = cx.out_dtype();
    let (data, weight) = (cx.tensor_as(0, dtype)?, cx.tensor_as(1, dtype)?);
    Ok(rows_product(&data, &weight.permute(&[1, 0]), cx.out_shape()).into())
}

/// Multiplies each row of `data` by a matrix `(K, units)`, both of one dtype.
pub(super) fn rows_product(data: &Tensor, matrix: &Tensor, out_shape: &[usize]) -> Tensor {
    let (rows, columns) = (data.to_acc(), matrix.to_acc());
    let out = match rows {
        Acc::F32(_) => rows_times::<f32>(&rows, &columns, out_shape),
        Acc::F64(_) => rows_times::<f64>(&rows, &columns, out_shape),
        Acc::I64(_) => rows_times::<i64>(&rows, &columns, out_shape),
    };
    out.into_tensor(data.dtype())
}

/// Each row of `data` times a matrix `(K, units)`. Every sum runs over `k` upwards, for any number of threads.
fn rows_times<T: Real>(data: &Acc, matrix: &Acc, out_shape: &[usize]) -> Acc {
    let (data, matrix) = (T::elements(data), T::elements(matrix));
    let units = out_shape[out_shape.len() - 1];
    let mut out = vec![T::ZERO; out_shape.iter().product()];
    if !data.is_empty() && !out.is_empty() {
        let k = matrix.len() / units;
        T::each_part(&mut out, units, &|at, sums| {
            T::add_products(sums, &data[at * k..][..k], &matrix);
        });
    }
    T::from_elements(out_shape, out)
}

pub const BIAS_ADD: OpDef = OpDef {
    name: "nn.bias_add",
    doc: "`out[…, i, …] = data[…, i, …] + bias[i]` with `i` the index of `axis`. Shape and dtype are those of `data` \
          (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::of("data", "nD Tensor"), Arg::of("bias", "1D Tensor")],
    attrs: Some(BiasAddAttrs::SCHEMA),
    rules: &[
        "C1: -rank(data) <= axis < rank(data)",
        "C2: rank(bias) == 1",
        "C3: bias[0] == data[axis]",
        "C4: dtype(bias) == dtype(data)",
    ],
    rel: bias_add_rel,
    eval: bias_add_eval,
    lower: Some(Lower::Along(bias_axis, |s| s.numbers(BinaryOp::Add))),
    fuse: Some(Fuse::Broadcast),
    ..OpDef::BASE
};

fn bias_add_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BiasAddAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let axis = cx.axis("C1", "axis", attrs.axis, data.rank())?;
    match cx.known_tensor(1)? {
        None => cx.set_arg("C3", 1, Shape::from_slice(&[data.dim(axis)]), data.dtype)?,
        Some(bias) => {
            cx.require("C2", bias.rank() == 1, || Fault::rank(1, &bias))?;
            require_same_dtype(cx, "C4", &data, &bias)?;
            let (found, expected) = (bias.shape[0], data.shape[axis]);
            // Where only running tells, TVM's kernel broadcasts (`python/tvm/relay/op/nn/_nn.py`).
            let broadcasts = cx.at_run_time && found.value() == Some(1);
            cx.require("C3", broadcasts || found.compatible(expected), || {
                let fault = Fault::shape(format!("expected a bias of {expected}, found {found}"))
                    .at(bias.axis(0), "")
                    .at(data.axis(axis), "")
                    .equation(format!("bias[0] == data[{axis}]"), format!("{found} == {expected}"));
                let mut fitting = (0..data.rank()).filter(|&axis| data.shape[axis].same(found));
                match (fitting.next(), fitting.next()) {
                    (Some(axis), None) => fault.set_attr("axis", axis),
                    _ => fault,
                }
            })?;
        }
    }
    cx.set_out(data.dims(), data.dtype)
}

fn bias_axis(call: &Call, _: usize) -> Option<usize> {
    call.axis(BiasAddAttrs::read(call.attrs).axis, call.arg(0).shape.len())
}

fn bias_add_eval(cx: &EvalCx) -> EvalResult {
    let (data, bias) = (cx.tensor(0), cx.tensor(1));
    let axis = BiasAddAttrs::read(cx.attrs).axis;
    let axis = if axis < 0 { axis + data.rank() as i64 } else { axis } as usize;
    let mut shape = vec![1; data.rank() - axis];
    shape[0] = bias.len();
    let bias = bias.reshape(&shape).expect("the relation required rank 1");
    Ok(data.zip(&bias, |x, b| x + b, |x, b| x + b).expect("the relation required a bias that fits").into())
}

pub const BATCH_FLATTEN: OpDef = OpDef {
    name: "nn.batch_flatten",
    work: Work::None,
    doc: "The elements of `data`, `(d0, d1, …, dn)`, in order under the shape `(d0, d1 * … * dn)` (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data")],
    rules: &["C1: rank(data) >= 1", "C2: d1 * … * dn < 2^63"],
    rel: batch_flatten_rel,
    eval: |cx| Ok(cx.tensor(0).reshape(cx.out_shape()).expect("the relation kept the number of elements").into()),
    lower: Some(lower::RESHAPE),
    fuse: Some(Fuse::Injective),
    no_op: true,
    reshapes: true,
    ..OpDef::BASE
};

fn batch_flatten_rel(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() >= 1, || Fault::rank("1 or more", &data))?;
    let mut columns = Dim::known(1);
    for &dim in &data.shape[1..] {
        let fits = columns.value().zip(dim.value()).is_none_or(|(a, b)| a.checked_mul(b).is_some());
        cx.require("C2", fits, || Fault::new(codes::E0803, "the product of the dimensions is too large").at(data.place(), ""))?;
        columns = cx.types.symbols.arith(SymbolOp::Mul, columns, dim);
    }
    let from = if data.rank() == 2 { data.dim(1).from } else { DimOrigin::Rule("C2") };
    cx.set_out(Shape::from_slice(&[data.dim(0), SDim::new(columns, from)]), data.dtype)
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (DENSE.name, Onnx::Nodes(dense_onnx)),
    (BIAS_ADD.name, Onnx::Nodes(bias_add_onnx)),
    (BATCH_FLATTEN.name, Onnx::Nodes(|cx| Ok(cx.map("Flatten").into()))),
];

/// Requires a dtype for which ONNX has products.
pub(super) fn require_product_onnx(dtype: DType) -> Result<(), String> {
    let wide = dtype.is_int() && dtype.bits >= 32;
    if dtype.is_float() || wide {
        Ok(())
    } else {
        Err(format!("a product of `{dtype}`, where ONNX takes floats and wide integers only"))
    }
}

fn dense_onnx(cx: &mut OnnxCx) -> OnnxResult {
    require_product_onnx(cx.out_dtype())?;
    let rank = cx.rank(cx.tensor(0));
    let (data, weight) = (cx.operand_as_out(0)?, cx.operand_as_out(1)?);
    // Engines have this for floats only.
    if rank == 2 && cx.out_dtype().is_float() {
        return Ok(cx.node("Gemm", &[data, weight]).int("transB", 1).one().into());
    }
    let weight = cx.transposed(weight, &[1, 0]);
    Ok(cx.node("MatMul", &[data, weight]).one().into())
}

fn bias_add_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Numbers.require(cx.out_dtype())?;
    let data = cx.tensor(0);
    let rank = cx.rank(data);
    let axis = BiasAddAttrs::read(cx.attrs).axis.rem_euclid(rank as i64) as usize;
    let bias = cx.along(cx.tensor(1), axis, rank)?;
    Ok(cx.node("Add", &[data, bias]).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[DENSE, BIAS_ADD, BATCH_FLATTEN];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rel::FaultHelp;
    use crate::trial::{call, extremes};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::tensor::Tensor;

    #[test]
    fn dense_relation() {
        let dense = || call(&DENSE).int("units", 3);
        assert_eq!(dense().out(&["(2, ?, 5i64) float32", "(3, 5) float32"]), "Tensor[(2, ?, 3), float32]");
        let inferred = dense().infer(&["(2, 5) float32", "_"]).expect("it holds");
        assert_eq!(inferred.args[1], "Tensor[(3, 5), float32]");
        assert_eq!(inferred.origins.args[0].1[0].from, DimOrigin::Attr("units"));
        let free = || call(&DENSE).attr("out_dtype", AttrValue::DType(Some(DType::I32)));
        assert_eq!(free().out(&["(2, ?) int8", "(3, 5) int8"]), "Tensor[(2, 3), int32]");
        assert!(matches!(free().infer(&["(2, 5) int8", "_"]), Err(Stop::NotYet)));
        extremes(dense, &["(2, 5) float32", "(3, 5) float32"]);
    }

    #[test]
    fn dense_faults() {
        let dense = call(&DENSE).int("units", 3);
        assert_eq!(dense.fault(&["() float32", "(3, 5) float32"]).rule, "C1");
        assert_eq!(dense.fault(&["(2, 5) float32", "(3) float32"]).rule, "C2");
        let fault = dense.fault(&["(2, 5) float32", "(5, 3) float32"]);
        assert_eq!((fault.rule, fault.helps.len()), ("C3", 1));
        assert_eq!(fault.equation, Some(("weight[1] == data[-1]".into(), "3 == 5".into())));
        let fault = dense.fault(&["(2, 5) float32", "(4, 5) float32"]);
        assert_eq!(fault.helps, [FaultHelp::SetAttr { name: "units", value: "4".into() }]);
        assert_eq!(call(&DENSE).int("units", -1).fault(&["_", "_"]).rule, "C5");
    }

    #[test]
    fn dense_values() {
        let data = Tensor::from_vec(&[2, 2], vec![1f32, 2.0, 3.0, 4.0]);
        let weight = Tensor::from_vec(&[3, 2], vec![1f32, 0.0, 0.0, 1.0, 1.0, -1.0]);
        assert_eq!(call(&DENSE).values(&[&data, &weight]), [1.0, 2.0, -1.0, 3.0, 4.0, -1.0]);
        let bytes = Tensor::from_vec(&[1, 2], vec![100i8, 100]);
        assert_eq!(call(&DENSE).values(&[&bytes, &bytes]), [32.0]);
        let wide = call(&DENSE).attr("out_dtype", AttrValue::DType(Some(DType::I32)));
        assert_eq!(wide.values(&[&bytes, &bytes]), [20000.0]);
        let empty = call(&DENSE).values(&[&Tensor::from_vec::<f32>(&[2, 0], vec![]), &Tensor::from_vec::<f32>(&[1, 0], vec![])]);
        assert_eq!(empty, [0.0, 0.0]);
    }

    #[test]
    fn bias_add() {
        let args = ["(2, 4, ?) float32", "_"];
        assert_eq!(call(&BIAS_ADD).infer(&args).expect("it holds").args[1], "Tensor[(4), float32]");
        assert_eq!(call(&BIAS_ADD).int("axis", 3).fault(&args).rule, "C1");
        assert_eq!(call(&BIAS_ADD).fault(&[args[0], "(4, 1) float32"]).rule, "C2");
        let fault = call(&BIAS_ADD).fault(&[args[0], "(2) float32"]);
        assert_eq!((fault.rule, fault.helps.len()), ("C3", 1));
        assert_eq!(call(&BIAS_ADD).fault(&[args[0], "(4) int32"]).rule, "C4");
        extremes(|| call(&BIAS_ADD), &args);
        let data = Tensor::from_fn(&[1, 2, 2], |i| i as f32);
        let bias = Tensor::from_vec(&[2], vec![10f32, 20.0]);
        assert_eq!(call(&BIAS_ADD).values(&[&data, &bias]), [10.0, 11.0, 22.0, 23.0]);
        assert_eq!(call(&BIAS_ADD).int("axis", -1).values(&[&data, &bias]), [10.0, 21.0, 12.0, 23.0]);
    }

    #[test]
    fn batch_flatten() {
        let flatten = call(&BATCH_FLATTEN);
        assert_eq!(flatten.out(&["(2, 3, 4i64) bool"]), "Tensor[(2, 12i64), bool]");
        assert_eq!(flatten.out(&["(?, 3, ?) float32"]), "Tensor[(?, ?), float32]");
        assert_eq!(flatten.out(&["(5) float32"]), "Tensor[(5, 1), float32]");
        assert_eq!(flatten.fault(&["() float32"]).rule, "C1");
        extremes(|| call(&BATCH_FLATTEN), &["(2, 3) float32"]);
        assert_eq!(flatten.eval(&[&Tensor::from_fn(&[2, 1, 3], |i| i as i32)]).expect("it runs")[0].shape(), [2, 3]);
    }
}
