//! `.safetensors`, the weight files of Hugging Face (the section "Format" of the README of `huggingface/safetensors`).
//!
//! The layout is little endian: u64 length of the header; the header, a JSON object that may end in spaces; the elements of the
//! tensors, row-major. For each name the header has `{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}`, with offsets counted
//! from its end. It may have `"__metadata__"`, texts by name, which are not kept. Tensors fill the file: no gap, no shared
//! byte, no excess. A bool is a byte, 0 or 1.
//!
//! Writing emits the header in the given order, and the elements of wide types first, so that each is aligned to its width. A
//! file of the reference library without metadata is reproduced byte for byte.
//!
//! Reading does not use that library, because it needs the whole file in memory and silently keeps the last of two tensors of
//! one name. A test compares both directions with a file that it wrote.

use super::bytes::{Bytes, checked, fields};
use super::item::{Item, Place};
use super::supply::{Planned, Supply};
use super::{Format, MAX_NAME, Writer, errors, repeated};
use relayc_base::diag::Diagnostic;
use relayc_base::{u64_of, usize_of};
use relayc_ir::tensor::binary::{Head, Source};
use relayc_ir::tensor::size::{MAX_RANK, SizeError, checked_size};
use relayc_ir::types::DType;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::io::Write;

pub const FORMAT: Format = Format {
    extension: "safetensors",
    library: None,
    starts: is_safetensors,
    index,
    writer: Some(Writer { max_tensors: MAX_ENTRIES, max_name: MAX_NAME, reserved: Some(METADATA), write: write_each }),
};

/// The key of a header that is not a tensor.
const METADATA: &str = "__metadata__";

/// Maximum length of the header: the limit of the reference library.
const MAX_HEADER: u64 = 100_000_000;

/// Maximum number of tensors, equal to that of `.params` files (reliability 2).
const MAX_ENTRIES: usize = super::params::MAX_ENTRIES;

/// Start of the header.
const START: u64 = 8;

/// The names of the element types.
const DTYPES: [(&str, DType); 13] = [
    ("BOOL", DType::BOOL),
    ("U8", DType::U8),
    ("I8", DType::I8),
    ("I16", DType::I16),
    ("U16", DType::U16),
    ("F16", DType::F16),
    ("BF16", DType::BF16),
    ("I32", DType::I32),
    ("U32", DType::U32),
    ("F32", DType::F32),
    ("F64", DType::F64),
    ("I64", DType::I64),
    ("U64", DType::U64),
];

/// Whether the bytes start like a `.safetensors` file: with a length, then `{`.
fn is_safetensors(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk::<8>().map(|length| u64::from_le_bytes(*length));
    length.is_some_and(|length| (2..=MAX_HEADER).contains(&length)) && bytes.get(8) == Some(&b'{')
}

/// Reads the list of tensors. Errors: those of [`Format::read`].
fn index(name: &str, bytes: &dyn Bytes) -> Result<Vec<Item>, Diagnostic> {
    let mut source = fields(bytes, 0, 0);
    let text = header_text(name, &mut source);
    let text = checked(bytes, &source, text)?;
    let data_start = START.saturating_add(u64_of(text.len()));
    let data_size = bytes.size().saturating_sub(data_start);
    let mut header = Header { name, data_start, data_size, items: vec![], refused: None };
    let mut json = serde_json::Deserializer::from_slice(&text);
    let read = header.deserialize(&mut json).and_then(|()| json.end());
    let Header { mut items, refused, .. } = header;
    read.map_err(|error| refused.unwrap_or_else(|| not_json(name, &text, &error)))?;
    // What follows takes memory for each tensor too.
    drop(text);
    items.shrink_to_fit();
    if let Some(twice) = repeated(items.iter().map(|item| item.name.as_str())).and_then(|at| items.get(at)) {
        return Err(errors::duplicate(name, HEADER, &twice.name));
    }
    let mut ranges = Vec::with_capacity(items.len());
    ranges.extend(items.iter().filter_map(|item| match item.place {
        Place::At(at) => Some((at.saturating_sub(data_start), u64_of(item.head.size))),
        Place::Entry(_) => None,
    }));
    ranges.sort_unstable();
    let mut at = 0;
    for (start, size) in ranges {
        if start != at {
            let what = if start > at { "no tensor has" } else { "several tensors have" };
            let words = format_args!("{what} the bytes from {} to {} of the elements", at.min(start), at.max(start));
            return Err(errors::malformed(name, HEADER, words));
        }
        at = start.saturating_add(size);
    }
    match data_size.saturating_sub(at) {
        0 => Ok(items),
        n => {
            Err(errors::malformed(name, usize_of(data_start.saturating_add(at)), format_args!("{n} bytes after the last tensor")))
        }
    }
}

