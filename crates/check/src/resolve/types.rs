//! Reads types as written (language 3).

use super::{Meaning, Resolver, errors, type_errors};
use relayc_ir::types::{DType, Dim, Ty, TyData};
use relayc_syntax::ast::{self, DimKind, TypeKind};
use relayc_syntax::literal;
use smallvec::SmallVec;

impl<'a> Resolver<'a> {
    /// The type of an annotation; `None` for `_`, which is no annotation.
    pub(super) fn ty(&mut self, root: ast::TypeId) -> Option<Ty> {
        let ast = self.ast;
        let ast::Type { span, kind } = ast.types[root];
        // A type that TVM had not inferred when it printed is no annotation either.
        let is_hole = matches!(kind, TypeKind::Meta) && ast.text(span).starts_with("meta[IncompleteType]");
        if matches!(kind, TypeKind::Infer) || is_hole {
            return None;
        }
        // Children before parents; results in the order of the children.
        let mut steps = vec![(root, false)];
        let mut results: Vec<Ty> = Vec::new();
        while let Some((id, done)) = steps.pop() {
            let children = self.type_children(id);
            if done || children.is_empty() {
                let parts = results.split_off(results.len() - children.len());
                let ty = self.make_type(id, &parts);
                results.push(ty);
            } else {
                if let TypeKind::Fn { type_params, .. } = self.ast.types[id].kind {
                    self.new_type_params(self.ast.items(type_params));
                }
                steps.push((id, true));
                steps.extend(children.into_iter().rev().map(|child| (child, false)));
            }
        }
        results.pop()
    }

    fn type_children(&self, id: ast::TypeId) -> Vec<ast::TypeId> {
        match self.ast.types[id].kind {
            TypeKind::Error | TypeKind::Infer | TypeKind::Tensor { .. } | TypeKind::Meta => vec![],
            TypeKind::Tuple(fields) => self.ast.items(fields).to_vec(),
            TypeKind::Fn { params, ret, .. } => self.ast.items(params).iter().copied().chain([ret]).collect(),
            TypeKind::Name { args, .. } => args.map_or(vec![], |args| self.ast.items(args).to_vec()),
            TypeKind::Ref(of) => vec![of],
        }
    }

    fn make_type(&mut self, id: ast::TypeId, parts: &[Ty]) -> Ty {
        let ast = self.ast;
        let ast::Type { span, kind } = ast.types[id];
        match kind {
            TypeKind::Error => Ty::ERROR,
            TypeKind::Infer => self.module.types.written_hole(),
            TypeKind::Tensor { shape, dtype } => {
                let Some(parsed) = DType::parse(ast.text(dtype)) else {
                    self.diagnostics.push(errors::unknown_dtype(ast.text(dtype), dtype, false));
                    return Ty::ERROR;
                };
                self.diagnostics.extend(errors::unstorable_dtype(parsed, ast.text(dtype), dtype, false));
                self.tensor_type(ast.items(shape), parsed, span)
            }
            TypeKind::Tuple(_) => self.module.types.tuple(parts),
            TypeKind::Fn { type_params, .. } => {
                let names = ast.items(type_params).iter().rev();
                let mut type_params: Vec<Ty> = names.filter_map(|&name| self.end_type_param(ast.text(name))).collect();
                type_params.reverse();
                let (ret, params) = parts.split_last().expect("a function type has a result");
                self.module.types.intern(TyData::Fn { type_params: type_params.into(), params: params.into(), ret: *ret })
            }
            TypeKind::Name { name, args } => self.named_type(name, args.is_some(), parts),
            TypeKind::Ref(_) => self.module.types.intern(TyData::Ref(parts[0])),
            // Two mentions of one entry are one unknown type.
            TypeKind::Meta if ast.text(span).starts_with("meta[IncompleteType]") => {
                *self.incomplete.entry(ast.text(span)).or_insert_with(|| self.module.types.written_hole())
            }
            TypeKind::Meta => self.meta_ty(span),
        }
    }

