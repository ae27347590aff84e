//! Tests of instructions on general registers with random operands, labels, constants, padding.

use super::*;
use crate::asm::forms;

type Emit1 = fn(&mut Asm, R);
type Emit2 = fn(&mut Asm, R, R);
type EmitImm = fn(&mut Asm, R, i32);
type EmitCount = fn(&mut Asm, R, u8);
type EmitMem = fn(&mut Asm, R, Mem);

const ONE: &[(&str, Emit1)] = &[("inc", Asm::inc), ("dec", Asm::dec), ("push", Asm::push), ("pop", Asm::pop)];

const TWO: &[(&str, Emit2)] = &[
    ("mov", Asm::mov_rr),
    ("add", Asm::add_rr),
    ("sub", Asm::sub_rr),
    ("cmp", Asm::cmp_rr),
    ("xor", Asm::xor_rr),
    ("imul", Asm::imul_rr),
];

const WITH_IMMEDIATE: &[(&str, EmitImm)] =
    &[("add", Asm::add_ri), ("sub", Asm::sub_ri), ("and", Asm::and_ri), ("cmp", Asm::cmp_ri)];

const SHIFTS: &[(&str, EmitCount)] = &[("shr", Asm::shr_ri)];

/// Mnemonic, bytes of memory, whether memory comes first, whether the register has 64 bits.
const WITH_MEMORY: &[(&str, usize, bool, bool, EmitMem)] = &[
    ("mov", 8, false, true, Asm::mov_rm),
    ("mov", 8, true, true, |asm, r, mem| asm.mov_mr(mem, r)),
    ("mov", 4, false, false, Asm::mov_rm32),
    ("mov", 4, true, false, |asm, r, mem| asm.mov_mr32(mem, r)),
    ("movzx", 1, false, false, Asm::load_byte),
    ("movzx", 2, false, false, Asm::load_word),
    ("movsxd", 4, false, true, Asm::movsxd),
    ("lea", 0, false, true, Asm::lea),
    ("add", 8, false, true, Asm::add_rm),
    ("sub", 8, false, true, Asm::sub_rm),
    ("imul", 8, false, true, Asm::imul_rm),
];

const CONDITIONS: [(Cond, &str); 16] = [
    (Cond::O, "o"),
    (Cond::NO, "no"),
    (Cond::B, "b"),
    (Cond::AE, "ae"),
    (Cond::E, "e"),
    (Cond::NE, "ne"),
    (Cond::BE, "be"),
    (Cond::A, "a"),
    (Cond::S, "s"),
    (Cond::NS, "ns"),
    (Cond::P, "p"),
    (Cond::NP, "np"),
    (Cond::L, "l"),
    (Cond::GE, "ge"),
    (Cond::LE, "le"),
    (Cond::G, "g"),
];

/// The single instruction that `emit` emits, checked to be a `name`.
fn one(name: &str, emit: impl FnOnce(&mut Asm)) -> Instruction {
    let bytes = bytes(Isa::Avx2, emit);
    let found = decode(&bytes, name);
    assert_eq!(format!("{:?}", found.mnemonic()).to_lowercase(), name, "{found}");
    found
}

fn wide(r: R) -> Register {
    Register::RAX + u32::from(r.0)
}

/// Every register, in an order that repeats.
fn every_register() -> impl Iterator<Item = R> {
    (0..16).map(R)
}

#[test]
fn registers() {
    for r in every_register() {
        let zero = one("xor", |asm| asm.zero_r(r));
        assert_eq!([zero.op0_register(), zero.op1_register()], [register(Class::R32, Width::X, r.0); 2]);
        for (name, emit) in ONE {
            let found = one(name, |asm| emit(asm, r));
            assert_eq!((found.op0_register(), found.op_count()), (wide(r), 1), "{found}");
        }
        for src in every_register() {
            for (name, emit) in TWO {
                let found = one(name, |asm| emit(asm, r, src));
                assert_eq!((found.op0_register(), found.op1_register()), (wide(r), wide(src)), "{found}");
            }
            for (cond, suffix) in CONDITIONS {
                let found = one(&format!("cmov{suffix}"), |asm| asm.cmov(cond, r, src));
                assert_eq!((found.op0_register(), found.op1_register()), (wide(r), wide(src)), "{found}");
            }
        }
    }
}

