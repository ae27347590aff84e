//! The name of an operator above other bindings.
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 4), float32]) {
  let %y = nn.leaky$0
  let %v = nn.relu(%x);
  nn.relu(%v)
}
> completion $0
3 nn.leaky_relu | nn.leaky_relu(${1:%x}$2) | nn.leaky_relu(data, alpha=0.25)
4 qnn.leaky_relu | qnn.leaky_relu(${1:%data}, ${2:%input_scale}, ${3:%input_zero_point}, ${4:%output_scale}, ${5:%output_zero_point}$6) | qnn.leaky_relu(data, input_scale, input_zero_point, output_scale, output_zero_point, alpha=0.25)
