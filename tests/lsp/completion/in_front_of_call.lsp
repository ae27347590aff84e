//! Before the parentheses of a call, and inside of its name: only the name is written, over all of the one that stands there.
#[version = "0.0.5"]
def @layer(%x: Tensor[(2), float32]) { nn.re$0(%x) }
def @main(%x: Tensor[(2), float32]) {
  let %a = nn.leaky$1_relu(%x);
  let %b = @la$2(%a);
  @l$3ayer(%b)
}
> completion $0
3 nn.relu | nn.relu | nn.relu(data)
3 let nn.relu | let %relu = nn.relu | nn.relu(data)
3 nn.correlation | nn.correlation | nn.correlation(data1, data2, kernel_size=1, max_displacement=1, stride1=1, stride2=1, padding=[0, 0], is_multiply=True …
3 let nn.correlation | let %correlation = nn.correlation | nn.correlation(data1, data2, kernel_size=1, max_displacement=1, stride1=1, stride2=1, padding=[0, 0], is_multiply=True …
3 nn.cross_entropy | nn.cross_entropy | nn.cross_entropy(x, y)
3 let nn.cross_entropy | let %cross_entropy = nn.cross_entropy | nn.cross_entropy(x, y)
3 nn.cross_entropy_with_logits | nn.cross_entropy_with_logits | nn.cross_entropy_with_logits(x, y)
3 let nn.cross_entropy_with_logits | let %cross_entropy_with_logits = nn.cross_entropy_with_logits | nn.cross_entropy_with_logits(x, y)
3 nn.l2_normalize | nn.l2_normalize | nn.l2_normalize(data, eps=…, axis=…)
3 let nn.l2_normalize | let %l2_normalize = nn.l2_normalize | nn.l2_normalize(data, eps=…, axis=…)
3 nn.leaky_relu | nn.leaky_relu | nn.leaky_relu(data, alpha=0.25)
3 let nn.leaky_relu | let %leaky_relu = nn.leaky_relu | nn.leaky_relu(data, alpha=0.25)
… and 26 more
> completion $1
4:12-4:25
3 nn.leaky_relu | nn.leaky_relu | nn.leaky_relu(data, alpha=0.25)
4 qnn.leaky_relu | qnn.leaky_relu | qnn.leaky_relu(data, input_scale, input_zero_point, output_scale, output_zero_point, alpha=0.25)
> completion $2
2 @layer | @layer |
> completion $3
6:3-6:9
2 @layer | @layer |
