//! Gives the same elements, in the same order, another shape.

use super::attrs::Dims;
use super::lower;
use crate::prelude::*;
use relayc_ir::types::MAX_RANK;

attrs! {
    "relay.attrs.ReshapeAttrs" =>
    pub(crate) struct ReshapeAttrs {
        /// The shape of the result, with the codes 0 (keep), -1 (the rest), -2 (keep all remaining), -3 (merge two) and -4 (split
        /// into the next two).
        pub(crate) newshape: Dims;
        /// Whether 0 is a dimension instead of a code.
        pub(crate) allowzero: bool = false;
    }

    "relay.attrs.ReshapeLikeAttrs" =>
    pub(crate) struct ReshapeLikeAttrs {
        /// The first axis of `data` to replace.
        pub(crate) lhs_begin: i64 = 0;
        /// The end of the axes of `data` to replace; the rank for `None`.
        pub(crate) lhs_end: Option<i64> = None;
        /// The first axis of `shape_like` to take.
        pub(crate) rhs_begin: i64 = 0;
        /// The end of the axes of `shape_like` to take; the rank for `None`.
        pub(crate) rhs_end: Option<i64> = None;
    }

    "relay.attrs.SqueezeAttrs" =>
    pub(crate) struct SqueezeAttrs {
        /// The axes to remove; negative axes count from the end. `None` removes all axes of dimension 1.
        pub(crate) axis: Option<Vec<i64>> = None;
    }

    "relay.attrs.ExpandDimsAttrs" =>
    pub(crate) struct ExpandDimsAttrs {
        /// The position of the new axes; negative positions count from the end, and -1 is after the last.
        pub(crate) axis: i64;
        /// The number of new axes.
        pub(crate) num_newaxis: i64 = 1, min 0.0;
    }
}

/// The evaluation of all operators of this family.
fn reshape_eval(cx: &EvalCx) -> EvalResult {
    Ok(cx.tensor(0).reshape(cx.out_shape()).expect("the relation required as many elements").into())
}

pub const RESHAPE: OpDef = OpDef {
    name: "reshape",
    work: Work::None,
    doc: "The same elements in row-major order under the shape `newshape`, read from left to right against the dimensions of \
          `data`: a number is itself; 0 keeps a dimension (unless `allowzero`), -2 all that follow; -3 merges two, -4 splits \
          one into the two numbers behind it, one of which may be -1; -1 is what remains (`src/relay/op/tensor/transform.cc`). \
          Where -1 follows a code that changes the number of axes, TVM puts the result at another place; here it stands where \
          the -1 does.",
    args: DATA,
    attrs: Some(ReshapeAttrs::SCHEMA),
    rules: &[
        "C1: newshape holds numbers, named sizes and the codes 0, -1, -2, -3, -4",
        "C2: -1 stands at most once, apart from those behind -4",
        "C3: 0, -3 and -4 find the dimensions of data that they keep, merge and split",
        "C4: -4 stands before two numbers, at most one of them -1, whose product is the dimension it splits",
        "C5: -1 is a whole number: what remains of data is divisible by what is left of newshape",
        "C6: product(data) == product(newshape)",
    ],
    rel: reshape_rel,
    eval: reshape_eval,
    lower: Some(lower::RESHAPE),
    fuse: Some(Fuse::Injective),
    no_op: true,
    reshapes: true,
    ..OpDef::BASE
};

fn reshape_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ReshapeAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let codes = attrs.newshape.0.unwrap_or_default();
    let shape = NewShape::read(cx, &data, &codes, attrs.allowzero)?;
    require_same_elements(cx, "C6", &data, &shape, |fault| {
        let fault = fault.at(rel::Place::attr("newshape"), "").at(data.place(), "");
        match fitting(&data, &codes) {
            Some(text) => fault.set_attr("newshape", text),
            None => fault,
        }
    })?;
    cx.set_out(shape, data.dtype)
}

/// The product, where every dimension is known. Saturates: an exact comparison is for products within the limits.
fn product(dims: impl IntoIterator<Item = Dim>) -> Option<i128> {
    dims.into_iter().try_fold(1i128, |n, dim| Some(n.saturating_mul(i128::from(dim.value()?))))
}

