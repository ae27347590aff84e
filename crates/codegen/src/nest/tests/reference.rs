//! Reference semantics of a nest, computed point by point; tests compare machine code with it.

use crate::legalize::legalize_typed;
use crate::legalize::tests::evaluate::evaluate;
use crate::nest::normalize::bounds;
use relayc_ir::kernel::{Access, Body, Instr, Nest, Reduction, ScalarType, Stage, Val};
use relayc_ir::types::DType;

/// Computes a nest on byte buffers, one for each argument. Sums and products are taken in f64.
pub(crate) fn compute(nest: &Nest, memory: &mut [Vec<u8>]) {
    let reads: Vec<ScalarType> = nest.reads.iter().map(lane).collect();
    let mut kinds: Vec<ScalarType> = Vec::new();
    let stages: Vec<Stage> = nest
        .stages
        .iter()
        .map(|stage| {
            let lanes = stage.body.lanes_of(&reads, &kinds);
            kinds.extend(stage.reductions.iter().map(|fold| lanes[fold.0.0 as usize]));
            let results: Vec<Val> =
                stage.reductions.iter().map(|fold| fold.0).chain(stage.stores.iter().map(|s| s.val)).collect();
            let (body, results) = legalize_typed(&stage.body, &lanes, &results, true);
            let mut stage = Stage { body, ..stage.clone() };
            let (folds, stores) = results.split_at(stage.reductions.len());
            stage.reductions.iter_mut().zip(folds).for_each(|(fold, &val)| fold.0 = val);
            stage.stores.iter_mut().zip(stores).for_each(|(store, &val)| store.val = val);
            stage
        })
        .collect();
    for kept in indices(&nest.dims.iter().map(|&dim| (0, dim)).collect::<Vec<_>>()) {
        let inside: Vec<(u64, u64)> = nest
            .reduce
            .iter()
            .map(|dim| dim.clip.map_or((0, dim.extent), |clip| bounds(clip, dim.extent, kept[clip.dim] as i64)))
            .collect();
        let count: u64 = inside.iter().map(|(low, high)| high - low).product();
        let mut folded: Vec<u32> = Vec::new();
        for stage in &stages {
            let points = if stage.each { indices(&inside) } else { vec![vec![0; nest.reduce.len()]] };
            let first = folded.len();
            let mut folds: Vec<Folding> =
                stage.reductions.iter().enumerate().map(|(at, fold)| Folding::new(fold.1, kinds[first + at])).collect();
            for reduced in points {
                let values = {
                    let stage = &read_picks(stage, nest, memory, (&kept, &reduced), (&folded, &kinds, count as f32));
                    let read = |(at, access): (usize, &Access)| {
                        let used = stage.body.instrs.contains(&Instr::Read(at as u16));
                        ([if used { load(memory, access, &kept, &reduced) } else { 0 }], lane(access))
                    };
                    let reads: Vec<([u32; 1], ScalarType)> = nest.reads.iter().enumerate().map(read).collect();
                    let folded: Vec<[u32; 1]> = folded.iter().map(|&bits| [bits]).collect();
                    evaluate(&stage.body, &reads, (&folded, &kinds), count as f32)
                };
                for store in &stage.stores {
                    save(memory, &nest.writes[store.write], &kept, &reduced, values[store.val.0 as usize][0]);
                }
                for (folding, fold) in folds.iter_mut().zip(&stage.reductions) {
                    folding.add(values[fold.0.0 as usize][0]);
                }
            }
            folded.extend(folds.iter().map(Folding::bits));
        }
    }
}

