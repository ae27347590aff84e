//! The neighbours of points between the elements of pictures, weighed: what `RoiAlign` and `DeformConv` have in common.
//!
//! Each neighbour is a row with all channels, so that a kernel reads and writes whole vectors.

use super::building_blocks::*;

/// The rows or columns on both sides of points; all have the same shape.
pub(crate) struct Between {
    pub(crate) low: Val,
    pub(crate) high: Val,
    /// The weights of the two; 0 for a neighbour that does not count.
    pub(crate) weights: [Val; 2],
}

impl Between {
    /// With one more axis of dimension 1.
    pub(crate) fn expanded(&self, cx: &mut Cx, at: usize) -> Result<Between> {
        let mut expanded = |val: Val| cx.expand_dims(val, at, 1);
        let [low, high, of_low, of_high] = [self.low, self.high, self.weights[0], self.weights[1]].map(&mut expanded);
        Ok(Between { low: low?, high: high?, weights: [of_low?, of_high?] })
    }
}

/// Pictures as a table with a row of channels for each element.
pub(crate) struct Rows {
    table: Val,
    /// The number of rows of a picture, of a line, and of an element if it has several.
    pub(crate) of_picture: Val,
    of_line: Val,
    of_element: Option<Val>,
}

impl Rows {
    /// The table of `(batch, channels, height, width)`; an element has a row for each of `groups` groups of channels.
    pub(crate) fn of(cx: &mut Cx, x: Val, groups: i64) -> Result<Rows> {
        let channels = cx.size(x, 1)?.checked_div(groups).unwrap_or(0);
        let last = cx.transpose(x, &[0, 2, 3, 1])?;
        let table = cx.reshape(last, &[-1, channels])?;
        let number = |cx: &mut Cx, n: i64| cx.put(Tensor::scalar(n));
        let (of_picture, of_line) = match (cx.size(x, 2), cx.size(x, 3)) {
            (Ok(height), Ok(width)) => {
                let of_line = width.saturating_mul(groups);
                (number(cx, height.saturating_mul(of_line))?, number(cx, of_line)?)
            }
            _ => {
                let shape = cx.shape_of(x)?;
                let (height, mut width) = (cx.at(shape, 2, 0)?, cx.at(shape, 3, 0)?);
                if groups != 1 {
                    let groups = number(cx, groups)?;
                    width = cx.binary("multiply", width, groups)?;
                }
                (cx.binary("multiply", height, width)?, width)
            }
        };
        let of_element = if groups == 1 { None } else { Some(number(cx, groups)?) };
        Ok(Rows { table, of_picture, of_line, of_element })
    }

    /// The four neighbours of points, each times its weight, together by `op`; channels are one more axis behind those of the points.
    /// `starts` are the rows at which pictures begin; all shapes broadcast.
    pub(crate) fn weighed(&self, cx: &mut Cx, starts: Val, ys: &Between, xs: &Between, op: &str) -> Result {
        let mut whole = None;
        for (y, of_y) in [(ys.low, ys.weights[0]), (ys.high, ys.weights[1])] {
            let y = cx.binary("multiply", y, self.of_line)?;
            let line = cx.binary("add", starts, y)?;
            let of_y = behind(cx, of_y)?;
            for (mut x, of_x) in [(xs.low, xs.weights[0]), (xs.high, xs.weights[1])] {
                if let Some(of_element) = self.of_element {
                    x = cx.binary("multiply", x, of_element)?;
                }
                let at = cx.binary("add", line, x)?;
                let of_x = behind(cx, of_x)?;
                let found = cx.call("take", &[self.table, at], &[("axis", int(0)), ("mode", AttrValue::str("clip"))])?;
                let share = cx.b.formula(found, found * (of_y * of_x))?;
                whole = Some(match whole {
                    Some(whole) => cx.binary(op, whole, share)?,
                    None => share,
                });
            }
        }
        whole.ok_or_else(|| refuse("points without neighbours"))
    }
}

/// With one more axis of dimension 1 at the end.
fn behind(cx: &mut Cx, val: Val) -> Result {
    let rank = cx.rank(val)?;
    cx.expand_dims(val, rank, 1)
}

/// The last position of an axis, as a scalar.
pub(crate) fn last_position(cx: &mut Cx, x: Val, axis: usize, dtype: DType) -> Result {
    if let Ok(length) = cx.size(x, axis) {
        return cx.scalar(dtype, f64::from(u32::try_from(length.saturating_sub(1)).unwrap_or(u32::MAX)));
    }
    let shape = cx.shape_of(x)?;
    let length = cx.at(shape, i64::try_from(axis).unwrap_or(i64::MAX), 0)?;
    let length = cx.cast(length, dtype)?;
    cx.b.formula(length, length - 1.0)
}
