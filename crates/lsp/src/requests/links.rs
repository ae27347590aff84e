//! Links: files that `// run:` lines and those that continue them name, `@x.npy`.

use super::Cx;
use lsp_types::{DocumentLink, DocumentLinkParams, Uri};
use relayc_base::Span;

pub(super) fn links(cx: &mut Cx, _: DocumentLinkParams) -> Option<Vec<DocumentLink>> {
    let file = cx.checked.whole().file;
    let mut links = vec![];
    let mut goes_on = false;
    for &comment in &cx.checked.analysis.lexed.comments {
        let line = cx.checked.slice(comment).to_owned();
        let is_run = line.trim_start_matches(['/', ' ']).starts_with("run:");
        // A line goes on in the next one, which begins with three blanks.
        goes_on = is_run || (goes_on && line.starts_with("//   "));
        if !goes_on {
            continue;
        }
        for (at, name) in files(&line) {
            let start = comment.start as usize + at;
            let span = Span::new(file, start, start + name.len());
            let Some(target) = beside(cx.uri, name) else { continue };
            links.push(DocumentLink { range: cx.range(span), target: Some(target), tooltip: None, data: None });
        }
    }
    Some(links)
}

/// The names of files in a line, `@name.ending`, with where each begins. A function is also written with `@`, but has no ending.
fn files(line: &str) -> Vec<(usize, &str)> {
    let starts = line.match_indices('@').map(|(at, _)| at + 1);
    let name = |at: usize| {
        let rest = &line[at..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._-/".contains(c))).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches(['.', '/']);
        let ending = name.rsplit('/').next().and_then(|last| last.rsplit_once('.'));
        ending.is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty()).then_some((at, name))
    };
    starts.filter_map(name).collect()
}

/// A file named from the folder of a text.
fn beside(uri: &Uri, name: &str) -> Option<Uri> {
    let text = uri.as_str();
    let folder = &text[..=text.rfind('/')?];
    let target = if name.starts_with('/') { format!("file://{name}") } else { format!("{folder}{name}") };
    target.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_have_endings() {
        let line = "// run: @main(@x.npy, @data/b.npz:key) == @y.npy.";
        assert_eq!(files(line).iter().map(|(_, name)| *name).collect::<Vec<_>>(), ["x.npy", "data/b.npz", "y.npy"]);
    }
}
