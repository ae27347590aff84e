//! Images (PNG, JPEG) as tensors, by a preset that maps pixels to numbers.
//!
//! Size and layout follow from the parameter's shape. Rank 4 is NCHW or NHWC with a batch of 1, rank 3 CHW or HWC, rank 2 HW.
//! The channel axis is the one of size 1 or 3, the first if both fit. One channel is grey, three are RGB. A `?` height or width
//! is the image's own.
//!
//! Resizing is a triangle filter as wide as the reduction, Pillow's `BILINEAR`; grey is Pillow's `L` (ITU-R 601). The whole
//! image is used without cropping; the preset `letterbox` keeps its proportions, the others do not. A picture is turned as its Exif
//! orientation says, as every viewer shows it. Transparency is ignored.

mod decode;
mod orientation;
mod resize;

use super::errors;
use decode::decode;
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::size::checked_size;
use relayc_ir::types::{DType, Dim, shape_text};
use resize::resize;

/// How numbers are computed from pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// `(value - mean) / std` for each of three channels, over the ImageNet images, values 0 to 255.
    Imagenet,
    /// 0 to 1, RGB or grey.
    Unit,
    /// 0 to 1, RGB, in its proportions in the middle, with 0.5 above and below or at the sides: the input of Darknet.
    Letterbox,
    /// 0 to 1, grey, 28×28: the digits of MNIST. Fits every shape of 784 elements.
    Grey28,
}

/// Every preset with a line for messages.
pub const PRESETS: [(&str, &str); 4] = [
    ("imagenet", "RGB, less the mean 123.68, 116.779, 103.939, divided by 58.393, 57.12, 57.375"),
    ("unit", "RGB or grey by the number of channels, from 0 to 1"),
    ("letterbox", "RGB from 0 to 1, in its proportions, with 0.5 around it"),
    ("grey28", "grey, 28x28, from 0 to 1"),
];

const MEAN: [f32; 3] = [123.68, 116.779, 103.939];
const STD: [f32; 3] = [58.393, 57.12, 57.375];

/// Maximum width and height of an image.
const MAX_SIDE: usize = 16_384;
/// Maximum bytes for decoding, and for resizing.
const MAX_WORK: usize = 1 << 30;

impl Preset {
    /// The preset of that name. Errors: E0707, which lists all presets and suggests the closest.
    pub fn find(name: &str) -> Result<Preset, Diagnostic> {
        match name {
            "imagenet" => Ok(Preset::Imagenet),
            "unit" => Ok(Preset::Unit),
            "letterbox" => Ok(Preset::Letterbox),
            "grey28" => Ok(Preset::Grey28),
            _ => Err(errors::unknown_preset(name, &PRESETS)),
        }
    }
}

/// Whether the bytes start as a PNG or JPEG file does.
pub fn is_picture(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n") || bytes.starts_with(b"\xff\xd8\xff")
}

/// Pixels in rows, the channels of a pixel side by side: RGB, or one of grey.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Image {
    width: usize,
    height: usize,
    channels: usize,
    values: Vec<u8>,
}

/// The destination of the pixels; `None` is a side of the image itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Frame {
    channels: usize,
    height: Option<usize>,
    width: Option<usize>,
    channels_last: bool,
}

/// Converts an image to a tensor of this type. Errors: E0703 for the file, E0705 for the type, E0804 for limits.
pub fn read(name: &str, bytes: &[u8], preset: Preset, shape: &[Dim], dtype: DType) -> Result<Tensor, Diagnostic> {
    if !dtype.is_float() {
        return Err(errors::no_picture(name, format_args!("a picture gives fractions, the parameter is of {dtype}"))
            .help("give it the pixels as a .npy file"));
    }
    let frame = frame_of(name, preset, shape)?;
    let image = decode(name, bytes)?;
    let (width, height) = (frame.width.unwrap_or(image.width), frame.height.unwrap_or(image.height));
    check_work(name, image.width, width, height)?;
    let image = if frame.channels == 1 { to_grey(&image) } else { image };
    let values = match preset {
        Preset::Letterbox => {
            let (inner_width, inner_height) = letterbox([image.width, image.height], [width, height]);
            let inner = resize(image, inner_width, inner_height);
            letterboxed(&to_values(&inner, preset, frame), &inner, (width, height), frame)
        }
        Preset::Imagenet | Preset::Unit | Preset::Grey28 => to_values(&resize(image, width, height), preset, frame),
    };
    let dims = final_shape(shape, width, height, frame, preset);
    let error = |words: &str| errors::no_picture(name, words);
    let (dims, _) = checked_size(&dims, dtype).map_err(|words| error(&words.to_string()))?;
    if dims.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim)) != Some(values.len()) {
        return Err(error("the picture does not fill the shape"));
    }
    Tensor::from_vec(&dims, values).cast(dtype).ok_or_else(|| error("no tensor's dtype"))
}

