//! The root of the shared object that artifacts are made from: the runtime, and the functions that C calls.
//!
//! Compiled with `relayc_linked`, it is an object that others link, with the image at a symbol that `relayc build` defines.
//! `build.rs` compiles it without the standard library; it is not a module of relayc. It needs only `pthread_create` and
//! `pthread_join`, and runs on one thread in a process without them. The header that `relayc build` writes
//! (`crates/engine/src/build/header.rs`) documents the functions.

#[cfg(not(relayc_linked))]
mod library;

use crate::fault::Fault;
use crate::instance::{Image, Instance, NoInstance, Port};
use crate::layout::{ABI_VERSION, MAGIC, MARKER, VERSION, head};
use crate::pool::Threads;
use crate::processor::runs;
use crate::system::{map, unmap};
use core::arch::{asm, global_asm};
use core::ffi::{CStr, c_char};
use core::ptr::{null, null_mut};

/// The location of the image: `relayc build` finds the marker and writes the distance after it.
#[cfg(not(relayc_linked))]
#[repr(C)]
struct Slot {
    marker: [u8; MARKER.len()],
    distance: i64,
}

#[cfg(not(relayc_linked))]
#[used]
static SLOT: Slot = Slot { marker: *MARKER, distance: 0 };

#[cfg(not(relayc_linked))]
fn image_start() -> *const u8 {
    let slot = &raw const SLOT;
    // SAFETY: the slot is there; it is read as what a file says, since it is written after compilation.
    let distance = unsafe { (&raw const (*slot).distance).read_volatile() };
    slot.cast::<u8>().wrapping_offset(distance as isize)
}

#[cfg(relayc_linked)]
fn image_start() -> *const u8 {
    unsafe extern "C" {
        static relayc_image: u8;
    }
    &raw const relayc_image
}

fn image() -> Option<Image<'static>> {
    let start = image_start();
    // SAFETY: where there is an image it has a head, and where there is none the slot itself is read.
    let words = unsafe { core::slice::from_raw_parts(start.cast::<u64>(), 2) };
    let known = words[head::MAGIC] == MAGIC && words[head::VERSION] == VERSION;
    // SAFETY: an image is there, mapped as long as this code is.
    known.then(|| unsafe { Image::at(start) })
}

/// The status that functions return.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Ok = 0,
    /// No memory.
    Memory = 1,
    /// The processor lacks required instructions.
    Machine = 2,
    /// No input or output has this name.
    Name = 3,
    /// A buffer's size or a shape differs from that of its tensor, or there is no code for the shapes of the inputs.
    Size = 4,
    /// An input has not been set, or no run has succeeded.
    Missing = 5,
    /// An operator failed.
    Failed = 6,
    /// A pointer is null, or there is no program in the library.
    Usage = 7,
}

/// Options of an instance; zeros are the defaults.
#[repr(C)]
pub struct Options {
    threads: u32,
    level: u32,
}

const WORDS: usize = 512;

/// An instance: which inputs have been set, whether the last run has succeeded, and the last error.
pub struct Net {
    instance: Instance<'static>,
    bytes: usize,
    /// For each input 0, or one more than the first size that has its shape.
    given: *mut usize,
    /// The size of the last run, if it has succeeded.
    ran: Option<usize>,
    error: [u8; WORDS],
    len: usize,
}

impl Net {
    /// Records an error message, cut before the first character that does not fit.
    fn say(&mut self, parts: &[&[u8]]) {
        self.len = 0;
        self.say_more(parts);
    }

    fn say_more(&mut self, parts: &[&[u8]]) {
        for part in parts {
            let n = fitting(part, WORDS - 1 - self.len);
            // Names come from outside, and the message may go to a terminal.
            let shown = part[..n].iter().map(|&byte| if byte.is_ascii_control() { b'?' } else { byte });
            self.error[self.len..self.len + n].iter_mut().zip(shown).for_each(|(to, byte)| *to = byte);
            self.len += n;
            if n < part.len() {
                break;
            }
        }
        self.error[self.len] = 0;
    }

    /// Adds the names of the sizes to the message.
    fn say_sizes(&mut self) {
        let image = self.instance.image();
        for (at, name) in (0..image.n_sizes()).map_while(|size| image.size_name(size)).enumerate() {
            self.say_more(&[if at == 0 { b"" } else { b", " }, name]);
        }
    }

