//! Imports single nodes of the domain `ai.onnx.ml` and runs them: the numbers are what ONNX Runtime 1.32 computes on its CPU.

use super::nodes::In::{self, Bytes, Data, Floats};
use super::nodes::{F32, I64, U8, attribute, float, floats, gives, int, ints, refused, tensor, text, texts};
use relayc_exchange::onnx::proto::{AttributeProto, attribute_type};

/// Two trees: one with two levels whose first node has this mode, and one with one level; leaves 2, 3, 4 and 1, 2.
fn trees(mode: &str) -> Vec<AttributeProto> {
    vec![
        ints("nodes_treeids", &[0, 0, 0, 0, 0, 1, 1, 1]),
        ints("nodes_nodeids", &[0, 1, 2, 3, 4, 0, 1, 2]),
        ints("nodes_featureids", &[0, 1, 0, 0, 0, 1, 0, 0]),
        floats("nodes_values", &[0.5, -1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0]),
        texts("nodes_modes", &[mode, "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"]),
        ints("nodes_truenodeids", &[1, 2, 0, 0, 0, 1, 0, 0]),
        ints("nodes_falsenodeids", &[4, 3, 0, 0, 0, 2, 0, 0]),
    ]
}

fn regressor(mode: &str, more: &[AttributeProto]) -> Vec<AttributeProto> {
    let leaves = [
        ints("target_treeids", &[0, 0, 0, 1, 1]),
        ints("target_nodeids", &[2, 3, 4, 1, 2]),
        ints("target_ids", &[0; 5]),
        floats("target_weights", &[1.0, 2.0, 4.0, 10.0, 20.0]),
    ];
    [&trees(mode)[..], &leaves, more].concat()
}

const REGRESSOR: &str = "ai.onnx.ml.TreeEnsembleRegressor";

#[test]
fn trees_compare_as_their_nodes_say() {
    let x = "@main([[0.5, -1], [0.5, 3], [1, 0], [nan, 0]])";
    let rows = || [Data(F32, &[-1, 2])];
    let of = |mode: &str, y: &str| gives(REGRESSOR, 3, &regressor(mode, &[]), &rows(), 1, &format!("{x} == {y}"));
    of("BRANCH_LEQ", "[[11], [22], [14], [14]]");
    of("BRANCH_LT", "[[14], [24], [14], [14]]");
    of("BRANCH_GTE", "[[11], [22], [12], [14]]");
    of("BRANCH_GT", "[[14], [24], [12], [14]]");
    of("BRANCH_EQ", "[[11], [22], [14], [14]]");
    of("BRANCH_NEQ", "[[14], [24], [12], [12]]");
    let with = |mode: &str, more: &[AttributeProto], y: &str| {
        gives(REGRESSOR, 3, &regressor(mode, more), &rows(), 1, &format!("{x} == {y}"));
    };
    let missing = ints("nodes_missing_value_tracks_true", &[1, 0, 0, 0, 0, 0, 0, 0]);
    with("BRANCH_LEQ", std::slice::from_ref(&missing), "[[11], [22], [14], [12]]");
    with("BRANCH_GT", &[missing], "[[14], [24], [12], [12]]");
    with("BRANCH_LEQ", &[text("aggregate_function", "AVERAGE"), floats("base_values", &[1.0])], "[[6.5], [12], [8], [8]]");
    with("BRANCH_LEQ", &[text("aggregate_function", "MAX")], "[[10], [20], [10], [10]]");
    with("BRANCH_LEQ", &[text("aggregate_function", "MIN")], "[[1], [2], [4], [4]]");
    refused(REGRESSOR, 3, &regressor("BRANCH_IN", &[]), &rows(), "the mode `BRANCH_IN`");
    refused(REGRESSOR, 3, &regressor("BRANCH_LEQ", &[]), &[Data(F32, &[1, 1])], "a feature beyond the 1");
    refused(REGRESSOR, 3, &regressor("LEAF", &[]), &[Data(F32, &[2, 2, 2])], "an operand of 3 axes");
    let mut circle = regressor("BRANCH_LEQ", &[]);
    circle[5] = ints("nodes_truenodeids", &[1, 1, 0, 0, 0, 1, 0, 0]);
    refused(REGRESSOR, 3, &circle, &rows(), "the child of two");
    circle[5] = ints("nodes_truenodeids", &[1, 9, 0, 0, 0, 1, 0, 0]);
    refused(REGRESSOR, 3, &circle, &rows(), "tree 0 has no node 9");
}

