//! Operators as calls, with what is in scope in the places of their operands.
//!
//! The first operand is the nearest binding that fits, the others are parameters that nothing uses yet; all may be written over.
//! Operators that take none of the nearest variables come last. At the start of a statement each comes with a `let` of its value,
//! too.

use super::{List, Rank, Var, escaped, has_letters, kind, snippet};
use crate::requests::Cx;
use crate::requests::names::Names;
use lsp_types::{CompletionItem, CompletionItemKind, Documentation};
use relayc_base::text::shortened;
use relayc_check::resolve::Meaning;
use relayc_ir::attrs::{Field, Kind};
use relayc_ir::types::Ty;
use relayc_ops::OpDef;
use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// Of more operators it is not asked which variables they take.
const MAX_FITTED: usize = 64;

/// How many variables are tried for an operand.
const MAX_TRIED: usize = 8;

/// An operator that a program may call.
struct Written {
    def: &'static OpDef,
    /// Its signature, shortened.
    detail: String,
    summary: &'static str,
    /// A call without operands that are known.
    call: String,
}

/// All of them: most completions offer them all.
static WRITTEN: LazyLock<Vec<Written>> = LazyLock::new(|| {
    let defs = relayc_ops::table().defs().iter().filter(|def| !def.internal);
    let written = defs.map(|&def| Written {
        def,
        detail: shortened(&def.signature(), 120),
        summary: def.summary(),
        call: call_text(def, &vec![None; def.args.len()]),
    });
    written.collect()
});

/// Adds the operators that have the letters of the word; `statement` is the place of the cursor at the start of a statement.
pub(super) fn push(cx: &mut Cx, list: &mut List, scope: &[Var], statement: Option<u32>) {
    let matching: Vec<&Written> = WRITTEN.iter().filter(|written| has_letters(written.def.name, list.word)).collect();
    let is_narrow = !list.word.is_empty() && matching.len() <= MAX_FITTED;
    let candidates = if is_narrow { Candidates::of(cx, scope) } else { Candidates::default() };
    let names = statement.filter(|_| is_narrow).map(|_| Names::of(&cx.checked.text.text, &cx.checked.analysis.lexed.tokens));
    // Where something follows, the statement before it is a binding, unless it is what is called there.
    let binds_first =
        list.next.is_none() && statement.is_some_and(|at| !cx.checked.text.text[at as usize..].trim_start().starts_with('}'));
    for &Written { def, ref detail, summary, ref call } in matching {
        let (call, rank) = if is_narrow {
            let (operands, fits) = candidates.operands(cx, def);
            (call_text(def, &operands), if fits { Rank::Other } else { Rank::Word })
        } else {
            (call.clone(), Rank::Other)
        };
        let item = CompletionItem {
            detail: Some(detail.clone()),
            documentation: Some(Documentation::String(summary.to_owned())),
            ..kind(CompletionItemKind::FUNCTION)
        };
        let plain = snippet(cx, item.clone(), call.clone(), def.name);
        let binding = names.as_ref().map(|names| {
            let name = names.free(def.name);
            snippet(cx, item, format!("let {name} = {call};\n$0"), &format!("let {name} = {}(", def.name))
        });
        let mut forms: Vec<_> = std::iter::once((def.name.to_owned(), plain)).collect();
        forms.extend(binding.map(|binding| (format!("let {}", def.name), binding)));
        if binds_first {
            forms.reverse();
        }
        for (label, (text, item)) in forms {
            list.push(rank, &label, text, item);
        }
    }
}

/// What may be an operand: the names with their types.
#[derive(Default)]
struct Candidates {
    /// Bindings, the nearest first; then parameters in their order.
    first: Vec<(String, Option<Ty>)>,
    /// Parameters that nothing uses, in their order; then the others.
    others: Vec<(String, Option<Ty>)>,
}

