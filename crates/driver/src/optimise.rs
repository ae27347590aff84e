//! Optimises a program: chooses the passes for a machine, runs them and reports their work.

use super::bind::{self, Bound, Requests, Slot};
use super::compare::values::{Allowed, Answer, agree};
use super::emit::bound_name;
use super::run::{self, Entry, Limits};
use super::show::{self, Options};
use super::tensors;
use super::timings::Stopwatch;
use super::{Phase, Program};
use relayc_base::diag::Diagnostic;
use relayc_base::{Sources, diff};
use relayc_ir::kernel::ByteProducts;
use relayc_ir::print::print;
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, FuncId, Module};
use relayc_ops as ops;
use relayc_passes::{self as passes, Args, Observer, PassCx, Settings};
pub use relayc_passes::{Arg, FUSION, MAX_LEVEL, ON_REQUEST, Param, Pass, Step, find, unknown_pass};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// The checking that a program needs before it is optimised.
pub const UNTIL: Phase = Phase::Main;

/// The target machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// AVX2 and FMA.
    V3,
    /// AVX-512.
    V4,
}

impl Target {
    /// What the name of a target in other tools means here; `None` for a name that is not known.
    pub fn elsewhere(name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase();
        Some(match name.split([' ', ',']).next().unwrap_or_default() {
            "avx2" | "haswell" | "core-avx2" | "x86-64-v2" | "sse2" | "sse4" => {
                "`x86-64-v3` is AVX2, the least that is compiled for"
            }
            "avx512" | "avx512f" | "avx-512" | "skylake-avx512" | "cascadelake" | "icelake" => "`x86-64-v4` is AVX-512",
            "cpu" | "host" | "llvm" | "x86" | "x86-64" | "x86_64" | "amd64" => "`native` is the machine that it runs on",
            "cuda" | "gpu" | "rocm" | "opencl" | "vulkan" | "metal" | "arm" | "aarch64" | "neon" => {
                "relayc compiles for x86-64 processors alone"
            }
            _ => return None,
        })
    }

    /// The number of floats in a vector.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Target::V3 => 8,
            Target::V4 => 16,
        }
    }
}

/// The options of optimising.
#[derive(Clone)]
pub struct PassPlan {
    /// The passes, in order.
    pub passes: Vec<Step>,
    pub target: Target,
    pub byte_products: ByteProducts,
    /// The only entry function of the program; without one, every function stays.
    pub entry: Option<String>,
    /// Whether to verify the program after every pass.
    pub verify: bool,
}

impl PassPlan {
    /// The passes of a `-O` level.
    pub fn level(level: u8, target: Target) -> PassPlan {
        PassPlan { passes: passes::of_level(level), target, byte_products: ByteProducts::Pairs, entry: None, verify: false }
    }

    /// The passes with these names, in this order, with default arguments. Errors: E0742.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>, target: Target) -> Result<PassPlan, Box<Diagnostic>> {
        let passes: Result<Vec<_>, _> = names.into_iter().map(|name| Step::new(name, vec![])).collect();
        Ok(PassPlan::requested(passes?, target))
    }

    /// Passes that are asked for: each works as for a machine that can use it.
    pub fn requested(passes: Vec<Step>, target: Target) -> PassPlan {
        let byte_products = if target == Target::V4 { ByteProducts::Words } else { ByteProducts::Pairs };
        PassPlan { passes, target, byte_products, entry: None, verify: false }
    }

    /// The context of the passes.
    pub fn cx(&self) -> PassCx<'_> {
        let (lanes, entry) = (self.target.lanes(), self.entry.as_deref());
        PassCx { ops: ops::table(), lanes, byte_products: self.byte_products, entry, args: Args::NONE }
    }
}

/// Gives a function static shapes, with room for the largest that data can decide: [`passes::bound_shapes`].
pub fn bound_shapes(module: &mut Module, how: &PassPlan, func: FuncId) -> Result<Option<Vec<bool>>, (ExprId, &'static str)> {
    passes::bound_shapes(module, &how.cx(), func)
}