/// Operator set 5 has tensors in place of lists, and numbers leaves by themselves.
#[test]
fn trees_of_tensors() {
    let held = |name: &str, operand: In| {
        let t = tensor(name, &operand).map(Box::new);
        AttributeProto { t, ..attribute(name, attribute_type::TENSOR) }
    };
    let of = |modes: &'static [u8], more: &[AttributeProto]| {
        let own = [
            int("n_targets", 1),
            ints("tree_roots", &[0, 2]),
            ints("nodes_featureids", &[0, 1, 1]),
            held("nodes_splits", Floats(&[3], &[0.5, -1.0, 2.0])),
            held("nodes_modes", Bytes(U8, &[3], modes)),
            ints("nodes_truenodeids", &[1, 0, 3]),
            ints("nodes_trueleafs", &[0, 1, 1]),
            ints("nodes_falsenodeids", &[2, 1, 4]),
            ints("nodes_falseleafs", &[1, 1, 1]),
            ints("leaf_targetids", &[0; 5]),
            held("leaf_weights", Floats(&[5], &[1.0, 2.0, 4.0, 10.0, 20.0])),
        ];
        [&own[..], more].concat()
    };
    let rows = || [Data(F32, &[-1, 2])];
    let x = "@main([[0.5, -1], [0.5, 3], [1, 0], [nan, 0]])";
    let kind = "ai.onnx.ml.TreeEnsemble";
    gives(kind, 5, &of(&[0, 1, 3], &[]), &rows(), 1, &format!("{x} == [[22], [12], [24], [24]]"));
    let missing = ints("nodes_missing_value_tracks_true", &[1, 0, 0]);
    gives(kind, 5, &of(&[0, 1, 3], &[missing]), &rows(), 1, &format!("{x} == [[22], [12], [24], [22]]"));
    refused(kind, 5, &of(&[0, 1, 6], &[]), &rows(), "a node of the mode 6");
    let set = held("membership_values", Floats(&[1], &[1.0]));
    refused(kind, 5, &of(&[0, 1, 3], &[set]), &rows(), "`membership_values`");
}

/// Two scores of two classes, one score that says both, and labels.
#[test]
fn trees_classify() {
    let of = |ids: &[i64], weights: &[f32], more: &[AttributeProto]| {
        let leaves = [
            ints("class_treeids", &[0, 0, 0, 1, 1]),
            ints("class_nodeids", &[2, 3, 4, 1, 2]),
            ints("class_ids", ids),
            floats("class_weights", weights),
        ];
        [&trees("BRANCH_LEQ")[..], &leaves, more].concat()
    };
    let classes = |attributes: Vec<AttributeProto>, y: &str| {
        let line = format!("@main([[0.5, -1], [0.5, 3], [1, 0]]) ~1e-6 {y}");
        gives("ai.onnx.ml.TreeEnsembleClassifier", 3, &attributes, &[Data(F32, &[-1, 2])], 2, &line);
    };
    let labels = || ints("classlabels_int64s", &[7, 5]);
    let positive = [0.25, 0.5, 0.0, 0.25, 0.5];
    classes(of(&[0; 5], &positive, &[labels()]), "([7, 5, 7], [[0.5, 0.5], [0, 1], [0.75, 0.25]])");
    let mixed = [-1.0, 2.0, -3.0, 0.5, 1.0];
    classes(of(&[0; 5], &mixed, &[labels()]), "([7, 5, 7], [[0.5, -0.5], [-3, 3], [2.5, -2.5]])");
    let logistic = || text("post_transform", "LOGISTIC");
    let line = "([7, 5, 7], [[0.37754065, 0.62245935], [0.2689414, 0.7310586], [0.43782347, 0.5621765]])";
    classes(of(&[0; 5], &positive, &[labels(), logistic()]), line);
    let base = || floats("base_values", &[0.5]);
    let line = "([7, 5, 7], [[0.5, 0.5], [0.02931225, 0.9706877], [0.880797, 0.11920297]])";
    classes(of(&[0; 5], &mixed, &[labels(), logistic(), base()]), line);
    classes(of(&[1; 5], &positive, &[labels()]), "([7, 5, 7], [[0, 0.5], [0, 1], [0, 0.25]])");
    classes(of(&[1; 5], &mixed, &[labels()]), "([7, 5, 7], [[0, -0.5], [0, 3], [0, -2.5]])");
    let based = of(&[1; 5], &mixed, &[labels(), base()]);
    refused("ai.onnx.ml.TreeEnsembleClassifier", 3, &based, &[Data(F32, &[-1, 2])], "`base_values`");
    let softmax = text("post_transform", "SOFTMAX");
    let strings = texts("classlabels_strings", &["a", "b", "c"]);
    let line = "([2, 2, 1], [[0.2312239, 0.14024438, 0.6285317], [0.04201007, 0.1141952, 0.8437947], \
                [0.07769558, 0.574097, 0.34820741]])";
    classes(of(&[0, 1, 1, 2, 2], &[0.5, 1.0, 2.0, 1.5, 3.0], &[strings, softmax]), line);
}

