//! Layouts: the meaning of each axis of a tensor, written `NCHW`, `HWIO` or `NCHW4c`.
//!
//! A capital letter is an axis. A number and a small letter are an inner axis of that size, which is the lower part of the
//! capital axis's index. In `NCHW4c`, channel `c` lies at position `c / 4` of `C` and `c % 4` of `c`
//! (`src/tir/ir/data_layout.cc`).

use super::rel::{DimOrigin, Fault, RelCx, RelResult, SDim, Shape, TensorTy};
use relayc_base::text::nearest;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::Dim;

/// A parsed layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    parts: Vec<Part>,
}

/// One axis of the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    /// The capital letter.
    letter: char,
    /// The size of an inner axis.
    block: Option<i64>,
}

impl Layout {
    /// Parses a layout, or returns the error in words.
    pub fn parse(text: &str) -> Result<Layout, String> {
        let mut parts: Vec<Part> = Vec::new();
        let mut number: Option<i64> = None;
        for c in text.chars() {
            let letter = c.to_ascii_uppercase();
            match c {
                '0'..='9' => number = Some(with_digit(number, c).ok_or("a block is larger than 2147483647")?),
                'A'..='Z' if number.is_some() => return Err(format!("the number before `{c}` needs a small letter")),
                'A'..='Z' if parts.iter().any(|part| part.letter == c && part.block.is_none()) => {
                    return Err(format!("`{c}` stands twice"));
                }
                'A'..='Z' => parts.push(Part { letter, block: None }),
                'a'..='z' => match number.take() {
                    Some(block) if block > 0 => parts.push(Part { letter, block: Some(block) }),
                    _ => return Err(format!("`{c}` needs a number above 0 before it")),
                },
                _ => return Err(format!("`{}` is neither a letter nor a digit", c.escape_default())),
            }
        }
        if number.is_some() {
            return Err("a number at the end needs a small letter".into());
        }
        let layout = Layout { parts };
        for part in &layout.parts {
            if layout.axis(part.letter).is_none() {
                return Err(format!("`{}` has no `{}`", part.letter.to_ascii_lowercase(), part.letter));
            }
            layout.checked_block(part.letter).ok_or("its blocks are too large")?;
        }
        Ok(layout)
    }

    pub fn rank(&self) -> usize {
        self.parts.len()
    }

    /// The capital letters, in order.
    pub fn letters(&self) -> String {
        self.parts.iter().filter(|part| part.block.is_none()).map(|part| part.letter).collect()
    }

    /// For each axis, its capital letter, and the size if it is an inner axis.
    pub(crate) fn axes(&self) -> impl Iterator<Item = (char, Option<i64>)> {
        self.parts.iter().map(|part| (part.letter, part.block))
    }

    /// The axis of a capital letter.
    pub fn axis(&self, letter: char) -> Option<usize> {
        self.parts.iter().position(|part| part.letter == letter && part.block.is_none())
    }

    /// The product of a letter's inner axes; 1 without inner axes.
    pub fn block(&self, letter: char) -> i64 {
        self.checked_block(letter).unwrap_or(1)
    }

    /// The total size of a letter in a tensor of this shape; 1 if the layout does not have it.
    pub fn size(&self, letter: char, shape: &[i64]) -> u128 {
        let own = self.axis(letter).map_or(1, |axis| shape[axis].max(0) as u128);
        own * self.block(letter) as u128
    }

    fn checked_block(&self, letter: char) -> Option<i64> {
        let blocks = self.parts.iter().filter(|part| part.letter == letter).filter_map(|part| part.block);
        blocks.into_iter().try_fold(1i64, i64::checked_mul)
    }

    /// Returns itself if its capital letters are exactly these, in any order.
    pub(crate) fn of(self, letters: &str) -> Result<Layout, String> {
        let capitals = self.parts.iter().filter(|part| part.block.is_none()).count();
        let all = capitals == letters.len() && letters.chars().all(|letter| self.axis(letter).is_some());
        all.then_some(self).ok_or_else(|| format!("it needs the axes {letters} and no others"))
    }

