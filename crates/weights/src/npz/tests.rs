//! Tests each rule of the `.npz` reader with an archive it accepts and one it rejects.

use super::*;
use crate::encode;
use crate::{Named, TensorFile};
use proptest::prelude::*;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use std::io::{Cursor, Error};

fn one() -> Named {
    vec![("w".to_owned(), Tensor::from_fn(&[2, 3], |i| i as f32))]
}

fn write(name: &str, entries: &[(String, Tensor)]) -> Result<Vec<u8>, Diagnostic> {
    encode(FORMAT, name, entries)
}

fn file() -> Vec<u8> {
    write("w.npz", &one()).expect("a small archive")
}

fn refused(bytes: &[u8], words: &str) {
    let error = FORMAT.read("w.npz", bytes).expect_err(words);
    assert!(error.message.contains(words), "{} should say `{words}`", error.message);
}

/// Position of the last `what` in the bytes.
fn last(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).rposition(|window| window == what).expect("it is there")
}

fn changed(mark: &[u8], offset: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = file();
    let at = last(&bytes, mark) + offset;
    bytes[at..at + with.len()].copy_from_slice(with);
    bytes
}

const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const END: &[u8] = b"PK\x05\x06";

/// An archive with one deflated entry of these bytes, which declares `size`.
fn deflated(bytes: &[u8], size: Option<u32>) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    zip.start_file("w.npy", options).expect("memory");
    zip.write_all(bytes).expect("memory");
    let mut out = zip.finish().expect("memory").into_inner();
    if let Some(size) = size {
        let at = last(&out, CENTRAL) + 24;
        out[at..at + 4].copy_from_slice(&size.to_le_bytes());
    }
    out
}

#[test]
fn every_dtype_round_trips_in_the_given_order() {
    let entries: Named = DType::RUNTIME
        .into_iter()
        .rev()
        .flat_map(|dtype| {
            [&[][..], &[3], &[2, 0], &[2, 1, 3]]
                .map(|shape| (format!("{dtype}{shape:?}"), Tensor::random(dtype, shape, 1, "x").expect("a small tensor")))
        })
        .collect();
    let bytes = write("all.npz", &entries).expect("small");
    assert_eq!(bytes, write("all.npz", &entries).expect("small"));
    assert_eq!(FORMAT.read("all.npz", &bytes), Ok(entries));
    assert_eq!(FORMAT.read("none.npz", &write("none.npz", &[]).expect("empty")), Ok(vec![]));
}

#[test]
fn names_are_keys() {
    let entries = vec![("../../etc/passwd".to_owned(), Tensor::scalar(1u8)), ("a/b.0".to_owned(), Tensor::scalar(2u8))];
    assert_eq!(FORMAT.read("w.npz", &write("w.npz", &entries).expect("small")), Ok(entries));
}

/// What NumPy 2.4 wrote by `savez` and `savez_compressed`: of every dtype a scalar, a vector, and an array by rows and by columns,
/// each with its positions as elements.
#[test]
fn files_of_numpy_are_read_and_written_alike() {
    let [stored, compressed] = [&include_bytes!("numpy.npz")[..], include_bytes!("numpy_compressed.npz")];
    let entries = FORMAT.read("numpy.npz", stored).expect("what NumPy wrote");
    assert_eq!(entries.len(), 12 * 4);
    assert_eq!(FORMAT.read("numpy.npz", compressed).as_ref(), Ok(&entries));
    for (name, tensor) in &entries {
        let positions = Tensor::from_fn(tensor.shape(), |i| i as f64).cast(tensor.dtype()).expect("a tensor's dtype");
        assert_eq!(tensor, &positions, "{name}");
        let ours = npy::write(tensor);
        assert!(
            stored.windows(ours.len()).any(|bytes| bytes == ours),
            "{name}: not the bytes of the array that NumPy wrote by rows"
        );
    }
}