#[test]
fn linear_models() {
    let rows = || [Data(F32, &[-1, 2])];
    let attributes = [floats("coefficients", &[1.0, 2.0, 0.0, -1.0]), floats("intercepts", &[0.5, 0.0]), int("targets", 2)];
    gives("ai.onnx.ml.LinearRegressor", 1, &attributes, &rows(), 1, "@main([[1, 2], [0, 1]]) == [[5.5, -2], [2.5, -1]]");
    let attributes = [
        floats("coefficients", &[1.0, 2.0, 0.0, -1.0]),
        floats("intercepts", &[0.5, 0.0]),
        ints("classlabels_ints", &[3, 9]),
        text("post_transform", "LOGISTIC"),
    ];
    let line = "@main([[1, 2], [0, -1]]) ~1e-6 ([3, 9], [[0.99592984, 0.11920291], [0.18242556, 0.7310586]])";
    gives("ai.onnx.ml.LinearClassifier", 1, &attributes, &rows(), 2, line);
    // One row of coefficients says both classes.
    let alone = |after: &str| {
        let labels = ints("classlabels_ints", &[3, 9]);
        [floats("coefficients", &[1.0, 2.0]), floats("intercepts", &[0.5]), labels, text("post_transform", after)]
    };
    let line = "@main([[1, 2], [0, -1]]) == ([9, 3], [[-4.5, 5.5], [2.5, -1.5]])";
    gives("ai.onnx.ml.LinearClassifier", 1, &alone("NONE"), &rows(), 2, line);
    let line = "@main([[1, 2], [0, -1]]) ~1e-6 ([9, 3], [[0.00407014, 0.99592984], [0.81757444, 0.18242556]])";
    gives("ai.onnx.ml.LinearClassifier", 1, &alone("LOGISTIC"), &rows(), 2, line);
    refused("ai.onnx.ml.LinearClassifier", 1, &alone("PROBIT"), &rows(), "scores after `PROBIT`");
    let kinds = [
        ("MAX", "[[0.75, 1], [0, 0], [2.5, 1]]"),
        ("L1", "[[0.42857143, 0.5714286], [0, 0], [-0.71428573, -0.2857143]]"),
        ("L2", "[[0.6, 0.8], [0, 0], [-0.9284767, -0.37139067]]"),
    ];
    for (norm, y) in kinds {
        let line = format!("@main([[3, 4], [0, 0], [-5, -2]]) ~1e-6 {y}");
        gives("ai.onnx.ml.Normalizer", 1, &[text("norm", norm)], &rows(), 1, &line);
    }
}

