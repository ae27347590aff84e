//! Types and dimensions: nodes to the IR ([`TypeReader`]) and back ([`TypeWriter`]).

use super::classes::Classes;
use super::{Known, address};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use relayc_ir::types::{DType, Dim, SymbolId, SymbolKind, SymbolOp, Ty, TyData, Types, VarRef};
use rustc_hash::{FxHashMap, FxHashSet};

/// The mark of a variable that is a named size of the text, with rules of its own (`Dim::is_named`).
const NAMED: &str = "_is_named_size";

/// Reads types; each type node is read once.
#[derive(Default)]
pub(super) struct TypeReader {
    read: FxHashMap<usize, Ty>,
    symbols: FxHashMap<usize, SymbolId>,
    n_params: u32,
    n_symbols: u32,
    /// The types that have been read: they keep their addresses while they live.
    alive: Vec<Py<PyAny>>,
}

impl TypeReader {
    pub(super) fn ty(&mut self, root: &Bound<'_, PyAny>, types: &mut Types, known: &mut Known) -> PyResult<Ty> {
        let mut stack = vec![(root.clone(), false)];
        let mut open = FxHashSet::default();
        while let Some((ty, done)) = stack.pop() {
            if self.read.contains_key(&address(&ty)) {
                continue;
            }
            let children = children(&ty)?;
            if !done && children.iter().any(|child| !self.read.contains_key(&address(child))) {
                if !open.insert(address(&ty)) {
                    return Err(endless(&ty));
                }
                stack.push((ty, true));
                stack.extend(children.into_iter().map(|child| (child, false)));
                continue;
            }
            let new = self.node(&ty, types, known)?;
            self.read.insert(address(&ty), new);
            self.alive.push(ty.unbind());
        }
        self.of(root)
    }

    fn of(&self, ty: &Bound<'_, PyAny>) -> PyResult<Ty> {
        self.read.get(&address(ty)).copied().ok_or_else(|| unsteady(ty))
    }

    fn all(&self, list: &Bound<'_, PyAny>) -> PyResult<Box<[Ty]>> {
        list.try_iter()?.map(|ty| self.of(&ty?)).collect()
    }

    /// A type whose children are read.
    fn node(&mut self, ty: &Bound<'_, PyAny>, types: &mut Types, known: &mut Known) -> PyResult<Ty> {
        let py = ty.py();
        let data = match &*kind(ty)? {
            "TensorType" => {
                let shape = ty.getattr(intern!(py, "shape"))?;
                let shape = shape.try_iter()?.map(|dim| self.dim(&dim?, types, known)).collect::<PyResult<_>>()?;
                let dtype = text(ty, intern!(py, "dtype"))?;
                let dtype = DType::parse(&dtype).ok_or_else(|| PyTypeError::new_err(format!("there is no dtype `{dtype}`")))?;
                TyData::Tensor { shape, dtype }
            }
            "TupleType" => TyData::Tuple(self.all(&ty.getattr(intern!(py, "fields"))?)?),
            "FuncType" => TyData::Fn {
                type_params: self.all(&ty.getattr(intern!(py, "type_params"))?)?,
                params: self.all(&ty.getattr(intern!(py, "arg_types"))?)?,
                ret: self.of(&ty.getattr(intern!(py, "ret_type"))?)?,
            },
            "RefType" => TyData::Ref(self.of(&ty.getattr(intern!(py, "value"))?)?),
            "TypeVar" => {
                let id = self.n_params;
                self.n_params += 1;
                known.params.insert(id, ty.clone().unbind());
                TyData::Param { id, name: text(ty, intern!(py, "name_hint"))?.into() }
            }
            "GlobalTypeVar" => TyData::Adt { name: header(ty, known)?, args: Box::new([]) },
            "TypeCall" => {
                let func = ty.getattr(intern!(py, "func"))?;
                TyData::Adt { name: header(&func, known)?, args: self.all(&ty.getattr(intern!(py, "args"))?)? }
            }
            "IncompleteType" => return Ok(types.written_hole()),
            other => return Err(PyTypeError::new_err(format!("expected a type, found a `{other}`"))),
        };
        Ok(types.intern(data))
    }

