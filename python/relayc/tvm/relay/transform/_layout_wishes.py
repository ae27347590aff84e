"""`ConvertLayout`: the calls of operators in the layouts that are asked for.

An operator's attribute `FTVMConvertOpLayout` comes before these rules.
Rules of TVM: `register_convert_op_layout` in `python/tvm/relay`.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Sequence

from ...tir.data_layout import Layout

__all__ = ["WISHES"]

_Wish = Callable[[Any, Sequence[Any], Sequence[Any], Sequence[str]], Any]


def _call(name: str) -> Callable[..., Any]:
    """The function of an operator; attributes that it does not take are those it derives."""
    from ... import relay

    found: Any = relay
    path = name.replace("qnn.", "qnn.op.").split(".")
    for part in path:
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _is_depthwise(attrs: Any, data: Any, weight: Any) -> bool:
    """Rule of TVM: `is_depthwise_conv2d` in `python/tvm/relay/op/strategy/generic.py`."""
    groups = int(attrs.groups)
    if groups == 1:
        return False
    channels = data.shape[Layout(str(attrs.data_layout)).index_of("C")]
    outputs = weight.shape[Layout(str(attrs.kernel_layout)).index_of("O")]
    return bool(int(channels) == int(outputs) == groups)


def _convolution(name: str, kernels: Dict[str, Optional[str]]) -> _Wish:
    """A rule for a convolution; `kernels` has its default kernel layouts by data layout."""

    def wish(attrs: Any, inputs: Sequence[Any], types: Sequence[Any], layouts: Sequence[str]) -> Any:
        from .transform import LayoutConfig

        call, values = _call(name), dict(attrs)
        current = LayoutConfig.current
        if name == "nn.conv2d" and current is not None and current.check_skip():
            return call(*inputs, **values)
        assert len(layouts) == 2, f"A desired layout is expected for both of {name}'s inputs"
        data, kernel = layouts
        assert data != "default", "Data layout cannot be default"
        values["data_layout"] = data
        tile = re.match(r"NCHW(\d*)c", data)
        if tile and name == "nn.conv2d":
            return _tiled(attrs, inputs, values, int(tile.group(1)), kernel)
        if kernel == "default":
            if data not in kernels:
                raise ValueError(f"Layout {data} is not yet supported.")
            kernel = kernels[data] or ("HWOI" if _is_depthwise(attrs, types[0], types[1]) else "HWIO")
        values["kernel_layout"] = kernel
        return call(*inputs, **values)

    return wish


def _tiled(attrs: Any, inputs: Sequence[Any], values: Dict[str, Any], tile: int, kernel: str) -> Any:
    assert kernel != "default", "Kernel layout cannot be default."
    from ..expr import Var

    data, weight = inputs
    if isinstance(data, Var) and int(data.checked_type.shape[1]) % tile:
        return _call("nn.conv2d")(data, weight, **dict(attrs))
    values["kernel_layout"] = kernel
    return _call("nn.contrib_conv2d_nchwc")(data, weight, **values)


def _deformable(attrs: Any, inputs: Any, types: Any, layouts: Sequence[str]) -> Any:
    assert len(layouts) == 2, "A desired layout is expected for data and kernel"
    data, kernel = layouts
    assert data != "default", "Data layout cannot be default"
    if kernel == "default":
        if data not in ("NCHW", "NHWC"):
            raise ValueError(f"Layout {data} is not yet supported.")
        kernel = "OIHW" if data == "NCHW" else "HWIO"
    values = {**dict(attrs), "data_layout": data, "kernel_layout": kernel}
    return _call("nn.deformable_conv2d")(*inputs, **values)


def _one_layout(name: str, *attributes: str, known: Sequence[str] = ()) -> _Wish:
    """A rule for an operator whose layout these attributes say; `known` are the ones it may have."""

    def wish(attrs: Any, inputs: Any, types: Any, layouts: Sequence[str]) -> Any:
        layout = layouts[0]
        assert layout != "default", "Data layout cannot be default"
        if known and layout not in known:
            raise ValueError(f"Layout {layout} is not yet supported.")
        values = {**dict(attrs), **dict.fromkeys(attributes, layout)}
        return _call(name)(*inputs, **values)

    return wish


def _roi(name: str) -> _Wish:
    def wish(attrs: Any, inputs: Any, types: Any, layouts: Sequence[str]) -> Any:
        # The rois have no layout to choose: "default" stands for them.
        assert len(layouts) == 2 and layouts[1] == "default"
        return _one_layout(name, "layout", known=("NCHW", "NHWC"))(attrs, inputs, types, layouts)

    return wish


_POOLS: List[str] = [
    "nn.avg_pool2d",
    "nn.global_avg_pool2d",
    "nn.global_max_pool2d",
    "nn.max_pool2d",
]
_CONV2D: Dict[str, Optional[str]] = {"NCHW": "OIHW", "NHWC": None, "HWNC": "HWOI"}

#: The rules by operator.
WISHES: Dict[str, _Wish] = {
    "nn.conv2d": _convolution("nn.conv2d", _CONV2D),
    "qnn.conv2d": _convolution("qnn.conv2d", {"NCHW": "OIHW", "NHWC": None}),
    "nn.conv2d_transpose": _convolution("nn.conv2d_transpose", {"NCHW": "IOHW", "NHWC": "HWIO"}),
    "qnn.conv2d_transpose": _convolution("qnn.conv2d_transpose", {"NCHW": "IOHW", "NHWC": "HWIO"}),
    "nn.conv3d": _convolution("nn.conv3d", {"NCDHW": "OIDHW", "NDHWC": "DHWIO"}),
    "nn.conv3d_transpose": _convolution("nn.conv3d_transpose", {"NCDHW": "IODHW", "NDHWC": "DHWOI"}),
    "nn.deformable_conv2d": _deformable,
    **{name: _one_layout(name, "layout", "out_layout") for name in _POOLS},
    "qnn.avg_pool2d": _one_layout("qnn.avg_pool2d", "layout", "out_layout", known=("NCHW", "NHWC")),
    "image.resize1d": _one_layout("image.resize1d", "layout"),
    "image.resize2d": _one_layout("image.resize2d", "layout"),
    "vision.roi_align": _roi("vision.roi_align"),
    "vision.roi_pool": _roi("vision.roi_pool"),
}
