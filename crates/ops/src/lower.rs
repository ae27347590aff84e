//! Lowering: an operator declares for the plan how its calls become kernels.
//!
//! Operators declare computations on their operands' own axes; the plan decides how tensors lie in memory. An index of an axis is
//! a sum of loop indices times constants ([`AxisMap`]). An operator that returns `None` for a call has no kernel for it, and the
//! plan falls back on its evaluation.

use relayc_ir::attrs::AttrValue;
use relayc_ir::kernel::{
    BinaryOp, Body, Clip, Cmp, Instr, ReduceDim, Reduction, Routine, ScalarType, Stage, Store, UnaryOp, Val, View,
};
use relayc_ir::types::DType;
use std::sync::Arc;

/// A tensor of a call, with known dimensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    pub shape: Vec<u64>,
    pub dtype: DType,
}

/// A call with known shapes.
pub struct Call<'a> {
    pub attrs: &'a [AttrValue],
    /// The tensors of each operand: one, or the fields of a tuple.
    pub args: &'a [Vec<Tensor>],
    /// The tensors of the result.
    pub outs: &'a [Tensor],
}

impl Call<'_> {
    /// The first tensor of an operand.
    pub fn arg(&self, arg: usize) -> &Tensor {
        &self.args[arg][0]
    }

    pub fn out(&self) -> &Tensor {
        &self.outs[0]
    }

    /// An axis counted from the end where negative.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Option<usize> {
        usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok().filter(|&axis| axis < rank)
    }
}

/// The axis of the result along which an operand, given by its number, runs; `None` if it is broadcast.
pub(crate) type AxisOf = fn(&Call, usize) -> Option<usize>;

/// Writes the body of an element; `None` if it has no kernel.
pub type LowerScalar = fn(&mut Scalar) -> Option<Val>;

/// How many elements lie before and after a tensor along each axis.
pub type MarginsOf = fn(&Call) -> Option<Vec<(u64, u64)>>;

/// How a call is lowered to kernels.
pub enum Lower {
    /// Computes each element from those of the operands, broadcast.
    Scalar(LowerScalar),
    /// As [`Lower::Scalar`], for a division by operand 1. Integer divisors are checked for 0 first, and the call fails on 0.
    Divided(LowerScalar),
    /// As [`Lower::Scalar`]; an operand of rank 1 after the first runs along the given axis of the result, if any.
    Along(AxisOf, LowerScalar),
    /// As [`Lower::Along`], with a routine as the alternative to a body.
    AlongOr(AxisOf, LowerScalar, fn(&Call) -> Option<Routine>),
    /// A view of the first operand. `None` if strides cannot express it.
    View(fn(&Call, &View) -> Option<View>),
    /// As [`Lower::View`], with a copy for calls that strides cannot express.
    Move(fn(&Call, &View) -> Option<View>, fn(&Call) -> Option<Template>),
    /// The bits of the first operand as elements of the result's dtype, of the same width.
    Reinterpret,
    /// As [`Lower::View`], with a view for each field of the result.
    Split(fn(&Call, &View) -> Option<Vec<View>>),
    /// Joins the fields of the first operand along this axis.
    Join(fn(&Call) -> Option<usize>),
    /// Stacks the fields of the first operand along a new axis.
    Stack(fn(&Call) -> Option<usize>),
    Nest(fn(&Call) -> Option<Template>),
    /// The first operand within so many elements of the second, by axis before and after it, if that is a constant; else a loop nest.
    Padded(MarginsOf, fn(&Call) -> Option<Template>),
    /// A loop nest for the field of the result with this number.
    Nests(fn(&Call, usize) -> Option<Template>),
    /// A routine that computes the results from dense operands.
    Routine(fn(&Call) -> Option<Routine>),
    /// As [`Lower::Nest`], with a routine as the alternative.
    NestOr(fn(&Call) -> Option<Template>, fn(&Call) -> Option<Routine>),
    /// Contractions that together write each element of the result once.
    Product(fn(&Call) -> Option<Vec<Product>>),
    /// As [`Lower::Product`], of operands 0 and 1 minus their zero points, operands 2 and 3. They become integers as wide as the
    /// result, of at least 32 bits. The zero points of operand 1 may run along the given axis of it.
    Shifted(fn(&Call) -> Option<usize>, fn(&Call) -> Option<Vec<Product>>),
    /// As [`Lower::Product`], with a loop nest for groups of one column.
    Windows(fn(&Call) -> Option<Vec<Product>>, fn(&Call) -> Option<Template>),
}

