//! What stands at a cursor: the word that is being written, and the construct that it is in.
//!
//! Read from tokens alone, so that it holds in text that is half written. Absent: what names mean.

use relayc_syntax::lexer::Lexed;
use relayc_syntax::token::{Tok, Token};

/// What may be written at a cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Between definitions.
    Top,
    /// A value; `first` at the start of a statement.
    Value { first: bool },
    /// A type.
    Type,
    /// The dtype of a tensor type.
    DType,
    /// The value of the attribute of this name.
    Attr(String),
    /// The pattern of a clause; from where to where the value stands that is matched.
    Pattern(u32, u32),
    /// A name that is bound, a number, a string, a comment: nothing can be proposed.
    Nothing,
}

/// The callee of a call that is being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Callee {
    /// An operator or a constructor.
    Name(String),
    /// A function, without its `@`.
    Global(String),
}

/// The innermost call whose parentheses are open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    /// How many arguments are complete before the cursor.
    pub(crate) index: usize,
    /// The attribute whose value is being written.
    pub(crate) attr: Option<String>,
    /// The attributes that are written already, before the cursor and after it.
    pub(crate) given: Vec<String>,
    /// Where each complete argument before the cursor begins and ends.
    pub(crate) args: Vec<(u32, u32)>,
    /// Whether the cursor is right in its parentheses, not in a tuple or a list that is an argument.
    pub(crate) direct: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cursor {
    /// Where the word begins that ends at the cursor, sigil included.
    pub(crate) word_start: u32,
    /// Where what is written of the word behind the cursor ends; nothing of it is there before a word is begun.
    pub(crate) word_end: u32,
    pub(crate) slot: Slot,
    pub(crate) call: Option<Call>,
    /// Whether the condition of an `if` begins there.
    pub(crate) condition: bool,
}

impl Cursor {
    pub(crate) fn at(text: &str, lexed: &Lexed, offset: u32) -> Cursor {
        let before = &text[..offset as usize];
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '%' | '@');
        let word = &before[before.trim_end_matches(is_word).len()..];
        let word = &word[word.rfind(['%', '@']).unwrap_or(0)..];
        let section = section(before);
        let word = section.unwrap_or(word);
        let word_start = offset - word.len() as u32;
        let inside = |start: u32, end: u32| start < offset && offset <= end;
        let in_comment = lexed.comments.iter().any(|span| inside(span.start, span.end));
        let in_text = lexed.tokens.iter().any(|token| token.tok == Tok::Str && token.start < offset && offset < token.end);
        let n_before = lexed.tokens.partition_point(|token| token.end <= word_start);
        let starts_line = before[..word_start as usize].ends_with('\n');
        let reader = Reader { text, tokens: &lexed.tokens, n: n_before, starts_line };
        let call = reader.call();
        let starts_with_digit = word.starts_with(|c: char| c.is_ascii_digit());
        let word_end = match in_text {
            _ if word.is_empty() || in_comment => offset,
            true => offset + text[offset as usize..].bytes().take_while(u8::is_ascii_alphanumeric).count() as u32,
            false if section.is_some() => offset + section_rest(&text[offset as usize..]),
            false => reader.word_end(word_start, offset),
        };
        let slot = if in_comment || starts_with_digit {
            Slot::Nothing
        } else if in_text {
            // A string may be the value of an attribute, such as a layout.
            call.as_ref().and_then(|call| call.attr.clone()).map_or(Slot::Nothing, Slot::Attr)
        } else {
            reader.slot(call.as_ref())
        };
        Cursor { word_start, word_end, slot, call, condition: reader.is_condition() }
    }
}

/// What is written of the head of a section, such as `#[version`, alone on its line.
fn section(before: &str) -> Option<&str> {
    let line = before[before.rfind('\n').map_or(0, |at| at + 1)..].trim_start();
    let name = line.strip_prefix('#')?;
    let is_head = name.is_empty() || name.strip_prefix('[').is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphabetic()));
    is_head.then_some(line)
}

/// How much of what follows is of a section as well: all up to its bracket, which an editor may have closed.
fn section_rest(behind: &str) -> u32 {
    let line = behind.lines().next().unwrap_or("");
    let is_name = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b" .=\"".contains(&b));
    let closed = line.find(']').filter(|&at| is_name(&line[..at])).map(|at| at + 1);
    closed.unwrap_or_else(|| line.bytes().take_while(u8::is_ascii_alphabetic).count()) as u32
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// How many tokens end before the word.
    n: usize,
    /// Whether the word begins its line, without a blank.
    starts_line: bool,
}

