//! Tests passes on networks and on random dataflow programs with constant weights. Every pass alone and all together keep the
//! interpreter's results, and the rewrites that should save work do.

use relayc_check::infer;
use relayc_driver::example::Runner;
use relayc_driver::optimise::{PassPlan, Step, Target, UNTIL, optimise};
use relayc_driver::{Program, check_text};
use relayc_ir::Module;
use relayc_ir::print::{Options, print};
use relayc_ir::tensor::Tensor;
use relayc_ops::table;
use relayc_passes::bind_params;
use relayc_zoo::{self as zoo, Config};
use rustc_hash::FxHashMap;

/// A text as a program in which all parameters of `@main` but those called `data` are constants. What is called a variance or
/// a gamma is positive, as it is in a network.
fn program(text: &str, seed: u64) -> Program {
    let mut program = check_text("network", text, UNTIL);
    assert!(!program.has_errors(), "{text}\n{:?}", program.diagnostics);
    let mut random = fastrand::Rng::with_seed(seed);
    let main = program.module.find_global("main").expect("a network has a main");
    let params = program.module.funcs[program.module.globals[main].func].params.clone();
    let mut values = FxHashMap::default();
    for var in params {
        let var = &program.module.vars[var];
        if var.name.starts_with("data") {
            continue;
        }
        let ty = var.checked_ty.or(var.ty).expect("parameters have types");
        let (shape, dtype) = program.module.types.as_tensor(ty).expect("weights are tensors");
        let shape: Vec<usize> = shape.iter().map(|dim| dim.value().expect("weights have known shapes") as usize).collect();
        let positive = ["gamma", "var"].iter().any(|end| var.name.ends_with(end));
        let fan: usize = shape[1.min(shape.len())..].iter().product::<usize>().max(1);
        let mut number = |_| match positive {
            true => random.f32() + 0.5,
            false => (random.f32() - 0.5) * 3.0 / (fan as f32).sqrt(),
        };
        let value = Tensor::from_fn(&shape, &mut number).cast(dtype).expect("the dtype of a tensor");
        values.insert(var.name.to_string(), value);
    }
    bind_params(&mut program.module, main, values);
    let errors = infer::reinfer(&mut program.module, table());
    assert!(errors.iter().all(|diagnostic| !diagnostic.is_error()), "{errors:?}");
    program
}

/// Requires a program to say the same after each of these.
fn keeps(text: &str, seed: u64, hows: &[(&str, PassPlan)]) {
    let before = program(text, seed);
    let runner = Runner::new(&before, "");
    let example = runner.random("main").expect("a network has a main");
    for (name, how) in hows {
        let mut after = program(text, seed);
        let how = PassPlan { verify: true, entry: Some("main".to_owned()), ..how.clone() };
        optimise(&mut after.module, &how, &mut ()).unwrap_or_else(|error| panic!("{name}: {}\n{text}", error.message));
        let same = runner.same(&Runner::new(&after, ""), &example);
        same.unwrap_or_else(|why| panic!("{name} with seed {seed}: {why}\n{text}"));
    }
}

fn everything() -> Vec<(&'static str, PassPlan)> {
    let levels = [("-O1", 1), ("-O2", 2), ("-O3", 3)].map(|(name, level)| (name, PassPlan::level(level, Target::V4)));
    levels.into_iter().collect()
}

fn alone() -> Vec<(&'static str, PassPlan)> {
    let one = |pass: &'static relayc_driver::optimise::Pass| {
        (pass.name, PassPlan::named([pass.name], Target::V3).expect("the name of a pass"))
    };
    relayc_driver::optimise::all().into_iter().filter(|pass| pass.keeps_answers).map(one).chain(everything()).collect()
}

fn network(name: &str, flags: &str) -> Module {
    let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
    let network = zoo::find(name).expect("a network of the zoo");
    let mut module = Config::parse(network, &flags).and_then(|config| config.build()).expect("a network");
    let errors = infer::infer(&mut module, table());
    assert!(errors.is_empty(), "{name}: {errors:?}");
    module
}

#[test]
fn networks_keep_their_answers() {
    const NETWORKS: [(&str, &str); 5] = [
        ("resnet", "--layers 8 --image-shape 3,28,28"),
        ("mobilenet", "--image-shape 3,32,32 --classes 10"),
        ("squeezenet", "--image-shape 3,32,32 --classes 10"),
        ("lstm", "--iterations 2 --hidden 8"),
        ("mlp", ""),
    ];
    for (name, flags) in NETWORKS {
        keeps(&print(&network(name, flags), table(), Options::default()), 7, &everything());
    }
}

