//! Converts control flow: functions, branches and loops, whose nodes contain graphs.
//!
//! A function of the model is inlined at its calls. So are the taken branch of an `If` with a known condition, and the
//! iterations of a loop with a small known count. Otherwise an `If` becomes Relay's `if`, and a `Loop` a function that calls
//! itself:
//!
//! ```text
//! let %loop = fn (%i: int64, %go: bool, %v: T, %s: Tensor[(?, …), …]) -> (T, Tensor[(?, …), …]) {
//!   if (%go) { …; %loop(add(%i, 1i64), …, %v', concatenate((%s, expand_dims(%s', axis=0)))) } else { (%v, %s) }
//! };
//! ```
//!
//! The types of its parameters are those of the initial values. If an iteration changes a dimension, that becomes `?`, and the
//! body is converted again.

use super::super::proto::{AttributeProto, GraphProto, NodeProto, TypeProto};
use super::build::{Turn, Val, axis_of};
use super::cx::{Attributes, dims_attr, understood};
use super::declared::declared;
use super::errors::Refusal;
use super::frame::{Appended, Branch, Continuation, Frame, Iterations, Loop, LoopKind, Site, Started};
use super::plan::{joined_along, only_appends};
use super::scanned::Scanned;
use super::walk::{Walk, attributes};
use crate::onnx::proto::FunctionProto;
use relayc_base::diag::Diagnostic;
use relayc_base::text::count;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, Ty, Types};
use relayc_ir::{AttrValue, VarId};
use rustc_hash::FxHashMap;

type Start = Result<Started, Refusal>;

/// Maximum number of unrolled iterations, and of unrolled nodes in total.
const MAX_TURNS: i64 = 64;
const MAX_TURN_NODES: usize = 4096;

/// Maximum number of times that a dimension of a loop's values may turn out to change.
const MAX_TRIES: usize = 16;

/// Calls a function of the model. Errors: invalid operator sets.
pub(crate) fn call<'a>(
    walk: &mut Walk<'a>,
    at: usize,
    node: &'a NodeProto,
    function: &'a FunctionProto,
    inputs: Vec<Option<Val>>,
) -> Result<(), Diagnostic> {
    let span = walk.b.span;
    let absent = walk.absent;
    let n = inputs.iter().rposition(Option::is_some).map_or(0, |last| last.saturating_add(1));
    if n > function.input.len() {
        let words = format!("the function takes {}, found {n}", count(function.input.len(), "operand"));
        walk.settle(at, node, span, Err(Refusal::wrong(words)));
        return Ok(());
    }
    let inputs = inputs.into_iter().map(|input| input.unwrap_or(absent)).chain(std::iter::repeat(absent));
    let values: FxHashMap<&str, Val> = function.input.iter().map(String::as_str).zip(inputs).collect();
    let (_, outer) = walk.inherited(at);
    let given = attributes(node, &outer);
    let mut attrs: Attributes = function.attribute_proto.iter().filter_map(|attr| Some((attr.name.as_deref()?, attr))).collect();
    attrs.extend(given);
    let frame = walk.body(function, values, attrs, Continuation::Inline(Site { at, node, span }))?;
    walk.frames.push(frame);
    Ok(())
}

