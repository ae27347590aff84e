//! Attributes: the kinds of their values, their schemas, and the values.

use super::ids::ConstId;
use super::object::ObjectId;
use crate::tensor::Tensor;
use crate::types::{DType, Dim, Symbol};
use relayc_base::index_type;
use std::sync::Arc;

index_type! {
    /// An operator, by its number in the operator table.
    pub struct OpId;
}

/// The facts about operators that printing and resolving need.
pub trait OpTable: Sync {
    fn name(&self, op: OpId) -> &'static str;
    fn find(&self, name: &str) -> Option<OpId>;
    /// All names, sorted.
    fn names(&self) -> &[&'static str];
    /// The operator that other frameworks call `name`.
    fn elsewhere(&self, name: &str) -> Option<&'static str>;
    /// The attribute that other frameworks call `name`.
    fn attr_elsewhere(&self, name: &str) -> Option<&'static str>;
    /// The attributes; `None` for an operator without any.
    fn schema(&self, op: OpId) -> Option<&'static AttrSchema>;
    /// The attributes that may follow the operands without their names in TVM's function of Python, in its order.
    fn positional(&self, op: OpId) -> Vec<&'static str>;
    /// The attributes of an operator for which TVM declares none: text gives them as an object of the metadata section.
    fn meta_schema(&self, op: OpId) -> Option<&'static AttrSchema>;
    /// Whether a rule of the operator is about one of these attributes whatever tensors it is given.
    fn rejects(&self, op: OpId, attrs: &[AttrValue], name: &str) -> bool;
    /// The arguments' names; `None` for an operator with any number of arguments.
    fn args(&self, op: OpId) -> Option<&'static [Arg]>;
}

#[derive(Clone, Copy, Debug)]
pub struct Arg {
    pub name: &'static str,
    /// The kind in TVM's registration: `Tensor`, `1D Tensor`, `Tuple of Tensors`, …
    pub kind: &'static str,
}

impl Arg {
    /// A tensor of any rank.
    pub const fn tensor(name: &'static str) -> Arg {
        Arg { name, kind: "Tensor" }
    }

    /// An argument of another kind, in TVM's words.
    pub const fn of(name: &'static str, kind: &'static str) -> Arg {
        Arg { name, kind }
    }

    /// Whether networks learn it: in TVM's names, the weight of a product, a bias, or what a normalization uses.
    pub fn is_weight(&self) -> bool {
        matches!(self.name, "weight" | "bias" | "gamma" | "beta" | "moving_mean" | "moving_var")
    }
}

/// The attribute type of an operator.
#[derive(Debug)]
pub struct AttrSchema {
    /// TVM's name of the attribute type, `relay.attrs.Conv2DAttrs`.
    pub type_key: &'static str,
    pub fields: &'static [Field],
    /// Whether TVM registers the type with its operators (`set_attrs_type`). If not, text gives the attributes as an object of
    /// the metadata section.
    pub declared: bool,
}

impl AttrSchema {
    /// Complete values: the defaults, with some set by name. A field with neither is `None`.
    pub fn values(&self, set: &[(&str, AttrValue)]) -> Vec<AttrValue> {
        debug_assert!(set.iter().all(|(name, _)| self.position(name).is_some()), "{}: {set:?}", self.type_key);
        let value = |field: &Field| {
            let given = set.iter().find(|(name, _)| *name == field.name).map(|(_, value)| value.clone());
            given.or_else(|| field.default.map(|default| default())).unwrap_or(AttrValue::None)
        };
        self.fields.iter().map(value).collect()
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub doc: &'static str,
    pub kind: Kind,
    /// The value if none is written; absent if one is required.
    pub default: Option<fn() -> AttrValue>,
    /// The least number allowed.
    pub min: Option<f64>,
}

/// The kind of value that a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A machine integer; the literal's width is dropped.
    Int,
    /// TVM's `IndexExpr`: an integer that keeps its width, `?`, or `None`.
    IndexExpr,
    /// TVM's `Optional<Integer>`.
    OptInt,
    /// A list of `IndexExpr`.
    Ints,
    /// A list of `IndexExpr`, or `None`: an array that TVM lets be null.
    IntsOrNone,
    /// TVM's `Optional<Array<Integer>>`.
    OptInts,
    /// A list of lists of integers.
    IntLists,
    Float,
    /// A list of TVM's `FloatImm`, or `None`.
    Floats,
    /// A list of `PrimExpr` that admits floats too.
    Numbers,
    Bool,
    /// TVM's `Bool` object, which may be null.
    OptBool,
    /// TVM's `Optional<FloatImm>`.
    OptFloat,
    Str,
    /// A `std::string`, which metadata sections write in place.
    StdStr,
    DType,
    Const,
    /// Any expression.
    Expr,
    /// An object of the metadata section. The text is its type in the operator table.
    ObjectOf(&'static str),
    /// An integer or a list of integers.
    Object,
}

impl Kind {
    /// The kind's name in the operator table of the specification.
    pub fn name(self) -> &'static str {
        self.texts().0
    }

