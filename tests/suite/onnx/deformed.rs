//! Imports `DeformConv` as a single node and runs it: samples at the border are those that ONNX Runtime takes.

use super::nodes::In::{Data, Floats};
use super::nodes::{F32, gives, ints};

/// A window whose middle alone counts, moved by half an element: up, where the row above the first is nothing.
#[test]
fn samples_beside_the_border_are_parts_of_it() {
    const MIDDLE: &[f32] = &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    const UP: &[f32] = &{
        let mut offsets = [0.0; 18 * 4];
        let mut at = 8 * 4;
        while at < 9 * 4 {
            offsets[at] = -0.5;
            at += 1;
        }
        offsets
    };
    let operands = [Data(F32, &[1, 1, 2, 2]), Floats(&[1, 1, 3, 3], MIDDLE), Floats(&[1, 18, 2, 2], UP)];
    let line = "@main([10, 20, 30, 40]) == [[[[5, 10], [20, 30]]]]";
    gives("DeformConv", 19, &[ints("pads", &[1, 1, 1, 1])], &operands, 1, line);
}

/// The last place of a window without padding, moved by half an element up, and for the last point down beyond the border; its mask
/// weighs points.
#[test]
fn masks_weigh_samples_of_pictures_without_padding() {
    const LAST: &[f32] = &[0.0, 0.0, 0.0, 1.0];
    const MOVED: &[f32] = &{
        let mut offsets = [0.0; 8 * 4];
        let mut at = 6 * 4;
        while at < 6 * 4 + 3 {
            offsets[at] = -0.5;
            at += 1;
        }
        offsets[at] = 0.75;
        offsets
    };
    const MASK: &[f32] = &[7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 1.0, 2.0, 3.0, 4.0];
    let window = [Data(F32, &[1, 1, 3, 3]), Floats(&[1, 1, 2, 2], LAST), Floats(&[1, 8, 2, 2], MOVED)];
    let picture = "[0, 0, 0, 0, 10, 20, 0, 30, 40]";
    gives("DeformConv", 19, &[], &window, 1, &format!("@main({picture}) == [[[[5, 10], [20, 10]]]]"));
    let [data, weight, offsets] = window;
    let masked = [data, weight, offsets, Floats(&[1], &[1.0]), Floats(&[1, 4, 2, 2], MASK)];
    gives("DeformConv", 19, &[], &masked, 1, &format!("@main({picture}) == [[[[6, 21], [61, 41]]]]"));
}