/// A stage with gathers replaced by the values they read at a point.
fn read_picks(
    stage: &Stage,
    nest: &Nest,
    memory: &[Vec<u8>],
    (kept, reduced): (&[u64], &[u64]),
    (folded, kinds, count): (&[u32], &[ScalarType], f32),
) -> Stage {
    let mut stage = stage.clone();
    for at in 0..stage.body.instrs.len() {
        let Instr::Gather(read, places, _) = stage.body.instrs[at] else { continue };
        let before = Body { instrs: stage.body.instrs[..at].to_vec() };
        let value = |(number, access): (usize, &Access)| {
            let used = before.instrs.contains(&Instr::Read(number as u16));
            ([if used { load(memory, access, kept, reduced) } else { 0 }], lane(access))
        };
        let reads: Vec<([u32; 1], ScalarType)> = nest.reads.iter().enumerate().map(value).collect();
        let folded: Vec<[u32; 1]> = folded.iter().map(|&bits| [bits]).collect();
        let displacement = evaluate(&before, &reads, (&folded, kinds), count)[places.0 as usize][0] as i32;
        let access = &nest.reads[usize::from(read)];
        let access = Access { offset: access.offset + i64::from(displacement), ..access.clone() };
        stage.body.instrs[at] = Instr::Const(u64::from(load(memory, &access, kept, reduced)), lane(&access));
    }
    stage
}

/// All indices in the ranges, the last fastest.
fn indices(ranges: &[(u64, u64)]) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for &(low, high) in ranges {
        all = all.into_iter().flat_map(|index| (low..high).map(move |at| [&index[..], &[at]].concat())).collect();
    }
    all
}

fn lane(access: &Access) -> ScalarType {
    match access.dtype {
        DType::BOOL => ScalarType::Bool,
        DType::I32 => ScalarType::I32,
        _ => ScalarType::F32,
    }
}

fn place(access: &Access, kept: &[u64], reduced: &[u64]) -> usize {
    let way = |strides: &[i64], index: &[u64]| -> i64 { strides.iter().zip(index).map(|(stride, &at)| stride * at as i64).sum() };
    (access.offset + way(&access.kept, kept) + way(&access.reduced, reduced)) as usize
}

fn load(memory: &[Vec<u8>], access: &Access, kept: &[u64], reduced: &[u64]) -> u32 {
    let at = place(access, kept, reduced);
    match access.dtype {
        DType::BOOL => {
            if memory[access.arg][at] != 0 {
                u32::MAX
            } else {
                0
            }
        }
        _ => u32::from_le_bytes(memory[access.arg][4 * at..4 * at + 4].try_into().expect("four bytes")),
    }
}

fn save(memory: &mut [Vec<u8>], access: &Access, kept: &[u64], reduced: &[u64], bits: u32) {
    let at = place(access, kept, reduced);
    match access.dtype {
        DType::BOOL => memory[access.arg][at] = u8::from(bits != 0),
        _ => memory[access.arg][4 * at..4 * at + 4].copy_from_slice(&bits.to_le_bytes()),
    }
}

/// A reduction in progress.
struct Folding {
    fold: Reduction,
    lane: ScalarType,
    float: f64,
    int: i32,
}

impl Folding {
    fn new(fold: Reduction, lane: ScalarType) -> Folding {
        let (float, int) = match fold {
            Reduction::Sum => (0.0, 0),
            Reduction::Product => (1.0, 1),
            Reduction::Max => (f64::NEG_INFINITY, i32::MIN),
            Reduction::Min => (f64::INFINITY, i32::MAX),
        };
        Folding { fold, lane, float, int }
    }

    fn add(&mut self, bits: u32) {
        let (x, i) = (f64::from(f32::from_bits(bits)), bits as i32);
        let nan = x.is_nan() || self.float.is_nan();
        // Of two zeros the positive one is greater.
        let first_greater = self.float > x || (self.float == x && x.is_sign_negative());
        match self.fold {
            Reduction::Sum => (self.float, self.int) = (self.float + x, self.int.wrapping_add(i)),
            Reduction::Product => (self.float, self.int) = (self.float * x, self.int.wrapping_mul(i)),
            Reduction::Max => {
                self.int = self.int.max(i);
                self.float = if nan {
                    f64::NAN
                } else if first_greater {
                    self.float
                } else {
                    x
                };
            }
            Reduction::Min => {
                self.int = self.int.min(i);
                self.float = if nan {
                    f64::NAN
                } else if first_greater {
                    x
                } else {
                    self.float
                };
            }
        }
    }

    fn bits(&self) -> u32 {
        if self.lane == ScalarType::F32 { (self.float as f32).to_bits() } else { self.int as u32 }
    }
}
