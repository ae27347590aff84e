//! Compares random products of bytes with plain code, bit for bit, between guard pages.

use super::*;
use relayc_ir::kernel::{BYTES, ByteProducts};

/// The targets of this machine: each instruction set, and that with products of words.
fn targets() -> impl Iterator<Item = (Isa, Target)> {
    let of = |isa, byte_products| (isa, Target { byte_products, ..target(isa) });
    let words = Cpu::get().vnni.then(|| of(Isa::Avx512, ByteProducts::Words));
    isas().into_iter().map(move |isa| of(isa, ByteProducts::Pairs)).chain(words)
}

/// Weights of one column as elements of 4 bytes.
fn elements(weights: &[u8], factors: Factors) -> Vec<[u8; 4]> {
    let pair = |pair: &[u8]| [pair[0], pair[1]].map(|weight| i16::from(weight as i8).to_ne_bytes());
    match factors {
        Factors::Pairs => weights.chunks_exact(2).map(|two| pair(two).concat().try_into().unwrap()).collect(),
        _ => weights.chunks_exact(4).map(|word| word.try_into().unwrap()).collect(),
    }
}

/// `[m, 4k] x [n, 4k]` of bytes with an int32 for each column, a byte for each element and a byte for all added, scaled and limited
/// to a byte.
fn product_of_bytes(factors: Factors, m: u64, n: u64, k: u64, dtype: DType) -> Contraction {
    let k = k * BYTES / factors.products();
    let mut body = Body::new();
    let (sum, bias, residual, common) = (body.read(0), body.read(1), body.read(2), body.read(3));
    let sum = body.bin(BinaryOp::Add, sum, bias);
    let float = body.un(UnaryOp::ToFloat, sum);
    let scale = body.f32(1.0 / 64.0);
    let float = body.bin(BinaryOp::Mul, float, scale);
    let residual = body.un(UnaryOp::To(ScalarType::F32), residual);
    let float = body.bin(BinaryOp::Add, float, residual);
    let common = body.un(UnaryOp::To(ScalarType::F32), common);
    let float = body.bin(BinaryOp::Add, float, common);
    let result = body.un(UnaryOp::To(ScalarType::of(dtype).unwrap()), float);
    let rows = Columns { block: n, outer: 0, inner: 1 };
    Contraction {
        factors,
        dtype,
        weight_columns: Columns { block: n, outer: 0, inner: k as i64 },
        operands: vec![
            Operand { arg: 3, dtype: DType::I32, offset: 0, group: 0, points: vec![0], columns: rows },
            Operand { arg: 4, dtype, offset: 0, group: 0, points: vec![n as i64], columns: rows },
            Operand { arg: 5, dtype, offset: 0, group: 0, points: vec![0], columns: Columns { inner: 0, ..rows } },
        ],
        body,
        result,
        ..product(1, m, n, k, true)
    }
}

/// The bits of a number limited to 8 bits.
fn limited(number: f32, dtype: DType) -> u8 {
    if dtype == DType::I8 { number as i8 as u8 } else { number as u8 }
}

fn value(byte: u8, dtype: DType) -> i32 {
    if dtype == DType::I8 { i32::from(byte as i8) } else { i32::from(byte) }
}

