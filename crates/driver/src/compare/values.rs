//! Compares what two programs compute, or two forms of one program, on the same inputs.
//!
//! Two answers agree if both are failures of one code, or values that agree: integers exactly, floats within a tolerance, values of data
//! types by the names of their constructors. Functions and references are not compared.

use super::Differences;
pub use super::allowed::Allowed;
use super::allowed::difference;
use super::lines::Lines;
use super::origin;
use super::programs::Side;
use crate::bind::leaves::{self, Leaf};
use crate::bind::{self, Bound, Requests, Slot};
use crate::run::{self, Entry};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::count;
use relayc_interp::{Limits, Value};
use relayc_ir::Module;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::Types;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// What a program computed, or how it failed.
pub(crate) type Answer = Result<Value, Box<Diagnostic>>;

/// Checks that two answers, each of a program, agree; `names` are those of the results. `Err` says how they differ.
pub(crate) fn agree(names: &[String], a: (&Module, &Answer), b: (&Module, &Answer), allowed: Allowed) -> Result<(), String> {
    match (a.1, b.1) {
        (Ok(from), Ok(to)) => values(names, (a.0, from), (b.0, to), allowed),
        (Err(from), Err(to)) if from.code == to.code => Ok(()),
        (Err(from), Err(to)) => Err(format!("it failed with {}, now with {}", from.message, to.message)),
        // Which operator notices a value that its type did not allow is not said by the language.
        (Err(from), Ok(_)) if from.code == codes::E0308 => Ok(()),
        (Ok(_), Err(to)) => Err(format!("now it fails: {}", to.message)),
        (Err(from), Ok(_)) => Err(format!("now it does not fail: {}", from.message)),
    }
}

/// Compares two values, in the order of their fields. How tuples nest does not count: some formats have only one level.
fn values(names: &[String], a: (&Module, &Value), b: (&Module, &Value), allowed: Allowed) -> Result<(), String> {
    let mut left = vec![("out".to_owned(), a.1, b.1)];
    let mut said = Some(names);
    while let Some((name, from, to)) = left.pop() {
        let (mut from, to) = (flat(&name, from), flat(&name, to));
        if let Some(names) = said.take().filter(|names| names.len() == from.len()) {
            from.iter_mut().zip(names).for_each(|(named, name)| named.0.clone_from(name));
        }
        if from.len() != to.len() {
            return Err(format!("`{name}` had {}, now {}", count(from.len(), "field"), to.len()));
        }
        for ((name, from), (_, to)) in from.into_iter().zip(to) {
            match (from, to) {
                (Value::Tensor(from), Value::Tensor(to)) => {
                    difference(from, to, allowed).map_err(|how| format!("`{name}`: {how}"))?;
                }
                (Value::Adt(this, from), Value::Adt(that, to)) => {
                    let names = [&a.0.ctors[*this].name, &b.0.ctors[*that].name];
                    if names[0] != names[1] || from.len() != to.len() {
                        return Err(format!("`{name}`: it was `{}`, now `{}`", names[0], names[1]));
                    }
                    let pairs = from.iter().zip(to.iter()).enumerate();
                    left.extend(pairs.map(|(at, (from, to))| (format!("{name}.{at}"), from, to)));
                }
                (Value::Closure(_), Value::Closure(_)) | (Value::Cell(_), Value::Cell(_)) => {}
                _ => return Err(format!("`{name}` is a value of another type")),
            }
        }
    }
    Ok(())
}

/// Checks that a value agrees with the expected one. `Err` says how they differ.
pub fn same(expected: &Bound, found: &Bound, allowed: Allowed) -> Result<(), String> {
    let (expected, found) = (leaves::flatten("out", expected), leaves::flatten("out", found));
    if expected.len() != found.len() {
        return Err(format!("`out` has {}, now {}", count(expected.len(), "field"), found.len()));
    }
    let mut pairs = expected.iter().zip(&found);
    pairs.try_for_each(|((name, expected), (_, found))| {
        difference(expected, found, allowed).map_err(|how| format!("`{name}`: {how}"))
    })
}

/// The values in nested tuples, in order, each with its name.
fn flat<'v>(name: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    let (mut out, mut left) = (vec![], vec![(name.to_owned(), value)]);
    while let Some((name, value)) = left.pop() {
        match value {
            Value::Tuple(fields) => {
                left.extend(fields.iter().enumerate().rev().map(|(at, field)| (format!("{name}.{at}"), field)));
            }
            _ => out.push((name, value)),
        }
    }
    out
}

/// The runs of a comparison.
pub struct Runs<'a> {
    pub entry: &'a str,
    /// How many; their seeds count from 1.
    pub n: u64,
    /// The weights, the given inputs, and the sizes that are set; everything else is random.
    pub requests: &'a Requests,
    pub allowed: Allowed,
    /// Whether runs in which the first program fails count.
    pub failures: bool,
    pub limits: &'a Limits,
}

