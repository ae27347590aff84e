//! The tests that are Rust: one binary, a module a topic. Those that need machine code are behind the feature `jit`.

#[path = "../support/networks.rs"]
mod networks_list;
#[path = "../support/mod.rs"]
mod support;

mod goldens;

mod corners;
mod deep;
mod dynamic;
mod editors;
#[cfg(feature = "jit")]
mod examples;
#[cfg(feature = "jit")]
mod faults;
mod fmt;
mod forms;
mod graph_json;
#[cfg(feature = "jit")]
mod growth;
#[cfg(feature = "jit")]
mod hardened;
#[cfg(feature = "jit")]
mod kill;
mod lints;
mod lsp;
mod mistakes;
mod mxnet;
mod onnx;
mod pass_programs;
mod passes;
mod passes_scale;
mod positional;
mod properties;
mod reduce;
mod roundtrip;
mod schema;
mod sizes;
mod specified;
mod stress;
mod viz;
mod watch;
mod zoo;

#[cfg(feature = "jit")]
mod addresses;
#[cfg(feature = "jit")]
mod artifacts;
#[cfg(feature = "jit")]
mod artifacts_damaged;
#[cfg(feature = "jit")]
mod cache;
#[cfg(feature = "jit")]
mod compare;
#[cfg(feature = "jit")]
mod corners_compiled;
#[cfg(feature = "jit")]
mod darknet;
#[cfg(feature = "jit")]
mod differential;
#[cfg(feature = "jit")]
mod engines;
#[cfg(feature = "jit")]
mod external;
#[cfg(feature = "jit")]
mod library;
#[cfg(feature = "jit")]
mod many;
#[cfg(feature = "jit")]
mod networks;
#[cfg(feature = "jit")]
mod open;
#[cfg(feature = "jit")]
mod routines;
#[cfg(feature = "jit")]
mod stages;
mod stdin;
#[cfg(feature = "jit")]
mod stdout;
#[cfg(feature = "jit")]
mod strategies;
#[cfg(feature = "jit")]
mod subgraphs;
#[cfg(feature = "jit")]
mod synced;
#[cfg(feature = "jit")]
mod unaligned;
#[cfg(feature = "jit")]
mod writers;
