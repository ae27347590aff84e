//! Settings of several sizes: `batch=1,4,8` and `seq=16..512`.

use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::join_words;

/// What a setting gives a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeSetting<'a> {
    /// What stands before `=`: the name of a size, or `NAME.AXIS`.
    pub what: &'a str,
    pub sizes: Sizes,
}

/// Several sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sizes {
    List(Vec<u64>),
    /// From the first to the last.
    Range(u64, u64),
}

impl SizeSetting<'_> {
    /// Reads a setting; `None` if it is none.
    pub fn of(text: &str) -> Option<SizeSetting<'_>> {
        let (what, sizes) = text.split_once('=')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let sizes = match sizes.split_once("..") {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Sizes::Range(first, last))?
            }
            None => Sizes::List(sizes.split(',').map(number).collect::<Option<_>>()?),
        };
        Some(SizeSetting { what: what.trim(), sizes })
    }
}

/// Requires that settings of sizes by their names, such as `batch=4`, are of known names. Errors: E0706.
pub(crate) fn require_known(flag: &str, settings: &[String], known: &[&str]) -> Result<(), Diagnostic> {
    let names = settings.iter().filter_map(|setting| Some(setting.split_once('=')?.0.trim()));
    let Some(name) = names.filter(|name| !name.contains('.')).find(|name| !known.contains(name)) else { return Ok(()) };
    let error = Diagnostic::new(codes::E0706, format!("{flag} names `{name}`, which is no size"));
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    Err(if known.is_empty() {
        error.note("there are no sizes with a name")
    } else {
        error.note(format!("the sizes are {}", join_words(&known, "and")))
    })
}
