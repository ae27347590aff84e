//! Replaces matrix products beside convolutions by convolutions with a window of one point. Hybrid networks have such products: their
//! blocks alternate between tokens and feature maps. A convolution writes the layout that the next one reads, whereas the result of a
//! product would be transposed in between.
//!
//! The rewrite is sound because both are the same sums: the channels of a position are the columns of a row. It requires that
//!
//! - a product before a convolution, and each operator between the two, has no other user;
//! - other operands of those operators vary along the channels alone;
//! - a product behind a convolution has no more columns than the map has channels, since its result is transposed afterwards.
//!
//! ```text
//! nn.conv2d(reshape(transpose(nn.matmul(%x, W), axes=[0, 2, 1]), newshape=[0, 8, 4, 4]), V)
//!     →    nn.conv2d(nn.conv2d(reshape(transpose(%x, axes=[0, 2, 1]), newshape=[0, 2, 4, 4]), W'), V)
//! nn.matmul(transpose(reshape(nn.conv2d(%x, V), newshape=[0, 8, -1]), axes=[0, 2, 1]), W)
//!     →    transpose(reshape(nn.conv2d(nn.conv2d(%x, V), W'), newshape=[0, 2, 16]), axes=[0, 2, 1])
//! ```

use super::build::{args, dims, dtype};
use super::rewrite::rewrite;
use super::users::Users;
use super::{Pass, PassCx};
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{CONV2D, MATMUL, MatmulAttrs, RESHAPE, TRANSPOSE, TransposeAttrs};

pub(crate) const PASS: Pass = Pass {
    name: "pointwise-convolutions",
    doc: "Computes matrix products beside convolutions as convolutions of single points.",
    level: 3,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// Most operators between a product and a convolution.
const MOST: usize = 16;

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let (users, _) = Users::of(module);
    let pointwise = Pointwise { cx, users };
    rewrite(module, |module, expr| pointwise.before(module, expr).or_else(|| pointwise.after(module, expr)))
}

struct Pointwise<'a> {
    cx: &'a PassCx<'a>,
    users: Users,
}

