//! The head of a test: `// test: infer, interp` among the comments before the program.

use super::kinds::{self, Kind};
use crate::base::text::join_words;

/// The kinds of test the first comment lines ask for, in the order written.
pub fn kinds(text: &str) -> Result<Vec<&'static dyn Kind>, String> {
    let comments = text.lines().map_while(|line| line.trim().strip_prefix("//"));
    let names: Vec<&str> =
        comments.filter_map(|line| line.trim().strip_prefix("test:")).flat_map(|list| list.split(',')).collect();
    if names.is_empty() {
        return Err(format!("the first lines lack `// test: …`; the kinds are {}", all()));
    }
    names.into_iter().map(|name| kinds::find(name.trim()).ok_or_else(|| unknown(name.trim()))).collect()
}

fn unknown(name: &str) -> String {
    format!("there is no kind of test `{name}`; the kinds are {}", all())
}

fn all() -> String {
    let names: Vec<String> = kinds::ALL.iter().map(|kind| format!("`{}`", kind.name())).collect();
    join_words(&names, "and")
}
