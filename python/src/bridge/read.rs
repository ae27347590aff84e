//! Nodes to the IR.

use super::tensors::NativeTensor;
use super::types::{TypeReader, endless, kind, text, unsteady};
use super::{Known, address, values};
use crate::arrays::{dtype_named, tensor_of_type};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use relayc_base::Span;
use relayc_check::resolve::attr_value;
use relayc_ir::attrs::{AttrSchema, OpTable};
use relayc_ir::types::{Dim, Ty};
use relayc_ir::{
    Adt, AttrNames, AttrValue, Attrs, AttrsId, Clause, ConstId, Ctor, CtorId, ExprId, ExprKind, Func, FuncId, Global, GlobalId,
    Kind, Module, Operand, PatId, PatKind, Root, VarId,
};
use relayc_ops as ops;
use rustc_hash::{FxHashMap, FxHashSet};

/// A module of the IR, and the nodes that it was read from.
pub(crate) struct Read {
    pub(crate) module: Module,
    pub(crate) known: Known,
}

/// Reads a module: `functions` maps global variables to functions, `type_definitions` headers to data types.
pub(crate) fn module(functions: &Bound<'_, PyAny>, type_definitions: &Bound<'_, PyAny>) -> PyResult<Read> {
    let mut reader = Reader::new(functions.py());
    reader.data_types(type_definitions)?;
    reader.globals(functions)?;
    Ok(Read { module: reader.module, known: reader.known })
}

/// Reads an expression. Global variables and constructors need no definition.
pub(crate) fn expr(root: &Bound<'_, PyAny>) -> PyResult<Read> {
    let mut reader = Reader::new(root.py());
    let expr = reader.expr(root)?;
    reader.module.root = Root::Expr(expr);
    Ok(Read { module: reader.module, known: reader.known })
}

/// Reads nodes into one module.
pub(super) struct Reader<'py> {
    py: Python<'py>,
    module: Module,
    known: Known,
    types: TypeReader,
    exprs: FxHashMap<usize, ExprId>,
    vars: FxHashMap<usize, VarId>,
    consts: FxHashMap<usize, ConstId>,
    attrs: FxHashMap<usize, AttrsId>,
    ctors: FxHashMap<usize, CtorId>,
    funcs: FxHashMap<usize, FuncId>,
    globals: FxHashMap<String, GlobalId>,
    adts: FxHashMap<String, relayc_ir::AdtId>,
}

/// A step of the walk over expressions; the next one is on top.
enum Step<'py> {
    Enter(Bound<'py, PyAny>),
    Leave(Bound<'py, PyAny>),
}

impl values::Parts for Reader<'_> {
    fn constant_value(&mut self, constant: &Bound<'_, PyAny>) -> PyResult<AttrValue> {
        let id = self.constant(constant)?;
        Ok(AttrValue::Const(id, self.module.consts[id].clone()))
    }

    fn dim(&mut self, dim: &Bound<'_, PyAny>) -> PyResult<Dim> {
        self.types.dim(dim, &mut self.module.types, &mut self.known)
    }
}

impl<'py> Reader<'py> {
    fn new(py: Python<'py>) -> Self {
        let (exprs, vars, consts, attrs, ctors, funcs, globals, adts) = Default::default();
        let (module, known, types) = Default::default();
        Reader { py, module, known, types, exprs, vars, consts, attrs, ctors, funcs, globals, adts }
    }

    fn globals(&mut self, functions: &Bound<'py, PyAny>) -> PyResult<()> {
        let items: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> = functions
            .call_method0(intern!(self.py, "items"))?
            .try_iter()?
            .map(|item| item?.extract())
            .collect::<PyResult<_>>()?;
        for (var, function) in &items {
            // The IR has no expression in two functions: what they share is read for each.
            self.exprs.clear();
            self.vars.clear();
            self.funcs.clear();
            let id = self.global(var)?;
            let func = self.head(function)?;
            self.module.globals[id].func = func;
            self.known.functions.insert(self.module.globals[id].name.to_string(), function.clone().unbind());
            let body = function.getattr(intern!(self.py, "body"))?;
            self.module.funcs[func].body = self.expr(&body)?;
        }
        let undefined = self.module.globals.iter().find(|global| !self.known.functions.contains_key(&*global.name));
        match undefined {
            Some(global) => Err(PyValueError::new_err(format!(
                "the module has no function `@{}`: add it with `mod[...] = function`",
                global.name
            ))),
            None => Ok(()),
        }
    }

