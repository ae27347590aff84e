//! Writes `match` and its patterns.

use super::Writer;
use super::expr::{Form, Text};
use super::ty::{Adt, Ty};

/// How a value is taken apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Every value matches.
    Any,
    /// Some values may not match.
    Some,
}

impl Writer<'_> {
    pub fn matching(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        let data = self.scope.types().into_iter().filter(|ty| matches!(ty, Ty::Adt(..) | Ty::Tuple(_))).collect::<Vec<_>>();
        let scrutinee_ty = match self.choose(4) {
            0 | 1 if !data.is_empty() => self.pick(&data),
            2 => Ty::Tuple((0..self.choose(3)).map(|_| self.type_here()).collect()),
            _ => self.type_here(),
        };
        if !self.can_make(&scrutinee_ty) {
            return None;
        }
        let scrutinee = self.expr(&scrutinee_ty, depth).at(Form::Proj);
        let before = std::mem::replace(&mut self.says_patterns, scrutinee_ty.is_generic());
        let mut clauses = Vec::new();
        let mut is_total = false;
        if let Ty::Adt(name, args) = &scrutinee_ty {
            let adt = self.adts.iter().find(|adt| adt.name == *name).expect("types are of the module").clone();
            let args: Vec<(String, Ty)> = adt.params.iter().cloned().zip(args.iter().cloned()).collect();
            is_total = self.ctor_clauses(&adt, &args, ty, depth, &mut clauses);
        } else if self.once_in(3) {
            clauses.push(self.clause(&scrutinee_ty, Depth::Some, ty, depth));
        }
        let keyword = if is_total || !self.once_in(3) { "match" } else { "match?" };
        if keyword == "match" && !is_total || clauses.is_empty() {
            clauses.push(self.clause(&scrutinee_ty, Depth::Any, ty, depth));
        }
        let keyword = if keyword == "match" && self.once_in(8) { "match?" } else { keyword };
        self.says_patterns = before;
        Some(Text::new(Form::Stmt, format!("{keyword} {scrutinee} {{ {} }}", self.list(clauses))))
    }

    /// A clause for each constructor, or for some; true where they take every value.
    fn ctor_clauses(&mut self, adt: &Adt, args: &[(String, Ty)], ty: &Ty, depth: usize, out: &mut Vec<String>) -> bool {
        let all = !self.once_in(3);
        let start = self.choose(adt.ctors.len());
        for i in 0..adt.ctors.len() {
            let (name, inputs) = &adt.ctors[(start + i) % adt.ctors.len()];
            if !all && self.once_in(2) {
                continue;
            }
            let inputs: Vec<Ty> = inputs.iter().map(|input| input.with(args)).collect();
            let nested = self.once_in(3);
            for depth_of in [Depth::Some, Depth::Any] {
                if depth_of == Depth::Some && !nested || depth_of == Depth::Any && !all && nested {
                    continue;
                }
                let mark = self.scope.mark();
                let mut names = Vec::new();
                let parts: Vec<String> = inputs.iter().map(|input| self.pattern(input, depth_of, 2, &mut names)).collect();
                let pattern = if parts.is_empty() { name.clone() } else { format!("{name}({})", self.list(parts)) };
                out.push(self.clause_of(pattern, &names, ty, depth));
                self.scope.close(&mark);
            }
        }
        all
    }

    fn clause(&mut self, of: &Ty, depth_of: Depth, ty: &Ty, depth: usize) -> String {
        let mark = self.scope.mark();
        let mut names = Vec::new();
        let pattern = self.pattern(of, depth_of, 2, &mut names);
        let clause = self.clause_of(pattern, &names, ty, depth);
        self.scope.close(&mark);
        clause
    }

    fn clause_of(&mut self, pattern: String, names: &[String], ty: &Ty, depth: usize) -> String {
        match self.choose(3) {
            0 => format!("{pattern} => {{ {} }}", self.block(ty, depth, Some(&[]))),
            _ => format!("{pattern} => {}", self.block(ty, depth, Some(names))),
        }
    }

    /// A pattern for values of a type; its variables are bound.
    fn pattern(&mut self, of: &Ty, depth_of: Depth, levels: usize, names: &mut Vec<String>) -> String {
        match of {
            Ty::Tuple(fields) if levels > 0 && self.once_in(2) => {
                let parts: Vec<String> = fields.iter().map(|field| self.pattern(field, depth_of, levels - 1, names)).collect();
                format!("({})", self.list(parts))
            }
            Ty::Adt(name, args) if levels > 0 && depth_of == Depth::Some => {
                let adt = self.adts.iter().find(|adt| adt.name == *name).expect("types are of the module").clone();
                if adt.ctors.is_empty() {
                    return "_".to_owned();
                }
                let args: Vec<(String, Ty)> = adt.params.iter().cloned().zip(args.iter().cloned()).collect();
                let (ctor, inputs) = self.pick(&adt.ctors);
                let parts: Vec<String> =
                    inputs.iter().map(|input| self.pattern(&input.with(&args), depth_of, levels - 1, names)).collect();
                match parts.is_empty() {
                    true => ctor,
                    false => format!("{ctor}({})", self.list(parts)),
                }
            }
            _ if self.once_in(3) => "_".to_owned(),
            _ => {
                let name = self.var_name(names);
                // A constructor does not always say what the arguments of its type are.
                let annotation = if self.says_patterns || self.once_in(4) { format!(": {}", self.ty(of)) } else { String::new() };
                self.scope.bind(name.clone(), of.clone());
                names.push(name.clone());
                name + &annotation
            }
        }
    }
}
