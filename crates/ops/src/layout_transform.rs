//! Transforms the layout of a tensor.

use super::attrs::StdString;
use crate::onnx::whole;
use crate::prelude::*;
use relayc_ir::kernel::View;

attrs! {
    "relay.attrs.LayoutTransformAttrs" =>
    pub struct LayoutTransformAttrs {
        /// The layout of `data`, such as `NCHW` or `NCHW4c`.
        pub src_layout: StdString;
        /// The layout of the result.
        pub dst_layout: StdString;
    }

    "relay.attrs.AutoSchedulerLayoutTransformAttrs" =>
    pub(crate) struct AutoSchedulerLayoutTransformAttrs {
        /// The dimensions of `data`, each before the name of its axis.
        pub(crate) src_layout: StdString;
        /// The dimensions of the result, each before the name of its axis; a repeated axis is split.
        pub(crate) dst_layout: StdString;
    }
}

pub const LAYOUT_TRANSFORM: OpDef = OpDef {
    name: "layout_transform",
    doc: "`data`, which is in `src_layout`, in `dst_layout`. An axis that is not a multiple of its blocks in `dst_layout` is \
          padded with 0; padding of `data` stays (`src/relay/op/tensor/transform.cc`, `src/tir/ir/data_layout.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(LayoutTransformAttrs::SCHEMA),
    rules: &[
        "C1: src_layout is a layout",
        "C2: dst_layout is a layout with the same letters",
        "C3: data has an axis for each of src_layout, and blocks of its sizes",
        "C4: each dimension of the result is an int64",
    ],
    rel: layout_transform_rel,
    eval: layout_transform_eval,
    lower: Some(Lower::Move(transform_view, transform_nest)),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn layout_transform_rel(cx: &mut RelCx) -> RelResult {
    let attrs = LayoutTransformAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let named = |layout: Layout| if layout.rank() > 0 { Ok(layout) } else { Err("it has no axes".into()) };
    let src = layout_attr("C1", "src_layout", &attrs.src_layout.0, named)?;
    let letters = src.letters();
    let dst = layout_attr("C2", "dst_layout", &attrs.dst_layout.0, |layout| layout.of(&letters))?;
    src.dims(cx, "C3", &data, &letters)?;
    let mut shape = Shape::new();
    for (letter, block) in dst.axes() {
        let outer = data.dim(src.axis(letter).unwrap_or(0));
        shape.push(match block {
            Some(block) => SDim::known(block, DimOrigin::Attr("dst_layout")),
            None => SDim::new(outer_dim(cx, outer, src.block(letter), dst.block(letter))?, outer.from),
        });
    }
    cx.set_out(shape, data.dtype)
}

/// The dimension of an outer axis, `ceil(outer * from / to)` with the blocks of both layouts. As in TVM, int64 dimensions become
/// int32, and unknown dimensions become expressions.
fn outer_dim(cx: &mut RelCx, outer: SDim, from: i64, to: i64) -> RelResult<Dim> {
    let whole = outer.value().map(|outer| outer.checked_mul(from));
    cx.require("C4", whole != Some(None), || {
        Fault::shape(format!("{} blocks of {from} are more than an int64", outer.dim)).at(outer.place(), "")
    })?;
    if let Some(whole) = whole.flatten() {
        return Ok(Dim::known((i128::from(whole).max(0) as u64).div_ceil(to.max(1) as u64) as i64));
    }
    // Both blocks by what they have in common, as TVM simplifies.
    let symbols = &mut cx.types.symbols;
    let common = if from % to == 0 {
        to
    } else if to % from == 0 {
        from
    } else {
        1
    };
    let (from, to) = (from / common, to / common);
    let whole = if from == 1 { outer.dim } else { symbols.built(SymbolOp::Mul, outer.dim, Dim::known(from)) };
    if to == 1 {
        return Ok(whole);
    }
    let above = symbols.built(SymbolOp::Add, whole, Dim::known(to - 1));
    Ok(symbols.built(SymbolOp::FloorDiv, above, Dim::known(to)))
}

/// Both layouts split into common loops. For each letter there are the extents of its pieces, outermost first. For each axis of
/// the two layouts there are its pieces.
struct Cut {
    extents: Vec<u64>,
    src: Vec<Vec<usize>>,
    dst: Vec<Vec<usize>>,
}

/// `None` where a block of one layout is no multiple of one of the other, and where elements are filled up or left out.
fn cut(call: &Call) -> Option<Cut> {
    let attrs = LayoutTransformAttrs::read(call.attrs);
    let (src, dst) = (Layout::parse(&attrs.src_layout.0).ok()?, Layout::parse(&attrs.dst_layout.0).ok()?);
    let mut cut = Cut { extents: vec![], src: vec![vec![]; src.rank()], dst: vec![vec![]; dst.rank()] };
    for letter in src.letters().chars() {
        // Axes of extent 1 are in no index.
        let axes = |layout: &Layout, shape: &[u64]| -> Vec<usize> {
            let outer = layout.axis(letter);
            let inner = layout.axes().enumerate().filter(|(_, (own, block))| *own == letter && block.is_some());
            outer.into_iter().chain(inner.map(|(axis, _)| axis)).filter(|&axis| shape[axis] != 1).collect()
        };
        let (mut from, mut to) = (axes(&src, &call.arg(0).shape), axes(&dst, &call.out().shape));
        let (mut have, mut want) = (1, 1);
        let mut pieces = vec![];
        // From the innermost outwards.
        while !(from.is_empty() && to.is_empty() && have == 1 && want == 1) {
            if have == 1 && !from.is_empty() {
                have = call.arg(0).shape[*from.last()?];
            }
            if want == 1 && !to.is_empty() {
                want = call.out().shape[*to.last()?];
            }
            let piece = have.min(want);
            if piece < 2 || have % piece != 0 || want % piece != 0 {
                return None;
            }
            pieces.push((piece, from.last().copied(), to.last().copied()));
            (have, want) = (have / piece, want / piece);
            if have == 1 {
                from.pop();
            }
            if want == 1 {
                to.pop();
            }
        }
        for (extent, from, to) in pieces.into_iter().rev() {
            cut.src[from?].push(cut.extents.len());
            cut.dst[to?].push(cut.extents.len());
            cut.extents.push(extent);
        }
    }
    Some(cut)
}

impl Cut {
    /// The index of an axis made of these pieces.
    fn index(&self, pieces: &[usize]) -> AxisMap {
        let mut step = 1;
        let mut terms = vec![];
        for &piece in pieces.iter().rev() {
            terms.push((piece, step));
            step *= self.extents[piece] as i64;
        }
        AxisMap { offset: 0, terms }
    }
}

fn transform_view(call: &Call, view: &View) -> Option<View> {
    let cut = cut(call)?;
    let pieces: Vec<usize> = cut.src.concat();
    let split = view.reshape(&pieces.iter().map(|&piece| cut.extents[piece]).collect::<Vec<_>>())?;
    let order: Vec<usize> =
        cut.dst.concat().iter().map(|wanted| pieces.iter().position(|piece| piece == wanted)).collect::<Option<_>>()?;
    split.transpose(&order).reshape(&call.out().shape)
}

/// The copy, in the order of the result.
fn transform_nest(call: &Call) -> Option<Template> {
    super::lower::lane(call.arg(0).dtype)?;
    let cut = cut(call)?;
    let axes = cut.src.iter().map(|pieces| cut.index(pieces)).collect();
    let out = cut.dst.iter().map(|pieces| cut.index(pieces)).collect();
    Some(Template::copy(cut.extents, Read::of(Source::Arg(0), axes), out))
}

fn layout_transform_eval(cx: &EvalCx) -> EvalResult {
    let attrs = LayoutTransformAttrs::read(cx.attrs);
    let read = |text: &str| Layout::parse(text).expect("the relation read it");
    let (src, dst) = (read(&attrs.src_layout.0), read(&attrs.dst_layout.0));
    let letters = src.letters();
    let plain = src.unpack(&letters, cx.tensor(0));
    let block = |letter: char| dst.block(letter) as usize;
    let full: Vec<usize> =
        letters.chars().zip(plain.shape()).map(|(letter, &dim)| dim.div_ceil(block(letter)) * block(letter)).collect();
    Ok(dst.pack(&letters, &filled_up(plain, &full)).into())
}

/// A tensor with 0 behind its elements along each axis, up to a shape.
fn filled_up(data: Tensor, shape: &[usize]) -> Tensor {
    if data.shape() == shape {
        return data;
    }
    let source = |mut i: usize| {
        // Axes from the last; `step` is how far apart in `data` neighbours along one are.
        let (mut at, mut step) = (0, 1);
        for (&dim, &full) in data.shape().iter().zip(shape).rev() {
            if i % full >= dim {
                return None;
            }
            at += i % full * step;
            step *= dim;
            i /= full;
        }
        Some(at)
    };
    data.pick(shape, 0.0, source)
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[(LAYOUT_TRANSFORM.name, Onnx::Nodes(layout_transform_onnx))];

/// Where one of the layouts has no blocks, the axes are moved once.
fn layout_transform_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = LayoutTransformAttrs::read(cx.attrs);
    let (src, dst) = (Layout::parse(&attrs.src_layout.0)?, Layout::parse(&attrs.dst_layout.0)?);
    let letters = if dst.rank() == dst.letters().len() { dst.letters() } else { src.letters() };
    let data = cx.tensor(0);
    let (dims, out) = (cx.axes(data).to_vec(), cx.out[0].0.clone());
    let mut plain = cx.unpacked(data, &dims, &src, &letters)?;
    if letters.chars().any(|letter| src.block(letter) != dst.block(letter)) {
        let (have, want) = (whole(&dims, &src, &letters)?, whole(&out, &dst, &letters)?);
        if have != want {
            let after = have.iter().zip(&want).map(|(have, want)| want - have);
            let widths: Vec<i64> = vec![0; have.len()].into_iter().chain(after).collect();
            let widths = cx.ints("fill", &widths);
            plain = cx.node("Pad", &[plain, widths]).one();
        }
    }
    Ok(cx.packed(plain, &out, &dst, &letters)?.into())
}

pub(crate) const AUTO_SCHEDULER_LAYOUT_TRANSFORM: OpDef = OpDef {
    name: "auto_scheduler_layout_transform",
    doc: "`data` in the layout that the auto-scheduler chose for a kernel; its passes insert the call \
          (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(AutoSchedulerLayoutTransformAttrs::SCHEMA),
    rules: &["C1: dst_layout is dimensions, each before the name of an axis"],
    rel: auto_scheduler_layout_transform_rel,
    fuse: Some(Fuse::Injective),
    internal: true,
    ..OpDef::BASE
};

fn auto_scheduler_layout_transform_rel(cx: &mut RelCx) -> RelResult {
    let attrs = AutoSchedulerLayoutTransformAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let text = attrs.dst_layout.0;
    let dims = dims_before_names(&text);
    cx.require("C1", dims.is_some(), || {
        Fault::attr("dst_layout", format!("expected dimensions, each before the name of an axis, found {text:?}"))
    })?;
    let dim = |dim| SDim::known(dim, DimOrigin::Attr("dst_layout"));
    let shape: Shape = dims.unwrap_or_default().into_iter().map(dim).collect();
    cx.set_out(shape, data.dtype)
}

/// The numbers of `1n4oc`, each followed by a name.
fn dims_before_names(text: &str) -> Option<Vec<i64>> {
    let mut dims = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let name = rest.find(|c: char| !c.is_ascii_digit())?;
        dims.push(i64::from(rest[..name].parse::<i32>().ok()?));
        let next = rest[name..].find(|c: char| !c.is_ascii_alphabetic() && c != '_').unwrap_or(rest.len() - name);
        rest = &rest[name + next..];
        if next == 0 || rest.starts_with(|c: char| !c.is_ascii_digit()) {
            return None;
        }
    }
    Some(dims)
}