    /// The global variable; one without a function has an empty one for the time being.
    fn global(&mut self, var: &Bound<'py, PyAny>) -> PyResult<GlobalId> {
        let name = text(var, intern!(self.py, "name_hint"))?;
        if let Some(&known) = self.globals.get(&name) {
            return Ok(known);
        }
        let body = self.module.expr(Span::NONE, ExprKind::Error);
        let func = self.module.funcs.push(Func {
            span: Span::NONE,
            type_params: vec![],
            params: vec![],
            ret: None,
            ret_span: Span::NONE,
            body,
            attrs: vec![],
        });
        let id = self.module.globals.push(Global { name: name.as_str().into(), func, span: Span::NONE });
        self.known.globals.insert(name.clone(), var.clone().unbind());
        self.globals.insert(name, id);
        Ok(id)
    }

    fn data_types(&mut self, definitions: &Bound<'py, PyAny>) -> PyResult<()> {
        let values = definitions.call_method0(intern!(self.py, "values"))?;
        let all: Vec<Bound<'py, PyAny>> = values.try_iter()?.collect::<PyResult<_>>()?;
        for data in &all {
            let header = data.getattr(intern!(self.py, "header"))?;
            let name = text(&header, intern!(self.py, "name_hint"))?;
            let id = self.adt(&name);
            self.known.adts.insert(id, data.clone().unbind());
            self.known.headers.insert(name, header.unbind());
        }
        for data in &all {
            let name = text(&data.getattr(intern!(self.py, "header"))?, intern!(self.py, "name_hint"))?;
            let id = self.adt(&name);
            let params = data.getattr(intern!(self.py, "type_vars"))?;
            let params = params.try_iter()?.map(|param| self.ty(&param?)).collect::<PyResult<Vec<_>>>()?;
            self.module.adts[id].params = params;
            for ctor in data.getattr(intern!(self.py, "constructors"))?.try_iter()? {
                self.constructor(&ctor?)?;
            }
        }
        Ok(())
    }

    fn adt(&mut self, name: &str) -> relayc_ir::AdtId {
        let module = &mut self.module;
        *self
            .adts
            .entry(name.to_owned())
            .or_insert_with(|| module.adts.push(Adt { name: name.into(), params: vec![], ctors: vec![], span: Span::NONE }))
    }

    fn constructor(&mut self, ctor: &Bound<'py, PyAny>) -> PyResult<CtorId> {
        if let Some(&known) = self.ctors.get(&address(ctor)) {
            return Ok(known);
        }
        let name = text(ctor, intern!(self.py, "name_hint"))?;
        let of = text(&ctor.getattr(intern!(self.py, "belong_to"))?, intern!(self.py, "name_hint"))?;
        let adt = self.adt(&of);
        let inputs = ctor.getattr(intern!(self.py, "inputs"))?;
        let inputs = inputs.try_iter()?.map(|input| self.ty(&input?)).collect::<PyResult<Vec<_>>>()?;
        let params = self.module.adts[adt].params.clone();
        let types = &mut self.module.types;
        let ret = types.intern(relayc_ir::types::TyData::Adt { name: of.as_str().into(), args: params.clone().into() });
        let ty = types.intern(relayc_ir::types::TyData::Fn { type_params: params.into(), params: inputs.clone().into(), ret });
        let id = self.module.ctors.push(Ctor { name: name.into(), adt, inputs, ty, span: Span::NONE });
        self.module.adts[adt].ctors.push(id);
        self.ctors.insert(address(ctor), id);
        self.known.ctors.insert(id, ctor.clone().unbind());
        Ok(id)
    }

    fn ty(&mut self, ty: &Bound<'py, PyAny>) -> PyResult<Ty> {
        self.types.ty(ty, &mut self.module.types, &mut self.known)
    }

    /// A type that may be absent.
    fn optional_ty(&mut self, ty: &Bound<'py, PyAny>) -> PyResult<Option<Ty>> {
        if ty.is_none() { Ok(None) } else { self.ty(ty).map(Some) }
    }

