//! What NaN and the two zeros mean where floats are compared.

/// The larger of two floats; NaN wins and −0 < +0.
pub fn float_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == b {
        if a.is_sign_negative() { b } else { a }
    } else if a > b {
        a
    } else {
        b
    }
}

/// The smaller of two floats; NaN wins and −0 < +0.
pub fn float_min(a: f64, b: f64) -> f64 {
    -float_max(-a, -b)
}