/// [`START`] for messages.
const HEADER: usize = 8;

/// Reads the bytes of the header.
fn header_text(name: &str, source: &mut impl Source) -> Result<Vec<u8>, Diagnostic> {
    let named = |error| errors::binary(name, &error);
    let length = source.u64("the length of the header").map_err(named)?;
    if length > MAX_HEADER {
        let words = format_args!("a header of {length} bytes, the limit is {MAX_HEADER}");
        return Err(errors::entry_limit(name, 0, words));
    }
    source.expect(length, "the header").map_err(named)?;
    let mut text = vec![0; usize_of(length)];
    source.fill(&mut text, "the header").map_err(named)?;
    if text.first() != Some(&b'{') {
        return Err(errors::malformed(name, HEADER, "the header does not start with `{`"));
    }
    Ok(text)
}

/// A header that is not JSON, or not that of tensors. The byte replaces the parser's line and column.
fn not_json(name: &str, text: &[u8], error: &serde_json::Error) -> Diagnostic {
    let lines = text.split(|&byte| byte == b'\n').take(error.line().saturating_sub(1));
    let before = lines.fold(0usize, |n, line| n.saturating_add(line.len()).saturating_add(1));
    let at = HEADER.saturating_add(before).saturating_add(error.column().saturating_sub(1));
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    errors::malformed(name, at, format_args!("the header is not that of tensors: {words}"))
}

/// A header being read: each tensor becomes an item at once, because there may be very many.
struct Header<'a> {
    name: &'a str,
    /// Start and number of bytes of the elements.
    data_start: u64,
    data_size: u64,
    items: Vec<Item>,
    /// Why a tensor was refused, if one was.
    refused: Option<Diagnostic>,
}

impl Header<'_> {
    fn add(&mut self, key: Cow<str>, entry: &Entry) -> Result<(), Diagnostic> {
        if self.items.len() == MAX_ENTRIES {
            return Err(errors::entry_limit(
                self.name,
                HEADER,
                format_args!("more than {MAX_ENTRIES} tensors, which is the limit"),
            ));
        }
        let head = entry.head(self.name, &key, self.data_size)?;
        let [start, _] = entry.data_offsets;
        self.items.push(Item { name: key.into_owned(), head, place: Place::At(self.data_start.saturating_add(start)) });
        Ok(())
    }
}

/// The description of a tensor in the header.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<'a> {
    #[serde(borrow)]
    dtype: Cow<'a, str>,
    shape: Shape,
    data_offsets: [u64; 2],
}

impl Entry<'_> {
    /// The tensor, if its range is within the `data_size` bytes of the elements and as long as its shape requires.
    fn head(&self, name: &str, key: &str, data_size: u64) -> Result<Head, Diagnostic> {
        let about = |words: fmt::Arguments| errors::malformed(name, HEADER, format_args!("tensor `{key}`: {words}"));
        if key.len() > MAX_NAME {
            let words = format_args!("a name of {} bytes, the limit is {MAX_NAME}", key.len());
            return Err(errors::entry_limit(name, HEADER, words));
        }
        let Some(&(_, dtype)) = DTYPES.iter().find(|(known, _)| *known == self.dtype) else {
            let error = about(format_args!("the dtype `{}`, which no tensor can hold", self.dtype));
            let narrow = ["F4", "F6", "F8"].iter().any(|start| self.dtype.starts_with(start));
            return Err(if narrow { error.help("convert it to F16, BF16 or F32 where the file was made") } else { error });
        };
        let (shape, size) = checked_size(&self.shape.0, dtype).map_err(|error| match error {
            SizeError::TooLarge { .. } => errors::tensor_limit(name, HEADER, format_args!("tensor `{key}`: {error}")),
            error => about(format_args!("{error}")),
        })?;
        let [start, end] = self.data_offsets;
        if end > data_size {
            return Err(about(format_args!("its elements end at byte {end} of {data_size}")));
        }
        if end.checked_sub(start) != u64::try_from(size).ok() {
            let words = format_args!("data_offsets [{start}, {end}], the shape {shape:?} of {dtype} has {size} bytes");
            return Err(about(words));
        }
        Ok(Head { dtype, shape, size })
    }
}

