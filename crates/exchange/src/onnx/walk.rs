//! Converts a program to a graph: functions are inlined at their calls, `let` and graph variables become names, tuples are
//! flattened.
//!
//! A function's expressions are visited in evaluation order, each once in a scope. A scope is one call, and sees the values of
//! the scopes around it. Nothing recurses: calls are frames on a stack. Branches and loops are nodes with blocks of nodes inside
//! (`walk/blocks.rs`). Constructs that ONNX cannot express are recorded and replaced by a value of their type, so one walk finds
//! all of them.

mod blocks;
mod placed;

use super::errors::{self, Refused};
use super::import::names::is_name_of;
use super::{Export, bias};
use blocks::{Part, PartDone};
use placed::Placed;
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::attrs::{AttrValue, OpId, OpTable};
use relayc_ir::types::{DType, Dim, Ty, TyData};
use relayc_ir::{AttrsId, ExprId, ExprKind, FuncId, Module, VarId};
use relayc_ops::onnx::{Graph, Node, NodeAttr, Onnx, OnnxCx, Operand, Results, Sizes, ValueId, dtype_code};
use relayc_ops::{self as ops, Table};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Maximum number of visits of expressions, in all calls together.
const MAX_STEPS: u64 = 1 << 25;

/// Maximum nesting of tuples in inputs and results, which are named by their paths.
const MAX_DEPTH: usize = 64;

/// Maximum number of tensors of an input or of the result: nested shared tuples may have exponentially many.
const MAX_LEAVES: usize = 65_536;

/// A graph with its inputs and outputs.
pub(crate) struct Finished {
    pub(crate) graph: Graph,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<ValueId>,
}

/// The value of an expression during the walk.
#[derive(Clone, Copy, Debug)]
enum Val {
    Tensor(ValueId),
    /// A tuple, by the location of its fields.
    Tuple(usize),
    /// A function, and its defining scope.
    Closure(FuncId, usize),
    /// A value that ONNX lacks, or a refused one.
    Nothing,
}

/// One call of a function.
#[derive(Default)]
struct Scope {
    /// The scope of the function's definition.
    parent: Option<usize>,
    vars: FxHashMap<VarId, Val>,
    values: FxHashMap<ExprId, Val>,
}

/// An expression in a scope, whose value a frame finds.
type Place = (usize, ExprId);

/// An evaluation in progress.
struct Frame {
    scope: usize,
    placed: Rc<Placed>,
    order: Rc<[ExprId]>,
    next: usize,
    /// The expression whose value is the result.
    body: ExprId,
    then: Then,
}

/// What becomes of a frame's result.
enum Then {
    /// It is that of a call of a function; `None` for the entry.
    Return(FuncId, Option<Place>),
    /// It is one of a node with blocks inside.
    Block(Box<Part>),
}

/// The outcome of visiting an expression.
enum Step {
    Value(Val),
    Call {
        func: FuncId,
        parent: usize,
        args: Vec<Val>,
    },
    /// An `if` of this condition, with its branches.
    Branch(Val, [ExprId; 2]),
}

struct Walk<'a> {
    export: &'a Export<'a>,
    module: &'a Module,
    ops: &'static Table,
    graph: Graph,
    inputs: Vec<ValueId>,
    sizes: Sizes,
    scopes: Vec<Scope>,
    tuples: Vec<Vec<Val>>,
    /// The values of `let` variables.
    lets: FxHashMap<VarId, ExprId>,
    /// The inverse map.
    names: FxHashMap<ExprId, VarId>,
    placed: FxHashMap<FuncId, Rc<Placed>>,
    /// How many blocks are open.
    n_open: usize,
    refused: Refused,
    /// The names that are kept for the result's tensors.
    results: Vec<String>,
}

