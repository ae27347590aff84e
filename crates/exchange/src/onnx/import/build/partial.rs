//! What is known in part: the elements of a shape are numbers and sizes, which integer arithmetic and operators that only move elements
//! carry on, also where a dimension is open.

use super::{Builder, Element, FREE, MAX_INTS, Val, evaluate};
use relayc_ir::ExprKind;
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, SymbolId, SymbolKind, SymbolOp, Symbols, Ty, checked_elements, dims_of};
use relayc_ops::eval::ArgValue;
use relayc_ops::{self as ops, OpDef};

/// Operators that move elements without reading their values.
const MOVING: [&str; 10] =
    ["strided_slice", "take", "concatenate", "reshape", "squeeze", "expand_dims", "transpose", "stack", "copy", "reverse"];

impl Builder {
    /// Records what the elements of a value are, in row-major order.
    pub(crate) fn set_elements(&mut self, val: Val, elements: Vec<Element>) {
        self.partial.insert(val.0, elements);
    }

    /// Makes a variable known as far as its value.
    pub(crate) fn alias(&mut self, variable: Val, value: Val) {
        if let Some(known) = self.partial.get(&value.0).cloned() {
            self.partial.insert(variable.0, known);
        }
        if let Some(&number) = self.uniform.get(&value.0) {
            self.uniform.insert(variable.0, number);
        }
    }

    /// The number that all elements of an integer tensor are.
    pub(crate) fn uniform(&self, val: Val) -> Option<i64> {
        if let Some(&number) = self.uniform.get(&val.0) {
            return Some(number);
        }
        let known = self.known(val).filter(|known| known.len() <= FREE && !known.dtype().is_float())?.to_ints();
        let first = known.first().filter(|first| known.iter().all(|number| number == *first))?;
        i64::try_from(*first).ok()
    }

    /// The number that all elements of a call's result are, if it has no elements but those of an operand.
    pub(super) fn spread(&self, def: &OpDef, args: &[Val]) -> Option<i64> {
        let copies = ["full", "dyn.full", "broadcast_to", "dyn.broadcast_to"].contains(&def.name);
        if !copies && (self.uniform.is_empty() || !MOVING.contains(&def.name)) {
            return None;
        }
        self.uniform(*args.first()?)
    }

    /// Notes that the tensors of a sequence are one behind another in a value.
    pub(crate) fn set_joined(&mut self, val: Val) {
        self.joined.insert(val.0);
    }

    pub(crate) fn is_joined(&self, val: Val) -> bool {
        self.joined.contains(&val.0)
    }

    /// What is known of the elements of a call's result of this type.
    pub(super) fn partial_result(&mut self, def: &OpDef, args: &[Val], attrs: &[AttrValue], ty: Ty) -> Option<Vec<Element>> {
        // Where nothing is known in part, only these make such a value.
        if self.partial.is_empty() && self.uniform.is_empty() && !["concatenate", "ndarray_size"].contains(&def.name) {
            return None;
        }
        let (shape, dtype) = self.module.types.as_tensor(ty)?;
        let n = checked_elements(&dims_of(shape)?).filter(|&n| n <= MAX_INTS)?;
        // Sizes pass through floats that hold them exactly, in which they are divided to scales.
        let carries = def.name == "divide" || MOVING.contains(&def.name);
        let passes = def.name == "cast" || (carries && self.has_sizes(args));
        let exact = [DType::F32, DType::F64].contains(&dtype) && passes;
        if !dtype.is_int() && !dtype.is_bool() && !exact {
            return None;
        }
        let n_elements = usize::try_from(n).ok()?;
        let spread = || Some(vec![Element::Size(Dim::known(self.spread(def, args)?)); n_elements]);
        let moved = self.moved(def, args, attrs).or_else(spread);
        let elements = match def.name {
            "divide" if exact => self.ratios(args, n_elements)?,
            _ => moved.or_else(|| self.computed(def, args, n_elements))?,
        };
        (u64::try_from(elements.len()) == Ok(n)).then_some(elements)
    }

    /// Whether one of these few elements is a size.
    fn has_sizes(&self, args: &[Val]) -> bool {
        let parts: Vec<Val> = args.iter().flat_map(|&arg| self.fields(arg).unwrap_or_else(|| vec![arg])).collect();
        parts.iter().any(|part| self.partial.contains_key(&part.0))
            && parts.iter().all(|&part| self.known(part).is_none_or(|known| known.len() <= FREE))
    }

