//! Fragments: functions that are assembled apart, and pasted with their constants wherever they are needed.
//!
//! The same function is part of many modules: the tiles of a product do not depend on how many there are, and most of a loop nest
//! does not depend on how often it is repeated. Such counts are *numbers*, which a fragment has places for and which are known when
//! it is pasted. A fragment is known by all that its code depends on, and kept as long as one of the latest modules has it. In one
//! module it is once for the same numbers ([`Asm::function`]). Absent: what depends on what; who asks for a fragment says it.

use super::{Asm, AsmError, Mark, PoolRef};
use crate::recent::Recent;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Alignment of a fragment.
const ALIGN: usize = 64;

/// A value in a function, from numbers that are known when it is pasted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    /// A number times `scale`, plus `plus`.
    Scaled {
        of: usize,
        scale: i64,
        plus: i64,
    },
    /// `i / n` is `i·factor >> shift`, exact for all `i` below 2^31 and a number `n` below 2^31.
    Factor {
        of: usize,
    },
    Shift {
        of: usize,
    },
}

impl Number {
    /// A number as it is.
    pub(crate) fn plain(of: usize) -> Number {
        Number::Scaled { of, scale: 1, plus: 0 }
    }

    fn value(self, numbers: &[u64]) -> i64 {
        let shift = |n: u64| 31 + n.next_power_of_two().trailing_zeros();
        match self {
            Number::Scaled { of, scale, plus } => scale.wrapping_mul(numbers[of] as i64).wrapping_add(plus),
            Number::Factor { of } => (1u64 << shift(numbers[of])).div_ceil(numbers[of]) as i64,
            Number::Shift { of } => i64::from(shift(numbers[of])),
        }
    }
}

/// What a fragment is, which tells keys apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Nest,
    Tile,
}

/// The place of a number: its first byte, and how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub(super) at: usize,
    pub(super) bytes: usize,
    pub(super) number: Number,
}

/// A function that runs at any address once its numbers are known.
#[derive(Debug)]
pub(crate) struct Fragment {
    bytes: Vec<u8>,
    /// The constants that it reads, by their offset in a pool of its own.
    constants: Vec<(i32, Vec<u8>)>,
    refs: Vec<PoolRef>,
    marks: Vec<Mark>,
    sites: Vec<Site>,
}

/// The fragments of the latest modules.
pub struct Fragments {
    known: Mutex<Recent<Box<[u8]>, Arc<Fragment>>>,
    /// Bytes of the last module.
    bytes: AtomicUsize,
}

/// Number of modules for which a fragment is kept that none of them has. A module has some ten that are not those of any other, of a
/// few KiB each.
const PATIENCE: u64 = 128;

impl Default for Fragments {
    fn default() -> Fragments {
        Fragments { known: Mutex::new(Recent::of(PATIENCE)), bytes: AtomicUsize::new(0) }
    }
}

impl Fragments {
    /// Ends a module.
    pub fn end(&self) {
        self.lock().end();
    }

    /// Bytes that the next module may have.
    pub(super) fn room(&self) -> usize {
        let bytes = self.bytes.load(Relaxed);
        bytes + bytes / 4
    }

    /// Keeps the number of bytes of a module.
    pub(super) fn made(&self, bytes: usize) {
        self.bytes.store(bytes, Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Recent<Box<[u8]>, Arc<Fragment>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes down what is hashed. What derives [`Hash`] hashes all that makes it differ, each list after its length.
#[derive(Default)]
struct Written(Vec<u8>);

impl Hasher for Written {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

impl Asm {
    /// Finishes a function that is to be pasted.
    pub(crate) fn into_fragment(mut self) -> Result<Fragment, AsmError> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        let mut constants: Vec<(i32, Vec<u8>)> = self.pooled.into_iter().map(|(bytes, disp)| (disp, bytes)).collect();
        constants.sort_unstable_by_key(|(disp, _)| *disp);
        let bytes = self.ops.finalize().map_err(|error| AsmError { what: "labels", why: error.to_string() })?;
        Ok(Fragment { bytes, constants, refs: self.pool_refs, marks: self.marks, sites: self.sites })
    }

    /// The entry of a function with its numbers. It was pasted before, or is now; it was assembled before for an equal `key`, or
    /// `emit` assembles it. The key is all that its code depends on besides the instruction set and the numbers.
    pub(crate) fn function(
        &mut self,
        kind: Kind,
        key: &impl Hash,
        numbers: &[u64],
        emit: impl FnOnce(&mut Asm) -> Option<()>,
    ) -> Option<usize> {
        let fragment = self.fragment(kind, key, emit)?;
        let place = (Arc::as_ptr(&fragment).addr(), Box::from(numbers));
        if let Some((_, entry)) = self.pasted.get(&place) {
            return Some(*entry);
        }
        let entry = self.paste(&fragment, numbers);
        self.pasted.insert(place, (fragment, entry));
        Some(entry)
    }

    fn fragment(&self, kind: Kind, key: &impl Hash, emit: impl FnOnce(&mut Asm) -> Option<()>) -> Option<Arc<Fragment>> {
        let assembled = || {
            let mut asm = Asm::new(self.isa).explaining(self.explains);
            emit(&mut asm)?;
            asm.into_fragment().ok().map(Arc::new)
        };
        let fragments = &self.fragments;
        let mut written = Written(vec![kind as u8, self.isa.lanes() as u8]);
        key.hash(&mut written);
        if let Some(known) = fragments.lock().get(&written.0[..]) {
            return Some(known.clone());
        }
        let made = assembled()?;
        fragments.lock().insert(written.0.into(), made.clone());
        Some(made)
    }

    /// Appends a function with its numbers, and returns its entry.
    fn paste(&mut self, fragment: &Fragment, numbers: &[u64]) -> usize {
        self.align(ALIGN);
        let entry = self.here();
        let disps: Vec<i32> = fragment.constants.iter().map(|(_, bytes)| self.constant(bytes).disp).collect();
        let moved = |one: &PoolRef| {
            let of = fragment.constants.partition_point(|(disp, _)| *disp <= one.disp) - 1;
            PoolRef { at: entry + one.at, end: entry + one.end, disp: disps[of] + one.disp - fragment.constants[of].0 }
        };
        self.pool_refs.extend(fragment.refs.iter().map(moved));
        self.marks.extend(fragment.marks.iter().map(|mark| Mark { at: entry + mark.at, what: mark.what.clone() }));
        if fragment.sites.is_empty() {
            self.ops.extend(fragment.bytes.iter());
            return entry;
        }
        let mut bytes = fragment.bytes.clone();
        for site in &fragment.sites {
            let value = site.number.value(numbers).to_le_bytes();
            bytes[site.at..site.at + site.bytes].copy_from_slice(&value[..site.bytes]);
        }
        self.ops.extend(bytes.iter());
        entry
    }
}
