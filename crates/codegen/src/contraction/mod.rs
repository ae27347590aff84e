//! Contractions: the code of a [`Contraction`], its packed weights, and the order of its work.
//!
//! Tiles of points × column vectors keep their sums in registers over the whole reduction (`emit`). A model of the machine
//! chooses the tile (`choose`). Points are cut into tiles with a table of their start offsets (`points`), and the epilogue runs
//! on the registers (`epilogue`). Other methods: `depthwise` for windows of single channels, `grouped` for those of few channels,
//! `rows` for few points times rows, `winograd` for small windows, `attention` for two contractions with rows of scores between.
//! [`Compiled`] is any of them. Its calls are words (`encode`) that `relayc_runtime::contraction` reads, in memory and in artifacts.
//!
//! Promises: the bits of any output are the chain of fused multiply-adds in the order of the reduced dimensions. So neither
//! tiles nor threads nor the vector length change them. `rows` and `winograd` have their own order of summation, which depends
//! on the machine but not on the number of threads. Kernels access only elements that their views name. Absent: who runs the
//! pieces, and buffer placement.

pub mod attention;
mod choose;
mod code;
mod compiled;
mod convert;
pub mod depthwise;
mod emit;
pub mod encode;
mod epilogue;
mod grouped;
mod pack;
mod points;
mod registers;
mod rows;
mod schedule;
mod strategy;
mod sum;
pub mod winograd;
mod words;

pub(crate) use choose::Choice;
pub use compiled::{Compiled, WeightLayout};
pub(crate) use pack::Packing;
pub use pack::{Source, Weights};
pub(crate) use points::Cut;
#[cfg(test)]
use rows::compile as compile_rows;
pub(crate) use schedule::Work;
use schedule::bands_within;

use crate::asm::{Asm, Isa, Kind};
use choose::CostedChoice;
use convert::{CostedConversion, GroupCode};
use emit::{Ahead, LINE, TileCode};
use epilogue::{Epilogue, Lanes, Stream, Sums};
use pack::Packer;
use points::{PointDim, Tiles};
use registers::SPARE;
use relayc_ir::kernel::{ByteProducts, Columns, Contraction, ContractionDim, Factors, Operand, Target};
use relayc_ir::types::DType;
use sum::SumLoops;

/// A contraction with its code.
#[derive(Clone, Debug)]
pub(crate) struct ContractionCode {
    pub(crate) packing: Packing,
    /// Present only if every run packs the weights.
    packer: Option<Packer>,
    pub(crate) work: Work,
    tiles: Tiles,
    /// Code entries of each shape: for whole groups of columns, and for the last one.
    entries: Vec<[usize; 2]>,
    input: Place,
    /// The output, then the operands.
    streams: Vec<Place>,
    /// Location of the weights if they are read unpacked.
    weights: Option<Place>,
    /// Step from one part to the next in the packed weights, in bytes.
    weight_part: i64,
    /// Bytes of an element of the weights' packing.
    weight_bytes: u64,
    /// The code that converts a group's weights to F32 in scratch memory, if tiles read them there.
    group_code: Option<GroupCode>,
    bands_at_once: usize,
    /// Bytes of the next weights that a tile of each shape prefetches.
    next_bytes: Vec<i64>,
    flops: u64,
    /// The dtype of weights that are converted, and what that was estimated to cost.
    converted: Option<(DType, Option<CostedConversion>)>,
}

/// Start of a stream: an argument and a byte offset.
#[derive(Clone, Debug)]
struct Place {
    arg: usize,
    offset: i64,
    part: i64,
    /// Offset of each group of columns.
    groups: Vec<i64>,
}

/// Points for which the columns of a tile are chosen that any number of points shares.
const MANY_POINTS: u64 = 128;

