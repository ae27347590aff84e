//! Darknet's layers, written as loops from what its sources say, and its files.

use relayc_ir::tensor::{Tensor, npy};
use std::fmt::Write;
use std::process::Command;

/// What a layer computes, for each row.
#[derive(Clone)]
pub(super) struct Out {
    pub(super) values: Vec<f64>,
    pub(super) c: usize,
    pub(super) h: usize,
    pub(super) w: usize,
}

impl Out {
    pub(super) fn at(&self, c: usize, y: isize, x: isize) -> Option<f64> {
        let inside = y >= 0 && x >= 0 && (y as usize) < self.h && (x as usize) < self.w;
        inside.then(|| self.values[(c * self.h + y as usize) * self.w + x as usize])
    }

    pub(super) fn size(&self) -> usize {
        self.c * self.h * self.w
    }

    pub(super) fn vector(values: Vec<f64>, c: usize) -> Out {
        Out { values, c, h: 1, w: 1 }
    }

    /// An image of which each pixel is computed.
    pub(super) fn of(c: usize, h: usize, w: usize, f: impl Fn(usize, usize, usize) -> f64) -> Out {
        let mut values = vec![];
        for c in 0..c {
            for y in 0..h {
                values.extend((0..w).map(|x| f(c, y, x)));
            }
        }
        Out { values, c, h, w }
    }

    pub(super) fn map(&self, f: impl Fn(f64) -> f64) -> Out {
        Out { values: self.values.iter().map(|&x| f(x)).collect(), ..*self }
    }
}

/// A network as Darknet has it.
pub(super) struct Net {
    pub(super) cfg: String,
    pub(super) weights: Vec<f32>,
    pub(super) data: Out,
    pub(super) layers: Vec<Out>,
    /// Results besides the last layer, in their order.
    pub(super) more: Vec<Tensor>,
    /// Values of inputs besides the data.
    pub(super) states: Vec<(String, Tensor)>,
    pub(super) seed: u32,
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub(super) fn activate(name: &str, x: f64) -> f64 {
    let elu = |x: f64| if x >= 0.0 { x } else { x.exp() - 1.0 };
    match name {
        "linear" => x,
        "logistic" => sigmoid(x),
        "loggy" => 2.0 * sigmoid(x) - 1.0,
        "relu" => x.max(0.0),
        "elu" => elu(x),
        "selu" => 1.0507 * if x >= 0.0 { x } else { 1.6732 * elu(x) },
        "relie" => {
            if x > 0.0 {
                x
            } else {
                0.01 * x
            }
        }
        "ramp" => x.max(0.0) + 0.1 * x,
        "tanh" => x.tanh(),
        "leaky" => {
            if x > 0.0 {
                x
            } else {
                0.1 * x
            }
        }
        "plse" if x < -4.0 => 0.01 * (x + 4.0),
        "plse" if x > 4.0 => 0.01 * (x - 4.0) + 1.0,
        "plse" => 0.125 * x + 0.5,
        "stair" if x.floor() % 2.0 == 0.0 => (x / 2.0).floor(),
        "stair" => x - x.floor() + (x / 2.0).floor(),
        "hardtan" => x.clamp(-1.0, 1.0),
        "lhtan" if x < 0.0 => 0.001 * x,
        "lhtan" if x > 1.0 => 0.001 * (x - 1.0) + 1.0,
        "lhtan" => x,
        "relu6" => x.clamp(0.0, 6.0),
        "swish" => x * sigmoid(x),
        "mish" => x * x.exp().ln_1p().tanh(),
        _ => panic!("{name}"),
    }
}

pub(super) fn softmax(values: &[f64]) -> Vec<f64> {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exp: Vec<f64> = values.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = exp.iter().sum();
    exp.into_iter().map(|x| x / sum).collect()
}

/// The numbers of a product, as the file has them.
pub(super) struct Dense {
    pub(super) bias: Vec<f64>,
    pub(super) weight: Vec<f64>,
    pub(super) norm: Option<[Vec<f64>; 3]>,
}

impl Dense {
    pub(super) fn row(&self, row: &[f64]) -> Vec<f64> {
        let products = self.weight.chunks(row.len()).map(|weights| weights.iter().zip(row).map(|(a, b)| a * b).sum::<f64>());
        products.enumerate().map(|(unit, x)| finished(x, unit, &self.bias, &self.norm)).collect()
    }
}

/// A bias, after a norm if there is one.
pub(super) fn finished(x: f64, unit: usize, bias: &[f64], norm: &Option<[Vec<f64>; 3]>) -> f64 {
    let x = norm.as_ref().map_or(x, |[scale, mean, var]| (x - mean[unit]) / (var[unit] + 1e-6).sqrt() * scale[unit]);
    x + bias[unit]
}

impl Net {
    pub(super) fn image(c: usize, h: usize, w: usize) -> Net {
        let cfg = format!("[net]\nbatch=64\nsubdivisions=8\nchannels={c}\nheight={h}\nwidth={w}\nmomentum=0.9\n");
        Net::new(cfg, Out { values: vec![], c, h, w }, 1)
    }