#[test]
fn immediates() {
    let mut rng = fastrand::Rng::with_seed(11);
    let corners = [0, 1, -1, 127, 128, -128, -129, i32::MAX, i32::MIN];
    for r in every_register() {
        for value in corners.into_iter().chain(std::iter::repeat_with(|| rng.i32(..)).take(8)) {
            for (name, emit) in WITH_IMMEDIATE {
                let found = one(name, |asm| emit(asm, r, value));
                assert_eq!((found.op0_register(), found.immediate(1) as i64), (wide(r), i64::from(value)), "{found}");
                assert_eq!(found.len() <= 4, i8::try_from(value).is_ok(), "{found}: the short form where it fits");
            }
            let src = R(value as u8 & 15);
            let found = one("imul", |asm| asm.imul_rri(r, src, value));
            let read = (found.op0_register(), found.op1_register(), found.immediate(2) as i64);
            assert_eq!(read, (wide(r), wide(src), i64::from(value)), "{found}");
        }
        for count in 0..64 {
            for (name, emit) in SHIFTS {
                let found = one(name, |asm| emit(asm, r, count));
                assert_eq!((found.op0_register(), found.immediate8()), (wide(r), count), "{found}");
            }
        }
    }
}

#[test]
fn a_constant_is_moved_by_the_shortest_form() {
    let longest = |value: i64| match value {
        0..=0xffff_ffff => 6,
        _ if i32::try_from(value).is_ok() => 7,
        _ => 10,
    };
    for r in every_register() {
        for value in [0, 1, -1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x1_0000_0000, i64::MIN, i64::MAX, -0x8000_0001] {
            let found = one("mov", |asm| asm.mov_ri(r, value));
            assert_eq!(found.op0_register().full_register(), wide(r), "{found}");
            let is_32 = found.op0_register() == register(Class::R32, Width::X, r.0);
            let loaded = if is_32 { found.immediate(1) & 0xffff_ffff } else { found.immediate(1) };
            assert_eq!(loaded as i64, value, "{found}");
            assert!(found.len() <= longest(value), "{found} takes {} bytes", found.len());
        }
    }
}

#[test]
fn memory_operands() {
    let mut rng = fastrand::Rng::with_seed(12);
    for (name, bytes, memory_first, is_64, emit) in WITH_MEMORY {
        for _ in 0..400 {
            let (r, mem) = (R(rng.u8(0..16)), address(&mut rng, 1));
            let found = one(name, |asm| emit(asm, r, mem));
            let wanted = if *is_64 { wide(r) } else { register(Class::R32, Width::X, r.0) };
            let (of_register, of_memory) = if *memory_first { (1, 0) } else { (0, 1) };
            assert_eq!(found.op_register(of_register), wanted, "{found}");
            assert_eq!(found.op_kind(of_memory), OpKind::Memory, "{found}");
            assert_eq!(found.memory_size().size(), *bytes, "{found}");
            check_address(&found, mem, None, &format!("{mem:?} is `{found}`"));
        }
    }
    for _ in 0..400 {
        let mem = address(&mut rng, 1);
        for (name, emit) in [("prefetcht0", Asm::prefetcht0 as fn(&mut Asm, Mem)), ("prefetcht1", Asm::prefetcht1)] {
            check_address(&one(name, |asm| emit(asm, mem)), mem, None, name);
        }
    }
}

#[test]
fn plain_instructions() {
    one("ret", Asm::ret);
    one("vzeroupper", Asm::vzeroupper);
}

