//! Generates quantized steps: bytes with scales and zero points. What is quantized is a parameter, so that no approximate value is
//! rounded, and all of it is the same in both engines bit for bit.

use super::draws::Draws;
use super::typed::kind;
use super::{Kind, MOST, Maker, Program, elements, list};
use relayc_ir::types::DType;

/// What a quantized tensor stands for.
struct Scaled {
    scale: String,
    zero: i32,
}

impl Program {
    /// The program of a number, of quantized steps alone.
    pub fn of_bytes(seed: u64, n_steps: usize) -> Program {
        let mut maker = Maker { random: Draws::of_seed(seed ^ 0xb17e), params: vec![], values: vec![], steps: vec![] };
        let rank = [4, 2, 3, 1][maker.random.usize(..4)];
        let dtype = maker.byte();
        let shape = maker.shape(rank);
        maker.param(shape, kind(dtype));
        Program::made(maker, n_steps, seed, |maker| maker.bytes())
    }
}

impl Maker {
    fn byte(&mut self) -> DType {
        [DType::I8, DType::U8][self.random.usize(..2)]
    }

    /// A scale and a zero point that fits a dtype.
    fn scaled(&mut self, dtype: DType) -> Scaled {
        let zero = match (self.random.u8(..4), dtype) {
            (0, _) => 0,
            (_, DType::U8) => self.random.i32(0..256),
            _ => self.random.i32(-128..128),
        };
        Scaled { scale: self.scale(), zero }
    }

    fn scale(&mut self) -> String {
        let of_two = ["0.5f", "0.0625f", "1f"][self.random.usize(..3)];
        match self.random.u8(..4) {
            0 => of_two.to_owned(),
            _ => format!("{}f", (self.random.f32() * 6.0 - 5.0).exp()),
        }
    }

    /// A scale for each channel, or one for all.
    fn scales(&mut self, channels: usize) -> String {
        match self.random.u8(..3) {
            0 => format!("add(abs({}), 0.01f)", self.param(vec![channels], Kind::F32)),
            _ => self.scale(),
        }
    }

    /// A quantized tensor: one that is there, a parameter, or one that is made of a parameter.
    fn quantized(&mut self, rank: Option<usize>) -> (String, Vec<usize>, DType) {
        let is_byte = |kind: Kind| matches!(kind, Kind::Typed(DType::I8 | DType::U8));
        let fits = |shape: &[usize]| rank.is_none_or(|rank| shape.len() == rank) && elements(shape) < MOST;
        if self.random.u8(..5) > 0
            && let Some((x, shape, Kind::Typed(dtype))) = self.pick(|value| is_byte(value.kind) && fits(&value.shape))
        {
            return (x, shape, dtype);
        }
        let dtype = self.byte();
        let rank = rank.unwrap_or_else(|| self.random.usize(1..5));
        let shape = self.shape(rank);
        if self.random.bool() {
            return (self.param(shape.clone(), kind(dtype)), shape, dtype);
        }
        let (x, to) = (self.param(shape.clone(), Kind::F32), self.scaled(dtype));
        self.bind(format!("qnn.quantize({x}, {}, {}, out_dtype=\"{dtype}\")", to.scale, to.zero), shape.clone(), kind(dtype));
        let last = self.values.last_mut().expect("it was just bound");
        last.used = true;
        (last.name.clone(), shape, dtype)
    }

    /// Adds a quantized step; whether one was possible.
    pub(super) fn bytes(&mut self) -> Option<()> {
        match self.random.u8(..12) {
            0..=2 => self.byte_dense(),
            3..=6 => self.byte_conv2d(),
            7 => self.byte_product(),
            8 | 9 => self.byte_pair(),
            10 => {
                let (x, shape, dtype) = self.quantized(None);
                let from = self.scaled(dtype);
                self.bind(format!("qnn.dequantize({x}, {}, {}, out_dtype=\"float32\")", from.scale, from.zero), shape, Kind::F32);
                Some(())
            }
            _ => {
                let (x, shape, dtype) = self.quantized(None);
                let from = self.scaled(dtype);
                self.requantized(&x, shape, &from.scale, from.zero, None);
                Some(())
            }
        }
    }

    /// Requantizes a value to bytes.
    fn requantized(&mut self, x: &str, shape: Vec<usize>, scale: &str, zero: i32, axis: Option<usize>) {
        let out = self.byte();
        let to = self.scaled(out);
        let rounding = ["UPWARD", "TONEAREST", "None"][self.random.usize(..3)];
        let compute = ["int64", "float32", "float64", "None"][self.random.usize(..4)];
        let axis = axis.map_or(String::new(), |axis| format!(", axis={axis}"));
        let text = format!(
            "qnn.requantize({x}, {scale}, {zero}, {}, {}{axis}, rounding=\"{rounding}\", compute_dtype=\"{compute}\", out_dtype=\"{out}\")",
            to.scale, to.zero
        );
        self.bind(text, shape, kind(out));
    }

