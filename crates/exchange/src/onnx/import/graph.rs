//! Converts graphs to expressions: names become values, nodes become calls.
//!
//! A graph is a frame on a stack. So are the body of a function at its call and the graph inside a node; nothing recurses.
//! Values of outer graphs that a subgraph uses are bound by a `let` there, because a branch or a loop may mention only
//! variables. Nodes without influence on results are dropped. One walk finds all nodes that cannot be imported: dependent nodes
//! have no value, but their kinds are checked nonetheless.

use super::super::proto::{GraphProto, NodeProto, ValueInfoProto};
use super::build::{Builder, Val};
use super::check::{self, callee_of, domain_of, subgraphs};
use super::control;
use super::cx::Cx;
use super::declared::static_dims;
use super::errors::{self, Refusal, Unsupported, shown};
use super::frame::{Continuation, Frame, Opsets, Site, Started};
use super::listing::Listing;
use super::names::Names;
use super::ops::{self, Conversion, Converter};
use super::plan::{cost_of_model, cost_of_node};
use super::sizes::Sizes;
use super::tensors::Gate;
use super::walk::{NoType, Walk, attributes};
use super::wanted::WantedShape;
use super::{Constant, Import};
use crate::onnx::proto::ModelProto;
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::VarId;
use relayc_ir::types::{Dim, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Limits of conversion steps: a total, and a multiple of each part's size, because functions and loops are converted
/// repeatedly.
const MIN_STEPS: usize = 1 << 17;
const STEPS_EACH: usize = 16;

/// The newest operator set whose operators are known, here or as unsupported ones.
const NEWEST: i64 = 27;

/// What has become of a model.
pub(crate) struct Walked<'a> {
    pub(crate) walk: Walk<'a>,
    /// Values of the outputs, with the bindings of the main graph.
    pub(crate) outputs: Vec<Val>,
    pub(crate) lets: Vec<(VarId, Val)>,
    /// Doubts about the operator set, and a report of nodes whose results became inputs.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Why a model was not converted.
pub(crate) struct Failed {
    pub(crate) errors: Vec<Diagnostic>,
    /// The sizes with which it may be: two names are one.
    pub(crate) again: Option<Sizes>,
}

/// Converts a checked model, from a file of `bytes` bytes. Errors come with the listing that they point into.
pub(crate) fn walk<'a>(
    request: &'a Import<'a>,
    model: &'a ModelProto,
    file_size: u64,
    sizes: Sizes,
    shapes: &[WantedShape],
) -> (Listing, Result<Walked<'a>, Failed>) {
    let mut b = Builder::new();
    b.set_file_size(file_size);
    let (poison, absent) = (b.poison(), b.poison());
    let mut walk = Walk {
        b,
        request,
        gate: Gate { model: request.name, outside: request.outside },
        listing: Listing::new(request.file),
        functions: model.functions.iter().map(|function| (check::key_of(function), function)).collect(),
        graphs: FxHashMap::default(),
        bodies: FxHashMap::default(),
        tensors: FxHashMap::default(),
        frames: vec![],
        unsupported: Unsupported::default(),
        wrong: vec![],
        said: FxHashSet::default(),
        names: Names::default(),
        sizes,
        inputs: vec![],
        opened: FxHashSet::default(),
        weights: vec![],
        n_steps: 0,
        max_steps: MIN_STEPS.saturating_add(cost_of_model(model).saturating_mul(STEPS_EACH)),
        n_nodes: 0,
        poison,
        absent,
        nibbles: FxHashSet::default(),
    };
    let result = walk.main(model, shapes);
    let listing = std::mem::replace(&mut walk.listing, Listing::new(request.file));
    match result {
        Ok((outputs, lets, warnings)) => (listing, Ok(Walked { walk, outputs, lets, warnings })),
        Err(errors) => {
            let again = walk.b.conflict.and_then(|(a, b)| walk.sizes.unite(a, b).then_some(walk.sizes));
            (listing, Err(Failed { errors, again }))
        }
    }
}

