//! Expectations about a test's output, written in the file itself.
//!
//! ```text
//! // CHECK: nn.conv2d(%data, %w
//! // CHECK-NEXT: nn.relu
//! // CHECK-NOT: batch_norm
//! //| def @main(%x: float32) {
//! //|   %x
//! //| }
//! ```
//!
//! Lines `//| …`, one block, are the exact output; blessing rewrites them. `CHECK` lines are written by hand, and blessing keeps
//! them. Each must match a line of the output, in order; `CHECK-NEXT` must match the next line; `CHECK-NOT` must match no line
//! before the next match. A run of blanks matches any run of blanks, and `{{…}}` is a regular expression.

use super::diff;
use regex_lite::Regex;

/// An exact block in a text: the range of its lines, and its content.
struct Block {
    start: usize,
    end: usize,
    text: String,
    indent: String,
}

const BAR: &str = "//|";

fn block(text: &str) -> Option<Block> {
    let mut block: Option<Block> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let Some(rest) = line.trim_start().strip_prefix(BAR) else {
            if block.is_some() {
                break;
            }
            continue;
        };
        let indent = line[..line.len() - line.trim_start().len()].to_owned();
        let block = block.get_or_insert(Block { start, end: start, text: String::new(), indent });
        block.end = offset;
        let rest = rest.trim_end_matches(['\n', '\r']);
        block.text.push_str(rest.strip_prefix(' ').unwrap_or(rest));
        block.text.push('\n');
    }
    block
}

/// Whether the text contains the exact output.
pub(crate) fn has_block(text: &str) -> bool {
    block(text).is_some()
}

/// Whether there are `CHECK` lines.
pub(crate) fn has_checks(text: &str) -> bool {
    directives(text).next().is_some()
}

/// Compares an output with the block of the text; trailing blanks are ignored, since comments cannot hold them.
pub(crate) fn compare_block(name: &str, text: &str, output: &str) -> Result<(), String> {
    let Some(block) = block(text) else { return Ok(()) };
    let plain = |text: &str| text.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>();
    let (expected, found) = (plain(&block.text), plain(output));
    if expected == found { Ok(()) } else { Err(diff::unified(name, &expected, &found)) }
}

/// The text with its block replaced by the output.
pub(crate) fn bless_block(text: &str, output: &str) -> String {
    let Some(block) = block(text) else { return text.to_owned() };
    let line = |line: &str| {
        let line = line.trim_end();
        let blank = if line.is_empty() { "" } else { " " };
        format!("{}{BAR}{blank}{line}\n", block.indent)
    };
    let lines: String = if output.is_empty() { line("") } else { output.lines().map(line).collect() };
    format!("{}{lines}{}", &text[..block.start], &text[block.end..])
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Check,
    Next,
    Not,
}

struct Directive<'a> {
    line: usize,
    kind: Kind,
    pattern: &'a str,
}

fn directives(text: &str) -> impl Iterator<Item = Directive<'_>> {
    text.lines().enumerate().filter_map(|(i, line)| {
        let rest = line.trim_start().strip_prefix("//")?.trim_start().strip_prefix("CHECK")?;
        let kinds = [(":", Kind::Check), ("-NEXT:", Kind::Next), ("-NOT:", Kind::Not)];
        let (kind, pattern) = kinds.iter().find_map(|(mark, kind)| Some((*kind, rest.strip_prefix(mark)?)))?;
        Some(Directive { line: i + 1, kind, pattern: pattern.trim() })
    })
}

/// Checks an output against the `CHECK` lines of a text.
pub(crate) fn check_lines(text: &str, output: &str) -> Result<(), String> {
    let lines: Vec<&str> = output.lines().collect();
    // The first line that may match next, and the patterns that must not be found before it does.
    let (mut at, mut forbidden): (usize, Vec<(usize, Regex)>) = (0, vec![]);
    for directive in directives(text) {
        let Directive { line, kind, pattern } = directive;
        let regex = compile(pattern).map_err(|why| format!("line {line}: {why}"))?;
        let found = match kind {
            Kind::Not => {
                forbidden.push((line, regex));
                continue;
            }
            Kind::Next => lines.get(at).is_some_and(|line| regex.is_match(line)).then_some(at),
            Kind::Check => (at..lines.len()).find(|&i| regex.is_match(lines[i])),
        };
        let Some(found) = found else {
            return Err(not_found(line, kind, pattern, &lines, at));
        };
        none_of(&forbidden, &lines, at..found)?;
        forbidden.clear();
        at = found + 1;
    }
    none_of(&forbidden, &lines, at..lines.len())
}

