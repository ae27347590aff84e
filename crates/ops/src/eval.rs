//! The interface of evaluators.
//!
//! Types have been checked: an evaluator checks only what depends on the data (an index, a divisor).

use relayc_base::diag::{Code, Diagnostic, codes};
use relayc_base::text::thousands;
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, MAX_RANK, Ty, Types, can_be_held, checked_bytes};

/// A failure at run time.
#[derive(Clone, PartialEq, Debug)]
pub struct Trap {
    pub code: Code,
    pub message: String,
    pub help: Option<&'static str>,
}

/// The largest size of any tensor, in bytes.
pub const MAX_TENSOR_BYTES: u64 = 16 << 30;

/// The failure of a relation on actual shapes.
impl From<super::rel::Fault> for Trap {
    fn from(fault: super::rel::Fault) -> Trap {
        Trap::new(fault.trap.unwrap_or(fault.code), fault.message)
    }
}

impl From<Trap> for Diagnostic {
    fn from(Trap { code, message, help }: Trap) -> Diagnostic {
        help.into_iter().fold(Diagnostic::new(code, message), Diagnostic::help)
    }
}

impl Trap {
    pub fn new(code: Code, message: impl Into<String>) -> Trap {
        Trap { code, message: message.into(), help: None }
    }

    /// E0803, for a result over the limit.
    pub fn over_limit(shape: &impl std::fmt::Debug, bytes: u64, limit: u64) -> Trap {
        let (bytes, most) = (thousands(bytes), thousands(limit));
        let message = format!("a result of shape {shape:?} is too large: it has {bytes} bytes, the limit is {most}");
        let help = (limit < MAX_TENSOR_BYTES).then_some("--max-memory sets another limit");
        Trap { help, ..Trap::new(codes::E0803, message) }
    }

    /// E0803, for tensors that are over the limit together, `work` of them for one evaluation only.
    pub fn over_memory(bytes: u64, work: u64, limit: u64) -> Trap {
        let (bytes, most) = (thousands(bytes), thousands(limit));
        let of_work = if work == 0 { String::new() } else { format!(", up to {} of them as work space", thousands(work)) };
        let message = format!("the tensors of the run would take {bytes} bytes{of_work}; the limit is {most}");
        Trap { help: Some("--max-memory sets another limit"), ..Trap::new(codes::E0803, message) }
    }

    /// E0803, for a request that the system refuses.
    pub fn no_memory(bytes: u64) -> Trap {
        Trap::new(codes::E0803, format!("the system has no memory for {} bytes", thousands(bytes)))
    }

    /// The failure for a dtype that only types may have.
    pub(crate) fn no_tensor(dtype: DType) -> Trap {
        Trap::new(codes::E0506, format!("no tensor can hold `{dtype}`"))
    }
}

#[derive(Clone, Debug)]
pub enum ArgValue {
    Tensor(Tensor),
    Tuple(Vec<Tensor>),
}

impl ArgValue {
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

pub(crate) type EvalResult = Result<Outputs, Trap>;

/// Computes the results of a call.
pub(crate) type Eval = fn(&EvalCx) -> EvalResult;

/// The concrete type of one tensor of the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutTy {
    pub shape: Vec<usize>,
    pub dtype: DType,
}

/// The memory that an evaluator takes beside its result, at most. A few KiB are not counted.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    None,
    /// A copy of each operand that broadcasts, as large as the result.
    Broadcast,
    /// So many bytes for each element of the operands and of the result: of floats up to 32 bits, and of other dtypes.
    Elements {
        float: u64,
        other: u64,
    },
    /// So many bytes for a call, whose results have known types.
    Of(fn(&EvalCx) -> u64),
}

impl Work {
    /// Accumulators, converted copies and lists of positions.
    pub(crate) const LISTS: Work = Work::Elements { float: 16, other: 32 };

    /// The bytes for a call.
    pub fn bytes(self, cx: &EvalCx) -> u64 {
        let EvalCx { args, out, .. } = *cx;
        let operands = args.iter().flat_map(|arg| match arg {
            ArgValue::Tensor(tensor) => std::slice::from_ref(tensor),
            ArgValue::Tuple(tensors) => tensors,
        });
        let bytes = |shape: &[usize], each: u64| shape.iter().fold(each, |bytes, &dim| bytes.saturating_mul(dim as u64));
        match self {
            Work::None => 0,
            Work::Broadcast => {
                let shape = out.first().map_or(&[][..], |out| &out.shape);
                let repeated = operands.filter(|operand| operand.shape() != shape);
                repeated.map(|operand| bytes(shape, operand.dtype().bytes())).fold(0, u64::saturating_add)
            }
            Work::Elements { .. } => {
                let of_operands = operands.map(|operand| bytes(operand.shape(), self.each(operand.dtype())));
                let of_results = out.iter().map(|out| bytes(&out.shape, self.each(out.dtype)));
                of_operands.chain(of_results).fold(0, u64::saturating_add)
            }
            Work::Of(bytes) => bytes(cx),
        }
    }

    /// The largest result, in bytes, that has room together with its own share of the work.
    pub fn result_within(self, room: u64, dtype: DType) -> u64 {
        let (result, work) = (u128::from(dtype.bytes().max(1)), u128::from(self.each(dtype)));
        (u128::from(room) * result / (result + work)) as u64
    }

