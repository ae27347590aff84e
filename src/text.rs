//! Texts of programs: their syntax, their types, their canonical and formatted forms, and what they compute on the interpreter.

use relayc_base::diag::has_errors;
use relayc_base::{FileId, Sources};
use relayc_driver::bind::{self, Bound as Value};
use relayc_driver::error::Error;
use relayc_driver::run::{self, Limits};
use relayc_driver::{Phase, Program, check_text, show};
use relayc_syntax::ast::Ast;
use std::path::Path;

/// Reads the syntax of a text; `name` is what messages call it. Errors: all syntax errors of the text.
///
/// ```
/// let tree = relayc::parse("net.relay", "def @main(%x: float32) { exp(%x) }")?;
/// assert_eq!(tree.defs.len(), 1);
/// assert!(relayc::parse("net.relay", "def @main(%x: float32) {").is_err());
/// # Ok::<(), relayc::Error>(())
/// ```
pub fn parse(name: &str, text: &str) -> Result<Ast, Error> {
    let mut sources = Sources::new();
    let file = sources.add(name, text);
    let (tree, diagnostics) = relayc_syntax::parse(file, text.into());
    if has_errors(&diagnostics) { Err(Error::new(diagnostics, &sources)) } else { Ok(tree) }
}

/// Reads a text, resolves its names and infers its types, as `relayc check` does. Warnings are in the program's diagnostics.
/// Errors: all that are found, and the warnings with them.
///
/// ```
/// let wrong = relayc::check("net.relay", "def @main(%x: Tensor[(2, 3), float32]) { add(%x, ones(shape=[4], dtype=\"float32\")) }");
/// assert_eq!(wrong.err().map(|error| error.code()), Some("E0304"));
/// ```
pub fn check(name: &str, text: &str) -> Result<Program, Error> {
    checked(check_text(name, text, Phase::Lint))
}

/// As [`check`], for a file; `-` is standard input. Errors: E0701 and others for a file that cannot be read, too.
pub fn check_file(path: impl AsRef<Path>) -> Result<Program, Error> {
    let how = relayc_driver::ReadOptions::of(relayc_driver::Dialect::Today);
    checked(relayc_driver::check_file(path.as_ref(), Phase::Lint, &how))
}

fn checked(program: Program) -> Result<Program, Error> {
    if program.has_errors() { Err(Error::new(program.diagnostics, &program.sources)) } else { Ok(program) }
}

/// The canonical text of a program, with the inferred types as comments if they are wanted.
///
/// ```
/// let program = relayc::check("net.relay", "def @main(%x: Tensor[(2), float32]) { exp( %x ) }")?;
/// assert!(relayc::print(&program, false).ends_with("{\n  exp(%x)\n}\n"));
/// # Ok::<(), relayc::Error>(())
/// ```
pub fn print(program: &Program, types: bool) -> String {
    show::print(program, show::Options { types, meta: true, exact: false, dim_names: false })
}

/// The text as `relayc fmt` writes it; comments stay with what they are about. Errors: all syntax errors, and a text that would become
/// another program or too long.
///
/// ```
/// let text = "#[version = \"0.0.5\"]\ndef @main(%x:float32) { exp( %x ) // e^x\n}";
/// assert_eq!(relayc::format("net.relay", text)?.lines().nth(2), Some("  exp(%x) // e^x"));
/// # Ok::<(), relayc::Error>(())
/// ```
pub fn format(name: &str, text: &str) -> Result<String, Error> {
    let mut sources = Sources::new();
    let file: FileId = sources.add(name, text);
    relayc_syntax::fmt::format(file, text).map_err(|diagnostics| Error::new(diagnostics, &sources))
}

/// Runs a function of a checked program on the reference interpreter; `entry` is its name without `@`, and `args` are its arguments.
///
/// Errors: E0706 for an entry that does not exist, E0704 and E0705 for arguments that are not of its parameters' types, and what stops
/// the run (E05xx, E08xx).
///
/// ```
/// use relayc::{Tensor, Value};
///
/// let program = relayc::check("net.relay", "def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }")?;
/// let x = Value::Tensor(Tensor::from_vec(&[3], vec![-1f32, 2., -3.]));
/// let Value::Tensor(out) = relayc::interpret(&program, "main", &[x])? else { panic!("the result is a tensor") };
/// assert_eq!(out.to_f64s(), [0.0, 2.0, 0.0]);
///
/// let wrong = Value::Tensor(Tensor::scalar(1f32));
/// assert_eq!(relayc::interpret(&program, "main", &[wrong]).err().map(|error| error.code()), Some("E0705"));
/// # Ok::<(), relayc::Error>(())
/// ```
pub fn interpret(program: &Program, entry: &str, args: &[Value]) -> Result<Value, Error> {
    let wrong = |diagnostic| Error::new(vec![diagnostic], &program.sources);
    if program.has_errors() {
        return Err(Error::new(program.diagnostics.clone(), &program.sources));
    }
    let entry = run::entry(&program.module, entry).map_err(wrong)?;
    bind::fit(&entry.slots, &program.module.types, args).map_err(wrong)?;
    run::interpret(program, &entry, args.to_vec(), Limits::default()).map_err(wrong)
}
