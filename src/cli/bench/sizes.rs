//! `relayc bench --set SIZE=…` with several sizes: calls of one open program with each of them.
//!
//! A list `16,64,128` is gone through in order, again and again, and once at least; from a range `16..512` sizes are drawn, the same
//! ones each time.

use super::super::{Console, exit};
use super::Args;
use crate::engine::library::{Error, Network, Options};
use crate::engine::measure::{self, CallTimes, Times};
use crate::engine::open::{OpenExecutable, OpenSession};
use crate::engine::size_setting::{SizeSetting, Sizes};
use relayc_base::random::SplitMix64;
use relayc_base::text::duration;
use relayc_driver::bind::{self, Bound, Requests, Slot};
use relayc_driver::{Phase, optimise, run};
use relayc_ir::types::Types;
use relayc_sys as sys;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Instant;

/// Number of calls that show something of a setting.
fn n_least(sizes: &Sizes) -> usize {
    match sizes {
        Sizes::List(sizes) => sizes.len().max(3),
        Sizes::Range(..) => 3,
    }
}

/// The size of a setting in a call.
fn size_at(sizes: &Sizes, call: usize, random: &mut SplitMix64) -> u64 {
    match sizes {
        Sizes::List(sizes) => sizes[call % sizes.len()],
        Sizes::Range(first, last) => first + random.next_u64() % (last - first + 1),
    }
}

/// Whether a setting names more than one size.
fn is_several(setting: &str) -> bool {
    setting.split_once('=').is_some_and(|(_, sizes)| sizes.contains("..") || sizes.contains(','))
}

pub(super) fn several(settings: &[String]) -> bool {
    settings.iter().any(|setting| is_several(setting))
}

pub(super) fn run(console: &Console, args: &Args) -> u8 {
    match measured(console, args) {
        Ok(text) => match sys::stdout(&text) {
            Ok(()) => exit::FINE,
            Err(diagnostic) => console.files(&[diagnostic], &Default::default()),
        },
        Err(code) => code,
    }
}

/// The figures as text. The exit code on failure, after reporting it.
fn measured(console: &Console, args: &Args) -> Result<String, u8> {
    let given = &args.program;
    if !given.external.is_empty() {
        return Err(console.usage("`--external` is for functions of known sizes: give one size to `--set`"));
    }
    let (several, fixed): (Vec<String>, Vec<String>) = given.set.iter().cloned().partition(|setting| is_several(setting));
    let mut settings = vec![];
    for setting in &several {
        let wrong = || console.usage(format_args!("`--set {setting}`: expected sizes as `16,64,128` or `16..512`"));
        settings.push(SizeSetting::of(setting).ok_or_else(wrong)?);
    }
    let machine = given.machine(console)?;
    let start = Instant::now();
    let mut program = console.checked(&given.file, Phase::Main, &given.reading.how(&given.entry, &fixed))?;
    let sources = program.sources.clone();
    console.lacking(&program, &given.entry, &given.values.params);
    optimise::bind_weights(&mut program, &given.entry, &given.values.params).map_err(|wrong| console.files(&wrong, &sources))?;
    let slots = run::entry(&program.module, &given.entry).map_err(|wrong| console.files(&[wrong], &sources))?.slots;
    let types = program.module.types.clone();
    let requests = Requests { params: vec![], ..given.requests() };
    let failed = |error: Error| {
        console.diagnostics(error.diagnostics(), &sources);
        exit::of_run(error.diagnostics())
    };
    let options = Options {
        entry: given.entry.clone(),
        level: given.level,
        threads: machine.threads,
        accuracy: machine.accuracy,
        machine: machine.machine,
        ..Options::default()
    };
    let open = Network::checked(program).and_then(|network| network.compile_open(&options)).map_err(failed)?;
    let ready_ms = start.elapsed().as_secs_f64() * 1e3;
    let n_least = settings.iter().map(|setting| n_least(&setting.sizes)).max().unwrap_or(0);
    let mut calls =
        Calls { session: open.session(), settings, slots, types, requests, random: SplitMix64::new(0, "sizes"), n: 0 };
    let (mut figures, start) = (Figures::default(), Instant::now());
    while start.elapsed() < args.seconds || figures.n_calls < n_least {
        let (size, bound) = calls.next().map_err(|wrong| console.files(&wrong, &sources))?;
        let times = measure::call(&mut calls.session, &bound).map_err(failed)?;
        figures.add(size, &times);
    }
    Ok(figures.text(args.json, ready_ms, &open, &calls.session))
}

