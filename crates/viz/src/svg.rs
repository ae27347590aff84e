//! Writes a graph as SVG: every group open, one block for each repetition, types at the lines.
//!
//! Sizes follow from the number of characters in a monospaced font. The same graph gives the same bytes.

use super::graph::{Change, Graph, GroupId, GroupKind, Item, Node, NodeId, NodeKind};
use super::layout::level::{Level, Levels, Part};
use super::{headline, heat};
use relayc_base::IndexVec;
use std::fmt::Write;

/// Character widths of the large and the small font.
const LARGE: f64 = 7.25;
const SMALL: f64 = 6.05;
/// Heights: a line of text, the distance between ranks, the head and the margin of a group.
const LINE: f64 = 15.0;
const RANKS: f64 = 46.0;
const HEAD: f64 = 24.0;
const MARGIN: f64 = 16.0;

/// Maximum length of texts in a node.
const MAX_TEXT: usize = 44;

/// A text that fits into a node.
pub(crate) fn fitting(text: &str) -> String {
    relayc_base::text::shortened(text, MAX_TEXT)
}

/// The lines of a node: title, attributes, cost.
pub(crate) fn lines(node: &Node) -> Vec<String> {
    let mut lines = vec![fitting(&headline(node))];
    if !node.brief.is_empty() {
        lines.push(fitting(&node.brief));
    }
    lines.extend(node.figure());
    lines
}

pub(crate) fn size(node: &Node) -> (f64, f64) {
    let lines = lines(node);
    let wide = |(at, line): (usize, &String)| line.chars().count() as f64 * if at == 0 { LARGE } else { SMALL };
    let own = lines.iter().enumerate().map(wide).fold(0.0, f64::max);
    let below = node.ty.chars().count() as f64 * SMALL;
    ((own + 20.0).max(below + 4.0).max(56.0), 10.0 + LINE * lines.len() as f64)
}

struct Drawing<'a> {
    graph: &'a Graph,
    levels: IndexVec<GroupId, Level>,
    sizes: IndexVec<GroupId, (f64, f64)>,
    out: String,
    /// Labels of a group's lines, written after all lines so that none crosses them.
    labels: String,
}