impl Pointwise<'_> {
    /// A map made of the rows of a product, which convolutions read.
    fn before(&self, module: &mut Module, map: ExprId) -> Option<ExprId> {
        let moved = self.operand(module, map, &RESHAPE)?;
        let rows = self.swapped(module, moved)?;
        let [_, channels, height, width] = dims(module, map)?[..] else { return None };
        let reads = |&user: &ExprId| self.cx.calls(module, user, &CONV2D) && args(module, user).first() == Some(&map);
        let users = self.users.list(map);
        let mapped = !users.is_empty() && users.iter().all(reads) && !self.users.is_result(map);
        (mapped && self.users.only(moved, map) && self.users.only(rows, moved)).then_some(())?;
        let (mut calls, mut product) = (vec![], rows);
        while !self.cx.calls(module, product, &MATMUL) {
            let whole = self.whole(module, product)?;
            (calls.len() < MOST && self.users.only(whole, product)).then_some(())?;
            calls.push(product);
            product = whole;
        }
        let [data, _] = args(module, product)[..] else { return None };
        let [_, points, inner] = dims(module, data)?[..] else { return None };
        let [_, _, units] = dims(module, product)?[..] else { return None };
        let same = units.value()? == channels.value()? && points.value()? == height.value()? * width.value()?;
        same.then_some(())?;
        let columns = self.transposed(module, data, &[0, 2, 1])?;
        let shape = [0, inner.value()?, height.value()?, width.value()?];
        let data = self.reshaped(module, columns, &shape)?;
        let mut now = self.convolved(module, product, data)?;
        for &call in calls.iter().rev() {
            let whole = self.whole(module, call)?;
            let mut operands = vec![];
            for operand in args(module, call) {
                operands.push(if operand == whole { now } else { self.along_channels(module, operand)? });
            }
            let (def, span) = (self.cx.called(module, call)?, module.exprs[call].span);
            now = self.cx.typed_call(module, span, def, &operands, module.call_attrs(call).to_vec())?;
        }
        Some(now)
    }

    /// A product whose rows are the positions of a convolution's result.
    fn after(&self, module: &mut Module, product: ExprId) -> Option<ExprId> {
        self.cx.calls(module, product, &MATMUL).then_some(())?;
        let columns = self.swapped(module, *args(module, product).first()?)?;
        let map = self.operand(module, columns, &RESHAPE)?;
        let [_, channels, height, width] = dims(module, map)?[..] else { return None };
        let [_, own, points] = dims(module, columns)?[..] else { return None };
        let [_, _, units] = dims(module, product)?[..] else { return None };
        let (channels, points, units) = (channels.value()?, points.value()?, units.value()?);
        let rows = own.value()? == channels && points == height.value()? * width.value()?;
        (rows && units <= channels && self.is_of_convolution(module, map)).then_some(())?;
        let result = self.convolved(module, product, map)?;
        let columns = self.reshaped(module, result, &[0, units, points])?;
        self.transposed(module, columns, &[0, 2, 1])
    }

    /// Whether a map is the result of a convolution, or computed of one element by element.
    fn is_of_convolution(&self, module: &Module, mut map: ExprId) -> bool {
        for _ in 0..MOST {
            if self.cx.calls(module, map, &CONV2D) {
                return true;
            }
            let operands = if self.cx.by_elements(module, map).is_some() { args(module, map) } else { vec![] };
            let Some(whole) = operands.into_iter().find(|&operand| dims(module, operand) == dims(module, map)) else {
                return false;
            };
            map = whole;
        }
        false
    }

    /// The convolution of a map by the weights of a product.
    fn convolved(&self, module: &mut Module, product: ExprId, map: ExprId) -> Option<ExprId> {
        let weights = *args(module, product).get(1)?;
        let attrs = MatmulAttrs::read(module.call_attrs(product));
        let floats = [product, map, weights].iter().all(|&tensor| dtype(module, tensor) == Some(DType::F32));
        (floats && !attrs.transpose_a).then_some(())?;
        let weights = if attrs.transpose_b { weights } else { self.transposed(module, weights, &[1, 0])? };
        let [units, channels] = dims(module, weights)?[..] else { return None };
        let units = units.value()?;
        let weights = self.reshaped(module, weights, &[units, channels.value()?, 1, 1])?;
        let attrs = [("channels", AttrValue::int(units)), ("kernel_size", AttrValue::ints(&[1, 1]))];
        let span = module.exprs[product].span;
        self.cx.typed_call(module, span, &CONV2D, &[map, weights], CONV2D.attrs?.values(&attrs))
    }

    /// The only operand of an elementwise operator that has the dimensions of the result.
    fn whole(&self, module: &Module, call: ExprId) -> Option<ExprId> {
        self.cx.by_elements(module, call)?;
        let own = dims(module, call)?;
        let mut whole = args(module, call).into_iter().filter(|&operand| dims(module, operand) == Some(own));
        whole.next().filter(|_| whole.next().is_none())
    }

    /// An operand with nothing but a last axis of rows, as one with an axis of channels; a reshape is refused for others.
    fn along_channels(&self, module: &mut Module, operand: ExprId) -> Option<ExprId> {
        match dims(module, operand)?.last() {
            None => Some(operand),
            Some(last) => self.reshaped(module, operand, &[last.value()?, 1, 1]),
        }
    }

    /// The operand of a call of this operator.
    fn operand(&self, module: &Module, expr: ExprId, def: &relayc_ops::OpDef) -> Option<ExprId> {
        args(module, expr).first().copied().filter(|_| self.cx.calls(module, expr, def))
    }

    /// The operand of a transposition of the last two of three axes.
    fn swapped(&self, module: &Module, expr: ExprId) -> Option<ExprId> {
        let operand = self.operand(module, expr, &TRANSPOSE)?;
        let axes = TransposeAttrs::read(module.call_attrs(expr)).permutation(dims(module, expr)?.len());
        (axes == [0, 2, 1]).then_some(operand)
    }

    fn transposed(&self, module: &mut Module, expr: ExprId, axes: &[usize]) -> Option<ExprId> {
        self.cx.transposed(module, module.exprs[expr].span, expr, axes)
    }

    fn reshaped(&self, module: &mut Module, expr: ExprId, shape: &[i64]) -> Option<ExprId> {
        let attrs = RESHAPE.attrs?.values(&[("newshape", AttrValue::ints(shape))]);
        let span = module.exprs[expr].span;
        self.cx.typed_call(module, span, &RESHAPE, &[expr], attrs)
    }
}
