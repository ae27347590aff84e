//! What a type relation works with, and the relations that several families share.
//!
//! A relation reads the operand types it needs, requires its rules, and sets the result's type and whatever operand types
//! follow. Asking for a type that is not known yet stops it with [`Stop::NotYet`]; it runs again when an operand learned
//! something. It never builds a message's layout: a [`Fault`] says which rule broke, where, and with which numbers.

use crate::base::IndexVec;
use crate::diag::{Code, codes};
use crate::ir::attrs::AttrValue;
use crate::ir::object::{Object, ObjectId};
use crate::types::{DType, DTypeCode, Dim, MAX_ELEMENTS, MAX_RANK, Solver, Ty, Types, checked_elements, shape_text};
use smallvec::SmallVec;

/// Why a relation stopped.
#[derive(Debug)]
pub enum Stop {
    /// A type it needs is not known yet.
    NotYet,
    /// An operand's type is an error that has been reported.
    Poisoned,
    Fault(Box<Fault>),
}

pub type RelResult<T = ()> = Result<T, Stop>;

/// Where a dimension comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// An axis of an operand; `field` for one of a tuple operand.
    Arg { arg: u8, field: Option<u16>, axis: u8 },
    /// An attribute of the call.
    Attr(&'static str),
    /// Computed by a rule of the operator, cited.
    Rule(&'static str),
    /// A constant of the operator, or not worth a word.
    Op,
}

/// A dimension and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SDim {
    pub dim: Dim,
    pub from: From,
}

impl SDim {
    pub fn new(dim: Dim, from: From) -> SDim {
        SDim { dim, from }
    }

    pub fn known(value: i64, from: From) -> SDim {
        SDim { dim: Dim::known(value), from }
    }

    pub fn value(self) -> Option<i64> {
        self.dim.value()
    }

    /// Where it comes from, for a fault.
    pub fn place(self) -> Place {
        match self.from {
            From::Arg { arg, field, axis } => {
                let what = What::Arg { arg: arg.into(), field: field.map(usize::from) };
                Place { what, axis: Some(axis.into()) }
            }
            From::Attr(name) => Place::attr(name),
            From::Rule(_) | From::Op => Place::CALL,
        }
    }
}

/// The shape of a result: each dimension with its origin.
pub type Shape = SmallVec<[SDim; 6]>;

/// A tensor operand.
#[derive(Clone, Debug)]
pub struct TensorTy {
    pub shape: SmallVec<[Dim; 6]>,
    pub dtype: DType,
    pub arg: usize,
    /// Which field of a tuple operand it is.
    pub field: Option<usize>,
}

impl TensorTy {
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The dimension with this operand as its origin.
    pub fn dim(&self, axis: usize) -> SDim {
        let field = self.field.map(|field| field as u16);
        SDim { dim: self.shape[axis], from: From::Arg { arg: self.arg as u8, field, axis: axis as u8 } }
    }

    /// All dimensions with this operand as their origin.
    pub fn dims(&self) -> Shape {
        (0..self.rank()).map(|axis| self.dim(axis)).collect()
    }

    /// `(1, 3, 224, 224)`.
    pub fn shape_text(&self) -> String {
        shape_text(&self.shape)
    }

    /// The place of this operand, for a fault.
    pub fn place(&self) -> Place {
        Place { what: What::Arg { arg: self.arg, field: self.field }, axis: None }
    }

    /// The place of one of its axes, for a fault.
    pub fn axis(&self, axis: usize) -> Place {
        Place { axis: Some(axis), ..self.place() }
    }
}

/// What a fault points at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub what: What,
    pub axis: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Arg { arg: usize, field: Option<usize> },
    Attr(&'static str),
    Call,
}

impl Place {
    pub const CALL: Place = Place { what: What::Call, axis: None };

    pub fn arg(arg: usize) -> Place {
        Place { what: What::Arg { arg, field: None }, axis: None }
    }

