//! Instances: a program with the memory of its runs.

use super::fault::Fault;
use super::layout::{MAX_RANK, head, instr, part, place, port, program, size, target};
use super::pack::Packing;
use super::pool::{Pool, Threads, Worker};
use super::region::{MAX_THREADS, WorkerSlot};
use super::step::{Step, StepContext, pack};
use super::system::{Heap, cores};
use super::words::{Words, text};
use core::marker::PhantomData;
use core::ptr::{null, null_mut};

/// An immutable image in memory.
#[derive(Clone, Copy)]
pub struct Image<'a> {
    start: *const u8,
    of: PhantomData<&'a [u8]>,
}

/// An input or output tensor of a size.
#[derive(Clone, Copy)]
pub struct Port<'a> {
    image: Image<'a>,
    words: *const u64,
}

/// Why there is no instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoInstance {
    /// The program has no code for this machine's instruction set, or for the requested one.
    Machine,
    Memory,
}

impl<'a> Image<'a> {
    /// # Safety
    /// An image of this version is at `start`, with executable code, for `'a`.
    pub const unsafe fn at(start: *const u8) -> Image<'a> {
        Image { start, of: PhantomData }
    }

    fn head(&self, at: usize) -> u64 {
        self.word(8 * at as u64)
    }

    fn word(&self, byte: u64) -> u64 {
        // SAFETY: the image has it.
        unsafe { self.start.wrapping_add(byte as usize).cast::<u64>().read() }
    }

    pub fn n_inputs(&self) -> usize {
        self.head(head::N_INPUTS) as usize
    }

    pub fn n_outputs(&self) -> usize {
        self.head(head::N_OUTPUTS) as usize
    }

    /// Number of sizes that there is code for.
    pub fn n_sizes(&self) -> usize {
        self.head(head::N_SIZES) as usize
    }

    /// The name of a size, terminated by 0.
    pub fn size_name(&self, of: usize) -> Option<&'a [u8]> {
        let at = self.head(head::SIZES) + 8 * (size::WORDS * of + size::NAME) as u64;
        // SAFETY: the image has the text of each size.
        (of < self.n_sizes()).then(|| unsafe { text(self.start, [self.word(at), self.word(at + 8)]) })
    }

    /// An input at a size.
    pub fn input(&self, size: usize, at: usize) -> Option<Port<'a>> {
        (size < self.n_sizes() && at < self.n_inputs()).then(|| self.port(size, at))
    }

    /// An output at a size.
    pub fn output(&self, size: usize, at: usize) -> Option<Port<'a>> {
        (size < self.n_sizes() && at < self.n_outputs()).then(|| self.port(size, self.n_inputs() + at))
    }

    fn port(&self, size: usize, at: usize) -> Port<'a> {
        let number = size * (self.n_inputs() + self.n_outputs()) + at;
        let start = self.head(head::PORTS) as usize + 8 * port::WORDS * number;
        Port { image: *self, words: self.start.wrapping_add(start).cast() }
    }

    /// The size at which all inputs have their shapes, given whether one does at a size.
    pub fn size_of(&self, fits: impl Fn(usize, &Port<'a>) -> bool) -> Option<usize> {
        let all = |&size: &usize| (0..self.n_inputs()).all(|at| self.input(size, at).is_some_and(|port| fits(at, &port)));
        (0..self.n_sizes()).find(all)
    }

    /// The text that two words of the head locate, terminated by 0.
    pub fn text(&self, at: usize) -> &'a [u8] {
        // SAFETY: the image has it.
        unsafe { text(self.start, [self.head(at), self.head(at + 1)]) }
    }

    /// The words of the requested target; for level 0, of the best one for which `runs` holds.
    fn target(&self, level: u32, runs: impl Fn(u32) -> bool) -> Option<u64> {
        let targets = (0..self.head(head::N_TARGETS)).map(|at| self.head(head::TARGETS) + 8 * target::WORDS as u64 * at);
        let level_of = |at: u64| self.word(at + 8 * target::LEVEL as u64) as u32;
        targets.filter(|&at| (level == 0 || level_of(at) == level) && runs(level_of(at))).last()
    }
}

impl<'a> Port<'a> {
    fn word(&self, at: usize) -> u64 {
        // SAFETY: a port has so many words.
        unsafe { self.words.add(at).read() }
    }

