//! Converts an optimized function to a graph: its groups are the calls, in the order in which TVM's code generator visits them.
//!
//! The graph executor runs one sequence of calls on tensors of known shapes. One walk collects everything else, and the result
//! refuses all of it at once.

#![allow(clippy::indexing_slicing, reason = "nothing here reads bytes: a module's indices are its own")]

use super::names::{self, Names};
use super::{Call, Graph, Info, NOP, Node, Ref, storage};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::attrs::{AttrValue, OpTable};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Dim, Ty, checked_bytes, dims_of, shape_text};
use relayc_ir::{ConstId, ExprId, ExprKind, FuncId, Module, VarId};
use relayc_ops::{self as ops, Table};
use relayc_weights::Named;
use relayc_weights::errors::{self, Refused};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;
use std::rc::Rc;

/// The device type of the processor.
const CPU: u32 = 1;

/// Converts a function of a typed and optimized module.
///
/// A call of a function marked `Primitive=1` becomes a call of the graph, and so does a call of an operator outside any group.
/// Constants become inputs `p0`, `p1`, … with values. Errors: E0708 for everything that the graph executor cannot run.
pub fn of_function(module: &Module, func: FuncId) -> Result<(Graph, Named), Diagnostic> {
    let mut build = Build {
        module,
        ops: ops::table(),
        graph: Graph { rows: vec![0], ..Graph::default() },
        constants: vec![],
        constant_refs: FxHashMap::default(),
        values: FxHashMap::default(),
        vars: FxHashMap::default(),
        lets: FxHashMap::default(),
        taken: FxHashSet::default(),
        functions: FxHashMap::default(),
        function_names: Names::default(),
        node_names: Names::default(),
        refused: Refused::default(),
    };
    build.params(func);
    let body = module.funcs[func].body;
    let order = module.post_order_by(&[body], dataflow);
    for &expr in &order {
        if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind {
            build.lets.insert(var, value);
        }
    }
    for expr in order {
        let refs = build.visit(expr);
        build.values.insert(expr, refs);
    }
    build.graph.heads = build.refs(body).to_vec();
    // What was refused before is silent.
    if build.graph.heads.is_empty() && build.refused.is_empty() {
        build.refuse("the result", "it holds no tensor", module.exprs[body].span);
    }
    if !build.refused.is_empty() {
        return Err(errors::refused("the graph executor", &build.refused)
            .help("the graph executor runs one list of operators on tensors of known shapes: `--set` gives dimensions numbers"));
    }
    storage::plan(&mut build.graph);
    Ok((build.graph, build.constants))
}

/// The expressions that a value depends on; a callee that is an operator or a group belongs to the call.
fn dataflow(module: &Module, expr: ExprId, out: &mut Vec<ExprId>) {
    match module.exprs[expr].kind {
        ExprKind::Call { args, .. } => out.extend(module.items(args).iter().map(|arg| arg.expr)),
        ExprKind::Fn(_) => {}
        _ => module.children(expr, out),
    }
}

/// A compiled function: its name, and the attributes of its calls.
#[derive(Clone)]
struct Function {
    name: String,
    attrs: Vec<(String, String)>,
}

struct Build<'a> {
    module: &'a Module,
    ops: &'static Table,
    graph: Graph,
    constants: Named,
    constant_refs: FxHashMap<ConstId, Rc<[Ref]>>,
    /// The tensors of a value; empty for values that a graph cannot contain.
    values: FxHashMap<ExprId, Rc<[Ref]>>,
    /// Tensors of parameters.
    vars: FxHashMap<VarId, Rc<[Ref]>>,
    /// The values of `let` variables, which are computed before their uses.
    lets: FxHashMap<VarId, ExprId>,
    /// Names of inputs.
    taken: FxHashSet<String>,
    /// Functions by their computation.
    functions: FxHashMap<String, Function>,
    function_names: Names,
    node_names: Names,
    refused: Refused,
}

