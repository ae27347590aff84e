//! Runs instructions on random data whose operands, lanes or order are easily confused.

use super::*;
use crate::cpu::Cpu;
use crate::memory::Code;
use crate::tests::guard_pages::{GuardedBuffer, Side, call_checked, running};

/// Runs `emit` with rdi at `input` and rsi at an output of `n_out` dwords, between guard pages.
fn run(isa: Isa, input: &[u32], n_out: usize, emit: impl FnOnce(&mut Asm)) -> Vec<u32> {
    let mut asm = Asm::new(isa);
    let frame = asm.enter(&[], 0);
    emit(&mut asm);
    asm.leave(&frame);
    let code = Code::new(asm).unwrap();
    let input = GuardedBuffer::new(input, Side::Right).read_only();
    let output = GuardedBuffer::<u32>::output(n_out, Side::Right);
    running(format!("{isa:?}"));
    // SAFETY: the code takes the two addresses; what it does to them is what is tested.
    unsafe { call_checked(code.address(0).unwrap(), &[input.arg(), output.arg()]) }.unwrap();
    assert_eq!(output.unwritten(), None);
    output.values().to_vec()
}

/// The effect of an operation on one lane.
type Meaning<T, U> = fn(T, T) -> U;

const OUT: Mem = Mem::at(R::RSI, 0);

/// The `i`-th vector of the input.
fn input(isa: Isa, i: usize) -> Mem {
    Mem::at(R::RDI, (i * isa.bytes()) as i32)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|word| f32::from_bits(*word)).collect()
}

/// Small whole numbers, for which sums and products are exact.
fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| f32::from(rng.i8(-40..41))).collect()
}

/// Tests an instruction on three input vectors: `emit` leaves its result in `V(0)`, `meaning` computes each expected lane.
fn lanes3(emit: impl Fn(&mut Asm), meaning: impl Fn(f32, f32, f32) -> f32) {
    for isa in Cpu::get().isas() {
        let n = isa.lanes();
        let data = numbers(1, 3 * n);
        let found = run(isa, &bits(&data), n, |asm| {
            (0..3).for_each(|i| asm.load(V(i as u8), input(isa, i)));
            emit(asm);
            asm.store(OUT, V(0));
        });
        let wanted: Vec<f32> = (0..n).map(|i| meaning(data[i], data[n + i], data[2 * n + i])).collect();
        assert_eq!(floats(&found), wanted, "{isa:?}");
    }
}

#[test]
fn operands_are_in_their_order() {
    lanes3(|a| a.op3(&forms::VSUBPS, V(0), V(1), V(2)), |_, b, c| b - c);
    lanes3(|a| a.op3(&forms::VDIVPS, V(0), V(1), V(2)), |_, b, c| b / c);
    lanes3(|a| a.fma(V(0), V(1), V(2)), |a, b, c| a + b * c);
    lanes3(|a| a.fnma(V(0), V(1), V(2)), |a, b, c| a - b * c);
    lanes3(|a| a.fma213(V(0), V(1), V(2)), |a, b, c| b * a + c);
    lanes3(|a| a.fma132(V(0), V(1), V(2)), |a, b, c| a * c + b);
}

#[test]
fn maximum_and_minimum_take_the_second_of_nan() {
    for isa in Cpu::get().isas() {
        let n = isa.lanes();
        let mut data = vec![1.0f32; 2 * n];
        (data[0], data[n + 1]) = (f32::NAN, f32::NAN);
        for op in [&forms::VMAXPS, &forms::VMINPS] {
            let found = run(isa, &bits(&data), n, |asm| {
                asm.load(V(1), input(isa, 0));
                asm.op3(op, V(0), V(1), input(isa, 1));
                asm.store(OUT, V(0));
            });
            assert_eq!((f32::from_bits(found[0]), f32::from_bits(found[1]).is_nan()), (1.0, true));
        }
    }
}