/// Walks a function. Errors: E0708 for everything that ONNX cannot express, E0805 for too many function calls.
pub(crate) fn walk(mut export: Export) -> Result<Finished, Diagnostic> {
    let weights = std::mem::take(&mut export.weights);
    let mut walk = Walk {
        module: export.module,
        export: &export,
        ops: ops::table(),
        graph: Graph::default(),
        inputs: vec![],
        sizes: Sizes::default(),
        scopes: vec![],
        tuples: vec![],
        lets: FxHashMap::default(),
        names: FxHashMap::default(),
        placed: FxHashMap::default(),
        n_open: 0,
        refused: Refused::default(),
        results: vec![],
    };
    let args = walk.params(weights);
    // What is in between gives way to them.
    walk.results = export.results.iter().map(|name| walk.graph.free_name(name)).collect();
    walk.sizes = Sizes::new(&walk.inputs);
    let result = walk.run(args)?;
    let outputs = walk.outputs(result);
    if !walk.refused.is_empty() {
        return Err(errors::refused(&walk.refused));
    }
    let Walk { mut graph, inputs, .. } = walk;
    let outputs = named_outputs(&mut graph, outputs);
    remove_dead(&mut graph.nodes, &mut outputs.iter().copied().collect());
    bias::join(&mut graph, &outputs);
    Ok(Finished { graph, inputs, outputs })
}

