//! Plans a function's dataflow group by group.

use super::group::{Lazy, Load, Source, Value};
use super::group_plans::GroupPlans;
use super::lowering::{KernelOptions, Lowering};
use super::not_compiled::NotCompiled;
use super::order::{Lets, leaves, order, see_through, see_through_lets};
use super::request::{self, def};
use super::structure::{self, Structure};
use super::{Buffer, BufferId, Fallback, Group, NoKernel, Place, Plan, Step, Work, call, in_place};
use relayc_ir::kernel::{Body, Routine, View};
use relayc_ir::types::{DType, Ty};
use relayc_ir::{ExprId, ExprKind, FuncId, Module, VarId};
use relayc_ops::lower::{self, Call, Lower, Product, Scalar, Template, Tensor};
use relayc_ops::{OpDef, Table};
use rustc_hash::{FxHashMap, FxHashSet};

/// The plan of a function whose groups are marked: each group is a call of a function literal with `Primitive=1`. Where buffers
/// lie is not known yet ([`super::arrange`]). `refusals` are the calls and groups for which there was no code, as often as there was
/// none: they get nests in place of sums of products, then the operators' evaluation. `groups` are the plans of groups so far;
/// `structure` is that of the function.
///
/// Errors: what keeps it from being compiled.
pub fn plan(
    module: &Module,
    ops: &Table,
    func: FuncId,
    structure: &Structure,
    refusals: &[ExprId],
    options: KernelOptions,
    groups: &GroupPlans,
) -> Result<Plan, NotCompiled> {
    let body = module.funcs[func].body;
    let Structure { order, lets, .. } = structure;
    shallow(module, module.ty(body))?;
    let value = |expr| see_through(module, lets, expr);
    let results = leaves(module, lets, body);
    let requests = request::find(module, ops, structure, &results, &value);
    let mut lowering = Lowering {
        module,
        ops,
        refusals,
        options,
        plan: Plan::default(),
        anchors: vec![],
        requests,
        places: FxHashMap::default(),
        padded: FxHashMap::default(),
        parts: FxHashSet::default(),
        constant: FxHashSet::default(),
        consts: FxHashMap::default(),
        origin: body,
        joins: false,
        joined: FxHashMap::default(),
        straight: vec![],
        groups,
        structure,
        call: body,
    };
    let mut values: FxHashMap<ExprId, Value> = FxHashMap::with_capacity_and_hasher(order.len(), Default::default());
    let mut vars: FxHashMap<VarId, Value> = FxHashMap::default();
    for &param in &module.funcs[func].params {
        let ty = module.vars[param].checked_ty.or(module.vars[param].ty).ok_or(NotCompiled::NoTensor)?;
        shallow(module, ty)?;
        let value = lowering.input(ty)?;
        vars.insert(param, value);
    }
    for &expr in order {
        let value = lowering.expr(expr, &values, &Bound { vars: &vars, lets })?;
        values.insert(expr, value);
    }
    let result = values.remove(&see_through_lets(module, body)).ok_or(NotCompiled::ControlFlow)?;
    lowering.outputs(result);
    let mut plan = lowering.plan;
    groups.end();
    in_place::find(&mut plan);
    Ok(plan)
}

/// Whether a function consists only of operators on tensors of known shapes, so that the result of passes can be planned.
pub fn is_dataflow(module: &Module, func: FuncId) -> bool {
    let known = |ty| module.types.is_shallow(ty) && call::tensors(module, ty).is_ok();
    let param = |&var: &VarId| module.vars[var].checked_ty.or(module.vars[var].ty).is_some_and(known);
    let Ok((order, _)) = order(module, module.funcs[func].body) else { return false };
    module.funcs[func].params.iter().all(param) && order.iter().all(|&expr| known(module.ty(expr)))
}

/// Values of variables: parameters, and `let` bindings.
struct Bound<'a> {
    vars: &'a FxHashMap<VarId, Value>,
    lets: &'a Lets,
}

