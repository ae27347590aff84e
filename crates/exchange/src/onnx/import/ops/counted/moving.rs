//! Converts operators that move elements in space: `Pad`, `DepthToSpace`, `Tile`, `Expand`, `Trilu`, and operators composed of
//! them.

use super::building_blocks::*;
use super::{Converter, op};
use relayc_ir::types::{Dim, SymbolOp, dims_of};

/// Widths are an attribute up to operator set 10, then an operand; since operator set 18 they may cover only some axes.
fn pad(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let mode = cx.text("mode", "constant")?;
    let (given, value) = if cx.version < 11 {
        let given = match cx.small_ints("pads")? {
            Some(given) => Some(given),
            None => cx.small_ints("paddings")?,
        };
        let value = cx.float("value", 0.0)?;
        (Some(given.unwrap_or_default()), Some(cx.like(x, value)?))
    } else {
        let pads = cx.input(1)?;
        (cx.known_small(pads, "widths")?, cx.opt(2))
    };
    let value = match value {
        Some(value) => cx.reshape(value, &[])?,
        None => cx.like(x, 0.0)?,
    };
    let axes = match cx.opt(3) {
        Some(_) => Some(cx.given(3, "axes")?),
        None => None,
    };
    let Some(given) = given else {
        if axes.is_some() || !["constant", "edge", "reflect"].contains(&&*mode) {
            return Err(refuse("widths that only a run knows"));
        }
        let widths = cx.input(1)?;
        let rows = cx.reshape(widths, &[2, rank as i64])?;
        let widths = cx.transpose(rows, &[1, 0])?;
        let sizes = padded_sizes(cx, x)?;
        let attrs = [("pad_width", AttrValue::List([].into())), ("pad_mode", AttrValue::str(&mode))];
        let padded = cx.call("dyn.nn.pad", &[x, widths, value], &attrs)?;
        return one(match sizes {
            // The same, whose shape the type says.
            Some(sizes) => cx.reshape_to_dims(padded, &sizes)?,
            None => padded,
        });
    };
    let axes = cx.axes_or_all(axes, rank)?;
    let n = axes.len();
    if given.len() != 2 * n {
        return Err(refuse(format!("{} widths for {n} axes", given.len())));
    }
    let mut widths = vec![(0, 0); rank];
    for (i, &axis) in axes.iter().enumerate() {
        widths[axis] = (given[i], given[i + n]);
    }
    one(match &*mode {
        "wrap" => wrapped(cx, x, &widths)?,
        "constant" | "edge" | "reflect" => cx.padded(x, value, &widths, &mode)?,
        other => return Err(refuse(format!("the mode `{other}`"))),
    })
}

/// The new dimensions, if the widths of operand 1 follow from sizes.
fn padded_sizes(cx: &mut Cx, x: Val) -> Result<Option<Vec<Dim>>> {
    let Some(widths) = cx.known_sizes(cx.input(1)?) else { return Ok(None) };
    let mut sizes = cx.shape(x)?;
    for (axis, size) in sizes.clone().into_iter().enumerate() {
        let (Some(&before), Some(&after)) = (widths.get(axis), widths.get(axis + sizes.len())) else { return Ok(None) };
        let wider = cx.b.size_arith(SymbolOp::Add, size, before);
        sizes[axis] = cx.b.size_arith(SymbolOp::Add, wider, after);
    }
    Ok(sizes.iter().all(|dim| dim.is_sized()).then_some(sizes))
}

/// Pads by wrapping: positions of each axis are taken modulo its length.
fn wrapped(cx: &mut Cx, x: Val, widths: &[(i64, i64)]) -> Result {
    let mut x = x;
    for (axis, &(before, after)) in widths.iter().enumerate() {
        if (before, after) == (0, 0) {
            continue;
        }
        let length = cx.shape(x)?[axis];
        let Some(n) = length.value() else {
            x = wrapped_open(cx, x, axis, (before, after))?;
            continue;
        };
        if n < 1 || n + before + after > MAX_CONSTANT {
            return Err(refuse(format!("an axis of {n} elements that goes round, {before} before and {after} behind it")));
        }
        cx.charge(n + before + after)?;
        let positions: Vec<i64> = (-before..n + after).map(|at| at.rem_euclid(n)).collect();
        x = cx.take(x, positions, axis)?;
    }
    Ok(x)
}

