//! A pass with its arguments, and the text of a list of them: `split-args(max=3), to-graph-normal-form`.
//!
//! An argument is `name=value`. A value is a number, a word, `[a list, …]`, or `{name=value, …}`; words hold letters, digits and
//! `. _ - @ :`, and anything else stands in double quotes. The parameters of a pass say which kind of value each takes, so a pass
//! reads arguments that fit. Programs that ask for passes give the same values without text ([`Step::new`]).

use super::{Pass, find};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{join_words, nearest};

/// A parameter of a pass.
#[derive(Debug)]
pub struct Param {
    pub name: &'static str,
    pub kind: ArgKind,
    /// The value where none is given, as text.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// The kind of value that a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgKind {
    Bool,
    /// A number that is not negative.
    Count,
    Word,
    /// A list of words.
    Words,
    /// A list of words for each name.
    WordLists,
    /// Expressions of the module, by their numbers: for programs that call the pass.
    Exprs,
}

impl ArgKind {
    /// The kind in words, for messages.
    fn words(self) -> &'static str {
        match self {
            ArgKind::Bool => "`true` or `false`",
            ArgKind::Count => "a number",
            ArgKind::Word => "a word",
            ArgKind::Words => "a list of words, `[a, b]`",
            ArgKind::WordLists => "lists of words by name, `{a=[b, c]}`",
            ArgKind::Exprs => "a list of numbers, `[1, 2]`",
        }
    }

    fn admits(self, value: &Arg) -> bool {
        let is_word = |value: &Arg| matches!(value, Arg::Word(_));
        let are_words = |value: &Arg| matches!(value, Arg::List(items) if items.iter().all(is_word));
        match (self, value) {
            (ArgKind::Bool, Arg::Word(word)) => matches!(word.as_str(), "true" | "false"),
            (ArgKind::Count, Arg::Word(word)) => word.parse::<u64>().is_ok(),
            (ArgKind::Word, value) => is_word(value),
            (ArgKind::Words, value) => are_words(value),
            (ArgKind::Exprs, Arg::List(items)) => items.iter().all(|item| ArgKind::Count.admits(item)),
            (ArgKind::WordLists, Arg::Map(entries)) => entries.iter().all(|(_, value)| are_words(value)),
            _ => false,
        }
    }
}

/// The value of an argument; numbers and truth values are words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arg {
    Word(String),
    List(Vec<Arg>),
    Map(Vec<(String, Arg)>),
}

/// A pass with a value for each of its parameters.
#[derive(Clone, Debug)]
pub struct Step {
    pub pass: &'static Pass,
    args: Args,
}

/// The values of the parameters of a pass, each of the kind that the pass declares.
#[derive(Clone, Debug)]
pub struct Args {
    values: Vec<(&'static str, Arg)>,
}

impl From<&'static Pass> for Step {
    fn from(pass: &'static Pass) -> Step {
        let default = |param: &'static Param| (param.name, default(param));
        Step { pass, args: Args { values: pass.params.iter().map(default).collect() } }
    }
}

fn default(param: &Param) -> Arg {
    let value = Text { rest: param.default }.value().ok();
    value.filter(|value| param.kind.admits(value)).expect("the default of a parameter is of its kind")
}

impl Step {
    /// A pass by its name, with arguments; the others have their defaults. Errors: E0742.
    pub fn new(name: &str, args: Vec<(String, Arg)>) -> Result<Step, Box<Diagnostic>> {
        let mut step = Step::from(find(name).ok_or_else(|| unknown_pass(name))?);
        for (name, value) in args {
            let Some(at) = step.pass.params.iter().position(|param| param.name == name) else {
                return Err(unknown_param(step.pass, &name));
            };
            let param = &step.pass.params[at];
            if !param.kind.admits(&value) {
                let why = format!("`{}`: `{name}` takes {}", step.pass.name, param.kind.words());
                return Err(not_understood(&why).help(format!("the default is `{name}={}`", param.default)).into());
            }
            step.args.values[at].1 = value;
        }
        Ok(step)
    }

