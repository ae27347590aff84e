//! `--cache`: compiled programs, with their packed weights, kept on disk for the next start.
//!
//! A program is kept as an artifact (`build`), whose name is the digest of all that its bytes depend on ([`key`]). So it is never
//! out of date: a program that has changed has another name. The folder and its files are the user's own ([`PrivateFolder`]).
//!
//! An artifact is loaded only if its checksum is right and it says the same key. Once compared, its checksum is not compared again
//! as long as the system says that the file has not been changed ([`Identity`]); the record beside it has that. A record's own
//! time is that of the last use, by which programs make room for others. Whatever is wrong with the cache is a warning, and the
//! program is compiled as without it.

pub(crate) mod digests;
mod image;
mod key;

pub use image::{Ports, ports};
pub use key::{Key, Wanted};

use super::artifact::{self, Artifact, Integrity};
use super::compile::Compiled;
use relayc_base::diag::{Diagnostic, Severity, codes};
use relayc_base::text::thousands;
use relayc_sys::{Identity, PrivateFolder};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The bytes of all kept programs, unless another limit is given: 4 GiB.
pub const DEFAULT_BYTES: u64 = 4 << 30;

/// The cache of this user.
pub struct Cache {
    folder: PrivateFolder,
}

/// What the cache has for a program.
pub struct Lookup {
    pub artifact: Option<Artifact>,
    /// The place of the program, if it has one: its files can be told apart from all others.
    pub key: Option<Key>,
    /// What is wrong with files of the cache.
    pub warnings: Vec<Diagnostic>,
}

/// A kept program.
pub struct Entry {
    /// The digest that is its name.
    pub digest: String,
    pub bytes: u64,
    /// What it was compiled from, in a line.
    pub what: String,
    used: SystemTime,
}

/// The endings of a kept program's two files.
const ARTIFACT: &str = ".so";
const RECORD: &str = ".json";

/// The schema of records.
const SCHEMA: &str = "relayc.cached/1";

