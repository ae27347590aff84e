"""Passes under TVM's names: contexts, instruments, sequences, passes over nodes."""

from __future__ import annotations

from typing import Any, List

import numpy as np
import pytest

import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.ir.instrument import PassInstrument, PassTimingInstrument, pass_instrument
from relayc.tvm.relay import transform
from relayc.tvm.ir.transform import (
    ModulePass,
    PassContext,
    PassInfo,
    PrintIR,
    Sequential,
    module_pass,
)


def module(body: Any = None) -> Any:
    x = relay.var("x", shape=(2, 3))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x) if body is None else body(x)))


def noted(log: List[str], name: str, level: int = 0, required: Any = ()) -> ModulePass:
    @module_pass(opt_level=level, name=name, required=list(required))
    def note(mod: Any, ctx: PassContext) -> Any:
        log.append(name)
        return mod

    return note


# Contexts


def test_contexts_are_a_stack_of_the_thread() -> None:
    import threading

    default = PassContext.current()
    with PassContext(opt_level=3) as outer:
        with PassContext(opt_level=1) as inner:
            assert PassContext.current() is inner
            found: List[PassContext] = []
            thread = threading.Thread(target=lambda: found.append(PassContext.current()))
            thread.start()
            thread.join()
            assert found[0] is not inner and found[0].opt_level == 2
        assert PassContext.current() is outer
    assert PassContext.current() is default and default.opt_level == 2


def test_options_are_known_by_name_and_type() -> None:
    config = {"relay.FuseOps.max_depth": tvm.tir.IntImm("int32", 4), "tir.disable_vectorize": True}
    assert PassContext(config=config).config["relay.FuseOps.max_depth"] == 4
    with pytest.raises(AttributeError, match="Invalid config option 'relay.no'.* relay.FuseOps"):
        PassContext(config={"relay.no": 1})
    with pytest.raises(AttributeError, match="max_depth to have type IntImm but get runtime.String"):
        PassContext(config={"relay.FuseOps.max_depth": "4"})
    with pytest.raises(AttributeError, match="is None"):
        PassContext(config={"relay.FuseOps.max_depth": None})
    assert PassContext.list_configs()["relay.backend.tir_converter"] == {"type": "runtime.String"}


# Sequences


def test_a_sequence_runs_what_the_context_enables() -> None:
    log: List[str] = []
    steps = [noted(log, "low", 1), noted(log, "high", 3), noted(log, "off"), noted(log, "asked", 4)]
    with PassContext(opt_level=2, disabled_pass=["off"], required_pass=["asked"]):
        Sequential(steps)(module())
    assert log == ["low", "asked"]
    # A pass alone runs at any level.
    noted(log, "alone", 9)(module())
    assert log[-1] == "alone"


def test_a_sequence_runs_required_passes_first() -> None:
    log: List[str] = []
    tvm.register_func("transform.Before", lambda: noted(log, "Before"))
    try:
        Sequential([noted(log, "after", required=["Before", "InferType"])])(module())
    finally:
        tvm._ffi.registry.remove_global_func("transform.Before")
    assert log == ["Before", "after"]
    with pytest.raises(tvm.TVMError, match="Cannot use NoSuchPass"):
        Sequential([noted(log, "x", required=["NoSuchPass"])])(module())


def test_passes_take_modules_and_return_them() -> None:
    with pytest.raises(TypeError, match="works on an IRModule"):
        transform.InferType()(module()["main"])
    with pytest.raises(tvm.TVMError, match="return value"):
        module_pass(lambda mod, ctx: None, opt_level=0, name="none")(module())


