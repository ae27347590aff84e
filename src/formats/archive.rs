//! The directory of a zip archive, as far as `.npz` files need one (PKWARE's APPNOTE 4.3): stored and deflated entries, zip64,
//! one disk, no encryption.
//!
//! Read here and not by the zip library, which keeps the last of several entries of one name without a word, allocates by the
//! claimed number of entries, and tries every place that could be a directory's end. Here the end is the end of the file, the
//! names differ, and no two entries share a byte.

use super::errors;
use super::reader::Reader;
use crate::diag::Diagnostic;

/// Limits of reliability 2.
const MAX_ENTRIES: u64 = 65_536;
const MAX_NAME: usize = 4096;
const MAX_RATIO: u64 = 1100;

const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;

/// Bytes of the end record without its comment, and of the zip64 locator before it.
const END_BYTES: usize = 22;
const LOCATOR_BYTES: u64 = 20;

/// One entry of an archive.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub name: &'a str,
    /// Where its local header starts.
    pub offset: usize,
    pub deflated: bool,
    /// The bytes as stored.
    pub data: &'a [u8],
    /// The bytes it declares to unpack to, at most 1,100 times as many as are stored.
    pub size: u64,
    pub crc: u32,
    /// Where its bytes end.
    end: usize,
}

/// What the records at the end of the file say about the directory.
struct End {
    count: u64,
    start: u64,
    /// Where the end records begin, which nothing else may reach into.
    limit: u64,
}

/// The entries in the order of the directory, which have different names and share no byte.
pub(super) fn entries<'a>(name: &'a str, bytes: &'a [u8]) -> Result<Vec<Entry<'a>>, Diagnostic> {
    let file = Reader::new(name, bytes);
    let end = find_end(file, bytes)?;
    let mut directory = file.at(end.start)?;
    let mut entries = Vec::new();
    let mut names = rustc_hash::FxHashSet::default();
    for _ in 0..end.count {
        let at = directory.offset();
        let entry = central_entry(&mut directory, file)?;
        if !names.insert(entry.name) {
            return Err(errors::duplicate(name, at, entry.name));
        }
        entries.push(entry);
    }
    if u64::try_from(directory.offset()).ok() != Some(end.limit) {
        return Err(directory.error("the directory does not end where the records after it begin"));
    }
    check_overlap(file, &entries, end.start)?;
    Ok(entries)
}

/// The end record: the last bytes of the file, but for a comment whose length it states.
fn find_end(file: Reader, bytes: &[u8]) -> Result<End, Diagnostic> {
    let last = bytes.len().saturating_sub(END_BYTES);
    let first = last.saturating_sub(usize::from(u16::MAX));
    let is_end = |&at: &usize| {
        let record = bytes.get(at..).unwrap_or(&[]);
        let comment = record.get(20..END_BYTES).and_then(|field| <[u8; 2]>::try_from(field).ok()).map(u16::from_le_bytes);
        record.starts_with(&END.to_le_bytes())
            && comment.is_some_and(|comment| record.len() == END_BYTES.saturating_add(usize::from(comment)))
    };
    let at = (first..=last).rev().find(is_end);
    let at = at.ok_or_else(|| errors::malformed(file.name, bytes.len(), "the file does not end as a zip archive does"))?;
    let start = file.at(u64::try_from(at).unwrap_or(u64::MAX))?;
    let mut record = start;
    record.u32("the end record")?;
    let disks = (record.u16("a disk number")?, record.u16("a disk number")?);
    let counts = (record.u16("the number of entries")?, record.u16("the number of entries")?);
    let size = record.u32("the size of the directory")?;
    let offset = record.u32("the offset of the directory")?;
    let limit = u64::try_from(at).unwrap_or(u64::MAX);
    if counts.1 == u16::MAX || size == u32::MAX || offset == u32::MAX {
        return find_end_64(file, limit);
    }
    if disks != (0, 0) || counts.0 != counts.1 {
        return Err(start.error("an archive of several disks"));
    }
    check_end(start, End { count: u64::from(counts.1), start: u64::from(offset), limit }, u64::from(size))
}

/// The zip64 end record, which a locator right before the end record points at.
fn find_end_64(file: Reader, end: u64) -> Result<End, Diagnostic> {
    let at = end.checked_sub(LOCATOR_BYTES).ok_or_else(|| file.error("no zip64 locator before the end record"))?;
    let start = file.at(at)?;
    let mut locator = start;
    if locator.u32("the zip64 locator")? != LOCATOR_64 {
        return Err(start.error("no zip64 locator before the end record"));
    }
    locator.u32("a disk number")?;
    let limit = locator.u64("the offset of the zip64 end record")?;
    let start = file.at(limit)?;
    let mut record = start;
    if record.u32("the zip64 end record")? != END_64 {
        return Err(start.error("no zip64 end record where the locator points"));
    }
    record.take(12, "the zip64 end record")?;
    let disks = (record.u32("a disk number")?, record.u32("a disk number")?);
    let counts = (record.u64("the number of entries")?, record.u64("the number of entries")?);
    let size = record.u64("the size of the directory")?;
    let offset = record.u64("the offset of the directory")?;
    if disks != (0, 0) || counts.0 != counts.1 {
        return Err(start.error("an archive of several disks"));
    }
    check_end(start, End { count: counts.1, start: offset, limit }, size)
}