/// Compares what an entry of two programs computes on given or random inputs. Stops at the first difference, which names the seed and
/// the calls where the values part.
///
/// A tensor of the second program's parameters is that of the first with its name, or its weight, of which a program's own comes first;
/// those left on both sides are paired in order. Errors: E0704 for one without a partner, E0706 for an unknown entry, and those of
/// [`bind::bind`]; where failures do not count, that of the first program if every run of it fails.
pub fn runs(a: Side, b: Side, how: &Runs) -> Result<Differences, Vec<Diagnostic>> {
    let one = |error| vec![error];
    let entries =
        [run::entry(&a.program.module, how.entry).map_err(one)?, run::entry(&b.program.module, how.entry).map_err(one)?];
    let (mut failed, mut failure, mut n_compared) = (0, None, how.n);
    for seed in 1..=how.n {
        let (inputs, weights) =
            bind::bind_seeded(&entries[0].slots, &a.program.module.types, &with_packed(how.requests, a), seed)?;
        let again = again(&entries[0].slots, &a.program.module.types, &inputs, how.requests, seed);
        let differs = |why: &str, origin: Lines| {
            let text = format!("@{}: {why}\n    from {} to {}, with `{again}`", how.entry, a.name, b.name);
            Ok(Differences::new(false, origin, text))
        };
        let given = given(&entries, (&inputs, &weights), &with_packed(how.requests, b), b)?;
        if let Err(wrong) = bind::fit(&entries[1].slots, &b.program.module.types, &given) {
            return differs(&wrong.message, Lines::default());
        }
        let args = [inputs, given];
        let answers = [0, 1].map(|at| answer([a, b][at], &entries[at], args[at].clone(), how.limits));
        failed += u64::from(answers.iter().all(Result::is_err));
        if let (false, Err(error)) = (how.failures, &answers[0]) {
            failure.get_or_insert_with(|| error.clone());
            n_compared -= 1;
            continue;
        }
        let names = &entries[0].results;
        if let Err(why) = agree(names, (&a.program.module, &answers[0]), (&b.program.module, &answers[1]), how.allowed) {
            return differs(&why, origin::origin([a, b], &entries, args, (how.allowed, how.limits)));
        }
    }
    if let (0, Some(failure)) = (n_compared, failure) {
        return Err(vec![*failure]);
    }
    let failed = if failed > 0 { format!("; {failed} fail on both sides") } else { String::new() };
    let text = format!("{}, no difference{failed}", count(how.n as usize, "run"));
    Ok(Differences::new(true, Lines::default(), text))
}

/// The options of `relayc run` that make inputs of a seed again, with their sizes.
fn again(slots: &[Slot], types: &Types, inputs: &[Bound], requests: &Requests, seed: u64) -> String {
    let file = requests.inputs_file.iter().map(|file| format!("--inputs {} ", file.display()));
    let mut text: String = file.chain(requests.inputs.iter().map(|input| format!("-i {input} "))).collect();
    let _ = write!(text, "--fill {}", bind::filling_of(seed));
    let leaves = slots.iter().flat_map(|slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default());
    for (leaf, tensor) in leaves.zip(bind::tensors_in(inputs)) {
        for (axis, (_, n)) in leaf.dims.iter().zip(tensor.shape()).enumerate().filter(|(_, (dim, _))| dim.value().is_none()) {
            let _ = write!(text, " --set {}.{axis}={n}", leaf.name);
        }
    }
    text
}

fn answer(of: Side, entry: &Entry, args: Vec<Bound>, limits: &Limits) -> Answer {
    run::answer(&of.program.module, entry, args, limits.clone()).map_err(Box::new)
}

fn with_packed(requests: &Requests, side: Side) -> Requests {
    Requests { packed: side.program.packed.clone(), ..requests.clone() }
}

/// The second program's arguments, from those of the first and the names of its weights.
fn given(
    entries: &[Entry; 2],
    (inputs, weights): (&[Bound], &FxHashSet<String>),
    requests: &Requests,
    b: Side,
) -> Result<Vec<Bound>, Vec<Diagnostic>> {
    let [from, to] = entries;
    let types = &b.program.module.types;
    let own = bind::weights(&to.slots, types, &requests.params, &requests.packed)?;
    let of_slot = |slot: &Slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default();
    let names: FxHashSet<String> = to.slots.iter().flat_map(of_slot).map(|leaf| leaf.name).collect();
    let given = from.slots.iter().zip(inputs).flat_map(|(slot, value)| leaves::flatten(&slot.name, value));
    let (known, left): (Vec<_>, Vec<_>) = given.partition(|(name, _)| names.contains(name));
    let known: FxHashMap<String, Tensor> = known.into_iter().collect();
    let mut left = left.into_iter().filter(|(name, _)| !weights.contains(name)).map(|(_, tensor)| tensor);
    let argument = |slot: &Slot| {
        let tensor = |leaf: Leaf| {
            // A weight of both is each one's own.
            let mine = own.get(&leaf.name).filter(|_| weights.contains(&leaf.name));
            mine.or_else(|| known.get(&leaf.name)).or_else(|| own.get(&leaf.name)).cloned().or_else(|| left.next())
        };
        let tensors: Option<Vec<Tensor>> = of_slot(slot).into_iter().map(tensor).collect();
        match tensors {
            Some(tensors) => Ok(leaves::assemble(slot.ty, types, &mut tensors.into_iter())),
            // It says what is missing.
            None => Ok(bind::bind(std::slice::from_ref(slot), types, requests)?.swap_remove(0)),
        }
    };
    to.slots.iter().map(argument).collect()
}