/// Refuses a type with too many tensors or too deep nesting.
fn shallow(module: &Module, ty: Ty) -> Result<(), NotCompiled> {
    if module.types.is_shallow(ty) { Ok(()) } else { Err(NotCompiled::NoTensor) }
}

impl Lowering<'_> {
    /// A parameter's value.
    fn input(&mut self, ty: Ty) -> Result<Value, NotCompiled> {
        if let Some(fields) = self.module.types.as_tuple(ty) {
            return Ok(Value::Tuple(fields.iter().map(|&field| self.input(field)).collect::<Result<_, _>>()?));
        }
        let tensor = call::tensor(self.module, ty)?;
        let place = Place::Input(self.plan.inputs.len());
        let buffer = self.buffer(&tensor, place);
        self.plan.inputs.push(buffer);
        Ok(self.dense(buffer).into())
    }

    /// A buffer that holds a dense tensor.
    pub(crate) fn buffer(&mut self, tensor: &Tensor, place: Place) -> BufferId {
        let elements = tensor.shape.iter().product();
        self.plan.buffers.push(Buffer { dtype: tensor.dtype, shape: tensor.shape.clone(), elements, place, over: None })
    }

    /// The whole of a dense buffer.
    pub(crate) fn dense(&self, buffer: BufferId) -> Lazy {
        let Buffer { dtype, shape, .. } = &self.plan.buffers[buffer];
        Lazy::load(Load { source: Source::Buffer(buffer), dtype: *dtype, view: View::dense(shape) })
    }

    fn expr(&mut self, expr: ExprId, values: &FxHashMap<ExprId, Value>, bound: &Bound) -> Result<Value, NotCompiled> {
        let module = self.module;
        Ok(match module.exprs[expr].kind {
            ExprKind::Const(_) => self.constant_of(expr).into(),
            ExprKind::Var(var) => match (bound.lets.get(&var), bound.vars.get(&var)) {
                (Some(&value), _) => self.value_of(value, values)?.clone(),
                (None, Some(value)) => value.clone(),
                (None, None) => return Err(NotCompiled::ControlFlow),
            },
            ExprKind::Tuple(fields) => {
                shallow(module, module.ty(expr))?;
                let fields = module.items(fields).iter();
                Value::Tuple(fields.map(|field| self.value_of(field.expr, values).cloned()).collect::<Result<_, _>>()?)
            }
            ExprKind::Proj { tuple, index } => match self.value_of(tuple, values)? {
                Value::Tuple(fields) => fields.get(index as usize).cloned().ok_or(NotCompiled::NoTensor)?,
                Value::Tensor(_) => return Err(NotCompiled::NoTensor),
            },
            ExprKind::Call { callee, args, .. } => {
                let args: Vec<Value> =
                    module.items(args).iter().map(|arg| self.value_of(arg.expr, values).cloned()).collect::<Result<_, _>>()?;
                self.origin = expr;
                self.straight.clear();
                let followed = self.options.followed;
                let (start, operands) = (self.plan.steps.len(), followed.then(|| args.iter().map(Value::seen).collect()));
                let value = match module.exprs[callee].kind {
                    ExprKind::Fn(func) => self.group(expr, func, args)?,
                    _ => {
                        self.joins = false;
                        let value = self.call(expr, args)?;
                        self.settle(expr, value)
                    }
                };
                let steps = start..self.plan.steps.len();
                self.plan.groups.extend(operands.map(|operands| Group { call: expr, operands, result: value.seen(), steps }));
                value
            }
            _ => return Err(NotCompiled::ControlFlow),
        })
    }

    /// A value that is already computed, behind bindings.
    fn value_of<'v>(&self, expr: ExprId, values: &'v FxHashMap<ExprId, Value>) -> Result<&'v Value, NotCompiled> {
        values.get(&see_through_lets(self.module, expr)).ok_or(NotCompiled::ControlFlow)
    }

    fn constant_of(&mut self, expr: ExprId) -> Lazy {
        let ExprKind::Const(id) = self.module.exprs[expr].kind else { unreachable!("the caller matched a constant") };
        if let Some(&buffer) = self.consts.get(&expr) {
            return self.dense(buffer);
        }
        let value = &self.module.consts[id];
        let shape: Vec<u64> = value.shape().iter().map(|&dim| dim as u64).collect();
        let tensor = Tensor { shape, dtype: value.dtype() };
        // A scalar becomes a number of the body.
        let mut body = Body::new();
        if tensor.shape.is_empty()
            && let Some(result) = relayc_ops::lower::constant(&mut body, value)
        {
            return Lazy { dims: vec![], dtype: tensor.dtype, loads: vec![], body, result, ops: vec![] };
        }
        let buffer = self.buffer(&tensor, Place::Const(id));
        self.constant.insert(buffer);
        self.consts.insert(expr, buffer);
        self.dense(buffer)
    }

    /// A fused group, whose result is where its users expect it. An equal one has been planned before, or this one is planned.
    fn group(&mut self, call: ExprId, func: FuncId, args: Vec<Value>) -> Result<Value, NotCompiled> {
        let structure = self.structure;
        let group = structure.group(func);
        let structure::Group { order, lets, .. } = group;
        let repeated = self.described(call, group, &args);
        if let Some(value) = repeated.as_ref().and_then(|group| self.repeat(group, call, order)) {
            return Ok(value);
        }
        let start = self.plan.steps.len();
        let value = self.planned(func, order, lets, args)?;
        let value = self.settle(call, value);
        if self.joins && self.refusals_of_group() == 0 {
            self.join_attention(start);
        }
        if let Some(group) = repeated {
            self.keep(group, call, order, &value);
        }
        Ok(value)
    }

    /// The value of a group's body.
    fn planned(&mut self, func: FuncId, order: &[ExprId], lets: &Lets, args: Vec<Value>) -> Result<Value, NotCompiled> {
        let module = self.module;
        let vars: FxHashMap<VarId, Value> = module.funcs[func].params.iter().copied().zip(args).collect();
        let is_product = |&&expr: &&ExprId| {
            let lower = def(module, self.ops, expr).and_then(|def| def.lower.as_ref());
            matches!(lower, Some(Lower::Product(_)))
        };
        self.joins = order.iter().filter(is_product).count() > 1;
        let mut values: FxHashMap<ExprId, Value> = FxHashMap::default();
        for &expr in order {
            let value = match module.exprs[expr].kind {
                ExprKind::Call { callee, args, .. } if matches!(module.exprs[callee].kind, ExprKind::Op(_)) => {
                    let args: Vec<Value> = module
                        .items(args)
                        .iter()
                        .map(|arg| self.value_of(arg.expr, &values).cloned())
                        .collect::<Result<_, _>>()?;
                    self.call(expr, args)?
                }
                ExprKind::Call { .. } => return Err(NotCompiled::ControlFlow),
                _ => self.expr(expr, &values, &Bound { vars: &vars, lets })?,
            };
            values.insert(expr, value);
        }
        self.value_of(module.funcs[func].body, &values).cloned()
    }

    /// One operator.
    fn call(&mut self, expr: ExprId, args: Vec<Value>) -> Result<Value, NotCompiled> {
        let module = self.module;
        let ExprKind::Call { args: operands, .. } = module.exprs[expr].kind else { return Err(NotCompiled::ControlFlow) };
        let op = def(module, self.ops, expr).ok_or(NotCompiled::ControlFlow)?;
        let types: Vec<Vec<Tensor>> =
            module.items(operands).iter().map(|arg| call::tensors(module, module.ty(arg.expr))).collect::<Result<_, _>>()?;
        let outs = call::tensors(module, module.ty(expr))?;
        let call = Call { attrs: module.call_attrs(expr), args: &types, outs: &outs };
        self.call = expr;
        let refused = self.refused() > 2;
        // The interpreter says that no argument determines a size.
        let sized = call.attrs.iter().any(|value| value.named_size().is_some());
        let lowered = if refused || sized { None } else { self.lowered(expr, op, &call, &args) };
        match lowered {
            Some(value) => Ok(value),
            None => {
                let why = match () {
                    () if refused => NoKernel::Machine,
                    () if op.lower.is_none() => NoKernel::Undeclared,
                    () => NoKernel::Operands,
                };
                Ok(self.fallback((expr, why), op, &args, &outs))
            }
        }
    }

    /// Number of refusals for the current group.
    pub(super) fn refusals_of_group(&self) -> usize {
        self.refusals.iter().filter(|&&refused| refused == self.origin).count()
    }

    /// Number of refusals for the current group as separate steps: the first of a group that joins them is about the joined step.
    pub(crate) fn refused(&self) -> usize {
        self.refusals_of_group().saturating_sub(usize::from(self.joins))
    }

    fn lowered(&mut self, expr: ExprId, op: &'static OpDef, call: &Call, args: &[Value]) -> Option<Value> {
        match op.lower.as_ref()? {
            Lower::Scalar(rule) => self.scalar(op, call, args, |_, _| None, *rule).map(Value::from),
            Lower::Divided(rule) => {
                let args = self.guarded(expr, op, call, args)?;
                self.scalar(op, call, &args, |_, _| None, *rule).map(Value::from)
            }
            Lower::Along(axis, rule) => self.scalar(op, call, args, axis, *rule).map(Value::from),
            Lower::AlongOr(axis, rule, routine) => {
                let body = self.scalar(op, call, args, axis, *rule).map(Value::from);
                body.or_else(|| Some(self.routine(expr, op, args, call.outs, routine(call)?)))
            }
            Lower::View(view) => self.viewed(args, call, |own| view(call, own)).map(Value::from),
            Lower::Reinterpret => {
                let lazy = self.without_anchors(args.first()?)?;
                let mut bits = self.in_buffers(&lazy);
                relayc_ops::lower::lane(call.out().dtype)?;
                bits.dtype = call.out().dtype;
                bits.loads.iter_mut().for_each(|load| load.dtype = call.out().dtype);
                Some(self.copied(&bits).into())
            }
            Lower::Move(view, nest) => match self.seen(args, call, |own| view(call, own)) {
                Some(lazy) => Some(lazy.into()),
                None => self.anchor_nest(op, call, args, nest(call)?.near(call)?),
            },
            Lower::Split(views) => {
                let lazy = self.without_anchors(args.first()?)?;
                let whole = View::dense(&lazy.dims);
                let n = views(call, &whole)?.len();
                let field = |at: usize| {
                    lazy.map_views(&call.outs[at].shape, |own| views(call, own).map(|mut views| views.swap_remove(at)))
                };
                (0..n).map(|at| field(at).map(Value::from)).collect::<Option<_>>().map(Value::Tuple)
            }
            Lower::Join(axis) => self.join(expr, op, call, args, axis(call)?),
            Lower::Stack(axis) => {
                let axis = axis(call)?;
                let layers = self.layers(args, axis)?;
                self.join(expr, op, call, &[Value::Tuple(layers.into())], axis)
            }
            Lower::Nest(nest) => self.anchor_nest(op, call, args, nest(call)?.near(call)?),
            Lower::Padded(margins, nest) => match self.padded(args, &margins(call).unwrap_or_default()) {
                Some(value) => Some(value),
                None => self.anchor_nest(op, call, args, nest(call)?.near(call)?),
            },
            Lower::Nests(nest) => {
                let nests = (0..call.outs.len()).map(|at| nest(call, at)).collect::<Option<Vec<_>>>()?;
                let field = |(at, nest): (usize, Template)| {
                    let call = Call { outs: &call.outs[at..=at], ..*call };
                    self.anchor_nest(op, &call, args, nest.near(&call)?)
                };
                nests.into_iter().enumerate().map(field).collect::<Option<_>>().map(Value::Tuple)
            }
            Lower::Routine(routine) => Some(self.routine(expr, op, args, call.outs, routine(call)?)),
            Lower::NestOr(nest, routine) => match nest(call).and_then(|nest| nest.near(call)) {
                Some(nest) => self.anchor_nest(op, call, args, nest),
                None => Some(self.routine(expr, op, args, call.outs, routine(call)?)),
            },
            Lower::Product(product) => self.anchor_product(op, call, args, Product::near(product(call)?, call)?),
            Lower::Shifted(axis, product) => self.shifted_product(op, call, args, axis(call), *product),
            Lower::Windows(product, nest) => {
                let products = product(call).and_then(|products| Product::near(products, call));
                let value = products.and_then(|products| self.anchor_product(op, call, args, products));
                value.or_else(|| self.anchor_nest(op, call, args, nest(call)?.near(call)?))
            }
        }
    }

    /// Plans an elementwise operator: composes its body with those of its operands.
    fn scalar(
        &mut self,
        op: &'static OpDef,
        call: &Call,
        args: &[Value],
        axis: impl Fn(&Call, usize) -> Option<usize>,
        rule: fn(&mut Scalar) -> Option<relayc_ir::kernel::Val>,
    ) -> Option<Lazy> {
        let dims = call.out().shape.clone();
        relayc_ops::lower::lane(call.out().dtype)?;
        let (mut body, mut loads) = (Body::new(), Vec::<Load>::new());
        let (mut vals, mut ops) = (vec![], vec![]);
        for (at, arg) in args.iter().enumerate() {
            let Value::Tensor(lazy) = arg else { return None };
            relayc_ops::lower::lane(lazy.dtype)?;
            let mut lazy = Lazy::clone(lazy);
            // A result in registers is where it is; repeated, it has to lie somewhere first.
            if lazy.dims != dims && !lazy.anchors().is_empty() {
                lazy = self.in_buffers(&lazy);
            }
            let along = if at > 0 && lazy.dims.len() == 1 { axis(call, at) } else { None };
            let lazy = lazy.map_views(&dims, |view| match along {
                Some(axis) => {
                    let mut extents = vec![1; dims.len()];
                    extents[axis] = view.dims[0];
                    view.reshape(&extents)?.broadcast(&dims)
                }
                None => view.broadcast(&dims),
            })?;
            for name in &lazy.ops {
                if !ops.contains(name) {
                    ops.push(*name);
                }
            }
            vals.push(lazy.append_to(&mut body, |body, load| {
                let read = loads.iter().position(|known| known == load).unwrap_or_else(|| {
                    loads.push(load.clone());
                    loads.len() - 1
                });
                body.read(read)
            }));
        }
        let result = rule(&mut Scalar { call, body: &mut body, args: &vals })?;
        ops.push(op.name);
        let lazy = Lazy { dims, dtype: call.out().dtype, loads, body, result, ops };
        // Long chains are cut, so that a body stays within the registers.
        Some(if lazy.body.instrs.len() > MAX_INSTRS || lazy.loads.len() > MAX_LOADS { self.in_buffers(&lazy) } else { lazy })
    }

    /// Plans a product of operands minus their zero points.
    fn shifted_product(
        &mut self,
        op: &'static OpDef,
        call: &Call,
        args: &[Value],
        axis: Option<usize>,
        product: fn(&Call) -> Option<Vec<Product>>,
    ) -> Option<Value> {
        let dtype = if call.out().dtype.bits > 32 { DType::I64 } else { DType::I32 };
        let (mut tensors, mut values) = (vec![], vec![]);
        for arg in 0..2 {
            let (data, zero) = (call.arg(arg), call.arg(2 + arg));
            let scalar = zero.shape.iter().product::<u64>() == 1;
            let axis = axis.filter(|&axis| arg == 1 && !scalar && data.shape.get(axis) == zero.shape.first());
            (scalar || axis.is_some()).then_some(())?;
            let out = Tensor { shape: data.shape.clone(), dtype };
            let types =
                [vec![data.clone()], vec![Tensor { shape: if scalar { vec![] } else { zero.shape.clone() }, ..zero.clone() }]];
            let shift = Call { attrs: call.attrs, args: &types, outs: std::slice::from_ref(&out) };
            let zero = self.without_anchors(args.get(2 + arg)?)?;
            let zero = if scalar { zero.map_views(&[], |view| view.reshape(&[]))? } else { zero };
            let operands = [args[arg].clone(), zero.into()];
            values.push(self.scalar(op, &shift, &operands, |_, _| axis, lower::without_zero_point)?.into());
            tensors.push(vec![out]);
        }
        let call = Call { attrs: call.attrs, args: &tensors, outs: call.outs };
        self.anchor_product(op, &call, &values, Product::near(product(&call)?, &call)?)
    }

    /// Like [`Lowering::viewed`], without a copy.
    fn seen(&mut self, args: &[Value], call: &Call, view: impl Fn(&View) -> Option<View>) -> Option<Lazy> {
        let lazy = self.without_anchors(args.first()?)?;
        lazy.map_views(&call.out().shape, view)
    }

    /// A view of operand 0; a copy of it if strides cannot express the view.
    fn viewed(&mut self, args: &[Value], call: &Call, view: impl Fn(&View) -> Option<View>) -> Option<Lazy> {
        if let Some(lazy) = self.seen(args, call, &view) {
            return Some(lazy);
        }
        let lazy = self.without_anchors(args.first()?)?;
        let copy = self.copied(&lazy);
        copy.map_views(&call.out().shape, view)
    }

    /// Tensors of a tuple with a new axis of extent 1.
    fn layers(&mut self, args: &[Value], axis: usize) -> Option<Vec<Value>> {
        let Some(Value::Tuple(fields)) = args.first() else { return None };
        let mut layers = vec![];
        for field in fields.iter() {
            let lazy = self.without_anchors(field)?;
            let mut dims = lazy.dims.clone();
            dims.insert(axis, 1);
            layers.push(lazy.map_views(&dims, |view| view.reshape(&dims))?.into());
        }
        Some(layers)
    }

    fn join(&mut self, expr: ExprId, op: &'static OpDef, call: &Call, args: &[Value], axis: usize) -> Option<Value> {
        let Some(Value::Tuple(fields)) = args.first() else { return None };
        let group = self.origin;
        let (buffer, view) = if request::result_of(self.module, group) == expr {
            // The place where parts that asked for it lie already.
            self.place_of(group, call.out())
        } else {
            // What goes on in the group may read it in another order than it writes its result.
            let buffer = self.buffer(call.out(), Place::Arena(0));
            (buffer, View::dense(&call.out().shape))
        };
        self.parts.insert(buffer);
        let mut begin = 0;
        for field in fields.iter() {
            let Value::Tensor(lazy) = field else { return None };
            let n = lazy.dims[axis];
            let part = view.slice(axis, begin as i64, 1, n);
            let there = lazy.plain().is_some_and(|load| load.source == Source::Buffer(buffer) && load.view == part);
            if !there && n > 0 {
                let mut lazy = Lazy::clone(lazy);
                lazy.ops.push(op.name);
                self.store(&lazy, buffer, &part);
            }
            begin += n;
        }
        let dtype = call.out().dtype;
        Some(Lazy::load(Load { source: Source::Buffer(buffer), dtype, view }).into())
    }

    /// Plans an operator as its evaluation.
    fn fallback(&mut self, (expr, why): (ExprId, NoKernel), op: &'static OpDef, args: &[Value], outs: &[Tensor]) -> Value {
        self.whole_call((expr, why), op, args, outs, Work::Fallback)
    }

    /// Plans an operator as a routine.
    fn routine(&mut self, expr: ExprId, op: &'static OpDef, args: &[Value], outs: &[Tensor], routine: Routine) -> Value {
        self.whole_call((expr, NoKernel::Operands), op, args, outs, |call| Work::Routine(routine, call))
    }

    /// Plans a call on dense tensors.
    fn whole_call(
        &mut self,
        (expr, why): (ExprId, NoKernel),
        op: &'static OpDef,
        args: &[Value],
        outs: &[Tensor],
        work: impl FnOnce(Fallback) -> Work,
    ) -> Value {
        let (mut buffers, mut operands) = (vec![], vec![]);
        for arg in args {
            let (is_tuple, fields) = match arg {
                Value::Tensor(lazy) => (false, std::slice::from_ref(lazy).to_vec()),
                Value::Tuple(fields) => (
                    true,
                    fields
                        .iter()
                        .filter_map(|field| match field {
                            Value::Tensor(lazy) => Some(lazy.clone()),
                            Value::Tuple(_) => None,
                        })
                        .collect(),
                ),
            };
            let places = fields.iter().map(|lazy| {
                buffers.push(self.whole(lazy));
                buffers.len() - 1
            });
            let places = places.collect();
            operands.push((is_tuple, places));
        }
        let n_args = buffers.len();
        for out in outs {
            let buffer = self.buffer(out, Place::Arena(0));
            buffers.push(buffer);
        }
        let results: Vec<usize> = (n_args..buffers.len()).collect();
        let fields: Vec<Value> = buffers[n_args..].iter().map(|&buffer| self.dense(buffer).into()).collect();
        let writes = (0..buffers.len()).map(|at| at >= n_args).collect();
        let work = work(Fallback { call: expr, why, operands, results });
        self.plan.steps.push(Step { work, args: buffers, writes, origin: expr, ops: [op.name].into(), once: false });
        let is_tuple = self.module.types.as_tuple(self.module.ty(expr)).is_some();
        if is_tuple { Value::Tuple(fields.into()) } else { fields.into_iter().next().expect("an operator has a result") }
    }

    /// A dense tensor in a buffer of its own.
    pub(crate) fn whole(&mut self, lazy: &Lazy) -> BufferId {
        if let Some(load) = lazy.plain()
            && let Source::Buffer(buffer) = load.source
            && load.view == View::dense(&self.plan.buffers[buffer].shape)
            && self.plan.buffers[buffer].shape == lazy.dims
            && self.plan.buffers[buffer].elements == lazy.dims.iter().product::<u64>()
        {
            return buffer;
        }
        let buffer = self.buffer(&Tensor { shape: lazy.dims.clone(), dtype: lazy.dtype }, Place::Arena(0));
        self.store(lazy, buffer, &View::dense(&lazy.dims));
        buffer
    }

    /// The same value without pending anchors.
    pub(crate) fn without_anchors(&mut self, value: &Value) -> Option<Lazy> {
        let Value::Tensor(lazy) = value else { return None };
        Some(if lazy.anchors().is_empty() { Lazy::clone(lazy) } else { self.in_buffers(lazy) })
    }

    /// The value in a new dense buffer.
    pub(crate) fn copied(&mut self, lazy: &Lazy) -> Lazy {
        let buffer = self.buffer(&Tensor { shape: lazy.dims.clone(), dtype: lazy.dtype }, Place::Arena(0));
        self.store(lazy, buffer, &View::dense(&lazy.dims));
        self.dense(buffer)
    }

    /// The value as a load of a buffer.
    pub(crate) fn in_buffers(&mut self, lazy: &Lazy) -> Lazy {
        if lazy.anchors().is_empty() && lazy.plain().is_some() {
            return lazy.clone();
        }
        let (buffer, view) = self.emit(lazy);
        Lazy::load(Load { source: Source::Buffer(buffer), dtype: lazy.dtype, view })
    }
}

/// Maximum length of a body, and maximum number of its reads.
const MAX_INSTRS: usize = 160;
const MAX_LOADS: usize = 12;
