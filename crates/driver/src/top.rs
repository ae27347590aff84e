//! Lists the classes with the highest scores: `--top K --labels FILE`.
//!
//! The last axis of an output is its classes; the axes before it are batches. If the scores of a batch are probabilities (each
//! from 0 to 1, with sum 1 within a thousandth), a score is its own probability. Otherwise the probability is the softmax.

use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::one_line;
use relayc_ir::tensor::Tensor;
use relayc_sys as sys;
use relayc_weights::errors::unsound;
use std::path::Path;

/// One of the best classes of one batch.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The position among the batches: an index of each axis but the last.
    pub(crate) batch: Vec<usize>,
    /// From 1, the best.
    pub(crate) rank: usize,
    pub(crate) class: usize,
    pub(crate) score: f64,
    /// From 0 to 1; NaN if a score of the batch is.
    pub(crate) probability: f64,
    /// The line of the labels file, if one was given.
    pub(crate) label: Option<String>,
}

/// Reads a labels file, one class a line. Errors: E0701; E0703 for text that is not UTF-8.
pub fn read_labels(path: &Path) -> Result<Vec<String>, Diagnostic> {
    let bytes = sys::read_file(path, sys::Limit::source())?;
    let text = String::from_utf8(bytes).map_err(|_| unsound(&path.display().to_string(), "labels are lines of UTF-8 text"))?;
    Ok(text.trim_end().lines().map(|line| line.trim().to_owned()).collect())
}

/// The `k` best classes of each batch, best first; of equal scores the lower class, NaN last.
///
/// Errors: E0705 if the output has no classes, or not as many as there are labels.
pub fn top(name: &str, output: &Tensor, k: usize, labels: Option<&[String]>) -> Result<Vec<Row>, Diagnostic> {
    let wrong = |words: String| Diagnostic::new(codes::E0705, format!("`{name}` is {}: {words}", output.type_text()));
    let n_classes = match output.shape().last() {
        Some(&n) if n > 0 => n,
        _ => return Err(wrong("there are no classes to rank".into())),
    };
    if let Some(labels) = labels.filter(|labels| labels.len() != n_classes) {
        return Err(wrong(format!("{n_classes} classes, the labels file has {} lines", labels.len())));
    }
    let mut rows = Vec::new();
    let axes = &output.shape()[..output.rank() - 1];
    for (at, scores) in output.to_f64s().chunks_exact(n_classes).enumerate() {
        let mut batch = vec![0; axes.len()];
        let mut rest = at;
        for (index, &size) in batch.iter_mut().zip(axes).rev() {
            (*index, rest) = (rest % size, rest / size);
        }
        let probabilities = probabilities(scores);
        let mut classes: Vec<usize> = (0..n_classes).collect();
        let key = |class: usize| if scores[class].is_nan() { f64::NEG_INFINITY } else { scores[class] };
        classes.sort_by(|&a, &b| scores[a].is_nan().cmp(&scores[b].is_nan()).then(key(b).total_cmp(&key(a))));
        rows.extend(classes.into_iter().take(k).enumerate().map(|(i, class)| Row {
            batch: batch.clone(),
            rank: i + 1,
            class,
            score: scores[class],
            probability: probabilities[class],
            label: labels.map(|labels| labels[class].clone()),
        }));
    }
    Ok(rows)
}

fn probabilities(scores: &[f64]) -> Vec<f64> {
    let sum: f64 = scores.iter().sum();
    if scores.iter().all(|score| (0.0..=1.0).contains(score)) && (sum - 1.0).abs() <= 1e-3 {
        return scores.to_vec();
    }
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // An infinite score takes all, and shares with its equals.
    let exp: Vec<f64> = scores.iter().map(|&score| if score == max { 1.0 } else { (score - max).exp() }).collect();
    let sum: f64 = exp.iter().sum();
    exp.into_iter().map(|x| x / sum).collect()
}

/// The rows as a table: rank, probability, score, class, label; with a line before each batch if there are several.
pub fn table(rows: &[Row]) -> String {
    let several = rows.iter().any(|row| row.batch.iter().any(|&at| at > 0));
    let mut out = String::new();
    for row in rows {
        if several && row.rank == 1 {
            let at: Vec<String> = row.batch.iter().map(usize::to_string).collect();
            out.push_str(&format!("batch {}\n", at.join(", ")));
        }
        let line = format!("{:>4}  {:>8.2}%  {:>12.6}  {:>6}", row.rank, row.probability * 100.0, row.score, row.class);
        out.push_str(&line);
        if let Some(label) = &row.label {
            out.push_str("  ");
            out.push_str(&one_line(label));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_become_probabilities_unless_they_are() {
        let scores = Tensor::from_vec(&[1, 3], vec![0.25f32, 0.5, 0.25]);
        let rows = top("out", &scores, 2, None).expect("classes");
        assert_eq!(
            rows.iter().map(|row| (row.rank, row.class, row.probability)).collect::<Vec<_>>(),
            [(1, 1, 0.5), (2, 0, 0.25)]
        );
        let scores = Tensor::from_vec(&[2], vec![0f64, 3f64.ln()]);
        let row = top("out", &scores, 1, None).expect("classes").remove(0);
        assert!(row.class == 1 && (row.probability - 0.75).abs() < 1e-12);
    }

    #[test]
    fn special_scores_have_an_order() {
        let scores = Tensor::from_vec(&[4], vec![f32::NAN, 1.0, f32::INFINITY, 1.0]);
        let classes: Vec<usize> = top("out", &scores, 9, None).expect("classes").iter().map(|row| row.class).collect();
        assert_eq!(classes, [2, 1, 3, 0]);
    }

    #[test]
    fn labels_must_be_as_many_as_classes() {
        let scores = Tensor::from_vec(&[2, 2], vec![0f32, 1.0, 1.0, 0.0]);
        let labels = ["cat".to_owned(), "dog".to_owned()];
        let rows = top("out", &scores, 1, Some(&labels)).expect("classes");
        assert_eq!(rows.iter().map(|row| row.label.as_deref()).collect::<Vec<_>>(), [Some("dog"), Some("cat")]);
        assert_eq!(table(&rows).lines().count(), 4);
        assert_eq!(top("out", &scores, 1, Some(&labels[..1])).expect_err("one label").code, codes::E0705);
        assert!(top("out", &Tensor::scalar(1f32), 1, None).is_err());
        assert!(top("out", &Tensor::from_vec(&[2, 0], Vec::<f32>::new()), 1, None).is_err());
    }

    #[test]
    fn labels_cannot_control_a_terminal() {
        let scores = Tensor::from_vec(&[1, 1], vec![1.0f32]);
        let labels = ["\u{1b}[31mred\u{202e}\t\u{7}".to_owned()];
        let shown = table(&top("out", &scores, 1, Some(&labels)).expect("a class"));
        assert!(shown.ends_with("  \\u{1b}[31mred\\u{202e}\\t\\u{7}\n"), "{shown}");
    }

    #[test]
    fn labels_are_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("labels.txt");
        std::fs::write(&path, "cat\r\n dog\n\n").expect("written");
        assert_eq!(read_labels(&path), Ok(vec!["cat".to_owned(), "dog".to_owned()]));
        std::fs::write(&path, b"\xff").expect("written");
        assert_eq!(read_labels(&path).expect_err("no text").code, codes::E0703);
    }
}