    pub fn attr(name: &'static str) -> Place {
        Place { what: What::Attr(name), axis: None }
    }
}

/// A broken rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    pub code: Code,
    /// The code where only the actual shapes show the mistake, `code` for `None`.
    pub trap: Option<Code>,
    /// `C3`; filled in by [`RelCx::require`].
    pub rule: &'static str,
    pub message: String,
    /// The first is the place of the mistake.
    pub places: Vec<(Place, String)>,
    /// The equation that does not hold, in words of the operator and in numbers.
    pub equation: Option<(String, String)>,
    pub helps: Vec<FaultHelp>,
    /// TVM has no such rule: the call has a type where the relation has set it, but nothing computes it.
    pub typed: bool,
}

/// What to write instead.
#[derive(Clone, PartialEq, Debug)]
pub enum FaultHelp {
    Text(String),
    /// Cast an operand.
    Cast {
        arg: usize,
        dtype: DType,
    },
    /// Give an attribute another value.
    SetAttr {
        name: &'static str,
        value: String,
    },
    /// Give an attribute another number: all of it, or one of its list.
    SetNumber {
        name: &'static str,
        from: i64,
        to: i64,
    },
}

impl Fault {
    pub fn new(code: Code, message: impl Into<String>) -> Fault {
        Fault { code, trap: None, rule: "", message: message.into(), places: vec![], equation: None, helps: vec![], typed: false }
    }

    /// Operand shapes that do not fit the operator.
    pub fn shape(message: impl Into<String>) -> Fault {
        Fault::new(codes::E0308, message)
    }

    /// A wrong rank: `expected rank 4, found rank 3`, at the operand.
    pub fn rank(expected: impl std::fmt::Display, tensor: &TensorTy) -> Fault {
        let message = format!("expected rank {expected}, found rank {}", tensor.rank());
        Fault::new(codes::E0303, message).at(tensor.place(), "")
    }

    /// A dtype that does not fit.
    pub fn dtype(message: impl Into<String>) -> Fault {
        Fault::new(codes::E0305, message)
    }

    /// An attribute value that breaks a rule, at the attribute.
    pub fn attr(name: &'static str, message: impl Into<String>) -> Fault {
        Fault::new(codes::E0404, message).at(Place::attr(name), "")
    }

    /// Adds a place; the first one is the place of the mistake. An empty text shows the operand's type.
    pub fn at(mut self, place: Place, text: impl Into<String>) -> Fault {
        self.places.push((place, text.into()));
        self
    }

    pub fn equation(mut self, rule: impl Into<String>, values: impl Into<String>) -> Fault {
        self.equation = Some((rule.into(), values.into()));
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Fault {
        self.helps.push(FaultHelp::Text(text.into()));
        self
    }

    /// One operand has to be of another dtype.
    pub fn cast(mut self, tensor: &TensorTy, dtype: DType) -> Fault {
        if tensor.field.is_none() {
            self.helps.push(FaultHelp::Cast { arg: tensor.arg, dtype });
        }
        self
    }

    /// Says which code a run fails with.
    pub fn trap(mut self, code: Code) -> Fault {
        self.trap = Some(code);
        self
    }

    /// Another number in an attribute.
    pub fn set_number(mut self, name: &'static str, from: i64, to: i64) -> Fault {
        self.helps.push(FaultHelp::SetNumber { name, from, to });
        self
    }

    pub fn set_attr(mut self, name: &'static str, value: impl ToString) -> Fault {
        self.helps.push(FaultHelp::SetAttr { name, value: value.to_string() });
        self
    }
}

impl std::convert::From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(Box::new(fault))
    }
}

/// What a relation learned about where dimensions come from.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// For each tensor of the result (several for a tuple), its dimensions' origins.
    pub out: Vec<Shape>,
    /// Operands whose type this call decides or checks.
    pub args: Vec<(usize, Shape)>,
}

