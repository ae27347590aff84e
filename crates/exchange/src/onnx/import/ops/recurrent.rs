//! Converts `LSTM`, `GRU`, `RNN` and `DynamicQuantizeLSTM`, unrolled step by step like TVM's importer: a program of calls that have kernels. Where only
//! a run knows the number of steps, a function makes one and calls itself.
//!
//! One product for all steps computes the contributions of the inputs to all gates; each step adds that of the previous state.
//! Sequences that end early keep their final state and give 0 afterwards.

use super::super::formula::call;
use super::building_blocks::*;
use super::curves;
use super::microsoft::product_as_floats;
use super::quantized::{dynamic_quantized, product as integer_product};
use super::{Converter, op};
use relayc_ir::types::Dim;

/// The properties in which the cells differ.
struct Cell {
    /// Whether weights are integers, `(inputs, gates * hidden)`, each with a scale and a zero point.
    is_quantized: bool,
    /// Rows of weights for each number of the state.
    gates: i64,
    /// The activation functions of a direction.
    activations: &'static [&'static str],
    step: fn(&mut Cx, &Direction, Val, &State) -> Result<State>,
}

const LSTM: Cell = Cell { is_quantized: false, gates: 4, activations: &["Sigmoid", "Tanh", "Tanh"], step: lstm_step };
const QUANTIZED_LSTM: Cell = Cell { is_quantized: true, ..LSTM };
const GRU: Cell = Cell { is_quantized: false, gates: 3, activations: &["Sigmoid", "Tanh"], step: gru_step };
const RNN: Cell = Cell { is_quantized: false, gates: 1, activations: &["Tanh"], step: rnn_step };

#[derive(Clone, Copy)]
struct State {
    h: Val,
    /// The cell state of an LSTM.
    c: Option<Val>,
}

/// Weights of a direction, for its inputs or its state.
#[derive(Clone, Copy)]
enum Weights {
    /// `(gates * hidden, inputs)`.
    Floats(Val),
    /// `(inputs, gates * hidden)`. What they are multiplied with is quantized by its own range, of all inputs or of the whole batch of
    /// states; with several threads, ONNX Runtime takes the states of a large batch in parts.
    Integers { values: Val, scale: Val, zero_point: Val },
}

impl Weights {
    /// Those of a direction: inputs for the values and, of quantized ones, for their scale and their zero point.
    fn of(cx: &mut Cx, cell: &Cell, [values, scale, zero_point]: [usize; 3], direction: usize) -> Result<Weights> {
        let mut of = |index| part(cx, cx.input(index)?, direction);
        let values = of(values)?;
        Ok(match cell.is_quantized {
            false => Weights::Floats(values),
            true => Weights::Integers { values, scale: of(scale)?, zero_point: of(zero_point)? },
        })
    }

    /// The product of inputs or a state with them.
    fn product(self, cx: &mut Cx, x: Val, rows: i64) -> Result {
        match self {
            Weights::Floats(weights) => cx.call("nn.dense", &[x, weights], &[("units", AttrValue::int(rows))]),
            Weights::Integers { values, scale, zero_point } => {
                let [x, x_scale, x_zero] = dynamic_quantized(cx, x)?;
                let sums = integer_product(cx, (x, Some(x_zero)), (values, Some(zero_point)))?;
                product_as_floats(cx, sums, x_scale, scale, None)
            }
        }
    }

    /// Themselves, each a variable.
    fn bound(self, cx: &mut Cx) -> Weights {
        match self {
            Weights::Floats(weights) => Weights::Floats(cx.bound("recurrence", weights)),
            Weights::Integers { values, scale, zero_point } => Weights::Integers {
                values: cx.bound("recurrence", values),
                scale: cx.bound("scale", scale),
                zero_point: cx.bound("zero_point", zero_point),
            },
        }
    }
}

/// One direction: its weights and functions.
struct Direction {
    hidden: i64,
    recurrence: Weights,
    /// The bias added to the product with `recurrence`, if any.
    bias: Option<Val>,
    /// LSTM only: the peephole weights of the gates i, o and f.
    peepholes: Option<[Val; 3]>,
    functions: Vec<Function>,
    clip: Option<f64>,
    linear_before_reset: bool,
    /// LSTM only: whether the forget gate is one minus the input gate.
    input_forget: bool,
}

