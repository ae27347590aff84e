//! From graphs to expressions: names become values, nodes become calls.
//!
//! A graph is a frame on a stack, and so are the body of a function where it is called and the graph inside a node: nothing
//! recurses. What a subgraph uses of the graphs around it is bound by a `let` there, because a branch or a loop may only mention
//! variables. Nodes on which no result depends are left out. All nodes that cannot be imported are found in one walk: what
//! depends on them has no value, and its kind is looked at nonetheless.

use super::super::proto::{AttributeProto, GraphProto, NodeProto, TypeProto, ValueInfoProto};
use super::build::{Builder, Val};
use super::check::{self, FunctionKey, callee_of, domain_of, subgraphs};
use super::control::{self, After, Site};
use super::cx::{Attributes, Cx};
use super::errors::{self, Refusal, Unsupported, shown};
use super::listing::{Listing, kind_of, name_of};
use super::names::Names;
use super::ops::{self, Converter, How};
use super::plan::{Opsets, Plan, cost_of_model, cost_of_node};
use super::tensors::{Gate, dtype_of};
use super::{Import, Shapes};
use crate::base::Span;
use crate::diag::Diagnostic;
use crate::formats::onnx::proto::{FunctionProto, ModelProto};
use crate::ir::{ExprKind, VarId};
use crate::tensor::Tensor;
use crate::types::{DType, Dim, MAX_RANK, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// So much may be gone through in all, and each part of the model so often: functions and loops are gone through again and again.
const MIN_STEPS: usize = 1 << 17;
const STEPS_EACH: usize = 16;

/// More nodes that break rules than this help nobody.
const MAX_WRONG: usize = 20;

/// A list of nodes that is gone through.
pub struct Frame<'a> {
    plan: Rc<Plan<'a>>,
    next: usize,
    /// What names stand for.
    pub values: FxHashMap<&'a str, Val>,
    /// The frame whose values are seen from here.
    outer: Option<usize>,
    /// What is bound by `let`, in order.
    pub lets: Vec<(VarId, Val)>,
    opsets: Opsets,
    /// The attributes of the function that this is the body of.
    attrs: Rc<Attributes<'a>>,
    /// Whether results of nodes that cannot be imported may become inputs of the program.
    may_open: bool,
    pub after: After<'a>,
}

/// A model in the making.
pub struct Walk<'a> {
    pub b: Builder,
    pub request: &'a Import<'a>,
    pub gate: Gate<'a>,
    pub listing: Listing,
    functions: FxHashMap<FunctionKey<'a>, &'a FunctionProto>,
    /// The plans of graphs and functions, made when they are first gone through: both live as long as the model.
    pub graphs: FxHashMap<*const GraphProto, Rc<Plan<'a>>>,
    pub bodies: FxHashMap<*const FunctionProto, (Rc<Plan<'a>>, Opsets)>,
    /// Tensors of attributes, each read once.
    tensors: FxHashMap<*const AttributeProto, Val>,
    pub frames: Vec<Frame<'a>>,
    unsupported: Unsupported,
    wrong: Vec<Diagnostic>,
    /// The nodes of which it was said why they are not imported.
    said: FxHashSet<*const NodeProto>,
    pub names: Names,
    /// The parameters of the program that are inputs, and what they are called in the model.
    pub inputs: Vec<(VarId, String)>,
    /// Those of them that stand for results of nodes which cannot be imported.
    pub opened: FxHashSet<VarId>,
    /// Tensors of the file by their expressions, in their order.
    pub weights: Vec<(Val, String)>,
    /// What was gone through, and how much may be.
    n_steps: usize,
    max_steps: usize,
    /// How many nodes were met, each once.
    n_nodes: usize,
    /// Stands for what has no value, and for what is left out.
    pub poison: Val,
    pub absent: Val,
}

/// What has become of a model.
pub struct Walked<'a> {
    pub walk: Walk<'a>,
    /// The values of the outputs, with the lets of the main graph.
    pub outputs: Vec<Val>,
    pub lets: Vec<(VarId, Val)>,
    /// Nodes whose results have become inputs.
    pub left_open: Option<Diagnostic>,
}

