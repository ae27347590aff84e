//! Winograd's method: convolutions by tiles of m×m outputs, with fewer multiplications, more additions and less accuracy.
//!
//! The window is `r`, three or two, times the stride `s`. With a stride above 1, rows and columns of the input that are equal
//! modulo `s` become channels of their own. Each channel becomes `s²` channels with a window of 3×3 or 2×2 and stride 1. No
//! element is moved for that; the transform reads with steps. (Toom and Cook's products of polynomials; Lavin and Gray, *Fast
//! Algorithms for Convolutional Neural Networks*, 2015, for 3×3.)
//!
//! A block of tiles is transformed into the inputs of `(m + r - 1)²` independent products. These run by the code of
//! contractions, on weights that are transformed at compile time. The results are transformed back vector by vector, with the
//! epilogue. Intermediate values are in scratch memory of one thread, sized for the second-level cache. A thread takes blocks
//! of tiles, or groups of columns of a block. No sum is split, so neither changes any bit.
//!
//! Sums of bytes ([`Factors::Pairs`]) are computed in whole numbers, exactly: the filters are multiples that need no fractions, and
//! the outputs are divided at the end. Absent: the decision whether the accuracy suffices.

mod filter;
mod transform;

pub(crate) use filter::Filters;
pub(crate) use transform::Size;

use super::choose::{self, Choice};
use super::emit::LINE;
use super::epilogue::Epilogue;
use super::points::{Cut, Parts, PointDim, Shape};
use super::schedule::Work;
use super::{ContractionCode, Packing, Place, Plan, compile_with, places};
use crate::asm::Asm;
use relayc_ir::kernel::{Body, Columns, Contraction, ContractionDim, Factors, Instr, Target, Val};
use relayc_ir::types::DType;
use std::ops::Range;
use transform::{Input, RUN};

/// A contraction recognized as a convolution whose window is two or three times its stride.
struct Parsed {
    window: Window,
    /// Steps of the outputs' rows and columns in the input, in elements.
    row: i64,
    column: i64,
    /// Loops over the vectors of channels, outermost first, with their counts and steps in the input. If a vector consists of
    /// runs of [`RUN`], also the step between them.
    loops: Vec<(u64, i64)>,
    runs: Option<i64>,
    /// The reduction without the taps, with its steps in the weights.
    channels: Vec<ContractionDim>,
    taps: [i64; 2],
}

/// A window, recognized in a reduction.
#[derive(Clone, Copy)]
struct Window {
    /// The reduced dimensions that are its rows and its columns.
    rows: usize,
    columns: usize,
    /// Taps a side, in steps of the stride; and the stride.
    side: u64,
    stride: u64,
}

impl Window {
    /// Finds the dimensions whose steps divide those of the outputs' rows and columns, and whose extents are two or three times
    /// the stride.
    fn of(contract: &Contraction) -> Option<Window> {
        let [.., height, width] = &contract.points[..] else { return None };
        let fits = |dim: &ContractionDim, step: i64| {
            let stride = (dim.input > 0 && step % dim.input == 0).then(|| (step / dim.input) as u64)?;
            let side = (stride > 0 && dim.extent.is_multiple_of(stride)).then(|| dim.extent / stride)?;
            matches!(side, 2 | 3).then_some((side, stride))
        };
        let (rows, of_rows) = contract.sum.iter().enumerate().find_map(|(at, dim)| Some((at, fits(dim, height.input)?)))?;
        let found = |(at, dim)| Some((at, fits(dim, width.input)?));
        let (columns, of_columns) = contract.sum.iter().enumerate().rev().find_map(found)?;
        let (side, stride) = of_rows;
        (rows != columns && of_rows == of_columns).then_some(Window { rows, columns, side, stride })
    }
}

/// Why channels do not suit the transforms.
const CHANNELS: &str = "channels do not lie in whole vectors";

