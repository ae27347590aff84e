//! The promises of texts, of programs, of runs and of files, each as a function that takes any bytes and panics if its promise is
//! broken.
//!
//! A promise builds its input from bytes and has an oracle; neither depends on the engine. The same pair runs as a plain test
//! (`tests/fuzz.rs`) and on saved inputs (`fuzz/corpus/`).

#[cfg(feature = "jit")]
mod engines;
mod semantics;
mod text;

#[cfg(feature = "jit")]
pub use engines::{jit_vs_interp, kernel_fenced};
pub use semantics::{fold_corners, interp_fuel, passes_verify_each};
pub use text::{diag_render, meta_section, parse_tokens};

use super::choices::Choices;
use super::counted::within;
use super::same::same;
use super::writer::{Purpose, write};
use super::{models, programs};
use relayc_base::FileId;
use relayc_base::diag::render::{Format, render};
use relayc_base::diag::{Diagnostic, Edit, Label, codes};
#[cfg(feature = "jit")]
use relayc_codegen::cpu::Cpu;
use relayc_driver::bind::{Requests, bind};
use relayc_driver::run::{self, Limits};
use relayc_driver::{Phase, Program, check_text, export, show, viz};
#[cfg(feature = "jit")]
use relayc_engine::build::{Request, build};
#[cfg(feature = "jit")]
use relayc_engine::compile::{Isa, Machine, Policy, Settings};
#[cfg(feature = "jit")]
use relayc_engine::subgraphs;
#[cfg(feature = "jit")]
use relayc_exec::aot::describe::describe;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Ty};
use relayc_ir::{ExprKind, Module, PatKind};
use relayc_syntax as syntax;
use relayc_syntax::fmt::format;
use relayc_syntax::token::Tok;
use relayc_weights as formats;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A promise by its name.
pub type Promise = (&'static str, fn(&[u8]));

/// All of them.
pub const PROMISES: &[Promise] = &[
    ("lex_bytes", lex_bytes),
    ("parse_bytes", parse_bytes),
    ("parse_tokens", parse_tokens),
    ("meta_section", meta_section),
    ("type_mutated", type_mutated),
    ("diag_render", diag_render),
    ("draw_mutated", draw_mutated),
    ("run_extremes", run_extremes),
    ("roundtrip", roundtrip),
    ("fmt_idempotent", fmt_idempotent),
    ("passes_verify_each", passes_verify_each),
    ("fold_corners", fold_corners),
    ("interp_fuel", interp_fuel),
    #[cfg(feature = "jit")]
    ("jit_vs_interp", jit_vs_interp),
    #[cfg(feature = "jit")]
    ("kernel_fenced", kernel_fenced),
    ("save_load", save_load),
    ("load_tensors", load_tensors),
    ("load_mutated", load_mutated),
    ("load_graph_json", load_graph_json),
    ("load_tar", load_tar),
    #[cfg(feature = "jit")]
    ("load_artifact", load_artifact),
    ("load_darknet_cfg", load_darknet_cfg),
    ("load_mxnet_json", load_mxnet_json),
    ("load_mxnet_params", load_mxnet_params),
    ("load_onnx_bytes", load_onnx_bytes),
    ("load_onnx_mutated", load_onnx_mutated),
    ("load_onnx_structured", load_onnx_structured),
];

/// Whether a place lies in the text and between its letters.
fn lies_in(text: &str, start: u32, end: u32) -> bool {
    let (start, end) = (start as usize, end as usize);
    start <= end && end <= text.len() && text.is_char_boundary(start) && text.is_char_boundary(end)
}

/// What is said of a text names places in it, and can be shown.
fn places_lie_in(text: &str, diagnostics: &[Diagnostic]) {
    for Diagnostic { code, labels, helps, .. } in diagnostics {
        let labels = labels.iter().map(|Label { span, .. }| span);
        let edits = helps.iter().flat_map(|help| &help.edits).map(|Edit { span, .. }| span);
        for span in labels.chain(edits) {
            assert!(lies_in(text, span.start, span.end), "{code:?} at {span:?} of {text}");
        }
    }
}

fn check(text: &str) -> Program {
    let program = check_text("random", text, Phase::Infer);
    places_lie_in(text, &program.diagnostics);
    let rendered = render(&program.diagnostics, &program.sources, Format::Json, false);
    assert!(program.diagnostics.iter().all(|diagnostic| rendered.contains(diagnostic.code.id())));
    assert!(program.has_errors() || !has_error_node(&program.module), "nothing is said of what was not understood in {text}");
    program
}

/// Whether anything of a module was not understood. What a function has before its body is
/// known is no part of it, and operators have no type of their own.
fn has_error_node(module: &Module) -> bool {
    let exprs = module.post_order(&module.roots()).into_iter();
    let mut exprs = exprs.filter(|&expr| !matches!(module.exprs[expr].kind, ExprKind::Op(_)));
    let pats = module.pats.iter().any(|pat| matches!(pat.kind, PatKind::Error));
    pats || exprs.any(|expr| matches!(module.exprs[expr].kind, ExprKind::Error) || module.expr_tys[expr] == Some(Ty::ERROR))
}

/// Tokens and comments stand in the text one after the other.
pub fn lex_bytes(bytes: &[u8]) {
    let (text, _) = syntax::decode(FileId(0), bytes);
    let lexed = syntax::lexer::lex(FileId(0), &text);
    places_lie_in(&text, &lexed.diagnostics);
    let mut end = 0;
    for token in lexed.tokens.iter() {
        assert!(end <= token.start && token.start < token.end && lies_in(&text, token.start, token.end), "{token:?} of {text}");
        end = token.end;
    }
    let mut end = 0;
    for comment in &lexed.comments {
        assert!(end <= comment.start && lies_in(&text, comment.start, comment.end), "{comment:?} of {text}");
        end = comment.end;
    }
}

/// Checking any bytes ends, and says places in them.
pub fn parse_bytes(bytes: &[u8]) {
    let (text, reports) = syntax::decode(FileId(0), bytes);
    places_lie_in(&text, &reports);
    check(&text);
}

/// The programs of the repository, as bytes.
fn repository() -> &'static [Vec<u8>] {
    static PROGRAMS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    PROGRAMS
        .get_or_init(|| programs::all().iter().map(|path| std::fs::read(path).expect("a program of the repository")).collect())
}

