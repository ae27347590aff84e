//! Calls as older TVMs printed them: operators, operands and attributes that have changed since 0.6 (language 9).
//!
//! `rules.rs` is the list. A rule recognises a call by its operator, its operands and its attributes, and says how to write it
//! today. The result is a few edits around what stays. The formatter, the diagnostics and the reading of old text use the same ones.
//!
//! Some old calls are right today and mean something else. They are old only in a text that is certainly as old: its header, its
//! syntax or another call tells. Absent: types, and calls whose operator stands in a variable.

mod metadata;
mod rule;
mod rules;

use crate::ast::{Ast, ExprId, ExprKind, List};
use crate::literal;
use crate::version::TODAY;
use metadata::Metadata;
use relayc_base::Span;
use relayc_base::diag::Edit;
use rule::{Kind, Rule, Then, When};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A call that is not written so any more.
#[derive(Debug)]
pub struct OldCall {
    /// The name of the operator.
    pub callee: Span,
    /// The operator that does it today.
    pub operator: &'static str,
    /// The keys of attributes that the form does not know, so that today's operator has to.
    pub others: Vec<Span>,
    /// The last version that printed such calls: 7 for 0.7.
    pub until: u8,
    /// An example.
    pub old: &'static str,
    /// The example today; empty if no call does the same.
    pub today: &'static str,
    /// What to do if no call does the same.
    pub advice: Option<&'static str>,
    /// What makes this call one of today's; empty if nothing does.
    pub edits: Vec<Edit>,
    /// Whether the edits turn one call into another only together with the rest of the text.
    pub only_whole_text: bool,
    /// Whether it lacks attributes that have to be given today, and nothing else.
    pub only_lacks: bool,
}

/// An entry of the list, for the book.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    pub until: u8,
    pub old: &'static str,
    pub today: &'static str,
    pub advice: Option<&'static str>,
    /// Whether the call is right today, with another meaning.
    pub is_ambiguous: bool,
}

/// Every form that has changed, by operator.
pub fn list() -> impl Iterator<Item = Listed> {
    let listed = |rule: &Rule| Listed {
        until: rule.until,
        old: rule.old,
        today: rule.today,
        advice: rule.gone(),
        is_ambiguous: rule.is_ambiguous(),
    };
    rules::RULES.iter().map(listed)
}

/// Whether an older TVM had an operator of this name, and all its calls are old.
pub fn is_gone(name: &str) -> bool {
    rules::RULES.iter().any(|rule| rule.operator == name && rule.when.is_empty())
}

/// The old calls of a text.
pub struct OldCalls<'a> {
    ast: &'a Ast,
    /// The last version that may have printed the text.
    age: u8,
    metadata: OnceCell<Option<Metadata>>,
}

/// An attribute as written, or an entry of the metadata section.
struct Attr<'a> {
    name: Cow<'a, str>,
    value: Cow<'a, str>,
    /// The places of all of it, of its key, of its value.
    at: Option<(Span, Span, Span)>,
}

struct Call<'a> {
    operands: Vec<Span>,
    attrs: Vec<Attr<'a>>,
    /// The reference that stands for all attributes, and its type key.
    meta: Option<(Span, &'a str)>,
    /// Whether the entry of that reference was found.
    has_entry: bool,
    callee: Span,
    span: Span,
}