impl Walk<'_> {
    fn refuse(&mut self, what: impl Into<String>, reason: impl Into<String>, span: Span) {
        let entry = self.refused.entry((what.into(), reason.into())).or_insert((0, span));
        entry.0 = entry.0.saturating_add(1);
    }

    /// Refuses the values from `first` on with dtypes that ONNX lacks.
    fn check_dtypes(&mut self, first: ValueId, what: &str, span: Span) {
        let ids = self.graph.values.ids().filter(|id| id.0 >= first.0);
        let reasons: Vec<String> = ids.filter_map(|id| dtype_code(self.graph.values[id].ty.as_ref()?.1).err()).collect();
        for reason in reasons {
            self.refuse(what, reason, span);
        }
    }

    // ---- The ends ----

    /// The entry's parameters: constants if they have weights, otherwise inputs.
    fn params(&mut self, mut weights: FxHashMap<String, relayc_ir::tensor::Tensor>) -> Vec<Val> {
        let module = self.module;
        let params = &module.funcs[self.export.func].params;
        let mut args = Vec::new();
        for &var in params {
            let var = &module.vars[var];
            let first = self.graph.values.next_id();
            // A comment of another tool may name anything.
            let name = (self.export.origins)(var.span).filter(|origin| is_name_of(&var.name, origin));
            let name = name.unwrap_or_else(|| var.name.to_string());
            args.push(match weights.remove(&*var.name) {
                Some(tensor) => Val::Tensor(self.graph.constant(&name, tensor)),
                None => {
                    let val = self.fresh_all(&name, var.checked_ty.or(var.ty).unwrap_or(Ty::ERROR));
                    self.inputs.extend(self.graph.values.ids().filter(|id| id.0 >= first.0));
                    val.unwrap_or_else(|| {
                        self.refuse(
                            format!("`%{}`", var.name),
                            "an input that is no tensor and no small tuple of tensors",
                            var.span,
                        );
                        Val::Nothing
                    })
                }
            });
            self.check_dtypes(first, &format!("`%{}`", var.name), var.span);
        }
        args
    }

    /// New values of a type; a tuple's fields are named `name.0` and so on. `None` for a type with parts other than tensors, or
    /// with too many tensors.
    fn fresh_all(&mut self, name: &str, ty: Ty) -> Option<Val> {
        let mut room = MAX_LEAVES;
        self.fresh(name, ty, MAX_DEPTH, &mut room)
    }

    fn fresh(&mut self, name: &str, ty: Ty, depth: usize, room: &mut usize) -> Option<Val> {
        *room = room.checked_sub(1)?;
        match self.module.types.data(ty) {
            TyData::Tensor { shape, dtype } => {
                let ty = (shape.to_vec(), *dtype);
                Some(Val::Tensor(self.graph.value(name, Some(ty), None)))
            }
            TyData::Tuple(fields) => {
                let depth = depth.checked_sub(1)?;
                let mut vals = Vec::new();
                for (i, &field) in fields.iter().enumerate() {
                    vals.push(self.fresh(&format!("{name}.{i}"), field, depth, room)?);
                }
                Some(self.tuple(vals))
            }
            _ => None,
        }
    }

    fn tuple(&mut self, fields: Vec<Val>) -> Val {
        self.tuples.push(fields);
        Val::Tuple(self.tuples.len().saturating_sub(1))
    }

    fn fields(&self, tuple: usize) -> &[Val] {
        self.tuples.get(tuple).map_or(&[], Vec::as_slice)
    }

    /// The tensors of the result with their names.
    fn outputs(&mut self, result: Val) -> Vec<(String, ValueId)> {
        let mut out = Vec::new();
        let mut stack = vec![(result, 0usize)];
        let span = self.module.exprs[self.module.funcs[self.export.func].body].span;
        while let Some((val, depth)) = stack.pop() {
            if depth > MAX_DEPTH || out.len().saturating_add(stack.len()) > MAX_LEAVES {
                self.refuse("the result", format!("tuples deeper than {MAX_DEPTH}, or of more than {MAX_LEAVES} tensors"), span);
                break;
            }
            match val {
                Val::Tensor(value) => {
                    // An input or a weight that is itself the result of this name has the name already.
                    let own = &self.graph.values[value].name;
                    let own = self.export.results.get(out.len()).filter(|result| *result == own);
                    let name = own.or_else(|| self.results.get(out.len())).cloned();
                    let name = name.unwrap_or_else(|| self.graph.free_name(&format!("out.{}", out.len())));
                    out.push((name, value));
                }
                Val::Tuple(tuple) => {
                    let fields = self.fields(tuple).iter().rev();
                    stack.extend(fields.map(|&field| (field, depth.saturating_add(1))));
                }
                // What was refused before is silent.
                Val::Nothing if !self.refused.is_empty() => {}
                Val::Closure(..) | Val::Nothing => self.refuse("the result", "it holds a function, which is no data", span),
            }
        }
        out
    }

    // ---- Calls ----

    fn run(&mut self, args: Vec<Val>) -> Result<Val, Diagnostic> {
        let mut active: FxHashSet<FuncId> = FxHashSet::default();
        active.insert(self.export.func);
        let mut frames = vec![self.enter(self.export.func, None, args, None)];
        let mut steps: u64 = 0;
        while let Some(frame) = frames.last_mut() {
            let scope = frame.scope;
            let Some(expr) = frame.order.get(frame.next).copied() else {
                let result = self.get(scope, frame.body, &mut steps).unwrap_or(Val::Nothing);
                let Some(frame) = frames.pop() else { break };
                match frame.then {
                    Then::Return(_, None) => return Ok(result),
                    Then::Return(func, Some((scope, expr))) => {
                        active.remove(&func);
                        self.set(scope, expr, result);
                    }
                    Then::Block(part) => match self.finish(*part, scope, result, &mut steps) {
                        PartDone::Next(frame) => frames.push(frame),
                        PartDone::Value((scope, expr), val, func) => {
                            func.map(|func| active.remove(&func));
                            self.set(scope, expr, val);
                        }
                    },
                }
                continue;
            };
            frame.next = frame.next.saturating_add(1);
            let placed = frame.placed.clone();
            if steps > MAX_STEPS {
                return Err(errors::too_many_steps(MAX_STEPS));
            }
            if self.get(scope, expr, &mut steps).is_some() {
                continue;
            }
            match self.step(scope, expr, &mut steps) {
                Step::Value(val) => self.set(scope, expr, val),
                Step::Call { func, .. } if active.contains(&func) => {
                    self.refuse("a function", "it calls itself", self.module.exprs[expr].span);
                    let val = self.placeholder(expr);
                    self.set(scope, expr, val);
                }
                Step::Call { func, parent, args } => {
                    active.insert(func);
                    let parent = Some(parent).filter(|&parent| parent != usize::MAX);
                    frames.push(match self.looped(func, parent, &args, (scope, expr)) {
                        Some(frame) => frame,
                        None => self.enter(func, parent, args, Some((scope, expr))),
                    });
                }
                Step::Branch(cond, branches) => match self.branch((scope, expr), cond, branches, placed) {
                    Ok(frame) => frames.push(frame),
                    Err(placeholder) => self.set(scope, expr, placeholder),
                },
            }
        }
        Ok(Val::Nothing)
    }

    /// A new call of a function. A function of the module has no scope around it.
    fn enter(&mut self, func: FuncId, parent: Option<usize>, args: Vec<Val>, to: Option<Place>) -> Frame {
        let params = self.module.funcs[func].params.iter().copied();
        let scope = self.scope(parent, params.zip(args).collect());
        let (body, placed) = (self.module.funcs[func].body, self.placed(func));
        let order = placed.blocks[0].clone();
        Frame { scope, placed, order, next: 0, body, then: Then::Return(func, to) }
    }

    fn scope(&mut self, parent: Option<usize>, vars: FxHashMap<VarId, Val>) -> usize {
        self.scopes.push(Scope { parent, vars, values: FxHashMap::default() });
        self.scopes.len().saturating_sub(1)
    }

    /// The value of an expression in a scope or an enclosing one. Each scope that is searched is a step.
    fn get(&self, scope: usize, expr: ExprId, steps: &mut u64) -> Option<Val> {
        self.find(scope, steps, |scope| scope.values.get(&expr).copied())
    }

    fn find(&self, scope: usize, steps: &mut u64, found: impl Fn(&Scope) -> Option<Val>) -> Option<Val> {
        let mut at = self.scopes.get(scope);
        while let Some(scope) = at {
            *steps = steps.saturating_add(1);
            if let Some(val) = found(scope) {
                return Some(val);
            }
            at = self.scopes.get(scope.parent?);
        }
        None
    }

    fn set(&mut self, scope: usize, expr: ExprId, val: Val) {
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.values.insert(expr, val);
        }
    }

    // ---- Expressions ----

    fn step(&mut self, scope: usize, expr: ExprId, steps: &mut u64) -> Step {
        let module = self.module;
        let span = module.exprs[expr].span;
        let val = |this: &Self, child: ExprId, steps: &mut u64| this.get(scope, child, steps).unwrap_or(Val::Nothing);
        Step::Value(match module.exprs[expr].kind {
            ExprKind::Error | ExprKind::Op(_) | ExprKind::Ctor(_) => Val::Nothing,
            ExprKind::Const(id) => {
                let (name, first) = (self.name(expr, "constant"), self.graph.values.next_id());
                let constant = self.graph.constant(&name, module.consts[id].clone());
                self.check_dtypes(first, "a constant", span);
                Val::Tensor(constant)
            }
            ExprKind::Var(var) => match self.lets.get(&var) {
                Some(&value) => val(self, value, steps),
                None => self.find(scope, steps, |scope| scope.vars.get(&var).copied()).unwrap_or(Val::Nothing),
            },
            ExprKind::Global(global) => Val::Closure(module.globals[global].func, usize::MAX),
            ExprKind::Fn(func) => Val::Closure(func, scope),
            ExprKind::Tuple(fields) => {
                let fields = module.items(fields).iter().map(|field| val(self, field.expr, steps)).collect();
                self.tuple(fields)
            }
            ExprKind::Proj { tuple, index } => match val(self, tuple, steps) {
                Val::Tuple(tuple) => {
                    let field = usize::try_from(index).ok().and_then(|index| self.fields(tuple).get(index));
                    field.copied().unwrap_or(Val::Nothing)
                }
                _ => Val::Nothing,
            },
            ExprKind::Let { body, .. } => val(self, body, steps),
            ExprKind::Call { callee, args, attrs } => {
                let operands = module.items(args).iter().map(|arg| val(self, arg.expr, steps)).collect();
                match (module.exprs[callee].kind, val(self, callee, steps)) {
                    (ExprKind::Op(op), _) => self.operator(expr, op, operands, attrs),
                    (ExprKind::Ctor(_), _) => self.construct(expr, "a value of a data type"),
                    (_, Val::Closure(func, parent)) => return Step::Call { func, parent, args: operands },
                    _ => {
                        self.refuse("a call", "it is not known of what", span);
                        self.placeholder(expr)
                    }
                }
            }
            ExprKind::If { cond, then_branch, else_branch } => {
                return Step::Branch(val(self, cond, steps), [then_branch, else_branch]);
            }
            ExprKind::Match { .. } => self.construct(expr, "`match`"),
            ExprKind::RefNew(_) | ExprKind::RefRead(_) | ExprKind::RefWrite { .. } => self.construct(expr, "a reference"),
        })
    }

    /// Refuses a construct that is not dataflow.
    fn construct(&mut self, expr: ExprId, what: &str) -> Val {
        self.refuse(what, "the model is a graph of operators", self.module.exprs[expr].span);
        self.placeholder(expr)
    }

    /// A value of an expression's type, in place of a refused one.
    fn placeholder(&mut self, expr: ExprId) -> Val {
        self.fresh_all("refused", self.module.ty(expr)).unwrap_or(Val::Nothing)
    }

    /// The name of a value: that of the node it was imported from, or of the `let` or graph variable that binds it, otherwise a
    /// description.
    fn name(&self, expr: ExprId, otherwise: &str) -> String {
        if let Some(origin) = self.origin(expr) {
            return origin;
        }
        if let Some(&var) = self.names.get(&expr) {
            return format!("%{}", self.module.vars[var].name);
        }
        let bound = (self.export.names)(self.module.exprs[expr].span);
        bound.unwrap_or_else(|| otherwise.rsplit('.').next().unwrap_or(otherwise).to_owned())
    }

    /// The name of the node that a call was imported from.
    fn origin(&self, expr: ExprId) -> Option<String> {
        let expr = &self.module.exprs[expr];
        let is_call = matches!(expr.kind, ExprKind::Call { .. });
        (self.export.origins)(expr.span).filter(|origin| is_call && !origin.is_empty())
    }

    // ---- Operators ----

    fn operator(&mut self, expr: ExprId, op: OpId, operands: Vec<Val>, attrs: Option<AttrsId>) -> Val {
        let (name, first) = (self.ops.name(op), self.graph.values.next_id());
        match self.nodes(expr, op, operands, attrs) {
            Ok(val) => {
                self.check_dtypes(first, &format!("`{name}`"), self.module.exprs[expr].span);
                val
            }
            Err(reason) => {
                if let Some(reason) = reason {
                    self.refuse(format!("`{name}`"), reason, self.module.exprs[expr].span);
                }
                self.placeholder(expr)
            }
        }
    }

    /// The result of a call after its nodes have been added. Errors: why ONNX cannot express it; nothing if an operand's
    /// refusal is recorded.
    fn nodes(&mut self, expr: ExprId, op: OpId, operands: Vec<Val>, attrs: Option<AttrsId>) -> Result<Val, Option<String>> {
        let form = self.ops.onnx(op).ok_or_else(|| Some("relayc knows no nodes for it".to_owned()))?;
        let out = self.out_types(self.module.ty(expr));
        let out = out.ok_or_else(|| Some("its result is not known to be a tensor".to_owned()))?;
        let args = operands.into_iter().map(|val| self.operand(val)).collect::<Option<Vec<Operand>>>().ok_or(None)?;
        let name = self.name(expr, self.ops.name(op));
        let (first, first_node) = (self.graph.values.next_id(), self.graph.nodes.len());
        let attrs = attrs.map_or(&[][..], |attrs| &self.module.attrs[attrs].values);
        if let Some(size) = attrs.iter().find_map(AttrValue::named_size)
            && !matches!(form, Onnx::Sized(_))
        {
            let size = self.module.types.symbols.text_of(size);
            return Err(Some(format!("the size `{size}` in an attribute, which `--set` makes a number")));
        }
        let (graph, symbols, sizes) = (&mut self.graph, &self.module.types.symbols, &mut self.sizes);
        let mut cx = OnnxCx { graph, attrs, args: &args, out: &out, name: &name, symbols, sizes };
        let Results(results) = match form {
            Onnx::Nodes(nodes) | Onnx::Sized(nodes) => nodes(&mut cx).map_err(Some)?,
            Onnx::Node(kind, of) => {
                let inputs: Vec<ValueId> = (0..args.len()).map(|arg| cx.tensor(arg)).collect();
                let dtype = inputs.first().map(|&input| cx.dtype(input));
                dtype.map_or(Ok(()), |dtype| of.require(dtype)).map_err(Some)?;
                cx.node(kind, &inputs).one().into()
            }
        };
        let many = results.len() > 1;
        for (i, (&result, ty)) in results.iter().zip(out).enumerate() {
            if result.0 >= first.0 {
                let wanted = if many { format!("{name}.{i}") } else { name.clone() };
                let free = self.graph.free_name(&wanted);
                let value = &mut self.graph.values[result];
                (value.name, value.ty) = (free, Some(ty));
            }
        }
        // The node of the result has the name of the node that the call was imported from.
        let origin = self.origin(expr);
        let mut made = self.graph.nodes.iter_mut().skip(first_node);
        if let Some(node) = made.find(|node| results.first().is_some_and(|result| node.outputs.contains(result))) {
            node.name = origin;
        }
        let fields: Vec<Val> = results.into_iter().map(Val::Tensor).collect();
        Ok(match (self.module.types.as_tuple(self.module.ty(expr)), fields.first()) {
            (None, Some(&one)) => one,
            _ => self.tuple(fields),
        })
    }

    /// The types of a result's tensors.
    fn out_types(&self, ty: Ty) -> Option<Vec<(Vec<Dim>, DType)>> {
        let tensor = |ty: Ty| self.module.types.as_tensor(ty).map(|(shape, dtype)| (shape.to_vec(), dtype));
        match self.module.types.as_tuple(ty) {
            Some(fields) => fields.iter().map(|&field| tensor(field)).collect(),
            None => tensor(ty).map(|one| vec![one]),
        }
    }

    fn operand(&self, val: Val) -> Option<Operand> {
        let tensor = |val: Val| match val {
            Val::Tensor(value) => Some(value),
            _ => None,
        };
        match val {
            Val::Tuple(tuple) => self.fields(tuple).iter().map(|&field| tensor(field)).collect::<Option<_>>().map(Operand::Tuple),
            val => tensor(val).map(Operand::Tensor),
        }
    }
}

