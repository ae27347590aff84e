//! Runs sums of products by any method: calls the code of their tiles, for programs in memory and for artifacts.
//! `relayc_codegen::contraction::encode` writes the words.

use super::attention::Attention;
use super::layout::method;
use super::product::{Direct, FRAME, Place, Streams, call};
use super::split::{Box, Piece};
use super::words::Words;

/// Reads the work that is split among threads.
pub(crate) fn work<'a>(words: &mut Words<'a>) -> Box<'a> {
    Box { parts: words.word(), band_bytes: words.word(), group_bytes: words.word(), bands: words.sizes(), groups: words.sizes() }
}

/// A contraction with its code, by any method.
#[derive(Clone, Copy)]
pub enum Sum<'a> {
    Direct(Direct<'a>),
    Tiles(Tiles<'a>),
    Attention(Attention<'a>),
}

impl<'a> Sum<'a> {
    /// Reads a contraction; offsets in the words are relative to `image`.
    pub fn read(words: &mut Words<'a>, image: Words<'a>) -> Sum<'a> {
        match words.word() {
            method::TILES => Sum::Tiles(Tiles::read(words, image)),
            method::ATTENTION => Sum::Attention(Attention::read(words, image)),
            _ => Sum::Direct(Direct::read(words)),
        }
    }

    /// Computes a piece.
    ///
    /// # Safety
    /// `code` is that of this contraction, executable on this machine; `packed` holds its weights, if it packs any; `args` are
    /// its arguments, each as large as it was compiled for, and `scratch` is as large as it asks. No other thread writes any of
    /// them or reads this piece's output meanwhile.
    pub unsafe fn run(&self, code: *const u8, args: &[*mut u8], packed: *const u8, scratch: *mut u8, piece: &Piece) {
        // SAFETY: the caller vouches for it.
        unsafe {
            match self {
                Sum::Direct(direct) => direct.run(code, args, packed, scratch, piece),
                Sum::Tiles(tiles) => tiles.run(code, args, packed, scratch, piece),
                Sum::Attention(attention) => attention.run(code, args, scratch, piece),
            }
        }
    }
}

/// A convolution by Winograd's method with its code.
#[derive(Clone, Copy)]
pub struct Tiles<'a> {
    input: Place<'a>,
    /// Streams of single column vectors.
    streams: Streams<'a>,
    n_products: usize,
    /// Bytes of scratch memory from one product to the next: in its input, and in its result.
    steps: [usize; 2],
    /// Elements from one column vector to the next in a product's result.
    vector: i64,
    /// Number of vectors of a group of columns, and of all columns.
    vectors: usize,
    n_vectors: usize,
    groups_at_once: usize,
    /// Bytes of the packed weights of one product.
    product_bytes: usize,
    /// Offsets of each block's words in the image.
    blocks: &'a [u64],
    image: Words<'a>,
}

impl<'a> Tiles<'a> {
    fn read(words: &mut Words<'a>, image: Words<'a>) -> Tiles<'a> {
        Tiles {
            input: Place::read(words),
            streams: Streams::read(words),
            n_products: words.number(),
            steps: [words.number(), words.number()],
            vector: words.signed(),
            vectors: words.number(),
            n_vectors: words.number(),
            groups_at_once: words.number(),
            product_bytes: words.number(),
            blocks: words.sizes(),
            image,
        }
    }

    /// # Safety
    /// Like [`Sum::run`].
    unsafe fn run(&self, code: *const u8, args: &[*mut u8], packed: *const u8, scratch: *mut u8, piece: &Piece) {
        let made = scratch.wrapping_add(self.n_products * self.steps[0]);
        for &block in &self.blocks[piece.bands[0]..piece.bands[1]] {
            let mut words = self.image.behind(block);
            let products = Direct::read(&mut self.image.behind(words.word()));
            let frame = [args[self.input.arg] as i64 + self.input.offset, scratch as i64];
            for _ in 0..words.number() {
                let (entry, table) = (words.signed(), words.list());
                // SAFETY: the entry is an input's transform, whose table has two columns; the caller vouches for the rest.
                unsafe { call(code, entry, &frame, table, table.len() / 2) };
            }
            let mut first = piece.groups[0];
            while first < piece.groups[1] {
                let groups = [first, piece.groups[1].min(first + self.groups_at_once)];
                // SAFETY: as this function.
                unsafe {
                    self.multiply(code, &products, packed, scratch, made, groups);
                    self.output(code, words, args, made, groups);
                }
                first = groups[1];
            }
        }
    }

    /// # Safety
    /// Like [`Tiles::run`].
    unsafe fn multiply(
        &self,
        code: *const u8,
        products: &Direct,
        packed: *const u8,
        scratch: *mut u8,
        made: *mut u8,
        groups: [usize; 2],
    ) {
        // The result has room for these groups only: it begins with the first of them.
        let before = 4 * (groups[0] * self.vectors) as i64 * self.vector;
        let piece = Piece { part: 0, bands: [0, products.n_bands], groups };
        for product in 0..self.n_products {
            let from = scratch.wrapping_add(product * self.steps[0]);
            let to = made.wrapping_add(product * self.steps[1]).wrapping_offset(-before as isize);
            let weights = packed.wrapping_add(product * self.product_bytes);
            // SAFETY: the products read the transformed input and write what was made, both in the scratch memory.
            unsafe { products.run(code, &[from, core::ptr::null_mut(), to], weights, core::ptr::null_mut(), &piece) };
        }
    }

    /// # Safety
    /// Like [`Tiles::run`]; `words` are those of the output's transforms.
    unsafe fn output(&self, code: *const u8, words: Words, args: &[*mut u8], made: *mut u8, groups: [usize; 2]) {
        let mut frame = [0i64; FRAME];
        let n = self.streams.n;
        let first = groups[0] * self.vectors;
        let end = (groups[1] * self.vectors).min(self.n_vectors);
        for vector in first..end {
            frame[0] = made as i64 + 4 * (vector - first) as i64 * self.vector;
            for (slot, place) in frame[2..].iter_mut().zip(&self.streams.of[..n]) {
                *slot = place.at(args, 0, vector);
            }
            let mut words = words;
            for _ in 0..words.number() {
                let (entry, table) = (words.signed(), words.list());
                // SAFETY: the entry is an output's transform, whose table has a column for the sums and for each stream.
                unsafe { call(code, entry, &frame, table, table.len() / (1 + n)) };
            }
        }
    }
}
