//! In-place results: a result takes the place of an operand without further readers, so one tensor replaces two.
//!
//! A kernel computes each element of its result once, after it has read that element's inputs. So the result may overwrite an
//! operand that it reads at exactly the positions that it writes, if nothing reads the operand later. Examples are the input of
//! an elementwise group, the other branch of a residual sum after a convolution, and the logits of a softmax. Both buffers must
//! have the same size, element width and margins.
//!
//! Absent: placement of buffers ([`super::memory`]), and the kernels' order of reads and writes (`jit`; tests that run random
//! programs check it).

use super::memory::lives;
use super::{Buffer, BufferId, Fill, Place, Plan, Step, Work};
use relayc_base::Idx;
use relayc_ir::kernel::{Access, Contraction, Instr, Kernel, Nest, Operand};

/// Finds in-place results, records them in their buffers, and removes fills of memory that is already filled.
pub(crate) fn find(plan: &mut Plan) {
    let (lives, fills) = (lives(plan), fills(plan));
    // The first step that does more than fill what is around the tensor in a buffer.
    let mut filled: Vec<Option<usize>> = vec![None; plan.buffers.len()];
    for (at, step) in plan.steps.iter().enumerate().filter(|(_, step)| !matches!(step.work, Work::Fill(_))) {
        step.args.iter().for_each(|id| _ = filled[id.index()].get_or_insert(at));
    }
    for (at, step) in plan.steps.iter().enumerate().filter(|(_, step)| !step.once) {
        let Some((out, candidates)) = candidates(step) else { continue };
        let in_arena = |buffer: &Buffer| matches!(buffer.place, Place::Arena(_));
        if !in_arena(&plan.buffers[out]) || filled[out.index()] != Some(at) {
            continue;
        }
        let over = candidates.into_iter().find(|&id| {
            let (from, to) = (&plan.buffers[id], &plan.buffers[out]);
            let dies = lives[id.index()].is_some_and(|life| life.last == at);
            let alike = from.bytes() == to.bytes() && fills[id.index()] == fills[out.index()];
            in_arena(from) && dies && alike
        });
        plan.buffers[out].over = over;
    }
    drop_fills(plan);
}

/// The fills of each buffer's margins.
fn fills(plan: &Plan) -> Vec<Vec<Fill>> {
    let mut fills = vec![vec![]; plan.buffers.len()];
    for step in &plan.steps {
        if let Work::Fill(fill) = &step.work {
            fills[step.args[0].index()].push(fill.clone());
        }
    }
    fills
}

/// The buffer that a step writes, and the buffers that it may overwrite as far as the step is concerned.
fn candidates(step: &Step) -> Option<(BufferId, Vec<BufferId>)> {
    let kernel = step.work.kernel()?;
    let out = match kernel {
        Kernel::Nest(nest) => nest.writes.first()?.arg,
        kernel => kernel.contract()?.out.0,
    };
    let fits = |arg: usize| match kernel {
        Kernel::Nest(nest) => of_nest(nest, arg),
        kernel => kernel.contract().is_some_and(|contract| of_contract(contract, arg)),
    };
    let args = (0..step.args.len()).filter(|&arg| !step.writes[arg] && fits(arg));
    Some((step.args[out], args.map(|arg| step.args[arg]).collect()))
}

/// Whether the only write of a nest covers all reads of an argument, with each element read before it is written.
fn of_nest(nest: &Nest, arg: usize) -> bool {
    let [write] = &nest.writes[..] else { return false };
    let Some(first) = nest.stages.iter().position(|stage| !stage.stores.is_empty()) else { return false };
    // An element that is written at several points would be read when it is written already.
    let each = nest.stages[first].each;
    let again = nest.reduce.iter().zip(&write.reduced).any(|(dim, &step)| dim.clip.is_some() || dim.extent > 1 && step == 0);
    if each && again {
        return false;
    }
    let of_arg = |read: u16| nest.reads.get(usize::from(read)).is_some_and(|access| access.arg == arg);
    let late = nest.stages[first + 1..].iter().flat_map(|stage| &stage.body.instrs);
    let picked = nest.stages.iter().flat_map(|stage| &stage.body.instrs);
    let reads_late = late.into_iter().any(|instr| matches!(*instr, Instr::Read(read) if of_arg(read)));
    let picks = picked.into_iter().any(|instr| matches!(*instr, Instr::Gather(read, ..) if of_arg(read)));
    !reads_late && !picks && nest.reads.iter().filter(|access| access.arg == arg).all(|access| same_places(nest, access, write))
}

fn same_places(nest: &Nest, a: &Access, b: &Access) -> bool {
    let kept = nest.dims.iter().zip(a.kept.iter().zip(&b.kept)).all(|(&dim, (a, b))| dim == 1 || a == b);
    let reduced = nest.reduce.iter().zip(a.reduced.iter().zip(&b.reduced)).all(|(dim, (a, b))| dim.extent == 1 || a == b);
    a.dtype.bytes() == b.dtype.bytes() && a.offset == b.offset && kept && reduced
}

