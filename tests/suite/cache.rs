//! `--cache` gives the same answer as no cache, whatever the cache holds.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with programs and a cache.
struct Place {
    folder: tempfile::TempDir,
}

/// What a run said.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn of(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Whether it came from the cache.
    fn is_kept(&self) -> bool {
        self.err.contains("from the cache")
    }
}

/// A convolution, which has Winograd's method and packed weights, and a dense layer.
const NET: &str = r#"#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 12, 12), float32], %w: Tensor[(32, 16, 3, 3), float32], %d: Tensor[(10, 32), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
  nn.softmax(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %d, units=10))
}
"#;

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a folder") };
        fs::write(place.at("net.relay"), NET).expect("written");
        place.weights(1);
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes random weights of a seed: as the results of a program that gives what it takes.
    fn weights(&self, seed: u32) {
        let text = "def @main(%w: Tensor[(32, 16, 3, 3), float32], %d: Tensor[(10, 32), float32]) { (%w, %d) }";
        let text = text.replace(") {", ", output_tensor_names=[\"w\", \"d\"]) {");
        fs::write(self.at("weights.relay"), text).expect("written");
        let fill = format!("rand:seed={seed}");
        let said =
            Said::of(self.command(&["run", "weights.relay", "--fill", &fill, "--outputs", "w.npz"]).output().expect("it runs"));
        assert_eq!(said.code, Some(0), "{}", said.err);
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
        command.args(args).current_dir(self.folder.path()).env("XDG_CACHE_HOME", self.at("xdg")).env_remove("RELAYC_ISA");
        command
    }

    fn relayc(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().expect("relayc runs"))
    }

    /// Runs the network with and without the cache, and requires the same answer. Returns what was said with it.
    fn run(&self, more: &[&str]) -> Said {
        let args = [&["run", "net.relay", "-v", "--params", "w.npz", "--fill", "rand:seed=3"], more].concat();
        let said = self.same(&args);
        assert_eq!(said.code, Some(0), "{}", said.err);
        said
    }

    fn same(&self, args: &[&str]) -> Said {
        let without = self.relayc(args);
        let with = self.relayc(&[args, &["--cache"]].concat());
        assert_eq!((with.code, &with.out), (without.code, &without.out), "{args:?}: {}", with.err);
        with
    }

    fn cache(&self) -> PathBuf {
        self.at("xdg/relayc")
    }

    /// The kept programs' files.
    fn kept(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cache()).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
        paths.sort();
        paths
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
}

#[test]
fn a_second_start_is_from_the_cache() {
    let place = Place::new();
    assert!(!place.run(&[]).is_kept());
    assert!(place.run(&[]).is_kept());
    assert_eq!((place.kept("so").len(), place.kept("json").len()), (1, 1));
    assert_eq!(fs::metadata(place.cache()).expect("there").permissions().mode() & 0o777, 0o700);
    // The inputs are not in the key.
    assert!(place.run(&["-i", "x=ones"]).is_kept());
    let measured = place.relayc(&[
        "bench",
        "net.relay",
        "--params",
        "w.npz",
        "--fill",
        "ones",
        "--cache",
        "--seconds",
        "0",
        "--warmup",
        "0",
    ]);
    assert!(measured.out.contains("from the cache"), "{}", measured.out);
    // The same content of another name and time is the same program.
    fs::copy(place.at("w.npz"), place.at("v.npz")).expect("copied");
    assert!(place.same(&["run", "net.relay", "-v", "--params", "v.npz", "--fill", "ones"]).is_kept());
    let cleared = place.relayc(&["cache", "clear"]);
    assert!(cleared.out.starts_with("removed 1 program, "), "{}", cleared.out);
    assert_eq!(fs::read_dir(place.cache()).expect("there").count(), 0);
    assert!(!place.run(&[]).is_kept());
}

#[test]
fn another_program_is_compiled() {
    let place = Place::new();
    place.run(&[]);
    for options in [
        &["-O1"][..],
        &["--accuracy", "strict"],
        &["--threads", "3"],
        &["--target", "x86-64-v3"],
        &["--max-memory", "1G"],
        &["--entry", "main", "--compat"],
    ] {
        assert!(!place.run(options).is_kept(), "{options:?}");
        assert!(place.run(options).is_kept(), "{options:?}");
    }
    let times = fs::metadata(place.at("w.npz")).and_then(|metadata| metadata.modified()).expect("it has a time");
    let before = place.run(&[]);
    place.weights(2);
    // As it was, by all that a user can set.
    fs::File::options().write(true).open(place.at("w.npz")).and_then(|file| file.set_modified(times)).expect("ours");
    let after = place.run(&[]);
    assert!(!after.is_kept() && after.out != before.out);
    fs::write(place.at("net.relay"), NET.replace("nn.relu", "tanh")).expect("written");
    assert!(!place.run(&[]).is_kept());
}

