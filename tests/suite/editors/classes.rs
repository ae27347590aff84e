//! Classes of tokens: computed by the lexer, and as the scripts print them.

use crate::support::programs;
use crate::support::writer::{Purpose, choices, write};
use relayc_base::FileId;
use relayc_syntax::lexer::lex;
use relayc_syntax::token::Tok;
use std::path::PathBuf;

/// What a byte belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    None,
    Keyword,
    Boolean,
    Local,
    Graph,
    Global,
    Number,
    Str,
    Meta,
    Section,
    Comment,
}

/// The class of a token. `Tensor` and `_` are names to an editor.
fn of(tok: Tok) -> Class {
    match tok {
        Tok::Let | Tok::Fn | Tok::Def | Tok::If | Tok::Else | Tok::Type | Tok::Match | Tok::MatchPartial => Class::Keyword,
        Tok::Extern | Tok::FreeVar | Tok::Ref | Tok::RefRead | Tok::RefWrite => Class::Keyword,
        Tok::True | Tok::False => Class::Boolean,
        Tok::Local => Class::Local,
        Tok::Graph => Class::Graph,
        Tok::Global => Class::Global,
        Tok::Int | Tok::Float => Class::Number,
        Tok::Str => Class::Str,
        Tok::Meta => Class::Meta,
        Tok::Version | Tok::Metadata => Class::Section,
        _ => Class::None,
    }
}

/// A text and the class of each of its bytes.
pub(super) struct Program {
    pub path: PathBuf,
    pub text: String,
    pub classes: Vec<Class>,
}

/// The programs that lex without a complaint: those of the repository, and generated ones, which lie in `folder`.
pub(super) fn programs(folder: &std::path::Path) -> Vec<Program> {
    let mut paths = programs::all();
    assert!(paths.len() > 300, "the programs of the repository: {}", paths.len());
    for seed in 1..=150 {
        let path = folder.join(format!("generated_{seed}.relay"));
        std::fs::write(&path, write(&choices(seed), Purpose::Read)).expect("a folder that can be written to");
        paths.push(path);
    }
    let program = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        let lexed = lex(FileId(0), &text);
        if !lexed.diagnostics.is_empty() {
            return None;
        }
        let mut classes = vec![Class::None; text.len()];
        for token in lexed.tokens.iter() {
            classes[token.start as usize..token.end as usize].fill(of(token.tok));
        }
        for comment in &lexed.comments {
            classes[comment.start as usize..comment.end as usize].fill(Class::Comment);
        }
        Some(Program { path, text, classes })
    };
    paths.into_iter().filter_map(program).collect()
}

impl Program {
    /// Where an editor's classes differ from the lexer's; blanks between tokens have none.
    pub(super) fn difference(&self, found: &[Class]) -> Option<String> {
        let bytes = self.text.as_bytes();
        let differs = |&at: &usize| self.classes[at] != found[at] && !bytes[at].is_ascii_whitespace();
        let at = (0..bytes.len()).find(differs)?;
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].lines().next().unwrap_or("");
        let number = self.text[..at].matches('\n').count() + 1;
        let path = self.path.display();
        Some(format!("{path}:{number}:{}: {:?}, found {:?}: {line:.200}", at - start + 1, self.classes[at], found[at]))
    }
}

/// Reads what a script prints of programs, and compares: `file PATH`, then `START END NAME`.
pub(super) fn compare(programs: &[Program], printed: &str, class: impl Fn(&str) -> Class) {
    let mut blocks = printed.split("file ").skip(1);
    let mut differences = Vec::new();
    for program in programs {
        let block = blocks.next().unwrap_or_else(|| panic!("nothing is printed of {}", program.path.display()));
        let mut lines = block.lines();
        assert_eq!(lines.next(), program.path.to_str(), "the order of the files");
        let mut found = vec![Class::None; program.text.len()];
        for line in lines {
            let mut words = line.split(' ');
            let mut number = || words.next().and_then(|word| word.parse::<usize>().ok());
            let (Some(start), Some(end)) = (number(), number()) else { panic!("not a line of spans: {line}") };
            found[start..end].fill(class(words.next().unwrap_or("")));
        }
        differences.extend(program.difference(&found));
    }
    assert!(differences.is_empty(), "{} programs of {}:\n{}", differences.len(), programs.len(), differences.join("\n"));
}
