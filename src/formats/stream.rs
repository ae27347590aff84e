//! Fields straight from a file of known size, which is never in memory as a whole.
//!
//! The file is read, not mapped: a mapped file that somebody shortens meanwhile kills the process at the next touch of a page
//! that is gone, a read one comes back short. Reading in pieces to where the bytes stay costs no second copy either, and
//! leaves no page of the file in the process.

use crate::tensor::binary::{self, BinaryError, Source};
use std::io::Read;

/// The bytes of a file, one after the other.
#[derive(Debug)]
pub struct Stream<R> {
    from: R,
    at: u64,
    len: u64,
    failed: Option<std::io::Error>,
}

impl<R: Read> Stream<R> {
    /// A file that has `len` bytes, nothing of it read.
    pub fn new(from: R, len: u64) -> Stream<R> {
        Stream { from, at: 0, len, failed: None }
    }

    /// What the system said where reading failed.
    pub fn failure(self) -> Option<std::io::Error> {
        self.failed
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
            self.failed = (failed.kind() != std::io::ErrorKind::UnexpectedEof).then_some(failed);
            error
        })?;
        self.at = self.at.saturating_add(u64::try_from(out.len()).unwrap_or(u64::MAX));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::codes;
    use crate::formats::params;
    use crate::tensor::Tensor;
    use std::io::{Error, ErrorKind};

    fn file() -> Vec<u8> {
        let big = Tensor::from_fn(&[300, 1000], |i| i as f32);
        params::write(&[("big".into(), big), ("flags".into(), Tensor::from_vec(&[3], vec![true, false, true]))])
    }

    fn names(from: impl Read, len: usize) -> (Result<Vec<String>, crate::diag::Diagnostic>, Option<Error>) {
        let mut stream = Stream::new(from, len as u64);
        let mut names = vec![];
        let read = params::read_each("w", &mut stream, &mut |name, _| {
            names.push(name);
            Ok(())
        });
        (read.map(|()| names), stream.failure())
    }

    #[test]
    fn a_file_is_what_its_bytes_are() {
        let (bytes, mut found) = (file(), vec![]);
        let mut stream = Stream::new(&bytes[..], bytes.len() as u64);
        params::read_each("w", &mut stream, &mut |name, tensor| {
            found.push((name, tensor));
            Ok(())
        })
        .expect("a sound file");
        assert_eq!(Ok(found), params::read("w", &bytes));
    }

    #[test]
    fn a_cut_file_is_refused_with_the_words_of_its_bytes() {
        let bytes = file();
        for cut in [0, 7, 30, 60, 200, 300_000, bytes.len() - 1] {
            let expected = params::read("w", &bytes[..cut]).expect_err("cut");
            assert_eq!(names(&bytes[..cut], cut).0, Err(expected), "cut at {cut}");
        }
    }

    #[test]
    fn a_file_that_shrinks_meanwhile_is_refused() {
        let bytes = file();
        let (read, failure) = names(&bytes[..bytes.len() / 2], bytes.len());
        let error = read.expect_err("half of it is gone");
        assert!(error.code == codes::E0703 && error.message.contains("has become shorter"), "{}", error.message);
        assert!(failure.is_none());
    }

    #[test]
    fn a_disk_that_fails_is_told_from_a_file_that_is_wrong() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(Error::from(ErrorKind::PermissionDenied))
            }
        }
        let bytes = file();
        let (read, failure) = names(bytes[..1000].chain(Broken), bytes.len());
        assert!(read.is_err());
        assert_eq!(failure.map(|error| error.kind()), Some(ErrorKind::PermissionDenied));
    }

    #[test]
    fn a_tensor_that_is_refused_ends_the_reading() {
        let bytes = file();
        let mut n_taken = 0;
        let refused = crate::diag::Diagnostic::new(codes::E0803, "too much");
        let read = params::read_each("w", &mut Stream::new(&bytes[..], bytes.len() as u64), &mut |_, _| {
            n_taken += 1;
            Err(refused.clone())
        });
        assert_eq!((read, n_taken), (Err(refused), 1));
    }
}
