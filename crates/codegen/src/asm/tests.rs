//! Checks every form of the table with random operands against an independent disassembler: mnemonic, registers, address, masks
//! and immediate.

use super::encode::{Insn, Place};
use super::forms::{self, Class, Form, Shape, Tuple};
use super::*;

mod general;
mod methods;
mod run;

use iced_x86::{Decoder, DecoderOptions, EncodingKind, Instruction, OpKind, Register};

/// Number of random operand sets for a form at each width and instruction set.
const ROUNDS: usize = 120;

fn decode(bytes: &[u8], name: &str) -> Instruction {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let instruction = decoder.decode();
    assert!(!instruction.is_invalid(), "{name}: {bytes:02x?} is no instruction");
    assert_eq!(instruction.len(), bytes.len(), "{name}: {bytes:02x?} decodes to {instruction}, but bytes are left");
    instruction
}

/// The bytes that `emit` emits.
fn bytes(isa: Isa, emit: impl FnOnce(&mut Asm)) -> Vec<u8> {
    let mut asm = Asm::new(isa);
    emit(&mut asm);
    asm.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// The disassembler's register for a number of a class.
fn register(class: Class, width: Width, number: u8) -> Register {
    let family = match (class, width) {
        (Class::Opmask, _) => return Register::K0 + u32::from(number),
        (Class::R32, _) => return Register::EAX + u32::from(number),
        (Class::Y, _) | (Class::Full, Width::Y) | (Class::Half, Width::Z) => Register::YMM0,
        (Class::Full, Width::Z) => Register::ZMM0,
        (Class::X | Class::Full | Class::Half | Class::Quarter, _) => Register::XMM0,
    };
    family + u32::from(number)
}

/// A register number of a class; often the lowest or the highest.
fn number(rng: &mut fastrand::Rng, class: Class, evex: bool) -> u8 {
    match class {
        Class::Opmask => rng.u8(0..8),
        Class::R32 => rng.u8(0..16),
        _ if evex => rng.u8(0..32),
        _ => rng.u8(0..16),
    }
}

fn address(rng: &mut fastrand::Rng, unit: i32) -> Mem {
    // rsp, rbp, r12 and r13 have encodings of their own.
    let base = R(if rng.bool() { rng.u8(0..16) } else { *rng.choice([4, 5, 12, 13].iter()).unwrap() });
    let index = loop {
        let index = R(rng.u8(0..16));
        if index != R::RSP {
            break index;
        }
    };
    let disp = match rng.u8(0..6) {
        0 => 0,
        1 => i32::from(rng.i8(..)),
        2 => i32::from(rng.i8(..)) * unit,
        3 => *rng.choice([-128, 127, 128, -129].iter()).unwrap() * unit,
        _ => rng.i32(..),
    };
    Mem { base, index: rng.bool().then(|| (index, 1 << rng.u8(0..4))), disp }
}

/// A random instruction of `form` that `isa` has.
fn random<'a>(rng: &mut fastrand::Rng, form: &'a Form, width: Width, evex: bool) -> Insn<'a> {
    let w = if evex { form.evex } else { form.vex }.unwrap();
    let broadcast = evex && form.tuple.broadcasts() && rng.bool();
    let unit = form.tuple.unit(width, broadcast, w);
    let reg_wanted = form.rm_reg && (form.tuple == Tuple::None || rng.bool());
    let rm = match form.shape {
        Shape::Gather => {
            let index = R(number(rng, Class::Full, evex));
            Place::Gather(Mem { index: Some((index, 1 << rng.u8(0..4))), ..address(rng, unit) })
        }
        _ if reg_wanted => Place::Reg(number(rng, form.rm, evex)),
        _ if broadcast => Place::Bcast(address(rng, unit)),
        _ => Place::Mem(address(rng, unit)),
    };
    let k = match form.shape {
        Shape::Gather if evex => rng.u8(1..8),
        _ if evex && form.masked => rng.u8(0..8),
        _ => 0,
    };
    let reg = match form.shape {
        Shape::Vm(extension) => extension,
        _ => number(rng, form.reg, evex),
    };
    let v = match form.shape {
        Shape::Rm | Shape::Mr => 0,
        Shape::Gather if evex => 0,
        _ => number(rng, form.v, evex),
    };
    if let Place::Gather(mem) = rm {
        // A gather whose registers coincide is no instruction.
        let index = mem.index.unwrap().0.0;
        if reg == index || !evex && (v == reg || v == index) {
            return random(rng, form, width, evex);
        }
    }
    let imm = match form.shape {
        Shape::Rvm4 => Some(rng.u8(0..16) << 4),
        _ => form.has_imm.then(|| rng.u8(..)),
    };
    // Only a vector register has lanes to clear.
    let to_register = match form.shape {
        Shape::Mr => matches!(rm, Place::Reg(_)),
        Shape::Gather => false,
        _ => form.reg != Class::Opmask,
    };
    let zeroing = k != 0 && to_register && rng.bool();
    Insn { form, width, reg, v, rm, k, zeroing, imm }
}

