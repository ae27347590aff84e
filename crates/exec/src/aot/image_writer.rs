//! The image writer: encodes a loaded program as an image ([`relayc_runtime`]) of code, packed weights, and steps as words.
//!
//! The same program gives the same bytes. Tensors of equal bytes are stored once, even if two targets share them.

use super::messages::{self, Message};
use crate::constants;
use crate::index;
use crate::launch::{Launch, Packed};
use crate::plan::{self, Buffer, BufferId, CallId, Place, Positions, Scratch, Step, Work};
use crate::program::{CompiledPlan, Fallback};
use relayc_base::Idx;
use relayc_base::diag::Diagnostic;
use relayc_codegen::contraction::Compiled;
use relayc_codegen::contraction::encode::list;
use relayc_ir::ConstId;
use relayc_ir::flow::{self, Flow, FlowInstr};
use relayc_ir::kernel::Routine;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, DTypeCode};
use relayc_runtime::layout::{self, ALIGN, MAGIC, PAGE, VERSION, head, instr, kind, part, place, port, program, target, weights};
use rustc_hash::FxHashMap;
use std::ops::Range;

const _: () = assert!(layout::MAX_RANK == relayc_ir::types::MAX_RANK);

/// An input or output tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<u64>,
    pub bytes: u64,
    /// Whether a run decides the dimensions of an output, which are at most those of the shape. If one is open, as many results
    /// follow the outputs of the flow, which are the dimensions of each.
    pub is_open: bool,
}

/// The facts that an image states besides its code.
#[derive(Clone, Copy)]
pub struct ImageFacts<'a> {
    pub entry: &'a str,
    pub source: &'a str,
    pub graph: &'a str,
    /// At least one.
    pub sizes: &'a [Size],
}

/// A size: inputs and outputs whose shapes the code of a program is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Size {
    /// The names and numbers that it is built with; empty if there are none.
    pub name: String,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

/// A subgraph: a plan without steps that need an evaluation, and the messages of its failing operators.
pub struct Part<'a> {
    pub program: &'a CompiledPlan,
    pub fallback: &'a dyn Fallback,
}

/// The code of a size: subgraphs, and the order in which they run.
pub struct SizeCode<'a> {
    pub parts: &'a [Part<'a>],
    pub flow: &'a Flow,
    /// The bytes of a constant that the flow names.
    pub constant: &'a dyn Fn(ConstId) -> Vec<u8>,
    /// A line for each step of each part that the flow runs, and for each copy.
    pub listing: &'a str,
}

/// An image, and the location of its code: whole pages up to its end.
pub struct Image {
    pub bytes: Vec<u8>,
    pub code: Range<usize>,
}

/// An image under construction.
#[derive(Default)]
pub struct ImageWriter {
    bytes: Vec<u8>,
    /// Offsets of tensors, by length and digest.
    known: FxHashMap<(usize, u64), Vec<usize>>,
    targets: Vec<Target>,
    /// The code of parts, each once, with the bytes of the words that locate it.
    codes: Vec<(Vec<u8>, Vec<usize>)>,
    /// Whether all weights are packed in the image, however large that makes it.
    is_packed: bool,
}

/// The programs for machines of an x86-64 level.
struct Target {
    level: u64,
    /// The words of a program for each size.
    programs: Vec<[u64; program::WORDS]>,
    /// Offset and bytes of each constant.
    constants: FxHashMap<u64, u64>,
    /// The words of the weights that instances pack, each once, with their bytes.
    packings: Vec<(Vec<u64>, u64)>,
}

