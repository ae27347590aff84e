//! The normal form of a size: a sum of products of atoms with integer coefficients. Two expressions of one normal form are the same
//! size wherever both are sizes at all.
//!
//! Sizes are not negative, and a quotient is rounded down, so that `(2 * n + 1) / 2` is `n`. What is no polynomial is an atom, among
//! them quotients that do not divide. Absent: floats and `?`, of which [`super::Symbols`] makes atoms too.

use super::DType;
use super::op::SymbolOp;
use super::shape::SymbolId;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most terms of a sum and factors of a product; larger expressions are atoms.
const MAX_TERMS: usize = 64;
const MAX_FACTORS: usize = 16;

/// The longest text of a part of a size; the text of parts that are shared can grow with every level.
const MAX_TEXT: usize = 2000;

/// The most quotients and bounds inside of each other; deeper expressions are atoms without arithmetic.
const MAX_DEPTH: u8 = 32;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct AtomId(u32);

/// A factor that is no sum and no product.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Atom {
    Var(SymbolId),
    /// A quotient that does not divide, rounded down.
    Quotient(Normal, Normal),
    Min(Normal, Normal),
    Max(Normal, Normal),
    /// What arithmetic on sizes does not cover: the nodes by their classes.
    Any,
    Float(u64, DType),
    Binary(SymbolOp, SymbolId, SymbolId, DType),
    Cast(SymbolId, DType),
    Call(Box<str>, Box<[SymbolId]>, DType),
}

/// A product with its coefficient. Factors are sorted, and stand as often as they are multiplied.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Term {
    factors: Box<[AtomId]>,
    coefficient: i64,
}

/// A sum of terms with different factors, none with coefficient 0. Terms of more factors come first, then those of older atoms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Normal(Box<[Term]>);

/// The order of terms. It agrees with multiplication, so that a division can go by the first terms.
fn order(a: &[AtomId], b: &[AtomId]) -> std::cmp::Ordering {
    b.len().cmp(&a.len()).then_with(|| a.cmp(b))
}

impl Term {
    /// The product of two terms.
    fn times(&self, other: &Term) -> Option<Term> {
        let coefficient = self.coefficient.checked_mul(other.coefficient)?;
        let mut factors = [&*self.factors, &*other.factors].concat();
        factors.sort_unstable();
        (factors.len() <= MAX_FACTORS).then(|| Term { factors: factors.into(), coefficient })
    }

    /// The factors without those of the divisor; `None` if one is missing.
    fn factors_over(&self, divisor: &Term) -> Option<Box<[AtomId]>> {
        let mut left = self.factors.to_vec();
        for factor in &divisor.factors {
            let at = left.iter().position(|other| other == factor)?;
            left.remove(at);
        }
        Some(left.into())
    }
}

impl Normal {
    pub(super) fn number(value: i64) -> Normal {
        Normal::sum([Term { factors: Box::default(), coefficient: value }]).expect("a single term")
    }

    fn atom(id: AtomId) -> Normal {
        Normal([Term { factors: [id].into(), coefficient: 1 }].into())
    }

    /// The value, if it is a number.
    pub(super) fn value(&self) -> Option<i64> {
        match &*self.0 {
            [] => Some(0),
            [Term { factors, coefficient }] if factors.is_empty() => Some(*coefficient),
            _ => None,
        }
    }

    /// Collects terms; `None` if a coefficient overflows or there are too many.
    fn sum(terms: impl IntoIterator<Item = Term>) -> Option<Normal> {
        let mut terms: Vec<Term> = terms.into_iter().collect();
        terms.sort_by(|a, b| order(&a.factors, &b.factors));
        let mut out: Vec<Term> = vec![];
        for term in terms {
            match out.last_mut() {
                Some(last) if last.factors == term.factors => {
                    last.coefficient = last.coefficient.checked_add(term.coefficient)?
                }
                _ => out.push(term),
            }
        }
        out.retain(|term| term.coefficient != 0);
        (out.len() <= MAX_TERMS).then(|| Normal(out.into()))
    }

    fn plus(&self, other: &Normal) -> Option<Normal> {
        Normal::sum(self.0.iter().chain(&other.0).cloned())
    }

    pub(super) fn minus(&self, other: &Normal) -> Option<Normal> {
        self.plus(&other.times(&Normal::number(-1))?)
    }

    /// The product; `None` if a coefficient overflows or there are too many terms.
    pub(super) fn times(&self, other: &Normal) -> Option<Normal> {
        if self.0.len().checked_mul(other.0.len())? > MAX_TERMS {
            return None;
        }
        let products = self.0.iter().flat_map(|a| other.0.iter().map(|b| a.times(b)));
        Normal::sum(products.collect::<Option<Vec<Term>>>()?)
    }

