//! Numbers expressions by what they compute: expressions of two programs have the same number if they compute the same from the
//! same parameters.

use relayc_ir::tensor::Tensor;
use relayc_ir::{AttrValue, AttrsId, ConstId, ExprId, ExprKind, FuncId, GlobalId, Module, OpTable, PatId, PatKind, Seen, VarId};
use relayc_ops as ops;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// The numbers so far: one for each combination of numbers.
#[derive(Default)]
pub(crate) struct Nodes {
    /// Whether the programs have references. Then evaluating something twice may give different values, so each read, write and
    /// call of a function has a number of its own.
    has_refs: bool,
    /// Whether a `let` of a value without effects has the number of its body.
    through_lets: bool,
    numbers: FxHashMap<(String, Vec<u32>), u32>,
    /// Constants by the hash of their bytes; each has the number of its label.
    tensors: FxHashMap<u64, Vec<(Tensor, u32)>>,
    n_tensors: u32,
}

impl Nodes {
    pub(crate) fn of(modules: [&Module; 2]) -> Nodes {
        let is_ref =
            |expr: &relayc_ir::Expr| matches!(expr.kind, ExprKind::RefNew(_) | ExprKind::RefRead(_) | ExprKind::RefWrite { .. });
        Nodes { has_refs: modules.iter().any(|module| module.exprs.iter().any(is_ref)), ..Nodes::default() }
    }

    /// As [`Nodes::of`], where it does not count how a value without effects is bound.
    pub(crate) fn through_lets(modules: [&Module; 2]) -> Nodes {
        Nodes { through_lets: true, ..Nodes::of(modules) }
    }

    fn number(&mut self, label: String, parts: Vec<u32>) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry((label, parts)).or_insert(next)
    }

    /// The number of a tensor: equal for equal types and bits.
    fn tensor(&mut self, tensor: &Tensor) -> u32 {
        let bytes = tensor.to_le_bytes();
        let mut hasher = FxHasher::default();
        (tensor.type_text(), &bytes).hash(&mut hasher);
        let known = self.tensors.entry(hasher.finish()).or_default();
        let is_same =
            |other: &Tensor| other.dtype() == tensor.dtype() && other.shape() == tensor.shape() && other.to_le_bytes() == bytes;
        if let Some((_, number)) = known.iter().find(|(other, _)| is_same(other)) {
            return *number;
        }
        self.n_tensors += 1;
        known.push((tensor.clone(), self.n_tensors));
        self.n_tensors
    }
}

/// A function and the numbers of its expressions.
pub(crate) struct Function<'p> {
    module: &'p Module,
    pub(crate) func: FuncId,
    pub(crate) body: ExprId,
    /// The number of the body.
    pub(crate) id: u32,
    ids: FxHashMap<ExprId, u32>,
    /// The values of variables bound by `let`.
    values: FxHashMap<VarId, ExprId>,
    order: Vec<ExprId>,
    /// The functions that the other side calls by another name.
    renamed: &'p Renamed,
}

/// Functions by their name on the other side.
pub(crate) type Renamed = FxHashMap<GlobalId, String>;

