//! Imports MXNet: a saved network, `…-symbol.json` with its `.params`, becomes a Relay program and its weights.
//!
//! `symbol.rs` reads the network, and `relayc_weights::mxnet` the arrays. `cx.rs` is the context of a node's converter; `ops/`
//! holds the converters. The builder of the ONNX import makes the program, so each call has its type at once. Labels and other
//! inputs of training are dropped. Everything that cannot be imported is reported at once. Absent: opening files, inference of
//! the whole, and printing.

mod cx;
mod ops;
pub mod symbol;

use super::onnx::import::build::{Builder, Val};
use super::onnx::import::errors::{self, Refusal, Unsupported, shown};
use super::onnx::import::names::Names;
use super::onnx::import::{Imported, Shapes, Text};
use cx::Cx;
use ops::Convert;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{join_words, nearest};
use relayc_base::{FileId, Span};
use relayc_ir::VarId;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, MAX_RANK, checked_elements};
use relayc_weights::Named;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use symbol::{Node, Ref, Symbol};

/// A request to import.
pub struct Import<'a> {
    /// Name of the file, for messages.
    pub name: &'a str,
    /// The file number of its listing.
    pub file: FileId,
    /// Shapes of inputs, by name.
    pub shapes: &'a Shapes,
    pub weights: Named,
    /// Whether weights become parameters; otherwise they are constants of the program.
    pub as_params: bool,
}

/// Operators whose operands after the first are labels.
const WITH_LABELS: &[&str] =
    &["SoftmaxOutput", "Softmax", "LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput"];

/// Maximum number of reported nodes that break rules.
const MAX_WRONG: usize = 20;

/// Imports a network. Also returns the text into which places of messages and expressions point, one node a line.
///
/// Errors: E0703 for an unsound network, E0715 for all nodes that cannot be imported, E0716 for nodes that break a rule, E0728
/// for inputs without a shape, E0705 and E0706 for shapes that do not fit.
pub fn import(bytes: &[u8], request: Import) -> (Text, Result<Imported, Vec<Diagnostic>>) {
    let symbol = match symbol::read(request.name, bytes) {
        Ok(symbol) => symbol,
        Err(error) => return (Text::new(String::new(), vec![]), Err(vec![error])),
    };
    let (text, spans) = listing(&symbol, request.file);
    let walk = Walk::new(&symbol, &spans, &request);
    let result = walk.run(request.weights, request.shapes);
    (text, result)
}

/// The nodes as a text, and the place of each.
fn listing(symbol: &Symbol, file: FileId) -> (Text, Vec<Span>) {
    /// Maximum length of a text with places, because spans have 32 bits.
    const MAX_TEXT: usize = 1 << 30;
    let (mut text, mut starts, mut spans) = (String::new(), vec![], vec![]);
    for node in &symbol.nodes {
        let start = text.len();
        let (Ok(at), true) = (u32::try_from(start), start < MAX_TEXT) else {
            spans.push(Span::NONE);
            continue;
        };
        text.push_str(&line(symbol, node));
        spans.push(Span::new(file, start, text.len()));
        text.push('\n');
        starts.push((at, Arc::from(node.name.as_str())));
    }
    (Text::new(text, starts), spans)
}

/// `conv0 = Convolution(data, conv0_weight, kernel="(3, 3)")`.
fn line(symbol: &Symbol, node: &Node) -> String {
    let Some(op) = &node.op else { return format!("input {}", shown(&node.name)) };
    let operand = |at: &Ref| {
        let name = symbol.nodes.get(at.node).map_or_else(String::new, |node| shown(&node.name));
        if at.index == 0 { name } else { format!("{name}[{}]", at.index) }
    };
    let attr = |(key, value): (&String, &String)| format!("{}={:?}", shown(key), shown(value));
    let parts: Vec<String> = node.inputs.iter().map(operand).chain(node.attrs.iter().map(attr)).collect();
    format!("{} = {}({})", shown(&node.name), shown(op), parts.join(", "))
}

/// The operands that a node's result depends on.
fn operands(node: &Node) -> &[Ref] {
    let labelled = node.op.as_deref().is_some_and(|op| WITH_LABELS.contains(&op));
    if labelled { node.inputs.get(..1).unwrap_or(&[]) } else { &node.inputs }
}

