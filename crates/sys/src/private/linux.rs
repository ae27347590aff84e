//! A folder is opened and stays open; its files are opened in it, and asked for their owner, mode and names.

use crate::confined::open_in;
use crate::write::{rename, temporary};
use std::fs::{self, DirBuilder, File};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A private folder, opened.
pub struct PrivateFolder {
    path: PathBuf,
    folder: File,
}

/// The bits of a mode that let others than the owner do anything, and those that let them write.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;

impl PrivateFolder {
    /// Opens a folder; makes it and those around it if there is none. Errors: why it is not private, in words.
    pub fn open(path: &Path) -> Result<PrivateFolder, String> {
        let failed = |error: Error| crate::errors::reason(&error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder =
            fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| match error.raw_os_error() {
                Some(libc::ENOTDIR | libc::ELOOP) => "it is a link".to_owned(),
                _ => failed(error),
            })?;
        let metadata = folder.metadata().map_err(failed)?;
        if metadata.uid() != user() {
            return Err("it is another user's".to_owned());
        }
        match metadata.mode() & 0o777 {
            mode if mode & OTHERS != 0 => Err(format!("its mode is {mode:04o}, not 0700")),
            _ => Ok(PrivateFolder { path: path.to_owned(), folder }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file; `None` if there is none. Errors: why it is not private, in words.
    pub fn file(&self, name: &str) -> Result<Option<File>, String> {
        let failed = |error: Error| crate::errors::reason(&error);
        let file = match open_in(&self.folder, name, false) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Err("it is a link".to_owned()),
            Err(error) => return Err(failed(error)),
        };
        let metadata = file.metadata().map_err(failed)?;
        match metadata.mode() & 0o777 {
            _ if !metadata.is_file() => Err("it is no regular file".to_owned()),
            _ if metadata.uid() != user() => Err("it is another user's".to_owned()),
            _ if metadata.nlink() != 1 => Err("it has more than one name".to_owned()),
            mode if mode & OTHERS_WRITE != 0 => Err(format!("its mode is {mode:04o}: others can write it")),
            _ => Ok(Some(file)),
        }
    }

    /// Writes a file whole, which only this user can read. Errors: the reason, in words; the old file stays.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let failed = |error: Error| crate::errors::reason(&error);
        let mut file = temporary(&self.path).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        rename(file, &self.path.join(name)).map_err(failed)
    }

    /// Removes a file; whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        fs::remove_file(self.path.join(name)).is_ok()
    }

    /// The names of all files, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

fn user() -> u32 {
    // SAFETY: it has no conditions, and cannot fail.
    unsafe { libc::geteuid() }
}

/// What the system says of a file: as long as it says the same, nobody has written the file.
///
/// The time of the last change is the kernel's and cannot be set back, unlike that of the last write. It stays the same only for a
/// write in the same tick of its clock ([`Identity::is_settled`]), and if the clock itself was set back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub written: i128,
    pub changed: i128,
}

impl Identity {
    /// Errors: the system's, and a file that is not regular, whose content may differ each time it is read.
    pub fn of(file: &File) -> std::io::Result<Identity> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(ErrorKind::InvalidInput.into());
        }
        let time = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        Ok(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            written: time(metadata.mtime(), metadata.mtime_nsec()),
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Whether a write from `now` on shows: the last change is older than a tick of the file system's clock. It ticks each second or
    /// two where times have no fractions, otherwise at least a hundred times a second.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let tick = if self.changed % 1_000_000 == 0 { Duration::from_secs(2) } else { Duration::from_millis(20) };
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        self.changed.saturating_add(tick.as_nanos() as i128) < now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn folder() -> (tempfile::TempDir, PrivateFolder) {
        let around = tempfile::tempdir().expect("a folder");
        let folder = PrivateFolder::open(&around.path().join("a/b")).expect("it is new");
        (around, folder)
    }

    fn refused(path: &Path) -> String {
        PrivateFolder::open(path).err().expect("it is not private")
    }

    #[test]
    fn what_is_written_is_read() {
        let (_around, folder) = folder();
        assert_eq!(fs::metadata(folder.path()).expect("there").mode() & 0o777, 0o700);
        assert!(folder.file("x").expect("no error").is_none());
        folder.write("x", b"one").expect("written");
        folder.write("x", b"two").expect("written");
        assert_eq!(folder.names(), ["x"]);
        let file = folder.file("x").expect("private").expect("there");
        assert_eq!(std::io::read_to_string(&file).expect("read"), "two");
        assert_eq!(file.metadata().expect("open").mode() & 0o777, 0o600);
        assert!(folder.remove("x") && !folder.remove("x"));
    }

    #[test]
    fn what_others_can_change_is_refused() {
        let (around, folder) = folder();
        let path = folder.path().to_owned();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
        folder.write("x", b"one").expect("written");
        for bits in [0o620, 0o602, 0o666] {
            mode(&path.join("x"), bits);
            assert_eq!(folder.file("x").expect_err("refused"), format!("its mode is {bits:04o}: others can write it"));
        }
        mode(&path.join("x"), 0o644);
        assert!(folder.file("x").is_ok());
        fs::hard_link(path.join("x"), around.path().join("y")).expect("linked");
        assert_eq!(folder.file("x").expect_err("refused"), "it has more than one name");
        symlink(around.path().join("y"), path.join("link")).expect("linked");
        assert_eq!(folder.file("link").expect_err("refused"), "it is a link");
        fs::create_dir(path.join("sub")).expect("made");
        assert_eq!(folder.file("sub").expect_err("refused"), "it is no regular file");
        for bits in [0o755, 0o770, 0o701] {
            mode(&path, bits);
            assert_eq!(refused(&path), format!("its mode is {bits:04o}, not 0700"));
        }
        mode(&path, 0o700);
        symlink(&path, around.path().join("folder")).expect("linked");
        assert_eq!(refused(&around.path().join("folder")), "it is a link");
        assert!(!refused(&around.path().join("y")).is_empty());
    }

    #[test]
    fn a_write_changes_the_identity() {
        let (_around, folder) = folder();
        folder.write("x", b"one").expect("written");
        let path = folder.path().join("x");
        let of = || Identity::of(&File::open(&path).expect("there")).expect("regular");
        let before = of();
        assert!(!before.is_settled(UNIX_EPOCH + Duration::from_nanos(before.changed as u64)));
        assert!(before.is_settled(UNIX_EPOCH + Duration::from_nanos(before.changed as u64) + Duration::from_secs(3)));
        while !before.is_settled(SystemTime::now()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(&path, b"two").expect("written");
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(UNIX_EPOCH + Duration::from_nanos(before.written as u64)))
            .expect("ours");
        let after = of();
        assert_eq!((after.bytes, after.written), (before.bytes, before.written));
        assert_ne!(after, before);
        assert!(Identity::of(&File::open("/dev/null").expect("there")).is_err());
    }
}