/// A relation's view of its call.
pub struct RelCx<'a> {
    pub types: &'a mut Types,
    pub solver: &'a mut Solver,
    pub attrs: &'a [AttrValue],
    args: &'a [Ty],
    out: Ty,
    pub origins: Origins,
    /// The types are those of values: what was `?` when the program was checked is known.
    pub at_run_time: bool,
    /// The module's objects, for attributes that are some.
    pub objects: Option<&'a IndexVec<ObjectId, Object>>,
}

impl<'a> RelCx<'a> {
    pub fn new(types: &'a mut Types, solver: &'a mut Solver, attrs: &'a [AttrValue], args: &'a [Ty], out: Ty) -> Self {
        RelCx { types, solver, attrs, args, out, origins: Origins::default(), at_run_time: false, objects: None }
    }

    pub fn n_args(&self) -> usize {
        self.args.len()
    }

    /// A tensor operand whose type must be known.
    pub fn tensor(&mut self, arg: usize) -> RelResult<TensorTy> {
        self.tensor_at(self.args[arg], arg, None)
    }

    /// A tensor operand, `None` while its type is not known.
    pub fn known_tensor(&mut self, arg: usize) -> RelResult<Option<TensorTy>> {
        match self.tensor(arg) {
            Err(Stop::NotYet) => Ok(None),
            other => other.map(Some),
        }
    }

    /// A tuple-of-tensors operand; all its types must be known.
    pub fn tuple(&mut self, arg: usize) -> RelResult<Vec<TensorTy>> {
        let ty = self.solver.shallow(self.types, self.args[arg]);
        if let Some(fields) = self.types.as_tuple(ty) {
            let fields = fields.to_vec();
            return fields.into_iter().enumerate().map(|(i, ty)| self.tensor_at(ty, arg, Some(i))).collect();
        }
        self.not_a(ty, arg, "a tuple of tensors")
    }

    fn tensor_at(&mut self, ty: Ty, arg: usize, field: Option<usize>) -> RelResult<TensorTy> {
        let ty = self.solver.shallow(self.types, ty);
        if let Some((shape, dtype)) = self.types.as_tensor(ty) {
            return Ok(TensorTy { shape: shape.into(), dtype, arg, field });
        }
        self.not_a(ty, arg, "a tensor")
    }

    fn not_a<T>(&self, ty: Ty, arg: usize, expected: &str) -> RelResult<T> {
        match self.types.data(ty) {
            crate::types::TyData::Hole(_) => Err(Stop::NotYet),
            crate::types::TyData::Error => Err(Stop::Poisoned),
            data => {
                let message = format!("expected {expected}, found `{}`", self.types.text(ty));
                let fault = Fault::new(codes::E0301, message).at(Place::arg(arg), "");
                Err(match data {
                    crate::types::TyData::Tuple(fields) if !fields.is_empty() => fault.help("take a field of it, as in `%t.0`"),
                    crate::types::TyData::Tensor { .. } => fault.help("write a tuple, as in `(%a, %b)` or `(%a,)`"),
                    _ => fault,
                }
                .into())
            }
        }
    }

    /// Enforces a rule.
    pub fn require(&self, rule: &'static str, holds: bool, fault: impl FnOnce() -> Fault) -> RelResult {
        if holds { Ok(()) } else { Err(Fault { rule, ..fault() }.into()) }
    }

    /// An axis of a tensor, counted from the end where negative.
    pub fn axis(&self, rule: &'static str, attr: &'static str, axis: i64, rank: usize) -> RelResult<usize> {
        let at = if axis < 0 { axis + rank as i64 } else { axis };
        self.require(rule, (0..rank as i64).contains(&at), || {
            let fault = Fault::attr(attr, format!("axis {axis} is out of range for rank {rank}"))
                .equation(format!("-rank <= {attr} < rank"), format!("-{rank} <= {axis} < {rank}"));
            match rank as i64 {
                0 => fault,
                rank if axis > 0 => fault.set_number(attr, axis, rank - 1).set_number(attr, axis, -1),
                _ => fault.set_number(attr, axis, 0),
            }
        })?;
        Ok(at as usize)
    }

