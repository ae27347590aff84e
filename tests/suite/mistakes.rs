//! Suggestions repair at least five in six of the single mistakes in `tests/golden/mistakes/`.
//!
//! The goldens check the messages; this test counts only the last line of each `.out`.

use std::path::Path;

#[test]
fn most_mistakes_are_undone_by_a_suggestion() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mistakes");
    let (mut found, mut all) = (0usize, 0usize);
    for entry in std::fs::read_dir(folder).expect("the goldens").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "out") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a golden");
        let line = text.lines().last().expect("a golden ends with its count");
        let numbers: Vec<usize> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [n, of] = numbers[..] else { panic!("{}: no count in `{line}`", path.display()) };
        (found, all) = (found + n, all + of);
    }
    assert!(all >= 60, "{all} mistakes are too few to say anything");
    assert!(found * 6 >= all * 5, "{found} of {all} mistakes are undone by a suggestion");
}
