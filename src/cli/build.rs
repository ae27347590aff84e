//! `relayc build`: compiles a program to a shared object that needs neither relayc nor a compiler.

use super::choices::{self, Choices};
use super::{Console, Inputs, Reading, compiled, exit, weight_files};
use crate::engine::build::{self, BuildOutputs, Request};
use crate::engine::compile::{Isa, Machine, Settings};
use crate::engine::fault_injection::Fault;
use clap::ValueEnum;
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::thousands;
use relayc_driver::optimise::{self, MAX_LEVEL};
use relayc_driver::run::Limits;
use relayc_driver::{Phase, Program, endings, export};
use relayc_sys as sys;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Compile a program ahead of time: a shared object with a C header.
///
/// The shared object holds machine code, weights and the program's text, and needs neither relayc nor a compiler: `relayc build
/// net.relay --params net.params -o net.so`, then `relayc run net.so`, or dlopen it. It is code: load it only if you trust who
/// built it. `relayc inspect` shows its content without executing it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    /// The shared object to write; other emitted files go beside it.
    #[arg(short, long, value_name = "NET.so")]
    output: PathBuf,
    /// The function to build.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    #[arg(long, value_name = "FILE", help = weight_files("Weights to put into the shared object"))]
    params: Vec<PathBuf>,
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    passes: compiled::Passes,
    /// The size of a dynamic dimension: parameter, axis, number; or the name of a size and its number.
    #[arg(long, value_name = "NAME.AXIS=N|SIZE=N")]
    set: Vec<String>,
    /// Several sizes of a dynamic dimension: the shared object has code for each, and for each combination with other `--sizes`.
    #[arg(long, value_name = "SIZE=N,…|SIZE=N..M")]
    sizes: Vec<String>,
    /// The level of optimisation, from 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = MAX_LEVEL, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVEL)))]
    level: u8,
    /// How closely sums follow their written order.
    #[arg(long, value_enum, default_value_t = compiled::AccuracyName::Fast)]
    accuracy: compiled::AccuracyName,
    /// The machines to compile for.
    #[arg(long, value_enum, default_value_t = TargetName::Both)]
    target: TargetName,
    #[command(flatten)]
    choices: Choices,
    /// The number of threads to divide the work for; any number may run it, with the same results.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), default_value_t = build::THREADS as u16)]
    threads: u16,
    /// What to write: the shared object, its header, and beside them an object for linking, the code as text, the graph as JSON,
    /// the weights.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', default_values_t = [What::So, What::Header])]
    emit: Vec<What>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum TargetName {
    /// AVX2 and FMA, and AVX-512 if the machine has it: the code is chosen at run time.
    Both,
    /// AVX2 and FMA.
    #[value(name = "x86-64-v3")]
    V3,
    /// AVX-512.
    #[value(name = "x86-64-v4")]
    V4,
    /// This machine.
    Native,
}

impl What {
    /// The ending of its file.
    fn ending(self) -> &'static str {
        match self {
            What::So => "so",
            What::Obj => "o",
            What::Header => "h",
            What::Asm => "s",
            What::GraphJson => "json",
            What::Params => "params",
        }
    }
}

