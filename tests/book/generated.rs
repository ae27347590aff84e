//! Generates the pages that relayc writes about itself: commands, operators, diagnostics, calls of older versions.
//!
//! They are in `docs/src/generated/`, outside the repository, because the code declares their content once.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Namespaces with fewer operators than this share a page.
const OWN_PAGE: usize = 5;

/// The phases that diagnostics are grouped by.
const PHASES: &[(&str, &str)] = &[
    ("E00", "Lexing"),
    ("E01", "Parsing"),
    ("E02", "Names and metadata"),
    ("E03", "Types and shapes"),
    ("E04", "Attributes and rules of operators"),
    ("E05", "Run time"),
    ("E06", "Planning and code generation"),
    ("E07", "Files and formats"),
    ("E08", "Limits"),
    ("E09", "Bugs in relayc"),
    ("W00", "Warnings"),
];

/// All generated pages: the path below `docs/src/` and the text.
pub(crate) fn pages(relayc: &Path) -> BTreeMap<String, String> {
    let relayc = Relayc(relayc);
    let mut pages = BTreeMap::from([("generated/commands.md".to_owned(), relayc.commands())]);
    relayc.operators(&mut pages);
    pages.insert("generated/diagnostics.md".to_owned(), relayc.diagnostics());
    pages.insert("generated/old-calls.md".to_owned(), old_calls());
    pages
}

/// The page of calls that older TVMs printed otherwise.
fn old_calls() -> String {
    let mut page =
        "# Calls of older versions\n\nThis page is generated from the list that `relayc fmt --upgrade` rewrites by; each row \
                    is an example. *If certainly old* marks calls that are right today and mean something else \
                    ([The Relay text language 9.4](../reference/language.md#94-operators-that-have-changed)).\n\n\
                    | up to TVM | then | today |\n|---|---|---|\n"
            .to_owned();
    for call in relayc_syntax::old_calls::list() {
        let certainly = if call.is_ambiguous { ", if certainly old" } else { "" };
        let today = call.advice.map_or_else(|| format!("`{}`", call.today), |advice| format!("none: {advice}"));
        let _ = writeln!(page, "| 0.{}{certainly} | `{}` | {today} |", call.until, call.old);
    }
    page
}

struct Relayc<'a>(&'a Path);

