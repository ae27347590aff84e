//! Gradients of products, convolutions and pooling.

use super::{GradCx, Gradient};
use relayc_ir::{AttrValue, ExprId};

pub(super) const GRADIENTS: &[(&str, Gradient)] = &[
    ("nn.dense", dense),
    ("nn.matmul", matmul),
    ("nn.batch_matmul", batch_matmul),
    ("nn.bias_add", bias_add),
    ("nn.conv2d", conv2d),
    ("nn.max_pool2d", max_pool2d),
    ("nn.avg_pool2d", avg_pool2d),
    ("nn.global_avg_pool2d", global_avg_pool2d),
];

type Rule = Option<Vec<ExprId>>;

fn transposed(cx: &mut GradCx, data: ExprId) -> ExprId {
    cx.unary("transpose", data)
}

/// `g @ weight` and `g^T @ data`; `nn.dense` transposes its second operand.
fn dense(cx: &mut GradCx) -> Rule {
    let (data, weight) = (cx.args[0], cx.args[1]);
    let units = |cx: &GradCx, of: ExprId| Some(AttrValue::int(*cx.shape(of)?.get(1)?));
    let (of_weight, of_data) = (units(cx, weight)?, units(cx, data)?);
    let turned = transposed(cx, weight);
    let to_data = cx.op("nn.dense", &[cx.grad, turned], &[("units", of_weight)]);
    let (grad, turned) = (transposed(cx, cx.grad), transposed(cx, data));
    let to_weight = cx.op("nn.dense", &[grad, turned], &[("units", of_data)]);
    Some(vec![cx.collapse(to_data, data), cx.collapse(to_weight, weight)])
}

/// A product of matrices, each transposed or not.
fn product(cx: &mut GradCx, name: &str, (a, of_a): (ExprId, bool), (b, of_b): (ExprId, bool)) -> ExprId {
    cx.op(name, &[a, b], &[("transpose_a", AttrValue::Bool(of_a)), ("transpose_b", AttrValue::Bool(of_b))])
}

/// The gradients of `a` and `b` in a product that transposes them as said, of other products.
fn of_product(cx: &mut GradCx, name: &str, transposes: (bool, bool)) -> Rule {
    let (a, b, g) = (cx.args[0], cx.args[1], cx.grad);
    let (to_a, to_b) = match transposes {
        (true, true) => (product(cx, name, (b, true), (g, true)), product(cx, name, (g, true), (a, true))),
        (true, false) => (product(cx, name, (b, false), (g, true)), product(cx, name, (a, false), (g, false))),
        (false, true) => return None,
        (false, false) => (product(cx, name, (g, false), (b, true)), product(cx, name, (a, true), (g, false))),
    };
    Some(vec![cx.collapse(to_a, a), cx.collapse(to_b, b)])
}

fn matmul(cx: &mut GradCx) -> Rule {
    match (cx.attr_bool("transpose_a"), cx.attr_bool("transpose_b")) {
        (false, true) => dense(cx),
        transposes => of_product(cx, "nn.matmul", transposes),
    }
}

fn batch_matmul(cx: &mut GradCx) -> Rule {
    let transposes = (cx.attr_bool("transpose_a"), cx.attr_bool("transpose_b"));
    if transposes != (false, true) {
        return of_product(cx, "nn.batch_matmul", transposes);
    }
    let (lhs, rhs) = (cx.args[0], cx.args[1]);
    let turned = |cx: &mut GradCx, data: ExprId| cx.op("transpose", &[data], &[("axes", AttrValue::ints(&[0, 2, 1]))]);
    let rows = turned(cx, rhs);
    let to_lhs = product(cx, "nn.batch_matmul", (cx.grad, false), (rows, true));
    let (grad, columns) = (turned(cx, cx.grad), turned(cx, lhs));
    let to_rhs = product(cx, "nn.batch_matmul", (grad, false), (columns, true));
    Some(vec![cx.collapse(to_lhs, lhs), cx.collapse(to_rhs, rhs)])
}

fn bias_add(cx: &mut GradCx) -> Rule {
    let axis = cx.attr_int("axis")?;
    let to_data = cx.collapse(cx.grad, cx.args[0]);
    Some(vec![to_data, cx.sum(cx.grad, Some(&[axis]), false, true)])
}

