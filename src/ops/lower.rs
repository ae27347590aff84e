//! How a call becomes kernels: what an operator declares of it, for the plan.
//!
//! Operators say what is computed where in terms of their operands' own axes; how a tensor lies in memory is the plan's
//! business. An index of an axis is a sum of loop indices times constants ([`AxisMap`]). An operator that answers `None` for a
//! call has no kernel for it, and the plan falls back on its evaluation.

use crate::ir::attrs::AttrValue;
use crate::kernel::{Bin, Body, Cmp, Fold, Instr, Lane, ReduceDim, Routine, Stage, Store, Un, Val, View};
use crate::types::DType;
use std::sync::Arc;

/// A tensor of a call, its dimensions known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    pub shape: Vec<u64>,
    pub dtype: DType,
}

/// A call whose shapes are known.
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
    pub fn axis(&self, axis: i64, rank: usize) -> Option<usize> {
        usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok().filter(|&axis| axis < rank)
    }
}

/// The axis of the result that an operand, here by its number, runs along; it is broadcast where there is none.
pub type AxisOf = fn(&Call, usize) -> Option<usize>;

/// How a call becomes kernels.
pub enum Lower {
    /// Each element from those of the operands, broadcast.
    Scalar(fn(&mut Scalar) -> Option<Val>),
    /// As [`Lower::Scalar`], a division by operand 1: of integers a divisor of 0 is looked for before, and the call fails.
    Divided(fn(&mut Scalar) -> Option<Val>),
    /// As [`Lower::Scalar`]; an operand of rank 1 after the first runs along its axis of the result, if it is said to have one.
    Along(AxisOf, fn(&mut Scalar) -> Option<Val>),
    /// As [`Lower::Along`]; a routine where there is no body.
    AlongOr(AxisOf, fn(&mut Scalar) -> Option<Val>, fn(&Call) -> Option<Routine>),
    /// The elements of the first operand, seen otherwise. `None` where strides cannot say it.
    View(fn(&Call, &View) -> Option<View>),
    /// As [`Lower::View`], and the copy that is made where strides cannot say it.
    Move(fn(&Call, &View) -> Option<View>, fn(&Call) -> Option<Template>),
    /// As [`Lower::View`], with a view for each field of the result.
    Split(fn(&Call, &View) -> Option<Vec<View>>),
    /// The fields of the first operand, one after the other along this axis.
    Join(fn(&Call) -> Option<usize>),
    /// The fields of the first operand, side by side along a new axis.
    Stack(fn(&Call) -> Option<usize>),
    /// A loop nest.
    Nest(fn(&Call) -> Option<Template>),
    /// A routine, which computes the results from the operands, all of them without gaps.
    Routine(fn(&Call) -> Option<Routine>),
    /// As [`Lower::Nest`]; a routine where there is none.
    NestOr(fn(&Call) -> Option<Template>, fn(&Call) -> Option<Routine>),
    /// Sums of products, which together write each element of the result once.
    Product(fn(&Call) -> Option<Vec<Product>>),
    /// As [`Lower::Product`], of operands 0 and 1 without their zero points, operands 2 and 3: integers as wide as the result's,
    /// at least 32 bits. Those of operand 1 may run along this axis of it.
    Shifted(fn(&Call) -> Option<usize>, fn(&Call) -> Option<Vec<Product>>),
    /// As [`Lower::Product`]; a loop nest where each group has one column.
    Windows(fn(&Call) -> Option<Vec<Product>>, fn(&Call) -> Option<Template>),
}

/// The lane that holds an element, where a kernel can hold it.
pub fn lane(dtype: DType) -> Option<Lane> {
    Lane::of(dtype)
}

/// Whether products of two operands can be summed to a result: whether all are numbers.
pub fn multiplies(tensors: [&Tensor; 3]) -> bool {
    tensors.iter().all(|tensor| lane(tensor.dtype).is_some_and(|lane| lane != Lane::Bool))
}

