//! Recurrent layers. A row of the input is a step in time. What a layer keeps from run to run is an input of the program, zeros
//! at first, and a result: `rnn0_state`, `gru0_state`, `crnn0_state`, and of an LSTM `lstm0_state` and `cell_state0_state`, the
//! names of TVM's importer.

use super::super::cx::{Cx, Image, Result, unsupported, wrong};
use super::linear::{Conv, Dense, DenseWeights};
use super::{Kind, activation, kind, linear};
use crate::onnx::import::build::Val;
use relayc_ir::types::{DType, Dim};

pub(super) const FAMILY: &[Kind] = &[kind(&["rnn"], rnn), kind(&["lstm"], lstm), kind(&["gru"], gru), kind(&["crnn"], crnn)];

/// The most steps of all layers together.
const MAX_STEPS: usize = 1 << 14;

/// The steps in time of the input.
fn steps(cx: &mut Cx) -> Result<i64> {
    let rows = cx.b.shape(cx.input.val)?.first().and_then(|dim| dim.value());
    let Some(rows) = rows else { return Err(unsupported("an open number of rows: a row is a step in time")) };
    cx.extra.n_steps = cx.extra.n_steps.saturating_add(usize::try_from(rows).unwrap_or(usize::MAX));
    match cx.extra.n_steps <= MAX_STEPS {
        true => Ok(rows),
        false => Err(unsupported(format!("more steps in time than {MAX_STEPS}, since each is written out"))),
    }
}

/// A new state: its name as a result, and its value before the run.
fn state(cx: &mut Cx, kind: &'static str, row: &[i64]) -> (String, Val) {
    let number = cx.extra.n_states.entry(kind).or_insert(0);
    let name = format!("{kind}{number}_state");
    *number = number.saturating_add(1);
    let dims = std::iter::once(1).chain(row.iter().copied()).map(Dim::known).collect();
    let val = cx.supply.param(cx.b, &name, dims, DType::F32, None);
    (name, val)
}

/// A step of something that was computed for all steps at once.
fn step(cx: &mut Cx, all: Val, at: i64, steps: i64) -> Result<Val> {
    if steps == 1 { Ok(all) } else { cx.slice(all, &[0], &[at], &[at.saturating_add(1)], &[1]) }
}

fn add(cx: &mut Cx, a: Val, b: Val) -> Result<Val> {
    cx.call("add", &[a, b], &[])
}

fn multiply(cx: &mut Cx, a: Val, b: Val) -> Result<Val> {
    cx.call("multiply", &[a, b], &[])
}

/// `state' = f(input) + f(state)`, with `shortcut` also `+ state`; the result is `f(state')`.
fn recur(
    cx: &mut Cx,
    inputs: Val,
    before: (String, Val),
    itself: impl Fn(&mut Cx, Val) -> Result<Val>,
    steps: i64,
) -> Result<Val> {
    let shortcut = cx.flag("shortcut")?;
    let (name, mut state) = before;
    let mut states = vec![];
    for at in 0..steps {
        let input = step(cx, inputs, at, steps)?;
        let own = itself(cx, state)?;
        let mut next = add(cx, input, own)?;
        if shortcut {
            next = add(cx, state, next)?;
        }
        state = next;
        states.push(state);
    }
    cx.extra.states.push((name, state));
    cx.concat(&states, 0)
}

fn part_name(cx: &Cx, part: &str) -> String {
    format!("{}_{part}", cx.name)
}

/// The weights of products, in the order of the file.
fn dense(cx: &mut Cx, part: &str, units: i64, inputs: i64, norm: bool) -> Result<DenseWeights> {
    let name = part_name(cx, part);
    Dense { units, inputs, norm }.take(cx, &name)
}

fn rnn(cx: &mut Cx) -> Result {
    let (units, norm) = (cx.positive("output", 1)?, cx.flag("batch_normalize")?);
    let (data, steps) = (cx.flat()?, steps(cx)?);
    let input = dense(cx, "input", units, cx.input.size, norm)?;
    let itself = dense(cx, "self", units, units, norm)?;
    let output = dense(cx, "output", units, units, norm)?;
    let before = state(cx, "rnn", &[units]);
    let inputs = input.call(cx, data)?;
    let inputs = activation::activated(cx, inputs, "logistic")?;
    let own = |cx: &mut Cx, state: Val| {
        let val = itself.call(cx, state)?;
        activation::activated(cx, val, "logistic")
    };
    let states = recur(cx, inputs, before, own, steps)?;
    let val = output.call(cx, states)?;
    let val = activation::activated(cx, val, "logistic")?;
    Ok(linear::vector(val, units))
}

