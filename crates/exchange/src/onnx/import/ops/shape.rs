//! Converts shape operators: reshape, transpose, concatenate, and shapes as values.

use super::super::build::{Element, Val};
use super::super::cx::{Cx, Result, Results, dims_attr, positions};
use super::super::errors::Refusal;
use super::building_blocks::MAX_RANK;
use super::index::moved_from_end;
use super::{Converter, op};
use relayc_ir::AttrValue;
use relayc_ir::types::{DType, Dim, SymbolOp, dims_of};

fn reshape(cx: &mut Cx) -> Results {
    let (x, shape) = (cx.input(0)?, cx.input(1)?);
    let zeros = cx.version >= 14 && cx.flag("allowzero", false)?;
    Ok(vec![cx.reshape_to(x, shape, zeros)?])
}

impl Cx<'_> {
    /// Reshapes `x` to a shape that is an operand. A dimension of 0 means that of `x`, unless `zeros`.
    pub(crate) fn reshape_to(&mut self, x: Val, shape: Val, zeros: bool) -> Result {
        let from = self.shape(x)?;
        let known = self.b.elements(shape).and_then(|elements| {
            // A dimension of `x` itself in its own place is kept, which 0 says.
            let code = |(at, element): (usize, Element)| match element {
                Element::Size(dim) if dim.value().is_some() => dim.value(),
                Element::Size(dim) => (!zeros && from.get(at).is_some_and(|own| own.same(dim))).then_some(0),
                Element::Axis(of, axis) => (!zeros && (of, axis) == (x, at)).then_some(0),
                Element::Ratio(..) | Element::Unknown => None,
            };
            let codes: Vec<Option<i64>> = elements.into_iter().enumerate().map(code).collect();
            // One dimension that is not known is what remains, if nothing else is.
            let unknown = codes.iter().filter(|code| code.is_none()).count();
            let fits = unknown == 0 || (unknown == 1 && codes.iter().flatten().all(|&code| code > 0 || (code == 0 && !zeros)));
            fits.then(|| codes.into_iter().map(|code| code.unwrap_or(-1)).collect::<Vec<i64>>())
        });
        let zero = ("allowzero", AttrValue::Bool(zeros));
        // Sizes that no code says stand in the shape themselves.
        if known.is_none()
            && let Some(dims) = self.sizes_to(x, shape, zeros)?
        {
            return self.reshape_to_dims(x, &dims);
        }
        if let Some(dims) = known {
            return self.call("reshape", &[x], &[("newshape", AttrValue::ints(&dims)), zero]);
        }
        let declared = self.declared.first().cloned().flatten();
        match declared.filter(|_| self.node.op_type.as_deref() == Some("Reshape")) {
            Some(dims) if !zeros => self.call("vm.reshape_tensor", &[x, shape], &[("newshape", AttrValue::ints(&dims))]),
            declared => {
                let reshaped = self.call("dyn.reshape", &[x, shape], &[("newshape", AttrValue::ints(&[])), zero])?;
                declared.map_or(Ok(reshaped), |dims| self.held_to(reshaped, &dims))
            }
        }
    }

    /// A value whose shape only a run knows, as one of the shape that the model declares for it; a run of which it has another fails.
    fn held_to(&mut self, val: Val, dims: &[i64]) -> Result {
        let shape = self.shape_of(val)?;
        self.call("vm.reshape_tensor", &[val, shape], &[("newshape", AttrValue::ints(dims))])
    }

    /// [`Cx::held_to`] the shape that the model declares for the node's result, if it does.
    pub(crate) fn as_declared(&mut self, val: Val) -> Result {
        let declared = self.declared.first().cloned().flatten();
        declared.map_or(Ok(val), |dims| self.held_to(val, &dims))
    }
}

impl Cx<'_> {
    /// The dimensions that a reshape of `x` gives, if all are numbers or sizes.
    fn sizes_to(&mut self, x: Val, shape: Val, zeros: bool) -> Result<Option<Vec<Dim>>> {
        let from = self.shape(x)?;
        let Some(mut dims) = self.known_sizes(shape) else { return Ok(None) };
        if !zeros {
            for (dim, own) in dims.iter_mut().zip(&from).filter(|(dim, _)| dim.value() == Some(0)) {
                *dim = *own;
            }
        }
        if let Some(rest) = dims.iter().position(|dim| dim.value() == Some(-1)) {
            let others: Vec<Dim> = dims.iter().enumerate().filter(|&(at, _)| at != rest).map(|(_, dim)| *dim).collect();
            let (all, others) = (self.product(&from), self.product(&others));
            dims[rest] = self.b.size_arith(SymbolOp::FloorDiv, all, others);
        }
        Ok(Some(dims).filter(|dims| dims.iter().all(|dim| dim.value().is_some_and(|dim| dim >= 0) || dim.is_named())))
    }

    /// The product of dimensions; `?` if one is not known.
    pub(crate) fn product(&mut self, dims: &[Dim]) -> Dim {
        dims.iter().fold(Dim::known(1), |n, &dim| self.b.size_arith(SymbolOp::Mul, n, dim))
    }
}