/// Names the results. A result that is not a node's own, or that occurs twice, goes through a node that copies it, except for an
/// input or a weight of the result's name.
fn named_outputs(graph: &mut Graph, outputs: Vec<(String, ValueId)>) -> Vec<ValueId> {
    let is_named = |graph: &Graph, (name, value): &(String, ValueId)| graph.values[*value].name == *name;
    let (named, others): (Vec<_>, Vec<_>) = outputs.iter().cloned().partition(|output| is_named(graph, output));
    let (names, values): (Vec<String>, Vec<ValueId>) = others.into_iter().unzip();
    let made = own_outputs(graph, &values);
    made.iter().zip(&names).for_each(|(&output, name)| graph.values[output].name.clone_from(name));
    let of_name: FxHashMap<String, ValueId> = named.into_iter().chain(names.into_iter().zip(made)).collect();
    outputs.iter().filter_map(|(name, _)| of_name.get(name).copied()).collect()
}

/// The values, those copied by a node that no node of the graph makes, or that occur twice.
fn own_outputs(graph: &mut Graph, values: &[ValueId]) -> Vec<ValueId> {
    let mut own: FxHashSet<ValueId> = graph.nodes.iter().flat_map(|node| node.outputs.iter().copied()).collect();
    let own_output = |&value: &ValueId| {
        if own.remove(&value) {
            return value;
        }
        let ty = graph.values[value].ty.clone();
        let copy = graph.value("copy", ty, None);
        graph.nodes.push(Node { kind: "Identity", name: None, inputs: vec![Some(value)], outputs: vec![copy], attrs: vec![] });
        copy
    };
    values.iter().map(own_output).collect()
}

/// Removes nodes without used results, and from blocks too. Blocks are nested at most `MAX_NESTED` deep.
fn remove_dead(nodes: &mut Vec<Node>, used: &mut FxHashSet<ValueId>) {
    let mut kept: Vec<Node> = Vec::new();
    for mut node in std::mem::take(nodes).into_iter().rev() {
        if node.outputs.iter().any(|output| used.contains(output)) {
            used.extend(node.inputs.iter().flatten());
            for (_, attr) in &mut node.attrs {
                if let NodeAttr::Block(block) = attr {
                    used.extend(block.outputs.iter());
                    remove_dead(&mut block.nodes, used);
                }
            }
            kept.push(node);
        }
    }
    kept.reverse();
    *nodes = kept;
}
