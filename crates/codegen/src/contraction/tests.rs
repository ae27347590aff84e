//! Compares random contractions of each kind with plain code, bit for bit, and with sums in f64 within the hard bound.
//!
//! Tests run on both instruction sets, with guards around the memory that kernels may write.

mod attention;
mod bytes;
mod convert;
mod packing;

use super::compiled::primitive;
use super::winograd::Size;
use super::*;
use crate::asm::{Fragments, Isa};
use crate::cpu::Cpu;
use crate::legalize::tests::evaluate::evaluate;
use crate::memory::Code;
use crate::tests::guard_pages::{GuardedBuffer, Side, checked, running, seeds};
use relayc_ir::kernel::{BinaryOp, Body, ContractionDim, Depthwise, Instr, ScalarType, UnaryOp, Val};
use relayc_ir::types::DType;
use relayc_runtime::words::Words;
use std::sync::{Arc, LazyLock};

/// Content of outputs before a kernel runs; no kernel computes it.
const UNWRITTEN: u32 = 0x7fa0_dead;

/// The instruction sets that this machine has.
fn isas() -> Vec<Isa> {
    [Isa::Avx2, Isa::Avx512].into_iter().filter(|&isa| Cpu::get().has(isa)).collect()
}

fn target(isa: Isa) -> Target {
    match isa {
        Isa::Avx2 => Target::AVX2,
        Isa::Avx512 => Target { fmas: 2, ..Target::AVX512 },
    }
}

/// All index tuples below `extents`, in order.
fn each(extents: &[u64], mut f: impl FnMut(&[u64])) {
    let mut index = vec![0; extents.len()];
    loop {
        f(&index);
        let Some(at) = (0..extents.len()).rev().find(|&at| index[at] + 1 < extents[at]) else { return };
        index[at] += 1;
        index[at + 1..].fill(0);
    }
}

fn dot(index: &[u64], steps: impl Iterator<Item = i64>) -> i64 {
    index.iter().zip(steps).map(|(&index, step)| index as i64 * step).sum()
}

/// The body on one element.
fn body(contract: &Contraction, reads: &[f32]) -> f32 {
    let reads: Vec<_> = reads.iter().map(|read| ([read.to_bits()], ScalarType::F32)).collect();
    f32::from_bits(evaluate::<1>(&contract.body, &reads, (&[], &[]), 0.0)[contract.result.0 as usize][0])
}

/// Runs a contraction in plain code; reports the position and the value of each output.
fn reference(contract: &Contraction, input_columns: Columns, args: &[Vec<f32>], mut f: impl FnMut(usize, f32)) {
    let points: Vec<u64> = contract.points.iter().map(|dim| dim.extent).collect();
    let sum: Vec<u64> = contract.sum.iter().map(|dim| dim.extent).collect();
    let n = sum.iter().product::<u64>() as f64;
    for group in 0..contract.groups as i64 {
        each(&points, |p| {
            for column in 0..contract.columns {
                let input =
                    contract.input.1 + group * contract.group_steps[0] + dot(p, contract.points.iter().map(|dim| dim.input));
                let input = input + input_columns.offset(column);
                let weight = contract.weight.1 + group * contract.group_steps[1] + contract.weight_columns.offset(column);
                let (mut chain, mut exact, mut size) = (0f32, 0f64, 0f64);
                each(&sum, |k| {
                    let a = args[contract.input.0][(input + dot(k, contract.sum.iter().map(|dim| dim.input))) as usize];
                    let b = args[contract.weight.0][(weight + dot(k, contract.sum.iter().map(|dim| dim.other))) as usize];
                    chain = a.mul_add(b, chain);
                    exact += f64::from(a) * f64::from(b);
                    size += (f64::from(a) * f64::from(b)).abs();
                });
                let u = 2f64.powi(-24);
                let gamma = (n + 2.0) * u / (1.0 - (n + 2.0) * u);
                assert!((f64::from(chain) - exact).abs() <= gamma * size + u * exact.abs(), "{chain} is not {exact}");
                let mut reads = vec![chain];
                reads.extend(contract.operands.iter().map(|operand| {
                    let at = operand.offset + group * operand.group + dot(p, operand.points.iter().copied());
                    args[operand.arg][(at + operand.columns.offset(column)) as usize]
                }));
                let out = contract.out.1 + group * contract.group_steps[2] + dot(p, contract.points.iter().map(|dim| dim.other));
                f((out + contract.out_columns.offset(column)) as usize, body(contract, &reads));
            }
        });
    }
}

