//! Writes the sizes in a step otherwise.

/// The attributes that are shapes.
const SHAPES: [&str; 2] = [" shape=[", " newshape=["];

/// A step with other sizes in its shapes.
pub(super) fn rewritten(step: &str, dim: &dyn Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(step.len());
    let mut left = step;
    loop {
        let found = SHAPES.iter().filter_map(|name| Some(left.find(name)? + name.len())).min();
        let Some(start) = found else { break };
        let (before, list) = left.split_at(start);
        let (list, rest) = list.split_at(list.find(']').expect("a list ends"));
        out.push_str(before);
        let sizes = list.split(", ").map(|size| size.parse().map_or(size.to_owned(), dim));
        out.push_str(&sizes.collect::<Vec<_>>().join(", "));
        left = rest;
    }
    out + left
}
