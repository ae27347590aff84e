//! Writes calls of operators that move elements or combine them along axes.

use super::Writer;
use super::expr::{Form, Text};
use super::ty::Ty;

type Parts = (&'static str, Vec<String>, Vec<String>);

impl Writer<'_> {
    pub fn movement(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Option<Text> {
        let (name, args, attrs) = match self.choose(14) {
            0 => self.reshape(shape, dtype, depth),
            1 => self.transpose(shape, dtype, depth),
            2 | 3 if shape.len() < 4 => self.reduction(shape, dtype, depth),
            4 if shape.len() < 4 => {
                let (from, axis) = self.with_one(shape);
                let axis = self.pick(&[format!("[{axis}]"), "None".to_owned()]);
                // Without axes every dimension of 1 goes.
                let from = if axis == "None" && shape.contains(&1) { return None } else { from };
                ("squeeze", vec![self.arg(&Ty::tensor(&from, dtype), depth)], vec![format!("axis={axis}")])
            }
            5 if shape.contains(&1) => {
                let axis = shape.iter().position(|&dim| dim == 1)?;
                let mut from = shape.to_vec();
                from.remove(axis);
                (
                    "expand_dims",
                    vec![self.arg(&Ty::tensor(&from, dtype), depth)],
                    vec![format!("axis={axis}"), "num_newaxis=1".into()],
                )
            }
            6 if !shape.is_empty() => self.concatenate(shape, dtype, depth),
            7 if !shape.is_empty() && (1..=3).contains(&shape[0]) => {
                let fields = vec![Ty::tensor(&shape[1..], dtype); shape[0] as usize];
                ("stack", vec![self.arg(&Ty::Tuple(fields), depth)], vec!["axis=0".into()])
            }
            8 if !shape.is_empty() && !shape.contains(&0) => return Some(self.split(shape, dtype, depth)),
            9 if !shape.is_empty() => self.slice(shape, dtype, depth),
            10 if !shape.is_empty() => {
                let axis = self.choose(shape.len());
                ("reverse", vec![self.arg(&Ty::tensor(shape, dtype), depth)], vec![format!("axis={axis}")])
            }
            11 if !shape.is_empty() && shape[0] % 2 == 0 => {
                let mut from = shape.to_vec();
                from[0] /= 2;
                let data = self.arg(&Ty::tensor(&from, dtype), depth);
                let reps: Vec<i64> = (0..shape.len()).map(|axis| if axis == 0 { 2 } else { 1 }).collect();
                match self.choose(2) {
                    0 => ("repeat", vec![data], vec!["repeats=2".into(), "axis=0".into()]),
                    _ => ("tile", vec![data], vec![format!("reps={}", self.ints(&reps))]),
                }
            }
            12 if !shape.is_empty() && shape.iter().all(|&dim| dim > 1) => self.pad(shape, dtype, depth),
            13 if !shape.is_empty() => {
                let data = self.arg(&Ty::tensor(&shape[1..], dtype), depth);
                ("broadcast_to", vec![data], vec![format!("shape={}", self.ints(shape)), "dtype=\"\"".into()])
            }
            _ => return None,
        };
        Some(Text::new(Form::Call, self.call(name, &args, &attrs)))
    }

    fn with_one(&mut self, shape: &[i64]) -> (Vec<i64>, usize) {
        let axis = self.choose(shape.len() + 1);
        let mut from = shape.to_vec();
        from.insert(axis, 1);
        (from, axis)
    }

    fn reshape(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Parts {
        let from = match self.choose(3) {
            0 => vec![shape.iter().product()],
            1 => shape.iter().rev().copied().collect(),
            _ => [&[1], shape].concat(),
        };
        let mut to = shape.to_vec();
        if !to.is_empty() && !to.contains(&0) && self.once_in(2) {
            let at = self.choose(to.len());
            to[at] = -1;
        }
        let data = self.arg(&Ty::tensor(&from, dtype), depth);
        let mut attrs = vec![format!("newshape={}", self.ints(&to))];
        if shape.contains(&0) {
            attrs.push("allowzero=True".into());
        }
        ("reshape", vec![data], attrs)
    }

    fn transpose(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Parts {
        let rank = shape.len();
        if rank == 0 || self.once_in(2) {
            let from: Vec<i64> = shape.iter().rev().copied().collect();
            return ("transpose", vec![self.arg(&Ty::tensor(&from, dtype), depth)], vec!["axes=None".into()]);
        }
        let shift = self.choose(rank);
        let axes: Vec<i64> = (0..rank).map(|axis| ((axis + shift) % rank) as i64).collect();
        let mut from = vec![0; rank];
        axes.iter().zip(shape).for_each(|(&axis, &dim)| from[axis as usize] = dim);
        ("transpose", vec![self.arg(&Ty::tensor(&from, dtype), depth)], vec![format!("axes={}", self.ints(&axes))])
    }

    fn reduction(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Parts {
        let axis = self.choose(shape.len() + 1);
        let mut from = shape.to_vec();
        from.insert(axis, 2);
        let data = self.arg(&Ty::tensor(&from, dtype), depth);
        let name = match dtype {
            "bool" => self.pick(&["all", "any"]),
            "float32" => self.pick(&["sum", "mean", "max", "min", "prod"]),
            _ => self.pick(&["sum", "max", "min"]),
        };
        let mut attrs = vec![format!("axis=[{axis}]")];
        if self.once_in(2) {
            attrs.push(format!("keepdims={}", self.pick(&["False", "0"])));
        }
        if self.once_in(3) {
            let others: Vec<i64> = (0..=shape.len() as i64).filter(|&other| other != axis as i64).collect();
            attrs = vec![format!("axis={}", self.ints(&others)), "exclude=True".into()];
        }
        (name, vec![data], attrs)
    }

    fn concatenate(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Parts {
        let axis = self.choose(shape.len());
        let (mut first, mut second) = (shape.to_vec(), shape.to_vec());
        first[axis] = shape[axis] / 2;
        second[axis] -= first[axis];
        let fields = Ty::Tuple(vec![Ty::tensor(&first, dtype), Ty::tensor(&second, dtype)]);
        ("concatenate", vec![self.arg(&fields, depth)], vec![format!("axis={axis}")])
    }

    fn split(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Text {
        let axis = self.choose(shape.len());
        let mut from = shape.to_vec();
        let data = |writer: &mut Self, from: &[i64]| writer.arg(&Ty::tensor(from, dtype), depth);
        if shape[axis] > 0 && self.once_in(2) {
            from[axis] *= 2;
            let data = data(self, &from);
            let call = self.call("split", &[data], &["indices_or_sections=2".into(), format!("axis={axis}")]);
            return Text::new(Form::Proj, format!("({call}).{}", self.choose(2)));
        }
        from[axis] += 1;
        let data = data(self, &from);
        let at = self.ints(&[shape[axis]]);
        let call = self.call("split", &[data], &[format!("indices_or_sections={at}"), format!("axis={axis}")]);
        Text::new(Form::Proj, format!("({call}).0"))
    }

    fn slice(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Parts {
        let axis = self.choose(shape.len());
        let mut from = shape.to_vec();
        from[axis] += 2;
        let data = self.arg(&Ty::tensor(&from, dtype), depth);
        let attrs = match self.choose(2) {
            0 => {
                let (begin, end) = (self.ints(&[1]), self.ints(&[1 + shape[axis]]));
                vec![format!("begin={begin}"), format!("end={end}"), "strides=[1]".into(), format!("axes=[{axis}]")]
            }
            _ => {
                let begin: Vec<i64> = (0..shape.len()).map(|i| if i == axis { 2 } else { 0 }).collect();
                let (begin, end) = (self.ints(&begin), self.ints(&from));
                vec![
                    format!("begin={begin}"),
                    format!("end={end}"),
                    "strides=[1]".into(),
                    "axes=None".into(),
                    "slice_mode=\"end\"".into(),
                ]
            }
        };
        ("strided_slice", vec![data], attrs)
    }

    fn pad(&mut self, shape: &[i64], dtype: &'static str, depth: usize) -> Parts {
        let from: Vec<i64> = shape.iter().map(|dim| dim - 1).collect();
        let data = self.arg(&Ty::tensor(&from, dtype), depth);
        let value = self.arg(&Ty::tensor(&[], "float32"), depth.min(1));
        let widths: Vec<String> = shape
            .iter()
            .map(|_| {
                let before = self.choose(2) as i64;
                self.ints(&[before, 1 - before])
            })
            .collect();
        ("nn.pad", vec![data, value], vec![format!("pad_width=[{}]", widths.join(", ")), "pad_mode=\"constant\"".into()])
    }
}
