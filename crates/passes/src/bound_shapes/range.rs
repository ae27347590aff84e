//! Ranges of numbers, as the operators compute them.

use relayc_ir::types::{DType, DTypeCode};

/// Bounds of all elements that are no NaN; infinite where there is none.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Range {
    pub(super) const ALL: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY };
    const NONE: Range = Range { low: f64::INFINITY, high: f64::NEG_INFINITY };

    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Range {
        values.into_iter().fold(Range::NONE, |range, value| Range { low: range.low.min(value), high: range.high.max(value) })
    }

    pub(super) fn or(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The results of a function that is monotone in both operands, at the ends of theirs.
    pub(super) fn ends(self, other: Range, f: impl Fn(f64, f64) -> f64) -> Range {
        let ends = [f(self.low, other.low), f(self.low, other.high), f(self.high, other.low), f(self.high, other.high)];
        if ends.iter().any(|end| end.is_nan()) { Range::ALL } else { Range::of(ends) }
    }

    /// What a tensor of a dtype holds of it: floats are rounded, more than once where kernels are fused, and integers wrap.
    pub(super) fn held(self, dtype: DType) -> Range {
        match dtype.code {
            DTypeCode::Float | DTypeCode::BFloat => {
                let part = if dtype.bits < 32 { 1e-1 } else { 1e-5 };
                Range { low: self.low - part * self.low.abs(), high: self.high + part * self.high.abs() }.or_all()
            }
            _ => {
                let low = if dtype.code == DTypeCode::Int { -2f64.powi(i32::from(dtype.bits) - 2) } else { 0.0 };
                let fits = low <= self.low && self.high <= 2f64.powi(i32::from(dtype.bits) - 2);
                if fits { self } else { Range::ALL }
            }
        }
    }

    fn or_all(self) -> Range {
        if self.low.is_nan() || self.high.is_nan() { Range::ALL } else { self }
    }

    /// What a conversion makes of it: NaN becomes the integer 0, and floats are cut and saturate.
    pub(super) fn cast(self, from: DType, to: DType) -> Range {
        if to == DType::BOOL {
            return Range { low: 0.0, high: 1.0 };
        }
        if to.is_float() || !from.is_float() {
            return self.held(to);
        }
        let (low, high) = if to.code == DTypeCode::Int {
            (-2f64.powi(i32::from(to.bits) - 1), 2f64.powi(i32::from(to.bits) - 1))
        } else {
            (0.0, 2f64.powi(i32::from(to.bits)))
        };
        Range { low: self.low.trunc().clamp(low, high), high: self.high.trunc().clamp(low, high) }.or(Range::of([0.0]))
    }
}
