//! The memory of a run's tensors, and its limit (reliability 2).
//!
//! Tensors are shared and freed on their own, so this keeps weak references, and drops those to freed tensors when the sum of all
//! gets over the limit by some slack, or when there are twice as many as lived at the last time: a weak reference keeps its block
//! of memory. Between two times at least the slack is allocated, or as many tensors as live, so this costs little. Without a limit
//! nothing is kept. What an evaluation takes besides its result is as its operator declares.

use super::value::Value;
use relayc_ir::tensor::size::has_memory;
use relayc_ir::tensor::{Storage, Tensor};
use relayc_ops::eval::Trap;
use rustc_hash::FxHashMap;

/// How far the sum may lie over the limit before tensors are counted again: this, and a tenth of the limit.
const SLACK: u64 = 32 << 20;

/// So many references may be kept without looking which are to freed tensors.
const FEW: usize = 1024;

pub(crate) struct Memory {
    max: u64,
    /// The bytes of all that is in `tensors`.
    total: u64,
    tensors: FxHashMap<usize, Storage>,
    /// How many `tensors` are swept next.
    sweep_at: usize,
}

impl Memory {
    pub(crate) fn new(max: u64) -> Memory {
        Memory { max, total: 0, tensors: FxHashMap::default(), sweep_at: FEW }
    }

    /// Requires room for a result, and for the work space of its evaluation. Errors: E0803.
    pub(crate) fn require(&mut self, result: u64, work: u64) -> Result<(), Trap> {
        let bytes = result.saturating_add(work);
        if self.total.saturating_add(bytes) > self.max.saturating_add(self.max / 10).saturating_add(SLACK) {
            self.sweep();
            let live = self.total.saturating_add(bytes);
            if live > self.max {
                return Err(Trap::over_memory(live, work, self.max));
            }
        }
        if has_memory(bytes) { Ok(()) } else { Err(Trap::no_memory(bytes)) }
    }

    /// The bytes left for a result whose size is not known yet.
    pub(crate) fn room(&mut self) -> u64 {
        if self.total > self.max / 2 {
            self.sweep();
        }
        self.max.saturating_sub(self.total)
    }

    /// Drops freed tensors, and counts the others again.
    fn sweep(&mut self) {
        self.tensors.retain(|_, storage| storage.is_alive());
        self.total = self.tensors.values().map(|storage| storage.bytes).sum();
        self.sweep_at = (2 * self.tensors.len()).max(FEW);
    }

    /// Counts a tensor, once however often it is shared.
    pub(crate) fn add(&mut self, tensor: &Tensor) {
        if self.max == u64::MAX {
            return;
        }
        if self.tensors.len() >= self.sweep_at {
            self.sweep();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(at: usize) -> Tensor {
        Tensor::from_fn(&[1], |_| at as i64)
    }

    #[test]
    fn freed_tensors_are_dropped() {
        let mut memory = Memory::new(1 << 30);
        let kept: Vec<Tensor> = (0..2 * FEW).map(tensor).collect();
        kept.iter().for_each(|tensor| memory.add(tensor));
        for at in 0..20 * FEW {
            memory.add(&tensor(at));
            assert!(memory.tensors.len() <= 2 * (kept.len() + 1));
        }
        memory.sweep();
        assert_eq!((memory.tensors.len(), memory.total), (kept.len(), 8 * kept.len() as u64));
    }

    #[test]
    fn without_a_limit_nothing_is_kept() {
        let mut memory = Memory::new(u64::MAX);
        memory.add(&tensor(0));
        assert!(memory.tensors.is_empty() && memory.require(1 << 10, 1 << 10).is_ok());
    }
}
