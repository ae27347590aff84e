//! Metadata references: `meta[Key][i]` as a constant, a dimension, a type, an attribute or all attributes of a call (language
//! 1.7, 2.1 and 6).
//!
//! Each node becomes a value once, so two references to an entry give one constant, one symbol, one object. Nothing recurses over
//! the section: parts are visited before wholes, which also finds a node inside itself.

use super::section::{Node, NodeNumber, Section};
use super::{Resolver, errors};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::attrs::{AttrSchema, AttrValue, Kind, OpId};
use relayc_ir::object::{self, FieldValue, Object, ObjectId, Part, Record};
use relayc_ir::sizes::is_size_name;
use relayc_ir::types::{DType, DTypeCode, Dim, SymbolId, SymbolKind, SymbolOp, Ty, VarRef};
use relayc_ir::{Attrs, AttrsId, ConstId, ConstNote, ExprKind, VarId};
use relayc_syntax::{ast, literal};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Lists in attributes nest no deeper.
const MAX_LIST_DEPTH: usize = 8;

type Read<T> = Result<T, Diagnostic>;

/// The section and the values made of its nodes.
#[derive(Default)]
pub(super) struct Meta<'a> {
    section: Option<Section<'a>>,
    /// Whether the section could not be read, which has been reported.
    unreadable: bool,
    /// References that dangle because there is no section; only the first is reported.
    n_dangling: usize,
    consts: FxHashMap<NodeNumber, ConstId>,
    symbols: FxHashMap<NodeNumber, SymbolId>,
    objects: FxHashMap<NodeNumber, ObjectId>,
    attrs: FxHashMap<(NodeNumber, &'static str), AttrsId>,
    /// See [`Resolver::attr_sizes`].
    attr_sizes: OnceCell<FxHashSet<String>>,
    /// The attribute types of the operators, by type key.
    pub(super) attrs_types: OnceCell<FxHashMap<&'static str, &'static AttrSchema>>,
}

/// The target of a reference.
struct Target<'a> {
    key: &'a str,
    node: NodeNumber,
}

impl<'a> Meta<'a> {
    fn section(&self) -> &Section<'a> {
        self.section.as_ref().expect("only a reference that was found leads into the section")
    }
}

impl<'a> Resolver<'a> {
    /// Reads the section of the file, if it has one.
    pub(super) fn read_metadata(&mut self) {
        let ast = self.ast;
        let Some(span) = ast.metadata else { return };
        match Section::read(ast.text(span), span) {
            Ok(section) => self.meta.section = Some(section),
            Err(report) => {
                self.diagnostics.push(report);
                self.meta.unreadable = true;
            }
        }
    }

    /// A reference as an expression: a constant.
    pub(super) fn meta_expr(&mut self, span: Span) {
        let constant = self.meta_value_of(span, "a constant", |resolver, target| match target.key {
            "relay.Constant" => resolver.meta_const(target.node, span).map(Some),
            _ => Ok(None),
        });
        self.push_new(span, constant.map_or(ExprKind::Error, ExprKind::Const));
    }

    /// A reference as a dimension.
    pub(super) fn meta_dim(&mut self, span: Span) -> Option<Dim> {
        self.meta_value_of(span, "a dimension", |resolver, target| {
            match target.key.starts_with("tir.") || target.key == "IntImm" {
                true => resolver.meta_node_dim(target.node, span).map(Some),
                false => Ok(None),
            }
        })
    }

    /// A reference as a type.
    pub(super) fn meta_ty(&mut self, span: Span) -> Ty {
        let ty = self.meta_value_of(span, "a type", |resolver, target| match target.key {
            "relay.TensorType" => resolver.meta_tensor_ty(target.node, span).map(Some),
            _ => Ok(None),
        });
        ty.unwrap_or(Ty::ERROR)
    }

