//! Writes the tokens of the source one after another, with the comments between them, as the nodes' steps say.
//!
//! No token can be lost, doubled or moved. A step that expects another token than the next one stops the writing, and formatting
//! reports a bug. The gaps between tokens are laid out here by the rules of `comments.rs`.

use super::comments::{Before, Comment, breaks_before, n_trailing, shift};
use super::doc::{Doc, Item, Line};
use super::nodes;
use super::ops::{Comma, Op, Ops};
use crate::ast::Ast;
use crate::token::{Tok, Token};
use relayc_base::Span;

/// A step found an unexpected token, at this byte of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lost(pub u32);

pub(crate) fn write(ast: &Ast, tokens: &[Token], comments: &[Span], max_width: u32) -> Result<String, Lost> {
    let source: &str = &ast.source;
    let writer = Writer {
        source,
        tokens,
        comments,
        doc: Doc::new(source, max_width),
        before: Before::Start,
        space: false,
        code_end: 0,
        gap: vec![],
        hung: vec![],
    };
    writer.run(ast)
}

struct Writer<'s> {
    source: &'s str,
    /// The tokens and comments not yet written.
    tokens: &'s [Token],
    comments: &'s [Span],
    doc: Doc<'s>,
    before: Before,
    /// Whether a blank comes before the next text on this line.
    space: bool,
    /// The end of the last token written.
    code_end: u32,
    /// The comments of the current gap; kept to save allocations.
    gap: Vec<Comment>,
    /// Whether each `Hang` began a line.
    hung: Vec<bool>,
}

impl<'s> Writer<'s> {
    fn run(mut self, ast: &Ast) -> Result<String, Lost> {
        let mut ops = Ops::default();
        nodes::file(ast, &mut ops);
        let mut stack: Vec<Op> = vec![];
        loop {
            stack.extend(ops.0.drain(..).rev());
            let Some(op) = stack.pop() else { break };
            match op {
                Op::Expr(id) => nodes::expr(ast, id, &mut ops),
                Op::Size(id) => nodes::size(ast, id, &mut ops),
                Op::Operand(id) => nodes::operand(ast, id, &mut ops),
                Op::Stmt(id) => nodes::stmt(ast, id, &mut ops),
                Op::Func(id) => nodes::func(ast, id, &mut ops),
                Op::Type(id) => nodes::ty(ast, id, &mut ops),
                Op::Pat(id) => nodes::pat(ast, id, &mut ops),
                Op::Value(id) => nodes::value(ast, id, &mut ops),
                op => self.step(op)?,
            }
        }
        if let Some(token) = self.tokens.first() {
            return Err(Lost(token.start));
        }
        self.line_gap(Line { hard: true, ..Line::default() }, false);
        Ok(self.doc.finish())
    }

    fn step(&mut self, op: Op) -> Result<(), Lost> {
        match op {
            Op::Tok(tok) => self.token(tok)?,
            Op::Leaf(span) => self.leaf(span)?,
            Op::Arrow if self.next() == Some(Tok::Minus) => self.two_token_arrow()?,
            Op::Arrow => self.token(Tok::Arrow)?,
            Op::Space => self.space = true,
            Op::Line(line) => self.line_gap(line, false),
            Op::Between => self.line_gap(Line { hard: true, ..Line::default() }, true),
            Op::Opening(tok) => self.opening(tok, false)?,
            Op::OpeningLast(tok) => self.opening(tok, true)?,
            Op::Closing { tok, comma, hard } => self.closing(tok, comma, hard)?,
            Op::IfEmpty { open, close } if self.next() == Some(open) => {
                // Braces stand apart from what they belong to, brackets do not.
                self.space = open == Tok::LBrace;
                self.step(Op::Opening(open))?;
                self.step(Op::Closing { tok: close, comma: Comma::Never, hard: false })?;
            }
            Op::IfEmpty { .. } => {}
            Op::IdleDot if self.next() == Some(Tok::Dot) => self.token(Tok::Dot)?,
            Op::IdleDot => {}
            Op::Hang => self.hang(),
            Op::Unhang if self.hung.pop() == Some(true) => self.doc.push(Item::Dedent),
            Op::Unhang => {}
            Op::Comma => self.comma(),
            Op::Semi => self.semi()?,
            Op::Open => self.open(false),
            Op::Close => self.doc.push(Item::Close),
            Op::Indent => self.doc.push(Item::Indent),
            Op::Dedent => self.doc.push(Item::Dedent),
            Op::Expr(_) | Op::Size(_) | Op::Operand(_) | Op::Stmt(_) | Op::Func(_) | Op::Type(_) | Op::Pat(_) | Op::Value(_) => {}
        }
        Ok(())
    }