/// Walks through a model that was checked, of a file of so many bytes. The errors come with the listing they point into.
pub fn walk<'a>(
    request: &'a Import<'a>,
    model: &'a ModelProto,
    file_size: u64,
    shapes: &Shapes,
) -> (Listing, Result<Walked<'a>, Vec<Diagnostic>>) {
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
        inputs: vec![],
        opened: FxHashSet::default(),
        weights: vec![],
        n_steps: 0,
        max_steps: MIN_STEPS.saturating_add(cost_of_model(model).saturating_mul(STEPS_EACH)),
        n_nodes: 0,
        poison,
        absent,
    };
    let result = walk.main(model, shapes);
    let listing = std::mem::replace(&mut walk.listing, Listing::new(request.file));
    match result {
        Ok((outputs, lets, left_open)) => (listing, Ok(Walked { walk, outputs, lets, left_open })),
        Err(errors) => (listing, Err(errors)),
    }
}

/// The outputs of the main graph, and the lets around them.
type Ended = (Vec<Val>, Vec<(VarId, Val)>);

type Main = (Vec<Val>, Vec<(VarId, Val)>, Option<Diagnostic>);

impl<'a> Walk<'a> {
    fn main(&mut self, model: &'a ModelProto, shapes: &Shapes) -> Result<Main, Vec<Diagnostic>> {
        let one = |error| vec![error];
        let opsets = check::opsets(self.request.name, &model.opset_import).map_err(one)?;
        let Some(graph) = &model.graph else { return Err(one(errors::structure(self.request.name, "a model without a graph"))) };
        let mut frame = self.frame(graph, None, Rc::new(opsets), Rc::default(), After::Main).map_err(one)?;
        frame.may_open = true;
        self.main_inputs(graph, shapes, &mut frame)?;
        self.frames.push(frame);
        let (outputs, lets) = self.run().map_err(one)?;
        let left_open = self.verdict(&outputs)?;
        Ok((outputs, lets, left_open))
    }

