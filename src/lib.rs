//! relayc: a toolchain for the Relay text language, as a library.
//!
//! # Programs as texts
//!
//! [`parse`] reads the syntax, [`check`] also names and types; [`print()`] and [`format()`] write a program, [`interpret`] runs it. They
//! work on any processor and system:
//!
//! ```
//! use relayc::{Tensor, Value};
//!
//! let program = relayc::check("net.relay", "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(add(%x, 0.5f)) }")?;
//! let x = Value::Tensor(Tensor::from_vec(&[2, 3], vec![-1f32, 0., 1., 2., -3., 4.]));
//! let Value::Tensor(out) = relayc::interpret(&program, "main", &[x])? else { panic!("the result is a tensor") };
//! assert_eq!(out.to_f64s(), [0.0, 0.5, 1.5, 2.5, 0.0, 4.5]);
//! # Ok::<(), relayc::Error>(())
//! ```
//!
//! An [`Error`] holds all that is wrong, as diagnostics with codes and places; it displays as the command line shows it:
//!
//! ```
//! let error = relayc::check("net.relay", "def @main(%x: Tensor[(2), float32]) { nn.rulu(%x) }").err().expect("there is no such operator");
//! assert_eq!(error.code(), "E0204");
//! assert!(error.to_string().contains("nn.relu"));
//! ```
//!
//! # Compiled programs
//!
//! With the feature `jit`, which is on by default and needs x86-64 Linux, a program is read as a `Network`, compiled once to an
//! `Executable`, and run as often as wanted by `Session`s on the caller's buffers:
//!
//! ```
//! # #[cfg(feature = "jit")] {
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
//! # }
//! # Ok::<(), relayc::Error>(())
//! ```
//!
//! Sessions of one executable share its code and weights, and run beside each other in any threads:
//!
//! ```
//! # #[cfg(feature = "jit")] {
//! use relayc::{Network, Options, bytes_of, bytes_of_mut};
//!
//! let program = relayc::check("net.relay", "def @main(%x: Tensor[(4), float32]) { exp(%x) }")?;
//! let executable = Network::checked(program)?.compile(&Options::default())?;
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
//! # }
//! # Ok::<(), relayc::Error>(())
//! ```
//!
//! A program with open dimensions, such as `Tensor[(batch, seq), int64]`, is an `OpenExecutable`. Its session compiles each size at its
//! first call, and looks it up later; all sizes share the packed weights, and the memory of the session:
//!
//! ```
//! # #[cfg(feature = "jit")] {
//! use relayc::{Network, Options, bytes_of, bytes_of_mut};
//!
//! let network = Network::parse("net.relay", "def @main(%x: Tensor[(n, 2), float32]) { sum(%x, axis=[1]) }")?;
//! let executable = network.compile_open(&Options { sizes: 16, ..Options::default() })?;
//! let mut session = executable.session();
//! for n in [1, 5, 1] {
//!     let (x, mut out) = (vec![0.5f32; 2 * n], vec![0f32; n]);
//!     session.at(&[&[n as u64, 2]])?.run(&[bytes_of(&x)], &mut [bytes_of_mut(&mut out)])?;
//!     assert!(out.iter().all(|&out| out == 1.0));
//! }
//! assert_eq!(executable.n_sizes(), 2);
//! # }
//! # Ok::<(), relayc::Error>(())
//! ```
//!
//! # Crates
//!
//! Each step is a crate that can be used alone: `relayc-syntax`, `relayc-check`, `relayc-interp`, `relayc-codegen` have an example each.
//! The command line is the binary of this package, not a part of the library.

#![warn(missing_docs)]

mod text;

pub use relayc_base::diag::Diagnostic;
pub use relayc_driver::Program;
pub use relayc_driver::bind::Bound as Value;
pub use relayc_driver::error::Error;
pub use relayc_ir::tensor::Tensor;
pub use relayc_syntax::ast::Ast;
pub use text::{check, check_file, format, interpret, parse, print};

#[cfg(feature = "jit")]
pub use relayc_engine::compile::{Isa, Machine, Policy};
#[cfg(feature = "jit")]
pub use relayc_engine::library::{Executable, Network, Number, Options, Port, Session, bytes_of, bytes_of_mut};
#[cfg(feature = "jit")]
pub use relayc_engine::open::{OpenExecutable, OpenPort, OpenSession};
