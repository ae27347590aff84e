//! Brings a function, and those that it calls, into continuation-passing style.
//!
//! The rewrite is sound because it keeps the order of evaluation: it walks through an expression as an evaluation does, and writes what it
//! meets into a block. A call of an operator, a read and a write are bound. At a branch or at a call of a function the block ends, and a
//! new block, the body of the continuation, begins with its parameter in the place of the value. A function that is called gets a twin,
//! `@f_cps`, and what else calls the function itself calls a copy of it as it was, `@f_0`. A program with shared
//! expressions is brought to A-normal form first, because a value is used where it stands.
//!
//! ```text
//! def @main(%c: bool, %x: int32) { add(if (%c) { %x } else { @f(%x) }, 1) }
//! →
//! def @main[answer](%c: bool, %x: int32, %k: fn (int32) -> answer) -> answer {
//!   let %j = fn (%arg) { let %y = add(%arg, 1); %k(%y) };
//!   if (%c) { %j(%x) } else { @f_cps(%x, fn (%arg) { %j(%arg) }) }
//! }
//! ```

use super::super::build::{args, bind};
use super::super::callers::keep_callers;
use super::super::constructors::changed_ctor;
use super::super::copy::renamed_pattern;
use super::super::eta_expand::expand_constructors;
use super::super::names::Names;
use super::super::rewrite::with_children;
use super::super::step::{ArgKind, Param};
use super::super::to_a_normal_form::without_sharing;
use super::super::{Pass, PassCx, Stop, function, refused, require_types};
use super::{TypeParams, fresh_type_params};
use relayc_base::diag::Diagnostic;
use relayc_base::{Idx, Span, index_type};
use relayc_ir::types::{Ty, TyData, Types};
use relayc_ir::{Clause, ExprId, ExprKind, Func, FuncId, Global, GlobalId, Module, Operand, PatId, VarId};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "to-cps",
    doc: "Brings a function, and those that it calls, into continuation-passing style. Its last parameter gets the result.",
    params: &[Param { name: "function", kind: ArgKind::Word, default: "main", doc: "the function" }],
    keeps_answers: false,
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let found = function(module, &PASS, cx.args.word("function"))?;
    // Before constructors become functions, which hide that their types are not known.
    require_types(module, &module.post_order(&module.roots())).map_err(|stop| refused(&PASS, stop))?;
    expand_constructors(module);
    if !without_sharing(module) {
        return Err(refused(&PASS, "functions share an expression"));
    }
    let order = module.post_order(&module.roots());
    let is_group = |&expr: &ExprId| matches!(module.exprs[expr].kind, ExprKind::Fn(func) if module.funcs[func].is_primitive());
    let stopped = |why: &str, expr: ExprId| refused(&PASS, Stop::from(why).at(module.exprs[expr].span));
    if let Some(&group) = order.iter().find(|&expr| is_group(expr)) {
        return Err(stopped("it has fused groups", group));
    }
    let is_func = |&expr: &ExprId| matches!(module.types.data(module.ty(expr)), TyData::Fn { .. });
    let takes_func = |&expr: &ExprId| module.called_op(expr).is_some() && args(module, expr).iter().any(is_func);
    if let Some(&call) = order.iter().find(|&expr| takes_func(expr)) {
        return Err(stopped("an operator takes a function", call));
    }
    let is_generic =
        |expr: ExprId| matches!(module.types.data(module.ty(expr)), TyData::Fn { type_params, .. } if !type_params.is_empty());
    let body = |func: FuncId| module.funcs[func].body;
    let given = |&expr: &ExprId| match module.exprs[expr].kind {
        ExprKind::Fn(func) => Some(body(func)),
        ExprKind::If { .. } | ExprKind::Match { .. } | ExprKind::Call { .. } => Some(expr),
        _ => None,
    };
    let mut given = order.iter().filter_map(given).chain(module.globals.iter().map(|global| body(global.func)));
    if let Some(value) = given.find(|&expr| is_generic(expr)) {
        return Err(stopped("a function of any type is a result, which no continuation takes", value));
    }
    let (names, mut type_params) = (Names::of_globals(module), fresh_type_params(module));
    let answer = type_params.fresh(module, "answer");
    let mut tys = FxHashMap::default();
    if let Some(ctor) = changed_ctor(module, &order, |types, ty| cps_ty(types, &mut tys, ty, answer)) {
        let why = format!("the fields of the constructor `{}` have no place for continuations", ctor.name);
        return Err(refused(&PASS, Stop::from(why).at(ctor.span)));
    }
    let mut twins = Twins { names, type_params, of: FxHashMap::default(), pending: vec![] };
    let was = module.funcs[module.globals[found].func].clone();
    let func = converted(module, &was, &mut twins);
    // What the function calls may call it: then it calls a twin, which is made of the function as it was.
    while let Some((global, twin)) = twins.pending.pop() {
        let of = module.funcs[module.globals[global].func].clone();
        module.globals[twin].func = converted(module, &of, &mut twins);
    }
    module.globals[found].func = func;
    keep_callers(module, found, &was, &mut twins.names);
    Ok(true)
}