    /// Reads a list of passes. Errors: E0742.
    pub fn parse_list(text: &str) -> Result<Vec<Step>, Box<Diagnostic>> {
        let mut text = Text { rest: text };
        let mut steps = Vec::new();
        loop {
            let name = text.word()?;
            let args = if text.eats('(') { text.entries(')')? } else { vec![] };
            steps.push(Step::new(&name, args)?);
            if text.at_end() {
                return Ok(steps);
            }
            text.expects(',', "`,` between passes")?;
        }
    }

    /// The values of the parameters.
    pub fn args(&self) -> &Args {
        &self.args
    }
}

impl Args {
    /// The arguments of a pass without parameters.
    pub const NONE: &'static Args = &Args { values: Vec::new() };

    fn get(&self, name: &str) -> &Arg {
        let found = self.values.iter().find(|(known, _)| *known == name);
        &found.expect("a pass reads the parameters that it declares").1
    }

    pub(crate) fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Arg::Word(word) => word,
            Arg::List(_) | Arg::Map(_) => unreachable!("`{name}` takes a word"),
        }
    }

    pub(crate) fn bool(&self, name: &str) -> bool {
        self.word(name) == "true"
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.word(name).parse().expect("`Step` checks numbers")
    }

    pub(crate) fn words(&self, name: &str) -> Vec<&str> {
        words(self.get(name))
    }

    pub(crate) fn exprs(&self, name: &str) -> Vec<usize> {
        self.words(name).into_iter().map(|number| number.parse().expect("`Step` checks numbers")).collect()
    }

    /// The lists by name, in the order given.
    pub(crate) fn word_lists(&self, name: &str) -> Vec<(&str, Vec<&str>)> {
        match self.get(name) {
            Arg::Map(entries) => entries.iter().map(|(name, list)| (name.as_str(), words(list))).collect(),
            Arg::Word(_) | Arg::List(_) => unreachable!("`{name}` takes lists by name"),
        }
    }
}

fn words<'a>(value: &'a Arg) -> Vec<&'a str> {
    let Arg::List(items) = value else { unreachable!("`Step` checks lists") };
    let word = |item: &'a Arg| match item {
        Arg::Word(word) => word.as_str(),
        Arg::List(_) | Arg::Map(_) => unreachable!("`Step` checks lists"),
    };
    items.iter().map(word).collect()
}

/// The text that is left to read.
struct Text<'a> {
    rest: &'a str,
}

/// How deep lists may be nested; no parameter needs more.
const MAX_NESTING: usize = 2;

impl Text<'_> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn at_end(&mut self) -> bool {
        self.skip_spaces();
        self.rest.is_empty()
    }

    fn eats(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expects(&mut self, wanted: char, what: &str) -> Result<(), Box<Diagnostic>> {
        if self.eats(wanted) { Ok(()) } else { Err(self.wrong(what)) }
    }

    /// A word, or text in quotes.
    fn word(&mut self) -> Result<String, Box<Diagnostic>> {
        if self.eats('"') {
            let Some((inside, rest)) = self.rest.split_once('"') else { return Err(self.wrong("a closing `\"`")) };
            let inside = inside.to_owned();
            self.rest = rest;
            return Ok(inside);
        }
        let is_of_word = |c: char| c.is_alphanumeric() || "._-@:".contains(c);
        let len = self.rest.find(|c| !is_of_word(c)).unwrap_or(self.rest.len());
        if len == 0 {
            return Err(self.wrong("a name"));
        }
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        Ok(word.to_owned())
    }

    fn value(&mut self) -> Result<Arg, Box<Diagnostic>> {
        self.nested_value(0)
    }

    fn nested_value(&mut self, depth: usize) -> Result<Arg, Box<Diagnostic>> {
        if depth > MAX_NESTING {
            return Err(self.wrong("a word"));
        }
        if self.eats('{') {
            return Ok(Arg::Map(self.nested_entries('}', depth + 1)?));
        }
        if !self.eats('[') {
            return self.word().map(Arg::Word);
        }
        let mut items = Vec::new();
        while !self.eats(']') {
            if !items.is_empty() {
                self.expects(',', "`,` or `]`")?;
            }
            items.push(self.nested_value(depth + 1)?);
        }
        Ok(Arg::List(items))
    }

    /// `name=value, …` up to a bracket.
    fn entries(&mut self, end: char) -> Result<Vec<(String, Arg)>, Box<Diagnostic>> {
        self.nested_entries(end, 0)
    }

    fn nested_entries(&mut self, end: char, depth: usize) -> Result<Vec<(String, Arg)>, Box<Diagnostic>> {
        let mut entries = Vec::new();
        while !self.eats(end) {
            if !entries.is_empty() {
                self.expects(',', &format!("`,` or `{end}`"))?;
            }
            let name = self.word()?;
            self.expects('=', &format!("`=` after `{name}`"))?;
            entries.push((name, self.nested_value(depth)?));
        }
        Ok(entries)
    }

    fn wrong(&self, expected: &str) -> Box<Diagnostic> {
        let found = if self.rest.is_empty() { "the end".to_owned() } else { format!("`{}`", self.rest) };
        let wrong = not_understood(&format!("expected {expected}, found {found}"));
        wrong.help("passes are written `split-args(max=3), dead-code`").into()
    }
}

