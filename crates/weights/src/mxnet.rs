//! Reads MXNet's `.params`: a list of arrays and their names (`src/ndarray/ndarray.cc`).
//!
//! The layout is little endian: u64 0x112, u64 0; u64 count and the arrays; u64 count and the names, each a u64 length and the
//! bytes. An array begins with its version, or in the oldest version with its rank. Then come dimensions, device, dtype number
//! and elements. The device is where the array was; the file contains the elements in any case. Sparse arrays are refused.

use crate::bytes::{Bytes, checked, count, entry_name, fields};
use crate::item::{Item, Place};
use crate::{Format, errors};
use relayc_base::diag::Diagnostic;
use relayc_base::{u64_of, usize_of};
use relayc_ir::tensor::binary::{self, BinaryError, Head, Source};
use relayc_ir::tensor::size::MAX_RANK;
use relayc_ir::types::DType;
use rustc_hash::FxHashSet;

/// Names are read without `arg:` and `aux:`.
pub const FORMAT: Format = Format { extension: "params", library: Some("MXNet"), starts: is_params, index, writer: None };

const FILE_MAGIC: u64 = 0x112;

/// Adds 64-bit dimensions.
const V1: u32 = 0xf993_fac8;
/// Adds a storage type.
const V2: u32 = 0xf993_fac9;
/// Adds scalars.
const V3: u32 = 0xf993_faca;

/// Maximum number of arrays. Networks have some hundreds; a file of this many small ones would take many times its size in
/// memory.
const MAX_ENTRIES: usize = 65_536;

/// Minimum bytes of an array and its name: rank, one dimension, device, dtype; the name's length.
const MIN_ENTRY: u64 = 4 + 4 + 8 + 4 + 8;

/// Size of the piece in which an array's header is read, and of the pieces of names.
const HEAD: usize = 320;
const NAMES: usize = 64 << 10;

/// Devices of saved arrays: the processor, graphics cards, pinned memory, shared memory.
const DEVICES: [i32; 4] = [1, 2, 3, 5];

/// Prefixes of names in files with several kinds of parameters: learned ones and auxiliary ones.
const KINDS: [&str; 2] = ["arg:", "aux:"];

/// Whether the bytes start as a `.params` file of MXNet does.
fn is_params(bytes: &[u8]) -> bool {
    bytes.starts_with(&[FILE_MAGIC.to_le_bytes(), [0; 8]].concat())
}

/// Reads the list of tensors; their names follow all elements. Errors: those of [`Format::read`].
fn index(name: &str, bytes: &dyn Bytes) -> Result<Vec<Item>, Diagnostic> {
    let mut start = fields(bytes, 0, HEAD);
    let magic = start.magic(FILE_MAGIC, "a .params file of MXNet").map_err(|error| errors::binary(name, &error));
    let count = magic.and_then(|()| count(name, &mut start, "arrays", MAX_ENTRIES, MIN_ENTRY));
    let mut at = start.offset();
    let count = checked(bytes, &start, count)?;
    let mut items = Vec::with_capacity(usize_of(count));
    for number in 0..count {
        let mut source = fields(bytes, u64_of(at), HEAD);
        let head = head(&mut source).map_err(|error| errors::binary(name, &error).note(format!("this is array {number}")));
        let elements = source.offset();
        let head = checked(bytes, &source, head)?;
        at = elements.saturating_add(head.size);
        items.push(Item { name: String::new(), head, place: Place::At(u64_of(elements)) });
    }
    let mut source = fields(bytes, u64_of(at), NAMES);
    let named = names(name, &mut source, &mut items);
    checked(bytes, &source, named)?;
    Ok(items)
}

/// Reads the names of the arrays, which end the file.
fn names(name: &str, source: &mut impl Source, items: &mut [Item]) -> Result<(), Diagnostic> {
    let at = source.offset();
    let n_names = source.u64("the number of names").map_err(|error| errors::binary(name, &error))?;
    if n_names != u64_of(items.len()) {
        return Err(errors::malformed(name, at, format_args!("{n_names} names for {} arrays", items.len())));
    }
    let mut names = FxHashSet::default();
    for item in items {
        let at = source.offset();
        let text = entry_name(name, source)?;
        item.name = KINDS.iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(&text).to_owned();
        if !names.insert(item.name.clone()) {
            return Err(errors::duplicate(name, at, &relayc_base::text::escape_control(&item.name)));
        }
    }
    match source.remaining() {
        0 => Ok(()),
        n => Err(errors::malformed(name, source.offset(), format_args!("{n} bytes after the last name"))),
    }
}