    /// The axis of each of these letters, as a permutation of a tensor's axes. `None` if the layout has other letters or blocks.
    pub(crate) fn order(&self, letters: &str) -> Option<Vec<usize>> {
        let order: Vec<usize> = letters.chars().filter_map(|letter| self.axis(letter)).collect();
        (order.len() == letters.len() && order.len() == self.rank()).then_some(order)
    }

    /// Returns itself if it has these letters, possibly among others, and none of them in blocks.
    pub(crate) fn with_whole(self, letters: &str) -> Result<Layout, String> {
        let all = letters.chars().all(|letter| self.axes_of(letter).len() == 1);
        all.then_some(self).ok_or_else(|| format!("it needs the axes {letters}, and not in blocks"))
    }

    /// The axes of all parts of a letter, outermost first.
    pub fn axes_of(&self, letter: char) -> Vec<usize> {
        let inner = |part: &Part| part.letter == letter && part.block.is_some();
        let inner = self.parts.iter().enumerate().filter(|(_, part)| inner(part)).map(|(axis, _)| axis);
        self.axis(letter).into_iter().chain(inner).collect()
    }

    /// The dimensions of these letters, in their order, of a tensor in this layout. The tensor's rank and inner axes must fit the
    /// layout: `rule`.
    pub(crate) fn dims(&self, cx: &RelCx, rule: &'static str, tensor: &TensorTy, letters: &str) -> RelResult<Shape> {
        cx.require(rule, tensor.rank() == self.rank(), || Fault::rank(self.rank(), tensor))?;
        for (axis, part) in self.parts.iter().enumerate() {
            if let Some(block) = part.block {
                let found = tensor.shape[axis];
                cx.require(rule, found.compatible(Dim::known(block)), || {
                    Fault::shape(format!("expected {block} for the block of {}, found {found}", part.letter))
                        .at(tensor.axis(axis), "")
                })?;
            }
        }
        Ok(letters.chars().filter_map(|letter| Some(self.dim(tensor.dim(self.axis(letter)?), letter))).collect())
    }

    /// A letter's whole dimension from that of its outer axis. As in TVM, int64 dimensions become int32 on the way.
    fn dim(&self, outer: SDim, letter: char) -> SDim {
        let dim = match outer.value() {
            Some(value) => value.checked_mul(self.block(letter)).map_or(Dim::Any, Dim::known),
            None if self.block(letter) == 1 => outer.dim,
            None => Dim::Any,
        };
        SDim::new(dim, outer.from)
    }

    /// The shape in this layout of a tensor with these dimensions for these letters. Blocks must divide the dimensions: `rule`.
    pub(crate) fn shape(&self, cx: &RelCx, rule: &'static str, letters: &str, dims: &[SDim]) -> RelResult<Shape> {
        let mut shape = Shape::new();
        for part in &self.parts {
            let Some(dim) = letters.find(part.letter).map(|at| dims[at]) else { continue };
            let block = self.block(part.letter);
            shape.push(match (part.block, dim.value()) {
                (Some(block), _) => SDim::known(block, DimOrigin::Op),
                (None, None) if block == 1 => dim,
                (None, None) => SDim::new(Dim::Any, dim.from),
                (None, Some(value)) => {
                    cx.require(rule, value % block == 0, || {
                        Fault::shape(format!("{} = {value} is not a multiple of its block {block}", part.letter))
                            .at(dim.place(), "")
                            .equation(format!("{} % {block} == 0", part.letter), format!("{value} % {block} == 0"))
                    })?;
                    SDim::known(value / block, dim.from)
                }
            });
        }
        Ok(shape)
    }

    /// The total dimensions of these letters in a shape of this layout.
    pub fn whole(&self, letters: &str, shape: &[usize]) -> Vec<usize> {
        letters.chars().map(|letter| self.axes_of(letter).into_iter().map(|axis| shape[axis]).product()).collect()
    }