    /// Sets the result to a tensor type.
    pub fn set_out(&mut self, shape: impl Into<Shape>, dtype: DType) -> RelResult {
        let ty = self.make(shape.into(), dtype)?;
        self.set_out_ty(ty)
    }

    /// Sets the result to the type of an operand, whatever it is.
    pub fn set_out_to_arg(&mut self, arg: usize) -> RelResult {
        self.set_out_ty(self.args[arg])
    }

    /// Sets the result to a tuple of tensor types.
    pub fn set_out_tuple(&mut self, fields: Vec<(Shape, DType)>) -> RelResult {
        let fields: Vec<Ty> = fields.into_iter().map(|(shape, dtype)| self.make(shape, dtype)).collect::<RelResult<_>>()?;
        let ty = self.types.tuple(&fields);
        self.set_out_ty(ty)
    }

    fn make(&mut self, shape: Shape, dtype: DType) -> RelResult<Ty> {
        let dims: SmallVec<[Dim; 6]> = shape.iter().map(|dim| dim.dim).collect();
        if dims.len() > MAX_RANK {
            return Err(Fault::new(codes::E0803, format!("expected at most rank {MAX_RANK}, found rank {}", dims.len())).into());
        }
        let known: SmallVec<[i64; 6]> = dims.iter().filter_map(|dim| dim.value()).collect();
        if checked_elements(&known).is_none() {
            let message = format!("expected at most {MAX_ELEMENTS} elements, found the shape {}", shape_text(&dims));
            return Err(Fault::new(codes::E0803, message).into());
        }
        self.origins.out.push(shape);
        Ok(self.types.tensor(&dims, dtype))
    }

    /// Sets the result to any type.
    pub fn set_out_ty(&mut self, ty: Ty) -> RelResult {
        match self.solver.unify(self.types, self.out, ty) {
            Ok(()) => Ok(()),
            Err(_) => {
                let expected = self.solver.resolve(self.types, self.out);
                let message = format!("expected `{}`, found `{}`", self.types.text(expected), self.types.text(ty));
                Err(Fault::new(codes::E0301, message).at(Place::CALL, "").into())
            }
        }
    }

    /// Says what the type of an operand must be: decides it where it is not known, checks it otherwise.
    pub fn set_arg(&mut self, rule: &'static str, arg: usize, shape: impl Into<Shape>, dtype: DType) -> RelResult {
        let shape = shape.into();
        let dims: SmallVec<[Dim; 6]> = shape.iter().map(|dim| dim.dim).collect();
        let ty = self.types.tensor(&dims, dtype);
        self.unify_arg(codes::E0308, rule, arg, ty)?;
        self.origins.args.push((arg, shape));
        Ok(())
    }

    /// The type of an operand, whatever it is, as far as it is known.
    pub fn ty(&mut self, arg: usize) -> Ty {
        self.solver.shallow(self.types, self.args[arg])
    }

    /// As [`RelCx::set_arg`], of any type.
    pub fn set_arg_ty(&mut self, rule: &'static str, arg: usize, ty: Ty) -> RelResult {
        self.unify_arg(codes::E0301, rule, arg, ty)
    }

    fn unify_arg(&mut self, code: Code, rule: &'static str, arg: usize, ty: Ty) -> RelResult {
        if self.solver.unify(self.types, self.args[arg], ty).is_ok() {
            return Ok(());
        }
        let expected = self.solver.resolve(self.types, ty);
        let found = self.solver.resolve(self.types, self.args[arg]);
        let message = format!("expected `{}`, found `{}`", self.types.text(expected), self.types.text(found));
        Err(Fault { rule, ..Fault::new(code, message).at(Place::arg(arg), "") }.into())
    }