    fn constant(&mut self, constant: &Bound<'_, PyAny>) -> PyResult<ConstId> {
        if let Some(&known) = self.consts.get(&address(constant)) {
            return Ok(known);
        }
        let py = constant.py();
        let tensor = match constant.getattr(intern!(py, "_tensor")) {
            Ok(tensor) if !tensor.is_none() => tensor.extract::<PyRef<'_, NativeTensor>>()?.tensor.clone(),
            _ => {
                let data = constant.getattr(intern!(py, "data"))?;
                let dtype = text(&data, intern!(py, "dtype"))?;
                tensor_of_type("constant", &data.getattr(intern!(py, "_array"))?, dtype_named("constant", &dtype)?)?
            }
        };
        let id = self.module.consts.push(tensor);
        self.consts.insert(address(constant), id);
        self.known.consts.insert(id, constant.clone().unbind());
        Ok(id)
    }

    fn var(&mut self, var: &Bound<'py, PyAny>) -> PyResult<VarId> {
        if let Some(&known) = self.vars.get(&address(var)) {
            return Ok(known);
        }
        let name = text(var, intern!(self.py, "name_hint"))?;
        let ty = self.optional_ty(&var.getattr(intern!(self.py, "type_annotation"))?)?;
        let checked = self.optional_ty(&var.getattr(intern!(self.py, "_checked_type_"))?)?;
        let id = self.module.var(&name, ty, Span::NONE);
        self.module.vars[id].checked_ty = checked;
        self.vars.insert(address(var), id);
        self.known.vars.insert(id, var.clone().unbind());
        Ok(id)
    }

    fn expr(&mut self, root: &Bound<'py, PyAny>) -> PyResult<ExprId> {
        self.walk(root)?;
        self.mention(root)
    }

