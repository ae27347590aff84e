//! Imports `NonMaxSuppression` as a single node and runs it: the boxes are those that ONNX Runtime chooses.

use super::nodes::In::{Data, Floats, Ints};
use super::nodes::{F32, In, gives, int};

#[test]
fn boxes_that_overlap_are_suppressed() {
    let boxes = |limit: &'static [i64]| {
        let (overlap, least) = (Floats(&[], &[0.5]), Floats(&[], &[0.0]));
        [Data(F32, &[1, 2, 4]), Data(F32, &[1, 1, 2]), Ints(&[], limit), overlap, least]
    };
    let line = "@main([0, 0, 1, 1, 0, 0, 1, 1], [0.8, 0.9]) == [[0, 0, 1]]";
    gives("NonMaxSuppression", 11, &[], &boxes(&[2]), 1, line);
    gives("NonMaxSuppression", 11, &[], &boxes(&[0]), 1, "@main([0, 0, 1, 1, 0, 0, 1, 1], [0.8, 0.9]) == []");
    // Boxes that overlap by as much as the threshold stay: by half, and by nothing where it is 0 or left out.
    let line = "@main([0, 0, 1, 1, 0, 0, 1, 0.5], [0.8, 0.9]) == [[0, 0, 1], [0, 0, 0]]";
    gives("NonMaxSuppression", 11, &[], &boxes(&[2]), 1, line);
    let line = "@main([0, 0, 1, 1, 5, 5, 6, 6], [0.8, 0.9]) == [[0, 0, 1], [0, 0, 0]]";
    gives("NonMaxSuppression", 11, &[], &boxes(&[2])[..3], 1, line);
    let [corners, scores, limit, ..] = boxes(&[2]);
    let given = [corners, scores, limit, Data(F32, &[1])];
    gives("NonMaxSuppression", 11, &[], &given, 1, "@main([0, 0, 1, 1, 5, 5, 6, 6], [0.8, 0.9], [0]) == [[0, 0, 1], [0, 0, 0]]");
    // A box around a centre covers nothing if its size is negative.
    let line = "@main([2, 2, 4, 4, 2, 2, -4, 4], [0.8, 0.9]) == [[0, 0, 1], [0, 0, 0]]";
    gives("NonMaxSuppression", 11, &[int("center_point_box", 1)], &boxes(&[2]), 1, line);
}

#[test]
fn scores_that_are_not_positive_count() {
    let scored = |least: Option<In>| {
        let given = [Data(F32, &[1, 4, 4]), Data(F32, &[1, 1, 4]), Ints(&[], &[4]), Floats(&[], &[0.5])];
        given.into_iter().chain(least).collect::<Vec<_>>()
    };
    let all = "@main([0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6, 8, 8, 9, 9], [-3, -2, 0, -1e30])";
    gives("NonMaxSuppression", 11, &[], &scored(None), 1, &format!("{all} == [[0, 0, 2], [0, 0, 1], [0, 0, 3]]"));
    let above = Some(Floats(&[], &[-5.0]));
    gives("NonMaxSuppression", 11, &[], &scored(above), 1, &format!("{all} == [[0, 0, 2], [0, 0, 1]]"));
    let above = Some(Data(F32, &[]));
    gives("NonMaxSuppression", 11, &[], &scored(above), 1, &format!("{}, -2) == [[0, 0, 2]]", all.trim_end_matches(')')));
}
