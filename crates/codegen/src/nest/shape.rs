//! Chooses how a nest is walked: what lies in lanes, what an item of work is, how many vectors run side by side.
//!
//! **Lanes** are independent points of a kept dimension, or the points of a reduced one, whose results are then joined across
//! lanes. Each candidate has a cost for each element:
//!
//! * 1 for an access of unit stride;
//! * ½ for one of stride zero;
//! * 3 for a read of stride two;
//! * the number of lanes for any other (a gather, or as many scalar stores).
//!
//! The sum is multiplied by the waste of the last vector; reductions across lanes add the cost of joining. The cheapest
//! candidate wins; among equals the first, kept before reduced. A clipped dimension holds no lanes, because all lanes share
//! bounds.
//!
//! **Walk**: if the lane dimension fills more than a few vectors, the inner loop goes along it. Otherwise the inner loop goes
//! along the next kept dimension, with all vectors of the lane dimension in each step. The remaining kept dimensions are items.
//! If items are few, a walk is cut into chunks of whole tiles, so the same instructions compute each point however items are
//! distributed. A long walk that re-reads data along the lanes in the next item (a bias for each column) is cut too. All items
//! of one chunk then run before the next, so that the data stays in the first-level cache. A walk along which windows are
//! clipped has three segments; the windows of the inner one are whole.
//!
//! **Crossing**: an elementwise nest may read along one dimension and write along another. Lanes lie along the write, and the
//! walk goes along the read. As many steps as there are lanes are read as whole vectors and transposed in registers.

use super::normalize::{NormalizedNest, PrimitiveStage};
use relayc_ir::kernel::{Access, BinaryOp, Instr, Reduction, Steps, Val};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LaneDim {
    /// A single lane: no dimension that could hold lanes has an extent above 1.
    Single,
    Kept(usize),
    Reduced(usize),
}

impl LaneDim {
    /// The name of the strategy with these lanes.
    pub(crate) fn name(self) -> String {
        match self {
            LaneDim::Single => "one lane".into(),
            LaneDim::Kept(at) => format!("lanes over axis {at}"),
            LaneDim::Reduced(at) => format!("lanes over reduced axis {at}"),
        }
    }

    /// The lanes of a nest that a strategy's name means.
    pub(crate) fn named(name: &str, n: &NormalizedNest) -> Option<LaneDim> {
        let kept = (0..n.dims.len()).map(LaneDim::Kept);
        kept.chain((0..n.reduce.len()).map(LaneDim::Reduced)).find(|lane| lane.name() == name)
    }
}

/// A dimension of the items: kept dimension `dim` in steps of `scale`.
#[derive(Clone, Copy, Hash, Debug)]
pub(crate) struct Outer {
    pub(crate) dim: usize,
    pub(crate) extent: u64,
    pub(crate) scale: u64,
}

/// How a walk is cut: steps of a chunk, steps of the last one, and the position of its dimension among those of the items.
#[derive(Clone, Copy, Hash, Debug)]
pub(crate) struct Chunk {
    pub(crate) steps: u64,
    pub(crate) last: u64,
    pub(crate) outer: usize,
}

#[derive(Clone, Hash, Debug)]
pub(crate) struct Shape {
    pub(crate) lane: LaneDim,
    /// Extent of the lane dimension.
    pub(crate) lane_extent: u64,
    pub(crate) walk: Option<usize>,
    /// Number of vectors of the lane dimension in each step of the walk; 1 if the walk goes along the lanes.
    pub(crate) vectors: usize,
    /// Number of steps of the walk in a tile.
    pub(crate) unroll: usize,
    /// Dimensions of the items, outermost first.
    pub(crate) outer: Vec<Outer>,
    /// Reads that are transposed: they have unit stride along the walk, but not along the lanes.
    pub(crate) crossing: Vec<usize>,
    /// Reads of reductions that are transposed likewise, along the innermost reduced dimension.
    pub(crate) turned: Vec<usize>,
    /// Whether items go along the lane dimension, `vectors` at a time, while the walk goes along another.
    pub(crate) blocks: bool,
    /// How the walk is cut, if it is.
    pub(crate) chunk: Option<Chunk>,
}

