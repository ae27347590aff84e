//! Names of our operators and attributes in other frameworks: PyTorch, ONNX, TensorFlow, NumPy; and the order of attributes in
//! TVM's Python. Only suggestions use them.

/// Names in lower case without `_`, each with ours.
const OPERATORS: [(&str, &str); 80] = [
    ("linear", "nn.dense"),
    ("fc", "nn.dense"),
    ("fullyconnected", "nn.dense"),
    ("gemm", "nn.dense"),
    ("mm", "nn.matmul"),
    ("matmul", "nn.matmul"),
    ("dot", "nn.matmul"),
    ("bmm", "nn.batch_matmul"),
    ("batchmatmul", "nn.batch_matmul"),
    ("conv", "nn.conv2d"),
    ("convolution", "nn.conv2d"),
    ("maxpool", "nn.max_pool2d"),
    ("maxpool2d", "nn.max_pool2d"),
    ("avgpool", "nn.avg_pool2d"),
    ("avgpool2d", "nn.avg_pool2d"),
    ("averagepool", "nn.avg_pool2d"),
    ("adaptiveavgpool2d", "nn.adaptive_avg_pool2d"),
    ("adaptivemaxpool2d", "nn.adaptive_max_pool2d"),
    ("globalaveragepool", "nn.global_avg_pool2d"),
    ("globalmaxpool", "nn.global_max_pool2d"),
    ("batchnorm", "nn.batch_norm"),
    ("batchnorm2d", "nn.batch_norm"),
    ("batchnormalization", "nn.batch_norm"),
    ("biasadd", "nn.bias_add"),
    ("leakyrelu", "nn.leaky_relu"),
    ("logsoftmax", "nn.log_softmax"),
    ("localresponsenorm", "nn.lrn"),
    ("flatten", "nn.batch_flatten"),
    ("zeropad2d", "nn.pad"),
    ("sub", "subtract"),
    ("minus", "subtract"),
    ("mul", "multiply"),
    ("times", "multiply"),
    ("div", "divide"),
    ("truediv", "divide"),
    ("floordiv", "floor_divide"),
    ("pow", "power"),
    ("neg", "negative"),
    ("plus", "add"),
    ("max", "maximum"),
    ("min", "minimum"),
    ("eq", "equal"),
    ("ne", "not_equal"),
    ("lt", "less"),
    ("le", "less_equal"),
    ("gt", "greater"),
    ("ge", "greater_equal"),
    ("greaterequal", "greater_equal"),
    ("lessequal", "less_equal"),
    ("and", "logical_and"),
    ("or", "logical_or"),
    ("not", "logical_not"),
    ("cat", "concatenate"),
    ("concat", "concatenate"),
    ("view", "reshape"),
    ("permute", "transpose"),
    ("t", "transpose"),
    ("shape", "shape_of"),
    ("unsqueeze", "expand_dims"),
    ("newaxis", "expand_dims"),
    ("reducemean", "mean"),
    ("reducesum", "sum"),
    ("reducemax", "max"),
    ("reducemin", "min"),
    ("reduceprod", "prod"),
    ("average", "mean"),
    ("var", "variance"),
    ("astype", "cast"),
    ("to", "cast"),
    ("clamp", "clip"),
    ("flip", "reverse"),
    ("expand", "broadcast_to"),
    ("embedding", "take"),
    ("indexselect", "take"),
    ("slice", "strided_slice"),
    ("fill", "full"),
    ("zeroslike", "zeros_like"),
    ("oneslike", "ones_like"),
    ("onehot", "one_hot"),
    ("select", "where"),
];

const ATTRIBUTES: [(&str, &str); 27] = [
    ("dim", "axis"),
    ("dims", "axis"),
    ("axes", "axis"),
    ("axis", "axes"),
    ("keepdim", "keepdims"),
    ("keep_dims", "keepdims"),
    ("kernel_shape", "kernel_size"),
    ("kernel", "kernel_size"),
    ("ksize", "pool_size"),
    ("kernel_size", "pool_size"),
    ("pads", "padding"),
    ("pad", "padding"),
    ("group", "groups"),
    ("num_group", "groups"),
    ("out_channels", "channels"),
    ("num_filter", "channels"),
    ("filters", "channels"),
    ("out_features", "units"),
    ("num_hidden", "units"),
    ("eps", "epsilon"),
    ("negative_slope", "alpha"),
    ("slope", "alpha"),
    ("shape", "newshape"),
    ("min", "a_min"),
    ("max", "a_max"),
    ("to", "dtype"),
    ("p", "rate"),
];

