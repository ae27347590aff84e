//! Reductions as loops: counted loops outside, unrolled steps inside.
//!
//! Weights are packed in the order of the reduction, so its loops describe only the input.

use relayc_ir::kernel::ContractionDim;

/// Steps of a body if none divide the reduction.
const ROUND: u64 = 16;

/// A counted loop, and the step of the input in elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Loop {
    pub(crate) count: u64,
    pub(crate) input: i64,
}

/// The loops of a reduction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SumLoops {
    /// Outermost first.
    pub(crate) loops: Vec<Loop>,
    /// The input offset of each step inside the innermost loop.
    pub(crate) body: Vec<i64>,
    /// The steps after the innermost loop, relative to the input's final position.
    pub(crate) rest: Vec<i64>,
}

impl SumLoops {
    /// Number of iterations of the body.
    pub(crate) fn rounds(&self) -> u64 {
        self.loops.iter().map(|one| one.count).product()
    }

    /// As [`SumLoops::of`], with the last dimension's steps in twos that are never apart. Its extent is even.
    pub(crate) fn in_twos(dims: &[ContractionDim], most: u64) -> SumLoops {
        let mut twos = dims.to_vec();
        let step = twos.last_mut().map_or(0, |last| {
            *last = ContractionDim { extent: last.extent / 2, input: 2 * last.input, ..*last };
            last.input / 2
        });
        let SumLoops { loops, body, rest } = SumLoops::of(&twos, most / 2);
        let both = |steps: Vec<i64>| steps.into_iter().flat_map(|at| [at, at + step]).collect();
        SumLoops { loops, body: both(body), rest: both(rest) }
    }

    /// Arranges a reduction with at most `most` steps in a body. Extents are not zero.
    pub(crate) fn of(dims: &[ContractionDim], most: u64) -> SumLoops {
        let divisor = |count: u64| (most.div_ceil(4)..=most).rev().find(|chunk| count.is_multiple_of(*chunk));
        SumLoops::arranged(dims, most, |count| divisor(count).unwrap_or(most.min(ROUND)))
    }

    /// Arranges a reduction that may have any length: with a body that most lengths share.
    pub(crate) fn of_any_length(dims: &[ContractionDim]) -> SumLoops {
        SumLoops::arranged(dims, ROUND, |_| ROUND)
    }

    /// The number that says how often the only loop runs, which is then no longer in the loops.
    pub(crate) fn take_count(&mut self) -> Option<u64> {
        let [only] = &mut self.loops[..] else { return None };
        Some(std::mem::take(&mut only.count))
    }

    /// `chunk` says how many of the steps of a long dimension are in a body.
    fn arranged(dims: &[ContractionDim], most: u64, chunk: impl Fn(u64) -> u64) -> SumLoops {
        let dims = merge(dims);
        let mut loops: Vec<Loop> = dims.iter().map(|dim| Loop { count: dim.extent, input: dim.input }).collect();
        let mut body = vec![0i64];
        while let Some(inner) = loops.last()
            && inner.count * body.len() as u64 <= most
        {
            body = (0..inner.count).flat_map(|at| body.iter().map(move |step| at as i64 * inner.input + step)).collect();
            loops.pop();
        }
        let mut rest = Vec::new();
        if let Some(&inner) = loops.last()
            && body.len() == 1
        {
            let chunk = chunk(inner.count);
            let steps = |count: u64| (0..count as i64).map(|at| at * inner.input).collect();
            (body, rest) = (steps(chunk), steps(inner.count % chunk));
            loops.pop();
            if inner.count / chunk > 1 {
                loops.push(Loop { count: inner.count / chunk, input: inner.input * chunk as i64 });
            } else {
                // One chunk and what is left: a straight line.
                body.extend(rest.drain(..).map(|step| step + chunk as i64 * inner.input));
            }
        }
        SumLoops { loops, body, rest }
    }
}

/// Drops dimensions of extent 1 and joins dimensions that are contiguous in the input.
fn merge(dims: &[ContractionDim]) -> Vec<ContractionDim> {
    let mut merged: Vec<ContractionDim> = Vec::new();
    for dim in dims.iter().filter(|dim| dim.extent != 1) {
        match merged.last_mut() {
            Some(outer) if Some(outer.input) == dim.input.checked_mul(dim.extent as i64) => {
                *outer = ContractionDim { extent: outer.extent * dim.extent, ..*dim };
            }
            _ => merged.push(*dim),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dim(extent: u64, input: i64) -> ContractionDim {
        ContractionDim { extent, input, other: 0 }
    }

    /// The input offsets in the order in which the loops reach them.
    fn walk(sum: &SumLoops) -> Vec<i64> {
        let mut offsets = Vec::new();
        let outer: u64 = sum.loops.iter().rev().skip(1).map(|one| one.count).product();
        let inner = sum.loops.last().copied().unwrap_or(Loop { count: 1, input: 0 });
        for at in 0..outer {
            let mut left = at;
            let mut base = 0;
            for one in sum.loops.iter().rev().skip(1) {
                base += (left % one.count) as i64 * one.input;
                left /= one.count;
            }
            for _ in 0..inner.count {
                offsets.extend(sum.body.iter().map(|step| base + step));
                base += inner.input;
            }
            offsets.extend(sum.rest.iter().map(|step| base + step));
        }
        offsets
    }

    #[test]
    fn loops_reach_every_step_in_order() {
        let cases: [&[ContractionDim]; 7] = [
            &[dim(4, 1000), dim(3, 100), dim(3, 16), dim(16, 1)],
            &[dim(100, 1)],
            &[dim(37, 2)],
            &[dim(53, 1)],
            &[dim(3, 50), dim(7, 10), dim(7, 1)],
            &[dim(5, 60), dim(59, 1)],
            &[],
        ];
        for dims in cases {
            let sum = SumLoops::of(dims, 32);
            let mut expected = vec![0];
            for dim in dims.iter().rev() {
                expected = (0..dim.extent as i64).flat_map(|at| expected.iter().map(move |o| at * dim.input + o)).collect();
            }
            assert_eq!(walk(&sum), expected, "{sum:?}");
            assert!(sum.body.len() <= 47, "{sum:?}");
            if let Some(last) = dims.last().filter(|last| last.extent % 2 == 0) {
                let sum = SumLoops::in_twos(dims, 32);
                assert_eq!(walk(&sum), expected, "{sum:?}");
                let twos = |steps: &[i64]| steps.chunks(2).all(|two| two.len() == 2 && two[1] == two[0] + last.input);
                assert!(twos(&sum.body) && twos(&sum.rest), "{sum:?}");
            }
        }
    }
}
