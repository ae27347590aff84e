//! Executable memory: finished code in pages that are readable and executable, never writable.
//!
//! Pages are written first and made executable afterwards, so none is ever writable and executable at once. A [`Code`] owns
//! them; clones share them. Absent: what the code does.

use super::asm::{Asm, AsmError};
use dynasmrt::ExecutableBuffer;
use dynasmrt::mmap::MutableBuffer;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

/// Why code could not be made executable.
#[derive(Debug)]
pub enum CodeError {
    Asm(AsmError),
    /// The system gave no pages, or refused to make them executable.
    Memory(std::io::Error),
    /// There is no code at the stated start of a function.
    Empty,
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            CodeError::Asm(error) => error.fmt(f),
            CodeError::Memory(error) => write!(f, "no executable memory: {error}"),
            CodeError::Empty => f.write_str("no code at a function's offset"),
        }
    }
}

impl std::error::Error for CodeError {}

/// Whether the system lets this process make code executable, asked once: a hardened one may refuse it.
pub fn is_permitted() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    const RET: u8 = 0xc3;
    *PERMITTED.get_or_init(|| Code::from_bytes(&[RET]).is_ok())
}

/// The code of a module. It stays mapped while any clone or any [`Function`] lives.
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

    /// Maps finished code. Errors: those of the system.
    pub fn from_bytes(bytes: &[u8]) -> std::io::Result<Code> {
        let mut pages = MutableBuffer::new(bytes.len())?;
        pages.set_len(bytes.len());
        pages.copy_from_slice(bytes);
        Ok(Code { pages: Arc::new(pages.make_exec()?) })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.pages
    }

    /// The address of the instruction at `offset`, if it is inside the code.
    pub(crate) fn address(&self, offset: usize) -> Option<*const u8> {
        self.pages.get(offset).map(|byte| byte as *const u8)
    }

    /// The function that starts at `offset`, a value of [`Asm::here`]; `F` is an `unsafe extern "sysv64" fn(…)`.
    ///
    /// # Safety
    ///
    /// The code at `offset` is a function of type `F`: it takes those arguments, and preserves the registers that it must.
    pub unsafe fn function<F: Copy>(&self, offset: usize) -> Option<Function<F>> {
        if size_of::<F>() != size_of::<*const u8>() {
            return None;
        }
        Some(Function { address: self.address(offset)?, code: self.clone(), of: PhantomData })
    }
}

/// A function in a [`Code`]; keeps that code alive.
#[derive(Clone, Debug)]
pub struct Function<F> {
    address: *const u8,
    #[cfg_attr(not(test), expect(dead_code, reason = "keeps the pages mapped"))]
    code: Code,
    of: PhantomData<F>,
}

// SAFETY: the pages are never written after they became executable, and the address points into them.
unsafe impl<F> Send for Function<F> {}
// SAFETY: as above; a shared reference gives only the address of immutable code.
unsafe impl<F> Sync for Function<F> {}

impl<F: Copy> Function<F> {
    /// The function pointer, valid while `self` lives. The kernel's contract states the permitted arguments.
    pub fn get(&self) -> F {
        // SAFETY: `Code::function` has checked that `F` has the size of an address, and its caller promised that the code
        // there is a function of type `F`.
        unsafe { std::mem::transmute_copy(&self.address) }
    }

    pub fn address(&self) -> *const u8 {
        self.address
    }

    #[cfg(test)]
    pub(crate) fn code(&self) -> &Code {
        &self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::{Isa, R};
    use crate::tests::guard_pages::writable_and_executable;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

    type Plus = unsafe extern "sysv64" fn(u64) -> u64;

    /// `x + n`, after `pad` bytes.
    fn plus(n: i32, pad: usize) -> Function<Plus> {
        let mut asm = Asm::new(Isa::Avx2);
        asm.align(16);
        (0..pad).for_each(|_| asm.ret());
        let entry = asm.here();
        asm.mov_rr(R::RAX, R::RDI);
        asm.add_ri(R::RAX, n);
        asm.ret();
        let code = Code::new(asm).unwrap();
        // SAFETY: the function there takes one number and gives one.
        unsafe { code.function(entry) }.unwrap()
    }

    #[test]
    fn a_function_keeps_its_code() {
        let functions: Vec<_> = (0..20).map(|n| plus(n, 10 * n as usize)).collect();
        for (n, function) in functions.into_iter().enumerate() {
            let copy = function.clone();
            drop(function);
            // SAFETY: it takes any number.
            assert_eq!(unsafe { copy.get()(100) }, 100 + n as u64);
        }
    }

    #[test]
    fn what_is_no_function_is_not_given_out() {
        let code = plus(1, 0).code().clone();
        // SAFETY: nothing is called.
        let (behind, size) = unsafe { (code.function::<Plus>(code.bytes().len()), code.function::<u16>(0)) };
        assert!(behind.is_none() && size.is_none());
        let mut asm = Asm::new(Isa::Avx2);
        let nowhere = asm.label();
        asm.jmp(nowhere);
        assert!(matches!(Code::new(asm), Err(CodeError::Asm(_))));
    }

    /// I11: reads the process's memory map repeatedly while two other threads make, call and drop code.
    #[test]
    fn nothing_is_writable_and_executable_at_once() {
        let (stop, n_made) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut kept = Vec::new();
                    while !stop.load(SeqCst) {
                        let function = plus(7, 5000);
                        // SAFETY: it takes any number.
                        assert_eq!(unsafe { function.get()(1) }, 8);
                        kept.push(function);
                        kept.truncate(16);
                        n_made.fetch_add(1, SeqCst);
                    }
                });
            }
            let found: Vec<String> = (0..2000).flat_map(|_| writable_and_executable()).take(1).collect();
            while n_made.load(SeqCst) < 10 {
                std::thread::yield_now();
            }
            stop.store(true, SeqCst);
            assert_eq!(found, Vec::<String>::new());
        });
        assert!(n_made.into_inner() >= 10);
    }
}