#[test]
fn deflated_entries_unpack_to_what_they_declare() {
    let tensor = Tensor::from_fn(&[1000], |_| 0f32);
    let zeros = npy::write(&tensor);
    let size = u32::try_from(zeros.len()).expect("small");
    assert_eq!(FORMAT.read("w.npz", &deflated(&zeros, None)), Ok(vec![("w".to_owned(), tensor)]));
    refused(&deflated(&zeros, Some(size + 1)), "the header asks for");
    refused(&deflated(&zeros, Some(size - 4)), "the header asks for");
    refused(&deflated(&zeros, Some(50)), "the file ends inside the header");
    refused(&deflated(&zeros[..zeros.len() - 4], Some(size)), "does not unpack to");
    let mut longer = zeros.clone();
    longer.extend_from_slice(&[0; 4]);
    refused(&deflated(&longer, Some(size)), "does not unpack to");
    let mut broken = deflated(&zeros, None);
    let at = last(&broken, LOCAL) + 36;
    broken[at] ^= 0xff;
    assert!(FORMAT.read("w.npz", &broken).is_err());
}

#[test]
fn a_bomb_is_refused_by_its_ratio() {
    let huge = deflated(&npy::write(&Tensor::from_fn(&[16], |_| 0f32)), Some(u32::MAX - 1));
    refused(&huge, "the limit is 1100:1");
    assert_eq!(FORMAT.read("w.npz", &huge).expect_err("a bomb").code, codes::E0804);
    // The most that deflate can pack, 1,032:1, is allowed.
    assert!(FORMAT.read("w.npz", &deflated(&npy::write(&Tensor::from_fn(&[1 << 22], |_| 0u8)), None)).is_ok());
}

#[test]
fn the_directory_is_checked() {
    refused(&changed(CENTRAL, 8, &[1]), "encrypted");
    refused(&changed(CENTRAL, 10, &[12]), "method 12");
    refused(&changed(CENTRAL, 16, &[0; 4]), "the checksum is");
    refused(&changed(CENTRAL, 20, &[1]), "stored as");
    refused(&changed(CENTRAL, 20, &[0, 0, 1, 0, 0, 0, 1, 0]), "do not end in the file");
    refused(&changed(CENTRAL, 24, &[0xff; 4]), "no zip64 field");
    refused(&changed(CENTRAL, 42, &[1]), "does not start where the directory says");
    refused(&changed(CENTRAL, 42, &[0xfe, 0xff, 0xff, 0xff]), "outside of the file");
    refused(&changed(CENTRAL, 46, b"v"), "another name");
    refused(&changed(CENTRAL, 46, &[0xff]), "not UTF-8");
    refused(&changed(CENTRAL, 0, b"PQ"), "no entry of the directory");
    refused(&changed(LOCAL, 0, b"PQ"), "does not start where");
    refused(&changed(END, 4, &[1]), "several disks");
    refused(&changed(END, 8, &[2]), "several disks");
    refused(&changed(END, 8, &[0, 0, 0, 0]), "does not end where");
    refused(&changed(END, 8, &[2, 0, 2, 0]), "an entry of the directory takes 46 bytes");
    refused(&changed(END, 12, &[0]), "does not end where");
    refused(&changed(END, 16, &[0]), "does not end where");
    refused(&changed(END, 8, &[0xff; 4]), "no zip64 locator");
    refused(&changed(END, 20, &[1]), "does not end as a zip archive");
}

#[test]
fn a_comment_is_allowed_and_other_bytes_at_the_end_are_not() {
    let mut commented = changed(END, 20, &[5]);
    commented.extend_from_slice(b"hello");
    assert_eq!(FORMAT.read("w.npz", &commented), Ok(one()));
    commented.push(0);
    refused(&commented, "does not end as a zip archive");
}