    pub(super) fn rows(steps: usize, inputs: usize) -> Net {
        Net::new(format!("[net]\ninputs={inputs}\ntime_steps={steps}\n"), Out::vector(vec![], inputs), steps)
    }

    pub(super) fn new(cfg: String, data: Out, rows: usize) -> Net {
        let mut net = Net { cfg, weights: vec![], data, layers: vec![], more: vec![], states: vec![], seed: 7 };
        let n = net.data.size() * rows;
        net.data.values = (0..n).map(|_| f64::from(net.next() as f32)).collect();
        net
    }

    pub(super) fn next(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.seed >> 8) / f64::from(1u32 << 23) - 1.0
    }

    /// The next numbers of the file, around a middle.
    pub(super) fn take(&mut self, n: usize, middle: f64, width: f64) -> Vec<f64> {
        let start = self.weights.len();
        for _ in 0..n {
            let value = middle + width * self.next();
            self.weights.push(value as f32);
        }
        self.weights[start..].iter().map(|&x| f64::from(x)).collect()
    }

    pub(super) fn norm(&mut self, n: usize) -> [Vec<f64>; 3] {
        [self.take(n, 1.0, 0.3), self.take(n, 0.0, 0.3), self.take(n, 1.0, 0.5)]
    }

    pub(super) fn input(&self) -> Out {
        self.layers.last().unwrap_or(&self.data).clone()
    }

    pub(super) fn section(&mut self, kind: &str, options: &str) {
        writeln!(self.cfg, "\n[{kind}]\n{}", options.replace(' ', "\n")).expect("a string");
    }

    pub(super) fn push(&mut self, kind: &str, options: &str, out: Out) {
        self.section(kind, options);
        self.layers.push(out);
    }

    // ---- Layers ----

    #[allow(clippy::too_many_arguments, reason = "a convolution has that many numbers")]
    pub(super) fn conv(
        &mut self,
        filters: usize,
        size: usize,
        stride: usize,
        groups: usize,
        norm: bool,
        activation: &str,
        more: &str,
    ) {
        let x = self.input();
        let (pad, each) = (size / 2, x.c / groups);
        let bias = self.take(filters, 0.0, 0.2);
        let norm = norm.then(|| self.norm(filters));
        let fan_in = each * size * size;
        let weight = self.take(filters * fan_in, 0.0, 1.5 / (fan_in as f64).sqrt());
        let flipped = more.contains("flipped=1");
        let length = |n: usize| (n + 2 * pad - size) / stride + 1;
        let out = Out::of(filters, length(x.h), length(x.w), |f, y, x_| {
            let mut sum = 0.0;
            for c in 0..each {
                for (ky, kx) in (0..size).flat_map(|ky| (0..size).map(move |kx| (ky, kx))) {
                    let at = |k: usize, n: usize| (n * stride + k) as isize - pad as isize;
                    let pixel = x.at(f / (filters / groups) * each + c, at(ky, y), at(kx, x_)).unwrap_or(0.0);
                    let inside = (c * size + ky) * size + kx;
                    sum += pixel * if flipped { weight[inside * filters + f] } else { weight[f * fan_in + inside] };
                }
            }
            activate(activation, finished(sum, f, &bias, &norm))
        });
        let options = format!(
            "batch_normalize={} filters={filters} size={size} stride={stride} pad=1 groups={groups} activation={activation} {more}",
            u8::from(norm.is_some())
        );
        self.push("convolutional", options.trim(), out);
    }