impl Cache {
    /// Opens the cache of this user: `relayc` in `XDG_CACHE_HOME`, or in `~/.cache`. Errors: W0017, if it is not there and cannot be
    /// made, or is not private.
    pub fn open() -> Result<Cache, Diagnostic> {
        let path = path()
            .ok_or_else(|| unusable("the cache has no place", "neither `XDG_CACHE_HOME` nor `HOME` is the path of a folder"))?;
        let folder = PrivateFolder::open(&path).map_err(|why| {
            unusable(&format!("the cache `{}` is not used", path.display()), &why)
                .help("it has to be a folder of your own, with mode 0700: nobody else may put code there")
        })?;
        Ok(Cache { folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Looks a program up.
    pub fn find(&self, wanted: &Wanted) -> Lookup {
        let mut warnings = vec![];
        let key = key::of(&self.folder, wanted, &mut warnings);
        let artifact = key.as_ref().and_then(|key| match self.artifact(key) {
            Ok(artifact) => artifact,
            Err(why) => {
                warnings.push(self.ignored(&format!("{}{ARTIFACT}", key.digest()), &why));
                None
            }
        });
        Lookup { artifact, key, warnings }
    }

    fn ignored(&self, name: &str, why: &str) -> Diagnostic {
        ignored(&self.folder, name, why)
    }

    /// The artifact of a key, if there is one. Errors: why it is not used, in words.
    fn artifact(&self, key: &Key) -> Result<Option<Artifact>, String> {
        let name = format!("{}{ARTIFACT}", key.digest());
        let Some(file) = self.folder.file(&name)? else { return Ok(None) };
        let identity = Identity::of(&file).map_err(|error| error.to_string())?;
        let record = self.record(key.digest());
        let is_known = record.as_ref().is_some_and(|(_, record)| identity_in(record) == Some(identity));
        let integrity = if is_known { Integrity::Known } else { Integrity::Checked };
        let artifact = artifact::of_file(&name, &file, integrity)
            .map_err(|wrong| wrong.message.trim_start_matches(&format!("`{name}`: ")).to_owned())?;
        if artifact.description.source != key.text() {
            return Err("it is of another program".to_owned());
        }
        match record {
            // The time of its last use.
            Some((file, _)) if is_known => drop(file.set_modified(SystemTime::now())),
            // Without it the checksum is compared each time.
            _ => drop(self.write_record(key, &identity)),
        }
        Ok(Some(artifact))
    }

    /// The record of an artifact, if there is a sound one.
    fn record(&self, digest: &str) -> Option<(File, Value)> {
        let file = self.folder.file(&format!("{digest}{RECORD}")).ok()??;
        let record: Value = serde_json::from_str(&std::io::read_to_string(&file).ok()?).ok()?;
        (record["schema"] == SCHEMA).then_some((file, record))
    }

    fn write_record(&self, key: &Key, identity: &Identity) -> Result<(), String> {
        let Identity { device, inode, bytes, written, changed } = identity;
        let identity = [device.to_string(), inode.to_string(), bytes.to_string(), written.to_string(), changed.to_string()];
        let record = json!({ "schema": SCHEMA, "what": key.what(), "identity": identity });
        self.folder.write(&format!("{}{RECORD}", key.digest()), format!("{record}\n").as_bytes())
    }

    /// Keeps a program, and removes those that were not used for longest until all have at most `limit` bytes.
    ///
    /// Errors: W0017, if it cannot be written or is too large. `Ok(Some(…))` says in words why the program is none to keep.
    pub fn keep(&self, key: &Key, compiled: &Compiled, ports: &Ports, limit: u64) -> Result<Option<&'static str>, Diagnostic> {
        let not_kept = |why: &str| unusable("the compiled program is not kept", why);
        if !key.is_current() {
            return Ok(Some("its files changed meanwhile"));
        }
        let image = match image::of(compiled, key.isa(), ports, key.text()) {
            Ok(image) => image,
            Err(why) => return Ok(Some(why)),
        };
        if image.len() as u64 > limit {
            let why = format!("it has {} bytes, the limit is {}", thousands(image.len() as u64), thousands(limit));
            return Err(not_kept(&why).help("`--cache-size 8G` sets another limit"));
        }
        let name = format!("{}{ARTIFACT}", key.digest());
        let write = || {
            self.folder.write(&name, &image)?;
            let file = self.folder.file(&name)?.ok_or("it has been removed")?;
            self.write_record(key, &Identity::of(&file).map_err(|error| error.to_string())?)
        };
        write().map_err(|why: String| not_kept(&why).note(format!("the cache is `{}`", self.path().display())))?;
        self.make_room(limit, key.digest());
        Ok(None)
    }

    /// Removes programs, the one first that was not used for longest, until all have at most `limit` bytes; `kept` stays.
    fn make_room(&self, limit: u64, kept: &str) {
        let entries = self.entries();
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries.iter().rev().filter(|entry| entry.digest != kept) {
            if bytes <= limit {
                break;
            }
            self.remove(entry);
            bytes -= entry.bytes;
        }
    }

    fn remove(&self, entry: &Entry) -> bool {
        self.folder.remove(&format!("{}{RECORD}", entry.digest));
        self.folder.remove(&format!("{}{ARTIFACT}", entry.digest))
    }

    /// The kept programs, the last used first.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |name: String| {
            let digest = name.strip_suffix(ARTIFACT)?.to_owned();
            let metadata = std::fs::symlink_metadata(self.path().join(&name)).ok()?;
            let record = self.record(&digest);
            let used = record.as_ref().and_then(|(file, _)| file.metadata().ok()?.modified().ok());
            let what = record.as_ref().and_then(|(_, record)| record["what"].as_str()).unwrap_or("?").to_owned();
            // One without a record goes first.
            Some(Entry { digest, bytes: metadata.len(), what, used: used.unwrap_or(SystemTime::UNIX_EPOCH) })
        };
        let mut entries: Vec<Entry> = self.folder.names().into_iter().filter_map(entry).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        entries
    }

    /// Removes all kept programs, and what is known of files. Returns the number of programs and their bytes.
    pub fn clear(&self) -> (usize, u64) {
        let removed: Vec<u64> = self.entries().iter().filter(|entry| self.remove(entry)).map(|entry| entry.bytes).collect();
        for name in self.folder.names().iter().filter(|name| name.ends_with(RECORD) || *name == digests::NAME) {
            self.folder.remove(name);
        }
        (removed.len(), removed.iter().sum())
    }
}

/// The folder of the cache, by the XDG Base Directory Specification: paths that are not absolute do not count.
fn path() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    Some(caches?.join("relayc"))
}

/// The identity that a record has.
fn identity_in(record: &Value) -> Option<Identity> {
    let word = |at: usize| record["identity"][at].as_str();
    let number = |at: usize| word(at)?.parse().ok();
    Some(Identity {
        device: number(0)?,
        inode: number(1)?,
        bytes: number(2)?,
        written: word(3)?.parse().ok()?,
        changed: word(4)?.parse().ok()?,
    })
}

fn warning(code: relayc_base::diag::Code, message: String) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, ..Diagnostic::new(code, message) }
}

/// W0017.
fn unusable(what: &str, why: &str) -> Diagnostic {
    warning(codes::W0017, format!("{what}: {why}"))
}

/// W0018 for a file of the cache.
fn ignored(folder: &PrivateFolder, name: &str, why: &str) -> Diagnostic {
    let path = folder.path().join(name);
    warning(codes::W0018, format!("`{}` is not used: {why}", path.display())).note("everything is done as without the cache")
}
