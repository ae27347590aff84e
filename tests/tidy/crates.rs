//! Rules for crates: each documents what it is, none reaches machine code without the feature, and no two files import each
//! other in a cycle.
//!
//! `Cargo.toml` states what a crate may name, and the compiler enforces it.

use crate::tree::{Piece, code, files, none, pieces, read, root, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The folders of all crates.
fn crates() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("crates")).expect("the crates are there").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_crate_says_what_it_is() {
    let mut silent = Vec::new();
    for name in crates() {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let says = |key: &str| manifest.lines().any(|line| line.starts_with(key));
        let named = says(&format!("name = \"relayc-{name}\""));
        if !named || !says("description = \"") || !manifest.contains("[lints]\nworkspace = true\n") {
            silent.push(format!("crates/{name}/Cargo.toml: name `relayc-{name}`, a description, the lints of the workspace"));
        }
        if !read(&format!("crates/{name}/src/lib.rs")).to_lowercase().contains("absent") {
            silent.push(format!("crates/{name}/src/lib.rs says what is absent"));
        }
    }
    none("crates that do not say what they are", silent);
}

/// A dependency of tests may add no feature to a crate of the program: cargo would compile it, and all that needs it, a second time.
#[test]
fn tests_use_the_crates_that_the_program_is_made_of() {
    let with_features = |more: &[&str]| -> BTreeSet<String> {
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo.current_dir(root()).args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} {f}"]).args(more);
        let output = cargo.output().expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    };
    let program = with_features(&["--edges", "normal,build"]);
    let tests = with_features(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(program.len() > 50 && tests.len() > program.len(), "{} and {}", program.len(), tests.len());
    none("crates of the program with other features under test", program.difference(&tests).cloned().collect());
}

/// The fuzz targets are a workspace of their own, which the gate does not compile: the crates that the promises use are among theirs.
#[test]
fn fuzz_targets_have_the_crates_of_their_promises() {
    let manifest = read("fuzz/Cargo.toml");
    let known: BTreeSet<&str> = manifest.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
    let mut missing = BTreeSet::new();
    for path in files("tests/support", "rs") {
        let text = read(&path);
        let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("use relayc_"));
        let names = names.map(|rest| rest.split([':', ' ', ';']).next().unwrap_or_default());
        missing.extend(names.map(|name| format!("relayc-{name}")).filter(|name| !known.contains(name.as_str())));
    }
    none("crates that fuzz/Cargo.toml does not name", missing.into_iter().collect());
}

/// The architecture page has a row for each crate, and no others.
#[test]
fn the_map_of_crates_is_the_tree() {
    let page = read("docs/src/architecture.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `crates/")?.split_once('`'));
    // Rows of other tables name files and folders.
    let shown: BTreeSet<&str> = rows.map(|(name, _)| name).filter(|name| !name.contains('/')).collect();
    let there = crates();
    assert_eq!(shown, there.iter().map(String::as_str).collect(), "docs/src/architecture.md and crates/");
}

/// Crates that the feature `jit` brings; the others build for any processor and system.
const MACHINE: [&str; 3] = ["crates/codegen/", "crates/exec/", "crates/runtime/"];

/// A part of `relayc_sys` that is compiled with its feature `linux` only.
fn is_linux(path: &str) -> bool {
    path.starts_with("crates/sys/src/") && path.ends_with("/linux.rs")
}

#[test]
fn only_the_feature_jit_names_a_machine() {
    let words = ["target_arch", "target_os", "target_env", "std::arch", "std::os::", "libc::"];
    let mut found = Vec::new();
    for path in sources().into_iter().filter(|path| MACHINE.iter().all(|machine| !path.starts_with(machine)) && !is_linux(path)) {
        let text = code(&read(&path));
        found.extend(words.iter().filter(|word| text.contains(**word)).map(|word| format!("{path}: `{word}`")));
    }
    none("names of a machine or system outside of the feature `jit`", found);
}

/// What that test leaves out is not compiled without the feature: the modules are behind it, and only the crates of `jit` ask for it.
#[test]
fn only_the_feature_jit_brings_linux() {
    let mut found = Vec::new();
    for path in sources().into_iter().filter(|path| is_linux(path)) {
        let parent = path.replace("/linux.rs", ".rs");
        if !read(&parent).contains("#[cfg(feature = \"linux\")]\nmod linux;") {
            found.push(format!("{parent}: `mod linux` without its `cfg`"));
        }
    }
    let manifest = |name: &str| read(&format!("crates/{name}/Cargo.toml"));
    let asks = |name: &String| manifest(name).lines().any(|line| line.starts_with("relayc-sys") && line.contains("linux"));
    let jit = ["engine", "exec"];
    found.extend(crates().into_iter().filter(|name| asks(name) != jit.contains(&name.as_str())));
    let names_jit = |name: &str| {
        ["codegen", "engine", "exec", "runtime"]
            .map(|jit| format!("relayc-{jit}."))
            .iter()
            .any(|jit| manifest(name).contains(jit))
    };
    let portable = crates().into_iter().filter(|name| !["codegen", "engine", "exec"].contains(&name.as_str()));
    found.extend(portable.filter(|name| names_jit(name)).map(|name| format!("crates/{name} depends on a crate of `jit`")));
    none("Linux without the feature `jit`", found);
}