    fn say_shape(&mut self, shape: &[u64]) {
        self.say_more(&[b"("]);
        for (at, &dim) in shape.iter().enumerate() {
            let mut digits = [0; 40];
            let dim = number(dim.into(), &mut digits);
            self.say_more(&[if at == 0 { b"" } else { b", " }, dim]);
        }
        self.say_more(&[b")"]);
    }

    fn fail(&mut self, fault: &Fault) -> Status {
        let [before, behind] = self.instance.words(fault);
        let mut digits = [0; 40];
        let index = fault.index.map_or(&[][..], |index| number(index, &mut digits));
        self.say(&[before, index, behind]);
        Status::Failed
    }

    /// The number of a tensor, given the tensor of a number.
    fn find(&self, name: *const c_char, port: impl Fn(&Image<'static>, usize) -> Option<Port<'static>>) -> Option<usize> {
        // SAFETY: the caller gives a string with a 0 at its end, and has seen that it is one.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        let image = self.instance.image();
        (0..).map_while(|at| port(&image, at)).position(|port| port.name() == name)
    }

    /// The size that an input of so many bytes has, where they say it.
    fn size_by_bytes(&self, at: usize, bytes: usize) -> Option<usize> {
        let image = self.instance.image();
        let mut found: Option<(usize, Port)> = None;
        for (size, port) in (0..image.n_sizes()).filter_map(|size| Some((size, image.input(size, at)?))) {
            match found {
                _ if port.bytes() != bytes => {}
                None => found = Some((size, port)),
                Some((_, known)) if known.shape() == port.shape() => {}
                Some(_) => return None,
            }
        }
        found.map(|(size, _)| size)
    }

    /// Copies an input, which has its shape at this size.
    ///
    /// # Safety
    /// As many bytes are at `data` as the tensor has.
    unsafe fn set(&mut self, at: usize, size: usize, data: *const u8) -> Status {
        self.instance.set_size(size);
        let to = self.instance.input(at);
        if !to.is_empty() {
            // SAFETY: the input has so many bytes, and the caller promises as many.
            unsafe { core::ptr::copy_nonoverlapping(data, to.as_mut_ptr(), to.len()) };
        }
        // SAFETY: there is a number for each input.
        unsafe { self.given.add(at).write(size + 1) };
        Status::Ok
    }

    /// The status if the name or the tensor is a null pointer.
    fn null(&mut self, name: *const c_char, data: *const u8, bytes: usize) -> Option<Status> {
        let what: &[u8] = match () {
            () if name.is_null() => b"the name is NULL",
            () if data.is_null() && bytes > 0 => b"the tensor is NULL",
            () => return None,
        };
        self.say(&[what]);
        Some(Status::Usage)
    }

    fn wrong_name(&mut self, what: &[u8], name: *const c_char) -> Status {
        // SAFETY: as in `find`.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        self.say(&[b"there is no ", what, b" `", name, b"`"]);
        Status::Name
    }

    fn wrong_size(&mut self, port: &Port, expected: usize, found: usize) -> Status {
        let (mut a, mut b) = ([0; 40], [0; 40]);
        let (expected, found) = (number(expected as i128, &mut a), number(found as i128, &mut b));
        self.say(&[b"`", port.name(), b"` has ", expected, b" bytes, not ", found]);
        Status::Size
    }

    /// The status of bytes that do not say which of several shapes an input has.
    fn no_size_of_bytes(&mut self, port: &Port, found: usize) -> Status {
        let mut digits = [0; 40];
        let found = number(found as i128, &mut digits);
        self.say(&[found, b" bytes do not say the shape of `", port.name(), b"`; there is code for "]);
        self.say_sizes();
        Status::Size
    }
}

/// Number of bytes of a text that fit, without cutting a character.
fn fitting(text: &[u8], room: usize) -> usize {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    let mut n = text.len().min(room);
    while n > 0 && is_inside(n) {
        n -= 1;
    }
    n
}

/// The decimal digits of a number.
fn number(value: i128, digits: &mut [u8; 40]) -> &[u8] {
    let (mut rest, mut at) = (value.unsigned_abs(), digits.len());
    loop {
        at -= 1;
        // No index has more than 64 bits, and dividing so few needs no library.
        digits[at] = b'0' + (rest as u64 % 10) as u8;
        rest = (rest as u64 / 10) as u128;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    &digits[at..]
}

global_asm!(".weak pthread_create", ".weak pthread_join");

/// The functions that start threads, if the process has them.
fn threads() -> Option<Threads> {
    let (create, join): (usize, usize);
    // SAFETY: the table of addresses has a place for each, 0 where there is no such function.
    unsafe {
        asm!(
            "mov {}, qword ptr [rip + pthread_create@GOTPCREL]",
            "mov {}, qword ptr [rip + pthread_join@GOTPCREL]",
            out(reg) create, out(reg) join, options(pure, readonly, nostack)
        );
    }
    if create == 0 || join == 0 {
        return None;
    }
    // SAFETY: these are the functions of POSIX.
    Some(unsafe { Threads { create: core::mem::transmute(create), join: core::mem::transmute(join) } })
}

#[unsafe(no_mangle)]
pub extern "C" fn relayc_abi_version() -> u32 {
    ABI_VERSION
}

/// # Safety
/// `net` is a place for a pointer, `options` null or options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_create(net: *mut *mut Net, options: *const Options) -> Status {
    if net.is_null() {
        return Status::Usage;
    }
    // SAFETY: the caller promises a place.
    unsafe { net.write(null_mut()) };
    let Some(image) = image() else { return Status::Usage };
    // SAFETY: the caller promises options, or null.
    let (n_threads, level) = unsafe { options.as_ref() }.map_or((0, 0), |options| (options.threads as usize, options.level));
    let instance = match Instance::new(image, n_threads, level, runs, threads()) {
        Ok(instance) => instance,
        Err(NoInstance::Machine) => return Status::Machine,
        Err(NoInstance::Memory) => return Status::Memory,
    };
    let bytes = size_of::<Net>() + size_of::<usize>() * image.n_inputs();
    let Some(place) = map(bytes) else { return Status::Memory };
    let given = place.wrapping_add(size_of::<Net>()).cast();
    let made = place.cast::<Net>();
    // SAFETY: the pages have room for it; the numbers behind it are zeros.
    unsafe {
        made.write(Net { instance, bytes, given, ran: None, error: [0; WORDS], len: 0 });
        net.write(made);
    }
    Status::Ok
}

/// # Safety
/// `net` was created and not yet destroyed, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_destroy(net: *mut Net) {
    if !net.is_null() {
        // SAFETY: it lies in pages of its own, and nobody uses it any more.
        unsafe {
            let bytes = (*net).bytes;
            net.drop_in_place();
            unmap(net.cast(), bytes);
        }
    }
}

