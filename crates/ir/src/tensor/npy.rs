//! Converts `.npy` bytes to tensors and back, for every dtype of tensors (NumPy's NEP 1, versions 1.0 to 3.0).
//!
//! bfloat16, which NumPy lacks, is two raw bytes: written as `|V2`, read as `|V2` or `<V2`. The reader converts big endian and
//! Fortran order, and refuses objects, strings, complex numbers and structures.
//!
//! This module parses the header itself for two reasons. ndarray-npy does not show a header before it allocates the claimed size.
//! It panics on some headers: a shape such as `(0, 2**62, 2**62)`, a sum of numbers, deep brackets. The tests compare reading and
//! writing with that library.

use super::Tensor;
use super::size::{SizeError, checked_size};
use crate::types::DType;

/// The largest size of a header in bytes, its magic included (reliability 2).
pub const MAX_HEADER: usize = 64 * 1024;

const MAGIC: &[u8] = b"\x93NUMPY";

/// An error in the bytes, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NpyError {
    /// Bytes from the start.
    pub offset: usize,
    pub fault: NpyFault,
    /// The message: lower case, no full stop.
    pub words: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NpyFault {
    /// Not the format, or unsupported by tensors.
    Malformed,
    /// A header over [`MAX_HEADER`].
    HeaderLimit,
    /// A tensor over the limits of [`checked_size`].
    TensorLimit,
}

fn malformed(offset: usize, words: impl Into<String>) -> NpyError {
    NpyError { offset, fault: NpyFault::Malformed, words: words.into() }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NpyHeader {
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// The offset of the elements.
    pub data_start: usize,
    /// The number of bytes of the elements.
    pub data_bytes: usize,
    big_endian: bool,
    fortran: bool,
}

impl NpyHeader {
    /// Reads the header at the start of `bytes`; the elements may be missing.
    pub fn read(bytes: &[u8]) -> Result<NpyHeader, NpyError> {
        let (text_start, data_start) = header_range(bytes)?;
        let text = bytes.get(text_start..data_start).ok_or_else(|| malformed(bytes.len(), "the file ends inside the header"))?;
        let fields = Dictionary { rest: text, end: data_start }.fields()?;
        let (dtype, big_endian) = dtype_of(fields.descr).map_err(|words| malformed(text_start, words))?;
        let (shape, data_bytes) = checked_size(&fields.shape, dtype).map_err(|error| {
            let fault = if matches!(error, SizeError::TooLarge { .. }) { NpyFault::TensorLimit } else { NpyFault::Malformed };
            NpyError { offset: text_start, fault, words: error.to_string() }
        })?;
        Ok(NpyHeader { dtype, shape, data_start, data_bytes, big_endian, fortran: fields.fortran })
    }

    /// The size of a file with this header; the limits prevent overflow of the sum.
    pub fn file_bytes(&self) -> usize {
        self.data_start.saturating_add(self.data_bytes)
    }

    /// Whether the elements are in the layout of [`write`]: little endian and row-major.
    pub fn is_plain(&self) -> bool {
        !(self.fortran || self.big_endian && self.dtype.bytes() > 1)
    }

    /// The tensor of these element bytes, which are exactly [`NpyHeader::data_bytes`].
    fn tensor(&self, data: &[u8]) -> Option<Tensor> {
        let width = usize::try_from(self.dtype.bytes()).ok()?;
        let mut shape = self.shape.clone();
        if self.fortran {
            shape.reverse();
        }
        let tensor = if self.big_endian && width > 1 {
            let mut swapped = Vec::with_capacity(data.len());
            data.chunks_exact(width).for_each(|element| swapped.extend(element.iter().rev()));
            Tensor::from_le_bytes(self.dtype, &shape, &swapped)?
        } else {
            Tensor::from_le_bytes(self.dtype, &shape, data)?
        };
        let axes: Vec<usize> = (0..shape.len()).rev().collect();
        Some(if self.fortran { tensor.permute(&axes) } else { tensor })
    }
}

/// Where the header's text starts and ends, by its magic, version and length field.
fn header_range(bytes: &[u8]) -> Result<(usize, usize), NpyError> {
    let magic = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    if magic.is_empty() || !MAGIC.starts_with(magic) {
        return Err(malformed(0, "the magic word `\\x93NUMPY` is missing"));
    }
    let short = || malformed(bytes.len(), "the file ends inside the header");
    let (&major, &minor) = bytes.get(6).zip(bytes.get(7)).ok_or_else(short)?;
    if !(1..=3).contains(&major) || minor != 0 {
        return Err(malformed(6, format!("version {major}.{minor}, known are 1.0, 2.0 and 3.0")));
    }
    let (start, length) = if major == 1 {
        let field: [u8; 2] = bytes.get(8..10).and_then(|field| field.try_into().ok()).ok_or_else(short)?;
        (PREFIX, u32::from(u16::from_le_bytes(field)))
    } else {
        let field: [u8; 4] = bytes.get(8..12).and_then(|field| field.try_into().ok()).ok_or_else(short)?;
        (12, u32::from_le_bytes(field))
    };
    let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
    let range = end.filter(|&end| end <= MAX_HEADER).map(|end| (start, end));
    range.ok_or_else(|| NpyError {
        offset: 8,
        fault: NpyFault::HeaderLimit,
        words: format!("a header of {length} bytes, the limit is {MAX_HEADER}"),
    })
}

/// The three fields of a header's dictionary.
struct Fields<'a> {
    descr: &'a str,
    fortran: bool,
    shape: Vec<i64>,
}