impl TargetName {
    fn machines(self) -> Vec<Machine> {
        match self {
            TargetName::Both => vec![Machine::Common(Isa::Avx2), Machine::Common(Isa::Avx512)],
            TargetName::V3 => vec![Machine::Common(Isa::Avx2)],
            TargetName::V4 => vec![Machine::Common(Isa::Avx512)],
            TargetName::Native => vec![Machine::Native],
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum What {
    /// The shared object.
    So,
    /// NET.o: the same, for linking into a program.
    Obj,
    /// NET.h: the exported functions, the inputs and outputs.
    Header,
    /// NET.TARGET.s: the code of each target, disassembled.
    Asm,
    /// NET.json: the graph of TVM's graph executor, which the shared object contains too.
    GraphJson,
    /// NET.params: the weights for that graph.
    Params,
}

pub(crate) fn run(console: &Console, args: &Args) -> Result<u8, u8> {
    // What is built goes to others, who would not know.
    if let Some(words) = Fault::wanted().map_or_else(Some, |fault| fault.map(Fault::summary)) {
        return Err(console.usage(format_args!("nothing is built: {words}")));
    }
    if sys::is_standard(&args.output) {
        return Err(console.usage("`-o -`: what is built is several files, named after the first: `-o net.so`"));
    }
    args.named().map_err(|wrong| console.files(&[wrong], &Sources::new()))?;
    let settings = args.settings().map_err(|words| console.usage(words))?;
    let mut program = console.checked(&args.file, Phase::Main, &args.reading.how(&args.entry, &args.set))?;
    let settings = settings.into_iter().map(|settings| args.choices.chosen(console, settings, &program.sources));
    let settings = settings.collect::<Result<Vec<Settings>, u8>>()?;
    console.inputs(&program, &args.entry, &args.params, &args.inputs)?;
    args.passes.run(console, &mut program, (&args.entry, &args.params), optimise::Target::V3)?;
    let chosen = settings.clone();
    let made = super::progress::spin(console, "building", || files(args, settings, &mut program));
    let at_load = made.and_then(|Made { files, at_load }| write(args, &files).map(|()| at_load));
    let at_load = at_load.map_err(|wrong| console.files(&wrong, &program.sources))?;
    chosen.iter().for_each(|settings| choices::say_unused(console, settings));
    if at_load >= WORTH_A_NOTE {
        console.note(format_args!("an instance takes {} bytes for weights that it packs when it is created", thousands(at_load)));
    }
    Ok(exit::FINE)
}

impl Args {
    /// Checks that the name of the shared object is one, or that of something else that is written in its place. Errors: E0721.
    fn named(&self) -> Result<(), Diagnostic> {
        let others = self.emit.iter().filter(|_| !self.emit.contains(&What::So));
        let endings: Vec<&str> = [What::So].iter().chain(others).map(|what| what.ending()).collect();
        endings::one_of(&self.unversioned(), "a shared object", &endings).map_err(|denied| {
            let is_object = self.output.extension().is_some_and(|ending| ending == What::Obj.ending());
            if is_object { denied.help("`--emit obj` writes an object for linking") } else { denied }
        })
    }

    /// The name of the shared object without the version behind it: `net.so` of `net.so.1.2`.
    fn unversioned(&self) -> PathBuf {
        let is_number = |ending: &OsStr| ending.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let mut short = self.output.clone();
        while short.extension().is_some_and(is_number) {
            short.set_extension("");
        }
        let is_object = short.extension().is_some_and(|ending| ending == What::So.ending());
        if is_object { short } else { self.output.clone() }
    }

    /// The compiler settings for each target machine. Errors: an invalid environment variable, in words.
    fn settings(&self) -> Result<Vec<Settings>, String> {
        let accuracy = self.accuracy.policy();
        let of = |machine| Settings::of(machine, self.level, usize::from(self.threads)).transpose();
        let all = self.target.machines().into_iter().filter_map(of);
        all.map(|settings| Ok(Settings { accuracy, ..settings? })).collect()
    }
}

/// From how many bytes on an instance's own weights are said.
const WORTH_A_NOTE: u64 = 1 << 20;

/// The files to write, and the bytes of weights that an instance packs.
struct Made {
    files: Vec<(PathBuf, Vec<u8>)>,
    at_load: u64,
}

fn files(args: &Args, settings: Vec<Settings>, program: &mut Program) -> Result<Made, Vec<Diagnostic>> {
    let unversioned = args.unversioned();
    let stem = unversioned.file_stem().filter(|stem| !stem.is_empty());
    if stem.is_some_and(|stem| stem.to_str().is_none()) {
        let message = format!("the name `{}` is not UTF-8", args.output.display());
        return Err(vec![
            Diagnostic::new(codes::E0702, message)
                .note("the artifact's functions and its header are called as the file is")
                .help("-o net.so"),
        ]);
    }
    let Some(stem) = stem.and_then(|stem| stem.to_str()) else {
        let message = format!("`{}` names no file", args.output.display());
        return Err(vec![Diagnostic::new(codes::E0702, message).help("-o net.so")]);
    };
    optimise::bind_weights(program, &args.entry, &args.params)?;
    let request = Request {
        entry: args.entry.clone(),
        settings,
        sizes: args.sizes.clone(),
        limits: Limits::default(),
        asm: args.emit.contains(&What::Asm),
        object: args.emit.contains(&What::Obj),
        name: stem.to_owned(),
    };
    let BuildOutputs { so, object, header, graph, at_load, asm } = build::build(program, &request)?;
    let beside = |what: What| args.output.with_file_name(format!("{stem}.{}", what.ending()));
    let mut files: Vec<(PathBuf, Vec<u8>)> = vec![];
    let mut add = |what: What, path: PathBuf, bytes: Vec<u8>| {
        if args.emit.contains(&what) {
            files.push((path, bytes));
        }
    };
    add(What::So, args.output.clone(), so);
    object.into_iter().for_each(|bytes| add(What::Obj, beside(What::Obj), bytes));
    add(What::Header, beside(What::Header), header.into_bytes());
    for (target, text) in assembly(asm) {
        let path = args.output.with_file_name(format!("{stem}.{target}.{}", What::Asm.ending()));
        add(What::Asm, path, text.into_bytes());
    }
    if args.emit.contains(&What::GraphJson) || args.emit.contains(&What::Params) {
        let graph = graph?;
        add(What::Params, beside(What::Params), graph.params().unwrap_or_else(export::no_constants));
        add(What::GraphJson, beside(What::GraphJson), graph.json.into_bytes());
    }
    Ok(Made { files, at_load })
}

/// The code of each target as one text, given that of each target and size.
fn assembly(parts: Vec<(&'static str, String, String)>) -> BTreeMap<&'static str, String> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for (target, size, text) in parts {
        let all = texts.entry(target).or_default();
        if !size.is_empty() {
            let _ = writeln!(all, "; {size}");
        }
        all.push_str(&text);
    }
    texts
}

fn write(args: &Args, files: &[(PathBuf, Vec<u8>)]) -> Result<(), Vec<Diagnostic>> {
    let read: Vec<&Path> = args.params.iter().chain([&args.file]).map(PathBuf::as_path).collect();
    let written: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    sys::replaces_none(&written, &read, "the artifact is built from").map_err(|error| vec![error])?;
    let files: Vec<(&Path, &[u8])> = files.iter().map(|(path, bytes)| (path.as_path(), bytes.as_slice())).collect();
    sys::write_atomic(&files).map_err(|error| vec![error])
}