    /// Reads everything below an expression, and the expression.
    fn walk(&mut self, root: &Bound<'py, PyAny>) -> PyResult<()> {
        let mut steps = vec![Step::Enter(root.clone())];
        let mut open = FxHashSet::default();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(node) => {
                    if self.exprs.contains_key(&address(&node)) {
                        continue;
                    }
                    let children = children(&node)?;
                    if let Some(children) = children {
                        if &*kind(&node)? == "Function" {
                            self.head(&node)?;
                        }
                        if !open.insert(address(&node)) {
                            return Err(endless(&node));
                        }
                        steps.push(Step::Leave(node));
                        steps.extend(children.into_iter().rev().map(Step::Enter));
                    }
                }
                Step::Leave(node) => {
                    if !self.exprs.contains_key(&address(&node)) {
                        let kind = self.node(&node)?;
                        let id = self.made(&node, kind)?;
                        self.exprs.insert(address(&node), id);
                    }
                }
            }
        }
        Ok(())
    }

    /// The expression of a node that is read, as an operand: variables and names are an expression at each mention.
    fn mention(&mut self, node: &Bound<'py, PyAny>) -> PyResult<ExprId> {
        if let Some(&known) = self.exprs.get(&address(node)) {
            return Ok(known);
        }
        let kind = match &*kind(node)? {
            "Var" => ExprKind::Var(self.var(node)?),
            "GlobalVar" => ExprKind::Global(self.global(node)?),
            "Constructor" => ExprKind::Ctor(self.constructor(node)?),
            "Op" => {
                let name = text(node, intern!(self.py, "name"))?;
                match ops::table().find(&name) {
                    Some(op) => ExprKind::Op(op),
                    None => return Err(PyValueError::new_err(format!("relayc has no operator `{name}`"))),
                }
            }
            "Constant" => {
                let kind = ExprKind::Const(self.constant(node)?);
                let id = self.made(node, kind)?;
                self.exprs.insert(address(node), id);
                return Ok(id);
            }
            other => return Err(PyTypeError::new_err(format!("expected an expression of Relay, found a `{other}`"))),
        };
        self.made(node, kind)
    }

    /// Adds an expression, with the type that an earlier inference left at its node.
    fn made(&mut self, node: &Bound<'py, PyAny>, kind: ExprKind) -> PyResult<ExprId> {
        let id = self.module.expr(Span::NONE, kind);
        self.known.exprs.insert(id, node.clone().unbind());
        let shared = matches!(kind, ExprKind::Op(_) | ExprKind::Global(_) | ExprKind::Ctor(_));
        let ty = node.getattr(intern!(self.py, "_checked_type_"))?;
        if !shared && let Some(ty) = self.optional_ty(&ty)? {
            self.module.expr_tys.grow(self.module.exprs.len(), None);
            self.module.expr_tys[id] = Some(ty);
        }
        Ok(id)
    }

    fn field(&mut self, node: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<ExprId> {
        self.mention(&node.getattr(name)?)
    }

    fn operands(&mut self, list: &Bound<'py, PyAny>) -> PyResult<relayc_ir::Operands> {
        let items = list.try_iter()?.map(|item| Ok(Operand { expr: self.mention(&item?)?, span: Span::NONE }));
        let items: Vec<Operand> = items.collect::<PyResult<_>>()?;
        Ok(self.module.operands(&items))
    }

    /// An expression whose parts are read.
    fn node(&mut self, node: &Bound<'py, PyAny>) -> PyResult<ExprKind> {
        let py = self.py;
        Ok(match &*kind(node)? {
            "Tuple" => ExprKind::Tuple(self.operands(&node.getattr(intern!(py, "fields"))?)?),
            "TupleGetItem" => ExprKind::Proj {
                tuple: self.field(node, intern!(py, "tuple_value"))?,
                index: node.getattr(intern!(py, "index"))?.extract()?,
            },
            "Call" => {
                let op = node.getattr(intern!(py, "op"))?;
                let callee = self.mention(&op)?;
                let args = self.operands(&node.getattr(intern!(py, "args"))?)?;
                let attrs = self.call_attrs(callee, &node.getattr(intern!(py, "attrs"))?)?;
                ExprKind::Call { callee, args, attrs }
            }
            "Function" => {
                let func = self.head(node)?;
                self.module.funcs[func].body = self.field(node, intern!(py, "body"))?;
                ExprKind::Fn(func)
            }
            "Let" => {
                let var = self.var(&node.getattr(intern!(py, "var"))?)?;
                ExprKind::Let {
                    var,
                    value: self.field(node, intern!(py, "value"))?,
                    body: self.field(node, intern!(py, "body"))?,
                }
            }
            "If" => ExprKind::If {
                cond: self.field(node, intern!(py, "cond"))?,
                then_branch: self.field(node, intern!(py, "true_branch"))?,
                else_branch: self.field(node, intern!(py, "false_branch"))?,
            },
            "RefCreate" => ExprKind::RefNew(self.field(node, intern!(py, "value"))?),
            "RefRead" => ExprKind::RefRead(self.field(node, intern!(py, "ref"))?),
            "RefWrite" => {
                ExprKind::RefWrite { cell: self.field(node, intern!(py, "ref"))?, value: self.field(node, intern!(py, "value"))? }
            }
            "Match" => self.match_(node)?,
            other => return Err(PyTypeError::new_err(format!("expected an expression of Relay, found a `{other}`"))),
        })
    }

    fn match_(&mut self, node: &Bound<'py, PyAny>) -> PyResult<ExprKind> {
        let py = self.py;
        let scrutinee = self.field(node, intern!(py, "data"))?;
        let mut clauses = vec![];
        for clause in node.getattr(intern!(py, "clauses"))?.try_iter()? {
            let clause = clause?;
            let pat = self.pattern(&clause.getattr(intern!(py, "lhs"))?)?;
            clauses.push(Clause { pat, body: self.field(&clause, intern!(py, "rhs"))? });
        }
        let clauses = self.module.clauses(&clauses);
        Ok(ExprKind::Match { scrutinee, clauses, total: node.getattr(intern!(py, "complete"))?.is_truthy()? })
    }

    fn pattern(&mut self, root: &Bound<'py, PyAny>) -> PyResult<PatId> {
        let py = self.py;
        let mut done: FxHashMap<usize, PatId> = FxHashMap::default();
        let mut open = FxHashSet::default();
        let mut stack = vec![(root.clone(), false)];
        while let Some((pat, visited)) = stack.pop() {
            let parts: Vec<Bound<'py, PyAny>> = match &*kind(&pat)? {
                "PatternConstructor" | "PatternTuple" => {
                    pat.getattr(intern!(py, "patterns"))?.try_iter()?.collect::<PyResult<_>>()?
                }
                _ => vec![],
            };
            if !visited && !parts.is_empty() && !done.contains_key(&address(&pat)) {
                if !open.insert(address(&pat)) {
                    return Err(endless(&pat));
                }
                stack.push((pat, true));
                stack.extend(parts.into_iter().map(|part| (part, false)));
                continue;
            }
            let of = |part| done.get(&address(part)).copied().ok_or_else(|| unsteady(part));
            let parts = parts.iter().map(of).collect::<PyResult<Vec<PatId>>>()?;
            let kind = match &*kind(&pat)? {
                "PatternWildcard" => PatKind::Wildcard,
                "PatternVar" => PatKind::Var(self.var(&pat.getattr(intern!(py, "var"))?)?),
                "PatternConstructor" => {
                    let ctor = self.constructor(&pat.getattr(intern!(py, "constructor"))?)?;
                    PatKind::Ctor(ctor, self.module.pats(&parts))
                }
                "PatternTuple" => PatKind::Tuple(self.module.pats(&parts)),
                other => return Err(PyTypeError::new_err(format!("expected a pattern, found a `{other}`"))),
            };
            done.insert(address(&pat), self.module.pats.push(relayc_ir::Pat { span: Span::NONE, kind }));
        }
        done.get(&address(root)).copied().ok_or_else(|| unsteady(root))
    }

    /// A function without its body.
    fn head(&mut self, node: &Bound<'py, PyAny>) -> PyResult<FuncId> {
        if let Some(&known) = self.funcs.get(&address(node)) {
            return Ok(known);
        }
        let py = self.py;
        if &*kind(node)? != "Function" {
            return Err(PyTypeError::new_err(format!("expected a function, found a `{}`", kind(node)?)));
        }
        let type_params = node.getattr(intern!(py, "type_params"))?;
        let type_params = type_params.try_iter()?.map(|param| self.ty(&param?)).collect::<PyResult<Vec<_>>>()?;
        let params = node.getattr(intern!(py, "params"))?;
        let params = params.try_iter()?.map(|param| self.var(&param?)).collect::<PyResult<Vec<_>>>()?;
        let ret = self.optional_ty(&node.getattr(intern!(py, "ret_type"))?)?;
        let attrs = self.func_attrs(&node.getattr(intern!(py, "attrs"))?)?;
        let body = self.module.expr(Span::NONE, ExprKind::Error);
        let func = Func { span: Span::NONE, type_params, params, ret, ret_span: Span::NONE, body, attrs };
        let id = self.module.funcs.push(func);
        self.funcs.insert(address(node), id);
        Ok(id)
    }

    fn func_attrs(&mut self, attrs: &Bound<'py, PyAny>) -> PyResult<Vec<(Box<str>, AttrValue)>> {
        if attrs.is_none() {
            return Ok(vec![]);
        }
        let items: Vec<(String, Bound<'py, PyAny>)> = items(attrs)?;
        // What is no value of text stays with the node: [`super::write`] gives a function that is left as it was back as it was.
        Ok(items.into_iter().filter_map(|(name, value)| Some((name.into(), values::raw(self, &value).ok()?))).collect())
    }

    fn call_attrs(&mut self, callee: ExprId, attrs: &Bound<'py, PyAny>) -> PyResult<Option<AttrsId>> {
        let ExprKind::Op(op) = self.module.exprs[callee].kind else { return self.other_attrs(attrs) };
        let table = ops::table();
        let Some(schema) = table.schema(op).or(table.meta_schema(op)) else { return Ok(None) };
        if !attrs.is_none()
            && let Some(&known) = self.attrs.get(&address(attrs))
        {
            return Ok(Some(known));
        }
        let given: FxHashMap<String, Bound<'py, PyAny>> =
            if attrs.is_none() { FxHashMap::default() } else { items(attrs)?.into_iter().collect() };
        let values = self.fields(table.name(op), schema, &given)?;
        let id = self.module.attrs.push(Attrs { values, spans: Box::default() });
        if !attrs.is_none() {
            self.attrs.insert(address(attrs), id);
            self.known.attrs.insert(id, attrs.clone().unbind());
        }
        Ok(Some(id))
    }

    fn fields(
        &mut self,
        op: &str,
        schema: &AttrSchema,
        given: &FxHashMap<String, Bound<'py, PyAny>>,
    ) -> PyResult<Box<[AttrValue]>> {
        let mut values = vec![];
        for field in schema.fields {
            values.push(match given.get(field.name) {
                // It repeats an operand, so it says nothing new unless it is a constant.
                Some(value) if field.kind == Kind::Expr && kind(value).is_ok_and(|kind| kind != "Constant") => AttrValue::None,
                // Devices and functions of Python change no result here; they stay with the attributes, which a pass keeps whole.
                Some(value) if matches!(field.kind, Kind::ObjectOf(_)) && !value.is_none() => AttrValue::None,
                Some(value) => {
                    let raw = values::raw(self, value).map_err(|error| {
                        PyTypeError::new_err(format!("`{op}`: attribute `{}`: {}", field.name, error.value(self.py)))
                    })?;
                    attr_value(field.kind, &raw).ok_or_else(|| {
                        let words = field.kind.words();
                        PyTypeError::new_err(format!("`{op}`: attribute `{}` is {words}, found {value}", field.name))
                    })?
                }
                None => match field.default {
                    Some(default) => default(),
                    None => return Err(PyTypeError::new_err(format!("`{op}`: attribute `{}` is missing", field.name))),
                },
            });
        }
        Ok(values.into())
    }

    /// The attributes of a call whose callee is no operator.
    fn other_attrs(&mut self, attrs: &Bound<'py, PyAny>) -> PyResult<Option<AttrsId>> {
        if attrs.is_none() {
            return Ok(None);
        }
        let items = items(attrs)?;
        if items.is_empty() {
            return Ok(None);
        }
        let type_key = text(attrs, intern!(self.py, "type_key"))?;
        let values = items.iter().map(|(_, value)| values::raw(self, value)).collect::<PyResult<_>>()?;
        let names = items.into_iter().map(|(name, _)| name.into()).collect();
        let id = self.module.attrs.push(Attrs { values, spans: Box::default() });
        self.module.attr_names.insert(id, AttrNames { type_key: type_key.into(), names });
        self.known.attrs.insert(id, attrs.clone().unbind());
        Ok(Some(id))
    }
}