/// A parameter of the program.
struct Param {
    var: VarId,
    val: Val,
    /// Its name in the network.
    name: String,
    weight: Option<Tensor>,
}

/// The parameters so far.
struct Params {
    names: Names,
    /// The weights that are not used yet.
    weights: FxHashMap<String, Tensor>,
    as_params: bool,
    made: Vec<Param>,
    /// The values of weights by name.
    known: FxHashMap<String, Val>,
}

impl Params {
    /// The weight of a name, if it exists.
    fn weight(&mut self, b: &mut Builder, name: &str) -> Option<Val> {
        if let Some(&known) = self.known.get(name) {
            return Some(known);
        }
        let tensor = self.weights.remove(name)?;
        let val = if self.as_params { self.weight_param(b, name, tensor) } else { b.constant(tensor) };
        self.known.insert(name.to_owned(), val);
        Some(val)
    }

    fn weight_param(&mut self, b: &mut Builder, name: &str, tensor: Tensor) -> Val {
        let dims: Vec<Dim> = tensor.shape().iter().map(|&dim| Dim::known(i64::try_from(dim).unwrap_or(i64::MAX))).collect();
        self.param(b, name, &dims, tensor.dtype(), Some(tensor))
    }

    fn param(&mut self, b: &mut Builder, name: &str, dims: &[Dim], dtype: DType, weight: Option<Tensor>) -> Val {
        let ty = b.module.types.tensor(dims, dtype);
        let own = self.names.free(name);
        let (var, val) = b.var(&own, ty);
        if own != name {
            b.place(var);
        }
        self.made.push(Param { var, val, name: name.to_owned(), weight });
        val
    }
}

/// A network under conversion.
struct Walk<'a> {
    symbol: &'a Symbol,
    spans: &'a [Span],
    name: &'a str,
    b: Builder,
    params: Params,
    /// The results that are used.
    wanted: FxHashSet<Ref>,
    /// The results of each node, `None` for unused ones; empty for a node that was refused or is not needed.
    results: Vec<Vec<Option<Val>>>,
    /// Number of results so far of nodes with several results.
    n_results: usize,
    unsupported: Unsupported,
    wrong: Vec<Diagnostic>,
    /// Inputs without a known shape.
    shapeless: Vec<(String, Span)>,
}

