//! Fourier transforms of whole axes and of short windows.

mod fft;
mod nest;

use crate::attrs::OptBool;
use crate::prelude::*;
use fft::{Complex, Fft};

attrs! {
    "relay.attrs.DFTAttrs" =>
    pub(crate) struct DftAttrs {
        /// Whether to compute the inverse transform.
        pub(crate) inverse: OptBool = Some(false);
    }

    "relay.attrs.StftAttrs" =>
    pub(crate) struct StftAttrs {
        /// The number of frequencies.
        pub(crate) n_fft: i64 = -1;
        /// The distance between the starts of neighbouring frames.
        pub(crate) hop_length: i64 = -1;
        /// The length of a frame.
        pub(crate) win_length: i64 = -1;
        /// Whether to divide by `sqrt(n_fft)`.
        pub(crate) normalized: bool = false;
        /// Whether to return only the first half of the frequencies, which the others mirror.
        pub(crate) onesided: bool = true;
    }
}

pub(crate) const DFT: OpDef = OpDef {
    name: "dft",
    doc: "The discrete Fourier transform of complex numbers along the last axis: `out[n] = sum(x[k] * exp(-2πi n k / N))`, or, \
          if `inverse`, `sum(x[k] * exp(2πi n k / N)) / N`. The result is the tuple of real and imaginary parts, with the shape \
          and dtype of the operands (`src/relay/op/tensor/transform.cc`, `python/tvm/topi/signal.py`).",
    args: &[Arg::tensor("re_data"), Arg::tensor("im_data")],
    // TVM registers no attribute type with it; a call brings its own, in the metadata section or by `attrs_type_key`.
    attrs: Some(&AttrSchema { declared: false, ..*DftAttrs::SCHEMA }),
    rules: &[
        "C1: dtype(re_data) is a float",
        "C2: rank(re_data) >= 1",
        "C3: im_data has the shape of re_data",
        "C4: dtype(im_data) == dtype(re_data)",
    ],
    rel: dft_rel,
    eval: dft_eval,
    lower: Some(Lower::Nests(nest::dft)),
    ..OpDef::BASE
};

fn dft_rel(cx: &mut RelCx) -> RelResult {
    let (re, im) = (cx.tensor(0)?, cx.tensor(1)?);
    rel::require_float(cx, "C1", &re)?;
    cx.require("C2", re.rank() >= 1, || Fault::rank("at least 1", &re))?;
    let same = re.rank() == im.rank() && re.shape.iter().zip(&im.shape).all(|(a, b)| a.compatible(*b));
    cx.require("C3", same, || {
        Fault::shape(format!("expected the shape {}, found {}", re.shape_text(), im.shape_text()))
            .at(im.place(), "")
            .at(re.place(), "")
    })?;
    rel::require_same_dtype(cx, "C4", &re, &im)?;
    cx.set_out_tuple(vec![(re.dims(), re.dtype), (im.dims(), im.dtype)])
}

fn dft_eval(cx: &EvalCx) -> EvalResult {
    let (re, im, inverse) = (cx.tensor(0), cx.tensor(1), DftAttrs::read(cx.attrs).inverse.0 == Some(true));
    let length = re.shape()[re.rank() - 1];
    // The inverse transform is the forward one with real and imaginary parts exchanged.
    let turned = |x: Complex| if inverse { (x.1, x.0) } else { x };
    let mut rows: Vec<Complex> = re.to_f64s().into_iter().zip(im.to_f64s()).map(turned).collect();
    if !rows.is_empty() {
        let fft = Fft::new(length);
        rows.chunks_exact_mut(length).for_each(|row| fft.transform(row));
    }
    let scale = if inverse { length as f64 } else { 1.0 };
    let part = |of: fn(Complex) -> f64| stored(re, rows.iter().map(|&x| of(turned(x)) / scale).collect(), re.shape());
    Ok(Outputs::Tuple(vec![part(|x| x.0)?, part(|x| x.1)?]))
}

/// Numbers as a tensor of the dtype of `like`.
fn stored(like: &Tensor, values: Vec<f64>, shape: &[usize]) -> Result<Tensor, Trap> {
    let no_tensor = || Trap::no_tensor(like.dtype());
    Tensor::from_vec(shape, values).cast(like.dtype()).ok_or_else(no_tensor)
}

