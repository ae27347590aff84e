//! Combines convolutions or products of one operand into one operator, with the elementwise operators behind them, and cuts its result:
//! TVM's `CombineParallelConv2D`, `CombineParallelDense` and `CombineParallelBatchMatmul`
//! (`src/relay/transforms/combine_parallel_op.cc` and the files beside it).
//!
//! A branch is such an operator with the elementwise operators behind it, each the only call of the one before. Branches of one operand
//! that fit each other become one: level by level, as far as the operators of all branches are the same.
//!
//! The rewrite is sound because every output channel is a sum of its own, and an elementwise operator computes each element of its
//! own: the types say at each level that the combined tensor is those of the branches side by side. All branches are computed in
//! one region. What they read besides the common operand has no effects and is in scope where the first of them is computed. No
//! operand may depend on a branch of its own group (see [`without_cycles`]).
//!
//! ```text
//! nn.relu(nn.conv2d(%x, %v));  nn.relu(nn.conv2d(%x, %w))
//! →
//! %0 = nn.relu(nn.conv2d(%x, concatenate((%v, %w))));  strided_slice(%0, …);  strided_slice(%0, …)
//! ```

mod kinds;
mod scopes;

use super::build::{ExprKey, args, dims, dtype, project, tuple};
use super::eliminate_common_subexpr::same_attrs;
use super::regions::RegionId;
use super::rewrite::substitute;
use super::step::{ArgKind, Param};
use super::{Pass, PassCx};
use kinds::{Alike, Kind};
use relayc_base::{Idx, Span, usize_of};
use relayc_ir::types::Dim;
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::declarations::{SPLIT, SQUEEZE, STRIDED_SLICE};
use relayc_ops::{Fuse, OpDef};
use rustc_hash::{FxHashMap, FxHashSet};
use scopes::Scopes;

const MIN_BRANCHES: Param = Param {
    name: "min_branches",
    kind: ArgKind::Count,
    default: "3",
    doc: "how many branches of one operand are combined at least",
};

pub(crate) const CONV2D_PASS: Pass = Pass {
    name: "combine-parallel-conv2d",
    doc: "Makes one `nn.conv2d` of several with one operand, with the elementwise operators behind them, and cuts its result.",
    params: &[MIN_BRANCHES],
    run: |module, cx| Ok(run(module, cx, &kinds::CONV2D_KIND)),
    ..Pass::BASE
};

pub(crate) const DENSE_PASS: Pass = Pass {
    name: "combine-parallel-dense",
    doc: "Makes one `nn.batch_matmul`, or one `nn.dense`, of several `nn.dense` with one operand, with the elementwise operators behind \
          them, and cuts its result.",
    params: &[
        MIN_BRANCHES,
        Param {
            name: "to_batch",
            kind: ArgKind::Bool,
            default: "true",
            doc: "whether layers of one size become one `nn.batch_matmul`",
        },
    ],
    run: |module, cx| {
        let kind = if cx.args.bool("to_batch") { &kinds::DENSE_TO_BATCH_KIND } else { &kinds::DENSE_KIND };
        Ok(run(module, cx, kind))
    },
    ..Pass::BASE
};

pub(crate) const BATCH_MATMUL_PASS: Pass = Pass {
    name: "combine-parallel-batch-matmul",
    doc: "Makes one `nn.batch_matmul` of several with one first operand, with the elementwise operators behind them, and cuts its \
          result.",
    params: &[MIN_BRANCHES],
    run: |module, cx| Ok(run(module, cx, &kinds::BATCH_MATMUL_KIND)),
    ..Pass::BASE
};

/// An operator to combine and the elementwise operators behind it.
type Branch = Vec<ExprId>;

/// The value of all branches at one level.
struct Combined {
    expr: ExprId,
    place: Place,
}

/// Where the branches lie in the combined value.
enum Place {
    /// Side by side along an axis.
    Joined { axis: usize, sizes: Vec<i64> },
    /// One behind the other along a new first axis.
    Stacked,
}

/// A group of branches after it was combined.
struct Group {
    /// The last combined call of each branch, and what replaces it.
    outputs: Vec<(ExprId, ExprId)>,
    /// What the combined calls read.
    operands: Vec<ExprId>,
}

