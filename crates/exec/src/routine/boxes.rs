//! Works on boxes as the runtime, which artifacts run too.

use super::number;
use relayc_ir::kernel::{Anchors, BoxRows, Boxes, ChosenRows, Lines, OfBin, Regions, SuppressRows, ValidRows};
use relayc_runtime::boxes;

/// The runtime's work of a kernel.
pub(super) fn of_kernel(kernel: &Boxes) -> boxes::Work {
    match kernel {
        Boxes::AllClass(kernel) => boxes::Work::AllClass(boxes::AllClassNms {
            n_images: kernel.images as usize,
            n_classes: kernel.classes as usize,
            n_boxes: kernel.boxes as usize,
            corner: number(kernel.corner),
            score: number(kernel.score),
            limits: kernel.limits.map(number),
            by_image: kernel.by_image,
        }),
        Boxes::Valid(ValidRows { rows, limit }) => {
            boxes::Work::Valid(boxes::ValidRows { rows: rows_of(rows), limit: number(*limit) })
        }
        Boxes::Regions(kernel) => boxes::Work::Regions(boxes::Regions {
            n_images: kernel.images as usize,
            n_channels: kernel.channels as usize,
            dims: kernel.dims.map(|dim| dim as usize),
            channels_last: kernel.channels_last,
            n_rows: kernel.rows as usize,
            bins: kernel.bins.map(|dim| dim as usize),
            scale: f64::from_bits(kernel.scale_bits),
            element: number(kernel.element),
            row: number(kernel.row),
            of_bin: match kernel.of_bin {
                OfBin::Mean => boxes::OfBin::Mean,
                OfBin::Largest => boxes::OfBin::Largest,
                OfBin::LargestElement => boxes::OfBin::LargestElement,
            },
            n_points: kernel.points as usize,
        }),
        Boxes::Anchors(kernel) => boxes::Work::Anchors(boxes::Anchors {
            n_images: kernel.images as usize,
            n_classes: kernel.classes as usize,
            n_anchors: kernel.anchors as usize,
            element: number(kernel.dtype),
            is_cut: kernel.is_cut,
            has_background: kernel.has_background,
            threshold: f64::from_bits(kernel.threshold_bits),
            variances: kernel.variance_bits.map(f64::from_bits),
        }),
        Boxes::Suppress(kernel) => boxes::Work::Suppress(boxes::SuppressRows {
            rows: rows_of(&kernel.rows),
            corners: kernel.corners as usize,
            count: number(kernel.count),
            number: number(kernel.number),
            limits: kernel.limits.map(number),
            top: kernel.top.unwrap_or(0) as usize,
            any_class: kernel.any_class,
            result: match kernel.result {
                ChosenRows::InPlace => boxes::Chosen::InPlace,
                ChosenRows::Together => boxes::Chosen::Together,
                ChosenRows::Numbers => boxes::Chosen::Numbers,
            },
        }),
    }
}

fn rows_of(rows: &BoxRows) -> boxes::Rows {
    boxes::Rows {
        n_images: rows.images as usize,
        n_boxes: rows.boxes as usize,
        n_fields: rows.fields as usize,
        element: number(rows.dtype),
        score: rows.score as usize,
        class: rows.class.map(|class| class as usize),
    }
}

/// The lines that threads share.
pub(super) fn lines(kernel: &Boxes) -> Lines {
    match kernel {
        Boxes::AllClass(work) => Lines::along(&[work.images, work.classes, work.boxes], 2),
        Boxes::Valid(ValidRows { rows, .. }) | Boxes::Suppress(SuppressRows { rows, .. }) => {
            Lines::along(&[rows.images, rows.boxes], 1)
        }
        Boxes::Anchors(Anchors { images, classes, anchors, .. }) => Lines { outer: *images, length: classes * anchors, inner: 1 },
        Boxes::Regions(Regions { rows, channels, bins: [height, width], .. }) => {
            Lines { outer: *rows, length: channels * height * width, inner: 1 }
        }
    }
}

