//! Writes a graph as a single HTML page: a canvas that zooms and pans, with search, folding, and a panel with a node's source
//! and attributes.
//!
//! The page contains the program as JSON and loads nothing from a network (its policy forbids it). Each group comes with its
//! layout (`layout::level`) for closed groups inside it. The script stretches it around open ones, so it needs no knowledge of
//! ranks and crossings. Program texts stay texts: JSON without any `<`, then `textContent` and `fillText`.

use super::graph::{Change, Graph, GroupId, GroupKind, Item, Items, NodeId, NodeKind};
use super::layout::level::{Level, Levels, Part};
use super::svg::{self, escaped, fitting};
use super::{headline, label};
use relayc_base::{Idx, IndexVec, Sources};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The content of a page besides the graph.
pub struct Page<'a> {
    pub title: &'a str,
    pub sources: &'a Sources,
    /// The quantity of the profile overlay, if there is one: `time`.
    pub heat: Option<&'a str>,
    pub memory: Option<Memory>,
}

/// The arena of a compiled program.
pub struct Memory {
    pub arena_bytes: u64,
    /// Peak of live bytes.
    pub live_bytes: u64,
    pub n_steps: usize,
    pub buffers: Vec<Buffer>,
}

/// A buffer in the arena, with its live range in steps.
pub struct Buffer {
    /// The node whose value it holds, if one is drawn.
    pub node: Option<NodeId>,
    pub what: String,
    pub offset: u64,
    pub bytes: u64,
    pub first: usize,
    pub last: usize,
}

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPTS: [&str; 4] =
    [include_str!("page/layout.js"), include_str!("page/draw.js"), include_str!("page/panel.js"), include_str!("page/input.js")];

/// Maximum length of source lines in characters.
const MAX_LINE: usize = 400;