/// Whether an argument of a contraction is only an operand of its epilogue, read where the result of the same width is written.
fn of_contract(contract: &Contraction, arg: usize) -> bool {
    let Contraction { groups, group_steps, ref points, out_columns, input, weight, out, .. } = *contract;
    let same = |operand: &Operand| {
        let steps = points.iter().zip(&operand.points).all(|(dim, step)| dim.extent == 1 || dim.other == *step);
        let group = groups == 1 || operand.group == group_steps[2];
        let width = operand.dtype.bytes() == contract.dtype.bytes();
        width && operand.offset == out.1 && group && steps && operand.columns == out_columns
    };
    let own: Vec<&Operand> = contract.operands.iter().filter(|operand| operand.arg == arg).collect();
    input.0 != arg && weight.0 != arg && !own.is_empty() && own.into_iter().all(same)
}

/// Removes fills of buffers that share a place with a filled one.
fn drop_fills(plan: &mut Plan) {
    let buffers = &plan.buffers;
    let stays = |step: &Step| !matches!(step.work, Work::Fill(_)) || buffers[step.args[0]].over.is_none();
    // How many steps stay before each.
    let mut before = vec![0];
    before.extend(plan.steps.iter().scan(0, |n, step| {
        *n += usize::from(stays(step));
        Some(*n)
    }));
    plan.steps.retain(stays);
    for group in &mut plan.groups {
        group.steps = before[group.steps.start]..before[group.steps.end];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_ir::kernel::{Body, Clip, ReduceDim, Stage, Steps, Store, UnaryOp, Val};
    use relayc_ir::types::DType;

    fn stage(each: bool, f: impl FnOnce(&mut Body) -> Option<Val>) -> Stage {
        let mut body = Body::new();
        let stores = f(&mut body).map(|val| Store { val, write: 0 });
        Stage { each, body, reductions: vec![], stores: stores.into_iter().collect() }
    }

    /// Argument 1 at each point of 4 x 8, once for each of `reduced` reduced points, is a function of argument 0 there.
    fn nest(reduced: u64) -> Nest {
        let access = |arg| Access { arg, dtype: DType::F32, offset: 5, kept: vec![8, 1], reduced: vec![0] };
        let stages = vec![stage(true, |body| {
            let x = body.read(0);
            Some(body.un(UnaryOp::Neg, x))
        })];
        let reduce = vec![ReduceDim { extent: reduced, clip: None }];
        Nest { dims: vec![4, 8], reduce, reads: vec![access(0)], writes: vec![access(1)], stages }
    }

    /// Whether the result of a changed nest may overwrite its operand.
    fn fits(reduced: u64, change: impl FnOnce(&mut Nest)) -> bool {
        let mut nest = nest(reduced);
        change(&mut nest);
        of_nest(&nest, 0)
    }

    #[test]
    fn what_is_read_where_it_is_written_may_be_overwritten() {
        assert!(fits(1, |_| ()));
        assert!(fits(1, |nest| nest.reads[0].dtype = DType::I32));
        assert!(fits(1, |nest| (nest.dims[0], nest.reads[0].kept[0]) = (1, 3)), "an axis of one element");
        assert!(fits(1, |nest| nest.reads.push(Access { arg: 2, offset: 0, ..nest.reads[0].clone() })), "another argument");
    }

    #[test]
    fn what_is_read_elsewhere_stays() {
        assert!(!fits(1, |nest| nest.reads[0].offset = 4));
        assert!(!fits(1, |nest| nest.reads[0].kept = vec![1, 4]));
        assert!(!fits(1, |nest| nest.reads[0].dtype = DType::F64));
        assert!(!fits(1, |nest| nest.reads.push(Access { offset: 0, ..nest.reads[0].clone() })), "a second read");
        assert!(!fits(1, |nest| nest.writes.push(nest.writes[0].clone())), "a second result");
        let picked = stage(true, |body| {
            let place = body.i32(3);
            Some(body.pick(0, place, Steps::Any))
        });
        assert!(!fits(1, |nest| nest.stages[0] = picked));
    }

    #[test]
    fn what_is_read_after_it_is_written_stays() {
        let read = |body: &mut Body| {
            body.read(0);
            None
        };
        assert!(fits(1, |nest| nest.stages.insert(0, stage(true, read))));
        assert!(!fits(1, |nest| nest.stages.push(stage(true, read))));
        // Each of several reduced points would read what the one before wrote.
        assert!(!fits(3, |_| ()));
        let step = |nest: &mut Nest| (nest.reads[0].reduced, nest.writes[0].reduced) = (vec![32], vec![32]);
        assert!(fits(3, step));
        assert!(!fits(3, |nest| {
            step(nest);
            nest.reduce[0].clip = Some(Clip { dim: 0, stride: 1, dilation: 1, before: 1, size: 4 });
        }));
        assert!(!fits(3, |nest| {
            step(nest);
            nest.reads[0].reduced = vec![64];
        }));
        // Once for all of them it is written when all are read.
        assert!(fits(3, |nest| nest.stages[0].each = false));
    }
}