def test_names_and_levels_are_tvms() -> None:
    info = transform.FoldConstant().info
    assert (info.name, info.opt_level, info.required) == ("FoldConstant", 2, [])
    assert isinstance(transform.FoldConstant(), transform.FunctionPass)
    assert isinstance(transform.ToANormalForm(), ModulePass)
    assert transform.FuseOps().info.required == ["InferType"]
    text = "Run Function pass: FoldConstant at the optimization level 2"
    assert str(transform.FoldConstant()) == text
    sequence = Sequential([transform.InferType(), transform.FoldConstant()], name="both")
    assert "InferType FoldConstant" in str(sequence)
    assert "pass name: x" in str(PassInfo(1, "x"))


# Passes of users


def test_a_function_makes_a_module_pass() -> None:
    with pytest.raises(ValueError, match="opt_level"):
        module_pass(lambda mod, ctx: mod)

    @module_pass(opt_level=2)
    def adds(mod: Any, ctx: PassContext) -> Any:
        x = relay.var("x", shape=(1,))
        mod["added"] = relay.Function([x], x)
        return mod

    assert (adds.info.name, adds.info.opt_level) == ("adds", 2)
    assert "added" in adds(module())


def test_a_class_makes_a_pass_class() -> None:
    @module_pass(opt_level=1)
    class Pipeline:
        """Its documentation."""

        def __init__(self, times: int) -> None:
            self.times = times

        def transform_module(self, mod: Any, ctx: PassContext) -> Any:
            self.times += 1
            return mod

    pipeline = Pipeline(times=3)
    pipeline(module())
    assert pipeline.times == 4 and pipeline.info.name == "Pipeline"
    assert isinstance(pipeline, ModulePass) and Pipeline.__doc__ == "Its documentation."
    with pytest.raises(AttributeError):
        pipeline.missing


def test_a_function_pass_sees_only_functions_of_relay_for_this_compiler() -> None:
    seen = []

    @transform.function_pass(opt_level=1)
    def look(func: Any, mod: Any, ctx: PassContext) -> Any:
        seen.append(func)
        return relay.Function(func.params, relay.tanh(func.body))

    mod = module()
    x = relay.var("x", shape=(1,))
    mod["other"] = relay.Function([x], x).with_attr("Compiler", "other")
    result = look(mod)
    assert seen == [mod["main"]]
    assert result["main"].body.op.name == "tanh" and mod["main"].body.op.name == "nn.relu"
    assert result["main"].body.checked_type == relay.TensorType((2, 3), "float32")
    assert result["other"].attrs["Compiler"] == "other"


def test_a_changed_module_is_found_when_it_must_not_change() -> None:
    @module_pass(opt_level=0)
    def breaks(mod: Any, ctx: PassContext) -> Any:
        mod["main"] = relay.Function([], relay.const(1))
        return mod

    with PassContext(config={"testing.immutable_module": True}):
        with pytest.raises(tvm.TVMError, match="modified in pass: breaks"):
            breaks(module())


def test_print_ir_writes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    PrintIR("here")(module())
    err = capsys.readouterr().err
    assert err.startswith("PrintIR(here):") and "nn.relu" in err


# Instruments


class Noting(PassInstrument):
    def __init__(self, log: List[str], name: str, fails: str = "") -> None:
        super().__init__()
        self.log, self.who, self.fails = log, name, fails

    def note(self, what: str) -> None:
        self.log.append(f"{self.who} {what}")
        if what == self.fails:
            raise RuntimeError(what)

    def enter_pass_ctx(self) -> None:
        self.note("enter")

    def exit_pass_ctx(self) -> None:
        self.note("exit")

    def should_run(self, mod: Any, info: PassInfo) -> bool:
        self.note("should")
        return info.name != "skipped"

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        self.note("before")

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        self.note("after")


def test_instruments_are_called_around_passes() -> None:
    log: List[str] = []
    with PassContext(instruments=[Noting(log, "a"), Noting(log, "b")]):
        noted(log, "run")(module())
        noted(log, "skipped")(module())
    around = ["a should", "b should", "a before", "b before", "run", "a after", "b after"]
    assert log == ["a enter", "b enter", *around, "a should", "b should", "a exit", "b exit"]


