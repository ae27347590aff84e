//! The rules of operators on tensors of which only a run knows how much counts.

use super::number::{Arith, Graph, Number, Why};
use super::padded::{Fill, Padded, require_room, room};
use super::walk::{APART, Call, NO_RULE, Value, Walk, counted, is_one_of};
use crate::build;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    ADAPTIVE_AVG_POOL2D, ADAPTIVE_MAX_POOL2D, ADD, ALL, ALL_CLASS_NON_MAX_SUPPRESSION, ANY, ARANGE, ARGMAX, ARGMIN, ARGSORT,
    ARGWHERE, AVG_POOL2D, BATCH_FLATTEN, BATCH_MATMUL, BATCH_NORM, BROADCAST_TO, CONCATENATE, CONV1D, CONV2D, CONV2D_TRANSPOSE,
    CONV3D, CUMPROD, CUMSUM, DENSE, DIVIDE, DYN_BROADCAST_TO, DYN_FULL, DYN_RESHAPE, DYN_RESIZE2D, DYN_STRIDED_SLICE, DYN_TOPK,
    EXPAND_DIMS, FLOOR_DIVIDE, FLOOR_MOD, FULL, GATHER_ND, GLOBAL_AVG_POOL2D, GLOBAL_MAX_POOL2D, LESS, MAX, MAX_POOL2D, MEAN,
    MIN, PAD, PROD, RESHAPE, RESIZE2D, ROI_ALIGN, ROI_POOL, SCATTER_ELEMENTS, SCATTER_ND, SORT, SPLIT, SQUEEZE, STRIDED_SLICE,
    SUM, TAKE, TOPK, TRANSPOSE, UPSAMPLING, VARIANCE, WHERE,
};
use relayc_ops::lower::Lower;
use std::rc::Rc;

/// Whether data decides how much of an operator's result counts, though the result may have a shape.
pub(super) fn decides(def: &OpDef) -> bool {
    is_one_of(def, &[&ARGWHERE, &ALL_CLASS_NON_MAX_SUPPRESSION])
}

/// Whether a run of a call can fail, which its second operand decides.
pub(super) fn may_trap(call: &Call, graph: &Graph) -> bool {
    let is_float = || call.tensor(1).and_then(|by| graph.dtype(by)).is_ok_and(|dtype| dtype.is_float());
    match call.def.lower {
        Some(Lower::Divided(_)) => !is_float() && !is_above_0(call),
        _ if call.is_of(&[&TAKE]) => call.text("mode") == "fast",
        _ => call.is_of(&[&GATHER_ND, &SCATTER_ELEMENTS, &SCATTER_ND, &ROI_ALIGN, &ROI_POOL]),
    }
}

/// Whether all elements of a divisor are known to be above 0.
fn is_above_0(call: &Call) -> bool {
    let numbers = call.tensor(1).ok().and_then(|by| by.numbers.as_deref());
    numbers.is_some_and(|numbers| numbers.iter().all(|number| number.low > 0))
}

/// The operators that compute each part along the first axis of the first operand from that part alone.
const BY_PARTS: &[&OpDef] = &[
    &ADAPTIVE_AVG_POOL2D,
    &ADAPTIVE_MAX_POOL2D,
    &AVG_POOL2D,
    &BATCH_FLATTEN,
    &BATCH_MATMUL,
    &BATCH_NORM,
    &CONV1D,
    &CONV2D,
    &CONV2D_TRANSPOSE,
    &CONV3D,
    &DENSE,
    &GLOBAL_AVG_POOL2D,
    &GLOBAL_MAX_POOL2D,
    &MAX_POOL2D,
    &PAD,
    &RESIZE2D,
    &UPSAMPLING,
];

type Rule<'g> = fn(&mut Walk<'g>, &Call) -> Result<Padded, Why>;

