"""Models of other formats through `relay.frontend`. Those of packages that the tests do without are given as what these write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

import relayc
import relayc.tvm as tvm
from relayc.tvm import relay

TESTS = Path(__file__).resolve().parents[2] / "tests"
BOOK = TESTS / "data" / "book"


def answer(mod: Any, params: Dict[str, Any]) -> np.ndarray:
    """The result for inputs that count from zero."""
    inputs = [param for param in mod["main"].params if param.name_hint not in params]
    shapes = [param.checked_type.concrete_shape for param in inputs]
    arrays = [np.arange(np.prod(shape), dtype="float32").reshape(shape) / 10 for shape in shapes]
    return relay.create_executor("debug", mod, tvm.cpu(), "llvm", params).evaluate()(*arrays).numpy()


def check_weights(mod: Any, params: Dict[str, Any]) -> None:
    types = {param.name_hint: param.checked_type for param in mod["main"].params}
    assert params
    for name, weight in params.items():
        assert isinstance(weight, tvm.nd.NDArray)
        assert (weight.shape, weight.dtype) == (types[name].concrete_shape, types[name].dtype)


def test_weights_of_onnx_are_tensors_or_constants() -> None:
    model = (TESTS / "golden/cli/data/fixed.onnx").read_bytes()
    mod, params = relay.frontend.from_onnx(model, freeze_params=False)
    check_weights(mod, params)
    frozen, left = relay.frontend.from_onnx(model)
    assert left == {} and len(frozen["main"].params) == len(mod["main"].params) - len(params)
    np.testing.assert_array_equal(answer(frozen, {}), answer(mod, params))


class Written:
    """Stands for an `mxnet.Symbol`, and for an `mxnet.nd.NDArray`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tojson(self) -> str:
        return str(self.value)

    def asnumpy(self) -> Any:
        return self.value


def test_weights_of_mxnet_are_tensors() -> None:
    symbol = Written((BOOK / "net-symbol.json").read_text())
    arrays = {
        name.rpartition(":")[2]: Written(value) for name, value in relayc.load_params(BOOK / "net-0000.params").items()
    }
    mod, params = relay.frontend.from_mxnet(symbol, {"data": (1, 1, 4, 4)}, arg_params=arrays)
    check_weights(mod, params)
    for name, weight in params.items():
        # `fc1.weight` is no name in text.
        given = arrays.get(name) or arrays[name.replace("_", ".")]
        np.testing.assert_array_equal(weight.numpy(), given.value)
    whole = relayc.import_mxnet(BOOK / "net-symbol.json", BOOK / "net-0000.params", shapes={"data": (1, 1, 4, 4)})
    picture = np.arange(16, dtype="float32").reshape(1, 1, 4, 4) / 10
    np.testing.assert_array_equal(answer(mod, params), whole.run(picture, engine="interp"))


def test_wrong_arguments_of_from_onnx_say_what_is_wanted() -> None:
    model = (TESTS / "golden/cli/data/fixed.onnx").read_bytes()
    with pytest.raises(TypeError, match="onnx.load"):
        relay.frontend.from_onnx("net.onnx")
    for shape in ((1, 3, 4, 4), {"x": 3}, [("x", (1, 3, 4, 4))]):
        with pytest.raises(TypeError, match="expected shapes by the names of inputs"):
            relay.frontend.from_onnx(model, shape)


def test_wrong_arguments_of_from_pytorch_say_what_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for infos in ([1, 3], {"x": (1, 3)}, [("x", 3)]):
        with pytest.raises(TypeError, match="a name and a shape for each input"):
            relay.frontend.from_pytorch(None, infos)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="install torch, or .*from_onnx"):
        relay.frontend.from_pytorch(None, [("x", (1, 3)), ("y", ((1, 3), "int64"))])


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="expected, got"):
        relay.frontend.from_mxnet({}, {"data": (1,)})
    with pytest.raises(relayc.RelayError):
        relay.frontend.from_onnx(b"no model")
