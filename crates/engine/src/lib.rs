//! Compiled execution: compiles a program for a processor, runs it, measures it, and builds it ahead of time.
//!
//! The crate promises results that agree with the interpreter's (reliability 5). It names every operator without a kernel and
//! runs its evaluation instead. Absent: reading and checking programs (`relayc-driver`), and the command line.

pub mod artifact;
pub mod build;
pub mod cache;
pub mod choices;
pub mod compile;
pub mod cross_check;
pub mod doctor;
pub mod emit;
pub mod error_budget;
pub mod external;
pub mod fault_injection;
pub mod library;
pub mod measure;
pub mod open;
pub mod profile;
pub mod profile_overlay;
pub mod size_setting;
mod step_times;
pub mod steps;
pub mod subgraphs;
mod tap;
mod trace;
pub mod tune;
pub mod tuning;
