//! The rules of operators that move elements.

use super::number::{Arith, Number, Why};
use super::padded::{Fill, Padded, room};
use super::walk::{APART, Call, NO_RULE, Value, Walk, counted};
use crate::build;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId};
use relayc_ops::declarations::{ADD, CONCATENATE, FLOOR_MOD, MAXIMUM, MINIMUM, MULTIPLY, TAKE, WHERE};

impl Walk<'_> {
    pub(super) fn reshape(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let codes: Vec<Number> = match call.args.get(1) {
            Some(Value::Tensor(shape)) => shape.numbers.clone().ok_or("a shape that data gives")?.to_vec(),
            _ => call.ints("newshape").ok_or(NO_RULE)?.into_iter().map(Number::known).collect(),
        };
        let (mut dims, mut rest) = (vec![], None);
        for (at, &code) in codes.iter().enumerate() {
            dims.push(match code.value() {
                Some(0) if !call.is("allowzero") => *data.dims.get(at).ok_or(NO_RULE)?,
                Some(-1) if rest.is_none() => {
                    rest = Some(at);
                    Number::ONE
                }
                _ if code.low >= 0 => code,
                _ => return Err("a shape with a code that only a run knows"),
            });
        }
        if let Some(at) = rest {
            dims[at] = self.rest(&data.dims, &dims)?;
        }
        self.graph.reshaped(data, &dims)
    }

    /// The dimension that is left of all elements. Factors that are on both sides cancel.
    fn rest(&mut self, from: &[Number], to: &[Number]) -> Result<Number, Why> {
        let factors =
            |walk: &Self, dims: &[Number]| dims.iter().flat_map(|&dim| walk.graph.factors(dim)).collect::<Vec<Number>>();
        let (mut above, mut below) = (factors(self, from), factors(self, to));
        below.retain(|factor| match above.iter().position(|other| other == factor && factor.is_live()) {
            Some(at) => {
                above.swap_remove(at);
                false
            }
            None => true,
        });
        let known = |of: &[Number]| of.iter().filter_map(|number| number.value()).product::<i64>();
        let (up, down) = (known(&above), known(&below));
        let live = |of: Vec<Number>| of.into_iter().filter(|number| number.is_live()).collect::<Vec<Number>>();
        let (above, below) = (self.graph.product(&live(above))?, self.graph.product(&live(below))?);
        if below != Number::ONE || down == 0 {
            return Err("a dimension that is left of sizes which only a run knows");
        }
        if up % down == 0 {
            return self.graph.arith(Arith::Mul, above, Number::known(up / down));
        }
        let all = self.graph.arith(Arith::Mul, above, Number::known(up))?;
        self.graph.arith(Arith::Div, all, Number::known(down))
    }

    pub(super) fn squeeze(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let mut left = vec![true; data.rank()];
        for axis in call.ints("axis").ok_or(NO_RULE)? {
            let axis = counted(axis, data.rank())?;
            if data.dims[axis] != Number::ONE {
                return Err("an axis of which only a run knows that it is 1 long");
            }
            left[axis] = false;
        }
        let dims: Vec<Number> = data.dims.iter().zip(left).filter(|(_, left)| *left).map(|(&dim, _)| dim).collect();
        let expr = self.again(call)?;
        Ok(Padded::new(expr, &dims))
    }

    pub(super) fn expand_dims(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let axis = counted(call.int("axis").ok_or(NO_RULE)?, data.rank() + 1)?;
        let mut dims = data.dims.to_vec();
        for _ in 0..call.int("num_newaxis").unwrap_or(1) {
            dims.insert(axis, Number::ONE);
        }
        let expr = self.again(call)?;
        Ok(Padded::new(expr, &dims))
    }

    pub(super) fn transpose(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let rank = data.rank();
        let axes = match call.ints("axes").filter(|axes| !axes.is_empty()) {
            Some(axes) => axes.into_iter().map(|axis| counted(axis, rank)).collect::<Result<Vec<_>, _>>()?,
            None => (0..rank).rev().collect(),
        };
        let dims: Vec<Number> = axes.into_iter().map(|axis| data.dims[axis]).collect();
        let expr = self.again(call)?;
        Ok(Padded::new(expr, &dims))
    }

    pub(super) fn strided_slice(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        if call.text("slice_mode") == "size" {
            return Err(NO_RULE);
        }
        let dynamic = call.args.len() > 1;
        let mut of = vec![];
        for (at, name) in ["begin", "end", "strides"].into_iter().enumerate() {
            of.push(match dynamic {
                true => call.tensor(1 + at)?.numbers.clone().ok_or("bounds of a slice that data gives")?.to_vec(),
                false => call.ints(name).unwrap_or_default().into_iter().map(Number::known).collect::<Vec<Number>>(),
            });
        }
        let axes = match call.ints("axes").filter(|axes| !dynamic && !axes.is_empty()) {
            Some(axes) => axes.into_iter().map(|axis| counted(axis, data.rank())).collect::<Result<Vec<_>, _>>()?,
            None => (0..of[0].len()).collect(),
        };
        let mut out = data.clone();
        for (at, axis) in axes.into_iter().enumerate() {
            let stride = of[2].get(at).or(of[2].last()).map_or(Some(1), |stride| stride.value()).ok_or(NO_RULE)?;
            let (Some(&begin), Some(&end)) = (of[0].get(at), of[1].get(at)) else { return Err(NO_RULE) };
            out = self.sliced(&out, axis, [begin, end], stride)?;
        }
        Ok(Padded { numbers: None, ..out })
    }

    /// Positions of an axis.
    fn sliced(&mut self, x: &Padded, axis: usize, [begin, end]: [Number; 2], stride: i64) -> Result<Padded, Why> {
        let n = *x.dims.get(axis).ok_or(NO_RULE)?;
        let graph = &mut self.graph;
        let mut within = |at: Number| {
            let at = match (at.low >= 0, at.high < 0) {
                (true, _) => at,
                (_, true) => graph.arith(Arith::Add, at, n)?,
                _ => return Err("a position that only a run knows to count from the end"),
            };
            let at = graph.arith(Arith::Min, at, n)?;
            graph.at_least_0(at)
        };
        let (begin, end) = (within(begin)?, within(end)?);
        if stride < 1 {
            return Err(NO_RULE);
        }
        let length = graph.arith(Arith::Sub, end, begin)?;
        let length = graph.at_least_0(length)?;
        let up = graph.arith(Arith::Add, length, Number::known(stride - 1))?;
        let count = graph.arith(Arith::Div, up, Number::known(stride))?;
        let mut dims = x.dims.to_vec();
        dims[axis] = count;
        if let Some(begin) = begin.value().filter(|begin| begin + count.high * stride < n.high + stride) {
            let end = (begin + count.high * stride).min(n.high);
            let expr = graph.slice(x.expr, axis, [begin, end, stride])?;
            return Ok(Padded::new(expr, &dims));
        }
        let positions = graph.positions_along(count.high, 0, 1)?;
        let (stride, begin) = (graph.scalar_of(Number::known(stride), DType::I32)?, graph.scalar_of(begin, DType::I32)?);
        let steps = graph.call(&MULTIPLY, &[positions, stride], &[])?;
        let at = graph.call(&ADD, &[steps, begin], &[])?;
        let expr = graph.take(x.expr, at, axis)?;
        Ok(Padded::new(expr, &dims))
    }

    pub(super) fn taken(&mut self, call: &Call) -> Result<Padded, Why> {
        let (data, indices) = (call.tensor(0)?, call.tensor(1)?);
        if call.int("batch_dims").unwrap_or(0) != 0 {
            return Err(NO_RULE);
        }
        let (data, axis) = match call.int("axis") {
            Some(axis) => (data.clone(), counted(axis, data.rank())?),
            None => (self.graph.flat(data)?, 0),
        };
        let n = data.dims[axis];
        let (mut at, mut mode) = (indices.expr, call.text("mode"));
        if n.is_live() {
            at = self.positions_on(call, indices, n)?;
            mode = "fast";
        } else if mode == "fast" {
            // What does not count may be any index.
            at = self.graph.filled(indices, |_| true, Fill::Zero)?;
        }
        let graph = &mut self.graph;
        let attrs = [("axis", AttrValue::int(axis as i64)), ("mode", AttrValue::str(mode))];
        let expr = graph.call(&TAKE, &[data.expr, at], &attrs)?;
        let dims = [&data.dims[..axis], &indices.dims, &data.dims[axis + 1..]].concat();
        Ok(Padded::new(expr, &dims))
    }

    /// The positions on an axis of an open length to which the indices of a `take` lead; one beyond the room where the call fails.
    fn positions_on(&mut self, call: &Call, indices: &Padded, n: Number) -> Result<ExprId, Why> {
        let graph = &mut self.graph;
        let (at, dtype) = graph.indices(indices)?;
        let mode = call.text("mode");
        let beyond = graph.scalar_of(Number::known(n.high), dtype)?;
        let at = match mode {
            "fast" => {
                let length = graph.scalar_of(n, dtype)?;
                graph.within(at, length, beyond)?
            }
            "wrap" => {
                let some = graph.arith(Arith::Max, n, Number::ONE)?;
                let some = graph.scalar_of(some, dtype)?;
                graph.call(&FLOOR_MOD, &[at, some], &[])?
            }
            _ => {
                let last = graph.arith(Arith::Sub, n, Number::ONE)?;
                let (first, last) = (graph.scalar_of(Number::ZERO, dtype)?, graph.scalar_of(last, dtype)?);
                let at = graph.call(&MINIMUM, &[at, last], &[])?;
                graph.call(&MAXIMUM, &[at, first], &[])?
            }
        };
        let at = graph.filled(&Padded { expr: at, ..indices.clone() }, |_| true, Fill::Zero)?;
        // An axis without elements has none for any index.
        let is_empty = graph.arith(Arith::Equal, n, Number::ZERO)?;
        let count = graph.product(&indices.dims)?;
        let has_some = graph.arith(Arith::Less, Number::ZERO, count)?;
        let fails = graph.arith(Arith::Mul, is_empty, has_some)?;
        let fails = graph.arith(Arith::Mul, fails, call.reached)?;
        if mode == "fast" || fails.value() == Some(0) {
            return Ok(at);
        }
        let fails = graph.scalar_of(fails, DType::BOOL)?;
        graph.call(&WHERE, &[fails, beyond, at], &[])
    }

    /// Indices that do not count lead to the first element. Those between the end of an axis and its room trap, as those beyond both.
    pub(super) fn gather_nd(&mut self, call: &Call) -> Result<Padded, Why> {
        let (data, indices) = (call.tensor(0)?, call.tensor(1)?);
        let n = indices.dims.first().and_then(|dim| dim.value()).ok_or(NO_RULE)? as usize;
        let indexed = data.dims.get(..n).ok_or(NO_RULE)?;
        if call.int("batch_dims").unwrap_or(0) != 0 {
            return Err(NO_RULE);
        }
        let graph = &mut self.graph;
        let mut at = indices.expr;
        if indexed.iter().any(|dim| dim.is_live()) {
            let shape: Vec<i64> = std::iter::once(n as i64).chain((1..indices.rank()).map(|_| 1)).collect();
            let (all, dtype) = graph.indices(indices)?;
            let ends: Vec<Number> = indexed.iter().map(|dim| Number::known(dim.high)).collect();
            let (lengths, beyond) = (graph.tensor_of(indexed, &shape, dtype)?, graph.tensor_of(&ends, &shape, dtype)?);
            at = graph.within(all, lengths, beyond)?;
        }
        let at = graph.filled(&Padded { expr: at, ..indices.clone() }, |_| true, Fill::Zero)?;
        let expr = self.graph.call_with(call.def, &[data.expr, at], call.attrs.clone())?;
        let dims = [&indices.dims[1..], &data.dims[n..]].concat();
        Ok(Padded::new(expr, &dims))
    }

    /// What counts of each tensor is moved together, unless only the last one is open along the axis.
    pub(super) fn concatenate(&mut self, call: &Call) -> Result<Padded, Why> {
        let tensors: Vec<Padded> = call.tensors().into_iter().cloned().collect();
        let first = tensors.first().ok_or(NO_RULE)?;
        let axis = call.axis("axis", first.rank())?;
        let alike = |tensor: &Padded| (0..first.rank()).all(|at| at == axis || tensor.dims.get(at) == first.dims.get(at));
        if !tensors.iter().all(alike) {
            return Err(APART);
        }
        let joined = self.again(call)?;
        let lengths: Vec<Number> = tensors.iter().map(|tensor| tensor.dims[axis]).collect();
        let mut all = Number::ZERO;
        for &length in &lengths {
            all = self.graph.arith(Arith::Add, all, length)?;
        }
        let mut dims = first.dims.to_vec();
        dims[axis] = all;
        if lengths[..lengths.len() - 1].iter().all(|length| !length.is_live()) {
            return Ok(Padded::new(joined, &dims));
        }
        let graph = &mut self.graph;
        let mut masks = vec![];
        for &length in &lengths {
            let mask = graph.mask(&[length], |_| true)?;
            masks.push(mask.unwrap_or_else(|| graph.constant(Tensor::from_fn(&[length.high as usize], |_| true))));
        }
        let fields = build::tuple(graph.module, graph.span, &masks);
        let mask = graph.call(&CONCATENATE, &[fields], &[])?;
        let (order, _) = graph.places(mask)?;
        let expr = graph.take(joined, order, axis)?;
        Ok(Padded::new(expr, &dims))
    }

    pub(super) fn split(&mut self, call: &Call) -> Result<Value, Why> {
        let data = call.tensor(0)?.clone();
        let axis = call.axis("axis", data.rank())?;
        if data.dims[axis].is_live() {
            return Err(NO_RULE);
        }
        let expr: ExprId = self.again(call)?;
        let Value::Tuple(fields) = self.of_type(expr)? else { return Err(NO_RULE) };
        let field = |field: &Value| match field {
            Value::Tensor(tensor) => {
                let mut dims = data.dims.to_vec();
                dims[axis] = Number::known(room(&tensor.dims)[axis]);
                Value::Tensor(Padded::new(tensor.expr, &dims))
            }
            Value::Tuple(_) => field.clone(),
        };
        Ok(Value::Tuple(fields.iter().map(field).collect()))
    }
}