impl<'g> Walk<'g> {
    /// The operators whose result is one tensor, with their rules.
    fn rules() -> Vec<(&'static OpDef, Rule<'g>)> {
        vec![
            (&ALL, Walk::reduce),
            (&ANY, Walk::reduce),
            (&ARANGE, Walk::arange),
            (&ARGMAX, Walk::reduce_to_position),
            (&ARGMIN, Walk::reduce_to_position),
            (&ARGSORT, Walk::sort),
            (&ARGWHERE, Walk::argwhere),
            (&BROADCAST_TO, Walk::broadcast_to),
            (&CONCATENATE, Walk::concatenate),
            (&CUMPROD, Walk::scan),
            (&CUMSUM, Walk::scan),
            (&DYN_BROADCAST_TO, Walk::broadcast_to),
            (&DYN_FULL, Walk::full),
            (&DYN_RESHAPE, Walk::reshape),
            (&DYN_RESIZE2D, Walk::resize),
            (&DYN_STRIDED_SLICE, Walk::strided_slice),
            (&EXPAND_DIMS, Walk::expand_dims),
            (&GATHER_ND, Walk::gather_nd),
            (&MAX, Walk::reduce),
            (&MEAN, Walk::mean),
            (&MIN, Walk::reduce),
            (&PROD, Walk::reduce),
            (&RESHAPE, Walk::reshape),
            (&ROI_ALIGN, Walk::of_rois),
            (&ROI_POOL, Walk::of_rois),
            (&SCATTER_ELEMENTS, Walk::scatter),
            (&SORT, Walk::sort),
            (&SQUEEZE, Walk::squeeze),
            (&STRIDED_SLICE, Walk::strided_slice),
            (&SUM, Walk::reduce),
            (&TAKE, Walk::taken),
            (&TRANSPOSE, Walk::transpose),
            (&VARIANCE, Walk::mean),
        ]
    }

    pub(super) fn rule(&mut self, call: &Call) -> Result<Value, Why> {
        if let Some((_, rule)) = Self::rules().iter().find(|(def, _)| def.name == call.def.name) {
            return rule(self, call).map(Value::Tensor);
        }
        match call.def {
            def if is_one_of(def, &[&ALL_CLASS_NON_MAX_SUPPRESSION]) => self.suppressed(call),
            def if is_one_of(def, &[&SPLIT]) => self.split(call),
            def if is_one_of(def, &[&TOPK, &DYN_TOPK]) => self.topk(call),
            def if is_one_of(def, BY_PARTS) => self.by_parts(call),
            _ => self.by_elements(call),
        }
    }

    /// Gives a call a second operand with which it does not fail where its branch is not taken: a divisor of 1, the first index, a
    /// region of the first image.
    pub(super) fn guard(&mut self, call: &mut Call) -> Result<(), Why> {
        let (data, second) = (call.tensor(0)?, call.tensor(1)?);
        let is_divided = matches!(call.def.lower, Some(Lower::Divided(_)));
        if !is_divided && room(&data.dims).contains(&0) {
            return Err("an operator that fails for every index, in a branch");
        }
        let fill = if is_divided { Fill::One } else { Fill::Zero };
        let (dims, expr) = (second.dims.clone(), self.graph.filled_where_0(second, call.reached, fill)?);
        call.args[1] = Value::Tensor(Padded::new(expr, &dims));
        Ok(())
    }

    /// The length of an axis that indices are compared with: of one without elements, 1 where the branch is not taken, so that the
    /// index of [`Walk::guard`] is inside.
    pub(super) fn end(&mut self, call: &Call, n: Number) -> Result<Number, Why> {
        let least = self.graph.arith(Arith::Sub, Number::ONE, call.reached)?;
        self.graph.arith(Arith::Max, n, least)
    }

    /// The call with its new operands.
    pub(super) fn again(&mut self, call: &Call) -> Result<ExprId, Why> {
        let args: Vec<ExprId> = call.args.iter().map(|arg| self.expr(arg)).collect();
        self.graph.call_with(call.def, &args, call.attrs.clone())
    }

