//! The memory of a run's tensors, and its limit (reliability 2).
//!
//! Tensors are shared and freed on their own, so this keeps weak references and counts again when the sum of all that were made
//! gets over the limit by some slack. Between two counts at least the slack is allocated, so counting costs little. Absent: what
//! evaluations allocate besides their results.

use super::value::Value;
use relayc_ir::tensor::{Storage, Tensor};
use relayc_ops::eval::Trap;
use rustc_hash::FxHashMap;

/// How far the sum may lie over the limit before tensors are counted again: this, and a tenth of the limit.
const SLACK: u64 = 32 << 20;

pub(crate) struct Memory {
    max: u64,
    /// The bytes of all that is in `tensors`.
    total: u64,
    tensors: FxHashMap<usize, Storage>,
}

impl Memory {
    pub(crate) fn new(max: u64) -> Memory {
        Memory { max, total: 0, tensors: FxHashMap::default() }
    }

    /// Requires room for a result. Errors: E0803.
    pub(crate) fn require(&mut self, bytes: u64) -> Result<(), Trap> {
        if self.total.saturating_add(bytes) <= self.max.saturating_add(self.max / 10).saturating_add(SLACK) {
            return Ok(());
        }
        self.tensors.retain(|_, storage| storage.is_alive());
        self.total = self.tensors.values().map(|storage| storage.bytes).sum();
        let live = self.total.saturating_add(bytes);
        if live <= self.max { Ok(()) } else { Err(Trap::over_memory(live, self.max)) }
    }

    /// Counts a tensor, once however often it is shared.
    pub(crate) fn add(&mut self, tensor: &Tensor) {
        let storage = tensor.storage();
        let bytes = storage.bytes;
        if self.tensors.insert(storage.address(), storage).is_none() {
            self.total = self.total.saturating_add(bytes);
        }
    }

    /// Counts the tensors in values.
    pub(crate) fn add_all<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) {
        let mut pending: Vec<&Value> = values.into_iter().collect();
        while let Some(value) = pending.pop() {
            match value {
                Value::Tensor(tensor) => self.add(tensor),
                Value::Tuple(fields) => pending.extend(fields.iter()),
                _ => {}
            }
        }
    }
}
