//! Replaces the engine in a build without the feature `jit`: nothing is compiled, and every program is interpreted.
//!
//! It has the names of `relayc_engine` that commands share. Types of compiled programs have no values here, so the compiler
//! proves that they are never used.

#![allow(dead_code, reason = "what only a compiled program has is named by commands and never made")]

use relayc_base::diag::Diagnostic;

pub(crate) mod external {
    //! Outside compilers: none.

    use super::Diagnostic;
    use super::compile::{Never, no_machine};
    use relayc_ir::Module;
    use std::time::Duration;

    /// A compiler.
    pub(crate) type Compiler = Never;

    /// The functions that compilers made.
    #[derive(Default)]
    pub(crate) struct Externals {}

    pub(crate) fn parse(_: &str) -> Result<Compiler, String> {
        Err(no_machine().to_owned())
    }

    pub(crate) fn compile(_: &mut Module, _: &str, _: &[Compiler], _: Option<Duration>) -> Result<Externals, Diagnostic> {
        Ok(Externals {})
    }
}

pub(crate) mod compile {
    //! The target instruction sets: none.

    use super::Diagnostic;
    use relayc_driver::bind::Bound;
    use relayc_driver::optimise::Target;
    use relayc_driver::run::{Limits, Outcome};
    use relayc_driver::timings::Timings;
    use relayc_ir::Module;

    /// Why nothing is compiled.
    pub(crate) fn no_machine() -> &'static str {
        "this relayc was built without the feature `jit`"
    }

    /// The largest number of threads that can be requested.
    pub(crate) const MAX_THREADS: usize = 1024;

    /// A type without values.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Never {}

    #[derive(Clone, Copy)]
    pub(crate) enum Isa {
        Avx2,
        Avx512,
    }

    pub(crate) enum Machine {
        Native,
        Common(Isa),
    }

    #[derive(Clone, Copy)]
    pub(crate) enum Policy {
        Fast,
        Strict,
    }

    pub(crate) enum Refused {
        Not(Reason),
        Wrong(Box<Diagnostic>),
    }

    pub(crate) struct Reason;

    impl Reason {
        pub(crate) fn text(&self) -> &'static str {
            no_machine()
        }
    }

    /// The settings of the compiler: none.
    #[derive(Clone)]
    pub(crate) struct Settings {
        pub accuracy: Policy,
        pub fault: Option<super::fault_injection::Fault>,
        pub never: Never,
    }

    impl Settings {
        pub(crate) fn of(machine: Machine, _level: u8, _threads: usize) -> Result<Option<Settings>, String> {
            match machine {
                Machine::Native | Machine::Common(Isa::Avx2 | Isa::Avx512) => Ok(None),
            }
        }

        pub(crate) fn runs_here(&self) -> Result<(), Diagnostic> {
            match self.never {}
        }
    }

    /// The machine that passes optimise for here.
    pub(crate) fn native_target() -> Result<Target, String> {
        Ok(Target::V3)
    }

    pub(crate) struct Assembled {
        pub plan: Never,
    }

    pub(crate) fn assembled(
        _module: &mut Module,
        _entry: &str,
        settings: &Settings,
        _limits: &Limits,
        _timings: &mut Timings,
    ) -> Result<Assembled, Refused> {
        match settings.never {}
    }

    pub(crate) struct Compiled(pub Never);

    impl Compiled {
        pub(crate) fn outcome(&self, _args: &[Bound]) -> Result<Outcome, Box<Diagnostic>> {
            match self.0 {}
        }
    }
}

pub(crate) mod subgraphs {
    //! Subgraphs: none is compiled.

    use super::compile::{Compiled, Never, Refused, Settings};
    use super::external::Externals;
    use super::{Diagnostic, cross_check};
    use relayc_driver::Program;
    use relayc_driver::bind::Bound;
    use relayc_driver::run::{Limits, Outcome};
    use relayc_driver::timings::Timings;

    pub(crate) enum CompileTrigger {
        Called,
        ItPays,
        Compared,
    }

    pub(crate) struct PartialProgram(Never);

    impl PartialProgram {
        pub(crate) fn carry_out(&self, _args: &[Bound]) -> Result<(), Box<Diagnostic>> {
            match self.0 {}
        }