    /// The name, terminated by 0.
    pub fn name(&self) -> &'a [u8] {
        // SAFETY: the image has it.
        unsafe { text(self.image.start, [self.word(port::NAME), self.word(port::NAME + 1)]) }
    }

    /// The dtype as Relay writes it, terminated by 0.
    pub fn dtype(&self) -> &'a [u8] {
        // SAFETY: the image has it.
        unsafe { text(self.image.start, [self.word(port::DTYPE), self.word(port::DTYPE + 1)]) }
    }

    pub fn bytes(&self) -> usize {
        self.word(port::BYTES) as usize
    }

    /// Whether a run decides the dimensions, which are at most those of [`Port::shape`].
    pub fn is_open(&self) -> bool {
        self.word(port::OPEN) != 0
    }

    pub fn shape(&self) -> &'a [u64] {
        let start = self.image.start.wrapping_add(self.word(port::DIMS) as usize);
        // SAFETY: the image has as many dimensions as the rank says.
        unsafe { core::slice::from_raw_parts(start.cast(), self.word(port::RANK) as usize) }
    }
}

/// State that consecutive runs reuse.
pub struct Instance<'a> {
    image: Image<'a>,
    heap: Heap,
    memory: Memory<'a>,
    crew: Crew,
    level: u32,
    /// The size of inputs and outputs.
    size: usize,
}

/// The memory of runs, and the program of each size. It borrows from the image, and from the heap beside it.
#[derive(Clone, Copy)]
struct Memory<'a> {
    programs: &'a [Program<'a>],
    /// Each with room for any size.
    inputs: &'a [*mut u8],
    /// The outputs, then the dimensions of each.
    outputs: &'a [*mut u8],
}

/// The code of a size.
#[derive(Clone, Copy)]
struct Program<'a> {
    parts: &'a [Part<'a>],
    instrs: &'a [Instr],
}

/// Steps that follow each other.
#[derive(Clone, Copy)]
struct Part<'a> {
    means: StepContext,
    steps: &'a [Step<'a>],
    /// The number of its first step among those of all parts.
    first: usize,
}

#[derive(Clone, Copy)]
enum Instr {
    /// Runs a part, by its number.
    Run(usize),
    Jump(usize),
    /// Jumps if the bool is false.
    Unless(*const u8, usize),
}

/// The threads of runs.
#[derive(Clone, Copy)]
struct Crew {
    pool: &'static Pool,
    workers: *const [Worker],
    threads: Option<Threads>,
}

// SAFETY: all that it points at is its own or never written; a run needs the instance for itself.
unsafe impl Send for Instance<'_> {}

impl<'a> Instance<'a> {
    /// Allocates memory and threads for runs. Its size is the first one.
    ///
    /// `n_threads` is the number of threads; 0 means as many as cores, and the system may give fewer. `level` selects the
    /// target; 0 means the best one for which `runs` holds.
    pub fn new(
        image: Image<'a>,
        n_threads: usize,
        level: u32,
        runs: impl Fn(u32) -> bool,
        threads: Option<Threads>,
    ) -> Result<Instance<'a>, NoInstance> {
        let target = image.target(level, runs).ok_or(NoInstance::Machine)?;
        let mut heap = Heap::new();
        let crew = Crew::start(n_threads, threads, &mut heap);
        let memory = crew.as_ref().and_then(|crew| Memory::of(&image, target, crew.pool, &mut heap));
        match (crew, memory) {
            (Some(crew), Some(memory)) => {
                let level = image.word(target + 8 * target::LEVEL as u64) as u32;
                Ok(Instance { image, heap, memory, crew, level, size: 0 })
            }
            (crew, _) => {
                if let Some(crew) = crew {
                    crew.end();
                }
                // SAFETY: threads are gone, and nobody else knows the memory.
                unsafe { heap.free() };
                Err(NoInstance::Memory)
            }
        }
    }

    pub fn image(&self) -> Image<'a> {
        self.image
    }

    /// The x86-64 level of the running code.
    pub fn level(&self) -> u32 {
        self.level
    }

    pub fn n_threads(&self) -> usize {
        self.crew.pool.n_threads()
    }

    /// The size of inputs, outputs and runs.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sets the size, one of the image's. Inputs keep their bytes.
    pub fn set_size(&mut self, size: usize) {
        self.size = size;
    }

    /// The memory of an input, to be written.
    pub fn input(&mut self, at: usize) -> &mut [u8] {
        let bytes = self.image.input(self.size, at).map_or(0, |port| port.bytes());
        // SAFETY: each input has at least so many bytes of its own, and the instance is borrowed alone.
        self.memory.inputs.get(at).map_or(&mut [], |&start| unsafe { core::slice::from_raw_parts_mut(start, bytes) })
    }

    /// The dimensions of an output, as the last run of this size left them.
    pub fn output_shape(&self, at: usize) -> &[u64] {
        let Some(port) = self.image.output(self.size, at) else { return &[] };
        match self.memory.outputs.get(self.image.n_outputs() + at) {
            // SAFETY: there is room for the dimensions of any rank, and only runs write them.
            Some(&start) if port.is_open() => unsafe { core::slice::from_raw_parts(start.cast(), port.shape().len()) },
            _ => port.shape(),
        }
    }

    /// The memory of an output, as the last run of this size left it.
    pub fn output(&self, at: usize) -> &[u8] {
        let bytes = self.image.output(self.size, at).map_or(0, |port| {
            let elements = |shape: &[u64]| shape.iter().fold(1, |n: u64, &dim| n.saturating_mul(dim));
            let (most, all) = (elements(port.shape()), port.bytes() as u64);
            let bytes = all.checked_div(most).unwrap_or(0).saturating_mul(elements(self.output_shape(at)));
            bytes.min(all) as usize
        });
        // SAFETY: each output has at least so many bytes of its own, which only runs write.
        self.memory.outputs.get(at).map_or(&[], |&start| unsafe { core::slice::from_raw_parts(start, bytes) })
    }

    /// Runs once, from inputs to outputs; calls `go_on` before each step with its number. `Ok(false)` if it returned false.
    /// Errors: the failure of an operator.
    pub fn run(&mut self, mut go_on: impl FnMut(usize) -> bool) -> Result<bool, Fault> {
        let Program { parts, instrs } = &self.memory.programs[self.size];
        let mut next = 0;
        while let Some(instr) = instrs.get(next) {
            next += 1;
            match *instr {
                Instr::Run(number) => {
                    let Part { means, steps, first } = &parts[number];
                    for (at, step) in steps.iter().enumerate() {
                        if !go_on(first + at) {
                            return Ok(false);
                        }
                        // SAFETY: the buffers are those of the program, and the instance is borrowed alone.
                        unsafe { step.run(means, self.crew.pool)? };
                    }
                }
                Instr::Jump(to) => next = to,
                // SAFETY: the tensor is a bool, which is a byte.
                Instr::Unless(cond, to) => next = if unsafe { cond.read() } == 0 { to } else { next },
            }
        }
        Ok(true)
    }

    /// The message of a fault: the texts before and after the index.
    pub fn words(&self, fault: &Fault) -> [&'a [u8]; 2] {
        // SAFETY: the image has the texts that its steps name.
        [fault.before, fault.behind].map(|place| unsafe { text(self.image.start, place) })
    }
}