    pub(super) fn plain(&mut self, filters: usize, size: usize, stride: usize) {
        self.conv(filters, size, stride, 1, true, "leaky", "");
    }

    pub(super) fn maxpool(&mut self, size: usize, stride: usize) {
        let x = self.input();
        let pad = size - 1;
        let length = |n: usize| (n + pad - size) / stride + 1;
        let out = Out::of(x.c, length(x.h), length(x.w), |c, y, x_| {
            let at = |n: usize, k: usize| (n * stride + k) as isize - (pad / 2) as isize;
            let window = (0..size * size).filter_map(|k| x.at(c, at(y, k / size), at(x_, k % size)));
            window.fold(f64::NEG_INFINITY, f64::max)
        });
        self.push("maxpool", &format!("size={size} stride={stride}"), out);
    }

    pub(super) fn avgpool(&mut self) {
        let x = self.input();
        let means = x.values.chunks(x.h * x.w).map(|channel| channel.iter().sum::<f64>() / channel.len() as f64).collect();
        self.push("avgpool", "", Out::vector(means, x.c));
    }

    pub(super) fn route(&mut self, back: &[usize], groups: usize, group: usize) {
        let mut out = Out { c: 0, values: vec![], ..self.layers[self.layers.len() - back[0]] };
        for back in back {
            let from = &self.layers[self.layers.len() - back];
            let part = from.size() / groups;
            out.values.extend(&from.values[group * part..][..part]);
            out.c += from.c / groups;
        }
        let layers: Vec<String> = back.iter().map(|back| format!("-{back}")).collect();
        let groups = if groups > 1 { format!(" groups={groups} group_id={group}") } else { String::new() };
        self.push("route", &format!("layers={}{groups}", layers.join(",")), out);
    }

    pub(super) fn shortcut(&mut self, back: usize, activation: &str) {
        let (mut out, other) = (self.input(), self.layers[self.layers.len() - back].clone());
        let (stride, sample) = ((other.w / out.w).max(1), (out.w / other.w).max(1));
        for c in 0..out.c.min(other.c) {
            for y in 0..out.h.min(other.h) {
                for x in 0..out.w.min(other.w) {
                    let to = x * sample + out.w * (y * sample + out.h * c);
                    out.values[to] += other.values[x * stride + other.w * (y * stride + other.h * c)];
                }
            }
        }
        let out = out.map(|x| activate(activation, x));
        self.push("shortcut", &format!("from=-{back} activation={activation}"), out);
    }

    pub(super) fn upsample(&mut self, stride: usize, scale: f64) {
        let x = self.input();
        let out =
            Out::of(x.c, x.h * stride, x.w * stride, |c, y, x_| scale * x.values[(c * x.h + y / stride) * x.w + x_ / stride]);
        self.push("upsample", &format!("stride={stride} scale={scale}"), out);
    }

    pub(super) fn reorg(&mut self, stride: usize, reverse: bool) {
        let x = self.input();
        let mut values = vec![0.0; x.size()];
        let out_c = x.c / (stride * stride);
        for k in 0..x.c {
            for (y, x_) in (0..x.h).flat_map(|y| (0..x.w).map(move |x_| (y, x_))) {
                let inside = x_ + x.w * (y + x.h * k);
                let (channel, offset) = (k % out_c, k / out_c);
                let other =
                    (x_ * stride + offset % stride) + x.w * stride * (y * stride + offset / stride + x.h * stride * channel);
                let (to, from) = if reverse { (other, inside) } else { (inside, other) };
                values[to] = x.values[from];
            }
        }
        let out = match reverse {
            true => Out { values, c: out_c, h: x.h * stride, w: x.w * stride },
            false => Out { values, c: x.c * stride * stride, h: x.h / stride, w: x.w / stride },
        };
        self.push("reorg", &format!("stride={stride} reverse={}", u8::from(reverse)), out);
    }

    pub(super) fn dense(&mut self, inputs: usize, units: usize, norm: bool) -> Dense {
        let bias = self.take(units, 0.0, 0.2);
        let weight = self.take(units * inputs, 0.0, 1.5 / (inputs as f64).sqrt());
        Dense { bias, weight, norm: norm.then(|| self.norm(units)) }
    }