impl Candidates {
    fn of(cx: &Cx, scope: &[Var]) -> Candidates {
        let mut unseen: FxHashSet<Meaning> = scope.iter().filter(|var| var.is_param).map(|var| var.meaning).collect();
        let mut unused = unseen.clone();
        for mention in &cx.checked.analysis.mentions {
            // The first mention is where it is bound.
            if unused.contains(&mention.meaning) && !unseen.remove(&mention.meaning) {
                unused.remove(&mention.meaning);
            }
        }
        let entry = |var: &Var| (var.name.to_owned(), cx.checked.ty(var.meaning).filter(|&ty| ty != Ty::ERROR));
        let (params, bound): (Vec<&Var>, Vec<&Var>) = scope.iter().partition(|var| var.is_param);
        let params = || params.iter().rev().copied();
        let is_free = |var: &&Var| unused.contains(&var.meaning);
        let first: Vec<_> = bound.iter().copied().chain(params()).map(entry).take(MAX_TRIED).collect();
        let free = params().filter(is_free).map(entry);
        let others = free.chain(bound.iter().copied().map(entry)).chain(params().filter(|var| !is_free(var)).map(entry));
        Candidates { others: others.take(MAX_TRIED).collect(), first }
    }

    /// A variable for each operand that one fits, and whether there is one for the first.
    fn operands(&self, cx: &mut Cx, def: &'static OpDef) -> (Vec<Option<String>>, bool) {
        let mut tys: Vec<Option<Ty>> = vec![None; def.args.len()];
        let mut names: Vec<Option<String>> = vec![];
        // An operator that lacks an attribute says nothing about operands.
        let lacks_attr = def.written_fields().iter().any(|field| field.default.is_none());
        for index in 0..def.args.len() {
            let candidates = if index == 0 { &self.first } else { &self.others };
            let fitting = candidates.iter().find(|(name, ty)| {
                tys[index] = *ty;
                let is_new = !names.iter().flatten().any(|known| known == name);
                is_new && (lacks_attr || cx.checked.may_hold(def, tys.clone()))
            });
            tys[index] = fitting.and_then(|(_, ty)| *ty);
            names.push(fitting.map(|(name, _)| name.clone()));
            if index == 0 && names[0].is_none() {
                names.resize(def.args.len(), None);
                break;
            }
        }
        let fits = self.first.is_empty() || names.first().is_none_or(Option::is_some);
        (names, fits)
    }
}

/// A call with places for its operands and its required attributes, and one for others before its end.
fn call_text(def: &OpDef, operands: &[Option<String>]) -> String {
    let operands = def.args.iter().zip(operands).map(|(arg, known)| known.clone().unwrap_or_else(|| format!("%{}", arg.name)));
    let (required, optional): (Vec<&Field>, Vec<&Field>) = def.written_fields().iter().partition(|field| field.default.is_none());
    let mut n = 0;
    let mut place = |text: &str| {
        n += 1;
        format!("${{{n}:{}}}", escaped(text))
    };
    let mut parts: Vec<String> = operands.map(|name| place(&name)).collect();
    parts.extend(required.into_iter().map(|field| {
        let (open, value, close) = example(field);
        format!("{}={open}{}{close}", field.name, place(value))
    }));
    let rest = if optional.is_empty() || parts.is_empty() { String::new() } else { format!("${}", n + 1) };
    format!("{}({}{rest})", def.name, parts.join(", "))
}

/// A value of the kind of a field, to be written over, and what stands around it.
fn example(field: &Field) -> (&'static str, &'static str, &'static str) {
    match field.kind {
        Kind::Str | Kind::StdStr => ("\"", "", "\""),
        Kind::DType => ("\"", "float32", "\""),
        Kind::Ints | Kind::IntsOrNone | Kind::OptInts | Kind::Floats | Kind::Numbers => ("[", "1", "]"),
        Kind::IntLists => ("[[", "1", "]]"),
        Kind::Bool | Kind::OptBool => ("", "True", ""),
        Kind::Float | Kind::OptFloat => ("", "1f", ""),
        _ => ("", "1", ""),
    }
}
