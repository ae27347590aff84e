//! Converts support vector machines: how alike a row and each support vector are, by a kernel, and sums of that with weights.

use super::super::super::formula::call;
use super::super::{Converter, op};
use super::*;

/// How alike each row and each of `n` support vectors are.
fn kernel(cx: &mut Cx, x: Val, n: i64) -> Result {
    let vectors = cx.floats("support_vectors")?.unwrap_or_default();
    let columns = cx.size(x, 1)?;
    let vectors = numbers(cx, &[n, columns], x, &vectors)?;
    let params = cx.floats("kernel_params")?.unwrap_or_else(|| vec![0.0; 3]);
    let [gamma, coef0, degree] = params[..] else {
        return Err(Refusal::wrong(format!("{} kernel parameters, expected gamma, coef0 and degree", params.len())));
    };
    let products = |cx: &mut Cx| {
        let by_column = cx.transpose(vectors, &[1, 0])?;
        cx.matmul(x, by_column)
    };
    match cx.text("kernel_type", "LINEAR")?.as_str() {
        "LINEAR" => products(cx),
        "POLY" => {
            let dot = products(cx)?;
            let base = cx.b.formula(dot, dot * gamma + coef0)?;
            let degree = cx.like(dot, degree)?;
            cx.binary("power", base, degree)
        }
        "SIGMOID" => {
            let dot = products(cx)?;
            cx.b.formula(dot, call("tanh", dot * gamma + coef0))
        }
        "RBF" => {
            let apart = cx.expand_dims(x, 1, 1)?;
            let difference = cx.binary("subtract", apart, vectors)?;
            let squares = cx.binary("multiply", difference, difference)?;
            let distance = cx.reduce("sum", squares, &[2], false)?;
            cx.b.formula(distance, call("exp", distance * (0.0 - gamma)))
        }
        other => Err(refuse(format!("the kernel `{other}`"))),
    }
}

fn regressor(cx: &mut Cx) -> Results {
    let x = rows(cx)?;
    let (n, is_one_class) = (cx.int("n_supports", 0)?, cx.flag("one_class", false)?);
    if After::read(cx)? != After::Nothing {
        return Err(refuse("scores of a support vector machine after `post_transform`"));
    }
    let coefficients = cx.floats("coefficients")?.unwrap_or_default();
    let alike = if n > 0 { kernel(cx, x, n)? } else { x };
    let weights = [cx.size(alike, 1)?, 1];
    let weights = numbers(cx, &weights, x, &coefficients)?;
    let sum = cx.matmul(alike, weights)?;
    let rho = cx.floats("rho")?.unwrap_or_default().first().copied().unwrap_or(0.0);
    let score = cx.b.formula(sum, sum + rho)?;
    let score = match is_one_class {
        true => {
            let zero = cx.like(score, 0.0)?;
            let above = cx.binary("greater", score, zero)?;
            let (inside, outside) = (cx.like(score, 1.0)?, cx.like(score, -1.0)?);
            cx.select(above, inside, outside)?
        }
        false => score,
    };
    one(finished(cx, score, After::Nothing)?)
}