#[test]
fn products_of_bytes_are_exact() {
    let mut rng = fastrand::Rng::with_seed(3);
    for ((isa, target), n) in targets().flat_map(|target| (1..60).map(move |n| (target, n))) {
        let by_words = target.byte_products == ByteProducts::Words && rng.bool();
        let factors = if by_words { Factors::Bytes } else { Factors::Pairs };
        // AVX2 has no masks for bytes.
        let n = if isa == Isa::Avx2 { 8 * n } else { n };
        let (m, k, dtype) = (rng.u64(1..40), rng.u64(1..30), [DType::U8, DType::I8][rng.usize(0..2)]);
        let contract = primitive(&product_of_bytes(factors, m, n, k, dtype), isa);
        let mut asm = Asm::new(isa);
        let compiled = super::super::compile(&contract, &target, &mut asm).expect("there is code for it");
        let code = Code::new(asm).unwrap();
        let (length, side) = ((BYTES * k) as usize, Side::ALL[rng.usize(0..3)]);
        let mut bytes = |n: u64| (0..n).map(|_| rng.u8(..)).collect::<Vec<u8>>();
        let (input, weights, residual) = (bytes(m * BYTES * k), bytes(n * BYTES * k), bytes(m * n));
        let common = bytes(1);
        let bias: Vec<i32> = (0..n).map(|_| rng.i32(-9999..9999)).collect();
        let words = elements(&weights, factors);
        let mut packed = vec![[0u8; 4]; compiled.packing.elements() as usize];
        assert!(compiled.packing.pack(&words, &mut packed));
        let out = GuardedBuffer::<u8>::output((m * n) as usize, side);
        let (input_at, bias_at) = (GuardedBuffer::new(&input, side).read_only(), GuardedBuffer::new(&bias, side).read_only());
        let residual_at = GuardedBuffer::new(&residual, side).read_only();
        let packed = GuardedBuffer::new(packed.as_flattened(), side).read_only();
        let common_at = GuardedBuffer::new(&common, side).read_only();
        let pointers: [*mut u8; 6] = [
            input_at.as_mut_ptr(),
            std::ptr::null_mut(),
            out.as_mut_ptr(),
            bias_at.as_mut_ptr().cast(),
            residual_at.as_mut_ptr(),
            common_at.as_mut_ptr(),
        ];
        running(format!("{contract:?}"));
        let whole = Compiled::from(compiled);
        for piece in whole.split(2).into_iter().flatten() {
            // SAFETY: the machine has these instructions, and the arguments are as long as the views reach.
            checked(|| unsafe {
                whole.sum().run(code.address(0).unwrap(), &pointers, packed.as_ptr().cast(), std::ptr::null_mut(), &piece);
            });
        }
        for (at, found) in out.values().iter().enumerate() {
            let (row, column) = (at / n as usize, at % n as usize);
            let products = input[row * length..][..length].iter().zip(&weights[column * length..][..length]);
            let sum: i32 = products.map(|(&x, &w)| i32::from(x) * i32::from(w as i8)).sum::<i32>() + bias[column];
            let number = sum as f32 / 64.0 + value(residual[at], dtype) as f32 + value(common[0], dtype) as f32;
            assert_eq!(*found, limited(number, dtype), "{at} of {m}x{n}x{k}");
        }
    }
}

