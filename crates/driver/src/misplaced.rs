//! Says what a file is that stands where another kind is expected, and which command takes it.

use relayc_base::diag::{Diagnostic, codes};
use relayc_exchange::{self as exchange, Kind, graph_json};
use relayc_sys as sys;
use relayc_weights as formats;
use relayc_weights::foreign::{Foreign, PROGRAM, is_binary};

/// E0725 for a file that is known to be something else than expected; `None` for one that may be that.
pub(crate) fn misplaced(name: &str, bytes: &[u8], expected: &str) -> Option<Diagnostic> {
    // What was piped in has no name to repeat.
    let file = if name == sys::STDIN { "FILE" } else { name };
    let is = |what: &str| Diagnostic::new(codes::E0725, format!("`{name}` is {what}, not {expected}"));
    if let Some(known) = exchange::kind(bytes).and_then(|kind| exchanged(is, file, kind, bytes)) {
        return Some(known);
    }
    let tensors = |kind| match kind {
        formats::Kind::Named => is("a file of tensors")
            .help(format!("give it to a program as its weights: `--params {file}`"))
            .help(format!("`relayc params ls {file}` lists them")),
        formats::Kind::Npy => is("a tensor").help(format!("give it to a program as an input: `-i NAME=@{file}`")),
        formats::Kind::Picture => is("a picture").help(format!("give it to a program as an input: `-i NAME=@{file}:PRESET`")),
    };
    match (formats::Kind::of("", bytes), Foreign::of(bytes)) {
        (Some(kind), _) => Some(tensors(kind)),
        (None, Some(foreign)) => foreign.misplaced(codes::E0725, (name, file), expected),
        (None, None) => None,
    }
}

/// As [`misplaced`], for a text, which no binary file is.
pub(crate) fn no_text(name: &str, bytes: &[u8]) -> Option<Diagnostic> {
    misplaced(name, bytes, PROGRAM).or_else(|| {
        let binary = || Diagnostic::new(codes::E0725, format!("`{name}` is a binary file of an unknown kind, not {PROGRAM}"));
        is_binary(bytes).then(binary)
    })
}

/// Requires the first bytes of a text not to be those of a binary file, as [`no_text`] says it of the whole.
pub(crate) fn no_binary(name: &str, start: &[u8]) -> Result<(), Diagnostic> {
    no_text(name, start).filter(|_| is_binary(start)).map_or(Ok(()), Err)
}

/// Requires the first bytes of a model or a compiled file not to be those of another binary file, nor of nothing but zeros.
pub(crate) fn no_other_binary(name: &str, start: &[u8], expected: &str) -> Result<(), Diagnostic> {
    if !is_binary(start) || exchange::kind(start).is_some() {
        return Ok(());
    }
    let zeros = || Diagnostic::new(codes::E0703, format!("`{name}` begins with nothing but zeros"));
    let is_nothing = start.iter().all(|&byte| byte == 0);
    misplaced(name, start, expected).or_else(|| is_nothing.then(zeros)).map_or(Ok(()), Err)
}

/// The message for a file of a kind that `relayc_exchange` tells; `None` if [`Foreign`] has one.
fn exchanged(is: impl Fn(&str) -> Diagnostic, file: &str, kind: Kind, bytes: &[u8]) -> Option<Diagnostic> {
    Some(match kind {
        Kind::GraphJson => {
            let graph = graph_json::read(file, bytes);
            let mut calls =
                graph.iter().flat_map(|graph| &graph.nodes).filter_map(|node| Some(node.call.as_ref()?.func.as_str()));
            let func = calls.find(|func| *func != graph_json::NOP).map_or(String::new(), |func| format!(", such as `{func}`,"));
            is("a graph of TVM's graph executor")
                .note(format!("the functions it calls{func} are machine code in a library: what they compute is not in the file"))
                .help(format!("`relayc inspect {file}` shows the graph"))
                .help("run the program it was compiled from: `relayc run NET.relay --params NET.params`")
        }
        Kind::MxnetSymbol => is("a network of MXNet").help(format!(
            "make a program of it: `relayc import {file} --weights NET-0000.params -o NET.relay --params NET.params`"
        )),
        Kind::DarknetCfg => is("a network of Darknet")
            .help(format!("make a program of it: `relayc import {file} --weights NET.weights -o NET.relay --params NET.params`")),
        Kind::Archive => is("an archive").help("`relayc print ARCHIVE` writes the program in it, if there is one"),
        Kind::Elf => return None,
        Kind::NodeJson => is("a module of TVM as `tvm.ir.save_json` writes it")
            .help(format!("write its text in Python: `relayc.tvm.ir.load_json(open({file:?}).read()).astext()`")),
        Kind::Json => is("JSON").help("Relay programs are text: `#[version = \"0.0.5\"] def @main(…) { … }`"),
    })
}
