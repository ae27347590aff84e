//! Matches clauses against a value: top to bottom, the first match wins (language 8).

use super::Value;
use super::lower::Arm;
use relayc_ir::{Module, PatId, PatKind};

/// The first clause that matches, with the values of its variables in text order.
pub(super) fn find<'a>(module: &Module, arms: &'a [Arm], value: &Value) -> Option<(&'a Arm, Vec<Value>)> {
    arms.iter().find_map(|arm| bindings(module, arm.pat, value).map(|values| (arm, values)))
}

/// The values of a pattern's variables in text order, if it matches.
fn bindings(module: &Module, pat: PatId, value: &Value) -> Option<Vec<Value>> {
    let (mut out, mut pairs) = (Vec::new(), vec![(pat, value)]);
    while let Some((pat, value)) = pairs.pop() {
        let (pats, fields) = match (module.pats[pat].kind, value) {
            (PatKind::Wildcard, _) => continue,
            (PatKind::Var(_), value) => {
                out.push(value.clone());
                continue;
            }
            (PatKind::Ctor(wanted, pats), Value::Adt(ctor, fields)) if wanted == *ctor => (pats, fields),
            (PatKind::Tuple(pats), Value::Tuple(fields)) => (pats, fields),
            _ => return None,
        };
        pairs.extend(module.sub_pats(pats).iter().copied().zip(fields.iter()).rev());
    }
    Some(out)
}

/// The value for a message: its constructor, if it has one.
pub(super) fn preview(module: &Module, value: &Value) -> String {
    match value {
        Value::Adt(..) => format!("`{}`", outermost(module, value)),
        Value::Tuple(fields) => {
            let fields: Vec<String> = fields.iter().map(|field| outermost(module, field)).collect();
            format!("`({})`", fields.join(", "))
        }
        Value::Tensor(_) | Value::Closure(_) | Value::Cell(_) => "this value".to_owned(),
    }
}

fn outermost(module: &Module, value: &Value) -> String {
    match value {
        Value::Adt(ctor, fields) if fields.is_empty() => module.ctors[*ctor].name.to_string(),
        Value::Adt(ctor, _) => format!("{}(…)", module.ctors[*ctor].name),
        _ => "…".to_owned(),
    }
}
