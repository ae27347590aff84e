//! Completion: what may be written at a place, best first.
//!
//! The place is read from tokens (`cursor.rs`), so that calls that are half written have completions; types and scopes come from
//! the check of the same text. Of the variables in scope those come first that the operator takes there, of the operators those that
//! take the variables (`operators.rs`).

mod operators;

use super::{Cx, name};
use crate::cursor::{Call, Callee, Cursor, Slot};
use crate::words;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionParams, CompletionResponse, CompletionTextEdit, Documentation,
    InsertTextFormat, TextEdit,
};
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_check::resolve::Meaning;
use relayc_driver::analyse;
use relayc_ir::attrs::{Field, Kind, OpTable};
use relayc_ir::print::HEADER;
use relayc_ir::types::{DType, Ty};
use relayc_ops::OpDef;
use relayc_syntax::ast::{ExprKind, PatKind, StmtId, StmtKind};
use relayc_syntax::walk::Node;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is typed besides words that asks for completion.
pub(super) const TRIGGERS: [&str; 5] = ["%", "@", ".", "=", "\""];

/// The most items of an answer. A longer list is not read; what is typed next narrows it.
const MAX_ITEMS: usize = 512;

/// The most variables of an answer before anything is typed, the nearest ones: with them all operators and words have places.
const MAX_VARIABLES: usize = 128;

/// How well an item fits: the smaller the better. Part of the text that editors sort by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Required = 0,
    Fits = 1,
    Near = 2,
    Other = 3,
    Word = 4,
}

struct List<'a> {
    /// What is written of a name before the cursor.
    word: &'a str,
    /// All of the name that the cursor is in, and where it ends.
    written: &'a str,
    end: u32,
    edit: lsp_types::Range,
    /// The sign behind the name that an item brings, too.
    next: Option<char>,
    items: Vec<CompletionItem>,
    /// Whether something was left out that has the letters.
    is_cut: bool,
}

impl List<'_> {
    /// Adds an item whose name has the letters of the word, in their order.
    fn push(&mut self, rank: Rank, label: &str, new_text: String, item: CompletionItem) {
        if !has_letters(label, self.word) {
            return;
        }
        if self.items.len() >= MAX_ITEMS {
            self.is_cut = true;
            return;
        }
        // What stands there already is not written once more.
        let name = self.next.and_then(|next| new_text.split_once(next)).map(|(name, _)| name.trim_end().to_owned());
        let (new_text, insert_text_format) = match name {
            Some(name) => (name, None),
            None => (new_text, item.insert_text_format),
        };
        let order = self.items.len();
        // An editor compares what is typed with this, some from its start: `relu` of `nn.relu`, unless dots are typed.
        let last = label.rsplit(['.', ' ']).next().unwrap_or(label);
        let is_last = !self.word.is_empty() && !self.word.contains('.') && has_letters(last, self.word);
        self.items.push(CompletionItem {
            label: label.to_owned(),
            sort_text: Some(format!("{}{}{order:04}", rank as u8, distance(label, self.word))),
            filter_text: Some(if is_last { last } else { label }.to_owned()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit { range: self.edit, new_text })),
            insert_text_format,
            ..item
        });
    }
}

/// How far a name is from a word whose letters it has: whether it or its last part begins with it, a part of it does, it is in it.
fn distance(name: &str, word: &str) -> u8 {
    let (name, word) = (name.to_ascii_lowercase(), word.to_ascii_lowercase());
    let begins = |separators: &[char]| name.split(separators).any(|part| part.starts_with(&word));
    if name.starts_with(&word) || name.rsplit(['.', ' ']).next().is_some_and(|last| last.starts_with(&word)) {
        0
    } else if begins(&['.', '_', ' ', '%', '@']) {
        1
    } else if name.contains(&word) {
        2
    } else {
        3
    }
}

fn has_letters(name: &str, word: &str) -> bool {
    let mut letters = name.chars();
    word.chars().all(|wanted| letters.any(|letter| letter.eq_ignore_ascii_case(&wanted)))
}

fn kind(kind: CompletionItemKind) -> CompletionItem {
    CompletionItem { kind: Some(kind), ..CompletionItem::default() }
}

