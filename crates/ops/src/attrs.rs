//! `attrs!` declares an attribute type, its schema and its typed view in one place.

use relayc_ir::attrs::{AttrValue, Kind};
use relayc_ir::object::ObjectId;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim};
use std::marker::PhantomData;

/// A Rust type as which an attribute's value is read.
pub(crate) trait AttrField: Sized {
    const KIND: Kind;
    /// The type in which a default is written.
    type Literal: Literal;

    /// Reads a value whose kind `resolve` has checked.
    fn read(value: &AttrValue) -> Self;
}

/// What a default is written as.
pub(crate) trait Literal {
    fn value(&self) -> AttrValue;
}

/// A default as a value.
pub(crate) fn value_of<T: AttrField>(literal: T::Literal) -> AttrValue {
    literal.value()
}

/// Implements [`Literal`]: `Type = |literal| value;`.
macro_rules! literals {
    ($($type:ty = |$literal:ident| $value:expr;)*) => {
        $(
            impl Literal for $type {
                fn value(&self) -> AttrValue {
                    let $literal = self;
                    $value
                }
            }
        )*
    };
}

literals! {
    i64 = |value| AttrValue::int(*value);
    f64 = |value| AttrValue::float(*value);
    // Defaults of TVM's are `float`s, a tenth among them not the double that text means by `0.1f`.
    f32 = |value| AttrValue::Float { value: (*value).into(), bits: 32 };
    bool = |value| AttrValue::Bool(*value);
    &str = |text| AttrValue::str(text);
    ObjectId = |object| AttrValue::Object(*object);
    () = |_null| AttrValue::None;
    Option<DType> = |dtype| AttrValue::DType(*dtype);
}

impl<T: Literal> Literal for Option<T> {
    fn value(&self) -> AttrValue {
        self.as_ref().map_or(AttrValue::None, T::value)
    }
}

impl<T: Literal> Literal for &[T] {
    fn value(&self) -> AttrValue {
        AttrValue::List(self.iter().map(T::value).collect())
    }
}

/// TVM's `Optional<Integer>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OptInt(pub Option<i64>);

/// TVM's `Array<FloatImm>`, which may be null.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Floats(pub Option<Vec<f64>>);

/// TVM's `Optional<Array<Integer>>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptInts(pub Option<Vec<i64>>);

/// A list whose numbers become dimensions of the result, or `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Dims(pub Option<Vec<Dim>>);

/// As [`Dims`], for an array that may be null in TVM, which prints as `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DimsOrNone(pub Option<Vec<Dim>>);

/// As [`Dims`], for TVM's `Optional<Array<Integer>>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OptDims(pub Option<Vec<Dim>>);

/// An integer or a list of integers, TVM's `ObjectRef` of `split`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum IntOrInts {
    Int(i64),
    Ints(Vec<i64>),
}

/// A `std::string`, while `String` is TVM's string object; only metadata sections distinguish them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StdString(pub String);

/// The value of an expression, if it is a constant.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ConstExpr(pub Option<Tensor>);

/// A constant expression, or null.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Constant(pub Option<Tensor>);

/// TVM's `Bool` object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OptBool(pub Option<bool>);

/// Implements [`AttrField`]: `Type = kind, type in which a default is written, |value| read;`.
macro_rules! fields {
    ($($type:ty = $kind:ident, $literal:ty, |$value:ident| $read:expr;)*) => {
        $(
            impl AttrField for $type {
                const KIND: Kind = Kind::$kind;
                type Literal = $literal;

                fn read($value: &AttrValue) -> $type {
                    $read
                }
            }
        )*
    };
}

