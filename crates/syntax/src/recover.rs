//! Recovers after a syntax error, so that one mistake gives one report and the rest of the text is still read.
//!
//! The tokens are patched and parsed again. A patch is the smallest change that makes the place readable: an inserted `;` or `,`,
//! a deleted token, or a `HOLE` in place of the value, statement, clause, parameter or definition around the mistake. The
//! brackets, which `brackets.rs` has made to match, and the separators between them decide which. So a `;` inside parentheses is
//! never taken for the end of a statement. Where the separator itself is missing, a line that is indented no further begins the next
//! statement. Bindings without a value come first (see `unfinished.rs`).
//!
//! The cost stays linear. The text before the statement with the mistake has been read, and a block stays readable without some
//! of its statements: while errors are being searched for, those statements are skipped. When no more are found, the text is read
//! once more, with all patches and without skipping, to build the tree.

use super::failure::Failure;
use super::starts::{Indents, STARTS, begins_def, binds, starts_line, starts_statement};
use super::token::{OPERATORS, Tok, TokSet, Token};
use super::unfinished::{self, Unfinished};

/// A change of the token list: the tokens `put` replace those from `start` to before `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) put: &'static [Tok],
}

impl Patch {
    fn hole(start: usize, end: usize) -> Patch {
        Patch { start, end, put: &[Tok::Hole] }
    }

    /// Whether it ends a statement or an element.
    fn separates(&self) -> bool {
        matches!(self.put, [.., Tok::Semi | Tok::Comma])
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Definitions: the whole of a module.
    Defs,
    /// Statements.
    Body,
    /// Clauses of a match, each with statements.
    Clauses,
    /// Anything else: a part of a statement or a definition.
    Part,
}

/// A bracket that is open at the place of interest; the first frame is the text itself.
#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: Kind,
    open: usize,
    /// The first token inside.
    first: usize,
    /// Where the current clause starts.
    clause: usize,
    /// Where the current clause's statements start; its `=>` has been seen.
    body: Option<usize>,
    /// Where the current definition, statement or element starts.
    unit: usize,
    /// Where the value of the current binding starts; its `=` has been seen.
    value: Option<usize>,
}

impl Frame {
    fn new(kind: Kind, open: usize, first: usize) -> Frame {
        Frame { kind, open, first, clause: first, body: None, unit: first, value: None }
    }

    fn begin_unit(&mut self, at: usize) {
        self.unit = at;
        self.value = None;
    }
}

const NONE: u32 = u32::MAX;

/// The patches of a text, and where the search for errors stands.
pub(super) struct Recovery<'t> {
    tokens: &'t [Token],
    source: &'t str,
    /// The other bracket of each bracket.
    partner: Vec<u32>,
    frames: Vec<Frame>,
    /// Tokens before this one are reflected in `frames`.
    next: usize,
    patches: Vec<Patch>,
    unfinished: Vec<Unfinished>,
    /// How many units outward the last hole went; grows as long as holes do not help.
    level: usize,
    /// Errors before this token follow from one that was reported.
    quiet_until: usize,
}

