//! What a check costs grows no faster than n·log n with the text, construct by construct; and any text is checked in bounded time and
//! memory (reliability 1, I5).
//!
//! What counts is the processor time of the process, which other processes hardly change. The gate stops at 256 KiB and 2 MiB;
//! `RELAYC_GROWTH=2M RELAYC_LARGE=64M`, as in `.ci/long`, sets other sizes.

#![allow(unsafe_code, reason = "the system is asked what a process took")]

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a command took.
pub(crate) struct Took {
    pub(crate) code: Option<i32>,
    pub(crate) seconds: f64,
    /// The most memory at one time.
    pub(crate) bytes: u64,
    pub(crate) said: String,
}

fn check(path: &Path, more: &[&str]) -> Took {
    took(path, &["check"], more)
}

/// Runs a command of relayc on a file, with options before it and behind it.
pub(crate) fn took(path: &Path, before: &[&str], behind: &[&str]) -> Took {
    let said = path.with_extension("err");
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.args(before).arg(path).args(behind).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(std::fs::File::create(&said).expect("the folder can be written"));
    #[allow(clippy::zombie_processes, reason = "the system is asked for it below")]
    let child = command.spawn().expect("relayc starts");
    let (mut status, pid) = (0, libc::pid_t::try_from(child.id()).expect("a process number"));
    // SAFETY: numbers, for which zeros are values; they live longer than the call, and nobody else waits for the child.
    let took = unsafe {
        let mut took: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(pid, &mut status, 0, &mut took), pid);
        took
    };
    let seconds = [took.ru_utime, took.ru_stime].map(|time| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6).iter().sum();
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let said = String::from_utf8_lossy(&std::fs::read(&said).unwrap_or_default()).chars().take(600).collect();
    Took { code, seconds, bytes: took.ru_maxrss as u64 * 1024, said }
}

/// A size from the environment, with `K` or `M`.
fn size(variable: &str, default: usize) -> usize {
    let Ok(text) = std::env::var(variable) else { return default };
    let (digits, factor) = match text.strip_suffix('M') {
        Some(digits) => (digits, 1 << 20),
        None => text.strip_suffix('K').map_or((text.as_str(), 1), |digits| (digits, 1 << 10)),
    };
    digits.parse::<usize>().expect("a number, also with K or M") * factor
}

/// A text made of parts.
struct Construct {
    name: &'static str,
    before: &'static str,
    part: fn(usize) -> String,
    /// What stands behind `n` parts.
    behind: fn(usize) -> String,
    /// Whether it is a program that is right.
    is_right: bool,
}

impl Construct {
    /// A text of about so many bytes.
    fn text(&self, bytes: usize) -> String {
        let mut text = format!("#[version = \"0.0.5\"]\n{}", self.before);
        let mut n = 0;
        // What closes a part stands behind all of them.
        let closes = (self.behind)(3).len() - (self.behind)(2).len();
        while text.len() + n * closes < bytes {
            text.push_str(&(self.part)(n));
            n += 1;
        }
        text + &(self.behind)(n)
    }
}

macro_rules! construct {
    ($name:literal, $before:literal, $part:expr, $behind:expr) => {
        Construct { name: $name, before: $before, part: $part, behind: $behind, is_right: true }
    };
    (wrong $name:literal, $before:literal, $part:expr, $behind:expr) => {
        Construct { name: $name, before: $before, part: $part, behind: $behind, is_right: false }
    };
}

