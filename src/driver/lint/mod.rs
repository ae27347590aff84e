//! Lints: programs that are right and look as if they were not meant so.
//!
//! A lint is one line of [`LINTS`]: its code, its name, how loud it is unless told otherwise. Some are found on the way, by
//! `syntax` and `resolve`; those with a function run here, on a program without errors. Each looks at every expression at
//! most a fixed number of times and uses no stack.

mod comment;
mod idle;
mod unused;

use crate::base::text::nearest;
use crate::base::{FileId, Idx};
use crate::diag::{Code, Diagnostic, Severity, codes};
use crate::ir::{ExprKind, Module};
use crate::syntax::ast::Ast;

/// How loud a lint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Allow,
    Warn,
    /// An error.
    Deny,
}

/// One lint.
pub struct Lint {
    pub code: Code,
    /// What it can be called by, beside its code.
    pub name: &'static str,
    pub level: Level,
    run: Option<fn(&Program) -> Vec<Diagnostic>>,
}

/// What a lint looks at.
struct Program<'a> {
    file: FileId,
    text: &'a str,
    ast: &'a Ast,
    module: &'a Module,
    /// Of each variable, whether anything mentions it.
    used: Vec<bool>,
}

const fn lint(code: Code, name: &'static str, level: Level, run: Option<fn(&Program) -> Vec<Diagnostic>>) -> Lint {
    Lint { code, name, level, run }
}

/// Every lint, in the order of their codes.
pub const LINTS: &[Lint] = &[
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
    lint(codes::W0012, "idle-operator", Level::Allow, Some(idle::operators)),
    lint(codes::W0013, "unused-function", Level::Allow, Some(unused::functions)),
    lint(codes::W0014, "misread-by-tvm", Level::Warn, None),
];

/// What was asked for: a level for a lint, or for a group of them.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// A code with its level; the last one counts.
    one: Vec<(Code, Level)>,
    /// `warnings`: those that warn unless told otherwise. The last one counts, and gives way to `one`.
    warnings: Option<Level>,
    all: Option<Level>,
}

/// The groups: `warnings` are the lints that warn by themselves, `all` are all.
const GROUPS: [&str; 2] = ["warnings", "all"];

impl Levels {
    /// Sets the level of a code, a name or a group. Errors: what else may have been meant.
    pub fn set(&mut self, which: &str, level: Level) -> Result<(), Option<&'static str>> {
        match which {
            "warnings" => self.warnings = Some(level),
            "all" => self.all = Some(level),
            _ => {
                let found = LINTS.iter().find(|lint| lint.code.id().eq_ignore_ascii_case(which) || lint.name == which);
                let names = || LINTS.iter().flat_map(|lint| [lint.name, lint.code.id()]).chain(GROUPS);
                let upper = which.to_ascii_uppercase();
                let near = || nearest(which, names()).or_else(|| nearest(&upper, names()));
                let lint = found.ok_or_else(near)?;
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

    /// Drops what is allowed and makes errors of what is denied.
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

/// How many messages of one lint are made; more help nobody.
const MAX_EACH: usize = 100;

/// Runs the lints that are not allowed on a program without errors.
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

/// Whether a name says itself that nothing uses it.
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
    fn every_warning_is_a_lint() {
        let warnings: Vec<Code> = codes::ALL.iter().copied().filter(|code| code.id().starts_with('W')).collect();
        assert_eq!(LINTS.iter().map(|lint| lint.code).collect::<Vec<_>>(), warnings);
    }
}