    /// The result of an operator that only moves elements: it is applied to their numbers.
    fn moved(&self, def: &OpDef, args: &[Val], attrs: &[AttrValue]) -> Option<Vec<Element>> {
        let (&first, rest) = args.split_first()?;
        if !MOVING.contains(&def.name) {
            return None;
        }
        let rest: Vec<ArgValue> = rest.iter().map(|&arg| self.arg_value(arg)).collect::<Option<_>>()?;
        let mut all: Vec<Element> = vec![];
        let mut numbered = |val: Val| {
            let (shape, _) = self.tensor_ty(val)?;
            let shape: Option<Vec<usize>> = dims_of(shape)?.into_iter().map(|dim| usize::try_from(dim).ok()).collect();
            // One of several may be known, or one of the elements of each.
            let n = shape.iter().flatten().product();
            let elements = self.elements(val).or_else(|| (n <= FREE).then(|| vec![Element::Unknown; n]))?;
            let start = i64::try_from(all.len()).ok()?;
            let numbers: Vec<i64> = (start..).take(elements.len()).collect();
            all.extend(elements);
            Some(Tensor::from_vec(&shape?, numbers))
        };
        let first = match self.module.exprs[first.0].kind {
            ExprKind::Tuple(fields) => {
                let fields = self.module.items(fields).iter().map(|field| numbered(Val(field.expr)));
                ArgValue::Tuple(fields.collect::<Option<_>>()?)
            }
            _ => ArgValue::Tensor(numbered(first)?),
        };
        let args: Vec<ArgValue> = std::iter::once(first).chain(rest).collect();
        let numbers = evaluate(def, &args, attrs)?.to_ints();
        numbers.into_iter().map(|number| all.get(usize::try_from(number).ok()?).copied()).collect()
    }

    /// The `n` results of arithmetic on elements.
    fn computed(&mut self, def: &OpDef, args: &[Val], n: usize) -> Option<Vec<Element>> {
        if def.name == "ndarray_size" {
            let dims = self.shape(*args.first()?).ok()?;
            return Some(vec![self.product(dims.into_iter().map(Element::of))]);
        }
        let operands: Vec<Vec<Element>> = args.iter().map(|&arg| self.elements(arg)).collect::<Option<_>>()?;
        if def.name == "prod" && n == 1 {
            let all = operands.into_iter().next()?;
            return Some(vec![self.product(all)]);
        }
        if operands.iter().any(|operand| operand.len() != n && operand.len() != 1) {
            return None;
        }
        let at = |operand: usize, i: usize| operands.get(operand)?.get(if operands[operand].len() == 1 { 0 } else { i }).copied();
        let mut results = vec![];
        for i in 0..n {
            let x = at(0, i)?;
            results.push(match def.name {
                "cast" if matches!(x, Element::Ratio(..)) => Element::Unknown,
                "cast" => x,
                "where" => match x.number() {
                    Some(0) => at(2, i)?,
                    Some(_) => at(1, i)?,
                    None => Element::Unknown,
                },
                "negative" => self.arith(SymbolOp::Sub, Element::Size(Dim::known(0)), x),
                "equal" => equal(&self.module.types.symbols, x, at(1, i)?),
                "add" => self.arith(SymbolOp::Add, x, at(1, i)?),
                "subtract" => self.arith(SymbolOp::Sub, x, at(1, i)?),
                "multiply" => self.arith(SymbolOp::Mul, x, at(1, i)?),
                // Sizes are not negative: the directions of rounding agree.
                "divide" | "floor_divide" => self.arith(SymbolOp::FloorDiv, x, at(1, i)?),
                "mod" | "floor_mod" => self.arith(SymbolOp::FloorMod, x, at(1, i)?),
                "maximum" => self.arith(SymbolOp::Max, x, at(1, i)?),
                "minimum" => self.arith(SymbolOp::Min, x, at(1, i)?),
                _ => return None,
            });
        }
        Some(results)
    }

    /// The `n` quotients of sizes in floating point.
    fn ratios(&self, args: &[Val], n: usize) -> Option<Vec<Element>> {
        let &[above, below] = args else { return None };
        let (above, below) = (self.elements(above)?, self.elements(below)?);
        let ratio = |(above, below): (&Element, &Element)| match (above.size(), below.size()) {
            (Some(above), Some(below)) => Element::Ratio(above, below),
            _ => Element::Unknown,
        };
        (above.len() == n && below.len() == n).then(|| above.iter().zip(&below).map(ratio).collect())
    }

