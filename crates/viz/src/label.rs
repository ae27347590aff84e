//! Abbreviates types and attributes: `(1, 64, 56, 56) f32`, `64 3×3 /2 pad 1`.

use relayc_base::text::{escape_control, format_g, shortened};
use relayc_ir::print::{self, literal, quoted};
use relayc_ir::types::{DType, DTypeCode, Ty, TyData};
use relayc_ir::{AttrSchema, AttrValue, ConstId, Module, PatId};

/// Makes a program text safe to display: one line, no control characters.
pub fn tame(text: &str) -> String {
    escape_control(text).replace(['\n', '\t'], " ")
}

/// Maximum characters of a type.
const MAX_TYPE: usize = 60;

/// An abbreviated type; empty if unknown.
pub(crate) fn ty(module: &Module, ty: Ty) -> String {
    let types = &module.types;
    let one = |ty: Ty| match types.data(ty) {
        TyData::Tensor { shape, dtype } if shape.is_empty() => self::dtype(*dtype),
        TyData::Tensor { shape, dtype } => format!("{} {}", types.shape_text(shape), self::dtype(*dtype)),
        TyData::Error | TyData::Hole(_) => String::new(),
        TyData::Fn { .. } => "fn".to_owned(),
        // A character has up to 4 bytes.
        _ => tame(&shortened(&types.text_within(ty, 4 * MAX_TYPE), MAX_TYPE)),
    };
    let text = match types.as_tuple(ty) {
        Some(fields) => {
            let fields: Vec<String> = fields.iter().take(8).map(|&field| one(field)).collect();
            if fields.iter().all(String::is_empty) && !fields.is_empty() {
                String::new()
            } else {
                format!("[{}]", fields.join("; "))
            }
        }
        None => one(ty),
    };
    shortened(&text, MAX_TYPE)
}

/// `f32`, `i8`, `bool`.
pub(crate) fn dtype(dtype: DType) -> String {
    let short = match dtype.code {
        DTypeCode::Int => "i",
        DTypeCode::UInt if dtype != DType::BOOL => "u",
        DTypeCode::Float => "f",
        DTypeCode::BFloat => "bf",
        _ => return dtype.to_string(),
    };
    if dtype.lanes == 1 { format!("{short}{}", dtype.bits) } else { dtype.to_string() }
}

/// A constant: its literal, or a description.
pub(crate) fn constant(module: &Module, id: ConstId) -> String {
    literal(&module.consts[id], false).unwrap_or_else(|| "constant".to_owned())
}

/// Maximum characters of a pattern.
const MAX_PATTERN: usize = 60;

/// A pattern as Relay text writes it, truncated if long.
pub(crate) fn pattern(module: &Module, pat: PatId) -> String {
    let text = print::pattern(module, pat, &mut |var| format!("%{}", module.vars[var].name));
    tame(&shortened(&text, MAX_PATTERN))
}

/// Maximum characters of an attribute.
const MAX_VALUE: usize = 120;

/// An attribute's value as Relay text writes it, truncated if long.
pub(crate) fn value(value: &AttrValue) -> String {
    shortened(&whole_value(value), MAX_VALUE)
}

fn whole_value(value: &AttrValue) -> String {
    match value {
        AttrValue::None => "None".to_owned(),
        AttrValue::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        AttrValue::Int { value, .. } => value.to_string(),
        AttrValue::Float { value, .. } => format_g(*value),
        AttrValue::Str(text) => quoted(text),
        AttrValue::DType(dtype) => dtype.map_or(String::new(), self::dtype),
        AttrValue::List(items) => {
            let one = |item: &AttrValue| match item {
                AttrValue::List(inner) => format!("[{} items]", inner.len()),
                item => whole_value(item),
            };
            let shown: Vec<String> = items.iter().take(32).map(one).collect();
            let rest = if items.len() > shown.len() { ", …" } else { "" };
            format!("[{}{rest}]", shown.join(", "))
        }
        AttrValue::Any | AttrValue::Symbol(_) => "?".to_owned(),
        AttrValue::Object(_) => "an object".to_owned(),
        AttrValue::Const(..) => "a constant".to_owned(),
        AttrValue::Expr(_) => "an expression".to_owned(),
    }
}

/// The attributes of a call with non-default values.
pub(crate) fn attrs(schema: &AttrSchema, values: &[AttrValue]) -> Vec<(String, String)> {
    let named = schema.fields.iter().zip(values);
    let told = named.filter(|(field, value)| !field.default.is_some_and(|default| default().same(value)));
    told.map(|(field, value)| (field.name.to_owned(), self::value(value))).collect()
}

/// Abbreviated attributes. The notation tells them apart: `3×3` a window, `/2` strides.
pub(crate) fn brief(schema: &AttrSchema, values: &[AttrValue]) -> String {
    let mut words: Vec<String> = vec![];
    // What says most goes first.
    let rank = |name: &str| match name {
        "channels" | "units" => 0,
        "kernel_size" | "pool_size" => 1,
        "strides" => 2,
        "padding" => 3,
        _ => 4,
    };
    let mut named: Vec<_> = schema.fields.iter().zip(values).collect();
    named.sort_by_key(|(field, _)| rank(field.name));
    for (field, value) in named {
        if !field.default.is_some_and(|default| default().same(value)) {
            words.extend(word(field.name, value));
        }
    }
    words.join(" ")
}

fn word(name: &str, value: &AttrValue) -> Option<String> {
    let ints: Option<Vec<i64>> = value.as_list().map(|items| items.iter().map_while(AttrValue::as_int).collect());
    let joined = |by: &str| {
        let ints = ints.as_deref().unwrap_or_default();
        match ints {
            [first, rest @ ..] if by == "," && rest.iter().all(|int| int == first) => first.to_string(),
            _ => ints.iter().map(i64::to_string).collect::<Vec<_>>().join(by),
        }
    };
    let has_ints = ints.as_ref().is_some_and(|ints| !ints.is_empty());
    Some(match name {
        "channels" | "units" if value.as_int().is_some() => self::value(value),
        "kernel_size" | "pool_size" if has_ints => joined("×"),
        "strides" if has_ints => format!("/{}", joined(",")),
        "padding" if ints.as_ref().is_some_and(|ints| ints.iter().all(|&int| int == 0)) => return None,
        "padding" if has_ints => format!("pad {}", joined(",")),
        "dilation" if has_ints => format!("dilated {}", joined(",")),
        "groups" => format!("{} groups", self::value(value)),
        "axis" | "axes" | "newshape" | "shape" if has_ints => format!("{name} ({})", joined(", ")),
        "axis" => format!("axis {}", self::value(value)),
        "dtype" | "out_dtype" => self::value(value),
        _ => format!("{name}={}", shortened(&self::value(value), 24)),
    })
}