/// Cost of an element for each dimension that may hold the lanes.
pub(crate) type Prices = Vec<(LaneDim, f64)>;

/// With more vectors of the lane dimension than this, the walk goes along it.
const SIDE_BY_SIDE: u64 = 4;
/// If lanes are reduced, rows are computed side by side, one for this many lanes: while one waits for its accumulation, others
/// proceed. More rows would exceed the registers. Longer rows get fewer, so that all of them stay in the first-level cache:
/// more than two only if it also holds all data along them.
const LANES_PER_ROW: usize = 4;
const ROWS_ELEMENTS: u64 = 4096;
const ROWS_BYTES: u64 = 24 << 10;
/// Elements of a cache line.
const LINE: usize = 16;
/// The cost of a transposed element, relative to others.
const CROSSING: f64 = 2.0;
/// The cost of an element of a vector whose elements lie near each other, relative to others.
const NEAR: f64 = 4.0;
/// Longer bodies are not repeated for as many steps as there are lanes.
const CROSSED: usize = 24;
/// Approximate number of elements of a chunk, and the number of items that suffices to distribute work.
const CHUNK: u64 = 8192;
/// Instructions of a long body, and approximate number of instructions of a chunk with one.
const LONG: u64 = 40;
const CHUNK_INSTRS: u64 = 8192;
const ENOUGH_ITEMS: u64 = 32;
/// Re-read data stays in the first-level cache if at most this many bytes are moved in between: half of the smallest such
/// cache.
const RETURNING: u64 = 16 << 10;
/// If the moved data exceeds the caches, starting a new row every few thousand bytes costs more than it saves.
const CACHED: u64 = 8 << 20;

impl Shape {
    /// The shape with lanes in the `wanted` dimension if that can hold them, else in the cheapest.
    pub(crate) fn new(n: &NormalizedNest, lanes: usize, wanted: Option<LaneDim>) -> (Shape, Prices) {
        let prices = prices(n, lanes);
        let lane = wanted.filter(|wanted| prices.iter().any(|(lane, _)| lane == wanted)).unwrap_or_else(|| cheapest(&prices));
        let lane_extent = match lane {
            LaneDim::Single => 1,
            LaneDim::Kept(at) => n.dims[at],
            LaneDim::Reduced(at) => n.reduce[at].extent,
        };
        let n_vectors = lane_extent.div_ceil(lanes as u64);
        let side_by_side = SIDE_BY_SIDE.min(most_vectors(n, lanes) as u64);
        let crossing = crossing(n, lane, lanes);
        let (walk, vectors) = match lane {
            LaneDim::Kept(_) if crossing.is_some() => {
                let walk = crossing.as_ref().map(|crossing| crossing.0);
                // Two vectors where one does not fill a cache line, so that lines are written whole.
                let line = if lanes < LINE && lane_extent.is_multiple_of(LINE as u64) { LINE / lanes } else { 1 };
                (walk, if n_vectors > side_by_side { line } else { n_vectors as usize })
            }
            LaneDim::Reduced(_) => (n.dims.len().checked_sub(1), 1),
            LaneDim::Kept(at) if n_vectors > side_by_side => (Some(at), 1),
            // The last other kept dimension moves least in what is written.
            LaneDim::Kept(at) => ((0..n.dims.len()).rev().find(|&dim| dim != at), n_vectors as usize),
            LaneDim::Single => (n.dims.len().checked_sub(1), 1),
        };
        let blocks = crossing.is_some() && n_vectors > side_by_side;
        let crossing = crossing.map_or(Vec::new(), |crossing| crossing.1);
        let (outer, turned) = (Vec::new(), turned(n, lane, lanes));
        let mut shape = Shape { lane, lane_extent, walk, vectors, unroll: 1, outer, crossing, turned, blocks, chunk: None };
        shape.unroll = match () {
            () if !shape.crossing.is_empty() => lanes,
            () if !shape.turned.is_empty() => 1,
            () => shape.tile_steps(n, lanes).min(most_vectors(n, lanes) / shape.vectors).max(1),
        };
        for (dim, &extent) in n.dims.iter().enumerate() {
            if Some(dim) != walk && LaneDim::Kept(dim) != lane {
                shape.outer.push(Outer { dim, extent, scale: 1 });
            }
        }
        if let (true, LaneDim::Kept(dim)) = (blocks, lane) {
            let block = vectors as u64 * lanes as u64;
            shape.outer.push(Outer { dim, extent: lane_extent.div_ceil(block), scale: block });
        }
        shape.cut(n, lanes as u64);
        (shape, prices)
    }