    // ---- Tokens ----

    fn next(&self) -> Option<Tok> {
        self.tokens.first().map(|token| token.tok)
    }

    /// The start of the next token; the end of the text after the last one.
    fn next_start(&self) -> u32 {
        self.tokens.first().map_or(self.source.len() as u32, |token| token.start)
    }

    /// Takes the next token from the list, if it is this.
    fn take(&mut self, tok: Tok) -> Result<Token, Lost> {
        match self.tokens.split_first() {
            Some((&first, rest)) if first.tok == tok => {
                self.tokens = rest;
                Ok(first)
            }
            _ => Err(Lost(self.next_start())),
        }
    }

    fn token(&mut self, tok: Tok) -> Result<(), Lost> {
        self.tight_gap();
        let Token { tok, start, end } = self.take(tok)?;
        if tok == Tok::Metadata {
            self.section(start, end);
        } else {
            self.text(Item::Token { start, end });
        }
        self.written(tok, end);
        Ok(())
    }

    /// Writes a section that runs to the end of the text unchanged, but for carriage returns and trailing blanks.
    fn section(&mut self, start: u32, end: u32) {
        let text = self.source.get(start as usize..end as usize).unwrap_or("").trim_end();
        let mut at = start;
        for (i, line) in text.split('\n').enumerate() {
            if i > 0 {
                self.end_line(Line { hard: true, ..Line::default() });
            }
            let end = at + line.strip_suffix('\r').unwrap_or(line).len() as u32;
            self.text(Item::Token { start: at, end });
            at += line.len() as u32 + 1;
        }
    }

    fn leaf(&mut self, span: Span) -> Result<(), Lost> {
        while let Some(&Token { tok, start, end: _ }) = self.tokens.first()
            && start < span.end
        {
            self.token(tok)?;
        }
        Ok(())
    }

    /// `- >`, written as `->`.
    fn two_token_arrow(&mut self) -> Result<(), Lost> {
        self.tight_gap();
        self.take(Tok::Minus)?;
        let Token { tok, start: _, end } = self.take(Tok::Gt)?;
        self.text(Item::Str("->"));
        self.written(tok, end);
        Ok(())
    }

    fn comma(&mut self) {
        let written = self.take(Tok::Comma);
        self.text(Item::Str(","));
        self.before = Before::Separator;
        self.code_end = written.map_or(self.code_end, |token| token.end);
    }

    fn semi(&mut self) -> Result<(), Lost> {
        let Token { tok, start, end } = self.take(Tok::Semi)?;
        self.text(Item::Token { start, end });
        self.written(tok, end);
        Ok(())
    }

    fn text(&mut self, item: Item) {
        if std::mem::take(&mut self.space) {
            self.doc.push(Item::Str(" "));
        }
        self.doc.push(item);
    }

    /// Records the last token written, and adds the comments that belong to it.
    fn written(&mut self, tok: Tok, end: u32) {
        self.before = Before::of(tok);
        self.code_end = end;
        if self.before == Before::Other {
            self.block_comments_behind();
        }
    }

    fn closing(&mut self, tok: Tok, comma: Comma, hard: bool) -> Result<(), Lost> {
        if self.next() == Some(Tok::Comma) && comma != Comma::Never {
            self.code_end = self.take(Tok::Comma)?.end;
            self.block_comments_behind();
        }
        match comma {
            Comma::Never => {}
            Comma::IfBroken => self.doc.push(Item::IfBroken(",")),
            Comma::Always => self.text(Item::Str(",")),
        }
        self.closing_gap(hard);
        let Token { tok, start, end } = self.take(tok)?;
        self.text(Item::Token { start, end });
        // The lines of braces need no group to end. The comments behind it are none of the group's.
        if !hard {
            self.doc.push(Item::Close);
        }
        self.written(tok, end);
        Ok(())
    }

    /// Begins a group. The comments before its first token are outside of it.
    fn open(&mut self, last: bool) {
        self.tight_gap();
        self.doc.push(Item::Open { last });
    }

    fn opening(&mut self, tok: Tok, last: bool) -> Result<(), Lost> {
        self.open(last);
        self.token(tok)?;
        self.doc.push(Item::Indent);
        Ok(())
    }

    // ---- Gaps ----

    /// Takes the comments before the next token from the list.
    fn take_gap(&mut self) {
        let end = self.next_start();
        self.gap.clear();
        while let Some((&first, rest)) = self.comments.split_first()
            && first.start < end
        {
            self.gap.push(Comment::new(self.source, first.start, first.end));
            self.comments = rest;
        }
    }

    fn comment(&mut self, comment: Comment) {
        let shift = shift(self.source, comment, self.code_end);
        self.text(Item::Comment { start: comment.start, end: comment.end, shift });
    }