pub(super) fn complete(cx: &mut Cx, params: CompletionParams) -> Option<CompletionResponse> {
    let at = cx.offset(params.text_document_position.position);
    let text = cx.checked.text.text.clone();
    let cursor = Cursor::at(&text, &cx.checked.analysis.lexed, at);
    let word = &text[cursor.word_start as usize..at as usize];
    let end = cursor.word_end;
    let edit = cx.range(Span { start: cursor.word_start, end, ..cx.checked.whole() });
    let next = next(&text[end as usize..], &cursor);
    let written = &text[cursor.word_start as usize..end as usize];
    let mut list = List { word, written, end, edit, next, items: vec![], is_cut: false };
    match &cursor.slot {
        Slot::Nothing => {}
        Slot::Top => top(cx, &mut list),
        Slot::Value { first } => values(cx, &mut list, &cursor, at, *first),
        Slot::Type => types(cx, &mut list, at),
        Slot::DType => dtypes(&mut list, Rank::Fits),
        Slot::Attr(name) => attr_values(cx, &mut list, &cursor, name),
        &Slot::Pattern(start, end) => patterns(cx, &mut list, at, Span { start, end, ..cx.checked.whole() }),
    }
    Some(CompletionResponse::List(CompletionList { is_incomplete: list.is_cut, items: list.items }))
}

/// The sign behind a name that goes on what an item begins: a call, an attribute, a type.
fn next(behind: &str, cursor: &Cursor) -> Option<char> {
    let behind = behind.trim_start_matches([' ', '\t']);
    let takes_attrs = cursor.call.as_ref().is_some_and(|call| call.direct && callee_def(call).is_some());
    match (&cursor.slot, behind.chars().next()?) {
        (Slot::Value { .. } | Slot::Pattern(..) | Slot::Type, '(') => Some('('),
        (Slot::Value { .. }, '=') if takes_attrs && !behind.starts_with("==") => Some('='),
        (Slot::Type, '[') => Some('['),
        _ => None,
    }
}

/// A text with places to fill in, `$1`, or without them for clients that have none.
fn snippet(cx: &Cx, item: CompletionItem, with: String, without: &str) -> (String, CompletionItem) {
    if cx.client.snippets {
        return (with, CompletionItem { insert_text_format: Some(InsertTextFormat::SNIPPET), ..item });
    }
    (without.to_owned(), item)
}

/// A text inside of a snippet.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}")
}

fn top(cx: &mut Cx, list: &mut List) {
    let is_line = cx.checked.text.text[list.end as usize..].starts_with(['\n', '\r']);
    let head = if is_line { HEADER.trim_end() } else { HEADER };
    let words: [(&str, &str, &str); 4] = [
        ("def", "def @${1:main}(%${2:x}: Tensor[(${3:1}), ${4:float32}]$5) {\n  $0\n}", "def "),
        ("type", "type ${1:Name} {\n  $0\n}", "type "),
        ("extern", "extern type ${1:Name}", "extern type "),
        ("#[version]", head, head),
    ];
    let text = &cx.checked.text.text;
    let (written, behind) = text.split_at(list.end as usize);
    let written = written.strip_suffix(list.written).unwrap_or(written);
    // Not the one that is being written.
    let has_version = [written, behind].iter().any(|part| part.contains("#[version"));
    // In a file without anything the first definition brings the version.
    let version = if has_version || !text.trim().trim_start_matches(list.word).is_empty() { "" } else { HEADER };
    for (label, with, without) in words {
        if label.starts_with('#') && has_version {
            continue;
        }
        let version = if label.starts_with('#') { "" } else { version };
        let with = format!("{version}{with}");
        let (text, item) = snippet(cx, kind(CompletionItemKind::KEYWORD), with, &format!("{version}{without}"));
        list.push(Rank::Fits, label, text, item);
    }
    if cx.checked.ast().defs.is_empty() {
        operators::push(cx, list, &[], None);
    }
}