/// The outputs of the main graph, and the bindings around them.
type Ended = (Vec<Val>, Vec<(VarId, Val)>);

type Main = (Vec<Val>, Vec<(VarId, Val)>, Vec<Diagnostic>);

impl<'a> Walk<'a> {
    fn main(&mut self, model: &'a ModelProto, shapes: &[WantedShape]) -> Result<Main, Vec<Diagnostic>> {
        let one = |error| vec![error];
        let opsets = check::opsets(self.request.name, &model.opset_import).map_err(one)?;
        let newer =
            opsets.get("").filter(|&&version| version > NEWEST).map(|&version| errors::newer(self.request.name, version, NEWEST));
        let Some(graph) = &model.graph else { return Err(one(errors::structure(self.request.name, "a model without a graph"))) };
        let mut frame = self.frame(graph, None, Rc::new(opsets), Rc::default(), Continuation::Main).map_err(one)?;
        frame.may_open = true;
        self.main_inputs(graph, shapes, &mut frame)?;
        self.frames.push(frame);
        let (outputs, lets) = self.run().map_err(one)?;
        let left_open = self.verdict(&outputs)?;
        Ok((outputs, lets, newer.into_iter().chain(left_open).collect()))
    }

    /// The diagnostics of the walk: errors, or a report about a completed program.
    fn verdict(&mut self, outputs: &[Val]) -> Result<Option<Diagnostic>, Vec<Diagnostic>> {
        let mut errors = std::mem::take(&mut self.wrong);
        if self.unsupported.is_empty() {
            return if errors.is_empty() { Ok(None) } else { Err(errors) };
        }
        let found = errors::unsupported(self.request.name, &self.unsupported, self.n_nodes);
        // What depends on an input or a tensor that is not supported has no value all the same.
        if self.request.keep_going && errors.is_empty() && !outputs.contains(&self.poison) {
            return Ok(Some(errors::left_open(found)));
        }
        errors.insert(
            0,
            if self.request.keep_going { found } else { errors::with_helps(found, &self.unsupported, &self.open_shapes()) },
        );
        Err(errors)
    }

    /// The shapes of inputs with sizes that are not known: `x=N,3,H,W`.
    fn open_shapes(&self) -> Vec<String> {
        let module = &self.b.module;
        let shape = |(var, name): &(VarId, String)| {
            let (dims, _) = module.types.as_tensor(module.vars[*var].ty?)?;
            let texts = || dims.iter().map(|&dim| module.types.symbols.text_of(dim)).collect::<Vec<_>>().join(",");
            dims.iter().any(|dim| dim.value().is_none()).then(|| format!("{}={}", shown(name), texts()))
        };
        self.inputs.iter().filter_map(shape).collect()
    }

    // ---- Frames ----

