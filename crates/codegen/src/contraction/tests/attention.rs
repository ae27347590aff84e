//! Compares attention by blocks with its three kernels one after the other.
//!
//! Both take the same sums of products. The sum of a row's exponentials may be taken in another order.

use super::*;
use crate::nest;
use relayc_ir::kernel::{Access, Attention, Kernel, Nest, Operand, ReduceDim, Reduction, Stage, Store};

/// Sizes of an attention, whose parts lie side by side in each row, and what is added to its scores.
#[derive(Debug)]
struct Sizes {
    /// Parts: a batch, and heads. Heads share keys and values in groups of this many.
    parts: [u64; 2],
    shared: u64,
    rows: u64,
    keys: u64,
    depth: u64,
    width: u64,
    /// Whether the mask has rows of its own.
    rows_of_mask: bool,
    /// Whether each column of the result is divided by a number of its own.
    divided: bool,
}

impl Sizes {
    fn random(rng: &mut fastrand::Rng) -> Sizes {
        let shared = rng.u64(1..3);
        Sizes {
            parts: [rng.u64(1..3), shared * rng.u64(1..3)],
            shared,
            rows: [5, 12, 13, 31, 50, 97][rng.usize(0..6)],
            keys: [1, 7, 16, 33, 64, 100][rng.usize(0..6)],
            depth: [1, 5, 8, 24, 32, 64][rng.usize(0..6)],
            width: [1, 8, 11, 16, 40, 64][rng.usize(0..6)],
            rows_of_mask: rng.bool(),
            divided: rng.bool(),
        }
    }

    fn n_parts(&self) -> u64 {
        self.parts[0] * self.parts[1]
    }
}

/// The arguments: queries, keys, values, mask, divisors, results, then the scores.
const QUERY: usize = 0;
const KEY: usize = 1;
const VALUE: usize = 2;
const MASK: usize = 3;
const DIVISOR: usize = 4;
const OUT: usize = 5;
const SCORES: usize = 6;

/// Softmax of the scores plus a mask, in place.
fn softmax(sizes: &Sizes) -> Nest {
    let dims = vec![sizes.parts[0], sizes.parts[1], sizes.rows];
    let [rows, keys] = [sizes.rows as i64, sizes.keys as i64];
    let scores = vec![sizes.parts[1] as i64 * rows * keys, rows * keys, keys];
    let access = |arg, kept| Access { arg, dtype: DType::F32, offset: 0, kept, reduced: vec![1] };
    let mask = if sizes.rows_of_mask { vec![rows * keys, 0, keys] } else { vec![keys, 0, 0] };
    let reads = vec![access(SCORES, scores.clone()), access(MASK, mask)];
    let masked = |body: &mut Body| {
        let (score, mask) = (body.read(0), body.read(1));
        body.bin(BinaryOp::Add, score, mask)
    };
    let mut body = Body::new();
    let score = masked(&mut body);
    let max = Stage { each: true, body, reductions: vec![(score, Reduction::Max)], stores: vec![] };
    let mut body = Body::new();
    let (score, max_of_row) = (masked(&mut body), body.folded(0));
    let shifted = body.bin(BinaryOp::Sub, score, max_of_row);
    let exp = body.un(UnaryOp::Exp, shifted);
    let stores = vec![Store { val: exp, write: 0 }];
    let sum = Stage { each: true, body, reductions: vec![(exp, Reduction::Sum)], stores: stores.clone() };
    let mut body = Body::new();
    let (exp, sum_of_row) = (body.read(0), body.folded(1));
    let val = body.bin(BinaryOp::Div, exp, sum_of_row);
    let last = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
    let reduce = vec![ReduceDim { extent: sizes.keys, clip: None }];
    Nest { dims, reduce, reads, writes: vec![access(SCORES, scores)], stages: vec![max, sum, last] }
}