/// The multiply-accumulates of a network before and after passes, in thousands.
fn work(name: &str, flags: &str, passes: &[&str]) -> [u128; 2] {
    let mut module = network(name, flags);
    let before = zoo::macs(&module).expect("known shapes");
    let how = PassPlan::named(passes.iter().copied(), Target::V4).expect("names of passes");
    optimise(&mut module, &how, &mut ()).expect("passes keep programs");
    [before, zoo::macs(&module).expect("known shapes")].map(|macs| macs / 1000)
}

#[test]
fn strides_pushed_up_save_a_tenth_of_resnet50() {
    let [before, after] = work("resnet", "--layers 50", &["simplify-inference", "push-strides-up"]);
    assert_eq!((before / 1000, after / 1000), (3857, 3482));
}

#[test]
fn pools_before_convolutions_save_a_tenth_of_densenet121() {
    let [before, after] = work("densenet", "--batch 1", &["simplify-inference", "pool-before-conv"]);
    assert_eq!((before / 1000, after / 1000), (1761, 1588));
}

/// The text of a program after a pass.
fn after(text: &str, pass: &str) -> String {
    let mut program = program(text, 3);
    let how = PassPlan::named([pass], Target::V4).expect("the name of a pass");
    optimise(&mut program.module, &how, &mut ()).expect("passes keep programs");
    print(&program.module, table(), Options::default())
}

#[test]
fn only_convolutions_move_large_weights_themselves() {
    let text = |result: &str| {
        format!(
            "#[version = \"0.0.5\"]\ndef @main(%data: Tensor[(1, 136, 2, 2), float32], %w: Tensor[(1, 1, 136, 136), float32]) {{\n  \
             %0 = transpose(%w, axes=[3, 2, 0, 1]);\n  %1 = nn.conv2d(%data, %0);\n  {result}\n}}\n"
        )
    };
    assert!(after(&text("%1"), "fold-constants").contains("transpose"));
    assert!(!after(&text("(%1, %0)"), "fold-constants").contains("transpose"));
}

#[test]
fn weights_are_scaled_in_place() {
    let text = "#[version = \"0.0.5\"]\ndef @main(%data: Tensor[(1, 64, 2, 2), float32], %w: Tensor[(96, 64, 1, 1), float32], \
                %s: Tensor[(96, 1, 1), float32]) {\n  multiply(nn.conv2d(%data, %w), %s)\n}\n";
    let places = |module: &Module| -> Vec<usize> {
        let weights = module.consts.iter().filter(|value| value.len() == 96 * 64);
        weights.map(|value| value.as_array::<f32>().expect("weights are float32").as_ptr() as usize).collect()
    };
    let mut program = program(text, 3);
    let before = places(&program.module);
    let how = PassPlan::named(["fold-scale-axis"], Target::V4).expect("the name of a pass");
    optimise(&mut program.module, &how, &mut ()).expect("passes keep programs");
    assert_eq!((before.len(), places(&program.module)), (1, before));
    assert!(!print(&program.module, table(), Options::default()).contains("multiply"));
}

/// A random program over images: values with their shapes, each made of those before it.
struct Writer {
    random: fastrand::Rng,
    params: Vec<String>,
    lines: Vec<String>,
    /// The name of each value, its channels and its height, which is its width.
    values: Vec<(String, usize, usize)>,
}

impl Writer {
    fn param(&mut self, end: &str, shape: &str) -> String {
        let name = format!("%p{}_{end}", self.params.len());
        self.params.push(format!("{name}: Tensor[({shape}), float32]"));
        name
    }

    fn line(&mut self, call: String, channels: usize, height: usize) {
        let name = format!("%v{}", self.lines.len());
        self.lines.push(format!("  let {name} = {call};"));
        self.values.push((name, channels, height));
    }

    /// A value, mostly one of the last.
    fn value(&mut self) -> (String, usize, usize) {
        let among = if self.random.bool() { 2 } else { 6 };
        let back = self.random.usize(..self.values.len().min(among));
        self.values[self.values.len() - 1 - back].clone()
    }

    fn conv(&mut self, x: &str, c: usize, h: usize) {
        let groups = if self.random.u8(..4) == 0 && c.is_multiple_of(2) { 2 } else { 1 };
        let size = if self.random.bool() || h < 3 { 1 } else { 3 };
        let stride = self.random.usize(1..3);
        let padding = if size == 3 || self.random.u8(..6) == 0 { 1 } else { 0 };
        let channels = 2 * self.random.usize(1..4);
        let w = self.param("weight", &format!("{channels}, {}, {size}, {size}", c / groups));
        let out = (h + 2 * padding - size) / stride + 1;
        let (strides, padding) = (format!("[{stride}, {stride}]"), format!("[{padding}, {padding}]"));
        let groups = if groups > 1 { format!(", groups={groups}") } else { String::new() };
        self.line(format!("nn.conv2d({x}, {w}, strides={strides}, padding={padding}{groups})"), channels, out);
    }

