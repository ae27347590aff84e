//! Converts activations with a Relay operator of the same name, and no-ops.

use super::super::cx::{Cx, Results};
use super::super::errors::Refusal;
use super::building_blocks::unary;
use super::{Converter, op};
use relayc_ir::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

fn leaky_relu(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let alpha = cx.float("alpha", 0.01)?;
    Ok(vec![cx.call("nn.leaky_relu", &[x], &[("alpha", AttrValue::float(alpha))])?])
}

/// Relay's operator has one slope for each channel; other slopes broadcast: `max(x, 0) + slope * min(x, 0)`.
fn prelu(cx: &mut Cx) -> Results {
    let (x, slope) = (cx.input(0)?, cx.input(1)?);
    let (shape, slopes, dtype) = (cx.shape(x)?, cx.shape(slope)?, cx.dtype(x)?);
    let offset = shape.len().checked_sub(slopes.len());
    let channels = shape.get(1).and_then(|dim| dim.value());
    let of_channels = |offset: usize| {
        slopes.iter().enumerate().all(|(axis, dim)| match axis.saturating_add(offset) {
            1 => dim.value() == channels,
            _ => dim.value() == Some(1),
        }) && offset <= 1
    };
    if let (Some(channels), true) = (channels, offset.is_some_and(of_channels) && dtype.is_float()) {
        let slope = cx.reshape(slope, &[channels])?;
        return Ok(vec![cx.call("nn.prelu", &[x, slope], &[("axis", AttrValue::int(1))])?]);
    }
    let zero = cx.scalar(dtype, 0.0)?;
    let (above, below) = (cx.binary("maximum", x, zero)?, cx.binary("minimum", x, zero)?);
    let below = cx.binary("multiply", below, slope)?;
    Ok(vec![cx.binary("add", above, below)?])
}

/// Inference drops nothing, and the mask is all true.
fn dropout(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    cx.ignore("seed");
    let mut ratio = cx.float("ratio", 0.5)?;
    if let Some(operand) = cx.opt(1) {
        ratio = cx.known(operand).and_then(|ratio| ratio.to_f64s().first().copied()).unwrap_or(0.5);
    }
    let training = match cx.opt(2) {
        Some(training) => cx.number_of(training, "whether it trains")? != 0.0,
        None => false,
    };
    if training && ratio != 0.0 {
        return Err(Refusal::unsupported("dropping at random, as in training"));
    }
    let mut results = vec![x];
    if cx.wants(1) {
        // Before operator set 10 the mask had the dtype of the data.
        let dtype = if cx.version < 10 { cx.dtype(x)? } else { DType::BOOL };
        let ones = match relayc_ir::types::dims_of(&cx.shape(x)?) {
            Some(dims) => cx.call("ones", &[], &[("shape", AttrValue::ints(&dims)), ("dtype", AttrValue::DType(Some(dtype)))])?,
            None => {
                let ones = cx.unary("ones_like", x)?;
                cx.cast(ones, dtype)?
            }
        };
        results.push(ones);
    }
    Ok(results)
}

fn identity(cx: &mut Cx) -> Results {
    Ok(vec![cx.input(0)?])
}

/// Numbers that are not above 0 become 0.
fn relu(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    if cx.dtype(x)?.is_float() {
        return unary(cx, "nn.relu");
    }
    let dtype = cx.dtype(x)?;
    let zero = Tensor::full(dtype, &[], 0.0).ok_or_else(|| Refusal::unsupported(format!("elements of {dtype}")))?;
    let zero = cx.constant(zero);
    Ok(vec![cx.binary("maximum", x, zero)?])
}

pub(crate) const FAMILY: &[Converter] = &[
    op("Dropout", &[7, 10, 12, 13, 22], dropout).but("training"),
    op("Identity", &[1, 13, 14, 16, 19, 21], identity).but("sequences and optional values"),
    op("LeakyRelu", &[6, 16], leaky_relu),
    op("PRelu", &[7, 9, 16], prelu),
    op("Relu", &[6, 13, 14], relu),
    op("Sigmoid", &[6, 13], |cx| unary(cx, "sigmoid")),
    op("Tanh", &[6, 13], |cx| unary(cx, "tanh")),
];