/// One of the bases with edits: bytes set, inserted, taken away, pieces copied elsewhere.
fn mutated(bases: &[Vec<u8>], choices: &[u8]) -> Vec<u8> {
    let mut choices = choices.iter().map(|&choice| usize::from(choice));
    let mut choose = |n: usize| (choices.next().unwrap_or(0) << 8 | choices.next().unwrap_or(0)) % n.max(1);
    let mut bytes = bases[choose(bases.len())].clone();
    const PIECES: [&[u8]; 20] = [
        b"(",
        b")",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b";",
        b"%",
        b"@",
        b"let %x = ",
        b"\"",
        b"/*",
        b"match ",
        b"/",
        b"a/ ",
        b" 1 ",
        b".",
        b"\xff",
        "\u{e9}".as_bytes(),
    ];
    for _ in 0..1 + choose(4) {
        let (at, len) = (choose(bytes.len() + 1), choose(16));
        let end = (at + len).min(bytes.len());
        match choose(5) {
            0 => drop(bytes.splice(at..at, PIECES[choose(PIECES.len())].iter().copied())),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..end, PIECES[choose(PIECES.len())].iter().copied())),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = choose(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            _ if at < bytes.len() => bytes[at] = choose(256) as u8,
            _ => {}
        }
    }
    bytes
}

/// Checking a program that was damaged ends, and says places in it.
pub fn type_mutated(choices: &[u8]) {
    parse_bytes(&mutated(repository(), choices));
}

/// A program that was damaged is drawn as far as it was understood, in every format, folded and not.
pub fn draw_mutated(choices: &[u8]) {
    let text = String::from_utf8_lossy(&mutated(repository(), choices)).into_owned();
    let program = check_text("random", &text, Phase::Main);
    for unfolded in [false, true] {
        let part = viz::Part { unfolded, weights: unfolded, ..viz::Part::default() };
        let Ok(graph) = viz::graph(&program, &part) else { panic!("not drawn: {text}") };
        let page = viz::Form::Html { title: text.chars().take(40).collect(), heat: None, memory: None };
        for form in [viz::Form::Term { width: 80 }, viz::Form::Dot, viz::Form::Svg, page] {
            assert!(!viz::text(&graph, &program.sources, form).is_empty());
        }
    }
}

