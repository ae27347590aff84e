//! A model in the making: what names stand for, what was found on the way, and how much was gone through.

use super::super::proto::{AttributeProto, GraphProto, NodeProto, TypeProto};
use super::Import;
use super::build::{Builder, Val};
use super::check::FunctionKey;
use super::cx::Attributes;
use super::declared::declared;
use super::errors::{self, Refusal, Unsupported, shown};
use super::frame::{Frame, Opsets, Plan};
use super::inferred;
use super::listing::{Listing, kind_of, name_of};
use super::names::Names;
use super::sizes::Sizes;
use super::tensors::Gate;
use super::wanted::WantedShape;
use crate::onnx::proto::FunctionProto;
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Dim, Ty};
use relayc_ir::{ExprKind, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// More nodes that break rules than this help nobody.
const MAX_WRONG: usize = 20;

/// A model in the making.
pub(crate) struct Walk<'a> {
    pub(crate) b: Builder,
    pub(crate) request: &'a Import<'a>,
    pub(crate) gate: Gate<'a>,
    pub(crate) listing: Listing,
    pub(crate) functions: FxHashMap<FunctionKey<'a>, &'a FunctionProto>,
    /// The plans of graphs and functions, made when they are first gone through: both live as long as the model.
    pub(crate) graphs: FxHashMap<*const GraphProto, Rc<Plan<'a>>>,
    pub(crate) bodies: FxHashMap<*const FunctionProto, (Rc<Plan<'a>>, Opsets)>,
    /// Tensors of attributes, each read once.
    pub(crate) tensors: FxHashMap<*const AttributeProto, Val>,
    pub(crate) frames: Vec<Frame<'a>>,
    pub(crate) unsupported: Unsupported,
    pub(crate) wrong: Vec<Diagnostic>,
    /// The nodes of which it was said why they are not imported.
    pub(crate) said: FxHashSet<*const NodeProto>,
    pub(crate) names: Names,
    pub(crate) sizes: Sizes,
    /// The parameters of the program that are inputs, and what they are called in the model.
    pub(crate) inputs: Vec<(VarId, String)>,
    /// Those of them that stand for results of nodes which cannot be imported.
    pub(crate) opened: FxHashSet<VarId>,
    /// Tensors of the file by their expressions, in their order.
    pub(crate) weights: Vec<(Val, String)>,
    /// What was gone through, and how much may be.
    pub(crate) n_steps: usize,
    pub(crate) max_steps: usize,
    /// How many nodes were met, each once.
    pub(crate) n_nodes: usize,
    /// Stands for what has no value, and for what is left out.
    pub(crate) poison: Val,
    pub(crate) absent: Val,
    /// Tensors of the model of 4-bit integers, which are read as 8-bit ones.
    pub(crate) nibbles: FxHashSet<Val>,
}

impl<'a> Walk<'a> {
    /// Counts what is gone through. Errors: E0805 where it becomes too much.
    pub(crate) fn charge(&mut self, n: usize) -> Result<(), Diagnostic> {
        self.n_steps = self.n_steps.saturating_add(n);
        match self.n_steps > self.max_steps {
            true => Err(errors::too_many_steps(self.request.name, self.max_steps)),
            false => Ok(()),
        }
    }

    /// A new parameter of the program.
    pub(crate) fn parameter(&mut self, name: &str, ty: Ty) -> Val {
        let free = self.names.free(name);
        let (var, value) = self.b.var(&free, ty);
        if free != name {
            self.b.place(var);
        }
        self.inputs.push((var, name.to_owned()));
        value
    }

    /// The type that the model declares, with the dimensions that are wanted.
    pub(crate) fn declared_ty(&mut self, ty: Option<&TypeProto>, wanted: Option<&WantedShape>) -> Result<Ty, NoType> {
        let (dims, dtype) = declared(ty).map_err(NoType::Unsupported)?;
        let dims = match (dims, wanted) {
            (Some(dims), None) => dims,
            (None, Some(wanted)) => wanted.dims.iter().map(|dim| dim.size().map_or(Dim::Any, Dim::known)).collect(),
            (None, None) => return Err(NoType::Unsupported("the model does not say its rank; `--shape` does".to_owned())),
            (Some(dims), Some(wanted)) => {
                if dims.len() != wanted.dims.len() {
                    return Err(NoType::Contradicted { wanted: wanted.text(), model: relayc_ir::types::shape_text(&dims) });
                }
                // A size that is open, or has another name than the model's, is named afterwards.
                dims.iter().zip(&wanted.dims).map(|(_, wanted)| wanted.size().map_or(Dim::Any, Dim::known)).collect()
            }
        };
        Ok(self.b.module.types.tensor(&dims, dtype))
    }

    /// What a name stands for in a frame. What comes from a frame around it is a variable or a constant.
    pub(crate) fn lookup(&mut self, at: usize, name: &str) -> Val {
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
        if is_free(self.b.kind(value)) {
            return value;
        }
        // What is known of the fields of a tuple stays known, such as sizes in a sequence.
        let (inside, kept) = match self.b.fields(value) {
            Some(fields) => {
                let fields: Vec<Val> = fields.into_iter().map(|field| self.free(owner, key, field)).collect();
                // What is inside gets a tuple of its own: a text has no place for one that both sides mention.
                (self.b.tuple(&fields), self.b.tuple(&fields))
            }
            None => {
                let variable = self.free(owner, key, value);
                (variable, variable)
            }
        };
        if let Some(frame) = self.frames.get_mut(owner) {
            frame.values.insert(key, kept);
        }
        inside
    }

    /// A variable that a value of a frame is bound to, or the value, if it may be mentioned inside.
    fn free(&mut self, owner: usize, key: &str, value: Val) -> Val {
        if is_free(self.b.kind(value)) {
            return value;
        }
        let (var, variable) = self.bound(key, value);
        if let Some(frame) = self.frames.get_mut(owner) {
            frame.lets.push((var, value));
        }
        variable
    }

    /// A new variable that a value is bound to.
    pub(crate) fn bound(&mut self, name: &str, value: Val) -> (VarId, Val) {
        let free = self.names.free(name);
        let ty = self.b.ty(value);
        let (var, variable) = self.b.var(&free, ty);
        self.b.alias(variable, value);
        (var, variable)
    }

    /// Notes why a node is not imported, when that is found for the first time; whether it is.
    pub(crate) fn note(&mut self, node: &'a NodeProto, span: Span, refusal: Refusal) -> bool {
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
    pub(crate) fn say(&mut self, error: impl FnOnce(&str) -> Diagnostic) {
        if self.wrong.len() < MAX_WRONG {
            self.wrong.push(error(self.request.name));
        }
    }

    /// Names the results of a node, or notes why it has none.
    pub(crate) fn settle(&mut self, at: usize, node: &'a NodeProto, span: Span, result: Result<Vec<Val>, Refusal>) {
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

    pub(crate) fn give(&mut self, at: usize, node: &'a NodeProto, results: &[Val]) {
        if let Some(frame) = self.frames.get_mut(at) {
            let named = node.output.iter().map(String::as_str).zip(results).filter(|(output, _)| !output.is_empty());
            frame.values.extend(named.map(|(output, &value)| (output, value)));
        }
    }

    pub(crate) fn refuse(&mut self, kind: &str, reason: &str, name: &str, span: Span) {
        let key = (shown(kind), reason.to_owned());
        self.unsupported.entry(key).or_default().push((name.to_owned(), span));
    }

    /// The results of a node that cannot be imported become inputs of the program, if their types are declared or follow from
    /// operands and attributes.
    fn leave_open(&mut self, at: usize, node: &'a NodeProto, span: Span) {
        let mut results = vec![self.poison; node.output.len()];
        if let Some(frame) = self.frames.get(at).filter(|frame| frame.may_open) {
            let (plan, attrs) = (frame.plan.clone(), attributes(node, &frame.attrs));
            let operands: Vec<Option<Val>> = node.input.iter().map(|input| Some(self.lookup(at, input))).collect();
            let inferred = inferred::result_types(&mut self.b, &kind_of(node), &attrs, &operands);
            let all = node.output.iter().zip(&mut results).enumerate();
            for (index, (output, result)) in all.filter(|(_, (output, _))| !output.is_empty()) {
                let declared = self.declared_ty(plan.types.get(output.as_str()).copied(), None).ok();
                match declared.or_else(|| inferred.get(index).copied()) {
                    Some(ty) => {
                        *result = self.parameter(output, ty);
                        self.opened.extend(self.inputs.last().map(|(var, _)| *var));
                    }
                    None => self.say(|model| errors::no_type(model, name_of(node), output, span)),
                }
            }
        } else {
            self.say(|model| errors::inside(model, name_of(node), span));
        }
        self.give(at, node, &results);
    }

    /// The operator sets and attributes that hold in a frame, for what is inside it.
    pub(crate) fn inherited(&self, at: usize) -> (Opsets, Rc<Attributes<'a>>) {
        self.frames.get(at).map_or_else(Default::default, |frame| (frame.opsets.clone(), frame.attrs.clone()))
    }

    /// A new variable of a type.
    pub(crate) fn variable(&mut self, name: &str, ty: Ty) -> (VarId, Val) {
        let free = self.names.free(name);
        self.b.var(&free, ty)
    }

    /// A value that what is inside a frame may mention: bound to a variable there, unless it is one or a constant.
    pub(crate) fn mentioned(&mut self, at: usize, value: Val) -> Val {
        if matches!(self.b.kind(value), ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Error) {
            return value;
        }
        let (var, variable) = self.bound("captured", value);
        self.extend_lets(at, vec![(var, value)]);
        variable
    }

    /// Whether so little was gone through yet that loops may be written out.
    pub(crate) fn has_time(&self) -> bool {
        self.n_steps < self.max_steps / 2
    }

    pub(crate) fn extend_lets(&mut self, at: usize, lets: Vec<(VarId, Val)>) {
        if let Some(frame) = self.frames.get_mut(at) {
            frame.lets.extend(lets);
        }
    }
}

/// Whether an expression may be mentioned anywhere.
fn is_free(kind: ExprKind) -> bool {
    matches!(kind, ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Error)
}

/// The attributes of a node; one that refers to a function's attribute is replaced by it, or is left out where that is.
pub(crate) fn attributes<'a>(node: &'a NodeProto, outer: &Attributes<'a>) -> Attributes<'a> {
    let value = |attr: &'a AttributeProto| -> Option<(&'a str, &'a AttributeProto)> {
        let name = attr.name.as_deref().unwrap_or_default();
        match attr.ref_attr_name.as_deref().filter(|from| !from.is_empty()) {
            Some(from) => outer.get(from).map(|&of| (name, of)),
            None => Some((name, attr)),
        }
    };
    node.attribute.iter().filter_map(value).collect()
}

/// Why a value of the model has no type.
pub(crate) enum NoType {
    /// Relay has none like it: why, in words.
    Unsupported(String),
    /// Another shape is wanted than the model says.
    Contradicted { wanted: String, model: String },
}
