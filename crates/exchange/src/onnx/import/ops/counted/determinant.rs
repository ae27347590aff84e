//! Converts determinants of small matrices.

use super::building_blocks::*;
use super::{Converter, op};

/// The most rows whose determinant is written out: there is a minor for each set of rows.
const MAX_ROWS: i64 = 4;

/// Laplace's expansion: the minor of a set of `k + 1` rows in the first `k + 1` columns is the sum, over its rows in order `i`, of
/// `(-1)^(i + k)` times the row's element in column `k` times the minor without the row.
fn determinant(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let of_rows = rank.checked_sub(2).ok_or_else(|| Refusal::wrong("an operand without matrices"))?;
    let (n, n_columns) = (cx.size(x, of_rows)?, cx.size(x, rank - 1)?);
    if n != n_columns {
        return Err(Refusal::wrong(format!("the determinant of {n} rows and {n_columns} columns")));
    }
    if !(1..=MAX_ROWS).contains(&n) {
        return Err(refuse(format!("a determinant of {n} rows, each minor of which would be written out")));
    }
    // By sets of rows, as the bits of their numbers: a set with fewer rows is a smaller number.
    let mut minors: Vec<Option<Val>> = vec![None];
    for set in 1usize..1 << n {
        let column = i64::from(set.count_ones()) - 1;
        let mut sum: Option<Val> = None;
        for (i, row) in (0i64..).zip((0..n).filter(|row| set & 1 << row != 0)) {
            let elements = cx.at(x, column, rank - 1)?;
            let element = cx.at(elements, row, of_rows)?;
            let product = match minors[set & !(1 << row)] {
                Some(minor) => cx.binary("multiply", element, minor)?,
                None => element,
            };
            sum = Some(match (sum, (i + column) % 2 == 0) {
                (None, true) => product,
                (None, false) => cx.unary("negative", product)?,
                (Some(sum), true) => cx.binary("add", sum, product)?,
                (Some(sum), false) => cx.binary("subtract", sum, product)?,
            });
        }
        minors.push(sum);
    }
    minors.pop().flatten().map(|all| vec![all]).ok_or_else(|| Refusal::wrong("a determinant of no rows"))
}

pub(crate) const FAMILY: &[Converter] = &[op("Det", &[11, 22], determinant).but("more than four rows, or an unknown number")];
