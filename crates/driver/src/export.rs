//! Exports a function to another format.

use super::optimise::{self, PassPlan, Target};
use super::{Program, bind, run};
use relayc_base::diag::Diagnostic;
use relayc_base::{Sources, Span};
use relayc_exchange::graph_json;
use relayc_exchange::onnx::{self, Export, Model};
use relayc_weights::params as params_file;
use std::path::PathBuf;

/// Makes an ONNX model of a function of a checked module. Parameters found in a weight file become constants.
///
/// Errors: E0202 for an unknown function; those of [`bind::weights`]; E0708, E0804 and E0805 for programs that ONNX cannot
/// express.
pub fn to_onnx(program: &Program, entry: &str, params: &[PathBuf]) -> Result<Model, Vec<Diagnostic>> {
    let module = &program.module;
    let Some(global) = module.find_global(entry) else { return Err(vec![run::no_entry(module, entry)]) };
    let slots = run::entry(module, entry).map_err(|error| vec![error])?.slots;
    let weights = bind::weights(&slots, &module.types, params, &program.packed)?;
    let names = |span: Span| bound_name(&program.sources, span);
    let export = Export { module, func: module.globals[global].func, name: entry, weights, names: &names };
    onnx::export(export).map_err(|error| vec![error])
}

/// A graph of TVM's graph executor.
pub struct GraphFile {
    pub json: String,
    /// The bytes of a `.params` file with the constants, which the graph takes as inputs; `None` if it has none.
    pub constants: Option<Vec<u8>>,
    pub n_inputs: usize,
    pub n_calls: usize,
}

/// The bytes of a `.params` file without tensors.
pub fn no_constants() -> Vec<u8> {
    params_file::write(&[])
}

/// Optimises a function of a checked module at a level of `-O`, and makes a graph of its groups. Parameters found in a weight
/// file become constants. The groups are those for a machine with AVX2, whatever the present machine is.
///
/// Errors: E0202 for an unknown function; those of [`bind::weights`]; E0708 for functions that the graph executor cannot run.
pub fn to_graph_json(program: &mut Program, entry: &str, params: &[PathBuf], level: u8) -> Result<GraphFile, Vec<Diagnostic>> {
    optimise::bind_weights(program, entry, params)?;
    let module = &mut program.module;
    let Some(global) = module.find_global(entry) else { return Err(vec![run::no_entry(module, entry)]) };
    let func = module.globals[global].func;
    let one = |diagnostic| vec![diagnostic];
    let how = PassPlan { entry: Some(entry.to_owned()), ..PassPlan::level(level, Target::V3) };
    optimise::optimise(module, &how, &mut ()).map_err(one)?;
    let func = module.find_global(entry).map_or(func, |global| module.globals[global].func);
    let (graph, constants) = graph_json::of_function(module, func).map_err(one)?;
    let n_inputs = graph.inputs().count();
    Ok(GraphFile {
        json: graph_json::write(&graph),
        constants: (!constants.is_empty()).then(|| params_file::write(&constants)),
        n_inputs,
        n_calls: graph.nodes.len() - n_inputs,
    })
}

/// The graph variable bound to the expression at a place: `%3` of `%3 = …`.
fn bound_name(sources: &Sources, span: Span) -> Option<String> {
    let before = sources.slice(Span { start: 0, end: span.start, ..span });
    let before = before.trim_end().strip_suffix('=')?.trim_end();
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let at = before.rfind(|c| !is_part(c))?;
    let name = &before[at..];
    (name.starts_with('%') && name.len() > 1).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_before_the_equals_sign() {
        let name = |text: &str, value: &str| {
            let mut sources = Sources::new();
            let file = sources.add("x", text);
            let at = text.find(value).expect("it is there");
            bound_name(&sources, Span::new(file, at, at + value.len()))
        };
        assert_eq!(name("%3 = f(%x)", "f("), Some("%3".into()));
        assert_eq!(name("  %x.1  =\n  f(%x)", "f("), Some("%x.1".into()));
        assert_eq!(name("let %y: float32 = f(%x)", "f("), None);
        assert_eq!(name("f(axis=1)", "1"), None);
        assert_eq!(name("f(%x)", "f"), None);
        assert_eq!(bound_name(&Sources::new(), Span::NONE), None);
    }
}