impl Lower {
    /// Whether each element is computed from those of the operands, broadcast.
    pub fn is_by_elements(&self) -> bool {
        matches!(self, Lower::Scalar(_) | Lower::Divided(_))
    }
}

/// The lane type for an element, if kernels support it.
pub fn lane(dtype: DType) -> Option<ScalarType> {
    ScalarType::of(dtype)
}

/// Whether a contraction can multiply two operands and sum to a result: all must be numbers.
pub(crate) fn multiplies(tensors: [&Tensor; 3]) -> bool {
    tensors.iter().all(|tensor| lane(tensor.dtype).is_some_and(|lane| lane != ScalarType::Bool))
}

/// The lane type for sums: F32 for f16 and bf16. Integers need no more bits, because the low bits of a sum are exact.
pub(crate) fn summing(lane: ScalarType) -> ScalarType {
    match lane {
        ScalarType::F16 | ScalarType::BF16 => ScalarType::F32,
        ScalarType::I8 | ScalarType::I16 | ScalarType::U8 | ScalarType::U16 | ScalarType::U32 => ScalarType::I32,
        _ => lane,
    }
}

/// Converts a value from one lane type to another.
pub(crate) fn converted(body: &mut Body, val: Val, from: ScalarType, to: ScalarType) -> Val {
    if from == to { val } else { body.un(UnaryOp::To(to), val) }
}

/// Makes a scalar tensor a constant of a body.
pub fn constant(body: &mut Body, scalar: &relayc_ir::tensor::Tensor) -> Option<Val> {
    let lane = lane(scalar.dtype())?;
    let bytes = scalar.to_le_bytes();
    let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    let bits = if lane == ScalarType::Bool { bits * u64::from(u32::MAX) } else { bits };
    Some(body.push(Instr::Const(bits, lane)))
}

/// Operand 0 minus operand 1, both converted to the result's type.
pub fn without_zero_point(s: &mut Scalar) -> Option<Val> {
    let out = lane(s.call.out().dtype)?;
    let (x, zero) = (converted(s.body, s.args[0], s.lane(0)?, out), converted(s.body, s.args[1], s.lane(1)?, out));
    Some(s.body.bin(BinaryOp::Sub, x, zero))
}

/// Reshapes the first operand to the result's shape.
pub(crate) const RESHAPE: Lower = Lower::View(|call, view| view.reshape(&call.out().shape));

/// The context of a scalar rule.
pub struct Scalar<'a> {
    pub call: &'a Call<'a>,
    pub body: &'a mut Body,
    /// The elements of the operands.
    pub args: &'a [Val],
}

