//! Tests each rule of binding with an accepted and a rejected request.

use super::*;
use relayc_base::diag::Code;
use relayc_ir::tensor::npy;
use relayc_ir::types::DType;
use relayc_weights::{encode, npz, params};

/// `x: Tensor[(1, 3), float32]`, `n: int32`, `pair: (float32, Tensor[(2,), bool])`, `open: Tensor[(?, 2), float32]`.
struct Entry {
    types: Types,
    slots: Vec<Slot>,
    folder: tempfile::TempDir,
}

impl Entry {
    fn new() -> Entry {
        let mut types = Types::new();
        let x = types.tensor_of(&[1, 3], DType::F32);
        let n = types.scalar(DType::I32);
        let (a, b) = (types.scalar(DType::F32), types.tensor_of(&[2], DType::BOOL));
        let pair = types.tuple(&[a, b]);
        let open = types.tensor(&[Dim::Any, Dim::known(2)], DType::F32);
        let slot = |name: &str, ty| Slot { name: name.into(), ty };
        let slots = vec![slot("x", x), slot("n", n), slot("pair", pair), slot("open", open)];
        Entry { types, slots, folder: tempfile::tempdir().expect("a folder") }
    }

    fn file(&self, name: &str, bytes: Vec<u8>) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path.display().to_string()
    }

    fn bind(&self, requests: &Requests) -> Result<Vec<Bound>, Vec<Diagnostic>> {
        bind(&self.slots, &self.types, requests)
    }

    /// Binds these inputs and fills everything else with zeros.
    fn inputs(&self, inputs: &[&str]) -> Result<Vec<Bound>, Vec<Diagnostic>> {
        self.bind(&Requests { inputs: inputs.iter().map(|&text| text.to_owned()).collect(), ..filled() })
    }

    fn refused(&self, inputs: &[&str], code: Code, words: &str) -> Diagnostic {
        let errors = self.inputs(inputs).expect_err(words);
        assert_eq!(errors.len(), 1, "{errors:#?}");
        says(&errors[0], code, words);
        errors[0].clone()
    }
}

fn filled() -> Requests {
    Requests { fill: Some("zeros".into()), set: vec!["open.0=4".into()], ..Requests::default() }
}

/// The message, a note or a help contains the words.
fn says(error: &Diagnostic, code: Code, words: &str) {
    let helps = error.helps.iter().map(|help| help.text.as_str());
    let all: Vec<&str> =
        [error.message.as_str()].into_iter().chain(error.notes.iter().map(String::as_str)).chain(helps).collect();
    assert_eq!(error.code, code, "{all:#?}");
    assert!(all.iter().any(|text| text.contains(words)), "{all:#?} should say `{words}`");
}

fn tensor(bound: &Bound) -> &Tensor {
    match bound {
        Bound::Tensor(tensor) => tensor,
        Bound::Tuple(_) => panic!("a tuple"),
    }
}

#[test]
fn values_fit_the_slots_or_are_refused() {
    let entry = Entry::new();
    let args = entry.inputs(&[]).expect("zeros");
    assert_eq!(fit(&entry.slots, &entry.types, &args), Ok(()));
    let refused =
        |args: &[Bound], words: &str| says(&fit(&entry.slots, &entry.types, args).expect_err(words), codes::E0705, words);
    refused(&args[..3], "expected 4 arguments, found 3");
    let with = |at: usize, value: Bound| {
        let mut args = args.clone();
        args[at] = value;
        args
    };
    let scalar = Bound::Tensor(Tensor::scalar(1f32));
    refused(&with(0, scalar.clone()), "the rank is 0, not 2");
    refused(&with(1, scalar.clone()), "the dtype is float32, not int32");
    refused(&with(2, scalar), "the argument has other fields");
    let function = Slot { name: "f".into(), ty: Ty::ERROR };
    assert_eq!(fit(&[function], &entry.types, &args[..1]).expect_err("no data").code, codes::E0704);
}