impl Drop for Instance<'_> {
    fn drop(&mut self) {
        self.crew.end();
        // SAFETY: threads are gone, and nobody else knows the memory.
        unsafe { core::mem::take(&mut self.heap).free() };
    }
}

impl Crew {
    /// Starts threads, including the caller; 0 means as many as cores. With more threads than cores none of them spins.
    fn start(n_threads: usize, threads: Option<Threads>, heap: &mut Heap) -> Option<Crew> {
        let cores = cores();
        let wanted = if n_threads == 0 { cores } else { n_threads }.min(MAX_THREADS);
        let n_workers = if threads.is_some() { wanted - 1 } else { 0 };
        let seats = heap.take_each(n_workers, WorkerSlot::new)?;
        let pool = &heap.take_each(1, || Pool::new(seats, wanted <= cores))?[0];
        let workers = heap.take(n_workers, Worker::NONE)?;
        let places: *const [Worker] = workers;
        if let Some(threads) = threads {
            // SAFETY: both stay until `end`.
            unsafe { pool.start(workers, threads) };
        }
        Some(Crew { pool, workers: places, threads })
    }

    /// Ends the threads; none of them may be in a region.
    fn end(&self) {
        if let Some(threads) = self.threads {
            // SAFETY: the workers are those that were started, and nothing writes them any more.
            unsafe { self.pool.end(&*self.workers, threads) };
        }
    }
}

