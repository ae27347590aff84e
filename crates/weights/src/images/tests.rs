//! Tests each rule of the image reader with an input it accepts and one it rejects.

use super::*;
use proptest::prelude::*;

/// A PNG of this size with pixels `f(x, y)`.
fn png(width: u32, height: u32, f: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    let picture = RgbImage::from_fn(width, height, |x, y| image::Rgb(f(x, y)));
    let mut out = Cursor::new(Vec::new());
    picture.write_to(&mut out, ImageFormat::Png).expect("memory");
    out.into_inner()
}

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
    refused(read("p.png", b"GIF89a", Preset::Unit, &dims(&[3, 2, 4]), DType::F32), codes::E0703, "neither a PNG");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn changed_bytes_never_panic(at in any::<usize>(), byte in any::<u8>(), jpeg in any::<bool>()) {
        let picture = RgbImage::from_fn(9, 7, |x, y| image::Rgb([u8::try_from(x * y).expect("small"), 0, 0]));
        let mut out = Cursor::new(Vec::new());
        picture.write_to(&mut out, if jpeg { ImageFormat::Jpeg } else { ImageFormat::Png }).expect("memory");
        let mut bytes = out.into_inner();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = read("p", &bytes, Preset::Unit, &dims(&[3, 4, 4]), DType::F32);
    }
}
