//! `--cache`, and `relayc cache`: compiled programs that are kept on disk.

use super::{Console, exit};
use crate::engine::artifact::Artifact;
use crate::engine::cache::{self, Cache, Key, Ports, Wanted};
use crate::engine::subgraphs::Prepared;
use clap::Subcommand;
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, Severity, codes};
use relayc_base::text::{count, thousands};
use relayc_driver::Program;
use relayc_driver::optimise::{self, WeightNames};
use relayc_driver::run::Entry;
use relayc_sys as sys;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

/// List the compiled programs that `--cache` keeps, or remove them.
///
/// They are in `relayc` in `$XDG_CACHE_HOME`, or in `~/.cache`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the kept programs, the last used first.
    Ls {
        /// Print JSON, `relayc.cache/1`: one program a line.
        #[arg(long)]
        json: bool,
    },
    /// Remove all kept programs.
    Clear,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    // What is a warning where it only costs time is an error here.
    let error = |wrong| Diagnostic { code: codes::E0701, severity: Severity::Error, ..wrong };
    let written = Cache::open().map_err(error).and_then(|cache| {
        let text = match args.action {
            Action::Ls { json } if json || console.is_json() => lines(&cache),
            Action::Ls { .. } => listed(&cache),
            Action::Clear => {
                let (n, bytes) = cache.clear();
                format!("removed {}, {} bytes\n", count(n, "program"), thousands(bytes))
            }
        };
        sys::stdout(&text)
    });
    written.map_or_else(|wrong| console.files(&[wrong], &Sources::default()), |()| exit::FINE)
}

fn listed(cache: &Cache) -> String {
    let entries = cache.entries();
    let mut out = String::new();
    for entry in &entries {
        let _ = writeln!(out, "{}  {:>13}  {}", &entry.digest[..12.min(entry.digest.len())], thousands(entry.bytes), entry.what);
    }
    let bytes = entries.iter().map(|entry| entry.bytes).sum();
    let _ = writeln!(out, "{}, {} bytes, in {}", count(entries.len(), "program"), thousands(bytes), cache.path().display());
    out
}

fn lines(cache: &Cache) -> String {
    let object = |entry: &cache::Entry| {
        let (digest, bytes, what) = (&entry.digest, entry.bytes, &entry.what);
        json!({ "schema": "relayc.cache/1", "digest": digest, "bytes": bytes, "what": what })
    };
    cache.entries().iter().map(|entry| format!("{}\n", object(entry))).collect()
}

/// Whether a compiled program is kept.
#[derive(clap::Args)]
pub(crate) struct Keeping {
    /// Start from the compiled program that an earlier run has kept on disk, or compile it and keep it.
    #[arg(long)]
    pub cache: bool,
    /// The most bytes of all kept programs, 4G without it; those that were not used for longest go. `K`, `M` and `G` multiply by 1,024.
    #[arg(long, value_name = "BYTES", requires = "cache", value_parser = super::parse_bytes)]
    cache_size: Option<u64>,
}

/// The place of a program in the cache.
pub(crate) struct Place {
    cache: Cache,
    key: Key,
    limit: u64,
}

/// What is known of a program before its weights are bound: their names, or why it is not kept.
pub(crate) type Weights = Result<WeightNames, &'static str>;

impl Keeping {
    /// The compiled program in the cache, and its place there, if `--cache` is given. Reports what is wrong with the cache.
    pub(crate) fn look_up(&self, console: &Console, wanted: &Wanted) -> (Option<Artifact>, Option<Place>) {
        if !self.cache {
            return (None, None);
        }
        let told = |warnings: &[Diagnostic]| console.diagnostics(warnings, &Sources::default());
        let cache = match Cache::open() {
            Ok(cache) => cache,
            Err(warning) => {
                told(&[warning]);
                return (None, None);
            }
        };
        let found = cache.find(wanted);
        told(&found.warnings);
        let limit = self.cache_size.unwrap_or(cache::DEFAULT_BYTES);
        (found.artifact, found.key.map(|key| Place { cache, key, limit }))
    }
}

/// The names of a program's weights, which its kept form has not as inputs; `params` are its files.
pub(crate) fn weights(program: &Program, params: &[PathBuf]) -> Weights {
    match program.diagnostics.is_empty() {
        true => Ok(optimise::weight_names(program, params)),
        false => Err("there are warnings about it"),
    }
}

/// The ports of a program whose weights are bound, or why it is not kept.
pub(crate) fn ports(weights: Weights, entry: &Entry, program: &Program) -> Result<Ports, &'static str> {
    cache::ports(entry, &program.module.types, &weights?)
}

impl Place {
    /// Keeps a compiled program here. Reports why it is not, if something is wrong; with `-v` in any case.
    pub(crate) fn keep(&self, console: &Console, prepared: &Prepared, ports: Result<Ports, &'static str>) {
        let kept = match (prepared, ports) {
            (Prepared::Partial(_), _) => Ok(Some("it is compiled by subgraphs while it runs")),
            (_, Err(why)) => Ok(Some(why)),
            (Prepared::Whole(compiled), Ok(ports)) => self.cache.keep(&self.key, compiled, &ports, self.limit),
        };
        match kept {
            Err(warning) => console.diagnostics(&[warning], &Sources::default()),
            Ok(Some(why)) if console.verbose => console.words(&format!("the compiled program is not kept: {why}\n")),
            Ok(_) => {}
        }
    }
}
