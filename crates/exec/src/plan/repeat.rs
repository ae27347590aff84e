//! Groups that repeat: a network has the same layers again and again, and most of a decoder's step is the same however much came
//! before. What is planned for a group is kept, and given to equal groups with their own buffers.
//!
//! Two groups are equal if their descriptions are: all operators with their attributes, all types, and the memory of the operands. What
//! of that no size changes is the form of a group ([`super::form`]), which is found once for programs of all sizes.
//! A description is made only where that is all that a plan depends on. So groups whose result is to lie at a place of its own, or
//! that have been refused, are planned each for itself. A plan is the same whether it was kept or made.

use super::form::{Words, outs};
use super::group::{Lazy, Load, Source, Value};
use super::group_plans::{GroupPlan, Made};
use super::lowering::Lowering;
use super::request::Request;
use super::structure::Group;
use super::{Buffer, BufferId, Place, Step, Work};
use relayc_base::Idx;
use relayc_ir::kernel::{Factors, Instr, View};
use relayc_ir::{ExprId, ExprKind};
use rustc_hash::FxHashMap;

/// A group that is to be planned.
pub(super) struct Repeated {
    /// What the plan depends on.
    description: Vec<u64>,
    /// The buffers that the plan finds.
    found: Vec<BufferId>,
    n_steps: usize,
    n_buffers: usize,
}

impl Lowering<'_> {
    /// The description of a group before it is planned; `None` if its plan depends on more.
    pub(super) fn described(&self, call: ExprId, group: &Group, args: &[Value]) -> Option<Repeated> {
        let Request { margins, part_of, output } = self.requests.of(call);
        let placed = part_of.is_some() || output.is_some() || margins.iter().any(|&margin| margin != (0, 0));
        if placed || self.places.contains_key(&call) || self.refusals_of_group() > 0 {
            return None;
        }
        let mut describing = Describing { lowering: self, words: Words(Vec::with_capacity(64)), found: vec![] };
        describing.group(group)?;
        args.iter().try_for_each(|arg| describing.value(arg))?;
        let Describing { words, found, .. } = describing;
        Some(Repeated { description: words.0, found, n_steps: self.plan.steps.len(), n_buffers: self.plan.buffers.len() })
    }

    /// The value of a group whose plan is kept.
    pub(super) fn repeat(&mut self, group: &Repeated, call: ExprId, order: &[ExprId]) -> Option<Value> {
        let plan = self.groups.find(&group.description)?;
        let expr = |id: ExprId| order.get(id.index()).copied().unwrap_or(call);
        for made in &plan.made {
            let constant = made.constant.map(|at| order[at]);
            let mut buffer = made.buffer.clone();
            if let Some(expr) = constant
                && let ExprKind::Const(id) = self.module.exprs[expr].kind
            {
                buffer.place = Place::Const(id);
            }
            let id = self.plan.buffers.push(buffer);
            self.consts.extend(constant.map(|expr| (expr, id)));
            if made.is_constant {
                self.constant.insert(id);
            }
            if made.is_shared {
                self.parts.insert(id);
            }
            self.padded.extend(made.padded.clone().map(|padded| (id, padded)));
        }
        let buffer = |id| group.buffer(id);
        self.plan.steps.extend(plan.steps.iter().map(|step| renumbered(step, buffer, expr)));
        Some(moved(&plan.value, &buffer))
    }

    /// Keeps the plan of a group, if it names nothing but what the description does.
    pub(super) fn keep(&self, group: Repeated, call: ExprId, order: &[ExprId], value: &Value) {
        let numbers: FxHashMap<ExprId, usize> = order.iter().enumerate().map(|(at, &expr)| (expr, at)).collect();
        let expr = |id: ExprId| ExprId::from_usize(numbers.get(&id).copied().unwrap_or(order.len()));
        let is_own = |id: ExprId| id == call || numbers.contains_key(&id);
        let steps = &self.plan.steps[group.n_steps..];
        let known = |step: &Step| step.args.iter().all(|&id| group.number(id).is_some()) && exprs(step).all(is_own);
        if !steps.iter().all(|step| known(step) && !reads_weights(step)) || !names_only(value, &|id| group.number(id).is_some()) {
            return;
        }
        let constants: FxHashMap<BufferId, usize> =
            order.iter().enumerate().filter_map(|(at, expr)| Some((*self.consts.get(expr)?, at))).collect();
        let mut made = vec![];
        for id in self.plan.buffers.ids().skip(group.n_buffers) {
            let (buffer, constant) = (self.plan.buffers[id].clone(), constants.get(&id).copied());
            let stands_alone = match buffer.place {
                Place::Arena(_) | Place::Kept(_) => true,
                Place::Const(_) => constant.is_some(),
                Place::Input(_) | Place::Output(_) | Place::Table(_) => false,
            };
            if !stands_alone {
                return;
            }
            let (is_constant, is_shared) = (self.constant.contains(&id), self.parts.contains(&id));
            made.push(Made { buffer, constant, is_constant, is_shared, padded: self.padded.get(&id).cloned() });
        }
        let number = |id| group.number(id).expect("it was looked for");
        let steps = steps.iter().map(|step| renumbered(step, number, expr)).collect();
        let value = moved(value, &number);
        self.groups.add(group.description, GroupPlan { made, steps, value });
    }
}

impl Repeated {
    /// The number of a buffer in the group's plan.
    fn number(&self, id: BufferId) -> Option<BufferId> {
        let made = id.index().checked_sub(self.n_buffers).map(|at| self.found.len() + at);
        made.or_else(|| self.found.iter().position(|&found| found == id)).map(BufferId::from_usize)
    }

