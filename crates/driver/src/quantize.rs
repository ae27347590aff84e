//! Quantizes a program to 8 bits by the ranges that its activations have on samples, and says how accurate the result is.
//!
//! The program is simplified first, so that normalisations are part of the weights before these are rounded. What runs it is the
//! caller's choice. Errors leave the program half changed; the caller drops it.

use super::bind::Bound;
use super::optimise::{self, PassPlan, Target};
use super::run::{self, to_bound};
use super::{Program, ops};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, one_line};
use relayc_check::infer;
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, ExprKind, GlobalId, Module};
use relayc_passes::build::add_results;
use relayc_passes::quantize::{self, Activation, Scale};
use serde_json::{Value, json};

/// How the range of an activation is chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Method {
    /// All numbers of the samples.
    MinMax,
    /// So many per cent of the numbers, the same part left out at both ends.
    Percentile(f64),
    /// The threshold whose integers keep the most of the distribution of magnitudes: that of the least divergence of Kullback and
    /// Leibler (Migacz, *8-bit inference with TensorRT*, 2017).
    Kl,
}

/// How to quantize.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub method: Method,
    /// Whether each output of a product has a scale of its own for its weights.
    pub per_channel: bool,
}

/// A program that is ready to run.
pub type Ready = Box<dyn Fn(Vec<Bound>) -> Result<Bound, Diagnostic>>;

/// Makes a program ready to run.
pub type Prepare<'a> = &'a dyn Fn(Module) -> Result<Ready, Diagnostic>;

/// What was done, and how accurate it is.
#[derive(Debug)]
pub struct Report {
    pub n_products: usize,
    pub n_samples: usize,
    pub layers: Vec<Layer>,
    /// Those of the program, with their names.
    pub results: Vec<(String, Accuracy)>,
}

/// A quantized activation.
#[derive(Debug)]
pub struct Layer {
    /// The operator that computes it, and its line.
    pub name: String,
    pub scale: f32,
    pub zero: i32,
    pub accuracy: Accuracy,
}

/// The sums behind a ratio of signal to noise.
#[derive(Clone, Copy, Default, Debug)]
pub struct Accuracy {
    signal: f64,
    noise: f64,
    largest: f64,
    difference: f64,
    rows: u64,
    same_top: u64,
}

impl Accuracy {
    fn add(&mut self, exact: &Tensor, found: &Tensor) {
        let (exact_numbers, found_numbers) = (exact.to_f64s(), found.to_f64s());
        for (&exact, &found) in exact_numbers.iter().zip(&found_numbers) {
            // Infinity and NaN have no size: where both programs give them nothing is lost, elsewhere everything.
            let is_same = exact == found || exact.is_nan() && found.is_nan();
            let difference = if is_same { 0.0 } else { (exact - found).abs() };
            let difference = if difference.is_nan() { f64::INFINITY } else { difference };
            self.noise += difference * difference;
            self.difference = self.difference.max(difference);
            if exact.is_finite() {
                self.signal += exact * exact;
                self.largest = self.largest.max(exact.abs());
            }
        }
        let row = exact.shape().last().copied().unwrap_or(1).max(1);
        let top = |row: &[f64]| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]));
        for (exact, found) in exact_numbers.chunks_exact(row).zip(found_numbers.chunks_exact(row)) {
            self.rows += 1;
            self.same_top += u64::from(top(exact) == top(found));
        }
    }

    /// Signal over noise in dB; infinite without any noise.
    fn decibels(&self) -> f64 {
        // Without noise it is exact, also where all numbers are 0.
        if self.noise == 0.0 { f64::INFINITY } else { 10.0 * (self.signal / self.noise).log10() }
    }

    /// The largest difference over the largest magnitude.
    fn scale_error(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.largest }
    }

    /// The part of the rows along the last axis whose greatest number is at the same place.
    fn top_agreement(&self) -> f64 {
        self.same_top as f64 / self.rows.max(1) as f64
    }
}

/// Bins of a histogram.
const BINS: usize = 2048;

/// The numbers of an activation on the samples.
#[derive(Clone)]
struct Range {
    low: f64,
    high: f64,
    bins: Vec<u64>,
}