const CONSTRUCTS: &[Construct] = &[
    construct!(
        "graph bindings in a chain",
        "def @main(%x: int32) {\n%0 = %x;\n",
        |at| format!("%{} = add(%{at}, %x);\n", at + 1),
        |n| format!("%{n}\n}}\n")
    ),
    construct!("graph bindings side by side", "def @main(%x: int32) {\n", |at| format!("%{at} = add(%x, {at});\n"), |n| format!(
        "%{}\n}}\n",
        n - 1
    )),
    construct!(
        "lets",
        "def @main(%x: int32) {\nlet %v0 = %x;\n",
        |at| format!("let %v{} = add(%v{at}, %x);\n", at + 1),
        |n| format!("%v{n}\n}}\n")
    ),
    construct!("lets of one name", "def @main(%x: int32) {\n", |_| "let %x = add(%x, %x);\n".into(), |_| "%x\n}\n".into()),
    construct!(
        "functions that call the one before",
        "def @f0(%x: int32) -> int32 { %x }\n",
        |at| format!("def @f{}(%x: int32) -> int32 {{ @f{at}(%x) }}\n", at + 1),
        |_| String::new()
    ),
    construct!(
        "functions without a type that call the next",
        "",
        |at| format!("def @f{at}(%x: int32) {{ @f{}(%x) }}\n", at + 1),
        |n| format!("def @f{n}(%x: int32) {{ %x }}\n")
    ),
    construct!(
        "generic functions",
        "def @f0[A](%x: A) -> A { %x }\n",
        |at| format!("def @f{}[A](%x: A) -> A {{ @f{at}(%x) }}\n", at + 1),
        |_| String::new()
    ),
    construct!("types", "type T0 { C0 }\n", |at| format!("type T{} {{ C{}(T{at}) }}\n", at + 1, at + 1), |_| String::new()),
    construct!("constructors of a type", "type T {\n", |at| format!("C{at}(int32),\n"), |_| "Last }\n".into()),
    construct!(
        "clauses of a match",
        "def @main(%x: int32) {\nmatch (%x) {\n",
        |at| format!("v{at} => add(%x, {at}),\n").replacen('v', "%v", 1),
        |_| "_ => %x }\n}\n".into()
    ),
    construct!("parameters", "def @main(%x: int32", |at| format!(",\n%p{at}: Tensor[({at}, 3), float32]"), |_| ") { %x }\n"
        .into()),
    construct!("a tuple of many fields", "def @main(%x: int32) { (%x", |_| ", %x".into(), |_| ") }\n".into()),
    construct!("a type of many fields", "def @main(%x: (int32", |_| ", int32".into(), |_| ")) { %x }\n".into()),
    construct!(
        "a concatenation of many tensors",
        "def @main(%x: Tensor[(2), float32]) { concatenate((%x",
        |_| ", %x".into(),
        |_| ")) }\n".into()
    ),
    construct!(wrong "a grid of many vectors", "def @main(%x: Tensor[(2), float32]) { meshgrid((%x", |_| ", %x".into(), |_| ")) }\n"
        .into()),
    construct!(
        "parts of a split",
        "def @main(%x: Tensor[(1000000000), float32]) { let %s = split(%x, indices_or_sections=[1",
        |at| format!(", {}", at + 2),
        |_| "]); %s.0 }\n".into()
    ),
    construct!("a sum to the left", "def @main(%x: int32) { %x", |_| " + %x".into(), |_| " }\n".into()),
    construct!("parentheses", "def @main(%x: int32) { ", |_| "(".into(), |n| format!("%x{} }}\n", ")".repeat(n))),
    construct!("calls inside each other", "def @main(%x: float32) { ", |_| "exp(".into(), |n| format!(
        "%x{} }}\n",
        ")".repeat(n)
    )),
    construct!("tuples inside each other", "def @main(%x: float32) { ", |_| "(".into(), |n| format!("%x{} }}\n", ",)".repeat(n))),
    construct!("projections", "def @main(%x: float32) { ", |_| "(".into(), |n| format!("%x{} }}\n", ",).0".repeat(n))),
    construct!("branches inside each other", "def @main(%c: bool) { ", |_| "if (%c) { ".into(), |n| format!(
        "1{} }}\n",
        " } else { 2 }".repeat(n)
    )),
    construct!("branches one after the other", "def @main(%c: bool) { ", |_| "if (%c) { 1 } else { ".into(), |n| format!(
        "2{} }}\n",
        " }".repeat(n)
    )),
    construct!("functions inside each other", "def @main(%x: int32) { ", |_| "fn () { ".into(), |n| format!(
        "1{} }}\n",
        " }".repeat(n)
    )),
    construct!(
        "closures that call the one before",
        "def @main(%x: int32) {\nlet %f0 = fn (%y: int32) { %y };\n",
        |at| format!("let %f{} = fn (%y) {{ %f{at}(%y) }};\n", at + 1),
        |n| format!("%f{n}(%x)\n}}\n")
    ),
    construct!("comments of a line", "def @main(%x: int32) { %x }\n", |_| "// nothing to see here\n".into(), |_| String::new()),
    construct!("comments inside each other", "def @main(%x: int32) { %x }\n", |_| "/*".into(), |n| "*/".repeat(n)),
    construct!("long names", "def @main(%x: int32) {\n", |at| format!("let %{}{at} = %x;\n", "n".repeat(2_000)), |_| "%x\n}\n"
        .into()),
    construct!("floats", "def @main(%x: float32) {\n", |at| format!("let %y = add(%x, {at}.{at}e-3f);\n"), |_| "%x\n}\n".into()),
    construct!(
        "references",
        "def @main(%x: int32) {\nlet %r = ref(%x);\n",
        |_| "ref_write(%r, add(ref_read(%r), %x));\n".into(),
        |_| "ref_read(%r)\n}\n".into()
    ),
    construct!("blank lines", "def @main(%x: int32) { %x }\n", |_| " \t\n".into(), |_| String::new()),
    construct!(wrong "names that nothing has", "def @main(%x: int32) {\n", |at| format!("let %y{at} = add(%x, %z{at});\n"), |_| "%x\n}\n".into()),
    construct!(wrong "operators that nothing has", "def @main(%x: int32) {\n", |at| format!("let %y{at} = nn.rulu{at}(%x);\n"), |_| "%x\n}\n".into()),
    construct!(wrong "errors of types", "def @main(%x: int32, %y: Tensor[(3), int32], %z: Tensor[(4), int32]) {\n", |_| "let %w = add(%y, %z);\n".into(), |_| "%x\n}\n".into()),
    construct!(wrong "what is never closed", "def @main(%x: int32) { ", |_| "(".into(), |_| String::new()),
    construct!(wrong "commas that are missing", "def @main(%x: int32) { (%x", |_| " %x".into(), |_| ") }\n".into()),
];

