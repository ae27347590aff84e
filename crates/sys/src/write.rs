//! Writes files completely or not at all.

#[cfg(feature = "linux")]
mod linux;
#[cfg(not(feature = "linux"))]
mod plain;

use super::signals::{self, Watched, watch};
use super::{errors, is_standard, stdout_with, unless_broken_pipe};
#[cfg(feature = "linux")]
use linux::keep_owner;
#[cfg(not(feature = "linux"))]
use plain::keep_owner;
use relayc_base::diag::Diagnostic;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

const PREFIX: &str = ".relayc-";
const SUFFIX: &str = ".tmp";

/// Age at which a temporary file belongs to a process that died.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// How bytes reach their destination.
enum Target {
    /// `-`.
    StandardOutput,
    /// A device or a pipe is written directly: it cannot be renamed over.
    Direct,
    /// A file in an existing folder, with what is known of the file if it exists.
    Replace { path: PathBuf, folder: PathBuf, old: Option<Box<Metadata>> },
}

/// The content of a file.
pub enum Content<'a> {
    Bytes(&'a [u8]),
    /// Bytes produced while writing. The outer error is that of writing; the inner one comes from producing, and nothing is
    /// written.
    Made(Make<'a>),
}

/// Produces the bytes of a file.
pub(crate) type Make<'a> = Box<dyn FnOnce(&mut dyn Write) -> std::io::Result<Result<(), Diagnostic>> + 'a>;

impl Content<'_> {
    fn write(self, out: &mut dyn Write) -> std::io::Result<Result<(), Diagnostic>> {
        match self {
            Content::Bytes(bytes) => out.write_all(bytes).map(Ok),
            Content::Made(make) => make(out),
        }
    }
}

/// Checks that no file to be written is one of the files that were read, by any path or link. Errors: E0702, which names the
/// file's role with `of`.
pub fn replaces_none(written: &[&Path], read: &[&Path], of: &str) -> Result<(), Diagnostic> {
    let place = |path: &&Path| path.canonicalize().ok().filter(|_| !is_standard(path));
    let read: Vec<PathBuf> = read.iter().filter_map(place).collect();
    match written.iter().find(|path| place(path).is_some_and(|path| read.contains(&path))) {
        Some(path) => Err(errors::replaced(path, of)),
        None => Ok(()),
    }
}

/// As [`write_all`], for bytes in memory.
pub fn write_atomic(files: &[(&Path, &[u8])]) -> Result<(), Diagnostic> {
    write_all(files.iter().map(|&(path, bytes)| (path, Content::Bytes(bytes))).collect())
}

/// When a file was written last, and its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version(Option<(SystemTime, u64)>);

impl Version {
    /// Of the file at a path; devices, pipes and missing files have none.
    pub fn of(path: &Path) -> Version {
        let metadata = fs::metadata(path).ok().filter(Metadata::is_file);
        Version(metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len()))))
    }
}

/// Replaces a text as [`write_all`], unless the file has changed since this version, from which the new text was made. Errors: E0702.
pub fn rewrite(path: &Path, read: Version, text: &str) -> Result<(), Diagnostic> {
    if Version::of(path) != read {
        return Err(errors::refused(path.display(), "it has changed since it was read").help("run the command again"));
    }
    write_atomic(&[(path, text.as_bytes())])
}