/// Every pass, in the order of the pipeline.
pub fn all() -> Vec<&'static Pass> {
    passes::all()
}

/// A pass as JSON, `relayc.pass/1`.
pub fn object(pass: &Pass) -> Value {
    let level = (pass.level <= MAX_LEVEL).then_some(pass.level);
    let param = |param: &passes::Param| json!({ "name": param.name, "default": param.default, "doc": param.doc });
    let params: Vec<Value> = pass.params.iter().map(param).collect();
    json!({ "schema": "relayc.pass/1", "name": pass.name, "level": level, "doc": pass.doc, "params": params })
}

/// Turns weights from files into constants of an entry function. Errors: as [`bind::weights`], and E0706 for an unknown entry.
pub fn bind_weights(program: &mut Program, entry: &str, files: &[PathBuf]) -> Result<(), Vec<Diagnostic>> {
    if files.is_empty() && program.packed.weights.is_empty() {
        return Ok(());
    }
    let packed = std::mem::take(&mut program.packed);
    let start = std::time::Instant::now();
    let module = &mut program.module;
    let Some(global) = module.find_global(entry) else { return Err(vec![run::no_entry(module, entry)]) };
    let slots = run::entry(module, entry).map_err(|error| vec![error])?.slots;
    let weights = bind::weights(&slots, &module.types, files, &packed)?;
    passes::bind_params(module, global, weights);
    program.timings.add("bind", start.elapsed());
    Ok(())
}

/// Names of weights.
pub type WeightNames = FxHashSet<String>;

/// The names of all weights of a program: those that came with it, and those of the files.
pub fn weight_names(program: &Program, files: &[PathBuf]) -> WeightNames {
    let came = program.packed.weights.iter().map(|(name, _)| name.clone());
    // The reader of a file reports its errors.
    let opened = files.iter().filter_map(|file| tensors::open(file).ok());
    came.chain(opened.flat_map(|file| file.items().iter().map(|item| item.name.clone()).collect::<Vec<_>>())).collect()
}

/// Binds an entry's parameters, after turning those in weight files into constants. An entry that the program itself calls, and a
/// bare expression, keep all parameters. Errors: as [`bind::bind`], and E0706 for an unknown entry.
pub fn bind_all(program: &mut Program, entry: &str, requests: &Requests) -> Result<(Entry, Vec<Bound>), Vec<Diagnostic>> {
    let Program { module, timings, packed, .. } = program;
    let requests = Requests { packed: std::mem::take(packed), ..requests.clone() };
    timings.time("bind", || bound(module, entry, &requests))
}

fn bound(module: &mut Module, entry: &str, requests: &Requests) -> Result<(Entry, Vec<Bound>), Vec<Diagnostic>> {
    let found = run::entry(module, entry).map_err(|error| vec![error])?;
    let (bound, weights) = bind::bind_telling(&found.slots, &module.types, requests)?;
    let constant = |(slot, bound): (&Slot, &Bound)| match bound {
        Bound::Tensor(tensor) if weights.contains(&slot.name) => Some((slot.name.clone(), tensor.clone())),
        _ => None,
    };
    let values: FxHashMap<String, Tensor> = found.slots.iter().zip(&bound).filter_map(constant).collect();
    let names: FxHashSet<String> = values.keys().cloned().collect();
    match module.find_global(entry) {
        Some(global) if !values.is_empty() && passes::bind_params(module, global, values) => {
            let left = found.slots.iter().zip(bound).filter(|(slot, _)| !names.contains(&slot.name)).map(|(_, bound)| bound);
            Ok((run::entry(module, entry).map_err(|error| vec![error])?, left.collect()))
        }
        _ => Ok((found, bound)),
    }
}

/// Runs passes on a program without errors. Errors: E0901 for a pass that broke the program, E0743 for one that cannot rewrite it.
pub fn optimise(module: &mut Module, how: &PassPlan, observer: &mut dyn Observer) -> Result<(), Diagnostic> {
    passes::run(module, &how.cx(), &how.passes, Settings { verify: how.verify }, observer).map_err(|error| *error)
}

