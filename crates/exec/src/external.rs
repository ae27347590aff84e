//! Functions that outside compilers made: shared objects with the interface of `relayc_external.h`.
//!
//! Promises that nothing of a library is called before it has stated its inputs and outputs. What the library states is read within
//! limits; that its pointers and its code are sound is the word of whoever named its compiler.

use memmap2::MmapMut;
use relayc_runtime::layout::MAX_RANK;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::path::Path;

/// The header that describes the interface in C.
pub const HEADER: &str = include_str!("relayc_external.h");

/// The symbol of a library.
const SYMBOL: &CStr = c"relayc_external_function";

/// The version of the interface.
const VERSION: u64 = 1;

/// Most inputs or outputs.
const MAX_PORTS: u64 = 1 << 16;

/// Most letters of a dtype.
const MAX_DTYPE: usize = 32;

/// The type of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorType {
    pub dtype: String,
    pub shape: Vec<u64>,
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        write!(f, "{} of shape ({})", self.dtype, shape.join(", "))
    }
}

/// `relayc_external_tensor`.
#[repr(C)]
struct Tensor {
    dtype: *const c_char,
    rank: u64,
    shape: *const u64,
}

type Run = unsafe extern "C" fn(inputs: *const *const c_void, outputs: *const *mut c_void) -> c_int;

/// `relayc_external`.
#[repr(C)]
struct Table {
    version: u64,
    n_inputs: u64,
    inputs: *const Tensor,
    n_outputs: u64,
    outputs: *const Tensor,
    run: Option<Run>,
}

/// A loaded library. It stays in memory until the process ends, since what it started may run on.
pub struct Library {
    run: Run,
    pub inputs: Vec<TensorType>,
    pub outputs: Vec<TensorType>,
}

impl Library {
    /// Loads a library and reads what it states. Errors: why that is impossible, in words.
    pub fn open(path: &Path) -> Result<Library, String> {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| "its path has a zero byte")?;
        // SAFETY: the name ends in a zero. The code that the library runs when it is loaded is the word of whoever named its compiler.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("it cannot be loaded: {}", last_error()));
        }
        // SAFETY: the handle is open, the name ends in a zero.
        let table = unsafe { libc::dlsym(handle, SYMBOL.as_ptr()) }.cast::<Table>();
        if table.is_null() || !table.is_aligned() {
            return Err(format!("it has no symbol `{}`", SYMBOL.to_string_lossy()));
        }
        // SAFETY: the symbol is the interface's.
        let version = unsafe { (*table).version };
        if version != VERSION {
            return Err(format!("it is of version {version}, not {VERSION}"));
        }
        // SAFETY: it has the fields of this version.
        let table = unsafe { &*table };
        let run = table.run.ok_or("its `run` is null")?;
        let inputs = stated("inputs", table.inputs, table.n_inputs)?;
        let outputs = stated("outputs", table.outputs, table.n_outputs)?;
        Ok(Library { run, inputs, outputs })
    }

    /// Calls it with memory that fits what it states. Errors: the number that it answers, if that is not 0.
    pub fn run(&self, inputs: &[Aligned], outputs: &mut [Aligned]) -> Result<(), i32> {
        assert!(inputs.len() == self.inputs.len() && outputs.len() == self.outputs.len(), "as many tensors as it states");
        let inputs: Vec<*const c_void> = inputs.iter().map(|bytes| bytes.memory.as_ptr().cast()).collect();
        let outputs: Vec<*mut c_void> = outputs.iter_mut().map(|bytes| bytes.memory.as_mut_ptr().cast()).collect();
        // SAFETY: the pointers are to as much memory as the types of the function need, which the library states too.
        match unsafe { (self.run)(inputs.as_ptr(), outputs.as_ptr()) } {
            0 => Ok(()),
            failed => Err(failed),
        }
    }
}

/// The bytes of a tensor in pages of their own.
pub struct Aligned {
    memory: MmapMut,
    len: usize,
}

impl Aligned {
    /// Memory of zeros. Errors: the system has none.
    pub fn zeros(len: usize) -> std::io::Result<Aligned> {
        Ok(Aligned { memory: MmapMut::map_anon(len.max(1))?, len })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }
}

/// The tensors that a library states. Errors: an impossible one, in words.
fn stated(what: &str, list: *const Tensor, n: u64) -> Result<Vec<TensorType>, String> {
    let absurd = |words: &str| Err(format!("its {what} are not sound: {words}"));
    if n > MAX_PORTS {
        return absurd(&format!("{n} of them"));
    }
    let mut types = vec![];
    for at in 0..n as usize {
        if list.is_null() || !list.is_aligned() {
            return absurd("no list");
        }
        // SAFETY: the list has so many, by the interface.
        let Tensor { dtype, rank, shape } = unsafe { &*list.add(at) };
        if *rank > MAX_RANK as u64 || (*rank > 0 && (shape.is_null() || !shape.is_aligned())) || dtype.is_null() {
            return absurd(&format!("number {at} has {rank} dimensions"));
        }
        // SAFETY: it has so many dimensions, by the interface.
        let shape = if *rank == 0 { vec![] } else { unsafe { std::slice::from_raw_parts(*shape, *rank as usize) }.to_vec() };
        // SAFETY: the text ends in a zero, by the interface; no more is read than the longest one has.
        let letters = (0..MAX_DTYPE).map(|at| unsafe { *dtype.add(at) } as u8).take_while(|&byte| byte != 0);
        types.push(TensorType { dtype: String::from_utf8_lossy(&letters.collect::<Vec<u8>>()).into_owned(), shape });
    }
    Ok(types)
}

fn last_error() -> String {
    // SAFETY: the system's text stays until this thread's next call.
    let words = unsafe { libc::dlerror() };
    if words.is_null() {
        return "no reason is known".to_owned();
    }
    // SAFETY: the same, and it ends in a zero.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}