        pub(crate) fn agreement(&self) -> cross_check::Agreement {
            match self.0 {}
        }

        pub(crate) fn summary(&self) -> String {
            match self.0 {}
        }
    }

    pub(crate) enum Prepared {
        Whole(Box<Compiled>),
        Partial(Box<PartialProgram>),
    }

    impl Prepared {
        pub(crate) fn timings(&self) -> Option<&Timings> {
            match self {
                Prepared::Whole(compiled) => match compiled.0 {},
                Prepared::Partial(parts) => match parts.0 {},
            }
        }

        pub(crate) fn outcome(&self, _args: &[Bound]) -> Result<Outcome, Box<Diagnostic>> {
            match self {
                Prepared::Whole(compiled) => match compiled.0 {},
                Prepared::Partial(parts) => match parts.0 {},
            }
        }

        pub(crate) fn summary(&self) -> String {
            match self {
                Prepared::Whole(compiled) => match compiled.0 {},
                Prepared::Partial(parts) => match parts.0 {},
            }
        }
    }

    pub(crate) fn prepare_with(
        _program: &Program,
        _entry: &str,
        _args: Option<&[Bound]>,
        settings: &Settings,
        _limits: Limits,
        _when: CompileTrigger,
        _externals: Externals,
    ) -> Result<Prepared, Refused> {
        match settings.never {}
    }

    pub(crate) fn prepare_taking(
        _program: &mut Program,
        _entry: &str,
        _args: Option<&[Bound]>,
        settings: &Settings,
        _limits: Limits,
        _when: CompileTrigger,
        _externals: Externals,
    ) -> Result<Prepared, Refused> {
        match settings.never {}
    }
}

pub(crate) mod cross_check {
    //! Cross-checks: there is only one engine.

    use super::Diagnostic;
    use super::compile::{Compiled, Never};
    use relayc_driver::bind::Bound;

    pub(crate) struct Agreement {
        pub groups: usize,
        never: Never,
    }

    pub(crate) fn run(compiled: &Compiled, _args: &[Bound]) -> Result<Agreement, Box<Diagnostic>> {
        match compiled.0 {}
    }

    pub(crate) fn summary(agreement: &Agreement) -> String {
        match agreement.never {}
    }
}

pub(crate) mod emit {
    //! Stages of code: there are none.

    use super::compile::{Refused, Settings};
    use relayc_driver::Program;
    use relayc_driver::run::Limits;

    #[derive(Clone, Copy, PartialEq)]
    pub(crate) enum Stage {
        Groups,
        Plan,
        Kernels,
        Asm,
    }

    pub(crate) fn stage(
        _program: &mut Program,
        _entry: &str,
        settings: &Settings,
        _limits: &Limits,
        _stage: Stage,
    ) -> Result<String, Refused> {
        match settings.never {}
    }
}

pub(crate) mod fault_injection {
    //! Deliberately wrong kernels: there are none.

    use super::compile::Never;

    #[derive(Clone, Copy)]
    pub(crate) struct Fault(Never);

    impl Fault {
        pub(crate) fn wanted() -> Result<Option<Fault>, String> {
            Ok(None)
        }

        pub(crate) fn summary(self) -> String {
            match self.0 {}
        }
    }
}

pub(crate) mod steps {
    //! Traces of compiled runs: there are none.

    use super::compile::{Refused, Settings};
    use relayc_driver::Program;
    use relayc_driver::bind::Bound;
    use relayc_driver::run::Limits;
    use relayc_driver::steps::Steps;
    use std::sync::Arc;

    pub(crate) fn compiled(
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

pub(crate) mod profile_overlay {
    //! Drawings of compiled programs: there are none.

    use super::Diagnostic;
    use super::compile::Never;
    use super::subgraphs::Prepared;
    use relayc_base::Sources;
    use relayc_driver::bind::Bound;
    use relayc_ir::Module;
    use relayc_viz::{Graph, Memory};
    use std::time::Duration;

    pub(crate) fn times(
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

    pub(crate) fn memory(_graph: &mut Graph, _module: &Module, plan: &Never, _sources: &Sources, _heat: bool) -> Memory {
        match *plan {}
    }
}
