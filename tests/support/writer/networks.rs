//! Writes calls of the operators in networks, with many attributes.

use super::Writer;
use super::expr::{Form, Text};
use super::ty::Ty;

impl Writer<'_> {
    pub fn network_layer(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Option<Text> {
        if dtype != "float32" || shape.contains(&0) {
            return None;
        }
        match (shape.len(), self.choose(4)) {
            (4, 0) => Some(self.conv2d(shape, depth)),
            (4, 1) => Some(self.pool(shape, depth)),
            (4, 2) => Some(self.lrn(shape, depth)),
            (3, 0) => {
                let left = self.arg(&Ty::tensor(&[shape[0], shape[1], 4], dtype), depth);
                let right = self.arg(&Ty::tensor(&[shape[0], shape[2], 4], dtype), depth);
                Some(Text::new(Form::Call, self.call("nn.batch_matmul", &[left, right], &["transpose_b=True".into()])))
            }
            (2, 0) => Some(self.dense(shape, depth)),
            (2.., 1 | 2) => Some(self.bias_add(shape, depth)),
            (2.., _) => Some(self.normalised(shape, depth)),
            _ => None,
        }
    }

    /// A parameter whose type follows from its use, or a tensor of the type.
    fn weight(&mut self, shape: &[i64], depth: usize) -> String {
        let ty = Ty::tensor(shape, "float32");
        if self.weights.is_none() || !self.once_in(2) {
            return self.arg(&ty, depth.min(2));
        }
        let name = self.fresh_name("weight");
        self.weights.get_or_insert_default().push(name.clone());
        name
    }

    fn dense(&mut self, shape: &[i64], depth: usize) -> Text {
        let data = self.arg(&Ty::tensor(&[shape[0], 3], "float32"), depth);
        let weight = self.weight(&[shape[1], 3], depth);
        let units = shape[1];
        let attrs = vec![format!("units={units}"), format!("out_dtype=\"{}\"", self.pick(&["", "float32"]))];
        Text::new(Form::Call, self.call("nn.dense", &[data, weight], &attrs))
    }

    fn bias_add(&mut self, shape: &[i64], depth: usize) -> Text {
        let data = self.arg(&Ty::tensor(shape, "float32"), depth);
        let axis = self.choose(shape.len());
        let bias = self.weight(&[shape[axis]], depth);
        let axis = axis as i64 - if self.once_in(2) { shape.len() as i64 } else { 0 };
        Text::new(Form::Call, self.call("nn.bias_add", &[data, bias], &[format!("axis={axis}")]))
    }

    fn conv2d(&mut self, shape: &[i64], depth: usize) -> Text {
        let [n, channels, height, width] = shape else { unreachable!("the caller asked for rank 4") };
        let inputs = 2;
        let data = self.arg(&Ty::tensor(&[*n, inputs, *height, *width], "float32"), depth);
        let weight = self.weight(&[*channels, inputs, 3, 3], depth);
        let padding: &[i64] = if self.once_in(2) { &[1, 1] } else { &[1, 1, 1, 1] };
        let mut attrs = vec![
            format!("padding={}", self.ints(padding)),
            format!("channels={channels}"),
            format!("kernel_size={}", self.ints(&[3, 3])),
        ];
        let more = [
            "strides=[1, 1]",
            "dilation=[1, 1]",
            "groups=1",
            "data_layout=\"NCHW\"",
            "kernel_layout=\"OIHW\"",
            "out_layout=\"\"",
        ];
        for attr in more {
            if self.once_in(3) {
                attrs.insert(self.choose(attrs.len() + 1), attr.into());
            }
        }
        Text::new(Form::Call, self.call("nn.conv2d", &[data, weight], &attrs))
    }

    fn pool(&mut self, shape: &[i64], depth: usize) -> Text {
        let data = self.arg(&Ty::tensor(&[shape[0], shape[1], shape[2] * 2, shape[3] * 2], "float32"), depth);
        let name = self.pick(&["nn.max_pool2d", "nn.avg_pool2d"]);
        let mut attrs = vec!["pool_size=[2, 2]".to_owned(), "strides=[2, 2]".into()];
        if self.once_in(2) {
            attrs.push(format!("ceil_mode={}", self.flag()));
        }
        if name == "nn.avg_pool2d" && self.once_in(2) {
            attrs.push(format!("count_include_pad={}", self.flag()));
        }
        Text::new(Form::Call, self.call(name, &[data], &attrs))
    }

    fn lrn(&mut self, shape: &[i64], depth: usize) -> Text {
        let data = self.arg(&Ty::tensor(shape, "float32"), depth);
        let attrs = ["size=3", "axis=1", "bias=2f", "alpha=0.0001f", "beta=0.75f"].map(str::to_owned);
        let n = self.choose(6);
        Text::new(Form::Call, self.call("nn.lrn", &[data], &attrs[..n]))
    }

    /// The first of what these operators give.
    fn normalised(&mut self, shape: &[i64], depth: usize) -> Text {
        let data = self.arg(&Ty::tensor(shape, "float32"), depth);
        if self.once_in(2) {
            let call = self.call("nn.dropout", &[data], &["rate=0.5f".into()]);
            return Text::new(Form::Proj, format!("({call}).0"));
        }
        let mut args = vec![data];
        args.extend((0..4).map(|_| self.weight(&shape[1..2], depth)));
        let mut attrs = vec![format!("epsilon={}", self.pick(&["1e-05f", "0.001f", "1e-3f"]))];
        if self.once_in(2) {
            attrs.extend([format!("center={}", self.flag()), format!("scale={}", self.flag())]);
        }
        let call = self.call("nn.batch_norm", &args, &attrs);
        Text::new(Form::Proj, format!("({call}).0"))
    }
}
