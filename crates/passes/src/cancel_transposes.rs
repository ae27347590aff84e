//! Computes what lies between a transposition and its inverse on the tensor as it is, as networks have it that were converted from
//! channels last to channels first.
//!
//! The rewrite is sound because each element is computed alone, from the same numbers: nothing but elementwise operators may lie
//! between the two, and other operands have at most one axis that is longer than 1, which takes its place among the axes.
//! What is computed may have no other users, so that nothing is computed twice; the tensor and its transposition may.
//!
//! ```text
//! transpose(nn.relu(add(transpose(%x, axes=[0, 2, 3, 1]), %b)), axes=[0, 3, 1, 2])
//!     →    nn.relu(add(%x, reshape(%b, newshape=[1, 8, 1, 1])))
//! ```

use super::build::{args, dims};
use super::rewrite::rewrite;
use super::users::Users;
use super::{Pass, PassCx};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{RESHAPE, TRANSPOSE, TransposeAttrs};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "cancel-transposes",
    doc: "Drops transpositions around elementwise operators that cancel each other.",
    level: 2,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// Most operators between two transpositions: each transposition of a program looks at so many.
const MOST: usize = 64;

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let (users, _) = Users::of(module);
    let cancelling = Cancelling { cx, users };
    rewrite(module, |module, expr| cancelling.cancelled(module, expr))
}

struct Cancelling<'a> {
    cx: &'a PassCx<'a>,
    users: Users,
}

/// What lies between a transposition and its inverse.
struct Between {
    /// The elementwise operators, operands before users.
    calls: Vec<ExprId>,
    /// The tensors whose transpositions are their operands, by these.
    sources: FxHashMap<ExprId, ExprId>,
    /// The axis of a source that each axis of its transposition is.
    axes: Vec<usize>,
}

impl Cancelling<'_> {
    /// The same as a transposition, without it.
    fn cancelled(&self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let Between { calls, sources: mut now, axes } = self.between(module, expr)?;
        for &call in &calls {
            let mut operands = vec![];
            for operand in args(module, call) {
                operands.push(match now.get(&operand) {
                    Some(&now) => now,
                    None => self.placed(module, operand, &axes)?,
                });
            }
            let (def, span) = (self.cx.called(module, call)?, module.exprs[call].span);
            let computed = self.cx.typed_call(module, span, def, &operands, module.call_attrs(call).to_vec())?;
            now.insert(call, computed);
        }
        now.get(calls.last()?).copied()
    }

    fn between(&self, module: &Module, expr: ExprId) -> Option<Between> {
        let inverse = self.permutation(module, expr)?;
        let last = *args(module, expr).first()?;
        let mut between = Between { calls: vec![], sources: FxHashMap::default(), axes: vec![] };
        let (mut seen, mut stack) = (FxHashSet::default(), vec![(last, false)]);
        while let Some((at, has_operands)) = stack.pop() {
            if has_operands {
                between.calls.push(at);
                continue;
            }
            if !seen.insert(at) {
                continue;
            }
            (seen.len() <= MOST).then_some(())?;
            if let Some(axes) = self.permutation(module, at) {
                inverse.iter().map(|&axis| axes[axis]).is_sorted().then_some(())?;
                between.sources.insert(at, *args(module, at).first()?);
                between.axes = axes;
                continue;
            }
            self.cx.by_elements(module, at)?;
            (!self.users.is_result(at)).then_some(())?;
            stack.push((at, true));
            let whole = args(module, at).into_iter().filter(|&operand| has_shape_of(module, operand, at));
            stack.extend(whole.map(|operand| (operand, false)));
        }
        // What the pass itself has made has no users here.
        let inside = |user: &ExprId| *user == expr || between.calls.contains(user);
        let alone = |&call: &ExprId| !self.users.list(call).is_empty() && self.users.list(call).iter().all(inside);
        (!between.calls.is_empty() && !between.sources.is_empty() && between.calls.iter().all(alone)).then_some(between)
    }

    /// Which axis of its operand each axis of a transposition is; `None` for other expressions.
    fn permutation(&self, module: &Module, expr: ExprId) -> Option<Vec<usize>> {
        self.cx.calls(module, expr, &TRANSPOSE).then_some(())?;
        Some(TransposeAttrs::read(module.call_attrs(expr)).permutation(dims(module, expr)?.len()))
    }

    /// An operand with at most one long axis, which takes its place among those of the sources.
    fn placed(&self, module: &mut Module, operand: ExprId, axes: &[usize]) -> Option<ExprId> {
        let of = dims(module, operand)?;
        if of.is_empty() {
            return Some(operand);
        }
        let first = axes.len().checked_sub(of.len())?;
        let mut shape = vec![1; axes.len()];
        for (axis, dim) in of.iter().enumerate().filter(|(_, dim)| dim.value() != Some(1)) {
            let place = &mut shape[axes[first + axis]];
            *place = dim.value()?;
        }
        (shape.iter().filter(|&&length| length != 1).count() <= 1).then_some(())?;
        let values = RESHAPE.attrs?.values(&[("newshape", AttrValue::ints(&shape)), ("allowzero", AttrValue::Bool(true))]);
        let span = module.exprs[operand].span;
        self.cx.typed_call(module, span, &RESHAPE, &[operand], values)
    }
}

/// Whether an operand has the dimensions of the result, so that its axes are those of the result.
fn has_shape_of(module: &Module, operand: ExprId, call: ExprId) -> bool {
    let (Some(own), Some(result)) = (dims(module, operand), dims(module, call)) else { return false };
    own.len() == result.len() && own.iter().zip(result).all(|(own, dim)| own.same(*dim))
}
