//! Prints a plan: `--emit plan` shows choices and reasons, `--emit kernels` the computations.

use super::memory::lives;
use super::{Buffer, BufferId, Place, Plan, Step, Work};
use relayc_base::Idx;
use relayc_base::text::thousands;
use relayc_ir::ExprId;
use relayc_ir::kernel::{Alternative, Depthwise, Instr, Kernel, Reason, Rejection, ScalarType, Steps, Winograd};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// Context for printing a plan.
pub struct PlanNotes<'a> {
    /// The reason for each step's kernel.
    pub reasons: &'a [Arc<Reason>],
    /// The steps of each chain.
    pub chains: &'a [Range<usize>],
    /// The place of an expression in the text.
    pub origin: &'a dyn Fn(ExprId) -> String,
}

/// Prints every step with its strategy, reason and alternatives, then every buffer with its location and live range.
pub fn text(plan: &Plan, told: &PlanNotes) -> String {
    let mut out = String::new();
    let ratio = plan.arena_bytes as f64 / plan.needed_bytes.max(1) as f64;
    let of_live =
        if plan.needed_bytes > 0 { format!(", {ratio:.2} times the most that is needed at one time") } else { String::new() };
    let _ = writeln!(
        out,
        "arena {} bytes{of_live}; {} bytes kept between runs",
        thousands(plan.arena_bytes),
        thousands(plan.kept_bytes)
    );
    out.push_str("estimates are those of the models that choose, for one core at 3 GHz\n\nsteps\n");
    for (at, (step, reason)) in plan.steps.iter().zip(told.reasons).enumerate() {
        let once = if step.once { ", once" } else { "" };
        let _ = writeln!(out, "{at:>4}  {}  {}{once}", (told.origin)(step.origin), ops(step));
        let _ = writeln!(out, "      {}", data_flow(plan, step));
        let _ = writeln!(out, "      {}", said(reason));
        if let Some(scratch) = plan.scratch.get(at).filter(|scratch| scratch.bytes() > 0) {
            let _ = writeln!(out, "      scratch {}..{}", thousands(scratch.at), thousands(scratch.at + scratch.bytes()));
        }
    }
    for chain in told.chains {
        let _ = writeln!(out, "steps {} to {}: each thread computes its rows of all of them", chain.start, chain.end - 1);
    }
    out.push_str("\nbuffers\n");
    for ((id, buffer), life) in plan.buffers.iter_ids().zip(lives(plan)) {
        let Some(life) = life else { continue };
        let span = |from: u64| format!("{}..{}", thousands(from), thousands(from + buffer.bytes()));
        let place = match buffer.place {
            Place::Arena(from) => {
                let over = buffer.over.map(|over| format!(" over {}", name(over.index(), &plan.buffers[over])));
                format!("arena {}{}", span(from), over.unwrap_or_default())
            }
            Place::Kept(from) => format!("kept {}", span(from)),
            Place::Input(at) => format!("input {at}, {} bytes", thousands(buffer.bytes())),
            Place::Output(at) => format!("output {at}, {} bytes", thousands(buffer.bytes())),
            Place::Const(_) | Place::Table(_) => format!("constant, {} bytes", thousands(buffer.bytes())),
        };
        let steps =
            if life.first == life.last { format!("step {}", life.first) } else { format!("steps {}-{}", life.first, life.last) };
        let _ = writeln!(out, "{:>6}  {}  {place}, {steps}", name(id.index(), buffer), shape(buffer));
    }
    out
}

/// Prints every step with its kernel as the code generator sees it.
pub fn kernels(plan: &Plan, told: &PlanNotes) -> String {
    let mut out = String::new();
    for (at, step) in plan.steps.iter().enumerate() {
        let _ = writeln!(out, "{at:>4}  {}  {}", (told.origin)(step.origin), ops(step));
        let _ = writeln!(out, "      {}", data_flow(plan, step));
        for line in work(&step.work) {
            let _ = writeln!(out, "      {line}");
        }
    }
    out
}

