//! The declarations of operators that passes create or match.
//!
//! A pass that works on many operators asks their declarations for a property. A rewrite that is an equation between certain
//! operators names them.

pub use super::activation::{LEAKY_RELU, PRELU, PReluAttrs, RELU};
pub use super::annotation::{CHECKPOINT, COMPILER_BEGIN, COMPILER_END, STOP_FUSION};
pub use super::arith::{
    ADD, DIVIDE, FLOOR_DIVIDE, FLOOR_MOD, MAXIMUM, MINIMUM, MOD, MULTIPLY, POWER, SUBTRACT, TRUNC_DIVIDE, TRUNC_MOD,
};
pub use super::broadcast::{BROADCAST_TO, REPEAT, WHERE};
pub use super::cast::CAST;
pub use super::compare::{EQUAL, GREATER, GREATER_EQUAL, LESS, NOT_EQUAL};
pub use super::conv::{
    CONV1D, CONV1D_TRANSPOSE, CONV2D, CONV2D_TRANSPOSE, CONV3D, CONV3D_TRANSPOSE, Conv2dAttrs, Conv2dTransposeAttrs,
};
pub use super::create::{ARANGE, FULL, FULL_LIKE, ONES, ONES_LIKE, SHAPE_OF, ZEROS, ZEROS_LIKE};
pub use super::dense::{BATCH_FLATTEN, BIAS_ADD, BiasAddAttrs, DENSE};
pub use super::dynamic::{DYN_BROADCAST_TO, DYN_FULL, DYN_RESHAPE, DYN_STRIDED_SLICE};
pub use super::einsum::{BatchedProduct, EINSUM};
pub use super::index::{GATHER_ND, TAKE};
pub use super::join::{CONCATENATE, ConcatenateAttrs, SPLIT, STACK};
pub use super::layout::Layout;
pub use super::layout_transform::{LAYOUT_TRANSFORM, LayoutTransformAttrs};
pub use super::logic::{BITWISE_AND, BITWISE_OR, BITWISE_XOR, LEFT_SHIFT, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR};
pub use super::math::{
    ABS, CEIL, CLIP, COS, ClipAttrs, ERF, EXP, FAST_ERF, FAST_EXP, FAST_TANH, FLOOR, LOG, NEGATIVE, ROUND, SIGMOID, SIN, SQRT,
    TAN, TANH,
};
pub use super::matmul::{BATCH_MATMUL, BatchMatmulAttrs, MATMUL, MatmulAttrs};
pub use super::norm::{BATCH_NORM, BatchNormAttrs, DROPOUT};
pub use super::pad::{PAD, PadAttrs};
pub use super::pool::{
    ADAPTIVE_AVG_POOL2D, ADAPTIVE_MAX_POOL2D, AVG_POOL1D, AVG_POOL2D, AVG_POOL3D, AvgPool2dAttrs, GLOBAL_AVG_POOL2D,
    GLOBAL_MAX_POOL2D, GlobalPool2dAttrs, MAX_POOL1D, MAX_POOL2D, MAX_POOL3D, MaxPool2dAttrs,
};
pub use super::positions::ARGWHERE;
pub use super::qnn::{
    DEQUANTIZE, QNN_AVG_POOL2D, QNN_CONCATENATE, QNN_CONV2D, QNN_CONV2D_TRANSPOSE, QNN_DENSE, QUANTIZE, QuantizeAttrs, REQUANTIZE,
};
pub use super::reduce::{ALL, ANY, ARGMAX, ARGMIN, MAX, MEAN, MIN, PROD, SUM, VARIANCE};
pub use super::reshape::{EXPAND_DIMS, RESHAPE, SQUEEZE};
pub use super::resize::{DYN_RESIZE2D, RESIZE2D};
pub use super::scan::{CUMPROD, CUMSUM};
pub use super::scatter::{SCATTER_ELEMENTS, SCATTER_ND};
pub use super::slice::{STRIDED_SLICE, StridedSliceAttrs};
pub use super::softmax::{FAST_SOFTMAX, SOFTMAX};
pub use super::sort::{ARGSORT, DYN_TOPK, SORT, TOPK};
pub use super::space::{BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND};
pub use super::transpose::{TRANSPOSE, TransposeAttrs};
pub use super::upsampling::UPSAMPLING;
pub use super::vision::{ALL_CLASS_NON_MAX_SUPPRESSION, ROI_ALIGN, ROI_POOL};
pub use super::vm::KILL;
