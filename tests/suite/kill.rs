//! A process that is killed while it writes leaves the whole old file or the whole new one (reliability 9).
//!
//! It may leave a temporary file of its own name, which a later run removes once it is a day old.

use crate::writers::{relayc, run, words, writers};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Ends it as nothing can be ended otherwise; whether it had not ended before.
fn kill(mut child: Child) -> bool {
    child.kill().expect("it can be killed");
    child.wait().expect("it ends").code().is_none()
}

/// How often each writer is killed; `RELAYC_KILLS` states the kills of all together.
const KILLS: usize = 20;

#[test]
fn a_killed_writer_leaves_the_old_or_the_new_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = fastrand::Rng::with_seed(7);
    let writers = writers(folder.path(), folder.path());
    let all = std::env::var("RELAYC_KILLS").ok().map(|text| text.parse::<usize>().expect("a number"));
    let kills = all.map_or(KILLS, |all| all.div_ceil(writers.len()));
    let (mut n_killed, mut n_old, mut n_files) = (0, 0, 0);
    for writer in &writers {
        let args = &writer.args;
        writer.reset();
        let start = Instant::now();
        run(folder.path(), args);
        let whole = start.elapsed();
        let new = writer.found();
        let before = n_old;
        for attempt in 0..kills {
            writer.reset();
            let child = relayc(folder.path(), args).spawn().expect("relayc starts");
            // The first at once; some of the others when they have ended, if the machine is not slower by now than it was.
            let share = if attempt == 0 { 0.0 } else { random.f64() * 1.2 };
            std::thread::sleep(whole.mul_f64(share));
            n_killed += usize::from(kill(child));
            for (((file, old), new), found) in writer.files.iter().zip(&new).zip(writer.found()) {
                let is_old = found == *old;
                assert!(is_old || found == *new, "{} holds {} bytes, neither old nor new", file.display(), found.len());
                n_old += usize::from(is_old);
                n_files += 1;
            }
        }
        assert!(n_old > before, "{args:?} was never killed before its end");
        writer.reset();
        swept(folder.path(), args);
        assert!(writer.found() == new, "{args:?} does not give what it gave");
    }
    println!("{} starts, {n_killed} killed; of {n_files} files {n_old} were old", kills * writers.len());
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
    for signal in ["-INT", "-TERM", "-HUP", "-QUIT", "-XCPU", "-ALRM", "-USR1"].iter().cycle().take(70) {
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