fn check_end(record: Reader, end: End, size: u64) -> Result<End, Diagnostic> {
    if end.count > MAX_ENTRIES {
        let words = format!("{} entries, the limit is {MAX_ENTRIES}", end.count);
        return Err(errors::entry_limit(record.name, record.offset(), words));
    }
    if end.start.checked_add(size) != Some(end.limit) {
        return Err(record.error("the directory does not end where the records after it begin"));
    }
    Ok(end)
}

/// Reads one entry of the directory and follows it to its bytes.
fn central_entry<'a>(directory: &mut Reader<'a>, file: Reader<'a>) -> Result<Entry<'a>, Diagnostic> {
    let start = *directory;
    if directory.u32("an entry of the directory")? != CENTRAL {
        return Err(start.error("no entry of the directory where one must be"));
    }
    directory.u32("two versions")?;
    let flags = directory.u16("the flags")?;
    let method = directory.u16("the method")?;
    directory.u32("time and date")?;
    let crc = directory.u32("the checksum")?;
    let stored = directory.u32("the stored size")?;
    let size = directory.u32("the size")?;
    let name_length = directory.u16("the length of the name")?;
    let extra_length = directory.u16("the length of the extra field")?;
    let comment_length = directory.u16("the length of the comment")?;
    directory.take(8, "attributes")?;
    let offset = directory.u32("the offset")?;
    let name = directory.take(u64::from(name_length), "the name of an entry")?;
    let name = str::from_utf8(name).map_err(|_| start.error("a name that is not UTF-8"))?;
    let extra = directory.take(u64::from(extra_length), "the extra field")?;
    directory.take(u64::from(comment_length), "the comment of an entry")?;
    let [size, stored, offset] = wide(Reader::new(start.name, extra), [size, stored, offset])?;

    let about = |words: &str| start.error(format_args!("entry `{name}`: {words}"));
    if name.len() > MAX_NAME {
        let words = format!("a name of {} bytes, the limit is {MAX_NAME}", name.len());
        return Err(errors::entry_limit(start.name, start.offset(), words));
    }
    if flags & 1 != 0 {
        return Err(about("encrypted, which relayc cannot read"));
    }
    if method != 0 && method != 8 {
        return Err(about(&format!("packed by method {method}, relayc reads stored (0) and deflated (8)")));
    }
    if method == 0 && stored != size {
        return Err(about(&format!("stored as {stored} bytes, but of size {size}")));
    }
    if size > stored.saturating_mul(MAX_RATIO) {
        let words = format!("entry `{name}`: {size} bytes packed in {stored}, the limit is {MAX_RATIO}:1");
        return Err(errors::entry_limit(start.name, start.offset(), words));
    }
    let mut local = file.at(offset)?;
    let offset = local.offset();
    let data = local_data(&mut local, name, stored)?;
    Ok(Entry { name, offset, deflated: method == 8, data, size, crc, end: local.offset() })
}

/// The sizes and the offset, each in the zip64 extra field where its 32 bits are all ones.
fn wide(mut extra: Reader, narrow: [u32; 3]) -> Result<[u64; 3], Diagnostic> {
    let mut wide = narrow.map(u64::from);
    if narrow.iter().all(|&field| field != u32::MAX) {
        return Ok(wide);
    }
    while extra.remaining() >= 4 {
        let id = extra.u16("an extra field")?;
        let length = extra.u16("an extra field")?;
        let field = extra.take(u64::from(length), "an extra field")?;
        if id == 1 {
            let mut field = Reader::new(extra.name, field);
            for (to, from) in wide.iter_mut().zip(narrow) {
                if from == u32::MAX {
                    *to = field.u64("a zip64 size")?;
                }
            }
            return Ok(wide);
        }
    }
    Err(extra.error("no zip64 field for a size of 2^32 - 1"))
}

/// The bytes behind a local header, whose name must be the directory's.
fn local_data<'a>(local: &mut Reader<'a>, name: &str, stored: u64) -> Result<&'a [u8], Diagnostic> {
    let start = *local;
    if local.u32("the header of an entry")? != LOCAL {
        return Err(start.error(format_args!("entry `{name}` does not start where the directory says")));
    }
    local.take(22, "the header of an entry")?;
    let name_length = local.u16("the length of the name")?;
    let extra_length = local.u16("the length of the extra field")?;
    if local.take(u64::from(name_length), "the name of an entry")? != name.as_bytes() {
        return Err(start.error(format_args!("entry `{name}` has another name in the directory")));
    }
    local.take(u64::from(extra_length), "the extra field")?;
    local.take(stored, "the bytes of an entry")
}

/// No two entries, and no entry and the directory, may share a byte: small archives that unpack to huge ones do.
fn check_overlap(file: Reader, entries: &[Entry], directory: u64) -> Result<(), Diagnostic> {
    let mut ranges: Vec<(usize, usize)> = entries.iter().map(|entry| (entry.offset, entry.end)).collect();
    ranges.sort_unstable();
    ranges.push((usize::try_from(directory).unwrap_or(usize::MAX), usize::MAX));
    match ranges.windows(2).find_map(|pair| match pair {
        [(_, end), (start, _)] if end > start => Some(*start),
        _ => None,
    }) {
        Some(at) => Err(errors::malformed(file.name, at, "entries that share bytes")),
        None => Ok(()),
    }
}
