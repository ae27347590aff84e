//! Tests each rule of reading tensors with an accepted tensor and a refused one.

use super::super::super::proto::{SegmentProto, StringStringEntryProto};
use super::*;
use relayc_base::diag::codes;

const GATE: Gate = Gate { model: "m", outside: None };

/// A tensor of float32.
fn floats(dims: &[i64]) -> TensorProto {
    TensorProto { dims: dims.to_vec(), data_type: Some(1), name: Some("w".into()), ..TensorProto::default() }
}

fn raw(dims: &[i64], data_type: i32, bytes: &[u8]) -> TensorProto {
    TensorProto { data_type: Some(data_type), raw_data: Some(bytes.to_vec().into()), ..floats(dims) }
}

fn ints(dims: &[i64], data_type: i32, values: &[i32]) -> TensorProto {
    TensorProto { data_type: Some(data_type), int32_data: values.to_vec(), ..floats(dims) }
}

/// The message about a tensor.
fn words(proto: &TensorProto) -> String {
    match GATE.tensor(proto) {
        Err(Unread::Wrong(diagnostic)) => diagnostic.message,
        Err(Unread::Unsupported(what)) => what,
        Ok(tensor) => panic!("it was let in: {tensor:?}"),
    }
}

fn let_in(proto: &TensorProto) -> Tensor {
    GATE.tensor(proto).unwrap_or_else(|unread| panic!("{unread:?}"))
}

#[test]
fn raw_bytes_are_those_of_the_shape() {
    assert_eq!(let_in(&raw(&[2], 1, &[0, 0, 128, 63, 0, 0, 0, 64])), Tensor::from_vec(&[2], vec![1f32, 2.0]));
    assert_eq!(let_in(&raw(&[0, 3], 7, &[])).shape(), [0, 3]);
    assert!(words(&raw(&[2], 1, &[0; 7])).contains("7 bytes of elements"));
    assert!(words(&raw(&[2], 1, &[0; 12])).contains("12 bytes"));
    assert!(words(&raw(&[1 << 40], 1, &[])).contains("16 GiB"));
    assert!(words(&raw(&[-1], 1, &[])).contains("negative"));
    assert!(words(&raw(&[1; 33], 1, &[0; 4])).contains("rank 33"));
    assert!(words(&raw(&[2], 9, &[1, 2])).contains("neither 0 nor 1"));
}

#[test]
fn lists_have_as_many_numbers_as_the_shape() {
    let list = TensorProto { float_data: vec![1.0, 2.0], ..floats(&[2]) };
    assert_eq!(let_in(&list), Tensor::from_vec(&[2], vec![1f32, 2.0]));
    assert!(words(&TensorProto { dims: vec![3], ..list.clone() }).contains("2 elements"));
    assert!(words(&TensorProto { dims: vec![1], ..list.clone() }).contains("2 elements"));
    assert!(words(&TensorProto { data_type: Some(11), ..list.clone() }).contains("not in `double_data`"));
    assert!(words(&TensorProto { raw_data: Some(vec![0; 8].into()), ..list }).contains("more than one place"));
}

#[test]
fn narrow_numbers_fit_their_dtype() {
    assert_eq!(let_in(&ints(&[2], 3, &[-128, 127])), Tensor::from_vec(&[2], vec![-128i8, 127]));
    assert!(words(&ints(&[1], 3, &[128])).contains("no element of int8"));
    assert_eq!(let_in(&ints(&[1], 4, &[65535])), Tensor::from_vec(&[1], vec![65535u16]));
    assert!(words(&ints(&[1], 4, &[65536])).contains("uint16"));
    assert!(words(&ints(&[1], 9, &[2])).contains("bool"));
    assert_eq!(let_in(&ints(&[1], 10, &[0x3c00])).to_f64s(), [1.0]);
    assert_eq!(let_in(&ints(&[1], 16, &[0x3f80])).to_f64s(), [1.0]);
    let wide = TensorProto { data_type: Some(12), uint64_data: vec![1 << 32], ..floats(&[1]) };
    assert!(words(&wide).contains("uint32"));
}

#[test]
fn element_types_that_relay_lacks_are_named() {
    assert!(words(&raw(&[1], 8, &[])).contains("strings"));
    assert!(words(&raw(&[1], 14, &[0; 8])).contains("complex"));
    assert!(words(&raw(&[1], 23, &[0])).contains("4-bit floats"));
    assert!(words(&raw(&[1], 26, &[0])).contains("2-bit integers"));
    assert!(words(&raw(&[1], 0, &[])).contains("element type 0"));
    let part = TensorProto { segment: Some(SegmentProto::default()), ..raw(&[1], 1, &[0; 4]) };
    assert!(words(&part).contains("a part of a tensor"));
}

