//! Imports ONNX: a model file becomes a Relay program and its weights.
//!
//! `scan.rs` looks at the size of what is coming, `order.rs` sorts the nodes, `check.rs` looks at the structure, `tensors.rs` is the gate of every tensor;
//! `graph.rs` goes through the nodes, by what `plan.rs` finds out of each graph once, and asks `ops/` for what each is in Relay, with
//! `build.rs` for the program and `control.rs` for what has graphs inside. `walk.rs` keeps the state of the walk, `frame.rs` its
//! stack. `listing.rs` is the model as text, into which messages point.
//!
//! Everything that cannot be imported is found before anything is made, and reported at once. Absent: opening files, inference
//! of the whole, and printing.

mod baked;
pub(crate) mod build;
mod check;
mod control;
mod cx;
mod declared;
pub(crate) mod errors;
pub(crate) mod formula;
mod frame;
mod graph;
mod inferred;
mod listing;
pub(crate) mod names;
pub(crate) mod ops;
mod order;
mod plan;
mod scan;
mod scanned;
mod sizes;
mod tensors;
mod turns;
mod walk;
mod wanted;

pub use ops::{refused, table};
pub use tensors::Outside;
pub(crate) use tensors::ReadOutside;
pub use wanted::{WantedDim, WantedShape, Widened};

use super::proto::ModelProto;
use baked::Baked;
use graph::{Failed, Walked};
use listing::Listing;
use prost::Message;
use prost::bytes::Bytes;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::{FileId, Idx, Span};
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim};
use relayc_ir::{ExprId, ExprKind, Module, OUTPUT_NAMES, VarId, are_output_names, print};
use relayc_weights::Named;
use rustc_hash::FxHashSet;
use sizes::Sizes;
use std::sync::Arc;
use tensors::Gate;

/// Shapes of inputs by their names in a model of another format; `None` is a dynamic dimension.
pub(crate) type Shapes = [(String, Vec<Option<i64>>)];

/// Makes the value of an input whose type the model declares.
pub type Constant<'a> = Box<dyn Fn(&[Dim], DType) -> Result<Tensor, Diagnostic> + 'a>;

/// A request to import.
pub struct Import<'a> {
    /// Name of the file, for messages.
    pub name: &'a str,
    /// The file number of its listing.
    pub file: FileId,
    pub shapes: &'a [WantedShape],
    /// Numbers of sizes by their names in the program, as `--set` gives them.
    pub sizes: &'a [(String, i64)],
    /// Values of inputs by their names in the model; they become constants of the program.
    pub constants: &'a [(String, Constant<'a>)],
    /// Whether the results of unsupported nodes become inputs of the program.
    pub keep_going: bool,
    /// Whether tensors become parameters with weights; otherwise they are constants of the program.
    pub as_params: bool,
    /// Reads tensor elements in other files; `None` forbids that.
    pub outside: Option<ReadOutside<'a>>,
}

/// An imported program.
pub struct Imported {
    /// The module, without types.
    pub module: Module,
    /// Values of its parameters, except for inputs.
    pub weights: Named,
    /// The inputs: name in the program, and name in the model.
    pub inputs: Vec<(String, String)>,
    /// The model's names of the results.
    pub outputs: Vec<String>,
    /// Names of sizes that the model has and the program has not, each with the name that it has instead.
    pub united: Vec<(String, String)>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

/// A model as a text, one node a line.
pub struct Text {
    pub text: String,
    starts: Vec<(u32, Arc<str>)>,
    baked: Option<Baked>,
}

impl Text {
    /// A text, with the start of each line and the name of its node.
    pub(crate) fn new(text: String, starts: Vec<(u32, Arc<str>)>) -> Text {
        Text { text, starts, baked: None }
    }

    /// The name of the node at a place of the text.
    pub fn name_at(&self, span: Span) -> Option<&str> {
        self.line_at(span).map(|(_, name)| &**name)
    }

    fn line_at(&self, span: Span) -> Option<&(u32, Arc<str>)> {
        if span.is_none() {
            return None;
        }
        self.starts.get(self.starts.partition_point(|(start, _)| *start <= span.start).checked_sub(1)?)
    }

