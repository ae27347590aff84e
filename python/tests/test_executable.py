"""Compiled programs: arguments, memory, threads, signals, processes, files."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import relayc
import relayc.tvm as tvm
from relayc.tvm import relay

PAIR = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { (add(%x, %y), (sum(%x, axis=[1]), %y)) }"
RELU = "def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }"
X, Y = np.arange(6, dtype="float32").reshape(2, 3), np.ones(3, "float32")


def compiled(text, **options):
    return relayc.parse(text).compile(**{"threads": 1, **options})


@pytest.fixture(scope="module")
def pair():
    return compiled(PAIR)


def test_arguments_by_position_and_name(pair):
    for result in (pair(X, Y), pair(X, y=Y), pair(y=Y, x=X)):
        total, (rows, y) = result
        np.testing.assert_array_equal(total, X + 1)
        np.testing.assert_array_equal(rows, [3, 12])
        np.testing.assert_array_equal(y, Y)
    assert [(port.name, port.dtype, port.shape) for port in pair.inputs] == [("x", "float32", (2, 3)), ("y", "float32", (3,))]
    assert [port.name for port in pair.outputs] == ["out.0", "out.1.0", "out.1.1"]
    assert pair.options["threads"] == 1 and pair.parameters == ["x", "y"]


@pytest.mark.parametrize(
    "args, kwargs, error, words",
    [
        ((X,), {}, TypeError, "`y` is missing; the inputs are: x, y"),
        ((X, Y, Y), {}, TypeError, "at most 2 arguments, found 3"),
        ((X,), {"yy": Y}, TypeError, "there is no input `yy`; there is `y`"),
        ((X, Y), {"x": X}, TypeError, "`x` is given by position and by name"),
        ((X.astype("float64"), Y), {}, TypeError, 'expected an array of float32, found float64; convert it: array.astype'),
        ((X.T, Y), {}, ValueError, r"expected the shape \(2, 3\), found \(3, 2\)"),
        ((np.zeros((0, 3), "float32"), Y), {}, ValueError, r"found \(0, 3\)"),
        ((X, "three"), {}, TypeError, "expected an array, found str"),
        ((X, None), {}, TypeError, "found NoneType"),
        ((X, [1, 2, "3"]), {}, TypeError, "expected numbers"),
        ((X, np.array([1, 2, object()])), {}, TypeError, "expected an array of float32"),
    ],
)
def test_wrong_arguments_say_what_is_expected(pair, args, kwargs, error, words):
    with pytest.raises(error, match=words):
        pair(*args, **kwargs)


def test_other_layouts_are_copied_as_inputs(pair):
    wide = np.zeros((4, 6), "float32")
    wide[::2, ::2] = X
    packed = np.frombuffer(b"\0" + X.tobytes(), dtype="float32", offset=0, count=0)
    unaligned = np.frombuffer(bytearray(b"\0" + X.tobytes()), dtype=np.uint8)[1:].view("float32").reshape(2, 3)
    assert packed.size == 0 and not unaligned.flags.aligned
    for x in (np.asfortranarray(X), wide[::2, ::2], X.astype(">f4"), unaligned, X.tolist()):
        np.testing.assert_array_equal(pair(x, Y)[0], X + 1)
    read_only = X.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(pair(read_only, Y)[0], X + 1)


def test_outputs_are_written_in_place(pair):
    total, rows, y = np.empty((2, 3), "float32"), np.empty(2, "float32"), np.empty(3, "float32")
    assert pair.run_into((total, (rows, y)), X, Y) is None
    np.testing.assert_array_equal(total, X + 1)
    np.testing.assert_array_equal(rows, [3, 12])


def test_outputs_that_cannot_be_written_in_place_are_refused(pair):
    rows, y = np.empty(2, "float32"), np.empty(3, "float32")
    total = np.empty((2, 3), "float32")
    locked = total.copy()
    locked.flags.writeable = False
    refused = [
        ((total, (rows, Y)), ValueError, "output 2 shares memory with an input"),
        ((locked, (rows, y)), ValueError, "read-only"),
        ((np.asfortranarray(total), (rows, y)), ValueError, "not contiguous"),
        ((total.astype("float64"), (rows, y)), TypeError, "expected an array of float32"),
        ((total.astype(">f4"), (rows, y)), TypeError, "byte order"),
        ((total[:1], (rows, y)), ValueError, "expected the shape"),
        ((total, rows), TypeError, "expected a tuple of 2"),
        (([1, 2], (rows, y)), TypeError, "^output `out.0`: expected an array to write into, found list"),
        (({}, (rows, y)), TypeError, "^output `out.0`: expected an array, found dict"),
        ((total, (total[0, :2], y)), ValueError, "shares memory with another output"),
    ]
    for outputs, error, words in refused:
        with pytest.raises(error, match=words):
            pair.run_into(outputs, X, Y)


class Copied:
    """An object that gives copies of its memory."""

    def __array__(self, dtype=None, copy=None):
        return X.copy()


class Foreign:
    """A tensor of another library: memory by DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_memory_of_other_libraries(pair):
    np.testing.assert_array_equal(pair(Foreign(X), memoryview(Y))[0], X + 1)
    result = pair(X, Y)[0]
    np.testing.assert_array_equal(np.from_dlpack(result), X + 1)
    np.testing.assert_array_equal(pair(Copied(), Y)[0], X + 1)
    with pytest.raises(TypeError, match="Copied gives a copy of its memory"):
        pair.run_into((Copied(), (np.empty(2, "float32"), np.empty(3, "float32"))), X, Y)
    room = bytearray(4 * 4)
    executable = compiled("def @main(%x: Tensor[(4), float32]) { exp(%x) }")
    executable.run_into(memoryview(room).cast("f"), np.zeros(4, "float32"))
    np.testing.assert_array_equal(np.frombuffer(room, "float32"), np.ones(4))


