//! Builds the program: calls have types at once, and cheap calls of constants are folded at once.
//!
//! A call's type relation runs when the call is made. So a converter can query shapes, and a broken rule is reported at the
//! node that breaks it. Small computations on constants are folded: the shape arithmetic of exporters becomes attributes. Sizes
//! that have names take part in it: the elements of a shape are numbers and expressions of sizes, which integer arithmetic and
//! operators that only move elements carry on.

mod partial;

use super::errors::Refusal;
use relayc_base::{IndexVec, Span};
use relayc_ir::attrs::{AttrValue, OpTable};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, SizeName, Solver, Ty, Types, can_be_held, checked_elements, dims_of};
use relayc_ir::{Attrs, ConstId, ExprId, ExprKind, Func, Global, Module, OpId, Operand, VarId};
use relayc_ops::eval::{ArgValue, EvalCx, OutTy, Outputs};
use relayc_ops::rel::{RelCx, Stop};
use relayc_ops::{self as ops, Fixed, KnownFacts, OpDef, Table};
use rustc_hash::{FxHashMap, FxHashSet};

/// A value of the program: an operand or a result of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Val(pub ExprId);

/// Maximum numbers of elements to fold, of integers and bools, and of floats. The former are shapes and indices; the latter may
/// be weights, which keep their names.
const MAX_INTS: u64 = 1 << 16;
const MAX_FLOATS: u64 = 1 << 8;

/// Folded results up to this size do not count: dimensions and the like.
const FREE: usize = 64;

/// The most pairs of names that are tried.
const MAX_PAIRS: usize = 64;

/// Limit for constants that the file does not contain: this many times the file's bytes, plus a fixed number of bytes.
const TIMES: u64 = 4;
const MORE: u64 = 32 << 20;

const NO_TENSOR: &str = "an operand that is no tensor";

/// Resolves an axis of a tensor of this rank, which counts from the end if negative.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Result<usize, Refusal> {
    let n = i64::try_from(rank).unwrap_or(i64::MAX);
    let at = if axis < 0 { axis.saturating_add(n) } else { axis };
    let at = usize::try_from(at).ok().filter(|&at| at < rank);
    at.ok_or_else(|| Refusal::wrong(format!("axis {axis} is out of range for rank {rank}")))
}

/// What is known of an element of a vector of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element {
    /// A number or an expression of sizes.
    Size(Dim),
    /// A dimension that only a run knows: of a value, along an axis.
    Axis(Val, usize),
    /// A size over another, in floating point.
    Ratio(Dim, Dim),
    Unknown,
}

impl Element {
    fn of(dim: Dim) -> Element {
        if dim.is_sized() { Element::Size(dim) } else { Element::Unknown }
    }

    pub(crate) fn size(self) -> Option<Dim> {
        match self {
            Element::Size(dim) => Some(dim),
            Element::Axis(..) | Element::Ratio(..) | Element::Unknown => None,
        }
    }

    fn number(self) -> Option<i64> {
        self.size().and_then(Dim::value)
    }
}

