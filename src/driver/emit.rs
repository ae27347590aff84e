//! `--emit`: a program at any stage of its way to machine code, as text. What is IR parses back.

use super::compile::{self, Policy, Refused, Settings};
use super::optimise::{self, Shown};
use super::parts;
use super::run::Limits;
use super::show::Options;
use super::{Program, read_source};
use crate::base::text::count;
use crate::base::{Idx, Sources, Span};
use crate::diag::Diagnostic;
use crate::ir::{ExprId, Module};
use crate::jit::assemble::Assembled;
use crate::jit::listing;
use crate::plan::{self, Told};
use crate::syntax::{self, Dialect, lexer};
use std::fmt::Write;
use std::path::Path;

/// The stages of a text before it is a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    Tokens,
    Ast,
}

/// The stages of a program on its way to code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compiling {
    Groups,
    Plan,
    Kernels,
    Asm,
}

/// A file as tokens or as a syntax tree, a node a line, and what is wrong with it.
pub fn reading(path: &Path, dialect: Dialect, stage: Reading) -> (String, Vec<Diagnostic>, Sources) {
    let mut sources = Sources::new();
    let file = match read_source(path, &mut sources) {
        Ok(file) => file,
        Err(diagnostics) => return (String::new(), diagnostics, sources),
    };
    let text = sources.file(file).expect("it was added").text.clone();
    let (out, diagnostics) = match stage {
        Reading::Tokens => {
            let lexed = lexer::lex(file, &text);
            let line = |token: &syntax::token::Token| {
                let span = token.span(file);
                format!("{}  {:?}  {}\n", place(&sources, span), token.tok, sources.slice(span))
            };
            (lexed.tokens.iter().map(line).collect(), lexed.diagnostics)
        }
        Reading::Ast => {
            let (ast, diagnostics) = syntax::parse_as(file, text, dialect);
            (tree(&ast, &sources), diagnostics)
        }
    };
    (out, diagnostics, sources)
}

/// The nodes of a syntax tree in the order of their numbers, by which they name each other.
fn tree(ast: &syntax::ast::Ast, sources: &Sources) -> String {
    let mut out = format!("root {:?}\n", ast.root);
    for (at, def) in ast.defs.iter().enumerate() {
        let _ = writeln!(out, "def {at}  {def:?}");
    }
    for (id, func) in ast.funcs.iter_ids() {
        let _ = writeln!(out, "func {}  {func:?}", id.index());
    }
    for (id, stmt) in ast.stmts.iter_ids() {
        let _ = writeln!(out, "stmt {}  {}  {:?}", id.index(), place(sources, stmt.span), stmt.kind);
    }
    for (id, expr) in ast.exprs.iter_ids() {
        let _ = writeln!(out, "expr {}  {}  {:?}", id.index(), place(sources, expr.span), expr.kind);
    }
    out
}

/// `line:column`.
pub fn place(sources: &Sources, span: Span) -> String {
    sources.line_col(span).map_or_else(|| "-".to_owned(), |(line, column)| format!("{line}:{column}"))
}

/// The graph or local variable that the text binds to what stands at a place: `%3` of `%3 = nn.relu(%2)`.
pub fn bound_name(sources: &Sources, span: Span) -> Option<&str> {
    let text = &sources.file(span.file).filter(|_| !span.is_none())?.text;
    // Several bindings may stand in one line.
    let line = text.get(..span.start as usize)?.rsplit(['\n', ';', '{']).next()?.trim_start();
    let named = line.strip_prefix("let ").unwrap_or(line);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/');
    let end = named.strip_prefix('%')?.find(|c| !is_name(c)).map_or(named.len(), |end| end + 1);
    let between = named[end..].trim();
    (between.ends_with('=') && !between.ends_with("==")).then(|| &named[..end])
}

/// The node of a model that what stands at a place was made of: its name in the comment that importing puts behind a call.
pub fn imported_from(sources: &Sources, span: Span) -> Option<&str> {
    let text = &sources.file(span.file).filter(|_| !span.is_none())?.text;
    let behind = text.get(span.end as usize..)?.split('\n').next()?;
    let (comment, _) = behind.trim_start().strip_prefix("/*")?.split_once("*/")?;
    // A place in a text has a line; a node has none.
    comment.split_once("span=")?.1.trim().strip_suffix(":0:0")
}

/// `%3 at net.relay:14:8`, as far as it is known, and the node of the model it was imported from.
pub fn origin(sources: &Sources, module: &Module, expr: ExprId) -> String {
    let span = module.exprs[expr].span;
    let Some(file) = sources.file(span.file).filter(|_| !span.is_none()) else { return "made by a pass".to_owned() };
    let at = format!("{}:{}", file.name, place(sources, span));
    let node = imported_from(sources, span).map_or(String::new(), |node| format!(", node {node}"));
    bound_name(sources, span).map_or(at.clone(), |name| format!("{name} at {at}")) + &node
}