/// Emits the code of a contraction. `None` without a reason: the plan then takes another kernel.
#[cfg(test)]
pub(crate) fn compile(contract: &Contraction, target: &Target, asm: &mut Asm) -> Option<ContractionCode> {
    let choice = choose::best(&candidates(contract, target, false));
    compile_with(contract, target, asm, choice)
}

/// Emits the code of a contraction, with this tile. `None` without a reason: the plan then takes another kernel.
pub(crate) fn compile_with(contract: &Contraction, target: &Target, asm: &mut Asm, choice: Choice) -> Option<ContractionCode> {
    compile_for(contract, target, asm, choice, false)
}

/// As [`compile_with`]; with code that sums of `any_length` share, if that is asked for.
fn compile_for(
    contract: &Contraction,
    target: &Target,
    asm: &mut Asm,
    choice: Choice,
    any_length: bool,
) -> Option<ContractionCode> {
    (contract.factors != Factors::Widened).then_some(())?;
    let narrowed = narrow(contract, lanes(contract, asm.isa()));
    let contract = narrowed.as_ref().unwrap_or(contract);
    let plan = Plan::of(contract, target, asm.isa())?;
    let streams = plan.streams(choice.vectors)?;
    let epilogue = plan.epilogue(&streams);
    let tiles = plan.tiles(&epilogue, choice.cut, asm.isa())?;
    let packing = packing(contract, asm.isa().lanes(), choice.vectors);
    let costed = plan.conversion(choice);
    let by_groups = costed.is_some_and(|costed| costed.is_by_groups());
    let group_code = contract.converted().filter(|_| by_groups).map(|dtype| convert::by_groups(&packing, dtype, asm));
    let converted = contract.converted().filter(|_| !by_groups);
    let entries = code(contract, &tiles, &epilogue, &packing, (plan.sum().fresh, converted, any_length), &plan.target, asm)?;
    let far = |cycles| with_weights(contract, cycles, &plan.target);
    let converted = contract.converted().map(|dtype| (dtype, costed.map(|costed| costed.map(far))));
    Some(ContractionCode { group_code, converted, ..plan.finish(packing, tiles, entries) })
}

/// The tiles that a contraction may have, with the modelled cycles of all parts; of those for `any_points`, the columns suit any
/// number of points. Vectors that do not lie evenly are computed one at a time.
fn candidates(contract: &Contraction, target: &Target, any_points: bool) -> Vec<CostedChoice> {
    let isa = if target.lanes == Isa::Avx512.lanes() { Isa::Avx512 } else { Isa::Avx2 };
    let narrowed = narrow(contract, lanes(contract, isa));
    let contract = narrowed.as_ref().unwrap_or(contract);
    let Some(plan) = Plan::of(contract, target, isa) else { return vec![] };
    let vectors = any_points.then(|| vectors_of_any(contract, &plan));
    let vectors = vectors.map(|vectors| if plan.streams(vectors).is_some() { vectors } else { 1 });
    let mut tiles = choose::weigh(&plan.dims, plan.n_vectors, vectors, plan.sum(), &plan.target);
    for one in &mut tiles {
        let cycles = plan.conversion(one.choice).map_or(one.cycles, |costed| costed.least());
        one.cycles = with_weights(contract, cycles, &plan.target);
    }
    tiles.retain(|one| vectors.is_some() || plan.streams(one.choice.vectors).is_some());
    tiles
}

/// The column vectors of a tile, chosen without the contraction's own points and their input.
fn vectors_of_any(contract: &Contraction, plan: &Plan) -> usize {
    let sum = choose::Sum::of(contract, &[], 0, &plan.target);
    let points = PointDim { extent: MANY_POINTS, steps: vec![0; 1 + plan.views.len()] };
    choose::choose(&[points], plan.n_vectors, sum, &plan.target).vectors
}