fn values(cx: &mut Cx, list: &mut List, cursor: &Cursor, at: u32, first: bool) {
    let def = cursor.call.as_ref().and_then(callee_def);
    if let (Some(call), Some(def)) = (cursor.call.as_ref().filter(|call| call.direct), def) {
        attrs(cx, list, call, def);
        if list.next == Some('=') && !list.word.starts_with(['%', '@']) {
            return;
        }
    }
    let text = cx.checked.text.text.clone();
    let scope = in_scope(cx, &text, at);
    let sigil = list.word.chars().next();
    // Who types letters without `%` rarely means a variable.
    let are_likely = sigil.is_none_or(|sigil| sigil == '%');
    if are_likely {
        variables(cx, list, cursor, &scope, def);
    }
    if sigil == Some('%') {
        return;
    }
    functions(cx, list);
    if sigil == Some('@') {
        return;
    }
    constructors(cx, list, at);
    operators::push(cx, list, &scope, first.then_some(at));
    for (label, with, without) in KEYWORDS {
        if !first && label == "let" {
            continue;
        }
        let (text, item) = snippet(cx, kind(CompletionItemKind::KEYWORD), with.to_owned(), without);
        // A word that is begun is meant before the operators that have its letters.
        let is_begun = !list.word.is_empty() && label.starts_with(list.word) && !label.starts_with("ref");
        list.push(if is_begun { Rank::Near } else { Rank::Word }, label, text, item);
    }
    if !are_likely {
        variables(cx, list, cursor, &scope, def);
    }
}

/// The variables in scope, those that may stand there first.
fn variables(cx: &mut Cx, list: &mut List, cursor: &Cursor, scope: &[Var], def: Option<&'static OpDef>) {
    let call = cursor.call.as_ref().filter(|call| call.direct);
    // Of one type all fit or none.
    let mut known: FxHashMap<Option<Ty>, (bool, Option<String>)> = FxHashMap::default();
    let most = if list.word.is_empty() { MAX_VARIABLES } else { MAX_ITEMS };
    let matching = scope.iter().filter(|var| has_letters(var.name, list.word));
    for (n, &Var { name, meaning, .. }) in matching.enumerate() {
        if n == most {
            list.is_cut = true;
            break;
        }
        let ty = cx.checked.ty(meaning);
        let (fits, detail) = known.entry(ty).or_insert_with(|| {
            let fits = match (call, ty) {
                (_, Some(ty)) if cursor.condition => is_flag(cx, ty),
                (Some(call), Some(ty)) => match def {
                    Some(def) => fits(cx, scope, call, def, ty),
                    None => wanted(cx, call).is_none_or(|wanted| wanted == ty),
                },
                _ => true,
            };
            (fits, ty.filter(|&ty| ty != Ty::ERROR).map(|ty| words::short(cx.checked, ty, 80)))
        });
        let rank = match list.word.chars().next() {
            Some(sigil) if sigil != '%' => Rank::Word,
            _ if *fits => Rank::Fits,
            _ => Rank::Other,
        };
        let item = CompletionItem { detail: detail.clone(), ..kind(CompletionItemKind::VARIABLE) };
        list.push(rank, name, name.to_owned(), item);
    }
}

/// The words that begin a value or a statement.
const KEYWORDS: [(&str, &str, &str); 9] = [
    ("let", "let %${1:x} = ${2:value};\n$0", "let "),
    ("if", "if (${1:condition}) {\n  $2\n} else {\n  $0\n}", "if ("),
    ("fn", "fn (${1:%x}) {\n  $0\n}", "fn ("),
    ("match", "match (${1:value}) {\n  ${2:pattern} => { $0 },\n}", "match ("),
    ("ref", "ref($1)", "ref("),
    ("ref_read", "ref_read($1)", "ref_read("),
    ("ref_write", "ref_write($1, $2)", "ref_write("),
    ("True", "True", "True"),
    ("False", "False", "False"),
];

/// The operator of a name.
pub(super) fn operator(name: &str) -> Option<&'static OpDef> {
    relayc_ops::table().find(name).map(|op| relayc_ops::table().def(op))
}

fn callee_def(call: &Call) -> Option<&'static OpDef> {
    match &call.callee {
        Callee::Name(name) => operator(name),
        Callee::Global(_) => None,
    }
}

