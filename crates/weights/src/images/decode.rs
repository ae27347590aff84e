//! The upright pixels of a PNG or JPEG file as RGB of eight bits. Anything a file can claim is checked before memory is taken.

use super::orientation::upright;
use super::{Image, MAX_SIDE, MAX_WORK, errors, is_picture};
use png::{BitDepth, ColorType, Transformations};
use relayc_base::contain::contained;
use relayc_base::diag::{Diagnostic, codes};
use std::fmt::Display;
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Decodes a file that opens as PNG or JPEG. Errors: E0703 for the file, E0804 for limits.
pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<Image, Diagnostic> {
    if !is_picture(bytes) {
        return Err(errors::malformed(name, 0, "neither a PNG nor a JPEG picture"));
    }
    let decode = || if bytes.starts_with(b"\x89PNG") { decode_png(name, bytes) } else { decode_jpeg(name, bytes) };
    // The decoders are the work of others, and files are hostile.
    contained(decode).unwrap_or_else(|| Err(errors::unsound(name, "the decoder gave up")))
}

fn decode_png(name: &str, bytes: &[u8]) -> Result<Image, Diagnostic> {
    let unsound = |error: png::DecodingError| match error {
        png::DecodingError::LimitsExceeded => too_large(name, format_args!("decoding takes over {MAX_WORK} bytes")),
        error => errors::unsound(name, error),
    };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: MAX_WORK });
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(unsound)?;
    let (width, height) = sides(name, reader.info().size())?;
    let size = reader.output_buffer_size().filter(|&size| size <= MAX_WORK);
    let size = size.ok_or_else(|| too_large(name, format_args!("decoding takes over {MAX_WORK} bytes")))?;
    let exif = reader.info().exif_metadata.as_ref().map(|exif| exif.to_vec());
    let mut raw = vec![0; size];
    reader.next_frame(&mut raw).map_err(unsound)?;
    let (color, depth) = reader.output_color_type();
    if depth == BitDepth::Sixteen {
        raw = raw.chunks_exact(2).map(to_eight_bits).collect();
    }
    let values = match color {
        ColorType::Grayscale => grey_to_rgb(&raw, 1),
        ColorType::GrayscaleAlpha => grey_to_rgb(&raw, 2),
        ColorType::Rgba => raw.chunks_exact(4).flat_map(|pixel| pixel.iter().take(3)).copied().collect(),
        ColorType::Rgb | ColorType::Indexed => raw,
    };
    Ok(upright(Image { width, height, channels: 3, values }, exif.as_deref()))
}

/// Rounds a big-endian number of sixteen bits to the nearest of eight.
fn to_eight_bits(pair: &[u8]) -> u8 {
    let value = pair.iter().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
    u8::try_from(value.saturating_add(128) / 257).unwrap_or(u8::MAX)
}

fn decode_jpeg(name: &str, bytes: &[u8]) -> Result<Image, Diagnostic> {
    let unsound = |error| match error {
        DecodeErrors::IoErrors(_) | DecodeErrors::ExhaustedData => errors::unsound(name, "unexpected end of file"),
        error => errors::unsound(name, error.to_string().trim()),
    };
    // The own limits come after the header, with an error of their own.
    let options = DecoderOptions::default().set_strict_mode(false).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(unsound)?;
    let size = decoder.dimensions().unwrap_or((0, 0));
    let size = (u32::try_from(size.0).unwrap_or(u32::MAX), u32::try_from(size.1).unwrap_or(u32::MAX));
    let (width, height) = sides(name, size)?;
    // The decoder fills up what is missing of the pixels. Between the start of a scan and the end of the image neither marker
    // occurs: a zero follows each byte `ff` of a scan.
    let last = |marker: [u8; 2]| bytes.windows(2).rposition(|pair| pair == marker);
    if last([0xff, 0xd9]) < last([0xff, 0xda]) {
        return Err(errors::unsound(name, "unexpected end of file"));
    }
    // A block of 8 by 8 pixels takes a bit at least: fewer bytes cannot hold the picture, and the decoder would make one up.
    let n_blocks = width.div_ceil(8).saturating_mul(height.div_ceil(8));
    if n_blocks > bytes.len().saturating_mul(8) {
        return Err(errors::unsound(name, "unexpected end of file"));
    }
    let grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
    decoder.set_options(options.jpeg_set_out_colorspace(if grey { ColorSpace::Luma } else { ColorSpace::RGB }));
    let raw = decoder.decode().map_err(unsound)?;
    let values = if grey { grey_to_rgb(&raw, 1) } else { raw };
    Ok(upright(Image { width, height, channels: 3, values }, decoder.exif().map(Vec::as_slice)))
}

/// The grey values, which stand `step` apart, as three equal channels.
fn grey_to_rgb(raw: &[u8], step: usize) -> Vec<u8> {
    raw.iter().step_by(step).flat_map(|&grey| [grey; 3]).collect()
}

/// Width and height, within the limit. Errors: E0804.
fn sides(name: &str, (width, height): (u32, u32)) -> Result<(usize, usize), Diagnostic> {
    let side = |pixels: u32| usize::try_from(pixels).ok().filter(|&pixels| pixels <= MAX_SIDE);
    side(width)
        .zip(side(height))
        .ok_or_else(|| too_large(name, format_args!("{width}x{height} pixels, the limit is {MAX_SIDE} a side")))
}

fn too_large(name: &str, words: impl Display) -> Diagnostic {
    Diagnostic::new(codes::E0804, format!("`{name}`: {words}"))
}
