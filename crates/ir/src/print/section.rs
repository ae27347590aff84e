//! Collects the metadata section of printed text: numbers and writes the objects mentioned as `meta[Key][n]` (language 5.5 and
//! 6).
//!
//! An entry is an object with an identity: two mentions of it share one entry, and one node inside other objects. The section is
//! a graph of nodes, numbered depth-first from the map of all entries, with fields in TVM's order of declaration
//! (`src/node/serialization.cc`). Spans are written as null. `json.rs` lays out the text.

use super::json;
use crate::attrs::{AttrSchema, AttrValue, Field, Kind};
use crate::object::{FieldValue, Object, ObjectId};
use crate::tensor::Tensor;
use crate::types::{DType, Dim, HoleId, SymbolId, SymbolKind, Ty, TyData};
use crate::{AttrsId, ConstId, Module};
use indexmap::IndexSet;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An object with an identity.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Entry {
    Const(ConstId),
    Symbol(SymbolId),
    Attrs(AttrsId),
    Object(ObjectId),
    Hole(HoleId),
    /// The device of constants without a chosen device.
    AnyDevice,
    /// An operator or intrinsic of TVM; each is one object.
    Op(Box<str>),
}

/// A node to be: an entry, or what exists only as a part of one.
enum Item<'a> {
    Null,
    Entry(Entry),
    Items(Vec<Item<'a>>),
    /// The root: arrays by type key.
    Map(Vec<(&'a str, Item<'a>)>),
    Str(&'a str),
    Int(i64, DType),
    Float(f64, DType),
    Any,
    PrimType(DType),
    Type(Ty),
}

#[derive(Default)]
pub(super) struct Section {
    /// By type key, each in the order of first mention.
    entries: BTreeMap<&'static str, IndexSet<Entry>>,
    const_tys: FxHashMap<ConstId, Ty>,
    schemas: FxHashMap<AttrsId, &'static AttrSchema>,
}

impl Section {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns `meta[relay.Constant][n]`; `ty` is the inferred type.
    pub(crate) fn constant(&mut self, id: ConstId, ty: Option<Ty>) -> String {
        if let Some(ty) = ty {
            self.const_tys.entry(id).or_insert(ty);
        }
        self.mention("relay.Constant", Entry::Const(id))
    }

    pub(crate) fn hole(&mut self, id: HoleId) -> String {
        self.mention("IncompleteType", Entry::Hole(id))
    }

    pub(crate) fn symbol(&mut self, module: &Module, id: SymbolId) -> String {
        let id = module.types.symbols.find(id);
        self.mention(symbol_key(module.types.symbols.kind(id)), Entry::Symbol(id))
    }

    pub(crate) fn object(&mut self, module: &Module, id: ObjectId) -> String {
        self.mention(module.objects[id].type_key(), object_entry(module, id))
    }

    /// Adds the attributes of a call as one object.
    pub(crate) fn attrs(&mut self, schema: &'static AttrSchema, id: AttrsId) -> String {
        self.schemas.insert(id, schema);
        self.mention(schema.type_key, Entry::Attrs(id))
    }

    fn mention(&mut self, type_key: &'static str, entry: Entry) -> String {
        let (index, _) = self.entries.entry(type_key).or_default().insert_full(entry);
        format!("meta[{type_key}][{index}]")
    }

    /// The text after `#[metadata]`.
    pub(crate) fn text(&self, module: &Module) -> String {
        let arrays = self
            .entries
            .iter()
            .map(|(&key, entries)| (key, Item::Items(entries.iter().map(|entry| Item::Entry(entry.clone())).collect())));
        // Node 0 is null.
        let nodes = vec![json::Node::new("", json::Body::Nothing)];
        let (seen, shared) = Default::default();
        let mut writer = Writer { module, section: self, nodes, seen, tensors: vec![], shared };
        writer.number(Item::Map(arrays.collect()));
        json::document(&writer.nodes, &writer.tensors)
    }
}

/// The entry of an object in the section. Constants, symbols and operators have one entry, inside another object or alone.
fn object_entry(module: &Module, id: ObjectId) -> Entry {
    match &module.objects[id] {
        Object::Const(id) => Entry::Const(*id),
        Object::Symbol { id, .. } => Entry::Symbol(module.types.symbols.find(*id)),
        Object::Op(name) => Entry::Op(name.clone()),
        _ => Entry::Object(id),
    }
}

fn symbol_key(kind: &SymbolKind) -> &'static str {
    match kind {
        SymbolKind::Var { is_size: true, .. } => "tir.SizeVar",
        SymbolKind::Var { is_size: false, .. } => "tir.Var",
        SymbolKind::Int { .. } => "IntImm",
        SymbolKind::Float { .. } => "FloatImm",
        SymbolKind::Any => "tir.Any",
        SymbolKind::Binary { op, .. } => op.type_key(),
        SymbolKind::Cast { .. } => "tir.Cast",
        SymbolKind::Call { .. } => "tir.Call",
    }
}

