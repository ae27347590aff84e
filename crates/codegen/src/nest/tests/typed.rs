//! Compares random nests on elements of every type with the interpreter's arithmetic.

use super::*;
use relayc_ir::kernel::Instr;
use relayc_ir::tensor::{Tensor, float_max, float_min};

const LANES: [ScalarType; 13] = [
    ScalarType::F32,
    ScalarType::I32,
    ScalarType::Bool,
    ScalarType::I8,
    ScalarType::I16,
    ScalarType::I64,
    ScalarType::U8,
    ScalarType::U16,
    ScalarType::U32,
    ScalarType::U64,
    ScalarType::F16,
    ScalarType::BF16,
    ScalarType::F64,
];

/// An element as bytes, sometimes a corner case of its type.
pub(super) fn element(rng: &mut Rng, dtype: DType) -> Vec<u8> {
    let corner = rng.u8(..10) == 0;
    let value = match rng.u8(..4) {
        _ if !corner && dtype.is_float() => Tensor::scalar(f64::from(rng.f32()) * 8.0 - 4.0),
        _ if !corner => Tensor::scalar(rng.i64(-60..60)),
        0 => Tensor::scalar([f64::NAN, f64::INFINITY, -0.0, 1e30, -1e30, 70_000.0][rng.usize(..6)]),
        1 => Tensor::scalar(i64::MIN),
        2 => Tensor::scalar(u64::MAX),
        _ => Tensor::scalar(rng.i64(..)),
    };
    value.cast(dtype).expect("a number of any type").to_le_bytes()
}

fn scalar(lane: ScalarType, value: f64) -> Tensor {
    Tensor::full(dtype(lane), &[], value).expect("a number of any type")
}

fn constant(body: &mut Body, lane: ScalarType, value: f64) -> Val {
    let bytes = scalar(lane, value).to_le_bytes();
    let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    body.push(Instr::Const(if lane == ScalarType::Bool { bits * u64::from(u32::MAX) } else { bits }, lane))
}

/// Appends `length` random instructions on existing values.
fn grow(rng: &mut Rng, body: &mut Body, reads: &[ScalarType], length: usize) {
    const DIVISIONS: [BinaryOp; 4] = [BinaryOp::TruncDiv, BinaryOp::Mod, BinaryOp::FloorDiv, BinaryOp::FloorMod];
    for _ in 0..length {
        let lanes = body.lanes(reads);
        let x = rng.usize(..lanes.len());
        let lane = lanes[x];
        let same: Vec<usize> = (0..lanes.len()).filter(|&at| lanes[at] == lane).collect();
        let (x, y) = (Val(x as u32), Val(same[rng.usize(..same.len())] as u32));
        let comparison = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge][rng.usize(..6)];
        let float_ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min, BinaryOp::Div];
        let int_ops = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Max,
            BinaryOp::Min,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
        ];
        let float_uns = [
            UnaryOp::Neg,
            UnaryOp::Abs,
            UnaryOp::Floor,
            UnaryOp::Ceil,
            UnaryOp::Trunc,
            UnaryOp::Sqrt,
            UnaryOp::Round,
            UnaryOp::Sign,
        ];
        let bools: Vec<usize> = (0..lanes.len()).filter(|&at| lanes[at] == ScalarType::Bool).collect();
        match rng.u8(..9) {
            0 | 1 => {
                body.un(UnaryOp::To(LANES[rng.usize(..13)]), x);
            }
            2 if lane != ScalarType::Bool => {
                body.cmp(comparison, x, y);
            }
            3 if !bools.is_empty() => {
                body.select(Val(bools[rng.usize(..bools.len())] as u32), x, y);
            }
            4 if lane.is_int() => {
                let one = constant(body, lane, 1.0);
                let divisor = body.bin(BinaryOp::Or, y, one);
                body.bin(DIVISIONS[rng.usize(..4)], x, divisor);
            }
            5 if lane.is_int() => {
                let (bits, signed) = lane.int_bits().expect("an integer");
                let by = constant(body, lane, rng.u32(..bits).into());
                let right = if signed { BinaryOp::ShrSigned } else { BinaryOp::ShrUnsigned };
                body.bin([BinaryOp::Shl, right][rng.usize(..2)], x, by);
            }
            6 if lane.is_float() => {
                body.un(float_uns[rng.usize(..8)], x);
            }
            6 if lane.is_int() => {
                body.un([UnaryOp::Neg, UnaryOp::Abs][rng.usize(..2)], x);
            }
            _ if lane == ScalarType::Bool => {
                body.bin([BinaryOp::And, BinaryOp::Or, BinaryOp::Xor][rng.usize(..3)], x, y);
            }
            _ if lane.is_float() => {
                body.bin(float_ops[rng.usize(..6)], x, y);
            }
            _ => {
                body.bin(int_ops[rng.usize(..8)], x, y);
            }
        }
    }
}

