//! Tests each rule of the image reader with an input it accepts and one it rejects.

use super::*;
use proptest::prelude::*;

/// A PNG of this size with pixels `f(x, y)`.
fn png(width: u32, height: u32, f: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    let pixels: Vec<u8> = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).flat_map(|(x, y)| f(x, y)).collect();
    encode(width, height, png::ColorType::Rgb, png::BitDepth::Eight, &pixels)
}

fn encode(width: u32, height: u32, color: png::ColorType, depth: png::BitDepth, pixels: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![0, 0, 0, 250, 20, 30]);
    }
    encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels)).expect("memory");
    out
}

/// A JPEG of 9 x 7 pixels whose red is `x * y`.
const JPEG: &[u8] = include_bytes!("tests/9x7.jpg");

fn dims(shape: &[i64]) -> Vec<Dim> {
    shape.iter().map(|&dim| if dim < 0 { Dim::Any } else { Dim::known(dim) }).collect()
}

fn of(preset: Preset, shape: &[i64]) -> Result<Tensor, Diagnostic> {
    let bytes = png(4, 2, |x, y| [u8::try_from(x * 10 + y).expect("small"), 51, 255]);
    read("p.png", &bytes, preset, &dims(shape), DType::F32)
}

fn refused(result: Result<Tensor, Diagnostic>, code: relayc_base::diag::Code, words: &str) {
    let error = result.expect_err(words);
    assert_eq!(error.code, code, "{}", error.message);
    assert!(error.message.contains(words), "{} should say `{words}`", error.message);
}

#[test]
fn the_shape_says_the_layout() {
    let value = |tensor: &Tensor, index: &[usize]| {
        let at = index.iter().zip(tensor.shape()).fold(0, |at, (index, dim)| at * dim + index);
        tensor.as_array::<f32>().expect("float32")[at]
    };
    let nchw = of(Preset::Unit, &[1, 3, 2, 4]).expect("NCHW");
    assert_eq!([value(&nchw, &[0, 0, 1, 3]), value(&nchw, &[0, 1, 0, 0]), value(&nchw, &[0, 2, 1, 1])], [31.0 / 255.0, 0.2, 1.0]);
    let nhwc = of(Preset::Unit, &[1, 2, 4, 3]).expect("NHWC");
    assert_eq!(nhwc.permute(&[0, 3, 1, 2]), nchw);
    assert_eq!(of(Preset::Unit, &[3, 2, 4]).expect("CHW").reshape(&[1, 3, 2, 4]), Some(nchw.clone()));
    assert_eq!(of(Preset::Unit, &[2, 4, 3]).expect("HWC").reshape(&[1, 2, 4, 3]), Some(nhwc));
    assert_eq!(of(Preset::Unit, &[-1, 3, -1, -1]), Ok(nchw));
    assert_eq!(of(Preset::Unit, &[-1, -1]).expect("HW").shape(), [2, 4]);
    assert_eq!(of(Preset::Unit, &[1, 1, 5, 6]).expect("grey").shape(), [1, 1, 5, 6]);
}

#[test]
fn presets() {
    let x = of(Preset::Imagenet, &[1, 3, 2, 4]).expect("RGB");
    let v = x.to_vec::<f32>().expect("float32");
    assert!((v[8] - (51.0 - 116.779) / 57.12).abs() < 1e-6 && (v[16] - (255.0 - 103.939) / 57.375).abs() < 1e-6);
    for shape in [&[1, 1, 28, 28][..], &[784], &[-1, 784], &[28, 28]] {
        let x = of(Preset::Grey28, shape).expect("784 elements");
        assert_eq!((x.len(), x.rank()), (784, shape.len()));
    }
    // Pillow: (51 * 38470 + 255 * 7471 + 32768) >> 16 is 59, with red 0.
    assert_eq!(of(Preset::Unit, &[2, 4]).expect("grey").to_vec::<f32>().expect("float32")[0], 59.0 / 255.0);
    assert_eq!(
        read("p.png", &png(1, 1, |_, _| [255; 3]), Preset::Unit, &dims(&[1, 1]), DType::BF16).expect("bf16").dtype(),
        DType::BF16
    );
}

/// Every kind of PNG, and JPEG, as RGB of eight bits.
#[test]
fn kinds_of_files() {
    use png::{BitDepth, ColorType};
    let pixel = |bytes: &[u8]| pixels("p", bytes).expect("an image").to_vec::<u8>().expect("uint8")[..3].to_vec();
    let eight = |color, pixels: &[u8]| pixel(&encode(1, 1, color, BitDepth::Eight, pixels));
    assert_eq!(eight(ColorType::Grayscale, &[7]), [7, 7, 7]);
    assert_eq!(eight(ColorType::GrayscaleAlpha, &[7, 0]), [7, 7, 7]);
    assert_eq!(eight(ColorType::Rgba, &[7, 8, 9, 0]), [7, 8, 9]);
    assert_eq!(eight(ColorType::Indexed, &[1]), [250, 20, 30]);
    assert_eq!(pixel(&encode(8, 1, ColorType::Grayscale, BitDepth::One, &[0x80])), [255, 255, 255]);
    // 0x1280 / 257 is 18.4, 0x12ff / 257 is 18.9.
    assert_eq!(pixel(&encode(1, 1, ColorType::Rgb, BitDepth::Sixteen, &[0x12, 0x80, 0x12, 0xff, 0xff, 0xff])), [18, 19, 255]);

    let jpeg = pixels("p", JPEG).expect("a JPEG");
    assert_eq!(jpeg.shape(), [7, 9, 3]);
    let red = jpeg.to_vec::<u8>().expect("uint8").into_iter().step_by(3);
    let exact = (0..7).flat_map(|y| (0..9).map(move |x| x * y));
    let error = red.zip(exact).map(|(red, exact): (u8, u8)| red.abs_diff(exact)).max();
    assert!(error <= Some(12), "{error:?}");
}

