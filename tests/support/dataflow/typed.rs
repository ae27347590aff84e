//! Generates steps on values of every dtype. They begin with parameters, so that no approximate value is truncated to an
//! integer.

use super::{Kind, MOST, Maker, elements, list};
use fastrand::Rng;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

/// The kind of a dtype.
pub(super) fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::F32 => Kind::F32,
        DType::I32 => Kind::I32,
        DType::BOOL => Kind::Bool,
        _ => Kind::Typed(dtype),
    }
}

/// A value for a parameter: small numbers, and now and then the ends of the type.
pub(super) fn argument(random: &mut Rng, dtype: DType, shape: &[usize]) -> Tensor {
    if dtype.is_float() {
        return Tensor::from_fn(shape, |_| random.f32() * 4.0 - 2.0).cast(dtype).expect("a float");
    }
    let numbers = Tensor::from_fn(shape, |_| match random.u8(..12) {
        0 => i64::MIN,
        1 => i64::MAX,
        2 => random.i64(..),
        _ => random.i64(-9..10),
    });
    numbers.cast(dtype).expect("an integer")
}

impl Maker {
    /// A value of another dtype than F32, I32 and Bool, with it, and one of the same type that broadcasts to it.
    fn pair(&mut self) -> (String, String, Vec<usize>, DType) {
        let typed = |value: &super::Value| matches!(value.kind, Kind::Typed(_)) && elements(&value.shape) < MOST / 4;
        let (x, shape, dtype) = match self.pick(typed).filter(|_| self.random.u8(..4) > 0) {
            Some((x, shape, Kind::Typed(dtype))) => (x, shape, dtype),
            _ => {
                let others: Vec<DType> =
                    DType::RUNTIME.into_iter().filter(|&dtype| matches!(kind(dtype), Kind::Typed(_))).collect();
                let dtype = others[self.random.usize(..others.len())];
                let rank = self.random.usize(..4);
                let mut shape = self.shape(rank);
                while elements(&shape) > MOST / 8 {
                    shape.iter_mut().for_each(|dim| *dim = dim.div_ceil(2));
                }
                (self.param(shape.clone(), kind(dtype)), shape, dtype)
            }
        };
        let y = match self.random.u8(..3) {
            0 => x.clone(),
            _ => {
                let skip = self.random.usize(..=shape.len());
                let other = shape[skip..].iter().map(|&dim| if self.random.u8(..3) == 0 { 1 } else { dim }).collect();
                self.param(other, kind(dtype))
            }
        };
        (x, y, shape, dtype)
    }

    pub(super) fn typed(&mut self) -> Option<()> {
        let (x, y, shape, dtype) = self.pair();
        let own = kind(dtype);
        let is_int = !dtype.is_float();
        let (text, out) = match self.random.u8(..16) {
            0..=3 => {
                let to = DType::RUNTIME[self.random.usize(..DType::RUNTIME.len())];
                // What goes on among floats stays small.
                let x = if matches!(to, DType::F32 | DType::I32) { format!("clip({x}, a_min=0f, a_max=9f)") } else { x };
                (format!("cast({x}, dtype=\"{to}\")"), kind(to))
            }
            4 | 5 => {
                let name = ["add", "subtract", "multiply", "maximum", "minimum"][self.random.usize(..5)];
                (format!("{name}({x}, {y})"), own)
            }
            6 => (format!("where(less({x}, {y}), {x}, broadcast_to({y}, shape={}))", list(&shape)), own),
            7 => {
                let name = ["less", "greater_equal", "equal", "not_equal"][self.random.usize(..4)];
                (format!("{name}({x}, {y})"), Kind::Bool)
            }
            8 => (format!("negative(abs({x}))"), own),
            9 => (format!("clip({x}, a_min=-1f, a_max=5f)"), own),
            10 if is_int => {
                let name = ["divide", "mod", "floor_divide", "floor_mod"][self.random.usize(..4)];
                // Never 0: what nobody needs may trap or not. The goldens have divisions that fail.
                (format!("{name}({x}, bitwise_or({y}, cast(1, dtype=\"{dtype}\")))"), own)
            }
            11 if is_int => {
                let name = ["left_shift", "right_shift", "bitwise_and", "bitwise_xor"][self.random.usize(..4)];
                (format!("{name}({x}, {y})"), own)
            }
            12 | 13 => return self.typed_reduction(&x, &shape, dtype),
            _ if dtype == DType::F16 || dtype == DType::BF16 => return self.half_chain(&x, &shape, dtype),
            _ => return self.typed_dense(&x, &shape, dtype),
        };
        self.bind(text, shape, out);
        Some(())
    }

    fn typed_reduction(&mut self, x: &str, shape: &[usize], dtype: DType) -> Option<()> {
        let axis = self.random.usize(..shape.len().max(1));
        let mut out = shape.to_vec();
        (axis < out.len()).then(|| out.remove(axis))?;
        let names = if dtype.is_float() { ["max", "min", "max", "min"] } else { ["sum", "prod", "max", "mean"] };
        let name = names[self.random.usize(..4)];
        self.bind(format!("{name}({x}, axis=[{axis}])"), out, kind(dtype));
        Some(())
    }

    /// A sum of 16-bit floats and what may follow it in its kernel, in float32 at last.
    fn half_chain(&mut self, x: &str, shape: &[usize], dtype: DType) -> Option<()> {
        let own = kind(dtype);
        let units = 1 + self.random.usize(..40);
        let (mut text, out) = match *shape {
            [rows, width] => {
                let w = self.param(vec![units, width], own);
                (format!("nn.dense({x}, {w}, units={units})"), vec![rows, units])
            }
            [batch, rows, width] => {
                let w = self.param(vec![batch, units, width], own);
                (format!("nn.batch_matmul({x}, {w}, transpose_b=True)"), vec![batch, rows, units])
            }
            [n, channels, height, width] => {
                let side = [1, 3][self.random.usize(..2)];
                let w = self.param(vec![units, channels, side, side], own);
                let (pad, out) = (side / 2, vec![n, units, height, width]);
                (format!("nn.conv2d({x}, {w}, padding=[{pad}, {pad}], channels={units}, kernel_size=[{side}, {side}])"), out)
            }
            _ => return None,
        };
        (elements(&out) <= MOST).then_some(())?;
        for _ in 0..self.random.usize(..4) {
            text = match self.random.u8(..7) {
                0 | 1 => format!("add({text}, {})", self.param(vec![out[out.len() - 1]], own)),
                2 => format!("multiply({text}, {})", self.param(vec![1], own)),
                3 => format!("nn.relu({text})"),
                4 => format!("clip({text}, a_min=-1f, a_max=5f)"),
                5 => format!("tanh({text})"),
                _ => format!("nn.softmax({text})"),
            };
        }
        self.bind(format!("cast({text}, dtype=\"float32\")"), out, Kind::F32);
        Some(())
    }

    /// Of integers only, whose sums do not depend on the order.
    fn typed_dense(&mut self, x: &str, shape: &[usize], dtype: DType) -> Option<()> {
        let &[rows, width] = shape else { return None };
        (!dtype.is_float()).then_some(())?;
        let units = 1 + self.random.usize(..20);
        let w = self.param(vec![units, width], kind(dtype));
        let out = [dtype, DType::I64][self.random.usize(..2)];
        self.bind(format!("nn.dense({x}, {w}, units={units}, out_dtype=\"{out}\")"), vec![rows, units], kind(out));
        Some(())
    }
}