/// Numbers at which 32-bit and 64-bit arithmetic overflows, or memory runs out.
pub const EXTREMES: [i64; 16] = [
    i64::MIN,
    -i64::MAX,
    -(1 << 62),
    -(1 << 32),
    i32::MIN as i64,
    -3,
    -1,
    0,
    1,
    2,
    5,
    i32::MAX as i64,
    1 << 32,
    1 << 40,
    1 << 62,
    i64::MAX,
];

/// The size limit of a tensor in a small program with extreme numbers.
const MOST_OF_A_TENSOR: u64 = 1 << 19;

/// The goldens of the operators.
pub fn operators() -> &'static [String] {
    static GOLDENS: OnceLock<Vec<String>> = OnceLock::new();
    GOLDENS.get_or_init(|| {
        let texts = programs::under("tests/golden/ops", &["relay"]).into_iter();
        texts.map(|path| std::fs::read_to_string(path).expect("a golden")).collect()
    })
}

/// The places of the integers in a text.
pub fn integers(text: &str) -> Vec<std::ops::Range<usize>> {
    let lexed = syntax::lexer::lex(FileId(0), text);
    lexed.tokens.iter().filter(|token| token.tok == Tok::Int).map(|token| token.start as usize..token.end as usize).collect()
}

/// An operator call with extreme numbers is rejected, or runs or fails on both engines; it is exported or rejected. Each step
/// stays within the memory limit.
pub fn run_extremes(choices: &[u8]) {
    let mut choices = choices.iter().map(|&choice| usize::from(choice));
    let mut choose = |n: usize| (choices.next().unwrap_or(0) << 8 | choices.next().unwrap_or(0)) % n.max(1);
    let mut text = operators()[choose(operators().len())].clone();
    let places = integers(&text);
    let mut chosen: Vec<usize> = (0..1 + choose(2)).map(|_| choose(places.len())).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let Some(first) = chosen.first().and_then(|&at| places.get(at)).map(|place| place.start) else { return };
    for at in chosen.into_iter().rev() {
        text.replace_range(places[at].clone(), &EXTREMES[choose(EXTREMES.len())].to_string());
    }
    run_function(&text, first);
}

/// Checks the function at a place in a text, and runs it on ones. The function calls no other.
pub fn run_function(text: &str, place: usize) {
    let start = text[..place].rfind("def @").unwrap_or(0);
    let end = text[place..].find("\ndef @").map_or(text.len(), |end| place + end);
    let program = check_text("extreme", &text[start..end], Phase::Main);
    let name = text[start..].strip_prefix("def @").and_then(|rest| rest.split('(').next()).unwrap_or("main");
    let Some(entry) = run::entry(&program.module, name).ok().filter(|_| !program.has_errors()) else { return };
    let deadline = Some(Instant::now() + Duration::from_secs(5));
    let limits = Limits { max_tensor_bytes: MOST_OF_A_TENSOR, deadline, ..Limits::default() };
    let ones = Requests { fill: Some("ones".into()), max_memory: Some(MOST_OF_A_TENSOR), ..Requests::default() };
    let args = bind(&entry.slots, &program.module.types, &ones).ok();
    if let Some(args) = &args {
        within(0, || drop(run::interpret(&program, &entry, args.clone(), limits.clone())));
    }
    #[cfg(feature = "jit")]
    if let Some(isa) = [Isa::Avx512, Isa::Avx2].into_iter().find(|&isa| Cpu::get().has(isa)) {
        let settings = Settings {
            level: 3,
            isa,
            threads: 1,
            accuracy: Policy::Fast,
            machine: Machine::Native,
            choices: Default::default(),
            fault: None,
        };
        within(0, || {
            let prepared =
                subgraphs::prepare(&program, name, args.as_deref(), &settings, limits.clone(), subgraphs::CompileTrigger::Called);
            if let (Ok(prepared), Some(args)) = (prepared, &args) {
                drop(prepared.run(args));
            }
        });
    }
    within(0, || drop(export::to_onnx(&program, name, &[])));
}

