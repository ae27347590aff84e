//! Rooms: which name which, and the map of them in `src/lib.rs`.

use crate::tree::{code, files, none, read, words};
use std::collections::BTreeSet;

/// The rooms in reading order, each with those it may name. A room that does not exist yet is no mistake.
const ROOMS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("diag", &["base"]),
    ("syntax", &["base", "diag"]),
    ("fmt", &["base", "diag", "syntax"]),
    ("types", &["base"]),
    ("tensor", &["base", "types"]),
    ("sys", &["base", "diag"]),
    ("ir", &["base", "types", "tensor"]),
    ("kernel", &["base", "types"]),
    ("ops", &["base", "diag", "types", "tensor", "ir", "kernel"]),
    ("formats", &["base", "diag", "types", "tensor", "ir", "ops"]),
    ("zoo", &["base", "types", "tensor", "ir", "ops"]),
    ("viz", &["base", "types", "ir", "ops"]),
    ("resolve", &["base", "diag", "syntax", "types", "tensor", "ir", "ops"]),
    ("infer", &["base", "diag", "types", "tensor", "ir", "ops"]),
    ("interp", &["base", "diag", "types", "tensor", "ir", "ops"]),
    ("passes", &["base", "diag", "types", "tensor", "ir", "ops", "infer", "interp"]),
    ("plan", &["base", "diag", "types", "ir", "ops", "kernel"]),
    ("jit", &["base", "diag", "types", "tensor", "kernel", "plan", "sys"]),
    (
        "driver",
        &[
            "base", "diag", "syntax", "fmt", "types", "tensor", "sys", "ir", "kernel", "ops", "formats", "zoo", "viz", "resolve",
            "infer", "interp", "passes", "plan", "jit",
        ],
    ),
    ("testing", &["driver", "fmt", "diag", "base"]),
    ("cli", &["driver", "testing", "fmt", "diag", "base", "sys"]),
    ("lsp", &["driver", "fmt", "diag", "base"]),
];

/// Macros live at the root of the crate; the room that declares each.
const MACROS: &[(&str, &str)] = &[("index_type", "base")];

fn may_name(room: &str) -> &'static [&'static str] {
    let row = ROOMS.iter().find(|(name, _)| *name == room);
    row.unwrap_or_else(|| panic!("src/{room}/ is not in the table of tests/tidy/rooms.rs")).1
}

#[test]
fn lower_rooms_never_name_higher_ones() {
    let mut wrong = Vec::new();
    for path in files("src", "rs") {
        let Some((room, _)) = path.trim_start_matches("src/").split_once('/') else { continue };
        // A file of tests is declared `#[cfg(test)] mod tests;`.
        if path.ends_with("/tests.rs") {
            continue;
        }
        for named in named_rooms(&code(&read(&path)), depth(&path)) {
            if named != room && !may_name(room).contains(&named.as_str()) {
                wrong.push(format!("{path} names `{named}`, which `{room}` may not"));
            }
        }
    }
    none("walls between rooms (tests/tidy/rooms.rs has the table)", wrong);
}

/// How many `super::` lead from a file's module to the root of the crate.
fn depth(path: &str) -> usize {
    path.trim_start_matches("src/").trim_end_matches("/mod.rs").split('/').count()
}

/// Every room that code names through `crate::` or enough `super::`.
fn named_rooms(code: &str, depth: usize) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let code: String = code.split_whitespace().collect::<Vec<_>>().join(" ").replace(":: ", "::").replace(" ::", "::");
    let root = "super::".repeat(depth);
    for start in ["crate::", root.as_str()] {
        for (at, _) in code.match_indices(start) {
            let tail = &code[at + start.len()..];
            match tail.strip_prefix('{') {
                Some(list) => named.extend(first_names(list)),
                None => named.extend(words(tail).next().map(str::to_owned)),
            }
        }
    }
    let declared = |name: String| MACROS.iter().find(|(of, _)| *of == name).map_or(name, |(_, room)| (*room).to_owned());
    named.into_iter().map(declared).collect()
}

/// The first name of each item of a `{a, b::c, d::{e, f}}` list whose opening brace is gone.
fn first_names(list: &str) -> Vec<String> {
    let (mut names, mut depth, mut item) = (Vec::new(), 0, String::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.extend(words(&std::mem::take(&mut item)).next().map(str::to_owned)),
            c if depth == 0 => item.push(c),
            _ => {}
        }
    }
    names.extend(words(&item).next().map(str::to_owned));
    names
}

#[test]
fn the_map_in_lib_rs_is_the_tree() {
    let lib = read("src/lib.rs");
    let folders: BTreeSet<String> = files("src", "rs")
        .iter()
        .filter_map(|path| Some(path.trim_start_matches("src/").split_once('/')?.0.to_owned()))
        .collect();
    let modules: BTreeSet<String> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ").or(line.strip_prefix("mod "))?.strip_suffix(';'))
        .map(str::to_owned)
        .collect();
    assert_eq!(modules, folders, "the modules of src/lib.rs and the folders of src/");
    let map: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("//! - [`")?.split_once("`]: "))
        .map(|(room, what)| {
            assert!(!what.is_empty(), "the map says nothing of `{room}`");
            room
        })
        .collect();
    let reading_order: Vec<&str> = ROOMS.iter().map(|(room, _)| *room).filter(|room| folders.contains(*room)).collect();
    assert_eq!(map, reading_order, "the map in src/lib.rs and the reading order");
}

#[test]
fn the_table_itself_has_no_way_up() {
    for (at, (room, callees)) in ROOMS.iter().enumerate() {
        let above: Vec<&str> = ROOMS[..at].iter().map(|(room, _)| *room).collect();
        for callee in *callees {
            assert!(above.contains(callee), "`{room}` may name `{callee}`, which is not above it");
        }
    }
}

#[test]
fn names_are_found() {
    let found = named_rooms("use crate::{a::X, b::{c, d}, e}; crate :: f::g(); super::super::h::i; super::j", 2);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "b", "e", "f", "h"]);
    assert_eq!((depth("src/ops/mod.rs"), depth("src/ops/conv/rel.rs"), depth("src/ops/conv/mod.rs")), (1, 3, 2));
}
