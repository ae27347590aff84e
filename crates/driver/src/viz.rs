//! `relayc viz`: selects the part of a program to draw, and the facts shown with it.

use super::{Program, emit, optimise};
use relayc_base::diag::{Diagnostic, Severity, codes};
use relayc_base::text::nearest;
use relayc_base::{Sources, Span};
use relayc_ir::Module;
use relayc_ops as ops;
use relayc_viz::{self as viz, GroupKind, NodeId};
pub use relayc_viz::{Graph, Memory, WIDTH};
use std::ops::RangeInclusive;

/// The columns that a terminal may have.
pub const WIDTHS: RangeInclusive<i64> = 40..=1000;

/// The radius of a neighbourhood, unless it is given.
pub const DEPTH: usize = 3;

/// The part of a program to draw.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// One function only, without its `@`.
    pub function: Option<String>,
    /// Only the neighbourhood of the node with this name.
    pub around: Option<String>,
    /// The radius of the neighbourhood, in edges.
    pub depth: usize,
    /// Whether weights are nodes.
    pub weights: bool,
    /// Whether repeated blocks are drawn in full.
    pub unfolded: bool,
}

/// Turns errors into warnings, so that a program with errors can be drawn.
pub fn soften(program: &mut Program) {
    let is_about_types = |diagnostic: &&mut Diagnostic| diagnostic.typed || ["E03", "E04"].contains(&&diagnostic.code.id()[..3]);
    program.diagnostics.iter_mut().filter(is_about_types).for_each(|diagnostic| diagnostic.severity = Severity::Warning);
}

/// The graph of a program. Errors: those of [`select`].
pub fn graph(program: &Program, part: &Part) -> Result<Graph, Diagnostic> {
    let mut graph = select(whole(program, part.weights), part)?;
    fold(&mut graph, part);
    Ok(graph)
}

/// The graph of a program together with its form after passes; nodes in only one of them are marked. Errors: those of [`select`],
/// and E0901 for a pass that broke the program.
pub fn changes(program: &Program, how: &optimise::PassPlan, part: &Part) -> Result<Graph, Diagnostic> {
    let mut module = program.module.clone();
    optimise::optimise(&mut module, how, &mut ())?;
    let after = of_module(&module, &program.sources, part.weights);
    // What is near a node in one of them need not be near it in the other: only what was compared can be cut.
    let mut graph = select(viz::compare(&whole(program, part.weights), &after), part)?;
    fold(&mut graph, part);
    Ok(graph)
}

/// The graph of the whole program.
pub(crate) fn whole(program: &Program, weights: bool) -> Graph {
    of_module(&program.module, &program.sources, weights)
}

fn of_module(module: &Module, sources: &Sources, weights: bool) -> Graph {
    let name = |span: Span| emit::bound_name(sources, span).map(str::to_owned);
    viz::build(&viz::Source { module, ops: ops::table(), name: &name, weights })
}

/// Folds repeated blocks, unless they are to be drawn in full; a neighbourhood is not folded.
pub(crate) fn fold(graph: &mut Graph, part: &Part) {
    if !part.unfolded && part.around.is_none() {
        viz::fold(graph);
    }
}

/// Selects the requested part. Errors: E0706 for an unknown function, E0730 for an unknown node, E0731 for more nodes than a
/// drawing may have.
pub(crate) fn select(graph: Graph, part: &Part) -> Result<Graph, Diagnostic> {
    let mut graph = graph;
    if let Some(name) = &part.function {
        let title = format!("@{name}");
        let is_it = |(_, group): &(viz::GroupId, &viz::Group)| group.kind == GroupKind::Function && group.title == title;
        let Some((function, _)) = graph.groups.iter_ids().find(is_it) else {
            return Err(no_function(&graph, name));
        };
        graph = graph.function(function);
    }
    if let Some(name) = &part.around {
        let centres = centres(&graph, name)?;
        graph = graph.near(&centres, part.depth);
    }
    if graph.nodes.len() > viz::MAX_NODES {
        let message = format!("a picture shows up to {} nodes, found {}", viz::MAX_NODES, graph.nodes.len());
        let help = "draw a part of it: `--around %NAME --depth N`, `--fn @NAME`";
        return Err(Diagnostic::new(codes::E0731, message).help(help));
    }
    Ok(graph)
}

fn no_function(graph: &Graph, name: &str) -> Diagnostic {
    let error = Diagnostic::new(codes::E0706, format!("there is no function `@{}` to draw", viz::tame(name)));
    let functions = graph.groups.iter().filter(|group| group.kind == GroupKind::Function);
    let mut names: Vec<&str> = functions.map(|group| group.title.trim_start_matches('@')).collect();
    names.sort_unstable();
    match nearest(name, names.iter().copied()).or(names.first().copied()) {
        Some(name) => error.help(format!("there is `@{name}`: `--fn @{name}`")),
        None => error.help("the module defines no function"),
    }
}

/// The nodes with a name; `%` may be omitted. Errors: E0730.
fn centres(graph: &Graph, name: &str) -> Result<Vec<NodeId>, Diagnostic> {
    let found = [name.to_owned(), format!("%{name}")].iter().map(|name| graph.named(name)).find(|found| !found.is_empty());
    found.ok_or_else(|| {
        let message = format!("there is no node `{}`", viz::tame(name));
        let error = Diagnostic::new(codes::E0730, message);
        let names = || graph.nodes.iter().flat_map(|node| node.name.as_deref().into_iter().chain([node.label.as_str()]));
        match nearest(name, names()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("name a variable of the text such as `%3`, an operator, or a called function"),
        }
    })
}

/// The output format.
pub enum Form {
    /// Lines of this many characters.
    Term {
        width: usize,
    },
    Dot,
    Svg,
    Html {
        title: String,
        /// The profile overlay: the quantity that node colours show, if any: `time`.
        heat: Option<&'static str>,
        memory: Option<Memory>,
    },
}

/// A graph as text.
pub fn text(graph: &Graph, sources: &Sources, form: Form) -> String {
    match form {
        Form::Term { width } => viz::term(graph, width),
        Form::Dot => viz::dot(&viz::once(graph)),
        Form::Svg => viz::svg(&viz::once(graph)),
        Form::Html { title, heat, memory } => viz::html(graph, &viz::Page { title: &title, sources, heat, memory }),
    }
}
