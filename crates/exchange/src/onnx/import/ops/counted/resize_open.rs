//! Resizes axes of sizes that only a run knows, where no operator of Relay means the same.
//!
//! The program computes the coordinates of all new positions of an axis, a vector. The elements around each are taken and
//! weighted. Numbers are float32, as in runtimes: coordinates that differ by a rounding have other nearest elements.

use super::super::super::formula::{Formula, call, call2, select};
use super::building_blocks::*;
use super::interpolation::{How, Mode};
use relayc_ir::types::Dim;

/// An axis whose old or new size only a run knows.
pub(super) struct OpenAxis {
    pub(super) at: usize,
    /// `?` for a size that does not follow from the inputs' sizes.
    pub(super) to: Dim,
    pub(super) new: NewSize,
}

/// What says the new size.
pub(super) enum NewSize {
    /// Old elements times the scale, which is this fraction.
    Scaled { scale: f64, fraction: (i64, i64) },
    /// An integer of a vector.
    Given { sizes: Val, index: i64 },
    /// The named one.
    Named,
}

/// The numbers of an axis in the program, scalars of float32, and the positions.
struct Numbers {
    from: Val,
    to: Val,
    scale: Val,
    positions: Val,
}

impl Numbers {
    fn of(cx: &mut Cx, x: Val, axis: &OpenAxis) -> Result<Numbers> {
        let shape = cx.shape_of(x)?;
        let from = cx.at(shape, i64::try_from(axis.at).unwrap_or(i64::MAX), 0)?;
        let to = match axis.new {
            NewSize::Given { sizes, index } => cx.at(sizes, index, 0)?,
            NewSize::Named => {
                let of_size = [("shape", dims_attr(&[axis.to])), ("dtype", AttrValue::DType(Some(DType::I64)))];
                let of_size = cx.call("zeros", &[], &of_size)?;
                let shape = cx.shape_of(of_size)?;
                cx.at(shape, 0, 0)?
            }
            NewSize::Scaled { fraction: (above, below), .. } => {
                let (above, below) = (cx.like(from, above as f64)?, cx.like(from, below as f64)?);
                let parts = cx.binary("multiply", from, above)?;
                cx.binary("floor_divide", parts, below)?
            }
        };
        let (start, step) = (cx.like(to, 0.0)?, cx.like(to, 1.0)?);
        let none = [("start", AttrValue::None), ("stop", AttrValue::None), ("step", AttrValue::None)];
        let dtype = cx.dtype(to)?;
        let range = cx.call("arange", &[start, to, step], &[&none[..], &[("dtype", AttrValue::DType(Some(dtype)))]].concat())?;
        let range = if axis.to.is_sized() { cx.reshape_to_dims(range, &[axis.to])? } else { range };
        let [from, to, positions] = [cx.cast(from, DType::F32)?, cx.cast(to, DType::F32)?, cx.cast(range, DType::F32)?];
        let scale = match axis.new {
            NewSize::Given { .. } | NewSize::Named => cx.binary("divide", to, from)?,
            NewSize::Scaled { scale, .. } => cx.scalar(DType::F32, scale)?,
        };
        Ok(Numbers { from, to, scale, positions })
    }

    /// The coordinates of the new positions among the old ones.
    fn coordinates(&self, cx: &mut Cx, how: &How) -> Result {
        let Numbers { from, to, scale, positions } = *self;
        let half = || (positions + 0.5) / scale - 0.5;
        let formula: Formula = match &*how.coordinates {
            "align_corners" => positions * (from - 1.0) / call2("maximum", to - 1.0, 1.0),
            "asymmetric" => positions / scale,
            "tf_half_pixel_for_nn" => (positions + 0.5) / scale,
            "pytorch_half_pixel" => select(call2("greater", to, 1.0), half(), 0.0),
            "half_pixel_symmetric" => from * 0.5 * (1.0 - to / (scale * from)) + half(),
            "half_pixel" => half(),
            other => return Err(refuse(format!("the coordinates `{other}` of an image of unknown size"))),
        };
        cx.b.formula(positions, formula)
    }
}

