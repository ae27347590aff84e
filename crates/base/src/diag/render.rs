//! Renders diagnostics: `human` (a terminal, ariadne), `plain` and `short` (pipes, logs and golden files, codespan-reporting),
//! `json` (one object a line, schema `relayc.diag/1`).
//!
//! Control bytes in text from files are escaped.

use super::excerpt::Excerpt;
use super::{Diagnostic, Equation, Severity};
use crate::text::{count, escape_control, one_line};
use crate::{FileId, Idx, Sources, Span};
use codespan_reporting::{diagnostic as cs, files as csf, term};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The format of messages, `--message-format`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Human,
    Plain,
    Short,
    Json,
}

/// The JSON Schema of [`Format::Json`] lines.
pub const SCHEMA: &str = include_str!("diag.schema.json");

/// Renders diagnostics, one after another.
pub fn render(diagnostics: &[Diagnostic], sources: &Sources, format: Format, color: bool) -> String {
    let mut out = String::new();
    let visible = visible(sources);
    let sources = match format {
        Format::Human | Format::Plain => &*visible,
        Format::Short | Format::Json => sources,
    };
    for diagnostic in diagnostics {
        match format {
            Format::Human if !diagnostic.span().is_none() => human(diagnostic, sources, color, &mut out),
            Format::Human | Format::Plain => plain(diagnostic, sources, &mut out),
            Format::Short => short(diagnostic, sources, &mut out),
            Format::Json => {
                out.push_str(&to_json(diagnostic, sources).to_string());
                out.push('\n');
            }
        }
    }
    out
}

/// Replaces each character that could control a terminal by one of as many bytes, so that columns stay the same; names of files
/// are one line each.
fn visible(sources: &Sources) -> Cow<'_, Sources> {
    let hostile = |c: char| c != '\r' && matches!(escape_control(c.encode_utf8(&mut [0; 4])), Cow::Owned(_));
    if !sources.files().any(|file| file.text.contains(hostile) || one_line(&file.name) != file.name) {
        return Cow::Borrowed(sources);
    }
    let sign = |c: char| match c.len_utf8() {
        _ if !hostile(c) => c,
        1 => '?',
        2 => '\u{bf}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    let mut all = Sources::new();
    for file in sources.files() {
        all.add(one_line(&file.name), file.text.chars().map(sign).collect::<String>());
    }
    Cow::Owned(all)
}

/// The notes in reading order: the broken equation, why it is required, what to write.
fn footer(diagnostic: &Diagnostic) -> (Vec<String>, Vec<String>) {
    let mut notes = Vec::new();
    if let Some(equation) = &diagnostic.equation {
        notes.push(need(equation));
    }
    notes.extend(diagnostic.notes.iter().map(|note| escape_control(note).into_owned()));
    let helps = diagnostic.helps.iter().map(|help| escape_control(&help.text).into_owned()).collect();
    (notes, helps)
}

/// `need data.C == weight.I * groups, got 64 != 32 * 1`.
fn need(equation: &Equation) -> String {
    let Equation { rule, values } = equation;
    let relations = [" == ", " <= ", " >= ", " < ", " > "];
    let n_relations: usize = relations.iter().map(|relation| values.matches(relation).count()).sum();
    match n_relations {
        0 => format!("need {rule}, got {values}"),
        1 if values.contains(" == ") => format!("need {rule}, got {}", values.replace(" == ", " != ")),
        _ => format!("need {rule}, but {values} is false"),
    }
}