    /// A reference as an attribute.
    pub(super) fn meta_attr(&mut self, span: Span) -> Result<AttrValue, ()> {
        let value =
            self.meta_value_of(span, "an attribute", |resolver, target| resolver.meta_node_value(target.node, span, 0).map(Some));
        value.ok_or(())
    }

    /// A reference as all attributes of a call.
    pub(super) fn meta_attrs(&mut self, op: OpId, schema: &'static AttrSchema, span: Span) -> Result<AttrsId, ()> {
        let expected = format!("`{}`", schema.type_key);
        let attrs = self.meta_value_of(span, &expected, |resolver, target| {
            if target.key != schema.type_key {
                return Ok(None);
            }
            if let Some(&attrs) = resolver.meta.attrs.get(&(target.node, schema.type_key)) {
                return Ok(Some(attrs));
            }
            let attrs = resolver.read_attrs(op, schema, target.node, span)?;
            resolver.meta.attrs.insert((target.node, schema.type_key), attrs);
            Ok(Some(attrs))
        });
        attrs.ok_or(())
    }

    /// Looks up a reference and makes a value of it; `make` returns `None` for an entry of the wrong kind.
    fn meta_value_of<T>(
        &mut self,
        span: Span,
        expected: &str,
        make: impl FnOnce(&mut Self, &Target) -> Read<Option<T>>,
    ) -> Option<T> {
        let target = self.meta_target(span)?;
        let report = match make(self, &target) {
            Ok(Some(value)) => return Some(value),
            Ok(None) => errors::wrong_entry(self.ast.text(span), expected, span),
            Err(report) => report,
        };
        self.diagnostics.push(report);
        None
    }

    /// Whether the file's section has no entries of a reference's key.
    pub(super) fn is_dangling(&self, span: Span) -> bool {
        let key = literal::parse_meta(self.ast.text(span)).map_or("", |(key, _)| key);
        self.meta.section.as_ref().is_some_and(|section| section.entries(key).is_empty())
    }