struct Function {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

/// The properties that all directions share.
struct Shared {
    /// A number, or what only a run knows.
    steps: Dim,
    batch: Dim,
    dtype: DType,
    /// `(batch, 1)`, int32.
    lengths: Option<Val>,
}

fn recurrent(cx: &mut Cx, cell: &Cell) -> Results {
    // The weights have it in their shape.
    cx.ignore("hidden_size");
    let batch_first = cx.flag("layout", false)?;
    let mut x = cx.input(0)?;
    if batch_first {
        x = cx.transpose(x, &[1, 0, 2])?;
    }
    let shape = cx.shape(x)?;
    let &[steps, batch, _] = &shape[..] else { return Err(refuse("an operand that has not three axes")) };
    let hidden = cx.size(cx.input(2)?, if cell.is_quantized { 1 } else { 2 })?;
    let lengths = match cx.opt(4) {
        Some(lengths) => {
            let lengths = cx.cast(lengths, DType::I32)?;
            Some(cx.expand_dims(lengths, 1, 1)?)
        }
        None => None,
    };
    let shared = Shared { steps, batch, dtype: cx.dtype(x)?, lengths };
    let directions: &[bool] = match &*cx.text("direction", "forward")? {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(refuse(format!("the direction `{other}`"))),
    };
    // W, R, B and P have a part for each direction.
    for index in [1, 2, 3, 7] {
        if let Some(weights) = cx.opt(index)
            && cx.dim(weights, 0)? != signed(directions.len())
        {
            return Err(Refusal::wrong(format!("input {index} has not a part for each of {} directions", directions.len())));
        }
    }
    let mut results = vec![];
    for (i, &reverse) in directions.iter().enumerate() {
        results.push(direction(cx, cell, &shared, x, hidden, i, reverse)?);
    }
    outputs(cx, cell, results, batch_first)
}

/// Converts a number of steps or directions, which are few.
fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Maximum number of steps that are written out; each is several calls, so longer programs are impractical.
const MAX_STEPS: i64 = 4096;

/// Converts one direction: the states of all steps `(steps, batch, hidden)`, and the last.
fn direction(cx: &mut Cx, cell: &Cell, shared: &Shared, x: Val, hidden: i64, i: usize, reverse: bool) -> Result<(Val, State)> {
    let x = if reverse { reversed(cx, shared, x)? } else { x };
    let (weights, recurrence) = (Weights::of(cx, cell, [1, 8, 9], i)?, Weights::of(cx, cell, [2, 10, 11], i)?);
    let mut inputs = weights.product(cx, x, cell.gates.saturating_mul(hidden))?;
    let mut direction = Direction {
        hidden,
        recurrence,
        bias: None,
        peepholes: None,
        functions: functions(cx, cell, i)?,
        clip: cx.opt_float("clip")?,
        linear_before_reset: cx.flag("linear_before_reset", false)?,
        input_forget: cx.flag("input_forget", false)?,
    };
    if let Some(bias) = cx.opt(3) {
        let bias = part(cx, bias, i)?;
        let halves = cx.split(bias, 2, 0)?;
        inputs = cx.binary("add", inputs, halves[0])?;
        direction.bias = Some(halves[1]);
    }
    if let (Some(peepholes), 4) = (cx.opt(7), cell.gates) {
        let all = part(cx, peepholes, i)?;
        let parts = cx.split(all, 3, 0)?;
        direction.peepholes = Some([parts[0], parts[1], parts[2]]);
    }
    let start = |cx: &mut Cx, index: usize| match cx.opt(index) {
        Some(initial) => {
            let initial = if cx.flag("layout", false)? { cx.transpose(initial, &[1, 0, 2])? } else { initial };
            part(cx, initial, i)
        }
        None => {
            let shape = dims_attr(&[shared.batch, Dim::known(hidden)]);
            cx.call("zeros", &[], &[("shape", shape), ("dtype", AttrValue::DType(Some(shared.dtype)))])
        }
    };
    let mut state = State { h: start(cx, 5)?, c: None };
    if cell.gates == 4 {
        state.c = Some(start(cx, 6)?);
    }
    let written_out = shared.steps.value().filter(|&steps| steps <= MAX_STEPS);
    let states = match written_out {
        Some(steps) => {
            let mut all = vec![];
            for step in 0..steps {
                let at = cx.constant(Tensor::scalar(step));
                let (next, shown) = one_step(cx, cell, shared, &direction, inputs, at, &state)?;
                state = next;
                all.push(shown);
            }
            cx.stack(&all, 0)?
        }
        None => {
            let (last, states) = looped(cx, cell, shared, direction, inputs, &state)?;
            state = last;
            states
        }
    };
    let states = if reverse { reversed(cx, shared, states)? } else { states };
    Ok((states, state))
}

/// One step, at a position that is an int64.
fn one_step(
    cx: &mut Cx,
    cell: &Cell,
    shared: &Shared,
    of: &Direction,
    inputs: Val,
    at: Val,
    state: &State,
) -> Result<(State, Val)> {
    let input = cx.call("take", &[inputs, at], &[("axis", AttrValue::int(0)), ("mode", AttrValue::str("fast"))])?;
    let next = (cell.step)(cx, of, input, state)?;
    ended(cx, shared, at, next, state)
}

/// The last state, and the states of all steps, of as many as a run finds.
fn looped(cx: &mut Cx, cell: &Cell, shared: &Shared, of: Direction, inputs: Val, state: &State) -> Result<(State, Val)> {
    let shape = cx.shape_of(inputs)?;
    let steps = cx.at(shape, 0, 0)?;
    let inputs = cx.bound("inputs", inputs);
    let lengths = shared.lengths.map(|lengths| cx.bound("lengths", lengths));
    let of = Direction {
        recurrence: of.recurrence.bound(cx),
        bias: of.bias.map(|bias| cx.bound("bias", bias)),
        peepholes: of.peepholes.map(|all| all.map(|peephole| cx.bound("peephole", peephole))),
        ..of
    };
    let shared = Shared { lengths, ..*shared };
    let init: Vec<Val> = std::iter::once(state.h).chain(state.c).collect();
    let of_values = |values: &[Val]| State { h: values[0], c: values.get(1).copied() };
    let dims = [shared.batch, Dim::known(of.hidden)];
    let (last, states) = cx.turns(steps, &init, (&dims, shared.dtype), |cx, at, values| {
        let (next, shown) = one_step(cx, cell, &shared, &of, inputs, at, &of_values(values))?;
        Ok((std::iter::once(next.h).chain(next.c).collect(), shown))
    })?;
    // There are as many states as inputs.
    let states = if shared.steps.is_sized() { cx.reshape_to_dims(states, &[shared.steps, dims[0], dims[1]])? } else { states };
    Ok((of_values(&last), states))
}

/// The part of a tensor that belongs to one direction.
fn part(cx: &mut Cx, value: Val, direction: usize) -> Result {
    if cx.dim(value, 0)? == 1 {
        return cx.call("squeeze", &[value], &[("axis", ints(&[0]))]);
    }
    cx.at(value, signed(direction), 0)
}

/// Reverses each sequence within its own length.
fn reversed(cx: &mut Cx, shared: &Shared, x: Val) -> Result {
    match shared.lengths {
        None => cx.call("reverse", &[x], &[("axis", AttrValue::int(0))]),
        Some(lengths) => {
            let lengths = cx.squeeze(lengths, &[1])?;
            cx.call("reverse_sequence", &[x, lengths], &[("seq_axis", AttrValue::int(0)), ("batch_axis", AttrValue::int(1))])
        }
    }
}

/// The state after a step, and its output: ended sequences keep the previous state, and give 0.
fn ended(cx: &mut Cx, shared: &Shared, at: Val, next: State, before: &State) -> Result<(State, Val)> {
    let Some(lengths) = shared.lengths else { return Ok((next, next.h)) };
    let at = cx.cast(at, DType::I32)?;
    let goes_on = cx.binary("less", at, lengths)?;
    let zero = cx.like(next.h, 0.0)?;
    let shown = cx.select(goes_on, next.h, zero)?;
    let h = cx.select(goes_on, next.h, before.h)?;
    let c = match (next.c, before.c) {
        (Some(new), Some(old)) => Some(cx.select(goes_on, new, old)?),
        _ => None,
    };
    Ok((State { h, c }, shown))
}

/// `Y` is `(steps, directions, batch, hidden)`, the others `(directions, batch, hidden)`; with `layout` 1 the batch is first.
fn outputs(cx: &mut Cx, cell: &Cell, results: Vec<(Val, State)>, batch_first: bool) -> Results {
    let all: Vec<Val> = results.iter().map(|(all, _)| *all).collect();
    let last: Vec<Val> = results.iter().map(|(_, state)| state.h).collect();
    let cells: Vec<Val> = results.iter().filter_map(|(_, state)| state.c).collect();
    let (mut y, mut y_h) = (cx.stack(&all, 1)?, cx.stack(&last, 0)?);
    let mut y_c = if cell.gates == 4 { Some(cx.stack(&cells, 0)?) } else { None };
    if batch_first {
        y = cx.transpose(y, &[2, 0, 1, 3])?;
        y_h = cx.transpose(y_h, &[1, 0, 2])?;
        if let Some(c) = y_c {
            y_c = Some(cx.transpose(c, &[1, 0, 2])?);
        }
    }
    Ok([Some(y), Some(y_h), y_c].into_iter().flatten().collect())
}

// ---- Functions ----

/// The functions of a direction, with their parameters, which are listed in the order of the functions that take one.
fn functions(cx: &mut Cx, cell: &Cell, direction: usize) -> Result<Vec<Function>> {
    let n = cell.activations.len();
    let names = cx.texts("activations")?.unwrap_or_default();
    let all: Vec<String> = if names.is_empty() {
        cell.activations.iter().chain(cell.activations).map(|name| (*name).to_owned()).collect()
    } else {
        names
    };
    let (mut alphas, mut betas) = (
        cx.floats("activation_alpha")?.unwrap_or_default().into_iter(),
        cx.floats("activation_beta")?.unwrap_or_default().into_iter(),
    );
    let mut found = vec![];
    for name in all {
        let lower = name.to_ascii_lowercase();
        let takes_alpha = ["leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu", "affine"].contains(&&*lower);
        let takes_beta = ["scaledtanh", "hardsigmoid", "affine"].contains(&&*lower);
        let alpha = if takes_alpha { alphas.next() } else { None };
        let beta = if takes_beta { betas.next() } else { None };
        found.push(Function { name: lower, alpha, beta });
    }
    let of_direction: Vec<Function> = found.into_iter().skip(n.saturating_mul(direction)).take(n).collect();
    if of_direction.len() < n {
        return Err(refuse("fewer functions than directions need"));
    }
    Ok(of_direction)
}

impl Direction {
    /// Clips a gate's value and applies its function.
    fn apply(&self, cx: &mut Cx, i: usize, x: Val) -> Result {
        let x = match self.clip {
            Some(limit) => cx.call("clip", &[x], &[("a_min", AttrValue::float(-limit)), ("a_max", AttrValue::float(limit))])?,
            None => x,
        };
        self.function(cx, i, x)
    }

