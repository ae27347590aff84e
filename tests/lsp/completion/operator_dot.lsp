//! With the dots of its name.
def @f(%x: Tensor[(2), float32]) { let %y = nn.r$0; %y }
> completion $0
3 nn.relu | nn.relu(${1:%x}) | nn.relu(data)
3 nn.avg_pool2d_grad | nn.avg_pool2d_grad(${1:%x}, ${2:%grad}, pool_size=[${3:1}]$4) | nn.avg_pool2d_grad(data, grad, pool_size=…, strides=[1, 1], dilation=[1, 1], padding=[0, 0], layout="NCHW", out_layout …
3 nn.correlation | nn.correlation(${1:%x}, ${2:%data2}$3) | nn.correlation(data1, data2, kernel_size=1, max_displacement=1, stride1=1, stride2=1, padding=[0, 0], is_multiply=True …
3 nn.cross_entropy | nn.cross_entropy(${1:%x}, ${2:%y}) | nn.cross_entropy(x, y)
3 nn.cross_entropy_with_logits | nn.cross_entropy_with_logits(${1:%x}, ${2:%y}) | nn.cross_entropy_with_logits(x, y)
3 nn.dropout | nn.dropout(${1:%x}$2) | nn.dropout(data, rate=0.5)
3 nn.l2_normalize | nn.l2_normalize(${1:%x}, eps=${2:1f}, axis=[${3:1}]) | nn.l2_normalize(data, eps=…, axis=…)
3 nn.layer_norm | nn.layer_norm(${1:%x}, ${2:%gamma}, ${3:%beta}$4) | nn.layer_norm(data, gamma, beta, axis=-1, epsilon=1e-05, center=True, scale=True)
3 nn.leaky_relu | nn.leaky_relu(${1:%x}$2) | nn.leaky_relu(data, alpha=0.25)
3 nn.max_pool2d_grad | nn.max_pool2d_grad(${1:%x}, ${2:%grad}, pool_size=[${3:1}]$4) | nn.max_pool2d_grad(data, grad, pool_size=…, strides=[1, 1], dilation=[1, 1], padding=[0, 0], layout="NCHW", out_layout …
3 nn.mirror_pad | nn.mirror_pad(${1:%x}, pad_width=[[${2:1}]]$3) | nn.mirror_pad(data, mode="SYMMETRIC", pad_width=…)
3 nn.sparse_add | nn.sparse_add(${1:%x}, ${2:%sparse_data}, ${3:%sparse_indices}, ${4:%sparse_indptr}) | nn.sparse_add(dense_data, sparse_data, sparse_indices, sparse_indptr)
… and 21 more