impl Parsed {
    /// Recognizes a contraction. Errors: why it is no such convolution.
    fn of(contract: &Contraction, lanes: usize) -> Result<Parsed, &'static str> {
        let Some(window) = Window::of(contract) else { return Err("the window is not two or three times the stride") };
        let Window { rows, columns, stride, .. } = window;
        let [.., height, width] = &contract.points[..] else { return Err("there are no rows and columns") };
        let (kh, kw) = (contract.sum[rows], contract.sum[columns]);
        // What is equal modulo the stride: channels of their own.
        let phase = |dim: ContractionDim| ContractionDim { extent: stride, ..dim };
        let kept: Vec<ContractionDim> = contract
            .sum
            .iter()
            .enumerate()
            .filter(|(at, dim)| *at != rows && *at != columns && dim.extent > 1)
            .map(|(_, dim)| *dim)
            .collect();
        let n = lanes as u64;
        let pairs = contract.factors == Factors::Pairs;
        (!pairs || stride == 1).then_some(()).ok_or("bytes have stride 1 only")?;
        let whole = |dim: &ContractionDim| dim.input == 1 && dim.extent.is_multiple_of(n);
        // Half a vector from each of two blocks.
        let half = |outer: &ContractionDim, inner: &ContractionDim| {
            pairs && inner.input == 1 && 2 * inner.extent == n && outer.extent.is_multiple_of(2)
        };
        if let [outer, inner] = &kept[..]
            && half(outer, inner)
        {
            let channels = vec![*outer, *inner];
            let loops = Some((outer.extent / 2, 2 * outer.input)).filter(|(count, _)| *count > 1).into_iter().collect();
            let taps = [kh.other, kw.other];
            return Parsed::checked(
                contract,
                n,
                Parsed { window, row: height.input, column: width.input, loops, runs: Some(outer.input), channels, taps },
            );
        }
        let (outer, inner) = match &kept[..] {
            [inner] if whole(inner) => (None, Some(*inner)),
            [outer, inner] if whole(inner) => (Some(*outer), Some(*inner)),
            // Planes of single channels: the columns of a phase lie side by side.
            [] | [_] if kw.input == 1 && stride == RUN as u64 && !pairs => (kept.first().copied(), None),
            _ => return Err(CHANNELS),
        };
        let channels: Vec<ContractionDim> = outer.into_iter().chain([phase(kh), phase(kw)]).chain(inner).collect();
        let mut loops: Vec<(u64, i64)> = channels.iter().map(|dim| (dim.extent, dim.input)).collect();
        let runs = inner.is_none().then_some(kh.input);
        match runs {
            None => {
                loops.pop();
                loops.extend(inner.map(|inner| (inner.extent / n, lanes as i64)));
            }
            // A vector takes some rows of the phases, and all of their columns.
            Some(step) => {
                let rows = lanes / RUN;
                loops.truncate(loops.len() - 2);
                loops.push((stride / rows as u64, rows as i64 * step));
            }
        }
        loops.retain(|(count, _)| *count > 1);
        let taps = [kh, kw].map(|dim| stride as i64 * dim.other);
        Parsed::checked(contract, n, Parsed { window, row: height.input, column: width.input, loops, runs, channels, taps })
    }

    fn checked(contract: &Contraction, lanes: u64, parsed: Parsed) -> Result<Parsed, &'static str> {
        match () {
            () if contract.groups != 1 => Err("channels are in groups"),
            () if !contract.columns.is_multiple_of(lanes) => Err(CHANNELS),
            () => Ok(parsed),
        }
    }

    /// Number of vectors of channels, including those of phases.
    fn vectors(&self) -> u64 {
        self.loops.iter().map(|(count, _)| count).product()
    }

    fn allows(&self, size: Size) -> bool {
        size.taps() as u64 == self.window.side
    }
}

/// A convolution by Winograd's method with its code.
#[derive(Clone, Debug)]
pub(crate) struct Winograd {
    pub(crate) filters: Filters,
    /// The work; its bands are blocks of tiles.
    pub(crate) work: Work,
    pub(super) size: Size,
    /// Elements of scratch memory from one column vector to the next in a product's result.
    pub(super) vector: i64,
    pub(super) blocks: Vec<Block>,
    /// The products, for blocks of each number of tiles.
    pub(super) products: Vec<ContractionCode>,
    pub(super) input: Place,
    pub(super) streams: Vec<Place>,
    /// Elements of scratch memory from one product to the next: in its input, and in its result.
    pub(super) steps: [i64; 2],
    /// Number of groups of columns that are computed before they are transformed back.
    pub(super) groups_at_once: usize,
    /// Taps of the window a side, and its stride.
    pub(crate) window: u64,
    pub(crate) stride: u64,
    flops: u64,
}

