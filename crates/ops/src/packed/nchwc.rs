//! Evaluates and lowers convolutions in blocks of channels as `nn.conv2d`.
//!
//! TVM's type relation accepts any weight, and its computation reads only the shape of the weight
//! (`python/tvm/topi/x86/conv2d.py`, `conv2d_NCHWc`): `kernel_layout` may keep its default though the weight is in blocks. Here
//! the shape supplies the blocks that the layout omits; then the rules of `nn.conv2d` apply.

use crate::conv::{CONV2D, Conv2dAttrs};
use crate::prelude::*;
use relayc_ir::types::{Solver, Ty, Types};

/// The attributes of the equivalent `nn.conv2d`, given the shape of the weight.
fn as_conv2d(attrs: &[AttrValue], weight: &[i64]) -> Vec<AttrValue> {
    let written = Conv2dAttrs::read(attrs).kernel_layout;
    let mut attrs = attrs.to_vec();
    let layout = match weight {
        [_, _, _, _, inner_i, o] => format!("OIHW{inner_i}i{o}o"),
        [_, _, _, _, outer_i, o, inner_i] => format!("OIHW{outer_i}i{o}o{inner_i}i"),
        _ => return attrs,
    };
    let is_whole = Layout::parse(&written).is_ok_and(|written| written.rank() == 4);
    if let Some(at) = Conv2dAttrs::schema::<2>().position("kernel_layout").filter(|_| is_whole) {
        attrs[at] = AttrValue::str(&layout);
    }
    attrs
}

/// Applies the type relation of `nn.conv2d` to operands.
fn check(attrs: &[AttrValue], args: impl FnOnce(&mut Types) -> Vec<Ty>) -> Result<(), Stop> {
    let (mut types, mut solver) = (Types::new(), Solver::default());
    let args = args(&mut types);
    let out = solver.fresh(&mut types);
    (CONV2D.rel)(&mut RelCx::new(&mut types, &mut solver, attrs, &args, out))
}

pub(super) fn eval(cx: &EvalCx) -> EvalResult {
    let weight: Vec<i64> = cx.tensor(1).shape().iter().map(|&dim| dim as i64).collect();
    let attrs = as_conv2d(cx.attrs, &weight);
    match check(&attrs, |types| cx.args.iter().map(|arg| arg.ty(types)).collect()) {
        Err(Stop::Fault(fault)) => Err((*fault).into()),
        _ => (CONV2D.eval)(&EvalCx { args: cx.args, attrs: &attrs, out: cx.out, max_bytes: cx.max_bytes }),
    }
}

/// Lowers a call as `nn.conv2d`. `None` if the weight does not fit; evaluation reports why.
pub(super) fn lower<T>(call: &Call, lower: fn(&Call, &str) -> Option<T>) -> Option<T> {
    let shape = |arg: usize| call.arg(arg).shape.iter().map(|&dim| dim as i64).collect::<Vec<i64>>();
    let attrs = as_conv2d(call.attrs, &shape(1));
    let ty = |types: &mut Types, arg: usize| types.tensor_of(&shape(arg), call.arg(arg).dtype);
    check(&attrs, |types| vec![ty(types, 0), ty(types, 1)]).ok()?;
    lower(&Call { attrs: &attrs, args: call.args, outs: call.outs }, super::HW)
}
