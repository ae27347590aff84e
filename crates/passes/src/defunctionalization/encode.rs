//! The data types that stand for functions, and their `apply` functions.

use super::super::Stop;
use super::super::build::typed;
use super::super::names::Names;
use relayc_base::Span;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{
    Adt, AdtId, Clause, Ctor, CtorId, ExprId, ExprKind, Func, Global, GlobalId, Module, Operand, Pat, PatKind, VarId,
};
use rustc_hash::FxHashMap;

/// How many functions may be data of one type.
const MAX_CLOSURES: usize = 1 << 10;

/// The encodings, by the type of the functions.
pub(super) struct Encodings {
    of: FxHashMap<Ty, usize>,
    /// By the type of the data.
    by_data: FxHashMap<Ty, usize>,
    all: Vec<Encoding>,
    /// What types become.
    tys: FxHashMap<Ty, Ty>,
    names: Names,
    adt_names: Names,
    ctor_names: Names,
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
    pub(super) fn new(module: &Module) -> Encodings {
        Encodings {
            of: FxHashMap::default(),
            by_data: FxHashMap::default(),
            all: vec![],
            tys: FxHashMap::default(),
            names: Names::of_globals(module),
            adt_names: Names::new(module.adts.iter().map(|adt| &*adt.name)),
            ctor_names: Names::new(module.ctors.iter().map(|ctor| &*ctor.name)),
        }
    }

    /// A type in which data stands for functions.
    pub(super) fn ty(&mut self, module: &mut Module, root: Ty) -> Ty {
        let mut children = Vec::new();
        for ty in module.types.parts(root, |ty| self.tys.contains_key(&ty)) {
            children.clear();
            module.types.children(ty, &mut children);
            children.iter_mut().for_each(|child| *child = self.tys[&*child]);
            let new = match (module.types.data(ty), children.split_last()) {
                (TyData::Fn { .. }, Some((&ret, params))) => self.encoding(module, params, ret),
                _ => module.types.with_children(ty, &children),
            };
            self.tys.insert(ty, new);
        }
        self.tys[&root]
    }

    /// The first of the names of a function's copies that is free.
    pub(super) fn copy_name(&mut self, name: &str) -> Box<str> {
        self.names.numbered(&format!("{name}_"))
    }

    /// The data type for functions of encoded types.
    fn encoding(&mut self, module: &mut Module, params: &[Ty], ret: Ty) -> Ty {
        let key = module.types.func(params, ret);
        if let Some(&known) = self.of.get(&key) {
            return self.all[known].ty;
        }
        let span = Span::NONE;
        let name = self.adt_names.numbered("Function");
        let ty = module.types.intern(TyData::Adt { name: name.clone(), args: Box::default() });
        let adt = module.adts.push(Adt { name, params: vec![], ctors: vec![], span });
        let params = std::iter::once(("f", ty)).chain(params.iter().map(|&ty| ("y", ty)));
        let params: Vec<VarId> =
            params.collect::<Vec<_>>().into_iter().map(|(name, ty)| module.var(name, Some(ty), span)).collect();
        // The body follows when all functions are known.
        let body = module.expr(span, ExprKind::Error);
        let (type_params, attrs) = (vec![], vec![]);
        let func = Func { span, type_params, params: params.clone(), ret: Some(ret), ret_span: span, body, attrs };
        let func = module.funcs.push(func);
        let apply = module.globals.push(Global { name: self.names.numbered("apply"), func, span });
        self.of.insert(key, self.all.len());
        self.by_data.insert(ty, self.all.len());
        self.all.push(Encoding { adt, ty, apply, params, clauses: vec![] });
        ty
    }

    /// The number of the encoding of an encoded type of functions.
    fn find(&self, encoded: Ty) -> Option<usize> {
        self.by_data.get(&encoded).copied()
    }

    /// A new constructor for functions of an encoded type.
    pub(super) fn ctor(&mut self, module: &mut Module, encoded: Ty, inputs: Vec<Ty>) -> Option<CtorId> {
        let adt = self.all[self.find(encoded)?].adt;
        let (name, ty) = (self.ctor_names.numbered("Closure"), module.types.func(&inputs, encoded));
        let ctor = module.ctors.push(Ctor { name, adt, inputs, ty, span: Span::NONE });
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
    pub(super) fn finish(self, module: &mut Module) -> Result<(), Stop> {
        // That a match has a clause for each case costs the square of their number to check.
        if self.all.iter().any(|encoding| encoding.clauses.len() > MAX_CLOSURES) {
            return Err(format!("more than {MAX_CLOSURES} functions of one type are values").into());
        }
        for Encoding { apply, params, clauses, ty, .. } in self.all {
            let scrutinee = typed(module, Span::NONE, ExprKind::Var(params[0]), ty);
            // Where no function is a value of the type, nothing is ever matched.
            let total = !clauses.is_empty();
            let clauses = module.clauses(&clauses);
            let body = module.expr(Span::NONE, ExprKind::Match { scrutinee, clauses, total });
            let func = module.globals[apply].func;
            module.funcs[func].body = body;
        }
        Ok(())
    }
}

fn operand(module: &mut Module, span: Span, var: VarId) -> Operand {
    Operand { expr: module.expr(span, ExprKind::Var(var)), span }
}