    fn meta_target(&mut self, span: Span) -> Option<Target<'a>> {
        let ast = self.ast;
        let text = ast.text(span);
        if self.meta.unreadable {
            return None;
        }
        let Some(section) = &self.meta.section else {
            self.meta.n_dangling += 1;
            if self.meta.n_dangling == 1 {
                self.diagnostics.push(errors::dangling(text, span, None));
            }
            return None;
        };
        let found = literal::parse_meta(text).and_then(|(key, index)| {
            let node = *section.entries(key).get(usize::try_from(index).ok()?)?;
            Some(Target { key, node })
        });
        if found.is_none() {
            self.diagnostics.push(errors::dangling(text, span, Some(section.counts().collect())));
        }
        found
    }

    fn meta_const(&mut self, number: NodeNumber, at: Span) -> Read<ConstId> {
        if let Some(&id) = self.meta.consts.get(&number) {
            return Ok(id);
        }
        let section = self.meta.section();
        let node = expect(section.node(number, at)?, "relay.Constant", at)?;
        let data = section.required(&node, "data")?;
        let (tensor, value) = section.tensor(&data)?;
        let (device, device_at) = section.reference(&node, "virtual_device_")?;
        let (ty, ty_at) = section.reference(&node, "_checked_type_")?;
        let device = self.meta_object(device, device_at)?;
        if ty != 0 && self.meta.section().node(ty, ty_at)?.type_key == "relay.TensorType" {
            self.meta_tensor_ty(ty, ty_at)?;
        }
        let checked_ty = self.meta_object(ty, ty_at)?;
        let id = self.module.consts.push(value);
        self.module.const_notes.insert(id, ConstNote { tensor, device, checked_ty });
        self.meta.consts.insert(number, id);
        Ok(id)
    }

    fn meta_tensor_ty(&mut self, number: NodeNumber, at: Span) -> Read<Ty> {
        let section = self.meta.section();
        let node = expect(section.node(number, at)?, "relay.TensorType", at)?;
        let dtype = dtype(section, &node)?;
        let (shape, shape_at) = section.reference(&node, "shape")?;
        let dims = section.array(shape, shape_at)?;
        let dims: Vec<Dim> = dims.into_iter().map(|dim| self.meta_node_dim(dim, shape_at)).collect::<Read<_>>()?;
        super::types::check_size(&dims).map_err(|()| errors::metadata("a type that no tensor can have", shape_at))?;
        Ok(self.module.types.tensor(&dims, dtype))
    }

    /// A node as a dimension; numbers are not kept as symbols.
    fn meta_node_dim(&mut self, number: NodeNumber, at: Span) -> Read<Dim> {
        let section = self.meta.section();
        let node = section.node(number, at)?;
        if node.type_key != "IntImm" {
            let id = self.meta_symbol(number, at)?;
            return Ok(self.module.types.symbols.dim(id));
        }
        let value = section.required(&node, "value")?.number("a dimension")?;
        if value < 0 {
            return Err(errors::metadata(format!("a negative dimension {value}"), at));
        }
        Ok(Dim::number(value, dtype(section, &node)? == DType::I64))
    }

    fn meta_symbol(&mut self, number: NodeNumber, at: Span) -> Read<SymbolId> {
        let done = |node| self.meta.symbols.contains_key(&node);
        let order = parts_first(self.meta.section(), number, at, &done, &symbol_parts)?;
        for node in order {
            let id = self.read_symbol(&node)?;
            self.meta.symbols.insert(node.number, id);
        }
        self.meta.symbols.get(&number).copied().ok_or_else(|| errors::metadata("a size is null", at))
    }

    /// A node whose parts are symbols already.
    fn read_symbol(&mut self, node: &Node) -> Read<SymbolId> {
        let section = self.meta.section();
        let symbols = &self.meta.symbols;
        let dtype = dtype(section, node)?;
        let part = |name: &str| {
            let (number, at) = section.reference(node, name)?;
            symbols.get(&number).copied().ok_or_else(|| errors::metadata(format!("`{name}` is null"), at))
        };
        let kind = match node.type_key.as_str() {
            key @ ("tir.Var" | "tir.SizeVar") => {
                let name = string(section, node, "name")?;
                // A name is one size in the whole file.
                let is_size = self.size_names().binary_search(&name.as_str()).is_ok() || self.attr_sizes().contains(&name);
                if dtype.is_int() && is_size {
                    return Ok(self.module.types.symbols.named(&name));
                }
                let entries = section.entries(key);
                let index = entries.iter().position(|&entry| entry == node.number).unwrap_or(entries.len());
                let var = VarRef::Entry { is_size: key == "tir.SizeVar", index: u32::try_from(index).unwrap_or(u32::MAX) };
                return Ok(self.module.types.symbols.var(&name, dtype, var));
            }
            "IntImm" => SymbolKind::Int { value: section.required(node, "value")?.number("an integer")?, dtype },
            "FloatImm" => SymbolKind::Float { value: section.required(node, "value")?.number("a float")?, dtype },
            "tir.Any" => SymbolKind::Any,
            "tir.Cast" => SymbolKind::Cast { value: part("value")?, dtype },
            "tir.Call" => {
                let (op, op_at) = section.reference(node, "op")?;
                let op = expect(section.node(op, op_at)?, "Op", op_at)?.repr.into();
                let (args, args_at) = section.reference(node, "args")?;
                let args = section.array(args, args_at)?;
                let args: Option<_> = args.iter().map(|arg| symbols.get(arg).copied()).collect();
                let args = args.ok_or_else(|| errors::metadata("an argument is null", args_at))?;
                SymbolKind::Call { op, args, dtype }
            }
            key => match SymbolOp::ALL.into_iter().find(|op| op.type_key() == key) {
                Some(op) => SymbolKind::Binary { op, lhs: part("a")?, rhs: part("b")?, dtype },
                None => return Err(errors::metadata(format!("`{key}` is no expression of dimensions"), node.span)),
            },
        };
        Ok(self.module.types.symbols.node(kind))
    }

    /// The names of the size variables in what attributes mention, each the name of one variable only. TVM's attributes have no
    /// variables: printing puts sizes there that have names.
    fn attr_sizes(&self) -> &FxHashSet<String> {
        self.meta.attr_sizes.get_or_init(|| {
            let section = self.meta.section();
            let exprs = self.ast.exprs.iter().filter(|expr| matches!(expr.kind, ast::ExprKind::Meta));
            let mentioned = exprs.filter_map(|expr| literal::parse_meta(self.ast.text(expr.span)));
            let in_attrs: Vec<NodeNumber> = mentioned
                .filter(|(key, _)| key.starts_with("tir."))
                .filter_map(|(key, index)| section.entries(key).get(usize::try_from(index).ok()?).copied())
                .collect();
            if in_attrs.is_empty() {
                return FxHashSet::default();
            }
            let mut owners: FxHashMap<String, usize> = FxHashMap::default();
            variables(section, section.all_entries("tir."), |_, name| *owners.entry(name).or_default() += 1);
            let mut found = FxHashSet::default();
            variables(section, in_attrs.into_iter(), |node, name| {
                let is_size = node.type_key == "tir.SizeVar" && dtype(section, node).is_ok_and(|dtype| dtype == DType::I32);
                if is_size && is_size_name(&name) && owners.get(&name) == Some(&1) {
                    found.insert(name);
                }
            });
            found
        })
    }

    /// A node that is kept as it is; nothing for null.
    fn meta_object(&mut self, number: NodeNumber, at: Span) -> Read<Option<ObjectId>> {
        if number == 0 {
            return Ok(None);
        }
        let done = |node| self.meta.objects.contains_key(&node);
        let order = parts_first(self.meta.section(), number, at, &done, &|section, node| self.object_parts(section, node))?;
        for node in order {
            let object = self.read_object(&node)?;
            let id = self.module.objects.push(object);
            self.meta.objects.insert(node.number, id);
        }
        Ok(self.meta.objects.get(&number).copied())
    }

    /// A node as the value of an attribute.
    fn meta_node_value(&mut self, number: NodeNumber, at: Span, depth: usize) -> Read<AttrValue> {
        if number == 0 {
            return Ok(AttrValue::None);
        }
        if depth > MAX_LIST_DEPTH {
            return Err(errors::list_depth(at));
        }
        let section = self.meta.section();
        let node = section.node(number, at)?;
        match node.type_key.as_str() {
            "IntImm" => {
                let value: i64 = section.required(&node, "value")?.number("an integer")?;
                let dtype = dtype(section, &node)?;
                Ok(if dtype.is_bool() { AttrValue::Bool(value != 0) } else { AttrValue::Int { value, bits: dtype.bits } })
            }
            "FloatImm" => {
                let value = section.required(&node, "value")?.number("a float")?;
                Ok(AttrValue::Float { value, bits: dtype(section, &node)?.bits })
            }
            "runtime.String" => Ok(AttrValue::str(&node.repr)),
            "Array" => {
                let items = node.data.into_iter().map(|item| self.meta_node_value(item, at, depth + 1));
                Ok(AttrValue::List(items.collect::<Read<Vec<_>>>()?.into()))
            }
            object::CONSTANT => {
                let id = self.meta_const(number, at)?;
                Ok(AttrValue::Const(id, self.module.consts[id].clone()))
            }
            "tir.Any" => Ok(AttrValue::Any),
            "tir.IndexMap" => Ok(self.meta_object(number, at)?.map_or(AttrValue::None, AttrValue::Object)),
            key if key.starts_with("tir.") => {
                let id = self.meta_symbol(number, at)?;
                Ok(self.module.types.symbols.dim(id).symbol().map_or(AttrValue::Any, AttrValue::Symbol))
            }
            key => {
                let is_expr = Record::find(key).is_some_and(Record::is_expr);
                let value = if is_expr { AttrValue::Expr } else { AttrValue::Object };
                Ok(self.meta_object(number, at)?.map_or(AttrValue::None, value))
            }
        }
    }

    /// The objects inside an object.
    fn object_parts(&self, section: &Section, node: &Node) -> Read<Vec<(NodeNumber, Span)>> {
        match node.type_key.as_str() {
            object::CONSTANT => Ok(vec![section.reference(node, "virtual_device_")?, section.reference(node, "_checked_type_")?]),
            key if is_mentioned_symbol(section, key, node.number) => Ok(vec![]),
            key => {
                let Some(fields) = self.object_fields(key) else {
                    return Ok(node.data.iter().map(|&part| (part, node.span)).collect());
                };
                let mut parts = Vec::new();
                for (name, part) in fields.iter() {
                    match part {
                        Part::Object => parts.push(section.reference(node, name)?),
                        Part::Str => parts.extend(string_node(section, node, name)?),
                        Part::Text | Part::Span => {}
                    }
                }
                Ok(parts)
            }
        }
    }

    /// The fields of an object type in TVM's order of declaration. The type is a record or the attribute type of an operator.
    fn object_fields(&self, type_key: &str) -> Option<Cow<'static, [(&'static str, Part)]>> {
        match Record::find(type_key) {
            Some(record) => Some(record.fields.into()),
            None => Some(self.attrs_type(type_key)?.fields.iter().map(|field| (field.name, attr_part(field.kind))).collect()),
        }
    }

    /// Reads a node whose parts have been read.
    fn read_object(&mut self, node: &Node) -> Read<Object> {
        let part = |number: NodeNumber| self.meta.objects.get(&number).copied();
        let section = self.meta.section();
        match node.type_key.as_str() {
            "runtime.String" => Ok(Object::Str(node.repr.as_str().into())),
            "Array" => Ok(Object::Array(node.data.iter().map(|&item| part(item)).collect())),
            "Map" | "StrMap" if node.keys.len() == node.data.len() => {
                // TVM's order is that of a hash table.
                let entries: BTreeMap<&str, NodeNumber> =
                    node.keys.iter().map(String::as_str).zip(node.data.iter().copied()).collect();
                Ok(Object::Map(entries.into_iter().map(|(key, value)| (key.into(), part(value))).collect()))
            }
            // TVM's intrinsics are operators too.
            "Op" if node.repr.starts_with("tir.") || self.ops.find(&node.repr).is_some() => {
                Ok(Object::Op(node.repr.as_str().into()))
            }
            "Op" => Err(errors::metadata(format!("there is no operator `{}`", node.repr), node.span)),
            object::CONSTANT => self.meta_const(node.number, node.span).map(Object::Const),
            key if is_mentioned_symbol(section, key, node.number) => {
                let id = self.meta_symbol(node.number, node.span)?;
                Ok(Object::Symbol { id, type_key: if key == "tir.Var" { "tir.Var" } else { "tir.SizeVar" } })
            }
            key => {
                let unknown = || errors::metadata(format!("objects of type `{key}` are not known"), node.span);
                let fields = self.object_fields(key).ok_or_else(unknown)?;
                let value = |name: &str, kind: Part| {
                    let object = match kind {
                        Part::Span => return Ok(FieldValue::Text("0".into())),
                        Part::Text => None,
                        Part::Object => Some(section.reference(node, name)?),
                        Part::Str => string_node(section, node, name)?,
                    };
                    Ok(match object {
                        Some((number, _)) => FieldValue::Object(part(number)),
                        None => FieldValue::Text(section.required(node, name)?.text.into()),
                    })
                };
                if let Some(record) = Record::find(key) {
                    let fields = fields.iter().map(|&(name, kind)| value(name, kind));
                    return Ok(Object::Record { record, fields: fields.collect::<Read<_>>()? });
                }
                let type_key = self.attrs_type(key).ok_or_else(unknown)?.type_key;
                let mut written = Vec::new();
                for &(name, kind) in fields.iter() {
                    // Text of older versions lacks some fields.
                    if section.field(node, name)?.is_some() {
                        written.push((name, value(name, kind)?));
                    }
                }
                Ok(Object::Attrs { type_key, fields: written.into() })
            }
        }
    }

    /// An attribute object, field by field; one that is missing has its default, as text of older versions needs.
    fn read_attrs(&mut self, op: OpId, schema: &'static AttrSchema, number: NodeNumber, at: Span) -> Read<AttrsId> {
        let section = self.meta.section();
        let node = expect(section.node(number, at)?, schema.type_key, at)?;
        let mut values = Vec::new();
        for field in schema.fields {
            let section = self.meta.section();
            let (text, place) = match (section.field(&node, field.name)?, field.default) {
                (Some(found), _) => (found.text, found.span),
                (None, Some(default)) => {
                    values.push(default());
                    continue;
                }
                (None, None) => return Err(section.required(&node, field.name).err().expect("it is missing")),
            };
            let raw = self.attr_field(&node, field.kind, field.name, &text, place)?;
            values.push(super::attrs::checked((self.ops.name(op), schema), field, &raw, &text, place)?);
        }
        Ok(self.module.attrs.push(Attrs { values: values.into(), spans: Box::default() }))
    }

    /// The value of a field: in place for machine values, else the number of a node.
    fn attr_field(&mut self, node: &Node, kind: Kind, name: &str, text: &str, at: Span) -> Read<AttrValue> {
        let unsound = || errors::metadata(format!("expected {}, found `{text}`", kind.words()), at);
        match kind {
            Kind::Int | Kind::Bool => text.parse().map(AttrValue::int).map_err(|_| unsound()),
            Kind::Float => text.parse().map(AttrValue::float).map_err(|_| unsound()),
            Kind::StdStr | Kind::DType => Ok(AttrValue::str(text)),
            Kind::Str => string(self.meta.section(), node, name).map(|text| AttrValue::str(&text)),
            _ => {
                let (number, at) = self.meta.section().reference(node, name)?;
                self.meta_node_value(number, at, 0)
            }
        }
    }

    /// Reads the braces after a parameter: its device; anything else has no meaning, as in TVM.
    pub(super) fn param_attrs(&mut self, var: VarId, attrs: ast::List<ast::Attr>) {
        for attr in self.ast.items(attrs).iter().filter(|attr| self.ast.text(attr.key) == "virtual_device") {
            if let Ok(AttrValue::Object(device)) = self.raw_value(attr.value, 0, false) {
                self.module.var_devices.insert(var, device);
            }
        }
    }

    /// Reports the number of other dangling references.
    pub(super) fn count_dangling(&mut self) {
        let n_more = self.meta.n_dangling.saturating_sub(1);
        let first = self.diagnostics.iter_mut().find(|report| report.code == relayc_base::diag::codes::E0207);
        if let Some(first) = first.filter(|_| n_more > 0) {
            first.notes.push(format!("beside it: {}", relayc_base::text::count(n_more, "more such reference")));
        }
    }
}