    /// Makes two operands (or an operand and the result) one type where one of them is not known.
    pub fn same_type(&mut self, arg: usize, other: usize) -> RelResult {
        // Both known and different is for the relation to explain.
        let _ = self.solver.unify(self.types, self.args[arg], self.args[other]);
        Ok(())
    }
}

/// Shape and dtype of the result are those of operand 0.
pub fn identity(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    cx.set_out(data.dims(), data.dtype)
}

/// As [`identity`], for operators that need floats: `C1`.
pub fn float_identity(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    cx.set_out(data.dims(), data.dtype)?;
    require_float(cx, "C1", &data)
}

/// The rule that an operand is of a float dtype. TVM's relations do not have it; one that sets the result first lets the
/// program print with its types.
pub fn require_float(cx: &RelCx, rule: &'static str, data: &TensorTy) -> RelResult {
    cx.require(rule, data.dtype.is_float(), || {
        let message = format!("expected a float dtype, found `{}`", data.dtype);
        Fault { typed: true, ..Fault::dtype(message).at(data.place(), "").cast(data, DType::F32) }
    })
}

/// The rule that an attribute names a dtype which tensors have. `None` is the void of an attribute that is not written.
pub fn require_tensor_dtype(cx: &RelCx, rule: &'static str, attr: &'static str, dtype: Option<DType>) -> RelResult<DType> {
    let known = dtype.filter(|dtype| dtype.code != DTypeCode::Handle);
    cx.require(rule, known.is_some(), || {
        let found = dtype.map_or("none".to_owned(), |dtype| format!("`{dtype}`"));
        Fault::attr(attr, format!("expected the dtype of a tensor, found {found}")).set_attr(attr, "\"float32\"")
    })?;
    Ok(known.unwrap_or(DType::F32))
}

/// One dimension of a broadcast: `1` gives way, then `?` does, and all others must be the same
/// (`src/relay/op/type_relations.cc`).
pub fn broadcast_dim(a: SDim, b: SDim) -> Option<SDim> {
    match (a, b) {
        _ if a.value() == Some(1) => Some(b),
        _ if b.value() == Some(1) => Some(a),
        _ if a.dim == Dim::Any => Some(b),
        _ if b.dim == Dim::Any => Some(a),
        _ => a.dim.same(b.dim).then_some(a),
    }
}

/// The shape two operands broadcast to, aligned right. `rule` is cited where they do not.
pub fn broadcast_shapes(cx: &RelCx, rule: &'static str, lhs: &TensorTy, rhs: &TensorTy) -> RelResult<Shape> {
    broadcast_dims(cx, rule, &lhs.dims(), &rhs.dims())
}

/// As [`broadcast_shapes`], of shapes that need not be those of operands.
pub fn broadcast_dims(cx: &RelCx, rule: &'static str, lhs: &Shape, rhs: &Shape) -> RelResult<Shape> {
    let rank = lhs.len().max(rhs.len());
    let at = |shape: &Shape, i: usize| (i + shape.len()).checked_sub(rank).map(|axis| (axis, shape[axis]));
    let join = |i: usize| match (at(lhs, i), at(rhs, i)) {
        (Some((a, x)), Some((b, y))) => {
            let joined = broadcast_dim(x, y);
            cx.require(rule, joined.is_some(), || {
                let message = format!("shapes {} and {} do not broadcast", dims_text(lhs), dims_text(rhs));
                let fault = Fault::new(codes::E0304, message)
                    .at(y.place(), "")
                    .at(x.place(), "")
                    .equation(format!("lhs[{a}] == rhs[{b}], or one of them 1"), format!("{} and {}", x.dim, y.dim));
                match aligning_axes(lhs, rhs) {
                    Some((axis, n)) => fault.help(format!(
                        "shapes are aligned at their last axes; for axis {axis} write `expand_dims(…, axis=1, num_newaxis={n})`"
                    )),
                    None => fault,
                }
            })?;
            Ok(joined.unwrap_or(x))
        }
        (Some((_, x)), None) => Ok(x),
        (None, Some((_, y))) => Ok(y),
        (None, None) => Ok(SDim::new(Dim::Any, From::Op)),
    };
    (0..rank).map(join).collect()
}

