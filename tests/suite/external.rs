//! Functions of outside compilers (`--external`): the worked example, and every way in which a compiler can fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

struct Place {
    folder: tempfile::TempDir,
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

/// A dense layer for the compiler `tiny`, whose weight is a parameter of the program.
const NET: &str = r#"#[version = "0.0.5"]
def @hidden(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], Compiler="tiny", global_symbol="hidden") -> Tensor[(2, 4), float32] {
  nn.relu(nn.dense(%x, %w, units=4))
}

def @main(%data: Tensor[(2, 3), float32], %weight: Tensor[(4, 3), float32]) -> Tensor[(2), float32] {
  sum(@hidden(%data, %weight), axis=[1])
}
"#;

const RUN: &[&str] = &["run", "net.relay", "--params", "w.npz", "-i", "data=2x3xf32=[1,2,3,4,5,-60]"];

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(place.at("tmp")).expect("made");
        place.write("net.relay", NET);
        place.write("w.relay", "def @main(%weight: Tensor[(4, 3), float32], output_tensor_names=[\"weight\"]) { %weight }");
        let said = place.relayc(&["run", "w.relay", "-i", "weight=4x3xf32=[1,-2,3,-4,5,-6,7,-8,9,1,1,1]", "--outputs", "w.npz"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).expect("written");
    }

    fn relayc(&self, args: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
        let out = command.args(args).current_dir(self.folder.path()).env("TMPDIR", self.at("tmp")).output().expect("relayc runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Said { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
    }

    /// Runs the network with a compiler that is a shell script. Nothing stays of its folder.
    fn with_script(&self, script: &str, more: &[&str]) -> Said {
        self.write("cc.sh", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.at("cc.sh"), fs::Permissions::from_mode(0o700)).expect("ours");
        let external = format!("tiny={}", self.at("cc.sh").display());
        let said = self.relayc(&[RUN, &["--external", &external], more].concat());
        assert_eq!(fs::read_dir(self.at("tmp")).expect("there").count(), 0, "{script}");
        said
    }

    /// Runs it with a compiler whose output is this C.
    fn with_c(&self, source: &str, more: &[&str]) -> Said {
        self.write("f.c", source);
        self.with_script(&format!("gcc -shared -fPIC -I \"$(dirname \"$1\")\" -o \"$3\" {}", self.at("f.c").display()), more)
    }
}

/// A library with these types and this body of `run`.
fn library(input: &str, output: &str, body: &str) -> String {
    format!(
        "#include \"relayc_external.h\"
static int run(const void *const *inputs, void *const *outputs) {{ {body} }}
static const uint64_t x[] = {{ 2, 3, 1, 1 }}, y[] = {{ 2, 4, 1, 1 }};
static const relayc_external_tensor in[] = {{ {input} }}, out[] = {{ {output} }};
const relayc_external relayc_external_function = {{
  RELAYC_EXTERNAL_VERSION, sizeof in / sizeof *in, in, sizeof out / sizeof *out, out, run
}};\n"
    )
}

const IN: &str = "{ \"float32\", 2, x }";
const OUT: &str = "{ \"float32\", 2, y }";