fn not_understood(why: &str) -> Diagnostic {
    Diagnostic::new(codes::E0742, why)
}

/// The error for a name that no pass has.
pub fn unknown_pass(name: &str) -> Box<Diagnostic> {
    let (kebab, passes) = (kebab(name), super::all());
    let names = || passes.iter().map(|pass| pass.name);
    // A part of a name: `fuse` for `fuse-ops`.
    let part = || names().find(|known| kebab.len() > 2 && known.split('-').any(|part| part == kebab));
    let hint = nearest(&kebab, names()).or_else(part);
    let hint = match hint {
        _ if name == "InferType" => "types are inferred before and after each pass".to_owned(),
        Some(near) => format!("there is `{near}`"),
        None => "`relayc passes` lists all".to_owned(),
    };
    not_understood(&format!("there is no pass `{name}`: {hint}")).into()
}

/// A name with a dash before each capital letter, all of them small: `FoldConst` is `fold-const`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn unknown_param(pass: &Pass, name: &str) -> Box<Diagnostic> {
    let names: Vec<String> = pass.params.iter().map(|param| format!("`{}`", param.name)).collect();
    let takes =
        if names.is_empty() { "it takes no arguments".to_owned() } else { format!("it takes {}", join_words(&names, "and")) };
    not_understood(&format!("`{}` has no parameter `{name}`: {takes}", pass.name)).into()
}

#[cfg(test)]
mod tests {
    use super::super::all;
    use super::*;

    #[test]
    fn every_default_is_of_its_kind() {
        all().into_iter().for_each(|pass| drop(Step::from(pass)));
    }

    #[test]
    fn names_of_tvm_are_understood() {
        for (theirs, ours) in [
            ("FoldConstant", "fold-constants"),
            ("SimplifyFCTranspose", "simplify-fc-transpose"),
            ("ToANormalForm", "to-a-normal-form"),
            ("CombineParallelConv2D", "combine-parallel-conv2d"),
            ("UnCPS", "un-cps"),
            ("DeadCodeElimination", "dead-code"),
        ] {
            assert_eq!(find(theirs).map(|pass| pass.name), Some(ours), "{theirs}");
        }
        assert!(find("Fold-Constants").is_none() && find("foldconstants").is_none());
        assert!(unknown_pass("FuseOpps").message.contains("`fuse-ops`"));
    }

    #[test]
    fn lists_of_passes_are_read() {
        let steps = Step::parse_list(" inline ,split-args( max = 3 ),remove-unused-functions(entries=[main, \"a name\"])");
        let steps = steps.expect("a list of passes");
        let names: Vec<&str> = steps.iter().map(|step| step.pass.name).collect();
        assert_eq!(names, ["inline", "split-args", "remove-unused-functions"]);
        assert_eq!(steps[1].args.count("max"), 3);
        assert_eq!(steps[2].args.words("entries"), ["main", "a name"]);
        for wrong in
            ["", "inline,", "inline(", "inline(x=1)", "split-args(max=few)", "split-args(max=[[[[1]]]])", "split-args max"]
        {
            assert_eq!(Step::parse_list(wrong).expect_err(wrong).code, codes::E0742, "{wrong}");
        }
    }
}
