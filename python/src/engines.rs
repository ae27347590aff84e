//! What runs behind an executable: machine code for known sizes, for open sizes, by subgraphs, or of an artifact.
//!
//! Each takes the arrays of the inputs and gives those of the outputs: new ones, or the caller's. The interpreter lock is free while
//! they run. Any number of threads may call one; each call takes a session that no other uses.

use crate::arrays::{self, Array, Port, bytes, bytes_mut, require_apart};
use crate::error::said;
use crate::signals::{Idle, begin, ended, interrupted, with_threads};
use crate::signature::Signature;
use crate::subgraphs::BySubgraphs;
use pyo3::prelude::*;
use relayc_base::diag::{Diagnostic, codes};
use relayc_driver::bind::{Bound as Values, tensors_in};
use relayc_engine::artifact::{ArtifactSession, Ready};
use relayc_engine::compile::Isa;
use relayc_engine::library::{self, Error, Session};
use relayc_engine::measure::{Times, timed};
use relayc_engine::open::{OpenExecutable, OpenSession};
use relayc_ir::tensor::Tensor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The code of an executable, with its sessions.
pub(crate) enum Engine {
    Whole {
        executable: library::Executable,
        /// Runs are machine code alone, which has threads of its own.
        is_code: bool,
        idle: Idle<Session>,
    },
    /// Where a size is refused, since its data decide the sizes of outputs, all run by subgraphs.
    Open {
        executable: OpenExecutable,
        idle: Idle<OpenSession>,
        refused: AtomicBool,
        partial: Box<BySubgraphs>,
    },
    /// Compiled by subgraphs while it runs: the sizes of its outputs are known after a run only.
    Partial(Box<BySubgraphs>),
    Artifact {
        ready: Arc<Ready>,
        threads: usize,
        isa: Option<Isa>,
        idle: Idle<ArtifactSession>,
    },
}

/// A call: its arguments, and the arrays for its outputs if the caller gives them.
pub(crate) struct Call<'a, 'py> {
    pub(crate) signature: &'a Signature,
    pub(crate) inputs: &'a [Array<'py>],
    pub(crate) outputs: Option<Vec<Bound<'py, PyAny>>>,
}

impl<'py> Call<'_, 'py> {
    fn bytes(&self) -> Vec<&[u8]> {
        self.inputs.iter().map(bytes).collect()
    }

    fn shapes(&self) -> Vec<&[usize]> {
        self.inputs.iter().map(|array| arrays::shape(array)).collect()
    }

    /// The arrays for outputs of these shapes. Errors: those of [`Port::output`] and [`require_apart`].
    fn room<'s>(&self, py: Python<'py>, shapes: impl Iterator<Item = &'s [usize]>) -> PyResult<Vec<Array<'py>>> {
        let ports = self.signature.outputs.iter().zip(shapes);
        let Some(given) = &self.outputs else {
            return ports.map(|(port, shape)| port.allocate(py, shape)).collect();
        };
        let room =
            ports.zip(given).map(|((port, shape), value)| port.output(value, Some(shape))).collect::<PyResult<Vec<_>>>()?;
        require_apart(self.inputs, &room)?;
        Ok(room)
    }

    /// Checks the caller's arrays where no run has told the shapes yet.
    fn check_given(&self) -> PyResult<()> {
        let Some(given) = &self.outputs else { return Ok(()) };
        let ports = self.signature.outputs.iter().zip(given);
        let room = ports.map(|(port, value)| port.output(value, None)).collect::<PyResult<Vec<_>>>()?;
        require_apart(self.inputs, &room)
    }

    /// The tensors of the arguments, by parameter.
    pub(crate) fn values(&self) -> PyResult<Vec<Values>> {
        let tensors = self.signature.inputs.iter().zip(self.inputs).map(|(port, array)| arrays::tensor_of(port, array));
        let mut tensors = tensors.collect::<PyResult<Vec<Tensor>>>()?.into_iter();
        Ok(self.signature.params.iter().map(|param| param.nest.values(&mut tensors)).collect())
    }
}

impl Engine {
    pub(crate) fn whole(executable: library::Executable) -> Engine {
        let is_code = executable.is_whole() && executable.fallbacks().is_empty();
        Engine::Whole { executable, is_code, idle: Idle::default() }
    }

