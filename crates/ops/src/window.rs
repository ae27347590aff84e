//! Sliding windows along an axis, for convolution and pooling, in any number of dimensions.

use super::rel::{DimOrigin, Fault, Place, RelCx, RelResult, SDim};
use relayc_base::text::count;
use relayc_ir::types::{Dim, SymbolOp, Symbols};
use std::ops::Range;

/// The spatial axes, by their number less one.
pub(crate) const SPATIAL: [&str; 3] = [W, HW, DHW];
pub(crate) const W: &str = "W";
pub(crate) const HW: &str = "HW";
pub(crate) const DHW: &str = "DHW";

/// The layouts of data with these axes.
pub(crate) const LAYOUT: [&str; 3] = ["NCW", "NCHW", "NCDHW"];

/// The documentation of `padding`, by the number of spatial axes less one.
pub(crate) const PADDING_DOC: [&str; 3] = [
    "The padding: for both sides, or (left, right).",
    "The padding: for all sides, or (height, width), or (top, left, bottom, right).",
    "The padding: for all sides, or (depth, height, width), or all values before, then all after.",
];

/// The documentation of a window's size.
pub(crate) const WINDOW_DOC: [&str; 3] =
    ["The window: width.", "The window: height, width.", "The window: depth, height, width."];

/// A window along one axis. Position `o` covers the inputs `o * stride + k * dilation - before` for `k` in `0..kernel`; inputs
/// outside the data are padding. All sums are computed in i128, where nothing overflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) kernel: i64,
    pub(crate) stride: i64,
    pub(crate) dilation: i64,
    pub(crate) before: i64,
    pub(crate) after: i64,
}

/// The inputs that one position of a window covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cover {
    /// The first input inside of the data.
    first: usize,
    /// How many there are inside, and how far apart.
    n: usize,
    step: usize,
    /// The number of the window's points in the data or its padding.
    pub(crate) padded: i64,
}

impl Cover {
    /// The only input of an axis of length 1.
    pub(crate) const ONE: Cover = Cover { first: 0, n: 1, step: 1, padded: 1 };

    /// All `n` inputs of an axis.
    pub(crate) fn all(n: usize) -> Cover {
        Cover::range(0, n)
    }

    /// The inputs from `start` to before `end`.
    pub(crate) fn range(start: usize, end: usize) -> Cover {
        Cover { first: start, n: end - start, step: 1, padded: (end - start) as i64 }
    }

    /// The inputs inside the data.
    pub(crate) fn inputs(self) -> impl ExactSizeIterator<Item = usize> {
        (0..self.n).map(move |k| self.first + k * self.step)
    }
}

impl Window {
    /// The window of an axis of length 1.
    pub(crate) const ONE: Window = Window { kernel: 1, stride: 1, dilation: 1, before: 0, after: 0 };

    /// The inputs from the first to the last it covers, `(kernel - 1) * dilation + 1`.
    fn extent(&self) -> i128 {
        (i128::from(self.kernel) - 1) * i128::from(self.dilation) + 1
    }

    fn padding(&self) -> i128 {
        i128::from(self.before) + i128::from(self.after)
    }

    /// `floor((input + padding - extent) / stride) + 1`, or its ceiling; not positive where the window does not fit.
    fn positions(&self, input: i64, ceil: bool) -> i128 {
        let room = i128::from(input) + self.padding() - self.extent();
        let stride = i128::from(self.stride);
        let room = if ceil { room + stride - 1 } else { room };
        room.div_euclid(stride) + 1
    }

    /// The number of positions, for an evaluator.
    pub(crate) fn n_positions(&self, input: usize, ceil: bool) -> usize {
        usize::try_from(self.positions(input as i64, ceil)).unwrap_or(0)
    }

    /// The positions `o` at which point `k` of the window lies inside the data.
    pub(crate) fn inside(&self, k: usize, input: usize, n_positions: usize) -> Range<usize> {
        // 0 <= o * stride - shift < input.
        let shift = i128::from(self.before) - k as i128 * i128::from(self.dilation);
        let at = |inputs: i128| ceil_div(inputs, self.stride).clamp(0, n_positions as i128) as usize;
        let (start, end) = (at(shift), at(shift + input as i128));
        start..end.max(start)
    }

    /// The input at which point `k` of position `o` lies; it must be inside the data.
    pub(crate) fn input(&self, o: usize, k: usize) -> usize {
        o * self.stride as usize + k * self.dilation as usize - self.before as usize
    }

    /// The inputs that position `o` covers.
    pub(crate) fn cover(&self, o: usize, input: usize) -> Cover {
        let start = o as i128 * i128::from(self.stride) - i128::from(self.before);
        // The points below an input: those k with start + k * dilation < end.
        let below = |end: i128| ceil_div(end - start, self.dilation).clamp(0, i128::from(self.kernel));
        let (from, to) = (below(0), below(input as i128));
        let first = if from < to { start + from * i128::from(self.dilation) } else { 0 };
        let padded = below(input as i128 + i128::from(self.after));
        Cover { first: first as usize, n: (to - from) as usize, step: self.dilation as usize, padded: padded as i64 }
    }
}

fn ceil_div(a: i128, b: i64) -> i128 {
    -(-a).div_euclid(i128::from(b))
}

/// Requires an attribute to have one value of at least 1 for each of `n` axes: `rule`.
pub(crate) fn sizes(cx: &RelCx, rule: &'static str, attr: &'static str, values: &[i64], n: usize) -> RelResult {
    cx.require(rule, values.len() == n, || Fault::attr(attr, format!("expected {}, found {}", count(n, "value"), values.len())))?;
    cx.require(rule, values.iter().all(|&value| value >= 1), || Fault::attr(attr, "expected values of at least 1"))
}