    /// The dimensions that tensors broadcast to.
    pub(super) fn broadcast(&self, tensors: &[&Padded]) -> Result<Vec<Number>, Why> {
        let rank = tensors.iter().map(|tensor| tensor.rank()).max().unwrap_or(0);
        let mut out = vec![Number::ONE; rank];
        for tensor in tensors {
            for (to, &dim) in out[rank - tensor.rank()..].iter_mut().zip(tensor.dims.iter()) {
                if *to == Number::ONE {
                    *to = dim;
                } else if dim != Number::ONE && dim != *to {
                    return Err(APART);
                }
            }
        }
        Ok(out)
    }

    /// Operators that compute each element from those at its position, or each line along an axis from that line.
    fn by_elements(&mut self, call: &Call) -> Result<Value, Why> {
        let tensors = call.tensors();
        let dims = match call.def.lower {
            Some(Lower::Scalar(_)) => self.broadcast(&tensors)?,
            Some(Lower::Divided(_)) => return self.divided(call).map(Value::Tensor),
            Some(Lower::Along(..) | Lower::AlongOr(..)) if tensors[1..].iter().all(|tensor| !tensor.is_live()) => {
                tensors[0].dims.to_vec()
            }
            _ => match (call.def.lines, &tensors[..]) {
                (Some(axis), &[data]) => {
                    let axis = counted(axis(&call.attrs), data.rank())?;
                    if data.dims[axis].is_live() {
                        return Err(NO_RULE);
                    }
                    data.dims.to_vec()
                }
                _ => return Err(NO_RULE),
            },
        };
        let expr = self.again(call)?;
        Ok(Value::Tensor(Padded::new(expr, &dims)))
    }

    /// Integers are divided by 1 where nothing counts, as a division by 0 traps.
    fn divided(&mut self, call: &Call) -> Result<Padded, Why> {
        let (a, b) = (call.tensor(0)?, call.tensor(1)?);
        let dims = self.broadcast(&[a, b])?;
        let by = if self.graph.dtype(b)?.is_float() { b.expr } else { self.graph.filled(b, |_| true, Fill::One)? };
        let expr = self.graph.call_with(call.def, &[a.expr, by], call.attrs.clone())?;
        Ok(Padded::new(expr, &dims))
    }

    /// Operators on the parts along the first axis of the first operand.
    fn by_parts(&mut self, call: &Call) -> Result<Value, Why> {
        let tensors = call.tensors();
        let [first, others @ ..] = &tensors[..] else { return Err(NO_RULE) };
        let layout = ["data_layout", "layout"].map(|name| call.text(name)).into_iter().find(|layout| !layout.is_empty());
        let only_first = first.dims[1..].iter().chain(others.iter().flat_map(|tensor| tensor.dims.iter()));
        if only_first.into_iter().any(|dim| dim.is_live()) || layout.is_some_and(|layout| !layout.starts_with('N')) {
            return Err(NO_RULE);
        }
        let n = first.dims[0];
        let expr = self.again(call)?;
        let mut value = self.of_type(expr)?;
        let parts = match &mut value {
            Value::Tensor(tensor) => tensor,
            // Of `nn.batch_norm`, the statistics follow.
            Value::Tuple(fields) => match Rc::get_mut(fields).and_then(|fields| fields.first_mut()) {
                Some(Value::Tensor(tensor)) => tensor,
                _ => return Err(NO_RULE),
            },
        };
        if parts.dims.first().and_then(|dim| dim.value()) != Some(n.high) {
            return Err(NO_RULE);
        }
        let dims: Vec<Number> = std::iter::once(n).chain(parts.dims[1..].iter().copied()).collect();
        parts.dims = dims.into();
        Ok(value)
    }

