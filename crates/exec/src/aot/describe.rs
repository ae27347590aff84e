//! Describes an image, from untrusted bytes.
//!
//! Every offset is checked before it is read: those of the head, the texts, the ports, the targets and the list of steps.
//! Absent: checks of the code, so a described image is not necessarily safe to run.

use relayc_runtime::layout::{MAGIC, MAX_RANK, PAGE, VERSION, head, instr, part, place, port, program, size, target};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// Why bytes are not a sound image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unsound {
    /// The image has another version.
    Version(u64),
    /// A byte of the image, and the problem in words.
    At(usize, String),
}

/// An input or output tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<u64>,
    pub bytes: u64,
    /// Whether a run decides the dimensions, which are at most those of the shape.
    pub is_open: bool,
}

/// The inputs and outputs of a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Size {
    /// The names and numbers that it was built with.
    pub name: String,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

/// Code for machines of one x86-64 level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub level: u64,
    pub weight_bytes: u64,
    /// Bytes of weights that each instance packs for itself.
    pub at_load_bytes: u64,
    /// One for each size.
    pub programs: Vec<Program>,
}

/// The code of a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    pub code_bytes: u64,
    pub arena_bytes: u64,
    pub thread_scratch_bytes: u64,
    /// Number of steps of all parts.
    pub n_steps: usize,
    /// A line for each of them.
    pub listing: String,
}

/// The content of an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    pub entry: String,
    pub source: String,
    pub graph: String,
    /// At least one. Names, dtypes and ranks are the same in all of them.
    pub sizes: Vec<Size>,
    pub targets: Vec<Target>,
    /// Location of the code.
    pub code: Range<usize>,
}

/// Maximum number of ports, targets or sizes; no program has more.
const MAX_PORTS: u64 = 1 << 20;
const MAX_TARGETS: u64 = 16;
const MAX_SIZES: u64 = 1 << 12;

/// Describes an image. Errors: the first impossible field.
pub fn describe(image: &[u8]) -> Result<Description, Unsound> {
    let bytes = Bytes { image, left: &Cell::new(image.len() as u64) };
    // Each version begins like this; what follows may have another length.
    bytes.range(0, 0, 8 * (head::VERSION as u64 + 1), "the head")?;
    let head = Record { bytes, start: 0 };
    if head.word(head::MAGIC) != MAGIC {
        return at(0, "no image begins like this");
    }
    if head.word(head::VERSION) != VERSION {
        return Err(Unsound::Version(head.word(head::VERSION)));
    }
    bytes.range(0, 0, 8 * head::WORDS as u64, "the head")?;
    if head.word(head::BYTES) != image.len() as u64 {
        return at(head.byte(head::BYTES), format!("the image has {} bytes, not {}", image.len(), head.word(head::BYTES)));
    }
    let code = head.range(head::CODE, head.word(head::CODE_BYTES), "the code")?;
    if !code.start.is_multiple_of(PAGE) || code.end != image.len() {
        return at(head.byte(head::CODE), "the code is not the last pages");
    }
    let (n_inputs, n_outputs) = (head.word(head::N_INPUTS), head.word(head::N_OUTPUTS));
    if n_inputs > MAX_PORTS || n_outputs > MAX_PORTS {
        return at(head.byte(head::N_INPUTS), "more inputs or outputs than there can be");
    }
    let n_sizes = head.word(head::N_SIZES);
    if n_sizes == 0 || n_sizes > MAX_SIZES {
        return at(head.byte(head::N_SIZES), format!("code for {n_sizes} sizes"));
    }
    let n_ports = n_inputs + n_outputs;
    let ports = head.records(head::PORTS, n_sizes * n_ports, port::WORDS, "the inputs and outputs")?;
    let mut ports = ports.map(|record| record.port()).collect::<Result<Vec<Port>, _>>()?.into_iter();
    let mut sizes: Vec<Size> = vec![];
    for record in head.records(head::SIZES, n_sizes, size::WORDS, "the sizes")? {
        let inputs: Vec<Port> = ports.by_ref().take(n_inputs as usize).collect();
        let outputs: Vec<Port> = ports.by_ref().take(n_outputs as usize).collect();
        let size = Size { name: record.text(size::NAME, "a size's name")?, inputs, outputs };
        if sizes.first().is_some_and(|first| !first.is_like(&size)) {
            return at(record.start, "a size of other inputs or outputs than the first one");
        }
        sizes.push(size);
    }
    for list in [&sizes[0].inputs, &sizes[0].outputs] {
        let mut names: Vec<&str> = list.iter().map(|port| port.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return at(head.word(head::PORTS) as usize, format!("two tensors are named `{}`", pair[0]));
        }
    }
    let n_targets = head.word(head::N_TARGETS);
    if n_targets == 0 || n_targets > MAX_TARGETS {
        return at(head.byte(head::N_TARGETS), format!("code for {n_targets} targets"));
    }
    let targets = head.records(head::TARGETS, n_targets, target::WORDS, "the targets")?;
    let counts = Counts { n_sizes, n_inputs, n_outputs };
    let targets = targets.map(|record| record.target(&code, &counts)).collect::<Result<_, _>>()?;
    Ok(Description {
        entry: head.text(head::ENTRY, "the entry's name")?,
        source: head.text(head::SOURCE, "the source")?,
        graph: head.text(head::GRAPH, "the graph")?,
        sizes,
        targets,
        code,
    })
}