    pub(crate) fn walks_lanes(&self) -> bool {
        self.walk.is_some_and(|walk| self.lane == LaneDim::Kept(walk))
    }

    /// Extent of the walk; 1 without one.
    pub(crate) fn walk_extent(&self, n: &NormalizedNest) -> u64 {
        self.walk.map_or(1, |walk| n.dims[walk])
    }

    pub(crate) fn n_items(&self) -> u64 {
        self.outer.iter().map(|outer| outer.extent).product()
    }

    /// The stride from lane to lane.
    pub(crate) fn lane_stride(&self, access: &Access, each: bool) -> i64 {
        lane_stride(access, self.lane, each)
    }

    /// The steps of a gather's displacements from lane to lane.
    pub(crate) fn lane_steps(&self, n: &NormalizedNest, program: &PrimitiveStage, at: Val, steps: Steps) -> Steps {
        match steps {
            Steps::Rising(table) | Steps::Small(table) if follows_table(n, program, self.lane, (at, table)) => steps,
            _ => Steps::Any,
        }
    }

    /// The values of a stage that are equal in all lanes.
    pub(crate) fn uniform(&self, n: &NormalizedNest, program: &PrimitiveStage) -> Vec<bool> {
        uniform(n, program, self.lane)
    }

    /// Uses many steps for a short body, so that pointers and counters cost little.
    fn tile_steps(&self, n: &NormalizedNest, lanes: usize) -> usize {
        if self.walk.is_none() {
            return 1;
        }
        if let LaneDim::Reduced(_) = self.lane {
            let most = lanes / LANES_PER_ROW;
            let fits =
                |rows: u64| rows * n.reduced_points() <= ROWS_ELEMENTS && (rows <= 2 || self.bytes_along(n, rows) <= ROWS_BYTES);
            return (1..=most).rev().find(|&rows| rows.is_power_of_two() && fits(rows as u64)).unwrap_or(1);
        }
        let length: usize = n.stages.iter().map(|stage| stage.body.instrs.len()).sum();
        let steps = match length {
            0..=12 => 4,
            13..=40 => 2,
            _ => 1,
        };
        (steps / self.vectors).max(1)
    }

    /// Bytes of `rows` rows along the reduced dimensions: data of each row, plus data that they share.
    fn bytes_along(&self, n: &NormalizedNest, rows: u64) -> u64 {
        let along = n.accesses.iter().filter(|access| access.reduced.iter().any(|&stride| stride != 0));
        let bytes = along.map(|access| {
            let own = self.walk.is_some_and(|walk| access.kept[walk] != 0);
            n.reduced_points() * access.dtype.bytes() * if own { rows } else { 1 }
        });
        bytes.sum()
    }

