//! Measures how near kernels come to the machine's limits: `cargo bench --bench kernels`.
//!
//! `… -- Avx2/add` selects kernels by instruction set and name, as in `Avx2/add+relu 64x56x56`. The kernels are the
//! convolutions of ResNet and VGG, directly and by Winograd's method, products of few and of many rows, softmax, layer norm and
//! elementwise groups. Each is compiled by itself with packed weights and runs on one thread, for every instruction set of this
//! machine.
//!
//! The time of a layer is that of its longest step, between two microbenchmarks that agree. So a fraction of the peak compares
//! like with like, even on a shared machine. Inputs and outputs are cache-line aligned in one region of large pages, like a
//! network's arena, and so is the stream used for comparison. Contractions also run on two threads, alternating with one. The
//! last lines give, for each kind, the harmonic mean and the minimum of the fractions and of the two-thread speedups.

use memmap2::{Advice, MmapMut};
use relayc_codegen::cpu::Cpu;
use relayc_codegen::microbenchmark::Microbenchmark;
use relayc_codegen::pool::Pool;
use relayc_driver::bind::{self, Bound, Requests};
use relayc_driver::check_text;
use relayc_driver::optimise::{UNTIL, bind_weights};
use relayc_driver::run::{self, Limits};
use relayc_engine::compile::{Compiled, Isa, Machine, Policy, Settings, compile};
use relayc_exec::plan::{Traffic, traffic};
use relayc_exec::program::PlanSession;
use relayc_ir::tensor::Tensor;
use relayc_weights::{encode, npz};
use std::time::{Duration, Instant};

/// What a layer's time is held against.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The peak of multiply-adds; layers of one name are summed up.
    Compute(&'static str),
    /// The bandwidth of a stream of its size.
    Stream,
    /// Elements a second.
    Elements(u64),
}

