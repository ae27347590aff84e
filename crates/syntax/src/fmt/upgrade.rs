//! Rewrites text of older TVMs to today's before it is formatted.
//!
//! `syntax::dialect` knows which forms are old and their replacements: it finds them when it reads a text as an older one. This
//! module adds two things: the header of a module without one, and names without dots, since TVM prints dotted names and cannot
//! read them. Then `syntax::old_calls` rewrites calls of operators that have changed.
//!
//! Promises: before calls are rewritten, the text, read as today's, has the tree that the original has when read as older text.
//! The result has the same comments, and no old form.

use super::verify::{FORMATTED, Text, same_comments, same_shape};
use super::{errors, errors_of, is_covered};
use crate::ast::{Ast, Root};
use crate::dialect::first_of;
use crate::lexer;
use crate::old_calls::OldCalls;
use crate::parse::parse_as_written;
use crate::token::{Tok, Token};
use crate::version::VERSION;
use crate::{Dialect, parse};
use relayc_base::diag::{Diagnostic, Edit, fix};
use relayc_base::{FileId, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rewrites a text so that today's TVM reads it, without formatting. Errors: all its syntax errors.
pub(crate) fn todays(file: FileId, source: &str) -> Result<String, Vec<Diagnostic>> {
    let lexed = lexer::lex(file, source);
    if lexed.tokens.is_empty() {
        // Comments have no dialect.
        return Ok(source.to_owned());
    }
    let (ast, diagnostics) = parse_as_written(file, source.into(), Dialect::Old);
    errors_of(diagnostics)?;
    is_covered(file, source, &lexed)?;
    let mut edits = vec![];
    if matches!(ast.root, Root::Module) && ast.version.is_none() {
        edits.push(Edit { span: Span { file, start: 0, end: 0 }, text: format!("#[version = {VERSION}]\n") });
    }
    edits.extend(ast.old_forms.iter().map(|form| Edit { span: form.span, text: form.replacement.clone() }));
    edits.extend(names_without_dots(file, &lexed.tokens, source));
    let bug = || vec![errors::would_change(Span { file, start: 0, end: 0 })];
    let text = fix::apply(source, file, &edits).ok_or_else(bug)?;
    let again = lexer::lex(FORMATTED, &text);
    let (new_ast, diagnostics) = parse(FORMATTED, text.as_str().into());
    errors_of(diagnostics).map_err(|_| bug())?;
    let (old, new) = (Text { lexed: &lexed, ast: &ast }, Text { lexed: &again, ast: &new_ast });
    let same = new_ast.old_forms.is_empty() && same_shape(&ast, &new_ast) && same_comments(&old, &new).is_none();
    if !same {
        return Err(bug());
    }
    match old_calls(&new_ast, ast.age) {
        edits if edits.is_empty() => Ok(text),
        // What its comments do not let be rewritten is left for its author.
        edits => Ok(with_todays_calls(&new, &edits).unwrap_or(text)),
    }
}

/// The edits that rewrite the old calls of a text that TVM 0.`age` or one before it printed.
fn old_calls(ast: &Ast, age: u8) -> Vec<Edit> {
    OldCalls::of_age(ast, age).all().into_iter().flat_map(|call| call.edits).collect()
}

/// The text with these edits of its calls; `None` if that is no text of today's with the same comments.
fn with_todays_calls(old: &Text, edits: &[Edit]) -> Option<String> {
    let text = fix::apply(&old.ast.source, FORMATTED, edits)?;
    let lexed = lexer::lex(FORMATTED, &text);
    let (ast, diagnostics) = parse(FORMATTED, text.as_str().into());
    let is_whole = errors_of(diagnostics).is_ok() && same_comments(old, &Text { lexed: &lexed, ast: &ast }).is_none();
    (is_whole && ast.old_forms.is_empty() && old_calls(&ast, ast.age).is_empty()).then_some(text)
}

/// `%conv.w` becomes `%conv_w`, or `%conv_w_1` if another variable has that name.
fn names_without_dots(file: FileId, tokens: &[Token], source: &str) -> Vec<Edit> {
    let is_name = |token: &&Token| matches!(token.tok, Tok::Local | Tok::Global);
    let is_dotted = |token: &&Token| is_name(token) && token.text(source).contains('.');
    if !tokens.iter().any(|token| is_dotted(&token)) {
        return vec![];
    }
    let mut taken: FxHashSet<String> = tokens.iter().filter(is_name).map(|token| token.text(source).to_owned()).collect();
    let mut renamed: FxHashMap<&str, String> = FxHashMap::default();
    let mut edits = vec![];
    for token in tokens.iter().filter(is_dotted) {
        let text = renamed.entry(token.text(source)).or_insert_with_key(|name| {
            let plain = name.replace('.', "_");
            let numbered = (1..).map(|n| format!("{plain}_{n}"));
            let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name));
            let free = free.unwrap_or(plain);
            taken.insert(free.clone());
            free
        });
        edits.push(Edit { span: token.span(file), text: text.clone() });
    }
    edits
}

/// Reports the first place of a tree that today's TVM does not read; `None` if it reads everything.
pub(crate) fn first_old_form(ast: &Ast) -> Option<Diagnostic> {
    let (first, today, n) = first_of(&ast.old_forms)?;
    Some(errors::old_text(first, today, n))
}