#[test]
fn every_form_of_an_input() {
    let entry = Entry::new();
    let x = Tensor::from_vec(&[1, 3], vec![1f32, 2.0, 3.0]);
    let named = vec![("x".to_owned(), x.clone()), ("y".to_owned(), x.clone())];
    let npy = entry.file("x.npy", npy::write(&x));
    let npz = entry.file("b.npz", encode(npz::FORMAT, "b", &named).expect("small"));
    let params = entry.file("w.params", params::write(&named[1..]));
    let inputs = [
        "x=1x3xf32=[1,2,3]".to_owned(),
        "%x=1x3xfloat32=[[1, 2, 3]]".into(),
        format!("x=@{npy}"),
        format!("x=@{npz}:y"),
        format!("x=@{npz}"),
        format!("x=@{params}"),
        format!("x=@{params}:y"),
    ];
    for input in inputs {
        let bound = entry.inputs(&[&input]).unwrap_or_else(|errors| panic!("{input}: {errors:#?}"));
        assert_eq!(tensor(&bound[0]), &x, "{input}");
    }
    let ones = entry.inputs(&["x=ones", "n=rand:seed=4"]).expect("fillings");
    assert_eq!(tensor(&ones[0]).to_f64s(), [1.0; 3]);
    assert_eq!(Some(tensor(&ones[1])), Tensor::random(DType::I32, &[], 4, "n").ok().as_ref());
}

#[test]
fn pictures_take_the_shape_of_their_parameter() {
    let mut entry = Entry::new();
    let ty = entry.types.tensor(&[Dim::Any, Dim::known(3), Dim::known(2), Dim::known(2)], DType::F32);
    entry.slots = vec![Slot { name: "data".into(), ty }];
    let png = include_bytes!("tests/pixel.png");
    let path = entry.file("pixel.png", png.to_vec());
    let requests = |input: String| Requests { inputs: vec![input], ..Requests::default() };
    let bound = entry.bind(&requests(format!("data=@{path}:unit"))).expect("a picture");
    assert_eq!(tensor(&bound[0]).shape(), [1, 3, 2, 2]);
    let error = entry.bind(&requests(format!("data=@{path}"))).expect_err("no preset").remove(0);
    says(&error, codes::E0707, "imagenet");
    let error = entry.bind(&requests(format!("data=@{path}:unti"))).expect_err("no preset").remove(0);
    says(&error, codes::E0707, "did you mean `unit`?");
    says(&entry.bind(&Requests::default()).expect_err("missing").remove(0), codes::E0704, "@picture.png:imagenet");
}

#[test]
fn later_sources_win() {
    let entry = Entry::new();
    let of = |value: f32| Tensor::from_vec(&[1, 3], vec![value; 3]);
    let file = |name: &str, value: f32| entry.file(name, params::write(&[("x".into(), of(value)), ("unused".into(), of(0.0))]));
    let (one, two) = (file("1.params", 1.0), file("2.params", 2.0));
    let three = entry.file("3.npz", encode(npz::FORMAT, "3", &[("x".into(), of(3.0))]).expect("small"));
    let mut requests = Requests { params: vec![one.into(), two.into()], ..filled() };
    let value = |requests: &Requests| tensor(&entry.bind(requests).expect("bound")[0]).to_f64s()[0];
    assert_eq!(value(&requests), 2.0);
    requests.inputs_file = Some(three.into());
    assert_eq!(value(&requests), 3.0);
    requests.inputs = vec!["x=1x3xf32=4".into()];
    assert_eq!(value(&requests), 4.0);
}

#[test]
fn tuples_bind_field_by_field() {
    let entry = Entry::new();
    let bound = entry.inputs(&["pair.1=2xbool=[true,false]", "pair.0=f32=2"]).expect("fields");
    let Bound::Tuple(fields) = &bound[2] else { panic!("a tuple parameter") };
    assert_eq!(tensor(&fields[1]).to_vec::<bool>(), Some(vec![true, false]));
    let ones = entry.inputs(&["pair=ones"]).expect("a filling takes all fields");
    let Bound::Tuple(fields) = &ones[2] else { panic!("a tuple parameter") };
    assert_eq!(tensor(&fields[0]).to_f64s(), [1.0]);
    says(&entry.refused(&["pair=f32=1"], codes::E0707, "is a tuple"), codes::E0707, "`pair.0` and `pair.1`");
}

