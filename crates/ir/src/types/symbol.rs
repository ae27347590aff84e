//! Symbolic dimensions: integer expressions over variables that get their values at run time, TVM's `tir`.
//!
//! As in TVM a symbol is a node with an identity, which metadata sections number. Two mentions of one entry are one symbol, and
//! each expression that a relation builds is a node of its own. Nodes of one normal form ([`super::normal`]) share a *class*.
//! Symbols of one class are the same dimension, and unification merges those that are written alike into one node
//! ([`Symbols::merge`]).

use super::DType;
use super::normal::{Atom, Atoms, NameOf, Normal};
use super::op::SymbolOp;
use super::shape::{Dim, SizeName, Symbol, SymbolId, VarRef};
use crate::sizes::is_size_name;
use relayc_base::IndexVec;
use rustc_hash::FxHashMap;

/// What a node is.
#[derive(Clone, PartialEq, Debug)]
pub enum SymbolKind {
    Var {
        name: Box<str>,
        dtype: DType,
        is_size: bool,
    },
    Int {
        value: i64,
        dtype: DType,
    },
    Float {
        value: f64,
        dtype: DType,
    },
    /// `?` inside an expression.
    Any,
    Binary {
        op: SymbolOp,
        lhs: SymbolId,
        rhs: SymbolId,
        dtype: DType,
    },
    Cast {
        value: SymbolId,
        dtype: DType,
    },
    /// A call of an intrinsic, such as `tir.round`.
    Call {
        op: Box<str>,
        args: Box<[SymbolId]>,
        dtype: DType,
    },
}

#[derive(Clone, Debug)]
struct Node {
    kind: SymbolKind,
    normal: Normal,
    class: SymbolId,
    var: Option<VarRef>,
    open: bool,
    named: bool,
    /// The older node that unification made this one.
    merged: Option<SymbolId>,
}

/// [`Symbols::arith`] or [`Symbols::built`].
pub type Arith = fn(&mut Symbols, SymbolOp, Dim, Dim) -> Dim;

/// The shared right side of several operations, one node in all of them: an attribute that TVM keeps as an object.
pub struct SharedOperand {
    rhs: Dim,
    node: Option<SymbolId>,
}

impl SharedOperand {
    /// As [`Symbols::built`].
    pub fn built(&mut self, symbols: &mut Symbols, op: SymbolOp, lhs: Dim) -> Dim {
        let dim = symbols.built(op, lhs, self.rhs);
        let Some(symbol) = dim.symbol().filter(|_| dim != lhs) else { return dim };
        let SymbolKind::Binary { rhs: new, .. } = symbols.nodes[symbol.id].kind else { return dim };
        let node = *self.node.get_or_insert(new);
        if symbols.nodes[node].class == symbols.nodes[new].class
            && let SymbolKind::Binary { rhs, .. } = &mut symbols.nodes[symbol.id].kind
        {
            *rhs = node;
        }
        dim
    }
}

#[derive(Clone, Default, Debug)]
pub struct Symbols {
    nodes: IndexVec<SymbolId, Node>,
    atoms: Atoms,
    /// The first node of each normal form.
    classes: FxHashMap<Normal, SymbolId>,
    named: FxHashMap<SizeName, SymbolId>,
}

impl Symbols {
    /// Adds a variable, mentioned in text as `var`.
    pub fn var(&mut self, name: &str, dtype: DType, var: VarRef) -> SymbolId {
        let kind = SymbolKind::Var { name: name.into(), dtype, is_size: var.is_size() };
        let normal = self.atoms.normal(Atom::Var(self.nodes.next_id()));
        self.push(kind, normal, Some(var), false)
    }

    /// The size of a name, an int32: one variable in all of a module.
    pub fn named(&mut self, name: &str) -> SymbolId {
        let name = SizeName::new(name);
        if let Some(&known) = self.named.get(&name) {
            return known;
        }
        let id = self.var(name.as_str(), DType::I32, VarRef::Named(name));
        self.named.insert(name, id);
        id
    }

    /// The name of a dimension that is a named size itself.
    pub fn name_of(&self, dim: Dim) -> Option<SizeName> {
        match dim.symbol()?.var? {
            VarRef::Named(name) => Some(name),
            VarRef::Entry { .. } => None,
        }
    }

    /// Whether there is a named size.
    pub fn has_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// The one dimension that stands for all of a class: a number, if that is what they are.
    fn simplest(&self, class: SymbolId) -> Dim {
        self.nodes[class].normal.value().map_or_else(|| self.dim(class), Dim::known)
    }