/// The form of an attribute as a field of an object.
fn attr_part(kind: Kind) -> Part {
    match kind {
        Kind::Int | Kind::Float | Kind::Bool | Kind::StdStr | Kind::DType => Part::Text,
        Kind::Str => Part::Str,
        _ => Part::Object,
    }
}

fn expect<'a>(node: Node<'a>, type_key: &str, at: Span) -> Read<Node<'a>> {
    if node.type_key == type_key {
        return Ok(node);
    }
    Err(errors::metadata(format!("node {} is expected to be `{type_key}`, it is `{}`", node.number, node.type_key), at))
}

fn dtype(section: &Section, node: &Node) -> Read<DType> {
    let field = section.required(node, "dtype")?;
    let dtype = DType::parse(&field.text).filter(|dtype| dtype.code != DTypeCode::Handle);
    dtype.ok_or_else(|| errors::unknown_dtype(&field.text, field.span, true))
}

/// A string: the number of a string node, or, in older text, in place.
fn string(section: &Section, node: &Node, name: &str) -> Read<String> {
    match string_node(section, node, name)? {
        Some((number, at)) => Ok(section.node(number, at)?.repr),
        None => Ok(section.required(node, name)?.text),
    }
}

/// The string node that a field refers to, if any. In older text, and if TVM declares a `std::string`, the field is the string
/// itself.
fn string_node(section: &Section, node: &Node, name: &str) -> Read<Option<(NodeNumber, Span)>> {
    let Some(field) = section.field(node, name)? else { return Ok(None) };
    let found = field.text.parse::<NodeNumber>().ok().and_then(|number| section.node(number, field.span).ok());
    Ok(found.filter(|found| found.type_key == "runtime.String").map(|found| (found.number, field.span)))
}

