//! Systems that give relayc less than usual: odd or no variables, no `/proc`, no threads, no executable memory. And the proof that compiled
//! programs ask for no page that is writable and executable at once.

#![allow(unsafe_code, reason = "a child process gives up rights before it becomes relayc")]

use crate::faults::preloaded;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const NET: &str = "#[version = \"0.0.5\"]
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32], %d: Tensor[(3, 8), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]));
  nn.softmax(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %d, units=3))
}
";

/// Commands that give the same each time.
const COMMANDS: &[&str] = &[
    "check net.relay",
    "fmt --check net.relay",
    "print net.relay --types",
    "opt net.relay",
    "run net.relay --fill ones",
    "run net.relay --fill ones --engine interp",
    "run net.relay --fill rand --engine both",
    "run net.so --fill ones",
    "model mlp",
    "ops nn.relu",
    "explain E0301",
    "inspect net.so",
    "viz net.relay -f dot",
    "test net.relay",
];

/// A folder with a program and its artifact.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("net.relay"), NET).expect("written");
    let built = relayc(folder.path(), "build net.relay -o net.so --weights-as-inputs").output().expect("relayc runs");
    assert!(built.status.success(), "{}", said(&built));
    folder
}

fn relayc(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.args(line.split(' ')).current_dir(folder).stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    format!("{} {}", output.status, String::from_utf8_lossy(&output.stderr))
}

/// Whether a command ends as it does otherwise, with the same on standard output.
fn same(folder: &Path, line: &str, command: &mut Command) -> Result<(), String> {
    let usual = relayc(folder, line).output().expect("relayc runs");
    let found = command.output().map_err(|error| error.to_string())?;
    match usual.stdout == found.stdout && usual.status == found.status {
        true => Ok(()),
        false => Err(format!("relayc {line}: {}\n{}", said(&found), String::from_utf8_lossy(&found.stdout))),
    }
}

/// The variables that programs read, and relayc's own, of which the last two have to be right.
const VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "TMPDIR",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_NUMERIC",
    "TZ",
    "PWD",
    "USER",
    "SHELL",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "OMP_NUM_THREADS",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "MALLOC_ARENA_MAX",
    "RAYON_NUM_THREADS",
    "RELAYC_NUM_THREADS",
    "RELAYC_ISA",
];

fn value(random: &mut fastrand::Rng) -> OsString {
    let known = [
        "",
        "/nonexistent",
        "/dev/null",
        ".",
        "0",
        "-1",
        "1",
        "99999999999999999999",
        "dumb",
        "xterm-256color",
        "C",
        "tlh_XX.UTF-99",
    ];
    match random.usize(..4) {
        0 => {
            let n = random.usize(..40);
            OsString::from_vec(std::iter::repeat_with(|| random.u8(1..)).take(n).collect())
        }
        1 => "x".repeat(random.usize(..100_000)).into(),
        _ => known[random.usize(..known.len())].into(),
    }
}

/// 1,000 starts by `.ci/long`: `RELAYC_STARTS=1000`.
#[test]
fn any_environment_will_do() {
    let n = std::env::var("RELAYC_STARTS").ok().map_or(30, |text| text.parse().expect("a number"));
    let folder = folder();
    let mut random = fastrand::Rng::with_seed(3);
    for start in 0..n {
        let line = COMMANDS[start % COMMANDS.len()];
        let mut command = relayc(folder.path(), line);
        if random.bool() {
            command.env_clear();
        }
        let mut has_own = false;
        for name in VARIABLES {
            match random.usize(..4) {
                0 => {
                    command.env_remove(name);
                }
                1 => {
                    has_own |= name.starts_with("RELAYC_");
                    command.env(name, value(&mut random));
                }
                _ => {}
            }
        }
        // Names that nobody knows, as long as one likes.
        command.env(OsStr::new(&"Y".repeat(random.usize(1..1_000))), value(&mut random));
        let short = |value: Option<&OsStr>| value.map(|value| value.to_string_lossy().chars().take(40).collect::<String>());
        let shown: Vec<String> = command.get_envs().map(|(name, value)| format!("{name:?}={:?}", short(value))).collect();
        match same(folder.path(), line, &mut command) {
            Ok(()) => {}
            Err(wrong) if has_own => {
                // Its own variables are arguments: what is no number of threads and no instruction set is said.
                let output = command.output().expect("relayc runs");
                let about = String::from_utf8_lossy(&output.stderr).into_owned();
                let is_told = about.contains("RELAYC_") && matches!(output.status.code(), Some(2 | 3)) || output.status.success();
                assert!(is_told, "{shown:?}\n{wrong}");
            }
            Err(wrong) => panic!("start {start}: {shown:?}\n{wrong}"),
        }
    }
}