fn transpose(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let axes = match cx.ints("perm")? {
        Some(axes) => cx.axes(&axes, rank)?,
        None => (0..rank).rev().collect(),
    };
    if axes.len() != rank {
        return Err(Refusal::wrong(format!("`perm` has {} axes of {rank}", axes.len())));
    }
    Ok(vec![cx.transpose(x, &axes)?])
}

fn concat(cx: &mut Cx) -> Results {
    let operands = cx.all_inputs()?;
    let first = operands.first().copied().ok_or_else(|| Refusal::wrong("it has no operand"))?;
    let axis = cx.opt_int("axis")?.ok_or_else(|| Refusal::wrong("`axis` is missing"))?;
    let axis = cx.axis(axis, cx.rank(first)?)?;
    Ok(vec![cx.concatenate(&operands, axis)?])
}

fn flatten(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let (axis, rank) = (cx.int("axis", 1)?, cx.rank(x)?);
    let at = if axis == i64::try_from(rank).unwrap_or(i64::MAX) { rank } else { cx.axis(axis, rank)? };
    if at == 1 && rank > 1 {
        return Ok(vec![cx.unary("nn.batch_flatten", x)?]);
    }
    if let Some(shape) = cx.sized(x)? {
        let (front, back) = shape.split_at(at);
        let dims = [cx.product(front), cx.product(back)];
        return Ok(vec![cx.reshape_to_dims(x, &dims)?]);
    }
    let shape = cx.shape(x)?;
    let product =
        |dims: &[relayc_ir::types::Dim]| dims_of(dims).map(|dims| dims.iter().fold(1i64, |n, &dim| n.saturating_mul(dim)));
    let (front, back) = shape.split_at(at);
    let dims = match (product(front), product(back)) {
        (Some(front), Some(back)) => [front, back],
        (Some(front), None) if front > 0 => [front, -1],
        (None, Some(back)) if back > 0 => [-1, back],
        _ => {
            let all = cx.shape_of(x)?;
            let mut product = |begin: usize, end: usize| {
                let (begin, end) = (i64::try_from(begin).unwrap_or(i64::MAX), i64::try_from(end).unwrap_or(i64::MAX));
                let dims = cx.slice(all, 0, begin, end)?;
                cx.reduce("prod", dims, &[0], true)
            };
            let products = [product(0, at)?, product(at, rank)?];
            let shape = cx.concatenate(&products, 0)?;
            return Ok(vec![cx.reshape_to(x, shape, true)?]);
        }
    };
    Ok(vec![cx.reshape(x, &dims)?])
}

/// The axes: an attribute before operator set 13, an operand since then.
fn axes_of(cx: &mut Cx) -> Result<Option<Val>> {
    if cx.version >= 13 {
        return Ok(cx.opt(1));
    }
    Ok(cx.ints("axes")?.map(|axes| cx.int_list(&axes)))
}

fn squeeze(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let shape = cx.shape(x)?;
    let axes = match axes_of(cx)? {
        Some(axes) => match cx.known_ints(axes) {
            Some(axes) => cx.axes(&axes, shape.len())?,
            None => return Ok(vec![cx.call("dyn.squeeze", &[x, axes], &[("axis", AttrValue::None)])?]),
        },
        // The rank of a result is that of every run, so an open axis stays even where a run gives it the size 1.
        None => (0..shape.len()).filter(|&axis| shape[axis].value() == Some(1)).collect(),
    };
    Ok(vec![cx.squeeze(x, &axes)?])
}

fn unsqueeze(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let axes = axes_of(cx)?.ok_or_else(|| Refusal::wrong("`axes` are missing"))?;
    let Some(known) = cx.known_ints(axes) else {
        let open = match cx.dim(axes, 0)? {
            1 => {
                let axis = cx.scalar_of(axes)?;
                cx.call("dyn.expand_dims", &[x, axis], &[("num_newaxis", AttrValue::int(1))])?
            }
            n => {
                let shape = unsqueezed(cx, x, axes, n)?;
                cx.reshape_to(x, shape, true)?
            }
        };
        return Ok(vec![cx.as_declared(open)?]);
    };
    let rank = cx.rank(x)?.saturating_add(known.len());
    let mut axes = cx.axes(&known, rank)?;
    axes.sort_unstable();
    let mut out = x;
    let mut rest = axes.as_slice();
    while let Some(&axis) = rest.first() {
        let n = rest.iter().zip(axis..).take_while(|(axis, at)| *axis == at).count();
        out = cx.expand_dims(out, axis, n)?;
        rest = rest.get(n..).unwrap_or_default();
    }
    Ok(vec![out])
}

