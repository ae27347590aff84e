//! A tensor as TVM saves it, in `.params` files and metadata sections (`include/tvm/runtime/ndarray.h`; relay-text 6).
//!
//! Little endian: u64 magic, u64 0; i32 device type (1, the CPU), i32 device number; i32 rank; u8 type code, u8 bits, u16
//! lanes; i64 dimensions; i64 byte count; the elements row-major. Sizes are compared with what is left of the bytes and with
//! the limits of [`checked_size`] before anything is allocated.

use super::Tensor;
use super::size::{MAX_RANK, SizeError, checked_size};
use crate::types::{DType, DTypeCode};

const MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;

/// The device type of main memory.
const CPU: i32 = 1;

/// What is wrong with the bytes, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BinaryError {
    /// Bytes from the start.
    pub offset: usize,
    /// Lower case, no full stop.
    pub words: String,
    /// The bytes may be sound, but the tensor is over the limits of [`checked_size`].
    pub over_limit: bool,
}

/// Reads little-endian fields one after the other and cannot leave the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// The same bytes from another one on.
    pub fn at(self, at: u64) -> Result<Cursor<'a>, BinaryError> {
        match usize::try_from(at) {
            Ok(at) if at <= self.bytes.len() => Ok(Cursor { at, ..self }),
            _ => Err(self.error(format_args!("an offset of {at} leads outside of the file"))),
        }
    }

    pub fn offset(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// The next `n` bytes, which are `what`.
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

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], BinaryError> {
        let at = *self;
        let bytes = self.take(u64::try_from(N).unwrap_or(u64::MAX), what)?;
        bytes.try_into().map_err(|_| at.error(what))
    }

    pub fn u8(&mut self, what: &str) -> Result<u8, BinaryError> {
        self.array(what).map(u8::from_le_bytes)
    }

    pub fn u16(&mut self, what: &str) -> Result<u16, BinaryError> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub fn u32(&mut self, what: &str) -> Result<u32, BinaryError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub fn u64(&mut self, what: &str) -> Result<u64, BinaryError> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub fn i32(&mut self, what: &str) -> Result<i32, BinaryError> {
        self.array(what).map(i32::from_le_bytes)
    }

    pub fn i64(&mut self, what: &str) -> Result<i64, BinaryError> {
        self.array(what).map(i64::from_le_bytes)
    }

    /// A magic word and the reserved word of zeros after it.
    pub fn magic(&mut self, expected: u64, what: &str) -> Result<(), BinaryError> {
        let start = *self;
        let found = self.u64("the magic word")?;
        if found != expected {
            return Err(start.error(format_args!("{found:#018x} where {what} starts with {expected:#018x}")));
        }
        let start = *self;
        match self.u64("the reserved word")? {
            0 => Ok(()),
            reserved => Err(start.error(format_args!("the reserved word is {reserved}, it must be 0"))),
        }
    }

    /// A complaint about the next byte.
    pub fn error(&self, words: impl std::fmt::Display) -> BinaryError {
        BinaryError { offset: self.at, words: words.to_string(), over_limit: false }
    }
}

/// Reads one tensor.
pub fn read(cursor: &mut Cursor) -> Result<Tensor, BinaryError> {
    cursor.magic(MAGIC, "a tensor")?;
    let start = *cursor;
    let device = cursor.i32("the device type")?;
    if device != CPU {
        return Err(start.error(format_args!("a tensor of device type {device}, only {CPU} (the CPU) can be read")));
    }
    cursor.i32("the device number")?;
    let start = *cursor;
    let rank = cursor.i32("the rank")?;
    let rank = usize::try_from(rank).ok().filter(|&rank| rank <= MAX_RANK);
    let rank = rank.ok_or_else(|| start.error(format_args!("a rank that is not between 0 and {MAX_RANK}")))?;
    let dtype = dtype(cursor)?;
    let start = *cursor;
    let shape = (0..rank).map(|_| cursor.i64("a dimension")).collect::<Result<Vec<i64>, _>>()?;
    let (dims, size) = checked_size(&shape, dtype)
        .map_err(|error| BinaryError { over_limit: error == SizeError::TooLarge, ..start.error(error) })?;
    let start = *cursor;
    let declared = cursor.i64("the byte count")?;
    if usize::try_from(declared) != Ok(size) {
        return Err(start.error(format_args!("a byte count of {declared}, the shape {dims:?} of {dtype} has {size}")));
    }
    let start = *cursor;
    let data = cursor.take(u64::try_from(size).unwrap_or(u64::MAX), "a tensor")?;
    if dtype == DType::BOOL && data.iter().any(|&byte| byte > 1) {
        return Err(start.error("a bool that is neither 0 nor 1"));
    }
    Tensor::from_le_bytes(dtype, &dims, data).ok_or_else(|| start.error("elements that do not fill the shape"))
}

fn dtype(cursor: &mut Cursor) -> Result<DType, BinaryError> {
    let start = *cursor;
    let code = cursor.u8("the type code")?;
    let bits = cursor.u8("the bits of the type")?;
    let lanes = cursor.u16("the lanes of the type")?;
    let family = match code {
        0 => Some(DTypeCode::Int),
        1 => Some(DTypeCode::UInt),
        2 => Some(DTypeCode::Float),
        4 => Some(DTypeCode::BFloat),
        _ => None,
    };
    let dtype = family.map(|code| DType { code, bits, lanes }).filter(|dtype| DType::RUNTIME.contains(dtype));
    dtype.ok_or_else(|| start.error(format_args!("type code {code} of {bits} bits and {lanes} lanes, which no tensor can hold")))
}

/// Appends the tensor.
pub fn write(tensor: &Tensor, out: &mut Vec<u8>) {
    let dtype = tensor.dtype();
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(&CPU.to_le_bytes());
    out.extend_from_slice(&0i32.to_le_bytes());
    out.extend_from_slice(&u32::try_from(tensor.rank()).unwrap_or(u32::MAX).to_le_bytes());
    let code = match dtype.code {
        DTypeCode::Int => 0,
        DTypeCode::UInt => 1,
        DTypeCode::Float => 2,
        DTypeCode::BFloat => 4,
        // No tensor can hold them.
        DTypeCode::Handle | DTypeCode::E4M3 | DTypeCode::E5M2 => 3,
    };
    out.extend_from_slice(&[code, dtype.bits]);
    out.extend_from_slice(&dtype.lanes.to_le_bytes());
    for &dim in tensor.shape() {
        out.extend_from_slice(&u64_of(dim).to_le_bytes());
    }
    let data = tensor.to_le_bytes();
    out.extend_from_slice(&u64_of(data.len()).to_le_bytes());
    out.extend_from_slice(&data);
}

fn u64_of(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
