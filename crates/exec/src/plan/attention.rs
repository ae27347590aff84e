//! Joins steps to attention: scores, their weights and the sums of values become one step on blocks of rows.
//!
//! The three steps belong to one group, and no other step reads the tensors between them, which then have no buffers. The code
//! generator's estimate decides whether blocks are faster. If there is no code, the group is planned with separate steps
//! ([`Lowering::refused`]). Absent: which operators form a group (`fuse-ops`).

use super::lowering::Lowering;
use super::{BufferId, Place, Step, Work};
use relayc_codegen::contraction::attention::is_faster;
use relayc_ir::kernel::{Access, Attention, Contraction, Kernel, Nest};
use std::sync::Arc;

impl Lowering<'_> {
    /// Joins the steps of the current group, which are those from `start` on.
    pub(crate) fn join_attention(&mut self, start: usize) {
        let Some([scores, rows, values]) = self.attention_steps(start) else { return };
        let steps = &self.plan.steps;
        let [of_scores, of_rows, of_values] = [scores, rows, values].map(|at| &steps[at]);
        let (Some(Kernel::Contraction(first)), Some(Kernel::Nest(nest)), Some(Kernel::Contraction(last))) =
            (of_scores.work.kernel(), of_rows.work.kernel(), of_values.work.kernel())
        else {
            return;
        };
        let between = [of_scores.args[first.out.0], of_rows.args[nest.writes[0].arg]];
        let mut joined = Joined { args: vec![], writes: vec![], between };
        let kernels = (joined.contraction(first, of_scores), joined.nest(nest, of_rows), joined.contraction(last, of_values));
        let block = joined.args.len();
        let number = |arg: usize| if arg == BETWEEN { block } else { arg };
        let (first, nest, last) = kernels;
        let attention = Attention::of(renumbered(first, number), renumbered_nest(nest, number), renumbered(last, number), block);
        let Some(attention) = attention else { return };
        // The layers of a network are mostly alike.
        if !*self.joined.entry(attention.clone()).or_insert_with_key(|attention| is_faster(attention, &self.options.target)) {
            return;
        }
        let ops = [of_scores, of_rows, of_values].into_iter().flat_map(|step| step.ops.iter().copied()).collect();
        let step = Step {
            work: Work::Kernel(Arc::new(Kernel::Attention(Box::new(attention)))),
            args: joined.args,
            writes: joined.writes.into(),
            origin: of_values.origin,
            ops,
            once: false,
        };
        self.plan.steps[values] = step;
        self.plan.steps.remove(rows);
        self.plan.steps.remove(scores);
    }

    /// The steps of scores, weights and values, if two tensors that nothing else reads connect them.
    fn attention_steps(&self, start: usize) -> Option<[usize; 3]> {
        let steps = &self.plan.steps;
        let contraction = |at: usize| match steps[at].work.kernel() {
            Some(Kernel::Contraction(contract)) if !steps[at].once => Some(contract),
            _ => None,
        };
        let values = (start..steps.len()).rev().find(|&at| contraction(at).is_some())?;
        let weights = steps[values].args[contraction(values)?.input.0];
        let rows = self.only_writer(weights, start, values)?;
        let Some(Kernel::Nest(nest)) = steps[rows].work.kernel() else { return None };
        let reads = nest.reads.iter().map(|read| steps[rows].args[read.arg]).filter(|&id| id != weights);
        let mut found = reads.filter_map(|id| Some((id, self.only_writer(id, start, rows)?)));
        let (scores, at) = found.rfind(|&(_, at)| contraction(at).is_some())?;
        (!steps[rows].once && nest.writes.len() == 1 && scores != weights).then_some([at, rows, values])
    }

    /// The step before `reader` that writes a buffer of the arena, if these two alone name it.
    fn only_writer(&self, id: BufferId, start: usize, reader: usize) -> Option<usize> {
        let own =
            matches!(self.plan.buffers[id].place, Place::Arena(_)) && !self.parts.contains(&id) && !self.padded.contains_key(&id);
        let mut named = (start..self.plan.steps.len()).filter(|&at| self.plan.steps[at].args.contains(&id));
        let (writer, last) = (named.next()?, named.next()?);
        (own && writer < reader && last == reader && named.next().is_none()).then_some(writer)
    }
}

/// Stands for the tensors between the steps, until the number of arguments is known.
const BETWEEN: usize = usize::MAX;

/// The arguments of the joined step.
struct Joined {
    args: Vec<BufferId>,
    writes: Vec<bool>,
    between: [BufferId; 2],
}

impl Joined {
    /// The number of a step's argument in the joined step.
    fn arg(&mut self, step: &Step, arg: usize) -> usize {
        let id = step.args[arg];
        if self.between.contains(&id) {
            return BETWEEN;
        }
        let at = self.args.iter().position(|&known| known == id).unwrap_or_else(|| {
            self.args.push(id);
            self.writes.push(false);
            self.args.len() - 1
        });
        self.writes[at] |= step.writes[arg];
        at
    }

    fn contraction(&mut self, of: &Contraction, step: &Step) -> Contraction {
        renumbered(of.clone(), |arg| self.arg(step, arg))
    }

    fn nest(&mut self, of: &Nest, step: &Step) -> Nest {
        renumbered_nest(of.clone(), |arg| self.arg(step, arg))
    }
}

fn renumbered(mut contract: Contraction, mut number: impl FnMut(usize) -> usize) -> Contraction {
    for (arg, _) in [&mut contract.input, &mut contract.weight, &mut contract.out] {
        *arg = number(*arg);
    }
    contract.operands.iter_mut().for_each(|operand| operand.arg = number(operand.arg));
    contract
}

fn renumbered_nest(mut nest: Nest, mut number: impl FnMut(usize) -> usize) -> Nest {
    let accesses = nest.reads.iter_mut().chain(&mut nest.writes);
    accesses.for_each(|access: &mut Access| access.arg = number(access.arg));
    nest
}