pub(crate) const STFT: OpDef = OpDef {
    name: "stft",
    doc: "`out[b, f, t] = sum(window[k] * data[b, t * hop_length + k] * exp(-2πi f k / win_length))` for `k` below `win_length`, \
          real and imaginary part along a last axis of 2; `f` is below `n_fft`, or up to the half of it if `onesided`. `data` is \
          a signal, or a batch of them (`src/relay/op/tensor/transform.cc`, `python/tvm/topi/signal.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("window")],
    // TVM registers no attribute type with it; a call brings its own, in the metadata section or by `attrs_type_key`.
    attrs: Some(&AttrSchema { declared: false, ..*StftAttrs::SCHEMA }),
    rules: &[
        "C1: dtype(data) is a float",
        "C2: rank(data) is 1 or 2",
        "C3: 1 <= win_length <= n_fft, at most 2147483647, and hop_length is at least 1",
        "C4: rank(window) == 1, and window[0] >= win_length",
        "C5: signals have at least n_fft numbers",
    ],
    rel: stft_rel,
    eval: stft_eval,
    lower: Some(Lower::Nest(nest::stft)),
    ..OpDef::BASE
};

fn stft_rel(cx: &mut RelCx) -> RelResult {
    let attrs = StftAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    rel::require_float(cx, "C1", &data)?;
    cx.require("C2", matches!(data.rank(), 1 | 2), || Fault::rank("1 or 2", &data))?;
    let n_fft = attrs.n_fft;
    cx.require("C3", (1..=i64::from(i32::MAX)).contains(&n_fft), || {
        Fault::attr("n_fft", format!("expected 1 to {}, found {n_fft}", i32::MAX))
    })?;
    cx.require("C3", (1..=n_fft).contains(&attrs.win_length), || {
        Fault::attr("win_length", format!("expected 1 to {n_fft}, found {}", attrs.win_length))
    })?;
    cx.require("C3", attrs.hop_length >= 1, || {
        Fault::attr("hop_length", format!("expected at least 1, found {}", attrs.hop_length))
    })?;
    if let Some(window) = cx.known_tensor(1)? {
        cx.require("C4", window.rank() == 1, || Fault::rank(1, &window))?;
        cx.require("C4", window.shape[0].value().is_none_or(|length| length >= attrs.win_length), || {
            Fault::shape(format!("a window of {} has no {} numbers", window.shape[0], attrs.win_length))
                .at(window.axis(0), "")
                .equation("window[0] >= win_length", format!("{} >= {}", window.shape[0], attrs.win_length))
        })?;
    }
    let last = data.rank() - 1;
    let length = data.shape[last];
    cx.require("C5", length.value().is_none_or(|length| length >= n_fft), || {
        Fault::shape(format!("a signal of {length} has no frame of {n_fft}"))
            .at(data.axis(last), "")
            .equation(format!("data[{last}] >= n_fft"), format!("{length} >= {n_fft}"))
    })?;
    let symbols = &mut cx.types.symbols;
    let room = symbols.arith(SymbolOp::Sub, length, Dim::known(n_fft));
    let hops = symbols.arith(SymbolOp::FloorDiv, room, Dim::known(attrs.hop_length));
    let frames = symbols.arith(SymbolOp::Add, hops, Dim::known(1));
    let mut shape: Shape = (0..last).map(|axis| data.dim(axis)).collect();
    shape.push(SDim::known(if attrs.onesided { n_fft / 2 + 1 } else { n_fft }, DimOrigin::Attr("n_fft")));
    shape.push(SDim::new(frames, DimOrigin::Rule("C5")));
    shape.push(SDim::known(2, DimOrigin::Op));
    cx.set_out(shape, data.dtype)
}

fn stft_eval(cx: &EvalCx) -> EvalResult {
    let attrs = StftAttrs::read(cx.attrs);
    let (data, out) = (cx.tensor(0), cx.out_shape());
    let [n_frequencies, n_frames] = [out[out.len() - 3], out[out.len() - 2]];
    let (width, hop) = (attrs.win_length as usize, attrs.hop_length as usize);
    let length = data.shape()[data.rank() - 1];
    let (signals, window) = (data.to_f64s(), cx.tensor(1).to_f64s());
    let scale = if attrs.normalized { (attrs.n_fft as f64).sqrt() } else { 1.0 };
    let mut values = vec![0.0; out.iter().product()];
    if values.is_empty() {
        return Ok(stored(data, values, out)?.into());
    }
    let fft = Fft::new(width);
    for (signal, values) in signals.chunks_exact(length).zip(values.chunks_exact_mut(n_frequencies * n_frames * 2)) {
        for frame in 0..n_frames {
            let part = signal[frame * hop..].iter().zip(&window).take(width);
            let mut part: Vec<Complex> = part.map(|(x, w)| (x * w, 0.0)).collect();
            fft.transform(&mut part);
            // Beyond the frame's own frequencies they begin again.
            for (frequency, found) in part.iter().cycle().take(n_frequencies).enumerate() {
                let at = (frequency * n_frames + frame) * 2;
                values[at] = found.0 / scale;
                values[at + 1] = found.1 / scale;
            }
        }
    }
    Ok(stored(data, values, out)?.into())
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(DFT.name, Onnx::Nodes(dft_onnx)), (STFT.name, Onnx::Nodes(stft_onnx))];

