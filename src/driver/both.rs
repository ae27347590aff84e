//! A compiled program beside the interpreter: every group on the operands that the compiled run gave it, so that errors do not
//! add up and the first group that is wrong is the one that is named.

use super::bind::Bound;
use super::budget::{Near, NearValue, Unknown, Worst, compare, evaluate_call};
use super::compile::{Compiled, leaves};
use crate::base::text::count;
use crate::diag::{Diagnostic, codes};
use crate::ir::{ExprId, ExprKind, Module};
use crate::jit::program::Memory;
use crate::kernel::{Kernel, Lane, View};
use crate::ops;
use crate::plan::{Group, Seen, Work};
use crate::tensor::Tensor;

/// What a comparison found where everything agrees.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Agreement {
    pub groups: usize,
    /// The largest error, in what is allowed.
    pub worst: f64,
}

/// Runs a compiled program and holds each of its groups to the interpreter. Errors: what an operator traps with, E0508 for the first group that differs.
pub fn run(compiled: &Compiled, args: &[Bound]) -> Result<Agreement, Box<Diagnostic>> {
    let mut session = compiled.session()?;
    let inputs: Vec<Vec<u8>> = leaves(args).into_iter().map(Tensor::to_le_bytes).collect();
    let mut outputs = compiled.outputs();
    let mut follower = Follower { compiled, next: 0, last: 0, operands: vec![], agreement: Agreement::default() };
    compiled.run_session(&mut session, &inputs, &mut outputs, &mut |step, memory| follower.before(step, memory))?;
    Ok(follower.agreement)
}

/// What Winograd's method with tiles of 4x4 adds to the error of a sum, of the largest result: its transforms add numbers that are
/// larger than the result (Lavin and Gray, arXiv 1509.09308; kernels with tiles of 4 measure 2e-6 to 1e-5).
const WINOGRAD_ERROR: f64 = 1e-5;

fn widened(near: &Near) -> Near {
    let values = near.value.to_f64s();
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let own = near.error.clone().unwrap_or_else(|| vec![0.0; values.len()]);
    Near { value: near.value.clone(), error: Some(own.into_iter().map(|error| error + WINOGRAD_ERROR * largest).collect()) }
}

struct Follower<'a> {
    compiled: &'a Compiled,
    /// The first group whose operands are not taken, and the first one that is not compared.
    next: usize,
    last: usize,
    /// The operands of the groups between.
    operands: Vec<Option<Vec<NearValue>>>,
    agreement: Agreement,
}

