//! Tokens: the lexer's patterns, the grammar's terminals, and their words in messages.
//!
//! One enum serves all three, so a token known to one is known to all. [`TERMINALS`] is the table of names; a test compares it
//! with the `extern` block of `grammar/relay.lalrpop`. Absent: tokens that need more than a pattern (numbers, strings, comments,
//! sections), see `lexer.rs`.

use logos::Logos;
use relayc_base::{FileId, Span};

/// A kind of token (language 1).
///
/// A pattern matches only the first bytes of a token that needs more than a regular expression. The same holds if a longer
/// pattern would be retried from every byte of a run that it does not match (`---…`, `meta[meta[…`).
#[derive(Logos, Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[logos(skip r"[ \t\n]+")]
#[logos(skip r"\r\n")]
#[repr(u8)]
pub enum Tok {
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(",")]
    Comma,
    #[token(".")]
    Dot,
    #[token(";")]
    Semi,
    #[token(":")]
    Colon,
    #[token("?")]
    Question,
    #[token("=")]
    Assign,
    #[token("=>")]
    FatArrow,
    #[token("->")]
    Arrow,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("+")]
    Plus,
    /// A minus sign; the lexer takes the whole run of them at once.
    #[token("-")]
    Minus,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("==")]
    EqEq,
    #[token("!=")]
    NotEq,
    /// Reading a reference in text of TVM 0.6, `%r^` (`dialect.rs`); not a token of today's Relay.
    #[token("^")]
    Caret,

    #[token("let")]
    Let,
    #[token("fn")]
    Fn,
    #[token("def")]
    Def,
    #[token("if")]
    If,
    #[token("else")]
    Else,
    #[token("type")]
    Type,
    #[token("match")]
    Match,
    #[token("match?")]
    MatchPartial,
    #[token("extern")]
    Extern,
    #[token("free_var")]
    FreeVar,
    #[token("ref")]
    Ref,
    #[token("ref_read")]
    RefRead,
    #[token("ref_write")]
    RefWrite,
    #[token("True")]
    True,
    #[token("False")]
    False,
    /// Not reserved: also an identifier where no type is expected.
    #[token("Tensor")]
    Tensor,
    #[token("_", priority = 3)]
    Underscore,

    #[regex("[A-Za-z_][A-Za-z0-9_/]*")]
    Ident,
    #[regex("%[A-Za-z_][A-Za-z0-9_/]*")]
    Local,
    #[regex("@[A-Za-z_][A-Za-z0-9_/]*")]
    Global,
    #[regex("%[0-9]+")]
    Graph,
    /// The lexer goes on from the first digit.
    #[regex("[0-9]")]
    Int,
    #[regex("(inf|nan)f(16|32|64)?", priority = 20)]
    Float,
    /// The lexer goes on from the opening quote.
    #[token("\"")]
    Str,
    /// The lexer goes on from the bracket.
    #[token("meta[")]
    Meta,
    /// `#[version = …]`; the lexer goes on from the bracket.
    #[token("#[")]
    Version,
    /// `#[metadata]` and everything after it.
    Metadata,

    /// Never a token: the lexer skips comments.
    #[token("//")]
    LineComment,
    #[token("/*")]
    BlockComment,

    /// Characters that start no token.
    Bad,
    /// Inserted by the parser in place of text that it could not read and has reported.
    Hole,
    /// Put by the parser in place of statements that it knows (`again.rs`).
    Known,
    /// The same in place of definitions.
    KnownDefs,
    /// The first token of the grammar, chosen by the parser: a module follows.
    Module,
    /// The first token of the grammar, chosen by the parser: an expression follows.
    Expr,
}

/// Every terminal of the grammar: its token, its name there, and the words for it in messages.
#[rustfmt::skip]
pub const TERMINALS: &[(Tok, &str, &str)] = &[
    (Tok::LParen, "\"(\"", "`(`"), (Tok::RParen, "\")\"", "`)`"),
    (Tok::LBracket, "\"[\"", "`[`"), (Tok::RBracket, "\"]\"", "`]`"),
    (Tok::LBrace, "\"{\"", "`{`"), (Tok::RBrace, "\"}\"", "`}`"),
    (Tok::Comma, "\",\"", "`,`"), (Tok::Dot, "\".\"", "`.`"), (Tok::Semi, "\";\"", "`;`"), (Tok::Colon, "\":\"", "`:`"),
    (Tok::Question, "\"?\"", "`?`"), (Tok::Assign, "\"=\"", "`=`"), (Tok::FatArrow, "\"=>\"", "`=>`"), (Tok::Arrow, "\"->\"", "`->`"),
    (Tok::Star, "\"*\"", "`*`"), (Tok::Slash, "\"/\"", "`/`"), (Tok::Plus, "\"+\"", "`+`"), (Tok::Minus, "\"-\"", "`-`"),
    (Tok::Lt, "\"<\"", "`<`"), (Tok::Le, "\"<=\"", "`<=`"), (Tok::Gt, "\">\"", "`>`"), (Tok::Ge, "\">=\"", "`>=`"),
    (Tok::EqEq, "\"==\"", "`==`"), (Tok::NotEq, "\"!=\"", "`!=`"),
    (Tok::Let, "\"let\"", "`let`"), (Tok::Fn, "\"fn\"", "`fn`"), (Tok::Def, "\"def\"", "`def`"),
    (Tok::If, "\"if\"", "`if`"), (Tok::Else, "\"else\"", "`else`"), (Tok::Type, "\"type\"", "`type`"),
    (Tok::Match, "\"match\"", "`match`"), (Tok::MatchPartial, "\"match?\"", "`match?`"), (Tok::Extern, "\"extern\"", "`extern`"),
    (Tok::FreeVar, "\"free_var\"", "`free_var`"), (Tok::Ref, "\"ref\"", "`ref`"), (Tok::RefRead, "\"ref_read\"", "`ref_read`"),
    (Tok::RefWrite, "\"ref_write\"", "`ref_write`"), (Tok::True, "\"True\"", "`True`"), (Tok::False, "\"False\"", "`False`"),
    (Tok::Tensor, "\"Tensor\"", "`Tensor`"), (Tok::Underscore, "\"_\"", "`_`"),
    (Tok::Ident, "IDENT", "a name"), (Tok::Local, "LOCAL", "a local variable"), (Tok::Global, "GLOBAL", "a global name"),
    (Tok::Graph, "GRAPH", "a graph variable"), (Tok::Int, "INT", "an integer"), (Tok::Float, "FLOAT", "a number"),
    (Tok::Str, "STR", "a string"), (Tok::Meta, "META", "a meta reference"),
    (Tok::Version, "VERSION", "a version section"), (Tok::Metadata, "METADATA", "a metadata section"),
    (Tok::Caret, "\"^\"", "`^`"), (Tok::Bad, "BAD", "an unknown character"), (Tok::Hole, "HOLE", "a hole"),
    (Tok::Known, "KNOWN", "statements"), (Tok::KnownDefs, "KNOWN_DEFS", "definitions"),
    (Tok::Module, "MODULE", "a module"), (Tok::Expr, "EXPR", "an expression"),
];