/// For each operand of the runtime, the argument of the kernel, if it has one.
pub(super) fn places(kernel: &Boxes) -> [Option<usize>; 8] {
    // The place of an operand that is there only under a condition.
    let places = |n: usize, without: Option<usize>| {
        std::array::from_fn(|at| {
            match without {
                Some(without) if at == without => None,
                Some(without) if at > without => Some(at - 1),
                _ => Some(at),
            }
            .filter(|&place| place < n)
        })
    };
    match kernel {
        Boxes::AllClass(work) if work.by_image => places(8, None),
        Boxes::AllClass(_) => places(7, Some(6)),
        Boxes::Valid(_) | Boxes::Anchors(_) => places(5, None),
        Boxes::Regions(_) => places(3, None),
        Boxes::Suppress(work) => places(if work.result == ChosenRows::Numbers { 7 } else { 6 }, None),
    }
}

/// Bytes of each operand of the runtime.
pub(super) fn bytes(work: &boxes::Work) -> [usize; 8] {
    match work {
        boxes::Work::AllClass(work) => {
            let of_image = work.n_classes * work.n_boxes;
            let rows = work.n_images * of_image;
            let (width, counts) = if work.by_image { (2, work.n_images) } else { (3, 1) };
            let [most, overlap, least] = work.limits.map(|limit| limit.0);
            let (boxes, scores) = (work.n_images * work.n_boxes * 4 * work.corner.0, rows * work.score.0);
            [boxes, scores, most, overlap, least, rows * width * 8, rows * 4, counts * 8]
        }
        boxes::Work::Valid(boxes::ValidRows { rows, limit }) => {
            let n = rows.n_images * rows.n_boxes;
            let data = n * rows.n_fields * rows.element.0;
            [data, limit.0, rows.n_images * 4, data, n * 4, 0, 0, 0]
        }
        boxes::Work::Anchors(work) => {
            let (n, width) = (work.n_images * work.n_anchors, work.element.0);
            [n * work.n_classes * width, n * 4 * width, work.n_anchors * 4 * width, n * 6 * width, work.n_images * 4, 0, 0, 0]
        }
        boxes::Work::Regions(work) => {
            let images = work.n_images * work.n_channels * work.dims[0] * work.dims[1] * work.element.0;
            let result = work.n_rows * work.n_channels * work.bins[0] * work.bins[1] * work.element.0;
            [images, work.n_rows * 5 * work.row.0, result, 0, 0, 0, 0, 0]
        }
        boxes::Work::Suppress(work) => {
            let (n_images, n) = (work.rows.n_images, work.rows.n_images * work.rows.n_boxes);
            let data = n * work.rows.n_fields * work.rows.element.0;
            let (numbers, result) = if work.result == boxes::Chosen::Numbers { (n * work.number.0, n * 4) } else { (0, data) };
            let [most, overlap] = work.limits.map(|limit| limit.0);
            [data, n_images * work.count.0, numbers, most, overlap, result, n_images * 4, 0]
        }
    }
}

/// The name of a routine, and the reason why it is one.
pub(super) fn words(kernel: &Boxes) -> (String, &'static str) {
    match kernel {
        Boxes::AllClass(work) => {
            let name = format!("non-maximum suppression, {} classes of {} boxes", work.images * work.classes, work.boxes);
            (name, "which boxes are kept hangs on the better ones: a class is done from its best box on")
        }
        Boxes::Suppress(SuppressRows { rows, .. }) => {
            let name = format!("non-maximum suppression, {} images of {} boxes", rows.images, rows.boxes);
            (name, "which boxes are kept hangs on the better ones: an image is done from its best box on")
        }
        Boxes::Anchors(work) => {
            let name = format!("boxes of {} anchors in {} images", work.anchors, work.images);
            (name, "where a box goes hangs on the boxes before it: an image is done from its begin to its end")
        }
        Boxes::Regions(work) => {
            let name = format!("{} regions of {} channels in {:?} bins", work.rows, work.channels, work.bins);
            (name, "where regions lie, and how many points a bin has, hangs on the data")
        }
        Boxes::Valid(ValidRows { rows, .. }) => {
            let name = format!("valid boxes, {} images of {} boxes", rows.images, rows.boxes);
            (name, "where a box goes hangs on the boxes before it: an image is done from its begin to its end")
        }
    }
}
