//! Pictures of programs: in a terminal, for Graphviz, as SVG, and as a page to walk through.
//!
//! A program becomes a [`Graph`] (`build`), of which a part may be selected, in which two programs may be compared, and whose
//! blocks that repeat are found; each format draws that. The same graph gives the same bytes. Deliberately not here: files, and what
//! is measured or planned, which `driver` adds to the nodes.

mod build;
mod diff;
mod dot;
mod graph;
mod html;
mod label;
mod layout;
mod repeat;
mod select;
mod svg;
mod term;

pub use build::{Source, build};
pub use diff::compare;
pub use dot::dot;
pub use graph::{
    Amount, Change, Edge, Family, Graph, Group, GroupId, GroupKind, Heat, Item, Items, Link, Node, NodeId, NodeKind, Weight,
};
pub use html::{Buffer, Memory, Page, html};
pub use label::tame;
pub use repeat::{fold, once};
pub use svg::svg;
pub use term::{WIDTH, term};

/// The more nodes a picture has, the less it shows: no more than these are drawn.
pub const MAX_NODES: usize = 100_000;

/// What a node is called, with the operands that tell what it computes: `add %bias`.
fn headline(node: &Node) -> String {
    let mut text = node.label.clone();
    for weight in node.weights.iter().filter(|weight| weight.telling).take(3) {
        // Of a case, which one it is.
        if node.kind == NodeKind::Join && !weight.arg.is_empty() {
            text = format!("{text}, {}", weight.arg);
        }
        text.push(' ');
        text.push_str(&weight.text);
    }
    text
}

/// The colour of a share from 0 to 1, from white to red.
fn heat(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let mix = |cold: f64, hot: f64| (cold + (hot - cold) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(255.0, 226.0), mix(252.0, 74.0), mix(245.0, 51.0))
}
