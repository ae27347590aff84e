//! Compares random nests with the reference, in buffers between guard pages, on every instruction set of this machine.

mod gathers;
mod reference;
mod shared_rows;

use super::{NestCode, compile};
use crate::asm::{Asm, Fragments, Isa};
use crate::cpu::Cpu;
use crate::memory::Code;
use crate::tests::guard_pages::{GuardedBuffer, Side, call_checked, running, seeds};
use fastrand::Rng;
use reference::compute;
use relayc_ir::kernel::{Access, BinaryOp, Body, Clip, Cmp, Nest, ReduceDim, Reduction, ScalarType, Stage, Store, UnaryOp, Val};
use relayc_ir::types::{DType, DTypeCode};
use std::sync::{Arc, LazyLock};

mod typed;

/// Those of all cases, which differ in counts and steps as well.
static FRAGMENTS: LazyLock<Arc<Fragments>> = LazyLock::new(Arc::default);

const EXTENTS: [u64; 16] = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 80];

/// How results may differ.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Match {
    /// Equal bits; any NaN matches any NaN.
    Exact,
    /// Sums in another order.
    Near,
}

/// A nest with the bytes of its arguments.
struct Case {
    nest: Nest,
    memory: Vec<Vec<u8>>,
    matching: Match,
}

/// A nest under construction.
struct Maker<'r> {
    rng: &'r mut Rng,
    dims: Vec<u64>,
    reduce: Vec<u64>,
    /// The indices of each reduced dimension along a kept one, for windows.
    windows: Vec<Option<(usize, i64, i64)>>,
    memory: Vec<Vec<u8>>,
    reads: Vec<Access>,
    writes: Vec<Access>,
    special: bool,
}

impl<'r> Maker<'r> {
    fn new(rng: &'r mut Rng, n_dims: usize, n_reduce: usize, most: u64) -> Maker<'r> {
        let mut left = most;
        let mut pick = |rng: &mut Rng| {
            let extent = EXTENTS[rng.usize(..EXTENTS.len())];
            let extent = if extent > left { rng.u64(1..=left.max(1)) } else { extent };
            left /= extent;
            extent
        };
        let dims = (0..n_dims).map(|_| pick(rng)).collect();
        let reduce: Vec<u64> = (0..n_reduce).map(|_| pick(rng)).collect();
        let windows = vec![None; n_reduce];
        let special = rng.bool();
        Maker { rng, dims, reduce, windows, memory: Vec::new(), reads: Vec::new(), writes: Vec::new(), special }
    }

    /// An argument that is accessed along all dimensions, or repeated along some, in any order, with steps in either direction.
    fn access(&mut self, dtype: DType, of_reduced: bool, repeats: bool) -> Access {
        let (n, m) = (self.dims.len(), self.reduce.len());
        let extents: Vec<u64> = self.dims.iter().chain(&self.reduce).copied().collect();
        let mut order: Vec<usize> = (0..n + m).collect();
        if self.rng.u8(..4) == 0 {
            self.rng.shuffle(&mut order);
        }
        let mut strides = vec![0i64; n + m];
        let (mut stride, mut offset) = (1i64, 0i64);
        for &at in order.iter().rev() {
            let absent = (at >= n && !of_reduced) || (repeats && self.rng.u8(..5) == 0);
            // A window goes along its kept dimension.
            let window = at.checked_sub(n).and_then(|at| self.windows[at]);
            if absent || window.is_some() {
                continue;
            }
            if self.rng.u8(..8) == 0 {
                stride *= self.rng.i64(2..4);
            }
            let own = self.windows.iter().position(|window| window.is_some_and(|window| window.0 == at) && of_reduced);
            let mut points = extents[at] as i64;
            strides[at] = stride;
            if let Some((reduced, (_, step, dilation))) = own.map(|own| (own, self.windows[own].expect("a window"))) {
                strides[at] = stride * step;
                strides[n + reduced] = stride * dilation;
                points = (points - 1) * step + (extents[n + reduced] as i64 - 1) * dilation + 1;
            } else if self.rng.u8(..8) == 0 {
                strides[at] = -stride;
                offset += stride * (points - 1);
            }
            stride *= points;
        }
        let kept = strides[..n].to_vec();
        let reduced = if of_reduced { strides[n..].to_vec() } else { vec![0; m] };
        let elements = stride as usize;
        let bytes = (0..elements).flat_map(|_| self.element(dtype)).collect();
        self.memory.push(bytes);
        Access { arg: self.memory.len() - 1, dtype, offset, kept, reduced }
    }

    fn element(&mut self, dtype: DType) -> Vec<u8> {
        const SPECIAL: [f32; 9] = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, f32::MAX, 16_777_217.0, -1.0];
        match dtype {
            DType::BOOL => vec![self.rng.u8(..2)],
            DType::I32 if self.rng.u8(..10) == 0 => self.rng.i32(..).to_le_bytes().to_vec(),
            DType::I32 => self.rng.i32(-50..50).to_le_bytes().to_vec(),
            _ if dtype != DType::F32 => typed::element(self.rng, dtype),
            _ if self.special && self.rng.u8(..20) == 0 => SPECIAL[self.rng.usize(..9)].to_le_bytes().to_vec(),
            _ => (self.rng.f32() * 4.0 - 2.0).to_le_bytes().to_vec(),
        }
    }

