//! The rules of operators that move elements.

use super::number::{Arith, Number, Why};
use super::padded::{Fill, Padded, room};
use super::walk::{APART, Call, NO_RULE, Value, Walk, counted};
use crate::build;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId};
use relayc_ops::declarations::{ADD, CONCATENATE, FLOOR_MOD, LESS, MAXIMUM, MINIMUM, MULTIPLY, SUBTRACT, TAKE, WHERE};

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
        let step = stride.checked_abs().filter(|&step| step > 0).ok_or("a stride that no slice has")?;
        // Downwards, the end may be before the first position.
        let (first, last) = match stride > 0 {
            true => (Number::ZERO, n),
            false => (Number::known(-1), self.graph.arith(Arith::Sub, n, Number::ONE)?),
        };
        let within = |walk: &mut Self, at: Number| {
            let at = walk.counted_from(at, n)?;
            let at = walk.graph.arith(Arith::Min, at, last)?;
            walk.graph.arith(Arith::Max, at, first)
        };
        let (begin, end) = (within(self, begin)?, within(self, end)?);
        let (low, high) = if stride > 0 { (begin, end) } else { (end, begin) };
        let graph = &mut self.graph;
        let length = graph.arith(Arith::Sub, high, low)?;
        let length = graph.at_least_0(length)?;
        let up = graph.arith(Arith::Add, length, Number::known(step - 1))?;
        let count = graph.arith(Arith::Div, up, Number::known(step))?;
        let mut dims = x.dims.to_vec();
        dims[axis] = count;
        if let Some(begin) = begin.value().filter(|begin| stride > 0 && begin + count.high * stride < n.high + stride) {
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
        let end = self.end(call, n)?;
        let graph = &mut self.graph;
        let (at, dtype) = graph.indices(indices)?;
        let mode = call.text("mode");
        let beyond = graph.scalar_of(Number::known(n.high), dtype)?;
        let at = match mode {
            "fast" => {
                let length = graph.scalar_of(end, dtype)?;
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
        let lengths = indexed.iter().map(|&dim| self.end(call, dim)).collect::<Result<Vec<_>, _>>()?;
        if call.int("batch_dims").unwrap_or(0) != 0 {
            return Err(NO_RULE);
        }
        let graph = &mut self.graph;
        let mut at = indices.expr;
        if indexed.iter().any(|dim| dim.is_live()) {
            let shape: Vec<i64> = std::iter::once(n as i64).chain((1..indices.rank()).map(|_| 1)).collect();
            let (all, dtype) = graph.indices(indices)?;
            let ends: Vec<Number> = indexed.iter().map(|dim| Number::known(dim.high)).collect();
            let (lengths, beyond) = (graph.tensor_of(&lengths, &shape, dtype)?, graph.tensor_of(&ends, &shape, dtype)?);
            at = graph.within(all, lengths, beyond)?;
        }
        let at = graph.filled(&Padded { expr: at, ..indices.clone() }, |_| true, Fill::Zero)?;
        let expr = self.graph.call_with(call.def, &[data.expr, at], call.attrs.clone())?;
        let dims = [&indices.dims[1..], &data.dims[n..]].concat();
        Ok(Padded::new(expr, &dims))
    }

    /// What counts of each tensor is moved together, unless only the last one is open along the axis. Along the other axes they have
    /// one size, which fails otherwise.
    pub(super) fn concatenate(&mut self, call: &Call) -> Result<Padded, Why> {
        let mut tensors: Vec<Padded> = call.tensors().into_iter().cloned().collect();
        let first = tensors.first().ok_or(NO_RULE)?;
        let (axis, rank) = (call.axis("axis", first.rank())?, first.rank());
        let known = |at: usize| {
            tensors.iter().map(|tensor| tensor.dims.get(at).copied()).find(|dim| dim.is_some_and(|dim| !dim.is_live()))
        };
        let dims: Option<Vec<Number>> = (0..rank).map(|at| known(at).unwrap_or(first.dims.get(at).copied())).collect();
        let mut dims = dims.ok_or(NO_RULE)?;
        for tensor in &mut tensors {
            *tensor = self.of_dims(call, tensor, &dims, axis)?;
        }
        let lengths: Vec<Number> = tensors.iter().map(|tensor| tensor.dims[axis]).collect();
        dims[axis] = Number::ZERO;
        for &length in &lengths {
            dims[axis] = self.graph.arith(Arith::Add, dims[axis], length)?;
        }
        let graph = &mut self.graph;
        if let [before, more] = &tensors[..]
            && before.dims[axis].is_live()
            && !more.dims[axis].is_live()
        {
            return self.appended(before, more, axis, &dims);
        }
        let exprs: Vec<ExprId> = tensors.iter().map(|tensor| tensor.expr).collect();
        let fields = build::tuple(graph.module, graph.span, &exprs);
        let joined = graph.call_with(call.def, &[fields], call.attrs.clone())?;
        if lengths[..lengths.len() - 1].iter().all(|length| !length.is_live()) {
            return Ok(Padded::new(joined, &dims));
        }
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

    /// A tensor with other dimensions but along an axis, which it has to have.
    fn of_dims(&mut self, call: &Call, x: &Padded, dims: &[Number], axis: usize) -> Result<Padded, Why> {
        let mut to = dims.to_vec();
        to[axis] = *x.dims.get(axis).ok_or(NO_RULE)?;
        if x.dims[..] == to[..] {
            return Ok(x.clone());
        }
        let mut is_same = Number::ONE;
        for (&dim, &to) in x.dims.iter().zip(&to) {
            let equal = self.graph.arith(Arith::Equal, dim, to)?;
            is_same = self.graph.arith(Arith::Mul, is_same, equal)?;
        }
        if is_same.value() == Some(0) {
            return Err(APART);
        }
        let differs = self.graph.arith(Arith::Sub, Number::ONE, is_same)?;
        let fails = self.graph.arith(Arith::Mul, differs, call.reached)?;
        let filled = self.graph.filled_unless(x, |_| true, Fill::Zero, fails)?;
        let expr = self.graph.fit(filled, &room(&to))?;
        Ok(Padded::new(expr, &to))
    }

    /// A tensor with another of a known length behind what counts of it.
    fn appended(&mut self, before: &Padded, more: &Padded, axis: usize, dims: &[Number]) -> Result<Padded, Why> {
        let (n, length) = (before.dims[axis], more.dims[axis].high);
        let graph = &mut self.graph;
        let whole = graph.fit(before.expr, &room(dims))?;
        if length == 0 {
            return Ok(Padded::new(whole, dims));
        }
        let n = graph.scalar_of(n, DType::I32)?;
        let along = graph.positions_along(dims[axis].high, axis, dims.len())?;
        let is_before = graph.call(&LESS, &[along, n], &[])?;
        let mut behind = more.expr;
        if length > 1 {
            let positions = graph.positions_along(dims[axis].high, 0, 1)?;
            let at = graph.call(&SUBTRACT, &[positions, n], &[])?;
            behind = graph.take(behind, at, axis)?;
        }
        let expr = graph.call(&WHERE, &[is_before, whole, behind], &[])?;
        Ok(Padded::new(expr, dims))
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
