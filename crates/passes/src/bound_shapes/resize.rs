//! Images that are resized to sizes which only a run knows.
//!
//! The taps of each position are computed as the operator's evaluation does (`crates/ops/src/resize/eval.rs`), for as many positions
//! as there is room for. First columns are interpolated, then rows, which adds the same products in the same order.

use super::number::{Arith, Graph, Number, Why};
use super::padded::{Padded, require_room, room};
use super::walk::{Call, NO_RULE, Value, Walk};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId};
use relayc_ops::declarations::{ADD, CLIP, DIVIDE, FLOOR, MULTIPLY, SUBTRACT, WHERE};

/// Positions along an axis, int32, and the weight of each, float32.
type Tap = (ExprId, ExprId);

impl Walk<'_> {
    pub(super) fn resize(&mut self, call: &Call) -> Result<Padded, Why> {
        let data = call.tensor(0)?.clone();
        let sizes = match call.args.get(1) {
            Some(Value::Tensor(size)) => self.sizes(size)?,
            _ => return Err(NO_RULE),
        };
        let &[height, width] = &sizes[..] else { return Err(NO_RULE) };
        let out_dtype = [AttrValue::None, AttrValue::DType(None), AttrValue::DType(Some(DType::F32))];
        let is_float = self.graph.dtype(&data)? == DType::F32 && out_dtype.contains(call.attr("out_dtype"));
        if call.text("layout") != "NCHW" || !is_float || call.int("cubic_exclude") != Some(0) {
            return Err(NO_RULE);
        }
        let mut out = data;
        for (axis, size) in [(3, width), (2, height)] {
            out = self.resized_along(call, &out, axis, size)?;
        }
        Ok(out)
    }

    fn resized_along(&mut self, call: &Call, x: &Padded, axis: usize, size: Number) -> Result<Padded, Why> {
        let from = x.dims.get(axis).and_then(|dim| dim.value()).filter(|&from| from > 0).ok_or(NO_RULE)?;
        let mut dims = x.dims.to_vec();
        dims[axis] = size;
        require_room(&room(&dims))?;
        let at = self.coordinates(call.text("coordinate_transformation_mode"), from, size)?;
        let graph = &mut self.graph;
        let mut sum = None;
        for (place, weight) in graph.taps(call, at, from)? {
            let elements = graph.take(x.expr, place, axis)?;
            let along: Vec<i64> = (0..dims.len()).map(|at| if at == axis { size.high } else { 1 }).collect();
            let weight = graph.reshape(weight, &along)?;
            let part = graph.call(&MULTIPLY, &[elements, weight], &[])?;
            sum = Some(match sum {
                None => part,
                Some(sum) => graph.call(&ADD, &[sum, part], &[])?,
            });
        }
        let sum = graph.once(sum.ok_or(NO_RULE)?)?;
        Ok(Padded::new(sum, &dims))
    }

    /// Where each position of an axis of a size lies in one of another.
    fn coordinates(&mut self, mode: &str, from: i64, size: Number) -> Result<ExprId, Why> {
        let graph = &mut self.graph;
        let x = graph.constant(Tensor::from_fn(&[size.high as usize], |at| at as f32));
        let (n, from) = (graph.scalar_of(size, DType::F32)?, from as f32);
        let (half, zero) = (graph.f32(0.5), graph.f32(0.0));
        let ratio = |graph: &mut Graph, from: f32, by: ExprId| {
            let from = graph.f32(from);
            graph.call(&DIVIDE, &[from, by], &[])
        };
        let at = match mode {
            "align_corners" => {
                let one = graph.f32(1.0);
                let last = graph.call(&SUBTRACT, &[n, one], &[])?;
                let step = ratio(graph, from - 1.0, last)?;
                graph.call(&MULTIPLY, &[step, x], &[])?
            }
            "asymmetric" => {
                let scale = ratio(graph, from, n)?;
                graph.call(&MULTIPLY, &[scale, x], &[])?
            }
            "half_pixel" | "pytorch_half_pixel" => {
                let scale = ratio(graph, from, n)?;
                let middle = graph.call(&ADD, &[x, half], &[])?;
                let scaled = graph.call(&MULTIPLY, &[middle, scale], &[])?;
                graph.call(&SUBTRACT, &[scaled, half], &[])?
            }
            _ => return Err(NO_RULE),
        };
        if !["align_corners", "pytorch_half_pixel"].contains(&mode) {
            return Ok(at);
        }
        let is_one = graph.arith(Arith::Equal, size, Number::ONE)?;
        let is_one = graph.scalar_of(is_one, DType::BOOL)?;
        graph.call(&WHERE, &[is_one, zero, at], &[])
    }
}

