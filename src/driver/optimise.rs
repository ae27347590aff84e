//! Optimising a program: which passes, for which machine, and what they did.

use super::bind::{self, Bound, Requests, Slot};
use super::run::{self, Entry};
use super::show::{self, Options};
use super::timings::Stopwatch;
use super::{Program, Until};
use crate::base::Sources;
use crate::base::text::nearest;
use crate::diag::Diagnostic;
use crate::ir::print::print;
use crate::ir::{ExprId, Module};
use crate::jit::asm::Isa;
use crate::ops;
use crate::passes::{self, Observer, PassCx, Settings};
pub use crate::passes::{FUSION, MAX_LEVEL, ON_REQUEST, Pass};
use crate::tensor::Tensor;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use similar::TextDiff;
use std::path::PathBuf;

/// How far a program must have been checked before it is optimised.
pub const UNTIL: Until = Until::Main;

/// The machine that is optimised for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// AVX2 and FMA.
    V3,
    /// AVX-512.
    V4,
}

impl Target {
    /// What is compiled for an instruction set.
    pub fn of(isa: Isa) -> Target {
        match isa {
            Isa::Avx2 => Target::V3,
            Isa::Avx512 => Target::V4,
        }
    }

    /// How many floats a vector holds.
    pub fn lanes(self) -> usize {
        match self {
            Target::V3 => 8,
            Target::V4 => 16,
        }
    }
}

/// What is done to a program.
#[derive(Clone)]
pub struct How {
    /// In order.
    pub passes: Vec<&'static Pass>,
    pub target: Target,
    /// The one function that the program is entered by; without one, every function stays.
    pub entry: Option<String>,
    /// Whether every pass is checked.
    pub verify: bool,
}

impl How {
    /// What `-O` does.
    pub fn level(level: u8, target: Target) -> How {
        How { passes: passes::of_level(level), target, entry: None, verify: false }
    }

    /// The passes of these names, in this order. Errors: what is wrong with a name, in words.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>, target: Target) -> Result<How, String> {
        let passes: Result<Vec<_>, String> =
            names.into_iter().map(|name| passes::find(name).ok_or_else(|| unknown(name))).collect();
        Ok(How { passes: passes?, target, entry: None, verify: false })
    }
}

/// What to say of a name that is no pass.
pub fn unknown(name: &str) -> String {
    let hint = nearest(name, passes::all().iter().map(|pass| pass.name));
    let hint = hint.map_or("`relayc passes` lists all".to_owned(), |near| format!("there is `{near}`"));
    format!("there is no pass `{name}`: {hint}")
}

/// Every pass, in the order of the pipeline.
pub fn all() -> Vec<&'static Pass> {
    passes::all()
}

/// A pass as JSON, `relayc.pass/1`.
pub fn object(pass: &Pass) -> Value {
    let level = (pass.level <= MAX_LEVEL).then_some(pass.level);
    json!({ "schema": "relayc.pass/1", "name": pass.name, "level": level, "doc": pass.doc })
}

/// Makes weights of files constants of an entry function. Errors: as [`bind::weights`], and E0202 for an entry that does not
/// exist.
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

/// The values of an entry's parameters, after those of weight files have become constants; an entry that the program itself calls keeps
/// all of them, and so does a bare expression. Errors: as [`bind::bind`], and E0202 for an entry that does not exist.
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

/// Runs passes on a program without errors. Errors: E0901, for a pass that broke the program.
pub fn optimise(module: &mut Module, how: &How, observer: &mut dyn Observer) -> Result<(), Diagnostic> {
    let cx = PassCx { ops: ops::table(), lanes: how.target.lanes(), entry: how.entry.as_deref() };
    passes::run(module, &cx, &how.passes, Settings { verify: how.verify }, observer).map_err(|error| *error)
}

/// What of the work is shown.
#[derive(Clone, Default)]
pub struct Shown {
    /// The passes after which the program is printed.
    pub after: Vec<&'static str>,
    /// Whether what each pass changed is printed.
    pub changed: bool,
    /// Whether the reasons for each fusion are printed.
    pub fusion: bool,
}

impl Shown {
    fn anything(&self) -> bool {
        !self.after.is_empty() || self.changed || self.fusion
    }
}

/// Optimises a program. What comes of it as text, or in its place what of the work is to be shown.
pub fn text(program: &mut Program, how: &How, shown: &Shown, options: Options) -> Result<String, Diagnostic> {
    let before = if shown.changed { show::print(program, options) } else { String::new() };
    let mut showing = Showing { shown, options, sources: &program.sources, before, out: String::new() };
    optimise(&mut program.module, how, &mut Stopwatch::new(&mut program.timings, &mut showing))?;
    let shown_text = showing.out;
    Ok(if shown.anything() { shown_text } else { show::print(program, options) })
}

/// Collects what is to be shown.
struct Showing<'a> {
    shown: &'a Shown,
    options: Options,
    sources: &'a Sources,
    /// The text before the pass.
    before: String,
    out: String,
}

impl Showing<'_> {
    /// A line for each pair of operators: `line:column operator` twice, whether they are fused, and why.
    fn fusion(&self, module: &Module) -> String {
        let name = |expr: ExprId| {
            let op = module.called_op(expr).map_or("a tuple", |op| ops::table().def(op).name);
            match self.sources.line_col(module.exprs[expr].span) {
                Some((line, column)) => format!("{op} at {line}:{column}"),
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
        passes::explain_fusion(module, ops::table()).iter().map(line).collect()
    }
}

impl Observer for Showing<'_> {
    fn before(&mut self, pass: &Pass, module: &Module) {
        if self.shown.fusion && pass.name == passes::FUSION {
            self.out.push_str(&self.fusion(module));
        }
    }

    fn after(&mut self, pass: &Pass, module: &Module) {
        let wanted = self.shown.after.contains(&pass.name);
        if !self.shown.changed && !wanted {
            return;
        }
        let text = print(module, ops::table(), self.options);
        if self.shown.changed && text != self.before {
            let diff = TextDiff::from_lines(&self.before, &text);
            let names = (format!("before {}", pass.name), format!("after {}", pass.name));
            self.out.push_str(&diff.unified_diff().context_radius(3).header(&names.0, &names.1).to_string());
        }
        if wanted {
            self.out.push_str(&format!("// after {}\n{text}", pass.name));
        }
        self.before = text;
    }
}