impl Range {
    fn new() -> Range {
        Range { low: f64::INFINITY, high: f64::NEG_INFINITY, bins: vec![0; BINS] }
    }

    /// Widens the range; false for numbers without a range.
    fn widen(&mut self, tensor: &Tensor) -> bool {
        for number in tensor.to_f64s() {
            if !number.is_finite() {
                return false;
            }
            self.low = self.low.min(number);
            self.high = self.high.max(number);
        }
        true
    }

    fn count(&mut self, tensor: &Tensor) {
        let width = ((self.high - self.low) / BINS as f64).max(f64::MIN_POSITIVE);
        for number in tensor.to_f64s() {
            self.bins[(((number - self.low) / width) as usize).min(BINS - 1)] += 1;
        }
    }

    fn ends(&self, method: Method) -> (f64, f64) {
        let width = (self.high - self.low) / BINS as f64;
        match method {
            Method::MinMax => (self.low, self.high),
            Method::Percentile(percent) => {
                let all: u64 = self.bins.iter().sum();
                let most = ((1.0 - percent / 100.0) / 2.0 * all as f64) as u64;
                let outside = |bins: &mut dyn Iterator<Item = &u64>| {
                    let mut left = 0;
                    bins.take_while(|&&n| {
                        left += n;
                        left <= most
                    })
                    .count() as f64
                };
                let (below, above) = (outside(&mut self.bins.iter()), outside(&mut self.bins.iter().rev()));
                (self.low + below * width, self.high - above * width)
            }
            // Of fewer numbers than bins the histogram is no distribution.
            Method::Kl if self.bins.iter().sum::<u64>() < BINS as u64 => (self.low, self.high),
            Method::Kl => {
                let threshold = self.threshold();
                (self.low.max(-threshold), self.high.min(threshold))
            }
        }
    }

    /// The magnitude beyond which to cut.
    fn threshold(&self) -> f64 {
        let most = self.low.abs().max(self.high.abs());
        let width = (self.high - self.low) / BINS as f64;
        let mut magnitudes = vec![0f64; BINS];
        for (at, &n) in self.bins.iter().enumerate() {
            let middle = (self.low + (at as f64 + 0.5) * width).abs();
            magnitudes[((middle / most * BINS as f64) as usize).min(BINS - 1)] += n as f64;
        }
        // Zeros, of which activations have many, are exact with any scale.
        magnitudes[0] = magnitudes[1];
        let ends = (LEVELS..=BINS).step_by(16);
        let least = ends.map(|end| (divergence(&magnitudes, end), end)).min_by(|a, b| a.0.total_cmp(&b.0));
        least.map_or(most, |(_, end)| end as f64 / BINS as f64 * most)
    }
}

/// Integers of the magnitudes below a threshold.
const LEVELS: usize = 128;

/// The divergence of the distribution cut at `end` from the same in [`LEVELS`] steps.
fn divergence(magnitudes: &[f64], end: usize) -> f64 {
    let mut cut = magnitudes[..end].to_vec();
    cut[end - 1] += magnitudes[end..].iter().sum::<f64>();
    let mut steps = vec![0f64; end];
    for level in 0..LEVELS {
        let (from, to) = (level * end / LEVELS, (level + 1) * end / LEVELS);
        let filled = magnitudes[from..to].iter().filter(|&&n| n > 0.0).count();
        let sum: f64 = magnitudes[from..to].iter().sum();
        for at in (from..to).filter(|&at| magnitudes[at] > 0.0) {
            steps[at] = sum / filled as f64;
        }
    }
    let (all, all_steps) = (cut.iter().sum::<f64>(), steps.iter().sum::<f64>());
    // What the steps have nothing for counts as much as one number.
    let of = |(p, q): (&f64, &f64)| if *p > 0.0 { p / all * ((p / all) / (q.max(1.0) / all_steps)).ln() } else { 0.0 };
    cut.iter().zip(&steps).map(of).sum()
}

/// Unsigned integers for a range, which zero is always in.
fn scale_of((low, high): (f64, f64)) -> Scale {
    let (low, high) = (low.min(0.0), high.max(0.0));
    let scale = ((high - low) / 255.0) as f32;
    if !scale.is_normal() {
        return Scale { scale: 1.0, zero: 0 };
    }
    Scale { scale, zero: (-low / f64::from(scale)).round_ties_even().clamp(0.0, 255.0) as i32 }
}