fn outside(location: &str, entries: &[(&str, &str)]) -> TensorProto {
    let entry = |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    let mut external_data = vec![entry("location", location)];
    external_data.extend(entries.iter().map(|(key, value)| entry(key, value)));
    TensorProto { external_data, data_location: Some(1), ..floats(&[2]) }
}

#[test]
fn other_files_are_read_where_that_is_wanted() {
    let read = |outside: &Outside| {
        assert_eq!((outside.path.as_slice(), outside.offset, outside.length), (&["data", "w.bin"][..], 4, 8));
        Ok(vec![0; 8])
    };
    let gate = Gate { model: "m", outside: Some(&read) };
    let proto = outside("data/w.bin", &[("offset", "4"), ("length", "8")]);
    assert!(gate.tensor(&proto).is_ok());
    assert!(gate.tensor(&outside("./data/w.bin", &[("offset", "4")])).is_ok());
    let Err(Unread::Wrong(refused)) = GATE.tensor(&proto) else { panic!("it was read") };
    assert_eq!(refused.code, codes::E0717);
    let short = |_: &Outside| Ok(vec![0; 7]);
    assert!(Gate { model: "m", outside: Some(&short) }.tensor(&proto).is_err());
}

#[test]
fn places_outside_the_folder_are_no_places() {
    for (location, why) in [
        ("/etc/passwd", "absolute"),
        ("../w.bin", "leaves the folder"),
        ("a/../../w.bin", "leaves the folder"),
        ("a//w.bin", "empty part"),
        (".", "empty part"),
        ("", "empty part"),
        ("a\\w.bin", "no path"),
        ("a\0", "no path"),
    ] {
        assert!(words(&outside(location, &[])).contains(why), "{location}");
    }
    assert!(words(&outside("w", &[("offset", "-1")])).contains("no number"));
    assert!(words(&outside("w", &[("length", "4")])).contains("its shape has 8"));
    assert!(words(&outside("w", &[("size", "4")])).contains("`size`"));
}

fn sparse(indices: TensorProto, dims: &[i64]) -> SparseTensorProto {
    let values = TensorProto { float_data: vec![1.0, 2.0], ..floats(&[2]) };
    SparseTensorProto { values: Some(Box::new(values)), indices: Some(Box::new(indices)), dims: dims.to_vec() }
}

fn longs(dims: &[i64], values: &[i64]) -> TensorProto {
    TensorProto { data_type: Some(7), int64_data: values.to_vec(), ..floats(dims) }
}

#[test]
fn sparse_tensors_become_dense_ones() {
    let b = &mut Builder::new();
    let flat = GATE.sparse(&sparse(longs(&[2], &[1, 5]), &[2, 3]), b).expect("positions");
    assert_eq!(flat, Tensor::from_vec(&[2, 3], vec![0f32, 1.0, 0.0, 0.0, 0.0, 2.0]));
    let rows = GATE.sparse(&sparse(longs(&[2, 2], &[0, 1, 1, 2]), &[2, 3]), b).expect("rows of indices");
    assert_eq!(rows, flat);
    for (indices, dims) in [
        (longs(&[2], &[1, 6]), [2, 3]),
        (longs(&[2], &[5, 1]), [2, 3]),
        (longs(&[2], &[1, 1]), [2, 3]),
        (longs(&[2], &[-1, 1]), [2, 3]),
        (longs(&[3], &[0, 1, 2]), [2, 3]),
        (longs(&[2, 2], &[0, 1, 2, 0]), [2, 3]),
        (longs(&[2], &[0, 1]), [1 << 20, 1 << 20]),
    ] {
        assert!(GATE.sparse(&sparse(indices, &dims), b).is_err());
    }
}

/// A few bytes request a gigabyte, once or repeatedly.
#[test]
fn dense_ones_are_not_made_without_end() {
    let one = |n: i64| SparseTensorProto {
        values: Some(Box::new(TensorProto { float_data: vec![2.0], ..floats(&[1]) })),
        indices: Some(Box::new(longs(&[1], &[0]))),
        dims: vec![n],
    };
    let code = |unread: Unread| match unread {
        Unread::Wrong(diagnostic) => diagnostic.code,
        Unread::Unsupported(what) => panic!("{what}"),
    };
    assert_eq!(GATE.sparse(&one(1 << 28), &mut Builder::new()).map_err(code), Err(codes::E0805));
    let b = &mut Builder::new();
    let made = (0..100).take_while(|_| GATE.sparse(&one(1 << 20), b).is_ok()).count();
    assert_eq!(made, 8, "of 4 MiB each");
    // A larger file may ask for more.
    b.set_file_size(1 << 20);
    assert!(GATE.sparse(&one(1 << 20), b).is_ok() && GATE.sparse(&one(1 << 20), b).is_err());
}