/// # Safety
/// `net` was created, `name` is a string, and `bytes` bytes are at `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_set_input(net: *mut Net, name: *const c_char, data: *const u8, bytes: usize) -> Status {
    // SAFETY: the caller promises it.
    let Some(net) = (unsafe { net.as_mut() }) else { return Status::Usage };
    if let Some(status) = net.null(name, data, bytes) {
        return status;
    }
    let Some(at) = net.find(name, |image, at| image.input(0, at)) else { return net.wrong_name(b"input", name) };
    match (net.size_by_bytes(at, bytes), net.instance.image().input(0, at)) {
        // SAFETY: the caller promises so many bytes.
        (Some(size), _) => unsafe { net.set(at, size, data) },
        (None, Some(port)) if net.instance.image().n_sizes() > 1 => net.no_size_of_bytes(&port, bytes),
        (None, Some(port)) => net.wrong_size(&port, port.bytes(), bytes),
        (None, None) => Status::Name,
    }
}

/// # Safety
/// `net` was created, `name` is a string, `rank` numbers are at `shape`, and the elements of such a tensor at `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_set_input_shape(
    net: *mut Net,
    name: *const c_char,
    data: *const u8,
    shape: *const u64,
    rank: usize,
) -> Status {
    // SAFETY: the caller promises it.
    let Some(net) = (unsafe { net.as_mut() }) else { return Status::Usage };
    if let Some(status) = net.null(name, data, 0) {
        return status;
    }
    if shape.is_null() && rank > 0 {
        net.say(&[b"the shape is NULL"]);
        return Status::Usage;
    }
    let Some(at) = net.find(name, |image, at| image.input(0, at)) else { return net.wrong_name(b"input", name) };
    // SAFETY: the caller promises so many numbers.
    let shape = if rank == 0 { &[] } else { unsafe { core::slice::from_raw_parts(shape, rank) } };
    let image = net.instance.image();
    let fits = |size: &usize| image.input(*size, at).is_some_and(|port| port.shape() == shape);
    let Some((size, port)) = (0..image.n_sizes()).find(fits).and_then(|size| Some((size, image.input(size, at)?))) else {
        // SAFETY: as in `find`.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        match image.input(0, at) {
            Some(port) if image.n_sizes() == 1 => {
                net.say(&[b"`", name, b"` has no such shape, but "]);
                net.say_shape(port.shape());
            }
            _ => {
                net.say(&[b"`", name, b"` has no such shape; there is code for "]);
                net.say_sizes();
            }
        }
        return Status::Size;
    };
    if let Some(status) = net.null(name, data, port.bytes()) {
        return status;
    }
    // SAFETY: the caller promises the elements of such a tensor.
    unsafe { net.set(at, size, data) }
}

