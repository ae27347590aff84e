//! Imports single nodes of ONNX Runtime's own domain that its optimizer makes of floats, and runs them: the numbers are what ONNX Runtime
//! 1.31 computes on its CPU.

use super::nodes::In::{Bytes, Data, Floats, Missing};
use super::nodes::{F32, I32, I64, U8, float, floats, gives, int, ints, refused, text};
use relayc_exchange::onnx::proto::AttributeProto;

#[test]
fn functions() {
    let x = || Data(F32, &[3]);
    gives("com.microsoft.Gelu", 1, &[], &[x()], 1, "@main([-1, 0, 2]) ~1e-6 [-0.1586553, 0, 1.9544997]");
    gives("com.microsoft.QuickGelu", 1, &[], &[x()], 1, "@main([-1, 0, 2]) ~1e-6 [-0.1542042, 0, 1.9356587]");
    let biased = || [x(), Floats(&[3], &[1.0, 0.0, -1.0])];
    gives("com.microsoft.FastGelu", 1, &[], &biased(), 1, "@main([-1, 0, 2]) ~1e-6 [0, 0, 0.841192]");
    gives("com.microsoft.BiasGelu", 1, &[], &biased(), 1, "@main([-1, 0, 2]) ~1e-6 [0, 0, 0.8413447]");
}

#[test]
fn products() {
    let matrices = || [Data(F32, &[2, 2]), Floats(&[2, 2], &[1.0, 0.0, 1.0, 1.0])];
    let half = [int("transA", 1), float("alpha", 0.5)];
    gives("com.microsoft.FusedMatMul", 1, &half, &matrices(), 1, "@main([1, 2, 3, 4]) == [[2, 1.5], [3, 2]]");
    // Rows along the first axis; each matrix of the batch has one of each here.
    let batches = [Data(F32, &[1, 2, 2]), Data(F32, &[2, 2, 1])];
    let line = "@main([1, 2, 3, 4], [1, 0, 1, 1]) == [[[1]], [[7]]]";
    gives("com.microsoft.FusedMatMul", 1, &[int("transBatchA", 1)], &batches, 1, line);
    let image = || [Data(F32, &[1, 1, 3]), Floats(&[1, 1, 2], &[1.0, -1.0]), Floats(&[1], &[0.5]), Data(F32, &[1, 1, 2])];
    let leaky = || [text("activation", "LeakyRelu"), floats("activation_params", &[0.5])];
    gives("com.microsoft.FusedConv", 1, &leaky(), &image(), 1, "@main([1, 2, 3], [0, 2]) == [[[-0.25, 1.5]]]");
    refused("com.microsoft.FusedConv", 1, &[text("activation", "Sine")], &image(), "Sine");
    let rows = [Data(F32, &[1, 2]), Floats(&[2, 2], &[1.0, -1.0, 1.0, 1.0]), Floats(&[2], &[-4.0, 0.0])];
    let leaky = [text("activation", "LeakyRelu"), float("activation_alpha", 0.25)];
    gives("com.microsoft.FusedGemm", 1, &leaky, &rows, 1, "@main([1, 2]) == [[-0.25, 1]]");
}