/// The words for a kind of token in messages.
pub(crate) fn words(tok: Tok) -> &'static str {
    TERMINALS.iter().find(|(known, ..)| *known == tok).map_or("a comment", |(_, _, words)| words)
}

/// The name of a kind of token in the grammar.
pub fn name(tok: Tok) -> &'static str {
    TERMINALS.iter().find(|(known, ..)| *known == tok).map_or("COMMENT", |(_, name, _)| name.trim_matches('"'))
}

/// The tokens as text, one a line: place in bytes, name, text on one line.
#[cfg(test)]
pub(crate) fn print(tokens: &[Token], source: &str) -> String {
    let line = |token: &Token| {
        let place = format!("{}..{}", token.start, token.end);
        format!("{place:<14} {:<10} {}\n", name(token.tok), token.text(source).escape_debug())
    };
    tokens.iter().map(line).collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub tok: Tok,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub fn span(self, file: FileId) -> Span {
        Span::new(file, self.start as usize, self.end as usize)
    }

    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct TokSet(u64);

impl TokSet {
    pub(crate) const fn of(toks: &[Tok]) -> TokSet {
        let mut bits = 0;
        let mut i = 0;
        while i < toks.len() {
            bits |= 1 << toks[i] as u8;
            i += 1;
        }
        TokSet(bits)
    }

    /// The set of terminals with these names, as the generated parser lists them, without those that no author can write.
    pub(crate) fn from_names(names: &[String]) -> TokSet {
        const UNWRITTEN: TokSet = TokSet::of(&[
            Tok::Caret,
            Tok::Bad,
            Tok::Hole,
            Tok::Known,
            Tok::KnownDefs,
            Tok::Module,
            Tok::Expr,
            Tok::Version,
            Tok::Metadata,
        ]);
        let found = TERMINALS.iter().filter(|(_, name, _)| names.iter().any(|expected| expected == name));
        TokSet(found.fold(0, |bits, (tok, ..)| bits | 1 << *tok as u8)).without(UNWRITTEN)
    }

    pub(crate) fn has(self, tok: Tok) -> bool {
        self.0 & 1 << tok as u8 != 0
    }

    pub(crate) fn has_all(self, other: TokSet) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn without(self, other: TokSet) -> TokSet {
        TokSet(self.0 & !other.0)
    }

    /// Its members in the order of [`TERMINALS`].
    pub(crate) fn iter(self) -> impl Iterator<Item = Tok> {
        TERMINALS.iter().map(|(tok, ..)| *tok).filter(move |&tok| self.has(tok))
    }
}

pub(crate) const OPERATORS: TokSet =
    TokSet::of(&[Tok::Star, Tok::Slash, Tok::Plus, Tok::Minus, Tok::Lt, Tok::Le, Tok::Gt, Tok::Ge, Tok::EqEq, Tok::NotEq]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_print_one_a_line() {
        let source = "f(%x, 2f)";
        let tokens = crate::lexer::lex(FileId(0), source).tokens;
        let shown: Vec<String> =
            print(&tokens, source).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(shown, ["0..1 IDENT f", "1..2 ( (", "2..4 LOCAL %x", "4..5 , ,", "6..8 FLOAT 2f", "8..9 ) )"]);
    }

    #[test]
    fn every_terminal_has_a_name() {
        let grammar = include_str!("../../../grammar/relay.lalrpop");
        let mut n_terminals = 0;
        for line in grammar.lines() {
            for entry in line.split(", ") {
                let Some((name, tok)) = entry.trim().split_once(" => Tok::") else { continue };
                let known = TERMINALS.iter().find(|(_, known, _)| *known == name);
                let (known, ..) = known.unwrap_or_else(|| panic!("terminal {name} has no line in TERMINALS"));
                assert_eq!(format!("{known:?}"), tok.trim_end_matches(','), "terminal {name}");
                n_terminals += 1;
            }
        }
        assert_eq!(n_terminals, TERMINALS.len());
    }
}
