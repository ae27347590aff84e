//! The faults of `.ci/faults.py`: each is still where its list says, and the test that must find it is there.

use crate::tree::{files, none, read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// As many must stay.
const LEAST: usize = 200;

struct Fault {
    file: String,
    find: String,
    put: String,
    test: String,
}

/// The faults of all lists.
fn faults() -> Vec<Fault> {
    files("tests/faults", "toml").iter().flat_map(|path| faults_of(path, &read(path))).collect()
}

fn faults_of(path: &str, text: &str) -> Vec<Fault> {
    let list = DeTable::parse(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut found = vec![];
    for (file, faults) in list.get_ref() {
        let faults = faults.get_ref().as_array().unwrap_or_else(|| panic!("{path}: a fault is below `[[\"FILE\"]]`"));
        for fault in faults {
            let value = |key: &str| fault.get_ref().as_table()?.get(key);
            let word = |key: &str| match value(key).map(|value| value.get_ref()) {
                Some(DeValue::String(text)) => text.to_string(),
                _ => panic!("{path}: a fault of {} without `{key}`", file.get_ref()),
            };
            found.push(Fault { file: file.get_ref().to_string(), find: word("find"), put: word("put"), test: word("test") });
        }
    }
    found
}

/// Where a fault is in the text of its file: what is replaced, between « and » where there are these.
fn place(text: &str, fault: &Fault) -> Result<Range<usize>, String> {
    let (before, inside) = match fault.find.split_once('«') {
        Some((before, rest)) => (before, rest.split_once('»').ok_or("there is « without »")?.0),
        None => ("", &*fault.find),
    };
    let context = fault.find.replace(['«', '»'], "");
    let mut found = text.match_indices(&context);
    let (Some((at, _)), None) = (found.next(), found.next()) else {
        return Err(format!("stands {} times, not once", text.matches(&context).count()));
    };
    let start = at + before.len();
    if inside == fault.put {
        return Err("is no fault".to_owned());
    }
    Ok(start..start + inside.len())
}

#[test]
fn each_fault_has_its_place() {
    let faults = faults();
    assert!(faults.len() >= LEAST, "{} faults", faults.len());
    let mut wrong = vec![];
    let mut places: BTreeMap<&str, Vec<Range<usize>>> = BTreeMap::new();
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for fault in &faults {
        match place(texts.entry(&fault.file).or_insert_with(|| read(&fault.file)), fault) {
            Ok(place) => places.entry(&fault.file).or_default().push(place),
            Err(why) => wrong.push(format!("{}: `{}` {why}", fault.file, fault.find)),
        }
    }
    for (file, mut places) in places {
        places.sort_by_key(|place| place.start);
        wrong.extend(
            places.windows(2).filter(|pair| pair[1].start < pair[0].end).map(|_| format!("{file}: two faults in one place")),
        );
    }
    none("faults that are not where tests/faults says", wrong);
}

/// The files in which the tests of a target are: goldens by their path alone, others with their text.
fn tests_of(target: &str) -> Vec<(String, String)> {
    let with_text = |path: String| {
        let text = read(&path);
        (path, text)
    };
    let (folder, file) = match (target, target.split_once('/'), target.strip_prefix("relayc-")) {
        ("golden", ..) => return files("tests/golden", "").into_iter().map(|path| (path, String::new())).collect(),
        (_, Some((package, target)), _) => (format!("crates/{}/tests/{target}", package.trim_start_matches("relayc-")), None),
        (_, None, Some(name)) => (format!("crates/{name}/src"), None),
        _ => (format!("tests/{target}"), Some(format!("tests/{target}.rs")).filter(|path| root().join(path).is_file())),
    };
    files(&folder, "rs").into_iter().chain(file).map(with_text).collect()
}

/// Whether a filter keeps a test, as far as texts show it: a part of a golden's path, or modules and the beginning of a function.
fn is_there(tests: &[(String, String)], filter: &str) -> bool {
    let mut modules: Vec<&str> = filter.split("::").collect();
    let last = modules.pop().unwrap_or_default();
    let function = format!("fn {last}");
    tests.iter().filter(|(path, _)| modules.iter().all(|module| path.contains(module))).any(|(path, text)| {
        let golden = path.strip_prefix("tests/golden/").is_some_and(|path| path.contains(last));
        golden || text.contains(&function) || path.split('/').any(|part| part.trim_end_matches(".rs") == last)
    })
}

#[test]
fn each_fault_has_its_test() {
    let named: BTreeSet<String> = faults().into_iter().map(|fault| fault.test).collect();
    let mut of_targets: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let missing = named.into_iter().filter(|test| {
        let mut words = test.split(' ').skip_while(|word| word.contains('='));
        let (Some(target), filter) = (words.next(), words.next().unwrap_or_default()) else { return true };
        let tests = of_targets.entry(target.to_owned()).or_insert_with(|| tests_of(target));
        !is_there(tests, filter)
    });
    none("tests named in tests/faults that are not there", missing.collect());
}