pub(crate) const FAMILY: &[OpDef] = &[LAYOUT_TRANSFORM, AUTO_SCHEDULER_LAYOUT_TRANSFORM];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    fn transform(src: &str, dst: &str) -> crate::trial::Trial {
        call(&LAYOUT_TRANSFORM).text("src_layout", src).text("dst_layout", dst)
    }

    #[test]
    fn relations() {
        assert_eq!(transform("NCHW", "NCHW4c").out(&["(1i64, 7, 2, ?) int8"]), "Tensor[(1, 2, 2, ?, 4), int8]");
        assert_eq!(transform("NCHW8c", "NCHW4c").out(&["(1, 7, 2, 2, 8) int8"]), "Tensor[(1, 14, 2, 2, 4), int8]");
        assert_eq!(transform("NCHW", "NCHW4c").out(&["(0, 0, 2, 2) int8"]), "Tensor[(0, 0, 2, 2, 4), int8]");
        extremes(|| transform("NCHW", "NHWC"), &["(1, 2, 3, 4) float32"]);
        extremes(|| transform("NC4c", "CN2n"), &["(1, 2, 4) float32"]);
        let scheduled = || call(&AUTO_SCHEDULER_LAYOUT_TRANSFORM).text("src_layout", "").text("dst_layout", "2a3b");
        extremes(scheduled, &["(2, 3) float32"]);
        for wrong in ["a", "2", "2a3", "2é", "-2a", "99999999999a"] {
            assert_eq!(scheduled().text("dst_layout", wrong).fault(&["(2) int8"]).rule, "C1", "{wrong}");
        }
        assert_eq!(scheduled().text("dst_layout", "").out(&["(2) int8"]), "int8");
    }

    #[test]
    fn there_and_back() {
        let x = Tensor::from_fn(&[2, 8, 3], |i| i as i16);
        let there = transform("NCW", "WN2c2nC2c").eval(&[&x]).expect("it runs").remove(0);
        assert_eq!(there.shape(), [3, 1, 2, 2, 2, 2]);
        let back = transform("WN2c2nC2c", "NCW").eval(&[&there]).expect("it runs").remove(0);
        assert_eq!(back, x);
    }
}
