//! Tests every operator with `?` dimensions for its operands: the rank stays, and so do the results.
//!
//! Each function of `tests/golden/ops/` becomes one that takes `?`, called by one with the dimensions as written; its `// run:`
//! lines must still hold. Variants replace all dimensions, one of them, or all but one. The list below names what an operator
//! must know before it runs.

use crate::support;
use rayon::prelude::*;
use relayc_driver::example::{Example, Runner};
use relayc_driver::{Phase, Program, check_text};
use relayc_ir::types::{Ty, Types};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Operators with an operand whose dimensions must be known before running, by its name in the golden: most because they say
/// the rank of the result.
const STATIC: &[(&str, &[&str])] = &[
    ("collapse_sum_to", &["s"]),
    ("dyn.broadcast_to", &["s"]),
    ("dyn.full", &["s"]),
    ("dyn.ones", &["s"]),
    ("dyn.reshape", &["s"]),
    ("dyn.sparse_to_dense", &["s"]),
    ("dyn.squeeze", &["a"]),
    ("dyn.strided_slice", &["b", "e", "n", "s"]),
    ("dyn.tile", &["r"]),
    ("dyn.zeros", &["s"]),
    ("gather_nd", &["i"]),
    ("scatter_nd", &["i"]),
    // Which axes go where `axis` is `None`.
    ("squeeze", &["x"]),
];

/// Functions of goldens that are about known dimensions: a depthwise weight is one by the number of channels, a position's
/// dtype is that of the first dimension's literal, and an axis does not matter where there is one scale.
const KNOWN: &[(&str, &str)] = &[
    ("argmax", "wide_dimension"),
    ("nn.conv2d", "depthwise_with_two_outputs_each"),
    ("qnn.conv2d", "two_outputs_for_each_input"),
    ("qnn.dequantize", "one_number_needs_no_axis"),
];

/// Which dimensions of a function's parameters become `?`, counted through all of them.
#[derive(Clone, Copy, Debug)]
enum Which {
    All,
    Only(usize),
    AllBut(usize),
}

impl Which {
    fn takes(self, at: usize) -> bool {
        match self {
            Which::All => true,
            Which::Only(one) => at == one,
            Which::AllBut(one) => at != one,
        }
    }
}

/// As many dimensions as are taken one by one; functions with more are rare.
const MOST: usize = 8;

/// The suffix of the functions that take `?`.
const ANY: &str = "__any";

#[test]
fn operators_with_unknown_dimensions_run_as_with_known_ones() {
    let modes = [Which::All].into_iter().chain((0..MOST).flat_map(|at| [Which::Only(at), Which::AllBut(at)]));
    let modes: Vec<Which> = modes.collect();
    let all = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a golden");
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        let golden = Golden { path, name: &name, text: &text };
        modes
            .iter()
            .map(|&which| golden.runs(which))
            .collect::<Result<Vec<usize>, String>>()
            .map_err(|why| format!("{name}: {why}"))
    };
    let results: Vec<Result<Vec<usize>, String>> = goldens().par_iter().map(all).collect();
    let wrong: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} operators: {wrong:#?}", wrong.len());
    let n_runs: usize = results.iter().flatten().flatten().sum();
    assert!(n_runs > 10_000, "only {n_runs} examples were run");
}

fn goldens() -> Vec<PathBuf> {
    let mut files = support::programs::under("tests/golden/ops", &["relay"]);
    files.retain(|path| !path.to_string_lossy().contains(".rules."));
    files
}

struct Golden<'a> {
    path: &'a Path,
    name: &'a str,
    text: &'a str,
}

