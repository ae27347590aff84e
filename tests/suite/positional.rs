//! The attributes that may follow the operands without their names, in TVM's Python, are those of the functions in the stubs of `relayc.tvm`.

use relayc_ir::attrs::OpTable;
use relayc_ops as ops;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of operators, each with what stands before the names of its operators.
const MODULES: [(&str, &str); 9] = [
    ("op/algorithm", ""),
    ("op/image/image", "image."),
    ("op/nn/nn", "nn."),
    ("op/random/kernel", "random."),
    ("op/reduce", ""),
    ("op/tensor", ""),
    ("op/transform", ""),
    ("op/vm/vm", "vm."),
    ("qnn/op/qnn", "qnn."),
];

/// A function's name, and the names of its parameters.
fn signature(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = text.split_once('(')?;
    let mut depth = 1;
    let end = rest.find(|c| {
        depth += match c {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let mut params: Vec<&str> = rest[..end]
        .split(|c| {
            depth += match c {
                '(' | '[' => 1,
                ')' | ']' => -1,
                _ => 0,
            };
            depth == 0 && c == ','
        })
        .map(|param| param.split([':', '=']).next().unwrap_or("").trim())
        .collect();
    params.retain(|param| !param.is_empty() && !param.starts_with('*'));
    Some((name, params))
}

/// The attributes behind the operands of a function; none if its operands come in another order, or attributes among them.
fn behind_operands<'a>(op: &str, params: &[&'a str]) -> Vec<&'a str> {
    let table = ops::table();
    let id = table.find(op).expect("an operator");
    let is_attr = |name: &str| table.schema(id).is_some_and(|schema| schema.position(name).is_some());
    let operands = table.args(id).unwrap_or_default();
    let Some((first, rest)) = params.split_at_checked(operands.len()) else { return vec![] };
    let moved = |at: usize| operands.iter().position(|operand| operand.name == first[at]).is_some_and(|own| own != at);
    if (0..first.len()).any(|at| moved(at) || is_attr(first[at])) {
        return vec![];
    }
    rest.iter().copied().take_while(|&param| is_attr(param)).collect()
}

#[test]
fn attributes_without_names_come_in_the_order_of_python() {
    let base: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/relayc/tvm/relay");
    let table = ops::table();
    let mut n_compared = 0;
    for (module, prefix) in MODULES {
        let text = fs::read_to_string(base.join(module).with_extension("pyi")).expect("a stub");
        for (name, params) in text.split("\ndef ").skip(1).filter_map(signature) {
            let op = format!("{prefix}{name}");
            let Some(id) = table.find(&op).filter(|&id| table.schema(id).is_some()) else { continue };
            let (expected, found) = (behind_operands(&op, &params), table.positional(id));
            assert!(
                found.starts_with(&expected) && (found.is_empty() || !expected.is_empty()),
                "{op}({}): expected {expected:?}, found {found:?}; `ORDERS` of crates/ops/src/foreign_names.rs",
                params.join(", ")
            );
            n_compared += 1;
        }
    }
    assert!(n_compared >= 130, "{n_compared}");
}