/// The lane in which sums of a lane are taken: f16 and bf16 in F32; of integers the low bits are right in any that is as wide.
pub fn summing(lane: Lane) -> Lane {
    match lane {
        Lane::F16 | Lane::BF16 => Lane::F32,
        Lane::I8 | Lane::I16 | Lane::U8 | Lane::U16 | Lane::U32 => Lane::I32,
        _ => lane,
    }
}

/// A value of one lane as one of another.
pub fn converted(body: &mut Body, val: Val, from: Lane, to: Lane) -> Val {
    if from == to { val } else { body.un(Un::To(to), val) }
}

/// An element of a tensor as a constant of a body. The tensor is a scalar.
pub fn constant(body: &mut Body, scalar: &crate::tensor::Tensor) -> Option<Val> {
    let lane = lane(scalar.dtype())?;
    let bytes = scalar.to_le_bytes();
    let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    let bits = if lane == Lane::Bool { bits * u64::from(u32::MAX) } else { bits };
    Some(body.push(Instr::Const(bits, lane)))
}

/// Operand 0 less operand 1, both as numbers of the result's type.
pub fn without_zero_point(s: &mut Scalar) -> Option<Val> {
    let out = lane(s.call.out().dtype)?;
    let (x, zero) = (converted(s.body, s.args[0], s.lane(0)?, out), converted(s.body, s.args[1], s.lane(1)?, out));
    Some(s.body.bin(Bin::Sub, x, zero))
}

/// The elements of the first operand in order, under the result's shape.
pub const RESHAPE: Lower = Lower::View(|call, view| view.reshape(&call.out().shape));

/// What a scalar rule works with.
pub struct Scalar<'a> {
    pub call: &'a Call<'a>,
    pub body: &'a mut Body,
    /// The elements of the operands.
    pub args: &'a [Val],
}

