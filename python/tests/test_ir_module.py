"""Modules, text to nodes, variables of programs, scopes, tensors."""

from __future__ import annotations

import numpy as np
import pytest
import relayc.tvm as tvm
from relayc.tvm import relay
from relayc.tvm.ir.supply import GlobalVarSupply, NameSupply
from relayc.tvm.relay.analysis import all_type_vars, all_vars, bound_vars, free_type_vars, free_vars, well_formed

PROGRAM = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @double(%x: Tensor[(4), float32]) { add(%x, %x) }
def @main(%x: Tensor[(4), float32]) { @double(%x) }
"""


def vector(name: str = "x") -> relay.Var:
    return relay.var(name, shape=(4,))


def test_text_to_module() -> None:
    module = relay.parse(PROGRAM)
    assert {var.name_hint for var in module.get_global_vars()} == {"double", "main"}
    assert module["main"].body.op is module.get_global_var("double")
    assert module[module.get_global_var("double")] is module["double"]
    header, cons, nil = module.get_type("List")
    assert (cons.name_hint, nil.name_hint) == ("Cons", "Nil") and nil.tag - cons.tag == 1
    assert module[header].type_vars[0] is cons.inputs[0]
    assert module.get_constructor(nil.tag) is nil
    assert tvm.ir.structural_equal(module, relay.parse(module.astext()))


def test_text_with_errors() -> None:
    with pytest.raises(tvm.error.DiagnosticError, match="nothing"):
        relay.parse('#[version = "0.0.5"]\ndef @main() { %nothing }')
    seen = []
    tvm.ir.diagnostics.override_renderer(lambda ctx: seen.extend(ctx.diagnostics))
    try:
        with pytest.raises(tvm.error.DiagnosticError):
            relay.parse("def")
    finally:
        tvm.ir.diagnostics.override_renderer(None)
    assert len(seen) == 1 and seen[0].level == tvm.ir.diagnostics.DiagnosticLevel.ERROR


def test_text_in_the_scope_of_a_module() -> None:
    module = relay.parse(PROGRAM)
    more = relay.parse('#[version = "0.0.5"]\ndef @f(%x: Tensor[(4), float32]) { @double(%x) }', init_module=module)
    assert more["f"].body.op is module.get_global_var("double") and "f" not in module


def test_definitions() -> None:
    module = tvm.IRModule()
    x = vector()
    module["f"] = relay.Function([x], x)
    f = module.get_global_var("f")
    module["f"] = relay.Function([x], relay.nn.relu(x))
    assert module.get_global_var("f") is f and module["f"].body.op.name == "nn.relu"
    module["one"] = relay.const(1)
    assert module["one"].params == ()
    with pytest.raises(tvm.TVMError, match="free variables"):
        module["g"] = relay.Function([], x)
    with pytest.raises(tvm.TVMError, match="free type variables"):
        module["g"] = relay.Function([relay.Var("y", relay.TypeVar("a"))], relay.const(1))
    with pytest.raises(tvm.TVMError, match="Duplicate"):
        module[relay.GlobalVar("f")] = relay.Function([x], x)
    with pytest.raises(ValueError, match='global var "h"'):
        module["h"]
    with pytest.raises(TypeError, match="GlobalVar"):
        tvm.IRModule({1: relay.Function([x], x)})


def test_modules_are_joined_by_name() -> None:
    a, b = relay.parse(PROGRAM), relay.parse(PROGRAM)
    header = a.get_global_type_var("List")
    a.update(b)
    assert len(a.functions) == 2 and a.get_global_type_var("List") is header
    assert a["main"].body.op is a.get_global_var("double")


def test_an_expression_as_module() -> None:
    x = vector()
    module = tvm.IRModule.from_expr(relay.add(x, x))
    assert module["main"].params == (x,)
    named = relay.Function([x], x).with_attr("global_symbol", "f")
    assert "f" in tvm.IRModule.from_expr(named)
    other = tvm.IRModule.from_expr(relay.const(1), functions=module.functions)
    assert {var.name_hint for var in other.get_global_vars()} == {"main", "main_1"}
    assert module.with_attr("k", 1).get_attr("k").value == 1 and module.get_attr("k") is None


def test_fresh_names() -> None:
    names = NameSupply("p")
    assert [names.fresh_name("a.b"), names.fresh_name("a.b"), names.fresh_name("a", False)] == ["p_a_b", "p_a_b_1", "a"]
    assert names.contains_name("a_b") and not names.contains_name("c")
    supply = GlobalVarSupply(relay.parse(PROGRAM))
    assert supply.fresh_global("main", False).name_hint == "main_1"
    assert supply.unique_global_for("f", False) is supply.unique_global_for("f", False)


def test_variables_in_order() -> None:
    x, y, z = vector("x"), vector("y"), vector("z")
    body = relay.Let(x, y, relay.Tuple([z, x, y]))
    assert list(free_vars(body)) == [y, z] and list(bound_vars(body)) == [x] and list(all_vars(body)) == [x, y, z]
    a = relay.TypeVar("a")
    function = relay.Function([relay.Var("v", a)], x, None, [a])
    assert not free_type_vars(function) and list(all_type_vars(function)) == [a]
    module = relay.parse(PROGRAM)
    cons = module.get_type("List")[1]
    pattern = relay.PatternConstructor(cons, [relay.PatternVar(x), relay.PatternWildcard()])
    match = relay.Match(y, [relay.Clause(pattern, relay.Tuple([x, z]))])
    assert list(free_vars(match)) == [y, z] and list(bound_vars(pattern)) == [x]
    assert list(free_type_vars(cons(y), module)) == []


def test_each_variable_is_bound_once() -> None:
    x, y = vector("x"), vector("y")
    once = relay.Let(x, y, x)
    assert well_formed(once) and well_formed(relay.Function([y], once))
    assert not well_formed(relay.Let(x, y, once))
    assert not well_formed(relay.Tuple([once, relay.Let(x, y, x)]))
    assert not well_formed(relay.Tuple([x, once]))


def test_scopes() -> None:
    sb = relay.ScopeBuilder()
    cond, x = relay.var("cond", "bool"), vector()
    with sb.if_scope(cond):
        sb.ret(sb.let("y", relay.nn.relu(x)))
    with sb.else_scope():
        sb.ret(x)
    made = sb.get()
    assert isinstance(made, relay.If) and isinstance(made.true_branch, relay.Let) and made.false_branch is x
    with pytest.raises(RuntimeError, match="ret is not called"):
        relay.ScopeBuilder().get()
    loop = relay.loops.while_loop(lambda i: relay.less(i, relay.const(3)), [relay.var("i", "int32")], lambda i: [i])
    assert isinstance(loop.value, relay.Function)


def test_visitors_of_users() -> None:
    x = vector()

    class Names(relay.ExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.found: list = []

        def visit_op(self, op: tvm.ir.Op) -> None:
            self.found.append(op.name)

    names = Names()
    shared = relay.nn.relu(x)
    names.visit(relay.Function([x], relay.add(shared, relay.TupleGetItem(relay.Tuple([shared]), 0))))
    assert names.found == ["add", "nn.relu"]
    with pytest.raises(NotImplementedError):
        relay.ExprFunctor().visit(x)
    ty = relay.FuncType([relay.TypeVar("a")], relay.TupleType([]))
    relay.TypeVisitor().visit(ty)
    assert tvm.ir.structural_equal(relay.TypeMutator().visit(ty), ty, map_free_vars=True)


def test_tensors() -> None:
    data = np.arange(6, dtype="float32").reshape(2, 3)
    tensor = tvm.nd.array(data)
    data[0, 0] = 9
    assert tensor.shape == (2, 3) and tensor.dtype == "float32" and tensor.numpy()[0, 0] == 0
    assert tensor.device == tvm.cpu() and repr(tensor).startswith("<tvm.nd.NDArray shape=(2, 3), cpu(0)>")
    fortran = tvm.nd.array(np.asfortranarray(data).astype(">f4"))
    assert fortran._array.flags.c_contiguous and fortran._array.dtype.isnative
    np.testing.assert_array_equal(fortran.numpy(), data)
    other = tvm.nd.empty((2, 3))
    assert tensor.copyto(other) is other and other != tensor and other.same_as(other)
    other[:] = data
    np.testing.assert_array_equal(np.asarray(other), data)
    shared = tvm.runtime.ndarray.from_dlpack(tensor)
    np.testing.assert_array_equal(shared.numpy(), tensor.numpy())
    with pytest.raises(ValueError, match="shape"):
        other.copyfrom(np.zeros(4))
    with pytest.raises(ValueError, match="shape"):
        tensor.copyto(tvm.nd.empty((4,)))
    with pytest.raises(tvm.TVMError, match="does not exist"):
        tvm.nd.array(data, tvm.cuda(0))
    with pytest.raises(ValueError, match="Unknown device"):
        tvm.device("abacus")
    assert tvm.nd.empty((2,), "bfloat16")._array.dtype == np.uint16
    assert tvm.device("llvm") == tvm.cpu() and str(tvm.device("cuda:1")) == "cuda(1)"


def test_named_tensors() -> None:
    params = {"a": np.arange(3, dtype="int8"), "b": tvm.nd.empty((0, 2)), "c": np.float64(1.5)}
    data = relay.save_param_dict(params)
    back = relay.load_param_dict(data)
    assert list(back) == ["a", "b", "c"] and back["b"].shape == (0, 2) and back["c"].numpy() == 1.5
    np.testing.assert_array_equal(back["a"].numpy(), params["a"])
    for wrong in (b"", data[:-1], b"\0" * 64, data[:40]):
        with pytest.raises(tvm.TVMError):
            relay.load_param_dict(wrong)
