//! Elements that lie in equal steps along each axis, put in order: permuted, broadcast and sliced arrays.
//!
//! Which elements come one after the other depends on no element type: only the copying of a row does.

/// Where the elements of a shape lie.
pub(super) struct Strided {
    pub(crate) dims: Vec<usize>,
    /// How far neighbours along an axis lie apart.
    pub(crate) steps: Vec<isize>,
    pub(crate) start: isize,
}

impl Strided {
    /// An array that is in order.
    pub(crate) fn of(shape: &[usize]) -> Strided {
        let mut steps = vec![0; shape.len()];
        let mut step = 1usize;
        for (axis, &dim) in shape.iter().enumerate().rev() {
            steps[axis] = step as isize;
            step = step.wrapping_mul(dim);
        }
        Strided { dims: shape.to_vec(), steps, start: 0 }
    }

    /// Axis `i` becomes axis `axes[i]`. Panics unless these are a permutation.
    pub(crate) fn permuted(&self, axes: &[usize]) -> Strided {
        let mut seen = vec![false; self.dims.len()];
        axes.iter().for_each(|&axis| assert!(!std::mem::replace(&mut seen[axis], true), "an axis that comes twice"));
        assert_eq!(axes.len(), seen.len(), "as many axes as the rank");
        let (dims, steps) = axes.iter().map(|&axis| (self.dims[axis], self.steps[axis])).collect();
        Strided { dims, steps, start: self.start }
    }

    /// The same under a shape it broadcasts to, aligned right; `None` where it does not.
    pub(crate) fn broadcast(&self, shape: &[usize]) -> Option<Strided> {
        super::size::count(shape)?;
        let before = shape.len().checked_sub(self.dims.len())?;
        let mut steps = vec![0; before];
        for ((&dim, &step), &to) in self.dims.iter().zip(&self.steps).zip(&shape[before..]) {
            match dim {
                _ if dim == to => steps.push(step),
                1 => steps.push(0),
                _ => return None,
            }
        }
        Some(Strided { dims: shape.to_vec(), steps, start: self.start })
    }

    /// The elements, in row-major order of the dimensions.
    pub(crate) fn copy<T: Copy>(&self, from: &[T]) -> Vec<T> {
        let mut rows = self.rows();
        let mut out = Vec::with_capacity(rows.len);
        while let Some(at) = rows.next() {
            match rows.step {
                0 => out.resize(out.len() + rows.n, from[at]),
                1 => out.extend_from_slice(&from[at..at + rows.n]),
                step => out.extend((0..rows.n as isize).map(|i| from[at.wrapping_add_signed(i.wrapping_mul(step))])),
            }
        }
        out
    }

    /// The rows that elements are copied by: axes that lie in one row are one.
    fn rows(&self) -> Rows {
        let mut axes: Vec<Axis> = vec![];
        for (&dim, &step) in self.dims.iter().zip(&self.steps).filter(|&(&dim, _)| dim != 1) {
            match axes.last_mut() {
                Some(last) if last.step == step.wrapping_mul(dim as isize) => *last = Axis { dim: last.dim * dim, step, at: 0 },
                _ => axes.push(Axis { dim, step, at: 0 }),
            }
        }
        let row = axes.pop().unwrap_or(Axis { dim: 1, step: 1, at: 0 });
        let len = super::size::count(&self.dims).unwrap_or(0);
        Rows { axes, n: row.dim, step: row.step, len, next: (len > 0).then_some(self.start) }
    }
}

struct Axis {
    dim: usize,
    step: isize,
    /// The position of the next row.
    at: usize,
}

/// Rows of `n` elements each, `step` apart.
struct Rows {
    axes: Vec<Axis>,
    n: usize,
    step: isize,
    /// The elements of all rows.
    len: usize,
    next: Option<isize>,
}

impl Rows {
    /// Where the next row starts.
    fn next(&mut self) -> Option<usize> {
        let at = self.next?;
        let mut next = at;
        self.next = None;
        for axis in self.axes.iter_mut().rev() {
            axis.at += 1;
            if axis.at < axis.dim {
                self.next = Some(next + axis.step);
                break;
            }
            next -= axis.step * (axis.dim as isize - 1);
            axis.at = 0;
        }
        Some(at as usize)
    }
}
