"""Programs: reading, diagnostics, text, weights, drawings, and runs on the interpreter."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import relayc
from relayc.tvm import _native, relay

WRONG = 'def @main(%x: Tensor[(2, 3), float32]) { nn.rulu(%x) }'
TWICE = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { add(%x, %x) }'
LIST = """
type List[A] { Cons(A, List[A]), Nil, }
def @sum(%l: List[float32]) -> float32 {
  match (%l) { Cons(%x, %rest) => add(%x, @sum(%rest)), Nil => 0f }
}
def @pair(%x: int32, %l: List[int32], %t: (float32, Tensor[(2), int64])) { (Cons(%x, %l), %t.1, ref(%x)) }
"""


def test_a_program_with_errors_is_read_and_lists_them():
    module = relayc.parse(WRONG, "net.relay")
    (error,) = [found for found in module.check() if found.is_error]
    assert (error.code, error.severity) == ("E0204", "error")
    (span,) = error.spans
    assert (span.file, span.line, WRONG[span.start : span.end]) == ("net.relay", 1, "nn.rulu")
    (fix,) = error.fixes
    assert fix.edits[0].text == "nn.relu" and not fix.certain
    assert str(error).startswith("error[E0204]: there is no operator `nn.rulu`")


@pytest.mark.parametrize("use", ["infer", "compile", "run", "optimize"])
def test_what_needs_a_sound_program_raises_the_rendered_message(use):
    with pytest.raises(relayc.RelayError, match="net.relay:1:42") as raised:
        getattr(relayc.parse(WRONG, "net.relay"), use)()
    assert raised.value.code == "E0204"
    (error,) = [found for found in raised.value.diagnostics if found.is_error]
    assert (error.severity, error.message, error.spans[0].line) == ("error", "there is no operator `nn.rulu`", 1)
    assert error.fixes[0].edits[0].text == "nn.relu" and str(error) in str(raised.value)
    assert pickle.loads(pickle.dumps(raised.value)).diagnostics == raised.value.diagnostics


def test_text_without_and_with_types():
    module = relayc.parse(TWICE)
    assert "ty=" not in str(module)
    assert "add(%x, %x) /* ty=Tensor[(2), float32] */" in str(module.infer())
    assert module.check() == []


def test_runs_on_both_engines_by_position_and_name():
    module, x = relayc.parse(TWICE), np.array([1, 2], "float32")
    for engine in ("jit", "interp"):
        np.testing.assert_array_equal(module.run(x, engine=engine), [2, 4])
        np.testing.assert_array_equal(module.run(x=x, engine=engine), [2, 4])
    with pytest.raises(ValueError, match='"jit" or "interp"'):
        module.run(x, engine="gpu")


def test_values_of_data_types_and_references():
    module = relayc.parse(LIST)
    made, ints, cell = module.run(3, relayc.Adt("Cons", (4, relayc.Adt("Nil"))), (1.0, [1, 2]), entry="pair")
    assert made.constructor == "Cons" and made.type == "List"
    assert [int(made.fields[0]), int(made.fields[1].fields[0])] == [3, 4]
    assert ints.dtype == np.int64 and int(cell.value) == 3


def test_deep_values_need_no_recursion():
    deep = relayc.Adt("Nil")
    for _ in range(20_000):
        deep = relayc.Adt("Cons", (1.0, deep))
    assert relayc.parse(LIST).run(deep, entry="sum") == 20_000


@pytest.mark.parametrize(
    "args, words",
    [
        ((3, relayc.Adt("Snoc", ()), (1.0, [1, 2])), "no constructor `Snoc`"),
        ((3, relayc.Adt("Nil"), (1.0,)), "expected a tuple of 2, found 1"),
        ((3, relayc.Adt("Nil"), 1.0), "found a tensor"),
        ((3,), "missing: `l`, `t`"),
    ],
)
def test_wrong_values_say_what_is_expected(args, words):
    with pytest.raises(TypeError, match=words):
        relayc.parse(LIST).run(*args, entry="pair")


def test_an_unknown_entry_names_one_that_exists():
    with pytest.raises(relayc.RelayError, match='no function `@mean` to run\n = help: name one that exists: `entry="main"`'):
        relayc.parse(TWICE).run(entry="mean")
    with pytest.raises(relayc.RelayError, match='`function="@main"`'):
        relayc.parse(TWICE).draw(function="mean")


def test_excerpts_of_programs_are_shown_as_they_are():
    with pytest.raises(relayc.RelayError, match="// `--entry main`"):
        relayc.parse(WRONG + " // `--entry main`").infer()


def test_passes_by_name_and_level():
    module = relayc.parse("def @main(%x: Tensor[(2), float32]) { add(%x, add(1f, 2f)) }")
    assert "3f" in str(module.optimize("fold-constants"))
    assert "Primitive=1" in str(module.optimize(level=3))
    with pytest.raises(KeyError, match="no pass `fold`"):
        module.optimize("fold")
    for level in (-1, 4, 10**30):
        with pytest.raises(ValueError, match=f"level is {level}: expected a number from 0 to 3"):
            module.optimize(level=level)


@pytest.mark.parametrize("name", ["w.params", "w.npz", "w.safetensors"])
def test_weights_come_from_files_and_arrays(tmp_path, name):
    text = "def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(%x, %w) }"
    w = np.array([10, 20], "float32")
    relayc.save_params(tmp_path / name, {"w": w, "other": np.arange(3)})
    assert list(relayc.load_params(tmp_path / name)) == ["w", "other"]
    (tmp_path / "net.relay").write_text(text)
    module = relayc.load(tmp_path / "net.relay", params=tmp_path / name)
    np.testing.assert_array_equal(module.run(np.ones(2, "float32")), [11, 21])
    other = module.with_params({"w": w + 1})
    np.testing.assert_array_equal(other.run(np.ones(2, "float32")), [12, 22])
    np.testing.assert_array_equal(module.params["w"], w)


def test_arrays_without_a_parameter_are_a_warning(tmp_path):
    (tmp_path / "net.relay").write_text("def @main(%pair: (float32, float32), %weight: float32) { add(%pair.0, %weight) }")
    module, one = relayc.load(tmp_path / "net.relay"), np.float32(1)
    words = "no parameter has the name of these weights: `wieght` .there is `weight`., `other_name`$"
    for give in (module.with_params, lambda params: relayc.load(tmp_path / "net.relay", params=params)):
        with pytest.warns(UserWarning, match=words) as raised:
            give({"wieght": one, "weight": one, "other_name": one})
        assert raised[0].filename == __file__
    with pytest.warns(UserWarning, match="`w7`, and 3 more$"):
        module.with_params({f"w{n}": one for n in range(11)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.with_params({"pair.0": one, "weight": one})
        relayc.parse("fn (%weight: float32) { %weight }").with_params({"weight": one})
        relayc.parse(WRONG).with_params({"weight": one})


@pytest.mark.parametrize("params", [3, [3], b"w.params", [b"w.params"]])
def test_weights_that_are_neither_files_nor_arrays(params):
    with pytest.raises(TypeError, match="params is .*: expected a file, several files, or arrays by name"):
        relayc.parse(TWICE).with_params(params)


def test_weights_in_an_unknown_format_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no known extension"):
        relayc.save_params(tmp_path / "w.bin", {})


def test_files_that_hold_no_program(tmp_path):
    with pytest.raises(relayc.RelayError, match="E0701"):
        relayc.load(tmp_path / "none.relay")
    (tmp_path / "raw.relay").write_bytes(bytes(range(128, 256)))
    with pytest.raises(relayc.RelayError):
        relayc.load(tmp_path / "raw.relay")


def model(operator="Add"):
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "w"], ["y"])],
        "g",
        [info("x", TensorProto.FLOAT, [2])],
        [info("y", TensorProto.FLOAT, [2])],
        [helper.make_tensor("w", TensorProto.FLOAT, [2], [5.0, 6.0])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


@pytest.mark.parametrize("cut", [0, 1, 20, 60, -1])
def test_models_that_were_cut_off(tmp_path, cut):
    (tmp_path / "net.onnx").write_bytes(model()[:cut])
    for read in (relayc.load, relayc.import_onnx):
        with pytest.raises(relayc.RelayError, match="net.onnx"):
            read(tmp_path / "net.onnx")


def test_models_that_cannot_be_imported(tmp_path):
    (tmp_path / "net.onnx").write_bytes(model("Frobnicate"))
    with pytest.raises(relayc.RelayError, match="Frobnicate"):
        relayc.load(tmp_path / "net.onnx")


def test_files_of_another_kind(tmp_path):
    x = np.ones((2, 2), "float32")
    relayc.save_params(tmp_path / "w.params", {"w": x})
    relayc.save_params(tmp_path / "w.safetensors", {"w": x})
    np.savez(tmp_path / "w.npz", w=x)
    np.save(tmp_path / "w.npy", x)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(30))
    (tmp_path / "graph.json").write_text('{"nodes": [], "heads": [], "attrs": {"dltype": ["list_str", []]}}')
    (tmp_path / "net-symbol.json").write_text('{"nodes": [], "heads": [], "attrs": {}}')
    (tmp_path / "net.cfg").write_text("[net]\nwidth=4\n")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(relayc.RelayError, match=f"{path.name}` is .*, not a program of Relay") as raised:
            relayc.load(path)
        assert raised.value.code == "E0725"
    with pytest.raises(relayc.RelayError, match="directory"):
        relayc.load(tmp_path)


def test_sizes_are_set_when_a_file_is_read(tmp_path):
    (tmp_path / "net.relay").write_text("def @main(%x: Tensor[(n, 2), float32]) { nn.relu(%x) }")
    for sizes in (["n=4"], ("n=4",), "n=4", "x.0=4"):
        module = relayc.load(tmp_path / "net.relay", set=sizes)
        assert module.compile(threads=1).inputs[0].shape == (4, 2)
    for sizes in (4, [4], None, b"n=4"):
        with pytest.raises(TypeError, match='expected a text or several, "n=8" or'):
            relayc.load(tmp_path / "net.relay", set=sizes)
    with pytest.raises(relayc.RelayError, match=r'cannot carry out `set=\["n"\]`'):
        relayc.load(tmp_path / "net.relay", set="n").infer()


def test_a_program_takes_no_threads_when_it_is_read(tmp_path):
    (tmp_path / "net.relay").write_text(TWICE)
    with pytest.raises(TypeError, match="`net.relay` is a program, not an artifact: threads is an option of `Module.compile`"):
        relayc.load(tmp_path / "net.relay", threads=2)


def test_names_of_files_that_are_not_utf_8(tmp_path):
    folder = tmp_path / os.fsdecode(b"folder\xff")
    folder.mkdir()
    program, weights = folder / os.fsdecode(b"net\xff.relay"), folder / os.fsdecode(b"w\xff.npz")
    program.write_text("def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(%x, %w) }")
    relayc.save_params(weights, {"w": np.ones(2, "float32")})
    module = pickle.loads(pickle.dumps(relayc.load(program, params=weights)))
    assert repr(module) == "<relayc.Module 'net?.relay', sound>" and "net?.relay" in module._repr_html_()
    module.compile(threads=1).save(folder / os.fsdecode(b"net\xff.so"), targets="x86-64-v3")
    artifact = pickle.loads(pickle.dumps(relayc.load(folder / os.fsdecode(b"net\xff.so"), threads=1)))
    assert artifact(np.ones(2, "float32")).tolist() == [2, 2]
    assert str(relayc.parse(TWICE, program.name).check()) == "[]"


def test_bytes_are_no_path():
    for call, words in [
        (relayc.load, "found bytes: `relayc.parse` takes the text of a program, `relayc.import_onnx` the bytes of a model"),
        (relayc.load_params, "found bytes: `relayc.tvm.relay.load_param_dict` takes the bytes of a file"),
        (lambda data: relayc.save_params(data, {}), "expected the path of a file, found bytes"),
        (relayc.import_mxnet, "expected the path of a file, found bytes"),
    ]:
        with pytest.raises(TypeError, match=words):
            call(b"bytes")


def test_modules_pickle_with_their_weights():
    module = relayc.zoo.build("mlp", seed=3)
    again = pickle.loads(pickle.dumps(module))
    assert str(again) == str(module)
    for name, value in module.params.items():
        np.testing.assert_array_equal(again.params[name], value)


def test_drawings():
    module = relayc.parse(TWICE)
    assert "add" in module.draw() and module.draw("dot").startswith("digraph")
    assert "<svg" in module.draw("svg") and "iframe" in module._repr_html_()
    with pytest.raises(ValueError, match='"term", "dot", "svg" or "html"'):
        module.draw("png")


def test_a_notebook_shows_the_messages_about_a_program_without_a_drawing():
    shown = relayc.parse(WRONG, "<net>")._repr_html_()
    assert shown.startswith("<pre>") and "error[E0204]: there is no operator `nn.rulu`" in shown and "&lt;net&gt;:1:42" in shown


def test_the_zoo_lists_its_networks_and_builds_them():
    names = [network.name for network in relayc.zoo.networks()]
    assert {"mlp", "resnet", "mobilenet", "prelude"} <= set(names)
    with pytest.raises(ValueError, match="no network `mlq`"):
        relayc.zoo.build("mlq")
    assert relayc.zoo.build("mlp", seed=None, batch=4).params == {}


def test_pages_of_operators():
    assert relayc.ops.page("nn.relu").startswith("# nn.relu")
    assert "nn.conv2d" in relayc.ops.names() and "nn.conv2d" in relayc.ops.search("conv2d")
    with pytest.raises(KeyError, match="there is `nn.relu`"):
        relayc.ops.page("nn.rellu")


DATA = Path(__file__).resolve().parents[2] / "tests/golden/cli/data"


def test_models_of_onnx():
    file = DATA / "fixed.onnx"
    for module in (relayc.import_onnx(file), relayc.load(str(file))):
        np.testing.assert_array_equal(module.run(np.ones((1, 3, 4, 4), "float32")), np.full((1, 5), 6))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_models_of_onnx_from_their_bytes(kind):
    data = kind((DATA / "fixed.onnx").read_bytes())
    module = relayc.import_onnx(data, shapes={"x": (2, 3, 4, 4)})
    np.testing.assert_array_equal(module.run(np.ones((2, 3, 4, 4), "float32")), np.full((2, 5), 6))
    with pytest.raises(relayc.RelayError, match="`model.onnx`"):
        relayc.import_onnx(data[:20])
    with pytest.raises(TypeError, match="external_data: a model in memory has no folder"):
        relayc.import_onnx(data, external_data=True)


def test_doubts_about_models_are_warnings(monkeypatch):
    with pytest.warns(UserWarning, match="what they would compute are inputs of the program now") as raised:
        relayc.import_onnx(DATA / "unsupported.onnx", keep_going=True)
    assert raised[0].filename == __file__

    class Doubting:
        def import_model(self, *args, **kwargs):
            *found, doubts = relayc._relayc.import_model(*args, **kwargs)
            assert doubts == ""
            return (*found, "warning[W0001]: who knows\n")

    monkeypatch.setattr(_native, "_native", Doubting)
    with pytest.warns(UserWarning, match="who knows$") as raised:
        relay.frontend.from_onnx(model())
    assert raised[0].filename == __file__