/// Writes all files, or none: on an error the old contents stay and no temporary remains. Links keep their targets, and files
/// keep their owners and modes. Errors: E0702 with the reason, and errors from producing a content.
///
/// `-` is standard output. Devices and pipes are written last, once all other files are on the disk: their bytes cannot be taken
/// back.
pub fn write_all(files: Vec<(&Path, Content)>) -> Result<(), Diagnostic> {
    let targets = files.iter().map(|&(path, _)| target_of(path)).collect::<Result<Vec<Target>, _>>()?;
    check_distinct(&targets)?;
    signals::prepare();
    let mut written: Vec<((NamedTempFile, Watched), &PathBuf, &PathBuf)> = Vec::new();
    let mut direct = Vec::new();
    for ((name, content), target) in files.into_iter().zip(&targets) {
        match target {
            Target::Replace { path, folder, old } => {
                remove_stale(folder);
                let file = write_temporary(folder, old.as_deref(), content);
                written.push((file.map_err(|error| errors::unwritable(name.display(), &error))??, path, folder));
            }
            Target::Direct | Target::StandardOutput => direct.push((name, content)),
        }
    }
    for (name, content) in direct {
        if is_standard(name) {
            let mut made = Ok(());
            stdout_with(|| content.write(&mut std::io::stdout().lock()).map(|done| made = done))?;
            made?;
            continue;
        }
        // Appended, since `/dev/stdout` may be a file that already holds something.
        let file = OpenOptions::new().append(true).open(name).map(|file| BufWriter::with_capacity(BUFFER, file));
        let done = file.and_then(|mut file| {
            let made = content.write(&mut file)?;
            file.flush()?;
            Ok(made)
        });
        // A closed pipe is no error, as on standard output.
        let done = done.or_else(|error| unless_broken_pipe(Err(error)).map(Ok));
        done.map_err(|error| errors::unwritable(name.display(), &error))??;
    }
    let mut folders = Vec::new();
    for ((file, _watched), path, folder) in written {
        rename(file, path).map_err(|error| errors::unwritable(path.display(), &error))?;
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    for folder in folders {
        // Some file systems cannot; the files themselves are on the disk.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

/// Gives a temporary its name, or removes it. By the C library, where tests make it fail (tests/suite/faults.rs); `persist` calls the
/// system itself.
pub(super) fn rename(file: NamedTempFile, path: &Path) -> std::io::Result<()> {
    let temporary = file.into_temp_path();
    fs::rename(&temporary, path)?;
    // It has another name by now: there is nothing to keep, and nothing to remove.
    let _ = temporary.keep();
    Ok(())
}

/// Bytes of the buffer that gathers small writes.
const BUFFER: usize = 256 << 10;

/// Whether a path is standard output, a device or a pipe: what was written there is not replaced by what is written later.
pub fn is_stream(path: &Path) -> bool {
    matches!(target_of(path), Ok(Target::StandardOutput | Target::Direct))
}

/// Classifies a path before anything is written.
fn target_of(path: &Path) -> Result<Target, Diagnostic> {
    let failed = |error: &Error| errors::unwritable(path.display(), error);
    if is_standard(path) {
        return Ok(Target::StandardOutput);
    }
    if ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder)) {
        return Ok(Target::Direct);
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(failed(&ErrorKind::IsADirectory.into())),
        Ok(metadata) if !metadata.is_file() => Ok(Target::Direct),
        Ok(metadata) if metadata.permissions().readonly() => Err(errors::refused(path.display(), "it is read-only")),
        Ok(metadata) => {
            // Behind a link, so that the link stays.
            let path = fs::canonicalize(path).map_err(|error| failed(&error))?;
            let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
            Ok(Target::Replace { path, folder, old: Some(Box::new(metadata)) })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => new_file(&behind_links(path)),
        Err(error) => Err(failed(&error)),
    }
}

/// The file that a chain of links leads to, which need not exist.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        let Ok(to) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    path
}

fn new_file(path: &Path) -> Result<Target, Diagnostic> {
    let ends_in_slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if path.file_name().is_none() || ends_in_slash {
        return Err(errors::refused(path.display(), "it names no file"));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    if !folder.is_dir() {
        let what = if folder.exists() { "is no folder" } else { "does not exist" };
        return Err(errors::refused(path.display(), &format!("the folder `{}` {what}", folder.display())));
    }
    Ok(Target::Replace { path: path.to_owned(), folder, old: None })
}

fn check_distinct(targets: &[Target]) -> Result<(), Diagnostic> {
    if targets.iter().filter(|target| matches!(target, Target::StandardOutput)).count() > 1 {
        return Err(errors::refused("-", "two outputs go to standard output"));
    }
    let mut seen = Vec::new();
    for target in targets {
        let Target::Replace { path, folder, .. } = target else { continue };
        // `./x` and `x` are one file: compare the folder resolved.
        let place = (fs::canonicalize(folder).ok(), path.file_name());
        if seen.contains(&place) {
            return Err(errors::refused(path.display(), "two outputs go to this file"));
        }
        seen.push(place);
    }
    Ok(())
}

/// Writes the content to a temporary in the folder; the temporary removes itself unless it is renamed.
fn write_temporary(
    folder: &Path,
    old: Option<&Metadata>,
    content: Content,
) -> std::io::Result<Result<(NamedTempFile, Watched), Diagnostic>> {
    // Watched before it is there, so that no moment is left in which a signal leaves it. Made as any new file is, so that its mode is
    // that of any new file.
    let mut watched = None;
    let create = |path: &Path| {
        let watching = watch(path);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        watched = Some(watching);
        Ok(file)
    };
    let file = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).make_in(folder, create)?;
    if let Some(old) = old {
        keep_owner(file.as_file(), old);
        file.as_file().set_permissions(old.permissions())?;
    }
    let mut out = BufWriter::with_capacity(BUFFER, file);
    if let Err(diagnostic) = content.write(&mut out)? {
        return Ok(Err(diagnostic));
    }
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    let watched = watched.expect("it was watched when it was made");
    Ok(Ok((file, watched)))
}

/// A temporary that only this user can read, in a folder of the user's own.
#[cfg(feature = "linux")]
pub(super) fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    remove_stale(folder);
    tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(folder)
}