/// Number of elements of each argument: up to the last that the views name.
fn lengths(contract: &Contraction, input_columns: Columns) -> Vec<usize> {
    let far = |base: i64, group: i64, dims: &[(u64, i64)], columns: Columns| {
        let points: i64 = dims.iter().map(|(extent, step)| (*extent as i64 - 1) * step).sum();
        let column = (0..contract.columns).map(|column| columns.offset(column)).max().unwrap();
        (base + group * (contract.groups as i64 - 1) + points + column + 1) as usize
    };
    let of = |f: fn(&ContractionDim) -> i64, dims: &[ContractionDim]| -> Vec<(u64, i64)> {
        dims.iter().map(|dim| (dim.extent, f(dim))).collect()
    };
    let mut inputs = of(|dim| dim.input, &contract.points);
    inputs.extend(of(|dim| dim.input, &contract.sum));
    let mut lengths = vec![0; 3 + contract.operands.len()];
    lengths[contract.input.0] = far(contract.input.1, contract.group_steps[0], &inputs, input_columns);
    lengths[contract.weight.0] =
        far(contract.weight.1, contract.group_steps[1], &of(|dim| dim.other, &contract.sum), contract.weight_columns);
    lengths[contract.out.0] =
        far(contract.out.1, contract.group_steps[2], &of(|dim| dim.other, &contract.points), contract.out_columns);
    for operand in &contract.operands {
        let dims: Vec<(u64, i64)> = contract.points.iter().zip(&operand.points).map(|(dim, step)| (dim.extent, *step)).collect();
        lengths[operand.arg] = far(operand.offset, operand.group, &dims, operand.columns);
    }
    lengths
}

/// The numbers of random cases, as [`seeds`] are.
fn rounds(n: u64) -> impl Iterator<Item = usize> {
    seeds(n).map(|seed| seed as usize)
}

/// Compiles a contraction, runs the items of some threads, and compares every element of the output; buffers lie between guard
/// pages.
fn check(contract: &Contraction, isa: Isa, threads: usize, rng: &mut fastrand::Rng) {
    let tiles = candidates(&primitive(contract, isa), &target(isa), rng.bool());
    let choice = if rng.bool() { choose::best(&tiles) } else { rng.choice(&tiles).map_or(choose::best(&[]), |one| one.choice) };
    check_with(contract, isa, threads, rng, choice);
}

fn check_with(contract: &Contraction, isa: Isa, threads: usize, rng: &mut fastrand::Rng, choice: Choice) {
    let mut asm = Asm::new(isa);
    let contract = primitive(contract, isa);
    let compiled = compile_with(&contract, &target(isa), &mut asm, choice);
    let mut among = Asm::new(isa).with(Some(FRAGMENTS.clone()));
    let again = compile_with(&contract, &target(isa), &mut among, choice);
    assert_eq!(again.map(|code| code.entries), compiled.as_ref().map(|code| code.entries.clone()), "other entries among others");
    let mut alone = Asm::new(isa);
    compile_with(&contract, &target(isa), &mut alone, choice);
    assert!(among.finish() == alone.finish(), "other bytes among others: {contract:?}");
    check_compiled(&contract, ONE_FOR_ALL, compiled, asm, threads, rng);
}

/// Those of all cases.
static FRAGMENTS: LazyLock<Arc<Fragments>> = LazyLock::new(Arc::default);

/// One input for all columns.
const ONE_FOR_ALL: Columns = Columns { block: 1, outer: 0, inner: 0 };

