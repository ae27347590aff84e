//! Boxes, scores and labels as results of their own, in pixels of the input; or rows of class, score and box in parts of it.

use super::{Candidate, shapes, unread};
use crate::outputs::Named;
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;

/// The boxes with a score above the threshold. Errors: E0705 for results of another form.
pub(super) fn candidates(outputs: &Named, input: [usize; 2], threshold: f64) -> Result<Vec<Candidate>, Diagnostic> {
    let rows = outputs.iter().filter_map(|(_, tensor)| rows(tensor, 6, true)).collect::<Vec<&Tensor>>();
    if let [rows] = rows[..] {
        let values = rows.to_f64s();
        let rows = values.as_chunks::<6>().0.iter().map(|&[class, score, a, b, c, d]| (class, score, [a, b, c, d]));
        return Ok(kept(rows, threshold));
    }
    // Masks, keypoints and the like have more axes.
    let boxes = outputs.iter().find_map(|(_, tensor)| rows_of(tensor, 4));
    let found = boxes.and_then(|(boxes, n)| {
        let of = |int: bool| outputs.iter().find_map(|(_, tensor)| column(tensor, n, int));
        Some((boxes, of(false)?, of(true)?))
    });
    let Some((boxes, scores, labels)) = found else {
        return Err(unread(format!("`--detect boxes`: the results are {}", shapes(outputs)))
            .help("it reads boxes of shape (n, 4), scores and labels of shape (n), or rows of class, score and box, (n, 6)"));
    };
    let [width, height] = input.map(|side| side as f64);
    let (boxes, scores) = (boxes.to_f64s(), scores.to_f64s());
    let sides = boxes.as_chunks::<4>().0.iter().map(|&[a, b, c, d]| [a / width, b / height, c / width, d / height]);
    let labels = labels.to_ints().into_iter().map(|label| label as f64);
    Ok(kept(labels.zip(scores).zip(sides).map(|((label, score), sides)| (label, score, sides)), threshold))
}

/// A tensor of rows of `n` numbers, in a batch of one or without.
fn rows(tensor: &Tensor, n: usize, float: bool) -> Option<&Tensor> {
    let is = matches!(*tensor.shape(), [_, last] | [1, _, last] if last == n);
    (is && tensor.dtype().is_float() == float).then_some(tensor)
}

/// [`rows`] of floats, and their number.
fn rows_of(tensor: &Tensor, n: usize) -> Option<(&Tensor, usize)> {
    rows(tensor, n, true).map(|tensor| (tensor, tensor.len() / n))
}

/// A tensor of `n` numbers, in a batch of one or without.
fn column(tensor: &Tensor, n: usize, int: bool) -> Option<&Tensor> {
    let is = matches!(*tensor.shape(), [len] | [1, len] if len == n);
    let dtype = tensor.dtype();
    (is && if int { dtype.is_int() } else { dtype.is_float() }).then_some(tensor)
}

/// A negative class is none: the row is empty.
fn kept(rows: impl Iterator<Item = (f64, f64, [f64; 4])>, threshold: f64) -> Vec<Candidate> {
    /// More classes than this are no classes.
    const MAX_CLASS: f64 = 1e6;
    let rows = rows.filter(|(class, score, sides)| {
        (0.0..MAX_CLASS).contains(class) && *score > threshold && sides.iter().all(|side| side.is_finite())
    });
    rows.map(|(class, score, sides)| Candidate { sides, scores: vec![(class as usize, score)] }).collect()
}