impl<'t> Recovery<'t> {
    /// `tokens` have matching brackets. Of bindings without a value, `most` are told from chains.
    pub(crate) fn new(tokens: &'t [Token], source: &'t str, is_module: bool, most: usize) -> Recovery<'t> {
        let kind = if is_module { Kind::Defs } else { Kind::Body };
        let frames = vec![Frame::new(kind, 0, 0)];
        let mut unfinished = unfinished::find(tokens, source);
        unfinished.truncate(most);
        let partner = partners(tokens);
        Recovery { tokens, source, partner, frames, next: 0, patches: vec![], unfinished, level: 0, quiet_until: 0 }
    }

    /// Bindings without a value, which are known from the start.
    pub(crate) fn unfinished(&self) -> &[Unfinished] {
        &self.unfinished
    }

    pub(crate) fn patches(&self) -> Vec<Patch> {
        let ends =
            |unfinished: &Unfinished| Patch { start: unfinished.value, end: unfinished.next, put: &[Tok::Hole, Tok::Semi] };
        let mut patches: Vec<Patch> = self.patches.iter().copied().chain(self.unfinished.iter().map(ends)).collect();
        patches.sort_by_key(|patch| (patch.start, patch.end));
        patches
    }

    /// The last patch's ends.
    pub(crate) fn last_patch(&self) -> Option<(usize, usize)> {
        self.patches.last().map(|patch| (patch.start, patch.end))
    }

    /// The patches, and skips over everything that has been read in full.
    pub(crate) fn patches_and_skips(&self) -> Vec<Patch> {
        let mut skips = vec![];
        let mut skip = |start, end| skips.push(Patch { start, end, put: &[] });
        for frame in &self.frames {
            match frame.kind {
                Kind::Defs | Kind::Body => skip(frame.first, frame.unit),
                Kind::Clauses => {
                    skip(frame.first, frame.clause);
                    skip(frame.body.unwrap_or(frame.unit), frame.unit);
                }
                Kind::Part => {}
            }
        }
        skips.retain(|skip| skip.start < skip.end);
        // A separator that was put in goes with the statement before it.
        let skipped =
            |p: &Patch| skips.iter().any(|s| s.start <= p.start && (p.start < s.end || (p.start == s.end && p.separates())));
        let mut view: Vec<Patch> = self.patches().into_iter().filter(|patch| !skipped(patch)).collect();
        view.extend(skips);
        // An insertion comes before a replacement at the same place.
        view.sort_by_key(|patch| (patch.start, patch.end));
        view
    }

    /// Patches the place of a failure. Returns the tokens around a new mistake, `None` if it follows from an earlier one, and an
    /// error if every patch has been tried.
    pub(crate) fn patch(&mut self, failure: &Failure) -> Result<Option<std::ops::Range<usize>>, ()> {
        self.advance(failure.at);
        let stuck = self.patches.last().is_some_and(|last| failure.at <= last.end);
        self.level = if stuck { self.level + 1 } else { 0 };
        let quiet = stuck || failure.at < self.quiet_until;
        let within = self.unit_of_depth(0).unwrap_or(0..self.tokens.len());
        let patch = match self.level {
            0 => self.smallest(failure),
            level => {
                let unit = self.unit_of_depth(level - 1).ok_or(())?;
                self.ended(Patch::hole(unit.start, unit.end), self.unit_frame(level - 1))
            }
        };
        self.add(patch, stuck);
        Ok((!quiet).then_some(within))
    }

    fn add(&mut self, patch: Patch, replaces: bool) {
        if replaces {
            let ends_before = |old: &Patch| old.end < patch.start || (old.end == patch.start && old.put != [Tok::Hole]);
            self.patches.retain(ends_before);
        }
        self.unfinished.retain(|old| old.next <= patch.start || patch.end <= old.value);
        if patch.separates() {
            self.advance(patch.end);
            if let Some(frame) = self.frames.last_mut() {
                frame.begin_unit(patch.end);
                if patch.put == [Tok::Comma] {
                    (frame.clause, frame.body) = (patch.end, None);
                }
            }
        }
        self.patches.push(patch);
    }

    /// A patch of a unit up to its end, with the `;` that is missing there if the next statement follows.
    fn ended(&self, patch: Patch, frame_idx: Option<usize>) -> Patch {
        let follows = frame_idx.is_some_and(|i| self.begins_next(i, patch.end));
        if follows { Patch { put: &[Tok::Hole, Tok::Semi], ..patch } } else { patch }
    }

    /// Whether the statement after the current one of a frame begins at a token, outside of inner brackets.
    fn begins_next(&self, frame_idx: usize, at: usize) -> bool {
        let frame = self.frames[frame_idx];
        self.may_begin(frame, at) && Indents::new(self.tokens, frame.unit, self.source).begins(at)
    }

    /// Whether a statement begins at a token that stands directly inside a frame, on a line of its own and behind the current one's start.
    fn may_begin(&self, frame: Frame, at: usize) -> bool {
        frame.unit < at && self.starts_statement(frame.kind, at) && starts_line(self.tokens, at, self.source)
    }

    /// Whether a statement begins at a token that stands directly inside a frame.
    fn starts_statement(&self, kind: Kind, at: usize) -> bool {
        match kind {
            Kind::Part | Kind::Defs => false,
            Kind::Clauses => binds(self.tokens, at),
            Kind::Body => starts_statement(self.tokens, at, self.source),
        }
    }

    fn tok(&self, at: usize) -> Option<Tok> {
        self.tokens.get(at).map(|token| token.tok)
    }

    /// Takes the tokens before `to` into account.
    fn advance(&mut self, to: usize) {
        while self.next < to.min(self.tokens.len()) {
            let at = self.next;
            self.next += 1;
            if self.unfinished.binary_search_by_key(&at, |unfinished| unfinished.next).is_ok()
                && let Some(frame) = self.frames.last_mut()
            {
                frame.begin_unit(at);
            }
            let tok = self.tokens[at].tok;
            match tok {
                Tok::LParen | Tok::LBracket => self.frames.push(Frame::new(Kind::Part, at, at + 1)),
                Tok::LBrace => {
                    let kind = self.brace_kind(at);
                    self.frames.push(Frame::new(kind, at, at + 1));
                }
                Tok::RParen | Tok::RBracket | Tok::RBrace => {
                    if self.frames.len() > 1 {
                        self.frames.pop();
                    }
                    if let [Frame { kind: Kind::Defs, unit, .. }] = &mut self.frames[..]
                        && tok == Tok::RBrace
                    {
                        *unit = at + 1;
                    }
                }
                _ => self.advance_flat(at, tok),
            }
        }
    }

    /// Takes a token that is no bracket into account.
    fn advance_flat(&mut self, at: usize, tok: Tok) {
        let Some(frame) = self.frames.last_mut() else { return };
        match (tok, frame.kind) {
            (_, Kind::Defs) if begins_def(self.tokens, at) => frame.unit = at,
            (_, Kind::Defs) => {}
            (Tok::FatArrow, Kind::Body | Kind::Clauses) => {
                frame.kind = Kind::Clauses;
                frame.body = Some(at + 1);
                frame.begin_unit(at + 1);
            }
            (Tok::Comma, Kind::Clauses) => {
                (frame.clause, frame.body) = (at + 1, None);
                frame.begin_unit(at + 1);
            }
            (Tok::Semi | Tok::Known, Kind::Body | Kind::Clauses) | (Tok::Comma, Kind::Part) => frame.begin_unit(at + 1),
            (Tok::Assign, Kind::Body | Kind::Clauses) if frame.value.is_none() => {
                let binds = match self.tokens[frame.unit].tok {
                    Tok::Let => true,
                    Tok::Graph => at == frame.unit + 1,
                    _ => false,
                };
                frame.value = binds.then_some(at + 1);
            }
            _ => {}
        }
    }

    /// The content of a brace that opens here. A brace that contains a `=>` contains clauses.
    fn brace_kind(&self, at: usize) -> Kind {
        let before = |n: usize| at.checked_sub(n).and_then(|i| self.tok(i));
        let parent = self.frames.last().map(|frame| frame.kind);
        let is_match = |tok: Option<Tok>| matches!(tok, Some(Tok::Match | Tok::MatchPartial));
        let scrutinee = match before(1) {
            Some(Tok::RParen) => self.partner_of(at - 1).unwrap_or(0),
            _ => at.saturating_sub(1),
        };
        let matches = scrutinee > 0 && is_match(self.tok(scrutinee - 1));
        let in_type_def = || matches!(self.tok(self.frames[0].unit), Some(Tok::Type | Tok::Extern));
        match parent {
            Some(Kind::Defs) if in_type_def() => Kind::Part,
            _ if matches => Kind::Clauses,
            // `%x {attrs}` in a parameter list.
            Some(Kind::Part) if before(1) == Some(Tok::Local) => Kind::Part,
            _ => Kind::Body,
        }
    }

    /// The index in `frames` of the innermost frame that holds units, going outward `depth` of them.
    fn unit_frame(&self, depth: usize) -> Option<usize> {
        (0..self.frames.len()).rev().filter(|&i| self.frames[i].kind != Kind::Part).nth(depth)
    }

    /// The whole unit around the current place, `depth` units outward.
    fn unit_of_depth(&self, depth: usize) -> Option<std::ops::Range<usize>> {
        let i = self.unit_frame(depth)?;
        let frame = self.frames[i];
        let start = if frame.body.is_none() && frame.kind == Kind::Clauses { frame.clause } else { frame.unit };
        Some(start..self.unit_end(i))
    }

    /// The end of the current unit of a frame: its separator, its closing bracket or the next definition.
    fn unit_end(&self, frame_idx: usize) -> usize {
        // Inside an inner bracket the unit goes on at least to the end of that.
        self.unit_end_from(frame_idx, self.frames.get(frame_idx + 1).map_or(self.next, |inner| inner.open))
    }

    /// The end of the unit of a frame that the token at `from`, outside of inner brackets, belongs to.
    fn unit_end_from(&self, frame_idx: usize, from: usize) -> usize {
        let frame = self.frames[frame_idx];
        let mut indents = None;
        let mut begins = |at| indents.get_or_insert_with(|| Indents::new(self.tokens, frame.unit, self.source)).begins(at);
        let mut at = from;
        while let Some(tok) = self.tok(at) {
            match tok {
                _ if self.may_begin(frame, at) && begins(at) => return at,
                Tok::LParen | Tok::LBracket | Tok::LBrace => {
                    at = self.partner_of(at).unwrap_or(self.tokens.len());
                    // A definition ends with its braces.
                    if frame.kind == Kind::Defs && tok == Tok::LBrace {
                        return (at + 1).min(self.tokens.len());
                    }
                }
                Tok::RParen | Tok::RBracket | Tok::RBrace => return at,
                Tok::Semi | Tok::Known if frame.kind == Kind::Body || frame.body.is_some() => return at,
                Tok::Comma if matches!(frame.kind, Kind::Clauses | Kind::Part) => return at,
                _ if frame.kind == Kind::Defs && at > frame.unit && begins_def(self.tokens, at) => return at,
                _ => {}
            }
            at += 1;
        }
        self.tokens.len()
    }

    fn partner_of(&self, at: usize) -> Option<usize> {
        self.partner.get(at).copied().filter(|&other| other != NONE).map(|other| other as usize)
    }

    /// The smallest patch at a failure.
    fn smallest(&mut self, failure: &Failure) -> Patch {
        let at = failure.at;
        if let Some(patch) = self.separator(failure) {
            return patch;
        }
        let Some(i) = self.unit_frame(0) else { return Patch::hole(0, self.tokens.len()) };
        let frame = self.frames[i];
        let end = self.unit_end(i);
        let start = match frame.kind {
            Kind::Defs => return self.in_def(at, frame, end),
            Kind::Clauses if frame.body.is_none() => frame.clause,
            _ => match frame.value {
                Some(value) => value,
                None => {
                    if let Some(head) = self.let_head(at, frame.unit, end) {
                        return head;
                    }
                    frame.unit
                }
            },
        };
        self.ended(Patch::hole(start, end), Some(i))
    }

    /// A separator that is missing, or one too many.
    fn separator(&mut self, failure: &Failure) -> Option<Patch> {
        let at = failure.at;
        let tok = self.tok(at)?;
        let inner = *self.frames.last()?;
        if failure.expected.has(Tok::Semi) && self.starts_statement(inner.kind, at) {
            return Some(Patch { start: at, end: at, put: &[Tok::Semi] });
        }
        // `for (%i in %xs)` is no list without commas.
        if inner.kind == Kind::Part && self.is_head_of_loop(inner.open) {
            return None;
        }
        let is_list = matches!(inner.kind, Kind::Part | Kind::Clauses);
        let after_local = at.checked_sub(1).and_then(|before| self.tok(before)) == Some(Tok::Local);
        let is_type = matches!(tok, Tok::Ident | Tok::Tensor | Tok::Fn | Tok::Ref);
        let after_key = at.checked_sub(1).and_then(|before| self.tok(before)) == Some(Tok::Ident);
        let patch = if after_key && failure.expected.has(Tok::Assign) && matches!(tok, Tok::Str | Tok::LBracket) {
            Patch { start: at, end: at, put: &[Tok::Assign] }
        } else if tok == Tok::Semi && failure.expected.has(Tok::Comma) && inner.kind == Kind::Part {
            Patch { start: at, end: at + 1, put: &[Tok::Comma] }
        } else if failure.expected.has(Tok::Colon) && inner.kind == Kind::Part && after_local && is_type {
            Patch { start: at, end: at, put: &[Tok::Colon] }
        } else if failure.expected.has(Tok::Comma) && is_list && STARTS.has(tok) {
            Patch { start: at, end: at, put: &[Tok::Comma] }
        } else if self.is_extra(at, failure.expected) {
            Patch { start: at, end: at + 1, put: &[] }
        } else {
            return None;
        };
        // The rest of the list may be wrong for the same reason.
        let after_extra = patch.end.max(self.next);
        let rest = match inner.kind {
            Kind::Part => self.partner_of(inner.open).map(|close| close + 1),
            _ => self.frames.len().checked_sub(1).map(|i| self.unit_end_from(i, after_extra)),
        };
        self.quiet_until = rest.unwrap_or(at);
        Some(patch)
    }

    /// Whether a bracket holds the head of a loop of another language.
    fn is_head_of_loop(&self, open: usize) -> bool {
        let word = open.checked_sub(1).map(|at| self.tokens[at]).filter(|word| word.tok == Tok::Ident);
        word.is_some_and(|word| word.text(self.source) == "for")
    }

    /// Whether the text would go on without the separator at this place.
    fn is_extra(&self, at: usize, expected: TokSet) -> bool {
        let before = at.checked_sub(1).and_then(|i| self.tok(i));
        let opens = matches!(before, Some(Tok::LBrace | Tok::LParen | Tok::LBracket));
        // After an operator an operand is missing rather than a separator too many.
        let after_operator = before.is_some_and(|tok| OPERATORS.has(tok));
        let goes_on = !after_operator
            && self.tok(at + 1).is_some_and(|next| expected.has(next))
            && !starts_line(self.tokens, at + 1, self.source);
        match self.tok(at) {
            Some(Tok::Semi) => opens || before == Some(Tok::Semi) || (goes_on && !binds(self.tokens, at + 1)),
            Some(Tok::Comma) => opens || before == Some(Tok::Comma) || goes_on,
            Some(Tok::Assign | Tok::Colon | Tok::Dot) => goes_on,
            _ => false,
        }
    }

    /// `let %x: <mistake> = v;`: the type alone becomes a hole, so that the name stays known; of `let %x` without a value, what is
    /// missing.
    fn let_head(&self, at: usize, unit: usize, end: usize) -> Option<Patch> {
        let names = self.tok(unit) == Some(Tok::Let) && self.tok(unit + 1) == Some(Tok::Local) && unit + 2 <= at;
        if !names {
            return None;
        }
        let has_type = self.tok(unit + 2) == Some(Tok::Colon);
        match self.find_flat(unit + 2, end, |tok| tok == Tok::Assign) {
            Some(assign) if has_type && unit + 3 <= at && at <= assign => Some(Patch::hole(unit + 3, assign)),
            None if at == end => Some(Patch { start: unit + 2, end, put: &[Tok::Assign, Tok::Hole, Tok::Semi] }),
            _ => None,
        }
    }

    /// The first token from `from` to before `end`, outside of inner brackets, that `wanted` holds of.
    fn find_flat(&self, from: usize, end: usize, wanted: impl Fn(Tok) -> bool) -> Option<usize> {
        let mut at = from;
        while at < end {
            let tok = self.tok(at)?;
            if wanted(tok) {
                return Some(at);
            }
            at = self.partner_of(at).filter(|&other| other > at).unwrap_or(at) + 1;
        }
        None
    }

    /// A mistake in the head of a definition, or between definitions.
    fn in_def(&self, at: usize, frame: Frame, end: usize) -> Patch {
        let def = frame.unit;
        let whole = Patch::hole(def, end.max(at));
        if self.tok(def) != Some(Tok::Def) {
            return whole;
        }
        let Some(params) = self.find_flat(def + 1, end, |tok| tok == Tok::LParen) else { return whole };
        let params_end = self.partner_of(params).unwrap_or(end);
        if at <= params && at == def + 1 {
            let name_end = self.find_flat(at, params, |tok| tok == Tok::LBracket).unwrap_or(params);
            return Patch::hole(at, name_end);
        }
        if params < at && at <= params_end {
            return self.in_params(at, params_end);
        }
        let body = self.find_flat(params_end + 1, end, |tok| tok == Tok::LBrace);
        match body {
            Some(body) if params_end < at && at <= body => {
                let arrow = |i: usize| {
                    self.tok(i) == Some(Tok::Arrow) || (self.tok(i - 1), self.tok(i)) == (Some(Tok::Minus), Some(Tok::Gt))
                };
                match (params_end + 1..at).find(|&i| arrow(i)) {
                    Some(arrow) => Patch::hole(arrow + 1, body),
                    None => Patch { start: params_end + 1, end: body, put: &[] },
                }
            }
            _ => whole,
        }
    }

    /// A mistake in the parameters of a definition: the text after a readable `%x:` becomes a type hole, else the parameter
    /// a parameter hole.
    fn in_params(&self, at: usize, params_end: usize) -> Patch {
        let start = if self.frames.len() > 1 { self.frames[1].unit } else { at };
        let end = if self.frames.len() > 1 { self.unit_end(1) } else { at }.min(params_end);
        match (self.tok(start), self.tok(start + 1)) {
            (Some(Tok::Local), Some(Tok::Colon)) if start + 2 <= at => Patch::hole(start + 2, end),
            (Some(Tok::Local), _) if start < at => Patch { start: start + 1, end, put: &[Tok::Colon, Tok::Hole] },
            _ => Patch::hole(start, end),
        }
    }
}

