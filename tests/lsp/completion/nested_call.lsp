//! Inside of a call in a call, that of the inner one.
def @f(%x: Tensor[(2, 4), float32], %k: Tensor[(3), int64]) {
  add(%x, nn.softmax(%x, ax$0))
}
> completion $0
2 axis | axis=${1:-1} | int = -1
3 fixed_point_multiply_per_axis | fixed_point_multiply_per_axis(${1:%x}, ${2:%k}, ${3:%left_shift}, ${4:%right_shift}, axes=[${5:1}]$6) | fixed_point_multiply_per_axis(data, fp_multiplier, left_shift, right_shift, is_lshift_required=False, is_rshift_requir …
3 argmax | argmax(${1:%x}$2) | argmax(data, axis=None, keepdims=False, select_last_index=False, exclude=False)
3 max | max(${1:%x}$2) | max(data, axis=None, keepdims=False, exclude=False)
3 maximum | maximum(${1:%x}, ${2:%rhs}) | maximum(lhs, rhs)
3 nn.fast_softmax | nn.fast_softmax(${1:%x}$2) | nn.fast_softmax(data, axis=-1)
3 nn.log_softmax | nn.log_softmax(${1:%x}$2) | nn.log_softmax(data, axis=-1)
3 nn.max_pool1d | nn.max_pool1d(${1:%x}, pool_size=[${2:1}]$3) | nn.max_pool1d(data, pool_size=…, strides=[1], dilation=[1], padding=[0], layout="NCW", out_layout="", ceil_mode=False)
3 nn.max_pool2d | nn.max_pool2d(${1:%x}, pool_size=[${2:1}]$3) | nn.max_pool2d(data, pool_size=…, strides=[1, 1], dilation=[1, 1], padding=[0, 0], layout="NCHW", out_layout="", ceil_m …
3 nn.max_pool2d_grad | nn.max_pool2d_grad(${1:%x}, ${2:%k}, pool_size=[${3:1}]$4) | nn.max_pool2d_grad(data, grad, pool_size=…, strides=[1, 1], dilation=[1, 1], padding=[0, 0], layout="NCHW", out_layout …
3 nn.max_pool3d | nn.max_pool3d(${1:%x}, pool_size=[${2:1}]$3) | nn.max_pool3d(data, pool_size=…, strides=[1, 1, 1], dilation=[1, 1, 1], padding=[0, 0, 0], layout="NCDHW", out_layout= …
3 nn.softmax | nn.softmax(${1:%x}$2) | nn.softmax(data, axis=-1)
… and 13 more
