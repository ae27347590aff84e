//! Weights of a network of Darknet: the numbers of a `.weights` file, in the order in which the layers ask for them
//! (`load_weights_upto` in `src/parser.c` of Darknet).
//!
//! The file has a header and then only numbers: nothing in it says which layer they belong to. So a network is walked once
//! without it, to learn how many numbers each layer wants, and the sum is compared with the length of the file.

use super::super::onnx::import::build::{Builder, Val};
use super::super::onnx::import::errors::Refusal;
use super::super::onnx::import::names::Names;
use relayc_base::diag::Diagnostic;
use relayc_base::text::thousands;
use relayc_base::{Span, usize_of};
use relayc_ir::VarId;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, checked_elements};
use relayc_weights::errors::unsound;

/// A parameter of the program.
pub(super) struct Param {
    pub(super) var: VarId,
    pub(super) val: Val,
    pub(super) value: Option<Tensor>,
}

/// How many numbers a layer takes from the file for a weight.
pub(super) struct Wanted {
    layer: String,
    part: &'static str,
    span: Span,
    n: u64,
}

/// The numbers of a file after its header.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    bytes: &'a [u8],
    /// Whether the weights of connected layers are stored inputs first.
    pub(super) transposed: bool,
    /// Whether batch norms that are layers have a beta: in files of AlexeyAB's Darknet.
    pub(super) with_beta: bool,
}

impl<'a> Numbers<'a> {
    /// Reads the header. Errors: E0703.
    pub(super) fn new(name: &str, bytes: &'a [u8]) -> Result<Numbers<'a>, Diagnostic> {
        let int = |at: usize| {
            let word = bytes.get(at..at.saturating_add(4)).and_then(|word| <[u8; 4]>::try_from(word).ok());
            word.map(i32::from_le_bytes).map(i64::from)
        };
        let (Some(major), Some(minor)) = (int(0), int(4)) else { return Err(short(name)) };
        let wide = major.saturating_mul(10).saturating_add(minor) >= 2 && major < 1000 && minor < 1000;
        let header = if wide { 20 } else { 16 };
        let transposed = major > 1000 || minor > 1000;
        let numbers = bytes.get(header..).ok_or_else(|| short(name))?;
        if numbers.len() % 4 != 0 {
            let words = format!("{} bytes after the header, which are no float32 numbers", thousands_of(numbers.len()));
            return Err(unsound(name, words));
        }
        Ok(Numbers { bytes: numbers, transposed, with_beta: false })
    }

    fn len(&self) -> u64 {
        u64::try_from(self.bytes.len() / 4).unwrap_or(u64::MAX)
    }

    /// Compares the length of the file with what a network wants; `beta` is what the batch norms that are layers want more in
    /// files of AlexeyAB's Darknet.
    ///
    /// Errors: E0703 with the layer in which the file ends, or how much is left.
    pub(super) fn fitted(self, name: &str, wanted: &[Wanted], beta: u64) -> Result<Numbers<'a>, Diagnostic> {
        let total = wanted.iter().fold(0u64, |sum, wanted| sum.saturating_add(wanted.n));
        let len = self.len();
        if len == total || (beta > 0 && len == total.saturating_add(beta)) {
            return Ok(Numbers { with_beta: len != total, ..self });
        }
        let sizes = format!("the network wants {} numbers, the file has {}", thousands(total), thousands(len));
        let help = "these are the weights of another network, or of another version of it: `filters`, `classes` and the like \
                    must be those of the training";
        let mut left = len;
        for wanted in wanted {
            if wanted.n > left {
                let words = format!(
                    "the file ends in layer `{}`: its {} is {}, {} left",
                    wanted.layer,
                    wanted.part,
                    numbers(wanted.n),
                    if left == 1 { "1 is".to_owned() } else { format!("{} are", thousands(left)) }
                );
                return Err(unsound(name, words).at(wanted.span, "").note(sizes).help(help));
            }
            left = left.saturating_sub(wanted.n);
        }
        let words = format!("{} after those of the last layer", numbers(left));
        Err(unsound(name, words).note(sizes).help(help))
    }
}

