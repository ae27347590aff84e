//! The parts of a function that marks enclose: TVM's `AnnotatedRegionSet` (`src/relay/analysis/annotated_region_set.cc`).

use super::super::build::args;
use super::super::{PassCx, Stop};
use super::{begin, end};
use relayc_base::{Idx, index_type};
use relayc_ir::{ExprId, ExprKind, Module};
use rustc_hash::FxHashMap;
use std::cell::Cell;

index_type! {
    /// A part, by the number of the first mark that opened it.
    pub(super) struct PartId;
}

/// A part for a compiler.
#[derive(Default)]
pub(super) struct Part {
    pub(super) compiler: String,
    /// The marks where values enter.
    pub(super) inputs: Vec<ExprId>,
    /// The marks where values leave.
    pub(super) outputs: Vec<ExprId>,
}

/// The parts of a function.
#[derive(Default)]
pub(super) struct Parts {
    all: Vec<Part>,
    /// The part that each was merged into, or itself; in a cell, since each way to a root is halved by whoever goes it.
    into: Vec<Cell<PartId>>,
    of: FxHashMap<ExprId, PartId>,
}

enum Step {
    Enter(ExprId),
    Leave(ExprId),
}

impl Parts {
    /// Finds the parts below an expression. Errors: a mark without its partner, or operands of one expression of which some are
    /// marked and some are not.
    pub(super) fn of(module: &Module, cx: &PassCx, body: ExprId) -> Result<Parts, Stop> {
        let mut parts = Parts::default();
        let mut seen = vec![false; module.exprs.len()];
        let mut steps = vec![Step::Enter(body)];
        let mut children = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(expr) => {
                    if std::mem::replace(&mut seen[expr.index()], true) {
                        continue;
                    }
                    children.clear();
                    module.children(expr, &mut children);
                    match module.exprs[expr].kind {
                        ExprKind::Let { .. } | ExprKind::If { .. } | ExprKind::RefNew(_) | ExprKind::RefRead(_) => {
                            parts.join(module, cx, expr, &children)?;
                        }
                        ExprKind::RefWrite { cell, .. } => parts.join(module, cx, expr, &[cell])?,
                        _ => steps.push(Step::Leave(expr)),
                    }
                    steps.extend(children.iter().rev().map(|&child| Step::Enter(child)));
                }
                Step::Leave(expr) => parts.leave(module, cx, expr).map_err(|stop| stop.at(module.exprs[expr].span))?,
            }
        }
        Ok(parts)
    }

    fn leave(&mut self, module: &Module, cx: &PassCx, expr: ExprId) -> Result<(), Stop> {
        if let Some((_, compiler)) = begin(module, cx, expr) {
            let id = PartId::from_usize(self.all.len());
            self.all.push(Part { compiler, inputs: vec![expr], outputs: vec![] });
            self.into.push(Cell::new(id));
            self.of.insert(expr, id);
            return Ok(());
        }
        if let Some((operand, compiler)) = end(module, cx, expr) {
            let part = self.find(operand).ok_or("a `compiler_end` is not behind a `compiler_begin`")?;
            if self.all[part.index()].compiler != compiler {
                return Err("a `compiler_end` names another compiler than the `compiler_begin` before it".into());
            }
            self.of.insert(expr, part);
            self.all[part.index()].outputs.push(expr);
            return Ok(());
        }
        match module.exprs[expr].kind {
            ExprKind::Call { .. } | ExprKind::Tuple(_) => self.join(module, cx, expr, &args(module, expr)),
            ExprKind::Proj { tuple, .. } => self.join(module, cx, expr, &[tuple]),
            _ => Ok(()),
        }
    }

    /// Adds an expression to the part of its operands, which become one.
    fn join(&mut self, module: &Module, cx: &PassCx, expr: ExprId, operands: &[ExprId]) -> Result<(), Stop> {
        let open: Vec<ExprId> = operands.iter().copied().filter(|&operand| end(module, cx, operand).is_none()).collect();
        let Some(part) = open.iter().find_map(|&operand| self.find(operand)) else { return Ok(()) };
        for operand in open {
            let other = self.find(operand).ok_or_else(|| {
                Stop::from("an expression has operands inside and outside of a part").at(module.exprs[expr].span)
            })?;
            self.merge(module, other, part);
        }
        match self.find(expr) {
            Some(other) => self.merge(module, other, part),
            None => drop(self.of.insert(expr, part)),
        }
        Ok(())
    }

    /// The part of an expression.
    pub(super) fn find(&self, expr: ExprId) -> Option<PartId> {
        self.of.get(&expr).map(|&part| self.root(part))
    }

    pub(super) fn root(&self, mut part: PartId) -> PartId {
        loop {
            let into = self.into[part.index()].get();
            if into == part {
                return part;
            }
            let next = self.into[into.index()].get();
            self.into[part.index()].set(next);
            part = next;
        }
    }

    pub(super) fn part(&self, part: PartId) -> &Part {
        &self.all[part.index()]
    }

    /// Makes one part the other's; what went from one to the other is inside now.
    pub(super) fn merge(&mut self, module: &Module, from: PartId, to: PartId) {
        if from == to {
            return;
        }
        let Part { inputs, outputs, .. } = std::mem::take(&mut self.all[from.index()]);
        let mut part = std::mem::take(&mut self.all[to.index()]);
        part.inputs.extend(inputs);
        part.outputs.extend(outputs);
        let mut inner = Vec::new();
        part.inputs.retain(|&input| {
            let operand = args(module, input).first().copied();
            let is_inner = operand.is_some_and(|operand| self.find(operand) == Some(from));
            inner.extend(operand.filter(|_| is_inner));
            !is_inner
        });
        part.outputs.retain(|output| !inner.contains(output));
        self.all[to.index()] = part;
        self.into[from.index()].set(to);
    }
}