impl<'p> Function<'p> {
    /// Numbers a function. `params` gives the parameters' counterparts by position; others stand for themselves.
    pub(crate) fn new(
        module: &'p Module,
        func: FuncId,
        params: &FxHashMap<usize, u32>,
        renamed: &'p Renamed,
        nodes: &mut Nodes,
    ) -> Function<'p> {
        let body = module.funcs[func].body;
        let order = module.evaluation_order(&[body]);
        let mut values = FxHashMap::default();
        for &expr in &order {
            if let ExprKind::Let { var, value, .. } = module.exprs[expr].kind {
                values.insert(var, value);
            }
        }
        let Binders { mut vars, lets } = inner_binders(module, body);
        for (i, &var) in module.funcs[func].params.iter().enumerate() {
            let label = match params.get(&i) {
                Some(number) => format!("parameter {number}"),
                None => format!("parameter {} alone", module.vars[var].name),
            };
            vars.insert(var, label);
        }
        let mut function = Function { module, func, body, id: 0, ids: FxHashMap::default(), values, order, renamed };
        let mut n_effects = 0;
        let effects = if nodes.through_lets { function.effects(nodes.has_refs) } else { FxHashSet::default() };
        for i in 0..function.order.len() {
            let expr = function.order[i];
            let stands_for = match module.exprs[expr].kind {
                _ if !nodes.through_lets => None,
                ExprKind::Let { value, body, .. } => Some(body).filter(|_| !effects.contains(&value)),
                // Inside its own value the variable has no number yet.
                ExprKind::Var(var) => function
                    .values
                    .get(&var)
                    .copied()
                    .filter(|value| function.ids.contains_key(value) && !effects.contains(value)),
                _ => None,
            };
            if let Some(other) = stands_for {
                function.ids.insert(expr, function.id_of(other));
                continue;
            }
            let (mut label, parts) = function.node(expr, &vars, &lets, nodes);
            if nodes.has_refs && function.has_effect(expr) {
                label.push_str(&format!(", effect {n_effects}"));
                n_effects += 1;
            }
            function.ids.insert(expr, nodes.number(label, parts));
        }
        function.id = function.id_of(body);
        function
    }

    /// The number of an expression.
    pub(crate) fn id_of(&self, expr: ExprId) -> u32 {
        self.ids.get(&expr).copied().unwrap_or(u32::MAX)
    }

    /// Whether evaluating an expression may read or change a reference. A call of any function may.
    fn has_effect(&self, expr: ExprId) -> bool {
        match self.module.exprs[expr].kind {
            ExprKind::RefNew(_) | ExprKind::RefRead(_) | ExprKind::RefWrite { .. } => true,
            ExprKind::Call { callee, .. } => !matches!(self.module.exprs[callee].kind, ExprKind::Op(_) | ExprKind::Ctor(_)),
            _ => false,
        }
    }

    /// The expressions whose evaluation may have an effect, a call of any function if there are references, or end the run.
    fn effects(&self, has_refs: bool) -> FxHashSet<ExprId> {
        let (mut effects, mut children) = (FxHashSet::default(), Vec::new());
        for &expr in &self.order {
            let own = match self.module.exprs[expr].kind {
                // A function does nothing where it is made.
                ExprKind::Fn(_) => continue,
                ExprKind::Match { total: false, .. } => true,
                _ => has_refs && self.has_effect(expr),
            };
            children.clear();
            self.module.children(expr, &mut children);
            if own || children.iter().any(|child| effects.contains(child)) {
                effects.insert(expr);
            }
        }
        effects
    }

    /// The node of an expression: its own label and the numbers of its operands.
    fn node(
        &self,
        expr: ExprId,
        vars: &FxHashMap<VarId, String>,
        lets: &FxHashMap<VarId, u32>,
        nodes: &mut Nodes,
    ) -> (String, Vec<u32>) {
        let (mut label, mut parts) = (self.own(expr, nodes), Vec::new());
        match self.module.exprs[expr].kind {
            ExprKind::Var(var) => match (vars.get(&var), self.values.get(&var)) {
                (Some(binder), _) => label = binder.clone(),
                // Inside its own value the variable has no number yet: it is one of the bindings around.
                (None, Some(value)) => match self.ids.get(value) {
                    Some(&id) => parts.push(id),
                    None => label = format!("itself {}", lets.get(&var).copied().unwrap_or(u32::MAX)),
                },
                (None, None) => label = format!("free {}", self.module.vars[var].name),
            },
            _ => {
                let mut children = Vec::new();
                self.module.children(expr, &mut children);
                parts.extend(children.into_iter().map(|child| self.id_of(child)));
            }
        }
        (label, parts)
    }

    /// The label of an expression, without its operands.
    fn own(&self, expr: ExprId, nodes: &mut Nodes) -> String {
        let module = self.module;
        match module.exprs[expr].kind {
            ExprKind::Error => "error".into(),
            ExprKind::Const(id) => format!("constant {}", nodes.tensor(&module.consts[id])),
            ExprKind::Var(_) => "variable".into(),
            ExprKind::Global(global) => self.global(global),
            ExprKind::Op(op) => ops::table().name(op).to_owned(),
            ExprKind::Ctor(ctor) => format!("constructor {}", module.ctors[ctor].name),
            ExprKind::Tuple(_) => "tuple".into(),
            ExprKind::Proj { index, .. } => format!(".{index}"),
            ExprKind::Call { attrs, .. } => format!("call {}", self.attrs_text(expr, attrs, nodes)),
            ExprKind::Fn(func) => {
                let types = module.funcs[func].params.iter().map(|&var| module.vars[var].checked_ty.or(module.vars[var].ty));
                let types: Vec<String> = types.map(|ty| ty.map_or(String::new(), |ty| module.types.text(ty))).collect();
                format!("fn({}) {}", types.join(", "), func_attrs(module, func))
            }
            ExprKind::Let { .. } => "let".into(),
            ExprKind::If { .. } => "if".into(),
            ExprKind::Match { clauses, total, .. } => {
                let pats = module.clause_items(clauses).iter().map(|clause| self.pattern(clause.pat));
                format!("match {total} {}", pats.collect::<Vec<String>>().join(" | "))
            }
            ExprKind::RefNew(_) => "ref".into(),
            ExprKind::RefRead(_) => "ref_read".into(),
            ExprKind::RefWrite { .. } => "ref_write".into(),
        }
    }

    /// A function by the name that both sides share; a recursive call refers to `@itself`.
    fn global(&self, global: GlobalId) -> String {
        match self.renamed.get(&global) {
            _ if self.module.globals[global].func == self.func => "@itself".into(),
            Some(name) => format!("@{name}"),
            None => format!("@{}", self.module.globals[global].name),
        }
    }

    /// All attributes of a call, with their numbers in place of constants.
    fn attrs_text(&self, call: ExprId, attrs: Option<AttrsId>, nodes: &mut Nodes) -> String {
        let Some(attrs) = attrs else { return String::new() };
        let names = self.attr_names(call, attrs);
        let values = self.module.attrs[attrs].values.iter();
        let texts = names.iter().zip(values).map(|(name, value)| match value {
            AttrValue::Const(_, tensor) => format!("{name}=constant {}", nodes.tensor(tensor)),
            value => format!("{name}={}", value_text(self.module, value)),
        });
        texts.collect::<Vec<String>>().join(", ")
    }

    fn attr_names(&self, call: ExprId, attrs: AttrsId) -> Vec<String> {
        if let Some(names) = self.module.attr_names.get(&attrs) {
            return names.names.iter().map(|name| name.to_string()).collect();
        }
        let op = self.module.called_op(call);
        let schema = op.and_then(|op| ops::table().schema(op).or(ops::table().meta_schema(op)));
        let n = self.module.attrs[attrs].values.len();
        let names = schema.map(|schema| schema.fields.iter().map(|field| field.name.to_owned()).collect::<Vec<String>>());
        names.filter(|names| names.len() == n).unwrap_or_else(|| (0..n).map(|i| i.to_string()).collect())
    }

    /// A pattern, its variables by their order.
    fn pattern(&self, pat: PatId) -> String {
        let (mut out, mut stack) = (String::new(), vec![pat]);
        while let Some(pat) = stack.pop() {
            match self.module.pats[pat].kind {
                PatKind::Error => out.push_str("error "),
                PatKind::Wildcard => out.push_str("_ "),
                PatKind::Var(_) => out.push_str("% "),
                PatKind::Ctor(ctor, fields) => {
                    out.push_str(&format!("{}/{} ", self.module.ctors[ctor].name, fields.len()));
                    stack.extend(self.module.sub_pats(fields).iter().rev());
                }
                PatKind::Tuple(fields) => {
                    out.push_str(&format!("tuple/{} ", fields.len()));
                    stack.extend(self.module.sub_pats(fields).iter().rev());
                }
            }
        }
        out
    }

    /// The evaluated expressions in order, each with the number of its label. Leaves belong to the expressions that use them.
    pub(crate) fn events(&self, nodes: &mut Nodes) -> Vec<(ExprId, u32)> {
        let is_event = |expr: &ExprId| {
            !matches!(
                self.module.exprs[*expr].kind,
                ExprKind::Error
                    | ExprKind::Const(_)
                    | ExprKind::Var(_)
                    | ExprKind::Global(_)
                    | ExprKind::Op(_)
                    | ExprKind::Ctor(_)
            )
        };
        let events: Vec<ExprId> = self.order.iter().copied().filter(is_event).collect();
        let mut numbered = Vec::with_capacity(events.len());
        for expr in events {
            let label = format!("{} {}", self.head(expr), self.own(expr, nodes));
            numbered.push((expr, nodes.number(label, vec![])));
        }
        numbered
    }

    /// The callee, or the kind of an expression.
    pub(crate) fn head(&self, expr: ExprId) -> String {
        let module = self.module;
        let leaf = |expr: ExprId| match module.exprs[expr].kind {
            ExprKind::Op(op) => Some(ops::table().name(op).to_owned()),
            ExprKind::Global(global) => Some(self.global(global)),
            ExprKind::Ctor(ctor) => Some(module.ctors[ctor].name.to_string()),
            _ => None,
        };
        match module.exprs[expr].kind {
            ExprKind::Call { callee, .. } => leaf(callee).unwrap_or("a call".into()),
            ExprKind::Error => "an error".into(),
            ExprKind::Tuple(_) => "a tuple".into(),
            ExprKind::Proj { .. } => "a projection".into(),
            ExprKind::Fn(_) => "fn".into(),
            ExprKind::Let { .. } => "let".into(),
            ExprKind::If { .. } => "if".into(),
            ExprKind::Match { .. } => "match".into(),
            ExprKind::RefNew(_) => "ref".into(),
            ExprKind::RefRead(_) => "ref_read".into(),
            ExprKind::RefWrite { .. } => "ref_write".into(),
            ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_) => {
                leaf(expr).unwrap_or_default()
            }
        }
    }

    /// A short label of an expression.
    pub(crate) fn label(&self, expr: ExprId) -> String {
        let module = self.module;
        match module.exprs[expr].kind {
            ExprKind::Var(var) => format!("%{}", module.vars[var].name),
            ExprKind::Const(id) => constant_text(module, id),
            ExprKind::Let { var, .. } => format!("let %{}", module.vars[var].name),
            ExprKind::Proj { index, .. } => format!("projection .{index}"),
            ExprKind::Global(global) => format!("@{}", module.globals[global].name),
            ExprKind::Call { callee, .. } if matches!(module.exprs[callee].kind, ExprKind::Global(_)) => self.label(callee),
            _ => self.head(expr),
        }
    }

    /// How a call differs from its counterpart with the same callee.
    pub(crate) fn change(&self, this: ExprId, to: &Function, that: ExprId) -> String {
        let mut nodes = Nodes::default();
        let of = |function: &Function, expr: ExprId, nodes: &mut Nodes| match function.module.exprs[expr].kind {
            ExprKind::Call { attrs: Some(attrs), .. } => {
                let names = function.attr_names(expr, attrs);
                let values = function.module.attrs[attrs].values.iter().map(|value| match value {
                    AttrValue::Const(_, tensor) => format!("constant {}", nodes.tensor(tensor)),
                    value => value_text(function.module, value),
                });
                names.into_iter().zip(values.collect::<Vec<String>>()).collect()
            }
            _ => Vec::new(),
        };
        let (before, after) = (of(self, this, &mut nodes), of(to, that, &mut nodes));
        let changed = before.iter().filter_map(|(name, value)| {
            let other = &after.iter().find(|(other, _)| other == name)?.1;
            (other != value).then(|| format!("{name}={value} became {name}={other}"))
        });
        let changed: Vec<String> = changed.collect();
        match changed.is_empty() {
            true => format!("{}: changed", self.label(this)),
            false => format!("{}: {}", self.label(this), changed.join(", ")),
        }
    }

    /// The inputs of an expression: its operands, with values in place of `let` variables. Bodies of `let`s and functions follow
    /// separately.
    pub(crate) fn operands(&self, expr: ExprId) -> Vec<ExprId> {
        let mut children = Vec::new();
        match self.module.exprs[expr].kind {
            ExprKind::Call { args, .. } => children.extend(self.module.items(args).iter().map(|arg| arg.expr)),
            ExprKind::Let { value, .. } => children.push(value),
            _ => self.module.children(expr, &mut children),
        }
        children.into_iter().map(|child| self.value(child)).collect()
    }

    /// The value of an expression, through variables and bodies of `let`s.
    pub(crate) fn value(&self, mut expr: ExprId) -> ExprId {
        // A variable's value stands before it, but for functions that call themselves: those are values.
        for _ in 0..=self.order.len() {
            expr = match self.module.exprs[expr].kind {
                ExprKind::Var(var) => match self.values.get(&var) {
                    Some(&value) => value,
                    None => return expr,
                },
                ExprKind::Let { body, .. } => body,
                _ => return expr,
            };
        }
        expr
    }

    /// The attributes of the function itself.
    pub(crate) fn attrs(&self) -> String {
        func_attrs(self.module, self.func)
    }
}