/// The example's compiler.
fn example() -> String {
    format!("tiny={}", Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/external/compile.sh").display())
}

#[test]
fn the_example_compiles_and_agrees() {
    let place = Place::new();
    let expected = place.relayc(RUN);
    assert_eq!(expected.code, Some(0), "{}", expected.err);
    let external = example();
    let found = place.relayc(&[RUN, &["--external", &external]].concat());
    assert_eq!((found.code, &found.out), (Some(0), &expected.out), "{}", found.err);
    let both = place.relayc(&[RUN, &["--external", &external, "--engine", "both", "-v"]].concat());
    assert_eq!(both.code, Some(0), "{}", both.err);
    let bench = ["bench", "net.relay", "--params", "w.npz", "--fill", "ones", "--warmup", "0", "--seconds", "0"];
    let bench = place.relayc(&[&bench, &["--external", &external][..]].concat());
    assert!(bench.code == Some(0) && bench.out.starts_with("p50"), "{}", bench.err);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/external/net.relay");
    let shipped = shipped.to_str().expect("text");
    // What it does not understand it refuses: a weight that is an input.
    let refused = place.relayc(&["run", shipped, "--fill", "ones", "--external", &external]);
    assert!(refused.code == Some(2) && refused.err.contains("%w is no weight"), "{}", refused.err);
    assert_eq!(fs::read_dir(place.at("tmp")).expect("there").count(), 0);
}

#[test]
fn a_function_is_what_its_compiler_makes_of_it() {
    let place = Place::new();
    // The compiler gets the text and the weights.
    let said = place.with_script("cat \"$1\" >&2; ls \"$(dirname \"$1\")\" >&2; exit 7", &[]);
    assert_eq!(said.code, Some(2));
    for words in [
        "error[E0740]",
        "failed with exit code 7",
        "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], Compiler=\"tiny\"",
    ] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    let fill =
        library(IN, OUT, "for (int i = 0; i < 8; i++) ((float *)outputs[0])[i] = ((const float *)inputs[0])[i % 6]; return 0;");
    let said = place.with_c(&fill, &[]);
    assert!(said.code == Some(0) && said.out.contains("[10.0, -52.0]"), "{}{}", said.out, said.err);
    let said = place.with_c(&fill, &["--engine", "both"]);
    assert!(said.code == Some(1) && said.err.contains("error[E0508]") && said.err.contains("`tiny`"), "{}", said.err);
    // The interpreter has the function's own text.
    let own = place.relayc(RUN).out;
    assert_eq!(place.with_script("exit 1", &["--engine", "interp"]).out, own);
    let said = place.with_c(&library(IN, OUT, "return -5;"), &[]);
    assert!(said.code == Some(3) && said.err.contains("error[E0506]") && said.err.contains("-5"), "{}", said.err);
}

#[test]
fn a_compiler_that_fails_is_an_error() {
    let place = Place::new();
    for (script, words) in [
        ("exit 3", "failed with exit code 3"),
        ("kill -9 $$", "was killed"),
        ("true", "wrote no `function.so`"),
        ("mkdir \"$3\"", "wrote no `function.so`"),
        ("echo words >&2; exit 1", "it said: words"),
    ] {
        let said = place.with_script(script, &[]);
        assert!(said.code == Some(2) && said.out.is_empty(), "{script}: {}", said.err);
        assert!(said.err.contains("error[E0740]") && said.err.contains(words), "{script}: {}", said.err);
        assert!(said.err.contains("net.relay:"), "{script}: {}", said.err);
    }
    let said = place.with_script("sleep 60 & sleep 60", &["--timeout", "0.3"]);
    assert!(said.code == Some(2) && said.err.contains("is out of time"), "{}", said.err);
    let said = place.relayc(&[RUN, &["--external", "tiny=/no/such/compiler"]].concat());
    assert!(said.code == Some(2) && said.err.contains("cannot be started"), "{}", said.err);
}

#[test]
fn a_library_that_does_not_fit_is_an_error() {
    let place = Place::new();
    let refused = |said: Said, words: &str| {
        assert!(said.code == Some(2) && said.out.is_empty(), "{words}: {}", said.err);
        assert!(said.err.contains("error[E0741]") && said.err.contains(words), "{words}: {}", said.err);
    };
    for (file, words) in [("x", "cannot be loaded"), ("", "cannot be loaded")] {
        refused(place.with_script(&format!("printf '{file}' > \"$3\""), &[]), words);
    }
    refused(place.with_c("int other;", &[]), "no symbol");
    refused(place.with_c("long long relayc_external_function[6] = { 9 };", &[]), "version 9");
    refused(place.with_c("long long relayc_external_function[6] = { 1 };", &[]), "null");
    for (input, output, words) in [
        ("{ \"float32\", 2, y }", OUT, "its input 0 is float32 of shape (2, 4), the function's is float32 of shape (2, 3)"),
        ("{ \"float32\", 1, x }", OUT, "its input 0 is float32 of shape (2)"),
        ("{ \"float64\", 2, x }", OUT, "its input 0 is float64"),
        (IN, "{ \"float32\", 2, x }", "its output 0 is float32 of shape (2, 3)"),
        ("{ \"float32\", 2, x }, { \"float32\", 2, x }", OUT, "it has 2 inputs, the function 1"),
        (IN, "{ \"float32\", 900, x }", "not sound"),
        ("{ 0, 2, x }", OUT, "not sound"),
    ] {
        refused(place.with_c(&library(input, output, "return 1;"), &[]), words);
    }
}

#[test]
fn a_name_without_a_function_is_an_error() {
    let place = Place::new();
    let said = place.relayc(&[RUN, &["--external", "other=true"]].concat());
    assert!(said.code == Some(2) && said.err.contains("error[E0706]"), "{}", said.err);
    for wrong in ["tiny", "=cc", "tiny=", "relayc=cc"] {
        assert_eq!(place.relayc(&[RUN, &["--external", wrong]].concat()).code, Some(2), "{wrong}");
    }
}

#[test]
fn functions_are_compiled_where_they_are() {
    let place = Place::new();
    let double = "#include \"relayc_external.h\"
static int run(const void *const *inputs, void *const *outputs) {
  for (int i = 0; i < 3; i++) ((float *)outputs[0])[i] = 2 * ((const float *)inputs[0])[i];
  return 0;
}
static const uint64_t x[] = { 3 };
static const relayc_external_tensor t[] = { { \"float32\", 1, x } };
const relayc_external relayc_external_function = { RELAYC_EXTERNAL_VERSION, 1, t, 1, t, run };\n";
    place.write("f.c", double);
    place.write(
        "cc.sh",
        &format!("#!/bin/sh\ngcc -shared -fPIC -I \"$(dirname \"$1\")\" -o \"$3\" {}\n", place.at("f.c").display()),
    );
    fs::set_permissions(place.at("cc.sh"), fs::Permissions::from_mode(0o700)).expect("ours");
    let external = format!("tiny={}", place.at("cc.sh").display());
    // As a literal, called twice, in a branch, in a loop.
    for body in [
        "%0 = fn (%p: Tensor[(3), float32], Compiler=\"tiny\") -> Tensor[(3), float32] { add(%p, %p) };\n  nn.relu(%0(%0(%x)))",
        "let %f = fn (%p: Tensor[(3), float32], Compiler=\"tiny\") -> Tensor[(3), float32] { add(%p, %p) };\n  exp(%f(tanh(%x)))",
        "if (less(sum(%x), 100f)) { @twice(%x) } else { %x }",
        "nn.relu(@twice(@twice(@twice(nn.relu(%x)))))",
    ] {
        let twice = "def @twice(%p: Tensor[(3), float32], Compiler=\"tiny\") -> Tensor[(3), float32] { add(%p, %p) }\n";
        let text = format!("#[version = \"0.0.5\"]\n{twice}def @main(%x: Tensor[(3), float32]) {{\n  {body}\n}}\n");
        place.write("many.relay", &text);
        for level in ["-O0", "-O1", "-O3"] {
            let run = ["run", "many.relay", "-i", "x=3xf32=[1,2,-3]", level];
            let (own, found) = (place.relayc(&run), place.relayc(&[&run, &["--external", &external][..]].concat()));
            assert_eq!((found.code, &found.out), (Some(0), &own.out), "{body}: {}", found.err);
            let both = place.relayc(&[&run, &["--external", &external, "--engine", "both"][..]].concat());
            assert_eq!(both.code, Some(0), "{body}: {}", both.err);
        }
    }
    // One that uses a variable around it has no text of its own.
    place.write(
        "open.relay",
        "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(3), float32]) {\n  %0 = fn (%p: Tensor[(3), float32], Compiler=\"tiny\") { add(%p, %x) };\n  %0(%x)\n}\n",
    );
    let said = place.relayc(&["run", "open.relay", "--fill", "ones", "--external", &external]);
    assert!(said.code == Some(2) && said.err.contains("variables around them"), "{}", said.err);
    place.write(
        "sizes.relay",
        "#[version = \"0.0.5\"]\ndef @f(%p: Tensor[(?), float32], Compiler=\"tiny\") { add(%p, %p) }\ndef @main(%x: Tensor[(?), float32]) { @f(%x) }\n",
    );
    let said = place.relayc(&["run", "sizes.relay", "-i", "x=3xf32=1", "--external", &external]);
    assert!(said.code == Some(2) && said.err.contains("sizes that are known"), "{}", said.err);
}

/// A signal ends the compiler with what it started, then relayc; nothing stays of the folder.
#[test]
fn an_interrupt_ends_the_compiler_too() {
    let place = Place::new();
    place.write("cc.sh", "#!/bin/sh\nsleep 600 & echo $! > pid && mv pid started; wait\n");
    fs::set_permissions(place.at("cc.sh"), fs::Permissions::from_mode(0o700)).expect("ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.args(RUN).args(["--external", &format!("tiny={}", place.at("cc.sh").display())]);
    let mut child = command.current_dir(place.folder.path()).env("TMPDIR", place.at("tmp")).spawn().expect("relayc runs");
    let start = Instant::now();
    let waited = |what: &str| {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    };
    while !place.at("started").exists() {
        waited("the compiler does not start");
    }
    let pid = fs::read_to_string(place.at("started")).expect("it is there");
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("there is a kill");
    assert!(sent.success());
    assert_eq!(child.wait().expect("it ends").signal(), Some(15), "as without a compiler");
    let stat = format!("/proc/{}/stat", pid.trim());
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        waited("what the compiler started is still there");
    }
    assert_eq!(fs::read_dir(place.at("tmp")).expect("ours").count(), 0, "its folder stays");
}
