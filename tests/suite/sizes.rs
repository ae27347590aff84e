//! Sizes by their names: what `--dim-names` writes reads back as the same program, for the programs of the repository and for
//! random sizes.

use crate::support::programs;
use proptest::prelude::*;
use relayc_driver::{Phase, Program, check_text, show};

fn text(program: &Program, dim_names: bool) -> String {
    show::print(program, show::Options { types: false, meta: true, exact: true, dim_names })
}

/// Reads a program and its texts back. The canonical text and the one with names say the same.
fn reads_back(name: &str, program: &Program) -> Result<(), String> {
    let named = text(program, true);
    for written in [&named, &text(program, false)] {
        let again = check_text(name, written, Phase::Resolve);
        if again.has_errors() {
            let said: Vec<&String> = again.diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
            return Err(format!("{name}: {said:?}\n{written}"));
        }
        let found = text(&again, true);
        if found != named {
            return Err(format!("{name}:\n{named}\nreads back as\n{found}"));
        }
    }
    Ok(())
}

#[test]
fn programs_with_names_read_back() {
    let mut n_named = 0;
    for path in programs::all() {
        let name = path.display().to_string();
        let Ok(source) = std::fs::read_to_string(&path) else { continue };
        let program = check_text(&name, &source, Phase::Resolve);
        if program.has_errors() || text(&program, true) == text(&program, false) {
            continue;
        }
        n_named += 1;
        reads_back(&name, &program).unwrap_or_else(|why| panic!("{why}"));
    }
    assert!(n_named > 5, "programs with sizes: {n_named}");
}

/// A size as people may write it.
fn sizes() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop_oneof![Just("n"), Just("m"), Just("batch")].prop_map(str::to_owned),
        (0..9i64).prop_map(|number| number.to_string()),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        let op = prop_oneof![Just(" + "), Just(" - "), Just("*"), Just(" / ")];
        prop_oneof![
            (inner.clone(), op, inner.clone()).prop_map(|(a, op, b)| format!("({a}){op}({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("min({a}, {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("max({a}, {b})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// The order of factors is that in which a text mentions them, so the sizes are compared in one text.
    #[test]
    fn sizes_read_back(size in sizes()) {
        let source = |more: &str| {
            format!("#[version = \"0.0.5\"]\ndef @f(%x: Tensor[(n, m, batch), int8], %y: Tensor[({size}), int8]{more}) {{ () }}\n")
        };
        let written = |program: &Program, from: &str| {
            let text = text(program, true);
            let start = text.split_once(from).map_or("", |(_, rest)| rest);
            start.split_once("), int8]").map_or(String::new(), |(size, _)| size.to_owned())
        };
        let program = check_text("size", &source(""), Phase::Resolve);
        // A division by 0, or a size that is negative whatever the names are.
        prop_assume!(!program.has_errors());
        let named = written(&program, "%y: Tensor[(");
        prop_assume!(!named.contains("meta["));
        let both = check_text("both", &source(&format!(", %z: Tensor[({named}), int8]")), Phase::Resolve);
        prop_assert!(!both.has_errors(), "{size} is written {named}");
        prop_assert_eq!(written(&both, "%y: Tensor[("), written(&both, "%z: Tensor[("));
    }
}
