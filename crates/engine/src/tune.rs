//! Measures the strategies of a program's steps against the models' choices.
//!
//! A variant of the program has another strategy at every step that has one. It runs in turn with the program as the models
//! choose it, so that whatever disturbs the machine disturbs both, and the times of each step are compared. The faster strategies
//! are then measured once more together, and only those that are still faster are kept. The results are choices by shape
//! ([`super::tuning`]), never by the number of threads, on which no result may depend.

use super::choices::Choices;
use super::compile::{Compiled, Refused, Settings, bytes};
use super::measure::Times;
use super::step_times::StepTimes;
use super::subgraphs;
use super::tuning::{Entries, Entry, Tuning, processor};
use relayc_base::diag::Diagnostic;
use relayc_codegen::pool::Pool;
use relayc_driver::Program;
use relayc_driver::bind::{Bound, tensors_in};
use relayc_driver::run::Limits;
use relayc_exec::plan;
use relayc_exec::program::PlanSession;
use relayc_ir::kernel::{Reason, Rejection};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was measured.
pub struct Tuned {
    /// The strategies that are faster than the models' choices.
    pub entries: Entries,
    /// All steps that were measured.
    pub measured: Vec<String>,
    /// Number of strategies that were measured, and of those for which there was no time.
    pub strategies: usize,
    pub left: usize,
    /// Median time of a run in milliseconds, as the models choose and with `entries`.
    pub before: f64,
    pub after: f64,
}

/// Strategies whose estimate is more than so many times that of the model's choice are not measured.
const HOPELESS: f64 = 4.0;
/// A strategy is taken if its time is below this part of the other's, in each half of the measurement below the second.
const FASTER: f64 = 0.95;
const EACH_HALF: f64 = 0.98;
/// The parts of the time for the strategies one by one, for those that are taken together, and for whole runs.
const PARTS: [f64; 3] = [0.6, 0.2, 0.2];

/// A program, and how it is compiled.
pub struct Subject<'a> {
    pub program: &'a Program,
    pub entry: &'a str,
    pub args: &'a [Bound],
    /// Without choices.
    pub settings: &'a Settings,
    pub limits: &'a Limits,
}

/// Steps with equal operators and shapes.
struct Shape {
    steps: Vec<usize>,
    /// The model's choice, then the others by their estimates.
    strategies: Vec<String>,
    /// The best measured strategy, and its time as a part of that of the model's choice.
    best: Option<(usize, f64)>,
}

/// Measures the strategies of a program's steps for about this time, besides that of compilation.
///
/// Errors: those of compiling the program as a whole, and those of its runs.
pub fn tune(subject: &Subject, budget: Duration) -> Result<Tuned, Refused> {
    let pool = Arc::new(Pool::new(subject.settings.threads));
    let model = subject.compiled(Entries::new())?;
    let mut shapes = shapes(&model);
    let rounds = shapes.values().map(|shape| shape.strategies.len()).max().unwrap_or(1);
    let (mut strategies, mut left, mut spent) = (0, 0, Duration::ZERO);
    let time = |part: usize| budget.mul_f64(PARTS[part]);
    for round in 1..rounds {
        let tried = shapes.iter().filter(|(_, shape)| shape.strategies.len() > round);
        let entries = tried.map(|(key, shape)| (key.clone(), Entry::of(&shape.strategies[round])));
        let entries: Entries = entries.collect();
        let rest = time(0).saturating_sub(spent);
        if rest.is_zero() && round > 1 {
            left += entries.len();
            continue;
        }
        strategies += entries.len();
        let variant = subject.compiled(entries)?;
        let begin = Instant::now();
        let halves = Pair::new([&model, &variant], subject.args, &pool)?.halves(rest / (rounds - round) as u32)?;
        spent += begin.elapsed();
        for shape in shapes.values_mut().filter(|shape| shape.strategies.len() > round) {
            let ratio = shape.faster(&halves, &variant, &shape.strategies[round]);
            if let Some(ratio) = ratio.filter(|ratio| shape.best.is_none_or(|(_, best)| *ratio < best)) {
                shape.best = Some((round, ratio));
            }
        }
    }
    let mut entries = chosen(&shapes);
    if !entries.is_empty() {
        // Together they may be slower than one by one, and the best of many measurements is too good.
        let variant = subject.compiled(entries)?;
        let halves = Pair::new([&model, &variant], subject.args, &pool)?.halves(time(1))?;
        for shape in shapes.values_mut() {
            shape.best = shape.best.and_then(|(at, _)| Some((at, shape.faster(&halves, &variant, &shape.strategies[at])?)));
        }
        entries = chosen(&shapes);
    }
    let tuned = if entries.is_empty() { None } else { Some(subject.compiled(entries.clone())?) };
    let [before, after] =
        Pair::new([&model, tuned.as_ref().unwrap_or(&model)], subject.args, &pool)?.whole(time(2)).map_err(Refused::Wrong)?;
    if after >= before {
        entries.clear();
    }
    let after = if entries.is_empty() { before } else { after };
    Ok(Tuned { entries, measured: shapes.into_keys().collect(), strategies, left, before, after })
}

impl Subject<'_> {
    /// The program with these strategies.
    fn compiled(&self, entries: Entries) -> Result<Compiled, Refused> {
        let mut tuning = Tuning::default();
        let none = entries.is_empty();
        tuning.replace(&processor(self.settings.isa), &[], entries);
        let choices = Choices::new(vec![], (!none).then_some(tuning), &self.program.sources);
        let settings = Settings { choices, ..self.settings.clone() };
        subgraphs::whole(self.program, self.entry, self.args, &settings, self.limits.clone())
    }
}

