//! Between the definitions of a broken file.
def @f( { 1 }
d$0
> completion $0
1 def | def @${1:main}(%${2:x}: Tensor[(${3:1}), ${4:float32}]$5) {\n  $0\n} |
3 dft | dft(${1:%re_data}, ${2:%im_data}) | dft(re_data, im_data)
3 divide | divide(${1:%lhs}, ${2:%rhs}) | divide(lhs, rhs)
3 dyn.broadcast_to | dyn.broadcast_to(${1:%data}, ${2:%shape}, shape=[${3:1}]$4) | dyn.broadcast_to(data, shape, shape=…, dtype="")
3 dyn.expand_dims | dyn.expand_dims(${1:%data}, ${2:%axis}) | dyn.expand_dims(data, axis)
3 dyn.full | dyn.full(${1:%fill_value}, ${2:%shape}, shape=[${3:1}]$4) | dyn.full(fill_value, shape, shape=…, dtype="")
3 dyn.image.resize2d | dyn.image.resize2d(${1:%data}, ${2:%size}, ${3:%roi}$4) | dyn.image.resize2d(data, size, roi, size=None, roi=None, layout="NCHW", method="linear", coordinate_transformation_mod …
3 dyn.nn.pad | dyn.nn.pad(${1:%data}, ${2:%pad_width}, ${3:%pad_val}, pad_width=[[${4:1}]]$5) | dyn.nn.pad(data, pad_width, pad_val, pad_width=…, pad_mode="constant")
3 dyn.nn.upsampling | dyn.nn.upsampling(${1:%data}, ${2:%scale_h}, ${3:%scale_w}, scale_h=${4:1f}, scale_w=${5:1f}$6) | dyn.nn.upsampling(data, scale_h, scale_w, scale_h=…, scale_w=…, layout="NCHW", method="nearest_neighbor", align_corner …
3 dyn.nn.upsampling3d | dyn.nn.upsampling3d(${1:%data}, ${2:%scale_d}, ${3:%scale_h}, ${4:%scale_w}, scale_d=${5:1f}, scale_h=${6:1f}, scale_w=${7:1f}$8) | dyn.nn.upsampling3d(data, scale_d, scale_h, scale_w, scale_d=…, scale_h=…, scale_w=…, layout="NCDHW", method="nearest_ …
3 dyn.one_hot | dyn.one_hot(${1:%indices}, ${2:%on_value}, ${3:%off_value}, ${4:%depth}$5) | dyn.one_hot(indices, on_value, off_value, depth, depth=1, axis=-1, dtype="")
3 dyn.ones | dyn.ones(${1:%shape}, shape=[${2:1}]$3) | dyn.ones(shape, shape=…, dtype="")
… and 98 more
