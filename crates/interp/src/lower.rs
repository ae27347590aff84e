//! Lowers programs to lists of instructions: the explicit order of evaluation of language 8.
//!
//! Each shared node is computed once, in the innermost block that encloses all its uses, just before its first use there. This is
//! the A-normal form that TVM evaluates (`src/relay/transforms/to_a_normal_form.cc`). A block is a function's body, a branch of
//! an `if` or a clause of a `match`. Every function has a frame of slots; a nested function copies the values it uses from the
//! enclosing frame when it is made. A slot is emptied after the last instruction that reads it, so a chain of a million tensors
//! holds two.

use relayc_base::index_type;
use relayc_base::{Idx, IndexVec};
use relayc_ir::{ConstId, CtorId, ExprId, ExprKind, FuncId, GlobalId, Module, OpId, PatId, Root, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

index_type! {
    /// A function's instructions.
    pub(crate) struct CodeId;
}
index_type! {
    /// A list of instructions that run together.
    pub(crate) struct BlockId;
}

/// A slot of a frame.
pub(super) type Slot = u32;

/// The instructions of a module.
#[derive(Debug, Default)]
pub struct LoweredModule {
    pub(super) codes: IndexVec<CodeId, Code>,
    pub(super) blocks: IndexVec<BlockId, Block>,
    /// The code of each global; empty for a bare expression.
    pub(super) globals: Vec<CodeId>,
    /// The code of a bare expression.
    pub(super) root: Option<CodeId>,
}

#[derive(Debug, Default)]
pub(super) struct Code {
    pub(crate) n_slots: u32,
    pub(crate) params: Vec<Slot>,
    /// The slots of the captured values, in the closure's order.
    pub(crate) captures: Vec<Slot>,
    /// The function it was lowered from, if any.
    pub(crate) func: Option<FuncId>,
    /// The slot of the function itself, if it calls itself by its `let` name.
    pub(crate) self_slot: Option<Slot>,
    pub(crate) body: Option<BlockId>,
}

#[derive(Debug, Default)]
pub(super) struct Block {
    pub(crate) instrs: Vec<Instr>,
    pub(crate) result: Slot,
}

#[derive(Debug)]
pub(super) struct Instr {
    pub(crate) expr: ExprId,
    pub(crate) dst: Slot,
    pub(crate) kind: InstrKind,
    /// Slots that nothing reads after this.
    pub(crate) dead: Vec<Slot>,
}

#[derive(Debug)]
pub(super) enum InstrKind {
    Const(ConstId),
    Global(GlobalId),
    Tuple(Vec<Slot>),
    Proj(Slot, u32),
    CallOp(OpId, Vec<Slot>),
    Call(Slot, Vec<Slot>),
    /// A closure over these slots.
    Closure(CodeId, Vec<Slot>),
    If(Slot, BlockId, BlockId),
    /// A value of a data type.
    Adt(CtorId, Vec<Slot>),
    Match(Slot, Vec<Arm>),
    RefNew(Slot),
    RefRead(Slot),
    /// The cell, the value.
    RefWrite(Slot, Slot),
}

/// A clause of a match.
#[derive(Debug)]
pub(super) struct Arm {
    pub(crate) pat: PatId,
    /// Where the values of the pattern's variables go, in text order.
    pub(crate) binds: Vec<Slot>,
    pub(crate) block: BlockId,
}

/// Lowers every function of a well-formed, typed module.
pub fn lower(module: &Module) -> LoweredModule {
    let mut lower = Lower {
        module,
        program: LoweredModule { codes: IndexVec::new(), blocks: IndexVec::new(), globals: vec![], root: None },
        scopes: vec![],
        scope_of: vec![None; module.exprs.len()],
        var_scope: vec![None; module.vars.len()],
        scope_inside: FxHashMap::default(),
        alias: FxHashMap::default(),
        ctor_codes: FxHashMap::default(),
        slots: vec![],
    };
    match module.root {
        Root::Globals => {
            for global in module.globals.iter() {
                let func = &module.funcs[global.func];
                let code = lower.function(func.body, &func.params);
                lower.program.codes[code].func = Some(global.func);
                lower.program.globals.push(code);
            }
        }
        Root::Expr(expr) => lower.program.root = Some(lower.function(expr, &module.free_vars())),
    }
    lower.program
}

/// A block in the making.
struct Scope {
    parent: Option<usize>,
    depth: u32,
    code: CodeId,
    block: BlockId,
    /// The nodes computed here, in order.
    nodes: Vec<ExprId>,
    /// The expression whose value the block has.
    result: ExprId,
    /// The slots of the pattern variables of a clause.
    binds: Vec<Slot>,
}

/// A value of a frame: a node's or a variable's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Expr(ExprId),
    Var(VarId),
}