    fn read(&mut self, dtype: DType, of_reduced: bool, repeats: bool) -> usize {
        let access = self.access(dtype, of_reduced, repeats);
        self.reads.push(access);
        self.reads.len() - 1
    }

    fn write(&mut self, dtype: DType, of_reduced: bool) -> usize {
        let access = self.access(dtype, of_reduced, false);
        self.writes.push(access);
        self.writes.len() - 1
    }

    fn case(self, stages: Vec<Stage>, clips: Vec<Option<Clip>>, matching: Match) -> Case {
        let reduce = self.reduce.iter().zip(clips.into_iter().chain(std::iter::repeat(None)));
        let reduce = reduce.map(|(&extent, clip)| ReduceDim { extent, clip }).collect();
        let nest = Nest { dims: self.dims, reduce, reads: self.reads, writes: self.writes, stages };
        Case { nest, memory: self.memory, matching }
    }
}

/// Appends `length` random instructions on existing values.
fn grow(rng: &mut Rng, body: &mut Body, reads: &[ScalarType], length: usize) {
    for _ in 0..length {
        let lanes = body.lanes(reads);
        let of = |rng: &mut Rng, lane: ScalarType| {
            let all: Vec<usize> = (0..lanes.len()).filter(|&at| lanes[at] == lane).collect();
            (!all.is_empty()).then(|| Val(all[rng.usize(..all.len())] as u32))
        };
        let (x, y, z) = (of(rng, ScalarType::F32), of(rng, ScalarType::F32), of(rng, ScalarType::F32));
        let (i, j) = (of(rng, ScalarType::I32), of(rng, ScalarType::I32));
        let (b, c) = (of(rng, ScalarType::Bool), of(rng, ScalarType::Bool));
        let float_ops =
            [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min, BinaryOp::MaxSecond, BinaryOp::Div];
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
        let shifts = [BinaryOp::Shl, BinaryOp::ShrSigned, BinaryOp::ShrUnsigned];
        let comparisons = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];
        let float_uns = [
            UnaryOp::Neg,
            UnaryOp::Abs,
            UnaryOp::Floor,
            UnaryOp::Ceil,
            UnaryOp::Trunc,
            UnaryOp::RoundEven,
            UnaryOp::Sqrt,
            UnaryOp::Round,
            UnaryOp::Sign,
        ];
        let functions = [UnaryOp::Exp, UnaryOp::Tanh, UnaryOp::Erf, UnaryOp::Log, UnaryOp::Sigmoid, UnaryOp::Sin];
        let to_int = [UnaryOp::TruncToInt, UnaryOp::NearestToInt, UnaryOp::SaturateToInt];
        let comparison = comparisons[rng.usize(..6)];
        match (rng.u8(..16), x, y, z, i, j, b, c) {
            (0..4, Some(x), Some(y), ..) => body.bin(float_ops[rng.usize(..7)], x, y),
            (4, Some(x), Some(y), Some(z), ..) => body.fma(x, y, z),
            (15, Some(x), ..) if rng.u8(..3) == 0 => body.un(functions[rng.usize(..6)], x),
            (15, Some(x), Some(y), ..) if rng.u8(..8) == 0 => body.bin([BinaryOp::Pow, BinaryOp::Mod][rng.usize(..2)], x, y),
            (5, Some(x), ..) => body.un(float_uns[rng.usize(..9)], x),
            (6, Some(x), Some(y), ..) => body.cmp(comparison, x, y),
            (7, Some(x), Some(y), _, _, _, Some(b), _) => body.select(b, x, y),
            (8, Some(x), ..) => body.un(to_int[rng.usize(..3)], x),
            (9, _, _, _, Some(i), Some(j), ..) => body.bin(int_ops[rng.usize(..8)], i, j),
            (10, _, _, _, Some(i), Some(j), Some(b), _) if rng.bool() => body.select(b, i, j),
            (10, _, _, _, Some(i), Some(j), ..) => body.cmp(comparison, i, j),
            (11, _, _, _, Some(i), ..) => body.un([UnaryOp::ToFloat, UnaryOp::Neg, UnaryOp::Abs][rng.usize(..3)], i),
            (12, _, _, _, Some(i), ..) => {
                let by = body.i32(rng.i32(0..32));
                body.bin(shifts[rng.usize(..3)], i, by)
            }
            (13, _, _, _, _, _, Some(b), Some(c)) => body.bin([BinaryOp::And, BinaryOp::Or, BinaryOp::Xor][rng.usize(..3)], b, c),
            (14, _, _, _, _, _, Some(b), _) => {
                body.un([UnaryOp::BoolToFloat, UnaryOp::BoolToInt, UnaryOp::Not][rng.usize(..3)], b)
            }
            _ => body.f32([0.0, 1.0, -0.5, 3.0][rng.usize(..4)]),
        };
    }
}

