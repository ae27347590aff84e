//! Matrix products.

use super::dense::require_product_onnx;
use super::dense::{not_flattened, product_of_rows, rows_product};
use super::lower::{self, Product};
use super::rel::broadcast_dim;
use crate::prelude::*;

attrs! {
    "relay.attrs.MatmulAttrs" =>
    pub struct MatmulAttrs {
        /// The columns of the result; `None` takes them from `tensor_b`.
        pub(crate) units: Option<Dim>;
        /// The dtype of the result; by default that of `tensor_a`.
        pub(crate) out_dtype: Option<DType> = None;
        /// Whether `tensor_a` is `(…, K, M)`.
        pub transpose_a: bool = false;
        /// Whether `tensor_b` is `(units, K)`.
        pub transpose_b: bool = false;
    }

    "relay.attrs.BatchMatmulAttrs" =>
    pub struct BatchMatmulAttrs {
        /// The dtype of the result; by default that of `tensor_a`.
        pub(crate) out_dtype: Option<DType> = None;
        /// Whether `tensor_a` is `(B, K, M)`.
        pub transpose_a: bool = false;
        /// Whether `tensor_b` is `(B, N, K)`.
        pub transpose_b: bool = false;
    }
}

pub const MATMUL: OpDef = OpDef {
    name: "nn.matmul",
    doc: "`out[…, m, n] = sum over k of tensor_a[…, m, k] * tensor_b[k, n]`; `transpose_a` swaps the last two axes of \
          `tensor_a`, `transpose_b` those of `tensor_b`. Operands are converted to the result's dtype first. As in TVM, the \
          lengths of `k` are compared when checking only where `units` is given, and when running always \
          (`src/relay/op/nn/nn.h`).",
    args: &[Arg::of("tensor_a", "nD Tensor"), Arg::of("tensor_b", "2D Tensor")],
    attrs: Some(MatmulAttrs::SCHEMA),
    rules: &[
        "C1: rank(tensor_a) >= 1, or 2 with transpose_a",
        "C2: rank(tensor_b) == 2",
        "C3: where units is given, both operands have the same length along k",
        "C4: where units is given, tensor_b has as many columns",
        "C5: units >= 0",
    ],
    rel: matmul_rel,
    eval: matmul_eval,
    lower: Some(Lower::Product(matmul_product)),
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

fn matmul_rel(cx: &mut RelCx) -> RelResult {
    let attrs = MatmulAttrs::read(cx.attrs);
    let units = attrs.units.map(|units| SDim::new(units, DimOrigin::Attr("units")));
    if let Some(value) = units.and_then(SDim::value) {
        cx.require("C5", value >= 0, || Fault::attr("units", format!("expected at least 0, found {value}")))?;
    }
    let a = cx.tensor(0)?;
    let least = 1 + usize::from(attrs.transpose_a);
    cx.require("C1", a.rank() >= least, || Fault::rank(format!("{least} or more"), &a))?;
    let mut shape = a.dims();
    let last = a.rank() - 1;
    let inner = if attrs.transpose_a { a.dim(last - 1) } else { a.dim(last) };
    if attrs.transpose_a {
        shape[last - 1] = a.dim(last);
    }
    let b = cx.known_tensor(1)?;
    shape[last] = match (units, &b) {
        (Some(units), None) => {
            let dims = if attrs.transpose_b { [units, inner] } else { [inner, units] };
            cx.set_arg("C3", 1, Shape::from_slice(&dims), a.dtype)?;
            units
        }
        (None, None) => return Err(Stop::NotYet),
        (units, Some(b)) => matmul_columns(cx, b, units, (&a, inner), attrs.transpose_b)?,
    };
    cx.set_out(shape, attrs.out_dtype.unwrap_or(a.dtype))
}

/// The columns of a `tensor_b` whose type is known.
fn matmul_columns(
    cx: &RelCx,
    b: &TensorTy,
    units: Option<SDim>,
    (a, inner): (&TensorTy, SDim),
    transposed: bool,
) -> RelResult<SDim> {
    cx.require("C2", b.rank() == 2, || Fault::rank(2, b))?;
    let (k, n) = if transposed { (1, 0) } else { (0, 1) };
    let Some(units) = units else { return Ok(b.dim(n)) };
    let (rows, columns) = (b.shape[k], b.shape[n]);
    cx.require("C3", rows.compatible(inner.dim), || {
        let fault = Fault::shape(format!("expected a matrix for {} inputs, found one for {rows}", inner.dim))
            .at(b.axis(k), "")
            .at(inner.place(), "")
            .equation(format!("tensor_b[{k}] == the length of k in tensor_a"), format!("{rows} == {}", inner.dim));
        not_flattened(fault, a, rows)
    })?;
    cx.require("C4", columns.compatible(units.dim), || {
        Fault::shape(format!("expected {} columns, found {columns}", units.dim))
            .at(Place::attr("units"), "")
            .at(b.axis(n), "")
            .equation(format!("tensor_b[{n}] == units"), format!("{columns} == {}", units.dim))
            .set_attr("units", columns)
    })?;
    Ok(units)
}

fn matmul_product(call: &Call) -> Option<Vec<Product>> {
    let attrs = MatmulAttrs::read(call.attrs);
    product_of_rows(call, attrs.transpose_a, attrs.transpose_b)
}

fn matmul_eval(cx: &EvalCx) -> EvalResult {
    let attrs = MatmulAttrs::read(cx.attrs);
    let (a, b) = (cx.tensor_as(0, cx.out_dtype())?, cx.tensor_as(1, cx.out_dtype())?);
    let a = if attrs.transpose_a { swap_last(&a) } else { a };
    let b = if attrs.transpose_b { swap_last(&b) } else { b };
    let (k, rows) = (a.shape()[a.rank() - 1], b.shape()[0]);
    if k != rows {
        return Err(Trap::new(codes::E0506, format!("a product of rows of {k} with columns of {rows}")));
    }
    Ok(rows_product(&a, &b, cx.out_shape()).into())
}

fn swap_last(tensor: &Tensor) -> Tensor {
    let mut axes: Vec<usize> = (0..tensor.rank()).collect();
    axes.swap(tensor.rank() - 1, tensor.rank() - 2);
    tensor.permute(&axes)
}

pub const BATCH_MATMUL: OpDef = OpDef {
    name: "nn.batch_matmul",
    doc: "`out[b, m, n] = sum over k of tensor_a[b, m, k] * tensor_b[b, k, n]`; `transpose_a` and `transpose_b` swap the last \
          two axes of an operand; a batch of 1 goes with all of the other. Operands are converted to the result's dtype first \
          (`src/relay/op/nn/nn.h`).",
    args: &[Arg::of("tensor_a", "3D Tensor"), Arg::of("tensor_b", "3D Tensor")],
    attrs: Some(BatchMatmulAttrs::SCHEMA),
    rules: &[
        "C1: rank(tensor_a) == rank(tensor_b) == 3",
        "C2: the batches are equal, or one of them is 1",
        "C3: both operands have the same length along k",
    ],
    rel: batch_matmul_rel,
    eval: batch_matmul_eval,
    lower: Some(Lower::Product(batch_matmul_product)),
    fuse: Some(Fuse::OutEWiseFusable),
    ..OpDef::BASE
};

fn batch_matmul_rel(cx: &mut RelCx) -> RelResult {
    let attrs = BatchMatmulAttrs::read(cx.attrs);
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    for tensor in [&a, &b] {
        cx.require("C1", tensor.rank() == 3, || Fault::rank(3, tensor))?;
    }
    let (m, ka) = if attrs.transpose_a { (2, 1) } else { (1, 2) };
    let (n, kb) = if attrs.transpose_b { (1, 2) } else { (2, 1) };
    let batch = batch_dim(cx, a.dim(0), b.dim(0))?;
    let (x, y) = (a.shape[ka], b.shape[kb]);
    cx.require("C3", x.compatible(y), || {
        Fault::shape(format!("expected a matrix for {x} inputs, found one for {y}"))
            .at(b.axis(kb), "")
            .at(a.axis(ka), "")
            .equation(format!("tensor_b[{kb}] == tensor_a[{ka}]"), format!("{y} == {x}"))
    })?;
    cx.set_out(Shape::from_slice(&[batch, a.dim(m), b.dim(n)]), attrs.out_dtype.unwrap_or(a.dtype))
}

/// The larger batch; not known where one of them is not.
fn batch_dim(cx: &RelCx, a: SDim, b: SDim) -> RelResult<SDim> {
    let joined = broadcast_dim(&cx.types.symbols, a, b);
    cx.require("C2", joined.is_some(), || {
        Fault::shape(format!("batches of {} and of {} do not go together", a.dim, b.dim))
            .at(b.place(), "")
            .at(a.place(), "")
            .equation("tensor_a[0] == tensor_b[0], or one of them 1", format!("{} and {}", a.dim, b.dim))
    })?;
    let joined = joined.unwrap_or(a);
    let dim = match joined.dim {
        _ if a.dim == Dim::Any || b.dim == Dim::Any => Dim::Any,
        Dim::Known { value, .. } => Dim::number(value, a.dim.is_wide() || b.dim.is_wide()),
        symbol => symbol,
    };
    Ok(SDim::new(dim, joined.from))
}

pub(super) fn batch_matmul_product(call: &Call) -> Option<Vec<Product>> {
    let attrs = BatchMatmulAttrs::read(call.attrs);
    let (a, b, out) = (call.arg(0), call.arg(1), call.out());
    if !lower::multiplies([a, b, out]) {
        return None;
    }
    let k = a.shape[if attrs.transpose_a { 1 } else { 2 }];
    let batch = |own: u64| if own == 1 { AxisMap::zero() } else { AxisMap::of(0) };
    let (point, column, sum) = (AxisMap::of(1), AxisMap::of(3), AxisMap::of(4));
    let mut data = vec![batch(a.shape[0]), point.clone(), sum.clone()];
    let mut weight = vec![batch(b.shape[0]), sum, column.clone()];
    if attrs.transpose_a {
        data.swap(1, 2);
    }
    if attrs.transpose_b {
        weight.swap(1, 2);
    }
    let (groups, points, columns) = (out.shape[0], vec![out.shape[1]], [1, out.shape[2]]);
    let out = vec![AxisMap::of(0), point, column];
    Some(vec![Product { groups, points, columns, sum: vec![k], data, weight, out, data_arg: 0, depthwise: false }])
}

fn batch_matmul_eval(cx: &EvalCx) -> EvalResult {
    let attrs = BatchMatmulAttrs::read(cx.attrs);
    let (a, b) = (cx.tensor_as(0, cx.out_dtype())?, cx.tensor_as(1, cx.out_dtype())?);
    let a = if attrs.transpose_a { swap_last(&a) } else { a };
    let b = if attrs.transpose_b { swap_last(&b) } else { b };
    let [batches, m, n] = cx.out_shape()[..] else { unreachable!("the relation gave three dimensions") };
    let matrix = |tensor: &Tensor, batch: usize| {
        let at = if tensor.shape()[0] == 1 { 0 } else { batch };
        tensor.take_range(0, at as i64, 1, 1).reshape(&tensor.shape()[1..]).expect("one matrix of them")
    };
    let products: Vec<Tensor> =
        (0..batches).map(|batch| rows_product(&matrix(&a, batch), &matrix(&b, batch), &[1, m, n])).collect();
    let empty = || Tensor::full(cx.out_dtype(), cx.out_shape(), 0.0).expect("a dtype that operands were converted to");
    Ok(Tensor::concat(&products, 0).unwrap_or_else(empty).into())
}

pub(crate) const ONNX: &[(&str, Onnx)] =
    &[(MATMUL.name, Onnx::Nodes(matmul_onnx)), (BATCH_MATMUL.name, Onnx::Nodes(batch_matmul_onnx))];

fn matmul_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let MatmulAttrs { transpose_a, transpose_b, .. } = MatmulAttrs::read(cx.attrs);
    product_onnx(cx, transpose_a, transpose_b)
}