impl Target {
    fn at_load(&self) -> u64 {
        self.packings.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl ImageWriter {
    pub fn new() -> ImageWriter {
        ImageWriter { bytes: vec![0; 8 * head::WORDS], ..ImageWriter::default() }
    }

    /// An image whose instances pack nothing for themselves.
    pub fn packed() -> ImageWriter {
        ImageWriter { is_packed: true, ..ImageWriter::new() }
    }

    /// Adds the code of the next size for machines of an x86-64 level. The last level is preferred.
    pub fn program(&mut self, level: u64, code: &SizeCode) {
        let target = self.targets.iter().position(|target| target.level == level).unwrap_or_else(|| {
            self.targets.push(Target { level, programs: vec![], constants: FxHashMap::default(), packings: vec![] });
            self.targets.len() - 1
        });
        let plans = || code.parts.iter().map(|part| &part.program.plan);
        let scratch = || plans().flat_map(|plan| &plan.scratch);
        // Values lie behind the memory that one part after the other uses.
        let begin = plans().map(|plan| plan.arena_bytes).max().unwrap_or(0).next_multiple_of(ALIGN as u64);
        let (offsets, bytes) = value_offsets(code.flow);
        let mut places = PlaceWriter { target, begin, offsets: &offsets, code, known: FxHashMap::default() };
        let (mut parts, mut instrs) = (vec![], vec![]);
        for step in &code.flow.instrs {
            instrs.extend(self.instr(step, &mut places, &mut parts));
        }
        let mut words = [0; program::WORDS];
        words[program::ARENA] = if bytes == 0 { plans().map(|plan| plan.arena_bytes).max().unwrap_or(0) } else { begin + bytes };
        let shared = scratch().filter(|scratch| scratch.own > 0 && scratch.threads > 1);
        words[program::THREADS] = shared.map(|scratch| scratch.threads).min().unwrap_or(1);
        words[program::THREAD_SCRATCH] = scratch().map(|scratch| scratch.own).max().unwrap_or(0);
        [words[program::LISTING], words[program::LISTING + 1]] = self.text(code.listing);
        words[program::N_PARTS] = parts.len() as u64;
        words[program::PARTS] = self.put(&parts.iter().flat_map(|(words, _)| *words).collect::<Vec<u64>>());
        for (at, (_, code)) in parts.iter().enumerate() {
            let Some(code) = *code else { continue };
            self.codes[code].1.push(words[program::PARTS] as usize + 8 * (at * part::WORDS + part::CODE));
        }
        words[program::N_INSTRS] = (instrs.len() / instr::WORDS) as u64;
        words[program::INSTRS] = self.put(&instrs);
        self.targets[target].programs.push(words);
    }

    /// The words of an instruction; what it runs is added to the parts, each with the number of its code.
    fn instr(
        &mut self,
        step: &FlowInstr,
        places: &mut PlaceWriter,
        parts: &mut Vec<([u64; part::WORDS], Option<usize>)>,
    ) -> [u64; instr::WORDS] {
        let number = parts.len() as u64;
        match step {
            FlowInstr::Run { part, args, results } => {
                let args: Vec<[u64; 2]> = args.iter().map(|&place| places.of(self, place)).collect();
                let results: Vec<[u64; 2]> = results.iter().map(|&place| places.of(self, place)).collect();
                let Part { program, fallback } = places.code.parts[*part];
                parts.push(self.part(places.target, program, fallback, &[args, results]));
                [instr::RUN, number, 0, 0]
            }
            FlowInstr::Copy { from, to, bytes } => {
                let buffers = [places.of(self, *from), places.of(self, *to)].concat();
                let step = self.put(&[kind::MOVE, 0, 1, 0, 0, *bytes, 0, 0, 0]);
                let mut words = [0; part::WORDS];
                words[part::BUFFERS] = self.put(&buffers);
                words[part::N_BUFFERS] = 2;
                words[part::STEPS] = self.list(if *bytes == 0 { vec![] } else { vec![step as i64] });
                parts.push((words, None));
                [instr::RUN, number, 0, 0]
            }
            FlowInstr::Jump(to) => [instr::JUMP, 0, 0, *to as u64],
            FlowInstr::Unless(cond, to) => {
                let [kind, at] = places.of(self, *cond);
                [instr::UNLESS, kind, at, *to as u64]
            }
        }
    }

    /// Writes a part; returns its words, and the number of its code.
    fn part(
        &mut self,
        target: usize,
        program: &CompiledPlan,
        fallback: &dyn Fallback,
        ports: &[Vec<[u64; 2]>; 2],
    ) -> ([u64; part::WORDS], Option<usize>) {
        let mut one = ProgramWriter { out: self, target, program, fallback };
        let buffers = one.buffers(ports);
        let mut steps = vec![];
        for (at, step) in program.plan.steps.iter().enumerate().filter(|(_, step)| !step.once) {
            let words = one.step(at, step, &program.launches[at]);
            steps.push(one.out.put(&words) as i64);
        }
        let code = program.code.bytes();
        let number = self.codes.iter().position(|(known, _)| known == code).unwrap_or_else(|| {
            self.codes.push((code.to_vec(), vec![]));
            self.codes.len() - 1
        });
        let mut words = [0; part::WORDS];
        words[part::CODE_BYTES] = code.len() as u64;
        words[part::BUFFERS] = self.put(&buffers);
        words[part::N_BUFFERS] = (buffers.len() / 2) as u64;
        words[part::STEPS] = self.list(steps);
        (words, Some(number))
    }

    /// The most bytes of weights that an instance packs for itself.
    pub fn at_load(&self) -> u64 {
        self.targets.iter().map(Target::at_load).max().unwrap_or(0)
    }

    /// Completes the image.
    pub fn finish(mut self, facts: &ImageFacts) -> Image {
        debug_assert!(!self.targets.is_empty(), "an artifact has code");
        debug_assert!(self.targets.iter().all(|target| target.programs.len() == facts.sizes.len()), "for every size");
        let mut words = [0; head::WORDS];
        words[head::MAGIC] = MAGIC;
        words[head::VERSION] = VERSION;
        for (at, text) in [(head::ENTRY, facts.entry), (head::SOURCE, facts.source), (head::GRAPH, facts.graph)] {
            [words[at], words[at + 1]] = self.text(text);
        }
        let sizes = || facts.sizes.iter();
        let ports = sizes().flat_map(|size| size.inputs.iter().chain(&size.outputs));
        let ports: Vec<u64> = ports.flat_map(|port| self.port(port)).collect();
        words[head::PORTS] = self.put(&ports);
        words[head::N_INPUTS] = sizes().next().map_or(0, |size| size.inputs.len() as u64);
        words[head::N_OUTPUTS] = sizes().next().map_or(0, |size| size.outputs.len() as u64);
        let names: Vec<u64> = sizes().flat_map(|size| self.text(&size.name)).collect();
        words[head::SIZES] = self.put(&names);
        words[head::N_SIZES] = facts.sizes.len() as u64;
        let targets = std::mem::take(&mut self.targets);
        let tables: Vec<[u64; target::WORDS]> = targets.iter().map(|target| self.target(target)).collect();
        words[head::TARGETS] = self.put(&tables.concat());
        words[head::N_TARGETS] = tables.len() as u64;
        let code_begin = self.bytes.len().next_multiple_of(PAGE);
        for (code, places) in std::mem::take(&mut self.codes) {
            let at = self.bytes.len().next_multiple_of(PAGE);
            self.bytes.resize(at, 0);
            self.bytes.extend_from_slice(&code);
            for word in places {
                self.bytes[word..word + 8].copy_from_slice(&(at as u64).to_le_bytes());
            }
        }
        let code_end = self.bytes.len().next_multiple_of(PAGE);
        self.bytes.resize(code_end, 0);
        words[head::BYTES] = code_end as u64;
        words[head::CODE] = code_begin as u64;
        words[head::CODE_BYTES] = (code_end - code_begin) as u64;
        for (bytes, word) in self.bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Image { bytes: self.bytes, code: code_begin..code_end }
    }

    /// Writes the lists of a target; returns its words.
    fn target(&mut self, of: &Target) -> [u64; target::WORDS] {
        let packings: Vec<i64> = of.packings.iter().map(|(words, _)| self.put(words) as i64).collect();
        let programs: Vec<u64> = of.programs.concat();
        let mut words = [0; target::WORDS];
        words[target::LEVEL] = of.level;
        words[target::WEIGHTS] = of.constants.values().sum();
        words[target::AT_LOAD] = of.at_load();
        words[target::PACKINGS] = self.list(packings);
        words[target::PROGRAMS] = self.put(&programs);
        words
    }

    fn port(&mut self, of: &Port) -> [u64; port::WORDS] {
        let mut words = [0; port::WORDS];
        [words[port::NAME], words[port::NAME + 1]] = self.text(&of.name);
        [words[port::DTYPE], words[port::DTYPE + 1]] = self.text(&of.dtype.to_string());
        words[port::BYTES] = of.bytes;
        words[port::RANK] = of.shape.len() as u64;
        words[port::DIMS] = self.put(&of.shape);
        words[port::OPEN] = of.is_open.into();
        words
    }

    /// Writes words; returns their offset.
    fn put(&mut self, words: &[u64]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = self.bytes.len();
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        at as u64
    }

    /// Writes a list; returns its offset.
    fn list(&mut self, numbers: Vec<i64>) -> u64 {
        let mut words = vec![];
        list(&mut words, numbers);
        self.put(&words)
    }

    /// Writes a text, terminated by 0.
    fn text(&mut self, text: &str) -> [u64; 2] {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        [at as u64, text.len() as u64]
    }

    /// Writes the bytes of a tensor; returns their offset.
    fn tensor(&mut self, bytes: &[u8]) -> u64 {
        let key = (bytes.len(), digest(bytes));
        let places = self.known.entry(key).or_default();
        if let Some(&at) = places.iter().find(|&&at| self.bytes[at..at + bytes.len()] == *bytes) {
            return at as u64;
        }
        let at = self.bytes.len().next_multiple_of(ALIGN);
        places.push(at);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        // A vector that is read at the last element ends in the image.
        self.bytes.resize(self.bytes.len() + ALIGN, 0);
        at as u64
    }
}

/// A hash that distinguishes most tensors.
fn digest(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The offset of each value among those of a flow, and the bytes of all.
fn value_offsets(flow: &Flow) -> (Vec<u64>, u64) {
    let lives = flow.lives().into_iter().zip(&flow.values);
    plan::place_tensors(&lives.map(|(life, ty)| (ty.bytes(), life.unwrap_or(0..0))).collect::<Vec<_>>())
}

/// Locates the tensors of a flow.
struct PlaceWriter<'a> {
    /// The number of the target.
    target: usize,
    /// The start of the values in the arena, and the offset of each.
    begin: u64,
    offsets: &'a [u64],
    code: &'a SizeCode<'a>,
    /// The offsets of constants.
    known: FxHashMap<ConstId, u64>,
}

impl PlaceWriter<'_> {
    fn of(&mut self, out: &mut ImageWriter, place: flow::Place) -> [u64; 2] {
        match place {
            flow::Place::Input(at) => [place::INPUT, at as u64],
            flow::Place::Output(at) => [place::OUTPUT, at as u64],
            flow::Place::Value(at) => [place::ARENA, self.begin + self.offsets[at]],
            flow::Place::Const(id) => {
                let (target, code) = (self.target, self.code);
                let at = *self.known.entry(id).or_insert_with(|| {
                    let bytes = (code.constant)(id);
                    let at = out.tensor(&bytes);
                    out.targets[target].constants.insert(at, bytes.len() as u64);
                    at
                });
                [place::IMAGE, at]
            }
        }
    }
}

struct ProgramWriter<'a> {
    out: &'a mut ImageWriter,
    /// The number of the program's target.
    target: usize,
    program: &'a CompiledPlan,
    fallback: &'a dyn Fallback,
}

