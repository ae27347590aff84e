//! Tensors whose elements are computed from sizes: shapes, what is made of them, and the bounds of slices.

use super::number::{Arith, Number, Why};
use super::padded::{Padded, room};
use super::walk::{Call, MAX_NUMBERS, Value, Walk, is_one_of};
use relayc_ir::tensor::{Tensor, broadcast_shape};
use relayc_ir::types::DType;
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    ADD, CAST, DIVIDE, EQUAL, FLOOR_DIVIDE, GREATER, GREATER_EQUAL, LESS, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, MAX, MAXIMUM,
    MIN, MINIMUM, MULTIPLY, NOT_EQUAL, PROD, SHAPE_OF, SUBTRACT, SUM, TAKE, WHERE,
};
use relayc_ops::eval::{ArgValue, EvalCx, OutTy, Outputs};
use relayc_ops::lower::Lower;
use std::rc::Rc;

impl Walk<'_> {
    /// The result of a call as numbers. `None` if it is not computed from sizes.
    pub(super) fn numbers(&mut self, call: &Call) -> Result<Option<Value>, Why> {
        if call.is_of(&[&SHAPE_OF]) {
            let data = call.tensor(0)?;
            let (dims, rank) = (data.dims.clone(), data.rank() as i64);
            return if rank == 0 { Ok(None) } else { self.made(call, dims.to_vec(), &[rank as usize]).map(Some) };
        }
        let of = |tensor: &&Padded| tensor.numbers.is_some() && !tensor.is_live();
        let tensors = call.tensors();
        if tensors.is_empty() || !tensors.iter().all(of) {
            return Ok(None);
        }
        match call.def {
            def if is_one_of(def, &[&MAX, &MIN, &SUM, &PROD]) => self.reduced(call),
            def if is_one_of(def, &[&CAST]) => {
                let data = call.tensor(0)?;
                let is_int = |dtype: DType| dtype.is_int() && dtype != DType::BOOL;
                let (from, to) = (self.graph.dtype(data)?, self.dtype_of(call));
                let fits = to.is_some_and(|to| is_int(to) && is_int(from));
                let (numbers, shape) = (data.numbers.clone(), shape_of(data));
                match numbers.filter(|_| fits) {
                    Some(numbers) => self.made(call, numbers.to_vec(), &shape).map(Some),
                    None => Ok(None),
                }
            }
            def if moves(def) => self.moved(call),
            _ => self.computed(call),
        }
    }

    /// Numbers as the result of a call.
    fn made(&mut self, call: &Call, numbers: Vec<Number>, shape: &[usize]) -> Result<Value, Why> {
        let dtype = self.dtype_of(call).ok_or("a value that is no tensor")?;
        let dims: Vec<i64> = shape.iter().map(|&dim| dim as i64).collect();
        let expr = self.graph.tensor_of(&numbers, &dims, dtype)?;
        let dims: Vec<Number> = dims.into_iter().map(Number::known).collect();
        Ok(Value::Tensor(Padded { numbers: Some(numbers.into()), ..Padded::new(expr, &dims) }))
    }

    pub(super) fn dtype_of(&self, call: &Call) -> Option<DType> {
        self.graph.module.types.as_tensor(call.ty).map(|(_, dtype)| dtype)
    }

    /// All elements made one.
    fn reduced(&mut self, call: &Call) -> Result<Option<Value>, Why> {
        let data = call.tensor(0)?;
        let (rank, numbers) = (data.rank(), data.numbers.clone().unwrap_or_default());
        let op = match call.def {
            def if is_one_of(def, &[&MAX]) => Arith::Max,
            def if is_one_of(def, &[&MIN]) => Arith::Min,
            def if is_one_of(def, &[&SUM]) => Arith::Add,
            _ => Arith::Mul,
        };
        let Some((&(mut all), others)) = numbers.split_first().filter(|_| rank <= 1 && !call.is("exclude")) else {
            return Ok(None);
        };
        for &number in others {
            all = self.graph.arith(op, all, number)?;
        }
        let shape: &[usize] = if call.is("keepdims") { &[1] } else { &[] };
        self.made(call, vec![all], shape).map(Some)
    }

    /// The elements of the operands, moved as the operator moves their numbers.
    fn moved(&mut self, call: &Call) -> Result<Option<Value>, Why> {
        let mut pool: Vec<Number> = vec![];
        let mut numbered = |tensor: &Padded, as_they_are: bool| -> Option<Tensor> {
            let numbers = tensor.numbers.as_ref()?;
            let elements: Vec<i64> = if as_they_are {
                numbers.iter().map(|number| number.value()).collect::<Option<_>>()?
            } else {
                let first = pool.len() as i64;
                pool.extend(numbers.iter());
                (first..pool.len() as i64).collect()
            };
            Some(Tensor::from_vec(&shape_of(tensor), elements))
        };
        let mut args = vec![];
        for (at, arg) in call.args.iter().enumerate() {
            // Operands behind the first say where elements are.
            let arg = match arg {
                Value::Tensor(tensor) => numbered(tensor, at > 0).map(ArgValue::Tensor),
                Value::Tuple(fields) => {
                    let field = |field: &Value| match field {
                        Value::Tensor(tensor) => numbered(tensor, at > 0),
                        Value::Tuple(_) => None,
                    };
                    fields.iter().map(field).collect::<Option<_>>().map(ArgValue::Tuple)
                }
            };
            let Some(arg) = arg else { return Ok(None) };
            args.push(arg);
        }
        let exprs: Vec<_> = call.args.iter().map(|arg| self.expr(arg)).collect();
        let Some(ty) = self.graph.cx.call_ty(self.graph.module, call.def, &exprs, &call.attrs) else { return Ok(None) };
        let Some(out) = crate::fold_constants::concrete(&self.graph.module.types, ty) else { return Ok(None) };
        let out: Vec<OutTy> = out.into_iter().map(|out| OutTy { dtype: DType::I64, ..out }).collect();
        if out.iter().any(|out| out.shape.iter().product::<usize>() > MAX_NUMBERS) {
            return Ok(None);
        }
        let moved = (call.def.eval)(&EvalCx { args: &args, attrs: &call.attrs, out: &out, max_bytes: 1 << 20 });
        let found = |tensor: &Tensor| -> Option<Vec<Number>> {
            tensor.to_ints().into_iter().map(|at| pool.get(usize::try_from(at).ok()?).copied()).collect()
        };
        match moved {
            Ok(Outputs::One(tensor)) => match found(&tensor) {
                Some(numbers) => self.made(call, numbers, tensor.shape()).map(Some),
                None => Ok(None),
            },
            // Tuples of numbers are rare: their fields are computed as tensors.
            _ => Ok(None),
        }
    }

    /// The elements computed one by one.
    fn computed(&mut self, call: &Call) -> Result<Option<Value>, Why> {
        let tensors = call.tensors();
        let mut shape = vec![];
        for tensor in &tensors {
            let Some(joined) = broadcast_shape(&shape, &shape_of(tensor)) else { return Ok(None) };
            shape = joined;
        }
        if shape.len() > 1 || shape.iter().product::<usize>() > MAX_NUMBERS {
            return Ok(None);
        }
        let n = shape.first().copied().unwrap_or(1);
        let operands: Vec<Rc<[Number]>> = tensors.iter().filter_map(|tensor| tensor.numbers.clone()).collect();
        let mut out = vec![];
        for at in 0..n {
            let of: Vec<Number> = operands.iter().map(|numbers| numbers[if numbers.len() == 1 { 0 } else { at }]).collect();
            match self.scalar_rule(call.def, &of)? {
                Some(number) => out.push(number),
                None => return Ok(None),
            }
        }
        self.made(call, out, &shape).map(Some)
    }

    fn scalar_rule(&mut self, def: &OpDef, of: &[Number]) -> Result<Option<Number>, Why> {
        let graph = &mut self.graph;
        let is = |other: &OpDef| def.name == other.name;
        match *of {
            [a, b] => {
                if is(&GREATER) {
                    return graph.arith(Arith::Less, b, a).map(Some);
                }
                let negated = [(&GREATER_EQUAL, Arith::Less), (&NOT_EQUAL, Arith::Equal)];
                if let Some((_, op)) = negated.into_iter().find(|(other, _)| is(other)) {
                    let holds = graph.arith(op, a, b)?;
                    return graph.arith(Arith::Sub, Number::ONE, holds).map(Some);
                }
                // Divisions of what is negative differ in how they round.
                let divides = b.low > 0 && (is(&FLOOR_DIVIDE) || a.low >= 0);
                let op = BINARY.iter().find(|(other, op)| is(other) && (*op != Arith::Div || divides));
                op.map(|(_, op)| graph.arith(*op, a, b)).transpose()
            }
            [a] if is(&LOGICAL_NOT) && a.low >= 0 && a.high <= 1 => graph.arith(Arith::Sub, Number::ONE, a).map(Some),
            [cond, a, b] if is(&WHERE) => graph.choose(cond, a, b).map(Some),
            _ => Ok(None),
        }
    }
}

/// Bools are 0 and 1.
const BINARY: &[(&OpDef, Arith)] = &[
    (&ADD, Arith::Add),
    (&SUBTRACT, Arith::Sub),
    (&MULTIPLY, Arith::Mul),
    (&LOGICAL_AND, Arith::Mul),
    (&MINIMUM, Arith::Min),
    (&MAXIMUM, Arith::Max),
    (&LOGICAL_OR, Arith::Max),
    (&EQUAL, Arith::Equal),
    (&LESS, Arith::Less),
    (&DIVIDE, Arith::Div),
    (&FLOOR_DIVIDE, Arith::Div),
];

/// Whether each element of the result is an element of the first operand.
fn moves(def: &OpDef) -> bool {
    let by_shape =
        matches!(def.lower, Some(Lower::View(_) | Lower::Move(..) | Lower::Split(_) | Lower::Join(_) | Lower::Stack(_)));
    by_shape || def.name == TAKE.name
}

fn shape_of(tensor: &Padded) -> Vec<usize> {
    room(&tensor.dims).into_iter().map(|dim| dim as usize).collect()
}
