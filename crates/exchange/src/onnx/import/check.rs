//! Checks the structure of a model before any of its nodes is converted.
//!
//! - Each value of a graph has one name, made once and before it is used (`order.rs` has sorted the nodes); a subgraph sees the values made
//!   before its node.
//! - Nodes have a kind; attributes have names, each once.
//! - Functions have different names, do not call themselves, directly or indirectly, and nest calls no deeper than 100.
//! - A model has one version of each operator set.

use super::super::proto::{AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto};
use super::errors::{shown, structure, too_many};
use super::listing::name_of;
use relayc_base::diag::Diagnostic;
use relayc_base::text::thousands;
use rustc_hash::{FxHashMap, FxHashSet};

/// The limit of reliability 2.
const MAX_NODES: usize = 1_000_000;
const MAX_CALL_DEPTH: usize = 100;

/// The key of a function: domain, name, overload.
pub(crate) type FunctionKey<'a> = (&'a str, &'a str, &'a str);

/// The normalized domain: ONNX's own is empty.
pub(crate) fn domain_of(domain: &Option<String>) -> &str {
    match domain.as_deref().unwrap_or_default() {
        "ai.onnx" => "",
        other => other,
    }
}

pub(crate) fn key_of(function: &FunctionProto) -> FunctionKey<'_> {
    let name = function.name.as_deref().unwrap_or_default();
    (domain_of(&function.domain), name, function.overload.as_deref().unwrap_or_default())
}

pub(crate) fn callee_of(node: &NodeProto) -> FunctionKey<'_> {
    let name = node.op_type.as_deref().unwrap_or_default();
    (domain_of(&node.domain), name, node.overload.as_deref().unwrap_or_default())
}

/// The versions of operator sets by domain. Errors: a repeated domain, or an invalid version.
pub(crate) fn opsets(model: &str, imports: &[OperatorSetIdProto]) -> Result<FxHashMap<String, i64>, Diagnostic> {
    let mut versions = FxHashMap::default();
    for import in imports {
        let (domain, version) = (domain_of(&import.domain), import.version.unwrap_or(0));
        if version < 1 {
            return Err(structure(model, format_args!("version {version} of an operator set")));
        }
        if versions.insert(domain.to_owned(), version).is_some_and(|other| other != version) {
            return Err(structure(model, format_args!("two versions of the operator set `{}`", shown(domain))));
        }
    }
    // ONNX Runtime takes its own operators also from models that do not say so, and exporters rely on it.
    versions.entry(OWN_OF_RUNTIME.to_owned()).or_insert(1);
    Ok(versions)
}

/// ONNX Runtime's own operators, of which there is one version.
const OWN_OF_RUNTIME: &str = "com.microsoft";

/// Checks a whole model. Errors: E0703 for the first broken rule, E0804 for a limit.
pub(crate) fn model(name: &str, model: &ModelProto) -> Result<(), Diagnostic> {
    let mut checker = Checker { name, n_nodes: 0 };
    if let Some(main) = &model.graph {
        checker.graphs(Scope::graph(main, None))?;
    }
    let mut seen = FxHashSet::default();
    for function in &model.functions {
        let key = key_of(function);
        if key.1.is_empty() || !seen.insert(key) {
            return Err(structure(name, format_args!("two functions `{}`", shown(key.1))));
        }
        checker.graphs(Scope::function(function))?;
    }
    acyclic(name, &model.functions)
}

struct Checker<'a> {
    name: &'a str,
    n_nodes: usize,
}

/// A list of nodes with its initial names.
struct Scope<'a> {
    nodes: &'a [NodeProto],
    outputs: Vec<&'a str>,
    made: FxHashSet<&'a str>,
    /// A repeated initial name.
    twice: Option<&'a str>,
    /// Index of the next node.
    next: usize,
    /// Whether the previous node's subgraphs are still being checked; its results are not defined yet.
    pending: bool,
    /// Index of the enclosing scope.
    parent: Option<usize>,
}