/// The unchanged pixels: RGB, height, width and channels, from 0 to 255. Errors: E0703 for the file, E0804 for limits.
pub fn pixels(name: &str, bytes: &[u8]) -> Result<Tensor, Diagnostic> {
    let image = decode(name, bytes)?;
    Ok(Tensor::from_vec(&[image.height, image.width, image.channels], image.values))
}

/// Pixels as a PNG file: RGB, height, width and channels. Errors: E0702.
pub fn write_png(name: &str, pixels: &Tensor) -> Result<Vec<u8>, Diagnostic> {
    let error = |words: &dyn std::fmt::Display| Diagnostic::new(codes::E0702, format!("`{name}`: {words}"));
    let side = |axis: usize| pixels.shape().get(axis).and_then(|&side| u32::try_from(side).ok());
    let (Some(height), Some(width), Some(3)) = (side(0), side(1), side(2)) else { return Err(error(&"no picture")) };
    let values: Vec<u8> = pixels.to_ints().into_iter().map(|value| u8::try_from(value).unwrap_or(u8::MAX)).collect();
    let mut bytes = vec![];
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&values));
    written.map_err(|words| error(&words))?;
    Ok(bytes)
}

/// The size, width and height, of an image in its proportions inside of another, with the rounding of Darknet.
pub fn letterbox([width, height]: [usize; 2], [to_width, to_height]: [usize; 2]) -> (usize, usize) {
    let scaled = |a: usize, b: usize, by: usize| a.saturating_mul(b).checked_div(by).unwrap_or(0).max(1);
    match to_width.saturating_mul(height) < to_height.saturating_mul(width) {
        true => (to_width, scaled(height, to_width, width)),
        false => (scaled(width, to_height, height), to_height),
    }
}

/// The values of an image in the middle of a frame of 0.5.
fn letterboxed(values: &[f32], inner: &Image, (width, height): (usize, usize), frame: Frame) -> Vec<f32> {
    let planes = if frame.channels_last { 1 } else { inner.channels };
    // Numbers of a pixel that lie together.
    let together = inner.channels.checked_div(planes).unwrap_or(1);
    let (row, inner_row) = (width.saturating_mul(together), inner.width.saturating_mul(together));
    let (top, left) = (height.saturating_sub(inner.height) / 2, (width.saturating_sub(inner.width) / 2).saturating_mul(together));
    let mut out = vec![0.5; row.saturating_mul(height).saturating_mul(planes)];
    let plane = inner_row.saturating_mul(inner.height);
    for (to, from) in out.chunks_mut(row.saturating_mul(height).max(1)).zip(values.chunks(plane.max(1))) {
        for (to, from) in to.chunks_mut(row.max(1)).skip(top).zip(from.chunks(inner_row.max(1))) {
            to.iter_mut().skip(left).zip(from).for_each(|(to, from)| *to = *from);
        }
    }
    out
}