/// Whether passes that ran before sizes were known leave a function nothing but fusion for any of its sizes.
pub fn is_ready_for_any_size(module: &Module, how: &PassPlan, func: FuncId) -> bool {
    passes::is_ready_for_any_size(module, &how.cx(), func)
}

/// Which parts of the work are shown.
#[derive(Clone, Default)]
pub struct PassPrinting {
    /// The passes after which the program is printed.
    pub after: Vec<&'static str>,
    /// Whether to print the changes of each pass.
    pub changed: bool,
    /// Whether to print the reasons for each fusion.
    pub fusion: bool,
}

impl PassPrinting {
    pub fn anything(&self) -> bool {
        !self.after.is_empty() || self.changed || self.fusion
    }
}

/// Optimises a program. Returns the result as text, or the requested reports in its place.
///
/// With `answers`, each pass must keep them. Errors: E0901 for a pass that broke the program.
pub fn text(
    program: &mut Program,
    how: &PassPlan,
    shown: &PassPrinting,
    options: Options,
    answers: Option<&mut Answers>,
) -> Result<String, Diagnostic> {
    let before = if shown.changed { show::print(program, options) } else { String::new() };
    let mut showing = Showing { shown, options, sources: &program.sources, before, out: String::new(), answers };
    optimise(&mut program.module, how, &mut Stopwatch::new(&mut program.timings, &mut showing))?;
    let shown_text = showing.out;
    Ok(if shown.anything() { shown_text } else { show::print(program, options) })
}

/// Collects the reports.
struct Showing<'a> {
    shown: &'a PassPrinting,
    options: Options,
    sources: &'a Sources,
    /// The text before the pass.
    before: String,
    out: String,
    answers: Option<&'a mut Answers>,
}

/// The inputs of an entry, and what it computes from them on the interpreter.
pub struct Answers {
    entry: String,
    inputs: Vec<Vec<Bound>>,
    before: (Module, Vec<Answer>),
    /// What passes changed that may change answers, a line each.
    changed: String,
}

/// The seeds of inputs, if none are given.
const SEEDS: u64 = 3;

impl Answers {
    /// Runs an entry of a checked program: on the given inputs, where random values of one seed are what is missing, or on random
    /// inputs only. Errors: E0706 for an unknown entry, and those of [`bind::bind`].
    pub fn new(module: &Module, entry: &str, requests: &Requests) -> Result<Answers, Vec<Diagnostic>> {
        let slots = run::entry(module, entry).map_err(|error| vec![error])?.slots;
        let given = !requests.inputs.is_empty() || requests.inputs_file.is_some();
        let seeds = 1..=if given { 1 } else { SEEDS };
        let inputs =
            seeds.map(|seed| Ok(bind::bind_seeded(&slots, &module.types, requests, seed)?.0)).collect::<Result<_, Vec<_>>>()?;
        let mut answers = Answers { entry: entry.to_owned(), inputs, before: (module.clone(), vec![]), changed: String::new() };
        answers.before.1 = answers.of(module);
        Ok(answers)
    }

    fn of(&self, module: &Module) -> Vec<Answer> {
        let run = |inputs: &Vec<Bound>| {
            let entry = run::entry(module, &self.entry)?;
            run::answer(module, &entry, inputs.clone(), Limits::default())
        };
        self.inputs.iter().map(|inputs| run(inputs).map_err(Box::new)).collect()
    }

    /// What passes changed that may change results, a line each, with the first output that differs by more than 1e-4 of its largest
    /// magnitude.
    pub fn changed(&self) -> &str {
        &self.changed
    }

    fn names(&self, module: &Module) -> Vec<String> {
        run::entry(module, &self.entry).map_or(vec![], |entry| entry.results)
    }