pub(crate) struct Builder {
    pub(crate) module: Module,
    ops: &'static Table,
    callees: FxHashMap<OpId, ExprId>,
    /// The place of the current node.
    pub(crate) span: Span,
    /// The elements of integers that are not constants, in row-major order.
    partial: FxHashMap<ExprId, Vec<Element>>,
    /// The number that every element is, of integers whose dimensions are open.
    uniform: FxHashMap<ExprId, i64>,
    /// Sequences whose tensors are one behind another already, as the only node that reads them joins them.
    joined: FxHashSet<ExprId>,
    /// Two names of sizes that a call requires to be one, if it was refused for that.
    pub(crate) conflict: Option<(SizeName, SizeName)>,
    /// Bytes of constants made so far, and their limit.
    made: u64,
    max_made: u64,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder {
            module: Module::new(),
            ops: ops::table(),
            callees: FxHashMap::default(),
            span: Span::NONE,
            partial: FxHashMap::default(),
            uniform: FxHashMap::default(),
            joined: FxHashSet::default(),
            conflict: None,
            made: 0,
            max_made: MORE,
        }
    }

    /// Sets the limit for constants from the size of the file.
    pub(crate) fn set_file_size(&mut self, bytes: u64) {
        self.max_made = bytes.saturating_mul(TIMES).saturating_add(MORE);
    }

    /// Charges elements that the file does not contain, such as those of a range; call it before making them. A few bytes of
    /// the file may request any number of elements, repeatedly in functions and loops.
    ///
    /// Errors: E0805 if the whole model requests too many.
    pub(crate) fn charge_elements(&mut self, n: usize, dtype: DType) -> Result<(), Refusal> {
        let n = u64::try_from(n).unwrap_or(u64::MAX);
        let made = self.made.saturating_add(n.saturating_mul(dtype.bytes()));
        if made > self.max_made {
            return Err(Refusal::too_much_made(self.max_made));
        }
        self.made = made;
        Ok(())
    }

    fn expr(&mut self, kind: ExprKind, ty: Ty) -> Val {
        let span = self.span;
        let expr = self.module.expr(span, kind);
        let n = self.module.exprs.len();
        self.module.expr_tys.grow(n, None);
        self.module.expr_tys[expr] = Some(ty);
        Val(expr)
    }

    /// A placeholder for a missing value.
    pub(crate) fn poison(&mut self) -> Val {
        self.expr(ExprKind::Error, Ty::ERROR)
    }

    pub(crate) fn kind(&self, val: Val) -> ExprKind {
        self.module.exprs[val.0].kind
    }

    pub(crate) fn ty(&self, val: Val) -> Ty {
        self.module.ty(val.0)
    }

    /// Shape and dtype of a tensor; `None` for other types.
    pub(crate) fn tensor_ty(&self, val: Val) -> Option<(&[Dim], DType)> {
        self.module.types.as_tensor(self.ty(val))
    }

    /// The dimensions of a tensor.
    pub(crate) fn shape(&self, val: Val) -> Result<Vec<Dim>, Refusal> {
        let shape = self.tensor_ty(val).map(|(shape, _)| shape.to_vec());
        shape.ok_or_else(|| Refusal::wrong(NO_TENSOR))
    }

    /// The dtype of a tensor.
    pub(crate) fn dtype(&self, val: Val) -> Result<DType, Refusal> {
        let dtype = self.tensor_ty(val).map(|(_, dtype)| dtype);
        dtype.ok_or_else(|| Refusal::wrong(NO_TENSOR))
    }

    /// The tensor of a constant value.
    pub(crate) fn known(&self, val: Val) -> Option<&Tensor> {
        match self.module.exprs[val.0].kind {
            ExprKind::Const(id) => Some(&self.module.consts[id]),
            _ => None,
        }
    }

    /// Whether a constant has a nonzero element.
    pub(crate) fn known_truth(&self, val: Val) -> Option<bool> {
        self.known(val).map(|value| value.any(|x| x != 0.0, |x| x != 0))
    }

    /// The known elements of a vector of integers; all for a constant.
    pub(crate) fn known_elements(&self, val: Val) -> Option<Vec<Option<i64>>> {
        Some(self.elements(val)?.into_iter().map(Element::number).collect())
    }

    /// The elements of a vector of integers, if all are numbers or sizes.
    pub(crate) fn known_sizes(&self, val: Val) -> Option<Vec<Dim>> {
        self.elements(val)?.into_iter().map(Element::size).collect()
    }

    /// What is known of the elements of an operand; `None` if nothing is.
    pub(crate) fn elements(&self, val: Val) -> Option<Vec<Element>> {
        if let Some(value) = self.known(val) {
            let int = |value: i128| i64::try_from(value).map_or(Element::Unknown, |value| Element::Size(Dim::known(value)));
            let ints = value.to_ints().into_iter().map(int);
            // A number with a fraction is no size.
            let is_whole = value.to_f64s().into_iter().map(|value| value.fract() == 0.0);
            return Some(ints.zip(is_whole).map(|(int, is_whole)| if is_whole { int } else { Element::Unknown }).collect());
        }
        self.partial.get(&val.0).cloned()
    }

    pub(crate) fn constant(&mut self, value: Tensor) -> Val {
        let shape: Vec<i64> = value.shape().iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect();
        let ty = self.module.types.tensor_of(&shape, value.dtype());
        let id = self.module.consts.push(value);
        self.expr(ExprKind::Const(id), ty)
    }

    /// A new variable of a type, as a value. It has no place: its name identifies it, or [`Builder::place`] sets one.
    pub(crate) fn var(&mut self, name: &str, ty: Ty) -> (VarId, Val) {
        let var = self.module.var(name, Some(ty), Span::NONE);
        (var, self.expr(ExprKind::Var(var), ty))
    }

    /// Gives a variable the place of the current node.
    pub(crate) fn place(&mut self, var: VarId) {
        self.module.vars[var].span = self.span;
    }

    pub(crate) fn tuple(&mut self, fields: &[Val]) -> Val {
        let types: Vec<Ty> = fields.iter().map(|&field| self.ty(field)).collect();
        let ty = self.module.types.tuple(&types);
        let fields = self.operands(fields);
        self.expr(ExprKind::Tuple(fields), ty)
    }

    /// Combines several values to a tuple; a single value stays itself.
    pub(crate) fn together(&mut self, vals: &[Val]) -> Val {
        match vals {
            [one] => *one,
            all => self.tuple(all),
        }
    }

    /// The type of [`Builder::together`].
    pub(crate) fn together_ty(&mut self, types: &[Ty]) -> Ty {
        match types {
            [one] => *one,
            all => self.module.types.tuple(all),
        }
    }

    /// The operands of a call of this operator.
    fn operands_of(&self, val: Val, op: &str) -> Option<Vec<Val>> {
        let ExprKind::Call { callee, args, .. } = self.kind(val) else { return None };
        let ExprKind::Op(id) = self.module.exprs[callee].kind else { return None };
        let args = self.module.items(args).iter().map(|arg| Val(arg.expr));
        (self.ops.def(id).name == op).then(|| args.collect())
    }

    /// Whether these positions are others to the negative ones of which the lengths were added: `where(p < 0, p + lengths, p)`.
    pub(crate) fn is_moved_from_end(&self, positions: Val, lengths: Val) -> bool {
        let Some(&[negative, moved, from]) = self.operands_of(positions, "where").as_deref() else { return false };
        let (Some(compared), Some(sum)) = (self.operands_of(negative, "less"), self.operands_of(moved, "add")) else {
            return false;
        };
        let zero = |val: Val| self.known(val).is_some_and(|known| known.to_f64s() == [0.0]);
        let lengths = |val: Val| {
            val == lengths || self.known(val).zip(self.known(lengths)).is_some_and(|(a, b)| a.to_ints() == b.to_ints())
        };
        matches!(compared[..], [p, than] if p == from && zero(than)) && matches!(sum[..], [p, n] if p == from && lengths(n))
    }

    /// The fields of a tuple that was just made.
    pub(crate) fn fields(&self, tuple: Val) -> Option<Vec<Val>> {
        let ExprKind::Tuple(fields) = self.module.exprs[tuple.0].kind else { return None };
        Some(self.module.items(fields).iter().map(|field| Val(field.expr)).collect())
    }

    /// A field of a tuple; for a tuple that was just made, the field's value.
    pub(crate) fn field(&mut self, tuple: Val, index: usize) -> Result<Val, Refusal> {
        if let Some(&field) = self.fields(tuple).as_ref().and_then(|fields| fields.get(index)) {
            return Ok(field);
        }
        let ty = self.module.types.as_tuple(self.ty(tuple)).and_then(|fields| fields.get(index)).copied();
        let ty = ty.ok_or_else(|| Refusal::wrong(format!("there is no result {index}")))?;
        let index = i32::try_from(index).map_err(|_| Refusal::wrong("too many results"))?;
        Ok(self.expr(ExprKind::Proj { tuple: tuple.0, index }, ty))
    }

    fn operands(&mut self, vals: &[Val]) -> relayc_ir::Operands {
        let span = self.span;
        let items: Vec<Operand> = vals.iter().map(|val| Operand { expr: val.0, span }).collect();
        self.module.operands(&items)
    }

    /// Adds a call of an operator; attributes that are not given have their defaults.
    ///
    /// Errors: a broken rule of the operator.
    pub(crate) fn call(&mut self, op: &str, args: &[Val], attrs: &[(&str, AttrValue)]) -> Result<Val, Refusal> {
        let id = self.ops.find(op).ok_or_else(|| Refusal::unsupported(format!("Relay has no operator `{op}`")))?;
        let def = self.ops.def(id);
        let values = def.attrs.map_or(vec![], |schema| schema.values(attrs));
        self.call_with(id, def, args, values)
    }

    fn call_with(&mut self, id: OpId, def: &'static OpDef, args: &[Val], attrs: Vec<AttrValue>) -> Result<Val, Refusal> {
        let ty = self.relate(def, args, &attrs)?;
        if let Some(value) = self.compute(def, args, &attrs, ty) {
            return Ok(value);
        }
        if let Some(fixed) = self.fixed(def, args, &attrs)? {
            return Ok(fixed);
        }
        let partial = self.partial_result(def, args, &attrs, ty).filter(|elements| {
            elements.len() <= FREE || self.charge_elements(elements.len().saturating_mul(2), DType::I64).is_ok()
        });
        if let Some(value) = partial.as_ref().and_then(|elements| self.all_numbers(elements, ty)) {
            return Ok(self.constant(value));
        }
        let callee = match self.callees.get(&id) {
            Some(&callee) => callee,
            None => {
                let callee = self.module.expr(Span::NONE, ExprKind::Op(id));
                self.callees.insert(id, callee);
                callee
            }
        };
        let attrs = def.attrs.map(|_| self.module.attrs.push(Attrs { values: attrs.into(), spans: Box::default() }));
        let spread = self.spread(def, args);
        let args = self.operands(args);
        let call = self.expr(ExprKind::Call { callee, args, attrs }, ty);
        if let Some(partial) = partial {
            self.partial.insert(call.0, partial);
        }
        if let Some(number) = spread {
            self.uniform.insert(call.0, number);
        }
        Ok(call)
    }

    /// The constant of a type whose elements are all numbers.
    fn all_numbers(&self, elements: &[Element], ty: Ty) -> Option<Tensor> {
        let numbers: Vec<i64> = elements.iter().map(|element| element.number()).collect::<Option<_>>()?;
        let out = self.out_types(ty)?;
        let [OutTy { shape, dtype }] = &out[..] else { return None };
        Tensor::from_vec(shape, numbers).cast(*dtype)
    }

    /// The type of a call, from the operator's relation.
    fn relate(&mut self, def: &OpDef, args: &[Val], attrs: &[AttrValue]) -> Result<Ty, Refusal> {
        if args.len() != def.args.len() {
            let words = format!("`{}` takes {} operands, found {}", def.name, def.args.len(), args.len());
            return Err(Refusal::wrong(words));
        }
        let tys: Vec<Ty> = args.iter().map(|&arg| self.ty(arg)).collect();
        let mut solver = Solver::with_written(&self.module.types);
        let out = solver.fresh(&mut self.module.types);
        let mut cx = RelCx::new(&mut self.module.types, &mut solver, attrs, &tys, out);
        match (def.rel)(&mut cx) {
            Ok(()) => {}
            Err(Stop::Fault(fault)) => {
                self.conflict = self.conflict.or_else(|| self.two_names(args)).or_else(|| self.named_alike(def, args, attrs));
                return Err(Refusal::fault(def, *fault));
            }
            Err(Stop::NotYet | Stop::Poisoned) => {
                return Err(Refusal::wrong(format!("the type of a call of `{}` is not known", def.name)));
            }
        }
        let ty = solver.resolve(&mut self.module.types, out);
        match self.module.types.has_hole(ty) {
            true => Err(Refusal::wrong(format!("the type of a call of `{}` is not known", def.name))),
            false => Ok(ty),
        }
    }

    /// Notes that two dimensions are one size, where both have names.
    pub(crate) fn must_be_one(&mut self, a: Dim, b: Dim) {
        self.conflict = self.conflict.or_else(|| self.names_at(&[&[a], &[b]]));
    }

    /// [`Builder::names_at`] for the shapes of operands.
    fn two_names(&self, args: &[Val]) -> Option<(SizeName, SizeName)> {
        let fields = |ty: Ty| self.module.types.as_tuple(ty).map_or(vec![ty], <[Ty]>::to_vec);
        let tys = args.iter().flat_map(|&arg| fields(self.ty(arg)));
        let shapes: Vec<&[Dim]> = tys.filter_map(|ty| self.module.types.as_tensor(ty)).map(|(shape, _)| shape).collect();
        self.names_at(&shapes)
    }

    /// Two different names that stand in one place of shapes, aligned right.
    fn names_at(&self, shapes: &[&[Dim]]) -> Option<(SizeName, SizeName)> {
        let name = |dim: &Dim| self.module.types.symbols.name_of(*dim);
        let pairs = shapes.iter().enumerate().flat_map(|(i, a)| shapes.iter().skip(i).map(move |b| (a, b)));
        let mut names = pairs.flat_map(|(a, b)| a.iter().rev().zip(b.iter().rev())).map(|(a, b)| (name(a), name(b)));
        names.find_map(|(a, b)| a.zip(b).filter(|(a, b)| a != b))
    }

    /// Two names of the operands' dimensions with which the call would follow the operator's rules if they were one.
    fn named_alike(&mut self, def: &OpDef, args: &[Val], attrs: &[AttrValue]) -> Option<(SizeName, SizeName)> {
        let types = &mut self.module.types;
        let tys: Vec<Ty> = args.iter().map(|arg| self.module.expr_tys[arg.0].unwrap_or(Ty::ERROR)).collect();
        let mut found: Vec<Dim> = vec![];
        for &ty in &tys {
            let Some((shape, _)) = types.as_tensor(ty) else { continue };
            found.extend(shape.iter().filter(|dim| types.symbols.name_of(**dim).is_some()));
        }
        found.dedup();
        let pairs = found.iter().enumerate().flat_map(|(i, &a)| found.iter().skip(i).map(move |&b| (a, b)));
        let pairs: Vec<(Dim, Dim)> = pairs.filter(|(a, b)| !a.same(*b)).take(MAX_PAIRS).collect();
        pairs.into_iter().find_map(|(a, b)| {
            let alike = |types: &mut Types, ty: Ty| {
                let Some((shape, dtype)) = types.as_tensor(ty).map(|(shape, dtype)| (shape.to_vec(), dtype)) else { return ty };
                let shape: Vec<Dim> = shape.into_iter().map(|dim| if dim.same(b) { a } else { dim }).collect();
                types.tensor(&shape, dtype)
            };
            let tys: Vec<Ty> = tys.iter().map(|&ty| alike(types, ty)).collect();
            let mut solver = Solver::with_written(types);
            let out = solver.fresh(types);
            let holds = (def.rel)(&mut RelCx::new(types, &mut solver, attrs, &tys, out)).is_ok();
            types.symbols.name_of(a).zip(types.symbols.name_of(b)).filter(|_| holds)
        })
    }

    /// The tensors of a type, if all their dimensions are known.
    fn out_types(&self, ty: Ty) -> Option<Vec<OutTy>> {
        let types = &self.module.types;
        let of = |&ty: &Ty| {
            let (shape, dtype) = types.as_tensor(ty)?;
            let shape: Option<Vec<usize>> = dims_of(shape)?.into_iter().map(|dim| usize::try_from(dim).ok()).collect();
            Some(OutTy { shape: shape?, dtype })
        };
        types.as_tuple(ty).unwrap_or(&[ty]).iter().map(of).collect()
    }

    fn arg_value(&self, val: Val) -> Option<ArgValue> {
        if let ExprKind::Tuple(fields) = self.module.exprs[val.0].kind {
            let fields = self.module.items(fields).iter().map(|field| self.known(Val(field.expr)).cloned());
            return fields.collect::<Option<Vec<Tensor>>>().map(ArgValue::Tuple);
        }
        self.known(val).cloned().map(ArgValue::Tensor)
    }

    /// Folds a call of constants, if the result is small. A call that traps stays, so that it traps when it is reached.
    fn compute(&mut self, def: &OpDef, args: &[Val], attrs: &[AttrValue], ty: Ty) -> Option<Val> {
        // Nothing is as well made by the call that makes it.
        let nothing = args.is_empty() && self.out_types(ty).is_some_and(|out| out.iter().any(|out| out.shape.contains(&0)));
        let sized = attrs.iter().any(|value| value.named_size().is_some());
        if def.internal || def.random || nothing || sized {
            return None;
        }
        let values: Vec<ArgValue> = args.iter().map(|&arg| self.arg_value(arg)).collect::<Option<_>>()?;
        let fits = |n: u64, dtype: DType| n <= if dtype.is_float() { MAX_FLOATS } else { MAX_INTS };
        let small = |tensor: &Tensor| fits(u64::try_from(tensor.len()).unwrap_or(u64::MAX), tensor.dtype());
        let all_small = values.iter().all(|value| match value {
            ArgValue::Tensor(tensor) => small(tensor),
            ArgValue::Tuple(tensors) => tensors.iter().all(small),
        });
        let out = self.out_types(ty);
        let small_out = |out: &OutTy| {
            let shape: Vec<i64> = out.shape.iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect();
            can_be_held(&shape) && checked_elements(&shape).is_some_and(|n| fits(n, out.dtype))
        };
        if !all_small || !out.iter().flatten().all(small_out) {
            return None;
        }
        let out = out.unwrap_or_default();
        let max_bytes = MAX_INTS.saturating_mul(8);
        let made = (def.eval)(&EvalCx { args: &values, attrs, out: &out, max_bytes }).ok()?;
        let tensors = match &made {
            Outputs::One(tensor) => std::slice::from_ref(tensor),
            Outputs::Tuple(tensors) => tensors,
        };
        // Where the model has made too much, the call is as good.
        for tensor in tensors.iter().filter(|tensor| tensor.len() > FREE) {
            self.charge_elements(tensor.len(), tensor.dtype()).ok()?;
        }
        match made {
            Outputs::One(tensor) => Some(self.constant(tensor)),
            Outputs::Tuple(tensors) => {
                let fields: Vec<Val> = tensors.into_iter().map(|tensor| self.constant(tensor)).collect();
                Some(self.tuple(&fields))
            }
        }
    }

    /// Simplifies a call whose result follows from its operands' shapes or known elements.
    fn fixed(&mut self, def: &OpDef, args: &[Val], attrs: &[AttrValue]) -> Result<Option<Val>, Refusal> {
        let Some(fixed) = def.fixed else { return Ok(None) };
        let known = KnownFacts {
            attrs,
            values: args.iter().map(|&arg| self.known(arg).cloned()).collect(),
            shapes: args.iter().map(|&arg| self.tensor_ty(arg).and_then(|(shape, _)| dims_of(shape))).collect(),
        };
        match fixed(&known) {
            None => Ok(None),
            Some(Fixed::Value(value)) => Ok(Some(self.constant(value))),
            Some(Fixed::Call { def, kept, attrs }) => {
                let Some(id) = self.ops.find(def.name) else { return Ok(None) };
                let args: Vec<Val> = kept.iter().map(|&at| args[at]).collect();
                self.call_with(id, def, &args, attrs).map(Some)
            }
        }
    }

    // ---- Functions and control ----

    /// `let … = …; body`, the first outermost.
    pub(crate) fn bind_all(&mut self, lets: Vec<(VarId, Val)>, body: Val) -> Val {
        let ty = self.ty(body);
        let bind = |body: Val, (var, value): (VarId, Val)| {
            let (value, body) = (value.0, body.0);
            self.expr(ExprKind::Let { var, value, body }, ty)
        };
        lets.into_iter().rev().fold(body, bind)
    }

    /// An `if` with the type of its first branch; the second must agree.
    pub(crate) fn branch(&mut self, cond: Val, then_branch: Val, else_branch: Val, ty: Ty) -> Val {
        let (cond, then_branch, else_branch) = (cond.0, then_branch.0, else_branch.0);
        self.expr(ExprKind::If { cond, then_branch, else_branch }, ty)
    }

    /// The type of a function with these parameters.
    pub(crate) fn function_ty(&mut self, params: &[VarId], ret: Ty) -> Ty {
        let types: Vec<Ty> = params.iter().map(|&var| self.module.vars[var].ty.unwrap_or(Ty::ERROR)).collect();
        self.module.types.func(&types, ret)
    }

    /// A function literal.
    pub(crate) fn function(&mut self, params: &[VarId], ret: Ty, body: Val) -> Val {
        let ty = self.function_ty(params, ret);
        let func = self.func(params.to_vec(), Some(ret), body);
        let func = self.module.funcs.push(func);
        self.expr(ExprKind::Fn(func), ty)
    }

    /// A function that calls itself with `next` after `lets`, while its parameter `go` holds: then its result is `done`.
    pub(crate) fn recursion(&mut self, myself: Val, params: &[VarId], go: Val, turn: Turn, ret: Ty) -> Val {
        let again = self.apply(myself, &turn.next, ret);
        let again = self.bind_all(turn.lets, again);
        let done = self.together(&turn.done);
        let branch = self.branch(go, again, done, ret);
        self.function(params, ret, branch)
    }

    /// Leaves the type of a variable to inference.
    pub(crate) fn forget_ty(&mut self, var: VarId) {
        self.module.vars[var].ty = None;
    }

    fn func(&self, params: Vec<VarId>, ret: Option<Ty>, body: Val) -> Func {
        let (span, ret_span) = (Span::NONE, Span::NONE);
        Func { span, type_params: vec![], params, ret, ret_span, body: body.0, attrs: vec![] }
    }

    /// A call of a function value.
    pub(crate) fn apply(&mut self, callee: Val, args: &[Val], ret: Ty) -> Val {
        let args = self.operands(args);
        self.expr(ExprKind::Call { callee: callee.0, args, attrs: None }, ret)
    }

    /// Replaces an expression in place.
    pub(crate) fn replace(&mut self, val: Val, with: ExprKind) {
        self.module.exprs[val.0].kind = with;
    }

    /// The module with its `@main`; inference adds the types, and unused constants are dropped.
    pub(crate) fn finish(mut self, params: Vec<VarId>, body: Val) -> Module {
        let all = std::mem::take(&mut self.module.consts);
        let mut kept: FxHashMap<ConstId, ConstId> = FxHashMap::default();
        for expr in self.module.post_order(&[body.0]) {
            if let ExprKind::Const(id) = self.module.exprs[expr].kind {
                let id = *kept.entry(id).or_insert_with(|| self.module.consts.push(all[id].clone()));
                self.module.exprs[expr].kind = ExprKind::Const(id);
            }
        }
        drop(all);
        // Where literals, tuples and their fields come from says the call that they are for.
        for id in self.module.exprs.ids() {
            let expr = &mut self.module.exprs[id];
            if matches!(expr.kind, ExprKind::Const(_) | ExprKind::Tuple(_) | ExprKind::Proj { .. } | ExprKind::Var(_)) {
                expr.span = Span::NONE;
            }
        }
        let func = self.func(params, None, body);
        let func = self.module.funcs.push(func);
        self.module.globals.push(Global { name: "main".into(), func, span: Span::NONE });
        self.module.expr_tys = IndexVec::new();
        self.module
    }
}