fn human(given: &Diagnostic, whole: &Sources, color: bool, out: &mut String) {
    use ariadne::{Color, Config, IndexType, Label, Report, ReportKind, Source};
    let (kind, tint) = match given.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
    };
    let excerpt = Excerpt::of(given, whole);
    let (diagnostic, sources) = excerpt.as_ref().map_or((given, whole), |cut| (&cut.diagnostic, &cut.sources));
    let at = |span: Span| (span.file.index(), span.start as usize..span.end as usize);
    let config = Config::default().with_index_type(IndexType::Byte).with_color(color);
    let mut report = Report::build(kind, at(diagnostic.span()))
        .with_config(config)
        .with_code(diagnostic.code.id())
        .with_message(one_line(&diagnostic.message));
    // In text order: the renderer starts a new excerpt at a label that stands above the one before.
    let mut labels: Vec<&super::Label> =
        diagnostic.labels.iter().filter(|label| sources.file(label.span.file).is_some()).collect();
    labels.sort_by_key(|label| (label.span.file, label.span.end));
    let headed = headed(diagnostic.span(), labels.iter().map(|label| label.span));
    for label in labels {
        let tint = if label.primary { tint } else { Color::Blue };
        let span = without_line_break(label.span, sources);
        report = report.with_label(Label::new(at(span)).with_message(escape_control(&label.text)).with_color(tint));
    }
    let (notes, helps) = footer(diagnostic);
    for note in notes {
        report = report.with_note(note);
    }
    for help in helps {
        report = report.with_help(help);
    }
    // One cache entry for each file a label points into.
    let files = diagnostic.labels.iter().filter_map(|label| {
        let file = sources.file(label.span.file)?;
        Some((label.span.file.index(), (file.name.clone(), one_line_break(&file.text))))
    });
    let cache = HumanCache { files: files.map(|(id, (name, text))| (id, (name, Source::from(text)))).collect() };
    let mut bytes = Vec::new();
    if report.finish().write(cache, &mut bytes).is_err() {
        return plain(given, whole, out);
    }
    let text = escape_rendered(&String::from_utf8_lossy(&bytes), color);
    out.push_str(&with_true_columns(&text, &headed, excerpt.as_ref(), whole));
}

/// The places that the renderer's headings name, one for each file: the mistake in its own file, the first label in any other.
/// The labels are given in text order.
fn headed(mistake: Span, labels: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut places: Vec<Span> = labels.collect();
    places.dedup_by_key(|place| place.file);
    places.iter_mut().filter(|place| place.file == mistake.file).for_each(|place| *place = mistake);
    places
}

/// Corrects the columns in headings: the renderer counts characters, and those of the cut lines.
fn with_true_columns(text: &str, headed: &[Span], cut: Option<&Excerpt>, whole: &Sources) -> String {
    let true_column = |line: &str, place: &Span| {
        let (id, at) = (place.file, place.start as usize);
        let (shown, file) = (cut.map_or(whole, |cut| &cut.sources).file(id)?, whole.file(id)?);
        let (number, bytes) = shown.line_col(at);
        let characters = one_line_break(shown.text.get(at + 1 - bytes..at)?).chars().count() + 1;
        let heading = |column: usize| format!("{}:{number}:{column} ", file.name);
        let column = cut.map_or(bytes, |cut| cut.column(id, at, file));
        Some(line.replacen(&heading(characters), &heading(column), 1))
    };
    let mut headed = headed.iter();
    // Behind its colour; every other line begins with letters or with the bar of the margin.
    let is_heading = |line: &str| line.find(['╭', '├']).is_some_and(|at| !line[..at].contains(['│', ']']));
    let lines = text.split_inclusive('\n').map(|line| match is_heading(line) {
        true => headed.next().and_then(|place| true_column(line, place)).map_or(line.into(), Cow::Owned),
        false => Cow::Borrowed(line),
    });
    lines.collect()
}

/// Escapes control bytes of source lines, which the renderer copies as they are, and keeps its own colours.
fn escape_rendered(text: &str, color: bool) -> String {
    if !color {
        return escape_control(text).into_owned();
    }
    const MARK: char = '\u{f8ff}';
    escape_control(&text.replace("\u{1b}[", &format!("{MARK}["))).replace(MARK, "\u{1b}")
}

/// Ends a span before its final line break: the renderer cannot point at a line break.
fn without_line_break(span: Span, sources: &Sources) -> Span {
    let trimmed = sources.slice(span).trim_end_matches(['\n', '\r', ' ']).len();
    if trimmed == 0 { Span { end: span.start, ..span } } else { Span { end: span.start + trimmed as u32, ..span } }
}

/// Replaces the characters that only the renderer takes for line breaks by as many blanks.
fn one_line_break(text: &str) -> Cow<'_, str> {
    const OTHERS: [char; 6] = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    if !text.contains(OTHERS) {
        return text.into();
    }
    let blanks = |c: char| if OTHERS.contains(&c) { " ".repeat(c.len_utf8()) } else { c.to_string() };
    text.chars().map(blanks).collect::<String>().into()
}

struct HumanCache<'a> {
    files: std::collections::BTreeMap<usize, (String, ariadne::Source<Cow<'a, str>>)>,
}

impl<'a> ariadne::Cache<usize> for HumanCache<'a> {
    type Storage = Cow<'a, str>;

