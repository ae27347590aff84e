//! The index of symbols: functions, types and constructors of all programs in the folders of the workspace.
//!
//! It lives on a thread of its own, which reads files and answers in the order it is told. Files are parsed, no more. Promises to end
//! and to survive any folder: links are not followed, and there are limits for the number of files, their size and all symbols.

use crate::paths::{path_of, uri_of};
use crate::requests::symbols::{Found, symbols_of};
use crate::text::{Encoding, Text};
use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{ErrorCode, Message, Request, Response};
use lsp_types::{Location, SymbolInformation, Uri, WorkspaceSymbolParams};
use relayc_base::FileId;
use relayc_driver::programs;
use relayc_sys::{self as sys, Limit};
use rustc_hash::{FxHashMap, FxHashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

/// The largest file that is read, and the symbols that are kept.
const MAX_FILE: u64 = 4 << 20;
const MAX_SYMBOLS: usize = 500_000;

/// The symbols of one answer: nobody reads more.
const MAX_ANSWER: usize = 512;

/// What the index is told.
pub(crate) enum Task {
    /// These are the folders now.
    Folders(Vec<PathBuf>),
    /// Files have changed.
    Changed,
    /// A text is open, and counts in place of its file; or it was closed.
    Open(Uri, Option<Text>),
    /// `workspace/symbol`.
    Ask(Request),
}

/// The way to the thread; without one nothing is indexed.
#[derive(Default)]
pub(crate) struct Index(Option<(Sender<Task>, Arc<()>)>);

impl Index {
    /// Starts the thread. `is_told` says whether the client tells of files that change; otherwise they are looked at for each question.
    pub(crate) fn start(encoding: Encoding, is_told: bool, answers: Sender<Message>) -> Index {
        let (send, tasks) = unbounded();
        let is_wanted = Arc::new(());
        let symbols = Symbols {
            encoding,
            is_told,
            folders: vec![],
            files: FxHashMap::default(),
            open: FxHashMap::default(),
            is_stale: true,
            wanted: Arc::downgrade(&is_wanted),
        };
        let thread = std::thread::Builder::new().name("index".to_owned());
        Index(thread.spawn(move || symbols.serve(&tasks, &answers)).ok().map(|_| (send, is_wanted)))
    }

    pub(crate) fn send(&self, task: Task) {
        if let Some((thread, _)) = &self.0 {
            let _ = thread.send(task);
        }
    }

    /// Whether there is a thread that answers.
    pub(crate) fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

/// A file, as it was when it was read.
struct File {
    uri: Uri,
    form: (Option<SystemTime>, u64),
    found: Vec<Found>,
}

/// An open text.
struct Open {
    uri: Uri,
    text: Text,
    /// Its symbols, once they were asked for.
    found: Option<Vec<Found>>,
}

struct Symbols {
    encoding: Encoding,
    is_told: bool,
    folders: Vec<PathBuf>,
    files: FxHashMap<PathBuf, File>,
    /// Open texts, by their addresses as the client writes them.
    open: FxHashMap<String, Open>,
    /// Whether files may have changed since they were read.
    is_stale: bool,
    /// Gone when nobody asks any more.
    wanted: Weak<()>,
}

impl Symbols {
    fn serve(mut self, tasks: &Receiver<Task>, answers: &Sender<Message>) {
        for task in tasks {
            match task {
                Task::Folders(folders) => {
                    self.folders = folders;
                    self.is_stale = true;
                }
                Task::Changed => self.is_stale = true,
                Task::Open(uri, Some(text)) => drop(self.open.insert(uri.to_string(), Open { uri, text, found: None })),
                Task::Open(uri, None) => drop(self.open.remove(uri.as_str())),
                Task::Ask(request) => {
                    if answers.send(self.answer(request).into()).is_err() {
                        return;
                    }
                }
            }
            // The first question finds the files read.
            if tasks.is_empty() && self.is_stale && self.is_told {
                self.look();
            }
        }
    }

    fn answer(&mut self, request: Request) -> Response {
        let params: WorkspaceSymbolParams = match serde_json::from_value(request.params) {
            Ok(params) => params,
            Err(error) => return Response::new_err(request.id, ErrorCode::InvalidParams as i32, error.to_string()),
        };
        if self.is_stale || !self.is_told {
            self.look();
        }
        Response::new_ok(request.id, self.matching(&params.query))
    }

    /// Reads the files that are new or have changed, and forgets those that have gone.
    fn look(&mut self) {
        self.is_stale = false;
        let mut before = std::mem::take(&mut self.files);
        let mut n_symbols = 0;
        for path in self.folders.iter().flat_map(|folder| programs::below(folder)) {
            if self.wanted.strong_count() == 0 {
                return;
            }
            let Some(uri) = uri_of(&path) else { continue };
            // Of the entry itself: a link that took its place is not followed.
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if !metadata.is_file() || metadata.len() > MAX_FILE || n_symbols > MAX_SYMBOLS {
                continue;
            }
            let form = (metadata.modified().ok(), metadata.len());
            let file = before.remove(&path).filter(|file| form.0.is_some() && file.form == form);
            let file = file.unwrap_or_else(|| File { uri, form, found: self.read(&path) });
            n_symbols += file.found.len();
            self.files.insert(path, file);
        }
    }

    /// The symbols of a file; none of one that has gone or is no text.
    fn read(&self, path: &Path) -> Vec<Found> {
        let limit = Limit { bytes: MAX_FILE, set_by: None, ..Limit::source() };
        let text = sys::read_file(path, limit).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text.map_or(vec![], |text| found_in(&Text::new(&text, self.encoding)))
    }

    /// The symbols whose names hold the letters of a query in order, the best first.
    fn matching(&mut self, query: &str) -> Vec<SymbolInformation> {
        for Open { text, found, .. } in self.open.values_mut() {
            found.get_or_insert_with(|| found_in(text));
        }
        let open = self.open.values().filter_map(|open| Some((&open.uri, open.found.as_ref()?)));
        // The client may write an address in another way.
        let opened: FxHashSet<PathBuf> = self.open.values().filter_map(|open| path_of(&open.uri)).collect();
        let closed = self.files.iter().filter(|(path, _)| !opened.contains(*path)).map(|(_, file)| (&file.uri, &file.found));
        let query: Vec<char> = query.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
        let mut best = vec![];
        for (uri, found) in open.chain(closed) {
            best.extend(found.iter().filter_map(|found| Some((rank(&query, &found.name)?, &found.name, uri, found))));
        }
        let place = |found: &Found| (found.range.start.line, found.range.start.character);
        best.sort_by(|a, b| (a.0, a.1, a.2.as_str(), place(a.3)).cmp(&(b.0, b.1, b.2.as_str(), place(b.3))));
        best.truncate(MAX_ANSWER);
        best.into_iter().map(|(_, _, uri, found)| information(uri, found)).collect()
    }
}

fn found_in(text: &Text) -> Vec<Found> {
    let parse = || {
        let (ast, _) = relayc_syntax::parse(FileId(0), text.text.clone());
        symbols_of(&ast, text)
    };
    // A bug in one file leaves the others.
    catch_unwind(AssertUnwindSafe(parse)).unwrap_or_default()
}

/// How well a name fits the letters of a query: 0 the name, 1 its beginning, 2 a part, 3 letters in order. None if they are not in it.
fn rank(query: &[char], name: &str) -> Option<u8> {
    let name: Vec<char> = name.trim_start_matches(['@', '%']).chars().flat_map(char::to_lowercase).collect();
    let query = if let ['@' | '%', rest @ ..] = query { rest } else { query };
    if name == query {
        return Some(0);
    }
    if name.starts_with(query) {
        return Some(1);
    }
    if name.windows(query.len().max(1)).any(|part| part == query) {
        return Some(2);
    }
    let mut letters = name.iter();
    query.iter().all(|wanted| letters.any(|letter| letter == wanted)).then_some(3)
}

fn information(uri: &Uri, found: &Found) -> SymbolInformation {
    #[allow(deprecated, reason = "the field must be there")]
    SymbolInformation {
        name: found.name.clone(),
        kind: found.kind,
        tags: None,
        deprecated: None,
        location: Location { uri: uri.clone(), range: found.range },
        container_name: found.container.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ranked() {
        let rank = |query: &str, name: &str| rank(&query.chars().collect::<Vec<_>>(), name);
        assert_eq!(
            [rank("main", "@main"), rank("@ma", "@main"), rank("ai", "@main"), rank("mn", "@main")],
            [Some(0), Some(1), Some(2), Some(3)]
        );
        assert_eq!([rank("nm", "@main"), rank("", "@main"), rank("x", "")], [None, Some(1), None]);
    }
}
