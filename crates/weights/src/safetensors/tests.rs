//! Tests each rule of the `.safetensors` reader with a file it accepts and one it rejects.

use super::*;
use crate::encode;
use crate::{Named, TensorFile};
use proptest::prelude::*;
use relayc_base::diag::{Code, codes};
use relayc_ir::tensor::Tensor;

fn write(name: &str, entries: &[(String, Tensor)]) -> Result<Vec<u8>, Diagnostic> {
    encode(FORMAT, name, entries)
}

/// A file with this header and these elements.
fn file(header: &str, elements: &[u8]) -> Vec<u8> {
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(elements);
    out
}

const W: &str = r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
const ELEMENTS: &[u8] = &[0, 0, 0xc0, 0x3f, 0, 0, 0x20, 0xc0];

fn w() -> Named {
    vec![("w".to_owned(), Tensor::from_vec(&[2], vec![1.5f32, -2.5]))]
}

/// A header with a replaced part is refused.
fn refused(from: &str, to: &str, words: &str) -> Diagnostic {
    assert!(W.contains(from), "{from}");
    refused_file(&file(&W.replace(from, to), ELEMENTS), words)
}

fn refused_file(bytes: &[u8], words: &str) -> Diagnostic {
    let error = FORMAT.read("w.safetensors", bytes).expect_err(words);
    assert!(error.message.contains(words), "{} should say `{words}`", error.message);
    error
}