/// The attributes of a call that are not given yet, once its operands are.
fn attrs(cx: &Cx, list: &mut List, call: &Call, def: &OpDef) {
    let is_time = call.index >= def.args.len();
    let written = list.written;
    let is_given = |name: &str| name != written && call.given.iter().any(|given| given == name);
    for field in def.written_fields().iter().filter(|field| !is_given(field.name)) {
        let rank = match (field.default.is_none(), is_time) {
            (true, true) => Rank::Required,
            (_, true) => Rank::Near,
            _ => Rank::Other,
        };
        let default = field.default.map_or("required".to_owned(), |default| relayc_ops::literal(&default()));
        let shown = escaped(if field.default.is_some() { default.trim_matches(['"', '[', ']']) } else { "" });
        let place = if shown.is_empty() || shown == "None" { "$1".to_owned() } else { format!("${{1:{shown}}}") };
        let with = match field.kind {
            Kind::Str | Kind::StdStr | Kind::DType => format!("{}=\"{place}\"", field.name),
            Kind::Ints | Kind::IntsOrNone | Kind::OptInts | Kind::IntLists | Kind::Floats | Kind::Numbers => {
                format!("{}=[{place}]", field.name)
            }
            _ => format!("{}={place}", field.name),
        };
        let documentation = Some(Documentation::String(field.doc.split_whitespace().collect::<Vec<_>>().join(" ")));
        let item = CompletionItem {
            detail: Some(format!("{} = {default}", field.kind.name())),
            documentation,
            ..kind(CompletionItemKind::PROPERTY)
        };
        let (text, item) = snippet(cx, item, with, &format!("{}=", field.name));
        list.push(rank, field.name, text, item);
    }
}

/// Whether a type is that of a condition.
fn is_flag(cx: &Cx, ty: Ty) -> bool {
    cx.checked.module().types.as_tensor(ty).is_some_and(|(shape, dtype)| shape.is_empty() && dtype.is_bool())
}

/// The type that a function or a constructor takes as its next argument, where it is known whole.
fn wanted(cx: &Cx, call: &Call) -> Option<Ty> {
    let module = cx.checked.module();
    let ty = match &call.callee {
        Callee::Global(name) => {
            let global = module.globals.iter().find(|global| *global.name == **name)?;
            let var = &module.vars[*module.funcs[global.func].params.get(call.index)?];
            var.checked_ty.or(var.ty)?
        }
        Callee::Name(name) => *module.ctors.iter().find(|ctor| *ctor.name == **name)?.inputs.get(call.index)?,
    };
    let types = &module.types;
    (ty != Ty::ERROR && !types.has_hole(ty) && !types.has_param(ty) && !types.has_open(ty)).then_some(ty)
}

/// Whether the relation of an operator can hold with a value of this type as its next operand.
fn fits(cx: &mut Cx, scope: &[Var], call: &Call, def: &'static OpDef, ty: Ty) -> bool {
    if call.attr.is_some() || call.index >= def.args.len() {
        return false;
    }
    let file = cx.checked.whole().file;
    let known = call.args.iter().map(|&(start, end)| value_ty(cx, scope, Span { file, start, end }));
    let mut args: Vec<Option<Ty>> = known.collect();
    args.resize(call.index, None);
    args.push(Some(ty));
    args.resize(def.args.len(), None);
    cx.checked.may_hold(def, args)
}

/// The type of a value in the text: of an expression, or of a variable in a call that was not understood.
fn value_ty(cx: &Cx, scope: &[Var], at: Span) -> Option<Ty> {
    if let Some(expr) = cx.checked.expr_at(at) {
        return cx.checked.module().expr_tys.get(expr).copied().flatten();
    }
    let text = cx.checked.slice(at);
    scope.iter().find(|var| var.name == text).and_then(|var| cx.checked.ty(var.meaning))
}

/// A variable or graph number.
struct Var<'t> {
    /// With its `%`.
    name: &'t str,
    meaning: Meaning,
    is_param: bool,
}