fn floor_div(x: i128, y: i128) -> i128 {
    x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0)
}

type Map<T> = fn(T) -> T;
type Test<T> = fn(T, T) -> bool;

/// The result of an instruction.
fn meaning(instr: Instr, values: &[Tensor], read: &mut dyn FnMut(usize) -> Tensor, folded: &[Tensor]) -> Tensor {
    let of = |val: Val| &values[val.0 as usize];
    let zip = |a: Val, b: Val, float: fn(f64, f64) -> f64, int: fn(i128, i128) -> i128| {
        of(a).zip(of(b), float, int).expect("two of one type")
    };
    match instr {
        Instr::Read(at) => read(at.into()),
        Instr::Reduced(at) => folded[usize::from(at)].clone(),
        Instr::Const(bits, lane) => {
            let width = dtype(lane).bytes() as usize;
            let bytes = if lane == ScalarType::Bool { vec![u8::from(bits != 0)] } else { bits.to_le_bytes()[..width].to_vec() };
            Tensor::from_le_bytes(dtype(lane), &[], &bytes).expect("a constant")
        }
        Instr::Unary(UnaryOp::To(lane) | UnaryOp::ToExact(lane), a) => of(a).cast(dtype(lane)).expect("a number of any type"),
        Instr::Unary(op, a) => {
            let (float, int): (Map<f64>, Map<i128>) = match op {
                UnaryOp::Neg => (|x| -x, |x| -x),
                UnaryOp::Abs => (f64::abs, i128::abs),
                UnaryOp::Floor => (f64::floor, |x| x),
                UnaryOp::Ceil => (f64::ceil, |x| x),
                UnaryOp::Trunc => (f64::trunc, |x| x),
                UnaryOp::Sqrt => (f64::sqrt, |x| x),
                UnaryOp::Round => (f64::round, |x| x),
                UnaryOp::Sign => (|x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)), |x| x),
                _ => unreachable!("{op:?} is not among those that grow"),
            };
            of(a).map(float, int)
        }
        Instr::Binary(op, a, b) => match op {
            BinaryOp::Add => zip(a, b, |x, y| x + y, |x, y| x + y),
            BinaryOp::Sub => zip(a, b, |x, y| x - y, |x, y| x - y),
            BinaryOp::Mul => zip(a, b, |x, y| x * y, i128::wrapping_mul),
            BinaryOp::Div => zip(a, b, |x, y| x / y, |x, _| x),
            BinaryOp::Max => zip(a, b, float_max, Ord::max),
            BinaryOp::Min => zip(a, b, float_min, Ord::min),
            BinaryOp::And => zip(a, b, |x, _| x, |x, y| x & y),
            BinaryOp::Or => zip(a, b, |x, _| x, |x, y| x | y),
            BinaryOp::Xor => zip(a, b, |x, _| x, |x, y| x ^ y),
            BinaryOp::Shl => zip(a, b, |x, _| x, |x, y| x << y),
            BinaryOp::ShrSigned | BinaryOp::ShrUnsigned => zip(a, b, |x, _| x, |x, y| x >> y),
            BinaryOp::TruncDiv => zip(a, b, |x, _| x, |x, y| x / y),
            BinaryOp::Mod => zip(a, b, |x, _| x, |x, y| x % y),
            BinaryOp::FloorDiv => zip(a, b, |x, _| x, floor_div),
            BinaryOp::FloorMod => zip(a, b, |x, _| x, |x, y| x - floor_div(x, y) * y),
            _ => unreachable!("{op:?} is not among those that grow"),
        },
        Instr::Cmp(op, a, b) => {
            let (float, int): (Test<f64>, Test<i128>) = match op {
                Cmp::Eq => (|x, y| x == y, |x, y| x == y),
                Cmp::Ne => (|x, y| x != y, |x, y| x != y),
                Cmp::Lt => (|x, y| x < y, |x, y| x < y),
                Cmp::Le => (|x, y| x <= y, |x, y| x <= y),
                Cmp::Gt => (|x, y| x > y, |x, y| x > y),
                Cmp::Ge => (|x, y| x >= y, |x, y| x >= y),
            };
            of(a).compare(of(b), float, int).expect("two of one type")
        }
        Instr::Select(a, b, c) => if of(a).to_ints()[0] != 0 { of(b) } else { of(c) }.clone(),
        _ => unreachable!("{instr:?} is not among those that grow"),
    }
}

fn place(access: &Access, kept: &[u64], reduced: &[u64]) -> usize {
    let way = |strides: &[i64], index: &[u64]| -> i64 { strides.iter().zip(index).map(|(stride, &at)| stride * at as i64).sum() };
    (access.offset + way(&access.kept, kept) + way(&access.reduced, reduced)) as usize * access.dtype.bytes() as usize
}