#[test]
fn names_differ_and_entries_share_no_byte() {
    let two = vec![("a".to_owned(), Tensor::scalar(1u8)), ("b".to_owned(), Tensor::scalar(1u8))];
    let bytes = write("w.npz", &two).expect("small");
    let mut twice = bytes.clone();
    for at in [last(&bytes, LOCAL) + 30, last(&bytes, CENTRAL) + 46] {
        twice[at] = b'a';
    }
    refused(&twice, "a second entry named `a.npy`");
    let mut shared = twice.clone();
    let at = last(&bytes, CENTRAL);
    shared[at + 42..at + 46].fill(0);
    shared[at + 46] = b'b';
    refused(&shared, "another name");
    // The same name with and without the extension is the same key.
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["a", "a.npy"] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("memory");
        zip.write_all(&npy::write(&Tensor::scalar(1u8))).expect("memory");
    }
    refused(&zip.finish().expect("memory").into_inner(), "a second entry named `a`");
    assert!(write("w.npz", &[two[0].clone(), two[0].clone()]).is_err());
}

#[test]
fn overlapping_entries_are_refused() {
    // The second entry's header lies inside the bytes of the first, which are a whole archive's local part.
    let inner = write("in.npz", &[("b".to_owned(), Tensor::scalar(1u8))]).expect("small");
    let as_bytes = Tensor::from_vec(&[inner.len()], inner.clone());
    let two = vec![("a".to_owned(), as_bytes), ("b".to_owned(), Tensor::scalar(1u8))];
    let mut bytes = write("w.npz", &two).expect("small");
    let at = last(&bytes, CENTRAL) + 42;
    let inside = bytes.windows(4).enumerate().filter(|(_, w)| *w == LOCAL).nth(1).map(|(at, _)| at).expect("inside");
    bytes[at..at + 4].copy_from_slice(&u32::try_from(inside).expect("small").to_le_bytes());
    refused(&bytes, "entries that share bytes");
}

#[test]
fn too_many_entries_are_refused() {
    // A zip64 end that claims 65,537 entries.
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"PK\x06\x06");
    bytes.extend_from_slice(&44u64.to_le_bytes());
    bytes.extend_from_slice(&[0; 12]);
    for word in [65_537u64, 65_537, 0, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(b"PK\x06\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0");
    bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0");
    refused(&bytes, "65537 entries, the limit is 65536");
    // The same end with no entries is an empty archive.
    let at = bytes.windows(8).position(|w| w == 65_537u64.to_le_bytes()).expect("the count");
    bytes[at..at + 16].fill(0);
    assert_eq!(FORMAT.read("w.npz", &bytes), Ok(vec![]));
}

#[test]
fn every_truncation_is_an_error() {
    for bytes in [file(), deflated(&npy::write(&one()[0].1), None)] {
        for end in 0..bytes.len() {
            assert!(FORMAT.read("w.npz", &bytes[..end]).is_err(), "cut at {end}");
        }
    }
}

/// A sparse file: zeros except for some parts.
struct Sparse {
    size: u64,
    parts: Vec<(u64, Vec<u8>)>,
}

impl Bytes for Sparse {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> IoResult<()> {
        for (i, byte) in out.iter_mut().enumerate() {
            let at = at + i as u64;
            let part = self.parts.iter().find(|(start, part)| (*start..start + part.len() as u64).contains(&at));
            *byte = part.map_or(0, |(start, part)| part[(at - start) as usize]);
        }
        Ok(())
    }

    fn failed(&self, error: &Error) -> Diagnostic {
        errors::unsound("sparse", error)
    }
}

/// Two entries of `length` zero bytes each.
fn large(length: u64) -> Sparse {
    let header = npy::header(DType::U8, &[length as usize]);
    let first = Written { name: "a.npy".into(), crc: 0, size: header.len() as u64 + length, at: 0 };
    let second = Written { at: first.local().len() as u64 + first.size, name: "b.npy".into(), ..first };
    let directory = [first.central(), second.central()].concat();
    let start = second.at + second.local().len() as u64 + second.size;
    let tail = [directory.clone(), end(2, directory.len() as u64, start)].concat();
    let at = |entry: &Written| (entry.at, [entry.local(), header.clone()].concat());
    Sparse { size: start + tail.len() as u64, parts: vec![at(&first), at(&second), (start, tail)] }
}