/// Each pair of classes votes for one of both.
fn classifier(cx: &mut Cx) -> Results {
    if cx.has("prob_a") || cx.has("prob_b") {
        return Err(refuse("probabilities, which an iteration finds (`prob_a`)"));
    }
    let x = rows(cx)?;
    let (labels, after) = (labels(cx, "classlabels_ints")?, After::read(cx)?);
    let per_class = cx.small_ints("vectors_per_class")?.unwrap_or_default();
    let n = per_class.iter().fold(0i64, |n, &of_class| n.saturating_add(of_class));
    if labels.len() < 2 || per_class.len() != labels.len() || per_class.iter().any(|&of_class| of_class < 0) {
        return Err(refuse(format!("support vectors of {} classes for {} labels", per_class.len(), labels.len())));
    }
    let rho = cx.floats("rho")?.unwrap_or_default();
    let n_labels = i64::try_from(labels.len()).unwrap_or(i64::MAX);
    let n_pairs = n_labels.saturating_mul(n_labels.saturating_sub(1)) / 2;
    if i64::try_from(rho.len()) != Ok(n_pairs) {
        return Err(Refusal::wrong(format!("{} numbers `rho` for {n_pairs} pairs of classes", rho.len())));
    }
    if product(&[n_pairs, n.max(n_labels)]) > MAX_CONSTANT {
        return Err(refuse(format!("{n_pairs} pairs of classes and {n} vectors, whose weights would be written out")));
    }
    let alike = kernel(cx, x, n)?;
    // The weights of a vector: one for each class but its own.
    let coefficients = cx.floats("coefficients")?.unwrap_or_default();
    let weight = |of: usize, vector: usize| {
        let row = usize::try_from(n).unwrap_or(0).saturating_mul(of);
        coefficients.get(row.saturating_add(vector)).copied()
    };
    let class_of: Vec<usize> = per_class
        .iter()
        .enumerate()
        .flat_map(|(class, &n)| std::iter::repeat_n(class, usize::try_from(n).unwrap_or(0)))
        .collect();
    let pairs: Vec<(usize, usize)> =
        (0..labels.len()).flat_map(|i| (i.saturating_add(1)..labels.len()).map(move |j| (i, j))).collect();
    let of_pair = |vector: usize, &(i, j): &(usize, usize)| match class_of.get(vector) {
        Some(&class) if class == i => weight(j.saturating_sub(1), vector),
        Some(&class) if class == j => weight(i, vector),
        _ => Some(0.0),
    };
    let weights: Option<Vec<f64>> = (0..class_of.len())
        .flat_map(|vector| pairs.iter().map(move |pair| (vector, pair)))
        .map(|(v, pair)| of_pair(v, pair))
        .collect();
    let weights = weights.ok_or_else(|| Refusal::wrong(format!("{} coefficients of {n} vectors", coefficients.len())))?;
    let weights = numbers(cx, &[n, n_pairs], x, &weights)?;
    let sums = cx.matmul(alike, weights)?;
    let rho = numbers(cx, &[n_pairs], x, &rho)?;
    let scores = cx.binary("add", sums, rho)?;
    let zero = cx.like(scores, 0.0)?;
    if let [_, _] = labels[..] {
        if !matches!(after, After::Nothing | After::Logistic) {
            return Err(refuse("a softmax of the one score of two classes"));
        }
        let is_first = cx.binary("greater", scores, zero)?;
        let is_first = cx.reshape(is_first, &[-1])?;
        let is_second = cx.unary("logical_not", is_first)?;
        return Ok(vec![labelled(cx, is_second, &labels)?, of_both(cx, scores, 0.0, after)?]);
    }
    let is_first = cx.binary("greater", scores, zero)?;
    let is_first = cx.cast(is_first, DType::F32)?;
    // A vote for the first of a pair, or for the second: 1 - the vote for the first.
    let shape = [n_pairs, n_labels];
    let votes: Vec<f64> = pairs
        .iter()
        .flat_map(|&(i, j)| (0..labels.len()).map(move |class| f64::from(i8::from(class == i)) - f64::from(i8::from(class == j))))
        .collect();
    let seconds: Vec<f64> =
        (0..labels.len()).map(|class| pairs.iter().map(|&(_, j)| f64::from(u8::from(j == class))).sum()).collect();
    let votes = numbers(cx, &shape, is_first, &votes)?;
    let seconds = numbers(cx, &[n_labels], is_first, &seconds)?;
    let turned = cx.matmul(is_first, votes)?;
    let votes = cx.binary("add", turned, seconds)?;
    Ok(vec![winners(cx, votes, &labels)?, finished(cx, scores, after)?])
}

pub(in super::super) const FAMILY: &[Converter] = &[
    op("ai.onnx.ml.SVMClassifier", &[1], classifier)
        .but("probabilities (`prob_a`); no support vectors; labels that are strings are positions"),
    op("ai.onnx.ml.SVMRegressor", &[1], regressor).but("scores after `post_transform`"),
];
