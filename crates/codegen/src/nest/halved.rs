//! Gathers of 64-bit elements: each is moved as two of 32 bits, because gathers exist for no wider ones.
//!
//! A nest that moves 64-bit elements unchanged from reads to writes gets an inner dimension of extent two, along which the
//! halves of an element lie. Positions count elements, so they are doubled.

use relayc_ir::kernel::{Access, Body, Instr, Nest, Stage, Steps, Store, Val};
use relayc_ir::types::DType;

/// The nest in halves; `None` if nothing is to be done, or if it computes with such elements.
pub(crate) fn halved(nest: &Nest) -> Option<Nest> {
    let is_wide = |access: &Access| access.dtype.bytes() == 8;
    let picks_wide = |instr: &Instr| matches!(*instr, Instr::Gather(read, ..) if is_wide(&nest.reads[usize::from(read)]));
    if !nest.stages.iter().flat_map(|stage| &stage.body.instrs).any(picks_wide) {
        return None;
    }
    let half = |access: &Access| {
        let wide = is_wide(access);
        let factor = if wide { 2 } else { 1 };
        let doubled = |step: &i64| step.checked_mul(factor);
        Some(Access {
            arg: access.arg,
            dtype: if wide { DType::I32 } else { access.dtype },
            offset: doubled(&access.offset)?,
            kept: access.kept.iter().map(doubled).chain([Some(i64::from(wide))]).collect::<Option<_>>()?,
            reduced: access.reduced.iter().map(doubled).collect::<Option<_>>()?,
        })
    };
    let stages = nest.stages.iter().map(|stage| moved(stage, nest, &is_wide)).collect::<Option<_>>()?;
    Some(Nest {
        dims: nest.dims.iter().copied().chain([2]).collect(),
        reduce: nest.reduce.clone(),
        reads: nest.reads.iter().map(half).collect::<Option<_>>()?,
        writes: nest.writes.iter().map(half).collect::<Option<_>>()?,
        stages,
    })
}

/// A stage with doubled positions, if it only moves and selects wide elements.
fn moved(stage: &Stage, nest: &Nest, is_wide: &dyn Fn(&Access) -> bool) -> Option<Stage> {
    let mut body = Body::new();
    // Where each value is, and whether it is wide.
    let mut map: Vec<(Val, bool)> = vec![];
    for &instr in &stage.body.instrs {
        let wide = |val: Val| map[val.0 as usize].1;
        let of_wide = match instr {
            Instr::Read(read) | Instr::Gather(read, ..) => is_wide(&nest.reads[usize::from(read)]),
            Instr::Select(_, a, b) => wide(a) && wide(b),
            _ => false,
        };
        let of_operands = instr.operands().any(wide);
        if of_operands && !matches!(instr, Instr::Select(condition, ..) if of_wide && !wide(condition)) {
            return None;
        }
        let val = match instr {
            Instr::Gather(read, at, _) if of_wide => {
                let at = map[at.0 as usize].0;
                let twice = body.bin(relayc_ir::kernel::BinaryOp::Add, at, at);
                body.pick(usize::from(read), twice, Steps::Any)
            }
            _ => body.push(instr.map(|val| map[val.0 as usize].0)),
        };
        map.push((val, of_wide));
    }
    if stage.reductions.iter().any(|(val, _)| map[val.0 as usize].1) {
        return None;
    }
    let to = |val: Val| map[val.0 as usize].0;
    let stores = stage.stores.iter().map(|store| Store { val: to(store.val), ..*store }).collect();
    let folds = stage.reductions.iter().map(|&(val, fold)| (to(val), fold)).collect();
    Some(Stage { each: stage.each, body, reductions: folds, stores })
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_ir::kernel::BinaryOp;

    /// `out[i] = x[index[i]]`.
    fn picked(dtype: DType, more: impl FnOnce(&mut Body, Val) -> Val) -> Nest {
        let access = |arg, dtype, step| Access { arg, dtype, offset: 3, kept: vec![step], reduced: vec![] };
        let mut body = Body::new();
        let at = body.read(1);
        let val = body.pick(0, at, Steps::Any);
        let val = more(&mut body, val);
        let stage = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
        Nest {
            dims: vec![5],
            reduce: vec![],
            reads: vec![access(0, dtype, 0), access(1, DType::I32, 1)],
            writes: vec![access(2, dtype, 4)],
            stages: vec![stage],
        }
    }

    #[test]
    fn what_is_moved_is_moved_in_halves() {
        let half = halved(&picked(DType::F64, |_, val| val)).expect("it is moved");
        assert_eq!(half.dims, [5, 2]);
        assert_eq!((half.reads[0].offset, &half.reads[0].kept[..], half.reads[0].dtype), (6, &[0, 1][..], DType::I32));
        assert_eq!((half.reads[1].offset, &half.reads[1].kept[..]), (3, &[1, 0][..]));
        assert_eq!((half.writes[0].offset, &half.writes[0].kept[..]), (6, &[8, 1][..]));
        assert_eq!(half.stages[0].body.instrs.len(), 3);
        assert!(halved(&picked(DType::F32, |_, val| val)).is_none());
        assert!(halved(&picked(DType::I64, |body, val| body.bin(BinaryOp::Add, val, val))).is_none());
    }
}
