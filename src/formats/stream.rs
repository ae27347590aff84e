//! Fields straight from a file of known size, which is never in memory as a whole: reading in pieces to where the bytes stay
//! costs no second copy, and leaves no page of the file in the process.

use crate::tensor::binary::{self, BinaryError, Source};
use std::io::{ErrorKind, Read};

/// The bytes of a file, one after the other.
#[derive(Debug)]
pub(super) struct Stream<R> {
    from: R,
    at: u64,
    len: u64,
    failed: Option<std::io::Error>,
}

impl<R: Read> Stream<R> {
    /// What a file of `len` bytes has from `at` on, nothing of which is read.
    pub fn at(from: R, at: u64, len: u64) -> Stream<R> {
        Stream { from, at, len, failed: None }
    }

    /// What was said where reading failed, unless there were only fewer bytes.
    pub fn failure(&self) -> Option<&std::io::Error> {
        self.failed.as_ref().filter(|failed| failed.kind() != ErrorKind::UnexpectedEof)
    }

    /// Whether there were fewer bytes than `len` says.
    pub fn is_short(&self) -> bool {
        self.failed.as_ref().is_some_and(|failed| failed.kind() == ErrorKind::UnexpectedEof)
    }

    /// What the bytes come from, as far as it was read.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.from
    }
}

impl<R: Read> Source for Stream<R> {
    fn offset(&self) -> usize {
        usize::try_from(self.at).unwrap_or(usize::MAX)
    }

    fn remaining(&self) -> u64 {
        self.len.saturating_sub(self.at)
    }

    fn fill(&mut self, out: &mut [u8], what: &str) -> Result<(), BinaryError> {
        let read = self.from.read_exact(out);
        read.map_err(|failed| {
            let words = format!("{what} ends, as the file has become shorter while it was read");
            let error = binary::error(self.offset(), words);
            self.failed = Some(failed);
            error
        })?;
        self.at = self.at.saturating_add(u64::try_from(out.len()).unwrap_or(u64::MAX));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::diag::{Diagnostic, codes};
    use crate::formats::file::Bytes;
    use crate::formats::{TensorFile, errors, params};
    use crate::tensor::Tensor;
    use std::io::{Error, ErrorKind};

    fn file() -> Vec<u8> {
        let big = Tensor::from_fn(&[300, 1000], |i| i as f32);
        params::write(&[("big".into(), big), ("flags".into(), Tensor::from_vec(&[3], vec![true, false, true]))])
    }

    /// A file of `size` bytes of which only some can be read; behind them is what `end` says.
    struct Partly<'a> {
        bytes: &'a [u8],
        size: u64,
        end: ErrorKind,
    }

    impl Bytes for Partly<'_> {
        fn size(&self) -> u64 {
            self.size
        }

        fn read_at(&self, at: u64, out: &mut [u8]) -> std::io::Result<()> {
            self.bytes.read_at(at, out).map_err(|_| self.end.into())
        }

        fn failed(&self, error: &Error) -> Diagnostic {
            errors::unsound("w", format_args!("the disk: {:?}", error.kind()))
        }
    }

    fn read(bytes: &[u8], size: usize, end: ErrorKind) -> Result<usize, Diagnostic> {
        let file = TensorFile::open("w", Partly { bytes, size: size as u64, end })?;
        Ok(file.read_all()?.len())
    }

    #[test]
    fn a_cut_file_is_refused_with_the_words_of_its_bytes() {
        let bytes = file();
        for cut in [16, 30, 60, 200, 300_000, bytes.len() - 1] {
            let expected = params::read("w", &bytes[..cut]).expect_err("cut");
            assert_eq!(read(&bytes[..cut], cut, ErrorKind::Other), Err(expected), "cut at {cut}");
        }
        assert_eq!(read(&bytes, bytes.len(), ErrorKind::Other), Ok(2));
    }

    #[test]
    fn a_file_that_shrinks_meanwhile_is_refused() {
        let bytes = file();
        for left in [20, 45, bytes.len() / 2] {
            let error = read(&bytes[..left], bytes.len(), ErrorKind::UnexpectedEof).expect_err("some of it is gone");
            assert!(error.code == codes::E0703 && error.message.contains("has become shorter"), "{}", error.message);
        }
    }

    #[test]
    fn a_disk_that_fails_is_told_from_a_file_that_is_wrong() {
        let bytes = file();
        for left in [0, 20, 45, 1000] {
            let error = read(&bytes[..left], bytes.len(), ErrorKind::PermissionDenied).expect_err("no more to read");
            assert!(error.message.contains("the disk: PermissionDenied"), "{left}: {}", error.message);
        }
    }
}
