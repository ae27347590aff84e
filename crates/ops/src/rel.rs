//! The interface of type relations, and the relations that several families share.
//!
//! A relation reads the operand types it needs, requires its rules, and sets the result's type and any operand types that follow.
//! Asking for an unknown type stops it with [`Stop::NotYet`]; it runs again when an operand's type has changed. It does not lay
//! out messages: a [`Fault`] names the broken rule, the places and the numbers.

use relayc_base::IndexVec;
use relayc_base::diag::{Code, codes};
use relayc_ir::attrs::AttrValue;
use relayc_ir::object::{Object, ObjectId};
use relayc_ir::types::{DType, DTypeCode, Dim, MAX_ELEMENTS, MAX_RANK, Solver, Symbols, Ty, Types, checked_elements, shape_text};
use smallvec::SmallVec;

/// Why a relation stopped.
#[derive(Debug)]
pub enum Stop {
    /// A type that it needs is unknown so far.
    NotYet,
    /// An operand's type is an error that has been reported.
    Poisoned,
    Fault(Box<Fault>),
}

pub(crate) type RelResult<T = ()> = Result<T, Stop>;

/// The origin of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DimOrigin {
    /// An axis of an operand; `field` for one of a tuple operand.
    Arg { arg: u8, field: Option<u16>, axis: u8 },
    /// An attribute of the call.
    Attr(&'static str),
    /// A rule of the operator, which the message cites.
    Rule(&'static str),
    /// A constant of the operator, or an origin not worth mentioning.
    Op,
}

/// A dimension and its origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SDim {
    pub(crate) dim: Dim,
    pub from: DimOrigin,
}

impl SDim {
    pub(crate) fn new(dim: Dim, from: DimOrigin) -> SDim {
        SDim { dim, from }
    }

    pub(crate) fn known(value: i64, from: DimOrigin) -> SDim {
        SDim { dim: Dim::known(value), from }
    }

    pub(crate) fn value(self) -> Option<i64> {
        self.dim.value()
    }

    /// The origin as a place, for a fault.
    pub(crate) fn place(self) -> Place {
        match self.from {
            DimOrigin::Arg { arg, field, axis } => {
                let what = FaultSubject::Arg { arg: arg.into(), field: field.map(usize::from) };
                Place { what, axis: Some(axis.into()) }
            }
            DimOrigin::Attr(name) => Place::attr(name),
            DimOrigin::Rule(_) | DimOrigin::Op => Place::CALL,
        }
    }
}

/// The shape of a result: each dimension with its origin.
pub(crate) type Shape = SmallVec<[SDim; 6]>;

/// A tensor operand.
#[derive(Clone, Debug)]
pub(crate) struct TensorTy {
    pub(crate) shape: SmallVec<[Dim; 6]>,
    pub(crate) dtype: DType,
    pub(crate) arg: usize,
    /// The field of a tuple operand.
    pub(crate) field: Option<usize>,
}

impl TensorTy {
    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The dimension with this operand as its origin.
    pub(crate) fn dim(&self, axis: usize) -> SDim {
        let field = self.field.map(|field| field as u16);
        SDim { dim: self.shape[axis], from: DimOrigin::Arg { arg: self.arg as u8, field, axis: axis as u8 } }
    }

    /// All dimensions with this operand as their origin.
    pub(crate) fn dims(&self) -> Shape {
        (0..self.rank()).map(|axis| self.dim(axis)).collect()
    }

    /// The shape as text: `(1, 3, 224, 224)`.
    pub(crate) fn shape_text(&self) -> String {
        shape_text(&self.shape)
    }

    /// This operand as a place, for a fault.
    pub(crate) fn place(&self) -> Place {
        Place { what: FaultSubject::Arg { arg: self.arg, field: self.field }, axis: None }
    }

    /// One of its axes as a place, for a fault.
    pub(crate) fn axis(&self, axis: usize) -> Place {
        Place { axis: Some(axis), ..self.place() }
    }
}

/// A tuple operand of tensors. There may be millions, so a tensor is made when it is asked for.
pub(crate) struct TupleTy {
    arg: usize,
    fields: Vec<Ty>,
}