fields! {
    bool = Bool, bool, |value| value.as_int().is_some_and(|value| value != 0);
    OptBool = OptBool, Option<bool>, |value| OptBool(value.as_int().map(|value| value != 0));
    i64 = Int, i64, |value| value.as_int().unwrap_or(0);
    // TVM's `IndexExpr`: `None` where it is null or `?`.
    Option<i64> = IndexExpr, Option<i64>, |value| value.as_int();
    OptInt = OptInt, Option<i64>, |value| OptInt(value.as_int());
    // An `IndexExpr` that becomes a dimension: it keeps `?` and the width of its literal.
    Option<Dim> = IndexExpr, Option<i64>, |value| read_dim(value);
    f64 = Float, f64, |value| match value {
        AttrValue::Float { value, .. } => *value,
        other => other.as_int().unwrap_or(0) as f64,
    };
    // TVM's `Optional<FloatImm>`.
    Option<f64> = OptFloat, Option<f32>, |value| (*value != AttrValue::None).then(|| f64::read(value));
    String = Str, &'static str, |value| match value {
        AttrValue::Str(text) => text.to_string(),
        _ => String::new(),
    };
    StdString = StdStr, &'static str, |value| StdString(String::read(value));
    Option<DType> = DType, Option<DType>, |value| match value {
        AttrValue::DType(dtype) => *dtype,
        _ => None,
    };
    Vec<i64> = Ints, &'static [i64], |value| read_ints(value).unwrap_or_default();
    Option<Vec<i64>> = IntsOrNone, Option<&'static [i64]>, |value| read_ints(value);
    OptInts = OptInts, Option<&'static [i64]>, |value| OptInts(read_ints(value));
    Vec<Vec<i64>> = IntLists, &'static [&'static [i64]], |value| {
        value.as_list().unwrap_or_default().iter().map(|item| read_ints(item).unwrap_or_default()).collect()
    };
    Dims = Ints, Option<&'static [i64]>, |value| Dims(read_dims(value));
    DimsOrNone = IntsOrNone, Option<&'static [i64]>, |value| DimsOrNone(read_dims(value));
    OptDims = OptInts, Option<&'static [i64]>, |value| OptDims(read_dims(value));
    IntOrInts = Object, i64, |value| match read_ints(value) {
        Some(items) => IntOrInts::Ints(items),
        None => IntOrInts::Int(i64::read(value)),
    };
    // A list of expressions that hold floats.
    Vec<f64> = Numbers, &'static [f32], |value| read_floats(value).unwrap_or_default();
    Floats = Floats, Option<&'static [f32]>, |value| Floats(read_floats(value));
    Constant = Const, (), |value| match value {
        AttrValue::Const(_, tensor) => Constant(Some(tensor.clone())),
        _ => Constant(None),
    };
    ConstExpr = Expr, (), |value| ConstExpr(Constant::read(value).0);
}

/// The integers of a list value, `?` as -1.
fn read_ints(value: &AttrValue) -> Option<Vec<i64>> {
    value.as_list().map(|items| items.iter().map(|item| item.as_int().unwrap_or(-1)).collect())
}

/// The floats of a list value; 0 for elements that are no numbers.
fn read_floats(value: &AttrValue) -> Option<Vec<f64>> {
    value.as_list().map(|items| items.iter().map(f64::read).collect())
}

fn read_dim(value: &AttrValue) -> Option<Dim> {
    match *value {
        AttrValue::Int { value, bits } => Some(Dim::number(value, bits == 64)),
        AttrValue::Any => Some(Dim::Any),
        AttrValue::Symbol(symbol) => Some(Dim::Symbol(symbol)),
        _ => None,
    }
}

/// The integers of a list value as dimensions, which keep the width of their literals.
fn read_dims(value: &AttrValue) -> Option<Vec<Dim>> {
    value.as_list().map(|items| items.iter().map(|item| read_dim(item).unwrap_or(Dim::Any)).collect())
}

/// A type of objects that are kept as read.
pub(crate) trait ObjectType {
    const NAME: &'static str;
}

/// A device; null stands for any device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VirtualDevice {}

impl ObjectType for VirtualDevice {
    const NAME: &'static str = "VirtualDevice";
}

/// A function by its name in TVM's registry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EnvFunc {}

impl ObjectType for EnvFunc {
    const NAME: &'static str = "EnvFunc";
}

/// A map from names to anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectMap {}