    /// What follows a sum of products in int32: a bias, and bytes again.
    fn summed(&mut self, text: String, shape: Vec<usize>, channels: usize) -> Option<()> {
        (elements(&shape) <= MOST).then_some(())?;
        let axis = usize::from(shape.len() == 4).max(usize::from(shape.len() == 2));
        let text = match self.random.u8(..3) {
            0 => text,
            _ => format!("nn.bias_add({text}, {}, axis={axis})", self.param(vec![channels], Kind::I32)),
        };
        match self.random.u8(..5) {
            0 => self.bind(text, shape, Kind::I32),
            _ => {
                let scales = self.scales(channels);
                self.requantized(&text, shape, &scales, 0, Some(axis));
            }
        }
        Some(())
    }

    /// A weight with its zero point.
    fn weight(&mut self, shape: Vec<usize>) -> (String, i32) {
        let dtype = self.byte();
        let zero = self.scaled(dtype).zero;
        (self.param(shape, kind(dtype)), if self.random.bool() { 0 } else { zero })
    }

    fn byte_dense(&mut self) -> Option<()> {
        let (x, shape, dtype) = self.quantized(Some(2));
        let units = 1 + self.random.usize(..40);
        let (w, zero) = self.weight(vec![units, shape[1]]);
        let of = self.scaled(dtype).zero;
        let text = format!("qnn.dense({x}, {w}, {of}, {zero}, 0.5f, 0.25f, units={units}, out_dtype=\"int32\")");
        self.summed(text, vec![shape[0], units], units)
    }

    fn byte_product(&mut self) -> Option<()> {
        let (x, shape, dtype) = self.quantized(Some(3));
        let n = 1 + self.random.usize(..20);
        let (y, zero) = self.weight(vec![shape[0], n, shape[2]]);
        let (of, out) = (self.scaled(dtype).zero, vec![shape[0], shape[1], n]);
        (elements(&out) <= MOST).then_some(())?;
        let text = format!("qnn.batch_matmul({x}, {y}, {of}, {zero}, 1f, 1f, out_dtype=\"int32\", transpose_b=True)");
        let scale = self.scale();
        self.requantized(&text, out, &scale, 0, None);
        Some(())
    }

    fn byte_conv2d(&mut self) -> Option<()> {
        let (x, shape, dtype) = self.quantized(Some(4));
        let groups = [1, 1, shape[1]][self.random.usize(..3)];
        let channels = groups * (1 + self.random.usize(..20) / groups);
        let kernel = [1 + self.random.usize(..3), [1, 3][self.random.usize(..2)]];
        let strides = [1 + self.random.usize(..2), 1 + self.random.usize(..2)];
        let padding: Vec<usize> = (0..4).map(|_| self.random.usize(..2)).collect();
        let out = |axis: usize| {
            let extent = shape[2 + axis] + padding[axis] + padding[2 + axis];
            Some(extent.checked_sub(kernel[axis])? / strides[axis] + 1)
        };
        let out = vec![shape[0], channels, out(0)?, out(1)?];
        let (w, zero) = self.weight(vec![channels, shape[1] / groups, kernel[0], kernel[1]]);
        let of = self.scaled(dtype).zero;
        let attrs = format!(
            "strides={}, padding={}, groups={groups}, channels={channels}, kernel_size={}, out_dtype=\"int32\"",
            list(&strides),
            list(&padding),
            list(&kernel)
        );
        self.summed(format!("qnn.conv2d({x}, {w}, {of}, {zero}, 0.5f, 0.25f, {attrs})"), out, channels)
    }

    fn byte_pair(&mut self) -> Option<()> {
        let (x, shape, dtype) = self.quantized(None);
        let other = shape.iter().map(|&dim| if self.random.u8(..4) == 0 { 1 } else { dim }).collect();
        let y = self.param(other, kind(dtype));
        let name = ["qnn.add", "qnn.subtract", "qnn.mul"][self.random.usize(..3)];
        let [a, b, c] = [self.scaled(dtype), self.scaled(dtype), self.scaled(dtype)];
        let numbers = [a, b, c].map(|of| format!("{}, {}", of.scale, of.zero)).join(", ");
        self.bind(format!("{name}({x}, {y}, {numbers})"), shape, kind(dtype));
        Some(())
    }
}
