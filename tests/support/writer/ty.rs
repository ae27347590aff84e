//! Random types, their spelling, and the choice of wanted types.

use super::{Purpose, Writer};

/// A dimension.
#[derive(Clone, PartialEq, Debug)]
pub enum Dim {
    Known(i64),
    /// `3i64`.
    Wide(i64),
    Any,
    /// A meta reference.
    Symbol(String),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Ty {
    Tensor(Vec<Dim>, &'static str),
    Tuple(Vec<Ty>),
    Fn(Vec<Ty>, Box<Ty>),
    Ref(Box<Ty>),
    Adt(String, Vec<Ty>),
    Param(String),
    /// A function with type parameters; bound by `let` and called, never wanted.
    Generic(Vec<String>, Vec<Ty>, Box<Ty>),
}

/// A data type.
#[derive(Clone)]
pub struct Adt {
    pub name: String,
    pub params: Vec<String>,
    /// Names and inputs; the first needs no value of the type itself.
    pub ctors: Vec<(String, Vec<Ty>)>,
}

/// The element types of tensors that are computed with.
pub const DTYPES: [&str; 13] = [
    "float32", "int32", "bool", "int64", "float16", "float64", "int8", "uint8", "int16", "uint16", "uint32", "uint64", "bfloat16",
];

/// Types of elements that are only passed on.
const RARE: [&str; 8] = ["float32x4", "handle", "e4m3_float8", "e5m2_float8", "int4", "uint1x8", "bfloat16x2", "int32x2"];

/// The type of what `@main` takes and gives in modules that are run.
pub fn of_run() -> Ty {
    Ty::tensor(&[2, 3], "float32")
}

impl Ty {
    pub const UNIT: Ty = Ty::Tuple(Vec::new());

    pub fn tensor(shape: &[i64], dtype: &'static str) -> Ty {
        Ty::Tensor(shape.iter().map(|&dim| Dim::Known(dim)).collect(), dtype)
    }

    pub fn bool() -> Ty {
        Ty::tensor(&[], "bool")
    }

    /// Shape and element type of a tensor of which both are known.
    pub fn known(&self) -> Option<(Vec<i64>, &'static str)> {
        let Ty::Tensor(dims, dtype) = self else { return None };
        let shape: Option<Vec<i64>> = dims.iter().map(|dim| if let Dim::Known(n) = dim { Some(*n) } else { None }).collect();
        Some((shape.filter(|_| DTYPES.contains(dtype))?, dtype))
    }

    /// Whether a value can be made of nothing.
    pub fn is_closed(&self) -> bool {
        match self {
            Ty::Tensor(..) => self.known().is_some(),
            Ty::Tuple(types) | Ty::Adt(_, types) => types.iter().all(Ty::is_closed),
            Ty::Fn(_, ret) | Ty::Ref(ret) => ret.is_closed(),
            Ty::Param(_) | Ty::Generic(..) => false,
        }
    }

    /// Whether a data type with arguments is inside.
    pub fn is_generic(&self) -> bool {
        match self {
            Ty::Tuple(types) => types.iter().any(Ty::is_generic),
            Ty::Fn(params, ret) => params.iter().any(Ty::is_generic) || ret.is_generic(),
            Ty::Ref(of) => of.is_generic(),
            Ty::Adt(_, args) => !args.is_empty(),
            Ty::Tensor(..) | Ty::Param(_) | Ty::Generic(..) => false,
        }
    }

    /// The type with other types for its parameters.
    pub fn with(&self, args: &[(String, Ty)]) -> Ty {
        let all = |types: &[Ty]| types.iter().map(|ty| ty.with(args)).collect();
        match self {
            Ty::Tensor(..) => self.clone(),
            Ty::Tuple(fields) => Ty::Tuple(all(fields)),
            Ty::Fn(params, ret) => Ty::Fn(all(params), Box::new(ret.with(args))),
            Ty::Ref(of) => Ty::Ref(Box::new(of.with(args))),
            Ty::Adt(name, inner) => Ty::Adt(name.clone(), all(inner)),
            Ty::Param(name) => args.iter().find(|(param, _)| param == name).map_or(self.clone(), |(_, ty)| ty.clone()),
            Ty::Generic(params, args, ret) => Ty::Generic(params.clone(), args.clone(), ret.clone()),
        }
    }

    /// What the parameters must be for this type to become `other`; false where it cannot.
    pub fn matches(&self, other: &Ty, params: &[String], found: &mut Vec<(String, Ty)>) -> bool {
        let mut all = |these: &[Ty], those: &[Ty]| {
            these.len() == those.len() && these.iter().zip(those).all(|(this, that)| this.matches(that, params, found))
        };
        match (self, other) {
            (Ty::Param(name), _) if params.contains(name) => {
                if let Some((_, known)) = found.iter().find(|(param, _)| param == name) {
                    return known == other;
                }
                found.push((name.clone(), other.clone()));
                true
            }
            (Ty::Tuple(these), Ty::Tuple(those)) => all(these, those),
            (Ty::Fn(these, this), Ty::Fn(those, that)) => all(these, those) && this.matches(that, params, found),
            (Ty::Ref(this), Ty::Ref(that)) => this.matches(that, params, found),
            (Ty::Adt(this, these), Ty::Adt(that, those)) => this == that && all(these, those),
            _ => self == other,
        }
    }
}

impl Writer<'_> {
    /// The text of a type.
    pub fn ty(&mut self, ty: &Ty) -> String {
        let all = |writer: &mut Self, types: &[Ty]| {
            let texts = types.iter().map(|ty| writer.ty(ty)).collect();
            writer.list(texts)
        };
        match ty {
            Ty::Tensor(dims, dtype) if dims.is_empty() && !self.once_in(8) => (*dtype).to_owned(),
            Ty::Tensor(dims, dtype) => {
                let dims = dims
                    .iter()
                    .map(|dim| match dim {
                        Dim::Known(n) => n.to_string(),
                        Dim::Wide(n) => format!("{n}i64"),
                        Dim::Any => "?".to_owned(),
                        Dim::Symbol(text) => text.clone(),
                    })
                    .collect();
                format!("Tensor[({}), {dtype}]", self.list(dims))
            }
            Ty::Tuple(fields) if fields.len() == 1 => format!("({},)", self.ty(&fields[0])),
            Ty::Tuple(fields) => format!("({})", all(self, fields)),
            Ty::Fn(params, ret) => format!("fn ({}) -> {}", all(self, params), self.ty(ret)),
            Ty::Ref(of) => format!("ref({})", self.ty(of)),
            Ty::Adt(name, args) if args.is_empty() && !self.once_in(8) => name.clone(),
            Ty::Adt(name, args) => format!("{name}[{}]", all(self, args)),
            Ty::Param(name) => name.clone(),
            Ty::Generic(names, params, ret) => format!("fn [{}]({}) -> {}", names.join(", "), all(self, params), self.ty(ret)),
        }
    }

    pub fn favourite(&mut self) -> Ty {
        match self.purpose {
            Purpose::Run => of_run(),
            Purpose::Read => {
                let favourites = self.favourites.clone();
                self.pick(&favourites)
            }
        }
    }

    pub fn tensor_type(&mut self) -> Ty {
        if self.purpose == Purpose::Run && !self.once_in(3) {
            return of_run();
        }
        let dtype = if self.once_in(3) { self.pick(&DTYPES) } else { "float32" };
        let rank = self.choose(5);
        let dims: Vec<i64> = (0..rank).map(|_| self.pick(&[2, 3, 1, 4, 2, 3, 5, 8, 0, 6])).collect();
        Ty::tensor(&dims, dtype)
    }

    /// A type that values can be written for anywhere.
    pub fn closed_type(&mut self, depth: usize) -> Ty {
        let n = if depth == 0 { 3 } else { 10 };
        match self.choose(n) {
            0..=2 => self.favourite(),
            3 => self.tensor_type(),
            4 | 5 => Ty::Tuple((0..self.choose(4)).map(|_| self.closed_type(depth - 1)).collect()),
            6 => {
                Ty::Fn((0..self.choose(3)).map(|_| self.closed_type(depth - 1)).collect(), Box::new(self.closed_type(depth - 1)))
            }
            7 => Ty::Ref(Box::new(self.closed_type(depth - 1))),
            _ if self.adts.is_empty() => self.tensor_type(),
            _ => {
                let at = self.choose(self.adts.len());
                let Adt { name, params, .. } = self.adts[at].clone();
                Ty::Adt(name, params.iter().map(|_| self.closed_type(depth - 1)).collect())
            }
        }
    }

    /// A type that a parameter of a function may have; the caller may be unable to make a value of it.
    pub fn param_type(&mut self, type_params: &[String]) -> Ty {
        match self.choose(10) {
            0..=3 => self.favourite(),
            4 | 5 => self.closed_type(2),
            6 => {
                let mut ty = self.favourite();
                if let Ty::Tensor(dims, _) = &mut ty
                    && !dims.is_empty()
                {
                    let at = self.choose(dims.len());
                    dims[at] = match self.choose(4) {
                        0 => Dim::Any,
                        1 if self.wide => Dim::Wide(3),
                        _ => Dim::Symbol(self.symbol()),
                    };
                }
                ty
            }
            7 => {
                let dtype = self.pick(&RARE);
                Ty::tensor(&[2][..self.choose(2)], dtype)
            }
            8 if !type_params.is_empty() => {
                let param = Ty::Param(self.pick(type_params));
                Ty::Fn(vec![param, self.favourite()], Box::new(Ty::Param(self.pick(type_params))))
            }
            _ if !type_params.is_empty() && self.adts.iter().any(|adt| !adt.params.is_empty()) => {
                let generic: Vec<Adt> = self.adts.iter().filter(|adt| !adt.params.is_empty()).cloned().collect();
                let Adt { name, params, .. } = self.pick(&generic);
                Ty::Adt(name, params.iter().map(|_| Ty::Param(self.pick(type_params))).collect())
            }
            _ => self.tensor_type(),
        }
    }

    fn symbol(&mut self) -> String {
        let which = self.choose(6);
        self.meta.dimension(which)
    }
}
