//! The messages about `relayc.toml`, and about weights that do not belong to their program.

use crate::bind::leaves::Leaf;
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, join_words, nearest, shortened};
use std::ops::RangeInclusive;
use std::path::Path;

/// E0701: a folder, a pipe or a device.
pub(super) fn no_regular_file(path: &str) -> Diagnostic {
    Diagnostic::new(codes::E0701, format!("`{path}` is no regular file"))
}

/// E0744: bytes that are no UTF-8.
pub(super) fn no_text(at: Span) -> Diagnostic {
    Diagnostic::new(codes::E0744, "the file is not UTF-8").at(at, "no character begins here")
}

/// E0744: no TOML.
pub(super) fn no_toml(at: Span, why: &str) -> Diagnostic {
    Diagnostic::new(codes::E0744, why.to_owned()).at(at, "here TOML is not understood")
}

/// E0745: `what` is the kind of key, in words.
pub(super) fn unknown_key(at: Span, key: &str, what: &str, known: &[&str]) -> Diagnostic {
    let error = Diagnostic::new(codes::E0745, format!("`{}` is not {what}", shortened(key, 60))).at(at, "unknown");
    if let Some(near) = nearest(key, known.iter().copied()) {
        return error.fix(format!("write `{near}`"), at, near);
    }
    let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
    let verb = if known.len() == 1 { "is" } else { "are" };
    error.help(format!("there {verb} {}", join_words(&known, "and")))
}

/// E0745: a lint that is not.
pub(super) fn no_lint(at: Span, name: &str, near: Option<&str>) -> Diagnostic {
    let error = Diagnostic::new(codes::E0745, format!("there is no lint `{}`", shortened(name, 60))).at(at, "unknown");
    match near {
        Some(near) => error.fix(format!("write `{near}`"), at, near),
        None => error.help("`relayc explain` lists their codes; the groups are `warnings` and `all`"),
    }
}

/// E0746: a value of another kind.
pub(super) fn wrong_value(at: Span, expected: &str, found: &str) -> Diagnostic {
    let article = if found.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    Diagnostic::new(codes::E0746, format!("expected {expected}, found {article} {found}")).at(at, "another value belongs here")
}

/// E0746: a width out of range.
pub(super) fn wrong_width(at: Span, widths: &RangeInclusive<u32>) -> Diagnostic {
    let message = format!("expected a width from {} to {}", widths.start(), widths.end());
    Diagnostic::new(codes::E0746, message).at(at, "out of range")
}

/// E0746: no level of a lint.
pub(super) fn no_level(at: Span, word: &str, levels: &[&str]) -> Diagnostic {
    let error = Diagnostic::new(codes::E0746, format!("`{}` is no level of a lint", shortened(word, 60))).at(at, "unknown");
    match nearest(word, levels.iter().copied()) {
        Some(near) => error.fix(format!("write `\"{near}\"`"), at, format!("\"{near}\"")),
        None => error.help("the levels are `allow`, `warn` and `deny`"),
    }
}

/// E0746: a pattern that no program has.
pub(super) fn bad_pattern(at: Span, pattern: &str, why: &str) -> Diagnostic {
    let message = format!("`{}` is no pattern for programs: {why}", shortened(pattern, 60));
    Diagnostic::new(codes::E0746, message).at(at, "no program has this path")
}

/// E0747: no file; `siblings` are the names beside it.
pub(super) fn no_file(at: Span, path: &str, is_folder: bool, siblings: &[String]) -> Diagnostic {
    let what = if is_folder { "is a folder" } else { "is not there" };
    let error = Diagnostic::new(codes::E0747, format!("`{}` {what}", shortened(path, 100)));
    let error = error.at(at, "expected a file, from the folder of this one");
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    match nearest(name, siblings.iter().map(String::as_str)).filter(|_| !is_folder) {
        Some(near) if folder.is_empty() => error.help(format!("there is `{near}`")),
        Some(near) => error.help(format!("there is `{folder}/{near}`")),
        None => error,
    }
}

/// E0747: a path out of a workspace that is not trusted.
pub(super) fn outside(at: Span, path: &str) -> Diagnostic {
    Diagnostic::new(codes::E0747, format!("`{}` lies outside of the workspace", shortened(path, 100)))
        .at(at, "not read: the workspace is not trusted")
}

/// E0701: a file of weights that has gone since.
pub(super) fn gone(path: &Path) -> Diagnostic {
    Diagnostic::new(codes::E0701, format!("`{}` is not there any more", path.display()))
}

/// E0704: a parameter without a weight; `near` is a tensor without a parameter.
pub(super) fn no_weight(leaf: &Leaf, files: &str, near: Option<&str>) -> Diagnostic {
    let message = format!("parameter `{}` has no weight in {files}: it is {}", leaf.name, leaf.type_text());
    let error = Diagnostic::new(codes::E0704, message);
    let error = match near {
        Some(near) => error.help(format!("there is a tensor `{near}`, which no parameter is named")),
        None => error,
    };
    error.help(format!("if it is an input, say so: `inputs = [\"{}\"]`", leaf.name.split('.').next().unwrap_or("")))
}

/// E0704: many parameters without weights.
pub(super) fn no_weights(leaves: &[&Leaf], files: &str) -> Diagnostic {
    const LISTED: usize = 8;
    let names: Vec<String> = leaves.iter().take(LISTED).map(|leaf| format!("`{}`", leaf.name)).collect();
    let more = if leaves.len() > LISTED { ", …" } else { "" };
    let message = format!("{} have no weight in {files}: {}{more}", count(leaves.len(), "parameter"), names.join(", "));
    Diagnostic::new(codes::E0704, message).help("if they are inputs, say so: `inputs = […]`")
}

/// E0706: files of which no tensor has the name of a parameter.
pub(super) fn nothing_fits(function: &str, files: &str) -> Diagnostic {
    Diagnostic::new(codes::E0706, format!("no tensor of {files} has the name of a parameter of `@{function}`"))
        .help("`relayc params ls FILE --match PROGRAM` shows both sides")
}
