//! `--strategy` and `--tuning`: choices in place of the models'.

use super::Console;
use crate::engine::compile::Settings;
use relayc_base::Sources;
use std::path::PathBuf;

/// Which strategies kernels use.
#[derive(clap::Args)]
pub(crate) struct Choices {
    /// The strategy of the steps at a place: a variable (`%12`), a line (`23` or `23:8`), an operator or `*`. `--emit plan` lists
    /// strategies; the first words of a name mean the best of those. May be repeated; the last one that fits wins.
    #[arg(long, value_name = "PLACE=NAME")]
    pub strategy: Vec<String>,
    /// Use the strategies that `relayc tune` found for this processor.
    #[arg(long, value_name = "FILE")]
    pub tuning: Option<PathBuf>,
}

impl Choices {
    /// The flag of a choice, if there is any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [(!self.strategy.is_empty(), "--strategy"), (self.tuning.is_some(), "--tuning")];
        given.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }

    /// The settings with these choices, for a program with this text. The exit code on failure, after reporting it.
    #[cfg(feature = "jit")]
    pub(crate) fn chosen(&self, console: &Console, settings: Settings, sources: &Sources) -> Result<Settings, u8> {
        use crate::engine::choices::{Choices, Rule};
        let rule = |text: &String| {
            Rule::parse(text).ok_or_else(|| {
                console.usage(format_args!(
                    "`--strategy {text}`: expected PLACE=NAME, as in `%12=winograd`, `23:8=direct` or `*=nest`"
                ))
            })
        };
        let rules = self.strategy.iter().map(rule).collect::<Result<Vec<Rule>, u8>>()?;
        let tuning = self.tuning.as_deref().map(read).transpose();
        let tuning = tuning.map_err(|diagnostic| console.files(&[diagnostic], sources))?;
        Ok(Settings { choices: Choices::new(rules, tuning, sources), ..settings })
    }

    /// The settings: without machine code there is nothing to choose.
    #[cfg(not(feature = "jit"))]
    pub(crate) fn chosen(&self, _: &Console, settings: Settings, _: &Sources) -> Result<Settings, u8> {
        Ok(settings)
    }
}

/// Reads a tuning file. Errors: E0701 and E0703.
#[cfg(feature = "jit")]
pub(crate) fn read(path: &std::path::Path) -> Result<crate::engine::tuning::Tuning, relayc_base::diag::Diagnostic> {
    let bytes = relayc_sys::read_file(path, relayc_sys::Limit::source())?;
    crate::engine::tuning::Tuning::parse(&path.display().to_string(), &String::from_utf8_lossy(&bytes))
}

/// Warns of choices that were not used.
#[cfg(feature = "jit")]
pub(crate) fn say_unused(console: &Console, settings: &Settings) {
    console.diagnostics(&settings.choices.warnings(), &Sources::default());
}

/// Warns of nothing: without machine code there is nothing to choose.
#[cfg(not(feature = "jit"))]
pub(crate) fn say_unused(_: &Console, _: &Settings) {}
