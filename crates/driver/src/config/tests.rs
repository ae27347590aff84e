//! What is wrong in `relayc.toml` has its place; the nearest file holds; an untrusted one leads nowhere.

use super::*;
use std::fs;
use std::process::Command;

/// The codes and the texts at their places, of a file with this content.
fn wrong(text: &str) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(NAME);
    fs::write(&path, text).expect("it is written");
    let project = Project::open(&path, &Reach::Everything);
    let place = |diagnostic: &Diagnostic| project.sources.slice(diagnostic.span()).to_owned();
    project.diagnostics.iter().map(|diagnostic| (diagnostic.code.id().to_owned(), place(diagnostic))).collect()
}

#[test]
fn every_mistake_has_its_place() {
    let found = wrong("wdith = 1\n[format]\nwidth = 5\nlines = 3\n[lints]\nunused-lett = \"allow\"\nW0005 = \"alow\"\nall = 1\n");
    let found: Vec<(&str, &str)> = found.iter().map(|(code, at)| (code.as_str(), at.as_str())).collect();
    let wanted =
        [("E0745", "wdith"), ("E0746", "5"), ("E0745", "lines"), ("E0745", "unused-lett"), ("E0746", "\"alow\""), ("E0746", "1")];
    assert_eq!(found, wanted);
}

#[test]
fn hostile_texts_are_errors() {
    for text in
        ["[", "format = 1", "\u{feff}[format]\nwidth=80", "a.b.c = {", "[lints]\n\"\" = \"\"", "[weights]\n\"\" = 1\n\"/x\" = []"]
    {
        let _ = wrong(text);
    }
    assert_eq!(
        wrong(&format!("[format]\nwidth = {}", "[".repeat(100_000))).first().map(|(code, _)| code.as_str()),
        Some("E0744")
    );
    assert!(wrong(&"x = 1\n".repeat(1000)).len() <= 100);
    assert!(wrong(&format!("[format]\nwidth = {}", "9".repeat(1000))).iter().all(|(code, _)| code == "E0746"));
}

#[test]
fn the_nearest_file_holds_and_what_is_right_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("a/b");
    fs::create_dir_all(&inner).expect("a folder");
    fs::write(folder.path().join(NAME), "[format]\nwidth = 60\n").expect("it is written");
    fs::write(folder.path().join("a").join(NAME), "[format]\nwidth = 70\nwidht = 3\n").expect("it is written");
    let width = |program: &str, reach: &Reach| Project::of(&folder.path().join(program), reach).style.width;
    let all = &Reach::Everything;
    assert_eq!([width("x.relay", all), width("a/x.relay", all), width("a/b/x.relay", all)], [60, 70, 70]);
    let inside = &Reach::inside([inner.as_path()]);
    assert_eq!([width("x.relay", inside), width("a/b/x.relay", inside)], [100, 100]);
}

/// A project whose file cannot be read has not the choices of none.
#[test]
fn a_file_that_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = |reach: &Reach| Project::of(&folder.path().join("x.relay"), reach).diagnostics;
    let codes = || all(&Reach::Everything).iter().map(|told| told.code.id()).collect::<Vec<_>>();
    assert!(codes().is_empty());
    let path = folder.path().join(NAME);
    for target in [Path::new("nowhere"), Path::new(NAME), Path::new("/dev/null")] {
        link(target, &path);
        assert_eq!(codes(), ["E0701"], "{}", target.display());
        fs::remove_file(&path).expect("it is removed");
    }
    fs::create_dir(&path).expect("a folder");
    assert_eq!(codes(), ["E0701"]);
}

fn link(to: &Path, at: &Path) {
    let made = Command::new("ln").arg("-s").args([to, at]).status();
    assert!(made.is_ok_and(|made| made.success()), "a link is made");
}

#[test]
fn an_untrusted_file_leads_nowhere_outside() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside.npz"));
    fs::create_dir(&root).expect("a folder");
    fs::write(&outside, "secret").expect("it is written");
    fs::write(root.join("own.npz"), "").expect("it is written");
    link(&outside, &root.join("link.npz"));
    link(folder.path(), &root.join("up"));
    let text = format!(
        "[weights]\n\"*.relay\" = [\"own.npz\", \"link.npz\", \"../outside.npz\", \"up/outside.npz\", \"up/outsid.npz\", \"{}\"]\n",
        outside.display()
    );
    fs::write(root.join(NAME), text).expect("it is written");
    let project = Project::of(&root.join("x.relay"), &Reach::inside([root.as_path()]));
    let said: Vec<&str> = project.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(said.iter().all(|said| !said.contains("there is") && !said.contains("secret")), "{said:?}");
    assert_eq!(project.weight_files().collect::<Vec<_>>(), [root.canonicalize().expect("it is there").join("own.npz")]);
    assert!(!Project::of(&root.join("x.relay"), &Reach::Everything).has_errors() || project.has_errors());
}
