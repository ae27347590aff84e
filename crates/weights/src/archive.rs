//! Reads the directory of a zip archive, as far as `.npz` files need one (PKWARE's APPNOTE 4.3): stored and deflated entries,
//! zip64, one disk, no encryption.
//!
//! No zip library is used. The usual one silently keeps the last of several entries of one name. It also allocates by the
//! claimed number of entries, and tries every possible end of the directory. Here the directory ends at the end of the file,
//! the names differ, and no two entries share a byte.

use super::bytes::{Bytes, Section, checked, fields, read_at};
use super::reader::Reader;
use super::{MAX_NAME, errors};
use relayc_base::diag::Diagnostic;
use relayc_base::{u64_of, usize_of};
use relayc_ir::tensor::binary::Source;

/// The limit of reliability 2.
pub(super) const MAX_ENTRIES: usize = 65_536;
const MAX_RATIO: u64 = 1100;

pub(super) const END: u32 = 0x0605_4b50;
pub(super) const END_64: u32 = 0x0606_4b50;
pub(super) const LOCATOR_64: u32 = 0x0706_4b50;
pub(super) const CENTRAL: u32 = 0x0201_4b50;
pub(super) const LOCAL: u32 = 0x0403_4b50;

/// Fixed sizes of records: the end record, the zip64 locator before it, the zip64 end record, a directory entry, an entry's
/// header.
const END_BYTES: usize = 22;
const LOCATOR_BYTES: u64 = 20;
const END_64_BYTES: u64 = 56;
const CENTRAL_BYTES: u64 = 46;
const LOCAL_BYTES: u64 = 30;

/// Piece size for reading the directory.
const PIECE: usize = 8 << 10;

/// One entry of an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(crate) name: String,
    /// Start of its local header.
    pub(crate) offset: usize,
    pub(crate) deflated: bool,
    /// Start and end of the stored bytes.
    start: u64,
    end: u64,
    /// Declared unpacked size, at most 1,100 times the stored size.
    pub(crate) size: u64,
    pub(crate) crc: u32,
}

impl Entry {
    /// The stored bytes.
    pub(crate) fn stored<'a>(&self, bytes: &'a dyn Bytes) -> Section<'a> {
        Section::new(bytes, self.start, self.end)
    }
}

/// The directory's location, as the records at the end of the file state it.
struct End {
    count: u64,
    start: u64,
    /// Start of the end records; nothing else may extend into them.
    limit: u64,
}

/// An archive.
#[derive(Clone, Copy)]
struct Archive<'a> {
    name: &'a str,
    bytes: &'a dyn Bytes,
}

/// The entries in directory order; their names differ, and they share no byte.
pub(super) fn entries(name: &str, bytes: &dyn Bytes) -> Result<Vec<Entry>, Diagnostic> {
    let archive = Archive { name, bytes };
    let end = archive.find_end()?;
    let mut directory = fields(bytes, end.start, PIECE);
    let read = archive.directory(&mut directory, &end);
    let entries = checked(bytes, &directory, read)?;
    check_overlap(name, &entries, end.start)?;
    Ok(entries)
}

impl<'a> Archive<'a> {
    /// Reads `n` bytes from `at` on, called `what` in messages; `n` is small.
    fn chunk(self, at: u64, n: u64, what: &str) -> Result<Vec<u8>, Diagnostic> {
        let size = self.bytes.size();
        if at > size {
            let words = format_args!("an offset of {at} leads outside of the file");
            return Err(errors::malformed(self.name, usize_of(size), words));
        }
        let left = size.saturating_sub(at);
        if n > left {
            let words = format_args!("{what} takes {n} bytes, {left} more are there");
            return Err(errors::malformed(self.name, usize_of(at), words));
        }
        let mut chunk = vec![0; usize_of(n)];
        read_at(self.name, self.bytes, at, &mut chunk)?;
        Ok(chunk)
    }

