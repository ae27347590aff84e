//! Lanes: lines beside the rows that carry a value from the row that makes it to the last row that takes it.

use crate::graph::NodeId;
use rustc_hash::FxHashMap;

/// Maximum number of simultaneous lanes; other values are named where they are taken.
pub(crate) const MAX_LANES: usize = 16;

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

#[derive(Default)]
pub(crate) struct Lanes {
    lanes: Vec<Option<NodeId>>,
    /// Remaining number of rows that take each value.
    left: FxHashMap<NodeId, usize>,
}

/// A row's lines, and the operands without a lane.
pub(crate) struct Drawn {
    pub(crate) lines: String,
    pub(crate) unseen: Vec<NodeId>,
}

impl Lanes {
    /// Lanes for values, given the number of users of each.
    pub(crate) fn new(uses: FxHashMap<NodeId, usize>) -> Lanes {
        Lanes { lanes: vec![], left: uses }
    }

    /// Draws the row of a node that takes these values, each named once.
    pub(crate) fn node(&mut self, node: NodeId, operands: &[NodeId], mark: char) -> Drawn {
        let mut taken: Vec<(usize, bool)> = vec![];
        let mut unseen = vec![];
        for &operand in operands {
            let left = self.left.entry(operand).or_insert(1);
            *left = left.saturating_sub(1);
            let ends = *left == 0;
            match self.lanes.iter().position(|&lane| lane == Some(operand)) {
                Some(lane) => taken.push((lane, ends)),
                None => unseen.push(operand),
            }
        }
        let ended = taken.iter().filter(|(_, ends)| *ends).map(|(lane, _)| *lane).min();
        let from = taken.first().map_or(0, |(lane, _)| lane + 1);
        let at = ended.unwrap_or_else(|| self.free(from));
        let mut cells: Vec<u8> = vec![0; (2 * self.lanes.len().max(at + 1)).max(1) - 1];
        for (lane, value) in self.lanes.iter().enumerate() {
            if value.is_some() {
                cells[2 * lane] = UP | DOWN;
            }
        }
        for &(lane, ends) in taken.iter().filter(|(lane, _)| *lane != at) {
            cells[2 * lane] |= if lane > at { LEFT } else { RIGHT };
            if ends {
                cells[2 * lane] &= !DOWN;
            }
        }
        taken.iter().for_each(|(lane, _)| connect(&mut cells, at, *lane));
        let mut lines: Vec<char> = cells.into_iter().map(sign).collect();
        lines[2 * at] = mark;
        for (lane, ends) in taken {
            if ends {
                self.lanes[lane] = None;
            }
        }
        if at >= self.lanes.len() {
            self.lanes.resize(at + 1, None);
        }
        self.lanes[at] = (self.left.get(&node).copied().unwrap_or(0) > 0 && at < MAX_LANES).then_some(node);
        self.shrink();
        Drawn { lines: lines.into_iter().collect::<String>().trim_end().to_owned(), unseen }
    }

    /// Draws the lines of a row without a node.
    pub(crate) fn rest(&self) -> String {
        let signs: Vec<&str> = self.lanes.iter().map(|lane| if lane.is_some() { "│" } else { " " }).collect();
        signs.join(" ").trim_end().to_owned()
    }

    fn free(&self, from: usize) -> usize {
        let right = (from..self.lanes.len()).find(|&lane| self.lanes[lane].is_none());
        right.unwrap_or(self.lanes.len())
    }

    fn shrink(&mut self) {
        while self.lanes.last() == Some(&None) {
            self.lanes.pop();
        }
    }
}

/// Draws a line from a lane to the node's, behind lanes in between unless they lead to the node too.
fn connect(cells: &mut [u8], at: usize, lane: usize) {
    let (low, high) = (2 * at.min(lane) + 1, 2 * at.max(lane));
    for cell in cells.get_mut(low..high).unwrap_or_default() {
        match *cell {
            0 => *cell = LEFT | RIGHT,
            joined if joined & (LEFT | RIGHT) != 0 => *cell |= LEFT | RIGHT,
            _ => {}
        }
    }
}

fn sign(cell: u8) -> char {
    match (cell & UP != 0, cell & DOWN != 0, cell & LEFT != 0, cell & RIGHT != 0) {
        (true, true, true, true) => '┼',
        (true, true, true, false) => '┤',
        (true, true, false, true) => '├',
        (true, true, false, false) => '│',
        (true, false, true, true) => '┴',
        (true, false, true, false) => '╯',
        (true, false, false, true) => '╰',
        (false, _, true, true) => '─',
        (false, _, true, false) => '╮',
        (false, _, false, true) => '╭',
        _ => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::Idx;

    #[test]
    fn a_value_that_is_taken_twice_goes_on() {
        let [x, conv, add] = [0, 1, 2].map(NodeId::from_usize);
        let uses = [(x, 2), (conv, 1)].into_iter().collect();
        let mut lanes = Lanes::new(uses);
        assert_eq!(lanes.node(x, &[], '●').lines, "●");
        assert_eq!(lanes.node(conv, &[x], '●').lines, "├─●");
        assert_eq!(lanes.rest(), "│ │");
        assert_eq!(lanes.node(add, &[conv, x], '●').lines, "●─╯");
        assert_eq!(lanes.rest(), "");
    }

    #[test]
    fn lines_go_behind_lanes_that_do_not_join() {
        let [a, b, c, d] = [0, 1, 2, 3].map(NodeId::from_usize);
        let uses = [(a, 1), (b, 1), (c, 1)].into_iter().collect();
        let mut lanes = Lanes::new(uses);
        for (node, lines) in [(a, "●"), (b, "│ ●"), (c, "│ │ ●")] {
            assert_eq!(lanes.node(node, &[], '●').lines, lines);
        }
        assert_eq!(lanes.node(d, &[c, a], '●').lines, "●─│─╯");
    }
}