fn func_attrs(module: &Module, func: FuncId) -> String {
    let mut texts: Vec<String> =
        module.funcs[func].attrs.iter().map(|(name, value)| format!("{name}={}", value_text(module, value))).collect();
    // They have no order (language 5.7).
    texts.sort_unstable();
    if texts.is_empty() { "no attributes".into() } else { texts.join(", ") }
}

/// The variables that a body binds.
#[derive(Default)]
struct Binders {
    /// Variables of functions and patterns, by depth and position.
    vars: FxHashMap<VarId, String>,
    /// Variables of `let`s, by the number of values around them: nested ones have different numbers.
    lets: FxHashMap<VarId, u32>,
}

fn inner_binders(module: &Module, body: ExprId) -> Binders {
    let mut binders = Binders::default();
    let (mut seen, mut stack, mut children) = (Seen::none(module), vec![(body, 0u32, 0u32)], Vec::new());
    while let Some((expr, depth, n_lets)) = stack.pop() {
        if !seen.insert(expr) {
            continue;
        }
        let mut inner = depth;
        match module.exprs[expr].kind {
            ExprKind::Fn(func) => {
                inner += 1;
                for (i, &var) in module.funcs[func].params.iter().enumerate() {
                    binders.vars.insert(var, format!("inner {depth}.{i}"));
                }
            }
            ExprKind::Match { clauses, .. } => {
                inner += 1;
                for (i, clause) in module.clause_items(clauses).iter().enumerate() {
                    for (j, var) in module.pat_vars(clause.pat).into_iter().enumerate() {
                        binders.vars.insert(var, format!("pattern {depth}.{i}.{j}"));
                    }
                }
            }
            ExprKind::Let { var, value, body } => {
                binders.lets.insert(var, n_lets);
                stack.extend([(body, depth, n_lets), (value, depth, n_lets + 1)]);
                continue;
            }
            _ => {}
        }
        children.clear();
        module.children(expr, &mut children);
        stack.extend(children.iter().rev().map(|&child| (child, inner, n_lets)));
    }
    binders
}

