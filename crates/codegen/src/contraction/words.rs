//! Depthwise sums of bytes by words: up to four neighbouring pixels of a channel times as many weights in one instruction of
//! AVX512-VNNI, where [`super::depthwise`] takes one pixel at a time.
//!
//! Pixels of 16 channels lie side by side, so that one load has four of them; a transposition of their bytes gives each channel
//! a word. A run of three taps lies in a word in two ways, with the unused weight behind or before it, so that a load serves two
//! points beside each other. A run of more than four taps has words that overlap, of which the last one has no weights for
//! what the others have. Absent: runs of one or two taps, windows with gaps, and partial vectors of channels.

use super::emit::bias;
use super::epilogue::Sums;
use super::points::{Shape, touches};
use super::registers::{INPUT, TAIL, WEIGHTS};
use crate::asm::{Asm, Isa, Mask, Mem, R, V, Width, forms};
use relayc_ir::kernel::{ByteProducts, Depthwise, Factors};
use std::collections::BTreeMap;

/// Pixels of a load, and bytes of a word.
const PIXELS: usize = 4;
/// Bytes of a pixel: a vector of channels.
const PIXEL: i64 = 16;
/// Registers beside sums and weights: pixels, and the two orders that transpose their bytes.
const BESIDE: usize = 3;
/// Choices of `vpternlogd`: bits of the second source where the third one has ones, else those of the first.
const SELECT: u8 = 0xd8;

/// Words of a window, in its order.
pub(super) struct WindowWords {
    words: Vec<Word>,
}

/// Taps whose pixels are beside each other.
struct Word {
    /// Offset of the pixel that the word's last byte has, in bytes of the input.
    last: i64,
    /// The taps of the word's last bytes.
    taps: Vec<usize>,
    /// Whether pixels before its taps belong to the word before it: a load that begins with them reads nothing that is not there.
    is_short: bool,
}

/// A word with the position of its weights: `early` if its last byte is empty.
#[derive(Clone, Copy)]
struct Use {
    point: usize,
    word: usize,
    early: bool,
}

impl WindowWords {
    /// The words of a window with taps at these offsets; `None` where there is no code for it by words.
    pub(super) fn of(depthwise: &Depthwise, offsets: &[i64], products: ByteProducts, isa: Isa) -> Option<WindowWords> {
        let is_possible = isa == Isa::Avx512
            && products == ByteProducts::Words
            && depthwise.has_byte_weights
            && depthwise.contract.factors == Factors::Widened;
        is_possible.then_some(())?;
        let mut words = vec![];
        let mut first = 0;
        for run in offsets.chunk_by(|a, b| b - a == PIXEL) {
            if run.len() < PIXELS - 1 {
                return None;
            }
            let mut done = 0;
            while done < run.len() {
                // The last word of a long run ends with the run, whatever of it others have.
                let end = (done + PIXELS).min(run.len());
                let is_short = done > 0 && end - done < PIXELS;
                words.push(Word { last: run[end - 1], taps: (first + done..first + end).collect(), is_short });
                done = end;
            }
            first += run.len();
        }
        Some(WindowWords { words })
    }

    /// Number of registers that words need beside the sums.
    pub(super) fn registers(&self) -> usize {
        BESIDE + self.words.iter().map(|word| 1 + usize::from(word.is_early())).sum::<usize>()
    }

    /// Prepares the mask of loads behind which no pixel may be read.
    pub(super) fn begin(asm: &mut Asm) {
        asm.set_tail(Mask::K(TAIL), PIXELS * (PIXELS - 1), R::RAX);
    }

