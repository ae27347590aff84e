//! Reads artifacts: headers, note, and integrity of the file.

use super::bytes::{Segment, take, u16_at, u32_at, u64_at};
use super::{CHECKSUM_WORD, NOTE, NOTE_WORDS, OWNER, OWNER_BYTES, PAGE, VERSION, elf};
use flate2::Crc;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::thousands;
use std::ops::Range;

/// Location of the image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Range in the file.
    pub image: Range<usize>,
    /// Range in the image: its last bytes.
    pub code: Range<usize>,
}

/// Whether bytes begin like an ELF file.
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// Locates the image of an artifact and verifies its checksum.
///
/// Errors: E0710 for another kind of file, E0711 for a truncated or extended one, E0712 for a damaged one, E0713 for another
/// version.
pub fn read(name: &str, file: &[u8]) -> Result<Found, Diagnostic> {
    located(name, file, true)
}

/// Locates the image of an artifact whose bytes are known to be as they were written. Errors: as [`read`].
pub fn locate(name: &str, file: &[u8]) -> Result<Found, Diagnostic> {
    located(name, file, false)
}

fn located(name: &str, file: &[u8], compare: bool) -> Result<Found, Diagnostic> {
    let foreign = |words: &str| {
        Diagnostic::new(codes::E0710, format!("`{name}`: {words}")).help("`relayc build net.relay -o net.so` writes artifacts")
    };
    let kind = (u16_at(file, elf::KIND), u16_at(file, elf::MACHINE));
    if !file.starts_with(elf::IDENT) || kind != (Some(elf::SHARED), Some(elf::X86_64)) {
        return Err(foreign("not a shared object for x86-64 Linux"));
    }
    let short = |words: String| Diagnostic::new(codes::E0711, format!("`{name}`: {words}")).help("copy the file anew");
    let lost = || short(format!("the file ends after {} bytes, before its headers", thousands(size(file))));
    let note = match find_note(file) {
        Some(Some(note)) => note,
        Some(None) => return Err(foreign("a shared object that relayc did not write")),
        None => return Err(lost()),
    };
    let word = |at: u64| u64_at(file, note.checked_add(at.checked_mul(8)?)?);
    let words = [0, 1, 2, 3, 4, CHECKSUM_WORD].map(word);
    let [Some(version), Some(image), Some(image_bytes), Some(code_bytes), Some(file_bytes), Some(sum)] = words else {
        return Err(lost());
    };
    if version != VERSION {
        let message = format!("`{name}`: an artifact of version {version}; this relayc runs version {VERSION}");
        return Err(Diagnostic::new(codes::E0713, message).help("build it anew with this relayc"));
    }
    if file_bytes != size(file) {
        let (expected, found) = (thousands(file_bytes), thousands(size(file)));
        return Err(short(format!("the file has {found} bytes, and had {expected} when it was written")));
    }
    let altered =
        |words: &str| Diagnostic::new(codes::E0712, format!("`{name}`: {words}")).help("copy the file anew, or build it again");
    if compare && checksum(file, note) != Some(sum) {
        return Err(altered("the file is not as it was written: its checksum differs"));
    }
    place(image, image_bytes, code_bytes, file_bytes).ok_or_else(|| altered("its note contradicts itself"))
}

fn size(file: &[u8]) -> u64 {
    u64::try_from(file.len()).unwrap_or(u64::MAX)
}

/// The offset of the words of relayc's note. `Some(None)` without one; `None` if the headers are outside the file.
fn find_note(file: &[u8]) -> Option<Option<u64>> {
    let (at, n) = (u64_at(file, elf::PHOFF)?, u64::from(u16_at(file, elf::PHNUM)?));
    if at < elf::HEADER || u64::from(u16_at(file, elf::PHENTSIZE)?) != elf::ENTRY {
        return Some(None);
    }
    take(file, at, n.checked_mul(elf::ENTRY)?)?;
    let mut found = None;
    for number in 0..n {
        let segment = Segment::at(file, at.checked_add(number.checked_mul(elf::ENTRY)?)?)?;
        if segment.kind == elf::NOTE
            && let Some(words) = own(file, &segment)
            && found.replace(words).is_some()
        {
            return Some(None);
        }
    }
    Some(found)
}

/// The words of a note, if it is relayc's.
fn own(file: &[u8], segment: &Segment) -> Option<u64> {
    let at = segment.offset;
    let bytes = NOTE_WORDS.checked_mul(8)?;
    let head = [u32_at(file, at)?, u32_at(file, at.checked_add(4)?)?, u32_at(file, at.checked_add(8)?)?];
    let named = take(file, at.checked_add(12)?, 8)? == OWNER;
    let ours = named && head == [OWNER_BYTES, u32::try_from(bytes).ok()?, NOTE];
    let words = at.checked_add(24)?;
    (ours && words.checked_add(bytes)? <= at.checked_add(segment.file_bytes)?).then_some(words)
}

/// The checksum of the file with zeros in place of the checksum.
fn checksum(file: &[u8], note: u64) -> Option<u64> {
    let at = note.checked_add(CHECKSUM_WORD.checked_mul(8)?)?;
    let behind = at.checked_add(8)?;
    let mut crc = Crc::new();
    crc.update(take(file, 0, at)?);
    crc.update(&[0; 8]);
    crc.update(take(file, behind, size(file).checked_sub(behind)?)?);
    Some(u64::from(crc.sum()))
}

/// The ranges of image and code, which must be in the file and begin at pages.
fn place(image: u64, image_bytes: u64, code_bytes: u64, file_bytes: u64) -> Option<Found> {
    let code = image_bytes.checked_sub(code_bytes)?;
    let inside = image_bytes <= file_bytes && image <= file_bytes.checked_sub(image_bytes)?;
    let paged = image.is_multiple_of(PAGE) && code.is_multiple_of(PAGE);
    if !inside || !paged {
        return None;
    }
    let number = |number: u64| usize::try_from(number).ok();
    let end = image.checked_add(image_bytes)?;
    Some(Found { image: number(image)?..number(end)?, code: number(code)?..number(image_bytes)? })
}