    /// Runs the entry again after a pass. What a pass that changes answers has left is what the next ones must keep; where it has left
    /// other parameters, there are no inputs for them. Errors: E0901 for the first output that differs.
    fn check(&mut self, pass: &Pass, module: &Module) -> Result<(), Box<Diagnostic>> {
        let params = |module: &Module| -> Vec<String> {
            let slots = run::entry(module, &self.entry).map_or(vec![], |entry| entry.slots);
            slots.iter().map(|slot| module.types.text(slot.ty)).collect()
        };
        if !pass.keeps_answers {
            if params(module) != params(&self.before.0) {
                self.inputs.clear();
            }
            let after = self.of(module);
            let pairs = self.before.1.iter().zip(&after).filter(|(before, _)| before.is_ok());
            let how =
                pairs.map(|(before, now)| agree(&self.names(module), (&self.before.0, before), (module, now), Allowed::OfScale));
            if let Some(why) = how.filter_map(Result::err).next() {
                let _ = writeln!(self.changed, "{}, which may change results: {why}", pass.name);
            }
            self.before = (module.clone(), after);
            return Ok(());
        }
        let after = self.of(module);
        let allowed = if pass.reorders_terms { Allowed::OfReordered } else { Allowed::OfStorage };
        // What nobody uses may fail before and be gone after a pass, and which of several failures comes first is not said either.
        for (before, now) in self.before.1.iter().zip(&after).filter(|(before, _)| before.is_ok()) {
            agree(&self.names(module), (&self.before.0, before), (module, now), allowed)
                .map_err(|why| passes::broken(pass.name, &format!("the result of `@{}` has changed, {why}", self.entry)))?;
        }
        self.before = (module.clone(), after);
        Ok(())
    }
}

impl Showing<'_> {
    /// One line for each pair of operators: `%name operator at line:column` twice, whether they are fused, and why. Then the meaning
    /// of each class in these lines.
    fn fusion(&self, module: &Module) -> String {
        let name = |expr: ExprId| {
            let op = module.called_op(expr).map_or("a tuple", |op| ops::table().def(op).name);
            let span = module.exprs[expr].span;
            let bound = bound_name(self.sources, span).map_or(String::new(), |name| format!("{name} "));
            match self.sources.line_col(span) {
                Some((line, column)) => format!("{bound}{op} at {line}:{column}"),
                None => op.to_owned(),
            }
        };
        let line = |edge: &passes::Edge| {
            let verdict = if edge.joined { "fused" } else { "not fused" };
            let mut why = edge.why.clone();
            for (i, &expr) in edge.mentioned.iter().enumerate() {
                why = why.replace(&format!("{{{i}}}"), &name(expr));
            }
            format!("{} → {}: {verdict}: {why}\n", name(edge.from), name(edge.to))
        };
        let mut text: String = passes::explain_fusion(module, ops::table()).iter().map(line).collect();
        let named = ops::Fuse::ALL.map(|class| (class, format!("{class:?}")));
        let meanings = named.iter().filter(|(_, name)| text.contains(name.as_str()));
        let meanings: String = meanings.map(|(class, name)| format!("{name}: {}\n", class.meaning())).collect();
        if !meanings.is_empty() {
            text.push('\n');
        }
        text + &meanings
    }
}

impl Observer for Showing<'_> {
    fn before(&mut self, pass: &Pass, module: &Module) {
        if self.shown.fusion && pass.name == passes::FUSION {
            self.out.push_str(&self.fusion(module));
        }
    }

    fn after(&mut self, pass: &Pass, module: &Module) -> Result<(), Box<Diagnostic>> {
        if let Some(answers) = &mut self.answers {
            answers.check(pass, module)?;
        }
        let wanted = self.shown.after.contains(&pass.name);
        if !self.shown.changed && !wanted {
            return Ok(());
        }
        let text = print(module, ops::table(), self.options);
        if self.shown.changed && text != self.before {
            let names = (format!("before {}", pass.name), format!("after {}", pass.name));
            self.out.push_str(&diff::unified((&names.0, &self.before), (&names.1, &text)));
        }
        if wanted {
            self.out.push_str(&format!("// after {}\n{text}", pass.name));
        }
        self.before = text;
        Ok(())
    }
}
