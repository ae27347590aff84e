//! Runs contractions by tiles of points and columns: calls the code of the tiles with a frame of pointers.

use super::split::Piece;
use super::words::Words;

/// Maximum number of streams, as registers allow.
pub const MAX_STREAMS: usize = 8;
/// Entries of a frame: the streams, and those before and after them.
pub(crate) const FRAME: usize = 3 + MAX_STREAMS;

/// The code of a tile.
type Entry = unsafe extern "sysv64" fn(frame: *const i64, table: *const i64, count: u64);

/// Calls the code at an entry for each of the first rows of a table.
///
/// # Safety
/// The code takes these frames and tables, the table has the rows that it reads, and all pointers are valid.
pub(crate) unsafe fn call(code: *const u8, entry: i64, frame: &[i64], table: &[i64], n_rows: usize) {
    // SAFETY: the caller vouches for it.
    unsafe {
        let entry: Entry = core::mem::transmute(code.wrapping_offset(entry as isize));
        entry(frame.as_ptr(), table.as_ptr(), n_rows as u64);
    }
}

/// Start of a stream: an argument and a byte offset.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) arg: usize,
    pub(crate) offset: i64,
    part: i64,
    /// Offset of each group of columns; empty if it is equal for all.
    groups: &'a [i64],
}

impl<'a> Place<'a> {
    const NONE: Place<'a> = Place { arg: 0, offset: 0, part: 0, groups: &[] };

    pub(crate) fn read(words: &mut Words<'a>) -> Place<'a> {
        Place { arg: words.number(), offset: words.signed(), part: words.signed(), groups: words.list() }
    }

    pub(crate) fn at(&self, args: &[*mut u8], part: i64, group: usize) -> i64 {
        args[self.arg] as i64 + self.offset + part * self.part + self.groups.get(group).copied().unwrap_or(0)
    }
}

/// Streams: that of the output, then those of the operands.
#[derive(Clone, Copy)]
pub(crate) struct Streams<'a> {
    pub(crate) n: usize,
    pub(crate) of: [Place<'a>; MAX_STREAMS],
}

impl<'a> Streams<'a> {
    pub(crate) fn read(words: &mut Words<'a>) -> Streams<'a> {
        let mut streams = Streams { n: words.number(), of: [Place::NONE; MAX_STREAMS] };
        streams.of[..streams.n].iter_mut().for_each(|place| *place = Place::read(words));
        streams
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
    pub(crate) n_bands: usize,
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
    /// The code that converts a group's weights into scratch memory, and its iterations for whole groups and for the last one;
    /// empty if tiles read the packed weights.
    group_code: &'a [i64],
}

impl<'a> Direct<'a> {
    pub(crate) fn read(words: &mut Words<'a>) -> Direct<'a> {
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
            group_code: words.list(),
        }
    }

    /// All of a contraction without groups.
    pub(crate) fn whole(&self) -> Piece {
        Piece { part: 0, bands: [0, self.n_bands], groups: [0, self.n_groups] }
    }

    /// # Safety
    /// The code is executable on this machine; `packed` holds the weights, if it packs any; `args` and `scratch` are as large as it
    /// was compiled for. No other thread writes any of them or reads this piece's output meanwhile.
    pub(crate) unsafe fn run(&self, code: *const u8, args: &[*mut u8], packed: *const u8, scratch: *mut u8, piece: &Piece) {
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
                if let [entry, rounds @ ..] = self.group_code {
                    let places = [frame[1], scratch as i64];
                    // SAFETY: the entry is that of a conversion; the scratch memory has room for a group of columns.
                    unsafe { call(code, *entry, &places, &[], rounds[last] as usize) };
                    frame[1] = scratch as i64;
                }
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
