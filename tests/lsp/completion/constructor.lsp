//! Constructors as values.
type L { Nil, Cons(int32, L) }
def @f(%x: int32) { let %l = Con$0; %l }
> completion $0
2 Cons | Cons($1, $2) | L
3 nn.sparse_conv2d | nn.sparse_conv2d(${1:%x}, ${2:%sparse_data}, ${3:%sparse_indices}, ${4:%sparse_indptr}$5) | nn.sparse_conv2d(dense_data, sparse_data, sparse_indices, sparse_indptr, layout="NHWC", kernel_size=[1, 1])
3 nn.batch_to_space_nd | nn.batch_to_space_nd(${1:%x}, crops=[[${2:1}]]$3) | nn.batch_to_space_nd(data, block_shape=[1, 1], crops=…)
3 nn.correlation | nn.correlation(${1:%x}, ${2:%data2}$3) | nn.correlation(data1, data2, kernel_size=1, max_displacement=1, stride1=1, stride2=1, padding=[0, 0], is_multiply=True …
3 nn.cross_entropy | nn.cross_entropy(${1:%x}, ${2:%y}) | nn.cross_entropy(x, y)
3 nn.cross_entropy_with_logits | nn.cross_entropy_with_logits(${1:%x}, ${2:%y}) | nn.cross_entropy_with_logits(x, y)
3 nn.space_to_batch_nd | nn.space_to_batch_nd(${1:%x}, paddings=[[${2:1}]]$3) | nn.space_to_batch_nd(data, block_shape=[1, 1], paddings=…, pad_value=0)
3 vision.all_class_non_max_suppression | vision.all_class_non_max_suppression(${1:%x}, ${2:%scores}, ${3:%max_output_boxes_per_class}, ${4:%iou_threshold}, ${5:%score_threshold}) | vision.all_class_non_max_suppression(boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold)
4 concatenate | concatenate(${1:%data}$2) | concatenate(data, axis=0)
4 nn.conv1d | nn.conv1d(${1:%data}, ${2:%weight}$3) | nn.conv1d(data, weight, strides=[1], padding=[0, 0], dilation=[1], groups=1, channels=None, kernel_size=None, data_lay …
4 nn.conv1d_transpose | nn.conv1d_transpose(${1:%data}, ${2:%weight}$3) | nn.conv1d_transpose(data, weight, channels=None, kernel_size=None, strides=[1], output_padding=[0], padding=[0], dilat …
4 nn.conv2d | nn.conv2d(${1:%data}, ${2:%weight}$3) | nn.conv2d(data, weight, strides=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, channels=None, kernel_size=None, da …
… and 10 more
