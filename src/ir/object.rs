//! Objects of a metadata section that relayc keeps as they are: devices, targets and what is inside them.
//!
//! What has a meaning to relayc (constants, symbols, attributes) is read into values of its own; of the rest the content is
//! kept, in the order of TVM's declarations, so that it prints as it came.

use crate::index_type;

index_type! {
    /// An object, by its number in the module.
    pub struct ObjectId;
}

/// An object as TVM's reflection shows it.
#[derive(Clone, PartialEq, Debug)]
pub enum Object {
    Str(Box<str>),
    Array(Box<[Option<ObjectId>]>),
    /// With strings as keys.
    Map(Box<[(Box<str>, Option<ObjectId>)]>),
    Record {
        record: &'static Record,
        /// In the order of the record's fields.
        fields: Box<[FieldValue]>,
    },
}

impl Object {
    pub fn type_key(&self) -> &'static str {
        match self {
            Object::Str(_) => "runtime.String",
            Object::Array(_) => "Array",
            Object::Map(_) => "Map",
            Object::Record { record, .. } => record.type_key,
        }
    }
}

/// A field of a record.
#[derive(Clone, PartialEq, Debug)]
pub enum FieldValue {
    /// A number, a machine string or a dtype, as text.
    Text(Box<str>),
    Object(Option<ObjectId>),
}

/// A type of objects with named fields.
#[derive(PartialEq, Debug)]
pub struct Record {
    pub type_key: &'static str,
    /// In TVM's order of declaration, in which what is inside is numbered.
    pub fields: &'static [(&'static str, Part)],
}

/// What a field of a record holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Text,
    Object,
    /// Where it stood in a text; not kept.
    Span,
}

impl Record {
    pub fn find(type_key: &str) -> Option<&'static Record> {
        RECORDS.iter().find(|record| record.type_key == type_key)
    }
}

/// An operation of two integers, inside an index map.
const fn operation(type_key: &'static str) -> Record {
    Record { type_key, fields: &[("dtype", Part::Text), ("a", Part::Object), ("b", Part::Object), ("span", Part::Span)] }
}

/// The records that are kept (`include/tvm/target/{target,target_kind,virtual_device}.h`,
/// `include/tvm/tir/{expr,index_map,var}.h`).
const RECORDS: &[Record] = &[
    Record { type_key: "IntImm", fields: &[("dtype", Part::Text), ("value", Part::Text), ("span", Part::Span)] },
    Record { type_key: "FloatImm", fields: &[("dtype", Part::Text), ("value", Part::Text), ("span", Part::Span)] },
    Record {
        type_key: "VirtualDevice",
        fields: &[
            ("device_type_int", Part::Text),
            ("virtual_device_id", Part::Text),
            ("target", Part::Object),
            ("memory_scope", Part::Object),
        ],
    },
    Record {
        type_key: "Target",
        fields: &[
            ("kind", Part::Object),
            ("tag", Part::Object),
            ("keys", Part::Object),
            ("attrs", Part::Object),
            ("features", Part::Object),
            ("host", Part::Object),
        ],
    },
    Record {
        type_key: "TargetKind",
        fields: &[("name", Part::Object), ("default_device_type", Part::Text), ("default_keys", Part::Object)],
    },
    Record {
        type_key: "tir.IndexMap",
        fields: &[("initial_indices", Part::Object), ("final_indices", Part::Object), ("inverse_index_map", Part::Object)],
    },
    Record {
        type_key: "tir.Var",
        fields: &[("dtype", Part::Text), ("name", Part::Object), ("type_annotation", Part::Object), ("span", Part::Span)],
    },
    Record { type_key: "PrimType", fields: &[("dtype", Part::Text)] },
    operation("tir.Add"),
    operation("tir.Sub"),
    operation("tir.Mul"),
    operation("tir.FloorDiv"),
    operation("tir.FloorMod"),
];