/// A block of tiles.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Index of its products.
    pub(super) products: usize,
    /// `(entry, table)` for each kind of tile: of the input's transform, and of the output's.
    pub(super) inputs: Vec<(usize, Vec<i64>)>,
    pub(super) outputs: Vec<(usize, Vec<i64>)>,
}

/// The dimensions of blocks.
#[derive(Clone, Copy)]
struct Layout {
    /// Maximum number of tiles of a block.
    tiles: u64,
    blocks: u64,
    groups_at_once: u64,
    /// Cycles of all products.
    cycles: f64,
}

/// Emits the code; `None` if the plan must take another kernel.
pub(crate) fn compile(contract: &Contraction, size: Size, target: &Target, asm: &mut Asm) -> Option<Winograd> {
    let isa = asm.isa();
    let plan = Plan::of(contract, target, isa)?;
    let parsed = Parsed::of(contract, plan.target.lanes).ok().filter(|parsed| parsed.allows(size))?;
    let streams = plan.streams(1)?;
    let epilogue = plan.epilogue(&streams);
    epilogue.possible(isa).then_some(())?;
    let grid = Grid::of(contract, size)?;
    let lanes = plan.target.lanes;
    let (channels, columns) = (parsed.vectors() * lanes as u64, contract.columns);
    let layout = layout(grid.tiles(), channels, columns, size, &plan.target);
    // A step between products that is no multiple of a page keeps them out of each other's way in the first cache.
    let line = (LINE / 4) as i64;
    let step = |elements: u64| ((elements as i64 / line) | 1) * line + 2 * line;
    let packing = product_packing(contract, &parsed, &layout, size, &plan)?;
    let chunk = layout.groups_at_once * packing.vectors as u64 * lanes as u64;
    let steps = [step(layout.tiles * channels), step(layout.tiles * chunk)];
    // Whatever the code adds to a pointer, or has beside one.
    let window = size.inputs() as i64 * parsed.row.max(parsed.column);
    let far = parsed.loops.iter().map(|(count, step)| *count as i64 * step).chain([window]).map(i64::abs).max()?;
    i32::try_from(steps[0].max(steps[1]).checked_mul(4 * size.products() as i64)?).ok()?;
    i32::try_from(far.checked_mul(8)?).ok()?;
    let products = products(&grid, &layout, &parsed, contract, (size, packing.vectors as u64), &plan.target, asm)?;
    let mut kinds = Kinds { size, epilogue: &epilogue, grid: &grid, known: Vec::new() };
    let unit = contract.factors.input_bytes() as i64;
    let input = Input {
        size,
        row: unit * parsed.row,
        column: unit * parsed.column,
        loops: parsed.loops.iter().map(|(count, step)| (*count, unit * step)).collect(),
        runs: parsed.runs.map(|step| unit * step),
        to_step: 4 * (layout.tiles as i64) * lanes as i64,
        product: 4 * steps[0],
    };
    let mut blocks = Vec::new();
    for (first, length) in (Parts { total: grid.tiles(), count: layout.blocks }).ranges() {
        let products = products.iter().position(|one| one.work.bands.iter().sum::<u64>() == length)?;
        blocks.push(kinds.block(first..first + length, products, &input, 4 * steps[1], lanes, asm)?);
    }
    let groups: Vec<u64> = (0..packing.n_groups()).map(|group| packing.group_vectors(group)).collect();
    Some(Winograd {
        size,
        vector: layout.tiles as i64 * lanes as i64,
        work: Work {
            parts: 1,
            bands: (Parts { total: grid.tiles(), count: layout.blocks }).ranges().map(|(_, length)| length).collect(),
            band_bytes: super::input_bytes(contract) / layout.blocks,
            group_bytes: 4 * packing.part_len() * size.products() as u64 / packing.n_groups(),
            groups,
        },
        blocks,
        products,
        input: Place { arg: contract.input.0, offset: unit * contract.input.1, part: 0, groups: Vec::new() },
        // Of single vectors of columns.
        streams: places(contract, &plan.views, &plan.dtypes, &Packing { vectors: 1, ..packing.clone() }),
        steps,
        groups_at_once: layout.groups_at_once as usize,
        window: parsed.window.side * parsed.window.stride,
        stride: parsed.window.stride,
        flops: 2
            * parsed.window.side
            * parsed.window.side
            * contract.factors.products()
            * contract.points.iter().map(|dim| dim.extent).product::<u64>()
            * channels
            * columns,
        filters: Filters { size, dtype: contract.weight_dtype, packing, taps: parsed.taps },
    })
}

