//! Converts programs and models of other formats: ONNX, MXNet, Darknet, TVM's graph JSON and Model Library Format, compiled artifacts.
//!
//! Promises: every reader treats its bytes as hostile (reliability 10), and reports everything that cannot be converted at
//! once. Absent: opening files; a name is only for messages.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::as_conversions
    )
)]

pub mod artifact;
pub mod darknet;
pub mod graph_json;
mod json;
mod kind;
pub mod mxnet;
mod nodes;
pub mod onnx;
pub mod package;

pub use kind::{Kind, kind};