pub fn html(graph: &Graph, page: &Page) -> String {
    let items = graph.items();
    let data = data(graph, &items, page).to_string().replace('<', "\\u003c");
    let mut out = String::with_capacity(data.len() + PAGE.len() + STYLE.len() + 40_000);
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, tail) = after.split_once("}}").unwrap_or((after, ""));
        out.push_str(before);
        match name {
            "title" => out.push_str(&escaped(&label::tame(page.title))),
            "style" => out.push_str(STYLE),
            "data" => out.push_str(&data),
            "script" => SCRIPTS.iter().for_each(|script| out.push_str(script)),
            _ => {}
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

fn data(graph: &Graph, items: &Items, page: &Page) -> Value {
    let mut lines: BTreeMap<usize, String> = BTreeMap::new();
    let nodes: Vec<Value> = graph.nodes.ids().map(|id| node(graph, id, page.sources, &mut lines)).collect();
    let levels = Levels::new(graph, items);
    let mut closed: IndexVec<GroupId, (f64, f64, Vec<String>)> = IndexVec::filled((0.0, 0.0, vec![]), graph.groups.len());
    let order = items.groups();
    for &group in &order {
        closed[group] = closed_box(graph, items, group);
    }
    let width = |item: Item| match item {
        Item::Node(node) => svg::size(&graph.nodes[node]).0,
        Item::Group(group) => closed[group].0,
    };
    let mut groups: Vec<Value> = vec![Value::Null; graph.groups.len()];
    for &group in &order {
        let own = &graph.groups[group];
        let (wide, tall, lines) = &closed[group];
        groups[group.index()] = json!({
            "k": own.kind.word(), "t": own.title, "p": own.parent.map(GroupId::index), "n": own.times,
            "W": round(*wide), "H": round(*tall), "L": lines, "v": level(&levels.level(group, width)),
        });
    }
    let edges: Vec<Value> =
        graph.edges.iter().map(|edge| json!([edge.from.index(), edge.to.index(), edge.label, edge.ty])).collect();
    let links: Vec<Value> = graph.links.iter().map(|link| json!([link.from.index(), link.to.index(), link.label])).collect();
    json!({
        "schema": "relayc.viz/1",
        "title": label::tame(page.title),
        "nodes": nodes,
        "edges": edges,
        "links": links,
        "groups": groups,
        "order": order.iter().map(|group| group.index()).collect::<Vec<_>>(),
        "top": level(&levels.top(width)),
        "lines": lines.into_iter().map(|(line, text)| (line.to_string(), Value::String(text))).collect::<Map<_, _>>(),
        "heat": page.heat,
        "memory": page.memory.as_ref().map(memory),
    })
}

/// A node as JSON without empty fields.
fn node(graph: &Graph, id: NodeId, sources: &Sources, texts: &mut BTreeMap<usize, String>) -> Value {
    let node = &graph.nodes[id];
    let (wide, tall) = svg::size(node);
    let mut out = json!({
        "g": node.group.index(), "k": node.kind.word(), "l": fitting(&headline(node)), "W": round(wide), "H": round(tall),
    });
    let mut set = |key: &str, value: Value| out[key] = value;
    if node.kind == NodeKind::Operator {
        set("f", node.family.word().into());
    }
    let lines = svg::lines(node);
    if lines.len() > 1 {
        set("L", lines[1..].into());
    }
    for (key, text) in [("n", node.name.as_deref().unwrap_or("")), ("t", &node.ty)] {
        if !text.is_empty() {
            set(key, text.into());
        }
    }
    if let Some((line, column)) = sources.line_col(node.span) {
        set("s", json!([line, column]));
        texts.entry(line).or_insert_with(|| source_line(sources, node.span, line));
    }
    match node.change {
        Change::Kept => {}
        Change::Added => set("x", "added".into()),
        Change::Removed => set("x", "removed".into()),
    }
    if let Some(heat) = node.heat {
        set("h", round(heat.share * 1000.0).into());
    }
    let pairs = |pairs: &[(String, String)]| pairs.iter().map(|(key, value)| json!([key, value])).collect::<Vec<_>>();
    if !node.attrs.is_empty() {
        set("a", pairs(&node.attrs).into());
    }
    if !node.facts.is_empty() {
        set("i", pairs(&node.facts).into());
    }
    if !node.weights.is_empty() {
        let weights: Vec<Value> = node.weights.iter().map(|own| json!([own.arg, own.text, own.ty])).collect();
        set("w", weights.into());
    }
    if node.n_cut > 0 {
        set("u", node.n_cut.into());
    }
    out
}

fn source_line(sources: &Sources, span: relayc_base::Span, line: usize) -> String {
    let file = sources.file(span.file);
    let text = file.and_then(|file| Some(&file.text[file.line_range(line - 1)?])).unwrap_or("");
    relayc_base::text::shortened(&label::tame(text.trim_end()), MAX_LINE)
}

/// The box of a closed group: size, and lines for its title, content and result.
fn closed_box(graph: &Graph, items: &Items, group: GroupId) -> (f64, f64, Vec<String>) {
    let own = &graph.groups[group];
    let nodes = items.nodes(group);
    let mut lines = vec![fitting(&own.title)];
    let block = match (own.kind, own.times) {
        (GroupKind::Repeat, times) if times > 0 => &nodes[..nodes.len() / times],
        _ => &nodes[..],
    };
    let mut words: Vec<String> = vec![];
    for &node in block.iter().filter(|&&node| graph.nodes[node].kind == NodeKind::Operator) {
        let label = graph.nodes[node].label.rsplit('.').next().unwrap_or("").to_owned();
        if words.len() < 24 {
            words.push(label);
        }
    }
    let mut line = String::new();
    for word in &words {
        if !line.is_empty() && line.chars().count() + word.chars().count() > 34 {
            lines.push(std::mem::take(&mut line));
        }
        if lines.len() > 3 {
            line = "…".to_owned();
            break;
        }
        line.push_str(if line.is_empty() { "" } else { " · " });
        line.push_str(word);
    }
    lines.extend(Some(line).filter(|line| !line.is_empty()));
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    (longest as f64 * 6.5 + 40.0, 14.0 + 15.0 * lines.len() as f64, lines)
}

fn level(level: &Level) -> Value {
    let parts: Vec<usize> = level
        .parts
        .iter()
        .flat_map(|part| match part {
            Part::Item(Item::Node(node)) => [0, node.index()],
            Part::Item(Item::Group(group)) => [1, group.index()],
            Part::In(node) => [2, node.index()],
            Part::Out(node) => [3, node.index()],
        })
        .collect();
    let slots: Vec<Value> =
        level.layout.slots.iter().flat_map(|slot| [slot.rank.into(), round(slot.x).into(), round(slot.width).into()]).collect();
    let wires: Vec<Value> = level
        .wires
        .iter()
        .zip(&level.layout.routes)
        .map(|(wire, route)| json!([wire.from, wire.to, wire.value.map(NodeId::index), wire.label, u8::from(wire.back), route]))
        .collect();
    json!({ "parts": parts, "slots": slots, "rows": level.layout.rows, "wires": wires })
}

fn memory(memory: &Memory) -> Value {
    let buffers: Vec<Value> = memory
        .buffers
        .iter()
        .map(|own| json!([own.node.map(NodeId::index), own.what, own.offset, own.bytes, own.first, own.last]))
        .collect();
    json!({ "arena": memory.arena_bytes, "live": memory.live_bytes, "steps": memory.n_steps, "buffers": buffers })
}

/// Rounds to a tenth, finer than a pixel.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
