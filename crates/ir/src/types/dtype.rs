//! Element types, by TVM's names: `float32`, `int8`, `bool`, `float32x4`, …

use std::fmt;

/// The family of an element type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DTypeCode {
    Int,
    UInt,
    Float,
    BFloat,
    Handle,
    /// `e4m3_float8`.
    E4M3,
    /// `e5m2_float8`.
    E5M2,
}

/// An element type: family, bits and vector lanes (`include/tvm/runtime/data_type.h`). `bool` is `uint1`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DType {
    pub code: DTypeCode,
    pub bits: u8,
    pub lanes: u16,
}

impl DType {
    pub const BOOL: DType = DType::scalar(DTypeCode::UInt, 1);
    pub const I8: DType = DType::scalar(DTypeCode::Int, 8);
    pub const I16: DType = DType::scalar(DTypeCode::Int, 16);
    pub const I32: DType = DType::scalar(DTypeCode::Int, 32);
    pub const I64: DType = DType::scalar(DTypeCode::Int, 64);
    pub const U8: DType = DType::scalar(DTypeCode::UInt, 8);
    pub const U16: DType = DType::scalar(DTypeCode::UInt, 16);
    pub const U32: DType = DType::scalar(DTypeCode::UInt, 32);
    pub const U64: DType = DType::scalar(DTypeCode::UInt, 64);
    pub const F16: DType = DType::scalar(DTypeCode::Float, 16);
    pub const BF16: DType = DType::scalar(DTypeCode::BFloat, 16);
    pub const F32: DType = DType::scalar(DTypeCode::Float, 32);
    pub const F64: DType = DType::scalar(DTypeCode::Float, 64);

    /// The element types of tensors at run time.
    pub const RUNTIME: [DType; 13] = [
        DType::BOOL,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    pub const fn scalar(code: DTypeCode, bits: u8) -> DType {
        DType { code, bits, lanes: 1 }
    }

    /// Reads a dtype as `String2DLDataType` of `include/tvm/runtime/data_type.h` does: base, bits (32 if none), `x` lanes.
    pub fn parse(text: &str) -> Option<DType> {
        const BASES: [(&str, DTypeCode, u8); 7] = [
            ("int", DTypeCode::Int, 32),
            ("uint", DTypeCode::UInt, 32),
            ("float", DTypeCode::Float, 32),
            ("bfloat", DTypeCode::BFloat, 16),
            ("handle", DTypeCode::Handle, 64),
            ("e4m3_float", DTypeCode::E4M3, 8),
            ("e5m2_float", DTypeCode::E5M2, 8),
        ];
        if text == "bool" {
            return Some(DType::BOOL);
        }
        let (rest, code, default_bits) =
            BASES.iter().find_map(|&(base, code, bits)| Some((text.strip_prefix(base)?, code, bits)))?;
        let (bits, lanes) = match rest.split_once('x') {
            // `float32x` has no lanes at all, and prints as `float32x0` (#163).
            Some((bits, "")) => (bits, 0),
            Some((bits, lanes)) => (bits, number(lanes)?),
            None => (rest, 1),
        };
        let bits = if bits.is_empty() { default_bits } else { u8::try_from(number(bits)?).ok()? };
        (bits > 0).then_some(DType { code, bits, lanes })
    }

    pub fn is_float(self) -> bool {
        matches!(self.code, DTypeCode::Float | DTypeCode::BFloat | DTypeCode::E4M3 | DTypeCode::E5M2)
    }

    pub fn is_bool(self) -> bool {
        self.code == DTypeCode::UInt && self.bits == 1
    }

    /// Whether it is a signed or unsigned integer; false for `bool`.
    pub fn is_int(self) -> bool {
        matches!(self.code, DTypeCode::Int | DTypeCode::UInt) && !self.is_bool()
    }

    /// The size of one element in memory and in files, in bytes; `bool` is one byte.
    pub fn bytes(self) -> u64 {
        u64::from(self.bits).div_ceil(8) * u64::from(self.lanes)
    }
}

fn number(digits: &str) -> Option<u16> {
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = match self.code {
            _ if self.is_bool() && self.lanes == 1 => return f.write_str("bool"),
            DTypeCode::Int => "int",
            DTypeCode::UInt => "uint",
            DTypeCode::Float => "float",
            DTypeCode::BFloat => "bfloat",
            DTypeCode::Handle => "handle",
            DTypeCode::E4M3 => "e4m3_float",
            DTypeCode::E5M2 => "e5m2_float",
        };
        f.write_str(base)?;
        if self.code != DTypeCode::Handle {
            write!(f, "{}", self.bits)?;
        }
        if self.lanes != 1 {
            write!(f, "x{}", self.lanes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_and_print() {
        for name in ["float32", "int8", "bool", "uint64", "bfloat16", "float32x4", "float32x0", "handle", "e4m3_float8"] {
            assert_eq!(DType::parse(name).expect(name).to_string(), name);
        }
        assert_eq!(DType::parse("float"), Some(DType::F32));
        assert_eq!(DType::parse("float32x"), DType::parse("float32x0"));
        for name in ["", "flaot32", "float0", "int999", "float32x-1", "int-8", "float+8"] {
            assert_eq!(DType::parse(name), None, "{name}");
        }
    }
}
