//! Tensors with room for the largest shape they can have: the elements that count, and how they are moved.

use super::number::{Arith, Graph, Number, Why};
use crate::build;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, DTypeCode, checked_elements};
use relayc_ir::{AttrValue, ExprId};
use relayc_ops::declarations::{
    ADD, CONCATENATE, CUMSUM, FLOOR_DIVIDE, FLOOR_MOD, LESS, LOGICAL_AND, MULTIPLY, SCATTER_ELEMENTS, STRIDED_SLICE, SUM, TAKE,
    WHERE, ZEROS,
};
use std::rc::Rc;

/// A tensor of which the first positions of each axis count, as many as its dimension. It has room for the largest dimensions.
/// What lies behind is some element of the dtype.
#[derive(Clone, Debug)]
pub(super) struct Padded {
    pub(super) expr: ExprId,
    pub(super) dims: Rc<[Number]>,
    /// The elements in row-major order, where they are computed from sizes.
    pub(super) numbers: Option<Rc<[Number]>>,
}

impl Padded {
    pub(super) fn new(expr: ExprId, dims: &[Number]) -> Padded {
        Padded { expr, dims: dims.into(), numbers: None }
    }

    pub(super) fn is_live(&self) -> bool {
        self.dims.iter().any(|dim| dim.is_live())
    }

    pub(super) fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// The most positions of an axis, or of all elements that are moved together. They are constants, of 4 bytes each.
const MAX_POSITIONS: i64 = 1 << 26;

/// The shape that has room for dimensions.
pub(super) fn room(dims: &[Number]) -> Vec<i64> {
    dims.iter().map(|dim| dim.high).collect()
}

/// Whether dimensions count a first part of the elements in row-major order.
fn are_leading(dims: &[Number]) -> bool {
    let mut rest = dims.iter().skip_while(|dim| **dim == Number::ONE);
    rest.next();
    rest.all(|dim| !dim.is_live())
}

/// Whether the elements that count are the same of a tensor and of its room under another shape.
fn are_alike(from: &[Number], to: &[Number]) -> bool {
    let same = from.iter().zip(to).take_while(|(from, to)| from == to).count();
    let (from, to) = (&from[same..], &to[same..]);
    let elements = |dims: &[Number]| dims.iter().map(|dim| i128::from(dim.high)).product::<i128>();
    are_leading(from) && are_leading(to) && elements(from) == elements(to)
}

impl Graph<'_> {
    /// `[0, 1, …]`, int32.
    fn positions(&mut self, n: i64) -> Result<ExprId, Why> {
        if let Some(&known) = self.memo.positions.get(&n) {
            return Ok(known);
        }
        if n > MAX_POSITIONS {
            return Err("a tensor that may have too many elements, as its largest shape shows");
        }
        let expr = self.constant(Tensor::from_fn(&[n as usize], |at| at as i32));
        self.memo.positions.insert(n, expr);
        Ok(expr)
    }

    /// The positions along an axis of a tensor of a rank, of dimension 1 along the others.
    pub(super) fn positions_along(&mut self, n: i64, axis: usize, rank: usize) -> Result<ExprId, Why> {
        let positions = self.positions(n)?;
        let shape: Vec<i64> = (0..rank).map(|at| if at == axis { n } else { 1 }).collect();
        self.reshape(positions, &shape)
    }

    /// A number as a scalar of a dtype.
    pub(super) fn scalar_of(&mut self, number: Number, dtype: DType) -> Result<ExprId, Why> {
        match number.value().and_then(|value| Tensor::scalar(value).cast(dtype)) {
            Some(value) => Ok(self.constant(value)),
            None => {
                let scalar = self.scalar(number);
                self.cast(scalar, dtype)
            }
        }
    }

    /// Which elements of some axes count: bools that broadcast to the tensor. `None` if all do.
    pub(super) fn mask(&mut self, dims: &[Number], axes: impl Fn(usize) -> bool) -> Result<Option<ExprId>, Why> {
        let of: Vec<bool> = (0..dims.len()).map(|axis| axes(axis) && dims[axis].is_live()).collect();
        if !of.contains(&true) {
            return Ok(None);
        }
        let key = (dims.to_vec(), of);
        if let Some(&known) = self.memo.masks.get(&key) {
            return Ok(Some(known));
        }
        let mut mask = None;
        for (axis, &dim) in dims.iter().enumerate().filter(|(axis, _)| key.1[*axis]) {
            let positions = self.positions_along(dim.high, axis, dims.len())?;
            let n = self.scalar_of(dim, DType::I32)?;
            let within = self.call(&LESS, &[positions, n], &[])?;
            mask = Some(match mask {
                None => within,
                Some(mask) => self.call(&LOGICAL_AND, &[mask, within], &[])?,
            });
        }
        if let Some(mask) = mask {
            self.memo.masks.insert(key, mask);
        }
        Ok(mask)
    }

