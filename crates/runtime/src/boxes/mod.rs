//! Work on boxes in images: suppresses those that a better one overlaps, and samples what is in them.

mod all_class;
mod anchors;
mod kept;
mod real;
mod regions;
mod rows;

pub use all_class::AllClassNms;
pub use anchors::Anchors;
pub use regions::{OfBin, Regions};
pub use rows::{Chosen, Rows, SuppressRows, ValidRows};

use crate::operands::{Operands, Wrong};
use crate::words::Words;
use kept::Kept;

/// Work on boxes, which are independent from line to line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Work {
    AllClass(AllClassNms),
    /// A line is an image.
    Valid(ValidRows),
    Suppress(SuppressRows),
    /// A line is a region.
    Regions(Regions),
    /// A line is an image.
    Anchors(Anchors),
}

impl Work {
    pub fn n_lines(&self) -> usize {
        match self {
            Work::AllClass(work) => work.n_lines(),
            Work::Valid(ValidRows { rows, .. }) | Work::Suppress(SuppressRows { rows, .. }) => rows.n_images,
            Work::Regions(work) => work.n_rows,
            Work::Anchors(work) => work.n_images,
        }
    }

    /// Bytes of scratch memory for each thread.
    pub fn scratch_bytes(&self) -> u64 {
        let (n_boxes, width) = match self {
            Work::AllClass(work) => (work.n_boxes, work.corner.0.max(work.score.0)),
            Work::Valid(_) | Work::Regions(_) | Work::Anchors(_) => return 0,
            Work::Suppress(work) => (work.rows.n_boxes, work.rows.element.0),
        };
        (n_boxes * if width == 8 { Kept::<f64>::BYTES } else { Kept::<f32>::BYTES }) as u64
    }

    /// Gives the words that [`Work::read`] reads.
    pub fn write(&self, word: &mut impl FnMut(u64)) {
        let kind = match self {
            Work::AllClass(_) => 0,
            Work::Valid(_) => 1,
            Work::Suppress(_) => 2,
            Work::Regions(_) => 3,
            Work::Anchors(_) => 4,
        };
        word(kind);
        match self {
            Work::AllClass(work) => work.write(word),
            Work::Valid(work) => work.write(word),
            Work::Suppress(work) => work.write(word),
            Work::Regions(work) => work.write(word),
            Work::Anchors(work) => work.write(word),
        }
    }

    pub(crate) fn read(words: &mut Words) -> Work {
        match words.word() {
            0 => Work::AllClass(AllClassNms::read(words)),
            1 => Work::Valid(ValidRows::read(words)),
            2 => Work::Suppress(SuppressRows::read(words)),
            3 => Work::Regions(Regions::read(words)),
            _ => Work::Anchors(Anchors::read(words)),
        }
    }

    /// Checks the operands before any line.
    ///
    /// # Safety
    /// The operands hold all lines.
    pub unsafe fn check(&self, operands: &Operands) -> Result<(), Wrong> {
        match self {
            // SAFETY: as the caller says.
            Work::Suppress(work) => unsafe { work.check(operands) },
            // SAFETY: as the caller says.
            Work::Regions(work) if work.is_wide() => unsafe { work.check::<f64>(operands) },
            // SAFETY: as the caller says.
            Work::Regions(work) => unsafe { work.check::<f32>(operands) },
            Work::AllClass(_) | Work::Valid(_) | Work::Anchors(_) => Ok(()),
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
                Work::AllClass(work) if work.is_wide() => work.line::<f64>(line, operands, scratch),
                Work::AllClass(work) => work.line::<f32>(line, operands, scratch),
                Work::Valid(work) => work.image(line, operands),
                Work::Suppress(work) if work.rows.element.0 == 8 => work.image::<f64>(line, operands, scratch),
                Work::Suppress(work) => work.image::<f32>(line, operands, scratch),
                Work::Regions(work) if work.is_wide() => work.line::<f64>(line, operands),
                Work::Regions(work) => work.line::<f32>(line, operands),
                Work::Anchors(work) if work.element.0 == 8 => work.image::<f64>(line, operands),
                Work::Anchors(work) => work.image::<f32>(line, operands),
            }
        }
    }

    /// Joins the results of all lines.
    ///
    /// # Safety
    /// All lines are done, and nobody else uses the results meanwhile.
    pub unsafe fn finish(&self, operands: &Operands) {
        if let Work::AllClass(work) = self {
            // SAFETY: as the caller says.
            unsafe { work.gather(operands) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;

    #[test]
    fn words_are_read_as_they_were_written() {
        let [half, single, double] = [(2, Number::Float(10)), (4, Number::Float(23)), (8, Number::Float(52))];
        let (count, class) = ((8, Number::Signed), Some(0));
        let all = AllClassNms {
            n_images: 2,
            n_classes: 3,
            n_boxes: 5,
            corner: single,
            score: half,
            limits: [count, single, double],
            by_image: true,
        };
        let rows = Rows { n_images: 2, n_boxes: 5, n_fields: 6, element: single, score: 1, class };
        let suppress = |result| {
            let (rows, limits) = (Rows { class: None, ..rows }, [count, double]);
            SuppressRows { rows, corners: 2, count, number: half, limits, top: 7, any_class: true, result }
        };
        let regions = |of_bin| {
            let (row, dims, bins, scale) = (half, [8, 9], [2, 3], 0.0625);
            let (n_images, n_channels, n_rows, n_points) = (2, 4, 7, 5);
            Regions {
                n_images,
                n_channels,
                dims,
                channels_last: true,
                n_rows,
                bins,
                scale,
                element: single,
                row,
                of_bin,
                n_points,
            }
        };
        let anchors = Anchors {
            n_images: 2,
            n_classes: 3,
            n_anchors: 5,
            element: single,
            is_cut: true,
            has_background: false,
            threshold: 0.25,
            variances: [0.5, 1.0, 2.0, 4.0],
        };
        let of_bins = [OfBin::Mean, OfBin::Largest, OfBin::LargestElement].map(|of_bin| Work::Regions(regions(of_bin)));
        let several = [Chosen::InPlace, Chosen::Together, Chosen::Numbers].map(|result| Work::Suppress(suppress(result)));
        for work in [Work::AllClass(all), Work::Valid(ValidRows { rows, limit: double })]
            .into_iter()
            .chain(several)
            .chain(of_bins)
            .chain([Work::Anchors(anchors)])
        {
            let mut words = vec![];
            work.write(&mut |word| words.push(word));
            // SAFETY: as many words are read as were written.
            assert_eq!(Work::read(&mut unsafe { Words::at(words.as_ptr().cast(), 0) }), work);
        }
    }
}
