//! Finds bindings whose value has not been written, as while one types `let %a =` above other statements.
//!
//! A value may be a chain of bindings, so the grammar takes all that follows for the value, and stops far behind. But the statement
//! that ends such a chain is missing then. So a binding is unfinished if its chain has no end, and starts on a line of its own that
//! is indented no further than the binding. This is asked only of texts that do not parse.

use super::starts::{Indents, STARTS, begins_def, binds, starts_line};
use super::token::{OPERATORS, Tok, Token};

/// A binding without a value.
#[derive(Clone, Copy)]
pub(super) struct Unfinished {
    /// What there is of the value: the tokens from here to before `next`.
    pub(crate) value: usize,
    /// Where the next statement starts.
    pub(crate) next: usize,
}

/// The statements inside a bracket.
#[derive(Default)]
struct Scope<'t> {
    /// Where the current statement starts.
    unit: usize,
    /// Where its value starts, if it is a binding.
    value: Option<usize>,
    /// The first token of the value on a line that is indented no further than the statement.
    next: Option<usize>,
    /// The lines of the statement, once that matters.
    indents: Option<Indents<'t>>,
    /// The bindings around the statement whose values are chains: where these start, and whether that is on such a line.
    chains: Vec<(usize, bool)>,
}

impl<'t> Scope<'t> {
    fn begin_unit(&mut self, at: usize) {
        *self = Scope { unit: at, chains: std::mem::take(&mut self.chains), ..Scope::default() };
    }

    /// Whether a token of the statement begins a line as the next statement would.
    fn is_next(&mut self, tokens: &'t [Token], source: &'t str, at: usize) -> bool {
        starts_line(tokens, at, source) && self.indents.get_or_insert_with(|| Indents::new(tokens, self.unit, source)).begins(at)
    }

    /// Ends the scope, or one of the lists of statements in it.
    fn leave(&mut self, tokens: &[Token], end: usize, found: &mut Vec<Unfinished>) {
        found.extend(self.chains.drain(..).filter(|chain| chain.1).map(|(at, _)| Unfinished { value: at, next: at }));
        if let (Some(value), Some(next)) = (self.value, self.next)
            && ends_open(tokens[next - 1].tok)
        {
            found.push(Unfinished { value, next });
        }
        self.begin_unit(end + 1);
    }
}

/// Whether a value goes on after a token.
fn ends_open(tok: Tok) -> bool {
    OPERATORS.has(tok) || tok == Tok::Assign
}

/// The unfinished bindings, in text order. Brackets match.
pub(super) fn find(tokens: &[Token], source: &str) -> Vec<Unfinished> {
    let mut found = vec![];
    let mut scopes = vec![Scope::default()];
    for (at, token) in tokens.iter().enumerate() {
        let n_open = scopes.len();
        let Some(scope) = scopes.last_mut() else { break };
        if n_open == 1 && begins_def(tokens, at) {
            scope.leave(tokens, at, &mut found);
        }
        if let Some(value) = scope.value
            && scope.next.is_none()
            && STARTS.has(token.tok)
            && scope.is_next(tokens, source, at)
        {
            scope.next = Some(at);
            // No operand is a binding.
            if binds(tokens, at) && ends_open(tokens[at - 1].tok) {
                found.push(Unfinished { value, next: at });
                scope.begin_unit(at);
            }
        }
        match token.tok {
            Tok::LParen | Tok::LBracket | Tok::LBrace => scopes.push(Scope { unit: at + 1, ..Scope::default() }),
            Tok::RParen | Tok::RBracket | Tok::RBrace => {
                scope.leave(tokens, at, &mut found);
                if n_open > 1 {
                    scopes.pop();
                }
            }
            Tok::Comma | Tok::FatArrow => scope.leave(tokens, at, &mut found),
            Tok::Known => scope.begin_unit(at + 1),
            Tok::Semi => {
                if !binds(tokens, scope.unit) {
                    scope.chains.pop();
                }
                scope.begin_unit(at + 1);
            }
            Tok::Assign if scope.value.is_none() && binds(tokens, scope.unit) => {
                if binds(tokens, at + 1) {
                    let is_next = scope.is_next(tokens, source, at + 1);
                    scope.chains.push((at + 1, is_next));
                    scope.begin_unit(at + 1);
                } else {
                    scope.value = Some(at + 1);
                }
            }
            _ => {}
        }
    }
    for mut scope in scopes {
        scope.leave(tokens, tokens.len(), &mut found);
    }
    found.sort_by_key(|unfinished| unfinished.next);
    found
}
