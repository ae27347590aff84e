//! Extracts the dataflow of a program with control flow into functions, called in place and marked `Compiler="relayc"`. TVM's
//! `PartitionGraph` (`src/relay/transforms/partition_graph.cc`) marks functions for another compiler in the same way.
//!
//! A subgraph consists of operators, fused groups, tuples and projections of one block. A block is a function's body, a branch, a
//! clause, or the body of a `let`. The subgraph lies between two expressions that branch, call, match or touch a reference.
//! Values from outside become its parameters; constants stay inside. To avoid needless parameters and results, tuples are built
//! behind a subgraph, and fields are taken before it.
//!
//! The rewrite is sound because a subgraph is computed in its place. Its members follow each other in the order of evaluation.
//! Nothing between them can trap, fail to end, or have a visible effect. So the order of traps stays the same. Members have no
//! effects. Random numbers are drawn in order and thus are no members. Expressions that only one branch computes form a subgraph
//! of that branch. A call of a subgraph is not a call of the program: code that counts calls must exclude it.
//!
//! ```text
//! if (%c) {                      if (%c) {
//!   nn.relu(nn.dense(%x, %w))      %1 = fn (%p0: …, %p1: …, Compiler="relayc") -> … {
//! } else { %x }             →        %0 = nn.dense(%p0, %p1);
//!                                    nn.relu(%0)
//!                                  };
//!                                  %1(%x, %w)
//!                                } else { %x }
//! ```

mod find;

use super::build::{ExprKey, set_ty, typed};
use super::rewrite::substitute;
use super::{ON_REQUEST, Pass};
use find::{Subgraph, Subgraphs};
use relayc_base::{Idx, Span};
use relayc_ir::types::Ty;
use relayc_ir::{AttrValue, COMPILER, ExprId, ExprKind, Func, FuncId, Module, Operand, Operands, VarId};
use relayc_ops::Table;
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "partition",
    doc: "Makes functions marked `Compiler=\"relayc\"` of the dataflow of a program that branches. They are what is compiled of it; \
          without control flow, a function becomes one part.",
    level: ON_REQUEST,
    run: |module, cx| Ok(!partition(module, cx.ops, DataDependent::Member).is_empty()),
    ..Pass::BASE
};

/// How the pass treats an operator whose result shape depends on data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataDependent {
    /// It belongs to a subgraph: where shapes are known, the shape of its result may follow.
    Member,
    /// It stays outside: shapes will not become better known.
    Outside,
}

/// Extracts functions from the dataflow of a typed module. Returns them, each with the expressions in it that existed before.
/// Inference determines the types of the new expressions.
pub fn partition(module: &mut Module, ops: &Table, by_data: DataDependent) -> Vec<(FuncId, Vec<ExprId>)> {
    let Subgraphs { order, parts, of } = find::find(module, ops, by_data);
    let mut by = vec![None; module.exprs.len()];
    let (mut funcs, mut calls) = (vec![], vec![]);
    for (at, part) in parts.iter().enumerate() {
        let inside = |expr: ExprId| of.get(expr.index()).copied().flatten() == Some(at);
        let (func, call) = outline(module, part, &inside, &mut by);
        funcs.push(func);
        calls.push(call);
    }
    let outside = order.into_iter().filter(|expr| of[expr.index()].is_none()).chain(calls).collect::<Vec<_>>();
    substitute(module, &outside, by);
    funcs.into_iter().zip(parts.into_iter().map(|part| part.members)).collect()
}

/// Makes a function of a subgraph and records the replacements of its members' values outside. Returns the function and its call,
/// whose operands are not replaced yet.
fn outline(module: &mut Module, part: &Subgraph, inside: &dyn Fn(ExprId) -> bool, by: &mut [Option<ExprId>]) -> (FuncId, ExprId) {
    let mut taken = Taken { params: vec![], stands_for: FxHashMap::default() };
    for &arg in &part.args {
        taken.param(module, arg);
    }
    for &member in &part.members {
        module.exprs[member].kind = match module.exprs[member].kind {
            ExprKind::Tuple(fields) => ExprKind::Tuple(taken.operands(module, fields, inside)),
            ExprKind::Call { callee, args, attrs } => {
                ExprKind::Call { callee, args: taken.operands(module, args, inside), attrs }
            }
            other => other,
        };
    }
    let span = part.outputs.last().map_or(Span::NONE, |&output| module.exprs[output].span);
    let (body, ret) = match part.outputs[..] {
        [output] => (output, module.ty(output)),
        _ => {
            let fields: Vec<Operand> = part.outputs.iter().map(|&expr| Operand { expr, span }).collect();
            let tys: Vec<Ty> = part.outputs.iter().map(|&expr| module.ty(expr)).collect();
            let fields = module.operands(&fields);
            (module.expr(span, ExprKind::Tuple(fields)), module.types.tuple(&tys))
        }
    };
    set_ty(module, body, ret);
    let attrs = vec![(COMPILER.into(), AttrValue::Str(OURS.into()))];
    let func = Func { span, type_params: vec![], params: taken.params, ret: Some(ret), ret_span: Span::NONE, body, attrs };
    let func = module.funcs.push(func);
    let callee = module.expr(span, ExprKind::Fn(func));
    let args: Vec<Operand> = part.args.iter().map(|&expr| Operand { expr, span: module.exprs[expr].span }).collect();
    let args = module.operands(&args);
    let call = typed(module, span, ExprKind::Call { callee, args, attrs: None }, ret);
    for (index, &output) in part.outputs.iter().enumerate() {
        let value = match part.outputs.len() {
            1 => call,
            _ => module.expr(module.exprs[output].span, ExprKind::Proj { tuple: call, index: index as i32 }),
        };
        let ty = module.ty(output);
        set_ty(module, value, ty);
        by[output.index()] = Some(value);
    }
    (func, call)
}

/// Which compiler takes a part.
const OURS: &str = "relayc";

/// The values that a subgraph takes from outside.
struct Taken {
    params: Vec<VarId>,
    /// The mention of the parameter inside.
    stands_for: FxHashMap<ExprKey, ExprId>,
}

impl Taken {
    fn param(&mut self, module: &mut Module, arg: ExprId) {
        let (span, ty) = (module.exprs[arg].span, module.ty(arg));
        let var = module.var(&format!("p{}", self.params.len()), Some(ty), span);
        let mention = typed(module, span, ExprKind::Var(var), ty);
        self.params.push(var);
        self.stands_for.insert(ExprKey::of(module, arg), mention);
    }

    fn operands(&mut self, module: &mut Module, list: Operands, inside: &dyn Fn(ExprId) -> bool) -> Operands {
        let items = module.items(list).to_vec();
        let items: Vec<Operand> =
            items.into_iter().map(|item| Operand { expr: self.operand(module, item.expr, inside), ..item }).collect();
        module.operands(&items)
    }

    /// The expression that replaces an operand inside.
    fn operand(&mut self, module: &mut Module, expr: ExprId, inside: &dyn Fn(ExprId) -> bool) -> ExprId {
        if inside(expr) {
            return expr;
        }
        let key = ExprKey::of(module, expr);
        if let Some(&mention) = self.stands_for.get(&key) {
            return mention;
        }
        // What is left is a constant: its value is shared, its expression is not.
        let (span, ty, kind) = (module.exprs[expr].span, module.ty(expr), module.exprs[expr].kind);
        let own = typed(module, span, kind, ty);
        self.stands_for.insert(key, own);
        own
    }
}