fn constant_text(module: &Module, id: ConstId) -> String {
    let tensor = &module.consts[id];
    if tensor.rank() == 0 { tensor.preview() } else { format!("a constant {}", tensor.type_text()) }
}

/// An attribute's value as Relay writes it.
fn value_text(module: &Module, value: &AttrValue) -> String {
    match value {
        AttrValue::None => "None".into(),
        AttrValue::Bool(value) => if *value { "True" } else { "False" }.into(),
        AttrValue::Int { value, .. } => value.to_string(),
        AttrValue::Float { value, .. } => format!("{value:?}f"),
        AttrValue::Str(text) => format!("{text:?}"),
        AttrValue::DType(dtype) => format!("{:?}", dtype.map_or(String::new(), |dtype| dtype.to_string())),
        AttrValue::List(items) => {
            let items: Vec<String> = items.iter().map(|item| value_text(module, item)).collect();
            format!("[{}]", items.join(", "))
        }
        AttrValue::Any => "?".into(),
        AttrValue::Symbol(symbol) => format!("symbol {:?}", symbol.class),
        AttrValue::Object(id) => format!("{:?}", module.objects[*id]),
        AttrValue::Const(_, tensor) => tensor.type_text(),
        // It repeats an operand, which is compared itself.
        AttrValue::Expr(_) => "an expression".into(),
    }
}
