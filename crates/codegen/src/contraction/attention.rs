//! Attention by blocks of rows: scores, their weights and the sums of values, one block after the other.
//!
//! A thread packs the keys and the values of a part into scratch memory of its own. For each block of the part's rows it then
//! runs the code of three kernels, whose scores stay in the second-level cache: a contraction, a loop nest in place, and another
//! contraction. These are the kernels of the separate steps with fewer rows: the sums of products have the same bits, and only the
//! order in which a row's exponentials are added may differ. Blocks are cut alike for any number of threads.

use super::emit::LINE;
use super::pack::Packing;
use super::rows::FEW_POINTS;
use super::schedule::Work;
use super::{ContractionCode, candidates, choose, compile_for, cycles, narrow, normal};
use crate::asm::Asm;
use crate::nest::{self, NestCode};
use relayc_ir::kernel::{Access, Attention, Body, Columns, Contraction, ContractionDim, Nest, Operand, Stage, Store, Target};
use relayc_ir::types::DType;
use relayc_runtime::attention::{BLOCK, KEYS, MAX_STREAMS, VALUES};

/// The code of an attention.
#[derive(Clone, Debug)]
pub(crate) struct AttentionCode {
    pub(crate) work: Work,
    pub(super) streams: Vec<Stream>,
    /// Bytes in the scratch memory before the packed keys and values, and of all.
    pub(super) places: [u64; 2],
    scratch: u64,
    pub(super) packers: Vec<NestCode>,
    pub(super) heights: Vec<Height>,
    /// The number of its height, and the first row, of each block.
    pub(super) blocks: Vec<(usize, u64)>,
    flops: u64,
}

/// Start of a tensor that the kernels read or write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stream {
    pub(super) arg: usize,
    /// Bytes to the first element, from row to row, and to each part.
    pub(super) offset: i64,
    pub(super) row: i64,
    pub(super) parts: Vec<i64>,
}

/// The code for blocks of one number of rows.
#[derive(Clone, Debug)]
pub(super) struct Height {
    pub(super) scores: ContractionCode,
    pub(super) rows: NestCode,
    pub(super) values: ContractionCode,
}

/// What decides between blocks and separate steps, in modelled cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Comparison {
    /// Number of rows of a block.
    pub(crate) height: u64,
    pub(crate) blocks: f64,
    pub(crate) steps: f64,
}

/// Numbers of rows that a block may have. All are whole tiles of four and of six rows.
const HEIGHTS: [u64; 4] = [12, 24, 48, 96];
/// Cycles of the calls of a block, and of a part's packing for each element. Packing in a step of its own costs more, as no code
/// is generated for it.
const CALLS: f64 = 300.0;
const PACKING: [f64; 2] = [1.0, 4.0];
/// Passes over the scores in separate steps, and bytes a cycle where these lie beyond the second-level cache.
const PASSES: f64 = 5.0;
const FAR_BYTES: f64 = 12.0;

/// Whether blocks are faster than separate steps, for any number of threads.
pub fn is_faster(attention: &Attention, target: &Target) -> bool {
    weigh(attention, target).is_some_and(|found| found.blocks < found.steps)
}

/// Compares blocks with separate steps. `None` for few rows, which read keys and values as they lie.
pub(crate) fn weigh(attention: &Attention, target: &Target) -> Option<Comparison> {
    let (parts, rows, keys) = (attention.parts() as f64, attention.n_rows(), attention.n_keys());
    // Vectors of columns that are apart are parts of their own, of which a block has one.
    let whole = products(attention, rows).iter().all(|contract| narrow(contract, target.lanes).is_none());
    (rows > FEW_POINTS && whole).then_some(())?;
    let room = (target.l2 as u64 / 4).max(4 * keys * HEIGHTS[0]);
    let of_block = |rows: u64| {
        let [scores, values] = products(attention, rows);
        Some(cycles(&scores, target)? + cycles(&values, target)? + CALLS)
    };
    let cost = |height: u64| {
        let whole = (rows / height) as f64 * of_block(height.min(rows))?;
        let rest = if rows.is_multiple_of(height) { 0.0 } else { of_block(rows % height)? };
        Some(whole + rest)
    };
    let heights = HEIGHTS.into_iter().filter(|height| 4 * keys * height <= room);
    let costs = heights.filter_map(|height| Some((height.min(rows), cost(height)?)));
    let (height, part) = costs.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let [scores, values] = products(attention, rows);
    let packed = (keys * (steps(&scores) + values.columns)) as f64;
    let bytes = 4 * attention.parts() * rows * keys;
    let far = if bytes > target.l2 as u64 / 2 { PASSES * bytes as f64 / FAR_BYTES } else { 0.0 };
    let steps = cycles(&scores, target)? + cycles(&values, target)? + PACKING[1] * packed;
    Some(Comparison { height, blocks: parts * (part + PACKING[0] * packed), steps: parts * steps + far })
}

