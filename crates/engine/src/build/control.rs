//! Programs with control flow: their subgraphs are compiled one by one, and the flow between them is followed
//! ([`relayc_interp::follow`]).

use super::part::{NoPart, Part};
use super::{Request, TargetCode, refused};
use crate::compile::{Refused, Settings};
use crate::subgraphs::{ENTRY, Partitioned};
use relayc_base::diag::Diagnostic;
use relayc_driver::Program;
use relayc_driver::bind::leaves;
use relayc_driver::run;
use relayc_driver::specialise::to_shapes;
use relayc_exec::aot::image_writer::Port;
use relayc_exec::plan::NotCompiled;
use relayc_interp::follow::{Obstacle, Subgraphs, follow};
use relayc_ir::flow::{Flow, FlowInstr, TensorType};
use relayc_ir::{FuncId, Module};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The code of a program by subgraphs, made of a module of it. Errors: E0603 with the obstacle, and those of each subgraph.
pub(super) fn followed(
    program: &Program,
    module: Module,
    request: &Request,
    settings: &Settings,
) -> Result<TargetCode, Vec<Diagnostic>> {
    let one = |diagnostic| vec![diagnostic];
    let inputs = inputs(program, &request.entry)?;
    let partitioned = Partitioned::of(module, &request.entry, settings).map_err(|refused| match refused {
        Refused::Wrong(diagnostic) => one(*diagnostic),
        Refused::Not(reason) => one(refused::not_compiled(&request.entry, reason)),
    })?;
    let Partitioned { module, lowered, entry, .. } = &partitioned;
    let mut parts = Parts { program, request, settings, partitioned: &partitioned, made: vec![], known: FxHashMap::default() };
    let flow = follow(module, lowered, *entry, &inputs, &mut parts).map_err(|obstacle| match obstacle {
        Obstacle::Expr(expr, words) => one(refused::obstacle(program, module, &request.entry, expr, words)),
        Obstacle::Subgraph(diagnostics) => diagnostics,
    })?;
    Ok(TargetCode { parts: parts.made, flow, constants: partitioned.module.consts, open: vec![] })
}

/// The types of the inputs, whose sizes are known. Errors: E0603 if one holds no tensors.
fn inputs(program: &Program, entry: &str) -> Result<Vec<TensorType>, Vec<Diagnostic>> {
    let not = |reason| vec![refused::not_compiled(entry, reason)];
    let found = run::entry(&program.module, entry).map_err(|error| vec![error])?;
    let mut inputs = vec![];
    for slot in &found.slots {
        let leaves = leaves::leaves(&slot.name, slot.ty, &program.module.types).map_err(|_| not(NotCompiled::NoTensor))?;
        for leaf in leaves {
            let shape = leaf.dims.iter().map(|dim| usize::try_from(dim.value()?).ok()).collect::<Option<_>>();
            let shape = shape.ok_or_else(|| not(NotCompiled::UnknownShape))?;
            inputs.push(TensorType { dtype: leaf.dtype, shape });
        }
    }
    Ok(inputs)
}

/// A subgraph and the types of its arguments.
type Key = (FuncId, Vec<TensorType>);

/// The subgraphs that are compiled.
struct Parts<'a> {
    program: &'a Program,
    request: &'a Request,
    settings: &'a Settings,
    partitioned: &'a Partitioned,
    made: Vec<Part>,
    known: FxHashMap<Key, usize>,
}

impl Subgraphs for Parts<'_> {
    type Error = Vec<Diagnostic>;

    fn contains(&self, func: FuncId) -> bool {
        self.partitioned.subgraphs.contains_key(&func)
    }

    fn find(&mut self, func: FuncId, args: &[TensorType]) -> Result<(usize, Vec<TensorType>), Vec<Diagnostic>> {
        let key = (func, args.to_vec());
        let number = match self.known.get(&key) {
            Some(&number) => number,
            None => {
                let part = self.compile(func, args)?;
                self.made.push(part);
                self.known.insert(key, self.made.len() - 1);
                self.made.len() - 1
            }
        };
        let plan = &self.made[number].plan.plan;
        let result = |id| {
            let buffer = &plan.buffers[id];
            TensorType { dtype: buffer.dtype, shape: buffer.shape.iter().map(|&dim| dim as usize).collect() }
        };
        Ok((number, plan.outputs.iter().map(|&id| result(id)).collect()))
    }
}

impl Parts<'_> {
    fn compile(&self, func: FuncId, args: &[TensorType]) -> Result<Part, Vec<Diagnostic>> {
        let Parts { program, request, settings, partitioned, .. } = self;
        let of = &partitioned.module;
        let not = |reason: NotCompiled| vec![refused::obstacle(program, of, &request.entry, of.funcs[func].body, reason.text())];
        let Some(mut module) = of.extract(func) else { return Err(not(NotCompiled::ControlFlow)) };
        let main = module.globals.iter().next().map_or(func, |global| global.func);
        let shapes: Vec<&[usize]> = args.iter().map(|ty| &*ty.shape).collect();
        if to_shapes(&mut module, main, &shapes).is_err() {
            return Err(not(NotCompiled::UnknownShape));
        }
        Part::of(program, &mut module, ENTRY, request, settings).map_err(|none| match none {
            NoPart::Wrong(diagnostics) => diagnostics,
            NoPart::Not(reason) => not(reason),
        })
    }
}

/// Inputs or outputs with these names and types.
pub(super) fn ports(names: &[String], types: &[TensorType]) -> Vec<Port> {
    let port = |(name, ty): (&String, &TensorType)| {
        let shape = ty.shape.iter().map(|&dim| dim as u64).collect();
        Port { name: name.clone(), dtype: ty.dtype, shape, bytes: ty.bytes(), is_open: false }
    };
    names.iter().zip(types).map(port).collect()
}

/// The lines of the steps that a flow runs, in its order. A copy that has bytes is a step.
pub(super) fn listing(flow: &Flow, parts: &[Part]) -> String {
    let mut out = String::new();
    for instr in &flow.instrs {
        match instr {
            FlowInstr::Run { part, .. } => out.push_str(&parts[*part].listing),
            FlowInstr::Copy { bytes, .. } if *bytes > 0 => {
                let _ = writeln!(out, "copy\tmove\t0\t\t0\t{}\t0\t0", 2 * bytes);
            }
            FlowInstr::Copy { .. } | FlowInstr::Jump(_) | FlowInstr::Unless(..) => {}
        }
    }
    out
}
