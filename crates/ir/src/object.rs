//! Objects of a metadata section that relayc keeps unchanged: devices, targets, expressions in attributes, and their contents.
//!
//! Constants, symbols and the attributes of the program's calls are read into values of their own. The content of all other
//! objects is kept in the order of TVM's declarations, so that it prints unchanged.

use super::ids::ConstId;
use crate::types::SymbolId;
use relayc_base::index_type;

index_type! {
    /// An object, by its number in the module.
    pub struct ObjectId;
}

/// An object as TVM's reflection shows it.
#[derive(Clone, PartialEq, Debug)]
pub enum Object {
    Str(Box<str>),
    Array(Box<[Option<ObjectId>]>),
    /// A map with string keys.
    Map(Box<[(Box<str>, Option<ObjectId>)]>),
    Record {
        record: &'static Record,
        /// In the order of the record's fields.
        fields: Box<[FieldValue]>,
    },
    /// The attributes of a call inside an expression, in the order of their type.
    Attrs {
        type_key: &'static str,
        fields: Box<[(&'static str, FieldValue)]>,
    },
    /// An operator inside an expression, by its name. TVM has one object for each operator.
    Op(Box<str>),
    /// A constant inside an expression.
    Const(ConstId),
    /// A symbolic dimension that the program mentions too.
    Symbol {
        id: SymbolId,
        type_key: &'static str,
    },
}

impl Object {
    pub(crate) fn type_key(&self) -> &'static str {
        match self {
            Object::Str(_) => "runtime.String",
            Object::Array(_) => "Array",
            Object::Map(_) => "Map",
            Object::Record { record, .. } => record.type_key,
            Object::Attrs { type_key, .. } | Object::Symbol { type_key, .. } => type_key,
            Object::Op(_) => "Op",
            Object::Const(_) => CONSTANT,
        }
    }
}

pub const CONSTANT: &str = "relay.Constant";

#[derive(Clone, PartialEq, Debug)]
pub enum FieldValue {
    /// A number, a machine string or a dtype, as text.
    Text(Box<str>),
    Object(Option<ObjectId>),
}

/// A type of objects with named fields.
#[derive(PartialEq, Debug)]
pub struct Record {
    pub type_key: &'static str,
    /// The fields in TVM's order of declaration, which numbers the nodes inside.
    pub fields: &'static [(&'static str, Part)],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Text,
    Object,
    /// A string: an object, or text in place if TVM declares a `std::string`.
    Str,
    /// The place in a text; not kept.
    Span,
}

impl Record {
    pub fn find(type_key: &str) -> Option<&'static Record> {
        RECORDS.iter().find(|record| record.type_key == type_key)
    }

    /// Whether it is an expression, which has a type.
    pub fn is_expr(&self) -> bool {
        self.fields.iter().any(|(name, _)| *name == "_checked_type_")
    }
}

/// An operation of two integers, inside an index map or a dimension.
const fn operation(type_key: &'static str) -> Record {
    Record { type_key, fields: &[("dtype", Part::Text), ("a", Part::Object), ("b", Part::Object), ("span", Part::Span)] }
}

/// An expression: its own fields, then those that all expressions have.
macro_rules! expr {
    ($key:literal: $($name:literal $part:ident),*) => {
        Record {
            type_key: $key,
            fields: &[
                $(($name, Part::$part),)*
                ("virtual_device_", Part::Object),
                ("span", Part::Span),
                ("_checked_type_", Part::Object),
            ],
        }
    };
}

/// Any other object: its fields.
macro_rules! record {
    ($key:literal: $($name:literal $part:ident),*) => {
        Record { type_key: $key, fields: &[$(($name, Part::$part)),*] }
    };
}