impl Scalar<'_> {
    /// What operand `arg` holds.
    pub fn lane(&self, arg: usize) -> Option<Lane> {
        lane(self.call.arg(arg).dtype)
    }

    /// A function of operand 0, which is a float. Of f64 there are only those that need no approximation.
    pub fn float(&mut self, op: Un) -> Option<Val> {
        let exact =
            matches!(op, Un::Sqrt | Un::Abs | Un::Neg | Un::Floor | Un::Ceil | Un::Trunc | Un::RoundEven | Un::Round | Un::Sign);
        let lane = self.lane(0)?;
        (lane.is_float() && (exact || lane != Lane::F64)).then_some(())?;
        Some(self.body.un(op, self.args[0]))
    }

    /// A function of operands 0 and 1, which are floats. Of f64 there is what a machine has.
    pub fn floats(&mut self, op: Bin) -> Option<Val> {
        let lane = self.lane(0)?;
        (lane.is_float() && (lane != Lane::F64 || !matches!(op, Bin::Pow | Bin::Mod | Bin::FloorMod))).then_some(())?;
        Some(self.body.bin(op, self.args[0], self.args[1]))
    }

    /// A function of operands 0 and 1. Of bools, whose numbers are 0 and all but 0, it is one of bits.
    pub fn numbers(&mut self, op: Bin) -> Option<Val> {
        let op = match (self.lane(0)?, op) {
            (Lane::Bool, Bin::Add | Bin::Max) => Bin::Or,
            (Lane::Bool, Bin::Mul | Bin::Min) => Bin::And,
            (Lane::Bool, Bin::Sub) => Bin::Xor,
            (Lane::Bool, _) => return None,
            _ => op,
        };
        Some(self.body.bin(op, self.args[0], self.args[1]))
    }

    /// A division of operand 0 by operand 1: one function of floats, another of integers.
    pub fn divided(&mut self, float: Bin, int: Bin) -> Option<Val> {
        let lane = self.lane(0)?;
        if lane.is_float() {
            return self.floats(float);
        }
        lane.is_int().then_some(())?;
        Some(self.body.bin(int, self.args[0], self.args[1]))
    }

    /// Operands 0 and 1 compared.
    pub fn compare(&mut self, op: Cmp) -> Option<Val> {
        let args = [self.args[0], self.args[1]];
        let [x, y] = match self.lane(0)? {
            Lane::Bool => args.map(|arg| self.body.un(Un::BoolToInt, arg)),
            _ => args,
        };
        Some(self.body.cmp(op, x, y))
    }

    /// The size or the opposite of operand 0; a bool stays.
    pub fn number(&mut self, op: Un) -> Option<Val> {
        Some(if self.lane(0)? == Lane::Bool { self.args[0] } else { self.body.un(op, self.args[0]) })
    }

    /// A rounding of operand 0, which leaves an integer as it is.
    pub fn rounded(&mut self, op: Un) -> Option<Val> {
        match self.lane(0)? {
            lane if lane.is_float() => Some(self.body.un(op, self.args[0])),
            _ => Some(self.args[0]),
        }
    }

    /// A function of whether operands 0 and 1 hold, as a number of theirs.
    pub fn bools(&mut self, op: Bin) -> Option<Val> {
        let (x, y) = (self.truth(0)?, self.truth(1)?);
        let holds = self.body.bin(op, x, y);
        self.as_operand(holds)
    }

    /// A Bool as a number of operand 0's type.
    pub fn as_operand(&mut self, holds: Val) -> Option<Val> {
        Some(match self.lane(0)? {
            Lane::Bool => holds,
            lane => self.body.un(Un::To(lane), holds),
        })
    }

    /// A function of the bits of operands 0 and 1, which are bools or integers.
    pub fn bits(&mut self, op: Bin) -> Option<Val> {
        let lane = self.lane(0)?;
        (lane == Lane::Bool || lane.is_int()).then_some(())?;
        Some(self.body.bin(op, self.args[0], self.args[1]))
    }

    /// A shift of operand 0 by operand 1, which are integers: by no more than the width; from there on, and by less than 0, all
    /// that comes in is left.
    pub fn shifted(&mut self, left: bool) -> Option<Val> {
        let (width, signed) = self.lane(0)?.int_bits()?;
        let op = match (left, signed) {
            (true, _) => Bin::Shl,
            (false, true) => Bin::ShrSigned,
            (false, false) => Bin::ShrUnsigned,
        };
        let (x, by) = (self.args[0], self.args[1]);
        let (zero, width, last) = (self.like(0, 0.0)?, self.like(0, width.into())?, self.like(0, (width - 1).into())?);
        let (below, beyond) = (self.body.cmp(Cmp::Lt, by, zero), self.body.cmp(Cmp::Ge, by, width));
        let out = self.body.bin(Bin::Or, below, beyond);
        let by = self.body.select(out, zero, by);
        let inside = self.body.bin(op, x, by);
        let outside = if op == Bin::ShrSigned { self.body.bin(op, x, last) } else { zero };
        Some(self.body.select(out, outside, inside))
    }

    /// A number of the dtype of operand `arg`, as a constant of the program would be.
    pub fn like(&mut self, arg: usize, value: f64) -> Option<Val> {
        let scalar = crate::tensor::Tensor::full(self.call.arg(arg).dtype, &[], value)?;
        constant(self.body, &scalar)
    }

    /// Requires operand 0 to be a float.
    pub fn is_float(&self) -> Option<()> {
        self.lane(0)?.is_float().then_some(())
    }

    /// Whether operand `arg` holds, as a Bool: all but 0 does.
    pub fn truth(&mut self, arg: usize) -> Option<Val> {
        if self.lane(arg)? == Lane::Bool {
            return Some(self.args[arg]);
        }
        let zero = self.like(arg, 0.0)?;
        Some(self.body.cmp(Cmp::Ne, self.args[arg], zero))
    }
}

/// No kernel.
pub fn no_kernel(_: &mut Scalar) -> Option<Val> {
    None
}

/// An index of an axis: `offset + Σ coefficient · index` over dimensions of the loops, kept ones first, then the others.
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

    /// Always 0, for an axis of extent 1.
    pub fn zero() -> AxisMap {
        AxisMap::default()
    }

    /// The indices that `extents` allow: the least and the greatest.
    pub fn range(&self, extents: &[u64]) -> (i64, i64) {
        let mut range = (self.offset, self.offset);
        for &(dim, step) in &self.terms {
            let last = step * (extents[dim].max(1) as i64 - 1);
            range = (range.0 + last.min(0), range.1 + last.max(0));
        }
        range
    }
}