impl TupleTy {
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The tensor of a field that there is.
    pub(crate) fn tensor(&self, cx: &RelCx, field: usize) -> TensorTy {
        let (shape, dtype) = cx.types.as_tensor(self.fields[field]).expect("a tuple of tensors");
        TensorTy { shape: shape.into(), dtype, arg: self.arg, field: Some(field) }
    }

    pub(crate) fn tensors<'t>(&'t self, cx: &'t RelCx) -> impl Iterator<Item = TensorTy> {
        (0..self.len()).map(move |field| self.tensor(cx, field))
    }
}

/// The place of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub what: FaultSubject,
    pub axis: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultSubject {
    Arg { arg: usize, field: Option<usize> },
    Attr(&'static str),
    Call,
}

impl Place {
    pub(crate) const CALL: Place = Place { what: FaultSubject::Call, axis: None };

    pub(crate) fn arg(arg: usize) -> Place {
        Place { what: FaultSubject::Arg { arg, field: None }, axis: None }
    }

    pub(crate) fn attr(name: &'static str) -> Place {
        Place { what: FaultSubject::Attr(name), axis: None }
    }
}

/// A broken rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    pub code: Code,
    /// The code to use at run time, if only the actual shapes show the mistake; otherwise `code`.
    pub(crate) trap: Option<Code>,
    /// The rule, such as `C3`; filled in by [`RelCx::require`].
    pub rule: &'static str,
    pub message: String,
    /// The places; the first is that of the mistake.
    pub places: Vec<(Place, String)>,
    /// The equation that does not hold, in the operator's words and in numbers.
    pub equation: Option<(String, String)>,
    pub helps: Vec<FaultHelp>,
    /// Whether a field of a tuple may be meant: the advice to take one is general, an edit that names the field replaces it.
    pub takes_field: bool,
    /// Whether TVM lacks this rule: the call has a type if the relation has set one, but cannot be computed.
    pub typed: bool,
}

/// A proposed fix.
#[derive(Clone, PartialEq, Debug)]
pub enum FaultHelp {
    Text(String),
    /// Casts an operand.
    Cast {
        arg: usize,
        dtype: DType,
    },
    /// Gives an attribute another value.
    SetAttr {
        name: &'static str,
        value: String,
    },
    /// Replaces a number in an attribute: the whole value, or one number of its list.
    SetNumber {
        name: &'static str,
        from: i64,
        to: i64,
    },
}

impl Fault {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Fault {
        Fault {
            code,
            trap: None,
            rule: "",
            message: message.into(),
            places: vec![],
            equation: None,
            helps: vec![],
            takes_field: false,
            typed: false,
        }
    }

    /// A fault for operand shapes that do not fit the operator.
    pub(crate) fn shape(message: impl Into<String>) -> Fault {
        Fault::new(codes::E0308, message)
    }

    /// A fault for a wrong rank at the operand: `expected rank 4, found rank 3`.
    pub(crate) fn rank(expected: impl std::fmt::Display, tensor: &TensorTy) -> Fault {
        let message = format!("expected rank {expected}, found rank {}", tensor.rank());
        Fault::new(codes::E0303, message).at(tensor.place(), "")
    }

    /// A fault for a dtype that does not fit.
    pub(crate) fn dtype(message: impl Into<String>) -> Fault {
        Fault::new(codes::E0305, message)
    }

    /// A fault for an attribute value that breaks a rule, at the attribute.
    pub(crate) fn attr(name: &'static str, message: impl Into<String>) -> Fault {
        Fault::new(codes::E0404, message).at(Place::attr(name), "")
    }

    /// Adds a place; the first one is the place of the mistake. An empty text shows the operand's type.
    pub(crate) fn at(mut self, place: Place, text: impl Into<String>) -> Fault {
        self.places.push((place, text.into()));
        self
    }