/// Whether Winograd's method is worth a remark: not for a window of one tap.
pub(crate) fn has_window(contract: &Contraction) -> bool {
    Window::of(contract).is_some() || contract.sum.iter().filter(|dim| dim.extent == 3).count() >= 2
}

/// The data behind the choice between Winograd's method and the direct sum.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Comparison {
    /// Cycles of the direct sum.
    pub(crate) direct: Option<f64>,
    /// Cycles of each tile size, or why it does not apply.
    pub(crate) sizes: Vec<(Size, Result<f64, &'static str>)>,
    /// The fastest tile size, if it is faster than the direct sum.
    pub(crate) best: Option<Size>,
}

/// Compares Winograd's method with the direct sum, for tiles at least as accurate as tiles of `most` outputs of 3×3 windows.
///
/// Weights that are not `constant` are packed in each run, and that time counts.
pub(crate) fn weigh(contract: &Contraction, most: u64, constant: bool, target: &Target) -> Comparison {
    // The same for any number of threads, as the results' bits depend on it.
    let target = &Target { threads: 1, ..*target };
    let weights = contract.columns * contract.sum.iter().map(|dim| dim.extent).product::<u64>();
    let packing = |each: f64| if constant { 0.0 } else { each * weights as f64 };
    let direct = super::cycles(contract, target).map(|cycles| cycles + packing(PACKING));
    let cycles = |size: Size| match size.inputs() as u64 <= most + 2 {
        true => cycles(contract, size, target).map(|cycles| cycles + packing(size.packing())),
        false => Err("not within the accuracy that is asked for"),
    };
    let side = Window::of(contract).map_or(3, |window| window.side);
    let of_kind: &[Size] = if contract.factors == Factors::Pairs { &[Size::Whole] } else { &Size::ALL };
    let sizes = of_kind.iter().copied().filter(|size| size.taps() as u64 == side);
    let sizes: Vec<_> = sizes.map(|size| (size, cycles(size))).collect();
    let timed = sizes.iter().filter_map(|(size, cycles)| Some((cycles.ok()?, *size)));
    let least = timed.min_by(|a, b| a.0.total_cmp(&b.0));
    let best = least.and_then(|(cycles, size)| (cycles < GAIN * direct?).then_some(size));
    Comparison { direct, sizes, best }
}

/// Cycles of packing one weight of a direct sum in a run. Measured, like [`Size::packing`], with 0.6 and 2.4 million weights on
/// a Zen 4.
pub(crate) const PACKING: f64 = 5.0;

/// Ratio of cycles above which the gain is not worth the accuracy.
pub(crate) const GAIN: f64 = 0.9;

/// The modelled cycles of a convolution by Winograd's method: the products, and the transforms, which are bound by loads,
/// stores and additions.
///
/// Errors: why the method does not apply.
pub(crate) fn cycles(contract: &Contraction, size: Size, target: &Target) -> Result<f64, &'static str> {
    let parsed = Parsed::of(contract, target.lanes)?;
    let tiles = Grid::of(contract, size).ok_or("there are no rows and columns")?.tiles();
    let vectors = parsed.vectors();
    let layout = layout(tiles, vectors * target.lanes as u64, contract.columns, size, target);
    let (input, output) = match size {
        Size::Two => (48.0, 48.0),
        Size::Three => (48.0, 60.0),
        Size::Four => (130.0, 130.0),
        Size::Five => (130.0, 160.0),
        Size::Whole => (150.0, 170.0),
    };
    // Runs are loaded one by one.
    let runs = if size == Size::Whole { 2 } else { target.lanes / RUN };
    let loads = (size.products() * (parsed.runs.map_or(1, |_| runs) - 1)) as f64;
    let columns = contract.columns / target.lanes as u64;
    Ok(layout.cycles + tiles as f64 * (vectors as f64 * (input + loads) + columns as f64 * output))
}

