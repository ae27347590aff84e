//! Merges neighbouring parts for one compiler: TVM's `MergeCompilerRegions` (`src/relay/transforms/merge_compiler_regions.cc`).
//!
//! Two parts become one only if no value goes from the first to the second by way of a third: the whole must run at once. So a part keeps
//! the list of those that it depends on by way of others. Nor do they become one in different blocks (`regions.rs`): the second may need
//! what the first does not see, or not be computed at all.
//!
//! ```text
//! exp(compiler_begin(compiler_end(nn.relu(…))))    →    exp(nn.relu(…))
//! ```

use super::super::build::args;
use super::super::regions::{RegionId, Regions};
use super::super::rewrite::rewrite;
use super::super::{Pass, PassCx, Stop, refused};
use super::annotated::{PartId, Parts};
use super::{begin, end};
use relayc_base::diag::Diagnostic;
use relayc_base::{Idx, Span};
use relayc_ir::{ExprId, FuncId, Module};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "merge-compiler-regions",
    doc: "Takes away the marks between neighbouring parts for one compiler, where both can run as one.",
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let funcs: Vec<(FuncId, Span)> = module.globals.iter().map(|global| (global.func, global.span)).collect();
    let regions = Regions::with_lets(module, &module.post_order(&module.roots()));
    let mut inner: FxHashSet<ExprId> = FxHashSet::default();
    for (func, span) in funcs {
        if module.funcs[func].is_for_a_compiler() {
            continue;
        }
        let body = module.funcs[func].body;
        let parts = Parts::of(module, cx, body).map_err(|stop| refused(&PASS, stop))?;
        let mut merge = Merge {
            module,
            cx,
            regions: &regions,
            parts,
            merged: FxHashSet::default(),
            apart: FxHashMap::default(),
            holders: FxHashMap::default(),
            left: MAX_STEPS,
        };
        let stopped = || refused(&PASS, Stop::from("too many of its parts depend on each other by way of others").at(span));
        merge.run(body).ok_or_else(stopped)?;
        let parts = merge.parts;
        inner.extend(module.post_order(&[body]).into_iter().filter(|&expr| {
            let between = begin(module, cx, expr).filter(|(operand, _)| end(module, cx, *operand).is_some());
            between.is_some_and(|(operand, _)| parts.find(expr) == parts.find(operand))
        }));
    }
    // A mark that ends a part where the same part begins again: both go.
    Ok(rewrite(module, |module, expr| {
        let (operand, _) = begin(module, cx, expr).filter(|_| inner.contains(&expr))?;
        end(module, cx, operand).map(|(value, _)| value)
    }))
}

/// How many dependences of parts by way of others are kept, and how many expressions outside of parts are met in search of them. A chain
/// of n parts for two compilers in turn has n²/2 such dependences, so these take a few hundred megabytes at most.
const MAX_STEPS: usize = 1 << 25;

enum Step {
    Visit(ExprId),
    /// The operands of an expression have been visited.
    Visited(ExprId),
    /// The parts before that of an end have been visited.
    Merge(ExprId),
}

struct Merge<'a> {
    module: &'a Module,
    cx: &'a PassCx<'a>,
    regions: &'a Regions,
    parts: Parts,
    /// The parts that have been merged with those before them.
    merged: FxHashSet<PartId>,
    /// The parts that a part must not be merged with.
    apart: FxHashMap<PartId, FxHashSet<PartId>>,
    /// By a part: those that must not be merged with it.
    holders: FxHashMap<PartId, Vec<PartId>>,
    /// What is left of [`MAX_STEPS`].
    left: usize,
}