fn numbers(n: u64) -> String {
    if n == 1 { "1 number".to_owned() } else { format!("{} numbers", thousands(n)) }
}

fn short(name: &str) -> Diagnostic {
    unsound(name, "a file that ends in the header of Darknet's weights")
}

fn thousands_of(n: usize) -> String {
    thousands(u64::try_from(n).unwrap_or(u64::MAX))
}

/// Where the parameters come from, and the parameters so far.
pub(super) struct Supply<'a> {
    numbers: Option<Numbers<'a>>,
    /// Bytes read so far.
    at: usize,
    as_params: bool,
    names: Names,
    pub(super) made: Vec<Param>,
    pub(super) wanted: Vec<Wanted>,
    /// How many numbers batch norms that are layers want for their beta, if the file has it.
    pub(super) beta: u64,
}

impl<'a> Supply<'a> {
    pub(super) fn new(numbers: Option<Numbers<'a>>, as_params: bool) -> Supply<'a> {
        Supply { numbers, at: 0, as_params, names: Names::default(), made: vec![], wanted: vec![], beta: 0 }
    }

    /// Whether a file is read, and its connected weights are stored inputs first.
    pub(super) fn transposed(&self) -> bool {
        self.numbers.is_some_and(|numbers| numbers.transposed)
    }

    pub(super) fn with_beta(&self) -> bool {
        self.numbers.is_some_and(|numbers| numbers.with_beta)
    }

    /// The next weight of the file, `layer_part`; without a file a parameter without a value.
    ///
    /// Errors: a shape of more elements than a tensor may have.
    pub(super) fn take(&mut self, b: &mut Builder, layer: &str, part: &'static str, shape: &[i64]) -> Result<Val, Refusal> {
        let n = checked_elements(shape).ok_or_else(|| Refusal::wrong(format!("a {part} of shape {shape:?} is too large")))?;
        self.wanted.push(Wanted { layer: layer.to_owned(), part, span: b.span, n });
        let bytes = usize_of(n).saturating_mul(4);
        let end = self.at.saturating_add(bytes);
        let found = match self.numbers {
            None => None,
            // The lengths were compared before.
            Some(numbers) => {
                let words = numbers.bytes.get(self.at..end).unwrap_or(&[]).as_chunks::<4>().0;
                self.at = end;
                Some(words.iter().map(|word| f32::from_le_bytes(*word)).collect::<Vec<f32>>())
            }
        };
        let dims: Vec<usize> = shape.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect();
        let value = found.filter(|found| found.len() == usize_of(n)).map(|found| Tensor::from_vec(&dims, found));
        Ok(self.weight(b, &format!("{layer}_{part}"), shape, DType::F32, value))
    }

    /// A weight with a known value that is in no file.
    pub(super) fn known(&mut self, b: &mut Builder, name: &str, value: Tensor) -> Val {
        let shape: Vec<i64> = value.shape().iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect();
        self.weight(b, name, &shape, value.dtype(), Some(value))
    }

    fn weight(&mut self, b: &mut Builder, name: &str, shape: &[i64], dtype: DType, value: Option<Tensor>) -> Val {
        match value {
            Some(value) if !self.as_params => b.constant(value),
            value => self.param(b, name, shape.iter().map(|&dim| Dim::known(dim)).collect(), dtype, value),
        }
    }

    /// A parameter of the program.
    pub(super) fn param(&mut self, b: &mut Builder, name: &str, dims: Vec<Dim>, dtype: DType, value: Option<Tensor>) -> Val {
        let ty = b.module.types.tensor(&dims, dtype);
        let own = self.names.free(name);
        let (var, val) = b.var(&own, ty);
        self.made.push(Param { var, val, value });
        val
    }
}
