//! What a node is made of: the steps its function writes down, carried out later by `write.rs`.
//!
//! A node's function does not call those of its parts. It lists steps, parts among them, in the order of the source; they
//! are carried out from an explicit stack, so depth of nesting costs memory, not stack.

use super::doc::Line;
use crate::base::Span;
use crate::syntax::ast::{ExprId, FuncId, PatId, StmtId, TypeId, ValueId};
use crate::syntax::token::Tok;

/// What follows the last element of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comma {
    /// The grammar takes none.
    Never,
    /// One if the list is broken.
    IfBroken,
    /// The list of one would be something else without.
    Always,
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// The next token, which is this.
    Tok(Tok),
    /// The tokens up to the end of a place: a name, a literal.
    Leaf(Span),
    /// `->`, which may be two tokens.
    Arrow,
    Space,
    Line(Line),
    /// The line break between definitions: one empty line at least.
    Between,
    /// An opening bracket, and what is inside from here on, one level further in.
    Opening(Tok),
    /// The same, where rather this breaks than what is before it.
    OpeningLast(Tok),
    /// The end of the last element, and the closing bracket. `hard` if it begins a line.
    Closing {
        tok: Tok,
        comma: Comma,
        hard: bool,
    },
    /// Brackets around nothing, where they are written: the tree does not tell.
    IfEmpty {
        open: Tok,
        close: Tok,
    },
    /// A blank, or a line further in where a comment before the next token ends the line; up to `Unhang`.
    Hang,
    Unhang,
    /// A dot behind a name that is called, which means nothing, where it is written.
    IdleDot,
    /// The comma between elements, written or not.
    Comma,
    Semi,
    Open,
    Close,
    Indent,
    Dedent,
    Expr(ExprId),
    /// An operand on the left of an infix operator as tight as it is: no group of its own.
    Operand(ExprId),
    Stmt(StmtId),
    Func(FuncId),
    Type(TypeId),
    Pat(PatId),
    Value(ValueId),
}

/// A line may end here; else there is a blank.
pub const BLANK: Op = Op::Line(Line { blank: true, hard: false, empty_line: false, goes_on: false });

/// A line may end here; else there is nothing.
pub const SOFT: Op = Op::Line(Line { blank: false, hard: false, empty_line: false, goes_on: false });

/// A line ends here.
pub const HARD: Op = Op::Line(Line { blank: false, hard: true, empty_line: false, goes_on: false });

/// The steps of a node, in order.
#[derive(Default)]
pub struct Ops(pub Vec<Op>);

impl Ops {
    pub fn add(&mut self, ops: &[Op]) {
        self.0.extend_from_slice(ops);
    }

    pub fn tok(&mut self, tok: Tok) {
        self.0.push(Op::Tok(tok));
    }

    /// One thing in brackets.
    pub fn enclosed(&mut self, open: Tok, inside: Op, close: Tok) {
        self.add(&[Op::Opening(open), SOFT, inside, Op::Closing { tok: close, comma: Comma::Never, hard: false }]);
    }

    /// An expression in braces, on lines of its own.
    pub fn braces(&mut self, inside: Op) {
        self.add(&[Op::Tok(Tok::LBrace), Op::Indent, HARD, inside]);
        self.add(&[Op::Closing { tok: Tok::RBrace, comma: Comma::Never, hard: true }]);
    }
}

/// A list being written down: on one line, or an element a line.
pub struct List<'o> {
    out: &'o mut Ops,
    close: Tok,
    comma: Comma,
    n: usize,
}

impl<'o> List<'o> {
    pub fn new(out: &'o mut Ops, open: Tok, close: Tok, comma: Comma) -> List<'o> {
        out.add(&[Op::Opening(open)]);
        List { out, close, comma, n: 0 }
    }

    /// The list of parameters.
    pub fn parameters(out: &'o mut Ops) -> List<'o> {
        out.add(&[Op::OpeningLast(Tok::LParen)]);
        List { out, close: Tok::RParen, comma: Comma::IfBroken, n: 0 }
    }

    /// The place of the next element.
    pub fn next(&mut self) -> &mut Ops {
        self.out.add(if self.n == 0 { &[SOFT] } else { &[Op::Comma, BLANK] });
        self.n += 1;
        self.out
    }

    pub fn all(mut self, elements: impl IntoIterator<Item = Op>) {
        for element in elements {
            self.next().add(&[element]);
        }
        self.end();
    }

    pub fn end(self) {
        let comma = if self.n == 0 { Comma::Never } else { self.comma };
        self.out.add(&[Op::Closing { tok: self.close, comma, hard: false }]);
    }
}
