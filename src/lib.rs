//! relayc: a toolchain for the Relay text language.
//!
//! A program is read and checked as a [`Network`], compiled once to an [`Executable`], and run as often as wanted by
//! [`Session`]s on the caller's buffers:
//!
//! ```
//! use relayc::{Network, Options, bytes_of, bytes_of_mut};
//!
//! let network = Network::parse("net.relay", "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(add(%x, 0.5f)) }")?;
//! let executable = network.compile(&Options::default())?;
//! assert_eq!((executable.inputs()[0].name.as_str(), executable.inputs()[0].bytes), ("x", 24));
//!
//! let mut session = executable.session()?;
//! let (x, mut out) = ([-1f32, 0., 1., 2., -3., 4.], [0f32; 6]);
//! session.run(&[bytes_of(&x)], &mut [bytes_of_mut(&mut out)])?;
//! assert_eq!(out, [0.0, 0.5, 1.5, 2.5, 0.0, 4.5]);
//! # Ok::<(), relayc::Error>(())
//! ```
//!
//! Sessions of one executable share its code and weights, and run beside each other in any threads:
//!
//! ```
//! use relayc::{Network, Options, bytes_of, bytes_of_mut};
//!
//! let executable = Network::parse("net.relay", "def @main(%x: Tensor[(4), float32]) { exp(%x) }")?.compile(&Options::default())?;
//! std::thread::scope(|scope| {
//!     for number in 0..3 {
//!         let executable = &executable;
//!         scope.spawn(move || {
//!             let (mut session, mut out) = (executable.session()?, [0f32; 4]);
//!             session.run(&[bytes_of(&[number as f32; 4])], &mut [bytes_of_mut(&mut out)])?;
//!             assert!((out[3] - (number as f32).exp()).abs() < 1e-5);
//!             Ok::<(), relayc::Error>(())
//!         });
//!     }
//! });
//! # Ok::<(), relayc::Error>(())
//! ```
//!
//! # The rooms
//!
//! Data flows one way, a room a step; a room names only rooms above it in this list:
//!
//! - [`base`]: places in text, typed indices, small text helpers
//! - [`diag`]: diagnostics, their codes and pages, their rendering
//! - [`syntax`]: text to tokens to syntax tree
//! - [`fmt`]: source text to formatted source text
//! - [`types`]: dtypes, dimensions, types, unification
//! - [`tensor`]: run-time tensors, literals, `.npy` bytes, comparison
//! - [`sys`]: files read and written whole
//! - [`ir`]: the typed intermediate representation, its printer and verifier
//! - [`kernel`]: kernels as data: loop nests, sums of products
//! - [`ops`]: operators, one file a family: schema, rules, relation, evaluation
//! - [`formats`]: bytes to values and back: weights, pictures, archives; programs as ONNX and graphs; ONNX and MXNet as programs
//! - [`zoo`]: the networks of relay.testing and their weights
//! - [`viz`]: pictures of programs: their graph, its layout, its formats
//! - [`resolve`]: syntax tree to IR: names, scopes, attributes
//! - [`infer`]: type and shape inference
//! - [`interp`]: the reference interpreter
//! - [`passes`]: rewrites, IR to IR
//! - [`plan`]: fused groups to kernels on buffers
//! - [`jit`]: kernels as x86-64 machine code, and what runs them
//! - [`driver`]: the pipeline: load, check, run
//! - [`testing`]: the golden harness: tests that are files
//! - [`cli`]: the command line, one file a subcommand

#![deny(unsafe_code)]

pub mod base;
pub mod cli;
pub mod diag;
pub mod driver;
pub mod fmt;
pub mod formats;
pub mod infer;
pub mod interp;
pub mod ir;
#[allow(unsafe_code, reason = "machine code is called through a pointer")]
pub mod jit;
pub mod kernel;
pub mod ops;
pub mod passes;
pub mod plan;
pub mod resolve;
pub mod syntax;
#[allow(unsafe_code, reason = "the bytes of numbers are seen through pointers, and the allocator is told how to behave")]
pub mod sys;
pub mod tensor;
pub mod testing;
pub mod types;
pub mod viz;
pub mod zoo;

pub use driver::compile::{Isa, Machine, Policy};
pub use driver::library::{Error, Executable, Network, Number, Options, Port, Session, bytes_of, bytes_of_mut};
