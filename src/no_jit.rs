//! Replaces the engine in a build without the feature `jit`: nothing is compiled, and every program is interpreted.
//!
//! It has the names of `relayc_engine` that commands share. Types of compiled programs have no values here, so the compiler
//! proves that they are never used.

#![allow(dead_code, reason = "what only a compiled program has is named by commands and never made")]

use relayc_base::diag::Diagnostic;

pub mod compile {
    //! The target instruction sets: none.

    use super::Diagnostic;
    use relayc_driver::bind::Bound;
    use relayc_driver::optimise::Target;
    use relayc_driver::run::{Limits, Outcome};
    use relayc_driver::timings::Timings;
    use relayc_ir::Module;

    /// Why nothing is compiled.
    pub const NO_MACHINE: &str = "this relayc was built without the feature `jit`";

    /// The largest number of threads that can be requested.
    pub const MAX_THREADS: usize = 1024;

    /// A type without values.
    #[derive(Clone, Copy, Debug)]
    pub enum Never {}

    #[derive(Clone, Copy)]
    pub enum Isa {
        Avx2,
        Avx512,
    }

    pub enum Machine {
        Native,
        Common(Isa),
    }

    #[derive(Clone, Copy)]
    pub enum Policy {
        Fast,
        Strict,
    }

    pub enum Refused {
        Not(Reason),
        Wrong(Box<Diagnostic>),
    }

    pub struct Reason;

    impl Reason {
        pub fn text(&self) -> &'static str {
            NO_MACHINE
        }
    }

    /// The settings of the compiler: none.
    #[derive(Clone)]
    pub struct Settings {
        pub accuracy: Policy,
        pub fault: Option<super::fault_injection::Fault>,
        pub never: Never,
    }

    impl Settings {
        pub fn of(machine: Machine, _level: u8, _threads: usize) -> Result<Option<Settings>, String> {
            match machine {
                Machine::Native | Machine::Common(Isa::Avx2 | Isa::Avx512) => Ok(None),
            }
        }

        pub fn runs_here(&self) -> Result<(), Diagnostic> {
            match self.never {}
        }
    }

    /// The machine that passes optimise for here.
    pub fn native_target() -> Result<Target, String> {
        Ok(Target::V3)
    }

    pub struct Assembled {
        pub plan: Never,
    }

    pub fn assembled(
        _module: &mut Module,
        _entry: &str,
        settings: &Settings,
        _limits: &Limits,
        _timings: &mut Timings,
    ) -> Result<Assembled, Refused> {
        match settings.never {}
    }

    pub struct Compiled(pub Never);

    impl Compiled {
        pub fn outcome(&self, _args: &[Bound]) -> Result<Outcome, Box<Diagnostic>> {
            match self.0 {}
        }
    }
}

pub mod subgraphs {
    //! Subgraphs: none is compiled.

    use super::compile::{Compiled, Never, Refused, Settings};
    use super::{Diagnostic, cross_check};
    use relayc_driver::Program;
    use relayc_driver::bind::Bound;
    use relayc_driver::run::{Limits, Outcome};
    use relayc_driver::timings::Timings;

    pub enum CompileTrigger {
        Called,
        ItPays,
        Compared,
    }

    pub struct PartialProgram(Never);

    impl PartialProgram {
        pub fn carry_out(&self, _args: &[Bound]) -> Result<(), Box<Diagnostic>> {
            match self.0 {}
        }

        pub fn agreement(&self) -> cross_check::Agreement {
            match self.0 {}
        }

        pub fn summary(&self) -> String {
            match self.0 {}
        }
    }

    pub enum Prepared {
        Whole(Box<Compiled>),
        Partial(Box<PartialProgram>),
    }

    impl Prepared {
        pub fn timings(&self) -> Option<&Timings> {
            match self {
                Prepared::Whole(compiled) => match compiled.0 {},
                Prepared::Partial(parts) => match parts.0 {},
            }
        }