fn steps(contract: &Contraction) -> u64 {
    contract.sum.iter().map(|dim| dim.extent).product()
}

/// Elements from row to row of a block: lines apart, and not a multiple of the distance at which lines displace each other. Similar
/// numbers of keys have the same pitch, so that they share code.
fn pitch(keys: u64) -> u64 {
    const LINES: u64 = 8;
    let line = LINE as u64 / 4;
    (keys.div_ceil(line).next_multiple_of(LINES) | 1) * line
}

/// The two contractions of a block, whose arguments start where their streams do.
fn products(attention: &Attention, rows: u64) -> [Contraction; 2] {
    let pitch = pitch(attention.n_keys()) as i64;
    let block = |contract: &Contraction, input: i64, out: i64| Contraction {
        groups: 1,
        group_steps: [0; 3],
        points: vec![ContractionDim { extent: rows, input, other: out }],
        input: (contract.input.0, 0),
        weight: (contract.weight.0, 0),
        out: (contract.out.0, 0),
        operands: contract.operands.iter().map(|operand| Operand { offset: 0, group: 0, ..operand.clone() }).collect(),
        ..contract.clone()
    };
    let (scores, values) = (&attention.scores, &attention.values);
    [block(scores, scores.points[0].input, pitch), block(values, pitch, values.points[0].other)]
}

/// Gives each tensor of the kernels a stream of its own.
struct Streams<'a> {
    attention: &'a Attention,
    found: Vec<Stream>,
}

impl Streams<'_> {
    /// The argument of a tensor in the code of blocks.
    fn add(&mut self, stream: Stream) -> usize {
        let at = self.found.iter().position(|known| *known == stream).unwrap_or_else(|| {
            self.found.push(stream);
            self.found.len() - 1
        });
        VALUES + 1 + at
    }

    fn of_contraction(&mut self, (arg, offset): (usize, i64), part: i64, row: i64, bytes: i64) -> usize {
        let parts = (0..self.attention.parts() as i64).map(|at| at * part * bytes).collect();
        self.add(Stream { arg, offset: offset * bytes, row: row * bytes, parts })
    }

    fn operands(&mut self, of: &Contraction, block: &mut Contraction) {
        for (own, new) in of.operands.iter().zip(&mut block.operands) {
            new.arg = self.of_contraction((own.arg, own.offset), own.group, own.points[0], own.dtype.bytes() as i64);
        }
    }

    fn of_access(&mut self, access: &Access) -> usize {
        let (dims, bytes) = (&self.attention.rows.dims, access.dtype.bytes() as i64);
        let (_, outer) = dims.split_last().expect("a nest on rows has these");
        let part = |at: u64| {
            let mut left = at;
            let steps = outer.iter().zip(&access.kept).rev().map(|(&extent, &step)| {
                let index = left % extent;
                left /= extent;
                index as i64 * step * bytes
            });
            steps.sum::<i64>()
        };
        let row = access.kept.last().map_or(0, |step| step * bytes);
        let parts = (0..self.attention.parts()).map(part).collect();
        self.add(Stream { arg: access.arg, offset: access.offset * bytes, row, parts })
    }
}