fn attention(sizes: &Sizes) -> Attention {
    let &Sizes { rows, keys, depth, width, .. } = sizes;
    let (parts, own) = (sizes.n_parts(), sizes.n_parts() / sizes.shared);
    let mut body = Body::new();
    let result = body.read(0);
    let all = |columns: u64, inner: u64| Columns { block: columns, outer: 0, inner: inner as i64 };
    // Heads that share keys: the step from part to part is one of several queries for the same keys.
    let step = |part: u64| if sizes.shared == 1 { part as i64 } else { 0 };
    let scores = Contraction {
        factors: Factors::Floats,
        dtype: DType::F32,
        weight_dtype: DType::F32,
        groups: parts,
        group_steps: [depth as i64, step(depth), (rows * keys) as i64],
        points: vec![dim(rows, parts * depth, keys)],
        columns: keys,
        sum: vec![dim(depth, 1, 1)],
        weight_columns: all(keys, own * depth),
        out_columns: all(keys, 1),
        input: (QUERY, 0),
        weight: (KEY, 0),
        out: (SCORES, 0),
        body: body.clone(),
        result,
        operands: vec![],
    };
    let divisor =
        Operand { arg: DIVISOR, dtype: DType::F32, offset: 0, group: width as i64, points: vec![0], columns: all(width, 1) };
    let (mut divided, operand) = (Body::new(), vec![divisor]);
    let (sum, by) = (divided.read(0), divided.read(1));
    let quotient = divided.bin(BinaryOp::Div, sum, by);
    let (body, result, operands) = if sizes.divided { (divided, quotient, operand) } else { (body, result, vec![]) };
    let values = Contraction {
        group_steps: [(rows * keys) as i64, step(width), width as i64],
        points: vec![dim(rows, keys, parts * width)],
        columns: width,
        sum: vec![dim(keys, 1, own * width)],
        weight_columns: all(width, 1),
        out_columns: all(width, 1),
        input: (SCORES, 0),
        weight: (VALUE, 0),
        out: (OUT, 0),
        body,
        result,
        operands,
        ..scores.clone()
    };
    Attention::of(scores, softmax(sizes), values, SCORES).expect("the kernels agree")
}

/// The results of the three kernels one after the other.
fn by_steps(attention: &Attention, isa: Isa, args: &mut [Vec<f32>]) {
    let pointers = |args: &mut [Vec<f32>]| -> Vec<*mut u8> { args.iter_mut().map(|arg| arg.as_mut_ptr().cast()).collect() };
    let product = |contract: &Contraction, args: &mut [Vec<f32>]| {
        let mut asm = Asm::new(isa);
        let contract = primitive(contract, isa);
        let compiled = compile(&contract, &target(isa), &mut asm).expect("there is code");
        let code = Code::new(asm).unwrap();
        let mut packed = vec![0f32; compiled.packing.elements() as usize];
        assert!(compiled.packing.pack(&args[contract.weight.0], &mut packed));
        let whole = Compiled::from(compiled);
        for piece in whole.split(1).into_iter().flatten() {
            // SAFETY: the code is this contraction's, and the arguments are as long as its views reach.
            checked(|| unsafe {
                whole.sum().run(code.address(0).unwrap(), &pointers(args), packed.as_ptr().cast(), std::ptr::null_mut(), &piece);
            });
        }
    };
    product(&attention.scores, args);
    let mut asm = Asm::new(isa);
    let nest = nest::compile(&mut asm, &attention.rows, None).expect("there is code");
    let code = Code::new(asm).unwrap();
    // SAFETY: the entry is that of the nest.
    let function = unsafe { code.function::<unsafe extern "sysv64" fn(*const *mut u8, usize, usize)>(nest.entry) };
    // SAFETY: the arguments are as long as its accesses reach.
    checked(|| unsafe { function.expect("the entry is in the code").get()(pointers(args).as_ptr(), 0, nest.n_items) });
    product(&attention.values, args);
}

