//! Lists the files of a tar archive with the ranges of their bytes.
//!
//! Nothing is ever written under a name, and a name that could lead elsewhere is refused. So are links, devices and sparse
//! files, a second file of one name, and bytes after the end. A library parses the headers; the sizes that it reports are
//! compared with the existing bytes.

use crate::bytes::{Bytes, whole};
use crate::file::TensorFile;
use crate::item::Item;
use crate::{Format, MAX_NAME, Named, errors, params, repeated};
use relayc_base::diag::Diagnostic;
use relayc_base::text::escape_control;
use relayc_base::usize_of;
use rustc_hash::FxHashSet;
use tar::EntryType;

/// The tensors of an archive are those of the `.params` files in it.
pub(crate) const FORMAT: Format = Format { extension: "tar", library: None, starts: is_tar, index, writer: None };

/// The limit of reliability 2, as for `.npz`.
const MAX_ENTRIES: usize = 65_536;

/// Headers and files begin at multiples of this.
const BLOCK: usize = 512;

/// A file of an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// The name without a leading `./`.
    pub name: &'a str,
    /// Offset of its bytes in the archive.
    pub(crate) at: usize,
    pub bytes: &'a [u8],
}

/// Whether the bytes start like an archive of POSIX or GNU.
pub fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// Names of the files with the ranges of their bytes, in order.
struct Found {
    name: String,
    at: usize,
    size: usize,
}

/// An archive with its list of files.
pub struct Archive<'a> {
    bytes: &'a [u8],
    found: Vec<Found>,
}

impl<'a> Archive<'a> {
    /// Reads an archive. Errors: E0703 for an unsound archive, with the byte; E0804 for limits.
    pub fn read(name: &str, bytes: &'a [u8]) -> Result<Archive<'a>, Diagnostic> {
        let mut archive = Archive { bytes, found: vec![] };
        let mut names = FxHashSet::default();
        // Where the next header should be.
        let mut end = 0usize;
        let mut reader = tar::Archive::new(bytes);
        let failed =
            |at: usize, error: std::io::Error| errors::malformed(name, at, format_args!("the archive is not sound: {error}"));
        let entries = reader.entries().map_err(|error| failed(0, error))?;
        for (n_entries, entry) in entries.enumerate() {
            let entry = entry.map_err(|error| failed(end, error))?;
            if n_entries == MAX_ENTRIES {
                return Err(errors::entry_limit(name, end, format_args!("more than {MAX_ENTRIES} entries, which is the limit")));
            }
            let header = end;
            let at = usize_of(entry.raw_file_position());
            let size = usize_of(entry.size());
            if at > bytes.len() || size > bytes.len().saturating_sub(at) {
                let left = bytes.len().saturating_sub(at);
                return Err(errors::malformed(name, header, format_args!("an entry of {size} bytes, {left} more are there")));
            }
            end = at.saturating_add(size).checked_next_multiple_of(BLOCK).unwrap_or(usize::MAX);
            let path = entry.path_bytes();
            let file = match entry.header().entry_type() {
                EntryType::Regular | EntryType::Continuous => true,
                EntryType::Directory | EntryType::XGlobalHeader => false,
                other => {
                    return Err(errors::malformed(name, header, format_args!("{}, which relayc does not follow", what(other))));
                }
            };
            if !file {
                continue;
            }
            let path = entry_name(name, header, &path)?;
            if !names.insert(path.clone()) {
                return Err(errors::duplicate(name, header, &relayc_base::text::escape_control(&path)));
            }
            archive.found.push(Found { name: path, at, size });
        }
        let rest = bytes.get(end..).unwrap_or(&[]);
        if rest.len() < BLOCK {
            return Err(errors::malformed(name, bytes.len(), "the archive is cut: it has no end"));
        }
        if let Some(strange) = rest.iter().position(|&byte| byte != 0) {
            return Err(errors::malformed(name, end.saturating_add(strange), "bytes after the end of the archive"));
        }
        Ok(archive)
    }

    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let of = |found: &Found| self.bytes.get(found.at..found.at.saturating_add(found.size)).unwrap_or(&[]);
        self.found.iter().map(move |found| Entry { name: &found.name, at: found.at, bytes: of(found) })
    }