    /// The rows of `argwhere` come from the positions of what is true, in the order of the elements that have room.
    fn argwhere(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let (shape, rank) = (room(&data.dims), data.rank());
        let graph = &mut self.graph;
        let n = require_room(&shape)?;
        if rank == 0 || n == 0 {
            return Err("the places of a scalar, or of an empty tensor");
        }
        let filled = graph.filled(data, |_| true, Fill::Zero)?;
        let found = graph.cast(filled, DType::BOOL)?;
        let mask = graph.reshape(found, &[n])?;
        let (order, count) = graph.places(mask)?;
        let mut columns = vec![];
        for axis in 0..rank {
            let inner: i64 = shape[axis + 1..].iter().product();
            let mut column = order;
            if inner > 1 {
                let inner = graph.scalar_of(Number::known(inner), DType::I32)?;
                column = graph.call(&FLOOR_DIVIDE, &[column, inner], &[])?;
            }
            if axis > 0 {
                let dim = graph.scalar_of(Number::known(shape[axis]), DType::I32)?;
                column = graph.call(&FLOOR_MOD, &[column, dim], &[])?;
            }
            columns.push(graph.reshape(column, &[n, 1])?);
        }
        let rows = match columns[..] {
            [one] => one,
            _ => {
                let fields = build::tuple(graph.module, graph.span, &columns);
                graph.call(&CONCATENATE, &[fields], &[("axis", AttrValue::int(1))])?
            }
        };
        Ok(Padded::new(rows, &[count, Number::known(rank as i64)]))
    }

    /// What does not count has a score that is above no threshold.
    fn suppressed(&mut self, call: &Call) -> Result<Value, Why> {
        let [boxes, scores, most] = [call.tensor(0)?, call.tensor(1)?, call.tensor(2)?];
        let &[b, n, _] = &boxes.dims[..] else { return Err(NO_RULE) };
        let &[_, classes, _] = &scores.dims[..] else { return Err(NO_RULE) };
        if b.is_live() || classes.is_live() || call.text("output_format") != "onnx" || scores.dims[2] != n {
            return Err(NO_RULE);
        }
        let filled = self.graph.filled(scores, |_| true, Fill::Lowest)?;
        let mut args: Vec<ExprId> = call.args.iter().map(|arg| self.expr(arg)).collect();
        args[1] = filled;
        let graph = &mut self.graph;
        let expr = graph.call_with(call.def, &args, call.attrs.clone())?;
        let lines = graph.arith(Arith::Mul, b, classes)?;
        let rows = graph.arith(Arith::Mul, lines, n)?;
        let Value::Tuple(fields) = self.of_type(expr)? else { return Err(NO_RULE) };
        let [Value::Tensor(indices), Value::Tensor(count)] = &fields[..] else { return Err(NO_RULE) };
        let graph = &mut self.graph;
        let each = match most.numbers.as_deref() {
            Some(&[most]) if most.low > 0 => n.high.min(most.high),
            _ => n.high,
        };
        let wide = graph.cast(count.expr, DType::I64)?;
        let scalar = graph.reshape(wide, &[])?;
        let found = graph.number(scalar, 0, lines.high.saturating_mul(each));
        let count = Padded { numbers: Some([found].into()), ..count.clone() };
        let indices = Padded::new(indices.expr, &[rows, Number::known(3)]);
        Ok(Value::Tuple([Value::Tensor(indices), Value::Tensor(count)].into()))
    }

