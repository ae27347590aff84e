//! Writes literals, attribute values, strings.

use super::Writer;

/// A string literal of a few words, or of what must be escaped.
const STRINGS: [&str; 12] = [
    "\"NCHW\"",
    "\"\"",
    "\"a b\"",
    r#""tab\tquote\" back\\slash""#,
    r#""\n\r\x00\x7F\xC3\xA9""#,
    "\"é\u{1F600}\"",
    "\"// no comment /* none */\"",
    "\"%x @f meta[K][0] #[metadata]\"",
    r#""unknown \q""#,
    "\"0123456789abcdef\"",
    "\"'\"",
    "\"two\nlines\"",
];

impl Writer<'_> {
    pub fn string(&mut self) -> String {
        self.pick(&STRINGS).to_owned()
    }

    /// A scalar constant, where the element type has literals.
    pub fn literal(&mut self, dtype: &str) -> Option<String> {
        let texts: &[&str] = match dtype {
            "float32" => &[
                "1f",
                "0f",
                "-2.5f",
                "0.1f",
                "1e-05f",
                "3.f",
                "1E5f",
                "2.5e+10f",
                "123456f",
                "1f32",
                "--1.5f",
                "---0.25f",
                "-0f",
                "1e-60f",
                "inff",
                "-inff",
                "nanf",
                "007.50f",
                "3.40282e+38f",
            ],
            "float64" => &["1f64", "0.1f64", "-1e300f64", "2.5e-10f64", "inff64", "-inff64", "nanf64", "-0f64", "--3.5f64"],
            "float16" => &["1f16", "0.5f16", "0.1f16", "65504f16", "-0f16", "inff16", "nanf16", "-inff16", "1e-07f16"],
            "int32" => &["0", "1", "-3", "42", "2147483647", "-2147483648", "7i32", "12i", "--4", "007", "---5", "-0"],
            "int64" => &["0i64", "2147483648", "-5i64", "9223372036854775807", "-9223372036854775807i64", "--3000000000"],
            "int16" => &["0i16", "3i16", "-32768i16", "32767i16"],
            "bool" => &["True", "False"],
            _ => return None,
        };
        Some(self.pick(texts).to_owned())
    }

    /// The value of an attribute of a function.
    pub fn attr_value(&mut self, depth: usize) -> String {
        match self.choose(if depth < 3 { 12 } else { 9 }) {
            0 => "1".to_owned(),
            1 => self.string(),
            2 => self.literal("int32").unwrap_or_default(),
            3 => self.literal("int64").unwrap_or_default(),
            4 => self.literal("bool").unwrap_or_default(),
            5 => self.pick(&["0.5f", "-2f64", "1e-05f", "0.25f16", "inff"]).to_owned(),
            6 => self.pick(&["None", "nullptr"]).to_owned(),
            7 => self.literal("int16").unwrap_or_default(),
            8 => {
                let which = self.choose(4);
                self.meta.object(which)
            }
            9 => format!("({})", self.attr_value(depth + 1)),
            _ => {
                let items = (0..self.choose(4)).map(|_| self.attr_value(depth + 1)).collect();
                format!("[{}]", self.list(items))
            }
        }
    }

    /// A list of integers, some of them as long as their literals allow.
    pub fn ints(&mut self, values: &[i64]) -> String {
        let suffix = if self.wide && self.once_in(4) { "i64" } else { "" };
        let items = values.iter().map(|value| format!("{value}{suffix}")).collect();
        format!("[{}]", self.list(items))
    }

    pub fn flag(&mut self) -> &'static str {
        self.pick(&["False", "True", "0", "1"])
    }

    /// `name(args, attrs)`, with blanks around the dots of the name now and then.
    pub fn call(&mut self, name: &str, args: &[String], attrs: &[String]) -> String {
        let name = if self.once_in(40) { name.replace('.', " . ") } else { name.to_owned() };
        let items = args.iter().chain(attrs).cloned().collect();
        format!("{name}({})", self.list(items))
    }
}