/// The same along an axis whose length is a named size.
fn wrapped_open(cx: &mut Cx, x: Val, axis: usize, (before, after): (i64, i64)) -> Result {
    let more = Dim::known(before.saturating_add(after));
    let wider = cx.b.size_arith(SymbolOp::Add, cx.shape(x)?[axis], more);
    if !wider.is_named() {
        return Err(refuse("an axis that goes round, of a length that only data decides"));
    }
    let positions = positions_below(cx, wider, DType::I64)?;
    let shape = cx.shape_of(x)?;
    let length = cx.at(shape, i64::try_from(axis).unwrap_or(i64::MAX), 0)?;
    let before = cx.put(Tensor::scalar(before))?;
    let from_first = cx.binary("subtract", positions, before)?;
    let inside = cx.binary("floor_mod", from_first, length)?;
    cx.call("take", &[x, inside], &[("axis", int(axis)), ("mode", AttrValue::str("fast"))])
}

/// Crops the centre of each axis, or centres it in zeros.
fn center_crop_pad(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let wanted = cx.given(1, "shape")?;
    let axes = cx.small_ints("axes")?;
    let axes = cx.axes_or_all(axes, rank)?;
    if wanted.len() != axes.len() {
        return Err(refuse(format!("{} sizes for {} axes", wanted.len(), axes.len())));
    }
    let mut widths = vec![(0, 0); rank];
    for (&axis, &to) in axes.iter().zip(&wanted) {
        let from = cx.size(x, axis)?;
        // Negative widths cut; of an odd number the greater half lies behind.
        let less = |n: i64| (n / 2, n - n / 2);
        let (before, after) = less((to - from).abs());
        widths[axis] = if to >= from { (before, after) } else { (-before, -after) };
    }
    let zero = cx.like(x, 0.0)?;
    one(cx.padded(x, zero, &widths, "constant")?)
}

fn depth_to_space(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let mode = match &*cx.text("mode", "DCR")? {
        "DCR" => "DCR",
        "CRD" => "CDR",
        other => return Err(refuse(format!("the mode `{other}`"))),
    };
    let block = AttrValue::int(cx.required_int("blocksize")?);
    one(cx.call("nn.depth_to_space", &[x], &[("block_size", block), ("mode", AttrValue::str(mode))])?)
}

fn space_to_depth(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let block = AttrValue::int(cx.required_int("blocksize")?);
    one(cx.call("nn.space_to_depth", &[x], &[("block_size", block)])?)
}

