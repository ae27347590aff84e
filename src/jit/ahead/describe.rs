//! What an image says of itself, from bytes that anybody may have written.
//!
//! Every place is checked before it is read: those of the head, the texts, the ports, the targets and the list of steps. What
//! code does is not looked at, so an image that is described is not one that is safe to run.

use super::runtime::layout::{MAGIC, PAGE, VERSION, head, place, port, target};
use std::ops::Range;

/// Why bytes are no sound image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unsound {
    /// Of another version.
    Version(u64),
    /// At a byte of the image, in words.
    At(usize, String),
}

/// A tensor that goes in or comes out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<u64>,
    pub bytes: u64,
}

/// Code for machines of one level of x86-64.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub level: u64,
    pub code_bytes: u64,
    pub arena_bytes: u64,
    pub thread_scratch_bytes: u64,
    pub weight_bytes: u64,
    pub n_steps: usize,
    /// A line for each step.
    pub listing: String,
}

/// What an image holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    pub entry: String,
    pub source: String,
    pub graph: String,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    pub targets: Vec<Target>,
    /// Where code is.
    pub code: Range<usize>,
}

/// More ports or targets than this no program has.
const MAX_PORTS: u64 = 1 << 20;
const MAX_TARGETS: u64 = 16;
const MAX_RANK: u64 = 64;

/// What is in an image. Errors: the first thing that cannot be.
pub fn describe(image: &[u8]) -> Result<Description, Unsound> {
    let bytes = Bytes(image);
    let words = bytes.words(0, head::WORDS as u64, "the head")?;
    if words[head::MAGIC] != MAGIC {
        return at(0, "no image begins like this");
    }
    if words[head::VERSION] != VERSION {
        return Err(Unsound::Version(words[head::VERSION]));
    }
    if words[head::BYTES] != image.len() as u64 {
        return at(8 * head::BYTES, format!("the image has {} bytes, not {}", image.len(), words[head::BYTES]));
    }
    let code = bytes.range(words[head::CODE], words[head::CODE_BYTES], "the code")?;
    if !code.start.is_multiple_of(PAGE) || code.end != image.len() {
        return at(8 * head::CODE, "the code is not the last pages");
    }
    let (n_inputs, n_outputs) = (words[head::N_INPUTS], words[head::N_OUTPUTS]);
    if n_inputs > MAX_PORTS || n_outputs > MAX_PORTS {
        return at(8 * head::N_INPUTS, "more inputs or outputs than there can be");
    }
    let ports = bytes.words(words[head::PORTS], (n_inputs + n_outputs) * port::WORDS as u64, "the inputs and outputs")?;
    let mut ports = ports.chunks_exact(port::WORDS).map(|words| bytes.port(words)).collect::<Result<Vec<Port>, _>>()?;
    let outputs = ports.split_off(n_inputs as usize);
    for list in [&ports, &outputs] {
        let mut names: Vec<&str> = list.iter().map(|port| port.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return at(words[head::PORTS] as usize, format!("two tensors are named `{}`", pair[0]));
        }
    }
    let n_targets = words[head::N_TARGETS];
    if n_targets == 0 || n_targets > MAX_TARGETS {
        return at(8 * head::N_TARGETS, format!("code for {n_targets} targets"));
    }
    let targets = bytes.words(words[head::TARGETS], n_targets * target::WORDS as u64, "the targets")?;
    let counts = [n_inputs, n_outputs];
    let targets =
        targets.chunks_exact(target::WORDS).map(|words| bytes.target(words, &code, counts)).collect::<Result<_, _>>()?;
    let text = |at: usize, what: &str| bytes.text(words[at], words[at + 1], what);
    Ok(Description {
        entry: text(head::ENTRY, "the entry's name")?,
        source: text(head::SOURCE, "the source")?,
        graph: text(head::GRAPH, "the graph")?,
        inputs: ports,
        outputs,
        targets,
        code,
    })
}