impl Scalar<'_> {
    /// The lane type of operand `arg`.
    pub(crate) fn lane(&self, arg: usize) -> Option<ScalarType> {
        lane(self.call.arg(arg).dtype)
    }

    /// Applies a function to operand 0, a float. f64 supports functions that reduce no argument by π, and no error function.
    pub(crate) fn float(&mut self, op: UnaryOp) -> Option<Val> {
        let lane = self.lane(0)?;
        let has_f64 = !matches!(op, UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan | UnaryOp::Erf);
        (lane.is_float() && (has_f64 || lane != ScalarType::F64)).then_some(())?;
        Some(self.body.un(op, self.args[0]))
    }

    /// Applies a function to operands 0 and 1, floats. f64 supports only functions with machine instructions.
    pub(crate) fn floats(&mut self, op: BinaryOp) -> Option<Val> {
        let lane = self.lane(0)?;
        (lane.is_float() && (lane != ScalarType::F64 || !matches!(op, BinaryOp::Pow | BinaryOp::Mod | BinaryOp::FloorMod)))
            .then_some(())?;
        Some(self.body.bin(op, self.args[0], self.args[1]))
    }

    /// Applies a function to operands 0 and 1. For bools it becomes a bitwise function.
    pub(crate) fn numbers(&mut self, op: BinaryOp) -> Option<Val> {
        let op = match (self.lane(0)?, op) {
            (ScalarType::Bool, BinaryOp::Add | BinaryOp::Max) => BinaryOp::Or,
            (ScalarType::Bool, BinaryOp::Mul | BinaryOp::Min) => BinaryOp::And,
            (ScalarType::Bool, BinaryOp::Sub) => BinaryOp::Xor,
            (ScalarType::Bool, _) => return None,
            _ => op,
        };
        Some(self.body.bin(op, self.args[0], self.args[1]))
    }

    /// Divides operand 0 by operand 1, with one function for floats and another for integers.
    pub(crate) fn divided(&mut self, float: BinaryOp, int: BinaryOp) -> Option<Val> {
        let lane = self.lane(0)?;
        if lane.is_float() {
            return self.floats(float);
        }
        lane.is_int().then_some(())?;
        Some(self.body.bin(int, self.args[0], self.args[1]))
    }

    /// Compares operands 0 and 1.
    pub(crate) fn compare(&mut self, op: Cmp) -> Option<Val> {
        let args = [self.args[0], self.args[1]];
        let [x, y] = match self.lane(0)? {
            ScalarType::Bool => args.map(|arg| self.body.un(UnaryOp::BoolToInt, arg)),
            _ => args,
        };
        Some(self.body.cmp(op, x, y))
    }

    /// Applies `abs` or negation to operand 0; a bool stays unchanged.
    pub(crate) fn number(&mut self, op: UnaryOp) -> Option<Val> {
        Some(if self.lane(0)? == ScalarType::Bool { self.args[0] } else { self.body.un(op, self.args[0]) })
    }

    /// Rounds operand 0; an integer stays unchanged.
    pub(crate) fn rounded(&mut self, op: UnaryOp) -> Option<Val> {
        match self.lane(0)? {
            lane if lane.is_float() => Some(self.body.un(op, self.args[0])),
            _ => Some(self.args[0]),
        }
    }

    /// Applies a function to the truth values of operands 0 and 1; the result has their type.
    pub(crate) fn bools(&mut self, op: BinaryOp) -> Option<Val> {
        let (x, y) = (self.truth(0)?, self.truth(1)?);
        let holds = self.body.bin(op, x, y);
        self.as_operand(holds)
    }

    /// Converts a Bool to operand 0's type.
    pub(crate) fn as_operand(&mut self, holds: Val) -> Option<Val> {
        Some(match self.lane(0)? {
            ScalarType::Bool => holds,
            lane => self.body.un(UnaryOp::To(lane), holds),
        })
    }

    /// Applies a bitwise function to operands 0 and 1, bools or integers.
    pub(crate) fn bits(&mut self, op: BinaryOp) -> Option<Val> {
        let lane = self.lane(0)?;
        (lane == ScalarType::Bool || lane.is_int()).then_some(())?;
        Some(self.body.bin(op, self.args[0], self.args[1]))
    }

    /// Shifts operand 0 by operand 1, both integers. A negative amount, or one of at least the width, leaves only the bits
    /// shifted in.
    pub(crate) fn shifted(&mut self, left: bool) -> Option<Val> {
        let (width, signed) = self.lane(0)?.int_bits()?;
        let op = match (left, signed) {
            (true, _) => BinaryOp::Shl,
            (false, true) => BinaryOp::ShrSigned,
            (false, false) => BinaryOp::ShrUnsigned,
        };
        let (x, by) = (self.args[0], self.args[1]);
        let (zero, width, last) = (self.like(0, 0.0)?, self.like(0, width.into())?, self.like(0, (width - 1).into())?);
        let (below, beyond) = (self.body.cmp(Cmp::Lt, by, zero), self.body.cmp(Cmp::Ge, by, width));
        let out = self.body.bin(BinaryOp::Or, below, beyond);
        let by = self.body.select(out, zero, by);
        let inside = self.body.bin(op, x, by);
        let outside = if op == BinaryOp::ShrSigned { self.body.bin(op, x, last) } else { zero };
        Some(self.body.select(out, outside, inside))
    }

    /// A constant with the dtype of operand `arg`.
    pub(crate) fn like(&mut self, arg: usize, value: f64) -> Option<Val> {
        let scalar = relayc_ir::tensor::Tensor::full(self.call.arg(arg).dtype, &[], value)?;
        constant(self.body, &scalar)
    }

    /// Requires operand 0 to be a float.
    pub(crate) fn is_float(&self) -> Option<()> {
        self.lane(0)?.is_float().then_some(())
    }

    /// The truth value of operand `arg`, as a Bool: true unless it is 0.
    pub(crate) fn truth(&mut self, arg: usize) -> Option<Val> {
        if self.lane(arg)? == ScalarType::Bool {
            return Some(self.args[arg]);
        }
        let zero = self.like(arg, 0.0)?;
        Some(self.body.cmp(Cmp::Ne, self.args[arg], zero))
    }
}

