//! What operators say of wrong operands, found by calling them with such operands: an artifact has the words, and a run the number.

use relayc_base::diag::Diagnostic;
use relayc_ir::kernel::{Boxes, OfBin, Regions, Routine, Sparse, SparseForm};
use relayc_runtime::lines::MESSAGES;

/// A code, and the words around a number, if there is one.
#[derive(Default)]
pub(super) struct Message {
    pub(super) code: &'static str,
    pub(super) before: String,
    pub(super) behind: String,
}

/// What a call says of operands, given the element of each operand at each place.
pub(super) type Failure<'a> = &'a dyn Fn(&dyn Fn(usize, usize) -> f64) -> Option<Box<Diagnostic>>;

/// Greater than all that there may be, in any dtype.
const MUCH: f64 = 1e30;

/// The messages of work in lines, in the order of the numbers that its check gives.
pub(super) fn of_lines(routine: &Routine, failure: Failure) -> [Option<Message>; MESSAGES] {
    // One operand is this number, and all others are 0.
    let of = |operand: usize, number: f64| failure(&|at, _| if at == operand { number } else { 0.0 });
    match routine {
        Routine::Boxes(Boxes::Suppress(_)) => [of(1, MUCH).or_else(|| of(1, -MUCH)).map(around), None, None],
        Routine::Boxes(Boxes::Regions(Regions { of_bin, points, .. })) => {
            // Where no region has too many points, all of them would be computed here.
            let may_be_many = *points == 0 && *of_bin != OfBin::LargestElement;
            let many = || failure(&|at, i| if at == 1 && i % 5 > 2 { MUCH } else { 0.0 });
            [of(1, MUCH).map(around), may_be_many.then(many).flatten().map(around), None]
        }
        Routine::Sparse(work) => of_sparse(work, failure),
        Routine::QuantizedSoftmax(_) => {
            let of_scales = |scales: [f64; 2]| {
                let failed = failure(&|at, _| match at {
                    1 => scales[0],
                    3 => scales[1],
                    _ => 0.0,
                });
                failed.map(|failed| said(&failed, failed.message.clone(), ""))
            };
            // Powers add up to 0 for a scale that stands for none, as those of -2^33 do.
            [of_scales([2.0, 1.0]), of_scales([-8_589_934_592.0, 1.0]), of_scales([1.0, 0.0])]
        }
        Routine::StridedSet(work) => {
            let stride = failure(&|_, _| 0.0).filter(|_| work.lists[2].0 > 0);
            let count = failure(&|at, _| if at == 4 { 1.0 } else { 0.0 });
            // A part that is as large as no positions is one of wrong positions for others.
            let count = count.or_else(|| failure(&|at, _| if at == 3 || at == 4 { 1.0 } else { 0.0 }));
            let stride = stride.map(|failed| said(&failed, failed.message.clone(), ""));
            let count = count.map(|failed| {
                let (before, rest) = cut(&failed.message, "takes ");
                let (_, place) = cut(rest, "v has ");
                said(
                    &failed,
                    before.to_owned(),
                    &format!(" positions of an axis, v has others{}", place.trim_start_matches(is_digit)),
                )
            });
            [stride, count, None]
        }
        _ => [None, None, None],
    }
}

fn of_sparse(work: &Sparse, failure: Failure) -> [Option<Message>; MESSAGES] {
    let is_transpose = work.form == SparseForm::Transpose;
    let (indices, starts) = if is_transpose { (1, 2) } else { (2, 3) };
    // The first row has an element whose column is wrong.
    let column = failure(&|at, i| match at {
        _ if at == indices => MUCH,
        _ if at == starts && i > 0 => 1.0,
        _ => 0.0,
    });
    let row = [MUCH, -1.0].into_iter().find_map(|start| failure(&|at, _| if at == starts { start } else { 0.0 }));
    let rest = failure(&|_, _| 0.0).filter(|_| is_transpose);
    [column, row, rest].map(|failed| failed.map(around))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || c == '-'
}

/// A text up to the end of some words, and the rest.
fn cut<'a>(text: &'a str, words: &str) -> (&'a str, &'a str) {
    text.split_at(text.find(words).map_or(text.len(), |at| at + words.len()))
}

/// The words around the first number of a message, behind the operator's name.
fn around(failed: Box<Diagnostic>) -> Message {
    let (name, rest) = cut(&failed.message, "`: ");
    let start = rest.find(is_digit).unwrap_or(rest.len());
    said(&failed, [name, &rest[..start]].concat(), rest[start..].trim_start_matches(is_digit))
}

/// The words for a message.
fn said(failed: &Diagnostic, before: String, behind: &str) -> Message {
    Message { code: failed.code.id(), before, behind: behind.to_owned() }
}
