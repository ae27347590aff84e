//! Views: the extents and strides of a tensor inside a buffer.

/// The positions of a tensor's elements. Strides and the offset count elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct View {
    pub dims: Vec<u64>,
    pub strides: Vec<i64>,
    pub offset: i64,
}

impl View {
    /// A dense view in row-major order.
    pub fn dense(dims: &[u64]) -> View {
        let mut strides = vec![0; dims.len()];
        let mut stride = 1i64;
        for (at, &dim) in dims.iter().enumerate().rev() {
            strides[at] = stride;
            stride = stride.saturating_mul(dim.max(1) as i64);
        }
        View { dims: dims.to_vec(), strides, offset: 0 }
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    pub fn transpose(&self, axes: &[usize]) -> View {
        View {
            dims: axes.iter().map(|&axis| self.dims[axis]).collect(),
            strides: axes.iter().map(|&axis| self.strides[axis]).collect(),
            offset: self.offset,
        }
    }

    /// Broadcasts to these extents, aligned at the last axis; `None` if an extent is neither 1 nor the given one.
    pub fn broadcast(&self, dims: &[u64]) -> Option<View> {
        let lead = dims.len().checked_sub(self.rank())?;
        if self.dims.iter().zip(&dims[lead..]).any(|(&own, &dim)| own != 1 && own != dim) {
            return None;
        }
        let strides = (0..dims.len()).map(|axis| match axis.checked_sub(lead) {
            Some(own) if self.dims[own] != 1 || dims[axis] == 1 => self.strides[own],
            _ => 0,
        });
        Some(View { dims: dims.to_vec(), strides: strides.collect(), offset: self.offset })
    }

    /// Takes every `step`-th element of an axis, `count` elements from `begin` on. The step of a single element has no effect.
    pub fn slice(&self, axis: usize, begin: i64, step: i64, count: u64) -> View {
        let mut view = self.clone();
        view.offset += begin * self.strides[axis];
        view.dims[axis] = count;
        view.strides[axis] = if count > 1 { self.strides[axis] * step } else { self.strides[axis] };
        view
    }

    /// The same elements in the same order under other extents; `None` if strides cannot express it.
    ///
    /// The function matches runs of axes with equal products; inside a run the old axes must be dense.
    pub fn reshape(&self, dims: &[u64]) -> Option<View> {
        if self.elements() != dims.iter().product::<u64>() {
            return None;
        }
        if self.elements() == 0 {
            return Some(View::dense(dims));
        }
        let mut strides = vec![0; dims.len()];
        let old: Vec<(u64, i64)> =
            self.dims.iter().copied().zip(self.strides.iter().copied()).filter(|&(dim, _)| dim != 1).collect();
        let (mut from, mut to) = (0, 0);
        while from < old.len() {
            let (mut have, mut last) = (old[from].0, from);
            let start = to;
            let mut want = 1;
            while want != have {
                if want < have {
                    want *= *dims.get(to)?;
                    to += 1;
                } else {
                    last += 1;
                    // The next axis joins the run, which must lie without gaps.
                    if old[last - 1].1 != old[last].1 * old[last].0 as i64 {
                        return None;
                    }
                    have *= old[last].0;
                }
            }
            let mut stride = old[last].1;
            for at in (start..to).rev() {
                strides[at] = stride;
                stride *= dims[at] as i64;
            }
            from = last + 1;
        }
        Some(View { dims: dims.to_vec(), strides, offset: self.offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_splits_and_joins() {
        let view = View::dense(&[2, 3, 4]);
        assert_eq!(view.reshape(&[6, 4]), Some(View::dense(&[6, 4])));
        assert_eq!(view.reshape(&[2, 3, 2, 2]), Some(View::dense(&[2, 3, 2, 2])));
        let turned = view.transpose(&[1, 0, 2]);
        assert_eq!(turned.reshape(&[6, 4]), None);
        assert_eq!(turned.reshape(&[3, 2, 2, 2]).map(|view| view.strides), Some(vec![4, 12, 2, 1]));
        assert_eq!(turned.reshape(&[3, 1, 8]), None);
        assert_eq!(View::dense(&[1, 1]).reshape(&[]).map(|view| view.strides), Some(vec![]));
        assert_eq!(View::dense(&[]).reshape(&[1, 1]).map(|view| view.dims), Some(vec![1, 1]));
        assert!(View::dense(&[0, 3]).reshape(&[3, 0]).is_some());
    }

    #[test]
    fn broadcast_repeats_with_stride_zero() {
        assert_eq!(View::dense(&[3, 1]).broadcast(&[2, 3, 5]).map(|view| view.strides), Some(vec![0, 1, 0]));
        assert_eq!(View::dense(&[3, 2]).broadcast(&[2, 3, 5]), None);
        assert_eq!(View::dense(&[3, 2]).broadcast(&[2]), None);
        assert_eq!(View::dense(&[4]).slice(0, 3, -1, 4).strides, [-1]);
    }
}
