//! Tests routines (sort, scatter, scan, non-maximum suppression, regions of interest, sparse products, random numbers) on tensors large
//! enough for several threads: compiled, without a fallback to evaluation, results equal the interpreter's bit for bit.

use relayc_driver::bind::tensors_in;
use relayc_driver::bind::{Bound, Requests, bind};
use relayc_driver::run::{Limits, entry, interpret};
use relayc_driver::{check_text, optimise};
use relayc_engine::compile::{Settings, compile};
use relayc_ir::tensor::Tensor;

const PROGRAMS: &[&str] = &[
    "def @main(%x: Tensor[(40, 300), float32]) { topk(%x, k=7, dtype=\"int64\") }",
    "def @main(%x: Tensor[(300, 40), float32]) { topk(%x, k=5, axis=0, is_ascend=True, dtype=\"int32\") }",
    "def @main(%x: Tensor[(6, 50, 30), float32]) { argsort(round(multiply(%x, 5f)), axis=1, is_ascend=False, dtype=\"int32\") }",
    "def @main(%x: Tensor[(6, 50, 30), float64]) { sort(%x, axis=1) }",
    "def @main(%x: Tensor[(1), float32], %y: Tensor[(5000), int64]) { sort(%y, is_ascend=False) }",
    "def @main(%x: Tensor[(20, 500), float32]) { cumsum(%x, axis=1, attrs_type_key=\"relay.attrs.ScanopAttrs\") }",
    "def @main(%x: Tensor[(500, 20), int32]) { cumsum(%x, axis=0, dtype=\"int64\", exclusive=True, attrs_type_key=\"relay.attrs.ScanopAttrs\") }",
    "def @main(%x: Tensor[(20, 500), float16]) { cumprod(add(%x, 1f16), axis=1, attrs_type_key=\"relay.attrs.ScanopAttrs\") }",
    "def @main(%x: Tensor[(30, 40), float32], %u: Tensor[(20, 30), float32]) {
       scatter_elements(%x, cast(floor(multiply(sigmoid(%u), 29f)), dtype=\"int64\"), %u, axis=0, reduction=\"add\", attrs_type_key=\"relay.attrs.ScatterElementsAttrs\")
     }",
    "def @main(%x: Tensor[(30, 40), float32], %i: Tensor[(1, 50), float32], %u: Tensor[(50, 40), float32]) {
       scatter_nd(%x, cast(floor(multiply(sigmoid(%i), 29f)), dtype=\"int32\"), %u, mode=\"max\", attrs_type_key=\"relay.attrs.ScatterNDAttrs\")
     }",
    "def @main(%x: Tensor[(8, 30), int8], %w: Tensor[(20, 30), int8]) { qnn.dense(%x, %w, 3, -7, 0.5f, 0.25f, units=20, out_dtype=\"int32\") }",
    "def @main(%x: Tensor[(1, 8, 14, 14), uint8], %w: Tensor[(16, 8, 3, 3), int8]) {
       qnn.requantize(
         qnn.conv2d(%x, %w, 120, 0, 0.5f, 0.25f, padding=[1, 1, 1, 1], strides=[2, 2], channels=16, kernel_size=[3, 3], out_dtype=\"int32\"),
         0.125f, 0, 2f, 3, out_dtype=\"int8\")
     }",
    "def @main(%x: Tensor[(2, 16, 12, 12), int32], %s: Tensor[(16), float32]) {
       qnn.requantize(%x, add(abs(%s), 0.01f), 3, 0.7f, -2, axis=1, rounding=\"TONEAREST\", out_dtype=\"int8\")
     }",
    "def @main(%x: Tensor[(2, 12, 12, 15), int32], %s: Tensor[(15), float32], %z: Tensor[(15), int32]) {
       qnn.requantize(%x, %s, %z, 0.01f, 4, axis=-1, out_dtype=\"uint8\")
     }",
    "def @main(%x: Tensor[(20, 1, 300), int16], %s: Tensor[(1), float32], %z: Tensor[(1), int32]) {
       qnn.requantize(%x, %s, %z, 0.3f, 4, axis=1, out_dtype=\"int8\")
     }",
    "def @main(%x: Tensor[(5000), int8], %s: Tensor[(5000), float32]) { qnn.requantize(%x, %s, -5, 0.6f, 4, out_dtype=\"int16\") }",
    "def @main(%x: Tensor[(1, 8, 14, 14), int8], %y: Tensor[(1, 8, 1, 1), int8]) {
       qnn.mul(qnn.add(%x, %y, 0.3f, 1, 0.7f, -2, 0.9f, 3), qnn.subtract(%x, %y, 0.3f, 1, 0.7f, -2, 0.9f, 3), 0.9f, 3, 0.9f, 3, 11f, 0)
     }",
    "def @main(%x: Tensor[(2, 8, 14, 14), int8], %y: Tensor[(8, 14, 1), int8], %z: Tensor[(8), int32], %w: Tensor[(14), int32]) {
       qnn.mul(
         qnn.add(%x, %y, 0.3f, %z, 0.7f, %w, 0.9f, 3, lhs_axis=1, rhs_axis=1),
         qnn.subtract(%x, %y, 0.3f, 1, 0.7f, %z, 0.9f, 3, rhs_axis=-3), 0.9f, %z, 0.9f, %w, 11f, 0, lhs_axis=1, rhs_axis=2)
     }",
    // Scores are rounded, so that some are equal.
    "def @main(%b: Tensor[(2, 700, 4), float32], %s: Tensor[(2, 5, 700), float32]) {
       vision.all_class_non_max_suppression(%b, round(multiply(%s, 9f)), 40i64, 0.2f, 0f, attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\")
     }",
    "def @main(%b: Tensor[(3, 500, 4), float64], %s: Tensor[(3, 4, 500), float16]) {
       vision.all_class_non_max_suppression(%b, %s, 0, 0.5f, -0.3f, output_format=\"tensorflow\", attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\")
     }",
    "def @main(%b: Tensor[(2, 300, 4), float16], %s: Tensor[(2, 7, 300), float32], %l: Tensor[(3), float32]) {
       %0 = split(%l, indices_or_sections=3);
       vision.all_class_non_max_suppression(%b, %s, multiply(%0.0, 20f), abs(%0.1), %0.2, attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\")
     }",
    // Boxes far from each other, as detectors move those of each class, and some without an end or at no place.
    "def @main(%b: Tensor[(1, 3000, 4), float32], %s: Tensor[(1, 1, 3000), float32], %c: Tensor[(1, 3000, 1), float32]) {
       %0 = round(multiply(%c, 30f));
       (vision.all_class_non_max_suppression(add(%b, multiply(%0, 1.7f)), %s, 0, 0.1f, -2f, attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\"),
        vision.all_class_non_max_suppression(add(%b, log(%0)), %s, 0, 0.1f, -2f, attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\"),
        vision.all_class_non_max_suppression(add(%b, exp(multiply(%0, 9f))), %s, 0, 1e-60f64, -2f, attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\"))
     }",
    // Classes of -2 to 2 in field 0; many scores are equal.
    "def @main(%x: Tensor[(3, 1500, 6), float32]) {
       %0 = vision.get_valid_counts(round(multiply(%x, 2f)), 0f, score_threshold=None, attrs_type_key=\"relay.attrs.GetValidCountsAttrs\");
       vision.non_max_suppression(%0.1, %0.0, %0.2, 90, 0.3f, top_k=700, attrs_type_key=\"relay.attrs.NonMaximumSuppressionAttrs\")
     }",
    "def @main(%x: Tensor[(2, 1500, 6), float16]) {
       %0 = vision.get_valid_counts(%x, -0.5f, id_index=-1, score_index=4, score_threshold=None, attrs_type_key=\"relay.attrs.GetValidCountsAttrs\");
       %1 = vision.non_max_suppression(%0.1, %0.0, %0.2, -1, 0.4f, coord_start=0, score_index=4, id_index=5, force_suppress=True, return_indices=False, attrs_type_key=\"relay.attrs.NonMaximumSuppressionAttrs\");
       %2 = vision.non_max_suppression(%0.1, %0.0, %0.2, 50, 0.4f, coord_start=0, score_index=4, id_index=-1, return_indices=False, invalid_to_bottom=True, attrs_type_key=\"relay.attrs.NonMaximumSuppressionAttrs\");
       (%0, %1, %2)
     }",
    "def @main(%x: Tensor[(2, 1500, 6), float64]) {
       %0 = vision.get_valid_counts(%x, 0f, id_index=0, score_threshold=None, attrs_type_key=\"relay.attrs.GetValidCountsAttrs\");
       %1 = vision.non_max_suppression(%x, subtract(%0.0, 9), %0.2, -1, 0f, attrs_type_key=\"relay.attrs.NonMaximumSuppressionAttrs\");
       (%0, %1, vision.non_max_suppression(%x, %0.0, %0.2, -1, 0.25f, return_indices=False, attrs_type_key=\"relay.attrs.NonMaximumSuppressionAttrs\"))
     }",
    // Regions inside of images, across their borders, and outside; the numbers of images are 0 and 1.
    "def @main(%x: Tensor[(2, 20, 15, 12), float32], %p: Tensor[(300, 1), float32], %r: Tensor[(300, 4), float32]) {
       %0 = (floor(add(sigmoid(%p), 0.5f)), multiply(%r, 40f));
       %1 = concatenate(%0, axis=1);
       %2 = vision.roi_align(%x, %1, pooled_size=[3, 4], spatial_scale=0.5f, attrs_type_key=\"relay.attrs.ROIAlignAttrs\");
       %3 = vision.roi_align(%x, %1, pooled_size=[2, 2], spatial_scale=0.25f, sample_ratio=2, mode=\"max\", attrs_type_key=\"relay.attrs.ROIAlignAttrs\");
       (%2, %3, vision.roi_pool(%x, %1, pooled_size=[3, 2], spatial_scale=0.5f, attrs_type_key=\"relay.attrs.ROIPoolAttrs\"))
     }",
    "def @main(%x: Tensor[(2, 15, 12, 35), float16], %p: Tensor[(90, 1), float32], %r: Tensor[(90, 4), float32]) {
       %0 = (floor(add(sigmoid(%p), 0.5f)), multiply(%r, 40f));
       %1 = concatenate(%0, axis=1);
       %2 = vision.roi_align(%x, %1, pooled_size=[3, 4], spatial_scale=0.5f, layout=\"NHWC\", attrs_type_key=\"relay.attrs.ROIAlignAttrs\");
       %3 = vision.roi_align(%x, cast(%1, dtype=\"float64\"), pooled_size=[2, 2], spatial_scale=0.3f, sample_ratio=3, layout=\"NHWC\", attrs_type_key=\"relay.attrs.ROIAlignAttrs\");
       (%2, %3, vision.roi_pool(%x, %1, pooled_size=[3, 2], spatial_scale=0.5f, layout=\"NHWC\", attrs_type_key=\"relay.attrs.ROIPoolAttrs\"))
     }",
    "def @main(%x: Tensor[(2, 3, 15, 12), float64], %p: Tensor[(200, 1), float32], %r: Tensor[(200, 4), float32]) {
       %0 = (floor(add(sigmoid(%p), 0.5f)), multiply(%r, 40f));
       vision.roi_align(%x, concatenate(%0, axis=1), pooled_size=[7, 7], spatial_scale=0.5f, attrs_type_key=\"relay.attrs.ROIAlignAttrs\")
     }",
    // A sparse matrix whose rows begin at sorted places, and whose columns are any.
    "def @main(%d: Tensor[(50, 40), float32], %x: Tensor[(300), float32], %i: Tensor[(300), float32], %p: Tensor[(29), float32]) {
       %0 = cast(floor(multiply(sigmoid(%i), 39f)), dtype=\"int64\");
       %1 = concatenate((
         full(0, shape=[1], dtype=\"int32\"),
         cast(sort(floor(multiply(sigmoid(%p), 299f))), dtype=\"int32\"),
         full(300, shape=[1], dtype=\"int32\")));
       (nn.sparse_dense(%d, %x, %0, %1), nn.sparse_dense(%d, %x, %0, %1, sparse_lhs=True))
     }",
    "def @main(%d: Tensor[(30, 40), float16], %x: Tensor[(300), float16], %i: Tensor[(300), float32], %p: Tensor[(29), float32]) {
       %0 = cast(floor(multiply(sigmoid(%i), 39f)), dtype=\"int32\");
       %1 = concatenate((
         full(0i64, shape=[1], dtype=\"int64\"),
         cast(sort(floor(multiply(sigmoid(%p), 299f))), dtype=\"int64\"),
         full(300i64, shape=[1], dtype=\"int64\")));
       (nn.sparse_add(%d, %x, %0, %1), nn.sparse_dense(%d, %x, %0, %1))
     }",
    "def @main(%x: Tensor[(300), int8], %i: Tensor[(300), float32], %p: Tensor[(39), float32]) {
       %0 = cast(floor(multiply(sigmoid(%i), 39f)), dtype=\"int32\");
       nn.sparse_transpose(%x, %0, concatenate((
         full(0, shape=[1], dtype=\"int32\"),
         cast(sort(floor(multiply(sigmoid(%p), 299f))), dtype=\"int32\"),
         full(300, shape=[1], dtype=\"int32\"))))
     }",
    "def @main(%d: Tensor[(2, 9, 8, 6), float32], %e: Tensor[(2, 6, 9, 8), float64], %x: Tensor[(70, 4, 3), float32],
              %y: Tensor[(70, 4), float64], %i: Tensor[(70), float32], %p: Tensor[(4), float32]) {
       %0 = floor(multiply(sigmoid(%i), 17f));
       %1 = concatenate((
         full(0, shape=[1], dtype=\"int32\"),
         cast(sort(floor(multiply(sigmoid(%p), 69f))), dtype=\"int32\"),
         full(70, shape=[1], dtype=\"int32\")));
       (nn.sparse_conv2d(%d, %x, cast(%0, dtype=\"int32\"), %1, kernel_size=[3, 3]),
        nn.sparse_conv2d(%e, %y, cast(multiply(%0, 3f), dtype=\"int32\"), %1, kernel_size=[3, 3], layout=\"NCHW\"))
     }",
    "def @main(%y: Tensor[(2, 20, 8, 7), float32], %x: Tensor[(2, 20, 15, 12), float32], %z: Tensor[(2, 8, 7, 20), float16],
              %w: Tensor[(2, 15, 12, 20), float16], %v: Tensor[(2, 20, 8, 7), int32], %u: Tensor[(2, 20, 15, 12), int32]) {
       %0 = nn.max_pool2d_grad(%y, round(multiply(%x, 3f)), pool_size=[3, 2], strides=[2, 2], padding=[1, 1]);
       %1 = nn.max_pool2d_grad(%z, %w, pool_size=[3, 2], strides=[2, 2], padding=[1, 1], layout=\"NHWC\");
       %2 = nn.avg_pool2d_grad(%y, %x, pool_size=[3, 2], strides=[2, 2], padding=[1, 1]);
       %3 = nn.avg_pool2d_grad(%z, %w, pool_size=[3, 2], strides=[2, 2], padding=[1, 1], layout=\"NHWC\", count_include_pad=True);
       (%0, %1, %2, %3, nn.avg_pool2d_grad(%v, %u, pool_size=[3, 2], strides=[2, 2], padding=[1, 1]))
     }",
    "def @main(%x: Tensor[(2, 300, 9), int8]) {
       (qnn.softmax(%x, 0.1f, 3, 0.00390625f, -128), qnn.softmax(%x, 0.02f, 0, 0.007f, 5, axis=1))
     }",
    "def @main(%x: Tensor[(60, 70), float32], %v: Tensor[(20, 70), float32]) {
       %0 = concatenate((full(-1, shape=[1], dtype=\"int32\"), full(0, shape=[1], dtype=\"int32\")));
       %1 = concatenate((full(-61, shape=[1], dtype=\"int32\"), full(70, shape=[1], dtype=\"int32\")));
       strided_set(%x, %v, %0, %1, concatenate((full(-3, shape=[1], dtype=\"int32\"), full(1, shape=[1], dtype=\"int32\"))))
     }",
    "def @main(%k: Tensor[(10), uint64], %p: Tensor[(90, 50), float32]) {
       %0 = random.threefry_split(%k);
       %1 = random.uniform(%0.0, -2f, 3f, out_shape=[90, 101], out_dtype=\"float32\");
       %2 = random.uniform(%1.0, -2f64, 3f64, out_shape=[9001], out_dtype=\"float64\");
       %3 = random.multinomial(%0.1, %p, num_samples=77);
       (%1, %2, %3, random.threefry_generate(%3.0, out_shape=[41, 333]))
     }",
];

fn tensors(value: Bound) -> Vec<Tensor> {
    tensors_in(&[value]).into_iter().cloned().collect()
}

/// Tensors without elements, of which there are more lines and places than could be visited; not all have a kernel for none.
const EMPTY: &[&str] = &[
    "def @main(%x: Tensor[(1, 0), float32]) { nn.softmax(broadcast_to(%x, shape=[1099511627776, 0]), axis=1) }",
    "def @main(%x: Tensor[(1, 0, 1, 1), float32]) { nn.lrn(broadcast_to(%x, shape=[1099511627776, 0, 1, 1])) }",
    "def @main(%x: Tensor[(1, 0), float32]) { sort(broadcast_to(%x, shape=[1099511627776, 0]), axis=1) }",
    "def @main(%x: Tensor[(1, 0), int32]) { argsort(broadcast_to(%x, shape=[1099511627776, 0]), axis=1, dtype=\"int32\") }",
    "def @main(%x: Tensor[(1, 0), float32]) {
       cumsum(broadcast_to(%x, shape=[1099511627776, 0]), axis=1, attrs_type_key=\"relay.attrs.ScanopAttrs\")
     }",
    "def @main(%x: Tensor[(0), float32], %i: Tensor[(0, 1), int32], %u: Tensor[(1, 0), float32]) {
       scatter_nd(%x, broadcast_to(%i, shape=[0, 1099511627776]), broadcast_to(%u, shape=[1099511627776, 0]),
                  mode=\"add\", attrs_type_key=\"relay.attrs.ScatterNDAttrs\")
     }",
    "def @main(%b: Tensor[(2, 0, 4), float32], %s: Tensor[(2, 3, 0), float32]) {
       (vision.all_class_non_max_suppression(%b, %s, 0i64, 0.5f, 0f, attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\"),
        vision.all_class_non_max_suppression(%b, %s, 0i64, 0.5f, 0f, output_format=\"tensorflow\", attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\"))
     }",
    "def @main(%b: Tensor[(2, 5, 4), float32], %s: Tensor[(2, 0, 5), float32]) {
       (vision.all_class_non_max_suppression(%b, %s, 0i64, 0.5f, 0f, attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\"),
        vision.all_class_non_max_suppression(%b, %s, 0i64, 0.5f, 0f, output_format=\"tensorflow\", attrs_type_key=\"relay.attrs.AllClassNonMaximumSuppressionAttrs\"))
     }",
];

#[test]
fn routines_give_what_the_interpreter_gives() {
    let programs = PROGRAMS.iter().map(|text| (text, true));
    for (text, has_kernel) in programs.chain(EMPTY.iter().map(|text| (text, false))) {
        let program = check_text("x", text, optimise::UNTIL);
        assert!(!program.has_errors(), "{text}: {:?}", program.diagnostics);
        let main = entry(&program.module, "main").expect("there is a main");
        let requests = Requests { fill: Some("rand:seed=5".into()), ..Requests::default() };
        let args = bind(&main.slots, &program.module.types, &requests).expect("its inputs are tensors");
        let expected = tensors(interpret(&program, &main, args.clone(), Limits::default()).expect("it runs"));
        for threads in [1, 2, 3] {
            let settings = Settings::native(3, threads).expect("RELAYC_ISA is none or sound").expect("a machine with AVX2");
            let compiled = compile(&program, "main", &settings, Limits::default()).ok().expect("it is compiled");
            assert!(!has_kernel || compiled.program.fallbacks().is_empty(), "{text}: {:?}", compiled.program.fallbacks());
            assert!(tensors(compiled.run(&args).expect("it runs")) == expected, "{text} by {threads} threads");
        }
    }
}
