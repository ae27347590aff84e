//! The messages for outputs.

pub(super) use crate::bind::short;

use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{nearest, thousands};
use relayc_ir::tensor::compare::{Comparison, Tolerance};
use relayc_ir::types::DType;

/// E0707 for `-o`; `names` are those of the outputs.
pub(crate) fn bad_output(text: &str, words: &str, names: &[String]) -> Diagnostic {
    Diagnostic::new(codes::E0707, format!("cannot understand `-o {}`: {words}", short(text)))
        .help(format!("write `-o {}`", example(text, names)))
}

/// E0707 for `--expect`; `names` are those of the outputs.
pub(crate) fn bad_expectation(text: &str, words: &str, names: &[String]) -> Diagnostic {
    Diagnostic::new(codes::E0707, format!("cannot understand `--expect {}`: {words}", short(text)))
        .help(format!("write `--expect {}`", example(text, names)))
}

/// An output with a file: those of the text, if it says them.
fn example(text: &str, names: &[String]) -> String {
    let (name, file) = text.split_once('=').map_or((None, text), |(name, file)| (Some(name), file));
    let file = if file.ends_with(".npy") { file.trim_start_matches('@') } else { "y.npy" };
    let name = names.iter().find(|known| Some(known.as_str()) == name).or(names.first());
    format!("{}=@{}", name.map_or("out".into(), |name| short(name)), short(file))
}

/// E0706.
pub(crate) fn unknown_output(name: &str, names: &[String]) -> Diagnostic {
    let error = Diagnostic::new(codes::E0706, format!("`{name}` is no output"));
    if let Some(near) = nearest(name, names.iter().map(String::as_str)) {
        return error.help(format!("did you mean `{near}`?"));
    }
    let shown: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", ..." } else { "" };
    error.note(format!("the outputs are {}{more}", shown.join(", ")))
}

/// E0507 with the worst element.
pub(crate) fn differs(name: &str, spec: &str, comparison: &Comparison, tolerance: Tolerance, dtype: DType) -> Diagnostic {
    let of = |n: usize| thousands(n as u64);
    let (n, all) = (of(comparison.n_mismatches), of(comparison.n_elements));
    let spec = short(spec.trim_start_matches('@'));
    let mut error = Diagnostic::new(codes::E0507, format!("`{name}` differs from `{spec}` in {n} of {all} elements"));
    if let Some(worst) = &comparison.worst {
        let (at, got, expected) = (&worst.index, &worst.got, &worst.expected);
        let off = format!("off by {:.3e}, relative {:.3e}", worst.abs, worst.rel);
        error = error.note(format!("the worst is {name}{at:?}: {got}, expected {expected}; {off}"));
    }
    if dtype.is_float() {
        let Tolerance { rtol, atol } = tolerance;
        error.note(format!("allowed is |got - expected| <= {atol:e} + {rtol:e} * |expected| (--atol, --rtol)"))
    } else {
        error.note(format!("{dtype} is compared exactly"))
    }
}