/// Like `rnn`, with convolutions.
fn crnn(cx: &mut Cx) -> Result {
    let (outputs, hidden) = (cx.positive("output_filters", 1)?, cx.positive("hidden_filters", 1)?);
    let norm = cx.flag("batch_normalize")?;
    let (data, image) = cx.image()?;
    if image.h != image.w {
        return Err(unsupported("an image that is not square: Darknet takes its height for its width"));
    }
    let steps = steps(cx)?;
    let conv = |filters: i64| Conv { filters, size: 3, strides: [1, 1], pad: 1, dilation: 1, groups: 1, norm, flipped: false };
    let before = state(cx, "crnn", &[hidden, image.h, image.w]);
    let state_image = Image { c: hidden, ..image };
    let mut take = |part: &str, conv: Conv, image: Image| {
        let name = part_name(cx, part);
        conv.take(cx, &name, image)
    };
    let input = take("input", conv(hidden), image)?;
    let itself = take("self", conv(hidden), state_image)?;
    let output = take("output", conv(outputs), state_image)?;
    let inputs = input.call(cx, data)?;
    let inputs = activation::activated(cx, inputs, "logistic")?;
    let own = |cx: &mut Cx, state: Val| {
        let val = itself.call(cx, state)?;
        activation::activated(cx, val, "logistic")
    };
    let states = recur(cx, inputs, before, own, steps)?;
    let val = output.call(cx, states)?;
    activation::image(cx, val, output.image)
}

/// The products of the input for all steps at once, and the weights for those of the state.
struct Gates<const N: usize> {
    inputs: [Val; N],
    states: [DenseWeights; N],
}

impl<const N: usize> Gates<N> {
    /// Takes the weights: for the states `w…`, then for the inputs `u…`.
    fn take(cx: &mut Cx, names: [&str; N], units: i64, norm: bool, data: Val) -> Result<Gates<N>> {
        let size = cx.input.size;
        let states = collected(names, |name| dense(cx, &format!("w{name}"), units, units, norm))?;
        let weights = collected(names, |name| dense(cx, &format!("u{name}"), units, size, norm))?;
        let mut weights = weights.into_iter();
        let inputs = collected(names, |_| match weights.next() {
            Some(weights) => weights.call(cx, data),
            None => Err(wrong("no weights")),
        })?;
        Ok(Gates { inputs, states })
    }

    /// `f(u(x) + w(state))` of a gate in a step.
    fn gate(&self, cx: &mut Cx, (gate, f): (usize, &str), state: Val, (at, steps): (i64, i64)) -> Result<Val> {
        let (Some(&inputs), Some(weights)) = (self.inputs.get(gate), self.states.get(gate)) else { return Err(wrong("no gate")) };
        let input = step(cx, inputs, at, steps)?;
        let own = weights.call(cx, state)?;
        let sum = add(cx, input, own)?;
        cx.call(f, &[sum], &[])
    }
}

/// An array of what a function gives for each name.
fn collected<T, const N: usize>(names: [&str; N], f: impl FnMut(&str) -> Result<T>) -> Result<[T; N]> {
    let all = names.into_iter().map(f).collect::<Result<Vec<T>>>()?;
    all.try_into().map_err(|_| wrong("another number of parts"))
}

/// `c' = f * c + i * g`, `h' = o * tanh(c')`.
fn lstm(cx: &mut Cx) -> Result {
    let (units, norm) = (cx.positive("output", 1)?, cx.flag("batch_normalize")?);
    let (data, steps) = (cx.flat()?, steps(cx)?);
    let gates = Gates::take(cx, ["i", "f", "o", "g"], units, norm, data)?;
    let (name, mut h) = state(cx, "lstm", &[units]);
    let (cell_name, mut c) = state(cx, "cell_state", &[units]);
    let mut results = vec![];
    for at in 0..steps {
        let when = (at, steps);
        let input = gates.gate(cx, (0, "sigmoid"), h, when)?;
        let forget = gates.gate(cx, (1, "sigmoid"), h, when)?;
        let output = gates.gate(cx, (2, "sigmoid"), h, when)?;
        let candidate = gates.gate(cx, (3, "tanh"), h, when)?;
        let (kept, added) = (multiply(cx, forget, c)?, multiply(cx, input, candidate)?);
        c = add(cx, kept, added)?;
        let bounded = cx.call("tanh", &[c], &[])?;
        h = multiply(cx, output, bounded)?;
        results.push(h);
    }
    cx.extra.states.extend([(name, h), (cell_name, c)]);
    Ok(linear::vector(cx.concat(&results, 0)?, units))
}

/// `state' = z * state + (1 - z) * h`, where `h` sees `r * state`.
fn gru(cx: &mut Cx) -> Result {
    let (units, norm) = (cx.positive("output", 1)?, cx.flag("batch_normalize")?);
    let candidate = if cx.flag("tanh")? { "tanh" } else { "sigmoid" };
    let (data, steps) = (cx.flat()?, steps(cx)?);
    let gates = Gates::take(cx, ["z", "r", "h"], units, norm, data)?;
    let (name, mut state) = state(cx, "gru", &[units]);
    let one = cx.scalar(1.0)?;
    let mut results = vec![];
    for at in 0..steps {
        let when = (at, steps);
        let update = gates.gate(cx, (0, "sigmoid"), state, when)?;
        let reset = gates.gate(cx, (1, "sigmoid"), state, when)?;
        let forgot = multiply(cx, reset, state)?;
        let fresh = gates.gate(cx, (2, candidate), forgot, when)?;
        let kept = multiply(cx, update, state)?;
        let rest = cx.call("subtract", &[one, update], &[])?;
        let added = multiply(cx, rest, fresh)?;
        state = add(cx, kept, added)?;
        results.push(state);
    }
    cx.extra.states.push((name, state));
    Ok(linear::vector(cx.concat(&results, 0)?, units))
}
