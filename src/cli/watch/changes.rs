//! What has changed: the system says that something may have, times and sizes of files say whether.

use super::folder_of;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

/// How long nothing may change before a burst of changes is over, and the longest that it is waited for.
const QUIET: Duration = Duration::from_millis(30);
const BURST: Duration = Duration::from_millis(500);

/// How often folders are looked at: whether they are still those that are watched, and, where the system watches none, their files.
const LOOK: Duration = Duration::from_millis(500);

/// The files at one time: of each that is there its time and size.
#[derive(PartialEq, Eq)]
pub(super) struct Form(BTreeMap<PathBuf, Option<(SystemTime, u64)>>);

impl Form {
    pub(super) fn of<'p>(files: impl Iterator<Item = &'p Path>) -> Form {
        Form(BTreeMap::new()).with(files)
    }

    /// With more files; those that are known keep what was seen first.
    pub(super) fn with<'p>(mut self, files: impl Iterator<Item = &'p Path>) -> Form {
        for path in files {
            if !self.0.contains_key(path) {
                let metadata = path.metadata().ok();
                let form = metadata.map(|metadata| (metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len()));
                self.0.insert(path.to_owned(), form);
            }
        }
        self
    }
}

/// A folder that is watched.
#[derive(PartialEq)]
struct Folder {
    is_deep: bool,
    /// When it was made: one that was replaced is another.
    made: Option<SystemTime>,
}

/// Tells when something may have changed.
pub(super) struct Changes {
    /// None where the system cannot watch: then files are looked at.
    watcher: Option<RecommendedWatcher>,
    told: Receiver<()>,
    watched: BTreeMap<PathBuf, Folder>,
    looked: Instant,
}

impl Changes {
    pub(super) fn new() -> Changes {
        let (tell, told) = channel();
        // That something has happened is all that is taken; nobody listens any more when the process ends. To read is no change.
        let handler = move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| event.kind.is_access()) {
                return;
            }
            let _ = tell.send(());
        };
        let config = notify::Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(handler, config).ok();
        Changes { watcher, told, watched: BTreeMap::new(), looked: Instant::now() }
    }

    /// Watches folders at any depth, and the folders of files. Whether they are not those that were watched, so that anything may have
    /// changed.
    pub(super) fn watch<'p>(&mut self, paths: &'p [PathBuf], named: impl Iterator<Item = &'p Path>) -> bool {
        let mut wanted: BTreeMap<PathBuf, Folder> = BTreeMap::new();
        let made = |folder: &Path| folder.metadata().and_then(|metadata| metadata.created()).ok();
        for path in paths.iter().map(PathBuf::as_path).chain(named) {
            let is_deep = path.is_dir();
            let folder = if is_deep { std::path::absolute(path).ok() } else { folder_of(path) };
            let Some(folder) = folder else { continue };
            let made = made(&folder);
            wanted.entry(folder).and_modify(|known| known.is_deep |= is_deep).or_insert(Folder { is_deep, made });
        }
        let deep: Vec<PathBuf> = wanted.iter().filter(|(_, folder)| folder.is_deep).map(|(path, _)| path.clone()).collect();
        wanted.retain(|path, _| !deep.iter().any(|deep| path != deep && path.starts_with(deep)));
        self.looked = Instant::now();
        if self.watched == wanted {
            return self.watcher.is_none();
        }
        let Some(watcher) = &mut self.watcher else { return true };
        for folder in self.watched.extract_if(.., |path, folder| wanted.get(path) != Some(folder)).map(|(path, _)| path) {
            // One that has gone is not watched any more.
            let _ = watcher.unwatch(&folder);
        }
        wanted.retain(|path, _| !self.watched.contains_key(path));
        for (path, folder) in wanted {
            let mode = if folder.is_deep { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            match watcher.watch(&path, mode) {
                Ok(()) => drop(self.watched.insert(path, folder)),
                // There may be too many: from here on they are looked at.
                Err(_) if path.is_dir() => {
                    (self.watcher, self.watched) = (None, BTreeMap::new());
                    return true;
                }
                Err(_) => {}
            }
        }
        true
    }

    /// Whether the folders have not been looked at for a while.
    pub(super) fn is_time_to_look(&self) -> bool {
        self.looked.elapsed() >= LOOK
    }

    /// Waits for a while: whether something may have changed, when the changes are over.
    pub(super) fn wait(&mut self, time: Duration) -> bool {
        match self.told.recv_timeout(time) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(time);
                return false;
            }
        }
        let start = Instant::now();
        while start.elapsed() < BURST && self.told.recv_timeout(QUIET).is_ok() {}
        true
    }
}