impl<'a> Scope<'a> {
    fn graph(graph: &'a GraphProto, parent: Option<usize>) -> Scope<'a> {
        let tensors = graph.initializer.iter().map(tensor_name);
        let sparse = graph.sparse_initializer.iter().map(|sparse| sparse.values.as_deref().map_or("", tensor_name));
        let inputs = graph.input.iter().map(|input| input.name.as_deref().unwrap_or_default());
        let mut scope = Scope {
            nodes: &graph.node,
            outputs: graph.output.iter().map(|output| output.name.as_deref().unwrap_or_default()).collect(),
            made: FxHashSet::default(),
            twice: None,
            next: 0,
            pending: false,
            parent,
        };
        // An input may be an initializer too, which is its default.
        scope.begin(inputs);
        let mut weights = FxHashSet::default();
        for tensor in tensors.chain(sparse) {
            if tensor.is_empty() || !weights.insert(tensor) {
                scope.twice = scope.twice.or(Some(tensor));
            }
            scope.made.insert(tensor);
        }
        scope
    }

    fn function(function: &'a FunctionProto) -> Scope<'a> {
        let mut scope = Scope {
            nodes: &function.node,
            outputs: function.output.iter().map(String::as_str).collect(),
            made: FxHashSet::default(),
            twice: None,
            next: 0,
            pending: false,
            parent: None,
        };
        scope.begin(function.input.iter().map(String::as_str));
        scope
    }

    fn begin(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            if name.is_empty() || !self.made.insert(name) {
                self.twice = self.twice.or(Some(name));
            }
        }
    }
}

pub(crate) fn tensor_name(tensor: &TensorProto) -> &str {
    tensor.name.as_deref().unwrap_or_default()
}

impl Checker<'_> {
    /// Checks a graph and its subgraphs. Finished scopes stay in the list, so that indices stay valid.
    fn graphs(&mut self, first: Scope) -> Result<(), Diagnostic> {
        let mut scopes = vec![first];
        let mut open = vec![0];
        while let Some(&at) = open.last() {
            let Some(scope) = scopes.get_mut(at) else { return Ok(()) };
            if scope.next == 0
                && let Some(name) = scope.twice
            {
                return Err(structure(self.name, format_args!("the name `{}` is given twice", shown(name))));
            }
            if std::mem::take(&mut scope.pending) {
                self.results(scope)?;
            }
            let Some(node) = scope.nodes.get(scope.next) else {
                self.ends(&scopes, at)?;
                open.pop();
                if let Some(scope) = scopes.get_mut(at) {
                    scope.made = FxHashSet::default();
                }
                continue;
            };
            scope.next = scope.next.saturating_add(1);
            scope.pending = true;
            self.n_nodes = self.n_nodes.saturating_add(1);
            if self.n_nodes > MAX_NODES {
                let words = format!("more than {} nodes", thousands(u64::try_from(MAX_NODES).unwrap_or(u64::MAX)));
                return Err(too_many(self.name, 0, words));
            }
            self.node(&scopes, at, node)?;
            for graph in subgraphs(node) {
                scopes.push(Scope::graph(graph, Some(at)));
                open.push(scopes.len().saturating_sub(1));
            }
        }
        Ok(())
    }

    fn node(&self, scopes: &[Scope], at: usize, node: &NodeProto) -> Result<(), Diagnostic> {
        let wrong = |words: String| Err(structure(self.name, format_args!("node `{}`: {words}", shown(name_of(node)))));
        if node.op_type.as_deref().unwrap_or_default().is_empty() {
            return wrong("it has no operator".into());
        }
        let mut names = FxHashSet::default();
        for attribute in &node.attribute {
            let name = attribute.name.as_deref().unwrap_or_default();
            if name.is_empty() || !names.insert(name) {
                return wrong(format!("two attributes `{}`", shown(name)));
            }
        }
        for input in node.input.iter().filter(|input| !input.is_empty()) {
            if !visible(scopes, at, input) {
                let later = made_later(scopes, at, input);
                return wrong(match later {
                    true => format!("`{}` is made of itself: the nodes are in a circle", shown(input)),
                    false => format!("nothing makes `{}`", shown(input)),
                });
            }
        }
        Ok(())
    }

