"""Importers: models of other formats as Relay programs. ONNX, MXNet, and PyTorch by way of ONNX."""

from __future__ import annotations

from ..._refused import refuse
from . import common
from .mxnet import from_mxnet
from .onnx import from_onnx
from .pytorch import from_pytorch

__all__ = [
    "ChangeDatatype",
    "common",
    "from_caffe",
    "from_caffe2",
    "from_coreml",
    "from_darknet",
    "from_keras",
    "from_mxnet",
    "from_oneflow",
    "from_onnx",
    "from_paddle",
    "from_pytorch",
    "from_tensorflow",
    "from_tflite",
    "quantize_conv_bias_mkldnn_from_var",
]


def _no_importer(name: str, how: str) -> type:
    how = f"export the model to ONNX with {how} and import that with relay.frontend.from_onnx"
    return refuse(f"relay.frontend.{name}", how)


from_caffe = _no_importer("from_caffe", "caffe2onnx")
from_caffe2 = _no_importer("from_caffe2", "caffe2.python.onnx")
from_coreml = _no_importer("from_coreml", "onnxmltools")
from_keras = _no_importer("from_keras", "tf2onnx")
from_oneflow = _no_importer("from_oneflow", "oneflow_onnx")
from_paddle = _no_importer("from_paddle", "paddle2onnx")
from_tensorflow = _no_importer("from_tensorflow", "tf2onnx")
from_tflite = _no_importer("from_tflite", "tf2onnx")
from_darknet = refuse(
    "relay.frontend.from_darknet", "import its files with `relayc import net.cfg --weights net.weights`"
)
quantize_conv_bias_mkldnn_from_var = refuse(
    "relay.frontend.quantize_conv_bias_mkldnn_from_var", "quantize with `relayc quantize`, or write the functions of relay.qnn.op"
)
ChangeDatatype = refuse("relay.frontend.ChangeDatatype", "convert types with relay.transform.ToMixedPrecision")
