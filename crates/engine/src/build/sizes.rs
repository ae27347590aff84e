//! The sizes that an artifact has code for: every combination of `--sizes`.

use crate::size_setting::{SizeSetting, Sizes, require_known};
use relayc_base::diag::{Diagnostic, codes};
use relayc_driver::Program;
use relayc_driver::bind::leaves::{self, Leaf};
use relayc_driver::bind::{Requests, Slot, carry_out, size_setting};
use relayc_driver::run;
use relayc_driver::specialise::to_inputs;
use relayc_ir::types::Dim;

/// Maximum number of sizes of an artifact; each has code of its own.
pub const MAX_SIZES: usize = 64;

/// The settings of each size, such as `batch=4` and `seq=16`; one without settings if there are none.
///
/// Errors: E0707 for a setting that is none, has a size of 0, or comes twice, and for more than [`MAX_SIZES`].
pub(crate) fn combinations(settings: &[String]) -> Result<Vec<Vec<String>>, Diagnostic> {
    let mut all: Vec<Vec<String>> = vec![vec![]];
    let mut known: Vec<&str> = vec![];
    for setting in settings {
        let wrong = |words: &str| wrong(setting, words);
        let SizeSetting { what, sizes } =
            SizeSetting::of(setting).ok_or_else(|| wrong("expected sizes as `batch=1,4,8` or `batch=1..4`"))?;
        if known.contains(&what) {
            return Err(wrong(&format!("the sizes of `{what}` are given twice")));
        }
        known.push(what);
        let too_many = || wrong(&format!("expected at most {MAX_SIZES} sizes together: each has code of its own"));
        let mut sizes = match sizes {
            Sizes::List(sizes) => sizes,
            Sizes::Range(first, last) if last - first >= MAX_SIZES as u64 => return Err(too_many()),
            Sizes::Range(first, last) => (first..=last).collect(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.first() == Some(&0) {
            return Err(wrong("a size of 0 has no elements to compute"));
        }
        if all.len().saturating_mul(sizes.len()) > MAX_SIZES {
            return Err(too_many());
        }
        let with = |before: &Vec<String>, n: u64| before.iter().cloned().chain([format!("{what}={n}")]).collect();
        all = all.iter().flat_map(|before| sizes.iter().map(move |&n| with(before, n))).collect();
    }
    Ok(all)
}

fn wrong(setting: &str, words: &str) -> Diagnostic {
    Diagnostic::new(codes::E0707, format!("cannot carry out `--sizes {setting}`: {words}"))
        .help("`--sizes batch=1,4,8` builds code for three sizes of `batch`")
        .help("`--sizes data.0=1,4,8` does so for axis 0 of the parameter `data`")
}

/// The program at a size. Errors: E0704 for a size without a number, E0706 for an unknown one, E0707 if it has no types with them, and
/// those of [`to_inputs`].
pub(crate) fn at(program: &Program, entry: &str, settings: &[String]) -> Result<Program, Vec<Diagnostic>> {
    let names = program.module.size_names();
    let mut known: Vec<&str> = names.values().copied().collect();
    known.sort_unstable();
    require_known("--sizes", settings, &known).map_err(|error| vec![error])?;
    require_open(program, entry, settings).map_err(|error| vec![error])?;
    let mut sized = program.clone();
    let with_note = |error: Diagnostic| {
        let is_size = error.code == codes::E0704;
        if is_size { error.note("an artifact has code for shapes that are known: `--sizes` names several") } else { error }
    };
    to_inputs(&mut sized, entry, &Requests { set: settings.to_vec(), ..Requests::default() })
        .map_err(|errors| errors.into_iter().map(with_note).collect::<Vec<_>>())?;
    if is_open(&sized, entry)? {
        let settings = settings.join(" ");
        return Err(vec![
            Diagnostic::new(codes::E0707, format!("the program has no types with `{settings}`"))
                .help("`relayc check --set` says where its shapes disagree"),
        ]);
    }
    Ok(sized)
}

/// Requires that each setting is about a dimension of an input that has no other number. Errors: E0706 for an unknown input, E0707.
fn require_open(program: &Program, entry: &str, settings: &[String]) -> Result<(), Diagnostic> {
    let slots = run::entry(&program.module, entry)?.slots;
    let (types, names) = (&program.module.types, program.module.size_names());
    let of_slot = |slot: &Slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default();
    let mut leaves: Vec<Leaf> = slots.iter().flat_map(of_slot).collect();
    let is_named =
        |dim: &Dim, name: &str| types.symbols.vars_of(*dim).iter().any(|id| names.get(id).is_some_and(|of| *of == name));
    for setting in settings {
        match size_setting(setting) {
            None => carry_out(&mut leaves, "--sizes", setting).map(drop)?,
            Some((name, _)) if leaves.iter().flat_map(|leaf| &leaf.dims).any(|dim| is_named(dim, name)) => {}
            Some((name, _)) => {
                return Err(wrong(setting, &format!("no input has a dimension of the size `{name}` without a number")));
            }
        }
    }
    Ok(())
}

/// Whether an input has a dimension without a number.
fn is_open(program: &Program, entry: &str) -> Result<bool, Vec<Diagnostic>> {
    let entry = run::entry(&program.module, entry).map_err(|error| vec![error])?;
    let leaves = entry.slots.iter().filter_map(|slot| leaves::leaves(&slot.name, slot.ty, &program.module.types).ok());
    Ok(leaves.flatten().any(|leaf| leaf.dims.iter().any(|dim| dim.value().is_none())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &[&str]) -> Result<Vec<String>, String> {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        let all = combinations(&settings).map_err(|error| error.message)?;
        Ok(all.into_iter().map(|size| size.join(" ")).collect())
    }

    #[test]
    fn every_combination_is_a_size() {
        assert_eq!(of(&[]), Ok(vec![String::new()]));
        let expected = ["b=1 n=3", "b=1 n=4", "b=4 n=3", "b=4 n=4"].map(str::to_owned).to_vec();
        assert_eq!(of(&["b=4,1,4", "n=3..4"]), Ok(expected));
        assert_eq!(of(&["b=1..64"]).map(|all| all.len()), Ok(64));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for wrong in [
            "b",
            "b=",
            "b=1,",
            "b=-1",
            "b=0,1",
            "b=2..1",
            "b=x",
            "b=1..65",
            "b=1..18446744073709551615",
            "b=99999999999999999999",
        ] {
            assert!(of(&[wrong]).is_err(), "{wrong}");
        }
        assert!(of(&["b=1", "b=2"]).is_err());
        assert!(of(&["b=1..8", "n=1..9"]).is_err());
    }
}