@pytest.mark.parametrize("dtype", "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())
def test_every_element_type(dtype):
    x = np.array([0, 1, 1], dtype)
    executable = compiled(f"def @main(%x: Tensor[(3), {dtype}]) {{ reverse(%x, axis=0) }}")
    result = executable(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x[::-1])


def test_bfloat16_is_two_raw_bytes():
    executable = compiled("def @main(%x: Tensor[(2), bfloat16]) { add(%x, %x) }")
    one, two = 0x3F80, 0x4000
    numbers = np.array([one, two], "uint16")
    arrays = [numbers, numbers.view("V2")]
    try:
        import ml_dtypes

        arrays.append(numbers.view(ml_dtypes.bfloat16))
    except ImportError:
        pass
    for x in arrays:
        result = executable(x)
        assert result.dtype == np.dtype("V2")
        assert result.view("uint16").tolist() == [two, 0x4080]


class Torch:
    """Stands for a tensor of torch whose element type NumPy does not have."""

    dtype = "torch.bfloat16"

    def __dlpack__(self, **kwargs):
        raise BufferError("not reached")

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Got unsupported ScalarType BFloat16")


def test_bfloat16_of_torch_is_refused_with_a_way():
    executable = compiled("def @main(%x: Tensor[(2), bfloat16]) { add(%x, %x) }")
    with pytest.raises(TypeError, match=r'`x`: Got .* BFloat16; .*tensor.view\(torch.int16\).numpy\(\).view\("uint16"\)'):
        executable(Torch())


def test_numbers_become_tensors_without_loss():
    executable = compiled("def @main(%n: int32, %x: float32) { multiply(cast(%n, dtype=\"float32\"), %x) }")
    assert executable(3, 0.5) == 1.5 and executable(np.int32(3), np.float32(0.5)).shape == ()
    with pytest.raises(TypeError, match="expected numbers of int32, found 2.5"):
        executable(2.5, 1.0)


def test_open_sizes_are_compiled_when_they_come():
    executable = compiled(RELU)
    assert executable.inputs[0].shape == ("n", 4)
    for n in (1, 3, 1, 0):
        result = executable(np.full((n, 4), -1, "float32"))
        assert result.shape == (n, 4) and not result.any()
    with pytest.raises(ValueError, match=r"expected the shape \(n, 4\), found \(2, 5\)"):
        executable(np.zeros((2, 5), "float32"))
    both = compiled("def @main(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { add(%x, %y) }")
    with pytest.raises(relayc.RelayError, match="E0705"):
        both(np.zeros(2, "float32"), np.zeros(3, "float32"))
    assert both(np.ones(2, "float32"), np.ones(2, "float32")).tolist() == [2, 2]


@pytest.mark.parametrize("size", ["5", "n"])
def test_sizes_that_data_decide(size):
    executable = compiled(f"def @main(%x: Tensor[({size}), float32]) {{ argwhere(%x) }}")
    x = np.array([1, 0, 2, 0, 3], "float32")
    for _ in range(2):
        assert executable(x).tolist() == [[0], [2], [4]]
    room = np.empty((3, 1), "int32")
    executable.run_into(room, x)
    assert room.tolist() == [[0], [2], [4]]


def test_failures_of_a_run_are_errors_and_leave_it_usable():
    executable = compiled("def @main(%x: Tensor[(2), int32], %y: Tensor[(2), int32]) { floor_divide(%x, %y) }")
    x = np.array([6, 8], "int32")
    with pytest.raises(relayc.RelayError, match="E0502"):
        executable(x, np.array([2, 0], "int32"))
    assert executable(x, np.array([2, 4], "int32")).tolist() == [3, 2]


def test_options_are_checked():
    module = relayc.parse(RELU)
    for options, words in [
        ({"accuracy": "exact"}, '"fast" or "strict"'),
        ({"target": "arm"}, '"native", "x86-64-v3" or'),
        ({"threads": 0}, "from 1 to"),
        ({"level": 9}, "from 0 to 3"),
        ({"threads": -1}, "threads is -1: expected a number from 1 to 1024"),
        ({"threads": 10**30}, f"threads is {10**30}: expected a number from 1 to 1024"),
        ({"level": -1}, "level is -1: expected a number from 0 to 3"),
        ({"sizes": 0}, "sizes is 0: expected a number from 1 to"),
        ({"sizes": -1}, "sizes is -1: expected a number from 1 to"),
    ]:
        with pytest.raises(ValueError, match=words):
            module.compile(**options)
    with pytest.raises(relayc.RelayError, match="there is no function `@other`"):
        module.compile(entry="other")


def test_threads_call_one_executable():
    executable = relayc.zoo.build("mlp").compile(threads=2)
    x = np.random.default_rng(0).random((1, 1, 28, 28), "float32")
    wanted, failed = executable(x), []

    def call():
        for _ in range(200):
            if not np.array_equal(executable(x), wanted):
                failed.append(threading.get_ident())

    threads = [threading.Thread(target=call) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed


def test_arguments_live_while_they_are_used():
    executable = compiled("def @main(%x: Tensor[(512, 512), float32]) { nn.dense(%x, %x, units=512) }")
    for n in range(5):
        # Nobody but the call has this array.
        assert executable(np.full((512, 512), n, "float32"))[0, 0] == 512 * n * n


def test_pickles_as_program_and_is_compiled_anew(pair):
    again = pickle.loads(pickle.dumps(pair))
    np.testing.assert_array_equal(again(X, Y)[0], X + 1)
    network = relayc.zoo.build("mlp").compile(threads=1, accuracy="strict")
    data = pickle.dumps(network)
    x = np.random.default_rng(1).random((1, 1, 28, 28), "float32")
    assert pickle.loads(data).options == network.options
    np.testing.assert_array_equal(pickle.loads(data)(x), network(x))


def test_artifacts_are_saved_loaded_and_pickled_by_path(tmp_path):
    module = relayc.zoo.build("mlp")
    executable, x = module.compile(threads=1), np.random.default_rng(2).random((1, 1, 28, 28), "float32")
    executable.save(tmp_path / "net.so", targets=["x86-64-v3"])
    loaded = relayc.load(tmp_path / "net.so", threads=1)
    np.testing.assert_allclose(loaded(data=x), executable(x), rtol=1e-4, atol=1e-6)
    data = pickle.dumps(loaded)
    assert len(data) < 1000
    np.testing.assert_array_equal(pickle.loads(data)(x), loaded(x))
    room = np.empty((1, 10), "float32")
    loaded.run_into(room, x)
    np.testing.assert_array_equal(room, loaded(x))
    for options in ({"params": {}}, {"set": "n=1"}):
        with pytest.raises(TypeError, match="compiled already, .*: params and set are for its program, before `Module.compile`"):
            relayc.load(tmp_path / "net.so", **options)
    # What it was compiled for is not known of an artifact.
    assert loaded.options == {"entry": "main", "threads": 1}
    with pytest.raises(TypeError, match="needs the program"):
        loaded.profile(x)


def test_artifacts_of_several_sizes(tmp_path):
    executable = compiled(RELU)
    for options in ({"targets": 3}, {"targets": [3]}, {"sizes": 3}):
        with pytest.raises(TypeError, match=r"is \[?3\]?: expected a text or several"):
            executable.save(tmp_path / "net.so", **options)
    with pytest.raises(relayc.RelayError, match="`sizes` names several") as raised:
        executable.save(tmp_path / "net.so")
    assert "--" not in str(raised.value)
    executable.save(tmp_path / "list.so", targets=["x86-64-v3"], sizes=["n=1,3"])
    executable.save(tmp_path / "net.so", targets="x86-64-v3", sizes="n=1,3")
    loaded = relayc.load(tmp_path / "net.so", threads=1)
    assert loaded.inputs[0].shape == ("n", 4)
    assert loaded(np.ones((3, 4), "float32")).shape == (3, 4)
    with pytest.raises(relayc.RelayError, match=r"E0719[^$]*`Executable.save\(path, sizes=…\)` names the sizes"):
        loaded(np.ones((2, 4), "float32"))


def test_artifacts_refuse_other_weights(tmp_path):
    x, w = relay.var("x", shape=(2, 8)), np.random.default_rng(3).random((4, 8), "float32")
    function = relay.Function([x], relay.nn.dense(x, relay.const(w)))
    library = relay.build(tvm.IRModule.from_expr(function), target="llvm")
    library.export_library(str(tmp_path / "net.so"))
    loaded = tvm.contrib.graph_executor.GraphModule(tvm.runtime.load_module(str(tmp_path / "net.so"))["default"](tvm.cpu()))
    (name, value), = library.get_params().items()
    loaded.set_input(name, value)
    loaded.load_params(relay.save_param_dict({name: value}))
    for give in (loaded.set_input, lambda name, other: loaded.load_params(relay.save_param_dict({name: other}))):
        with pytest.raises(tvm.TVMError, match=f"`{name}`: the artifact was built with another value"):
            give(name, tvm.nd.array(value.numpy() + 1))
        np.testing.assert_array_equal(loaded.get_input(name).numpy(), value.numpy())
    other = tvm.contrib.graph_executor.GraphModule(relay.build(tvm.IRModule.from_expr(function), "llvm")["default"](tvm.cpu()))
    other.set_input(name, value.numpy() + 1)
    with pytest.raises(tvm.TVMError, match="built with another value"):
        loaded.share_params(other, relay.save_param_dict({name: value}))
    ones = np.ones((2, 8), "float32")
    loaded.run(x=ones)
    np.testing.assert_allclose(loaded.get_output(0).numpy(), ones @ w.T, rtol=1e-5)
    loaded.get_input(name).copyfrom(value.numpy() + 1)
    with pytest.raises(tvm.TVMError, match="built with another value"):
        loaded.run(x=ones)


def in_child(work):
    """Whether `work` is done in a forked process, in time."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def test_a_forked_process_goes_on():
    whole = compiled(PAIR, threads=2)
    open_ = compiled(RELU, threads=2)
    partial = compiled("def @main(%x: Tensor[(5), float32]) { argwhere(%x) }", threads=2)
    ones = np.ones((6, 4), "float32")
    module = relayc.parse(PAIR)
    whole(X, Y), open_(ones), partial(np.ones(5, "float32")), module.run(X, Y, engine="interp")

    def work():
        same = np.array_equal(whole(X, Y)[0], X + 1) and np.array_equal(open_(ones), ones)
        same &= partial(np.ones(5, "float32")).shape == (5, 1)
        same &= np.array_equal(pickle.loads(pickle.dumps(open_))(ones[:2]), ones[:2])
        same &= np.array_equal(module.run(X, Y, engine="interp")[0], X + 1)
        return same and np.array_equal(compiled(RELU, threads=2)(ones), ones)

    def work_in_threads():
        done = []
        threads = [threading.Thread(target=lambda: done.append(work())) for _ in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return done == [True] * 3

    assert in_child(work)
    assert in_child(work_in_threads)
    assert in_child(lambda: in_child(work))
    np.testing.assert_array_equal(whole(X, Y)[0], X + 1)


CORRELATION = """
def @main(%a: Tensor[(1, 8, 32, 32), float32], %b: Tensor[(1, 8, 32, 32), float32]) {
  nn.correlation(%a, %b, kernel_size=1, max_displacement=4, stride1=1, stride2=1, padding=[4, 4, 4, 4])
}
"""


def after_threads():
    """Work that shares its parts among threads of the libraries."""
    x, w = relay.var("x", shape=(512, 512)), relay.const(np.ones((512, 512), "float32"))
    folded = tvm.IRModule.from_expr(relay.Function([x], relay.add(x, relay.nn.dense(w, w))))
    text = relayc.parse(folded.astext(show_meta_data=True))
    correlation, ones = relayc.parse(CORRELATION), np.ones((1, 8, 32, 32), "float32")
    by_evaluation = correlation.compile(threads=2)
    assert by_evaluation.fallbacks == ["nn.correlation"]
    return {
        "optimize": lambda: text.optimize("fold-constants"),
        "FoldConstant": lambda: relay.transform.FoldConstant()(relay.transform.InferType()(folded)),
        "build": lambda: relay.build(folded, target="llvm"),
        "evaluation": lambda: by_evaluation(ones, ones),
        "interpreter": lambda: correlation.run(ones, ones, engine="interp"),
    }


@pytest.mark.parametrize("name", ["optimize", "FoldConstant", "build", "evaluation", "interpreter"])
def test_a_process_that_is_forked_after_threads_ran_has_its_own(name):
    call = after_threads()[name]
    call()

    def work():
        call()
        # And so does one that is forked from it.
        return in_child(lambda: call() is not None)

    assert in_child(work)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_that_is_forked_while_threads_run():
    module, whole, open_ = relayc.parse(PAIR), compiled(PAIR, threads=2), compiled(RELU, threads=2)
    partial = compiled("def @main(%x: Tensor[(5), float32]) { argwhere(%x) }", threads=2)
    evaluation, ones = compiled(CORRELATION, threads=2), np.ones((1, 8, 32, 32), "float32")
    calls = [
        lambda: whole(X, Y),
        lambda: [open_(np.ones((n, 4), "float32")) for n in range(8)],
        lambda: partial(np.ones(5, "float32")),
        lambda: evaluation(ones, ones),
        lambda: module.run(X, Y, engine="interp"),
        lambda: module.compile(threads=2)(X, Y),
    ]
    ended = threading.Event()

    def work(call):
        while not ended.is_set():
            call()

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    [thread.start() for thread in threads]
    try:
        for _ in range(5):
            time.sleep(0.02)
            assert in_child(lambda: all(call() is not None for call in calls))
    finally:
        ended.set()
        [thread.join() for thread in threads]


def test_a_signal_ends_a_run_in_a_forked_process():
    exec(LOOPS, names := {"relayc": relayc, "np": np})
    assert names["module"].run(np.int64(3), engine="interp") == 3

    def work():
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        try:
            names["run"]()
        except KeyboardInterrupt:
            return time.monotonic() - start < 5
        return False

    assert in_child(work)


LOOPS = """
module = relayc.parse('''
def @loop(%n: int64, %x: float32) -> float32 {
  if (equal(%n, 0i64)) { %x } else { @loop(subtract(%n, 1i64), add(%x, 1f)) }
}
def @main(%n: int64) -> float32 { @loop(%n, 0f) }
''')
run = lambda: [module.run(np.int64(90_000), engine="interp") for _ in range(1000)]
"""
PRODUCTS = """
layers = ["%0 = nn.dense(%x, %x, units=300);"]
layers += [f"%{n} = nn.dense(%{n - 1}, %x, units=300);" for n in range(1, 12_000)]
text = f"def @main(%x: Tensor[(300, 300), float32]) {{ {' '.join(layers)} %11999 }}"
executable, x = relayc.parse(text).compile(threads=1, level=0), np.zeros((300, 300), "float32")
run = lambda: [executable(x) for _ in range(100)]
"""


@pytest.mark.parametrize("program", [LOOPS, PRODUCTS], ids=["interpreted", "compiled"])
def test_a_signal_ends_a_run_between_its_operators(program):
    text = f"""
import relayc, numpy as np
{program}
print("ready", flush=True)
try:
    run()
except KeyboardInterrupt:
    print("ended", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "ended\n"
    assert time.monotonic() - sent < 5


def test_figures_and_profiles():
    executable = compiled("def @main(%x: Tensor[(64, 64), float32]) { nn.softmax(nn.dense(%x, %x, units=64)) }")
    bench = executable.bench(seconds=0.05, warmup=0.0)
    assert 0 < bench.min_ms <= bench.p50_ms <= bench.p99_ms and bench.runs >= 3
    profile = executable.profile(seconds=0.05)
    assert "nn.dense" in str(profile) and profile.data["schema"].startswith("relayc.profile/")
    assert "nn.dense" in executable._repr_html_()
    with pytest.raises(TypeError, match="open sizes"):
        compiled(RELU).bench()
    with pytest.raises(ValueError, match="expected a number of seconds, 0 or more"):
        executable.bench(seconds=-1.0)

