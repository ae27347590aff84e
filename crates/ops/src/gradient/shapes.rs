//! Gradients of operators that create, move, join and select elements.

use super::{GradCx, Gradient};
use crate::call::tuple;
use relayc_ir::{AttrValue, ExprId};

pub(super) const GRADIENTS: &[(&str, Gradient)] = &[
    ("zeros", |_| Some(vec![])),
    ("ones", |_| Some(vec![])),
    ("dyn.zeros", zeros),
    ("dyn.ones", zeros),
    ("shape_of", zeros),
    ("ones_like", zeros),
    ("zeros_like", |cx| Some(vec![cx.out])),
    ("collapse_sum_like", collapse_sum),
    ("collapse_sum_to", collapse_sum),
    ("concatenate", concatenate),
    ("stack", stack),
    ("reshape", like_operand),
    ("contrib_reverse_reshape", like_operand),
    ("squeeze", like_operand),
    ("nn.batch_flatten", like_operand),
    ("dyn.reshape", like_first),
    ("reshape_like", like_first),
    ("transpose", transpose),
    ("expand_dims", expand_dims),
    ("take", take),
    ("gather_nd", gather_nd),
    ("strided_slice", strided_slice),
    ("one_hot", one_hot),
];

type Rule = Option<Vec<ExprId>>;

/// Zeros for the only operand.
fn zeros(cx: &mut GradCx) -> Rule {
    Some(vec![cx.zeros_like(*cx.args.first()?)])
}

fn collapse_sum(cx: &mut GradCx) -> Rule {
    let (x, y) = (cx.args[0], cx.args[1]);
    Some(vec![cx.binary("broadcast_to_like", cx.grad, x), cx.zeros_like(y)])
}

/// The gradient with the operand's shape.
fn like_operand(cx: &mut GradCx) -> Rule {
    Some(vec![cx.binary("reshape_like", cx.grad, cx.args[0])])
}

/// As [`like_operand`], with zeros for an operand that says a shape.
fn like_first(cx: &mut GradCx) -> Rule {
    Some(vec![cx.binary("reshape_like", cx.grad, cx.args[0]), cx.zeros_like(cx.args[1])])
}

/// The types of the fields of the only operand, a tuple.
fn fields(cx: &GradCx) -> Option<Vec<Vec<i64>>> {
    let fields = cx.module.types.as_tuple(cx.module.ty(cx.args[0]))?;
    let shape = |&ty| cx.module.types.as_tensor(ty).and_then(|(shape, _)| relayc_ir::types::dims_of(shape));
    fields.iter().map(shape).collect()
}

fn concatenate(cx: &mut GradCx) -> Rule {
    let axis = cx.attr_int("axis")?;
    let shapes = fields(cx)?;
    let rank = shapes.first()?.len() as i64;
    let at = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()?;
    let sizes: Vec<i64> = shapes.iter().map(|shape| shape.get(at).copied()).collect::<Option<_>>()?;
    let mut end = 0;
    let mut ends = Vec::new();
    for size in sizes.iter().filter(|&&size| size > 0) {
        end += size;
        ends.push(end);
    }
    ends.pop();
    let set = [("indices_or_sections", AttrValue::ints(&ends)), ("axis", AttrValue::int(axis))];
    if !sizes.contains(&0) {
        return Some(vec![cx.op("split", &[cx.grad], &set)]);
    }
    // `split` gives no part without elements.
    let parts = if ends.is_empty() { None } else { Some(cx.op("split", &[cx.grad], &set)) };
    let (mut grads, mut n_parts) = (Vec::new(), 0);
    for (at, &size) in sizes.iter().enumerate() {
        if size == 0 {
            let empty = cx.field(cx.args[0], at);
            grads.push(cx.zeros_like(empty));
            continue;
        }
        grads.push(parts.map_or(cx.grad, |parts| cx.field(parts, n_parts)));
        n_parts += 1;
    }
    Some(vec![tuple(cx.module, cx.span, &grads)])
}

fn stack(cx: &mut GradCx) -> Rule {
    let axis = cx.attr_int("axis")?;
    let n = fields(cx)?.len();
    let set = [("indices_or_sections", AttrValue::Int { value: n as i64, bits: 64 }), ("axis", AttrValue::int(axis))];
    let parts = cx.op("split", &[cx.grad], &set);
    let mut grads = Vec::new();
    for at in 0..n {
        let part = cx.field(parts, at);
        grads.push(cx.op("squeeze", &[part], &[("axis", AttrValue::ints(&[axis]))]));
    }
    Some(vec![tuple(cx.module, cx.span, &grads)])
}

/// The inverse of a permutation of axes.
fn transpose(cx: &mut GradCx) -> Rule {
    let axes = cx.attr_ints("axes").unwrap_or_default();
    let rank = cx.rank(cx.args[0])?;
    if axes.is_empty() {
        return Some(vec![cx.unary("transpose", cx.grad)]);
    }
    let mut inverse = vec![0; rank];
    for (to, &from) in axes.iter().enumerate() {
        *inverse.get_mut(usize::try_from(if from < 0 { from + rank as i64 } else { from }).ok()?)? = to as i64;
    }
    Some(vec![cx.op("transpose", &[cx.grad], &[("axes", AttrValue::ints(&inverse))])])
}