/// A module is right, and what is printed of it reads back as it is.
pub fn roundtrip(choices: &[u8]) {
    let text = write(choices, Purpose::Read);
    for types in [false, true] {
        round_trip(&text, types).unwrap_or_else(|why| panic!("{why}"));
    }
}

/// A right module can be formatted, which is settled at once; so can any text that has no syntax errors.
pub fn fmt_idempotent(choices: &[u8]) {
    let module = write(choices, Purpose::Read);
    let once = format(FileId(0), &module).unwrap_or_else(|reports| panic!("{reports:?}\n{module}"));
    assert_eq!(format(FileId(0), &once).as_ref(), Ok(&once), "formatted twice, from\n{module}");
    let damaged = String::from_utf8_lossy(&mutated(repository(), choices)).into_owned();
    match format(FileId(0), &damaged) {
        Ok(once) => assert_eq!(format(FileId(0), &once).as_ref(), Ok(&once), "formatted twice, from\n{damaged}"),
        Err(reports) => assert!(reports.iter().all(|report| report.code.id() < "E09"), "{reports:?}\n{damaged}"),
    }
}

/// Files of tensors of any bytes are read or refused, and take no more memory than their size warrants.
pub fn load_tensors(bytes: &[u8]) {
    within(bytes.len(), || drop(formats::read_tensors("random", bytes)));
    within(bytes.len(), || drop(formats::params::FORMAT.read("random", bytes)));
    within(bytes.len(), || drop(formats::npz::FORMAT.read("random", bytes)));
    within(bytes.len(), || drop(formats::safetensors::FORMAT.read("random", bytes)));
    within(bytes.len(), || drop(formats::read_npy("random", bytes)));
}

/// Tensors of any dtype, shape and bits that are written in a format are read as they were, by whatever reads it.
pub fn save_load(choices: &[u8]) {
    const NAMES: [&str; 12] =
        ["a", "b.weight", "\u{e9}\u{1f600}", "", "x/y", "../z", "__metadata__", "arg:a", "a\0b\n", "p0", "\"\\", "a.npy"];
    let mut choices = Choices::new(choices);
    let mut entries: Vec<(String, Tensor)> = vec![];
    for _ in 0..choices.one(5) {
        let name = match choices.one(32) {
            31 => "n".repeat(choices.wide(5000)),
            at => NAMES[at % NAMES.len()].to_owned(),
        };
        let dtype = choices.of(&DType::RUNTIME);
        let shape: Vec<usize> = (0..choices.one(5)).map(|_| choices.of(&[2, 1, 3, 0, 5])).collect();
        let n = shape.iter().product::<usize>() * dtype.bytes() as usize;
        let mut byte = || choices.one(if dtype == DType::BOOL { 2 } else { 256 }) as u8;
        let bytes: Vec<u8> = (0..n).map(|_| byte()).collect();
        entries.push((name, Tensor::from_le_bytes(dtype, &shape, &bytes).expect("as many bytes as the shape says")));
    }
    let bits = |tensor: &Tensor| (tensor.dtype(), tensor.shape().to_vec(), tensor.to_le_bytes());
    let sorted = |tensors: &[(String, Tensor)]| {
        let mut found: Vec<_> = tensors.iter().map(|(name, tensor)| (name.clone(), bits(tensor))).collect();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found
    };
    for format in formats::Format::writable() {
        let file = match formats::encode(format, "random", &entries) {
            Ok(file) => file,
            Err(refused) => {
                assert_eq!(refused.code, codes::E0702, "{format}: {} of {entries:?}", refused.message);
                continue;
            }
        };
        for read in [format.read("random", &file), formats::read_tensors("random", &file)] {
            let read = read.unwrap_or_else(|wrong| panic!("{format}: {} of {entries:?}", wrong.message));
            assert_eq!(sorted(&read), sorted(&entries), "{format}");
        }
    }
    for (_, tensor) in &entries {
        let read = formats::read_npy("random", &relayc_ir::tensor::npy::write(tensor));
        let read = read.unwrap_or_else(|wrong| panic!(".npy: {} of {tensor:?}", wrong.message));
        assert_eq!(bits(&read), bits(tensor), ".npy");
    }
}

