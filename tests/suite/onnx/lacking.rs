//! Imports single nodes whose operands have sizes or dtypes that Relay's operators lack, and runs them: numbers worked out by hand from
//! the standard's text.

use super::nodes::In::{Bytes, Data, Floats, Ints};
use super::nodes::{F32, I8, gives, int, ints, refused, text};

/// 4-bit integers are read for what takes them as numbers.
#[test]
fn integers_of_four_bits() {
    let codes = || Bytes(22, &[4], &[0x2f, 0x81]);
    let blocks = || [int("axis", 0), int("block_size", 2)];
    let scales = || Floats(&[2], &[0.5, 2.0]);
    gives("DequantizeLinear", 21, &blocks(), &[codes(), scales()], 1, "@main() == [-0.5, 1, 2, -16]");
    let zeros = Bytes(22, &[2], &[0xf1]);
    gives("DequantizeLinear", 21, &blocks(), &[codes(), scales(), zeros], 1, "@main() == [-1, 0.5, 4, -14]");
    gives("Cast", 21, &[int("to", 1)], &[Bytes(21, &[3], &[0x2f, 0x08])], 1, "@main() == [15, 2, 8]");
    // Of five elements the last block has one.
    let rest = [Data(I8, &[5]), Floats(&[3], &[1.0, 2.0, 4.0])];
    gives("DequantizeLinear", 21, &blocks(), &rest, 1, "@main([1, 2, 3, 4, 5]) == [1, 2, 6, 8, 20]");
    let short = [Data(I8, &[5]), Floats(&[2], &[1.0, 2.0])];
    refused("DequantizeLinear", 21, &blocks(), &short, "do not fit blocks of 2 of 5 elements");
    refused("QuantizeLinear", 21, &[], &[Data(F32, &[2]), Floats(&[], &[1.0]), Bytes(22, &[], &[0])], "4-bit integers");
}

/// An axis of a length that only a run knows goes round too.
#[test]
fn padding_that_goes_round() {
    let round = [Data(F32, &[-1]), Ints(&[2], &[2, 1])];
    gives("Pad", 19, &[text("mode", "wrap")], &round, 1, "@main([1, 2, 3]) == [2, 3, 1, 2, 3, 1]");
    gives("Pad", 19, &[text("mode", "wrap")], &round, 1, "@main([4]) == [4, 4, 4, 4]");
}

/// Pieces of an axis of any length, and windows of any batch put together.
#[test]
fn parts_of_unknown_size() {
    let halves = [int("axis", 0), int("num_outputs", 2)];
    gives("Split", 18, &halves, &[Data(F32, &[-1])], 2, "@main([1, 2, 3]) == ([1, 2], [3])");
    gives("Split", 13, &[int("axis", 0)], &[Data(F32, &[-1])], 3, "@main([1, 2, 3]) == ([1], [2], [3])");
    let windows = [Data(F32, &[-1, 4, 2]), Ints(&[2], &[2, 3]), Ints(&[2], &[2, 2])];
    let line = "@main([[[1, 2], [3, 4], [5, 6], [7, 8]]]) == [[[[1, 5, 4], [5, 13, 8]]]]";
    gives("Col2Im", 18, &[], &windows, 1, line);
    let pool = [ints("kernel_shape", &[2]), ints("strides", &[2]), ints("pads", &[1, 0])];
    let line = "@main([[[3, 1, 2], [0, 5, 5]]]) == ([[[3, 2], [0, 5]]], [[[0, 2], [3, 4]]])";
    gives("MaxPool", 12, &pool, &[Data(F32, &[-1, 2, -2])], 2, line);
    gives("Optional", 15, &[], &[Data(F32, &[1])], 1, "@main([1]) == [1]");
    refused("Optional", 15, &[], &[], "a value that is missing");
    let causal = [int("q_num_heads", 1), int("kv_num_heads", 1), int("is_causal", 1)];
    let one = || Data(F32, &[1, -1, 1]);
    let line = "@main([[[0], [0]]], [[[0], [0]]], [[[2], [4]]]) ~1e-6 [[[2], [3]]]";
    gives("Attention", 23, &causal, &[one(), one(), one()], 1, line);
}
