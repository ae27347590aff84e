//! Converts batch normalization.

use super::super::build::Val;
use super::super::cx::{Cx, Result, Results};
use super::super::errors::Refusal;
use super::{Converter, op};
use relayc_ir::AttrValue;

fn batch_normalization(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let dtype = cx.dtype(x)?;
    let operands: Vec<Val> = (1..5).map(|index| cx.input(index)).collect::<Result<_>>()?;
    let epsilon = cx.float("epsilon", 1e-5)?;
    let momentum = cx.float("momentum", 0.9)?;
    if cx.version < 9 && !cx.flag("spatial", true)? {
        return Err(Refusal::unsupported("statistics for each element (spatial=0)"));
    }
    if cx.version >= 14 && cx.flag("training_mode", false)? {
        return training(cx, x, &operands, epsilon, momentum);
    }
    if cx.n_outputs() > 1 {
        return Err(Refusal::unsupported("statistics as results, as in training before operator set 14"));
    }
    // Operator sets since 14 let the statistics have another dtype than the data.
    let mut args = vec![x];
    for operand in operands {
        args.push(cx.cast(operand, dtype)?);
    }
    let all = cx.call("nn.batch_norm", &args, &[("epsilon", AttrValue::float(epsilon))])?;
    Ok(vec![cx.field(all, 0)?])
}

/// Normalizes by the statistics of the data itself; running statistics follow by `momentum`.
fn training(cx: &mut Cx, x: Val, operands: &[Val], epsilon: f64, momentum: f64) -> Results {
    let &[scale, bias, running_mean, running_var] = operands else { return Err(Refusal::wrong("an operand is missing")) };
    let (rank, dtype) = (cx.rank(x)?, cx.dtype(x)?);
    let axes: Vec<i64> = (0..i64::try_from(rank).unwrap_or(0)).filter(|&axis| axis != 1).collect();
    let axes = [("axis", AttrValue::ints(&axes))];
    let mean = cx.call("mean", &[x], &axes)?;
    let spread = |cx: &mut Cx, vector: Val| cx.expand_dims(vector, 1, rank.saturating_sub(2));
    let wide_mean = spread(cx, mean)?;
    let away = cx.binary("subtract", x, wide_mean)?;
    let squares = cx.binary("multiply", away, away)?;
    let var = cx.call("mean", &[squares], &axes)?;
    let mut args = vec![x];
    for operand in [scale, bias, mean, var] {
        args.push(cx.cast(operand, dtype)?);
    }
    let all = cx.call("nn.batch_norm", &args, &[("epsilon", AttrValue::float(epsilon))])?;
    let mut results = vec![cx.field(all, 0)?];
    for (running, now) in [(running_mean, mean), (running_var, var)] {
        let dtype = cx.dtype(running)?;
        let now = cx.cast(now, dtype)?;
        results.push(cx.b.formula(running, running * momentum + now * (1.0 - momentum))?);
    }
    Ok(results)
}

pub(crate) const FAMILY: &[Converter] =
    &[op("BatchNormalization", &[7, 9, 14, 15], batch_normalization).but("training before operator set 14; spatial=0")];
