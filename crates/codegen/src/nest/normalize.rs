//! Normalizes a nest: an equivalent nest with fewer dimensions and primitive bodies.
//!
//! Extents of 1 and clips that never apply are removed. Dimensions are ordered by stride, and joined where every access allows
//! it. The points of each sum stay the same, so results do not change.

use crate::legalize::legalize_typed;
use crate::legalize::widths::{LaneReduction, LaneStore, fold_lanes, machine, machined};
use relayc_ir::kernel::{Access, Body, Clip, Instr, Nest, ReduceDim, Reduction, ScalarType, Val};
use relayc_ir::types::DType;

/// A stage whose body is primitive.
#[derive(Clone, Hash)]
pub(crate) struct PrimitiveStage {
    pub(crate) each: bool,
    pub(crate) body: Body,
    pub(crate) lanes: Vec<ScalarType>,
    pub(crate) folds: Vec<(Val, Reduction)>,
    /// Number of the first reduction among those of all stages.
    pub(crate) first_fold: usize,
    pub(crate) stores: Vec<LaneStore>,
}

/// A normalized nest. Reads come first among the accesses, then writes.
#[derive(Clone, Hash)]
pub(crate) struct NormalizedNest {
    pub(crate) dims: Vec<u64>,
    pub(crate) reduce: Vec<ReduceDim>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) n_reads: usize,
    pub(crate) stages: Vec<PrimitiveStage>,
    /// The scalar type of each reduction.
    pub(crate) folded: Vec<ScalarType>,
}

impl NormalizedNest {
    /// Normalizes a nest. `avx512` tells which instructions exist.
    ///
    /// `None` for element types without a lane, for operations without code, and for a nest that contradicts itself.
    pub(crate) fn new(nest: &Nest, avx512: bool) -> Option<NormalizedNest> {
        let accesses: Vec<Access> = nest.reads.iter().chain(&nest.writes).cloned().collect();
        let known = |access: &Access| access.kept.len() == nest.dims.len() && access.reduced.len() == nest.reduce.len();
        if !accesses.iter().all(known) {
            return None;
        }
        let accesses = if moves(nest) { accesses.into_iter().map(as_bits).collect() } else { accesses };
        let lanes = accesses.iter().map(|access| ScalarType::of(access.dtype)).collect::<Option<Vec<ScalarType>>>()?;
        let (reads, writes) = lanes.split_at(nest.reads.len());
        let machine_reads: Vec<ScalarType> = reads.iter().map(|&lane| machine(lane)).collect();
        let (mut typed, mut folded) = (Vec::<LaneReduction>::new(), Vec::new());
        let mut stages = Vec::new();
        for stage in &nest.stages {
            let lanes = stage.body.lanes_of(reads, &typed.iter().map(|fold| fold.lane).collect::<Vec<_>>());
            if stage.stores.iter().any(|store| writes.get(store.write) != Some(&lanes[store.val.0 as usize])) {
                return None;
            }
            let held = machined(stage, &lanes, &typed, avx512)?;
            let first_fold = folded.len();
            let lanes_before = held.body.lanes_of(&machine_reads, &folded);
            for &(val, fold) in &stage.reductions {
                let lane = lanes[val.0 as usize];
                typed.push(LaneReduction { lane, fold, first: folded.len() });
                folded.extend(fold_lanes(lane));
            }
            let results: Vec<Val> = held.folds.iter().map(|fold| fold.0).chain(held.stores.iter().map(|s| s.val)).collect();
            let (body, results) = legalize_typed(&held.body, &lanes_before, &results, avx512);
            let lanes = body.lanes_of(&machine_reads, &folded);
            let (folds, stores) = results.split_at(held.folds.len());
            let folds: Vec<(Val, Reduction)> = folds.iter().copied().zip(held.folds.iter().map(|fold| fold.1)).collect();
            let stores: Vec<LaneStore> = stores.iter().zip(&held.stores).map(|(&val, put)| LaneStore { val, ..*put }).collect();
            stages.push(PrimitiveStage { each: stage.each, body, lanes, folds, first_fold, stores });
        }
        let mut normal = NormalizedNest {
            dims: nest.dims.clone(),
            reduce: nest.reduce.clone(),
            accesses,
            n_reads: nest.reads.len(),
            stages,
            folded,
        };
        normal.simplify()?;
        Some(normal)
    }

    /// Number of points that are reduced to one.
    pub(crate) fn reduced_points(&self) -> u64 {
        self.reduce.iter().map(|dim| dim.extent).product()
    }

    fn simplify(&mut self) -> Option<()> {
        for at in 0..self.reduce.len() {
            self.settle_clip(at)?;
        }
        for at in (0..self.dims.len()).rev() {
            if self.dims[at] == 1 && !self.is_clipped(at) {
                self.drop_kept(at);
            }
        }
        for at in (0..self.reduce.len()).rev() {
            if self.reduce[at].extent == 1 && self.reduce[at].clip.is_none() {
                self.drop_reduced(at);
            }
        }
        self.order();
        self.join_kept();
        self.join_reduced();
        Some(())
    }

