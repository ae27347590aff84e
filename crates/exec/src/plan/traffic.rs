//! Counts the memory traffic and operations of a step from its kernel, for comparison with the limits of a machine.
//!
//! Bytes are those of the accessed elements, each once. Operations are those of the written body; a function counts as one. The
//! machine's method (transposed weights, fewer products by Winograd's method) does not matter.

use super::{Plan, Step, Work};
use relayc_ir::kernel::{Access, Contraction, Instr, Kernel, Nest};

/// The traffic of a step.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Traffic {
    pub bytes: u64,
    /// Number of operations on floats or integers.
    pub ops: u64,
}

/// Counts the traffic of a step.
pub fn traffic(plan: &Plan, step: &Step) -> Traffic {
    let whole = || step.args.iter().map(|&id| plan.buffers[id].bytes()).sum();
    let width = |arg: usize| u64::from(plan.buffers[step.args[arg]].dtype.bits.div_ceil(8));
    match &step.work {
        Work::Fill(fill) => Traffic { bytes: fill.margins(1).n_elements() as u64 * width(0), ops: 0 },
        Work::Move(moved) => Traffic { bytes: 2 * moved.dims.iter().product::<u64>() * moved.width as u64, ops: 0 },
        Work::Positions(_) | Work::Guard(_) | Work::Fallback(_) | Work::Routine(..) => Traffic { bytes: whole(), ops: 0 },
        Work::Kernel(kernel) => {
            let capped =
                |arg: usize, elements: u64| plan.buffers[step.args[arg]].bytes().min(elements.saturating_mul(width(arg)));
            of_kernel(kernel, whole(), &capped)
        }
    }
}

/// Counts the traffic of a kernel from the bytes of all its arguments, and those of so many elements of one.
fn of_kernel(kernel: &Kernel, whole: u64, capped: &impl Fn(usize, u64) -> u64) -> Traffic {
    match kernel {
        Kernel::Nest(nest) => {
            let of = |access: &Access| capped(access.arg, places(access, nest));
            Traffic { bytes: nest.reads.iter().chain(&nest.writes).map(of).sum(), ops: nest_ops(nest) }
        }
        Kernel::Attention(attention) => {
            let results = attention.parts() * attention.n_rows();
            let products = |of: &Contraction| of.columns * of.sum.iter().map(|dim| dim.extent).product::<u64>();
            let ops = 2 * results * (products(&attention.scores) + products(&attention.values)) + nest_ops(&attention.rows);
            Traffic { bytes: whole, ops }
        }
        kernel => {
            let Some(contract) = kernel.contract() else { return Traffic::default() };
            let Contraction { groups, columns, .. } = *contract;
            let points: u64 = contract.points.iter().map(|dim| dim.extent).product();
            let steps: u64 = contract.sum.iter().map(|dim| dim.extent).product();
            let results = groups * points * columns;
            let of_groups = if contract.group_steps[1] == 0 { 1 } else { groups };
            let operands = contract.operands.iter().map(|operand| {
                let moves = contract.points.iter().zip(&operand.points).filter(|(_, step)| **step != 0);
                let columns = if operand.columns.inner == 0 && operand.columns.outer == 0 { 1 } else { columns };
                let groups = if operand.group == 0 { 1 } else { groups };
                capped(operand.arg, groups * columns * moves.map(|(dim, _)| dim.extent).product::<u64>())
            });
            let input = capped(contract.input.0, u64::MAX);
            let products = steps * contract.factors.products();
            let weights = capped(contract.weight.0, of_groups * columns * products);
            let bytes = input + weights + capped(contract.out.0, results) + operands.sum::<u64>();
            Traffic { bytes, ops: results * (2 * products + operations(&contract.body.instrs)) }
        }
    }
}

/// Number of distinct elements that an access names.
fn places(access: &Access, nest: &Nest) -> u64 {
    let kept = access.kept.iter().zip(&nest.dims).filter(|(step, _)| **step != 0).map(|(_, extent)| *extent);
    let reduced = access.reduced.iter().zip(&nest.reduce).filter(|(step, _)| **step != 0).map(|(_, dim)| dim.extent);
    kept.chain(reduced).fold(1, u64::saturating_mul)
}

fn operations(instrs: &[Instr]) -> u64 {
    let of = |instr: &Instr| match instr {
        Instr::Read(_) | Instr::Gather(..) | Instr::Const(..) | Instr::Reduced(_) | Instr::Count => 0,
        Instr::Fma(..) => 2,
        _ => 1,
    };
    instrs.iter().map(of).sum()
}

fn nest_ops(nest: &Nest) -> u64 {
    let points: u64 = nest.dims.iter().product();
    let reduced: u64 = nest.reduce.iter().map(|dim| dim.extent).product();
    let stages = nest.stages.iter().map(|stage| {
        let times = if stage.each { reduced } else { 1 };
        times * (operations(&stage.body.instrs) + stage.reductions.len() as u64)
    });
    points * stages.sum::<u64>()
}