impl<'a> Walk<'a> {
    fn new(symbol: &'a Symbol, spans: &'a [Span], request: &Import<'a>) -> Walk<'a> {
        Walk {
            symbol,
            spans,
            name: request.name,
            b: Builder::new(),
            params: Params {
                names: Names::default(),
                weights: FxHashMap::default(),
                as_params: request.as_params,
                made: vec![],
                known: FxHashMap::default(),
            },
            wanted: FxHashSet::default(),
            results: vec![vec![]; symbol.nodes.len()],
            n_results: 0,
            unsupported: Unsupported::default(),
            wrong: vec![],
            shapeless: vec![],
        }
    }

    fn run(mut self, weights: Named, shapes: &Shapes) -> Result<Imported, Vec<Diagnostic>> {
        let names: Vec<String> = weights.iter().map(|(name, _)| name.clone()).collect();
        self.params.weights = weights.into_iter().collect();
        self.wrong = self.strange_shapes(shapes);
        let needed = needed(self.symbol);
        let is_needed = |number: &usize| needed.get(*number).copied().unwrap_or(false);
        let nodes = || self.symbol.nodes.iter().enumerate().filter(|(number, _)| is_needed(number));
        self.wanted = nodes().flat_map(|(_, node)| operands(node)).chain(&self.symbol.heads).copied().collect();
        for (number, node) in self.symbol.nodes.iter().enumerate() {
            if is_needed(&number) {
                self.b.span = self.spans.get(number).copied().unwrap_or(Span::NONE);
                let results = match &node.op {
                    None => self.input(node, shapes).map(Some).into_iter().collect(),
                    Some(op) => self.convert(number, node, op),
                };
                if let Some(slot) = self.results.get_mut(number) {
                    *slot = results;
                }
            }
        }
        let heads: Vec<Option<Val>> = self.symbol.heads.iter().map(|&head| self.result(head)).collect();
        if !self.unsupported.is_empty() {
            let n_nodes = self.symbol.nodes.iter().filter(|node| node.op.is_some()).count();
            self.wrong.insert(0, errors::unsupported(self.name, &self.unsupported, n_nodes));
        }
        if !self.shapeless.is_empty() {
            self.wrong.insert(0, shapeless(self.name, &self.shapeless, &names));
        }
        match heads.into_iter().collect::<Option<Vec<Val>>>() {
            Some(heads) if self.wrong.is_empty() => Ok(self.finish(&heads)),
            _ if self.wrong.is_empty() => {
                Err(vec![errors::structure(self.name, "a head is a result that its node does not have")])
            }
            _ => Err(self.wrong),
        }
    }

    /// Diagnostics for shapes of names that are not inputs, or that are weights of another shape.
    fn strange_shapes(&self, shapes: &Shapes) -> Vec<Diagnostic> {
        let inputs = || self.symbol.nodes.iter().filter(|node| node.op.is_none()).map(|node| node.name.as_str());
        let mut wrong = vec![];
        for (name, dims) in shapes {
            if !inputs().any(|input| input == name) {
                wrong.push(errors::no_input("--shape", name, inputs().filter(|input| !self.params.weights.contains_key(*input))));
            } else if let Some(weight) = self.params.weights.get(name) {
                let dims: Vec<String> = dims.iter().map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string())).collect();
                wrong.push(errors::other_shape(name, &dims.join(","), &format!("it is a weight, {}", weight.type_text())));
            }
        }
        wrong
    }

    fn result(&self, at: Ref) -> Option<Val> {
        self.results.get(at.node)?.get(at.index).copied()?
    }

    fn input(&mut self, node: &Node, shapes: &Shapes) -> Option<Val> {
        if let Some(weight) = self.params.weight(&mut self.b, &node.name) {
            return Some(weight);
        }
        let given = shapes.iter().find(|(name, _)| *name == node.name).map(|(_, dims)| dims.clone());
        let Some(dims) = given.or_else(|| declared(node)) else {
            self.shapeless.push((node.name.clone(), self.b.span));
            return None;
        };
        let dims: Vec<Dim> = dims.into_iter().map(|dim| dim.map_or(Dim::Any, Dim::known)).collect();
        let number = node.attrs.get("__dtype__").and_then(|number| number.parse().ok());
        let dtype = number.and_then(relayc_weights::mxnet::dtype).unwrap_or(DType::F32);
        Some(self.params.param(&mut self.b, &node.name, &dims, dtype, None))
    }

    fn convert(&mut self, number: usize, node: &Node, op: &str) -> Vec<Option<Val>> {
        let span = self.b.span;
        let Some(convert) = ops::find(op) else {
            let reason = match nearest(op, ops::names()) {
                Some(near) => format!("relayc does not know it; there is `{near}`"),
                None => "relayc does not know it".to_owned(),
            };
            self.unsupported.entry((shown(op), reason)).or_default().push((node.name.clone(), span));
            return vec![];
        };
        let inputs: Option<Vec<Val>> = operands(node).iter().map(|&at| self.result(at)).collect();
        // What depends on what was refused is silent; a result that its node does not have is said.
        let Some(inputs) = inputs else {
            let refused = |at: &Ref| self.results.get(at.node).is_none_or(Vec::is_empty);
            if !operands(node).iter().any(refused) {
                self.refuse(node, op, Refusal::wrong("an operand is a result that its node does not have"));
            }
            return vec![];
        };
        let Walk { b, params, wanted, n_results, .. } = self;
        let mut hidden = |b: &mut Builder, part: &str| params.weight(b, &format!("{}_{part}", node.name));
        let wanted = |index: usize| wanted.contains(&Ref { node: number, index });
        let mut cx = Cx { b, node, inputs, hidden: &mut hidden, wanted: &wanted, n_results, read: FxHashSet::default() };
        let results = match convert {
            Convert::One(convert) => convert(&mut cx).map(|result| vec![Some(result)]),
            Convert::Many(convert) => convert(&mut cx),
        };
        match results.and_then(|results| cx.all_read().map(|()| results)) {
            Ok(results) => results,
            Err(refusal) => {
                self.refuse(node, op, refusal);
                vec![]
            }
        }
    }

    fn refuse(&mut self, node: &Node, op: &str, refusal: Refusal) {
        let span = self.b.span;
        match refusal {
            Refusal::Unsupported(reason) => {
                self.unsupported.entry((shown(op), reason)).or_default().push((node.name.clone(), span));
            }
            Refusal::Wrong(found) if self.wrong.len() < MAX_WRONG => {
                self.wrong.push(errors::wrong(self.name, op, &node.name, span, *found));
            }
            Refusal::Wrong(_) => {}
        }
    }

    /// Builds `@main` around the results; inputs that they do not depend on are not parameters.
    fn finish(mut self, heads: &[Val]) -> Imported {
        self.b.span = Span::NONE;
        let body = self.b.together(heads);
        let used: FxHashSet<relayc_ir::ExprId> = self.b.module.post_order(&[body.0]).into_iter().collect();
        let made: Vec<Param> = self.params.made.into_iter().filter(|param| used.contains(&param.val.0)).collect();
        // Inputs first.
        let (weights, inputs): (Vec<Param>, Vec<Param>) = made.into_iter().partition(|param| param.weight.is_some());
        let params: Vec<VarId> = inputs.iter().chain(&weights).map(|param| param.var).collect();
        let own = |param: &Param| self.b.module.vars.get(param.var).map_or_else(String::new, |var| var.name.to_string());
        let inputs = inputs.iter().map(|param| (own(param), param.name.clone())).collect();
        let named = weights.iter().map(own).collect::<Vec<String>>();
        let weights: Named = named.into_iter().zip(weights.into_iter().filter_map(|param| param.weight)).collect();
        let outputs = self.symbol.heads.iter().filter_map(|head| self.symbol.nodes.get(head.node));
        let outputs = outputs.map(|node| format!("{}_output", node.name)).collect();
        let module = self.b.finish(params, body);
        Imported { module, weights, inputs, outputs, united: vec![], warnings: vec![] }
    }
}

