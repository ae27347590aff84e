//! `relayc ops`: finds operators and describes them.

use relayc_base::text::nearest;
use relayc_ir::attrs::OpTable;
use relayc_ops::{OpDef, table};
use serde_json::{Value, json};

/// Finds the operator with that name, or else those whose names contain it, ignoring case. `Err` has a spelling suggestion.
pub fn look_up(name: &str) -> Result<Vec<&'static OpDef>, Option<&'static str>> {
    let defs = table().defs();
    if let Some(exact) = defs.iter().find(|def| def.name == name) {
        return Ok(vec![exact]);
    }
    let part = name.to_ascii_lowercase();
    let found: Vec<_> = defs.iter().copied().filter(|def| def.name.to_ascii_lowercase().contains(&part)).collect();
    if found.is_empty() {
        return Err(table().elsewhere(name).or_else(|| nearest(name, defs.iter().map(|def| def.name))));
    }
    Ok(found)
}

/// An operator as JSON, `relayc.op/1`.
pub fn object(def: &OpDef) -> Value {
    let args: Vec<_> = def.args.iter().map(|arg| json!({ "name": arg.name, "kind": arg.kind })).collect();
    let fields = def.attrs.map_or(&[][..], |schema| schema.fields);
    let attrs = fields.iter().map(|field| {
        let (kind, required) = (field.kind.name(), field.default.is_none());
        json!({ "name": field.name, "kind": kind, "required": required, "min": field.min, "doc": field.doc.trim() })
    });
    json!({
        "schema": "relayc.op/1", "name": def.name, "signature": def.signature(), "doc": def.doc, "args": args,
        "attrs_type_key": def.attrs.map(|schema| schema.type_key), "attrs": attrs.collect::<Vec<_>>(),
        "rules": def.rules, "fusion": def.fuse.map(|fuse| format!("{fuse:?}")), "internal": def.internal,
    })
}
