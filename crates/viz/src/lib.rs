//! Draws programs: in a terminal, for Graphviz, as SVG, and as an interactive page.
//!
//! A program becomes a [`Graph`] (`build`). Part of it can be selected, two programs compared, and repeated blocks folded; each
//! format draws the result. Promise: the same graph gives the same bytes. Absent: files, and measurements and plans, which
//! `driver` adds to the nodes.

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
pub(crate) use graph::Node;
pub use graph::{Amount, Change, Graph, Group, GroupId, GroupKind, NodeId, NodeKind, Overlay};
pub use html::{Buffer, Memory, Page, html};
pub use label::tame;
pub use repeat::{fold, once};
pub use svg::svg;
pub use term::{WIDTH, term};

/// Maximum number of drawn nodes; larger pictures show too little.
pub const MAX_NODES: usize = 100_000;

/// A node's title, with the operands that characterize its computation: `add %bias`.
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

/// The colour of a fraction from 0 to 1, from white to red.
fn heat(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let mix = |cold: f64, hot: f64| (cold + (hot - cold) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(255.0, 226.0), mix(252.0, 74.0), mix(245.0, 51.0))
}