    /// The tensor with one axis for each of these letters, in their order.
    pub fn unpack(&self, letters: &str, tensor: &Tensor) -> Tensor {
        let groups: Vec<Vec<usize>> = letters.chars().map(|letter| self.axes_of(letter)).collect();
        let whole = |axes: &Vec<usize>| axes.iter().map(|&axis| tensor.shape()[axis]).product();
        let shape: Vec<usize> = groups.iter().map(whole).collect();
        let axes = groups.concat();
        let moved = if axes.is_sorted() { tensor.clone() } else { tensor.permute(&axes) };
        moved.reshape(&shape).expect("the layout has one axis for each of the tensor's")
    }

    /// The inverse of [`Layout::unpack`].
    pub fn pack(&self, letters: &str, tensor: &Tensor) -> Tensor {
        let groups: Vec<Vec<usize>> = letters.chars().map(|letter| self.axes_of(letter)).collect();
        let mut split = Vec::new();
        for (letter, (axes, &dim)) in letters.chars().zip(groups.iter().zip(tensor.shape())) {
            split.push(dim / self.block(letter) as usize);
            split.extend(axes.iter().filter_map(|&axis| self.parts[axis].block).map(|block| block as usize));
        }
        let split = tensor.reshape(&split).expect("the relation required blocks that divide");
        let from = groups.concat();
        let mut axes = vec![0; from.len()];
        for (at, axis) in from.into_iter().enumerate() {
            axes[axis] = at;
        }
        if axes.is_sorted() { split } else { split.permute(&axes) }
    }
}

/// `number` with one more decimal digit, up to the largest int32.
fn with_digit(number: Option<i64>, digit: char) -> Option<i64> {
    let value = number.unwrap_or(0) * 10 + i64::from(digit.to_digit(10)?);
    (value <= i64::from(i32::MAX)).then_some(value)
}

/// The layout that an attribute names; `check` must accept it: `rule`.
pub(crate) fn layout_attr(
    rule: &'static str,
    attr: &'static str,
    text: &str,
    check: impl FnOnce(Layout) -> Result<Layout, String>,
) -> RelResult<Layout> {
    Layout::parse(text).and_then(check).map_err(|reason| {
        let fault = Fault::attr(attr, format!("the layout {text:?} does not fit: {reason}"));
        let fault = match same_upper(text).or_else(|| nearest(text, WRITTEN)) {
            Some(near) => fault.set_attr(attr, format!("{near:?}")),
            None => fault,
        };
        Fault { rule, ..fault }.into()
    })
}

/// Layouts as they are mostly written.
const WRITTEN: [&str; 14] =
    ["NCHW", "NHWC", "OIHW", "HWIO", "NCW", "NWC", "NCDHW", "NDHWC", "OHWI", "HWOI", "IOHW", "WIO", "OIDHW", "DHWIO"];

fn same_upper(text: &str) -> Option<&'static str> {
    WRITTEN.into_iter().find(|written| written.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_read() {
        for text in ["NCHW", "NHWC", "NCHW4c", "OIHW4i16o4i", "NCHW4n4c"] {
            assert!(Layout::parse(text).is_ok(), "{text}");
        }
        for text in ["NN", "NCHWc", "4NCHW", "NCHW0c", "NCHW4", "NHW4c", "N-C", "N99999999999c", "ñ"] {
            assert!(Layout::parse(text).is_err(), "{text}");
        }
        assert_eq!(Layout::parse("OIHW4i16o4i").map(|layout| layout.block('I')), Ok(16));
    }

    #[test]
    fn blocks_unpack_and_pack() {
        let layout = Layout::parse("CN2c").expect("a layout");
        // Element (C, n, c) of the packed tensor holds channel 2 C + c of image n.
        let packed = Tensor::from_fn(&[2, 3, 2], |i| i as f32);
        let plain = layout.unpack("NC", &packed);
        assert_eq!(plain.shape(), [3, 4]);
        assert_eq!(plain.to_f64s(), [0.0, 1.0, 6.0, 7.0, 2.0, 3.0, 8.0, 9.0, 4.0, 5.0, 10.0, 11.0]);
        assert_eq!(layout.pack("NC", &plain), packed);
    }
}
