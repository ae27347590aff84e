//! Tests each operator by examples: a node, and the calls that it becomes.

use super::*;
use crate::mxnet::{Import, import};
use relayc_base::FileId;
use relayc_ir::print::{Options, print};

/// Name of an operator, attributes of a node, shapes of its operands `%a`, `%b`, …, and the expected calls.
const EXAMPLES: &[(&str, &str, &str, &str)] = &[
    (
        "Convolution Convolution_v1",
        "kernel=(3, 3); num_filter=4; pad=(1, 1); stride=(2, 2); no_bias=True",
        "1,6,8,8 4,6,3,3",
        "nn.conv2d(%a, %b, strides=[2, 2], padding=[1, 1], channels=4, kernel_size=[3, 3])",
    ),
    (
        "Convolution",
        "kernel=(3,); num_filter=4; num_group=2; dilate=(2,)",
        "1,6,9 4,3,3 4",
        "%0 = nn.conv1d(%a, %b, padding=[0], dilation=[2], groups=2, channels=4, kernel_size=[3]); nn.bias_add(%0, %c)",
    ),
    (
        "Convolution",
        "kernel=(1, 3, 3); num_filter=2; layout=NCDHW",
        "1,3,4,8,8 2,3,1,3,3 2",
        "%0 = nn.conv3d(%a, %b, channels=2, kernel_size=[1, 3, 3]); nn.bias_add(%0, %c)",
    ),
    (
        "Convolution",
        "kernel=(3, 3); num_filter=4; layout=NHWC",
        "1,8,8,6 4,3,3,6 4",
        r#"%0 = nn.conv2d(%a, %b, channels=4, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="OHWI"); nn.bias_add(%0, %c, axis=3)"#,
    ),
    (
        "Deconvolution",
        "kernel=(4, 4); num_filter=5; stride=(2, 2); pad=(1, 1); adj=(1, 1)",
        "1,3,4,4 3,5,4,4",
        "nn.conv2d_transpose(%a, %b, channels=5, kernel_size=[4, 4], strides=[2, 2], output_padding=[1, 1], padding=[1, 1])",
    ),
    (
        "Deconvolution",
        "kernel=(3,); num_filter=5; no_bias=False",
        "1,3,4 3,5,3 5",
        "%0 = nn.conv1d_transpose(%a, %b, channels=5, kernel_size=[3]); nn.bias_add(%0, %c)",
    ),
    (
        "FullyConnected",
        "num_hidden=5",
        "2,3,4 5,12 5",
        "%0 = nn.batch_flatten(%a); %1 = nn.dense(%0, %b, units=5); nn.bias_add(%1, %c, axis=-1)",
    ),
    ("FullyConnected", "num_hidden=5; flatten=False; no_bias=True", "2,3 5,3", "nn.dense(%a, %b, units=5)"),
    (
        "BatchNorm BatchNorm_v1 _contrib_SyncBatchNorm",
        "fix_gamma=False; eps=1e-05; momentum=0.9f",
        "2,3,4,4 3 3 3 3",
        "%0 = nn.batch_norm(%a, %b, %c, %d, %e); %0.0",
    ),
    (
        "BatchNorm",
        "axis=3",
        "2,4,4,3 3 3 3 3",
        "%0 = nn.batch_norm(%a, %b, %c, %d, %e, axis=3, epsilon=0.001f, scale=False); %0.0",
    ),
    ("InstanceNorm", "", "2,3,4,4 3 3", "nn.instance_norm(%a, %b, %c, epsilon=0.001f)"),
    ("LayerNorm", "eps=1e-06", "2,3,4 4 4", "nn.layer_norm(%a, %b, %c, epsilon=1e-06f)"),
    ("LRN", "nsize=5; knorm=1; beta=0.5", "1,8,4,4", "nn.lrn(%a, bias=1f, beta=0.5f)"),
    ("Pooling Pooling_v1", "kernel=(2, 2); stride=(2, 2)", "1,3,8,8", "nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2])"),
    (
        "Pooling",
        "kernel=(3, 3); stride=(2, 2); pool_type=max; pooling_convention=full",
        "1,3,8,8",
        "nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2], ceil_mode=True)",
    ),
    (
        "Pooling",
        "kernel=(3, 3); stride=(2, 2); pad=(1, 1); pool_type=avg; pooling_convention=full; count_include_pad=False",
        "1,3,8,8",
        "nn.avg_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], ceil_mode=True)",
    ),
    (
        "Pooling",
        "kernel=(3, 3); pad=(1, 1); pool_type=avg",
        "1,3,8,8",
        "nn.avg_pool2d(%a, pool_size=[3, 3], padding=[1, 1], count_include_pad=True)",
    ),
    ("Pooling", "kernel=(3,); pool_type=avg", "1,3,8", "nn.avg_pool1d(%a, pool_size=[3], count_include_pad=True)"),
    ("Pooling", "kernel=(2, 2); layout=NHWC", "1,8,8,3", r#"nn.max_pool2d(%a, pool_size=[2, 2], layout="NHWC")"#),
    ("Pooling", "global_pool=True; pool_type=avg", "1,3,8,8", "nn.global_avg_pool2d(%a)"),
    ("Pooling", "global_pool=True; kernel=(7,)", "1,3,8", "max(%a, axis=[2], keepdims=True)"),
    ("_contrib_AdaptiveAvgPooling2D", "output_size=(2, 3)", "1,3,8,8", "nn.adaptive_avg_pool2d(%a, output_size=[2, 3])"),
    ("UpSampling", "scale=2; sample_type=nearest; num_args=1", "1,3,4,4", "nn.upsampling(%a, scale_h=2f, scale_w=2f)"),
    ("abs", "", "2,3", "abs(%a)"),
    ("ceil", "", "2,3", "ceil(%a)"),
    ("cos", "", "2,3", "cos(%a)"),
    ("erf", "", "2,3", "erf(%a)"),
    ("exp", "", "2,3", "exp(%a)"),
    ("fix trunc", "", "2,3", "trunc(%a)"),
    ("floor", "", "2,3", "floor(%a)"),
    ("log", "", "2,3", "log(%a)"),
    ("log2", "", "2,3", "log2(%a)"),
    ("log10", "", "2,3", "log10(%a)"),
    ("negative", "", "2,3", "negative(%a)"),
    ("relu", "", "2,3", "nn.relu(%a)"),
    ("round", "", "2,3", "round(%a)"),
    ("rsqrt", "", "2,3", "rsqrt(%a)"),
    ("sigmoid", "", "2,3", "sigmoid(%a)"),
    ("sign", "", "2,3", "sign(%a)"),
    ("sin", "", "2,3", "sin(%a)"),
    ("sqrt", "", "2,3", "sqrt(%a)"),
    ("tanh", "", "2,3", "tanh(%a)"),
    ("square", "", "2,3", "multiply(%a, %a)"),
    ("reciprocal", "", "2,3", "divide(1f, %a)"),
    ("softsign", "", "2,3", "%0 = abs(%a); %1 = add(1f, %0); divide(%a, %1)"),
    ("elemwise_add _plus _Plus _add broadcast_add broadcast_plus _grad_add", "", "2,3 1,3", "add(%a, %b)"),
    ("elemwise_sub _minus _Minus _sub broadcast_sub broadcast_minus", "", "2,3 2,3", "subtract(%a, %b)"),
    ("elemwise_mul _mul _Mul broadcast_mul", "", "2,3 2,3", "multiply(%a, %b)"),
    ("elemwise_div _div _Div broadcast_div", "", "2,3 2,3", "divide(%a, %b)"),
    ("_maximum _Maximum broadcast_maximum", "", "2,3 2,3", "maximum(%a, %b)"),
    ("_minimum _Minimum broadcast_minimum", "", "2,3 2,3", "minimum(%a, %b)"),
    ("_power _Power broadcast_power", "", "2,3 2,3", "power(%a, %b)"),
    ("add_n ElementWiseSum _sum", "num_args=3", "2,3 2,3 2,3", "%0 = add(%a, %b); add(%0, %c)"),
    ("_plus_scalar _PlusScalar", "scalar=2; is_int=True", "2,3", "add(%a, 2f)"),
    ("_minus_scalar _MinusScalar", "scalar=2.5", "2,3", "subtract(%a, 2.5f)"),
    ("_rminus_scalar _RMinusScalar", "scalar=2.5", "2,3", "subtract(2.5f, %a)"),
    ("_mul_scalar _MulScalar", "scalar=0.5f", "2,3", "multiply(%a, 0.5f)"),
    ("_div_scalar _DivScalar", "scalar=2", "2,3", "divide(%a, 2f)"),
    ("_rdiv_scalar _RDivScalar", "scalar=1", "2,3", "divide(1f, %a)"),
    ("_power_scalar _PowerScalar", "scalar=2", "2,3", "power(%a, 2f)"),
    ("_rpower_scalar _RPowerScalar", "scalar=2", "2,3", "power(2f, %a)"),
    ("_maximum_scalar _MaximumScalar", "scalar=-inf", "2,3", "maximum(%a, -inff)"),
    ("_minimum_scalar _MinimumScalar", "scalar=inf", "2,3", "minimum(%a, inff)"),
    ("clip", "a_min=0; a_max=6", "2,3", "clip(%a, a_min=0f, a_max=6f)"),
    ("clip", "a_min=-1", "2,3", "clip(%a, a_min=-1f, a_max=inff)"),
    ("Activation", "act_type=relu", "2,3", "nn.relu(%a)"),
    ("Activation", "act_type=sigmoid", "2,3", "sigmoid(%a)"),
    ("Activation", "act_type=tanh", "2,3", "tanh(%a)"),
    (
        "Activation",
        "act_type=softrelu",
        "2,3",
        "%0 = abs(%a); %1 = negative(%0); %2 = exp(%1); %3 = add(1f, %2); %4 = log(%3); %5 = nn.relu(%a); add(%4, %5)",
    ),
    ("Activation", "act_type=softsign", "2,3", "%0 = abs(%a); %1 = add(1f, %0); divide(%a, %1)"),
    ("LeakyReLU", "", "2,3", "nn.leaky_relu(%a)"),
    ("LeakyReLU", "act_type=rrelu; lower_bound=0.25; upper_bound=0.75", "2,3", "nn.leaky_relu(%a, alpha=0.5f)"),
    ("LeakyReLU", "act_type=prelu", "2,3 3", "nn.prelu(%a, %b)"),
    (
        "LeakyReLU",
        "act_type=elu; slope=0.5",
        "2,3",
        "%0 = exp(%a); %1 = subtract(1f, %0); %2 = nn.relu(%1); %3 = multiply(%2, -0.5f); %4 = nn.relu(%a); add(%3, %4)",
    ),
    (
        "LeakyReLU",
        "act_type=selu",
        "2,3",
        "%0 = exp(%a); %1 = subtract(1f, %0); %2 = nn.relu(%1); %3 = multiply(%2, -1.67326f); %4 = nn.relu(%a); %5 = add(%3, %4); multiply(%5, 1.0507f)",
    ),
    (
        "LeakyReLU",
        "act_type=gelu",
        "2,3",
        "%0 = divide(%a, 1.41421f); %1 = erf(%0); %2 = multiply(%a, 0.5f); %3 = add(1f, %1); multiply(%2, %3)",
    ),
    ("hard_sigmoid", "alpha=0.25", "2,3", "%0 = multiply(%a, 0.25f); %1 = add(%0, 0.5f); clip(%1, a_min=0f, a_max=1f)"),
    ("SoftmaxOutput Softmax", "multi_output=True; grad_scale=1", "2,3,4 2,4", "nn.softmax(%a, axis=1)"),
    ("SoftmaxOutput", "", "2,3 2", "nn.softmax(%a, axis=1)"),
    ("softmax", "axis=1", "2,3,4", "nn.softmax(%a, axis=1)"),
    ("log_softmax", "", "2,3", "nn.log_softmax(%a)"),
    ("SoftmaxActivation", "", "2,3", "nn.softmax(%a, axis=1)"),
    ("SoftmaxActivation", "mode=channel", "2,3,4,4", "nn.softmax(%a, axis=1)"),
    ("LogisticRegressionOutput", "", "2,3 2,3", "sigmoid(%a)"),
    ("Dropout", "p=0.5; mode=training", "2,3", "%a"),
    ("identity _copy BlockGrad stop_gradient", "", "2,3", "%a"),
    ("MakeLoss make_loss", "valid_thresh=0.1", "2,3", "%a"),
    ("LinearRegressionOutput MAERegressionOutput", "", "2,3 2,3", "%a"),
    ("sum sum_axis", "axis=(1, 2); keepdims=True", "2,3,4", "sum(%a, axis=[1, 2], keepdims=True)"),
    ("mean", "axis=1; exclude=True", "2,3,4", "mean(%a, axis=[1], exclude=True)"),
    ("max max_axis", "", "2,3,4", "max(%a)"),
    ("min min_axis", "axis=()", "2,3,4", "min(%a)"),
    ("prod", "axis=-1", "2,3,4", "prod(%a, axis=[-1])"),
    (
        "L2Normalization",
        "",
        "2,3,4",
        "%0 = multiply(%a, %a); %1 = sum(%0, axis=[1, 2], keepdims=True); %2 = add(%1, 1e-10f); %3 = sqrt(%2); divide(%a, %3)",
    ),
    (
        "L2Normalization",
        "mode=channel; eps=1e-05",
        "2,3,4",
        "%0 = multiply(%a, %a); %1 = sum(%0, axis=[1], keepdims=True); %2 = add(%1, 1e-05f); %3 = sqrt(%2); divide(%a, %3)",
    ),
    (
        "L2Normalization",
        "mode=spatial",
        "2,3,4",
        "%0 = multiply(%a, %a); %1 = sum(%0, axis=[2], keepdims=True); %2 = add(%1, 1e-10f); %3 = sqrt(%2); divide(%a, %3)",
    ),
    ("Flatten flatten", "", "2,3,4", "nn.batch_flatten(%a)"),
    ("Concat concat", "dim=1; num_args=2", "2,3 2,4", "%0 = (%a, %b); concatenate(%0, axis=1)"),
    ("stack", "axis=1; num_args=2", "2,3 2,3", "%0 = (%a, %b); stack(%0, axis=1)"),
    ("Reshape reshape", "shape=(0, -1)", "2,3,4", "reshape(%a, newshape=[0, -1])"),
    ("Reshape", "shape=(-2, 1)", "2,3,4", "reshape(%a, newshape=[-2, 1])"),
    ("Reshape", "shape=(0, -3)", "2,3,4", "reshape(%a, newshape=[0, -3])"),
    ("Reshape", "shape=(-4, 1, 2, -2)", "2,3,4", "reshape(%a, newshape=[-4, 1, 2, -2])"),
    ("Reshape", "target_shape=(4, 0)", "2,3,4", "reshape(%a, newshape=[4, -1])"),
    ("Reshape", "target_shape=(5, 0); keep_highest=True", "10,4", "reshape(%a, newshape=[0, -1])"),
    ("Reshape", "shape=(6, 4); target_shape=(0, 0)", "2,3,4", "reshape(%a, newshape=[6, 4])"),
    ("transpose", "axes=(0, 2, 1)", "2,3,4", "transpose(%a, axes=[0, 2, 1])"),
    ("transpose", "", "2,3", "transpose(%a, axes=None)"),
    ("SwapAxis SwapAxes swapaxes", "dim1=0; dim2=-1", "2,3,4", "transpose(%a, axes=[2, 1, 0])"),
    ("expand_dims", "axis=1", "2,3", "expand_dims(%a, axis=1)"),
    ("squeeze", "axis=(1, 2)", "2,1,1", "squeeze(%a, axis=[1, 2])"),
    ("squeeze", "", "2,1,1", "squeeze(%a)"),
    (
        "Pad pad",
        "mode=constant; constant_value=1.5; pad_width=(0, 0, 0, 0, 1, 2, 3, 4)",
        "1,2,3,4",
        "nn.pad(%a, 1.5f, pad_width=[[0, 0], [0, 0], [1, 2], [3, 4]])",
    ),
    ("Pad", "mode=edge; pad_width=(0, 0, 1, 1)", "2,3", r#"nn.pad(%a, 0f, pad_width=[[0, 0], [1, 1]], pad_mode="edge")"#),
    ("Pad", "mode=reflect; pad_width=(0, 0, 1, 1)", "2,3", r#"nn.pad(%a, 0f, pad_width=[[0, 0], [1, 1]], pad_mode="reflect")"#),
    (
        "slice",
        "begin=(1, None); end=(3, None)",
        "4,5",
        "strided_slice(%a, begin=[1, 0], end=[3, 2147483647], strides=[1, 1], axes=None)",
    ),
    (
        "slice",
        "begin=(0, 1); end=(None, 5); step=(2,)",
        "4,5",
        "strided_slice(%a, begin=[0, 1], end=[2147483647, 5], strides=[2, 1], axes=None)",
    ),
    ("slice_axis", "axis=-1; begin=1; end=None", "4,5", "strided_slice(%a, begin=[1], end=[2147483647], strides=[1], axes=[1])"),
    ("slice_axis", "axis=0; begin=-3; end=-1", "4,5", "strided_slice(%a, begin=[-3], end=[-1], strides=[1], axes=[0])"),
    ("slice_like", "axes=(0,)", "4,5 2,3", "slice_like(%a, %b, axes=[0])"),
    ("slice_like", "", "4,5 2,3", "slice_like(%a, %b, axes=None)"),
    ("SliceChannel split", "num_outputs=2; squeeze_axis=False", "2,4", "%0 = split(%a, indices_or_sections=2, axis=1); %0.0"),
    (
        "split",
        "num_outputs=2; axis=0; squeeze_axis=True",
        "2,4",
        "%0 = split(%a, indices_or_sections=2); %1 = %0.0; squeeze(%1, axis=[0])",
    ),
    ("Cast cast amp_cast", "dtype=float16", "2,3", r#"cast(%a, dtype="float16")"#),
    ("zeros_like", "", "2,3", "zeros_like(%a)"),
    ("ones_like", "", "2,3", "ones_like(%a)"),
];

/// Nodes that are refused, in the same form, with a part of the message.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("Convolution", "num_filter=4", "1,6,8,8 4,6,3,3", "`kernel` is missing"),
    ("Convolution", "kernel=(1, 1, 1, 1); num_filter=4", "1,6,8,8 4,6,3,3", "a window of 4 axes"),
    ("Convolution", "kernel=(3, 3); num_filter=4; layout=NCHW4c", "1,6,8,8 4,6,3,3", "the layout `NCHW4c`"),
    ("Convolution", "kernel=(3, 3); num_filter=4; stride=(1, 1, 1)", "1,6,8,8 4,6,3,3", "`stride` has 3 numbers"),
    ("Convolution", "kernel=(3, 3); num_filter=4", "1,6,8,8 4,6,3,3", "operand 2 is missing"),
    ("Convolution", "kernel=(3, 3); num_filter=4; wrap=1", "1,6,8,8 4,6,3,3 4", "not understood: `wrap`"),
    ("Deconvolution", "kernel=(3, 3); num_filter=4; target_shape=(9, 9)", "1,6,8,8 6,4,3,3", "`target_shape`"),
    ("Deconvolution", "kernel=(3, 3); num_filter=4; layout=NHWC", "1,8,8,6 6,4,3,3", "the layout `NHWC`"),
    ("BatchNorm", "", "2,3 3 3", "`moving_mean` is neither"),
    ("BatchNorm", "output_mean_var=True", "2,3 3 3 3 3", "`output_mean_var=True`"),
    ("Pooling", "kernel=(2, 2); pool_type=lp", "1,3,8,8", "`pool_type=lp`"),
    ("Pooling", "kernel=(2,)", "1,3,8,8", "`kernel` has 1 numbers"),
    ("Pooling", "kernel=(2, 2); pooling_convention=same", "1,3,8,8", "`pooling_convention=same`"),
    ("UpSampling", "scale=2; sample_type=bilinear", "1,3,4,4", "`sample_type`"),
    ("_plus_scalar", "", "2,3", "`scalar` is missing"),
    ("_plus_scalar", "scalar=1ff", "2,3", "`scalar` is `1ff`, expected a number"),
    ("Activation", "", "2,3", "`act_type` is missing"),
    ("Activation", "act_type=swish", "2,3", "`act_type=swish`"),
    ("LeakyReLU", "act_type=swish", "2,3", "`act_type=swish`"),
    ("SoftmaxOutput", "", "2,3,4 2", "without `multi_output`"),
    ("SoftmaxActivation", "", "2,3,4", "`mode=instance`"),
    ("softmax", "temperature=2", "2,3", "`temperature`"),
    ("softmax", "use_length=True", "2,3", "`use_length=True`"),
    ("Dropout", "mode=always", "2,3", "other than `training`"),
    ("L2Normalization", "mode=all", "2,3", "`mode` is `instance`"),
    ("abs", "", "2,3 2,3", "it takes one operand, found 2"),
    ("Reshape", "", "2,3", "`shape` is missing"),
    ("Reshape", "shape=(6,); reverse=True", "2,3", "`reverse=True`"),
    ("SwapAxis", "dim1=0; dim2=2", "2,3", "axis 2 is out of range for rank 2"),
    ("expand_dims", "", "2,3", "`axis` is missing"),
    ("Pad", "mode=wrap; pad_width=(0, 0, 1, 1)", "2,3", "`mode` is `constant`"),
    ("slice", "begin=(0,)", "2,3", "`end` is missing"),
    ("slice", "begin=(0,); end=(2,); step=(-1,)", "2,3", "backwards"),
    ("split", "num_outputs=0", "2,3", "`num_outputs` is 0"),
    ("split", "num_outputs=4097", "2,4097", "`num_outputs` is 4097"),
    ("Cast", "dtype=complex64", "2,3", "names no dtype"),
];

/// Imports a network of one node with these results: the text of its body, or the message.
fn imported(op: &str, attrs: &str, shapes: &str, heads: &[usize]) -> std::result::Result<String, String> {
    let attrs = attrs.split("; ").filter_map(|attr| attr.split_once('='));
    let attrs: Vec<String> = attrs.map(|(key, value)| format!("\"{key}\": \"{value}\"")).collect();
    let shapes: Vec<&str> = shapes.split(' ').collect();
    let input = |(name, shape): (char, &&str)| {
        format!("{{\"op\": \"null\", \"name\": \"{name}\", \"attrs\": {{\"__shape__\": \"({shape})\"}}, \"inputs\": []}}, ")
    };
    let inputs: String = ('a'..).zip(&shapes).map(input).collect();
    let operands: Vec<String> = (0..shapes.len()).map(|at| format!("[{at}, 0]")).collect();
    let heads: Vec<String> = heads.iter().map(|head| format!("[{}, {head}]", shapes.len())).collect();
    let text = format!(
        "{{\"nodes\": [{inputs}{{\"op\": \"{op}\", \"name\": \"x\", \"attrs\": {{{}}}, \"inputs\": [{}]}}], \"heads\": [{}]}}",
        attrs.join(", "),
        operands.join(", "),
        heads.join(", ")
    );
    let how = Import { name: "net", file: FileId(0), shapes: &[], weights: vec![], as_params: true };
    match import(text.as_bytes(), how).1 {
        Ok(imported) => {
            let text = print(
                &imported.module,
                relayc_ops::table(),
                Options { types: false, meta: true, exact: false, dim_names: false },
            );
            let body = text.split_once("{\n").and_then(|(_, rest)| rest.split_once("\n}")).expect("a function").0;
            Ok(body.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        Err(said) => Err(said.iter().map(|said| format!("{} {:?} {:?}\n", said.message, said.notes, said.labels)).collect()),
    }
}

#[test]
fn each_operator_becomes_what_it_is_in_relay() {
    let mut wrong = String::new();
    for (names, attrs, shapes, expected) in EXAMPLES {
        for name in names.split(' ') {
            let found = imported(name, attrs, shapes, &[0]).unwrap_or_else(|said| said);
            if found != *expected {
                wrong += &format!("{name} {attrs}: {shapes}\n  {found}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let shown: Vec<&str> = EXAMPLES.iter().flat_map(|(names, ..)| names.split(' ')).collect();
    let missing: Vec<&str> = names().filter(|name| !shown.contains(name)).collect();
    assert!(missing.is_empty(), "without an example: {missing:?}");
}

#[test]
fn what_relay_does_not_say_is_refused() {
    for (name, attrs, shapes, words) in REFUSED {
        let said = imported(name, attrs, shapes, &[0]).expect_err(words);
        assert!(said.contains(words), "{name} {attrs}: {said}");
    }
}

/// A node may declare thousands of results; only those that are used are made.
#[test]
fn only_results_that_are_asked_for_are_made() {
    let text = imported("split", "num_outputs=4096; squeeze_axis=True", "2,4096", &[7, 4095]).expect("two of many");
    assert_eq!(
        text,
        "%0 = split(%a, indices_or_sections=4096, axis=1); %1 = %0.7; %2 = %0.4095; %3 = squeeze(%1, axis=[1]); %4 = squeeze(%2, axis=[1]); (%3, %4)"
    );
    assert!(imported("split", "num_outputs=2", "2,4", &[2]).expect_err("of two").contains("result"));
}

#[test]
fn every_name_is_one_operators() {
    let mut all: Vec<&str> = names().collect();
    let n = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), n);
}