    fn step(&mut self) {
        let (x, c, h) = self.value();
        let ends = ["gamma", "beta"];
        let end = ends[self.random.usize(..2)];
        match self.random.u8(..19) {
            0..=4 => self.conv(&x, c, h),
            5 | 6 => {
                let s = self.param(end, &format!("{c}, 1, 1"));
                self.line(format!("multiply({x}, {s})"), c, h);
            }
            7 => {
                let b = self.param("beta", &format!("{c}, 1, 1"));
                self.line(format!("add({b}, {x})"), c, h);
            }
            8 => {
                let b = self.param("bias", &c.to_string());
                self.line(format!("nn.bias_add({x}, {b})"), c, h);
            }
            9 | 10 => self.line(format!("nn.relu({x})"), c, h),
            11 => self.line(format!("nn.leaky_relu({x}, alpha=0.1f)"), c, h),
            12 => {
                let [gamma, beta, mean, var] = ["gamma", "beta", "mean", "var"].map(|end| self.param(end, &c.to_string()));
                let name = format!("%v{}", self.lines.len());
                self.lines.push(format!("  let {name} = nn.batch_norm({x}, {gamma}, {beta}, {mean}, {var});"));
                self.line(format!("{name}.0"), c, h);
            }
            13 if h >= 2 => {
                let pool = ["nn.max_pool2d", "nn.avg_pool2d"][self.random.usize(..2)];
                self.line(format!("{pool}({x}, pool_size=[2, 2], strides=[2, 2])"), c, h / 2);
            }
            14 => {
                let fits: Vec<_> = self.values.iter().filter(|value| value.2 == h).cloned().collect();
                let (y, d, _) = fits[self.random.usize(..fits.len())].clone();
                self.line(format!("concatenate(({x}, {y}), axis=1)"), c + d, h);
            }
            15 => {
                let fits: Vec<_> = self.values.iter().filter(|value| (value.1, value.2) == (c, h)).cloned().collect();
                let y = fits[self.random.usize(..fits.len())].0.clone();
                self.line(format!("add({x}, {y})"), c, h);
            }
            // One scaled value, which comes to a product by two paths.
            16 => {
                let s = self.param("gamma", &format!("{c}, 1, 1"));
                self.line(format!("multiply({x}, {s})"), c, h);
                let scaled = self.values[self.values.len() - 1].0.clone();
                let other = ["nn.relu(@)", "@", "nn.leaky_relu(@, alpha=0.5f)"][self.random.usize(..3)].replace('@', &scaled);
                self.line(format!("concatenate(({scaled}, {other}), axis=1)"), 2 * c, h);
                let joined = self.values[self.values.len() - 1].0.clone();
                self.conv(&joined, 2 * c, h);
            }
            17 => self.line(format!("transpose(transpose({x}, axes=[0, 2, 3, 1]), axes=[0, 3, 1, 2])"), c, h),
            _ => self.line(format!("nn.pad({x}, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])"), c, h + 2),
        }
    }

    fn text(seed: u64) -> String {
        let values = vec![("%data".to_owned(), 4, 7)];
        let mut writer = Writer { random: fastrand::Rng::with_seed(seed), params: vec![], lines: vec![], values };
        for _ in 0..writer.random.usize(4..24) {
            writer.step();
        }
        let n = writer.random.usize(1..3).min(writer.values.len());
        let results: Vec<String> = writer.values.iter().rev().take(n).map(|value| value.0.clone()).collect();
        let params = [vec!["%data: Tensor[(1, 4, 7, 7), float32]".to_owned()], writer.params].concat().join(", ");
        format!("#[version = \"0.0.5\"]\ndef @main({params}) {{\n{}\n  ({},)\n}}\n", writer.lines.join("\n"), results.join(", "))
    }
}

#[test]
fn random_programs_keep_their_answers() {
    let hows = alone();
    for seed in 0..40 {
        keeps(&Writer::text(seed), seed, &hows);
    }
}

/// As the pipeline sees them: without names.
#[test]
fn random_graphs_keep_their_answers() {
    let chains = [
        "to-graph-normal-form,simplify-inference,fold-constants,fold-scale-axis",
        "to-graph-normal-form,simplify-inference,fold-constants,simplify-expr,canonicalise,fold-scale-axis,push-strides-up",
        "to-graph-normal-form,eliminate-common-subexpr,simplify-inference,push-strides-up,pool-before-conv,elementwise-before-join",
        "to-graph-normal-form,combine-parallel-conv2d,to-a-normal-form,fold-scale-axis,to-graph-normal-form",
    ];
    let hows: Vec<_> =
        chains.iter().map(|&chain| (chain, PassPlan::named(chain.split(','), Target::V4).expect("names of passes"))).collect();
    for seed in 1000..1150 {
        keeps(&Writer::text(seed), seed, &hows);
    }
}

