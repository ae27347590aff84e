//! Operators with their operands as places to fill in.
def @f(%x: Tensor[(2), float32]) {
  nn.rel$0
}
> completion $0
3 nn.relu | nn.relu(${1:%x}) | nn.relu(data)
3 let nn.relu | let %relu = nn.relu(${1:%x});\n$0 | nn.relu(data)
3 nn.correlation | nn.correlation(${1:%x}, ${2:%data2}$3) | nn.correlation(data1, data2, kernel_size=1, max_displacement=1, stride1=1, stride2=1, padding=[0, 0], is_multiply=True …
3 let nn.correlation | let %correlation = nn.correlation(${1:%x}, ${2:%data2}$3);\n$0 | nn.correlation(data1, data2, kernel_size=1, max_displacement=1, stride1=1, stride2=1, padding=[0, 0], is_multiply=True …
3 nn.cross_entropy_with_logits | nn.cross_entropy_with_logits(${1:%x}, ${2:%y}) | nn.cross_entropy_with_logits(x, y)
3 let nn.cross_entropy_with_logits | let %cross_entropy_with_logits = nn.cross_entropy_with_logits(${1:%x}, ${2:%y});\n$0 | nn.cross_entropy_with_logits(x, y)
3 nn.leaky_relu | nn.leaky_relu(${1:%x}$2) | nn.leaky_relu(data, alpha=0.25)
3 let nn.leaky_relu | let %leaky_relu = nn.leaky_relu(${1:%x}$2);\n$0 | nn.leaky_relu(data, alpha=0.25)
4 nn.prelu | nn.prelu(${1:%data}, ${2:%alpha}$3) | nn.prelu(data, alpha, axis=1)
4 let nn.prelu | let %prelu = nn.prelu(${1:%data}, ${2:%alpha}$3);\n$0 | nn.prelu(data, alpha, axis=1)
4 qnn.leaky_relu | qnn.leaky_relu(${1:%data}, ${2:%input_scale}, ${3:%input_zero_point}, ${4:%output_scale}, ${5:%output_zero_point}$6) | qnn.leaky_relu(data, input_scale, input_zero_point, output_scale, output_zero_point, alpha=0.25)
4 let qnn.leaky_relu | let %leaky_relu = qnn.leaky_relu(${1:%data}, ${2:%input_scale}, ${3:%input_zero_point}, ${4:%output_scale}, ${5:%output_zero_point}$6);\n$0 | qnn.leaky_relu(data, input_scale, input_zero_point, output_scale, output_zero_point, alpha=0.25)
