//! Lints: flag valid but suspicious programs.
//!
//! A lint is one line of [`LINTS`]: its code, its name, its default level. `syntax` and `resolve` find some on the way; those
//! with a function run here, on a program without errors. Each visits every expression a bounded number of times and does not
//! recurse.

mod allow;
mod comment;
mod doubtful;
mod no_op;
mod unused;

pub use allow::allowing;
pub(crate) use allow::apply as apply_comments;
use relayc_base::diag::{Code, Diagnostic, Severity, codes};
use relayc_base::text::nearest;
use relayc_base::{FileId, Idx};
use relayc_ir::{ExprKind, Module};
use relayc_syntax::ast::Ast;

/// The level of a lint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Allow,
    Warn,
    /// An error.
    Deny,
}

/// One lint.
pub(crate) struct Lint {
    pub(crate) code: Code,
    /// Its name on the command line, besides its code.
    pub(crate) name: &'static str,
    pub(crate) level: Level,
    run: Option<fn(&Program) -> Vec<Diagnostic>>,
}

/// The input of a lint.
struct Program<'a> {
    file: FileId,
    text: &'a str,
    ast: &'a Ast,
    module: &'a Module,
    /// Whether each variable is used.
    used: Vec<bool>,
}

impl Lint {
    /// The lint with a name or a code.
    fn named(which: &str) -> Option<&'static Lint> {
        let name = OLD_NAMES.iter().find(|(old, _)| *old == which).map_or(which, |&(_, name)| name);
        LINTS.iter().find(|lint| lint.code.id().eq_ignore_ascii_case(which) || lint.name == name)
    }
}

/// The name or code of a lint that is spelt nearly so, or one of other names.
fn nearest_to(which: &str, others: &[&'static str]) -> Option<&'static str> {
    let names = || LINTS.iter().flat_map(|lint| [lint.name, lint.code.id()]).chain(others.iter().copied());
    nearest(which, names()).or_else(|| nearest(&which.to_ascii_uppercase(), names()))
}

const fn lint(code: Code, name: &'static str, level: Level, run: Option<fn(&Program) -> Vec<Diagnostic>>) -> Lint {
    Lint { code, name, level, run }
}

/// Names that lints had, which the command line still takes.
const OLD_NAMES: [(&str, &str); 1] = [("idle-operator", "no-op")];

/// Every lint, in the order of their codes.
pub(crate) const LINTS: &[Lint] = &[
    lint(codes::W0001, "missing-header", Level::Warn, None),
    lint(codes::W0002, "foreign-graph-variable", Level::Warn, None),
    lint(codes::W0003, "unreachable-variable", Level::Warn, None),
    lint(codes::W0004, "attribute-twice", Level::Warn, None),
    lint(codes::W0005, "unused-let", Level::Warn, Some(unused::lets)),
    lint(codes::W0006, "unused-graph-variable", Level::Warn, Some(unused::graph_variables)),
    lint(codes::W0007, "unused-parameter", Level::Warn, Some(unused::parameters)),
    lint(codes::W0008, "wrong-type-comment", Level::Warn, Some(comment::types)),
    lint(codes::W0009, "shadowed-name", Level::Allow, None),
    lint(codes::W0010, "old-text", Level::Warn, None),
    lint(codes::W0011, "skipped-function", Level::Warn, None),
    lint(codes::W0012, "no-op", Level::Allow, Some(no_op::operators)),
    lint(codes::W0013, "unused-function", Level::Allow, Some(unused::functions)),
    lint(codes::W0014, "misread-by-tvm", Level::Warn, None),
    lint(codes::W0015, "doubtful-attribute", Level::Warn, Some(doubtful::attributes)),
    lint(codes::W0019, "unknown-lint", Level::Warn, None),
    lint(codes::W0020, "unused-allow", Level::Warn, None),
    lint(codes::W0021, "missing-comma", Level::Warn, None),
    lint(codes::W0022, "unstorable-dtype", Level::Warn, None),
];

/// The requested levels: for single lints and for groups.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// Codes with their levels; the last one of a code wins.
    one: Vec<(Code, Level)>,
    /// The level for `warnings`, the lints that warn by default. The last one wins, and `one` takes precedence.
    warnings: Option<Level>,
    all: Option<Level>,
}

/// The groups: `warnings` are the lints that warn by default, `all` are all.
pub const GROUPS: [&str; 2] = ["warnings", "all"];

/// The code of a lint, by its name, also an old one.
pub fn code(name: &str) -> Option<Code> {
    Lint::named(name).map(|lint| lint.code)
}

/// The name of the lint with this code.
pub fn name(code: Code) -> Option<&'static str> {
    LINTS.iter().find(|lint| lint.code == code).map(|lint| lint.name)
}