    /// Whether two dimensions that are computed from named sizes differ by a number, whatever the sizes are.
    pub fn differ(&self, a: Dim, b: Dim) -> bool {
        let (Some(a), Some(b)) = (a.symbol(), b.symbol()) else { return false };
        let difference = self.nodes[a.id].normal.minus(&self.nodes[b.id].normal);
        a.named && b.named && difference.and_then(|difference| difference.value()).is_some_and(|number| number != 0)
    }

    /// Whether tensors of two shapes have equally many elements, whatever the sizes are.
    pub fn as_many(&self, a: &[Dim], b: &[Dim]) -> bool {
        let product = |dims: &[Dim]| {
            dims.iter().try_fold(Normal::number(1), |product, dim| match dim {
                Dim::Known { value, .. } => product.times(&Normal::number(*value)),
                Dim::Symbol(symbol) => product.times(&self.nodes[symbol.id].normal),
                Dim::Any => None,
            })
        };
        product(a).is_some_and(|a| product(b).is_some_and(|b| a == b))
    }

    /// The value of a dimension, where `var` gives those of variables by their classes; `None` if one is missing, if it contains
    /// a `?` or a float, if it divides by 0, and if it overflows.
    pub fn evaluate(&self, dim: Dim, var: &dyn Fn(SymbolId) -> Option<i64>) -> Option<i64> {
        match dim {
            Dim::Known { value, .. } => Some(value),
            Dim::Any => None,
            Dim::Symbol(symbol) => self.atoms.evaluate(&self.nodes[symbol.id].normal, var),
        }
    }

    /// The variables of a dimension, by their classes, each once.
    pub fn vars_of(&self, dim: Dim) -> Vec<SymbolId> {
        dim.symbol().map_or(vec![], |symbol| self.atoms.vars(&self.nodes[symbol.id].normal))
    }

    /// The dimension in the text that relayc reads, `2*batch + 1`; `None` if it has none: numbers and `?` have, of symbols those
    /// that are computed from named sizes.
    pub(crate) fn named_text(&self, symbol: Symbol) -> Option<String> {
        let name = |id: SymbolId| match self.nodes[id].var {
            Some(VarRef::Named(name)) => Some(name.as_str()),
            _ => None,
        };
        self.atoms.text(&self.nodes[symbol.id].normal, &name)
    }