    pub(crate) fn equation(mut self, rule: impl Into<String>, values: impl Into<String>) -> Fault {
        self.equation = Some((rule.into(), values.into()));
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> Fault {
        self.helps.push(FaultHelp::Text(text.into()));
        self
    }

    /// Proposes to cast one operand to another dtype.
    pub(crate) fn cast(mut self, tensor: &TensorTy, dtype: DType) -> Fault {
        if tensor.field.is_none() {
            self.helps.push(FaultHelp::Cast { arg: tensor.arg, dtype });
        }
        self
    }

    /// Sets the code of a failure at run time.
    pub(crate) fn trap(mut self, code: Code) -> Fault {
        self.trap = Some(code);
        self
    }

    /// Proposes another number in an attribute.
    pub(crate) fn set_number(mut self, name: &'static str, from: i64, to: i64) -> Fault {
        self.helps.push(FaultHelp::SetNumber { name, from, to });
        self
    }

    pub(crate) fn set_attr(mut self, name: &'static str, value: impl ToString) -> Fault {
        self.helps.push(FaultHelp::SetAttr { name, value: value.to_string() });
        self
    }
}

impl std::convert::From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(Box::new(fault))
    }
}

/// The origins of dimensions that a relation has found.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// The dimensions of the result, or of one field of it; empty unless [`RelCx::traced`] asks for them.
    pub out: Shape,
    /// The operands whose type this call determines or checks.
    pub args: Vec<(usize, Shape)>,
}

/// A relation's view of a call.
pub struct RelCx<'a> {
    pub(crate) types: &'a mut Types,
    pub(crate) solver: &'a mut Solver,
    pub(crate) attrs: &'a [AttrValue],
    args: &'a [Ty],
    out: Ty,
    pub origins: Origins,
    /// The field of the result whose origins are asked for; 0 for a tensor.
    pub traced: Option<usize>,
    /// Whether the types are those of values, with known numbers for the `?` of the program.
    pub at_run_time: bool,
    /// The module's objects, for attributes that refer to them.
    pub objects: Option<&'a IndexVec<ObjectId, Object>>,
}

impl<'a> RelCx<'a> {
    pub fn new(types: &'a mut Types, solver: &'a mut Solver, attrs: &'a [AttrValue], args: &'a [Ty], out: Ty) -> Self {
        RelCx { types, solver, attrs, args, out, origins: Origins::default(), traced: None, at_run_time: false, objects: None }
    }

    pub(crate) fn n_args(&self) -> usize {
        self.args.len()
    }

    /// A tensor operand whose type must be known.
    pub(crate) fn tensor(&mut self, arg: usize) -> RelResult<TensorTy> {
        let ty = self.solver.shallow(self.types, self.args[arg]);
        if let Some((shape, dtype)) = self.types.as_tensor(ty) {
            return Ok(TensorTy { shape: shape.into(), dtype, arg, field: None });
        }
        self.not_a(ty, arg, "a tensor")
    }

    /// A tensor operand; `None` while its type is unknown.
    pub(crate) fn known_tensor(&mut self, arg: usize) -> RelResult<Option<TensorTy>> {
        match self.tensor(arg) {
            Err(Stop::NotYet) => Ok(None),
            other => other.map(Some),
        }
    }

    /// A tuple-of-tensors operand; all its types must be known.
    pub(crate) fn tuple(&mut self, arg: usize) -> RelResult<TupleTy> {
        let ty = self.solver.shallow(self.types, self.args[arg]);
        let Some(fields) = self.types.as_tuple(ty) else { return self.not_a(ty, arg, "a tuple of tensors") };
        let fields: Vec<Ty> = fields.iter().map(|&field| self.solver.shallow(self.types, field)).collect();
        match fields.iter().find(|field| self.types.as_tensor(**field).is_none()) {
            Some(&field) => self.not_a(field, arg, "a tensor"),
            None => Ok(TupleTy { arg, fields }),
        }
    }