/// The twins of global functions.
struct Twins {
    names: Names,
    /// The types of answers.
    type_params: TypeParams,
    of: FxHashMap<GlobalId, GlobalId>,
    /// Those without a body yet.
    pending: Vec<(GlobalId, GlobalId)>,
}

impl Twins {
    fn of(&mut self, module: &mut Module, global: GlobalId) -> GlobalId {
        if let Some(&twin) = self.of.get(&global) {
            return twin;
        }
        let of = module.globals[global].clone();
        let name = self.names.free(&format!("{}_cps", of.name), "");
        let twin = module.globals.push(Global { name, ..of });
        self.of.insert(global, twin);
        self.pending.push((global, twin));
        twin
    }
}

/// The type of a value whose functions take continuations.
fn cps_ty(types: &mut Types, done: &mut FxHashMap<Ty, Ty>, ty: Ty, answer: Ty) -> Ty {
    types.map(ty, done, |types, ty, children| {
        let TyData::Fn { type_params, .. } = types.data(ty) else { return None };
        let type_params = type_params.clone();
        let (ret, params) = children.split_last()?;
        let continuation = types.func(&[*ret], answer);
        let params = params.iter().copied().chain([continuation]).collect();
        Some(types.intern(TyData::Fn { type_params, params, ret: answer }))
    })
}

/// A global function in continuation-passing style.
fn converted(module: &mut Module, func: &Func, twins: &mut Twins) -> FuncId {
    let answer = twins.type_params.fresh(module, "answer");
    let (tys, vars) = (FxHashMap::default(), FxHashMap::default());
    let mut convert = Convert { twins, answer, tys, vars, blocks: vec![], jobs: vec![], bodies: vec![] };
    let new = convert.function(module, func);
    module.funcs[new].type_params.push(answer);
    convert.run(module);
    convert.close(module);
    new
}

index_type! {
    /// A block that is being written.
    struct BlockId;
}

/// A block: bindings, then its end.
struct Block {
    bindings: Vec<(VarId, ExprId)>,
    end: End,
}

enum End {
    /// Not written yet.
    Open,
    Expr(ExprId),
    If(ExprId, BlockId, BlockId),
    Match(ExprId, Vec<(PatId, BlockId)>, bool, Span),
}

/// An expression to convert into a block, whose value a continuation gets.
struct Job {
    block: BlockId,
    expr: ExprId,
    continuation: VarId,
}

/// A step of a job.
enum Step {
    Eval(ExprId),
    /// The children of an expression have been evaluated.
    Finish(ExprId),
    /// Binds the last value.
    Bind(VarId),
    /// The branches of an `if` or a `match` on the last value go to a continuation.
    Branch(ExprId, VarId, BlockId, VarId),
}

struct Convert<'a> {
    twins: &'a mut Twins,
    answer: Ty,
    /// The types of values whose functions take continuations.
    tys: FxHashMap<Ty, Ty>,
    vars: FxHashMap<VarId, VarId>,
    blocks: Vec<Block>,
    jobs: Vec<Job>,
    /// The blocks that are bodies of functions.
    bodies: Vec<(FuncId, BlockId)>,
}

