//! The data types that stand for functions, and their `apply` functions.

use super::super::build::typed;
use relayc_base::Span;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{
    Adt, AdtId, Clause, Ctor, CtorId, ExprId, ExprKind, Func, Global, GlobalId, Module, Operand, Pat, PatKind, VarId,
};
use rustc_hash::FxHashMap;

/// The encodings, by the type of the functions.
#[derive(Default)]
pub(super) struct Encodings {
    of: FxHashMap<Ty, usize>,
    all: Vec<Encoding>,
    n_closures: usize,
}

struct Encoding {
    adt: AdtId,
    ty: Ty,
    apply: GlobalId,
    /// The parameters of `apply`, the encoded function first.
    params: Vec<VarId>,
    clauses: Vec<Clause>,
}

impl Encodings {
    /// A type in which data stands for functions.
    pub(super) fn ty(&mut self, module: &mut Module, ty: Ty) -> Ty {
        let mut left = vec![(ty, false)];
        let mut done: FxHashMap<Ty, Ty> = FxHashMap::default();
        while let Some((ty, visited)) = left.pop() {
            if done.contains_key(&ty) {
                continue;
            }
            let mut children = Vec::new();
            module.types.children(ty, &mut children);
            if !visited {
                left.push((ty, true));
                left.extend(children.into_iter().map(|child| (child, false)));
                continue;
            }
            let new = match module.types.data(ty).clone() {
                TyData::Fn { params, ret, .. } => {
                    let params: Vec<Ty> = params.iter().map(|param| done[param]).collect();
                    let key = module.types.func(&params, done[&ret]);
                    let encoding = self.encoding(module, key, &params, done[&ret]);
                    self.all[encoding].ty
                }
                _ => module.types.rewrite(ty, |_, inner| if inner == ty { None } else { done.get(&inner).copied() }),
            };
            done.insert(ty, new);
        }
        done[&ty]
    }

    fn encoding(&mut self, module: &mut Module, key: Ty, params: &[Ty], ret: Ty) -> usize {
        if let Some(&known) = self.of.get(&key) {
            return known;
        }
        let span = Span::NONE;
        let name = fresh(|name| module.adts.iter().all(|adt| &*adt.name != name), "Function");
        let ty = module.types.intern(TyData::Adt { name: name.clone().into(), args: Box::default() });
        let adt = module.adts.push(Adt { name: name.into(), params: vec![], ctors: vec![], span });
        let params = std::iter::once(("f", ty)).chain(params.iter().map(|&ty| ("y", ty)));
        let params: Vec<VarId> =
            params.collect::<Vec<_>>().into_iter().map(|(name, ty)| module.var(name, Some(ty), span)).collect();
        // The body follows when all functions are known.
        let body = module.expr(span, ExprKind::Error);
        let (type_params, attrs) = (vec![], vec![]);
        let func = Func { span, type_params, params: params.clone(), ret: Some(ret), ret_span: span, body, attrs };
        let func = module.funcs.push(func);
        let name = fresh(|name| module.find_global(name).is_none(), "apply");
        let apply = module.globals.push(Global { name: name.into(), func, span });
        self.all.push(Encoding { adt, ty, apply, params, clauses: vec![] });
        self.of.insert(key, self.all.len() - 1);
        self.all.len() - 1
    }

    /// The number of the encoding of an encoded type of functions.
    fn find(&self, encoded: Ty) -> Option<usize> {
        self.all.iter().position(|encoding| encoding.ty == encoded)
    }

    /// A new constructor for functions of an encoded type.
    pub(super) fn ctor(&mut self, module: &mut Module, encoded: Ty, inputs: Vec<Ty>) -> Option<CtorId> {
        let adt = self.all[self.find(encoded)?].adt;
        let name = loop {
            let name = format!("Closure{}", self.n_closures);
            self.n_closures += 1;
            if module.ctors.iter().all(|ctor| *ctor.name != *name) {
                break name;
            }
        };
        let ty = module.types.func(&inputs, encoded);
        let ctor = module.ctors.push(Ctor { name: name.into(), adt, inputs, ty, span: Span::NONE });
        module.adts[adt].ctors.push(ctor);
        Some(ctor)
    }

    /// Adds the function of a constructor: a callee that may mention the fields.
    pub(super) fn clause(&mut self, module: &mut Module, encoded: Ty, ctor: CtorId, fields: &[VarId], callee: ExprId) {
        let Some(at) = self.find(encoded) else { return };
        let span = module.exprs[callee].span;
        let inside: Vec<_> = fields.iter().map(|&var| module.pats.push(Pat { span, kind: PatKind::Var(var) })).collect();
        let inside = module.pats(&inside);
        let pat = module.pats.push(Pat { span, kind: PatKind::Ctor(ctor, inside) });
        let args: Vec<Operand> = self.all[at].params[1..].iter().map(|&var| operand(module, span, var)).collect();
        let args = module.operands(&args);
        let body = module.expr(span, ExprKind::Call { callee, args, attrs: None });
        self.all[at].clauses.push(Clause { pat, body });
    }

    /// The function that calls functions of an encoded type.
    pub(super) fn apply(&self, encoded: Ty) -> Option<GlobalId> {
        self.find(encoded).map(|at| self.all[at].apply)
    }

    /// Writes the bodies of the `apply` functions.
    pub(super) fn finish(self, module: &mut Module) {
        for Encoding { apply, params, clauses, ty, .. } in self.all {
            let scrutinee = typed(module, Span::NONE, ExprKind::Var(params[0]), ty);
            let clauses = module.clauses(&clauses);
            let body = module.expr(Span::NONE, ExprKind::Match { scrutinee, clauses, total: true });
            let func = module.globals[apply].func;
            module.funcs[func].body = body;
        }
    }
}

fn operand(module: &mut Module, span: Span, var: VarId) -> Operand {
    Operand { expr: module.expr(span, ExprKind::Var(var)), span }
}

/// The first name of a kind, with a number, that is free.
pub(super) fn fresh(is_free: impl Fn(&str) -> bool, kind: &str) -> String {
    (0..).map(|n| format!("{kind}{n}")).find(|name| is_free(name)).expect("some number is free")
}
