//! Takes weights of dense layers transposed: TVM's `SimplifyFCTranspose` (`src/relay/transforms/simplify_fc_transpose.cc`).
//!
//! `nn.dense(%x, transpose(%w))` becomes `nn.dense(%x, %w.T)`, for a new parameter. The caller transposes the weight once, when it binds
//! it; given that, the results are the old ones. Functions keep the parameters that they still mention, in the order of mention, and the
//! new ones follow.
//!
//! ```text
//! def @main(%x, %w) { nn.dense(%x, transpose(%w)) }    →    def @main(%x, %w.T) { nn.dense(%x, %w.T) }
//! ```

use super::build::{args, typed};
use super::rewrite::rewrite;
use super::step::{ArgKind, Param};
use super::{Pass, PassCx};
use relayc_ir::{ExprId, ExprKind, FuncId, Module, VarId};
use relayc_ops::declarations::{DENSE, TRANSPOSE, TransposeAttrs};
use rustc_hash::FxHashSet;

pub(crate) const PASS: Pass = Pass {
    name: "simplify-fc-transpose",
    doc: "Replaces the transposed weights of dense layers by parameters that are transposed already.",
    params: &[Param { name: "weights", kind: ArgKind::Words, default: "[]", doc: "the names of the weights" }],
    keeps_answers: false,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let wanted = cx.args.words("weights");
    let mut new = Vec::new();
    let changed = rewrite(module, |module, expr| {
        if !cx.calls(module, expr, &DENSE) {
            return None;
        }
        let [data, weight] = args(module, expr).try_into().ok()?;
        let var = transposed(module, cx, weight).filter(|&var| wanted.contains(&&*module.vars[var].name))?;
        let ty = module.ty(weight);
        let name = format!("{}.T", module.vars[var].name);
        let param = module.var(&name, Some(ty), module.vars[var].span);
        new.push(param);
        let mention = typed(module, module.exprs[weight].span, ExprKind::Var(param), ty);
        let attrs = module.call_attrs(expr).to_vec();
        Some(cx.call(module, module.exprs[expr].span, &DENSE, &[data, mention], attrs))
    });
    if changed {
        let new: FxHashSet<VarId> = new.into_iter().collect();
        let funcs: Vec<FuncId> = module.globals.iter().map(|global| global.func).collect();
        funcs.into_iter().for_each(|func| take_mentioned(module, func, &new));
    }
    changed
}

/// The variable that an expression transposes.
fn transposed(module: &Module, cx: &PassCx, expr: ExprId) -> Option<VarId> {
    let operand = *args(module, expr).first().filter(|_| cx.calls(module, expr, &TRANSPOSE))?;
    if TransposeAttrs::read(module.call_attrs(expr)).permutation(2) != [1, 0] {
        return None;
    }
    match module.exprs[operand].kind {
        ExprKind::Var(var) => Some(var),
        _ => None,
    }
}

/// Gives a function the parameters that it mentions, in the order of mention; the new ones last.
fn take_mentioned(module: &mut Module, func: FuncId, new: &FxHashSet<VarId>) {
    let old: FxHashSet<VarId> = module.funcs[func].params.iter().copied().collect();
    let mut mentioned = Vec::new();
    let mut seen = FxHashSet::default();
    for expr in module.post_order(&[module.funcs[func].body]) {
        if let ExprKind::Var(var) = module.exprs[expr].kind
            && seen.insert(var)
        {
            mentioned.push(var);
        }
    }
    if mentioned.iter().any(|var| new.contains(var)) {
        let (new, left): (Vec<VarId>, Vec<VarId>) = mentioned.into_iter().partition(|var| new.contains(var));
        module.funcs[func].params = left.into_iter().filter(|var| old.contains(var)).chain(new).collect();
    }
}
