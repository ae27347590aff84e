//! Decodes bytes as UTF-8 text.

use super::errors;
use relayc_base::diag::Diagnostic;
use relayc_base::{FileId, Span};

/// Limit of bad places that are reported.
const MAX_REPORTS: usize = 20;

/// Reads bytes as UTF-8; bad bytes become U+FFFD and are reported at their place in the returned text.
pub fn decode(file: FileId, bytes: &[u8]) -> (String, Vec<Diagnostic>) {
    let mut text = String::with_capacity(bytes.len());
    let mut reports = vec![];
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            let start = text.len();
            text.push(char::REPLACEMENT_CHARACTER);
            if reports.len() < MAX_REPORTS {
                reports.push(errors::not_utf8(Span::new(file, start, text.len()), chunk.invalid()));
            }
        }
    }
    (text, reports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_bytes_are_shown_and_reported() {
        let (text, reports) = decode(FileId(0), b"a\xe9 \xc3\xa9\xff");
        assert_eq!(text, "a\u{fffd} é\u{fffd}");
        let places: Vec<_> = reports.iter().map(|report| (report.span().start, report.span().end)).collect();
        assert_eq!(places, [(1, 4), (7, 10)]);
        assert!(reports[0].message.contains("0xe9"));
    }
}
