//! Assigns ranks: every edge goes down by at least one, and no node is higher than its predecessors require.

use super::{End, Flow};

/// The rank of each node, from 0 on. A back edge counts as reversed.
pub(crate) fn ranks(flow: &Flow) -> Vec<usize> {
    let n = flow.nodes.len();
    let (mut users, mut sources) = (vec![vec![]; n], vec![vec![]; n]);
    for &(from, to) in &flow.edges {
        let (first, second) = (from.min(to), from.max(to));
        if first != second {
            users[first].push(second);
            sources[second].push(first);
        }
    }
    // Borders are before and behind everything; the nodes' order need not say so.
    let rest: Vec<usize> = (0..n).filter(|&node| flow.nodes[node].end == End::Anywhere).collect();
    let has_top = flow.nodes.iter().any(|node| node.end == End::Top);
    let mut ranks = vec![0usize; n];
    for &node in &rest {
        let above =
            sources[node].iter().filter(|&&source| flow.nodes[source].end != End::Bottom).map(|&source| ranks[source] + 1);
        ranks[node] = above.max().unwrap_or(0).max(usize::from(has_top));
    }
    // What more users wait for than it waits for itself goes down to them.
    for &node in rest.iter().rev() {
        let below = users[node].iter().filter(|&&user| flow.nodes[user].end == End::Anywhere).map(|&user| ranks[user]);
        if let Some(lowest) = below.min()
            && users[node].len() > sources[node].len()
        {
            ranks[node] = ranks[node].max(lowest - 1);
        }
    }
    let last = rest.iter().map(|&node| ranks[node] + 1).max().unwrap_or(usize::from(has_top));
    for (node, own) in flow.nodes.iter().enumerate() {
        if own.end == End::Bottom {
            ranks[node] = last;
        }
    }
    ranks
}
