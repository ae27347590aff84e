//! Sizes in a model: what nodes compute of the dimensions that only a run knows.

use super::{Graph, OnnxCx, ValueId};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, SymbolId, SymbolKind, SymbolOp};

/// The sizes of a model that have nodes, each a vector of one int64.
#[derive(Default)]
pub struct Sizes {
    /// The inputs of the model, whose dimensions give sizes their values.
    inputs: Vec<ValueId>,
    known: Vec<(Dim, ValueId)>,
}

impl Sizes {
    pub fn new(inputs: &[ValueId]) -> Sizes {
        Sizes { inputs: inputs.to_vec(), known: vec![] }
    }

    /// How many sizes have nodes.
    pub fn n_known(&self) -> usize {
        self.known.len()
    }

    /// Forgets the sizes whose nodes are inside of a block.
    pub fn forget_from(&mut self, n_known: usize) {
        self.known.truncate(n_known);
    }

    fn known(&self, dim: Dim) -> Option<ValueId> {
        self.known.iter().find(|(known, _)| known.same(dim)).map(|(_, value)| *value)
    }

    /// The input and the axis that have this size.
    fn source(&self, graph: &Graph, dim: Dim) -> Option<(ValueId, usize)> {
        let axis = |&input: &ValueId| {
            let (dims, _) = graph.values[input].ty.as_ref()?;
            Some((input, dims.iter().position(|own| own.same(dim))?))
        };
        self.inputs.iter().find_map(axis)
    }
}

impl OnnxCx<'_> {
    /// One dimension of a value, a vector of one int64.
    pub(crate) fn length(&mut self, value: ValueId, axis: usize) -> ValueId {
        let dims = self.graph.values[value].ty.as_ref().map(|(dims, _)| dims);
        if let Some(number) = dims.and_then(|dims| dims[axis].value()) {
            return self.ints("length", &[number]);
        }
        let at = i64::try_from(axis).unwrap_or(i64::MAX);
        let shape = self.node("Shape", &[value]).one();
        let (start, end) = (self.ints("axis", &[at]), self.ints("end", &[at.saturating_add(1)]));
        self.node("Slice", &[shape, start, end]).one()
    }

    /// Dimensions, numbers and sizes, as an operand: a vector of int64. Refused if one is not known from the inputs of the model.
    pub(crate) fn dims(&mut self, what: &str, dims: &[Dim]) -> Result<ValueId, String> {
        let mut parts: Vec<ValueId> = vec![];
        let mut numbers: Vec<i64> = vec![];
        for &dim in dims {
            match dim.value() {
                Some(number) => numbers.push(number),
                None => {
                    if !numbers.is_empty() {
                        parts.push(self.ints(what, &std::mem::take(&mut numbers)));
                    }
                    parts.push(self.size(dim)?);
                }
            }
        }
        if !numbers.is_empty() || parts.is_empty() {
            parts.push(self.ints(what, &numbers));
        }
        match parts[..] {
            [one] => Ok(one),
            _ => Ok(self.node("Concat", &parts).int("axis", 0).one()),
        }
    }

    /// A size, a vector of one int64. Its parts are visited on a stack of their own, since nothing bounds their depth.
    fn size(&mut self, dim: Dim) -> Result<ValueId, String> {
        let symbols = self.symbols;
        let Some(symbol) = dim.symbol() else { return Err("a dimension that is not known before running".into()) };
        let mut stack: Vec<(SymbolId, bool)> = vec![(symbol.id, false)];
        while let Some((id, parts_are_there)) = stack.pop() {
            let part = symbols.dim(id);
            if self.sizes.known(part).is_some() {
                continue;
            }
            let value = match symbols.kind(id) {
                SymbolKind::Int { value, .. } => self.ints("number", &[*value]),
                _ if let Some((input, axis)) = self.sizes.source(self.graph, part) => self.length(input, axis),
                SymbolKind::Binary { lhs, rhs, .. } if !parts_are_there => {
                    stack.extend([(id, true), (*rhs, false), (*lhs, false)]);
                    continue;
                }
                SymbolKind::Cast { value, .. } if !parts_are_there => {
                    stack.extend([(id, true), (*value, false)]);
                    continue;
                }
                SymbolKind::Binary { op, lhs, rhs, .. } => {
                    let [lhs, rhs] = [*lhs, *rhs].map(|id| self.sizes.known(symbols.dim(id)));
                    match lhs.zip(rhs) {
                        Some((lhs, rhs)) => self.computed(*op, lhs, rhs),
                        None => return Err(self.without(dim)),
                    }
                }
                SymbolKind::Cast { value, .. } => match self.sizes.known(symbols.dim(*value)) {
                    Some(value) => value,
                    None => return Err(self.without(dim)),
                },
                SymbolKind::Var { .. } | SymbolKind::Float { .. } | SymbolKind::Any | SymbolKind::Call { .. } => {
                    return Err(self.without(dim));
                }
            };
            self.sizes.known.push((part, value));
        }
        self.sizes.known(dim).ok_or_else(|| self.without(dim))
    }

    fn without(&self, dim: Dim) -> String {
        format!("the size `{}`, which no dimension of an input is; `--set` makes it a number", self.symbols.text_of(dim))
    }

    fn computed(&mut self, op: SymbolOp, lhs: ValueId, rhs: ValueId) -> ValueId {
        let both = &[lhs, rhs];
        match op {
            SymbolOp::Add => self.node("Add", both).one(),
            SymbolOp::Sub => self.node("Sub", both).one(),
            SymbolOp::Mul => self.node("Mul", both).one(),
            // ONNX's rounds to zero, and its remainder is that of rounding down.
            SymbolOp::Div => self.node("Div", both).one(),
            SymbolOp::FloorMod => self.node("Mod", both).one(),
            SymbolOp::Mod => {
                let quotient = self.node("Div", both).one();
                let whole = self.node("Mul", &[quotient, rhs]).one();
                self.node("Sub", &[lhs, whole]).one()
            }
            SymbolOp::FloorDiv => {
                let rest = self.node("Mod", both).one();
                let whole = self.node("Sub", &[lhs, rest]).one();
                self.node("Div", &[whole, rhs]).one()
            }
            SymbolOp::Min => self.node("Min", both).one(),
            SymbolOp::Max => self.node("Max", both).one(),
        }
    }

    /// The first operand spread to dimensions that may be sizes.
    pub(crate) fn expanded_to(&mut self, value: ValueId, dims: &[Dim]) -> Result<ValueId, String> {
        let shape = self.dims("shape", dims)?;
        Ok(self.node("Expand", &[value, shape]).one())
    }

    /// In another shape, of numbers and sizes.
    pub(crate) fn reshaped_to(&mut self, value: ValueId, dims: &[Dim]) -> Result<ValueId, String> {
        let shape = self.dims("shape", dims)?;
        // Without it, a size that is 0 would mean the dimension of the data.
        Ok(self.node("Reshape", &[value, shape]).int("allowzero", 1).one())
    }

    /// The element of a vector of one int64, as a scalar of a dtype.
    pub(crate) fn as_scalar(&mut self, value: ValueId, dtype: DType) -> Result<ValueId, String> {
        let axes = self.constant("axes", Tensor::from_vec(&[1], vec![0i64]));
        let scalar = self.node("Squeeze", &[value, axes]).one();
        self.cast(scalar, DType::I64, dtype)
    }
}