/// The padding before and after each of `n` axes. The attribute holds one value for all, one for each axis, or all values before
/// and then all values after: `rule`.
pub(crate) fn padding(cx: &RelCx, rule: &'static str, values: &[i64], n: usize) -> RelResult<Vec<(i64, i64)>> {
    let counts = if n == 1 { "1 or 2".into() } else { format!("1, {n} or {}", 2 * n) };
    let fits = values.len() == 1 || values.len() == n || values.len() == 2 * n;
    cx.require(rule, fits, || Fault::attr("padding", format!("expected {counts} values, found {}", values.len())))?;
    cx.require(rule, values.iter().all(|&value| value >= 0), || Fault::attr("padding", "expected values of at least 0"))?;
    Ok(sides(values, n))
}

/// As [`padding`], for values that have been checked.
pub(crate) fn sides(values: &[i64], n: usize) -> Vec<(i64, i64)> {
    let value = |at: usize| values[at.min(values.len() - 1)];
    let after = if values.len() == 2 * n { n } else { 0 };
    (0..n).map(|axis| (value(axis), value(axis + after))).collect()
}

/// The windows of `n` axes, from attributes that have been checked.
pub(crate) fn windows(kernel: &[i64], strides: &[i64], dilation: &[i64], padding: &[i64]) -> Vec<Window> {
    let sides = sides(padding, kernel.len());
    let window =
        |i: usize| Window { kernel: kernel[i], stride: strides[i], dilation: dilation[i], before: sides[i].0, after: sides[i].1 };
    (0..kernel.len()).map(window).collect()
}

/// The number of positions of a window along an input axis; `None` stands for a window of unknown size. At least one position is
/// required unless the axis is empty: `rule`, which is also the result's origin. `letter` names the axis.
pub(crate) fn out_dim(
    cx: &mut RelCx,
    rule: &'static str,
    letter: char,
    input: SDim,
    window: Option<Window>,
    ceil: bool,
) -> RelResult<SDim> {
    if let (Some(window), true) = (&window, input.dim.is_named()) {
        let dim = symbolic_out(&mut cx.types.symbols, input.dim, window, ceil);
        return Ok(SDim::new(dim, DimOrigin::Rule(rule)));
    }
    let (Some(size), Some(window)) = (input.value(), window) else {
        return Ok(SDim::new(Dim::Any, DimOrigin::Rule(rule)));
    };
    let out = window.positions(size, ceil);
    cx.require(rule, out >= 1 || size == 0, || {
        let (extent, padding) = (window.extent(), window.padding());
        Fault::shape(format!("a window of {extent} does not fit in {size} with a padding of {padding}"))
            .at(input.place(), "")
            .at(Place::attr("padding"), "")
            .equation(
                format!("(data.{letter} + padding - ((kernel - 1) * dilation + 1)) / stride + 1 >= 1"),
                format!("({size} + {padding} - {extent}) / {} + 1 >= 1", window.stride),
            )
    })?;
    let value = i64::try_from(out.max(0)).ok();
    cx.require(rule, value.is_some(), || {
        Fault::attr("padding", format!("the result's {letter} would be {out}"))
            .equation(format!("{letter} < 2^63"), format!("{out} < 2^63"))
    })?;
    let wide = matches!(input.dim, Dim::Known { wide: true, .. });
    Ok(SDim::new(Dim::number(value.unwrap_or(0), wide), DimOrigin::Rule(rule)))
}

/// The number of positions along an axis that is a symbol, as TVM's pools write it: `(dim + padding - extent) / stride + 1`. For
/// `?` the result is `?`.
pub(crate) fn symbolic_out(symbols: &mut Symbols, dim: Dim, window: &Window, ceil: bool) -> Dim {
    let number = |value: i128| i64::try_from(value).map_or(Dim::Any, Dim::known);
    let padded = symbols.arith(SymbolOp::Add, dim, number(window.padding()));
    let mut room = symbols.arith(SymbolOp::Sub, padded, number(window.extent()));
    if ceil {
        room = symbols.arith(SymbolOp::Add, room, Dim::known(window.stride - 1));
    }
    let steps = symbols.arith(SymbolOp::Div, room, Dim::known(window.stride));
    symbols.arith(SymbolOp::Add, steps, Dim::known(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_covers() {
        let window = Window { kernel: 3, stride: 2, dilation: 2, before: 1, after: 2 };
        // Extent 5 in 1 + 8 + 2: starts at -1, 1, 3, 5; the last covers 5, 7, 9, where 9 is padding.
        assert_eq!(window.n_positions(8, false), 4);
        assert_eq!(window.cover(0, 8), Cover { first: 1, n: 2, step: 2, padded: 3 });
        assert_eq!(window.cover(3, 8), Cover { first: 5, n: 2, step: 2, padded: 3 });
        assert_eq!(window.inside(0, 8, 4), 1..4);
        assert_eq!(window.inside(2, 8, 4), 0..3);
    }

    #[test]
    fn extreme_windows_do_not_overflow() {
        const M: i64 = i64::MAX;
        let window = Window { kernel: M, stride: M, dilation: M, before: M, after: M };
        assert!(window.positions(M, true) < 1);
        assert_eq!(window.cover(0, 1), Cover { first: 0, n: 1, step: M as usize, padded: 3 });
        assert_eq!(window.inside(1, 1, 1), 0..1);
        assert_eq!(window.n_positions(0, false), 0);
    }
}
