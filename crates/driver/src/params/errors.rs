//! The messages for weights that cannot become part of a program.

use crate::bind::Slot;
use crate::tensors;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{SpellingSearch, count, join_words, one_line, thousands};
use relayc_sys as sys;
use std::path::PathBuf;

/// E0720: no tensor has a parameter's name.
pub(crate) fn nothing_bound(entry: &str, slots: &[Slot], files: &[PathBuf]) -> Diagnostic {
    let mut names = Vec::new();
    for file in files {
        // What is wrong with a file has been said.
        names.extend(tensors::open(file).iter().flat_map(|file| file.items()).map(|item| item.name.clone()).take(1000));
    }
    let error = Diagnostic::new(codes::E0720, format!("no weight has the name of a parameter of `@{entry}`"));
    let mut search = SpellingSearch::default();
    let near = slots.iter().find_map(|slot| Some((search.among(&slot.name, names.iter().map(String::as_str))?, slot)));
    match near {
        Some((near, slot)) => error.help(format!("the weights have `{}`; is it `{}`?", one_line(near), slot.name)),
        None => {
            let params: Vec<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
            let weights: Vec<&str> = names.iter().map(String::as_str).collect();
            error.note(some_of(&params, "parameter")).note(some_of(&weights, "weight"))
        }
    }
}

/// `2 weights: `a` and `b``, the first of many.
fn some_of(names: &[&str], what: &str) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", one_line(name))).collect();
    match names.len() {
        0 => format!("there are no {what}s"),
        n if n > SHOWN => format!("{}: {}, ...", count(n, what), shown.join(", ")),
        n => format!("{}: {}", count(n, what), join_words(&shown, "and")),
    }
}

/// E0720: the text would be too large to read again.
pub(crate) fn too_much_text(bytes: u64) -> Diagnostic {
    let limit = thousands(sys::Limit::source().bytes);
    let words = format!("with its weights the text has {} bytes, the limit of a text is {limit}", thousands(bytes));
    Diagnostic::new(codes::E0720, words).help("keep the weights in a file of their own: --params FILE")
}

/// E0720.
pub(crate) fn calls_itself(entry: &str) -> Diagnostic {
    Diagnostic::new(codes::E0720, format!("`@{entry}` is called by the program itself, which may give it other weights"))
        .note("parameters become constants where only one value can come")
        .help("bind the weights of an entry that nothing calls: --entry NAME")
}