    pub(super) fn dim(&mut self, dim: &Bound<'_, PyAny>, types: &mut Types, known: &mut Known) -> PyResult<Dim> {
        let py = dim.py();
        if let Ok(value) = dim.extract::<i64>() {
            return Ok(Dim::known(value));
        }
        Ok(match &*kind(dim)? {
            "IntImm" => {
                let wide = text(dim, intern!(py, "dtype"))? == "int64";
                Dim::Known { value: dim.getattr(intern!(py, "value"))?.extract()?, wide }
            }
            "tir.Any" => Dim::Any,
            _ => {
                let id = self.symbol(dim, types, known)?;
                types.symbols.dim(id)
            }
        })
    }

    fn symbol(&mut self, root: &Bound<'_, PyAny>, types: &mut Types, known: &mut Known) -> PyResult<SymbolId> {
        let mut stack = vec![(root.clone(), false)];
        let mut open = FxHashSet::default();
        while let Some((node, done)) = stack.pop() {
            if self.symbols.contains_key(&address(&node)) {
                continue;
            }
            let py = node.py();
            let parts: Vec<Bound<'_, PyAny>> = match &*kind(&node)? {
                "tir.Cast" => vec![node.getattr(intern!(py, "value"))?],
                "tir.Call" => node.getattr(intern!(py, "args"))?.try_iter()?.collect::<PyResult<_>>()?,
                key if operation(key).is_some() => vec![node.getattr(intern!(py, "a"))?, node.getattr(intern!(py, "b"))?],
                _ => vec![],
            };
            if !done && parts.iter().any(|part| !self.symbols.contains_key(&address(part))) {
                if !open.insert(address(&node)) {
                    return Err(endless(&node));
                }
                stack.push((node, true));
                stack.extend(parts.into_iter().map(|part| (part, false)));
                continue;
            }
            let parts = parts.iter().map(|part| self.symbol_of(part)).collect::<PyResult<Vec<_>>>()?;
            let id = self.symbol_node(&node, &parts, types)?;
            self.symbols.insert(address(&node), id);
            known.symbols.insert(id, node.clone().unbind());
            self.alive.push(node.unbind());
        }
        self.symbol_of(root)
    }

    fn symbol_of(&self, node: &Bound<'_, PyAny>) -> PyResult<SymbolId> {
        self.symbols.get(&address(node)).copied().ok_or_else(|| unsteady(node))
    }

    fn symbol_node(&mut self, node: &Bound<'_, PyAny>, parts: &[SymbolId], types: &mut Types) -> PyResult<SymbolId> {
        let py = node.py();
        let dtype = text(node, intern!(py, "dtype"))?;
        let dtype = DType::parse(&dtype).ok_or_else(|| PyTypeError::new_err(format!("there is no dtype `{dtype}`")))?;
        let kind = match &*kind(node)? {
            key @ ("tir.Var" | "tir.SizeVar") => {
                let name = text(node, intern!(py, "name"))?;
                if node.hasattr(intern!(py, NAMED))? {
                    return Ok(types.symbols.named(&name));
                }
                let index = self.n_symbols;
                self.n_symbols += 1;
                return Ok(types.symbols.var(&name, dtype, VarRef::Entry { is_size: key == "tir.SizeVar", index }));
            }
            "IntImm" => SymbolKind::Int { value: node.getattr(intern!(py, "value"))?.extract()?, dtype },
            "FloatImm" => SymbolKind::Float { value: node.getattr(intern!(py, "value"))?.extract()?, dtype },
            "tir.Any" => SymbolKind::Any,
            "tir.Cast" => SymbolKind::Cast { value: parts[0], dtype },
            "tir.Call" => {
                let op = text(&node.getattr(intern!(py, "op"))?, intern!(py, "name"))?;
                SymbolKind::Call { op: op.into(), args: parts.into(), dtype }
            }
            key => match operation(key) {
                Some(op) => SymbolKind::Binary { op, lhs: parts[0], rhs: parts[1], dtype },
                None => return Err(PyTypeError::new_err(format!("expected a dimension, found a `{key}`"))),
            },
        };
        Ok(types.symbols.node(kind))
    }
}

fn operation(key: &str) -> Option<SymbolOp> {
    SymbolOp::ALL.into_iter().find(|op| op.type_key() == key)
}

fn header(ty: &Bound<'_, PyAny>, known: &mut Known) -> PyResult<Box<str>> {
    let name = text(ty, intern!(ty.py(), "name_hint"))?;
    known.headers.entry(name.clone()).or_insert_with(|| ty.clone().unbind());
    Ok(name.into())
}

