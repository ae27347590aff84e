//! Files that relayc does not read as tensors, recognised by their first bytes, so that a message can say what they are.
//!
//! The table lists what people give to a command by mistake. Absent: weights and pictures (`Kind`), and files whose kind is told
//! by more than their beginning (`relayc_exchange::kind`).

use relayc_base::diag::{Code, Diagnostic};

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// What it is, in words: `a pickle of Python`.
    what: &'static str,
    helps: &'static [&'static str],
    starts: fn(&[u8]) -> bool,
}

impl Foreign {
    /// The kind of a file that starts with these bytes; `None` if it is not in the table.
    pub fn of(start: &[u8]) -> Option<&'static Foreign> {
        TABLE.iter().find(|kind| (kind.starts)(start))
    }

    /// Whether the bytes start as a model of ONNX does.
    pub fn is_model(start: &[u8]) -> bool {
        is_onnx(start)
    }

    /// An error about a file of this kind that says what it is not; `None` if it is that. `file` stands for the file in helps.
    pub fn misplaced(&self, code: Code, (name, file): (&str, &str), expected: &str) -> Option<Diagnostic> {
        let error = || Diagnostic::new(code, format!("`{name}` is {}, not {expected}", self.what));
        let helps = self.helps.iter().map(|help| help.replace("{}", file));
        (self.what != expected).then(|| helps.fold(error(), Diagnostic::help))
    }
}

/// What a program and a model are called.
pub const PROGRAM: &str = "a program of Relay";
pub const MODEL: &str = "a model of ONNX";

/// All kinds, in the order in which they are tried.
const TABLE: &[Foreign] = &[
    Foreign {
        what: PROGRAM,
        helps: &["`relayc run {}` runs it, `relayc check {}` says what is wrong with it"],
        starts: |start| [&b"#[version"[..], b"def @", b"free_var %", b"fn ("].iter().any(|text| begins(start, text)),
    },
    Foreign {
        what: MODEL,
        helps: &["make a program of it: `relayc import {} -o NET.relay --params NET.params`"],
        starts: is_onnx,
    },
    Foreign {
        what: "a file of PyTorch",
        helps: &[
            "write its model in Python: `torch.onnx.export(model, inputs, \"net.onnx\")`",
            "write its weights in Python: `safetensors.torch.save_file(model.state_dict(), \"net.safetensors\")`",
        ],
        starts: is_torch,
    },
    Foreign {
        what: "a pickle of Python",
        helps: &["write its tensors in Python: `numpy.savez(\"net.npz\", **tensors)`"],
        starts: |start| matches!(start, [0x80, 2..=5, ..]),
    },
    Foreign {
        what: "a model of TensorFlow Lite",
        helps: &["make a model of ONNX of it: `python -m tf2onnx.convert --tflite {} --output net.onnx`"],
        starts: |start| start.get(4..8) == Some(b"TFL3"),
    },
    Foreign {
        what: "an HDF5 file, as Keras writes",
        helps: &[FROM_KERAS],
        starts: |start| start.starts_with(b"\x89HDF\r\n\x1a\n"),
    },
    Foreign {
        what: "a model of Keras",
        helps: &[FROM_KERAS],
        starts: |start| first_entry(start).is_some_and(|name| matches!(name, b"metadata.json" | b"config.json")),
    },
    Foreign { what: "a file of llama.cpp (GGUF)", helps: &[], starts: |start| start.starts_with(b"GGUF") },
    Foreign {
        what: "a file of weights of Darknet",
        helps: &["import it with its network: `relayc import NET.cfg --weights {} -o NET.relay --params NET.params`"],
        starts: |start| matches!(start, [0, 0, 0, 0, 1 | 2, 0, 0, 0, 0 | 5, 0, 0, 0, ..]),
    },
    Foreign {
        what: "machine code",
        helps: &["`relayc run {}` runs what `relayc build` wrote, `relayc inspect {}` shows what is in it"],
        starts: |start| start.starts_with(b"\x7fELF"),
    },
    Foreign {
        what: "packed with gzip",
        helps: &["unpack it: `gzip -dc < {} > UNPACKED`"],
        starts: |start| start.starts_with(b"\x1f\x8b"),
    },
    Foreign {
        what: "packed with xz",
        helps: &["unpack it: `xz -dc < {} > UNPACKED`"],
        starts: |start| start.starts_with(b"\xfd7zXZ\0"),
    },
    Foreign {
        what: "packed with zstd",
        helps: &["unpack it: `zstd -dc < {} > UNPACKED`"],
        starts: |start| start.starts_with(b"\x28\xb5\x2f\xfd"),
    },
    Foreign {
        what: "packed with bzip2",
        helps: &["unpack it: `bzip2 -dc < {} > UNPACKED`"],
        starts: |start| start.starts_with(b"BZh") && start.get(4..10) == Some(b"1AY&SY"),
    },
    Foreign { what: "a picture in GIF", helps: &[AS_PNG], starts: |start| start.starts_with(b"GIF8") },
    Foreign {
        what: "a picture in WebP",
        helps: &[AS_PNG],
        starts: |start| start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP"),
    },
    Foreign {
        what: "a picture in BMP",
        helps: &[AS_PNG],
        starts: |start| start.starts_with(b"BM") && start.get(6..10) == Some(&[0; 4]),
    },
    Foreign {
        what: "a picture in TIFF",
        helps: &[AS_PNG],
        starts: |start| start.starts_with(b"II*\0") || start.starts_with(b"MM\0*"),
    },
    Foreign {
        what: "a pointer of Git LFS",
        helps: &["fetch the file that it stands for: `git lfs pull`"],
        starts: |start| start.starts_with(b"version https://git-lfs"),
    },
    Foreign {
        what: "a web page",
        helps: &["download the file itself, not the page that shows it"],
        starts: |start| [&b"<!doctype html"[..], b"<html"].iter().any(|tag| begins(start, tag)),
    },
    Foreign { what: "XML", helps: &[], starts: |start| begins(start, b"<?xml") || begins(start, b"<svg") },
    Foreign {
        what: "a source file of C",
        helps: &["a header of `relayc build` is for C; `relayc run NET.so` runs the shared object beside it"],
        starts: |start| {
            let directives =
                ["#include", "#ifndef", "#ifdef", "#if ", "#define", "#pragma", "#import", "#undef", "typedef ", "extern \"C\""];
            directives.iter().any(|word| behind_comments(start).starts_with(word.as_bytes()))
        },
    },
    Foreign { what: "a script", helps: &[], starts: |start| start.starts_with(b"#!") },
    Foreign {
        what: "a program of Python",
        helps: &["run it with Python; relayc reads the model that it makes: `torch.onnx.export(model, inputs, \"net.onnx\")`"],
        starts: is_python,
    },
    Foreign {
        what: "LLVM IR",
        helps: &[],
        starts: |start| {
            let words = ["; ModuleID", "source_filename =", "target datalayout =", "target triple ="];
            words.iter().any(|word| begins(start, word.as_bytes()))
        },
    },
    Foreign {
        what: "a module of MLIR",
        helps: &["make a model of ONNX of the network that it is from"],
        starts: |start| {
            let words =
                ["module {", "module @", "module attributes", "builtin.module", "\"builtin.module\"", "func.func @", "#map"];
            words.iter().any(|word| behind_comments(start).starts_with(word.as_bytes()))
        },
    },
    Foreign {
        what: "a graph of Graphviz",
        helps: &["`dot -Tsvg {} > net.svg` draws it"],
        starts: |start| [&b"digraph"[..], b"graph {", b"strict digraph"].iter().any(|word| begins(start, word)),
    },
    Foreign { what: "a file of settings in TOML", helps: &[], starts: is_toml },
    Foreign { what: "YAML", helps: &[], starts: |start| start.starts_with(b"---\n") || start.starts_with(b"%YAML") },
    Foreign { what: "a text in Markdown", helps: &[], starts: is_markdown },
    Foreign {
        what: "text in UTF-16",
        helps: &["save it as UTF-8: `iconv -f UTF-16 -t UTF-8 {} > NET.relay`"],
        starts: |start| start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff"),
    },
];