/// The rule that no element is lost or made up; it waits for unknown dimensions.
fn require_same_elements(
    cx: &RelCx,
    rule: &'static str,
    data: &TensorTy,
    shape: &Shape,
    places: impl FnOnce(Fault) -> Fault,
) -> RelResult {
    let (Some(old), Some(new)) = (product(data.shape.iter().copied()), product(shape.iter().map(|dim| dim.dim))) else {
        return Ok(());
    };
    cx.require(rule, old == new, || {
        let message = format!("cannot give {old} elements the shape {}", rel::dims_text(cx, shape));
        places(Fault::shape(message).equation("product(data) == product(newshape)", format!("{old} == {new}")))
    })
}

/// A `newshape` that fits: the last number that can give way becomes what remains.
fn fitting(data: &TensorTy, codes: &[Dim]) -> Option<String> {
    let total = product(data.shape.iter().copied())?;
    let numbers: Vec<i64> = codes.iter().filter_map(|code| code.value()).filter(|&code| code > 0).collect();
    let rest =
        |at: usize| numbers.iter().enumerate().filter(|(i, _)| *i != at).fold(1i128, |n, (_, &x)| n.saturating_mul(x.into()));
    let at = (0..numbers.len()).rev().find(|&at| total % rest(at) == 0).filter(|_| numbers.len() == codes.len())?;
    let text = |(i, number): (usize, &i64)| if i == at { (total / rest(at)).to_string() } else { number.to_string() };
    Some(format!("[{}]", numbers.iter().enumerate().map(text).collect::<Vec<_>>().join(", ")))
}

/// Reading `newshape` from left to right.
struct NewShape<'a> {
    data: &'a TensorTy,
    /// The axis of `data` that the next code is about.
    next: usize,
    out: Shape,
    /// The factors of `data` and of `out` that -1 is not about: kept, merged and split ones.
    spent: Vec<bool>,
    fixed: Vec<bool>,
    /// Where -1 stands.
    rest: Option<usize>,
}

impl<'a> NewShape<'a> {
    fn read(cx: &mut RelCx, data: &'a TensorTy, codes: &[Dim], allowzero: bool) -> RelResult<Shape> {
        let spent = vec![false; data.rank()];
        let mut reading = NewShape { data, next: 0, out: Shape::new(), spent, fixed: vec![], rest: None };
        let mut codes = codes;
        while let Some((&code, behind)) = codes.split_first() {
            codes = behind;
            match code.value() {
                Some(-2) => {
                    for _ in reading.next..data.rank() {
                        reading.keep(cx)?;
                    }
                }
                Some(-4) => codes = reading.split(cx, behind)?,
                Some(-3) => reading.merge(cx)?,
                Some(0) if !allowzero => reading.keep(cx)?,
                Some(-1) => {
                    cx.require("C2", reading.rest.is_none(), || Fault::attr("newshape", "-1 stands twice in newshape"))?;
                    reading.rest = Some(reading.out.len());
                    reading.push(SDim::known(1, DimOrigin::Rule("C5")), false);
                    reading.next += 1;
                }
                Some(0..) => {
                    reading.push(SDim::new(code, DimOrigin::Attr("newshape")), false);
                    reading.next += 1;
                }
                None if code.is_named() => {
                    reading.push(SDim::new(code, DimOrigin::Attr("newshape")), false);
                    reading.next += 1;
                }
                _ => return Err(unknown_code(cx, code)),
            }
            cx.require("C1", reading.out.len() <= MAX_RANK, || {
                Fault::attr("newshape", format!("expected at most rank {MAX_RANK}, found more"))
            })?;
        }
        reading.finish(cx)
    }

    fn push(&mut self, dim: SDim, fixed: bool) {
        self.out.push(dim);
        self.fixed.push(fixed);
    }

    /// The next dimension of `data`, which a code other than -1 uses up.
    fn take(&mut self, cx: &RelCx, code: i64) -> RelResult<SDim> {
        cx.require("C3", self.next < self.data.rank(), || {
            let message = format!("{code} in newshape finds no axis left of data, which has rank {}", self.data.rank());
            Fault::attr("newshape", message).at(self.data.place(), "")
        })?;
        self.spent[self.next] = true;
        self.next += 1;
        Ok(self.data.dim(self.next - 1))
    }

    fn keep(&mut self, cx: &RelCx) -> RelResult {
        let dim = self.take(cx, 0)?;
        self.push(dim, true);
        Ok(())
    }