/// # Safety
/// `net` was created, and no other thread uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_run(net: *mut Net) -> Status {
    // SAFETY: the caller promises it.
    let Some(net) = (unsafe { net.as_mut() }) else { return Status::Usage };
    let image = net.instance.image();
    // SAFETY: there is a number for each input.
    let given = |at: usize| unsafe { net.given.add(at).read() };
    if let Some(port) = (0..image.n_inputs()).find(|&at| given(at) == 0).and_then(|at| image.input(0, at)) {
        net.say(&[b"the input `", port.name(), b"` has not been set"]);
        return Status::Missing;
    }
    let fits = |at: usize, port: &Port| image.input(given(at) - 1, at).is_some_and(|given| given.shape() == port.shape());
    let Some(size) = image.size_of(fits) else {
        net.say(&[b"there is no code for inputs of these shapes together; there is for "]);
        net.say_sizes();
        return Status::Size;
    };
    net.instance.set_size(size);
    // A run that fails leaves outputs of which some are new.
    net.ran = None;
    match net.instance.run(|_| true) {
        Ok(_) => {
            net.ran = Some(size);
            Status::Ok
        }
        Err(fault) => net.fail(&fault),
    }
}

/// # Safety
/// `net` was created, `name` is a string, and there is room for `bytes` bytes at `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_get_output(net: *mut Net, name: *const c_char, data: *mut u8, bytes: usize) -> Status {
    // SAFETY: the caller promises it.
    let Some(net) = (unsafe { net.as_mut() }) else { return Status::Usage };
    if let Some(status) = net.null(name, data, bytes) {
        return status;
    }
    let Some(at) = net.find(name, |image, at| image.output(0, at)) else { return net.wrong_name(b"output", name) };
    let Some((size, port)) = net.ran.and_then(|size| Some((size, net.instance.image().output(size, at)?))) else {
        net.say(&[b"no run has given results"]);
        return Status::Missing;
    };
    net.instance.set_size(size);
    let has = net.instance.output(at).len();
    if bytes != has {
        return net.wrong_size(&port, has, bytes);
    }
    if bytes > 0 {
        // SAFETY: the output has so many bytes, and the caller promises room for as many.
        unsafe { core::ptr::copy_nonoverlapping(net.instance.output(at).as_ptr(), data, bytes) };
    }
    Status::Ok
}