    /// Cuts the walk into chunks of whole tiles if items are few.
    fn cut(&mut self, n: &NormalizedNest, lanes: u64) {
        let Some(walk) = self.walk else { return };
        let (items, extent) = (self.n_items(), n.dims[walk]);
        if let Some(chunk) = self.returning(n, lanes) {
            let chunks = extent.div_ceil(chunk);
            self.outer.insert(0, Outer { dim: walk, extent: chunks, scale: chunk });
            self.chunk = Some(Chunk { steps: chunk, last: extent - (chunks - 1) * chunk, outer: 0 });
            return;
        }
        // A walk along which windows are clipped has other code at its ends.
        let clipped = n.reduce.iter().any(|dim| dim.clip.is_some_and(|clip| clip.dim == walk));
        if items == 0 || items >= ENOUGH_ITEMS || clipped {
            return;
        }
        let lane_step = if self.walks_lanes() { lanes } else { 1 };
        let tile = self.unroll as u64 * lane_step;
        let side = match () {
            () if self.walks_lanes() => 1,
            () if self.blocks => lanes * self.vectors as u64,
            () => self.lane_extent,
        };
        let per_point = n.reduced_points().max(1).saturating_mul(side).max(1);
        let length = n.stages.iter().map(|stage| stage.body.instrs.len() as u64).sum::<u64>();
        // A few hundred elements of a long body are worth an item.
        let least = if length > LONG { CHUNK_INSTRS / length } else { CHUNK };
        let elements = items.saturating_mul(extent).saturating_mul(per_point) / ENOUGH_ITEMS;
        let elements = elements.clamp(least.min(CHUNK), CHUNK);
        let chunk = (elements / per_point).max(1).next_multiple_of(tile);
        if extent > chunk {
            let chunks = extent.div_ceil(chunk);
            self.chunk = Some(Chunk { steps: chunk, last: extent - (chunks - 1) * chunk, outer: self.outer.len() });
            self.outer.push(Outer { dim: walk, extent: chunks, scale: chunk });
        }
    }

    /// The chunk of an elementwise walk along the lanes, if the next items re-read some of its data. There is one if the data
    /// of a whole item would evict it from the first-level cache.
    fn returning(&self, n: &NormalizedNest, lanes: u64) -> Option<u64> {
        let (walk, next) = (self.walk.filter(|_| self.walks_lanes())?, self.outer.last()?);
        let along = |access: &&Access| access.kept[walk] != 0;
        let again = n.accesses[..n.n_reads].iter().filter(along).any(|access| access.kept[next.dim] == 0);
        let bytes = |access: &Access| n.dims[walk] * access.dtype.bytes();
        let item: u64 = n.accesses.iter().filter(along).map(bytes).sum();
        let each = n.stages.iter().all(|stage| stage.folds.is_empty()) && n.reduce.is_empty();
        if !each || !again || item <= RETURNING || item.saturating_mul(self.n_items()) > CACHED {
            return None;
        }
        let chunk = n.dims[walk].div_ceil(item.div_ceil(RETURNING)).next_multiple_of(self.unroll as u64 * lanes);
        (chunk < n.dims[walk]).then_some(chunk)
    }
}

/// Maximum number of vectors of a tile: with 64-bit lanes a reduction takes two registers for each.
fn most_vectors(n: &NormalizedNest, lanes: usize) -> usize {
    if !n.folded.iter().any(|lane| lane.is_half()) {
        return usize::MAX;
    }
    let folds = n.stages.iter().map(|stage| stage.folds.len()).max().unwrap_or(0);
    (lanes / folds.max(1)).max(1)
}

/// The cost of each dimension that may hold the lanes, kept dimensions first.
fn prices(n: &NormalizedNest, lanes: usize) -> Vec<(LaneDim, f64)> {
    let clipped = |dim: usize| n.reduce.iter().any(|reduce| reduce.clip.is_some_and(|clip| clip.dim == dim));
    let kept = (0..n.dims.len()).rev().filter(|&dim| n.dims[dim] > 1 && !clipped(dim)).map(LaneDim::Kept);
    let any_clip = n.reduce.iter().any(|reduce| reduce.clip.is_some());
    let in_order = any_clip || multiplies_floats(n);
    let reduced = (0..n.reduce.len()).rev().filter(|&dim| !in_order && n.reduce[dim].extent > 1).map(LaneDim::Reduced);
    let candidates = kept.chain(reduced).filter(|&lane| may_write(n, lane));
    candidates.map(|lane| (lane, price(n, lane, lanes))).collect()
}