const FROM_KERAS: &str = "make a model of ONNX of it in Python: `tf2onnx.convert.from_keras(keras.models.load_model(\"{}\"), \
                          output_path=\"net.onnx\")`";

const AS_PNG: &str = "relayc reads PNG and JPEG: `magick {} picture.png`";

/// Whether the bytes start as a model of ONNX does: the version of its form, then another field of the message. The second field
/// is often the name of the producer; a model of Core ML has a message there, whose first byte no name has.
fn is_onnx(start: &[u8]) -> bool {
    match start {
        [8, 1..=32, 0x12, _, first, ..] => first.is_ascii_graphic(),
        [8, 1..=32, field, ..] => matches!(field, 0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42 | 0x72),
        _ => false,
    }
}

/// Whether the bytes start as a file of `torch.save` does: a zip archive with a pickle in it, or the pickle of a magic number.
fn is_torch(start: &[u8]) -> bool {
    const MAGIC: &[u8] = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let of_torch =
        |name: &[u8]| name.ends_with(b"/data.pkl") || name.ends_with(b"/version") || name.ends_with(b"/.format_version");
    first_entry(start).is_some_and(of_torch) || start.get(2..).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// The name of the first entry of a zip archive.
fn first_entry(start: &[u8]) -> Option<&[u8]> {
    let header = start.strip_prefix(b"PK\x03\x04")?;
    let &[low, high] = header.get(22..24)? else { return None };
    header.get(26..)?.get(..usize::from(u16::from_le_bytes([low, high])))
}

/// Whether the bytes start with this text in upper or lower case, after blanks.
fn begins(start: &[u8], text: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    start.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
}

/// What stands behind blanks and comments, as C and Relay write them.
fn behind_comments(mut start: &[u8]) -> &[u8] {
    loop {
        start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        let end: &[u8] = match start {
            [b'/', b'/', ..] => b"\n",
            [b'/', b'*', ..] => b"*/",
            _ => return start,
        };
        let behind = start.get(2..).and_then(|rest| {
            let at = rest.windows(end.len()).position(|found| found == end)?;
            rest.get(at..)?.strip_prefix(end)
        });
        let Some(behind) = behind else { return &[] };
        start = behind;
    }
}

/// The lines of a text that are not blank and no comments, as Python, TOML and others write them.
fn lines(start: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_comment = |line: &[u8]| line.starts_with(b"#") && !line.starts_with(b"#[");
    start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(move |line| !line.is_empty() && !is_comment(line))
}

/// Whether a definition of Relay stands at the beginning of a line: what else is in the text is meant for Relay then.
fn defines(start: &[u8]) -> bool {
    lines(start).any(|line| [&b"def @"[..], b"#[version", b"#[metadata"].iter().any(|word| line.starts_with(word)))
}

/// Whether the first statement is one that imports, or a class, and nothing is Relay.
fn is_python(start: &[u8]) -> bool {
    let mut lines = lines(start).skip_while(|line| line.starts_with(b"@"));
    let Some(first) = lines.next() else { return false };
    let ends_in_colon = first.ends_with(b":") && first.contains(&b'(');
    let is_statement = first.starts_with(b"import ")
        || first.starts_with(b"from ") && first.windows(8).any(|word| word == b" import ")
        || first.starts_with(b"class ") && ends_in_colon
        || first.starts_with(b"\"\"\"");
    is_statement && !defines(start)
}

/// Whether the first line is `[section]` or `[[section]]`, or `key = "text"`.
fn is_toml(start: &[u8]) -> bool {
    let Some(first) = lines(start).next() else { return false };
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let inside = first.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    let inside = inside.map(|inside| inside.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or(inside));
    inside.is_some_and(|name| name.first().is_some_and(u8::is_ascii_alphabetic) && name.iter().all(is_name))
}

/// Whether the text begins with a title above a blank line, and nothing is Relay.
fn is_markdown(start: &[u8]) -> bool {
    let mut lines = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.next().is_some_and(|title| title.starts_with(b"# ")) && lines.next() == Some(b"") && !defines(start)
}

/// Whether bytes are no text in any encoding: one of sixteen is a control character that no text has.
pub fn is_binary(bytes: &[u8]) -> bool {
    let beginning = bytes.get(..BEGINNING).unwrap_or(bytes);
    let is_control = |byte: u8| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c' | b'\x1b');
    let n = beginning.iter().filter(|&&byte| is_control(byte)).count();
    n >= FEWEST && n >= beginning.len() / 16
}

/// So many bytes decide whether a file is text.
const BEGINNING: usize = 4096;
/// A text may have fewer control characters by accident.
const FEWEST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_not_foreign() {
        for text in [
            "",
            "let %x = 1; %x",
            "BM",
            "PK",
            "é",
            "<",
            "\x08",
            "type T[A] { N, }",
            "// <html>",
            "version",
            "# a\n%x",
            "# a\n\ndef @main() { 1 }",
            "[1]",
            "[version = \"0.0.5\"]",
            "import tvm\ndef @main() { 1 }",
            "import",
            "class",
            "%x[0]",
            "/* #if",
        ] {
            assert!(Foreign::of(text.as_bytes()).is_none() && !is_binary(text.as_bytes()), "{text:?}");
        }
        for text in ["#[version = \"0.0.5\"]\n", "\n def @main() { 1 }", "free_var %x: int32;\n%x"] {
            assert_eq!(Foreign::of(text.as_bytes()).map(|kind| kind.what), Some(PROGRAM), "{text:?}");
        }
    }

    #[test]
    fn texts_of_other_languages_are_told_by_their_first_line() {
        for (text, what) in [
            ("/* A\n * B */\n// C\n#ifndef X_H", "a source file of C"),
            ("#!/bin/sh\necho", "a script"),
            ("# A comment.\nimport numpy as np\nprint(1)", "a program of Python"),
            ("from tvm.script import ir as I\n@I.ir_module\nclass M: pass", "a program of Python"),
            ("@I.ir_module\nclass M(X):\n  pass", "a program of Python"),
            ("; ModuleID = 'x'", "LLVM IR"),
            ("module {\n", "a module of MLIR"),
            ("digraph G {", "a graph of Graphviz"),
            ("# settings\n[format]\nwidth = 80", "a file of settings in TOML"),
            ("[[bin]]", "a file of settings in TOML"),
            ("---\na: 1", "YAML"),
            ("# A title\n\nWords.", "a text in Markdown"),
        ] {
            assert_eq!(Foreign::of(text.as_bytes()).map(|kind| kind.what), Some(what), "{text:?}");
        }
    }

    #[test]
    fn control_characters_make_a_file_binary() {
        assert!(is_binary(&[0; 16]) && !is_binary(&[0; 3]));
        assert!(!is_binary(&[0xe9; 100]) && !is_binary(&[b"\0\0\0\0", &[b'a'; 100][..]].concat()));
    }
}
