//! Exported ONNX models are sound: every network of the zoo and every program of the goldens and examples reads back as a valid
//! graph.
//!
//! Each value is made once and before it is used; inputs, results and types are those of the original function. `tests/peers/`
//! checks the numbers by running the models on ONNX Runtime.

mod boxes;
mod control;
mod deformed;
mod docs;
mod fused;
mod import;
mod lacking;
mod learned;
mod names;
mod nodes;

use crate::support;
use crate::support::writer::{Purpose, choices, write};
use prost::Message;
use rayon::prelude::*;
use relayc_driver::{Phase, Program, check_text, export, model};
use relayc_exchange::onnx::proto::{AttributeProto, GraphProto, ModelProto, TensorProto, ValueInfoProto, attribute_type};
use relayc_ir::types::{Ty, dims_of};
use relayc_zoo as zoo;
use std::collections::{BTreeMap, BTreeSet};

/// Networks of the zoo, made small by these flags.
const SMALL: &[(&str, &[&str])] = &[
    ("mlp", &[]),
    ("lstm", &["--iterations", "2", "--hidden", "8"]),
    ("squeezenet", &["--image-shape", "3,32,32", "--classes", "10"]),
    ("mobilenet", &["--image-shape", "3,32,32", "--classes", "10"]),
    ("resnet", &["--image-shape", "3,28,28", "--layers", "8", "--classes", "10"]),
    ("dqn", &["--image-shape", "2,42,42"]),
];

/// The model of a function, read back; `None` where ONNX cannot say it.
fn exported(program: &Program, entry: &str) -> Result<Option<GraphProto>, String> {
    match export::to_onnx(program, entry, &[]) {
        Ok(model) => {
            let model = ModelProto::decode(&*model.bytes).map_err(|error| error.to_string())?;
            assert_eq!((model.ir_version, model.opset_import[0].version), (Some(8), Some(17)));
            model.graph.map(Some).ok_or_else(|| "no graph".into())
        }
        Err(errors) if errors.iter().all(|error| error.code.id() == "E0708") => Ok(None),
        Err(errors) => Err(format!("{errors:?}")),
    }
}

/// Says what is wrong with a graph.
fn sound(graph: &GraphProto) -> Result<(), String> {
    let mut made: BTreeSet<&str> = BTreeSet::new();
    let name = |value: &ValueInfoProto| value.name.clone().unwrap_or_default();
    for (what, found) in graph
        .input
        .iter()
        .map(|value| ("input", value.name.as_deref()))
        .chain(graph.initializer.iter().map(|tensor| ("initializer", tensor.name.as_deref())))
    {
        let found = found.unwrap_or_default();
        if found.is_empty() || !made.insert(found) {
            return Err(format!("the {what} {found:?} has no name of its own"));
        }
    }
    nodes(graph, &mut made)?;
    graph.initializer.iter().try_for_each(tensor)?;
    let unmade = graph.output.iter().chain(&graph.value_info).map(name).find(|name| !made.contains(name.as_str()));
    unmade.map_or(Ok(()), |name| Err(format!("{name:?} is declared and never made")))
}

/// Says what is wrong with the nodes of a graph, or of one inside of a node. Notes the values that they make.
fn nodes<'a>(graph: &'a GraphProto, made: &mut BTreeSet<&'a str>) -> Result<(), String> {
    let mut nodes = BTreeSet::from([None]);
    for node in &graph.node {
        let kind = node.op_type.as_deref().unwrap_or_default();
        if let Some(early) = node.input.iter().find(|input| !input.is_empty() && !made.contains(input.as_str())) {
            return Err(format!("{kind} takes {early:?} before it is made"));
        }
        if node.output.is_empty() || kind.is_empty() || !nodes.insert(node.name.as_deref().filter(|name| !name.is_empty())) {
            return Err(format!("a node without a name of its own: {node:?}"));
        }
        for inner in node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()) {
            let mut seen = made.clone();
            seen.extend(inner.input.iter().filter_map(|value| value.name.as_deref()));
            self::nodes(inner, &mut seen)?;
            let own: BTreeSet<&String> = inner.node.iter().flat_map(|node| &node.output).collect();
            if let Some(other) = inner.output.iter().find(|value| value.name.as_ref().is_none_or(|name| !own.contains(name))) {
                return Err(format!("a block of {kind} gives {:?}, which is not its own", other.name));
            }
        }
        for output in &node.output {
            if output.is_empty() || !made.insert(output) {
                return Err(format!("{kind} makes {output:?}, which is made already"));
            }
        }
        node.attribute.iter().try_for_each(attribute)?;
    }
    Ok(())
}

