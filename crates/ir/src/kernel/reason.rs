//! Records why a strategy was chosen for a kernel.
//!
//! The code that chooses also creates the [`Reason`], from the numbers that decided. Estimates come from models of one core at
//! [`GHZ`]: they compare strategies and promise no time. A strategy has a name, by which it can be asked for in place of the
//! model's choice. Absent: the models, and the printing of reasons.

/// The clock rate that converts cycles to time, the same for the plans of all kernels.
pub(crate) const GHZ: f64 = 3.0;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reason {
    /// The strategy's name; empty if there is nothing to choose.
    pub strategy: String,
    /// The strategy with its parameters.
    pub name: String,
    /// The condition that it meets, or why it was the best.
    pub why: String,
    /// The estimate, in nanoseconds.
    pub ns: Option<f64>,
    /// Its cost per element, if that decided.
    pub price: Option<f64>,
    /// All other strategies.
    pub alternatives: Vec<Alternative>,
    /// Whether the strategy was asked for.
    pub forced: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
    /// The strategy's name.
    pub name: String,
    pub rejection: Rejection,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Rejection {
    /// The estimate, in nanoseconds.
    Ns(f64),
    /// Its cost per element, for comparison with the chosen one.
    Price(f64),
    /// Why it is impossible or not allowed.
    No(&'static str),
}

impl Reason {
    /// The reason for a strategy without alternatives.
    pub fn only(name: impl Into<String>, why: impl Into<String>) -> Reason {
        Reason { name: name.into(), why: why.into(), ..Reason::default() }
    }

    /// The strategies that are possible, the chosen one first.
    pub fn possible(&self) -> impl Iterator<Item = &str> {
        let others = self.alternatives.iter().filter(|other| !matches!(other.rejection, Rejection::No(_)));
        [&self.strategy].into_iter().filter(|own| !own.is_empty()).chain(others.map(|other| &other.name)).map(String::as_str)
    }

    /// The possible strategy of this name; of those whose names begin with its words, the chosen one or else the one with the least
    /// estimate.
    pub fn find(&self, name: &str) -> Option<&str> {
        let begins = |own: &str| own.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '(']));
        if let Some(exact) = self.possible().find(|own| *own == name) {
            return Some(exact);
        }
        if begins(&self.strategy) {
            return Some(&self.strategy);
        }
        let estimates = self.alternatives.iter().filter(|other| begins(&other.name)).filter_map(|other| {
            let estimate = match other.rejection {
                Rejection::Ns(estimate) | Rejection::Price(estimate) => estimate,
                Rejection::No(_) => return None,
            };
            Some((estimate, other.name.as_str()))
        });
        estimates.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
    }
}

pub fn ns_of_cycles(cycles: f64) -> f64 {
    cycles / GHZ
}
