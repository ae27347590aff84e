//! `relayc check`: parses, resolves, infers and lints; reports every error, and with `--fix` applies certain fixes.

use super::projects::Projects;
use super::{Console, Reading, Setting, exit};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::thousands;
use relayc_driver::lint::{Level, Levels};
use relayc_driver::{self as driver, Phase, Program, ReadOptions, fix};
use relayc_sys as sys;
use std::path::{Path, PathBuf};

/// Check programs: infer every shape, explain every mistake.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    checking: Checking,
    /// Apply fixes that are certain to the files; print the fixed text of standard input.
    #[arg(long)]
    fix: bool,
    /// The files, folders of them, or patterns such as `nets/**/*.relay`; `-` is standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// How programs are checked; the levels of lints are above those of `relayc.toml`.
#[derive(clap::Args)]
pub(crate) struct Checking {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    setting: Setting,
    /// Do not report this: a lint's code or name, `warnings` or `all`.
    #[arg(short = 'A', long = "allow", value_name = "LINT")]
    allow: Vec<String>,
    /// Report this as a warning.
    #[arg(short = 'W', long = "warn", value_name = "LINT")]
    warn: Vec<String>,
    /// Report this as an error: `-D warnings` for every warning. One lint beats a group, also one of
    /// relayc.toml; of equals -D beats -W, and -W beats -A.
    #[arg(short = 'D', long = "deny", value_name = "LINT")]
    deny: Vec<String>,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if let Err(message) = args.checking.set_levels(&mut Levels::default()) {
        return console.usage(message);
    }
    let mut projects = Projects::new(console);
    let mut code = exit::FINE;
    let programs = console.programs(&args.files, &mut code);
    let mut all = vec![];
    for path in &programs {
        let how = args.checking.how(path, &mut projects);
        let version = sys::Version::of(path);
        let mut program = driver::check_file(path, Phase::Lint, &how);
        if args.fix {
            program = match fix_file(console, (path, version), program, &how) {
                Ok(program) => program,
                Err((diagnostic, program)) => {
                    console.diagnostics(&[diagnostic], &program.sources);
                    code = code.max(exit::USAGE);
                    *program
                }
            };
        }
        console.diagnostics(&program.diagnostics, &program.sources);
        // Standard input has a name there; a file that could not be read has none.
        let name = program.sources.files().last().map_or_else(|| path.display().to_string(), |file| file.name.clone());
        console.summary(&program.diagnostics, &name);
        code = code.max(exit::of(&program.diagnostics));
        all.extend(program.diagnostics);
    }
    // Programs that read JSON can add.
    if programs.len() > 1 && !console.is_json() {
        console.summary(&all, &format!("all {} programs", thousands(programs.len() as u64)));
    }
    code.max(projects.code)
}

impl Checking {
    /// The options for a program of a project. The flags have been understood.
    pub(crate) fn how(&self, path: &Path, projects: &mut Projects) -> ReadOptions {
        projects.how(path, &self.setting.how(&self.reading), |levels| drop(self.set_levels(levels)))
    }

    /// Sets the levels of the flags. Errors: an invalid flag, in words.
    pub(crate) fn set_levels(&self, levels: &mut Levels) -> Result<(), String> {
        for (flag, which, level) in
            [("-A", &self.allow, Level::Allow), ("-W", &self.warn, Level::Warn), ("-D", &self.deny, Level::Deny)]
        {
            for name in which {
                levels.set(name, level).map_err(|near| {
                    let hint = near.map_or("`relayc explain` lists their codes".to_owned(), |near| format!("there is `{near}`"));
                    format!("{flag} {name}: there is no lint `{name}`: {hint}")
                })?;
            }
        }
        Ok(())
    }
}

/// Fixes a file in place. If it cannot be written, it stays as it was.
fn fix_file(
    console: &Console,
    (path, version): (&Path, sys::Version),
    program: Program,
    how: &ReadOptions,
) -> Result<Program, (Diagnostic, Box<Program>)> {
    let is_stdin = path.to_str() == Some("-");
    // Of a file that could not be read, or holds bytes that are no text, nothing is written.
    // And of a program inside of an archive, whose text has a name of its own.
    let inside = !is_stdin && program.sources.files().last().is_some_and(|file| *file.name != *path.display().to_string());
    let unread = inside || program.sources.files().len() != 1 || program.diagnostics.iter().any(|d| d.code == codes::E0005);
    if unread {
        return Ok(program);
    }
    let fixed = fix::fix_all(program, how);
    let text = fix::text(&fixed.program).to_owned();
    if is_stdin {
        if let Err(diagnostic) = sys::stdout(&text) {
            return Err((diagnostic, Box::new(fixed.program)));
        }
    } else if !fixed.fixed.is_empty()
        && let Err(diagnostic) = sys::rewrite(path, version, &text)
    {
        return Err((diagnostic, Box::new(fixed.program)));
    }
    for (diagnostic, sources) in &fixed.fixed {
        console.fixed(diagnostic, sources);
    }
    Ok(fixed.program)
}