/// An index of an axis: `offset + Σ coefficient · index` over the dimensions of the loops, kept ones first, then reduced ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AxisMap {
    pub offset: i64,
    pub terms: Vec<(usize, i64)>,
}

impl AxisMap {
    /// The index of one dimension.
    pub fn of(dim: usize) -> AxisMap {
        AxisMap { offset: 0, terms: vec![(dim, 1)] }
    }

    /// The index 0, for an axis of extent 1.
    pub(crate) fn zero() -> AxisMap {
        AxisMap::default()
    }

    /// The least and the greatest index for loops of these extents. The result is limited to 2^41, which no tensor's length
    /// reaches.
    pub fn range(&self, extents: &[u64]) -> (i64, i64) {
        let mut range = (i128::from(self.offset), i128::from(self.offset));
        for &(dim, step) in &self.terms {
            let last = i128::from(step) * (i128::from(extents[dim].max(1)) - 1);
            range = (range.0 + last.min(0), range.1 + last.max(0));
        }
        let limited = |index: i128| index.clamp(-(1 << 41), 1 << 41) as i64;
        (limited(range.0), limited(range.1))
    }

    /// The same index into an axis of this length. `None` if it leaves the axis by more than [`FAR`], because positions in memory
    /// could overflow. The step of a dimension with a single position becomes 1.
    fn near(&self, length: u64, extents: &[u64]) -> Option<AxisMap> {
        let far = length.saturating_add(FAR);
        let is_far = |step: i64| step.unsigned_abs() > far;
        let terms = self.terms.iter().map(|&(dim, step)| (dim, if extents[dim] <= 1 && is_far(step) { 1 } else { step }));
        let map = AxisMap { offset: self.offset, terms: terms.collect() };
        let (least, most) = map.range(extents);
        (!is_far(least) && !is_far(most) && !is_far(self.offset)).then_some(map)
    }
}

/// How far a kernel's index may leave an operand. Padding is shorter, but an attribute can be any number.
const FAR: u64 = 1 << 28;

/// Applies [`AxisMap::near`] to the index of every axis of a shape. `None` also unless every axis has one index.
fn all_near(maps: &[AxisMap], shape: &[u64], extents: &[u64]) -> Option<Vec<AxisMap>> {
    (maps.len() == shape.len()).then_some(())?;
    maps.iter().zip(shape).map(|(map, &length)| map.near(length, extents)).collect()
}

/// The source of a template's read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A tensor operand; fields of tuples count one by one.
    Arg(usize),
    /// A result that an earlier stage stored.
    Out(usize),
    /// A vector of numbers that depend on types and attributes alone.
    Table(Table),
}

/// The longest table. A longer one would cost more memory than the kernel is worth, and the evaluation needs none.
const LONGEST_TABLE: u64 = 1 << 22;

