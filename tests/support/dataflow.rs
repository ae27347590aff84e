//! Generates random dataflow programs that are typed by construction: each step uses existing values, or adds a fitting
//! parameter.
//!
//! A seed determines a program, and so do bytes that are choices. With fewer steps it is a prefix of the same program, which is how
//! failures are reduced.

mod bytes;
mod draws;
mod picks;
mod sizes;
mod typed;

use draws::Draws;
use fastrand::Rng;
use relayc_driver::bind::Bound;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

/// The dtypes of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    F32,
    I32,
    Bool,
    /// Any other.
    Typed(DType),
}

impl Kind {
    fn name(self) -> String {
        match self {
            Kind::F32 => "float32".to_owned(),
            Kind::I32 => "int32".to_owned(),
            Kind::Bool => "bool".to_owned(),
            Kind::Typed(dtype) => dtype.to_string(),
        }
    }
}

#[derive(Clone, Debug)]
struct Value {
    name: String,
    shape: Vec<usize>,
    kind: Kind,
    used: bool,
}

/// How a program is written; all ways say the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Bindings of the graph and `let`, as they come.
    Mixed,
    /// Everything bound by `let`.
    Lets,
    /// Everything in a function that `@main` calls.
    Outlined,
    /// Through a tuple that is taken apart again.
    Packed,
    /// Some steps in a branch, a function, a data type or a cell. `@main` has one more parameter, which is true.
    Branching,
    /// Every dimension of a parameter is `?`.
    Open,
}

/// A program as steps.
pub struct Program {
    params: Vec<Value>,
    steps: Vec<(String, String, bool)>,
    outputs: Vec<String>,
    seed: u64,
}

/// The most elements of a value.
const MOST: usize = 6000;
const DIMS: [usize; 19] = [1, 2, 3, 2, 3, 4, 5, 7, 8, 8, 9, 15, 16, 16, 17, 31, 32, 33, 1];

struct Maker {
    random: Draws,
    params: Vec<Value>,
    values: Vec<Value>,
    steps: Vec<(String, String, bool)>,
}

impl Program {
    /// The program of a number, of so many steps.
    pub fn new(seed: u64, n_steps: usize) -> Program {
        Program::of(Draws::of_seed(seed), n_steps, seed)
    }

    /// The program of choices; what they leave open, a seed decides.
    pub fn chosen(choices: &[u8], n_steps: usize, seed: u64) -> Program {
        Program::of(Draws::of_choices(choices, seed), n_steps, seed)
    }

    fn of(random: Draws, n_steps: usize, seed: u64) -> Program {
        let mut maker = Maker { random, params: vec![], values: vec![], steps: vec![] };
        let rank = [4, 4, 4, 2, 2, 3, 1, 5][maker.random.usize(..8)];
        let shape = maker.shape(rank);
        maker.param(shape, Kind::F32);
        if maker.random.u8(..5) == 0 {
            let shape = maker.shape(2);
            maker.param(shape, Kind::I32);
        }
        Program::made(maker, n_steps, seed, Maker::step)
    }

    /// A program of so many steps.
    fn made(mut maker: Maker, n_steps: usize, seed: u64, step: impl Fn(&mut Maker) -> Option<()>) -> Program {
        let mut n = 0;
        while n < n_steps {
            n += usize::from(step(&mut maker).is_some());
        }
        // What nothing reads is read by the caller.
        let mut outputs: Vec<String> =
            maker.values.iter().rev().filter(|value| !value.used).map(|value| value.name.clone()).take(4).collect();
        if outputs.is_empty() {
            outputs.push(maker.values.last().expect("there is a parameter").name.clone());
        }
        Program { params: maker.params, steps: maker.steps, outputs, seed }
    }

    /// How many steps the program of a number has.
    pub fn n_steps(seed: u64) -> usize {
        Rng::with_seed(seed ^ 0x5eed).usize(1..12)
    }

    pub fn text(&self, form: Form) -> String {
        let dim = |dim: usize| if form == Form::Open { "?".to_owned() } else { dim.to_string() };
        self.text_with(form, &dim)
    }

    /// The program with its sizes written otherwise, each number of a parameter's shape and of an attribute that is a shape.
    pub fn sized(&self, dim: &dyn Fn(usize) -> String) -> String {
        let steps =
            self.steps.iter().map(|(name, value, is_let)| (name.clone(), sizes::rewritten(value, dim), *is_let)).collect();
        let (params, outputs) = (self.params.clone(), self.outputs.clone());
        Program { params, steps, outputs, seed: self.seed }.text_with(Form::Mixed, dim)
    }