    /// What was found on the way: errors, or what is to be said of a program that has been made.
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
        errors.insert(0, if self.request.keep_going { found } else { errors::with_helps(found, &self.unsupported) });
        Err(errors)
    }

    /// Counts what is gone through. Errors: E0805 where it becomes too much.
    pub fn charge(&mut self, n: usize) -> Result<(), Diagnostic> {
        self.n_steps = self.n_steps.saturating_add(n);
        match self.n_steps > self.max_steps {
            true => Err(errors::too_many_steps(self.request.name, self.max_steps)),
            false => Ok(()),
        }
    }

    // ---- Frames ----

    /// A graph with its tensors; its inputs are left to the caller.
    pub fn frame(
        &mut self,
        graph: &'a GraphProto,
        outer: Option<usize>,
        opsets: Opsets,
        attrs: Rc<Attributes<'a>>,
        after: After<'a>,
    ) -> Result<Frame<'a>, Diagnostic> {
        let plan = self.plan(graph)?;
        self.charge(plan.entry)?;
        let values = plan.tensors.iter().copied().collect();
        Ok(Frame { plan, next: 0, values, outer, lets: vec![], opsets, attrs, may_open: false, after })
    }

    /// The inputs of the main graph that have no default become parameters.
    fn main_inputs(&mut self, graph: &'a GraphProto, shapes: &Shapes, frame: &mut Frame<'a>) -> Result<(), Vec<Diagnostic>> {
        let free = |input: &&'a ValueInfoProto| !frame.values.contains_key(input.name.as_deref().unwrap_or_default());
        let inputs: Vec<&ValueInfoProto> = graph.input.iter().filter(free).collect();
        let names = || inputs.iter().map(|input| input.name.as_deref().unwrap_or_default());
        let constants = self.request.constants;
        let said = shapes.iter().map(|(name, _)| ("--shape", name)).chain(constants.iter().map(|(name, _)| ("-i", name)));
        let mut found: Vec<Diagnostic> = said
            .filter(|(_, name)| !names().any(|input| input == *name))
            .map(|(flag, name)| errors::no_input(flag, name, names()))
            .collect();
        for input in &inputs {
            let name = input.name.as_deref().unwrap_or_default();
            let wanted = shapes.iter().find(|(wanted, _)| wanted == name).map(|(_, shape)| shape.as_slice());
            let span = self.listing.add_value("input", name);
            self.b.span = span;
            let value = match self.declared_ty(input.r#type.as_ref(), wanted) {
                Ok(ty) => match constants.iter().find(|(given, _)| given == name) {
                    Some((_, value)) => self.given(name, value, ty).unwrap_or_else(|error| {
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
                    found.push(errors::other_shape(name, &wanted, &model));
                    self.poison
                }
            };
            frame.values.insert(name, value);
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// A constant in place of an input of a type.
    fn given(&mut self, name: &str, value: &Tensor, ty: Ty) -> Result<Val, Diagnostic> {
        let fits = |(dim, &n): (&Dim, &usize)| dim.value().is_none_or(|dim| usize::try_from(dim) == Ok(n));
        match self.b.module.types.as_tensor(ty) {
            Some((dims, dtype))
                if dtype != value.dtype() || dims.len() != value.rank() || !dims.iter().zip(value.shape()).all(fits) =>
            {
                Err(errors::other_constant(name, value, dims, dtype))
            }
            _ => Ok(self.b.constant(value.clone())),
        }
    }

    /// A new parameter of the program.
    pub fn parameter(&mut self, name: &str, ty: Ty) -> Val {
        let free = self.names.free(name);
        let (var, value) = self.b.var(&free, ty);
        if free != name {
            self.b.place(var);
        }
        self.inputs.push((var, name.to_owned()));
        value
    }

    /// The type that the model declares, with the dimensions that are wanted.
    fn declared_ty(&mut self, ty: Option<&TypeProto>, wanted: Option<&[Option<i64>]>) -> Result<Ty, NoType> {
        let (dims, dtype) = declared(ty).map_err(NoType::Unsupported)?;
        let dims = match (dims, wanted) {
            (Some(dims), None) => dims,
            (None, Some(wanted)) => wanted.iter().map(|dim| dim.map_or(Dim::Any, Dim::known)).collect(),
            (None, None) => return Err(NoType::Unsupported("the model does not say its rank; `--shape` does".to_owned())),
            (Some(dims), Some(wanted)) => {
                let fits =
                    |(dim, wanted): (&Dim, &Option<i64>)| dim.value().is_none() || wanted.is_none() || dim.value() == *wanted;
                if dims.len() != wanted.len() || !dims.iter().zip(wanted).all(fits) {
                    let text = |dim: &Option<i64>| dim.map_or("?".to_owned(), |dim| dim.to_string());
                    let wanted: Vec<String> = wanted.iter().map(text).collect();
                    return Err(NoType::Contradicted { wanted: wanted.join(","), model: crate::types::shape_text(&dims) });
                }
                dims.iter().zip(wanted).map(|(&dim, wanted)| wanted.map_or(dim, Dim::known)).collect()
            }
        };
        Ok(self.b.module.types.tensor(&dims, dtype))
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
            if let After::Main = frame.after {
                return Ok((results, frame.lets));
            }
            control::finish(self, frame, results)?;
        }
    }

    /// What a name stands for in a frame. What comes from a frame around it is a variable or a constant.
    pub fn lookup(&mut self, at: usize, name: &str) -> Val {
        let mut from = Some(at);
        while let Some(frame) = from.and_then(|from| self.frames.get(from)) {
            if let Some((&key, &value)) = frame.values.get_key_value(name) {
                return if from == Some(at) { value } else { self.captured(from.unwrap_or(at), key, value) };
            }
            from = frame.outer;
        }
        self.poison
    }

    /// Binds a value of a frame to a variable, so that what is inside may mention it.
    fn captured(&mut self, owner: usize, key: &'a str, value: Val) -> Val {
        if matches!(self.b.kind(value), ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Error) {
            return value;
        }
        let (var, variable) = self.bound(key, value);
        if let Some(frame) = self.frames.get_mut(owner) {
            frame.lets.push((var, value));
            frame.values.insert(key, variable);
        }
        variable
    }

    /// A new variable that a value is bound to.
    pub fn bound(&mut self, name: &str, value: Val) -> (VarId, Val) {
        let free = self.names.free(name);
        let ty = self.b.ty(value);
        let (var, variable) = self.b.var(&free, ty);
        self.b.alias(variable, value);
        (var, variable)
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
            Ok((converter, version)) => {
                let types = &frame.plan.types;
                let shape = |output: &String| types.get(output.as_str()).and_then(|ty| static_dims(ty));
                let declared = node.output.iter().map(shape).collect();
                match converter.how {
                    How::Node(convert) => {
                        let (gate, b, tensors, read) = (self.gate, &mut self.b, &mut self.tensors, FxHashSet::default());
                        let mut cx = Cx { b, node, gate, tensors, inputs, version, declared, attrs: &attrs, read };
                        convert(&mut cx).and_then(|results| cx.all_read().map(|()| results))
                    }
                    How::Control(start) => match start(self, Site { at, node, span }, &inputs, &attrs) {
                        Ok(control::Started::Frames) => return Ok(()),
                        Ok(control::Started::Failed(error)) => return Err(error),
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

    /// The place of a node, which is listed and counted when it is met for the first time.
    fn met(&mut self, node: &'a NodeProto) -> Span {
        let (span, first) = self.listing.add(node);
        self.n_nodes = self.n_nodes.saturating_add(usize::from(first));
        span
    }

    /// Notes which nodes cannot be imported in the graphs of one that is not gone through, and in the functions that are called there.
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

    /// The needed nodes of a node's graphs, or of a function that is called for the first time, with their operator sets; the first
    /// one last.
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

    /// Notes why a node is not imported, when that is found for the first time; whether it is.
    fn note(&mut self, node: &'a NodeProto, span: Span, refusal: Refusal) -> bool {
        if !self.said.insert(node) {
            return false;
        }
        match refusal {
            Refusal::Unsupported(reason) => self.refuse(&kind_of(node), &reason, name_of(node), span),
            Refusal::Wrong(found) => {
                self.say(|model| errors::wrong(model, &kind_of(node), name_of(node), span, *found));
            }
        }
        true
    }

    /// Another error of a node.
    fn say(&mut self, error: impl FnOnce(&str) -> Diagnostic) {
        if self.wrong.len() < MAX_WRONG {
            self.wrong.push(error(self.request.name));
        }
    }

    /// Names the results of a node, or notes why it has none.
    pub fn settle(&mut self, at: usize, node: &'a NodeProto, span: Span, result: Result<Vec<Val>, Refusal>) {
        let n_wanted = node.output.iter().rposition(|output| !output.is_empty()).map_or(0, |last| last.saturating_add(1));
        let result = result.and_then(|results| match results.len() >= n_wanted {
            true => Ok(results),
            false => Err(Refusal::unsupported(format!("result {} of it", results.len()))),
        });
        match result {
            Ok(results) => self.give(at, node, &results),
            Err(refusal) => {
                let may_open = matches!(refusal, Refusal::Unsupported(_)) && self.request.keep_going;
                let first = self.note(node, span, refusal);
                match may_open && first {
                    true => self.leave_open(at, node, span),
                    false => self.give(at, node, &vec![self.poison; node.output.len()]),
                }
            }
        }
    }

    fn give(&mut self, at: usize, node: &'a NodeProto, results: &[Val]) {
        if let Some(frame) = self.frames.get_mut(at) {
            let named = node.output.iter().map(String::as_str).zip(results).filter(|(output, _)| !output.is_empty());
            frame.values.extend(named.map(|(output, &value)| (output, value)));
        }
    }

    pub fn refuse(&mut self, kind: &str, reason: &str, name: &str, span: Span) {
        let key = (shown(kind), reason.to_owned());
        self.unsupported.entry(key).or_default().push((name.to_owned(), span));
    }

    /// The results of a node that cannot be imported become inputs of the program, if their types are known.
    fn leave_open(&mut self, at: usize, node: &'a NodeProto, span: Span) {
        let mut results = vec![self.poison; node.output.len()];
        if self.frames.get(at).is_some_and(|frame| frame.may_open) {
            for (output, result) in node.output.iter().zip(&mut results).filter(|(output, _)| !output.is_empty()) {
                let ty = self.frames.get(at).and_then(|frame| frame.plan.types.get(output.as_str())).copied();
                match self.declared_ty(ty, None) {
                    Ok(ty) => {
                        *result = self.parameter(output, ty);
                        self.opened.extend(self.inputs.last().map(|(var, _)| *var));
                    }
                    _ => self.say(|model| errors::no_type(model, name_of(node), output, span)),
                }
            }
        } else {
            self.say(|model| errors::inside(model, name_of(node), span));
        }
        self.give(at, node, &results);
    }

    /// The operator sets and attributes that hold in a frame, for what is inside it.
    pub fn inherited(&self, at: usize) -> (Opsets, Rc<Attributes<'a>>) {
        self.frames.get(at).map_or_else(Default::default, |frame| (frame.opsets.clone(), frame.attrs.clone()))
    }

    /// The body of a function, with values for its inputs.
    pub fn body(
        &mut self,
        function: &'a FunctionProto,
        values: FxHashMap<&'a str, Val>,
        attrs: Attributes<'a>,
        after: After<'a>,
    ) -> Result<Frame<'a>, Diagnostic> {
        let (plan, opsets) = self.plan_of_function(function)?;
        self.charge(plan.entry)?;
        let attrs = Rc::new(attrs);
        Ok(Frame { plan, next: 0, values, outer: None, lets: vec![], opsets, attrs, may_open: false, after })
    }

    /// A new variable of a type.
    pub fn variable(&mut self, name: &str, ty: Ty) -> (VarId, Val) {
        let free = self.names.free(name);
        self.b.var(&free, ty)
    }

    /// A value that what is inside a frame may mention: bound to a variable there, unless it is one or a constant.
    pub fn mentioned(&mut self, at: usize, value: Val) -> Val {
        if matches!(self.b.kind(value), ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Error) {
            return value;
        }
        let (var, variable) = self.bound("captured", value);
        self.extend_lets(at, vec![(var, value)]);
        variable
    }

    /// Whether so little was gone through yet that loops may be written out.
    pub fn has_time(&self) -> bool {
        self.n_steps < self.max_steps / 2
    }

    pub fn extend_lets(&mut self, at: usize, lets: Vec<(VarId, Val)>) {
        if let Some(frame) = self.frames.get_mut(at) {
            frame.lets.extend(lets);
        }
    }
}

/// The attributes of a node; one that refers to a function's attribute is replaced by it, or is left out where that is.
pub fn attributes<'a>(node: &'a NodeProto, outer: &Attributes<'a>) -> Attributes<'a> {
    let value = |attr: &'a AttributeProto| -> Option<(&'a str, &'a AttributeProto)> {
        let name = attr.name.as_deref().unwrap_or_default();
        match attr.ref_attr_name.as_deref().filter(|from| !from.is_empty()) {
            Some(from) => outer.get(from).map(|&of| (name, of)),
            None => Some((name, attr)),
        }
    };
    node.attribute.iter().filter_map(value).collect()
}

/// What a node is in Relay, and the version of its operator.
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

/// Why a value of the model has no type.
enum NoType {
    /// Relay has none like it: why, in words.
    Unsupported(String),
    /// Another shape is wanted than the model says.
    Contradicted { wanted: String, model: String },
}

/// The dimensions and the dtype that a type declares; no dimensions where it does not say how many. Errors: why Relay has no
/// such type.
pub fn declared(ty: Option<&TypeProto>) -> Result<(Option<Vec<Dim>>, DType), String> {
    let Some(ty) = ty else { return Err("the model does not say its type".to_owned()) };
    let Some(tensor) = &ty.tensor_type else {
        return Err(match ty {
            TypeProto { sequence_type: Some(_), .. } => "a sequence, which Relay does not have".to_owned(),
            TypeProto { map_type: Some(_), .. } => "a map, which Relay does not have".to_owned(),
            TypeProto { optional_type: Some(_), .. } => "an optional value, which Relay does not have".to_owned(),
            TypeProto { sparse_tensor_type: Some(_), .. } => "a sparse tensor, which Relay does not have".to_owned(),
            _ => "the model does not say its type".to_owned(),
        });
    };
    let dtype = dtype_of(tensor.elem_type.unwrap_or(0))?;
    let Some(shape) = &tensor.shape else { return Ok((None, dtype)) };
    if shape.dim.len() > MAX_RANK {
        return Err(format!("a rank above {MAX_RANK}"));
    }
    let dim = |dim: &super::super::proto::DimensionProto| match dim.dim_value {
        Some(value) if value >= 0 => Dim::known(value),
        _ => Dim::Any,
    };
    Ok((Some(shape.dim.iter().map(dim).collect()), dtype))
}

/// All dimensions of a declared type, if it says them.
fn static_dims(ty: &TypeProto) -> Option<Vec<i64>> {
    let shape = ty.tensor_type.as_ref()?.shape.as_ref()?;
    shape.dim.iter().map(|dim| dim.dim_value.filter(|&value| value >= 0)).collect()
}