/// A Python dictionary literal, as far as headers of plain arrays need one.
struct Dictionary<'a> {
    rest: &'a [u8],
    /// Where `rest` ends in the file.
    end: usize,
}

impl<'a> Dictionary<'a> {
    fn fields(mut self) -> Result<Fields<'a>, NpyError> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.eat(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match key {
                "descr" if descr.is_none() => descr = Some(self.string()?),
                "fortran_order" if fortran.is_none() => fortran = Some(self.boolean()?),
                "shape" if shape.is_none() => shape = Some(self.tuple()?),
                _ => return Err(self.error(format!("the key `{key}`, which no header has at this place"))),
            }
            if !self.eat(b',') && self.peek() != Some(b'}') {
                return Err(self.error("no `,` between two fields of the header"));
            }
        }
        if self.peek().is_some() {
            return Err(self.error("text after the header's dictionary"));
        }
        match (descr, fortran, shape) {
            (Some(descr), Some(fortran), Some(shape)) => Ok(Fields { descr, fortran, shape }),
            _ => Err(self.error("the header needs descr, fortran_order and shape")),
        }
    }

    fn error(&self, words: impl Into<String>) -> NpyError {
        malformed(self.end.saturating_sub(self.rest.len()), words)
    }

    /// The next byte that is no blank, left where it is.
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.rest = self.rest.get(1..).unwrap_or(&[]);
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), NpyError> {
        if self.eat(byte) { Ok(()) } else { Err(self.error(format!("no `{}` where the header needs one", char::from(byte)))) }
    }

    /// The bytes up to the first that is not `part` of a word.
    fn word(&mut self, part: impl Fn(u8) -> bool) -> Result<&'a str, NpyError> {
        let length = self.rest.iter().position(|&byte| !part(byte)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        str::from_utf8(word).map_err(|_| self.error("a header that is not UTF-8"))
    }

    fn string(&mut self) -> Result<&'a str, NpyError> {
        let quote = match self.peek() {
            Some(quote @ (b'\'' | b'"')) => quote,
            Some(b'[') => return Err(self.error("a structured dtype, a tensor has plain numbers")),
            _ => return Err(self.error("no string where the header needs one")),
        };
        self.expect(quote)?;
        let word = self.word(|byte| byte != quote)?;
        self.expect(quote)?;
        Ok(word)
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.peek();
        match self.word(|byte| byte.is_ascii_alphanumeric())? {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(self.error("fortran_order is neither True nor False")),
        }
    }

    fn tuple(&mut self) -> Result<Vec<i64>, NpyError> {
        let mut dims = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            self.peek();
            let digits = self.word(|byte| byte.is_ascii_digit())?;
            dims.push(digits.parse().map_err(|_| self.error("a dimension that is no number below 2^63"))?);
            // Python 2 wrote `3L`.
            self.eat(b'L');
            if !self.eat(b',') && self.peek() != Some(b')') {
                return Err(self.error("no `,` between two dimensions"));
            }
        }
        Ok(dims)
    }
}

