//! Caret annotations, which point at a line above, as tests have them: `//^^^^ Tensor[(2), float32]`.
//!
//! Such a comment describes the text right above its carets, and formatting moves that text. This module moves the comment below
//! the new line, with its carets under the same tokens. The comment stays in place if its carets are not under whole tokens, or
//! if those tokens are no longer on one line: the test then reports it. It also stays if formatting the result again would move
//! anything, as when the comment alone breaks the line between two tokens.

use crate::lexer::Lexed;
use crate::token::{Tok, Token};
use relayc_base::{SourceFile, Span};

/// Returns the formatted text with its caret annotations realigned; `None` if nothing changes. `new` are the tokens and comments
/// of `formatted`.
pub(crate) fn realign(source: &str, old: &Lexed, formatted: &str, new: &Lexed) -> Option<String> {
    // Most programs have none.
    if !old.comments.iter().any(|comment| is_caret(source, comment)) {
        return None;
    }
    let (source, formatted) = (&SourceFile::new("", source), &SourceFile::new("", formatted));
    let carets = carets(source, old);
    let (old_words, new_words) = (words(old), words(new));
    let places = caret_lines(formatted, new);
    if places.len() != carets.len() || old_words.len() != new_words.len() {
        return None;
    }
    // What is put below which line, and the lines that move.
    let mut below: Vec<Vec<String>> = vec![vec![]; formatted.n_lines()];
    let mut moved = vec![false; formatted.n_lines()];
    for (caret, place) in carets.iter().zip(&places) {
        let target = caret.tokens.and_then(|(first, last)| {
            let (first, last) = (index_of(&old_words, first)?, index_of(&old_words, last)?);
            target(formatted, new, new_words[first], new_words[last])
        });
        let Some((line, column, len)) = target else { continue };
        below[line].push(format!("{}//{}{}", " ".repeat(column - 2), "^".repeat(len), caret.about));
        moved[*place] = true;
    }
    let mut out = String::with_capacity(formatted.text.len());
    for (i, text) in formatted.text.split_inclusive('\n').enumerate() {
        if !moved[i] {
            out.push_str(text);
        }
        for line in &below[i] {
            out.push_str(line);
            out.push('\n');
        }
    }
    (out != *formatted.text).then_some(out)
}

struct Caret<'s> {
    /// The text after the carets.
    about: &'s str,
    /// The first and the last token above its carets.
    tokens: Option<(Token, Token)>,
}

/// The caret annotations that stand alone on their lines, each with the tokens above.
fn carets<'s>(source: &'s SourceFile, lexed: &Lexed) -> Vec<Caret<'s>> {
    // The line that the last comment of carets was about, and its own.
    let (mut about, mut last): (Option<usize>, Option<usize>) = (None, None);
    let mut found = Vec::new();
    for comment in lexed.comments.iter().filter(|comment| is_alone(source, comment)) {
        let (line, column) = place_of(source, comment.start);
        // Several lines of carets may be about one line.
        if last.is_none_or(|last| last + 1 != line) {
            about = line.checked_sub(1);
        }
        last = Some(line);
        let text = source.text[comment.start as usize..comment.end as usize].trim_end();
        let first = column + text.find('^').unwrap_or(0);
        let behind = text.trim_start_matches('/').trim_start();
        let rest = behind.trim_start_matches('^');
        let tokens = about.and_then(|about| tokens_at(source, lexed, about, first, behind.len() - rest.len()));
        found.push(Caret { about: rest, tokens });
    }
    found
}

/// The tokens that exactly fill some columns of a line. All text before them is ASCII, so a column is a byte.
fn tokens_at(source: &SourceFile, lexed: &Lexed, line: usize, column: usize, n: usize) -> Option<(Token, Token)> {
    let range = source.line_range(line)?;
    let (start, end) = (range.start + column, range.start + column + n);
    source.text.get(range.start..end.min(range.end)).filter(|text| text.is_ascii())?;
    let first = lexed.tokens.partition_point(|token| (token.start as usize) < start);
    let last = lexed.tokens.partition_point(|token| (token.end as usize) < end);
    let (first, last) = (*lexed.tokens.get(first)?, *lexed.tokens.get(last)?);
    (first.start as usize == start && last.end as usize == end).then_some((first, last))
}