struct Writer<'a> {
    module: &'a Module,
    section: &'a Section,
    nodes: Vec<json::Node>,
    seen: FxHashMap<Entry, usize>,
    tensors: Vec<&'a Tensor>,
    /// The numbers of tensors that several constants may share.
    shared: FxHashMap<u32, usize>,
}

/// A node's fields in TVM's order, with the items inside in the same order.
#[derive(Default)]
struct Fields<'a> {
    fields: Vec<(&'static str, json::Field)>,
    items: Vec<Item<'a>>,
}

impl<'a> Fields<'a> {
    fn text(mut self, name: &'static str, text: impl ToString) -> Self {
        self.fields.push((name, json::Field::Text(text.to_string())));
        self
    }

    fn item(mut self, name: &'static str, item: Item<'a>) -> Self {
        self.fields.push((name, json::Field::Ref(self.items.len())));
        self.items.push(item);
        self
    }

    fn span(self) -> Self {
        self.text("span", 0)
    }

    fn of(self, type_key: &str) -> (json::Node, Vec<Item<'a>>) {
        (json::Node::new(type_key, json::Body::Fields(self.fields)), self.items)
    }
}

impl<'a> Writer<'a> {
    /// Writes an item and all that is inside, depth first.
    fn number(&mut self, root: Item<'a>) {
        // What is to be numbered, and which reference of which node waits for its number.
        let mut stack = vec![(root, None)];
        while let Some((item, place)) = stack.pop() {
            let seen = match &item {
                Item::Null => Some(0),
                Item::Entry(entry) => self.seen.get(entry).copied(),
                _ => None,
            };
            let number = seen.unwrap_or_else(|| {
                let number = self.nodes.len();
                if let Item::Entry(entry) = &item {
                    self.seen.insert(entry.clone(), number);
                }
                let (mut node, items) = self.node(item);
                node.refs = vec![0; items.len()];
                self.nodes.push(node);
                stack.extend(items.into_iter().enumerate().rev().map(|(i, item)| (item, Some((number, i)))));
                number
            });
            if let Some((node, i)) = place {
                let node: &mut json::Node = &mut self.nodes[node];
                node.refs[i] = number;
            }
        }
    }

    fn node(&mut self, item: Item<'a>) -> (json::Node, Vec<Item<'a>>) {
        match item {
            Item::Null => (json::Node::new("", json::Body::Nothing), vec![]),
            Item::Entry(entry) => self.entry(entry),
            Item::Items(items) => (json::Node::new("Array", json::Body::Array), items),
            Item::Map(entries) => {
                let keys = entries.iter().map(|(key, _)| (*key).to_owned()).collect();
                (json::Node::new("Map", json::Body::Map(keys)), entries.into_iter().map(|(_, item)| item).collect())
            }
            Item::Str(text) => (json::Node::new("runtime.String", json::Body::Repr(text.to_owned())), vec![]),
            Item::Int(value, dtype) => Fields::default().text("dtype", dtype).text("value", value).span().of("IntImm"),
            Item::Float(value, dtype) => {
                Fields::default().text("dtype", dtype).text("value", json::double(value)).span().of("FloatImm")
            }
            Item::Any => Fields::default().text("dtype", DType::I32).span().of("tir.Any"),
            Item::PrimType(dtype) => Fields::default().text("dtype", dtype).of("PrimType"),
            Item::Type(ty) => self.tensor_type(ty),
        }
    }

