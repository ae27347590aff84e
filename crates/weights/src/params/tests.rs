//! Tests each rule of the `.params` reader with a file it accepts and one it rejects.

use super::*;
use crate::Named;
use proptest::prelude::*;
use relayc_base::diag::codes;
use relayc_ir::types::DType;

/// One float32 tensor `w` of shape (2,), as TVM writes it.
fn file() -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0xF7E5_8D4F_0504_9CB7u64, 0, 1, 1] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.push(b'w');
    for word in [1u64, 0xDD5E_40F0_96B4_A13F, 0, 1] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&[1, 0, 0, 0, 2, 32, 1, 0]);
    for word in [2u64, 8] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&[0, 0, 0xc0, 0x3f, 0, 0, 0x20, 0xc0]);
    out
}

/// Offsets of the fields of [`file`].
mod at {
    pub(crate) const RESERVED: usize = 8;
    pub(crate) const COUNT: usize = 16;
    pub(crate) const NAME_LENGTH: usize = 24;
    pub(crate) const NAME: usize = 32;
    pub(crate) const COUNT_AGAIN: usize = 33;
    pub(crate) const TENSOR: usize = 41;
    pub(crate) const DEVICE: usize = 57;
    pub(crate) const RANK: usize = 65;
    pub(crate) const DTYPE: usize = 69;
    pub(crate) const DIM: usize = 73;
    pub(crate) const SIZE: usize = 81;
}

fn changed(at: usize, bytes: &[u8]) -> Diagnostic {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    FORMAT.read("w.params", &file).expect_err("a broken rule")
}

fn refused(at: usize, bytes: &[u8], words: &str) {
    let error = changed(at, bytes);
    assert!(error.message.contains(words), "{} should say `{words}`", error.message);
    assert!(error.message.contains(&format!("byte {at}:")), "{} should name byte {at}", error.message);
}

#[test]
fn a_file_comes_back_byte_for_byte() {
    let entries = FORMAT.read("w.params", &file()).expect("a sound file");
    assert_eq!(entries, [("w".to_owned(), Tensor::from_vec(&[2], vec![1.5f32, -2.5]))]);
    assert_eq!(write(&entries), file());
}

#[test]
fn every_dtype_round_trips_in_the_given_order() {
    let entries: Named = DType::RUNTIME
        .into_iter()
        .rev()
        .flat_map(|dtype| {
            [&[][..], &[3], &[2, 0], &[2, 1, 3]].map(|shape| {
                let tensor = Tensor::random(dtype, shape, 1, "x").expect("a small tensor");
                (format!("{dtype}/{shape:?}"), tensor)
            })
        })
        .collect();
    assert_eq!(FORMAT.read("all.params", &write(&entries)), Ok(entries));
    assert_eq!(FORMAT.read("none.params", &write(&[])), Ok(vec![]));
}

#[test]
fn every_field_is_checked() {
    refused(0, &[0], "starts with 0xf7e58d4f05049cb7");
    refused(at::RESERVED, &[1], "must be 0");
    refused(at::COUNT, &[2], "more than the file has room for");
    refused(at::COUNT, &1_000_001u64.to_le_bytes(), "1000001 names, the limit is 1000000");
    refused(at::COUNT, &u64::MAX.to_le_bytes(), "names, the limit is");
    refused(at::NAME_LENGTH, &4097u64.to_le_bytes(), "a name of 4097 bytes");
    refused(at::NAME, &[0xff], "not UTF-8");
    refused(at::COUNT_AGAIN, &[2], "2 tensors for 1 names");
    refused(at::TENSOR, &[0], "a tensor starts with");
    refused(at::TENSOR + 8, &[1], "must be 0");
    refused(at::DEVICE, &[2], "device type 2");
    refused(at::RANK, &[33], "a rank that is not between 0 and 32");
    refused(at::RANK, &[0xff; 4], "a rank that is not between 0 and 32");
    refused(at::DTYPE, &[3, 64], "type code 3 of 64 bits");
    refused(at::DTYPE, &[2, 33], "of 33 bits");
    refused(at::DTYPE, &[2, 32, 4], "4 lanes");
    refused(at::DIM, &(-1i64).to_le_bytes(), "a negative dimension -1");
    refused(at::DIM, &i64::MAX.to_le_bytes(), "16 GiB");
    refused(at::SIZE, &[9], "a byte count of 9, the shape [2] of float32 has 8");
    refused(at::SIZE, &(-8i64).to_le_bytes(), "a byte count of -8");
}

#[test]
fn limits_have_their_own_codes() {
    assert_eq!(changed(at::COUNT, &u64::MAX.to_le_bytes()).code, codes::E0804);
    assert_eq!(changed(at::NAME_LENGTH, &u64::MAX.to_le_bytes()).code, codes::E0804);
    assert_eq!(changed(at::DIM, &i64::MAX.to_le_bytes()).code, codes::E0803);
}

#[test]
fn what_must_not_be_there() {
    let mut longer = file();
    longer.push(0);
    assert!(FORMAT.read("w.params", &longer).expect_err("a byte too many").message.contains("1 bytes after the last tensor"));
    let x = Tensor::scalar(0f32);
    let twice = write(&[("w".to_owned(), x.clone()), ("w".to_owned(), x)]);
    assert!(FORMAT.read("w.params", &twice).expect_err("two of one name").message.contains("a second entry named `w`"));
    let mut not_bool = write(&[("w".to_owned(), Tensor::scalar(true))]);
    *not_bool.last_mut().expect("an element") = 2;
    assert!(FORMAT.read("w.params", &not_bool).expect_err("no bool").message.contains("neither 0 nor 1"));
}

#[test]
fn a_longest_name_is_accepted() {
    let entries = vec![("n".repeat(4096), Tensor::scalar(0u8))];
    assert_eq!(FORMAT.read("w.params", &write(&entries)), Ok(entries));
}

#[test]
fn every_truncation_is_an_error() {
    for end in 0..file().len() {
        assert!(FORMAT.read("w.params", &file()[..end]).is_err(), "cut at {end}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = FORMAT.read("w.params", &body);
        let mut with_magic = FILE_MAGIC.to_le_bytes().to_vec();
        with_magic.extend_from_slice(&body);
        let _ = FORMAT.read("w.params", &with_magic);
    }

    #[test]
    fn changed_bytes_never_panic(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4)) {
        let mut bytes = file();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let _ = FORMAT.read("w.params", &bytes);
    }
}
