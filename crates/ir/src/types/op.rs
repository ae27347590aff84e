//! The operations of symbolic dimensions, and their results for numbers.

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    FloorDiv,
    FloorMod,
    Min,
    Max,
}

impl SymbolOp {
    pub const ALL: [SymbolOp; 9] = [
        SymbolOp::Add,
        SymbolOp::Sub,
        SymbolOp::Mul,
        SymbolOp::Div,
        SymbolOp::Mod,
        SymbolOp::FloorDiv,
        SymbolOp::FloorMod,
        SymbolOp::Min,
        SymbolOp::Max,
    ];

    /// TVM's name of the node type.
    pub fn type_key(self) -> &'static str {
        match self {
            SymbolOp::Add => "tir.Add",
            SymbolOp::Sub => "tir.Sub",
            SymbolOp::Mul => "tir.Mul",
            SymbolOp::Div => "tir.Div",
            SymbolOp::Mod => "tir.Mod",
            SymbolOp::FloorDiv => "tir.FloorDiv",
            SymbolOp::FloorMod => "tir.FloorMod",
            SymbolOp::Min => "tir.Min",
            SymbolOp::Max => "tir.Max",
        }
    }

    /// The result for two numbers; `None` where it has none or overflows.
    pub(super) fn fold(self, a: i64, b: i64) -> Option<i64> {
        let floor = |a: i64, b: i64| Some(a.checked_div(b)? - i64::from(a.checked_rem(b)? != 0 && (a < 0) != (b < 0)));
        match self {
            SymbolOp::Add => a.checked_add(b),
            SymbolOp::Sub => a.checked_sub(b),
            SymbolOp::Mul => a.checked_mul(b),
            SymbolOp::Div => a.checked_div(b),
            SymbolOp::Mod => a.checked_rem(b),
            SymbolOp::FloorDiv => floor(a, b),
            SymbolOp::FloorMod => a.checked_sub(floor(a, b)?.checked_mul(b)?),
            SymbolOp::Min => Some(a.min(b)),
            SymbolOp::Max => Some(a.max(b)),
        }
    }
}