/// The names and values of attributes.
fn items<'py>(attrs: &Bound<'py, PyAny>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let values = attrs.getattr(intern!(attrs.py(), "_values"))?;
    values.call_method0(intern!(attrs.py(), "items"))?.try_iter()?.map(|item| item?.extract()).collect()
}

/// The expressions directly inside of a node, in order; `None` for a leaf.
fn children<'py>(node: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let py = node.py();
    let field = |name: &Bound<'py, PyString>| node.getattr(name);
    Ok(Some(match &*kind(node)? {
        "Tuple" => field(intern!(py, "fields"))?.try_iter()?.collect::<PyResult<_>>()?,
        "TupleGetItem" => vec![field(intern!(py, "tuple_value"))?],
        "Call" => {
            let mut all = vec![field(intern!(py, "op"))?];
            for arg in field(intern!(py, "args"))?.try_iter()? {
                all.push(arg?);
            }
            all
        }
        "Function" => vec![field(intern!(py, "body"))?],
        "Let" => vec![field(intern!(py, "value"))?, field(intern!(py, "body"))?],
        "If" => vec![field(intern!(py, "cond"))?, field(intern!(py, "true_branch"))?, field(intern!(py, "false_branch"))?],
        "RefCreate" => vec![field(intern!(py, "value"))?],
        "RefRead" => vec![field(intern!(py, "ref"))?],
        "RefWrite" => vec![field(intern!(py, "ref"))?, field(intern!(py, "value"))?],
        "Match" => {
            let mut all = vec![field(intern!(py, "data"))?];
            for clause in field(intern!(py, "clauses"))?.try_iter()? {
                all.push(clause?.getattr(intern!(py, "rhs"))?);
            }
            all
        }
        _ => return Ok(None),
    }))
}

/// A node that is read alone.
pub(crate) enum Any {
    Expr(Box<Read>),
    /// A type or a pattern, which has a text only.
    Text(String),
}

/// Reads an expression, a type or a pattern.
pub(crate) fn any(node: &Bound<'_, PyAny>) -> PyResult<Any> {
    let kind = kind(node)?;
    if kind.starts_with("Pattern") {
        let mut reader = Reader::new(node.py());
        let pattern = reader.pattern(node)?;
        let module = &reader.module;
        return Ok(Any::Text(relayc_ir::print::pattern(module, pattern, &mut |var| format!("%{}", module.vars[var].name))));
    }
    if kind.ends_with("Type") || matches!(kind.as_str(), "TypeVar" | "GlobalTypeVar" | "TypeCall") {
        let mut reader = Reader::new(node.py());
        let ty = reader.ty(node)?;
        return Ok(Any::Text(reader.module.types.text(ty)));
    }
    Ok(Any::Expr(Box::new(expr(node)?)))
}