impl ObjectType for ObjectMap {
    const NAME: &'static str = "Map<String, ObjectRef>";
}

/// A map of indices to other indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IndexMap {}

impl ObjectType for IndexMap {
    const NAME: &'static str = "tir::IndexMap";
}

/// An object of the metadata section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ObjectOf<T>(pub Option<ObjectId>, PhantomData<T>);

impl<T: ObjectType> AttrField for ObjectOf<T> {
    const KIND: Kind = Kind::ObjectOf(T::NAME);
    type Literal = Option<ObjectId>;

    fn read(value: &AttrValue) -> ObjectOf<T> {
        match value {
            AttrValue::Object(object) => ObjectOf(Some(*object), PhantomData),
            _ => ObjectOf(None, PhantomData),
        }
    }
}

/// Declares an attribute type: the struct, its schema and the reading of its values.
///
/// ```text
/// attrs! {
///     "relay.attrs.LeakyReluAttrs" =>
///     pub struct LeakyReluAttrs {
///         /// The slope below zero.
///         pub alpha: f64 = 0.25, min 0.0;
///     }
/// }
/// ```
///
/// A field without `= default` must be written. Lists of defaults are slices: `pub strides: Vec<i64> = &[1, 1];`.
///
/// Types that differ in the number of spatial axes only are one struct with a list of names, those for one, two and three axes.
/// `T::schema::<2>()` is the schema for two. In defaults `RANK` is the number of axes, and `, doc DOCS;` gives a field the text
/// `DOCS[RANK - 1]`.
macro_rules! attrs {
    ($($key:tt => $(#[$meta:meta])* $vis:vis struct $name:ident {
        $(
            $(#[doc = $doc:literal])*
            $field_vis:vis $field:ident: $ty:ty $(= $default:expr)? $(, min $min:literal)? $(, doc $docs:expr)?;
        )*
    })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, PartialEq, Debug)]
            $vis struct $name {
                $($(#[doc = $doc])* $field_vis $field: $ty,)*
            }

            #[allow(unreachable_pub, reason = "what can be seen of an attribute struct is decided by its own visibility")]
            impl $name {
                $crate::attrs::attrs!(@schema $key [$(relayc_ir::attrs::Field {
                    name: stringify!($field),
                    doc: $crate::attrs::attrs!(@doc ($($doc)*) $($docs)?),
                    kind: <$ty as $crate::AttrField>::KIND,
                    default: $crate::attrs::attrs!(@default $ty $(, $default)?),
                    min: $crate::attrs::attrs!(@min $($min)?),
                }),*]);

                /// Reads the complete values of a call, which are in schema order.
                #[allow(dead_code, reason = "some types are for passes only, or read as another of the same fields")]
                pub fn read(values: &[relayc_ir::attrs::AttrValue]) -> Self {
                    let mut values = values.iter();
                    $(let $field = values.next().map(<$ty as $crate::AttrField>::read).expect("resolve completes attributes");)*
                    $name { $($field),* }
                }
            }
        )*
    };
    (@schema $key:literal $fields:expr) => {
        pub const SCHEMA: &'static relayc_ir::attrs::AttrSchema =
            &relayc_ir::attrs::AttrSchema { type_key: $key, fields: &$fields, declared: true };
    };
    (@schema [$($key:literal),*] $fields:expr) => {
        pub(crate) const fn schema<const RANK: usize>() -> &'static relayc_ir::attrs::AttrSchema {
            const { &relayc_ir::attrs::AttrSchema { type_key: [$($key),*][RANK - 1], fields: &$fields, declared: true } }
        }
    };
    (@doc ($($doc:literal)*)) => { concat!("", $($doc, "\n"),*) };
    (@doc () $docs:expr) => { $docs[RANK - 1] };
    (@default $ty:ty) => { None };
    (@default $ty:ty, $default:expr) => { Some(|| $crate::attrs::value_of::<$ty>($default)) };
    (@min) => { None };
    (@min $min:literal) => { Some($min) };
}
pub(crate) use attrs;