#[test]
fn what_is_missing_is_named_with_the_flag_to_paste() {
    let entry = Entry::new();
    let inputs =
        |inputs: &[&str]| Requests { inputs: inputs.iter().map(|&text| text.to_owned()).collect(), ..Requests::default() };
    let errors = entry.bind(&inputs(&["n=zeros", "pair=zeros"])).expect_err("two are missing");
    assert_eq!(errors.len(), 2);
    says(&errors[0], codes::E0704, "-i x=zeros");
    says(&errors[0], codes::E0704, "Tensor[(1, 3), float32]");
    says(&errors[1], codes::E0704, "-i open=zeros --set open.0=1");
    let errors = entry.bind(&Requests::default()).expect_err("all are missing");
    assert_eq!(errors.len(), 1);
    says(&errors[0], codes::E0704, "5 parameters have no value: `x`, `n`, `pair.0`, `pair.1` and `open`");
    // A weight whose name is nearly right.
    let weights = entry.file("w.params", params::write(&[("opne".into(), Tensor::scalar(1f32))]));
    let requests = Requests { params: vec![weights.into()], ..inputs(&["x=zeros", "n=zeros", "pair=zeros"]) };
    says(&entry.bind(&requests).expect_err("misspelt")[0], codes::E0704, "has `opne`");
}

#[test]
fn a_wrong_type_names_both_sides() {
    let entry = Entry::new();
    let error = entry.refused(&["x=1x4xf32=0"], codes::E0705, "parameter `x` is Tensor[(1, 3), float32]");
    says(&error, codes::E0705, "gives Tensor[(1, 4), float32]");
    says(&error, codes::E0705, "axis 1 is 4, not 3");
    says(&entry.refused(&["x=3xf64=0"], codes::E0705, "the rank is 1, not 2"), codes::E0705, "x.astype(\"float32\")");
    let path = entry.file("x.npy", npy::write(&Tensor::scalar(1f32)));
    entry.refused(&[&format!("x=@{path}")], codes::E0705, "x.npy");
    // A weight that a later source replaces need not fit.
    let weights = entry.file("w.params", params::write(&[("x".into(), Tensor::scalar(1f32))]));
    let requests = Requests { params: vec![weights.into()], inputs: vec!["x=zeros".into()], ..filled() };
    assert!(entry.bind(&requests).is_ok());
}

#[test]
fn a_transposed_picture_is_recognised() {
    let mut entry = Entry::new();
    let ty = entry.types.tensor_of(&[1, 3, 4, 4], DType::F32);
    entry.slots = vec![Slot { name: "data".into(), ty }];
    let requests = Requests { inputs: vec!["data=1x4x4x3xf32=0".into()], ..Requests::default() };
    says(&entry.bind(&requests).expect_err("NHWC")[0], codes::E0705, "x.transpose(0, 3, 1, 2)");
}

#[test]
fn names_that_bind_to_nothing() {
    let entry = Entry::new();
    says(&entry.refused(&["opn=zeros"], codes::E0706, "`opn`"), codes::E0706, "did you mean `open`?");
    let path = entry.file("b.npz", encode(npz::FORMAT, "b", &[("pare.0".into(), Tensor::scalar(1f32))]).expect("small"));
    let requests = Requests { inputs_file: Some(path.clone().into()), ..filled() };
    says(&entry.bind(&requests).expect_err("no parameter")[0], codes::E0706, "did you mean `pair.0`?");
    says(&entry.refused(&[&format!("x=@{path}:pare.1")], codes::E0706, "no entry `pare.1`"), codes::E0706, "`pare.0`");
    let many: Vec<(String, Tensor)> = (0..20).map(|i| (format!("name{i}"), Tensor::scalar(1f32))).collect();
    let many = entry.file("many.npz", encode(npz::FORMAT, "many", &many).expect("small"));
    let requests = Requests { inputs_file: Some(many.into()), ..filled() };
    let errors = entry.bind(&requests).expect_err("no parameters");
    says(&errors[0], codes::E0706, "one of 20 such names");
    assert_eq!(errors.len(), 8);
    let requests = Requests { set: vec!["opn.0=4".into()], ..filled() };
    says(&entry.bind(&requests).expect_err("no parameter")[0], codes::E0706, "`open`");
}