    fn merge(&mut self, cx: &mut RelCx) -> RelResult {
        let (a, b) = (self.take(cx, -3)?, self.take(cx, -3)?);
        let dim = match (a.value(), b.value()) {
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => SDim::new(cx.types.symbols.arith(SymbolOp::Mul, a.dim, b.dim), DimOrigin::Rule("C3")),
        };
        self.push(dim, true);
        Ok(())
    }

    /// -4, with what follows it. Returns what follows its two factors.
    fn split<'b>(&mut self, cx: &mut RelCx, behind: &'b [Dim]) -> RelResult<&'b [Dim]> {
        let whole = self.take(cx, -4)?;
        let factors = match behind {
            [a, b, ..] => a.value().zip(b.value()).filter(|&(a, b)| a >= -1 && b >= -1 && (a, b) != (-1, -1)),
            _ => None,
        };
        cx.require("C4", factors.is_some(), || {
            Fault::attr("newshape", "-4 needs two numbers behind it, of which one may be -1")
        })?;
        let (a, b) = factors.unwrap_or_default();
        let given = if a == -1 { b } else { a };
        let fits = match whole.value() {
            Some(whole) if a != -1 && b != -1 => a.checked_mul(b) == Some(whole),
            Some(whole) => whole.checked_rem(given) == Some(0),
            None => true,
        };
        cx.require("C4", fits, || {
            let text = |factor| if factor == -1 { "?".to_owned() } else { format!("{factor}") };
            Fault::attr("newshape", format!("cannot split {} into {} and {}", whole.dim, text(a), text(b)))
                .at(self.data.place(), "")
                .equation("the product of both numbers == the dimension", format!("{} * {} == {}", text(a), text(b), whole.dim))
        })?;
        for (factor, dim) in [a, b].into_iter().zip(behind) {
            let dim = match factor {
                -1 => SDim::new(cx.types.symbols.arith(SymbolOp::FloorDiv, whole.dim, Dim::known(given)), DimOrigin::Rule("C4")),
                _ => SDim::new(*dim, DimOrigin::Attr("newshape")),
            };
            self.push(dim, true);
        }
        Ok(&behind[2..])
    }

    /// Gives -1 its value.
    fn finish(mut self, cx: &mut RelCx) -> RelResult<Shape> {
        let Some(rest) = self.rest else { return Ok(self.out) };
        let left: Vec<SDim> = (0..self.data.rank()).filter(|&axis| !self.spent[axis]).map(|axis| self.data.dim(axis)).collect();
        let right: Vec<SDim> = self.out.iter().zip(&self.fixed).filter(|(_, fixed)| !**fixed).map(|(dim, _)| *dim).collect();
        let wide = left.iter().chain(&right).any(|dim| dim.dim.is_wide());
        let divisor = product(right.iter().map(|dim| dim.dim));
        let number = product(left.iter().map(|dim| dim.dim));
        cx.require("C5", divisor != Some(0), || Fault::attr("newshape", "-1 beside 0 could be any number"))?;
        if let (Some(number), Some(divisor)) = (number, divisor) {
            cx.require("C5", number % divisor == 0, || {
                let message = format!("{number} elements are not divisible by {divisor}");
                Fault::attr("newshape", message)
                    .at(self.data.place(), "")
                    .equation("what remains of data % what is left of newshape == 0", format!("{number} % {divisor} == 0"))
            })?;
            let value = i64::try_from(number / divisor).ok();
            self.out[rest].dim = value.map_or(Dim::Any, |value| Dim::number(value, wide));
            return Ok(self.out);
        }
        if left.iter().chain(&right).all(|dim| dim.dim.is_sized()) {
            let symbols = &mut cx.types.symbols;
            let mut product = |dims: &[SDim]| dims.iter().fold(Dim::known(1), |n, dim| symbols.arith(SymbolOp::Mul, n, dim.dim));
            let (number, divisor) = (product(&left), product(&right));
            self.out[rest].dim = symbols.arith(SymbolOp::FloorDiv, number, divisor);
            return Ok(self.out);
        }
        // One symbol among numbers that cancel is itself the answer.
        let unknown: Vec<&SDim> = left.iter().filter(|dim| dim.value().is_none()).collect();
        let numbers = product(left.iter().map(|dim| dim.dim).filter(|dim| dim.value().is_some()));
        self.out[rest].dim = match unknown.as_slice() {
            [one] if numbers == divisor => one.dim,
            _ => Dim::Any,
        };
        Ok(self.out)
    }
}

