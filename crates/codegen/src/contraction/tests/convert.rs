//! 16-bit weights give the bits of the same numbers in F32, by every method. Weights, scratch memory and operands lie between
//! guard pages.

use super::*;
use half::{bf16, f16};

/// Weights in memory.
struct Bytes<'a>(&'a [u8]);

impl<const N: usize> Source<[u8; N]> for Bytes<'_> {
    fn elements(&self) -> &[[u8; N]] {
        self.0.as_chunks().0
    }

    fn done(&mut self, _n: usize) {}
}

/// The bytes of weights as numbers of a dtype, which they are rounded to.
fn rounded(weights: &mut [f32], dtype: DType) -> Vec<u8> {
    let of = |weight: &mut f32| match dtype {
        DType::F16 => {
            let short = f16::from_f32(*weight);
            *weight = short.to_f32();
            short.to_ne_bytes()
        }
        _ => {
            let short = bf16::from_f32(*weight);
            *weight = short.to_f32();
            short.to_ne_bytes()
        }
    };
    weights.iter_mut().flat_map(of).collect()
}

/// The bits that code computes of these arguments, with weights of these bytes.
fn run(compiled: &Compiled, asm: Asm, args: &[Vec<f32>], weights: &[u8], weight_arg: usize, side: Side) -> Vec<u32> {
    let code = Code::new(asm).unwrap();
    let fenced: Vec<GuardedBuffer<f32>> = args.iter().map(|arg| GuardedBuffer::new(arg, side)).collect();
    let source = GuardedBuffer::new(weights, side).read_only();
    let mut pointers: Vec<*mut u8> = fenced.iter().map(|arg| arg.as_mut_ptr().cast()).collect();
    pointers[weight_arg] = source.as_mut_ptr();
    let mut packed = vec![f32::NAN; compiled.packed_bytes().div_ceil(4)];
    if compiled.is_packed() {
        assert!(compiled.pack_from(&mut Bytes(weights), &mut packed));
        let again = packed_in_a_run(compiled, weights);
        assert!(packed.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()), "instances pack otherwise");
    }
    let bytes: Vec<u8> = packed.iter().flat_map(|word| word.to_ne_bytes()).take(compiled.packed_bytes()).collect();
    let packed = GuardedBuffer::new(&bytes, side).read_only();
    for pieces in compiled.split(2) {
        let scratch = GuardedBuffer::new(&vec![f32::NAN; compiled.scratch_len()], side);
        for piece in pieces {
            let (packed, scratch) = (packed.as_ptr(), scratch.as_mut_ptr().cast());
            // SAFETY: the code is this contraction's; the arguments are as long as its views reach, the scratch memory as it asks.
            checked(|| unsafe { compiled.sum().run(code.address(0).unwrap(), &pointers, packed, scratch, &piece) });
        }
    }
    fenced[2].values().iter().map(|value| value.to_bits()).collect()
}

/// Compares the code of a contraction for weights of each 16-bit dtype with that for F32.
fn check(
    contract: &Contraction,
    input: Columns,
    isa: Isa,
    rng: &mut fastrand::Rng,
    compile: &dyn Fn(&Contraction, &mut Asm) -> Compiled,
) {
    let contract = primitive(contract, isa);
    for dtype in [DType::F16, DType::BF16] {
        let side = Side::ALL[rng.usize(0..3)];
        let mut args: Vec<Vec<f32>> =
            lengths(&contract, input).into_iter().map(|n| (0..n).map(|_| rng.f32() * 2.0 - 1.0).collect()).collect();
        // Subnormal numbers of float16 among them.
        args[1].iter_mut().step_by(7).for_each(|weight| *weight *= 1e-5);
        args[2].fill(f32::from_bits(UNWRITTEN));
        let shorts = rounded(&mut args[1], dtype);
        let words: Vec<u8> = args[1].iter().flat_map(|weight| weight.to_ne_bytes()).collect();
        running(format!("{isa:?} {dtype} {contract:?}"));
        let [wide, narrow] = [(DType::F32, &words), (dtype, &shorts)].map(|(dtype, weights)| {
            let mut asm = Asm::new(isa);
            let compiled = compile(&Contraction { weight_dtype: dtype, ..contract.clone() }, &mut asm);
            run(&compiled, asm, &args, weights, 1, side)
        });
        assert!(wide == narrow, "{isa:?} {dtype} {contract:?}");
    }
}