fn i32_of(source: &mut impl Source, what: &str) -> Result<i32, BinaryError> {
    source.u32(what).map(u32::cast_signed)
}

/// Reads the header of an array and checks that its elements are present.
fn head(source: &mut impl Source) -> Result<Head, BinaryError> {
    let at = source.offset();
    let magic = source.u32("the version of an array")?;
    let shape = match magic {
        V2 | V3 => {
            let at = source.offset();
            match i32_of(source, "the kind of storage")? {
                0 => {}
                1 | 2 => return Err(binary::error(at, "a sparse array, which is not read")),
                other => return Err(binary::error(at, format_args!("storage of kind {other}, which there is not"))),
            }
            shape(source, magic == V3)?
        }
        V1 => shape(source, false)?,
        // What is older begins with its rank.
        rank if usize::try_from(rank).is_ok_and(|rank| (1..=MAX_RANK).contains(&rank)) => {
            (0..rank).map(|_| source.u32("a dimension").map(i64::from)).collect::<Result<Vec<i64>, _>>()?
        }
        0 => return Err(binary::error(at, "an array without a value")),
        other => return Err(binary::error(at, format_args!("{other:#010x} where an array begins"))),
    };
    let at = source.offset();
    let device = i32_of(source, "the device")?;
    if !DEVICES.contains(&device) {
        return Err(binary::error(at, format_args!("a device of type {device}, which there is not")));
    }
    i32_of(source, "the device's number")?;
    let at = source.offset();
    let number = i32_of(source, "the dtype")?;
    let dtype =
        dtype(number).ok_or_else(|| binary::error(at, format_args!("a dtype of number {number}, which no tensor can hold")))?;
    binary::head_of(source, &shape, dtype)
}

/// Reads rank and dimensions. Rank 0 means an array without a value; if scalars are allowed, -1 means that.
fn shape(source: &mut impl Source, scalars: bool) -> Result<Vec<i64>, BinaryError> {
    let at = source.offset();
    let rank = i32_of(source, "the rank")?;
    match usize::try_from(rank) {
        Ok(0) if !scalars => Err(binary::error(at, "an array without a value")),
        Ok(rank) if rank <= MAX_RANK => (0..rank).map(|_| source.u64("a dimension").map(u64::cast_signed)).collect(),
        _ => Err(binary::error(at, format_args!("a rank of {rank}, which is not between 0 and {MAX_RANK}"))),
    }
}