/// What simplifies a program before its weights are rounded.
const BEFORE: [&str; 9] = [
    "inline",
    "beta-reduce",
    "to-graph-normal-form",
    "simplify-inference",
    "fold-constants",
    "simplify-expr",
    "fold-scale-axis",
    "fold-constants",
    "dead-code",
];

fn refused(message: &str) -> Diagnostic {
    Diagnostic::new(codes::E0737, message)
}

/// A program that the interpreter runs. Errors: E0706 for an unknown entry.
pub fn interpreted(module: Module, entry: &str) -> Result<Ready, Diagnostic> {
    let entry = run::entry(&module, entry)?;
    Ok(Box::new(move |args| to_bound(run::answer(&module, &entry, args, run::Limits::default())?)))
}

/// Quantizes the entry of a program whose weights are constants. `samples` are values of its parameters.
///
/// Errors: E0706 for an unknown entry, E0737 for a program without such products and for numbers without a range; errors of the
/// runs.
pub fn quantize(
    program: &mut Program,
    entry: &str,
    samples: &[Vec<Bound>],
    options: Options,
    prepare: Prepare,
) -> Result<Report, Diagnostic> {
    let module = &mut program.module;
    let before = PassPlan::named(BEFORE, Target::V3).map_err(|error| *error)?;
    optimise::optimise(module, &PassPlan { entry: Some(entry.to_owned()), ..before }, &mut ())?;
    let Some(global) = module.find_global(entry) else { return Err(run::no_entry(module, entry)) };
    let plan = PassPlan { entry: Some(entry.to_owned()), ..PassPlan::level(0, Target::V3) };
    let cx = plan.cx();
    let found = quantize::candidates(module, &cx, global);
    if found.activations.is_empty() {
        return Err(if found.has_inner {
            refused(
                "nothing can be quantized: all products of constant weights are inside of functions or of clauses of a `match`",
            )
        } else {
            refused("nothing can be quantized: no `nn.conv2d`, `nn.dense` or `nn.matmul` of float32 has constant weights")
                .note("weights are constants if they are given: `--params FILE`, or in the metadata section")
        });
    }
    if let Some(product) = found.unbounded {
        let error = refused("weights have numbers without a range: NaN or an infinity");
        return Err(error.at(module.exprs[product].span, "multiplied here"));
    }
    let result_names = run::entry(module, entry)?.results;
    let exprs: Vec<ExprId> = found.activations.iter().map(|one| one.expr).collect();
    let float = observed(module, global, &exprs, prepare)?;
    let scales = scales(module, &found.activations, samples, options.method, &float)?;
    let names: Vec<String> = exprs.iter().map(|&expr| name_of(program, expr)).collect();
    let module = &mut program.module;
    let wanted: Vec<(Activation, Scale)> = found.activations.iter().copied().zip(scales).collect();
    let dequantized = quantize::apply(module, &cx, &wanted, &found.products, options.per_channel)
        .ok_or_else(|| refused("the conversions do not fit the types of the program"))?;
    typed(module)?;
    let rounded = observed(module, global, &dequantized, prepare)?;
    let mut layers: Vec<Layer> = names
        .into_iter()
        .zip(&wanted)
        .map(|(name, (_, Scale { scale, zero }))| Layer { name, scale: *scale, zero: *zero, accuracy: Accuracy::default() })
        .collect();
    let mut results: Vec<(String, Accuracy)> = result_names.into_iter().map(|name| (name, Accuracy::default())).collect();
    for sample in samples {
        let ((own, exact), (other, found)) = (split(float(sample.clone())?), split(rounded(sample.clone())?));
        results.iter_mut().zip(own.iter().zip(&other)).for_each(|((_, one), (exact, found))| one.add(exact, found));
        layers.iter_mut().zip(exact.iter().zip(&found)).for_each(|(layer, (exact, found))| layer.accuracy.add(exact, found));
    }
    Ok(Report { n_products: found.products.len(), n_samples: samples.len(), layers, results })
}

/// The program with further results, ready to run.
fn observed(module: &Module, entry: GlobalId, exprs: &[ExprId], prepare: Prepare) -> Result<Ready, Diagnostic> {
    let mut seen = module.clone();
    let func = seen.globals[entry].func;
    add_results(&mut seen, func, exprs);
    typed(&mut seen)?;
    prepare(seen)
}