fn batch_matmul_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let BatchMatmulAttrs { transpose_a, transpose_b, .. } = BatchMatmulAttrs::read(cx.attrs);
    product_onnx(cx, transpose_a, transpose_b)
}

fn product_onnx(cx: &mut OnnxCx, transpose_a: bool, transpose_b: bool) -> OnnxResult {
    require_product_onnx(cx.out_dtype())?;
    let ranks = [0, 1].map(|arg| cx.rank(cx.tensor(arg)));
    let (a, b) = (cx.operand_as_out(0)?, cx.operand_as_out(1)?);
    // Engines have this for floats only.
    if ranks == [2, 2] && cx.out_dtype().is_float() {
        let node = cx.node("Gemm", &[a, b]).int("transA", transpose_a.into()).int("transB", transpose_b.into());
        return Ok(node.one().into());
    }
    let swapped = |cx: &mut OnnxCx, value, rank: usize, swap: bool| {
        let mut axes: Vec<usize> = (0..rank).collect();
        if swap {
            axes.swap(rank - 1, rank - 2);
        }
        cx.transposed(value, &axes)
    };
    let (a, b) = (swapped(cx, a, ranks[0], transpose_a), swapped(cx, b, ranks[1], transpose_b));
    Ok(cx.node("MatMul", &[a, b]).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[MATMUL, BATCH_MATMUL];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, Attrs, eval, hostile, rel, t};
    use super::*;
    use relayc_ir::attrs::AttrValue;

    fn yes(name: &'static str) -> (&'static str, AttrValue) {
        (name, AttrValue::Bool(true))
    }

    fn of(name: &str, a: &[i64], b: &[i64], attrs: Attrs) -> String {
        rel(name, &[t(a, DType::F32), t(b, DType::F32)], attrs)
    }

    #[test]
    fn shapes_of_products() {
        assert_eq!(of("nn.matmul", &[1, 8], &[8, 16], &[]), "Tensor[(1, 16), float32]");
        assert_eq!(of("nn.matmul", &[4, 1], &[4, 3], &[yes("transpose_a")]), "Tensor[(1, 3), float32]");
        assert_eq!(of("nn.matmul", &[2, 2, 2, 2], &[3, 2], &[]), "Tensor[(2, 2, 2, 2), float32]");
        let units = |n| ("units", AttrValue::int(n));
        assert_eq!(of("nn.matmul", &[1, 8], &[16, 8], &[units(16), yes("transpose_b")]), "Tensor[(1, 16), float32]");
        assert_eq!(of("nn.matmul", &[8], &[8, 16], &[yes("transpose_a")]), "E0303 C1");
        assert_eq!(of("nn.matmul", &[1, 1], &[1], &[]), "E0303 C2");
        assert_eq!(of("nn.matmul", &[1, 8], &[9, 16], &[units(16)]), "E0308 C3");
        assert_eq!(of("nn.matmul", &[1, 8], &[8, 16], &[units(17)]), "E0308 C4");
        assert_eq!(of("nn.matmul", &[1, 8], &[8, 16], &[units(-1)]), "E0404 C5");
        hostile("nn.matmul", &[t(&[2, 3], DType::F32), t(&[3, 4], DType::F32)], &[], &["units"], &[]);
    }

    #[test]
    fn shapes_of_batches() {
        let batch = |a: &[i64], b: &[i64], attrs: Attrs| of("nn.batch_matmul", a, b, attrs);
        assert_eq!(batch(&[5, 16, 32], &[5, 32, 8], &[]), "Tensor[(5, 16, 8), float32]");
        assert_eq!(
            batch(&[1, 32, 16], &[ANY, ANY, 32], &[yes("transpose_a"), yes("transpose_b")]),
            "Tensor[(?, 16, ?), float32]"
        );
        assert_eq!(batch(&[1, 2, 3], &[4, 3, 2], &[]), "Tensor[(4, 2, 2), float32]");
        assert_eq!(batch(&[1, 2], &[1, 2, 2], &[]), "E0303 C1");
        assert_eq!(batch(&[2, 2, 3], &[3, 3, 2], &[]), "E0308 C2");
        assert_eq!(batch(&[2, 2, 3], &[2, 4, 2], &[]), "E0308 C3");
    }

    #[test]
    fn products() {
        let a = Tensor::from_vec(&[1, 2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let b = Tensor::from_vec(&[2, 1, 3], vec![1.0f32, 0.0, 1.0, 0.0, 2.0, 0.0]);
        let c = eval("nn.batch_matmul", &[a.clone(), b.clone()], &[yes("transpose_b")]).expect("no trap");
        assert_eq!((c.shape(), c.to_vec::<f32>()), (&[2usize, 2, 1][..], Some(vec![4.0, 10.0, 4.0, 10.0])));
        let m = b.reshape(&[2, 3]).expect("as many elements");
        let c = eval("nn.matmul", &[a.clone(), m.clone()], &[yes("transpose_b")]).expect("no trap");
        assert_eq!(c.to_vec::<f32>(), Some(vec![4.0, 4.0, 10.0, 10.0]));
        assert_eq!(eval("nn.matmul", &[a, m], &[]).expect_err("a trap").code, codes::E0506);
    }
}