/// The dtype of a type number (`3rdparty/mshadow/mshadow/base.h`).
pub fn dtype(number: i32) -> Option<DType> {
    Some(match number {
        0 => DType::F32,
        1 => DType::F64,
        2 => DType::F16,
        3 => DType::U8,
        4 => DType::I32,
        5 => DType::I8,
        6 => DType::I64,
        7 => DType::BOOL,
        8 => DType::I16,
        9 => DType::U16,
        10 => DType::U32,
        11 => DType::U64,
        12 => DType::BF16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::diag::{Code, codes};
    use relayc_ir::tensor::Tensor;

    /// The header of an array of version 2.
    fn head(magic: u32, stype: i32, dims: &[i64], device: i32, dtype: i32) -> Vec<u8> {
        let mut out = magic.to_le_bytes().to_vec();
        out.extend(stype.to_le_bytes());
        out.extend(i32::try_from(dims.len()).expect("few").to_le_bytes());
        dims.iter().for_each(|dim| out.extend(dim.to_le_bytes()));
        [device, 0, dtype].iter().for_each(|field| out.extend(field.to_le_bytes()));
        out
    }

    fn file(arrays: &[Vec<u8>], names: &[&str]) -> Vec<u8> {
        let mut out = [FILE_MAGIC, 0, arrays.len() as u64].map(u64::to_le_bytes).concat();
        out.extend(arrays.concat());
        out.extend((names.len() as u64).to_le_bytes());
        for name in names {
            out.extend((name.len() as u64).to_le_bytes());
            out.extend(name.as_bytes());
        }
        out
    }

    fn floats(head: Vec<u8>, values: &[f32]) -> Vec<u8> {
        [head, values.iter().flat_map(|value| value.to_le_bytes()).collect()].concat()
    }

    fn refused(bytes: &[u8], code: Code, words: &str) {
        let error = FORMAT.read("w", bytes).expect_err(words);
        assert_eq!(error.code, code, "{words}: {}", error.message);
        assert!(error.message.contains(words), "{} should say {words}", error.message);
    }

    #[test]
    fn arrays_of_all_versions_are_read() {
        let second = floats(head(V2, 0, &[2], 2, 0), &[1.0, 2.0]);
        let third = floats(head(V3, 0, &[], 1, 0), &[7.0]);
        let mut first = V1.to_le_bytes().to_vec();
        first.extend(&head(V2, 0, &[1, 2], 1, 4)[8..]);
        first.extend([3i32, 4].iter().flat_map(|value| value.to_le_bytes()));
        let oldest = [2u32, 1, 1, 1, 0, 0].iter().flat_map(|field| field.to_le_bytes()).collect();
        let bytes = file(&[second, third, first, floats(oldest, &[5.0])], &["arg:a", "aux:b", "c", "arg:d.weight"]);
        assert!(is_params(&bytes));
        let found = FORMAT.read("w", &bytes).expect("sound");
        let expected = [
            ("a", Tensor::from_vec(&[2], vec![1f32, 2.0])),
            ("b", Tensor::scalar(7f32)),
            ("c", Tensor::from_vec(&[1, 2], vec![3i32, 4])),
            ("d.weight", Tensor::from_vec(&[1, 1], vec![5f32])),
        ];
        assert_eq!(found, expected.map(|(name, tensor)| (name.to_owned(), tensor)));
    }

    #[test]
    fn every_dtype_is_read() {
        for (number, dtype) in (0..).zip([
            DType::F32,
            DType::F64,
            DType::F16,
            DType::U8,
            DType::I32,
            DType::I8,
            DType::I64,
            DType::BOOL,
            DType::I16,
            DType::U16,
            DType::U32,
            DType::U64,
            DType::BF16,
        ]) {
            let tensor = Tensor::random(dtype, &[2, 3], 1, "x").expect("small");
            let array = [head(V2, 0, &[2, 3], 1, number), tensor.to_le_bytes()].concat();
            assert_eq!(FORMAT.read("w", &file(&[array], &["a"])), Ok(vec![("a".to_owned(), tensor)]), "{dtype}");
        }
    }

    #[test]
    fn each_rule_refuses() {
        refused(&[FILE_MAGIC + 1, 0, 0].map(u64::to_le_bytes).concat(), codes::E0703, "starts with");
        refused(&[FILE_MAGIC, 1, 0].map(u64::to_le_bytes).concat(), codes::E0703, "it must be 0");
        let sound = floats(head(V2, 0, &[2], 1, 0), &[1.0, 2.0]);
        let one = |array: Vec<u8>| file(&[array], &["a"]);
        refused(&one(head(V2, 1, &[2], 1, 0)), codes::E0703, "sparse");
        refused(&one(head(V2, 9, &[2], 1, 0)), codes::E0703, "kind 9");
        refused(&one(head(V2, 0, &[], 1, 0)), codes::E0703, "without a value");
        refused(&one(head(V2, 0, &[1; 33], 1, 0)), codes::E0703, "a rank of 33");
        refused(&one(head(V2, 0, &[-2], 1, 0)), codes::E0703, "negative");
        refused(&one(head(V2, 0, &[2], 9, 0)), codes::E0703, "device of type 9");
        refused(&one(head(V2, 0, &[2], 1, 99)), codes::E0703, "number 99");
        refused(&one(head(V2, 0, &[1 << 20], 1, 0)), codes::E0703, "more are there");
        refused(&one(head(V2, 0, &[1 << 40, 1 << 20], 1, 0)), codes::E0803, "");
        refused(&one(vec![0xff; 60]), codes::E0703, "where an array begins");
        refused(&file(&[sound.clone(), sound.clone()], &["arg:a", "aux:a"]), codes::E0703, "second entry named `a`");
        refused(&file(std::slice::from_ref(&sound), &[]), codes::E0703, "0 names for 1 array");
        refused(&file(std::slice::from_ref(&sound), &[&"n".repeat(5000)]), codes::E0804, "5000 bytes");
        refused(&[one(sound.clone()), vec![0]].concat(), codes::E0703, "after the last name");
        let mut not_utf8 = one(sound.clone());
        *not_utf8.last_mut().expect("a name") = 0xff;
        refused(&not_utf8, codes::E0703, "not UTF-8");
        let many = [FILE_MAGIC, 0, 1 << 40].map(u64::to_le_bytes).concat();
        refused(&many, codes::E0804, "the limit");
        let few = [FILE_MAGIC, 0, 10].map(u64::to_le_bytes).concat();
        refused(&few, codes::E0703, "room for");
        let whole = one(sound);
        for cut in 0..whole.len() {
            assert!(FORMAT.read("w", &whole[..cut]).is_err(), "cut at {cut}");
        }
    }
}
