//! Reads what a network has detected: boxes with classes, for `relayc run --detect`.
//!
//! Two forms of results are read. `yolo`: the layers of Darknet that detect, with what TVM's importer gives beside them
//! (`relayc import` of a `.cfg`); boxes are read as in `python/tvm/relay/testing/yolo_detection.py`. `boxes`: boxes, scores and
//! labels, as the SSD and R-CNN networks of torchvision give them, or rows of class, score and box, as `vision.multibox_*` do.

mod boxes;
mod yolo;

use crate::bind::Bound;
use crate::bind::source::Source;
use crate::outputs::Named;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::one_line;
use relayc_ir::tensor::Tensor;
use relayc_sys as sys;
use relayc_weights::images::{self, Preset};
use std::path::Path;

/// The form of the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Head {
    Yolo,
    Boxes,
}

/// What counts as detected.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub head: Head,
    /// The least score, which is not enough.
    pub threshold: f64,
    /// How much two boxes of a class may overlap: their intersection over their union. `None` is 0.45 for `yolo`; the others
    /// have left overlapping boxes out themselves.
    pub nms: Option<f64>,
}

/// What the network has seen: the size of its input, and the picture that was put there.
pub struct View {
    /// Width and height.
    input: [usize; 2],
    picture: Option<Picture>,
}

struct Picture {
    /// Height, width and three channels.
    pixels: Tensor,
    size: [usize; 2],
    letterboxed: bool,
}

/// A box with its classes. Places are pixels of the picture, or of the input if there is no picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    /// Classes above the threshold with their scores, the best first.
    pub classes: Vec<(usize, f64)>,
}

/// A box in parts of the network's input, from 0 to 1, with a score for each class.
#[derive(Clone, Debug)]
struct Candidate {
    /// Left, top, right and bottom.
    sides: [f64; 4],
    scores: Vec<(usize, f64)>,
}

impl View {
    /// The first input that is an image, and the picture of `-i NAME=@FILE:PRESET`, as written.
    ///
    /// Errors: E0705 if no input is an image; those of the picture's file.
    pub fn of(inputs: &[String], bound: &[Bound]) -> Result<View, Diagnostic> {
        let size = |bound: &Bound| match bound {
            Bound::Tensor(tensor) => match *tensor.shape() {
                [1, h, w, 1 | 3] | [h, w, 1 | 3] | [1, _, h, w] | [_, h, w] if tensor.dtype().is_float() => Some([w, h]),
                _ => None,
            },
            Bound::Tuple(_) => None,
        };
        let input = bound.iter().find_map(size).filter(|size| size.iter().all(|&side| side > 0)).ok_or_else(|| {
            Diagnostic::new(codes::E0705, "`--detect`: no input is one image").help("boxes are read for a batch of 1")
        })?;
        for text in inputs {
            let Some((_, spec)) = text.split_once('=') else { continue };
            let Ok(Source::File { path, key: Some(preset) }) = Source::parse(spec) else { continue };
            let Ok(preset) = Preset::find(preset) else { continue };
            let bytes = sys::read_file(Path::new(path), sys::Limit::data())?;
            if !images::is_picture(&bytes) {
                continue;
            }
            let pixels = images::pixels(path, &bytes)?;
            let size = [pixels.shape()[1], pixels.shape()[0]];
            return Ok(View { input, picture: Some(Picture { pixels, size, letterboxed: preset == Preset::Letterbox }) });
        }
        Ok(View { input, picture: None })
    }

    /// The pixels of the picture. Errors: E0707 if there is none.
    pub fn pixels(&self) -> Result<Tensor, Diagnostic> {
        let pixels = self.picture.as_ref().map(|picture| picture.pixels.clone());
        pixels.ok_or_else(|| {
            Diagnostic::new(codes::E0707, "`--draw` draws on the picture of an input, and none is given")
                .help("`-i data=@photo.jpg:letterbox` gives one")
        })
    }

    /// Width and height of what the places are pixels of.
    fn size(&self) -> [usize; 2] {
        self.picture.as_ref().map_or(self.input, |picture| picture.size)
    }

