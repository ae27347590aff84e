//! Tests boxes of each form by results with few numbers.

use super::*;

fn named(tensors: Vec<Tensor>) -> Named {
    tensors.into_iter().enumerate().map(|(i, tensor)| (format!("out.{i}"), tensor)).collect()
}

fn view(input: [usize; 2], size: Option<([usize; 2], bool)>) -> View {
    let picture = size.map(|(size, letterboxed)| Picture {
        pixels: Tensor::from_vec(&[size[1], size[0], 3], vec![0u8; size[0] * size[1] * 3]),
        size,
        letterboxed,
    });
    View { input, picture }
}

const YOLO: Request = Request { head: Head::Yolo, threshold: 0.5, nms: None };

/// A layer of 2 boxes on 2 by 3 pixels with 2 classes: numbers by box, number and pixel.
fn yolo(set: &[(usize, usize, usize, f32)]) -> Named {
    let mut values = vec![0f32; 2 * 7 * 6];
    for &(of_pixel, number, pixel, value) in set {
        values[(of_pixel * 7 + number) * 6 + pixel] = value;
    }
    named(vec![
        Tensor::from_vec(&[1, 14, 2, 3], values),
        Tensor::from_vec(&[2], vec![0i32, 2]),
        Tensor::from_vec(&[6], vec![10f32, 20.0, 99.0, 99.0, 30.0, 16.0]),
        Tensor::from_vec(&[6], vec![2i32, 14, 2, 3, 2, 3]),
    ])
}

/// The box of pixel (1, 2) with the anchor 2 is in the middle of its pixel, as large as the anchor.
#[test]
fn a_box_of_a_yolo() {
    let outputs =
        yolo(&[(1, 0, 5, 0.5), (1, 1, 5, 0.5), (1, 4, 5, 0.9), (1, 5, 5, 0.2), (1, 6, 5, 1.0), (0, 4, 1, 0.4), (0, 5, 1, 1.0)]);
    let found = detections(&outputs, &view([60, 32], None), &YOLO).expect("read");
    let [Detection { left, top, right, bottom, classes }] = &found[..] else { panic!("{found:?}") };
    // Middle at 2.5 / 3 of 60 and 1.5 / 2 of 32, size 30 by 16.
    assert_eq!([*left, *top, *right, *bottom], [35.0, 16.0, 60.0, 32.0]);
    assert!(classes.len() == 1 && classes[0].0 == 1 && (classes[0].1 - 0.9).abs() < 1e-6);
    assert_eq!(table(&found, None), "  90.00%      35     16     60     32       1\n");
    assert_eq!(table(&found, Some(&["cat".into(), "dog".into()])), "  90.00%      35     16     60     32       1  dog\n");
    assert_eq!(table(&[], None), "nothing detected\n");
}

