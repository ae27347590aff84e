"""Bad input: whatever a program of Python hands over, it gets an exception that says what is wrong, or a result; never a crash.

Random calls are drawn from fixed seeds. A crash of the native side shows as the end of the process, a broken invariant of it as an
exception that is no `Exception` (PyO3's PanicException).
"""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import itertools
import multiprocessing
import pickle
import random
import re
import signal
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import relayc
import relayc.tvm as tvm
from relayc import _relayc
from relayc.tvm import relay

SQUARE = "def @main(%x: Tensor[(512, 512), float32]) { add(%x, %x) }"
TWO = "def @main(%x: Tensor[(2), float32]) { (add(%x, %x), exp(%x)) }"


@pytest.fixture(scope="module")
def square() -> relayc.Executable:
    return relayc.parse(SQUARE).compile(threads=1)


def allocated(call: Callable[[], Any]) -> float:
    """The most memory that arrays take while a call runs, in arrays of 512 x 512."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / (512 * 512 * 4)
    finally:
        tracemalloc.stop()


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: x.T.copy().T,
    "strides": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "negative strides": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "big-endian": lambda x: x.astype(">f4"),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view("float32").reshape(x.shape),
}


def test_arrays_in_order_are_never_copied(square: relayc.Executable) -> None:
    x, room = np.ones((512, 512), "float32"), np.empty((512, 512), "float32")
    square(x)
    # The result alone, or nothing.
    assert allocated(lambda: square(x)) < 1.1
    assert allocated(lambda: square.run_into(room, x)) < 0.1
    assert (room == 2).all()


@pytest.mark.parametrize("name", LAYOUTS)
def test_other_layouts_are_copied_once_as_inputs_and_refused_as_outputs(square: relayc.Executable, name: str) -> None:
    x = np.random.default_rng(0).random((512, 512), "float32")
    other, room = LAYOUTS[name](x), np.empty((512, 512), "float32")
    square.run_into(room, other)
    np.testing.assert_array_equal(room, np.asarray(other, "float32") * 2)
    assert allocated(lambda: square.run_into(room, other)) < 1.1
    if name == "unaligned":
        # Of memory that may be written.
        other = np.frombuffer(bytearray(b"\0" + x.tobytes()), np.uint8)[1:].view("float32").reshape(x.shape)
    with pytest.raises((TypeError, ValueError), match="order|contiguous|read-only"):
        square.run_into(other, x)


def test_outputs_that_overlap_or_cannot_be_written(square: relayc.Executable) -> None:
    two = relayc.parse(TWO).compile(threads=1)
    x, long = np.ones(2, "float32"), np.zeros(5, "float32")
    for outputs in [(long[:2], long[1:3]), (x, long[:2]), (long[:2], x)]:
        with pytest.raises(ValueError, match="shares memory"):
            two.run_into(outputs, x)
    two.run_into((long[:2], long[2:4]), x)
    np.testing.assert_allclose(long, [2, 2, np.e, np.e, 0], rtol=1e-6)
    locked = np.zeros(2, "float32")
    locked.flags.writeable = False
    for bad in (locked, np.zeros(2), np.zeros(3, "float32"), b"12345678", None, 1.0, [0.0, 0.0], "ab", object()):
        with pytest.raises((TypeError, ValueError), match="output"):
            two.run_into((bad, long[:2]), x)
    for bad in (None, (), (long[:2],), (long[:2],) * 3, long[:2], 3, {"out": long}):
        with pytest.raises(TypeError, match="expected a tuple of 2"):
            two.run_into(bad, x)


@pytest.mark.parametrize(
    "value, error, words",
    [
        (np.zeros((0, 512), "float32"), ValueError, r"expected the shape \(512, 512\), found \(0, 512\)"),
        (np.zeros((512,), "float32"), ValueError, r"found \(512,\)"),
        (np.float32(1), ValueError, r"found \(\)"),
        (np.zeros((512, 512), "int32"), TypeError, "expected an array of float32, found int32"),
        (np.zeros((512, 512), "complex64"), TypeError, "found complex64"),
        (np.zeros((512, 512), "U3"), TypeError, "expected an array of float32"),
        (np.zeros((512, 512), [("a", "float32")]), TypeError, "expected an array of float32"),
        (np.zeros((512, 512), "datetime64[s]"), TypeError, "expected an array of float32"),
        (np.full((512, 512), None), TypeError, "expected an array of float32"),
        (object(), TypeError, "expected an array, found object"),
        ("text", TypeError, "expected an array, found str"),
        (b"bytes", TypeError, "expected an array of float32"),
        ([[1, 2], [3]], TypeError, "`x`"),
        ({"x": 1}, TypeError, "expected an array, found dict; arguments by name are given with `\\*\\*`"),
        (np.zeros((512, 512), "complex64"), TypeError, r'array\.real\.astype\("float32"\)'),
        (np.full((512, 512), None), TypeError, "found an array of objects"),
        ([[1e300]], TypeError, r"expected numbers of float32, found 1e\+300"),
        (np.ma.masked_array(np.zeros((512, 512), "float32"), mask=True), TypeError, r"array\.filled\(0\) has none"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_of_another_kind(square: relayc.Executable, value: Any, error: type, words: str) -> None:
    for call in (lambda: square(value), lambda: square(x=value)):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize(
    "dims, found, help",
    [
        ("(1, 3, 8, 9)", (1, 8, 9, 3), r"; array\.transpose\(0, 3, 1, 2\) makes NCHW of NHWC"),
        ("(1, 8, 9, 3)", (1, 3, 8, 9), r"; array\.transpose\(0, 2, 3, 1\) makes NHWC of NCHW"),
        ("(1, 3, 8, 9)", (8, 9, 3), r"; array\.transpose\(2, 0, 1\)\[None\] makes CHW of HWC"),
        ("(1, 3, 8, 9)", (3, 8, 9), r"; array\[None\] adds a first axis"),
        ("(1, 1, 8, 9)", (8, 9), r"; array\[None, None\] adds the first axes"),
        ("(n, 3)", (3,), r"; array\[None\] adds a first axis"),
        ("(2, 3)", (3, 2), r"; array\.transpose\(1, 0\) swaps the axes"),
        ("(3)", (1, 3), r"; array\[0\] drops the first axis"),
        ("()", (1,), r"; array\[0\] drops the first axis"),
        ("(3, 2)", (3, 2, 1), r"; array\.squeeze\(2\) drops an axis of one element"),
        ("(n, 2)", (3, 1, 2), r"; array\.squeeze\(1\) drops an axis of one element"),
        # One of several elements is not all of them.
        ("(3)", (2, 3), ""),
        ("(2, 3)", (4, 5), ""),
        ("(2, 3)", (), ""),
        ("(2)", (2, 2, 2), ""),
    ],
)
def test_shapes_that_another_view_has(dims: str, found: tuple[int, ...], help: str) -> None:
    executable = relayc.parse(f"def @main(%x: Tensor[{dims}, float32]) {{ %x }}").compile(threads=1)
    with pytest.raises(ValueError, match=rf"expected the shape .*, found \({re.escape(str(found)[1:])}{help}$") as raised:
        executable(np.zeros(found, "float32"))
    if help:
        view = str(raised.value).split("; ")[1].split(" makes")[0].split(" adds")[0].split(" drops")[0].split(" swaps")[0]
        executable(eval(view, {"array": np.zeros(found, "float32")}))


def test_values_that_say_themselves_why_they_are_no_arrays() -> None:
    class Recorded:
        def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
            raise RuntimeError("requires grad")

    executable = relayc.parse(TWO).compile(threads=1)
    with pytest.raises(TypeError, match="^`x`: requires grad$"):
        executable(Recorded())


def test_float32_for_bfloat16_says_what_makes_it() -> None:
    executable = relayc.parse("def @main(%x: Tensor[(2), bfloat16]) { add(%x, %x) }").compile(threads=1)
    for value in (np.ones(2, "float32"), [1, 2]):
        with pytest.raises(TypeError, match="give an array of ml_dtypes.bfloat16, or of its bits as uint16"):
            executable(value)


class Message:
    """Stands for an `onnx.ModelProto`."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def SerializeToString(self) -> bytes:
        return self.data


