//! The assembler: one for a module of kernels, emitting straight into its code.
//!
//! Labels, jumps and instructions on general registers are dynasm's; every vector instruction is encoded here, because dynasm
//! has no EVEX and assembles some VEX forms wrongly. What can be emitted at all is listed in [`forms`] (vectors) and in
//! `general.rs`, and every form is held against a disassembler by the tests.
//!
//! A method that is given an operand its instruction set cannot have records the first such mistake and emits nothing;
//! [`Asm::finish`] then fails. So emitting never panics, and code with a hole in it never runs.
//!
//! Deliberately not here: what a kernel does, which registers it uses, executable memory ([`super::memory`]).

mod bytes;
mod encode;
mod entry;
mod evex;
pub mod forms;
mod general;
mod operand;
mod shuffle;
mod vector;
mod vex;

#[cfg(test)]
mod tests;

pub use entry::Frame;
pub use operand::{Cond, IPred, Isa, K, Label, Mask, Mem, Pred, R, Rm, Round, V, Width};
pub use vector::Op;

use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynasmApi, DynasmLabelApi, VecAssembler};
use encode::{Bytes, Insn};
use std::collections::BTreeMap;
use std::fmt;

/// The displacement field of an instruction, as dynasm numbers relocations: four bytes, relative to a place.
const RELATIVE_DWORD: u8 = 2;

/// Constants are as large as a vector at most.
const POOL_ALIGN: usize = 64;

/// Why no code came out: a mistake of the caller's, never of a user's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsmError {
    /// The instruction or the step.
    pub what: &'static str,
    pub why: String,
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for AsmError {}

/// Code being written, and the constants it reads.
pub struct Asm {
    isa: Isa,
    ops: VecAssembler<X64Relocation>,
    /// Constants stand behind the code, at this label.
    pool_label: Label,
    pool: Vec<u8>,
    /// Where each constant stands in the pool, so that equal ones are kept once.
    pooled: BTreeMap<Vec<u8>, i32>,
    /// The opmask of the next vector instruction, and whether it zeroes.
    next_mask: Option<(K, bool)>,
    trouble: Option<AsmError>,
    marks: Vec<Mark>,
}

/// What begins at a place of the code, for who reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    pub at: usize,
    pub what: String,
}

impl Asm {
    pub fn new(isa: Isa) -> Asm {
        let mut ops = VecAssembler::new_with_capacity(0, 64 << 10, 0, 0, 64, 0, 64);
        let pool_label = Label(ops.new_dynamic_label());
        Asm { isa, ops, pool_label, pool: Vec::new(), pooled: BTreeMap::new(), next_mask: None, trouble: None, marks: vec![] }
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The offset of the next instruction in the code: the entry of the function that starts here.
    pub fn here(&self) -> usize {
        self.ops.offset().0
    }

    /// Says what the next instructions are.
    pub fn mark(&mut self, what: impl Into<String>) {
        self.marks.push(Mark { at: self.here(), what: what.into() });
    }

    /// What was said of the code so far, in order.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Where the constants will stand, if nothing more is emitted.
    pub fn pool_start(&self) -> usize {
        if self.pool.is_empty() { self.here() } else { self.here().next_multiple_of(POOL_ALIGN) }
    }

    pub fn label(&mut self) -> Label {
        Label(self.ops.new_dynamic_label())
    }

    /// Makes `label` the place of the next instruction.
    pub fn bind(&mut self, label: Label) {
        self.ops.dynamic_label(label.0);
    }

    /// A label bound here.
    pub fn bound(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    /// A constant of 4, 8, 16, 32 or 64 bytes as a memory operand, aligned to its size. It may be given to any instruction
    /// of this assembler; it has no index.
    pub fn constant(&mut self, bytes: &[u8]) -> Mem {
        if !matches!(bytes.len(), 4 | 8 | 16 | 32 | 64) {
            self.refuse("constant", "its size is none of 4, 8, 16, 32 and 64");
        }
        let disp = match self.pooled.get(bytes) {
            Some(disp) => *disp,
            None => {
                self.pool.resize(self.pool.len().next_multiple_of(bytes.len().max(1)), 0);
                let disp = self.pool.len() as i32;
                self.pool.extend_from_slice(bytes);
                self.pooled.insert(bytes.to_vec(), disp);
                disp
            }
        };
        Mem::at(R::POOL, disp)
    }

    /// The bytes of code and constants; they run at any 64-byte aligned address.
    pub fn finish(mut self) -> Result<Vec<u8>, AsmError> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        if !self.pool.is_empty() {
            self.ops.align(POOL_ALIGN, 0xcc);
        }
        self.bind(self.pool_label);
        self.ops.extend(self.pool.iter());
        self.ops.finalize().map_err(|error| AsmError { what: "labels", why: error.to_string() })
    }

    /// Records a mistake; the first is kept.
    pub(in crate::jit) fn refuse(&mut self, what: &'static str, why: &str) {
        debug_assert!(false, "{what}: {why}");
        self.trouble.get_or_insert_with(|| AsmError { what, why: why.to_owned() });
    }

    /// Appends an encoded instruction; a displacement to the pool is filled in when the pool's place is known.
    fn append(&mut self, bytes: &Bytes) {
        self.ops.extend(bytes.as_slice().iter());
        if let Some((at, disp)) = bytes.pool {
            let field = (bytes.as_slice().len() - at) as u8;
            self.ops.dynamic_reloc(self.pool_label.0, disp as isize, field, 0, RELATIVE_DWORD);
        }
    }

    /// Encodes a vector instruction: VEX where it can say it, as it is shorter, EVEX otherwise.
    fn emit(&mut self, mut insn: Insn) {
        if let Some((k, zeroing)) = self.next_mask.take() {
            (insn.k, insn.zeroing) = (k.0, zeroing);
            if k.0 == 0 {
                return self.refuse(insn.form.name, "k0 is no mask");
            }
        }
        let form = insn.form;
        let use_vex = form.vex.is_some() && !insn.needs_evex();
        let why = match insn.trouble() {
            None if !use_vex && form.evex.is_none() => Some("EVEX does not have this form"),
            None if self.isa != Isa::Avx512 && (!use_vex || form.has_opmasks()) => Some("only AVX-512 has this form or operand"),
            why => why,
        };
        match why {
            Some(why) => self.refuse(form.name, why),
            None => {
                let bytes = if use_vex { vex::encode(&insn) } else { evex::encode(&insn) };
                self.append(&bytes);
            }
        }
    }
}