    fn function(&self, cx: &mut Cx, i: usize, x: Val) -> Result {
        let function = &self.functions[i];
        let (alpha, beta) = (function.alpha, function.beta);
        match &*function.name {
            "sigmoid" => cx.unary("sigmoid", x),
            "tanh" => cx.unary("tanh", x),
            "relu" => cx.unary("nn.relu", x),
            "leakyrelu" => cx.call("nn.leaky_relu", &[x], &[("alpha", AttrValue::float(alpha.unwrap_or(0.01)))]),
            "hardsigmoid" => cx.b.formula(x, curves::hard_sigmoid(x, alpha.unwrap_or(0.2), beta.unwrap_or(0.5))),
            "elu" => cx.b.formula(x, curves::elu(x, alpha.unwrap_or(1.0))),
            "softsign" => cx.b.formula(x, curves::softsign(x)),
            "softplus" => cx.b.formula(x, curves::softplus(x)),
            "thresholdedrelu" => cx.b.formula(x, curves::thresholded_relu(x, alpha.unwrap_or(1.0))),
            "affine" => cx.b.formula(x, x * alpha.unwrap_or(1.0) + beta.unwrap_or(0.0)),
            "scaledtanh" => cx.b.formula(x, call("tanh", x * beta.unwrap_or(1.0)) * alpha.unwrap_or(1.0)),
            other => Err(refuse(format!("the function `{other}`"))),
        }
    }

