//! Detects the kind of a file by its first bytes, for files in place of a program.

use super::json::{Json, Object};
use super::{artifact, darknet};

/// A file other than Relay text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A graph of TVM's graph executor.
    GraphJson,
    /// A network of MXNet, `…-symbol.json`.
    MxnetSymbol,
    /// A network of Darknet, `….cfg`.
    DarknetCfg,
    /// A node of TVM, as `tvm.ir.save_json` writes it.
    NodeJson,
    /// Other JSON, or a file that looks like it.
    Json,
    /// A tar archive.
    Archive,
    /// An executable or a shared object, possibly an artifact.
    Elf,
}

/// The kind of a file; `None` for a possible program, and for weights.
pub fn kind(bytes: &[u8]) -> Option<Kind> {
    if relayc_weights::tar::is_tar(bytes) {
        return Some(Kind::Archive);
    }
    if artifact::is_elf(bytes) {
        return Some(Kind::Elf);
    }
    if begins_with_section(bytes) {
        return Some(Kind::DarknetCfg);
    }
    // No Relay text begins with a brace and a string.
    let mut start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).iter().filter(|byte| !byte.is_ascii_whitespace());
    if (start.next(), start.next()) != (Some(&b'{'), Some(&b'"')) {
        return None;
    }
    let top = Json::new("", bytes).and_then(|json| json.object("object")).ok();
    Some(top.map_or(Kind::Json, |top| kind_of(&top)))
}

/// Whether the first line that is no comment is `[word]`, a section of Darknet: no Relay text has such a line first. Comments begin
/// with `#` or `;`, where Relay has only `#[`.
fn begins_with_section(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.into_iter().find(|line| match line {
        [] | [b';', ..] => false,
        [b'#', rest @ ..] => rest.first() == Some(&b'['),
        _ => true,
    });
    let inside = first
        .and_then(|line| line.strip_prefix(b"["))
        .and_then(|line| line.split(|&byte| byte == b']').next().filter(|inside| inside.len() < line.len()));
    inside.and_then(|inside| std::str::from_utf8(inside).ok()).is_some_and(|inside| darknet::is_section(inside.trim()))
}

fn kind_of(top: &Object) -> Kind {
    if top.get("nodes").is_none() || top.get("heads").is_none() {
        return if top.get("nodes").is_some() && top.get("root").is_some() { Kind::NodeJson } else { Kind::Json };
    }
    let attrs = top.get("attrs").and_then(|attrs| attrs.object("object").ok());
    if attrs.is_some_and(|attrs| attrs.get("dltype").is_some()) { Kind::GraphJson } else { Kind::MxnetSymbol }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_says_what_it_is() {
        assert_eq!(kind(b"#[version = \"0.0.5\"]"), None);
        assert_eq!(kind(b"{ let %x = 1; %x }"), None);
        assert_eq!(kind(b""), None);
        assert_eq!(kind(b"\x7fELF\x02\x01\x01"), Some(Kind::Elf));
        assert_eq!(kind(b" {\n \"nodes\": "), Some(Kind::Json));
        assert_eq!(kind(b"{\"a\": 1}"), Some(Kind::Json));
        assert_eq!(kind(b"# a network\r\n\r\n; of Darknet\n[net]\nwidth=1"), Some(Kind::DarknetCfg));
        assert_eq!(kind(b"[net"), None);
        assert_eq!(kind(b"[format]\nwidth = 80"), None);
        assert_eq!(kind(b"[1, 2]"), None);
        assert_eq!(kind(b"{\"root\": 1, \"nodes\": [], \"b64ndarrays\": []}"), Some(Kind::NodeJson));
        assert_eq!(kind(b"{\"nodes\": [], \"heads\": []}"), Some(Kind::MxnetSymbol));
        assert_eq!(
            kind(b"{\"nodes\": [], \"heads\": [], \"attrs\": {\"mxnet_version\": [\"int\", 10700]}}"),
            Some(Kind::MxnetSymbol)
        );
        assert_eq!(kind(b"{\"nodes\": [], \"heads\": [], \"attrs\": {\"dltype\": []}}"), Some(Kind::GraphJson));
    }
}
