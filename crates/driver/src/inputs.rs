//! Which parameters of an entry become inputs of an artifact or a model: those without weights, if that is meant.
//!
//! A weight without a value would become an input without a word. So where an operator takes a parameter as its weight and nothing
//! gives it a value, the inputs have to be named: on the command line, or by the program, as an imported one does.

use super::bind::errors::unknown_name;
use super::input_names::{names, weights};
use super::{Program, bind, left_open, optimise, tensors};
use relayc_base::diag::{Diagnostic, Severity, codes};
use relayc_base::text::count;
use relayc_ir::VarId;
use rustc_hash::FxHashSet;
use std::path::PathBuf;

/// The parameters that may become inputs.
#[derive(Clone, Debug)]
pub enum Inputs {
    /// Those that no operator takes as its weight.
    Plain,
    /// These.
    Only(Vec<String>),
    /// All without values.
    All,
}

/// Checks that no weight of an entry becomes an input. `files` are its weights. Returns a warning about parameters that an archive
/// should have given values. Errors: E0704 with all parameters, E0706 for a name that is none, E0727 as [`left_open`].
pub fn check(program: &Program, entry: &str, files: &[PathBuf], inputs: &Inputs) -> Result<Option<Diagnostic>, Vec<Diagnostic>> {
    let module = &program.module;
    // What runs next reports that there is none.
    let Some(global) = module.find_global(entry) else { return Ok(None) };
    let params = &module.funcs[module.globals[global].func].params;
    let name = |var: &VarId| &*module.vars[*var].name;
    let given = optimise::weight_names(program, files);
    let open: Vec<VarId> = params.iter().copied().filter(|var| !given.contains(name(var))).collect();
    let lacking = left_open(program, entry, files);
    // The reader of a file reports its errors.
    if files.iter().any(|file| tensors::open(file).is_err()) {
        return Ok(lacking);
    }
    let refused = match inputs {
        Inputs::All => vec![],
        Inputs::Only(names) => {
            let of_params: FxHashSet<&str> = params.iter().map(name).collect();
            let own = |wanted| bind::own_name(&program.packed.model_names, bare(wanted)).unwrap_or(bare(wanted));
            let unknown = names.iter().filter(|wanted| !of_params.contains(own(wanted)));
            let unknown = unknown.map(|wanted| unknown_name(wanted, "`--inputs-only`", params.iter().map(name)));
            let unknown: Vec<Diagnostic> = unknown.collect();
            if !unknown.is_empty() {
                return Err(unknown);
            }
            let wanted: FxHashSet<&str> = names.iter().map(|wanted| own(wanted)).collect();
            open.iter().copied().filter(|var| !wanted.contains(name(var))).collect()
        }
        Inputs::Plain if lacking.is_some() && program.packed.doubt.is_some() => {
            let error = lacking.map(|warning| Diagnostic { severity: Severity::Error, ..warning });
            return Err(error.map(|error| error.help(AS_INPUTS)).into_iter().collect());
        }
        Inputs::Plain if program.packed.is_complete() || params.len() == 1 => vec![],
        Inputs::Plain => {
            let weights = weights(module, params);
            let said = names(&module.funcs[module.globals[global].func]);
            let is_weight = |var: &VarId| weights.contains_key(var) && !said.contains(&name(var));
            open.iter().copied().filter(is_weight).collect()
        }
    };
    if refused.is_empty() {
        Ok(lacking)
    } else {
        Err(vec![missing(program, (entry, inputs), params, &open, &refused).help(AS_INPUTS)])
    }
}

/// A name as the module has it.
fn bare(wanted: &str) -> &str {
    wanted.trim_start_matches('%')
}

const AS_INPUTS: &str = "`--weights-as-inputs` makes inputs of all parameters without values";

/// E0704 for weights without values, with all parameters.
fn missing(
    program: &Program,
    (entry, inputs): (&str, &Inputs),
    params: &[VarId],
    open: &[VarId],
    refused: &[VarId],
) -> Diagnostic {
    let module = &program.module;
    let weights = weights(module, params);
    let [is_open, is_refused] = [open, refused].map(|vars| vars.iter().copied().collect::<FxHashSet<VarId>>());
    let what =
        if refused.len() == 1 { "has no value and would become an input" } else { "have no values and would become inputs" };
    let noun = if refused.iter().all(|var| weights.contains_key(var)) { "weight" } else { "parameter" };
    let n = count(refused.len(), noun);
    let mut error = Diagnostic::new(codes::E0704, format!("{n} of `@{entry}` {what}"));
    for var in params {
        let (name, ty) = (&module.vars[*var].name, module.vars[*var].checked_ty.or(module.vars[*var].ty));
        let ty = ty.map_or("?".to_owned(), |ty| module.types.text(ty));
        let role = match weights.get(var) {
            _ if !is_open.contains(var) => ", given".to_owned(),
            Some((arg, op)) => format!(", the `{arg}` of `{op}`"),
            None => String::new(),
        };
        error = error.note(format!("`{name}`: {ty}{role}"));
    }
    let plain: Vec<String> =
        open.iter().filter(|var| !is_refused.contains(var)).map(|&var| module.vars[var].name.to_string()).collect();
    error = error.help("give them values: `--params FILE`");
    if matches!(inputs, Inputs::Plain) && !plain.is_empty() {
        error =
            error.help(format!("`--inputs-only {}` makes an error of every other parameter without a value", plain.join(",")));
    }
    error
}
