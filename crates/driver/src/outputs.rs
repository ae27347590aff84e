//! Handles a result: names its tensors, writes files (`-o`, `--outputs`), checks expectations (`--expect`).
//!
//! The result is `out`, the fields of a tuple `out.0`, `out.1`, nested `out.0.1`, unless the function's attribute
//! `output_tensor_names` names all tensors.

mod errors;

pub use relayc_ir::tensor::compare::Tolerance;
pub use relayc_weights::Named;

use super::bind::Bound;
use super::bind::leaves::{self, Leaf};
use super::bind::source::{Files, Source};
use super::endings;
use super::tensors::{self, Format};
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::tensor::compare::compare;
use relayc_ir::tensor::{Tensor, npy};
use relayc_ir::types::{Ty, Types};
use relayc_sys::{self as sys, Content};
use relayc_weights::npz;
use std::path::{Path, PathBuf};

/// The name of the result.
const RESULT: &str = "out";

/// The tensors of a result, left to right, with the names of the entry's results.
pub fn named(names: &[String], value: &Bound) -> Named {
    let tensors = leaves::flatten(RESULT, value);
    match names.len() == tensors.len() {
        true => names.iter().cloned().zip(tensors.into_iter().map(|(_, tensor)| tensor)).collect(),
        false => tensors,
    }
}

/// The names of a result of this type: those that its function says, if there is one for each tensor. Empty if it is neither a
/// tensor nor a tuple of tensors.
pub(crate) fn result_names(said: Option<Vec<&str>>, ty: Ty, types: &Types) -> Vec<String> {
    let names = leaves::leaves(RESULT, ty, types).map_or(vec![], |leaves| leaves.into_iter().map(|leaf| leaf.name).collect());
    match said {
        Some(said) if said.len() == names.len() => said.into_iter().map(str::to_owned).collect(),
        _ => names,
    }
}

/// The command line's requests for output files, as written.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct OutputRequests {
    /// `-o NAME=@FILE.npy`.
    pub files: Vec<String>,
    /// `--outputs FILE`: all tensors, in the format of [`format_of`].
    pub all: Option<PathBuf>,
}

impl OutputRequests {
    /// Checks the requests against the names of the result, so that a misspelt one is reported before the run.
    pub fn check(&self, names: &[String]) -> Vec<Diagnostic> {
        self.files.iter().filter_map(|text| output_of(text, names).err()).collect()
    }
}

/// Writes all files or none, with the steps of the run if they are kept. Errors: E0706 for an unknown output, E0707, E0702, E0721.
pub fn write(outputs: &Named, requests: &OutputRequests, steps: Option<(&Path, &Named)>) -> Result<(), Vec<Diagnostic>> {
    let names: Vec<String> = outputs.iter().map(|(name, _)| name.clone()).collect();
    let errors = requests.check(&names);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut files: Vec<(&Path, Content)> = Vec::new();
    for text in &requests.files {
        let (at, path) = output_of(text, &names).map_err(|error| vec![error])?;
        let tensor = &outputs[at].1;
        files.push((path, Content::Made(Box::new(move |out| npy::write_to(tensor, out).map(Ok)))));
    }
    if let Some(path) = &requests.all {
        files.push(all_of(outputs, path).map_err(|error| vec![error])?);
    }
    if let Some((path, steps)) = steps {
        files.push(all_of(steps, path).map_err(|error| vec![error])?);
    }
    sys::write_all(files).map_err(|error| vec![error])
}

/// The format of a file of outputs or steps: what its name says, .npz where that has no ending. Errors: E0721.
pub fn format_of(path: &Path) -> Result<Format, Diagnostic> {
    endings::of_tensors(path, Some(npz::FORMAT))
}

fn all_of<'a>(tensors: &'a Named, path: &'a Path) -> Result<(&'a Path, Content<'a>), Diagnostic> {
    format_of(path).map(|format| (path, tensors::making_of(path, format, tensors)))
}

/// Writes named tensors to a file, and optionally a text beside it: both or none. Errors: E0702, E0721.
pub fn write_tensors(tensors: &Named, path: &Path, text: Option<(&Path, &str)>) -> Result<(), Diagnostic> {
    let mut files = vec![all_of(tensors, path)?];
    files.extend(text.map(|(path, text)| (path, Content::Bytes(text.as_bytes()))));
    sys::write_all(files)
}

/// The output's position and the file in `NAME=@FILE`.
fn output_of<'a>(text: &'a str, names: &[String]) -> Result<(usize, &'a Path), Diagnostic> {
    let parsed = text.split_once('=').and_then(|(name, spec)| Some((name.trim(), spec.trim().strip_prefix('@')?)));
    let Some((name, path)) = parsed.filter(|(_, path)| !path.is_empty()) else {
        return Err(errors::bad_output(text, "it is not NAME=@FILE", names));
    };
    if Path::new(path).extension().is_some_and(|extension| !extension.eq_ignore_ascii_case("npy")) {
        return Err(errors::bad_output(text, "-o writes .npy files", names).help("--outputs FILE.npz writes all outputs"));
    }
    let at = names.iter().position(|known| known == name);
    at.map(|at| (at, Path::new(path))).ok_or_else(|| errors::unknown_output(name, names))
}