    /// A box in pixels. In a letterbox, the picture is only the middle of the input.
    fn placed(&self, candidate: &Candidate) -> Detection {
        let inner = match &self.picture {
            Some(picture) if picture.letterboxed => {
                let (width, height) = images::letterbox(picture.size, self.input);
                [width, height]
            }
            _ => self.input,
        };
        let place = |at: f64, axis: usize| {
            let (all, inner, size) = (self.input[axis] as f64, inner[axis] as f64, self.size()[axis] as f64);
            ((at * all - (all - inner) / 2.0) / inner * size).clamp(0.0, size)
        };
        let [left, top, right, bottom] = candidate.sides;
        Detection {
            left: place(left, 0),
            top: place(top, 1),
            right: place(right, 0),
            bottom: place(bottom, 1),
            classes: candidate.scores.clone(),
        }
    }
}

/// What a network has detected, the best first. Errors: E0705 for results that are not read so.
pub fn detections(outputs: &Named, view: &View, request: &Request) -> Result<Vec<Detection>, Diagnostic> {
    let (mut found, nms) = match request.head {
        Head::Yolo => (yolo::candidates(outputs, view.input, request.threshold)?, Some(request.nms.unwrap_or(0.45))),
        Head::Boxes => (boxes::candidates(outputs, view.input, request.threshold)?, request.nms),
    };
    if let Some(most) = nms {
        suppress(&mut found, most);
    }
    found.retain(|candidate| !candidate.scores.is_empty());
    for candidate in &mut found {
        candidate.scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    }
    let best = |candidate: &Candidate| candidate.scores.first().map_or(0.0, |(_, score)| *score);
    found.sort_by(|a, b| best(b).total_cmp(&best(a)));
    Ok(found.iter().map(|candidate| view.placed(candidate)).collect())
}

/// Takes a class from each box that overlaps a better one of the class.
fn suppress(found: &mut [Candidate], most: f64) {
    let n_classes = found.iter().flat_map(|candidate| &candidate.scores).map(|(class, _)| class + 1).max().unwrap_or(0);
    let mut of_class: Vec<Vec<(usize, f64)>> = vec![vec![]; n_classes];
    for (at, candidate) in found.iter().enumerate() {
        for &(class, score) in &candidate.scores {
            of_class[class].push((at, score));
        }
    }
    for (class, mut ranked) in of_class.into_iter().enumerate() {
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut kept: Vec<[f64; 4]> = vec![];
        for (at, _) in ranked {
            let sides = found[at].sides;
            if kept.iter().any(|better| overlap(*better, sides) > most) {
                found[at].scores.retain(|(other, _)| *other != class);
            } else {
                kept.push(sides);
            }
        }
    }
}

/// The intersection of two boxes over their union.
fn overlap(a: [f64; 4], b: [f64; 4]) -> f64 {
    let side = |low: usize, high: usize| (a[high].min(b[high]) - a[low].max(b[low])).max(0.0);
    let area = |x: [f64; 4]| (x[2] - x[0]) * (x[3] - x[1]);
    let both = side(0, 2) * side(1, 3);
    both / (area(a) + area(b) - both)
}

/// The name of a class.
pub(crate) fn name(class: usize, labels: Option<&[String]>) -> String {
    labels.and_then(|labels| labels.get(class)).cloned().unwrap_or_else(|| format!("class {class}"))
}

/// The detections as a table: score, left, top, right, bottom, class, label; one line for each class of a box.
pub fn table(found: &[Detection], labels: Option<&[String]>) -> String {
    let mut out = String::new();
    for detection in found {
        for &(class, score) in &detection.classes {
            let [left, top, right, bottom] = [detection.left, detection.top, detection.right, detection.bottom].map(f64::round);
            let label = if labels.is_some() { format!("  {}", one_line(&name(class, labels))) } else { String::new() };
            out.push_str(&format!("{:>7.2}%  {left:>6} {top:>6} {right:>6} {bottom:>6}  {class:>6}{label}\n", score * 100.0));
        }
    }
    if out.is_empty() { "nothing detected\n".into() } else { out }
}

/// A result that is not read so.
fn unread(words: String) -> Diagnostic {
    Diagnostic::new(codes::E0705, words)
}

/// The results by name and shape, for messages.
fn shapes(outputs: &Named) -> String {
    let all: Vec<String> = outputs.iter().take(8).map(|(name, tensor)| format!("`{name}` {}", tensor.type_text())).collect();
    relayc_base::text::join_words(&all, "and")
}

#[cfg(test)]
mod tests;