    /// Whether there are variables.
    pub(crate) fn has_vars(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.kind, SymbolKind::Var { .. }))
    }

    /// The names of variables, by their classes, that text can write: identifiers that only one has.
    pub fn names(&self) -> FxHashMap<SymbolId, &str> {
        let mut owners: FxHashMap<&str, Option<SymbolId>> = FxHashMap::default();
        for (id, node) in self.nodes.iter_ids() {
            let SymbolKind::Var { name, dtype, .. } = &node.kind else { continue };
            if dtype.is_int() && is_size_name(name) && node.merged.is_none() {
                owners.entry(name).and_modify(|owner| *owner = None).or_insert(Some(id));
            }
        }
        owners.into_iter().filter_map(|(name, id)| Some((self.nodes[id?].class, name))).collect()
    }

    /// As [`Symbols::named_text`], with the variables that `name` knows. `None` also for what is negative whatever the sizes are.
    pub(crate) fn text_with(&self, symbol: Symbol, name: NameOf) -> Option<String> {
        let normal = &self.nodes[symbol.id].normal;
        if normal.value().is_some_and(|value| value < 0) { None } else { self.atoms.text(normal, name) }
    }

    /// The symbol with numbers for some variables, which are given by their classes. Once no variable is left it is a number, or
    /// `?` if it cannot be computed.
    pub(crate) fn substitute(&mut self, symbol: Symbol, values: &FxHashMap<SymbolId, i64>) -> Dim {
        let wide = self.dtype(symbol.id) == DType::I64;
        if let Some(value) = self.atoms.evaluate(&self.nodes[symbol.id].normal, &|id| values.get(&id).copied()) {
            return Dim::number(value, wide);
        }
        // Each part before what is made of it, and whether variables are left in it.
        let mut done: FxHashMap<SymbolId, (Dim, bool)> = FxHashMap::default();
        let mut stack = vec![(symbol.id, false)];
        while let Some((id, parts_done)) = stack.pop() {
            if done.contains_key(&id) {
                continue;
            }
            let parts = self.parts(id);
            if !parts_done && !parts.is_empty() {
                stack.push((id, true));
                stack.extend(parts.into_iter().map(|part| (part, false)));
                continue;
            }
            let new = self.with_parts(id, &parts, &done, values);
            done.insert(id, new);
        }
        match done[&symbol.id] {
            (new @ Dim::Symbol(_), true) | (new @ (Dim::Known { .. } | Dim::Any), _) => new,
            (Dim::Symbol(_), false) => Dim::Any,
        }
    }

    /// A node with other parts, and whether it has variables.
    fn with_parts(
        &mut self,
        id: SymbolId,
        parts: &[SymbolId],
        done: &FxHashMap<SymbolId, (Dim, bool)>,
        values: &FxHashMap<SymbolId, i64>,
    ) -> (Dim, bool) {
        let open = parts.iter().any(|part| done[part].1);
        if parts.iter().all(|part| done[part].0 == self.dim(*part)) && !matches!(self.kind(id), SymbolKind::Var { .. }) {
            return (self.dim(id), open);
        }
        let dim = match self.kind(id).clone() {
            SymbolKind::Var { dtype, .. } => match values.get(&self.nodes[id].class) {
                Some(&value) => return (Dim::number(value, dtype == DType::I64), false),
                None => return (self.dim(id), true),
            },
            SymbolKind::Binary { op, lhs, rhs, .. } => self.built(op, done[&lhs].0, done[&rhs].0),
            SymbolKind::Cast { value, dtype } => match done[&value].0 {
                Dim::Known { value, .. } if dtype.is_int() => Dim::number(value, dtype == DType::I64),
                Dim::Known { value, .. } => {
                    let id = self.node(SymbolKind::Float { value: value as f64, dtype });
                    self.dim(id)
                }
                Dim::Symbol(symbol) => {
                    let id = self.node(SymbolKind::Cast { value: symbol.id, dtype });
                    self.dim(id)
                }
                Dim::Any => Dim::Any,
            },
            SymbolKind::Call { op, args, dtype } => {
                let args = args.iter().map(|arg| self.operand(done[arg].0, self.dtype(*arg))).collect();
                let id = self.node(SymbolKind::Call { op, args, dtype });
                self.dim(id)
            }
            SymbolKind::Int { .. } | SymbolKind::Float { .. } | SymbolKind::Any => self.dim(id),
        };
        (dim, open)
    }

    /// The dimension for a message.
    pub fn text_of(&self, dim: Dim) -> String {
        dim.symbol().map_or_else(|| dim.to_string(), |symbol| self.text(symbol))
    }

    /// Adds a node that is not a variable.
    pub fn node(&mut self, kind: SymbolKind) -> SymbolId {
        let open = |&id: &SymbolId| self.nodes[id].open;
        let open = match &kind {
            SymbolKind::Any => true,
            SymbolKind::Var { .. } | SymbolKind::Int { .. } | SymbolKind::Float { .. } => false,
            SymbolKind::Binary { lhs, rhs, .. } => open(lhs) || open(rhs),
            SymbolKind::Cast { value, .. } => open(value),
            SymbolKind::Call { args, .. } => args.iter().any(open),
        };
        let normal = self.normal(&kind, open);
        self.push(kind, normal, None, open)
    }

    fn push(&mut self, kind: SymbolKind, normal: Normal, var: Option<VarRef>, open: bool) -> SymbolId {
        let class = *self.classes.entry(normal.clone()).or_insert(self.nodes.next_id());
        let part = |id: SymbolId| self.nodes[id].named;
        let named = match &kind {
            SymbolKind::Var { .. } => matches!(var, Some(VarRef::Named(_))),
            SymbolKind::Int { .. } => true,
            SymbolKind::Binary { lhs, rhs, dtype, .. } => dtype.is_int() && part(*lhs) && part(*rhs),
            SymbolKind::Cast { value, dtype } => dtype.is_int() && part(*value),
            SymbolKind::Float { .. } | SymbolKind::Any | SymbolKind::Call { .. } => false,
        };
        self.nodes.push(Node { kind, normal, class, var, open, named, merged: None })
    }

    /// The normal form. What contains `?`, and floats, have no arithmetic: `?` less `?` need not be 0.
    fn normal(&mut self, kind: &SymbolKind, open: bool) -> Normal {
        let class = |id: SymbolId| self.nodes[id].class;
        let atom = match kind {
            SymbolKind::Var { .. } => Atom::Var(self.nodes.next_id()),
            SymbolKind::Int { value, .. } => return Normal::number(*value),
            SymbolKind::Float { value, dtype } => Atom::Float(value.to_bits(), *dtype),
            SymbolKind::Any => Atom::Any,
            SymbolKind::Binary { op, lhs, rhs, dtype } => {
                if dtype.is_int() && !open {
                    let (lhs, rhs) = (self.nodes[*lhs].normal.clone(), self.nodes[*rhs].normal.clone());
                    if let Some(normal) = self.atoms.arith(*op, &lhs, &rhs) {
                        return normal;
                    }
                }
                Atom::Binary(*op, class(*lhs), class(*rhs), *dtype)
            }
            SymbolKind::Cast { value, dtype } => {
                if dtype.is_int() && self.dtype(*value).is_int() && !open {
                    return self.nodes[*value].normal.clone();
                }
                Atom::Cast(class(*value), *dtype)
            }
            SymbolKind::Call { op, args, dtype } => Atom::Call(op.clone(), args.iter().map(|&arg| class(arg)).collect(), *dtype),
        };
        self.atoms.normal(atom)
    }

    pub fn kind(&self, id: SymbolId) -> &SymbolKind {
        &self.nodes[id].kind
    }

    pub fn dtype(&self, id: SymbolId) -> DType {
        match self.kind(id) {
            SymbolKind::Var { dtype, .. }
            | SymbolKind::Int { dtype, .. }
            | SymbolKind::Float { dtype, .. }
            | SymbolKind::Binary { dtype, .. }
            | SymbolKind::Cast { dtype, .. }
            | SymbolKind::Call { dtype, .. } => *dtype,
            SymbolKind::Any => DType::I32,
        }
    }

    /// The node as a dimension; numbers and `?` become [`Dim::Known`] and [`Dim::Any`].
    pub fn dim(&self, id: SymbolId) -> Dim {
        let node = &self.nodes[id];
        match node.kind {
            SymbolKind::Int { value, dtype } => Dim::number(value, dtype == DType::I64),
            SymbolKind::Any => Dim::Any,
            _ => Dim::Symbol(Symbol { id, class: node.class, var: node.var, open: node.open, named: node.named }),
        }
    }

    /// Merges two symbols of one class that are written alike, and their parts, into the older nodes; others stay separate.
    pub(crate) fn merge(&mut self, a: Symbol, b: Symbol) {
        let mut pairs = vec![(a.id, b.id)];
        while let Some((a, b)) = pairs.pop() {
            let (a, b) = (self.find(a), self.find(b));
            let alike = match (self.kind(a), self.kind(b)) {
                (SymbolKind::Binary { op: a, .. }, SymbolKind::Binary { op: b, .. }) => a == b,
                (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
            };
            if a == b || !alike || self.nodes[a].class != self.nodes[b].class {
                continue;
            }
            pairs.extend(self.parts(a).into_iter().zip(self.parts(b)));
            self.nodes[a.max(b)].merged = Some(a.min(b));
        }
    }

    fn parts(&self, id: SymbolId) -> Vec<SymbolId> {
        match self.kind(id) {
            SymbolKind::Binary { lhs, rhs, .. } => vec![*lhs, *rhs],
            SymbolKind::Cast { value, .. } => vec![*value],
            SymbolKind::Call { args, .. } => args.to_vec(),
            SymbolKind::Var { .. } | SymbolKind::Int { .. } | SymbolKind::Float { .. } | SymbolKind::Any => vec![],
        }
    }

    /// The node that represents this one after all merging.
    pub fn find(&self, mut id: SymbolId) -> SymbolId {
        while let Some(older) = self.nodes[id].merged {
            id = older;
        }
        id
    }

    /// `lhs op rhs` as TVM's operators build it (`src/tir/op/op.cc`). Numbers are computed, no-ops are removed, and the narrower
    /// side is cast to the wider type. `?` if a side is `?` or the result does not fit. What is computed from named sizes, which
    /// TVM does not have, is simplified: equal ones are one dimension.
    pub fn arith(&mut self, op: SymbolOp, lhs: Dim, rhs: Dim) -> Dim {
        match (op, lhs.value(), rhs.value()) {
            (_, Some(a), Some(b)) => {
                let wide = lhs.is_wide() || rhs.is_wide();
                op.fold(a, b).map_or(Dim::Any, |value| Dim::number(value, wide))
            }
            _ if lhs == Dim::Any || rhs == Dim::Any => Dim::Any,
            _ => self.built(op, lhs, rhs),
        }
    }

    /// As [`Symbols::arith`], where TVM builds an expression of `?` too. Most relations of TVM test for `?` before they compute;
    /// those that need this method do not.
    pub fn built(&mut self, op: SymbolOp, lhs: Dim, rhs: Dim) -> Dim {
        match (op, lhs.value(), rhs.value()) {
            (_, Some(_), Some(_)) => return self.arith(op, lhs, rhs),
            (SymbolOp::Div | SymbolOp::FloorDiv | SymbolOp::Mod | SymbolOp::FloorMod, _, Some(0)) => return Dim::Any,
            (SymbolOp::Add, Some(0), _) | (SymbolOp::Mul, Some(1), _) => return rhs,
            (SymbolOp::Add | SymbolOp::Sub, _, Some(0)) => return lhs,
            (SymbolOp::Mul | SymbolOp::Div | SymbolOp::FloorDiv, _, Some(1)) => return lhs,
            (SymbolOp::Mul | SymbolOp::Div | SymbolOp::FloorDiv, Some(0), _) => return lhs,
            (SymbolOp::Mul, _, Some(0)) => return rhs,
            _ => {}
        }
        let dtype = self.dim_dtype(lhs).max(self.dim_dtype(rhs));
        let (lhs, rhs) = (self.operand(lhs, dtype), self.operand(rhs, dtype));
        let id = self.node(SymbolKind::Binary { op, lhs, rhs, dtype });
        match self.nodes[id].named {
            true => self.simplest(self.nodes[id].class),
            false => self.dim(id),
        }
    }

    /// Starts several operations with the same right side.
    pub fn by(&self, rhs: Dim) -> SharedOperand {
        SharedOperand { rhs, node: None }
    }

    fn dim_dtype(&self, dim: Dim) -> DType {
        match dim {
            Dim::Symbol(symbol) => self.dtype(symbol.id),
            Dim::Known { wide: true, .. } => DType::I64,
            _ => DType::I32,
        }
    }

    fn operand(&mut self, dim: Dim, dtype: DType) -> SymbolId {
        match dim {
            Dim::Symbol(symbol) if self.dtype(symbol.id) == dtype => symbol.id,
            Dim::Symbol(symbol) => self.node(SymbolKind::Cast { value: symbol.id, dtype }),
            Dim::Known { value, .. } => self.node(SymbolKind::Int { value, dtype }),
            Dim::Any => {
                let any = self.node(SymbolKind::Any);
                if dtype == DType::I32 { any } else { self.node(SymbolKind::Cast { value: any, dtype }) }
            }
        }
    }

    /// The symbol in words, for messages; variables appear as in text.
    pub(crate) fn text(&self, symbol: Symbol) -> String {
        const MAX_TEXT: usize = 200;
        enum Piece<'a> {
            Node(SymbolId),
            Text(&'a str),
        }
        if let Some(text) = self.named_text(symbol).filter(|text| text.len() <= MAX_TEXT) {
            return text;
        }
        let mut out = String::new();
        let mut stack = vec![Piece::Node(symbol.id)];
        while let Some(piece) = stack.pop() {
            if out.len() > MAX_TEXT {
                return out + "…";
            }
            let id = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Node(id) => id,
            };
            match self.kind(id) {
                SymbolKind::Var { name, .. } => match self.nodes[id].var {
                    Some(var) => out.push_str(&var.to_string()),
                    None => out.push_str(name),
                },
                SymbolKind::Int { value, .. } => out.push_str(&value.to_string()),
                SymbolKind::Float { value, .. } => out.push_str(&value.to_string()),
                SymbolKind::Any => out.push('?'),
                SymbolKind::Binary { op, lhs, rhs, .. } => {
                    let name = op.type_key().trim_start_matches("tir.");
                    out.push_str(name);
                    let parts = [Piece::Text(")"), Piece::Node(*rhs), Piece::Text(", "), Piece::Node(*lhs), Piece::Text("(")];
                    stack.extend(parts);
                }
                SymbolKind::Cast { value, .. } => stack.push(Piece::Node(*value)),
                SymbolKind::Call { op, args, .. } => {
                    out.push_str(op);
                    stack.push(Piece::Text(")"));
                    stack.extend(args.iter().rev().map(|&arg| Piece::Node(arg)));
                    stack.push(Piece::Text("("));
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(symbols: &mut Symbols, index: u32, dtype: DType) -> Dim {
        let id = symbols.var("n", dtype, VarRef::Entry { is_size: false, index });
        symbols.dim(id)
    }

    #[test]
    fn arithmetic_is_tvms() {
        let mut symbols = Symbols::default();
        let n = var(&mut symbols, 0, DType::I32);
        let number = Dim::known;
        assert_eq!(symbols.arith(SymbolOp::FloorDiv, number(-7), number(2)), number(-4));
        assert_eq!(symbols.arith(SymbolOp::FloorMod, number(-7), number(2)), number(1));
        assert_eq!(symbols.arith(SymbolOp::Mul, number(i64::MAX), number(2)), Dim::Any);
        assert_eq!(symbols.arith(SymbolOp::Add, n, Dim::Any), Dim::Any);
        for (op, neutral) in [(SymbolOp::Add, 0), (SymbolOp::Sub, 0), (SymbolOp::Mul, 1), (SymbolOp::FloorDiv, 1)] {
            assert_eq!(symbols.arith(op, n, number(neutral)), n);
        }
        assert_eq!(symbols.arith(SymbolOp::Mul, number(1), n), n);
        assert_eq!(symbols.arith(SymbolOp::Mul, n, number(0)), number(0));
    }

    #[test]
    fn equal_expressions_are_two_nodes_of_one_class() {
        let mut symbols = Symbols::default();
        let n = var(&mut symbols, 0, DType::I32);
        let m = var(&mut symbols, 1, DType::I32);
        let mut halves = || symbols.arith(SymbolOp::FloorDiv, n, Dim::known(2));
        let (a, b) = (halves(), halves());
        let (Dim::Symbol(x), Dim::Symbol(y)) = (a, b) else { panic!("symbols") };
        assert!(a != b && a.same(b) && !n.same(m) && n.same(n));
        assert_eq!(symbols.text(x), "FloorDiv(meta[tir.Var][0], 2)");
        symbols.merge(x, y);
        assert_eq!(symbols.find(y.id), x.id);
        let two = |symbols: &Symbols, half: Symbol| symbols.find(symbols.parts(half.id)[1]);
        assert_eq!(two(&symbols, x), two(&symbols, y));
        let (Dim::Symbol(n), Dim::Symbol(m)) = (n, m) else { panic!("symbols") };
        symbols.merge(n, m);
        assert_ne!(symbols.find(m.id), n.id);
    }

    #[test]
    fn the_narrower_side_is_cast() {
        let mut symbols = Symbols::default();
        let n = var(&mut symbols, 0, DType::I32);
        let sum = symbols.arith(SymbolOp::Add, n, Dim::Known { value: 3, wide: true });
        let Dim::Symbol(sum) = sum else { panic!("a symbol") };
        let SymbolKind::Binary { lhs, rhs, dtype, .. } = *symbols.kind(sum.id) else { panic!("a sum") };
        assert_eq!(dtype, DType::I64);
        assert!(matches!(symbols.kind(lhs), SymbolKind::Cast { dtype: DType::I64, .. }));
        assert_eq!(*symbols.kind(rhs), SymbolKind::Int { value: 3, dtype: DType::I64 });
    }

    #[test]
    fn unknown_dimensions_stay_inside_of_expressions() {
        let mut symbols = Symbols::default();
        let half = symbols.built(SymbolOp::FloorDiv, Dim::Any, Dim::known(2));
        let Dim::Symbol(symbol) = half else { panic!("a symbol") };
        assert_eq!((symbols.text(symbol), symbol.open), ("FloorDiv(?, 2)".into(), true));
        assert_eq!(symbols.built(SymbolOp::FloorDiv, Dim::Any, Dim::known(1)), Dim::Any);
        assert_eq!(symbols.built(SymbolOp::Mul, Dim::known(3), Dim::known(2)), Dim::known(6));
        let n = var(&mut symbols, 0, DType::I32);
        let sum = symbols.built(SymbolOp::Add, n, half);
        assert!(sum.is_open() && Dim::Any.is_open() && !n.is_open());
    }

    #[test]
    fn text_of_a_deep_expression_is_cut() {
        let mut symbols = Symbols::default();
        let mut sum = var(&mut symbols, 0, DType::I32);
        for i in 1..100_000 {
            sum = symbols.arith(SymbolOp::Add, sum, Dim::known(i));
        }
        let Dim::Symbol(sum) = sum else { panic!("a symbol") };
        assert!(symbols.text(sum).ends_with('…'));
    }
}
