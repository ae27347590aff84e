//! A statement before others is a binding first.
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) {
  relu$0
  let %y = exp(%x);
  %y
}
> completion $0
3 let nn.relu | let %relu = nn.relu(${1:%x});\n$0 | nn.relu(data)
3 nn.relu | nn.relu(${1:%x}) | nn.relu(data)
3 let nn.leaky_relu | let %leaky_relu = nn.leaky_relu(${1:%x}$2);\n$0 | nn.leaky_relu(data, alpha=0.25)
3 nn.leaky_relu | nn.leaky_relu(${1:%x}$2) | nn.leaky_relu(data, alpha=0.25)
3 let vision.regular_non_max_suppression | let %regular_non_max_suppression = vision.regular_non_max_suppression(${1:%x}, ${2:%scores});\n$0 | vision.regular_non_max_suppression(boxes, scores)
3 vision.regular_non_max_suppression | vision.regular_non_max_suppression(${1:%x}, ${2:%scores}) | vision.regular_non_max_suppression(boxes, scores)
4 let qnn.leaky_relu | let %leaky_relu = qnn.leaky_relu(${1:%data}, ${2:%input_scale}, ${3:%input_zero_point}, ${4:%output_scale}, ${5:%output_zero_point}$6);\n$0 | qnn.leaky_relu(data, input_scale, input_zero_point, output_scale, output_zero_point, alpha=0.25)
4 qnn.leaky_relu | qnn.leaky_relu(${1:%data}, ${2:%input_scale}, ${3:%input_zero_point}, ${4:%output_scale}, ${5:%output_zero_point}$6) | qnn.leaky_relu(data, input_scale, input_zero_point, output_scale, output_zero_point, alpha=0.25)
4 let nn.prelu | let %prelu = nn.prelu(${1:%data}, ${2:%alpha}$3);\n$0 | nn.prelu(data, alpha, axis=1)
4 nn.prelu | nn.prelu(${1:%data}, ${2:%alpha}$3) | nn.prelu(data, alpha, axis=1)