/// Whether the nest has a product of floats. In parts, the factors of each may overflow where those of all do not.
pub(crate) fn multiplies_floats(n: &NormalizedNest) -> bool {
    let folds = n.stages.iter().flat_map(|stage| &stage.folds);
    folds.zip(&n.folded).any(|((_, fold), of)| *fold == Reduction::Product && of.is_float())
}

/// The first of the cheapest.
fn cheapest(prices: &[(LaneDim, f64)]) -> LaneDim {
    prices.iter().reduce(|a, b| if b.1 < a.1 { b } else { a }).map_or(LaneDim::Single, |best| best.0)
}

/// A dimension along which several points write one element cannot hold lanes.
fn may_write(n: &NormalizedNest, lane: LaneDim) -> bool {
    n.stages.iter().all(|stage| {
        stage.stores.iter().all(|store| {
            let access = &n.accesses[n.n_reads + store.write];
            match lane {
                LaneDim::Kept(at) => access.kept[at] != 0,
                LaneDim::Reduced(at) => !stage.each || access.reduced[at] != 0,
                LaneDim::Single => true,
            }
        })
    })
}

/// The values of a stage that are equal in all lanes.
fn uniform(n: &NormalizedNest, program: &PrimitiveStage, lane: LaneDim) -> Vec<bool> {
    let still = |access: usize| match lane {
        LaneDim::Single => true,
        LaneDim::Kept(at) => n.accesses[access].kept[at] == 0,
        LaneDim::Reduced(at) => !program.each || n.accesses[access].reduced[at] == 0,
    };
    let mut uniform: Vec<bool> = Vec::with_capacity(program.body.instrs.len());
    for instr in &program.body.instrs {
        let of_operands = instr.operands().all(|val| uniform[val.0 as usize]);
        uniform.push(match *instr {
            Instr::Read(read) | Instr::ReadHalf(read, _) | Instr::Gather(read, ..) => of_operands && still(usize::from(read)),
            // Lanes of a kept dimension have folds of their own.
            Instr::Reduced(_) => !matches!(lane, LaneDim::Kept(_)),
            _ => of_operands,
        });
    }
    uniform
}

/// Whether a displacement changes from lane to lane as a table does from each element to the next.
fn follows_table(n: &NormalizedNest, program: &PrimitiveStage, lane: LaneDim, (mut at, table): (Val, u16)) -> bool {
    let uniform = uniform(n, program, lane);
    let is_uniform = |val: Val| uniform[val.0 as usize];
    loop {
        at = match program.body.instrs[at.0 as usize] {
            Instr::Read(read) => return read == table && lane_stride(&n.accesses[usize::from(read)], lane, program.each) == 1,
            Instr::Binary(BinaryOp::Add, a, b) if is_uniform(b) => a,
            Instr::Binary(BinaryOp::Add, a, b) if is_uniform(a) => b,
            _ => return false,
        }
    }
}

/// The stride from lane to lane.
fn lane_stride(access: &Access, lane: LaneDim, each: bool) -> i64 {
    match lane {
        LaneDim::Kept(at) => access.kept[at],
        LaneDim::Reduced(at) if each => access.reduced[at],
        LaneDim::Reduced(_) | LaneDim::Single => 0,
    }
}

