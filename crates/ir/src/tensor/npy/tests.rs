//! Tests each rule of the `.npy` reader with a valid and an invalid input.

use super::*;
use proptest::prelude::*;

/// A version 1.0 file of this dictionary and these element bytes.
fn file(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend_from_slice(&u16::try_from(dictionary.len()).expect("a short header").to_le_bytes());
    out.extend_from_slice(dictionary.as_bytes());
    out.extend_from_slice(data);
    out
}

fn of(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Result<Tensor, NpyError> {
    read(&file(&format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n"), data))
}

fn refused(result: Result<Tensor, NpyError>, words: &str) {
    let error = result.expect_err(words);
    assert!(error.words.contains(words), "{error:?} should say `{words}`");
}

#[test]
fn every_dtype_round_trips() {
    for dtype in DType::RUNTIME {
        for shape in [vec![], vec![3], vec![0, 4], vec![2, 1, 3]] {
            let x = Tensor::from_fn(&shape, |i| i as f64).cast(dtype).expect("a tensor's dtype");
            let bytes = write(&x);
            let header = NpyHeader::read(&bytes).expect("our own header");
            assert_eq!((header.data_start % 64, header.file_bytes()), (0, bytes.len()));
            assert_eq!(read(&bytes), Ok(x), "{dtype} {shape:?}");
        }
    }
}

#[test]
fn big_endian_and_fortran_order_are_converted() {
    assert_eq!(of(">i2", "False", "(2,)", &[0, 1, 2, 0]), Ok(Tensor::from_vec(&[2], vec![1i16, 512])));
    assert_eq!(of("|u1", "True", "(2, 3)", &[1, 2, 3, 4, 5, 6]), Ok(Tensor::from_vec(&[2, 3], vec![1u8, 3, 5, 2, 4, 6])));
    assert_eq!(of("<V2", "False", "()", &[0x80, 0x3f]), Ok(Tensor::scalar(half::bf16::ONE)));
}

#[test]
fn dtypes_without_a_tensor_are_refused() {
    refused(of("|O", "False", "(1,)", &[0; 8]), "Python objects");
    refused(of("<U3", "False", "(1,)", &[0; 12]), "strings");
    refused(of("<c8", "False", "(1,)", &[0; 8]), "complex");
    refused(of("<f16", "False", "(1,)", &[0; 16]), "`<f16`");
    refused(of("|f4", "False", "(1,)", &[0; 4]), "`|f4`");
    refused(of("|V3", "False", "(1,)", &[0; 3]), "`|V3`");
    refused(read(&file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", &[0; 4])), "structured");
}

#[test]
fn sizes_are_checked_before_anything_is_allocated() {
    refused(of("<f4", "False", "(4611686018427387904, 4)", &[]), "16 GiB");
    refused(
        of("<f4", "False", "(0, 99999999999999)", &[]),
        "no elements, but without its 0 the shape is over the limit of 16 GiB",
    );
    refused(of("<f4", "False", "(99999999999999999999999999999999,)", &[]), "below 2^63");
    refused(of("<f4", "False", "(3,)", &[0; 8]), "has 12 bytes, the file has 8");
    refused(of("<f4", "False", "(1,)", &[0; 8]), "has 4 bytes, the file has 8");
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(read(&long).expect_err("a long header").fault, NpyFault::HeaderLimit);
}

#[test]
fn a_header_is_a_dictionary_of_three_fields() {
    let plain = |dictionary: &str| read(&file(dictionary, &[0; 4]));
    assert!(plain("{\"shape\":(1L,),'fortran_order':False,'descr':'<f4'}").is_ok());
    refused(plain("{'descr': '<f4', 'shape': (1,), }"), "needs descr");
    refused(plain("{'descr': '<f4', 'descr': '<f4'}"), "the key `descr`");
    refused(plain("{'descr': '<f4', 'rank': 1}"), "the key `rank`");
    refused(plain("{'descr' '<f4'}"), "no `:`");
    refused(plain("{'descr': '<f4' 'shape': (1,)}"), "no `,`");
    refused(plain("{'descr': '<f4"), "no `'`");
    refused(plain("{'descr': 4}"), "no string");
    refused(plain("{'shape': (1 2)}"), "no `,`");
    refused(plain("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} #"), "text after");
    refused(plain(&"(".repeat(60_000)), "no `{`");
    refused(plain(&"{".repeat(60_000)), "no string");
    refused(of("<f4", "maybe", "(1,)", &[0; 4]), "neither True nor False");
    refused(of("<f4", "False", "(-1,)", &[]), "no number");
    refused(of("<f4", "False", "(1.0,)", &[]), "no `,`");
    refused(of("<f4", "False", &format!("({})", "1,".repeat(33)), &[0; 4]), "rank 33");
}

#[test]
fn magic_and_version_are_checked() {
    refused(read(b"\x93NUMPZ"), "magic word");
    refused(read(b""), "magic word");
    refused(read(b"\x93NUMPY\x09\x00\x00\x00\x00\x00\x00\x00"), "version 9.0");
    refused(read(b"\x93NUMPY\x01\x01\x00\x00\x00\x00\x00\x00"), "version 1.1");
    let mut version_2 = b"\x93NUMPY\x02\x00".to_vec();
    let dictionary = "{'descr': '|u1', 'fortran_order': False, 'shape': (), }";
    version_2.extend_from_slice(&u32::try_from(dictionary.len()).expect("short").to_le_bytes());
    version_2.extend_from_slice(dictionary.as_bytes());
    version_2.push(7);
    assert_eq!(read(&version_2), Ok(Tensor::scalar(7u8)));
}

#[test]
fn a_bool_is_0_or_1() {
    assert_eq!(of("|b1", "False", "(2,)", &[0, 1]), Ok(Tensor::from_vec(&[2], vec![false, true])));
    refused(of("|b1", "False", "(2,)", &[0, 2]), "neither 0 nor 1");
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = write(&Tensor::from_fn(&[2, 3], |i| i as f32));
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&body);
        let mut with_magic = b"\x93NUMPY\x01\x00".to_vec();
        with_magic.extend_from_slice(&body);
        let _ = read(&with_magic);
    }

    #[test]
    fn a_changed_byte_never_panics(at in 0usize..200, byte in any::<u8>()) {
        let mut bytes = write(&Tensor::from_fn(&[2, 3], |i| i as f32));
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = read(&bytes);
    }
}
