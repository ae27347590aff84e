//! The manual: a page of Markdown for each operator, generated from its declaration and its golden.

use super::OpDef;
#[cfg(debug_assertions)]
use super::example;
use relayc_base::text::{format_g, wrap};
use relayc_ir::attrs::{AttrSchema, AttrValue, Field};
use std::borrow::Cow;

const WIDTH: usize = 120;

/// The examples of all operators, by name: a copy of the goldens' first functions, made when relayc was built.
#[cfg(not(debug_assertions))]
const EXAMPLES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The example of an operator, which the golden tests run.
#[cfg(not(debug_assertions))]
fn example(name: &str) -> Option<Cow<'static, str>> {
    EXAMPLES.iter().find(|(of, _)| *of == name).map(|(_, text)| Cow::Borrowed(*text))
}

/// As in a release, but from the golden itself: a build must not depend on each of them while they are written.
#[cfg(debug_assertions)]
fn example(name: &str) -> Option<Cow<'static, str>> {
    let golden = format!("{}/../../tests/golden/ops/{name}.relay", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(golden).ok().map(|text| Cow::Owned(example::first(&text).to_owned()))
}

impl OpDef {
    /// A call with its attributes: `nn.leaky_relu(data, alpha=0.25)`. A required attribute has no value.
    pub fn signature(&self) -> String {
        format!("{}({})", self.name, self.signature_parts().join(", "))
    }

    /// What stands in the parentheses of [`OpDef::signature`]: the operands, then the attributes that text can write.
    pub fn signature_parts(&self) -> Vec<String> {
        let args = self.args.iter().map(|arg| arg.name.to_owned());
        let attrs = self.written_fields().iter().map(|field| match field.default {
            Some(default) => format!("{}={}", field.name, literal(&default())),
            None => format!("{}=…", field.name),
        });
        args.chain(attrs).collect()
    }

    /// The attributes that text writes as `key=value`.
    pub fn written_fields(&self) -> &'static [Field] {
        self.attrs.filter(|schema| schema.declared).map_or(&[], |schema| schema.fields)
    }

    /// A summary in one sentence.
    pub fn summary(&self) -> &'static str {
        let end = self.doc.match_indices([';', '.', '(']).find(|&(at, sign)| {
            let rest = &self.doc[at + 1..];
            if sign == "(" { rest.starts_with("`src/") } else { rest.starts_with(' ') || rest.is_empty() }
        });
        self.doc[..end.map_or(self.doc.len(), |(at, _)| at)].trim_end()
    }

    pub fn page(&self) -> String {
        let mut page = format!("# {}\n\n{}\n{}", self.name, wrap(&self.signature(), WIDTH, "    "), wrap(self.doc, WIDTH, ""));
        if self.internal {
            let does = if self.lower.is_some() { "runs it too" } else { "checks and prints it" };
            page.push_str(&format!("\nTVM's own passes write it; relayc {does}.\n"));
        }
        if !self.args.is_empty() {
            let args: Vec<String> = self.args.iter().map(|arg| format!("- `{}`: {}\n", arg.name, arg.kind)).collect();
            section(&mut page, "Arguments", &args.concat());
        }
        if let Some(schema) = self.attrs {
            section(&mut page, "Attributes", &attributes(schema));
        }
        if !self.rules.is_empty() {
            let rules: Vec<String> = self.rules.iter().map(|rule| wrap(&format!("- {rule}"), WIDTH, "  ")).collect();
            section(&mut page, "Rules", &rules.concat());
        }
        if let Some(fuse) = self.fuse {
            section(&mut page, "Fusion", &format!("`{fuse:?}`\n"));
        }
        if let Some(example) = example(self.name) {
            section(&mut page, "Example", &format!("```relay\n{example}\n```\n"));
        }
        page
    }
}

fn section(page: &mut String, head: &str, text: &str) {
    page.push_str(&format!("\n## {head}\n\n{text}"));
}

fn attributes(schema: &AttrSchema) -> String {
    let mut text: String = schema.fields.iter().map(attribute).collect();
    let key = schema.type_key;
    if schema.declared {
        text.push_str(&format!("\nTheir type is `{key}`.\n"));
    } else {
        let how = format!(
            "TVM declares no attributes with it: text has `meta[{key}][0]` as the last operand, or the attributes and `attrs_type_key=\"{key}\"`."
        );
        text.push_str(&format!("\n{}", wrap(&how, WIDTH, "")));
    }
    text
}

fn attribute(field: &Field) -> String {
    let default = field.default.map_or("must be given".to_owned(), |default| format!("default `{}`", literal(&default())));
    let least = field.min.map_or(String::new(), |min| format!(", at least {min}"));
    let doc = field.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    wrap(&format!("- `{}`: {}, {default}{least}. {doc}", field.name, field.kind.words()), WIDTH, "  ")
}

/// A value as text writes it.
pub fn literal(value: &AttrValue) -> String {
    match value {
        AttrValue::Bool(true) => "True".into(),
        AttrValue::Bool(false) => "False".into(),
        AttrValue::Int { value, .. } => value.to_string(),
        AttrValue::Float { value, .. } => format_g(*value),
        AttrValue::Str(text) => format!("{text:?}"),
        AttrValue::DType(dtype) => format!("{:?}", dtype.map_or(String::new(), |dtype| dtype.to_string())),
        AttrValue::List(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        AttrValue::Any => "?".into(),
        AttrValue::None | AttrValue::Symbol(_) | AttrValue::Object(_) | AttrValue::Const(..) | AttrValue::Expr(_) => {
            "None".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;

    #[test]
    fn every_operator_has_a_page_with_an_example() {
        for def in table().defs() {
            let page = def.page();
            assert!(page.contains("\n## Example\n") && page.ends_with("\n```\n"), "{page}");
            assert!(!def.summary().is_empty() && def.summary().len() < def.doc.len(), "{}: {}", def.name, def.summary());
        }
    }

    #[test]
    fn signatures() {
        let signature = |name| {
            let def = table().defs().iter().find(|def| def.name == name);
            def.expect("an operator").signature()
        };
        assert_eq!(signature("nn.leaky_relu"), "nn.leaky_relu(data, alpha=0.25)");
        assert_eq!(signature("transpose"), "transpose(data, axes=…)");
        assert_eq!(signature("zeros"), "zeros(shape=…, dtype=\"\")");
    }
}