    fn entry(&mut self, entry: Entry) -> (json::Node, Vec<Item<'a>>) {
        match entry {
            Entry::Const(id) => self.constant(id),
            Entry::Symbol(id) => self.symbol(id),
            Entry::Attrs(id) => self.attrs(id),
            Entry::Object(id) => self.object(id),
            // Kind 0 is that of types.
            Entry::Hole(_) => Fields::default().text("kind", 0).span().of("IncompleteType"),
            Entry::AnyDevice => Fields::default()
                .text("device_type_int", -1)
                .text("virtual_device_id", -1)
                .item("target", Item::Null)
                .item("memory_scope", Item::Str(""))
                .of("VirtualDevice"),
            Entry::Op(name) => (json::Node::new("Op", json::Body::Repr(name.into())), vec![]),
        }
    }

    fn constant(&mut self, id: ConstId) -> (json::Node, Vec<Item<'a>>) {
        let note = self.module.const_notes.get(&id);
        let next = self.tensors.len();
        let number = note.map_or(next, |note| *self.shared.entry(note.tensor).or_insert(next));
        if number == next {
            self.tensors.push(&self.module.consts[id]);
        }
        let device = note.and_then(|note| note.device).map_or(Entry::AnyDevice, |id| object_entry(self.module, id));
        let found = self.section.const_tys.get(&id).map(|&ty| Item::Type(ty));
        let ty = found.unwrap_or_else(|| self.object_item(note.and_then(|note| note.checked_ty)));
        Fields::default()
            .text("data", number)
            .item("virtual_device_", Item::Entry(device))
            .span()
            .item("_checked_type_", ty)
            .of("relay.Constant")
    }

    fn tensor_type(&self, ty: Ty) -> (json::Node, Vec<Item<'a>>) {
        let (shape, dtype) = match self.module.types.data(ty) {
            TyData::Tensor { shape, dtype } => (shape.iter().map(|&dim| self.dim(dim)).collect(), *dtype),
            // A constant has the type of a tensor.
            _ => (vec![], DType::F32),
        };
        Fields::default().item("shape", Item::Items(shape)).text("dtype", dtype).span().of("relay.TensorType")
    }

