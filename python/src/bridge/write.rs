//! The IR to nodes.
//!
//! Expressions are made in post-order. One whose number is that of a known node comes back as this node if all its parts came back as
//! its parts; a pass that leaves an expression as it was leaves its number. So an unchanged program is the same objects.

use super::classes::{Classes, classes};
use super::tensors::NativeTensor;
use super::types::TypeWriter;
use super::{Known, values};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use relayc_ir::attrs::OpTable;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{
    AdtId, AttrsId, Clauses, ConstId, CtorId, ExprId, ExprKind, FuncId, GlobalId, Module, Operands, PatId, PatKind, VarId,
};
use relayc_ops as ops;
use rustc_hash::FxHashMap;

/// The functions of a module, by their global variables, and its data types, by their headers.
pub(crate) fn module<'py>(py: Python<'py>, module: &Module, known: &Known) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let mut writer = Writer::new(py, module, known)?;
    let types = PyDict::new(py);
    for adt in module.adts.ids() {
        let (header, data) = writer.data_type(adt)?;
        types.set_item(header, data)?;
    }
    writer.exprs(&module.roots())?;
    let functions = PyDict::new(py);
    for (id, global) in module.globals.iter_ids() {
        let var = writer.global(id)?;
        let before = known.functions.get(&*global.name).map(|function| function.bind(py).clone());
        let function = writer.function(global.func, before)?;
        writer.annotate_function(&function, &var, global.func)?;
        functions.set_item(var, function)?;
    }
    Ok((functions, types))
}

/// The expression of a module that is one.
pub(crate) fn expr<'py>(py: Python<'py>, module: &Module, known: &Known, root: ExprId) -> PyResult<Bound<'py, PyAny>> {
    let mut writer = Writer::new(py, module, known)?;
    writer.exprs(&[root])?;
    Ok(writer.of(root))
}

struct Writer<'a, 'py> {
    py: Python<'py>,
    classes: &'a Classes,
    module: &'a Module,
    known: &'a Known,
    types: TypeWriter<'a, 'py>,
    exprs: FxHashMap<ExprId, Bound<'py, PyAny>>,
    vars: FxHashMap<VarId, Bound<'py, PyAny>>,
    consts: FxHashMap<ConstId, Bound<'py, PyAny>>,
    attrs: FxHashMap<AttrsId, Bound<'py, PyAny>>,
    globals: FxHashMap<GlobalId, Bound<'py, PyAny>>,
    ctors: FxHashMap<CtorId, Bound<'py, PyAny>>,
    ops: FxHashMap<&'static str, Bound<'py, PyAny>>,
}

/// The type that inference left at a node.
const CHECKED: &str = "_checked_type_";

impl<'a, 'py> Writer<'a, 'py> {
    fn new(py: Python<'py>, module: &'a Module, known: &'a Known) -> PyResult<Self> {
        let classes = classes(py)?;
        let types = TypeWriter::new(py, classes, &module.types, known);
        let (exprs, vars, consts, attrs, globals, ctors, ops) = Default::default();
        Ok(Writer { py, classes, module, known, types, exprs, vars, consts, attrs, globals, ctors, ops })
    }