/// The operators of a step with the dtypes and shapes of what it reads and writes: what its best strategy depends on.
///
/// `share` says whether packed weights are shared with other sizes of the program, which leaves fewer strategies.
pub fn signature(plan: &Plan, step: &Step, share: bool) -> String {
    let side = |wanted: bool| {
        let args = step.args.iter().zip(step.writes.iter()).filter(|(_, write)| **write == wanted);
        let of = |(id, _): (&BufferId, _)| {
            let buffer = &plan.buffers[*id];
            let dims: Vec<String> = buffer.shape.iter().map(u64::to_string).collect();
            let constant = matches!(buffer.place, Place::Const(_) | Place::Kept(_) | Place::Table(_));
            let constant = if constant { if share { "shared " } else { "const " } } else { "" };
            format!("{constant}{}[{}]", buffer.dtype, dims.join(","))
        };
        args.map(of).collect::<Vec<_>>().join(" ")
    };
    format!("{} {} -> {}", ops(step), side(false), side(true))
}

/// The operators of a step.
pub fn ops(step: &Step) -> String {
    match &step.work {
        Work::Fill(fill) => if fill.bits == 0 { "zero" } else { "fill" }.into(),
        _ => step.ops.join("+"),
    }
}

fn data_flow(plan: &Plan, step: &Step) -> String {
    let side = |wanted: bool| {
        let args = step.args.iter().zip(step.writes.iter()).filter(|(_, write)| **write == wanted);
        args.map(|(&id, _)| name(id.index(), &plan.buffers[id])).collect::<Vec<_>>().join(", ")
    };
    match side(false) {
        reads if reads.is_empty() => format!("→ {}", side(true)),
        reads => format!("{reads} → {}", side(true)),
    }
}

/// `name: why, est 0.21 ms; alternatives: direct 0.48 ms`.
fn said(reason: &Reason) -> String {
    let forced = if reason.forced { "forced, " } else { "" };
    let mut out = format!("{}: {forced}{}", reason.name, reason.why);
    if let Some(ns) = reason.ns {
        let _ = write!(out, ", est {}", time(ns));
    }
    let of = |other: &Alternative| match &other.rejection {
        Rejection::Ns(ns) => format!("{} {}", other.name, time(*ns)),
        Rejection::Price(price) => format!("{} for {price:.1}", other.name),
        Rejection::No(why) => format!("no {}, {why}", other.name),
    };
    if !reason.alternatives.is_empty() {
        let others: Vec<String> = reason.alternatives.iter().map(of).collect();
        let _ = write!(out, "; alternatives: {}", others.join("; "));
    }
    out
}

fn time(ns: f64) -> String {
    match () {
        () if ns < 1e3 => format!("{ns:.0} ns"),
        () if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        () => format!("{:.2} ms", ns / 1e6),
    }
}

fn name(number: usize, buffer: &Buffer) -> String {
    match buffer.place {
        Place::Input(at) => format!("in{at}"),
        Place::Output(at) => format!("out{at}"),
        Place::Const(_) => format!("const{number}"),
        Place::Table(at) => format!("table{at}"),
        Place::Arena(_) => format!("b{number}"),
        Place::Kept(_) => format!("kept{number}"),
    }
}

fn shape(buffer: &Buffer) -> String {
    let dims: Vec<String> = buffer.shape.iter().map(u64::to_string).collect();
    format!("({}) {}", dims.join(", "), buffer.dtype)
}

fn work(work: &Work) -> Vec<String> {
    match work {
        Work::Kernel(kernel) => kernel_lines(kernel),
        Work::Move(moved) => vec![format!("move of {:?} elements of {} bytes", moved.dims, moved.width)],
        Work::Fill(fill) if fill.bits == 0 => vec![format!("zero {} elements", fill.margins(1).n_elements())],
        Work::Fill(fill) => vec![format!("fill {} elements with bits {:#x}", fill.margins(1).n_elements(), fill.bits)],
        Work::Positions(positions) => vec![format!("positions below {:?}", positions.lengths)],
        Work::Guard(_) => vec!["fails where it holds".into()],
        Work::Fallback(call) => vec![format!("evaluation: {}", call.why.words())],
        Work::Routine(routine, _) => vec![format!("{routine:?}")],
    }
}

