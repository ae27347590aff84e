//! The steps that lay out a node: its function lists them, and `write.rs` carries them out.
//!
//! A node's function does not call those of its parts. It lists steps, parts among them, in source order. They are carried out
//! from an explicit stack, so nesting depth costs memory, not stack.

use super::doc::Line;
use crate::ast::{ExprId, FuncId, PatId, StmtId, TypeId, ValueId};
use crate::token::Tok;
use relayc_base::Span;

/// The comma after the last element of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comma {
    /// None: the grammar takes none.
    Never,
    /// One if the list is broken.
    IfBroken,
    /// Always: without it a list of one would be something else.
    Always,
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// The next token, which must be this one.
    Tok(Tok),
    /// The tokens up to the end of a span: a name, a literal.
    Leaf(Span),
    /// `->`, which may be two tokens.
    Arrow,
    Space,
    Line(Line),
    /// The line break between definitions: at least one empty line.
    Between,
    /// An opening bracket; its content is indented one level.
    Opening(Tok),
    /// The same, but it breaks in preference to the groups before it.
    OpeningLast(Tok),
    /// The end of the last element, and the closing bracket. `hard` if it begins a line.
    Closing {
        tok: Tok,
        comma: Comma,
        hard: bool,
    },
    /// Brackets around nothing, if they are written: the tree does not tell.
    IfEmpty {
        open: Tok,
        close: Tok,
    },
    /// A blank, or an indented line if a comment before the next token ends the line; up to `Unhang`.
    Hang,
    Unhang,
    /// A meaningless dot after the name of a callee, if it is written.
    IdleDot,
    /// The comma between elements, written or not.
    Comma,
    Semi,
    Open,
    Close,
    Indent,
    Dedent,
    Expr(ExprId),
    /// A size, in a dimension or an attribute.
    Size(ExprId),
    /// An operand on the left of an infix operator of the same precedence: no group of its own.
    Operand(ExprId),
    Stmt(StmtId),
    Func(FuncId),
    Type(TypeId),
    Pat(PatId),
    Value(ValueId),
}

/// A line may end here; else there is a blank.
pub(crate) const BLANK: Op = Op::Line(Line { blank: true, hard: false, empty_line: false, goes_on: false });

/// A line may end here; else there is nothing.
pub(crate) const SOFT: Op = Op::Line(Line { blank: false, hard: false, empty_line: false, goes_on: false });

/// A line ends here.
pub(crate) const HARD: Op = Op::Line(Line { blank: false, hard: true, empty_line: false, goes_on: false });

/// The steps of a node, in order.
#[derive(Default)]
pub(crate) struct Ops(pub Vec<Op>);

impl Ops {
    pub(crate) fn add(&mut self, ops: &[Op]) {
        self.0.extend_from_slice(ops);
    }

    pub(crate) fn tok(&mut self, tok: Tok) {
        self.0.push(Op::Tok(tok));
    }

    /// One thing in brackets.
    pub(crate) fn enclosed(&mut self, open: Tok, inside: Op, close: Tok) {
        self.add(&[Op::Opening(open), SOFT, inside, Op::Closing { tok: close, comma: Comma::Never, hard: false }]);
    }

    /// An expression in braces, on lines of its own.
    pub(crate) fn braces(&mut self, inside: Op) {
        self.add(&[Op::Tok(Tok::LBrace), Op::Indent, HARD, inside]);
        self.add(&[Op::Closing { tok: Tok::RBrace, comma: Comma::Never, hard: true }]);
    }
}

/// A list being written: on one line, or one element a line.
pub(crate) struct List<'o> {
    out: &'o mut Ops,
    close: Tok,
    comma: Comma,
    n: usize,
}

impl<'o> List<'o> {
    pub(crate) fn new(out: &'o mut Ops, open: Tok, close: Tok, comma: Comma) -> List<'o> {
        out.add(&[Op::Opening(open)]);
        List { out, close, comma, n: 0 }
    }

    pub(crate) fn parameters(out: &'o mut Ops) -> List<'o> {
        out.add(&[Op::OpeningLast(Tok::LParen)]);
        List { out, close: Tok::RParen, comma: Comma::IfBroken, n: 0 }
    }

    /// The place of the next element.
    pub(crate) fn next(&mut self) -> &mut Ops {
        self.out.add(if self.n == 0 { &[SOFT] } else { &[Op::Comma, BLANK] });
        self.n += 1;
        self.out
    }

    pub(crate) fn all(mut self, elements: impl IntoIterator<Item = Op>) {
        for element in elements {
            self.next().add(&[element]);
        }
        self.end();
    }

    pub(crate) fn end(self) {
        let comma = if self.n == 0 { Comma::Never } else { self.comma };
        self.out.add(&[Op::Closing { tok: self.close, comma, hard: false }]);
    }
}
