//! Takes the maximum over a large window along one axis after the other: `13 + 13` elements in place of `13 · 13`.
//!
//! The rewrite is sound because a maximum does not depend on the order of its elements, and padding does not count: a window over
//! nothing but padding gives the least number, which changes no other maximum. Every bit stays, of integers and floats.
//!
//! Does not rewrite small windows, of which the intermediate results would cost more than they save.
//!
//! ```text
//! nn.max_pool2d(%x, pool_size=[13, 13], padding=[6, 6, 6, 6])
//!     →    nn.max_pool2d(nn.max_pool2d(%x, pool_size=[1, 13], padding=[0, 6, 0, 6]), pool_size=[13, 1], padding=[6, 0, 6, 0])
//! ```

use super::build::args;
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::declarations::{MAX_POOL2D, MAX_POOL3D, MaxPool2dAttrs};

pub(crate) const PASS: Pass = Pass {
    name: "separate-pool-windows",
    doc: "Takes the maximum over large windows along one axis after the other.",
    level: 2,
    run: |module, cx| Ok(rewrite(module, |module, expr| separated(module, cx, expr))),
    ..Pass::BASE
};

/// What an element of an intermediate result costs, in elements of a window.
const STORED: i64 = 2;

fn separated(module: &mut Module, cx: &PassCx, pool: ExprId) -> Option<ExprId> {
    cx.calls_any(module, pool, &[&MAX_POOL2D, &MAX_POOL3D]).then_some(())?;
    let of = MaxPool2dAttrs::read(module.call_attrs(pool));
    is_large(&of)?.then_some(())?;
    let (def, span) = (cx.called(module, pool)?, module.exprs[pool].span);
    let (schema, values, rank) = (def.attrs?, module.call_attrs(pool).to_vec(), of.pool_size.len());
    let mut result = *args(module, pool).first()?;
    // The last axis first: its elements lie side by side.
    for axis in (0..rank).rev() {
        let along = |of: &[i64], other: i64| {
            let values: Vec<i64> =
                of.iter().enumerate().map(|(at, &value)| if at % rank == axis { value } else { other }).collect();
            AttrValue::ints(&values)
        };
        let mut values = values.clone();
        for (name, value) in [
            ("pool_size", along(&of.pool_size, 1)),
            ("strides", along(&of.strides, 1)),
            ("dilation", along(&of.dilation, 1)),
            ("padding", along(&all_sides(&of.padding, rank)?, 0)),
        ] {
            values[schema.position(name)?] = value;
        }
        result = cx.typed_call(module, span, def, &[result], values)?;
    }
    Some(result)
}

/// Whether several axes have windows, and these are large: an axis at a time takes less than two thirds.
fn is_large(of: &MaxPool2dAttrs) -> Option<bool> {
    let (mut together, mut apart, mut more) = (1i64, 0i64, 1i64);
    // From the first axis on, whose maximum is the last: those before it are of all positions that it covers.
    for (&size, &stride) in of.pool_size.iter().zip(&of.strides) {
        together = together.checked_mul(size)?;
        apart = more.checked_mul(size.checked_add(STORED)?)?.checked_add(apart)?;
        more = more.checked_mul(stride)?;
    }
    let axes = of.pool_size.iter().filter(|&&size| size > 1).count();
    Some(axes > 1 && together.checked_mul(2)? > apart.checked_mul(3)?)
}

/// The padding before each axis, then behind each.
fn all_sides(padding: &[i64], rank: usize) -> Option<Vec<i64>> {
    match padding.len() {
        1 => Some(vec![padding[0]; 2 * rank]),
        n if n == rank => Some([padding, padding].concat()),
        n if n == 2 * rank => Some(padding.to_vec()),
        _ => None,
    }
}