    /// All of the archive.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of a file.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.entries().find(|entry| entry.name == name).map(|entry| entry.bytes)
    }
}

/// Describes an entry that is not a file.
fn what(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink | EntryType::Link => "a link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        EntryType::GNUSparse => "a sparse file",
        _ => "an entry of an unknown kind",
    }
}

fn entry_name(name: &str, at: usize, path: &[u8]) -> Result<String, Diagnostic> {
    let path = str::from_utf8(path).map_err(|_| errors::malformed(name, at, "a name that is not UTF-8"))?;
    if path.len() > MAX_NAME {
        return Err(errors::entry_limit(name, at, format_args!("a name of {} bytes, the limit is {MAX_NAME}", path.len())));
    }
    // As `tar -C folder .` writes it.
    let inside = path.trim_start_matches("./");
    if inside.split('/').any(|part| matches!(part, "" | "." | "..") || part.contains(['\0', '\\'])) {
        let shown = relayc_base::text::escape_control(path).into_owned();
        return Err(errors::malformed(name, at, format_args!("a name `{shown}`, which could lead out of the archive")));
    }
    Ok(inside.to_owned())
}

/// The list of tensors in the weight files of an archive. Errors: E0703, E0803 and E0804.
fn index(name: &str, bytes: &dyn Bytes) -> Result<Vec<Item>, Diagnostic> {
    items(name, &Archive::read(name, &whole(name, bytes)?)?)
}

fn items(name: &str, archive: &Archive) -> Result<Vec<Item>, Diagnostic> {
    let mut all: Vec<Item> = vec![];
    for entry in archive.entries().filter(|entry| entry.name.ends_with(".params")) {
        let mut items = params::index(&inside(name, entry.name), &entry.bytes)?;
        if items.len().saturating_add(all.len()) > params::MAX_ENTRIES {
            let words = format_args!("more than {} weights, which is the limit", params::MAX_ENTRIES);
            return Err(errors::entry_limit(name, entry.at, words));
        }
        items.iter_mut().for_each(|item| item.place.shift(entry.at));
        if all.is_empty() {
            all = items;
        } else {
            all.append(&mut items);
        }
    }
    match repeated(all.iter().map(|item| item.name.as_str())).and_then(|at| all.get(at)) {
        Some(twice) => Err(errors::unsound(name, format_args!("a second weight named `{}`", escape_control(&twice.name)))),
        None => Ok(all),
    }
}

/// The tensors of the weight files of an archive. Errors: E0703, E0803 and E0804.
pub fn weights(name: &str, archive: &Archive) -> Result<Named, Diagnostic> {
    TensorFile::new(name, archive.bytes(), FORMAT.extension, items(name, archive)?).read_all()
}

