//! Why a function is not compiled as a whole.

/// Why a function is not compiled as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotCompiled {
    /// A dimension is not known.
    UnknownShape,
    /// A tensor that no machine can hold, nor count the places of: evaluation says so where it would be made.
    TooLarge,
    /// A value is neither a tensor nor a tuple of them.
    NoTensor,
    /// An `if`, a `match`, a call of a function, a reference.
    ControlFlow,
}

impl NotCompiled {
    /// In words, for `run -v`.
    pub fn text(self) -> &'static str {
        match self {
            NotCompiled::UnknownShape => "a dimension is not known",
            NotCompiled::TooLarge => "a tensor is too large",
            NotCompiled::NoTensor => "a value is neither a tensor nor a tuple of tensors",
            NotCompiled::ControlFlow => "it branches, calls functions, or holds references or values of data types",
        }
    }
}