    /// The numbers in the shapes of parameters that can be sizes with names, each once.
    pub fn numbers(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = self.params.iter().flat_map(|param| param.shape.clone()).filter(|&dim| dim > 1).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn text_with(&self, form: Form, dim: &dyn Fn(usize) -> String) -> String {
        let shape = |param: &Value| param.shape.iter().map(|&size| dim(size)).collect::<Vec<_>>().join(", ");
        let typed = |param: &Value| format!("{}: Tensor[({}), {}]", param.name, shape(param), param.kind.name());
        let mut params: Vec<String> = self.params.iter().map(typed).collect();
        let names: Vec<&str> = self.params.iter().map(|param| &*param.name).collect();
        let mut body = String::new();
        let mut random = Rng::with_seed(self.seed ^ 0xb4a9);
        for (at, (name, value, is_let)) in self.steps.iter().enumerate() {
            let bound = if *is_let || form == Form::Lets { "let " } else { "" };
            // The parts of a tensor are a tuple, of which there are no zeros.
            let branches = form == Form::Branching && !value.starts_with("split(");
            let value = if branches { branching(&mut random, at, value, &mut body) } else { value.clone() };
            body.push_str(&format!("  {bound}{name} = {value};\n"));
        }
        if form == Form::Lets {
            // Numbers are names of graph bindings alone.
            body = renamed(&body);
        }
        let result = match &self.outputs[..] {
            [one] => one.clone(),
            outputs => format!("({})", outputs.join(", ")),
        };
        let result = if form == Form::Lets { renamed(&result) } else { result };
        match form {
            Form::Packed => {
                body.push_str(&format!("  let %packed = ({},);\n  %packed.0\n", result));
            }
            _ => body.push_str(&format!("  {result}\n")),
        }
        let mut head = "#[version = \"0.0.5\"]\n".to_owned();
        if form == Form::Branching {
            head.push_str("type Box[A] { Full(A), Empty }\n");
            params.push("%yes: bool".to_owned());
        }
        match form {
            Form::Outlined => format!(
                "{head}def @inner({params}) {{\n{body}}}\ndef @main({params}) {{\n  @inner({})\n}}\n",
                names.join(", "),
                params = params.join(", ")
            ),
            _ => format!("{head}def @main({}) {{\n{body}}}\n", params.join(", ")),
        }
    }

    /// Values for the parameters.
    pub fn args(&self) -> Vec<Bound> {
        self.args_of(&|dim| dim)
    }

    /// As [`Program::args`], of other sizes.
    pub fn args_of(&self, dim: &dyn Fn(usize) -> usize) -> Vec<Bound> {
        let mut random = Rng::with_seed(self.seed ^ 0xa265);
        let value = |param: &Value| {
            let shape: Vec<usize> = param.shape.iter().map(|&size| dim(size)).collect();
            Bound::Tensor(match param.kind {
                Kind::F32 => Tensor::from_fn(&shape, |_| random.f32() * 4.0 - 2.0),
                Kind::I32 => Tensor::from_fn(&shape, |_| random.i32(-9..10)),
                Kind::Bool => Tensor::from_fn(&shape, |_| random.bool()),
                Kind::Typed(dtype) => typed::argument(&mut random, dtype, &shape),
            })
        };
        self.params.iter().map(value).collect()
    }
}

/// A value come by through control flow; what has to stand before it is added to the body.
fn branching(random: &mut Rng, at: usize, value: &str, body: &mut String) -> String {
    // A tuple is no operand of what makes zeros.
    let forms = if value.starts_with("split(") { 2..9 } else { 0..9 };
    match random.u8(forms) {
        0 => format!("if (%yes) {{ {value} }} else {{ zeros_like({value}) }}"),
        1 => format!("if (logical_not(%yes)) {{ zeros_like({value}) }} else {{ {value} }}"),
        2 => {
            body.push_str(&format!("  let %f{at} = fn () {{ {value} }};\n"));
            format!("%f{at}()")
        }
        3 if !value.starts_with("split(") => {
            format!("match (Full({value})) {{ Full(%b{at}) => {{ %b{at} }}, Empty => {{ zeros_like({value}) }} }}")
        }
        4 => {
            body.push_str(&format!("  let %r{at} = ref({value});\n"));
            format!("ref_read(%r{at})")
        }
        _ => value.to_owned(),
    }
}

/// `%0` as `%g0`.
fn renamed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if before == '%' && c.is_ascii_digit() {
            out.push('g');
        }
        out.push(c);
        before = c;
    }
    out
}