fn check_compiled(
    contract: &Contraction,
    input: Columns,
    compiled: Option<ContractionCode>,
    asm: Asm,
    threads: usize,
    rng: &mut fastrand::Rng,
) {
    let isa = asm.isa();
    let compiled = compiled.unwrap_or_else(|| panic!("no code for {contract:?}"));
    let code = Code::new(asm).unwrap();
    let side = Side::ALL[rng.usize(0..3)];
    let mut args: Vec<Vec<f32>> =
        lengths(contract, input).into_iter().map(|n| (0..n).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect();
    args[contract.out.0].fill(f32::from_bits(UNWRITTEN));
    let mut packed = vec![f32::from_bits(UNWRITTEN); compiled.packing.elements() as usize];
    assert!(compiled.packing.pack(&args[contract.weight.0], &mut packed));
    assert!(!compiled.packing.pack(&args[contract.weight.0][1..], &mut packed.clone()), "an element is missing");
    let whole = Compiled::from(compiled.clone());
    let mut pieces = vec![0f32; packed.len()];
    let source: Vec<[u8; 4]> = args[contract.weight.0].iter().map(|value| value.to_ne_bytes()).collect();
    for piece in 0..whole.n_pieces() {
        // SAFETY: the packed weights are as long as they should be, and nobody else writes them.
        assert!(unsafe { whole.pack_piece(&source, pieces.as_mut_ptr(), piece) });
    }
    assert!(pieces.iter().zip(&packed).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert!(packed.iter().all(|value| value.to_bits() != UNWRITTEN));
    let mut expected = args[contract.out.0].clone();
    reference(contract, input, &args, |at, value| expected[at] = value);
    let fence = |(at, arg): (usize, &Vec<f32>)| {
        let fenced = GuardedBuffer::new(arg, side);
        if at == contract.out.0 { fenced } else { fenced.read_only() }
    };
    let fenced: Vec<GuardedBuffer<f32>> = args.iter().enumerate().map(fence).collect();
    let packed = GuardedBuffer::new(&packed, side).read_only();
    let pointers: Vec<*mut u8> = fenced.iter().map(|arg| arg.as_mut_ptr().cast()).collect();
    running(format!("{isa:?} {contract:?}"));
    let mut cost = 0;
    for piece in compiled.work.split(threads).into_iter().flatten() {
        cost += compiled.work.piece_cost(&piece);
        let packed = packed.as_ptr().cast();
        // SAFETY: the code is this contraction's, made for an instruction set this machine has; the arguments are as long as
        // its views reach.
        checked(|| unsafe { whole.sum().run(code.address(0).unwrap(), &pointers, packed, std::ptr::null_mut(), &piece) });
    }
    assert_eq!(cost, compiled.work.cost());
    for (at, (found, expected)) in fenced[contract.out.0].values().iter().zip(&expected).enumerate() {
        assert!(found.to_bits() == expected.to_bits(), "{isa:?} {at}: {found} is not {expected}\n{contract:?}");
    }
}

/// Parameters of a convolution on blocked layouts.
#[derive(Debug)]
struct Conv {
    batch: u64,
    channels: u64,
    units: u64,
    size: [u64; 2],
    kernel: [u64; 2],
    stride: u64,
    dilation: u64,
    block: u64,
    out_block: u64,
    /// Elements around the output, and its number of rows.
    out_halo: u64,
}

fn dim(extent: u64, input: u64, other: u64) -> ContractionDim {
    ContractionDim { extent, input: input as i64, other: other as i64 }
}

impl Conv {
    fn contract(&self) -> Contraction {
        let out: Vec<u64> = self.size.to_vec();
        let reach = |at: usize| (out[at] - 1) * self.stride + (self.kernel[at] - 1) * self.dilation + 1;
        let (height, width) = (reach(0), reach(1));
        let (b, o) = (self.block, self.out_block);
        let out_width = out[1] + 2 * self.out_halo;
        let out_plane = (out[0] + 2 * self.out_halo) * out_width * o;
        let taps = self.kernel[0] * self.kernel[1];
        let columns = Columns { block: o, outer: out_plane as i64, inner: 1 };
        Contraction {
            factors: Factors::Floats,
            dtype: DType::F32,
            weight_dtype: DType::F32,
            groups: 1,
            group_steps: [0; 3],
            points: vec![
                dim(self.batch, self.channels * height * width, self.units.div_ceil(o) * out_plane),
                dim(out[0], self.stride * width * b, out_width * o),
                dim(out[1], self.stride * b, o),
            ],
            columns: self.units,
            sum: vec![
                dim(self.channels / b, height * width * b, b * taps),
                dim(self.kernel[0], self.dilation * width * b, self.kernel[1]),
                dim(self.kernel[1], self.dilation * b, 1),
                dim(b, 1, taps),
            ],
            weight_columns: Columns { block: self.units, outer: 0, inner: (self.channels * taps) as i64 },
            out_columns: columns,
            input: (0, 0),
            weight: (1, 0),
            out: (2, ((out_width + 1) * self.out_halo * o) as i64),
            body: Body { instrs: vec![Instr::Read(0)] },
            result: Val(0),
            operands: Vec::new(),
        }
    }
}

/// Adds some of these to a contraction: a bias, a residual tensor, a common scale, a clip.
fn decorate(contract: &mut Contraction, choice: u32) {
    let mut body = Body::new();
    let mut value = body.read(0);
    let points = vec![0; contract.points.len()];
    let operand = |contract: &mut Contraction, group: i64, points: Vec<i64>, columns: Columns| {
        let arg = 3 + contract.operands.len();
        contract.operands.push(Operand { arg, offset: 0, group, points, columns, dtype: DType::F32 });
        contract.operands.len()
    };
    if choice & 1 != 0 {
        let columns = Columns { block: contract.columns, outer: 0, inner: 1 };
        let read = operand(contract, contract.columns as i64, points.clone(), columns);
        let bias = body.read(read);
        value = body.bin(BinaryOp::Add, value, bias);
    }
    if choice & 2 != 0 {
        let steps = contract.points.iter().map(|dim| dim.other).collect();
        let read = operand(contract, contract.group_steps[2], steps, contract.out_columns);
        let residual = body.read(read);
        value = match choice & 32 != 0 {
            true => body.bin(BinaryOp::Sub, residual, value),
            false => body.bin(BinaryOp::Add, value, residual),
        };
    }
    if choice & 4 != 0 {
        let read = operand(contract, 0, points.clone(), Columns { block: contract.columns, outer: 0, inner: 0 });
        let (scale, half) = (body.read(read), body.f32(0.5));
        value = if choice & 32 != 0 { body.fma(value, scale, half) } else { body.fma(half, scale, value) };
    }
    if choice & 8 != 0 {
        let zero = body.f32(0.0);
        value = body.bin(BinaryOp::MaxSecond, value, zero);
    }
    if choice & 16 != 0 {
        // More values at once than a full tile leaves registers.
        let powers: Vec<Val> = (0..5)
            .scan(value, |power, _| {
                *power = body.bin(BinaryOp::Mul, *power, value);
                Some(*power)
            })
            .collect();
        let tops: Vec<Val> = powers.iter().map(|&power| body.bin(BinaryOp::Sub, value, power)).collect();
        value = powers.iter().zip(&tops).fold(value, |sum, (&a, &b)| body.fma(a, b, sum));
    }
    value = activate(&mut body, value, choice);
    contract.body = body;
    contract.result = value;
}

/// Adds some functions that the machine lacks.
fn activate(body: &mut Body, mut value: Val, choice: u32) -> Val {
    if choice & 64 != 0 {
        let gate = body.un(UnaryOp::Sigmoid, value);
        value = body.bin(BinaryOp::Mul, value, gate);
    }
    if choice & 128 != 0 {
        let (one, half, erf) = (body.f32(1.0), body.f32(0.5), body.un(UnaryOp::Erf, value));
        let sum = body.bin(BinaryOp::Add, one, erf);
        let scaled = body.bin(BinaryOp::Mul, half, value);
        value = body.bin(BinaryOp::Mul, scaled, sum);
    }
    if choice & 256 != 0 {
        let (low, high) = (body.f32(-0.5), body.f32(0.75));
        let above = body.bin(BinaryOp::Max, value, low);
        value = body.bin(BinaryOp::Min, above, high);
    }
    value
}

#[test]
fn convolutions_are_chains_of_multiply_adds() {
    let mut rng = fastrand::Rng::with_seed(5);
    for isa in isas() {
        let lanes = isa.lanes() as u64;
        for round in rounds(60) {
            let out_block = [lanes, 2 * lanes, 1000][rng.usize(0..3)];
            let units = if out_block == 1000 { rng.u64(1..5 * lanes) } else { out_block * rng.u64(1..5) };
            let block = [1, 3, 4, lanes][rng.usize(0..4)];
            let conv = Conv {
                batch: rng.u64(1..3),
                channels: block * rng.u64(1..4),
                units,
                size: [rng.u64(1..10), rng.u64(1..32)],
                kernel: [rng.u64(1..4), rng.u64(1..4)],
                stride: rng.u64(1..3),
                dilation: rng.u64(1..3),
                block,
                out_block: if out_block == 1000 { units } else { out_block },
                out_halo: rng.u64(0..2),
            };
            let mut contract = conv.contract();
            decorate(&mut contract, rng.u32(0..512));
            check(&contract, isa, round % 4 + 1, &mut rng);
        }
    }
}

/// `[m, k] x [n, k]` or `[k, n]`, in `groups` parts.
fn product(groups: u64, m: u64, n: u64, k: u64, by_rows: bool) -> Contraction {
    let (weight_step, weight_column) = if by_rows { (1, k as i64) } else { (n, 1) };
    Contraction {
        factors: Factors::Floats,
        dtype: DType::F32,
        weight_dtype: DType::F32,
        groups,
        group_steps: [(m * k) as i64, (n * k) as i64, (m * n) as i64],
        points: vec![dim(m, k, n)],
        columns: n,
        sum: vec![dim(k, 1, weight_step)],
        weight_columns: Columns { block: n, outer: 0, inner: weight_column },
        out_columns: Columns { block: n, outer: 0, inner: 1 },
        input: (0, 0),
        weight: (1, 0),
        out: (2, 0),
        body: Body { instrs: vec![Instr::Read(0)] },
        result: Val(0),
        operands: Vec::new(),
    }
}

#[test]
fn products_of_every_tail_are_chains_of_multiply_adds() {
    let mut rng = fastrand::Rng::with_seed(7);
    for isa in isas() {
        for n in 1..=3 * isa.lanes() as u64 + 1 {
            let (m, k) = (rng.u64(1..40), rng.u64(1..70));
            let mut contract = product(rng.u64(1..4), m, n, k, n % 2 == 0);
            decorate(&mut contract, rng.u32(0..512));
            check(&contract, isa, 1 + n as usize % 3, &mut rng);
        }
        check(&product(1, 3, 1000, 129, true), isa, 2, &mut rng);
        check(&product(1, 1, 1, 1, true), isa, 2, &mut rng);
        let mut shared = product(3, 17, 40, 33, false);
        shared.group_steps[1] = 0;
        check(&shared, isa, 2, &mut rng);
    }
}

#[test]
fn what_is_empty_or_too_far_has_no_code() {
    let mut far = product(1, 4, 4, 4, true);
    far.points[0].input = 1 << 40;
    for contract in
        [product(1, 0, 4, 4, true), product(1, 4, 0, 4, true), product(1, 4, 4, 0, true), product(0, 4, 4, 4, true), far]
    {
        for isa in isas() {
            assert!(compile(&contract, &target(isa), &mut Asm::new(isa)).is_none());
        }
    }
}

#[test]
fn vectors_of_a_tile_lie_near_each_other() {
    let blocks = |plane: i64| Columns { block: 16, outer: 16 * plane, inner: 1 };
    for (plane, vectors, near) in [(500_000, 8, true), (5_000_000, 8, false), (5_000_000, 2, true), (-5_000_000, 8, false)] {
        assert_eq!(streams(&[blocks(plane)], &[DType::F32], vectors, 8, 16).is_some(), near, "{plane} {vectors}");
    }
}

#[test]
fn tiles_of_every_size_compute_the_same() {
    let mut rng = fastrand::Rng::with_seed(11);
    for isa in isas() {
        let lanes = isa.lanes() as u64;
        for vectors in 1..=8 {
            for most in (1..=31).filter(|&most| choose::feed(most, vectors, Factors::Floats, &target(isa)).is_some()) {
                let cut = Cut { rows: rng.u64(1..4), most };
                let size = [rng.u64(1..6), rng.u64(1..20)];
                let units = rng.u64(1..3 * vectors * lanes);
                let conv = Conv {
                    batch: 1,
                    channels: 5,
                    units,
                    size,
                    kernel: [1, 3],
                    stride: 1,
                    dilation: 1,
                    block: 5,
                    out_block: units,
                    out_halo: 0,
                };
                let mut contract = conv.contract();
                decorate(&mut contract, rng.u32(0..512));
                check_with(&contract, isa, 1, &mut rng, Choice { cut, vectors: vectors as usize });
            }
        }
    }
}

#[test]
fn windows_of_each_channel_are_chains_of_multiply_adds() {
    let mut rng = fastrand::Rng::with_seed(13);
    for isa in isas() {
        let lanes = isa.lanes() as u64;
        for round in rounds(60) {
            let out_block = [lanes, 2 * lanes, 1000][rng.usize(0..3)];
            let units = if out_block == 1000 { rng.u64(1..5 * lanes) } else { out_block * rng.u64(1..4) };
            let block = if out_block == 1000 { units } else { out_block };
            // Of more than 256 taps a loop takes a row at a time.
            let window = if round % 20 == 19 { 17 } else { [1, 2, 3, 3, 5, 7][rng.usize(0..6)] };
            let conv = Conv {
                batch: rng.u64(1..3),
                channels: block,
                units,
                size: [rng.u64(1..9), rng.u64(1..20)],
                kernel: [window, if window > 5 { window } else { rng.u64(1..6) }],
                stride: rng.u64(1..3),
                dilation: rng.u64(1..3),
                block,
                out_block: block,
                out_halo: rng.u64(0..2),
            };
            let mut contract = conv.contract();
            // One channel of the input for each of the output; the window alone is summed.
            contract.sum.truncate(3);
            contract.sum.remove(0);
            let plane = contract.points[0].input / block as i64 * block as i64;
            contract.points[0].input = plane * units.div_ceil(block) as i64;
            let taps = conv.kernel[0] * conv.kernel[1];
            contract.weight_columns = Columns { block: units, outer: 0, inner: taps as i64 };
            decorate(&mut contract, rng.u32(0..512));
            let input_columns = Columns { block, outer: plane, inner: 1 };
            let depthwise = Depthwise { contract: primitive(&contract, isa), input_columns, has_byte_weights: false };
            let mut asm = Asm::new(isa);
            let compiled = depthwise::compile(&depthwise, &target(isa), &mut asm);
            check_compiled(&depthwise.contract, input_columns, compiled, asm, round % 4 + 1, &mut rng);
        }
    }
}

#[test]
fn windows_of_small_groups_are_chains_of_multiply_adds() {
    let mut rng = fastrand::Rng::with_seed(29);
    for isa in isas() {
        let lanes = isa.lanes() as u64;
        for round in rounds(60) {
            let group = [2, 4, 8].into_iter().filter(|group| 2 * group <= lanes).nth(rng.usize(0..isa.lanes() / 4 - 1)).unwrap();
            let groups = rng.u64(lanes / group..4 * lanes / group);
            let channels = groups * group;
            let window = [1, 2, 3, 3, 5][rng.usize(0..5)];
            let conv = Conv {
                batch: rng.u64(1..3),
                channels,
                units: channels,
                size: [rng.u64(1..9), rng.u64(1..20)],
                kernel: [window, rng.u64(1..6)],
                stride: rng.u64(1..3),
                dilation: rng.u64(1..3),
                block: channels,
                out_block: channels,
                out_halo: rng.u64(0..2),
            };
            let taps = conv.kernel[0] * conv.kernel[1];
            let mut contract = conv.contract();
            contract.groups = groups;
            contract.columns = group;
            contract.group_steps = [group as i64, (group * group * taps) as i64, group as i64];
            contract.weight_columns = Columns { block: group, outer: 0, inner: (group * taps) as i64 };
            contract.sum.last_mut().unwrap().extent = group;
            decorate(&mut contract, rng.u32(0..512));
            let contract = primitive(&contract, isa);
            let mut asm = Asm::new(isa);
            let compiled = grouped::compile(&contract, &target(isa), &mut asm);
            check_compiled(&contract, ONE_FOR_ALL, compiled, asm, round % 4 + 1, &mut rng);
        }
    }
}

/// The row method sums in another order, so it is compared with f64, within the hard bound.
#[test]
fn few_points_times_rows_stay_within_the_bound() {
    let mut rng = fastrand::Rng::with_seed(17);
    for isa in isas() {
        for round in rounds(120) {
            let m = rng.u64(1..if isa == Isa::Avx2 { 4 } else { 8 });
            let (n, k) = (rng.u64(1..70), if round < 60 { rng.u64(1..80) } else { rng.u64(1..700) });
            let mut contract = product(rng.u64(1..3), m, n, k, true);
            decorate(&mut contract, [0, 1, 8, 9][rng.usize(0..4)]);
            let mut asm = Asm::new(isa);
            let compiled = compile_rows(&contract, &target(isa), &mut asm).unwrap();
            let code = Code::new(asm).unwrap();
            let side = Side::ALL[rng.usize(0..3)];
            let mut args: Vec<Vec<f32>> =
                lengths(&contract, ONE_FOR_ALL).into_iter().map(|n| (0..n).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect();
            args[2].fill(f32::from_bits(UNWRITTEN));
            let fenced: Vec<GuardedBuffer<f32>> = args.iter().map(|arg| GuardedBuffer::new(arg, side)).collect();
            let pointers: Vec<*mut u8> = fenced.iter().map(|arg| arg.as_mut_ptr().cast()).collect();
            running(format!("{isa:?} {contract:?}"));
            assert!(!compiled.is_packed());
            let compiled = Compiled::from(compiled);
            for piece in compiled.split(1 + round % 3).into_iter().flatten() {
                let (packed, scratch) = (std::ptr::null(), std::ptr::null_mut());
                // SAFETY: the code is this contraction's; the arguments are as long as its views reach.
                checked(|| unsafe { compiled.sum().run(code.address(0).unwrap(), &pointers, packed, scratch, &piece) });
            }
            // Twice the bound for the chain, as the chain itself has an error of its own.
            let u = 2f64.powi(-24);
            reference(&contract, ONE_FOR_ALL, &args, |at, value| {
                let found = fenced[2].values()[at];
                let bound = 2.0 * (k as f64 + 3.0) * u * k as f64;
                assert!((f64::from(found) - f64::from(value)).abs() <= bound + 4.0 * u, "{found} is not {value} {contract:?}");
            });
        }
        let mut strided = product(1, 2, 8, 8, false);
        assert!(compile_rows(&strided, &target(isa), &mut Asm::new(isa)).is_none(), "columns lie one after another");
        strided = product(1, 40, 8, 8, true);
        assert!(compile_rows(&strided, &target(isa), &mut Asm::new(isa)).is_none(), "too many points");
    }
}

/// Packs weights as artifacts do when a run computes them.
fn packed_in_a_run<T>(compiled: &Compiled, weights: &[T]) -> Vec<f32> {
    let (mut words, mut packed) = (vec![], vec![f32::NAN; compiled.packed_bytes().div_ceil(4)]);
    compiled.flatten_packing(&mut words);
    // SAFETY: the words are those of a packing.
    let packing = relayc_runtime::pack::Packing::read(&mut unsafe { Words::at(words.as_ptr().cast(), 0) });
    for piece in 0..packing.n_pieces() {
        // SAFETY: both sides are as long as the packing says.
        unsafe { packing.pack(weights.as_ptr().cast(), packed.as_mut_ptr(), piece) };
    }
    packed
}

/// Runs a convolution by Winograd's method and returns its relative error over all outputs, and that of the direct sum.
fn winograd_error(contract: &Contraction, size: Size, isa: Isa, threads: usize, rng: &mut fastrand::Rng) -> f64 {
    let mut asm = Asm::new(isa);
    let small = Target { threads, l2: [64 << 10, 1 << 20][rng.usize(0..2)], ..target(isa) };
    let compiled = winograd::compile(contract, size, &small, &mut asm).unwrap_or_else(|| panic!("no code for {contract:?}"));
    let code = Code::new(asm).unwrap();
    let side = Side::ALL[rng.usize(0..3)];
    let mut args: Vec<Vec<f32>> =
        lengths(contract, ONE_FOR_ALL).into_iter().map(|n| (0..n).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect();
    args[2].fill(f32::from_bits(UNWRITTEN));
    let mut expected = args[2].clone();
    reference(contract, ONE_FOR_ALL, &args, |at, value| expected[at] = value);
    let mut packed = vec![f32::NAN; compiled.filters.elements() as usize];
    assert!(compiled.filters.pack_from(&mut &args[1][..], &mut packed, |value| value));
    let fenced: Vec<GuardedBuffer<f32>> = args.iter().map(|arg| GuardedBuffer::new(arg, side)).collect();
    let compiled = Compiled::from(compiled);
    let again = packed_in_a_run(&compiled, &args[1]);
    assert!(again.iter().zip(&packed).all(|(a, b)| a.to_bits() == b.to_bits()), "runs pack otherwise: {contract:?}");
    let packed = GuardedBuffer::new(&packed, side).read_only();
    let pointers: Vec<*mut u8> = fenced.iter().map(|arg| arg.as_mut_ptr().cast()).collect();
    running(format!("{isa:?} {size:?} {contract:?}"));
    for pieces in compiled.split(threads) {
        let scratch = GuardedBuffer::new(&vec![f32::NAN; compiled.scratch_len()], side);
        for piece in pieces {
            let (packed, scratch) = (packed.as_ptr().cast(), scratch.as_mut_ptr().cast());
            // SAFETY: the code is this convolution's; the arguments are as long as its views reach, the scratch memory as it asks.
            checked(|| unsafe { compiled.sum().run(code.address(0).unwrap(), &pointers, packed, scratch, &piece) });
        }
    }
    let (mut error, mut scale) = (0.0, 0.0);
    for (at, (&found, &expected)) in fenced[2].values().iter().zip(&expected).enumerate() {
        if expected.to_bits() == UNWRITTEN {
            assert!(found.to_bits() == UNWRITTEN, "{at} was written: {contract:?}");
        } else {
            assert!(found.is_finite(), "{isa:?} {size:?} {at}: {found} {}\n{contract:?}", compiled.describe());
            error += (f64::from(found) - f64::from(expected)).powi(2);
            scale += f64::from(expected).powi(2);
        }
    }
    (error / scale.max(1e-30)).sqrt()
}

#[test]
fn convolutions_by_tiles_are_near_the_direct_sum() {
    let mut rng = fastrand::Rng::with_seed(19);
    for isa in isas() {
        let lanes = isa.lanes() as u64;
        for round in rounds(15) {
            let block = if round % 3 == 0 { lanes * rng.u64(1..4) } else { lanes };
            let units = lanes * rng.u64(1..6);
            let conv = Conv {
                batch: rng.u64(1..3),
                channels: if block == lanes { lanes * rng.u64(1..4) } else { block },
                units,
                size: [rng.u64(1..20), rng.u64(1..20)],
                kernel: [3, 3],
                stride: 1,
                dilation: 1,
                block,
                out_block: if round % 2 == 0 { lanes } else { units },
                out_halo: rng.u64(0..2),
            };
            let mut contract = conv.contract();
            decorate(&mut contract, [0, 1, 2, 3, 9, 11][rng.usize(0..6)]);
            for (size, bound) in [(Size::Two, 1e-6), (Size::Four, 4e-6)] {
                let error = winograd_error(&contract, size, isa, 1 + round % 3, &mut rng);
                assert!(error < bound, "{isa:?} {size:?} {error:e} {contract:?}");
            }
        }
    }
}

/// Windows of two or three times their stride, with channels in vectors and, with stride 4, in planes.
#[test]
fn convolutions_with_strides_by_tiles_are_near_the_direct_sum() {
    let mut rng = fastrand::Rng::with_seed(29);
    for isa in isas() {
        let lanes = isa.lanes() as u64;
        for (side, stride) in [(2, 1), (2, 2), (2, 3), (3, 2), (2, 4)] {
            for round in rounds(4) {
                let block = match round % 3 {
                    0 if stride == 4 => 1,
                    0 => lanes * rng.u64(1..3),
                    _ => lanes,
                };
                let conv = Conv {
                    batch: rng.u64(1..3),
                    channels: block * rng.u64(1..4),
                    units: lanes * rng.u64(1..5),
                    size: [rng.u64(1..12), rng.u64(1..12)],
                    kernel: [side * stride, side * stride],
                    stride,
                    dilation: 1,
                    block,
                    out_block: lanes,
                    out_halo: rng.u64(0..2),
                };
                let mut contract = conv.contract();
                decorate(&mut contract, [0, 1, 2, 3, 9, 11][rng.usize(0..6)]);
                let fits = Size::ALL.into_iter().filter(|size| size.taps() as u64 == side);
                for size in fits {
                    let error = winograd_error(&contract, size, isa, 1 + round % 3, &mut rng);
                    // The chain that is the reference has an error of its own, which grows with the root of its length.
                    let terms: u64 = contract.sum.iter().map(|dim| dim.extent).product();
                    let longer = (terms as f64 / 432.0).sqrt().max(1.0);
                    let bound = longer * if size.inputs() == 4 { 1e-6 } else { 4e-6 };
                    assert!(error < bound, "{isa:?} {size:?} {error:e} {contract:?}");
                }
            }
        }
    }
}

#[test]
fn columns_that_lie_apart_are_parts_of_fewer() {
    let mut rng = fastrand::Rng::with_seed(23);
    for isa in isas() {
        for round in rounds(40) {
            // Blocks that are no whole vectors, and planes of single columns.
            let block = [1, 2, 3, 4, 5, 8, 12][rng.usize(0..7)];
            let conv = Conv {
                batch: 1,
                channels: 3,
                units: block * rng.u64(1..7),
                size: [rng.u64(1..5), rng.u64(1..9)],
                kernel: [2, 3],
                stride: 1,
                dilation: 1,
                block: 3,
                out_block: block,
                out_halo: rng.u64(0..2),
            };
            let mut contract = conv.contract();
            decorate(&mut contract, rng.u32(0..512));
            check(&contract, isa, round % 3 + 1, &mut rng);
        }
    }
}
