//! Finds where the values of two programs part: the first call of each side whose result the other side does not compute, although it
//! computes the operands.
//!
//! Calls are compared by their values, so names, numbers of graph bindings and passes that rewrite a program do not count. The search
//! goes from the results that differ back to values that both sides have: bit for bit, as after an edit, or else within the tolerance.
//! Weights and inputs are operands without a call.

use super::allowed::{Allowed, difference};
use super::lines::Lines;
use super::programs::Side;
use crate::bind::Bound;
use crate::run::{self, Entry};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_interp::{Limits, Value, ValueObserver};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::compare::Tolerance;
use relayc_ir::{ExprId, Module, OpTable};
use relayc_ops as ops;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// The most bytes of a side's values that are kept. There is no search in larger programs.
const MAX_BYTES: u64 = 1 << 30;

/// A call of an operator; its operands and results are numbers of tensors.
struct Call {
    span: Span,
    op: &'static str,
    operands: Vec<usize>,
    results: Vec<usize>,
}

/// The values of a run. Tensors of equal bits are one.
#[derive(Default)]
struct Trace {
    calls: Vec<Call>,
    tensors: Vec<Tensor>,
    by_content: FxHashMap<u64, Vec<usize>>,
    /// The first call that gives a tensor.
    makers: FxHashMap<usize, usize>,
    by_shape: FxHashMap<Vec<usize>, Vec<usize>>,
    bytes: u64,
}

impl Trace {
    fn tensor(&mut self, tensor: &Tensor) -> usize {
        let bytes = tensor.to_le_bytes();
        let mut hasher = FxHasher::default();
        (tensor.type_text(), &bytes).hash(&mut hasher);
        let known = self.by_content.entry(hasher.finish()).or_default();
        let is_same =
            |other: &Tensor| other.dtype() == tensor.dtype() && other.shape() == tensor.shape() && other.to_le_bytes() == bytes;
        if let Some(&number) = known.iter().find(|&&number| is_same(&self.tensors[number])) {
            return number;
        }
        let number = self.tensors.len();
        known.push(number);
        self.bytes += bytes.len() as u64;
        self.by_shape.entry(tensor.shape().to_vec()).or_default().push(number);
        self.tensors.push(tensor.clone());
        number
    }

    fn tensors_of(&mut self, value: &Value) -> Vec<usize> {
        let tensors = value.tensors().unwrap_or_default();
        tensors.into_iter().map(|(_, tensor)| self.tensor(tensor)).collect()
    }

    /// Whether it has a value near to this one.
    fn has(&self, tensor: &Tensor, allowed: Allowed) -> bool {
        let alike = self.by_shape.get(tensor.shape()).map_or(&[] as &[usize], Vec::as_slice);
        alike.iter().any(|&number| is_near(tensor, &self.tensors[number], allowed))
    }

    /// The first call behind these results that the other side does not make, although it has the operands.
    fn origin(&self, results: &[usize], other: &Trace, allowed: Allowed) -> Option<&Call> {
        let mut stack: Vec<usize> = results.iter().filter_map(|number| self.makers.get(number).copied()).collect();
        let (mut seen, mut first) = (vec![false; self.calls.len()], None::<usize>);
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let apart = self.calls[at].operands.iter().filter(|&&number| !other.has(&self.tensors[number], allowed));
            let makers: Vec<usize> = apart.filter_map(|number| self.makers.get(number).copied()).collect();
            if makers.is_empty() {
                first = Some(first.map_or(at, |first| first.min(at)));
            }
            stack.extend(makers);
        }
        first.map(|at| &self.calls[at])
    }
}

/// Whether two tensors of one shape agree. Types of floats do not count: a pass may have made one narrower, and allows what it holds.
fn is_near(a: &Tensor, b: &Tensor, allowed: Allowed) -> bool {
    let (narrow, wide) = if a.dtype().bytes() < b.dtype().bytes() { (a, b) } else { (b, a) };
    let allowed = match allowed {
        Allowed::OfScale => Allowed::OfStorage,
        other => other,
    };
    if a.dtype() == b.dtype() {
        return difference(a, b, allowed).is_ok();
    }
    let both_floats = a.dtype().is_float() && b.dtype().is_float();
    let widened = both_floats.then(|| narrow.cast(wide.dtype())).flatten();
    widened.is_some_and(|widened| difference(wide, &widened, Allowed::Each(allowed.of(narrow))).is_ok())
}

/// Keeps the calls of a run.
#[derive(Default)]
struct Keeper(Mutex<Trace>);

impl ValueObserver for Keeper {
    fn value(&self, _: &Module, _: ExprId, _: &Value) {}

    fn call(&self, module: &Module, call: ExprId, operands: &[&Value], result: &Value) -> Result<(), Box<Diagnostic>> {
        let mut trace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if trace.bytes > MAX_BYTES {
            return Ok(());
        }
        let operands = operands.iter().flat_map(|value| trace.tensors_of(value)).collect();
        let results = trace.tensors_of(result);
        let at = trace.calls.len();
        for &number in &results {
            trace.makers.entry(number).or_insert(at);
        }
        let op = module.called_op(call).map_or("a call", |op| ops::table().name(op));
        trace.calls.push(Call { span: module.exprs[call].span, op, operands, results });
        Ok(())
    }
}

/// The places where the values part, if the results are tensors and the calls are found.
pub(super) fn origin(
    sides: [Side; 2],
    entries: &[Entry; 2],
    args: [Vec<Bound>; 2],
    (allowed, limits): (Allowed, &Limits),
) -> Lines {
    let mut lines = Lines::default();
    let mut traced = sides.iter().zip(entries).zip(args).map(|((side, entry), args)| {
        let keeper = Keeper::default();
        let result = run::answer_seen(&side.program.module, entry, args, limits.clone(), Some(&keeper)).ok()?;
        let mut trace = keeper.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let results = trace.tensors_of(&result);
        (trace.bytes <= MAX_BYTES).then_some((trace, results))
    });
    let (Some(Some((from, ours))), Some(Some((to, theirs)))) = (traced.next(), traced.next()) else { return lines };
    let apart = ours.iter().zip(&theirs).filter(|(a, b)| !is_near(&from.tensors[**a], &to.tensors[**b], allowed));
    let (ours, theirs): (Vec<usize>, Vec<usize>) = apart.unzip();
    let found = |allowed| from.origin(&ours, &to, allowed).zip(to.origin(&theirs, &from, allowed));
    // Where an edit is the difference, what is not behind it has equal bits. Passes change bits everywhere.
    let types = |trace: &Trace, call: &Call| call.results.iter().map(|at| trace.tensors[*at].type_text()).collect::<Vec<_>>();
    let alike = |(a, b): &(&Call, &Call)| a.op == b.op && types(&from, a) == types(&to, b);
    let edited = found(Allowed::Each(Tolerance { rtol: 0.0, atol: 0.0 })).filter(alike);
    let Some((a, b)) = edited.or_else(|| found(allowed)) else { return lines };
    let mut pairs = a.results.iter().zip(&b.results).map(|(a, b)| (&from.tensors[*a], &to.tensors[*b]));
    let by_how_much = pairs.find_map(|(a, b)| difference(a, b, allowed).err().filter(|_| a.type_text() == b.type_text()));
    let by_how_much = by_how_much.map_or(String::new(), |how| format!(": {how}"));
    let name = if a.op == b.op { format!("`{}`", a.op) } else { format!("`{}` and `{}`", a.op, b.op) };
    lines.push(&format!("the values part at {name}{by_how_much}"), &[sides[0].at(a.span), sides[1].at(b.span)]);
    lines
}