fn at<T>(byte: usize, words: impl Into<String>) -> Result<T, Unsound> {
    Err(Unsound::At(byte, words.into()))
}

#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    /// A stretch that lies in the image.
    fn range(self, start: u64, bytes: u64, what: &str) -> Result<Range<usize>, Unsound> {
        let size = self.0.len() as u64;
        if bytes > size || start > size - bytes {
            return at(0, format!("{what} would be {bytes} bytes at {start}, outside of the image's {size}"));
        }
        Ok(start as usize..(start + bytes) as usize)
    }

    fn words(self, start: u64, n: u64, what: &str) -> Result<Vec<u64>, Unsound> {
        let range = self.range(start, n.saturating_mul(8), what)?;
        if !range.start.is_multiple_of(8) {
            return at(range.start, format!("{what} would be words that are not aligned"));
        }
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        Ok(self.0[range].as_chunks().0.iter().map(word).collect())
    }

    fn text(self, start: u64, bytes: u64, what: &str) -> Result<String, Unsound> {
        let range = self.range(start, bytes.saturating_add(1), what)?;
        let begin = range.start;
        match self.0[range].split_last() {
            Some((0, text)) => match std::str::from_utf8(text) {
                Ok(text) => Ok(text.to_owned()),
                Err(error) => at(begin + error.valid_up_to(), format!("{what} is not UTF-8")),
            },
            _ => at(begin, format!("{what} has no end")),
        }
    }

    fn port(self, words: &[u64]) -> Result<Port, Unsound> {
        if words[port::RANK] > MAX_RANK {
            return at(0, format!("a tensor of rank {}", words[port::RANK]));
        }
        Ok(Port {
            name: self.text(words[port::NAME], words[port::NAME + 1], "a tensor's name")?,
            dtype: self.text(words[port::DTYPE], words[port::DTYPE + 1], "a tensor's dtype")?,
            shape: self.words(words[port::DIMS], words[port::RANK], "a tensor's shape")?,
            bytes: words[port::BYTES],
        })
    }

    fn target(self, words: &[u64], code: &Range<usize>, ports: [u64; 2]) -> Result<Target, Unsound> {
        let own = self.range(words[target::CODE], words[target::CODE_BYTES], "a target's code")?;
        if own.start < code.start || !own.start.is_multiple_of(PAGE) {
            return at(own.start, "a target's code lies outside of the code");
        }
        if !matches!(words[target::LEVEL], 3 | 4) {
            return at(0, format!("code for x86-64-v{}", words[target::LEVEL]));
        }
        let buffers = words[target::N_BUFFERS].saturating_mul(2);
        let buffers = self.words(words[target::BUFFERS], buffers, "the buffers")?;
        for buffer in buffers.as_chunks::<2>().0 {
            let limit = match buffer[0] {
                place::INPUT => ports[0],
                place::OUTPUT => ports[1],
                place::IMAGE => self.0.len() as u64,
                // A buffer of no elements may lie at the arena's end.
                place::ARENA => words[target::ARENA] + 1,
                other => return at(words[target::BUFFERS] as usize, format!("a buffer in a place of kind {other}")),
            };
            if buffer[1] >= limit {
                return at(words[target::BUFFERS] as usize, "a buffer outside of its place");
            }
        }
        let n_steps = self.words(words[target::STEPS], 1, "the number of steps")?[0];
        let steps = self.words(words[target::STEPS], n_steps.saturating_add(1), "the list of steps")?;
        for &step in &steps[1..] {
            self.words(step, 1, "a step")?;
        }
        Ok(Target {
            level: words[target::LEVEL],
            code_bytes: words[target::CODE_BYTES],
            arena_bytes: words[target::ARENA],
            thread_scratch_bytes: words[target::THREAD_SCRATCH],
            weight_bytes: words[target::WEIGHTS],
            n_steps: steps.len() - 1,
            listing: self.text(words[target::LISTING], words[target::LISTING + 1], "a target's listing")?,
        })
    }
}
