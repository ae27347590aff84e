//! Finds the node in whose constant a size is baked: a model that was exported at one size often has it in the shapes of its
//! `Reshape` and `Expand` nodes.

use super::super::proto::{GraphProto, ModelProto, NodeProto, TensorProto};
use super::errors::{self, shown};
use super::listing::{Listing, kind_of, name_of};
use super::tensors::Gate;
use super::wanted::Widened;
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use rustc_hash::{FxHashMap, FxHashSet};

/// A constant that may hold a size.
#[derive(Clone)]
struct Held {
    /// The place of its node.
    span: Span,
    /// `node `view` (Reshape)`.
    node: String,
    /// The constant as it is shown.
    constant: Option<String>,
}

/// What is known of a model that was widened.
pub(crate) struct Baked {
    model: String,
    widened: Vec<Widened>,
    /// For each node, by the start of its line: what holds the size, in the node itself or nearest before it.
    held: FxHashMap<u32, Held>,
}

impl Baked {
    /// Looks for sizes in the constants of a model.
    pub(crate) fn of(model: &ModelProto, widened: Vec<Widened>, gate: Gate, listing: &Listing) -> Baked {
        let mut held = FxHashMap::default();
        if let Some(graph) = &model.graph {
            let constants = Constants::of(graph);
            // How far what holds the size is from a value.
            let mut nearest: FxHashMap<&str, (usize, Held)> = FxHashMap::default();
            for node in &graph.node {
                let Some(span) = listing.place(node) else { continue };
                let own = || Held {
                    span,
                    node: format!("node `{}` ({})", shown(name_of(node)), shown(&kind_of(node))),
                    constant: None,
                };
                let found = match constants.size(node, gate, &widened) {
                    Some(constant) => Some((0, Held { constant: Some(constant), ..own() })),
                    None => {
                        let before = node.input.iter().filter_map(|input| nearest.get(input.as_str()));
                        before.min_by_key(|(far, _)| *far).map(|(far, held)| (far.saturating_add(1), held.clone()))
                    }
                };
                if let Some(found) = &found {
                    nearest.extend(node.output.iter().map(|output| (output.as_str(), found.clone())));
                }
                let found = found.map_or_else(|| Held { constant: constants.of_shape(node), ..own() }, |(_, held)| held);
                held.insert(span.start, found);
            }
        }
        Baked { model: gate.model.to_owned(), widened, held }
    }

    pub(crate) fn widened(&self) -> &[Widened] {
        &self.widened
    }

    /// The refusal in place of an error that widening led to, at a line that starts there.
    pub(crate) fn instead(&self, line: u32, found: &Diagnostic) -> Option<Diagnostic> {
        let held = self.held.get(&line)?;
        let options: FxHashSet<&str> = self.widened.iter().map(|one| one.option.as_str()).collect();
        let mut options: Vec<&str> = options.into_iter().collect();
        options.sort_unstable();
        let (what, constant) = match &held.constant {
            Some(constant) => ("has the size of the model in a constant", format!("its constant {constant}")),
            None => ("takes only the size of the model", String::new()),
        };
        let message = format!("`{}`: {} {what}, and not that of `{}`", self.model, held.node, options.join(" "));
        let mut diagnostic = Diagnostic::new(codes::E0705, message).at(held.span, constant);
        for one in &self.widened {
            diagnostic = diagnostic.also(one.place, format!("the model has {} here", one.from));
        }
        let diagnostic = diagnostic.note(format!("with the wanted shape: {}", found.message));
        Some(errors::with_baked_helps(diagnostic, held.constant.is_some()))
    }
}

/// The tensors of a graph that nodes hold.
struct Constants<'a>(FxHashMap<&'a str, &'a TensorProto>);

impl<'a> Constants<'a> {
    fn of(graph: &'a GraphProto) -> Constants<'a> {
        let stored = graph.initializer.iter().filter_map(|tensor| Some((tensor.name.as_deref()?, tensor)));
        let is_constant = |node: &&NodeProto| node.op_type.as_deref() == Some("Constant");
        let made = graph.node.iter().filter(is_constant).filter_map(|node| {
            let value = node.attribute.iter().find_map(|attribute| attribute.t.as_deref())?;
            Some((node.output.first()?.as_str(), value))
        });
        Constants(stored.chain(made).collect())
    }

    /// The constant of a node that says sizes, if a size of the model may be in it: `` `shape` is [1, 1000] ``.
    fn size(&self, node: &NodeProto, gate: Gate, widened: &[Widened]) -> Option<String> {
        let (name, values) = match sized_by(node)? {
            SizedBy::Input(at) => {
                let name = node.input.get(at)?.as_str();
                let values = gate.tensor(self.0.get(name)?).ok()?.to_ints();
                (name, values.into_iter().filter_map(|value| i64::try_from(value).ok()).collect())
            }
            SizedBy::Attribute(name, values) => (name, values.to_vec()),
        };
        let holds = |from: i64, value: i64| value == from || (from > 1 && value > 0 && value.checked_rem(from) == Some(0));
        let is_held = values.iter().any(|&value| widened.iter().any(|one| holds(one.from, value)));
        is_held.then(|| format!("`{}` is {}", shown(name), list(&values)))
    }

    /// A constant operand of a node.
    fn of_shape(&self, node: &NodeProto) -> Option<String> {
        let (name, tensor) = node.input.iter().find_map(|input| self.0.get(input.as_str()).map(|tensor| (input, tensor)))?;
        Some(format!("`{}` has the shape {}", shown(name), list(&tensor.dims)))
    }
}

enum SizedBy<'a> {
    Input(usize),
    Attribute(&'static str, &'a [i64]),
}

/// Where a node says sizes.
fn sized_by(node: &NodeProto) -> Option<SizedBy<'_>> {
    let (attribute, input) = match node.op_type.as_deref()? {
        "Reshape" | "Expand" | "CenterCropPad" => ("shape", 1),
        "ConstantOfShape" => ("shape", 0),
        "Slice" => ("ends", 2),
        "Resize" => ("sizes", 3),
        _ => return None,
    };
    let ints = node.attribute.iter().find(|one| one.name.as_deref() == Some(attribute)).map(|one| one.ints.as_slice());
    Some(ints.map_or(SizedBy::Input(input), |ints| SizedBy::Attribute(attribute, ints)))
}

const MAX_SHOWN: usize = 8;

fn list(values: &[i64]) -> String {
    let mut shown: Vec<String> = values.iter().take(MAX_SHOWN).map(i64::to_string).collect();
    shown.extend((values.len() > MAX_SHOWN).then(|| "…".to_owned()));
    format!("[{}]", shown.join(", "))
}