impl Size {
    /// Whether tensors have the same names, dtypes and ranks.
    fn is_like(&self, other: &Size) -> bool {
        let alike = |(a, b): (&Port, &Port)| a.name == b.name && a.dtype == b.dtype && a.shape.len() == b.shape.len();
        self.inputs.iter().zip(&other.inputs).chain(self.outputs.iter().zip(&other.outputs)).all(alike)
    }
}

/// How many there are of each.
struct Counts {
    n_sizes: u64,
    n_inputs: u64,
    n_outputs: u64,
}

fn at<T>(byte: usize, words: impl Into<String>) -> Result<T, Unsound> {
    Err(Unsound::At(byte, words.into()))
}

#[derive(Clone, Copy)]
struct Bytes<'a> {
    image: &'a [u8],
    /// Number of bytes that may still be copied, or read as lists.
    ///
    /// A sound image never refers to the same bytes twice. One that does must not grow while it is read.
    left: &'a Cell<u64>,
}

impl Bytes<'_> {
    /// A range inside the image, as the word at byte `field` states.
    fn range(self, field: usize, start: u64, bytes: u64, what: &str) -> Result<Range<usize>, Unsound> {
        let size = self.image.len() as u64;
        if bytes > size || start > size - bytes {
            return at(field, format!("{what} would be {bytes} bytes at {start}, outside of the image's {size}"));
        }
        Ok(start as usize..(start + bytes) as usize)
    }

    /// Like [`Bytes::range`], for words.
    fn words(self, field: usize, start: u64, n: u64, what: &str) -> Result<Range<usize>, Unsound> {
        if !start.is_multiple_of(8) {
            return at(field, format!("{what} would be words that are not aligned"));
        }
        self.range(field, start, n.saturating_mul(8), what)
    }

    /// The word at a byte inside the image.
    fn word(self, byte: usize) -> u64 {
        self.image[byte..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The words of a checked range.
    fn list(self, range: Range<usize>) -> impl Iterator<Item = u64> {
        range.step_by(8).map(move |byte| self.word(byte))
    }

    /// Copies a range.
    fn copied(self, field: usize, range: Range<usize>, what: &str) -> Result<Range<usize>, Unsound> {
        match self.left.get().checked_sub(range.len() as u64) {
            Some(left) => self.left.set(left),
            None => return at(field, format!("{what} would be said twice: it lies where something else does")),
        }
        Ok(range)
    }
}

/// A record of words, which are identified by their positions: the head, a port, a target.
#[derive(Clone, Copy)]
struct Record<'a> {
    bytes: Bytes<'a>,
    start: usize,
}

impl<'a> Record<'a> {
    /// Byte offset of a field.
    fn byte(self, field: usize) -> usize {
        self.start + 8 * field
    }

    fn word(self, field: usize) -> u64 {
        self.bytes.word(self.byte(field))
    }

    /// The range that starts where a field states.
    fn range(self, field: usize, bytes: u64, what: &str) -> Result<Range<usize>, Unsound> {
        self.bytes.range(self.byte(field), self.word(field), bytes, what)
    }

    fn words(self, field: usize, n: u64, what: &str) -> Result<Range<usize>, Unsound> {
        self.bytes.words(self.byte(field), self.word(field), n, what)
    }