def test_required_passes_run_whatever_instruments_say() -> None:
    log: List[str] = []
    with PassContext(instruments=[Noting(log, "a")], required_pass=["skipped"]):
        noted(log, "skipped")(module())
    assert log == ["a enter", "a before", "skipped", "a after", "a exit"]


def test_an_instrument_that_fails_on_entering_leaves_none() -> None:
    log: List[str] = []
    context = PassContext(
        instruments=[Noting(log, "a"), Noting(log, "b", fails="enter"), Noting(log, "c")]
    )
    with pytest.raises(RuntimeError, match="enter"):
        with context:
            pass
    assert log == ["a enter", "b enter", "a exit"] and context.instruments == []
    assert PassContext.current() is not context


def test_an_instrument_that_fails_on_leaving_leaves_none() -> None:
    log: List[str] = []
    context = PassContext(instruments=[Noting(log, "a", fails="exit"), Noting(log, "b")])
    with pytest.raises(RuntimeError, match="exit"):
        with context:
            pass
    assert log == ["a enter", "b enter", "a exit"] and context.instruments == []
    assert PassContext.current() is not context


def test_instruments_can_be_replaced() -> None:
    log: List[str] = []
    with PassContext(instruments=[Noting(log, "a")]) as context:
        context.override_instruments([Noting(log, "b")])
    assert log == ["a enter", "a exit", "b enter", "b exit"]


def test_any_class_can_be_an_instrument() -> None:
    @pass_instrument
    class Counts:
        def __init__(self, start: int) -> None:
            self.count = start

        def run_before_pass(self, mod: Any, info: PassInfo) -> None:
            self.count += 1

    counts = Counts(5)
    with PassContext(instruments=[counts]):
        noted([], "x")(module())
    assert counts.count == 6 and isinstance(counts, PassInstrument)
    with pytest.raises(TypeError, match="must be a class"):
        pass_instrument()(lambda: None)


def test_times_are_nested_and_end_with_the_context() -> None:
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([noted([], "inner")], name="outer")(module())
        lines = timing.render().splitlines()
        assert lines[0].startswith("outer: ") and lines[0].endswith("(100.00%; 100.00%)")
        assert lines[1].startswith("\tinner: ")
    assert timing.render() == ""


# Passes over nodes


def test_equal_calls_are_made_one_unless_skipped() -> None:
    def body(x: Any) -> Any:
        one = relay.add(relay.nn.relu(x), relay.const(1.0))
        two = relay.add(relay.nn.relu(x), relay.const(1.0))
        return relay.multiply(one, two)

    result = transform.EliminateCommonSubexpr()(module(body))["main"].body
    assert result.args[0] is result.args[1]
    kept = transform.EliminateCommonSubexpr(lambda expr: expr.op.name == "add")(module(body))
    left, right = kept["main"].body.args
    assert left is not right and left.args[0] is right.args[0]


def test_inlining_keeps_what_is_recursive_or_an_entry() -> None:
    text = """
    def @main(%x: int32) { @f(%x) + @g(%x) }
    def @f(%x: int32, Inline=1) { @leaf(%x) }
    def @leaf(%x: int32, Inline=1) { %x * 2 }
    def @g(%x: int32, Inline=1) -> int32 { @g(%x) }
    def @alone(%x: int32, Inline=1) { %x }
    """
    mod = transform.Inline()(tvm.relay.fromtext('#[version = "0.0.5"]\n' + text))
    assert sorted(v.name_hint for v in mod.get_global_vars()) == ["alone", "g", "main"]
    assert mod["main"].body.args[0].op.name == "multiply"


def test_a_function_for_another_compiler_is_inlined_as_a_literal() -> None:
    text = 'def @main(%x: int32) { @f(%x) } def @f(%x: int32, Inline=1, Compiler="other") { %x }'
    mod = transform.Inline()(tvm.relay.fromtext('#[version = "0.0.5"]\n' + text))
    assert isinstance(mod["main"].body.op, relay.Function)
    assert mod["main"].body.op.attrs["Compiler"] == "other"