/// The layout of a shape.
fn frame_of(name: &str, preset: Preset, shape: &[Dim]) -> Result<Frame, Diagnostic> {
    let wrong = |words: &str| errors::no_picture(name, format_args!("{words}, the parameter's shape is {}", shape_text(shape)));
    if preset == Preset::Grey28 {
        let elements = shape.iter().try_fold(1i64, |n, dim| n.checked_mul(dim.value().unwrap_or(1)));
        let known = shape.iter().filter(|dim| dim.value().is_none()).count() <= 1;
        return if elements == Some(784) && known {
            Ok(Frame { channels: 1, height: Some(28), width: Some(28), channels_last: false })
        } else {
            Err(wrong("grey28 gives 784 elements"))
        };
    }
    let inner = match shape {
        [batch, inner @ ..] if shape.len() == 4 => match batch.value() {
            None | Some(1) => inner,
            Some(n) => return Err(wrong(&format!("one picture is a batch of 1 and not of {n}"))),
        },
        _ => shape,
    };
    let channels = |dim: Dim| dim.value().and_then(|dim| usize::try_from(dim).ok()).filter(|&n| n == 1 || n == 3);
    let side = |dim: Dim| match dim.value() {
        None => Some(None),
        Some(dim) => usize::try_from(dim).ok().filter(|dim| (1..=MAX_SIDE).contains(dim)).map(Some),
    };
    let (n, height, width, channels_last) = match *inner {
        [height, width] => (Some(1), height, width, false),
        [first, height, width] if channels(first).is_some() => (channels(first), height, width, false),
        [height, width, last] => (channels(last), height, width, true),
        _ => return Err(wrong("a picture has rank 2, 3 or 4")),
    };
    let sides = side(height).zip(side(width));
    let (n, (height, width)) = n.zip(sides).ok_or_else(|| wrong("a picture has 1 or 3 channels and sides of at most 16,384"))?;
    if preset == Preset::Imagenet && n != 3 {
        return Err(wrong("imagenet gives three channels"));
    }
    Ok(Frame { channels: n, height, width, channels_last })
}

/// Checks the memory of resizing, which keeps every row of the new height as floats of the old width, three channels of four
/// bytes.
fn check_work(name: &str, from_width: usize, width: usize, height: usize) -> Result<(), Diagnostic> {
    let work = from_width.max(width).saturating_mul(height).saturating_mul(12);
    if work <= MAX_WORK {
        return Ok(());
    }
    let words = format!("`{name}`: resizing to {height}x{width} takes {work} bytes, the limit is {MAX_WORK}");
    Err(Diagnostic::new(codes::E0804, words))
}

/// The weighted sum of the three channels, in the fixed-point arithmetic of Pillow's `L`.
fn to_grey(image: &Image) -> Image {
    let grey = |pixel: &[u8]| {
        let weighted =
            pixel.iter().zip([19_595u32, 38_470, 7_471]).map(|(&value, weight)| u32::from(value).saturating_mul(weight));
        u8::try_from(weighted.fold(0x8000u32, u32::saturating_add) >> 16).unwrap_or(u8::MAX)
    };
    Image { channels: 1, values: image.values.chunks_exact(3).map(grey).collect(), ..*image }
}

/// The elements in layout order.
fn to_values(image: &Image, preset: Preset, frame: Frame) -> Vec<f32> {
    let value = |channel: usize, raw: u8| match preset {
        Preset::Imagenet => {
            let (mean, std) = MEAN.get(channel).zip(STD.get(channel)).unwrap_or((&0.0, &1.0));
            (f32::from(raw) - mean) / std
        }
        Preset::Unit | Preset::Letterbox | Preset::Grey28 => f32::from(raw) / 255.0,
    };
    let channels = 0..image.channels;
    if frame.channels_last {
        image.values.iter().zip(channels.cycle()).map(|(&raw, channel)| value(channel, raw)).collect()
    } else {
        let plane = |channel| image.values.iter().skip(channel).step_by(image.channels).map(move |&raw| value(channel, raw));
        channels.flat_map(plane).collect()
    }
}

/// The parameter's shape with the image's sizes for `?`.
fn final_shape(shape: &[Dim], width: usize, height: usize, frame: Frame, preset: Preset) -> Vec<i64> {
    // Counted from the last axis: width and height stand there, or one axis further in front of the channels.
    let after = usize::from(frame.channels_last);
    let side = |pixels: usize| i64::try_from(pixels).unwrap_or(i64::MAX);
    let own = |from_last: usize| match from_last.checked_sub(after) {
        Some(0) if preset != Preset::Grey28 => side(width),
        Some(1) if preset != Preset::Grey28 => side(height),
        _ => 1,
    };
    let mut dims: Vec<i64> = shape.iter().rev().enumerate().map(|(i, dim)| dim.value().unwrap_or_else(|| own(i))).collect();
    dims.reverse();
    dims
}

#[cfg(test)]
mod tests;