    /// Runs once. Returns the arrays of the outputs.
    pub(crate) fn run<'py>(&self, py: Python<'py>, call: &Call<'_, 'py>) -> PyResult<Vec<Array<'py>>> {
        begin();
        match self {
            Engine::Whole { executable, is_code, idle } => {
                let mut session = whole_session(py, executable, idle)?;
                let room = call.room(py, call.signature.outputs.iter().map(Port::known))?;
                let (inputs, mut outputs) = (call.bytes(), room.iter().map(bytes_mut).collect::<Vec<_>>());
                let run = || session.run(&inputs, &mut outputs);
                let result = if *is_code { py.detach(run) } else { with_threads(py, run) };
                idle.give(session);
                result.map_err(|error| ended(&error)).map(|()| room)
            }
            Engine::Open { refused, partial, .. } if refused.load(Ordering::Relaxed) => run_partial(py, partial, call),
            Engine::Open { executable, idle, refused, partial } => {
                let mut session = idle.take().unwrap_or_else(|| with_threads(py, || executable.session()));
                let shapes = open_shapes(py, &mut session, call);
                if shapes.as_ref().is_err_and(|error| error.code() == codes::E0601.id()) {
                    idle.give(session);
                    refused.store(true, Ordering::Relaxed);
                    return run_partial(py, partial, call);
                }
                let result = shapes.map_err(|error| ended(&error)).and_then(|shapes| run_open(py, &mut session, call, &shapes));
                idle.give(session);
                result
            }
            Engine::Partial(partial) => run_partial(py, partial, call),
            Engine::Artifact { ready, threads, isa, idle } => {
                call.check_given()?;
                let mut session = artifact_session(py, ready, (*threads, *isa), idle)?;
                let (inputs, shapes) = (call.bytes(), call.shapes());
                let result = py.detach(|| session.run(&inputs, &shapes, || !interrupted()));
                let room = finished(result).and_then(|()| artifact_outputs(py, &session, call));
                idle.give(session);
                room
            }
        }
    }

    /// The times of runs, for some seconds after a warm-up; `room` holds the outputs of a run.
    pub(crate) fn times<'py>(
        &self,
        py: Python<'py>,
        call: &Call<'_, 'py>,
        room: &[Array<'py>],
        (warmup, seconds): (Duration, Duration),
    ) -> PyResult<Times> {
        begin();
        let (inputs, shapes) = (call.bytes(), call.shapes());
        let mut outputs: Vec<&mut [u8]> = room.iter().map(bytes_mut).collect();
        match self {
            Engine::Whole { executable, idle, .. } => {
                let mut session = whole_session(py, executable, idle)?;
                let times = with_threads(py, || timed(warmup, seconds, || session.run(&inputs, &mut outputs)));
                idle.give(session);
                times.map_err(|error| ended(&error))
            }
            Engine::Open { refused, partial, .. } if refused.load(Ordering::Relaxed) => {
                times_partial(py, partial, call, (warmup, seconds))
            }
            Engine::Open { executable, idle, .. } => {
                let mut session = idle.take().unwrap_or_else(|| with_threads(py, || executable.session()));
                let shapes = wide(&shapes);
                let shapes: Vec<&[u64]> = shapes.iter().map(Vec::as_slice).collect();
                let times = with_threads(py, || timed(warmup, seconds, || session.at(&shapes)?.run(&inputs, &mut outputs)));
                idle.give(session);
                times.map_err(|error| ended(&error))
            }
            Engine::Partial(partial) => times_partial(py, partial, call, (warmup, seconds)),
            Engine::Artifact { ready, threads, isa, idle } => {
                let mut session = artifact_session(py, ready, (*threads, *isa), idle)?;
                let times = with_threads(py, || {
                    timed(warmup, seconds, || match session.run(&inputs, &shapes, || !interrupted()) {
                        Ok(true) => Ok(()),
                        Ok(false) => Err(Error::said(Diagnostic::new(codes::E0805, "interrupted"))),
                        Err(error) => Err(Error::said(error)),
                    })
                });
                idle.give(session);
                times.map_err(|error| ended(&error))
            }
        }
    }

    /// The operators without a kernel, as far as it is known.
    pub(crate) fn fallbacks(&self) -> Vec<&'static str> {
        match self {
            Engine::Whole { executable, .. } => executable.fallbacks(),
            Engine::Partial(partial) => partial.at(None).map_or_else(|_| vec![], |partial| partial.fallbacks()),
            Engine::Open { .. } | Engine::Artifact { .. } => vec![],
        }
    }

    /// How it runs, in a word.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Engine::Whole { executable, .. } if executable.is_whole() => "compiled",
            Engine::Open { .. } => "compiled for each size",
            Engine::Whole { .. } | Engine::Partial(_) => "compiled by subgraphs",
            Engine::Artifact { .. } => "an artifact",
        }
    }
}

