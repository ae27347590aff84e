//! Sizes of a program: the names under which text writes them, and their replacement by numbers.
//!
//! [`Module::substitute_sizes`] is how a program with sizes becomes one for certain inputs. Which numbers the sizes have is the
//! caller's work.

use crate::attrs::AttrValue;
use crate::types::{Dim, SymbolId, Symbols, Ty, TyData, Types};
use crate::{ExprKind, FuncId, Module, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The numbers of sizes, by the classes of their variables.
pub type SizeValues = FxHashMap<SymbolId, i64>;

/// A dimension that is negative with the numbers given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NegativeSize {
    /// The dimension as text writes it.
    pub text: String,
    pub value: i64,
}

/// Replaces sizes in dimensions, each symbol once.
struct Substitution<'v> {
    values: &'v SizeValues,
    done: FxHashMap<SymbolId, Dim>,
    negative: Option<NegativeSize>,
}

/// Who said a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Text,
    /// What is negative may be 0 in truth, such as the length of a slice that begins behind the end.
    Inference,
}

impl Substitution<'_> {
    fn dim(&mut self, symbols: &mut Symbols, dim: Dim) -> Dim {
        let Dim::Symbol(symbol) = dim else { return dim };
        match self.done.get(&symbol.id) {
            Some(&done) => done,
            None => {
                let new = symbols.substitute(symbol, self.values);
                self.done.insert(symbol.id, new);
                new
            }
        }
    }

    fn ty(&mut self, types: &mut Types, ty: Ty, from: Source) -> Ty {
        if !types.has_open(ty) {
            return ty;
        }
        types.rewrite(ty, |types, ty| {
            let (shape, dtype) = match types.data(ty) {
                TyData::Tensor { shape, dtype } => (shape.to_vec(), *dtype),
                _ => return None,
            };
            let mut new = Vec::with_capacity(shape.len());
            for dim in shape {
                let number = self.dim(&mut types.symbols, dim);
                new.push(match (number.value(), dim) {
                    (Some(..0), Dim::Symbol(_)) if from == Source::Inference => Dim::Any,
                    (Some(value @ ..0), Dim::Symbol(symbol)) => {
                        self.negative.get_or_insert_with(|| NegativeSize { text: types.symbols.text(symbol), value });
                        number
                    }
                    _ => number,
                });
            }
            Some(types.tensor(&new, dtype))
        })
    }

    fn attr(&mut self, symbols: &mut Symbols, value: &mut AttrValue) {
        match value {
            AttrValue::Symbol(symbol) => {
                *value = match self.dim(symbols, Dim::Symbol(*symbol)) {
                    Dim::Known { value, wide } => AttrValue::Int { value, bits: if wide { 64 } else { 32 } },
                    Dim::Any => AttrValue::Any,
                    Dim::Symbol(symbol) => AttrValue::Symbol(symbol),
                };
            }
            AttrValue::List(items) if items.iter().any(has_size) => {
                let mut new = items.to_vec();
                // Lists nest no deeper than kinds of attributes.
                new.iter_mut().for_each(|item| self.attr(symbols, item));
                *value = AttrValue::List(new.into());
            }
            _ => {}
        }
    }
}

fn has_size(value: &AttrValue) -> bool {
    match value {
        AttrValue::Symbol(_) => true,
        AttrValue::List(items) => items.iter().any(has_size),
        _ => false,
    }
}