/// The transposed convolution of `g`, and the convolution of the data by `g`.
fn conv2d(cx: &mut GradCx) -> Rule {
    let plain = cx.attr_is("data_layout", "NCHW") && cx.attr_is("kernel_layout", "OIHW");
    if !plain || !(cx.attr_is("out_layout", "") || cx.attr_is("out_layout", "NCHW")) {
        return None;
    }
    let (data, weight) = (cx.args[0], cx.args[1]);
    let (image, kernel, out) = (cx.shape(data)?, cx.shape(weight)?, cx.shape(cx.out)?);
    let sides = match cx.attr_ints("padding")?[..] {
        [all] => [all; 4],
        [rows, columns] => [rows, columns, rows, columns],
        [top, left, bottom, right] => [top, left, bottom, right],
        _ => return None,
    };
    let (strides, dilation) = (cx.attr_ints("strides")?, cx.attr_ints("dilation")?);
    let left = |axis: usize| {
        let reach = (kernel[2 + axis] - 1) * dilation[axis] + 1;
        let reached = (out[2 + axis] - 1) * strides[axis] - sides[axis] - sides[2 + axis] + reach;
        image[2 + axis] - reached
    };
    let output_padding = AttrValue::ints(&[left(0), left(1)]);
    let out_dtype = match cx.attr("out_dtype") {
        AttrValue::DType(Some(dtype)) => dtype,
        _ => cx.dtype(data)?,
    };
    let shared = ["strides", "padding", "dilation", "groups"].map(|name| (name, cx.attr(name)));
    let dtype = ("out_dtype", AttrValue::DType(Some(out_dtype)));
    let mut to_data = shared.to_vec();
    to_data.extend([("output_padding", output_padding), dtype.clone()]);
    // Without groups the weight has as many channels as the data.
    if cx.attr_int("groups")? > 1 {
        to_data.push(("channels", AttrValue::int(image[1])));
    }
    let to_data = cx.op("nn.conv2d_transpose", &[cx.grad, weight], &to_data);
    let mut to_weight = shared.to_vec();
    let grad_layout = if cx.attr_is("out_layout", "") { "data_layout" } else { "out_layout" };
    to_weight.extend([
        ("channels", cx.attr("channels")),
        ("kernel_size", AttrValue::ints(&kernel[2..])),
        // The operands of this convolution are `g` and the data, and its result is the weight's gradient.
        ("data_layout", cx.attr(grad_layout)),
        ("kernel_layout", cx.attr("data_layout")),
        ("out_layout", cx.attr("kernel_layout")),
        dtype,
    ]);
    let to_weight = cx.op("nn.conv2d_backward_weight", &[cx.grad, data], &to_weight);
    Some(vec![to_data, to_weight])
}

fn pooled(cx: &mut GradCx, name: &str, attrs: &[&str]) -> Rule {
    let set: Vec<(&str, AttrValue)> = attrs.iter().map(|&name| (name, cx.attr(name))).collect();
    Some(vec![cx.op(name, &[cx.grad, cx.args[0]], &set)])
}

fn max_pool2d(cx: &mut GradCx) -> Rule {
    pooled(cx, "nn.max_pool2d_grad", &["pool_size", "strides", "dilation", "padding", "layout", "ceil_mode"])
}

fn avg_pool2d(cx: &mut GradCx) -> Rule {
    let attrs = ["pool_size", "strides", "dilation", "padding", "layout", "ceil_mode", "count_include_pad"];
    pooled(cx, "nn.avg_pool2d_grad", &attrs)
}

fn global_avg_pool2d(cx: &mut GradCx) -> Rule {
    let shape = cx.shape(cx.args[0])?;
    let size = match (cx.attr_is("layout", "NCHW"), cx.attr_is("layout", "NHWC")) {
        (true, _) => &shape[2..4],
        (_, true) => &shape[1..3],
        _ => return None,
    };
    let set = [
        ("pool_size", AttrValue::ints(size)),
        ("strides", AttrValue::ints(&[1, 1])),
        ("padding", AttrValue::ints(&[0, 0])),
        ("layout", cx.attr("layout")),
    ];
    Some(vec![cx.op("nn.avg_pool2d_grad", &[cx.grad, cx.args[0]], &set)])
}