/// A program without errors, its weights constants by now, at a stage. Errors: E0901 for a bug; what is not compiled has no stage.
pub fn compiling(
    program: &mut Program,
    entry: &str,
    settings: &Settings,
    limits: &Limits,
    stage: Compiling,
) -> Result<String, Refused> {
    let wrong = |error| Refused::Wrong(Box::new(error));
    if stage == Compiling::Groups {
        let options = Options { types: true, meta: false, exact: false };
        return optimise::text(program, &compile::how(entry, settings), &Shown::default(), options).map_err(wrong);
    }
    let show = |module: &Module, all: &Assembled| staged(stage, &program.sources, module, all);
    let mut module = program.module.clone();
    match compile::assembled(&mut module, entry, settings, limits, &mut program.timings) {
        Ok(all) => Ok(format!("{}{}", head(entry, settings), show(&module, &all))),
        Err(Refused::Not(reason)) => {
            let regions = parts::regions(program.module.clone(), entry, settings, limits)?;
            // Where no shape is known before it is called there is nothing to show.
            if regions.iter().all(|region| region.code.is_err()) {
                let why = regions.iter().find_map(|region| region.code.as_ref().err().copied());
                return Err(Refused::Not(why.unwrap_or(reason)));
            }
            let mut out = head(entry, settings);
            let n = regions.len();
            let _ = writeln!(out, "not compiled as a whole: {}; {} of its dataflow", reason.words(), count(n, "region"));
            for (at, region) in regions.iter().enumerate() {
                let _ = writeln!(out, "\nregion {} of {n} at {}", at + 1, place(&program.sources, region.span));
                match &region.code {
                    Ok((module, all)) => out.push_str(&show(module, all)),
                    Err(why) => _ = writeln!(out, "not compiled before it is called: {}", why.words()),
                }
            }
            Ok(out)
        }
        Err(wrong) => Err(wrong),
    }
}

/// The text of a stage of code.
fn staged(stage: Compiling, sources: &Sources, module: &Module, all: &Assembled) -> String {
    let origin = |expr| origin(sources, module, expr);
    let told = Told { reasons: &all.reasons, origin: &origin };
    match stage {
        Compiling::Plan => plan::text(&all.plan, &told),
        Compiling::Kernels => format!("\n{}", plan::kernels(&all.plan, &told)),
        Compiling::Asm | Compiling::Groups => assembly(all, &origin),
    }
}

fn head(entry: &str, settings: &Settings) -> String {
    let accuracy = match settings.accuracy {
        Policy::Fast => "fast",
        Policy::Strict => "strict: sums as they are written, no winograd",
    };
    let plural = if settings.threads == 1 { "" } else { "s" };
    let target = listing::target_name(settings.isa);
    format!("@{entry} for {target}, {} thread{plural}, accuracy {accuracy}\n", settings.threads)
}

/// The code of every step that has some, then the constants.
pub(super) fn assembly(all: &Assembled, origin: &dyn Fn(ExprId) -> String) -> String {
    let mut out = String::new();
    for (at, (step, reason)) in all.plan.steps.iter().zip(&all.reasons).enumerate() {
        let _ = writeln!(out, "\n; step {at}: {}, {}", plan::ops_text(step), origin(step.origin));
        let _ = writeln!(out, "; {}", reason.name);
        out.push_str(&listing::step(all, at));
    }
    let constants = listing::constants(all);
    if !constants.is_empty() {
        let _ = write!(out, "\n; constants\n{constants}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_text_binds_has_a_name() {
        let mut sources = Sources::new();
        let text = "  %3 = nn.relu(%x);\n  let %long.name: Tensor[(2), float32] = add(%3, nn.relu(%x));\n  %3 == exp(%3)\n{ %4 = tan(%3); let %y = cos(%4); %y }";
        let file = sources.add("x", text);
        let name = |part: &str| {
            let start = text.find(part).expect("it is there");
            bound_name(&sources, Span::new(file, start, start + part.len()))
        };
        assert_eq!(name("nn.relu(%x);"), Some("%3"));
        assert_eq!(name("add(%3"), Some("%long.name"));
        assert_eq!(name("nn.relu(%x));"), None, "an operand has no name of its own");
        assert_eq!(name("exp(%3)"), None, "a comparison binds nothing");
        assert_eq!((name("tan"), name("cos")), (Some("%4"), Some("%y")), "bindings in one line");
        assert_eq!(bound_name(&sources, Span::NONE), None);
    }
}