/// Real and imaginary parts lie along a last axis, and an axis in front of the transform is a batch.
fn dft_onnx(cx: &mut OnnxCx) -> OnnxResult {
    DTypeClass::Ieee.require(cx.out_dtype())?;
    let (parts, rank) = ([cx.tensor(0), cx.tensor(1)], cx.rank(cx.tensor(0)) as i64);
    if rank < 2 {
        return Err("a transform of one vector, where ONNX takes batches of them".into());
    }
    let axes = cx.ints("axes", &[rank]);
    let parts = parts.map(|part| cx.node("Unsqueeze", &[part, axes]).one());
    let pairs = cx.node("Concat", &parts).int("axis", rank).one();
    let inverse = DftAttrs::read(cx.attrs).inverse.0 == Some(true);
    let moved = cx.node("DFT", &[pairs]).int("axis", rank - 1).int("inverse", inverse.into()).one();
    let parts = cx.node("Split", &[moved]).int("axis", rank).many(2);
    Ok(Results(parts.into_iter().map(|part| cx.node("Squeeze", &[part, axes]).one()).collect()))
}

/// Frames come before frequencies in ONNX.
fn stft_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = StftAttrs::read(cx.attrs);
    let (data, window): (ValueId, ValueId) = (cx.tensor(0), cx.tensor(1));
    DTypeClass::Ieee.require(cx.out_dtype())?;
    if cx.rank(data) != 2 || attrs.normalized || attrs.win_length != attrs.n_fft || cx.dim(window, 0)? != attrs.n_fft {
        return Err("other than whole frames of a batch of signals, as they are".into());
    }
    if cx.dtype(window) != cx.out_dtype() {
        return Err("a window of another dtype than the signal".into());
    }
    let axes = cx.ints("axes", &[2]);
    let signal = cx.node("Unsqueeze", &[data, axes]).one();
    let (step, length) =
        (cx.scalar("step", DType::I64, attrs.hop_length as f64)?, cx.scalar("length", DType::I64, attrs.n_fft as f64)?);
    let frames = cx.node("STFT", &[signal, step, window, length]).int("onesided", attrs.onesided.into()).one();
    Ok(cx.transposed(frames, &[0, 2, 1, 3]).into())
}

pub(crate) const FAMILY: &[OpDef] = &[DFT, STFT];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    fn stft() -> crate::trial::Trial {
        call(&STFT).int("n_fft", 4).int("hop_length", 1).int("win_length", 4)
    }

    #[test]
    fn relations() {
        assert_eq!(stft().out(&["(2, 7i64) float32", "_"]), "Tensor[(2, 3, 4i64, 2), float32]");
        assert_eq!(stft().out(&["(?) float64", "(?) int8"]), "Tensor[(3, ?, 2), float64]");
        extremes(stft, &["(2, 8) float32", "(4) float32"]);
        extremes(|| call(&DFT), &["(2, 8) float32", "(2, 8) float32"]);
    }

    #[test]
    fn a_transform_of_a_prime_length_comes_back() {
        let re = Tensor::from_fn(&[2, 31], |i| (i * i % 7) as f64);
        let im = Tensor::from_fn(&[2, 31], |i| (i % 5) as f64);
        let there = call(&DFT).eval(&[&re, &im]).expect("it runs");
        let inverse = call(&DFT).attr("inverse", relayc_ir::attrs::AttrValue::Bool(true));
        let back = inverse.eval(&[&there[0], &there[1]]).expect("it runs");
        let near = |a: &Tensor, b: &Tensor| a.to_f64s().iter().zip(b.to_f64s()).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&back[0], &re) && near(&back[1], &im));
    }
}