    /// A reader of fields in bytes that start at `at`.
    fn reader<'b>(&self, bytes: &'b [u8], at: u64) -> Reader<'b>
    where
        'a: 'b,
    {
        Reader::new(self.name, bytes, usize_of(at))
    }

    fn malformed(&self, at: u64, words: impl std::fmt::Display) -> Diagnostic {
        errors::malformed(self.name, usize_of(at), words)
    }

    /// Finds the end record: the last bytes of the file, except for a comment whose length it states.
    fn find_end(self) -> Result<End, Diagnostic> {
        let size = self.bytes.size();
        let longest = u64_of(END_BYTES.saturating_add(usize::from(u16::MAX)));
        let tail_start = size.saturating_sub(longest);
        let tail = self.chunk(tail_start, size.saturating_sub(tail_start), "the end of the file")?;
        let is_end = |&at: &usize| {
            let record = tail.get(at..).unwrap_or(&[]);
            let comment = record.get(20..END_BYTES).and_then(|field| <[u8; 2]>::try_from(field).ok()).map(u16::from_le_bytes);
            record.starts_with(&END.to_le_bytes())
                && comment.is_some_and(|comment| record.len() == END_BYTES.saturating_add(usize::from(comment)))
        };
        let at = (0..=tail.len().saturating_sub(END_BYTES)).rev().find(is_end);
        let at = at.ok_or_else(|| self.malformed(size, "the file does not end as a zip archive does"))?;
        let limit = tail_start.saturating_add(u64_of(at));
        let mut record = self.reader(tail.get(at..).unwrap_or(&[]), limit);
        record.u32("the end record")?;
        let disks = (record.u16("a disk number")?, record.u16("a disk number")?);
        let counts = (record.u16("the number of entries")?, record.u16("the number of entries")?);
        let directory = record.u32("the size of the directory")?;
        let offset = record.u32("the offset of the directory")?;
        let end = End { count: u64::from(counts.1), start: u64::from(offset), limit };
        // Python's writer adds the wide records from 2 GiB on, where the narrow fields still hold what they hold.
        let reaches_here = end.start.checked_add(u64::from(directory)) == Some(limit);
        if counts.1 == u16::MAX || directory == u32::MAX || offset == u32::MAX || (!reaches_here && self.has_locator(limit)) {
            return self.find_end_64(limit);
        }
        if disks != (0, 0) || counts.0 != counts.1 {
            return Err(self.malformed(limit, "an archive of several disks"));
        }
        self.check_end(end, u64::from(directory), limit)
    }

    /// Whether a zip64 locator directly precedes the end record.
    fn has_locator(self, end: u64) -> bool {
        let mut magic = [0; 4];
        let at = end.checked_sub(LOCATOR_BYTES);
        at.is_some_and(|at| self.bytes.read_at(at, &mut magic).is_ok()) && magic == LOCATOR_64.to_le_bytes()
    }

    /// Reads the zip64 end record, to which a locator directly before the end record points.
    fn find_end_64(self, end: u64) -> Result<End, Diagnostic> {
        let missing = |at: u64| self.malformed(at, "no zip64 locator before the end record");
        let at = end.checked_sub(LOCATOR_BYTES).ok_or_else(|| missing(0))?;
        let locator = self.chunk(at, LOCATOR_BYTES, "the zip64 locator")?;
        let mut locator = self.reader(&locator, at);
        if locator.u32("the zip64 locator")? != LOCATOR_64 {
            return Err(missing(at));
        }
        locator.u32("a disk number")?;
        let limit = locator.u64("the offset of the zip64 end record")?;
        let record = self.chunk(limit, END_64_BYTES, "the zip64 end record")?;
        let mut record = self.reader(&record, limit);
        if record.u32("the zip64 end record")? != END_64 {
            return Err(self.malformed(limit, "no zip64 end record where the locator points"));
        }
        record.take(12, "the zip64 end record")?;
        let disks = (record.u32("a disk number")?, record.u32("a disk number")?);
        let counts = (record.u64("the number of entries")?, record.u64("the number of entries")?);
        let directory = record.u64("the size of the directory")?;
        let offset = record.u64("the offset of the directory")?;
        if disks != (0, 0) || counts.0 != counts.1 {
            return Err(self.malformed(limit, "an archive of several disks"));
        }
        self.check_end(End { count: counts.1, start: offset, limit }, directory, limit)
    }

    fn check_end(self, end: End, size: u64, at: u64) -> Result<End, Diagnostic> {
        if end.count > u64_of(MAX_ENTRIES) {
            let words = format!("{} entries, the limit is {MAX_ENTRIES}", end.count);
            return Err(errors::entry_limit(self.name, usize_of(at), words));
        }
        if end.start.checked_add(size) != Some(end.limit) {
            return Err(self.malformed(at, "the directory does not end where the records after it begin"));
        }
        Ok(end)
    }

    fn directory(self, directory: &mut impl Source, end: &End) -> Result<Vec<Entry>, Diagnostic> {
        let mut entries = Vec::new();
        let mut names = rustc_hash::FxHashSet::default();
        for _ in 0..end.count {
            let at = directory.offset();
            let entry = self.entry(directory)?;
            if !names.insert(entry.name.clone()) {
                return Err(errors::duplicate(self.name, at, &entry.name));
            }
            entries.push(entry);
        }
        if u64_of(directory.offset()) != end.limit {
            return Err(errors::malformed(
                self.name,
                directory.offset(),
                "the directory does not end where the records after it begin",
            ));
        }
        Ok(entries)
    }

    /// Reads the next `n` bytes of the directory, called `what` in messages.
    fn next(self, directory: &mut impl Source, n: u64, what: &str) -> Result<Vec<u8>, Diagnostic> {
        let named = |error| errors::binary(self.name, &error);
        directory.expect(n, what).map_err(named)?;
        let mut out = vec![0; usize_of(n)];
        directory.fill(&mut out, what).map_err(named)?;
        Ok(out)
    }

    /// Reads one entry of the directory and locates its bytes.
    fn entry(self, directory: &mut impl Source) -> Result<Entry, Diagnostic> {
        let at = directory.offset();
        let fixed = self.next(directory, CENTRAL_BYTES, "an entry of the directory")?;
        let mut fixed = Reader::new(self.name, &fixed, at);
        let malformed = |words: &str| errors::malformed(self.name, at, words);
        if fixed.u32("an entry of the directory")? != CENTRAL {
            return Err(malformed("no entry of the directory where one must be"));
        }
        fixed.u32("two versions")?;
        let flags = fixed.u16("the flags")?;
        let method = fixed.u16("the method")?;
        fixed.u32("time and date")?;
        let crc = fixed.u32("the checksum")?;
        let stored = fixed.u32("the stored size")?;
        let size = fixed.u32("the size")?;
        let name_length = fixed.u16("the length of the name")?;
        let extra_length = fixed.u16("the length of the extra field")?;
        let comment_length = fixed.u16("the length of the comment")?;
        fixed.take(8, "attributes")?;
        let offset = fixed.u32("the offset")?;
        let name = self.next(directory, u64::from(name_length), "the name of an entry")?;
        let name = String::from_utf8(name).map_err(|_| malformed("a name that is not UTF-8"))?;
        let extra_at = directory.offset();
        let extra = self.next(directory, u64::from(extra_length), "the extra field")?;
        self.next(directory, u64::from(comment_length), "the comment of an entry")?;
        let [size, stored, offset] = wide(Reader::new(self.name, &extra, extra_at), [size, stored, offset])?;

        let about = |words: &str| errors::malformed(self.name, at, format_args!("entry `{name}`: {words}"));
        if name.len() > MAX_NAME {
            let words = format!("a name of {} bytes, the limit is {MAX_NAME}", name.len());
            return Err(errors::entry_limit(self.name, at, words));
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
            return Err(errors::entry_limit(self.name, at, words));
        }
        let (start, end) = self.local_data(offset, &name, stored)?;
        Ok(Entry { name, offset: usize_of(offset), deflated: method == 8, start, end, size, crc })
    }

    /// Start and end of the bytes after a local header, whose name must be the directory's.
    fn local_data(self, at: u64, name: &str, stored: u64) -> Result<(u64, u64), Diagnostic> {
        let local = self.chunk(at, LOCAL_BYTES, "the header of an entry")?;
        let mut local = self.reader(&local, at);
        if local.u32("the header of an entry")? != LOCAL {
            return Err(self.malformed(at, format_args!("entry `{name}` does not start where the directory says")));
        }
        local.take(22, "the header of an entry")?;
        let name_length = u64::from(local.u16("the length of the name")?);
        let extra_length = u64::from(local.u16("the length of the extra field")?);
        let name_at = at.saturating_add(LOCAL_BYTES);
        if self.chunk(name_at, name_length, "the name of an entry")? != name.as_bytes() {
            return Err(self.malformed(at, format_args!("entry `{name}` has another name in the directory")));
        }
        let start = name_at.saturating_add(name_length).saturating_add(extra_length);
        let left = self.bytes.size().checked_sub(start);
        if left.is_none_or(|left| stored > left) {
            let words = format_args!("the bytes of entry `{name}` do not end in the file");
            return Err(self.malformed(at, words));
        }
        Ok((start, start.saturating_add(stored)))
    }
}