/// The tile of the products' code: equal parts of a block, as large as registers allow.
fn cut(tiles: u64, vectors: u64, size: Size, target: &Target) -> Choice {
    let most = (1..target.registers as u64).rev().find(|points| {
        matches!(
            choose::feed(*points, vectors, size.factors(), target),
            Some(choose::Feed::KeepWeights | choose::Feed::KeepInput)
        )
    });
    Choice { cut: Cut { rows: 1, most: most.unwrap_or(1).min(tiles) }, vectors: vectors as usize }
}

/// Number of column vectors of the products' tiles that gives the fewest cycles for a block.
fn vectors(tiles: u64, channels: u64, n_vectors: u64, size: Size, target: &Target) -> u64 {
    let sum = choose::Sum { factors: size.factors(), steps: channels, fresh: 1.0, input: 0.01, conversions: 0.0, half: false };
    let cycles = |vectors: &u64| {
        let Choice { cut, .. } = cut(tiles, *vectors, size, target);
        let dims = [PointDim { extent: tiles, steps: Vec::new() }];
        choose::cycles(&dims, cut, *vectors, n_vectors, sum, target).unwrap_or(f64::INFINITY)
    };
    (1..=n_vectors.min(6)).min_by(|a, b| cycles(a).total_cmp(&cycles(b))).unwrap_or(1)
}

fn product_packing(contract: &Contraction, parsed: &Parsed, layout: &Layout, size: Size, plan: &Plan) -> Option<Packing> {
    let lanes = plan.target.lanes;
    Some(Packing {
        parts: 1,
        part_step: 0,
        offset: contract.weight.1,
        sum: parsed.channels.clone(),
        columns: contract.columns,
        source_columns: contract.weight_columns,
        lanes,
        vectors: vectors(layout.tiles, parsed.vectors() * lanes as u64, plan.n_vectors, size, &plan.target) as usize,
    })
}

/// Emits the code of the products, for blocks of each length.
fn products(
    grid: &Grid,
    layout: &Layout,
    parsed: &Parsed,
    contract: &Contraction,
    (size, vectors): (Size, u64),
    target: &Target,
    asm: &mut Asm,
) -> Option<Vec<ContractionCode>> {
    let lengths = Parts { total: grid.tiles(), count: layout.blocks }.lengths();
    let compile = |(_, length): (u64, u64)| {
        let product = product(length, layout, parsed, contract, size, target.lanes);
        compile_with(&product, target, asm, cut(length, vectors, size, target))
    };
    lengths.into_iter().filter(|(count, _)| *count > 0).map(compile).collect()
}

/// The product of a block of `length` tiles on scratch memory. Its arguments are the transformed input, nothing, the result.
fn product(length: u64, layout: &Layout, parsed: &Parsed, contract: &Contraction, size: Size, lanes: usize) -> Contraction {
    let lanes = lanes as i64;
    let plane = layout.tiles as i64 * lanes;
    Contraction {
        factors: size.factors(),
        dtype: if size.factors() == Factors::Floats { DType::F32 } else { DType::I32 },
        weight_dtype: DType::F32,
        groups: 1,
        group_steps: [0; 3],
        points: vec![ContractionDim { extent: length, input: lanes, other: lanes }],
        columns: contract.columns,
        sum: vec![
            ContractionDim { extent: parsed.vectors(), input: plane, other: lanes },
            ContractionDim { extent: lanes as u64, input: 1, other: 1 },
        ],
        weight_columns: Columns { block: contract.columns, outer: 0, inner: 1 },
        out_columns: Columns { block: lanes as u64, outer: plane, inner: 1 },
        input: (0, 0),
        weight: (1, 0),
        out: (2, 0),
        body: Body { instrs: vec![Instr::Read(0)] },
        result: Val(0),
        operands: Vec::new(),
    }
}

/// Cycles to enter and leave the code of a group of columns.
const CALL_CYCLES: f64 = 60.0;

/// Candidate numbers of tiles in a block, besides all tiles.
const LENGTHS: [u64; 16] = [8, 12, 14, 20, 24, 28, 36, 42, 56, 70, 84, 98, 112, 140, 196, 280];