/// Channels side by side, or in blocks of a vector, whose windows may be summed by words of pixels.
#[test]
fn depthwise_windows_of_bytes_are_exact() {
    let mut rng = fastrand::Rng::with_seed(4);
    for ((isa, target), round) in targets().flat_map(|target| (1..150u64).map(move |round| (target, round))) {
        let lanes = isa.lanes() as u64;
        let in_blocks = round > 50;
        let channels = if in_blocks || isa == Isa::Avx2 { lanes * rng.u64(1..4) } else { round };
        let block = if in_blocks { lanes } else { channels };
        let ([high, wide], stride) = ([rng.u64(1..10), rng.u64(1..20)], rng.u64(1..3));
        let [tall, taps] = [rng.u64(1..5), rng.u64(1..10)];
        let (rows, columns) = (stride * (high - 1) + tall, stride * (wide - 1) + taps);
        let contract = Contraction {
            factors: Factors::Widened,
            dtype: DType::I32,
            points: vec![dim(high, stride * columns * block, wide * channels), dim(wide, stride * block, channels)],
            sum: vec![dim(tall, columns * block, taps), dim(taps, block, 1)],
            weight_columns: Columns { block: channels, outer: 0, inner: (tall * taps) as i64 },
            ..product(1, 1, channels, 1, true)
        };
        let input_columns = Columns { block, outer: (rows * columns * block) as i64, inner: 1 };
        let mut asm = Asm::new(isa);
        let depthwise = Depthwise { contract: primitive(&contract, isa), input_columns, has_byte_weights: true };
        let compiled = depthwise::compile(&depthwise, &target, &mut asm).expect("there is code for it");
        let code = Code::new(asm).unwrap();
        let side = Side::ALL[rng.usize(0..3)];
        let input: Vec<u8> = (0..rows * columns * channels).map(|_| rng.u8(..)).collect();
        let weights: Vec<i32> = (0..channels * tall * taps).map(|_| rng.i8(..).into()).collect();
        let words: Vec<[u8; 4]> = weights.iter().map(|weight| weight.to_ne_bytes()).collect();
        let mut packed = vec![[0u8; 4]; compiled.packing.elements() as usize];
        assert!(compiled.packing.pack(&words, &mut packed));
        let out = GuardedBuffer::<i32>::output((high * wide * channels) as usize, side);
        let (input_at, packed) =
            (GuardedBuffer::new(&input, side).read_only(), GuardedBuffer::new(packed.as_flattened(), side).read_only());
        let pointers: [*mut u8; 3] = [input_at.as_mut_ptr(), std::ptr::null_mut(), out.as_mut_ptr().cast()];
        running(format!("{contract:?}"));
        let whole = Compiled::from(compiled);
        for piece in whole.split(2).into_iter().flatten() {
            // SAFETY: the machine has these instructions, and the arguments are as long as the views reach.
            checked(|| unsafe {
                whole.sum().run(code.address(0).unwrap(), &pointers, packed.as_ptr().cast(), std::ptr::null_mut(), &piece);
            });
        }
        let mut at = 0;
        each(&[high, wide, channels], |p| {
            let mut sum = 0;
            each(&[tall, taps], |k| {
                let pixel = (stride * p[0] + k[0]) * columns + stride * p[1] + k[1];
                let place = input_columns.offset(p[2]) as u64 + pixel * block;
                let weight = weights[((p[2] * tall + k[0]) * taps + k[1]) as usize];
                sum += i32::from(input[place as usize]) * weight;
            });
            assert_eq!(out.values()[at], sum, "{p:?} of {high}x{wide}x{channels}, window {tall}x{taps} by {stride}");
            at += 1;
        });
    }
}