fn unknown_code(cx: &RelCx, code: Dim) -> Stop {
    let fault = || Fault::attr("newshape", format!("{code} in newshape is neither a dimension nor one of the codes"));
    match cx.require("C1", false, fault) {
        Err(stop) => stop,
        Ok(()) => unreachable!("the rule does not hold"),
    }
}

pub(crate) const REVERSE_RESHAPE: OpDef = OpDef {
    name: "contrib_reverse_reshape",
    doc: "As `reshape`, with `data`'s dimensions and `newshape` read from right to left (`src/relay/op/tensor/transform.cc`).",
    rel: reverse_reshape_rel,
    internal: true,
    ..RESHAPE
};

fn reverse_reshape_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ReshapeAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let codes: Vec<Dim> = attrs.newshape.0.unwrap_or_default().into_iter().rev().collect();
    let mut turned = data.clone();
    turned.shape.reverse();
    let mut shape = NewShape::read(cx, &turned, &codes, attrs.allowzero)?;
    shape.reverse();
    for dim in &mut shape {
        if let DimOrigin::Arg { axis, .. } = &mut dim.from {
            *axis = (data.rank() - 1) as u8 - *axis;
        }
    }
    require_same_elements(cx, "C6", &data, &shape, |fault| fault.at(rel::Place::attr("newshape"), "").at(data.place(), ""))?;
    cx.set_out(shape, data.dtype)
}

pub(crate) const RESHAPE_LIKE: OpDef = OpDef {
    name: "reshape_like",
    work: Work::None,
    doc: "The same elements in row-major order, with the axes `lhs_begin…lhs_end` of `data` replaced by the axes \
          `rhs_begin…rhs_end` of `shape_like` (`src/relay/op/tensor/transform.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("shape_like")],
    attrs: Some(ReshapeLikeAttrs::SCHEMA),
    rules: &[
        "C1: 0 <= lhs_begin <= lhs_end <= rank(data), negative ones counted from the end",
        "C2: 0 <= rhs_begin <= rhs_end <= rank(shape_like), negative ones counted from the end",
        "C3: product(data) == product(the new shape)",
    ],
    rel: reshape_like_rel,
    eval: reshape_eval,
    lower: Some(lower::RESHAPE),
    fuse: Some(Fuse::Injective),
    ..OpDef::BASE
};

fn reshape_like_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ReshapeLikeAttrs::read(cx.attrs);
    let (data, like) = (cx.tensor(0)?, cx.tensor(1)?);
    let replaced = axes_between(cx, "C1", ("lhs_begin", attrs.lhs_begin), ("lhs_end", attrs.lhs_end), data.rank())?;
    let taken = axes_between(cx, "C2", ("rhs_begin", attrs.rhs_begin), ("rhs_end", attrs.rhs_end), like.rank())?;
    let before = (0..replaced.start).map(|axis| data.dim(axis));
    let after = (replaced.end..data.rank()).map(|axis| data.dim(axis));
    let shape: Shape = before.chain(taken.map(|axis| like.dim(axis))).chain(after).collect();
    require_same_elements(cx, "C3", &data, &shape, |fault| fault.at(like.place(), "").at(data.place(), ""))?;
    cx.set_out(shape, data.dtype)
}

