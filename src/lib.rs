//! relayc: a toolchain for the Relay text language.
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
//! - [`formats`]: bytes to values and back: `.params`, `.npz`, pictures; programs as ONNX
//! - [`zoo`]: the networks of relay.testing and their weights
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
// Machine code is called through a pointer.
#[allow(unsafe_code)]
pub mod jit;
pub mod kernel;
pub mod ops;
pub mod passes;
pub mod plan;
pub mod resolve;
pub mod syntax;
// The allocator is told how to behave.
#[allow(unsafe_code)]
pub mod sys;
pub mod tensor;
pub mod testing;
pub mod types;
pub mod zoo;