/// The modelled cycles of a contraction, which `winograd` and the plan compare.
pub(crate) fn cycles(contract: &Contraction, target: &Target) -> Option<f64> {
    let dims = points::merge(point_dims(contract)?);
    let lanes = target.lanes as u64 / words(contract);
    let n_vectors = contract.columns.div_ceil(lanes);
    let sum = choose::Sum::of(contract, &dims, input_bytes(contract), target);
    let choice = choose::choose(&dims, n_vectors, sum, target);
    let arithmetic = choose::cycles(&dims, choice.cut, choice.vectors as u64, n_vectors, sum, target)?;
    Some(with_weights(contract, arithmetic, target))
}

/// The cycles of all parts, given those of one part's tiles. Weights beyond the second-level cache are streamed meanwhile.
fn with_weights(contract: &Contraction, arithmetic: f64, target: &Target) -> f64 {
    let steps: u64 = contract.sum.iter().map(|dim| dim.extent).product();
    let weights = contract.weight_bytes() * steps * contract.columns;
    let far = if weights > target.l2 as u64 / 2 { weights } else { 0 };
    contract.groups as f64 * choose::beside(arithmetic, far)
}

/// Splits a contraction into parts of fewer columns, so that the columns of each vector are contiguous in every view.
///
/// The result is slower, because vectors are not full, but code exists for it. `None` if the contraction needs no split, or if
/// splitting does not help.
fn narrow(contract: &Contraction, lanes: usize) -> Option<Contraction> {
    let columns = contract.columns;
    let views = || [contract.out_columns].into_iter().chain(contract.operands.iter().map(|operand| operand.columns));
    let views: Vec<Columns> = views().map(|view| normal(view, columns)).collect();
    let whole = |view: &Columns| {
        let blocks = view.block >= columns || view.block.is_multiple_of(lanes as u64);
        blocks && (view.inner == 1 || view.inner == 0 && *view != views[0])
    };
    if views.iter().all(whole) || contract.groups != 1 {
        return None;
    }
    let all = [contract.weight_columns].into_iter().map(|view| normal(view, columns)).chain(views.iter().copied());
    let strided = |view: &Columns| view.inner.unsigned_abs() > 1;
    let block = match views.iter().any(strided) || views[0].inner == 0 {
        true => 1,
        false => all.clone().map(|view| view.block).min()?,
    };
    // From one part to the next, which has to be the same everywhere.
    let step = |view: Columns| {
        let at = |part: u64| view.offset(part * block);
        (1..columns / block).all(|part| at(part) - at(part - 1) == at(1) - at(0)).then(|| at(1))
    };
    if !columns.is_multiple_of(block) || columns == block {
        return None;
    }
    let steps: Vec<i64> = all.map(step).collect::<Option<_>>()?;
    let within = |view: Columns| Columns { block, outer: 0, inner: normal(view, columns).inner };
    let operands = contract.operands.iter().zip(&steps[2..]);
    Some(Contraction {
        groups: columns / block,
        group_steps: [0, steps[0], steps[1]],
        columns: block,
        weight_columns: within(contract.weight_columns),
        out_columns: within(contract.out_columns),
        operands: operands.map(|(one, step)| Operand { group: *step, columns: within(one.columns), ..one.clone() }).collect(),
        ..contract.clone()
    })
}

/// The inputs for cutting a contraction into tiles.
struct Plan<'a> {
    contract: &'a Contraction,
    /// Locations of the columns of the output and the operands, and their dtypes.
    views: Vec<Columns>,
    dtypes: Vec<DType>,
    dims: Vec<PointDim>,
    n_vectors: u64,
    target: Target,
}

/// Code entries of each shape, for whole groups of columns and for the last one, and the bytes of the next weights that its
/// tiles prefetch.
struct Entries {
    entries: Vec<[usize; 2]>,
    next_bytes: Vec<i64>,
}