fn indices(extents: &[u64]) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for &extent in extents {
        all = all.into_iter().flat_map(|index| (0..extent).map(move |at| [&index[..], &[at]].concat())).collect();
    }
    all
}

/// Joins a value to an accumulated one.
fn fold(fold: Reduction, sum: &Tensor, value: &Tensor) -> Tensor {
    let joined = match fold {
        Reduction::Sum => sum.zip(value, |x, y| x + y, |x, y| x + y),
        Reduction::Product => sum.zip(value, |x, y| x * y, i128::wrapping_mul),
        Reduction::Max => sum.zip(value, float_max, Ord::max),
        Reduction::Min => sum.zip(value, float_min, Ord::min),
    };
    joined.expect("two of one type")
}

/// Computes a nest without clips on buffers of bytes.
fn compute_typed(nest: &Nest, memory: &mut [Vec<u8>]) {
    let extents: Vec<u64> = nest.reduce.iter().map(|dim| dim.extent).collect();
    for kept in indices(&nest.dims) {
        let mut folded: Vec<Tensor> = Vec::new();
        for stage in &nest.stages {
            let mut results: Vec<Option<Tensor>> = vec![None; stage.reductions.len()];
            let points = if stage.each { indices(&extents) } else { vec![vec![0; extents.len()]] };
            for reduced in points {
                let mut values: Vec<Tensor> = Vec::new();
                for &instr in &stage.body.instrs {
                    let mut read = |at: usize| {
                        let access = &nest.reads[at];
                        let (from, width) = (place(access, &kept, &reduced), access.dtype.bytes() as usize);
                        Tensor::from_le_bytes(access.dtype, &[], &memory[access.arg][from..from + width]).expect("an element")
                    };
                    values.push(meaning(instr, &values, &mut read, &folded));
                }
                for (result, &(val, how)) in results.iter_mut().zip(&stage.reductions) {
                    let value = &values[val.0 as usize];
                    *result = Some(result.as_ref().map_or_else(|| value.clone(), |sum| fold(how, sum, value)));
                }
                for store in &stage.stores {
                    let access = &nest.writes[store.write];
                    let (to, bytes) = (place(access, &kept, &reduced), values[store.val.0 as usize].to_le_bytes());
                    memory[access.arg][to..to + bytes.len()].copy_from_slice(&bytes);
                }
            }
            folded.extend(results.into_iter().map(|result| result.expect("rows hold something")));
        }
    }
}

/// The same number; any NaN is NaN.
fn same(dtype: DType, got: &[u8], want: &[u8]) -> bool {
    let number = |bytes: &[u8]| Tensor::from_le_bytes(dtype, &[], bytes).expect("an element").to_f64s()[0];
    got == want || (dtype.is_float() && number(got).is_nan() && number(want).is_nan())
}

fn check_typed(case: &Case, name: &str, seed: u64) {
    let mut expected = case.memory.clone();
    compute_typed(&case.nest, &mut expected);
    for isa in Cpu::get().isas() {
        let mut asm = Asm::new(isa);
        let code = compile(&mut asm, &case.nest, None).unwrap_or_else(|| panic!("{name} {seed}: no code for {:#?}", case.nest));
        let text = Code::new(asm).expect("code");
        for (side, parts) in [(Side::Right, 1), (Side::Left, 3)] {
            let what = format!("{name} {seed} {isa:?} {side:?}");
            running(what.clone());
            let got = run(case, &text, &code, side, parts);
            for write in &case.nest.writes {
                let width = write.dtype.bytes() as usize;
                let elements = got[write.arg].chunks(width).zip(expected[write.arg].chunks(width));
                for (at, (got, want)) in elements.enumerate() {
                    assert!(same(write.dtype, got, want), "{what}: [{at}] is {got:?}, not {want:?}, in {:#?}", case.nest);
                }
            }
        }
    }
}

fn typed_elementwise(rng: &mut Rng) -> Case {
    let rank = rng.usize(0..4);
    let mut maker = Maker::new(rng, rank, 0, 150);
    let n_reads = maker.rng.usize(1..4);
    let mut reads = Vec::new();
    let mut body = Body::new();
    for read in 0..n_reads {
        let lane = LANES[maker.rng.usize(..13)];
        maker.read(dtype(lane), true, true);
        reads.push(lane);
        body.read(read);
    }
    let length = [0, 1, 2, 5, 12, 30][maker.rng.usize(..6)];
    grow(maker.rng, &mut body, &reads, length);
    let lanes = body.lanes(&reads);
    let mut stores = Vec::new();
    for val in [lanes.len() - 1, maker.rng.usize(..lanes.len())] {
        let write = maker.write(dtype(lanes[val]), true);
        stores.push(Store { val: Val(val as u32), write });
    }
    maker.case(vec![Stage { each: true, body, reductions: Vec::new(), stores }], Vec::new(), Match::Exact)
}

