//! Dimensions, and the only code that multiplies them.

use relayc_base::index_type;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The largest number of elements of one tensor (reliability 2).
pub const MAX_ELEMENTS: u64 = 1 << 40;

/// The largest rank of one tensor (reliability 2).
pub const MAX_RANK: usize = 32;

index_type! {
    /// A node of the symbol table.
    pub struct SymbolId;
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Symbol {
    pub id: SymbolId,
    /// The first node that says the same.
    pub class: SymbolId,
    /// How it is mentioned in text, where it is a variable.
    pub(crate) var: Option<VarRef>,
    /// Whether it contains a `?`.
    pub(crate) open: bool,
    /// Whether it is computed from named sizes and numbers alone.
    pub(crate) named: bool,
}

/// A variable as text mentions it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VarRef {
    /// Its key's entry in the metadata section it was read from.
    Entry {
        /// `tir.SizeVar`: not negative.
        is_size: bool,
        index: u32,
    },
    /// A size by its name.
    Named(SizeName),
}

impl VarRef {
    pub(crate) fn is_size(self) -> bool {
        matches!(self, VarRef::Entry { is_size: true, .. } | VarRef::Named(_))
    }
}

impl std::fmt::Display for VarRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            VarRef::Entry { is_size: true, index } => write!(f, "meta[tir.SizeVar][{index}]"),
            VarRef::Entry { is_size: false, index } => write!(f, "meta[tir.Var][{index}]"),
            VarRef::Named(name) => f.write_str(name.as_str()),
        }
    }
}

/// The name of a size. Each name is kept once for as long as the process runs, so that a dimension is a small value that can be
/// copied; the names are those of texts and models that were read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SizeName(&'static str);

impl SizeName {
    pub fn new(name: &str) -> SizeName {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match names.get(name) {
            Some(known) => SizeName(known),
            None => {
                let kept: &'static str = Box::leak(name.into());
                names.insert(kept);
                SizeName(kept)
            }
        }
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// One dimension of a tensor type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// A number; `wide` if its literal was an int64 (`3i64`), which only printing shows, or if no int32 holds it ([`Dim::number`]).
    Known { value: i64, wide: bool },
    /// `?`: a dynamic dimension, known at run time.
    Any,
    /// An expression over variables whose values are known at run time.
    Symbol(Symbol),
}

impl Dim {
    pub const fn known(value: i64) -> Dim {
        Dim::number(value, false)
    }

    /// A number, wide if that is asked for or no int32 holds it: text reads it so.
    pub const fn number(value: i64, wide: bool) -> Dim {
        Dim::Known { value, wide: wide || !matches!(value, -0x8000_0000..=0x7fff_ffff) }
    }

    pub fn value(self) -> Option<i64> {
        match self {
            Dim::Known { value, .. } => Some(value),
            Dim::Any | Dim::Symbol(_) => None,
        }
    }

    pub fn symbol(self) -> Option<Symbol> {
        match self {
            Dim::Symbol(symbol) => Some(symbol),
            Dim::Known { .. } | Dim::Any => None,
        }
    }

    /// Whether it is `?` or computed from one.
    pub fn is_open(self) -> bool {
        match self {
            Dim::Any => true,
            Dim::Symbol(symbol) => symbol.open,
            Dim::Known { .. } => false,
        }
    }

    /// Whether it is a named size, or computed from such alone: an extension over TVM, whose rules it need not follow.
    pub fn is_named(self) -> bool {
        matches!(self, Dim::Symbol(Symbol { named: true, .. }))
    }

    /// Whether its size is known, as a number or by names.
    pub fn is_sized(self) -> bool {
        self.value().is_some() || self.is_named()
    }

    /// Whether it is a variable, not computed.
    pub fn is_var(self) -> bool {
        matches!(self, Dim::Symbol(Symbol { var: Some(_), .. }))
    }

    /// Whether the two can be equal at run time. Two variables are different dimensions, as in TVM (`type_solver.cc`); an
    /// expression over variables may have any value.
    pub fn compatible(self, other: Dim) -> bool {
        match (self, other) {
            (Dim::Known { value: a, .. }, Dim::Known { value: b, .. }) => a == b,
            (Dim::Symbol(a), Dim::Symbol(b)) => a.class == b.class || a.var.is_none() || b.var.is_none(),
            _ => true,
        }
    }

    /// Whether the two are certainly equal.
    pub fn same(self, other: Dim) -> bool {
        match (self, other) {
            (Dim::Known { value: a, .. }, Dim::Known { value: b, .. }) => a == b,
            (Dim::Symbol(a), Dim::Symbol(b)) => a.class == b.class,
            _ => false,
        }
    }

    /// Applies `f` to the numbers; [`super::Symbols::arith`] also handles symbols. `?` if one is not known or the result
    /// overflows. Wide if one of them is, as TVM's integer arithmetic promotes.
    pub fn combine(self, other: Dim, f: impl FnOnce(i64, i64) -> Option<i64>) -> Dim {
        match (self.value(), other.value()) {
            (Some(a), Some(b)) => f(a, b).map_or(Dim::Any, |value| Dim::number(value, self.is_wide() || other.is_wide())),
            _ => Dim::Any,
        }
    }

    /// Applies `f` to the number and keeps the width; `?` if it is not known or the result overflows.
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

/// Whether a tensor of this shape can exist, whatever the memory. Positions are computed from the other dimensions even if one is
/// 0.
pub fn can_be_held(shape: &[i64]) -> bool {
    let others: Vec<i64> = shape.iter().copied().filter(|&dim| dim != 0).collect();
    checked_elements(&others).is_some()
}

/// The size of a tensor in bytes; `None` where [`checked_elements`] is.
pub fn checked_bytes(shape: &[i64], dtype: super::DType) -> Option<u64> {
    checked_elements(shape)?.checked_mul(dtype.bytes())
}

/// The numbers, if all are known.
pub fn dims_of(shape: &[Dim]) -> Option<Vec<i64>> {
    shape.iter().map(|dim| dim.value()).collect()
}

/// The shape as in Relay text: `(1, 3, 224, 224)`, `(5)`.
pub fn shape_text(shape: &[Dim]) -> String {
    let dims: Vec<String> = shape.iter().map(Dim::to_string).collect();
    format!("({})", dims.join(", "))
}
