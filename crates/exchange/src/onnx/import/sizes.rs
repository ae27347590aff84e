//! The sizes of a model: each dynamic dimension of its inputs has a name, by which equal ones are known to be equal.
//!
//! The name is the model's own (`dim_param`), which may be an expression, or made of the input and the axis. A number that is
//! wanted for one dimension holds for all of its name. Names that a node requires to be one size become one: the import starts
//! again with the first of them.

use super::super::proto::{DimensionProto, ValueInfoProto};
use super::build::Builder;
use super::errors;
use super::names::plain;
use super::wanted::{WantedDim, WantedShape};
use relayc_base::diag::Diagnostic;
use relayc_ir::sizes::is_size_name;
use relayc_ir::types::{Dim, SizeName, SymbolOp, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// What is known of the names of sizes before the import.
#[derive(Clone, Default)]
pub(crate) struct Sizes {
    /// Names that are one size with another.
    same: FxHashMap<SizeName, SizeName>,
    /// Names whose numbers are wanted.
    numbers: FxHashMap<SizeName, i64>,
    /// Names in place of which others are wanted.
    renamed: FxHashSet<SizeName>,
    /// Names whose numbers dimensions of inputs have got.
    used: RefCell<FxHashSet<SizeName>>,
}

impl Sizes {
    /// Makes two names one. Returns whether they were two.
    pub(crate) fn unite(&mut self, a: SizeName, b: SizeName) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        a != b && self.same.insert(b, a).is_none()
    }

    /// The names that are given up as nodes need it, each with the one that is kept, in alphabetical order.
    pub(crate) fn united(&self) -> Vec<(String, String)> {
        let text = |name: SizeName| name.as_str().to_owned();
        let gone = self.same.keys().filter(|name| !self.renamed.contains(*name));
        let mut all: Vec<_> = gone.map(|&name| (text(name), text(self.root(name)))).collect();
        all.sort_unstable();
        all
    }

    fn root(&self, mut name: SizeName) -> SizeName {
        while let Some(&other) = self.same.get(&name) {
            name = other;
        }
        name
    }

    /// Notes the numbers and the names that are wanted for names. Errors: two numbers for one name.
    pub(crate) fn narrow(&mut self, inputs: &[&ValueInfoProto], shapes: &[WantedShape]) -> Vec<Diagnostic> {
        let wanted = |input: &ValueInfoProto| shapes.iter().find(|shape| Some(&shape.name) == input.name.as_ref());
        let pairs: Vec<(&str, &str, &WantedDim)> = inputs
            .iter()
            .flat_map(|input| {
                let said = dimensions(input).iter().zip(wanted(input).map_or(&[][..], |shape| &shape.dims));
                let name = input.name.as_deref().unwrap_or_default();
                said.filter_map(move |(dim, wanted)| {
                    Some((name, dim.dim_param.as_deref().filter(|text| !text.is_empty())?, wanted))
                })
            })
            .collect();
        for (_, text, wanted) in &pairs {
            // The name of an expression is the wanted one in its place alone.
            if let WantedDim::Name(name) = wanted
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            {
                let gone = SizeName::new(&size_name(text));
                if self.unite(SizeName::new(name), gone) {
                    self.renamed.insert(gone);
                }
            }
        }
        let (mut first, mut wrong): (FxHashMap<SizeName, &str>, _) = (FxHashMap::default(), vec![]);
        for (input, text, wanted) in pairs {
            let WantedDim::Size(number) = *wanted else { continue };
            let root = self.root(SizeName::new(&size_name(text)));
            let before = *first.entry(root).or_insert(input);
            match self.numbers.insert(root, number) {
                Some(other) if other != number => {
                    wrong.push(errors::shapes_disagree(root.as_str(), (before, other), (input, number)));
                }
                _ => {}
            }
        }
        wrong
    }

    /// Notes numbers that are wanted for names.
    pub(crate) fn set(&mut self, sizes: &[(String, i64)]) {
        for (name, number) in sizes {
            let root = self.root(SizeName::new(name));
            self.numbers.insert(root, *number);
        }
    }

    /// The errors of names, among those whose numbers are wanted, that no dimension of an input has; the inputs have their types.
    pub(crate) fn unknown(&self, b: &Builder, sizes: &[(String, i64)]) -> Vec<Diagnostic> {
        let used = self.used.borrow();
        let open = b.module.size_names();
        let known: BTreeSet<&str> = open.values().copied().chain(used.iter().map(|name| name.as_str())).collect();
        let is_known = |name: &str| used.contains(&self.root(SizeName::new(name)));
        let unknown = sizes.iter().filter(|(name, _)| !is_known(name));
        unknown.map(|(name, _)| errors::no_size(name, known.iter().copied())).collect()
    }

    /// The type of an input, with sizes for its dynamic dimensions.
    pub(crate) fn typed(&self, b: &mut Builder, input: &ValueInfoProto, wanted: Option<&WantedShape>, ty: Ty) -> Ty {
        let Some((mut dims, dtype)) = b.module.types.as_tensor(ty).map(|(shape, dtype)| (shape.to_vec(), dtype)) else {
            return ty;
        };
        let said = dimensions(input);
        for (axis, dim) in dims.iter_mut().enumerate().filter(|(_, dim)| dim.value().is_none()) {
            let text = said.get(axis).and_then(|said| said.dim_param.as_deref()).filter(|text| !text.is_empty());
            *dim = match (wanted.and_then(|wanted| wanted.dims.get(axis)), text) {
                (Some(WantedDim::Name(name)), _) => self.dim(b, name),
                (_, Some(text)) => match Expression::read(text, self, b) {
                    Some(dim) => dim,
                    None => self.dim(b, &size_name(text)),
                },
                (_, None) => {
                    let name = format!("{}_{axis}", input.name.as_deref().unwrap_or_default());
                    self.dim(b, &size_name(&name))
                }
            };
        }
        b.module.types.tensor(&dims, dtype)
    }

    /// The number that is wanted for a name, or the named size.
    fn dim(&self, b: &mut Builder, name: &str) -> Dim {
        let name = self.root(SizeName::new(name));
        match self.numbers.get(&name) {
            Some(&number) => {
                self.used.borrow_mut().insert(name);
                Dim::known(number)
            }
            None => {
                let symbols = &mut b.module.types.symbols;
                let id = symbols.named(name.as_str());
                symbols.dim(id)
            }
        }
    }
}

