//! Decides where comments go.
//!
//! Comments are not part of the tree. Every node is written token by token in source order (`write.rs`), so a comment needs no
//! node: it stays in the gap between its two tokens. This module decides only how the gap looks. Its comments are, from left to
//! right:
//!
//! 1. **Trailing**: those on the line of the token before, `nn.relu(%x) /* ty=… */;` or `%0 = f(%x); // why`. They stay on its
//!    line, and the line ends after them if it ended there before.
//! 2. **On a line of their own**, alone or with other comments. They stay so, indented like the token after them or, before a
//!    closing bracket, like the content of the brackets.
//! 3. **Leading**: block comments on the line of the token after, `f(/* data */ %x)`. They stay before it.
//!
//! A block comment between two tokens of one line could be either. After an opening bracket, a comma or a semicolon it leads,
//! because the text before is complete; after anything else it trails. Brackets may contain block comments only. None of this
//! depends on anything that formatting changes (such as where a group breaks): otherwise formatting twice would differ from
//! formatting once.
//!
//! Three things move a comment past a token. A comma or semicolon comes directly after the item that it ends, so line comments
//! and comments on their own lines follow it: `%a // why⏎, %b` is `%a, // why⏎%b`. A comma dropped before a closing bracket
//! leaves its comments behind. And `- >` is `->`, its comments behind it.
//!
//! In most gaps a line may end. In the others, as between `let` and its variable, only a comment can end it; the next line is
//! indented one level further.
//!
//! Several empty lines become one, before and between comments and before the token, if the line ends there in any case. None is
//! kept after an opening bracket or before a closing one.
//!
//! The text of comments is not changed, with three exceptions: blanks at the end of lines, line breaks, and the indentation of
//! a block comment whose lines all begin with a star. A caret annotation keeps its distance to the beginning of the line above.

use crate::token::Tok;
use std::borrow::Cow;

/// The kind of the last token written, for the comments after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// No token.
    Start,
    /// An opening bracket.
    Opening,
    /// A comma or a semicolon.
    Separator,
    /// Anything else: a block comment after it belongs to it.
    Other,
}

impl Before {
    pub(crate) fn of(tok: Tok) -> Before {
        match tok {
            Tok::LParen | Tok::LBracket | Tok::LBrace => Before::Opening,
            Tok::Comma | Tok::Semi => Before::Separator,
            _ => Before::Other,
        }
    }
}

/// A comment of a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comment {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) is_line: bool,
    /// Line breaks before it in the gap.
    pub(crate) breaks_before: usize,
    /// Line breaks after it in the gap.
    pub(crate) breaks_after: usize,
}

impl Comment {
    pub(crate) fn new(source: &str, start: u32, end: u32) -> Comment {
        let text = source.get(start as usize..end as usize).unwrap_or("");
        let is_line = is_line_comment(text);
        Comment {
            start,
            end,
            is_line,
            breaks_before: breaks_before(source, start),
            // A line comment at the very end of the text ends its line too.
            breaks_after: breaks_after(source, end).max(usize::from(is_line)),
        }
    }

    /// Whether it is on a line of its own.
    pub(crate) fn is_alone(self) -> bool {
        self.breaks_before > 0 && self.breaks_after > 0
    }
}

/// How many comments of a gap trail the token before it.
pub(crate) fn n_trailing(comments: &[Comment], before: Before) -> usize {
    if before == Before::Start {
        return 0;
    }
    let on_the_line = comments.iter().take_while(|c| c.breaks_before == 0).count();
    // Behind a line comment the line is over, even where a comma was left out.
    let n = comments[..on_the_line].iter().position(|c| c.is_line).map_or(on_the_line, |at| at + 1);
    let all_on_one_line = n == comments.len() && comments.last().is_some_and(|c| c.breaks_after == 0);
    if all_on_one_line { 0 } else { n }
}

pub(crate) fn is_line_comment(text: &str) -> bool {
    text.starts_with("//")
}

/// The line breaks among the blanks before an offset.
pub(crate) fn breaks_before(source: &str, at: u32) -> usize {
    let before = source.as_bytes().get(..at as usize).unwrap_or(&[]);
    before.iter().rev().take_while(|b| is_blank(**b)).filter(|b| **b == b'\n').count()
}

fn breaks_after(source: &str, at: u32) -> usize {
    let after = source.as_bytes().get(at as usize..).unwrap_or(&[]);
    after.iter().take_while(|b| is_blank(**b)).filter(|b| **b == b'\n').count()
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The lines of a comment that begins at a column.
pub(crate) fn reindented(text: &str, column: u32) -> impl Iterator<Item = Cow<'_, str>> {
    let starred = !is_line_comment(text) && text.lines().skip(1).all(|line| line.trim_start().starts_with('*'));
    text.split('\n').enumerate().map(move |(i, line)| {
        let line = line.trim_end();
        if i > 0 && starred {
            Cow::Owned(format!("{:indent$}{}", "", line.trim_start(), indent = column as usize + 1))
        } else {
            Cow::Borrowed(line)
        }
    })
}

/// The distance of a caret annotation to the first character of the line above, which is the line of `code`, an offset before it;
/// `None` for other comments.
pub(crate) fn shift(source: &str, comment: Comment, code: u32) -> Option<i32> {
    /// Longest line that an annotation points at.
    const FAR: usize = 1000;
    let text = source.get(comment.start as usize..comment.end as usize)?;
    if !comment.is_alone() || !text.trim_start_matches('/').trim_start().starts_with('^') {
        return None;
    }
    let line_start = |at: u32| {
        let before = source.as_bytes().get(..at as usize)?;
        let line_break = before.iter().rev().take(FAR).position(|b| *b == b'\n');
        line_break.map(|n| at - n as u32).or((before.len() < FAR).then_some(0))
    };
    let (own, pointed) = (line_start(comment.start)?, line_start(code)?);
    let first = source.as_bytes()[pointed as usize..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    Some((comment.start - own) as i32 - first as i32)
}