fn dtype(lane: ScalarType) -> DType {
    lane.dtype().expect("a lane of a tensor")
}

fn elementwise(rng: &mut Rng) -> Case {
    let rank = rng.usize(0..6);
    let mut maker = Maker::new(rng, rank, 0, 1500);
    // Now and then more than there are registers for their pointers.
    let n_reads = if maker.rng.u8(..10) == 0 { 14 } else { maker.rng.usize(1..4) };
    let mut reads = Vec::new();
    for _ in 0..n_reads {
        let lane = [ScalarType::F32, ScalarType::F32, ScalarType::F32, ScalarType::I32, ScalarType::Bool][maker.rng.usize(..5)];
        maker.read(dtype(lane), true, true);
        reads.push(lane);
    }
    let mut body = Body::new();
    for read in 0..n_reads {
        body.read(read);
    }
    let length = [2, 5, 12, 40, 90][maker.rng.usize(..5)];
    grow(maker.rng, &mut body, &reads, length);
    let lanes = body.lanes(&reads);
    let last = lanes.len() - 1;
    let mut stores = Vec::new();
    for val in [last, maker.rng.usize(..lanes.len())] {
        let write = maker.write(dtype(lanes[val]), true);
        stores.push(Store { val: Val(val as u32), write });
    }
    let each = maker.rng.bool();
    maker.case(vec![Stage { each, body, reductions: Vec::new(), stores }], Vec::new(), Match::Exact)
}

