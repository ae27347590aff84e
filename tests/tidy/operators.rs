//! Rules for operators: declared as in TVM v0.14.0, each with its golden, each rule cited and shown, no operator named
//! elsewhere.

use crate::tree::{files, literals, none, read, root, sources};
use relayc_ir::attrs::{AttrValue, Field};
use relayc_ops::{OpDef, table};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const TABLE: &str = "tests/data/operators.json";

/// Where we differ from the table on purpose: the operator, what differs (a part of the message below), the reason.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("dyn.strided_slice", "args", "TVM documents slice_mode behind the four operands it takes"),
    (
        "nn.contrib_dense_pack",
        "attr",
        "TVM registers `DenseAttrs`, and its relation reads the `DensePackAttrs` that its calls bring",
    ),
    (
        "nn.avg_pool2d_grad",
        "attr",
        "TVM registers `MaxPool2DAttrs`, and its calls bring the `AvgPool2DAttrs` that its gradient reads",
    ),
    (
        "qnn.simulated_quantize",
        "attr",
        "TVM has two types of that name; the one it finds first is the quantizer's, without an axis",
    ),
    ("hardswish", "args", "TVM registers no more than the name; it means its function of one operand"),
    ("scatter", "args", "TVM 0.14 registers no more than the name; it means the function that had it before"),
    ("parser.MetaRef", "kind of `node_index`", "the operator is never read: text writes `meta[Key][n]`"),
    ("qnn.add", "args is", "TVM lists its two attributes among the eight arguments"),
    ("qnn.mul", "args is", "TVM lists its two attributes among the eight arguments"),
    ("qnn.subtract", "args is", "TVM lists its two attributes among the eight arguments"),
];

#[test]
fn the_table_is_the_one_of_the_specification() {
    let origin = root().join("../shared/spec/operators.json");
    if let Ok(text) = std::fs::read_to_string(origin) {
        assert!(text == read(TABLE), "{TABLE} differs from the specification's operators.json: copy it again");
    }
}

fn specified() -> BTreeMap<String, Value> {
    let table: Vec<Value> = serde_json::from_str(&read(TABLE)).expect("the table is JSON");
    table.into_iter().map(|op| (op["name"].as_str().expect("operators have names").to_owned(), op)).collect()
}

/// What the page of an operator of relayc alone says, which nothing of TVM specifies or measures.
const OWN: &str = "TVM has no such operator";

#[test]
fn every_operator_is_declared_as_specified() {
    let specified = specified();
    let mut differences = Vec::new();
    for def in table().defs() {
        let Some(spec) = specified.get(def.name) else {
            if !def.doc.contains(OWN) {
                differences.push((def.name, format!("there is no such operator, and its page does not say `{OWN}`")));
            }
            continue;
        };
        differences.extend(compare(def, spec).into_iter().map(|what| (def.name, what)));
    }
    let missing = specified.keys().filter(|name| table().defs().iter().all(|def| def.name != **name));
    none("operators of tests/data/operators.json that are not declared", missing.cloned().collect());
    let deliberate = |(name, what): &(&str, String)| DIFFERENCES.iter().any(|(op, part, _)| op == name && what.contains(part));
    let (allowed, wrong): (Vec<_>, Vec<_>) = differences.into_iter().partition(deliberate);
    none(
        "operators that differ from tests/data/operators.json",
        wrong.iter().map(|(name, what)| format!("{name}: {what}")).collect(),
    );
    let unused = DIFFERENCES.iter().filter(|(op, part, _)| !allowed.iter().any(|(name, what)| name == op && what.contains(part)));
    none("deliberate differences that are none", unused.map(|(op, part, _)| format!("{op}: {part}")).collect());
}