    /// The inputs of the main graph that have no default become parameters.
    fn main_inputs(
        &mut self,
        graph: &'a GraphProto,
        shapes: &[WantedShape],
        frame: &mut Frame<'a>,
    ) -> Result<(), Vec<Diagnostic>> {
        let free = |input: &&'a ValueInfoProto| !frame.values.contains_key(input.name.as_deref().unwrap_or_default());
        let inputs: Vec<&ValueInfoProto> = graph.input.iter().filter(free).collect();
        let names = || inputs.iter().map(|input| input.name.as_deref().unwrap_or_default());
        let constants = self.request.constants;
        let said = shapes.iter().map(|shape| ("--shape", &shape.name)).chain(constants.iter().map(|(name, _)| ("-i", name)));
        let mut found: Vec<Diagnostic> = said
            .filter(|(_, name)| !names().any(|input| input == *name))
            .map(|(flag, name)| errors::no_input(flag, name, names()))
            .collect();
        found.extend(self.sizes.narrow(&inputs, shapes));
        self.sizes.set(self.request.sizes);
        for input in &inputs {
            let name = input.name.as_deref().unwrap_or_default();
            let wanted = shapes.iter().find(|shape| shape.name == name);
            let span = self.listing.add_value("input", name);
            self.b.span = span;
            let value = match self
                .declared_ty(input.r#type.as_ref(), wanted)
                .map(|ty| self.sizes.typed(&mut self.b, input, wanted, ty))
            {
                Ok(ty) => match constants.iter().find(|(given, _)| given == name) {
                    Some((_, make)) => self.given(name, make, ty).unwrap_or_else(|error| {
                        found.push(error);
                        self.poison
                    }),
                    None => self.parameter(name, ty),
                },
                Err(NoType::Unsupported(reason)) => {
                    self.refuse(errors::INPUT, &reason, name, span);
                    self.poison
                }
                Err(NoType::Contradicted { wanted, model }) => {
                    found.push(errors::other_rank(name, &wanted, &model));
                    self.poison
                }
            };
            frame.values.insert(name, value);
        }
        found.extend(self.sizes.unknown(&self.b, self.request.sizes));
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// A constant in place of an input of a type.
    fn given(&mut self, name: &str, make: &Constant, ty: Ty) -> Result<Val, Diagnostic> {
        let fits = |(dim, &n): (&Dim, &usize)| dim.value().is_none_or(|dim| usize::try_from(dim) == Ok(n));
        let Some((dims, dtype)) = self.b.module.types.as_tensor(ty) else { return Ok(self.poison) };
        let value = make(dims, dtype)?;
        if dtype != value.dtype() || dims.len() != value.rank() || !dims.iter().zip(value.shape()).all(fits) {
            return Err(errors::other_constant(name, &value, dims, dtype));
        }
        Ok(self.b.constant(value))
    }

    /// Goes on until the main graph has its outputs. Errors: E0805 where that takes too long, and what tensors of subgraphs have.
    fn run(&mut self) -> Result<Ended, Diagnostic> {
        loop {
            let at = self.frames.len().saturating_sub(1);
            let Some(frame) = self.frames.last_mut() else { return Ok((vec![], vec![])) };
            let plan = frame.plan.clone();
            if let Some(node) = plan.nodes.get(frame.next) {
                let needed = plan.needed.get(frame.next).copied().unwrap_or(true);
                frame.next = frame.next.saturating_add(1);
                self.charge(cost_of_node(node))?;
                if needed {
                    self.node(at, node)?;
                }
                continue;
            }
            let results: Vec<Val> = plan.outputs.iter().map(|output| self.lookup(at, output)).collect();
            let Some(frame) = self.frames.pop() else { return Ok((vec![], vec![])) };
            if let Continuation::Main = frame.after {
                return Ok((results, frame.lets));
            }
            control::finish(self, frame, results)?;
        }
    }

    // ---- Nodes ----

    fn node(&mut self, at: usize, node: &'a NodeProto) -> Result<(), Diagnostic> {
        let span = self.met(node);
        self.b.span = span;
        let absent = self.absent;
        let given = |input: &String| Some(self.lookup(at, input)).filter(|&val| !input.is_empty() && val != absent);
        let inputs: Vec<Option<Val>> = node.input.iter().map(given).collect();
        let poisoned = inputs.contains(&Some(self.poison));
        let Some(frame) = self.frames.get(at) else { return Ok(()) };
        if let Some(&function) = self.functions.get(&callee_of(node)) {
            return control::call(self, at, node, function, inputs);
        }
        let attrs = attributes(node, &frame.attrs);
        let result = match converter(node, &frame.opsets) {
            Err(refusal) => Err(refusal),
            Ok(_) if poisoned => Ok(vec![self.poison; node.output.len()]),
            Ok((converter, _)) if !takes_nibbles(converter) && inputs.iter().flatten().any(|val| self.nibbles.contains(val)) => {
                Err(Refusal::unsupported("tensors of 4-bit integers"))
            }
            Ok((converter, version)) => {
                let types = &frame.plan.types;
                let shape = |output: &String| types.get(output.as_str()).and_then(|ty| static_dims(ty));
                let declared = node.output.iter().map(shape).collect();
                match converter.how {
                    Conversion::Node(convert) => {
                        let (gate, b, tensors, names) = (self.gate, &mut self.b, &mut self.tensors, &mut self.names);
                        let (read, lets) = (FxHashSet::default(), vec![]);
                        let mut cx = Cx { b, node, gate, tensors, inputs, version, declared, attrs: &attrs, read, names, lets };
                        let results = convert(&mut cx).and_then(|results| cx.all_read().map(|()| results));
                        let lets = cx.lets;
                        self.extend_lets(at, lets);
                        results
                    }
                    Conversion::Control(start) => match start(self, Site { at, node, span }, &inputs, &attrs) {
                        Ok(Started::Frames) => return Ok(()),
                        Ok(Started::Failed(error)) => return Err(error),
                        Err(refusal) => Err(refusal),
                    },
                }
            }
        };
        let is_left_out = poisoned || result.is_err();
        self.settle(at, node, span, result);
        // What is left open needs no more of what is inside.
        if is_left_out && !self.request.keep_going { self.look_inside(at, node) } else { Ok(()) }
    }

    /// The place of a node, which is listed and counted at its first visit.
    fn met(&mut self, node: &'a NodeProto) -> Span {
        let (span, first) = self.listing.add(node);
        self.n_nodes = self.n_nodes.saturating_add(usize::from(first));
        span
    }

    /// Records unsupported nodes in the graphs of an unconverted node, and in functions called there.
    fn look_inside(&mut self, at: usize, node: &'a NodeProto) -> Result<(), Diagnostic> {
        let opsets = self.frames.get(at).map_or_else(Default::default, |frame| frame.opsets.clone());
        let mut stack = self.inside(node, &opsets)?;
        while let Some((node, opsets)) = stack.pop() {
            if self.listing.has(node) {
                continue;
            }
            let span = self.met(node);
            if !self.functions.contains_key(&callee_of(node))
                && let Err(refusal) = converter(node, &opsets)
            {
                self.note(node, span, refusal);
            }
            stack.extend(self.inside(node, &opsets)?);
        }
        Ok(())
    }

    /// The needed nodes of a node's graphs, or of a function at its first call, with their operator sets; in reverse order.
    fn inside(&mut self, node: &'a NodeProto, opsets: &Opsets) -> Result<Vec<(&'a NodeProto, Opsets)>, Diagnostic> {
        let mut plans = vec![];
        for graph in subgraphs(node) {
            plans.push((self.plan(graph)?, opsets.clone()));
        }
        if let Some(&function) = self.functions.get(&callee_of(node))
            && !self.bodies.contains_key(&std::ptr::from_ref(function))
        {
            plans.push(self.plan_of_function(function)?);
        }
        let mut found = vec![];
        for (plan, opsets) in &plans {
            let needed = plan.nodes.iter().zip(&plan.needed).filter(|(_, needed)| **needed);
            found.extend(needed.map(|(node, _)| (node, opsets.clone())));
        }
        found.reverse();
        Ok(found)
    }
}

/// The converter of a node, and its operator's version.
fn converter(node: &NodeProto, opsets: &FxHashMap<String, i64>) -> Result<(&'static Converter, i64), Refusal> {
    let domain = domain_of(&node.domain);
    let Some(&opset) = opsets.get(domain) else {
        let domain = shown(domain);
        let words = format!("the model does not say which version of the operator set `{domain}` it is of");
        return Err(Refusal::wrong(words));
    };
    let kind = node.op_type.as_deref().unwrap_or_default();
    let converter = ops::find(domain, kind).map_err(Refusal::unsupported)?;
    let version = converter.version(opset);
    let version = version.ok_or_else(|| Refusal::unsupported(format!("this operator of operator set {opset} is not known")))?;
    Ok((converter, version))
}

/// Whether a node means the same of 4-bit integers as of 8-bit ones.
fn takes_nibbles(converter: &Converter) -> bool {
    ["Cast", "DequantizeLinear", "com.microsoft.DequantizeLinear"].contains(&converter.kind)
}
