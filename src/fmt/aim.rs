//! Carets that point at a line above, as tests have them: `//^^^^ Tensor[(2), float32]`.
//!
//! Such a comment says something of the text right above its carets, which formatting moves. It is put below the line that
//! its text is on now, with its carets under the same tokens. It stays where it is if its carets are not under whole tokens,
//! or if those are not on one line any more: then no place is right, and the test will say so. So it does where formatting
//! the result again would move anything: a comment between two tokens that are no other reason for a line break is such.

use crate::syntax::lexer::Lexed;
use crate::syntax::token::{Tok, Token};

/// The formatted text with carets under what they were under, if that is not as it is. `new` are the tokens and comments of
/// `formatted`.
pub fn aim(source: &str, old: &Lexed, formatted: &str, new: &Lexed) -> Option<String> {
    let carets = carets(source, old);
    let (old_words, new_words) = (words(old), words(new));
    if carets.is_empty() || old_words.len() != new_words.len() {
        return None;
    }
    let places = carets_of(formatted, new);
    if places.len() != carets.len() {
        return None;
    }
    let lines = Lines::of(formatted);
    // What is put below which line, and the lines that move.
    let mut below: Vec<Vec<String>> = vec![vec![]; lines.starts.len()];
    let mut moved = vec![false; lines.starts.len()];
    for (caret, place) in carets.iter().zip(&places) {
        let target = caret.tokens.and_then(|(first, last)| {
            let (first, last) = (index_of(&old_words, first)?, index_of(&old_words, last)?);
            target(formatted, &lines, new, new_words[first], new_words[last])
        });
        let Some((line, column, len)) = target else { continue };
        let words = &source[caret.start as usize..caret.end as usize];
        let words = words.trim_start_matches('/').trim_start().trim_start_matches('^');
        below[line].push(format!("{}//{}{}", " ".repeat(column - 2), "^".repeat(len), words.trim_end()));
        moved[*place] = true;
    }
    let mut out = String::with_capacity(formatted.len());
    for (i, text) in formatted.split_inclusive('\n').enumerate() {
        if !moved[i] {
            out.push_str(text);
        }
        for line in &below[i] {
            out.push_str(line);
            out.push('\n');
        }
    }
    (out != formatted).then_some(out)
}

/// A comment of carets.
struct Caret {
    start: u32,
    end: u32,
    /// The first and the last token that its carets are under.
    tokens: Option<(Token, Token)>,
}

/// The comments of carets, each with the tokens above.
fn carets(source: &str, lexed: &Lexed) -> Vec<Caret> {
    let lines = Lines::of(source);
    let on = carets_of(source, lexed);
    let mut next = 0;
    let mut found = Vec::new();
    for comment in &lexed.comments {
        let line = lines.of_offset(comment.start);
        if on.get(next) != Some(&line) {
            continue;
        }
        next += 1;
        // The line they are about is above all the lines of carets.
        let about = (0..line).rev().find(|line| on.binary_search(line).is_err());
        let text = &source[comment.start as usize..comment.end as usize];
        let first = comment.start as usize - lines.starts[line] + text.find('^').unwrap_or(0);
        let n = text.chars().filter(|&c| c != '/').skip_while(|c| c.is_whitespace()).take_while(|&c| c == '^').count();
        let tokens = about.and_then(|about| {
            let (start, end) = ((lines.starts[about] + first) as u32, (lines.starts[about] + first + n) as u32);
            let first = lexed.tokens.partition_point(|token| token.start < start);
            let last = lexed.tokens.partition_point(|token| token.end < end);
            let (first, last) = (*lexed.tokens.get(first)?, *lexed.tokens.get(last)?);
            (first.start == start && last.end == end).then_some((first, last))
        });
        found.push(Caret { start: comment.start, end: comment.end, tokens });
    }
    found
}

/// The lines that hold nothing but a comment of carets, in order. Only text before them that is ASCII is counted in columns.
fn carets_of(text: &str, lexed: &Lexed) -> Vec<usize> {
    let lines = Lines::of(text);
    let is_caret = |start: u32, end: u32| {
        let words = text.get(start as usize..end as usize).unwrap_or("");
        let line = lines.of_offset(start);
        let alone = text[lines.starts[line]..start as usize].trim().is_empty();
        alone && words.strip_prefix("//").is_some_and(|rest| is_expectation(rest.trim_start()))
    };
    let comments = lexed.comments.iter().filter(|comment| is_caret(comment.start, comment.end));
    comments.map(|comment| lines.of_offset(comment.start)).collect()
}

/// Whether it is carets with a type or a message behind them, as tests have them.
fn is_expectation(words: &str) -> bool {
    let about = words.trim_start_matches('^');
    let about = if about.len() < words.len() { about.trim_start() } else { "" };
    let starts = ["error[", "warning[", "fn ", "ref(", "int", "uint", "float", "bfloat", "bool", "("];
    starts.iter().any(|start| about.starts_with(start)) || about.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The tokens but for commas, which formatting adds and drops.
fn words(lexed: &Lexed) -> Vec<Token> {
    lexed.tokens.iter().filter(|token| token.tok != Tok::Comma).copied().collect()
}

fn index_of(words: &[Token], token: Token) -> Option<usize> {
    words.binary_search_by_key(&token.start, |word| word.start).ok()
}

/// The line, the column and the length of what stands from one token to another, if carets can stand below it.
fn target(text: &str, lines: &Lines, lexed: &Lexed, first: Token, last: Token) -> Option<(usize, usize, usize)> {
    let line = lines.of_offset(first.start);
    let end = lines.starts.get(line + 1).copied().unwrap_or(text.len()) as u32;
    let on_one_line = last.end < end;
    // Nothing can be put after a line that ends inside a comment or a string.
    let inside = |start: u32, stop: u32| start < end && stop >= end;
    let token = lexed.tokens.partition_point(|token| token.end < end);
    let comment = lexed.comments.partition_point(|comment| comment.end < end);
    let cut = lexed.tokens.get(token).is_some_and(|token| inside(token.start, token.end))
        || lexed.comments.get(comment).is_some_and(|comment| inside(comment.start, comment.end));
    let column = first.start as usize - lines.starts[line];
    let is_ascii = text[lines.starts[line]..last.end as usize].is_ascii();
    (on_one_line && !cut && column >= 2 && is_ascii).then_some((line, column, (last.end - first.start) as usize))
}

/// Where the lines of a text start.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Lines {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1));
        Lines { starts }
    }

    fn of_offset(&self, at: u32) -> usize {
        self.starts.partition_point(|&start| start <= at as usize) - 1
    }
}

#[cfg(test)]
mod tests {
    use crate::base::FileId;

    #[test]
    fn carets_follow_what_they_are_under() {
        let text = "fn (%x: int32) { %x + 1 }\n               //^^^^^^ int32\n";
        let once = crate::fmt::format(FileId(0), text).expect("it is right");
        assert_eq!(once, "fn (%x: int32) {\n  %x + 1\n//^^^^^^ int32\n}\n");
        assert_eq!(crate::fmt::format(FileId(0), &once), Ok(once));
    }

    #[test]
    fn carets_that_fit_no_tokens_stay() {
        let text = "fn (%x: int32) {\n  %x + 1\n //^^^^ int32\n}\n";
        assert!(crate::fmt::format(FileId(0), text).is_ok_and(|once| once.contains("^^^^ int32")));
    }
}
