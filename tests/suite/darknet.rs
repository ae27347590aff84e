//! Tests `relayc import` of Darknet networks against Darknet's layers, written here as loops from what its sources say. Files
//! are written here in Darknet's formats.

mod recurrent;
mod reference;

use reference::{Net, Out, activate, relayc, sigmoid, softmax};
use relayc_ir::tensor::Tensor;
use std::path::Path;

// ---- Layers ----

#[test]
fn every_activation() {
    for activation in [
        "linear", "logistic", "loggy", "relu", "elu", "selu", "relie", "ramp", "tanh", "leaky", "plse", "stair", "hardtan",
        "lhtan", "relu6", "swish", "mish",
    ] {
        let mut net = Net::image(2, 5, 4);
        net.data.values.iter_mut().for_each(|x| *x = f64::from((*x * 9.0) as f32));
        let out = net.data.map(|x| activate(activation, x));
        net.push("activation", &format!("activation={activation}"), out);
        net.compare();
    }
}

#[test]
fn convolutions() {
    for (size, stride, groups, norm, more) in
        [(3, 1, 1, true, ""), (3, 2, 2, false, ""), (1, 1, 4, true, ""), (5, 2, 1, true, "flipped=1"), (4, 1, 1, false, "")]
    {
        let mut net = Net::image(4, 9, 8);
        net.conv(8, size, stride, groups, norm, "leaky", more);
        net.compare();
    }
    let mut net = Net::image(3, 4, 5);
    net.deconv(4, 4, 2, 1);
    net.local(3, 3, 1, 1);
    net.local(2, 2, 2, 0);
    net.compare();
}

#[test]
fn pools_norms_and_shapes() {
    for (size, stride) in [(2, 2), (2, 1), (3, 2), (5, 1)] {
        let mut net = Net::image(3, 7, 8);
        net.maxpool(size, stride);
        net.compare();
    }
    let mut net = Net::image(8, 6, 4);
    net.normalization(5, 0.1, 0.75, 1.0);
    net.reorg(2, false);
    net.reorg(2, true);
    let out = net.each_pixel(|pixel| {
        let length = pixel.iter().map(|x| x * x).sum::<f64>().sqrt();
        pixel.iter().map(|x| x / length).collect()
    });
    net.push("l2norm", "", out);
    net.upsample(2, 0.5);
    let x = net.input();
    let out = Out::of(x.c, 5, 6, |c, y, x_| x.values[(c * x.h + y + 3) * x.w + x_ + 1] * 2.0 - 1.0);
    net.push("crop", "crop_height=5 crop_width=6 flip=0 angle=0", out);
    let out = net.input();
    net.push("dropout", "probability=.5", out.clone());
    net.push("cost", "type=sse", out.map(|x| x));
    net.push("logistic", "", out.map(sigmoid));
    net.compare();
}

/// What Darknet saves of a batch norm that is a layer, and what AlexeyAB's does.
#[test]
fn batch_norms_of_both_formats() {
    for with_beta in [false, true] {
        let mut net = Net::image(3, 4, 4);
        net.batchnorm(with_beta);
        net.plain(4, 3, 1);
        net.batchnorm(with_beta);
        net.compare();
    }
}

#[test]
fn sums_of_layers_of_other_sizes() {
    let mut net = Net::image(3, 8, 8);
    net.plain(4, 3, 1);
    net.plain(6, 3, 2);
    net.shortcut(2, "leaky");
    net.plain(3, 1, 1);
    net.upsample(2, 1.0);
    net.shortcut(3, "linear");
    net.shortcut(5, "linear");
    net.compare();
}

#[test]
fn connected_layers() {
    for (header, transposed) in [(&[0u32, 1, 0, 0][..], false), (&[0, 2, 5, 32, 0], false), (&[0, 1001, 0, 0], true)] {
        let mut net = Net::image(3, 4, 4);
        net.plain(4, 3, 2);
        net.connected(6, true, "relu");
        net.connected(8, false, "linear");
        let out = net.input();
        let values = out.values.chunks(4).flat_map(|part| softmax(&part.iter().map(|x| x / 2.0).collect::<Vec<f64>>()));
        let out = Out { values: values.collect(), ..out.clone() };
        net.push("softmax", "groups=2 temperature=2", out);
        if transposed {
            net.transpose();
        }
        net.compare_with(header);
    }
}

