//! The operators whose calls TVM printed differently up to some version: one list for the formatter, the diagnostics and the book.
//!
//! Read from the registrations and attribute types of the tags v0.6.0 to v0.14.0. A type that lacks an attribute of today's is
//! not listed if today's default is what it did.

use super::rule::Kind::{Bool, Float, Plain, Tuple};
use super::rule::Rule;
use super::rule::Then::{Drop, Fields, Gone, Insert, Name, Operand, Projected, Rename, Set, Swap, Value};
use super::rule::When::{Has, Is, Lacks, Meta, Operands, OtherwiseToday};

/// Methods of interpolation; operators for two axes named theirs after them.
const METHODS: &[(&str, &str)] = &[
    ("\"bilinear\"", "\"linear\""),
    ("\"BILINEAR\"", "\"linear\""),
    ("\"trilinear\"", "\"linear\""),
    ("\"bicubic\"", "\"cubic\""),
];

const NEAREST: &[&str] = &["\"nearest_neighbor\"", "\"NEAREST_NEIGHBOR\""];

/// The region of a cut that is none; each call has it since 0.8.
const ROI: &str = "[0f, 0f, 0f, 0f]";
const ROI_3D: &str = "[0f, 0f, 0f, 0f, 0f, 0f]";

const TRUE: &[&str] = &["True", "1"];

/// `align_corners` of TVM 0.6.
const ALIGN: &[(&str, &str)] =
    &[("True", "\"align_corners\""), ("1", "\"align_corners\""), ("False", "\"asymmetric\""), ("0", "\"asymmetric\"")];

/// Up to 0.7 the layout of weights was written with `I` and `O` exchanged.
const EXCHANGED: &[(&str, &str)] =
    &[("\"HWIO\"", "\"HWOI\""), ("\"HWOI\"", "\"HWIO\""), ("\"OIHW\"", "\"IOHW\""), ("\"IOHW\"", "\"OIHW\"")];

const MODE: &str = "coordinate_transformation_mode";

/// What `qnn.conv2d` and `qnn.dense` had as attributes.
const SCALED: &[super::rule::Then] = &[
    Operand(2, "input_zero_point", Plain, ""),
    Operand(3, "kernel_zero_point", Plain, ""),
    Operand(4, "input_scale", Float, ""),
    Operand(5, "kernel_scale", Float, ""),
];

/// What `qnn.add` and `qnn.mul` had in the metadata section.
const PAIR: &[super::rule::Then] = &[
    Operand(2, "lhs_scale", Float, ""),
    Operand(3, "lhs_zero_point", Plain, ""),
    Operand(4, "rhs_scale", Float, ""),
    Operand(5, "rhs_zero_point", Plain, ""),
    Operand(6, "output_scale", Float, ""),
    Operand(7, "output_zero_point", Plain, ""),
];

/// The attributes of `vision.non_max_suppression` that stayed some.
const SUPPRESSION: &[(&str, super::rule::Kind)] = &[
    ("force_suppress", Bool),
    ("top_k", Plain),
    ("coord_start", Plain),
    ("score_index", Plain),
    ("id_index", Plain),
    ("return_indices", Bool),
    ("invalid_to_bottom", Bool),
];

const NMS_TYPE: &str = "\"relay.attrs.NonMaximumSuppressionAttrs\"";

/// The positions along axis 1 of boxes: the indices that TVM 0.6 took for granted.
const POSITIONS: &str = "cumsum(ones_like(take({0}, 0, axis=2)), axis=1, dtype=\"int32\", exclusive=True, \
                         attrs_type_key=\"relay.attrs.ScanopAttrs\")";

const LOWERED: &str = "it stands in programs that TVM had lowered for its virtual machine; take the program from before";

