//! How operators between `qnn.dequantize` and `qnn.quantize` compute on the integers: the rules that TVM registers
//! (`python/tvm/relay/transform/fake_quantization_to_integer.py`).

use super::{OpDef, qnn};
use IntegerRule::{
    BatchProduct, Bias, Binary, Choice, Clipped, Joined, Mean, MeanInt32, Padded, Product, Rectified, Reshaped, Same, Split,
    Transposed, Unary, Values, Windows,
};

/// What takes the place of a call on dequantized tensors. An operator that is named computes on integers and gets the scales and zero
/// points of its operands, and of its result unless it follows from them.
#[derive(Clone, Copy)]
pub enum IntegerRule {
    /// The same call: it moves or chooses elements of its first operand, which have one scale.
    Same,
    /// The same call: it keeps the order of the elements.
    Reshaped,
    /// The same call: it permutes the axes.
    Transposed,
    /// The same call: each field of the result has the operand's affine type.
    Split,
    /// The same call, if its result is values.
    Values,
    /// A function of one tensor.
    Unary(&'static OpDef),
    /// A mean over windows, in the operand's affine type unless its result is quantized at once.
    Windows(&'static OpDef),
    /// A function of two tensors.
    Binary(&'static OpDef),
    /// One element of two, both of the result's affine type.
    Choice,
    /// The tensors of a tuple, one after the other.
    Joined(&'static OpDef),
    /// Sums of products with weights, whose outputs may have a scale each.
    Product(&'static OpDef),
    /// Sums of products of two tensors.
    BatchProduct(&'static OpDef),
    /// The same call in int32, of the result's affine type.
    MeanInt32,
    /// The same call in int32, of the operand's affine type.
    Mean,
    /// The second operand gets the affine type of the first, along the axis of the call.
    Bias,
    /// The second operand, a number, gets the affine type of the first.
    Padded,
    /// Limits in the operand's affine type.
    Clipped,
    /// The greater of an element and the zero point.
    Rectified,
}

/// The rules that need no scale of the result: their operators are converted one by one if that is asked for.
const ALONE: &[(&str, IntegerRule)] = &[
    ("broadcast_to", Same),
    ("max", Same),
    ("min", Same),
    ("nn.depth_to_space", Same),
    ("nn.max_pool2d", Same),
    ("strided_slice", Same),
    ("expand_dims", Reshaped),
    ("nn.batch_flatten", Reshaped),
    ("reshape", Reshaped),
    ("squeeze", Reshaped),
    ("transpose", Transposed),
    ("split", Split),
    ("nn.avg_pool2d", Windows(&qnn::QNN_AVG_POOL2D)),
    ("maximum", Choice),
    ("minimum", Choice),
    ("nn.conv2d", Product(&qnn::QNN_CONV2D)),
    ("nn.conv2d_transpose", Product(&qnn::QNN_CONV2D_TRANSPOSE)),
    ("nn.dense", Product(&qnn::QNN_DENSE)),
    ("nn.batch_matmul", BatchProduct(&qnn::QNN_BATCH_MATMUL)),
    ("nn.global_avg_pool2d", MeanInt32),
    ("nn.bias_add", Bias),
    ("nn.pad", Padded),
    ("clip", Clipped),
    ("nn.relu", Rectified),
];

/// The rules of operators that are converted only within a region.
const WITHIN: &[(&str, IntegerRule)] = &[
    ("image.resize2d", Same),
    ("take", Same),
    ("topk", Values),
    ("abs", Unary(&qnn::unary::ABS)),
    ("erf", Unary(&qnn::unary::ERF)),
    ("exp", Unary(&qnn::unary::EXP)),
    ("hardswish", Unary(&qnn::unary::HARDSWISH)),
    ("log", Unary(&qnn::unary::LOG)),
    ("nn.leaky_relu", Unary(&qnn::LEAKY_RELU)),
    ("rsqrt", Unary(&qnn::unary::RSQRT)),
    ("sigmoid", Unary(&qnn::unary::SIGMOID)),
    ("sqrt", Unary(&qnn::unary::SQRT)),
    ("tanh", Unary(&qnn::unary::TANH)),
    ("add", Binary(&qnn::ADD)),
    ("multiply", Binary(&qnn::MUL)),
    ("subtract", Binary(&qnn::SUBTRACT)),
    ("concatenate", Joined(&qnn::QNN_CONCATENATE)),
    ("nn.adaptive_avg_pool1d", MeanInt32),
    ("mean", Mean),
];

/// The rules that a program must ask for: the results differ by more than roundings.
const OPTIONAL: &[(&str, IntegerRule)] = &[("nn.softmax", Unary(&qnn::SOFTMAX))];

/// The rule of an operator.
pub fn integer_rule(name: &str) -> Option<IntegerRule> {
    find(ALONE, name).or_else(|| find(WITHIN, name))
}

/// The rule of an operator that is converted only on request.
pub fn optional_integer_rule(name: &str) -> Option<IntegerRule> {
    find(OPTIONAL, name)
}

/// Whether an operator may be converted without what is around it.
pub fn is_converted_alone(name: &str) -> bool {
    find(ALONE, name).is_some()
}

fn find(rules: &[(&str, IntegerRule)], name: &str) -> Option<IntegerRule> {
    rules.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn rules_are_of_operators_and_each_once() {
        let defs = table().defs();
        let names: Vec<&str> = [ALONE, WITHIN, OPTIONAL].concat().iter().map(|(name, _)| *name).collect();
        let unknown: Vec<&&str> = names.iter().filter(|name| defs.iter().all(|def| def.name != **name)).collect();
        assert_eq!(unknown, Vec::<&&str>::new());
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len());
    }
}