impl Reader<'_> {
    fn tok(&self, index: usize) -> Option<Tok> {
        self.tokens.get(index).map(|token| token.tok)
    }

    /// The innermost bracket open at the cursor, from a place on.
    fn opener(&self, mut end: usize) -> Option<usize> {
        let mut depth = 0usize;
        while end > 0 {
            end -= 1;
            match self.tokens[end].tok {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                Tok::LParen | Tok::LBracket | Tok::LBrace if depth == 0 => return Some(end),
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth -= 1,
                // No bracket stays open over the start of a definition.
                Tok::Def => return None,
                _ => {}
            }
        }
        None
    }

    /// Where the name ends that a cursor is in, its parts behind dots included.
    fn word_end(&self, start: u32, at: u32) -> u32 {
        let mut next = self.tokens.partition_point(|token| token.end <= at);
        let mut end = at;
        if let Some(token) = self.tokens.get(next).filter(|token| start <= token.start && token.start < at) {
            end = token.end;
            next += 1;
        }
        // A dot behind a variable is a projection.
        let has_sigil = self.text[start as usize..].starts_with(['%', '@']);
        let touches = |index: usize, tok: Tok, end: u32| {
            self.tokens.get(index).is_some_and(|token| !has_sigil && token.tok == tok && token.start == end)
        };
        loop {
            let n_dots = usize::from(!self.text[..end as usize].ends_with('.'));
            let is_part = n_dots == 0 || touches(next, Tok::Dot, end);
            if !is_part || !touches(next + n_dots, Tok::Ident, end + n_dots as u32) {
                return end;
            }
            end = self.tokens[next + n_dots].end;
            next += n_dots + 1;
        }
    }

    fn is_condition(&self) -> bool {
        self.n >= 2 && self.tokens[self.n - 1].tok == Tok::LParen && self.tokens[self.n - 2].tok == Tok::If
    }

    fn call(&self) -> Option<Call> {
        let mut end = self.n;
        loop {
            let open = self.opener(end)?;
            match self.tokens[open].tok {
                Tok::LParen => match self.callee(open) {
                    Some(callee) => return Some(Call { direct: end == self.n, ..self.call_at(open, callee) }),
                    // A tuple or a parenthesis inside of a call.
                    None => end = open,
                },
                Tok::LBracket => end = open,
                _ => return None,
            }
        }
    }

    /// The name before an opening parenthesis, dots included.
    fn callee(&self, open: usize) -> Option<Callee> {
        let last = open.checked_sub(1)?;
        let is_binder = |index: usize| {
            index.checked_sub(1).is_some_and(|before| matches!(self.tokens[before].tok, Tok::Def | Tok::Fn | Tok::Type))
        };
        match self.tokens[last].tok {
            Tok::Global if !is_binder(last) => {
                Some(Callee::Global(self.tokens[last].text(self.text).trim_start_matches('@').to_owned()))
            }
            Tok::Ident => {
                let mut first = last;
                while first >= 2 && self.tokens[first - 1].tok == Tok::Dot && self.tokens[first - 2].tok == Tok::Ident {
                    first -= 2;
                }
                let name: String = self.tokens[first..=last].iter().map(|token| token.text(self.text)).collect();
                (!is_binder(first)).then_some(Callee::Name(name))
            }
            _ => None,
        }
    }

    /// What has been written of the call whose parenthesis is at `open`.
    fn call_at(&self, open: usize, callee: Callee) -> Call {
        let mut call = Call { callee, index: 0, attr: None, given: vec![], args: vec![], direct: true };
        let mut depth = 0usize;
        let (mut start, mut current) = (open + 1, open + 1);
        let mut index = open + 1;
        while let Some(token) = self.tokens.get(index) {
            let is_before = index < self.n;
            match token.tok {
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth += 1,
                Tok::RParen | Tok::RBracket | Tok::RBrace if depth == 0 => break,
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth -= 1,
                // Past the cursor the call may be open, and what follows is not part of it.
                Tok::Semi | Tok::Def | Tok::Let if depth == 0 => break,
                Tok::Comma if depth == 0 => {
                    if is_before {
                        if self.tok(start + 1) != Some(Tok::Assign) && start < index {
                            call.args.push((self.tokens[start].start, self.tokens[index - 1].end));
                        }
                        call.index += 1;
                        current = index + 1;
                    }
                    start = index + 1;
                }
                Tok::Assign if depth == 0 && index == start + 1 && self.tok(start) == Some(Tok::Ident) => {
                    let key = self.tokens[start].text(self.text).to_owned();
                    call.given.push(key);
                }
                _ => {}
            }
            index += 1;
        }
        let has_key = self.tok(current) == Some(Tok::Ident) && self.tok(current + 1) == Some(Tok::Assign);
        if has_key && current + 1 < self.n {
            call.attr = Some(self.tokens[current].text(self.text).to_owned());
        }
        call
    }

    fn slot(&self, call: Option<&Call>) -> Slot {
        let Some(last) = self.n.checked_sub(1) else { return Slot::Top };
        let open = self.opener(self.n);
        match self.tokens[last].tok {
            Tok::Let | Tok::FreeVar | Tok::Def | Tok::Type | Tok::Extern => return Slot::Nothing,
            Tok::Colon | Tok::Arrow => return Slot::Type,
            _ => {}
        }
        let Some(open) = open else { return self.outside(last) };
        match self.tokens[open].tok {
            Tok::LBracket => {
                if open > 0 && self.tokens[open - 1].tok == Tok::Tensor {
                    return if self.tokens[last].tok == Tok::Comma { Slot::DType } else { Slot::Nothing };
                }
                match call.and_then(|call| call.attr.clone()) {
                    Some(attr) => Slot::Attr(attr),
                    None => Slot::Type,
                }
            }
            Tok::LParen => {
                let is_shape =
                    open >= 2 && self.tokens[open - 1].tok == Tok::LBracket && self.tokens[open - 2].tok == Tok::Tensor;
                if is_shape || self.binds_params(open) {
                    // What begins a line is a definition rather than one more parameter of a broken one.
                    return if self.starts_line { Slot::Top } else { Slot::Nothing };
                }
                match call.and_then(|call| call.attr.clone()) {
                    Some(attr) => Slot::Attr(attr),
                    None => Slot::Value { first: false },
                }
            }
            _ => self.in_braces(open, last),
        }
    }

    fn outside(&self, last: usize) -> Slot {
        match self.tokens[last].tok {
            Tok::RBrace | Tok::Version | Tok::Semi => Slot::Top,
            // A program may be an expression.
            _ => Slot::Value { first: false },
        }
    }

    /// Whether a parenthesis holds the parameters of a function.
    fn binds_params(&self, open: usize) -> bool {
        let Some(before) = open.checked_sub(1) else { return false };
        let head = match self.tokens[before].tok {
            // Type parameters stand between.
            Tok::RBracket => self.opener(before).and_then(|bracket| bracket.checked_sub(1)),
            _ => Some(before),
        };
        head.is_some_and(|head| {
            let is_def = head > 0 && self.tokens[head - 1].tok == Tok::Def;
            self.tokens[head].tok == Tok::Fn || (self.tokens[head].tok == Tok::Global && is_def)
        })
    }

    fn in_braces(&self, open: usize, last: usize) -> Slot {
        if let Some((start, end)) = self.scrutinee(open) {
            let is_arm = match self.tokens[last].tok {
                Tok::LBrace => last == open,
                Tok::Comma => self.opener(last) == Some(open),
                Tok::RBrace => true,
                _ => false,
            };
            if is_arm {
                return Slot::Pattern(start, end);
            }
            return Slot::Value { first: false };
        }
        if self.is_type(open) {
            return Slot::Type;
        }
        match self.tokens[last].tok {
            Tok::LBrace | Tok::Semi | Tok::RBrace => Slot::Value { first: true },
            _ => Slot::Value { first: false },
        }
    }

    /// The place of the value that is matched, if a brace holds the clauses of a match: `match (…) {`.
    fn scrutinee(&self, open: usize) -> Option<(u32, u32)> {
        let close = open.checked_sub(1).filter(|&close| self.tokens[close].tok == Tok::RParen)?;
        let paren = self.opener(close)?;
        let is_match = matches!(self.tokens[paren.checked_sub(1)?].tok, Tok::Match | Tok::MatchPartial);
        (is_match && paren + 1 < close).then(|| (self.tokens[paren + 1].start, self.tokens[close - 1].end))
    }

    /// Whether a brace holds the constructors of a type: `type Name[A] {`.
    fn is_type(&self, open: usize) -> bool {
        let mut index = open;
        while let Some(before) = index.checked_sub(1) {
            match self.tokens[before].tok {
                Tok::Ident | Tok::Comma | Tok::LBracket | Tok::RBracket => index = before,
                tok => return tok == Tok::Type,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::FileId;
    use relayc_syntax::lexer;

    /// The cursor at `|`.
    fn at(marked: &str) -> Cursor {
        let offset = marked.find('|').expect("a mark");
        let text = marked.replacen('|', "", 1);
        Cursor::at(&text, &lexer::lex(FileId(0), &text), offset as u32)
    }

    fn slot(marked: &str) -> Slot {
        at(marked).slot
    }

    #[test]
    fn slots() {
        assert_eq!(slot("|"), Slot::Top);
        assert_eq!(slot("def @f() { 1 }\nde|"), Slot::Top);
        assert_eq!(slot("def @f(%x: |) { %x }"), Slot::Type);
        assert_eq!(slot("def @f(%x: Tensor[(2, |), float32]) { %x }"), Slot::Nothing);
        assert_eq!(slot("def @f(%x: Tensor[(2, 3), fl|]) { %x }"), Slot::DType);
        assert_eq!(slot("def @f(%x) -> | { %x }"), Slot::Type);
        assert_eq!(slot("def @f(%x, |) { %x }"), Slot::Nothing);
        assert_eq!(slot("def @f(%x) { nn.re| }"), Slot::Value { first: true });
        assert_eq!(slot("def @f(%x) { let | = 1; %x }"), Slot::Nothing);
        assert_eq!(slot("def @f(%x) { let %y = |; %x }"), Slot::Value { first: false });
        assert_eq!(slot("def @f(%x) { %0 = nn.relu(|"), Slot::Value { first: false });
        assert_eq!(slot("def @f(%x) { nn.softmax(%x, axis=|) }"), Slot::Attr("axis".into()));
        assert_eq!(slot("def @f(%x) { nn.conv2d(%x, %w, padding=[1, |"), Slot::Attr("padding".into()));
        assert_eq!(slot("def @f(%x) { nn.conv2d(%x, %w, data_layout=\"N|\""), Slot::Attr("data_layout".into()));
        assert_eq!(slot("def @f(%x) { match (%x) { |"), Slot::Pattern(20, 22));
        assert_eq!(slot("def @f(%x) { match (%x) { Nil => { 1 }, |"), Slot::Pattern(20, 22));
        assert_eq!(slot("def @f(%x) { match (%x) { Nil => |"), Slot::Value { first: false });
        assert_eq!(slot("type L[A] { |"), Slot::Type);
        assert_eq!(slot("def @f() { 1 } // a |"), Slot::Nothing);
        assert_eq!(slot("def @f() { add(1|"), Slot::Nothing);
        assert_eq!(slot("def @f( { 1 }\nde|"), Slot::Top);
    }

    #[test]
    fn calls() {
        let call = |marked| at(marked).call.expect("a call");
        let found = call("def @f(%x) { nn.conv2d(%x, (%w), strides=[1, 1], pad|, groups=2) }");
        assert_eq!(found.callee, Callee::Name("nn.conv2d".into()));
        assert_eq!((found.index, found.attr), (3, None));
        assert_eq!(found.given, ["strides", "groups"]);
        assert_eq!(found.args.len(), 2);
        assert_eq!(call("def @f(%x) { @g(add(%x, 1), |").callee, Callee::Global("g".into()));
        assert_eq!(call("def @f(%x) { @g(add(%x, (|").callee, Callee::Name("add".into()));
        assert!(at("def @f(%x|").call.is_none());
        assert!(at("def @f(%x) { |").call.is_none());
        assert!(at("def @f(%x) { if (|").condition && !at("def @f(%x) { add(|").condition);
        assert!(found.direct && !call("def @f(%x) { concatenate((%x, |").direct);
        let far = call("def @f(%x) { split(%x, indices_or_sections=[1, 2|");
        assert_eq!((far.attr.as_deref(), far.index), (Some("indices_or_sections"), 1));
    }

    #[test]
    fn words_have_their_sigil_and_all_their_parts() {
        let word = |marked: &str| {
            let cursor = at(marked);
            marked.replacen('|', "", 1)[cursor.word_start as usize..cursor.word_end as usize].to_owned()
        };
        assert_eq!([word("f(%ab|"), word("nn.co|"), word("(@m|"), word("a%b|")], ["%ab", "nn.co", "@m", "%b"]);
        assert_eq!([word("f(%a|b.0)"), word("n|n.co(%x)"), word("(nn.|co)"), word("|ab")], ["%ab", "nn.co", "nn.co", ""]);
    }
}