    /// Defines the results of the last node.
    fn results(&self, scope: &mut Scope) -> Result<(), Diagnostic> {
        let Some(node) = scope.next.checked_sub(1).and_then(|at| scope.nodes.get(at)) else { return Ok(()) };
        for output in node.output.iter().map(String::as_str).filter(|output| !output.is_empty()) {
            if !scope.made.insert(output) {
                let words = format_args!("node `{}`: the name `{}` is given twice", shown(name_of(node)), shown(output));
                return Err(structure(self.name, words));
            }
        }
        Ok(())
    }

    /// Checks that a graph's outputs exist.
    fn ends(&self, scopes: &[Scope], at: usize) -> Result<(), Diagnostic> {
        let Some(scope) = scopes.get(at) else { return Ok(()) };
        match scope.outputs.iter().find(|output| !visible(scopes, at, output)) {
            Some(output) => Err(structure(self.name, format_args!("nothing makes the output `{}`", shown(output)))),
            None => Ok(()),
        }
    }
}

/// The graphs among a node's attributes.
pub(crate) fn subgraphs(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().filter_map(|attribute: &AttributeProto| attribute.g.as_deref())
}

fn visible(scopes: &[Scope], at: usize, name: &str) -> bool {
    let mut at = Some(at);
    while let Some(scope) = at.and_then(|at| scopes.get(at)) {
        if scope.made.contains(name) {
            return true;
        }
        at = scope.parent;
    }
    false
}

fn made_later(scopes: &[Scope], at: usize, name: &str) -> bool {
    let mut at = Some(at);
    while let Some(scope) = at.and_then(|at| scopes.get(at)) {
        let rest = scope.nodes.get(scope.next.saturating_sub(1)..).unwrap_or_default();
        if rest.iter().any(|node| node.output.iter().any(|output| output == name)) {
            return true;
        }
        at = scope.parent;
    }
    false
}

/// Checks that the call graph of functions is acyclic and within its depth limit.
fn acyclic(name: &str, functions: &[FunctionProto]) -> Result<(), Diagnostic> {
    let numbers: FxHashMap<FunctionKey, usize> = functions.iter().map(key_of).zip(0..).collect();
    let callees: Vec<Vec<usize>> = functions.iter().map(|function| called(&function.node, &numbers)).collect();
    // 0: not met; 1: open; otherwise 2 and how deep its calls go.
    let mut state = vec![0usize; functions.len()];
    for start in 0..functions.len() {
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            let inner = callees.get(at).map_or(&[][..], Vec::as_slice);
            if next == 0 && state.get(at).is_some_and(|&state| state >= 2) {
                continue;
            }
            if let Some(slot) = state.get_mut(at) {
                *slot = 1;
            }
            if let Some(&callee) = inner.get(next) {
                stack.push((at, next.saturating_add(1)));
                match state.get(callee) {
                    Some(1) => {
                        let called = functions.get(callee).and_then(|function| function.name.as_deref()).unwrap_or_default();
                        return Err(structure(name, format_args!("the function `{}` calls itself", shown(called))));
                    }
                    Some(0) => stack.push((callee, 0)),
                    _ => {}
                }
                continue;
            }
            let deepest = inner.iter().filter_map(|&callee| state.get(callee)).max().copied().unwrap_or(1);
            let deep = deepest.saturating_add(1);
            if deep.saturating_sub(1) > MAX_CALL_DEPTH {
                return Err(too_many(name, 0, format_args!("functions call functions more than {MAX_CALL_DEPTH} deep")));
            }
            if let Some(slot) = state.get_mut(at) {
                *slot = deep;
            }
        }
    }
    Ok(())
}

/// The functions that nodes call, including nodes of subgraphs.
fn called(nodes: &[NodeProto], numbers: &FxHashMap<FunctionKey, usize>) -> Vec<usize> {
    let mut found = vec![];
    let mut stack: Vec<&[NodeProto]> = vec![nodes];
    while let Some(nodes) = stack.pop() {
        for node in nodes {
            found.extend(numbers.get(&callee_of(node)).copied());
            stack.extend(subgraphs(node).map(|graph| &*graph.node));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