/// A letterbox of a picture twice as wide as high has a quarter of the input above it.
#[test]
fn places_are_those_of_the_picture() {
    let outputs = yolo(&[(0, 0, 4, 0.5), (0, 1, 4, 0.0), (0, 2, 4, 0.0), (0, 4, 4, 0.9), (0, 5, 4, 1.0)]);
    let request = Request { threshold: 0.1, ..YOLO };
    let middle =
        |found: &[Detection]| [found[0].left + found[0].right, found[0].top + found[0].bottom].map(|sum| (sum / 2.0).round());
    let found = detections(&outputs, &view([60, 60], Some(([120, 60], true))), &request).expect("read");
    assert_eq!(middle(&found), [60.0, 30.0]);
    assert!((found[0].bottom - found[0].top - 40.0).abs() < 1e-9, "{found:?}");
    let found = detections(&outputs, &view([60, 60], Some(([120, 60], false))), &request).expect("read");
    assert!((found[0].bottom - found[0].top - 20.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn overlapping_boxes_of_a_class_are_left_out() {
    let boxes = Tensor::from_vec(&[4, 4], vec![0f32, 0., 10., 10., 1., 1., 11., 11., 0., 0., 10., 10., 20., 20., 30., 30.]);
    let scores = Tensor::from_vec(&[4], vec![0.8f32, 0.9, 0.7, 0.3]);
    let labels = Tensor::from_vec(&[4], vec![1i64, 1, 2, 1]);
    let outputs = named(vec![boxes, labels, scores]);
    let request = |nms| Request { head: Head::Boxes, threshold: 0.5, nms };
    let view = view([40, 40], None);
    let classes = |nms| -> Vec<(usize, f64)> {
        let found = detections(&outputs, &view, &request(nms)).expect("read");
        found.iter().map(|detection| (detection.classes[0].0, detection.left)).collect()
    };
    assert_eq!(classes(None), [(1, 1.0), (1, 0.0), (2, 0.0)]);
    assert_eq!(classes(Some(0.5)), [(1, 1.0), (2, 0.0)]);
    assert_eq!(classes(Some(0.7)), [(1, 1.0), (1, 0.0), (2, 0.0)]);
}

/// Rows of class, score and box, as `vision.get_valid_counts` and its like make them: a class of -1 is no box.
#[test]
fn rows_of_class_score_and_box() {
    let rows =
        Tensor::from_vec(&[1, 3, 6], vec![1f32, 0.9, 0.25, 0.5, 0.75, 1.0, -1., 0.9, 0., 0., 1., 1., 0., 0.2, 0., 0., 1., 1.]);
    let request = Request { head: Head::Boxes, ..YOLO };
    let found = detections(&named(vec![rows]), &view([40, 20], None), &request).expect("read");
    assert_eq!(found.len(), 1);
    assert_eq!([found[0].left, found[0].top, found[0].right, found[0].bottom], [10.0, 10.0, 30.0, 20.0]);
}

#[test]
fn a_region_and_a_grid_of_cells() {
    // One pixel, one box: middle, no size, sure, two classes.
    let region = named(vec![
        Tensor::from_vec(&[1, 7, 1, 1], vec![0.5f32, 0.5, 0.0, 0.0, 0.9, 0.1, 0.9]),
        Tensor::from_vec(&[2], vec![0.5f32, 0.25]),
        Tensor::from_vec(&[7], vec![1i32, 7, 1, 1, 2, 4, 0]),
    ]);
    let found = detections(&region, &view([40, 40], None), &YOLO).expect("read");
    assert_eq!([found[0].left, found[0].top, found[0].right, found[0].bottom], [10.0, 15.0, 30.0, 25.0]);
    assert_eq!(found[0].classes[0].0, 1);
    // One cell, one box; the sizes are roots.
    let cells = named(vec![
        Tensor::from_vec(&[1, 7], vec![0.9f32, 0.1, 1.0, 0.5, 0.5, 0.5, 1.0]),
        Tensor::from_vec(&[5], vec![1i32, 1, 2, 4, 1]),
    ]);
    let found = detections(&cells, &view([40, 40], None), &YOLO).expect("read");
    assert_eq!([found[0].left, found[0].top, found[0].right, found[0].bottom], [15.0, 0.0, 25.0, 40.0]);
}

#[test]
fn other_results_are_refused() {
    let view = view([40, 40], None);
    let error = |outputs: &Named, request: &Request| detections(outputs, &view, request).expect_err("refused");
    let plain = named(vec![Tensor::from_vec(&[1, 10], vec![0f32; 10])]);
    assert_eq!(error(&plain, &YOLO).code, codes::E0705);
    assert_eq!(error(&plain, &Request { head: Head::Boxes, ..YOLO }).code, codes::E0705);
    for (at, wrong) in [
        (1, Tensor::from_vec(&[2], vec![0i32, 3])),
        (1, Tensor::from_vec(&[1], vec![0i32])),
        (1, Tensor::from_vec(&[2], vec![0i32, -1])),
        (2, Tensor::from_vec(&[2], vec![0f32, 3.0])),
        (3, Tensor::from_vec(&[6], vec![2i32, 14, 3, 2, 2, 3])),
        (3, Tensor::from_vec(&[6], vec![2i32, 14, 2, 3, 3, 3])),
        (3, Tensor::from_vec(&[6], vec![-2i32, 14, 2, 3, 2, 3])),
    ] {
        let mut outputs = yolo(&[]);
        outputs[at].1 = wrong;
        assert_eq!(error(&outputs, &YOLO).code, codes::E0705);
    }
    // Numbers that are none are no boxes.
    let found = detections(&yolo(&[(0, 4, 0, f32::NAN), (1, 4, 0, 0.9), (1, 2, 0, f32::INFINITY), (1, 5, 0, 0.9)]), &view, &YOLO);
    assert_eq!(found, Ok(vec![]));
}
