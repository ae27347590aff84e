//! Boxes of Darknet's layers `[yolo]`, `[region]` and `[detection]`. Each is followed by what says how it is read: mask, anchors
//! and numbers; anchors and numbers; numbers.

use super::{Candidate, shapes, unread};
use crate::outputs::Named;
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;

/// The boxes with a class above the threshold, of all layers.
///
/// Errors: E0705 if there is no such layer, or its numbers are not those of its shape.
pub(super) fn candidates(outputs: &Named, input: [usize; 2], threshold: f64) -> Result<Vec<Candidate>, Diagnostic> {
    let (mut found, mut n_layers, mut rest) = (vec![], 0usize, &outputs[..]);
    while let Some(((name, first), after)) = rest.split_first() {
        let layer = layer_of(first, after);
        let Some((layer, n_parts)) = layer.map_err(|words| unread(format!("`{name}` is {}: {words}", first.type_text())))? else {
            rest = after;
            continue;
        };
        layer.read(&first.to_f64s(), input, threshold, &mut found);
        n_layers += 1;
        rest = &after[n_parts..];
    }
    match n_layers {
        0 => Err(unread(format!("`--detect yolo`: no result is a layer of Darknet that detects, they are {}", shapes(outputs)))
            .help("`relayc import NET.cfg` gives beside such a layer what its boxes are read by")
            .help("`--detect boxes` reads boxes, scores and labels")),
        _ => Ok(found),
    }
}

/// How a layer is read.
enum Layer {
    /// A pixel has boxes, a box these numbers.
    Grid {
        boxes: usize,
        numbers: usize,
        coords: usize,
        h: usize,
        w: usize,
        background: bool,
        /// Width and height of the anchor of each box.
        anchors: Vec<[f64; 2]>,
        /// Whether anchors are in pixels of the input; otherwise in those of the layer.
        of_input: bool,
    },
    /// The first YOLO: the classes of all cells, then how sure all boxes are, then the boxes.
    Cells { boxes: usize, side: usize, classes: usize, rooted: bool },
}

/// The layer that a result is, and how many of the results behind it belong to it. Errors are words.
fn layer_of(first: &Tensor, after: &[(String, Tensor)]) -> Result<Option<(Layer, usize)>, String> {
    if !first.dtype().is_float() {
        return Ok(None);
    }
    let part = |at: usize, int: bool| {
        let tensor = after.get(at).map(|(_, tensor)| tensor).filter(|tensor| tensor.shape().len() == 1);
        tensor.filter(|tensor| if int { tensor.dtype().is_int() } else { tensor.dtype().is_float() })
    };
    let ints = |tensor: &Tensor| -> Option<Vec<usize>> {
        tensor.to_ints().into_iter().map(|value| usize::try_from(value).ok().filter(|&value| value < 1 << 31)).collect()
    };
    let pairs = |tensor: &Tensor| -> Vec<[f64; 2]> { tensor.to_f64s().as_chunks::<2>().0.to_vec() };
    let numbers = |at: usize, n: usize| part(at, true).filter(|tensor| tensor.len() == n);
    match *first.shape() {
        [batch, c, h, w] => {
            let yolo = part(0, true).zip(part(1, false)).zip(numbers(2, 6));
            let region = part(0, false).zip(numbers(1, 7));
            let (anchors, attr, coords, of_input) = match (yolo, region) {
                (Some(((mask, anchors), attr)), _) => {
                    let anchors = pairs(anchors);
                    let masked: Option<Vec<[f64; 2]>> =
                        ints(mask).and_then(|mask| mask.into_iter().map(|at| anchors.get(at).copied()).collect());
                    let masked = masked.ok_or("its mask names an anchor that it does not have")?;
                    (masked, ints(attr), 4, true)
                }
                (None, Some((anchors, attr))) => {
                    let attr = ints(attr);
                    let coords = attr.as_ref().map_or(4, |attr| attr[5]);
                    (pairs(anchors), attr, coords, false)
                }
                (None, None) => return Ok(None),
            };
            let attr = attr.ok_or("its numbers are negative")?;
            let (boxes, classes) = (attr[0], attr[4]);
            let background = !of_input && attr[6] != 0;
            let each = coords + 1 + classes;
            if boxes.checked_mul(each) != Some(c) || attr[1..4] != [c, h, w] || anchors.len() != boxes || coords < 4 {
                return Err(format!(
                    "its numbers {attr:?} are not those of its shape, or {boxes} boxes do not have an anchor each"
                ));
            }
            if batch != 1 {
                return Err("boxes are read for a batch of 1".into());
            }
            Ok(Some((
                Layer::Grid { boxes, numbers: each, coords, h, w, background, anchors, of_input },
                if of_input { 3 } else { 2 },
            )))
        }
        [batch, size] => {
            let Some(attr) = numbers(0, 5) else { return Ok(None) };
            let attr = ints(attr).ok_or("its numbers are negative")?;
            let [boxes, side, classes, coords, rooted] = attr[..] else { return Ok(None) };
            let each = boxes.checked_mul(5).and_then(|numbers| numbers.checked_add(classes));
            let all = each.and_then(|each| each.checked_mul(side)?.checked_mul(side));
            match all == Some(size) && coords == 4 && batch == 1 {
                true => Ok(Some((Layer::Cells { boxes, side, classes, rooted: rooted != 0 }, 1))),
                false => Err(format!("its numbers {attr:?} are not those of its shape")),
            }
        }
        _ => Ok(None),
    }
}

