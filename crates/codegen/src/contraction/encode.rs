//! Encodes the calls of contractions as words, which `relayc_runtime::contraction` reads, in memory and in artifacts.

use super::attention::{AttentionCode, Height, Stream};
use super::code::Code;
use super::pack::offsets;
use super::winograd::{Size, Winograd};
use super::{ContractionCode, Packing, Place, SPARE, Work};
use relayc_ir::types::DType;
use relayc_runtime::contraction::Sum;
use relayc_runtime::layout::{element, method};
use relayc_runtime::pack::WHOLE;
use relayc_runtime::product::MAX_STREAMS;
use relayc_runtime::words::Words;

// The runtime's frames have room for every operand.
const _: () = assert!(MAX_STREAMS == SPARE.len());

/// Stores words and returns their byte offset.
pub(crate) type StoreWords<'a> = &'a mut dyn FnMut(&[u64]) -> u64;

impl Code {
    /// Writes the words of its calls: the method, then its data.
    pub(super) fn encode(&self, words: &mut Vec<u64>, put: StoreWords) {
        match self {
            Code::Direct(direct) => {
                words.push(method::DIRECT);
                direct.flatten(words);
            }
            Code::Tiles(tiles) => {
                words.push(method::TILES);
                tiles.flatten(words, put);
            }
            Code::Attention(attention) => {
                words.push(method::ATTENTION);
                attention.flatten(words, put);
            }
        }
    }

    /// Writes the words of how weights are packed, if a run packs them.
    pub(super) fn flatten_packing(&self, words: &mut Vec<u64>) {
        match self {
            Code::Direct(direct) => {
                packing(&direct.packing, if direct.weight_bytes == 2 { element::TWO_BYTES } else { element::FOUR_BYTES }, words);
                words.push(0);
            }
            Code::Attention(_) => unreachable!("keys and values are packed by code"),
            Code::Tiles(tiles) => {
                let of = match tiles.filters.dtype {
                    DType::F16 => element::F16,
                    DType::BF16 => element::BF16,
                    _ => element::FOUR_BYTES,
                };
                packing(&tiles.filters.packing, of, words);
                let [rows, columns] = tiles.filters.taps;
                let size = if tiles.filters.size == Size::Whole { WHOLE as u64 } else { tiles.outputs() as u64 };
                words.extend([1, size, tiles.filters.packing.part_len(), rows as u64, columns as u64]);
            }
        }
    }
}

/// The words of a contraction's calls, as they run in memory.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    words: Box<[u64]>,
    /// Offset of the root's words; the words that they refer to precede them.
    start: u64,
}

impl Calls {
    pub(super) fn of(code: &Code) -> Calls {
        let (mut all, mut whole) = (vec![], vec![]);
        let mut put = |words: &[u64]| {
            all.extend_from_slice(words);
            8 * (all.len() - words.len()) as u64
        };
        code.encode(&mut whole, &mut put);
        let start = put(&whole);
        Calls { words: all.into(), start }
    }

    pub(super) fn sum(&self) -> Sum<'_> {
        // SAFETY: the words are those that `flatten` wrote, and stay as long as they are borrowed.
        let words = unsafe { Words::at(self.words.as_ptr().cast(), 0) };
        Sum::read(&mut words.behind(self.start), words)
    }
}

/// Writes a list: its length, then its words.
pub fn list(words: &mut Vec<u64>, of: impl IntoIterator<Item = i64>) {
    let at = words.len();
    words.push(0);
    words.extend(of.into_iter().map(|word| word as u64));
    words[at] = (words.len() - at - 1) as u64;
}

fn packing(packing: &Packing, element: u64, words: &mut Vec<u64>) {
    words.push(element);
    words.extend([packing.parts, packing.offset as u64, packing.part_step as u64, packing.part_len(), packing.group_len()]);
    let lanes = packing.lanes as u64;
    words.extend([packing.n_groups(), packing.vectors as u64 * lanes, packing.n_vectors() * lanes]);
    list(words, offsets(&packing.sum, |dim| dim.other));
    list(words, (0..packing.columns).map(|column| packing.source_columns.offset(column)));
}