    fn of(&self, expr: ExprId) -> Bound<'py, PyAny> {
        self.exprs[&expr].clone()
    }

    fn exprs(&mut self, roots: &[ExprId]) -> PyResult<()> {
        for expr in self.module.post_order(roots) {
            let node = self.node(expr)?;
            self.annotate(&node, self.module.expr_tys.get(expr).copied().flatten())?;
            self.exprs.insert(expr, node);
        }
        Ok(())
    }

    fn annotate(&mut self, node: &Bound<'py, PyAny>, ty: Option<Ty>) -> PyResult<()> {
        let Some(ty) = ty.filter(|&ty| ty != Ty::ERROR && !self.module.types.has_hole(ty)) else { return Ok(()) };
        // An operator and a constructor are one object for all programs.
        let shared =
            node.is_instance(self.classes.op.bind(self.py))? || node.is_instance(self.classes.constructor.bind(self.py))?;
        if shared { Ok(()) } else { node.setattr(intern!(self.py, CHECKED), self.types.ty(ty)?) }
    }

    /// Gives a function of the module, and its name, the type that follows from its head.
    fn annotate_function(&mut self, function: &Bound<'py, PyAny>, var: &Bound<'py, PyAny>, func: FuncId) -> PyResult<()> {
        let func = &self.module.funcs[func];
        let params: Option<Vec<Ty>> =
            func.params.iter().map(|&param| self.module.vars[param].checked_ty.or(self.module.vars[param].ty)).collect();
        let (Some(params), Some(ret)) = (params, func.ret) else { return Ok(()) };
        let params = params.into_iter().map(|ty| self.types.ty(ty)).collect::<PyResult<Vec<_>>>()?;
        let type_params = func.type_params.iter().map(|&ty| self.types.ty(ty)).collect::<PyResult<Vec<_>>>()?;
        let ret = self.types.ty(ret)?;
        let ty = self.classes.func_type.bind(self.py).call1((params, ret, type_params))?;
        function.setattr(intern!(self.py, CHECKED), &ty)?;
        var.setattr(intern!(self.py, CHECKED), ty)
    }

    /// The node that an expression came from, if its parts are still these.
    fn kept(&self, expr: ExprId, parts: &[(&str, &Bound<'py, PyAny>)]) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(node) = self.known.exprs.get(&expr) else { return Ok(None) };
        let node = node.bind(self.py);
        for (name, part) in parts {
            match node.getattr(*name) {
                Ok(before) if before.is(*part) => {}
                _ => return Ok(None),
            }
        }
        Ok(Some(node.clone()))
    }

    /// As [`Writer::kept`], for parts and a list of parts.
    fn kept_list(
        &self,
        expr: ExprId,
        parts: &[(&str, &Bound<'py, PyAny>)],
        list: &str,
        items: &[Bound<'py, PyAny>],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(node) = self.kept(expr, parts)? else { return Ok(None) };
        let Ok(before) = node.getattr(list) else { return Ok(None) };
        Ok(same_items(&before, items)?.then_some(node))
    }

    fn node(&mut self, expr: ExprId) -> PyResult<Bound<'py, PyAny>> {
        let (py, classes) = (self.py, self.classes);
        match self.module.exprs[expr].kind {
            ExprKind::Error => Ok(py.None().into_bound(py)),
            ExprKind::Const(id) => self.constant(id),
            ExprKind::Var(var) => self.var(var),
            ExprKind::Global(global) => self.global(global),
            ExprKind::Op(op) => self.op(ops::table().name(op)),
            ExprKind::Ctor(ctor) => self.constructor(ctor),
            ExprKind::Tuple(fields) => {
                let fields = self.items(fields);
                match self.kept_list(expr, &[], "fields", &fields)? {
                    Some(kept) => Ok(kept),
                    None => classes.tuple.bind(py).call1((fields,)),
                }
            }
            ExprKind::Proj { tuple, index } => {
                let tuple = self.of(tuple);
                match self.kept(expr, &[("tuple_value", &tuple)])? {
                    Some(kept) if kept.getattr("index")?.extract::<i32>()? == index => Ok(kept),
                    _ => classes.tuple_get_item.bind(py).call1((tuple, index)),
                }
            }
            ExprKind::Call { callee, args, attrs } => self.call(expr, callee, args, attrs),
            ExprKind::Fn(func) => {
                let before = self.known.exprs.get(&expr).map(|node| node.bind(py).clone());
                self.function(func, before)
            }
            ExprKind::Let { var, value, body } => {
                let (var, value, body) = (self.var(var)?, self.of(value), self.of(body));
                self.made(expr, &classes.let_, &[("var", &var), ("value", &value), ("body", &body)])
            }
            ExprKind::If { cond, then_branch, else_branch } => {
                let (cond, yes, no) = (self.of(cond), self.of(then_branch), self.of(else_branch));
                self.made(expr, &classes.if_, &[("cond", &cond), ("true_branch", &yes), ("false_branch", &no)])
            }
            ExprKind::RefNew(value) => self.made(expr, &classes.ref_create, &[("value", &self.of(value))]),
            ExprKind::RefRead(cell) => self.made(expr, &classes.ref_read, &[("ref", &self.of(cell))]),
            ExprKind::RefWrite { cell, value } => {
                self.made(expr, &classes.ref_write, &[("ref", &self.of(cell)), ("value", &self.of(value))])
            }
            ExprKind::Match { scrutinee, clauses, total } => self.match_(expr, scrutinee, clauses, total),
        }
    }

    /// A node of a class whose constructor takes its parts in order.
    fn made(&self, expr: ExprId, class: &Py<PyAny>, parts: &[(&str, &Bound<'py, PyAny>)]) -> PyResult<Bound<'py, PyAny>> {
        match self.kept(expr, parts)? {
            Some(kept) => Ok(kept),
            None => class.bind(self.py).call1(pyo3::types::PyTuple::new(self.py, parts.iter().map(|(_, part)| *part))?),
        }
    }

    fn items(&self, list: Operands) -> Vec<Bound<'py, PyAny>> {
        self.module.items(list).iter().map(|item| self.of(item.expr)).collect()
    }

    fn call(&mut self, expr: ExprId, callee: ExprId, args: Operands, attrs: Option<AttrsId>) -> PyResult<Bound<'py, PyAny>> {
        let node = self.call_node(expr, callee, args, attrs)?;
        let known = |&ty: &Ty| ty != Ty::ERROR && !self.module.types.has_hole(ty);
        let types: Vec<Ty> = self.module.items(args).iter().map(|item| self.module.ty(item.expr)).collect();
        if types.iter().all(known)
            && let Some(types) = self.type_args(callee, types)
        {
            let types = types.into_iter().map(|ty| self.types.ty(ty)).collect::<PyResult<Vec<_>>>()?;
            node.setattr(intern!(self.py, "type_args"), self.classes.array.bind(self.py).call1((types,))?)?;
        }
        Ok(node)
    }

    /// The type arguments of a call with operands of these types: of an operator these types, of another function what its type
    /// parameters stand for (`src/relay/transforms/type_infer.cc`). `None` for a function without type parameters.
    fn type_args(&self, callee: ExprId, operands: Vec<Ty>) -> Option<Vec<Ty>> {
        let module = self.module;
        let fn_type = |ty: Ty| match module.types.data(ty) {
            TyData::Fn { type_params, params, .. } => (type_params.to_vec(), params.to_vec()),
            _ => (vec![], vec![]),
        };
        let (type_params, params) = match module.exprs[callee].kind {
            ExprKind::Op(_) => return Some(operands),
            ExprKind::Ctor(ctor) => fn_type(module.ctors[ctor].ty),
            ExprKind::Global(global) => {
                let func = &module.funcs[module.globals[global].func];
                (func.type_params.clone(), func.params.iter().map(|&param| module.vars[param].ty.unwrap_or(Ty::ERROR)).collect())
            }
            _ => fn_type(module.ty(callee)),
        };
        if type_params.is_empty() {
            return None;
        }
        let mut stands_for: FxHashMap<Ty, Ty> = FxHashMap::default();
        let mut pairs: Vec<(Ty, Ty)> = params.into_iter().zip(operands).collect();
        while let Some((param, operand)) = pairs.pop() {
            if type_params.contains(&param) {
                stands_for.entry(param).or_insert(operand);
            } else if param != operand {
                let (mut inside, mut given) = (vec![], vec![]);
                module.types.children(param, &mut inside);
                module.types.children(operand, &mut given);
                pairs.extend(inside.into_iter().zip(given));
            }
        }
        type_params.iter().map(|param| stands_for.get(param).copied()).collect()
    }

    fn call_node(&mut self, expr: ExprId, callee: ExprId, args: Operands, attrs: Option<AttrsId>) -> PyResult<Bound<'py, PyAny>> {
        let (op, args) = (self.of(callee), self.items(args));
        let attrs = match attrs {
            // Attributes that a call left out are the defaults; a call that stays as it was still leaves them out.
            Some(id) if !self.known.attrs.contains_key(&id) && self.left_out(expr)? => None,
            Some(id) => Some(self.attributes(callee, id)?),
            None => None,
        };
        let attrs_same = |kept: &Bound<'py, PyAny>| -> PyResult<bool> {
            let before = kept.getattr(intern!(self.py, "attrs"))?;
            Ok(attrs.as_ref().is_none_or(|attrs| attrs.is(&before)))
        };
        match self.kept_list(expr, &[("op", &op)], "args", &args)? {
            Some(kept) if attrs_same(&kept)? => Ok(kept),
            _ => self.classes.call.bind(self.py).call1((op, args, attrs)),
        }
    }

    /// Whether an expression came from a call without attributes.
    fn left_out(&self, expr: ExprId) -> PyResult<bool> {
        match self.known.exprs.get(&expr) {
            Some(node) => Ok(node.bind(self.py).getattr(intern!(self.py, "attrs")).is_ok_and(|attrs| attrs.is_none())),
            None => Ok(false),
        }
    }

    fn attributes(&mut self, callee: ExprId, id: AttrsId) -> PyResult<Bound<'py, PyAny>> {
        if let Some(known) = self.known.attrs.get(&id) {
            return Ok(known.bind(self.py).clone());
        }
        if let Some(made) = self.attrs.get(&id) {
            return Ok(made.clone());
        }
        let (py, module) = (self.py, self.module);
        let fields = PyDict::new(py);
        let values = &module.attrs[id].values;
        let type_key = match module.exprs[callee].kind {
            ExprKind::Op(op) => {
                let schema =
                    ops::table().schema(op).or(ops::table().meta_schema(op)).expect("a call with attributes has a schema");
                for (field, value) in schema.fields.iter().zip(values) {
                    fields.set_item(field.name, self.value(Some(field.kind), value)?)?;
                }
                schema.type_key
            }
            _ => {
                let names = &module.attr_names[&id];
                for (name, value) in names.names.iter().zip(values) {
                    fields.set_item(&**name, self.value(None, value)?)?;
                }
                &*names.type_key
            }
        };
        let made = self.classes.make_attrs.bind(py).call1((type_key, fields))?;
        self.attrs.insert(id, made.clone());
        Ok(made)
    }

    fn value(&mut self, kind: Option<relayc_ir::Kind>, value: &relayc_ir::AttrValue) -> PyResult<Bound<'py, PyAny>> {
        let (py, module, known, classes) = (self.py, self.module, self.known, self.classes);
        let consts = &mut self.consts;
        let mut constant = |id| Ok(constant_node(py, module, known, classes, consts, id)?.unbind());
        values::value(&mut self.types, (py, classes), &mut constant, kind, value)
    }

    fn constant(&mut self, id: ConstId) -> PyResult<Bound<'py, PyAny>> {
        constant_node(self.py, self.module, self.known, self.classes, &mut self.consts, id)
    }

    fn op(&mut self, name: &'static str) -> PyResult<Bound<'py, PyAny>> {
        if let Some(known) = self.ops.get(name) {
            return Ok(known.clone());
        }
        let op = self.classes.op.bind(self.py).call_method1(intern!(self.py, "get"), (name,))?;
        self.ops.insert(name, op.clone());
        Ok(op)
    }

    /// A variable; one that had no annotation and has one now is a new node, as in TVM.
    fn var(&mut self, id: VarId) -> PyResult<Bound<'py, PyAny>> {
        if let Some(made) = self.vars.get(&id) {
            return Ok(made.clone());
        }
        let py = self.py;
        let var = &self.module.vars[id];
        let ty = var.ty.filter(|&ty| ty != Ty::ERROR && !self.module.types.has_hole(ty));
        let ty = match ty {
            Some(ty) => Some(self.types.ty(ty)?),
            None => None,
        };
        let before = self.known.vars.get(&id).map(|node| node.bind(py).clone());
        let node = match before {
            Some(before) => {
                let annotation = before.getattr(intern!(py, "type_annotation"))?;
                let same = match &ty {
                    Some(ty) => !annotation.is_none() && annotation.eq(ty)?,
                    None => true,
                };
                if same { before } else { self.classes.var.bind(py).call1((before.getattr(intern!(py, "vid"))?, ty.clone()))? }
            }
            None => self.classes.var.bind(py).call1((&*var.name, ty.clone()))?,
        };
        let checked = var.checked_ty.filter(|&ty| ty != Ty::ERROR && !self.module.types.has_hole(ty));
        match checked {
            Some(checked) => node.setattr(intern!(py, CHECKED), self.types.ty(checked)?)?,
            None if !self.module.expr_tys.is_empty() && ty.is_some() => node.setattr(intern!(py, CHECKED), ty)?,
            None => {}
        }
        self.vars.insert(id, node.clone());
        Ok(node)
    }

    fn global(&mut self, id: GlobalId) -> PyResult<Bound<'py, PyAny>> {
        let name = &*self.module.globals[id].name;
        if let Some(known) = self.known.globals.get(name) {
            return Ok(known.bind(self.py).clone());
        }
        if let Some(made) = self.globals.get(&id) {
            return Ok(made.clone());
        }
        let made = self.classes.global_var.bind(self.py).call1((name,))?;
        self.globals.insert(id, made.clone());
        Ok(made)
    }

    fn constructor(&mut self, id: CtorId) -> PyResult<Bound<'py, PyAny>> {
        if let Some(known) = self.known.ctors.get(&id) {
            return Ok(known.bind(self.py).clone());
        }
        if let Some(made) = self.ctors.get(&id) {
            return Ok(made.clone());
        }
        let ctor = &self.module.ctors[id];
        let inputs = ctor.inputs.iter().map(|&input| self.types.ty(input)).collect::<PyResult<Vec<_>>>()?;
        let header = self.types.header(&self.module.adts[ctor.adt].name)?;
        let made = self.classes.constructor.bind(self.py).call1((&*ctor.name, inputs, header))?;
        let ty = self.types.ty(ctor.ty)?;
        made.setattr(intern!(self.py, CHECKED), ty)?;
        self.ctors.insert(id, made.clone());
        Ok(made)
    }

    fn data_type(&mut self, id: AdtId) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let adt = &self.module.adts[id];
        let header = self.types.header(&adt.name)?;
        if let Some(known) = self.known.adts.get(&id) {
            return Ok((header, known.bind(self.py).clone()));
        }
        let params = adt.params.iter().map(|&param| self.types.ty(param)).collect::<PyResult<Vec<_>>>()?;
        let ctors = adt.ctors.iter().map(|&ctor| self.constructor(ctor)).collect::<PyResult<Vec<_>>>()?;
        let data = self.classes.type_data.bind(self.py).call1((&header, params, ctors))?;
        Ok((header, data))
    }

    /// A function whose body is made; `before` is the node that it may still be.
    fn function(&mut self, id: FuncId, before: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let func = &self.module.funcs[id];
        let body = self.of(func.body);
        let params = func.params.iter().map(|&param| self.var(param)).collect::<PyResult<Vec<_>>>()?;
        let ret = func.ret.filter(|&ty| ty != Ty::ERROR && !self.module.types.has_hole(ty));
        let ret = match ret {
            Some(ty) => Some(self.types.ty(ty)?),
            None => None,
        };
        let attrs = PyDict::new(py);
        for (name, value) in &func.attrs {
            attrs.set_item(&**name, self.value(None, value)?)?;
        }
        if let Some(before) = before
            && before.getattr(intern!(py, "body"))?.is(&body)
            && self.same_head(&before, &params, ret.as_ref(), func.attrs.len())?
        {
            return Ok(before);
        }
        let type_params = func.type_params.iter().map(|&param| self.types.ty(param)).collect::<PyResult<Vec<_>>>()?;
        let attrs = if attrs.is_empty() { py.None().into_bound(py) } else { self.classes.dict_attrs.bind(py).call1((attrs,))? };
        self.classes.function.bind(py).call1((params, body, ret, type_params, attrs))
    }

    fn same_head(
        &self,
        before: &Bound<'py, PyAny>,
        params: &[Bound<'py, PyAny>],
        ret: Option<&Bound<'py, PyAny>>,
        n_attrs: usize,
    ) -> PyResult<bool> {
        let py = self.py;
        if !same_items(&before.getattr(intern!(py, "params"))?, params)? {
            return Ok(false);
        }
        let ret_before = before.getattr(intern!(py, "ret_type"))?;
        let same_ret = match ret {
            Some(ret) => !ret_before.is_none() && ret_before.eq(ret)?,
            None => true,
        };
        let attrs = before.getattr(intern!(py, "attrs"))?;
        let n_before = if attrs.is_none() { 0 } else { attrs.getattr(intern!(py, "_values"))?.len()? };
        // A pass may add an attribute, and drops none that text cannot hold.
        Ok(same_ret && n_attrs <= n_before)
    }

    fn match_(&mut self, expr: ExprId, scrutinee: ExprId, clauses: Clauses, total: bool) -> PyResult<Bound<'py, PyAny>> {
        let (py, data) = (self.py, self.of(scrutinee));
        let module = self.module;
        let bodies: Vec<Bound<'py, PyAny>> = module.clause_items(clauses).iter().map(|clause| self.of(clause.body)).collect();
        if let Some(kept) = self.kept(expr, &[("data", &data)])? {
            let before = kept.getattr(intern!(py, "clauses"))?;
            let before: Vec<Bound<'py, PyAny>> =
                before.try_iter()?.map(|clause| clause?.getattr(intern!(py, "rhs"))).collect::<PyResult<_>>()?;
            if before.len() == bodies.len() && before.iter().zip(&bodies).all(|(a, b)| a.is(b)) && self.same_patterns(clauses) {
                return Ok(kept);
            }
        }
        let list = PyList::empty(py);
        for (clause, body) in module.clause_items(clauses).iter().zip(bodies) {
            let pattern = self.pattern(clause.pat)?;
            list.append(self.classes.clause.bind(py).call1((pattern, body))?)?;
        }
        self.classes.match_.bind(py).call1((data, list, total))
    }

    /// Whether the variables of patterns are known nodes: then they stand where they stood.
    fn same_patterns(&self, clauses: Clauses) -> bool {
        let vars = self.module.clause_items(clauses).iter().flat_map(|clause| self.module.pat_vars(clause.pat));
        vars.into_iter().all(|var| self.known.vars.contains_key(&var))
    }

    fn pattern(&mut self, root: PatId) -> PyResult<Bound<'py, PyAny>> {
        let (py, classes, module) = (self.py, self.classes, self.module);
        let mut done: FxHashMap<PatId, Bound<'py, PyAny>> = FxHashMap::default();
        let mut stack = vec![(root, false)];
        while let Some((pat, visited)) = stack.pop() {
            let parts = match module.pats[pat].kind {
                PatKind::Ctor(_, parts) | PatKind::Tuple(parts) => module.sub_pats(parts),
                _ => &[],
            };
            if !visited && !parts.is_empty() {
                stack.push((pat, true));
                stack.extend(parts.iter().map(|&part| (part, false)));
                continue;
            }
            let parts: Vec<_> = parts.iter().map(|part| done[part].clone()).collect();
            let node = match module.pats[pat].kind {
                PatKind::Error | PatKind::Wildcard => classes.wildcard.bind(py).call0()?,
                PatKind::Var(var) => classes.pattern_var.bind(py).call1((self.var(var)?,))?,
                PatKind::Ctor(ctor, _) => classes.pattern_constructor.bind(py).call1((self.constructor(ctor)?, parts))?,
                PatKind::Tuple(_) => classes.pattern_tuple.bind(py).call1((parts,))?,
            };
            done.insert(pat, node);
        }
        Ok(done[&root].clone())
    }
}

fn same_items<'py>(before: &Bound<'py, PyAny>, items: &[Bound<'py, PyAny>]) -> PyResult<bool> {
    if before.len()? != items.len() {
        return Ok(false);
    }
    for (before, item) in before.try_iter()?.zip(items) {
        if !before?.is(item) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The node of a constant. Its array is made when it is asked for; until then it shares the memory of the tensor.
fn constant_node<'py>(
    py: Python<'py>,
    module: &Module,
    known: &Known,
    classes: &Classes,
    made: &mut FxHashMap<ConstId, Bound<'py, PyAny>>,
    id: ConstId,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(known) = known.consts.get(&id) {
        return Ok(known.bind(py).clone());
    }
    if let Some(made) = made.get(&id) {
        return Ok(made.clone());
    }
    let tensor = Bound::new(py, NativeTensor { tensor: module.consts[id].clone() })?;
    let node = classes.constant.bind(py).call_method1(intern!(py, "_of_tensor"), (tensor,))?;
    made.insert(id, node.clone());
    Ok(node)
}