    fn topk(&mut self, call: &Call) -> Result<Value, Why> {
        let data = call.tensor(0)?;
        let axis = call.axis("axis", data.rank())?;
        let n = data.dims[axis];
        let k = match call.args.get(1) {
            Some(Value::Tensor(k)) => match k.numbers.as_deref() {
                Some(&[k]) => k,
                _ => return Err("a `k` that data gives"),
            },
            _ => Number::known(call.int("k").ok_or("a `k` that is not given")?),
        };
        let k = if k.high < 1 { n } else { k };
        if !self.graph.is_at_most(k, n) {
            return Err("a `k` that may be above the length of the axis");
        }
        // A `k` below 1 stands for all.
        if !self.graph.is_0_only_with(k, n) {
            return Err("a `k` that may be 0");
        }
        let fill = if call.is("is_ascend") { Fill::Last } else { Fill::Lowest };
        let filled = self.graph.filled(data, |at| at == axis, fill)?;
        let mut attrs = call.attrs.clone();
        let at = call.def.attrs.and_then(|schema| schema.position("k")).ok_or(NO_RULE)?;
        attrs[at] = AttrValue::int(k.high);
        let expr = self.graph.call_with(&TOPK, &[filled], attrs)?;
        let dims: Vec<Number> = data.dims.iter().enumerate().map(|(at, &dim)| if at == axis { k } else { dim }).collect();
        Ok(match self.of_type(expr)? {
            Value::Tensor(tensor) => Value::Tensor(Padded::new(tensor.expr, &dims)),
            Value::Tuple(fields) => {
                let field = |field: &Value| match field {
                    Value::Tensor(tensor) => Value::Tensor(Padded::new(tensor.expr, &dims)),
                    Value::Tuple(_) => field.clone(),
                };
                Value::Tuple(fields.iter().map(field).collect())
            }
        })
    }

    fn sort(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let axis = call.axis("axis", data.rank())?;
        let fill = if call.is("is_ascend") { Fill::Last } else { Fill::Lowest };
        let filled = self.graph.filled(data, |at| at == axis, fill)?;
        let expr = self.graph.call_with(call.def, &[filled], call.attrs.clone())?;
        Ok(Padded::new(expr, &data.dims))
    }

    /// A sum of the elements so far takes none of those behind.
    fn scan(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        if call.int("axis").is_none() && data.rank() != 1 {
            return Err(NO_RULE);
        }
        let expr = self.again(call)?;
        Ok(Padded::new(expr, &data.dims))
    }

    /// The axes that a reduction takes.
    fn reduced_axes(call: &Call, rank: usize) -> Result<Vec<bool>, Why> {
        let named = call.ints("axis").filter(|axes| !axes.is_empty());
        let mut of = vec![named.is_none(); rank];
        for axis in named.unwrap_or_default() {
            of[counted(axis, rank)?] = true;
        }
        Ok(if call.is("exclude") { of.into_iter().map(|of| !of).collect() } else { of })
    }

    fn reduced_dims(call: &Call, data: &Padded, of: &[bool]) -> Vec<Number> {
        let kept = |(&dim, &of): (&Number, &bool)| match (of, call.is("keepdims")) {
            (false, _) => Some(dim),
            (true, true) => Some(Number::ONE),
            (true, false) => None,
        };
        data.dims.iter().zip(of).filter_map(kept).collect()
    }

    fn reduce(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let of = Self::reduced_axes(call, data.rank())?;
        let fill = match call.def {
            def if is_one_of(def, &[&MAX]) => Fill::Lowest,
            def if is_one_of(def, &[&MIN]) => Fill::Highest,
            def if is_one_of(def, &[&PROD, &ALL]) => Fill::One,
            _ => Fill::Zero,
        };
        let fails = if call.is_of(&[&MAX, &MIN]) { self.is_of_nothing(call, data, &of)? } else { Number::ZERO };
        let filled = self.graph.filled_unless(data, |axis| of[axis], fill, fails)?;
        let expr = self.graph.call_with(call.def, &[filled], call.attrs.clone())?;
        Ok(Padded::new(expr, &Self::reduced_dims(call, data, &of)))
    }

    /// Along an open axis, a mean is the sum of what counts, divided by its number.
    fn mean(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let of = Self::reduced_axes(call, data.rank())?;
        let dims = Self::reduced_dims(call, data, &of);
        let summed: Vec<Number> = data.dims.iter().zip(&of).filter(|(_, of)| **of).map(|(&dim, _)| dim).collect();
        if !summed.iter().any(|dim| dim.is_live()) {
            let expr = self.again(call)?;
            return Ok(Padded::new(expr, &dims));
        }
        let graph = &mut self.graph;
        let dtype = graph.dtype(data)?;
        if !call.is_of(&[&MEAN]) || ![DType::F32, DType::F64].contains(&dtype) {
            return Err(NO_RULE);
        }
        let filled = graph.filled(data, |axis| of[axis], Fill::Zero)?;
        let sum = graph.call_with(&SUM, &[filled], call.attrs.clone())?;
        let n = graph.product(&summed)?;
        let n = graph.scalar_of(n, dtype)?;
        let expr = graph.call(&DIVIDE, &[sum, n], &[])?;
        Ok(Padded::new(expr, &dims))
    }

