//! Tests the readers of all formats on large files of very many small parts, the most expensive input for their size.

use relayc_base::FileId;
use relayc_exchange::mxnet;
use relayc_ir::tensor::Tensor;
use relayc_weights as formats;
use std::fmt::Write;

/// A file by its name, and the readers that accept it.
pub(crate) type File = (&'static str, &'static [&'static str], fn() -> Vec<u8>);

pub(crate) const FILES: [File; 11] = [
    ("params", &["tensors"], || formats::params::write(&scalars(700_000))),
    ("safetensors", &["tensors"], || {
        formats::encode(formats::safetensors::FORMAT, "w", &scalars(700_000)).expect("a file can be written")
    }),
    ("npz", &["tensors"], || formats::encode(formats::npz::FORMAT, "w", &scalars(65_536)).expect("a file can be written")),
    ("tar", &["tensors", "a package"], tar),
    ("mxnet params", &["tensors"], mxnet_params),
    ("graph of nodes", &["a graph"], || graph(200_000, 1)),
    ("graph of results", &["a graph"], || graph(1, 700_000)),
    ("network of inputs", &["a network"], || network(150_000, |_| String::new())),
    ("network of splits", &["a network"], || {
        network(250, |i| {
            format!(r#"{{"op":"split","name":"s{i}","attrs":{{"num_outputs":"4096","squeeze_axis":"1"}},"inputs":[[{i},0]]}},"#)
        })
    }),
    ("network of activations", &["a network"], || {
        network(20_000, |i| format!(r#"{{"op":"relu","name":"s{i}","inputs":[[{i},0]]}},"#))
    }),
    ("object of keys", &[], || {
        let keys: Vec<String> = (0..900_000).map(|i| format!("\"{i:x}\":0")).collect();
        format!(r#"{{"nodes":[],"arg_nodes":[],"heads":[],{}}}"#, keys.join(",")).into_bytes()
    }),
];

/// A reader by its name, which says whether it accepts the bytes.
pub(crate) type Reader = (&'static str, fn(&[u8]) -> bool);

pub(crate) const READERS: [Reader; 4] = [
    ("tensors", |bytes| formats::read_tensors("large", bytes).is_ok()),
    ("a graph", |bytes| relayc_exchange::graph_json::read("large", bytes).is_ok()),
    ("a package", |bytes| relayc_exchange::package::show("large", bytes).is_ok()),
    ("a network", |bytes| {
        let how = mxnet::Import { name: "large", file: FileId(0), shapes: &[], weights: vec![], as_params: true };
        mxnet::import(bytes, how).1.is_ok()
    }),
];

fn scalars(n: usize) -> Vec<(String, Tensor)> {
    let one = Tensor::scalar(1u8);
    (0..n).map(|i| (format!("{i:x}"), one.clone())).collect()
}

/// Half the weights in each of two files.
fn tar() -> Vec<u8> {
    let all = scalars(700_000);
    let (first, second) = all.split_at(350_000);
    let mut builder = tar::Builder::new(vec![]);
    for (name, weights) in [("a.params", first), ("b.params", second)] {
        let bytes = formats::params::write(weights);
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, &bytes[..]).expect("memory");
    }
    builder.into_inner().expect("memory")
}

/// Vectors without elements, as the oldest versions wrote them.
fn mxnet_params() -> Vec<u8> {
    const N: u64 = 65_536;
    let mut out = [0x112, 0, N].map(u64::to_le_bytes).concat();
    for _ in 0..N {
        out.extend([1u32, 0, 1, 0, 0].map(u32::to_le_bytes).concat());
    }
    out.extend(N.to_le_bytes());
    for i in 0..N {
        let name = format!("{i:x}");
        out.extend((name.len() as u64).to_le_bytes());
        out.extend(name.as_bytes());
    }
    out
}

/// Inputs of TVM's graph executor, and a call of so many results.
fn graph(n_inputs: usize, n_results: usize) -> Vec<u8> {
    let mut nodes = String::new();
    for i in 0..n_inputs {
        let _ = write!(nodes, r#"{{"op":"null","name":"{i:x}","inputs":[]}},"#);
    }
    let call = format!(r#"{{"func_name":"f","flatten_data":"0","num_inputs":"0","num_outputs":"{n_results}"}}"#);
    let arguments: Vec<String> = (0..n_inputs).map(|i| i.to_string()).collect();
    let rows: Vec<String> = (0..=n_inputs).chain([n_inputs + n_results]).map(|row| row.to_string()).collect();
    let n = n_inputs + n_results;
    let each = |what: &str| vec![what; n].join(",");
    format!(
        r#"{{"nodes":[{nodes}{{"op":"tvm_op","name":"f","attrs":{call},"inputs":[]}}],"arg_nodes":[{}],"heads":[[{n_inputs},0]],
        "node_row_ptr":[{}],"attrs":{{"dltype":["list_str",[{}]],"storage_id":["list_int",[{}]],"shape":["list_shape",[{}]]}}}}"#,
        arguments.join(","),
        rows.join(","),
        each("\"int8\""),
        each("0"),
        each("[1]"),
    )
    .into_bytes()
}

/// So many inputs of MXNet, each with what takes it, which are the results where they are there.
fn network(n: usize, node: impl Fn(usize) -> String) -> Vec<u8> {
    let mut nodes = String::new();
    for i in 0..n {
        let _ = write!(nodes, r#"{{"op":"null","name":"{i:x}","attr":{{"__shape__":"({},4096)"}},"inputs":[]}},"#, i + 1);
    }
    let made: Vec<String> = (0..n).map(node).collect();
    let n_made = made.iter().filter(|node| !node.is_empty()).count();
    let heads: Vec<String> = (0..n_made.max(1)).map(|i| format!("[{},0]", if n_made == 0 { i } else { n + i })).collect();
    let text = format!(r#"{{"nodes":[{nodes}{}"#, made.concat());
    format!(r#"{}],"heads":[{}]}}"#, text.trim_end_matches(','), heads.join(",")).into_bytes()
}
