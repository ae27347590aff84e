"""`relayc.tvm`: building, executors, the interpreter, the virtual machine."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.contrib import graph_executor
from relayc.tvm.contrib.debugger import debug_executor
from relayc.tvm.relay.backend import Executor, Runtime
from relayc.tvm.relay.backend.interpreter import ConstructorValue, RefValue
from relayc.tvm.runtime.vm import Executable, VirtualMachine

X = np.array([[1, -2, 3, 4]], "float32")
W = np.arange(12, dtype="float32").reshape(3, 4)
B = np.array([1, 2, 3], "float32")
WANTED = 2 * np.maximum(X @ W.T + B, 0)


def network():
    """`2 * relu(x · wᵀ + b)`."""
    x, w, b = (relay.var(name, shape=shape) for name, shape in [("x", (1, 4)), ("w", (3, 4)), ("b", (3,))])
    body = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b)) * relay.const(2.0)
    return tvm.IRModule.from_expr(relay.Function([x, w, b], body))


def built(level=3, **options):
    with tvm.transform.PassContext(opt_level=level):
        return relay.build(network(), "llvm", params={"w": W, "b": B}, **options)


def executor(library):
    return graph_executor.GraphModule(library["default"](tvm.cpu()))


@pytest.mark.parametrize("level", [0, 2, 3])
def test_a_build_runs(level):
    module = executor(built(level))
    module.set_input("x", X)
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), WANTED, rtol=1e-6)
    module.run(x=tvm.nd.array(X + 1))
    out = tvm.nd.empty((1, 3))
    assert module.get_output(0, out) is out
    np.testing.assert_allclose(out.numpy(), 2 * np.maximum((X + 1) @ W.T + B, 0), rtol=1e-6)


def test_the_parts_of_a_factory():
    factory = built()
    graph = json.loads(factory.get_graph_json())
    assert graph["nodes"][0]["name"] == "x"
    assert set(factory.params) == {"p0", "p1"} and factory.get_params() is factory.params
    with pytest.warns(DeprecationWarning):
        text, library, params = factory
    module = graph_executor.create(text, library, tvm.cpu())
    module.load_params(relay.save_param_dict(params))
    module.set_input(**params, unknown=X)
    module.run(x=X)
    np.testing.assert_allclose(module.get_output(0).numpy(), WANTED, rtol=1e-6)


def test_inputs_by_name_and_number():
    module = executor(built())
    assert (module.get_input_index("x"), module.get_input_index("p1"), module.get_input_index("y")) == (0, 2, -1)
    assert module.get_num_inputs() == 3 and module.get_num_outputs() == 1
    shapes, dtypes = module.get_input_info()
    assert list(shapes) == ["x"] and tuple(shapes["x"]) == (1, 4) and dtypes["x"] == "float32"
    module.set_input(0, X)
    np.testing.assert_array_equal(module.get_input("x").numpy(), X)
    with pytest.raises(RuntimeError, match="Could not find 'y'"):
        module.set_input("y", X)
    with pytest.raises(ValueError):
        module.set_input("x", X.T)


def test_another_value_of_a_constant_counts():
    factory = built(level=0)
    module = executor(factory)
    module.run(x=X)
    for value in (np.zeros_like(W), W + 1, W):
        module.set_input("p0", value)
        module.run()
        wanted = 2 * np.maximum(X @ value.T + B, 0)
        np.testing.assert_allclose(module.get_output(0).numpy(), wanted, rtol=1e-6)
    other = executor(factory)
    other.run(x=X)
    np.testing.assert_allclose(other.get_output(0).numpy(), WANTED, rtol=1e-6)


def test_memory_of_the_caller_is_read_and_written():
    module = executor(built())
    x, out = tvm.nd.array(X), tvm.nd.empty((1, 3))
    module.set_input_zero_copy("x", x)
    module.set_output_zero_copy(0, out)
    module.run()
    np.testing.assert_allclose(out.numpy(), WANTED, rtol=1e-6)
    x.copyfrom(X * 2)
    module.run()
    np.testing.assert_allclose(out.numpy(), 2 * np.maximum(2 * X @ W.T + B, 0), rtol=1e-6)
    with pytest.raises(tvm.TVMError, match="expected float32"):
        module.set_input_zero_copy("x", tvm.nd.empty((1, 4), "int32"))


def test_exported_libraries_load_again(tmp_path):
    path = str(tmp_path / "lib.so")
    factory = built()
    factory.export_library(path)
    module = executor(tvm.runtime.load_module(path))
    module.load_params(relay.save_param_dict(factory.params))
    module.run(x=X)
    np.testing.assert_allclose(module.get_output(0).numpy(), WANTED, rtol=1e-6)


def test_benchmarks_and_profiles(capsys):
    factory = built()
    module = executor(factory)
    for end_to_end in (False, True):
        result = module.benchmark(tvm.cpu(), repeat=2, number=3, x=X, end_to_end=end_to_end)
        assert len(result.results) == 2 and result.min > 0
    debug = debug_executor.create(factory.get_graph_json(), factory.get_lib(), tvm.cpu())
    debug.run(x=X)
    assert "nn.dense" in capsys.readouterr().out and "nn.dense" in str(debug.profile(x=X))
    np.testing.assert_allclose(debug.get_output(0).numpy(), WANTED, rtol=1e-6)


def test_results_that_are_tuples():
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.Tuple([x, relay.Tuple([x + x, x * x])]))
    first, (second, third) = relay.create_executor("graph", tvm.IRModule.from_expr(func)).evaluate()(np.array([1, 3], "float32"))
    assert [value.numpy().tolist() for value in (first, second, third)] == [[1, 3], [2, 6], [1, 9]]


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_every_executor_gives_the_same(kind):
    evaluate = relay.create_executor(kind, network(), params={"w": W, "b": B}).evaluate()
    np.testing.assert_allclose(evaluate(X).numpy(), WANTED, rtol=1e-6)
    np.testing.assert_allclose(evaluate(x=X).numpy(), WANTED, rtol=1e-6)


def test_executors_of_other_names_and_targets():
    with pytest.raises(RuntimeError, match="unknown execution strategy: fast"):
        relay.create_executor("fast")
    with pytest.raises(ValueError, match="only supports static graphs"):
        x = relay.var("x", shape=(relay.Any(), 2))
        relay.create_executor("graph", tvm.IRModule.from_expr(relay.Function([x], x))).evaluate()


@pytest.mark.parametrize(
    "target", ["cuda", "opencl", "llvm -mtriple=aarch64-linux-gnu", "llvm -device=arm_cpu", {"kind": "llvm", "host": "metal"}]
)
def test_other_processors_are_refused_everywhere(target):
    module = network()
    ways = [
        lambda: relay.build(module, target),
        lambda: relay.optimize(module, target),
        lambda: relay.build_module.BuildModule().build(module, target),
        lambda: relay.build_module.BuildModule().optimize(module, target),
        lambda: relay.vm.compile(module, target),
        lambda: relay.vm.VMCompiler().lower(module, target),
        lambda: relay.vm.VMCompiler().optimize(module, target),
        lambda: relay.backend.graph_executor_codegen.GraphExecutorCodegen(None, target),
        *[lambda kind=kind: relay.create_executor(kind, module, target=target) for kind in ("debug", "graph", "vm", "aot")],
    ]
    for way in ways:
        with pytest.raises(NotImplementedError, match="not for `.*`: build with the target `llvm`"):
            way()
    with tvm.target.Target(target), pytest.raises(NotImplementedError, match="build with the target `llvm`"):
        relay.vm.compile(module)


def test_this_processor_has_several_names():
    for target in ("llvm", "llvm -mcpu=skylake-avx512", "llvm -mtriple=x86_64-linux-gnu", tvm.target.Target("llvm", host="llvm")):
        assert relay.build(network(), target).params is not None


def test_other_devices_are_refused_everywhere():
    library, module = built(), executor(built())
    machine = relay.vm.compile(network(), "llvm", params={"w": W, "b": B})
    ways = [
        lambda: library["default"](tvm.cuda()),
        lambda: graph_executor.create(library.get_graph_json(), library.get_lib(), tvm.cuda()),
        lambda: VirtualMachine(machine, tvm.cuda()),
        lambda: module.benchmark(tvm.cuda()),
        lambda: tvm.nd.array(X, tvm.cuda()),
    ]
    for way in ways:
        with pytest.raises(tvm.TVMError, match=r"device cuda\(0\) does not exist: .* tvm.cpu\(\)"):
            way()
    with pytest.raises(TypeError, match="such as tvm.cpu"):
        library["default"]("cpu")


def test_wrong_arguments_say_what_is_wanted(tmp_path):
    module = executor(built())
    two = relay.create_executor("graph", network())
    machine = VirtualMachine(relay.vm.compile(network(), "llvm"), tvm.cpu())
    ways = [
        (lambda: relay.build(network(), "llvm", params=[W]), TypeError, "params is a list: expected a dictionary"),
        (lambda: relay.build(network(), "llvm", executor="aot"), TypeError, r"write Executor\('aot'\)"),
        (lambda: graph_executor.GraphModule(built()), AttributeError, "its functions are: default, create"),
        (lambda: module.get_output("y"), tvm.TVMError, "there is no output `y`; the outputs are: out"),
        (lambda: two.evaluate()(X), tvm.TVMError, "`main` takes 3 arguments, found 1"),
        (lambda: two.evaluate()(X, W, B, B), tvm.TVMError, "`main` takes 3 arguments, found 4"),
        (lambda: machine.run(y=X), AssertionError, r"`main` takes \(x, w, b\), found \(y\)"),
        (lambda: Executable.load_exec(b"1", None), tvm.TVMError, "no bytes of a program"),
        (lambda: built().function_metadata["__tvm_main__"], NotImplementedError, "--emit plan"),
        (lambda: pickle.dumps(built()), TypeError, "give the file of export_library"),
    ]
    for way, error, words in ways:
        with pytest.raises(error, match=words):
            way()


def test_no_compiler_is_called_to_export(tmp_path):
    from relayc.tvm.contrib import cc, ndk, tar

    file = str(tmp_path / "net.so")
    for fcompile in (None, cc.create_shared, tar.tar):
        built().export_library(file, fcompile)
        assert executor(tvm.runtime.load_module(file)).get_num_outputs() == 1
    with pytest.warns(UserWarning, match="no compiler is called, so this has no effect: cc"):
        built().export_library(file, cc="g++")
    for library in (built(), relay.vm.compile(network(), "llvm").mod):
        with pytest.raises(NotImplementedError, match="runs on this machine"):
            library.export_library(file, ndk.create_shared)
    with pytest.raises(NotImplementedError, match="`o` is not written: export_library writes shared objects"):
        built().lib.save(str(tmp_path / "net.o"))
    with pytest.raises(NotImplementedError, match="calls no compiler"):
        built().export_library(file, cc.cross_compiler("aarch64-linux-gnu-g++"))


def test_inputs_of_the_aot_executor_have_names_in_c_too():
    x = relay.var("input:0", shape=(2,))
    library = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm", executor=Executor("aot"))
    module = tvm.runtime.executor.AotModule(library["default"](tvm.cpu()))
    for name in ("input:0", "input_0"):
        module.set_input(**{name: np.ones(2, "float32")})
        module.run()
        assert module.get_output(0).numpy().tolist() == [2, 2] and module.get_input_index(name) == 0
    for wrong in (lambda: module.set_input(x=X), lambda: module.set_input("x", X), lambda: module.get_input_index("x")):
        with pytest.raises(tvm.TVMError, match="Invalid input name"):
            wrong()


def test_interfaces_for_microcontrollers_are_refused():
    for options in ({"interface-api": "c"}, {"unpacked-api": True}):
        with pytest.raises(NotImplementedError, match="microTVM"):
            built(executor=Executor("aot", options))
    with pytest.warns(UserWarning, match="nothing is built for microTVM"):
        built(runtime=Runtime("crt"))


def test_no_c_is_written():
    with pytest.warns(UserWarning, match="no C is written"):
        library = relay.build(network(), "c")
    with pytest.warns(UserWarning, match="no C is written"):
        relay.vm.compile(network(), "c")
    assert executor(library).get_num_outputs() == 1


def test_modules_keep_their_attributes_when_parameters_are_bound():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    helper = relay.GlobalVar("twice")
    functions = {helper: relay.Function([y], y + y), "main": relay.Function([x], helper(x))}
    module = tvm.IRModule(functions).with_attr("note", "kept")
    values = {"x": np.array([1, 2], "float32")}
    optimized, _ = relay.optimize(module, "llvm", values)
    assert optimized.attrs["note"] == "kept" and module.attrs["note"] == "kept"
    assert relay.create_executor("vm", module, params=values).evaluate()().numpy().tolist() == [2, 4]
    assert [param.name_hint for param in module["main"].params] == ["x"]


def test_what_a_benchmark_takes_has_effect():
    called = []
    tvm.register_func("test.before_each_result", lambda *args: called.append(args))
    evaluate = executor(built()).module.time_evaluator(
        "run", tvm.cpu(), number=2, repeat=3, cache_flush_bytes=1 << 16, f_preproc="test.before_each_result"
    )
    assert len(evaluate().results) == 3 and len(called) == 3
    nothing = tvm.runtime.Module({"nothing": lambda: called.append(None)})
    nothing.time_evaluator("nothing", tvm.cpu(), number=1, min_repeat_ms=1e9, limit_zero_time_iterations=0)()
    assert called.count(None) == 2


def test_what_has_no_effect_on_a_profile_says_so(tmp_path):
    library = built()
    with pytest.warns(UserWarning, match="dump_root has no effect"):
        debug = debug_executor.create(library.get_graph_json(), library.get_lib(), tvm.cpu(), dump_root=str(tmp_path))
    with pytest.warns(UserWarning, match="no effect"):
        debug.run(number=1)
    with pytest.raises(NotImplementedError, match="perf stat"):
        debug.profile(collectors=["PAPI"])


def test_configurations():
    assert Executor("aot", {"interface-api": "c"})["interface-api"] == "c"
    assert Executor("graph") == Executor("graph") and Executor("graph") != Executor("aot")
    assert Runtime.list_registered_options("cpp") == {"system-lib": "IntImm"}
    for wrong in (lambda: Executor("fast"), lambda: Runtime("cpp", {"x": 1}), lambda: Runtime("crt", {"system-lib": "yes"})):
        with pytest.raises(tvm.TVMError):
            wrong()


def test_binding_parameters_by_name():
    bound = relay.build_module.bind_params_by_name(network()["main"], {"w": W, "other": B})
    assert [param.name_hint for param in bound.params] == ["x", "b"]
    x = [relay.var("x", shape=(1,)) for _ in range(2)]
    with pytest.raises(tvm.TVMError, match="Multiple args"):
        relay.build_module.bind_params_by_name(relay.Function(x, x[0] + x[1]), {"x": B[:1]})


LISTS = """
#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @grow(%l: List[float32], %x: float32) -> List[float32] { Cons(%x, %l) }
def @id[A](%x: A) -> A { %x }
def @main(%c: bool, %x: Tensor[(2), float32]) -> Tensor[(2), float32] { if (%c) { add(%x, %x) } else { %x } }
"""


def test_the_interpreter_takes_and_gives_values_of_data_types():
    mod = tvm.relay.parse(LISTS)
    _, cons, nil = mod.get_type("List")
    grow = relay.create_executor("debug", mod).evaluate(mod.get_global_var("grow"))
    made = grow(ConstructorValue(nil.tag, [], nil), 1.5)
    assert made.tag == cons.tag and made.constructor.name_hint == "Cons"
    assert made.fields[0].numpy() == 1.5 and made.fields[1].tag == nil.tag
    same = relay.create_executor("debug", mod).evaluate(mod.get_global_var("id"))
    assert same(RefValue(tvm.nd.array(X))).value.numpy().tolist() == X.tolist()
    assert [field.numpy() for field in same((1, 2.5))] == [1, 2.5]
    with pytest.raises(tvm.TVMError):
        grow(1, 1.5)


def test_expressions_are_evaluated_without_arguments():
    x = relay.var("x", shape=(2,))
    values = relay.create_executor().evaluate(x + x, binds={x: np.array([1, 2], "float32")})
    assert values.numpy().tolist() == [2, 4]


def test_the_virtual_machine_calls_any_function():
    mod = tvm.relay.parse(LISTS)
    machine = VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    x = np.array([1, 2], "float32")
    assert machine.run(True, x).numpy().tolist() == [2, 4]
    machine.set_input("main", c=False, x=x)
    assert machine.invoke("main").numpy().tolist() == [1, 2]
    machine.set_one_input("main", c=True)
    machine.invoke_stateful("main")
    assert [out.numpy().tolist() for out in machine.get_outputs()] == [[2, 4]]
    assert machine.get_input_index("x") == 1 and machine.get_input_index("y") == -1
    _, cons, nil = mod.get_type("List")
    made = machine.invoke("grow", tvm.runtime.container.ADT(nil.tag, []), 2.5)
    assert made.tag == cons.tag and made[0].numpy() == 2.5 and made[1].tag == nil.tag
    with pytest.raises(tvm.TVMError, match="no function `none`"):
        machine.invoke("none", x)


def test_open_sizes_on_the_virtual_machine():
    x = relay.var("x", shape=(relay.Any(), 2))
    evaluate = relay.create_executor("vm", tvm.IRModule.from_expr(relay.Function([x], relay.argwhere(x)))).evaluate()
    for n in (1, 4):
        assert evaluate(np.eye(n, 2, dtype="float32")).numpy().tolist() == np.argwhere(np.eye(n, 2)).tolist()


def test_the_virtual_machine_takes_other_shapes_where_the_program_has_types():
    pair = relay.TupleType([relay.TensorType((1,)), relay.TensorType((3,))])
    tup = relay.var("tup", type_annotation=pair)
    evaluate = relay.create_executor("vm", tvm.IRModule.from_expr(relay.Function([tup], relay.TupleGetItem(tup, 0)))).evaluate()
    first = np.arange(4, dtype="float32")
    assert evaluate((first, B)).numpy().tolist() == first.tolist()
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
    added = relay.Function([x, y], relay.concatenate([x, y], axis=0) + relay.const(np.zeros(5, "float32")))
    with pytest.raises(tvm.TVMError, match=r"expected the shape \(2,\), found \(4,\)"):
        relay.create_executor("vm", tvm.IRModule.from_expr(added)).evaluate()(first, B)


def test_programs_of_the_machine_are_saved(tmp_path):
    executable = relay.vm.compile(network(), "llvm", params={"w": W, "b": B})
    code, library = executable.save()
    library.export_library(str(tmp_path / "lib.so"))
    loaded = tvm.runtime.load_module(str(tmp_path / "lib.so"))
    for again in (Executable.load_exec(code, library), Executable(loaded)):
        np.testing.assert_allclose(VirtualMachine(again, tvm.cpu()).run(X).numpy(), WANTED, rtol=1e-6)
    executable.move_late_bound_consts(str(tmp_path / "consts"), byte_limit=20)
    with pytest.raises(tvm.TVMError, match="load the late-bound constants first"):
        VirtualMachine(executable, tvm.cpu()).run(X)
    executable.load_late_bound_consts(str(tmp_path / "consts"))
    np.testing.assert_allclose(VirtualMachine(executable, tvm.cpu()).run(X).numpy(), WANTED, rtol=1e-6)


def test_bfloat16_runs_as_16_bit_numbers():
    x = relay.var("x", shape=(2,), dtype="bfloat16")
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    one = tvm.nd.empty((2,), "bfloat16")
    one._array[...] = 0x3F80
    for kind in ("debug", "graph", "vm"):
        result = relay.create_executor(kind, mod).evaluate()(one)
        assert result.dtype == "bfloat16" and result.numpy().tolist() == [0x4000, 0x4000]


def test_scripts_that_import_tvm_run(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, tvm\n"
        "from tvm import relay\n"
        "from tvm.contrib import graph_runtime\n"
        "x = relay.var('x', shape=(2,))\n"
        "graph, lib, params = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), 'llvm')\n"
        "module = graph_runtime.create(graph, lib, tvm.cpu(0))\n"
        "module.run(x=np.zeros(2, 'float32'))\n"
        "print(module.get_output(0).numpy())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "relayc", str(script)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[1. 1.]\n", done.stderr