/// The nodes that the results depend on.
fn needed(symbol: &Symbol) -> Vec<bool> {
    let mut needed = vec![false; symbol.nodes.len()];
    let mut stack: Vec<usize> = symbol.heads.iter().map(|head| head.node).collect();
    while let Some(number) = stack.pop() {
        let Some(seen) = needed.get_mut(number) else { continue };
        if !std::mem::replace(seen, true) {
            stack.extend(symbol.nodes.get(number).map_or(&[][..], operands).iter().map(|at| at.node));
        }
    }
    needed
}

/// The declared shape of an input. 0 is an unknown dimension; all zeros declare nothing.
fn declared(node: &Node) -> Option<Vec<Option<i64>>> {
    let text = node.attrs.get("__shape__")?.trim();
    let inside = text.strip_prefix(['(', '['])?.strip_suffix([')', ']'])?.trim();
    let parts = inside.strip_suffix(',').unwrap_or(inside).split(',');
    let dims = parts.map(|dim| dim.trim().trim_end_matches('L').parse::<i64>().ok()).collect::<Option<Vec<i64>>>()?;
    let dims: Vec<Option<i64>> = dims.into_iter().map(|dim| (dim > 0).then_some(dim)).collect();
    let known: Vec<i64> = dims.iter().copied().flatten().collect();
    let is_tensors = dims.len() <= MAX_RANK && checked_elements(&known).is_some();
    (is_tensors && !known.is_empty()).then_some(dims)
}

/// Reports inputs without a known shape: data, or weights that no file contains.
fn shapeless(model: &str, inputs: &[(String, Span)], weights: &[String]) -> Diagnostic {
    const MAX_NAMES: usize = 8;
    let mut names: Vec<String> = inputs.iter().take(MAX_NAMES).map(|(name, _)| format!("`{}`", shown(name))).collect();
    if inputs.len() > MAX_NAMES {
        names.push(format!("{} more", inputs.len().saturating_sub(MAX_NAMES)));
    }
    let message = format!("`{model}`: no shape is known of {}", join_words(&names, "and"));
    let mut error = Diagnostic::new(codes::E0728, message);
    let mut data = None;
    for (name, _) in inputs.iter().take(MAX_NAMES) {
        match nearest(name, weights.iter().map(String::as_str)) {
            Some(near) => error = error.note(format!("among the weights is `{}`, not `{}`", shown(near), shown(name))),
            None => data = data.or(Some(name)),
        }
    }
    if let Some(name) = data {
        error = error.help(format!("`--shape {}=1,3,224,224` gives an input one", shown(name)));
    }
    match weights.is_empty() {
        true => error.help("weights come from a file: `--weights NET-0000.params`"),
        false => error,
    }
}