/// Files of tensors that were damaged are read or refused.
pub fn load_mutated(choices: &[u8]) {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let tensor = Tensor::from_fn(&[2, 3], |i| i as f32);
        let entries = [("a".to_owned(), tensor.clone()), ("b.weight".to_owned(), tensor.clone())];
        vec![
            formats::params::write(&entries),
            formats::encode(formats::npz::FORMAT, "base", &entries)
                .unwrap_or_else(|_| panic!("two small tensors can be written")),
            formats::encode(formats::safetensors::FORMAT, "base", &entries)
                .unwrap_or_else(|_| panic!("two small tensors can be written")),
            relayc_ir::tensor::npy::write(&tensor),
        ]
    });
    load_tensors(&mutated(files, choices));
}

/// Graphs of TVM's graph executor that were damaged are read or refused; what is read can be shown, and is written and read as it is.
pub fn load_graph_json(choices: &[u8]) {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(|| vec![data("tvm_graph.json")]);
    for bytes in [choices, &mutated(files, choices)] {
        within(bytes.len(), || relayc_exchange::kind(bytes));
        if let Ok(graph) = within(bytes.len(), || relayc_exchange::graph_json::read("random", bytes)) {
            let _ = relayc_exchange::graph_json::show(&graph, &vec![]);
            let again = relayc_exchange::graph_json::read("random", relayc_exchange::graph_json::write(&graph).as_bytes());
            assert!(again.as_ref() == Ok(&graph), "{graph:?} is read as {again:?}");
        }
    }
}

/// Archives that were damaged are read or refused, as models, as weights and to be shown.
pub fn load_tar(choices: &[u8]) {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(|| ["model.tar", "packed.tar", "package.tar"].map(data).to_vec());
    for bytes in [choices, &mutated(files, choices)] {
        within(bytes.len(), || drop(relayc_exchange::package::read("random", bytes)));
        within(bytes.len(), || drop(formats::read_tensors("random", bytes)));
        within(bytes.len(), || drop(relayc_exchange::package::show("random", bytes)));
    }
}

/// Networks of Darknet that were damaged become programs or are refused, with weights and without.
pub fn load_darknet_cfg(choices: &[u8]) {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(|| ["net.cfg", "layers.cfg", "recurrent.cfg"].map(data).to_vec());
    let weights = data("net.weights");
    for bytes in [choices, &mutated(files, choices)] {
        within(bytes.len(), || relayc_exchange::kind(bytes));
        for weights in [None, Some(("random", &weights[..])), Some(("random", choices))] {
            let request =
                relayc_exchange::darknet::Import { name: "random", file: FileId(0), shapes: &[], weights, as_params: true };
            let (listing, imported) = within(bytes.len(), || relayc_exchange::darknet::import(bytes, &request));
            match imported {
                Ok(imported) => assert_eq!(imported.module.globals.len(), 1),
                Err(diagnostics) => {
                    assert!(!diagnostics.is_empty());
                    places_lie_in(&listing.text, &diagnostics);
                }
            }
        }
    }
}

/// Networks of MXNet that were damaged become programs or are refused.
pub fn load_mxnet_json(choices: &[u8]) {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(|| vec![data("net-symbol.json")]);
    let weights = formats::read_tensors("weights", &data("net-0000.params")).expect("a sound file");
    let shapes = [("data".to_owned(), vec![Some(1), Some(1), Some(4), Some(4)])];
    for bytes in [choices, &mutated(files, choices)] {
        let (name, file, weights) = ("random", FileId(0), weights.clone());
        let how = relayc_exchange::mxnet::Import { name, file, shapes: &shapes, weights, as_params: true };
        let (listing, imported) = within(bytes.len(), || relayc_exchange::mxnet::import(bytes, how));
        match imported {
            Ok(imported) => assert_eq!(imported.module.globals.len(), 1),
            Err(diagnostics) => {
                assert!(!diagnostics.is_empty());
                places_lie_in(&listing.text, &diagnostics);
            }
        }
    }
}

/// Arrays of MXNet that were damaged are read or refused.
pub fn load_mxnet_params(choices: &[u8]) {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(|| vec![data("net-0000.params")]);
    for bytes in [choices, &mutated(files, choices)] {
        within(bytes.len(), || drop(relayc_weights::mxnet::FORMAT.read("random", bytes)));
        within(bytes.len(), || drop(formats::read_tensors("random", bytes)));
    }
}

