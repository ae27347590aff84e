//! Compares two modules up to variable names, places and unused parts.
//!
//! Nodes are paired from the definitions down, each with one partner: what is shared in one must be shared in the other. Leaves
//! (constants, variables, names) may occur in several nodes, because printing writes them out. Depends on the representation,
//! not on printing or reading.

use relayc_ir::object::FieldValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Dim, SymbolId, Ty, TyData};
use relayc_ir::{
    AttrValue, AttrsId, ConstId, ExprId, ExprKind, FuncId, Module, Object, ObjectId, OpTable, PatId, PatKind, Root, VarId,
};
use relayc_ops as ops;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

type Found<T = ()> = Result<T, String>;

/// Says where the modules differ.
pub fn same(a: &Module, b: &Module) -> Found {
    let mut pairs = Pairs {
        a,
        b,
        work: vec![],
        exprs: OneToOne::default(),
        vars: OneToOne::default(),
        params: HashMap::new(),
        symbols: OneToOne::default(),
        consts: OneToOne::default(),
    };
    pairs.data_types()?;
    match (a.root, b.root) {
        (Root::Globals, Root::Globals) => pairs.globals()?,
        (Root::Expr(this), Root::Expr(that)) => pairs.work.push((this, that)),
        roots => return Err(format!("{roots:?}")),
    }
    while let Some((this, that)) = pairs.work.pop() {
        pairs.expr(this, that)?;
    }
    Ok(())
}

/// Pairs in which each has one partner.
struct OneToOne<T>(HashMap<T, T>, HashMap<T, T>);

impl<T> Default for OneToOne<T> {
    fn default() -> Self {
        OneToOne(HashMap::new(), HashMap::new())
    }
}

impl<T: Copy + Eq + Hash + Debug> OneToOne<T> {
    /// Whether the pair is new.
    fn pair(&mut self, a: T, b: T, what: &str) -> Found<bool> {
        match (self.0.insert(a, b), self.1.insert(b, a)) {
            (None, None) => Ok(true),
            (Some(old), Some(_)) if old == b => Ok(false),
            olds => Err(format!("{what} {a:?} and {b:?}, paired before with {olds:?}")),
        }
    }
}

struct Pairs<'m> {
    a: &'m Module,
    b: &'m Module,
    work: Vec<(ExprId, ExprId)>,
    exprs: OneToOne<ExprId>,
    vars: OneToOne<VarId>,
    params: HashMap<u32, u32>,
    symbols: OneToOne<SymbolId>,
    consts: OneToOne<ConstId>,
}

fn equal<T: PartialEq + Debug>(a: T, b: T, what: &str) -> Found {
    if a == b { Ok(()) } else { Err(format!("{what}: {a:?} and {b:?}")) }
}

