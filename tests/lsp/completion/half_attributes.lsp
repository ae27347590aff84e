//! Attributes in a call that nothing closes, before another function.
def @f(%x: Tensor[(1, 3, 8, 8), float32], %w) {
  nn.conv2d(%x, %w, group$0
def @g(%y: int32) { %y }
> completion $0
2 groups | groups=${1:1} | int = 1
3 nn.group_norm | nn.group_norm(${1:%w}, ${2:%x}, ${3:%beta}$4) | nn.group_norm(data, gamma, beta, num_groups=0, axis=1, epsilon=1e-05, center=True, scale=True)
3 vision.regular_non_max_suppression | vision.regular_non_max_suppression(${1:%x}, ${2:%w}) | vision.regular_non_max_suppression(boxes, scores)