fn list(numbers: &[usize]) -> String {
    format!("[{}]", numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
}

fn elements(shape: &[usize]) -> usize {
    shape.iter().product()
}

impl Maker {
    fn dim(&mut self) -> usize {
        DIMS[self.random.usize(..DIMS.len())]
    }

    fn shape(&mut self, rank: usize) -> Vec<usize> {
        let mut shape: Vec<usize> = (0..rank).map(|_| self.dim()).collect();
        if rank >= 4 {
            shape[0] = 1 + self.random.usize(..2);
        }
        while elements(&shape) > MOST / 2 {
            let most = (0..rank).max_by_key(|&axis| shape[axis]).expect("it is too large");
            shape[most] = 1 + shape[most] / 2;
        }
        shape
    }

    fn param(&mut self, shape: Vec<usize>, kind: Kind) -> String {
        let name = format!("%p{}", self.params.len());
        let value = Value { name: name.clone(), shape, kind, used: false };
        self.params.push(value.clone());
        // What is asked for is used where it is asked for.
        self.values.push(Value { used: self.params.len() > 1, ..value });
        name
    }

    /// A value that no parameter has a part in.
    fn constant(&mut self, shape: &[usize]) -> String {
        let number = ["0.5", "1.25", "-2.0"][self.random.usize(..3)];
        self.bind(format!("full({number}f, shape={}, dtype=\"float32\")", list(shape)), shape.to_vec(), Kind::F32);
        let value = self.values.last_mut().expect("it was just bound");
        value.used = true;
        value.name.clone()
    }

    fn bind(&mut self, text: String, shape: Vec<usize>, kind: Kind) {
        let is_let = self.random.u8(..6) == 0;
        let name = format!("%{}{}", if is_let { "v" } else { "" }, self.steps.len());
        self.steps.push((name.clone(), text, is_let));
        self.values.push(Value { name, shape, kind, used: false });
    }

    /// A value that fits, a late one more likely.
    fn pick(&mut self, fits: impl Fn(&Value) -> bool) -> Option<(String, Vec<usize>, Kind)> {
        let found: Vec<usize> = (0..self.values.len()).filter(|&at| fits(&self.values[at])).collect();
        let n = found.len();
        if n == 0 {
            return None;
        }
        let late = n - 1 - self.random.usize(..n).min(self.random.usize(..n));
        let value = &mut self.values[found[late]];
        value.used = true;
        Some((value.name.clone(), value.shape.clone(), value.kind))
    }

    /// A value that broadcasts to a shape: one that is there, a parameter or a number.
    fn partner(&mut self, shape: &[usize]) -> String {
        match self.random.u8(..4) {
            0 => {
                let same = shape.to_vec();
                if let Some((name, ..)) = self.pick(|value| value.kind == Kind::F32 && value.shape == same) {
                    return name;
                }
            }
            1 => return ["0.5f", "2f", "-1.25f", "0f", "1f"][self.random.usize(..5)].to_owned(),
            _ => {}
        }
        let skip = self.random.usize(..=shape.len());
        let shape = shape[skip..].iter().map(|&dim| if self.random.u8(..3) == 0 { 1 } else { dim }).collect();
        self.param(shape, Kind::F32)
    }

    /// Adds a step, if one is possible.
    fn step(&mut self) -> Option<()> {
        match self.random.u8(..37) {
            0..=2 => self.unary(),
            3..=6 => self.binary(),
            7 => self.choice(),
            8 => self.integers(),
            9 | 10 => self.reduction(),
            11 => self.normalisation(),
            12 | 13 => self.dense(),
            14 => self.batch_matmul(),
            15..=17 => self.conv2d(),
            18 | 19 => self.pool(),
            20 => self.reshape(),
            21 => self.transpose(),
            22 => self.concatenate(),
            23 => self.split(),
            24 => self.slice(),
            25..=27 => self.picks(),
            28..=31 => self.typed(),
            32 | 33 => self.bytes(),
            34 | 35 => self.attention(),
            _ => self.movement(),
        }
    }

    fn float(&mut self, fits: impl Fn(&[usize]) -> bool) -> Option<(String, Vec<usize>)> {
        self.pick(|value| value.kind == Kind::F32 && fits(&value.shape)).map(|(name, shape, _)| (name, shape))
    }

    fn unary(&mut self) -> Option<()> {
        let (x, shape) = self.float(|_| true)?;
        let text = match self.random.u8(..18) {
            0..=3 => format!("nn.relu({x})"),
            4 => format!("sigmoid({x})"),
            5 => format!("tanh({x})"),
            6 => format!("erf({x})"),
            7 => format!("exp(tanh({x}))"),
            8 => format!("log(add(abs({x}), 1f))"),
            9 => format!("sqrt(abs({x}))"),
            10 => format!("clip({x}, a_min=-1f, a_max=1.5f)"),
            11 => format!("floor({x})"),
            12 => format!("round({x})"),
            13 => format!("negative({x})"),
            14 => format!("nn.leaky_relu({x}, alpha=0.1f)"),
            15 => format!("sin(tanh({x}))"),
            16 => format!("multiply({x}, sigmoid({x}))"),
            _ => format!("rsqrt(add(multiply({x}, {x}), 0.5f))"),
        };
        self.bind(text, shape, Kind::F32);
        Some(())
    }

    fn binary(&mut self) -> Option<()> {
        let (x, shape) = self.float(|_| true)?;
        let y = self.partner(&shape);
        let (a, b) = if self.random.bool() { (&x, &y) } else { (&y, &x) };
        let text = match self.random.u8(..8) {
            0..=2 => format!("add({a}, {b})"),
            3 => format!("subtract({a}, {b})"),
            4 | 5 => format!("multiply({a}, {b})"),
            6 => format!("maximum({a}, {b})"),
            _ => format!("divide({a}, add(abs({b}), 0.5f))"),
        };
        self.bind(text, shape, Kind::F32);
        Some(())
    }

    fn choice(&mut self) -> Option<()> {
        let (x, shape) = self.float(|_| true)?;
        let y = self.partner(&shape);
        let compare = ["less", "greater_equal", "equal", "not_equal"][self.random.usize(..4)];
        let shape_text = format!("broadcast_to({y}, shape={})", list(&shape));
        let (text, kind) = match self.random.u8(..3) {
            0 => (format!("where({compare}({x}, {y}), {x}, {shape_text})"), Kind::F32),
            1 => (format!("cast({compare}({x}, {y}), dtype=\"float32\")"), Kind::F32),
            _ => (format!("{compare}({x}, {y})"), Kind::Bool),
        };
        self.bind(text, shape, kind);
        Some(())
    }

    fn integers(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|value| match value.kind {
            Kind::F32 => elements(&value.shape) < 500,
            Kind::I32 | Kind::Bool => true,
            Kind::Typed(_) => false,
        })?;
        let (text, kind) = match (kind, self.random.u8(..4)) {
            (Kind::F32, _) => (format!("cast(clip({x}, a_min=-100f, a_max=100f), dtype=\"int32\")"), Kind::I32),
            (Kind::I32, 0) => (format!("add({x}, {x})"), Kind::I32),
            (Kind::I32, 1) => (format!("multiply({x}, 3)"), Kind::I32),
            (Kind::I32, 2) => (format!("maximum(negative({x}), 2)"), Kind::I32),
            (Kind::I32, _) => (format!("cast({x}, dtype=\"float32\")"), Kind::F32),
            (Kind::Bool, 0) => (format!("logical_not({x})"), Kind::Bool),
            (Kind::Bool, 1) => (format!("cast({x}, dtype=\"int32\")"), Kind::I32),
            (Kind::Bool, _) => (format!("cast({x}, dtype=\"float32\")"), Kind::F32),
            (Kind::Typed(_), _) => return None,
        };
        self.bind(text, shape, kind);
        Some(())
    }

    fn reduction(&mut self) -> Option<()> {
        let (x, shape) = self.float(|shape| !shape.is_empty())?;
        let mut axes: Vec<usize> = (0..shape.len()).filter(|_| self.random.bool()).collect();
        if axes.is_empty() {
            axes.push(self.random.usize(..shape.len()));
        }
        let keep = self.random.bool();
        let kept = |axis: usize| if axes.contains(&axis) { keep.then_some(1) } else { Some(shape[axis]) };
        let out: Vec<usize> = (0..shape.len()).filter_map(kept).collect();
        let keepdims = if keep { ", keepdims=True" } else { "" };
        let axis = list(&axes);
        match self.random.u8(..6) {
            0 | 1 => self.bind(format!("sum({x}, axis={axis}{keepdims})"), out, Kind::F32),
            2 => self.bind(format!("mean({x}, axis={axis}{keepdims})"), out, Kind::F32),
            3 => self.bind(format!("max({x}, axis={axis}{keepdims})"), out, Kind::F32),
            4 => self.bind(format!("min({x}, axis={axis}{keepdims})"), out, Kind::F32),
            _ => self.bind(format!("argmax({x}, axis={axis}{keepdims})"), out, Kind::I32),
        }
        Some(())
    }

    fn normalisation(&mut self) -> Option<()> {
        let (x, shape) = self.float(|shape| !shape.is_empty())?;
        let axis = self.random.usize(..shape.len());
        match self.random.u8(..5) {
            0 | 1 => self.bind(format!("nn.softmax({x}, axis={axis})"), shape, Kind::F32),
            2 => self.bind(format!("nn.log_softmax({x}, axis={axis})"), shape, Kind::F32),
            3 => {
                let (gamma, beta) = (self.param(vec![shape[axis]], Kind::F32), self.param(vec![shape[axis]], Kind::F32));
                self.bind(format!("nn.layer_norm({x}, {gamma}, {beta}, axis={axis}, epsilon=0.1f)"), shape, Kind::F32);
            }
            _ => {
                let mut weight = || self.param(vec![shape[axis]], Kind::F32);
                let (gamma, beta, mean, var) = (weight(), weight(), weight(), weight());
                self.bind(
                    format!("(nn.batch_norm({x}, {gamma}, {beta}, {mean}, abs({var}), axis={axis}, epsilon=0.1f)).0"),
                    shape,
                    Kind::F32,
                );
            }
        }
        Some(())
    }

    fn dense(&mut self) -> Option<()> {
        let (x, shape) = self.float(|shape| shape.len() == 2)?;
        let units = self.dim();
        let weight = vec![units, shape[1]];
        let w = if self.random.u8(..3) == 0 { self.constant(&weight) } else { self.param(weight, Kind::F32) };
        self.bind(format!("nn.dense({x}, {w}, units={units})"), vec![shape[0], units], Kind::F32);
        Some(())
    }

    fn batch_matmul(&mut self) -> Option<()> {
        let (x, shape) = self.float(|shape| shape.len() == 3)?;
        let n = self.dim();
        let turned = self.random.bool();
        let w = self.param(if turned { vec![shape[0], n, shape[2]] } else { vec![shape[0], shape[2], n] }, Kind::F32);
        let attrs = if turned { ", transpose_b=True" } else { ", transpose_b=False" };
        self.bind(format!("nn.batch_matmul({x}, {w}{attrs})"), vec![shape[0], shape[1], n], Kind::F32);
        Some(())
    }

    /// Queries that look at keys, with or without a mask, of one or several heads.
    fn attention(&mut self) -> Option<()> {
        let (q, shape) = self.float(|shape| shape.len() == 3)?;
        let (keys, width) = (self.dim(), 1 + self.random.usize(..16));
        let (k, v) = (self.param(vec![shape[0], keys, shape[2]], Kind::F32), self.param(vec![shape[0], keys, width], Kind::F32));
        let scores = vec![shape[0], shape[1], keys];
        (elements(&scores) <= MOST && shape[0] * shape[1] * width <= MOST).then_some(())?;
        let bound = |maker: &mut Maker, text: String, shape: Vec<usize>| {
            maker.bind(text, shape, Kind::F32);
            let last = maker.values.last_mut().expect("it was just bound");
            last.used = true;
            last.name.clone()
        };
        let mut text = bound(self, format!("nn.batch_matmul({q}, {k}, transpose_b=True)"), scores.clone());
        let scale = (shape[2] as f32).sqrt();
        text = match self.random.u8(..3) {
            0 => format!("divide({text}, {scale}f)"),
            1 => format!("multiply({text}, {}f)", 1.0 / scale),
            _ => text,
        };
        text = match self.random.u8(..3) {
            0 => format!("add({text}, {})", self.param(vec![1, shape[1], keys], Kind::F32)),
            1 => {
                let mask = self.param(vec![shape[0], 1, keys], Kind::Bool);
                format!(
                    "where(broadcast_to({mask}, shape={}), {text}, full(-10000f, shape={}, dtype=\"float32\"))",
                    list(&scores),
                    list(&scores)
                )
            }
            _ => text,
        };
        let weights = bound(self, format!("nn.softmax({text})"), scores);
        let out = vec![shape[0], shape[1], width];
        self.bind(format!("nn.batch_matmul({weights}, {v}, transpose_b=False)"), out, Kind::F32);
        Some(())
    }

    fn conv2d(&mut self) -> Option<()> {
        let (x, shape) = self.float(|shape| shape.len() == 4)?;
        let channels = shape[1];
        let divisors: Vec<usize> = (1..=channels).filter(|n| channels.is_multiple_of(*n)).collect();
        let groups = if self.random.bool() { 1 } else { divisors[self.random.usize(..divisors.len())] };
        let each = if groups == channels && groups > 1 { 1 + self.random.usize(..2) } else { 1 + self.dim() / groups };
        let kernel = [1 + self.random.usize(..4), [1, 3, 3, 5][self.random.usize(..4)]];
        let dilation = [1 + usize::from(self.random.u8(..4) == 0), 1 + usize::from(self.random.u8(..5) == 0)];
        let strides = [1 + self.random.usize(..2), 1 + self.random.usize(..3).min(1)];
        let padding: Vec<usize> = (0..4).map(|_| self.random.usize(..3)).collect();
        let out = |axis: usize| {
            let reach = dilation[axis] * (kernel[axis] - 1) + 1;
            let extent = shape[2 + axis] + padding[axis] + padding[2 + axis];
            (extent >= reach).then(|| (extent - reach) / strides[axis] + 1)
        };
        let shape = vec![shape[0], groups * each, out(0)?, out(1)?];
        (elements(&shape) <= MOST).then_some(())?;
        let w = self.param(vec![groups * each, channels / groups, kernel[0], kernel[1]], Kind::F32);
        let text = format!(
            "nn.conv2d({x}, {w}, strides={}, padding={}, dilation={}, groups={groups}, channels={}, kernel_size={})",
            list(&strides),
            list(&padding),
            list(&dilation),
            groups * each,
            list(&kernel)
        );
        let channels = shape[1];
        self.bind(text, shape.clone(), Kind::F32);
        if self.random.u8(..3) == 0 {
            let bias = self.param(vec![channels], Kind::F32);
            let last = self.values.iter_mut().rev().find(|value| value.shape == shape).expect("it was bound");
            last.used = true;
            let text = format!("nn.bias_add({}, {bias})", last.name);
            self.bind(text, shape, Kind::F32);
        }
        Some(())
    }

    fn pool(&mut self) -> Option<()> {
        let (x, shape) = self.float(|shape| shape.len() == 4)?;
        if self.random.u8(..5) == 0 {
            self.bind(format!("nn.global_avg_pool2d({x})"), vec![shape[0], shape[1], 1, 1], Kind::F32);
            return Some(());
        }
        let kernel = [1 + self.random.usize(..3), 1 + self.random.usize(..3)];
        let strides = [1 + self.random.usize(..3), 1 + self.random.usize(..2)];
        let padding: Vec<usize> = (0..4).map(|at| self.random.usize(..kernel[at % 2])).collect();
        let ceil = self.random.u8(..4) == 0;
        let out = |axis: usize| {
            let extent = (shape[2 + axis] + padding[axis] + padding[2 + axis]).checked_sub(kernel[axis])?;
            Some(if ceil { extent.div_ceil(strides[axis]) } else { extent / strides[axis] } + 1)
        };
        let (height, width) = (out(0)?, out(1)?);
        let attrs = format!("pool_size={}, strides={}, padding={}", list(&kernel), list(&strides), list(&padding));
        let ceil = if ceil { ", ceil_mode=True" } else { "" };
        let text = match self.random.u8(..3) {
            0 => format!("nn.avg_pool2d({x}, {attrs}{ceil})"),
            1 => format!("nn.avg_pool2d({x}, {attrs}{ceil}, count_include_pad=True)"),
            _ => format!("clip(nn.max_pool2d({x}, {attrs}{ceil}), a_min=-1000f, a_max=1000f)"),
        };
        self.bind(text, vec![shape[0], shape[1], height, width], Kind::F32);
        Some(())
    }

    fn reshape(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|_| true)?;
        let n = elements(&shape);
        let mut left = n;
        let mut out = vec![];
        for _ in 0..self.random.usize(..4) {
            let divisors: Vec<usize> = (1..=left).filter(|d| left.is_multiple_of(*d)).collect();
            let dim = divisors[self.random.usize(..divisors.len())];
            out.push(dim);
            left /= dim;
        }
        out.push(left);
        self.bind(format!("reshape({x}, newshape={})", list(&out)), out, kind);
        Some(())
    }

    fn transpose(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|value| value.shape.len() > 1)?;
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        self.random.shuffle(&mut axes);
        let out = axes.iter().map(|&axis| shape[axis]).collect();
        self.bind(format!("transpose({x}, axes={})", list(&axes)), out, kind);
        Some(())
    }

    fn concatenate(&mut self) -> Option<()> {
        let (x, shape) = self.float(|shape| !shape.is_empty() && elements(shape) < MOST / 3)?;
        let axis = self.random.usize(..shape.len());
        let mut parts = vec![x];
        let mut out = shape.clone();
        for _ in 0..1 + self.random.usize(..2) {
            let fits = |other: &[usize]| {
                other.len() == shape.len() && (0..shape.len()).all(|own| own == axis || other[own] == shape[own])
            };
            if self.random.u8(..3) == 0 {
                let mut own = shape.clone();
                own[axis] = 1 + self.random.usize(..3);
                out[axis] += own[axis];
                let part = self.constant(&own);
                parts.push(part);
                continue;
            }
            let (part, extent) = match self.float(|other| fits(other) && elements(other) < MOST / 3) {
                Some((name, own)) => (name, own[axis]),
                None => return None,
            };
            out[axis] += extent;
            parts.push(part);
        }
        self.random.shuffle(&mut parts);
        self.bind(format!("concatenate(({}), axis={axis})", parts.join(", ")), out, Kind::F32);
        Some(())
    }

    fn split(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|value| value.shape.iter().any(|&dim| dim > 1))?;
        let axes: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] > 1).collect();
        let axis = axes[self.random.usize(..axes.len())];
        let at = 1 + self.random.usize(..shape[axis] - 1);
        let name = format!("%{}", self.steps.len());
        self.steps.push((name.clone(), format!("split({x}, indices_or_sections=[{at}], axis={axis})"), false));
        for (field, extent) in [at, shape[axis] - at].into_iter().enumerate() {
            let mut part = shape.clone();
            part[axis] = extent;
            self.bind(format!("{name}.{field}"), part, kind);
        }
        Some(())
    }

    fn slice(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|value| !value.shape.is_empty())?;
        let (mut begin, mut end, mut strides, mut out) = (vec![], vec![], vec![], vec![]);
        for &dim in &shape {
            let from = self.random.usize(..dim);
            let to = from + 1 + self.random.usize(..dim - from);
            let stride = 1 + self.random.usize(..2);
            begin.push(from);
            end.push(to);
            strides.push(stride);
            out.push((to - from).div_ceil(stride));
        }
        let text =
            format!("strided_slice({x}, begin={}, end={}, strides={}, axes=None)", list(&begin), list(&end), list(&strides));
        self.bind(text, out, kind);
        Some(())
    }

    fn movement(&mut self) -> Option<()> {
        let (x, shape, kind) = self.pick(|value| !value.shape.is_empty() && elements(&value.shape) < MOST / 3)?;
        let axis = self.random.usize(..shape.len());
        let mut out = shape.clone();
        let text = match self.random.u8(..5) {
            0 => {
                out.insert(axis, 1);
                format!("expand_dims({x}, axis={axis})")
            }
            1 => format!("reverse({x}, axis={axis})"),
            2 => {
                out[axis] *= 2;
                format!("repeat({x}, repeats=2, axis={axis})")
            }
            3 => {
                out.insert(axis, 2);
                format!("stack(({x}, {x}), axis={axis})")
            }
            _ if kind == Kind::F32 => {
                let widths: Vec<String> = out
                    .iter_mut()
                    .map(|dim| {
                        let (before, after) = (self.random.usize(..2), self.random.usize(..3));
                        *dim += before + after;
                        format!("[{before}, {after}]")
                    })
                    .collect();
                format!("nn.pad({x}, 0.5f, pad_width=[{}])", widths.join(", "))
            }
            _ => format!("copy({x})"),
        };
        (elements(&out) <= MOST && out.len() < 7).then_some(())?;
        self.bind(text, out, kind);
        Some(())
    }
}