    fn not_a<T>(&self, ty: Ty, arg: usize, expected: &str) -> RelResult<T> {
        match self.types.data(ty) {
            relayc_ir::types::TyData::Hole(_) => Err(Stop::NotYet),
            relayc_ir::types::TyData::Error => Err(Stop::Poisoned),
            data => {
                let message = format!("expected {expected}, found `{}`", self.types.text(ty));
                let fault = Fault::new(codes::E0301, message).at(Place::arg(arg), "");
                Err(match data {
                    relayc_ir::types::TyData::Tuple(fields) if !fields.is_empty() => {
                        Fault { takes_field: true, ..fault.help("take a field of it, as in `%t.0`") }
                    }
                    relayc_ir::types::TyData::Tensor { .. } => fault.help("write a tuple, as in `(%a, %b)` or `(%a,)`"),
                    _ => fault,
                }
                .into())
            }
        }
    }

    /// Enforces a rule.
    pub(crate) fn require(&self, rule: &'static str, holds: bool, fault: impl FnOnce() -> Fault) -> RelResult {
        /// Compiled once: relations have hundreds of rules.
        #[cold]
        fn broken(rule: &'static str, fault: Fault) -> Stop {
            Fault { rule, ..fault }.into()
        }
        if holds { Ok(()) } else { Err(broken(rule, fault())) }
    }