    /// The dimensions of inputs that the model fixes and that are others in the program.
    pub fn widened(&self) -> &[Widened] {
        self.baked.as_ref().map_or(&[], Baked::widened)
    }

    /// The refusals in place of errors of a program that was widened: E0705 for the nodes in whose constants sizes are. The errors
    /// themselves where no node is found.
    pub fn refusals(&self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let instead = |found: &Diagnostic| self.baked.as_ref()?.instead(self.line_at(found.span())?.0, found);
        // One reason leads to many errors.
        match found.iter().find_map(instead) {
            Some(refusal) => vec![refusal],
            None => found,
        }
    }
}

/// Imports a model. Also returns the text into which places of messages and expressions point.
///
/// Errors: E0703 for an unsound model, E0715 for all unsupported nodes, E0716 for nodes that break a rule, E0717 for tensors in
/// other files, E0705 and E0706 for shapes and sizes that do not fit the inputs, E0803 to E0805 for limits.
pub fn import(bytes: Vec<u8>, request: &Import) -> (Text, Result<Imported, Vec<Diagnostic>>) {
    let file_size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let mut model = match decode(bytes, request) {
        Ok(model) => model,
        Err(error) => return (Text::new(String::new(), vec![]), Err(vec![error])),
    };
    let widened = wanted::widened(&model, request.shapes);
    if !widened.is_empty() {
        wanted::forget_declared(&mut model);
    }
    let model = model;
    let (listing, mut walked) = walked(request, &model, file_size, request.shapes);
    let gate = Gate { model: request.name, outside: request.outside };
    let baked = (!widened.is_empty()).then(|| Baked::of(&model, widened.clone(), gate, &listing));
    let text = Text { text: listing.text, starts: listing.lines, baked };
    if let Err(failed) = &mut walked
        && !widened.is_empty()
        && self::walked(request, &model, file_size, &wanted::narrowed(request.shapes, &widened)).1.is_ok()
    {
        failed.errors = text.refusals(std::mem::take(&mut failed.errors));
    }
    // What helps is said where it does.
    if let Err(Failed { errors, .. }) = &mut walked
        && let [error] = &mut errors[..]
        && error.code == codes::E0715
        && !request.keep_going
        && self::walked(&Import { keep_going: true, ..*request }, &model, file_size, request.shapes).1.is_ok()
    {
        *error = errors::with_keep_going(error.clone());
    }
    let outputs = model.graph.iter().flat_map(|graph| &graph.output).map(|output| output.name.clone().unwrap_or_default());
    let outputs: Vec<String> = outputs.collect();
    let result = walked.map_err(|failed| failed.errors).and_then(|walked| finish(walked, outputs, request, &text));
    (text, result)
}

/// Walks a model, and again for names of sizes that have to be one.
fn walked<'a>(
    request: &'a Import<'a>,
    model: &'a ModelProto,
    file_size: u64,
    shapes: &[WantedShape],
) -> (Listing, Result<Walked<'a>, Failed>) {
    let (mut listing, mut walked) = graph::walk(request, model, file_size, Sizes::default(), shapes);
    while let Err(Failed { again: Some(sizes), .. }) = &mut walked {
        let sizes = std::mem::take(sizes);
        (listing, walked) = graph::walk(request, model, file_size, sizes, shapes);
    }
    (listing, walked)
}

fn decode(bytes: Vec<u8>, request: &Import) -> Result<ModelProto, Diagnostic> {
    scan::scan(request.name, &bytes)?;
    let mut model = ModelProto::decode(Bytes::from(bytes)).map_err(|error| errors::undecodable(request.name, &error))?;
    if model.graph.is_none() {
        return Err(errors::structure(request.name, "a model without a graph"));
    }
    order::sort(&mut model);
    check::model(request.name, &model)?;
    Ok(model)
}