/// Whether a node is a variable that the program's own dimensions mention.
fn is_mentioned_symbol(section: &Section, type_key: &str, number: NodeNumber) -> bool {
    matches!(type_key, "tir.Var" | "tir.SizeVar") && section.entries(type_key).contains(&number)
}

type Parts<'f> = &'f dyn Fn(&Section, &Node) -> Read<Vec<(NodeNumber, Span)>>;

/// The nodes under one that are not `done`, parts before wholes.
fn parts_first<'a>(
    section: &Section<'a>,
    root: NodeNumber,
    at: Span,
    done: &dyn Fn(NodeNumber) -> bool,
    parts: Parts,
) -> Read<Vec<Node<'a>>> {
    enum Step<'a> {
        Enter(NodeNumber, Span),
        Leave(Box<Node<'a>>),
    }
    let mut order = Vec::new();
    let mut entered = FxHashSet::default();
    let mut left = FxHashSet::default();
    let mut stack = vec![Step::Enter(root, at)];
    while let Some(step) = stack.pop() {
        match step {
            Step::Leave(node) => {
                left.insert(node.number);
                order.push(*node);
            }
            Step::Enter(number, _) if number == 0 || done(number) || left.contains(&number) => {}
            Step::Enter(number, at) if !entered.insert(number) => {
                return Err(errors::metadata(format!("node {number} is a part of itself"), at));
            }
            Step::Enter(number, at) => {
                let node = section.node(number, at)?;
                let parts = parts(section, &node)?;
                stack.push(Step::Leave(Box::new(node)));
                stack.extend(parts.into_iter().rev().map(|(part, at)| Step::Enter(part, at)));
            }
        }
    }
    Ok(order)
}

