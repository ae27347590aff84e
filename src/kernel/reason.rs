//! Why a kernel is computed the way it is: what a choice saw, as data for who asks.
//!
//! A [`Reason`] is made where the choice is made, of the very numbers that decided it. Estimates are those of the models, for
//! one core at [`GHZ`]: they compare ways with each other, and promise no time. Deliberately not here: the models (`jit`), and
//! how a reason is printed (`plan`).

/// The clock that cycles are told by, so that plans of different kernels read alike.
pub const GHZ: f64 = 3.0;

/// What was chosen.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reason {
    /// The strategy with its parameters.
    pub name: String,
    /// The condition that it meets, or what made it the best.
    pub why: String,
    /// The estimate, in nanoseconds.
    pub ns: Option<f64>,
    /// What else was looked at.
    pub others: Vec<Other>,
}

/// A way not taken.
#[derive(Clone, PartialEq, Debug)]
pub struct Other {
    pub name: String,
    pub said: Said,
}

/// What was said of a way.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// The estimate, in nanoseconds.
    Ns(f64),
    /// The price of an element, beside the one that was paid.
    Price(f64),
    /// What keeps it from being possible or allowed.
    No(&'static str),
}

impl Reason {
    /// Where there was nothing to choose.
    pub fn only(name: impl Into<String>, why: impl Into<String>) -> Reason {
        Reason { name: name.into(), why: why.into(), ..Reason::default() }
    }
}

/// The time of so many cycles.
pub fn ns_of_cycles(cycles: f64) -> f64 {
    cycles / GHZ
}
