//! Cross-check: compares a compiled program with the interpreter group by group.
//!
//! The interpreter evaluates each group on the operands of the compiled run. So errors do not accumulate, and the report names
//! the first wrong group.

use super::compile::Compiled;
use super::error_budget::{BoundedTensor, BoundedValue, Effort, LargestError, NoBudget, compare, evaluate_call};
use super::trace::{Groups, read};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::count;
use relayc_driver::bind::Bound;
use relayc_driver::group;
use relayc_exec::plan::Group;
use relayc_exec::program::{Memory, PlanSession};
use relayc_ir::kernel::{Factors, Kernel, View, Winograd};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, Module};

/// The result of a comparison without differences.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Agreement {
    pub groups: usize,
    /// The largest error, relative to the allowed one.
    pub(crate) worst: f64,
}

/// Runs a compiled program and compares each of its groups with the interpreter. Errors: the trap of an operator, E0508 for the
/// first group that differs.
pub fn run(compiled: &Compiled, args: &[Bound]) -> Result<Agreement, Box<Diagnostic>> {
    run_in(compiled, &mut compiled.session()?, args).map(|(agreement, _)| agreement)
}

/// As [`run`], in a session of the program; also returns its result.
pub(crate) fn run_in(
    compiled: &Compiled,
    session: &mut PlanSession,
    args: &[Bound],
) -> Result<(Agreement, Bound), Box<Diagnostic>> {
    let mut comparing = Comparing { compiled, agreement: Agreement::default() };
    let mut groups = Groups::of(&compiled.program.plan);
    let result = compiled.run_in(
        session,
        args,
        Some(&mut |step, memory| {
            groups.before(step, memory, &mut |group, operands, memory| comparing.compare(group, operands, memory))?;
            if step == compiled.program.plan.steps.len() { comparing.outputs(memory) } else { Ok(()) }
        }),
    )?;
    Ok((comparing.agreement, result))
}

/// Whether Winograd's method may compute a convolution less accurately than the direct sum; sums of integers stay exact.
fn may_round(conv: &Winograd) -> bool {
    conv.tile > 0 && conv.contract.factors == Factors::Floats
}

/// The error that Winograd's method with tiles of 4x4 adds to a sum, relative to the largest result. Its transforms add numbers
/// that are larger than the result (Lavin and Gray, arXiv 1509.09308; kernels with tiles of 4 measure 2e-6 to 1e-5).
const WINOGRAD_ERROR: f64 = 1e-5;

fn widened(near: &BoundedTensor) -> BoundedTensor {
    let values = near.value.to_f64s();
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let own = near.error.clone().unwrap_or_else(|| vec![0.0; values.len()]);
    BoundedTensor {
        value: near.value.clone(),
        error: Some(own.into_iter().map(|error| error + WINOGRAD_ERROR * largest).collect()),
    }
}

struct Comparing<'a> {
    compiled: &'a Compiled,
    agreement: Agreement,
}

impl Comparing<'_> {
    fn compare(&mut self, group: &Group, operands: Option<Vec<BoundedValue>>, memory: &Memory) -> Result<(), Box<Diagnostic>> {
        let (Some(operands), Some(got)) = (operands, read(&group.result, memory)) else { return Ok(()) };
        let plan = &self.compiled.program.plan;
        let module = self.compiled.module();
        let got: Vec<&Tensor> = got.tensors().into_iter().map(|near| &near.value).collect();
        let winograd = plan.steps[group.steps.clone()]
            .iter()
            .any(|step| matches!(step.work.kernel(), Some(Kernel::Winograd(conv)) if may_round(conv)));
        let held = |effort| {
            let expected = evaluate_call(module, group.call, operands.clone(), effort, self.compiled.limits())?;
            let expected: Vec<BoundedTensor> =
                expected.tensors().into_iter().map(|near| if winograd { widened(near) } else { near.clone() }).collect();
            Ok(compare(&got, &expected.iter().collect::<Vec<_>>()))
        };
        let outcome = match held(Effort::Quick) {
            Ok(Ok(Err(_))) => held(Effort::Thorough),
            outcome => outcome,
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(NoBudget::Failed(diagnostic)) => return Err(diagnostic),
            Err(NoBudget::ControlFlow) => return Ok(()),
        };
        match outcome {
            Ok(Ok(worst)) => {
                self.agreement.groups += 1;
                self.agreement.worst = self.agreement.worst.max(worst);
                Ok(())
            }
            Ok(Err(worst)) => Err(Box::new(differs(module, group.call, &worst))),
            Err(words) => Err(Box::new(wrong(module, group.call).note(words))),
        }
    }

    /// Checks that the outputs equal the last results.
    fn outputs(&self, memory: &Memory) -> Result<(), Box<Diagnostic>> {
        let plan = &self.compiled.program.plan;
        for (seen, &output) in plan.results.iter().zip(&plan.outputs) {
            let Some(BoundedValue::Tensor(expected)) = read(seen, memory) else { continue };
            let Some(got) = memory.tensor(output, &View::dense(&plan.buffers[output].shape)) else { continue };
            let wrong = match compare(&[&got], &[&expected]) {
                Ok(Ok(_)) => continue,
                Ok(Err(worst)) => said(&worst),
                Err(words) => words,
            };
            return Err(Box::new(Diagnostic::new(codes::E0508, "an output is not the result it is a copy of").note(wrong)));
        }
        Ok(())
    }
}