/// Removes temporaries of processes that were killed more than a day ago.
fn remove_stale(folder: &Path) {
    let now = SystemTime::now();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        let modified =
            || entry.metadata().ok().filter(|metadata| metadata.is_file()).and_then(|metadata| metadata.modified().ok());
        if ours && modified().and_then(|at| now.duration_since(at).ok()).is_some_and(|age| age > STALE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::diag::codes;

    fn refused(path: &Path, words: &str) {
        let error = write_atomic(&[(path, b"x")]).expect_err(words);
        assert_eq!(error.code, codes::E0702);
        assert!(error.message.contains(words), "{} should say `{words}`", error.message);
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("a folder")
            .map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_somebody_else_has_written_meanwhile_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        fs::write(&path, "one").expect("written");
        let version = Version::of(&path);
        rewrite(&path, version, "two").expect("nobody else writes");
        let version = Version::of(&path);
        fs::write(&path, "three").expect("written");
        let error = rewrite(&path, version, "four").expect_err("it has changed");
        assert_eq!((error.code, fs::read(&path).expect("there")), (codes::E0702, b"three".to_vec()));
        fs::remove_file(&path).expect("there");
        assert!(rewrite(&path, version, "four").is_err() && !path.exists());
        rewrite(&path, Version::of(&path), "new").expect("there was nothing");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_replaced_and_its_mode_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        write_atomic(&[(&path, b"one")]).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("ours");
        // Only root may give a file away; the plain form knows no owners.
        let given = std::os::unix::fs::chown(&path, Some(4_321), Some(4_321)).is_ok();
        write_atomic(&[(&path, b"two")]).expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"two");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o750);
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&path).expect("there"));
        assert_eq!(owner == 4_321, given && cfg!(feature = "linux"));
        assert_eq!(names(folder.path()), ["x"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("x"), folder.path().join("link"));
        fs::write(&path, b"one").expect("written");
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        write_atomic(&[(&link, b"two")]).expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"two");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, link, other] = ["x", "link", "other"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("x", &link).expect("linked");
        std::os::unix::fs::symlink(&link, &other).expect("linked");
        write_atomic(&[(&other, b"one")]).expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"one");
        assert!([link, other].iter().all(|link| fs::symlink_metadata(link).expect("there").is_symlink()));
        let itself = folder.path().join("itself");
        std::os::unix::fs::symlink("itself", &itself).expect("linked");
        assert!(write_atomic(&[(&itself, b"one")]).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_to() {
        assert_eq!(write_atomic(&[(Path::new("/dev/null"), b"x")]), Ok(()));
        refused(Path::new("/dev/full"), "no space left");
    }

    #[test]
    fn nothing_is_left_of_a_failure() {
        let folder = tempfile::tempdir().expect("a folder");
        let (a, b) = (folder.path().join("a"), folder.path().join("none/b"));
        fs::write(&a, b"old").expect("written");
        assert!(write_atomic(&[(&a, b"new"), (&b, b"new")]).is_err());
        assert!(write_atomic(&[(&a, b"new"), (Path::new("/dev/full"), b"new")]).is_err());
        assert!(write_atomic(&[(&a, b"new"), (folder.path(), b"new")]).is_err());
        assert_eq!(fs::read(&a).expect("there"), b"old");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn content_that_is_made_is_whole_or_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&a, b"old").expect("written");
        let some = |out: &mut dyn Write| out.write_all(b"some");
        let refusal = Diagnostic::new(codes::E0703, "no more");
        let made: Make = Box::new(|out| some(out).map(|()| Err(refusal.clone())));
        assert_eq!(write_all(vec![(&b, Content::Bytes(b"new")), (&a, Content::Made(made))]), Err(refusal.clone()));
        let made: Make = Box::new(|out| some(out).and(Err(ErrorKind::StorageFull.into())));
        assert_eq!(write_all(vec![(&a, Content::Made(made))]).expect_err("no space").code, codes::E0702);
        assert_eq!((fs::read(&a).expect("there"), names(folder.path())), (b"old".to_vec(), vec!["a".to_owned()]));
        let made: Make = Box::new(|out| some(out).map(Ok));
        assert_eq!(write_all(vec![(&a, Content::Made(made))]), Ok(()));
        assert_eq!((fs::read(&a).expect("there"), names(folder.path())), (b"some".to_vec(), vec!["a".to_owned()]));
    }

    #[test]
    fn each_reason_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, b"").expect("written");
        refused(folder.path(), "it is a directory");
        refused(&folder.path().join("none/x"), "does not exist");
        refused(&folder.path().join("new/"), "names no file");
        refused(Path::new(""), "names no file");
        let mut permissions = fs::metadata(&file).expect("there").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions).expect("ours");
        refused(&file, "read-only");
        let x = folder.path().join("x");
        let again = folder.path().join("./x");
        assert!(write_atomic(&[(&x, b"1"), (&again, b"2")]).expect_err("one file").message.contains("two outputs"));
    }

    #[test]
    fn old_temporaries_are_swept() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, age) in [(".relayc-old.tmp", 2), (".relayc-new.tmp", 0), ("other.tmp", 2)] {
            let file = File::create(folder.path().join(name)).expect("created");
            file.set_modified(SystemTime::now() - STALE * age).expect("ours");
        }
        write_atomic(&[(&folder.path().join("x"), b"")]).expect("written");
        assert_eq!(names(folder.path()), [".relayc-new.tmp", "other.tmp", "x"]);
    }
}