/// Checks the length of a table before it is made.
pub(crate) fn tabled(n: u64) -> Option<()> {
    (n <= LONGEST_TABLE).then_some(())
}

/// A vector known at planning time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    pub dtype: DType,
    /// The elements, each in its low bits.
    pub bits: Arc<[u32]>,
}

impl Table {
    pub(crate) fn ints(values: impl IntoIterator<Item = i32>) -> Table {
        Table { dtype: DType::I32, bits: values.into_iter().map(|value| value as u32).collect() }
    }

    pub(crate) fn bools(values: impl IntoIterator<Item = bool>) -> Table {
        Table { dtype: DType::BOOL, bits: values.into_iter().map(u32::from).collect() }
    }

    pub fn floats(values: impl IntoIterator<Item = f32>) -> Table {
        Table { dtype: DType::F32, bits: values.into_iter().map(f32::to_bits).collect() }
    }
}

/// A read of a template, with one index for each axis of its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    pub source: Source,
    pub axes: Vec<AxisMap>,
    /// Gathers: I32 values of the reading stage that are added to the indices of these axes. The sums are in range for any data.
    pub picked: Vec<(usize, Val)>,
}

impl Read {
    pub fn of(source: Source, axes: Vec<AxisMap>) -> Read {
        Read { source, axes, picked: vec![] }
    }

    /// Reads a table at an index.
    pub fn table(table: Table, index: AxisMap) -> Read {
        Read::of(Source::Table(table), vec![index])
    }
}

/// How an index out of range is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexMode {
    /// Clamps it to the range.
    Nearest,
    /// Wraps it around.
    Round,
    /// It traps.
    Trap,
    /// Replaces it by -1.
    Nowhere,
}

/// An operand with indices of any integer dtype, which a template reads as I32 positions on axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Positions {
    pub arg: usize,
    /// The lengths of the axes, none of them 0. The operand consists of as many equal consecutive parts, one for each axis.
    pub lengths: Vec<u64>,
    pub outside: IndexMode,
}

/// A loop nest over the operands' own axes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Template {
    pub dims: Vec<u64>,
    pub reduce: Vec<ReduceDim>,
    pub reads: Vec<Read>,
    /// The stages; stores name the field of the result.
    pub stages: Vec<Stage>,
    /// For each field of the result, an index for each of its axes.
    pub outs: Vec<Vec<AxisMap>>,
    /// The operands that hold indices.
    pub positions: Vec<Positions>,
    /// Operands that are read under other extents, with their elements in order.
    pub shapes: Vec<(usize, Vec<u64>)>,
}

impl Template {
    /// The same loops; `None` if an index leaves an operand of the call by more than [`FAR`].
    pub fn near(mut self, call: &Call) -> Option<Template> {
        let extents: Vec<u64> = self.dims.iter().copied().chain(self.reduce.iter().map(|dim| dim.extent)).collect();
        let args: Vec<&Tensor> = call.args.iter().flatten().collect();
        for read in &mut self.reads {
            let shape = match &read.source {
                Source::Arg(arg) => match self.shapes.iter().find(|(own, _)| own == arg) {
                    Some((_, shape)) => shape,
                    None => &args.get(*arg)?.shape,
                },
                Source::Out(out) => &call.outs.get(*out)?.shape,
                Source::Table(table) => &vec![table.bits.len() as u64],
            };
            read.axes = all_near(&read.axes, shape, &extents)?;
        }
        for (maps, out) in self.outs.iter_mut().zip(call.outs) {
            *maps = all_near(maps, &out.shape, &extents)?;
        }
        for dim in &mut self.reduce {
            let Some(Clip { dim: kept, stride, dilation, before, size }) = dim.clip else { continue };
            let terms = vec![(0, stride), (1, dilation)];
            let map = AxisMap { offset: before.checked_neg()?, terms }.near(size as u64, &[extents[kept], dim.extent])?;
            dim.clip = Some(Clip { dim: kept, stride: map.terms[0].1, dilation: map.terms[1].1, before, size });
        }
        Some(self)
    }

