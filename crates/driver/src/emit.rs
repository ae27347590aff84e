//! `--emit tokens|ast`: the stages of a text before it is a program; and the names of places in messages.

use super::read_source;
use relayc_base::diag::Diagnostic;
use relayc_base::{Idx, Sources, Span};
use relayc_ir::{ExprId, Module};
use relayc_syntax::{self as syntax, Dialect, lexer};
use std::fmt::Write;
use std::path::Path;

/// The stages of a text before it is a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    Tokens,
    Ast,
}

/// A file as tokens or as a syntax tree, one node a line, and its errors.
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
            sources.replace(file, ast.source.clone());
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

/// The graph or local variable that the text binds to the expression at a place: `%3` of `%3 = nn.relu(%2)`.
pub fn bound_name(sources: &Sources, span: Span) -> Option<&str> {
    let text = &sources.file(span.file).filter(|_| !span.is_none())?.text;
    let before = text.get(..span.start as usize)?.trim_end().strip_suffix('=')?;
    // Several bindings may stand in one line.
    let line = before.rsplit(['\n', ';', '{']).next()?.trim_start();
    let named = line.strip_prefix("let ").unwrap_or(line);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/');
    let end = named.strip_prefix('%')?.find(|c| !is_name(c)).map_or(named.len(), |end| end + 1);
    (!named.ends_with('=')).then(|| &named[..end])
}

/// The name of the model's node that the expression at a place was imported from: the importer writes it in a comment after a
/// call.
pub fn imported_from(sources: &Sources, span: Span) -> Option<&str> {
    let text = &sources.file(span.file).filter(|_| !span.is_none())?.text;
    let behind = text.get(span.end as usize..)?.trim_start_matches([' ', '\t']);
    let (comment, _) = behind.strip_prefix("/*")?.split_once("*/")?;
    // A place in a text has a line; a node has none.
    comment.split_once("span=")?.1.trim().strip_suffix(":0:0")
}

/// The origin of an expression, as far as it is known: `%3 at net.relay:14:8`, and the node of the imported model.
pub fn origin(sources: &Sources, module: &Module, expr: ExprId) -> String {
    let span = module.exprs[expr].span;
    let Some(file) = sources.file(span.file).filter(|_| !span.is_none()) else { return "made by a pass".to_owned() };
    let at = format!("{}:{}", file.name, place(sources, span));
    let node = imported_from(sources, span).map_or(String::new(), |node| format!(", node {node}"));
    bound_name(sources, span).map_or(at.clone(), |name| format!("{name} at {at}")) + &node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_text_binds_has_a_name() {
        let mut sources = Sources::new();
        let text = "  %3 = nn.relu(%x);\n  let %long.name: Tensor[(2), float32] = add(%3, nn.relu(%x));\n  %3 == exp(%3)\n{ %4 = tan(%3); let %y = cos(%4);\n %5  =\n  sin(%y); sum(%5, axis=1) }";
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
        assert_eq!((name("sin"), name("1) }")), (Some("%5"), None), "in the next line; an attribute");
        assert_eq!(bound_name(&sources, Span::NONE), None);
    }
}