impl<'de> DeserializeSeed<'de> for &mut Header<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Header<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("tensors by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_metadata = false;
        while let Some(Text(key)) = map.next_key()? {
            if key != METADATA {
                if let Err(refused) = self.add(key, &map.next_value()?) {
                    self.refused = Some(refused);
                    return Err(Error::custom("a tensor was refused"));
                }
            } else if std::mem::replace(&mut has_metadata, true) {
                return Err(Error::custom("a second `__metadata__`"));
            } else {
                map.next_value::<Texts>()?;
            }
        }
        Ok(())
    }
}

/// A text, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Texts by name, which are checked but not kept.
struct Texts;

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Texts, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("texts by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Texts, A::Error> {
                while map.next_entry::<Text, Text>()?.is_some() {}
                Ok(Texts)
            }
        }
        from.deserialize_map(Map)
    }
}

/// The dimensions of a tensor, limited in number.
struct Shape(Vec<i64>);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Shape, D::Error> {
        struct Dims;
        impl<'de> Visitor<'de> for Dims {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of dimensions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
                let mut dims = Vec::new();
                while let Some(dim) = seq.next_element::<u64>()? {
                    if dims.len() == MAX_RANK {
                        return Err(Error::custom(format_args!("more than {MAX_RANK} dimensions")));
                    }
                    dims.push(i64::try_from(dim).unwrap_or(i64::MAX));
                }
                Ok(Shape(dims))
            }
        }
        from.deserialize_seq(Dims)
    }
}

/// Writes the header, then tensors one after the other, wide elements first.
fn write_each(planned: &[Planned], supply: &mut Supply, out: &mut dyn Write) -> std::io::Result<()> {
    let mut order: Vec<(usize, &Planned)> = planned.iter().enumerate().collect();
    order.sort_by_key(|(_, planned)| std::cmp::Reverse(planned.head.dtype.bytes()));
    let mut ranges = vec![(0, 0); planned.len()];
    let mut at = 0u64;
    for &(i, planned) in &order {
        let end = at.saturating_add(u64_of(planned.head.size));
        if let Some(range) = ranges.get_mut(i) {
            *range = (at, end);
        }
        at = end;
    }
    let entries = planned.iter().zip(ranges).map(|(Planned { name, head: Head { dtype, shape, .. } }, (start, end))| {
        let dtype = DTYPES.iter().find(|(_, known)| known == dtype).map_or("", |(name, _)| *name);
        let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
        let (name, shape) = (serde_json::Value::from(name.as_str()), shape.join(","));
        format!("{name}:{{\"dtype\":\"{dtype}\",\"shape\":[{shape}],\"data_offsets\":[{start},{end}]}}")
    });
    let mut text = format!("{{{}}}", entries.collect::<Vec<String>>().join(",")).into_bytes();
    // The elements start at a multiple of 8, as the reference library has it.
    text.resize(text.len().next_multiple_of(8), b' ');
    if u64_of(text.len()) > MAX_HEADER {
        supply.refuse(format_args!("a header of {} bytes, a {FORMAT} file has at most {MAX_HEADER}", text.len()));
        return Ok(());
    }
    out.write_all(&u64_of(text.len()).to_le_bytes())?;
    out.write_all(&text)?;
    for (i, _) in order {
        let Some(tensor) = supply.take(i) else { return Ok(()) };
        tensor.write_le_to(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
