//! Finds the numbers of a program's sizes from dimensions whose numbers are known: those of inputs, and those that `--set` gives.
//!
//! A dimension that is one size gives its number; one that is computed from a single unknown size, such as `2*seq + 1`, gives it
//! where only one number fits. Every other dimension is checked against what was found. Absent: the messages.

use relayc_ir::sizes::SizeValues;
use relayc_ir::types::{Dim, SymbolId, Symbols};
use rustc_hash::FxHashMap;

/// A dimension that cannot have its number: `first` is the position of the fact that gave the size, `second` of the one that
/// contradicts it. They are the same if no number fits a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Contradiction {
    pub first: usize,
    pub second: usize,
    /// The dimension as text writes it, what it should be, and what it is.
    pub dim: String,
    pub expected: Option<i64>,
    pub found: i64,
}

/// Rounds over dimensions that are computed from sizes; each finds what the rounds before made known.
const MAX_ROUNDS: usize = 16;

/// The numbers of all sizes that the facts determine. Facts are dimensions with their numbers.
pub(crate) fn solve(symbols: &Symbols, facts: &[(Dim, i64)]) -> Result<SizeValues, Contradiction> {
    let mut found: FxHashMap<SymbolId, (i64, usize)> = FxHashMap::default();
    let is_plain = |dim: Dim| matches!(symbols.vars_of(dim)[..], [only] if symbols.dim(only).same(dim));
    let open = facts.iter().enumerate().filter(|(_, (dim, _))| dim.symbol().is_some());
    // What gives a size directly comes first.
    let (mut pending, computed): (Vec<_>, Vec<_>) = open.partition(|(_, (dim, _))| is_plain(*dim));
    pending.extend(computed);
    for _ in 0..MAX_ROUNDS {
        let n_pending = pending.len();
        let mut left = vec![];
        for (at, &(dim, value)) in std::mem::take(&mut pending) {
            if !settle(symbols, dim, value, at, &mut found)? {
                left.push((at, &facts[at]));
            }
        }
        pending = left;
        if pending.len() == n_pending {
            break;
        }
    }
    Ok(found.into_iter().map(|(id, (value, _))| (id, value)).collect())
}

/// Takes a fact: whether it is settled, for there is nothing more to learn from it.
fn settle(
    symbols: &Symbols,
    dim: Dim,
    value: i64,
    at: usize,
    found: &mut FxHashMap<SymbolId, (i64, usize)>,
) -> Result<bool, Contradiction> {
    let vars = symbols.vars_of(dim);
    let unknown: Vec<SymbolId> = vars.iter().copied().filter(|var| !found.contains_key(var)).collect();
    let contradiction = |first: usize, expected: Option<i64>| Contradiction {
        first,
        second: at,
        dim: symbols.text_of(dim),
        expected,
        found: value,
    };
    let with = |var: SymbolId, n: i64| {
        symbols.evaluate(dim, &|id| if id == var { Some(n) } else { found.get(&id).map(|(value, _)| *value) })
    };
    match unknown[..] {
        [] => {
            let computed = symbols.evaluate(dim, &|id| found.get(&id).map(|(value, _)| *value));
            match computed {
                Some(expected) if expected != value => {
                    let first = vars.iter().filter_map(|var| found.get(var)).map(|(_, first)| *first).max();
                    Err(contradiction(first.unwrap_or(at), Some(expected)))
                }
                _ => Ok(true),
            }
        }
        [var] => {
            let (Some(base), Some(one), Some(two)) = (with(var, 0), with(var, 1), with(var, 2)) else { return Ok(false) };
            let step = one.checked_sub(base).filter(|&step| step != 0 && two.checked_sub(one) == Some(step));
            let Some((step, rest)) = step.zip(value.checked_sub(base)) else { return Ok(false) };
            let n = rest.checked_div(step).unwrap_or(-1);
            let fits = |n: i64| with(var, n) == Some(value);
            if n >= 0 && fits(n) && !fits(n - 1) && n.checked_add(1).is_none_or(|next| !fits(next)) {
                found.insert(var, (n, at));
                return Ok(true);
            }
            let is_plain = symbols.dim(var).same(dim);
            if is_plain { Err(contradiction(at, None)) } else { Ok(false) }
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_ir::types::SymbolOp;

    #[test]
    fn sizes_are_found_and_checked() {
        let mut symbols = Symbols::default();
        let mut named = |name: &str| {
            let id = symbols.named(name);
            symbols.dim(id)
        };
        let (n, m) = (named("n"), named("m"));
        let twice = symbols.arith(SymbolOp::Mul, n, Dim::known(2));
        let odd = symbols.arith(SymbolOp::Add, twice, Dim::known(1));
        let half = symbols.arith(SymbolOp::FloorDiv, n, Dim::known(2));
        let both = symbols.arith(SymbolOp::Add, n, m);
        let value = |found: &SizeValues, dim: Dim| symbols.vars_of(dim).first().and_then(|id| found.get(id)).copied();
        let found = solve(&symbols, &[(both, 7), (odd, 9)]).expect("they agree");
        assert_eq!((value(&found, n), value(&found, m)), (Some(4), Some(3)));
        // Two numbers have this half.
        assert_eq!(value(&solve(&symbols, &[(half, 3)]).expect("nothing is known"), n), None);
        let wrong = solve(&symbols, &[(odd, 9), (n, 3), (Dim::Any, 2)]).expect_err("n is 3 or 4");
        assert_eq!(wrong, Contradiction { first: 1, second: 0, dim: "2*n + 1".into(), expected: Some(7), found: 9 });
    }
}