impl Follower<'_> {
    /// Compares the groups whose steps are done, and takes the operands of those that begin.
    fn before(&mut self, step: usize, memory: &Memory) -> Result<(), Box<Diagnostic>> {
        let plan = &self.compiled.program.plan;
        loop {
            if let Some(group) = plan.groups.get(self.last).filter(|group| self.last < self.next && group.steps.end <= step) {
                let operands = self.operands.remove(0);
                self.last += 1;
                self.compare(group, operands, memory)?;
            } else if let Some(group) = plan.groups.get(self.next).filter(|group| group.steps.start <= step) {
                self.operands.push(group.operands.iter().map(|seen| read(seen, memory)).collect());
                self.next += 1;
            } else {
                break;
            }
        }
        if step == plan.steps.len() { self.outputs(memory) } else { Ok(()) }
    }

    fn compare(&mut self, group: &Group, operands: Option<Vec<NearValue>>, memory: &Memory) -> Result<(), Box<Diagnostic>> {
        let (Some(operands), Some(got)) = (operands, read(&group.result, memory)) else { return Ok(()) };
        let plan = &self.compiled.program.plan;
        let module = self.compiled.module();
        let expected = match evaluate_call(module, group.call, operands, self.compiled.limits()) {
            Ok(expected) => expected,
            Err(Unknown::Failed(diagnostic)) => return Err(diagnostic),
            Err(Unknown::ControlFlow) => return Ok(()),
        };
        let got: Vec<&Tensor> = got.tensors().into_iter().map(|near| &near.value).collect();
        let winograd = plan.steps[group.steps.clone()].iter().any(|step| matches!(step.work, Work::Kernel(Kernel::Winograd(_))));
        let expected: Vec<Near> =
            expected.tensors().into_iter().map(|near| if winograd { widened(near) } else { near.clone() }).collect();
        match compare(&got, &expected.iter().collect::<Vec<_>>()) {
            Ok(Ok(worst)) => {
                self.agreement.groups += 1;
                self.agreement.worst = self.agreement.worst.max(worst);
                Ok(())
            }
            Ok(Err(worst)) => Err(Box::new(differs(module, group.call, &worst))),
            Err(words) => Err(Box::new(wrong(module, group.call).note(words))),
        }
    }

    /// The outputs are the last results, as they are.
    fn outputs(&self, memory: &Memory) -> Result<(), Box<Diagnostic>> {
        let plan = &self.compiled.program.plan;
        for (seen, &output) in plan.results.iter().zip(&plan.outputs) {
            let Some(NearValue::Tensor(expected)) = read(seen, memory) else { continue };
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

/// A value where it lies.
fn read(seen: &Seen, memory: &Memory) -> Option<NearValue> {
    Some(match seen {
        Seen::Buffer(buffer, view) => NearValue::Tensor(Near::exact(memory.tensor(*buffer, view)?)),
        Seen::Scalar(bits, lane) => {
            let dtype = lane.dtype()?;
            let bytes = if *lane == Lane::Bool {
                vec![u8::from(*bits != 0)]
            } else {
                bits.to_le_bytes()[..dtype.bytes() as usize].to_vec()
            };
            NearValue::Tensor(Near::exact(Tensor::from_le_bytes(dtype, &[], &bytes)?))
        }
        // As deep as a type is.
        Seen::Tuple(fields) => NearValue::Tuple(fields.iter().map(|field| read(field, memory)).collect::<Option<_>>()?),
        Seen::Nowhere => return None,
    })
}

/// The operators of a group, in order of evaluation.
fn operators(module: &Module, call: ExprId) -> Vec<ExprId> {
    let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return vec![] };
    match module.exprs[callee].kind {
        ExprKind::Fn(func) => {
            let order = module.evaluation_order(&[module.funcs[func].body]);
            order.into_iter().filter(|&expr| module.called_op(expr).is_some()).collect()
        }
        _ => vec![call],
    }
}

/// E0508, the operators of the group shown.
fn wrong(module: &Module, call: ExprId) -> Diagnostic {
    let operators = operators(module, call);
    let name = |expr: ExprId| module.called_op(expr).map_or("", |op| ops::table().def(op).name);
    let names: Vec<String> = operators.iter().map(|&expr| format!("`{}`", name(expr))).collect();
    let what = if names.len() == 1 { names.concat() } else { format!("the group of {}", names.join(", ")) };
    let mut diagnostic = Diagnostic::new(codes::E0508, format!("{what} does not give what the interpreter gives"));
    for (at, &expr) in operators.iter().enumerate().rev() {
        let span = module.exprs[expr].span;
        let text = format!("computes `{}`", name(expr));
        diagnostic = if at + 1 == operators.len() { diagnostic.at(span, text) } else { diagnostic.also(span, text) };
    }
    diagnostic
}

fn said(worst: &Worst) -> String {
    let Worst { index, got, expected, times, .. } = worst;
    let off =
        if times.is_finite() { format!("{times:.1} times what is allowed") } else { "nothing but equality is allowed".into() };
    format!("the worst element is {index:?}: {got:?}, the interpreter has {expected:?}; {off}")
}

fn differs(module: &Module, call: ExprId, worst: &Worst) -> Diagnostic {
    wrong(module, call).note(said(worst))
}

/// A line for `-v`.
pub fn words(agreement: &Agreement) -> String {
    let Agreement { groups, worst } = agreement;
    format!("{} compared, the worst error is {worst:.2} of what is allowed", count(*groups, "group"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::check_text;
    use crate::driver::compile::{Settings, compile};
    use crate::driver::optimise::UNTIL;
    use crate::driver::run::Limits;

    /// `body` of an operand of six elements, compiled.
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