fn expand_dims(cx: &mut GradCx) -> Rule {
    let (axis, n) = (cx.attr_int("axis")?, cx.attr_int("num_newaxis")?);
    let mut grad = cx.grad;
    for _ in 0..n {
        grad = cx.op("squeeze", &[grad], &[("axis", AttrValue::ints(&[axis]))]);
    }
    Some(vec![grad])
}

/// The sum of the slices that an index took, for one index or a list. Where TVM adds them in a loop, this is one `scatter_nd`.
fn take(cx: &mut GradCx) -> Rule {
    let (data, indices) = (cx.args[0], cx.args[1]);
    if !matches!(cx.attr_int("batch_dims"), None | Some(0)) {
        return None;
    }
    let shape = cx.shape(data)?;
    let flat: i64 = shape.iter().product();
    let (axis, shape) = match cx.attr_int("axis") {
        None => (0, vec![flat]),
        Some(axis) => (usize::try_from(if axis < 0 { axis + shape.len() as i64 } else { axis }).ok()?, shape),
    };
    let mut grad = cx.grad;
    let list = match cx.shape(indices)?[..] {
        [] => {
            grad = cx.op("expand_dims", &[grad], &[("axis", AttrValue::int(axis as i64))]);
            1
        }
        [n] => n,
        _ => return None,
    };
    // `scatter_nd` adds along the first axis.
    let (to_front, back) = axes_to_front(axis, shape.len());
    let front: Vec<i64> = to_front.iter().map(|&from| shape[from as usize]).collect();
    let grad = cx.op("transpose", &[grad], &[("axes", AttrValue::ints(&to_front))]);
    let at = cx.op("reshape", &[indices], &[("newshape", AttrValue::ints(&[1, list]))]);
    let dtype = cx.dtype(data)?;
    let zeros = cx.op("zeros", &[], &[("shape", AttrValue::ints(&front)), ("dtype", AttrValue::DType(Some(dtype)))]);
    let sum = cx.op("scatter_nd", &[zeros, at, grad], &[("mode", AttrValue::str("add"))]);
    let to_data = cx.op("transpose", &[sum], &[("axes", AttrValue::ints(&back))]);
    let to_data = if cx.attr("axis") == AttrValue::None { cx.binary("reshape_like", to_data, data) } else { to_data };
    Some(vec![to_data, cx.zeros_like(indices)])
}

/// The permutation that brings an axis to the front, and its inverse.
fn axes_to_front(axis: usize, rank: usize) -> (Vec<i64>, Vec<i64>) {
    let to_front = std::iter::once(axis).chain((0..rank).filter(|&other| other != axis)).map(|axis| axis as i64).collect();
    let back = (0..rank).map(|at| if at == axis { 0 } else { at + usize::from(at < axis) }).map(|axis| axis as i64).collect();
    (to_front, back)
}

fn gather_nd(cx: &mut GradCx) -> Rule {
    let (data, indices) = (cx.args[0], cx.args[1]);
    let zeros = cx.zeros_like(data);
    let to_data = cx.op("scatter_nd", &[zeros, indices, cx.grad], &[("mode", AttrValue::str("add"))]);
    Some(vec![to_data, cx.zeros_like(indices)])
}

/// The gradient where the operand was cut out, zero elsewhere.
fn strided_slice(cx: &mut GradCx) -> Rule {
    if cx.attr("axes") != AttrValue::None {
        return None;
    }
    let x = cx.args[0];
    let (begin, mut end) = (cx.attr_ints("begin")?, cx.attr_ints("end")?);
    let mut strides = cx.attr_ints("strides").unwrap_or_default();
    if cx.attr_is("slice_mode", "size") {
        let shape = cx.shape(x)?;
        for (at, end) in end.iter_mut().enumerate() {
            *end = if *end == -1 { *shape.get(at)? } else { begin.get(at)? + *end };
        }
        strides.clear();
    } else if !cx.attr_is("slice_mode", "end") {
        return None;
    }
    if strides.is_empty() {
        strides = vec![1];
    }
    let zeros = cx.zeros_like(x);
    let (begin, end, strides) = (cx.ints(&begin)?, cx.ints(&end)?, cx.ints(&strides)?);
    Some(vec![cx.op("strided_set", &[zeros, cx.grad, begin, end, strides], &[])])
}

/// The sums of the gradient over the elements that are on, and over those that are off.
fn one_hot(cx: &mut GradCx) -> Rule {
    let [indices, on, off] = *cx.args else { return None };
    let zeros = cx.zeros_like(cx.grad);
    let mask = cx.binary("equal", cx.out, on);
    let of_on = cx.op("where", &[mask, cx.grad, zeros], &[]);
    let of_on = cx.sum(of_on, None, false, false);
    let of_off = cx.op("where", &[mask, zeros, cx.grad], &[]);
    let of_off = cx.sum(of_off, None, false, false);
    Some(vec![cx.zeros_like(indices), cx.binary("cast_like", of_on, on), cx.binary("cast_like", of_off, off)])
}