/// A turn of a function that calls itself.
pub(crate) struct Turn {
    pub(crate) lets: Vec<(VarId, Val)>,
    /// The arguments of the next turn.
    pub(crate) next: Vec<Val>,
    /// What the last turn gives.
    pub(crate) done: Vec<Val>,
}

/// The single result tensor of a call; `None` if it fails.
fn evaluate(def: &OpDef, args: &[ArgValue], attrs: &[AttrValue]) -> Option<Tensor> {
    let mut types = relayc_ir::types::Types::new();
    let mut solver = Solver::default();
    let tys: Vec<Ty> = args.iter().map(|arg| arg.ty(&mut types)).collect();
    let out = solver.fresh(&mut types);
    (def.rel)(&mut RelCx::new(&mut types, &mut solver, attrs, &tys, out)).ok()?;
    let ty = solver.resolve(&mut types, out);
    let (shape, dtype) = types.as_tensor(ty)?;
    let shape: Option<Vec<usize>> = dims_of(shape)?.into_iter().map(|dim| usize::try_from(dim).ok()).collect();
    let out = [OutTy { shape: shape?, dtype }];
    match (def.eval)(&EvalCx { args, attrs, out: &out, max_bytes: MAX_INTS.saturating_mul(8) }).ok()? {
        Outputs::One(tensor) => Some(tensor),
        Outputs::Tuple(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of them takes half a MiB.
    #[test]
    fn constants_are_not_computed_without_end() {
        let mut b = Builder::new();
        let attrs = [("shape", AttrValue::ints(&[1 << 16])), ("dtype", AttrValue::DType(Some(DType::I64)))];
        let made: Vec<Val> = (0..100).map(|_| b.call("ones", &[], &attrs).expect("a call")).collect();
        assert_eq!(made.iter().filter(|&&val| b.known(val).is_some()).count(), 64);
        // Dimensions are computed nonetheless.
        let attrs = [("shape", AttrValue::ints(&[4])), ("dtype", AttrValue::DType(Some(DType::I64)))];
        let small = b.call("ones", &[], &attrs).expect("a call");
        assert_eq!(b.known_elements(small), Some(vec![Some(1); 4]));
        assert!(b.charge_elements(1 << 16, DType::I64).is_err());
    }
}