/// Short bodies whose reads and writes go along different dimensions.
fn crossing(rng: &mut Rng) -> Case {
    let rank = rng.usize(2..5);
    let mut maker = Maker::new(rng, rank, 0, 1);
    let mut left = 6000;
    for at in 0..rank {
        let extent = EXTENTS[maker.rng.usize(..EXTENTS.len())].min(left);
        maker.dims[at] = extent;
        left /= extent;
    }
    maker.rng.shuffle(&mut maker.dims);
    let n_reads = maker.rng.usize(1..3);
    let reads: Vec<ScalarType> =
        (0..n_reads).map(|_| [ScalarType::F32, ScalarType::F32, ScalarType::I32][maker.rng.usize(..3)]).collect();
    let mut body = Body::new();
    for (read, &lane) in reads.iter().enumerate() {
        maker.read(dtype(lane), true, false);
        body.read(read);
    }
    let length = [0, 0, 3, 8][maker.rng.usize(..4)];
    grow(maker.rng, &mut body, &reads, length);
    let lanes = body.lanes(&reads);
    let val = lanes.len() - 1;
    let write = maker.write(dtype(lanes[val]), true);
    // Turned round against the reads.
    for access in &mut maker.reads {
        if maker.rng.u8(..4) > 0 {
            let n = access.kept.len();
            let turned = maker.rng.usize(1..n);
            let extents: Vec<u64> = (0..n).map(|at| maker.dims[at]).collect();
            let mut stride = 1;
            for at in (0..n).rev().map(|at| (at + turned) % n) {
                access.kept[at] = stride;
                stride *= extents[at] as i64;
            }
            access.offset = 0;
        }
    }
    maker.case(
        vec![Stage { each: true, body, reductions: Vec::new(), stores: vec![Store { val: Val(val as u32), write }] }],
        Vec::new(),
        Match::Exact,
    )
}

/// Reductions over rows, and computations on their results.
fn rows(rng: &mut Rng) -> Case {
    let (kept, reduced) = (rng.usize(0..4), rng.usize(1..4));
    let mut maker = Maker::new(rng, kept, reduced, 3000);
    let sums = maker.rng.bool();
    maker.special &= !sums;
    let lane = if maker.rng.u8(..4) == 0 { ScalarType::I32 } else { ScalarType::F32 };
    maker.read(dtype(lane), true, true);
    maker.read(dtype(lane), true, true);
    let mut body = Body::new();
    let (x, y) = (body.read(0), body.read(1));
    let both = body.bin(if sums { BinaryOp::Mul } else { BinaryOp::Sub }, x, y);
    let (first, second) = if sums { (Reduction::Sum, Reduction::Sum) } else { (Reduction::Max, Reduction::Min) };
    let folds = vec![(both, first), (x, second)];
    let mut stores = Vec::new();
    if maker.rng.bool() {
        stores.push(Store { val: both, write: maker.write(dtype(lane), true) });
    }
    let first_stage = Stage { each: true, body, reductions: folds, stores };
    let mut body = Body::new();
    let (a, b) = (body.folded(0), body.folded(1));
    maker.read(dtype(lane), false, true);
    let other = body.read(2);
    let result = body.bin(BinaryOp::Sub, a, b);
    let result = body.bin(BinaryOp::Add, result, other);
    let stores = vec![Store { val: result, write: maker.write(dtype(lane), false) }];
    let last = Stage { each: false, body, reductions: Vec::new(), stores };
    let matching = if sums && lane == ScalarType::F32 { Match::Near } else { Match::Exact };
    maker.case(vec![first_stage, last], Vec::new(), matching)
}