impl<'a> Plan<'a> {
    fn of(contract: &'a Contraction, target: &Target, isa: Isa) -> Option<Plan<'a>> {
        let in_twos = || contract.sum.last().is_some_and(|last| last.extent.is_multiple_of(2));
        match contract.factors {
            Factors::Floats | Factors::WidePairs | Factors::Widened => {}
            Factors::Doubles => halves(contract).map(|_| ())?,
            Factors::Pairs => in_twos().then_some(())?,
            Factors::Bytes => (target.byte_products == ByteProducts::Words).then_some(())?,
        }
        let extents = contract.points.iter().map(|dim| dim.extent).chain(contract.sum.iter().map(|dim| dim.extent));
        if extents.chain([contract.columns, contract.groups]).any(|extent| extent == 0) || !in_range(contract) {
            return None;
        }
        let views = [contract.out_columns].into_iter().chain(contract.operands.iter().map(|operand| operand.columns));
        let dtypes = [contract.dtype].into_iter().chain(contract.operands.iter().map(|operand| operand.dtype));
        Some(Plan {
            contract,
            dtypes: dtypes.collect(),
            views: views.map(|view| normal(view, contract.columns)).collect(),
            dims: points::merge(point_dims(contract)?),
            n_vectors: contract.columns.div_ceil(lanes(contract, isa) as u64),
            target: Target { lanes: lanes(contract, isa), registers: isa.regs(), ..*target },
        })
    }

    fn sum(&self) -> choose::Sum {
        choose::Sum::of(self.contract, &self.dims, input_bytes(self.contract), &self.target)
    }

    /// Step to the next row of points in the input, in elements, if so many channels of all points are more than the second-level cache
    /// holds. Processors do not foresee what vectors are read next where these lie apart.
    fn row_to_prefetch(&self, channels: u64) -> Option<i64> {
        let points: u64 = self.dims.iter().map(|dim| dim.extent).product();
        let [.., row, _] = &self.dims[..] else { return None };
        (self.contract.factors.input_bytes() * channels * points > self.target.l2 as u64).then_some(row.steps[0])
    }

    /// What it costs to convert 16-bit weights for these tiles, if there are any.
    fn conversion(&self, choice: Choice) -> Option<CostedConversion> {
        self.contract.converted()?;
        CostedConversion::of(&self.dims, choice, self.n_vectors, self.sum(), &self.target)
    }

    /// The streams of the epilogue; `None` if no code exists for them.
    fn streams(&self, vectors: usize) -> Option<Vec<Stream>> {
        let streams = streams(&self.views, &self.dtypes, vectors, self.n_vectors, self.target.lanes)?;
        (streams[0].lanes == Lanes::Vector).then_some(streams)
    }

    fn epilogue<'s>(&'s self, streams: &'s [Stream]) -> Epilogue<'s> {
        Epilogue { body: &self.contract.body, result: self.contract.result, sum: self.contract.factors.sum(), streams }
    }

    /// The bytes of an element of the input, then of each stream of the epilogue.
    fn sizes(&self) -> Vec<i64> {
        [self.contract.factors.input_bytes() as i64]
            .into_iter()
            .chain(self.dtypes.iter().map(|dtype| dtype.bytes() as i64))
            .collect()
    }

    fn tiles(&self, epilogue: &Epilogue, cut: Cut, isa: Isa) -> Option<Tiles> {
        // AVX2 has no masks for bytes.
        let masked = !self.contract.columns.is_multiple_of(self.target.lanes as u64);
        (isa == Isa::Avx512 || !masked || epilogue.is_plain()).then_some(())?;
        epilogue.possible(isa).then_some(())?;
        let (input, weights) = (input_bytes(self.contract), weights_bytes(self.contract));
        // Where the input is larger than the weights, threads share its rows, and the weights are read again for each part of them
        // that fits the second-level cache. Otherwise threads share the columns, and all rows are read for each group of these.
        let few = match () {
            () if input <= self.target.l2 as u64 / 2 => 1,
            () if input >= weights => FEW_BUNDLES,
            () => 0,
        };
        points::cut(&self.dims, &self.sizes(), cut, few)
    }

    fn finish(&self, packing: Packing, tiles: Tiles, entries: Entries) -> ContractionCode {
        let contract = self.contract;
        let size = contract.factors.input_bytes() as i64;
        let work = work(contract, &tiles, &packing);
        ContractionCode {
            weights: None,
            weight_part: if packing.parts > 1 { (packed_bytes(contract) * packing.part_len()) as i64 } else { 0 },
            weight_bytes: packed_bytes(contract),
            group_code: None,
            bands_at_once: work.bands_at_once(self.target.l2),
            flops: 2
                * contract.factors.products()
                * contract.groups
                * work.bands.iter().sum::<u64>()
                * contract.columns
                * packing.steps(),
            input: Place {
                arg: contract.input.0,
                offset: size * contract.input.1,
                part: size * contract.group_steps[0],
                groups: vec![0; work.groups.len()],
            },
            streams: places(contract, &self.views, &self.dtypes, &packing),
            packer: None,
            packing,
            work,
            tiles,
            entries: entries.entries,
            next_bytes: entries.next_bytes,
            converted: contract.converted().map(|dtype| (dtype, None)),
        }
    }
}

/// The lanes of a vector of sums.
fn lanes(contract: &Contraction, isa: Isa) -> usize {
    isa.lanes() / words(contract) as usize
}

/// The lanes of 32 bits of a sum.
fn words(contract: &Contraction) -> u64 {
    if contract.factors == Factors::Doubles { 2 } else { 1 }
}

/// The positions of both halves of each column in weights of 64 bits, in halves; `None` for blocks of columns that lie apart.
fn halves(contract: &Contraction) -> Option<Columns> {
    match normal(contract.weight_columns, contract.columns) {
        Columns { block, inner, .. } if block >= contract.columns => Some(Columns { block: 2, outer: 2 * inner, inner: 1 }),
        Columns { block, outer, inner: 1 } => Some(Columns { block: 2 * block, outer: 2 * outer, inner: 1 }),
        _ => None,
    }
}

/// Bytes of an element of the weights' packing: of F64, that of half an element.
fn packed_bytes(contract: &Contraction) -> u64 {
    contract.weight_bytes() / words(contract)
}

/// Half the elements of 32 bits that a byte displacement can span, because a displacement is a sum of two: a point's, and a vector's or a
/// reduction step's.
const NEAR: u64 = 1 << 28;

/// Whether all points of a part are near each other in each stream, and all reduction steps in the input.
///
/// Then every offset inside a tile fits a displacement, whatever the cut. Parts that span a GiB or more therefore have no code
/// here.
fn in_range(contract: &Contraction) -> bool {
    let far = |extent: u64, step: i64| i128::from(extent) * i128::from(step).abs();
    let points = contract.points.iter().map(|dim| far(dim.extent, dim.input).max(far(dim.extent, dim.other))).sum::<i128>();
    let sum = contract.sum.iter().map(|dim| far(dim.extent, dim.input)).sum::<i128>();
    let operands = contract
        .operands
        .iter()
        .map(|operand| contract.points.iter().zip(&operand.points).map(|(dim, step)| far(dim.extent, *step)).sum::<i128>());
    points.max(sum).max(operands.max().unwrap_or(0)) < i128::from(NEAR / words(contract))
}

/// The dimensions of the points with all their streams.
fn point_dims(contract: &Contraction) -> Option<Vec<PointDim>> {
    let dim = |(at, dim): (usize, &ContractionDim)| {
        let own = [Some(dim.input), Some(dim.other)];
        let operands = contract.operands.iter().map(|operand: &Operand| operand.points.get(at).copied());
        Some(PointDim { extent: dim.extent, steps: own.into_iter().chain(operands).collect::<Option<_>>()? })
    };
    contract.points.iter().enumerate().map(dim).collect()
}

/// Normalizes blocks: blocks of one column, and contiguous blocks, become one block. A single column may have any stride.
fn normal(view: Columns, columns: u64) -> Columns {
    match view {
        _ if columns == 1 => Columns { block: 1, outer: 0, inner: 1 },
        Columns { block, inner, .. } if block >= columns => Columns { block: columns, outer: 0, inner },
        Columns { block: 1, outer, .. } => Columns { block: columns, outer: 0, inner: outer },
        Columns { block, outer, inner } if inner.checked_mul(block as i64) == Some(outer) => {
            Columns { block: columns, outer: 0, inner }
        }
        view => view,
    }
}

/// The streams of tiles of `vectors` column vectors.
///
/// `None` if the columns of a vector are not contiguous, groups differ, or the vectors of a group are too far apart.
fn streams(views: &[Columns], dtypes: &[DType], vectors: usize, n_vectors: u64, lanes: usize) -> Option<Vec<Stream>> {
    let stream = |(view, &dtype): (&Columns, &DType)| {
        let whole = view.block >= n_vectors * lanes as u64 || view.outer == 0 && view.inner == 0;
        let kind = match view.inner {
            1 => Lanes::Vector,
            0 => Lanes::Splat,
            _ => return None,
        };
        let last_block = (view.block > 0).then_some(view.block)?;
        if !whole && last_block % lanes as u64 != 0 && last_block < (n_vectors - 1) * lanes as u64 + 1 {
            return None;
        }
        let at = |vector: u64| view.offset(vector * lanes as u64);
        let step = if vectors > 1 { at(1) - at(0) } else { 0 };
        let groups = 0..n_vectors.div_ceil(vectors as u64);
        let even = groups.clone().all(|group| {
            let first = group * vectors as u64;
            (first..n_vectors.min(first + vectors as u64)).all(|v| at(v) - at(first) == (v - first) as i64 * step)
        });
        // How far a tile's vectors reach is part of a displacement.
        let near = step.checked_mul(vectors as i64)?.unsigned_abs() < NEAR;
        (even && near).then_some(Stream { lanes: kind, vector: step, dtype })
    };
    views.iter().zip(dtypes).map(stream).collect()
}

/// How weights are packed into vectors of 32-bit lanes.
fn packing(contract: &Contraction, lanes: usize, vectors: usize) -> Packing {
    let shared = contract.group_steps[1] == 0;
    let packing = Packing {
        parts: if shared { 1 } else { contract.groups },
        part_step: contract.group_steps[1],
        offset: contract.weight.1,
        sum: contract.sum.clone(),
        columns: contract.columns,
        source_columns: contract.weight_columns,
        lanes,
        vectors,
    };
    match halves(contract) {
        Some(columns) if contract.factors == Factors::Doubles => packing.of_halves(columns),
        _ => packing,
    }
}

/// Emits each shape for whole groups of columns, and for the last group if it differs. Tiles get the share of their input that
/// is fresh, the dtype of weights that they convert, and whether sums of any length share them.
fn code(
    contract: &Contraction,
    tiles: &Tiles,
    epilogue: &Epilogue,
    packing: &Packing,
    (fresh, converted, any_length): (f64, Option<DType>, bool),
    target: &Target,
    asm: &mut Asm,
) -> Option<Entries> {
    let (mut entries, mut next_bytes) = (Vec::new(), Vec::new());
    for shape in &tiles.shapes {
        let mut next = None;
        entries.push(each_variant(packing, asm, |asm, vectors, tail| {
            let feed = choose::feed(shape.len() as u64, vectors as u64, contract.factors, target)?;
            let per_step = shape.len() * vectors + shape.len() + vectors;
            let most = (CODE_INSTRUCTIONS / per_step as u64).clamp(16, 32);
            let mut sum = match contract.factors {
                Factors::Pairs => SumLoops::in_twos(&contract.sum, most),
                _ if any_length => SumLoops::of_any_length(&contract.sum),
                _ => SumLoops::of(&contract.sum, most),
            };
            if sum.loops.len() > SPARE.len() {
                return None;
            }
            let next_lines = if next.is_some() { 0 } else { next_lines(contract, packing, tiles, sum.rounds()) };
            next.get_or_insert((sum.rounds() as usize * next_lines * LINE) as i64);
            let ahead = ahead(shape.len() * vectors, &sum, fresh, target);
            // A partial vector would have to be loaded under its mask.
            let first = if tail.is_none() { epilogue.first_term(shape) } else { None };
            let sums = Sums { shape, vectors, tail, limit: None, first, epilogue };
            let (factors, count) = (contract.factors, sum.take_count());
            let (adds_apart, counted) = (choose::adds_apart(factors, target), count.is_some());
            let tile = TileCode { sums, feed, factors, adds_apart, converted, sum: &sum, counted, next_lines, ahead };
            let words = || format!("tile of {} points x {}", shape.len(), columns_of(vectors, tail));
            asm.function(Kind::Tile, &tile, count.as_slice(), |asm| {
                asm.mark(words());
                tile.emit(asm);
                Some(())
            })
        })?);
        next_bytes.push(next?);
    }
    Some(Entries { entries, next_bytes })
}

/// Emits a function for whole groups of columns, and one for the last group if it differs; returns the entries of both.
///
/// `emit` gets a number of vectors, and the number of lanes of the last one if that is partial; it returns the entry.
fn each_variant(
    packing: &Packing,
    asm: &mut Asm,
    mut emit: impl FnMut(&mut Asm, usize, Option<usize>) -> Option<usize>,
) -> Option<[usize; 2]> {
    let groups = packing.n_groups();
    let tail = Some((packing.columns % packing.lanes as u64) as usize).filter(|&tail| tail > 0);
    let last = (packing.group_vectors(groups - 1) as usize, tail);
    let whole = (packing.vectors, None);
    let mut entry = |(vectors, tail)| emit(asm, vectors, tail);
    let first = entry(if groups == 1 { last } else { whole })?;
    Some([first, if groups == 1 || last == whole { first } else { entry(last)? }])
}

/// Describes the columns of a tile in words.
fn columns_of(vectors: usize, tail: Option<usize>) -> String {
    let plural = if vectors == 1 { "" } else { "s" };
    let last = tail.map_or(String::new(), |lanes| format!(", {lanes} lanes in the last"));
    format!("{vectors} vector{plural} of columns{last}")
}

/// Number of cache lines of the next group's weights that an iteration prefetches, so that all arrive before this group's tiles
/// are done. With very many tiles, the wait of the first does not count.
fn next_lines(contract: &Contraction, packing: &Packing, tiles: &Tiles, rounds: u64) -> usize {
    let n_tiles = tiles.n_tiles as u64;
    let lines = packed_bytes(contract) * packing.part_len() / packing.n_groups() / LINE as u64;
    let all_rounds = n_tiles * rounds;
    let worth = n_tiles > 1 && packing.n_groups() > 1 && 2 * lines >= all_rounds;
    if worth { lines.div_ceil(all_rounds).min(16) as usize } else { 0 }
}

/// Input that steps of a tile do not share is prefetched. In a long reduction the distance is the iterations that cover the
/// memory latency; in a short one it is a tile.
fn ahead(sums: usize, sum: &SumLoops, fresh: f64, target: &Target) -> Ahead {
    const LATENCY: u64 = 400;
    let round = (sum.body.len() * sums / target.fmas.max(1)).max(1) as u64;
    let rounds = LATENCY.div_ceil(round);
    match () {
        () if fresh < 0.7 => Ahead::None,
        () if sum.loops.last().is_some_and(|inner| inner.count >= 4 * rounds) => Ahead::Rounds(rounds),
        () => Ahead::Tile,
    }
}

/// Approximate maximum number of instructions of a body without a loop, so that it stays in the cache of decoded instructions.
const CODE_INSTRUCTIONS: u64 = 1400;

fn places(contract: &Contraction, views: &[Columns], dtypes: &[DType], packing: &Packing) -> Vec<Place> {
    let group_columns = (packing.lanes * packing.vectors) as u64 / words(contract);
    let out = (contract.out.0, contract.out.1, contract.group_steps[2]);
    let operands = contract.operands.iter().map(|one| (one.arg, one.offset, one.group));
    let place = |((arg, offset, part), (view, dtype)): ((usize, i64, i64), (&Columns, &DType))| {
        let size = dtype.bytes() as i64;
        Place {
            arg,
            offset: size * offset,
            part: size * part,
            groups: (0..packing.n_groups()).map(|group| size * view.offset(group * group_columns)).collect(),
        }
    };
    [out].into_iter().chain(operands).zip(views.iter().zip(dtypes)).map(place).collect()
}

/// Up to so many bundles of rows would be shared unevenly among threads.
const FEW_BUNDLES: u64 = 8;

/// Bytes of the weights of a part.
fn weights_bytes(contract: &Contraction) -> u64 {
    contract.weight_bytes() * contract.columns * contract.sum.iter().map(|dim| dim.extent).product::<u64>()
}

/// Bytes from the first element of the input to the last, or all bytes read if that is less. Counted twice, because lines come
/// in pairs.
fn input_bytes(contract: &Contraction) -> u64 {
    let reach = |dims: &[ContractionDim]| dims.iter().map(|dim| (dim.extent - 1) * dim.input.unsigned_abs()).sum::<u64>();
    let reads: u64 = contract.points.iter().chain(&contract.sum).map(|dim| dim.extent).product();
    contract.factors.input_bytes() * (reach(&contract.points) + reach(&contract.sum) + 1).min(2 * reads)
}

fn work(contract: &Contraction, tiles: &Tiles, packing: &Packing) -> Work {
    Work {
        parts: contract.groups,
        bands: tiles.bands.iter().map(|band| band.points).collect(),
        groups: (0..packing.n_groups()).map(|group| packing.group_vectors(group)).collect(),
        band_bytes: input_bytes(contract) / tiles.bands.len() as u64,
        group_bytes: packed_bytes(contract) * packing.part_len() / packing.n_groups(),
    }
}

impl ContractionCode {
    /// Whether it reads packed weights; otherwise it reads them unpacked.
    pub(crate) fn is_packed(&self) -> bool {
        self.weights.is_none()
    }