    /// An axis of a tensor; a negative axis counts from the end.
    pub(crate) fn axis(&self, rule: &'static str, attr: &'static str, axis: i64, rank: usize) -> RelResult<usize> {
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
    pub(crate) fn set_out(&mut self, shape: impl Into<Shape>, dtype: DType) -> RelResult {
        let ty = self.make(0, shape.into(), dtype)?;
        self.set_out_ty(ty)
    }

    /// Sets the result to the type of an operand, of any kind.
    pub(crate) fn set_out_to_arg(&mut self, arg: usize) -> RelResult {
        self.set_out_ty(self.args[arg])
    }

    /// Sets the result to a tuple of tensor types.
    pub(crate) fn set_out_tuple(&mut self, fields: impl IntoIterator<Item = (Shape, DType)>) -> RelResult {
        let fields = fields.into_iter().enumerate();
        let fields: Vec<Ty> = fields.map(|(field, (shape, dtype))| self.make(field, shape, dtype)).collect::<RelResult<_>>()?;
        let ty = self.types.tuple(&fields);
        self.set_out_ty(ty)
    }

    /// The type of a tensor of the result, which may be a tuple of several.
    fn make(&mut self, field: usize, shape: Shape, dtype: DType) -> RelResult<Ty> {
        let dims: SmallVec<[Dim; 6]> = shape.iter().map(|dim| dim.dim).collect();
        self.require_rank(dims.len())?;
        let known: SmallVec<[i64; 6]> = dims.iter().filter_map(|dim| dim.value()).collect();
        if checked_elements(&known).is_none() {
            let message = format!("expected at most {MAX_ELEMENTS} elements, found the shape {}", shape_text(&dims));
            return Err(Fault::new(codes::E0803, message).into());
        }
        if self.traced == Some(field) {
            self.origins.out = shape;
        }
        Ok(self.types.tensor(&dims, dtype))
    }

    /// Requires a rank that tensors may have.
    pub(crate) fn require_rank(&self, rank: usize) -> RelResult {
        match rank {
            0..=MAX_RANK => Ok(()),
            _ => Err(Fault::new(codes::E0803, format!("expected at most rank {MAX_RANK}, found rank {rank}")).into()),
        }
    }

    /// Sets the result to a type of any kind.
    pub(crate) fn set_out_ty(&mut self, ty: Ty) -> RelResult {
        match self.solver.unify(self.types, self.out, ty) {
            Ok(()) => Ok(()),
            Err(_) => {
                let expected = self.solver.resolve(self.types, self.out);
                let message = format!("expected `{}`, found `{}`", self.types.text(expected), self.types.text(ty));
                Err(Fault::new(codes::E0301, message).at(Place::CALL, "").into())
            }
        }
    }

    /// States the type of an operand: sets an unknown type, and checks a known one.
    pub(crate) fn set_arg(&mut self, rule: &'static str, arg: usize, shape: impl Into<Shape>, dtype: DType) -> RelResult {
        let shape = shape.into();
        let dims: SmallVec<[Dim; 6]> = shape.iter().map(|dim| dim.dim).collect();
        let ty = self.types.tensor(&dims, dtype);
        self.unify_arg(codes::E0308, rule, arg, ty)?;
        self.origins.args.push((arg, shape));
        Ok(())
    }

    /// The type of an operand, of any kind, as far as it is known.
    pub(crate) fn ty(&mut self, arg: usize) -> Ty {
        self.solver.shallow(self.types, self.args[arg])
    }

    /// As [`RelCx::set_arg`], for a type of any kind.
    pub(crate) fn set_arg_ty(&mut self, rule: &'static str, arg: usize, ty: Ty) -> RelResult {
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
}

/// Gives the result the shape and dtype of operand 0.
pub(crate) fn identity(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    cx.set_out(data.dims(), data.dtype)
}

/// As [`identity`], for operators on floats: `C1`.
pub(crate) fn float_identity(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    cx.set_out(data.dims(), data.dtype)?;
    require_float(cx, "C1", &data)
}

/// Requires an operand of a float dtype. TVM's relations lack this rule. A relation that sets the result first lets the program
/// print with its types.
pub(crate) fn require_float(cx: &RelCx, rule: &'static str, data: &TensorTy) -> RelResult {
    cx.require(rule, data.dtype.is_float(), || {
        let message = format!("expected a float dtype, found `{}`", data.dtype);
        Fault { typed: true, ..Fault::dtype(message).at(data.place(), "").cast(data, DType::F32) }
    })
}

/// Requires an attribute to name a dtype that tensors have. `None` is the void of an attribute that is not written.
pub(crate) fn require_tensor_dtype(cx: &RelCx, rule: &'static str, attr: &'static str, dtype: Option<DType>) -> RelResult<DType> {
    let known = dtype.filter(|dtype| dtype.code != DTypeCode::Handle);
    cx.require(rule, known.is_some(), || {
        let found = dtype.map_or("none".to_owned(), |dtype| format!("`{dtype}`"));
        Fault::attr(attr, format!("expected the dtype of a tensor, found {found}")).set_attr(attr, "\"float32\"")
    })?;
    Ok(known.unwrap_or(DType::F32))
}

/// One dimension of a broadcast: `1` yields to the other, then `?` and what is computed from one do, and all others must be equal
/// (`src/relay/op/type_relations.cc`, which knows only the numbers for what is computed from `?`). What is computed from named
/// sizes yields to numbers and to names; two names are two sizes, and so are those that differ by a number.
pub(crate) fn broadcast_dim(symbols: &Symbols, a: SDim, b: SDim) -> Option<SDim> {
    match (a, b) {
        _ if a.value() == Some(1) => Some(b),
        _ if b.value() == Some(1) => Some(a),
        _ if a.dim == Dim::Any => Some(b),
        _ if b.dim == Dim::Any => Some(a),
        _ if a.dim.same(b.dim) => Some(a),
        _ if a.dim.is_open() => Some(b),
        _ if b.dim.is_open() => Some(a),
        // One of two sizes may be 1 at run time, which only shows then.
        _ if a.value().is_some() && b.dim.is_named() => Some(a),
        _ if b.value().is_some() && a.dim.is_named() => Some(b),
        _ if symbols.differ(a.dim, b.dim) => None,
        _ if a.dim.is_named() && b.dim.is_named() && !(a.dim.is_var() && b.dim.is_var()) => {
            Some(if b.dim.is_var() { b } else { a })
        }
        _ => None,
    }
}

/// [`broadcast_dim`] for dimensions alone.
pub fn broadcast_dims_of(symbols: &Symbols, a: Dim, b: Dim) -> Option<Dim> {
    broadcast_dim(symbols, SDim::new(a, DimOrigin::Op), SDim::new(b, DimOrigin::Op)).map(|dim| dim.dim)
}

/// The shape to which two operands broadcast, aligned right. The fault cites `rule`.
pub(crate) fn broadcast_shapes(cx: &RelCx, rule: &'static str, lhs: &TensorTy, rhs: &TensorTy) -> RelResult<Shape> {
    broadcast_dims(cx, rule, &lhs.dims(), &rhs.dims())
}

/// As [`broadcast_shapes`], for any shapes.
pub(crate) fn broadcast_dims(cx: &RelCx, rule: &'static str, lhs: &Shape, rhs: &Shape) -> RelResult<Shape> {
    let rank = lhs.len().max(rhs.len());
    let at = |shape: &Shape, i: usize| (i + shape.len()).checked_sub(rank).map(|axis| (axis, shape[axis]));
    let join = |i: usize| match (at(lhs, i), at(rhs, i)) {
        (Some((a, x)), Some((b, y))) => {
            let joined = broadcast_dim(&cx.types.symbols, x, y);
            cx.require(rule, joined.is_some(), || {
                let message = format!("shapes {} and {} do not broadcast", dims_text(cx, lhs), dims_text(cx, rhs));
                let size = |dim: SDim| cx.types.symbols.text_of(dim.dim);
                let fault = Fault::new(codes::E0304, message)
                    .at(y.place(), "")
                    .at(x.place(), "")
                    .equation(format!("lhs[{a}] == rhs[{b}], or one of them 1"), format!("{} and {}", size(x), size(y)));
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
        (None, None) => Ok(SDim::new(Dim::Any, DimOrigin::Op)),
    };
    (0..rank).map(join).collect()
}

/// The dimensions as text: `(1, 3, 224, 224)`.
pub(crate) fn dims_text(cx: &RelCx, shape: &Shape) -> String {
    let dims: SmallVec<[Dim; 6]> = shape.iter().map(|dim| dim.dim).collect();
    cx.types.shape_text(&dims)
}

/// The rules that [`broadcast`] and [`broadcast_compare`] cite.
pub(crate) const BROADCAST_RULES: &[&str] =
    &["C1: dtype(lhs) == dtype(rhs)", "C2: aligned right, dimensions of lhs and rhs are equal, or one of them is 1"];

/// A vector that fits an axis of the other operand, but not the last: the axis, and how many axes the vector needs more.
fn aligning_axes(lhs: &Shape, rhs: &Shape) -> Option<(usize, usize)> {
    let (vector, other) = if rhs.len() == 1 { (rhs, lhs) } else { (lhs, rhs) };
    let [dim] = vector[..] else { return None };
    let axis = other.iter().position(|other| other.dim.same(dim.dim))?;
    Some((axis, other.len() - 1 - axis)).filter(|&(_, n)| n > 0)
}

/// Relates two operands of one dtype (`C1`) whose shapes broadcast (`C2`); the result has their dtype.
pub(crate) fn broadcast(cx: &mut RelCx) -> RelResult {
    let (shape, dtype) = broadcast_pair(cx)?;
    cx.set_out(shape, dtype)
}

/// As [`broadcast`], with a bool result.
pub(crate) fn broadcast_compare(cx: &mut RelCx) -> RelResult {
    let (shape, _) = broadcast_pair(cx)?;
    cx.set_out(shape, DType::BOOL)
}

fn broadcast_pair(cx: &mut RelCx) -> RelResult<(Shape, DType)> {
    let (lhs, rhs) = (cx.tensor(0)?, cx.tensor(1)?);
    require_one_dtype(cx, "C1", &lhs, &rhs)?;
    Ok((broadcast_shapes(cx, "C2", &lhs, &rhs)?, lhs.dtype))
}

/// Requires an operand to have the dtype of another, which comes first.
pub(crate) fn require_same_dtype(cx: &RelCx, rule: &'static str, lhs: &TensorTy, rhs: &TensorTy) -> RelResult {
    cx.require(rule, lhs.dtype == rhs.dtype, || {
        let message = format!("expected `{}`, found `{}`", lhs.dtype, rhs.dtype);
        dtypes_differ(message, lhs, rhs).cast(rhs, lhs.dtype)
    })
}

/// Requires two operands of equal standing to have one dtype.
pub(crate) fn require_one_dtype(cx: &RelCx, rule: &'static str, lhs: &TensorTy, rhs: &TensorTy) -> RelResult {
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
