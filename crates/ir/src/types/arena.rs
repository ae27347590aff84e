//! The hash-consing arena of types.

use super::{DType, Dim, Symbols};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// The largest number of tensors in a value that is taken apart. Types such as a tuple of a tuple of … can have exponentially
/// many.
pub const MAX_LEAVES: usize = 65_536;

/// The deepest nesting of such a value, so that code may recurse over it.
pub const MAX_DEPTH: usize = 64;

/// A type, by its number in a [`Types`] arena.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ty(u32);

impl Ty {
    /// The type of a construct whose error has been reported: it unifies with everything and suppresses further errors.
    pub const ERROR: Ty = Ty(0);
    /// `()`.
    pub const UNIT: Ty = Ty(1);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The structure of a type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TyData {
    Error,
    Tensor {
        shape: Box<[Dim]>,
        dtype: DType,
    },
    Tuple(Box<[Ty]>),
    /// `fn [A, …](params) -> ret`; the type parameters are [`TyData::Param`] types.
    Fn {
        type_params: Box<[Ty]>,
        params: Box<[Ty]>,
        ret: Ty,
    },
    Ref(Ty),
    /// A type parameter; `id` distinguishes parameters of the same name.
    Param {
        id: u32,
        name: Box<str>,
    },
    /// A data type with its arguments.
    Adt {
        name: Box<str>,
        args: Box<[Ty]>,
    },
    Hole(HoleId),
}

/// What is known of a type without a walk through it.
#[derive(Clone, Copy, Debug)]
struct Facts {
    has_hole: bool,
    has_error: bool,
    has_param: bool,
    is_tuple_of_tensors: bool,
}

/// Holds every type of a module once.
#[derive(Clone, Debug)]
pub struct Types {
    set: IndexSet<TyData, FxBuildHasher>,
    facts: Vec<Facts>,
    pub symbols: Symbols,
    /// Holes that stand in annotations; a solver knows them from the start.
    n_written_holes: u32,
}

impl Types {
    pub fn new() -> Types {
        let mut types = Types { set: IndexSet::default(), facts: vec![], symbols: Symbols::default(), n_written_holes: 0 };
        types.intern(TyData::Error);
        types.intern(TyData::Tuple(Box::new([])));
        types
    }

    /// An empty arena with these symbols.
    pub fn with_symbols(symbols: Symbols) -> Types {
        Types { symbols, ..Types::new() }
    }

    pub fn intern(&mut self, data: TyData) -> Ty {
        let (index, new) = self.set.insert_full(data);
        let ty = Ty(u32::try_from(index).expect("fewer than 2^32 types"));
        if new {
            let (data, mut children) = (self.data(ty), Vec::new());
            self.children(ty, &mut children);
            let facts = Facts {
                has_hole: matches!(data, TyData::Hole(_)) || children.iter().any(|&child| self.has_hole(child)),
                has_error: matches!(data, TyData::Error) || children.iter().any(|&child| self.has_error(child)),
                has_param: matches!(data, TyData::Param { .. }) || children.iter().any(|&child| self.has_param(child)),
                is_tuple_of_tensors: matches!(data, TyData::Tuple(_))
                    && children.iter().all(|&child| self.as_tensor(child).is_some()),
            };
            self.facts.push(facts);
        }
        ty
    }

    /// How many distinct types there are.
    pub fn n_types(&self) -> usize {
        self.set.len()
    }

    /// Whether the type contains a hole, bound or not.
    pub fn has_hole(&self, ty: Ty) -> bool {
        self.facts[ty.index()].has_hole
    }

    /// Whether a part of the type is not known because of an error.
    pub fn has_error(&self, ty: Ty) -> bool {
        self.facts[ty.index()].has_error
    }

    /// Whether the type contains a type parameter, be it one of a function type inside.
    pub fn has_param(&self, ty: Ty) -> bool {
        self.facts[ty.index()].has_param
    }

    pub fn is_tuple_of_tensors(&self, ty: Ty) -> bool {
        self.facts[ty.index()].is_tuple_of_tensors
    }

    pub fn data(&self, ty: Ty) -> &TyData {
        &self.set[ty.index()]
    }

    pub fn tensor(&mut self, shape: &[Dim], dtype: DType) -> Ty {
        self.intern(TyData::Tensor { shape: shape.into(), dtype })
    }

    pub fn tensor_of(&mut self, shape: &[i64], dtype: DType) -> Ty {
        let shape: Box<[Dim]> = shape.iter().map(|&dim| Dim::known(dim)).collect();
        self.intern(TyData::Tensor { shape, dtype })
    }

    pub fn scalar(&mut self, dtype: DType) -> Ty {
        self.tensor(&[], dtype)
    }

    pub fn tuple(&mut self, fields: &[Ty]) -> Ty {
        self.intern(TyData::Tuple(fields.into()))
    }

    pub fn func(&mut self, params: &[Ty], ret: Ty) -> Ty {
        self.intern(TyData::Fn { type_params: Box::new([]), params: params.into(), ret })
    }

    /// A part of an annotation that inference fills in: `_`, `meta[IncompleteType][0]`.
    pub fn written_hole(&mut self) -> Ty {
        self.n_written_holes += 1;
        self.hole(HoleId(self.n_written_holes - 1))
    }

    pub fn n_written_holes(&self) -> u32 {
        self.n_written_holes
    }

    pub(crate) fn hole(&mut self, id: HoleId) -> Ty {
        self.intern(TyData::Hole(id))
    }

