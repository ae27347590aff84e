//! Converts `NegativeLogLikelihoodLoss` and `SoftmaxCrossEntropyLoss`.

use super::building_blocks::*;
use super::{Converter, op};

/// The loss of log probabilities, with the targets and weights of the node.
fn loss(cx: &mut Cx, x: Val) -> Result {
    let targets = cx.input(1)?;
    let (classes, dtype) = (cx.dim(x, 1)?, cx.dtype(x)?);
    let weights = match cx.opt(2) {
        Some(weights) => weights,
        None => cx.ones(&[classes], dtype)?,
    };
    // Without it all targets count, and those below 0 are errors.
    let ignored = cx.int("ignore_index", i32::MIN.into())?;
    let reduction = cx.text("reduction", "mean")?;
    let attrs = [("reduction", AttrValue::str(&reduction)), ("ignore_index", AttrValue::int(ignored))];
    cx.call("nn.nll_loss", &[x, targets, weights], &attrs)
}

pub(crate) const FAMILY: &[Converter] = &[
    op("NegativeLogLikelihoodLoss", &[12, 13, 22], |cx| {
        let x = cx.input(0)?;
        one(loss(cx, x)?)
    }),
    op("SoftmaxCrossEntropyLoss", &[12, 13], |cx| {
        let x = cx.input(0)?;
        let log = cx.call("nn.log_softmax", &[x], &[("axis", AttrValue::int(1))])?;
        Ok(vec![loss(cx, log)?, log])
    }),
];
