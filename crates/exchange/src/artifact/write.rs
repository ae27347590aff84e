//! Writes artifacts: the template, a page of headers, the image.

use super::bytes::{Segment, put, u16_at, u64_at};
use super::{CHECKSUM_WORD, NOTE, NOTE_WORDS, OWNER, OWNER_BYTES, PAGE, VERSION, elf};
use flate2::Crc;

/// Makes a shared object of the template and an image, whose last `code_bytes` bytes are page-aligned code.
///
/// The distance from the marker to the image is written after the marker. Errors: a problem of the template, which is a mistake
/// of relayc.
pub fn write(template: &[u8], marker: &[u8], image: &[u8], code_bytes: u64) -> Result<Vec<u8>, String> {
    lay_out(template, marker, image, code_bytes).ok_or_else(|| "the template is not the shared object that it should be".into())
}

fn lay_out(template: &[u8], marker: &[u8], image: &[u8], code_bytes: u64) -> Option<Vec<u8>> {
    let segments = segments(template)?;
    let end = |segment: &Segment| segment.address.checked_add(segment.memory_bytes);
    let loads = || segments.iter().filter(|segment| segment.kind == elf::LOAD);
    let highest = loads().map(end).max()??;
    let offset = u64::try_from(template.len()).ok()?.checked_next_multiple_of(PAGE)?;
    let address = highest.checked_next_multiple_of(PAGE)?;
    let image_bytes = u64::try_from(image.len()).ok()?;
    let data_bytes = image_bytes.checked_sub(code_bytes)?;
    let [image_at, image_address] = [offset.checked_add(PAGE)?, address.checked_add(PAGE)?];
    let file_bytes = image_at.checked_add(image_bytes)?;

    let mut headers = segments.clone();
    // Who looks for the headers finds them by the file's first header.
    headers.iter_mut().filter(|segment| segment.kind == elf::PHDR).for_each(|segment| segment.kind = elf::NULL);
    let load = |flags: u32, begin: u64, bytes: u64| {
        let (offset, address) = (offset.checked_add(begin)?, address.checked_add(begin)?);
        Some(Segment { kind: elf::LOAD, flags, offset, address, file_bytes: bytes, memory_bytes: bytes, align: PAGE })
    };
    let data_end = PAGE.checked_add(data_bytes)?;
    headers.push(load(elf::READ, 0, data_end)?);
    headers.push(load(elf::READ | elf::EXECUTE, data_end, code_bytes)?);
    let n_headers = u16::try_from(headers.len()).ok()?.checked_add(1)?;
    let note_at = elf::ENTRY.checked_mul(u64::from(n_headers))?;
    let note = note([VERSION, image_at, image_bytes, code_bytes, file_bytes, 0]);
    let note_bytes = u64::try_from(note.len()).ok()?;
    headers.push(Segment { kind: elf::NOTE, align: 8, ..load(elf::READ, note_at, note_bytes)? });
    let page: Vec<u8> = headers.iter().flat_map(Segment::bytes).chain(note).collect();
    if u64::try_from(page.len()).ok()? > PAGE {
        return None;
    }

    let mut file = Vec::with_capacity(usize::try_from(file_bytes).ok()?);
    file.extend_from_slice(template);
    file.resize(usize::try_from(offset).ok()?, 0);
    file.extend(page);
    file.resize(usize::try_from(image_at).ok()?, 0);
    file.extend_from_slice(image);
    put(&mut file, elf::PHOFF, &offset.to_le_bytes())?;
    put(&mut file, elf::PHNUM, &n_headers.to_le_bytes())?;

    let slot = only(template, marker)?;
    let slot_address = loads().find_map(|load| {
        let within = slot.checked_sub(load.offset).filter(|&within| within < load.file_bytes)?;
        load.address.checked_add(within)
    })?;
    let distance = image_address.checked_sub(slot_address)?;
    put(&mut file, slot.checked_add(u64::try_from(marker.len()).ok()?)?, &distance.to_le_bytes())?;

    let mut crc = Crc::new();
    crc.update(&file);
    let sum_at = offset.checked_add(note_at)?.checked_add(note_bytes)?.checked_sub(8)?;
    put(&mut file, sum_at, &u64::from(crc.sum()).to_le_bytes())?;
    Some(file)
}

/// The program headers of a file.
fn segments(file: &[u8]) -> Option<Vec<Segment>> {
    let (at, n) = (u64_at(file, elf::PHOFF)?, u64::from(u16_at(file, elf::PHNUM)?));
    (0..n).map(|number| Segment::at(file, at.checked_add(number.checked_mul(elf::ENTRY)?)?)).collect()
}

/// A note: three 32-bit words, its owner, its 64-bit words, the last one the checksum.
fn note(words: [u64; 6]) -> Vec<u8> {
    const _: () = assert!(NOTE_WORDS == 6 && CHECKSUM_WORD == 5);
    let head = [OWNER_BYTES, 48, NOTE].into_iter().flat_map(u32::to_le_bytes);
    // The words begin at a multiple of 8: 12 bytes of head, 8 of owner, and as many zeros as that takes.
    let owner = OWNER.iter().copied().chain([0; 4]);
    head.chain(owner).chain(words.into_iter().flat_map(u64::to_le_bytes)).collect()
}

/// The offset of a byte string that occurs exactly once.
fn only(bytes: &[u8], what: &[u8]) -> Option<u64> {
    let mut places = bytes.windows(what.len().max(1)).enumerate().filter(|(_, window)| *window == what).map(|(at, _)| at);
    let place = places.next()?;
    places.next().is_none().then(|| u64::try_from(place).ok())?
}