/// What of code generation another instruction set keeps (architecture 4.2): the files that decide, without those that emit.
const ABOVE_THE_SEAM: [&str; 14] = [
    "contraction/choose.rs",
    "contraction/encode.rs",
    "contraction/pack.rs",
    "contraction/points.rs",
    "contraction/strategy.rs",
    "contraction/schedule.rs",
    "contraction/sum.rs",
    "contraction/winograd/filter.rs",
    "legalize/",
    "nest/halved.rs",
    "nest/normalize.rs",
    "nest/reason.rs",
    "nest/shape.rs",
    "pool.rs",
];

#[test]
fn what_decides_on_code_names_no_instruction() {
    let page = read("docs/src/architecture.md");
    let mut found = Vec::new();
    for part in ABOVE_THE_SEAM {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        if !page.contains(if file.is_empty() { folder } else { file }) {
            found.push(format!("docs/src/architecture.md does not name {part}"));
        }
        let prefix = format!("crates/codegen/src/{part}");
        let files: Vec<String> = sources().into_iter().filter(|path| path.starts_with(&prefix)).collect();
        if files.is_empty() {
            found.push(format!("{prefix} is gone"));
        }
        for path in files {
            let text = code(&read(&path));
            let words = ["asm::", "Isa", "machine::", "cpu::", "std::arch"].into_iter().filter(|word| text.contains(word));
            found.extend(words.map(|word| format!("{path}: `{word}`")));
        }
    }
    none("instructions above the seam", found);
}

/// The name that a line makes public, if it declares a function or a constant. Types may have to be public because a signature
/// names them, and what is `extern` is named by other languages.
fn public_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = ["unsafe ", "async "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    let name = ["const fn ", "fn ", "const ", "static "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn what_is_public_is_named_outside_of_its_crate() {
    // The library of a crate; its tests, examples and binaries see it from outside.
    let library = |path: &str| path.strip_prefix("crates/")?.split_once("/src/").map(|(name, _)| name.to_owned());
    let texts: Vec<(String, String)> = ["src", "crates", "python", "tests", "benches", "fuzz"]
        .into_iter()
        .flat_map(|folder| files(folder, "rs"))
        .map(|path| {
            let text = read(&path);
            (path, pieces(&text).into_iter().filter(|(piece, _)| *piece == Piece::Code).map(|(_, text)| text).collect())
        })
        .collect();
    let mut users: BTreeMap<&str, BTreeSet<Option<String>>> = BTreeMap::new();
    for (path, text) in &texts {
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            users.entry(word).or_default().insert(library(path));
        }
    }
    let mut found = Vec::new();
    for (path, _) in texts.iter().filter(|(path, _)| !path.contains("/tests")) {
        let own = library(path);
        let names = code(&read(path)).lines().filter_map(public_name).map(str::to_owned).collect::<Vec<_>>();
        let inside =
            |name: &String| own.is_some() && users.get(name.as_str()).is_none_or(|users| users.iter().all(|user| *user == own));
        found.extend(names.iter().filter(|name| inside(name)).map(|name| format!("{path}: `{name}` can be pub(crate)")));
    }
    none("public names that no other crate uses", found);
}

// ---- Circles ----

/// Files by the path of their module: `relayc_ops::conv::rel`.
fn modules() -> BTreeMap<Vec<String>, String> {
    let mut modules = BTreeMap::new();
    let library = |path: &String| path.starts_with("src/") || path.contains("/src/");
    for path in sources().into_iter().filter(|path| library(path) && !path.ends_with("main.rs")) {
        let (name, inside) = match path.strip_prefix("crates/") {
            Some(rest) => rest.split_once("/src/").expect("sources lie in src/"),
            None => ("relayc", path.trim_start_matches("src/")),
        };
        let inside = inside.trim_end_matches(".rs");
        let inside = inside.strip_suffix("/mod").unwrap_or(if inside == "lib" { "" } else { inside });
        let mut module = vec![name.to_owned()];
        module.extend(inside.split('/').filter(|part| !part.is_empty()).map(str::to_owned));
        modules.insert(module, path);
    }
    modules
}

/// The paths that code imports or names, in full, from within a module: `crate::a::B`, `super::c`.
fn imports(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for start in ["crate::", "super::"] {
        for (at, _) in flat.match_indices(start) {
            let before = flat[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':' && c != '$') {
                expand(&flat[at..], vec![], &mut paths);
            }
        }
    }
    paths.into_iter().filter_map(|path| absolute(&path, module)).collect()
}

/// All paths of a tree of imports: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(text: &str, mut before: Vec<String>, paths: &mut Vec<Vec<String>>) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if let Some(list) = rest.strip_prefix('{') {
            at += 1;
            let mut inside = list;
            loop {
                let skipped = inside.len() - inside.trim_start_matches([' ', ',']).len();
                (at, inside) = (at + skipped, &inside[skipped..]);
                if inside.is_empty() || inside.starts_with('}') {
                    return at + 1;
                }
                let taken = expand(inside, before.clone(), paths).max(1);
                (at, inside) = (at + taken, inside.get(taken..).unwrap_or(""));
            }
        }
        let word: usize = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum();
        before.push(rest[..word].to_owned());
        at += word;
        match text[at..].strip_prefix("::") {
            Some(_) if word > 0 => at += 2,
            _ => {
                paths.push(before);
                // ` as name`
                let renamed = text[at..].starts_with(" as ");
                return if renamed { at + text[at..].find([',', '}', ';']).unwrap_or(0) } else { at };
            }
        }
    }
}

