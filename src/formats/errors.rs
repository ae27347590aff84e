//! The words for files that are not what they should be. Each names the file and, where one is known, the byte.

use crate::base::text::{count, join_words, nearest, thousands};
use crate::base::{Span, u64_of};
use crate::diag::{Diagnostic, codes};
use crate::tensor::binary::BinaryError;
use crate::tensor::npy::{NpyError, NpyFault};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// What a format cannot say of a program: the operator or construct and the reason, with how often and the first place.
pub type Refused = IndexMap<(String, String), (usize, Span), FxBuildHasher>;

/// More places than this help nobody; all are in the notes.
const MAX_LABELS: usize = 8;

/// Everything that a format cannot say, at once.
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

/// The file breaks its format's rules at a byte.
pub fn malformed(name: &str, offset: usize, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0703, format!("`{name}`, byte {offset}: {words}"))
}

/// The file breaks its format's rules, the decoder does not say where.
pub fn unsound(name: &str, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0703, format!("`{name}`: {words}"))
}

/// An entry of the file is over a limit.
pub fn entry_limit(name: &str, offset: usize, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0804, format!("`{name}`, byte {offset}: {words}"))
}

/// More bytes than there is memory.
pub fn no_memory(name: &str, bytes: usize) -> Diagnostic {
    let bytes = thousands(u64_of(bytes));
    Diagnostic::new(codes::E0803, format!("`{name}`: no memory for {bytes} bytes"))
}

/// A tensor of the file is over a limit.
pub fn tensor_limit(name: &str, offset: usize, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0803, format!("`{name}`, byte {offset}: {words}"))
}

/// The bytes of a field or a tensor are not what they should be, or the tensor is over a limit.
pub fn binary(name: &str, error: &BinaryError) -> Diagnostic {
    let code = if error.over_limit { codes::E0803 } else { codes::E0703 };
    Diagnostic::new(code, format!("`{name}`, byte {}: {}", error.offset, error.words))
}

/// As [`binary`], for the unpacked bytes of an entry of an archive.
pub fn in_entry(name: &str, entry: &str, error: &BinaryError) -> Diagnostic {
    let code = if error.over_limit { codes::E0803 } else { codes::E0703 };
    Diagnostic::new(code, format!("`{name}`, entry `{entry}`, byte {}: {}", error.offset, error.words))
}

/// What is wrong in `.npy` bytes, which are the whole file or one entry of an archive.
pub fn npy(name: &str, entry: Option<&str>, error: NpyError) -> Diagnostic {
    let code = match error.fault {
        NpyFault::Malformed => codes::E0703,
        NpyFault::HeaderLimit => codes::E0804,
        NpyFault::TensorLimit => codes::E0803,
    };
    let entry = entry.map_or(String::new(), |entry| format!(", entry `{entry}`"));
    Diagnostic::new(code, format!("`{name}`{entry}, byte {}: {}", error.offset, error.words))
}

/// Neither the bytes nor the name say that tensors with names are inside.
pub fn unknown_format(name: &str) -> Diagnostic {
    Diagnostic::new(codes::E0703, format!("`{name}`: no format of named tensors that relayc knows"))
        .help("weights are read from .params (TVM), .npz (NumPy) and .safetensors files")
}

/// A `.npy` file where names are needed.
pub fn nameless(name: &str) -> Diagnostic {
    Diagnostic::new(codes::E0703, format!("`{name}`: a .npy file holds one tensor without a name"))
        .help(format!("give it a parameter's name: -i NAME=@{name}"))
}

/// Two entries of one name.
pub fn duplicate(name: &str, offset: usize, entry: &str) -> Diagnostic {
    malformed(name, offset, format_args!("a second entry named `{entry}`"))
}

/// A preset of pictures that does not exist.
pub fn unknown_preset(preset: &str, known: &[(&str, &str)]) -> Diagnostic {
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

/// A picture for a parameter that cannot hold one.
pub fn no_picture(name: &str, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0705, format!("`{name}`: {words}"))
}