/// `(1, 3, 224, 224)`.
pub fn dims_text(shape: &Shape) -> String {
    let dims: SmallVec<[Dim; 6]> = shape.iter().map(|dim| dim.dim).collect();
    shape_text(&dims)
}

/// The rules that [`broadcast`] and [`broadcast_compare`] cite.
pub const BROADCAST_RULES: &[&str] =
    &["C1: dtype(lhs) == dtype(rhs)", "C2: aligned right, dimensions of lhs and rhs are equal, or one of them is 1"];

/// A vector that fits an axis of the other operand, but not the last: the axis, and how many axes the vector needs more.
fn aligning_axes(lhs: &Shape, rhs: &Shape) -> Option<(usize, usize)> {
    let (vector, other) = if rhs.len() == 1 { (rhs, lhs) } else { (lhs, rhs) };
    let [dim] = vector[..] else { return None };
    let axis = other.iter().position(|other| other.dim.same(dim.dim))?;
    Some((axis, other.len() - 1 - axis)).filter(|&(_, n)| n > 0)
}

/// Two operands of one dtype (`C1`) whose shapes broadcast (`C2`); the result's dtype is theirs.
pub fn broadcast(cx: &mut RelCx) -> RelResult {
    let (shape, dtype) = broadcast_pair(cx)?;
    cx.set_out(shape, dtype)
}

/// As [`broadcast`], with a bool result.
pub fn broadcast_compare(cx: &mut RelCx) -> RelResult {
    let (shape, _) = broadcast_pair(cx)?;
    cx.set_out(shape, DType::BOOL)
}

fn broadcast_pair(cx: &mut RelCx) -> RelResult<(Shape, DType)> {
    let (lhs, rhs) = (cx.tensor(0)?, cx.tensor(1)?);
    require_one_dtype(cx, "C1", &lhs, &rhs)?;
    Ok((broadcast_shapes(cx, "C2", &lhs, &rhs)?, lhs.dtype))
}

/// The rule that an operand has the dtype of another, which comes first.
pub fn require_same_dtype(cx: &RelCx, rule: &'static str, lhs: &TensorTy, rhs: &TensorTy) -> RelResult {
    cx.require(rule, lhs.dtype == rhs.dtype, || {
        let message = format!("expected `{}`, found `{}`", lhs.dtype, rhs.dtype);
        dtypes_differ(message, lhs, rhs).cast(rhs, lhs.dtype)
    })
}

/// The rule that two operands of equal standing have one dtype.
pub fn require_one_dtype(cx: &RelCx, rule: &'static str, lhs: &TensorTy, rhs: &TensorTy) -> RelResult {
    cx.require(rule, lhs.dtype == rhs.dtype, || {
        let message = format!("expected operands of one dtype, found `{}` and `{}`", lhs.dtype, rhs.dtype);
        // The one to cast is the one that loses nothing: an integer beside a float, the narrower beside the wider.
        let width = |tensor: &TensorTy| (tensor.dtype.is_float(), tensor.dtype.bits);
        let (from, to) = if width(rhs) <= width(lhs) { (rhs, lhs) } else { (lhs, rhs) };
        dtypes_differ(message, lhs, rhs).cast(from, to.dtype)
    })
}

fn dtypes_differ(message: String, lhs: &TensorTy, rhs: &TensorTy) -> Fault {
    let values = format!("{} and {}", lhs.dtype, rhs.dtype);
    Fault::dtype(message).at(rhs.place(), "").at(lhs.place(), "").equation("lhs.dtype == rhs.dtype", values)
}
