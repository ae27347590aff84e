//! Rows: what the items of a nest access, by the index of the outermost dimension of the items.

use super::normalize::NormalizedNest;
use super::shape::Shape;
use relayc_ir::kernel::Instr;

/// What the rows of a step access, each an index of the step's outermost dimension.
#[derive(Clone, PartialEq, Debug)]
pub struct Rows {
    pub n: u64,
    pub reaches: Vec<Reach>,
}

/// The bytes of an argument that row 0 accesses, and the step to those of the next row, which is not negative.
#[derive(Clone, PartialEq, Debug)]
pub struct Reach {
    pub arg: usize,
    pub written: bool,
    pub bytes: [i64; 2],
    pub step: i64,
}

impl Rows {
    /// The rows of a nest's items: the items of one row follow each other. `None` for a single row, for reads whose positions
    /// are data, and for rows that come backwards.
    pub(crate) fn of(n: &NormalizedNest, shape: &Shape) -> Option<Rows> {
        let outermost = shape.outer.first().filter(|outer| outer.extent > 1)?;
        let gathers = |instr: &Instr| matches!(instr, Instr::Gather(..));
        if n.stages.iter().any(|stage| stage.body.instrs.iter().any(gathers)) {
            return None;
        }
        let reach = |(at, access): (usize, &relayc_ir::kernel::Access)| {
            let width = access.dtype.bytes() as i64;
            let step = access.kept[outermost.dim].checked_mul(outermost.scale as i64)?.checked_mul(width)?;
            let extent = |(dim, &extent): (usize, &u64)| if dim == outermost.dim { outermost.scale } else { extent };
            let kept = n.dims.iter().enumerate().map(extent).zip(&access.kept);
            let reduced = n.reduce.iter().map(|dim| dim.extent).zip(&access.reduced);
            let mut bytes = [access.offset.checked_mul(width)?, access.offset.checked_add(1)?.checked_mul(width)?];
            for (extent, &stride) in kept.chain(reduced) {
                let far = (extent as i64 - 1).max(0).checked_mul(stride)?.checked_mul(width)?;
                bytes[usize::from(far > 0)] = bytes[usize::from(far > 0)].checked_add(far)?;
            }
            (step >= 0).then_some(Reach { arg: access.arg, written: at >= n.n_reads, bytes, step })
        };
        let reaches = n.accesses.iter().enumerate().map(reach).collect::<Option<_>>()?;
        Some(Rows { n: outermost.extent, reaches })
    }
}