    /// The quotient and the remainder by a single term: every term gives what of it divides. The remainder's coefficients are
    /// less than the divisor's where their factors divide.
    fn by_term(&self, divisor: &Term) -> Option<(Normal, Normal)> {
        let (mut whole, mut rest) = (vec![], vec![]);
        for term in &self.0 {
            match term.factors_over(divisor) {
                Some(factors) if divisor.coefficient > 0 => {
                    let coefficient = term.coefficient.checked_div_euclid(divisor.coefficient)?;
                    whole.push(Term { factors, coefficient });
                    let left = term.coefficient.checked_rem_euclid(divisor.coefficient)?;
                    rest.push(Term { factors: term.factors.clone(), coefficient: left });
                }
                _ => rest.push(term.clone()),
            }
        }
        Some((Normal::sum(whole)?, Normal::sum(rest)?))
    }

    /// The quotient by a sum that divides without remainder, by long division.
    fn exactly_by(&self, divisor: &Normal) -> Option<Normal> {
        let first = divisor.0.first()?;
        let mut left = self.clone();
        let mut whole = vec![];
        while let Some(term) = left.0.first() {
            let factors = term.factors_over(first)?;
            if term.coefficient.checked_rem(first.coefficient)? != 0 || whole.len() == MAX_TERMS {
                return None;
            }
            let step = Term { factors, coefficient: term.coefficient.checked_div(first.coefficient)? };
            left = left.minus(&divisor.times(&Normal([step.clone()].into()))?)?;
            whole.push(step);
        }
        Normal::sum(whole)
    }
}

/// The atoms of a symbol table.
#[derive(Clone, Default, Debug)]
pub(super) struct Atoms {
    /// Each with its depth.
    all: Vec<(Atom, u8)>,
    ids: FxHashMap<Atom, AtomId>,
}

impl Atoms {
    /// The normal form that is this atom.
    pub(super) fn normal(&mut self, atom: Atom) -> Normal {
        self.at_depth(atom, 0)
    }

    fn at_depth(&mut self, atom: Atom, depth: u8) -> Normal {
        let next = AtomId(u32::try_from(self.all.len()).expect("fewer than 2^32 atoms"));
        let id = *self.ids.entry(atom).or_insert_with_key(|atom| {
            self.all.push((atom.clone(), depth));
            next
        });
        Normal::atom(id)
    }

    /// The atom of two normal forms; `None` if it is too deep.
    fn of_two(&mut self, atom: fn(Normal, Normal) -> Atom, a: Normal, b: Normal) -> Option<Normal> {
        let factors = a.0.iter().chain(&b.0).flat_map(|term| &term.factors);
        let depth = factors.map(|id| self.all[id.0 as usize].1).max().unwrap_or(0) + 1;
        (depth <= MAX_DEPTH).then(|| self.at_depth(atom(a, b), depth))
    }

    /// The normal form of an operation on two; `None` if it is too large or not defined.
    pub(super) fn arith(&mut self, op: SymbolOp, a: &Normal, b: &Normal) -> Option<Normal> {
        match op {
            SymbolOp::Add => a.plus(b),
            SymbolOp::Sub => a.minus(b),
            SymbolOp::Mul => a.times(b),
            SymbolOp::Div | SymbolOp::FloorDiv => self.quotient(a, b),
            SymbolOp::Mod | SymbolOp::FloorMod => a.minus(&b.times(&self.quotient(a, b)?)?),
            SymbolOp::Min | SymbolOp::Max if a == b => Some(a.clone()),
            SymbolOp::Min | SymbolOp::Max => {
                let is_min = op == SymbolOp::Min;
                if let Some(difference) = a.minus(b)?.value() {
                    return Some(if (difference < 0) == is_min { a.clone() } else { b.clone() });
                }
                // Of the two orders one.
                let key = |x: &Normal| x.0.iter().map(|term| (term.factors.clone(), term.coefficient)).collect::<Vec<_>>();
                let (a, b) = if key(a) <= key(b) { (a.clone(), b.clone()) } else { (b.clone(), a.clone()) };
                self.of_two(if is_min { Atom::Min } else { Atom::Max }, a, b)
            }
        }
    }

    fn quotient(&mut self, a: &Normal, b: &Normal) -> Option<Normal> {
        let (whole, rest) = match &*b.0 {
            [] => return None,
            [term] => a.by_term(term)?,
            _ => match a.exactly_by(b) {
                Some(whole) => return Some(whole),
                None => (Normal::number(0), a.clone()),
            },
        };
        let divisor = b.value();
        if let (Some(rest), Some(divisor)) = (rest.value(), divisor)
            && (0..divisor).contains(&rest)
        {
            return Some(whole);
        }
        if rest.0.is_empty() {
            return Some(whole);
        }
        // `(x / m + k) / n` is `(x + m * k) / (m * n)`.
        let inner = match (&*rest.0, divisor) {
            ([first, constant @ ..], Some(n)) if first.coefficient == 1 && n > 0 => match (&*first.factors, constant) {
                ([atom], [] | [_]) if constant.iter().all(|term| term.factors.is_empty()) => {
                    let k = constant.first().map_or(0, |term| term.coefficient);
                    self.quotient_by_number(*atom).map(|(x, m)| (x, m, k, n))
                }
                _ => None,
            },
            _ => None,
        };
        let quotient = match inner {
            Some((x, m, k, n)) => {
                let x = x.plus(&Normal::number(m.checked_mul(k)?))?;
                self.quotient(&x, &Normal::number(m.checked_mul(n)?))?
            }
            None => self.of_two(Atom::Quotient, rest, b.clone())?,
        };
        whole.plus(&quotient)
    }