impl Net {
    /// The weights of the two connected layers of `connected_layers`, inputs first.
    fn transpose(&mut self) {
        let conv = 4 * 4 + 4 * 3 * 9;
        for (start, units, inputs) in [(conv + 6, 6, 16), (conv + 6 + 96 + 18 + 8, 8, 6)] {
            let part = self.weights[start..][..units * inputs].to_vec();
            for (unit, input) in (0..units).flat_map(|unit| (0..inputs).map(move |input| (unit, input))) {
                self.weights[start + input * units + unit] = part[unit * inputs + input];
            }
        }
    }
}

#[test]
fn recurrent_layers() {
    for steps in [1, 3] {
        let mut net = Net::rows(steps, 5);
        net.rnn(6, false, false, 0);
        net.rnn(4, true, true, 1);
        net.connected(5, false, "linear");
        let out = net.input();
        let values = out.values.chunks(5).flat_map(softmax).collect();
        net.push("softmax", "", Out { values, ..out });
        net.compare();
        let mut net = Net::rows(steps, 5);
        net.lstm(6, true);
        net.compare();
        for bounded in [false, true] {
            let mut net = Net::rows(steps, 5);
            net.gru(6, bounded);
            net.compare();
        }
    }
}

/// A convolutional recurrent layer is three convolutions with a sum between; here its first step from a state.
#[test]
fn convolutional_recurrent_layers() {
    let mut net = Net::image(2, 4, 4);
    net.conv(3, 3, 1, 1, false, "tanh", "");
    let input = net.layers.pop().expect("a layer");
    let state = net.state("crnn0_state", &[1, 3, 4, 4]);
    net.layers.push(Out { values: state.clone(), c: 3, h: 4, w: 4 });
    net.conv(3, 3, 1, 1, false, "tanh", "");
    let own = net.layers.pop().expect("a layer");
    let next: Vec<f64> = (0..state.len()).map(|i| state[i] + input.values[i] + own.values[i]).collect();
    net.layers = vec![Out { values: next.clone(), ..own }];
    net.conv(2, 3, 1, 1, false, "tanh", "");
    net.cfg.truncate(net.cfg.find("\n[conv").expect("a section"));
    net.section("crnn", "output_filters=2 hidden_filters=3 activation=tanh shortcut=1");
    net.after(&[1, 3, 4, 4], &next);
    net.compare();
}

/// The first YOLO: numbers of a grid, of which the classes pass a softmax.
#[test]
fn grids_of_detections() {
    let mut net = Net::image(2, 6, 6);
    net.plain(4, 3, 2);
    net.connected(2 * 2 * (3 + 2 * 5), false, "linear");
    let x = net.input();
    let classes = x.values[..12].chunks(3).flat_map(softmax);
    let values = classes.chain(x.values[12..].iter().copied()).collect();
    net.detects(vec![Tensor::from_vec(&[5], vec![2, 2, 3, 4, 1])]);
    net.push("detection", "classes=3 coords=4 side=2 num=2 softmax=1 sqrt=1 jitter=.2", Out { values, ..x });
    net.compare();
}

// ---- Networks ----

/// `yolov2`: pixels become channels, which stand before others; a softmax over classes.
#[test]
fn yolo_of_version_2() {
    for softmaxed in [true, false] {
        let mut net = Net::image(3, 32, 32);
        net.plain(8, 3, 1);
        net.maxpool(2, 2);
        net.plain(16, 3, 1);
        net.maxpool(2, 2);
        net.plain(16, 3, 1);
        net.maxpool(2, 2);
        net.plain(24, 3, 1);
        net.plain(24, 3, 1);
        net.route(&[4], 1, 0);
        net.reorg(2, false);
        net.route(&[1, 3], 1, 0);
        net.plain(32, 3, 1);
        net.conv(3 * 9, 1, 1, 1, false, "linear", "");
        net.region(3, 4, softmaxed);
        net.compare();
    }
}

/// `yolov3-tiny`: two scales, a window of 2 with a step of 1.
#[test]
fn yolo_of_version_3() {
    let mut net = Net::image(3, 32, 64);
    for filters in [4, 8, 8] {
        net.plain(filters, 3, 1);
        net.maxpool(2, 2);
    }
    net.plain(12, 3, 1);
    net.maxpool(2, 2);
    net.plain(16, 3, 1);
    net.maxpool(2, 1);
    net.plain(24, 3, 1);
    net.plain(8, 1, 1);
    net.plain(16, 3, 1);
    net.conv(3 * 8, 1, 1, 1, false, "linear", "");
    net.yolo(&[3, 4, 5], 6, 3, 1.0);
    net.keep();
    net.route(&[4], 1, 0);
    net.plain(6, 1, 1);
    net.upsample(2, 1.0);
    net.route(&[1, 12], 1, 0);
    net.plain(16, 3, 1);
    net.conv(3 * 8, 1, 1, 1, false, "linear", "");
    net.yolo(&[0, 1, 2], 6, 3, 1.0);
    net.compare();
}