#[test]
fn a_broadcast_reaches_every_lane() {
    for isa in Cpu::get().isas() {
        let data = bits(&numbers(2, 3));
        let n = isa.lanes();
        let found = run(isa, &data, 4 * n, |asm| {
            asm.bcast(V(0), Mem::at(R::RDI, 4));
            asm.vector(&forms::VMOVD_FROM_R, Width::X, V(1), V(0), Mem::at(R::RDI, 8), None);
            asm.bcast_lane0(V(1), V(1));
            asm.mov_rm32(R::RAX, Mem::at(R::RDI, 0));
            asm.bcast_r(V(2), R::RAX);
            asm.splat(V(3), 2.5);
            (0..4).for_each(|i| asm.store(OUT.plus((i * isa.bytes()) as i32), V(i as u8)));
        });
        for (vector, wanted) in found.chunks(n).zip([data[1], data[2], data[0], 2.5f32.to_bits()]) {
            assert_eq!(vector, vec![wanted; n], "{isa:?}");
        }
    }
}

#[test]
fn tails_touch_only_their_lanes() {
    for isa in Cpu::get().isas() {
        let mask = match isa {
            Isa::Avx2 => Mask::V(V(9)),
            Isa::Avx512 => Mask::K(K(1)),
        };
        for n in 1..=isa.lanes() {
            let data: Vec<u32> = (1..=n as u32).collect();
            // The buffers end at a fence: a lane too many would be a fault.
            let found = run(isa, &data, n + isa.lanes(), |asm| {
                asm.set_tail(mask, n, R::RAX);
                asm.load_tail(V(1), mask, Mem::at(R::RDI, 0));
                asm.store(OUT, V(1));
                asm.store_tail(OUT.plus(isa.bytes() as i32), mask, V(1));
            });
            let zeros = vec![0; isa.lanes() - n];
            assert_eq!(found, [data.clone(), zeros, data].concat(), "{isa:?}");
        }
    }
}

#[test]
fn comparisons_select() {
    let preds: [(Pred, Meaning<f32, bool>); 6] = [
        (Pred::Eq, |a, b| a == b),
        (Pred::Lt, |a, b| a < b),
        (Pred::Le, |a, b| a <= b),
        (Pred::Ne, |a, b| a != b),
        (Pred::Ge, |a, b| a >= b),
        (Pred::Gt, |a, b| a > b),
    ];
    let corners = [f32::NAN, f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f32::INFINITY, 1e-40];
    for isa in Cpu::get().isas() {
        let n = isa.lanes();
        let mask = if isa == Isa::Avx2 { Mask::V(V(5)) } else { Mask::K(K(5)) };
        for shift in 0..corners.len() {
            let a: Vec<f32> = (0..n).map(|i| corners[i % 8]).collect();
            let b: Vec<f32> = (0..n).map(|i| corners[(i + shift) % 8]).collect();
            for (pred, meaning) in preds {
                let found = run(isa, &[bits(&a), bits(&b)].concat(), 2 * n, |asm| {
                    asm.load(V(0), input(isa, 0));
                    asm.load(V(1), input(isa, 1));
                    asm.cmp(pred, mask, V(0), V(1));
                    asm.splat_bits(V(2), 1);
                    asm.splat_bits(V(3), 2);
                    asm.select(mask, V(4), V(2), V(3));
                    asm.store(OUT, V(4));
                    asm.mask_not(mask, mask);
                    asm.select(mask, V(4), V(2), V(3));
                    asm.store(OUT.plus(isa.bytes() as i32), V(4));
                });
                for i in 0..n {
                    let wanted = if meaning(a[i], b[i]) { [1, 2] } else { [2, 1] };
                    assert_eq!([found[i], found[n + i]], wanted, "{isa:?}: {} {pred:?} {}", a[i], b[i]);
                }
            }
        }
    }
}