    /// Shape and dtype, if it is a tensor type.
    pub fn as_tensor(&self, ty: Ty) -> Option<(&[Dim], DType)> {
        match self.data(ty) {
            TyData::Tensor { shape, dtype } => Some((shape, *dtype)),
            _ => None,
        }
    }

    /// Whether the type is within [`MAX_DEPTH`] and [`MAX_LEAVES`], so that its values may be taken apart.
    pub fn is_shallow(&self, ty: Ty) -> bool {
        self.shallow_parts(ty).is_some()
    }

    /// How many parts a type has that is shallow, each counted as often as it occurs.
    pub fn shallow_parts(&self, ty: Ty) -> Option<usize> {
        let (mut n_seen, mut stack) = (0, vec![(ty, 0)]);
        while let Some((ty, depth)) = stack.pop() {
            n_seen += 1;
            if n_seen + stack.len() > 2 * MAX_LEAVES || depth > MAX_DEPTH {
                return None;
            }
            stack.extend(self.as_tuple(ty).unwrap_or_default().iter().map(|&field| (field, depth + 1)));
        }
        Some(n_seen)
    }

    /// Whether a type has a dynamic dimension.
    pub fn has_open(&self, ty: Ty) -> bool {
        let open = |ty: Ty| self.as_tensor(ty).map(|(shape, _)| shape.iter().any(|dim| dim.value().is_none()));
        if let Some(open) = open(ty) {
            return open;
        }
        let (mut pending, mut seen) = (vec![ty], FxHashSet::default());
        while let Some(ty) = pending.pop() {
            match open(ty) {
                _ if !seen.insert(ty) => {}
                Some(true) => return true,
                Some(false) => {}
                None => self.children(ty, &mut pending),
            }
        }
        false
    }

    /// As [`super::shape_text`], with the text of every size.
    pub fn shape_text(&self, shape: &[Dim]) -> String {
        let dims: Vec<String> = shape.iter().map(|&dim| self.symbols.text_of(dim)).collect();
        format!("({})", dims.join(", "))
    }

    pub fn as_tuple(&self, ty: Ty) -> Option<&[Ty]> {
        match self.data(ty) {
            TyData::Tuple(fields) => Some(fields),
            _ => None,
        }
    }

    /// The types directly inside, in order.
    pub fn children(&self, ty: Ty, out: &mut Vec<Ty>) {
        match self.data(ty) {
            TyData::Error | TyData::Tensor { .. } | TyData::Param { .. } | TyData::Hole(_) => {}
            TyData::Tuple(types) | TyData::Adt { args: types, .. } => out.extend_from_slice(types),
            TyData::Fn { params, ret, .. } => {
                out.extend_from_slice(params);
                out.push(*ret);
            }
            TyData::Ref(of) => out.push(*of),
        }
    }

    /// The same type with other direct children, in the order of [`Types::children`].
    pub fn with_children(&mut self, ty: Ty, children: &[Ty]) -> Ty {
        let data = match self.data(ty) {
            TyData::Error | TyData::Tensor { .. } | TyData::Param { .. } | TyData::Hole(_) => return ty,
            TyData::Tuple(_) => TyData::Tuple(children.into()),
            TyData::Adt { name, .. } => TyData::Adt { name: name.clone(), args: children.into() },
            TyData::Fn { type_params, .. } => {
                let (ret, params) = children.split_last().expect("a function type has a result");
                TyData::Fn { type_params: type_params.clone(), params: params.into(), ret: *ret }
            }
            TyData::Ref(_) => TyData::Ref(children[0]),
        };
        self.intern(data)
    }

    /// The parts of a type, each once, those inside first and itself last; without the parts that are known and what is inside of them.
    pub fn parts(&self, root: Ty, is_known: impl Fn(Ty) -> bool) -> Vec<Ty> {
        let (mut parts, mut seen) = (Vec::new(), FxHashSet::default());
        let mut stack = vec![(root, false)];
        let mut children = Vec::new();
        while let Some((ty, visited)) = stack.pop() {
            if visited {
                parts.push(ty);
            } else if !is_known(ty) && seen.insert(ty) {
                stack.push((ty, true));
                children.clear();
                self.children(ty, &mut children);
                stack.extend(children.iter().map(|&child| (child, false)));
            }
        }
        parts
    }

    /// Rebuilds a type bottom-up: `f` gets a part and what its children became, and returns what it becomes; `None` puts the new children
    /// into it. `done` says what parts became, so that types that share parts cost each part once.
    pub fn map(&mut self, root: Ty, done: &mut FxHashMap<Ty, Ty>, mut f: impl FnMut(&mut Types, Ty, &[Ty]) -> Option<Ty>) -> Ty {
        let mut children = Vec::new();
        for ty in self.parts(root, |ty| done.contains_key(&ty)) {
            children.clear();
            self.children(ty, &mut children);
            children.iter_mut().for_each(|child| *child = done[&*child]);
            let new = f(self, ty, &children).unwrap_or_else(|| self.with_children(ty, &children));
            done.insert(ty, new);
        }
        done[&root]
    }

    /// Rebuilds a type with other leaves: `leaf` returns the replacement of a part without children, or `None` to keep it.
    pub fn rewrite(&mut self, root: Ty, mut leaf: impl FnMut(&mut Types, Ty) -> Option<Ty>) -> Ty {
        self.map(root, &mut FxHashMap::default(), |types, ty, _| leaf(types, ty))
    }
}

impl Default for Types {
    fn default() -> Self {
        Types::new()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HoleId(pub u32);
