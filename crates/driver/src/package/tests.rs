//! Tests the assignment of weights on programs that TVM would leave unchanged and on others.

use super::*;
use crate::{Phase, check_text};

/// Assigns constants of these shapes, filled with 1, 2, …, to a program; `%x` is the graph's input.
fn packed(text: &str, shapes: &[&[usize]]) -> Packed {
    let program = check_text("x", text, Phase::Infer);
    assert!(!program.has_errors(), "{:?}", program.diagnostics);
    let constant =
        |(i, shape): (usize, &&[usize])| (format!("p{i}"), Tensor::full(DType::F32, shape, i as f64 + 1.0).expect("small"));
    let weights = shapes.iter().enumerate().map(constant).rev().collect();
    let inputs = Some(["x".to_owned()].into_iter().collect());
    Package { file: FileId(0), name: "m.tar".into(), weights, inputs, model_names: vec![], warnings: vec![], set: vec![] }
        .weights(&program.module)
}

fn why_not(text: &str, shapes: &[&[usize]]) -> String {
    let packed = packed(text, shapes);
    assert!(packed.weights.is_empty());
    packed.doubt.expect("a doubt").notes[0].clone()
}

const DENSE: &str = "def @main(%x: Tensor[(1, 4), float32], %b: Tensor[(3), float32], %w: Tensor[(3, 4), float32]) {
  nn.bias_add(nn.dense(%x, %w, units=3), %b)
}";

#[test]
fn constants_are_weights_in_the_order_of_use() {
    let packed = packed(DENSE, &[&[3, 4], &[3, 1, 1]]);
    assert!(packed.doubt.is_none());
    let found: Vec<(&str, Vec<usize>, f64)> =
        packed.weights.iter().map(|(name, tensor)| (name.as_str(), tensor.shape().to_vec(), tensor.to_f64s()[0])).collect();
    assert_eq!(found, [("w", vec![3, 4], 1.0), ("b", vec![3], 2.0)]);
}

#[test]
fn what_tvm_computed_with_is_not_guessed() {
    assert!(why_not(DENSE, &[&[3, 4]]).contains("1 constant, and the program 2 parameters"));
    assert!(why_not(DENSE, &[&[4, 3], &[3]]).contains("`%w`"));
    let doubled = "def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, add(%w, 1f), units=3) }";
    assert!(why_not(doubled, &[&[3, 4]]).contains("`add` computes with weights alone"));
    let norm = "def @main(%x: Tensor[(1, 4), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32], %m: Tensor[(4), float32], %v: Tensor[(4), float32]) {
  (nn.batch_norm(%x, %g, %b, %m, %v)).0
}";
    assert!(why_not(norm, &[&[4], &[4], &[4], &[4]]).contains("`nn.batch_norm` takes weights"));
}

#[test]
fn names_of_parameters_are_taken_as_they_are() {
    let program = check_text("x", DENSE, Phase::Infer);
    let weights: Named = vec![("b".into(), Tensor::full(DType::F32, &[3], 0.0).expect("small"))];
    let package = Package {
        file: FileId(0),
        name: "m.tar".into(),
        weights: weights.clone(),
        inputs: None,
        model_names: vec![],
        warnings: vec![],
        set: vec![],
    };
    assert_eq!(package.weights(&program.module).weights, weights);
}
