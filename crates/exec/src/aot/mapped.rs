//! Runs an artifact's image from its mapped file; nothing is compiled, copied or packed.

use memmap2::{Mmap, MmapOptions};
use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::{Cpu, level_of};
use relayc_runtime::fault::Fault;
use relayc_runtime::instance::{Image, Instance, NoInstance};
use relayc_runtime::layout::PAGE;
use relayc_runtime::pool::{Start, Threads};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The mapped bytes of a file, none of them executable.
pub struct Mapped {
    map: Mmap,
}

impl Mapped {
    /// Maps a file and reads all of it ahead, because all of it is needed soon.
    ///
    /// Truncating the file meanwhile ends the process, as for every executed program.
    pub fn new(file: &File) -> io::Result<Mapped> {
        // SAFETY: the pages are read only; their file is one that its user runs, as the documentation of artifacts says.
        let map = unsafe { MmapOptions::new().populate().map(file)? };
        Ok(Mapped { map })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Makes the code of an image executable, and returns the program.
    ///
    /// `image` is the range of the image in the file, `code` that of its code in the image. A `code` range that is not whole
    /// pages of the mapping is an error, as are errors of the system. The caller has compared the checksum and described the
    /// image ([`super::describe`]). The user vouches for the code by naming the file to run, so this is no more unsafe than
    /// starting a program.
    pub fn program(self, image: Range<usize>, code: Range<usize>) -> io::Result<MappedProgram> {
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
        Ok(MappedProgram { map: Arc::new(self.map), start: image.start })
    }
}

/// A program in its file's pages.
pub struct MappedProgram {
    map: Arc<Mmap>,
    /// Offset of the image.
    start: usize,
}

/// State that consecutive runs reuse. It keeps the program's pages.
pub struct MappedSession {
    /// Of the image in the map, before which it is dropped.
    instance: Instance<'static>,
    _map: Arc<Mmap>,
}

/// The failure of an operator: its code, such as `E0501`, and its message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

impl MappedProgram {
    /// Allocates memory and threads for runs.
    ///
    /// `isa` is the instruction set, by default the best that is `allowed`. Errors: no code for it, or no memory.
    pub fn session(&self, threads: usize, isa: Option<Isa>, allowed: &[Isa]) -> Result<MappedSession, NoInstance> {
        let runs = |level: u32| allowed.iter().any(|&isa| Cpu::get().has(isa) && level_of(isa) == level);
        // SAFETY: the image is there as long as the map, which the session keeps; its user vouches for what is in it.
        let image = unsafe { Image::at(self.map.as_ptr().wrapping_add(self.start)) };
        let instance = Instance::new(image, threads, isa.map_or(0, level_of), runs, Some(THREADS))?;
        Ok(MappedSession { instance, _map: self.map.clone() })
    }
}

impl MappedSession {
    /// The instruction set of the running code.
    pub fn isa(&self) -> Isa {
        if self.instance.level() == level_of(Isa::Avx512) { Isa::Avx512 } else { Isa::Avx2 }
    }

    pub fn n_threads(&self) -> usize {
        self.instance.n_threads()
    }

    /// Sets the size of inputs, outputs and runs, by its number.
    pub fn set_size(&mut self, size: usize) {
        self.instance.set_size(size);
    }

    /// The number of the size.
    pub fn size(&self) -> usize {
        self.instance.size()
    }

    /// The memory of an input, to be written before a run.
    pub fn input(&mut self, at: usize) -> &mut [u8] {
        self.instance.input(at)
    }

    /// The dimensions of an output of the last run.
    pub fn output_shape(&self, at: usize) -> &[u64] {
        self.instance.output_shape(at)
    }

    /// An output of the last run.
    pub fn output(&self, at: usize) -> &[u8] {
        self.instance.output(at)
    }

    /// Runs once; calls `go_on` before each step with its number. `Ok(false)` if it returned false. Errors: the failure of an
    /// operator.
    pub fn run(&mut self, go_on: impl FnMut(usize) -> bool) -> Result<bool, Failure> {
        self.instance.run(go_on).map_err(|fault| self.failure(&fault))
    }

    fn failure(&self, fault: &Fault) -> Failure {
        let [before, behind] = self.instance.words(fault).map(|words| String::from_utf8_lossy(words).into_owned());
        let index = fault.index.map_or(String::new(), |index| index.to_string());
        Failure { code: format!("E{:04}", fault.code), message: format!("{before}{index}{behind}") }
    }
}

/// The thread functions of this process.
pub(super) const THREADS: Threads = Threads { create: start, join };

unsafe extern "C" fn start(thread: *mut usize, attributes: *const c_void, begin: Start, with: *mut c_void) -> i32 {
    // SAFETY: as the caller's; on this system a thread is named by a word.
    unsafe { libc::pthread_create(thread.cast(), attributes.cast(), begin, with) }
}

unsafe extern "C" fn join(thread: usize, result: *mut *mut c_void) -> i32 {
    // SAFETY: as the caller's.
    unsafe { libc::pthread_join(thread as libc::pthread_t, result) }
}
