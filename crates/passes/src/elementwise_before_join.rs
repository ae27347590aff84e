//! Computes elementwise operators on the parts of a concatenation rather than on the whole, where products compute all parts. Each
//! product then computes them with its own results in registers, and writes its part of the whole once.
//!
//! The rewrite is sound because each element is computed alone, from the same numbers. The products must have no other use, and
//! all users of the concatenation must be such operators, so that nothing is computed twice. Other operands must be numbers, or
//! constants that run along the joined axis, which are cut. A piece that is split off again where it was joined is the part itself.
//!
//! ```text
//! nn.relu(add(concatenate((nn.conv2d(%x, V), nn.conv2d(%y, W)), axis=1), B))
//!     →    concatenate((nn.relu(add(nn.conv2d(%x, V), B[…])), nn.relu(add(nn.conv2d(%y, W), B[…]))), axis=1)
//! ```

use super::build::{args, dims, tuple, value_of};
use super::rewrite::rewrite;
use super::users::Users;
use super::{Pass, PassCx};
use relayc_ir::types::Dim;
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::Fuse;
use relayc_ops::declarations::{CONCATENATE, ConcatenateAttrs, SPLIT};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "elementwise-before-join",
    doc: "Computes elementwise operators on the results of products before these are joined rather than behind.",
    level: 3,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let (users, _) = Users::of(module);
    let mut joins = Joins { cx, users, of: FxHashMap::default() };
    rewrite(module, |module, expr| match module.exprs[expr].kind {
        ExprKind::Proj { tuple, index } => joins.piece(module, tuple, index as usize),
        _ => joins.sink(module, expr),
    })
}

struct Joins<'a> {
    cx: &'a PassCx<'a>,
    users: Users,
    /// The concatenations that replace elementwise operators, with what they replace.
    of: FxHashMap<ExprId, ExprId>,
}

/// A concatenation: its fields, and its axis from the front.
struct Join {
    fields: Vec<ExprId>,
    axis: usize,
}

impl Joins<'_> {
    /// The concatenation of elementwise operators in the place of one on a concatenation.
    fn sink(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let def = self.cx.by_elements(module, expr)?;
        let operands = args(module, expr);
        let whole = |operand: &&ExprId| dims(module, **operand) == dims(module, expr);
        let first = operands.iter().filter(whole).find_map(|&operand| self.sinkable(module, operand))?;
        let length = |&field: &ExprId| dims(module, field)?.get(first.axis)?.value();
        let lengths: Vec<i64> = first.fields.iter().map(length).collect::<Option<_>>()?;
        let span = module.exprs[expr].span;
        let mut fields = vec![];
        let mut begin = 0;
        for (at, &length) in lengths.iter().enumerate() {
            let parts = operands.iter().map(|&operand| self.part(module, operand, &first, (at, begin, length)));
            let parts: Vec<ExprId> = parts.collect::<Option<_>>()?;
            fields.push(self.cx.typed_call(module, span, def, &parts, module.call_attrs(expr).to_vec())?);
            begin += length;
        }
        let fields = tuple(module, span, &fields);
        let values = CONCATENATE.attrs?.values(&[("axis", AttrValue::int(first.axis as i64))]);
        let join = self.cx.typed_call(module, span, &CONCATENATE, &[fields], values)?;
        self.of.insert(join, expr);
        Some(join)
    }

    /// A concatenation behind which operators are computed before it.
    fn sinkable(&self, module: &Module, expr: ExprId) -> Option<Join> {
        let join = self.join(module, expr)?;
        let original = self.of.get(&expr).copied().unwrap_or(expr);
        let elementwise =
            |&user: &ExprId| self.cx.by_elements(module, user).is_some() && dims(module, user) == dims(module, expr);
        let produced = || {
            let tuple = args(module, expr)[0];
            let product = |field: &ExprId| {
                let def = self.cx.called(module, *field);
                def.is_some_and(|def| def.fuse == Some(Fuse::OutEWiseFusable)) && self.users.only(*field, tuple)
            };
            self.users.only(tuple, expr) && join.fields.iter().all(product)
        };
        let free = !self.users.is_result(original) && self.users.list(original).iter().all(elementwise);
        (free && (original != expr || produced())).then_some(join)
    }

    fn join(&self, module: &Module, expr: ExprId) -> Option<Join> {
        let &[tuple] = &args(module, expr)[..] else { return None };
        let is_join = self.cx.calls(module, expr, &CONCATENATE) && matches!(module.exprs[tuple].kind, ExprKind::Tuple(_));
        let rank = dims(module, expr).filter(|_| is_join)?.len() as i64;
        let axis = ConcatenateAttrs::read(module.call_attrs(expr)).axis.rem_euclid(rank) as usize;
        Some(Join { fields: args(module, tuple), axis })
    }

    /// What an operand is for one field of a concatenation: its number, and its first index and its length along the axis.
    fn part(&self, module: &mut Module, operand: ExprId, of: &Join, (at, begin, length): (usize, i64, i64)) -> Option<ExprId> {
        let own = dims(module, operand)?;
        let is_one = |dim: &Dim| dim.value() == Some(1);
        if own.iter().all(is_one) {
            return Some(operand);
        }
        let axis = (of.axis + own.len()).checked_sub(dims(module, of.fields[at])?.len())?;
        if let Some(value) = value_of(module, operand) {
            let along = own.iter().enumerate().all(|(at, dim)| at == axis || is_one(dim));
            let cut = along.then(|| value.take_range(axis, begin, 1, length as usize))?;
            return Some(self.cx.constant(module, module.exprs[operand].span, cut));
        }
        let join = self.sinkable(module, operand).filter(|join| join.axis == of.axis && join.fields.len() == of.fields.len())?;
        (dims(module, join.fields[at]) == dims(module, of.fields[at])).then(|| join.fields[at])
    }

    /// The field of a concatenation that a split cuts off again.
    fn piece(&self, module: &mut Module, split: ExprId, index: usize) -> Option<ExprId> {
        self.cx.calls(module, split, &SPLIT).then_some(())?;
        let join = self.join(module, *args(module, split).first()?)?;
        let axis = module.call_attrs(split)[SPLIT.attrs?.position("axis")?].as_int()?;
        let pieces = module.types.as_tuple(module.ty(split))?;
        let fields: Vec<_> = join.fields.iter().map(|&field| module.ty(field)).collect();
        let rank = module.types.as_tensor(*fields.first()?)?.0.len() as i64;
        (axis.rem_euclid(rank) as usize == join.axis && pieces == fields).then(|| join.fields[index])
    }
}