impl<'a> OldCalls<'a> {
    pub fn new(ast: &'a Ast) -> OldCalls<'a> {
        OldCalls::of_age(ast, ast.age)
    }

    /// The old calls of a text that TVM 0.`age` or one before it printed.
    pub(crate) fn of_age(ast: &'a Ast, age: u8) -> OldCalls<'a> {
        OldCalls { ast, age, metadata: OnceCell::new() }
    }

    /// Whether the text is certainly old, so that calls may be which look right.
    pub fn is_old_text(&self) -> bool {
        self.age < TODAY
    }

    /// A call, if it is old.
    pub fn of(&self, call: ExprId) -> Option<OldCall> {
        let ExprKind::Call { callee, .. } = self.ast.exprs[call].kind else { return None };
        let ExprKind::Name = self.ast.exprs[callee].kind else { return None };
        let name = self.ast.text(self.ast.exprs[callee].span);
        let mut rules = rules::RULES.iter().filter(|rule| rule.operator == name).peekable();
        rules.peek()?;
        let call = self.call(call)?;
        let rule = rules.find(|rule| rule.when.iter().all(|when| self.holds(when, rule, &call)))?;
        Some(OldCall {
            callee: call.callee,
            operator: rule.operator_today(),
            others: call.attrs.iter().filter(|attr| !rule.knows(&attr.name)).filter_map(|attr| Some(attr.at?.1)).collect(),
            until: rule.until,
            old: rule.old,
            today: rule.today,
            advice: rule.gone(),
            edits: edits(self.ast, rule, &call).unwrap_or_default(),
            only_whole_text: rule.is_swap(),
            only_lacks: rule.only_adds() && !rule.is_ambiguous(),
        })
    }

    /// All old calls, in the order of the tree. One of them may show that the text is older than it seemed.
    pub fn all(&mut self) -> Vec<OldCall> {
        loop {
            let old: Vec<OldCall> = self.ast.exprs.iter_ids().filter_map(|(call, _)| self.of(call)).collect();
            let rewritten = old.iter().filter(|call| !call.edits.is_empty());
            let age = rewritten.map(|call| call.until).min().unwrap_or(TODAY);
            if age >= self.age {
                return old;
            }
            self.age = age;
        }
    }

    fn call(&self, call: ExprId) -> Option<Call<'a>> {
        let ast = self.ast;
        let ExprKind::Call { callee, args, attrs } = ast.exprs[call].kind else { return None };
        let (operands, meta) = self.operands(args);
        let written = ast.items(attrs).iter().map(|attr| {
            let value = ast.values[attr.value].span;
            let [name, text] = [attr.key, value].map(|span| without_comments(ast.text(span)));
            Attr { name, value: text, at: Some((attr.span, attr.key, value)) }
        });
        let mut attrs: Vec<Attr> = written.collect();
        let entry = meta.and_then(|(span, _)| self.entry(span));
        let has_entry = entry.is_some();
        let stored = entry.into_iter().flatten();
        attrs.extend(stored.map(|(name, value)| Attr { name: name.into(), value: value.into(), at: None }));
        let (callee, span) = (ast.exprs[callee].span, ast.exprs[call].span);
        Some(Call { operands, attrs, meta, has_entry, callee, span })
    }

    /// The operands, and the metadata reference behind them that stands for all attributes.
    fn operands(&self, args: List<ExprId>) -> (Vec<Span>, Option<(Span, &'a str)>) {
        let ast = self.ast;
        let mut operands: Vec<Span> = ast.items(args).iter().map(|&arg| ast.exprs[arg].span).collect();
        let last = ast.items(args).last().filter(|&&last| matches!(ast.exprs[last].kind, ExprKind::Meta));
        let key = last.and_then(|&last| literal::parse_meta(ast.text(ast.exprs[last].span))).map(|(key, _)| key);
        match key {
            Some(key) if key != "relay.Constant" => {
                let span = operands.pop();
                (operands, span.map(|span| (span, key)))
            }
            _ => (operands, None),
        }
    }

    /// The attributes in the metadata section that a reference names.
    fn entry(&self, reference: Span) -> Option<BTreeMap<String, String>> {
        let (key, index) = literal::parse_meta(self.ast.text(reference))?;
        let read = || Metadata::read(self.ast.text(self.ast.metadata?));
        self.metadata.get_or_init(read).as_ref()?.attrs(key, usize::try_from(index).ok()?)
    }

    fn holds(&self, when: &When, rule: &Rule, call: &Call) -> bool {
        let find = |name: &str| call.attrs.iter().find(|attr| attr.name == name);
        match *when {
            When::Operands(n) => call.operands.len() == n,
            When::Has(name) => find(name).is_some(),
            // Nobody knows what an entry that is missing holds.
            When::Lacks(name) => find(name).is_none() && (call.meta.is_none() || call.has_entry),
            When::Is(name, values) => find(name).is_some_and(|attr| values.contains(&&*attr.value)),
            When::Meta(key) => call.meta.is_some_and(|(_, found)| found == key),
            When::OtherwiseToday => self.age <= rule.until,
        }
    }
}

/// An operand of today's call.
enum Operand {
    /// One of the old call.
    Kept(usize),
    New(String),
}

/// Today's call while the steps to it are taken.
struct Draft<'a> {
    call: &'a Call<'a>,
    name: Option<&'static str>,
    operands: Vec<Operand>,
    /// Of each old attribute: today's name and value; `None` if it is left out.
    attrs: Vec<Option<(Cow<'a, str>, Cow<'a, str>)>>,
    added: Vec<(String, String)>,
    /// Whether the reference to the metadata section is left out.
    is_written_out: bool,
    projected: Option<usize>,
}

/// The edits that make a call one of today's; `None` if there are none.
fn edits(ast: &Ast, rule: &Rule, call: &Call) -> Option<Vec<Edit>> {
    let is_written_out = call.meta.is_some()
        && (rule.when.iter().any(|when| matches!(when, When::Meta(_)))
            || rule.then.iter().any(|then| matches!(then, Then::Fields(_))));
    if is_written_out && !call.has_entry {
        return None;
    }
    let mut draft = Draft {
        call,
        name: None,
        operands: (0..call.operands.len()).map(Operand::Kept).collect(),
        attrs: call.attrs.iter().map(|attr| Some((attr.name.clone(), attr.value.clone()))).collect(),
        added: vec![],
        is_written_out,
        projected: None,
    };
    for then in rule.then {
        draft.step(ast, then)?;
    }
    draft.edits(ast)
}

impl Draft<'_> {
    /// The place among the attributes of one that is not left out.
    fn find(&self, name: &str) -> Option<usize> {
        self.attrs.iter().position(|attr| attr.as_ref().is_some_and(|(found, _)| found == name))
    }

