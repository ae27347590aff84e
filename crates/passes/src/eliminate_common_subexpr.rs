//! Computes common subexpressions once: TVM's `EliminateCommonSubexpr` (`src/relay/transforms/eliminate_common_subexpr.cc`).
//!
//! Two calls of one operator with the same operands and attributes become one shared expression, and so do equal tuples,
//! projections and small constants. The rewrite is sound because operators have no effects. Calls of functions, cells, matches
//! and random numbers stay. Both expressions must belong to the same region (`regions.rs`). Otherwise an expression of one branch
//! would be computed for the other branch too, where it might trap.
//!
//! Floats in attributes and constants are compared by their bits: 0 and -0 are two values.
//!
//! ```text
//! add(nn.relu(%x), nn.relu(%x))    →    %0 = nn.relu(%x);  add(%0, %0)
//! ```

use super::build::{args, value_of};
use super::regions::{RegionId, Regions};
use super::rewrite::rewrite;
use super::step::{ArgKind, Param};
use super::{Pass, PassCx};
use relayc_base::Idx;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, AttrsId, ConstId, ExprId, ExprKind, GlobalId, Module, OpId, VarId};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

pub(crate) const PASS: Pass = Pass {
    name: "eliminate-common-subexpr",
    doc: "Computes once what is computed twice with the same operands. Only operators, tuples and constants are compared.",
    level: 1,
    params: &[Param { name: "skip", kind: ArgKind::Exprs, default: "[]", doc: "the expressions that stay as they are" }],
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// Constants of more bytes are compared by identity only.
const MAX_CONSTANT: u64 = 4096;

/// The key that equal expressions share; an operand counts as the expression that replaces it.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Var(VarId),
    Global(GlobalId),
    Const(ConstId),
    Value(DType, Vec<usize>, Vec<u8>),
    Tuple(RegionId, Vec<ExprId>),
    Proj(RegionId, ExprId, i32),
    /// A call, with a hash of its attributes; the attributes themselves are compared one by one.
    Call(RegionId, OpId, Vec<ExprId>, u64),
}

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let order = module.post_order(&module.roots());
    let regions = Regions::of(module, &order);
    // The first expression of each kind; several calls where their attributes have one hash.
    let mut first: FxHashMap<Key, Vec<ExprId>> = FxHashMap::default();
    // What stands for an expression among operands, itself if nothing does.
    let mut same: Vec<Option<ExprId>> = vec![None; module.exprs.len()];
    let skipped: FxHashSet<usize> = cx.args.exprs("skip").into_iter().collect();
    rewrite(module, |module, expr| {
        if skipped.contains(&expr.index()) {
            return None;
        }
        let key = key(module, cx, &regions, &same, expr)?;
        let leaf = matches!(key, Key::Var(_) | Key::Global(_) | Key::Const(_) | Key::Value(..));
        let known = first.entry(key).or_default();
        match known.iter().copied().find(|&known| same_attrs(module, known, expr)) {
            Some(known) => {
                same[expr.index()] = Some(known);
                // Functions share no expressions, so a constant stays one of its region.
                let constant = value_of(module, expr).is_some() && regions.region(known) == regions.region(expr);
                (!leaf || constant).then_some(known)
            }
            None => {
                known.push(expr);
                None
            }
        }
    })
}

fn key(module: &Module, cx: &PassCx, regions: &Regions, same: &[Option<ExprId>], expr: ExprId) -> Option<Key> {
    let stands = |expr: ExprId| same.get(expr.index()).copied().flatten().unwrap_or(expr);
    let operands = || args(module, expr).into_iter().map(stands).collect::<Vec<ExprId>>();
    match module.exprs[expr].kind {
        ExprKind::Var(var) => Some(Key::Var(var)),
        ExprKind::Global(global) => Some(Key::Global(global)),
        ExprKind::Const(id) => Some(constant(module, id)),
        ExprKind::Tuple(_) => Some(Key::Tuple(regions.region(expr), operands())),
        ExprKind::Proj { tuple, index } => Some(Key::Proj(regions.region(expr), stands(tuple), index)),
        ExprKind::Call { .. } => {
            let op = module.called_op(expr)?;
            let def = cx.ops.def(op);
            (!def.internal && !def.random)
                .then(|| Key::Call(regions.region(expr), op, operands(), attrs_hash(module.call_attrs(expr))))
        }
        _ => None,
    }
}

/// A small constant by its value, unless its metadata says more of it.
fn constant(module: &Module, id: ConstId) -> Key {
    let value = &module.consts[id];
    if module.const_notes.contains_key(&id) || value.len() as u64 * value.dtype().bytes() > MAX_CONSTANT {
        return Key::Const(id);
    }
    Key::Value(value.dtype(), value.shape().to_vec(), value.to_le_bytes())
}

/// Whether two calls have the same attributes, to the bit.
pub(crate) fn same_attrs(module: &Module, a: ExprId, b: ExprId) -> bool {
    let values = |expr: ExprId| match module.exprs[expr].kind {
        ExprKind::Call { attrs, .. } => attrs,
        _ => None,
    };
    let of = |attrs: AttrsId| module.attrs[attrs].values.iter();
    match (values(a), values(b)) {
        (None, None) => true,
        (Some(a), Some(b)) => a == b || (of(a).len() == of(b).len() && of(a).zip(of(b)).all(|(a, b)| identical(a, b))),
        _ => false,
    }
}

/// One number for attributes that are identical.
pub(crate) fn attrs_hash(attrs: &[AttrValue]) -> u64 {
    let mut hasher = FxHasher::default();
    let mut work: Vec<&AttrValue> = attrs.iter().collect();
    while let Some(value) = work.pop() {
        match value {
            AttrValue::Bool(value) => value.hash(&mut hasher),
            AttrValue::Int { value, .. } => value.hash(&mut hasher),
            AttrValue::Float { value, .. } => value.to_bits().hash(&mut hasher),
            AttrValue::Str(text) => text.hash(&mut hasher),
            AttrValue::DType(dtype) => dtype.hash(&mut hasher),
            AttrValue::List(values) => {
                values.len().hash(&mut hasher);
                work.extend(values.iter());
            }
            AttrValue::Const(id, _) => id.hash(&mut hasher),
            AttrValue::Expr(id) => id.hash(&mut hasher),
            AttrValue::None | AttrValue::Any | AttrValue::Symbol(_) | AttrValue::Object(_) => {}
        }
    }
    hasher.finish()
}

/// Whether two values are the same to the bit.
fn identical(a: &AttrValue, b: &AttrValue) -> bool {
    let mut work = vec![(a, b)];
    while let Some(pair) = work.pop() {
        let same = match pair {
            (AttrValue::Float { value: a, bits: m }, AttrValue::Float { value: b, bits: n }) => {
                a.to_bits() == b.to_bits() && m == n
            }
            (AttrValue::List(a), AttrValue::List(b)) => {
                work.extend(a.iter().zip(b.iter()));
                a.len() == b.len()
            }
            (AttrValue::Const(a, _), AttrValue::Const(b, _)) => a == b,
            (a, b) => a == b,
        };
        if !same {
            return false;
        }
    }
    true
}