    /// Whether a run chooses among no elements, which fails.
    fn is_of_nothing(&mut self, call: &Call, data: &Padded, of: &[bool]) -> Result<Number, Why> {
        let dims: Vec<Number> = data.dims.iter().zip(of).filter(|(_, of)| **of).map(|(&dim, _)| dim).collect();
        let n = self.graph.product(&dims)?;
        let is_empty = self.graph.arith(Arith::Equal, n, Number::ZERO)?;
        self.graph.arith(Arith::Mul, is_empty, call.reached)
    }

    /// The first of equal elements is found, and what does not count lies behind.
    fn reduce_to_position(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let of = Self::reduced_axes(call, data.rank())?;
        let is_live = data.dims.iter().zip(&of).any(|(dim, &of)| of && dim.is_live());
        if is_live && (of.iter().filter(|&&of| of).count() > 1 || call.is("select_last_index")) {
            return Err(NO_RULE);
        }
        let fill = if call.is_of(&[&ARGMAX]) { Fill::Lowest } else { Fill::Highest };
        let fails = self.is_of_nothing(call, data, &of)?;
        let filled = self.graph.filled_unless(data, |axis| of[axis], fill, fails)?;
        let expr = self.graph.call_with(call.def, &[filled], call.attrs.clone())?;
        Ok(Padded::new(expr, &Self::reduced_dims(call, data, &of)))
    }

    /// Rois that do not count lie far outside of the first image, where they take no time.
    fn of_rois(&mut self, call: &Call) -> Result<Padded, Why> {
        const FAR: f64 = -60_000.0;
        let (data, rois) = (call.tensor(0)?, call.tensor(1)?);
        if data.is_live() {
            return Err(NO_RULE);
        }
        let graph = &mut self.graph;
        let filled = match graph.mask(&rois.dims, |_| true)? {
            None => rois.expr,
            Some(mask) => {
                let far = Tensor::from_vec(&[1, 5], vec![0.0, FAR, FAR, FAR, FAR]).cast(graph.dtype(rois)?).ok_or(NO_RULE)?;
                let far = graph.constant(far);
                graph.call(&WHERE, &[mask, rois.expr, far], &[])?
            }
        };
        let expr = self.graph.call_with(call.def, &[data.expr, filled], call.attrs.clone())?;
        let Value::Tensor(result) = self.of_type(expr)? else { return Err(NO_RULE) };
        let dims: Vec<Number> = std::iter::once(rois.dims[0]).chain(result.dims[1..].iter().copied()).collect();
        Ok(Padded::new(expr, &dims))
    }