/// Resizes one axis.
pub(super) fn resized_axis(cx: &mut Cx, x: Val, how: &How, axis: &OpenAxis) -> Result {
    if how.antialias {
        return Err(refuse("antialiasing of an image of unknown size"));
    }
    let numbers = Numbers::of(cx, x, axis)?;
    let coordinates = numbers.coordinates(cx, how)?;
    if how.mode == Mode::Nearest {
        let nearest = match &*how.nearest {
            "round_prefer_floor" => call("ceil", coordinates - 0.5),
            "round_prefer_ceil" => call("floor", coordinates + 0.5),
            rounding => call(if rounding == "ceil" { "ceil" } else { "floor" }, coordinates),
        };
        return taken(cx, x, axis, &numbers, nearest);
    }
    let base = cx.unary("floor", coordinates)?;
    let ratio = cx.binary("subtract", coordinates, base)?;
    let neighbours = match how.mode {
        Mode::Cubic => -1..=2,
        _ => 0..=1,
    };
    let mut weights = vec![];
    for offset in neighbours {
        // The distance of the neighbour, which is on the other side for each half.
        let distance = if offset > 0 { f64::from(offset) - ratio } else { ratio + f64::from(-offset) };
        let weight = match how.mode {
            Mode::Cubic => cubic(how.cubic_a, cx.b.formula(ratio, distance)?, (0..=1).contains(&offset)),
            _ => 1.0 - distance,
        };
        let weight = cx.b.formula(ratio, weight)?;
        let position = base + f64::from(offset);
        let weight = if how.exclude_outside {
            let position = cx.b.formula(ratio, base + f64::from(offset))?;
            let inside = call2("logical_and", call2("greater_equal", position, 0.0), call2("less", position, numbers.from));
            cx.b.formula(ratio, select(inside, weight, 0.0))?
        } else {
            weight
        };
        weights.push((weight, taken(cx, x, axis, &numbers, position)?));
    }
    let total = match how.exclude_outside {
        true => {
            let sum = weights.iter().map(|(weight, _)| Formula::Value(*weight)).reduce(|sum, weight| sum + weight);
            sum.map(|sum| cx.b.formula(ratio, sum)).transpose()?
        }
        false => None,
    };
    let n_behind = cx.rank(x)? - axis.at - 1;
    let dtype = cx.dtype(x)?;
    let mut sum: Option<Val> = None;
    for (weight, elements) in weights {
        let weight = match total {
            Some(total) => cx.binary("divide", weight, total)?,
            None => weight,
        };
        let weight = cx.cast(weight, dtype)?;
        let weight = cx.expand_dims(weight, 1, n_behind)?;
        let part = cx.binary("multiply", elements, weight)?;
        sum = Some(match sum {
            Some(sum) => cx.binary("add", sum, part)?,
            None => part,
        });
    }
    sum.ok_or_else(|| refuse("an interpolation of no elements"))
}

/// The elements at positions, those outside brought to the ends.
fn taken(cx: &mut Cx, x: Val, axis: &OpenAxis, numbers: &Numbers, positions: Formula) -> Result {
    let inside = call2("minimum", call2("maximum", positions, 0.0), numbers.from - 1.0);
    let inside = cx.b.formula(numbers.positions, inside)?;
    let inside = cx.cast(inside, DType::I64)?;
    let attrs = [("axis", int(axis.at)), ("mode", AttrValue::str("clip"))];
    cx.call("take", &[x, inside], &attrs)
}

/// The convolution kernel of Keys (1981), at a distance of at most 1 (`near`), or of 1 to 2.
fn cubic(a: f64, x: Val, near: bool) -> Formula {
    match near {
        true => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        false => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
    }
}
