//! The assembler: one for a module of kernels, emitting straight into the module's code.
//!
//! dynasm encodes labels, jumps and instructions on general registers. This module encodes every vector instruction, because
//! dynasm has no EVEX and assembles some VEX forms wrongly. [`forms`] lists the vector instructions, `general.rs` the others.
//! The tests compare every form with a disassembler.
//!
//! A method records the first operand that its instruction set does not have, and emits nothing; [`Asm::finish`] then fails. So
//! emitting never panics, and incomplete code never runs.
//!
//! Absent: what a kernel does, which registers it uses, executable memory ([`super::memory`]).

mod bytes;
mod encode;
mod entry;
mod evex;
pub(crate) mod forms;
mod fragment;
mod general;
mod operand;
mod shuffle;
mod vector;
mod vex;

#[cfg(test)]
mod tests;

pub use fragment::Fragments;
pub(crate) use fragment::{Kind, Number};
pub(crate) use operand::IPred;
pub(crate) use operand::K;
pub(crate) use operand::Label;
pub(crate) use operand::Mask;
pub(crate) use operand::Pred;
pub(crate) use operand::Rm;
pub(crate) use operand::Round;
pub(crate) use operand::Width;
pub use operand::{Cond, Isa, Mem, R, V};

use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynasmApi, DynasmLabelApi, VecAssembler};
use encode::{Bytes, Insn};
use fragment::{Fragment, Site};
use relayc_ir::kernel::Reason;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The displacement field of an instruction, as dynasm numbers relocations: four bytes, relative to their own address.
const RELATIVE_DWORD: u8 = 2;

/// Alignment of the pool: no constant is larger than a vector.
const POOL_ALIGN: usize = 64;

/// The reason why no code was produced: a mistake of the calling code, never of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsmError {
    /// The instruction or the step.
    pub(crate) what: &'static str,
    pub(crate) why: String,
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for AsmError {}

/// Code under construction, with the constants that it reads.
pub struct Asm {
    isa: Isa,
    ops: VecAssembler<X64Relocation>,
    /// The constant pool, which follows the code, and the displacements that lead there.
    pool: Vec<u8>,
    pool_refs: Vec<PoolRef>,
    /// Offset of each constant in the pool; equal constants are stored once.
    pooled: BTreeMap<Vec<u8>, i32>,
    /// The opmask of the next vector instruction, and whether it zeroes.
    next_mask: Option<(K, bool)>,
    trouble: Option<AsmError>,
    /// Whether to say what the code is and why it is so, for listings.
    explains: bool,
    marks: Vec<Mark>,
    /// Numbers that are known when a fragment is pasted.
    sites: Vec<Site>,
    /// What was assembled before, also for other modules.
    fragments: Arc<Fragments>,
    /// The entries of fragments. They are kept, so that no other one has their address.
    pasted: FxHashMap<FragmentKey, (Arc<Fragment>, usize)>,
}

/// A fragment's address, and the numbers that are known where it is pasted.
type FragmentKey = (usize, Box<[u64]>);

/// A displacement to the constant pool: its four bytes, the end of its instruction, and the offset in the pool.
#[derive(Clone, Copy, Debug)]
struct PoolRef {
    at: usize,
    end: usize,
    disp: i32,
}

/// A comment on a position in the code, for listings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    pub at: usize,
    pub what: String,
}

impl Asm {
    pub fn new(isa: Isa) -> Asm {
        // Most are drafts of one kernel. Freeing 64 KiB or more would make the allocator tidy all of its memory.
        let ops = VecAssembler::new_with_capacity(0, 8 << 10, 0, 0, 64, 0, 64);
        Asm {
            isa,
            ops,
            pool: vec![],
            pool_refs: vec![],
            pooled: BTreeMap::new(),
            next_mask: None,
            trouble: None,
            explains: true,
            marks: vec![],
            sites: vec![],
            fragments: Arc::default(),
            pasted: FxHashMap::default(),
        }
    }

    /// The same with what was assembled before.
    pub fn with(self, fragments: Option<Arc<Fragments>>) -> Asm {
        let Some(fragments) = fragments else { return self };
        Asm { ops: VecAssembler::new_with_capacity(0, fragments.room(), 0, 0, 64, 0, 64), fragments, ..self }
    }

    /// The same without marks and reasons, if nobody reads them.
    pub fn explaining(self, explains: bool) -> Asm {
        Asm { explains, ..self }
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    pub fn explains(&self) -> bool {
        self.explains
    }

    /// The reason for code, if somebody reads it.
    pub(crate) fn reason(&self, reason: impl FnOnce() -> Reason) -> Reason {
        if self.explains { reason() } else { Reason::default() }
    }

    /// The offset of the next instruction: the entry of a function that starts here.
    pub fn here(&self) -> usize {
        self.ops.offset().0
    }

    /// Records what the next instructions are.
    pub(crate) fn mark(&mut self, what: impl Into<String>) {
        if self.explains {
            self.marks.push(Mark { at: self.here(), what: what.into() });
        }
    }

    /// All marks so far, in order.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The offset of the constant pool if nothing more is emitted.
    pub fn pool_start(&self) -> usize {
        if self.pool.is_empty() { self.here() } else { self.here().next_multiple_of(POOL_ALIGN) }
    }

    pub(crate) fn label(&mut self) -> Label {
        Label(self.ops.new_dynamic_label())
    }

    /// Binds `label` to the next instruction.
    pub(crate) fn bind(&mut self, label: Label) {
        self.ops.dynamic_label(label.0);
    }

    /// A new label, bound to the next instruction.
    pub fn bound(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    /// Adds a constant of 4, 8, 16, 32 or 64 bytes and returns it as a memory operand, aligned to its size.
    ///
    /// Any instruction of this assembler accepts the operand; it has no index.
    pub(crate) fn constant(&mut self, bytes: &[u8]) -> Mem {
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

    /// Returns the bytes of code and constants, which run at any 64-byte aligned address.
    pub fn finish(mut self) -> Result<Vec<u8>, AsmError> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        if !self.pool.is_empty() {
            self.ops.align(POOL_ALIGN, 0xcc);
        }
        let start = self.here();
        self.ops.extend(self.pool.iter());
        let mut bytes = self.ops.finalize().map_err(|error| AsmError { what: "labels", why: error.to_string() })?;
        for PoolRef { at, end, disp } in self.pool_refs {
            let far = start as i64 + i64::from(disp) - end as i64;
            let far = i32::try_from(far).map_err(|_| AsmError { what: "constant", why: "it is too far away".into() })?;
            bytes[at..at + 4].copy_from_slice(&far.to_le_bytes());
        }
        self.fragments.made(bytes.len());
        Ok(bytes)
    }

    /// Records a mistake; keeps the first.
    pub(crate) fn refuse(&mut self, what: &'static str, why: &str) {
        debug_assert!(false, "{what}: {why}");
        self.trouble.get_or_insert_with(|| AsmError { what, why: why.to_owned() });
    }

    /// Appends an encoded instruction. A displacement to the pool is patched once the pool's offset is known.
    fn append(&mut self, bytes: &Bytes) {
        if let Some((at, disp)) = bytes.pool {
            let start = self.here();
            self.pool_refs.push(PoolRef { at: start + at, end: start + bytes.as_slice().len(), disp });
        }
        self.ops.extend(bytes.as_slice().iter());
    }

    /// Encodes a vector instruction: as VEX where possible, because it is shorter, otherwise as EVEX.
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