impl Build<'_> {
    fn refuse(&mut self, what: impl Into<String>, reason: impl Into<String>, span: Span) {
        let entry = self.refused.entry((what.into(), reason.into())).or_insert((0, span));
        entry.0 = entry.0.saturating_add(1);
    }

    fn refs(&self, expr: ExprId) -> Rc<[Ref]> {
        self.values.get(&expr).cloned().unwrap_or_default()
    }

    fn params(&mut self, func: FuncId) {
        let module = self.module;
        for &var in &module.funcs[func].params {
            let (name, span) = (module.vars[var].name.to_string(), module.vars[var].span);
            let ty = module.vars[var].checked_ty.or(module.vars[var].ty).unwrap_or(Ty::ERROR);
            let what = format!("`%{name}`");
            let refs = match module.types.as_tensor(ty) {
                Some(_) => self.node(Node { name: name.clone(), call: None }, ty, &what, span),
                None => {
                    self.refuse(what, "an input that is no tensor", span);
                    Rc::default()
                }
            };
            self.taken.insert(name);
            self.vars.insert(var, refs);
        }
    }

    fn visit(&mut self, expr: ExprId) -> Rc<[Ref]> {
        let module = self.module;
        let span = module.exprs[expr].span;
        match module.exprs[expr].kind {
            ExprKind::Var(var) => match self.lets.get(&var) {
                Some(&value) => self.refs(value),
                None => self.vars.get(&var).cloned().unwrap_or_default(),
            },
            ExprKind::Const(id) => self.constant(id, module.ty(expr), span),
            ExprKind::Tuple(fields) => module.items(fields).iter().flat_map(|field| self.refs(field.expr).to_vec()).collect(),
            ExprKind::Proj { tuple, index } => {
                let refs = self.refs(tuple);
                let flat = module.types.as_tuple(module.ty(tuple)).is_some_and(|fields| fields.len() == refs.len());
                let field = usize::try_from(index).ok().filter(|_| flat).and_then(|index| refs.get(index).copied());
                if field.is_none() && !refs.is_empty() {
                    self.refuse("a projection", "a tuple inside of a tuple", span);
                }
                field.into_iter().collect()
            }
            ExprKind::Let { body, .. } => self.refs(body),
            ExprKind::Call { callee, args, .. } => {
                self.call(expr, callee, module.items(args).iter().map(|arg| arg.expr).collect())
            }
            ExprKind::Error | ExprKind::Op(_) | ExprKind::Ctor(_) => Rc::default(),
            ExprKind::Global(_) | ExprKind::Fn(_) => self.construct("a function as a value", span),
            ExprKind::If { .. } => self.construct("`if`", span),
            ExprKind::Match { .. } => self.construct("`match`", span),
            ExprKind::RefNew(_) | ExprKind::RefRead(_) | ExprKind::RefWrite { .. } => self.construct("a reference", span),
        }
    }

    fn construct(&mut self, what: &str, span: Span) -> Rc<[Ref]> {
        self.refuse(what, "it runs one list of calls", span);
        Rc::default()
    }

    /// Adds an input with its value.
    fn constant(&mut self, id: ConstId, ty: Ty, span: Span) -> Rc<[Ref]> {
        if let Some(refs) = self.constant_refs.get(&id) {
            return refs.clone();
        }
        let mut number = self.constants.len();
        let name = loop {
            let name = format!("p{number}");
            if self.taken.insert(name.clone()) {
                break name;
            }
            number = number.saturating_add(1);
        };
        let refs = self.node(Node { name: name.clone(), call: None }, ty, "a constant", span);
        self.constants.push((name, self.module.consts[id].clone()));
        self.constant_refs.insert(id, refs.clone());
        refs
    }

    fn call(&mut self, expr: ExprId, callee: ExprId, args: Vec<ExprId>) -> Rc<[Ref]> {
        let module = self.module;
        let span = module.exprs[expr].span;
        let body = match module.exprs[callee].kind {
            ExprKind::Op(_) => None,
            ExprKind::Fn(func) if module.funcs[func].is_primitive() => Some(func),
            ExprKind::Global(global) => {
                self.refuse(format!("a call of `@{}`", module.globals[global].name), "it runs one list of calls", span);
                return Rc::default();
            }
            _ => return self.construct("a call of a function", span),
        };
        let inputs: Vec<Ref> = args.iter().flat_map(|&arg| self.refs(arg).to_vec()).collect();
        let group = Group::of(module, self.ops, expr, body);
        let what = format!("`{}`", group.ops.join("`, `"));
        if let (true, [input]) = (group.reshapes, &inputs[..]) {
            let call = Call { func: NOP.to_owned(), inputs: vec![*input], flatten: false, attrs: vec![] };
            let node = Node { name: "reshape_nop".to_owned(), call: Some(call) };
            return self.node(node, module.ty(expr), &what, span);
        }
        let names = &mut self.function_names;
        let function = self.functions.entry(group.key).or_insert_with_key(|key| {
            let mut attrs = group.layouts;
            attrs.push(("hash".to_owned(), format!("{:016x}", names::hash(key.as_bytes()))));
            Function { name: names.fresh(&names::function(&group.ops)), attrs }
        });
        let Function { name, attrs } = function.clone();
        let call = Call { func: name.clone(), inputs, flatten: false, attrs };
        let node = Node { name: self.node_names.fresh(&name), call: Some(call) };
        self.node(node, module.ty(expr), &what, span)
    }

    /// Adds a node with results of a type.
    fn node(&mut self, node: Node, ty: Ty, what: &str, span: Span) -> Rc<[Ref]> {
        let types = &self.module.types;
        let results = match types.as_tuple(ty) {
            Some(fields) => fields.to_vec(),
            None => vec![ty],
        };
        let number = u32::try_from(self.graph.nodes.len()).unwrap_or(u32::MAX);
        let mut refs = Vec::new();
        for (index, &result) in (0u32..).zip(&results) {
            match info(self.module, result) {
                Ok(info) => self.graph.tensors.push(info),
                Err(reason) => {
                    self.refuse(what, reason, span);
                    return Rc::default();
                }
            }
            refs.push(Ref { node: number, index, version: 0 });
        }
        self.graph.nodes.push(node);
        self.graph.rows.push(u32::try_from(self.graph.tensors.len()).unwrap_or(u32::MAX));
        refs.into()
    }
}