struct Layer {
    name: String,
    text: String,
    /// The weights and their shapes.
    weights: Vec<(&'static str, Vec<usize>)>,
    accuracy: Policy,
    kind: Kind,
}

/// Channels of the network's input: few, so that the convolution that is measured is the longest step.
const FIRST: usize = 8;

const DIRECT: &str = "direct";
const WINOGRAD: &str = "winograd";

/// A convolution with bias and relu: channels in and out, rows and columns of the output, window, stride. Its input is what
/// another convolution gives, so that it lies as inside of a network.
fn conv([ic, oc, out, window, stride]: [usize; 5], accuracy: Policy) -> Layer {
    let pad = window / 2;
    // As large an input as leaves no row over.
    let size = if stride == 1 { out } else { out * stride };
    let text = format!(
        "def @main(%x: Tensor[(1, {FIRST}, {size}, {size}), float32], %v: Tensor[({ic}, {FIRST}, 1, 1), float32], \
         %w: Tensor[({oc}, {ic}, {window}, {window}), float32], %b: Tensor[({oc}), float32]) {{ \
         let %y = nn.conv2d(%x, %v, padding=[0, 0, 0, 0], channels={ic}, kernel_size=[1, 1]); \
         nn.relu(nn.bias_add(nn.conv2d(%y, %w, strides=[{stride}, {stride}], \
         padding=[{pad}, {pad}, {pad}, {pad}], channels={oc}, kernel_size=[{window}, {window}]), %b)) }}"
    );
    let kind = if accuracy == Policy::Strict { DIRECT } else { WINOGRAD };
    Layer {
        name: format!("{kind} {ic}-{oc} {out}x{out} {window}x{window} stride {stride}"),
        text,
        weights: vec![("v", vec![ic, FIRST, 1, 1]), ("w", vec![oc, ic, window, window]), ("b", vec![oc])],
        accuracy,
        kind: Kind::Compute(kind),
    }
}

/// The convolutions of ResNet-18 and 50 and of VGG-16 but for the first.
const CONVOLUTIONS: [[usize; 5]; 27] = [
    [64, 64, 56, 3, 1],
    [128, 128, 28, 3, 1],
    [256, 256, 14, 3, 1],
    [512, 512, 7, 3, 1],
    [64, 64, 224, 3, 1],
    [64, 128, 112, 3, 1],
    [128, 128, 112, 3, 1],
    [128, 256, 56, 3, 1],
    [256, 256, 56, 3, 1],
    [256, 512, 28, 3, 1],
    [512, 512, 28, 3, 1],
    [512, 512, 14, 3, 1],
    [64, 128, 28, 3, 2],
    [128, 256, 14, 3, 2],
    [256, 512, 7, 3, 2],
    [64, 64, 56, 1, 1],
    [64, 256, 56, 1, 1],
    [256, 64, 56, 1, 1],
    [512, 128, 28, 1, 1],
    [128, 512, 28, 1, 1],
    [1024, 256, 14, 1, 1],
    [256, 1024, 14, 1, 1],
    [2048, 512, 7, 1, 1],
    [512, 2048, 7, 1, 1],
    [256, 128, 28, 1, 2],
    [512, 256, 14, 1, 2],
    [1024, 512, 7, 1, 2],
];

/// A product of rows with a matrix.
fn dense(rows: usize, units: usize, depth: usize) -> Layer {
    let text = format!(
        "def @main(%x: Tensor[({rows}, {depth}), float32], %w: Tensor[({units}, {depth}), float32]) {{ nn.dense(%x, %w, units={units}) }}"
    );
    // A few rows take as long as it takes to read the weights.
    let kind = if rows <= 4 { Kind::Stream } else { Kind::Compute("dense") };
    let weights = vec![("w", vec![units, depth])];
    Layer { name: format!("dense {rows}x{depth} by {units}"), text, weights, accuracy: Policy::Fast, kind }
}

/// A layer without weights.
fn bare(name: &str, text: &str, kind: Kind) -> Layer {
    Layer { name: name.to_owned(), text: text.to_owned(), weights: vec![], accuracy: Policy::Fast, kind }
}

fn layers() -> Vec<Layer> {
    let mut all: Vec<Layer> = CONVOLUTIONS.iter().map(|&layer| conv(layer, Policy::Strict)).collect();
    let tiled = |layer: &&[usize; 5]| layer[2] >= 14 && layer[3..] == [3, 1];
    all.extend(CONVOLUTIONS.iter().filter(tiled).map(|&layer| conv(layer, Policy::Fast)));
    all.extend([dense(128, 768, 768), dense(128, 3072, 768), dense(128, 768, 3072)]);
    all.extend([dense(1, 1000, 2048), dense(1, 256, 128)]);
    let softmax = "def @main(%x: Tensor[(12, 128, 128), float32]) { nn.softmax(%x) }";
    all.push(bare("softmax 12x128x128", softmax, Kind::Elements(12 * 128 * 128)));
    let norm = "def @main(%x: Tensor[(128, 768), float32], %g: Tensor[(768), float32], %b: Tensor[(768), float32]) { nn.layer_norm(%x, %g, %b) }";
    all.push(bare("layer_norm 128x768", norm, Kind::Elements(128 * 768)));
    for (channels, size) in [(64, 56), (256, 56), (512, 28)] {
        let ty = format!("Tensor[(1, {channels}, {size}, {size}), float32]");
        let text = format!("def @main(%x: {ty}, %y: {ty}) {{ nn.relu(add(%x, %y)) }}");
        all.push(bare(&format!("add+relu {channels}x{size}x{size}"), &text, Kind::Stream));
    }
    let chain = "def @main(%x: Tensor[(128, 3072), float32], %b: Tensor[(3072), float32]) { clip(add(multiply(%x, 0.5f), %b), a_min=0f, a_max=6f) }";
    all.push(bare("scale+bias+clip 128x3072", chain, Kind::Stream));
    all
}

/// A layer that is ready to run.
struct Ready {
    compiled: Compiled,
    session: PlanSession,
    /// The inputs, then the outputs, each from a cache line on, and how many bytes they have.
    memory: MmapMut,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    /// The step that is measured.
    step: usize,
}

/// Bytes of a cache line, and of a large page.
const LINE: usize = 64;
const LARGE_PAGE: usize = 2 << 20;

/// Stretches of so many bytes one after the other, each from a cache line on; what is left.
fn cut<'m>(mut memory: &'m mut [u8], lengths: &[usize]) -> (Vec<&'m mut [u8]>, &'m mut [u8]) {
    let mut stretches = vec![];
    for &bytes in lengths {
        let (own, rest) = memory.split_at_mut(bytes.next_multiple_of(LINE));
        stretches.push(&mut own[..bytes]);
        memory = rest;
    }
    (stretches, memory)
}