/// For eight times the text: n·log n makes nine, caches some more; n² makes 64.
const MOST: f64 = 18.0;

/// Below this nothing is measured but the start of a process.
const LEAST_SECONDS: f64 = 0.02;

#[test]
fn what_a_check_costs_grows_with_the_text() {
    let most = size("RELAYC_GROWTH", 256 << 10);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("text.relay");
    let mut wrong = String::new();
    for construct in CONSTRUCTS {
        let times = [8, 4, 2, 1].map(|share| {
            std::fs::write(&path, construct.text(most / share)).expect("written");
            let took =
                check(&path, &["--quiet", "--limit", "nesting=16M", "--limit", "definitions=1M", "--limit", "diagnostics=100"]);
            // Very wide types have a limit without a flag.
            let expected = if construct.is_right { 0 } else { 1 };
            let is_expected = took.code == Some(expected) || took.code == Some(1) && took.said.contains("E0805");
            if !is_expected {
                writeln!(wrong, "{}: {:?} {}", construct.name, took.code, took.said).expect("a string takes all");
            }
            took.seconds
        });
        let [first, .., last] = times;
        println!("{:<45} {}  {:.2}", construct.name, times.map(|t| format!("{:8.3}", t)).join(""), last / times[2]);
        if last > MOST * first.max(LEAST_SECONDS) {
            writeln!(wrong, "{}: {times:?} seconds for texts that double", construct.name).expect("a string takes all");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn repeated(word: &str, bytes: usize) -> Vec<u8> {
    word.repeat(bytes / word.len()).into_bytes()
}

fn random_bytes(bytes: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(5);
    std::iter::repeat_with(|| random.u8(..)).take(bytes).collect()
}

fn random_words(bytes: usize) -> Vec<u8> {
    const WORDS: [&str; 20] = [
        "def ", "@f", "%x", "let ", " = ", "(", ")", "{", "}", ";", "1f", "nn.relu", "\"", "/*", "// ", "\n", "Tensor[", "], ",
        "fn ", "if ",
    ];
    let mut random = fastrand::Rng::with_seed(5);
    std::iter::repeat_with(|| WORDS[random.usize(..WORDS.len())]).take(bytes / 4).collect::<String>().into_bytes()
}

/// A name, and what writes so many bytes.
type Text = (&'static str, fn(usize) -> Vec<u8>);

/// Texts that are no programs, each made when it is its turn: what this process holds counts as its child's at first.
const TEXTS: &[Text] = &[
    ("zeros", |bytes| vec![0; bytes]),
    ("random bytes", random_bytes),
    ("random words", random_words),
    ("one name", |bytes| repeated("n", bytes)),
    ("one number", |bytes| repeated("7", bytes)),
    ("open parentheses", |bytes| repeated("(", bytes)),
    ("a string without an end", |bytes| [b"\"".to_vec(), repeated("s", bytes)].concat()),
    ("a comment without an end", |bytes| repeated("/*", bytes)),
    ("nothing but blank lines", |bytes| repeated("\n", bytes)),
    ("letters of four bytes", |bytes| repeated("\u{1f980}", bytes)),
    ("definitions that are open", |bytes| repeated("def @f(%x: int32) {", bytes)),
    ("open branches", |bytes| repeated("if (%x) {", bytes)),
];

/// What a process takes before it has read anything.
const BASE: u64 = 24 << 20;

/// Any text of the largest size, under the limits that everybody has; of a smaller one, in its part of the memory.
#[test]
fn any_text_is_checked_in_bounded_time_and_memory() {
    let bytes = size("RELAYC_LARGE", 2 << 20);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("text.relay");
    let limited = |name: &str, mut text: Vec<u8>| {
        text.truncate(bytes);
        std::fs::write(&path, &text).expect("written");
        drop(text);
        let took = check(&path, &[]);
        println!("{name:<45} {:6.1} s {:6.2} GiB, exit {:?}", took.seconds, took.bytes as f64 / (1u64 << 30) as f64, took.code);
        let most = (4 << 30) / (64 << 20) * bytes as u64;
        let fine = matches!(took.code, Some(0..=2)) && took.seconds < 30.0 && took.bytes < most + BASE;
        (!fine).then(|| format!("{name}: {:?}, {:.1} s, {} bytes; {}", took.code, took.seconds, took.bytes, took.said))
    };
    let wrong = TEXTS.iter().filter_map(|(name, text)| limited(name, text(bytes)));
    let of_programs = CONSTRUCTS.iter().filter_map(|construct| limited(construct.name, construct.text(bytes - 64).into_bytes()));
    let wrong: Vec<String> = wrong.chain(of_programs).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