/// Operands in the order the disassembler lists them; `None` stands for the memory operand.
fn operands(insn: &Insn, evex: bool) -> Vec<Option<Register>> {
    let (form, width) = (insn.form, insn.width);
    let reg = Some(register(form.reg, width, insn.reg));
    let v = Some(register(form.v, width, insn.v));
    let rm = match insn.rm {
        Place::Reg(number) => Some(register(form.rm, width, number)),
        _ => None,
    };
    match form.shape {
        Shape::Rvm => vec![reg, v, rm],
        Shape::Rm => vec![reg, rm],
        Shape::Mr => vec![rm, reg],
        Shape::Vm(_) => vec![v, rm],
        Shape::Rvm4 => vec![reg, v, rm, Some(register(Class::Full, width, insn.imm.unwrap() >> 4))],
        Shape::Mvr => vec![rm, v, reg],
        Shape::Gather if evex => vec![reg, rm],
        Shape::Gather => vec![reg, rm, v],
    }
}

fn check(insn: &Insn, isa: Isa, evex: bool) {
    let bytes = bytes(isa, |asm| asm.emit(*insn));
    let name = if evex { insn.form.evex_name } else { insn.form.name };
    let found = decode(&bytes, name);
    let cx = format!("{insn:?}\n{bytes:02x?} is `{found}`");
    assert_eq!(format!("{:?}", found.mnemonic()).to_lowercase(), name, "{cx}");
    assert_eq!(found.code().encoding(), if evex { EncodingKind::EVEX } else { EncodingKind::VEX }, "{cx}");
    let expected = operands(insn, evex);
    for (at, operand) in expected.iter().enumerate() {
        match operand {
            Some(register) => assert_eq!(found.op_register(at as u32), *register, "{cx}"),
            None => assert_eq!(found.op_kind(at as u32), OpKind::Memory, "{cx}"),
        }
    }
    let has_imm = insn.imm.is_some() && insn.form.shape != Shape::Rvm4;
    assert_eq!(found.op_count() as usize, expected.len() + usize::from(has_imm), "{cx}");
    if has_imm {
        assert_eq!(Some(found.immediate8()), insn.imm, "{cx}");
    }
    let mask = if insn.k == 0 { Register::None } else { Register::K0 + u32::from(insn.k) };
    assert_eq!((found.op_mask(), found.zeroing_masking()), (mask, insn.zeroing), "{cx}");
    assert_eq!(found.is_broadcast(), matches!(insn.rm, Place::Bcast(_)), "{cx}");
    let (Place::Mem(mem) | Place::Bcast(mem) | Place::Gather(mem)) = insn.rm else { return };
    check_address(&found, mem, matches!(insn.rm, Place::Gather(_)).then_some(insn.width), &cx);
    let broadcast = matches!(insn.rm, Place::Bcast(_));
    let w = if evex { insn.form.evex } else { insn.form.vex }.unwrap();
    let spanned = found.memory_size().info();
    let bytes = if broadcast || insn.form.shape == Shape::Gather { spanned.element_size() } else { spanned.size() };
    assert_eq!(bytes as i32, insn.form.tuple.unit(insn.width, broadcast, w), "{cx}");
}

/// Checks the address; `gathering` is the width of the index vector, if the index is one.
fn check_address(found: &Instruction, mem: Mem, gathering: Option<Width>, cx: &str) {
    assert_eq!(found.memory_base(), Register::RAX + u32::from(mem.base.0), "{cx}");
    match (mem.index, gathering) {
        (None, _) => assert_eq!(found.memory_index(), Register::None, "{cx}"),
        (Some((index, scale)), None) => {
            assert_eq!(found.memory_index(), Register::RAX + u32::from(index.0), "{cx}");
            assert_eq!(found.memory_index_scale(), u32::from(scale), "{cx}");
        }
        (Some((index, scale)), Some(width)) => {
            assert_eq!(found.memory_index(), register(Class::Full, width, index.0), "{cx}");
            assert_eq!(found.memory_index_scale(), u32::from(scale), "{cx}");
        }
    }
    assert_eq!(found.memory_displacement64() as i64, i64::from(mem.disp), "{cx}");
}

/// Whether [`Asm::emit`] will choose EVEX, stated independently of it.
fn wants_evex(insn: &Insn) -> bool {
    let high = |n: u8| n > 15;
    let high_rm = match insn.rm {
        Place::Reg(n) => high(n),
        Place::Gather(mem) => high(mem.index.unwrap().0.0),
        Place::Bcast(_) => return true,
        Place::Mem(_) => false,
    };
    insn.form.vex.is_none() || insn.width == Width::Z || insn.k > 0 || high(insn.reg) || high(insn.v) || high_rm
}

#[test]
fn every_vector_form_decodes_to_what_was_meant() {
    let mut rng = fastrand::Rng::with_seed(0x5eed_a55e);
    for form in forms::ALL {
        for width in [Width::X, Width::Y, Width::Z] {
            if form.widths >> width as u8 & 1 == 0 {
                continue;
            }
            let mut seen = 0;
            for round in 0..ROUNDS {
                let evex = form.evex.is_some() && (round % 2 == 0 || form.vex.is_none() || width == Width::Z);
                if !evex && (form.vex.is_none() || width == Width::Z) {
                    continue;
                }
                let insn = random(&mut rng, form, width, evex);
                let isa = if evex || form.has_opmasks() || round % 4 == 1 { Isa::Avx512 } else { Isa::Avx2 };
                check(&insn, isa, wants_evex(&insn));
                seen += 1;
            }
            assert!(seen > 0, "{} has no operands at {width:?}", form.name);
        }
    }
}
