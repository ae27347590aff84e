//! Plans the inputs of gather kernels: index operands as positions, and tables.

use super::anchor::Args;
use super::group::Lazy;
use super::lowering::Lowering;
use super::{BufferId, Place, Positions, Work};
use relayc_ir::types::DType;
use relayc_ops::OpDef;
use relayc_ops::lower::{self, Table, Tensor};

impl Lowering<'_> {
    /// Plans an index operand as positions.
    pub(super) fn positions(&mut self, wanted: &lower::Positions, indices: &Lazy, op: &'static OpDef) -> Lazy {
        let from = self.whole(indices);
        let tensor = Tensor { shape: indices.dims.clone(), dtype: DType::I32 };
        let to = self.buffer(&tensor, Place::Arena(0));
        let mut args = Args::default();
        args.add(from, false);
        args.add(to, true);
        let work = Positions { lengths: wanted.lengths.clone(), outside: wanted.outside, call: self.call };
        let origin = self.origin;
        self.work(Work::Positions(work), args, origin, vec![op.name]);
        self.dense(to)
    }

    /// The buffer of a table; equal tables share one.
    pub(super) fn table(&mut self, table: &Table) -> BufferId {
        let known = self.plan.buffers.iter_ids().find(|(_, buffer)| match buffer.place {
            Place::Table(at) => self.plan.tables[at] == *table,
            _ => false,
        });
        if let Some((id, _)) = known {
            return id;
        }
        self.plan.tables.push(table.clone());
        let place = Place::Table(self.plan.tables.len() - 1);
        let buffer = self.buffer(&Tensor { shape: vec![table.bits.len() as u64], dtype: table.dtype }, place);
        self.constant.insert(buffer);
        buffer
    }
}
