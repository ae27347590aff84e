//! The hash-consing arena of types.

use super::{DType, Dim, Symbols};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashSet};

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

/// Holds every type of a module once.
#[derive(Clone, Debug)]
pub struct Types {
    set: IndexSet<TyData, FxBuildHasher>,
    has_hole: Vec<bool>,
    pub symbols: Symbols,
    /// Holes that stand in annotations; a solver knows them from the start.
    n_written_holes: u32,
}

impl Types {
    pub fn new() -> Types {
        let mut types = Types { set: IndexSet::default(), has_hole: vec![], symbols: Symbols::default(), n_written_holes: 0 };
        types.intern(TyData::Error);
        types.intern(TyData::Tuple(Box::new([])));
        types
    }

    /// An empty arena with these symbols.
    pub fn with_symbols(symbols: Symbols) -> Types {
        Types { symbols, ..Types::new() }
    }

    pub fn intern(&mut self, data: TyData) -> Ty {
        let has_hole = match &data {
            TyData::Error | TyData::Tensor { .. } | TyData::Param { .. } => false,
            TyData::Hole(_) => true,
            TyData::Tuple(fields) => self.any_hole(fields),
            TyData::Fn { params, ret, .. } => self.any_hole(params) || self.has_hole(*ret),
            TyData::Ref(of) => self.has_hole(*of),
            TyData::Adt { args, .. } => self.any_hole(args),
        };
        let (index, new) = self.set.insert_full(data);
        if new {
            self.has_hole.push(has_hole);
        }
        Ty(u32::try_from(index).expect("fewer than 2^32 types"))
    }

    fn any_hole(&self, types: &[Ty]) -> bool {
        types.iter().any(|&ty| self.has_hole(ty))
    }

    /// Whether the type contains a hole, bound or not.
    pub fn has_hole(&self, ty: Ty) -> bool {
        self.has_hole[ty.index()]
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
        let (mut n_seen, mut stack) = (0, vec![(ty, 0)]);
        while let Some((ty, depth)) = stack.pop() {
            n_seen += 1;
            if n_seen + stack.len() > 2 * MAX_LEAVES || depth > MAX_DEPTH {
                return false;
            }
            stack.extend(self.as_tuple(ty).unwrap_or_default().iter().map(|&field| (field, depth + 1)));
        }
        true
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
    pub(crate) fn with_children(&mut self, ty: Ty, children: &[Ty]) -> Ty {
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

    /// Rebuilds a type bottom-up: `leaf` returns the replacement of a type, or `None` to descend.
    pub fn rewrite(&mut self, root: Ty, mut leaf: impl FnMut(&mut Types, Ty) -> Option<Ty>) -> Ty {
        let mut done: rustc_hash::FxHashMap<Ty, Ty> = Default::default();
        let mut stack = vec![(root, false)];
        let mut children = Vec::new();
        while let Some((ty, visited)) = stack.pop() {
            if done.contains_key(&ty) {
                continue;
            }
            if !visited {
                if let Some(new) = leaf(self, ty) {
                    done.insert(ty, new);
                    continue;
                }
                stack.push((ty, true));
            }
            children.clear();
            self.children(ty, &mut children);
            if visited {
                let new: Vec<Ty> = children.iter().map(|child| done[child]).collect();
                let new = self.with_children(ty, &new);
                done.insert(ty, new);
            } else {
                stack.extend(children.iter().map(|&child| (child, false)));
            }
        }
        done[&root]
    }
}

impl Default for Types {
    fn default() -> Self {
        Types::new()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HoleId(pub u32);