#[test]
fn products_with_weights_of_few_bits() {
    let of = |bits: i64| [int("K", 3), int("N", 1), int("bits", bits), int("block_size", 16)];
    let x = || Data(F32, &[1, 3]);
    let codes = || Bytes(U8, &[1, 1, 8], &[0x98, 0x07, 0, 0, 0, 0, 0, 0]);
    let half = || Floats(&[1, 1], &[0.5]);
    gives("com.microsoft.MatMulNBits", 1, &of(4), &[x(), codes(), half()], 1, "@main([1, 2, 4]) == [[-1]]");
    let packed = [x(), codes(), half(), Bytes(U8, &[1, 1], &[7])];
    gives("com.microsoft.MatMulNBits", 1, &of(4), &packed, 1, "@main([1, 2, 4]) == [[2.5]]");
    let biased = [x(), codes(), half(), Floats(&[1, 1], &[7.5]), Missing, Floats(&[1], &[10.0])];
    gives("com.microsoft.MatMulNBits", 1, &of(4), &biased, 1, "@main([1, 2, 4]) == [[10.75]]");
    let bytes = Bytes(U8, &[1, 1, 16], &[128, 130, 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    gives("com.microsoft.MatMulNBits", 1, &of(8), &[x(), bytes, half()], 1, "@main([1, 2, 4]) == [[0]]");
    refused("com.microsoft.MatMulNBits", 1, &of(3), &[x(), codes(), half()], "weights of 3 bits");
    let listed = [x(), codes(), half(), Missing, Data(I32, &[3])];
    refused("com.microsoft.MatMulNBits", 1, &of(4), &listed, "g_idx");
}

#[test]
fn normalization() {
    let row = || Data(F32, &[1, 1, 2]);
    let (scale, bias) = (|| Floats(&[2], &[1.0, 2.0]), || Floats(&[2], &[0.0, 1.0]));
    let skip = || [row(), row(), scale(), bias(), bias()];
    gives("com.microsoft.SkipLayerNormalization", 1, &[], &skip(), 1, "@main([1, 3], [2, 4]) ~1e-6 [[[-1, 3]]]");
    let line = "@main([1, 3], [2, 1]) ~1e-6 [[[0.8485281, 2.2627418]]]";
    gives("com.microsoft.SkipSimplifiedLayerNormalization", 1, &[], &[row(), row(), scale()], 1, line);
    let exact = || [float("epsilon", 0.0)];
    let line = "@main([3, 4]) ~1e-6 [[0.8485281, 2.2627418]]";
    gives("SimplifiedLayerNormalization", 14, &exact(), &[Data(F32, &[1, 2]), scale()], 1, line);
    // Of an operator set before the standard's.
    gives("LayerNormalization", 14, &exact(), &[Data(F32, &[1, 2]), scale(), bias()], 1, "@main([3, 5]) ~1e-6 [[-1, 3]]");
    let tables = || {
        [
            Floats(&[3, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 6.0]),
            Floats(&[2, 2], &[0.0, 0.0, 1.0, 0.0]),
            Floats(&[2, 2], &[0.0, 0.0, 0.0, 1.0]),
        ]
    };
    let ids = || Data(I32, &[1, 2]);
    let [words, places, segments] = tables();
    let zero = Floats(&[2], &[0.0, 0.0]);
    let all = [ids(), ids(), words, places, segments, scale(), zero, ids()];
    let line = "@main([2, 0], [0, 1], [1, 0]) ~1e-6 ([[[-1, 2], [-1, 2]]], [1])";
    gives("com.microsoft.EmbedLayerNormalization", 1, &exact(), &all, 2, line);
    // Of open length, without segments, mask and bias; the third result is the sum.
    let [words, places, _] = tables();
    let open = [Data(I32, &[1, -1]), Missing, words, places, Missing, scale()];
    let line = "@main([[2, 0]]) ~1e-6 ([[[-1, 2], [0, 0]]], [0], [[[4, 6], [1, 1]]])";
    gives("com.microsoft.EmbedLayerNormalization", 1, &[float("epsilon", 1e-12)], &open, 3, line);
}

/// Weights that give queries, keys and values that equal the operand.
const SAME: &[f32] = &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];

#[test]
fn attention() {
    let one = || int("num_heads", 1);
    let operands = |length: &'static [i64], mask: &'static [i64]| {
        [Data(F32, length), Floats(&[2, 6], SAME), Floats(&[6], &[0.0; 6]), Data(I32, mask)]
    };
    let [x, weights, bias, mask] = operands(&[1, 2, 2], &[1, 3]);
    let quantized = [
        Data(U8, &[1, 2, 2]),
        Bytes(U8, &[2, 6], &[1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1]),
        Floats(&[6], &[0.0; 6]),
        Floats(&[], &[1.0]),
        Floats(&[], &[1.0]),
        Data(I32, &[1, 2]),
        Bytes(U8, &[], &[128]),
    ];
    let line = "@main([129, 128, 128, 129], [1, 1]) ~1e-6 [[[0.6697615, 0.3302385], [0.3302385, 0.6697615]]]";
    gives("com.microsoft.QAttention", 1, &[one()], &quantized, 1, line);
    let grown = [x, weights, bias, mask, Data(F32, &[2, 1, 1, 1, 2])];
    let line = "@main([1, 0, 0, 1], [1, 1, 1], [1, 1, 2, 2]) ~1e-6 \
                ([[[1.5, 1], [1, 1.2033362]]], [[[[[1, 1], [1, 0], [0, 1]]]], [[[[2, 2], [1, 0], [0, 1]]]]])";
    gives("com.microsoft.Attention", 1, &[one(), int("unidirectional", 1)], &grown, 2, line);
    // The ends of all, then their begins; of any length.
    for shape in [&[1, 2, 2], &[1, -1, 2]] {
        let line = "@main([[[1, 0], [0, 1]]], [2, 1]) ~1e-6 [[[0.4272957, 0.5727043], [0.1535393, 0.8464606]]]";
        let attributes = [one(), float("mask_filter_value", -1.0)];
        gives("com.microsoft.Attention", 1, &attributes, &operands(shape, &[2]), 1, line);
    }
    refused("com.microsoft.Attention", 1, &[one()], &operands(&[1, 2, 2], &[1, 1, 2, 2]), "a mask of 4 axes");
    let wrong = [one(), ints("qkv_hidden_sizes", &[2, 2, 3])];
    refused("com.microsoft.Attention", 1, &wrong, &operands(&[1, 2, 2], &[1, 2]), "numbers of 6");
}

#[test]
fn attention_of_several() {
    let two = || [int("num_heads", 2)];
    let keys = || Data(F32, &[1, 2, 2]);
    let bias = || Floats(&[6], &[0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    let of_lengths = [Data(F32, &[1, 1, 2]), keys(), keys(), bias(), Data(I32, &[1])];
    let line = "@main([1, 0], [1, 0, 0, 1], [1, 2, 3, 4], [1]) ~1e-6 ([[[2, 3]]], [[[[1], [0]], [[0], [1]]]], [[[[2], [4]], [[3], [5]]]])";
    gives("com.microsoft.MultiHeadAttention", 1, &two(), &of_lengths, 3, line);
    let added = [Data(F32, &[1, 1, 2]), keys(), keys(), bias(), Missing, Floats(&[1, 2, 1, 2], &[0.0, 1.0, 1.0, 0.0])];
    let line = "@main([1, 0], [1, 0, 0, 1], [1, 2, 3, 4]) ~1e-6 [[[3, 3.5378828]]]";
    gives("com.microsoft.MultiHeadAttention", 1, &two(), &added, 1, line);
    refused("com.microsoft.MultiHeadAttention", 1, &two(), &[Data(F32, &[1, 2, 2, 3, 1])], "in one operand");
    let tables = || [Floats(&[3, 2], &[1.0, 1.0, 0.0, 1.0, 0.6, 0.8]), Floats(&[3, 2], &[0.0, 0.0, 1.0, 0.0, 0.8, 0.6])];
    let [cos, sin] = tables();
    let turned = [Data(F32, &[1, 2, 4]), Data(I64, &[1]), cos, sin];
    let line = "@main([1, 0, 0, 1, 2, 0, 0, 2], [1]) ~1e-6 [[[0, 0, 1, 1], [1.2, -1.2, 1.6, 1.6]]]";
    gives("com.microsoft.RotaryEmbedding", 1, &[], &turned, 1, line);
    refused("com.microsoft.RotaryEmbedding", 1, &[float("scale", 2.0)], &turned, "scale");
}

/// Elements of a batch have kept different numbers of keys: the second one row of two. Queries of 0 see all keys alike.
#[test]
fn attention_of_groups_to_what_was_kept() {
    let heads = |more: &[AttributeProto]| [&[int("num_heads", 2), int("kv_num_heads", 1)], more].concat();
    let past = || Data(F32, &[2, 1, 2, 1]);
    let total = || Bytes(I32, &[1], &[3, 0, 0, 0]);
    let (q, new) = (Data(F32, &[2, 1, 2]), || Data(F32, &[2, 1, 1]));
    let given = [q, new(), new(), past(), past(), Data(I32, &[2]), total()];
    let kind = "com.microsoft.GroupQueryAttention";
    let run = |result: &str| format!("@main([0, 0, 0, 0], [0, 0], [3, 7], [0, 0, 0, 0], [1, 2, 5, 99], [2, 1]) ~1e-6 {result}");
    gives(kind, 1, &heads(&[]), &given, 1, &run("[[[2, 2]], [[6, 6]]]"));
    gives(kind, 1, &heads(&[int("local_window_size", 2)]), &given, 1, &run("[[[2.5, 2.5]], [[6, 6]]]"));
    gives(kind, 1, &heads(&[int("smooth_softmax", 1)]), &given, 1, &run("[[[1.5, 1.5]], [[4, 4]]]"));
    let kept = "([[[2, 2]], [[6, 6]]], [[[[0], [0], [0]]], [[[0], [0], [0]]]], [[[[1], [2], [3]]], [[[5], [7], [7]]]])";
    gives(kind, 1, &heads(&[]), &given, 3, &run(kept));
    refused(kind, 1, &heads(&[text("k_quant_type", "PER_TENSOR")]), &given, "quantized keys");
    // All at once: each query sees those before it; and the second position is turned by a right angle.
    let [cos, sin] = [Floats(&[2, 1], &[1.0, 0.0]), Floats(&[2, 1], &[0.0, 1.0])];
    let packed =
        [Data(F32, &[1, 2, 6]), Missing, Missing, Missing, Missing, Data(I32, &[1]), Bytes(I32, &[1], &[2, 0, 0, 0]), cos, sin];
    let one_head = [int("num_heads", 1), int("kv_num_heads", 1), int("do_rotary", 1)];
    let line = "@main([0, 0, 1, 2, 5, 6, 0, 0, 1, 2, 7, 8], [1]) ~1e-6 ([[[5, 6], [6, 7]]], [[[[1, 2], [-2, 1]]]], [[[[5, 6], [7, 8]]]])";
    gives(kind, 1, &one_head, &packed, 3, line);
}
