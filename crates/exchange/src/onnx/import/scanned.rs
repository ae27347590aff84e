//! What a `Scan` goes along: a place of each operand in a turn, and a place of each result.

use super::build::{Builder, Val, axis_of};
use super::cx::{dims_attr, positions};
use super::errors::Refusal;
use relayc_ir::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::Dim;

/// What a `Scan` goes along.
pub(crate) struct Scanned {
    /// The operands with their axes and whether they are gone through from the end.
    pub(crate) operands: Vec<(Val, usize, bool)>,
    /// The same of the results.
    pub(crate) results: Vec<(i64, bool)>,
    pub(crate) length: Dim,
}

impl Scanned {
    /// What a turn of a `Scan` takes of its operands.
    pub(crate) fn places(&self, b: &mut Builder, turn: Val, length: Option<Val>) -> Result<Vec<Val>, Refusal> {
        let place = |&(operand, axis, back): &(Val, usize, bool)| {
            let at = match length.filter(|_| back) {
                Some(length) => {
                    let one = b.constant(Tensor::scalar(1i64));
                    let last = b.call("subtract", &[length, one], &[])?;
                    b.call("subtract", &[last, turn], &[])?
                }
                None => turn,
            };
            let axis = AttrValue::int(i64::try_from(axis).unwrap_or(0));
            b.call("take", &[operand, at], &[("axis", axis), ("mode", AttrValue::str("fast"))])
        };
        self.operands.iter().map(place).collect()
    }

    /// A result of a `Scan` that was stacked along a first axis: as long as the operands, in the node's direction and along its axis.
    pub(crate) fn laid_out(&self, b: &mut Builder, value: Val, index: usize) -> Result<Val, Refusal> {
        let (axis, back) = self.results.get(index).copied().unwrap_or((0, false));
        let mut dims = b.shape(value)?;
        let axis = axis_of(axis, dims.len())?;
        let mut value = value;
        if let Some(first) = dims.first_mut() {
            *first = self.length;
        }
        if dims.iter().all(|dim| dim.is_sized()) {
            value = b.call("reshape", &[value], &[("newshape", dims_attr(&dims)), ("allowzero", AttrValue::Bool(true))])?;
        }
        if back {
            value = b.call("reverse", &[value], &[("axis", AttrValue::int(0))])?;
        }
        let axes: Vec<usize> = (1..=axis).chain([0]).chain(axis.saturating_add(1)..dims.len()).collect();
        match axis {
            0 => Ok(value),
            _ => b.call("transpose", &[value], &[("axes", positions(&axes))]),
        }
    }
}