/// What a template reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A tensor of the operands, those of tuples counted one by one.
    Arg(usize),
    /// A result that an earlier stage stored.
    Out(usize),
    /// Numbers that follow from the types and attributes alone, in a row.
    Table(Table),
}

/// A vector known when the plan is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    pub dtype: DType,
    /// The elements, each in its low bits.
    pub bits: Arc<[u32]>,
}

impl Table {
    pub fn ints(values: impl IntoIterator<Item = i32>) -> Table {
        Table { dtype: DType::I32, bits: values.into_iter().map(|value| value as u32).collect() }
    }

    pub fn bools(values: impl IntoIterator<Item = bool>) -> Table {
        Table { dtype: DType::BOOL, bits: values.into_iter().map(u32::from).collect() }
    }

    pub fn floats(values: impl IntoIterator<Item = f32>) -> Table {
        Table { dtype: DType::F32, bits: values.into_iter().map(f32::to_bits).collect() }
    }
}

/// A read of a template: one index for each axis of what it reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    pub source: Source,
    pub axes: Vec<AxisMap>,
    /// To the indices of these axes come values, I32, of the stage that reads. With them they lie inside, whatever the data.
    pub picked: Vec<(usize, Val)>,
}

impl Read {
    pub fn of(source: Source, axes: Vec<AxisMap>) -> Read {
        Read { source, axes, picked: vec![] }
    }

    /// A table, where one index tells the place in it.
    pub fn table(table: Table, index: AxisMap) -> Read {
        Read::of(Source::Table(table), vec![index])
    }
}

/// What becomes of an index that is outside of its axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// It is the nearest inside.
    Nearest,
    /// It counts on from the other end.
    Round,
    /// It traps.
    Trap,
    /// It becomes -1.
    Nowhere,
}

/// An operand of indices of any integer dtype, which a template reads as positions inside of axes, I32.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Positions {
    pub arg: usize,
    /// The lengths of the axes, none of them 0; as many equal parts of the operand, one after the other, count along one each.
    pub lengths: Vec<u64>,
    pub outside: Outside,
}

/// A loop nest over the operands' own axes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Template {
    pub dims: Vec<u64>,
    pub reduce: Vec<ReduceDim>,
    pub reads: Vec<Read>,
    /// Stores name the field of the result.
    pub stages: Vec<Stage>,
    /// For each field of the result, an index for each of its axes.
    pub outs: Vec<Vec<AxisMap>>,
    /// The operands that are indices.
    pub positions: Vec<Positions>,
    /// Operands whose elements, in order, are read under other extents than their own.
    pub shapes: Vec<(usize, Vec<u64>)>,
}

impl Template {
    /// Each element of the result is one that this read finds, the loops being over `dims`.
    pub fn copy(dims: Vec<u64>, read: Read, out: Vec<AxisMap>) -> Template {
        let mut body = Body::new();
        let val = body.read(0);
        Template::each(dims, vec![read], body, val, out)
    }

    /// Each element of the result, which the loops go over, is a value of a body.
    pub fn finish(self, body: Body, val: Val) -> Option<Template> {
        let out = (0..self.dims.len()).map(AxisMap::of).collect();
        let stage = Stage { each: true, body, folds: vec![], stores: vec![Store { val, write: 0 }] };
        Some(Template { stages: vec![stage], outs: vec![out], ..self })
    }

    /// Each element of the result is the fold of what one read finds.
    pub fn folded(dims: Vec<u64>, reduce: Vec<ReduceDim>, reads: Vec<Read>, fold: Fold, out: Vec<AxisMap>) -> Template {
        let mut element = Body::new();
        let x = element.read(0);
        let folds = Stage { each: true, body: element, folds: vec![(x, fold)], stores: vec![] };
        let mut body = Body::new();
        let val = body.folded(0);
        let last = Stage { each: false, body, folds: vec![], stores: vec![Store { val, write: 0 }] };
        Template { dims, reduce, reads, stages: vec![folds, last], outs: vec![out], ..Template::default() }
    }

