//! Diagnostics for unsound files. Each names the file and, if known, the byte.

use super::foreign::Foreign;
use super::{Format, Kind};
use indexmap::IndexMap;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, join_words, nearest, thousands};
use relayc_base::{Span, u64_of};
use relayc_ir::tensor::binary::BinaryError;
use relayc_ir::tensor::npy::{NpyError, NpyFault};
use rustc_hash::FxBuildHasher;

/// Unsupported parts of a program in a format: operator or construct with the reason, and the number of occurrences with the
/// first place.
pub type Refused = IndexMap<(String, String), (usize, Span), FxBuildHasher>;

/// Maximum number of labels; the notes list all places.
const MAX_LABELS: usize = 8;

/// Reports everything that a format does not support, at once.
pub fn refused(format: &str, refused: &Refused) -> Diagnostic {
    let message = format!("{format} cannot say {} of the program", count(refused.len(), "part"));
    let mut diagnostic = Diagnostic::new(codes::E0708, message);
    let mut places = refused.iter().filter(|(_, (_, span))| !span.is_none()).take(MAX_LABELS);
    if let Some(((what, _), (_, span))) = places.next() {
        diagnostic = diagnostic.at(*span, what.clone());
    }
    for ((what, _), (_, span)) in places {
        diagnostic = diagnostic.also(*span, what.clone());
    }
    for ((what, reason), (times, _)) in refused {
        diagnostic = diagnostic.note(format!("{what}, {}: {reason}", count(*times, "time")));
    }
    diagnostic
}

/// A violation of the format's rules at a byte.
pub fn malformed(name: &str, offset: usize, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0703, format!("`{name}`, byte {offset}: {words}"))
}

/// A violation of the format's rules, if the decoder does not report the position.
pub fn unsound(name: &str, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0703, format!("`{name}`: {words}"))
}

/// An entry of the file exceeds a limit.
pub fn entry_limit(name: &str, offset: usize, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0804, format!("`{name}`, byte {offset}: {words}"))
}

/// Not enough memory.
pub fn no_memory(name: &str, bytes: usize) -> Diagnostic {
    let bytes = thousands(u64_of(bytes));
    Diagnostic::new(codes::E0803, format!("`{name}`: no memory for {bytes} bytes"))
}

/// A tensor of the file exceeds a limit.
pub(crate) fn tensor_limit(name: &str, offset: usize, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0803, format!("`{name}`, byte {offset}: {words}"))
}

/// Invalid bytes of a field or a tensor, or a tensor that exceeds a limit.
pub(crate) fn binary(name: &str, error: &BinaryError) -> Diagnostic {
    let code = if error.over_limit { codes::E0803 } else { codes::E0703 };
    Diagnostic::new(code, format!("`{name}`, byte {}: {}", error.offset, error.words))
}

/// Like [`binary`], for the unpacked bytes of an archive entry.
pub(crate) fn in_entry(name: &str, entry: &str, error: &BinaryError) -> Diagnostic {
    let code = if error.over_limit { codes::E0803 } else { codes::E0703 };
    Diagnostic::new(code, format!("`{name}`, entry `{entry}`, byte {}: {}", error.offset, error.words))
}

/// An error in `.npy` bytes, which are the whole file or one entry of an archive.
pub(crate) fn npy(name: &str, entry: Option<&str>, error: NpyError) -> Diagnostic {
    let code = match error.fault {
        NpyFault::Malformed => codes::E0703,
        NpyFault::HeaderLimit => codes::E0804,
        NpyFault::TensorLimit => codes::E0803,
    };
    let entry = entry.map_or(String::new(), |entry| format!(", entry `{entry}`"));
    Diagnostic::new(code, format!("`{name}`{entry}, byte {}: {}", error.offset, error.words))
}

/// Neither bytes nor name identify a format of named tensors.
pub(crate) fn unknown_format(name: &str, start: &[u8]) -> Diagnostic {
    let of = |format: Format| format.library.map_or(format.to_string(), |library| format!("{format} ({library})"));
    let known: Vec<String> = Format::writable().map(of).collect();
    let error = match Kind::of("", start) {
        Some(Kind::Picture) => Diagnostic::new(codes::E0703, format!("`{name}` is a picture, not a file of weights"))
            .help(format!("give it to a program as an input: `-i NAME=@{name}:PRESET`")),
        _ => foreign(name, start, "a file of weights")
            .unwrap_or_else(|| Diagnostic::new(codes::E0703, format!("`{name}`: no format of named tensors that relayc knows"))),
    };
    error.help(format!("weights are read from {} files", join_words(&known, "and")))
}

/// A file that is known to be of another kind than `expected`.
pub fn foreign(name: &str, start: &[u8], expected: &str) -> Option<Diagnostic> {
    Foreign::of(start)?.misplaced(codes::E0703, (name, name), expected)
}

/// A `.npy` file, which has no names, where names are needed.
pub(crate) fn nameless(name: &str) -> Diagnostic {
    Diagnostic::new(codes::E0703, format!("`{name}`: a .npy file holds one tensor without a name"))
        .help(format!("give it a parameter's name: -i NAME=@{name}"))
}

/// Two entries of one name.
pub(crate) fn duplicate(name: &str, offset: usize, entry: &str) -> Diagnostic {
    malformed(name, offset, format_args!("a second entry named `{entry}`"))
}

/// An unknown preset for images.
pub(crate) fn unknown_preset(preset: &str, known: &[(&str, &str)]) -> Diagnostic {
    let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
    let mut diagnostic = Diagnostic::new(codes::E0707, format!("no picture preset `{preset}`"));
    if let Some(near) = nearest(preset, known.iter().map(|&(name, _)| name)) {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    }
    for (name, what) in known {
        diagnostic = diagnostic.note(format!("`{name}`: {what}"));
    }
    diagnostic.help(format!("the presets are {}", join_words(&names, "and")))
}

/// An image for a parameter that cannot hold one.
pub(crate) fn no_picture(name: &str, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0705, format!("`{name}`: {words}"))
}