    fn arith(&mut self, op: SymbolOp, a: Element, b: Element) -> Element {
        let (Some(a), Some(b)) = (a.size(), b.size()) else { return Element::Unknown };
        Element::of(self.size_arith(op, a, b))
    }

    fn product(&mut self, all: impl IntoIterator<Item = Element>) -> Element {
        all.into_iter().fold(Element::Size(Dim::known(1)), |n, element| self.arith(SymbolOp::Mul, n, element))
    }

    /// The broadcast shape of two shapes of numbers and sizes; `None` if they do not broadcast.
    pub(crate) fn broadcast(&mut self, a: &[Dim], b: &[Dim]) -> Option<Vec<Dim>> {
        let rank = a.len().max(b.len());
        let at = |dims: &[Dim], axis: usize| {
            axis.saturating_add(dims.len()).checked_sub(rank).and_then(|axis| dims.get(axis).copied()).unwrap_or(Dim::known(1))
        };
        let joined =
            (0..rank).map(|axis| ops::rel::broadcast_dims_of(&self.module.types.symbols, at(a, axis), at(b, axis))).collect();
        if let (None, Some((a, b))) = (&joined, self.names_at(&[a, b])) {
            self.conflict = self.conflict.or(Some((a, b)));
        }
        joined
    }

    /// Computes with sizes; `?` if one is not known.
    pub(crate) fn size_arith(&mut self, op: SymbolOp, a: Dim, b: Dim) -> Dim {
        self.module.types.symbols.arith(op, a, b)
    }

    /// Whether a condition asks whether an open size is 1.
    pub(crate) fn asks_for_one(&self, cond: Val) -> bool {
        let mut asked = cond;
        while let Some(&[inner]) =
            ["squeeze", "reshape", "cast"].into_iter().find_map(|op| self.operands_of(asked, op)).as_deref()
        {
            asked = inner;
        }
        let sides = self.operands_of(asked, "equal");
        let sides = sides.and_then(|sides| sides.into_iter().map(|side| self.known_sizes(side)).collect::<Option<Vec<_>>>());
        let Some([Some(a), Some(b)]) = sides.as_deref().map(|sides| [sides.first(), sides.get(1)]) else { return false };
        let is_asked =
            |size: &[Dim], one: &[Dim]| matches!((size, one), ([size], [one]) if size.is_named() && one.value() == Some(1));
        is_asked(a, b) || is_asked(b, a)
    }
}

/// Whether two elements are equal, as a number: a size is no negative number.
fn equal(symbols: &Symbols, a: Element, b: Element) -> Element {
    let number = |is: bool| Element::Size(Dim::known(i64::from(is)));
    match (a, b) {
        (Element::Size(a), Element::Size(b)) if a.same(b) => number(true),
        (Element::Size(a), Element::Size(b)) => match (a.value(), b.value()) {
            (Some(_), Some(_)) => number(false),
            (Some(value), None) if value < 0 && is_natural(symbols, b) => number(false),
            (None, Some(value)) if value < 0 && is_natural(symbols, a) => number(false),
            _ => Element::Unknown,
        },
        _ => Element::Unknown,
    }
}

/// Whether a size is made of dimensions without subtractions, so that it is not negative.
fn is_natural(symbols: &Symbols, dim: Dim) -> bool {
    const MAX_PARTS: usize = 64;
    let mut stack: Vec<SymbolId> = dim.symbol().map(|symbol| symbol.id).into_iter().collect();
    let mut n_parts = 0usize;
    while let Some(id) = stack.pop() {
        n_parts = n_parts.saturating_add(1);
        match symbols.kind(id) {
            SymbolKind::Var { .. } => {}
            SymbolKind::Int { value, .. } if *value >= 0 => {}
            SymbolKind::Cast { value, .. } => stack.push(*value),
            SymbolKind::Binary { op, lhs, rhs, .. } if *op != SymbolOp::Sub => stack.extend([*lhs, *rhs]),
            _ => return false,
        }
        if n_parts > MAX_PARTS {
            return false;
        }
    }
    n_parts > 0
}