/// Operators whose function of TVM's Python takes the attributes in another order than their type declares them, with those that follow
/// its operands; none where its operands come in another order, or other parameters among them.
const ORDERS: [(&[&str], &[&str]); 10] = [
    (&["argmax", "argmin"], &["axis", "keepdims", "exclude", "select_last_index"]),
    (
        &["nn.bitserial_conv2d"],
        &[
            "strides",
            "padding",
            "channels",
            "kernel_size",
            "activation_bits",
            "weight_bits",
            "data_layout",
            "kernel_layout",
            "pack_dtype",
            "out_dtype",
            "unipolar",
        ],
    ),
    (
        &["nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"],
        &[
            "strides",
            "padding",
            "dilation",
            "groups",
            "channels",
            "kernel_size",
            "data_layout",
            "kernel_layout",
            "out_layout",
            "output_padding",
            "out_dtype",
        ],
    ),
    (&["nn.conv2d_backward_weight"], &["strides", "padding", "dilation", "groups", "channels", "kernel_size"]),
    (&["nn.mirror_pad"], &["pad_width", "mode"]),
    (
        &["qnn.avg_pool2d"],
        &["pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout"],
    ),
    (&["qnn.dequantize", "qnn.quantize"], &["axis", "out_dtype"]),
    (&["strided_slice"], &["begin", "end", "strides", "axes", "slice_mode"]),
    (&["take"], &["axis", "batch_dims", "mode"]),
    (
        &[
            "arange",
            "device_copy",
            "gather",
            "matrix_set_diag",
            "nn.avg_pool2d_grad",
            "nn.contrib_dense_pack",
            "nn.max_pool2d_grad",
            "nn.pad",
            "nn.sparse_dense",
            "qnn.batch_matmul",
            "qnn.contrib_dense_pack",
            "qnn.conv2d",
            "qnn.conv2d_transpose",
            "qnn.dense",
            "qnn.leaky_relu",
            "qnn.simulated_dequantize",
            "qnn.simulated_quantize",
            "random.normal",
            "random.threefry_generate",
            "random.uniform",
            "variance",
            "vm.shape_of",
        ],
        &[],
    ),
];

/// Operators that take a bias as their last operand elsewhere.
const BIASED: [&str; 8] = [
    "nn.conv1d",
    "nn.conv2d",
    "nn.conv3d",
    "nn.conv1d_transpose",
    "nn.conv2d_transpose",
    "nn.conv3d_transpose",
    "nn.dense",
    "nn.matmul",
];

/// The operator that adds the bias which other frameworks give to this one as a further operand.
pub(super) fn bias(operator: &str) -> Option<&'static str> {
    BIASED.contains(&operator).then_some("nn.bias_add")
}

/// The attributes that follow the operands in the function of TVM's Python, in its order; `None` for that of the declaration.
pub(super) fn order(operator: &str) -> Option<&'static [&'static str]> {
    ORDERS.iter().find(|(operators, _)| operators.contains(&operator)).map(|(_, order)| *order)
}

/// The operator that other frameworks call `name`. Callers ask about unknown names only, so our own names take precedence.
pub(super) fn operator(name: &str) -> Option<&'static str> {
    let plain: String = name.rsplit('.').next().unwrap_or(name).chars().filter(|c| *c != '_').collect();
    let plain = plain.to_ascii_lowercase();
    OPERATORS.iter().find(|(other, _)| *other == plain).map(|(_, ours)| *ours)
}

/// The attribute that other frameworks call `name`, if an operator has it.
pub(super) fn attribute(name: &str) -> Option<&'static str> {
    ATTRIBUTES.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours)
}