/// A file that the goldens of the command line use.
fn data(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cli/data").join(name);
    let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/cli/data").join(name);
    std::fs::read(path).or_else(|_| std::fs::read(beside)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Artifacts that were damaged are described or refused, with and without their checksum.
#[cfg(feature = "jit")]
pub fn load_artifact(choices: &[u8]) {
    static FILES: OnceLock<[Vec<Vec<u8>>; 2]> = OnceLock::new();
    let [files, images] = FILES.get_or_init(|| {
        let request = Request {
            entry: "main".into(),
            settings: [Isa::Avx2, Isa::Avx512]
                .map(|isa| Settings {
                    level: 3,
                    isa,
                    threads: 1,
                    accuracy: Policy::Fast,
                    machine: Machine::Common(isa),
                    choices: Default::default(),
                    fault: None,
                })
                .to_vec(),
            sizes: vec!["n=3,4".into()],
            limits: Limits::default(),
            asm: false,
            object: false,
            name: "net".into(),
        };
        let program = check_text("net.relay", "def @main(%x: Tensor[(n), float32]) { nn.softmax(nn.relu(%x)) }", Phase::Main);
        let built = build(&program, &request).unwrap_or_else(|errors| panic!("{errors:?}"));
        let found = relayc_exchange::artifact::read("net.so", &built.so).unwrap_or_else(|error| panic!("{error:?}"));
        let image = built.so[found.image].to_vec();
        // Without the template, whose bytes nobody looks at.
        [vec![built.so[..8192].to_vec(), built.so], vec![image[..found.code.start].to_vec(), image]]
    });
    for bytes in [choices, &mutated(files, choices)] {
        within(bytes.len(), || drop(relayc_exchange::artifact::read("random", bytes)));
    }
    for bytes in [choices, &mutated(images, choices)] {
        within(bytes.len(), || drop(describe(bytes)));
    }
}

/// Models of any bytes are imported or refused, and what is imported is a right program.
pub fn load_onnx_bytes(bytes: &[u8]) {
    models::import(bytes);
}

/// Models that were damaged, alike.
pub fn load_onnx_mutated(choices: &[u8]) {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let kept = programs::under("tests/golden/cli/data", &["onnx"]).into_iter();
        kept.map(|path| std::fs::read(path).expect("a model")).chain([models::small()]).collect()
    });
    models::import(&mutated(files, choices));
}

/// Models that are sound on the outside, of any operators, operands and attributes, alike.
pub fn load_onnx_structured(choices: &[u8]) {
    models::import_made(choices);
}

/// The errors of a program as text.
fn errors(program: &Program) -> Option<String> {
    program.has_errors().then(|| render(&program.diagnostics, &program.sources, Format::Plain, false))
}

/// The beginning of a text, which is enough to see what it is about.
fn head(text: &str) -> &str {
    text.char_indices().nth(4000).map_or(text, |(end, _)| &text[..end])
}

/// What of the promise a text breaks; the error says with which text. With the types if they are wanted.
pub fn round_trip(text: &str, types: bool) -> Result<(), String> {
    let until = if types { Phase::Infer } else { Phase::Resolve };
    let options = show::Options { types, meta: true, exact: false, dim_names: false };
    let first = check_text("written", text, until);
    if let Some(said) = errors(&first) {
        return Err(format!("{}\n--- is wrong\n{said}", head(text)));
    }
    let printed = show::print(&first, options);
    let second = check_text("printed", &printed, until);
    let fail = |why: &str, more: &str| {
        Err(format!("{}\n--- as written; as printed, types: {types}\n{}\n--- {why}\n{}", head(text), head(&printed), head(more)))
    };
    if let Some(said) = errors(&second) {
        return fail("does not read back", &said);
    }
    let again = show::print(&second, options);
    if printed != again {
        let diff = relayc_base::diff::unified(("printed", &printed), ("again", &again));
        return fail("prints as something else", &diff);
    }
    same(&first.module, &second.module).or_else(|why| fail("reads back as something else", &why))
}
