//! Addresses of the protocol and paths of files.

use lsp_types::Uri;
use std::path::{Path, PathBuf};

/// The path of an address `file://…`; none of another.
pub(crate) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let is_file = uri.scheme().is_some_and(|scheme| scheme.as_str().eq_ignore_ascii_case("file"));
    let path = uri.path().as_str();
    if !is_file || !path.starts_with('/') {
        return None;
    }
    let mut bytes = vec![];
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|path| !path.contains('\0')).map(PathBuf::from)
}

/// The address of a path.
pub(crate) fn uri_of(path: &Path) -> Option<Uri> {
    let mut text = "file://".to_owned();
    for byte in path.to_str()?.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back() {
        for path in ["/a b/ü%20/語.relay", "/", "/a+b&c/%"] {
            assert_eq!(uri_of(Path::new(path)).and_then(|uri| path_of(&uri)), Some(PathBuf::from(path)));
        }
        let path = |text: &str| text.parse().ok().and_then(|uri| path_of(&uri));
        assert_eq!(path("FILE:///a%2Fb%zz").or(path("file:///a%2fb")), Some(PathBuf::from("/a/b")));
        assert_eq!([path("untitled:Untitled-1"), path("file:///a%00b"), path("file:///%ff")], [None, None, None]);
    }
}
