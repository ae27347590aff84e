//! Converts what ONNX Runtime's optimizer makes of several nodes of floats: domain `com.microsoft`
//! (`onnxruntime/core/graph/contrib_ops` says what each means).

use super::super::formula::clip;
use super::attention::rows_at;
use super::building_blocks::*;
use super::conv::conv;
use super::curves::{gelu_by_erf, gelu_by_tanh, hard_sigmoid, map, swish, with_alpha};
use super::matmul::gemm;
use super::normalization::{divided_by_size, normal_rows};
use super::{Converter, op};

/// The sum of the operands at these places that are there.
fn sum_of(cx: &mut Cx, places: &[usize]) -> Result {
    let mut sum = cx.input(0)?;
    for &place in places {
        if let Some(other) = cx.opt(place) {
            sum = cx.binary("add", sum, other)?;
        }
    }
    Ok(sum)
}

fn fast_gelu(cx: &mut Cx) -> Results {
    let x = sum_of(cx, &[1])?;
    one(cx.b.formula(x, gelu_by_tanh(x))?)
}

fn bias_gelu(cx: &mut Cx) -> Results {
    let x = sum_of(cx, &[1])?;
    one(cx.b.formula(x, gelu_by_erf(x))?)
}

/// A product of matrices, each turned around before if its attribute says so, and a factor. Another attribute says that the rows of the
/// matrices are along the first axis, before those of the batch.
fn fused_matmul(cx: &mut Cx) -> Results {
    let operand = |cx: &mut Cx, index: usize, [flip, rows_first]: [&'static str; 2]| -> Result {
        let (x, flips, rows_first) = (cx.input(index)?, cx.flag(flip, false)?, cx.flag(rows_first, false)?);
        let mut axes: Vec<usize> = (0..cx.rank(x)?).collect();
        if let (true, [of_matrices @ .., _]) = (rows_first, axes.as_mut_slice()) {
            of_matrices.rotate_left(1.min(of_matrices.len()));
        }
        if let (true, [.., rows, columns]) = (flips, axes.as_mut_slice()) {
            std::mem::swap(rows, columns);
        }
        cx.transpose(x, &axes)
    };
    let (a, b) = (operand(cx, 0, ["transA", "transBatchA"])?, operand(cx, 1, ["transB", "transBatchB"])?);
    let product = cx.matmul(a, b)?;
    let alpha = cx.float("alpha", 1.0)?;
    one(if alpha == 1.0 { product } else { cx.b.formula(product, product * alpha)? })
}

/// A function by its operator's name, with its parameters in the order of that operator's attributes.
fn activated(cx: &mut Cx, x: Val, params: &[f64]) -> Results {
    let param = |at: usize, default: f64| params.get(at).copied().unwrap_or(default);
    let name = cx.text("activation", "")?;
    let y = match &*name {
        "" => Ok(x),
        "Relu" => cx.unary("nn.relu", x),
        "Tanh" => cx.unary("tanh", x),
        "Sigmoid" => cx.unary("sigmoid", x),
        "LeakyRelu" => cx.call("nn.leaky_relu", &[x], &[("alpha", AttrValue::float(param(0, 0.01)))]),
        "Clip" => cx.b.formula(x, clip(x, param(0, f64::from(f32::MIN)), param(1, f64::from(f32::MAX)))),
        "HardSigmoid" => cx.b.formula(x, hard_sigmoid(x, param(0, 0.2), param(1, 0.5))),
        other => Err(refuse(format!("the activation `{other}`"))),
    };
    one(y?)
}

/// A convolution with a bias, then a sum, then a function.
fn fused_conv(cx: &mut Cx) -> Results {
    let mut y = conv(cx)?[0];
    if let Some(other) = cx.opt(3) {
        y = cx.binary("add", y, other)?;
    }
    let params = cx.floats("activation_params")?.unwrap_or_default();
    activated(cx, y, &params)
}

fn fused_gemm(cx: &mut Cx) -> Results {
    let y = gemm(cx)?[0];
    let names = ["activation_alpha", "activation_beta", "activation_gamma"];
    let params: Vec<Option<f64>> = names.map(|name| cx.opt_float(name)).into_iter().collect::<Result<_>>()?;
    activated(cx, y, &params.into_iter().flatten().collect::<Vec<f64>>())
}