fn compare(def: &OpDef, spec: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut same = |what: &str, ours: Value, theirs: &Value| {
        if ours != *theirs {
            found.push(format!("{what} is {ours}, specified {theirs}"));
        }
    };
    let args: Vec<String> = def.args.iter().map(|arg| format!("{}:{}", arg.name, arg.kind)).collect();
    same("args", json!(args), &spec["args"]);
    same("internal", json!(def.internal), &spec["internal"]);
    same("pattern", json!(def.fuse.map(|fuse| format!("{fuse:?}"))), &spec["pattern"]);
    let declared = def.attrs.filter(|schema| schema.declared);
    same("attrs_type_key", json!(declared.map(|schema| schema.type_key)), &spec["attrs_type_key"]);
    let fields = declared.map_or(&[][..], |schema| schema.fields);
    let theirs = spec["attrs"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let specified: Vec<&str> = theirs.iter().filter_map(|attr| attr["name"].as_str()).collect();
    same("attribute names", json!(names), &json!(specified));
    for (field, attr) in fields.iter().zip(&theirs).filter(|(field, attr)| attr["name"] == field.name) {
        let of = |what: &str| format!("{what} of `{}`", field.name);
        // `IndexExpr` is another name of `PrimExpr`.
        let kind = attr["kind"].as_str().unwrap_or("").replace("<IndexExpr>", "<Integer>").replace("Array<PrimExpr>", "int[]");
        same(&of("kind"), json!(field.kind.name()), &json!(kind));
        same(&of("required"), json!(field.default.is_none()), &json!(attr["required"] == true));
        same(&of("default"), default(field), &normal(&attr["default"], &kind));
        same(&of("minimum"), json!(field.min), &attr["min"].as_f64().map_or(Value::Null, |min| json!(min)));
    }
    found
}

fn default(field: &Field) -> Value {
    field.default.map_or(Value::Null, |default| to_json(&default()))
}

fn to_json(value: &AttrValue) -> Value {
    match value {
        AttrValue::None
        | AttrValue::Any
        | AttrValue::Symbol(_)
        | AttrValue::Object(_)
        | AttrValue::Const(..)
        | AttrValue::Expr(_) => Value::Null,
        AttrValue::Bool(value) => json!(value),
        AttrValue::Int { value, .. } => json!(value),
        // The table writes a float32 as text does.
        AttrValue::Float { value, bits: 32 } => json!((*value as f32).to_string().parse::<f64>().unwrap_or(*value)),
        AttrValue::Float { value, .. } => json!(value),
        AttrValue::Str(text) => json!(**text),
        AttrValue::DType(dtype) => json!(dtype.map(|dtype| dtype.to_string())),
        AttrValue::List(items) => items.iter().map(to_json).collect(),
    }
}

/// A specified default as ours would be: the table writes some floats and bools as integers.
fn normal(value: &Value, kind: &str) -> Value {
    if let Some(items) = value.as_array() {
        return items.iter().map(|item| normal(item, kind)).collect();
    }
    // A C++ expression of a number.
    let expr: Option<f32> =
        value["expr"].as_str().and_then(|text| text.strip_prefix("static_cast<float>(")?.strip_suffix(')')?.parse().ok());
    if let Some(number) = expr {
        return json!(f64::from(number));
    }
    match (kind, value.as_i64()) {
        // Any device and an empty map, which are expressions in the table.
        ("VirtualDevice" | "Map<String, ObjectRef>", _) => Value::Null,
        ("bool", Some(value)) => json!(value != 0),
        ("float", Some(value)) => json!(value as f64),
        _ => value.clone(),
    }
}

// ---- Goldens ----

fn golden(name: &str) -> String {
    format!("tests/golden/ops/{name}.relay")
}

#[test]
fn every_operator_has_a_golden_that_runs() {
    // Internal operators are not run.
    let runs =
        |def: &OpDef| root().join(golden(def.name)).exists() && (def.internal || read(&golden(def.name)).contains("// run:"));
    let missing = table().defs().iter().filter(|def| !runs(def)).map(|def| def.name);
    none("operators without a golden with a `// run:` line", missing.map(golden).collect());
}

/// Operators of which no answer of TVM is among the conformance cases: their goldens are all there is.
const UNMEASURED: &[&str] = &[
    "asin",
    "asinh",
    "bitwise_not",
    "bitwise_or",
    "broadcast_to_like",
    "collapse_sum_to",
    "cosh",
    "dft",
    "dyn.broadcast_to",
    "dyn.full",
    "dyn.nn.upsampling",
    "dyn.nn.upsampling3d",
    "einsum",
    "fast_erf",
    "fast_exp",
    "fast_tanh",
    "fixed_point_multiply_per_axis",
    "floor",
    "full_like",
    "hardswish",
    "image.crop_and_resize",
    "invert_permutation",
    "isfinite",
    "isinf",
    "isnan",
    "log10",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "nn.adaptive_avg_pool3d",
    "nn.adaptive_max_pool2d",
    "nn.adaptive_max_pool3d",
    "nn.avg_pool2d_grad",
    "nn.avg_pool3d",
    "nn.batch_to_space_nd",
    "nn.conv2d_backward_weight",
    "nn.cross_entropy_with_logits",
    "nn.instance_norm",
    "nn.l2_normalize",
    "nn.max_pool2d_grad",
    "nn.mirror_pad",
    "nn.sparse_add",
    "nn.sparse_conv2d",
    "nn.sparse_dense",
    "nn.sparse_transpose",
    "qnn.abs",
    "qnn.add",
    "qnn.avg_pool2d",
    "qnn.concatenate",
    "qnn.conv2d",
    "qnn.conv2d_transpose",
    "qnn.exp",
    "qnn.hardswish",
    "qnn.log",
    "qnn.mul",
    "qnn.rsqrt",
    "qnn.sigmoid",
    "qnn.simulated_dequantize",
    "qnn.simulated_quantize",
    "qnn.sqrt",
    "qnn.subtract",
    "qnn.tanh",
    "random.multinomial",
    "random.normal",
    "random.threefry_split",
    "random.uniform",
    "scatter",
    "sliding_window",
    "tan",
    "trunc_divide",
    "trunc_mod",
    "vision.multibox_prior",
    "vision.regular_non_max_suppression",
    "vision.yolo_reorg",
];

#[test]
fn what_tvm_was_not_asked_has_five_answers() {
    let few = UNMEASURED.iter().filter(|name| read(&golden(name)).matches("// run:").count() < 5);
    none("operators without a conformance case and with fewer than five `// run:` lines", few.map(|name| golden(name)).collect());
}

/// The list is that of the cases, where they lie beside the repository.
#[test]
fn what_tvm_was_not_asked_is_listed() {
    let Ok(cases) = std::fs::read_dir(root().join("../shared/conformance/eval")) else { return };
    let programs =
        cases.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|found| found == "relay"));
    let mut asked: BTreeSet<String> = BTreeSet::new();
    for path in programs {
        let text = std::fs::read_to_string(path).expect("a case");
        // A name ends at the bracket of its call.
        let calls = text.split("#[metadata]").next().unwrap_or_default().split('(');
        let name = |before: &str| -> String {
            let name: Vec<char> = before.chars().rev().take_while(|c| c.is_alphanumeric() || ['.', '_'].contains(c)).collect();
            name.into_iter().rev().collect()
        };
        asked.extend(calls.map(name));
    }
    let unlisted = table().defs().iter().filter(|def| !def.internal && !def.doc.contains(OWN) && !asked.contains(def.name));
    let unlisted = unlisted.filter(|def| !UNMEASURED.contains(&def.name)).map(|def| def.name.to_owned());
    none("operators without a conformance case that UNMEASURED lacks", unlisted.collect());
    let listed = UNMEASURED.iter().filter(|name| asked.contains(**name));
    none("operators of UNMEASURED that have a conformance case", listed.map(|name| (*name).to_owned()).collect());
}