/// Each instance packs weights that are smaller unpacked than this part of what they are packed: transformed for Winograd's method they are
/// 16/9 to 4 times as large. Few bytes are packed in the image.
const AT_LOAD: f64 = 0.9;
const AT_LOAD_BYTES: usize = 64 << 10;

impl ProgramWriter<'_> {
    /// Location of each buffer.
    ///
    /// `ports` are the locations of the inputs and of the outputs.
    fn buffers(&mut self, [inputs, outputs]: &[Vec<[u64; 2]>; 2]) -> Vec<u64> {
        let plan = &self.program.plan;
        let mut read = vec![false; plan.buffers.len()];
        for (step, launch) in plan.steps.iter().zip(&self.program.launches).filter(|(step, _)| !step.once) {
            let packed = constants::packed(step, launch);
            for (arg, id) in step.args.iter().enumerate() {
                read[id.index()] |= packed != Some(arg);
            }
        }
        let place = |(id, buffer): (BufferId, &Buffer)| match buffer.place {
            Place::Input(at) => inputs[at],
            Place::Output(at) => outputs[at],
            Place::Arena(offset) => [place::ARENA, offset],
            _ if !read[id.index()] => [place::IMAGE, 0],
            Place::Const(_) | Place::Table(_) | Place::Kept(_) => [place::IMAGE, self.constant(id, buffer)],
        };
        plan.buffers.iter_ids().flat_map(place).collect()
    }

    /// Writes a constant, or a value that is computed once.
    fn constant(&mut self, id: BufferId, buffer: &Buffer) -> u64 {
        let address = match buffer.place {
            Place::Kept(offset) => self.program.kept.start().wrapping_add(offset as usize),
            _ => self.program.constants.address(id),
        };
        self.tensor(address, buffer.bytes() as usize)
    }

    fn tensor(&mut self, address: *const u8, bytes: usize) -> u64 {
        // SAFETY: the program gave the address of a buffer that a run reads, which has so many bytes.
        let bytes = if bytes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(address, bytes) } };
        let at = self.out.tensor(bytes);
        self.out.targets[self.target].constants.insert(at, bytes.len() as u64);
        at
    }

    /// The words of a step.
    fn step(&mut self, number: usize, step: &Step, launch: &Launch) -> Vec<u64> {
        let arg = |at: usize| step.args[at].index() as u64;
        let mut words = vec![];
        match (launch, &step.work) {
            (Launch::Fill, Work::Fill(fill)) => {
                let width = self.program.plan.buffers[step.args[0]].dtype.bits.div_ceil(8);
                let is_alone = !crate::program::is_shared_fill(&fill.margins(width.into()));
                words.extend([kind::FILL, arg(0), u64::from(is_alone), width.into(), fill.bits, fill.piece]);
                list(&mut words, fill.axes.iter().flatten().copied());
            }
            (Launch::Move(moved), _) => {
                words.extend([kind::MOVE, arg(0), arg(1)]);
                words.extend(moved.offsets.map(|offset| offset as u64));
                words.push(moved.together as u64);
                let [from, to] = &moved.steps;
                [&moved.dims, from, to].into_iter().for_each(|numbers| list(&mut words, numbers.iter().copied()));
            }
            (Launch::Positions, Work::Positions(positions)) => {
                words.extend([kind::POSITIONS, arg(0), arg(1)]);
                let buffers = [0, 1].map(|at| &self.program.plan.buffers[step.args[at]]);
                self.positions(positions, buffers, &mut words);
            }
            (Launch::Guard, Work::Guard(guard)) => {
                let zeros = guard.operands.iter().map(|(dtype, shape)| (false, vec![crate::program::zeros(*dtype, shape)]));
                match self.fallback.call(guard.call, zeros.collect()) {
                    Ok(_) => words.push(kind::NOTHING),
                    Err(failed) => {
                        words.extend([kind::GUARD, arg(0), code_number(failed.code.id())]);
                        words.extend(self.out.text(&failed.message));
                    }
                }
            }
            (Launch::Nest(nest), _) => {
                words.extend([kind::NEST, nest.entry as u64, nest.n_items as u64, u64::from(!crate::program::is_shared(nest))]);
                list(&mut words, step.args.iter().map(|id| id.index() as i64));
            }
            (Launch::Contraction(code, packed), work) => {
                words.push(kind::CONTRACT);
                list(&mut words, step.args.iter().map(|id| id.index() as i64));
                words.push(u64::from(launch.shares(2) == 1));
                let Scratch { shared, own, threads, at } = self.program.plan.scratch[number];
                words.extend([at, shared, own, threads]);
                let weight = work.contract().map_or(0, |kernel| kernel.weight.0);
                self.contract(code, packed, step.args[weight], &mut words);
            }
            (Launch::Routine(Routine::Sort(sort)), _) => {
                // A result that nothing takes is no argument.
                let positions = 1 + usize::from(sort.values);
                let place = |at: usize, is_there: bool| if is_there { arg(at) + 1 } else { 0 };
                words.extend([kind::SORT, place(0, true), place(1, sort.values), place(positions, sort.positions.is_some())]);
                let Scratch { shared, own, threads, at } = self.program.plan.scratch[number];
                words.extend([u64::from(launch.shares(2) == 1), at, shared, own, threads]);
                words.extend(crate::routine::sort::of_kernel(sort).words());
            }
            (Launch::Routine(Routine::Scan(scan)), _) => {
                words.extend([kind::SCAN, arg(0), arg(1), u64::from(launch.shares(2) == 1)]);
                words.extend(crate::routine::scan::of_kernel(scan).words());
            }
            (Launch::Routine(Routine::Requantize(work)), Work::Routine(_, call)) => {
                words.push(kind::REQUANTIZE);
                words.extend((0..6).map(arg));
                let Scratch { shared, own, threads, at } = self.program.plan.scratch[number];
                words.extend([u64::from(launch.shares(2) == 1), at, shared, own, threads]);
                words.extend([0.0, f32::INFINITY].into_iter().flat_map(|scale| self.wrong_scales(step, call, scale)));
                words.extend(crate::routine::requantize::of_kernel(work).words());
            }
            (Launch::Routine(Routine::Scatter(scatter)), Work::Routine(_, call)) => {
                words.push(kind::SCATTER);
                words.extend((0..4).map(arg));
                list(&mut words, scatter.data.iter().flat_map(|&length| self.axis(call.call, length)).collect::<Vec<_>>());
                crate::routine::scatter::of_kernel(scatter).write(&mut |word| words.push(word));
            }
            (Launch::Routine(routine), Work::Routine(_, call)) => {
                let of = crate::routine::lines::of_kernel(routine).expect("all other routines have their own steps");
                words.push(kind::LINES);
                words.extend(of.places.map(|place| place.map_or(0, |at| arg(at) + 1)));
                let Scratch { shared, own, threads, at } = self.program.plan.scratch[number];
                words.extend([u64::from(launch.shares(2) == 1), at, shared, own, threads]);
                let failure = |value: &dyn Fn(usize, usize) -> f64| self.failure(step, call, value);
                for message in messages::of_lines(routine, &failure) {
                    let Message { code, before, behind } = message.unwrap_or_default();
                    let [[a, b], [c, d]] = [before, behind].map(|text| self.out.text(&text));
                    words.extend([code_number(code), a, b, c, d]);
                }
                of.work.write(&mut |word| words.push(word));
            }
            _ => unreachable!("what relayc itself computes is refused before, and a launch is made from its step"),
        }
        words
    }

    /// The code and the text of what a requantization says of scales: of an output scale of 0, or of infinite scales to one of 1.
    fn wrong_scales(&mut self, step: &Step, call: &crate::plan::Fallback, scale: f32) -> [u64; 3] {
        let failed = self.failure(step, call, |at, _| match at {
            1 => scale.into(),
            3 if scale != 0.0 => 1.0,
            _ => 0.0,
        });
        let said = failed.map_or((String::new(), 0), |failed| {
            // Which scales they are only a run knows.
            (failed.message.replace("scales of inf and 1, whose", "scales whose"), code_number(failed.code.id()))
        });
        let [at, bytes] = self.out.text(&said.0);
        [said.1, at, bytes]
    }

    /// What a call says of operands, given the values of the operand at a place.
    fn failure(&self, step: &Step, call: &crate::plan::Fallback, value: impl Fn(usize, usize) -> f64) -> Option<Box<Diagnostic>> {
        let operand = |&at: &usize| {
            let buffer = &self.program.plan.buffers[step.args[at]];
            let shape: Vec<usize> = buffer.shape.iter().map(|&dim| dim as usize).collect();
            Tensor::from_fn(&shape, |i| value(at, i)).cast(buffer.dtype)
        };
        let operands = call.operands.iter().map(|(tuple, places)| (*tuple, places.iter().filter_map(operand).collect()));
        self.fallback.call(call.call, operands.collect()).err()
    }

    fn contract(&mut self, code: &Compiled, packed: &Packed, weight: BufferId, words: &mut Vec<u64>) {
        let buffer = &self.program.plan.buffers[weight];
        let packed_bytes = code.packed_bytes();
        match packed {
            Packed::Kept(_) | Packed::Shared(_)
                if !self.out.is_packed
                    && packed_bytes >= AT_LOAD_BYTES
                    && (buffer.bytes() as f64) < AT_LOAD * packed_bytes as f64 =>
            {
                let mut packing = vec![self.constant(weight, buffer), packed_bytes as u64];
                code.flatten_packing(&mut packing);
                let known = &mut self.out.targets[self.target].packings;
                let number = known.iter().position(|(words, _)| *words == packing).unwrap_or_else(|| {
                    known.push((packing, packed_bytes as u64));
                    known.len() - 1
                });
                words.extend([weights::AT_LOAD, number as u64]);
            }
            Packed::Kept(_) | Packed::Shared(_) => {
                let address = self.program.packed_weights(packed).cast();
                words.extend([weights::PACKED, self.tensor(address, packed_bytes)]);
            }
            Packed::AsKept => words.push(weights::AS_KEPT),
            Packed::Scratch => {
                words.extend([weights::EACH_RUN, weight.index() as u64]);
                code.flatten_packing(words);
            }
        }
        code.work().flatten(words);
        code.flatten(words, &mut |words| self.out.put(words));
    }

    fn positions(&mut self, positions: &Positions, [from, to]: [&Buffer; 2], words: &mut Vec<u64>) {
        let n = to.elements;
        let signed = from.dtype.code == DTypeCode::Int;
        let outside = index::outside(positions.outside);
        let width = u64::from(from.dtype.bits.div_ceil(8));
        words.extend([width, u64::from(signed), outside, (n / (positions.lengths.len() as u64).max(1)).max(1), n]);
        let axes: Vec<i64> = positions.lengths.iter().flat_map(|&length| self.axis(positions.call, length)).collect();
        list(words, axes);
    }

    /// The words of an axis of indices: its length, and the error for an index outside, as a code and the texts around the index.
    fn axis(&mut self, call: CallId, length: u64) -> [i64; 6] {
        // A number that no text has by chance stands for the index.
        const INDEX: i128 = 7_310_915_840_627_351_977;
        let said = self.fallback.outside(call, INDEX, length);
        let (before, behind) = said.message.split_once(&INDEX.to_string()).unwrap_or((&said.message, ""));
        let [[a, b], [c, d]] = [before, behind].map(|text| self.out.text(text).map(|word| word as i64));
        [length as i64, code_number(said.code.id()) as i64, a, b, c, d]
    }
}

/// The digits of a code: 501 of `E0501`.
fn code_number(code: &str) -> u64 {
    code.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}
