//! Records why a strategy was chosen for a kernel.
//!
//! The code that chooses also creates the [`Reason`], from the numbers that decided. Estimates come from models of one core at
//! [`GHZ`]: they compare strategies and promise no time. Absent: the models, and the printing of reasons.

/// The clock rate that converts cycles to time, the same for the plans of all kernels.
pub(crate) const GHZ: f64 = 3.0;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reason {
    /// The strategy with its parameters.
    pub name: String,
    /// The condition that it meets, or why it was the best.
    pub why: String,
    /// The estimate, in nanoseconds.
    pub ns: Option<f64>,
    pub alternatives: Vec<Alternative>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
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
}

pub fn ns_of_cycles(cycles: f64) -> f64 {
    cycles / GHZ
}
