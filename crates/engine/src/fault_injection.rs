//! Fault injection: known-wrong machine code, to test the tools that find miscompilations.
//!
//! `RELAYC_FAULT=name` asks the command line for a fault, and each run reports it
//! ([`Settings::fault`](super::compile::Settings)). The fault changes a plan before code is made of it, like a mistake in a
//! kernel's rule would. A fault never leaves the buffers. Absent: faults in library calls and in artifacts, and any knowledge
//! of faults elsewhere.

use relayc_exec::plan::{BufferId, Plan, Work};
use relayc_ir::kernel::{BinaryOp, Body, Contraction, ContractionDim, Instr, Kernel, Nest, Reduction, ScalarType, Val};
use std::sync::Arc;

/// An injected fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Omits the bias of each channel in sums over windows of 3x3.
    Bias,
    /// Treats the last row or column of a maximum's input as padding; if the padding is in memory, the last of each window.
    Pad,
    /// If a contraction is added to another tensor, clips the result at an eighth instead of 0.
    Clip,
}

/// The environment variable that injects a fault.
const VARIABLE: &str = "RELAYC_FAULT";

const NAMES: [(&str, Fault); 3] = [("bias", Fault::Bias), ("pad", Fault::Pad), ("clip", Fault::Clip)];

impl Fault {
    /// The fault that the environment asks for; none if the variable is empty. Errors: an unknown name, in words.
    pub fn wanted() -> Result<Option<Fault>, String> {
        let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(None) };
        let found = NAMES.iter().find(|(name, _)| value.to_str() == Some(name));
        let names = NAMES.map(|(name, _)| format!("`{name}`")).join(", ");
        let words = || format!("{VARIABLE} is `{}`: expected one of {names}", value.to_string_lossy());
        found.map(|&(_, fault)| Some(fault)).ok_or_else(words)
    }

    /// `RELAYC_FAULT=bias: kernels are wrong on purpose`.
    pub fn summary(self) -> String {
        let name = NAMES.iter().find(|(_, fault)| *fault == self).map_or("", |(name, _)| name);
        format!("{VARIABLE}={name}: kernels are wrong on purpose")
    }

    /// Changes every kernel of a plan to which the fault applies; returns their number.
    pub(crate) fn put_into(self, plan: &mut Plan) -> usize {
        let padding = plan.steps.iter().filter_map(|step| match &step.work {
            Work::Fill(fill) if fill.bits != 0 => Some(step.args[0]),
            _ => None,
        });
        let padded: Vec<BufferId> = padding.collect();
        let spoilt = plan.steps.iter_mut().map(|step| match &mut step.work {
            Work::Kernel(kernel) => {
                let reads = step.args.iter().zip(step.writes.iter()).any(|(arg, writes)| !writes && padded.contains(arg));
                usize::from(self.spoil(Arc::make_mut(kernel), reads))
            }
            _ => 0,
        });
        spoilt.sum()
    }

    /// Changes a kernel; returns whether the fault applies. `padded`: the kernel reads a tensor with padding in memory, and not
    /// only of zeros.
    fn spoil(self, kernel: &mut Kernel, padded: bool) -> bool {
        match (self, kernel) {
            (Fault::Pad, Kernel::Nest(nest)) => clip_less(nest) || padded && end_early(nest),
            (Fault::Pad, _) | (_, Kernel::Nest(_) | Kernel::Attention(_)) => false,
            (fault, Kernel::Contraction(contract)) => fault.spoil_contract(contract),
            (fault, Kernel::Depthwise(depthwise)) => fault.spoil_contract(&mut depthwise.contract),
            (fault, Kernel::Winograd(winograd)) => fault.spoil_contract(&mut winograd.contract),
        }
    }

    fn spoil_contract(self, contract: &mut Contraction) -> bool {
        let for_each_channel = |read: usize| {
            let operand = read.checked_sub(1).and_then(|read| contract.operands.get(read));
            // Along an axis of one element a stride says nothing.
            let is_one = |(stride, dim): (&i64, &ContractionDim)| *stride == 0 || dim.extent == 1;
            operand.map(|operand| operand.points.iter().zip(&contract.points).all(is_one))
        };
        match self {
            Fault::Bias => {
                let window = contract.sum.iter().filter(|dim| dim.extent == 3).count() >= 2;
                let added: Vec<Val> = added(&contract.body).collect();
                let is_bias = |val: &Val| matches!(contract.body.instrs[val.0 as usize], Instr::Read(read) if for_each_channel(usize::from(read)) == Some(true));
                let biases: Vec<Val> = added.into_iter().filter(|val| window && is_bias(val)).collect();
                for bias in &biases {
                    contract.body.instrs[bias.0 as usize] = Instr::Const(0, ScalarType::F32);
                }
                !biases.is_empty()
            }
            Fault::Clip => {
                let joins = (0..=contract.operands.len()).any(|read| for_each_channel(read) == Some(false));
                joins && clip_higher(&mut contract.body)
            }
            Fault::Pad => false,
        }
    }
}