    pub(super) fn connected(&mut self, units: usize, norm: bool, activation: &str) {
        let x = self.input();
        let dense = self.dense(x.size(), units, norm);
        let values = x.values.chunks(x.size()).flat_map(|row| dense.row(row)).map(|x| activate(activation, x)).collect();
        let options = format!("output={units} batch_normalize={} activation={activation}", u8::from(norm));
        self.push("connected", &options, Out::vector(values, units));
    }

    pub(super) fn local(&mut self, filters: usize, size: usize, stride: usize, pad: usize) {
        let x = self.input();
        let length = |n: usize| (n + 2 * pad - size) / stride + 1;
        let (h, w, fan_in) = (length(x.h), length(x.w), x.c * size * size);
        let bias = self.take(filters * h * w, 0.0, 0.2);
        let weight = self.take(filters * h * w * fan_in, 0.0, 0.3);
        let out = Out::of(filters, h, w, |f, y, x_| {
            let own = &weight[((y * w + x_) * filters + f) * fan_in..][..fan_in];
            let pixel = |k: usize| {
                let at = |n: usize, k: usize| (n * stride + k) as isize - pad as isize;
                x.at(k / size / size, at(y, k / size % size), at(x_, k % size)).unwrap_or(0.0)
            };
            let sum: f64 = own.iter().enumerate().map(|(k, weight)| weight * pixel(k)).sum();
            activate("leaky", sum + bias[(f * h + y) * w + x_])
        });
        self.push("local", &format!("filters={filters} size={size} stride={stride} pad={pad} activation=leaky"), out);
    }

    pub(super) fn deconv(&mut self, filters: usize, size: usize, stride: usize, padding: usize) {
        let x = self.input();
        let bias = self.take(filters, 0.0, 0.2);
        let norm = Some(self.norm(filters));
        let weight = self.take(x.c * filters * size * size, 0.0, 0.3);
        let length = |n: usize| (n - 1) * stride + size - 2 * padding;
        let mut out = Out::of(filters, length(x.h), length(x.w), |_, _, _| 0.0);
        for (c, f) in (0..x.c).flat_map(|c| (0..filters).map(move |f| (c, f))) {
            for (y, x_) in (0..x.h).flat_map(|y| (0..x.w).map(move |x_| (y, x_))) {
                for (ky, kx) in (0..size).flat_map(|ky| (0..size).map(move |kx| (ky, kx))) {
                    let (to_y, to_x) = ((y * stride + ky).wrapping_sub(padding), (x_ * stride + kx).wrapping_sub(padding));
                    if to_y < out.h && to_x < out.w {
                        let weight = weight[((c * filters + f) * size + ky) * size + kx];
                        out.values[(f * out.h + to_y) * out.w + to_x] += weight * x.values[(c * x.h + y) * x.w + x_];
                    }
                }
            }
        }
        let plane = out.h * out.w;
        out.values =
            out.values.iter().enumerate().map(|(i, &x)| activate("relu", finished(x, i / plane, &bias, &norm))).collect();
        let options =
            format!("filters={filters} size={size} stride={stride} padding={padding} batch_normalize=1 activation=relu");
        self.push("deconvolutional", &options, out);
    }

    pub(super) fn batchnorm(&mut self, with_beta: bool) {
        let x = self.input();
        let beta = if with_beta { self.take(x.c, 0.0, 0.3) } else { vec![0.0; x.c] };
        let norm = Some(self.norm(x.c));
        let out = Out::of(x.c, x.h, x.w, |c, y, x_| finished(x.values[(c * x.h + y) * x.w + x_], c, &beta, &norm));
        self.push("batchnorm", "", out);
    }

