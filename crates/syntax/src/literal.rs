//! The values of literals: numbers, strings, meta references, graph numbers (language 1.4 to 1.7).
//!
//! Works on a token's text alone. The lexer reports bad numbers with these functions, so later phases can read the same text
//! without a second report. Absent: which value fits where.

use std::borrow::Cow;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntWidth {
    I16,
    I32,
    I64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatWidth {
    F16,
    F32,
    F64,
}

impl IntWidth {
    pub fn bits(self) -> u8 {
        match self {
            IntWidth::I16 => 16,
            IntWidth::I32 => 32,
            IntWidth::I64 => 64,
        }
    }
}

impl FloatWidth {
    pub fn bits(self) -> u8 {
        match self {
            FloatWidth::F16 => 16,
            FloatWidth::F32 => 32,
            FloatWidth::F64 => 64,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NumberProblem {
    /// The digits make no number: `1.5.2f`, `1ef`.
    Malformed,
    /// A point or an exponent without the suffix `f`: `2.5`.
    NeedsF,
    /// An arithmetic expression written without blanks: `1+2`, `5-2`.
    Glued,
    /// An unknown width: `1i8`, `1f8`.
    Width(String),
    /// A value outside the type's range; the type and its largest magnitude.
    Range { dtype: &'static str, largest: &'static str },
}

/// Parses an integer literal: its value and its width, written or inferred.
///
/// `N` is int32, or int64 if it does not fit; signs fold. TVM (`src/relay/parser/tokenizer.h`) reads the magnitude before it
/// negates it. It therefore rejects the least int64, although it prints it.
pub fn parse_int(text: &str) -> Result<(i64, IntWidth), NumberProblem> {
    let (negative, body) = split_sign(text);
    let (digits, suffix) = match body.split_once('i') {
        Some((digits, suffix)) => (digits, Some(suffix)),
        None => (body, None),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(not_an_integer(digits, suffix));
    }
    let width = match suffix {
        None => None,
        Some("" | "32") => Some(IntWidth::I32),
        Some("16") => Some(IntWidth::I16),
        Some("64") => Some(IntWidth::I64),
        Some(other) => return Err(NumberProblem::Width(format!("i{other}"))),
    };
    let too_large = NumberProblem::Range { dtype: "int64", largest: "9223372036854775807" };
    let magnitude: u64 = digits.parse().map_err(|_| too_large.clone())?;
    let value = if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    let value = value.ok_or(too_large)?;
    match width {
        None if i32::try_from(value).is_ok() => Ok((value, IntWidth::I32)),
        None | Some(IntWidth::I64) => Ok((value, IntWidth::I64)),
        Some(IntWidth::I32) if i32::try_from(value).is_err() => {
            Err(NumberProblem::Range { dtype: "int32", largest: "2147483647" })
        }
        Some(IntWidth::I16) if i16::try_from(value).is_err() => Err(NumberProblem::Range { dtype: "int16", largest: "32767" }),
        Some(width) => Ok((value, width)),
    }
}

fn not_an_integer(digits: &str, suffix: Option<&str>) -> NumberProblem {
    if suffix.is_none() && is_decimal(digits) {
        NumberProblem::NeedsF
    } else if digits.bytes().skip(1).any(|b| matches!(b, b'+' | b'-')) {
        NumberProblem::Glued
    } else {
        NumberProblem::Malformed
    }
}

/// Parses a float literal: its value and its width.
///
/// The value is the double for any width. As in TVM an attribute keeps it, and only a constant rounds it (`tokenizer.h`,
/// `src/support/scalars.cc`). A literal fits its type if it rounds, to nearest even, to a finite value: `3.4028235e+38f` is the
/// shortest form of the largest float32, and slightly larger. A nonzero decimal that rounds to 0 as a double is an error.
pub fn parse_float(text: &str) -> Result<(f64, FloatWidth), NumberProblem> {
    let (double, width) = parse_float_attr(text)?;
    if double.is_finite() && !(double as f32).is_finite() && width == FloatWidth::F32 {
        return Err(NumberProblem::Range { dtype: "float32", largest: "3.4028235e+38" });
    }
    Ok((double, width))
}

/// As [`parse_float`], for an attribute of a call. Its value is a double even with the suffix `f`: TVM prints `1e+300f`.
pub fn parse_float_attr(text: &str) -> Result<(f64, FloatWidth), NumberProblem> {
    let (negative, body) = split_sign(text);
    let sign = if negative { -1.0 } else { 1.0 };
    if let Some(special) = body.strip_prefix("inf").or_else(|| body.strip_prefix("nan")) {
        let magnitude = if body.starts_with('i') { f64::INFINITY } else { f64::NAN };
        return Ok((magnitude.copysign(sign), float_width(special.strip_prefix('f').unwrap_or(special))?));
    }
    let Some((digits, suffix)) = body.split_once('f') else {
        return Err(if is_decimal(body) { NumberProblem::NeedsF } else { NumberProblem::Malformed });
    };
    if !is_decimal(digits) {
        let glued = digits.as_bytes().windows(2).any(|w| matches!(w[1], b'+' | b'-') && !matches!(w[0], b'e' | b'E'));
        return Err(if glued { NumberProblem::Glued } else { NumberProblem::Malformed });
    }
    let width = float_width(suffix)?;
    let double: f64 = digits.parse().map_err(|_| NumberProblem::Malformed)?;
    let is_zero = digits.split(['e', 'E']).next().is_some_and(|mantissa| !mantissa.bytes().any(|b| matches!(b, b'1'..=b'9')));
    if double.is_infinite() || (!is_zero && double == 0.0) {
        return Err(NumberProblem::Range { dtype: "float64", largest: "1.7976931348623157e+308" });
    }
    // A float16 is rounded through float32. From the midpoint of 65504 and the next power of two on, it rounds to infinity.
    if width == FloatWidth::F16 && double as f32 >= 65520.0 {
        return Err(NumberProblem::Range { dtype: "float16", largest: "65504" });
    }
    Ok((double.copysign(sign), width))
}

fn float_width(suffix: &str) -> Result<FloatWidth, NumberProblem> {
    match suffix {
        "" | "32" => Ok(FloatWidth::F32),
        "16" => Ok(FloatWidth::F16),
        "64" => Ok(FloatWidth::F64),
        other => Err(NumberProblem::Width(format!("f{other}"))),
    }
}

/// Whether the run of minus signs makes it negative, and what follows the run.
fn split_sign(text: &str) -> (bool, &str) {
    let body = text.trim_start_matches('-');
    ((text.len() - body.len()) % 2 == 1, body)
}

/// `digits [. digits?] [e [+-] digits]`.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        !e.is_empty() && digits(e)
    });
    !whole.is_empty() && digits(whole) && digits(fraction) && exponent_fits
}

/// Decodes a string token: removes its quotes and decodes the escapes `\\ \" \n \t \r \xHH`, which the printer writes (language
/// 5.6). Other escapes stay as they are, as TVM, which knows none, would read them.
///
/// `\xHH` is a byte; bytes that are not valid UTF-8 together become U+FFFD.
pub fn unescape_string(text: &str) -> Cow<'_, str> {
    let inner = text.strip_prefix('"').unwrap_or(text);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return inner.into();
    }
    let bytes = inner.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (decoded, len) = match (byte, bytes.get(at + 1)) {
            (b'\\', Some(b'\\')) => (b'\\', 2),
            (b'\\', Some(b'"')) => (b'"', 2),
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b'x')) => match bytes.get(at + 2..at + 4).and_then(hex_byte) {
                Some(value) => (value, 4),
                None => (byte, 1),
            },
            _ => (byte, 1),
        };
        out.push(decoded);
        at += len;
    }
    match String::from_utf8(out) {
        Ok(text) => text.into(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into(),
    }
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |b: u8| (b as char).to_digit(16);
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}