fn run(module: &mut Module, cx: &PassCx, kind: &Kind) -> bool {
    let order = module.post_order(&module.roots());
    let first_new = module.exprs.next_id();
    let scopes = Scopes::of(module, &order);
    let min_branches = usize_of(cx.args.count("min_branches"));
    let mut combine = Combine { module, cx, kind, scopes, span: Span::NONE };
    let groups = combine.fitting_branches(&order);
    let mut taken: FxHashSet<ExprId> = FxHashSet::default();
    let mut made: Vec<Group> = Vec::new();
    for branches in groups.into_iter().filter(|branches| branches.len() >= min_branches) {
        // As in TVM, calls that another group has replaced stay as they are.
        let group = combine.group(&branches).filter(|group| group.outputs.iter().all(|(old, _)| !taken.contains(old)));
        taken.extend(group.iter().flat_map(|group| &group.outputs).map(|(old, _)| *old));
        made.extend(group);
    }
    let made = without_cycles(module, &order, made);
    let mut by = vec![None; module.exprs.len()];
    for (old, new) in made.iter().flat_map(|group| &group.outputs) {
        by[old.index()] = Some(*new);
    }
    let created = (first_new.index()..module.exprs.len()).map(ExprId::from_usize);
    let users: Vec<ExprId> = order.into_iter().chain(created).collect();
    substitute(module, &users, by);
    !made.is_empty()
}

/// The groups whose operands depend on fewer outputs of groups than any output of the group itself, counted along the longest way.
///
/// On a way from a combined value to what it depends on, the count never grows, and it shrinks at each group: so there is no cycle.
fn without_cycles(module: &Module, order: &[ExprId], groups: Vec<Group>) -> Vec<Group> {
    let outputs: FxHashSet<ExprId> = groups.iter().flat_map(|group| &group.outputs).map(|(old, _)| *old).collect();
    let mut counts = vec![0u32; module.exprs.len()];
    let mut children = Vec::new();
    for &expr in order {
        children.clear();
        module.children(expr, &mut children);
        let below = children.iter().map(|child| counts[child.index()]).max().unwrap_or(0);
        counts[expr.index()] = below + u32::from(outputs.contains(&expr));
    }
    let is_apart = |group: &Group| {
        let highest = group.operands.iter().map(|operand| counts[operand.index()]).max();
        highest < group.outputs.iter().map(|(old, _)| counts[old.index()]).min()
    };
    groups.into_iter().filter(is_apart).collect()
}

/// The channels of all branches together.
fn total(sizes: &[i64]) -> Option<i64> {
    sizes.iter().try_fold(0, |total: i64, &size| total.checked_add(size))
}

/// What is known while groups are combined; expressions are only added.
struct Combine<'a> {
    module: &'a mut Module,
    cx: &'a PassCx<'a>,
    kind: &'a Kind,
    scopes: Scopes,
    /// The place of the operator that is combined.
    span: Span,
}