    fn fetch(&mut self, id: &usize) -> Result<&ariadne::Source<Cow<'a, str>>, impl std::fmt::Debug> {
        self.files.get(id).map(|(_, source)| source).ok_or("no such file")
    }

    fn display<'b>(&self, id: &'b usize) -> Option<impl std::fmt::Display + 'b> {
        self.files.get(id).map(|(name, _)| name.clone())
    }
}

/// Gives codespan-reporting our texts by its index.
struct Files<'a> {
    sources: &'a Sources,
    /// The excerpt and the whole texts, if `sources` are cut.
    whole: Option<(&'a Excerpt, &'a Sources)>,
}

impl<'a> csf::Files<'a> for Files<'a> {
    type FileId = u32;
    type Name = String;
    type Source = &'a str;

    fn name(&'a self, id: u32) -> Result<String, csf::Error> {
        self.file(id).map(|file| file.name.clone())
    }

    fn source(&'a self, id: u32) -> Result<&'a str, csf::Error> {
        self.file(id).map(|file| &*file.text)
    }

    fn line_index(&'a self, id: u32, offset: usize) -> Result<usize, csf::Error> {
        self.file(id).map(|file| file.line_col(offset.min(file.text.len())).0 - 1)
    }

    fn line_range(&'a self, id: u32, line: usize) -> Result<std::ops::Range<usize>, csf::Error> {
        let file = self.file(id)?;
        file.line_range(line).ok_or(csf::Error::LineTooLarge { given: line, max: file.n_lines() })
    }

    fn column_number(&'a self, id: u32, _line: usize, at: usize) -> Result<usize, csf::Error> {
        match self.whole {
            Some((cut, whole)) => {
                let file = whole.file(FileId(id)).ok_or(csf::Error::FileMissing)?;
                Ok(cut.column(FileId(id), at, file))
            }
            None => Ok(self.file(id)?.line_col(at).1),
        }
    }
}

impl<'a> Files<'a> {
    fn file(&self, id: u32) -> Result<&'a crate::SourceFile, csf::Error> {
        self.sources.file(FileId(id)).ok_or(csf::Error::FileMissing)
    }
}

fn codespan(diagnostic: &Diagnostic, sources: &Sources) -> cs::Diagnostic<u32> {
    let severity = match diagnostic.severity {
        Severity::Error => cs::Severity::Error,
        Severity::Warning => cs::Severity::Warning,
    };
    let labels = diagnostic.labels.iter().filter(|label| sources.file(label.span.file).is_some()).map(|label| {
        let style = if label.primary { cs::LabelStyle::Primary } else { cs::LabelStyle::Secondary };
        let range = label.span.start as usize..label.span.end as usize;
        cs::Label::new(style, label.span.file.0, range).with_message(escape_control(&label.text))
    });
    let (notes, helps) = footer(diagnostic);
    let notes =
        notes.into_iter().map(|note| format!("note: {note}")).chain(helps.into_iter().map(|help| format!("help: {help}")));
    cs::Diagnostic::new(severity)
        .with_code(diagnostic.code.id())
        .with_message(one_line(&diagnostic.message))
        .with_labels(labels.collect())
        .with_notes(notes.collect())
}

fn plain(given: &Diagnostic, whole: &Sources, out: &mut String) {
    let excerpt = Excerpt::of(given, whole);
    let (diagnostic, sources) = excerpt.as_ref().map_or((given, whole), |cut| (&cut.diagnostic, &cut.sources));
    let files = Files { sources, whole: excerpt.as_ref().map(|cut| (cut, whole)) };
    let config = term::Config { chars: term::Chars::ascii(), ..term::Config::default() };
    let mut text = String::new();
    match term::emit_to_string(&mut text, &config, &files, &codespan(diagnostic, sources)) {
        Ok(()) => out.push_str(&escape_control(&text)),
        // The message matters more than the excerpt.
        Err(_) => short(given, whole, out),
    }
}

fn short(diagnostic: &Diagnostic, sources: &Sources, out: &mut String) {
    let span = diagnostic.span();
    if let (Some(file), Some((line, col))) = (sources.file(span.file), sources.line_col(span)) {
        out.push_str(&format!("{}:{line}:{col}: ", one_line(&file.name)));
    }
    out.push_str(&format!("{}[{}]: {}", level(diagnostic), diagnostic.code.id(), one_line(&diagnostic.message)));
    if let Some(equation) = &diagnostic.equation {
        out.push_str(&format!(": {}", need(equation)));
    }
    out.push('\n');
}

