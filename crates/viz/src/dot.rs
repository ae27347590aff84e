//! Writes a graph in the language of Graphviz: a cluster for each group, so that `dot -Tpng` draws it.

use super::graph::{Change, Family, Graph, GroupId, GroupKind, Item, Items, NodeId, NodeKind};
use super::heat;
use relayc_base::Idx;
use std::fmt::Write;

pub fn dot(graph: &Graph) -> String {
    let items = graph.items();
    let mut out = String::from("digraph relay {\n");
    out.push_str("  rankdir=TB; compound=true; fontname=\"monospace\"; fontsize=11;\n");
    out.push_str("  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", fontname=\"monospace\", fontsize=10];\n");
    out.push_str("  edge [fontname=\"monospace\", fontsize=9, color=\"#5b6470\"];\n");
    clusters(graph, &items, &mut out);
    for edge in &graph.edges {
        let label: Vec<&str> = [edge.label.as_str(), edge.ty.as_str()].into_iter().filter(|text| !text.is_empty()).collect();
        let _ = writeln!(out, "  n{} -> n{} [label={}];", edge.from.index(), edge.to.index(), quoted(&label.join(" ")));
    }
    for link in &graph.links {
        // An edge to a cluster is one to a node in it, cut at the border.
        if let Some(head) = items.first(link.to) {
            // One from inside of it, of a function that calls itself, ends at the node.
            let inside = graph.around(graph.nodes[link.from].group).any(|around| around == link.to);
            let border = if inside { String::new() } else { format!("lhead=cluster_{}, ", link.to.index()) };
            let (from, head, label) = (link.from.index(), head.index(), quoted(&link.label));
            let _ = writeln!(out, "  n{from} -> n{head} [label={label}, {border}style=dashed, constraint=false];");
        }
    }
    out.push_str("}\n");
    out
}

fn clusters(graph: &Graph, items: &Items, out: &mut String) {
    enum Step {
        Open(GroupId),
        Item(Item),
        Close,
    }
    let mut stack: Vec<Step> = items.functions.iter().rev().map(|&group| Step::Open(group)).collect();
    let mut depth = 1;
    while let Some(step) = stack.pop() {
        let indent = "  ".repeat(depth.min(40));
        match step {
            Step::Close => {
                depth -= 1;
                let _ = writeln!(out, "{}}}", "  ".repeat(depth.min(40)));
            }
            Step::Open(group) => {
                let own = &graph.groups[group];
                let _ = writeln!(out, "{indent}subgraph cluster_{} {{", group.index());
                let style = match own.kind {
                    GroupKind::Function => "solid",
                    GroupKind::Repeat => "bold",
                    _ => "dashed",
                };
                let _ = writeln!(out, "{indent}  label={}; style={style}; color=\"#8a94a3\"; labeljust=l;", quoted(&own.title));
                depth += 1;
                stack.push(Step::Close);
                stack.extend(items.of(group).iter().rev().map(|&item| Step::Item(item)));
            }
            Step::Item(Item::Group(group)) => stack.push(Step::Open(group)),
            Step::Item(Item::Node(node)) => {
                let _ = writeln!(out, "{indent}n{} {};", node.index(), attributes(graph, node));
            }
        }
    }
}

fn attributes(graph: &Graph, id: NodeId) -> String {
    let node = &graph.nodes[id];
    let mut lines = vec![super::headline(node)];
    lines.extend(Some(node.brief.clone()).filter(|brief| !brief.is_empty()));
    lines.extend(node.figure());
    let shape = match node.kind {
        NodeKind::Input | NodeKind::Output => "ellipse",
        NodeKind::Branch | NodeKind::Join => "diamond",
        NodeKind::Call | NodeKind::Closure => "box3d",
        NodeKind::Elsewhere => "plaintext",
        _ => "box",
    };
    let fill = match (node.change, node.heat) {
        (Change::Added, _) => "#c9f0d1".to_owned(),
        (Change::Removed, _) => "#f7cfd0".to_owned(),
        (Change::Kept, Some(own)) => heat(own.share),
        (Change::Kept, None) => match node.family {
            Family::Products => "#d6e4fb",
            Family::Elements => "#e2f3e1",
            Family::Moves => "#f3ecd8",
            Family::Reduction => "#eadff5",
            Family::Other => "#ffffff",
        }
        .to_owned(),
    };
    format!("[label={}, shape={shape}, fillcolor={}, tooltip={}]", quoted(&lines.join("\n")), quoted(&fill), quoted(&node.ty))
}

/// A string of the language: escapes quotes and backslashes, and keeps line breaks.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_where_they_should() {
        assert_eq!(quoted("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
        assert_eq!(quoted("</script>"), "\"</script>\"");
    }
}