/// The names of all lints.
pub fn names() -> impl Iterator<Item = &'static str> {
    LINTS.iter().map(|lint| lint.name)
}

impl Levels {
    /// Sets the level of a code, a name or a group. Errors: a spelling suggestion, if there is one.
    pub fn set(&mut self, which: &str, level: Level) -> Result<(), Option<&'static str>> {
        match which {
            "warnings" => self.warnings = Some(level),
            "all" => self.all = Some(level),
            _ => {
                let lint = Lint::named(which).ok_or_else(|| nearest_to(which, &GROUPS))?;
                self.one.push((lint.code, level));
            }
        }
        Ok(())
    }

    fn of(&self, lint: &Lint) -> Level {
        let one = self.one.iter().rev().find(|(code, _)| *code == lint.code).map(|(_, level)| *level);
        let warnings = self.warnings.filter(|_| lint.level == Level::Warn);
        one.or(warnings).or(self.all).unwrap_or(lint.level)
    }

    /// Drops allowed diagnostics and turns denied ones into errors.
    pub(super) fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.retain_mut(|diagnostic| {
            let Some(lint) = LINTS.iter().find(|lint| lint.code == diagnostic.code) else { return true };
            let level = self.of(lint);
            if level == Level::Deny {
                diagnostic.severity = Severity::Error;
                diagnostic.notes.push(format!("denied: `{}`", lint.name));
            }
            level != Level::Allow
        });
    }
}

/// Limit of messages of one lint.
const MAX_EACH: usize = 100;

/// Runs the lints that are not allowed, on a program without errors.
pub(super) fn run(file: FileId, text: &str, ast: &Ast, module: &Module, levels: &Levels) -> Vec<Diagnostic> {
    let mut used = vec![false; module.vars.len()];
    for expr in module.exprs.iter() {
        if let ExprKind::Var(var) = expr.kind {
            used[var.index()] = true;
        }
    }
    let program = Program { file, text, ast, module, used };
    let wanted = LINTS.iter().filter(|lint| levels.of(lint) != Level::Allow);
    wanted.filter_map(|lint| lint.run).flat_map(|run| run(&program)).collect()
}

/// Whether a name marks itself as unused.
fn is_silent(name: &str) -> bool {
    name.trim_start_matches(['%', '@']).starts_with('_') || name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_beats_a_group() {
        let mut levels = Levels::default();
        levels.set("warnings", Level::Deny).expect("a group");
        levels.set("w0005", Level::Allow).expect("a code");
        let level = |name: &str| levels.of(LINTS.iter().find(|lint| lint.name == name).expect("a lint"));
        assert_eq!(
            [level("unused-let"), level("unused-parameter"), level("shadowed-name")],
            [Level::Allow, Level::Deny, Level::Allow]
        );
    }

    #[test]
    fn unknown_names_have_neighbours() {
        let mut levels = Levels::default();
        assert_eq!(levels.set("unused-lett", Level::Warn), Err(Some("unused-let")));
        assert_eq!(levels.set("W00055", Level::Warn), Err(Some("W0005")));
        assert_eq!(levels.set("nonsense", Level::Warn), Err(None));
    }

    #[test]
    fn every_warning_about_a_program_is_a_lint() {
        // These are about a run or a model: a choice, a cache, an operator set. No level changes them.
        let others = [codes::W0016, codes::W0017, codes::W0018, codes::W0023, codes::W0024];
        let warnings = codes::ALL.iter().copied().filter(|code| code.id().starts_with('W') && !others.contains(code));
        assert_eq!(LINTS.iter().map(|lint| lint.code).collect::<Vec<_>>(), warnings.collect::<Vec<_>>());
    }
}
