//! Elements in row-major order under a shape: what a tensor of one element type is made of.
//!
//! There are no strides: whatever moves elements puts them in order (`strided.rs`). So an evaluator sees a slice, and only loops
//! over slices are compiled for each of thirteen element types.

use super::size::count;
use super::strided::Strided;
use std::any::Any;
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, Weak};

/// The elements of a tensor. Cloning shares them.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<T> {
    shape: Arc<[usize]>,
    elements: Arc<Vec<T>>,
}

/// The memory that the elements of a tensor take, which does not keep them alive.
#[derive(Debug)]
pub struct Storage {
    pub bytes: u64,
    elements: Weak<dyn Any + Send + Sync>,
}

impl Storage {
    pub fn is_alive(&self) -> bool {
        self.elements.strong_count() > 0
    }

    /// Identifies it among all that there are.
    pub fn address(&self) -> usize {
        self.elements.as_ptr().cast::<()>().addr()
    }
}

impl<T> Array<T> {
    /// Panics if the number of elements is not the shape's product.
    pub(crate) fn new(shape: &[usize], elements: Vec<T>) -> Array<T> {
        Array { shape: shape_of(shape, elements.len()), elements: Arc::new(elements) }
    }

    /// The memory of the elements.
    pub(crate) fn storage(&self) -> Storage
    where
        T: Send + Sync + 'static,
    {
        let elements: Arc<dyn Any + Send + Sync> = self.elements.clone();
        Storage {
            bytes: (self.elements.capacity() as u64).saturating_mul(size_of::<T>() as u64),
            elements: Arc::downgrade(&elements),
        }
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The same elements under another shape, if that has as many.
    pub(super) fn reshaped(&self, shape: &[usize]) -> Option<Array<T>> {
        (count(shape) == Some(self.len())).then(|| Array { shape: shape.into(), elements: Arc::clone(&self.elements) })
    }

    /// Whether nobody else has the elements.
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.elements) == 1
    }
}

impl<T: Clone> Array<T> {
    /// The elements, to be changed. They are copied where others have them too.
    pub fn elements_mut(&mut self) -> &mut [T] {
        Arc::make_mut(&mut self.elements).as_mut_slice()
    }
}

impl<T: Copy> Array<T> {
    /// The elements in row-major order once axis `i` is axis `axes[i]`, which must be a permutation.
    pub fn permuted(&self, axes: &[usize]) -> Cow<'_, [T]> {
        if axes.is_sorted() { Cow::Borrowed(self) } else { Cow::Owned(Strided::of(&self.shape).permuted(axes).copy(self)) }
    }

    /// Calls `f` with the elements along an axis, for each position on the other axes, and keeps what it makes of them.
    pub fn each_lane(&mut self, axis: usize, f: &mut dyn FnMut(&mut [T])) {
        let (length, inner) = (self.shape[axis], self.shape[axis + 1..].iter().product::<usize>());
        let mut lane = Vec::with_capacity(length);
        // An array without elements has no parts, of whatever length.
        for part in self.elements_mut().chunks_mut((length * inner).max(1)) {
            if inner == 1 {
                f(part);
                continue;
            }
            for at in 0..inner {
                lane.clear();
                lane.extend(part[at..].iter().step_by(inner));
                f(&mut lane);
                part[at..].iter_mut().step_by(inner).zip(&lane).for_each(|(to, &x)| *to = x);
            }
        }
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

fn shape_of(shape: &[usize], n: usize) -> Arc<[usize]> {
    assert_eq!(count(shape), Some(n), "as many elements as the shape says");
    shape.into()
}