    /// The buffer with a number.
    fn buffer(&self, number: BufferId) -> BufferId {
        let at = number.index();
        self.found.get(at).copied().unwrap_or_else(|| BufferId::from_usize(self.n_buffers + at - self.found.len()))
    }
}

/// Whether a plan depends on the elements of the step's weights.
fn reads_weights(step: &Step) -> bool {
    step.work.contract().is_some_and(|contract| matches!(contract.factors, Factors::Pairs | Factors::Widened))
}

/// The expressions that a step names.
fn exprs(step: &Step) -> impl Iterator<Item = ExprId> {
    let of_work = match &step.work {
        Work::Positions(positions) => Some(positions.call),
        Work::Fallback(call) | Work::Routine(_, call) => Some(call.call),
        Work::Guard(guard) => Some(guard.call),
        Work::Kernel(_) | Work::Move(_) | Work::Fill(_) => None,
    };
    [step.origin].into_iter().chain(of_work)
}

/// A step with other buffers and expressions.
fn renumbered(step: &Step, buffer: impl Fn(BufferId) -> BufferId, expr: impl Fn(ExprId) -> ExprId) -> Step {
    let mut step = step.clone();
    step.args.iter_mut().for_each(|id| *id = buffer(*id));
    step.origin = expr(step.origin);
    match &mut step.work {
        Work::Positions(positions) => positions.call = expr(positions.call),
        Work::Fallback(call) | Work::Routine(_, call) => call.call = expr(call.call),
        Work::Guard(guard) => guard.call = expr(guard.call),
        Work::Kernel(_) | Work::Move(_) | Work::Fill(_) => {}
    }
    step
}

/// A value in other buffers.
fn moved(value: &Value, buffer: &impl Fn(BufferId) -> BufferId) -> Value {
    match value {
        Value::Tuple(fields) => Value::Tuple(fields.iter().map(|field| moved(field, buffer)).collect()),
        Value::Tensor(lazy) => {
            let mut lazy = Lazy::clone(lazy);
            for load in &mut lazy.loads {
                if let Source::Buffer(id) = &mut load.source {
                    *id = buffer(*id);
                }
            }
            lazy.into()
        }
    }
}

/// Whether all loads of a value are of such buffers.
fn names_only(value: &Value, known: &impl Fn(BufferId) -> bool) -> bool {
    match value {
        Value::Tuple(fields) => fields.iter().all(|field| names_only(field, known)),
        Value::Tensor(lazy) => lazy.loads.iter().all(|load| matches!(load.source, Source::Buffer(id) if known(id))),
    }
}

/// The work on a description.
struct Describing<'a> {
    lowering: &'a Lowering<'a>,
    words: Words,
    found: Vec<BufferId>,
}

impl Describing<'_> {
    /// An operand: elements of buffers, or a number.
    fn value(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::Tuple(fields) => {
                self.words.0.extend([0, fields.len() as u64]);
                fields.iter().try_for_each(|field| self.value(field))
            }
            Value::Tensor(lazy) => {
                let Lazy { dims, dtype, loads, body, ops, .. } = &**lazy;
                ops.is_empty().then_some(())?;
                match (lazy.plain(), &body.instrs[..]) {
                    (Some(load), _) => {
                        self.words.0.push(1);
                        self.load(load)?;
                    }
                    (None, &[Instr::Const(bits, lane)]) if loads.is_empty() => self.words.0.extend([2, bits, lane as u64]),
                    _ => return None,
                }
                self.words.dtype(*dtype);
                self.words.list(dims.iter().copied());
                Some(())
            }
        }
    }

    fn load(&mut self, load: &Load) -> Option<()> {
        let Source::Buffer(id) = load.source else { return None };
        let View { dims, strides, offset } = &load.view;
        self.buffer(id)?;
        self.words.dtype(load.dtype);
        self.words.list(dims.iter().copied());
        self.words.list(strides.iter().map(|&stride| stride as u64));
        self.words.0.push(*offset as u64);
        Some(())
    }

    /// A buffer that is there: its number, and what it is if it is new.
    fn buffer(&mut self, id: BufferId) -> Option<()> {
        if let Some(at) = self.found.iter().position(|&found| found == id) {
            self.words.0.push(at as u64);
            return Some(());
        }
        let lowering = self.lowering;
        if lowering.padded.contains_key(&id) {
            return None;
        }
        let Buffer { dtype, shape, elements, place, .. } = &lowering.plan.buffers[id];
        let place = match place {
            Place::Input(_) => 0,
            Place::Output(_) => 1,
            Place::Const(_) => 2,
            Place::Table(_) => 3,
            Place::Arena(_) => 4,
            Place::Kept(_) => 5,
        };
        let flags = u64::from(lowering.constant.contains(&id)) | u64::from(lowering.parts.contains(&id)) << 1;
        self.words.0.extend([self.found.len() as u64, place, flags, *elements]);
        self.found.push(id);
        self.words.dtype(*dtype);
        self.words.list(shape.iter().copied());
        Some(())
    }

    /// What a group has besides its form: which of its constants are there, and its shapes and other sizes.
    fn group(&mut self, group: &Group) -> Option<()> {
        let (lowering, form) = (self.lowering, group.form.as_ref()?);
        let module = lowering.module;
        self.words.0.push(form.number);
        for expr in &form.constants {
            match lowering.consts.get(expr) {
                Some(&id) => {
                    self.words.0.push(1);
                    self.buffer(id)?;
                }
                None => self.words.0.push(0),
            }
        }
        for &call in &form.calls {
            outs(module, call).iter().try_for_each(|&out| {
                let (shape, _) = module.types.as_tensor(out)?;
                for dim in shape {
                    self.words.0.push(dim.value()? as u64);
                }
                Some(())
            })?;
        }
        form.sized.iter().try_for_each(|&call| self.words.attrs(module.call_attrs(call), false))
    }
}
