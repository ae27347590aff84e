//! `relayc profile` for artifacts of `relayc build`.

use super::Args;
use crate::cli::{Console, exit};
use crate::engine::artifact;
use crate::engine::compile::Settings;
use crate::engine::measure;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::optimise::MAX_LEVEL;
use relayc_sys as sys;

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if let Some(code) = args.program.refused_for_artifact(console, &[]) {
        return code;
    }
    let threads = match args.program.threads_wanted(console) {
        Ok(threads) => threads.unwrap_or(0),
        Err(code) => return code,
    };
    match profiled(args, threads) {
        Ok(text) => sys::stdout(&text).map_or_else(|wrong| console.files(&[wrong], &Sources::default()), |()| exit::FINE),
        Err((wrong, is_running)) => {
            console.diagnostics(&wrong, &Sources::default());
            if is_running { exit::of_run(&wrong) } else { exit::of_files(&wrong) }
        }
    }
}

/// The profile as text. Errors: what is wrong, and whether the artifact ran already.
fn profiled(args: &Args, threads: usize) -> Result<String, (Vec<Diagnostic>, bool)> {
    let before = |wrong| (vec![wrong], false);
    let artifact = artifact::open(&args.program.file).map_err(before)?;
    let bound = artifact.bind(&args.program.requests()).map_err(|wrong| (wrong, false))?;
    let loaded = artifact.load().map_err(before)?;
    let mut found = loaded
        .profile(&bound, threads, args.program.target.machine().isa(), args.seconds)
        .map_err(|wrong| (vec![wrong], true))?;
    let mut rows = std::mem::take(&mut found.rows);
    args.sort(&mut rows);
    // The probe of the machine has memory of its own; it wants a machine, which the artifact has run on.
    let peak = sys::peak_memory();
    let native = Settings::native(MAX_LEVEL, found.threads).ok().flatten();
    let probed = native.map_or_else(Default::default, |native| measure::probe(&Settings { isa: found.isa, ..native }));
    let profile = found.with(&rows, &probed, peak);
    Ok(if args.json { format!("{}\n", profile.json()) } else { profile.table() })
}
