//! Reads and writes a tensor as TVM saves it, in `.params` files and metadata sections (`include/tvm/runtime/ndarray.h`; language
//! 6).
//!
//! All fields are little endian: u64 magic, u64 0; i32 device type (1, the CPU), i32 device number; i32 rank; u8 type code, u8
//! bits, u16 lanes; i64 dimensions; i64 byte count; the elements row-major. Sizes are compared with the remaining bytes and with
//! the limits of [`checked_size`] before anything is allocated.

use super::Tensor;
use super::bytes::{Pending, pending};
use super::size::{MAX_RANK, SizeError, checked_size};
use crate::types::{DType, DTypeCode};
use relayc_base::u64_of;
use std::io::Write;

const MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;

/// The device type of main memory.
const CPU: i32 = 1;

/// An error in the bytes, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BinaryError {
    /// Bytes from the start.
    pub offset: usize,
    /// The message: lower case, no full stop.
    pub words: String,
    /// Whether the tensor is over the limits of [`checked_size`]; the bytes may be valid.
    pub over_limit: bool,
}

/// A source of little-endian fields.
pub trait Source {
    /// The number of bytes already read.
    fn offset(&self) -> usize;

    /// The number of remaining bytes.
    fn remaining(&self) -> u64;

    /// Fills `out` with the next bytes, which belong to `what`. The caller has compared the length with [`Source::remaining`].
    fn fill(&mut self, out: &mut [u8], what: &str) -> Result<(), BinaryError>;

    /// Fails unless there are `n` more bytes, which belong to `what`.
    fn expect(&self, n: u64, what: &str) -> Result<(), BinaryError> {
        match self.remaining() {
            left if left < n => Err(error(self.offset(), format_args!("{what} takes {n} bytes, {left} more are there"))),
            _ => Ok(()),
        }
    }

    fn u32(&mut self, what: &str) -> Result<u32, BinaryError> {
        field(self, what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64, BinaryError> {
        field(self, what).map(u64::from_le_bytes)
    }

    /// Reads a magic word and the reserved word of zeros after it.
    fn magic(&mut self, expected: u64, what: &str) -> Result<(), BinaryError> {
        let at = self.offset();
        let found = self.u64("the magic word")?;
        if found != expected {
            return Err(error(at, format_args!("{found:#018x} where {what} starts with {expected:#018x}")));
        }
        let at = self.offset();
        match self.u64("the reserved word")? {
            0 => Ok(()),
            reserved => Err(error(at, format_args!("the reserved word is {reserved}, it must be 0"))),
        }
    }
}

/// The next bytes, as many as the field has.
fn field<const N: usize, S: Source + ?Sized>(source: &mut S, what: &str) -> Result<[u8; N], BinaryError> {
    source.expect(u64_of(N), what)?;
    let mut bytes = [0; N];
    source.fill(&mut bytes, what)?;
    Ok(bytes)
}

/// An error about the byte at `offset`.
pub fn error(offset: usize, words: impl std::fmt::Display) -> BinaryError {
    BinaryError { offset, words: words.to_string(), over_limit: false }
}

/// A source of bytes in memory.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Takes the next `n` bytes, which belong to `what`.
    pub fn take(&mut self, n: u64, what: &str) -> Result<&'a [u8], BinaryError> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        match usize::try_from(n).ok().and_then(|n| rest.get(..n)) {
            Some(bytes) => {
                self.at = self.at.saturating_add(bytes.len());
                Ok(bytes)
            }
            None => Err(self.error(format_args!("{what} takes {n} bytes, {} more are there", rest.len()))),
        }
    }

    pub fn u16(&mut self, what: &str) -> Result<u16, BinaryError> {
        field(self, what).map(u16::from_le_bytes)
    }

    /// An error about the next byte.
    pub fn error(&self, words: impl std::fmt::Display) -> BinaryError {
        error(self.at, words)
    }
}

impl Source for Cursor<'_> {
    fn offset(&self) -> usize {
        self.at
    }

    fn remaining(&self) -> u64 {
        u64_of(self.bytes.len().saturating_sub(self.at))
    }

    fn fill(&mut self, out: &mut [u8], what: &str) -> Result<(), BinaryError> {
        out.copy_from_slice(self.take(u64_of(out.len()), what)?);
        Ok(())
    }
}

/// The fields before the elements of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// The number of bytes of the elements.
    pub size: usize,
}

/// Reads the fields before the elements, and compares the elements' size with [`Source::remaining`].
pub fn head(source: &mut impl Source) -> Result<Head, BinaryError> {
    source.magic(MAGIC, "a tensor")?;
    let at = source.offset();
    let device = field(source, "the device type").map(i32::from_le_bytes)?;
    if device != CPU {
        return Err(error(at, format_args!("a tensor of device type {device}, only {CPU} (the CPU) can be read")));
    }
    field::<4, _>(source, "the device number")?;
    let at = source.offset();
    let rank = field(source, "the rank").map(i32::from_le_bytes)?;
    let rank = usize::try_from(rank).ok().filter(|&rank| rank <= MAX_RANK);
    let rank = rank.ok_or_else(|| error(at, format_args!("a rank that is not between 0 and {MAX_RANK}")))?;
    let dtype = dtype(source)?;
    let at = source.offset();
    let dim = |_| field(source, "a dimension").map(i64::from_le_bytes);
    let shape = (0..rank).map(dim).collect::<Result<Vec<i64>, _>>()?;
    let (shape, size) = checked_size(&shape, dtype)
        .map_err(|wrong| BinaryError { over_limit: matches!(wrong, SizeError::TooLarge { .. }), ..error(at, wrong) })?;
    let at = source.offset();
    let declared = field(source, "the byte count").map(i64::from_le_bytes)?;
    if usize::try_from(declared) != Ok(size) {
        return Err(error(at, format_args!("a byte count of {declared}, the shape {shape:?} of {dtype} has {size}")));
    }
    source.expect(u64_of(size), "a tensor")?;
    Ok(Head { dtype, shape, size })
}

