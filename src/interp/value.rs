//! What programs compute with: tensors, tuples, closures.

use super::lower::CodeId;
use crate::tensor::Tensor;
use std::sync::Arc;

/// A value. Cloning shares.
#[derive(Clone, Debug)]
pub enum Value {
    Tensor(Tensor),
    Tuple(Shared),
    Closure(Closure),
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
    pub fn new(values: Vec<Value>) -> Shared {
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
        // What only this one holds is taken apart with a list of our own; the rest is somebody else's.
        let Some(values) = Arc::get_mut(&mut self.0) else { return };
        let mut pending = std::mem::take(values);
        while let Some(value) = pending.pop() {
            if let Value::Tuple(mut inner) | Value::Closure(Closure { captured: mut inner, .. }) = value
                && let Some(values) = Arc::get_mut(&mut inner.0)
            {
                pending.append(values);
            }
        }
    }
}

impl Value {
    pub fn tuple(values: Vec<Value>) -> Value {
        Value::Tuple(Shared::new(values))
    }

    /// The tensors of a tensor or of nested tuples, with the path of fields to each; `None` if a function is inside.
    pub fn tensors(&self) -> Option<Vec<(Vec<usize>, &Tensor)>> {
        let mut out = Vec::new();
        let mut pending = vec![(vec![], self)];
        while let Some((path, value)) = pending.pop() {
            match value {
                Value::Tensor(tensor) => out.push((path, tensor)),
                Value::Closure(_) => return None,
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
            for _ in 0..200_000 {
                value = Value::tuple(vec![value]);
            }
            drop(value);
        };
        std::thread::Builder::new().stack_size(64 * 1024).spawn(deep).expect("a thread").join().expect("no overflow");
    }
}