/// The axes from `begin` to before `end`.
fn axes_between(
    cx: &RelCx,
    rule: &'static str,
    begin: (&'static str, i64),
    end: (&'static str, Option<i64>),
    rank: usize,
) -> RelResult<std::ops::Range<usize>> {
    let whole = rank as i64;
    let at = |(attr, axis): (&'static str, i64), least: i64| {
        let found = if axis < 0 { axis.saturating_add(whole) } else { axis };
        cx.require(rule, (least..=whole).contains(&found), || {
            Fault::attr(attr, format!("expected {attr} in {least}…{whole}, found {axis}"))
        })?;
        Ok::<i64, Stop>(found)
    };
    let begin = at(begin, 0)?;
    let end = at((end.0, end.1.unwrap_or(whole)), begin)?;
    Ok(begin as usize..end as usize)
}

pub const SQUEEZE: OpDef = OpDef {
    name: "squeeze",
    work: Work::None,
    doc: "`data` without the axes `axis`, which have dimension 1; without all such axes where `axis` is `None` \
          (`src/relay/op/tensor/transform.cc`).",
    attrs: Some(SqueezeAttrs::SCHEMA),
    rules: &[
        "C1: each axis is in -rank(data)…rank(data)-1",
        "C2: the dimensions of the axes to remove are 1",
        "C3: where axis is None, all dimensions of data are known",
    ],
    rel: squeeze_rel,
    ..RESHAPE
};

fn squeeze_rel(cx: &mut RelCx) -> RelResult {
    let attrs = SqueezeAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let mut removed = vec![false; data.rank()];
    match &attrs.axis {
        Some(axes) => {
            for &axis in axes {
                let at = cx.axis("C1", "axis", axis, data.rank())?;
                removed[at] = true;
                let dim = data.shape[at];
                cx.require("C2", dim.value().is_none_or(|dim| dim == 1), || {
                    let fault = Fault::shape(format!("cannot remove axis {axis}, which has dimension {dim}"))
                        .at(data.axis(at), "")
                        .at(rel::Place::attr("axis"), "")
                        .equation(format!("data[{at}] == 1"), format!("{dim} == 1"));
                    let ones = (0..data.rank()).filter(|&i| data.shape[i].value() == Some(1) && !axes.contains(&(i as i64)));
                    ones.take(3).fold(fault, |fault, i| fault.set_number("axis", axis, i as i64))
                })?;
            }
        }
        None => {
            for (at, dim) in data.shape.iter().enumerate() {
                cx.require("C3", dim.value().is_some(), || {
                    Fault::shape(format!("whether axis {at} stays is not known before running"))
                        .at(data.axis(at), "")
                        .help("name the axes to remove: `axis=[…]`")
                })?;
                removed[at] = dim.value() == Some(1);
            }
        }
    }
    let shape: Shape = (0..data.rank()).filter(|&axis| !removed[axis]).map(|axis| data.dim(axis)).collect();
    cx.set_out(shape, data.dtype)
}

pub const EXPAND_DIMS: OpDef = OpDef {
    name: "expand_dims",
    work: Work::None,
    doc: "`data` with `num_newaxis` axes of dimension 1 inserted at `axis` (`src/relay/op/tensor/transform.cc`).",
    args: DATA,
    attrs: Some(ExpandDimsAttrs::SCHEMA),
    rules: &["C1: axis is in -rank(data)-1…rank(data)", "C2: 0 <= num_newaxis, and the result's rank is at most 32"],
    rel: expand_dims_rel,
    eval: reshape_eval,
    lower: Some(lower::RESHAPE),
    fuse: Some(Fuse::Broadcast),
    reshapes: true,
    ..OpDef::BASE
};

fn expand_dims_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ExpandDimsAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let at = cx.axis("C1", "axis", attrs.axis, data.rank() + 1)?;
    let most = MAX_RANK.saturating_sub(data.rank()) as i64;
    cx.require("C2", (0..=most).contains(&attrs.num_newaxis), || {
        Fault::attr("num_newaxis", format!("expected num_newaxis in 0…{most}, found {}", attrs.num_newaxis))
    })?;
    let mut shape = data.dims();
    for _ in 0..attrs.num_newaxis {
        shape.insert(at, SDim::known(1, DimOrigin::Rule("C2")));
    }
    cx.set_out(shape, data.dtype)
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (RESHAPE.name, Onnx::Sized(reshape_onnx)),
    (REVERSE_RESHAPE.name, Onnx::Sized(|cx| cx.in_out_shape())),
    (RESHAPE_LIKE.name, Onnx::Nodes(|cx| cx.in_out_shape())),
    (SQUEEZE.name, Onnx::Nodes(squeeze_onnx)),
    (EXPAND_DIMS.name, Onnx::Nodes(expand_dims_onnx)),
];

/// ONNX has the codes 0 and -1 as well, which need no dimension of the result.
fn reshape_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = ReshapeAttrs::read(cx.attrs);
    let codes = attrs.newshape.0.unwrap_or_default();
    let in_onnx = codes.iter().all(|code| code.is_named() || code.value().is_some_and(|code| code >= -1));
    if !in_onnx || cx.out[0].0.iter().all(|dim| dim.is_sized()) {
        return cx.in_out_shape();
    }
    let keeps = !attrs.allowzero && codes.iter().any(|code| code.value() == Some(0));
    let (data, shape) = (cx.tensor(0), cx.dims("shape", &codes)?);
    let node = cx.node("Reshape", &[data, shape]);
    // Without it, a size that is 0 would mean the dimension of the data.
    Ok(if keeps { node.one() } else { node.int("allowzero", 1).one() }.into())
}

