//! An artifact as an object to be linked: the runtime's object, with the image as an additional section.

use super::bytes::{put, take, u16_at, u32_at, u64_at};
use super::{PAGE, elf};

/// Fields of the file header that state the offset and the number of section headers.
const SHOFF: u64 = 40;
const SHENTSIZE: u64 = 58;
const SHNUM: u64 = 60;
const SHSTRNDX: u64 = 62;
/// Bytes of a section header, and its fields.
const SECTION: u64 = 64;
const KIND: u64 = 4;
const OFFSET: u64 = 24;
const BYTES: u64 = 32;
const LINK: u64 = 40;
/// Types of sections: program bytes, symbols.
const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
/// Flags: in memory, and code.
const ALLOC_EXECINSTR: u64 = 2 | 4;
/// Bytes of a symbol, and its fields.
const ENTRY: u64 = 24;
const INFO: u64 = 4;
const VALUE: u64 = 8;
/// Data that is visible to other objects.
const GLOBAL_OBJECT: u8 = 0x11;

/// Adds the image to an object as a section of its own, and defines `symbol` there.
///
/// Code and weights are in one section, which is executable. Errors: a problem of the object, which is a mistake of relayc.
pub fn object(object: &[u8], symbol: &[u8], image: &[u8]) -> Result<Vec<u8>, String> {
    lay_out(object, symbol, image).ok_or_else(|| "the runtime is not the object that it should be".into())
}

fn lay_out(object: &[u8], symbol: &[u8], image: &[u8]) -> Option<Vec<u8>> {
    let (sections, count) = (u64_at(object, SHOFF)?, u16_at(object, SHNUM)?);
    if u64::from(u16_at(object, SHENTSIZE)?) != SECTION || u16_at(object, elf::MACHINE)? != elf::X86_64 {
        return None;
    }
    let headers = take(object, sections, SECTION.checked_mul(u64::from(count))?)?;
    let header = |number: u64| SECTION.checked_mul(number).and_then(|at| take(headers, at, SECTION));
    let symbols = (0..u64::from(count)).filter_map(header).find(|header| u32_at(header, KIND) == Some(SYMTAB))?;
    let names = header(u64::from(u32_at(symbols, LINK)?))?;
    let at = find(object, symbols, names, symbol)?;
    // Names of sections and of symbols lie together, so the section can be called as the symbol is.
    let together = u32_at(symbols, LINK)? == u32::from(u16_at(object, SHSTRNDX)?);
    let name = if together { u32_at(object, at)? } else { 0 };

    let mut file = object.to_vec();
    let page = usize::try_from(PAGE).ok()?;
    file.resize(file.len().checked_next_multiple_of(page)?, 0);
    let place = u64::try_from(file.len()).ok()?;
    file.extend_from_slice(image);
    file.resize(file.len().checked_next_multiple_of(8)?, 0);
    let new_sections = u64::try_from(file.len()).ok()?;
    file.extend_from_slice(headers);
    file.extend([name, PROGBITS].into_iter().flat_map(u32::to_le_bytes));
    let bytes = u64::try_from(image.len()).ok()?;
    // Flags, address, place, size, links to other sections, alignment, size of entries.
    file.extend([ALLOC_EXECINSTR, 0, place, bytes, 0, PAGE, 0].into_iter().flat_map(u64::to_le_bytes));
    put(&mut file, SHOFF, &new_sections.to_le_bytes())?;
    put(&mut file, SHNUM, &count.checked_add(1)?.to_le_bytes())?;
    // What the symbol is, in which section, where there, and how large.
    let [low, high] = count.to_le_bytes();
    put(&mut file, at.checked_add(INFO)?, &[GLOBAL_OBJECT, 0, low, high])?;
    put(&mut file, at.checked_add(VALUE)?, &[0u64, bytes].map(u64::to_le_bytes).concat())?;
    Some(file)
}

/// The offset of a symbol by name.
fn find(object: &[u8], symbols: &[u8], names: &[u8], symbol: &[u8]) -> Option<u64> {
    let (first, bytes, names) = (u64_at(symbols, OFFSET)?, u64_at(symbols, BYTES)?, u64_at(names, OFFSET)?);
    let places = (0..bytes / ENTRY).map_while(|number| first.checked_add(number.checked_mul(ENTRY)?));
    let is_it = |at: &u64| {
        let name = u32_at(object, *at).and_then(|name| names.checked_add(u64::from(name)));
        let length = u64::try_from(symbol.len()).ok().and_then(|length| length.checked_add(1));
        let found = name.zip(length).and_then(|(name, length)| take(object, name, length));
        found.and_then(|found| found.strip_prefix(symbol)) == Some(&[0])
    };
    places.filter(is_it).last()
}