#[test]
fn comparisons_of_dwords() {
    let preds: [(IPred, Meaning<i32, bool>); 6] = [
        (IPred::Eq, |a, b| a == b),
        (IPred::Lt, |a, b| a < b),
        (IPred::Le, |a, b| a <= b),
        (IPred::Ne, |a, b| a != b),
        (IPred::Ge, |a, b| a >= b),
        (IPred::Gt, |a, b| a > b),
    ];
    let corners = [i32::MIN, -1, 0, 1, i32::MAX];
    for isa in Cpu::get().isas() {
        let n = isa.lanes();
        let mask = if isa == Isa::Avx2 { Mask::V(V(5)) } else { Mask::K(K(5)) };
        for shift in 0..corners.len() {
            let a: Vec<u32> = (0..n).map(|i| corners[i % 5] as u32).collect();
            let b: Vec<u32> = (0..n).map(|i| corners[(i + shift) % 5] as u32).collect();
            for (pred, meaning) in preds {
                let found = run(isa, &[a.clone(), b.clone()].concat(), n, |asm| {
                    asm.load(V(0), input(isa, 0));
                    asm.load(V(1), input(isa, 1));
                    asm.cmp_i(pred, mask, V(0), V(1));
                    asm.splat_bits(V(2), 1);
                    asm.zero(V(3));
                    asm.select(mask, V(4), V(2), V(3));
                    asm.store(OUT, V(4));
                });
                let wanted: Vec<u32> = (0..n).map(|i| u32::from(meaning(a[i] as i32, b[i] as i32))).collect();
                assert_eq!(found, wanted, "{isa:?}: {a:?} {pred:?} {b:?}");
            }
        }
    }
}

#[test]
fn rounding_and_conversion() {
    let corners = [0.5f32, 1.5, -0.5, -1.5, 2.5, -2.7, 3e9, f32::NAN];
    for isa in Cpu::get().isas() {
        let n = isa.lanes();
        let data: Vec<f32> = (0..n).map(|i| corners[i % 8]).collect();
        let found = run(isa, &bits(&data), 6 * n, |asm| {
            asm.load(V(0), input(isa, 0));
            for (i, round) in [Round::Nearest, Round::Down, Round::Up, Round::Trunc].into_iter().enumerate() {
                asm.round(round, V(1), V(0));
                asm.store(OUT.plus((i * isa.bytes()) as i32), V(1));
            }
            asm.cvt_f2i_trunc(V(1), V(0));
            asm.store(OUT.plus((4 * isa.bytes()) as i32), V(1));
            asm.cvt_f2i_nearest(V(1), V(0));
            asm.store(OUT.plus((5 * isa.bytes()) as i32), V(1));
        });
        let rounded: [fn(f32) -> f32; 4] = [f32::round_ties_even, f32::floor, f32::ceil, f32::trunc];
        for (i, x) in data.iter().enumerate() {
            for (k, round) in rounded.iter().enumerate() {
                let value = f32::from_bits(found[k * n + i]);
                assert!(value == round(*x) || value.is_nan() && x.is_nan(), "{isa:?}: {x} by {k} gives {value}");
            }
            let whole = |x: f32| if x.abs() < 2e9 { x as i32 } else { i32::MIN };
            let wanted = [whole(x.trunc()), whole(x.round_ties_even())];
            assert_eq!([found[4 * n + i] as i32, found[5 * n + i] as i32], wanted, "{isa:?}: {x}");
        }
    }
}

#[test]
fn a_transpose_is_one() {
    for isa in Cpu::get().isas() {
        let n = isa.lanes();
        let data: Vec<u32> = (0..(n * n) as u32).collect();
        let found = run(isa, &data, n * n, |asm| {
            // All registers, in an order that is not that of their numbers.
            let all: Vec<V> = (0..2 * n).map(|i| V((i * 5 % (2 * n)) as u8)).collect();
            let (rows, temps) = all.split_at(n);
            (0..n).for_each(|i| asm.load(rows[i], input(isa, i)));
            let columns = asm.transpose(rows, temps);
            (0..n).for_each(|i| asm.store(OUT.plus((i * isa.bytes()) as i32), columns[i]));
        });
        let wanted: Vec<u32> = (0..n * n).map(|at| data[at % n * n + at / n]).collect();
        assert_eq!(found, wanted, "{isa:?}");
    }
}