/// Refuses the statistics of normalization, which only training takes.
fn no_statistics(cx: &Cx) -> Result<()> {
    if cx.wants(1) || cx.wants(2) { Err(refuse("means and deviations as results")) } else { Ok(()) }
}

/// Normal rows of a sum of two operands and a bias; the sum is a result too.
fn skip_layer_norm(cx: &mut Cx) -> Results {
    no_statistics(cx)?;
    let sum = sum_of(cx, &[1, 4])?;
    let (scale, bias, epsilon) = (cx.input(2)?, cx.opt(3), cx.float("epsilon", 1e-12)?);
    let normal = normal_rows(cx, sum, scale, bias, epsilon)?;
    Ok(vec![normal, normal, normal, sum])
}

fn skip_rms_norm(cx: &mut Cx) -> Results {
    no_statistics(cx)?;
    let sum = sum_of(cx, &[1, 3])?;
    let (scale, epsilon) = (cx.input(2)?, cx.float("epsilon", 1e-12)?);
    let normal = divided_by_size(cx, sum, scale, &[-1], epsilon)?;
    Ok(vec![normal, normal, normal, sum])
}

/// The sum of the rows of words, positions and segments, then normal rows. The second result is the number of ones in each row of
/// the mask, and 0 without a mask.
fn embed_layer_norm(cx: &mut Cx) -> Results {
    cx.ignore("mask_index_type");
    let (ids, words, places) = (cx.input(0)?, cx.input(2)?, cx.input(3)?);
    let mut sum = rows_at(cx, words, ids)?;
    let at = match cx.opt(8) {
        Some(at) => rows_at(cx, places, at)?,
        None => {
            let length =
                cx.shape(ids)?.get(1).copied().ok_or_else(|| Refusal::wrong("word numbers without an axis of positions"))?;
            let ends = [("begin", ints(&[0])), ("end", dims_attr(&[length])), ("strides", ints(&[1])), ("axes", ints(&[0]))];
            match length.is_sized() {
                true => cx.call("strided_slice", &[places], &ends)?,
                false => return Err(refuse("a length that only data decides")),
            }
        }
    };
    sum = cx.binary("add", sum, at)?;
    if let (Some(segments), Some(table)) = (cx.opt(1), cx.opt(4)) {
        let of_segments = rows_at(cx, table, segments)?;
        sum = cx.binary("add", sum, of_segments)?;
    }
    let (scale, bias, epsilon) = (cx.input(5)?, cx.opt(6), cx.float("epsilon", 1e-12)?);
    let normal = normal_rows(cx, sum, scale, bias, epsilon)?;
    let ones = match cx.opt(7) {
        Some(mask) => mask,
        None => cx.unary("zeros_like", ids)?,
    };
    let ones = cx.cast(ones, DType::I32)?;
    let ones = cx.reduce("sum", ones, &[1], false)?;
    Ok(vec![normal, ones, sum])
}

const STATISTICS: &str = "means and deviations as results";

pub(crate) const FAMILY: &[Converter] = &[
    op("com.microsoft.BiasGelu", &[1], bias_gelu),
    op("com.microsoft.EmbedLayerNormalization", &[1], embed_layer_norm),
    op("com.microsoft.FastGelu", &[1], fast_gelu),
    op("com.microsoft.FusedConv", &[1], fused_conv).but("more than three spatial axes; a weight of unknown shape"),
    op("com.microsoft.FusedGemm", &[1], fused_gemm),
    op("com.microsoft.FusedMatMul", &[1], fused_matmul),
    op("com.microsoft.Gelu", &[1], |cx| map(cx, gelu_by_erf)),
    op("com.microsoft.QuickGelu", &[1], |cx| with_alpha(cx, 1.702, swish)),
    op("com.microsoft.SkipLayerNormalization", &[1], skip_layer_norm).but(STATISTICS),
    op("com.microsoft.SkipSimplifiedLayerNormalization", &[1], skip_rms_norm).but(STATISTICS),
];