/// The nest of a block.
fn rows_of(attention: &Attention, rows: u64, streams: &mut Streams) -> Nest {
    let nest = &attention.rows;
    let pitch = pitch(attention.n_keys()) as i64;
    let mut access = |own: &Access| match own.arg == attention.block {
        true => Access { arg: BLOCK, offset: 0, kept: vec![pitch], ..own.clone() },
        false => {
            let kept = vec![own.kept.last().copied().unwrap_or(0)];
            Access { arg: streams.of_access(own), offset: 0, kept, ..own.clone() }
        }
    };
    let reads = nest.reads.iter().map(&mut access).collect();
    let writes = nest.writes.iter().map(&mut access).collect();
    Nest { dims: vec![rows], reduce: nest.reduce.clone(), reads, writes, stages: nest.stages.clone() }
}

/// The nests that pack weights of one part; missing columns are left as they are, as no result depends on them. `None` if the
/// columns do not lie evenly.
fn packers(packing: &Packing, from: usize, to: usize) -> Option<Vec<Nest>> {
    let Columns { block, inner, .. } = normal(packing.source_columns, packing.columns);
    (block >= packing.columns).then_some(())?;
    let lanes = packing.lanes as u64;
    let steps: Vec<u64> = packing.sum.iter().map(|dim| dim.extent).collect();
    let nest = |first: u64, groups: u64, columns: u64, width: u64| {
        let mut step = width as i64;
        let mut packed: Vec<i64> = vec![];
        for &extent in steps.iter().rev() {
            packed.insert(0, step);
            step *= extent as i64;
        }
        let access = |arg: usize, offset: u64, kept: Vec<i64>| Access {
            arg,
            dtype: DType::F32,
            offset: offset as i64,
            kept,
            reduced: vec![],
        };
        let first_column = (first * packing.vectors as u64 * lanes) as i64;
        let kept = [(width as i64) * inner].into_iter().chain(packing.sum.iter().map(|dim| dim.other)).chain([inner]);
        let read = Access { offset: first_column * inner, ..access(from, 0, kept.collect()) };
        let kept = [packing.group_len() as i64].into_iter().chain(packed).chain([1]);
        let write = access(to, packing.group_begin(first), kept.collect());
        let mut body = Body::new();
        let val = body.read(0);
        let stage = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
        let dims = [groups].into_iter().chain(steps.iter().copied()).chain([columns]).collect();
        Nest { dims, reduce: vec![], reads: vec![read], writes: vec![write], stages: vec![stage] }
    };
    let width = packing.vectors as u64 * lanes;
    let whole = packing.columns / width;
    let rest = packing.columns - whole * width;
    let full = (whole > 0).then(|| nest(0, whole, width, width));
    let last = (rest > 0).then(|| nest(whole, 1, rest, packing.group_vectors(whole) * lanes));
    Some(full.into_iter().chain(last).collect())
}