fn softmax(rng: &mut Rng) -> Case {
    let (kept, reduced) = (rng.usize(0..4), rng.usize(1..3));
    let mut maker = Maker::new(rng, kept, reduced, 2500);
    maker.special = false;
    maker.read(DType::F32, true, false);
    let write = maker.write(DType::F32, true);
    let own = maker.writes[write].clone();
    maker.reads.push(own);
    let mut greatest = Body::new();
    let x = greatest.read(0);
    let greatest = Stage { each: true, body: greatest, reductions: vec![(x, Reduction::Max)], stores: Vec::new() };
    let mut powers = Body::new();
    let (x, most) = (powers.read(0), powers.folded(0));
    let less = powers.bin(BinaryOp::Sub, x, most);
    let power = powers.un(UnaryOp::Exp, less);
    let store = Store { val: power, write };
    let powers = Stage { each: true, body: powers, reductions: vec![(power, Reduction::Sum)], stores: vec![store] };
    let mut scaled = Body::new();
    let (one, sum, x) = (scaled.f32(1.0), scaled.folded(1), scaled.read(1));
    let factor = scaled.bin(BinaryOp::Div, one, sum);
    let val = scaled.bin(BinaryOp::Mul, x, factor);
    let scaled = Stage { each: true, body: scaled, reductions: Vec::new(), stores: vec![Store { val, write }] };
    maker.case(vec![greatest, powers, scaled], Vec::new(), Match::Near)
}

fn layer_norm(rng: &mut Rng) -> Case {
    let (kept, reduced) = (rng.usize(0..4), rng.usize(1..3));
    let mut maker = Maker::new(rng, kept, reduced, 2500);
    maker.special = false;
    maker.read(DType::F32, true, false);
    maker.read(DType::F32, true, true);
    let write = maker.write(DType::F32, true);
    let mut sum = Body::new();
    let x = sum.read(0);
    let sum = Stage { each: true, body: sum, reductions: vec![(x, Reduction::Sum)], stores: Vec::new() };
    let centred = |body: &mut Body| {
        let (x, sum, count) = (body.read(0), body.folded(0), body.push(relayc_ir::kernel::Instr::Count));
        let mean = body.bin(BinaryOp::Div, sum, count);
        (body.bin(BinaryOp::Sub, x, mean), count)
    };
    let mut squares = Body::new();
    let (x, _) = centred(&mut squares);
    let square = squares.bin(BinaryOp::Mul, x, x);
    let squares = Stage { each: true, body: squares, reductions: vec![(square, Reduction::Sum)], stores: Vec::new() };
    let mut scaled = Body::new();
    let (x, count) = centred(&mut scaled);
    let (squares_sum, epsilon, scale) = (scaled.folded(1), scaled.f32(1e-2), scaled.read(1));
    let variance = scaled.bin(BinaryOp::Div, squares_sum, count);
    let variance = scaled.bin(BinaryOp::Add, variance, epsilon);
    let root = scaled.un(UnaryOp::Rsqrt, variance);
    let val = scaled.bin(BinaryOp::Mul, x, root);
    let val = scaled.fma(val, scale, scale);
    let scaled = Stage { each: true, body: scaled, reductions: Vec::new(), stores: vec![Store { val, write }] };
    maker.case(vec![sum, squares, scaled], Vec::new(), Match::Near)
}

/// Windows along one or two kept dimensions, clipped to what is inside.
fn pooling(rng: &mut Rng) -> Case {
    let n_windows = rng.usize(1..3);
    let others = rng.usize(0..3);
    let mut maker = Maker::new(rng, n_windows + others, 0, 400);
    let mut places: Vec<usize> = (0..n_windows + others).collect();
    maker.rng.shuffle(&mut places);
    let mut clips = Vec::new();
    let mut befores = Vec::new();
    for &dim in &places[..n_windows] {
        let extent = maker.rng.u64(1..5);
        let (stride, dilation) = (maker.rng.i64(1..4), maker.rng.i64(1..4));
        let reach = (maker.dims[dim] as i64 - 1) * stride + (extent as i64 - 1) * dilation + 1;
        let before = maker.rng.i64(0..=(reach / 2).min(5));
        let size = (reach - before - maker.rng.i64(0..=(reach / 2).min(5))).max(1);
        maker.reduce.push(extent);
        maker.windows.push(Some((dim, stride, dilation)));
        clips.push(Some(Clip { dim, stride, dilation, before, size }));
        befores.push((dim, before));
    }
    let average = maker.rng.bool();
    maker.special &= !average;
    // The buffer also holds what lies outside, which the clip keeps from being read.
    maker.read(DType::F32, true, false);
    let mut body = Body::new();
    let x = body.read(0);
    let fold = if average { Reduction::Sum } else { Reduction::Max };
    let first = Stage { each: true, body, reductions: vec![(x, fold)], stores: Vec::new() };
    let mut body = Body::new();
    let mut val = body.folded(0);
    if average {
        let (count, one) = (body.push(relayc_ir::kernel::Instr::Count), body.f32(1.0));
        let count = body.bin(BinaryOp::Max, count, one);
        val = body.bin(BinaryOp::Div, val, count);
    }
    let write = maker.write(DType::F32, false);
    let last = Stage { each: false, body, reductions: Vec::new(), stores: vec![Store { val, write }] };
    maker.case(vec![first, last], clips, if average { Match::Near } else { Match::Exact })
}

