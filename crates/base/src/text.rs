//! Small text helpers: spelling suggestions, lists in words, escaped control bytes, formatted numbers.

pub use super::spelling::{SpellingSearch, nearest};

/// Joins words with commas and `last`: `a`, `a and b`, `a, b and c`.
pub fn join_words(items: &[String], last: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., end] => format!("{} {last} {end}", init.join(", ")),
    }
}

/// A count with its noun: `1 error`, `2 errors`.
pub fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}

/// Escapes control characters, so that no input can control a terminal.
pub fn escape_control(text: &str) -> std::borrow::Cow<'_, str> {
    let hostile =
        |c: char| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(hostile) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hostile(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out.into()
}

/// A name in one line: escapes control characters, line breaks and tabs.
pub fn one_line(name: &str) -> String {
    escape_control(name).replace('\n', "\\n").replace('\t', "\\t")
}

/// Wraps a text into lines of at most `width` characters, all but the first indented by `indent`. Each ends in a newline.
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push_str(&line);
            lines.push('\n');
            line = indent.to_owned();
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines + &line + "\n"
}

/// Cuts a text to at most `width` characters; `…` marks the rest.
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(2)).collect();
    format!("{} …", start.trim_end())
}

/// A number of bytes in words: `512 B`, `1.5 MiB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..1_048_576 => format!("{:.1} KiB", n as f64 / 1024.0),
        _ => format!("{:.1} MiB", n as f64 / 1_048_576.0),
    }
}

/// A time in milliseconds in words, with three digits: `33.2 µs`, `1.25 s`.
pub fn duration(ms: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e3, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns")];
    let (scale, unit) = UNITS.into_iter().find(|(scale, _)| ms >= *scale).unwrap_or(UNITS[3]);
    let time = ms / scale;
    let digits = [100.0, 10.0].iter().filter(|least| time < **least).count();
    format!("{time:.digits$} {unit}")
}

/// A number with thousands separated: `1,000,000`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A float as C's `%g` prints it: six significant digits, trailing zeros dropped (language 5.5).
pub fn format_g(value: f64) -> String {
    format_g_digits(value, 6)
}

/// A float as C's `%.{digits}g` prints it.
pub fn format_g_digits(value: f64, digits: i32) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan".into() } else { "nan".into() };
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf".into() } else { "inf".into() };
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    // `{:e}` with one decimal fewer rounds to the significant digits and gives the exponent after rounding.
    let scientific = format!("{value:.*e}", (digits - 1) as usize);
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a decimal exponent");
    let trim = |s: &str| if s.contains('.') { s.trim_end_matches('0').trim_end_matches('.').to_owned() } else { s.to_owned() };
    if (-4..digits).contains(&exponent) {
        trim(&format!("{value:.*}", (digits - 1 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
    }
}

/// As [`format_g`], with more digits until `same` accepts the value that is read back.
pub fn format_exact(value: f64, same: impl Fn(f64) -> bool) -> String {
    const MOST: i32 = 17;
    let read_back = |text: &String| !value.is_finite() || text.parse().is_ok_and(&same);
    (6..MOST).map(|digits| format_g_digits(value, digits)).find(read_back).unwrap_or_else(|| format_g_digits(value, MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_steers_a_terminal_or_breaks_a_line() {
        assert_eq!(one_line("layer1/w \u{e9}"), "layer1/w \u{e9}");
        assert_eq!(one_line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(one_line("\u{1b}[31m\u{202e}"), "\\u{1b}[31m\\u{202e}");
    }

    #[test]
    fn times_have_three_digits() {
        for (ms, text) in [(0.0332, "33.2 µs"), (1250.0, "1.25 s"), (2.5e-4, "250 ns"), (0.0, "0.00 ns"), (12.34, "12.3 ms")] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn format_g_matches_c() {
        for (value, text) in [
            (2.5, "2.5"),
            (0.1, "0.1"),
            (1e-5, "1e-05"),
            (100000.0, "100000"),
            (1e6, "1e+06"),
            (16777216.0, "1.67772e+07"),
            (-0.0, "-0"),
            (f64::INFINITY, "inf"),
            (0.0999755859375, "0.0999756"),
            (0.0001, "0.0001"),
            (999999.5, "1e+06"),
            (123456.7, "123457"),
            (1e-310, "1e-310"),
        ] {
            assert_eq!(format_g(value), text);
        }
        assert_eq!(format_g_digits(0.7, 17), "0.69999999999999996");
        assert_eq!(format_g_digits(0.5, 17), "0.5");
        let as_f32 = |value: f64| format_exact(value, |read| read as f32 == value as f32);
        assert_eq!(
            [as_f32(0.1), as_f32(f64::from(16_777_217f32)), as_f32(f64::from(1f32 / 3.0))],
            ["0.1", "16777216", "0.33333334"]
        );
        assert_eq!(format_exact(0.1 + 0.2, |read| read == 0.1 + 0.2), "0.30000000000000004");
        assert_eq!(format_g_digits(1e17, 17), "1e+17");
    }
}