#[test]
fn jumps_reach_their_labels() {
    for (cond, suffix) in CONDITIONS {
        let bytes = bytes(Isa::Avx2, |asm| {
            let (back, ahead) = (asm.bound(), asm.label());
            asm.jcc(cond, ahead);
            asm.jcc(cond, back);
            asm.jmp(ahead);
            asm.bind(ahead);
            asm.ret();
        });
        let found: Vec<Instruction> = Decoder::with_ip(64, &bytes, 0, DecoderOptions::NONE).iter().collect();
        let ahead = found[3].ip();
        let targets: Vec<u64> = found[..3].iter().map(Instruction::near_branch_target).collect();
        assert_eq!(targets, [ahead, 0, ahead]);
        for jump in &found[..2] {
            assert_eq!(format!("{:?}", jump.mnemonic()).to_lowercase(), format!("j{suffix}"));
        }
    }
}

#[test]
fn constants_are_read_where_they_stand() {
    for isa in [Isa::Avx2, Isa::Avx512] {
        let vectors = [1u8, 2, 3].map(|byte| vec![byte; isa.bytes()]);
        let bytes = bytes(isa, |asm| {
            let word = asm.constant(&7u32.to_le_bytes());
            let constants: Vec<Mem> = vectors.iter().map(|vector| asm.constant(vector)).collect();
            assert_eq!(asm.constant(&vectors[1]), constants[1], "equal constants are kept once");
            asm.bcast(V(3), word);
            asm.load(V(9), constants[0]);
            asm.op3(&forms::VADDPS, V(1), V(2), constants[1]);
            // An immediate behind the displacement counts as part of the instruction.
            asm.vector(&forms::VSHUFPS, isa.width(), V(1), V(2), constants[2], Some(0x1b));
            asm.mov_rm(R::R9, constants[2]);
            asm.ret();
        });
        let mut decoder = Decoder::with_ip(64, &bytes, 0, DecoderOptions::NONE);
        let wanted: [&[u8]; 5] = [&7u32.to_le_bytes(), &vectors[0], &vectors[1], &vectors[2], &[3; 8]];
        for constant in wanted {
            let found = decoder.decode();
            assert!(found.is_ip_rel_memory_operand(), "{found}");
            let at = found.ip_rel_memory_address() as usize;
            assert_eq!(&bytes[at..at + constant.len()], constant, "{found}");
            assert!(at.is_multiple_of(constant.len()), "{found} is aligned");
        }
    }
}

#[test]
fn padding_is_nops() {
    for ahead in 0..70 {
        let bytes = bytes(Isa::Avx2, |asm| {
            for _ in 0..ahead {
                asm.ret();
            }
            asm.align(64);
        });
        assert!(bytes.len().is_multiple_of(64) && bytes.len() < ahead + 64);
        let padding = Decoder::new(64, &bytes[ahead..], DecoderOptions::NONE).into_iter().collect::<Vec<_>>();
        assert!(padding.iter().all(|nop| format!("{:?}", nop.mnemonic()) == "Nop"), "{ahead}: {:02x?}", &bytes[ahead..]);
        assert!(padding.len() <= 7);
    }
}

#[test]
fn an_unbound_label_is_an_error() {
    let mut asm = Asm::new(Isa::Avx2);
    let nowhere = asm.label();
    asm.jmp(nowhere);
    assert_eq!(asm.finish().unwrap_err().what, "labels");
}

#[test]
fn words_are_stored() {
    let mut rng = fastrand::Rng::with_seed(12);
    for r in every_register() {
        let found = one("mov", |asm| asm.store_word(address(&mut rng, 1), r));
        assert_eq!(found.op1_register(), Register::AX + u32::from(r.0), "{found}");
        assert_eq!((found.op0_kind(), found.memory_size().size()), (OpKind::Memory, 2), "{found}");
    }
}
