//! `relayc fmt`: formats programs in the canonical layout, with their comments.

use super::projects::Projects;
use super::{Console, Format, exit};
use relayc_base::diag::Diagnostic;
use relayc_base::text::escape_control;
use relayc_base::{Sources, diff};
use relayc_driver as driver;
use relayc_syntax::fmt::Style;
use relayc_sys as sys;
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Format programs in place, in one layout; everything the author wrote is kept, comments too.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The files, folders of them, or patterns such as `nets/**/*.relay`; `-` is standard input, formatted to standard output.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write nothing; the exit code is 1 if a file would change.
    #[arg(long)]
    check: bool,
    /// Write nothing; show the changes as a unified diff.
    #[arg(long)]
    diff: bool,
    /// Rewrite text of older TVMs to today's: headers, references, bare numbers, names with dots, calls of changed operators.
    #[arg(long)]
    upgrade: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let mut code = exit::FINE;
    let mut projects = Projects::new(console);
    for path in console.programs(&args.files, &mut code) {
        let project = projects.of(&path);
        // A file is not written in a style that was not understood.
        if project.has_errors() {
            continue;
        }
        let mut sources = Sources::new();
        code = code.max(match file(console, args, &path, project.style, &mut sources) {
            Ok(code) => code,
            Err(diagnostics) => {
                console.diagnostics(&diagnostics, &sources);
                exit::of(&diagnostics)
            }
        });
    }
    code.max(projects.code)
}

fn file(console: &Console, args: &Args, path: &Path, style: Style, sources: &mut Sources) -> Result<u8, Vec<Diagnostic>> {
    let version = sys::Version::of(path);
    let id = driver::read_source(path, sources)?;
    let Some(source) = sources.file(id) else { return Ok(exit::FINE) };
    let formatted = if args.upgrade { style.upgrade(id, &source.text) } else { style.format(id, &source.text) }?;
    let changed = formatted != *source.text;
    let failed = |diagnostic| vec![diagnostic];
    let only_looks = args.check || args.diff;
    if args.diff && changed {
        let diff = diff::unified((&source.name, &source.text), (&source.name, &formatted));
        // Elsewhere it is read by `patch`.
        let diff = if std::io::stdout().is_terminal() { escape_control(&diff) } else { diff.as_str().into() };
        sys::stdout(&diff).map_err(failed)?;
    }
    if !only_looks && path == Path::new("-") {
        sys::stdout(&formatted).map_err(failed)?;
        return Ok(exit::FINE);
    }
    if !only_looks && changed {
        sys::rewrite(path, version, &formatted).map_err(failed)?;
    }
    // A diff says so itself.
    if args.check || !args.diff {
        let what = if only_looks { "would be formatted" } else { "formatted" };
        say(console, &source.name, changed, what);
    }
    // The code of a wrong program: it is not as it should be.
    Ok(if args.check && changed { 1 } else { exit::FINE })
}

/// Reports the result for a file; for an unchanged file only with `-v`.
fn say(console: &Console, name: &str, changed: bool, what: &str) {
    if console.format == Format::Json {
        let line = json!({ "schema": "relayc.fmt/1", "reason": "file", "file": name, "changed": changed });
        console.words(&format!("{line}\n"));
    } else if changed && !console.quiet {
        console.words(&format!("{}: {what}\n", escape_control(name)));
    } else if console.verbose {
        console.words(&format!("{}: unchanged\n", escape_control(name)));
    }
}