    /// The kind in words, for messages.
    pub fn words(self) -> &'static str {
        self.texts().1
    }

    /// Whether its integers may be sizes that a run knows.
    pub fn holds_sizes(self) -> bool {
        use Kind::{IndexExpr, IntLists, Ints, IntsOrNone, Numbers, Object, OptInt, OptInts};
        matches!(self, IndexExpr | OptInt | Ints | IntsOrNone | OptInts | IntLists | Numbers | Object)
    }

    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Kind::Int => ("int", "an integer"),
            Kind::IndexExpr => ("int", "an integer or `None`"),
            Kind::OptInt => ("int?", "an integer or `None`"),
            Kind::Ints => ("int[]", "a list of integers"),
            Kind::IntsOrNone => ("int[]", "a list of integers or `None`"),
            Kind::OptInts => ("int[]?", "a list of integers or `None`"),
            Kind::IntLists => ("Array<Array<Integer>>", "a list of lists of integers"),
            Kind::Float => ("float", "a number"),
            Kind::Floats => ("Array<FloatImm>", "a list of numbers"),
            Kind::Numbers => ("int[]", "a list of numbers"),
            Kind::Bool => ("bool", "`True` or `False`"),
            Kind::OptBool => ("bool?", "`True`, `False` or `None`"),
            Kind::OptFloat => ("float?", "a number or `None`"),
            Kind::Str | Kind::StdStr => ("string", "a string"),
            Kind::DType => ("dtype", "a dtype in quotes"),
            Kind::Const => ("Constant", "a constant of the metadata section"),
            Kind::Expr => ("Expr", "an expression of the metadata section"),
            Kind::ObjectOf(name @ "VirtualDevice") => (name, "a device of the metadata section"),
            Kind::ObjectOf(name) => (name, "an object of the metadata section"),
            Kind::Object => ("ObjectRef", "an integer or a list of integers"),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum AttrValue {
    /// `None`, `nullptr`.
    None,
    Bool(bool),
    /// `bits` is the width of the literal's type: 16, 32 or 64.
    Int {
        value: i64,
        bits: u8,
    },
    /// `bits` is the width of the literal's type: 16, 32 or 64; 0 for a machine double, which every float field is.
    Float {
        value: f64,
        bits: u8,
    },
    Str(Arc<str>),
    /// `None` is TVM's void, printed `""`.
    DType(Option<DType>),
    List(Arc<[AttrValue]>),
    /// `?`.
    Any,
    Symbol(Symbol),
    /// An object that is kept as read, such as a device.
    Object(ObjectId),
    /// A constant of the module, with its value.
    Const(ConstId, Tensor),
    /// Any other expression. It repeats an operand and is kept unchanged.
    Expr(ObjectId),
}

impl AttrValue {
    pub fn int(value: i64) -> AttrValue {
        AttrValue::Int { value, bits: 32 }
    }

    pub fn float(value: f64) -> AttrValue {
        AttrValue::Float { value, bits: 0 }
    }

    pub fn str(text: &str) -> AttrValue {
        AttrValue::Str(text.into())
    }

    pub fn ints(values: &[i64]) -> AttrValue {
        AttrValue::List(values.iter().map(|&value| AttrValue::int(value)).collect())
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            AttrValue::Int { value, .. } => Some(*value),
            AttrValue::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[AttrValue]> {
        match self {
            AttrValue::List(items) => Some(items),
            _ => None,
        }
    }

    /// A named size in the value. Only a run knows its number: the value must not be read before.
    pub fn named_size(&self) -> Option<Dim> {
        match self {
            AttrValue::List(items) => items.iter().find_map(AttrValue::named_size),
            AttrValue::Symbol(symbol) => Some(Dim::Symbol(*symbol)).filter(|dim| dim.is_named()),
            _ => None,
        }
    }

    /// TVM's structural equality, in which doubles within 1e-9 are equal (`src/node/structural_equal.cc`).
    pub fn same(&self, other: &AttrValue) -> bool {
        match (self, other) {
            (AttrValue::Float { value: a, .. }, AttrValue::Float { value: b, .. }) => a == b || (a - b).abs() < 1e-9,
            (AttrValue::List(a), AttrValue::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.same(b)),
            (AttrValue::Symbol(a), AttrValue::Symbol(b)) => a.class == b.class,
            (a, b) => a == b,
        }
    }
}
