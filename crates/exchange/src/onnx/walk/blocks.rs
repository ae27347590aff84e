//! Branches and loops: nodes with blocks of nodes inside.
//!
//! An `if` is an `If`. A function whose last step is to call itself under a condition is a `Loop`, whose state are the function's
//! parameters:
//!
//! ```text
//! let %go = fn (%s) { if (%c(%s)) { %go(%t(%s)) } else { %r(%s) } };
//!
//! cond = c(s);  s = Loop(cond, s) { s' = t(s); (c(s'), s') };  result = r(s)
//! ```
//!
//! Each part is evaluated in a scope of its own. What only a branch needs is computed there.

use super::{Frame, MAX_LEAVES, Place, Placed, Then, Val, Walk, own_outputs};
use relayc_ir::types::{DType, Dim};
use relayc_ir::{ExprId, ExprKind, FuncId, VarId};
use relayc_ops::onnx::{Block, Node, NodeAttr, ValueId};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// Maximum nesting of blocks, which are written recursively.
const MAX_NESTED: usize = 64;

/// What a frame evaluates of a node with blocks inside.
pub(super) enum Part {
    Branch(Branch),
    Loop(Loop),
}

/// What follows a part.
pub(super) enum PartDone {
    Next(Frame),
    /// The value of the node, and the function of a loop.
    Value(Place, Val, Option<FuncId>),
}

/// An `if` in progress.
pub(super) struct Branch {
    to: Place,
    branches: [ExprId; 2],
    placed: Rc<Placed>,
    cond: ValueId,
    around: Around,
    /// The block of the first branch, once it is evaluated.
    first: Option<Block>,
}

/// A loop in progress.
pub(super) struct Loop {
    to: Place,
    looped: Rc<Looped>,
    parent: Option<usize>,
    stage: Stage,
}

/// What is evaluated of a loop, and what is known before.
enum Stage {
    /// Whether the first turn is taken, of the first state.
    First { state: Vec<ValueId> },
    /// The next state, of the inputs of the block.
    Turn { cond: ValueId, state: Vec<ValueId>, around: Around, inputs: Vec<ValueId> },
    /// Whether another turn is taken, of the next state.
    Again { cond: ValueId, state: Vec<ValueId>, around: Around, inputs: Vec<ValueId>, next: Vec<ValueId> },
    /// The result, of the last state.
    End,
}

/// The nodes around a block, and the number of sizes that have nodes there.
pub(super) struct Around {
    nodes: Vec<Node>,
    n_sizes: usize,
}

/// A function that is a loop.
pub(super) struct Looped {
    func: FuncId,
    placed: Rc<Placed>,
    /// The `if` that the function ends with.
    choice: ExprId,
    cond: ExprId,
    /// Whether the loop goes on where the condition holds.
    while_true: bool,
    turn: ExprId,
    /// The call of the function by itself.
    call: ExprId,
    end: ExprId,
}