/// The variables and graph numbers that may be used at a place of the text, the nearest first.
fn in_scope<'t>(cx: &Cx, text: &'t str, at: u32) -> Vec<Var<'t>> {
    let ast = cx.checked.ast();
    let mut names: Vec<Span> = vec![];
    let mut params = FxHashSet::default();
    let mut path = ast.path(at);
    if path.is_empty() {
        // A function without its end goes on behind its last token.
        let tokens = &cx.checked.analysis.lexed.tokens;
        let last = tokens[..tokens.partition_point(|token| token.end <= at)].last();
        path = last.map_or(vec![], |last| ast.path(last.end));
    }
    for node in path {
        match node {
            Node::Func(func) => {
                names.extend(ast.items(ast.funcs[func].params).iter().map(|param| param.name));
                params.extend(ast.items(ast.funcs[func].params).iter().map(|param| param.name));
            }
            Node::Expr(expr) => {
                let ExprKind::Seq { stmts, value } = ast.exprs[expr].kind else { continue };
                let stmts: &[StmtId] = ast.items(stmts);
                let next = stmts.iter().skip(1).map(|&stmt| ast.stmts[stmt].span).chain([ast.exprs[value].span]);
                // One without its `;` is still being written until the next one begins.
                let is_over = |(stmt, next): &(&StmtId, Span)| {
                    let span = ast.stmts[**stmt].span;
                    span.end <= at && (next.start < at || ast.text(span).ends_with(';'))
                };
                names.extend(stmts.iter().zip(next).filter(is_over).filter_map(|(&stmt, _)| match ast.stmts[stmt].kind {
                    StmtKind::Let { name, .. } | StmtKind::Graph { name, .. } | StmtKind::FreeVar { name, .. } => Some(name),
                    StmtKind::Error | StmtKind::Expr(_) => None,
                }));
            }
            Node::Clause(clause) => {
                let mut left = vec![clause.pattern];
                while let Some(pat) = left.pop() {
                    match ast.pats[pat].kind {
                        PatKind::Local { name, .. } => names.push(name),
                        PatKind::Ctor { fields: Some(fields), .. } | PatKind::Tuple(fields) => left.extend(ast.items(fields)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    // A binding of a name that its scope has already binds nothing.
    let diagnostics = cx.checked.analysis.program.diagnostics.iter().filter(|diagnostic| diagnostic.code == codes::W0003);
    let void: FxHashSet<Span> = diagnostics.map(Diagnostic::span).collect();
    names.retain(|name| void.is_empty() || !void.contains(name));
    let mentions = &cx.checked.analysis.mentions;
    // How many mentions begin before a name or with it: names are in text order, but for those of a pattern.
    let mut n = 0;
    let mut found: Vec<Var> = Vec::with_capacity(names.len());
    for name in names {
        if n > 0 && mentions[n - 1].span.start > name.start {
            n = mentions.partition_point(|mention| mention.span.start <= name.start);
        }
        n += mentions[n..].iter().take_while(|mention| mention.span.start <= name.start).count();
        if let Some(mention) = mentions[..n].last().filter(|mention| mention.span == name)
            && let Some(text) = text.get(name.start as usize..name.end as usize)
        {
            found.push(Var { name: text, meaning: mention.meaning, is_param: params.contains(&name) });
        }
    }
    found.reverse();
    let mut known = FxHashSet::default();
    found.retain(|var| known.insert(var.name));
    found
}

fn functions(cx: &Cx, list: &mut List) {
    let module = cx.checked.module();
    for global in module.globals.iter() {
        let params = &module.funcs[global.func].params;
        let places: Vec<String> =
            params.iter().enumerate().map(|(i, &var)| format!("${{{}:%{}}}", i + 1, module.vars[var].name)).collect();
        let name = format!("@{}", global.name);
        let (text, item) = snippet(cx, kind(CompletionItemKind::FUNCTION), format!("{name}({})", places.join(", ")), &name);
        list.push(Rank::Near, &name, text, item);
    }
}

/// The constructors that are defined above a place.
fn constructors(cx: &Cx, list: &mut List, at: u32) {
    let module = cx.checked.module();
    for ctor in module.ctors.iter().filter(|ctor| ctor.span.start < at) {
        let places: Vec<String> = (1..=ctor.inputs.len()).map(|i| format!("${i}")).collect();
        let with = if places.is_empty() { ctor.name.to_string() } else { format!("{}({})", ctor.name, places.join(", ")) };
        let item =
            CompletionItem { detail: Some(module.adts[ctor.adt].name.to_string()), ..kind(CompletionItemKind::ENUM_MEMBER) };
        let (text, item) = snippet(cx, item, with, &ctor.name);
        list.push(Rank::Near, &ctor.name, text, item);
    }
}

/// No longer text is checked again for a type.
const MAX_CHECKED: usize = 64 * 1024;

/// The type of what is bound by the name that ends at a place, without what is written from there to another.
fn inferred(cx: &Cx, end: u32, to: u32) -> Option<String> {
    let text = &cx.checked.text.text;
    if text.len() > MAX_CHECKED {
        return None;
    }
    let without = format!("{}{}", &text[..end as usize], &text[to as usize..]);
    let found = analyse(&name(cx.uri), &without, &cx.rules.how);
    let Meaning::Local(var) = found.mentions.iter().find(|mention| mention.span.end == end)?.meaning else { return None };
    let module = &found.program.module;
    let ty = module.vars[var].checked_ty.filter(|&ty| ty != Ty::ERROR && !module.types.has_hole(ty))?;
    Some(module.types.text(ty)).filter(|text| !text.ends_with('…'))
}

fn types(cx: &Cx, list: &mut List, at: u32) {
    // What a name without a type has is what may be written behind it.
    let before = cx.checked.text.text[..at as usize].strip_suffix(list.word).unwrap_or("").trim_end();
    let bound = before.strip_suffix(':').map(|before| before.trim_end().len() as u32);
    if let Some(text) = bound.and_then(|end| inferred(cx, end, list.end)) {
        list.push(Rank::Required, &text, text.clone(), kind(CompletionItemKind::STRUCT));
    }
    let (text, item) = snippet(cx, kind(CompletionItemKind::STRUCT), "Tensor[(${1:1}), ${2:float32}]".to_owned(), "Tensor[(");
    list.push(Rank::Required, "Tensor", text, item);
    dtypes(list, Rank::Near);
    let module = cx.checked.module();
    for adt in module.adts.iter() {
        let places: Vec<String> = (1..=adt.params.len()).map(|i| format!("${i}")).collect();
        let with = if places.is_empty() { adt.name.to_string() } else { format!("{}[{}]", adt.name, places.join(", ")) };
        let (text, item) = snippet(cx, kind(CompletionItemKind::ENUM), with, &adt.name);
        list.push(Rank::Fits, &adt.name, text, item);
    }
    let ast = cx.checked.ast();
    for node in ast.path(at) {
        let Node::Func(func) = node else { continue };
        for &name in ast.items(ast.funcs[func].type_params) {
            let name = cx.checked.slice(name);
            list.push(Rank::Fits, name, name.to_owned(), kind(CompletionItemKind::TYPE_PARAMETER));
        }
    }
    let (text, item) = snippet(cx, kind(CompletionItemKind::KEYWORD), "fn (${1:int32}) -> ${2:int32}".to_owned(), "fn (");
    list.push(Rank::Other, "fn", text, item);
}

fn dtypes(list: &mut List, rank: Rank) {
    // The most used ones are floats.
    let (floats, others): (Vec<DType>, Vec<DType>) = DType::RUNTIME.iter().partition(|dtype| dtype.is_float());
    for dtype in floats.into_iter().rev().chain(others) {
        list.push(rank, &dtype.to_string(), dtype.to_string(), kind(CompletionItemKind::TYPE_PARAMETER));
    }
}

/// The values of an attribute: what its kind has, its default, and words that its documentation names in quotes.
fn attr_values(cx: &mut Cx, list: &mut List, cursor: &Cursor, name: &str) {
    let Some(field) =
        cursor.call.as_ref().and_then(callee_def).and_then(|def| def.attrs?.fields.iter().find(|field| field.name == name))
    else {
        return;
    };
    let before = &cx.checked.text.text[..cursor.word_start as usize];
    let in_quotes = before.ends_with('"');
    let text = |value: &str| if in_quotes { value.to_owned() } else { format!("\"{value}\"") };
    let item = kind(CompletionItemKind::VALUE);
    match field.kind {
        Kind::Bool | Kind::OptBool => ["True", "False"].iter().for_each(|word| {
            list.push(Rank::Fits, word, (*word).to_owned(), kind(CompletionItemKind::KEYWORD));
        }),
        Kind::DType => DType::RUNTIME.iter().map(DType::to_string).for_each(|name| {
            list.push(Rank::Fits, &name, text(&name), item.clone());
        }),
        Kind::Str | Kind::StdStr => {
            for word in string_values(field) {
                list.push(Rank::Fits, &word, text(&word), item.clone());
            }
        }
        _ => {
            let default = field.default.map(|default| relayc_ops::literal(&default()));
            if let Some(default) = default.filter(|_| !in_quotes) {
                list.push(Rank::Fits, &default, default.clone(), item);
            }
        }
    }
}

/// The strings that an attribute is known to take: layouts for a layout, else its default and those its documentation quotes.
fn string_values(field: &Field) -> Vec<String> {
    let mut values: Vec<String> = vec![];
    if let Some(default) = field.default {
        values.push(relayc_ops::literal(&default()).trim_matches('"').to_owned());
    }
    let is_layout = field.name.ends_with("layout");
    // What the documentation of a layout has in quotes are operands.
    for quote in ['"', '\'', '`'].into_iter().filter(|_| !is_layout) {
        let parts = field.doc.split(quote).skip(1).step_by(2);
        let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        values.extend(parts.filter(is_word).map(str::to_owned));
    }
    if is_layout {
        let layouts: &[&str] = if field.name.starts_with("kernel") {
            &["OIHW", "HWIO", "OHWI", "HWOI", "OIW", "OIDHW"]
        } else {
            &["NCHW", "NHWC", "NCW", "NWC", "NCDHW", "NDHWC", "NCHW16c"]
        };
        values.extend(layouts.iter().map(|&layout| layout.to_owned()));
    }
    values.retain(|value| !value.is_empty());
    let mut known = FxHashSet::default();
    values.retain(|value| known.insert(value.clone()));
    values
}

/// Patterns: the constructors of the type that is matched, or all of them.
fn patterns(cx: &Cx, list: &mut List, at: u32, scrutinee: Span) {
    let module = cx.checked.module();
    let text = cx.checked.text.text.clone();
    let ty = value_ty(cx, &in_scope(cx, &text, scrutinee.start), scrutinee);
    let adt = ty.map(|ty| module.types.data(ty));
    let wanted = match adt {
        Some(relayc_ir::types::TyData::Adt { name, .. }) => Some(name.clone()),
        _ => None,
    };
    for ctor in module.ctors.iter() {
        let adt = &module.adts[ctor.adt].name;
        let fits = wanted.as_ref().is_none_or(|wanted| wanted == adt);
        let places: Vec<String> = (1..=ctor.inputs.len()).map(|i| format!("${{{i}:%a{i}}}")).collect();
        let head = if places.is_empty() { ctor.name.to_string() } else { format!("{}({})", ctor.name, places.join(", ")) };
        let item = CompletionItem { detail: Some(adt.to_string()), ..kind(CompletionItemKind::ENUM_MEMBER) };
        let (text, item) = snippet(cx, item, format!("{head} => {{ $0 }},"), &ctor.name);
        list.push(if fits { Rank::Fits } else { Rank::Other }, &ctor.name, text, item);
    }
    let (text, item) = snippet(cx, kind(CompletionItemKind::KEYWORD), "_ => { $0 },".to_owned(), "_");
    list.push(Rank::Other, "_", text, item);
    let all: Vec<&relayc_ir::Ctor> =
        module.ctors.iter().filter(|ctor| wanted.as_ref() == Some(&module.adts[ctor.adt].name)).collect();
    let is_first = cx.checked.text.text[..at as usize].trim_end_matches(list.word).trim_end().ends_with('{');
    if cx.client.snippets && is_first && all.len() > 1 && list.next.is_none() {
        let arms = all.iter().enumerate().map(|(index, ctor)| {
            let fields: Vec<String> = (1..=ctor.inputs.len()).map(|i| format!("%a{i}")).collect();
            let fields = if fields.is_empty() { String::new() } else { format!("({})", fields.join(", ")) };
            format!("{}{fields} => {{ ${} }},", ctor.name, index + 1)
        });
        let item = CompletionItem {
            detail: Some(format!("a clause for each of {}", all.len())),
            insert_text_format: Some(InsertTextFormat::SNIPPET),
            ..kind(CompletionItemKind::KEYWORD)
        };
        list.push(Rank::Near, "every case", arms.collect::<Vec<_>>().join("\n"), item);
    }
}