    /// The tensor with a value in place of what does not count along some axes.
    pub(super) fn filled(&mut self, x: &Padded, axes: impl Fn(usize) -> bool, fill: Fill) -> Result<ExprId, Why> {
        self.filled_unless(x, axes, fill, Number::ZERO)
    }

    /// As [`Graph::filled`], for an operator that fails where a number is not 0: a read behind the end traps in its place.
    pub(super) fn filled_unless(
        &mut self,
        x: &Padded,
        axes: impl Fn(usize) -> bool,
        fill: Fill,
        fails: Number,
    ) -> Result<ExprId, Why> {
        let Some(mask) = self.mask(&x.dims, axes)? else { return Ok(x.expr) };
        let value = fill.of(self.dtype(x)?).ok_or("a tensor of neither numbers nor bools")?;
        let value = self.constant(value);
        let value = match fails.value() {
            Some(0) => value,
            _ => {
                let (one, at) = (self.reshape(value, &[1])?, self.scalar_of(fails, DType::I32)?);
                self.call(&TAKE, &[one, at], &[("axis", AttrValue::int(0)), ("mode", AttrValue::str("fast"))])?
            }
        };
        self.call(&WHERE, &[mask, x.expr, value], &[])
    }

    /// The tensor, or a value in place of all its elements where a number is 0.
    pub(super) fn filled_where_0(&mut self, x: &Padded, number: Number, fill: Fill) -> Result<ExprId, Why> {
        let value = fill.of(self.dtype(x)?).ok_or("a tensor of neither numbers nor bools")?;
        let (value, holds) = (self.constant(value), self.scalar_of(number, DType::BOOL)?);
        self.call(&WHERE, &[holds, x.expr, value], &[])
    }

    pub(super) fn dtype(&self, x: &Padded) -> Result<DType, Why> {
        build::dtype(self.module, x.expr).ok_or("a value that is no tensor")
    }

    /// The positions of what is true of a vector of bools in order, int32, and their number. Zeros follow.
    ///
    /// Each true element is written to the place that the number of true elements before it gives, each other one behind all.
    pub(super) fn places(&mut self, mask: ExprId) -> Result<(ExprId, Number), Why> {
        if let Some(&known) = self.memo.places.get(&mask) {
            return Ok(known);
        }
        let n = build::shape(self.module, mask).and_then(|shape| shape.first().copied()).ok_or("a mask that is no vector")?;
        let ones = self.cast(mask, DType::I32)?;
        let exclusive = [("axis", AttrValue::int(0)), ("exclusive", AttrValue::Bool(true))];
        let before = self.call(&CUMSUM, &[ones], &exclusive)?;
        let behind = self.constant(Tensor::scalar(n as i32));
        let to = self.call(&WHERE, &[mask, before, behind], &[])?;
        let dtype = ("dtype", AttrValue::DType(Some(DType::I32)));
        let zeros = self.call(&ZEROS, &[], &[("shape", AttrValue::ints(&[n + 1])), dtype])?;
        let positions = self.positions(n)?;
        let written = self.call(&SCATTER_ELEMENTS, &[zeros, to, positions], &[("axis", AttrValue::int(0))])?;
        let order = self.cut(written, 0, n)?;
        let wide = self.cast(mask, DType::I64)?;
        let count = self.call(&SUM, &[wide], &[("axis", AttrValue::ints(&[0]))])?;
        let found = (order, self.number(count, 0, n));
        self.memo.places.insert(mask, found);
        Ok(found)
    }

    /// The first positions of an axis.
    pub(super) fn cut(&mut self, expr: ExprId, axis: usize, n: i64) -> Result<ExprId, Why> {
        let cut = self.slice(expr, axis, [0, n, 1])?;
        if cut != expr {
            self.memo.cuts.insert(cut, expr);
        }
        Ok(cut)
    }