    fn is_clipped(&self, dim: usize) -> bool {
        self.reduce.iter().any(|reduce| reduce.clip.is_some_and(|clip| clip.dim == dim))
    }

    fn drop_kept(&mut self, at: usize) {
        self.dims.remove(at);
        for access in &mut self.accesses {
            access.kept.remove(at);
        }
        for clip in self.reduce.iter_mut().filter_map(|reduce| reduce.clip.as_mut()) {
            clip.dim -= usize::from(clip.dim > at);
        }
    }

    fn drop_reduced(&mut self, at: usize) {
        self.reduce.remove(at);
        for access in &mut self.accesses {
            access.reduced.remove(at);
        }
    }

    /// Turns a clip that is equal at every point into a slice; removes one that never applies.
    fn settle_clip(&mut self, at: usize) -> Option<()> {
        let dim = self.reduce[at];
        let Some(clip) = dim.clip else { return Some(()) };
        let n = *self.dims.get(clip.dim)?;
        if clip.dilation < 1 {
            return None;
        }
        if n == 0 {
            // There is no point whose window could be clipped.
            self.reduce[at].clip = None;
            return Some(());
        }
        let last = i64::try_from(n).ok()? - 1;
        let (first, end) = (bounds(clip, dim.extent, 0), bounds(clip, dim.extent, last));
        if clip.stride == 0 || n == 1 || (first == end && first == (0, dim.extent)) {
            let (low, high) = first;
            for access in &mut self.accesses {
                access.offset += low as i64 * access.reduced[at];
            }
            self.reduce[at] = ReduceDim { extent: high - low, clip: None };
        }
        Some(())
    }

    /// Orders kept dimensions by their strides in writes, reduced ones by their strides in reads.
    fn order(&mut self) {
        let (reads, writes) = self.accesses.split_at(self.n_reads);
        let far = |list: &[Access], step: &dyn Fn(&Access) -> i64| list.iter().map(|a| step(a).unsigned_abs()).max();
        let mut kept: Vec<usize> = (0..self.dims.len()).collect();
        kept.sort_by_key(|&at| std::cmp::Reverse((far(writes, &|a| a.kept[at]), far(reads, &|a| a.kept[at]))));
        let mut reduced: Vec<usize> = (0..self.reduce.len()).collect();
        reduced.sort_by_key(|&at| std::cmp::Reverse(far(reads, &|a| a.reduced[at])));
        self.dims = kept.iter().map(|&at| self.dims[at]).collect();
        self.reduce = reduced.iter().map(|&at| self.reduce[at]).collect();
        for clip in self.reduce.iter_mut().filter_map(|reduce| reduce.clip.as_mut()) {
            clip.dim = kept.iter().position(|&at| at == clip.dim).expect("every dimension is in the order");
        }
        for access in &mut self.accesses {
            access.kept = kept.iter().map(|&at| access.kept[at]).collect();
            access.reduced = reduced.iter().map(|&at| access.reduced[at]).collect();
        }
    }

    fn join_kept(&mut self) {
        for at in (1..self.dims.len()).rev() {
            let inner = self.dims[at] as i64;
            let joins = |access: &Access| access.kept[at - 1] == access.kept[at].saturating_mul(inner);
            if self.is_clipped(at) || self.is_clipped(at - 1) || !self.accesses.iter().all(joins) {
                continue;
            }
            self.dims[at] *= self.dims[at - 1];
            self.drop_kept(at - 1);
        }
    }

    fn join_reduced(&mut self) {
        for at in (1..self.reduce.len()).rev() {
            let inner = self.reduce[at].extent as i64;
            let joins = |access: &Access| access.reduced[at - 1] == access.reduced[at].saturating_mul(inner);
            let clipped = self.reduce[at].clip.is_some() || self.reduce[at - 1].clip.is_some();
            if clipped || !self.accesses.iter().all(joins) {
                continue;
            }
            self.reduce[at].extent *= self.reduce[at - 1].extent;
            self.drop_reduced(at - 1);
        }
    }
}

/// Whether elements are only moved.
fn moves(nest: &Nest) -> bool {
    let reads = |instr: &Instr| matches!(instr, Instr::Read(_));
    nest.stages.iter().all(|stage| stage.reductions.is_empty() && stage.body.instrs.iter().all(reads))
}

/// An access to the same bits as integers: converting floats forth and back changes some NaNs.
fn as_bits(access: Access) -> Access {
    let dtype = if matches!(access.dtype, DType::F16 | DType::BF16) { DType::U16 } else { access.dtype };
    Access { dtype, ..access }
}

/// The range of indices inside at index `o` of the kept dimension; empty if none is.
pub(crate) fn bounds(clip: Clip, extent: u64, o: i64) -> (u64, u64) {
    let start = clip.before - o * clip.stride;
    let up = |x: i64| ((x + clip.dilation - 1).div_euclid(clip.dilation)).clamp(0, extent as i64) as u64;
    let (low, high) = (up(start), up(start + clip.size));
    (low, high.max(low))
}