    /// The block comments on the line of the last token written.
    fn block_comments_behind(&mut self) {
        let end = self.next_start();
        while let Some((&first, rest)) = self.comments.split_first()
            && first.start < end
        {
            let comment = Comment::new(self.source, first.start, first.end);
            if comment.is_line || comment.breaks_before > 0 {
                break;
            }
            self.comments = rest;
            self.space = true;
            self.comment(comment);
        }
    }

    /// A gap in which no line may end, but for a comment.
    fn tight_gap(&mut self) {
        self.take_gap();
        // A block, or the other branch, begins where its statement does.
        let goes_on = !matches!(self.next(), Some(Tok::LBrace | Tok::Else));
        let end_of_line = Line { hard: true, goes_on, ..Line::default() };
        let space = self.space;
        let mut must_end = false;
        for at in 0..self.gap.len() {
            let comment = self.gap[at];
            if must_end || comment.is_alone() {
                self.end_line(end_of_line);
            } else {
                self.space = true;
            }
            self.comment(comment);
            must_end = comment.is_line || comment.is_alone();
        }
        self.space = space;
        if must_end {
            self.end_line(end_of_line);
        }
    }

    /// The gap before a value: a blank, unless a comment ends the line.
    fn hang(&mut self) {
        let end = self.next_start();
        let in_gap = self.comments.iter().take_while(|comment| comment.start < end);
        let mut in_gap = in_gap.map(|comment| Comment::new(self.source, comment.start, comment.end));
        let hangs = in_gap.any(|comment| comment.is_line || comment.is_alone());
        self.hung.push(hangs);
        if hangs {
            self.doc.push(Item::Indent);
            self.line_gap(Line { hard: true, ..Line::default() }, false);
        } else {
            self.space = true;
        }
    }

    /// A gap in which a line may end. `between` definitions there is an empty line.
    fn line_gap(&mut self, line: Line, between: bool) {
        self.take_gap();
        let n_trailing = self.trailing();
        let mut line = Line { hard: line.hard || n_trailing > 0, ..line };
        let rest = &self.gap[n_trailing..];
        let next_breaks = breaks_before(self.source, self.next_start());
        let has_empty_line = next_breaks > 1 || rest.iter().any(|comment| comment.breaks_before > 1);
        let mut empty_line_due = between && !has_empty_line;
        // What follows stands at the beginning of a line, or where one may begin.
        let mut at_line = true;
        let mut first = true;
        for at in n_trailing..self.gap.len() {
            let comment = self.gap[at];
            let alone = comment.is_line || comment.breaks_after > 0;
            line.hard |= at_line && alone;
            if at_line {
                self.line(line, first, comment.breaks_before > 1 || empty_line_due);
                (first, empty_line_due) = (false, false);
            } else {
                self.space = true;
            }
            self.comment(comment);
            at_line = alone;
            line.hard |= alone;
        }
        if at_line {
            self.line(line, first, next_breaks > 1 || empty_line_due);
        } else {
            self.space = true;
        }
    }

    /// The gap before a closing bracket.
    fn closing_gap(&mut self, hard: bool) {
        self.take_gap();
        // Block comments in empty brackets are what they hold: on one line if they fit.
        let content = self.before == Before::Opening && self.gap.iter().all(|comment| !comment.is_line);
        let n_trailing = if content { 0 } else { self.trailing() };
        let mut line = Line { hard: hard || n_trailing > 0, ..Line::default() };
        for at in n_trailing..self.gap.len() {
            let comment = self.gap[at];
            line.hard |= !content && (comment.is_line || comment.breaks_before > 0);
            if at == n_trailing || !content && (comment.breaks_before > 0 || self.gap[at - 1].is_line) {
                self.line(line, at == n_trailing, comment.breaks_before > 1);
            } else {
                self.space = true;
            }
            self.comment(comment);
        }
        self.doc.push(Item::Dedent);
        self.end_line(line);
    }

    /// Writes the comments that trail the last token written; returns their number.
    fn trailing(&mut self) -> usize {
        let n = n_trailing(&self.gap, self.before);
        for at in 0..n {
            self.space = true;
            self.comment(self.gap[at]);
        }
        n
    }

    /// A place where a line may end. `first` in its gap; an empty line follows only if the line ends in any case.
    fn line(&mut self, line: Line, first: bool, empty_line: bool) {
        let opened = first && self.before == Before::Opening;
        self.end_line(Line { empty_line: empty_line && line.hard && !opened, ..line });
    }

    fn end_line(&mut self, line: Line) {
        self.space = false;
        if !self.doc.is_empty() {
            self.doc.push(Item::Line(line));
        }
    }
}
