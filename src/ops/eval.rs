//! What an evaluator works with.
//!
//! Types were checked before: an evaluator checks nothing again, except what only the data can show (an index, a divisor).

use crate::base::text::thousands;
use crate::diag::{Code, codes};
use crate::ir::attrs::AttrValue;
use crate::tensor::Tensor;
use crate::types::{DType, MAX_RANK, Ty, Types, can_be_held, checked_bytes};

/// A failure while running.
#[derive(Clone, PartialEq, Debug)]
pub struct Trap {
    pub code: Code,
    pub message: String,
    pub help: Option<&'static str>,
}

/// The most bytes that a tensor may have at all.
pub const MAX_TENSOR_BYTES: u64 = 16 << 30;

/// What a relation finds when it is run on actual shapes.
impl From<super::rel::Fault> for Trap {
    fn from(fault: super::rel::Fault) -> Trap {
        Trap::new(fault.trap.unwrap_or(fault.code), fault.message)
    }
}

impl Trap {
    pub fn new(code: Code, message: impl Into<String>) -> Trap {
        Trap { code, message: message.into(), help: None }
    }

    /// E0803 for a result of more bytes than the limit.
    pub fn over_limit(shape: &impl std::fmt::Debug, bytes: u64, limit: u64) -> Trap {
        let (bytes, most) = (thousands(bytes), thousands(limit));
        let message = format!("a result of shape {shape:?} is too large: it has {bytes} bytes, the limit is {most}");
        let help = (limit < MAX_TENSOR_BYTES).then_some("--max-memory sets another limit");
        Trap { help, ..Trap::new(codes::E0803, message) }
    }

    /// A dtype that only types may have.
    pub fn no_tensor(dtype: DType) -> Trap {
        Trap::new(codes::E0506, format!("no tensor can hold `{dtype}`"))
    }
}

/// An operand's value.
#[derive(Clone, Debug)]
pub enum ArgValue {
    Tensor(Tensor),
    Tuple(Vec<Tensor>),
}

impl ArgValue {
    /// The type of the value.
    pub fn ty(&self, types: &mut Types) -> Ty {
        let of = |types: &mut Types, tensor: &Tensor| {
            let shape: Vec<i64> = tensor.shape().iter().map(|&dim| dim as i64).collect();
            types.tensor_of(&shape, tensor.dtype())
        };
        match self {
            ArgValue::Tensor(tensor) => of(types, tensor),
            ArgValue::Tuple(tensors) => {
                let fields: Vec<Ty> = tensors.iter().map(|tensor| of(types, tensor)).collect();
                types.tuple(&fields)
            }
        }
    }
}

/// The result of an operator.
#[derive(Clone, Debug)]
pub enum Outputs {
    One(Tensor),
    Tuple(Vec<Tensor>),
}

impl From<Tensor> for Outputs {
    fn from(tensor: Tensor) -> Outputs {
        Outputs::One(tensor)
    }
}

pub type EvalResult = Result<Outputs, Trap>;

/// The concrete type of one tensor of the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutTy {
    pub shape: Vec<usize>,
    pub dtype: DType,
}

/// An evaluator's view of its call.
pub struct EvalCx<'a> {
    pub args: &'a [ArgValue],
    pub attrs: &'a [AttrValue],
    /// The result's tensors, one for each field of a tuple. Shapes are those for the actual operands: where the program
    /// says `?`, the relation has been run on the actual shapes. Empty where only the data can tell.
    pub out: &'a [OutTy],
    /// The largest tensor allowed; for results whose shape the data decides.
    pub max_bytes: u64,
}

impl EvalCx<'_> {
    /// A tensor operand.
    pub fn tensor(&self, arg: usize) -> &Tensor {
        match &self.args[arg] {
            ArgValue::Tensor(tensor) => tensor,
            ArgValue::Tuple(_) => unreachable!("the relation required a tensor"),
        }
    }

    /// A tuple operand.
    pub fn tuple(&self, arg: usize) -> &[Tensor] {
        match &self.args[arg] {
            ArgValue::Tuple(tensors) => tensors,
            ArgValue::Tensor(_) => unreachable!("the relation required a tuple"),
        }
    }

    /// Requires a tensor to be within the limit.
    pub fn check_size(&self, shape: &[usize], dtype: DType) -> Result<(), Trap> {
        let dims: Option<Vec<i64>> = shape.iter().map(|&dim| i64::try_from(dim).ok()).collect();
        match dims.filter(|dims| can_be_held(dims)).and_then(|dims| checked_bytes(&dims, dtype)) {
            Some(bytes) if bytes <= self.max_bytes => Ok(()),
            Some(bytes) => Err(Trap::over_limit(&shape, bytes, self.max_bytes)),
            None => Err(Trap::new(codes::E0803, format!("a result of shape {shape:?} is too large"))),
        }
    }

    /// A tensor operand, converted as `cast` does.
    pub fn tensor_as(&self, arg: usize, dtype: DType) -> Result<Tensor, Trap> {
        self.tensor(arg).cast(dtype).ok_or_else(|| Trap::no_tensor(dtype))
    }

    /// The shape of a result that only the data could tell: possible dimensions, within the limit.
    pub fn actual_shape(&self, dims: &[i128], dtype: DType) -> Result<Vec<usize>, Trap> {
        let shape: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let shape = shape.filter(|shape| shape.len() <= MAX_RANK);
        let shape = shape.ok_or_else(|| Trap::new(codes::E0310, format!("no tensor can have the shape {dims:?}")))?;
        self.check_size(&shape, dtype)?;
        Ok(shape)
    }

    /// The result's type where attributes may leave it open.
    pub fn known_out(&self) -> Result<&OutTy, Trap> {
        self.out.first().ok_or_else(|| Trap::new(codes::E0506, "the attributes leave a dimension of the result open"))
    }

    pub fn out_shape(&self) -> &[usize] {
        &self.out[0].shape
    }

    pub fn out_dtype(&self) -> DType {
        self.out[0].dtype
    }

    /// Operand 0 with a function applied to each element: `float` for float dtypes, `int` for the others.
    pub fn map(&self, float: fn(f64) -> f64, int: fn(i128) -> i128) -> EvalResult {
        Ok(self.tensor(0).map(float, int).into())
    }

    /// Operands 0 and 1, broadcast, with a function applied to each pair.
    pub fn zip(&self, float: fn(f64, f64) -> f64, int: fn(i128, i128) -> i128) -> EvalResult {
        Ok(self.tensor(0).zip(self.tensor(1), float, int).expect("the relation required broadcasting operands").into())
    }

    /// Operands 0 and 1, broadcast, compared.
    pub fn compare(&self, float: fn(f64, f64) -> bool, int: fn(i128, i128) -> bool) -> EvalResult {
        Ok(self.tensor(0).compare(self.tensor(1), float, int).expect("the relation required broadcasting operands").into())
    }
}