/// The rules, by operator; of those of one operator the first that fits a call holds.
pub(super) const RULES: &[Rule] = &[
    Rule {
        operator: "_contrib_reverse_reshape",
        until: 6,
        when: &[],
        then: &[Name("contrib_reverse_reshape"), Drop("reverse")],
        old: "_contrib_reverse_reshape(%x, newshape=[-1, 0], reverse=True)",
        today: "contrib_reverse_reshape(%x, newshape=[-1, 0])",
    },
    Rule {
        operator: "contrib.adaptive_avg_pool2d",
        until: 6,
        when: &[],
        then: &[Name("nn.adaptive_avg_pool2d")],
        old: "contrib.adaptive_avg_pool2d(%x, output_size=[2, 2])",
        today: "nn.adaptive_avg_pool2d(%x, output_size=[2, 2])",
    },
    Rule {
        operator: "contrib.adaptive_max_pool2d",
        until: 6,
        when: &[],
        then: &[Name("nn.adaptive_max_pool2d")],
        old: "contrib.adaptive_max_pool2d(%x, output_size=[2, 2])",
        today: "nn.adaptive_max_pool2d(%x, output_size=[2, 2])",
    },
    Rule {
        operator: "contrib.ndarray_size",
        until: 6,
        when: &[],
        then: &[Name("ndarray_size")],
        old: "contrib.ndarray_size(%x, dtype=\"int32\")",
        today: "ndarray_size(%x, dtype=\"int32\")",
    },
    Rule {
        operator: "contrib_reverse_reshape",
        until: 7,
        when: &[Has("reverse")],
        then: &[Drop("reverse")],
        old: "contrib_reverse_reshape(%x, newshape=[-1, 0], reverse=True)",
        today: "contrib_reverse_reshape(%x, newshape=[-1, 0])",
    },
    Rule {
        operator: "device_copy",
        until: 8,
        when: &[Has("dst_dev_type")],
        then: &[Gone("leave it out, or name the devices by `src_virtual_device` and `dst_virtual_device`")],
        old: "device_copy(%x, src_dev_type=1, dst_dev_type=2)",
        today: "",
    },
    Rule {
        operator: "dyn.image.resize",
        until: 7,
        when: &[Is("method", NEAREST), Is(MODE, &["\"align_corners\""])],
        then: &[Name("dyn.image.resize2d"), Insert(2, "zeros(shape=[4], dtype=\"float32\")")],
        old: "dyn.image.resize(%x, %n, method=\"nearest_neighbor\", coordinate_transformation_mode=\"align_corners\")",
        today: "dyn.image.resize2d(%x, %n, zeros(shape=[4], dtype=\"float32\"), method=\"nearest_neighbor\", \
                coordinate_transformation_mode=\"align_corners\")",
    },
    Rule {
        operator: "dyn.image.resize",
        until: 7,
        when: &[Is("method", NEAREST)],
        then: &[
            Name("dyn.image.resize2d"),
            Insert(2, "zeros(shape=[4], dtype=\"float32\")"),
            Set(MODE, "\"asymmetric\""),
            Set("rounding_method", "\"floor\""),
        ],
        old: "dyn.image.resize(%x, %n, method=\"nearest_neighbor\")",
        today: "dyn.image.resize2d(%x, %n, zeros(shape=[4], dtype=\"float32\"), method=\"nearest_neighbor\", \
                coordinate_transformation_mode=\"asymmetric\", rounding_method=\"floor\")",
    },
    Rule {
        operator: "dyn.image.resize",
        until: 7,
        when: &[],
        then: &[Name("dyn.image.resize2d"), Insert(2, "zeros(shape=[4], dtype=\"float32\")"), Value("method", METHODS)],
        old: "dyn.image.resize(%x, %n, method=\"bicubic\")",
        today: "dyn.image.resize2d(%x, %n, zeros(shape=[4], dtype=\"float32\"), method=\"cubic\")",
    },
    Rule {
        operator: "dyn.image.resize2d",
        until: 8,
        when: &[Operands(2)],
        then: &[Insert(2, "zeros(shape=[4], dtype=\"float32\")")],
        old: "dyn.image.resize2d(%x, %n)",
        today: "dyn.image.resize2d(%x, %n, zeros(shape=[4], dtype=\"float32\"))",
    },
    Rule {
        operator: "dyn.strided_slice",
        until: 7,
        when: &[Operands(4), Lacks("axes")],
        then: &[Set("axes", "None")],
        old: "dyn.strided_slice(%x, %i, %i, %i, begin=None, end=None, strides=None)",
        today: "dyn.strided_slice(%x, %i, %i, %i, begin=None, end=None, strides=None, axes=None)",
    },
    // With `align_corners`, TVM 0.6 rounded to the nearest element; without, it took the one before.
    Rule {
        operator: "image.resize",
        until: 6,
        when: &[Is("method", NEAREST), Is("align_corners", &["False", "0"])],
        then: &[
            Name("image.resize2d"),
            Rename("align_corners", MODE),
            Value(MODE, ALIGN),
            Set("rounding_method", "\"floor\""),
            Set("roi", ROI),
        ],
        old: "image.resize(%x, size=[4, 4], method=\"nearest_neighbor\", align_corners=False)",
        today: "image.resize2d(%x, size=[4, 4], method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\", \
                rounding_method=\"floor\", \
                roi=[0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "image.resize",
        until: 6,
        when: &[Has("align_corners")],
        then: &[
            Name("image.resize2d"),
            Value("method", METHODS),
            Rename("align_corners", MODE),
            Value(MODE, ALIGN),
            Set("roi", ROI),
        ],
        old: "image.resize(%x, size=[4, 4], method=\"bicubic\", align_corners=False)",
        today: "image.resize2d(%x, size=[4, 4], method=\"cubic\", coordinate_transformation_mode=\"asymmetric\", \
                roi=[0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "image.resize",
        until: 6,
        when: &[Lacks(MODE), OtherwiseToday],
        then: &[Name("image.resize2d"), Value("method", METHODS), Set(MODE, "\"align_corners\""), Set("roi", ROI)],
        old: "image.resize(%x, size=[4, 4])",
        today: "image.resize2d(%x, size=[4, 4], coordinate_transformation_mode=\"align_corners\", \
                roi=[0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "image.resize",
        until: 7,
        when: &[Is("method", NEAREST), Is(MODE, &["\"align_corners\""])],
        then: &[Name("image.resize2d"), Set("roi", ROI)],
        old: "image.resize(%x, size=[4, 4], method=\"nearest_neighbor\", coordinate_transformation_mode=\"align_corners\")",
        today: "image.resize2d(%x, size=[4, 4], method=\"nearest_neighbor\", coordinate_transformation_mode=\"align_corners\", \
                roi=[0f, 0f, 0f, 0f])",
    },
    // TVM 0.7 did not move positions by half an element here, whatever the mode said.
    Rule {
        operator: "image.resize",
        until: 7,
        when: &[Is("method", NEAREST)],
        then: &[Name("image.resize2d"), Set(MODE, "\"asymmetric\""), Set("rounding_method", "\"floor\""), Set("roi", ROI)],
        old: "image.resize(%x, size=[4, 4], method=\"nearest_neighbor\")",
        today: "image.resize2d(%x, size=[4, 4], method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\", \
                rounding_method=\"floor\", \
                roi=[0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "image.resize",
        until: 7,
        when: &[],
        then: &[Name("image.resize2d"), Value("method", METHODS), Set("roi", ROI)],
        old: "image.resize(%x, size=[4, 4], method=\"bilinear\")",
        today: "image.resize2d(%x, size=[4, 4], method=\"linear\", \
                roi=[0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "image.resize3d",
        until: 7,
        when: &[Is("method", &["\"trilinear\""])],
        then: &[Value("method", METHODS), Set("roi", ROI_3D)],
        old: "image.resize3d(%v, size=[2, 2, 2], method=\"trilinear\")",
        today: "image.resize3d(%v, size=[2, 2, 2], method=\"linear\", \
                roi=[0f, 0f, 0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "image.resize3d",
        until: 7,
        when: &[Is("method", NEAREST), Lacks(MODE), Lacks("roi")],
        then: &[Set(MODE, "\"asymmetric\""), Set("rounding_method", "\"floor\""), Set("roi", ROI_3D)],
        old: "image.resize3d(%v, size=[2, 2, 2], method=\"nearest_neighbor\")",
        today: "image.resize3d(%v, size=[2, 2, 2], method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\", \
                rounding_method=\"floor\", \
                roi=[0f, 0f, 0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "image.resize3d",
        until: 7,
        when: &[Is("method", NEAREST), Is(MODE, &["\"asymmetric\""]), Lacks("roi")],
        then: &[Set("rounding_method", "\"floor\""), Set("roi", ROI_3D)],
        old: "image.resize3d(%v, size=[2, 2, 2], method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\")",
        today: "image.resize3d(%v, size=[2, 2, 2], method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\", \
                rounding_method=\"floor\", \
                roi=[0f, 0f, 0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "image.resize3d",
        until: 7,
        when: &[Lacks("roi")],
        then: &[Set("roi", ROI_3D)],
        old: "image.resize3d(%v, size=[2, 2, 2])",
        today: "image.resize3d(%v, size=[2, 2, 2], roi=[0f, 0f, 0f, 0f, 0f, 0f])",
    },
    Rule {
        operator: "memory.alloc_storage",
        until: 8,
        when: &[Has("device_type")],
        then: &[Gone(LOWERED)],
        old: "memory.alloc_storage(%n, %n, device_id=0, device_type=1, dtype=\"float32\")",
        today: "",
    },
    Rule {
        operator: "memory.alloc_storage",
        until: 13,
        when: &[Operands(2)],
        then: &[Gone(LOWERED)],
        old: "memory.alloc_storage(%n, %n, dtype=\"float32\")",
        today: "",
    },
    Rule {
        operator: "memory.alloc_tensor",
        until: 6,
        when: &[Operands(2)],
        then: &[Insert(1, "0i64")],
        old: "memory.alloc_tensor(%m, %n, const_shape=None, assert_shape=[])",
        today: "memory.alloc_tensor(%m, 0i64, %n, const_shape=None, assert_shape=[])",
    },
    Rule {
        operator: "memory.invoke_tvm_op",
        until: 6,
        when: &[],
        then: &[Name("vm.invoke_tvm_op")],
        old: "memory.invoke_tvm_op(%f, (%x,), (%y,))",
        today: "vm.invoke_tvm_op(%f, (%x,), (%y,))",
    },
    Rule {
        operator: "memory.shape_func",
        until: 6,
        when: &[],
        then: &[Gone(LOWERED)],
        old: "memory.shape_func(%f, (%x,), (%y,), is_input=[True])",
        today: "",
    },
    Rule {
        operator: "nn.batch_matmul",
        until: 7,
        when: &[Lacks("transpose_a"), Lacks("transpose_b"), Lacks("out_dtype"), OtherwiseToday],
        then: &[Set("transpose_b", "True")],
        old: "nn.batch_matmul(%x, %y)",
        today: "nn.batch_matmul(%x, %y, transpose_b=True)",
    },
    Rule {
        operator: "nn.contrib_conv2d_NCHWc_int8",
        until: 6,
        when: &[],
        then: &[Name("nn.contrib_conv2d_NCHWc")],
        old: "nn.contrib_conv2d_NCHWc_int8(%x, %y, data_layout=\"NCHW4c\")",
        today: "nn.contrib_conv2d_NCHWc(%x, %y, data_layout=\"NCHW4c\")",
    },
    Rule {
        operator: "nn.contrib_conv2d_winograd_nnpack_without_weight_transform",
        until: 6,
        when: &[],
        then: &[Gone("write `nn.conv2d` with the weights from before they were transformed")],
        old: "nn.contrib_conv2d_winograd_nnpack_without_weight_transform(%x, %y)",
        today: "",
    },
    Rule {
        operator: "nn.conv2d_transpose",
        until: 7,
        when: &[Has("kernel_layout"), OtherwiseToday],
        then: &[Swap("kernel_layout", EXCHANGED)],
        old: "nn.conv2d_transpose(%x, %y, data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        today: "nn.conv2d_transpose(%x, %y, data_layout=\"NHWC\", kernel_layout=\"HWOI\")",
    },
    Rule {
        operator: "nn.pad",
        until: 7,
        when: &[Operands(1)],
        then: &[Operand(1, "pad_value", Float, "0f")],
        old: "nn.pad(%x, pad_value=2f, pad_width=[[0, 1]])",
        today: "nn.pad(%x, 2f, pad_width=[[0, 1]])",
    },
    Rule {
        operator: "on_device",
        until: 7,
        when: &[Meta("relay.attrs.OnDeviceAttrs"), Has("device_type")],
        then: &[Fields(&[])],
        old: "on_device(%x, meta[relay.attrs.OnDeviceAttrs][0])",
        today: "on_device(%x)",
    },
    Rule {
        operator: "on_device",
        until: 8,
        when: &[Has("is_fixed"), Has("device_type")],
        then: &[Drop("device_type"), Rename("is_fixed", "constrain_result")],
        old: "on_device(%x, device_type=1, is_fixed=True)",
        today: "on_device(%x, constrain_result=True)",
    },
    Rule {
        operator: "on_device",
        until: 8,
        when: &[Has("device_type")],
        then: &[Drop("device_type")],
        old: "on_device(%x, device_type=1)",
        today: "on_device(%x)",
    },
    Rule {
        operator: "qnn.add",
        until: 6,
        when: &[Operands(2), Meta("relay.attrs.QnnBinaryOpAttrs")],
        then: PAIR,
        old: "qnn.add(%x, %y, meta[relay.attrs.QnnBinaryOpAttrs][0])",
        today: "qnn.add(%x, %y, 0.5f, 1, 0.25f, 2, 0.125f, 3)",
    },
    Rule {
        operator: "qnn.concatenate",
        until: 6,
        when: &[Operands(1), Has("input_scales")],
        then: &[
            Operand(1, "input_scales", Tuple, ""),
            Operand(2, "input_zero_points", Tuple, ""),
            Operand(3, "output_scale", Float, ""),
            Operand(4, "output_zero_point", Plain, ""),
        ],
        old: "qnn.concatenate(%t, input_scales=[0.5f, 0.25f], input_zero_points=[1, 2], output_zero_point=3, output_scale=0.5f, axis=1)",
        today: "qnn.concatenate(%t, (0.5f, 0.25f), (1, 2), 0.5f, 3, axis=1)",
    },
    Rule {
        operator: "qnn.conv2d",
        until: 6,
        when: &[Operands(2), Has("input_scale")],
        then: SCALED,
        old: "qnn.conv2d(%x, %y, out_dtype=\"int32\", input_zero_point=1, kernel_zero_point=2, input_scale=0.5f, kernel_scale=0.25f)",
        today: "qnn.conv2d(%x, %y, 1, 2, 0.5f, 0.25f, out_dtype=\"int32\")",
    },
    Rule {
        operator: "qnn.dense",
        until: 6,
        when: &[Operands(2), Has("input_scale")],
        then: SCALED,
        old: "qnn.dense(%x, %y, units=4, out_dtype=\"int32\", input_zero_point=1, kernel_zero_point=2, input_scale=0.5f, \
              kernel_scale=0.25f)",
        today: "qnn.dense(%x, %y, 1, 2, 0.5f, 0.25f, units=4, out_dtype=\"int32\")",
    },
    Rule {
        operator: "qnn.dequantize",
        until: 6,
        when: &[Operands(1), Has("input_scale")],
        then: &[Operand(1, "input_scale", Float, ""), Operand(2, "input_zero_point", Plain, ""), Set("out_dtype", "\"float32\"")],
        old: "qnn.dequantize(%x, input_zero_point=1, input_scale=0.5f)",
        today: "qnn.dequantize(%x, 0.5f, 1, out_dtype=\"float32\")",
    },
    Rule {
        operator: "qnn.dequantize",
        until: 13,
        when: &[Operands(3), Lacks("out_dtype")],
        then: &[Set("out_dtype", "\"float32\"")],
        old: "qnn.dequantize(%x, 0.5f, 1)",
        today: "qnn.dequantize(%x, 0.5f, 1, out_dtype=\"float32\")",
    },
    Rule {
        operator: "qnn.leaky_relu",
        until: 9,
        when: &[Operands(3)],
        then: &[Insert(3, "{1}"), Insert(4, "{2}")],
        old: "qnn.leaky_relu(%x, 0.5f, 1, alpha=0.1f)",
        today: "qnn.leaky_relu(%x, 0.5f, 1, 0.5f, 1, alpha=0.1f)",
    },
    Rule {
        operator: "qnn.mul",
        until: 6,
        when: &[Operands(2), Meta("relay.attrs.QnnBinaryOpAttrs")],
        then: PAIR,
        old: "qnn.mul(%x, %y, meta[relay.attrs.QnnBinaryOpAttrs][0])",
        today: "qnn.mul(%x, %y, 0.5f, 1, 0.25f, 2, 0.125f, 3)",
    },
    Rule {
        operator: "qnn.quantize",
        until: 6,
        when: &[Operands(1), Has("output_scale")],
        then: &[Operand(1, "output_scale", Float, ""), Operand(2, "output_zero_point", Plain, "")],
        old: "qnn.quantize(%x, out_dtype=\"int8\", output_zero_point=1, output_scale=0.5f)",
        today: "qnn.quantize(%x, 0.5f, 1, out_dtype=\"int8\")",
    },
    Rule {
        operator: "qnn.requantize",
        until: 6,
        when: &[Operands(1), Has("input_scale")],
        then: &[
            Operand(1, "input_scale", Float, ""),
            Operand(2, "input_zero_point", Plain, ""),
            Operand(3, "output_scale", Float, ""),
            Operand(4, "output_zero_point", Plain, ""),
        ],
        old: "qnn.requantize(%x, input_scale=0.5f, input_zero_point=1, output_scale=0.25f, output_zero_point=2, out_dtype=\"int8\")",
        today: "qnn.requantize(%x, 0.5f, 1, 0.25f, 2, out_dtype=\"int8\")",
    },
    Rule {
        operator: "reshape",
        until: 7,
        when: &[Is("reverse", TRUE)],
        then: &[Name("contrib_reverse_reshape"), Drop("reverse")],
        old: "reshape(%x, newshape=[-1, 0], reverse=True)",
        today: "contrib_reverse_reshape(%x, newshape=[-1, 0])",
    },
    Rule {
        operator: "reshape",
        until: 7,
        when: &[Has("reverse")],
        then: &[Drop("reverse")],
        old: "reshape(%x, newshape=[-1, 2], reverse=False)",
        today: "reshape(%x, newshape=[-1, 2])",
    },
    Rule {
        operator: "scatter_add",
        until: 11,
        when: &[],
        then: &[
            Name("scatter_elements"),
            Fields(&[("axis", Plain)]),
            Set("reduction", "\"add\""),
            Set("attrs_type_key", "\"relay.attrs.ScatterElementsAttrs\""),
        ],
        old: "scatter_add(%x, %i, %y, axis=1)",
        today: "scatter_elements(%x, %i, %y, axis=1, reduction=\"add\", attrs_type_key=\"relay.attrs.ScatterElementsAttrs\")",
    },
    // Between 0.6 and 0.7 the bounds were operands.
    Rule {
        operator: "strided_slice",
        until: 6,
        when: &[Operands(4)],
        then: &[Name("dyn.strided_slice"), Set("axes", "None")],
        old: "strided_slice(%x, %i, %i, %i, begin=None, end=None, strides=None)",
        today: "dyn.strided_slice(%x, %i, %i, %i, begin=None, end=None, strides=None, axes=None)",
    },
    Rule {
        operator: "strided_slice",
        until: 6,
        when: &[Operands(1), Has("begin"), Has("end"), Lacks("strides"), Lacks("axes")],
        then: &[Set("strides", "[1]"), Set("axes", "None")],
        old: "strided_slice(%x, begin=[1], end=[2])",
        today: "strided_slice(%x, begin=[1], end=[2], strides=[1], axes=None)",
    },
    Rule {
        operator: "strided_slice",
        until: 7,
        when: &[Operands(1), Has("begin"), Has("end"), Lacks("axes")],
        then: &[Set("axes", "None")],
        old: "strided_slice(%x, begin=[1], end=[2], strides=[1])",
        today: "strided_slice(%x, begin=[1], end=[2], strides=[1], axes=None)",
    },
    Rule {
        operator: "topk",
        until: 6,
        when: &[Operands(1), Lacks("k")],
        then: &[Set("k", "1")],
        old: "topk(%x, ret_type=\"values\")",
        today: "topk(%x, ret_type=\"values\", k=1)",
    },
    Rule {
        operator: "vision.get_valid_counts",
        until: 7,
        when: &[Operands(1), Meta("relay.attrs.GetValidCountsAttrs")],
        then: &[
            Operand(1, "score_threshold", Float, "0f"),
            Fields(&[("id_index", Plain), ("score_index", Plain)]),
            Set("attrs_type_key", "\"relay.attrs.GetValidCountsAttrs\""),
        ],
        old: "vision.get_valid_counts(%x, meta[relay.attrs.GetValidCountsAttrs][0])",
        today: "vision.get_valid_counts(%x, 0.25f, id_index=0, score_index=1, attrs_type_key=\"relay.attrs.GetValidCountsAttrs\")",
    },
    Rule {
        operator: "vision.non_max_suppression",
        until: 6,
        when: &[Operands(2), Meta("relay.attrs.NonMaximumSuppressionAttrs"), Is("return_indices", TRUE)],
        then: &[
            Insert(2, POSITIONS),
            Operand(3, "max_output_size", Plain, "-1"),
            Operand(4, "iou_threshold", Float, "0.5f"),
            Fields(SUPPRESSION),
            Set("attrs_type_key", NMS_TYPE),
            Projected(0),
        ],
        old: "vision.non_max_suppression(%x, %n, meta[relay.attrs.NonMaximumSuppressionAttrs][0])",
        today: "(vision.non_max_suppression(%x, %n, cumsum(ones_like(take(%x, 0, axis=2)), axis=1, dtype=\"int32\", exclusive=True, \
                attrs_type_key=\"relay.attrs.ScanopAttrs\"), -1, 0.5f, force_suppress=False, top_k=-1, coord_start=2, \
                score_index=1, id_index=0, return_indices=True, invalid_to_bottom=False, \
                attrs_type_key=\"relay.attrs.NonMaximumSuppressionAttrs\")).0",
    },
    Rule {
        operator: "vision.non_max_suppression",
        until: 6,
        when: &[Operands(2), Meta("relay.attrs.NonMaximumSuppressionAttrs")],
        then: &[
            Insert(2, POSITIONS),
            Operand(3, "max_output_size", Plain, "-1"),
            Operand(4, "iou_threshold", Float, "0.5f"),
            Fields(SUPPRESSION),
            Set("attrs_type_key", NMS_TYPE),
        ],
        old: "vision.non_max_suppression(%x, %n, meta[relay.attrs.NonMaximumSuppressionAttrs][1])",
        today: "vision.non_max_suppression(%x, %n, cumsum(ones_like(take(%x, 0, axis=2)), axis=1, dtype=\"int32\", exclusive=True, \
                attrs_type_key=\"relay.attrs.ScanopAttrs\"), -1, 0.5f, force_suppress=False, top_k=-1, coord_start=2, \
                score_index=1, id_index=0, return_indices=False, invalid_to_bottom=False, \
                attrs_type_key=\"relay.attrs.NonMaximumSuppressionAttrs\")",
    },
    Rule {
        operator: "vision.non_max_suppression",
        until: 7,
        when: &[Operands(4), Meta("relay.attrs.NonMaximumSuppressionAttrs")],
        then: &[Operand(4, "iou_threshold", Float, "0.5f"), Fields(SUPPRESSION), Set("attrs_type_key", NMS_TYPE)],
        old: "vision.non_max_suppression(%x, %n, %i, -1, meta[relay.attrs.NonMaximumSuppressionAttrs][1])",
        today: "vision.non_max_suppression(%x, %n, %i, -1, 0.5f, force_suppress=False, top_k=-1, coord_start=2, score_index=1, \
                id_index=0, return_indices=False, invalid_to_bottom=False, \
                attrs_type_key=\"relay.attrs.NonMaximumSuppressionAttrs\")",
    },
    Rule {
        operator: "vm.shape_func",
        until: 8,
        when: &[],
        then: &[Gone(LOWERED)],
        old: "vm.shape_func(%f, (%x,), (%y,), is_input=[True])",
        today: "",
    },
];