fn dimensions(input: &ValueInfoProto) -> &[DimensionProto] {
    let shape = input.r#type.as_ref().and_then(|ty| ty.tensor_type.as_ref()?.shape.as_ref());
    shape.map_or(&[], |shape| &shape.dim)
}

/// A name by which text can write a size.
fn size_name(text: &str) -> String {
    let mut name = plain(text);
    while !is_size_name(&name) {
        name.push('_');
    }
    name
}

/// A `dim_param` that is an expression: `past_length + 1`.
struct Expression<'a> {
    left: &'a str,
    sizes: &'a Sizes,
    b: &'a mut Builder,
    depth: usize,
}

impl<'a> Expression<'a> {
    /// Nothing for a text that is none.
    fn read(text: &'a str, sizes: &'a Sizes, b: &'a mut Builder) -> Option<Dim> {
        let mut expression = Expression { left: text, sizes, b, depth: 0 };
        let dim = expression.sum()?;
        (expression.left.trim().is_empty() && dim != Dim::Any).then_some(dim)
    }

    fn take(&mut self, what: &str) -> bool {
        self.left = self.left.trim_start();
        match self.left.strip_prefix(what) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<Dim> {
        let mut sum = self.product()?;
        loop {
            let op = match () {
                () if self.take("+") => SymbolOp::Add,
                () if self.take("-") => SymbolOp::Sub,
                () => return Some(sum),
            };
            let next = self.product()?;
            sum = self.b.size_arith(op, sum, next);
        }
    }

    fn product(&mut self) -> Option<Dim> {
        let mut product = self.factor()?;
        loop {
            let op = match () {
                () if self.take("*") => SymbolOp::Mul,
                () if self.take("//") || self.take("/") => SymbolOp::FloorDiv,
                () => return Some(product),
            };
            let next = self.factor()?;
            product = self.b.size_arith(op, product, next);
        }
    }

    fn factor(&mut self) -> Option<Dim> {
        const MAX_DEPTH: usize = 16;
        if self.take("(") {
            self.depth = self.depth.saturating_add(1);
            let inner = if self.depth > MAX_DEPTH { None } else { self.sum() };
            return inner.filter(|_| self.take(")"));
        }
        let text = self.left.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        let (word, left) = text.split_at(end);
        self.left = left;
        if let Ok(number) = word.parse() {
            return Some(Dim::known(number));
        }
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        is_name.then(|| self.sizes.dim(self.b, &size_name(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_ir::types::DType;

    #[test]
    fn names_and_expressions_of_a_model() {
        let (mut sizes, mut b) = (Sizes::default(), Builder::new());
        sizes.unite(SizeName::new("seq"), SizeName::new("seq_2"));
        sizes.numbers.insert(SizeName::new("batch"), 4);
        let mut read = |text: &str| {
            let dim = Expression::read(text, &sizes, &mut b)?;
            let ty = b.module.types.tensor(&[dim], DType::F32);
            Some(b.module.types.text(ty))
        };
        let some = |text: &str| Some(format!("Tensor[({text}), float32]"));
        assert_eq!(read("past_length + 1"), some("past_length + 1"));
        assert_eq!(read("2 * (seq_2 - 1) + seq"), some("3*seq - 2"));
        assert_eq!(read("batch*8"), some("32"));
        assert_eq!(read("type + true"), some("type_ + true_"));
        assert_eq!(size_name("inff16"), "inff16_");
        for text in ["", "seq +", "floor(h / 2)", "data.0", "(((((((((((((((((h", "99999999999999999999"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