/// Emits the code; `None` if the plan must take separate steps.
pub(crate) fn compile(attention: &Attention, target: &Target, asm: &mut Asm) -> Option<(AttentionCode, Comparison)> {
    let found = weigh(attention, target)?;
    let (n_rows, parts) = (attention.n_rows(), attention.parts());
    let (scores, values) = (&attention.scores, &attention.values);
    let mut streams = Streams { attention, found: vec![] };
    let key = streams.of_contraction(scores.weight, scores.group_steps[1], 0, 4);
    let value = streams.of_contraction(values.weight, values.group_steps[1], 0, 4);
    let rows_of_blocks: Vec<u64> =
        (0..n_rows).step_by(found.height as usize).map(|first| found.height.min(n_rows - first)).collect();
    let mut heights = vec![height(rows_of_blocks[0], [None; 2], &mut streams, target, asm)?];
    // Blocks share the packed weights, which depend on the vectors of a tile.
    let packings = [heights[0].scores.packing.clone(), heights[0].values.packing.clone()];
    let last = rows_of_blocks[rows_of_blocks.len() - 1];
    if last != rows_of_blocks[0] {
        let vectors = [0, 1].map(|at: usize| Some(packings[at].vectors));
        heights.push(height(last, vectors, &mut streams, target, asm)?);
    }
    let alike =
        |one: &Height| [&one.scores, &one.values].iter().zip(&packings).all(|(code, own)| code.packing.vectors == own.vectors);
    let fits = streams.found.len() + VALUES < MAX_STREAMS && heights.iter().all(alike);
    fits.then_some(())?;
    let nests = packers(&packings[0], key, KEYS)?.into_iter().chain(packers(&packings[1], value, VALUES)?);
    let packers = nests.map(|nest| nest::compile(asm, &nest, None)).collect::<Option<Vec<NestCode>>>()?;
    let lines = |elements: u64| (4 * elements).next_multiple_of(LINE as u64);
    let keys_at = lines(found.height * pitch(attention.n_keys()));
    let values_at = keys_at + lines(packings[0].part_len());
    let flops = |of: &Contraction| 2 * steps(of) * of.columns;
    let number = |rows: u64| usize::from(rows != rows_of_blocks[0]);
    let code = AttentionCode {
        places: [keys_at, values_at],
        scratch: values_at + lines(packings[1].part_len()),
        packers,
        heights,
        blocks: rows_of_blocks.iter().zip(0..).map(|(&rows, at)| (number(rows), at * found.height)).collect(),
        flops: parts * n_rows * (flops(scores) + flops(values)),
        streams: streams.found,
        work: Work {
            parts,
            bands: rows_of_blocks,
            groups: vec![1],
            band_bytes: 4 * found.height * steps(scores),
            group_bytes: 4 * packings[0].part_len(),
        },
    };
    Some((code, found))
}

/// Emits the code of a contraction by the best tile, of those with so many column vectors. Values are added along the keys, of which
/// there may be any number.
fn product(
    contract: &Contraction,
    (vectors, along_keys): (Option<usize>, bool),
    target: &Target,
    asm: &mut Asm,
) -> Option<ContractionCode> {
    let mut tiles = candidates(contract, target, false);
    tiles.retain(|one| vectors.is_none_or(|vectors| one.choice.vectors == vectors));
    (!tiles.is_empty()).then_some(())?;
    compile_for(contract, target, asm, choose::best(&tiles), along_keys)
}

/// Emits the code for blocks of so many rows.
fn height(rows: u64, vectors: [Option<usize>; 2], streams: &mut Streams, target: &Target, asm: &mut Asm) -> Option<Height> {
    let attention = streams.attention;
    let (scores, values) = (&attention.scores, &attention.values);
    let [mut to_scores, mut to_values] = products(attention, rows);
    let query = streams.of_contraction(scores.input, scores.group_steps[0], scores.points[0].input, 4);
    let out = streams.of_contraction(values.out, values.group_steps[2], values.points[0].other, 4);
    (to_scores.input.0, to_scores.weight.0, to_scores.out.0) = (query, KEYS, BLOCK);
    (to_values.input.0, to_values.weight.0, to_values.out.0) = (BLOCK, VALUES, out);
    streams.operands(scores, &mut to_scores);
    streams.operands(values, &mut to_values);
    let nest = rows_of(attention, rows, streams);
    Some(Height {
        scores: product(&to_scores, (vectors[0], false), target, asm)?,
        rows: nest::compile(asm, &nest, None)?,
        values: product(&to_values, (vectors[1], true), target, asm)?,
    })
}

impl AttentionCode {
    /// Multiplications and additions of the two contractions.
    pub(crate) fn flops(&self) -> u64 {
        self.flops
    }

    /// Number of elements of scratch memory for each thread.
    pub(crate) fn scratch_len(&self) -> usize {
        self.scratch as usize / 4
    }

    /// Estimated time of the nests, in nanoseconds.
    pub(crate) fn nests_ns(&self) -> f64 {
        let of = |nest: &NestCode| nest.n_items as f64 * nest.item_cost_ns;
        let blocks: f64 = self.blocks.iter().map(|&(height, _)| of(&self.heights[height].rows)).sum();
        self.work.parts as f64 * blocks
    }
}