/// Reducing is a mean over all covered pixels, enlarging is linear between the centres.
#[test]
fn resizing() {
    let bytes = png(4, 1, |x, _| [[0, 40, 80, 120][x as usize]; 3]);
    let row = |width: i64| {
        let unit = read("p", &bytes, Preset::Unit, &dims(&[1, width]), DType::F32).expect("grey");
        unit.to_vec::<f32>().expect("float32").into_iter().map(|value| (value * 255.0).round()).collect::<Vec<f32>>()
    };
    assert_eq!(row(4), [0.0, 40.0, 80.0, 120.0]);
    // Weights 3 3 1 and 1 3 3, over 7.
    assert_eq!(row(2), [29.0, 91.0]);
    assert_eq!(row(1), [60.0]);
    assert_eq!(row(8), [0.0, 10.0, 30.0, 50.0, 70.0, 90.0, 110.0, 120.0]);
}

#[test]
fn shapes_that_hold_no_picture() {
    refused(of(Preset::Unit, &[2, 3, 2, 4]), codes::E0705, "a batch of 1 and not of 2");
    refused(of(Preset::Unit, &[1, 2, 8, 8]), codes::E0705, "1 or 3 channels");
    refused(of(Preset::Unit, &[8]), codes::E0705, "rank 2, 3 or 4");
    refused(of(Preset::Unit, &[0, 4]), codes::E0705, "sides of at most");
    refused(of(Preset::Imagenet, &[1, 1, 2, 4]), codes::E0705, "three channels");
    refused(of(Preset::Grey28, &[1, 1, 32, 32]), codes::E0705, "784 elements");
    refused(read("p.png", &png(1, 1, |_, _| [0; 3]), Preset::Unit, &dims(&[1, 1]), DType::U8), codes::E0705, "fractions");
    assert_eq!(Preset::find("unit"), Ok(Preset::Unit));
    let error = Preset::find("imagnet").expect_err("no preset");
    assert!(error.helps.iter().any(|help| help.text.contains("`imagenet`")));
}

#[test]
fn bombs_are_refused() {
    refused(of(Preset::Unit, &[3, 16_384, 16_384]), codes::E0804, "resizing");
    // A header that claims 60,000 x 60,000 pixels; the checksum after it is not what stops it.
    let mut bytes = png(1, 1, |_, _| [0; 3]);
    bytes[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let crc = {
        let mut crc = flate2::Crc::new();
        crc.update(&bytes[12..29]);
        crc.sum()
    };
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    refused(read("p.png", &bytes, Preset::Unit, &dims(&[3, 2, 2]), DType::F32), codes::E0804, "`p.png`");
}

#[test]
fn a_broken_file_is_refused() {
    let bytes = png(4, 2, |_, _| [9; 3]);
    let end = bytes.len() - 12;
    // The last chunk, IEND, holds nothing: without it the pixels are complete.
    for cut in 0..end {
        assert!(read("p.png", &bytes[..cut], Preset::Unit, &dims(&[3, 2, 4]), DType::F32).is_err(), "cut at {cut}");
    }
    for cut in 3..JPEG.len() {
        let read = read("p.jpg", &JPEG[..cut], Preset::Unit, &dims(&[3, 7, 9]), DType::F32);
        assert!(read.is_err_and(|error| error.code == codes::E0703 && !error.message.ends_with('\n')), "cut at {cut}");
    }
    // A picture of 16,384 by 16,384 pixels in the bytes of one of 9 by 7.
    let mut large = JPEG.to_vec();
    let frame = large.windows(2).position(|pair| matches!(pair, [0xff, 0xc0..=0xc2])).expect("a frame");
    large[frame + 5..frame + 9].copy_from_slice(&[0x40, 0, 0x40, 0]);
    refused(read("p.jpg", &large, Preset::Unit, &dims(&[3, 7, 9]), DType::F32), codes::E0703, "unexpected end");
    // A palette of no whole number of colours, at which the decoder panics.
    let mut palette = encode(1, 1, png::ColorType::Indexed, png::BitDepth::Eight, &[1]);
    let name = palette.windows(4).position(|name| name == b"PLTE").expect("a palette");
    let len = usize::from(palette[name - 1]);
    palette.remove(name + 4);
    palette[name - 1] -= 1;
    let mut crc = flate2::Crc::new();
    crc.update(&palette[name..name + 3 + len]);
    palette[name + 3 + len..name + 7 + len].copy_from_slice(&crc.sum().to_be_bytes());
    refused(read("p.png", &palette, Preset::Unit, &dims(&[3, 1, 1]), DType::F32), codes::E0703, "the decoder gave up");
    refused(read("p.png", b"GIF89a", Preset::Unit, &dims(&[3, 2, 4]), DType::F32), codes::E0703, "neither a PNG");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn changed_bytes_never_panic(at in any::<usize>(), byte in any::<u8>(), jpeg in any::<bool>()) {
        let mut bytes = if jpeg { JPEG.to_vec() } else { png(9, 7, |x, y| [u8::try_from(x * y).expect("small"), 0, 0]) };
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = read("p", &bytes, Preset::Unit, &dims(&[3, 4, 4]), DType::F32);
    }
}