def test_annotations_follow_the_attribute_of_operators() -> None:
    @tvm.ir.register_op_attr("nn.relu", "target.relayc_test")
    def takes(call: Any) -> bool:
        return True

    try:
        annotated = transform.AnnotateTarget("relayc_test")(module(lambda x: relay.tanh(relay.nn.relu(x))))
    finally:
        tvm.ir.Op.get("nn.relu").reset_attr("target.relayc_test")
    end = annotated["main"].body
    assert (end.op.name, end.attrs.compiler) == ("annotation.compiler_end", "default")
    inner = end.args[0].args[0].args[0]
    assert (inner.op.name, inner.attrs.compiler) == ("annotation.compiler_end", "relayc_test")
    again = transform.AnnotateTarget("relayc_test")(annotated)
    assert tvm.ir.structural_equal(again, annotated)


def test_a_batch_is_changed_in_the_parameters() -> None:
    mod = transform.InferType()(module())
    changed = transform.ChangeBatch({mod["main"].params[0]: 0}, batch_size=5)(mod)
    assert changed["main"].checked_type.ret_type == relay.TensorType((5, 3), "float32")


def test_legalization_replaces_calls_and_checks_what_it_gets() -> None:
    from relayc.tvm.relay.testing.temp_op_attr import TempOpAttr

    def replace(attrs: Any, args: Any, types: Any) -> Any:
        assert [t.shape[0] for t in types] == [2, 2]
        return relay.maximum(args[0], relay.const(0.0))

    with TempOpAttr("nn.relu", "FTVMTestLegalize", replace):
        result = transform.Legalize("FTVMTestLegalize")(transform.InferType()(module()))
    assert result["main"].body.op.name == "maximum"
    with TempOpAttr("nn.relu", "FTVMTestLegalize", lambda attrs, args, types: args[0]):
        with pytest.raises(tvm.TVMError, match="another call node"):
            transform.Legalize("FTVMTestLegalize")(transform.InferType()(module()))


def test_long_programs_need_no_recursion() -> None:
    x = expr = relay.var("x", shape=(2,))
    for _ in range(20_000):
        expr = relay.nn.relu(expr)
    func = relay.Function([x], expr)
    assert relay.analysis.count_layers(func, ["nn.relu"]) == 20_000
    assert relay.analysis.check_basic_block_normal_form(func)
    module = transform.InferType()(tvm.IRModule.from_expr(func))
    assert transform.EliminateCommonSubexpr()(module)["main"] is module["main"]


def test_passes_over_calls_need_no_types() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = tvm.IRModule()
    marked, unused = relay.GlobalVar("marked"), relay.GlobalVar("unused")
    mod[marked] = relay.Function([x], relay.add(x, x)).with_attr("Inline", 1)
    mod[unused] = relay.Function([x], x)
    mod["main"] = relay.Function([y], marked(relay.exp(y)))
    kept = transform.RemoveUnusedFunctions(["main", "missing"])(mod)
    assert {var.name_hint for var in kept.functions} == {"main", "marked"}
    assert kept["main"] is mod["main"] and kept["marked"] is mod["marked"]
    main = transform.Inline()(mod)["main"]
    assert main.ret_type is None and main.body.args[0] is main.body.args[1] and main.body.args[0].op.name == "exp"


def test_lifetimes_end_behind_the_last_reader():
    mod = relay.parse(
        """#[version = "0.0.5"]
        def @main(%x: int, %c: bool) {
            let %y = %x + %x;
            let %a = %y;
            let %z = if (%c) { let %v = %a * %x; let %w = %v + %v; %w } else { %y };
            %z
        }"""
    )
    text = transform.ManifestLifetimes()(mod)["main"].astext()
    assert "%a" not in text
    kills = [line.split("kill(")[1].split(")")[0] for line in text.splitlines() if "memory.kill" in line]
    # `%y` is what the other branch returns: nothing ends it there.
    assert sorted(kills) == ["%c", "%v", "%x", "%y"]