        pub fn outcome(&self, _args: &[Bound]) -> Result<Outcome, Box<Diagnostic>> {
            match self {
                Prepared::Whole(compiled) => match compiled.0 {},
                Prepared::Partial(parts) => match parts.0 {},
            }
        }

        pub fn summary(&self) -> String {
            match self {
                Prepared::Whole(compiled) => match compiled.0 {},
                Prepared::Partial(parts) => match parts.0 {},
            }
        }
    }

    pub fn prepare(
        _program: &Program,
        _entry: &str,
        _args: Option<&[Bound]>,
        settings: &Settings,
        _limits: Limits,
        _when: CompileTrigger,
    ) -> Result<Prepared, Refused> {
        match settings.never {}
    }

    pub fn prepare_taking(
        _program: &mut Program,
        _entry: &str,
        _args: Option<&[Bound]>,
        settings: &Settings,
        _limits: Limits,
        _when: CompileTrigger,
    ) -> Result<Prepared, Refused> {
        match settings.never {}
    }
}

pub mod cross_check {
    //! Cross-checks: there is only one engine.

    use super::Diagnostic;
    use super::compile::{Compiled, Never};
    use relayc_driver::bind::Bound;

    pub struct Agreement {
        pub groups: usize,
        never: Never,
    }

    pub fn run(compiled: &Compiled, _args: &[Bound]) -> Result<Agreement, Box<Diagnostic>> {
        match compiled.0 {}
    }

    pub fn summary(agreement: &Agreement) -> String {
        match agreement.never {}
    }
}

pub mod emit {
    //! Stages of code: there are none.

    use super::compile::{Refused, Settings};
    use relayc_driver::Program;
    use relayc_driver::run::Limits;

    #[derive(Clone, Copy, PartialEq)]
    pub enum Stage {
        Groups,
        Plan,
        Kernels,
        Asm,
    }

    pub fn stage(
        _program: &mut Program,
        _entry: &str,
        settings: &Settings,
        _limits: &Limits,
        _stage: Stage,
    ) -> Result<String, Refused> {
        match settings.never {}
    }
}

pub mod fault_injection {
    //! Deliberately wrong kernels: there are none.

    use super::compile::Never;

    #[derive(Clone, Copy)]
    pub struct Fault(Never);

    impl Fault {
        pub fn wanted() -> Result<Option<Fault>, String> {
            Ok(None)
        }

        pub fn summary(self) -> String {
            match self.0 {}
        }
    }
}

pub mod steps {
    //! Traces of compiled runs: there are none.

    use super::compile::{Refused, Settings};
    use relayc_driver::Program;
    use relayc_driver::bind::Bound;
    use relayc_driver::run::Limits;
    use relayc_driver::steps::Steps;
    use std::sync::Arc;

    pub fn compiled(
        _program: &Program,
        _entry: &str,
        _args: &[Bound],
        settings: &Settings,
        _limits: Limits,
        _steps: &Arc<Steps>,
    ) -> Result<Bound, Refused> {
        match settings.never {}
    }
}

pub mod profile_overlay {
    //! Drawings of compiled programs: there are none.

    use super::Diagnostic;
    use super::compile::Never;
    use super::subgraphs::Prepared;
    use relayc_base::Sources;
    use relayc_driver::bind::Bound;
    use relayc_ir::Module;
    use relayc_viz::{Graph, Memory};
    use std::time::Duration;

    pub fn times(
        _graph: &mut Graph,
        prepared: &Prepared,
        _bound: &[Bound],
        _measured: Duration,
        _sources: &Sources,
    ) -> Result<(), Box<Diagnostic>> {
        // Its words cannot be asked for either: there is no value to ask.
        let _ = prepared.summary();
        Ok(())
    }

    pub fn memory(_graph: &mut Graph, _module: &Module, plan: &Never, _sources: &Sources, _heat: bool) -> Memory {
        match *plan {}
    }
}