#[test]
fn every_golden_of_operators_is_one() {
    let names: Vec<&str> = table().defs().iter().map(|def| def.name).collect();
    let stem = |path: &String| path.trim_start_matches("tests/golden/ops/").trim_end_matches(".relay").to_owned();
    // What an operator refuses stands in a file of its own, because a program that runs has no errors.
    let stranger = |path: &String| !names.contains(&stem(path).trim_end_matches(".rules"));
    none(
        "goldens in tests/golden/ops/ named after no operator",
        files("tests/golden/ops", "relay").into_iter().filter(stranger).collect(),
    );
}

/// The label of a rule: `C2` of `C2: alpha >= 0`.
fn label(rule: &str) -> &str {
    rule.split(':').next().unwrap_or(rule)
}

#[test]
fn every_rule_is_cited_where_it_is_enforced() {
    let sources: Vec<(String, String)> =
        files("crates/ops/src", "rs").into_iter().map(|path| (path.clone(), read(&path))).collect();
    let shared = read("crates/ops/src/rel.rs");
    let mut silent = Vec::new();
    for def in table().defs().iter().filter(|def| !def.rules.is_empty()) {
        let declares = format!("\"{}\"", def.name);
        let declaring = sources.iter().filter(|(_, text)| text.contains(&declares)).map(|(path, _)| path.as_str());
        // A family is a file, or a folder below `ops`; relations that families share are in `rel.rs`.
        let folders: Vec<&str> = declaring.map(|path| path.strip_suffix("/mod.rs").unwrap_or(path)).collect();
        let of_family = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
        let family: String = sources.iter().filter(|(path, _)| of_family(path)).map(|(_, text)| text.as_str()).collect();
        // A quantized operator takes over the relation of the operator it is a form of.
        let room =
            |path: &str| path.trim_start_matches("crates/ops/src/").split(['/', '.']).next().unwrap_or_default().to_owned();
        let borrowed = |path: &str| family.contains(&format!("crate::{}::", room(path)));
        let borrowed: String = sources.iter().filter(|(path, _)| borrowed(path)).map(|(_, text)| text.as_str()).collect();
        for rule in def.rules {
            let cited = format!("\"{}\"", label(rule));
            if !family.contains(&cited) && !borrowed.contains(&cited) && !shared.contains(&cited) {
                silent.push(format!("{} ({}): no relation cites {}", def.name, folders.join(", "), label(rule)));
            }
        }
    }
    none("rules that nothing enforces", silent);
}

