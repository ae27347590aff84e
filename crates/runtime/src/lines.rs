//! Work in independent lines: each is done by one thread, from its begin to its end. The operators of such work have operands and
//! results as plain tensors, and no state but theirs.

use super::boxes;
use super::operands::{Operands, Wrong};
use super::pool_gradient::PoolGradient;
use super::quantized_softmax::QuantizedSoftmax;
use super::random::Random;
use super::sparse::Sparse;
use super::strided_set::StridedSet;
use super::words::Words;

/// Work of which lines are independent.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "nothing is boxed here: there is no allocator, and steps are few")]
pub enum Work {
    Boxes(boxes::Work),
    Random(Random),
    Sparse(Sparse),
    PoolGradient(PoolGradient),
    QuantizedSoftmax(QuantizedSoftmax),
    StridedSet(StridedSet),
}

/// The most messages that work has.
pub const MESSAGES: usize = 3;

impl Work {
    pub fn n_lines(&self) -> usize {
        match self {
            Work::Boxes(work) => work.n_lines(),
            Work::Random(work) => work.n_lines(),
            Work::Sparse(work) => work.n_lines(),
            Work::PoolGradient(work) => work.n_lines(),
            Work::QuantizedSoftmax(work) => work.n_lines,
            Work::StridedSet(_) => 1,
        }
    }

    /// Bytes of scratch memory for each thread.
    pub fn scratch_bytes(&self) -> u64 {
        match self {
            Work::Boxes(work) => work.scratch_bytes(),
            Work::Random(work) => work.scratch_bytes(),
            Work::Sparse(work) => work.scratch_bytes(),
            Work::PoolGradient(work) => work.scratch_bytes(),
            Work::QuantizedSoftmax(_) | Work::StridedSet(_) => 0,
        }
    }

    /// Gives the words that [`Work::read`] reads.
    pub fn write(&self, word: &mut impl FnMut(u64)) {
        let kind = match self {
            Work::Boxes(_) => 0,
            Work::Random(_) => 1,
            Work::Sparse(_) => 2,
            Work::PoolGradient(_) => 3,
            Work::QuantizedSoftmax(_) => 4,
            Work::StridedSet(_) => 5,
        };
        word(kind);
        match self {
            Work::Boxes(work) => work.write(word),
            Work::Random(work) => work.write(word),
            Work::Sparse(work) => work.write(word),
            Work::PoolGradient(work) => work.write(word),
            Work::QuantizedSoftmax(work) => work.write(word),
            Work::StridedSet(work) => work.write(word),
        }
    }

    pub(crate) fn read(words: &mut Words) -> Work {
        match words.word() {
            0 => Work::Boxes(boxes::Work::read(words)),
            1 => Work::Random(Random::read(words)),
            2 => Work::Sparse(Sparse::read(words)),
            3 => Work::PoolGradient(PoolGradient::read(words)),
            4 => Work::QuantizedSoftmax(QuantizedSoftmax::read(words)),
            _ => Work::StridedSet(StridedSet::read(words)),
        }
    }

    /// Checks the operands before any line.
    ///
    /// # Safety
    /// The operands hold all lines.
    pub unsafe fn check(&self, operands: &Operands) -> Result<(), Wrong> {
        // SAFETY: as the caller says.
        unsafe {
            match self {
                Work::Boxes(work) => work.check(operands),
                Work::Sparse(work) => work.check(operands),
                Work::QuantizedSoftmax(work) => work.check(operands),
                Work::StridedSet(work) => work.check(operands),
                Work::Random(_) | Work::PoolGradient(_) => Ok(()),
            }
        }
    }

    /// Does a line.
    ///
    /// # Safety
    /// The operands hold all lines and were [checked](Work::check), and the scratch memory has [`Work::scratch_bytes`], aligned to
    /// 16 bytes. No other thread uses the line's results or this scratch memory.
    pub unsafe fn line(&self, line: usize, operands: &Operands, scratch: *mut u8) {
        // SAFETY: as the caller says.
        unsafe {
            match self {
                Work::Boxes(work) => work.line(line, operands, scratch),
                Work::Random(work) => work.line(line, operands, scratch),
                Work::Sparse(work) => work.line(line, operands, scratch),
                Work::PoolGradient(work) => work.line(line, operands, scratch),
                Work::QuantizedSoftmax(work) => work.line(line, operands),
                Work::StridedSet(work) => work.set(operands),
            }
        }
    }

    /// Joins the results of all lines.
    ///
    /// # Safety
    /// All lines are done, and nobody else uses the results meanwhile.
    pub unsafe fn finish(&self, operands: &Operands) {
        if let Work::Boxes(work) = self {
            // SAFETY: as the caller says.
            unsafe { work.finish(operands) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;
    use crate::pool_gradient::Window;
    use crate::sparse::Form;

    #[test]
    fn words_are_read_as_they_were_written() {
        let (half, index) = ((2, Number::Float(10)), (8, Number::Signed));
        let sparse = |form| {
            let (element, start) = (half, (4, Number::Signed));
            Work::Sparse(Sparse { form, n_rows: 3, n_entries: 5, block: [2, 1], n_columns: 7, element, index, start })
        };
        let window = Window { input: 9, output: 4, size: 3, stride: 2, dilation: 1, before: 1, after: 0 };
        let gradient = |mean| {
            let (others, windows) = ([2, 1, 3], [window, Window { before: 0, ..window }]);
            Work::PoolGradient(PoolGradient { others, windows, columns_first: true, mean, element: half })
        };
        let conv = Form::Conv { images: 2, channels: 4, dims: [5, 6], window: 3, channels_last: true };
        let set = StridedSet { width: 4, rank: 2, data: [3, 4, 0, 0, 0, 0, 0, 0], part: [1; 8], lists: [(2, index); 3] };
        let all = [
            Work::Random(Random::Generate { n: 5 }),
            Work::Random(Random::Split),
            Work::Random(Random::Uniform { n: 5, is_wide: true }),
            Work::Random(Random::Normal { n: 5, is_wide: false }),
            Work::Random(Random::Multinomial { n_rows: 2, n_shares: 3, n_samples: 4, share: half }),
            sparse(Form::Dense { n: 4, is_left: true }),
            sparse(conv),
            sparse(Form::Add),
            sparse(Form::Transpose),
            gradient(None),
            gradient(Some(true)),
            gradient(Some(false)),
            Work::QuantizedSoftmax(QuantizedSoftmax { n_lines: 6, length: 5, inner: 3 }),
            Work::StridedSet(set),
        ];
        for work in all {
            let mut words = vec![];
            work.write(&mut |word| words.push(word));
            // SAFETY: as many words are read as were written.
            assert_eq!(Work::read(&mut unsafe { Words::at(words.as_ptr().cast(), 0) }), work);
        }
    }
}