impl Convert<'_> {
    fn block(&mut self) -> BlockId {
        self.blocks.push(Block { bindings: vec![], end: End::Open });
        BlockId::from_usize(self.blocks.len() - 1)
    }

    fn var(&mut self, module: &mut Module, var: VarId) -> VarId {
        if let Some(&known) = self.vars.get(&var) {
            return known;
        }
        let of = module.vars[var].clone();
        let ty = of.checked_ty.or(of.ty).map(|ty| cps_ty(&mut module.types, &mut self.tys, ty, self.answer));
        let new = module.var(&of.name, ty, of.span);
        self.vars.insert(var, new);
        new
    }

    /// A function with a continuation as its last parameter; its body follows.
    fn function(&mut self, module: &mut Module, func: &Func) -> FuncId {
        let ret = func.ret.unwrap_or(module.ty(func.body));
        let ret = cps_ty(&mut module.types, &mut self.tys, ret, self.answer);
        let ty = module.types.func(&[ret], self.answer);
        let continuation = module.var("k", Some(ty), func.span);
        let params: Vec<VarId> = func.params.iter().map(|&param| self.var(module, param)).chain([continuation]).collect();
        let new = module.funcs.push(Func { params, ret: Some(self.answer), ..func.clone() });
        let block = self.block();
        self.bodies.push((new, block));
        self.jobs.push(Job { block, expr: func.body, continuation });
        new
    }

    /// `fn (%arg) { … }`, whose body is a new block and whose argument has the continued form of a type.
    fn continuation(&mut self, module: &mut Module, span: Span, ty: Ty) -> (ExprId, BlockId, VarId) {
        // Branches may give values of narrower types.
        let ty = Some(cps_ty(&mut module.types, &mut self.tys, ty, self.answer)).filter(|&ty| ty != Ty::ERROR);
        let arg = module.var("arg", ty, span);
        let block = self.block();
        let body = module.expr(span, ExprKind::Var(arg));
        let (type_params, attrs) = (vec![], vec![]);
        let func = module.funcs.push(Func { span, type_params, params: vec![arg], ret: None, ret_span: Span::NONE, body, attrs });
        self.bodies.push((func, block));
        (module.expr(span, ExprKind::Fn(func)), block, arg)
    }

    fn run(&mut self, module: &mut Module) {
        while let Some(job) = self.jobs.pop() {
            self.job(module, &job);
        }
    }

    fn job(&mut self, module: &mut Module, job: &Job) {
        let mut here = job.block;
        let mut values: Vec<ExprId> = Vec::new();
        let mut steps = vec![Step::Eval(job.expr)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Eval(expr) => self.eval(module, expr, &mut here, &mut steps, &mut values),
                Step::Bind(var) => {
                    let value = values.pop().expect("a value was evaluated");
                    let var = self.var(module, var);
                    self.blocks[here.index()].bindings.push((var, value));
                }
                Step::Branch(expr, join, rest, arg) => {
                    let on = values.pop().expect("a condition was evaluated");
                    self.branch(module, expr, on, join, here);
                    here = rest;
                    values.push(module.expr(module.exprs[expr].span, ExprKind::Var(arg)));
                }
                Step::Finish(expr) => self.finish(module, expr, &mut here, &mut values),
            }
        }
        let value = values.pop().expect("an expression has a value");
        let call = apply(module, module.exprs[job.expr].span, job.continuation, value);
        self.blocks[here.index()].end = End::Expr(call);
    }

    fn eval(&mut self, module: &mut Module, expr: ExprId, here: &mut BlockId, steps: &mut Vec<Step>, values: &mut Vec<ExprId>) {
        let span = module.exprs[expr].span;
        match module.exprs[expr].kind {
            kind @ (ExprKind::Error | ExprKind::Const(_) | ExprKind::Op(_) | ExprKind::Ctor(_)) => {
                values.push(module.expr(span, kind));
            }
            ExprKind::Var(var) => {
                let var = self.var(module, var);
                values.push(module.expr(span, ExprKind::Var(var)));
            }
            ExprKind::Global(global) => {
                let twin = self.twins.of(module, global);
                values.push(module.expr(span, ExprKind::Global(twin)));
            }
            ExprKind::Fn(func) => {
                let func = self.function(module, &module.funcs[func].clone());
                values.push(module.expr(span, ExprKind::Fn(func)));
            }
            ExprKind::Let { var, value, body } => {
                steps.extend([Step::Eval(body), Step::Bind(var), Step::Eval(value)]);
            }
            ExprKind::If { cond: on, .. } | ExprKind::Match { scrutinee: on, .. } => {
                // What follows comes first, so that both branches may call it.
                let (func, rest, arg) = self.continuation(module, span, module.ty(expr));
                let join = module.var("f", None, span);
                self.blocks[here.index()].bindings.push((join, func));
                steps.extend([Step::Branch(expr, join, rest, arg), Step::Eval(on)]);
            }
            ExprKind::Call { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Proj { .. }
            | ExprKind::RefNew(_)
            | ExprKind::RefRead(_)
            | ExprKind::RefWrite { .. } => {
                steps.push(Step::Finish(expr));
                let mut children = Vec::new();
                module.evaluated_children(expr, &mut children);
                steps.extend(children.into_iter().rev().map(Step::Eval));
            }
        }
    }

    /// Ends a block with branches that give their values to `join`.
    fn branch(&mut self, module: &mut Module, expr: ExprId, on: ExprId, join: VarId, here: BlockId) {
        let job = |this: &mut Self, expr: ExprId| {
            let block = this.block();
            this.jobs.push(Job { block, expr, continuation: join });
            block
        };
        let end = match module.exprs[expr].kind {
            ExprKind::If { then_branch, else_branch, .. } => End::If(on, job(self, then_branch), job(self, else_branch)),
            ExprKind::Match { clauses, total, .. } => {
                let clauses = module.clause_items(clauses).to_vec();
                let mut new = Vec::new();
                for Clause { pat, body } in clauses {
                    new.push((self.pattern(module, pat), job(self, body)));
                }
                End::Match(on, new, total, module.exprs[expr].span)
            }
            _ => unreachable!("only branches end a block"),
        };
        self.blocks[here.index()].end = end;
    }

    /// An expression whose children are the last values.
    fn finish(&mut self, module: &mut Module, expr: ExprId, here: &mut BlockId, values: &mut Vec<ExprId>) {
        let span = module.exprs[expr].span;
        let mut old = Vec::new();
        module.children(expr, &mut old);
        let mut children = values.split_off(values.len() - old.len());
        if matches!(module.exprs[expr].kind, ExprKind::Call { .. }) {
            // A callee is evaluated last.
            children.rotate_right(1);
        }
        let is_direct = module.called_op(expr).is_some() || module.called_ctor(expr).is_some();
        match module.exprs[expr].kind {
            ExprKind::Call { .. } if !is_direct => {
                let (func, rest, arg) = self.continuation(module, span, module.ty(expr));
                let args: Vec<Operand> = children[1..].iter().copied().chain([func]).map(|expr| Operand { expr, span }).collect();
                let args = module.operands(&args);
                let call = module.expr(span, ExprKind::Call { callee: children[0], args, attrs: None });
                self.blocks[here.index()].end = End::Expr(call);
                *here = rest;
                values.push(module.expr(span, ExprKind::Var(arg)));
            }
            ExprKind::Call { .. } | ExprKind::RefRead(_) | ExprKind::RefWrite { .. } => {
                let value = copied(module, expr, &children);
                let var = module.var("x", None, span);
                self.blocks[here.index()].bindings.push((var, value));
                values.push(module.expr(span, ExprKind::Var(var)));
            }
            _ => values.push(copied(module, expr, &children)),
        }
    }

    /// A pattern with the new variables.
    fn pattern(&mut self, module: &mut Module, pat: PatId) -> PatId {
        renamed_pattern(module, pat, &mut |module, var| self.var(module, var))
    }

    /// Makes expressions of the blocks; one that a block ends with is newer.
    fn close(&mut self, module: &mut Module) {
        let mut closed: Vec<Option<ExprId>> = vec![None; self.blocks.len()];
        let of = |closed: &[Option<ExprId>], block: BlockId| closed[block.index()].expect("a block ends with newer ones");
        for (at, block) in std::mem::take(&mut self.blocks).into_iter().enumerate().rev() {
            let end = match block.end {
                End::Open => unreachable!("every block has an end"),
                End::Expr(expr) => expr,
                End::If(cond, then_branch, else_branch) => {
                    let (then_branch, else_branch) = (of(&closed, then_branch), of(&closed, else_branch));
                    module.expr(module.exprs[cond].span, ExprKind::If { cond, then_branch, else_branch })
                }
                End::Match(scrutinee, clauses, total, span) => {
                    let clauses: Vec<Clause> =
                        clauses.into_iter().map(|(pat, block)| Clause { pat, body: of(&closed, block) }).collect();
                    let clauses = module.clauses(&clauses);
                    module.expr(span, ExprKind::Match { scrutinee, clauses, total })
                }
            };
            let (span, ty) = (module.exprs[end].span, module.ty(end));
            closed[at] = Some(bind(module, span, ty, block.bindings.into_iter(), end));
        }
        for (func, block) in self.bodies.drain(..) {
            module.funcs[func].body = of(&closed, block);
        }
    }
}

/// The expression with other children, always a new one, whose type is to be inferred.
fn copied(module: &mut Module, expr: ExprId, children: &[ExprId]) -> ExprId {
    let new = with_children(module, expr, children);
    let kind = module.exprs[new].kind;
    module.expr(module.exprs[expr].span, kind)
}

fn apply(module: &mut Module, span: Span, callee: VarId, arg: ExprId) -> ExprId {
    let callee = module.expr(span, ExprKind::Var(callee));
    let args = module.operands(&[Operand { expr: arg, span }]);
    module.expr(span, ExprKind::Call { callee, args, attrs: None })
}