/// The shape of `x` with `n` axes of dimension 1 at positions that only a run knows.
fn unsqueezed(cx: &mut Cx, x: Val, axes: Val, n: i64) -> Result {
    let n = usize::try_from(n)
        .ok()
        .filter(|_| n <= MAX_RANK)
        .ok_or_else(|| Refusal::wrong(format!("{n} axes, of {MAX_RANK} at most")))?;
    let old_rank = cx.rank(x)?;
    let rank = old_rank.saturating_add(n);
    if old_rank == 0 {
        return Ok(cx.int_list(&vec![1; rank]));
    }
    let [zero, one] = [0.0, 1.0].map(|number| cx.scalar(DType::I64, number));
    let (zero, one, length) = (zero?, one?, cx.scalar(DType::I64, f64::from(u32::try_from(rank).unwrap_or(u32::MAX)))?);
    let axes = cx.cast(axes, DType::I64)?;
    let axes = moved_from_end(cx, axes, length)?;
    let depth = AttrValue::int(i64::try_from(rank).unwrap_or(i64::MAX));
    let marks = [("depth", depth), ("axis", AttrValue::int(-1)), ("dtype", AttrValue::DType(Some(DType::I64)))];
    let marks = cx.call("one_hot", &[axes, one, zero], &marks)?;
    let is_new = cx.reduce("max", marks, &[0], false)?;
    // Each other axis is the next one of `x`; one too many, as where an axis is named twice, is none.
    let is_old = cx.binary("subtract", one, is_new)?;
    let so_far = cx.call("cumsum", &[is_old], &[("axis", AttrValue::int(0))])?;
    let at = cx.binary("subtract", so_far, one)?;
    let at = cx.binary("maximum", at, zero)?;
    let dims = cx.shape_of(x)?;
    let dims = cx.call("take", &[dims, at], &[("axis", AttrValue::int(0)), ("mode", AttrValue::str("fast"))])?;
    let is_new = cx.cast(is_new, DType::BOOL)?;
    cx.select(is_new, one, dims)
}

fn shape(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = i64::try_from(cx.rank(x)?).unwrap_or(i64::MAX);
    let whole = cx.shape_of(x)?;
    let at = |value: i64| if value < 0 { value.saturating_add(rank) } else { value }.clamp(0, rank);
    let (start, end) = match cx.version >= 15 {
        true => (cx.int("start", 0)?, cx.opt_int("end")?.unwrap_or(rank)),
        false => (0, rank),
    };
    let (start, end) = (at(start), at(end));
    match (start, end) == (0, rank) {
        true => Ok(vec![whole]),
        false => Ok(vec![cx.slice(whole, 0, start, end.max(start))?]),
    }
}

fn size(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    match dims_of(&cx.shape(x)?) {
        Some(dims) => {
            let n = dims.iter().fold(1i64, |n, &dim| n.saturating_mul(dim));
            Ok(vec![cx.constant(relayc_ir::tensor::Tensor::scalar(n))])
        }
        None => Ok(vec![cx.call("ndarray_size", &[x], &[("dtype", AttrValue::DType(Some(DType::I64)))])?]),
    }
}

fn cast(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let to = cx.required_int("to")?;
    let dtype = cx.dtype_of(to)?;
    // Of 8-bit floats only.
    cx.ignore("saturate");
    cx.ignore("round_mode");
    Ok(vec![cx.cast(x, dtype)?])
}

/// Reinterprets the bits as another dtype of the same width.
fn bit_cast(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let to = cx.required_int("to")?;
    let (from, to) = (cx.dtype(x)?, cx.dtype_of(to)?);
    if from.bits != to.bits || from.is_bool() != to.is_bool() {
        return Err(Refusal::wrong(format!("the bits of `{from}` as `{to}`")));
    }
    Ok(vec![cx.call("reinterpret", &[x], &[("dtype", AttrValue::DType(Some(to)))])?])
}

fn cast_like(cx: &mut Cx) -> Results {
    let (x, like) = (cx.input(0)?, cx.input(1)?);
    cx.ignore("saturate");
    cx.ignore("round_mode");
    let dtype = cx.dtype(like)?;
    Ok(vec![cx.cast(x, dtype)?])
}