fn typed(module: &mut Module) -> Result<(), Diagnostic> {
    infer::reinfer(module, ops::table()).into_iter().find(Diagnostic::is_error).map_or(Ok(()), Err)
}

/// The tensors of the program's own result, and of those behind it.
fn split(bound: Bound) -> (Vec<Tensor>, Vec<Tensor>) {
    let Bound::Tuple(fields) = bound else { return (vec![], vec![]) };
    let mut fields = fields.into_iter();
    let own = fields.next().map_or(vec![], |own| super::bind::tensors_in(&[own]).into_iter().cloned().collect());
    let others = fields.filter_map(|field| if let Bound::Tensor(tensor) = field { Some(tensor) } else { None });
    (own, others.collect())
}

/// The scale of each activation.
fn scales(
    module: &Module,
    activations: &[Activation],
    samples: &[Vec<Bound>],
    method: Method,
    float: &Ready,
) -> Result<Vec<Scale>, Diagnostic> {
    let mut ranges = vec![Range::new(); activations.len()];
    for sample in samples {
        let (_, tensors) = split(float(sample.clone())?);
        for ((range, tensor), one) in ranges.iter_mut().zip(&tensors).zip(activations) {
            if !range.widen(tensor) {
                let error = refused("an activation has numbers without a range: NaN or an infinity");
                return Err(error.at(module.exprs[one.expr].span, "computed here"));
            }
        }
    }
    if method != Method::MinMax {
        for sample in samples {
            let (_, tensors) = split(float(sample.clone())?);
            ranges.iter_mut().zip(&tensors).for_each(|(range, tensor)| range.count(tensor));
        }
    }
    let own: Vec<Scale> = ranges.iter().map(|range| scale_of(range.ends(method))).collect();
    Ok(activations.iter().map(|one| own[one.scale_of]).collect())
}

/// The operator that computes an expression, or the variable that it is, and its line.
fn name_of(program: &Program, expr: ExprId) -> String {
    let module = &program.module;
    let name = match (module.called_op(expr), module.exprs[expr].kind) {
        (Some(op), _) => ops::table().def(op).name.to_owned(),
        (None, ExprKind::Var(var)) => format!("%{}", one_line(&module.vars[var].name)),
        (None, _) => "a value".to_owned(),
    };
    let place = program.sources.line_col(module.exprs[expr].span);
    place.map_or(name.clone(), |(line, column)| format!("{name} at {line}:{column}"))
}

impl Report {
    /// The report as a table.
    pub fn text(&self) -> String {
        let products = count(self.n_products, "product");
        let mut text =
            format!("{products} quantized by {}\n\n     dB      scale  zero  activation\n", count(self.n_samples, "sample"));
        for layer in &self.layers {
            text += &format!("{:7.1}  {:9.3e}  {:4}  {}\n", layer.accuracy.decibels(), layer.scale, layer.zero, layer.name);
        }
        for (name, result) in &self.results {
            text += &format!(
                "\n{}: {:.1} dB, largest error {:.2} % of the largest number, {:.0} % of rows with the same greatest number\n",
                one_line(name),
                result.decibels(),
                100.0 * result.scale_error(),
                100.0 * result.top_agreement(),
            );
        }
        text
    }

    /// The report as JSON, `relayc.quantize/1`.
    pub fn json(&self) -> Value {
        let accuracy = |of: &Accuracy| json!({ "decibels": of.decibels(), "scale_error": of.scale_error(), "top_agreement": of.top_agreement() });
        let result = |(name, of): &(String, Accuracy)| {
            let mut value = accuracy(of);
            value["name"] = json!(name);
            value
        };
        let layer = |layer: &Layer| json!({ "activation": layer.name, "scale": layer.scale, "zero_point": layer.zero, "accuracy": accuracy(&layer.accuracy) });
        json!({
            "schema": "relayc.quantize/1",
            "products": self.n_products,
            "samples": self.n_samples,
            "layers": self.layers.iter().map(layer).collect::<Vec<_>>(),
            "results": self.results.iter().map(result).collect::<Vec<_>>(),
        })
    }
}
