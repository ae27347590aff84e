//! A file is on the disk before it has its name, and its name is on the disk before the command ends (reliability 9): a machine that
//! stops at any moment has the old file or the new one.

use std::path::Path;
use std::process::{Command, Stdio};

/// What a command brings to the disk, in order: `file` for a temporary one, else the name of what is brought there.
fn synced(folder: &Path, args: &str) -> Vec<String> {
    let notes = folder.join("notes");
    let status = Command::new(env!("CARGO_BIN_EXE_relayc"))
        .args(args.split(' '))
        .current_dir(folder)
        .envs([("LD_PRELOAD", folder.join("synced.so")), ("SYNCED", notes.clone())])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("relayc starts").success(), "{args}");
    let text = std::fs::read_to_string(&notes).unwrap_or_default();
    let _ = std::fs::remove_file(&notes);
    let name = |path: &str| match Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()) {
        Some(name) if name.starts_with(".relayc-") => "file".to_owned(),
        name => name.unwrap_or_default(),
    };
    text.lines().map(name).collect()
}

#[test]
fn written_files_are_on_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::create_dir(at.join("beside")).expect("a folder of ours");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/synced.c");
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", "synced.so"]).current_dir(at);
    let made = cc.output().expect("a compiler of C");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let here = at.file_name().expect("it has a name").to_string_lossy().into_owned();
    assert_eq!(synced(at, "model mlp -o net.relay --params net.params"), ["file", "file", &*here]);
    // The file before it is replaced, too, and each folder once.
    assert_eq!(synced(at, "params convert net.params -o beside/net.npz"), ["file", "beside"]);
    assert_eq!(synced(at, "params convert net.params -o beside/net.npz"), ["file", "beside"]);
    assert_eq!(synced(at, "model mlp -o beside/net.relay --params net.params"), ["file", "file", "beside", &*here]);
    assert_eq!(synced(at, "model mlp -o /dev/null"), [""; 0]);
}