def test_branches_that_are_results_read_what_is_in_them():
    text = '#[version = "0.0.5"]\ndef @main(%c: bool, %x: int32) { let %y = %x + 1; if (%c) { %x } else { %y } }'
    assert "memory.kill" not in transform.ManifestLifetimes()(relay.parse(text))["main"].astext()


def test_used_memory_counts_what_lives_at_a_call():
    x = relay.var("x", shape=(2, 4), dtype="int8")
    inner = relay.Function([x], relay.nn.relu(x)).with_attr("Primitive", 1)
    y = relay.var("y", shape=(2, 4), dtype="int8")
    once = inner(y)
    mod = tvm.IRModule.from_expr(relay.Function([y], relay.Tuple([once, inner(y)])))
    mod = tvm.transform.Sequential([transform.InferType(), transform.ToANormalForm(), transform.InferType()])(mod)
    main = transform._ffi_api.AnnotateUsedMemory()(mod)["main"]
    assert int(main.attrs["io_used_memory"]) == 24
    assert [int(size) for size in main.body.value.attrs["used_memory"]] == [16, 24]


def test_dynamic_operators_become_static_one_after_another():
    x = relay.var("x", shape=(2, 3))
    y = relay.var("y", shape=(6,))
    once = relay.reshape(x, relay.shape_of(y))
    shape = relay.concatenate([relay.const([4]), relay.shape_of(once)], 0)
    func = relay.Function([x, y], relay.broadcast_to(once, shape))
    main = transform.DynamicToStatic()(tvm.IRModule.from_expr(func))["main"]
    assert main.body.op.name == "broadcast_to" and main.body.args[0].op.name == "reshape"
    assert [int(dim) for dim in main.ret_type.shape] == [4, 6]


def test_division_by_zero_stays():
    x = relay.var("x", shape=(3,))
    divisors = [relay.const([1.0, 0.0, 2.0]), relay.const(4.0), relay.var("y", shape=(3,))]
    names = []
    for divisor in divisors:
        func = relay.Function(relay.analysis.free_vars(relay.divide(x, divisor)), relay.divide(x, divisor))
        names.append(transform.DivToMul()(tvm.IRModule.from_expr(func))["main"].body.op.name)
    assert names == ["divide", "multiply", "divide"]


@pytest.mark.parametrize(
    "target, names",
    [
        ("llvm -mcpu=skylake-avx512", {"qnn.dense", "cast", "add"}),
        ("llvm", {"nn.dense", "cast", "subtract"}),
        ("llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+dotprod", {"qnn.dense"}),
    ],
)
def test_quantized_products_become_what_the_target_is_fast_at(target: str, names: Any) -> None:
    x, w = relay.var("x", shape=(4, 8), dtype="int8"), relay.var("w", shape=(5, 8), dtype="int8")
    zero, scale = relay.const(3), relay.const(0.5)
    call = relay.qnn.op.dense(x, w, zero, zero, scale, scale, units=5)
    mod = transform.InferType()(tvm.IRModule.from_expr(call))
    with tvm.target.Target(target):
        legal = relay.qnn.transform.Legalize()(mod)
    assert set(relay.analysis.list_op_freqs(legal)) == names


def test_quantized_functions_become_tables():
    x = relay.var("x", shape=(4,), dtype="int8")
    scale, zero = relay.const(0.05), relay.const(0)
    call = relay.qnn.op.tanh(x, scale, zero, scale, zero)
    mod = transform.InferType()(tvm.IRModule.from_expr(call))
    assert set(relay.analysis.list_op_freqs(relay.qnn.transform.Legalize()(mod))) == {"reinterpret", "take"}


