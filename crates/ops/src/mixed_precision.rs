//! Which operators may compute in a narrow float type: the lists that TVM registers (`python/tvm/relay/transform/mixed_precision.py`).

/// How an operator is treated when a program is to compute in a narrow float type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// It computes in the narrow type, whatever its operands are: the operators that take most of the time.
    Always,
    /// It computes in the narrow type if all its operands are of it.
    Follow,
    /// It computes in float32: results, or sums on the way to them, may be out of the range of the narrow type.
    Never,
}

const ALWAYS: &[&str] = &[
    "nn.conv1d",
    "nn.conv2d",
    "nn.conv3d",
    "nn.conv1d_transpose",
    "nn.conv2d_transpose",
    "nn.conv3d_transpose",
    "nn.dense",
    "nn.batch_matmul",
];

const FOLLOW: &[&str] = &[
    "nn.pad",
    "nn.batch_flatten",
    "concatenate",
    "zeros",
    "split",
    "squeeze",
    "transpose",
    "expand_dims",
    "reshape",
    "dyn.reshape",
    "broadcast_to_like",
    "dyn.broadcast_to",
    "strided_slice",
    "dyn.strided_slice",
    "take",
    "argwhere",
    "where",
    "tile",
    "dyn.tile",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "full",
    "dyn.full",
    "nn.depth_to_space",
    "less",
    "greater",
    "less_equal",
    "greater_equal",
    "copy",
    "cast",
    "cast_like",
    "add",
    "subtract",
    "multiply",
    "divide",
    "nn.bias_add",
    "nn.batch_norm",
    "sqrt",
    "shape_of",
    "max",
    "min",
    "maximum",
    "minimum",
    "argmax",
    "argmin",
    "nn.relu",
    "nn.leaky_relu",
    "nn.prelu",
    "nn.dropout",
    "sigmoid",
    "tanh",
    "fast_tanh",
    "fast_exp",
    "fast_erf",
    "clip",
    "nn.max_pool1d",
    "nn.max_pool2d",
    "nn.max_pool3d",
    "nn.avg_pool1d",
    "nn.avg_pool2d",
    "nn.avg_pool3d",
    "nn.global_max_pool2d",
    "nn.adaptive_max_pool1d",
    "nn.adaptive_max_pool2d",
    "nn.adaptive_max_pool3d",
    "image.resize2d",
];

const NEVER: &[&str] = &[
    "exp",
    "power",
    "nn.cross_entropy",
    "nn.cross_entropy_with_logits",
    "nn.softmax",
    "nn.l2_normalize",
    "erf",
    "arange",
    "nn.global_avg_pool2d",
    "nn.adaptive_avg_pool1d",
    "nn.adaptive_avg_pool2d",
    "nn.adaptive_avg_pool3d",
    "sum",
    "mean",
    "variance",
    "nn.layer_norm",
];

/// The attribute types whose `out_dtype` is the type in which an operator computes.
const WITH_OUT_DTYPE: &[&str] = &[
    "relay.attrs.Conv1DAttrs",
    "relay.attrs.Conv1DTransposeAttrs",
    "relay.attrs.Conv2DAttrs",
    "relay.attrs.Conv2DTransposeAttrs",
    "relay.attrs.Conv2DWinogradAttrs",
    "relay.attrs.Conv2DWinogradNNPACKWeightTransformAttrs",
    "relay.attrs.DeformableConv2DAttrs",
    "relay.attrs.Conv3DAttrs",
    "relay.attrs.Conv3DTransposeAttrs",
    "relay.attrs.Conv3DWinogradAttrs",
    "relay.attrs.DenseAttrs",
    "relay.attrs.BatchMatmulAttrs",
];

/// How an operator is treated; `None` for an operator in no list.
pub fn precision(name: &str) -> Option<Precision> {
    let lists = [(ALWAYS, Precision::Always), (FOLLOW, Precision::Follow), (NEVER, Precision::Never)];
    lists.into_iter().find(|(names, _)| names.contains(&name)).map(|(_, precision)| precision)
}

/// The attribute that holds the type in which an operator computes, by its attribute type.
pub fn dtype_attr(type_key: &str) -> Option<&'static str> {
    if type_key == "relay.attrs.InitOpAttrs" {
        return Some("dtype");
    }
    WITH_OUT_DTYPE.contains(&type_key).then_some("out_dtype")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn lists_name_operators() {
        let defs = table().defs();
        let mut names = [ALWAYS, FOLLOW, NEVER].concat();
        names.retain(|name| defs.iter().all(|def| def.name != *name));
        assert_eq!(names, Vec::<&str>::new());
        let mut types = WITH_OUT_DTYPE.to_vec();
        types.retain(|key| defs.iter().filter_map(|def| def.attrs).all(|schema| schema.type_key != *key));
        assert_eq!(types, Vec::<&str>::new());
    }
}