fn squeeze_onnx(cx: &mut OnnxCx) -> OnnxResult {
    match SqueezeAttrs::read(cx.attrs).axis {
        Some(axes) if !axes.is_empty() => {
            let (data, axes) = (cx.tensor(0), cx.ints("axes", &axes));
            Ok(cx.node("Squeeze", &[data, axes]).one().into())
        }
        _ => cx.in_out_shape(),
    }
}

fn expand_dims_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data) = (ExpandDimsAttrs::read(cx.attrs), cx.tensor(0));
    let axis = attrs.axis.rem_euclid(cx.rank(data) as i64 + 1);
    let axes: Vec<i64> = (axis..axis + attrs.num_newaxis).collect();
    let axes = cx.ints("axes", &axes);
    Ok(cx.node("Unsqueeze", &[data, axes]).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[RESHAPE, REVERSE_RESHAPE, RESHAPE_LIKE, SQUEEZE, EXPAND_DIMS];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, eval, fault, hostile, rel, t};
    use relayc_ir::attrs::AttrValue;
    use relayc_ir::tensor::Tensor;
    use relayc_ir::types::DType;

    fn reshape(shape: &[i64], newshape: &[i64]) -> String {
        rel("reshape", &[t(shape, DType::F32)], &[("newshape", AttrValue::ints(newshape))])
    }

    #[test]
    fn codes_of_reshape() {
        let text = |dims: &str| format!("Tensor[({dims}), float32]");
        assert_eq!(reshape(&[2, 3, 4], &[4, 0, 2]), text("4, 3, 2"));
        assert_eq!(reshape(&[2, 3, 4], &[0, -1]), text("2, 12"));
        assert_eq!(reshape(&[2, 3, 4], &[-1, 0]), text("8, 3"));
        assert_eq!(reshape(&[2, 3, 4], &[-2, 1, 1]), text("2, 3, 4, 1, 1"));
        assert_eq!(reshape(&[2, 3, 4, 5], &[-3, -3]), text("6, 20"));
        assert_eq!(reshape(&[2, 3, 4], &[-4, 1, 2, -2]), text("1, 2, 3, 4"));
        assert_eq!(reshape(&[2, 3, 4], &[2, -4, -1, 3, -2]), text("2, 1, 3, 4"));
        assert_eq!(reshape(&[6, 4], &[-4, 2, 3, -1]), text("2, 3, 4"));
        assert_eq!(reshape(&[1], &[]), "float32");
        assert_eq!(reshape(&[], &[-1]), text("1"));
        assert_eq!(reshape(&[0, 3], &[-1, 3]), text("0, 3"));
        assert_eq!(reshape(&[ANY, 16], &[-1, 4]), text("?, 4"));
        assert_eq!(reshape(&[ANY, 4], &[0, 2, -1]), text("?, 2, 2"));
        assert_eq!(reshape(&[ANY, 4], &[-3]), text("?"));
    }

    #[test]
    fn rules_of_reshape() {
        assert_eq!(reshape(&[2, 3], &[-5]), "E0404 C1");
        assert_eq!(reshape(&[2, 3], &[-1, -1]), "E0404 C2");
        assert_eq!(reshape(&[2, 3], &[2, 3, 0]), "E0404 C3");
        assert_eq!(reshape(&[2], &[-3]), "E0404 C3");
        assert_eq!(reshape(&[6], &[-4, 2]), "E0404 C4");
        assert_eq!(reshape(&[6], &[-4, 4, -1]), "E0404 C4");
        assert_eq!(reshape(&[6], &[-1, 4]), "E0404 C5");
        let attrs = [("newshape", AttrValue::ints(&[0, -1])), ("allowzero", AttrValue::Bool(true))];
        assert_eq!(rel("reshape", &[t(&[0, 3], DType::F32)], &attrs), "E0404 C5");
        assert_eq!(reshape(&[2, 3], &[7]), "E0308 C6");
        assert_eq!(reshape(&[i64::MAX, i64::MAX], &[i64::MAX]), "E0308 C6");
        let fault = fault("reshape", &[t(&[2, 3], DType::F32)], &[("newshape", AttrValue::ints(&[7]))]);
        assert_eq!(fault.equation.expect("an equation").1, "6 == 7");
        assert_eq!(fault.helps.len(), 1);
        hostile("reshape", &[t(&[2, ANY, 3], DType::F32)], &[], &[], &["newshape"]);
        hostile("contrib_reverse_reshape", &[t(&[2, ANY, 3], DType::F32)], &[], &[], &["newshape"]);
    }

    #[test]
    fn literals_keep_their_width() {
        let wide = AttrValue::List([AttrValue::Int { value: 2, bits: 64 }, AttrValue::int(-1)].into());
        assert_eq!(rel("reshape", &[t(&[6], DType::F32)], &[("newshape", wide)]), "Tensor[(2i64, 3i64), float32]");
    }

    #[test]
    fn axes_of_another_shape() {
        let f32 = |shape: &[i64]| t(shape, DType::F32);
        let like = |data: &[i64], like: &[i64], attrs: &[(&str, i64)]| {
            let attrs: Vec<_> = attrs.iter().map(|&(name, value)| (name, AttrValue::int(value))).collect();
            rel("reshape_like", &[f32(data), f32(like)], &attrs)
        };
        assert_eq!(like(&[1, 2, 3], &[1, 6], &[]), "Tensor[(1, 6), float32]");
        let some = [("lhs_begin", 1), ("lhs_end", 3), ("rhs_begin", 1), ("rhs_end", 2)];
        assert_eq!(like(&[1, 2, 3, 4], &[1, 6, 5], &some), "Tensor[(1, 6, 4), float32]");
        assert_eq!(like(&[ANY, 2, 3, ANY], &[1, 8, 8], &[]), "Tensor[(1, 8, 8), float32]");
        assert_eq!(like(&[2], &[3], &[]), "E0308 C3");
        assert_eq!(like(&[2], &[2], &[("lhs_begin", 2)]), "E0404 C1");
        assert_eq!(like(&[2], &[2], &[("rhs_begin", 1), ("rhs_end", 0)]), "E0404 C2");
        let ints = ["lhs_begin", "lhs_end", "rhs_begin", "rhs_end"];
        hostile("reshape_like", &[f32(&[2, 3]), f32(&[6])], &[], &ints, &[]);
    }

    #[test]
    fn axes_of_dimension_one() {
        let axis = |axes: &[i64]| [("axis", AttrValue::ints(axes))];
        let squeeze = |shape: &[i64], attrs: &[(&str, AttrValue)]| rel("squeeze", &[t(shape, DType::F32)], attrs);
        assert_eq!(squeeze(&[1, 3, 4, 1], &[]), "Tensor[(3, 4), float32]");
        assert_eq!(squeeze(&[1, 3, 4, 1], &axis(&[0, -1])), "Tensor[(3, 4), float32]");
        assert_eq!(squeeze(&[1, 3], &axis(&[])), "Tensor[(1, 3), float32]");
        assert_eq!(squeeze(&[ANY, 3], &axis(&[0])), "Tensor[(3), float32]");
        assert_eq!(squeeze(&[ANY, 3], &[]), "E0308 C3");
        assert_eq!(squeeze(&[2, 3], &axis(&[0])), "E0308 C2");
        assert_eq!(squeeze(&[2, 3], &axis(&[2])), "E0404 C1");
        hostile("squeeze", &[t(&[1, 3], DType::F32)], &[], &[], &["axis"]);
        let expand = |axis, n| {
            let attrs = [("axis", AttrValue::int(axis)), ("num_newaxis", AttrValue::int(n))];
            rel("expand_dims", &[t(&[2, ANY], DType::F32)], &attrs)
        };
        assert_eq!(expand(1, 2), "Tensor[(2, 1, 1, ?), float32]");
        assert_eq!(expand(-3, 1), "Tensor[(1, 2, ?), float32]");
        assert_eq!(expand(-1, 1), "Tensor[(2, ?, 1), float32]");
        assert_eq!(expand(3, 1), "E0404 C1");
        assert_eq!(expand(0, 31), "E0404 C2");
        hostile("expand_dims", &[t(&[1, 3], DType::F32)], &[("axis", AttrValue::int(0))], &["axis", "num_newaxis"], &[]);
    }

    #[test]
    fn elements_keep_their_order() {
        let x = Tensor::from_fn(&[2, 3], |i| i as i32).permute(&[1, 0]);
        let y = eval("reshape", &[x], &[("newshape", AttrValue::ints(&[-1]))]).expect("no trap");
        assert_eq!(y.to_vec::<i32>(), Some(vec![0, 3, 1, 4, 2, 5]));
    }
}