/// `yolov4`: mish, halves of channels, pools of several sizes side by side, stretched places.
#[test]
fn yolo_of_version_4() {
    let mut net = Net::image(3, 32, 32);
    net.conv(8, 3, 2, 1, true, "mish", "");
    net.route(&[1], 2, 1);
    net.conv(4, 3, 1, 1, true, "mish", "");
    net.shortcut(2, "linear");
    net.route(&[1, 4], 1, 0);
    net.maxpool(5, 1);
    net.route(&[2], 1, 0);
    net.maxpool(9, 1);
    net.route(&[1, 3, 4], 1, 0);
    net.conv(2 * 7, 1, 1, 1, false, "linear", "");
    net.yolo(&[0, 2], 3, 2, 1.2);
    net.compare();
}

/// `darknet53`, `resnet50`, `resnext50`: sums of layers, groups, a mean over the image.
#[test]
fn residual_networks() {
    let mut net = Net::image(3, 32, 32);
    net.plain(8, 7, 2);
    net.maxpool(2, 2);
    for (filters, stride) in [(8, 1), (16, 2)] {
        net.plain(filters / 2, 1, 1);
        net.conv(filters / 2, 3, stride, 2, true, "leaky", "");
        net.conv(filters, 1, 1, 1, true, "linear", "");
        net.shortcut(4, "leaky");
        net.plain(filters / 2, 1, 1);
        net.plain(filters, 3, 1);
        net.shortcut(3, "linear");
    }
    net.avgpool();
    net.conv(10, 1, 1, 1, false, "linear", "");
    let out = net.input();
    let values = softmax(&out.values);
    net.push("softmax", "groups=1", Out { values, ..out });
    net.compare();
}

/// `densenet201`: what a layer makes stands before what it got.
#[test]
fn dense_networks() {
    let mut net = Net::image(3, 16, 16);
    net.plain(8, 3, 2);
    for _ in 0..3 {
        net.plain(16, 1, 1);
        net.plain(4, 3, 1);
        net.route(&[1, 3], 1, 0);
    }
    net.maxpool(2, 2);
    net.avgpool();
    net.connected(10, false, "linear");
    net.compare();
}

/// `alexnet`: layers of layers, the middle of a larger picture.
#[test]
fn plain_networks() {
    let mut net = Net::image(3, 20, 20);
    let x = net.input();
    let out = Out::of(3, 16, 16, |c, y, x_| x.values[(c * 20 + y + 2) * 20 + x_ + 2]);
    net.push("crop", "crop_height=16 crop_width=16 noadjust=1 flip=1 shift=0.1", out);
    net.conv(8, 5, 2, 1, false, "relu", "");
    net.maxpool(3, 2);
    net.conv(12, 3, 1, 1, false, "relu", "");
    net.connected(16, false, "relu");
    let out = net.input();
    net.push("dropout", "", out);
    net.connected(10, false, "linear");
    let out = net.input();
    let values = softmax(&out.values);
    net.push("softmax", "", Out { values, ..out });
    net.push("cost", "type=sse", net.input());
    net.compare();
}

/// Without weights the program has them as inputs; the shape of the data may be another one.
#[test]
fn weights_may_be_left_out() {
    let mut net = Net::image(3, 32, 32);
    net.plain(4, 3, 2);
    net.avgpool();
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(at("net.cfg"), &net.cfg).expect("written");
    relayc(&["import", &at("net.cfg"), "--shape", "data=2,3,64,48", "-o", &at("net.relay")]);
    relayc(&["run", &at("net.relay"), "--fill", "rand:seed=1"]);
    relayc(&["import", &at("net.cfg"), "--shape", "data=?,3,64,48", "-o", &at("open.relay")]);
    relayc(&["run", &at("open.relay"), "--fill", "rand:seed=1", "--set", "data.0=3"]);
    assert!(Path::new(&at("open.relay")).exists());
}