/// Chooses blocks whose transformed input stays in half of the second-level cache. If the weights are very large, blocks are
/// larger, so that weights are read once.
fn layout(tiles: u64, channels: u64, columns: u64, size: Size, target: &Target) -> Layout {
    let products = size.products() as u64;
    let (per_tile_in, per_tile_out) = (4 * products * channels, 4 * products * columns);
    let weights = 4 * products * channels * columns;
    let l2 = target.l2 as u64;
    let threads = target.threads.max(1) as u64;
    let cost = |blocks: &u64| {
        let length = tiles.div_ceil(*blocks);
        let vectors = vectors(length, channels, columns / target.lanes as u64, size, target);
        let Choice { cut, .. } = cut(length, vectors, size, target);
        let sum =
            choose::Sum { factors: size.factors(), steps: channels, fresh: 1.0, input: 0.01, conversions: 0.0, half: false };
        let dims = [PointDim { extent: length, steps: Vec::new() }];
        let arithmetic = choose::cycles(&dims, cut, vectors, columns / target.lanes as u64, sum, target);
        let groups = (columns / target.lanes as u64).div_ceil(vectors);
        let arithmetic = (products * blocks) as f64 * (arithmetic.unwrap_or(f64::INFINITY) + CALL_CYCLES * groups as f64);
        let far = if weights > l2 / 2 { blocks * weights } else { 0 };
        let spilled = if length * per_tile_in > l2 / 2 { tiles * (3 * per_tile_in + 2 * per_tile_out) } else { 0 };
        // Blocks that threads cannot share evenly are paid with transforms of the input by each.
        let uneven = if blocks.is_multiple_of(threads) || *blocks > 4 * threads { 0 } else { tiles * per_tile_in };
        choose::beside(arithmetic, far) + (spilled + uneven) as f64 / (target.l2_bytes as f64 / 4.0)
    };
    // A share for each thread as well as one for all.
    let lengths = LENGTHS.iter().copied().filter(|length| *length < tiles).chain([tiles]);
    let counts = lengths.map(|length| tiles.div_ceil(length)).flat_map(|count| [count, count.next_multiple_of(threads)]);
    let blocks = counts.filter(|count| *count <= tiles).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(1);
    let length = tiles.div_ceil(blocks);
    let vectors = vectors(length, channels, columns / target.lanes as u64, size, target);
    let group = 4 * products * length * vectors * target.lanes as u64;
    let room = (l2 * 3 / 4).saturating_sub(length * per_tile_in).max(l2 / 4);
    let groups = (columns / target.lanes as u64).div_ceil(vectors);
    let groups_at_once = (room / group.max(1)).clamp(1, groups);
    Layout { tiles: length, blocks, groups_at_once, cycles: cost(&blocks) }
}

/// The tiles of all maps of a batch, row by row.
struct Grid<'a> {
    contract: &'a Contraction,
    outer: u64,
    height: u64,
    width: u64,
    m: u64,
}

impl<'a> Grid<'a> {
    fn of(contract: &'a Contraction, size: Size) -> Option<Grid<'a>> {
        let [outer @ .., height, width] = &contract.points[..] else { return None };
        let outer = outer.iter().map(|dim| dim.extent).product();
        Some(Grid { contract, outer, height: height.extent, width: width.extent, m: size.outputs() as u64 })
    }

    fn tiles(&self) -> u64 {
        self.outer * self.height.div_ceil(self.m) * self.width.div_ceil(self.m)
    }

    /// A tile's start in the input and in each stream, in elements, and its number of rows and columns.
    fn tile(&self, tile: u64) -> (Vec<i64>, usize, usize) {
        let across = self.width.div_ceil(self.m);
        let down = self.height.div_ceil(self.m);
        let (x, y, mut outer) = (tile % across * self.m, tile / across % down * self.m, tile / across / down);
        let dims = &self.contract.points;
        let mut index = vec![0; dims.len()];
        for (index, dim) in index.iter_mut().zip(dims).rev().skip(2) {
            *index = outer % dim.extent;
            outer /= dim.extent;
        }
        (index[dims.len() - 2], index[dims.len() - 1]) = (y, x);
        let place = (0..2 + self.contract.operands.len()).map(|stream| self.place(&index, stream)).collect();
        (place, (self.height - y).min(self.m) as usize, (self.width - x).min(self.m) as usize)
    }

    fn step(&self, dim: usize, stream: usize) -> i64 {
        match stream {
            0 => self.contract.points[dim].input,
            1 => self.contract.points[dim].other,
            operand => self.contract.operands[operand - 2].points[dim],
        }
    }

    fn place(&self, index: &[u64], stream: usize) -> i64 {
        index.iter().enumerate().map(|(dim, index)| *index as i64 * self.step(dim, stream)).sum()
    }

    /// Offsets of a tile's outputs, row by row.
    fn shape(&self, rows: usize, columns: usize) -> Shape {
        let (y, x) = (self.contract.points.len() - 2, self.contract.points.len() - 1);
        let point = |at: usize| {
            let (i, j) = ((at / columns) as i64, (at % columns) as i64);
            (0..2 + self.contract.operands.len()).map(|stream| i * self.step(y, stream) + j * self.step(x, stream)).collect()
        };
        (0..rows * columns).map(point).collect()
    }
}

/// The code of each kind of tile.
struct Kinds<'a> {
    size: Size,
    epilogue: &'a Epilogue<'a>,
    grid: &'a Grid<'a>,
    /// `(rows, columns)` and the entries of the two transforms.
    known: Vec<((usize, usize), [usize; 2])>,
}