/// A file of an archive, for messages.
pub fn inside(archive: &str, file: &str) -> String {
    format!("{archive}:{file}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::diag::{Code, codes};
    use tar::{Builder, Header};

    fn header(kind: EntryType, size: usize) -> Header {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_size(size as u64);
        header.set_mode(0o644);
        header
    }

    fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(vec![]);
        for (name, bytes) in files {
            builder.append_data(&mut header(EntryType::Regular, bytes.len()), name, *bytes).expect("written");
        }
        builder.into_inner().expect("written")
    }

    /// An archive of one entry of any kind and name.
    fn one(kind: EntryType, name: &[u8], bytes: &[u8]) -> Vec<u8> {
        let mut header = header(kind, bytes.len());
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_cksum();
        let mut builder = Builder::new(vec![]);
        builder.append(&header, bytes).expect("written");
        builder.into_inner().expect("written")
    }

    fn refused(bytes: &[u8], code: Code, words: &str) {
        let error = Archive::read("x.tar", bytes).map(|_| ()).expect_err(words);
        assert_eq!(error.code, code, "{words}");
        assert!(error.message.contains(words), "{} should say {words}", error.message);
    }

    #[test]
    fn files_are_where_they_lie() {
        let long = format!("{}/x", "folder/".repeat(40).trim_end_matches('/'));
        let bytes = tar(&[("./metadata.json", b"{}"), ("src/relay.txt", b"def"), (&long, b"long"), ("empty", b"")]);
        assert!(is_tar(&bytes));
        let archive = Archive::read("x.tar", &bytes).expect("sound");
        let names: Vec<&str> = archive.entries().map(|entry| entry.name).collect();
        assert_eq!(names, ["metadata.json", "src/relay.txt", &long, "empty"]);
        assert_eq!(archive.get("src/relay.txt"), Some(&b"def"[..]));
        assert_eq!(archive.get(&long), Some(&b"long"[..]));
        assert_eq!(archive.get("src"), None);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["/etc/passwd", "../x", "a/../../x", "a//b", "a\\b"] {
            refused(&one(EntryType::Regular, name.as_bytes(), b""), codes::E0703, "lead out");
        }
        refused(&one(EntryType::Regular, b"a\xff", b""), codes::E0703, "UTF-8");
        refused(&tar(&[("a", b"1"), ("./a", b"2")]), codes::E0703, "second entry named `a`");
    }

    #[test]
    fn what_is_no_file_is_refused() {
        for (kind, words) in [
            (EntryType::Symlink, "a link"),
            (EntryType::Link, "a link"),
            (EntryType::Char, "a device"),
            (EntryType::Fifo, "a pipe"),
            (EntryType::new(b'Q'), "unknown kind"),
        ] {
            refused(&one(kind, b"x", b""), codes::E0703, words);
        }
        let folder = one(EntryType::Directory, b"folder/", b"");
        assert_eq!(Archive::read("x.tar", &folder).map(|archive| archive.entries().count()), Ok(0));
    }

    #[test]
    fn cut_and_padded_archives_are_refused() {
        let bytes = tar(&[("a", &[7; 1000]), ("b", b"x")]);
        for cut in [600, 1500, 1536, 2048, 2200, 2560] {
            let error = Archive::read("x.tar", &bytes[..cut]).map(|_| ()).expect_err("cut");
            assert_eq!(error.code, codes::E0703, "cut at {cut}");
        }
        assert!(Archive::read("x.tar", &bytes[..2560 + 512]).is_ok());
        let mut filled = bytes.clone();
        filled[2050] = 1;
        assert!(Archive::read("x.tar", &filled).is_ok(), "what fills the last block of a file is not read");
        let mut longer = bytes.clone();
        longer.resize(10_240, 0);
        assert!(Archive::read("x.tar", &longer).is_ok());
        longer.push(1);
        refused(&longer, codes::E0703, "after the end");
        let mut wrong = bytes;
        wrong[0] = b'z';
        refused(&wrong, codes::E0703, "not sound");
    }

    #[test]
    fn limits_are_told_from_mistakes() {
        let mut builder = Builder::new(vec![]);
        for number in 0..=MAX_ENTRIES {
            builder.append_data(&mut header(EntryType::Regular, 0), number.to_string(), &b""[..]).expect("written");
        }
        refused(&builder.into_inner().expect("written"), codes::E0804, "more than 65536 entries");
        let long = "folder/".repeat(586);
        assert!(Archive::read("x.tar", &tar(&[(&long[..4096], b"")])).is_ok());
        refused(&tar(&[(&long[..4097], b"")]), codes::E0804, "a name of 4097 bytes");
    }

    /// Headers that apply to all following files, such as `git archive` writes, are skipped.
    #[test]
    fn headers_for_all_files_are_passed_over() {
        let comment = b"19 comment=network\n";
        let mut builder = Builder::new(vec![]);
        let mut global = header(EntryType::XGlobalHeader, comment.len());
        builder.append_data(&mut global, "pax_global_header", &comment[..]).expect("written");
        builder.append_data(&mut header(EntryType::Regular, 1), "a", &b"1"[..]).expect("written");
        let bytes = builder.into_inner().expect("written");
        let archive = Archive::read("x.tar", &bytes).expect("sound");
        assert_eq!(archive.entries().map(|entry| (entry.name, entry.bytes)).collect::<Vec<_>>(), [("a", &b"1"[..])]);
    }

    #[test]
    fn sizes_are_held_against_the_file() {
        let mut header = header(EntryType::Regular, 0);
        header.set_path("x").expect("short");
        header.set_size(1 << 40);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.resize(4096, 0);
        refused(&bytes, codes::E0703, "more are there");
    }
}