/// The value of an attribute is that of its type.
fn attribute(attribute: &AttributeProto) -> Result<(), String> {
    let set = [
        (attribute_type::FLOAT, attribute.f.is_some()),
        (attribute_type::INT, attribute.i.is_some()),
        (attribute_type::STRING, attribute.s.is_some()),
        (attribute_type::INTS, attribute.r#type == Some(attribute_type::INTS)),
        (attribute_type::GRAPH, attribute.g.is_some()),
    ];
    let of: Vec<i32> = set.into_iter().filter(|(_, set)| *set).map(|(of, _)| of).collect();
    if of == [attribute.r#type.unwrap_or(0)] { Ok(()) } else { Err(format!("an attribute {attribute:?}")) }
}

/// A tensor has the bytes of its shape.
fn tensor(tensor: &TensorProto) -> Result<(), String> {
    let size = match tensor.data_type {
        Some(2 | 3 | 9) => 1,
        Some(4 | 5 | 10 | 16) => 2,
        Some(1 | 6 | 12) => 4,
        Some(7 | 11 | 13) => 8,
        other => return Err(format!("a tensor of dtype {other:?}")),
    };
    let bytes = tensor.dims.iter().product::<i64>() * size;
    let found = tensor.raw_data.as_ref().map_or(0, |data| data.len());
    if bytes == found as i64 { Ok(()) } else { Err(format!("{:?} has {found} bytes for {:?}", tensor.name, tensor.dims)) }
}

/// The shapes of values, where all dimensions are known.
fn shapes(values: &[ValueInfoProto]) -> Vec<Option<Vec<i64>>> {
    let shape = |value: &ValueInfoProto| {
        let shape = value.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
        shape.dim.iter().map(|dim| dim.dim_value).collect()
    };
    values.iter().map(shape).collect()
}

/// The shapes of a type's tensors, left to right.
fn leaves(program: &Program, ty: Ty) -> Vec<Option<Vec<i64>>> {
    let (mut stack, mut out) = (vec![ty], vec![]);
    while let Some(ty) = stack.pop() {
        match program.module.types.as_tuple(ty) {
            Some(fields) => stack.extend(fields.iter().rev()),
            None => out.push(program.module.types.as_tensor(ty).and_then(|(shape, _)| dims_of(shape))),
        }
    }
    out
}

/// Exports every function of a program. Returns how many ONNX can say.
fn export_all(program: &Program) -> Result<usize, String> {
    let mut n = 0;
    for global in program.module.globals.iter() {
        let func = &program.module.funcs[global.func];
        let failed = |why: String| format!("@{}: {why}", global.name);
        let Some(graph) = exported(program, &global.name).map_err(failed)? else { continue };
        sound(&graph).map_err(failed)?;
        let params =
            func.params.iter().flat_map(|&var| leaves(program, program.module.vars[var].checked_ty.unwrap_or(Ty::ERROR)));
        if shapes(&graph.input) != params.collect::<Vec<_>>() {
            return Err(failed("other inputs than parameters".into()));
        }
        // A result that is declared wider than it is may have its own shape in ONNX.
        let (found, declared) = (shapes(&graph.output), leaves(program, func.ret.unwrap_or(Ty::ERROR)));
        let fits = |(found, declared): (&Option<Vec<i64>>, &Option<Vec<i64>>)| declared.is_none() || found == declared;
        if found.len() != declared.len() || !found.iter().zip(&declared).all(fits) {
            return Err(failed("other results than its type says".into()));
        }
        n += 1;
    }
    Ok(n)
}

#[test]
fn every_network_of_the_zoo() {
    let wrong: Vec<String> = zoo::networks()
        .par_iter()
        .filter_map(|network| {
            let text = model::build(network.name, &[], None).ok().expect("it builds by default").text;
            let program = check_text(network.name, &text, Phase::Infer);
            match export_all(&program) {
                Ok(1) => None,
                Ok(n) => Some(format!("{}: {n} models", network.name)),
                Err(why) => Some(format!("{}: {why}", network.name)),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn channels_last_and_batch_norm_behind_convolutions() {
    for (name, flags) in [
        ("mobilenet", &["--layout", "NHWC", "--image-shape", "64,64,3"][..]),
        ("resnet", &["--layout", "NHWC", "--image-shape", "64,64,3"]),
        ("vgg", &["--batch-norm"]),
        ("squeezenet", &["--version", "1.1", "--dtype", "float16"]),
    ] {
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        let text = model::build(name, &flags, None).ok().expect("these flags").text;
        assert_eq!(export_all(&check_text(name, &text, Phase::Infer)), Ok(1), "{name}");
    }
}

/// Every convolution, product and normalisation of the text is one node, and dropout is none.
#[test]
fn operators_are_nodes() {
    let text = model::build("inception_v3", &[], None).ok().expect("it builds by default").text;
    let graph = exported(&check_text("inception_v3", &text, Phase::Infer), "main").expect("sound").expect("ONNX can say it");
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    graph.node.iter().for_each(|node| *kinds.entry(node.op_type.as_deref().unwrap_or_default()).or_default() += 1);
    let calls = |name: &str| text.matches(&format!("= {name}(")).count();
    for (kind, name) in [
        ("Conv", "nn.conv2d"),
        ("BatchNormalization", "nn.batch_norm"),
        ("Concat", "concatenate"),
        ("MaxPool", "nn.max_pool2d"),
        ("Relu", "nn.relu"),
    ] {
        assert_eq!(kinds[kind], calls(name), "{name}");
    }
    assert!(!kinds.contains_key("Dropout"));
}

#[test]
fn every_golden_and_example() {
    let programs = ["tests/golden", "examples"].into_iter().flat_map(|folder| support::programs::under(folder, &["relay"]));
    let done: Vec<Result<usize, String>> = programs
        .par_bridge()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let program = check_text("golden", &text, Phase::Main);
            let done = if program.has_errors() { Ok(0) } else { export_all(&program) };
            if path.ends_with("transformer/encoder.relay") && done != Ok(1) {
                return Err(format!("{}: {done:?}", path.display()));
            }
            done.map_err(|why| format!("{}: {why}", path.display()))
        })
        .collect();
    let wrong: Vec<&String> = done.iter().filter_map(|done| done.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let models: usize = done.iter().flatten().sum();
    println!("{models} functions are models");
    assert!(models > 100, "only {models} functions are models");
}

/// Chains of every kind of binding, as long as a program may have them, on a stack of 256 KiB.
#[test]
fn long_chains_need_no_stack() {
    const N: usize = 50_000;
    let chain = |line: fn(usize) -> String| (1..N).map(line).collect::<String>();
    let head = "#[version = \"0.0.5\"]\n";
    let main = "def @main(%x: Tensor[(2), float32]) {\n";
    let last = N - 1;
    let graph =
        format!("{head}{main}%0 = nn.relu(%x);\n{}nn.relu(%{last})\n}}\n", chain(|i| format!("%{i} = exp(%{});\n", i - 1)));
    let lets = format!("{head}{main}let %a0 = %x;\n{}%a{last}\n}}\n", chain(|i| format!("let %a{i} = exp(%a{});\n", i - 1)));
    let tuples = format!("{head}{main}%0 = (%x, %x);\n{}%{last}.1\n}}\n", chain(|i| format!("%{i} = (%{}, %x);\n", i - 1)));
    let of = "(%x: Tensor[(2), float32]) -> Tensor[(2), float32]";
    let functions: String = (1..2000).map(|i| format!("def @f{i}{of} {{ @f{}(exp(%x)) }}\n", i - 1)).collect();
    let functions = format!("{head}def @f0{of} {{ %x }}\n{functions}{main}@f1999(%x)\n}}\n");
    let wide: String = (1..60).map(|i| format!("%{i} = (%{}, %{});\n", i - 1, i - 1)).collect();
    let wide = format!("{head}{main}%0 = (%x, %x);\n{wide}%59\n}}\n");
    let run = move || {
        for (text, n_nodes) in [(graph, N + 1), (lets, N - 1), (tuples, 1), (functions, 1999)] {
            let program = check_text("chain", &text, Phase::Main);
            let graph = exported(&program, "main").expect("sound").expect("ONNX can say it");
            assert_eq!(graph.node.len(), n_nodes);
            sound(&graph).expect("sound");
        }
        // Exponentially many tensors are refused.
        assert!(matches!(exported(&check_text("wide", &wide, Phase::Main), "main"), Ok(None)));
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread");
    thread.join().expect("the stack is large enough");
}

/// Programs nobody would write: whatever they hold, the model is sound, or what ONNX cannot say is said.
#[test]
fn random_programs() {
    const PROGRAMS: u64 = 3000;
    let exported: Vec<Result<usize, String>> = (0..PROGRAMS)
        .into_par_iter()
        .map(|seed| {
            let program = check_text("random", &write(&choices(seed), Purpose::Run), Phase::Main);
            if program.has_errors() { Ok(0) } else { export_all(&program).map_err(|why| format!("program {seed}: {why}")) }
        })
        .collect();
    let wrong: Vec<&String> = exported.iter().filter_map(|done| done.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let models: usize = exported.iter().flatten().sum();
    assert!(models > 500, "of {PROGRAMS} programs only {models} functions are models");
}