/// E0508, showing the operators of the group.
fn wrong(module: &Module, call: ExprId) -> Diagnostic {
    let what = group::named(module, call);
    group::shown(module, call, Diagnostic::new(codes::E0508, format!("{what} does not give what the interpreter gives")))
}

fn said(worst: &LargestError) -> String {
    let LargestError { index, got, expected, times, .. } = worst;
    let off =
        if times.is_finite() { format!("{times:.1} times what is allowed") } else { "nothing but equality is allowed".into() };
    format!("the worst element is {index:?}: {got:?}, the interpreter has {expected:?}; {off}")
}

fn differs(module: &Module, call: ExprId, worst: &LargestError) -> Diagnostic {
    wrong(module, call).note(said(worst))
}

/// A summary line for `-v`.
pub fn summary(agreement: &Agreement) -> String {
    let Agreement { groups, worst } = agreement;
    format!("{} compared with the interpreter, the worst error is {worst:.2} of what is allowed", count(*groups, "group"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Settings, compile};
    use relayc_driver::check_text;
    use relayc_driver::optimise::UNTIL;
    use relayc_driver::run::Limits;

    /// Compiles a `body` with an operand of six elements.
    fn compiled(body: &str) -> Compiled {
        let text = format!("def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) {{ {body} }}");
        let settings = Settings::native(3, 1).expect("no other is asked for").expect("a machine with AVX2");
        let compiled = compile(&check_text("x", &text, UNTIL), "main", &settings, Limits::default());
        compiled.unwrap_or_else(|_| panic!("{body} is compiled"))
    }

    fn args() -> [Bound; 2] {
        [Bound::Tensor(Tensor::from_fn(&[2, 3], |i| i as f32 - 2.0)), Bound::Tensor(Tensor::from_fn(&[3], |i| i as f32 + 1.0))]
    }

    #[test]
    fn groups_agree() {
        let found = run(&compiled("nn.softmax(add(%x, %y))"), &args()).expect("they agree");
        assert!(found.groups >= 1 && found.worst <= 1.0, "{found:?}");
        let found =
            run(&compiled("(add(%x, %y), split(tanh(%x), indices_or_sections=3, axis=1).1)"), &args()).expect("they agree");
        assert!(found.groups >= 2, "{found:?}");
    }

    #[test]
    fn the_group_that_differs_is_named_with_its_worst_element() {
        let mut wrong = compiled("nn.relu(add(%x, %y))");
        wrong.program = compiled("nn.relu(subtract(%x, %y))").program;
        let found = run(&wrong, &args()).expect_err("one adds, the other subtracts");
        assert_eq!(found.code, codes::E0508);
        assert_eq!(found.message, "the group of `add`, `nn.relu` does not give what the interpreter gives");
        let worst = "the worst element is [0, 1]: 0.0, the interpreter has 1.0; nothing but equality is allowed";
        assert!(found.notes.iter().any(|note| note == worst), "{:?}", found.notes);
        assert_eq!(found.labels.len(), 2, "{:?}", found.labels);
    }
}