impl Pairs<'_> {
    fn data_types(&mut self) -> Found {
        equal(self.a.adts.len(), self.b.adts.len(), "types")?;
        for adt in self.a.adts.iter() {
            let other = self.b.adts.iter().find(|other| other.name == adt.name).ok_or_else(|| format!("no type {}", adt.name))?;
            self.type_params(&adt.params, &other.params)?;
            equal(adt.ctors.len(), other.ctors.len(), "constructors")?;
            for (this, that) in adt.ctors.iter().zip(&other.ctors) {
                let (this, that) = (&self.a.ctors[*this], &self.b.ctors[*that]);
                equal(&this.name, &that.name, "constructor")?;
                self.all_types(&this.inputs, &that.inputs)?;
            }
        }
        Ok(())
    }

    fn globals(&mut self) -> Found {
        equal(self.a.globals.len(), self.b.globals.len(), "functions")?;
        for global in self.a.globals.iter() {
            let other = self.b.find_global(&global.name).ok_or_else(|| format!("no function @{}", global.name))?;
            self.func(global.func, self.b.globals[other].func).map_err(|why| format!("@{}: {why}", global.name))?;
        }
        Ok(())
    }

    fn func(&mut self, a: FuncId, b: FuncId) -> Found {
        let (this, that) = (&self.a.funcs[a], &self.b.funcs[b]);
        self.type_params(&this.type_params, &that.type_params)?;
        equal(this.params.len(), that.params.len(), "parameters")?;
        for (&this, &that) in this.params.iter().zip(&that.params) {
            self.binder(this, that)?;
        }
        self.annotation(this.ret, that.ret)?;
        // They have no order (language 5.7).
        equal(this.attrs.len(), that.attrs.len(), "attributes of a function")?;
        for (key, value) in &this.attrs {
            let other = that.attrs.iter().find(|(other, _)| other == key).ok_or_else(|| format!("no attribute {key}"))?;
            self.attr(value, &other.1)?;
        }
        self.work.push((this.body, that.body));
        Ok(())
    }

    fn binder(&mut self, a: VarId, b: VarId) -> Found {
        self.vars.pair(a, b, "variables")?;
        let device = |module: &Module, var| module.var_devices.get(&var).copied();
        self.objects(device(self.a, a), device(self.b, b))?;
        self.annotation(self.a.vars[a].ty, self.b.vars[b].ty)
    }

    fn annotation(&mut self, a: Option<Ty>, b: Option<Ty>) -> Found {
        match (a, b) {
            (Some(a), Some(b)) => self.ty(a, b),
            (a, b) => equal(a.is_some(), b.is_some(), "annotation"),
        }
    }

    fn all_types(&mut self, a: &[Ty], b: &[Ty]) -> Found {
        equal(a.len(), b.len(), "number of types")?;
        a.iter().zip(b).try_for_each(|(&a, &b)| self.ty(a, b))
    }

    /// From here on these stand for each other.
    fn type_params(&mut self, a: &[Ty], b: &[Ty]) -> Found {
        equal(a.len(), b.len(), "number of type parameters")?;
        for (&this, &that) in a.iter().zip(b) {
            let (TyData::Param { id, .. }, TyData::Param { id: other, .. }) = (self.a.types.data(this), self.b.types.data(that))
            else {
                return Err("a type parameter that is none".to_owned());
            };
            self.params.insert(*id, *other);
        }
        Ok(())
    }

    fn ty(&mut self, a: Ty, b: Ty) -> Found {
        let (a_types, b_types) = (&self.a.types, &self.b.types);
        match (a_types.data(a), b_types.data(b)) {
            (TyData::Tensor { shape: this, dtype }, TyData::Tensor { shape: that, dtype: other }) => {
                equal(dtype, other, "element type")?;
                equal(this.len(), that.len(), "rank")?;
                this.iter().zip(that).try_for_each(|(&this, &that)| self.dim(this, that))
            }
            (TyData::Fn { type_params, params, ret }, TyData::Fn { type_params: others, params: those, ret: that }) => {
                // A type has parameters of its own, also where it is that of a function that stands in the text.
                let outer = (!type_params.is_empty()).then(|| self.params.clone());
                self.type_params(type_params, others)?;
                self.all_types(params, those)?;
                self.ty(*ret, *that)?;
                self.params = outer.unwrap_or_else(|| std::mem::take(&mut self.params));
                Ok(())
            }
            (TyData::Param { id, .. }, TyData::Param { id: other, .. }) => {
                equal(self.params.get(id), Some(other), "type parameter")
            }
            (TyData::Adt { name, args }, TyData::Adt { name: other, args: those }) => {
                equal(name, other, "type")?;
                self.all_types(args, those)
            }
            (TyData::Tuple(these), TyData::Tuple(those)) => self.all_types(these, those),
            (TyData::Ref(this), TyData::Ref(that)) => self.ty(*this, *that),
            // A hole is no annotation when it is read.
            (TyData::Hole(_), TyData::Hole(_)) | (TyData::Error, TyData::Error) => Ok(()),
            (this, that) => Err(format!("types {this:?} and {that:?}")),
        }
    }

    fn dim(&mut self, a: Dim, b: Dim) -> Found {
        match (a, b) {
            (Dim::Symbol(a), Dim::Symbol(b)) => {
                let (a, b) = (self.a.types.symbols.find(a.class), self.b.types.symbols.find(b.class));
                self.symbols.pair(a, b, "symbols").map(drop)
            }
            (a, b) => equal(a, b, "dimension"),
        }
    }

    fn attr(&mut self, a: &AttrValue, b: &AttrValue) -> Found {
        match (a, b) {
            (AttrValue::List(these), AttrValue::List(those)) => {
                equal(these.len(), those.len(), "length of a list")?;
                these.iter().zip(those.iter()).try_for_each(|(this, that)| self.attr(this, that))
            }
            (AttrValue::Const(this, _), AttrValue::Const(that, _)) => self.constant(*this, *that),
            (AttrValue::Object(this), AttrValue::Object(that)) | (AttrValue::Expr(this), AttrValue::Expr(that)) => {
                self.objects(Some(*this), Some(*that))
            }
            (AttrValue::Symbol(this), AttrValue::Symbol(that)) => self.dim(Dim::Symbol(*this), Dim::Symbol(*that)),
            // What is within 1e-9 of the default is not printed (language 5.7).
            (AttrValue::Float { bits: 0, .. }, AttrValue::Float { bits: 0, .. }) if a.same(b) => Ok(()),
            (AttrValue::Float { value: this, bits }, AttrValue::Float { value: that, bits: others }) => {
                equal((this.to_bits(), bits), (that.to_bits(), others), "number")
            }
            (a, b) => equal(a, b, "attribute"),
        }
    }

    fn objects(&mut self, a: Option<ObjectId>, b: Option<ObjectId>) -> Found {
        let (Some(a), Some(b)) = (a, b) else { return equal(a.is_some(), b.is_some(), "object") };
        match (&self.a.objects[a], &self.b.objects[b]) {
            (Object::Array(these), Object::Array(those)) => {
                equal(these.len(), those.len(), "length of an array")?;
                these.iter().zip(those).try_for_each(|(&this, &that)| self.objects(this, that))
            }
            (Object::Map(these), Object::Map(those)) => {
                equal(these.len(), those.len(), "size of a map")?;
                these.iter().zip(those).try_for_each(|((key, this), (other, that))| {
                    equal(key, other, "key")?;
                    self.objects(*this, *that)
                })
            }
            (Object::Record { record, fields }, Object::Record { record: other, fields: those }) => {
                equal(record.type_key, other.type_key, "object")?;
                fields.iter().zip(those).try_for_each(|(this, that)| self.field(this, that))
            }
            (Object::Attrs { type_key, fields }, Object::Attrs { type_key: other, fields: those }) => {
                equal((type_key, fields.len()), (other, those.len()), "attributes")?;
                fields.iter().zip(those).try_for_each(|((name, this), (other, that))| {
                    equal(name, other, "field")?;
                    self.field(this, that)
                })
            }
            (Object::Const(this), Object::Const(that)) => self.constant(*this, *that),
            (Object::Symbol { id: this, .. }, Object::Symbol { id: that, .. }) => {
                let (this, that) = (self.a.types.symbols.dim(*this), self.b.types.symbols.dim(*that));
                self.dim(this, that)
            }
            (a, b) => equal(a, b, "object"),
        }
    }

    fn field(&mut self, a: &FieldValue, b: &FieldValue) -> Found {
        match (a, b) {
            (FieldValue::Object(this), FieldValue::Object(that)) => self.objects(*this, *that),
            (this, that) => equal(this, that, "field"),
        }
    }

    fn attrs(&mut self, a: Option<AttrsId>, b: Option<AttrsId>) -> Found {
        let (Some(a), Some(b)) = (a, b) else { return equal(a.is_some(), b.is_some(), "attributes") };
        let (these, those) = (&self.a.attrs[a].values, &self.b.attrs[b].values);
        these.iter().zip(those).try_for_each(|(this, that)| self.attr(this, that))
    }

    fn constant(&mut self, a: ConstId, b: ConstId) -> Found {
        let (this, that) = (&self.a.consts[a], &self.b.consts[b]);
        let of = |tensor: &Tensor| {
            (tensor.dtype(), tensor.shape().to_vec(), tensor.to_f64s().into_iter().map(f64::to_bits).collect::<Vec<_>>())
        };
        equal(of(this), of(that), "constant")?;
        equal(this.to_ints(), that.to_ints(), "constant")?;
        // What stands in the section is one object; literals are written out.
        if this.rank() > 0 { self.consts.pair(a, b, "constants").map(drop) } else { Ok(()) }
    }

    fn expr(&mut self, a: ExprId, b: ExprId) -> Found {
        let (this, that) = (self.a.exprs[a].kind, self.b.exprs[b].kind);
        match (this, that) {
            (ExprKind::Const(this), ExprKind::Const(that)) => return self.constant(this, that),
            (ExprKind::Var(this), ExprKind::Var(that)) => return self.vars.pair(this, that, "variables").map(drop),
            (ExprKind::Global(this), ExprKind::Global(that)) => {
                return equal(&self.a.globals[this].name, &self.b.globals[that].name, "function");
            }
            (ExprKind::Op(this), ExprKind::Op(that)) => {
                return equal(ops::table().name(this), ops::table().name(that), "operator");
            }
            (ExprKind::Ctor(this), ExprKind::Ctor(that)) => {
                return equal(&self.a.ctors[this].name, &self.b.ctors[that].name, "constructor");
            }
            _ => {}
        }
        if !self.exprs.pair(a, b, "expressions")? {
            return Ok(());
        }
        let (mut these, mut those) = (vec![], vec![]);
        self.a.children(a, &mut these);
        self.b.children(b, &mut those);
        equal(these.len(), those.len(), "number of operands")?;
        // Binders are paired before what mentions them.
        match (this, that) {
            (ExprKind::Call { attrs: this, .. }, ExprKind::Call { attrs: that, .. }) => self.attrs(this, that)?,
            (ExprKind::Proj { index: this, .. }, ExprKind::Proj { index: that, .. }) => equal(this, that, "index")?,
            (ExprKind::Fn(this), ExprKind::Fn(that)) => self.func(this, that)?,
            (ExprKind::Let { var: this, .. }, ExprKind::Let { var: that, .. }) => self.binder(this, that)?,
            (ExprKind::Match { clauses: these, total, .. }, ExprKind::Match { clauses: those, total: other, .. }) => {
                equal(total, other, "kind of match")?;
                let (these, those) = (self.a.clause_items(these), self.b.clause_items(those));
                these.iter().zip(those).try_for_each(|(this, that)| self.pattern(this.pat, that.pat))?;
            }
            _ => equal(std::mem::discriminant(&this), std::mem::discriminant(&that), "kind of expression")?,
        }
        self.work.extend(these.into_iter().zip(those));
        Ok(())
    }

    fn pattern(&mut self, a: PatId, b: PatId) -> Found {
        let fields = |module: &Module, id| match module.pats[id].kind {
            PatKind::Ctor(_, fields) | PatKind::Tuple(fields) => module.sub_pats(fields).to_vec(),
            _ => vec![],
        };
        match (self.a.pats[a].kind, self.b.pats[b].kind) {
            (PatKind::Var(this), PatKind::Var(that)) => return self.binder(this, that),
            (PatKind::Ctor(this, _), PatKind::Ctor(that, _)) => {
                equal(&self.a.ctors[this].name, &self.b.ctors[that].name, "constructor")?;
            }
            (this, that) => equal(std::mem::discriminant(&this), std::mem::discriminant(&that), "kind of pattern")?,
        }
        let (these, those) = (fields(self.a, a), fields(self.b, b));
        equal(these.len(), those.len(), "number of patterns")?;
        these.into_iter().zip(those).try_for_each(|(this, that)| self.pattern(this, that))
    }
}