fn check(case: &Case, name: &str, seed: u64) {
    let mut expected = case.memory.clone();
    compute(&case.nest, &mut expected);
    for isa in Cpu::get().isas() {
        let mut asm = Asm::new(isa);
        let code = compile(&mut asm, &case.nest, None).unwrap_or_else(|| panic!("{name} {seed}: no code"));
        let bytes = asm.finish().expect("code");
        let mut asm = Asm::new(isa).with(Some(FRAGMENTS.clone()));
        assert_eq!(compile(&mut asm, &case.nest, None).as_ref(), Some(&code), "{name} {seed}: other code among others");
        assert!(asm.finish().expect("code") == bytes, "{name} {seed}: other bytes among others");
        let text = Code::from_bytes(&bytes).expect("code");
        let mut whole = None;
        for (side, parts) in [(Side::Right, 1), (Side::Left, 3)] {
            let what = format!("{name} {seed} {isa:?} {side:?}");
            running(what.clone());
            let got = run(case, &text, &code, side, parts);
            assert_eq!(whole.get_or_insert_with(|| got.clone()), &got, "{what}: other bytes when items are split");
            for (arg, (got, want)) in got.iter().zip(&expected).enumerate() {
                let bool_arg = case.nest.reads.iter().chain(&case.nest.writes).any(|a| a.arg == arg && a.dtype == DType::BOOL);
                let is_int = case.nest.reads.iter().chain(&case.nest.writes).any(|a| a.arg == arg && a.dtype == DType::I32);
                if bool_arg || is_int {
                    assert_eq!(got, want, "{what}: argument {arg} of {:?}", case.nest);
                    continue;
                }
                for (at, (got, want)) in got.chunks(4).zip(want.chunks(4)).enumerate() {
                    let [got, want] = [got, want].map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")));
                    let near = case.matching == Match::Near && (got - want).abs() <= 1e-4 * want.abs().max(1.0);
                    let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()) || near;
                    assert!(same, "{what}: argument {arg}[{at}] is {got:e}, not {want:e}, in {:#?}", case.nest);
                }
            }
        }
    }
}

/// The buffers after a run in `parts` parts.
fn run(case: &Case, text: &Code, code: &NestCode, side: Side, parts: usize) -> Vec<Vec<u8>> {
    let written = |arg: usize| case.nest.writes.iter().any(|write| write.arg == arg);
    let buffers: Vec<GuardedBuffer<u8>> = case
        .memory
        .iter()
        .enumerate()
        .map(|(arg, bytes)| {
            let buffer = GuardedBuffer::new(bytes, side);
            if written(arg) { buffer } else { buffer.read_only() }
        })
        .collect();
    let args: Vec<u64> = buffers.iter().map(GuardedBuffer::arg).collect();
    let address = text.address(code.entry).expect("an entry");
    for part in 0..parts {
        let (begin, end) = (code.n_items * part / parts, code.n_items * (part + 1) / parts);
        // SAFETY: the function takes these three arguments, and the buffers hold whatever its accesses reach.
        unsafe { call_checked(address, &[args.as_ptr() as u64, begin as u64, end as u64]) }.expect("a well-behaved function");
    }
    buffers.iter().map(|buffer| buffer.values().to_vec()).collect()
}

