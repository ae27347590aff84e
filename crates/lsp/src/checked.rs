//! A text that has been checked, with what requests look up in it.

use crate::text::Text;
use relayc_base::{FileId, Span};
use relayc_check::infer;
use relayc_check::resolve::{Meaning, Mention};
use relayc_driver::{Analysis, ReadOptions, analyse_again};
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, Func, FuncId, Module};
use relayc_ops::OpDef;
use relayc_syntax::ast::Ast;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::cell::OnceCell;
use std::hash::BuildHasher;

/// One form of a text, checked.
pub(crate) struct Checked {
    pub(crate) revision: u64,
    pub(crate) text: Text,
    pub(crate) analysis: Analysis,
    hash: OnceCell<u32>,
    /// The mentions of each meaning: their indices, in text order.
    uses: OnceCell<FxHashMap<Meaning, Vec<u32>>>,
    /// The functions of the module by the places of what they were read from.
    funcs: OnceCell<FxHashMap<Span, FuncId>>,
    /// The expressions at each place; several where one stands for another, as a call without parentheses.
    exprs: OnceCell<FxHashMap<(u32, u32), ExprId>>,
    /// What [`Checked::may_hold`] has found.
    held: FxHashMap<(&'static str, Vec<Option<Ty>>), bool>,
}

impl Checked {
    /// Checks a text; what has not changed since an earlier form of it is not found again.
    pub(crate) fn new(name: &str, revision: u64, text: Text, how: &ReadOptions, earlier: Option<&Checked>) -> Checked {
        let analysis = analyse_again(name, text.text.clone(), how, earlier.map(|earlier| &earlier.analysis));
        Checked {
            revision,
            text,
            analysis,
            hash: OnceCell::new(),
            uses: OnceCell::new(),
            funcs: OnceCell::new(),
            exprs: OnceCell::new(),
            held: FxHashMap::default(),
        }
    }

    /// A number of the text, equal for equal texts: clients that are JavaScript keep no more bits.
    pub(crate) fn hash(&self) -> u32 {
        *self.hash.get_or_init(|| FxBuildHasher.hash_one(&*self.text.text) as u32)
    }

    pub(crate) fn module(&self) -> &Module {
        &self.analysis.program.module
    }

    pub(crate) fn ast(&self) -> &Ast {
        &self.analysis.ast
    }

    pub(crate) fn slice(&self, span: Span) -> &str {
        self.analysis.ast.text(span)
    }

    /// The expression at exactly a place.
    pub(crate) fn expr_at(&self, span: Span) -> Option<ExprId> {
        let exprs = self.exprs.get_or_init(|| {
            let mut exprs = FxHashMap::with_capacity_and_hasher(self.module().exprs.len(), FxBuildHasher);
            for (id, expr) in self.module().exprs.iter_ids() {
                if !expr.span.is_none() {
                    // The last one made of a place is the outermost: the value of a constructor without inputs, not its callee.
                    exprs.insert((expr.span.start, expr.span.end), id);
                }
            }
            exprs
        });
        exprs.get(&(span.start, span.end)).copied()
    }

    /// The function that a part of the text is.
    pub(crate) fn func_at(&self, span: Span) -> Option<&Func> {
        let funcs = self.funcs.get_or_init(|| self.module().funcs.iter_ids().map(|(id, func)| (func.span, id)).collect());
        funcs.get(&span).map(|&func| &self.module().funcs[func])
    }

    /// The name at a place; one that ends there if none begins or goes on there.
    pub(crate) fn mention_at(&self, offset: u32) -> Option<Mention> {
        let mentions = &self.analysis.mentions;
        let after = mentions.partition_point(|mention| mention.span.start <= offset);
        mentions[..after].iter().rev().take(2).copied().find(|mention| offset <= mention.span.end)
    }

    /// The mentions inside of a place, in text order.
    pub(crate) fn mentions_in(&self, within: Span) -> &[Mention] {
        let mentions = &self.analysis.mentions;
        let start = mentions.partition_point(|mention| mention.span.start < within.start);
        let end = mentions.partition_point(|mention| mention.span.start < within.end);
        &mentions[start..end.max(start)]
    }

    /// All mentions of what a name means, in text order.
    pub(crate) fn mentions_of(&self, meaning: Meaning) -> impl Iterator<Item = Mention> {
        let mentions = &self.analysis.mentions;
        let uses = self.uses.get_or_init(|| {
            let mut uses: FxHashMap<Meaning, Vec<u32>> = FxHashMap::default();
            for (index, mention) in (0..).zip(mentions) {
                uses.entry(mention.meaning).or_default().push(index);
            }
            uses
        });
        uses.get(&meaning).into_iter().flatten().map(|&index| mentions[index as usize])
    }

    /// The place of the name that binds a meaning; none for operators and sizes.
    pub(crate) fn binder(&self, meaning: Meaning) -> Option<Span> {
        let module = self.module();
        match meaning {
            Meaning::Graph { binder, .. } => Some(binder),
            Meaning::Global(global) => Some(module.globals[global].span),
            Meaning::Type(adt) => Some(module.adts[adt].span),
            // The first mention is the binder: of a parameter or a constructor the IR keeps the place of the whole.
            Meaning::Local(_) | Meaning::Ctor(_) | Meaning::TypeParam(_) => {
                self.mentions_of(meaning).next().map(|first| first.span)
            }
            Meaning::Operator(_) | Meaning::Size(_) => None,
        }
    }

    /// The type of what a name means, if it has one.
    pub(crate) fn ty(&self, meaning: Meaning) -> Option<Ty> {
        let module = self.module();
        match meaning {
            Meaning::Local(var) => module.vars[var].checked_ty.or(module.vars[var].ty),
            Meaning::Graph { node, .. } => module.expr_tys.get(node).copied().flatten(),
            Meaning::Ctor(ctor) => Some(module.ctors[ctor].ty),
            Meaning::Global(global) => {
                let func = &module.funcs[module.globals[global].func];
                module.expr_tys.get(func.body).copied().flatten()
            }
            Meaning::TypeParam(ty) => Some(ty),
            Meaning::Type(_) | Meaning::Operator(_) | Meaning::Size(_) => None,
        }
    }

    /// As [`infer::may_hold`]. It is asked of every value in scope, and many are of one type.
    pub(crate) fn may_hold(&mut self, def: &'static OpDef, args: Vec<Option<Ty>>) -> bool {
        let module = &mut self.analysis.program.module;
        *self.held.entry((def.name, args)).or_insert_with_key(|(_, args)| infer::may_hold(module, def, args))
    }

    /// The whole text.
    pub(crate) fn whole(&self) -> Span {
        Span::new(FileId(0), 0, self.text.text.len())
    }
}
