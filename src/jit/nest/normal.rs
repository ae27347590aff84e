//! A nest in a simpler form that means the same: fewer dimensions, primitive bodies.
//!
//! Extents of 1 go, windows that are never clipped lose their clip, dimensions are ordered by stride and joined where every
//! access allows it. Which points belong together, and so every sum, stays the same.

use crate::jit::expand::expand_typed;
use crate::kernel::{Access, Body, Clip, Fold, Lane, Nest, ReduceDim, Store, Val};
use crate::types::DType;

/// A stage whose body is primitive.
pub struct Program {
    pub each: bool,
    pub body: Body,
    pub lanes: Vec<Lane>,
    pub folds: Vec<(Val, Fold)>,
    /// The number of the first fold among those of all stages.
    pub first_fold: usize,
    pub stores: Vec<Store>,
}

/// A nest in simpler form. Reads come first among the accesses, then the writes.
pub struct Normal {
    pub dims: Vec<u64>,
    pub reduce: Vec<ReduceDim>,
    pub accesses: Vec<Access>,
    pub n_reads: usize,
    pub stages: Vec<Program>,
    /// What each fold gives.
    pub folded: Vec<Lane>,
}

impl Normal {
    /// `None` for element types that lanes of 32 bits do not hold, and for a nest that contradicts itself.
    pub fn new(nest: &Nest, has_scale: bool) -> Option<Normal> {
        let accesses: Vec<Access> = nest.reads.iter().chain(&nest.writes).cloned().collect();
        let known = |access: &Access| access.kept.len() == nest.dims.len() && access.reduced.len() == nest.reduce.len();
        if !accesses.iter().all(known) {
            return None;
        }
        let lanes = accesses.iter().map(|access| lane(access.dtype)).collect::<Option<Vec<Lane>>>()?;
        let (reads, writes) = lanes.split_at(nest.reads.len());
        let mut folded = Vec::new();
        let mut stages = Vec::new();
        for stage in &nest.stages {
            let lanes = stage.body.lanes_of(reads, &folded);
            let results: Vec<Val> = stage.folds.iter().map(|fold| fold.0).chain(stage.stores.iter().map(|s| s.val)).collect();
            let first_fold = folded.len();
            folded.extend(stage.folds.iter().map(|fold| lanes[fold.0.0 as usize]));
            let (body, results) = expand_typed(&stage.body, &lanes, &results, has_scale);
            let lanes = body.lanes_of(reads, &folded);
            let (folds, stores) = results.split_at(stage.folds.len());
            let folds: Vec<(Val, Fold)> = folds.iter().copied().zip(stage.folds.iter().map(|fold| fold.1)).collect();
            let stores: Vec<Store> =
                stores.iter().zip(&stage.stores).map(|(&val, store)| Store { val, write: store.write }).collect();
            let fits = |store: &Store| writes.get(store.write) == Some(&lanes[store.val.0 as usize]);
            if !stores.iter().all(fits) || folds.iter().any(|fold| lanes[fold.0.0 as usize] == Lane::Bool) {
                return None;
            }
            stages.push(Program { each: stage.each, body, lanes, folds, first_fold, stores });
        }
        let mut normal =
            Normal { dims: nest.dims.clone(), reduce: nest.reduce.clone(), accesses, n_reads: nest.reads.len(), stages, folded };
        normal.simplify()?;
        Some(normal)
    }

    /// How many points are reduced to one.
    pub fn reduced_points(&self) -> u64 {
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

    /// A clip that is the same at every point becomes a slice; one that never clips goes.
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

    /// Kept dimensions by how far their steps are apart in what is written, reduced ones likewise in what is read.
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

fn lane(dtype: DType) -> Option<Lane> {
    match dtype {
        DType::F32 => Some(Lane::F32),
        DType::I32 => Some(Lane::I32),
        DType::BOOL => Some(Lane::Bool),
        _ => None,
    }
}

/// The indices inside at index `o` of the kept dimension, as a range that is empty where none is.
pub fn bounds(clip: Clip, extent: u64, o: i64) -> (u64, u64) {
    let start = clip.before - o * clip.stride;
    let up = |x: i64| ((x + clip.dilation - 1).div_euclid(clip.dilation)).clamp(0, extent as i64) as u64;
    let (low, high) = (up(start), up(start + clip.size));
    (low, high.max(low))
}
