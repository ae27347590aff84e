//! The networks of the zoo as programs.

use relayc_driver::optimise::{UNTIL, bind_weights};
use relayc_driver::{Program, check_text, model};
use relayc_weights::params;

/// The networks of the zoo, at the sizes people use.
pub(crate) const WHOLE: &[(&str, &str)] = &[
    ("mlp", ""),
    ("dqn", ""),
    ("resnet", ""),
    ("resnet", "--layers 50"),
    ("resnet", "--layers 20 --image-shape 3,28,28 --classes 10"),
    ("resnet_3d", ""),
    ("mobilenet", ""),
    ("squeezenet", ""),
    ("squeezenet", "--version 1.1"),
    ("vgg", ""),
    ("vgg", "--layers 16"),
    ("densenet", "--batch 1"),
    ("inception_v3", ""),
    ("lstm", ""),
    ("dcgan", ""),
    ("synthetic", ""),
];

/// A network with its initial weights as constants, as text would give it.
pub(crate) fn network(name: &str, flags: &str) -> Program {
    let model = build(name, flags, Some(1));
    let folder = tempfile::tempdir().expect("a folder");
    let weights = folder.path().join("weights.params");
    let bytes = params::write(&model.weights.expect("weights were asked for"));
    std::fs::write(&weights, bytes).expect("the folder can be written");
    let mut program = check_text(name, &model.text, UNTIL);
    bind_weights(&mut program, "main", &[weights]).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    program
}

/// A network whose weights are parameters.
pub(crate) fn unbound(name: &str, flags: &str) -> Program {
    check_text(name, &build(name, flags, None).text, UNTIL)
}

fn build(name: &str, flags: &str, seed: Option<u32>) -> model::Model {
    let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
    model::build(name, &flags, seed).unwrap_or_else(|_| panic!("{name} {flags:?} is a network"))
}
