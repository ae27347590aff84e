//! Suppresses boxes as the runtime, which artifacts run too.

use super::{Bytes, RoutineContext, number};
use relayc_ir::kernel::AllClassNms;
use relayc_runtime::nms;

/// The suppression of a kernel.
pub(crate) fn of_kernel(kernel: &AllClassNms) -> nms::AllClassNms {
    nms::AllClassNms {
        n_images: kernel.images as usize,
        n_classes: kernel.classes as usize,
        n_boxes: kernel.boxes as usize,
        corner: number(kernel.corner),
        score: number(kernel.score),
        limits: kernel.limits.map(number),
        by_image: kernel.by_image,
    }
}

/// For each operand of the runtime, the argument of the kernel; one of both forms of the result has no scores.
pub(crate) fn places(kernel: &AllClassNms) -> [Option<usize>; 8] {
    let scores = kernel.by_image.then_some(6);
    [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), scores, Some(6 + usize::from(kernel.by_image))]
}

pub(super) fn run(kernel: &AllClassNms, args: &[Bytes], means: &RoutineContext) {
    let work = of_kernel(kernel);
    let (n_images, rows) = (work.n_images, work.n_lines() * work.n_boxes);
    let (width, counts) = if work.by_image { (2, n_images) } else { (3, 1) };
    let [most, overlap, least] = work.limits.map(|limit| limit.0);
    let (boxes, scores) = (n_images * work.n_boxes * 4 * work.corner.0, rows * work.score.0);
    let bytes = [boxes, scores, most, overlap, least, rows * width * 8, rows * 4, counts * 8];
    let places = places(kernel);
    let operand = |at: usize| places[at].map_or(std::ptr::null_mut(), |place| args[place].holding(bytes[at]).start);
    let operands = Operands(std::array::from_fn(operand));
    means.lines(work.n_lines() as u64, &|line, scratch| {
        // SAFETY: the tensors have room for all lines, and the scratch memory of this task for the boxes of one.
        unsafe { work.line(line, operands.get(), scratch) };
    });
    // SAFETY: as above; all lines are done.
    unsafe { work.gather(operands.get()) };
}

/// The addresses of tensors of which each thread writes its own lines.
struct Operands(nms::Operands);

// SAFETY: threads write different elements, and nobody reads what another writes.
unsafe impl Sync for Operands {}

impl Operands {
    fn get(&self) -> &nms::Operands {
        &self.0
    }
}