    /// Copies the elements that a read finds, with loops over `dims`.
    pub(crate) fn copy(dims: Vec<u64>, read: Read, out: Vec<AxisMap>) -> Template {
        let mut body = Body::new();
        let val = body.read(0);
        Template::each(dims, vec![read], body, val, out)
    }

    /// Stores a value of a body at each element of the result, with loops over the result.
    pub(crate) fn finish(self, body: Body, val: Val) -> Option<Template> {
        let out = (0..self.dims.len()).map(AxisMap::of).collect();
        let stage = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
        Some(Template { stages: vec![stage], outs: vec![out], ..self })
    }

    /// Stores the reduction of one read at each element of the result.
    pub(crate) fn folded(
        dims: Vec<u64>,
        reduce: Vec<ReduceDim>,
        reads: Vec<Read>,
        fold: Reduction,
        out: Vec<AxisMap>,
    ) -> Template {
        let mut element = Body::new();
        let x = element.read(0);
        let folds = Stage { each: true, body: element, reductions: vec![(x, fold)], stores: vec![] };
        let mut body = Body::new();
        let val = body.folded(0);
        let last = stored(body, val);
        Template { dims, reduce, reads, stages: vec![folds, last], outs: vec![out], ..Template::default() }
    }

    /// Stores a value of a body at each element of the result.
    pub(crate) fn each(dims: Vec<u64>, reads: Vec<Read>, body: Body, val: Val, out: Vec<AxisMap>) -> Template {
        let stage = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
        Template { dims, reads, stages: vec![stage], outs: vec![out], ..Template::default() }
    }
}

/// Stores a value once, after the reductions.
pub(crate) fn stored(body: Body, val: Val) -> Stage {
    Stage { each: false, body, reductions: vec![], stores: vec![Store { val, write: 0 }] }
}

/// Loops over a shape with some reduced axes.
pub struct Rows {
    pub dims: Vec<u64>,
    pub reduce: Vec<ReduceDim>,
    /// The index of each axis of the shape.
    pub index: Vec<AxisMap>,
}

impl Rows {
    /// Reads each element of operand 0, and more, for one result.
    pub(crate) fn nest(self, more: Vec<Read>, stages: Vec<Stage>, out: Vec<AxisMap>) -> Template {
        let reads = [Read::of(Source::Arg(0), self.index)].into_iter().chain(more).collect();
        Template { dims: self.dims, reduce: self.reduce, reads, stages, outs: vec![out], ..Template::default() }
    }

    /// Builds the loops; `axes` must ascend.
    pub fn new(shape: &[u64], axes: &[usize]) -> Rows {
        let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        let mut index = vec![AxisMap::zero(); shape.len()];
        for (dim, &axis) in kept.iter().chain(axes).enumerate() {
            index[axis] = AxisMap::of(dim);
        }
        Rows {
            dims: kept.iter().map(|&axis| shape[axis]).collect(),
            reduce: axes.iter().map(|&axis| ReduceDim { extent: shape[axis], clip: None }).collect(),
            index,
        }
    }

    /// The index of a result that keeps reduced axes with extent 1, or drops them.
    pub(crate) fn reduced(&self, axes: &[usize], keepdims: bool) -> Vec<AxisMap> {
        let axis = |axis: usize| match axes.contains(&axis) {
            true => keepdims.then(AxisMap::zero),
            false => Some(self.index[axis].clone()),
        };
        (0..self.index.len()).filter_map(axis).collect()
    }

    /// The position among the reduced points, in row-major order.
    pub(crate) fn position(&self) -> AxisMap {
        let mut step = 1;
        let mut terms = vec![];
        for (at, dim) in self.reduce.iter().enumerate().rev() {
            terms.push((self.dims.len() + at, step));
            step *= dim.extent as i64;
        }
        AxisMap { offset: 0, terms }
    }

    /// The number of reduced points.
    pub(crate) fn count(&self) -> u64 {
        self.reduce.iter().map(|dim| dim.extent).product()
    }
}