/// # Safety
/// `net` was created and not yet destroyed, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_error(net: *const Net) -> *const c_char {
    // SAFETY: the caller promises it.
    match unsafe { net.as_ref() } {
        Some(net) => net.error.as_ptr().cast(),
        None => c"there is no instance".as_ptr(),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn relayc_status_text(status: u32) -> *const c_char {
    let text = match status {
        0 => c"fine",
        1 => c"there is no memory",
        2 => c"this processor lacks the instructions that the program is compiled for",
        3 => c"there is no input or output of that name",
        4 => c"a buffer or a shape is not that of its tensor, or there is no code for these shapes",
        5 => c"an input has not been set, or nothing has been run",
        6 => c"an operator failed",
        7 => c"a pointer is null, or there is no program inside",
        _ => c"no status",
    };
    text.as_ptr()
}

fn count(of: impl Fn(&Image<'static>) -> usize) -> usize {
    image().map_or(0, |image| of(&image))
}

#[unsafe(no_mangle)]
pub extern "C" fn relayc_n_inputs() -> usize {
    count(Image::n_inputs)
}

#[unsafe(no_mangle)]
pub extern "C" fn relayc_n_outputs() -> usize {
    count(Image::n_outputs)
}

#[unsafe(no_mangle)]
pub extern "C" fn relayc_n_sizes() -> usize {
    count(Image::n_sizes)
}

#[unsafe(no_mangle)]
pub extern "C" fn relayc_size(at: usize) -> *const c_char {
    image().and_then(|image| image.size_name(at)).map_or(null(), |name| name.as_ptr().cast())
}

/// The description of an input or an output.
#[repr(C)]
pub struct Tensor {
    name: *const c_char,
    dtype: *const c_char,
    bytes: usize,
    rank: usize,
    shape: *const u64,
}

impl Tensor {
    /// # Safety
    /// `to` is null or a place for one.
    unsafe fn tell(port: impl Fn(&Image<'static>) -> Option<Port<'static>>, to: *mut Tensor) -> Status {
        let (false, Some(image)) = (to.is_null(), image()) else { return Status::Usage };
        let Some(port) = port(&image) else { return Status::Name };
        let (name, dtype) = (port.name().as_ptr().cast(), port.dtype().as_ptr().cast());
        let (rank, shape) = (port.shape().len(), port.shape().as_ptr());
        // SAFETY: the caller promises a place.
        unsafe { to.write(Tensor { name, dtype, bytes: port.bytes(), rank, shape }) };
        Status::Ok
    }
}

/// # Safety
/// `to` is null or a place for a tensor's description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_input(at: usize, to: *mut Tensor) -> Status {
    // SAFETY: the caller promises it.
    unsafe { Tensor::tell(|image| image.input(0, at), to) }
}

/// # Safety
/// `to` is null or a place for a tensor's description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_output(at: usize, to: *mut Tensor) -> Status {
    // SAFETY: the caller promises it.
    unsafe { Tensor::tell(|image| image.output(0, at), to) }
}

/// # Safety
/// `to` is null or a place for a tensor's description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_input_at(size: usize, at: usize, to: *mut Tensor) -> Status {
    // SAFETY: the caller promises it.
    unsafe { Tensor::tell(|image| image.input(size, at), to) }
}

/// # Safety
/// `to` is null or a place for a tensor's description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_output_at(size: usize, at: usize, to: *mut Tensor) -> Status {
    // SAFETY: the caller promises it.
    unsafe { Tensor::tell(|image| image.output(size, at), to) }
}

/// # Safety
/// `net` was created and not yet destroyed, or is null; `to` is null or a place for a tensor's description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_result(net: *mut Net, at: usize, to: *mut Tensor) -> Status {
    // SAFETY: the caller promises it.
    let Some(net) = (unsafe { net.as_mut() }) else { return Status::Usage };
    let Some(size) = net.ran else {
        net.say(&[b"no run has given results"]);
        return Status::Missing;
    };
    // SAFETY: the caller promises it.
    let status = unsafe { Tensor::tell(|image| image.output(size, at), to) };
    if status == Status::Ok {
        net.instance.set_size(size);
        // SAFETY: the place has a description by now.
        let tensor = unsafe { &mut *to };
        (tensor.bytes, tensor.shape) = (net.instance.output(at).len(), net.instance.output_shape(at).as_ptr());
    }
    status
}

/// # Safety
/// `bytes` is null or a place for a number.
unsafe fn told(at: usize, bytes: *mut usize) -> *const c_char {
    let Some(image) = image() else { return null() };
    let text = image.text(at);
    if !bytes.is_null() {
        // SAFETY: the caller promises a place.
        unsafe { bytes.write(text.len()) };
    }
    text.as_ptr().cast()
}

/// # Safety
/// `bytes` is null or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_source(bytes: *mut usize) -> *const c_char {
    // SAFETY: the caller promises it.
    unsafe { told(head::SOURCE, bytes) }
}

/// # Safety
/// `bytes` is null or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn relayc_graph_json(bytes: *mut usize) -> *const c_char {
    // SAFETY: the caller promises it.
    unsafe { told(head::GRAPH, bytes) }
}

// Named by tables of unwinding that nobody reads: a panic ends the process.
global_asm!(".weak rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "ud2");

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: it ends the process, as nothing sound could follow.
    unsafe { asm!("ud2", options(noreturn)) }
}
