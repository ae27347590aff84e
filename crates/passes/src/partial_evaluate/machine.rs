//! The evaluator: a list of steps to take, a stack of values, and blocks of bindings that are being written.

use super::super::build::{ExprKey, args as operands, bind, value_of};
use super::super::copy::{Copy, renamed_pattern};
use super::super::type_params::matched;
use super::super::{PassCx, lambda_lift};
use super::operators::{compute, matches};
use super::values::{Closure, ClosureId, Fuel, Heap, Known, Store, Subst, Value, meet};
use relayc_base::limits::FOLDED_BYTES;
use relayc_base::{Idx, Span};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::Ty;
use relayc_ir::{AttrsId, Clause, ExprId, ExprKind, Func, FuncId, GlobalId, Module, OpId, Operand, PatId, VarId};
use relayc_ops::call::constant;
use relayc_ops::eval::Outputs;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// How many calls of functions may be evaluated in their places.
const MAX_ENTERED: usize = 1 << 13;

/// How many expressions may be evaluated because functions are entered, besides as many as the program has.
const MAX_EVALUATED: u64 = 1 << 20;

/// The most bytes of a constant that is computed.
const MAX_BYTES: u64 = 1 << 20;

enum Step {
    Eval(ExprId),
    /// Evaluates the value of a `let`, which a function is named by.
    EvalFor(ExprId, VarId),
    Bind(VarId),
    /// Gives the last value the type that is declared for the value of an expression.
    Declare(Ty, ExprId),
    /// The children of an expression have been evaluated.
    Finish(ExprId),
    /// The condition or the scrutinee has been evaluated.
    Branch(ExprId),
    /// Begins a block; the variables are bound to themselves in it.
    Begin(Vec<VarId>),
    /// Ends a block, whose result is the last value.
    End,
    FinishIf(ExprId, ExprId),
    FinishMatch(ExprId, ExprId, Vec<PatId>),
    /// Calls a function with dynamic arguments, to write its body.
    Enter(Value, Vec<VarId>),
    FinishFunc(ClosureId, FuncId, VarId),
    /// Ends a call: the frame and the fuel before it.
    Leave(Box<Frame>, FuncId, Option<Fuel>),
}

/// The variables of a function that is being evaluated.
#[derive(Default)]
struct Frame {
    vars: FxHashMap<VarId, Value>,
    subst: Rc<Subst>,
}

pub(super) struct Machine<'a> {
    cx: &'a PassCx<'a>,
    steps: Vec<Step>,
    values: Vec<Value>,
    /// The blocks that are being written, and those that are ready.
    blocks: Vec<Vec<(VarId, ExprId)>>,
    ready: Vec<ExprId>,
    frame: Frame,
    store: Store,
    fuel: FxHashMap<FuncId, Fuel>,
    free_vars: FxHashMap<FuncId, Rc<[VarId]>>,
    heap: Heap,
    /// How many expressions an evaluation of each takes, by its number.
    sizes: Vec<u64>,
    time: u64,
    entered: usize,
    /// How many expressions may still be evaluated in functions, and how many bytes computed.
    left: u64,
    bytes_left: u64,
}