    /// Adds the sums of the window's products to zeros.
    pub(super) fn emit(&self, sums: &Sums, asm: &mut Asm) {
        let pixels = sums.extra(0);
        let orders = [1, 2].map(|at| sums.extra(at));
        let weights = self.weights(sums, pixels, asm);
        // First the parts of 16 bytes with each other, then the bytes in each.
        let dwords: Vec<u8> = (0..16).flat_map(|at| u32::from(transposed(at)).to_le_bytes()).collect();
        let bytes: Vec<u8> = (0..16).map(transposed).collect::<Vec<u8>>().repeat(PIXELS);
        for (order, places) in orders.into_iter().zip([dwords, bytes]) {
            let places = asm.constant(&places);
            asm.load(order, places);
        }
        let end = self.end(sums.shape);
        for (at, uses) in self.loads(sums.shape) {
            let from = Mem::at(INPUT, at as i32 - bias(asm.isa()));
            if at + PIXEL * PIXELS as i64 > end {
                asm.load_tail(pixels, Mask::K(TAIL), from);
                asm.permute(pixels, orders[0], pixels);
            } else {
                asm.permute(pixels, orders[0], from);
            }
            asm.op3(&forms::VPSHUFB, pixels, pixels, orders[1]);
            for Use { point, word, early } in uses {
                asm.op3(&forms::VPDPBUSD, sums.register(point, 0), pixels, weights[word][usize::from(early)]);
            }
        }
    }

    /// The registers with each word's weights: at its end, and one byte earlier.
    fn weights(&self, sums: &Sums, tap: V, asm: &mut Asm) -> Vec<[V; 2]> {
        let mut free = BESIDE;
        let mut register = || {
            free += 1;
            sums.extra(free - 1)
        };
        let mut all = vec![];
        for word in &self.words {
            let late = register();
            let early = if word.is_early() { register() } else { late };
            for (back, &at) in word.taps.iter().rev().enumerate() {
                let (place, from) = (8 * (PIXELS - 1 - back), Mem::at(WEIGHTS, (at * asm.isa().bytes()) as i32));
                let dst = if back == 0 { late } else { tap };
                asm.load(dst, from);
                if place > 0 {
                    asm.shift(&forms::VPSLLD_IMM, dst, dst, place as u8);
                }
                if back > 0 {
                    let byte = asm.constant(&(0xffu32 << place).to_le_bytes().repeat(asm.isa().lanes()));
                    asm.vector(&forms::VPTERNLOGD, Width::Z, late, tap, byte, Some(SELECT));
                }
            }
            if word.is_early() {
                asm.shift(&forms::VPSRLD_IMM, early, late, 8);
            }
            all.push([late, early]);
        }
        all
    }

    /// Where the pixels end that the points of a tile read, in bytes of the input.
    fn end(&self, shape: &Shape) -> i64 {
        let last = self.words.iter().map(|word| word.last).max().unwrap_or(0);
        shape.iter().map(|point| point[0] + last + PIXEL).max().unwrap_or(0)
    }

    /// The loads of a tile, by place, and the words that each serves.
    fn loads(&self, shape: &Shape) -> Vec<(i64, Vec<Use>)> {
        // Words by the place of a load that has their taps at its end.
        let ends: Vec<i64> = self.words.iter().map(|word| word.last - PIXEL * (PIXELS as i64 - 1)).collect();
        let mut wanted: BTreeMap<i64, Vec<(usize, usize)>> = BTreeMap::new();
        for (at, point, word) in touches(shape, &ends) {
            wanted.entry(at).or_default().push((point, word));
        }
        let mut loads: BTreeMap<i64, Vec<Use>> = BTreeMap::new();
        while let Some((at, uses)) = wanted.pop_first() {
            // Before the first pixel there may be no memory.
            let early = !loads.contains_key(&at) && uses.iter().all(|&(_, word)| self.words[word].is_early());
            let at = if early { at + PIXEL } else { at };
            loads.entry(at).or_default().extend(uses.into_iter().map(|(point, word)| Use { point, word, early }));
        }
        loads.into_iter().collect()
    }
}

impl Word {
    /// Whether its taps lie at its beginning too.
    fn is_early(&self) -> bool {
        self.taps.len() == PIXELS - 1 && !self.is_short
    }
}

/// Where an element of a matrix of four rows and columns has its place in the transposed one.
fn transposed(at: u8) -> u8 {
    4 * (at % 4) + at / 4
}