    /// A type parameter in scope, else a scalar's dtype, else a data type; brackets without arguments mean nothing.
    fn named_type(&mut self, name: relayc_base::Span, has_args: bool, args: &[Ty]) -> Ty {
        let text = self.ast.text(name);
        let param = self.type_params.get(text).and_then(|params| params.last()).copied();
        if let Some(param) = param {
            self.mention(name, Meaning::TypeParam(param));
        }
        let dtype = DType::parse(text).filter(|_| param.is_none());
        if let Some(ty) = param.or_else(|| dtype.map(|dtype| self.module.types.scalar(dtype))) {
            if !has_args {
                self.diagnostics.extend(dtype.and_then(|dtype| errors::unstorable_dtype(dtype, text, name, false)));
                return ty;
            }
            self.diagnostics.push(type_errors::type_arguments(text, name, 0, args.len(), None));
            return Ty::ERROR;
        }
        if let Some(&adt) = self.adts.get(text) {
            self.mention(name, Meaning::Type(adt));
            let n_params = self.n_adt_params[&adt];
            if self.lacking_params.contains(&adt) {
                return Ty::ERROR;
            }
            if n_params == args.len() {
                return self.module.types.intern(TyData::Adt { name: text.into(), args: args.into() });
            }
            let defined = self.module.adts[adt].span;
            self.diagnostics.push(type_errors::type_arguments(text, name, n_params, args.len(), Some(defined)));
            return Ty::ERROR;
        }
        let (near, letters) = self.meant_type(text);
        let near = near.or_else(|| errors::near_dtype(text));
        // One report for each name and definition, unless each mention is to be changed.
        if near.is_some() || self.undefined_types.insert(text) {
            self.diagnostics.push(type_errors::unknown_type(text, name, near, &letters, self.generic.as_ref()));
        }
        // It may be a parameter that the data type lacks: with how many arguments the type is to be written is not known.
        if let Some(adt) = self.generic.as_ref().and_then(|generic| self.adts.get(generic.name.0)) {
            self.lacking_params.insert(*adt);
        }
        Ty::ERROR
    }

    /// A type of nearly this name, and all of one letter, sorted; nothing once too much has been looked for.
    fn meant_type(&mut self, text: &str) -> (Option<&'a str>, Vec<&'a str>) {
        if !self.near.spend(self.type_params.len() + self.adts.len()) {
            return (None, vec![]);
        }
        let in_scope = self.type_params.iter().filter(|(_, params)| !params.is_empty()).map(|(name, _)| *name);
        let names = in_scope.chain(self.adts.keys().copied());
        let mut letters: Vec<&str> = names.clone().filter(|name| name.len() == 1).collect();
        letters.sort_unstable();
        (self.near.among_unordered(text, names), letters)
    }

    fn tensor_type(&mut self, dims: &[ast::Dim], dtype: DType, span: relayc_base::Span) -> Ty {
        let mut shape: SmallVec<[Dim; 6]> = SmallVec::new();
        for dim in dims {
            shape.push(match dim.kind {
                DimKind::Any => Dim::Any,
                // A bad number has been reported by the lexer.
                DimKind::Error => return Ty::ERROR,
                DimKind::Int => match literal::parse_int(self.ast.text(dim.span)) {
                    Ok((value, _)) if value < 0 => {
                        self.diagnostics.push(errors::negative_dim(value, dim.span));
                        return Ty::ERROR;
                    }
                    Ok((value, width)) => Dim::number(value, width == literal::IntWidth::I64),
                    Err(_) => return Ty::ERROR,
                },
                DimKind::Size(_) if is_unknown(self.ast.text(dim.span)) => {
                    self.diagnostics.push(errors::unknown_dim(self.ast.text(dim.span), dim.span));
                    return Ty::ERROR;
                }
                DimKind::Size(size) => match self.size(size) {
                    Ok(Dim::Known { value, .. }) if value < 0 => {
                        self.diagnostics.push(errors::negative_dim(value, dim.span));
                        return Ty::ERROR;
                    }
                    Ok(size) => size,
                    Err(()) => return Ty::ERROR,
                },
                DimKind::Meta => match self.meta_dim(dim.span) {
                    Some(dim) => dim,
                    None => return Ty::ERROR,
                },
            });
        }
        if check_size(&shape).is_err() {
            self.diagnostics.push(errors::tensor_too_large(self.ast.text(span), span));
            return Ty::ERROR;
        }
        self.module.types.tensor(&shape, dtype)
    }
}

/// Words of Python for a dimension that only a run knows.
fn is_unknown(text: &str) -> bool {
    matches!(text, "None" | "Any" | "nullptr")
}

/// Whether a tensor may have these dimensions.
pub(super) fn check_size(shape: &[Dim]) -> Result<(), ()> {
    let known: Vec<i64> = shape.iter().filter_map(|dim| dim.value()).collect();
    let fits = relayc_ir::types::checked_elements(&known).is_some() && shape.len() <= relayc_ir::types::MAX_RANK;
    if fits { Ok(()) } else { Err(()) }
}
