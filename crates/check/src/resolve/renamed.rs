//! Joins two reports into one: a name defined twice, and another name used but not defined, are one misspelt name.

use super::Resolver;
use relayc_base::Span;
use relayc_base::diag::{Code, codes};

/// The kinds of names that can be confused with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Local,
    Graph,
    Global,
    Other,
}

fn kind(name: &str) -> Kind {
    match name.as_bytes() {
        [b'%', digit, ..] if digit.is_ascii_digit() => Kind::Graph,
        [b'%', ..] => Kind::Local,
        [b'@', ..] => Kind::Global,
        _ => Kind::Other,
    }
}

/// Limit of second definitions to examine: with more, no guess is reliable.
const MOST: usize = 100;

const UNKNOWN: [Code; 6] = [codes::E0201, codes::E0202, codes::E0203, codes::E0204, codes::E0313, codes::E0210];

impl Resolver<'_> {
    /// Joins the report of a second definition with those of undefined names.
    pub(super) fn join_renamed(&mut self) {
        let duplicates: Vec<usize> = self.reports(|code| code == codes::E0205);
        let unknown = self.reports(|code| UNKNOWN.contains(&code));
        for duplicate in duplicates.into_iter().take(MOST) {
            let span = self.diagnostics[duplicate].span();
            let name = self.ast.text(span);
            let defs = self.defs_around(span);
            // What is used above a local's binding cannot mean it; types and functions may be used anywhere.
            let ordered = matches!(kind(name), Kind::Local | Kind::Graph);
            let place = |i: &usize| self.diagnostics[*i].span();
            let fits = |i: &&usize| {
                let at = place(i);
                let same_def = !ordered || defs.iter().any(|def| def.start <= at.start && at.start < def.end);
                kind(self.ast.text(at)) == kind(name) && !(ordered && at.start < span.start) && same_def
            };
            let missing: Vec<usize> = unknown.iter().filter(fits).copied().collect();
            let Some(&first) = missing.iter().find(|i| self.diagnostics[**i].code != codes::E0210) else { continue };
            let missed = self.ast.text(place(&first)).to_owned();
            let meant: Vec<usize> =
                missing.into_iter().filter(|i| self.ast.text(place(i)) == missed || self.is_lost_ctor(place(i))).collect();
            let used = place(&first);
            let report = &mut self.diagnostics[duplicate];
            report.helps.clear();
            *report = report.clone().also(used, "used, but not defined").fix(format!("name it `{missed}`"), span, missed);
            let mut index = 0;
            self.diagnostics.retain(|_| {
                index += 1;
                meant.binary_search(&(index - 1)).is_err()
            });
            // One such mistake is joined; with several nobody knows which belongs to which.
            return;
        }
    }

    fn reports(&self, of: impl Fn(Code) -> bool) -> Vec<usize> {
        self.diagnostics.iter().enumerate().filter(|(_, d)| of(d.code)).map(|(i, _)| i).collect()
    }

    /// The functions that a place lies in, or all of a text without definitions.
    fn defs_around(&self, at: Span) -> Vec<Span> {
        if self.ast.defs.is_empty() {
            return vec![Span { start: 0, end: u32::MAX, ..at }];
        }
        let funcs = self.ast.funcs.iter().map(|func| func.span);
        funcs.filter(|func| func.start <= at.start && at.start < func.end).collect()
    }

    /// Whether a name is a constructor of a type whose definition was not taken, because its name was.
    fn is_lost_ctor(&self, name: Span) -> bool {
        self.lost_ctors.contains(self.ast.text(name))
    }
}
