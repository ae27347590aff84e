//! Dimensions and the one place that multiplies them.

use super::symbol::Symbol;

/// The most elements one tensor may have (reliability 2).
pub const MAX_ELEMENTS: u64 = 1 << 40;

/// The most dimensions one tensor may have (reliability 2).
pub const MAX_RANK: usize = 32;

/// One dimension of a tensor type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// A number; `wide` where its literal was an int64 (`3i64`), which only printing shows.
    Known { value: i64, wide: bool },
    /// `?`: known at run time.
    Any,
    /// An expression over variables that get their numbers at run time.
    Symbol(Symbol),
}

impl Dim {
    pub const fn known(value: i64) -> Dim {
        Dim::Known { value, wide: false }
    }

    /// The number, where it is one.
    pub fn value(self) -> Option<i64> {
        match self {
            Dim::Known { value, .. } => Some(value),
            Dim::Any | Dim::Symbol(_) => None,
        }
    }

    /// The symbol, where it is one.
    pub fn symbol(self) -> Option<Symbol> {
        match self {
            Dim::Symbol(symbol) => Some(symbol),
            Dim::Known { .. } | Dim::Any => None,
        }
    }

    /// Whether both can be the same at run time. Two variables are two dimensions, as in TVM (`type_solver.cc`); what is
    /// computed from them may turn out to be any number.
    pub fn compatible(self, other: Dim) -> bool {
        match (self, other) {
            (Dim::Known { value: a, .. }, Dim::Known { value: b, .. }) => a == b,
            (Dim::Symbol(a), Dim::Symbol(b)) => a.class == b.class || a.var.is_none() || b.var.is_none(),
            _ => true,
        }
    }

    /// Whether both are certainly the same.
    pub fn same(self, other: Dim) -> bool {
        match (self, other) {
            (Dim::Known { value: a, .. }, Dim::Known { value: b, .. }) => a == b,
            (Dim::Symbol(a), Dim::Symbol(b)) => a.class == b.class,
            _ => false,
        }
    }

    /// `f` of the numbers; [`super::Symbols::arith`] also knows symbols. `?` where one is not known or the result overflows. Wide where one of them is, as TVM's integer
    /// arithmetic promotes.
    pub fn combine(self, other: Dim, f: impl FnOnce(i64, i64) -> Option<i64>) -> Dim {
        match (self.value(), other.value()) {
            (Some(a), Some(b)) => f(a, b).map_or(Dim::Any, |value| Dim::Known { value, wide: self.is_wide() || other.is_wide() }),
            _ => Dim::Any,
        }
    }

    /// `f` of the number, as wide as it was; `?` where it is not known or the result overflows.
    pub fn map(self, f: impl FnOnce(i64) -> Option<i64>) -> Dim {
        self.combine(Dim::known(0), |value, _| f(value))
    }

    pub fn is_wide(self) -> bool {
        matches!(self, Dim::Known { wide: true, .. })
    }
}

impl std::fmt::Display for Dim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Dim::Known { value, wide: false } => write!(f, "{value}"),
            Dim::Known { value, wide: true } => write!(f, "{value}i64"),
            Dim::Symbol(Symbol { var: Some(var), .. }) => write!(f, "{var}"),
            Dim::Any | Dim::Symbol(_) => f.write_str("?"),
        }
    }
}

/// The product of the dimensions; `None` if one is negative or the product exceeds [`MAX_ELEMENTS`].
pub fn checked_elements(shape: &[i64]) -> Option<u64> {
    if shape.contains(&0) {
        return shape.iter().all(|&dim| dim >= 0).then_some(0);
    }
    let product = shape.iter().try_fold(1u64, |n, &dim| n.checked_mul(u64::try_from(dim).ok()?));
    product.filter(|&n| n <= MAX_ELEMENTS)
}

/// Whether there can be a tensor of this shape, whatever memory there is: positions are counted by the other dimensions even where
/// one is 0.
pub fn can_be_held(shape: &[i64]) -> bool {
    let others: Vec<i64> = shape.iter().copied().filter(|&dim| dim != 0).collect();
    checked_elements(&others).is_some()
}

/// The bytes of a tensor; `None` where [`checked_elements`] is.
pub fn checked_bytes(shape: &[i64], dtype: super::DType) -> Option<u64> {
    checked_elements(shape)?.checked_mul(dtype.bytes())
}

/// The numbers, if all are known.
pub fn dims_of(shape: &[Dim]) -> Option<Vec<i64>> {
    shape.iter().map(|dim| dim.value()).collect()
}

/// `(1, 3, 224, 224)`, `(5)`: as Relay text writes it.
pub fn shape_text(shape: &[Dim]) -> String {
    let dims: Vec<String> = shape.iter().map(Dim::to_string).collect();
    format!("({})", dims.join(", "))
}