impl Combine<'_> {
    /// The branches that fit each other, in the order of the program.
    fn fitting_branches(&self, order: &[ExprId]) -> Vec<Vec<Branch>> {
        let mut callers: FxHashMap<ExprKey, Vec<ExprId>> = FxHashMap::default();
        let mut roots: Vec<(ExprKey, Vec<ExprId>)> = Vec::new();
        let mut root_of: FxHashMap<ExprKey, usize> = FxHashMap::default();
        for &call in order.iter().filter(|&&expr| matches!(self.module.exprs[expr].kind, ExprKind::Call { .. })) {
            let operands = args(self.module, call);
            let key = |operand: &ExprId| ExprKey::of(self.module, *operand);
            if self.cx.calls(self.module, call, self.kind.def) && (self.kind.supports)(self, call) {
                let root = key(&operands[0]);
                callers.entry(root).or_default().push(call);
                let at = *root_of.entry(root).or_insert(roots.len());
                if at == roots.len() {
                    roots.push((root, vec![]));
                }
                roots[at].1.push(call);
            } else {
                operands.iter().for_each(|operand| callers.entry(key(operand)).or_default().push(call));
            }
        }
        roots.into_iter().flat_map(|(_, calls)| self.fitting(&calls, &callers)).collect()
    }

    /// The branches that begin with these calls, by what they have in common.
    fn fitting(&self, calls: &[ExprId], callers: &FxHashMap<ExprKey, Vec<ExprId>>) -> Vec<Vec<Branch>> {
        let mut groups: Vec<Vec<Branch>> = Vec::new();
        let mut by: FxHashMap<(RegionId, Alike), usize> = FxHashMap::default();
        for &call in calls {
            let Some(alike) = (self.kind.alike)(self, call) else { continue };
            let at = *by.entry((self.scopes.home(call), alike)).or_insert(groups.len());
            if at == groups.len() {
                groups.push(vec![]);
            }
            groups[at].push(self.branch(call, callers));
        }
        groups
    }

    /// A call with the elementwise operators behind it, each the only call of the one before.
    fn branch(&self, call: ExprId, callers: &FxHashMap<ExprKey, Vec<ExprId>>) -> Branch {
        let mut branch = vec![call];
        let mut last = call;
        while let Some(&[caller]) = callers.get(&ExprKey::Other(last)).map(Vec::as_slice) {
            let fuse = self.cx.called(self.module, caller).and_then(|def| def.fuse);
            if fuse.is_none_or(|fuse| fuse > Fuse::Broadcast) {
                break;
            }
            branch.push(caller);
            last = caller;
        }
        branch
    }

    /// One value for all branches, as far as they are alike, and the part of each; `None` if they stay apart.
    fn group(&mut self, branches: &[Branch]) -> Option<Group> {
        let level = |depth: usize| -> Vec<ExprId> { branches.iter().map(|branch| branch[depth]).collect() };
        let mut calls = level(0);
        self.span = self.module.exprs[calls[0]].span;
        let mut operands: Vec<ExprId> = calls.iter().map(|&call| self.operand(call, 1)).collect();
        let mut together = self.scopes.together(&calls)?;
        if !self.scopes.may_read(together, &operands) {
            return None;
        }
        let combined = (self.kind.combined)(self, &calls)?;
        let mut combined = self.agreeing(combined, &calls)?;
        let depth = branches.iter().map(Vec::len).min()?;
        for depth in 1..depth {
            let next = level(depth);
            let Some((deeper, read)) = self.following(&combined, &calls, &next) else { break };
            let Some(region) = self.scopes.together(&next).filter(|&region| self.scopes.may_read(region, &read)) else { break };
            // What was read before can be read here too, unless it is another region.
            if region != together && !self.scopes.may_read(region, &operands) {
                break;
            }
            (combined, calls, together) = (deeper, next, region);
            operands.extend(read);
        }
        operands.push(self.operand(branches[0][0], 0));
        let parts = self.parts(&combined, &calls)?;
        Some(Group { outputs: calls.into_iter().zip(parts).collect(), operands })
    }

    /// The combined call of the operators behind `above`, and what else these read; `None` if they are not alike.
    fn following(&mut self, combined: &Combined, above: &[ExprId], calls: &[ExprId]) -> Option<(Combined, Vec<ExprId>)> {
        let first = calls[0];
        let def = self.cx.called(self.module, first)?;
        let operands: Vec<Vec<ExprId>> = calls.iter().map(|&call| args(self.module, call)).collect();
        let parent = operands[0].iter().position(|&operand| operand == above[0])?;
        let alike = calls.iter().zip(&operands).zip(above).all(|((&call, operands_of), &above)| {
            self.cx.calls(self.module, call, def)
                && same_attrs(self.module, first, call)
                && operands_of.len() == operands[0].len()
                && operands_of[parent] == above
        });
        let read: Vec<ExprId> =
            operands.iter().flat_map(|of| of.iter().enumerate().filter(|(at, _)| *at != parent).map(|(_, &arg)| arg)).collect();
        if !alike {
            return None;
        }
        let mut args = Vec::with_capacity(operands[0].len());
        for at in 0..operands[0].len() {
            let of_branches: Vec<ExprId> = operands.iter().map(|operands| operands[at]).collect();
            args.push(if at == parent { combined.expr } else { (self.kind.argument)(self, combined, &of_branches)? });
        }
        let attrs = self.module.call_attrs(first).to_vec();
        let expr = self.cx.typed_call(self.module, self.module.exprs[first].span, def, &args, attrs)?;
        let place = match &combined.place {
            Place::Joined { axis, sizes } => Place::Joined { axis: *axis, sizes: sizes.clone() },
            Place::Stacked => Place::Stacked,
        };
        Some((self.agreeing(Combined { expr, place }, calls)?, read))
    }

    /// The combined value, if its type is that of the branches' values side by side. The axis may be another one now.
    fn agreeing(&self, mut combined: Combined, calls: &[ExprId]) -> Option<Combined> {
        let whole = self.dims(combined.expr)?;
        let same_dtype = |&call: &ExprId| dtype(self.module, call) == dtype(self.module, combined.expr);
        let parts: Vec<Vec<Dim>> = calls.iter().map(|&call| self.dims(call)).collect::<Option<_>>()?;
        let fits = match &mut combined.place {
            Place::Stacked => {
                let stacked = |part: &Vec<Dim>| whole[0] == Dim::known(calls.len() as i64) && whole[1..] == part[..];
                !whole.is_empty() && parts.iter().all(stacked)
            }
            Place::Joined { axis, sizes } => {
                let total = Dim::known(total(sizes)?);
                let joined = |at: usize| {
                    parts.iter().zip(&*sizes).all(|(part, &size)| {
                        let mut part = part.clone();
                        part.get_mut(at).is_some_and(|dim| std::mem::replace(dim, total) == Dim::known(size)) && part == whole
                    })
                };
                let found = [*axis].into_iter().chain((0..whole.len()).rev()).find(|&at| joined(at));
                *axis = found.unwrap_or(*axis);
                found.is_some()
            }
        };
        (fits && calls.iter().all(same_dtype)).then_some(combined)
    }

    /// The part of each branch.
    fn parts(&mut self, combined: &Combined, calls: &[ExprId]) -> Option<Vec<ExprId>> {
        match &combined.place {
            Place::Joined { axis, sizes } => {
                let n_axes = if self.kind.cuts_all_axes { self.dims(combined.expr)?.len() } else { axis + 1 };
                let mut start = 0;
                let part = |&size: &i64| {
                    let (mut begin, mut end) = (vec![0; n_axes], vec![-1; n_axes]);
                    (begin[*axis], end[*axis]) = (start, size);
                    start += size;
                    let places = [
                        ("begin", AttrValue::ints(&begin)),
                        ("end", AttrValue::ints(&end)),
                        ("strides", AttrValue::ints(&vec![1; n_axes])),
                        ("slice_mode", AttrValue::str("size")),
                    ];
                    self.call(&STRIDED_SLICE, &[combined.expr], &places)
                };
                sizes.iter().map(part).collect()
            }
            Place::Stacked => {
                let n = AttrValue::int(calls.len() as i64);
                let parts = self.call(&SPLIT, &[combined.expr], &[("indices_or_sections", n), ("axis", AttrValue::int(0))])?;
                let part = |at: usize| {
                    let part = project(self.module, self.span, parts, at);
                    self.call(&SQUEEZE, &[part], &[("axis", AttrValue::ints(&[0]))])
                };
                (0..calls.len()).map(part).collect()
            }
        }
    }

    fn operand(&self, call: ExprId, at: usize) -> ExprId {
        args(self.module, call)[at]
    }

    /// The dimensions of a tensor, without what only printing shows.
    fn dims(&self, expr: ExprId) -> Option<Vec<Dim>> {
        let plain = |&dim: &Dim| dim.value().map_or(dim, Dim::known);
        dims(self.module, expr).map(|dims| dims.iter().map(plain).collect())
    }

    /// A call in the place of the combined operator; `None` if there is none of these operands.
    fn call(&mut self, def: &OpDef, args: &[ExprId], attrs: &[(&str, AttrValue)]) -> Option<ExprId> {
        let attrs = def.attrs.map_or(vec![], |schema| schema.values(attrs));
        self.cx.typed_call(self.module, self.span, def, args, attrs)
    }

    /// A call of an operator with one tuple as operand.
    fn call_of_tuple(&mut self, def: &OpDef, fields: &[ExprId], axis: i64) -> Option<ExprId> {
        let fields = tuple(self.module, self.span, fields);
        self.call(def, &[fields], &[("axis", AttrValue::int(axis))])
    }
}