/// Adds columns of windows back into their image: `scatter_nd` with positions computed here.
fn col2im(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let image = cx.given(1, "image_shape")?;
    let block = cx.given(2, "block_shape")?;
    let n = image.len();
    let or = |given: Option<Vec<i64>>, default: i64, n: usize| given.unwrap_or_else(|| vec![default; n]);
    let dilations = or(cx.small_ints("dilations")?, 1, n);
    let strides = or(cx.small_ints("strides")?, 1, n);
    let pads = or(cx.small_ints("pads")?, 0, 2 * n);
    let shape = cx.shape(x)?;
    let &[batch, _, _] = &shape[..] else { return Err(refuse("an operand that has not three axes")) };
    let (rows, columns) = (cx.size(x, 1)?, cx.size(x, 2)?);
    if n == 0 || block.len() != n || pads.len() != 2 * n || strides.len() != n || dilations.len() != n {
        return Err(refuse("lists of different lengths"));
    }
    // Where each element of a channel goes in the padded picture, flat.
    let padded: Vec<i64> = (0..n).map(|i| image[i] + pads[i] + pads[i + n]).collect();
    if [&image, &block, &strides, &dilations, &padded].iter().any(|list| list.iter().any(|&n| n < 1))
        || product(&padded) > MAX_NUMBER
    {
        return Err(refuse(format!("a picture of {padded:?} elements with its padding")));
    }
    let n_block = product(&block);
    if rows % n_block != 0 {
        return Err(refuse("rows that are no whole blocks"));
    }
    let channels = rows / n_block;
    let steps: Vec<i64> = (0..n).map(|i| (padded[i] - (dilations[i] * (block[i] - 1) + 1)) / strides[i] + 1).collect();
    if steps.iter().any(|&steps| steps < 1) || product(&steps) != columns || n_block.saturating_mul(columns) > MAX_CONSTANT {
        return Err(refuse(format!("{columns} columns of blocks of {n_block} for {steps:?} windows")));
    }
    cx.charge(n_block * columns)?;
    let mut positions = vec![];
    for b in 0..n_block {
        let inside = unravel(b, &block);
        for w in 0..columns {
            let window = unravel(w, &steps);
            let at = (0..n).fold(0, |flat, i| flat * padded[i] + window[i] * strides[i] + inside[i] * dilations[i]);
            positions.push(at);
        }
    }
    let n_padded = product(&padded);
    let n_positions = positions.len() as i64;
    let positions = cx.put(Tensor::from_vec(&[1, positions.len()], positions))?;
    // Positions go first: (positions, batch, channels).
    let flat = cx.reshape_to_dims(x, &[batch, Dim::known(channels), Dim::known(n_positions)])?;
    let updates = cx.transpose(flat, &[2, 0, 1])?;
    let zero = cx.like(x, 0.0)?;
    let room = dims_attr(&[Dim::known(n_padded), batch, Dim::known(channels)]);
    let empty = cx.call("full", &[zero], &[("shape", room), ("dtype", AttrValue::DType(Some(cx.dtype(x)?)))])?;
    let sums = cx.call("scatter_nd", &[empty, positions, updates], &[("mode", AttrValue::str("add"))])?;
    let sums = cx.transpose(sums, &[1, 2, 0])?;
    let sums = cx.reshape_behind(sums, 2, &padded)?;
    let widths: Vec<(i64, i64)> = [(0, 0); 2].into_iter().chain((0..n).map(|i| (-pads[i], -pads[i + n]))).collect();
    one(cx.padded(sums, zero, &widths, "constant")?)
}