/// The values that a body adds to something.
fn added(body: &Body) -> impl Iterator<Item = Val> + '_ {
    body.instrs
        .iter()
        .flat_map(|instr| match *instr {
            Instr::Binary(BinaryOp::Add, a, b) => [Some(a), Some(b)],
            Instr::Fma(_, _, c) => [Some(c), None],
            _ => [None, None],
        })
        .flatten()
}

/// Replaces the zero of a maximum by an eighth; returns whether there is one.
fn clip_higher(body: &mut Body) -> bool {
    let is_zero = |val: Val| body.instrs[val.0 as usize] == Instr::Const(0, ScalarType::F32);
    let zeros = body.instrs.iter().find_map(|instr| match *instr {
        Instr::Binary(BinaryOp::Max | BinaryOp::MaxSecond, a, b) => [a, b].into_iter().find(|&val| is_zero(val)),
        _ => None,
    });
    let Some(zero) = zeros else { return false };
    body.instrs[zero.0 as usize] = Instr::Const(0.125f32.to_bits().into(), ScalarType::F32);
    true
}

fn has_maxima(nest: &Nest) -> bool {
    nest.stages.iter().flat_map(|stage| &stage.reductions).any(|&(_, fold)| fold == Reduction::Max)
}

/// Shortens the windows of maxima by one element; returns whether there are any.
fn end_early(nest: &mut Nest) -> bool {
    let maxima = has_maxima(nest);
    let mut any = false;
    for dim in nest.reduce.iter_mut().filter(|dim| maxima && dim.extent > 1) {
        dim.extent -= 1;
        any = true;
    }
    any
}

/// Ends the input of maxima one element early for their windows; returns whether there are any.
fn clip_less(nest: &mut Nest) -> bool {
    let maxima = has_maxima(nest);
    let mut any = false;
    for clip in nest.reduce.iter_mut().filter_map(|dim| dim.clip.as_mut()).filter(|clip| maxima && clip.size > 1) {
        clip.size -= 1;
        any = true;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Settings, plan_of};
    use relayc_driver::check_text;
    use relayc_driver::optimise::UNTIL;

    /// Number of a program's kernels to which a fault applies.
    fn spoilt(fault: Fault, body: &str) -> usize {
        let text = format!(
            "def @main(%x: Tensor[(1, 8, 9, 9), float32], %w: Tensor[(8, 8, 3, 3), float32], %b: Tensor[(8), float32]) {{ {body} }}"
        );
        let mut program = check_text("x", &text, UNTIL);
        let settings = Settings::native(3, 1).expect("no other is asked for").expect("a machine with AVX2");
        let plan = plan_of(&mut program.module, "main", &settings);
        fault.put_into(&mut plan.unwrap_or_else(|_| panic!("{body} is planned")))
    }

    #[test]
    fn a_fault_is_in_the_kernels_that_it_is_about() {
        let conv = "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])";
        let biased = format!("nn.relu(nn.bias_add({conv}, %b))");
        let joined = format!("nn.relu(add({conv}, %x))");
        let pooled = "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])";
        assert_eq!(spoilt(Fault::Bias, &biased), 1);
        assert_eq!(spoilt(Fault::Clip, &joined), 1);
        assert_eq!(spoilt(Fault::Pad, pooled), 1);
        assert_eq!(spoilt(Fault::Bias, &joined), 0);
        assert_eq!(spoilt(Fault::Clip, &biased), 0);
        assert_eq!(spoilt(Fault::Pad, &biased), 0);
    }
}