#[test]
fn support_vectors() {
    let kernel = || [floats("kernel_params", &[0.5, 0.0, 3.0]), floats("support_vectors", &[1.0, 0.0, 0.0, 1.0])];
    let regressor = |kind: &str, more: &[AttributeProto]| {
        let own = [floats("coefficients", &[1.0, -2.0]), floats("rho", &[0.25]), int("n_supports", 2), text("kernel_type", kind)];
        [&own[..], &kernel(), more].concat()
    };
    let of = |attributes: &[AttributeProto], y: &str| {
        let line = format!("@main([[1, 2], [0, 1]]) ~1e-6 {y}");
        gives("ai.onnx.ml.SVMRegressor", 1, attributes, &[Data(F32, &[-1, 2])], 1, &line);
    };
    of(&regressor("LINEAR", &[]), "[[-2.75], [-1.75]]");
    of(&regressor("RBF", &[]), "[[-0.3504237], [-1.3821206]]");
    of(&regressor("POLY", &[]), "[[-1.625], [0]]");
    of(&regressor("SIGMOID", &[]), "[[-0.8110712], [-0.6742343]]");
    of(&regressor("LINEAR", &[int("one_class", 1)]), "[[-1], [-1]]");
    let classifier = [
        &kernel()[..],
        &[
            text("kernel_type", "RBF"),
            floats("coefficients", &[1.0, -1.0]),
            floats("rho", &[0.1]),
            ints("vectors_per_class", &[1, 1]),
            ints("classlabels_ints", &[4, 6]),
        ],
    ]
    .concat();
    let line = "@main([[1, 2], [2, 0]]) ~1e-6 ([6, 4], [[0.13254416, -0.13254416], [-0.6244457, 0.6244457]])";
    gives("ai.onnx.ml.SVMClassifier", 1, &classifier, &[Data(F32, &[-1, 2])], 2, line);
    let three = [
        text("kernel_type", "RBF"),
        floats("kernel_params", &[0.5, 0.0, 3.0]),
        floats("support_vectors", &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
        floats("coefficients", &[1.0, -1.0, 0.5, 0.3, -0.2, 0.7]),
        floats("rho", &[0.1, -0.2, 0.3]),
        ints("vectors_per_class", &[1, 1, 1]),
        ints("classlabels_ints", &[4, 6, 9]),
    ];
    let line =
        "@main([[1, 2], [2, 0]]) ~1e-6 ([6, 4], [[-0.13254416, 0.14386591, 0.65099555], [0.6244457, 0.16589893, 0.5410986]])";
    gives("ai.onnx.ml.SVMClassifier", 1, &three, &[Data(F32, &[-1, 2])], 2, line);
    let probable = [&classifier[..], &[floats("prob_a", &[1.0]), floats("prob_b", &[0.0])]].concat();
    refused("ai.onnx.ml.SVMClassifier", 1, &probable, &[Data(F32, &[-1, 2])], "`prob_a`");
}

#[test]
fn columns_are_prepared() {
    let rows = || [Data(F32, &[-1, 2])];
    let scale = [floats("offset", &[1.0, 2.0]), floats("scale", &[2.0, 2.0])];
    gives("ai.onnx.ml.Scaler", 1, &scale, &rows(), 1, "@main([[3, 2], [0, 1]]) == [[4, 0], [-2, -2]]");
    let missing = [floats("imputed_value_floats", &[5.0, 6.0]), float("replaced_value_float", f32::NAN)];
    gives("ai.onnx.ml.Imputer", 1, &missing, &rows(), 1, "@main([[nan, 2], [0, nan]]) == [[5, 2], [0, 6]]");
    let zeros = [ints("imputed_value_int64s", &[7])];
    gives("ai.onnx.ml.Imputer", 1, &zeros, &[Data(I64, &[2, 2])], 1, "@main([[0, 2], [3, 0]]) == [[7, 2], [3, 7]]");
    let categories = [ints("cats_int64s", &[3, 1]), int("zeros", 1)];
    let line = "@main([1, 2, 3]) == [[0, 1], [0, 0], [1, 0]]";
    gives("ai.onnx.ml.OneHotEncoder", 1, &categories, &[Data(I64, &[3])], 1, line);
    refused("ai.onnx.ml.OneHotEncoder", 1, &[texts("cats_strings", &["a"])], &[Data(I64, &[3])], "strings");
    let labels = [ints("keys_int64s", &[3, 1]), floats("values_floats", &[0.5, 2.0]), float("default_float", -1.0)];
    gives("ai.onnx.ml.LabelEncoder", 2, &labels, &[Data(I64, &[3])], 1, "@main([1, 2, 3]) == [2, -1, 0.5]");
    let of_floats = [floats("keys_floats", &[0.5, f32::NAN]), ints("values_int64s", &[4, 8])];
    gives("ai.onnx.ml.LabelEncoder", 4, &of_floats, &[Data(F32, &[3])], 1, "@main([nan, 1, 0.5]) == [8, -1, 4]");
    gives("ai.onnx.ml.LabelEncoder", 2, &of_floats, &[Data(F32, &[3])], 1, "@main([nan, 1, 0.5]) == [-1, -1, 4]");
    refused(
        "ai.onnx.ml.LabelEncoder",
        2,
        &[texts("keys_strings", &["a"]), ints("values_int64s", &[1])],
        &[Data(I64, &[3])],
        "strings",
    );
    let both = [Data(F32, &[2, 1]), Data(I64, &[2, 2])];
    let line = "@main([[0.5], [1.5]], [[1, 2], [3, 4]]) == [[0.5, 1, 2], [1.5, 3, 4]]";
    gives("ai.onnx.ml.FeatureVectorizer", 1, &[ints("inputdimensions", &[1, 2])], &both, 1, line);
    let line = "@main([[0.25, 0.75]]) == [[0.25, 0.75]]";
    gives("ai.onnx.ml.ZipMap", 1, &[ints("classlabels_int64s", &[0, 1])], &rows(), 1, line);
}