    /// Goes over all channels of a few bands, in place of all bands for a few channels: where the channels of a point lie side by side,
    /// what one group of them reads brings in what the next ones read.
    fn take_channels_together(&mut self, contract: &Contraction, l2: usize) {
        let points: u64 = self.work.bands.iter().sum();
        let bytes = contract.factors.input_bytes() * contract.columns * points;
        self.bands_at_once = bands_within(l2, bytes / self.work.bands.len() as u64);
    }

    /// Multiplications and additions.
    pub(crate) fn flops(&self) -> u64 {
        self.flops
    }

    /// Describes the tiles in words: their sizes and numbers, and their number of vectors.
    pub(crate) fn describe(&self) -> String {
        let mut sizes: Vec<(usize, usize)> = Vec::new();
        for run in self.tiles.bands.iter().flat_map(|band| &band.runs) {
            let points = self.tiles.shapes[run.shape].len();
            match sizes.iter_mut().find(|(size, _)| *size == points) {
                Some((_, count)) => *count += run.end - run.begin,
                None => sizes.push((points, run.end - run.begin)),
            }
        }
        let sizes: Vec<String> =
            sizes.iter().map(|(points, count)| format!("{count} of {points}x{}", self.packing.vectors)).collect();
        sizes.join(", ")
    }
}

#[cfg(test)]
mod tests;