impl<'a> Memory<'a> {
    /// Packs the weights that the image has unpacked. `None` without memory.
    fn of(image: &Image<'a>, target: u64, pool: &Pool, heap: &mut Heap) -> Option<Memory<'a>> {
        let n_sizes = image.n_sizes();
        let of_target = |at: usize| image.word(target + 8 * at as u64);
        let word =
            |size: usize, at: usize| image.word(of_target(target::PROGRAMS) + 8 * (program::WORDS * size + at) as u64) as usize;
        let most = |of: &dyn Fn(usize) -> Option<usize>| (0..n_sizes).try_fold(0, |most, size| Some(of(size)?.max(most)));
        let arena = heap.bytes(most(&|size| Some(word(size, program::ARENA)))?)?;
        let beyond = heap.bytes(most(&|size| {
            let more = pool.n_threads().saturating_sub(word(size, program::THREADS));
            more.checked_mul(word(size, program::THREAD_SCRATCH))
        })?)?;
        let inputs = ports(heap, image.n_inputs(), |at| most(&|size| Some(image.input(size, at)?.bytes())))?;
        let n_outputs = image.n_outputs();
        let outputs = ports(heap, 2 * n_outputs, |at| match at < n_outputs {
            true => most(&|size| Some(image.output(size, at)?.bytes())),
            false => Some(8 * MAX_RANK),
        })?;
        let packed = packed(image, of_target(target::PACKINGS), pool, heap)?;
        let means = StepContext { image: image.start, code: image.start, arena, beyond };
        let places = Places { image: *image, means, inputs, outputs };
        let programs = heap.take(n_sizes, Program { parts: &[], instrs: &[] })?;
        for (size, program) in programs.iter_mut().enumerate() {
            let parts = heap.take(word(size, program::N_PARTS), Part { means, steps: &[], first: 0 })?;
            let mut first = 0;
            for (number, part) in parts.iter_mut().enumerate() {
                let at = word(size, program::PARTS) + 8 * part::WORDS * number;
                *part = places.part(at as u64, first, packed, pool, heap)?;
                first += part.steps.len();
            }
            let instrs = heap.take(word(size, program::N_INSTRS), Instr::Jump(0))?;
            for (number, instr) in instrs.iter_mut().enumerate() {
                *instr = places.instr((word(size, program::INSTRS) + 8 * instr::WORDS * number) as u64);
            }
            *program = Program { parts, instrs };
        }
        Some(Memory { programs, inputs, outputs })
    }
}

/// What the words of a program name.
struct Places<'a> {
    image: Image<'a>,
    means: StepContext,
    inputs: &'a [*mut u8],
    outputs: &'a [*mut u8],
}

impl<'a> Places<'a> {
    /// The tensor whose location two words are.
    fn tensor(&self, at: u64) -> *mut u8 {
        let (kind, at) = (self.image.word(at), self.image.word(at + 8) as usize);
        match kind {
            place::INPUT => self.inputs[at],
            place::OUTPUT => self.outputs[at],
            place::ARENA => self.means.arena.wrapping_add(at),
            _ => self.image.start.wrapping_add(at).cast_mut(),
        }
    }

    /// The part whose words are at `at`.
    fn part(&self, at: u64, first: usize, packed: &[*const u8], pool: &Pool, heap: &mut Heap) -> Option<Part<'a>> {
        let word = |field: usize| self.image.word(at + 8 * field as u64);
        let buffers = heap.take(word(part::N_BUFFERS) as usize, null_mut::<u8>())?;
        for (number, buffer) in buffers.iter_mut().enumerate() {
            *buffer = self.tensor(word(part::BUFFERS) + 16 * number as u64);
        }
        let means = StepContext { code: self.image.start.wrapping_add(word(part::CODE) as usize), ..self.means };
        // SAFETY: the image has the list of the steps.
        let list = unsafe { Words::at(self.image.start, word(part::STEPS)) }.sizes();
        let steps = heap.take(list.len(), Step::Nothing)?;
        for (step, &at) in steps.iter_mut().zip(list) {
            // SAFETY: the image has the step's words.
            let mut words = unsafe { Words::at(self.image.start, at) };
            *step = Step::read(&mut words, &means, buffers, packed, pool, heap)?;
        }
        Some(Part { means, steps, first })
    }

    fn instr(&self, at: u64) -> Instr {
        let word = |field: usize| self.image.word(at + 8 * field as u64);
        let to = word(instr::TO) as usize;
        match word(instr::KIND) {
            instr::RUN => Instr::Run(word(instr::WHAT) as usize),
            instr::JUMP => Instr::Jump(to),
            _ => Instr::Unless(self.tensor(at + 8 * instr::WHAT as u64), to),
        }
    }
}

/// Packs the weights that the image has unpacked; no region of the pool runs. `None` without memory.
fn packed<'a>(image: &Image<'a>, list: u64, pool: &Pool, heap: &mut Heap) -> Option<&'a [*const u8]> {
    // SAFETY: the image has the list of packings.
    let list = unsafe { Words::at(image.start, list) }.sizes();
    let all = heap.take(list.len(), null::<u8>())?;
    for (place, &at) in all.iter_mut().zip(list) {
        // SAFETY: the image has the words of a packing.
        let mut words = unsafe { Words::at(image.start, at) };
        let source = image.start.wrapping_add(words.number());
        let packed = heap.bytes(words.number())?;
        let packing = Packing::read(&mut words);
        // SAFETY: the image has the weights, the new memory has room for them packed, and no region runs.
        unsafe { pack(&packing, source, packed, pool, pool.n_threads()) };
        *place = packed;
    }
    Some(all)
}

/// Allocates memory for each port, given its bytes.
fn ports<'a>(heap: &mut Heap, n: usize, bytes: impl Fn(usize) -> Option<usize>) -> Option<&'a [*mut u8]> {
    let places = heap.take(n, null_mut())?;
    for (at, place) in places.iter_mut().enumerate() {
        *place = heap.bytes(bytes(at)?)?;
    }
    Some(places)
}