fn check_all(name: &str, make: fn(&mut Rng) -> Case, n: u64) {
    for seed in seeds(n) {
        let mut rng = Rng::with_seed(seed);
        check(&make(&mut rng), name, seed);
    }
}

#[test]
fn elementwise_nests() {
    check_all("elementwise", elementwise, 150);
}

#[test]
fn reads_and_writes_that_cross() {
    check_all("crossing", crossing, 60);
}

#[test]
fn folds_over_rows() {
    check_all("rows", rows, 100);
}

#[test]
fn softmaxes() {
    check_all("softmax", softmax, 40);
}

#[test]
fn layer_norms() {
    check_all("layer norm", layer_norm, 40);
}

#[test]
fn clipped_windows() {
    check_all("pooling", pooling, 120);
}

#[test]
fn nothing_is_computed_of_nothing() {
    for (dims, reduce) in
        [(vec![3, 0], vec![4]), (vec![5], vec![0]), (vec![20], vec![0, 3]), (vec![], vec![0]), (vec![0], vec![])]
    {
        let mut rng = Rng::with_seed(7);
        let mut maker = Maker::new(&mut rng, dims.len(), reduce.len(), 1000);
        (maker.dims, maker.reduce) = (dims, reduce);
        maker.read(DType::F32, true, false);
        let mut body = Body::new();
        let x = body.read(0);
        let folds = vec![(x, Reduction::Sum), (x, Reduction::Max), (x, Reduction::Product)];
        let first = Stage { each: true, body, reductions: folds, stores: Vec::new() };
        let mut stages = vec![first];
        for fold in 0..3 {
            let mut body = Body::new();
            let (val, write) = (body.folded(fold), maker.write(DType::F32, false));
            stages.push(Stage { each: false, body, reductions: Vec::new(), stores: vec![Store { val, write }] });
        }
        check(&maker.case(stages, Vec::new(), Match::Exact), "nothing", 0);
    }
}

#[test]
fn folds_of_a_constant() {
    let mut rng = Rng::with_seed(7);
    for (extent, value) in [1, 2, 3, 9, 19, 37, 80].iter().flat_map(|&n| [f32::NAN, -0.0, -3.0].map(|value| (n, value))) {
        let mut maker = Maker::new(&mut rng, 0, 1, 1);
        maker.reduce = vec![extent];
        let mut body = Body::new();
        let val = body.f32(value);
        let folds = vec![(val, Reduction::Max), (val, Reduction::Min)];
        let mut stages = vec![Stage { each: true, body, reductions: folds, stores: Vec::new() }];
        for fold in 0..2 {
            let mut body = Body::new();
            let (val, write) = (body.folded(fold), maker.write(DType::F32, false));
            stages.push(Stage { each: false, body, reductions: Vec::new(), stores: vec![Store { val, write }] });
        }
        check(&maker.case(stages, Vec::new(), Match::Exact), "folds of a constant", extent);
    }
}

#[test]
fn other_element_types_are_refused_and_leave_no_code() {
    let access = Access { arg: 0, dtype: DType::scalar(DTypeCode::E4M3, 8), offset: 0, kept: vec![1], reduced: Vec::new() };
    let mut body = Body::new();
    let val = body.read(0);
    let stage = Stage { each: false, body, reductions: Vec::new(), stores: vec![Store { val, write: 0 }] };
    let nest = Nest { dims: vec![4], reduce: Vec::new(), reads: vec![access.clone()], writes: vec![access], stages: vec![stage] };
    let mut asm = Asm::new(Isa::Avx2);
    assert_eq!(compile(&mut asm, &nest, None), None);
    assert_eq!(asm.here(), 0);
}