/// Estimated cost of an element.
fn price(n: &NormalizedNest, lane: LaneDim, lanes: usize) -> f64 {
    let extent = match lane {
        LaneDim::Single => 1,
        LaneDim::Kept(at) => n.dims[at],
        LaneDim::Reduced(at) => n.reduce[at].extent,
    };
    let waste = (extent.div_ceil(lanes as u64) * lanes as u64) as f64 / extent as f64;
    let points = n.reduced_points().max(1) as f64;
    let mut crossing = crossing(n, lane, lanes).map_or(Vec::new(), |crossing| crossing.1);
    crossing.extend(turned(n, lane, lanes));
    let mut price = 0.0;
    for stage in &n.stages {
        let times = if stage.each { points } else { 1.0 };
        let of = |at: usize| match lane_stride(&n.accesses[at], lane, stage.each) {
            1 => 1.0,
            0 => 0.5,
            2 if at < n.n_reads => 3.0,
            _ if crossing.contains(&at) => CROSSING,
            _ => lanes as f64,
        };
        let uniform = uniform(n, stage, lane);
        let reads = stage.body.instrs.iter().filter_map(|instr| match instr {
            Instr::Read(read) | Instr::ReadHalf(read, _) => Some(of(usize::from(*read))),
            Instr::Gather(read, at, _) if uniform[at.0 as usize] => Some(1.0 + of(usize::from(*read))),
            Instr::Gather(_, at, steps) => Some(match steps {
                Steps::Rising(table) if follows_table(n, stage, lane, (*at, *table)) => NEAR,
                _ => lanes as f64,
            }),
            _ => None,
        });
        let moved: f64 = reads.sum::<f64>() + stage.stores.iter().map(|store| 2.0 * of(n.n_reads + store.write)).sum::<f64>();
        let work = 0.5 * stage.body.instrs.len() as f64;
        price += match lane {
            // One lane does what is done once for each point; folds are joined in about twice the steps that halve a vector.
            LaneDim::Reduced(_) if stage.each => times * (moved + work) * waste + 12.0 * lanes as f64 * stage.folds.len() as f64,
            LaneDim::Reduced(_) => times * (moved + work) * lanes as f64,
            _ => times * (moved + work) * waste,
        };
    }
    price
}

/// The reads of a reduction in order that are strided along the lanes, and have unit stride along the innermost reduced dimension.
fn turned(n: &NormalizedNest, lane: LaneDim, lanes: usize) -> Vec<usize> {
    let (LaneDim::Kept(lane), Some(inner)) = (lane, n.reduce.len().checked_sub(1)) else { return vec![] };
    let clipped = n.reduce.iter().any(|dim| dim.clip.is_some());
    if clipped || n.reduce[inner].extent < lanes as u64 || !multiplies_floats(n) {
        return vec![];
    }
    let reads = |at: usize, each: bool| {
        let mut stages = n.stages.iter().filter(|stage| stage.each == each);
        stages.any(|stage| stage.body.instrs.contains(&Instr::Read(at as u16)))
    };
    let turns = |&at: &usize| {
        let access = &n.accesses[at];
        let strides = access.reduced[inner] == 1 && !matches!(access.kept[lane], 0 | 1);
        strides && access.dtype.bytes() == 4 && reads(at, true) && !reads(at, false)
    };
    (0..n.n_reads).filter(turns).collect()
}

/// The dimension with unit stride for reads that are strided along the lanes, and these reads.
fn crossing(n: &NormalizedNest, lane: LaneDim, lanes: usize) -> Option<(usize, Vec<usize>)> {
    let (LaneDim::Kept(lane), [stage]) = (lane, &n.stages[..]) else { return None };
    if !n.reduce.is_empty() || !stage.folds.is_empty() || stage.body.instrs.len() > CROSSED {
        return None;
    }
    let along = |dim: usize| -> Vec<usize> {
        let crosses = |&at: &usize| {
            let access = &n.accesses[at];
            let read = stage.body.instrs.contains(&Instr::Read(at as u16));
            read && access.dtype.bytes() == 4 && access.kept[dim] == 1 && !matches!(access.kept[lane], 0 | 1)
        };
        (0..n.n_reads).filter(crosses).collect()
    };
    let dims = (0..n.dims.len()).filter(|&dim| dim != lane && n.dims[dim] >= lanes as u64);
    dims.map(|dim| (dim, along(dim))).filter(|found| !found.1.is_empty()).max_by_key(|found| found.1.len())
}
