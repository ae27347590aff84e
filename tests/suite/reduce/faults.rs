//! Networks whose machine code is wrong on purpose are reduced to the operator that is wrong.

use super::{path, relayc, said};
use relayc_ir::tensor::Tensor;
use relayc_weights::params;
use std::path::Path;

/// The operators that a text calls.
fn operators(text: &str) -> Vec<String> {
    let body = text.split("#[metadata]").next().unwrap_or_default();
    let names = relayc_ops::table().defs().iter().map(|def| def.name);
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let calls = body.split('(').map(|before| before.rsplit(|c| !is_part(c)).next().unwrap_or_default());
    let known: Vec<&str> = names.collect();
    calls.filter(|name| known.contains(name)).map(str::to_owned).collect()
}

/// Weights as they are after training: no shift of a channel is 0.
fn shifted(weights: &Path) {
    let mut named =
        params::FORMAT.read("weights", &std::fs::read(weights).expect("they were written")).expect("they are weights");
    for (name, tensor) in named.iter_mut().filter(|(name, _)| name.ends_with("beta")) {
        *tensor = Tensor::random(tensor.dtype(), &[tensor.len() as i64], 1, name).expect("a vector of floats");
    }
    std::fs::write(weights, params::write(&named)).expect("the folder can be written");
}

/// Reduces a network with a fault in its code; the operators that are left. With weights of its own its parameters have values, which
/// go along; without, whatever is left of it is filled.
fn reduced(fault: &str, network: &[&str], with_values: bool) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (net, small, weights) =
        (folder.path().join("net.relay"), folder.path().join("small.relay"), folder.path().join("net.params"));
    let model = relayc(None, &[&["model"], network, &["-o", path(&net), "--params", path(&weights)]].concat());
    assert!(model.status.success(), "{}", said(&model));
    let (net, small_path) = (path(&net), path(&small));
    let relayc_path = env!("CARGO_BIN_EXE_relayc");
    let mut args = vec!["reduce", net, "-o", small_path, "--exit", "1", "--stderr", "E0508", "--timeout", "600"];
    let fill = ["--fill", "rand:seed=1"];
    let command = ["--", relayc_path, "run", "{}", "--engine", "both", "--threads", "1"];
    if with_values {
        shifted(&weights);
        args.extend(fill);
        args.extend(["--params", path(&weights)]);
        args.extend(command);
        args.extend(["--inputs", "{inputs}"]);
    } else {
        args.extend(command);
        args.extend(fill);
    }
    let done = relayc(Some(fault), &args);
    assert!(done.status.success(), "{}", said(&done));
    // What is left shows it, and nothing else: without the fault it is fine.
    let archive = small.with_extension("npz");
    assert_eq!(archive.exists(), with_values, "values are written where there are any");
    let given: [&str; 2] = if with_values { ["--inputs", path(&archive)] } else { fill };
    let again = ["run", small_path, given[0], given[1], "--engine", "both", "--threads", "1"];
    let wrong = relayc(Some(fault), &again);
    assert_eq!(wrong.status.code(), Some(1), "{}", said(&wrong));
    assert!(said(&wrong).contains("E0508"), "{}", said(&wrong));
    let right = relayc(None, &again);
    assert!(right.status.success(), "{}", said(&right));
    let text = std::fs::read_to_string(&small).expect("it was written");
    let left = operators(&text);
    assert!(!left.is_empty() && left.len() <= 5, "{fault}: {left:?} in\n{text}\n{}", said(&done));
    left
}

const RESIDUAL: &[&str] = &["resnet", "--layers", "50", "--image-shape", "3,64,64", "--classes", "10"];

#[test]
fn a_forgotten_bias_in_a_network_is_found() {
    let left = reduced("bias", RESIDUAL, true);
    assert!(left.iter().any(|name| name == "nn.conv2d"), "{left:?}");
}

#[test]
fn a_wrong_pad_in_a_network_is_found() {
    assert_eq!(reduced("pad", RESIDUAL, true), ["nn.max_pool2d"]);
}

#[test]
fn a_wrong_clip_in_a_network_is_found() {
    let left = reduced("clip", RESIDUAL, true);
    assert!(left.iter().any(|name| name == "nn.relu"), "{left:?}");
}

#[test]
fn values_may_be_whatever_fills_the_parameters() {
    // No statistics in it that random numbers make senseless.
    let left = reduced("bias", &["vgg", "--layers", "11", "--image-shape", "3,32,32", "--classes", "10"], false);
    assert!(left.iter().any(|name| name == "nn.conv2d"), "{left:?}");
}