/// Without `/proc`, where the system lets a process have none.
#[test]
fn there_is_no_proc() {
    let folder = folder();
    let hide = || {
        // SAFETY: the calls take numbers and constant strings that end in a zero.
        let failed = unsafe {
            libc::unshare(libc::CLONE_NEWNS) != 0
                || libc::mount(
                    c"none".as_ptr(),
                    c"/".as_ptr(),
                    std::ptr::null(),
                    libc::MS_REC | libc::MS_PRIVATE,
                    std::ptr::null(),
                ) != 0
                || libc::mount(c"none".as_ptr(), c"/proc".as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null()) != 0
        };
        if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    for line in COMMANDS {
        let mut command = relayc(folder.path(), line);
        // SAFETY: between fork and exec it makes system calls, and neither allocates nor takes a lock.
        unsafe { command.pre_exec(hide) };
        match same(folder.path(), line, &mut command) {
            Err(wrong) if wrong.contains("not permitted") => return println!("not tried: {wrong}"),
            other => other.unwrap_or_else(|wrong| panic!("{wrong}")),
        }
    }
}

/// Without any thread but the first, as where the number of processes is limited.
#[test]
fn no_thread_is_given() {
    let folder = folder();
    let library = preloaded(folder.path(), "faults.c");
    for line in COMMANDS.iter().chain(&["run net.relay --fill ones --engine interp --threads 4"]) {
        let mut command = relayc(folder.path(), line);
        command.env("LD_PRELOAD", &library).env("FORBID", "threads");
        same(folder.path(), line, &mut command).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

/// By a filter of system calls; and as `MemoryDenyWriteExecute` of systemd refuses it, where the system can.
#[test]
fn nothing_may_become_executable() {
    let folder = folder();
    let library = preloaded(folder.path(), "faults.c");
    const PR_SET_MDWE: libc::c_int = 65;
    const REFUSE_EXEC_GAIN: libc::c_ulong = 1;
    // SAFETY: the call takes numbers.
    let deny = || match unsafe { libc::prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    for way in ["filter", "deny"] {
        let hardened = |line: &str| {
            let mut command = relayc(folder.path(), line);
            if way == "filter" {
                command.env("LD_PRELOAD", &library).env("FORBID", "execute");
            } else {
                // SAFETY: between fork and exec it makes one system call, which takes numbers.
                unsafe { command.pre_exec(deny) };
            }
            command
        };
        if hardened("--version").output().is_err() {
            println!("this system has no such call");
            continue;
        }
        for line in
            ["check net.relay", "opt net.relay", "run net.relay --fill ones --engine interp", "model mlp", "test net.relay"]
        {
            same(folder.path(), line, &mut hardened(line)).unwrap_or_else(|wrong| panic!("{way}: {wrong}"));
        }
        // What the program gives is what the interpreter gives, and a warning says why.
        let interpreted = relayc(folder.path(), "run net.relay --fill ones --engine interp").output().expect("relayc runs");
        let output = hardened("run net.relay --fill ones").output().expect("relayc runs");
        assert!(output.status.success() && output.stdout == interpreted.stdout, "{way}: {}", said(&output));
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "warning[W0023]: the system refuses executable memory: the program is interpreted\n\n"
        );
        // What has to run code says why it cannot.
        assert!(
            hardened("doctor --no-probe").output().expect("relayc runs").stdout.windows(9).any(|words| words == b"refuses e")
        );
        for (line, code, word) in [
            ("bench net.relay --fill ones", 3, "E0601"),
            ("build net.relay -o built.so --weights-as-inputs", 3, "E0602"),
            ("run net.relay --fill ones --target x86-64-v3", 3, "E0602"),
            ("run net.so --fill ones", 2, "E0701"),
            ("profile net.so --fill ones", 2, "E0701"),
        ] {
            let output = hardened(line).output().expect("relayc runs");
            assert!(output.status.code() == Some(code) && said(&output).contains(word), "{way}: {line}: {}", said(&output));
        }
    }
}

/// I11: whole runs of compiled programs under a filter that ends a process which asks for a page that can be written and executed; their
/// memory maps are read all the time as well.
#[test]
fn no_run_asks_for_a_page_that_is_writable_and_executable() {
    let folder = folder();
    let library = preloaded(folder.path(), "faults.c");
    let at = folder.path();
    let made = relayc(at, "model mobilenet -o large.relay --params large.params").output().expect("relayc runs");
    assert!(made.status.success(), "{}", said(&made));
    let mut n_maps = 0;
    for line in [
        "run large.relay --params large.params --fill ones",
        "run large.relay --params large.params --fill ones --threads 3 --cache",
        "run net.relay --fill ones --engine both",
        "bench net.relay --fill ones",
        "profile net.relay --fill ones --seconds 0",
        "run net.so --fill ones",
        "bench net.so --fill ones",
        "build net.relay -o again.so --weights-as-inputs",
    ] {
        let mut command = relayc(at, line);
        command.env("LD_PRELOAD", &library).env("FORBID", "both").env("XDG_CACHE_HOME", at.join("xdg")).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("relayc starts");
        let maps = format!("/proc/{}/maps", child.id());
        let status = loop {
            let text = std::fs::read_to_string(&maps).unwrap_or_default();
            n_maps += usize::from(!text.is_empty());
            let both = |line: &str| line.split(' ').nth(1).is_some_and(|access| access.contains('w') && access.contains('x'));
            assert_eq!(text.lines().find(|line| both(line)), None, "{line}");
            if let Some(status) = child.try_wait().expect("it can be asked") {
                break status;
            }
        };
        let mut words = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().expect("a pipe"), &mut words).expect("words");
        assert!(status.success(), "{line}: {status} {words}");
    }
    println!("{n_maps} maps");
    assert!(n_maps > 0);
    // The filter is one: who asks for such a page is ended.
    let asks = "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)";
    let python = |forbid: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", asks]).env("LD_PRELOAD", &library).env("FORBID", forbid).status().expect("Python runs").success()
    };
    assert!(python("") && !python("both"));
}