impl Kinds<'_> {
    fn block(
        &mut self,
        tiles: Range<u64>,
        products: usize,
        input: &Input,
        product: i64,
        lanes: usize,
        asm: &mut Asm,
    ) -> Option<Block> {
        let mut block = Block { products, inputs: Vec::new(), outputs: Vec::new() };
        for (at, tile) in tiles.enumerate() {
            let (place, rows, columns) = self.grid.tile(tile);
            let [read, write] = self.entries(rows, columns, input, product, asm);
            let scratch = 4 * (at * lanes) as i64;
            let unit = self.grid.contract.factors.input_bytes() as i64;
            add(&mut block.inputs, read, [place[0].checked_mul(unit)?, scratch].into_iter());
            let streams = place[1..].iter().zip(self.epilogue.streams);
            add(&mut block.outputs, write, [scratch].into_iter().chain(streams.map(|(place, stream)| stream.bytes() * place)));
        }
        Some(block)
    }

    fn entries(&mut self, rows: usize, columns: usize, input: &Input, product: i64, asm: &mut Asm) -> [usize; 2] {
        if let Some((_, entries)) = self.known.iter().find(|(kind, _)| *kind == (rows, columns)) {
            return *entries;
        }
        asm.align(LINE);
        let read = asm.here();
        let [down, across] = [rows, columns].map(|outputs| outputs + self.size.taps() - 1);
        asm.mark(format!("transform of {down}x{across} inputs"));
        transform::input(asm, input, down, across);
        asm.align(LINE);
        let write = asm.here();
        asm.mark(format!("transform to {rows}x{columns} outputs, epilogue"));
        transform::output(asm, self.size, self.epilogue, product, &self.grid.shape(rows, columns), rows, columns);
        self.known.push(((rows, columns), [read, write]));
        [read, write]
    }
}

fn add(tables: &mut Vec<(usize, Vec<i64>)>, entry: usize, row: impl Iterator<Item = i64>) {
    match tables.iter_mut().find(|(known, _)| *known == entry) {
        Some((_, table)) => table.extend(row),
        None => tables.push((entry, row.collect())),
    }
}

impl Winograd {
    /// Multiplications and additions of the direct sum.
    pub(crate) fn flops(&self) -> u64 {
        self.flops
    }

    /// Number of elements of scratch memory for each thread.
    pub(crate) fn scratch_len(&self) -> usize {
        self.size.products() * (self.steps[0] + self.steps[1]) as usize
    }

    /// Number of outputs a side of a tile.
    pub(crate) fn outputs(&self) -> usize {
        self.size.outputs()
    }

    /// Describes the tiles in words.
    #[cfg(test)]
    pub(crate) fn describe(&self) -> String {
        let tiles: Vec<u64> = self.products.iter().map(|one| one.work.bands.iter().sum()).collect();
        let (m, n) = (self.size.outputs(), self.blocks.len());
        format!(
            "F({m}x{m}), {n} blocks of {tiles:?} tiles by {}, {} groups at once",
            self.products[0].describe(),
            self.groups_at_once
        )
    }
}