impl Module {
    /// Gives sizes their numbers in all types and attributes. A dimension that has all its numbers becomes one, or `?` if it
    /// cannot be computed, or was inferred and becomes negative: inference finds it anew. Errors: a dimension of a type in the text
    /// that becomes negative; the module must not be used then.
    pub fn substitute_sizes(&mut self, values: &SizeValues) -> Result<(), NegativeSize> {
        let mut all = Substitution { values, done: FxHashMap::default(), negative: None };
        let mut new_tys: FxHashMap<(Ty, Source), Ty> = FxHashMap::default();
        let types = &mut self.types;
        let mut change = |ty: &mut Ty, from: Source| {
            *ty = match new_tys.get(&(*ty, from)) {
                Some(&new) => new,
                None => {
                    let new = all.ty(types, *ty, from);
                    new_tys.insert((*ty, from), new);
                    new
                }
            };
        };
        // Inference completes annotations, but those of parameters.
        let completed = if self.expr_tys.is_empty() { Source::Text } else { Source::Inference };
        let params: FxHashSet<VarId> = self.funcs.iter().flat_map(|func| func.params.iter().copied()).collect();
        for var in self.vars.ids() {
            let from = if params.contains(&var) { Source::Text } else { completed };
            let var = &mut self.vars[var];
            var.ty.iter_mut().for_each(|ty| change(ty, from));
            var.checked_ty.iter_mut().for_each(|ty| change(ty, completed));
        }
        self.funcs.iter_mut().flat_map(|func| &mut func.ret).for_each(|ty| change(ty, completed));
        for ctor in self.ctors.iter_mut() {
            ctor.inputs.iter_mut().chain([&mut ctor.ty]).for_each(|ty| change(ty, Source::Text));
        }
        self.expr_tys.iter_mut().flatten().for_each(|ty| change(ty, Source::Inference));
        let symbols = &mut self.types.symbols;
        let of_calls = self.attrs.iter_mut().flat_map(|attrs| attrs.values.iter_mut());
        let of_funcs = self.funcs.iter_mut().flat_map(|func| func.attrs.iter_mut().map(|(_, value)| value));
        of_calls.chain(of_funcs).for_each(|value| all.attr(symbols, value));
        all.negative.map_or(Ok(()), Err)
    }

    /// Whether a size stands in a type or an attribute.
    pub fn has_sizes(&self) -> bool {
        self.types.symbols.has_vars()
    }

    /// The names of sizes, by the classes of their variables: a name that several variables have belongs to none.
    pub fn size_names(&self) -> FxHashMap<SymbolId, &str> {
        self.types.symbols.names()
    }

    /// The sizes in annotations that printing writes, by their classes.
    pub(crate) fn annotated_sizes(&self) -> FxHashSet<SymbolId> {
        let mut tys: FxHashSet<Ty> = FxHashSet::default();
        let of_var = |var: VarId, tys: &mut FxHashSet<Ty>| tys.extend(self.vars[var].ty);
        let of_func = |func: FuncId, tys: &mut FxHashSet<Ty>| {
            self.funcs[func].params.iter().for_each(|&var| of_var(var, tys));
            tys.extend(self.funcs[func].ret);
        };
        if self.root == crate::Root::Globals {
            self.globals.iter().for_each(|global| of_func(global.func, &mut tys));
        }
        for expr in self.post_order(&self.roots()) {
            match self.exprs[expr].kind {
                ExprKind::Fn(func) => of_func(func, &mut tys),
                ExprKind::Let { var, .. } => of_var(var, &mut tys),
                _ => {}
            }
        }
        let mut sizes = FxHashSet::default();
        let mut seen: FxHashSet<Ty> = FxHashSet::default();
        let mut pending: Vec<Ty> = tys.into_iter().collect();
        while let Some(ty) = pending.pop() {
            if !seen.insert(ty) {
                continue;
            }
            for &dim in self.types.as_tensor(ty).map_or(&[][..], |(shape, _)| shape) {
                sizes.extend(self.types.symbols.vars_of(dim));
            }
            self.types.children(ty, &mut pending);
        }
        sizes
    }
}

/// Words that text reads otherwise where a size can stand.
const RESERVED: [&str; 24] = [
    "let",
    "fn",
    "def",
    "if",
    "else",
    "type",
    "match",
    "extern",
    "free_var",
    "ref",
    "ref_read",
    "ref_write",
    "True",
    "False",
    "Tensor",
    "_",
    "None",
    "nullptr",
    "meta",
    "METADATA",
    "true",
    "false",
    "none",
    "null",
];

/// Whether text can write a size by this name.
pub fn is_size_name(name: &str) -> bool {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    // The literals `inff16`, `nanf32`.
    let is_literal =
        ["inff", "nanf"].iter().any(|word| name.strip_prefix(word).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())));
    plain && !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() && !is_literal && !RESERVED.contains(&name)
}