    pub(super) fn normalization(&mut self, size: usize, alpha: f64, beta: f64, kappa: f64) {
        let x = self.input();
        let plane = x.h * x.w;
        let square = |c: usize, i: usize| x.values[c * plane + i].powi(2);
        let mut out = x.clone();
        for i in 0..plane {
            let mut norm = kappa + (0..size / 2).map(|c| alpha * square(c, i)).sum::<f64>();
            for c in 0..x.c {
                if c > 0 {
                    let (next, before) = (c + size / 2, c.checked_sub((size - 1) / 2 + 1));
                    norm -= before.map_or(0.0, |before| alpha * square(before, i));
                    norm += if next < x.c { alpha * square(next, i) } else { 0.0 };
                }
                out.values[c * plane + i] *= norm.powf(-beta);
            }
        }
        self.push("normalization", &format!("size={size} alpha={alpha} beta={beta} kappa={kappa}"), out);
    }

    pub(super) fn each_pixel(&self, f: impl Fn(&[f64]) -> Vec<f64>) -> Out {
        let x = self.input();
        let mut out = x.clone();
        let plane = x.h * x.w;
        for i in 0..plane {
            let pixel: Vec<f64> = (0..x.c).map(|c| x.values[c * plane + i]).collect();
            f(&pixel).into_iter().enumerate().for_each(|(c, value)| out.values[c * plane + i] = value);
        }
        out
    }

    /// The anchors of a layer that detects, as numbers, as a text and as a result.
    pub(super) fn anchors(&mut self, n: usize) -> (String, Tensor) {
        let values: Vec<f32> = (0..2 * n).map(|i| 1.5 + i as f32).collect();
        let text: Vec<String> = values.iter().map(f32::to_string).collect();
        (text.join(","), Tensor::from_vec(&[2 * n], values))
    }

    pub(super) fn yolo(&mut self, mask: &[i32], total: usize, classes: usize, stretch: f64) {
        let x = self.input();
        let (n, plane) = (mask.len(), x.h * x.w);
        let values = x.values.iter().enumerate().map(|(i, &x)| match i / plane % (classes + 5) {
            0 | 1 => sigmoid(x) * stretch - (stretch - 1.0) / 2.0,
            2 | 3 => x,
            _ => sigmoid(x),
        });
        let out = Out { values: values.collect(), ..x };
        let (text, anchors) = self.anchors(total);
        let numbers = [n, out.c, out.h, out.w, classes, total].map(|n| n as i32).to_vec();
        let parts = vec![Tensor::from_vec(&[n], mask.to_vec()), anchors, Tensor::from_vec(&[6], numbers)];
        let names: Vec<String> = mask.iter().map(i32::to_string).collect();
        let mask = names.join(",");
        self.detects(parts);
        self.push("yolo", &format!("mask={mask} anchors={text} num={total} classes={classes} scale_x_y={stretch}"), out);
    }

    pub(super) fn region(&mut self, n: usize, classes: usize, softmaxed: bool) {
        let x = self.input();
        let (plane, numbers) = (x.h * x.w, classes + 5);
        let mut out = x.clone();
        for b in 0..n {
            for i in 0..plane {
                let at = |k: usize| (b * numbers + k) * plane + i;
                let scores: Vec<f64> = (5..numbers).map(|k| x.values[at(k)]).collect();
                let scores = if softmaxed { softmax(&scores) } else { scores.into_iter().map(sigmoid).collect() };
                scores.into_iter().enumerate().for_each(|(k, score)| out.values[at(5 + k)] = score);
                [0, 1, 4].into_iter().for_each(|k| out.values[at(k)] = sigmoid(x.values[at(k)]));
            }
        }
        let (text, anchors) = self.anchors(n);
        let attr = [n, out.c, out.h, out.w, classes, 4, 0].map(|n| n as i32).to_vec();
        self.detects(vec![anchors, Tensor::from_vec(&[7], attr)]);
        self.push("region", &format!("anchors={text} num={n} classes={classes} coords=4 softmax={}", u8::from(softmaxed)), out);
    }

    /// Puts what a layer says of itself before the others; a layer before it is a result of its own then.
    pub(super) fn detects(&mut self, mut parts: Vec<Tensor>) {
        parts.append(&mut self.more);
        self.more = parts;
    }

    /// Makes the last layer a result of its own, since another one follows that detects.
    pub(super) fn keep(&mut self) {
        let out = self.input();
        self.more.insert(0, tensor(&out, &[1, out.c, out.h, out.w]));
    }

    // ---- Files ----

