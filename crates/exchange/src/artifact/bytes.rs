//! Bounds-checked access to fields of a file by offset; and program headers.

/// `n` bytes at an offset.
pub(crate) fn take(bytes: &[u8], at: u64, n: u64) -> Option<&[u8]> {
    let size = u64::try_from(bytes.len()).ok()?;
    if n > size || at > size.checked_sub(n)? {
        return None;
    }
    bytes.get(usize::try_from(at).ok()?..usize::try_from(at.checked_add(n)?).ok()?)
}

pub(crate) fn u16_at(bytes: &[u8], at: u64) -> Option<u16> {
    take(bytes, at, 2)?.try_into().ok().map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: u64) -> Option<u32> {
    take(bytes, at, 4)?.try_into().ok().map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: u64) -> Option<u64> {
    take(bytes, at, 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// Overwrites the bytes at an offset.
pub(crate) fn put(bytes: &mut [u8], at: u64, new: &[u8]) -> Option<()> {
    let at = usize::try_from(at).ok()?;
    bytes.get_mut(at..at.checked_add(new.len())?)?.copy_from_slice(new);
    Some(())
}

/// A program header: a range of the file and its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) file_bytes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) align: u64,
}

impl Segment {
    pub(crate) fn at(bytes: &[u8], at: u64) -> Option<Segment> {
        let word = |field: u64| u64_at(bytes, at.checked_add(field)?);
        Some(Segment {
            kind: u32_at(bytes, at)?,
            flags: u32_at(bytes, at.checked_add(4)?)?,
            offset: word(8)?,
            address: word(16)?,
            file_bytes: word(32)?,
            memory_bytes: word(40)?,
            align: word(48)?,
        })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let words = [self.offset, self.address, self.address, self.file_bytes, self.memory_bytes, self.align];
        let head = [self.kind, self.flags].into_iter().flat_map(u32::to_le_bytes);
        head.chain(words.into_iter().flat_map(u64::to_le_bytes)).collect()
    }
}