impl<'a> Machine<'a> {
    pub(super) fn new(module: &Module, cx: &'a PassCx<'a>) -> Machine<'a> {
        let order = module.post_order(&module.roots());
        let mut sizes = vec![0u64; module.exprs.len()];
        let mut children = Vec::new();
        for &expr in &order {
            children.clear();
            module.children(expr, &mut children);
            sizes[expr.index()] = children.iter().fold(1, |size, child| size.saturating_add(sizes[child.index()]));
        }
        Machine {
            cx,
            steps: vec![],
            values: vec![],
            blocks: vec![],
            ready: vec![],
            frame: Frame::default(),
            store: Store::default(),
            fuel: FxHashMap::default(),
            free_vars: FxHashMap::default(),
            heap: Heap::default(),
            sizes,
            time: 0,
            entered: 0,
            left: MAX_EVALUATED + order.len() as u64,
            bytes_left: FOLDED_BYTES.get(),
        }
    }

    /// The new body of a global function.
    pub(super) fn global(&mut self, module: &mut Module, global: GlobalId) -> ExprId {
        let func = module.globals[global].func;
        let closure = global_closure(func);
        if !self.affords(module, &closure) {
            return module.funcs[func].body;
        }
        let span = module.funcs[func].span;
        let name = module.expr(span, ExprKind::Global(global));
        let closure = self.closure(closure);
        let itself = self.value(Some(Known::Closure(closure)), name);
        let params = module.funcs[func].params.clone();
        self.steps.extend([Step::End, Step::Enter(itself, params.clone()), Step::Begin(params)]);
        self.run(module);
        self.ready.pop().expect("a body was written")
    }

    fn closure(&mut self, closure: Closure) -> ClosureId {
        self.heap.closures.push(closure.into())
    }

    fn tuple(&mut self, fields: Vec<Value>) -> Known {
        Known::Tuple(self.heap.fields.push(fields.into()))
    }

    /// How many expressions entering a function costs.
    fn cost(&self, module: &Module, closure: &Closure) -> u64 {
        self.sizes[module.funcs[closure.func].body.index()].saturating_add(closure.captured.len() as u64)
    }

    fn affords(&self, module: &Module, closure: &Closure) -> bool {
        self.entered < MAX_ENTERED && self.cost(module, closure) <= self.left
    }

    fn value(&mut self, known: Option<Known>, dynamic: ExprId) -> Value {
        self.time += 1;
        Value { known, dynamic, time: self.time }
    }

    /// Binds an expression in the block that is being written.
    fn push(&mut self, module: &mut Module, expr: ExprId) -> ExprId {
        let var = module.var("x", None, module.exprs[expr].span);
        self.push_as(module, var, expr)
    }

    fn push_as(&mut self, module: &mut Module, var: VarId, expr: ExprId) -> ExprId {
        self.blocks.last_mut().expect("a block is being written").push((var, expr));
        module.expr(module.exprs[expr].span, ExprKind::Var(var))
    }

    fn known(&mut self, module: &mut Module, known: Known, expr: ExprId) {
        let dynamic = self.push(module, expr);
        let value = self.value(Some(known), dynamic);
        self.values.push(value);
    }

    fn unknown(&mut self, module: &mut Module, expr: ExprId) {
        let dynamic = self.push(module, expr);
        let value = self.value(None, dynamic);
        self.values.push(value);
    }

    fn pop(&mut self) -> Value {
        self.values.pop().expect("an expression has a value")
    }

    fn run(&mut self, module: &mut Module) {
        while let Some(step) = self.steps.pop() {
            self.step(module, step);
        }
    }

    fn step(&mut self, module: &mut Module, step: Step) {
        match step {
            Step::Eval(expr) => self.eval(module, expr, None),
            Step::EvalFor(expr, var) => self.eval(module, expr, Some(var)),
            Step::Bind(var) => {
                let value = self.pop();
                self.frame.vars.insert(var, value);
            }
            Step::Declare(ty, expr) => {
                let value = self.pop();
                let value = self.declared(module, value, (ty, module.ty(expr)));
                self.values.push(value);
            }
            Step::Finish(expr) => self.finish(module, expr),
            Step::Branch(expr) => self.branch(module, expr),
            Step::Begin(vars) => {
                self.blocks.push(vec![]);
                self.store.begin();
                for var in vars {
                    let dynamic = module.expr(module.vars[var].span, ExprKind::Var(var));
                    let value = self.value(None, dynamic);
                    self.frame.vars.insert(var, value);
                }
            }
            Step::End => {
                let result = self.pop().dynamic;
                let bindings = self.blocks.pop().expect("a block was begun");
                self.store.end();
                let body = bind(module, module.exprs[result].span, Ty::ERROR, bindings.into_iter(), result);
                self.ready.push(body);
            }
            Step::FinishIf(expr, cond) => {
                let (else_branch, then_branch) = (self.block(), self.block());
                self.store.forget();
                let new = module.expr(module.exprs[expr].span, ExprKind::If { cond, then_branch, else_branch });
                self.unknown(module, new);
            }
            Step::FinishMatch(expr, scrutinee, pats) => self.finish_match(module, expr, scrutinee, &pats),
            Step::Enter(callee, params) => {
                self.store.forget();
                let Some(Known::Closure(closure)) = callee.known else { unreachable!("a function is a closure") };
                let closure = self.heap.closures[closure].clone();
                let args: Vec<Value> = params.into_iter().map(|param| self.frame.vars[&param].clone()).collect();
                let less = self.less(module, &closure, &args).expect("a body is written where it may be entered");
                self.enter(module, &closure, closure.subst.clone(), less, callee);
                self.frame.vars.extend(module.funcs[closure.func].params.iter().copied().zip(args));
            }
            Step::FinishFunc(closure, func, name) => {
                let body = self.block();
                module.funcs[func].body = body;
                let span = module.funcs[func].span;
                let literal = module.expr(span, ExprKind::Fn(func));
                let dynamic = self.push_as(module, name, literal);
                let value = self.value(Some(Known::Closure(closure)), dynamic);
                self.values.push(value);
            }
            Step::Leave(frame, func, fuel) => {
                self.frame = *frame;
                match fuel {
                    Some(fuel) => drop(self.fuel.insert(func, fuel)),
                    None => drop(self.fuel.remove(&func)),
                }
            }
        }
    }

    fn block(&mut self) -> ExprId {
        self.ready.pop().expect("a block was written")
    }

    fn eval(&mut self, module: &mut Module, expr: ExprId, name: Option<VarId>) {
        let span = module.exprs[expr].span;
        match module.exprs[expr].kind {
            ExprKind::Error => self.unknown(module, expr),
            ExprKind::Const(_) => {
                let tensor = value_of(module, expr).expect("a constant has a value").clone();
                let new = constant(module, span, tensor.clone());
                self.known(module, Known::Tensor(tensor), new);
            }
            ExprKind::Var(var) => {
                let value = self.frame.vars.get(&var).expect("a variable is bound before it is mentioned").clone();
                self.values.push(value);
            }
            ExprKind::Global(global) => {
                let func = module.globals[global].func;
                let is_plain = module.funcs[func].attrs.is_empty();
                let closure = is_plain.then(|| Known::Closure(self.closure(global_closure(func))));
                let dynamic = module.expr(span, ExprKind::Global(global));
                let value = self.value(closure, dynamic);
                self.values.push(value);
            }
            kind @ (ExprKind::Op(_) | ExprKind::Ctor(_)) => {
                let known = match kind {
                    ExprKind::Op(op) => Known::Op(op),
                    ExprKind::Ctor(ctor) => Known::Ctor(ctor),
                    _ => unreachable!("only operators and constructors"),
                };
                let dynamic = module.expr(span, kind);
                let value = self.value(Some(known), dynamic);
                self.values.push(value);
            }
            ExprKind::Fn(func) => self.literal(module, expr, func, name),
            ExprKind::Let { var, value, body } => {
                self.steps.extend([Step::Eval(body), Step::Bind(var)]);
                let is_literal = matches!(module.exprs[value].kind, ExprKind::Fn(_));
                self.steps.extend(declared_ty(module, var).filter(|_| !is_literal).map(|ty| Step::Declare(ty, value)));
                self.steps.push(Step::EvalFor(value, var));
            }
            ExprKind::If { cond: on, .. } | ExprKind::Match { scrutinee: on, .. } => {
                self.steps.extend([Step::Branch(expr), Step::Eval(on)]);
            }
            ExprKind::Tuple(_)
            | ExprKind::Proj { .. }
            | ExprKind::Call { .. }
            | ExprKind::RefNew(_)
            | ExprKind::RefRead(_)
            | ExprKind::RefWrite { .. } => {
                self.steps.push(Step::Finish(expr));
                let mut children = Vec::new();
                module.evaluated_children(expr, &mut children);
                self.steps.extend(children.into_iter().rev().map(Step::Eval));
            }
        }
    }

    /// Evaluates an expression whose children are the last values.
    fn finish(&mut self, module: &mut Module, expr: ExprId) {
        let span = module.exprs[expr].span;
        match module.exprs[expr].kind {
            ExprKind::Tuple(fields) => {
                let fields = self.values.split_off(self.values.len() - fields.len());
                let dynamic: Vec<Operand> = fields.iter().map(|field| Operand { expr: field.dynamic, span }).collect();
                let operands = module.operands(&dynamic);
                let new = module.expr(span, ExprKind::Tuple(operands));
                let known = self.tuple(fields);
                self.known(module, known, new);
            }
            ExprKind::Proj { index, .. } => {
                let of = self.pop();
                match &of.known {
                    Some(Known::Tuple(fields)) => self.values.push(self.heap.fields[*fields][index as usize].clone()),
                    _ => {
                        let new = module.expr(span, ExprKind::Proj { tuple: of.dynamic, index });
                        self.unknown(module, new);
                    }
                }
            }
            ExprKind::RefNew(_) => {
                let value = self.pop();
                let new = module.expr(span, ExprKind::RefNew(value.dynamic));
                let cell = self.store.fresh_cell();
                self.store.write(cell, value);
                self.known(module, Known::Cell(cell), new);
            }
            ExprKind::RefRead(_) => {
                let of = self.pop();
                let found = match of.known {
                    Some(Known::Cell(cell)) => self.store.read(cell).cloned(),
                    _ => None,
                };
                match found {
                    Some(value) => self.values.push(value),
                    None => {
                        let new = module.expr(span, ExprKind::RefRead(of.dynamic));
                        self.unknown(module, new);
                    }
                }
            }
            ExprKind::RefWrite { .. } => {
                let value = self.pop();
                let of = self.pop();
                let new = module.expr(span, ExprKind::RefWrite { cell: of.dynamic, value: value.dynamic });
                match of.known {
                    Some(Known::Cell(cell)) => self.store.write(cell, value),
                    _ => self.store.forget(),
                }
                let unit = self.tuple(vec![]);
                self.known(module, unit, new);
            }
            ExprKind::Call { args, attrs, .. } => {
                let callee = self.pop();
                let args = self.values.split_off(self.values.len() - args.len());
                self.call(module, expr, callee, args, attrs);
            }
            _ => unreachable!("only expressions with evaluated children"),
        }
    }

    fn call(&mut self, module: &mut Module, expr: ExprId, callee: Value, args: Vec<Value>, attrs: Option<AttrsId>) {
        let span = module.exprs[expr].span;
        let dynamic: Vec<Operand> = args.iter().map(|arg| Operand { expr: arg.dynamic, span }).collect();
        match callee.known.clone() {
            Some(Known::Closure(closure)) => {
                let closure = self.heap.closures[closure].clone();
                self.apply(module, expr, &closure, callee, args);
            }
            Some(Known::Op(op)) => match self.compute(module, span, op, (&args[..], attrs)) {
                Some(outputs) => {
                    self.put(module, span, outputs);
                    self.steps.push(Step::Declare(module.ty(expr), expr));
                }
                None => {
                    let new = call(module, span, callee.dynamic, &dynamic, attrs);
                    self.unknown(module, new);
                }
            },
            Some(Known::Ctor(ctor)) => {
                let new = call(module, span, callee.dynamic, &dynamic, None);
                let fields = self.heap.fields.push(args.into());
                self.known(module, Known::Data(ctor, fields), new);
            }
            _ => {
                self.store.forget();
                let new = call(module, span, callee.dynamic, &dynamic, attrs);
                self.unknown(module, new);
            }
        }
    }

    fn compute(&mut self, module: &mut Module, span: Span, op: OpId, call: (&[Value], Option<AttrsId>)) -> Option<Outputs> {
        let outputs = compute(self.cx, module, &self.heap, span, op, call, MAX_BYTES.min(self.bytes_left))?;
        let bytes = |tensor: &Tensor| tensor.len() as u64 * tensor.dtype().bytes();
        let bytes = match &outputs {
            Outputs::One(tensor) => bytes(tensor),
            Outputs::Tuple(tensors) => tensors.iter().map(bytes).sum(),
        };
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        Some(outputs)
    }

    /// The fuel of a call that may be evaluated in its place: an argument got less since the call that it is in.
    fn less(&self, module: &Module, closure: &Closure, args: &[Value]) -> Option<Fuel> {
        let fuel: Fuel = args.iter().map(Value::fuel).collect();
        meet(self.fuel.get(&closure.func), &fuel).filter(|_| self.affords(module, closure))
    }

    /// Evaluates a call of a known function in its place, or writes it.
    fn apply(&mut self, module: &mut Module, expr: ExprId, closure: &Closure, callee: Value, args: Vec<Value>) {
        let span = module.exprs[expr].span;
        let Some(less) = self.less(module, closure, &args) else {
            let dynamic: Vec<Operand> = args.iter().map(|arg| Operand { expr: arg.dynamic, span }).collect();
            self.store.forget();
            let new = call(module, span, callee.dynamic, &dynamic, None);
            self.unknown(module, new);
            return;
        };
        let subst = self.instance(module, expr, closure);
        self.enter(module, closure, subst, less, callee);
        let func = module.funcs[closure.func].clone();
        let given = operands(module, expr);
        for ((param, arg), given) in func.params.into_iter().zip(args).zip(given) {
            let ty = declared_ty(module, param).unwrap_or(Ty::ERROR);
            let arg = self.declared(module, arg, (ty, module.ty(given)));
            self.frame.vars.insert(param, arg);
        }
        let body = self.steps.pop().expect("a function has a body");
        self.steps.extend(func.ret.map(|ret| Step::Declare(ret, func.body)));
        self.steps.push(body);
    }

    /// A value with a declared type: bound to a variable of that type, if it or the type of the value has dynamic dimensions. Of those
    /// more may be known here, and values that were of one type must stay so.
    fn declared(&mut self, module: &mut Module, value: Value, (ty, own): (Ty, Ty)) -> Value {
        let is_open = module.types.has_open(ty) || module.types.has_open(own);
        let Some(ty) = Some(ty).filter(|_| is_open).and_then(|ty| self.meaning(module, ty)) else { return value };
        let var = module.var("x", Some(ty), module.exprs[value.dynamic].span);
        let dynamic = self.push_as(module, var, value.dynamic);
        Value { dynamic, ..value }
    }

    /// What the type parameters of a function are at a call. Its body is written outside of it, where they have no meaning.
    fn instance(&self, module: &mut Module, expr: ExprId, closure: &Closure) -> Rc<Subst> {
        let func = module.funcs[closure.func].clone();
        if func.type_params.is_empty() {
            return closure.subst.clone();
        }
        let mut subst = (*closure.subst).clone();
        subst.extend(func.type_params.iter().map(|&param| (param, None)));
        let formal = func.params.iter().map(|&param| declared_ty(module, param));
        let actual = operands(module, expr).into_iter().map(|arg| module.ty(arg));
        let mut pairs: Vec<(Ty, Ty)> = formal.zip(actual).filter_map(|(formal, actual)| Some((formal?, actual))).collect();
        pairs.extend(func.ret.map(|ret| (ret, module.ty(expr))));
        for (param, actual) in matched(&module.types, &func.type_params, pairs) {
            let actual = self.meaning(module, actual).filter(|&ty| !module.types.has_hole(ty) && ty != Ty::ERROR);
            if let Some(actual) = actual {
                subst.insert(param, Some(actual));
            }
        }
        Rc::new(subst)
    }

    /// Begins a call of a function; its parameters are to be bound.
    fn enter(&mut self, module: &Module, closure: &Closure, subst: Rc<Subst>, less: Fuel, callee: Value) {
        self.entered += 1;
        self.left = self.left.saturating_sub(self.cost(module, closure));
        let func = closure.func;
        let before = self.fuel.insert(func, less);
        let mut vars: FxHashMap<VarId, Value> = closure.captured.iter().cloned().collect();
        vars.extend(closure.name.map(|name| (name, callee)));
        let outer = std::mem::replace(&mut self.frame, Frame { vars, subst });
        self.steps.extend([Step::Leave(Box::new(outer), func, before), Step::Eval(module.funcs[func].body)]);
    }

    /// A function literal: its value, and its text with unknown arguments.
    fn literal(&mut self, module: &mut Module, expr: ExprId, func: FuncId, name: Option<VarId>) {
        let of = module.funcs[func].clone();
        let new_name = match name {
            Some(name) => module.var(&module.vars[name].name.clone(), None, module.vars[name].span),
            None => module.var("x", None, of.span),
        };
        let free = self.free_vars(module, expr, func);
        let captured = free.iter().filter(|&&var| name != Some(var));
        let captured = captured.map(|var| (*var, self.frame.vars[var].clone())).collect();
        let closure = Closure { func, name, captured, subst: self.frame.subst.clone() };
        let is_written = !of.is_primitive() && self.affords(module, &closure) && !self.fuel.contains_key(&func);
        let closure = self.closure(closure);
        if !is_written {
            self.unevaluated(module, expr, closure, new_name);
            return;
        }
        let params: Vec<VarId> = of.params.iter().map(|&param| self.copied(module, param)).collect();
        let ret = of.ret.and_then(|ret| self.meaning(module, ret));
        let new = module.funcs.push(Func { params: params.clone(), ret, ..of });
        let dynamic = module.expr(module.exprs[expr].span, ExprKind::Var(new_name));
        let itself = self.value(Some(Known::Closure(closure)), dynamic);
        self.steps.extend([
            Step::FinishFunc(closure, new, new_name),
            Step::End,
            Step::Enter(itself, params.clone()),
            Step::Begin(params),
        ]);
    }

    /// A function literal as it is, with what it captures.
    fn unevaluated(&mut self, module: &mut Module, expr: ExprId, id: ClosureId, new_name: VarId) {
        let closure = self.heap.closures[id].clone();
        let captured = closure.captured.iter().map(|(var, value)| (ExprKey::Var(*var), value.dynamic));
        let mut given: FxHashMap<ExprKey, ExprId> = captured.collect();
        if let Some(name) = closure.name {
            given.insert(ExprKey::Var(name), module.expr(module.exprs[expr].span, ExprKind::Var(new_name)));
        }
        let body = module.post_order(&[expr]);
        let copy = Copy::applied(module, given, &body).expr(expr);
        for inner in module.post_order(&[copy]) {
            for var in lambda_lift::bound_by(module, inner) {
                let ty = module.vars[var].ty.and_then(|ty| self.meaning(module, ty));
                (module.vars[var].ty, module.vars[var].checked_ty) = (ty, None);
            }
            if let ExprKind::Fn(func) = module.exprs[inner].kind {
                module.funcs[func].ret = module.funcs[func].ret.and_then(|ret| self.meaning(module, ret));
            }
        }
        let dynamic = self.push_as(module, new_name, copy);
        let is_group = module.funcs[closure.func].is_primitive();
        let known = (!is_group).then_some(Known::Closure(id));
        let value = self.value(known, dynamic);
        self.values.push(value);
    }

    /// The variables that a function literal captures.
    fn free_vars(&mut self, module: &Module, expr: ExprId, func: FuncId) -> Rc<[VarId]> {
        if let Some(known) = self.free_vars.get(&func) {
            return known.clone();
        }
        let body = module.post_order(&[expr]);
        let free: Rc<[VarId]> = lambda_lift::free_vars(module, &body, None).0.into();
        self.free_vars.insert(func, free.clone());
        free
    }

    /// A variable of the new program, with its type if that has a meaning there.
    fn copied(&self, module: &mut Module, var: VarId) -> VarId {
        let of = module.vars[var].clone();
        let ty = declared_ty(module, var).and_then(|ty| self.meaning(module, ty));
        module.var(&of.name, ty, of.span)
    }

    /// A type as it is written here; `None` if it mentions a type parameter of which nothing is known.
    fn meaning(&self, module: &mut Module, ty: Ty) -> Option<Ty> {
        if self.frame.subst.is_empty() || !module.types.has_param(ty) {
            return Some(ty);
        }
        let mut known = true;
        let new = module.types.rewrite(ty, |_, ty| {
            let found = self.frame.subst.get(&ty)?;
            known &= found.is_some();
            found.or(Some(ty))
        });
        known.then_some(new)
    }

    fn branch(&mut self, module: &mut Module, expr: ExprId) {
        let on = self.pop();
        match module.exprs[expr].kind {
            ExprKind::If { then_branch, else_branch, .. } => match &on.known {
                Some(Known::Tensor(cond)) => {
                    let taken = if cond.to_ints().first().is_some_and(|&cond| cond != 0) { then_branch } else { else_branch };
                    self.steps.push(Step::Eval(taken));
                }
                _ => {
                    self.steps.push(Step::FinishIf(expr, on.dynamic));
                    for branch in [else_branch, then_branch] {
                        self.steps.extend([Step::End, Step::Eval(branch), Step::Begin(vec![])]);
                    }
                }
            },
            ExprKind::Match { clauses, .. } => {
                let clauses = module.clause_items(clauses).to_vec();
                for clause in &clauses {
                    let mut bound = Vec::new();
                    match matches(module, &self.heap, clause.pat, &on, &mut bound) {
                        Some(true) => {
                            self.frame.vars.extend(bound);
                            self.steps.push(Step::Eval(clause.body));
                            return;
                        }
                        Some(false) => {}
                        None => break,
                    }
                }
                self.unknown_match(module, expr, &on, &clauses);
            }
            _ => unreachable!("only branches"),
        }
    }

    /// A match on a value of which too little is known: all clauses are written.
    fn unknown_match(&mut self, module: &mut Module, expr: ExprId, on: &Value, clauses: &[Clause]) {
        let mut pats = Vec::new();
        let mut steps = Vec::new();
        for clause in clauses {
            let old = module.pat_vars(clause.pat);
            let new: Vec<VarId> = old.iter().map(|&var| self.copied(module, var)).collect();
            let renamed: FxHashMap<VarId, VarId> = old.iter().copied().zip(new.iter().copied()).collect();
            pats.push(renamed_pattern(module, clause.pat, &mut |_, var| renamed[&var]));
            steps.extend([Step::End, Step::Eval(clause.body)]);
            for (&old, &new) in old.iter().zip(&new) {
                let mention = module.expr(module.vars[new].span, ExprKind::Var(new));
                steps.extend([Step::Bind(old), Step::Eval(mention)]);
            }
            steps.push(Step::Begin(new));
        }
        self.steps.push(Step::FinishMatch(expr, on.dynamic, pats));
        self.steps.extend(steps);
    }

    fn finish_match(&mut self, module: &mut Module, expr: ExprId, scrutinee: ExprId, pats: &[PatId]) {
        let ExprKind::Match { total, .. } = module.exprs[expr].kind else { unreachable!("a match") };
        let mut new = Vec::new();
        // The last clause was evaluated first.
        for &pat in pats {
            new.push(Clause { pat, body: self.block() });
        }
        self.store.forget();
        let clauses = module.clauses(&new);
        let new = module.expr(module.exprs[expr].span, ExprKind::Match { scrutinee, clauses, total });
        self.unknown(module, new);
    }

    /// Writes a result, tensor by tensor.
    fn put(&mut self, module: &mut Module, span: Span, outputs: Outputs) {
        let put_one = |this: &mut Self, module: &mut Module, tensor: Tensor| {
            let new = constant(module, span, tensor.clone());
            this.known(module, Known::Tensor(tensor), new);
        };
        match outputs {
            Outputs::One(tensor) => put_one(self, module, tensor),
            Outputs::Tuple(tensors) => {
                let n = tensors.len();
                tensors.into_iter().for_each(|tensor| put_one(self, module, tensor));
                let fields = self.values.split_off(self.values.len() - n);
                let dynamic: Vec<ExprId> = fields.iter().map(|field| field.dynamic).collect();
                let operands: Vec<Operand> = dynamic.into_iter().map(|expr| Operand { expr, span }).collect();
                let operands = module.operands(&operands);
                let new = module.expr(span, ExprKind::Tuple(operands));
                let known = self.tuple(fields);
                self.known(module, known, new);
            }
        }
    }
}

fn global_closure(func: FuncId) -> Closure {
    Closure { func, name: None, captured: vec![], subst: Rc::default() }
}

fn call(module: &mut Module, span: Span, callee: ExprId, args: &[Operand], attrs: Option<AttrsId>) -> ExprId {
    let args = module.operands(args);
    module.expr(span, ExprKind::Call { callee, args, attrs })
}

fn declared_ty(module: &Module, var: VarId) -> Option<Ty> {
    module.vars[var].checked_ty.or(module.vars[var].ty)
}
