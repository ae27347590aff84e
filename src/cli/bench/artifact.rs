//! `relayc bench` for artifacts of `relayc build`.

use super::{Args, Figures};
use crate::cli::{Console, exit};
use crate::engine::artifact;
use crate::engine::compile::Settings;
use crate::engine::measure;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::optimise::MAX_LEVEL;
use relayc_sys as sys;
use std::time::Instant;

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if let Some(code) = args.program.refused_for_artifact(console, &[]) {
        return code;
    }
    let threads = match args.program.threads_wanted(console) {
        Ok(threads) => threads.unwrap_or(0),
        Err(code) => return code,
    };
    match measured(args, threads) {
        Ok(text) => sys::stdout(&text).map_or_else(|wrong| console.files(&[wrong], &Sources::default()), |()| exit::FINE),
        Err((wrong, is_running)) => {
            console.diagnostics(&wrong, &Sources::default());
            if is_running { exit::of_run(&wrong) } else { exit::of_files(&wrong) }
        }
    }
}

/// The figures as text. Errors: what is wrong, and whether the artifact ran already.
fn measured(args: &Args, threads: usize) -> Result<String, (Vec<Diagnostic>, bool)> {
    let start = Instant::now();
    let before = |wrong| (vec![wrong], false);
    let artifact = artifact::open(&args.program.file).map_err(before)?;
    let bound = artifact.bind(&args.program.requests()).map_err(|wrong| (wrong, false))?;
    let loaded = artifact.load().map_err(before)?;
    let loading = start.elapsed();
    let found = loaded.latency(&bound, threads, args.program.target.isa(), (args.warmup, args.seconds));
    let found = found.map_err(|wrong| (vec![wrong], true))?;
    let ready_ms = (loading + found.created).as_secs_f64() * 1e3;
    // The probe wants a machine, which the artifact has run on.
    let native = Settings::native(MAX_LEVEL, found.threads).ok().flatten();
    let probed = native.map_or_else(Default::default, |native| measure::probe(&Settings { isa: found.isa, ..native }));
    let figures = Figures { times: &found.times, probed: &probed, threads: found.threads, isa: found.isa, ready_ms };
    Ok(if args.json { format!("{}\n", figures.json()) } else { figures.text() })
}
