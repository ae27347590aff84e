//! Runs attention by blocks of rows: `relayc_codegen::contraction::attention` emits the code, and writes the words.

use super::product::Direct;
use super::split::Piece;
use super::words::Words;

/// The first arguments of the code: the block of scores, the packed keys, the packed values. Those of the streams follow.
pub const BLOCK: usize = 0;
pub const KEYS: usize = 1;
pub const VALUES: usize = 2;

/// Maximum number of arguments of the code.
pub const MAX_STREAMS: usize = 24;

/// The code of a loop nest: arguments, first item, end.
type Nest = unsafe extern "sysv64" fn(*const *mut u8, usize, usize);

/// An attention with its code.
#[derive(Clone, Copy)]
pub struct Attention<'a> {
    n_parts: usize,
    /// For each stream an argument, the bytes to its first element, the bytes from row to row, and those to each part.
    streams: &'a [i64],
    /// Bytes in the scratch memory before the packed keys, and before the packed values.
    places: [usize; 2],
    /// Entry and number of items of the nests that pack keys and values.
    packers: &'a [i64],
    /// For each number of rows: where the words of the scores' contraction are, entry and items of the nest on the rows, and where
    /// those of the values' contraction are.
    heights: &'a [i64],
    /// For each block the index of its number of rows, and its first row.
    blocks: &'a [i64],
    image: Words<'a>,
}

/// Words before the parts of a stream, and words of a number of rows.
const STREAM: usize = 3;
const HEIGHT: usize = 4;

impl<'a> Attention<'a> {
    /// Reads it; offsets in the words are relative to `image`.
    pub(crate) fn read(words: &mut Words<'a>, image: Words<'a>) -> Attention<'a> {
        Attention {
            n_parts: words.number(),
            streams: words.list(),
            places: [words.number(), words.number()],
            packers: words.list(),
            heights: words.list(),
            blocks: words.list(),
            image,
        }
    }

    /// Computes a piece: some blocks of a part.
    ///
    /// # Safety
    /// Like [`super::contraction::Sum::run`].
    pub(crate) unsafe fn run(&self, code: *const u8, args: &[*mut u8], scratch: *mut u8, piece: &Piece) {
        let mut own = [core::ptr::null_mut(); MAX_STREAMS];
        own[BLOCK] = scratch;
        own[KEYS] = scratch.wrapping_add(self.places[0]);
        own[VALUES] = scratch.wrapping_add(self.places[1]);
        self.place(args, piece.part as usize, 0, &mut own);
        for packer in self.packers.chunks_exact(2) {
            // SAFETY: the code packs what the streams of this part name into scratch memory; the caller vouches for both.
            unsafe { run_nest(code, packer, &own) };
        }
        for block in self.blocks[2 * piece.bands[0]..2 * piece.bands[1]].chunks_exact(2) {
            self.place(args, piece.part as usize, block[1], &mut own);
            let height = &self.heights[HEIGHT * block[0] as usize..][..HEIGHT];
            // SAFETY: the code of this number of rows; the caller vouches for the buffers.
            unsafe {
                self.multiply(code, height[0], &own, own[KEYS]);
                run_nest(code, &height[1..3], &own);
                self.multiply(code, height[3], &own, own[VALUES]);
            }
        }
    }

    /// Sets the arguments of the streams for a part, from a row on.
    fn place(&self, args: &[*mut u8], part: usize, row: i64, own: &mut [*mut u8; MAX_STREAMS]) {
        for (own, stream) in own[VALUES + 1..].iter_mut().zip(self.streams.chunks_exact(STREAM + self.n_parts)) {
            let offset = stream[1] + row * stream[2] + stream[STREAM + part];
            *own = args[stream[0] as usize].wrapping_offset(offset as isize);
        }
    }

    /// # Safety
    /// Like [`Attention::run`]; the words are those of a contraction on `own`, whose packed weights are `packed`, of F32.
    unsafe fn multiply(&self, code: *const u8, words: i64, own: &[*mut u8], packed: *const u8) {
        let product = Direct::read(&mut self.image.behind(words as u64));
        // SAFETY: the caller vouches for it.
        unsafe { product.run(code, own, packed, core::ptr::null_mut(), &product.whole()) };
    }
}

/// Runs all items of a nest, given its entry and their number.
///
/// # Safety
/// The code at the entry is that of a nest on these arguments.
unsafe fn run_nest(code: *const u8, nest: &[i64], own: &[*mut u8; MAX_STREAMS]) {
    // SAFETY: the caller vouches for it.
    unsafe {
        let entry: Nest = core::mem::transmute(code.wrapping_offset(nest[0] as isize));
        entry(own.as_ptr(), 0, nest[1] as usize);
    }
}
