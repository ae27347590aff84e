//! Writes a compiled program as an artifact, with all its weights packed.

use crate::build::{ports_of, without_kernels};
use crate::compile::{Compiled, Eval};
use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::level_of;
use relayc_driver::bind::leaves;
use relayc_driver::run::Entry;
use relayc_exchange::artifact;
use relayc_exec::aot::TEMPLATE;
use relayc_exec::aot::image_writer::{ImageFacts, ImageWriter, Part, Size, SizeCode};
use relayc_ir::flow::Flow;
use relayc_ir::types::Types;
use relayc_runtime::layout::MARKER;
use rustc_hash::FxHashSet;

/// The names of a program's inputs and outputs.
pub struct Ports {
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// The ports of an entry whose weights are constants; `weights` are the names in the files of weights.
///
/// Errors: in words, if its code depends on its inputs, or if an input replaces a weight.
pub fn ports(entry: &Entry, types: &Types, weights: &FxHashSet<String>) -> Result<Ports, &'static str> {
    let leaves = entry.slots.iter().map(|slot| leaves::leaves(&slot.name, slot.ty, types));
    let leaves = leaves.collect::<Result<Vec<_>, _>>().map_err(|_| "an input is no tensor")?.concat();
    if leaves.iter().any(|leaf| leaf.dims.iter().any(|dim| dim.value().is_none())) {
        return Err("the size of an input is open");
    }
    if leaves.iter().any(|leaf| weights.contains(&leaf.name)) {
        return Err("a weight of its files is an input");
    }
    Ok(Ports { inputs: leaves.into_iter().map(|leaf| leaf.name).collect(), outputs: entry.results.clone() })
}

/// The bytes of an artifact whose source is a key. Errors: in words, if there is none of the program.
pub(super) fn of(compiled: &Compiled, isa: Isa, ports: &Ports, key: &str) -> Result<Vec<u8>, &'static str> {
    let program = &compiled.program;
    if !without_kernels(&program.plan).is_empty() {
        return Err("an operator has no kernel");
    }
    let (inputs, outputs) = (ports_of(&ports.inputs, &program.plan, true), ports_of(&ports.outputs, &program.plan, false));
    let mut writer = ImageWriter::packed();
    let fallback = Eval { module: compiled.module(), limits: compiled.limits() };
    let flow = Flow::straight(inputs.len(), outputs.len());
    let parts = [Part { program, fallback: &fallback }];
    writer.program(level_of(isa).into(), &SizeCode { parts: &parts, flow: &flow, constant: &|_| vec![], listing: "" });
    let sizes = [Size { name: String::new(), inputs, outputs }];
    let facts = ImageFacts { entry: "main", source: key, graph: "", sizes: &sizes };
    let image = writer.finish(&facts);
    artifact::write(TEMPLATE, MARKER, &image.bytes, image.code.len() as u64).map_err(|_| "the artifact is not sound")
}