/// Builds `@main` around the outputs; if requested, constants that are not literals become parameters.
///
/// Errors: E0703 if a result depends on an omitted operand.
fn finish(walked: Walked, outputs: Vec<String>, request: &Import, text: &Text) -> Result<Imported, Vec<Diagnostic>> {
    let Walked { mut walk, outputs: values, lets, warnings } = walked;
    walk.b.span = Span::NONE;
    let result = walk.b.together(&values);
    let body = walk.b.bind_all(lets, result);
    let order = walk.b.module.post_order(&[body.0]);
    if order.iter().any(|&expr| matches!(walk.b.module.exprs[expr].kind, ExprKind::Error)) {
        return Err(vec![errors::structure(request.name, "a result depends on a value that is left out")]);
    }
    // Results of nodes that cannot be imported are inputs only where something takes them.
    let var_of = |&expr: &ExprId| match walk.b.module.exprs[expr].kind {
        ExprKind::Var(var) => Some(var),
        _ => None,
    };
    let mentioned: FxHashSet<VarId> = order.iter().filter_map(var_of).collect();
    walk.inputs.retain(|(var, _)| !walk.opened.contains(var) || mentioned.contains(var));
    let mut params: Vec<VarId> = walk.inputs.iter().map(|(var, _)| *var).collect();
    let mut weights = Named::new();
    if request.as_params {
        let mut used = vec![false; walk.b.module.exprs.len()];
        order.iter().for_each(|expr| used[expr.index()] = true);
        let known: Vec<(build::Val, String)> =
            walk.weights.drain(..).filter(|(val, _)| used.get(val.0.index()).copied().unwrap_or(false)).collect();
        let named: FxHashSet<build::Val> = known.iter().map(|(val, _)| *val).collect();
        for (val, name) in known {
            let renamed = text.name_at(walk.b.module.exprs[val.0].span) != Some(name.as_str());
            weight(&mut walk.b, val, (name, renamed), &mut params, &mut weights);
        }
        for expr in order {
            let val = build::Val(expr);
            if named.contains(&val) || !matches!(walk.b.kind(val), ExprKind::Const(_)) {
                continue;
            }
            // What is computed from weights has the name of the node that computes it.
            let span = walk.b.module.exprs[expr].span;
            if walk.b.known(val).is_some_and(|value| print::literal(value, true).is_none()) {
                let name = walk.names.free(text.name_at(span).unwrap_or("constant"));
                weight(&mut walk.b, val, (name, false), &mut params, &mut weights);
            }
        }
    }
    let name_of = |var: VarId| walk.b.module.vars[var].name.to_string();
    let inputs = walk.inputs.iter().map(|(var, name)| (name_of(*var), name.clone())).collect();
    let united = walk.sizes.united();
    let mut module = walk.b.finish(params, body);
    name_outputs(&mut module, &outputs);
    Ok(Imported { module, weights, inputs, outputs, united, warnings })
}

/// Says the names of the results in an attribute of the only function, unless they are those that results have without it.
fn name_outputs(module: &mut Module, outputs: &[String]) {
    let names: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let usual = match names.len() {
        1 => vec!["out".to_owned()],
        n => (0..n).map(|at| format!("out.{at}")).collect(),
    };
    if names != usual && are_output_names(&names) {
        let names = AttrValue::List(names.into_iter().map(AttrValue::str).collect());
        for global in module.globals.iter() {
            module.funcs[global.func].attrs.push((OUTPUT_NAMES.into(), names.clone()));
        }
    }
}

/// Makes a constant a parameter, and records its original name if that differs; literals stay.
fn weight(b: &mut build::Builder, val: build::Val, named: (String, bool), params: &mut Vec<VarId>, weights: &mut Named) {
    let (name, renamed) = named;
    let Some(value): Option<Tensor> = b.known(val).cloned() else { return };
    if print::literal(&value, true).is_some() {
        return;
    }
    let ty = b.ty(val);
    b.span = b.module.exprs[val.0].span;
    let (var, variable) = b.var(&name, ty);
    if renamed {
        b.place(var);
    }
    let kind = b.kind(variable);
    b.replace(val, kind);
    params.push(var);
    weights.push((name, value));
}

#[cfg(test)]
mod tests;
