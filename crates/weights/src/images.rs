//! Images (PNG, JPEG) as tensors, by a preset that maps pixels to numbers.
//!
//! Size and layout follow from the parameter's shape. Rank 4 is NCHW or NHWC with a batch of 1, rank 3 CHW or HWC, rank 2 HW.
//! The channel axis is the one of size 1 or 3, the first if both fit. One channel is grey, three are RGB. A `?` height or width
//! is the image's own.
//!
//! Resizing is a triangle filter as wide as the reduction, Pillow's `BILINEAR`; grey is Pillow's `L` (ITU-R 601). The whole
//! image is used without cropping. Transparency and a rotation noted in the file are ignored.

use super::errors;
use image::{ImageFormat, ImageReader, Limits, RgbImage, imageops};
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::size::checked_size;
use relayc_ir::types::{DType, Dim, shape_text};
use std::io::Cursor;

/// How numbers are computed from pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// `(value - mean) / std` for each of three channels, over the ImageNet images, values 0 to 255.
    Imagenet,
    /// 0 to 1, RGB or grey.
    Unit,
    /// 0 to 1, grey, 28×28: the digits of MNIST. Fits every shape of 784 elements.
    Grey28,
}

/// Every preset with a line for messages.
pub const PRESETS: [(&str, &str); 3] = [
    ("imagenet", "RGB, less the mean 123.68, 116.779, 103.939, divided by 58.393, 57.12, 57.375"),
    ("unit", "RGB or grey by the number of channels, from 0 to 1"),
    ("grey28", "grey, 28x28, from 0 to 1"),
];

const MEAN: [f32; 3] = [123.68, 116.779, 103.939];
const STD: [f32; 3] = [58.393, 57.12, 57.375];

/// Maximum width and height of an image.
const MAX_SIDE: u32 = 16_384;
/// Maximum bytes for decoding, and for resizing.
const MAX_WORK: u64 = 1 << 30;

impl Preset {
    /// The preset of that name. Errors: E0707, which lists all presets and suggests the closest.
    pub fn find(name: &str) -> Result<Preset, Diagnostic> {
        match name {
            "imagenet" => Ok(Preset::Imagenet),
            "unit" => Ok(Preset::Unit),
            "grey28" => Ok(Preset::Grey28),
            _ => Err(errors::unknown_preset(name, &PRESETS)),
        }
    }
}

/// Whether the bytes start as a PNG or JPEG file does.
pub fn is_picture(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n") || bytes.starts_with(b"\xff\xd8\xff")
}

/// The destination of the pixels; `None` is a side of the image itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Frame {
    channels: u32,
    height: Option<u32>,
    width: Option<u32>,
    channels_last: bool,
}