impl Relayc<'_> {
    fn output(&self, args: &[&str]) -> String {
        let out = Command::new(self.0).args(args).env("COLUMNS", "100").output().expect("relayc runs");
        assert!(out.status.success(), "relayc {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("relayc prints UTF-8")
    }

    /// The page of the command line: what `--help` says of each command.
    fn commands(&self) -> String {
        let mut page = "# Commands\n\nThis page is generated: it is what `relayc COMMAND --help` prints.\n\n\
                        | command | does |\n|---|---|\n"
            .to_owned();
        let mut sections = String::new();
        let mut waiting: Vec<(String, String)> = listed(&self.output(&["--help"]));
        waiting.reverse();
        while let Some((name, does)) = waiting.pop() {
            let words: Vec<&str> = name.split(' ').chain(["--help"]).collect();
            let help = self.output(&words);
            let anchor = crate::markdown::slug(&name);
            let _ = writeln!(page, "| [`{name}`](#relayc-{anchor}) | {} |", does.replace('|', "\\|"));
            let _ = write!(sections, "\n## relayc {name}\n\n```text\n{}\n```\n", help.trim_end());
            waiting.extend(listed(&help).into_iter().rev().map(|(below, does)| (format!("{name} {below}"), does)));
        }
        page + &sections
    }

    /// The index of the operators, and a page for each namespace.
    fn operators(&self, pages: &mut BTreeMap<String, String>) {
        let list = self.output(&["ops"]);
        let operators: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once(' ')).collect();
        let namespace =
            |name: &str| name.rsplit_once('.').map_or("core", |(space, _)| space.split('.').next().unwrap_or(space)).to_owned();
        let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
        operators.iter().for_each(|(name, _)| *sizes.entry(namespace(name)).or_default() += 1);
        let mut index = format!(
            "# Index of operators\n\nThis page and those below it are generated: they are what `relayc ops NAME` prints. \
             There are {} operators.\n\n| operator | computes |\n|---|---|\n",
            operators.len()
        );
        let mut bodies: BTreeMap<String, String> = BTreeMap::new();
        for (name, summary) in operators {
            let space = namespace(name);
            let space = if sizes[&space] < OWN_PAGE { "others".to_owned() } else { space };
            let anchor = crate::markdown::slug(name);
            let _ = writeln!(index, "| [`{name}`](operators/{space}.md#{anchor}) | {} |", summary.trim().replace('|', "\\|"));
            let page = nested(&self.output(&["ops", name]), 1);
            bodies.entry(space).or_default().push_str(&with_signature(&page));
        }
        pages.insert("generated/operators.md".to_owned(), index);
        for (space, body) in bodies {
            let title = match space.as_str() {
                "core" => "Operators without a namespace".to_owned(),
                "others" => "Operators of small namespaces".to_owned(),
                space => format!("Operators of `{space}`"),
            };
            let head = format!("# {title}\n\nThis page is generated from the declarations of the operators.\n");
            pages.insert(format!("generated/operators/{space}.md"), head + &body);
        }
    }

    /// The page of every diagnostic code, grouped by phase.
    fn diagnostics(&self) -> String {
        let list = self.output(&["explain"]);
        let codes: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once(' ')).collect();
        let mut page =
            "# Diagnostics\n\nThis page is generated: it is what `relayc explain CODE` prints. A code is a kind of mistake; \
                        its first digits name the phase that finds it.\n\n| code | means |\n|---|---|\n"
                .to_owned();
        let mut sections = String::new();
        for (prefix, phase) in PHASES {
            let _ = write!(sections, "\n## {phase}\n");
            for (code, title) in codes.iter().filter(|(code, _)| code.starts_with(prefix)) {
                let text = self.output(&["explain", code]);
                let heading = text.lines().next().unwrap_or("").trim_start_matches('#').trim();
                let _ = writeln!(page, "| [{code}](#{}) | {} |", crate::markdown::slug(heading), title.trim());
                sections.push_str(&nested(&text, 2));
            }
        }
        let known = |code: &str| PHASES.iter().any(|(prefix, _)| code.starts_with(prefix));
        let unknown: Vec<_> = codes.iter().filter(|(code, _)| !known(code)).collect();
        assert!(unknown.is_empty(), "codes of no phase: {unknown:?}");
        page + &sections
    }
}

/// The commands that a help lists, each with its line.
fn listed(help: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines: Vec<&str> = rest.lines().take_while(|line| !line.is_empty()).collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    // Groups have heads. A long description goes on in deeper lines.
    let (heads, others): (Vec<&str>, Vec<&str>) = lines.into_iter().partition(|line| depth(line) == 2 && line.ends_with(':'));
    let of_names = if heads.is_empty() { 2 } else { 4 };
    let names = others.into_iter().filter(|line| depth(line) == of_names).filter_map(|line| line.trim().split_once(' '));
    // `relayc help` has no help of its own.
    names.filter(|(name, _)| *name != "help").map(|(name, does)| (name.to_owned(), does.trim().to_owned())).collect()
}

/// A page as a part of another: its title `levels` deeper, its other headings as bold words.
fn nested(page: &str, levels: usize) -> String {
    let mut out = String::from("\n");
    let mut fenced = false;
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        match line.strip_prefix("## ") {
            Some(head) if !fenced => {
                let _ = writeln!(out, "**{head}**");
            }
            _ if !fenced && line.starts_with("# ") => {
                let _ = writeln!(out, "{}{line}", "#".repeat(levels));
            }
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}

/// The page of an operator with its signature set as code.
fn with_signature(page: &str) -> String {
    let mut parts = page.trim_start().splitn(3, "\n\n");
    let (Some(title), Some(signature), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { return page.to_owned() };
    // The description may follow the signature without an empty line.
    format!("\n{title}\n\n```text\n{signature}\n```\n\n{rest}")
}
