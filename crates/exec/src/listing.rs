//! Disassembles finished code, with the marks that the emitters recorded.
//!
//! The text comes from the bytes alone, by a disassembler that does not know relayc's assembler, so it shows what runs. Absent:
//! the operators of a step, and their places in the text.

use super::assemble::Assembled;
use super::launch::Launch;
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, OpKind, SymbolResolver, SymbolResult};
use relayc_codegen::asm::{Isa, Mark};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names of addresses: labels of code and of constants.
#[derive(Clone, Default)]
struct Names {
    labels: BTreeMap<u64, usize>,
    pool_start: u64,
}

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _operand: u32,
        operand: Option<u32>,
        address: u64,
        _address_size: u32,
    ) -> Option<SymbolResult<'_>> {
        let name = match instruction.op_kind(operand?) {
            OpKind::NearBranch64 => format!(".L{}", self.labels.get(&address)?),
            OpKind::Memory if instruction.is_ip_rel_memory_operand() => constant_name(address.checked_sub(self.pool_start)?),
            _ => return None,
        };
        Some(SymbolResult::with_string(address, name))
    }
}

fn constant_name(offset: u64) -> String {
    format!(".C{offset:x}")
}

/// The instructions in a range of the code.
fn decode(all: &Assembled, range: std::ops::Range<usize>) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(64, &all.bytes[range.clone()], range.start as u64, DecoderOptions::NONE);
    decoder.iter().collect()
}

fn formatter(names: Names) -> IntelFormatter {
    let mut formatter = IntelFormatter::with_options(Some(Box::new(names)), None);
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    options.set_rip_relative_addresses(false);
    options.set_branch_leading_zeros(false);
    options.set_displacement_leading_zeros(false);
    formatter
}

/// The code of a step in Intel's syntax: offsets, instructions, labels of jump targets, and marks after `;`.
pub fn step(all: &Assembled, step: usize) -> String {
    let range = all.ranges[step].clone();
    if range.is_empty() && matches!(all.launches[step], Launch::Nest(_) | Launch::Contraction(..)) {
        return "  ; the code of an earlier step\n".to_owned();
    }
    let instructions = decode(all, range.clone());
    let is_near = |instruction: &&Instruction| instruction.op0_kind() == OpKind::NearBranch64;
    let mut labels: BTreeMap<u64, usize> = instructions.iter().filter(is_near).map(|jump| (jump.near_branch64(), 0)).collect();
    labels.values_mut().enumerate().for_each(|(at, number)| *number = at + 1);
    let mut formatter = formatter(Names { labels: labels.clone(), pool_start: all.pool_start as u64 });
    let mut marks = all.marks.iter().filter(|mark| range.contains(&mark.at)).peekable();
    let mut out = String::new();
    for (at, instruction) in instructions.iter().enumerate() {
        let ip = instruction.ip();
        while let Some(Mark { what, .. }) = marks.next_if(|mark| mark.at as u64 <= ip) {
            let _ = writeln!(out, "  ; {what}");
        }
        if let Some(number) = labels.get(&ip) {
            let _ = writeln!(out, ".L{number}:");
        }
        // What only fills a line up to the next function.
        if is_padding(instruction) {
            if instructions.get(at + 1).is_none_or(|next| !is_padding(next)) {
                let _ = writeln!(out, "          (aligned)");
            }
            continue;
        }
        let mut text = String::new();
        formatter.format(instruction, &mut text);
        let _ = writeln!(out, "  {ip:06x}  {text}");
    }
    out
}

fn is_padding(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), iced_x86::Mnemonic::Nop | iced_x86::Mnemonic::Int3)
}

/// The constants after the code, as 32-bit words and as floats.
pub fn constants(all: &Assembled) -> String {
    let mut out = String::new();
    for (at, words) in all.bytes[all.pool_start.min(all.bytes.len())..].chunks(16).enumerate() {
        let words: Vec<u32> =
            words.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect();
        let hex: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
        let floats: Vec<String> = words.iter().map(|&word| format!("{:e}", f32::from_bits(word))).collect();
        let _ = writeln!(out, "{:>8}:  {}  ; {}", constant_name(16 * at as u64), hex.join(" "), floats.join(" "));
    }
    out
}

/// The name that compilers give the instruction set.
pub fn target_name(isa: Isa) -> &'static str {
    match isa {
        Isa::Avx2 => "x86-64-v3",
        Isa::Avx512 => "x86-64-v4",
    }
}