/// Converts an image to a tensor of this type. Errors: E0703 for the file, E0705 for the type, E0804 for limits.
pub fn read(name: &str, bytes: &[u8], preset: Preset, shape: &[Dim], dtype: DType) -> Result<Tensor, Diagnostic> {
    if !dtype.is_float() {
        return Err(errors::no_picture(name, format_args!("a picture gives fractions, the parameter is of {dtype}"))
            .help("give it the pixels as a .npy file"));
    }
    let frame = frame_of(name, preset, shape)?;
    let picture = decode(name, bytes)?;
    let (width, height) = (frame.width.unwrap_or(picture.width()), frame.height.unwrap_or(picture.height()));
    check_work(name, picture.width(), width, height)?;
    let grey = frame.channels == 1;
    let picture = if grey { to_grey(picture) } else { picture };
    let picture = imageops::resize(&picture, width, height, imageops::FilterType::Triangle);
    let values = to_values(&picture, preset, frame);
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
    let picture = decode(name, bytes)?;
    let side = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    let shape = [side(picture.height()), side(picture.width()), 3];
    Ok(Tensor::from_vec(&shape, picture.into_raw()))
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
    let channels = |dim: Dim| dim.value().and_then(|dim| u32::try_from(dim).ok()).filter(|&n| n == 1 || n == 3);
    let side = |dim: Dim| match dim.value() {
        None => Some(None),
        Some(dim) => u32::try_from(dim).ok().filter(|dim| (1..=MAX_SIDE).contains(dim)).map(Some),
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

fn decode(name: &str, bytes: &[u8]) -> Result<RgbImage, Diagnostic> {
    let format = if bytes.starts_with(b"\x89PNG") { ImageFormat::Png } else { ImageFormat::Jpeg };
    if !is_picture(bytes) {
        return Err(errors::malformed(name, 0, "neither a PNG nor a JPEG picture"));
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_WORK);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    match reader.decode() {
        Ok(picture) => Ok(picture.into_rgb8()),
        Err(image::ImageError::Limits(error)) => Err(Diagnostic::new(codes::E0804, format!("`{name}`: {error}"))),
        Err(error) => Err(errors::unsound(name, error)),
    }
}

/// Checks the memory of resizing, which keeps every row of the new height as floats of the old width, four channels of four
/// bytes.
fn check_work(name: &str, from_width: u32, width: u32, height: u32) -> Result<(), Diagnostic> {
    let work = u64::from(from_width.max(width)).saturating_mul(u64::from(height)).saturating_mul(16);
    if work <= MAX_WORK {
        return Ok(());
    }
    let words = format!("`{name}`: resizing to {height}x{width} takes {work} bytes, the limit is {MAX_WORK}");
    Err(Diagnostic::new(codes::E0804, words))
}

/// Sets every channel to the weighted sum of the three, in the fixed-point arithmetic of Pillow's `L`.
fn to_grey(mut picture: RgbImage) -> RgbImage {
    for pixel in picture.pixels_mut() {
        let [r, g, b] = pixel.0.map(u32::from);
        let sum = [r.saturating_mul(19_595), g.saturating_mul(38_470), b.saturating_mul(7_471), 0x8000];
        let grey = sum.into_iter().fold(0u32, u32::saturating_add) >> 16;
        pixel.0 = [u8::try_from(grey).unwrap_or(u8::MAX); 3];
    }
    picture
}

/// The elements in layout order.
fn to_values(picture: &RgbImage, preset: Preset, frame: Frame) -> Vec<f32> {
    let value = |channel: usize, pixel: &image::Rgb<u8>| {
        let raw = pixel.0.get(channel).copied().map_or(0.0, f32::from);
        match preset {
            Preset::Imagenet => {
                let (mean, std) = MEAN.get(channel).zip(STD.get(channel)).unwrap_or((&0.0, &1.0));
                (raw - mean) / std
            }
            Preset::Unit | Preset::Grey28 => raw / 255.0,
        }
    };
    let channels = 0..usize::try_from(frame.channels).unwrap_or(0);
    if frame.channels_last {
        picture.pixels().flat_map(|pixel| channels.clone().map(move |channel| value(channel, pixel))).collect()
    } else {
        channels.flat_map(|channel| picture.pixels().map(move |pixel| value(channel, pixel))).collect()
    }
}

/// The parameter's shape with the image's sizes for `?`.
fn final_shape(shape: &[Dim], width: u32, height: u32, frame: Frame, preset: Preset) -> Vec<i64> {
    // Counted from the last axis: width and height stand there, or one axis further in front of the channels.
    let after = usize::from(frame.channels_last);
    let own = |from_last: usize| match from_last.checked_sub(after) {
        Some(0) if preset != Preset::Grey28 => i64::from(width),
        Some(1) if preset != Preset::Grey28 => i64::from(height),
        _ => 1,
    };
    let mut dims: Vec<i64> = shape.iter().rev().enumerate().map(|(i, dim)| dim.value().unwrap_or_else(|| own(i))).collect();
    dims.reverse();
    dims
}

#[cfg(test)]
mod tests;