impl Graph<'_> {
    fn f32(&mut self, value: f32) -> ExprId {
        self.constant(Tensor::scalar(value))
    }

    /// The elements around coordinates.
    fn taps(&mut self, call: &Call, at: ExprId, from: i64) -> Result<Vec<Tap>, Why> {
        let below = self.call(&FLOOR, &[at], &[])?;
        let t = self.call(&SUBTRACT, &[at, below], &[])?;
        let weights = match call.text("method") {
            "linear" => {
                let one = self.f32(1.0);
                vec![self.call(&SUBTRACT, &[one, t], &[])?, t]
            }
            "cubic" => {
                let AttrValue::Float { value: alpha, .. } = *call.attr("cubic_alpha") else { return Err(NO_RULE) };
                self.cubic(t, alpha as f32)?
            }
            _ => return Err(NO_RULE),
        };
        let first = if weights.len() == 2 { 0 } else { -1 };
        let base = self.cast(below, DType::I32)?;
        let bounds = [("a_min", AttrValue::float(0.0)), ("a_max", AttrValue::float((from - 1) as f64))];
        let mut taps = vec![];
        for (step, weight) in (first..).zip(weights) {
            let step = self.constant(Tensor::scalar(step));
            let place = self.call(&ADD, &[base, step], &[])?;
            let place = self.call(&CLIP, &[place], &bounds)?;
            taps.push((self.once(place)?, self.once(weight)?));
        }
        Ok(taps)
    }

    /// The four weights of Keys' cubic convolution.
    fn cubic(&mut self, t: ExprId, a: f32) -> Result<Vec<ExprId>, Why> {
        let by = |graph: &mut Self, factor: f32, x: ExprId| {
            let factor = graph.f32(factor);
            graph.call(&MULTIPLY, &[factor, x], &[])
        };
        let t2 = self.call(&MULTIPLY, &[t, t], &[])?;
        let t3 = self.call(&MULTIPLY, &[t2, t], &[])?;
        let one = self.f32(1.0);
        // a (t³ − 2 t² + t)
        let doubled = by(self, 2.0, t2)?;
        let inner = self.call(&SUBTRACT, &[t3, doubled], &[])?;
        let inner = self.call(&ADD, &[inner, t], &[])?;
        let before = by(self, a, inner)?;
        // (a + 2) t³ − (3 + a) t² + 1
        let (left, right) = (by(self, a + 2.0, t3)?, by(self, 3.0 + a, t2)?);
        let near = self.call(&SUBTRACT, &[left, right], &[])?;
        let near = self.call(&ADD, &[near, one], &[])?;
        // −(a + 2) t³ + (3 + 2a) t² − a t
        let (left, right) = (by(self, -(a + 2.0), t3)?, by(self, 3.0 + 2.0 * a, t2)?);
        let far = self.call(&ADD, &[left, right], &[])?;
        let last = by(self, a, t)?;
        let far = self.call(&SUBTRACT, &[far, last], &[])?;
        // −a t³ + a t²
        let (left, right) = (by(self, -a, t3)?, by(self, a, t2)?);
        let behind = self.call(&ADD, &[left, right], &[])?;
        Ok(vec![before, near, far, behind])
    }
}
