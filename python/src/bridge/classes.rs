//! The classes of nodes, looked up once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

macro_rules! classes {
    ($($field:ident = $module:literal . $name:literal),* $(,)?) => {
        /// The classes that nodes are made of.
        pub(crate) struct Classes {
            $(pub(crate) $field: Py<PyAny>,)*
        }

        impl Classes {
            fn load(py: Python<'_>) -> PyResult<Classes> {
                Ok(Classes { $($field: py.import(concat!("relayc.tvm.", $module))?.getattr($name)?.unbind(),)* })
            }
        }
    };
}

classes! {
    var = "relay.expr"."Var",
    constant = "relay.expr"."Constant",
    tuple = "relay.expr"."Tuple",
    tuple_get_item = "relay.expr"."TupleGetItem",
    call = "relay.expr"."Call",
    let_ = "relay.expr"."Let",
    if_ = "relay.expr"."If",
    ref_create = "relay.expr"."RefCreate",
    ref_read = "relay.expr"."RefRead",
    ref_write = "relay.expr"."RefWrite",
    function = "relay.function"."Function",
    global_var = "ir.expr"."GlobalVar",
    op = "ir.op"."Op",
    match_ = "relay.adt"."Match",
    clause = "relay.adt"."Clause",
    wildcard = "relay.adt"."PatternWildcard",
    pattern_var = "relay.adt"."PatternVar",
    pattern_constructor = "relay.adt"."PatternConstructor",
    pattern_tuple = "relay.adt"."PatternTuple",
    constructor = "ir.adt"."Constructor",
    type_data = "ir.adt"."TypeData",
    tensor_type = "ir.tensor_type"."TensorType",
    tuple_type = "ir.type"."TupleType",
    func_type = "ir.type"."FuncType",
    type_var = "ir.type"."TypeVar",
    global_type_var = "ir.type"."GlobalTypeVar",
    incomplete_type = "ir.type"."IncompleteType",
    type_call = "ir.type_relation"."TypeCall",
    ref_type = "ir.type"."RelayRefType",
    array = "ir.container"."Array",
    dict_attrs = "ir.attrs"."DictAttrs",
    int_imm = "tir.expr"."IntImm",
    float_imm = "tir.expr"."FloatImm",
    any = "tir.expr"."Any",
    dim_var = "tir.expr"."Var",
    size_var = "tir.expr"."SizeVar",
    add = "tir.expr"."Add",
    sub = "tir.expr"."Sub",
    mul = "tir.expr"."Mul",
    div = "tir.expr"."Div",
    mod_ = "tir.expr"."Mod",
    floor_div = "tir.expr"."FloorDiv",
    floor_mod = "tir.expr"."FloorMod",
    min = "tir.expr"."Min",
    max = "tir.expr"."Max",
    cast = "tir.expr"."Cast",
    make_attrs = "_native"."make_attrs",
}

/// The classes.
pub(crate) fn classes(py: Python<'_>) -> PyResult<&'static Classes> {
    static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
    CLASSES.get_or_try_init(py, || Classes::load(py))
}
