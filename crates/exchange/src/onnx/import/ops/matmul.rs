//! Converts matrix products.

use super::super::build::Val;
use super::super::cx::{Cx, Result, Results, dims_attr};
use super::super::errors::Refusal;
use super::{Converter, op};
use relayc_ir::AttrValue;
use relayc_ir::types::{Dim, dims_of};

/// A dimension as the value of an attribute.
fn dim_attr(dim: Option<&Dim>) -> AttrValue {
    dim.and_then(|dim| dim.value()).map_or(AttrValue::None, AttrValue::int)
}

/// NumPy's `matmul`: vectors are rows or columns, and axes before the last two are a broadcast batch.
fn matmul(cx: &mut Cx) -> Results {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    Ok(vec![cx.matmul(a, b)?])
}

impl Cx<'_> {
    /// The product with the semantics of NumPy's `matmul`.
    pub(crate) fn matmul(&mut self, a: Val, b: Val) -> Result {
        let (rank_a, rank_b) = (self.rank(a)?, self.rank(b)?);
        if rank_a == 0 || rank_b == 0 {
            return Err(Refusal::wrong("the product of a scalar"));
        }
        let (wide_a, wide_b) =
            (if rank_a == 1 { self.expand_dims(a, 0, 1)? } else { a }, if rank_b == 1 { self.expand_dims(b, 1, 1)? } else { b });
        let (shape_a, shape_b) = (self.shape(wide_a)?, self.shape(wide_b)?);
        let inner = (shape_a.last().copied(), shape_b.get(shape_b.len().saturating_sub(2)).copied());
        if let (Some(of_a), Some(of_b)) = inner
            && !of_a.compatible(of_b)
        {
            self.b.must_be_one(of_a, of_b);
            return Err(Refusal::wrong(format!("a product of rows of {of_a} and columns of {of_b}")));
        }
        let product = if shape_b.len() == 2 {
            let units = dim_attr(shape_b.last());
            self.call("nn.matmul", &[wide_a, wide_b], &[("units", units)])?
        } else {
            self.batches(wide_a, wide_b)?
        };
        let last = self.rank(product)?.saturating_sub(1);
        let product = if rank_b == 1 { self.squeeze(product, &[last])? } else { product };
        let last = self.rank(product)?.saturating_sub(if rank_b == 1 { 1 } else { 2 });
        if rank_a == 1 { self.squeeze(product, &[last]) } else { Ok(product) }
    }

    /// The product of batches of matrices; the second operand has more than one matrix.
    fn batches(&mut self, a: Val, b: Val) -> Result {
        let attrs = [("transpose_a", AttrValue::Bool(false)), ("transpose_b", AttrValue::Bool(false))];
        let (shape_a, shape_b) = (self.shape(a)?, self.shape(b)?);
        let (batch_a, batch_b) =
            (shape_a.split_at(shape_a.len().saturating_sub(2)), shape_b.split_at(shape_b.len().saturating_sub(2)));
        if let ([one_a], [one_b]) = (batch_a.0, batch_b.0)
            && (one_a.same(*one_b)
                || one_a.value() == Some(1)
                || one_b.value() == Some(1)
                || one_a.value().is_none()
                || one_b.value().is_none())
        {
            return self.call("nn.batch_matmul", &[a, b], &attrs);
        }
        let known = |dims: &[Dim]| dims.iter().all(|dim| dim.is_sized());
        if !known(&shape_a) || !known(&shape_b) {
            return self.open_batches(a, b);
        }
        let batch = self.b.broadcast(batch_a.0, batch_b.0).ok_or_else(|| {
            let text = relayc_ir::types::shape_text;
            Refusal::wrong(format!("batches {} and {} do not broadcast", text(batch_a.0), text(batch_b.0)))
        })?;
        let (&[m, k], &[_, n]) = (batch_a.1, batch_b.1) else { return Err(Refusal::wrong("the product of no matrices")) };
        let n_batch = self.product(&batch);
        let flat = |cx: &mut Self, val: Val, own: &[Dim], [rows, columns]: [Dim; 2]| -> Result {
            let mut val = val;
            let same = own.len() == batch.len() && own.iter().zip(&batch).all(|(a, b)| a.same(*b));
            if !same {
                let whole: Vec<Dim> = batch.iter().copied().chain([rows, columns]).collect();
                val = cx.call("broadcast_to", &[val], &[("shape", dims_attr(&whole))])?;
            }
            cx.reshape_to_dims(val, &[n_batch, rows, columns])
        };
        let flat_a = flat(self, a, batch_a.0, [m, k])?;
        let flat_b = flat(self, b, batch_b.0, [batch_b.1[0], n])?;
        let product = self.call("nn.batch_matmul", &[flat_a, flat_b], &attrs)?;
        let whole: Vec<Dim> = batch.iter().copied().chain([m, n]).collect();
        self.reshape_to_dims(product, &whole)
    }

    /// The same with an unknown batch dimension: both batches must be equal. With two batch axes, only their product would be
    /// compared.
    fn open_batches(&mut self, a: Val, b: Val) -> Result {
        let (shape_a, shape_b) = (self.shape(a)?, self.shape(b)?);
        if shape_a.len() != shape_b.len() {
            return Err(Refusal::unsupported("batches that broadcast and are not known before running"));
        }
        let n_batch = shape_a.len().saturating_sub(2);
        let differ = |(a, b): (&Dim, &Dim)| a.value().zip(b.value()).is_some_and(|(a, b)| a != b);
        let open = |(a, b): &(&Dim, &Dim)| a.value().is_none() || b.value().is_none();
        let n_open = shape_a.iter().zip(&shape_b).take(n_batch).filter(open).count();
        if n_open > 1 || shape_a.iter().zip(&shape_b).take(n_batch).any(differ) {
            return Err(Refusal::unsupported("batches that broadcast and are not known before running"));
        }
        let matrix = |shape: &[Dim]| dims_of(shape.get(n_batch..).unwrap_or_default());
        let (Some(matrix_a), Some(matrix_b)) = (matrix(&shape_a), matrix(&shape_b)) else {
            return Err(Refusal::unsupported("matrices of a size that is not known before running"));
        };
        let flat = |cx: &mut Self, val: Val, matrix: &[i64]| {
            let shape: Vec<i64> = std::iter::once(-1).chain(matrix.iter().copied()).collect();
            cx.reshape(val, &shape)
        };
        let (flat_a, flat_b) = (flat(self, a, &matrix_a)?, flat(self, b, &matrix_b)?);
        let attrs = [("transpose_a", AttrValue::Bool(false)), ("transpose_b", AttrValue::Bool(false))];
        let product = self.call("nn.batch_matmul", &[flat_a, flat_b], &attrs)?;
        let shape = self.shape_of(a)?;
        let end = i64::try_from(n_batch).unwrap_or(i64::MAX);
        let batch = self.slice(shape, 0, 0, end)?;
        let (m, n) = (matrix_a.first().copied().unwrap_or(1), matrix_b.last().copied().unwrap_or(1));
        let matrix = self.int_list(&[m, n]);
        let whole = self.concatenate(&[batch, matrix], 0)?;
        self.reshape_to(product, whole, false)
    }
}

