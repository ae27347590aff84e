//! Lists ONNX operators without a Relay equivalent, with the reasons.

/// An operator that is not imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    pub kind: &'static str,
    /// The reason, in lower case, without a full stop.
    pub why: &'static str,
}

const fn no(kind: &'static str, why: &'static str) -> Refused {
    Refused { kind, why }
}

const RANDOM: &str = "random numbers, which ONNX leaves to each runtime and Relay draws with a key";
/// Models that express these by other operators are imported; a file that names them is for a runtime with such kernels.
const YOUNG: &str = "an operator of operator set 27 or later; a model of an earlier one says it with others";
const MAPS: &str = "a map from keys to values, which Relay does not have";
const STRINGS: &str = "Relay has no strings";
const TRAINING: &str = "a step of training, and a program is for inference";

/// Refused operators, sorted by name.
pub(crate) const REFUSED: &[Refused] = &[
    no("Bernoulli", RANDOM),
    no("CausalConvWithState", YOUNG),
    no("ImageDecoder", "Relay decodes no pictures"),
    no("LinearAttention", YOUNG),
    no("Multinomial", RANDOM),
    no("RandomNormal", RANDOM),
    no("RandomNormalLike", RANDOM),
    no("RandomUniform", RANDOM),
    no("RandomUniformLike", RANDOM),
    no("RegexFullMatch", STRINGS),
    no("SequenceMap", "a sequence is a tuple, and no function maps one"),
    no("StringConcat", STRINGS),
    no("StringNormalizer", STRINGS),
    no("StringSplit", STRINGS),
    no("SwiGLU", YOUNG),
    no("TfIdfVectorizer", "n-grams are counted, for which Relay has no operator"),
    no("ai.onnx.ml.CastMap", MAPS),
    no("ai.onnx.ml.CategoryMapper", STRINGS),
    no("ai.onnx.ml.DictVectorizer", MAPS),
    no("ai.onnx.preview.training.Adagrad", TRAINING),
    no("ai.onnx.preview.training.Adam", TRAINING),
    no("ai.onnx.preview.training.Gradient", TRAINING),
    no("ai.onnx.preview.training.Momentum", TRAINING),
];