/// The type key and the index of `meta[Key][index]`; an index beyond `u64` becomes the largest.
pub fn parse_meta(text: &str) -> Option<(&str, u64)> {
    let (key, index) = text.strip_prefix("meta[")?.strip_suffix(']')?.split_once("][")?;
    Some((key, graph_number(index)))
}

/// The number of `%123`, with or without its sigil: `%00` is `%0`. Beyond `u64` it becomes the largest; [`graph_key`] still
/// distinguishes such numbers.
pub(crate) fn graph_number(text: &str) -> u64 {
    let digits = text.strip_prefix('%').unwrap_or(text);
    digits.bytes().fold(0u64, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit.wrapping_sub(b'0'))))
}

/// The number of `%123` as text without leading zeros: the same for equal numbers of any size.
pub fn graph_key(text: &str) -> &str {
    let digits = text.strip_prefix('%').unwrap_or(text).trim_start_matches('0');
    if digits.is_empty() { "0" } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FloatWidth::*;
    use IntWidth::*;

    #[test]
    fn integers_take_the_width_that_holds_them() {
        for (text, value, width) in [
            ("7", 7, I32),
            ("0010", 10, I32),
            ("--4", 4, I32),
            ("---4", -4, I32),
            ("2147483647", 2147483647, I32),
            ("-2147483648", -2147483648, I32),
            ("2147483648", 2147483648, I64),
            ("3000000000", 3000000000, I64),
            ("12i", 12, I32),
            ("12i32", 12, I32),
            ("-3i16", -3, I16),
            ("-32768i16", -32768, I16),
            ("12i64", 12, I64),
            ("-0", 0, I32),
            ("9223372036854775807", i64::MAX, I64),
            ("-9223372036854775807i64", -i64::MAX, I64),
            ("-9223372036854775808i64", i64::MIN, I64),
            ("-9223372036854775808", i64::MIN, I64),
        ] {
            assert_eq!(parse_int(text), Ok((value, width)), "{text}");
        }
    }

    #[test]
    fn bad_integers_say_why() {
        let range = |dtype, largest| NumberProblem::Range { dtype, largest };
        for (text, problem) in [
            ("2.5", NumberProblem::NeedsF),
            ("1e5", NumberProblem::NeedsF),
            ("1+2", NumberProblem::Glued),
            ("5-2", NumberProblem::Glued),
            ("1.5.2", NumberProblem::Malformed),
            ("1i8", NumberProblem::Width("i8".into())),
            ("40000i16", range("int16", "32767")),
            ("3000000000i32", range("int32", "2147483647")),
            ("9223372036854775808i64", range("int64", "9223372036854775807")),
            ("--9223372036854775808i64", range("int64", "9223372036854775807")),
            ("-9223372036854775809i64", range("int64", "9223372036854775807")),
            ("99999999999999999999", range("int64", "9223372036854775807")),
        ] {
            assert_eq!(parse_int(text), Err(problem), "{text}");
        }
    }

    #[test]
    fn floats_are_doubles_of_a_width() {
        for (text, value, width) in [
            ("2.50f", 2.5, F32),
            ("0.1f", 0.1, F32),
            ("0.1f16", 0.1, F16),
            ("0.1f64", 0.1, F64),
            ("3.f", 3.0, F32),
            ("1E+3f", 1000.0, F32),
            ("1e-60f", 1e-60, F32),
            ("-inff", f64::NEG_INFINITY, F32),
            ("inff16", f64::INFINITY, F16),
            ("inff64", f64::INFINITY, F64),
            ("--inff", f64::INFINITY, F32),
            ("0e-999f", 0.0, F32),
            ("1f", 1.0, F32),
        ] {
            assert_eq!(parse_float(text), Ok((value, width)), "{text}");
        }
        assert!(parse_float("-0f").is_ok_and(|(value, _)| value == 0.0 && value.is_sign_negative()));
        assert!(parse_float("-nanf16").is_ok_and(|(value, width)| value.is_nan() && value.is_sign_negative() && width == F16));
    }

    #[test]
    fn bad_floats_say_why() {
        for (text, problem) in [
            ("1.5.2f", NumberProblem::Malformed),
            ("1ef", NumberProblem::Malformed),
            ("1f8", NumberProblem::Width("f8".into())),
            ("2.5", NumberProblem::NeedsF),
            ("1+2f", NumberProblem::Glued),
            ("1e39f", out_of("float32", "3.4028235e+38")),
            ("-3.4028235677973367e38f", out_of("float32", "3.4028235e+38")),
            ("65520f16", out_of("float16", "65504")),
            ("-65519.999f16", out_of("float16", "65504")),
            ("1e400f", out_of("float64", "1.7976931348623157e+308")),
            ("1.797693134862315808e308f64", out_of("float64", "1.7976931348623157e+308")),
            ("1e-400f64", out_of("float64", "1.7976931348623157e+308")),
        ] {
            assert_eq!(parse_float(text), Err(problem), "{text}");
        }
    }

    fn out_of(dtype: &'static str, largest: &'static str) -> NumberProblem {
        NumberProblem::Range { dtype, largest }
    }

    /// The largest magnitudes, and literals that round to them.
    #[test]
    fn a_literal_fits_if_it_rounds_to_a_finite_value() {
        for (text, rounded) in [
            ("-3.4028235e+38f", f64::from(f32::MIN)),
            ("3.4028235677973362e38f32", f64::from(f32::MAX)),
            ("65519.99f16", 65504.0),
            ("-65519f16", -65504.0),
            ("1.7976931348623157e+308f64", f64::MAX),
            ("1.797693134862315807e308f64", f64::MAX),
            ("5e-324f64", 5e-324),
            ("2e-310f64", 2e-310),
        ] {
            let (value, width) = parse_float(text).expect(text);
            let value = match width {
                F16 => f64::from(half::f16::from_f32(value as f32)),
                F32 => f64::from(value as f32),
                F64 => value,
            };
            assert_eq!(value, rounded, "{text}");
        }
        assert_eq!(parse_float_attr("-1e+300f"), Ok((-1e300, F32)));
        assert_eq!(parse_float_attr("1e400f"), Err(out_of("float64", "1.7976931348623157e+308")));
    }

    #[test]
    fn strings_decode_what_the_printer_escapes() {
        for (text, value) in [
            (r#""abc""#, "abc"),
            (r#""a\nb""#, "a\nb"),
            (r#""a\"b\\""#, "a\"b\\"),
            (r#""\q\x41\xzz""#, r"\qA\xzz"),
            (r#""\xc3\xa9""#, "é"),
            (r#""\xff""#, "\u{fffd}"),
            (r#""""#, ""),
            ("\"open", "open"),
        ] {
            assert_eq!(unescape_string(text), value, "{text}");
        }
    }

    #[test]
    fn references_split() {
        assert_eq!(parse_meta("meta[relay.Constant][12]"), Some(("relay.Constant", 12)));
        assert_eq!(graph_number("%007"), 7);
        assert_eq!(graph_number("%99999999999999999999999"), u64::MAX);
        assert_eq!(graph_key("%00"), "0");
        assert_eq!(graph_key("%0120"), "120");
    }
}