fn level(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Converts a diagnostic to an object of schema `relayc.diag/1`.
fn to_json(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let place = |span: Span| {
        let (line, col) = sources.line_col(span).unwrap_or((0, 0));
        let name = sources.file(span.file).map(|file| file.name.clone());
        json!({"file": name, "byte_start": span.start, "byte_end": span.end, "line": line, "col": col})
    };
    let spans = diagnostic.labels.iter().filter(|label| !label.span.is_none()).map(|label| {
        let mut object = place(label.span);
        object["primary"] = json!(label.primary);
        object["label"] = json!(label.text);
        object
    });
    let fixes = diagnostic.helps.iter().map(|help| {
        let edits = help.edits.iter().map(|edit| {
            let mut object = place(edit.span);
            object["text"] = json!(edit.text);
            object
        });
        let applicability = if help.certain { "machine-applicable" } else { "maybe-incorrect" };
        json!({"title": help.text, "applicability": applicability, "edits": edits.collect::<Vec<_>>()})
    });
    json!({
        "schema": "relayc.diag/1",
        "reason": "diagnostic",
        "code": diagnostic.code.id(),
        "level": level(diagnostic),
        "message": diagnostic.message,
        "spans": spans.collect::<Vec<_>>(),
        "equation": diagnostic.equation.as_ref().map(|e| json!({"rule": e.rule, "values": e.values})),
        "notes": diagnostic.notes,
        "fixes": fixes.collect::<Vec<_>>(),
    })
}

/// Reports an applied fix: `net.relay:1:1: fixed[W0001]: start the file with …`. JSON gets the diagnostic with the reason
/// `fixed`.
pub fn fixed(diagnostic: &Diagnostic, sources: &Sources, format: Format) -> String {
    if format == Format::Json {
        let mut object = to_json(diagnostic, sources);
        object["reason"] = json!("fixed");
        return object.to_string() + "\n";
    }
    let span = diagnostic.span();
    let place = match (sources.file(span.file), sources.line_col(span)) {
        (Some(file), Some((line, col))) => format!("{}:{line}:{col}: ", one_line(&file.name)),
        _ => String::new(),
    };
    let help = diagnostic.helps.iter().find(|help| help.certain).map_or("", |help| help.text.as_str());
    let message = one_line(&diagnostic.message);
    format!("{place}fixed[{}]: {message}: {}\n", diagnostic.code.id(), escape_control(help))
}

/// The closing line: `net.relay: 1 error, 0 warnings`; JSON gets a `summary` object.
pub fn summary(diagnostics: &[Diagnostic], what: &str, format: Format) -> String {
    let errors = diagnostics.iter().filter(|d| d.is_error()).count();
    let warnings = diagnostics.len() - errors;
    match format {
        Format::Json => {
            json!({"schema": "relayc.diag/1", "reason": "summary", "file": what, "errors": errors, "warnings": warnings})
                .to_string()
                + "\n"
        }
        _ => format!("{}: {}, {}\n", one_line(what), count(errors, "error"), count(warnings, "warning")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::codes;

    /// Labels at various distances, and messages that mention other places.
    #[test]
    fn headings_say_the_true_column() {
        let words: String = (10..99).map(|n| format!(":2:{n} ")).collect();
        let mut sources = Sources::new();
        let file = sources.add("x.relay", format!("short\n{}\nend\n", "word ".repeat(200)));
        for column in 1..300 {
            for other in [500, 601, 777] {
                let at = |column: usize| Span::new(file, column + 5, column + 8);
                let diagnostic = Diagnostic::new(codes::E0101, words.clone()).at(at(column), "label").also(at(other), "other");
                for color in [false, true] {
                    let out = render(std::slice::from_ref(&diagnostic), &sources, Format::Human, color);
                    assert!(out.contains(&format!(" x.relay:2:{column} ")) && out.contains(&words), "{column} {other}: {out}");
                }
            }
        }
    }

    #[test]
    fn every_format_survives_every_place() {
        let mut sources = Sources::new();
        let text = "a\r\nb\u{2028}c\u{85}\u{b}\nü\u{1b}[31m\n";
        let file = sources.add("x\u{7}.relay", text);
        let places: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
        for &start in &places {
            for &end in places.iter().filter(|&&end| end >= start) {
                let diagnostic = Diagnostic::new(codes::E0101, "message").at(Span::new(file, start, end), "label");
                for format in [Format::Human, Format::Plain, Format::Short, Format::Json] {
                    let out = render(std::slice::from_ref(&diagnostic), &sources, format, false);
                    assert!(out.contains("E0101") && !out.contains('\u{1b}'), "{out}");
                }
            }
        }
    }
}
