//! The messages of ONNX with the field numbers of `onnx.proto` (ONNX 1.14, IR version 9), and later additions.
//!
//! This is a subset, maintained by hand: documentation, training and devices are omitted, which the format permits. Lists of
//! numbers are written unpacked, as the file's syntax (`proto2`) requires unless a field states otherwise; both forms are read.
//! The elements of a tensor are a slice of the file's bytes, not a copy.

/// Reads and writes messages.
pub use prost::Message;

use prost::bytes::Bytes;

/// Declares messages, each field as `name: type = (number, kind in prost's words);`: the structs, and what decoding allocates
/// for their fields.
macro_rules! messages {
    ($($(#[$doc:meta])* $message:ident { $($(#[$about:meta])* $name:ident: $ty:ty = ($tag:tt, $($kind:tt)+);)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, prost::Message)]
        pub struct $message {
            $($(#[$about])* #[prost($($kind)+, tag = $tag)] pub $name: $ty,)*
        }

        impl Decoded for Option<Box<$message>> {
            const FIELD: Field = Field::One(Layout { size: size_of::<$message>(), field: $message::field });
        }

        impl Fields for $message {
            fn field(number: u64) -> Field {
                match number {
                    $($tag => <$ty>::FIELD,)*
                    _ => Field::Nothing,
                }
            }
        }
    )*};
}

messages! {
    /// A model file.
    ModelProto {
        ir_version: Option<i64> = (1, int64, optional);
        producer_name: Option<String> = (2, string, optional);
        producer_version: Option<String> = (3, string, optional);
        graph: Option<GraphProto> = (7, message, optional);
        opset_import: Vec<OperatorSetIdProto> = (8, message, repeated);
        /// Operators that the model defines itself.
        functions: Vec<FunctionProto> = (25, message, repeated);
    }

    /// An operator set that a model requires; the empty domain is ONNX's own.
    OperatorSetIdProto {
        domain: Option<String> = (1, string, optional);
        version: Option<i64> = (2, int64, optional);
    }

    /// An operator that is defined as a graph of others.
    FunctionProto {
        name: Option<String> = (1, string, optional);
        input: Vec<String> = (4, string, repeated);
        output: Vec<String> = (5, string, repeated);
        /// Attributes without a default.
        attribute: Vec<String> = (6, string, repeated);
        node: Vec<NodeProto> = (7, message, repeated);
        opset_import: Vec<OperatorSetIdProto> = (9, message, repeated);
        domain: Option<String> = (10, string, optional);
        /// Attributes with their defaults.
        attribute_proto: Vec<AttributeProto> = (11, message, repeated);
        overload: Option<String> = (13, string, optional);
    }

    /// Nodes in an order in which they can be computed.
    GraphProto {
        node: Vec<NodeProto> = (1, message, repeated);
        name: Option<String> = (2, string, optional);
        initializer: Vec<TensorProto> = (5, message, repeated);
        input: Vec<ValueInfoProto> = (11, message, repeated);
        output: Vec<ValueInfoProto> = (12, message, repeated);
        /// The types of intermediate values.
        value_info: Vec<ValueInfoProto> = (13, message, repeated);
        sparse_initializer: Vec<SparseTensorProto> = (15, message, repeated);
    }

    /// One operation. An empty name is an omitted input.
    NodeProto {
        input: Vec<String> = (1, string, repeated);
        output: Vec<String> = (2, string, repeated);
        name: Option<String> = (3, string, optional);
        op_type: Option<String> = (4, string, optional);
        attribute: Vec<AttributeProto> = (5, message, repeated);
        domain: Option<String> = (7, string, optional);
        overload: Option<String> = (8, string, optional);
    }

    /// An attribute; `type` states which of the values counts. Lists of tensors and of graphs, which no operator has, are omitted;
    /// large values are boxed, because most attributes are a number.
    AttributeProto {
        name: Option<String> = (1, string, optional);
        f: Option<f32> = (2, float, optional);
        i: Option<i64> = (3, int64, optional);
        s: Option<Vec<u8>> = (4, bytes = "vec", optional);
        t: Option<Box<TensorProto>> = (5, message, optional, boxed);
        g: Option<Box<GraphProto>> = (6, message, optional, boxed);
        floats: Vec<f32> = (7, float, repeated, packed = "false");
        ints: Vec<i64> = (8, int64, repeated, packed = "false");
        strings: Vec<Vec<u8>> = (9, bytes = "vec", repeated);
        r#type: Option<i32> = (20, int32, optional);
        /// Inside a function: the function's attribute that provides the value.
        ref_attr_name: Option<String> = (21, string, optional);
        sparse_tensor: Option<Box<SparseTensorProto>> = (22, message, optional, boxed);
    }

    /// A tensor with its elements, which are in one of the lists or in `raw_data`.
    TensorProto {
        dims: Vec<i64> = (1, int64, repeated, packed = "false");
        data_type: Option<i32> = (2, int32, optional);
        segment: Option<SegmentProto> = (3, message, optional);
        float_data: Vec<f32> = (4, float, repeated);
        /// Also narrower integers, bools and the bits of narrower floats.
        int32_data: Vec<i32> = (5, int32, repeated);
        string_data: Vec<Vec<u8>> = (6, bytes = "vec", repeated);
        int64_data: Vec<i64> = (7, int64, repeated);
        name: Option<String> = (8, string, optional);
        /// Row-major, little endian.
        raw_data: Option<Bytes> = (9, bytes = "bytes", optional);
        double_data: Vec<f64> = (10, double, repeated);
        /// Also uint32.
        uint64_data: Vec<u64> = (11, uint64, repeated);
        /// Location of the elements, if [`TensorProto::data_location`] is 1: `location`, `offset`, `length`.
        external_data: Vec<StringStringEntryProto> = (13, message, repeated);
        data_location: Option<i32> = (14, int32, optional);
    }

    /// `TensorProto.Segment`: a part of a tensor.
    SegmentProto {
        begin: Option<i64> = (1, int64, optional);
        end: Option<i64> = (2, int64, optional);
    }

    StringStringEntryProto {
        key: Option<String> = (1, string, optional);
        value: Option<String> = (2, string, optional);
    }

    /// The nonzero elements of a tensor with their positions: row-major positions, or a row of indices for each.
    SparseTensorProto {
        values: Option<Box<TensorProto>> = (1, message, optional, boxed);
        indices: Option<Box<TensorProto>> = (2, message, optional, boxed);
        dims: Vec<i64> = (3, int64, repeated, packed = "false");
    }

    /// A name with a type.
    ValueInfoProto {
        name: Option<String> = (1, string, optional);
        r#type: Option<TypeProto> = (2, message, optional);
    }

    /// A type; types other than tensors are known by their kind only.
    TypeProto {
        tensor_type: Option<TensorTypeProto> = (1, message, optional);
        sequence_type: Option<Empty> = (4, message, optional);
        map_type: Option<Empty> = (5, message, optional);
        sparse_tensor_type: Option<Empty> = (8, message, optional);
        optional_type: Option<Empty> = (9, message, optional);
    }

    /// A message whose content is not read.
    Empty {}

    /// `TypeProto.Tensor`.
    TensorTypeProto {
        elem_type: Option<i32> = (1, int32, optional);
        shape: Option<TensorShapeProto> = (2, message, optional);
    }

    TensorShapeProto {
        dim: Vec<DimensionProto> = (1, message, repeated);
    }

    /// `TensorShapeProto.Dimension`: a number, or a name for an unknown one.
    DimensionProto {
        dim_value: Option<i64> = (1, int64, optional);
        dim_param: Option<String> = (2, string, optional);
    }
}

/// Values of [`AttributeProto::type`].
pub mod attribute_type {
    pub const FLOAT: i32 = 1;
    pub const INT: i32 = 2;
    pub const STRING: i32 = 3;
    pub const TENSOR: i32 = 4;
    pub const GRAPH: i32 = 5;
    pub const FLOATS: i32 = 6;
    pub const INTS: i32 = 7;
    pub const STRINGS: i32 = 8;
    pub(crate) const SPARSE_TENSOR: i32 = 11;
}

/// A message as the decoder allocates it.
pub(crate) struct Layout {
    /// Bytes of its own allocation, in a list or by itself; 0 for a part of another struct.
    pub(crate) size: usize,
    /// Its fields by number.
    pub(crate) field: fn(u64) -> Field,
}

/// How the decoder treats a field.
pub(crate) enum Field {
    /// One message.
    One(Layout),
    /// A list of messages.
    Many(Layout),
    /// A string or bytes.
    Text,
    /// A list of strings or bytes.
    Texts,
    /// A list of fixed-size numbers, with their size in the file and in memory.
    Fixed(usize),
    /// A list of variable-length numbers, with their size in memory.
    Varints(usize),
    /// A field that stays in place, or that is not read.
    Nothing,
}

/// A message, by the treatment of its fields.
pub(crate) trait Fields {
    /// The treatment of the field of a number.
    fn field(number: u64) -> Field;
}

/// The type of a field.
trait Decoded {
    const FIELD: Field;
}

impl<M: Fields> Decoded for Option<M> {
    const FIELD: Field = Field::One(Layout { size: 0, field: M::field });
}

impl<M: Fields> Decoded for Vec<M> {
    const FIELD: Field = Field::Many(Layout { size: size_of::<M>(), field: M::field });
}

macro_rules! decoded {
    ($($ty:ty: $field:expr;)*) => {$(
        impl Decoded for $ty {
            const FIELD: Field = $field;
        }
    )*};
}

decoded! {
    Option<i32>: Field::Nothing;
    Option<i64>: Field::Nothing;
    Option<f32>: Field::Nothing;
    Option<String>: Field::Text;
    Option<Vec<u8>>: Field::Text;
    // A slice of the file.
    Option<Bytes>: Field::Nothing;
    Vec<String>: Field::Texts;
    Vec<Vec<u8>>: Field::Texts;
    Vec<f32>: Field::Fixed(4);
    Vec<f64>: Field::Fixed(8);
    Vec<i32>: Field::Varints(4);
    Vec<i64>: Field::Varints(8);
    Vec<u64>: Field::Varints(8);
}
