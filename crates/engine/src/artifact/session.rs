//! Runs of an artifact one after the other, on the caller's buffers.

use super::{OpenSizes, Ready, failed, impossible};
use crate::compile::Isa;
use relayc_base::diag::{Diagnostic, codes};
use relayc_exec::aot::describe::{Port, Size};
use relayc_exec::aot::mapped::MappedSession;
use relayc_ir::types::DType;
use std::sync::Arc;

/// An input or output of an artifact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArtifactPort {
    pub name: String,
    pub dtype: DType,
    /// The extent of each axis: a number, the name of a size, or `?` for one that a run decides.
    pub dims: Vec<String>,
}

/// The memory and threads of runs of an artifact.
pub struct ArtifactSession {
    ready: Arc<Ready>,
    session: MappedSession,
}

/// An output of the last run.
pub struct ArtifactOutput<'a> {
    name: &'a str,
    pub shape: &'a [u64],
    bytes: &'a [u8],
}

impl ArtifactOutput<'_> {
    /// Copies the elements to where they are asked for. Errors: E0714 if these are not as many bytes.
    pub fn copy_to(&self, room: &mut [u8]) -> Result<(), Diagnostic> {
        if room.len() != self.bytes.len() {
            return Err(impossible(self.name));
        }
        room.copy_from_slice(self.bytes);
        Ok(())
    }
}

impl Ready {
    /// The function that the artifact computes.
    pub fn entry(&self) -> &str {
        &self.description.entry
    }

    /// The inputs of a run, in order.
    pub fn inputs(&self) -> Vec<ArtifactPort> {
        self.ports(|size| &size.inputs)
    }

    /// The outputs of a run, in order.
    pub fn outputs(&self) -> Vec<ArtifactPort> {
        self.ports(|size| &size.outputs)
    }

    fn ports(&self, of: fn(&Size) -> &Vec<Port>) -> Vec<ArtifactPort> {
        let sizes = &self.description.sizes;
        let open = OpenSizes::of(sizes);
        let port = |(at, port): (usize, &Port)| {
            let dims = open.dims(|size| &of(size)[at]);
            let dims = dims.iter().map(|dim| if port.is_open { "?".to_owned() } else { dim.to_string() }).collect();
            Some(ArtifactPort { name: port.name.clone(), dtype: DType::parse(&port.dtype)?, dims })
        };
        of(&sizes[0]).iter().enumerate().filter_map(port).collect()
    }

    /// The program that the artifact was built from.
    pub fn source(&self) -> &str {
        &self.description.source
    }

    /// The graph of TVM's graph executor as JSON; empty if that executor cannot run the program.
    pub fn graph(&self) -> &str {
        &self.description.graph
    }

    /// Allocates memory and threads for runs, on all threads for 0. Errors: E0602 if no code of it runs here, E0803 without memory.
    pub fn start(self: &Arc<Ready>, threads: usize, isa: Option<Isa>) -> Result<ArtifactSession, Diagnostic> {
        Ok(ArtifactSession { session: self.instance(threads, isa)?, ready: self.clone() })
    }
}

impl ArtifactSession {
    pub fn n_threads(&self) -> usize {
        self.session.n_threads()
    }

    /// Runs once, with the bytes of the inputs and their shapes; `go_on` is asked before each step. `Ok(false)` if it said no.
    ///
    /// Errors: E0719 if there is no code for the shapes, E0705 for other numbers of bytes, and the traps of operators.
    pub fn run(&mut self, inputs: &[&[u8]], shapes: &[&[usize]], mut go_on: impl FnMut() -> bool) -> Result<bool, Diagnostic> {
        self.session.set_size(self.ready.size_of(shapes)?);
        for (at, bytes) in inputs.iter().enumerate() {
            let room = self.session.input(at);
            if room.len() != bytes.len() {
                let message = format!("input {at}: expected {} bytes, found {}", room.len(), bytes.len());
                return Err(Diagnostic::new(codes::E0705, message));
            }
            room.copy_from_slice(bytes);
        }
        self.session.run(|_| go_on()).map_err(|failure| failed(&failure))
    }

    /// The outputs of the last run, in order.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = ArtifactOutput<'_>> {
        let ports = &self.ready.description.sizes[self.session.size()].outputs;
        ports.iter().enumerate().map(|(at, port)| ArtifactOutput {
            name: &port.name,
            shape: self.session.output_shape(at),
            bytes: self.session.output(at),
        })
    }
}