    /// `n` records of `words` words each.
    fn records(self, field: usize, n: u64, words: usize, what: &str) -> Result<impl Iterator<Item = Record<'a>>, Unsound> {
        let range = self.words(field, n.saturating_mul(words as u64), what)?;
        Ok(range.step_by(8 * words).map(move |start| Record { bytes: self.bytes, start }))
    }

    fn text(self, field: usize, what: &str) -> Result<String, Unsound> {
        let (byte, length) = (self.byte(field), self.word(field + 1));
        let range = self.bytes.copied(byte, self.range(field, length.saturating_add(1), what)?, what)?;
        let begin = range.start;
        match self.bytes.image[range].split_last() {
            Some((0, text)) => match std::str::from_utf8(text) {
                Ok(text) => Ok(text.to_owned()),
                Err(error) => at(begin + error.valid_up_to(), format!("{what} is not UTF-8")),
            },
            _ => at(byte, format!("{what} has no end")),
        }
    }

    fn port(self) -> Result<Port, Unsound> {
        let rank = self.word(port::RANK);
        if rank > MAX_RANK as u64 {
            return at(self.byte(port::RANK), format!("a tensor of rank {rank}"));
        }
        if self.word(port::OPEN) > 1 {
            return at(self.byte(port::OPEN), "a tensor that is neither open nor not");
        }
        let shape = self.words(port::DIMS, rank, "a tensor's shape")?;
        let shape = self.bytes.copied(self.byte(port::DIMS), shape, "a tensor's shape")?;
        Ok(Port {
            name: self.text(port::NAME, "a tensor's name")?,
            dtype: self.text(port::DTYPE, "a tensor's dtype")?,
            shape: self.bytes.list(shape).collect(),
            bytes: self.word(port::BYTES),
            is_open: self.word(port::OPEN) != 0,
        })
    }

    fn target(self, code: &Range<usize>, counts: &Counts) -> Result<Target, Unsound> {
        let level = self.word(target::LEVEL);
        if !matches!(level, 3 | 4) {
            return at(self.byte(target::LEVEL), format!("code for x86-64-v{level}"));
        }
        self.list_of_words(target::PACKINGS, 2, "the list of packed weights", "packed weights")?;
        let programs = self.records(target::PROGRAMS, counts.n_sizes, program::WORDS, "the programs")?;
        Ok(Target {
            level,
            weight_bytes: self.word(target::WEIGHTS),
            at_load_bytes: self.word(target::AT_LOAD),
            programs: programs.map(|record| record.program(code, counts)).collect::<Result<_, _>>()?,
        })
    }

    fn program(self, code: &Range<usize>, counts: &Counts) -> Result<Program, Unsound> {
        let (arena, n_parts, n_instrs) = (self.word(program::ARENA), self.word(program::N_PARTS), self.word(program::N_INSTRS));
        let (mut n_steps, mut codes) = (0, BTreeMap::new());
        for record in self.records(program::PARTS, n_parts, part::WORDS, "the parts of a program")? {
            n_steps += record.part(code, counts, arena)?;
            codes.insert(record.word(part::CODE), record.word(part::CODE_BYTES));
        }
        for record in self.records(program::INSTRS, n_instrs, instr::WORDS, "the instructions of a program")? {
            match record.word(instr::KIND) {
                instr::RUN if record.word(instr::WHAT) >= n_parts => {
                    return at(record.byte(instr::WHAT), "an instruction runs a part that is not there");
                }
                instr::RUN => {}
                instr::JUMP | instr::UNLESS if record.word(instr::TO) > n_instrs => {
                    return at(record.byte(instr::TO), "a jump out of the program");
                }
                instr::JUMP => {}
                instr::UNLESS => record.buffer(instr::WHAT, counts, arena)?,
                other => return at(record.byte(instr::KIND), format!("an instruction of kind {other}")),
            }
        }
        Ok(Program {
            code_bytes: codes.values().sum(),
            arena_bytes: arena,
            thread_scratch_bytes: self.word(program::THREAD_SCRATCH),
            n_steps,
            listing: self.text(program::LISTING, "a program's listing")?,
        })
    }

    /// Checks a part of a program. Returns the number of its steps.
    fn part(self, code: &Range<usize>, counts: &Counts, arena: u64) -> Result<usize, Unsound> {
        if self.word(part::CODE_BYTES) > 0 {
            let own = self.range(part::CODE, self.word(part::CODE_BYTES), "a part's code")?;
            if own.start < code.start || !own.start.is_multiple_of(PAGE) {
                return at(self.byte(part::CODE), "a part's code lies outside of the code");
            }
        }
        let n_buffers = self.word(part::N_BUFFERS);
        let buffers = self.words(part::BUFFERS, n_buffers.saturating_mul(2), "the buffers")?;
        self.bytes.copied(self.byte(part::BUFFERS), buffers, "the buffers")?;
        for buffer in self.records(part::BUFFERS, n_buffers, 2, "the buffers")? {
            buffer.buffer(0, counts, arena)?;
        }
        self.list_of_words(part::STEPS, 1, "the list of steps", "a step")
    }

    /// Checks the location of a buffer, two words.
    fn buffer(self, field: usize, counts: &Counts, arena: u64) -> Result<(), Unsound> {
        let limit = match self.word(field) {
            place::INPUT => counts.n_inputs,
            // The dimensions of each output follow all outputs.
            place::OUTPUT => 2 * counts.n_outputs,
            place::IMAGE => self.bytes.image.len() as u64,
            // A buffer of no elements may lie at the arena's end.
            place::ARENA => arena.saturating_add(1),
            other => return at(self.byte(field), format!("a buffer in a place of kind {other}")),
        };
        if self.word(field + 1) >= limit {
            return at(self.byte(field + 1), "a buffer outside of its place");
        }
        Ok(())
    }

    /// Checks a list of offsets, behind each of which are at least `n` words. Returns its length.
    fn list_of_words(self, field: usize, n: u64, list: &str, what: &str) -> Result<usize, Unsound> {
        let count = self.words(field, 1, list)?;
        let length = self.bytes.word(count.start);
        let offsets = self.bytes.words(count.start, count.end as u64, length, list)?;
        let offsets = self.bytes.copied(count.start, offsets, list)?;
        for at in offsets.step_by(8) {
            self.bytes.words(at, self.bytes.word(at), n, what)?;
        }
        Ok(length as usize)
    }
}