/// The tensor of a type. Errors: why a graph cannot contain it.
fn info(module: &Module, ty: Ty) -> Result<Info, String> {
    let Some((dims, dtype)) = module.types.as_tensor(ty) else { return Err("a result that is no tuple of tensors".to_owned()) };
    let unknown = dims.iter().any(|dim: &Dim| dim.value().is_none());
    let shape = dims_of(dims).filter(|shape| !unknown && checked_bytes(shape, dtype).is_some());
    let shape = shape.ok_or_else(|| format!("a dimension of {} that only a run knows", shape_text(dims)))?;
    Ok(Info { shape, dtype, storage: 0, device: Some(CPU) })
}

/// The computation of one call of the graph.
struct Group {
    /// Operators in evaluation order.
    ops: Vec<&'static str>,
    /// The layout attributes of its operators; the last one of each name.
    layouts: Vec<(String, String)>,
    /// Whether it only changes the shape.
    reshapes: bool,
    /// A key that is equal for groups with equal computations.
    key: String,
}

impl Group {
    /// The group of a call of a group's function, or of an operator.
    fn of(module: &Module, ops: &Table, call: ExprId, func: Option<FuncId>) -> Group {
        let mut group = Group { ops: vec![], layouts: vec![], reshapes: true, key: String::new() };
        let order = match func {
            Some(func) => module.post_order_by(&[module.funcs[func].body], dataflow),
            None => vec![call],
        };
        let params: FxHashMap<VarId, usize> =
            func.iter().flat_map(|&func| &module.funcs[func].params).enumerate().map(|(at, &var)| (var, at)).collect();
        let numbers: FxHashMap<ExprId, usize> = order.iter().enumerate().map(|(number, &expr)| (expr, number)).collect();
        for &expr in &order {
            let mut children = vec![];
            dataflow(module, expr, &mut children);
            // The operands of an operator that stands alone are outside, and known by their types.
            let names: Vec<String> = children
                .iter()
                .map(|child| {
                    numbers.get(child).map_or_else(|| module.types.text(module.ty(*child)), |number| format!("%{number}"))
                })
                .collect();
            let word = group.word(module, ops, expr, &params);
            let _ = writeln!(group.key, "{} {word}({})", module.types.text(module.ty(expr)), names.join(", "));
        }
        group.reshapes &= !group.ops.is_empty();
        group
    }

    /// Encodes an expression for the key, and records its operators.
    fn word(&mut self, module: &Module, ops: &Table, expr: ExprId, params: &FxHashMap<VarId, usize>) -> String {
        match module.exprs[expr].kind {
            ExprKind::Var(var) => params.get(&var).map_or("var".to_owned(), |at| format!("p{at}")),
            ExprKind::Const(id) => constant_text(&module.consts[id]),
            ExprKind::Tuple(_) => {
                self.reshapes = false;
                "tuple".to_owned()
            }
            ExprKind::Proj { index, .. } => {
                self.reshapes = false;
                format!("proj {index}")
            }
            ExprKind::Call { callee, attrs, .. } => {
                let ExprKind::Op(op) = module.exprs[callee].kind else { return "call".to_owned() };
                self.ops.push(ops.name(op));
                self.reshapes &= ops.def(op).reshapes;
                let values = attrs.map_or(&[][..], |attrs| &module.attrs[attrs].values);
                let fields = ops.schema(op).or(ops.meta_schema(op)).map_or(&[][..], |schema| schema.fields);
                for (field, value) in fields.iter().zip(values) {
                    if let (true, AttrValue::Str(text)) = (field.name.contains("layout"), value) {
                        self.layouts.retain(|(name, _)| name != field.name);
                        self.layouts.push((field.name.to_owned(), text.to_string()));
                    }
                }
                let values: Vec<String> = values.iter().map(value_text).collect();
                format!("{} [{}]", ops.name(op), values.join(", "))
            }
            ref other => format!("{other:?}"),
        }
    }
}

/// A constant as its bytes.
fn constant_text(tensor: &Tensor) -> String {
    format!("{} {:016x}", tensor.type_text(), names::hash(&tensor.to_le_bytes()))
}

fn value_text(value: &AttrValue) -> String {
    match value {
        AttrValue::Const(_, tensor) => constant_text(tensor),
        other => format!("{other:?}"),
    }
}