impl Ready {
    fn new(layer: &Layer, isa: Isa, threads: usize) -> Ready {
        let mut program = check_text(&layer.name, &layer.text, UNTIL);
        assert!(!program.has_errors(), "{}: {:?}", layer.name, program.diagnostics);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("weights.npz");
        let mut random = fastrand::Rng::with_seed(1);
        let weights =
            layer.weights.iter().map(|(name, shape)| ((*name).to_owned(), Tensor::from_fn(shape, |_| random.f32() - 0.5)));
        let bytes = encode(npz::FORMAT, "weights.npz", &weights.collect::<Vec<_>>()).expect("it is an archive");
        std::fs::write(&file, bytes).expect("the folder can be written");
        bind_weights(&mut program, "main", &[file]).expect("the weights fit");
        let settings = Settings {
            level: 3,
            isa,
            threads,
            accuracy: layer.accuracy,
            machine: Machine::Native,
            choices: Default::default(),
            fault: None,
        };
        let entry = run::entry(&program.module, "main").expect("there is one");
        let requests = Requests { fill: Some("rand:seed=1".into()), ..Requests::default() };
        let bound: Vec<Bound> = bind::bind(&entry.slots, &program.module.types, &requests).expect("everything is filled");
        let compiled = compile(&program, "main", &settings, Limits::default());
        let compiled = compiled.unwrap_or_else(|_| panic!("{} is compiled", layer.name));
        let values: Vec<Vec<u8>> = relayc_driver::bind::tensors_in(&bound).into_iter().map(Tensor::to_le_bytes).collect();
        let session = compiled.session().expect("there is memory");
        let inputs: Vec<usize> = values.iter().map(Vec::len).collect();
        let outputs: Vec<usize> = compiled.outputs().iter().map(Vec::len).collect();
        let bytes: usize = inputs.iter().chain(&outputs).map(|bytes| bytes.next_multiple_of(LINE)).sum();
        let mut memory = MmapMut::map_anon(bytes.next_multiple_of(LARGE_PAGE)).expect("there is memory");
        // A wish, as it is for an arena.
        let _ = memory.advise(Advice::HugePage);
        cut(&mut memory, &inputs).0.into_iter().zip(&values).for_each(|(to, value)| to.copy_from_slice(value));
        let mut ready = Ready { compiled, session, memory, inputs, outputs, step: 0 };
        let steps = &ready.compiled.program.plan.steps;
        let work = |step: usize| ready.traffic(step).ops;
        ready.step = (0..steps.len()).filter(|&step| !steps[step].once).max_by_key(|&step| work(step)).expect("a step");
        ready
    }

    fn traffic(&self, step: usize) -> Traffic {
        let plan = &self.compiled.program.plan;
        traffic(plan, &plan.steps[step])
    }

    /// The time of the step in one run.
    fn time(&mut self) -> Duration {
        let (step, mut begun, mut took) = (self.step, None, Duration::ZERO);
        let Ready { compiled, session, memory, inputs, outputs, .. } = self;
        let (inputs, rest) = cut(memory, inputs);
        let run = compiled.run_session(
            session,
            &inputs,
            &mut cut(rest, outputs).0,
            Some(&mut |next, _| {
                match begun {
                    None if next == step => begun = Some(Instant::now()),
                    Some(start) if took.is_zero() => took = Instant::elapsed(&start),
                    _ => {}
                }
                Ok(())
            }),
        );
        run.expect("nothing fails");
        took
    }
}

/// The machine's limits, as they are just now.
struct Machines {
    probe: Microbenchmark,
    pool: Pool,
    start: Instant,
}

impl Machines {
    fn flops(&self) -> f64 {
        self.probe.flops(&self.pool, &|| self.start.elapsed()).median
    }

    fn stream(&self, bytes: u64) -> f64 {
        self.probe.stream(&self.pool, bytes as usize, &|| self.start.elapsed()).median
    }
}