    /// Each element of the result is a value of a body.
    pub fn each(dims: Vec<u64>, reads: Vec<Read>, body: Body, val: Val, out: Vec<AxisMap>) -> Template {
        let stage = Stage { each: true, body, folds: vec![], stores: vec![Store { val, write: 0 }] };
        Template { dims, reads, stages: vec![stage], outs: vec![out], ..Template::default() }
    }
}

/// The loops over a shape of which some axes are reduced.
pub struct Rows {
    pub dims: Vec<u64>,
    pub reduce: Vec<ReduceDim>,
    /// The index of each axis of the shape.
    pub index: Vec<AxisMap>,
}

impl Rows {
    /// `axes` ascend.
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
    pub fn reduced(&self, axes: &[usize], keepdims: bool) -> Vec<AxisMap> {
        let axis = |axis: usize| match axes.contains(&axis) {
            true => keepdims.then(AxisMap::zero),
            false => Some(self.index[axis].clone()),
        };
        (0..self.index.len()).filter_map(axis).collect()
    }

    /// The position among the points that are reduced to one, in row-major order.
    pub fn position(&self) -> AxisMap {
        let mut step = 1;
        let mut terms = vec![];
        for (at, dim) in self.reduce.iter().enumerate().rev() {
            terms.push((self.dims.len() + at, step));
            step *= dim.extent as i64;
        }
        AxisMap { offset: 0, terms }
    }

    /// How many points are reduced to one.
    pub fn count(&self) -> u64 {
        self.reduce.iter().map(|dim| dim.extent).product()
    }
}

/// A sum of products. The dimensions of its loops are the groups, the points, the columns' blocks, the columns inside a block, then those of the sum.
#[derive(Clone, PartialEq, Debug)]
pub struct Product {
    pub groups: u64,
    pub points: Vec<u64>,
    /// Blocks, and columns in a block.
    pub columns: [u64; 2],
    pub sum: Vec<u64>,
    /// Indices outside of the operand are elements that are 0.
    pub data: Vec<AxisMap>,
    pub weight: Vec<AxisMap>,
    pub out: Vec<AxisMap>,
    /// Which operand is the data; the other is the weight.
    pub data_arg: usize,
    /// Each column is a sum over its own column of the data.
    pub depthwise: bool,
}

impl Product {
    /// The same as a loop nest, for lanes that sums of products have no kernel for: both operands become numbers of the result's
    /// type, whose products are summed.
    pub fn nest(&self, lanes: [Lane; 2], out: Lane) -> Template {
        let reads = vec![
            Read::of(Source::Arg(self.data_arg), self.data.clone()),
            Read::of(Source::Arg(1 - self.data_arg), self.weight.clone()),
        ];
        let (summing, mut body) = (summing(out), Body::new());
        let mut factor = |read: usize, lane: Lane| {
            let val = body.read(read);
            let val = converted(&mut body, val, lane, out);
            converted(&mut body, val, out, summing)
        };
        let (x, w) = (factor(0, lanes[self.data_arg]), factor(1, lanes[1 - self.data_arg]));
        let product = body.bin(Bin::Mul, x, w);
        let folds = Stage { each: true, body, folds: vec![(product, Fold::Sum)], stores: vec![] };
        let mut body = Body::new();
        let val = body.folded(0);
        let val = converted(&mut body, val, summing, out);
        let last = Stage { each: false, body, folds: vec![], stores: vec![Store { val, write: 0 }] };
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

    /// The number of the first dimension of the points, of the columns, of the sum.
    pub fn first(&self) -> (usize, usize, usize) {
        (1, 1 + self.points.len(), 3 + self.points.len())
    }

    /// The extents of all dimensions.
    pub fn extents(&self) -> Vec<u64> {
        let mut extents = vec![self.groups];
        extents.extend(&self.points);
        extents.extend(self.columns);
        extents.extend(&self.sum);
        extents
    }
}