/// Reductions of integers and extremes of floats, which do not depend on the order, and computations on their results.
fn typed_rows(rng: &mut Rng) -> Case {
    let (kept, reduced) = (rng.usize(0..3), rng.usize(1..3));
    let mut maker = Maker::new(rng, kept, reduced, 300);
    let lane = LANES[maker.rng.usize(..13)];
    maker.read(dtype(lane), true, true);
    maker.read(dtype(lane), true, true);
    let mut body = Body::new();
    let (x, y) = (body.read(0), body.read(1));
    let both = if lane == ScalarType::Bool { body.bin(BinaryOp::Xor, x, y) } else { body.bin(BinaryOp::Max, x, y) };
    let folds = [Reduction::Max, Reduction::Min, Reduction::Sum, Reduction::Product];
    let n_folds = if lane.is_float() { 2 } else { 4 };
    let (first, second) = (folds[maker.rng.usize(..n_folds)], folds[maker.rng.usize(..n_folds)]);
    let first_stage = Stage { each: true, body, reductions: vec![(both, first), (x, second)], stores: Vec::new() };
    let mut body = Body::new();
    let (a, b) = (body.folded(0), body.folded(1));
    let other = LANES[maker.rng.usize(..13)];
    let val = body.un(UnaryOp::To(other), a);
    let mut stores = vec![Store { val, write: maker.write(dtype(other), false) }];
    stores.push(Store { val: b, write: maker.write(dtype(lane), false) });
    let last = Stage { each: false, body, reductions: Vec::new(), stores };
    maker.case(vec![first_stage, last], Vec::new(), Match::Exact)
}

#[test]
fn elements_of_every_type() {
    for seed in seeds(400) {
        check_typed(&typed_elementwise(&mut Rng::with_seed(seed)), "typed", seed);
    }
}

#[test]
fn folds_of_every_type() {
    for seed in seeds(300) {
        check_typed(&typed_rows(&mut Rng::with_seed(seed)), "typed rows", seed);
    }
}

/// Bytes from four planes, one beside the other; also of a plane that all share, and at places that are no words.
#[test]
fn bytes_that_make_words() {
    for seed in seeds(200) {
        let rng = &mut Rng::with_seed(seed);
        let (rows, columns) = (rng.u64(1..5), rng.u64(1..70));
        let lane = [ScalarType::U8, ScalarType::I8, ScalarType::F32, ScalarType::I16, ScalarType::F16][rng.usize(..5)];
        let to = [ScalarType::U8, ScalarType::I8][rng.usize(..2)];
        let plane = (rows * columns) as i64 + rng.i64(0..3);
        let step = [4, 4, 4, 5][rng.usize(..4)];
        let first = [0, 0, 4, 1][rng.usize(..4)];
        let access =
            |arg, lane, offset, kept: [i64; 3]| Access { arg, dtype: dtype(lane), offset, kept: kept.to_vec(), reduced: vec![] };
        let reads = [
            access(0, lane, 0, [columns as i64, 1, plane]),
            access(1, lane, 0, [columns as i64, 1, if rng.bool() { plane } else { 0 }]),
        ];
        let writes = [access(2, to, first, [step * columns as i64, step, 1])];
        let mut body = Body::new();
        let (x, y) = (body.read(0), body.read(1));
        let sum = if rng.bool() { body.bin(BinaryOp::Add, x, y) } else { x };
        let val = body.un(UnaryOp::To(to), sum);
        let width = dtype(lane).bytes() as usize;
        let mut random = |n: usize| -> Vec<u8> {
            let values = (0..n).flat_map(|_| {
                let number = Tensor::scalar(rng.i64(-200..300) as f64 / 4.0);
                number.cast(dtype(lane)).expect("a number of any type").to_le_bytes()
            });
            values.collect()
        };
        let n = 4 * plane as usize;
        let memory = vec![random(n), random(n), vec![0; first as usize + step as usize * (rows * columns) as usize]];
        assert_eq!(memory[0].len(), n * width);
        let stages = vec![Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] }];
        // The dimension of the bytes of a word may stand anywhere.
        let mut order = [0, 1, 2];
        rng.shuffle(&mut order);
        let extents = [rows, columns, 4];
        let sorted = |access: &Access| Access { kept: order.map(|at| access.kept[at]).to_vec(), ..access.clone() };
        let nest = Nest {
            dims: order.map(|at| extents[at]).to_vec(),
            reduce: vec![],
            reads: reads.iter().map(sorted).collect(),
            writes: writes.iter().map(sorted).collect(),
            stages,
        };
        check_typed(&Case { nest, memory, matching: Match::Exact }, "words", seed);
    }
}
