//! A plan as text, for `--emit plan`.

use super::{Buffer, Place, Plan, Work};
use crate::base::Idx;
use crate::kernel::{Depthwise, Kernel, Winograd};
use std::fmt::Write;

/// Every step with what it computes and where.
pub fn text(plan: &Plan) -> String {
    let mut out = String::new();
    let _ =
        writeln!(out, "arena {} bytes, kept {} bytes, most live {} bytes", plan.arena_bytes, plan.kept_bytes, plan.live_bytes);
    for (at, step) in plan.steps.iter().enumerate() {
        let buffers: Vec<String> = step
            .args
            .iter()
            .zip(&step.writes)
            .map(|(&id, &write)| format!("{}{}", if write { "→" } else { "" }, place(id.index(), &plan.buffers[id])))
            .collect();
        let once = if step.once { " once" } else { "" };
        let _ = writeln!(out, "{at:>4}{once} {} [{}] {}", step.ops.join("+"), buffers.join(" "), work(&step.work));
    }
    out
}

fn place(number: usize, buffer: &Buffer) -> String {
    let dims: Vec<String> = buffer.shape.iter().map(u64::to_string).collect();
    let at = match buffer.place {
        Place::Input(at) => format!("in{at}"),
        Place::Output(at) => format!("out{at}"),
        Place::Const(_) => format!("const{number}"),
        Place::Table(at) => format!("table{at}"),
        Place::Arena(offset) => format!("b{number}@{offset}"),
        Place::Kept(offset) => format!("k{number}@{offset}"),
    };
    format!("{at}({})", dims.join("x"))
}

fn work(work: &Work) -> String {
    match work {
        Work::Move(moved) => format!("move {:?}", moved.dims),
        Work::Zero(stretches) => format!("zero {} stretches", stretches.len()),
        Work::Positions(positions) => format!("positions below {:?}", positions.lengths),
        Work::Guard(_) => "fails where it holds".into(),
        Work::Fallback(_) => "fallback: no kernel".into(),
        Work::Kernel(Kernel::Nest(nest)) => {
            let reduce: Vec<u64> = nest.reduce.iter().map(|dim| dim.extent).collect();
            format!("nest {:?} over {reduce:?}, {} stages, {} reads", nest.dims, nest.stages.len(), nest.reads.len())
        }
        Work::Kernel(
            Kernel::Contract(contract)
            | Kernel::Depthwise(Depthwise { contract, .. })
            | Kernel::Winograd(Winograd { contract, .. }),
        ) => {
            let points: Vec<u64> = contract.points.iter().map(|dim| dim.extent).collect();
            let sum: Vec<u64> = contract.sum.iter().map(|dim| dim.extent).collect();
            format!("contract {}×{points:?}×{} over {sum:?}", contract.groups, contract.columns)
        }
    }
}