/// Calls `f` with each variable in some symbols, once, and its name. What cannot be read is left to who reads it.
fn variables(section: &Section, roots: impl Iterator<Item = NodeNumber>, mut f: impl FnMut(&Node, String)) {
    let mut seen: FxHashSet<NodeNumber> = FxHashSet::default();
    for root in roots {
        let order = parts_first(section, root, section.start(), &|node| seen.contains(&node), &symbol_parts);
        for node in order.unwrap_or_default() {
            seen.insert(node.number);
            if matches!(node.type_key.as_str(), "tir.Var" | "tir.SizeVar")
                && let Ok(name) = string(section, &node, "name")
            {
                f(&node, name);
            }
        }
    }
}

/// The symbols inside a symbol.
fn symbol_parts(section: &Section, node: &Node) -> Read<Vec<(NodeNumber, Span)>> {
    match node.type_key.as_str() {
        "tir.Cast" => Ok(vec![section.reference(node, "value")?]),
        "tir.Call" => {
            let (args, at) = section.reference(node, "args")?;
            Ok(section.array(args, at)?.into_iter().map(|arg| (arg, at)).collect())
        }
        key if SymbolOp::ALL.iter().any(|op| op.type_key() == key) => {
            Ok(vec![section.reference(node, "a")?, section.reference(node, "b")?])
        }
        _ => Ok(vec![]),
    }
}