/// The shapes of a program that have several strategies.
fn shapes(model: &Compiled) -> BTreeMap<String, Shape> {
    let (plan, reasons) = (&model.program.plan, &model.program.reasons);
    let mut shapes: BTreeMap<String, Shape> = BTreeMap::new();
    for (at, step) in plan.steps.iter().enumerate().filter(|(_, step)| !step.once) {
        let strategies = promising(&reasons[at]);
        if strategies.len() > 1 {
            let shape = || Shape { steps: vec![], strategies, best: None };
            shapes.entry(plan::signature(plan, step, false)).or_insert_with(shape).steps.push(at);
        }
    }
    shapes
}

/// The strategies worth measuring: the model's choice, then the others by their estimates.
fn promising(reason: &Reason) -> Vec<String> {
    let mut others: Vec<(f64, &str)> = reason
        .alternatives
        .iter()
        .filter_map(|other| match other.rejection {
            Rejection::Ns(ns) => Some((ns / reason.ns?, other.name.as_str())),
            Rejection::Price(price) => Some((price / reason.price?, other.name.as_str())),
            Rejection::No(_) => None,
        })
        .filter(|(estimate, _)| *estimate < HOPELESS)
        .collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let own = (!reason.strategy.is_empty()).then_some(reason.strategy.as_str());
    own.into_iter().chain(others.into_iter().map(|(_, name)| name)).map(str::to_owned).collect()
}

/// The strategies that are taken.
fn chosen(shapes: &BTreeMap<String, Shape>) -> Entries {
    let of = |(key, shape): (&String, &Shape)| {
        let (at, ratio) = shape.best?;
        let comment = format!("{ratio:.2} of {}", shape.strategies[0]);
        Some((key.clone(), Entry { comment, ..Entry::of(&shape.strategies[at]) }))
    };
    shapes.iter().filter_map(of).collect()
}

impl Shape {
    /// The time of a variant's strategy as a part of that of the model's choice, if it is surely faster.
    fn faster(&self, halves: &[StepMedians; 2], variant: &Compiled, strategy: &str) -> Option<f64> {
        let reasons = &variant.program.reasons;
        let granted = |&step: &usize| reasons.get(step).is_some_and(|reason| reason.forced && reason.strategy == strategy);
        self.steps.iter().all(granted).then_some(())?;
        let sum = |times: &[Option<f64>]| -> Option<f64> { self.steps.iter().map(|&step| *times.get(step)?).sum() };
        let mut ratios = vec![];
        for [model, variant] in halves {
            ratios.push(sum(variant)? / sum(model)?);
        }
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        (mean < FASTER && ratios.iter().all(|ratio| *ratio < EACH_HALF)).then_some(mean)
    }
}

/// The median time of each step, of both sides.
type StepMedians = [Vec<Option<f64>>; 2];

/// Two compilations of a program that run in turn.
struct Pair<'a> {
    sides: [Side<'a>; 2],
}

struct Side<'a> {
    compiled: &'a Compiled,
    session: PlanSession,
    inputs: Vec<Cow<'a, [u8]>>,
    outputs: Vec<Vec<u8>>,
}

/// Runs of each side before those that are measured, and the fewest that are measured.
const WARM: usize = 2;
const FEWEST: usize = 3;

impl<'a> Pair<'a> {
    fn new(compiled: [&'a Compiled; 2], args: &'a [Bound], pool: &Arc<Pool>) -> Result<Pair<'a>, Refused> {
        let side = |compiled: &'a Compiled| {
            let session = compiled.session_on(pool.clone()).map_err(Refused::Wrong)?;
            let inputs = tensors_in(args).into_iter().map(bytes).collect();
            Ok(Side { compiled, session, inputs, outputs: compiled.outputs() })
        };
        let mut pair = Pair { sides: [side(compiled[0])?, side(compiled[1])?] };
        for _ in 0..WARM {
            pair.sides.iter_mut().try_for_each(|side| side.run(None)).map_err(Refused::Wrong)?;
        }
        Ok(pair)
    }

    /// The times of the steps of both sides, in each half of this time.
    fn halves(&mut self, time: Duration) -> Result<[StepMedians; 2], Refused> {
        let mut half = || self.steps(time / 2).map_err(Refused::Wrong);
        Ok([half()?, half()?])
    }

    fn steps(&mut self, time: Duration) -> Result<StepMedians, Box<Diagnostic>> {
        let (mut times, mut runs, begin) = ([StepTimes::default(), StepTimes::default()], 0, Instant::now());
        while runs < FEWEST || begin.elapsed() < time {
            for (side, times) in self.sides.iter_mut().zip(&mut times) {
                side.run(Some(times))?;
            }
            runs += 1;
        }
        Ok(times.map(|times| times.medians()))
    }

    /// The median times of whole runs of both sides.
    fn whole(&mut self, time: Duration) -> Result<[f64; 2], Box<Diagnostic>> {
        let (mut times, begin) = ([vec![], vec![]], Instant::now());
        while times[0].len() < FEWEST || begin.elapsed() < time {
            for (side, times) in self.sides.iter_mut().zip(&mut times) {
                let begin = Instant::now();
                side.run(None)?;
                times.push(begin.elapsed().as_secs_f64() * 1e3);
            }
        }
        Ok(times.map(|times| Times::of(times).at(0.5)))
    }
}

impl Side<'_> {
    fn run(&mut self, times: Option<&mut StepTimes>) -> Result<(), Box<Diagnostic>> {
        let Side { compiled, session, inputs, outputs } = self;
        match times {
            Some(times) => times.measure(|before| compiled.run_session(session, inputs, outputs, Some(before))),
            None => compiled.run_session(session, inputs, outputs, None),
        }
    }
}
