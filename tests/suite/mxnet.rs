//! Tests `relayc import` of MXNet networks, layer by layer against the same network in Relay. The networks are small versions
//! of those in gluon's model zoo, written here in MXNet's format.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A value: the number of its node, its name in the Relay text, its channels and the length of its square image.
#[derive(Clone, Copy)]
struct At {
    node: usize,
    value: usize,
    channels: usize,
    size: usize,
}

/// A network in both forms, and its weights.
#[derive(Default)]
struct Net {
    nodes: Vec<String>,
    inputs: Vec<usize>,
    relay: String,
    n_values: usize,
    params: String,
    weights: Vec<(String, Vec<usize>, Vec<f32>)>,
    auxiliary: Vec<String>,
    seed: u32,
}

impl Net {
    /// A network on images of three channels.
    fn new(size: usize) -> (Net, At) {
        let mut net = Net { seed: 7, ..Net::default() };
        let node = net.input("data");
        net.params = format!("%data: Tensor[(1, 3, {size}, {size}), float32]");
        let value = net.value("copy(%data)");
        (net, At { node, value, channels: 3, size })
    }

    fn input(&mut self, name: &str) -> usize {
        self.nodes.push(format!("{{\"op\": \"null\", \"name\": \"{name}\", \"inputs\": []}}"));
        self.inputs.push(self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn value(&mut self, text: &str) -> usize {
        self.n_values += 1;
        writeln!(self.relay, "  let %v{} = {text};", self.n_values).expect("a string");
        self.n_values
    }

    /// A weight of numbers around a middle, as a node and as a parameter.
    fn weight(&mut self, name: &str, shape: &[usize], middle: f32) -> usize {
        let n: usize = shape.iter().product();
        let fan_in: usize = shape.iter().skip(1).product::<usize>().max(1);
        let width = if shape.len() > 1 { 1.5 / (fan_in as f32).sqrt() } else { 0.3 };
        let mut next = || {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            middle + width * ((self.seed >> 8) as f32 / (1u32 << 23) as f32 - 1.0)
        };
        let values: Vec<f32> = (0..n).map(|_| next()).collect();
        self.weights.push((name.to_owned(), shape.to_vec(), values));
        let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
        write!(self.params, ", %{name}: Tensor[({}), float32]", dims.join(", ")).expect("a string");
        self.input(name)
    }

    fn node(&mut self, op: &str, name: &str, attrs: &[(&str, &str)], inputs: &[usize]) -> usize {
        let attrs: Vec<String> = attrs.iter().map(|(key, value)| format!("\"{key}\": \"{value}\"")).collect();
        let inputs: Vec<String> = inputs.iter().map(|node| format!("[{node}, 0, 0]")).collect();
        self.nodes.push(format!(
            "{{\"op\": \"{op}\", \"name\": \"{name}\", \"attrs\": {{{}}}, \"inputs\": [{}]}}",
            attrs.join(", "),
            inputs.join(", ")
        ));
        self.nodes.len() - 1
    }

    // ---- Layers ----

    #[allow(clippy::too_many_arguments, reason = "a convolution has that many numbers")]
    fn conv(&mut self, x: At, name: &str, channels: usize, kernel: usize, stride: usize, groups: usize, bias: bool) -> At {
        let pad = kernel / 2;
        let weight = self.weight(&format!("{name}_weight"), &[channels, x.channels / groups, kernel, kernel], 0.0);
        let mut inputs = vec![x.node, weight];
        let mut text = format!(
            "nn.conv2d(%v{}, %{name}_weight, strides=[{stride}, {stride}], padding=[{pad}, {pad}, {pad}, {pad}], groups={groups}, \
             channels={channels}, kernel_size=[{kernel}, {kernel}])",
            x.value
        );
        if bias {
            inputs.push(self.weight(&format!("{name}_bias"), &[channels], 0.0));
            let conv = self.value(&text);
            text = format!("nn.bias_add(%v{conv}, %{name}_bias)");
        }
        let [kernel_text, stride_text, pad_text] = [kernel, stride, pad].map(|n| format!("({n}, {n})"));
        let (filters, groups) = (channels.to_string(), groups.to_string());
        let attrs = [
            ("kernel", kernel_text.as_str()),
            ("stride", &stride_text),
            ("pad", &pad_text),
            ("dilate", "(1, 1)"),
            ("num_filter", &filters),
            ("num_group", &groups),
            ("no_bias", if bias { "False" } else { "True" }),
            ("layout", "None"),
            ("workspace", "1024"),
        ];
        let node = self.node("Convolution", name, &attrs, &inputs);
        let value = self.value(&text);
        At { node, value, channels, size: (x.size + 2 * pad - kernel) / stride + 1 }
    }

    fn norm(&mut self, x: At, name: &str, fix_gamma: bool) -> At {
        let parts = [("gamma", 1.0), ("beta", 0.0), ("running_mean", 0.0), ("running_var", 1.0)];
        let parts = parts.map(|(part, middle)| {
            let weight = format!("{name}_{part}");
            if part.starts_with("running") {
                self.auxiliary.push(weight.clone());
            }
            self.weight(&weight, &[x.channels], middle)
        });
        let fix = if fix_gamma { "True" } else { "False" };
        let attrs = [("axis", "1"), ("eps", "1e-05"), ("fix_gamma", fix), ("momentum", "0.9"), ("use_global_stats", "False")];
        let inputs: Vec<usize> = std::iter::once(x.node).chain(parts).collect();
        let node = self.node("BatchNorm", name, &attrs, &inputs);
        let scale = if fix_gamma { ", scale=False" } else { "" };
        let all = self.value(&format!(
            "nn.batch_norm(%v{}, %{name}_gamma, %{name}_beta, %{name}_running_mean, %{name}_running_var, epsilon=1e-05f{scale})",
            x.value
        ));
        let value = self.value(&format!("%v{all}.0"));
        At { node, value, ..x }
    }

    fn relu(&mut self, x: At, name: &str) -> At {
        let node = self.node("Activation", name, &[("act_type", "relu")], &[x.node]);
        let value = self.value(&format!("nn.relu(%v{})", x.value));
        At { node, value, ..x }
    }

    fn relu6(&mut self, x: At, name: &str) -> At {
        let node = self.node("clip", name, &[("a_min", "0.0"), ("a_max", "6.0")], &[x.node]);
        let value = self.value(&format!("clip(%v{}, a_min=0f, a_max=6f)", x.value));
        At { node, value, ..x }
    }

    fn add(&mut self, op: &str, a: At, b: At, name: &str) -> At {
        let node = self.node(op, name, &[], &[a.node, b.node]);
        let value = self.value(&format!("add(%v{}, %v{})", a.value, b.value));
        At { node, value, ..a }
    }

    fn concat(&mut self, parts: &[At], name: &str) -> At {
        let n = parts.len().to_string();
        let nodes: Vec<usize> = parts.iter().map(|part| part.node).collect();
        let node = self.node("Concat", name, &[("dim", "1"), ("num_args", &n)], &nodes);
        let values: Vec<String> = parts.iter().map(|part| format!("%v{}", part.value)).collect();
        let value = self.value(&format!("concatenate(({}), axis=1)", values.join(", ")));
        At { node, value, channels: parts.iter().map(|part| part.channels).sum(), ..parts[0] }
    }

    fn dropout(&mut self, x: At, name: &str) -> At {
        At { node: self.node("Dropout", name, &[("p", "0.5"), ("axes", "()")], &[x.node]), ..x }
    }

    /// A pool; `full` takes what is left at the end.
    #[allow(clippy::too_many_arguments, reason = "a window has that many numbers")]
    fn pool(&mut self, x: At, name: &str, kind: &str, window: usize, stride: usize, pad: usize, full: bool) -> At {
        let [kernel, strides, pads] = [window, stride, pad].map(|n| format!("({n}, {n})"));
        let convention = if full { "full" } else { "valid" };
        let include = if kind == "avg" { "False" } else { "True" };
        let attrs = [
            ("kernel", kernel.as_str()),
            ("stride", &strides),
            ("pad", &pads),
            ("pool_type", kind),
            ("global_pool", "False"),
            ("pooling_convention", convention),
            ("count_include_pad", include),
        ];
        let node = self.node("Pooling", name, &attrs, &[x.node]);
        let ceil = if full { ", ceil_mode=True" } else { "" };
        let value = self.value(&format!(
            "nn.{kind}_pool2d(%v{}, pool_size=[{window}, {window}], strides=[{stride}, {stride}], padding=[{pad}, {pad}, {pad}, {pad}]{ceil})",
            x.value
        ));
        let rest = x.size + 2 * pad - window;
        At { node, value, size: if full { rest.div_ceil(stride) } else { rest / stride } + 1, ..x }
    }

    fn global_pool(&mut self, x: At, name: &str) -> At {
        let attrs = [("kernel", "(1, 1)"), ("pool_type", "avg"), ("global_pool", "True"), ("pooling_convention", "full")];
        let node = self.node("Pooling", name, &attrs, &[x.node]);
        let value = self.value(&format!("nn.global_avg_pool2d(%v{})", x.value));
        At { node, value, size: 1, ..x }
    }

    fn flatten(&mut self, x: At, name: &str) -> At {
        let node = self.node("Flatten", name, &[], &[x.node]);
        let value = self.value(&format!("nn.batch_flatten(%v{})", x.value));
        At { node, value, channels: x.channels * x.size * x.size, size: 0 }
    }

    fn dense(&mut self, x: At, name: &str, units: usize) -> At {
        let flat = if x.size == 0 { x.value } else { self.value(&format!("nn.batch_flatten(%v{})", x.value)) };
        let n_inputs = if x.size == 0 { x.channels } else { x.channels * x.size * x.size };
        let weight = self.weight(&format!("{name}_weight"), &[units, n_inputs], 0.0);
        let bias = self.weight(&format!("{name}_bias"), &[units], 0.0);
        let n = units.to_string();
        let attrs = [("num_hidden", n.as_str()), ("no_bias", "False"), ("flatten", "True")];
        let node = self.node("FullyConnected", name, &attrs, &[x.node, weight, bias]);
        let product = self.value(&format!("nn.dense(%v{flat}, %{name}_weight, units={units})"));
        let value = self.value(&format!("nn.bias_add(%v{product}, %{name}_bias, axis=-1)"));
        At { node, value, channels: units, size: 0 }
    }

    // ---- Files ----

    fn symbol(&self, head: At) -> String {
        let rows: Vec<String> = (0..=self.nodes.len()).map(|row| row.to_string()).collect();
        format!(
            "{{\n  \"nodes\": [\n    {}\n  ], \n  \"arg_nodes\": {:?}, \n  \"node_row_ptr\": [{}], \n  \"heads\": [[{}, 0, 0]], \n  \
             \"attrs\": {{\"mxnet_version\": [\"int\", 10700]}}\n}}",
            self.nodes.join(", \n    "),
            self.inputs,
            rows.join(", "),
            head.node
        )
    }

    /// As `nd.save` of version 1 writes it: a list of arrays of version 2, then their names.
    fn params(&self) -> Vec<u8> {
        let n = (self.weights.len() as u64).to_le_bytes();
        let mut out = [0x112u64.to_le_bytes(), [0; 8], n].concat();
        for (_, shape, values) in &self.weights {
            out.extend(0xf993_fac9u32.to_le_bytes());
            out.extend([0, shape.len() as u32].map(u32::to_le_bytes).concat());
            shape.iter().for_each(|&dim| out.extend((dim as i64).to_le_bytes()));
            out.extend([1i32, 0, 0].map(i32::to_le_bytes).concat());
            values.iter().for_each(|value| out.extend(value.to_le_bytes()));
        }
        out.extend(n);
        for (name, ..) in &self.weights {
            let kind = if self.auxiliary.contains(name) { "aux" } else { "arg" };
            let name = format!("{kind}:{name}");
            out.extend((name.len() as u64).to_le_bytes());
            out.extend(name.as_bytes());
        }
        out
    }

    /// Both networks on one picture.
    fn compare(self, head: At) {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        std::fs::write(at("net-symbol.json"), self.symbol(head)).expect("written");
        std::fs::write(at("net-0000.params"), self.params()).expect("written");
        let text = format!("#[version = \"0.0.5\"]\ndef @main({}) {{\n{}  %v{}\n}}\n", self.params, self.relay, head.value);
        std::fs::write(at("own.relay"), text).expect("written");
        let [symbol, params, own, net, made] =
            ["net-symbol.json", "net-0000.params", "own.relay", "net.relay", "net.params"].map(at);
        let size = self.params.split_once("3, ").and_then(|(_, rest)| rest.split_once(',')).expect("a size").0.to_owned();
        let shape = format!("data=1,3,{size},{size}");
        relayc(&["import", &symbol, "--weights", &params, "--shape", &shape, "-o", &net, "--params", &made]);
        let expected = at("expected.npz");
        let engines: &[&str] = if cfg!(feature = "jit") { &["interp", "jit"] } else { &["interp"] };
        for engine in engines {
            let input = ["-i", "data=rand:seed=3", "--engine", engine];
            // The weights of MXNet are weights of Relay too.
            relayc(&[&["run", &own, "--params", &params, "--outputs", &expected], &input[..]].concat());
            let expect = format!("out=@{expected}:out");
            relayc(
                &[&["run", &net, "--params", &made, "--expect", &expect, "--rtol", "1e-5", "--atol", "1e-6"], &input[..]]
                    .concat(),
            );
        }
        // With the weights in the text.
        let whole = at("whole.relay");
        relayc(&["import", &symbol, "--weights", &params, "--shape", &shape, "-o", &whole]);
        let expect = format!("out=@{expected}:out");
        relayc(&["run", &whole, "--expect", &expect, "--rtol", "1e-4", "--atol", "1e-5", "-i", "data=rand:seed=3"]);
        assert!(Path::new(&made).exists());
    }
}

fn relayc(args: &[&str]) {
    let out = Command::new(env!("CARGO_BIN_EXE_relayc")).args(args).output().expect("relayc runs");
    assert!(out.status.success(), "relayc {}\n{}", args.join(" "), String::from_utf8_lossy(&out.stderr));
}

/// `resnet18_v1`: convolution, norm, activation; the sum, then the activation.
#[test]
fn residual_networks_of_version_1() {
    let (mut net, data) = Net::new(16);
    let conv = net.conv(data, "conv0", 8, 7, 2, 1, false);
    let norm = net.norm(conv, "batchnorm0", false);
    let relu = net.relu(norm, "relu0");
    let mut body = net.pool(relu, "pool0", "max", 3, 2, 1, false);
    for (stage, channels, stride) in [(1, 8, 1), (2, 16, 2)] {
        let name = |layer: &str| format!("stage{stage}_{layer}");
        let a = net.conv(body, &name("conv0"), channels, 3, stride, 1, false);
        let a = net.norm(a, &name("batchnorm0"), false);
        let a = net.relu(a, &name("relu0"));
        let a = net.conv(a, &name("conv1"), channels, 3, 1, 1, false);
        let a = net.norm(a, &name("batchnorm1"), false);
        let shortcut = if stride == 1 {
            body
        } else {
            let down = net.conv(body, &name("conv2"), channels, 1, stride, 1, false);
            net.norm(down, &name("batchnorm2"), false)
        };
        let sum = net.add("elemwise_add", shortcut, a, &name("plus0"));
        body = net.relu(sum, &name("activation0"));
    }
    let pool = net.global_pool(body, "pool1");
    let out = net.dense(pool, "dense0", 10);
    net.compare(out);
}

/// `resnet18_v2`: the data is normalised with a gamma of 1, norms stand before convolutions.
#[test]
fn residual_networks_of_version_2() {
    let (mut net, data) = Net::new(16);
    let norm = net.norm(data, "batchnorm0", true);
    let mut body = net.conv(norm, "conv0", 8, 3, 1, 1, false);
    for (stage, channels, stride) in [(1, 8, 1), (2, 16, 2)] {
        let name = |layer: &str| format!("stage{stage}_{layer}");
        let a = net.norm(body, &name("batchnorm0"), false);
        let a = net.relu(a, &name("relu0"));
        let shortcut = if stride == 1 { body } else { net.conv(a, &name("conv2"), channels, 1, stride, 1, false) };
        let a = net.conv(a, &name("conv0"), channels, 3, stride, 1, false);
        let a = net.norm(a, &name("batchnorm1"), false);
        let a = net.relu(a, &name("relu1"));
        let a = net.conv(a, &name("conv1"), channels, 3, 1, 1, false);
        body = net.add("_Plus", a, shortcut, &name("plus0"));
    }
    let norm = net.norm(body, "batchnorm1", false);
    let relu = net.relu(norm, "relu1");
    let pool = net.global_pool(relu, "pool0");
    let flat = net.flatten(pool, "flatten0");
    let out = net.dense(flat, "dense0", 10);
    net.compare(out);
}

/// `mobilenet1.0` and `mobilenetv2_1.0`: convolutions of single channels, the second with bounds of 6 and sums.
#[test]
fn mobile_networks() {
    let (mut net, data) = Net::new(16);
    let conv = net.conv(data, "conv0", 8, 3, 2, 1, false);
    let norm = net.norm(conv, "batchnorm0", false);
    let body = net.relu(norm, "relu0");
    let depth = net.conv(body, "conv1", 8, 3, 1, 8, false);
    let norm = net.norm(depth, "batchnorm1", false);
    let body = net.relu(norm, "relu1");
    let wide = net.conv(body, "conv2", 24, 1, 1, 1, false);
    let norm = net.norm(wide, "batchnorm2", false);
    let relu = net.relu6(norm, "relu6_0");
    let depth = net.conv(relu, "conv3", 24, 3, 1, 24, false);
    let norm = net.norm(depth, "batchnorm3", false);
    let relu = net.relu6(norm, "relu6_1");
    let narrow = net.conv(relu, "conv4", 8, 1, 1, 1, false);
    let norm = net.norm(narrow, "batchnorm4", false);
    let sum = net.add("broadcast_add", norm, body, "elemwise_add0");
    let pool = net.global_pool(sum, "pool0");
    let head = net.conv(pool, "pred", 10, 1, 1, 1, false);
    let out = net.flatten(head, "flatten0");
    net.compare(out);
}

/// `densenet121`: what a layer makes stands behind what it got.
#[test]
fn dense_networks() {
    let (mut net, data) = Net::new(16);
    let mut body = net.conv(data, "conv0", 8, 3, 1, 1, false);
    for layer in 0..3 {
        let name = |part: &str| format!("layer{layer}_{part}");
        let a = net.norm(body, &name("batchnorm0"), false);
        let a = net.relu(a, &name("relu0"));
        let a = net.conv(a, &name("conv0"), 16, 1, 1, 1, false);
        let a = net.norm(a, &name("batchnorm1"), false);
        let a = net.relu(a, &name("relu1"));
        let a = net.conv(a, &name("conv1"), 4, 3, 1, 1, false);
        body = net.concat(&[body, a], &name("concat0"));
    }
    let body = net.pool(body, "pool0", "avg", 2, 2, 0, false);
    let flat = net.flatten(body, "flatten0");
    let out = net.dense(flat, "dense0", 10);
    net.compare(out);
}

/// `squeezenet1.0` and `inceptionv3`: branches side by side, windows that reach over the end, means without the margin.
#[test]
fn networks_of_branches() {
    let (mut net, data) = Net::new(15);
    let conv = net.conv(data, "conv0", 8, 3, 2, 1, true);
    let relu = net.relu(conv, "relu0");
    let pool = net.pool(relu, "pool0", "max", 3, 2, 0, true);
    let squeeze = net.conv(pool, "conv1", 4, 1, 1, 1, true);
    let squeeze = net.relu(squeeze, "relu1");
    let left = net.conv(squeeze, "conv2", 8, 1, 1, 1, true);
    let left = net.relu(left, "relu2");
    let right = net.conv(squeeze, "conv3", 8, 3, 1, 1, true);
    let right = net.relu(right, "relu3");
    let mean = net.pool(squeeze, "pool1", "avg", 3, 1, 1, false);
    let all = net.concat(&[left, right, mean], "concat0");
    let dropped = net.dropout(all, "dropout0");
    let pool = net.global_pool(dropped, "pool2");
    let out = net.flatten(pool, "flatten0");
    net.compare(out);
}

/// `vgg11` and `alexnet`: layers of layers, and a label that only training looks at.
#[test]
fn plain_networks() {
    let (mut net, data) = Net::new(16);
    let conv = net.conv(data, "conv0", 8, 3, 1, 1, true);
    let relu = net.relu(conv, "relu0");
    let pool = net.pool(relu, "pool0", "max", 2, 2, 0, false);
    let dense = net.dense(pool, "dense0", 12);
    let relu = net.relu(dense, "relu1");
    let dropped = net.dropout(relu, "dropout0");
    let dense = net.dense(dropped, "dense1", 10);
    let label = net.input("softmax_label");
    let node = net.node("SoftmaxOutput", "softmax", &[("grad_scale", "1")], &[dense.node, label]);
    let value = net.value(&format!("nn.softmax(%v{})", dense.value));
    net.compare(At { node, value, ..dense });
}