    /// The product of a state with the recurrence weights, plus their bias, for so many gates.
    fn recur(&self, cx: &mut Cx, h: Val, gates: i64) -> Result {
        let product = self.recurrence.product(cx, h, gates.saturating_mul(self.hidden))?;
        biased(cx, product, self.bias)
    }

    /// Adds the cell's contribution to a gate.
    fn peep(&self, cx: &mut Cx, gate: Val, i: usize, c: Val) -> Result {
        let Some(peepholes) = self.peepholes else { return Ok(gate) };
        cx.b.formula(c, gate + c * peepholes[i])
    }
}

fn biased(cx: &mut Cx, product: Val, bias: Option<Val>) -> Result {
    match bias {
        Some(bias) => cx.binary("add", product, bias),
        None => Ok(product),
    }
}

// ---- Steps ----

fn rnn_step(cx: &mut Cx, of: &Direction, input: Val, state: &State) -> Result<State> {
    let recurred = of.recur(cx, state.h, 1)?;
    let sum = cx.binary("add", input, recurred)?;
    Ok(State { h: of.apply(cx, 0, sum)?, c: None })
}

/// An LSTM step, with gates in the order i, o, f, c.
fn lstm_step(cx: &mut Cx, of: &Direction, input: Val, state: &State) -> Result<State> {
    let before = state.c.ok_or_else(|| refuse("a cell that is not there"))?;
    let recurred = of.recur(cx, state.h, 4)?;
    let sum = cx.binary("add", input, recurred)?;
    let gates = cx.split(sum, 4, -1)?;
    let i = of.peep(cx, gates[0], 0, before)?;
    let i = of.apply(cx, 0, i)?;
    let f = if of.input_forget {
        cx.b.formula(i, 1.0 - i)?
    } else {
        let f = of.peep(cx, gates[2], 2, before)?;
        of.apply(cx, 0, f)?
    };
    let new = of.apply(cx, 1, gates[3])?;
    let c = cx.b.formula(i, f * before + i * new)?;
    let o = of.peep(cx, gates[1], 1, c)?;
    let o = of.apply(cx, 0, o)?;
    let seen = of.function(cx, 2, c)?;
    Ok(State { h: cx.binary("multiply", o, seen)?, c: Some(c) })
}

/// A GRU step, with gates in the order z, r, h.
fn gru_step(cx: &mut Cx, of: &Direction, input: Val, state: &State) -> Result<State> {
    let h = state.h;
    let inputs = cx.split(input, 3, -1)?;
    let (z_in, r_in, h_in) = (inputs[0], inputs[1], inputs[2]);
    let (z, r, candidate);
    if of.linear_before_reset {
        let recurred = of.recur(cx, h, 3)?;
        let recurred = cx.split(recurred, 3, -1)?;
        z = gate(cx, of, z_in, recurred[0])?;
        r = gate(cx, of, r_in, recurred[1])?;
        candidate = cx.b.formula(r, h_in + r * recurred[2])?;
    } else {
        let Weights::Floats(recurrence) = of.recurrence else { return Err(refuse("integers as weights of a GRU")) };
        let weights = cx.split(recurrence, 3, 0)?;
        let biases = match of.bias {
            Some(bias) => cx.split(bias, 3, 0)?.into_iter().map(Some).collect(),
            None => vec![None; 3],
        };
        let recur = |cx: &mut Cx, h: Val, at: usize| {
            let product = Weights::Floats(weights[at]).product(cx, h, of.hidden)?;
            biased(cx, product, biases[at])
        };
        let z_rec = recur(cx, h, 0)?;
        z = gate(cx, of, z_in, z_rec)?;
        let r_rec = recur(cx, h, 1)?;
        r = gate(cx, of, r_in, r_rec)?;
        let reset = cx.binary("multiply", r, h)?;
        let recurred = recur(cx, reset, 2)?;
        candidate = cx.binary("add", h_in, recurred)?;
    }
    let candidate = of.apply(cx, 1, candidate)?;
    Ok(State { h: cx.b.formula(z, (1.0 - z) * candidate + z * h)?, c: None })
}

fn gate(cx: &mut Cx, of: &Direction, input: Val, recurred: Val) -> Result {
    let sum = cx.binary("add", input, recurred)?;
    of.apply(cx, 0, sum)
}

pub(crate) const FAMILY: &[Converter] = &[
    op("LSTM", &[7, 14, 22], |cx| recurrent(cx, &LSTM)),
    op("GRU", &[7, 14, 22], |cx| recurrent(cx, &GRU)),
    op("RNN", &[7, 14, 22], |cx| recurrent(cx, &RNN)),
    op("com.microsoft.DynamicQuantizeLSTM", &[1], |cx| recurrent(cx, &QUANTIZED_LSTM)),
];
