//! Exports a function to another format.

use super::bind::{Packed, Requests};
use super::compare::programs::Side;
use super::compare::values::{self, Allowed, Runs};
use super::emit::bound_name;
use super::optimise::{self, PassPlan, Target};
use super::run::Limits;
use super::{Phase, Program, bind, check_text, emit, import, run};
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_exchange::graph_json::{self, Graph};
use relayc_exchange::onnx::{self, Export, Model};
use relayc_weights::params as params_file;
use relayc_weights::{Named, TensorFile};
use std::path::PathBuf;

/// Makes an ONNX model of a function of a checked module. Parameters found in a weight file become constants.
///
/// Errors: E0706 for an unknown function; those of [`bind::weights`]; E0708, E0804 and E0805 for programs that ONNX cannot
/// express.
pub fn to_onnx(program: &Program, entry: &str, params: &[PathBuf]) -> Result<Model, Vec<Diagnostic>> {
    let module = &program.module;
    let Some(global) = module.find_global(entry) else { return Err(vec![run::no_entry(module, entry)]) };
    let found = run::entry(module, entry).map_err(|error| vec![error])?;
    let weights = bind::weights(&found.slots, &module.types, params, &program.packed)?;
    let names = |span: Span| bound_name(&program.sources, span).map(str::to_owned);
    let origins = |span: Span| emit::imported_from(&program.sources, span).map(str::to_owned);
    let (func, results) = (module.globals[global].func, &found.results);
    let export = Export { module, func, name: entry, weights, results, names: &names, origins: &origins };
    onnx::export(export).map_err(|error| vec![error])
}

/// Runs that [`verify`] compares.
const VERIFYING_RUNS: u64 = 3;
/// Calls in one of them, of which each turn of a loop is one.
const VERIFYING_CALLS: u64 = 100_000;

/// Imports a model made by [`to_onnx`], and compares what it computes with what the program computes, on random inputs.
///
/// Errors: E0901 if they differ, or if the model cannot be imported; those of [`bind::weights`] and of [`bind::bind`]; that of the
/// program if it fails on all of the inputs.
pub fn verify(program: &Program, entry: &str, params: &[PathBuf], model: &Model) -> Result<(), Vec<Diagnostic>> {
    let back = imported(model).map_err(|why| vec![not_the_same(&format!("it is not read back: {why}"))])?;
    // Its only function is named for an entry.
    let mut original = program.clone();
    if let Some(global) = original.module.find_global(entry) {
        original.module.globals[global].name = "main".into();
    }
    let requests = Requests { params: params.to_vec(), ..Requests::default() };
    // A random number may be the length of a loop.
    let limits = Limits { max_calls: VERIFYING_CALLS, ..Limits::default() };
    let how = Runs {
        entry: "main",
        n: VERIFYING_RUNS,
        requests: &requests,
        allowed: Allowed::OfScale,
        failures: false,
        limits: &limits,
    };
    let sides = [Side { name: "the program", program: &original }, Side { name: "the model", program: &back }];
    let found = values::runs(sides[0], sides[1], &how)?;
    if found.same { Ok(()) } else { Err(vec![not_the_same(found.text().trim_end())]) }
}

/// The program of a model. Errors: the first message of the import.
fn imported(model: &Model) -> Result<Program, String> {
    const WEIGHTS: &str = "model.params";
    let request = import::Request { params: Some(WEIGHTS.into()), ..import::Request::default() };
    let made = import::onnx_bytes(model.bytes.clone(), &request);
    let wrong = made.diagnostics.iter().find(|said| said.is_error()).map(|said| said.message.clone());
    let made = made.imported.ok_or_else(|| wrong.unwrap_or_default())?;
    let mut program = check_text("model", &made.text, Phase::Main);
    if let Some(error) = program.diagnostics.iter().find(|said| said.is_error()) {
        return Err(error.message.clone());
    }
    let bytes = made.weights.unwrap_or_else(no_constants);
    let weights = TensorFile::open(WEIGHTS, bytes.as_slice()).and_then(|file| file.read_all()).map_err(|error| error.message)?;
    program.packed = Packed { from: WEIGHTS.to_owned(), weights, ..Packed::default() };
    Ok(program)
}

fn not_the_same(why: &str) -> Diagnostic {
    Diagnostic::new(codes::E0901, format!("the model does not compute what the program computes: {why}"))
        .note("this is a bug in relayc, not in your program; nothing was written")
}

/// A graph of TVM's graph executor.
pub struct GraphFile {
    pub json: String,
    /// The constants, which the graph takes as inputs, by their names.
    pub constants: Named,
    pub n_inputs: usize,
    pub n_calls: usize,
}

impl GraphFile {
    /// The bytes of a `.params` file with the constants; `None` if there are none.
    pub fn params(&self) -> Option<Vec<u8>> {
        (!self.constants.is_empty()).then(|| params_file::write(&self.constants))
    }
}

/// The bytes of a `.params` file without tensors.
pub fn no_constants() -> Vec<u8> {
    params_file::write(&[])
}

/// Optimises a function of a checked module at a level of `-O`, and makes a graph of its groups. Parameters found in a weight
/// file become constants. The groups are those for a machine with AVX2, whatever the present machine is.
///
/// Errors: E0706 for an unknown function; those of [`bind::weights`]; E0708 for functions that the graph executor cannot run.
pub fn to_graph_json(program: &mut Program, entry: &str, params: &[PathBuf], level: u8) -> Result<GraphFile, Vec<Diagnostic>> {
    let (graph, constants) = grouped(program, entry, params, level)?;
    let n_inputs = graph.inputs().count();
    Ok(GraphFile { json: graph_json::write(&graph), n_calls: graph.nodes.len() - n_inputs, n_inputs, constants })
}

/// As [`to_graph_json`]: the graph, and its constants by the names of its inputs. The program becomes the one in groups, and shares
/// the constants with them.
pub fn grouped(program: &mut Program, entry: &str, params: &[PathBuf], level: u8) -> Result<(Graph, Named), Vec<Diagnostic>> {
    optimise::bind_weights(program, entry, params)?;
    let module = &mut program.module;
    let one = |diagnostic| vec![diagnostic];
    let how = PassPlan { entry: Some(entry.to_owned()), ..PassPlan::level(level, Target::V3) };
    optimise::optimise(module, &how, &mut ()).map_err(one)?;
    let Some(global) = module.find_global(entry) else { return Err(vec![run::no_entry(module, entry)]) };
    graph_json::of_function(module, module.globals[global].func).map_err(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_computes_something_else_is_refused() {
        let program = |body: &str| check_text("x", &format!("def @main(%x: Tensor[(?, 3), float32]) {{ {body} }}"), Phase::Main);
        let model = |program: &Program| to_onnx(program, "main", &[]).expect("ONNX can say it");
        let (one, other) = (program("nn.relu(%x)"), program("tanh(%x)"));
        assert_eq!(verify(&one, "main", &[], &model(&one)), Ok(()));
        let refused = verify(&one, "main", &[], &model(&other)).expect_err("they differ").remove(0);
        assert_eq!(refused.code, codes::E0901);
        assert!(refused.message.contains("`out`: "), "{}", refused.message);
    }
}