#[test]
fn only_programs_of_known_sizes_and_weights_are_kept() {
    let place = Place::new();
    // A weight that is given as an input: for another call it is the file's.
    assert!(!place.run(&["-i", "d=10x32xf32=0.5"]).is_kept());
    assert!(place.kept("so").is_empty());
    place.run(&[]);
    assert!(!place.run(&["-i", "d=10x32xf32=0.5"]).is_kept());
    assert!(place.run(&[]).is_kept());
    fs::write(place.at("open.relay"), "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(?, 3), float32]) { sum(%x, axis=[1]) }\n")
        .expect("written");
    for rows in [2, 5] {
        let x = format!("x={rows}x3xf32=1");
        let said = place.same(&["run", "open.relay", "-v", "-i", &x]);
        assert!(said.err.contains("is not kept: the size of an input is open"), "{}", said.err);
    }
    let set = ["run", "open.relay", "-v", "--fill", "ones", "--set", "x.0=4"];
    place.same(&set);
    fs::write(place.at("if.relay"), "#[version = \"0.0.5\"]\ndef @main(%b: bool) { if (%b) { 1 } else { 2 } }\n")
        .expect("written");
    assert!(!place.same(&["run", "if.relay", "-v", "--fill", "ones"]).is_kept());
    // A warning would be said but once.
    fs::write(place.at("warned.relay"), "def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }\n").expect("written");
    for _ in 0..2 {
        assert!(place.same(&["run", "warned.relay", "-v", "--fill", "ones"]).err.contains("W0001"));
    }
}

#[test]
fn a_failure_is_said_as_without_the_cache() {
    let place = Place::new();
    let text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(3), int32], %i: int32) { take(%x, %i, mode=\"fast\") / %i }\n";
    fs::write(place.at("net.relay"), text.replace("mode=\"fast\"", "axis=0")).expect("written");
    let run = |i: &str| place.same(&["run", "net.relay", "-i", "x=3xi32=[1,2,3]", "-i", i]);
    run("i=i32=1");
    assert_eq!(place.kept("so").len(), 1);
    let plain = |i: &str| place.relayc(&["run", "net.relay", "-i", "x=3xi32=[1,2,3]", "-i", i]).err;
    assert_eq!(run("i=i32=0").err, plain("i=i32=0"));
    assert_eq!(run("i=f32=1").err, plain("i=f32=1"));
    assert_eq!(place.same(&["run", "net.relay"]).err, place.relayc(&["run", "net.relay"]).err);
}

/// Damages a kept program, and requires that this is found, warned of, and healed.
fn damaged(place: &Place, what: &str, damage: impl FnOnce(&Path)) {
    let kept = place.kept("so");
    assert_eq!(kept.len(), 1, "{what}");
    damage(&kept[0]);
    let said = place.run(&[]);
    assert!(said.err.contains("warning[W0018]") && !said.is_kept(), "{what}: {}", said.err);
    let healed = place.run(&[]);
    assert!(healed.is_kept() && !healed.err.contains("W0018"), "{what}: {}", healed.err);
}

#[test]
fn a_damaged_program_is_not_run() {
    let place = Place::new();
    place.run(&[]);
    let path = &place.kept("so")[0];
    let bytes = fs::read(path).expect("kept");
    for at in [0, 30, 4096, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
        damaged(&place, &format!("byte {at}"), |path| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x40;
            fs::write(path, bytes).expect("written");
        });
    }
    for end in [0, 100, bytes.len() / 2, bytes.len() - 1] {
        damaged(&place, &format!("{end} bytes"), |path| fs::write(path, &bytes[..end]).expect("written"));
    }
    damaged(&place, "text", |path| fs::write(path, "not a program").expect("written"));
    damaged(&place, "mode", |path| mode(path, 0o666));
    damaged(&place, "link", |path| {
        fs::rename(path, place.at("elsewhere.so")).expect("renamed");
        symlink(place.at("elsewhere.so"), path).expect("linked");
    });
    damaged(&place, "second name", |path| fs::hard_link(path, place.at("second.so")).expect("linked"));
    damaged(&place, "other program", |path| {
        let built = place.relayc(&["build", "net.relay", "--params", "w.npz", "-o", "built.so"]);
        assert_eq!(built.code, Some(0), "{}", built.err);
        fs::copy(place.at("built.so"), path).expect("copied");
    });
}