impl Walk<'_> {
    // ---- Blocks ----

    fn open(&mut self) -> Around {
        self.n_open = self.n_open.saturating_add(1);
        Around { nodes: std::mem::take(&mut self.graph.nodes), n_sizes: self.sizes.n_known() }
    }

    fn close(&mut self, around: Around, inputs: Vec<ValueId>, results: &[ValueId]) -> Block {
        let outputs = own_outputs(&mut self.graph, results);
        self.n_open = self.n_open.saturating_sub(1);
        self.sizes.forget_from(around.n_sizes);
        Block { nodes: std::mem::replace(&mut self.graph.nodes, around.nodes), inputs, outputs }
    }

    /// The tensors of a value; `None` for what is no data, or too much.
    fn leaves(&self, val: Val) -> Option<Vec<ValueId>> {
        let (mut leaves, mut stack) = (vec![], vec![val]);
        while let Some(val) = stack.pop() {
            match val {
                Val::Tensor(value) => leaves.push(value),
                Val::Tuple(tuple) => stack.extend(self.fields(tuple).iter().rev()),
                Val::Closure(..) | Val::Nothing => return None,
            }
            if leaves.len().saturating_add(stack.len()) > MAX_LEAVES {
                return None;
            }
        }
        Some(leaves)
    }

    /// Adds a node, whose results are values of an expression's type.
    fn block_node(
        &mut self,
        kind: &'static str,
        expr: ExprId,
        inputs: Vec<Option<ValueId>>,
        outputs: Vec<ValueId>,
        blocks: Vec<(&'static str, Block)>,
    ) {
        let attrs = blocks.into_iter().map(|(name, block)| (name, NodeAttr::Block(block))).collect();
        let name = self.origin(expr);
        self.graph.nodes.push(Node { kind, name, inputs, outputs, attrs });
    }

    /// The end of a part. Its result is that of the frame that evaluated it in a scope.
    pub(super) fn finish(&mut self, part: Part, scope: usize, result: Val, steps: &mut u64) -> PartDone {
        match part {
            Part::Branch(branch) => self.finish_branch(branch, result),
            Part::Loop(turn) => self.finish_loop(turn, scope, result, steps),
        }
    }

    // ---- Branches ----

    /// Enters the first branch of an `if`. Errors: a value in its place, if it is refused.
    pub(super) fn branch(&mut self, to: Place, cond: Val, branches: [ExprId; 2], placed: Rc<Placed>) -> Result<Frame, Val> {
        let Val::Tensor(cond) = cond else { return Err(self.placeholder(to.1)) };
        if self.n_open >= MAX_NESTED {
            let reason = format!("more than {MAX_NESTED} blocks inside of each other");
            self.refuse("`if`", reason, self.module.exprs[to.1].span);
            return Err(self.placeholder(to.1));
        }
        let around = self.open();
        Ok(self.branch_frame(Branch { to, branches, placed, cond, around, first: None }))
    }

    fn branch_frame(&mut self, branch: Branch) -> Frame {
        let number = usize::from(branch.first.is_some());
        let blocks = branch.placed.branches.get(&branch.to.1).copied().unwrap_or_default();
        let (body, order) = (branch.branches[number], branch.placed.blocks[blocks[number]].clone());
        let (placed, scope) = (branch.placed.clone(), self.scope(Some(branch.to.0), Default::default()));
        Frame { scope, placed, order, next: 0, body, then: Then::Block(Box::new(Part::Branch(branch))) }
    }

    fn finish_branch(&mut self, branch: Branch, result: Val) -> PartDone {
        let Branch { to, branches, placed, cond, around, first } = branch;
        let expr = to.1;
        let Some(results) = self.leaves(result) else {
            self.close(around, vec![], &[]);
            if self.refused.is_empty() {
                self.refuse("`if`", "a branch that gives no tensors", self.module.exprs[expr].span);
            }
            let placeholder = self.placeholder(expr);
            return PartDone::Value(to, placeholder, None);
        };
        let block = self.close(around, vec![], &results);
        match first {
            None => {
                let around = self.open();
                PartDone::Next(self.branch_frame(Branch { to, branches, placed, cond, around, first: Some(block) }))
            }
            Some(first) => {
                let name = self.name(expr, "if");
                let val = self.fresh_all(&name, self.module.ty(expr)).unwrap_or(Val::Nothing);
                let outputs = self.leaves(val).unwrap_or_default();
                let blocks = vec![("then_branch", first), ("else_branch", block)];
                self.block_node("If", expr, vec![Some(cond)], outputs, blocks);
                PartDone::Value(to, val, None)
            }
        }
    }

    // ---- Loops ----

    /// The first part of a call of a function that is a loop; `None` for other functions and for a state that is no data.
    pub(super) fn looped(&mut self, func: FuncId, parent: Option<usize>, args: &[Val], to: Place) -> Option<Frame> {
        let looped = Rc::new(self.loop_of(func)?);
        let tensor = |val: &Val| if let Val::Tensor(value) = val { Some(*value) } else { None };
        let state: Vec<ValueId> = args.iter().map(tensor).collect::<Option<_>>()?;
        (self.n_open < MAX_NESTED).then_some(())?;
        let cond = looped.cond;
        Some(self.loop_frame(Loop { to, looped, parent, stage: Stage::First { state: state.clone() } }, &state, cond))
    }

    /// How a function is a loop.
    fn loop_of(&mut self, func: FuncId) -> Option<Looped> {
        // Its `let`s are known then.
        let (placed, module) = (self.placed(func), self.module);
        let choice = self.last_step(module.funcs[func].body);
        let ExprKind::If { cond, then_branch, else_branch } = module.exprs[choice].kind else { return None };
        [(then_branch, else_branch, true), (else_branch, then_branch, false)].into_iter().find_map(|(turn, end, while_true)| {
            let call = self.last_step(turn);
            let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return None };
            let called = match module.exprs[callee].kind {
                ExprKind::Global(global) => Some(module.globals[global].func),
                ExprKind::Var(var) => self.lets.get(&var).and_then(|&value| match module.exprs[value].kind {
                    ExprKind::Fn(func) => Some(func),
                    _ => None,
                }),
                _ => None,
            };
            let placed = placed.clone();
            (called == Some(func)).then_some(Looped { func, placed, choice, cond, while_true, turn, call, end })
        })
    }

    /// The last step of a block, behind its `let`s.
    fn last_step(&self, mut expr: ExprId) -> ExprId {
        while let ExprKind::Let { body, .. } = self.module.exprs[expr].kind {
            expr = body;
        }
        expr
    }

    /// The `let`s of a block and its last step.
    fn until_last_step(&self, mut expr: ExprId) -> FxHashSet<ExprId> {
        let mut all = FxHashSet::from_iter([expr]);
        while let ExprKind::Let { body, .. } = self.module.exprs[expr].kind {
            expr = body;
            all.insert(expr);
        }
        all
    }

    /// A frame that evaluates a part of a loop for a state.
    fn loop_frame(&mut self, of: Loop, state: &[ValueId], body: ExprId) -> Frame {
        let (module, looped) = (self.module, of.looped.clone());
        let params: &[VarId] = &module.funcs[looped.func].params;
        let vars = params.iter().copied().zip(state.iter().map(|&value| Val::Tensor(value))).collect();
        let scope = self.scope(of.parent, vars);
        let [first, second] = looped.placed.branches.get(&looped.choice).copied().unwrap_or_default();
        let [turn, end] = if looped.while_true { [first, second] } else { [second, first] };
        let own = match of.stage {
            Stage::First { .. } | Stage::Again { .. } => None,
            Stage::Turn { .. } => Some(turn),
            Stage::End => Some(end),
        };
        let all = looped.placed.blocks[0].iter().chain(own.iter().flat_map(|&own| looped.placed.blocks[own].iter()));
        // The choice is the node itself, and the call is its next turn: neither they nor the `let`s around have a value.
        let mut skipped = self.until_last_step(module.funcs[looped.func].body);
        if matches!(of.stage, Stage::Turn { .. }) {
            skipped.extend(self.until_last_step(looped.turn));
        }
        let order: Vec<ExprId> = all.filter(|expr| !skipped.contains(expr)).copied().collect();
        let placed = looped.placed.clone();
        Frame { scope, placed, order: order.into(), next: 0, body, then: Then::Block(Box::new(Part::Loop(of))) }
    }

    /// New values for a loop's state.
    fn state(&mut self, looped: &Looped) -> Option<Vec<ValueId>> {
        let module = self.module;
        let new = |walk: &mut Self, &var: &VarId| {
            let var = &module.vars[var];
            match walk.fresh_all(&format!("%{}", var.name), var.checked_ty.or(var.ty)?)? {
                Val::Tensor(value) => Some(value),
                _ => None,
            }
        };
        module.funcs[looped.func].params.iter().map(|var| new(self, var)).collect()
    }

    fn finish_loop(&mut self, of: Loop, scope: usize, result: Val, steps: &mut u64) -> PartDone {
        let Loop { to, looped, parent, stage } = of;
        let next = |stage| Loop { to, looped: looped.clone(), parent, stage };
        match stage {
            Stage::First { state } => {
                let (Val::Tensor(cond), Some(values)) = (result, self.state(&looped)) else { return self.no_loop(to, &looped) };
                let cond = self.goes_on(&looped, cond);
                let around = self.open();
                let scalar = |dtype| Some((Vec::<Dim>::new(), dtype));
                let (turn, going) =
                    (self.graph.value("turn", scalar(DType::I64), None), self.graph.value("going", scalar(DType::BOOL), None));
                let inputs = [turn, going].into_iter().chain(values.iter().copied()).collect();
                let turn = looped.turn;
                PartDone::Next(self.loop_frame(next(Stage::Turn { cond, state, around, inputs }), &values, turn))
            }
            Stage::Turn { cond, state, around, inputs } => {
                let ExprKind::Call { args, .. } = self.module.exprs[looped.call].kind else { return self.no_loop(to, &looped) };
                let args: Vec<ExprId> = self.module.items(args).iter().map(|arg| arg.expr).collect();
                let tensor = |arg: ExprId, steps: &mut u64| match self.get(scope, arg, steps) {
                    Some(Val::Tensor(value)) => Some(value),
                    _ => None,
                };
                let Some(values) = args.into_iter().map(|arg| tensor(arg, steps)).collect::<Option<Vec<ValueId>>>() else {
                    self.close(around, vec![], &[]);
                    return self.no_loop(to, &looped);
                };
                let stage = Stage::Again { cond, state, around, inputs, next: values.clone() };
                let body = looped.cond;
                PartDone::Next(self.loop_frame(next(stage), &values, body))
            }
            Stage::Again { cond, state, around, inputs, next: values } => {
                let Val::Tensor(again) = result else {
                    self.close(around, vec![], &[]);
                    return self.no_loop(to, &looped);
                };
                let again = self.goes_on(&looped, again);
                let results: Vec<ValueId> = [again].into_iter().chain(values).collect();
                let block = self.close(around, inputs, &results);
                let Some(last) = self.state(&looped) else { return self.no_loop(to, &looped) };
                let inputs = [None, Some(cond)].into_iter().chain(state.into_iter().map(Some)).collect();
                self.block_node("Loop", to.1, inputs, last.clone(), vec![("body", block)]);
                let end = looped.end;
                PartDone::Next(self.loop_frame(next(Stage::End), &last, end))
            }
            Stage::End => PartDone::Value(to, result, Some(looped.func)),
        }
    }

    /// Whether a loop goes on, from its condition.
    fn goes_on(&mut self, looped: &Looped, cond: ValueId) -> ValueId {
        if looped.while_true {
            return cond;
        }
        let opposite = self.graph.value("going", Some((vec![], DType::BOOL)), None);
        let inputs = vec![Some(cond)];
        self.graph.nodes.push(Node { kind: "Not", name: None, inputs, outputs: vec![opposite], attrs: vec![] });
        opposite
    }

    /// Refuses a loop, some part of which is no tensor.
    fn no_loop(&mut self, to: Place, looped: &Looped) -> PartDone {
        if self.refused.is_empty() {
            self.refuse("a function", "it calls itself with values that are no tensors", self.module.exprs[to.1].span);
        }
        let placeholder = self.placeholder(to.1);
        PartDone::Value(to, placeholder, Some(looped.func))
    }
}
