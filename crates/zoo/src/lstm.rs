//! An LSTM unrolled over its steps. Each step has its own input and weights, and calls its own function literal.

use super::builder::Net;
use super::config::MAX_DIM;
use super::{Config, Flag, FlagKind, Network, Rule, ZooError};
use relayc_ir::types::{DType, Ty};
use relayc_ir::{AttrValue, ExprId, Module};

pub(crate) const NETWORK: Network = Network {
    name: "lstm",
    doc: "A long short-term memory, unrolled; each step has an input and weights of its own.",
    flags: &[
        Flag { name: "iterations", kind: FlagKind::Count(10_000), default: "10", doc: "How many steps are unrolled." },
        // The four gates are computed in one dense layer.
        Flag { name: "hidden", kind: FlagKind::Count(MAX_DIM / 4), default: "128", doc: "How many numbers the state has." },
        Flag::BATCH,
        Flag::DTYPE,
    ],
    rule: Rule::Xavier,
    build,
};

/// The types of a step.
struct Types {
    hidden: i64,
    batch: i64,
    dtype: DType,
    /// An input, an output, or one half of the state.
    input: Ty,
    /// The state: the last output and the cell.
    state: Ty,
    /// The result of a step: its output and the new state.
    step: Ty,
    weight: Ty,
    bias: Ty,
    /// All four gates.
    gates: Ty,
}

impl Types {
    fn new(net: &mut Net, config: &Config) -> Types {
        let (hidden, batch, dtype) = (config.number("hidden"), config.number("batch"), config.dtype());
        let input = net.tensor(&[batch, hidden], dtype);
        let state = net.tuple_ty(&[input, input]);
        let step = net.tuple_ty(&[input, state]);
        let weight = net.tensor(&[4 * hidden, hidden], dtype);
        let bias = net.tensor(&[4 * hidden], dtype);
        let gates = net.tensor(&[batch, 4 * hidden], dtype);
        Types { hidden, batch, dtype, input, state, step, weight, bias, gates }
    }
}

/// Let bindings under construction.
#[derive(Default)]
struct Scope(Vec<(ExprId, ExprId)>);

impl Scope {
    fn bind(&mut self, net: &mut Net, name: &str, ty: Ty, value: ExprId) -> ExprId {
        let var = net.var(name, ty);
        self.0.push((var, value));
        var
    }
}

fn build(config: &Config) -> Result<Module, ZooError> {
    let mut net = Net::new();
    let types = Types::new(&mut net, config);
    let mut scope = Scope::default();
    let attrs = [("shape", AttrValue::ints(&[types.batch, types.hidden])), ("dtype", AttrValue::DType(Some(types.dtype)))];
    let zeros = net.call("zeros", &[], &attrs);
    let zeros = scope.bind(&mut net, "zeros", types.input, zeros);
    let both = net.tuple(&[zeros, zeros]);
    let mut states = scope.bind(&mut net, "init_states", types.state, both);
    let mut out = zeros;
    for i in 0..config.number("iterations") {
        let [weight, bias] = [types.weight, types.bias];
        let inputs = net.var("data", types.input);
        let weights = [("i2h", weight, "weight"), ("i2h", bias, "bias"), ("h2h", weight, "weight"), ("h2h", bias, "bias")]
            .map(|(layer, ty, part)| net.var(&format!("{layer}_{i}_{part}"), ty));
        let cell = cell(&mut net, &types);
        let call = net.apply(cell, &[&[inputs, states][..], &weights].concat());
        let call = scope.bind(&mut net, &format!("call_{i}"), types.step, call);
        let new_out = net.proj(call, 0);
        out = scope.bind(&mut net, &format!("out_{i}"), types.input, new_out);
        let new_states = net.proj(call, 1);
        states = scope.bind(&mut net, &format!("states_{i}"), types.state, new_states);
    }
    let body = net.lets(&scope.0, out);
    net.finish_with(body, Some(types.input))
}

/// One step: computes the output and the new state from the input, the state and the weights.
fn cell(net: &mut Net, types: &Types) -> ExprId {
    let inputs = net.var("inputs", types.input);
    let states = net.var("states", types.state);
    let [i2h_weight, h2h_weight] = ["i2h_weight", "h2h_weight"].map(|name| net.var(name, types.weight));
    let [i2h_bias, h2h_bias] = ["i2h_bias", "h2h_bias"].map(|name| net.var(name, types.bias));
    let mut scope = Scope::default();

    let i2h = gates_of(net, types, inputs, i2h_weight, i2h_bias);
    let i2h = scope.bind(net, "i2h", types.gates, i2h);
    let last = net.proj(states, 0);
    let h2h = gates_of(net, types, last, h2h_weight, h2h_bias);
    let h2h = scope.bind(net, "h2h", types.gates, h2h);
    let gates = net.add(i2h, h2h);
    let gates = scope.bind(net, "gates", types.gates, gates);
    let attrs = [("indices_or_sections", AttrValue::int(4)), ("axis", AttrValue::int(1))];
    let slices = net.call("split", &[gates], &attrs);
    let slices_ty = net.tuple_ty(&[types.input; 4]);
    let slices = scope.bind(net, "slice_gates", slices_ty, slices);
    let gate_ops = [("in_gate", "sigmoid"), ("forget_gate", "sigmoid"), ("in_transform", "tanh"), ("out_gate", "sigmoid")];
    let mut index = 0;
    let [in_gate, forget_gate, in_transform, out_gate] = gate_ops.map(|(name, op)| {
        let slice = net.proj(slices, index);
        index += 1;
        let gate = net.call(op, &[slice], &[]);
        scope.bind(net, name, types.input, gate)
    });

    let cell = net.proj(states, 1);
    let kept = net.call("multiply", &[forget_gate, cell], &[]);
    let learned = net.call("multiply", &[in_gate, in_transform], &[]);
    let next_c = net.add(kept, learned);
    let next_c = scope.bind(net, "next_c", types.input, next_c);
    let squashed = net.call("tanh", &[next_c], &[]);
    let next_h = net.call("multiply", &[out_gate, squashed], &[]);
    let next_h = scope.bind(net, "next_h", types.input, next_h);
    let state = net.tuple(&[next_h, next_c]);
    let ret = net.tuple(&[next_h, state]);
    let ret = scope.bind(net, "ret", types.step, ret);
    let body = net.lets(&scope.0, ret);
    net.func(&[inputs, states, i2h_weight, i2h_bias, h2h_weight, h2h_bias], types.step, body)
}

fn gates_of(net: &mut Net, types: &Types, data: ExprId, weight: ExprId, bias: ExprId) -> ExprId {
    let dense = net.dense_by(data, weight, 4 * types.hidden);
    net.call("nn.bias_add", &[dense, bias], &[("axis", AttrValue::int(-1))])
}