fn absolute(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let mut from = if path.first()? == "crate" { module[..1].to_vec() } else { module.to_vec() };
    for part in path {
        match part.as_str() {
            "crate" | "self" | "" => {}
            "super" => drop(from.pop()?),
            part => from.push(part.to_owned()),
        }
    }
    Some(from)
}

/// The longest beginning of a path that is a module of its own.
fn module_of(modules: &BTreeMap<Vec<String>, String>, mut path: Vec<String>) -> Option<Vec<String>> {
    while !path.is_empty() && !modules.contains_key(&path) {
        path.pop();
    }
    (!path.is_empty()).then_some(path)
}

/// What a module re-exports of the modules inside it, by name, and where that is.
fn reexports(modules: &BTreeMap<Vec<String>, String>, module: &[String]) -> BTreeMap<String, Vec<String>> {
    let text = code(&read(&modules[module]));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paths = Vec::new();
    for (at, start) in flat.match_indices("use ") {
        expand(&flat[at + start.len()..], vec![], &mut paths);
    }
    let inside = |path: Vec<String>| {
        let name = path.last()?.clone();
        let path = path.into_iter().filter(|part| part != "self");
        let from = module_of(modules, module.iter().cloned().chain(path).collect())?;
        (from.len() > module.len()).then_some((name, from))
    };
    paths.into_iter().filter_map(inside).collect()
}

/// Which files each file imports from; not what only tests import, and not the parent whose child it is. What a parent re-exports
/// is imported from where it is.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules();
    let reexports: BTreeMap<&Vec<String>, _> = modules.keys().map(|module| (module, reexports(&modules, module))).collect();
    let mut graph = BTreeMap::new();
    for (module, path) in modules.iter().filter(|(_, path)| !path.ends_with("/tests.rs") && !path.contains("/tests/")) {
        let mut named = BTreeSet::new();
        for import in imports(&code(&read(path)), module) {
            let Some(mut from) = module_of(&modules, import.clone()) else { continue };
            if module.starts_with(&from) {
                let inside = import.get(from.len()).and_then(|name| reexports[&from].get(name));
                from = inside.unwrap_or(&from).clone();
            }
            if !module.starts_with(&from) {
                named.insert(modules[&from].clone());
            }
        }
        graph.insert(path.clone(), named);
    }
    graph
}

/// The files that are reached from one.
fn reached(graph: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut todo = vec![from.to_owned()];
    while let Some(file) = todo.pop() {
        for next in graph.get(&file).into_iter().flatten() {
            if reached.insert(next.clone()) {
                todo.push(next.clone());
            }
        }
    }
    reached
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let graph = graph();
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 1000, "the imports are found");
    let circles = graph.keys().filter(|file| reached(&graph, file).contains(*file));
    none("files that import each other in a circle", circles.cloned().collect());
}

#[test]
fn trees_of_imports_are_expanded() {
    let module = ["a", "b", "c"].map(str::to_owned);
    let found = imports("use crate::{d, e::{F as G, h}}; super::i::j(); x::super_::y; $crate::no", &module);
    let shown: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(shown, ["a::d", "a::e::F", "a::e::h", "a::b::i::j"]);
    assert!(files("crates", "rs").len() > 400);
}