/// The lines of the caret annotations that stand alone, in order.
fn caret_lines(file: &SourceFile, lexed: &Lexed) -> Vec<usize> {
    let comments = lexed.comments.iter().filter(|comment| is_alone(file, comment));
    comments.map(|comment| place_of(file, comment.start).0).collect()
}

fn is_alone(file: &SourceFile, comment: &Span) -> bool {
    let column = place_of(file, comment.start).1;
    let before = &file.text[comment.start as usize - column..comment.start as usize];
    before.trim().is_empty() && is_caret(&file.text, comment)
}

fn is_caret(text: &str, comment: &Span) -> bool {
    let words = text[comment.start as usize..comment.end as usize].strip_prefix("//");
    words.is_some_and(|words| is_expectation(words.trim_start()))
}

/// Whether it is a caret annotation as tests have them: carets, then a type or a message.
fn is_expectation(words: &str) -> bool {
    let about = words.trim_start_matches('^');
    let about = if about.len() < words.len() { about.trim_start() } else { "" };
    let starts = ["error[", "warning[", "fn ", "ref(", "int", "uint", "float", "bfloat", "bool", "("];
    starts.iter().any(|start| about.starts_with(start)) || about.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The tokens without commas, which formatting adds and drops.
fn words(lexed: &Lexed) -> Vec<Token> {
    lexed.tokens.iter().filter(|token| token.tok != Tok::Comma).copied().collect()
}

fn index_of(words: &[Token], token: Token) -> Option<usize> {
    words.binary_search_by_key(&token.start, |word| word.start).ok()
}

/// The line, column and length of the text between two tokens, if carets can be placed below it.
fn target(file: &SourceFile, lexed: &Lexed, first: Token, last: Token) -> Option<(usize, usize, usize)> {
    let (line, column) = place_of(file, first.start);
    let end = file.line_range(line)?.end as u32;
    let on_one_line = last.end < end;
    // Nothing can be put after a line that ends inside a comment or a string.
    let inside = |start: u32, stop: u32| start < end && stop >= end;
    let token = lexed.tokens.partition_point(|token| token.end < end);
    let comment = lexed.comments.partition_point(|comment| comment.end < end);
    let cut = lexed.tokens.get(token).is_some_and(|token| inside(token.start, token.end))
        || lexed.comments.get(comment).is_some_and(|comment| inside(comment.start, comment.end));
    let is_ascii = file.text[first.start as usize - column..last.end as usize].is_ascii();
    (on_one_line && !cut && column >= 2 && is_ascii).then_some((line, column, (last.end - first.start) as usize))
}

/// The line of a byte and its column, both from 0.
fn place_of(file: &SourceFile, at: u32) -> (usize, usize) {
    let (line, column) = file.line_col(at as usize);
    (line - 1, column - 1)
}

#[cfg(test)]
mod tests {
    use relayc_base::FileId;

    #[test]
    fn carets_follow_what_they_are_under() {
        let text = "fn (%x: int32) { %x + 1 }\n               //^^^^^^ int32\n";
        let once = crate::fmt::format(FileId(0), text).expect("it is right");
        assert_eq!(once, "fn (%x: int32) {\n  %x + 1\n//^^^^^^ int32\n}\n");
        assert_eq!(crate::fmt::format(FileId(0), &once), Ok(once));
    }

    #[test]
    fn carets_that_come_under_tokens_by_chance_settle_at_once() {
        let text = "fn (%x: int32) {\n  %x   +   %x\n//     ^^ int32\n}\n";
        let once = crate::fmt::format(FileId(0), text).expect("it is right");
        assert!(once.contains("%x + %x\n"), "{once}");
        assert_eq!(crate::fmt::format(FileId(0), &once), Ok(once));
    }

    #[test]
    fn carets_that_fit_no_tokens_stay() {
        let text = "fn (%x: int32) {\n  %x + 1\n //^^^^ int32\n}\n";
        assert!(crate::fmt::format(FileId(0), text).is_ok_and(|once| once.contains("^^^^ int32")));
    }
}