def quantized_dense(body: Any = None) -> Any:
    """quantize(body(dense(dequantize(x), dequantize(w))))"""
    op, const = relay.qnn.op, relay.const
    x, w = relay.var("x", shape=(4, 8), dtype="int8"), relay.var("w", shape=(5, 8), dtype="int8")
    real = relay.nn.dense(
        op.dequantize(x, const(0.5), const(3)), op.dequantize(w, const(0.25), const(-1)), units=5
    )
    real = real if body is None else body(real)
    call = op.quantize(real, const(2.0), const(7), out_dtype="int8")
    return transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], call)))


def test_regions_between_dequantize_and_quantize_compute_integers():
    mod = quantized_dense(lambda real: relay.nn.relu(relay.add(real, relay.const(1.5))))
    integer = transform.FakeQuantizationToInteger()(mod)
    names = {str(name) for name in relay.analysis.list_op_freqs(integer)}
    assert not names & {"qnn.dequantize", "nn.dense"} and "qnn.dense" in names
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-20, 20, shape).astype("int8") for shape in ((4, 8), (5, 8)))
    a, b = (relay.create_executor("vm", mod=m).evaluate()(x, w).numpy() for m in (mod, integer))
    assert np.abs(a.astype("int32") - b.astype("int32")).max() <= 1 and len(np.unique(a)) > 5


def test_regions_without_a_rule_stay_or_are_an_error():
    mod = quantized_dense(lambda real: relay.cos(real))
    assert tvm.ir.structural_equal(transform.FakeQuantizationToInteger()(mod), mod)
    with pytest.raises(tvm.TVMError, match="`cos` has no rule"):
        transform.FakeQuantizationToInteger(hard_fail=True)(mod)
    single = transform.FakeQuantizationToInteger(use_qat=True)(mod)["main"].body.args[0].args[0]
    assert single.op.name == "qnn.dequantize" and single.args[0].op.name == "qnn.dense"


def test_rules_of_python_for_regions_are_refused():
    with pytest.raises(NotImplementedError, match="crates/ops/src/fake_quantization.rs"):
        relay.op.register_fake_quantization_to_integer("cos", lambda expr, types: [expr, types[expr]])
    mod = quantized_dense(relay.nn.relu)
    relu = tvm.ir.Op.get("nn.relu")
    relu.set_attr("FTVMFakeQuantizationToInteger", lambda expr, types: [expr, types[expr]], 11)
    try:
        with pytest.warns(UserWarning, match="regions with nn.relu stay"):
            assert tvm.ir.structural_equal(transform.FakeQuantizationToInteger()(mod), mod)
    finally:
        relu.reset_attr("FTVMFakeQuantizationToInteger")


def test_a_recast_module_keeps_its_other_functions_and_attributes() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    helper = relay.GlobalVar("helper")
    main = relay.Function([x], helper(relay.nn.dense(x, relay.const(np.ones((3, 3), "float32")))))
    mod = transform.InferType()(tvm.IRModule({helper: relay.Function([y], relay.exp(y)), "main": main}).with_attr("note", "kept"))
    done = transform.InferType()(transform.recast(mod, "int8", "int32", ops=["nn.dense"]))
    assert done.attrs["note"] == "kept" and "helper" in done
    assert done["main"].body.args[0].op.name == "cast"


def test_a_module_of_its_own_text_keeps_its_attributes() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))).with_attr("note", "kept")
    assert transform.AnnotateSpans()(mod).attrs["note"] == "kept"
    assert transform.RemoveUnusedFunctions()(mod).attrs["note"] == "kept"


def test_an_expression_is_folded_beside_functions_of_any_name() -> None:
    y = relay.var("y", shape=())
    mod = tvm.IRModule({name: relay.Function([y], y + y) for name in ("main", "_main")})
    folded = transform.FoldConstantExpr(relay.const(1.0) + relay.const(2.0), mod)
    assert float(folded.data.numpy()) == 3 and sorted(var.name_hint for var in mod.get_global_vars()) == ["_main", "main"]