fn place(place: &Place, words: &mut Vec<u64>) {
    words.extend([place.arg as u64, place.offset as u64, place.part as u64]);
    let same = place.groups.iter().all(|&group| group == 0);
    list(words, if same { &[][..] } else { &place.groups }.iter().copied());
}

fn streams(of: &[Place], words: &mut Vec<u64>) {
    words.push(of.len() as u64);
    of.iter().for_each(|one| place(one, words));
}

impl Work {
    /// Writes the words of a work box.
    pub fn flatten(&self, words: &mut Vec<u64>) {
        words.extend([self.parts, self.band_bytes, self.group_bytes]);
        list(words, self.bands.iter().map(|&points| points as i64));
        list(words, self.groups.iter().map(|&vectors| vectors as i64));
    }
}

impl ContractionCode {
    fn flatten(&self, words: &mut Vec<u64>) {
        place(&self.input, words);
        words.push(u64::from(self.weights.is_some()));
        if let Some(weights) = &self.weights {
            place(weights, words);
        }
        streams(&self.streams, words);
        words.extend([self.weight_part as u64, self.weight_bytes * self.packing.group_len(), self.bands_at_once as u64]);
        words.extend([self.work.bands.len() as u64, self.work.groups.len() as u64]);
        let bands = &self.tiles.bands;
        let mut before = 0;
        let ends = bands.iter().map(|band| {
            before += band.runs.len() as i64;
            before
        });
        list(words, [0].into_iter().chain(ends));
        let runs = bands.iter().flat_map(|band| &band.runs);
        list(words, runs.flat_map(|run| [run.shape, run.begin, run.end]).map(|number| number as i64));
        list(words, self.tiles.table.iter().copied());
        let shapes = self.entries.iter().zip(&self.next_bytes);
        list(words, shapes.flat_map(|(entries, &next)| [entries[0] as i64, entries[1] as i64, next]));
        let group_code = self.group_code.iter();
        list(words, group_code.flat_map(|code| [code.entry as i64, code.rounds[0] as i64, code.rounds[1] as i64]));
    }
}

impl AttentionCode {
    fn flatten(&self, words: &mut Vec<u64>, put: StoreWords) {
        let mut product = |code: &ContractionCode| {
            let mut words = vec![];
            code.flatten(&mut words);
            put(&words) as i64
        };
        let height = |one: &Height| [product(&one.scores), one.rows.entry as i64, one.rows.n_items as i64, product(&one.values)];
        let heights: Vec<i64> = self.heights.iter().flat_map(height).collect();
        words.push(self.work.parts);
        let stream = |one: &Stream| [one.arg as i64, one.offset, one.row].into_iter().chain(one.parts.clone());
        list(words, self.streams.iter().flat_map(stream));
        words.extend(self.places);
        list(words, self.packers.iter().flat_map(|nest| [nest.entry as i64, nest.n_items as i64]));
        list(words, heights);
        list(words, self.blocks.iter().flat_map(|&(height, first)| [height as i64, first as i64]));
    }
}

impl Winograd {
    fn flatten(&self, words: &mut Vec<u64>, put: StoreWords) {
        let products: Vec<u64> = self
            .products
            .iter()
            .map(|one| {
                let mut words = vec![];
                one.flatten(&mut words);
                put(&words)
            })
            .collect();
        place(&self.input, words);
        streams(&self.streams, words);
        let packing = &self.filters.packing;
        words.extend([self.size.products() as u64, 4 * self.steps[0] as u64, 4 * self.steps[1] as u64, self.vector as u64]);
        words.extend([packing.vectors as u64, packing.n_vectors(), self.groups_at_once as u64, 4 * packing.part_len()]);
        let blocks: Vec<i64> = self
            .blocks
            .iter()
            .map(|block| {
                let mut words = vec![products[block.products]];
                for tables in [&block.inputs, &block.outputs] {
                    words.push(tables.len() as u64);
                    for (entry, table) in tables {
                        words.push(*entry as u64);
                        list(&mut words, table.iter().copied());
                    }
                }
                put(&words) as i64
            })
            .collect();
        list(words, blocks);
    }
}
