//! Tests archives in the layouts of TVM's versions, and archives that lack a part.

use super::*;
use ::tar::{Builder, Header};
use relayc_ir::tensor::Tensor;
use relayc_weights::params;

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(vec![]);
    for (name, bytes) in files {
        let mut header = Header::new_ustar();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, *bytes).expect("written");
    }
    builder.into_inner().expect("written")
}

const TEXT: &[u8] = b"def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }";

fn one_weight(name: &str) -> Vec<u8> {
    params::write(&[(name.to_owned(), Tensor::scalar(1f32))])
}

fn refused(files: &[(&str, &[u8])]) -> Diagnostic {
    read("m.tar", &tar(files)).map(|_| ()).expect_err("refused")
}

#[test]
fn the_layouts_of_all_versions_are_read() {
    let weights = one_weight("p0");
    let modules = r#"{"modules": {"net": {"model_name": "net", "executors": ["graph"], "style": "full-model"}}, "version": 7}"#;
    let last = tar(&[("./metadata.json", modules.as_bytes()), ("./src/net.relay", TEXT), ("./parameters/net.params", &weights)]);
    let fifth = br#"{"model_name": "net", "executors": ["graph"], "style": "full-model", "version": 5}"#;
    let fifth = tar(&[("metadata.json", fifth), ("src/relay.txt", TEXT), ("parameters/net.params", &weights)]);
    let first = br#"{"model_name": "net", "runtimes": ["graph"], "version": 1}"#;
    let first = tar(&[("metadata.json", first), ("relay.txt", TEXT)]);
    for (bytes, file, n_weights) in [(last, "src/net.relay", 1), (fifth, "src/relay.txt", 1), (first, "relay.txt", 0)] {
        let model = read("m.tar", &bytes).expect(file);
        assert_eq!((model.text_name.as_str(), model.text.as_slice()), (file, TEXT));
        assert_eq!(model.weights.len(), n_weights);
        assert!(model.graph.is_none());
        assert!(show("m.tar", &bytes).is_ok_and(|text| text.contains("model `net`, for executor graph")));
    }
}

#[test]
fn what_holds_no_program_says_what_it_holds() {
    let weights = one_weight("w");
    let tvmc: &[(&str, &[u8])] = &[("mod.so", b"\x7fELF"), ("mod.json", b"{}"), ("mod.params", &weights)];
    let error = refused(tvmc);
    assert_eq!(error.code, codes::E0726);
    assert!(error.message.contains("package of TVMC"), "{}", error.message);
    assert!(error.notes[0].contains("mod.so: 4 bytes, machine code"), "{:?}", error.notes);
    assert_eq!(relayc_weights::read_tensors("m.tar", &tar(tvmc)).map(|named| named.len()), Ok(1));
    assert_eq!(refused(&[("a.txt", b"")]).code, codes::E0726);
    let operator = br#"{"model_name": "f", "style": "operator", "version": 7}"#;
    assert_eq!(refused(&[("metadata.json", operator)]).code, codes::E0726);
    let two = br#"{"modules": {"a": {"model_name": "a"}, "b": {"model_name": "b"}}, "version": 7}"#;
    assert!(refused(&[("metadata.json", two)]).message.contains("`a` and `b`"));
}

#[test]
fn what_is_not_sound_is_refused() {
    for (metadata, words) in [
        (&br#"{"model_name": "net", "version": 8}"#[..], "version 8"),
        (br#"{"model_name": "net", "version": "7"}"#, "no version"),
        (br#"{"version": 5}"#, "model_name"),
        (br#"{"model_name": "../net", "version": 5}"#, "a file's"),
        (b"{", "JSON"),
    ] {
        let error = refused(&[("metadata.json", metadata), ("src/relay.txt", TEXT)]);
        assert!(error.code == codes::E0703 && error.message.contains(words), "{}", error.message);
    }
    let twice = one_weight("w");
    let error = relayc_weights::read_tensors("m.tar", &tar(&[("a.params", &twice), ("b.params", &twice)])).expect_err("twice");
    assert!(error.message.contains("second weight named `w`"), "{}", error.message);
    let bad = refused(&[("metadata.json", br#"{"model_name": "n", "version": 5}"#), ("src/relay.txt", TEXT), ("n.params", b"x")]);
    assert!(bad.message.contains("m.tar:n.params"), "{}", bad.message);
}