#[test]
fn specifications_that_are_not_understood() {
    let entry = Entry::new();
    entry.refused(&["x"], codes::E0707, "NAME=SPEC");
    says(&entry.refused(&["x=hello"], codes::E0707, "is no tensor"), codes::E0707, "1x3xf32=0.5");
    entry.refused(&["x=rand:seed=-1"], codes::E0707, "is no tensor");
    entry.refused(&["x=1x3xf32=[1,2]"], codes::E0707, "2 elements");
    entry.refused(&["x=@"], codes::E0707, "without a file");
    entry.refused(&["x=zeros", "x=ones"], codes::E0707, "given twice");
    let npy = entry.file("x.npy", npy::write(&Tensor::scalar(1f32)));
    entry.refused(&[&format!("x={npy}")], codes::E0707, "written with `@`");
    entry.refused(&[&format!("x=@{npy}:key")], codes::E0707, "no entries");
    let two = [("a".to_owned(), Tensor::scalar(1f32)), ("b".to_owned(), Tensor::scalar(1f32))];
    let npz = entry.file("b.npz", encode(npz::FORMAT, "b", &two).expect("small"));
    says(&entry.refused(&[&format!("x=@{npz}")], codes::E0707, "which entry"), codes::E0707, "`a` and `b`");
    let requests = Requests { fill: Some("noise".into()), ..filled() };
    says(&entry.bind(&requests).expect_err("no filling")[0], codes::E0707, "--fill noise");
    for (setting, words) in
        [("open", "NAME.AXIS=N"), ("open.0=-1", "a size is a number"), ("open.2=1", "`open` is"), ("x.1=4", "is 3")]
    {
        let requests = Requests { set: vec![setting.into()], fill: Some("zeros".into()), ..Requests::default() };
        let errors = entry.bind(&requests).expect_err(setting);
        says(&errors[0], codes::E0707, words);
    }
}

#[test]
fn files_that_cannot_be_read_are_said_once() {
    let entry = Entry::new();
    entry.refused(&["x=@/none.npz:x", "n=@/none.npz:n"], codes::E0701, "/none.npz");
    let text = entry.file("x.txt", b"hello".to_vec());
    entry.refused(&[&format!("x=@{text}")], codes::E0703, "no format");
    let weights = entry.file("w.params", b"hello".to_vec());
    let errors = entry.bind(&Requests { params: vec![weights.into()], ..Requests::default() }).expect_err("broken");
    assert_eq!(errors.len(), 1);
    says(&errors[0], codes::E0703, "w.params");
}

#[test]
fn open_dimensions_take_what_comes_or_what_is_set() {
    let entry = Entry::new();
    let open = |requests: &Requests| entry.bind(requests).map(|bound| tensor(&bound[3]).shape().to_vec());
    assert_eq!(open(&filled()), Ok(vec![4, 2]));
    let given = Requests { inputs: vec!["open=7x2xf32=1".into()], fill: Some("zeros".into()), ..Requests::default() };
    assert_eq!(open(&given), Ok(vec![7, 2]));
    let both = Requests { set: vec!["open.0=4".into()], ..given.clone() };
    says(&open(&both).expect_err("7 is not 4")[0], codes::E0705, "axis 0 is 7, not 4");
    let neither = Requests { inputs: vec![], ..given };
    says(&open(&neither).expect_err("no size")[0], codes::E0704, "--set open.0=1");
}

#[test]
fn memory_is_checked_before_it_is_taken() {
    let entry = Entry::new();
    let requests = |set: &str| Requests { set: vec![set.into()], max_memory: Some(1000), ..filled() };
    assert!(entry.bind(&requests("open.0=100")).is_ok());
    says(&entry.bind(&requests("open.0=1000")).expect_err("too much")[0], codes::E0803, "the limit is 1,000");
    says(&entry.bind(&requests("open.0=99999999999")).expect_err("too much")[0], codes::E0803, "16 GiB");
    let literal = Requests { inputs: vec!["open=1000x2xf32=0".into()], max_memory: Some(1000), ..filled() };
    says(&entry.bind(&literal).expect_err("too much")[0], codes::E0803, "the limit is 1,000");
}

#[test]
fn what_no_file_can_hold() {
    let mut entry = Entry::new();
    let f = entry.types.func(&[], Ty::UNIT);
    entry.slots = vec![Slot { name: "f".into(), ty: f }];
    says(&entry.bind(&Requests::default()).expect_err("a function")[0], codes::E0704, "no file can hold");
}