fn children<'py>(ty: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = ty.py();
    let mut all = vec![];
    let mut list = |name: &Bound<'py, PyString>| -> PyResult<()> {
        for item in ty.getattr(name)?.try_iter()? {
            all.push(item?);
        }
        Ok(())
    };
    match &*kind(ty)? {
        "TupleType" => list(intern!(py, "fields"))?,
        "FuncType" => {
            list(intern!(py, "type_params"))?;
            list(intern!(py, "arg_types"))?;
            all.push(ty.getattr(intern!(py, "ret_type"))?);
        }
        "TypeCall" => list(intern!(py, "args"))?,
        "RefType" => all.push(ty.getattr(intern!(py, "value"))?),
        _ => {}
    }
    Ok(all)
}

/// What kind of node an object is. Errors: TypeError for an object that is no node.
pub(super) fn kind(node: &Bound<'_, PyAny>) -> PyResult<String> {
    match node.getattr(intern!(node.py(), "_kind")) {
        Ok(kind) if kind.is_instance_of::<PyString>() => kind.extract(),
        _ => Err(PyTypeError::new_err(format!("expected a node of Relay, found {}", node.get_type().qualname()?))),
    }
}

/// An attribute of a node that is text, as strings are and NumPy's and TVM's element types. Errors: TypeError for a node, whose text
/// is that of a program.
pub(super) fn text(node: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<String> {
    let value = node.getattr(name)?;
    match value.cast::<PyString>() {
        Ok(text) => text.extract(),
        Err(_) if kind(&value).is_err() => value.str()?.extract(),
        Err(_) => Err(PyTypeError::new_err(format!(
            "`{name}` of a `{}`: expected text, found a `{}`",
            kind(node).unwrap_or_default(),
            kind(&value)?
        ))),
    }
}

/// The error for a node with a part that is new, or has another address, whenever it is asked for.
pub(super) fn unsteady(node: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "the parts of a `{}` change while it is read: give lists or tuples of nodes",
        kind(node).unwrap_or_default()
    ))
}

/// The error for a node that is a part of itself.
pub(super) fn endless(node: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!(
        "a `{}` is a part of itself: a program is a graph without cycles",
        kind(node).unwrap_or_default()
    ))
}

/// Writes types; each type is made once.
pub(super) struct TypeWriter<'a, 'py> {
    py: Python<'py>,
    classes: &'a Classes,
    types: &'a Types,
    known: &'a Known,
    written: FxHashMap<Ty, Py<PyAny>>,
    symbols: FxHashMap<SymbolId, Py<PyAny>>,
    headers: FxHashMap<String, Py<PyAny>>,
    params: FxHashMap<u32, Py<PyAny>>,
}

impl<'a, 'py> TypeWriter<'a, 'py> {
    pub(super) fn new(py: Python<'py>, classes: &'a Classes, types: &'a Types, known: &'a Known) -> Self {
        let (written, symbols, headers, params) = Default::default();
        TypeWriter { py, classes, types, known, written, symbols, headers, params }
    }

