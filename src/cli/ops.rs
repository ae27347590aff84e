//! `relayc ops`: the manual of the operators.

use super::{Console, exit};
use crate::base::text::nearest;
use crate::ir::attrs::OpTable;
use crate::ops::{OpDef, table};
use serde_json::json;

/// The manual of an operator: its signature, attributes, rules and an example.
#[derive(clap::Args)]
pub struct Args {
    /// The operator, `nn.conv2d`; a part of a name lists those that hold it, and without one, all are listed.
    name: Option<String>,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let wanted = args.name.as_deref().unwrap_or("");
    let defs = table().defs();
    let exact: Vec<&OpDef> = defs.iter().copied().filter(|def| def.name == wanted).collect();
    let part = wanted.to_ascii_lowercase();
    let holds = |def: &&OpDef| def.name.to_ascii_lowercase().contains(&part);
    let found = if exact.is_empty() { defs.iter().copied().filter(holds).collect() } else { exact };
    if found.is_empty() {
        let near = table().elsewhere(wanted).or_else(|| nearest(wanted, defs.iter().map(|def| def.name)));
        let hint = near.map_or("`relayc ops` lists all".to_owned(), |near| format!("there is `{near}`"));
        console.words(&format!("error: there is no operator `{wanted}`: {hint}\n"));
        return exit::USAGE;
    }
    if console.is_json() {
        found.iter().for_each(|def| println!("{}", object(def)));
    } else if let ([def], true) = (&found[..], args.name.is_some()) {
        print!("{}", def.page());
    } else {
        let width = found.iter().map(|def| def.name.len()).filter(|&len| len <= 32).max().unwrap_or(0);
        found.iter().for_each(|def| println!("{:width$}  {}", def.name, def.summary()));
    }
    exit::FINE
}

fn object(def: &OpDef) -> serde_json::Value {
    let args: Vec<_> = def.args.iter().map(|arg| json!({ "name": arg.name, "kind": arg.kind })).collect();
    json!({
        "schema": "relayc.op/1", "name": def.name, "signature": def.signature(), "doc": def.doc, "args": args,
        "attrs_type_key": def.attrs.map(|schema| schema.type_key),
        "attrs": def.attrs.map_or(&[][..], |schema| schema.fields).iter().map(|field| json!({
            "name": field.name, "kind": field.kind.name(), "required": field.default.is_none(), "min": field.min, "doc": field.doc.trim(),
        })).collect::<Vec<_>>(),
        "rules": def.rules, "fusion": def.fuse.map(|fuse| format!("{fuse:?}")), "internal": def.internal,
    })
}
