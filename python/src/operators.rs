//! The operators' declarations as one JSON table: the module of operator functions is generated from it.

use pyo3::prelude::*;
use relayc_driver::manual;
use relayc_ir::attrs::{AttrValue, Field};
use relayc_ops::{OpDef, table};
use serde_json::{Value, json};

/// The declarations of all operators, as a JSON list sorted by name.
///
/// An element is an object of `relayc ops --message-format json` (`relayc.op/1`) with a little more: `attrs_declared` says
/// whether TVM registers the attribute type with the operator, `example` is a program of the manual, and an attribute has its
/// `type`, the kind of its values by name, and its `default` if it has one.
#[pyfunction]
pub(crate) fn operators() -> String {
    Value::Array(table().defs().iter().map(|def| declaration(def)).collect()).to_string()
}

fn declaration(def: &OpDef) -> Value {
    let mut object = manual::object(def);
    object["attrs_declared"] = json!(def.attrs.is_some_and(|schema| schema.declared));
    object["attrs"] = def.attrs.map_or(&[][..], |schema| schema.fields).iter().map(attribute).collect();
    object["example"] = json!(example(&def.page()));
    object
}

fn attribute(field: &Field) -> Value {
    let doc = field.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut object = json!({
        "name": field.name, "type": format!("{:?}", field.kind), "words": field.kind.words(), "min": field.min, "doc": doc,
    });
    if let Some(default) = field.default {
        object["default"] = value(&default());
    }
    object
}

/// A default. None is an object or an expression.
fn value(value: &AttrValue) -> Value {
    match value {
        AttrValue::Bool(value) => json!(value),
        AttrValue::Int { value, .. } => json!(value),
        AttrValue::Float { value, .. } => json!(value),
        AttrValue::Str(text) => json!(text.as_ref()),
        AttrValue::DType(dtype) => json!(dtype.map_or(String::new(), |dtype| dtype.to_string())),
        AttrValue::List(items) => items.iter().map(self::value).collect(),
        AttrValue::None
        | AttrValue::Any
        | AttrValue::Symbol(_)
        | AttrValue::Object(_)
        | AttrValue::Const(..)
        | AttrValue::Expr(_) => Value::Null,
    }
}

/// The program at the end of an operator's page.
fn example(page: &str) -> Option<&str> {
    let (_, example) = page.split_once("\n## Example\n\n```relay\n")?;
    example.strip_suffix("\n```\n")
}
