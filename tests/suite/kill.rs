//! A process that is killed while it writes leaves the whole old file or the whole new one (reliability 9).
//!
//! It may leave a temporary file of its own name, which a later run removes once it is a day old.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// A command that writes files, and what they hold before and after it.
struct Writer {
    args: Vec<String>,
    files: Vec<PathBuf>,
}

/// What is killed leaves its temporary folders, too: where `TMPDIR` says.
fn relayc(folder: &Path, args: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.env("TMPDIR", folder).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run(folder: &Path, args: &[String]) {
    let status = relayc(folder, args).status().expect("relayc runs");
    assert!(status.success(), "{args:?}");
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Commands that write what is large enough to be killed at.
fn writers(folder: &Path) -> Vec<Writer> {
    let at = |name: &str| folder.join(name);
    let (net, weights) = (at("given.relay"), at("given.params"));
    let shown = |path: &Path| path.display().to_string();
    run(folder, &words(&format!("model mlp -o {} --params {}", shown(&net), shown(&weights))));
    let given = format!("{} --params {}", shown(&net), shown(&weights));
    let model = at("model.onnx");
    run(folder, &words(&format!("export {given} --to onnx -o {}", shown(&model))));
    // `{0}` and `{1}` are the files that it writes.
    let writer = |command: &str, names: &[&str]| {
        let files: Vec<PathBuf> = names.iter().map(|name| at(name)).collect();
        let filled = files
            .iter()
            .enumerate()
            .fold(command.to_owned(), |command, (i, file)| command.replace(&format!("{{{i}}}"), &shown(file)));
        Writer { args: words(&filled), files }
    };
    vec![
        writer("model mlp -o {0} --params {1}", &["again.relay", "again.params"]),
        writer(&format!("export {given} --to onnx -o {{0}}"), &["net.onnx"]),
        writer(&format!("run {given} --fill ones --outputs {{0}} --save-steps {{1}}"), &["out.npz", "steps.npz"]),
        #[cfg(feature = "jit")]
        writer(
            &format!("build {given} -o {{0}} --target x86-64-v3 --emit so,header,obj,asm,graph-json,params"),
            &["net.so", "net.h", "net.o", "net.x86-64-v3.s", "net.json", "net.params"],
        ),
        writer(&format!("import {} -o {{0}} --params {{1}}", shown(&model)), &["imported.relay", "imported.params"]),
        writer(&format!("params convert {} -o {{0}}", shown(&weights)), &["weights.safetensors"]),
        writer(&format!("params bind {given} -o {{0}}"), &["bound.relay"]),
        writer(&format!("viz {} -f html -o {{0}}", shown(&net)), &["net.html"]),
        writer(&format!("reduce {given} --fill ones -o {{0}} --max-runs 1 -- true {{inputs}}"), &["small.relay", "small.npz"]),
    ]
}

/// Ends it as nothing can be ended otherwise.
fn kill(mut child: Child) {
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

/// So often a writer is killed.
const TRIES: u32 = 40;

const OLD: &[u8] = b"what was there before";

#[test]
fn a_killed_writer_leaves_the_old_or_the_new_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = fastrand::Rng::with_seed(7);
    for Writer { args, files } in writers(folder.path()) {
        let start = Instant::now();
        run(folder.path(), &args);
        let whole = start.elapsed();
        let new: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).expect("it was written")).collect();
        let mut n_old = 0;
        for attempt in 0..TRIES {
            for file in &files {
                std::fs::write(file, OLD).expect("the folder can be written");
            }
            let child = relayc(folder.path(), &args).spawn().expect("relayc starts");
            // The first at once; some of the others when they have ended, if the machine is not slower by now than it was.
            let share = if attempt == 0 { 0.0 } else { random.f64() * 1.2 };
            std::thread::sleep(whole.mul_f64(share));
            kill(child);
            for (file, new) in files.iter().zip(&new) {
                let found = std::fs::read(file).expect("a file is there at every moment");
                let is_old = found == OLD;
                assert!(is_old || found == *new, "{} holds {} bytes, neither old nor new", file.display(), found.len());
                n_old += usize::from(is_old);
            }
        }
        assert!(n_old > 0, "{args:?} was never killed before its end");
        swept(folder.path(), &args);
        for (file, new) in files.iter().zip(&new) {
            assert!(std::fs::read(file).is_ok_and(|found| found == *new), "{} is not new", file.display());
        }
    }
}

/// What is left over is named as temporaries are, and goes with the next run once it is old.
fn swept(folder: &Path, args: &[String]) {
    let left = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))).collect()
    };
    let long_ago = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    for path in left() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        assert!(name.starts_with(".relayc-") && name.ends_with(".tmp"), "a stray file {name}");
        let file = std::fs::File::options().write(true).open(&path).expect("ours");
        file.set_modified(long_ago).expect("ours");
    }
    run(folder, args);
    assert_eq!(left(), Vec::<PathBuf>::new(), "temporaries of killed processes stay");
}

/// A signal that can be handled leaves nothing; a file over the limit of the process is an error like a full disk.
#[cfg(feature = "jit")]
#[test]
fn an_interrupted_writer_leaves_no_temporary() {
    let folder = tempfile::tempdir().expect("a folder");
    let (params, net) = (folder.path().join("w.params"), folder.path().join("w.npz"));
    run(folder.path(), &words(&format!("model mlp -o {0}.relay --params {0}", params.display())));
    let args = words(&format!("params convert {} -o {}", params.display(), net.display()));
    let start = Instant::now();
    run(folder.path(), &args);
    let whole = start.elapsed();
    let left = || std::fs::read_dir(folder.path()).expect("the folder").count();
    let n_files = left();
    let mut random = fastrand::Rng::with_seed(11);
    for signal in ["-INT", "-TERM", "-HUP"].iter().cycle().take(60) {
        let mut child = relayc(folder.path(), &args).spawn().expect("relayc starts");
        std::thread::sleep(whole.mul_f64(random.f64()));
        let killed = Command::new("kill").args([signal, &*child.id().to_string()]).stderr(Stdio::null()).status();
        assert!(killed.is_ok());
        child.wait().expect("it ends");
        assert_eq!(left(), n_files, "a temporary stays after {signal}");
    }
    let limited = Command::new("sh")
        .args(["-c", "ulimit -f 8; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_relayc")])
        .args(&args)
        .output()
        .expect("a shell");
    assert_eq!(limited.status.code(), Some(2), "{limited:?}");
    assert!(String::from_utf8_lossy(&limited.stderr).contains("E0702"), "{limited:?}");
    assert_eq!(left(), n_files);
}