impl Merge<'_> {
    /// `None` if that takes too many steps.
    fn run(&mut self, body: ExprId) -> Option<()> {
        let mut seen = vec![false; self.module.exprs.len()];
        let mut steps = vec![Step::Visit(body)];
        let mut children = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit(expr) => {
                    if !std::mem::replace(&mut seen[expr.index()], true) {
                        children.clear();
                        self.module.children(expr, &mut children);
                        steps.push(Step::Visited(expr));
                        steps.extend(children.iter().rev().map(|&child| Step::Visit(child)));
                    }
                }
                Step::Visited(expr) => {
                    if end(self.module, self.cx, expr).is_some() {
                        steps.push(Step::Merge(expr));
                        let before = self
                            .inputs(expr)
                            .into_iter()
                            .filter(|&(_, part)| part.is_some_and(|part| !self.merged.contains(&part)));
                        steps.extend(before.map(|(value, _)| Step::Visit(value)));
                    }
                }
                Step::Merge(expr) => self.merge(expr)?,
            }
        }
        Some(())
    }

    /// The values that enter the part of an end, and the parts that they come from.
    fn inputs(&self, end: ExprId) -> Vec<(ExprId, Option<PartId>)> {
        let Some(part) = self.parts.find(end) else { return vec![] };
        let values = self.parts.part(part).inputs.iter().filter_map(|&input| args(self.module, input).first().copied());
        values.map(|value| (value, self.parts.find(value))).collect()
    }

    fn merge(&mut self, expr: ExprId) -> Option<()> {
        let Some(part) = self.parts.find(expr).filter(|part| !self.merged.contains(part)) else { return Some(()) };
        let (mut direct, mut others): (Vec<(PartId, ExprId)>, _) = (Vec::new(), Vec::new());
        let mut known = FxHashSet::default();
        for (value, before) in self.inputs(expr) {
            match before {
                Some(before) if known.insert(before) => direct.push((before, value)),
                Some(_) => {}
                None => others.push(value),
            }
        }
        // What comes by way of an expression in no part comes by way of a third.
        let below = self.parts_below(others)?;
        let related = below.iter().chain(&known).filter_map(|other| self.apart.get(other));
        let inherited: FxHashSet<PartId> = related.flatten().copied().collect();
        for other in below.union(&inherited) {
            self.forbid(part, *other)?;
        }
        let region = self.region(expr);
        for (before, value) in direct {
            let same = self.parts.part(before).compiler == self.parts.part(part).compiler && self.region(value) == region;
            if !same {
                self.forbid(part, before)?;
            } else if before != part && !self.apart.get(&part).is_some_and(|apart| apart.contains(&before)) {
                self.parts.merge(self.module, before, part);
                for holder in self.holders.remove(&before).unwrap_or_default() {
                    if self.apart.get_mut(&holder).is_some_and(|apart| apart.remove(&before)) {
                        self.forbid(holder, part)?;
                    }
                }
            }
        }
        self.merged.insert(part);
        Some(())
    }

    /// Says that a part must not be merged with another one.
    fn forbid(&mut self, part: PartId, other: PartId) -> Option<()> {
        if self.apart.entry(part).or_default().insert(other) {
            self.left = self.left.checked_sub(1)?;
            self.holders.entry(other).or_default().push(part);
        }
        Some(())
    }

    /// Where the value that leaves a part is computed.
    fn region(&self, end: ExprId) -> RegionId {
        self.regions.region(args(self.module, end).first().copied().unwrap_or(end))
    }

    /// The parts that expressions in no part take values from. A part that no value leaves is none.
    fn parts_below(&mut self, mut left: Vec<ExprId>) -> Option<FxHashSet<PartId>> {
        let (mut found, mut seen) = (FxHashSet::default(), FxHashSet::default());
        while let Some(expr) = left.pop() {
            match self.parts.find(expr).filter(|&part| !self.parts.part(part).outputs.is_empty()) {
                Some(part) => drop(found.insert(part)),
                None if seen.insert(expr) => {
                    self.left = self.left.checked_sub(1)?;
                    self.module.children(expr, &mut left);
                }
                None => {}
            }
        }
        Some(found)
    }
}
