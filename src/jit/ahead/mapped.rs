//! An artifact's image, run where its file is mapped: nothing is compiled, copied or packed.

use super::runtime::instance::{Fault, Image, Instance, NoInstance};
use super::runtime::layout::PAGE;
use super::runtime::pool::{Start, Threads};
use crate::jit::asm::Isa;
use crate::jit::cpu::Cpu;
use memmap2::{Mmap, MmapOptions};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;

/// A file's bytes, of which none are executable.
pub struct Mapped {
    map: Mmap,
}

impl Mapped {
    /// Maps a file, all of it at once, as all of it is about to be read. Whoever shortens it meanwhile ends the process, as with every program that is executed.
    pub fn new(file: &File) -> io::Result<Mapped> {
        // SAFETY: the pages are read only; their file is one that its user runs, as the documentation of artifacts says.
        let map = unsafe { MmapOptions::new().populate().map(file)? };
        Ok(Mapped { map })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Makes the code of an image executable, and gives the program that it is. `image` is where the image lies in the file, and
    /// `code` where its code lies in the image: whole pages of what is mapped, or it is an error, as what the system says.
    ///
    /// The caller has compared the checksum and described the image ([`super::describe`]). What its code does is the word of the
    /// user, who names the file to be run; so this is no more unsafe than starting a program is.
    pub fn program(self, image: Range<usize>, code: Range<usize>) -> io::Result<Loaded> {
        let inside = image.start <= image.end && image.end <= self.map.len() && code.start <= code.end && code.end <= image.len();
        if !inside || ![image.start, code.start].iter().all(|start| start.is_multiple_of(PAGE)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let start = self.map.as_ptr().wrapping_add(image.start);
        let (address, bytes) = (start.wrapping_add(code.start), code.len());
        // SAFETY: the pages are ours, and never writable.
        let failed = unsafe { libc::mprotect(address as *mut c_void, bytes, libc::PROT_READ | libc::PROT_EXEC) };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Loaded { map: self.map, start: image.start })
    }
}

/// A program in its file's pages.
pub struct Loaded {
    map: Mmap,
    /// Where the image is.
    start: usize,
}

/// What one run after the other uses.
pub struct Session<'a> {
    instance: Instance<'a>,
}

/// What an operator failed with: its code, such as `E0501`, and its words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

impl Loaded {
    /// Memory and threads for runs. `isa` is the instruction set, by default the best that is `allowed`. Errors: that there is
    /// no code for it, or no memory.
    pub fn session(&self, threads: usize, isa: Option<Isa>, allowed: &[Isa]) -> Result<Session<'_>, NoInstance> {
        let runs = |level: u32| allowed.iter().any(|&isa| Cpu::get().has(isa) && level_of(isa) == level);
        // SAFETY: the image is there as long as the map; its user vouches for what is in it.
        let image = unsafe { Image::at(self.map.as_ptr().wrapping_add(self.start)) };
        let instance = Instance::new(image, threads, isa.map_or(0, level_of), runs, Some(THREADS))?;
        Ok(Session { instance })
    }
}

impl Session<'_> {
    /// The instruction set whose code runs.
    pub fn isa(&self) -> Isa {
        if self.instance.level() == level_of(Isa::Avx512) { Isa::Avx512 } else { Isa::Avx2 }
    }

    pub fn n_threads(&self) -> usize {
        self.instance.n_threads()
    }

    /// The memory of an input, to be written before a run.
    pub fn input(&mut self, at: usize) -> &mut [u8] {
        self.instance.input(at)
    }

    /// An output of the last run.
    pub fn output(&self, at: usize) -> &[u8] {
        self.instance.output(at)
    }

    /// Runs once; `go_on` is asked before each step. `Ok(false)` where it said no. Errors: what an operator fails with.
    pub fn run(&mut self, go_on: impl FnMut() -> bool) -> Result<bool, Failure> {
        self.instance.run(go_on).map_err(|fault| self.failure(&fault))
    }

    fn failure(&self, fault: &Fault) -> Failure {
        let [before, behind] = self.instance.words(fault).map(|words| String::from_utf8_lossy(words).into_owned());
        let index = fault.index.map_or(String::new(), |index| index.to_string());
        Failure { code: format!("E{:04}", fault.code), message: format!("{before}{index}{behind}") }
    }
}

/// The level of x86-64 that an instruction set is.
pub const fn level_of(isa: Isa) -> u32 {
    match isa {
        Isa::Avx2 => 3,
        Isa::Avx512 => 4,
    }
}

/// The threads of this process.
pub(super) const THREADS: Threads = Threads { create: start, join };

unsafe extern "C" fn start(thread: *mut usize, attributes: *const c_void, begin: Start, with: *mut c_void) -> i32 {
    // SAFETY: as the caller's; on this system a thread is named by a word.
    unsafe { libc::pthread_create(thread.cast(), attributes.cast(), begin, with) }
}

unsafe extern "C" fn join(thread: usize, result: *mut *mut c_void) -> i32 {
    // SAFETY: as the caller's.
    unsafe { libc::pthread_join(thread as libc::pthread_t, result) }
}