    /// The bytes for each element.
    fn each(self, dtype: DType) -> u64 {
        match self {
            Work::None | Work::Broadcast | Work::Of(_) => 0,
            Work::Elements { float, .. } if dtype.is_float() => float * dtype.bytes().div_ceil(4),
            Work::Elements { other, .. } => other,
        }
    }
}

/// An evaluator's view of a call.
pub struct EvalCx<'a> {
    pub args: &'a [ArgValue],
    pub attrs: &'a [AttrValue],
    /// The types of the result's tensors, one for each field of a tuple. Shapes are those for the actual operands: if the program
    /// contains `?`, the relation has been run on the actual shapes. Empty if the shapes depend on data.
    pub out: &'a [OutTy],
    /// The largest size of a tensor, for results whose shape depends on data.
    pub max_bytes: u64,
}

/// An entry for each of `n` positions. Errors: E0803 for a table over a limit, or without memory.
pub(crate) fn table<T>(n: usize, max_bytes: u64, entry: impl FnMut(usize) -> T) -> Result<Vec<T>, Trap> {
    let mut entries = room(n, max_bytes)?;
    entries.extend((0..n).map(entry));
    Ok(entries)
}

/// An empty list with room for `n` entries. Errors: E0803, as [`table`].
pub(crate) fn room<T>(n: usize, max_bytes: u64) -> Result<Vec<T>, Trap> {
    let bytes = (n as u64).saturating_mul(size_of::<T>() as u64);
    let mut entries = vec![];
    if bytes > max_bytes.max(SMALL_TABLE) || entries.try_reserve_exact(n).is_err() {
        let message = format!("a table of {} positions takes {} bytes, which is too much", thousands(n as u64), thousands(bytes));
        return Err(Trap { help: Some("--max-memory sets another limit"), ..Trap::new(codes::E0803, message) });
    }
    Ok(entries)
}

/// The bytes of a table that every limit allows.
const SMALL_TABLE: u64 = 1 << 20;

impl EvalCx<'_> {
    pub(crate) fn tensor(&self, arg: usize) -> &Tensor {
        match &self.args[arg] {
            ArgValue::Tensor(tensor) => tensor,
            ArgValue::Tuple(_) => unreachable!("the relation required a tensor"),
        }
    }

    pub(crate) fn tuple(&self, arg: usize) -> &[Tensor] {
        match &self.args[arg] {
            ArgValue::Tuple(tensors) => tensors,
            ArgValue::Tensor(_) => unreachable!("the relation required a tuple"),
        }
    }

    /// Requires a tensor to be within the limit. Returns its bytes.
    pub fn check_size(&self, shape: &[usize], dtype: DType) -> Result<u64, Trap> {
        let dims: Option<Vec<i64>> = shape.iter().map(|&dim| i64::try_from(dim).ok()).collect();
        match dims.filter(|dims| can_be_held(dims)).and_then(|dims| checked_bytes(&dims, dtype)) {
            Some(bytes) if bytes <= self.max_bytes => Ok(bytes),
            Some(bytes) => Err(Trap::over_limit(&shape, bytes, self.max_bytes)),
            None => Err(Trap::new(codes::E0803, format!("a result of shape {shape:?} is too large"))),
        }
    }

    /// A tensor operand, converted as `cast` does.
    pub(crate) fn tensor_as(&self, arg: usize, dtype: DType) -> Result<Tensor, Trap> {
        self.tensor(arg).cast(dtype).ok_or_else(|| Trap::no_tensor(dtype))
    }

    /// The shape of a result that depends on data: requires valid dimensions, within the limit.
    pub(crate) fn actual_shape(&self, dims: &[i128], dtype: DType) -> Result<Vec<usize>, Trap> {
        let shape: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let shape = shape.filter(|shape| shape.len() <= MAX_RANK);
        let shape = shape.ok_or_else(|| Trap::new(codes::E0310, format!("no tensor can have the shape {dims:?}")))?;
        self.check_size(&shape, dtype)?;
        Ok(shape)
    }

    /// The type of the result; fails if the attributes leave it open.
    pub(crate) fn known_out(&self) -> Result<&OutTy, Trap> {
        self.out.first().ok_or_else(|| Trap::new(codes::E0506, "the attributes leave a dimension of the result open"))
    }

    pub(crate) fn out_shape(&self) -> &[usize] {
        &self.out[0].shape
    }

    pub(crate) fn out_dtype(&self) -> DType {
        self.out[0].dtype
    }

    /// Applies a function to each element of operand 0: `float` for float dtypes, `int` for the others.
    pub(crate) fn map(&self, float: impl Fn(f64) -> f64, int: impl Fn(i128) -> i128) -> EvalResult {
        Ok(self.tensor(0).map(float, int).into())
    }

    /// Applies a function to each pair of elements of operands 0 and 1, broadcast.
    pub(crate) fn zip(&self, float: impl Fn(f64, f64) -> f64, int: impl Fn(i128, i128) -> i128) -> EvalResult {
        Ok(self.tensor(0).zip(self.tensor(1), float, int).expect("the relation required broadcasting operands").into())
    }

    /// Compares operands 0 and 1, broadcast.
    pub(crate) fn compare(&self, float: impl Fn(f64, f64) -> bool, int: impl Fn(i128, i128) -> bool) -> EvalResult {
        Ok(self.tensor(0).compare(self.tensor(1), float, int).expect("the relation required broadcasting operands").into())
    }
}