    /// Updates that do not count go to a position behind the axis, which is left out again. An index outside of the axis traps,
    /// though it may be inside of the room.
    fn scatter(&mut self, call: &Call) -> Result<Padded, Why> {
        let [data, indices, updates] = [call.tensor(0)?, call.tensor(1)?, call.tensor(2)?];
        let axis = call.axis("axis", data.rank())?;
        let aligned = |(at, (to, of)): (usize, (&Number, &Number))| at == axis || to == of || !(to.is_live() || of.is_live());
        if !data.dims.iter().zip(indices.dims.iter()).enumerate().all(aligned) {
            return Err(APART);
        }
        let n = self.end(call, data.dims[axis])?;
        let graph = &mut self.graph;
        let (at, dtype) = graph.indices(indices)?;
        let mut with_room = room(&data.dims);
        with_room[axis] += 1;
        let extended = graph.fit(data.expr, &with_room)?;
        let (zero, length) = (graph.scalar_of(Number::ZERO, dtype)?, graph.scalar_of(n, dtype)?);
        let beyond = graph.scalar_of(Number::known(n.high + 1), dtype)?;
        let from_end = graph.call(&ADD, &[at, length], &[])?;
        let is_negative = graph.call(&LESS, &[at, zero], &[])?;
        let at = graph.call(&WHERE, &[is_negative, from_end, at], &[])?;
        let is_before = graph.call(&LESS, &[at, zero], &[])?;
        let at = graph.call(&WHERE, &[is_before, beyond, at], &[])?;
        let mut to = graph.within(at, length, beyond)?;
        if let Some(mask) = graph.mask(&indices.dims, |_| true)? {
            let behind = graph.scalar_of(Number::known(n.high), dtype)?;
            to = graph.call(&WHERE, &[mask, to, behind], &[])?;
        }
        let written = graph.call_with(call.def, &[extended, to, updates.expr], call.attrs.clone())?;
        let expr = graph.cut(written, axis, n.high)?;
        Ok(Padded::new(expr, &data.dims))
    }

    fn full(&mut self, call: &Call) -> Result<Padded, Why> {
        let (value, shape) = (call.tensor(0)?, call.tensor(1)?);
        let dims = self.sizes(shape)?;
        let dtype = call.attr("dtype").clone();
        require_room(&room(&dims))?;
        let attrs = [("shape", AttrValue::ints(&room(&dims))), ("dtype", dtype)];
        let expr = self.graph.call(&FULL, &[value.expr], &attrs)?;
        Ok(Padded::new(expr, &dims))
    }

    /// From one known number to a size, in known steps.
    fn arange(&mut self, call: &Call) -> Result<Padded, Why> {
        const BY_DATA: Why = "a range whose bounds or step data gives";
        let number = |at: usize| call.tensor(at)?.numbers.as_deref().and_then(|numbers| numbers.first().copied()).ok_or(BY_DATA);
        let [first, end, step] = [number(0)?, number(1)?, number(2)?];
        let (Some(from), Some(by)) = (first.value(), step.value().filter(|&by| by > 0)) else { return Err(BY_DATA) };
        let length = self.graph.arith(Arith::Sub, end, first)?;
        let up = self.graph.arith(Arith::Add, length, Number::known(by - 1))?;
        let count = self.graph.arith(Arith::Div, up, step)?;
        let count = self.graph.at_least_0(count)?;
        let n = require_room(&[count.high])?;
        let dtype = self.dtype_of(call).ok_or(NO_RULE)?;
        let numbers = Tensor::from_fn(&[n as usize], |at| from.saturating_add(by.saturating_mul(at as i64)));
        let expr = self.graph.constant(numbers.cast(dtype).ok_or(NO_RULE)?);
        Ok(Padded::new(expr, &[count]))
    }

    /// The elements of a shape, none of them negative.
    pub(super) fn sizes(&mut self, shape: &Padded) -> Result<Vec<Number>, Why> {
        let numbers = shape.numbers.clone().ok_or("a shape that data gives")?;
        numbers.iter().map(|&number| self.graph.at_least_0(number)).collect()
    }

    fn broadcast_to(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?;
        let dims = match call.args.get(1) {
            Some(Value::Tensor(shape)) => self.sizes(shape)?,
            _ => call.ints("shape").ok_or(NO_RULE)?.into_iter().map(Number::known).collect(),
        };
        let from = dims.len().checked_sub(data.rank()).ok_or(NO_RULE)?;
        if data.dims.iter().zip(&dims[from..]).any(|(&dim, &to)| dim != Number::ONE && dim != to) {
            return Err(APART);
        }
        require_room(&room(&dims))?;
        let expr = self.graph.call(&BROADCAST_TO, &[data.expr], &[("shape", AttrValue::ints(&room(&dims)))])?;
        Ok(Padded::new(expr, &dims))
    }
}