    /// The parts of a quotient by a positive number.
    fn quotient_by_number(&self, atom: AtomId) -> Option<(Normal, i64)> {
        match self.get(atom) {
            Atom::Quotient(x, by) => Some((x.clone(), by.value().filter(|&by| by > 0)?)),
            _ => None,
        }
    }

    fn get(&self, id: AtomId) -> &Atom {
        &self.all[id.0 as usize].0
    }

    /// The value, where `var` gives those of variables; `None` if one is missing, for what is no arithmetic on sizes, for a
    /// division by 0, and if it overflows.
    pub(super) fn evaluate(&self, normal: &Normal, var: &dyn Fn(SymbolId) -> Option<i64>) -> Option<i64> {
        self.value_of(normal, var, &mut FxHashMap::default())
    }

    /// `known` are the values of atoms so far: one may be mentioned very often.
    fn value_of(
        &self,
        normal: &Normal,
        var: &dyn Fn(SymbolId) -> Option<i64>,
        known: &mut FxHashMap<AtomId, i64>,
    ) -> Option<i64> {
        let mut sum = 0i64;
        for term in &normal.0 {
            let mut product = term.coefficient;
            for &factor in &term.factors {
                let value = match known.get(&factor) {
                    Some(&value) => value,
                    // Recursion ends at [`MAX_DEPTH`].
                    None => match self.get(factor) {
                        Atom::Var(id) => var(*id)?,
                        Atom::Quotient(a, b) => {
                            SymbolOp::FloorDiv.fold(self.value_of(a, var, known)?, self.value_of(b, var, known)?)?
                        }
                        Atom::Min(a, b) => self.value_of(a, var, known)?.min(self.value_of(b, var, known)?),
                        Atom::Max(a, b) => self.value_of(a, var, known)?.max(self.value_of(b, var, known)?),
                        Atom::Any | Atom::Float(..) | Atom::Binary(..) | Atom::Cast(..) | Atom::Call(..) => return None,
                    },
                };
                known.insert(factor, value);
                product = product.checked_mul(value)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// The variables of a normal form, each once.
    pub(super) fn vars(&self, normal: &Normal) -> Vec<SymbolId> {
        let (mut found, mut seen) = (vec![], FxHashSet::default());
        let mut pending = vec![normal];
        while let Some(normal) = pending.pop() {
            for &factor in normal.0.iter().flat_map(|term| &term.factors) {
                match self.get(factor) {
                    _ if !seen.insert(factor) => {}
                    Atom::Var(id) => found.push(*id),
                    Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => pending.extend([b, a]),
                    _ => {}
                }
            }
        }
        found
    }
}

/// The name of a variable in text.
pub(super) type NameOf<'a> = &'a dyn Fn(SymbolId) -> Option<&'a str>;

impl Atoms {
    /// The normal form in text, as relayc reads it: `batch`, `2*n + 1`, `(h - 1)/2`, `min(a, b)`. `None` if it has no such form, or a
    /// very long one.
    pub(super) fn text(&self, normal: &Normal, name: NameOf) -> Option<String> {
        let mut out = String::new();
        // A sum starts with what is added.
        let (plus, minus): (Vec<&Term>, Vec<&Term>) = normal.0.iter().partition(|term| term.coefficient > 0);
        if plus.is_empty() {
            out.push('0');
        }
        for (at, term) in plus.into_iter().chain(minus).enumerate() {
            out.push_str(match (at, term.coefficient < 0) {
                (0, false) => "",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            let mut factors = vec![];
            let number = term.coefficient.unsigned_abs();
            if number != 1 || term.factors.is_empty() {
                factors.push(number.to_string());
            }
            let alone = term.factors.len() == 1 && number == 1;
            for &factor in &term.factors {
                factors.push(match self.get(factor) {
                    Atom::Var(id) => name(*id)?.to_owned(),
                    Atom::Quotient(a, b) => {
                        let text = format!("{}/{}", self.operand(a, name)?, self.operand(b, name)?);
                        if alone { text } else { format!("({text})") }
                    }
                    Atom::Min(a, b) => format!("min({}, {})", self.text(a, name)?, self.text(b, name)?),
                    Atom::Max(a, b) => format!("max({}, {})", self.text(a, name)?, self.text(b, name)?),
                    Atom::Any | Atom::Float(..) | Atom::Binary(..) | Atom::Cast(..) | Atom::Call(..) => return None,
                });
            }
            out.push_str(&factors.join("*"));
            if out.len() > MAX_TEXT {
                return None;
            }
        }
        Some(out)
    }

    /// The text of an operand of `/`: in parentheses, unless it is a single factor.
    fn operand(&self, normal: &Normal, name: NameOf) -> Option<String> {
        let text = self.text(normal, name)?;
        let single = text.chars().all(|c| c.is_alphanumeric() || c == '_');
        Some(if single { text } else { format!("({text})") })
    }
}