/// The records that are kept (`include/tvm/target/{target,target_kind,virtual_device}.h`,
/// `include/tvm/tir/{expr,index_map,var}.h`, `include/tvm/ir/{adt,attrs,expr,tensor_type,type,type_relation}.h`,
/// `include/tvm/relay/{adt,base,expr,function}.h`).
const RECORDS: &[Record] = &[
    // Targets.
    record!("VirtualDevice": "device_type_int" Text, "virtual_device_id" Text, "target" Object, "memory_scope" Object),
    record!("Target": "kind" Object, "tag" Object, "keys" Object, "attrs" Object, "features" Object, "host" Object),
    record!("TargetKind": "name" Object, "default_device_type" Text, "default_keys" Object),
    // Integers.
    record!("IntImm": "dtype" Text, "value" Text, "span" Span),
    record!("FloatImm": "dtype" Text, "value" Text, "span" Span),
    record!("tir.IndexMap": "initial_indices" Object, "final_indices" Object, "inverse_index_map" Object),
    record!("tir.Var": "dtype" Text, "name" Object, "type_annotation" Object, "span" Span),
    record!("tir.SizeVar": "dtype" Text, "name" Object, "type_annotation" Object, "span" Span),
    record!("tir.Any": "dtype" Text, "span" Span),
    record!("tir.Cast": "dtype" Text, "value" Object, "span" Span),
    record!("tir.Call": "dtype" Text, "op" Object, "args" Object, "span" Span),
    operation("tir.Add"),
    operation("tir.Sub"),
    operation("tir.Mul"),
    operation("tir.Div"),
    operation("tir.Mod"),
    operation("tir.FloorDiv"),
    operation("tir.FloorMod"),
    operation("tir.Min"),
    operation("tir.Max"),
    // Types.
    record!("PrimType": "dtype" Text),
    record!("relay.TensorType": "shape" Object, "dtype" Text, "span" Span),
    record!("TupleType": "fields" Object, "span" Span),
    record!("FuncType": "arg_types" Object, "ret_type" Object, "type_params" Object, "type_constraints" Object, "span" Span),
    record!("relay.RefType": "value" Object, "span" Span),
    record!("IncompleteType": "kind" Text, "span" Span),
    record!("TypeVar": "name_hint" Object, "kind" Text, "span" Span),
    record!("GlobalTypeVar": "name_hint" Object, "kind" Text),
    record!("TypeCall": "func" Object, "args" Object, "span" Span),
    // Expressions.
    expr!("GlobalVar": "name_hint" Object),
    expr!("relay.Var": "vid" Object, "type_annotation" Object),
    expr!("relay.Tuple": "fields" Object),
    expr!("relay.TupleGetItem": "tuple_value" Object, "index" Text),
    expr!("relay.Call": "op" Object, "args" Object, "attrs" Object, "type_args" Object),
    expr!("relay.If": "cond" Object, "true_branch" Object, "false_branch" Object),
    expr!("relay.RefCreate": "value" Object),
    expr!("relay.RefRead": "ref" Object),
    expr!("relay.RefWrite": "ref" Object, "value" Object),
    expr!("relay.Match": "data" Object, "clauses" Object, "complete" Text),
    expr!(
        "relay.Function": "params" Object, "body" Object, "ret_type" Object, "type_params" Object, "attrs" Object
    ),
    // Numbered with its body last, so that a chain of bindings is numbered from the first (`src/node/serialization.cc`).
    record!(
        "relay.Let": "var" Object, "value" Object, "span" Span, "_checked_type_" Object, "body" Object, "virtual_device_" Object
    ),
    record!(
        "relay.Constructor": "name_hint" Object, "inputs" Object, "belong_to" Object, "tag" Text, "span" Span,
        "_checked_type_" Object
    ),
    record!("relay.Id": "name_hint" Object),
    record!("DictAttrs": "__dict__" Object),
    record!("relay.Clause": "lhs" Object, "rhs" Object),
    record!("relay.PatternWildcard": "span" Span),
    record!("relay.PatternVar": "var" Object, "span" Span),
    record!("relay.PatternConstructor": "constructor" Object, "patterns" Object, "span" Span),
    record!("relay.PatternTuple": "patterns" Object, "span" Span),
];