#[test]
fn what_is_known_of_files_may_be_lost() {
    let place = Place::new();
    place.run(&[]);
    let record = &place.kept("json")[0];
    for text in ["", "{", "[]", "{\"schema\":\"relayc.cached/1\"}", "{\"schema\":\"relayc.cached/1\",\"identity\":[1,2]}"] {
        fs::write(record, text).expect("written");
        assert!(place.run(&[]).is_kept(), "{text}");
    }
    fs::remove_file(record).expect("removed");
    assert!(place.run(&[]).is_kept());
    // Only the checksum says that a copy is whole.
    let path = &place.kept("so")[0];
    fs::copy(path, place.at("copy")).and_then(|_| fs::rename(place.at("copy"), path)).expect("copied");
    mode(path, 0o600);
    assert!(place.run(&[]).is_kept());
    let digests = place.cache().join("digests");
    let lines = fs::read_to_string(&digests).expect("written");
    for text in ["x\n", &lines[..lines.len() - 1], &lines.replace(' ', "\t"), &lines.replace(' ', " 1 "), "\u{0}"] {
        fs::write(&digests, text).expect("written");
        let said = place.run(&[]);
        assert!(said.is_kept() && said.err.contains("digests` is not used"), "{text}: {}", said.err);
        assert!(!place.run(&[]).err.contains("W0018"), "{text}");
    }
    mode(&digests, 0o622);
    assert!(place.run(&[]).err.contains("others can write it"));
}

#[test]
fn a_folder_that_is_not_private_is_not_used() {
    let place = Place::new();
    let cache = place.cache();
    fs::create_dir_all(&cache).expect("made");
    let refused = |why: &str| {
        let said = place.run(&[]);
        assert!(said.err.contains("warning[W0017]") && said.err.contains(why) && !said.is_kept(), "{why}: {}", said.err);
        assert!(place.kept("so").is_empty());
        assert_eq!(place.relayc(&["cache", "ls"]).code, Some(2));
    };
    for bits in [0o755, 0o777, 0o720] {
        mode(&cache, bits);
        refused(&format!("its mode is {bits:04o}"));
    }
    fs::rename(&cache, place.at("elsewhere")).expect("renamed");
    mode(&place.at("elsewhere"), 0o700);
    symlink(place.at("elsewhere"), &cache).expect("linked");
    refused("it is a link");
    fs::remove_file(&cache).expect("removed");
    fs::write(&cache, "").expect("written");
    refused("");
    let homeless = place
        .command(&["run", "net.relay", "--params", "w.npz", "--fill", "ones", "--cache"])
        .env_remove("HOME")
        .env("XDG_CACHE_HOME", "relative")
        .output();
    let said = Said::of(homeless.expect("it runs"));
    assert!(said.code == Some(0) && said.err.contains("warning[W0017]"), "{}", said.err);
}

#[test]
fn a_full_disk_loses_nothing() {
    let place = Place::new();
    // No file may have more than a block.
    let line = format!(
        "trap '' XFSZ; ulimit -f 1; '{}' run net.relay --params w.npz --fill rand:seed=3 --cache",
        env!("CARGO_BIN_EXE_relayc")
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(place.folder.path()).env("XDG_CACHE_HOME", place.at("xdg"));
    let said = Said::of(shell.output().expect("a shell"));
    assert_eq!(said.out, place.relayc(&["run", "net.relay", "--params", "w.npz", "--fill", "rand:seed=3"]).out);
    assert!(said.code == Some(0) && said.err.contains("warning[W0017]"), "{}", said.err);
    let left: Vec<_> = fs::read_dir(place.cache()).expect("made").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "digests"), "{left:?}");
}

#[test]
fn processes_at_once_agree() {
    let place = Place::new();
    let args = ["run", "net.relay", "-v", "--params", "w.npz", "--fill", "rand:seed=3", "--cache"];
    let expected = place.relayc(&args[..args.len() - 1]).out;
    for _ in 0..2 {
        let all: Vec<_> = (0..6)
            .map(|_| {
                let mut command = place.command(&args);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("it runs")
            })
            .collect();
        for one in all {
            let said = Said::of(one.wait_with_output().expect("it ends"));
            assert_eq!((said.code, &said.out), (Some(0), &expected), "{}", said.err);
            assert!(!said.err.contains("warning"), "{}", said.err);
        }
    }
    assert!(place.run(&[]).is_kept());
    assert_eq!(place.kept("so").len(), 1);
}

#[test]
fn the_program_that_was_not_used_for_longest_makes_room() {
    let place = Place::new();
    place.run(&["-O1"]);
    let bytes = fs::metadata(&place.kept("so")[0]).expect("kept").len();
    place.run(&["-O2"]);
    let first = place.run(&["-O1"]);
    assert!(first.is_kept());
    let limit = (2 * bytes + bytes / 2).to_string();
    let within = |level: &str, limit: &str| {
        place.relayc(&["run", "net.relay", "--params", "w.npz", "--fill", "ones", "--cache", level, "--cache-size", limit])
    };
    assert_eq!(within("-O3", &limit).code, Some(0));
    assert_eq!((place.kept("so").len(), place.kept("json").len()), (2, 2));
    assert!(place.run(&["-O1"]).is_kept() && place.run(&["-O3"]).is_kept());
    let said = within("-O0", "1K");
    assert!(said.code == Some(0) && said.err.contains("warning[W0017]: the compiled program is not kept"), "{}", said.err);
    assert_eq!(place.kept("so").len(), 2);
}