#[test]
fn products_convert_weights() {
    let mut rng = fastrand::Rng::with_seed(31);
    for isa in isas() {
        for round in rounds(60) {
            // One tile converts in registers, many tiles a group of columns.
            let m = if round % 2 == 0 { rng.u64(1..8) } else { rng.u64(30..90) };
            let mut contract = product(rng.u64(1..3), m, rng.u64(1..90), rng.u64(1..70), round % 3 == 0);
            decorate(&mut contract, rng.u32(0..512));
            for any_points in [false, true] {
                check(&contract, ONE_FOR_ALL, isa, &mut rng, &|contract, asm| {
                    let tile = choose::best(&candidates(contract, &target(isa), any_points));
                    compile_with(contract, &target(isa), asm, tile).expect("there is code for it").into()
                });
            }
        }
    }
}

#[test]
fn both_places_of_conversion_are_chosen() {
    for isa in isas() {
        let code = |m: u64| {
            let contract = Contraction { weight_dtype: DType::F16, ..product(1, m, 256, 256, true) };
            compile(&contract, &target(isa), &mut Asm::new(isa)).expect("there is code for it")
        };
        assert!(code(1).group_code.is_none(), "{isa:?}: weights are read once");
        assert!(code(128).group_code.is_some(), "{isa:?}: many tiles read the same weights");
    }
}

#[test]
fn rows_convert_weights() {
    let mut rng = fastrand::Rng::with_seed(32);
    for isa in isas() {
        let lanes = isa.lanes() as u64;
        for _ in rounds(60) {
            let m = rng.u64(1..if isa == Isa::Avx2 { 4 } else { 8 });
            let mut contract = product(rng.u64(1..3), m, rng.u64(1..70), lanes * rng.u64(1..20), true);
            decorate(&mut contract, [0, 1, 8, 9][rng.usize(0..4)]);
            check(&contract, ONE_FOR_ALL, isa, &mut rng, &|contract, asm| {
                compile_rows(contract, &target(isa), asm).expect("rows are whole vectors").into()
            });
        }
        let parts = Contraction { weight_dtype: DType::F16, ..product(1, 1, 8, lanes + 1, true) };
        assert!(compile_rows(&parts, &target(isa), &mut Asm::new(isa)).is_none(), "no whole vectors");
    }
}

fn convolution(isa: Isa, rng: &mut fastrand::Rng) -> Conv {
    let lanes = isa.lanes() as u64;
    Conv {
        batch: 1,
        channels: lanes * rng.u64(1..3),
        units: lanes * rng.u64(1..4),
        size: [rng.u64(1..12), rng.u64(1..12)],
        kernel: [3, 3],
        stride: 1,
        dilation: 1,
        block: lanes,
        out_block: lanes,
        out_halo: rng.u64(0..2),
    }
}

#[test]
fn convolutions_by_tiles_convert_weights() {
    let mut rng = fastrand::Rng::with_seed(33);
    for isa in isas() {
        for _ in rounds(12) {
            let contract = convolution(isa, &mut rng).contract();
            for size in [Size::Two, Size::Four] {
                check(&contract, ONE_FOR_ALL, isa, &mut rng, &|contract, asm| {
                    winograd::compile(contract, size, &target(isa), asm).expect("there is code for it").into()
                });
            }
        }
    }
}

#[test]
fn depthwise_windows_convert_weights() {
    let mut rng = fastrand::Rng::with_seed(34);
    for isa in isas() {
        for _ in rounds(20) {
            let conv = Conv { channels: isa.lanes() as u64, ..convolution(isa, &mut rng) };
            let mut contract = conv.contract();
            contract.sum.truncate(3);
            contract.sum.remove(0);
            let plane = contract.points[0].input;
            contract.points[0].input = plane * conv.units.div_ceil(conv.block) as i64;
            contract.weight_columns = Columns { block: conv.units, outer: 0, inner: 9 };
            let input_columns = Columns { block: conv.block, outer: plane, inner: 1 };
            check(&contract, input_columns, isa, &mut rng, &|contract, asm| {
                let depthwise = Depthwise { contract: contract.clone(), input_columns, has_byte_weights: false };
                depthwise::compile(&depthwise, &target(isa), asm).expect("there is code for it").into()
            });
        }
    }
}