/// An instruction on values by their names: `Mul v0, v1`.
fn instr_text(instr: &Instr) -> String {
    let values: Vec<String> = instr.operands().map(|val| format!("v{}", val.0)).collect();
    let values = values.join(", ");
    match instr {
        Instr::Read(read) => format!("read {read}"),
        Instr::Gather(read, _, Steps::Any) => format!("read {read} at {values}"),
        Instr::Gather(read, _, steps) => format!("read {read} at {values}, {steps:?} steps"),
        Instr::ReadHalf(read, half) => format!("half {half} of read {read}"),
        Instr::Reduced(fold) => format!("fold {fold}"),
        Instr::Count => "count of points".to_owned(),
        Instr::Const(bits, lane) => constant_text(*bits, *lane),
        Instr::Unary(op, _) => format!("{op:?} {values}"),
        Instr::Binary(op, ..) => format!("{op:?} {values}"),
        Instr::Fma(..) => format!("Fma {values}"),
        Instr::Cmp(op, ..) => format!("{op:?} {values}"),
        Instr::Select(..) => format!("Select {values}"),
    }
}

/// A constant, given by its bits, as the number that it is.
fn constant_text(bits: u64, lane: ScalarType) -> String {
    let float = |value: f64| format!("{value:?}");
    let number = match lane {
        ScalarType::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        ScalarType::F64 => float(f64::from_bits(bits)),
        ScalarType::F16 => float(half::f16::from_bits(bits as u16).to_f64()),
        ScalarType::BF16 => float(half::bf16::from_bits(bits as u16).to_f64()),
        ScalarType::Bool => return (bits != 0).to_string(),
        ScalarType::I8 => (bits as i8).to_string(),
        ScalarType::I16 => (bits as i16).to_string(),
        ScalarType::I32 => (bits as i32).to_string(),
        ScalarType::I64 => (bits as i64).to_string(),
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => bits.to_string(),
        // Half of a value has no number of its own.
        ScalarType::HalfF64 | ScalarType::HalfI64 | ScalarType::HalfBool => format!("{bits:#x}"),
    };
    format!("{number} {lane:?}")
}

fn kernel_lines(kernel: &Kernel) -> Vec<String> {
    match kernel {
        Kernel::Attention(attention) => {
            let parts = [
                kernel_lines(&Kernel::Contraction(attention.scores.clone())),
                kernel_lines(&Kernel::Nest(attention.rows.clone())),
                kernel_lines(&Kernel::Contraction(attention.values.clone())),
            ];
            [vec![format!("attention, scores are argument {}:", attention.block)]].into_iter().chain(parts).flatten().collect()
        }
        Kernel::Nest(nest) => {
            let reduce: Vec<u64> = nest.reduce.iter().map(|dim| dim.extent).collect();
            let over = if reduce.is_empty() { String::new() } else { format!(", reduced over {reduce:?}") };
            let mut lines = vec![format!("nest of {:?}{over}", nest.dims)];
            for (what, accesses) in [("read", &nest.reads), ("write", &nest.writes)] {
                lines.extend(accesses.iter().enumerate().map(|(at, one)| {
                    let reduced = if one.reduced.is_empty() { String::new() } else { format!(" and {:?}", one.reduced) };
                    format!("  {what} {at}: argument {} {} at {} + {:?}{reduced}", one.arg, one.dtype, one.offset, one.kept)
                }));
            }
            for (at, stage) in nest.stages.iter().enumerate() {
                let often = if stage.each { "at each point" } else { "once" };
                lines.push(format!("  stage {at}, {often}:"));
                lines.extend(
                    stage.body.instrs.iter().enumerate().map(|(val, instr)| format!("    v{val} = {}", instr_text(instr))),
                );
                lines.extend(stage.reductions.iter().map(|(val, fold)| format!("    fold v{} by {fold:?}", val.0)));
                lines.extend(stage.stores.iter().map(|store| format!("    write {} = v{}", store.write, store.val.0)));
            }
            lines
        }
        Kernel::Contraction(contract)
        | Kernel::Depthwise(Depthwise { contract, .. })
        | Kernel::Winograd(Winograd { contract, .. }) => {
            let points: Vec<u64> = contract.points.iter().map(|dim| dim.extent).collect();
            let sum: Vec<u64> = contract.sum.iter().map(|dim| dim.extent).collect();
            let groups = if contract.groups > 1 { format!("{} times ", contract.groups) } else { String::new() };
            let mut lines =
                vec![format!("sum of products: {groups}points {points:?} x {} columns over {sum:?}", contract.columns)];
            lines.extend(
                contract.body.instrs.iter().enumerate().map(|(val, instr)| format!("    v{val} = {}", instr_text(instr))),
            );
            lines.push(format!("    out = v{}", contract.result.0));
            lines
        }
    }
}