/// Pieces of one size along an axis whose length is a named size; the last one may be smaller.
fn split_open(cx: &mut Cx, x: Val, axis: usize, n: usize) -> Results {
    let whole = cx.shape(x)?[axis];
    let n = i64::try_from(n).unwrap_or(i64::MAX);
    let rounded = cx.b.size_arith(SymbolOp::Add, whole, Dim::known(n.saturating_sub(1)));
    let size = cx.b.size_arith(SymbolOp::FloorDiv, rounded, Dim::known(n));
    let bound = |cx: &mut Cx, piece: i64| match piece {
        0 => Dim::known(0),
        _ if piece == n => whole,
        _ => cx.b.size_arith(SymbolOp::Mul, size, Dim::known(piece)),
    };
    let mut pieces = vec![];
    for piece in 0..n {
        let (begin, end) = (bound(cx, piece), bound(cx, piece.saturating_add(1)));
        let bounds = [("begin", dims_attr(&[begin])), ("end", dims_attr(&[end]))];
        let rest = [("strides", AttrValue::ints(&[1])), ("axes", positions(&[axis]))];
        pieces.push(cx.call("strided_slice", &[x], &[bounds, rest].concat())?);
    }
    Ok(pieces)
}

/// Splits into pieces of given or equal sizes. Sizes are an attribute before operator set 13 and an operand since then; since
/// operator set 18 the last of equal pieces may be smaller.
fn split(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let axis = cx.int("axis", 0)?;
    let axis = cx.axis(axis, cx.rank(x)?)?;
    let sizes = match cx.version >= 13 {
        true => cx.opt(1).map(|sizes| cx.ints_of(sizes, "sizes of pieces")).transpose()?,
        false => cx.ints("split")?,
    };
    let n_pieces = cx.node.output.len();
    if let (true, Some(n)) = (cx.version >= 18, cx.opt_int("num_outputs")?)
        && usize::try_from(n) != Ok(n_pieces)
    {
        return Err(Refusal::wrong(format!("`num_outputs` is {n}, and there are {n_pieces} results")));
    }
    let whole = cx.shape(x)?[axis];
    let sizes = match sizes {
        Some(sizes) => sizes,
        None if whole.is_named() => return split_open(cx, x, axis, n_pieces),
        None => {
            let (n, length) = (i64::try_from(n_pieces).unwrap_or(1).max(1), cx.dim(x, axis)?);
            let size = length.saturating_add(n).saturating_sub(1).checked_div(n).unwrap_or(0);
            let begin = |piece: i64| piece.saturating_mul(size).min(length);
            (0..n).map(|piece| begin(piece.saturating_add(1)).saturating_sub(begin(piece))).collect()
        }
    };
    if sizes.iter().any(|&size| size < 0) {
        return Err(Refusal::wrong(format!("pieces of sizes {sizes:?}")));
    }
    let mut ends = vec![];
    let mut end = 0i64;
    for size in &sizes {
        end = end.saturating_add(*size);
        ends.push(end);
    }
    if let Ok(length) = cx.dim(x, axis)
        && length != end
    {
        return Err(Refusal::wrong(format!("pieces of sizes {sizes:?} of an axis of {length}")));
    }
    if sizes.contains(&0) {
        // Relay's pieces hold something.
        let part = |(&size, &end): (&i64, &i64)| cx.slice(x, axis, end.saturating_sub(size), end);
        return sizes.iter().zip(&ends).map(part).collect();
    }
    ends.pop();
    if ends.is_empty() {
        return Ok(vec![x]);
    }
    let axis = AttrValue::int(i64::try_from(axis).unwrap_or(i64::MAX));
    let all = cx.call("split", &[x], &[("indices_or_sections", AttrValue::ints(&ends)), ("axis", axis)])?;
    (0..sizes.len()).map(|index| cx.field(all, index)).collect()
}

pub(crate) const FAMILY: &[Converter] = &[
    op("BitCast", &[26], bit_cast).but("strings, 8-bit floats and 4-bit integers"),
    op("Cast", &[6, 9, 13, 19, 21], cast).but("strings, 8-bit floats and 4-bit integers"),
    op("CastLike", &[15, 19, 21], cast_like).but("strings, 8-bit floats and 4-bit integers"),
    op("Concat", &[4, 11, 13], concat),
    op("Flatten", &[1, 9, 11, 13, 21], flatten),
    op("Reshape", &[5, 13, 14, 19, 21], reshape),
    op("Shape", &[1, 13, 15, 19, 21], shape),
    op("Size", &[1, 13, 19, 21], size),
    op("Split", &[2, 11, 13, 18], split).but("sizes that only a run knows"),
    op("Squeeze", &[1, 11, 13, 21], squeeze).but("without axes, a dimension that only a run knows stays, also where it is 1"),
    op("Transpose", &[1, 13, 21], transpose),
    op("Unsqueeze", &[1, 11, 13, 21], unsqueeze),
];