fn graph_of<'a>(attrs: &Attributes<'a>, name: &str) -> Result<&'a GraphProto, Refusal> {
    let graph = attrs.get(name).and_then(|attr: &&'a AttributeProto| attr.g.as_deref());
    graph.ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` is missing, or no graph")))
}

fn push<'a>(walk: &mut Walk<'a>, at: usize, graph: &'a GraphProto, values: Vec<Val>, after: Continuation<'a>) -> Start {
    let (opsets, attrs) = walk.inherited(at);
    let mut frame = match walk.frame(graph, Some(at), opsets, attrs, after) {
        Ok(frame) => frame,
        Err(error) => return Ok(Started::Failed(error)),
    };
    let names = graph.input.iter().map(|input| input.name.as_deref().unwrap_or_default());
    frame.values.extend(names.zip(values));
    walk.frames.push(frame);
    Ok(Started::Frames)
}

/// `If`.
pub(crate) fn start_if<'a>(walk: &mut Walk<'a>, site: Site<'a>, inputs: &[Option<Val>], attrs: &Attributes<'a>) -> Start {
    understood(attrs, |name| ["then_branch", "else_branch"].contains(&name))?;
    let (then, other) = (graph_of(attrs, "then_branch")?, graph_of(attrs, "else_branch")?);
    let &[Some(cond)] = inputs else { return Err(Refusal::wrong("it takes a condition and nothing else")) };
    if !then.input.is_empty() || !other.input.is_empty() {
        return Err(Refusal::wrong("its branches take inputs"));
    }
    if then.output.len() != other.output.len() {
        return Err(Refusal::wrong("its branches give different numbers of results"));
    }
    let cond = scalar(walk, cond, DType::BOOL)?;
    match walk.b.known_truth(cond) {
        Some(true) => push(walk, site.at, then, vec![], Continuation::Inline(site)),
        Some(false) => push(walk, site.at, other, vec![], Continuation::Inline(site)),
        None => push(walk, site.at, then, vec![], Continuation::Then { site, cond, other }),
    }
}

/// Converts an operand of one element to a scalar of a dtype.
fn scalar(walk: &mut Walk, val: Val, dtype: DType) -> Result<Val, Refusal> {
    let Some((shape, found)) = walk.b.tensor_ty(val) else { return Ok(val) };
    let rank = shape.len();
    let mut val = val;
    if rank > 0 {
        let axes: Vec<i64> = (0..i64::try_from(rank).unwrap_or(0)).collect();
        val = walk.b.call("squeeze", &[val], &[("axis", AttrValue::ints(&axes))])?;
    }
    match found == dtype {
        true => Ok(val),
        false => walk.b.call("cast", &[val], &[("dtype", AttrValue::DType(Some(dtype)))]),
    }
}

/// `Loop`.
pub(crate) fn start_loop<'a>(walk: &mut Walk<'a>, site: Site<'a>, inputs: &[Option<Val>], attrs: &Attributes<'a>) -> Start {
    understood(attrs, |name| name == "body")?;
    let graph = graph_of(attrs, "body")?;
    let mut operands = inputs.iter().copied();
    let (trip, cond) = (operands.next().flatten(), operands.next().flatten());
    if trip.is_none() && cond.is_none() {
        return Err(Refusal::unsupported("a loop that never ends, without a trip count and without a condition"));
    }
    let init: Option<Vec<Val>> = operands.collect();
    let init = init.ok_or_else(|| Refusal::wrong("a value to begin with is missing"))?;
    if graph.input.len() != init.len().saturating_add(2) || graph.output.len() <= init.len() {
        return Err(Refusal::wrong("its body does not take and give what it carries"));
    }
    let trip = trip.map(|trip| scalar(walk, trip, DType::I64)).transpose()?;
    let cond = cond.map(|cond| scalar(walk, cond, DType::BOOL)).transpose()?;
    let types: Vec<Ty> = init.iter().map(|&val| walk.b.ty(val)).collect();
    let is_sequence = |ty: &Ty| walk.b.module.types.as_tuple(*ty).is_some();
    let how = |index: usize| {
        let name = site.node.output.get(index).filter(|name| !name.is_empty());
        let plan = walk.frames.get(site.at).map(|frame| &frame.plan);
        let axis = plan.zip(name).and_then(|(plan, name)| joined_along(plan, name));
        axis.map_or(Appended::Stacked, Appended::Joined)
    };
    let appends = |(index, ty)| (is_sequence(ty) && only_appends(graph, index)).then(|| how(index));
    let appended = types.iter().enumerate().map(appends).collect();
    let known = |val: Option<Val>, or: i64| match val {
        None => Some(or),
        Some(val) => walk.b.known_elements(val).and_then(|elements| *elements.first()?),
    };
    let n_turns = match (known(trip, i64::MAX), known(cond, 1)) {
        (_, Some(0)) => Some(0),
        (Some(trip), Some(_)) => Some(trip.max(0)),
        _ => None,
    };
    let whole =
        Loop { site, graph, trip, cond, init: init.clone(), types, appended, turn: None, vars: vec![], tries: 0, scanned: None };
    let cost = match walk.plan(graph) {
        Ok(plan) => plan.cost,
        Err(error) => return Ok(Started::Failed(error)),
    };
    let all = |n: i64| usize::try_from(n.min(MAX_TURNS)).unwrap_or(0).saturating_mul(cost);
    let few = n_turns.filter(|&n| (n <= MAX_TURNS || trip.is_none()) && all(n) <= MAX_TURN_NODES && walk.has_time());
    match few {
        Some(n_turns) => {
            let scans = vec![vec![]; graph.output.len().saturating_sub(init.len()).saturating_sub(1)];
            let kind = LoopKind::Loop(Box::new(whole));
            next_turn(walk, Iterations { site, graph, turn: 0, n_turns, carried: init, scans, kind })
        }
        None => start_body(walk, whole),
    }
}

/// The attributes of `Scan`.
const SCAN: [&str; 6] =
    ["body", "num_scan_inputs", "scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"];

/// `Scan` of operator set 9 and later.
pub(crate) fn start_scan<'a>(walk: &mut Walk<'a>, site: Site<'a>, inputs: &[Option<Val>], attrs: &Attributes<'a>) -> Start {
    understood(attrs, |name| SCAN.contains(&name))?;
    let graph = graph_of(attrs, "body")?;
    let int = |name: &str| attrs.get(name).and_then(|attr| attr.i);
    let ints = |name: &str| attrs.get(name).map_or(&[][..], |attr| &attr.ints);
    let n_scans = int("num_scan_inputs").and_then(|n| usize::try_from(n).ok()).filter(|&n| 1 <= n && n <= inputs.len());
    let n_scans =
        n_scans.ok_or_else(|| Refusal::wrong("`num_scan_inputs` is missing, or not the number of any of its inputs"))?;
    let inputs: Option<Vec<Val>> = inputs.iter().copied().collect();
    let inputs = inputs.ok_or_else(|| Refusal::wrong("an input is missing"))?;
    let (init, scanned) = inputs.split_at(inputs.len().saturating_sub(n_scans));
    if graph.input.len() != inputs.len() || graph.output.len() < init.len() {
        return Err(Refusal::wrong("its body does not take and give what it carries"));
    }
    let mut operands = vec![];
    let mut length: Option<Dim> = None;
    for (index, &val) in scanned.iter().enumerate() {
        let (axis, back) =
            (ints("scan_input_axes").get(index).copied().unwrap_or(0), ints("scan_input_directions").get(index) == Some(&1));
        let Some((shape, _)) = walk.b.tensor_ty(val) else { return Err(Refusal::wrong("an operand that is no tensor")) };
        let axis = axis_of(axis, shape.len())?;
        let dim = shape.get(axis).copied().unwrap_or(Dim::Any);
        if length.is_some_and(|length| !length.compatible(dim)) {
            return Err(Refusal::wrong("its scanned inputs have different lengths"));
        }
        length = length.filter(|length| length.value().is_some() || dim.value().is_none()).or(Some(dim));
        operands.push((val, axis, back));
    }
    let length = length.unwrap_or(Dim::Any);
    let cost = match walk.plan(graph) {
        Ok(plan) => plan.cost,
        Err(error) => return Ok(Started::Failed(error)),
    };
    let n_results = graph.output.len().saturating_sub(init.len());
    let result = |index: usize| {
        (ints("scan_output_axes").get(index).copied().unwrap_or(0), ints("scan_output_directions").get(index) == Some(&1))
    };
    let scanned = Scanned { operands, results: (0..n_results).map(result).collect(), length };
    let all = |n: i64| usize::try_from(n).unwrap_or(usize::MAX).saturating_mul(cost);
    match length.value().filter(|&n| all(n) <= MAX_TURN_NODES.saturating_mul(16)) {
        Some(n_turns) => {
            let (carried, scans) = (init.to_vec(), vec![vec![]; n_results]);
            next_turn(walk, Iterations { site, graph, turn: 0, n_turns, carried, scans, kind: LoopKind::Scan(scanned) })
        }
        None => start_long_scan(walk, site, graph, init, scanned),
    }
}

/// Starts a `Scan` that becomes a function.
fn start_long_scan<'a>(walk: &mut Walk<'a>, site: Site<'a>, graph: &'a GraphProto, init: &[Val], mut scanned: Scanned) -> Start {
    walk.b.span = site.span;
    for (operand, ..) in &mut scanned.operands {
        *operand = walk.mentioned(site.at, *operand);
    }
    let Some(&(operand, axis, _)) = scanned.operands.first() else { return Err(Refusal::wrong("it scans nothing")) };
    let shape = walk.b.call("shape_of", &[operand], &[("dtype", AttrValue::DType(Some(DType::I64)))])?;
    let axis = walk.b.constant(Tensor::scalar(i64::try_from(axis).unwrap_or(0)));
    let length = walk.b.call("take", &[shape, axis], &[("axis", AttrValue::int(0))])?;
    let trip = Some(walk.mentioned(site.at, length));
    let types: Vec<Ty> = init.iter().map(|&val| walk.b.ty(val)).collect();
    let appended = vec![None; init.len()];
    let (init, scanned) = (init.to_vec(), Some(scanned));
    start_body(walk, Loop { site, graph, trip, cond: None, init, types, appended, turn: None, vars: vec![], tries: 0, scanned })
}

/// Starts the next iteration, or ends the loop.
fn next_turn<'a>(walk: &mut Walk<'a>, turns: Iterations<'a>) -> Start {
    let site = turns.site;
    if turns.turn >= turns.n_turns {
        end_turns(walk, &turns);
        return Ok(Started::Frames);
    }
    let n_values = turns.graph.input.len().saturating_add(turns.scans.len());
    if let Err(error) = walk.charge(n_values) {
        return Ok(Started::Failed(error));
    }
    walk.b.span = site.span;
    let mut values = vec![];
    match &turns.kind {
        LoopKind::Loop(_) => {
            let (turn, yes) = (walk.b.constant(Tensor::scalar(turns.turn)), walk.b.constant(Tensor::scalar(true)));
            values.extend([of_body(walk, turns.graph, 0, turn)?, of_body(walk, turns.graph, 1, yes)?]);
            values.extend(&turns.carried);
        }
        LoopKind::Scan(Scanned { operands, .. }) => {
            values.extend(&turns.carried);
            for &(val, axis, back) in operands {
                let index = if back { turns.n_turns.saturating_sub(1).saturating_sub(turns.turn) } else { turns.turn };
                let index = walk.b.constant(Tensor::scalar(index));
                let axis = AttrValue::int(i64::try_from(axis).unwrap_or(0));
                values.push(walk.b.call("take", &[val, index], &[("axis", axis)])?);
            }
        }
    }
    push(walk, site.at, turns.graph, values, Continuation::Turn(Box::new(turns)))
}

/// The number of a turn, or its condition, as the body of a loop takes it: with one axis where the body declares one, as in ONNX
/// Runtime (`onnxruntime/core/providers/cpu/controlflow/loop.cc`).
fn of_body(walk: &mut Walk, graph: &GraphProto, input: usize, scalar: Val) -> Result<Val, Refusal> {
    let declared = graph.input.get(input).and_then(|input| input.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref());
    match declared.map(|shape| shape.dim.len()) {
        Some(1) => walk.b.call("reshape", &[scalar], &[("newshape", AttrValue::ints(&[1]))]),
        _ => Ok(scalar),
    }
}

/// Completes an unrolled loop.
fn end_turns<'a>(walk: &mut Walk<'a>, turns: &Iterations<'a>) {
    let Site { at, node, span } = turns.site;
    walk.b.span = span;
    let result = gathered(walk, turns);
    walk.settle(at, node, span, result);
}

/// The carried values and the stacked scan results.
fn gathered(walk: &mut Walk, turns: &Iterations) -> Result<Vec<Val>, Refusal> {
    let mut results = turns.carried.clone();
    for (index, scan) in turns.scans.iter().enumerate() {
        let (axis, back) = match &turns.kind {
            LoopKind::Loop(_) => (0, false),
            LoopKind::Scan(scanned) => scanned.results.get(index).copied().unwrap_or((0, false)),
        };
        if scan.is_empty() {
            let output = turns.graph.output.get(turns.carried.len().saturating_add(index).saturating_add(match turns.kind {
                LoopKind::Loop(_) => 1,
                LoopKind::Scan(_) => 0,
            }));
            let ty = declared(output.and_then(|output| output.r#type.as_ref())).map_err(Refusal::unsupported)?;
            results.push(empty(walk, ty.0.as_deref(), axis, ty.1)?);
            continue;
        }
        if scan.contains(&walk.poison) {
            results.push(walk.poison);
            continue;
        }
        let mut parts = scan.clone();
        if back {
            parts.reverse();
        }
        let tuple = walk.b.tuple(&parts);
        results.push(walk.b.call("stack", &[tuple], &[("axis", AttrValue::int(axis))])?);
    }
    Ok(results)
}

/// An empty tensor of a shape, with extent 0 along an axis.
fn empty(walk: &mut Walk, dims: Option<&[Dim]>, axis: i64, dtype: DType) -> Result<Val, Refusal> {
    let dims = dims.filter(|dims| dims.iter().all(|dim| dim.is_sized()));
    let dims = dims.ok_or_else(|| Refusal::unsupported("a scanned result whose shape is not known before running"))?;
    let mut shape = dims.to_vec();
    shape.insert(axis_of(axis, shape.len().saturating_add(1))?, Dim::known(0));
    walk.b.call("zeros", &[], &[("shape", dims_attr(&shape)), ("dtype", AttrValue::DType(Some(dtype)))])
}

/// Starts the body of a loop that becomes a function.
fn start_body<'a>(walk: &mut Walk<'a>, mut whole: Loop<'a>) -> Start {
    let site = whole.site;
    walk.b.span = site.span;
    let int = walk.b.module.types.scalar(DType::I64);
    let turn = walk.variable("i", int);
    whole.turn = Some(turn);
    let n_before = if whole.scanned.is_some() { 0 } else { 2 };
    let inputs = whole.graph.input.iter().skip(n_before);
    let names: Vec<&str> = inputs.map(|input| input.name.as_deref().unwrap_or_default()).collect();
    whole.vars = names.iter().zip(&whole.types).map(|(name, &ty)| walk.variable(name, ty)).collect();
    let yes = walk.b.constant(Tensor::scalar(true));
    // What is appended in a turn is all that is in the sequence after it.
    let nothing = walk.b.tuple(&[]);
    let carried = whole.vars.iter().zip(&whole.appended).map(|(var, appended)| if appended.is_some() { nothing } else { var.1 });
    let carried: Vec<Val> = carried.collect();
    let values = match &whole.scanned {
        Some(scanned) => [carried, scanned.places(&mut walk.b, turn.1, whole.trip)?].concat(),
        None => {
            let (number, yes) = (of_body(walk, whole.graph, 0, turn.1)?, of_body(walk, whole.graph, 1, yes)?);
            [vec![number, yes], carried].concat()
        }
    };
    push(walk, site.at, whole.graph, values, Continuation::Body(Box::new(whole)))
}

/// Completes a frame. Errors: those of the frames that follow it.
pub(crate) fn finish<'a>(walk: &mut Walk<'a>, frame: Frame<'a>, results: Vec<Val>) -> Result<(), Diagnostic> {
    let poisoned = results.contains(&walk.poison);
    let lets = frame.lets;
    let (site, started) = match frame.after {
        Continuation::Main => return Ok(()),
        Continuation::Inline(site) => {
            walk.extend_lets(site.at, lets);
            walk.settle(site.at, site.node, site.span, Ok(results));
            return Ok(());
        }
        Continuation::Then { site, cond, other } => {
            let then = Branch { results, lets };
            (site, push(walk, site.at, other, vec![], Continuation::Else { site, cond, then }))
        }
        Continuation::Else { site, cond, then } => {
            walk.b.span = site.span;
            let poisoned = poisoned || then.results.contains(&walk.poison);
            let result = match poisoned {
                true => Ok(vec![walk.poison; site.node.output.len()]),
                // The rank of a result is that of every run, so an open axis stays: `Squeeze` without axes.
                false if walk.b.asks_for_one(cond) && differ_in_rank(walk, &then.results, &results) => {
                    walk.extend_lets(site.at, lets);
                    Ok(results)
                }
                false => branches(walk, cond, then, Branch { results, lets }),
            };
            walk.settle(site.at, site.node, site.span, result);
            return Ok(());
        }
        Continuation::Turn(mut turns) => {
            let site = turns.site;
            walk.extend_lets(site.at, lets);
            turns.turn = turns.turn.saturating_add(1);
            let started = match one_turn(walk, &mut turns, results) {
                Some(()) => next_turn(walk, *turns),
                None => match turns.kind {
                    LoopKind::Loop(whole) => start_body(walk, *whole),
                    LoopKind::Scan(_) => Err(Refusal::wrong("its body does not give what it carries")),
                },
            };
            (site, started)
        }
        Continuation::Body(whole) => {
            let site = whole.site;
            walk.b.span = site.span;
            let made = match poisoned {
                true => Ok(Whole::Results(vec![walk.poison; site.node.output.len()])),
                false => function(walk, *whole, Branch { results, lets }),
            };
            match made {
                Ok(Whole::Results(results)) => {
                    walk.settle(site.at, site.node, site.span, Ok(results));
                    return Ok(());
                }
                Ok(Whole::Again(whole)) => (site, start_body(walk, *whole)),
                Err(refusal) => (site, Err(refusal)),
            }
        }
    };
    match started {
        Ok(Started::Frames) => {}
        Ok(Started::Failed(error)) => return Err(error),
        Err(refusal) => walk.settle(site.at, site.node, site.span, Err(refusal)),
    }
    Ok(())
}

/// Takes the results of an iteration; `None` if only a run knows whether another follows.
fn one_turn(walk: &Walk, turns: &mut Iterations, results: Vec<Val>) -> Option<()> {
    let n = turns.carried.len();
    // Without a condition to begin with the body's is not looked at: `Loop` of `docs/Operators.md`, `input (trip_count, "")`.
    let mut results = results.into_iter();
    if let LoopKind::Loop(whole) = &turns.kind {
        let cond = results.next()?;
        let holds = if whole.cond.is_none() { Some(true) } else { walk.b.known_truth(cond) };
        match holds {
            Some(true) if turns.turn < MAX_TURNS || whole.trip.is_some() => {}
            Some(false) => turns.n_turns = turns.turn,
            // What is poisoned is no loop in the end either.
            None if cond == walk.poison => turns.n_turns = turns.turn,
            // The condition of the last turn does not matter.
            None if turns.turn >= turns.n_turns => {}
            _ => return None,
        }
    }
    turns.carried = results.by_ref().take(n).collect();
    for (scan, value) in turns.scans.iter_mut().zip(results) {
        scan.push(value);
    }
    Some(())
}

/// The join of two types: `?` for different dimensions. `None` for other differences.
fn join(types: &mut Types, a: Ty, b: Ty) -> Option<Ty> {
    if a == b {
        return Some(a);
    }
    let ((shape_a, dtype_a), (shape_b, dtype_b)) = (types.as_tensor(a)?, types.as_tensor(b)?);
    if shape_a.len() != shape_b.len() || dtype_a != dtype_b {
        return None;
    }
    let dims: Vec<Dim> = shape_a.iter().zip(shape_b).map(|(&a, &b)| if a.same(b) { a } else { Dim::Any }).collect();
    Some(types.tensor(&dims, dtype_a))
}

/// Whether tensors have other ranks in one branch than in the other.
fn differ_in_rank(walk: &Walk, then: &[Val], other: &[Val]) -> bool {
    let rank = |val: Val| walk.b.tensor_ty(val).map(|(shape, _)| shape.len());
    then.iter().zip(other).any(|(&a, &b)| rank(a).zip(rank(b)).is_some_and(|(a, b)| a != b))
}

/// Joins both branches of an `If`, whose results get common types.
fn branches(walk: &mut Walk, cond: Val, mut then: Branch, mut other: Branch) -> Result<Vec<Val>, Refusal> {
    let mut types = vec![];
    for (a, b) in then.results.iter_mut().zip(&mut other.results) {
        let (ty_a, ty_b) = (walk.b.ty(*a), walk.b.ty(*b));
        let ty = join(&mut walk.b.module.types, ty_a, ty_b);
        let ty = ty.ok_or_else(|| {
            let [a, b] = [ty_a, ty_b].map(|ty| walk.b.module.types.text(ty));
            Refusal::unsupported(format!("branches of different types, `{a}` and `{b}`, where Relay's `if` has one"))
        })?;
        for (value, found, lets) in [(a, ty_a, &mut then.lets), (b, ty_b, &mut other.lets)] {
            if found != ty {
                let (var, wide) = walk.variable("wide", ty);
                lets.push((var, *value));
                *value = wide;
            }
        }
        types.push(ty);
    }
    let ty = walk.b.together_ty(&types);
    let n = types.len();
    let [then, other] = [then, other].map(|branch| {
        let result = walk.b.together(&branch.results);
        walk.b.bind_all(branch.lets, result)
    });
    let value = walk.b.branch(cond, then, other, ty);
    taken_apart(walk, value, n)
}

fn taken_apart(walk: &mut Walk, value: Val, n: usize) -> Result<Vec<Val>, Refusal> {
    match n {
        1 => Ok(vec![value]),
        n => (0..n).map(|index| walk.b.field(value, index)).collect(),
    }
}

/// The outcome of converting a loop.
enum Whole<'a> {
    Results(Vec<Val>),
    /// Its types were too narrow.
    Again(Box<Loop<'a>>),
}

/// The function of a loop, and its call.
fn function<'a>(walk: &mut Walk<'a>, mut whole: Loop<'a>, body: Branch) -> Result<Whole<'a>, Refusal> {
    let at = whole.site.at;
    let n = whole.init.len();
    let n_before = usize::from(whole.scanned.is_none());
    let (cond, rest) = body.results.split_at(n_before.min(body.results.len()));
    let (Some(turn), true) = (whole.turn, cond.len() == n_before) else {
        return Err(Refusal::wrong("its body gives no condition"));
    };
    let (carried, scanned) = rest.split_at(n.min(rest.len()));
    let mut carried = carried.to_vec();
    if widened(walk, &mut whole, &carried)? {
        whole.tries = whole.tries.saturating_add(1);
        return match whole.tries <= MAX_TRIES {
            true => Ok(Whole::Again(Box::new(whole))),
            false => Err(Refusal::unsupported("values whose types change from turn to turn")),
        };
    }
    gather_appended(walk, &mut whole, &mut carried)?;
    let outputs = whole.graph.output.iter().skip(n.saturating_add(n_before));
    let scans = scanned.iter().zip(outputs).map(|(&value, output)| scan(walk, value, output.r#type.as_ref()));
    let scans: Vec<Stacked> = scans.collect::<Result<_, _>>()?;
    let bool_ty = walk.b.module.types.scalar(DType::BOOL);
    let (go_var, go) = walk.variable("go", bool_ty);
    let types: Vec<Ty> = whole.types.iter().copied().chain(scans.iter().map(|scan| scan.ty)).collect();
    let ret = walk.b.together_ty(&types);
    let carried_vars = whole.vars.iter().copied().chain(scans.iter().map(|scan| scan.so_far));
    let (vars, done): (Vec<VarId>, Vec<Val>) = carried_vars.unzip();
    let params: Vec<VarId> = [turn.0, go_var].into_iter().chain(vars).collect();
    let fn_ty = walk.b.function_ty(&params, ret);
    let (loop_var, myself) = walk.variable("loop", fn_ty);
    walk.b.forget_ty(loop_var);
    // The next turn.
    let one = walk.b.constant(Tensor::scalar(1i64));
    let next = walk.b.call("add", &[turn.1, one], &[])?;
    let trip = whole.trip.map(|trip| walk.mentioned(at, trip));
    let yes = walk.b.constant(Tensor::scalar(true));
    let cond = cond.first().copied().filter(|_| whole.cond.is_some());
    let go_on = goes_on(walk, next, trip, cond.unwrap_or(yes))?;
    let values = carried.iter().copied().chain(scans.iter().map(|scan| scan.more));
    let args: Vec<Val> = [next, go_on].into_iter().chain(values).collect();
    let function = walk.b.recursion(myself, &params, go, Turn { lets: body.lets, next: args, done }, ret);
    walk.extend_lets(at, vec![(loop_var, function)]);
    // The first.
    let zero = walk.b.constant(Tensor::scalar(0i64));
    let go_first = goes_on(walk, zero, whole.trip, whole.cond.unwrap_or(yes))?;
    let values = whole.init.iter().copied().chain(scans.iter().map(|scan| scan.first));
    let args: Vec<Val> = [zero, go_first].into_iter().chain(values).collect();
    let value = walk.b.apply(myself, &args, ret);
    let mut results = taken_apart(walk, value, types.len())?;
    if let Some(scanned) = &whole.scanned {
        for (index, result) in results.iter_mut().skip(n).enumerate() {
            *result = scanned.laid_out(&mut walk.b, *result, index)?;
        }
    }
    for (&result, _) in results.iter().zip(&whole.appended).filter(|(_, how)| matches!(how, Some(Appended::Joined(_)))) {
        walk.b.set_joined(result);
    }
    Ok(Whole::Results(results))
}

/// Widens the types of carried values to those of an iteration; returns whether they changed.
fn widened(walk: &mut Walk, whole: &mut Loop, carried: &[Val]) -> Result<bool, Refusal> {
    let mut wider = false;
    for ((ty, &value), _) in whole.types.iter_mut().zip(carried).zip(&whole.appended).filter(|(_, appended)| appended.is_none()) {
        let found = walk.b.ty(value);
        let joined = join(&mut walk.b.module.types, *ty, found);
        let joined = joined.ok_or_else(|| {
            let [a, b] = [*ty, found].map(|ty| walk.b.module.types.text(ty));
            Refusal::unsupported(format!("a value that is `{a}` in one turn and `{b}` in the next"))
        })?;
        wider |= joined != *ty;
        *ty = joined;
    }
    Ok(wider)
}

/// Makes sequences that are appended to results over all iterations, behind the tensors they begin with.
fn gather_appended(walk: &mut Walk, whole: &mut Loop, carried: &mut [Val]) -> Result<(), Refusal> {
    let Loop { init, types, vars, appended, .. } = whole;
    let states = init.iter_mut().zip(types).zip(vars).zip(carried).zip(appended);
    for ((((init, ty), var), value), appended) in states {
        let Some(appended) = appended else { continue };
        let tensor = walk.b.field(*value, 0)?;
        let (scan, gather, axis) = match *appended {
            Appended::Stacked => (scan(walk, tensor, None)?, "stack", 0),
            Appended::Joined(axis) => (scan_joined(walk, tensor, axis)?, "concatenate", axis),
        };
        let begins_empty = walk.b.module.types.as_tuple(*ty).is_none_or(<[_]>::is_empty);
        *init = if begins_empty { scan.first } else { walk.b.call(gather, &[*init], &[("axis", AttrValue::int(axis))])? };
        (*ty, *var, *value) = (scan.ty, scan.so_far, scan.more);
    }
    Ok(())
}

/// A result that is stacked over all iterations.
struct Stacked {
    so_far: (VarId, Val),
    /// The result with this iteration's value appended.
    more: Val,
    first: Val,
    ty: Ty,
}

/// Starts a stacked result. Dimensions that the body leaves unknown come from the model's declaration.
fn scan(walk: &mut Walk, value: Val, declared: Option<&TypeProto>) -> Result<Stacked, Refusal> {
    let Some((shape, dtype)) = walk.b.tensor_ty(value).map(|(shape, dtype)| (shape.to_vec(), dtype)) else {
        return Err(Refusal::wrong("it scans what is no tensor"));
    };
    let said = super::declared::declared(declared).ok().and_then(|(dims, _)| dims).unwrap_or_default();
    let said = said.into_iter().map(Some).chain(std::iter::repeat(None));
    let begun: Vec<Dim> =
        shape.iter().zip(said).map(|(&dim, said)| if dim.is_sized() { dim } else { said.unwrap_or(dim) }).collect();
    let first = empty(walk, Some(&begun), 0, dtype)?;
    let dims: Vec<Dim> = std::iter::once(Dim::Any).chain(shape).collect();
    let ty = walk.b.module.types.tensor(&dims, dtype);
    let one = walk.b.call("expand_dims", &[value], &[("axis", AttrValue::int(0))])?;
    appended(walk, one, 0, first, ty)
}

/// Starts a result of tensors one behind another, which may have different lengths along the axis.
fn scan_joined(walk: &mut Walk, value: Val, axis: i64) -> Result<Stacked, Refusal> {
    let (mut dims, dtype) = (walk.b.shape(value)?, walk.b.dtype(value)?);
    let at = axis_of(axis, dims.len())?;
    dims.remove(at);
    let first = empty(walk, Some(&dims), axis, dtype)?;
    dims.insert(at, Dim::Any);
    let ty = walk.b.module.types.tensor(&dims, dtype);
    appended(walk, value, axis, first, ty)
}

/// A result that begins with `first` and to which each iteration appends a tensor along an axis.
fn appended(walk: &mut Walk, value: Val, axis: i64, first: Val, ty: Ty) -> Result<Stacked, Refusal> {
    let so_far = walk.variable("scanned", ty);
    let both = walk.b.tuple(&[so_far.1, value]);
    let more = walk.b.call("concatenate", &[both], &[("axis", AttrValue::int(axis))])?;
    Ok(Stacked { so_far, more, first, ty })
}

/// The condition for an iteration of this number.
fn goes_on(walk: &mut Walk, turn: Val, trip: Option<Val>, cond: Val) -> Result<Val, Refusal> {
    let cond = scalar(walk, cond, DType::BOOL)?;
    let Some(trip) = trip else { return Ok(cond) };
    let left = walk.b.call("less", &[turn, trip], &[])?;
    match walk.b.known_truth(cond) {
        Some(true) => Ok(left),
        _ => walk.b.call("logical_and", &[left, cond], &[]),
    }
}