/// `alpha * a * b + beta * c`.
pub(super) fn gemm(cx: &mut Cx) -> Results {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    let (alpha, beta) = (cx.float("alpha", 1.0)?, cx.float("beta", 1.0)?);
    let (trans_a, trans_b) = (cx.flag("transA", false)?, cx.flag("transB", false)?);
    let shape = cx.shape(b)?;
    let units = dim_attr(shape.get(usize::from(!trans_b)));
    let mut out = match (trans_a, trans_b) {
        (false, true) => cx.call("nn.dense", &[a, b], &[("units", units)])?,
        _ => {
            let attrs = [("units", units), ("transpose_a", AttrValue::Bool(trans_a)), ("transpose_b", AttrValue::Bool(trans_b))];
            cx.call("nn.matmul", &[a, b], &attrs)?
        }
    };
    let dtype = cx.dtype(out)?;
    if alpha != 1.0 {
        let alpha = cx.scalar(dtype, alpha)?;
        out = cx.binary("multiply", out, alpha)?;
    }
    let Some(mut bias) = cx.opt(2).filter(|_| beta != 0.0) else { return Ok(vec![out]) };
    if beta != 1.0 {
        let beta = cx.scalar(dtype, beta)?;
        bias = cx.binary("multiply", bias, beta)?;
    }
    let (bias_shape, out_shape) = (cx.shape(bias)?, cx.shape(out)?);
    let is_vector = bias_shape.len() == 1 && bias_shape.first().zip(out_shape.last()).is_some_and(|(a, b)| a.same(*b));
    Ok(vec![match is_vector {
        true => cx.call("nn.bias_add", &[out, bias], &[("axis", AttrValue::int(-1))])?,
        false => cx.binary("add", out, bias)?,
    }])
}

pub(crate) const FAMILY: &[Converter] = &[
    op("Gemm", &[7, 9, 11, 13], gemm),
    op("MatMul", &[1, 9, 13], matmul).but("batches of sizes that only data decides, if they broadcast"),
];