impl Golden<'_> {
    /// Runs the examples with `?`; how many there are.
    fn runs(&self, which: Which) -> Result<usize, String> {
        let original = check_text("as written", self.text, Phase::Infer);
        let dynamic = check_text("with ?", &self.with_unknown_dimensions(which), Phase::Infer);
        if dynamic.has_errors() {
            let errors = dynamic.diagnostics.iter().map(|error| format!("{}: {}", error.code.id(), error.message));
            return Err(format!("refused with {which:?}: {}", errors.collect::<Vec<_>>().join("; ")));
        }
        let (written, unknown) = (ranks(&original), ranks(&dynamic));
        for (name, expected) in &written {
            if let Some(found) = unknown.get(&format!("{name}{ANY}")).filter(|found| *found != expected) {
                return Err(format!("with {which:?} @{name} gives {found}, not {expected}"));
            }
        }
        let runner = Runner::new(&dynamic, self.path.parent().expect("a folder"));
        let examples: Vec<&str> = self.text.lines().filter_map(|line| line.trim_start().strip_prefix("// run:")).collect();
        for example in &examples {
            let parsed = Example::parse(example)?;
            runner.check(&parsed).map_err(|why| format!("with {which:?}: {}: {why}", example.trim()))?;
        }
        Ok(examples.len())
    }

    /// The program with each function taking `?` under another name, and called by one of its own name.
    fn with_unknown_dimensions(&self, which: Which) -> String {
        let known = STATIC.iter().find(|(operator, _)| *operator == self.name).map_or(&[][..], |(_, operands)| operands);
        let mut out = String::new();
        let mut rest = self.text;
        while let Some(at) = rest.find("def @") {
            let (before, function) = rest.split_at(at);
            let (head, params) = function.split_at(function.find('(').expect("parameters"));
            let (params, body) = params.split_at(closing(params) + 1);
            let name = head.trim_start_matches("def @");
            let stays = KNOWN.contains(&(self.name, name));
            let open = if stays { params.to_owned() } else { unknown(params, known, which) };
            let arguments = names(params).join(", ");
            out.push_str(&format!("{before}def @{name}{params} {{ @{name}{ANY}({arguments}) }}\ndef @{name}{ANY}{open} "));
            // A result that is written says dimensions too; inference has to find them.
            rest = &body[body.find('{').expect("a body")..];
        }
        out + rest
    }
}

/// The ranks and dtypes of what each function gives.
fn ranks(program: &Program) -> BTreeMap<String, String> {
    let module = &program.module;
    let result = |global: &relayc_ir::Global| {
        let ty = module.funcs[global.func].ret.unwrap_or(Ty::ERROR);
        (global.name.to_string(), rank(&module.types, ty))
    };
    module.globals.iter().map(result).collect()
}

fn rank(types: &Types, ty: Ty) -> String {
    match (types.as_tensor(ty), types.as_tuple(ty)) {
        (Some((shape, dtype)), _) => format!("rank {} of {dtype}", shape.len()),
        (None, Some(fields)) => format!("({})", fields.iter().map(|&field| rank(types, field)).collect::<Vec<_>>().join(", ")),
        (None, None) => "no tensor".to_owned(),
    }
}

/// Where the bracket that a text begins with is closed.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    panic!("a bracket that nothing closes: {text}")
}

/// The names of parameters, `%x`.
fn names(params: &str) -> Vec<&str> {
    let ends = |c: char| !(c.is_alphanumeric() || c == '_');
    params.match_indices('%').map(|(at, _)| &params[at..at + 1 + params[at + 1..].find(ends).unwrap_or(0)]).collect()
}

/// Parameters with `?` for these dimensions, but for those of parameters that must be known.
fn unknown(params: &str, known: &[&str], which: Which) -> String {
    let mut out = String::new();
    let mut rest = params;
    let mut count = 0..;
    while let Some(at) = rest.find("Tensor[(") {
        let (before, shape) = rest.split_at(at + "Tensor[".len());
        let close = closing(shape);
        let stays = names(before).last().is_some_and(|name| known.contains(&&name[1..]));
        let dim = |dim| match count.next().is_some_and(|at| which.takes(at)) {
            true if !stays => "?",
            _ => dim,
        };
        let dims: Vec<&str> = shape[1..close].split(',').map(str::trim).filter(|dim| !dim.is_empty()).map(dim).collect();
        out.push_str(&format!("{before}({})", dims.join(", ")));
        rest = &shape[close + 1..];
    }
    out + rest
}