/// Compares outputs with `--expect NAME=SPEC`; a SPEC is that of an input. Errors: E0507 with the worst element for an output
/// that differs; E0706 for an unknown output; E0707, E0701, E0703 for the specification and its file.
pub fn check_expectations(outputs: &Named, expectations: &[String], tolerance: Tolerance) -> Vec<Diagnostic> {
    let mut files = Files::default();
    expectations.iter().filter_map(|text| check_one(outputs, text, tolerance, &mut files).err()).collect()
}

fn check_one(outputs: &Named, text: &str, tolerance: Tolerance, files: &mut Files) -> Result<(), Diagnostic> {
    let names = || outputs.iter().map(|(name, _)| name.clone()).collect::<Vec<String>>();
    let Some((name, spec)) = text.split_once('=') else {
        return Err(errors::bad_expectation(text, "it is not NAME=SPEC", &names()));
    };
    let name = name.trim();
    let Some((_, got)) = outputs.iter().find(|(known, _)| known == name) else {
        return Err(errors::unknown_output(name, &names()));
    };
    let source = Source::parse(spec).map_err(|words| errors::bad_expectation(text, &words, &names()))?;
    let expected: Tensor = files.tensor(&source, &Leaf::of(name, got), text)?;
    match compare(got, &expected, tolerance) {
        Ok(comparison) if comparison.agrees() => Ok(()),
        Ok(comparison) => Err(errors::differs(name, spec, &comparison, tolerance, got.dtype())),
        Err(_) => {
            let words = format!("`{name}` is {}, expected is {}", got.type_text(), expected.type_text());
            Err(Diagnostic::new(codes::E0507, words).note(format!("expected by `--expect {}`", errors::short(text))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs() -> Named {
        vec![("out.0".into(), Tensor::from_vec(&[2], vec![1f32, 2.0])), ("out.1".into(), Tensor::scalar(3i32))]
    }

    fn expect(text: &str) -> Vec<Diagnostic> {
        check_expectations(&outputs(), &[text.to_owned()], Tolerance { rtol: 0.0, atol: 0.1 })
    }

    #[test]
    fn names_follow_the_type() {
        let mut types = Types::new();
        let x = types.tensor_of(&[2], relayc_ir::types::DType::F32);
        let pair = types.tuple(&[x, x]);
        let nested = types.tuple(&[pair, x]);
        assert_eq!(result_names(None, x, &types), ["out"]);
        assert_eq!(result_names(Some(vec!["y"]), x, &types), ["y"]);
        assert_eq!(result_names(Some(vec!["y"]), nested, &types), ["out.0.0", "out.0.1", "out.1"]);
        let x = Bound::Tensor(Tensor::scalar(1f32));
        let value = Bound::Tuple(vec![Bound::Tuple(vec![x.clone(), x.clone()]), x]);
        let names = |known: &[String]| named(known, &value).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(&[]), result_names(None, nested, &types));
        assert_eq!(names(&["a".into(), "b".into(), "c".into()]), ["a", "b", "c"]);
    }

    #[test]
    fn files_are_written_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let one = folder.path().join("y.npy");
        for all in ["y.npz", "y.params", "y.safetensors", "y"].map(|name| folder.path().join(name)) {
            let requests = OutputRequests { files: vec![format!("out.1=@{}", one.display())], all: Some(all.clone()) };
            assert_eq!(write(&outputs(), &requests, None), Ok(()));
            assert_eq!(npy::read(&std::fs::read(&one).expect("written")), Ok(outputs()[1].1.clone()));
            let file = tensors::open(&all).expect("written");
            let extension = all.extension().map_or("npz".into(), |extension| extension.to_string_lossy());
            assert_eq!(file.format(), extension);
            assert_eq!(file.read_all(), Ok(outputs()));
        }
    }

    #[test]
    fn requests_are_checked_before_anything_is_written() {
        let error = |file: &str| {
            let requests = OutputRequests { files: vec![file.to_owned()], all: None };
            write(&outputs(), &requests, None).expect_err(file).remove(0)
        };
        assert_eq!(error("out=@y.npy").code, codes::E0706);
        assert_eq!(error("out.0=y.npy").code, codes::E0707);
        assert_eq!(error("out.0=@").code, codes::E0707);
        assert_eq!(error("out.0=@y.npz").code, codes::E0707);
        assert_eq!(error("out.0=@/none/y.npy").code, codes::E0702);
        assert_eq!(error("out.0=@/dev/full").code, codes::E0702);
    }

    #[test]
    fn expectations_hold_or_name_the_worst_element() {
        assert!(expect("out.0=2xf32=[1.05,2]").is_empty());
        assert!(expect("out.1=i32=3").is_empty());
        let failed = expect("out.0=2xf32=[1,2.5]").remove(0);
        assert_eq!(failed.code, codes::E0507);
        assert!(failed.message.contains("1 of 2 elements"), "{}", failed.message);
        assert!(failed.notes[0].contains("[1]: 2.0, expected 2.5"), "{:?}", failed.notes);
        assert!(expect("out.0=3xf32=1").remove(0).message.contains("Tensor[(3), float32]"));
        assert_eq!(expect("out.2=zeros").remove(0).code, codes::E0706);
        assert_eq!(expect("out.0=nothing").remove(0).code, codes::E0707);
        assert_eq!(expect("out.0=@none.npy").remove(0).code, codes::E0701);
    }
}