    /// Imports the network with its weights and runs it on both engines: all results are those computed here.
    pub(super) fn compare(&self) {
        self.compare_with(&[0, 2, 0, 0, 0]);
    }

    pub(super) fn compare_with(&self, header: &[u32]) {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        let [cfg, weights, net, params, data] = ["net.cfg", "net.weights", "net.relay", "net.params", "data.npy"].map(at);
        std::fs::write(&cfg, &self.cfg).expect("written");
        let header = header.iter().flat_map(|word| word.to_le_bytes());
        let numbers = self.weights.iter().flat_map(|number| number.to_le_bytes());
        std::fs::write(&weights, header.chain(numbers).collect::<Vec<u8>>()).expect("written");
        let rows = self.data.values.len() / self.data.size();
        let image = [rows, self.data.c, self.data.h, self.data.w];
        let shape = if self.cfg.contains("inputs=") { &image[..2] } else { &image[..] };
        std::fs::write(&data, npy::write(&tensor(&self.data, shape))).expect("written");
        let mut inputs = vec!["-i".to_owned(), format!("data=@{data}")];
        for (name, value) in &self.states {
            std::fs::write(at(name), npy::write(value)).expect("written");
            let file = at(&format!("{name}.npy"));
            std::fs::rename(at(name), &file).expect("renamed");
            inputs.extend(["-i".to_owned(), format!("{name}=@{file}")]);
        }
        relayc(&["import", &cfg, "--weights", &weights, "-o", &net, "--params", &params]);
        let whole = at("whole.relay");
        relayc(&["import", &cfg, "--weights", &weights, "-o", &whole]);
        // The last layer as it is there: an image or numbers.
        let out = self.input();
        let rows = out.values.len() / out.size();
        let last = folder.path().join("last.npz");
        let all = folder.path().join("all.npz");
        let flat = |name: &str, tensor: Tensor| (name.to_owned(), tensor);
        let mut expected = vec![flat(if self.more.is_empty() { "out" } else { "out.0" }, tensor(&out, &[rows, out.size()]))];
        expected.extend(self.more.iter().enumerate().map(|(i, tensor)| flat(&format!("out.{}", i + 1), tensor.clone())));
        let bytes = relayc_weights::encode(relayc_weights::npz::FORMAT, "last", &expected).expect("tensors");
        std::fs::write(&last, bytes).expect("written");
        let engines: &[&str] = if cfg!(feature = "jit") { &["interp", "jit"] } else { &["interp"] };
        for (engine, program) in engines.iter().flat_map(|engine| [(engine, &net), (engine, &whole)]) {
            let mut args = vec!["run", program, "--engine", engine, "--outputs", all.to_str().expect("UTF-8")];
            args.extend(inputs.iter().map(String::as_str));
            args.extend(if program == &net { vec!["--params", params.as_str()] } else { vec![] });
            relayc(&args);
            let found = relayc_weights::read_tensors("all", &std::fs::read(&all).expect("results")).expect("tensors");
            assert_eq!(found.len(), expected.len(), "{}", self.cfg);
            for ((name, found), (wanted_name, wanted)) in found.iter().zip(&expected) {
                assert_eq!(name, wanted_name);
                close(name, &found.to_f64s(), &wanted.to_f64s(), &self.cfg);
            }
        }
    }
}

/// A result lies within 1e-5 of the greatest magnitude.
pub(super) fn close(name: &str, found: &[f64], wanted: &[f64], cfg: &str) {
    assert_eq!(found.len(), wanted.len(), "{name} of\n{cfg}");
    let scale = wanted.iter().fold(1e-3f64, |most, x| most.max(x.abs()));
    for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() <= 1e-5 * scale, "{name}[{i}]: {found}, not {wanted}, of\n{cfg}");
    }
}

pub(super) fn tensor(out: &Out, shape: &[usize]) -> Tensor {
    Tensor::from_vec(shape, out.values.iter().map(|&x| x as f32).collect::<Vec<f32>>())
}

pub(super) fn relayc(args: &[&str]) {
    let out = Command::new(env!("CARGO_BIN_EXE_relayc")).args(args).output().expect("relayc runs");
    assert!(out.status.success(), "relayc {}\n{}", args.join(" "), String::from_utf8_lossy(&out.stderr));
}
