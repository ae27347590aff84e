//! Draws detections on a picture: a frame for each box, and above it its classes with their scores.
//!
//! A class has the same colour on every picture. Letters are those of `font8x8`, enlarged with the picture; what it does not
//! have is a question mark.

use crate::detect::{Detection, name};
use font8x8::{BASIC_FONTS, LATIN_FONTS, UnicodeFonts};
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;
use relayc_weights::images;

/// The side of a letter before it is enlarged.
const LETTER: usize = 8;

/// The picture with its detections, as a PNG file of a name. Errors: E0702.
pub fn png(name: &str, picture: &Tensor, found: &[Detection], labels: Option<&[String]>) -> Result<Vec<u8>, Diagnostic> {
    images::write_png(name, &drawn(picture, found, labels))
}

/// The picture (height, width, three channels) with its detections.
fn drawn(picture: &Tensor, found: &[Detection], labels: Option<&[String]>) -> Tensor {
    let shape = picture.shape().to_vec();
    let values = picture.to_ints().into_iter().map(|value| u8::try_from(value).unwrap_or(u8::MAX)).collect();
    let mut canvas = Canvas { values, height: shape[0], width: shape[1] };
    // The best are drawn last, over the others.
    for detection in found.iter().rev() {
        canvas.detection(detection, labels);
    }
    Tensor::from_vec(&shape, canvas.values)
}

struct Canvas {
    values: Vec<u8>,
    height: usize,
    width: usize,
}

impl Canvas {
    /// Fills columns `x` and rows `y`, as far as they are in the picture.
    fn fill(&mut self, x: std::ops::Range<usize>, y: std::ops::Range<usize>, colour: [u8; 3]) {
        let (left, right) = (x.start.min(self.width), x.end.min(self.width));
        for row in y.start..y.end.min(self.height) {
            let start = (row * self.width + left) * 3;
            let end = (row * self.width + right.max(left)) * 3;
            self.values[start..end].as_chunks_mut::<3>().0.fill(colour);
        }
    }

    fn detection(&mut self, detection: &Detection, labels: Option<&[String]>) {
        let Some(&(class, _)) = detection.classes.first() else { return };
        let colour = colour(class);
        let line = (self.height.min(self.width) * 6 / 1000).max(1);
        // Places are inside of the picture (`View::placed`).
        let at = |place: f64, length: usize| (place.round() as usize).min(length.saturating_sub(1));
        let (left, right) = (at(detection.left, self.width), at(detection.right, self.width));
        let (top, bottom) = (at(detection.top, self.height), at(detection.bottom, self.height));
        let (end_x, end_y) = (right + 1, bottom + 1);
        self.fill(left..end_x, top..(top + line).min(end_y), colour);
        self.fill(left..end_x, end_y.saturating_sub(line).max(top)..end_y, colour);
        self.fill(left..(left + line).min(end_x), top..end_y, colour);
        self.fill(end_x.saturating_sub(line).max(left)..end_x, top..end_y, colour);
        let words: Vec<String> =
            detection.classes.iter().map(|&(class, score)| format!("{} {score:.2}", name(class, labels))).collect();
        self.words(&words.join(", "), left, top, colour);
    }

    /// Words on a ground of the box's colour, above it, or inside if there is no room.
    fn words(&mut self, words: &str, left: usize, top: usize, colour: [u8; 3]) {
        let scale = (self.height.min(self.width) / 300).max(1);
        let size = LETTER * scale;
        let margin = scale;
        let ground = size + 2 * margin;
        let y = top.saturating_sub(ground);
        let n = words.chars().count().min(self.width / size + 1);
        self.fill(left..left + n * size + 2 * margin, y..y + ground, colour);
        for (at, letter) in words.chars().take(n).enumerate() {
            let glyph = BASIC_FONTS.get(letter).or_else(|| LATIN_FONTS.get(letter)).or_else(|| BASIC_FONTS.get('?'));
            let x = left + margin + at * size;
            for (row, bits) in glyph.unwrap_or_default().into_iter().enumerate() {
                for column in (0..LETTER).filter(|column| bits >> column & 1 == 1) {
                    let (x, y) = (x + column * scale, y + margin + row * scale);
                    self.fill(x..x + scale, y..y + scale, [0, 0, 0]);
                }
            }
        }
    }
}

/// A bright colour; classes next to each other differ much, since their hues are a golden section apart.
fn colour(class: usize) -> [u8; 3] {
    let hue = (class as f64 * 0.618_033_988_75).fract() * 6.0;
    let channel = |offset: f64| {
        let place = (hue + offset) % 6.0;
        let bright = (place.min(4.0 - place)).clamp(0.0, 1.0);
        (80.0 + 175.0 * bright) as u8
    };
    [channel(2.0), channel(0.0), channel(4.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_and_words_stay_inside_of_the_picture() {
        let picture = Tensor::from_vec(&[20, 30, 3], vec![7u8; 1800]);
        let found = |left, top, right, bottom| Detection { left, top, right, bottom, classes: vec![(3, 0.75)] };
        for detection in [found(0.0, 0.0, 30.0, 20.0), found(29.0, 19.0, 29.0, 19.0), found(5.0, 12.0, 20.0, 18.0)] {
            let drawn = drawn(&picture, std::slice::from_ref(&detection), Some(&["ü→".to_owned()])).to_ints();
            let at = |x: f64, y: f64| drawn[((y as usize).min(19) * 30 + (x as usize).min(29)) * 3..][..3].to_vec();
            let own: Vec<i128> = colour(3).map(i128::from).to_vec();
            assert_eq!(at(detection.right, detection.bottom), own);
            assert_eq!(at(detection.left, detection.bottom), own);
        }
        assert_eq!(drawn(&picture, &[], None), picture);
    }

    #[test]
    fn neighbours_have_colours_of_their_own() {
        let mut colours: Vec<[u8; 3]> = (0..80).map(colour).collect();
        colours.sort_unstable();
        colours.dedup();
        assert!(colours.len() > 70, "{}", colours.len());
    }
}