    /// Positions of an axis: begin, end and stride, none negative.
    pub(super) fn slice(&mut self, expr: ExprId, axis: usize, [begin, end, stride]: [i64; 3]) -> Result<ExprId, Why> {
        let whole = build::shape(self.module, expr).and_then(|shape| shape.get(axis).copied());
        if begin == 0 && stride == 1 && whole == Some(end) {
            return Ok(expr);
        }
        let [begin, end, stride, axis] = [begin, end, stride, axis as i64].map(|number| AttrValue::ints(&[number]));
        self.call(&STRIDED_SLICE, &[expr], &[("begin", begin), ("end", end), ("strides", stride), ("axes", axis)])
    }

    /// The elements of an axis at positions, of which those outside are moved to the nearest end.
    pub(super) fn take(&mut self, expr: ExprId, positions: ExprId, axis: usize) -> Result<ExprId, Why> {
        self.call(&TAKE, &[expr, positions], &[("axis", AttrValue::int(axis as i64)), ("mode", AttrValue::str("clip"))])
    }

    /// The tensor with room for other dimensions: cut, or with zeros behind.
    pub(super) fn fit(&mut self, mut expr: ExprId, dims: &[i64]) -> Result<ExprId, Why> {
        // What was cut off has room as well.
        while let Some(&whole) = self.memo.cuts.get(&expr) {
            expr = whole;
        }
        let now = build::shape(self.module, expr).ok_or("a tensor without a shape")?;
        for (axis, (&from, &to)) in now.iter().zip(dims).enumerate() {
            if to < from {
                expr = self.cut(expr, axis, to)?;
            }
        }
        let dtype = build::dtype(self.module, expr).ok_or("a value that is no tensor")?;
        let zeros = |graph: &mut Self, shape: &[i64]| {
            graph.call(&ZEROS, &[], &[("shape", AttrValue::ints(shape)), ("dtype", AttrValue::DType(Some(dtype)))])
        };
        if now.contains(&0) {
            return if now == dims { Ok(expr) } else { zeros(self, dims) };
        }
        let mut now: Vec<i64> = now.iter().zip(dims).map(|(&from, &to)| from.min(to)).collect();
        for (axis, &to) in dims.iter().enumerate() {
            if to > now[axis] {
                let more = to - std::mem::replace(&mut now[axis], to);
                let mut shape = now.clone();
                shape[axis] = more;
                let more = zeros(self, &shape)?;
                let both = build::tuple(self.module, self.span, &[expr, more]);
                expr = self.call(&CONCATENATE, &[both], &[("axis", AttrValue::int(axis as i64))])?;
            }
        }
        Ok(expr)
    }

    /// The tensor as a vector whose first elements count.
    pub(super) fn flat(&mut self, x: &Padded) -> Result<Padded, Why> {
        let rows = self.rows(x, 0)?;
        let expr = self.reshape(rows, &[require_room(&room(&x.dims))?])?;
        let n = self.product(&x.dims)?;
        Ok(Padded::new(expr, &[n]))
    }

    /// The tensor as rows, of which the first elements count: the axes from one on are theirs, the others have known sizes.
    fn rows(&mut self, x: &Padded, axis: usize) -> Result<ExprId, Why> {
        let (outer, dims) = x.dims.split_at(axis);
        let shape = room(dims);
        let n = require_room(&shape)?;
        let all = self.reshape(x.expr, &[require_room(&room(outer))?, n])?;
        if are_leading(dims) {
            return Ok(all);
        }
        // The index of the last axis is the rest of a position by its length, and so on.
        let (mut rest, mut stride, mut at) = (self.positions(n)?, 1, None);
        for (axis, &dim) in dims.iter().enumerate().rev() {
            let mut place = rest;
            if axis > 0 {
                let some = self.arith(Arith::Max, dim, Number::ONE)?;
                let by = self.scalar_of(some, DType::I32)?;
                (place, rest) = (self.call(&FLOOR_MOD, &[rest, by], &[])?, self.call(&FLOOR_DIVIDE, &[rest, by], &[])?);
            }
            let by = self.scalar_of(Number::known(stride), DType::I32)?;
            let part = self.call(&MULTIPLY, &[place, by], &[])?;
            at = Some(match at {
                None => part,
                Some(at) => self.call(&ADD, &[at, part], &[])?,
            });
            stride *= shape[axis];
        }
        let at = at.ok_or("a scalar of an open size")?;
        let at = self.once(at)?;
        let taken = self.take(all, at, 1)?;
        self.once(taken)
    }

