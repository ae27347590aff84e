//! Run-time values: tensors, tuples, closures, values of data types, cells.

use super::lower::CodeId;
use relayc_ir::CtorId;
use relayc_ir::tensor::Tensor;
use std::sync::{Arc, Mutex, PoisonError};

/// A value. Cloning shares.
#[derive(Clone, Debug)]
pub enum Value {
    Tensor(Tensor),
    Tuple(Shared),
    Closure(Closure),
    Adt(CtorId, Shared),
    Cell(Cell),
}

/// A function with the values it captured when it was made.
#[derive(Clone, Debug)]
pub struct Closure {
    pub(super) code: CodeId,
    pub(super) captured: Shared,
}

/// Shared values. Dropping a deep nest of them needs no stack.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Vec<Value>>);

impl Shared {
    pub(crate) fn new(values: Vec<Value>) -> Shared {
        Shared(Arc::new(values))
    }
}

impl std::ops::Deref for Shared {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(values) = Arc::get_mut(&mut self.0) {
            take_apart(std::mem::take(values));
        }
    }
}

/// The cell that `ref` makes: every copy is the same cell. A cell that contains itself, through a closure, is never freed.
#[derive(Clone, Debug)]
pub struct Cell(Arc<Mutex<Option<Value>>>);

impl Cell {
    pub fn new(value: Value) -> Cell {
        Cell(Arc::new(Mutex::new(Some(value))))
    }

    pub fn get(&self) -> Value {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("a cell is empty only while it is dropped")
    }

    pub(crate) fn set(&self, value: Value) {
        // The old value is dropped after the lock is free: it may hold this cell.
        let old = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(value);
        drop(old);
    }

    /// Takes the contents out if nothing else shares them.
    fn take(&mut self) -> Option<Value> {
        Arc::get_mut(&mut self.0)?.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        take_apart(self.take().into_iter().collect());
    }
}

/// Drops values with an explicit list instead of the stack. Values that others share are left alone.
fn take_apart(mut pending: Vec<Value>) {
    while let Some(value) = pending.pop() {
        match value {
            Value::Tensor(_) => {}
            Value::Tuple(mut inner) | Value::Adt(_, mut inner) | Value::Closure(Closure { captured: mut inner, .. }) => {
                if let Some(values) = Arc::get_mut(&mut inner.0) {
                    pending.append(values);
                }
            }
            Value::Cell(mut cell) => pending.extend(cell.take()),
        }
    }
}

impl Value {
    pub fn tuple(values: Vec<Value>) -> Value {
        Value::Tuple(Shared::new(values))
    }

    /// What a constructor makes of its fields.
    pub fn adt(ctor: CtorId, fields: Vec<Value>) -> Value {
        Value::Adt(ctor, Shared::new(fields))
    }

    /// The tensors of a tensor or of nested tuples, each with its path of fields; `None` if the value contains anything else.
    pub fn tensors(&self) -> Option<Vec<(Vec<usize>, &Tensor)>> {
        let mut out = Vec::new();
        let mut pending = vec![(vec![], self)];
        while let Some((path, value)) = pending.pop() {
            match value {
                Value::Tensor(tensor) => out.push((path, tensor)),
                Value::Closure(_) | Value::Adt(..) | Value::Cell(_) => return None,
                Value::Tuple(fields) => {
                    let inner = fields.iter().enumerate().rev().map(|(i, field)| {
                        let mut path = path.clone();
                        path.push(i);
                        (path, field)
                    });
                    pending.extend(inner);
                }
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_value_drops_on_a_small_stack() {
        let deep = || {
            let mut value = Value::Tensor(Tensor::scalar(1i32));
            for _ in 0..100_000 {
                value = Value::tuple(vec![value]);
                value = Value::Adt(CtorId(0), Shared::new(vec![value]));
                value = Value::Cell(Cell::new(value));
            }
            drop(value);
        };
        std::thread::Builder::new().stack_size(64 * 1024).spawn(deep).expect("a thread").join().expect("no overflow");
    }
}