# A relu of two elements, of an operator set that does not exist.
NEWER = bytes.fromhex(
    "08083a330a0c0a0178120179220452656c751201675a0f0a0178120a0a08080112040a020802620f0a0179120a0a08080112040a02080242040a001063"
)


def test_models_are_paths_bytes_and_messages(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(NEWER)
    with pytest.warns(UserWarning, match=r"W0024.*operator set 99"):
        modules = [relayc.import_onnx(model) for model in (tmp_path / "net.onnx", NEWER, Message(NEWER))]
    assert [module.run([-1, 2]).tolist() for module in modules] == [[0, 2]] * 3
    with open(tmp_path / "net.onnx", "rb") as file:
        with pytest.raises(TypeError, match=r"expected the path of a file, found BufferedReader: `file.read\(\)`"):
            relayc.import_onnx(file)
    with pytest.raises(TypeError, match="expected the path of a file, found Message"):
        relayc.load(Message(NEWER))


@pytest.mark.parametrize("shape", [(None,), (-1,), (2.0,), 2, "2", ([2],)])
def test_shapes_that_are_none(shape: Any) -> None:
    with pytest.raises(TypeError, match=r'expected a shape for each name, \{"data": \(1, 3, 224, 224\)\} or .*"\?"'):
        relayc.import_onnx(NEWER, shapes={"x": shape})


def test_options_of_the_command_line_are_those_of_python() -> None:
    for shapes, words in (
        ({"z": (2,)}, r'`shapes=\{"z": …\}`: the model has no such input'),
        ({"x": (2, 3)}, r'`shapes=\{"x": \(2, 3\)\}`: the model says'),
    ):
        with pytest.raises(relayc.RelayError, match=words):
            relayc.import_onnx(NEWER, shapes=shapes)
    with pytest.raises(TypeError, match=r"set is \{'n': 4\}: expected a text or several"):
        relayc.load("net.relay", set={"n": 4})


def test_words_of_other_tools(square: relayc.Executable, tmp_path: Path) -> None:
    module = relayc.parse(TWO)
    for target, words in (("avx2", '"x86-64-v3" is AVX2'), ("llvm -mcpu=x", '"native" is the machine'), ("cuda", "x86-64 processors alone")):
        with pytest.raises(ValueError, match=f'expected "native", "x86-64-v3" or "x86-64-v4"; .*{words}'):
            module.compile(target=target)
    with pytest.raises(ValueError, match="has no flag `num_layers`: the flags of `resnet` are layers, batch, classes, image_shape,"):
        relayc.zoo.build("resnet", num_layers=18)
    np.savez(tmp_path / "w.npz", w=np.ones(2))
    with pytest.raises(relayc.RelayError, match=r'`params=".*w.npz"`\n.*`relayc.load_params\(".*w.npz"\)`'):
        relayc.load(tmp_path / "w.npz")


def test_files_that_are_written_where_they_are_not_meant(tmp_path: Path, square: relayc.Executable) -> None:
    params = {"w": np.ones(2, "float32")}
    with pytest.raises(TypeError, match="expected the path of a file, found dict"):
        relayc.save_params(params, tmp_path / "w.npz")
    with pytest.raises(TypeError, match="expected arrays by name, .* found Module"):
        relayc.save_params(tmp_path / "w.npz", relayc.parse(TWO))
    with pytest.raises(relayc.RelayError, match="E0721.*a shared object"):
        square.save(tmp_path / "square.onnx")
    assert not list(tmp_path.iterdir())


def test_ports_are_pickled(square: relayc.Executable) -> None:
    port = square.inputs[0]
    assert repr(pickle.loads(pickle.dumps(port))) == repr(port)
    assert repr(copy.deepcopy([port])) == repr([port])


def test_zero_sizes() -> None:
    executable = relayc.parse("def @main(%x: Tensor[(0, 3), float32]) { (nn.relu(%x), sum(%x, axis=[0])) }").compile(threads=1)
    empty, total = executable(np.zeros((0, 3), "float32"))
    assert empty.shape == (0, 3) and total.tolist() == [0, 0, 0]
    executable.run_into((empty, total), empty.copy())


RAW = np.array([0x3F80, 0x4000], "uint16")


@pytest.mark.parametrize("x", [RAW, RAW.view("V2"), RAW.astype(">u2"), RAW.repeat(2)[::2]], ids=["u2", "V2", ">u2", "strides"])
def test_two_raw_bytes_are_bfloat16(x: np.ndarray) -> None:
    executable = relayc.parse("def @main(%x: Tensor[(2), bfloat16]) { add(%x, %x) }").compile(threads=1)
    assert executable(x).view("uint16").tolist() == [0x4000, 0x4080]


def test_two_bytes_of_a_structure_are_not_bfloat16() -> None:
    executable = relayc.parse("def @main(%x: Tensor[(2), bfloat16]) { add(%x, %x) }").compile(threads=1)
    pairs = np.zeros(2, [("a", "u1"), ("b", "u1")])
    for call in (lambda: executable(pairs), lambda: executable(pairs[::-1]), lambda: executable.run_into(pairs, RAW)):
        with pytest.raises(TypeError, match="expected an array of bfloat16"):
            call()


def test_bits_of_numbers_and_of_booleans() -> None:
    nans = np.array([0x7F800001, 0xFFC12345, 0xFF800000], "uint32").view("float32")
    same = relayc.parse("def @main(%x: Tensor[(3), float32]) { reverse(%x, axis=0) }").compile(threads=1)
    assert np.array_equal(same(nans).view("uint32"), nans.view("uint32")[::-1])
    # Any byte but 0 is true, and comes out as 1.
    odd = np.frombuffer(bytes([0, 1, 2, 255]), np.bool_)
    for body in ("logical_and(%x, %x)", "equal(%x, True)", "cast(cast(%x, dtype=\"int32\"), dtype=\"bool\")", "%x"):
        module = relayc.parse(f"def @main(%x: Tensor[(4), bool]) {{ {body} }}")
        for engine in ("jit", "interp"):
            assert module.run(odd, engine=engine).view(np.uint8).tolist() == [0, 1, 1, 1], (body, engine)


@pytest.mark.parametrize(
    "dtype, value",
    [("float32", 1e39), ("float16", [1, -7e4]), ("int64", 2**63), ("int64", 2**64), ("uint64", -1), ("uint64", 2**64), ("uint64", [1, -1]), ("int32", 2**31), ("int8", [1, 300]),
     ("uint8", -1), ("bool", 2), ("int32", float("nan")), ("int32", 1e300), ("float32", 10**400)],
)  # fmt: skip
def test_numbers_that_no_tensor_of_the_type_holds(dtype: str, value: Any) -> None:
    shape = f"({len(value)})" if isinstance(value, list) else "()"
    module = relayc.parse(f"def @main(%x: Tensor[{shape}, {dtype}]) {{ %x }}")
    for engine in ("jit", "interp"):
        with pytest.raises(TypeError, match="expected numbers"):
            module.run(value, engine=engine)


HUGE = [0, -1, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 2**70]


@pytest.mark.parametrize("number", HUGE)
def test_numbers_as_options(number: int) -> None:
    module = relayc.parse(TWO)
    for call in (
        lambda: module.draw(width=number),
        lambda: module.compile(threads=number),
        lambda: module.compile(level=number or 9, threads=1),
        lambda: relayc.zoo.build("mlp", batch=number),
        lambda: relayc.read_image("picture.png", "unit", np.broadcast_to(np.float32(0), (1, 3, 8, max(0, min(number, 2**40))))),
    ):
        with pytest.raises((ValueError, OverflowError, relayc.RelayError)):
            call()
    for call in (
        lambda: module.draw(depth=number, around="%x"),
        lambda: module.compile(sizes=number, threads=1),
        lambda: module.optimize(level=number),
        lambda: relayc.zoo.build("mlp", seed=number),
        lambda: module.compile(threads=1).bench(seconds=-abs(number) - 1),
    ):
        expect_exception(call)


@pytest.mark.parametrize("engine", ["jit", "interp"])
def test_tensors_larger_than_the_memory_of_the_machine(engine: str) -> None:
    pages = int(re.search(r"MemTotal: *(\d+) kB", Path("/proc/meminfo").read_text())[1]) // 4
    module = relayc.parse(f"def @main() {{ sum(sort(zeros(shape=[{pages}, 1024], dtype=\"float32\"))) }}")
    with pytest.raises(relayc.RelayError, match="E0803"):
        module.run(engine=engine)


def test_arrays_that_are_no_outputs_of_a_flat_run() -> None:
    two, x = relayc.parse(TWO).compile(threads=1), np.ones(2, "float32")
    for outputs in ([], [x.copy()], [x.copy() for _ in range(3)]):
        with pytest.raises(TypeError, match=f"expected 2 tensors, found {len(outputs)}"):
            two._run_flat([x], outputs)


class Lying:
    """An object that has the protocols of arrays, and breaks them."""

    def __init__(self, **has: Any) -> None:
        self.__dict__.update(has)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


LIARS = [
    Lying(__array_interface__={"shape": (512, 512), "typestr": "<f4", "version": 3}),
    Lying(__array_interface__="nothing"),
    type("Raises", (), {"__array__": lambda *_, **__: 1 / 0})(),
    type("Lists", (), {"__array__": lambda *_, **__: [1]})(),
    type("Raises", (), {"__dlpack__": lambda *_, **__: 1 / 0, "__dlpack_device__": lambda _: (1, 0)})(),
    type("Strange", (), {"__dlpack__": lambda *_, **__: "capsule", "__dlpack_device__": lambda _: (1, 0)})(),
    type("Remote", (), {"__dlpack__": lambda *_, **__: None, "__dlpack_device__": lambda _: (2, 0)})(),
]


@pytest.mark.parametrize("liar", LIARS, ids=lambda liar: type(liar).__name__)
def test_objects_that_break_the_protocols_of_arrays(square: relayc.Executable, liar: Any) -> None:
    with pytest.raises(Exception):
        square(liar)
    with pytest.raises(Exception):
        square.run_into(liar, np.zeros((512, 512), "float32"))


class Subclass(np.ndarray):
    """An array of another class."""


def test_subclasses_of_arrays_are_arrays(square: relayc.Executable) -> None:
    x = np.ones((512, 512), "float32").view(Subclass)
    assert (square(x) == 2).all()
    assert (square(np.ma.masked_array(x, mask=False)) == 2).all()


def test_objects_that_die_while_they_are_used() -> None:
    executable = relayc.parse("def @main(%x: Tensor[(512, 512), float32]) { nn.dense(%x, %x, units=512) }").compile(threads=1)
    kept: dict[str, Any] = {}
    ended = threading.Event()

    def drop() -> None:
        while not ended.is_set():
            kept.clear()
            gc.collect(0)

    thread = threading.Thread(target=drop)
    thread.start()
    try:
        for n in range(1, 12):
            # Of these, the call alone holds on to the memory, at the latest when the other thread was here.
            kept["x"], kept["out"] = np.full((512, 512), n, "float32"), np.empty((512, 512), "float32")
            args = [kept.get("x", np.full((512, 512), n, "float32"))]
            assert executable(*args, **{})[0, 0] == 512 * n * n
            room = bytearray(4 * 512 * 512)
            executable.run_into(memoryview(room).cast("f", (512, 512)), args.pop())
            # A run that has ended holds no memory.
            room.clear()
    finally:
        ended.set()
        thread.join()


class DropsOther:
    """An argument that, while it is converted, takes the arguments before it from the caller."""

    def __init__(self, args: list) -> None:
        self.args = args

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        self.args.clear()
        gc.collect()
        return np.ones(2, "float32")


def test_conversions_that_change_the_arguments() -> None:
    executable = relayc.parse("def @main(%t: (Tensor[(2), float32], Tensor[(2), float32])) { add(%t.0, %t.1) }").compile(threads=1)
    args: list = []
    args += [np.full(2, 3, "float32"), DropsOther(args)]
    try:
        assert executable(args).tolist() == [4, 4]
    except (TypeError, IndexError) as error:
        assert str(error)
    assert executable([np.zeros(2, "float32"), np.ones(2, "float32")]).tolist() == [1, 1]


def test_threads_with_good_and_bad_calls(square: relayc.Executable) -> None:
    wrong: list = []

    def work(n: int) -> None:
        x, room = np.full((512, 512), n, "float32"), np.empty((512, 512), "float32")
        for at in range(60):
            try:
                square.run_into(room, x if at % 3 else x[:1])
                if not (room == 2 * n).all():
                    wrong.append(n)
            except ValueError:
                wrong.extend([n] if at % 3 else [])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


_EXECUTABLE: Any = None


def _hold(executable: relayc.Executable) -> None:
    global _EXECUTABLE
    _EXECUTABLE = executable


def _apply(n: int) -> float:
    return float(_EXECUTABLE(np.full((512, 512), n, "float32"))[3, 4])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_take_executables(square: relayc.Executable, method: str) -> None:
    square(np.zeros((512, 512), "float32"))
    with multiprocessing.get_context(method).Pool(2, _hold, (square,)) as pool:
        assert pool.map_async(_apply, range(8)).get(timeout=120) == [2.0 * n for n in range(8)]


def test_pickles_that_were_changed(square: relayc.Executable) -> None:
    data = pickle.dumps(square)
    draw = random.Random(0)
    for _ in range(200):
        # Below the text of the program, which may be any.
        changed = bytearray(data)
        changed[draw.randrange(len(data) // 2, len(data))] = draw.randrange(256)
        expect_exception(lambda: pickle.loads(bytes(changed)))
    function, args = square.__reduce__()
    for at in range(len(args)):
        for value in (None, "", b"", 3, ("main", 1), ("main", 0, "fast", "native", 9, -1), object()):
            expect_exception(lambda: function(*args[:at], value, *args[at + 1 :]))


def test_a_handler_that_raises_ends_a_run_and_leaves_it_usable() -> None:
    layers = " ".join(f"%{n} = nn.dense(%{n - 1}, %x, units=300);" for n in range(1, 1500))
    text = f"def @main(%x: Tensor[(300, 300), float32]) {{ %0 = nn.dense(%x, %x, units=300); {layers} %1499 }}"
    executable, x = relayc.parse(text).compile(threads=1, level=0), np.zeros((300, 300), "float32")

    class Rang(BaseException):
        pass

    def ring(*_: Any) -> None:
        raise Rang

    before = signal.signal(signal.SIGALRM, ring)
    try:
        for _ in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            start = time.monotonic()
            with pytest.raises(Rang):
                while True:
                    executable(x)
            assert time.monotonic() - start < 10
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not executable(x).any()


DEEP = 100_000


def nested(make: Callable[[Any], Any], inner: Any, depth: int = DEEP) -> Any:
    for _ in range(depth):
        inner = make(inner)
    return inner


def deep_programs() -> dict[str, Callable[[], relay.Function]]:
    """Programs that are deep in ways that test_structure.py has not: made of functions, of references, of matches, and of types."""
    x = relay.var("x", shape=(2,))

    def function(body: Any) -> relay.Function:
        return relay.Function([x], body)

    def local(value: Any) -> relay.Let:
        v = relay.Var("v")
        return relay.Let(v, value, v)

    return {
        "calls of functions": lambda: function(nested(lambda y: relay.Call(relay.Function([], y), []), x)),
        "references": lambda: function(nested(lambda y: relay.RefRead(relay.RefCreate(y)), x)),
        "values of lets": lambda: function(nested(local, x)),
        "matches": lambda: function(nested(lambda y: relay.Match(y, [relay.Clause(relay.PatternWildcard(), x)]), x)),
        "types": lambda: relay.Function([], relay.Var("y", nested(lambda ty: relay.TupleType([ty]), relay.TensorType((2,))))),
        "patterns": lambda: function(
            relay.Match(x, [relay.Clause(nested(lambda p: relay.PatternTuple([p]), relay.PatternWildcard()), x)])
        ),
    }


# Each level is indented, 1,000 deep: the texts of these are of hundreds of megabytes, as is what an error of inference shows.
INDENTED = ("calls of functions", "values of lets", "matches")


@pytest.mark.parametrize("name", deep_programs())
def test_deep_programs_are_printed_compared_and_freed(name: str) -> None:
    one, other = deep_programs()[name](), deep_programs()[name]()
    if name not in INDENTED:
        expect_exception(lambda: one.astext())
    assert tvm.ir.structural_equal(one, other, map_free_vars=True)
    if name not in INDENTED:
        expect_exception(lambda: relay.transform.InferType()(tvm.IRModule.from_expr(one)))
    del one, other
    gc.collect()


def test_deep_attributes_are_an_error() -> None:
    x = relay.var("x", shape=(2,))
    for make in (lambda a: relay.reshape(x, a), lambda a: relay.Function([x], x).with_attr("key", a)):
        expect_exception(lambda: str(make(nested(lambda a: [a], 1, 10_000))))


# Python raises these without a text.
SILENT = (RecursionError, MemoryError, AssertionError, EOFError)


def expect_exception(call: Callable[[], Any]) -> None:
    """Calls: an `Exception` with a text is as good as a result."""
    try:
        call()
    except Exception as error:
        assert not isinstance(error, SystemError), repr(error)
        # What is in a KeyError may be a node without a text.
        assert isinstance(error, (*SILENT, KeyError)) or str(error), repr(error)


class Hostile:
    """Nothing can be asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class Endless:
    """It has everything, which is itself."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter([self])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self


class Disguised:
    """It says that it is a node, and its parts are new each time."""

    def __init__(self, kind: str, depth: int = 3) -> None:
        self._kind, self._depth = kind, depth

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self._depth == 0:
            raise AttributeError(name)
        part = Disguised(self._kind, self._depth - 1)
        return [Disguised("Var", 0), part] if name in ("args", "fields", "params", "patterns", "clauses") else part


KINDS = "Var GlobalVar Call Function Let If Tuple TupleGetItem Constant Match RefCreate Op Constructor TensorType TupleType FuncType \
TypeCall TypeVar PatternVar PatternTuple IntImm tir.Add tir.Any x".split()


def plain_values() -> list:
    numbers = [None, True, 0, -1, 2**70, 1.5, float("nan"), np.float32(1), np.zeros(0), np.zeros(2, ">f4"), np.array([object()])]
    texts = ["", "x", "main", "float32", "int99", "add", "\0", "\ud800", "é" * 50, "1" * 5000, b"", b"\0\xff" * 30, "def @main() { 1f }"]
    others = [[], [1], (), (None,), {}, {"x": 1}, {1: 2}, object(), int, len, Hostile(), memoryview(b"ab"), set("a")]
    return numbers + texts + others + [Disguised(kind) for kind in KINDS]


def required(function: Callable[..., Any]) -> int:
    try:
        return sum(p.default is p.empty and p.kind in (0, 1) for p in inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return 2


def call_at_random(functions: list, values: list, draw: random.Random) -> Any:
    """One call of one function; its result, or None."""
    function = draw.choice(functions)
    args = [draw.choice(values) for _ in range(draw.choice([required(function), draw.randrange(5)]))]
    result: list = []
    expect_exception(lambda: result.append(function(*args)))
    return result[0] if result else None


# What writes files, or ends or forks processes.
LEFT_OUT = {"forked", "write_weights", "save_params", "save", "_write_artifact", "set_rendering", "bench", "profile", "_repr_html_"}


def test_garbage_to_every_public_function() -> None:
    sound, wrong = relayc.parse(TWO), relayc.parse("def @main() { addd() }")
    executable = sound.compile(threads=1)
    owners: list = [_relayc, relayc, relayc.zoo, relayc.ops, sound, wrong, executable]
    named = [(name, owner) for owner in owners for name in dir(owner) if name not in LEFT_OUT]
    named = [(name, owner) for name, owner in named if not name.startswith("__") or name in ("__call__", "__reduce__")]
    functions = [getattr(owner, name) for name, owner in named if not inspect.ismodule(inspect.getattr_static(owner, name))]
    functions = [function for function in functions if callable(function)]
    functions += [functools.partial(executable.bench, seconds=0, warmup=0), functools.partial(executable.profile, seconds=0)]
    assert len(functions) > 60
    values = plain_values() + [Endless(), sound, wrong, sound._native, wrong._native, executable, "term", "onnx", "mlp", ["a=1"]]
    draw = random.Random(1)
    for _ in range(2000):
        call_at_random(functions, values, draw)


def node_makers() -> list:
    """The constructors of nodes, and functions that make nodes."""
    owners = [relay, tvm.ir, tvm.tir, tvm.nd, tvm.runtime, tvm.target]
    classes = {value for owner in owners for value in vars(owner).values() if inspect.isclass(value)}
    nodes = [c for c in classes if issubclass(c, tvm.runtime.Object)]
    operators = [value for owner in (relay, relay.nn) for value in vars(owner).values() if inspect.isfunction(value)]
    left_out = {"build", "optimize", "create_executor", "fromtext"}
    makers = nodes + [function for function in operators if function.__name__ not in left_out]
    return sorted(makers, key=lambda maker: (maker.__module__, maker.__qualname__))


def use(node: Any) -> None:
    """Has a node, if it is one, cross to the native side and come back."""
    if isinstance(node, relay.Expr):
        expect_exception(lambda: str(node))
        expect_exception(lambda: relay.transform.InferType()(tvm.IRModule.from_expr(node)))
    elif isinstance(node, (relay.Type, relay.Pattern, tvm.IRModule)):
        expect_exception(lambda: str(node))


def test_garbage_to_the_constructors_of_nodes() -> None:
    draw, makers = random.Random(2), node_makers()
    assert len(makers) > 250
    x, a = relay.var("x", shape=(2, 3)), relay.TypeVar("a")
    values = plain_values() + [x, a, relay.const(1.0), relay.TensorType((2,)), relay.op.get("add"), relay.GlobalVar("f"), tvm.nd.array(1)]
    for _ in range(6000):
        made = call_at_random(makers, values, draw)
        use(made)
        if isinstance(made, tvm.runtime.Object) and len(values) < 400:
            values.append(made)


def programs() -> Iterator[relay.Function]:
    x, w = relay.var("x", shape=(2, 3)), relay.const(np.ones((4, 3), "float32"))
    y = relay.nn.relu(relay.nn.dense(x, w))
    yield relay.Function([x], relay.TupleGetItem(relay.Tuple([y, relay.nn.softmax(y)]), 1))
    c, v, r = relay.var("c", shape=(), dtype="bool"), relay.var("v"), relay.var("r")
    yield relay.Function([c, x], relay.If(c, relay.Let(v, x, v + v), relay.strided_slice(x, [0, 0], [2, 1])))
    yield relay.Function([x], relay.Let(r, relay.RefCreate(x), relay.RefRead(r)))
    yield relay.Function([x], relay.Match(x, [relay.Clause(relay.PatternVar(v), v)]))


def parts(root: Any) -> list:
    """All nodes of a program."""
    seen, stack = {}, [root]
    while stack:
        node = stack.pop()
        if isinstance(node, tvm.runtime.Object) and id(node) not in seen:
            seen[id(node)] = node
            for value in vars(node).values():
                stack.extend(value if isinstance(value, (tuple, list)) else [value])
    return list(seen.values())


def test_nodes_whose_fields_were_overwritten() -> None:
    """Fields are not protected: a node can even be a part of itself."""
    draw = random.Random(3)
    for _ in range(300):
        function = draw.choice(list(programs()))
        # Operators and the numbers of dimensions are shared by all programs.
        nodes = [node for node in parts(function) if not isinstance(node, (tvm.ir.Op, tvm.tir.IntImm))]
        values = plain_values() + nodes
        for _ in range(draw.randrange(1, 4)):
            node = draw.choice(nodes)
            if vars(node):
                setattr(node, draw.choice(list(vars(node))), draw.choice(values))
        module = tvm.IRModule()
        expect_exception(lambda: module.update_func(relay.GlobalVar("main"), function))
        expect_exception(lambda: _relayc.astext(function, True))
        expect_exception(lambda: _relayc.native_of(module))
        expect_exception(lambda: _relayc.run_pass(module, "fuse-ops"))


INDEXED = {
    "scatter_elements": (
        "def @main(%x: Tensor[(4096), float32], %i: Tensor[(4096), int32]) "
        '{ scatter_elements(%x, %i, %x, axis=0, reduction="add", attrs_type_key="relay.attrs.ScatterElementsAttrs") }'
    ),
    "scatter_nd": (
        "def @main(%x: Tensor[(64, 64), float32], %i: Tensor[(1, 64), int32]) "
        '{ scatter_nd(%x, %i, %x, mode="add", attrs_type_key="relay.attrs.ScatterNDAttrs") }'
    ),
    "columns of a sparse matrix": (
        "def @main(%x: Tensor[(8, 64), float32], %w: Tensor[(128), float32], %i: Tensor[(128), int32], %p: Tensor[(65), int32]) "
        '{ nn.sparse_dense(%x, %w, %i, %p, attrs_type_key="relay.attrs.SparseDenseAttrs") }'
    ),
    "rows of a sparse matrix": (
        "def @main(%x: Tensor[(8, 64), float32], %w: Tensor[(128), float32], %c: Tensor[(128), int32], %i: Tensor[(65), int32]) "
        '{ nn.sparse_dense(%x, %w, %c, %i, attrs_type_key="relay.attrs.SparseDenseAttrs") }'
    ),
    "take": (
        "def @main(%x: Tensor[(64, 64), float32], %i: Tensor[(4096), int32]) "
        '{ take(%x, %i, axis=0, mode="fast") }'
    ),
    "counts of boxes": (
        "def @main(%b: Tensor[(4, 64, 6), float32], %i: Tensor[(4), int32], %n: Tensor[(4, 64), int32]) "
        '{ vision.non_max_suppression(%b, %i, %n, -1, 0.5f, attrs_type_key="relay.attrs.NonMaximumSuppressionAttrs") }'
    ),
    "regions": (
        "def @main(%x: Tensor[(2, 3, 32, 32), float32], %i: Tensor[(64, 5), float32]) { vision.roi_align(%x, %i, "
        'pooled_size=[3, 3], spatial_scale=1f, sample_ratio=-1, attrs_type_key="relay.attrs.ROIAlignAttrs") }'
    ),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices_that_change_while_a_run_goes_lead_nowhere_else(name: str) -> None:
    """The numbers mean nothing then, but each place that is read or written is one of the tensors."""
    net = relayc.parse('#[version = "0.0.5"]\n' + INDEXED[name]).compile(threads=2)
    given = {port.name: np.zeros(port.shape, port.dtype) for port in net.inputs}
    flat, stop = given["i"].reshape(-1), threading.Event()

    def change() -> None:
        wrong = [2**31 - 128, -(2**31), -1, 10**6]
        for step in itertools.count():
            if stop.is_set():
                return
            flat[step * 7919 % flat.size] = wrong[step % len(wrong)]
            flat[:] = 0

    other = threading.Thread(target=change)
    other.start()
    try:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            try:
                net(**given)
            except relayc.RelayError as error:
                # A region of many points is refused before an index is.
                assert error.code in ("E0501", "E0506"), error
    finally:
        stop.set()
        other.join()