fn check_blocks(sizes: &Sizes, isa: Isa, threads: usize, rng: &mut fastrand::Rng) {
    let attention = attention(sizes);
    let own = sizes.n_parts() / sizes.shared;
    let mask = if sizes.rows_of_mask { sizes.rows } else { 1 };
    let lengths = [
        sizes.rows * sizes.n_parts() * sizes.depth,
        sizes.keys * own * sizes.depth,
        sizes.keys * own * sizes.width,
        sizes.parts[0] * mask * sizes.keys,
        sizes.n_parts() * sizes.width,
        sizes.rows * sizes.n_parts() * sizes.width,
        sizes.n_parts() * sizes.rows * sizes.keys,
    ];
    let mut args: Vec<Vec<f32>> = lengths.into_iter().map(|n| (0..n).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect();
    args[DIVISOR].iter_mut().for_each(|by| *by += 2.0);
    args[OUT].fill(f32::from_bits(UNWRITTEN));
    let mut expected = args.clone();
    by_steps(&attention, isa, &mut expected);
    let mut asm = Asm::new(isa);
    let kernel = Kernel::Attention(Box::new(attention));
    let (compiled, reason) = Compiled::of(&kernel, Weights::Computed, None, &target(isa), &mut asm).expect("there is code");
    assert!(reason.name.starts_with("attention") && reason.why.contains("separate steps"), "{reason:?}");
    let code = Code::new(asm).unwrap();
    let side = Side::ALL[rng.usize(0..3)];
    let fence = |(at, arg): (usize, &Vec<f32>)| {
        let fenced = GuardedBuffer::new(arg, side);
        if at == OUT { fenced } else { fenced.read_only() }
    };
    let fenced: Vec<GuardedBuffer<f32>> = args[..SCORES].iter().enumerate().map(fence).collect();
    let scratch: GuardedBuffer<f32> = GuardedBuffer::output(compiled.scratch_len(), Side::Aligned);
    let pointers: Vec<*mut u8> = fenced.iter().map(|arg| arg.as_mut_ptr().cast()).collect();
    running(format!("{isa:?} {sizes:?}"));
    for piece in compiled.split(threads).into_iter().flatten() {
        // SAFETY: the code is this kernel's; the arguments are as long as its views reach, and the scratch memory as it asks.
        checked(|| unsafe {
            compiled.sum().run(code.address(0).unwrap(), &pointers, std::ptr::null(), scratch.as_mut_ptr().cast(), &piece)
        });
    }
    for (at, (found, expected)) in fenced[OUT].values().iter().zip(&expected[OUT]).enumerate() {
        // Weights sum to 1, values and quotients are below 1, and each of the two sums of a row is off by less than this share.
        let bound = 2.0 * (sizes.keys + 8) as f32 * f32::EPSILON;
        assert!((found - expected).abs() <= bound, "{isa:?} {at}: {found} is not {expected}\n{sizes:?}");
    }
}

#[test]
fn blocks_give_what_steps_give() {
    let mut rng = fastrand::Rng::with_seed(11);
    for isa in isas() {
        for _ in rounds(150) {
            let sizes = Sizes::random(&mut rng);
            let threads = rng.usize(1..5);
            check_blocks(&sizes, isa, threads, &mut rng);
        }
    }
}

#[test]
fn there_is_code_for_both_instruction_sets() {
    let mut rng = fastrand::Rng::with_seed(12);
    for isa in [Isa::Avx2, Isa::Avx512] {
        for _ in 0..20 {
            let kernel = Kernel::Attention(Box::new(attention(&Sizes::random(&mut rng))));
            let mut asm = Asm::new(isa);
            assert!(Compiled::of(&kernel, Weights::Computed, None, &target(isa), &mut asm).is_some(), "{kernel:?}");
            assert!(asm.finish().is_ok());
        }
    }
}

#[test]
fn few_rows_are_left_to_steps() {
    let sizes = Sizes { parts: [1, 4], shared: 1, rows: 1, keys: 300, depth: 64, width: 64, rows_of_mask: false, divided: false };
    assert!(!super::super::attention::is_faster(&attention(&sizes), &Target::AVX2));
    assert!(super::super::attention::is_faster(&attention(&Sizes { rows: 128, ..sizes }), &Target::AVX2));
}

#[test]
fn operands_with_columns_apart_are_left_to_steps() {
    let sizes = Sizes { parts: [1, 4], shared: 1, rows: 96, keys: 64, depth: 32, width: 32, rows_of_mask: false, divided: true };
    let mut apart = attention(&sizes);
    assert!(super::super::attention::is_faster(&apart, &Target::AVX2));
    apart.values.operands[0].columns.inner = 2;
    assert!(!super::super::attention::is_faster(&apart, &Target::AVX2));
    let mut asm = Asm::new(Isa::Avx2);
    assert!(Compiled::of(&Kernel::Attention(Box::new(apart)), Weights::Computed, None, &Target::AVX2, &mut asm).is_none());
}