    /// Takes a step; `None` if it cannot be taken for this call.
    fn step(&mut self, ast: &Ast, then: &Then) -> Option<()> {
        match *then {
            Then::Name(name) => self.name = Some(name),
            Then::Drop(name) => {
                if let Some(at) = self.find(name) {
                    self.attrs[at] = None;
                }
            }
            Then::Rename(old, new) => {
                if let Some((name, _)) = self.find(old).and_then(|at| self.attrs[at].as_mut()) {
                    *name = new.into();
                }
            }
            Then::Value(name, pairs) | Then::Swap(name, pairs) => {
                if let Some((_, value)) = self.find(name).and_then(|at| self.attrs[at].as_mut())
                    && let Some((_, new)) = pairs.iter().find(|(old, _)| **old == **value)
                {
                    *value = (*new).into();
                }
            }
            Then::Set(name, new) => match self.find(name).and_then(|at| self.attrs[at].as_mut()) {
                Some((_, value)) => *value = new.into(),
                None => self.added.push((name.to_owned(), new.to_owned())),
            },
            Then::Operand(at, name, kind, default) => {
                let value = self.find(name).and_then(|at| self.attrs[at].take()).map(|(_, value)| kind.written(&value));
                let value = value.or_else(|| Some(default.to_owned()).filter(|default| !default.is_empty()))?;
                self.insert(at, value)?;
            }
            Then::Insert(at, template) => {
                let text = self.filled_in(ast, template)?;
                self.insert(at, text)?;
            }
            Then::Fields(fields) => self.write_out(fields),
            Then::Projected(field) => self.projected = Some(field),
            Then::Gone(_) => return None,
        }
        Some(())
    }

    fn insert(&mut self, at: usize, text: String) -> Option<()> {
        (at <= self.operands.len()).then(|| self.operands.insert(at, Operand::New(text)))
    }

    /// Writes the attributes of an entry of the metadata section, as far as they are listed.
    fn write_out(&mut self, fields: &[(&str, Kind)]) {
        for (attr, left) in self.call.attrs.iter().zip(&mut self.attrs).filter(|(attr, _)| attr.at.is_none()) {
            let Some((name, value)) = left.take() else { continue };
            if let Some((_, kind)) = fields.iter().find(|(field, _)| *field == attr.name) {
                self.added.push((name.into_owned(), kind.written(&value)));
            }
        }
        // In the order of the list, which is that of the operator's.
        let order = |name: &str| fields.iter().position(|(field, _)| *field == name);
        self.added.sort_by_key(|(name, _)| order(name));
    }