pub fn svg(graph: &Graph) -> String {
    let items = graph.items();
    let levels = Levels::new(graph, &items);
    let mut drawing = Drawing {
        graph,
        levels: IndexVec::filled(Level::default(), graph.groups.len()),
        sizes: IndexVec::filled((0.0, 0.0), graph.groups.len()),
        out: String::new(),
        labels: String::new(),
    };
    for group in items.groups().into_iter().rev() {
        let level = levels.level(group, |item| drawing.size(item).0);
        drawing.sizes[group] = drawing.outer(&level, &graph.groups[group].title);
        drawing.levels[group] = level;
    }
    let top = levels.top(|item| drawing.size(item).0);
    let (width, height) = drawing.inner(&top);
    drawing.head(width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    drawing.all(&top);
    drawing.out.push_str("</svg>\n");
    drawing.out
}

const STYLE: &str = "<style>
text{font:12px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1c2430}
.s{font-size:10px;fill:#5b6470}.t{font-size:10px;fill:#3f5f8a;paint-order:stroke;stroke:#fff;stroke-width:4px}
.n{fill:#fff;stroke:#8a94a3}.e{fill:none;stroke:#8a94a3;stroke-width:1.2}.l{stroke-dasharray:4 3}
.g{fill:#8a94a3;fill-opacity:.05;stroke:#b9c1cc}.repeat{stroke:#4a76c9;stroke-width:1.6}.fused{fill:#4a76c9}
.products{fill:#d6e4fb;stroke:#4a76c9}.elements{fill:#e2f3e1;stroke:#4f9a55}.moves{fill:#f3ecd8;stroke:#a58a3c}
.reduction{fill:#eadff5;stroke:#8660b3}.added{fill:#c9f0d1;stroke:#1d7a34}.removed{fill:#f7cfd0;stroke:#b3262b}
.input,.output{fill:#eef1f5}.elsewhere{fill:none;stroke-dasharray:3 3}
</style>
<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\">\
<path d=\"M0 0L8 4L0 8z\" fill=\"#8a94a3\"/></marker>
";

impl Drawing<'_> {
    fn size(&self, item: Item) -> (f64, f64) {
        match item {
            Item::Node(node) => size(&self.graph.nodes[node]),
            Item::Group(group) => self.sizes[group],
        }
    }

    /// The size of a level's content.
    fn inner(&self, level: &Level) -> (f64, f64) {
        let right = level.layout.slots.iter().map(|slot| slot.x + slot.width / 2.0).fold(0.0, f64::max);
        let rows = self.tops(level);
        (right, rows.last().map_or(0.0, |&(top, height)| top + height))
    }

    /// The size of a group around it.
    fn outer(&self, level: &Level, title: &str) -> (f64, f64) {
        let (width, height) = self.inner(level);
        let wide = fitting(title).chars().count() as f64 * SMALL + 16.0;
        ((width + 2.0 * MARGIN).max(wide), height + HEAD + MARGIN)
    }

    /// The top and the height of each row.
    fn tops(&self, level: &Level) -> Vec<(f64, f64)> {
        let mut y = 0.0;
        let mut rows = vec![];
        for row in &level.layout.rows {
            let height = row.iter().map(|&slot| self.part_height(level, slot)).fold(0.0, f64::max);
            rows.push((y, height));
            // Ports lie at the border.
            y += height + if height > 0.0 { RANKS } else { RANKS / 2.0 };
        }
        rows
    }

    fn part_height(&self, level: &Level, slot: usize) -> f64 {
        match level.parts.get(slot) {
            Some(Part::Item(item)) => self.size(*item).1,
            _ => 0.0,
        }
    }

    fn head(&mut self, width: f64, height: f64) {
        let (width, height) = (width.ceil(), height.ceil());
        let _ = writeln!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
        );
        self.out.push_str(STYLE);
        self.out.push_str("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    }

    /// Draws everything, groups before their content.
    fn all(&mut self, top: &Level) {
        let mut waiting: Vec<(Option<GroupId>, f64, f64)> = vec![(None, MARGIN, MARGIN)];
        while let Some((group, x, y)) = waiting.pop() {
            let level = group.map_or_else(|| top.clone(), |group| std::mem::take(&mut self.levels[group]));
            let (x, y) = match group {
                Some(group) => self.frame(group, &level, x, y),
                None => (x, y),
            };
            let tops = self.tops(&level);
            for (wire, route) in level.wires.iter().zip(&level.layout.routes) {
                self.wire(&level, wire, route, &tops, (x, y));
            }
            let labels = std::mem::take(&mut self.labels);
            self.out.push_str(&labels);
            for (slot, part) in level.parts.iter().enumerate() {
                let Part::Item(item) = part else { continue };
                let place = &level.layout.slots[slot];
                let (width, height) = self.size(*item);
                // Nodes hang at the top of their rank, so that lines into them have one length.
                let (row, _) = tops[place.rank];
                let left = x + place.x - width / 2.0;
                match item {
                    Item::Node(node) => self.node(*node, left, y + row, width, height),
                    Item::Group(inner) => waiting.push((Some(*inner), left, y + row)),
                }
            }
            if let Some(group) = group {
                self.levels[group] = level;
            }
        }
    }

    /// Draws the border of a group; returns the origin of its content.
    fn frame(&mut self, group: GroupId, level: &Level, x: f64, y: f64) -> (f64, f64) {
        let own = &self.graph.groups[group];
        let (width, height) = self.sizes[group];
        let _ = write!(
            self.out,
            "<rect class=\"g {}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\"/>",
            own.kind.word()
        );
        let title = if own.kind == GroupKind::Iteration { String::new() } else { escaped(&fitting(&own.title)) };
        let _ = writeln!(self.out, "<text class=\"s\" x=\"{:.1}\" y=\"{:.1}\">{title}</text>", x + 8.0, y + 14.0);
        let inside = self.inner(level).0;
        (x + (width - inside) / 2.0, y + HEAD)
    }

    /// The point at which a line meets a slot, at its lower or its upper side.
    fn meet(&self, level: &Level, slot: usize, tops: &[(f64, f64)], lower: bool, value: Option<NodeId>) -> (f64, f64) {
        let place = &level.layout.slots[slot];
        let (top, tall) = tops[place.rank];
        let Some(Part::Item(item)) = level.parts.get(slot) else {
            return match level.parts.get(slot) {
                // A port lies on the border itself.
                Some(Part::In(_)) => (place.x, top - HEAD),
                Some(_) => (place.x, top + MARGIN),
                None => (place.x, if lower { top + tall } else { top }),
            };
        };
        let height = self.size(*item).1;
        let y = if lower { top + height } else { top };
        let port = match (item, value) {
            (Item::Group(inner), Some(value)) => {
                let inside = &self.levels[*inner];
                let port = inside.port(if lower { Part::Out(value) } else { Part::In(value) });
                let shift = (self.sizes[*inner].0 - self.inner(inside).0) / 2.0;
                port.map(|port| place.x - self.sizes[*inner].0 / 2.0 + shift + inside.layout.slots[port].x)
            }
            _ => None,
        };
        (port.unwrap_or(place.x), y)
    }

    fn wire(
        &mut self,
        level: &Level,
        wire: &super::layout::level::Wire,
        route: &[usize],
        tops: &[(f64, f64)],
        (x, y): (f64, f64),
    ) {
        let Some(&first) = route.first() else {
            return self.stub(level, wire, tops, (x, y));
        };
        let mut path = String::new();
        let mut at = self.meet(level, first, tops, true, wire.value);
        let _ = write!(path, "M{:.1} {:.1}", x + at.0, y + at.1);
        let start = at;
        // Where its label stands: at the end of a straight line, else beside the bend, as lines into one node meet at its border.
        let mut beside = at;
        for &slot in &route[1..] {
            let to = self.meet(level, slot, tops, false, wire.value);
            // First down beside what is taller in this rank, then over to the next.
            let (top, tall) = tops[level.layout.slots[slot].rank - 1];
            let down = (top + tall).max(at.1);
            if down > at.1 + 0.05 {
                let _ = write!(path, "V{:.1}", y + down);
            }
            let middle = (down + to.1) / 2.0;
            let is_straight = (at.0 - to.0).abs() < 0.05;
            if !wire.back || beside == start {
                beside = match (is_straight, wire.back) {
                    (true, false) => (to.0, to.1 - 4.0),
                    (true, true) => (at.0, at.1 + 13.0),
                    (false, _) => ((at.0 + to.0) / 2.0, middle + 4.0),
                };
            }
            if is_straight {
                let _ = write!(path, "V{:.1}", y + to.1);
            } else {
                let _ = write!(
                    path,
                    "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
                    x + at.0,
                    y + middle,
                    x + to.0,
                    y + middle,
                    x + to.0,
                    y + to.1
                );
            }
            at = to;
        }
        // Values flow down; what does not is dashed and has a head.
        let looks = match (wire.back, wire.value) {
            (true, _) => "class=\"e l\" marker-start=\"url(#head)\"",
            (false, None) => "class=\"e l\" marker-end=\"url(#head)\"",
            (false, Some(_)) => "class=\"e\"",
        };
        let _ = writeln!(self.out, "<path {looks} d=\"{path}\"/>");
        // The upper end of one that goes back is where the value is taken.
        if let (Some(value), Some(Part::Item(Item::Node(_))), false) = (wire.value, level.parts.get(first), wire.back) {
            self.type_at(value, x + start.0, y + start.1 + 13.0);
        }
        if !wire.label.is_empty() {
            let text = escaped(&fitting(&wire.label));
            let _ = writeln!(
                self.labels,
                "<text class=\"t\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
                x + beside.0 + 4.0,
                y + beside.1
            );
        }
    }

    /// Writes the type of a value under its node. A second one at the same place is the same text.
    fn type_at(&mut self, value: NodeId, x: f64, y: f64) {
        let ty = escaped(&self.graph.nodes[value].ty);
        if !ty.is_empty() {
            let text = format!("<text class=\"t\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\">{ty}</text>\n");
            if !self.labels.ends_with(&text) {
                self.labels.push_str(&text);
            }
        }
    }

    /// Draws a line that is too long to follow: its end names its source.
    fn stub(&mut self, level: &Level, wire: &super::layout::level::Wire, tops: &[(f64, f64)], (x, y): (f64, f64)) {
        let Some(value) = wire.value else { return };
        let node = &self.graph.nodes[value];
        let name = node.name.as_deref().unwrap_or(&node.label);
        let end = self.meet(level, wire.to, tops, false, wire.value);
        let text = escaped(&fitting(&format!("{name} {}", wire.label)));
        let from = if wire.back { '↓' } else { '↑' };
        let _ = writeln!(
            self.labels,
            "<path class=\"e\" d=\"M{:.1} {:.1}v12\"/><text class=\"t\" x=\"{:.1}\" y=\"{:.1}\">{from} {text}</text>",
            x + end.0 - 14.0,
            y + end.1 - 12.0,
            x + end.0 - 10.0,
            y + end.1 - 4.0
        );
    }

    fn node(&mut self, id: NodeId, x: f64, y: f64, width: f64, height: f64) {
        let node = &self.graph.nodes[id];
        let class = match node.change {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Kept if node.kind == NodeKind::Operator => node.family.word(),
            Change::Kept => node.kind.word(),
        };
        let fill = match (node.heat, node.change) {
            (Some(own), Change::Kept) => format!(" style=\"fill:{}\"", heat(own.share)),
            _ => String::new(),
        };
        let round = if matches!(node.kind, NodeKind::Input | NodeKind::Output) { height / 2.0 } else { 5.0 };
        let tip = [node.name.as_deref().unwrap_or(""), &node.ty].join(" ");
        let _ = write!(
            self.out,
            "<g><title>{}</title><rect class=\"n {class}\"{fill} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round:.1}\"/>",
            escaped(tip.trim())
        );
        for (at, line) in lines(node).iter().enumerate() {
            let class = if at == 0 { "" } else { " class=\"s\"" };
            let _ = write!(
                self.out,
                "<text{class} text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + width / 2.0,
                y + 17.0 + LINE * at as f64,
                escaped(line)
            );
        }
        self.out.push_str("</g>\n");
    }
}

/// A text inside of XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            // What XML has no place for at all.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