#[test]
fn a_file_is_read() {
    assert_eq!(FORMAT.read("w", &file(W, ELEMENTS)), Ok(w()));
    // Spaces at the end, fields in another order, an escape, metadata.
    for header in [
        format!("{W}   "),
        r#"{ "w" : {"data_offsets":[0, 8], "shape":[2], "dtype":"F32"} }"#.into(),
        r#"{"\u0077":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#.into(),
        format!(r#"{{"__metadata__":{{"format":"pt","n\n":"\""}},{}"#, &W[1..]),
    ] {
        assert_eq!(FORMAT.read("w", &file(&header, ELEMENTS)), Ok(w()), "{header}");
    }
    assert_eq!(FORMAT.read("none", &file("{}", &[])), Ok(vec![]));
    assert_eq!(FORMAT.read("none", &write("none", &[]).expect("nothing")), Ok(vec![]));
}

#[test]
fn every_dtype_round_trips_in_the_given_order() {
    let entries: Named = DType::RUNTIME
        .into_iter()
        .flat_map(|dtype| {
            [&[][..], &[3], &[2, 0], &[2, 1, 3]]
                .map(|shape| (format!("{dtype}{shape:?}"), Tensor::random(dtype, shape, 1, "x").expect("a small tensor")))
        })
        .collect();
    let bytes = write("all", &entries).expect("small");
    assert_eq!(FORMAT.read("all", &bytes), Ok(entries));
    // Every tensor starts at a multiple of its width.
    let file = TensorFile::open("all", &bytes[..]).expect("sound");
    for item in file.items() {
        let Place::At(at) = item.place else { panic!("no archive") };
        assert!(at.is_multiple_of(item.head.dtype.bytes()), "{} at {at}", item.name);
    }
}

/// What the reference library wrote (Python, version 0.8) is read, and written as the same bytes.
#[test]
fn files_of_the_library_are_read_and_written_alike() {
    let theirs = include_bytes!("python.safetensors");
    let x = Tensor::from_fn(&[2, 3], |i| i as f32);
    let entries = vec![("a".to_owned(), Tensor::scalar(7i64)), ("b.weight".to_owned(), x.clone()), ("é".to_owned(), x)];
    assert_eq!(FORMAT.read("theirs", theirs).as_ref(), Ok(&entries));
    assert!(write("theirs", &entries).expect("small") == theirs);
}

#[test]
fn the_header_is_checked() {
    let length = |n: u64| [&n.to_le_bytes()[..], W.as_bytes(), ELEMENTS].concat();
    assert_eq!(refused_file(&length(100_000_001), "the limit is 100000000").code, codes::E0804);
    refused_file(&length(1 << 20), "the header takes 1048576 bytes");
    refused_file(&length(u64::MAX), "the limit is");
    refused_file(&length(0), "does not start with `{`");
    refused_file(&length(10), "the header is not that of tensors");
    refused_file(&file(" {}", &[]), "does not start with `{`");
    refused_file(&file("{} x", &[]), "trailing characters");
    refused_file(&file("{\"\u{1}\":1}", &[]), "control character");
    let mut not_utf8 = file(W, ELEMENTS);
    not_utf8[8 + 2] = 0xff;
    refused_file(&not_utf8, "not that of tensors");
    refused(r#""F32""#, "1", "expected a string");
    refused("[2]", "2", "expected a list of dimensions");
    refused("[2]", "[-2]", "expected u64");
    refused("[2]", "[2.0]", "expected u64");
    refused("[0,8]", "[0]", "invalid length 1");
    refused("[0,8]", "[0,4,8]", "trailing characters");
    refused(r#""shape":[2],"#, "", "missing field `shape`");
    refused(r#""shape":[2],"#, r#""shape":[2],"shape":[2],"#, "duplicate field `shape`");
    refused(r#""shape":[2],"#, r#""shape":[2],"device":1,"#, "unknown field `device`");
    refused(r#""w""#, r#""__metadata__":{"format":1},"w""#, "expected a string");
    refused(r#""w""#, r#""__metadata__":{},"__metadata__":{},"w""#, "a second `__metadata__`");
    // The byte is named, of a header of several lines too.
    assert!(refused("[2]", "\n [x]", "expected").message.contains("byte 39:"));
}

#[test]
fn the_tensors_are_checked() {
    refused("F32", "F8_E4M3", "the dtype `F8_E4M3`, which no tensor can hold");
    assert!(refused("F32", "F8_E5M2", "F8_E5M2").helps[0].text.contains("BF16"));
    refused("F32", "C64", "which no tensor can hold");
    refused("[2]", "[3]", "the shape [3] of float32 has 12 bytes");
    refused("[2]", "[]", "the shape [] of float32 has 4 bytes");
    refused("[0,8]", "[0,4]", "has 8 bytes");
    refused("[0,8]", "[8,0]", "has 8 bytes");
    refused("[0,8]", "[8,16]", "its elements end at byte 16 of 8");
    refused("[0,8]", "[18446744073709551608,18446744073709551615]", "its elements end at byte");
    refused("[2]", &format!("[{}]", ["1"; 33].join(",")), "more than 32 dimensions");
    let code = |dim: &str| refused("[2]", dim, "16 GiB").code;
    assert_eq!(code("[9223372036854775807]"), codes::E0803);
    assert_eq!(code("[0,18446744073709551615,9223372036854775807]"), codes::E0803);
    assert_eq!(code("[4294967297]"), codes::E0803);
    let not_bool = file(r#"{"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}"#, &[1, 2]);
    refused_file(&not_bool, "neither 0 nor 1");
}

#[test]
fn tensors_fill_the_file() {
    let two = |first: &str, second: &str, n: usize| {
        let entry = |offsets: &str| format!(r#"{{"dtype":"U8","shape":[4],"data_offsets":[{offsets}]}}"#);
        let header = format!(r#"{{"a":{},"b":{}}}"#, entry(first), entry(second));
        file(&header, &vec![7; n])
    };
    assert!(FORMAT.read("w", &two("0,4", "4,8", 8)).is_ok());
    // Their order in the file is not that of the header.
    assert_eq!(FORMAT.read("w", &two("4,8", "0,4", 8)).expect("sound")[0].0, "a");
    refused_file(&two("0,4", "5,9", 9), "no tensor has the bytes from 4 to 5");
    refused_file(&two("1,5", "5,9", 9), "no tensor has the bytes from 0 to 1");
    refused_file(&two("0,4", "3,7", 7), "several tensors have the bytes from 3 to 4");
    refused_file(&two("0,4", "0,4", 4), "several tensors have the bytes from 0 to 4");
    refused_file(&two("0,4", "4,8", 9), "1 bytes after the last tensor");
    // Tensors without elements lie anywhere between others, not inside one.
    let empty = |at: usize| {
        let header = format!(
            r#"{{"e":{{"dtype":"U8","shape":[0],"data_offsets":[{at},{at}]}},"w":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}}}"#
        );
        file(&header, &[7; 4])
    };
    assert!(FORMAT.read("w", &empty(0)).is_ok() && FORMAT.read("w", &empty(4)).is_ok());
    refused_file(&empty(2), "several tensors have");
}

#[test]
fn names_differ_and_are_short() {
    let twice = format!("{},{}", &W[..W.len() - 1], &W[1..]);
    refused_file(&file(&twice, ELEMENTS), "a second entry named `w`");
    let named = |n: usize| file(&W.replace("\"w\"", &format!("\"{}\"", "n".repeat(n))), ELEMENTS);
    assert!(FORMAT.read("w", &named(4096)).is_ok());
    let code: Code = refused_file(&named(4097), "a name of 4097 bytes").code;
    assert_eq!(code, codes::E0804);
    assert_eq!(
        FORMAT.read("w", &file(&W.replace("\"w\"", "\"../../etc/passwd\""), ELEMENTS)).expect("a key")[0].0,
        "../../etc/passwd"
    );
}

#[test]
fn too_many_tensors_are_refused() {
    let entry = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let header: Vec<String> = (0..=MAX_ENTRIES).map(|i| format!("\"{i}\":{entry}")).collect();
    let error = refused_file(&file(&format!("{{{}}}", header.join(",")), &[]), "more than 1000000 tensors");
    assert_eq!(error.code, codes::E0804);
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = file(W, ELEMENTS);
    for end in 0..bytes.len() {
        assert!(FORMAT.read("w.safetensors", &bytes[..end]).is_err(), "cut at {end}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200), header in ".{0,80}") {
        let _ = FORMAT.read("w", &body);
        let _ = FORMAT.read("w", &file(&header, &body));
        let _ = FORMAT.read("w", &file(&format!("{{{header}"), &body));
    }

    #[test]
    fn changed_bytes_never_panic(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4)) {
        let mut bytes = file(W, ELEMENTS);
        for &(at, byte) in &changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let _ = FORMAT.read("w", &bytes);
    }
}
