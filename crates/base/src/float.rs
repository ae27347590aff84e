//! Float comparison with defined results for NaN and the two zeros.

macro_rules! float_max {
    ($(#[$doc:meta])* $name:ident, $ty:ident) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(a: $ty, b: $ty) -> $ty {
            if a.is_nan() || b.is_nan() {
                $ty::NAN
            } else if a == b {
                if a.is_sign_negative() { b } else { a }
            } else if a > b {
                a
            } else {
                b
            }
        }
    };
}

float_max!(
    /// The larger of two floats; NaN wins and −0 < +0.
    float_max,
    f64
);
float_max!(
    /// As [`float_max`], for f32.
    float_max_f32,
    f32
);

/// The smaller of two floats; NaN wins and −0 < +0.
#[inline]
pub fn float_min(a: f64, b: f64) -> f64 {
    -float_max(-a, -b)
}