/// Tests sizes from 2 GiB on, where Python's writer adds wide records beside equal narrow ones, and sizes beyond 4 GiB.
#[test]
fn large_entries_are_found() {
    for length in [1u64 << 31, 5 << 30] {
        let file = TensorFile::open("large.npz", large(length));
        let file = file.unwrap_or_else(|error| panic!("{length}: {}", error.message));
        let sizes: Vec<(&str, u64)> = file.items().iter().map(|item| (item.name.as_str(), item.head.size as u64)).collect();
        assert_eq!(sizes, [("a", length), ("b", length)]);
    }
}

#[test]
fn entries_have_a_limit_together() {
    let error = TensorFile::open("large.npz", large(9 << 30)).map(|_| ()).expect_err("18 GiB");
    assert_eq!(error.code, codes::E0804);
    assert!(error.message.contains("bytes together"), "{}", error.message);
}

#[test]
fn a_longest_name_is_accepted() {
    let named = |n: usize| {
        let body = npy::write(&Tensor::scalar(1u8));
        let mut crc = Crc::new();
        crc.update(&body);
        let entry = Written { name: "n".repeat(n), crc: crc.sum(), size: body.len() as u64, at: 0 };
        let (local, central) = (entry.local(), entry.central());
        let start = (local.len() + body.len()) as u64;
        [local, body, central.clone(), end(1, central.len() as u64, start)].concat()
    };
    assert!(FORMAT.read("w.npz", &named(4096)).is_ok());
    refused(&named(4097), "a name of 4097 bytes");
    assert_eq!(FORMAT.read("w.npz", &named(4097)).expect_err("a long name").code, codes::E0804);
}

/// The time of a file (id 0x5455), as others note it, stands before the field of zip64.
#[test]
fn other_extra_fields_are_passed_over() {
    let body = npy::write(&one()[0].1);
    let mut crc = Crc::new();
    crc.update(&body);
    let entry = Written { name: "w.npy".into(), crc: crc.sum(), size: body.len() as u64, at: 0 };
    let extra = [&[0x55, 0x54, 4, 0, 1, 2, 3, 4][..], &wide(&[entry.size, entry.size])].concat();
    let (local, mut central) = (entry.local(), entry.central());
    central[20..28].fill(0xff);
    central[30..32].copy_from_slice(&(extra.len() as u16).to_le_bytes());
    central.extend(extra);
    let start = (local.len() + body.len()) as u64;
    let bytes = [local, body, central.clone(), end(1, central.len() as u64, start)].concat();
    assert_eq!(FORMAT.read("w.npz", &bytes), Ok(one()));
}

/// Elements in other byte or axis orders are converted, in an archive too.
#[test]
fn other_orders_are_read() {
    let header = |descr: &str, fortran: &str, body: &[u8]| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (2, 3), }}");
        let length = (text.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), body].concat()
    };
    let rows = [0f32, 1.0, 2.0, 3.0, 4.0, 5.0];
    let columns = [0f32, 3.0, 1.0, 4.0, 2.0, 5.0];
    let big = |all: [f32; 6]| all.map(f32::to_be_bytes).concat();
    let little = |all: [f32; 6]| all.map(f32::to_le_bytes).concat();
    for (descr, fortran, body) in [
        (">f4", "False", big(rows)),
        (">f4", "True", big(columns)),
        ("<f4", "True", little(columns)),
        ("<f4", "False", little(rows)),
    ] {
        assert_eq!(FORMAT.read("w.npz", &deflated(&header(descr, fortran, &body), None)), Ok(one()), "{descr} {fortran}");
        refused(&deflated(&header(descr, fortran, &body[1..]), None), "the header asks for");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = FORMAT.read("w.npz", &body);
        let mut with_end = body;
        with_end.extend_from_slice(&file());
        let _ = FORMAT.read("w.npz", &with_end);
    }

    #[test]
    fn changed_bytes_never_panic(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4)) {
        for mut bytes in [file(), deflated(&npy::write(&one()[0].1), None)] {
            for &(at, byte) in &changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = FORMAT.read("w.npz", &bytes);
        }
    }
}