/// A random expression of a scalar, whose operands write a cell and read it.
fn effects(random: &mut fastrand::Rng, n_shared: usize, depth: usize) -> String {
    let k = random.u8(1..9);
    if depth == 0 {
        return match random.u8(..8) {
            0..=2 => format!("@put(%r, {k}f)"),
            3 => "ref_read(%r)".to_owned(),
            4 => "%data".to_owned(),
            5 if n_shared > 0 => format!("%{}", random.usize(..n_shared)),
            _ => format!("{k}f"),
        };
    }
    let mut part = || effects(random, n_shared, depth - 1);
    let (a, b) = (part(), part());
    match random.u8(..15) {
        0..=2 => format!("add({a}, {b})"),
        3 => format!("subtract({a}, {b})"),
        4 => format!("multiply({a}, {b})"),
        5 | 6 => format!("add(negative({a}), {b})"),
        7 => format!("multiply({a}, ones_like({b}))"),
        8 => format!("add({a}, zeros_like({b}))"),
        9 => format!("full_like({a}, {b})"),
        10 => format!("({a}, {b}).{}", k % 2),
        11 => format!("if (less({a}, {b})) {{ {a} }} else {{ {b} }}"),
        12 => format!("cast(ndarray_size({a}, dtype=\"int32\"), dtype=\"float32\")"),
        13 => format!("(fn () {{ {a} }})()"),
        _ => format!("negative({a})"),
    }
}

#[test]
fn random_effects_keep_their_order() {
    let hows = alone();
    for seed in 0..150 {
        let mut random = fastrand::Rng::with_seed(seed);
        let n_shared = random.usize(1..4);
        let shared: Vec<String> =
            (0..n_shared).map(|at| format!("  %{at} = {};\n", effects(&mut random, at, 1 + at % 2))).collect();
        let result = effects(&mut random, n_shared, 3);
        let text = format!(
            "#[version = \"0.0.5\"]\n\
             def @put(%r: ref(float32), %v: float32) -> float32 {{\n  let %old = ref_read(%r);\n  let %u = ref_write(%r, %v);\n  \
             if (equal(%v, 99f)) {{ @put(%r, %v) }} else {{ %old }}\n}}\n\
             def @main(%data: float32) {{\n  let %r = ref(0.5f);\n{}  let %y = {result};\n  (%y, ref_read(%r))\n}}\n",
            shared.concat()
        );
        keeps(&text, seed, &hows);
    }
}

/// Nothing recurses over a program: chains of bindings and of graph expressions, branches and functions inside of each other.
#[test]
fn deep_programs_pass_on_a_small_stack() {
    const N: usize = 6_000;
    const DEPTH: usize = 500;
    const STEPS: [&str; 6] =
        ["nn.relu(@)", "multiply(@, 0.5f)", "transpose(@, axes=[1, 0])", "reshape(@, newshape=[2, 2])", "add(@, 1f)", "(@,).0"];
    let chain = |binding: fn(usize) -> String| -> String {
        let step =
            |i: usize| STEPS[i % STEPS.len()].replace('@', &if i == 0 { "%data".to_owned() } else { format!("%v{}", i - 1) });
        (0..N).map(|i| format!("{} = {};\n", binding(i), step(i))).collect::<String>() + &format!("%v{}", N - 1)
    };
    let graph = chain(|i| format!("%v{i}")).replace("%v", "%");
    let branches = "if (%c) { nn.relu(".repeat(DEPTH) + "%data" + &") } else { %data }".repeat(DEPTH);
    let functions = "let %f = fn (%a: Tensor[(2, 2), float32]) { ".repeat(DEPTH) + "%data" + &" }; %f(%data)".repeat(DEPTH);
    for body in [chain(|i| format!("let %v{i}")), graph, branches, functions] {
        let text = format!("#[version = \"0.0.5\"]\ndef @main(%data: Tensor[(2, 2), float32], %c: bool) {{\n{body}\n}}\n");
        let run = move || {
            let mut how = PassPlan::level(3, Target::V4);
            how.passes.extend(relayc_driver::optimise::all().into_iter().filter(|pass| pass.keeps_answers).map(Step::from));
            let mut program = check_text("deep", &text, UNTIL);
            assert!(!program.has_errors(), "{:.1000?}", program.diagnostics);
            optimise(&mut program.module, &how, &mut ()).map_err(|error| error.message)
        };
        let done = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread").join();
        assert_eq!(done.expect("no overflow"), Ok(()));
    }
}