#[test]
fn every_rule_is_shown_broken() {
    let mut shown: Vec<(String, String)> = Vec::new();
    for path in ["tests/golden/ops", "tests/golden/errors"].iter().flat_map(|folder| files(folder, "relay")) {
        for function in read(&path).split("def @").skip(1) {
            let name: String = function.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            shown.push((name, function.to_owned()));
        }
    }
    let mut missing = Vec::new();
    for def in table().defs() {
        for rule in def.rules {
            let prefix = format!("{}_", label(rule).to_lowercase());
            let call = format!("{}(", def.name);
            if !shown.iter().any(|(name, text)| name.starts_with(&prefix) && text.contains(&call)) {
                missing.push(format!("{}: `@{prefix}…` for {rule}", def.name));
            }
        }
    }
    none("rules without a golden function that breaks them, in tests/golden/ops/<name>.rules.relay", missing);
}

/// The page shows what adding an operator takes: lines that are in the files it names.
#[test]
fn contributing_shows_a_real_operator() {
    let page = read("CONTRIBUTING.md");
    let diff = page.split("```diff\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a diff");
    let (mut file, mut n_lines, mut strange) = (String::new(), 0, Vec::new());
    for line in diff.lines() {
        if let Some(path) = line.strip_prefix("+++ b/") {
            file = read(path);
        } else if let Some(added) = line.strip_prefix('+') {
            n_lines += 1;
            if !file.lines().any(|line| line == added) {
                strange.push(added.to_owned());
            }
        }
    }
    assert!(n_lines > 20, "{n_lines} lines are shown");
    none("lines of CONTRIBUTING.md's operator that are in no file", strange);
}

// ---- Names ----

/// The infix signs of the grammar stand for operators (language 1.9), and so do those of other languages; older TVMs had other
/// operators. Their tables are the only other places for names.
const TABLES: [&str; 3] =
    ["crates/syntax/src/ast.rs", "crates/syntax/src/foreign_operators.rs", "crates/syntax/src/old_calls/rules.rs"];

/// Where operators are declared, and where programs are written of them: networks, and models of other formats.
const WRITERS: [&str; 5] = [
    "crates/ops/src/",
    "crates/zoo/src/",
    "crates/exchange/src/onnx/import/",
    "crates/exchange/src/mxnet/",
    "crates/exchange/src/darknet/",
];

#[test]
fn operator_names_are_written_where_programs_are() {
    // A name without a dot or underscore is an ordinary word too (`max`, `zeros`).
    let names: Vec<String> = specified().into_keys().filter(|name| name.contains(['.', '_'])).collect();
    let mut elsewhere = Vec::new();
    for path in sources() {
        let writes_programs = WRITERS.iter().any(|folder| path.starts_with(folder));
        if writes_programs || TABLES.contains(&path.as_str()) || path.ends_with("/tests.rs") {
            continue;
        }
        let found = literals(&read(&path)).into_iter().filter(|text| names.contains(text));
        elsewhere.extend(found.map(|name| format!("{path}: \"{name}\"")));
    }
    none(&format!("operator names outside of {WRITERS:?}"), elsewhere);
}