/// The sizes and the offset, each from the zip64 extra field if its 32 bits are all ones.
fn wide(mut extra: Reader, narrow: [u32; 3]) -> Result<[u64; 3], Diagnostic> {
    let mut wide = narrow.map(u64::from);
    if narrow.iter().all(|&field| field != u32::MAX) {
        return Ok(wide);
    }
    while extra.remaining() >= 4 {
        let id = extra.u16("an extra field")?;
        let length = extra.u16("an extra field")?;
        let mut field = extra.part(u64::from(length), "an extra field")?;
        if id == 1 {
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

/// Checks that no two entries, and no entry and the directory, share a byte: small archives that unpack to huge ones do.
fn check_overlap(name: &str, entries: &[Entry], directory: u64) -> Result<(), Diagnostic> {
    let mut ranges: Vec<(u64, u64)> = entries.iter().map(|entry| (u64_of(entry.offset), entry.end)).collect();
    ranges.sort_unstable();
    ranges.push((directory, u64::MAX));
    match ranges.windows(2).find_map(|pair| match pair {
        [(_, end), (start, _)] if end > start => Some(*start),
        _ => None,
    }) {
        Some(at) => Err(errors::malformed(name, usize_of(at), "entries that share bytes")),
        None => Ok(()),
    }
}