/// The dtype of a NumPy type string such as `<f4`, and whether it is big endian.
fn dtype_of(descr: &str) -> Result<(DType, bool), String> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or(("", descr));
    let dtype = DType::RUNTIME.into_iter().find(|&dtype| numpy_kind(dtype) == kind);
    let known_order = match dtype {
        Some(dtype) if dtype.bytes() == 1 => matches!(order, "|" | "<" | ">" | "="),
        Some(DType::BF16) => matches!(order, "|" | "<"),
        _ => matches!(order, "<" | ">"),
    };
    match (dtype, kind.chars().next()) {
        (Some(dtype), _) if known_order => Ok((dtype, order == ">")),
        (_, Some('O')) => Err("an array of Python objects, a tensor has plain numbers".into()),
        (_, Some('U' | 'S')) => Err("an array of strings, a tensor has plain numbers".into()),
        (_, Some('c')) => Err("an array of complex numbers, which no tensor can hold".into()),
        _ => Err(format!("the dtype `{descr}`, which no tensor can hold")),
    }
}

/// NumPy's type string without its byte order.
fn numpy_kind(dtype: DType) -> &'static str {
    match dtype {
        DType::BOOL => "b1",
        DType::I8 => "i1",
        DType::I16 => "i2",
        DType::I32 => "i4",
        DType::I64 => "i8",
        DType::U8 => "u1",
        DType::U16 => "u2",
        DType::U32 => "u4",
        DType::U64 => "u8",
        DType::F16 => "f2",
        DType::F32 => "f4",
        DType::F64 => "f8",
        // Tensors hold nothing else but bfloat16.
        _ => "V2",
    }
}

/// Reads the tensor of a whole `.npy` file.
pub fn read(bytes: &[u8]) -> Result<Tensor, NpyError> {
    let header = NpyHeader::read(bytes)?;
    let data = bytes.get(header.data_start..).unwrap_or(&[]);
    if data.len() != header.data_bytes {
        let words = format!("the shape {:?} of {} has {} bytes, the file", header.shape, header.dtype, header.data_bytes);
        return Err(malformed(bytes.len(), format!("{words} has {}", data.len())));
    }
    if header.dtype == DType::BOOL
        && let Some(at) = data.iter().position(|&byte| byte > 1)
    {
        return Err(malformed(header.data_start.saturating_add(at), "a bool that is neither 0 nor 1"));
    }
    header.tensor(data).ok_or_else(|| malformed(header.data_start, "the elements do not fill the shape"))
}

/// Writes the tensor as a `.npy` file: little endian, row-major, the same bytes for the same tensor.
pub fn write(tensor: &Tensor) -> Vec<u8> {
    let mut out = header(tensor.dtype(), tensor.shape());
    out.extend_from_slice(&tensor.to_le_bytes());
    out
}

/// Writes the bytes of [`write`], a few elements at a time. Errors: those of `out`.
pub fn write_to(tensor: &Tensor, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    out.write_all(&header(tensor.dtype(), tensor.shape()))?;
    tensor.write_le_to(out)
}

/// The bytes before the elements in [`write`].
pub fn header(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let order = if dtype.bytes() == 1 || dtype == DType::BF16 { '|' } else { '<' };
    let dims: Vec<String> = shape.iter().map(|dim| format!("{dim},")).collect();
    let shape = dims.join(" ");
    // NumPy leaves out the comma after the last of several dimensions.
    let shape = if dims.len() > 1 { shape.trim_end_matches(',') } else { &shape };
    let kind = numpy_kind(dtype);
    let dictionary = format!("{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The elements start at a multiple of 64, a line break before them. Ranks stay small, so version 1.0 has room.
    let length = (PREFIX + dictionary.len() + 1).next_multiple_of(64) - PREFIX;
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&u16::try_from(length).expect("a tensor of low rank").to_le_bytes());
    out.extend_from_slice(format!("{dictionary:<width$}\n", width = length - 1).as_bytes());
    out
}

/// The size of the fields before a version 1.0 header's text: magic, version, length.
const PREFIX: usize = 10;

#[cfg(test)]
mod tests;