/// Reads the elements of a tensor piece by piece into their final place, so that memory never holds them twice.
pub fn elements(source: &mut impl Source, head: &Head) -> Result<Tensor, BinaryError> {
    let at = source.offset();
    source.expect(u64_of(head.size), "a tensor")?;
    let mut elements = pending(head.dtype).ok_or_else(|| error(at, "elements of a type that no tensor can hold"))?;
    fill(source, head, &mut *elements)?;
    Ok(elements.finish(&head.shape))
}

/// Checks a head from another format, and compares the elements' size with [`Source::remaining`].
pub fn head_of(source: &impl Source, shape: &[i64], dtype: DType) -> Result<Head, BinaryError> {
    let at = source.offset();
    let (shape, size) = checked_size(shape, dtype)
        .map_err(|wrong| BinaryError { over_limit: matches!(wrong, SizeError::TooLarge { .. }), ..error(at, wrong) })?;
    source.expect(u64_of(size), "a tensor")?;
    Ok(Head { dtype, shape, size })
}

pub fn read(source: &mut impl Source) -> Result<Tensor, BinaryError> {
    let head = head(source)?;
    elements(source, &head)
}

fn fill(source: &mut impl Source, head: &Head, elements: &mut dyn Pending) -> Result<(), BinaryError> {
    let (at, size) = (source.offset(), head.size);
    let width = usize::try_from(head.dtype.bytes()).unwrap_or(usize::MAX);
    let reserved = elements.reserve(size.checked_div(width).unwrap_or(0));
    reserved.map_err(|_| BinaryError { over_limit: true, ..error(at, format_args!("no memory for {size} bytes")) })?;
    // A multiple of every width.
    let mut piece = vec![0; size.min(PIECE)];
    let mut left = size;
    while left > 0 {
        piece.truncate(left);
        source.fill(&mut piece, "a tensor")?;
        if head.dtype == DType::BOOL && piece.iter().any(|&byte| byte > 1) {
            return Err(error(at, "a bool that is neither 0 nor 1"));
        }
        elements.extend_le(&piece);
        left = left.saturating_sub(piece.len());
    }
    Ok(())
}

/// So many bytes are read at once: they stay in the second cache.
const PIECE: usize = 256 << 10;

fn dtype(source: &mut impl Source) -> Result<DType, BinaryError> {
    let at = source.offset();
    let [code] = field(source, "the type code")?;
    let [bits] = field(source, "the bits of the type")?;
    let lanes = field(source, "the lanes of the type").map(u16::from_le_bytes)?;
    let family = match code {
        0 => Some(DTypeCode::Int),
        1 => Some(DTypeCode::UInt),
        2 => Some(DTypeCode::Float),
        4 => Some(DTypeCode::BFloat),
        _ => None,
    };
    let dtype = family.map(|code| DType { code, bits, lanes }).filter(|dtype| DType::RUNTIME.contains(dtype));
    dtype.ok_or_else(|| error(at, format_args!("type code {code} of {bits} bits and {lanes} lanes, which no tensor can hold")))
}

pub fn write(tensor: &Tensor, out: &mut Vec<u8>) {
    // Memory takes whatever is written to it.
    let _ = write_to(tensor, out);
}

/// Writes the tensor, a few elements at a time. Errors: those of `out`.
pub fn write_to(tensor: &Tensor, out: &mut dyn Write) -> std::io::Result<()> {
    let dtype = tensor.dtype();
    let code = match dtype.code {
        DTypeCode::Int => 0,
        DTypeCode::UInt => 1,
        DTypeCode::Float => 2,
        DTypeCode::BFloat => 4,
        // No tensor can hold them.
        DTypeCode::Handle | DTypeCode::E4M3 | DTypeCode::E5M2 => 3,
    };
    let mut head = Vec::new();
    head.extend_from_slice(&MAGIC.to_le_bytes());
    head.extend_from_slice(&0u64.to_le_bytes());
    head.extend_from_slice(&CPU.to_le_bytes());
    head.extend_from_slice(&0i32.to_le_bytes());
    head.extend_from_slice(&u32::try_from(tensor.rank()).unwrap_or(u32::MAX).to_le_bytes());
    head.extend_from_slice(&[code, dtype.bits]);
    head.extend_from_slice(&dtype.lanes.to_le_bytes());
    for &dim in tensor.shape() {
        head.extend_from_slice(&u64_of(dim).to_le_bytes());
    }
    head.extend_from_slice(&u64_of(tensor.len()).saturating_mul(dtype.bytes()).to_le_bytes());
    out.write_all(&head)?;
    tensor.write_le_to(out)
}