    pub(super) fn ty(&mut self, root: Ty) -> PyResult<Bound<'py, PyAny>> {
        let mut stack = vec![(root, false)];
        let mut children = vec![];
        while let Some((ty, done)) = stack.pop() {
            if self.written.contains_key(&ty) {
                continue;
            }
            children.clear();
            self.types.children(ty, &mut children);
            if !done && !children.is_empty() {
                stack.push((ty, true));
                stack.extend(children.iter().map(|&child| (child, false)));
                continue;
            }
            let node = self.node(ty)?;
            self.written.insert(ty, node.unbind());
        }
        Ok(self.written[&root].bind(self.py).clone())
    }

    fn all(&self, types: &[Ty]) -> PyResult<Bound<'py, PyList>> {
        PyList::new(self.py, types.iter().map(|ty| self.written[ty].bind(self.py)))
    }

    fn node(&mut self, ty: Ty) -> PyResult<Bound<'py, PyAny>> {
        let (py, classes) = (self.py, self.classes);
        match self.types.data(ty) {
            TyData::Tensor { shape, dtype } => {
                let shape = shape.iter().map(|&dim| self.dim(dim)).collect::<PyResult<Vec<_>>>()?;
                classes.tensor_type.bind(py).call1((shape, dtype.to_string()))
            }
            TyData::Tuple(fields) => classes.tuple_type.bind(py).call1((self.all(fields)?,)),
            TyData::Fn { type_params, params, ret } => {
                let type_params = type_params.iter().map(|&param| self.ty(param)).collect::<PyResult<Vec<_>>>()?;
                let ret = self.written[ret].clone_ref(py);
                classes.func_type.bind(py).call1((self.all(params)?, ret, type_params))
            }
            TyData::Ref(of) => classes.ref_type.bind(py).call1((self.written[of].clone_ref(py),)),
            TyData::Param { id, name } => self.param(*id, name),
            TyData::Adt { name, args } => {
                let header = self.header(name)?;
                classes.type_call.bind(py).call1((header, self.all(args)?))
            }
            TyData::Hole(_) | TyData::Error => classes.incomplete_type.bind(py).call0(),
        }
    }

    fn param(&mut self, id: u32, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if let Some(known) = self.known.params.get(&id).or(self.params.get(&id)) {
            return Ok(known.bind(py).clone());
        }
        let new = self.classes.type_var.bind(py).call1((name,))?;
        self.params.insert(id, new.clone().unbind());
        Ok(new)
    }

    /// The name of a data type as a node, one for each.
    pub(super) fn header(&mut self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if let Some(known) = self.known.headers.get(name).or(self.headers.get(name)) {
            return Ok(known.bind(py).clone());
        }
        let new = self.classes.global_type_var.bind(py).call1((name,))?;
        self.headers.insert(name.to_owned(), new.clone().unbind());
        Ok(new)
    }

    pub(super) fn dim(&mut self, dim: Dim) -> PyResult<Bound<'py, PyAny>> {
        let (py, classes) = (self.py, self.classes);
        match dim {
            Dim::Known { value, wide } => classes.int_imm.bind(py).call1((if wide { "int64" } else { "int32" }, value)),
            Dim::Any => classes.any.bind(py).call0(),
            Dim::Symbol(symbol) => self.symbol(symbol.id),
        }
    }

    fn symbol(&mut self, root: SymbolId) -> PyResult<Bound<'py, PyAny>> {
        let mut stack = vec![(root, false)];
        while let Some((id, done)) = stack.pop() {
            if self.symbols.contains_key(&id) {
                continue;
            }
            if let Some(known) = self.known.symbols.get(&id) {
                self.symbols.insert(id, known.clone_ref(self.py));
                continue;
            }
            let parts: Vec<SymbolId> = match self.types.symbols.kind(id) {
                SymbolKind::Binary { lhs, rhs, .. } => vec![*lhs, *rhs],
                SymbolKind::Cast { value, .. } => vec![*value],
                SymbolKind::Call { args, .. } => args.to_vec(),
                _ => vec![],
            };
            if !done && !parts.is_empty() {
                stack.push((id, true));
                stack.extend(parts.into_iter().map(|part| (part, false)));
                continue;
            }
            let parts: Vec<Py<PyAny>> = parts.iter().map(|part| self.symbols[part].clone_ref(self.py)).collect();
            let node = self.symbol_node(id, parts)?;
            self.symbols.insert(id, node.unbind());
        }
        Ok(self.symbols[&root].bind(self.py).clone())
    }

    fn symbol_node(&self, id: SymbolId, mut parts: Vec<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let (py, classes) = (self.py, self.classes);
        match self.types.symbols.kind(id) {
            SymbolKind::Var { name, dtype, is_size } => {
                let class = if *is_size { &classes.size_var } else { &classes.dim_var };
                let node = class.bind(py).call1((&**name, dtype.to_string()))?;
                if self.types.symbols.name_of(self.types.symbols.dim(id)).is_some() {
                    node.setattr(intern!(py, NAMED), true)?;
                }
                Ok(node)
            }
            SymbolKind::Int { value, dtype } => classes.int_imm.bind(py).call1((dtype.to_string(), *value)),
            SymbolKind::Float { value, dtype } => classes.float_imm.bind(py).call1((dtype.to_string(), *value)),
            SymbolKind::Any => classes.any.bind(py).call0(),
            SymbolKind::Binary { op, .. } => {
                let class = match op {
                    SymbolOp::Add => &classes.add,
                    SymbolOp::Sub => &classes.sub,
                    SymbolOp::Mul => &classes.mul,
                    SymbolOp::Div => &classes.div,
                    SymbolOp::Mod => &classes.mod_,
                    SymbolOp::FloorDiv => &classes.floor_div,
                    SymbolOp::FloorMod => &classes.floor_mod,
                    SymbolOp::Min => &classes.min,
                    SymbolOp::Max => &classes.max,
                };
                class.bind(py).call1(PyTuple::new(py, parts)?)
            }
            SymbolKind::Cast { dtype, .. } => classes.cast.bind(py).call1((dtype.to_string(), parts.remove(0))),
            SymbolKind::Call { .. } => classes.any.bind(py).call0(),
        }
    }
}
