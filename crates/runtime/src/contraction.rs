//! Runs contractions: calls the code of their tiles, for programs in memory and for artifacts. `relayc_codegen::contraction::flat` writes the
//! words.

use super::layout::method;
use super::split::{Box, Piece};
use super::words::Words;

/// Maximum number of streams, as registers allow; and the entries before and after them in a frame.
pub const MAX_STREAMS: usize = 8;
const FRAME: usize = 3 + MAX_STREAMS;

/// The code of a tile.
type Entry = unsafe extern "sysv64" fn(frame: *const i64, table: *const i64, count: u64);

/// Calls the code at an entry for each of the first rows of a table.
///
/// # Safety
/// The code takes these frames and tables, the table has the rows that it reads, and all pointers are valid.
unsafe fn call(code: *const u8, entry: i64, frame: &[i64], table: &[i64], n_rows: usize) {
    // SAFETY: the caller vouches for it.
    unsafe {
        let entry: Entry = core::mem::transmute(code.wrapping_offset(entry as isize));
        entry(frame.as_ptr(), table.as_ptr(), n_rows as u64);
    }
}

/// Start of a stream: an argument and a byte offset.
#[derive(Clone, Copy)]
struct Place<'a> {
    arg: usize,
    offset: i64,
    part: i64,
    /// Offset of each group of columns; empty if it is equal for all.
    groups: &'a [i64],
}

impl<'a> Place<'a> {
    const NONE: Place<'a> = Place { arg: 0, offset: 0, part: 0, groups: &[] };

    fn read(words: &mut Words<'a>) -> Place<'a> {
        Place { arg: words.number(), offset: words.signed(), part: words.signed(), groups: words.list() }
    }

    fn at(&self, args: &[*mut u8], part: i64, group: usize) -> i64 {
        args[self.arg] as i64 + self.offset + part * self.part + self.groups.get(group).copied().unwrap_or(0)
    }
}

/// Streams: that of the output, then those of the operands.
#[derive(Clone, Copy)]
struct Streams<'a> {
    n: usize,
    of: [Place<'a>; MAX_STREAMS],
}

impl<'a> Streams<'a> {
    fn read(words: &mut Words<'a>) -> Streams<'a> {
        let mut streams = Streams { n: words.number(), of: [Place::NONE; MAX_STREAMS] };
        streams.of[..streams.n].iter_mut().for_each(|place| *place = Place::read(words));
        streams
    }
}

/// Reads the work that is split among threads.
pub(crate) fn work<'a>(words: &mut Words<'a>) -> Box<'a> {
    Box { parts: words.word(), band_bytes: words.word(), group_bytes: words.word(), bands: words.sizes(), groups: words.sizes() }
}

/// A contraction with its code, by any method.
#[derive(Clone, Copy)]
pub enum Sum<'a> {
    Direct(Direct<'a>),
    Tiles(Tiles<'a>),
}

impl<'a> Sum<'a> {
    /// Reads a contraction; offsets in the words are relative to `image`.
    pub fn read(words: &mut Words<'a>, image: Words<'a>) -> Sum<'a> {
        match words.word() {
            method::TILES => Sum::Tiles(Tiles::read(words, image)),
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
                Sum::Direct(direct) => direct.run(code, args, packed, piece),
                Sum::Tiles(tiles) => tiles.run(code, args, packed, scratch, piece),
            }
        }
    }
}

/// A contraction by tiles of points and columns.
#[derive(Clone, Copy)]
pub struct Direct<'a> {
    input: Place<'a>,
    /// Location of weights that are read unpacked.
    weights: Option<Place<'a>>,
    streams: Streams<'a>,
    /// Bytes from one part to the next in the packed weights, and from one group of columns to the next.
    weight_part: i64,
    weight_group: i64,
    bands_at_once: usize,
    n_bands: usize,
    n_groups: usize,
    /// Start of each band's runs, and the end of the last one's.
    bands: &'a [i64],
    /// Shape, first row and end row of each run.
    runs: &'a [i64],
    /// Start of each tile in each stream.
    table: &'a [i64],
    /// For each shape, the code for whole groups of columns and for the last one, and the bytes of the next weights that it
    /// prefetches.
    shapes: &'a [i64],
}

impl<'a> Direct<'a> {
    fn read(words: &mut Words<'a>) -> Direct<'a> {
        let input = Place::read(words);
        let weights = (words.word() != 0).then(|| Place::read(words));
        Direct {
            input,
            weights,
            streams: Streams::read(words),
            weight_part: words.signed(),
            weight_group: words.signed(),
            bands_at_once: words.number(),
            n_bands: words.number(),
            n_groups: words.number(),
            bands: words.list(),
            runs: words.list(),
            table: words.list(),
            shapes: words.list(),
        }
    }

    /// # Safety
    /// Like [`Sum::run`].
    unsafe fn run(&self, code: *const u8, args: &[*mut u8], packed: *const u8, piece: &Piece) {
        let part = piece.part as i64;
        let mut frame = [0i64; FRAME];
        let n = self.streams.n;
        let mut begin = piece.bands[0];
        while begin < piece.bands[1] {
            let end = piece.bands[1].min(begin + self.bands_at_once);
            for group in piece.groups[0]..piece.groups[1] {
                frame[0] = self.input.at(args, part, group);
                frame[1] = match &self.weights {
                    Some(place) => place.at(args, part, group),
                    None => packed as i64 + part * self.weight_part + group as i64 * self.weight_group,
                };
                for (slot, place) in frame[2..].iter_mut().zip(&self.streams.of[..n]) {
                    *slot = place.at(args, part, group);
                }
                frame[2 + n] = frame[1] + self.weight_group;
                let last = usize::from(group + 1 == self.n_groups);
                // SAFETY: the frame points at the streams of this part and group.
                unsafe { self.run_bands(code, &mut frame, [begin, end], last) };
            }
            begin = end;
        }
    }

    /// Runs the tiles of some bands, with one call for each run of one shape.
    ///
    /// # Safety
    /// Like [`Direct::run`]; `frame` points at the streams of a part and a group of columns.
    unsafe fn run_bands(&self, code: *const u8, frame: &mut [i64; FRAME], bands: [usize; 2], last: usize) {
        let n = self.streams.n;
        let runs = self.bands[bands[0]] as usize..self.bands[bands[1]] as usize;
        let mut waiting: Option<[i64; 3]> = None;
        for run in runs.clone().map(Some).chain([None]) {
            let next = run.map(|run| [self.runs[3 * run], self.runs[3 * run + 1], self.runs[3 * run + 2]]);
            if let (Some(first), Some(next)) = (&mut waiting, next)
                && first[0] == next[0]
                && first[2] == next[1]
            {
                first[2] = next[2];
                continue;
            }
            if let Some([shape, begin, end]) = waiting {
                let shape = &self.shapes[3 * shape as usize..];
                // From the run's first row to the end: a tile may look at the row behind its own.
                let rows = &self.table[begin as usize * (1 + n)..];
                // SAFETY: the entry is that of a tile of this shape; the caller vouches for code and buffers.
                unsafe { call(code, shape[last], frame, rows, (end - begin) as usize) };
                frame[2 + n] += (end - begin) * shape[2];
            }
            waiting = next;
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
            unsafe { products.run(code, &[from, core::ptr::null_mut(), to], weights, &piece) };
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