fn none_of(forbidden: &[(usize, Regex)], lines: &[&str], range: std::ops::Range<usize>) -> Result<(), String> {
    for (line, regex) in forbidden {
        if let Some(i) = range.clone().find(|&i| regex.is_match(lines[i])) {
            return Err(format!("line {line}: `CHECK-NOT` found in line {} of the output: {}", i + 1, lines[i].trim()));
        }
    }
    Ok(())
}

fn not_found(line: usize, kind: Kind, pattern: &str, lines: &[&str], at: usize) -> String {
    const SHOWN: usize = 8;
    let word = if kind == Kind::Next { "CHECK-NEXT" } else { "CHECK" };
    let rest: String = lines.iter().skip(at).take(SHOWN).map(|line| format!("\n  | {line}")).collect();
    let more = if lines.len() > at + SHOWN { "\n  | …" } else { "" };
    let from = if at == 0 { "the output is".to_owned() } else { format!("the output goes on from line {}", at + 1) };
    let from = if at >= lines.len() { "the output ends here".to_owned() } else { from };
    format!("line {line}: `{word}: {pattern}` is not found; {from}{rest}{more}")
}

/// A pattern as a regular expression.
fn compile(pattern: &str) -> Result<Regex, String> {
    let mut out = String::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("{{") {
            let Some((inner, after)) = after.split_once("}}") else { return Err("`{{` without `}}`".to_owned()) };
            out.push_str(&format!("(?:{inner})"));
            rest = after;
            continue;
        }
        let end = rest.find("{{").unwrap_or(rest.len());
        let words: Vec<String> = rest[..end].split_whitespace().map(regex_lite::escape).collect();
        let (lead, trail) = (rest.starts_with(char::is_whitespace), rest[..end].ends_with(char::is_whitespace));
        let blank = |is: bool| if is { "\\s+" } else { "" };
        out.push_str(&format!("{}{}", blank(lead), words.join("\\s+")));
        out.push_str(blank(trail && !words.is_empty()));
        rest = &rest[end..];
    }
    Regex::new(&out).map_err(|error| format!("`{pattern}` is no pattern: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_compared_and_rewritten() {
        let text = "def @f() { 1 }\n//| one\n//|\n//|  two\nlast\n";
        assert!(has_block(text));
        assert_eq!(compare_block("x", text, "one\n\n two\n"), Ok(()));
        assert!(compare_block("x", text, "one\n").is_err());
        assert_eq!(bless_block(text, "a\n\nb\n"), "def @f() { 1 }\n//| a\n//|\n//| b\nlast\n");
    }

    #[test]
    fn checks_hold_in_order() {
        let output = "%0 = nn.conv2d(%x,  %w);\n%1 = nn.relu(%0);\nadd(%1, 2f)\n";
        let holds = |text: &str| check_lines(text, output);
        assert_eq!(holds("// CHECK: nn.conv2d(%x, %w)\n// CHECK-NEXT: nn.relu\n// CHECK: add(%{{[0-9]+}}, 2f)"), Ok(()));
        assert_eq!(holds("// CHECK: conv2d\n// CHECK-NOT: batch_norm\n// CHECK: add"), Ok(()));
        for (wrong, why) in [
            ("// CHECK: add\n// CHECK: relu", "line 2: `CHECK: relu` is not found; the output ends here"),
            ("// CHECK: conv2d\n// CHECK-NEXT: add", "line 2: `CHECK-NEXT: add` is not found; the output goes on from line 2"),
            ("// CHECK: conv2d\n// CHECK-NOT: relu\n// CHECK: add", "line 2: `CHECK-NOT` found in line 2"),
            ("// CHECK: {{[}}", "is no pattern"),
        ] {
            assert!(holds(wrong).is_err_and(|found| found.contains(why)), "{wrong}: {:?}", holds(wrong));
        }
    }
}