/// For each bracket the index of the other one.
fn partners(tokens: &[Token]) -> Vec<u32> {
    let mut partner = vec![NONE; tokens.len()];
    let mut open = vec![];
    for (at, token) in tokens.iter().enumerate() {
        match token.tok {
            Tok::LParen | Tok::LBracket | Tok::LBrace => open.push(at),
            Tok::RParen | Tok::RBracket | Tok::RBrace => {
                if let Some(opened) = open.pop() {
                    partner[opened] = at as u32;
                    partner[at] = opened as u32;
                }
            }
            _ => {}
        }
    }
    partner
}

/// The tokens as the grammar gets them: patched, each with its index in the unpatched list.
pub(super) struct Patched<'t> {
    tokens: &'t [Token],
    patches: std::slice::Iter<'t, Patch>,
    patch: Option<Patch>,
    /// How many of its tokens have been put.
    n_put: usize,
    next: usize,
}

impl<'t> Patched<'t> {
    /// `patches` are in order and do not overlap.
    pub(crate) fn new(tokens: &'t [Token], patches: &'t [Patch]) -> Patched<'t> {
        let mut patches = patches.iter();
        let patch = patches.next().copied();
        Patched { tokens, patches, patch, n_put: 0, next: 0 }
    }

    /// The token that stands for what a patch replaces, or follows it.
    fn stand_in(&self, patch: Patch, n_put: usize) -> Token {
        let before = |at: usize| at.checked_sub(1).map_or(0, |i| self.tokens[i].end);
        let end = before(patch.end);
        let start = match self.tokens.get(patch.start..patch.end) {
            Some([first, ..]) if n_put == 0 => first.start,
            _ => end,
        };
        Token { tok: patch.put[n_put], start, end }
    }
}

impl Iterator for Patched<'_> {
    type Item = (usize, Token);

    fn next(&mut self) -> Option<(usize, Token)> {
        while let Some(patch) = self.patch.filter(|patch| patch.start <= self.next) {
            if self.n_put < patch.put.len() {
                self.n_put += 1;
                return Some((patch.start, self.stand_in(patch, self.n_put - 1)));
            }
            self.next = self.next.max(patch.end);
            (self.patch, self.n_put) = (self.patches.next().copied(), 0);
        }
        let at = self.next;
        self.next += 1;
        self.tokens.get(at).map(|token| (at, *token))
    }
}