/// A contraction. Its loops run over the groups, the points, the blocks of columns, the columns inside a block, and the
/// dimensions of the sum, in this order.
#[derive(Clone, PartialEq, Debug)]
pub struct Product {
    pub groups: u64,
    pub points: Vec<u64>,
    /// Blocks, and columns in a block.
    pub columns: [u64; 2],
    pub sum: Vec<u64>,
    /// The index of each axis of the data; elements out of range are 0.
    pub data: Vec<AxisMap>,
    pub weight: Vec<AxisMap>,
    pub out: Vec<AxisMap>,
    /// The operand that is the data; the other is the weight.
    pub data_arg: usize,
    /// Whether each column is a sum over its own column of the data.
    pub depthwise: bool,
}

impl Product {
    /// The same contractions; `None` if an index leaves an operand of the call by more than [`FAR`].
    pub fn near(products: Vec<Product>, call: &Call) -> Option<Vec<Product>> {
        let near = |product: Product| {
            let extents = product.extents();
            let (data, weight) = (call.arg(product.data_arg), call.arg(1 - product.data_arg));
            let data = all_near(&product.data, &data.shape, &extents)?;
            let weight = all_near(&product.weight, &weight.shape, &extents)?;
            let out = all_near(&product.out, &call.out().shape, &extents)?;
            Some(Product { data, weight, out, ..product })
        };
        products.into_iter().map(near).collect()
    }

    /// The contraction as a loop nest, for lane types without a contraction kernel. It converts both operands to the result's
    /// type and sums their products.
    pub fn nest(&self, lanes: [ScalarType; 2], out: ScalarType) -> Template {
        let reads = vec![
            Read::of(Source::Arg(self.data_arg), self.data.clone()),
            Read::of(Source::Arg(1 - self.data_arg), self.weight.clone()),
        ];
        let (summing, mut body) = (summing(out), Body::new());
        let mut factor = |read: usize, lane: ScalarType| {
            let val = body.read(read);
            let val = converted(&mut body, val, lane, out);
            converted(&mut body, val, out, summing)
        };
        let (x, w) = (factor(0, lanes[self.data_arg]), factor(1, lanes[1 - self.data_arg]));
        let product = body.bin(BinaryOp::Mul, x, w);
        let folds = Stage { each: true, body, reductions: vec![(product, Reduction::Sum)], stores: vec![] };
        let mut body = Body::new();
        let val = body.folded(0);
        let val = converted(&mut body, val, summing, out);
        let last = stored(body, val);
        let extents = self.extents();
        let (_, _, first_sum) = self.first();
        let reduce = self.sum.iter().map(|&extent| ReduceDim { extent, clip: None }).collect();
        Template {
            dims: extents[..first_sum].to_vec(),
            reduce,
            reads,
            stages: vec![folds, last],
            outs: vec![self.out.clone()],
            ..Template::default()
        }
    }

    /// The indices of the first dimension of the points, of the columns, and of the sum.
    pub fn first(&self) -> (usize, usize, usize) {
        (1, 1 + self.points.len(), 3 + self.points.len())
    }

    pub fn extents(&self) -> Vec<u64> {
        let mut extents = vec![self.groups];
        extents.extend(&self.points);
        extents.extend(self.columns);
        extents.extend(&self.sum);
        extents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_has_one_index() {
        let tensor = Tensor { shape: vec![2, 3], dtype: DType::F32 };
        let call = Call { attrs: &[], args: &[vec![tensor.clone()]], outs: &[tensor] };
        let is_near = |read: &[usize], out: &[usize]| {
            let maps = |axes: &[usize]| axes.iter().map(|&dim| AxisMap::of(dim)).collect();
            Template::copy(vec![2, 3], Read::of(Source::Arg(0), maps(read)), maps(out)).near(&call).is_some()
        };
        assert!(is_near(&[0, 1], &[0, 1]));
        assert!(!is_near(&[0], &[0, 1]) && !is_near(&[0, 1, 1], &[0, 1]) && !is_near(&[0, 1], &[0]));
    }
}
