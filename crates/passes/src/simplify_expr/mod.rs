//! Local equations between expressions, each applied from the longer side to the shorter: TVM's `SimplifyExpr`
//! (`src/relay/transforms/simplify_expr.cc`), `FoldExplicitPadding` and more.
//!
//! Each rule states why it is sound. A rule changes no bit of a result, whatever the operands are: `x + 0` stays, because it is
//! not `x` where `x` is -0; `x * 0` stays, because it is not 0 where `x` is NaN. No rule assumes anything about unknown
//! dimensions. As in TVM, operands that a rule leaves unused are removed, though they might trap. Operands that write a cell or
//! call a function are neither removed nor reordered.
//!
//! The pass rewrites an expression until no rule applies; operands come first.
//!
//! ```text
//! transpose(transpose(%x, axes=[0, 2, 1]), axes=[0, 2, 1])    →    %x
//! subtract(%x, negative(%y))                                  →    add(%x, %y)
//! ```

mod arithmetic;
mod movement;
mod products;

use super::build::args;
use super::effects::Pure;
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::types::Ty;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;

pub(crate) const PASS: Pass = Pass {
    name: "simplify-expr",
    doc: "Shortens chains of reshapes, transpositions and arithmetic, and moves padding into convolutions. No bit of a result \
          changes.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// A rewrite of one expression, where it applies.
type Rule = fn(&Cx, &mut Module, ExprId) -> Option<ExprId>;

const RULES: &[Rule] = &[
    movement::field,
    movement::idle,
    movement::same_order,
    movement::transposed_twice,
    movement::transposed_units,
    movement::two_layouts,
    movement::one_part,
    movement::whole_slice,
    movement::one_position,
    movement::no_padding,
    arithmetic::neutral,
    arithmetic::negated,
    arithmetic::limits,
    arithmetic::one_value,
    products::padded,
    products::transposed_operand,
];

/// How often one expression is rewritten at most; every rule shortens, so this is never reached.
const MAX_ROUNDS: usize = 1000;

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let order = module.post_order(&module.roots());
    let mut cx = Cx { passes: cx, pure: Pure::of(module, &order) };
    rewrite(module, |module, expr| {
        let mut now = expr;
        for _ in 0..MAX_ROUNDS {
            match RULES.iter().find_map(|rule| rule(&cx, module, now)) {
                Some(new) => {
                    cx.pure.learn(module);
                    now = new;
                }
                None => break,
            }
        }
        (now != expr).then_some(now)
    })
}

/// The context of the rules.
struct Cx<'a> {
    passes: &'a PassCx<'a>,
    /// Which expressions have no effect.
    pure: Pure,
}

impl Cx<'_> {
    /// A call with attributes, in the place of `expr`.
    fn call(&self, module: &mut Module, expr: ExprId, def: &OpDef, args: &[ExprId], set: &[(&str, AttrValue)]) -> Option<ExprId> {
        let values = def.attrs.map_or(vec![], |schema| schema.values(set));
        self.call_with(module, expr, def, args, values)
    }

    /// A call with all of its attributes, in the place of `expr`; `None` where it would not have the same type.
    fn call_with(
        &self,
        module: &mut Module,
        expr: ExprId,
        def: &OpDef,
        args: &[ExprId],
        values: Vec<AttrValue>,
    ) -> Option<ExprId> {
        let ty = self.passes.call_ty(module, def, args, &values)?;
        let same = same_tensor(module, ty, module.ty(expr));
        same.then(|| self.passes.call(module, module.exprs[expr].span, def, args, values))
    }

    /// The same call with some attributes set.
    fn with_attrs(&self, module: &mut Module, expr: ExprId, args: &[ExprId], set: &[(&str, AttrValue)]) -> Option<ExprId> {
        let def = self.passes.called(module, expr)?;
        let mut values = module.call_attrs(expr).to_vec();
        for (name, value) in set {
            values[def.attrs?.position(name)?] = value.clone();
        }
        self.call_with(module, expr, def, args, values)
    }
}

/// The one operand of a call.
fn operand(module: &Module, expr: ExprId) -> Option<ExprId> {
    match args(module, expr)[..] {
        [operand] => Some(operand),
        _ => None,
    }
}

/// Whether both are certainly tensors of one shape and dtype.
fn same_tensor(module: &Module, a: Ty, b: Ty) -> bool {
    match (module.types.as_tensor(a), module.types.as_tensor(b)) {
        (Some((a, a_dtype)), Some((b, b_dtype))) => {
            a_dtype == b_dtype && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(*b))
        }
        _ => false,
    }
}
