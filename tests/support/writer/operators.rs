//! Writes calls of operators with a tensor result of the wanted type: infix and elementwise.

use super::expr::{Form, Text};
use super::ty::{DTYPES, Dim, Ty};
use super::{Purpose, Writer};

const FLOAT: [&str; 18] = [
    "nn.relu", "tanh", "sigmoid", "exp", "log", "sqrt", "rsqrt", "erf", "sin", "cos", "floor", "ceil", "round", "negative",
    "abs", "copy", "sign", "trunc",
];

impl Writer<'_> {
    pub fn operator(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        let Some((shape, dtype)) = ty.known() else { return Some(self.element_wise(ty, depth)) };
        match self.choose(5) {
            0 => Some(self.element_wise(ty, depth)),
            1 => Some(self.infix(&shape, dtype, depth)),
            2 => self.movement(&shape, dtype, depth),
            3 => self.of_data(&shape, dtype, depth),
            _ => self.network_layer(&shape, dtype, depth).or_else(|| self.movement(&shape, dtype, depth)),
        }
    }

    /// One operand of the type itself.
    fn element_wise(&mut self, ty: &Ty, depth: usize) -> Text {
        let dtype = if let Ty::Tensor(_, dtype) = ty { dtype } else { "" };
        let rank = if let Ty::Tensor(dims, _) = ty { dims.len() } else { 0 };
        let is_float = matches!(dtype, "float32" | "float64" | "float16");
        let n = if is_float { 9 } else { 2 };
        let (name, attrs): (&str, Vec<String>) = match self.choose(n) {
            0 => ("copy", vec![]),
            1 if dtype == "bool" => ("logical_not", vec![]),
            1 if matches!(dtype, "int32" | "int64" | "int16" | "int8") => (self.pick(&["negative", "abs"]), vec![]),
            1 | 2 if is_float => (self.pick(&FLOAT), vec![]),
            3 => ("clip", vec!["a_min=-1f".into(), format!("a_max={}", self.pick(&["6f", "2.5f", "1e+06f", "inff", "3"]))]),
            4 => ("nn.leaky_relu", vec![format!("alpha={}", self.pick(&["0.1f", "0.25f", "1", "1e-05f"]))]),
            5 if rank > 0 => {
                let axis = self.choose(rank) as i64 - if self.once_in(2) { rank as i64 } else { 0 };
                (self.pick(&["nn.softmax", "nn.log_softmax"]), vec![format!("axis={axis}")])
            }
            6 => {
                let device = self.meta.device();
                let attrs = vec![format!("virtual_device={device}"), format!("constrain_result={}", self.flag())];
                ("on_device", attrs)
            }
            7 => {
                let object = self.meta.compiler();
                (self.pick(&["annotation.compiler_begin", "annotation.compiler_end"]), vec![object])
            }
            8 => {
                let attrs = ["compiler=\"x\"", "attrs_type_key=\"relay.attrs.CompilerAttrs\""].map(str::to_owned);
                ("annotation.compiler_begin", attrs.into())
            }
            _ => ("copy", vec![]),
        };
        let arg = self.arg(ty, depth);
        Text::new(Form::Call, self.call(name, &[arg], &attrs))
    }

    /// `a + b`, `(a < b)`, and the same by name.
    pub fn infix(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Text {
        if dtype == "bool" {
            return self.comparison(shape, depth);
        }
        let divides = self.purpose == Purpose::Read;
        let (left, right) = self.broadcast(shape);
        let (left, right) = (Ty::tensor(&left, dtype), Ty::tensor(&right, dtype));
        if self.once_in(3) {
            let name = self.pick(&["add", "subtract", "multiply", "maximum", "minimum", "left_shift", "power", "floor_mod"]);
            let is_int = dtype.contains("int");
            let fits = match name {
                "left_shift" => is_int,
                "power" => dtype.starts_with("float"),
                "floor_mod" => divides,
                _ => true,
            };
            let args = [self.arg(&left, depth), self.arg(&right, depth)];
            return Text::new(Form::Call, self.call(if fits { name } else { "add" }, &args, &[]));
        }
        let sign = self.pick(&["+", "-", "*", if divides { "/" } else { "*" }]);
        let left = self.expr(&left, depth).at(Form::Infix);
        let right = self.expr(&right, depth).at(Form::Call);
        // A name would swallow a `/`, a number a sign; two parentheses keep all apart.
        let glued = left.ends_with(')') && right.starts_with('(') && self.once_in(2);
        let blank = if glued { "" } else { " " };
        Text::new(Form::Infix, format!("{left}{blank}{sign}{blank}{right}"))
    }

    fn comparison(&mut self, shape: &[i64], depth: usize) -> Text {
        let (left, right) = self.broadcast(shape);
        if self.once_in(3) {
            let name = self.pick(&["logical_and", "logical_or", "logical_xor"]);
            let args = [self.arg(&Ty::tensor(&left, "bool"), depth), self.arg(&Ty::tensor(&right, "bool"), depth)];
            return Text::new(Form::Call, self.call(name, &args, &[]));
        }
        let dtype = self.pick(&["float32", "int32", "int64", "float16", "uint8"]);
        let sign = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
        let left = self.expr(&Ty::tensor(&left, dtype), depth).at(Form::Infix);
        let right = self.expr(&Ty::tensor(&right, dtype), depth).at(Form::Infix);
        Text::new(Form::Comparison, format!("{left} {sign} {right}"))
    }

    /// Two shapes that broadcast to one.
    fn broadcast(&mut self, shape: &[i64]) -> (Vec<i64>, Vec<i64>) {
        let mut other = shape.to_vec();
        match self.choose(4) {
            1 => other.clear(),
            2 => drop(other.drain(..self.choose(shape.len() + 1))),
            3 if !shape.is_empty() => other[self.choose(shape.len())] = 1,
            _ => {}
        }
        if self.once_in(4) { (other, shape.to_vec()) } else { (shape.to_vec(), other) }
    }

    /// Operators that read elements by their values, or make tensors of nothing.
    fn of_data(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Option<Text> {
        let ty = Ty::tensor(shape, dtype);
        let (name, args, attrs): (&str, Vec<String>, Vec<String>) = match self.choose(8) {
            0 => {
                let from = self.pick(&DTYPES);
                ("cast", vec![self.arg(&Ty::tensor(shape, from), depth)], vec![format!("dtype=\"{dtype}\"")])
            }
            1 => {
                let value = self.arg(&Ty::tensor(&[], dtype), depth);
                let shape = self.ints(shape);
                ("full", vec![value], vec![format!("shape={shape}"), format!("dtype=\"{}\"", self.pick(&[dtype, ""]))])
            }
            2 => (self.pick(&["zeros_like", "ones_like"]), vec![self.arg(&ty, depth)], vec![]),
            3 => {
                let (condition, yes) = self.broadcast(shape);
                let yes = Ty::tensor(&yes, dtype);
                let condition = self.arg(&Ty::tensor(&condition, "bool"), depth);
                ("where", vec![condition, self.arg(&yes, depth), self.arg(&ty, depth)], vec![])
            }
            4 if shape.len() == 2 && dtype != "bool" && shape[1] > 0 => {
                let indices = self.arg(&Ty::tensor(&shape[..1], "int32"), depth);
                let (on, off) = (self.arg(&Ty::tensor(&[], dtype), depth), self.arg(&Ty::tensor(&[], dtype), depth));
                let attrs = [format!("depth={}", shape[1]), "axis=-1".into(), format!("dtype=\"{dtype}\"")];
                ("one_hot", vec![indices, on, off], attrs.into())
            }
            5 if shape.len() == 2 && dtype == "float32" && shape[0] * shape[1] <= 64 => {
                let values = self.meta_constant(&[4, shape[1]], dtype);
                let indices = self.arg(&Ty::tensor(&shape[..1], "int32"), depth);
                (
                    "take",
                    vec![values, indices],
                    vec!["axis=0".into(), format!("mode=\"{}\"", self.pick(&["clip", "wrap", "fast"]))],
                )
            }
            6 if dtype == "int32" && shape.len() < 4 => {
                let mut from = shape.to_vec();
                let axis = self.choose(from.len() + 1);
                from.insert(axis, 3);
                let data = self.arg(&Ty::tensor(&from, "float32"), depth);
                let attrs = [format!("axis=[{axis}]"), format!("select_last_index={}", self.flag())];
                let name = self.pick(&["argmax", "argmin"]);
                // Dimensions of 64 bits have positions of 64 bits.
                ("cast", vec![self.call(name, &[data], &attrs)], vec!["dtype=\"int32\"".into()])
            }
            _ => return None,
        };
        Some(Text::new(Form::Call, self.call(name, &args, &attrs)))
    }

    pub fn meta_constant(&mut self, shape: &[i64], dtype: &str) -> String {
        let seed = self.choose(256) as u8;
        self.meta.constant(shape, dtype, seed)
    }
}

/// The dimensions of a shape as a type has them.
pub fn dims(shape: &[i64]) -> Vec<Dim> {
    shape.iter().map(|&dim| Dim::Known(dim)).collect()
}