#[test]
fn a_gather_reads_its_lanes_only() {
    for isa in Cpu::get().isas() {
        let n = isa.lanes();
        let mask = if isa == Isa::Avx2 { Mask::V(V(5)) } else { Mask::K(K(5)) };
        let table: Vec<u32> = (0..64).map(|i| 1000 + i).collect();
        for lanes in 0..=n {
            // The lanes that are off would read far outside.
            let index: Vec<u32> = (0..n).map(|i| if i < lanes { (i * 37 % 64) as u32 } else { 1 << 28 }).collect();
            let found = run(isa, &[table.clone(), index.clone()].concat(), n, |asm| {
                asm.load(V(1), Mem::at(R::RDI, 256));
                asm.set_tail(mask, lanes, R::RAX);
                asm.splat_bits(V(0), 7);
                asm.gather(V(0), mask, R::RDI, V(1), 4, 0);
                asm.store(OUT, V(0));
            });
            let wanted: Vec<u32> = (0..n).map(|i| if i < lanes { table[index[i] as usize] } else { 7 }).collect();
            assert_eq!(found, wanted, "{isa:?}");
        }
    }
}

#[test]
fn permutes_and_shifts() {
    for isa in Cpu::get().isas() {
        let n = isa.lanes();
        let data: Vec<u32> = (0..n as u32).map(|i| (i * 0x0123_4567) ^ 0x8000_0000).collect();
        let backwards: Vec<u32> = (0..n as u32).rev().collect();
        let found = run(isa, &[data.clone(), backwards].concat(), 4 * n, |asm| {
            asm.load(V(0), input(isa, 0));
            asm.load(V(1), input(isa, 1));
            asm.permute(V(2), V(1), V(0));
            asm.shift(&forms::VPSLLD_IMM, V(3), V(0), 3);
            asm.shift(&forms::VPSRLD_IMM, V(4), V(0), 3);
            asm.shift(&forms::VPSRAD_IMM, V(5), V(0), 3);
            (2..6).for_each(|i| asm.store(OUT.plus(((i - 2) * isa.bytes()) as i32), V(i as u8)));
        });
        for (i, x) in data.iter().enumerate() {
            let wanted = [data[n - 1 - i], x << 3, x >> 3, (*x as i32 >> 3) as u32];
            let at: Vec<u32> = (0..4).map(|k| found[k * n + i]).collect();
            assert_eq!(at, wanted, "{isa:?}");
        }
    }
}

/// Displacements are scaled in EVEX; a wrong scale reads from another address.
#[test]
fn displacements_of_every_size() {
    for isa in Cpu::get().isas() {
        let data: Vec<u32> = (0..5000).collect();
        for at in [0usize, 1, 15, 16, 31, 32, 127, 128, 508, 512, 2032, 2048, 4096] {
            let mut places = vec![Mem::at(R::RDI, 4 * at as i32), Mem::indexed(R::RAX, R::RCX, 4, 0)];
            places.extend([Mem::indexed(R::R13, R::R12, 1, 4 * at as i32 - 4), Mem::at(R::R12, 4 * at as i32 - 1)]);
            let n = isa.lanes();
            let found = run(isa, &data, 4 * n, |asm| {
                asm.push(R::R12);
                asm.push(R::R13);
                asm.mov_rr(R::RAX, R::RDI);
                asm.mov_ri(R::RCX, at as i64);
                asm.mov_rr(R::R13, R::RDI);
                asm.mov_ri(R::R12, 4);
                for (i, place) in places.iter().enumerate() {
                    if i == 3 {
                        asm.lea(R::R12, Mem::at(R::RDI, 1));
                    }
                    asm.load(V(0), *place);
                    asm.store(OUT.plus((i * isa.bytes()) as i32), V(0));
                }
                asm.pop(R::R13);
                asm.pop(R::R12);
            });
            for vector in found.chunks(n) {
                assert_eq!(vector, &data[at..at + n], "{isa:?}");
            }
        }
    }
}