/// Scatters each element to the position of its maximum, with zeros elsewhere; positions count through the whole tensor.
fn max_unpool(cx: &mut Cx) -> Results {
    let (x, positions) = (cx.input(0)?, cx.input(1)?);
    let kernel = cx.small_ints("kernel_shape")?.unwrap_or_default();
    let n = kernel.len();
    let strides = cx.small_ints("strides")?.unwrap_or_else(|| vec![1; n]);
    let pads = cx.small_ints("pads")?.unwrap_or_else(|| vec![0; 2 * n]);
    let shape = cx.sizes(x)?;
    if shape.len() != n + 2 || strides.len() != n || pads.len() != 2 * n {
        return Err(refuse("lists of different lengths"));
    }
    let mut full = shape[..2].to_vec();
    full.extend((0..n).map(|i| (shape[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + n]));
    let wanted = match cx.opt(2) {
        Some(_) => cx.given(2, "output_shape")?,
        None => full.clone(),
    };
    let dtype = cx.dtype(x)?;
    let elements = Some(product(&full)).filter(|&n| n < MAX_NUMBER && full.iter().all(|&dim| dim >= 0));
    let elements = elements.ok_or_else(|| refuse("a result without a size"))?;
    let empty = cx.zeros(&[elements], dtype)?;
    let (flat, positions) = (cx.reshape(x, &[-1])?, cx.reshape(positions, &[-1])?);
    let attrs = [("axis", AttrValue::int(0)), ("reduction", AttrValue::str("update"))];
    let placed = cx.call("scatter_elements", &[empty, positions, flat], &attrs)?;
    let placed = cx.reshape(placed, &full)?;
    if wanted.len() != full.len() {
        return Err(refuse("a shape of another rank"));
    }
    let widths: Vec<(i64, i64)> = wanted.iter().zip(&full).map(|(&to, &from)| (0, to - from)).collect();
    let zero = cx.like(placed, 0.0)?;
    one(cx.padded(placed, zero, &widths, "constant")?)
}

fn tile(cx: &mut Cx) -> Results {
    let (x, times) = (cx.input(0)?, cx.input(1)?);
    one(match cx.known_sizes(times) {
        Some(times) => cx.call("tile", &[x], &[("reps", dims_attr(&times))])?,
        None => cx.call("dyn.tile", &[x, times], &[("reps", AttrValue::List([].into()))])?,
    })
}

/// Both the data and the shape may have axes of dimension 1 that the other one extends.
fn expand(cx: &mut Cx) -> Results {
    let (x, shape) = (cx.input(0)?, cx.input(1)?);
    let rank = cx.rank(x)?;
    if let Some(wanted) = cx.known_sizes(shape) {
        if wanted.len() >= rank && wanted.iter().all(|dim| dim.value().is_some_and(|dim| dim != 1)) {
            // No dimension of the data stays, whatever it is.
            return one(cx.call("broadcast_to", &[x], &[("shape", dims_attr(&wanted))])?);
        }
        if let Some(dims) = cx.sized(x)?
            && let Some(full) = cx.b.broadcast(&dims, &wanted)
        {
            if full.len() == rank && full.iter().zip(&dims).all(|(a, b)| a.same(*b)) {
                return one(x);
            }
            return one(cx.call("broadcast_to", &[x], &[("shape", dims_attr(&full))])?);
        }
    }
    let n_wanted = cx.size(shape, 0)?;
    let n = n_wanted.max(rank as i64);
    if n > MAX_RANK {
        return Err(refuse(format!("a shape of {n} axes")));
    }
    let ones = |n: i64| Tensor::from_vec(&[n as usize], vec![1i64; n as usize]);
    let mut dims = cx.shape_of(x)?;
    if n > rank as i64 {
        let front = cx.put(ones(n - rank as i64))?;
        dims = cx.concatenate(&[front, dims], 0)?;
    }
    let mut wanted = cx.cast(shape, DType::I64)?;
    if n_wanted < n {
        let front = cx.put(ones(n - n_wanted))?;
        wanted = cx.concatenate(&[front, wanted], 0)?;
    }
    let unit = cx.like(dims, 1.0)?;
    let open = cx.binary("equal", dims, unit)?;
    let full = cx.select(open, wanted, dims)?;
    // Where the data has another dimension than 1, the wanted one may be another than both, which no run broadcasts to.
    let all_open = cx.shape(x)?.iter().all(|dim| dim.value() == Some(1));
    let tried = match all_open {
        true => full,
        false => {
            let stays = cx.binary("equal", wanted, unit)?;
            cx.select(stays, dims, wanted)?
        }
    };
    let result = cx.call("dyn.broadcast_to", &[x, tried], &[("shape", AttrValue::None)])?;
    one(cx.narrowed(result, full)?)
}

fn trilu(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let k = match cx.opt(1) {
        Some(k) => cx.reshape(k, &[])?,
        None => cx.put(Tensor::scalar(0i64))?,
    };
    let upper = AttrValue::Bool(cx.flag("upper", true)?);
    one(cx.call("trilu", &[x, k], &[("upper", upper)])?)
}

fn eye_like(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    if cx.rank(x)? != 2 {
        return Err(refuse("an operand that is no matrix"));
    }
    let dtype = match cx.opt_int("dtype")? {
        Some(code) => cx.dtype_of(code)?,
        None => cx.dtype(x)?,
    };
    let k = cx.int("k", 0)?;
    let shape = cx.shape(x)?;
    let Some(&[rows, columns]) = dims_of(&shape).as_deref() else {
        // What lies neither above nor below the diagonal.
        let ones = cx.unary("ones_like", x)?;
        let ones = cx.cast(ones, dtype)?;
        let k = cx.put(Tensor::scalar(k))?;
        let half = |cx: &mut Cx, x: Val, upper: bool| cx.call("trilu", &[x, k], &[("upper", AttrValue::Bool(upper))]);
        let upper = half(cx, ones, true)?;
        return one(half(cx, upper, false)?);
    };
    let mark = |at: usize| {
        let at = at as i64;
        f64::from(u8::from(at % columns == (at / columns).saturating_add(k)))
    };
    one(cx.put_numbers(&[rows, columns], dtype, mark)?)
}

/// Writes a known range as a constant: no kernel computes Relay's `arange`.
fn range(cx: &mut Cx) -> Results {
    let (start, limit) = (cx.input(0)?, cx.input(1)?);
    let dtype = cx.dtype(start)?;
    // ONNX Runtime's own operator may leave the step out.
    let bounds = [start, limit, cx.opt(2).map_or_else(|| cx.scalar(dtype, 1.0), Ok)?];
    if bounds.iter().any(|&bound| cx.known(bound).is_none()) {
        if let Some(sizes) = range_sizes(cx, bounds)
            && let Some(range) = range_of_sizes(cx, bounds[0], sizes, dtype)?
        {
            return one(range);
        }
        let bounds = bounds.map(|bound| cx.scalar_of(bound));
        let bounds = bounds.into_iter().collect::<Result<Vec<Val>>>()?;
        let none = [("start", AttrValue::None), ("stop", AttrValue::None), ("step", AttrValue::None)];
        let attrs = [&none[..], &[("dtype", AttrValue::DType(Some(dtype)))]].concat();
        return one(cx.call("arange", &bounds, &attrs)?);
    }
    if dtype.is_int() {
        return whole_range(cx, bounds, dtype);
    }
    let (start, limit, delta) =
        (cx.number_of(bounds[0], "start")?, cx.number_of(bounds[1], "limit")?, cx.number_of(bounds[2], "delta")?);
    let n = ((limit - start) / delta).ceil().max(0.0);
    if n.is_nan() || n > MAX_CONSTANT as f64 {
        return Err(refuse(format!("a range from {start} to {limit} by {delta}")));
    }
    one(cx.put_numbers(&[n as i64], dtype, |i| start + i as f64 * delta)?)
}

/// The bounds of a range, if they are sizes.
fn range_sizes(cx: &mut Cx, bounds: [Val; 3]) -> Option<[Dim; 3]> {
    let [start, limit, delta] = bounds.map(|bound| cx.known_sizes(bound).and_then(|sizes| sizes.first().copied()));
    Some([start?, limit?, delta?])
}

/// The numbers between sizes, by operators whose attributes have the sizes. The bounds of `arange` are data, on which the type of its
/// result would depend. `None` for a length that is no size.
fn range_of_sizes(cx: &mut Cx, first: Val, [start, limit, delta]: [Dim; 3], dtype: DType) -> Result<Option<Val>> {
    // Floats count exactly by casts of integers.
    let counted = if dtype.is_int() { dtype } else { DType::I64 };
    // Sizes are certainly not negative.
    let is_position = start.is_var() || start.value().is_some_and(|start| start >= 0);
    if delta.value() == Some(1) && is_position && limit.is_named() {
        let all = positions_below(cx, limit, counted)?;
        let bounds = [("begin", dims_attr(&[start])), ("end", dims_attr(&[limit]))];
        let rest = [("strides", AttrValue::ints(&[1])), ("axes", AttrValue::ints(&[0]))];
        let range = match start.value() {
            Some(0) => all,
            _ => cx.call("strided_slice", &[all], &[bounds, rest].concat())?,
        };
        return Ok(Some(cx.cast(range, dtype)?));
    }
    let Some(delta) = delta.value().filter(|&delta| delta != 0) else { return Ok(None) };
    let Some(length) = range_length(cx, start, limit, delta) else { return Ok(None) };
    let positions = positions_below(cx, length, counted)?;
    let positions = cx.cast(positions, dtype)?;
    let first = cx.scalar_of(first)?;
    let steps = if delta == 1 { positions } else { cx.b.formula(positions, positions * delta as f64)? };
    Ok(Some(cx.binary("add", steps, first)?))
}

/// The positions before a size: the numbers of ones before each.
pub(in super::super) fn positions_below(cx: &mut Cx, limit: Dim, dtype: DType) -> Result<Val> {
    let one = cx.put_as(Tensor::scalar(1i64), dtype)?;
    let ones = cx.call("full", &[one], &[("shape", dims_attr(&[limit])), ("dtype", AttrValue::DType(Some(dtype)))])?;
    cx.call("cumsum", &[ones], &[("axis", AttrValue::int(0)), ("exclusive", AttrValue::Bool(true))])
}

/// The length of a range between sizes.
fn range_length(cx: &mut Cx, start: Dim, limit: Dim, delta: i64) -> Option<Dim> {
    let (from, to) = if delta > 0 { (start, limit) } else { (limit, start) };
    let step = i64::try_from(delta.unsigned_abs()).ok()?;
    let distance = cx.b.size_arith(SymbolOp::Sub, to, from);
    let rounded = cx.b.size_arith(SymbolOp::Add, distance, Dim::known(step - 1));
    let length = cx.b.size_arith(SymbolOp::FloorDiv, rounded, Dim::known(step));
    length.is_named().then_some(length)
}

/// A range of integers, which a float would round from 2^53 on.
fn whole_range(cx: &mut Cx, bounds: [Val; 3], dtype: DType) -> Results {
    let bound = |i: usize, name: &str| match cx.ints_of(bounds[i], name)?[..] {
        [bound] => Ok(i128::from(bound)),
        _ => Err(Refusal::wrong(format!("expected one number as {name}"))),
    };
    let (start, limit, delta) = (bound(0, "start")?, bound(1, "limit")?, bound(2, "delta")?);
    if delta == 0 {
        return Err(Refusal::wrong("a range by steps of 0"));
    }
    let way = if delta > 0 { limit - start } else { start - limit };
    let n = (way + delta.abs() - 1).max(0) / delta.abs();
    let n = usize::try_from(n).ok().filter(|&n| n as i64 <= MAX_CONSTANT);
    let n = n.ok_or_else(|| refuse(format!("a range from {start} to {limit} by {delta}")))?;
    cx.charge(n as i64)?;
    one(cx.put_as(Tensor::from_fn(&[n], |i| (start + i as i128 * delta) as i64), dtype)?)
}

fn einsum(cx: &mut Cx) -> Results {
    let operands = cx.all_inputs()?;
    let equation = cx.text("equation", "")?;
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let tuple = cx.tuple(&operands);
    one(cx.call("einsum", &[tuple], &[("equation", AttrValue::str(&equation))])?)
}

pub(crate) const FAMILY: &[Converter] = &[
    op("Pad", &[2, 11, 13, 18, 19, 21], pad).but("widths that only a run knows, if they go round or are of some axes"),
    op("CenterCropPad", &[18], center_crop_pad).but("a shape that only a run knows"),
    op("DepthToSpace", &[1, 11, 13], depth_to_space),
    op("SpaceToDepth", &[1, 13], space_to_depth),
    op("Col2Im", &[18], col2im).but("shapes that only a run knows"),
    op("MaxUnpool", &[9, 11, 22], max_unpool).but("a shape that only a run knows"),
    op("Tile", &[6, 13], tile),
    op("Expand", &[8, 13], expand),
    op("Trilu", &[14], trilu),
    op("EyeLike", &[9, 22], eye_like),
    op("Range", &[11], range),
    op("com.microsoft.Range", &[1], range),
    op("Einsum", &[12], einsum),
];