struct Lower<'a> {
    module: &'a Module,
    program: LoweredModule,
    scopes: Vec<Scope>,
    /// The scope in which a node is computed.
    scope_of: Vec<Option<usize>>,
    var_scope: Vec<Option<usize>>,
    /// The scopes a node opens: a function's body, the branches of an `if`, the clauses of a `match`.
    scope_inside: FxHashMap<ExprId, Vec<usize>>,
    /// A let's variable is its value, unless that is a function, which finds itself in its own frame.
    alias: FxHashMap<VarId, ExprId>,
    /// The functions that constructors are as values.
    ctor_codes: FxHashMap<CtorId, CodeId>,
    /// The slots of each code's frame.
    slots: Vec<FxHashMap<Key, Slot>>,
}

impl Lower<'_> {
    /// A function that captures nothing: a global, or the bare expression, whose parameters are its free variables.
    fn function(&mut self, body: ExprId, params: &[VarId]) -> CodeId {
        let first_scope = self.scopes.len();
        let scope = self.new_code(None, body);
        let code = self.scopes[scope].code;
        self.declare(scope, params);
        let order = self.module.post_order(&[body]);
        self.place(body, scope, &order);
        self.schedule(body);
        for at in first_scope..self.scopes.len() {
            self.captures(at);
        }
        self.emit(first_scope);
        // A node of another function may be one of these, too (language 2.3).
        for expr in order {
            self.scope_of[expr.index()] = None;
            self.scope_inside.remove(&expr);
        }
        code
    }

    fn new_code(&mut self, parent: Option<usize>, body: ExprId) -> usize {
        let code = self.program.codes.push(Code::default());
        self.slots.push(FxHashMap::default());
        let scope = self.new_scope(parent, code, body);
        self.program.codes[code].body = Some(self.scopes[scope].block);
        scope
    }

    fn new_scope(&mut self, parent: Option<usize>, code: CodeId, result: ExprId) -> usize {
        let block = self.program.blocks.push(Block::default());
        let depth = parent.map_or(0, |parent| self.scopes[parent].depth + 1);
        self.scopes.push(Scope { parent, depth, code, block, nodes: vec![], result, binds: vec![] });
        self.scopes.len() - 1
    }

    fn declare(&mut self, scope: usize, params: &[VarId]) {
        let code = self.scopes[scope].code;
        for &var in params {
            self.var_scope[var.index()] = Some(scope);
            let slot = self.slot(code, Key::Var(var));
            self.program.codes[code].params.push(slot);
        }
    }

    fn slot(&mut self, code: CodeId, key: Key) -> Slot {
        let key = self.resolve(key);
        let next = &mut self.program.codes[code].n_slots;
        *self.slots[code.index()].entry(key).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    /// Follows lets and variables to their value.
    fn resolve(&self, mut key: Key) -> Key {
        loop {
            let next = match key {
                Key::Var(var) => self.alias.get(&var).map(|&value| Key::Expr(value)),
                Key::Expr(expr) => match self.module.exprs[expr].kind {
                    ExprKind::Var(var) => Some(Key::Var(var)),
                    ExprKind::Let { body, .. } => Some(Key::Expr(body)),
                    _ => None,
                },
            };
            match next {
                Some(next) => key = next,
                None => return key,
            }
        }
    }

    /// Finds the scope of each node: the innermost one around all its uses. Parents come before children.
    fn place(&mut self, body: ExprId, scope: usize, order: &[ExprId]) {
        self.scope_of[body.index()] = Some(scope);
        let mut children = Vec::new();
        for &expr in order.iter().rev() {
            let Some(here) = self.scope_of[expr.index()] else { continue };
            children.clear();
            self.module.children(expr, &mut children);
            match self.module.exprs[expr].kind {
                ExprKind::Fn(func) => {
                    let inside = self.new_code(Some(here), children[0]);
                    let code = self.scopes[inside].code;
                    self.program.codes[code].func = Some(func);
                    let params = self.module.funcs[func].params.clone();
                    self.declare(inside, &params);
                    self.scope_inside.insert(expr, vec![inside]);
                    self.use_in(children[0], inside);
                }
                ExprKind::If { .. } => {
                    let code = self.scopes[here].code;
                    let inside: Vec<usize> = [1, 2].iter().map(|&i| self.new_scope(Some(here), code, children[i])).collect();
                    self.use_in(children[0], here);
                    self.use_in(children[1], inside[0]);
                    self.use_in(children[2], inside[1]);
                    self.scope_inside.insert(expr, inside);
                }
                ExprKind::Let { var, value, .. } => {
                    self.alias.insert(var, value);
                    children.iter().for_each(|&child| self.use_in(child, here));
                }
                ExprKind::Match { clauses, .. } => {
                    self.use_in(children[0], here);
                    let code = self.scopes[here].code;
                    let mut inside = Vec::new();
                    for clause in self.module.clause_items(clauses) {
                        let scope = self.new_scope(Some(here), code, clause.body);
                        self.bind(scope, clause.pat);
                        self.use_in(clause.body, scope);
                        inside.push(scope);
                    }
                    self.scope_inside.insert(expr, inside);
                }
                // A constructor that is applied is no value.
                ExprKind::Call { .. } if self.module.called_ctor(expr).is_some() => {
                    children[1..].iter().for_each(|&child| self.use_in(child, here));
                }
                _ => children.iter().for_each(|&child| self.use_in(child, here)),
            }
        }
    }

    /// Gives the variables of a clause's pattern their slots.
    fn bind(&mut self, scope: usize, pat: PatId) {
        let code = self.scopes[scope].code;
        for var in self.module.pat_vars(pat) {
            self.var_scope[var.index()] = Some(scope);
            let slot = self.slot(code, Key::Var(var));
            self.scopes[scope].binds.push(slot);
        }
    }

    fn use_in(&mut self, expr: ExprId, scope: usize) {
        let joined = self.scope_of[expr.index()].map_or(scope, |other| self.common(other, scope));
        self.scope_of[expr.index()] = Some(joined);
    }

    /// The innermost scope around both.
    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            let deeper = if self.scopes[a].depth >= self.scopes[b].depth { &mut a } else { &mut b };
            *deeper = self.scopes[*deeper].parent.expect("scopes of one function have a common one");
        }
        a
    }

    /// Lists the nodes of each scope in evaluation order.
    fn schedule(&mut self, body: ExprId) {
        for expr in self.module.evaluation_order(&[body]) {
            let is_value = match self.module.exprs[expr].kind {
                ExprKind::Var(_) | ExprKind::Let { .. } | ExprKind::Error => false,
                ExprKind::Op(_) => false,
                ExprKind::Const(_)
                | ExprKind::Global(_)
                | ExprKind::Tuple(_)
                | ExprKind::Proj { .. }
                | ExprKind::Call { .. }
                | ExprKind::Fn(_)
                | ExprKind::Ctor(_)
                | ExprKind::Match { .. }
                | ExprKind::RefNew(_)
                | ExprKind::RefRead(_)
                | ExprKind::RefWrite { .. }
                | ExprKind::If { .. } => true,
            };
            if let (true, Some(scope)) = (is_value, self.scope_of[expr.index()]) {
                self.scopes[scope].nodes.push(expr);
            }
        }
    }

    /// Captures the values that a scope reads from enclosing frames, through every frame between.
    fn captures(&mut self, scope: usize) {
        let mut read = Vec::new();
        let nodes = std::mem::take(&mut self.scopes[scope].nodes);
        for &expr in &nodes {
            read.clear();
            self.reads(expr, &mut read);
            read.iter().for_each(|&key| self.capture(key, scope));
        }
        self.scopes[scope].nodes = nodes;
        // A body that is only a mention has no node that reads it.
        self.capture(Key::Expr(self.scopes[scope].result), scope);
    }

    /// The values a node reads directly.
    fn reads(&self, expr: ExprId, out: &mut Vec<Key>) {
        let mut children = Vec::new();
        match self.module.exprs[expr].kind {
            // What is inside is read by the scopes inside.
            ExprKind::Fn(_) => {}
            ExprKind::If { cond, .. } => out.push(Key::Expr(cond)),
            ExprKind::Match { scrutinee, .. } => out.push(Key::Expr(scrutinee)),
            ExprKind::Call { args, .. } if self.module.called_ctor(expr).is_some() => {
                out.extend(self.module.items(args).iter().map(|arg| Key::Expr(arg.expr)));
            }
            _ => {
                self.module.children(expr, &mut children);
                let is_op = |child: &ExprId| matches!(self.module.exprs[*child].kind, ExprKind::Op(_));
                out.extend(children.iter().filter(|child| !is_op(child)).map(|&child| Key::Expr(child)));
            }
        }
    }

    fn capture(&mut self, key: Key, scope: usize) {
        let key = self.resolve(key);
        let home = match key {
            Key::Expr(expr) => self.scope_of[expr.index()],
            Key::Var(var) => self.var_scope[var.index()],
        };
        let Some(home) = home.map(|home| self.scopes[home].code) else { return };
        let mut at = scope;
        while self.scopes[at].code != home {
            let code = self.scopes[at].code;
            if self.slots[code.index()].contains_key(&key) {
                return;
            }
            let slot = self.slot(code, key);
            // The frame's outermost scope hangs in the scope where the function is made.
            while self.scopes[at].parent.is_some_and(|parent| self.scopes[parent].code == code) {
                at = self.scopes[at].parent.unwrap_or(at);
            }
            let Some(parent) = self.scopes[at].parent else { return };
            if self.is_self(key, at) {
                self.program.codes[code].self_slot = Some(slot);
                return;
            }
            self.program.codes[code].captures.push(slot);
            at = parent;
        }
    }

    /// Whether the value is the very function whose body is this scope.
    fn is_self(&self, key: Key, scope: usize) -> bool {
        let Key::Expr(expr) = key else { return false };
        self.scope_inside.get(&expr).is_some_and(|inside| inside.contains(&scope))
            && matches!(self.module.exprs[expr].kind, ExprKind::Fn(_))
    }

    /// Writes the instructions of all scopes from `first` on.
    fn emit(&mut self, first: usize) {
        // Inner scopes first: a closure's captures and a branch's reads are known when its maker is written.
        let mut outer_reads: FxHashMap<usize, FxHashSet<Slot>> = FxHashMap::default();
        for scope in (first..self.scopes.len()).rev() {
            self.emit_scope(scope, &mut outer_reads);
        }
    }

    fn emit_scope(&mut self, scope: usize, outer_reads: &mut FxHashMap<usize, FxHashSet<Slot>>) {
        let (code, block) = (self.scopes[scope].code, self.scopes[scope].block);
        let nodes = std::mem::take(&mut self.scopes[scope].nodes);
        let mut instrs: Vec<Instr> = nodes.iter().map(|&expr| self.instr(code, expr)).collect();
        let result = self.slot(code, Key::Expr(self.scopes[scope].result));
        let mut own: FxHashSet<Slot> = instrs.iter().map(|instr| instr.dst).collect();
        own.extend(&self.scopes[scope].binds);
        let mut read: FxHashSet<Slot> = FxHashSet::from_iter([result]);
        for instr in instrs.iter_mut().rev() {
            let mut slots = instr.kind.reads();
            for inner in
                self.scope_inside.get(&instr.expr).into_iter().flatten().filter(|&&inner| self.scopes[inner].code == code)
            {
                slots.extend(outer_reads.remove(inner).unwrap_or_default());
            }
            for slot in slots {
                if read.insert(slot) && own.contains(&slot) {
                    instr.dead.push(slot);
                }
            }
            if !read.contains(&instr.dst) {
                instr.dead.push(instr.dst);
            }
            instr.dead.sort_unstable();
        }
        outer_reads.insert(scope, read.difference(&own).copied().collect());
        self.program.blocks[block] = Block { instrs, result };
    }

    fn instr(&mut self, code: CodeId, expr: ExprId) -> Instr {
        let module = self.module;
        let slots = |this: &mut Self, list| module.items(list).iter().map(|item| this.slot(code, Key::Expr(item.expr))).collect();
        let kind = match module.exprs[expr].kind {
            ExprKind::Const(id) => InstrKind::Const(id),
            ExprKind::Global(id) => InstrKind::Global(id),
            ExprKind::Tuple(fields) => InstrKind::Tuple(slots(self, fields)),
            // Inference let no index pass that is negative.
            ExprKind::Proj { tuple, index } => InstrKind::Proj(self.slot(code, Key::Expr(tuple)), index as u32),
            ExprKind::Call { callee, args, .. } => match module.exprs[callee].kind {
                ExprKind::Op(op) => InstrKind::CallOp(op, slots(self, args)),
                ExprKind::Ctor(ctor) => InstrKind::Adt(ctor, slots(self, args)),
                _ => InstrKind::Call(self.slot(code, Key::Expr(callee)), slots(self, args)),
            },
            ExprKind::Fn(_) => {
                let inner = self.scopes[self.scope_inside[&expr][0]].code;
                InstrKind::Closure(inner, self.captured_slots(inner, code))
            }
            ExprKind::If { cond, .. } => {
                let inside = &self.scope_inside[&expr];
                let (then_block, else_block) = (self.scopes[inside[0]].block, self.scopes[inside[1]].block);
                InstrKind::If(self.slot(code, Key::Expr(cond)), then_block, else_block)
            }
            ExprKind::Ctor(ctor) => InstrKind::Closure(self.ctor_code(expr, ctor), vec![]),
            ExprKind::Match { scrutinee, clauses, .. } => {
                let arm = |(clause, &scope): (&relayc_ir::Clause, &usize)| {
                    let scope = &self.scopes[scope];
                    Arm { pat: clause.pat, binds: scope.binds.clone(), block: scope.block }
                };
                let arms = module.clause_items(clauses).iter().zip(&self.scope_inside[&expr]).map(arm).collect();
                InstrKind::Match(self.slot(code, Key::Expr(scrutinee)), arms)
            }
            ExprKind::RefNew(value) => InstrKind::RefNew(self.slot(code, Key::Expr(value))),
            ExprKind::RefRead(cell) => InstrKind::RefRead(self.slot(code, Key::Expr(cell))),
            ExprKind::RefWrite { cell, value } => {
                InstrKind::RefWrite(self.slot(code, Key::Expr(cell)), self.slot(code, Key::Expr(value)))
            }
            ExprKind::Error | ExprKind::Var(_) | ExprKind::Op(_) | ExprKind::Let { .. } => {
                unreachable!("the schedule holds values only")
            }
        };
        Instr { expr, dst: self.slot(code, Key::Expr(expr)), kind, dead: vec![] }
    }

    /// The function a constructor is as a value: it applies the constructor to its parameters (language 8).
    fn ctor_code(&mut self, expr: ExprId, ctor: CtorId) -> CodeId {
        if let Some(&code) = self.ctor_codes.get(&ctor) {
            return code;
        }
        let dst = self.module.ctors[ctor].inputs.len() as Slot;
        let params: Vec<Slot> = (0..dst).collect();
        let instr = Instr { expr, dst, kind: InstrKind::Adt(ctor, params.clone()), dead: vec![] };
        let body = self.program.blocks.push(Block { instrs: vec![instr], result: dst });
        let code = Code { n_slots: dst + 1, params, body: Some(body), ..Code::default() };
        let code = self.program.codes.push(code);
        self.slots.push(FxHashMap::default());
        self.ctor_codes.insert(ctor, code);
        code
    }

    /// The slots of the frame `outer` that a function made there captures, in the order of its captures.
    fn captured_slots(&mut self, inner: CodeId, outer: CodeId) -> Vec<Slot> {
        let keys: FxHashMap<Slot, Key> = self.slots[inner.index()].iter().map(|(&key, &slot)| (slot, key)).collect();
        let captures = self.program.codes[inner].captures.clone();
        captures.into_iter().map(|slot| self.slot(outer, keys[&slot])).collect()
    }
}

impl InstrKind {
    /// The slots it reads itself.
    fn reads(&self) -> Vec<Slot> {
        match self {
            InstrKind::Const(_) | InstrKind::Global(_) => vec![],
            InstrKind::Tuple(slots) | InstrKind::CallOp(_, slots) | InstrKind::Closure(_, slots) | InstrKind::Adt(_, slots) => {
                slots.clone()
            }
            InstrKind::Proj(slot, _) | InstrKind::Match(slot, _) | InstrKind::RefNew(slot) | InstrKind::RefRead(slot) => {
                vec![*slot]
            }
            InstrKind::RefWrite(cell, value) => vec![*cell, *value],
            InstrKind::Call(callee, args) => args.iter().copied().chain([*callee]).collect(),
            InstrKind::If(cond, _, _) => vec![*cond],
        }
    }
}
