//! Imports `DeformConv` as a single node and runs it: samples at the border are those that ONNX Runtime takes.

use super::nodes::In::{Data, Floats};
use super::nodes::{F32, gives, ints, refused};

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
    let inside = [Data(F32, &[1, 1, 4, 4]), Floats(&[1, 1, 3, 3], MIDDLE), Floats(&[1, 18, 2, 2], UP)];
    refused("DeformConv", 19, &[ints("pads", &[0, 0, 0, 0])], &inside, "`pads` below 1");
}
