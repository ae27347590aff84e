//! Executable memory: finished code in pages that may be run and read, never written.
//!
//! The pages are written first and made executable after, so nothing is ever writable and executable at once. A [`Code`] owns
//! them; clones share them. Deliberately not here: what the code does.

use super::asm::{Asm, AsmError};
use dynasmrt::ExecutableBuffer;
use dynasmrt::mmap::MutableBuffer;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Why code did not become executable.
#[derive(Debug)]
pub enum CodeError {
    Asm(AsmError),
    /// The system gave no pages, or would not make them executable.
    Memory(std::io::Error),
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            CodeError::Asm(error) => error.fmt(f),
            CodeError::Memory(error) => write!(f, "no executable memory: {error}"),
        }
    }
}

impl std::error::Error for CodeError {}

/// A module's code. It stays where it is as long as any clone or any [`Function`] lives.
#[derive(Clone, Debug)]
pub struct Code {
    pages: Arc<ExecutableBuffer>,
}

impl Code {
    /// Finishes an assembler and maps its code.
    pub fn new(asm: Asm) -> Result<Code, CodeError> {
        let bytes = asm.finish().map_err(CodeError::Asm)?;
        Code::from_bytes(&bytes).map_err(CodeError::Memory)
    }

    fn from_bytes(bytes: &[u8]) -> std::io::Result<Code> {
        let mut pages = MutableBuffer::new(bytes.len())?;
        pages.set_len(bytes.len());
        pages.copy_from_slice(bytes);
        Ok(Code { pages: Arc::new(pages.make_exec()?) })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.pages
    }

    /// The address of the instruction at `offset`, if there is one.
    pub fn address(&self, offset: usize) -> Option<*const u8> {
        self.pages.get(offset).map(|byte| byte as *const u8)
    }

    /// The function that starts at `offset`, which [`Asm::here`] gave; `F` is an `unsafe extern "sysv64" fn(…)`.
    ///
    /// # Safety
    ///
    /// The code at `offset` is a function of type `F`: it takes its arguments, and keeps what it must keep.
    pub unsafe fn function<F: Copy>(&self, offset: usize) -> Option<Function<F>> {
        if size_of::<F>() != size_of::<*const u8>() {
            return None;
        }
        Some(Function { address: self.address(offset)?, code: self.clone(), of: PhantomData })
    }
}

/// A function in a [`Code`], which it keeps alive.
#[derive(Clone, Debug)]
pub struct Function<F> {
    address: *const u8,
    code: Code,
    of: PhantomData<F>,
}

// SAFETY: the pages are never written after they became executable, and the address points into them.
unsafe impl<F> Send for Function<F> {}
// SAFETY: as above; a shared reference gives only the address of immutable code.
unsafe impl<F> Sync for Function<F> {}

impl<F: Copy> Function<F> {
    /// The function pointer, to be called while `self` lives. What it may be given is the kernel's contract.
    pub fn get(&self) -> F {
        // SAFETY: `Code::function` has checked that `F` has the size of an address, and its caller promised that the code
        // there is a function of type `F`.
        unsafe { std::mem::transmute_copy(&self.address) }
    }

    pub fn code(&self) -> &Code {
        &self.code
    }
}