/// The calls, one after the other.
struct Calls<'a> {
    session: OpenSession,
    settings: Vec<SizeSetting<'a>>,
    slots: Vec<Slot>,
    types: Types,
    requests: Requests,
    random: SplitMix64,
    n: usize,
}

impl Calls<'_> {
    /// The sizes of the next call, as settings, and its arguments.
    fn next(&mut self) -> Result<(String, Vec<Bound>), Vec<relayc_base::diag::Diagnostic>> {
        let Calls { settings, random, n, .. } = self;
        let set: Vec<String> =
            settings.iter().map(|setting| format!("{}={}", setting.what, size_at(&setting.sizes, *n, random))).collect();
        *n += 1;
        let size = set.join(" ");
        let bound = bind::bind(&self.slots, &self.types, &Requests { set, ..self.requests.clone() })?;
        Ok((size, bound))
    }
}

/// The times of all calls, in milliseconds.
#[derive(Default)]
struct Figures {
    n_calls: usize,
    sizes: BTreeMap<String, OfSize>,
    /// Of looking up a size that is known.
    lookups: Vec<f64>,
}

/// The times of a size.
struct OfSize {
    /// Of making its code, which is part of its first call.
    code: f64,
    first: f64,
    later: Vec<f64>,
}

/// Most sizes that have a line of their own.
const MOST_LINES: usize = 16;

impl Figures {
    fn add(&mut self, size: String, times: &CallTimes) {
        let [at, run] = [times.at, times.run].map(|time| time.as_secs_f64() * 1e3);
        self.n_calls += 1;
        match self.sizes.get_mut(&size) {
            Some(known) => {
                known.later.push(at + run);
                self.lookups.push(at);
            }
            None => {
                self.sizes.insert(size, OfSize { code: at, first: at + run, later: vec![] });
            }
        }
    }

    fn text(self, as_json: bool, ready_ms: f64, open: &OpenExecutable, session: &OpenSession) -> String {
        let (n_calls, n_sizes) = (self.n_calls, self.sizes.len());
        let of_all = |of: fn(&OfSize) -> &[f64]| Times::of(self.sizes.values().flat_map(of).copied().collect());
        let code = of_all(|size| std::slice::from_ref(&size.code));
        let (first, later) = (of_all(|size| std::slice::from_ref(&size.first)), of_all(|size| &size.later));
        let lookup = Times::of(self.lookups).at(0.5) * 1e3;
        let (weights, arena) = (open.weight_bytes(), session.bytes());
        if as_json {
            let each = self.sizes.iter().map(|(size, OfSize { code, first, later })| {
                json!({ "size": size, "code_ms": code, "first_ms": first, "later_ms": later })
            });
            let value = json!({
                "schema": "relayc.bench_sizes/1",
                "calls": n_calls,
                "sizes": n_sizes,
                "code_p50_ms": code.at(0.5),
                "first_p50_ms": first.at(0.5),
                "first_max_ms": first.at(1.0),
                "p50_ms": later.at(0.5),
                "p90_ms": later.at(0.9),
                "lookup_p50_us": lookup,
                "weight_bytes": weights,
                "arena_bytes": arena,
                "ready_ms": ready_ms,
                "each": each.collect::<Vec<_>>(),
            });
            return format!("{value}\n");
        }
        // What was called once has no later calls.
        let then = |later: &Times, other: (&str, f64)| match later.at(0.5) {
            p50 if p50.is_nan() => String::new(),
            p50 => format!(", then p50 {}  {} {}", duration(p50), other.0, duration(later.at(other.1))),
        };
        let line = |(size, OfSize { first, later, .. }): (String, OfSize)| {
            format!("{size}: first {}{}\n", duration(first), then(&Times::of(later), ("min", 0.0)))
        };
        let lookup = if lookup.is_nan() { String::new() } else { format!(", lookup p50 {}", duration(lookup / 1e3)) };
        let lines: String = if n_sizes > MOST_LINES { String::new() } else { self.sizes.into_iter().map(line).collect() };
        format!(
            "{lines}{n_calls} calls of {n_sizes} sizes: first p50 {}  max {}{}\n\
             code of a new size p50 {}{lookup}\n\
             weights {:.1} MB packed once, memory of runs {:.1} MB\nready after {ready_ms:.1} ms\n",
            duration(first.at(0.5)),
            duration(first.at(1.0)),
            then(&later, ("p90", 0.9)),
            duration(code.at(0.5)),
            weights as f64 / 1e6,
            arena as f64 / 1e6,
        )
    }
}
