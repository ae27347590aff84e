//! Computes elementwise operators on the result of a convolution rather than on its transposition or reshape, as networks write
//! them that go from maps to tokens. The convolution then computes them with its results in registers, and what is moved needs no
//! arithmetic.
//!
//! The rewrite is sound because each element is computed alone, from the same numbers. Nothing else may use the convolution, what
//! is between it and the operators, and its moved result, so that nothing is computed twice. Other operands must be numbers.
//!
//! ```text
//! nn.relu(transpose(reshape(nn.conv2d(%x, W), newshape=[1, 8, -1]), axes=[0, 2, 1]))
//!     →    transpose(reshape(nn.relu(nn.conv2d(%x, W)), newshape=[1, 8, -1]), axes=[0, 2, 1])
//! ```

use super::build::{args, dims};
use super::rewrite::rewrite;
use super::users::Users;
use super::{Pass, PassCx};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::blocks::Blocks;
use relayc_ops::declarations::{RESHAPE, TRANSPOSE};
use relayc_ops::lower::Lower;
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "elementwise-before-transpose",
    doc: "Computes elementwise operators on the result of a convolution rather than on its transposition or reshape.",
    level: 3,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let (users, _) = Users::of(module);
    let mut sinking = Sinking { cx, users, of: FxHashMap::default() };
    rewrite(module, |module, expr| sinking.sink(module, expr))
}

struct Sinking<'a> {
    cx: &'a PassCx<'a>,
    users: Users,
    /// The moves that replace elementwise operators, with what they replace.
    of: FxHashMap<ExprId, ExprId>,
}

/// Transpositions and reshapes of one tensor, in the order in which they are computed: the operator's name, its attributes.
type Moves = Vec<(&'static str, Vec<AttrValue>)>;

const MOVES: [&OpDef; 2] = [&TRANSPOSE, &RESHAPE];

impl Sinking<'_> {
    /// The moves of an elementwise operator in the place of one on moved tensors.
    fn sink(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let def = self.cx.by_elements(module, expr)?;
        let operands = args(module, expr);
        let (first, moves) = operands.iter().find_map(|&operand| self.moved(module, operand))?;
        let mut sources = vec![];
        for operand in operands {
            sources.push(if dims(module, operand)?.is_empty() {
                operand
            } else {
                let (source, own) = self.moved(module, operand)?;
                (own == moves && dims(module, source) == dims(module, first)).then_some(source)?
            });
        }
        let span = module.exprs[expr].span;
        let mut moved = self.cx.typed_call(module, span, def, &sources, module.call_attrs(expr).to_vec())?;
        for (name, attrs) in moves {
            let def = MOVES.into_iter().find(|def| def.name == name)?;
            moved = self.cx.typed_call(module, span, def, &[moved], attrs)?;
        }
        self.of.insert(moved, expr);
        Some(moved)
    }

    /// What an operand is the moved form of, and the moves, if all its users can be computed before them.
    fn moved(&self, module: &Module, expr: ExprId) -> Option<(ExprId, Moves)> {
        let sunk = self.of.get(&expr).copied();
        let original = sunk.unwrap_or(expr);
        let elementwise =
            |&user: &ExprId| self.cx.by_elements(module, user).is_some() && dims(module, user) == dims(module, expr);
        if self.users.is_result(original) || !self.users.list(original).iter().all(elementwise) {
            return None;
        }
        let mut moves = vec![];
        let mut source = expr;
        while let Some(def) = MOVES.into_iter().find(|def| self.cx.calls(module, source, def)) {
            let operand = *args(module, source).first()?;
            if sunk.is_none() && !self.users.only(operand, source) {
                return None;
            }
            moves.push((def.name, module.call_attrs(source).to_vec()));
            source = operand;
        }
        moves.reverse();
        (!moves.is_empty() && (sunk.is_some() || self.is_of_convolution(module, source))).then_some((source, moves))
    }

    /// Whether a tensor is the result of a convolution, or of elementwise operators on nothing but that.
    fn is_of_convolution(&self, module: &Module, mut expr: ExprId) -> bool {
        loop {
            let Some(def) = self.cx.called(module, expr) else { return false };
            if matches!(def.blocks, Some(Blocks::Product(_))) {
                return true;
            }
            let along = matches!(def.lower, Some(Lower::Along(..)));
            let whole = |operand: &ExprId| dims(module, *operand) == dims(module, expr) && self.users.only(*operand, expr);
            match args(module, expr).into_iter().find(whole) {
                Some(operand) if along || self.cx.by_elements(module, expr).is_some() => expr = operand,
                _ => return false,
            }
        }
    }
}