    /// The text of a new operand. `{1}` in it is an operand of the call, which has to be one that may be written twice.
    fn filled_in(&self, ast: &Ast, template: &str) -> Option<String> {
        let mut text = template.to_owned();
        for (i, &operand) in self.call.operands.iter().enumerate() {
            let hole = format!("{{{i}}}");
            if text.contains(&hole) {
                let written = ast.text(operand);
                // Names, projections of them, and numbers.
                let is_atom =
                    written.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'%' | b'@' | b'.' | b'_' | b'-' | b'+'));
                text = is_atom.then(|| text.replace(&hole, written))?;
            }
        }
        Some(text)
    }

    fn edits(self, ast: &Ast) -> Option<Vec<Edit>> {
        let call = self.call;
        let mut edits = Vec::new();
        // What is written behind each place, in order.
        let mut behind: BTreeMap<u32, String> = BTreeMap::new();
        if let Some(name) = self.name {
            edits.push(Edit { span: call.callee, text: name.to_owned() });
        }
        let (mut last, mut first) = (None, String::new());
        for operand in &self.operands {
            match (operand, last) {
                (Operand::Kept(i), _) => last = Some(behind_comments(ast, call.operands[*i].end)),
                (Operand::New(text), Some(end)) => behind.entry(end).or_default().push_str(&format!(", {text}")),
                (Operand::New(text), None) => first.push_str(&format!("{text}, ")),
            }
        }
        let start = call.operands.first()?;
        if !first.is_empty() {
            edits.push(Edit { span: Span { end: start.start, ..*start }, text: first });
        }
        // Everything between the parentheses, in text order, with what is left out of it.
        let mut items: Vec<(Span, bool)> = call.operands.iter().map(|span| (*span, false)).collect();
        items.extend(call.meta.map(|(span, _)| (span, self.is_written_out)));
        for (attr, new) in call.attrs.iter().zip(&self.attrs) {
            let Some((all, key, value)) = attr.at else { continue };
            items.push((all, new.is_none()));
            if let Some((new_name, new_value)) = new {
                let changed = [(key, &attr.name, new_name), (value, &attr.value, new_value)];
                let changed = changed.into_iter().filter(|(_, old, new)| old != new);
                edits.extend(changed.map(|(span, _, new)| Edit { span, text: new.clone().into_owned() }));
            }
        }
        items.sort_by_key(|(span, _)| span.start);
        for pair in items.windows(2).filter(|pair| pair[1].1) {
            edits.extend(left_out(ast, pair[0].0, pair[1].0)?);
        }
        let end = behind_comments(ast, items.last()?.0.end);
        for (name, value) in &self.added {
            behind.entry(end).or_default().push_str(&format!(", {name}={value}"));
        }
        if let Some(field) = self.projected {
            edits.push(Edit { span: Span { end: call.span.start, ..call.span }, text: "(".to_owned() });
            behind.entry(call.span.end).or_default().push_str(&format!(").{field}"));
        }
        edits.extend(behind.into_iter().map(|(at, text)| Edit { span: Span { start: at, end: at, ..call.span }, text }));
        // Comments inside of what is replaced stay behind it.
        for edit in &mut edits {
            let (_, comments) = parted(ast.text(edit.span));
            edit.text.push_str(&comments);
        }
        Some(edits)
    }
}

/// The end of the comments that follow an item in its line: TVM writes its type there.
fn behind_comments(ast: &Ast, end: u32) -> u32 {
    let (mut at, mut rest) = (end, ast.source.get(end as usize..).unwrap_or(""));
    while let Some(comment) = rest.trim_start_matches(' ').strip_prefix("/*") {
        let Some(len) = comment.find("*/").filter(|&len| !comment[..len].contains('\n')) else { break };
        rest = &comment[len + 2..];
        at = (ast.source.len() - rest.len()) as u32;
    }
    at
}

/// A text without its comments, and these, each with what separates it from others.
fn parted(text: &str) -> (String, String) {
    let (mut rest, mut without, mut comments) = (text, String::new(), String::new());
    while let Some(first) = rest.chars().next() {
        let n = match rest {
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            // A string, to its closing quote.
            _ if first == '"' => 1 + rest[1..].find('"').map_or(rest.len() - 1, |end| end + 1),
            _ => first.len_utf8(),
        };
        let (part, behind) = rest.split_at(n);
        match part {
            _ if part.starts_with("/*") => comments.extend([" ", part]),
            _ if part.starts_with("//") => comments.extend([" ", part, "\n"]),
            _ => without.push_str(part),
        }
        rest = behind;
    }
    (without, comments)
}

/// A text of the source, without its comments if it has some.
fn without_comments(text: &str) -> Cow<'_, str> {
    match parted(text) {
        (_, comments) if comments.is_empty() => text.into(),
        (without, _) => without.into(),
    }
}

/// Leaves out an item of a list and the comma before it. Comments in between stay.
fn left_out(ast: &Ast, before: Span, item: Span) -> Option<Vec<Edit>> {
    let gap = Span { start: before.end, end: item.start, ..item };
    let text = ast.text(gap);
    if text.trim() == "," {
        return Some(vec![Edit { span: Span { start: gap.start, ..item }, text: String::new() }]);
    }
    let comma = gap.start + u32::try_from(comma_outside_comments(text)?).ok()?;
    let comma = Span { start: comma, end: comma + 1, ..item };
    Some(vec![Edit { span: comma, text: String::new() }, Edit { span: item, text: String::new() }])
}

fn comma_outside_comments(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        at += match rest {
            _ if rest.starts_with(',') => return Some(at),
            _ if rest.starts_with("//") => rest.find('\n')?,
            _ if rest.starts_with("/*") => rest.find("*/")? + 2,
            _ => rest.chars().next()?.len_utf8(),
        };
    }
}

#[cfg(test)]
mod tests;