/// Convolutions of 3x3 in blocks of half a vector of pairs, of which two fill one, or of whole vectors; scaled to bytes, or not.
#[test]
fn convolutions_of_bytes_by_tiles_are_exact() {
    let mut rng = fastrand::Rng::with_seed(37);
    for (isa, round) in [Isa::Avx2, Isa::Avx512].into_iter().flat_map(|isa| (0..24).map(move |round| (isa, round))) {
        let lanes = isa.lanes() as u64;
        let block = if round % 3 == 0 { lanes * rng.u64(1..3) } else { lanes / 2 };
        let conv = Conv {
            batch: rng.u64(1..3),
            channels: if round % 3 == 0 { block } else { 2 * block * rng.u64(1..4) },
            units: lanes * rng.u64(1..5),
            size: [rng.u64(1..20), rng.u64(1..20)],
            kernel: [3, 3],
            stride: 1,
            dilation: 1,
            block,
            out_block: lanes,
            out_halo: rng.u64(0..2),
        };
        let mut body = Body::new();
        let sum = body.read(0);
        let (dtype, result) = match round % 2 {
            0 => (DType::I32, sum),
            _ => {
                let (float, scale) = (body.un(UnaryOp::ToFloat, sum), body.f32(1.0 / 256.0));
                let float = body.bin(BinaryOp::Mul, float, scale);
                (DType::U8, body.un(UnaryOp::To(ScalarType::U8), float))
            }
        };
        let contract = Contraction { factors: Factors::Pairs, dtype, body, result, ..conv.contract() };
        let contract = primitive(&contract, isa);
        let has_words = isa == Isa::Avx512 && Cpu::get().vnni && rng.bool();
        let byte_products = if has_words { ByteProducts::Words } else { ByteProducts::Pairs };
        let small = Target { threads: 1 + round % 3, l2: [64 << 10, 1 << 20][rng.usize(0..2)], byte_products, ..target(isa) };
        let mut asm = Asm::new(isa);
        let compiled = winograd::compile(&contract, Size::Whole, &small, &mut asm).expect("there is code for it");
        if !Cpu::get().has(isa) {
            assert!(asm.finish().is_ok());
            continue;
        }
        let [inputs, weights, outputs] = lengths(&contract, ONE_FOR_ALL)[..] else { unreachable!("it has no operands") };
        let input: Vec<u8> = (0..2 * inputs).map(|_| if round % 5 == 0 { 255 } else { rng.u8(..) }).collect();
        let weights: Vec<i16> = (0..2 * weights).map(|_| rng.i8(-127..=127).into()).collect();
        assert!(contract.is_exact_by_tiles(&weights));
        let words: Vec<[u8; 4]> = weights
            .chunks_exact(2)
            .map(|two| [two[0].to_ne_bytes(), two[1].to_ne_bytes()].concat().try_into().unwrap())
            .collect();
        let mut packed = vec![0f32; compiled.filters.elements() as usize];
        assert!(compiled.filters.pack_from(&mut &words[..], &mut packed, f32::from_ne_bytes));
        let whole = Compiled::from(compiled);
        let again = packed_in_a_run(&whole, words.as_flattened());
        assert!(again.iter().zip(&packed).all(|(a, b)| a.to_bits() == b.to_bits()), "runs pack otherwise: {contract:?}");
        let side = Side::ALL[rng.usize(0..3)];
        let size = dtype.bytes() as usize;
        let out = GuardedBuffer::<u8>::new(&vec![0xa5; size * outputs], side);
        let (input_at, packed) = (GuardedBuffer::new(&input, side).read_only(), GuardedBuffer::new(&packed, side).read_only());
        let pointers: [*mut u8; 3] = [input_at.as_mut_ptr(), std::ptr::null_mut(), out.as_mut_ptr()];
        running(format!("{isa:?} {contract:?}"));
        let code = Code::new(asm).unwrap();
        for pieces in whole.split(small.threads) {
            let scratch = GuardedBuffer::new(&vec![f32::NAN; whole.scratch_len()], side);
            for piece in pieces {
                let (packed, scratch) = (packed.as_ptr().cast(), scratch.as_mut_ptr().cast());
                // SAFETY: the code is this convolution's; the arguments are as long as its views reach, the scratch memory as it asks.
                checked(|| unsafe { whole.sum().run(code.address(0).unwrap(), &pointers, packed, scratch, &piece) });
            }
        }
        let mut expected = vec![0xa5u8; size * outputs];
        let points: Vec<u64> = contract.points.iter().map(|dim| dim.extent).collect();
        let extents: Vec<u64> = contract.sum.iter().map(|dim| dim.extent).collect();
        each(&points, |p| {
            for column in 0..contract.columns {
                let input_at = contract.input.1 + dot(p, contract.points.iter().map(|dim| dim.input));
                let weight_at = contract.weight.1 + contract.weight_columns.offset(column);
                let mut sum = 0i32;
                each(&extents, |k| {
                    let i = 2 * (input_at + dot(k, contract.sum.iter().map(|dim| dim.input))) as usize;
                    let w = 2 * (weight_at + dot(k, contract.sum.iter().map(|dim| dim.other))) as usize;
                    sum += (0..2).map(|at| i32::from(input[i + at]) * i32::from(weights[w + at])).sum::<i32>();
                });
                let at =
                    contract.out.1 + dot(p, contract.points.iter().map(|dim| dim.other)) + contract.out_columns.offset(column);
                match dtype {
                    DType::I32 => expected[4 * at as usize..][..4].copy_from_slice(&sum.to_ne_bytes()),
                    _ => expected[at as usize] = limited(sum as f32 / 256.0, dtype),
                }
            }
        });
        assert_eq!(out.values(), expected, "{isa:?} {contract:?}");
    }
}