impl Layer {
    fn read(&self, values: &[f64], input: [usize; 2], threshold: f64, found: &mut Vec<Candidate>) {
        match self {
            Layer::Grid { boxes, numbers, coords, h, w, background, anchors, of_input } => {
                let plane = h * w;
                let scale = if *of_input { input } else { [*w, *h] };
                for at in 0..boxes * plane {
                    let (of_pixel, pixel) = (at / plane, at % plane);
                    let value = |number: usize| values[(of_pixel * numbers + number) * plane + pixel];
                    let sure = if *background { 1.0 } else { value(*coords) };
                    if sure.is_nan() || sure <= threshold {
                        continue;
                    }
                    let [x, y] = [((pixel % w) as f64 + value(0)) / *w as f64, ((pixel / w) as f64 + value(1)) / *h as f64];
                    let size = |axis: usize| value(2 + axis).exp() * anchors[of_pixel][axis] / scale[axis] as f64;
                    let scores = (coords + 1..*numbers).map(|number| sure * value(number));
                    push(found, [x, y, size(0), size(1)], scores, threshold);
                }
            }
            Layer::Cells { boxes, side, classes, rooted } => {
                let cells = side * side;
                for (cell, of_cell) in (0..cells).flat_map(|cell| (0..*boxes).map(move |of_cell| (cell, of_cell))) {
                    let at = cell * boxes + of_cell;
                    let sure = values[cells * classes + at];
                    let place = &values[cells * (classes + boxes) + at * 4..][..4];
                    let center = |axis: usize, cell: usize| (place[axis] + cell as f64) / *side as f64;
                    let size = |axis: usize| if *rooted { place[axis] * place[axis] } else { place[axis] };
                    let scores = values[cell * classes..][..*classes].iter().map(|score| sure * score);
                    push(found, [center(0, cell % side), center(1, cell / side), size(2), size(3)], scores, threshold);
                }
            }
        }
    }
}

/// Adds a box by its middle and size, with the classes above the threshold, if there are any.
fn push(found: &mut Vec<Candidate>, [x, y, w, h]: [f64; 4], scores: impl Iterator<Item = f64>, threshold: f64) {
    let sides = [x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0];
    let scores: Vec<(usize, f64)> = scores.enumerate().filter(|(_, score)| *score > threshold).collect();
    if !scores.is_empty() && sides.iter().all(|side| side.is_finite()) {
        found.push(Candidate { sides, scores });
    }
}