/// The rate of work (operations, bytes, elements) and the share of the limit: the upper quartile of samples between two probes
/// that agree.
fn sample(layer: &Layer, ready: &mut Ready, machine: &Machines) -> (f64, Option<f64>) {
    let counts = ready.traffic(ready.step);
    let work = match layer.kind {
        Kind::Compute(_) => counts.ops,
        Kind::Stream => counts.bytes,
        Kind::Elements(n) => n,
    } as f64;
    let limit = || match layer.kind {
        Kind::Compute(_) => machine.flops(),
        Kind::Stream => machine.stream(counts.bytes),
        Kind::Elements(_) => f64::NAN,
    };
    let (mut samples, start) = (vec![], Instant::now());
    let mut before = limit();
    while samples.len() < 5 || start.elapsed() < Duration::from_millis(400) {
        // A stream's limit is measured over and over, after which the caches hold of it what they can.
        let runs = if layer.kind == Kind::Stream { 8 } else { 3 };
        let time = (0..runs).map(|_| ready.time()).min().expect("more than none").as_secs_f64();
        let after = limit();
        let agree = before.is_nan() || (before / after - 1.0).abs() < 0.03;
        if agree || start.elapsed() > Duration::from_secs(3) {
            samples.push((work / time, work / time / ((before + after) / 2.0)));
        }
        before = after;
    }
    samples.sort_by(|a, b| if a.1.is_nan() { b.0.total_cmp(&a.0) } else { b.1.total_cmp(&a.1) });
    let (rate, share) = samples[samples.len() / 4];
    (rate, (!share.is_nan()).then_some(share))
}

/// How much faster a layer is on two threads than on one: the median of pairs, each the best of a few runs.
fn speedup(layer: &Layer, isa: Isa, one: &mut Ready) -> f64 {
    let mut two = Ready::new(layer, isa, 2);
    let best = |ready: &mut Ready| (0..5).map(|_| ready.time()).min().expect("more than none").as_secs_f64();
    let start = Instant::now();
    let mut ratios = vec![];
    while ratios.len() < 5 || start.elapsed() < Duration::from_millis(400) {
        ratios.push(best(one) / best(&mut two));
    }
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn main() {
    let asked = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut summary = vec![];
    for isa in Cpu::get().isas() {
        let machine =
            Machines { probe: Microbenchmark::new(isa).expect("it has code"), pool: Pool::new(1), start: Instant::now() };
        let (mut shares, mut speedups) = (Vec::<(&str, f64)>::new(), Vec::<(&str, f64)>::new());
        for layer in layers().into_iter().filter(|layer| format!("{isa:?}/{}", layer.name).contains(&asked)) {
            let mut ready = Ready::new(&layer, isa, 1);
            let (rate, share) = sample(&layer, &mut ready, &machine);
            let unit = match layer.kind {
                Kind::Compute(_) => "GFLOP/s",
                Kind::Stream => "GB/s",
                Kind::Elements(_) => "G elements/s",
            };
            let of = share.map_or(String::new(), |share| format!("  {:5.1} % of the limit", 100.0 * share));
            let kernel = ready.compiled.program.reasons[ready.step].name.clone();
            let faster = match layer.kind {
                Kind::Compute(_) if cores > 1 => Some(speedup(&layer, isa, &mut ready)),
                _ => None,
            };
            let on_two = faster.map_or(String::new(), |faster| format!("  {faster:.2} x on 2 threads"));
            println!("{isa:?}  {:<42} {:8.2} {unit}{of}{on_two}  {kernel}", layer.name, rate / 1e9);
            match (layer.kind, share) {
                // What the model computes directly counts for nothing here.
                (Kind::Compute(kind), Some(share)) if kind != WINOGRAD || kernel.starts_with(WINOGRAD) => {
                    shares.push((kind, share));
                    speedups.extend(faster.map(|faster| (kind, faster)));
                }
                (Kind::Stream, Some(share)) => shares.push(("bandwidth", share)),
                _ => {}
            }
        }
        let percent = |share: f64| format!("{:5.1} %", 100.0 * share);
        summary.extend(summed(isa, "", &shares, &percent));
        summary.extend(summed(isa, " on 2 threads", &speedups, &|faster| format!("{faster:.2} x")));
    }
    println!("\n{}", summary.join("\n"));
}

/// A line for each kind: how many, the harmonic mean, the least.
fn summed(isa: Isa, what: &str, all: &[(&str, f64)], say: &dyn Fn(f64) -> String) -> Vec<String> {
    let of = |kind: &str| {
        let own: Vec<f64> = all.iter().filter(|(known, _)| *known == kind).map(|(_, share)| *share).collect();
        if own.is_empty() {
            return None;
        }
        let mean = own.len() as f64 / own.iter().map(|share| 1.0 / share).sum::<f64>();
        let least = own.iter().copied().fold(f64::INFINITY, f64::min);
        let n = own.len();
        let name = format!("{kind}{what}");
        Some(format!("{isa:?} {name:<23} {n:3} layers: harmonic mean {}, least {}", say(mean), say(least)))
    };
    [DIRECT, WINOGRAD, "dense", "bandwidth"].into_iter().filter_map(of).collect()
}
