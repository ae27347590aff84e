//! ONNX models made of bytes that are choices: a few nodes of any operator that relayc knows, with any operands and attributes.

use relayc::driver::import::{Request, onnx_bytes};
use relayc::driver::{Until, check_text};
use relayc::formats::onnx::import::table;
use relayc::formats::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type,
};

/// A model of any bytes is imported or refused, and what is imported is a right program.
pub fn import(bytes: &[u8]) {
    for keep_going in [false, true] {
        let request = Request { model: "random.onnx".into(), keep_going, ..Request::default() };
        let outcome = onnx_bytes(bytes.to_vec(), &request);
        let Some(imported) = outcome.imported else {
            assert!(outcome.diagnostics.iter().any(|diagnostic| diagnostic.is_error()), "nothing is said");
            continue;
        };
        let program = check_text("imported", &imported.text, Until::Main);
        assert!(!program.has_errors(), "{}\n{:?}", imported.text, program.diagnostics);
    }
}

/// The bytes one after the other, and zeros behind them.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn one(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n.max(1)
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.one(items.len())]
    }
}

const INTS: [i64; 12] = [0, 1, 2, 3, -1, -2, 4, 7, -5, 1 << 40, i64::MIN, i64::MAX];

/// Attributes that operators have, and one that none has.
const ATTRIBUTES: [&str; 40] = [
    "axis",
    "axes",
    "perm",
    "kernel_shape",
    "strides",
    "pads",
    "dilations",
    "group",
    "to",
    "keepdims",
    "value",
    "mode",
    "alpha",
    "beta",
    "epsilon",
    "direction",
    "hidden_size",
    "blocksize",
    "num_outputs",
    "auto_pad",
    "ceil_mode",
    "transA",
    "transB",
    "start",
    "end",
    "split",
    "starts",
    "ends",
    "exclusive",
    "reverse",
    "largest",
    "sorted",
    "select_last_index",
    "equation",
    "batch_dims",
    "reduction",
    "output_shape",
    "output_padding",
    "count_include_pad",
    "nothing_like_it",
];

const WORDS: [&str; 12] = [
    "",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "constant",
    "reflect",
    "edge",
    "linear",
    "bidirectional",
    "ij,jk->ik",
    "add",
    "ß*/",
];

fn value(name: &str, elem_type: i32, dims: &[Option<i64>]) -> ValueInfoProto {
    let dim = |dim: &Option<i64>| DimensionProto { dim_value: *dim, dim_param: None };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(elem_type), shape });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) }
}

fn ints(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        data_type: Some(7),
        dims: vec![values.len() as i64],
        int64_data: values.to_vec(),
        ..TensorProto::default()
    }
}

fn attribute(choices: &mut Choices) -> AttributeProto {
    let named = AttributeProto { name: Some(choices.of(&ATTRIBUTES).into()), ..AttributeProto::default() };
    let kind = [attribute_type::INT, attribute_type::INTS, attribute_type::FLOAT, attribute_type::STRING, attribute_type::TENSOR];
    let named = AttributeProto { r#type: Some(choices.of(&kind)), ..named };
    let n = choices.one(6);
    match named.r#type.unwrap_or(0) {
        attribute_type::INT => AttributeProto { i: Some(choices.of(&INTS)), ..named },
        attribute_type::INTS => AttributeProto { ints: (0..n).map(|_| choices.of(&INTS)).collect(), ..named },
        attribute_type::FLOAT => AttributeProto { f: Some(choices.of(&[0.0, 1.0, -1.5, f32::NAN, f32::INFINITY])), ..named },
        attribute_type::STRING => AttributeProto { s: Some(choices.of(&WORDS).as_bytes().to_vec()), ..named },
        _ => AttributeProto { t: Some(Box::new(ints("", &INTS[..n]))), ..named },
    }
}

/// A model of up to four nodes.
fn model(choices: &[u8]) -> ModelProto {
    let mut choices = Choices(choices.iter());
    let open = choices.of(&[Some(2), None]);
    let input = vec![
        value("x", 1, &[open, Some(3), Some(4), Some(4)]),
        value("m", 1, &[Some(3), Some(4)]),
        value("v", 1, &[open]),
        value("s", 1, &[]),
        value("i", 7, &[Some(2)]),
        value("b", 9, &[Some(3), Some(4)]),
        value("q", 2, &[Some(3), Some(4)]),
    ];
    let list: Vec<i64> = (0..choices.one(5)).map(|_| choices.of(&INTS)).collect();
    let initializer = vec![ints("list", &list), ints("one", &[1]), TensorProto { dims: vec![], ..ints("zero", &[0]) }];
    let mut names: Vec<String> = ["x", "m", "v", "s", "i", "b", "q", "list", "one", "zero", ""].map(str::to_owned).into();
    let kinds = table();
    let mut node = vec![];
    for at in 0..1 + choices.one(4) {
        let kind = kinds[(choices.one(256) << 8 | choices.one(256)) % kinds.len()].kind;
        let (domain, kind) = kind.rsplit_once('.').map_or(("", kind), |(domain, kind)| (domain, kind));
        let n = choices.one(5);
        let output: Vec<String> = (0..1 + choices.one(3)).map(|result| format!("r{at}_{result}")).collect();
        node.push(NodeProto {
            input: (0..n).map(|_| names[names.len() - 1 - choices.one(names.len())].clone()).collect(),
            output: output.clone(),
            op_type: Some(kind.into()),
            domain: Some(domain.into()),
            attribute: (0..choices.one(4)).map(|_| attribute(&mut choices)).collect(),
            ..NodeProto::default()
        });
        names.extend(output);
    }
    let output = names.iter().rev().take(1 + choices.one(3)).filter(|name| !name.is_empty());
    let output = output.map(|name| ValueInfoProto { name: Some(name.clone()), r#type: None }).collect();
    let graph = GraphProto { node, input, output, initializer, ..GraphProto::default() };
    let version = choices.of(&[17, 13, 7, 11, 18, 9, 21, 1]);
    ModelProto {
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(version) }],
        ..ModelProto::default()
    }
}

/// The promise of [`import`], for models that are sound on the outside.
pub fn import_made(choices: &[u8]) {
    import(&model(choices).encode_to_vec());
}

/// A model to damage.
pub fn small() -> Vec<u8> {
    model(&[1, 2, 3, 0, 1, 4, 5, 6, 2, 1, 0, 3, 2, 9, 1, 4, 4, 4, 2, 2]).encode_to_vec()
}