    fn dim(&self, dim: Dim) -> Item<'a> {
        match dim {
            Dim::Known { value, wide } => Item::Int(value, if wide { DType::I64 } else { DType::I32 }),
            Dim::Any => Item::Any,
            Dim::Symbol(symbol) => self.symbol_item(symbol.id),
        }
    }

    fn symbol_item(&self, id: SymbolId) -> Item<'a> {
        Item::Entry(Entry::Symbol(self.module.types.symbols.find(id)))
    }

    fn symbol(&self, id: SymbolId) -> (json::Node, Vec<Item<'a>>) {
        let kind = self.module.types.symbols.kind(id);
        let dtype = self.module.types.symbols.dtype(id);
        let fields = Fields::default().text("dtype", dtype);
        let fields = match kind {
            SymbolKind::Var { name, .. } => fields.item("name", Item::Str(name)).item("type_annotation", Item::PrimType(dtype)),
            SymbolKind::Int { value, .. } => fields.text("value", value),
            SymbolKind::Float { value, .. } => fields.text("value", json::double(*value)),
            SymbolKind::Any => fields,
            SymbolKind::Binary { lhs, rhs, .. } => fields.item("a", self.symbol_item(*lhs)).item("b", self.symbol_item(*rhs)),
            SymbolKind::Cast { value, .. } => fields.item("value", self.symbol_item(*value)),
            SymbolKind::Call { op, args, .. } => {
                let args = args.iter().map(|&arg| self.symbol_item(arg)).collect();
                fields.item("op", Item::Entry(Entry::Op(op.clone()))).item("args", Item::Items(args))
            }
        };
        fields.span().of(symbol_key(kind))
    }

    fn object_item(&self, id: Option<ObjectId>) -> Item<'a> {
        id.map_or(Item::Null, |id| Item::Entry(object_entry(self.module, id)))
    }

    fn object(&self, id: ObjectId) -> (json::Node, Vec<Item<'a>>) {
        let item = |id: Option<ObjectId>| self.object_item(id);
        let field = |all: Fields<'a>, name: &'static str, value: &FieldValue| match value {
            FieldValue::Text(text) => all.text(name, text),
            FieldValue::Object(id) => all.item(name, self.object_item(*id)),
        };
        match &self.module.objects[id] {
            Object::Str(text) => (json::Node::new("runtime.String", json::Body::Repr(text.to_string())), vec![]),
            Object::Array(items) => (json::Node::new("Array", json::Body::Array), items.iter().map(|&id| item(id)).collect()),
            Object::Map(entries) => {
                let keys = entries.iter().map(|(key, _)| key.to_string()).collect();
                (json::Node::new("Map", json::Body::Map(keys)), entries.iter().map(|&(_, id)| item(id)).collect())
            }
            Object::Record { record, fields } => {
                let fields = record.fields.iter().zip(fields);
                fields.fold(Fields::default(), |all, ((name, _), value)| field(all, name, value)).of(record.type_key)
            }
            Object::Attrs { type_key, fields } => {
                fields.iter().fold(Fields::default(), |all, (name, value)| field(all, name, value)).of(type_key)
            }
            Object::Op(_) | Object::Const(_) | Object::Symbol { .. } => unreachable!("each is an entry of its own"),
        }
    }

    fn attrs(&self, id: AttrsId) -> (json::Node, Vec<Item<'a>>) {
        let Some(schema) = self.section.schemas.get(&id) else { return (json::Node::new("", json::Body::Nothing), vec![]) };
        let values = schema.fields.iter().zip(&self.module.attrs[id].values);
        values.fold(Fields::default(), |all, (field, value)| self.attr(all, field, value)).of(schema.type_key)
    }

    /// A field of an attribute object: machine values are text, all others nodes.
    fn attr(&self, all: Fields<'a>, field: &Field, value: &'a AttrValue) -> Fields<'a> {
        match (field.kind, value) {
            (Kind::Int | Kind::Bool, value) => all.text(field.name, value.as_int().unwrap_or(0)),
            (Kind::Float, AttrValue::Float { value, .. }) => all.text(field.name, json::double(*value)),
            (Kind::StdStr, AttrValue::Str(text)) => all.text(field.name, text),
            (Kind::DType, AttrValue::DType(dtype)) => {
                all.text(field.name, dtype.map_or(String::new(), |dtype| dtype.to_string()))
            }
            (_, value) => all.item(field.name, self.value(value)),
        }
    }

    fn value(&self, value: &'a AttrValue) -> Item<'a> {
        match value {
            AttrValue::None => Item::Null,
            AttrValue::Bool(value) => Item::Int(i64::from(*value), DType::BOOL),
            AttrValue::Int { value, bits } => Item::Int(*value, DType { bits: *bits, ..DType::I32 }),
            AttrValue::Float { value, bits: 0 } => Item::Float(*value, DType::F64),
            AttrValue::Float { value, bits } => Item::Float(*value, DType { bits: *bits, ..DType::F32 }),
            AttrValue::Str(text) => Item::Str(text),
            // No object is a dtype; TVM keeps them as strings.
            AttrValue::DType(_) => Item::Str(""),
            AttrValue::List(items) => Item::Items(items.iter().map(|item| self.value(item)).collect()),
            AttrValue::Any => Item::Any,
            AttrValue::Symbol(symbol) => self.symbol_item(symbol.id),
            AttrValue::Object(id) | AttrValue::Expr(id) => self.object_item(Some(*id)),
            AttrValue::Const(id, _) => Item::Entry(Entry::Const(*id)),
        }
    }
}
