//! Streams fields from a file of known size, which is never in memory as a whole.
//!
//! Reading pieces into their final place needs no second copy, and leaves no page of the file in the process.

use relayc_base::{u64_of, usize_of};
use relayc_ir::tensor::binary::{self, BinaryError, Source};
use std::io::{ErrorKind, Read};

/// The bytes of a file in sequence.
#[derive(Debug)]
pub(super) struct Stream<R> {
    from: R,
    at: u64,
    len: u64,
    failed: Option<std::io::Error>,
}

impl<R: Read> Stream<R> {
    /// The unread bytes from `at` on of a file of `len` bytes.
    pub(crate) fn at(from: R, at: u64, len: u64) -> Stream<R> {
        Stream { from, at, len, failed: None }
    }

    /// The error of a failed read, unless the file was only too short.
    pub(crate) fn failure(&self) -> Option<&std::io::Error> {
        self.failed.as_ref().filter(|failed| failed.kind() != ErrorKind::UnexpectedEof)
    }

    /// Whether the file has fewer bytes than `len`.
    pub(crate) fn is_short(&self) -> bool {
        self.failed.as_ref().is_some_and(|failed| failed.kind() == ErrorKind::UnexpectedEof)
    }

    /// The underlying reader, at the current position.
    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.from
    }
}

impl<R: Read> Source for Stream<R> {
    fn offset(&self) -> usize {
        usize_of(self.at)
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
        self.at = self.at.saturating_add(u64_of(out.len()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Bytes;
    use crate::{TensorFile, encode, errors, npz, params, read_tensors, safetensors};
    use relayc_base::diag::{Diagnostic, codes};
    use relayc_ir::tensor::Tensor;
    use std::io::{Error, ErrorKind};

    /// The same tensors as a file of each format.
    fn files() -> Vec<(&'static str, Vec<u8>)> {
        let big = Tensor::from_fn(&[300, 100], |i| i as f32);
        let tensors = [("big".into(), big.clone()), ("flags".into(), Tensor::from_vec(&[3], vec![true, false, true]))];
        let formats = [params::FORMAT, npz::FORMAT, safetensors::FORMAT];
        let [params, npz, safetensors] = formats.map(|format| encode(format, "w", &tensors).expect("small"));
        let mut tar = tar::Builder::new(vec![]);
        let mut header = tar::Header::new_ustar();
        header.set_size(params.len() as u64);
        tar.append_data(&mut header, "w.params", &params[..]).expect("memory");
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
        zip.start_file("big.npy", zip::write::SimpleFileOptions::default()).expect("memory");
        std::io::Write::write_all(&mut zip, &relayc_ir::tensor::npy::write(&big)).expect("memory");
        vec![
            ("params", params),
            ("npz", npz),
            ("deflated npz", zip.finish().expect("memory").into_inner()),
            ("safetensors", safetensors),
            ("tar", tar.into_inner().expect("memory")),
            ("params of MXNet", mxnet(&big)),
        ]
    }

    /// One array of version 2.
    fn mxnet(tensor: &Tensor) -> Vec<u8> {
        let mut out = [0x112u64, 0, 1].map(u64::to_le_bytes).concat();
        out.extend([0xf993_fac9u32, 0, 2].map(u32::to_le_bytes).concat());
        out.extend([300u64, 100].map(u64::to_le_bytes).concat());
        out.extend([1u32, 0, 0].map(u32::to_le_bytes).concat());
        out.extend(tensor.to_le_bytes());
        out.extend([1u64, 3].map(u64::to_le_bytes).concat());
        out.extend(b"big");
        out
    }

    /// A file of `size` bytes with a readable prefix, followed by the result `end`.
    struct Partly<'a> {
        bytes: &'a [u8],
        size: usize,
        end: fn() -> Error,
    }

    impl Bytes for Partly<'_> {
        fn size(&self) -> u64 {
            self.size as u64
        }

        fn read_at(&self, at: u64, out: &mut [u8]) -> std::io::Result<()> {
            self.bytes.read_at(at, out).map_err(|_| (self.end)())
        }

        fn failed(&self, error: &Error) -> Diagnostic {
            errors::unsound("w", format_args!("the disk: {:?}", error.kind()))
        }
    }

    fn read(bytes: &[u8], size: usize, end: fn() -> Error) -> Result<usize, Diagnostic> {
        let file = TensorFile::open("w", Partly { bytes, size, end })?;
        Ok(file.read_all()?.len())
    }

    fn gone() -> Error {
        ErrorKind::UnexpectedEof.into()
    }

    /// The system's error for a failing disk.
    fn failing() -> Error {
        Error::from_raw_os_error(13)
    }

    #[test]
    fn a_cut_file_is_refused_with_the_words_of_its_bytes() {
        for (name, bytes) in files() {
            // An archive of tar ends in a block more than it must.
            for cut in [16, 30, 60, 200, 1000, 100_000, bytes.len() - 1025].into_iter().filter(|&cut| cut < bytes.len()) {
                let expected = read_tensors("w", &bytes[..cut]).expect_err("cut");
                assert_eq!(read(&bytes[..cut], cut, failing), Err(expected), "{name} cut at {cut}");
            }
            assert!(read(&bytes, bytes.len(), failing).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_file_that_shrinks_meanwhile_is_refused() {
        for (name, bytes) in files() {
            for left in [20, 45, bytes.len() / 2, bytes.len() - 1] {
                let error = read(&bytes[..left], bytes.len(), gone).expect_err("some of it is gone");
                assert_eq!(error.code, codes::E0703, "{name}");
                assert!(error.message.contains("has become shorter"), "{name} of {left} bytes: {}", error.message);
            }
        }
    }

    #[test]
    fn a_disk_that_fails_is_told_from_a_file_that_is_wrong() {
        for (name, bytes) in files() {
            for left in [0, 20, 45, bytes.len() / 2, bytes.len() - 1] {
                let error = read(&bytes[..left], bytes.len(), failing).expect_err("no more to read");
                assert!(error.message.contains("the disk: PermissionDenied"), "{name} of {left} bytes: {}", error.message);
            }
        }
    }

    /// The directory is readable, but an entry is not.
    #[test]
    fn a_disk_that_fails_within_an_entry() {
        struct Hole<'a>(&'a [u8], fn() -> Error);
        impl Bytes for Hole<'_> {
            fn size(&self) -> u64 {
                self.0.size()
            }
            fn read_at(&self, at: u64, out: &mut [u8]) -> std::io::Result<()> {
                let end = at + out.len() as u64;
                if (at..end).contains(&10_000) && out.len() < self.0.len() { Err((self.1)()) } else { self.0.read_at(at, out) }
            }
            fn failed(&self, error: &Error) -> Diagnostic {
                errors::unsound("w", format_args!("the disk: {:?}", error.kind()))
            }
        }
        for (name, bytes) in files().into_iter().filter(|(name, _)| *name != "tar") {
            let read = |end| TensorFile::open("w", Hole(&bytes, end)).and_then(TensorFile::read_all).expect_err("a hole").message;
            assert!(read(failing).contains("the disk: PermissionDenied"), "{name}: {}", read(failing));
            let words = read(gone);
            assert!(
                ["has become shorter", "does not unpack", "are broken"].iter().any(|part| words.contains(part)),
                "{name}: {words}"
            );
        }
    }
}