fn whole_session(py: Python<'_>, executable: &library::Executable, idle: &Idle<Session>) -> PyResult<Session> {
    match idle.take() {
        Some(session) => Ok(session),
        None => with_threads(py, || executable.session()).map_err(|error| ended(&error)),
    }
}

fn artifact_session(
    py: Python<'_>,
    ready: &Arc<Ready>,
    (threads, isa): (usize, Option<Isa>),
    idle: &Idle<ArtifactSession>,
) -> PyResult<ArtifactSession> {
    match idle.take() {
        Some(session) => Ok(session),
        None => with_threads(py, || ready.start(threads, isa)).map_err(said),
    }
}

fn wide(shapes: &[&[usize]]) -> Vec<Vec<u64>> {
    shapes.iter().map(|shape| shape.iter().map(|&dim| dim as u64).collect()).collect()
}

/// A run by subgraphs, whose values are copied.
fn run_partial<'py>(py: Python<'py>, partial: &BySubgraphs, call: &Call<'_, 'py>) -> PyResult<Vec<Array<'py>>> {
    call.check_given()?;
    let values = call.values()?;
    let result = with_threads(py, || {
        let run = partial.at(Some(&values))?.run(&values);
        run.map_err(|error| ended(&Error::new(vec![*error], &partial.program().sources)))
    });
    let result = [result?];
    let tensors = tensors_in(&result);
    let room = call.room(py, tensors.iter().map(|tensor| tensor.shape()))?;
    room.iter().zip(tensors).for_each(|(array, tensor)| arrays::fill(array, tensor));
    Ok(room)
}

fn times_partial(
    py: Python<'_>,
    partial: &BySubgraphs,
    call: &Call<'_, '_>,
    (warmup, seconds): (Duration, Duration),
) -> PyResult<Times> {
    let values = call.values()?;
    let partial = with_threads(py, || partial.at(Some(&values)))?;
    let run = || partial.run(&values).map(drop).map_err(|error| Error::said(*error));
    with_threads(py, || timed(warmup, seconds, run)).map_err(|error| ended(&error))
}

/// The shapes of the outputs for the sizes of the inputs, whose code is made if they are new.
fn open_shapes(py: Python<'_>, session: &mut OpenSession, call: &Call<'_, '_>) -> Result<Vec<Vec<usize>>, Error> {
    let shapes = wide(&call.shapes());
    let shapes: Vec<&[u64]> = shapes.iter().map(Vec::as_slice).collect();
    with_threads(py, || {
        let session = session.at(&shapes)?;
        let shape = |port: &library::Port| port.shape.iter().map(|&dim| dim as usize).collect::<Vec<_>>();
        Ok(session.outputs().iter().map(shape).collect::<Vec<_>>())
    })
}

fn run_open<'py>(
    py: Python<'py>,
    session: &mut OpenSession,
    call: &Call<'_, 'py>,
    found: &[Vec<usize>],
) -> PyResult<Vec<Array<'py>>> {
    let shapes = wide(&call.shapes());
    let shapes: Vec<&[u64]> = shapes.iter().map(Vec::as_slice).collect();
    let room = call.room(py, found.iter().map(Vec::as_slice))?;
    let (inputs, mut outputs) = (call.bytes(), room.iter().map(bytes_mut).collect::<Vec<_>>());
    with_threads(py, || session.at(&shapes)?.run(&inputs, &mut outputs)).map_err(|error| ended(&error))?;
    Ok(room)
}

fn finished(result: Result<bool, Diagnostic>) -> PyResult<()> {
    match result {
        Ok(true) => Ok(()),
        Ok(false) => Err(ended(&Error::said(Diagnostic::new(codes::E0805, "interrupted")))),
        Err(error) => Err(ended(&Error::said(error))),
    }
}

fn artifact_outputs<'py>(py: Python<'py>, session: &ArtifactSession, call: &Call<'_, 'py>) -> PyResult<Vec<Array<'py>>> {
    let shapes: Vec<Vec<usize>> =
        session.outputs().map(|output| output.shape.iter().map(|&dim| dim as usize).collect()).collect();
    let room = call.room(py, shapes.iter().map(Vec::as_slice))?;
    for (array, output) in room.iter().zip(session.outputs()) {
        output.copy_to(bytes_mut(array)).map_err(said)?;
    }
    Ok(room)
}