    /// The elements in row-major order under other dimensions, which have as many.
    pub(super) fn reshaped(&mut self, x: &Padded, dims: &[Number]) -> Result<Padded, Why> {
        require_room(&room(dims))?;
        if are_alike(&x.dims, dims) {
            let expr = self.reshape(x.expr, &room(dims))?;
            return Ok(Padded::new(expr, dims));
        }
        let alike = x.dims.iter().zip(dims).take_while(|(from, to)| from == to && !from.is_live()).count();
        let (rows, inner) = (self.rows(x, alike)?, &dims[alike..]);
        let n_rows = require_room(&room(&dims[..alike]))?;
        if are_leading(inner) {
            let fitted = self.fit(rows, &[n_rows, require_room(&room(inner))?])?;
            let expr = self.reshape(fitted, &room(dims))?;
            return Ok(Padded::new(expr, dims));
        }
        let mut at = None;
        for (axis, dim) in inner.iter().enumerate() {
            let stride = self.product(&inner[axis + 1..])?;
            let (positions, stride) = (self.positions_along(dim.high, axis, inner.len())?, self.scalar_of(stride, DType::I32)?);
            let part = self.call(&MULTIPLY, &[positions, stride], &[])?;
            at = Some(match at {
                None => part,
                Some(at) => self.call(&ADD, &[at, part], &[])?,
            });
        }
        let at = at.ok_or("a scalar of an open size")?;
        let taken = self.take(rows, at, 1)?;
        let expr = self.reshape(taken, &room(dims))?;
        Ok(Padded::new(expr, dims))
    }

    /// The tensor with what counts first, in row-major order.
    pub(super) fn leading(&mut self, x: &Padded) -> Result<ExprId, Why> {
        if are_leading(&x.dims) {
            return Ok(x.expr);
        }
        let flat = self.flat(x)?;
        self.reshape(flat.expr, &room(&x.dims))
    }

    /// Indices in a dtype that holds them and every position.
    pub(super) fn indices(&mut self, x: &Padded) -> Result<(ExprId, DType), Why> {
        let fits = [DType::BOOL, DType::I8, DType::I16, DType::I32, DType::U8, DType::U16].contains(&self.dtype(x)?);
        let dtype = if fits { DType::I32 } else { DType::I64 };
        Ok((self.cast(x.expr, dtype)?, dtype))
    }

    /// Positions that are below lengths, others beyond the end of the room, so that they trap there.
    pub(super) fn within(&mut self, at: ExprId, lengths: ExprId, beyond: ExprId) -> Result<ExprId, Why> {
        let is_within = self.call(&LESS, &[at, lengths], &[])?;
        self.call(&WHERE, &[is_within, at, beyond], &[])
    }

    /// A fresh dimension no smaller than 0.
    pub(super) fn at_least_0(&mut self, number: Number) -> Result<Number, Why> {
        self.arith(Arith::Max, number, Number::ZERO)
    }
}

/// Number of elements of a shape, of which positions are int32.
pub(super) fn require_room(shape: &[i64]) -> Result<i64, Why> {
    let n = checked_elements(shape).and_then(|n| i32::try_from(n).ok());
    n.map(i64::from).ok_or("a tensor that may have too many elements, as its largest shape shows")
}

/// What stands behind the elements that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fill {
    Zero,
    One,
    /// What no element is below.
    Lowest,
    /// What no element is above: NaN, as it is above every number in sorts.
    Last,
    /// What no number is above.
    Highest,
}

impl Fill {
    fn of(self, dtype: DType) -> Option<Tensor> {
        let is_float = matches!(dtype.code, DTypeCode::Float | DTypeCode::BFloat);
        // Integers are as near to infinity as they can be.
        let value = match self {
            Fill::Zero => 0.0,
            Fill::One => 1.0,
            // A bool is true unless it is 0.
            Fill::Lowest if dtype == DType::BOOL => 0.0,
            Fill::Lowest => f64::NEG_INFINITY,
            Fill::Last if is_float => f64::NAN,
            Fill::Highest | Fill::Last => f64::INFINITY,
        };
        Tensor::full(dtype, &[], value)
    }
}
