//! The gradients of pools: distributes each window's gradient over the elements it covers.

use super::eval::{Move, moves};
use super::{AvgPool2dAttrs, MaxPool2dAttrs};
use crate::lower::lane;
use crate::prelude::*;
use crate::window;
use relayc_ir::kernel::{PoolGradient, PoolWindow, Routine};
use relayc_ir::tensor::{Acc, Real};

pub(super) fn max_pool_grad(cx: &EvalCx) -> EvalResult {
    let (grad, data) = (cx.tensor(0), cx.tensor(1));
    let moves = moves(cx, data, "HW")?;
    let out = match (grad.to_acc(), data.to_acc()) {
        (Acc::F32(grad), Acc::F32(_)) => to_largest::<f32>(&grad.into(), data, &moves),
        (Acc::F64(grad), Acc::F64(_)) => to_largest::<f64>(&grad.into(), data, &moves),
        (grad, _) => to_largest::<i64>(&grad.into_tensor(relayc_ir::types::DType::I64), data, &moves),
    };
    Ok(out.into_tensor(data.dtype()).into())
}

pub(super) fn avg_pool_grad(cx: &EvalCx) -> EvalResult {
    let (grad, data) = (cx.tensor(0), cx.tensor(1));
    let include_pad = AvgPool2dAttrs::read(cx.attrs).count_include_pad;
    let moves = moves(cx, data, "HW")?;
    let out = match grad.to_acc() {
        Acc::F32(_) => to_all::<f32>(grad, data.shape(), &moves, include_pad),
        Acc::F64(_) => to_all::<f64>(grad, data.shape(), &moves, include_pad),
        Acc::I64(_) => to_all::<i64>(grad, data.shape(), &moves, include_pad),
    };
    Ok(out.into_tensor(data.dtype()).into())
}

/// Adds each gradient to the first of the largest elements its window covers, or the first NaN.
fn to_largest<T: Real>(grad: &Tensor, data: &Tensor, moves: &[Move]) -> Acc {
    let elements = T::elements(&data.to_acc());
    // NaN is larger than any number.
    let larger = |a: T, b: T| match T::IS_FLOAT {
        true => a.to_f64() > b.to_f64() || a.to_f64().is_nan() && !b.to_f64().is_nan(),
        false => a.to_int() > b.to_int(),
    };
    spread::<T>(grad, data.shape(), moves, |out, covered, _, gradient| {
        let largest = covered.iter().copied().reduce(|best, at| if larger(elements[at], elements[best]) { at } else { best });
        if let Some(at) = largest {
            out[at] = out[at].add(gradient);
        }
    })
}

/// Adds to each element a window covers its part of the gradient.
fn to_all<T: Real>(grad: &Tensor, shape: &[usize], moves: &[Move], include_pad: bool) -> Acc {
    spread::<T>(grad, shape, moves, |out, covered, padded, gradient| {
        if !covered.is_empty() {
            let n = if include_pad { padded.into() } else { covered.len() as i128 };
            let part = gradient.div(T::from_int(n));
            covered.iter().for_each(|&at| out[at] = out[at].add(part));
        }
    })
}

/// For each position of the window, in order: `f(result, places of the elements covered, points in data or padding, gradient)`.
fn spread<T: Real>(grad: &Tensor, shape: &[usize], moves: &[Move], f: impl Fn(&mut [T], &[usize], i64, T)) -> Acc {
    let strides = |shape: &[usize]| -> Vec<usize> { (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect() };
    let (grad_strides, strides) = (strides(grad.shape()), strides(shape));
    let mut out = vec![T::ZERO; shape.iter().product()];
    let mut covered = Vec::new();
    for (at, &gradient) in T::elements(&grad.to_acc()).iter().enumerate() {
        let position = |axis: usize| at / grad_strides[axis] % grad.shape()[axis];
        let pooled = |axis: usize| moves.iter().any(|m| m.axis == axis);
        let base: usize = (0..shape.len()).filter(|&axis| !pooled(axis)).map(|axis| position(axis) * strides[axis]).sum();
        let [rows, columns] = [0, 1].map(|i| (moves[i].covers[position(moves[i].axis)], strides[moves[i].axis]));
        covered.clear();
        for row in rows.0.inputs() {
            covered.extend(columns.0.inputs().map(|column| base + row * rows.1 + column * columns.1));
        }
        f(&mut out, &covered, rows.0.padded * columns.0.padded, gradient);
    }
    T::from_elements(shape, out)
}

/// The gradient of a maximum, or of a mean that counts the padding or not.
pub(super) fn routine(call: &Call, mean: Option<bool>) -> Option<Routine> {
    let attrs = MaxPool2dAttrs::read(call.attrs);
    let (grad, data, layout) = (call.arg(0), call.arg(1), Layout::parse(&attrs.layout).ok()?);
    lane(data.dtype).filter(|&lane| lane != ScalarType::Bool)?;
    let along = |(letter, window): (char, window::Window)| {
        let axis = layout.axis(letter)?;
        let unsigned = |number: i64| u64::try_from(number).ok();
        let window = PoolWindow {
            input: data.shape[axis],
            output: grad.shape[axis],
            size: unsigned(window.kernel)?,
            stride: unsigned(window.stride)?,
            dilation: unsigned(window.dilation)?,
            before: unsigned(window.before)?,
            after: unsigned(window.after)?,
        };
        Some((axis, window))
    };
    let windows = window::windows(&attrs.pool_size, &attrs.strides, &attrs.dilation, &attrs.padding);
    let mut axes = "HW".chars().zip(windows).map(along).collect::<Option<Vec<_>>>()?;
    let columns_first = axes.is_sorted_by(|a, b| a.0 > b.0);
    axes.sort_by_key(|&(axis, _)| axis);
    let [(outer, first), (inner, second)] = axes[..] else { return None };
    let others = [&data.shape[..outer], &data.shape[outer + 1..inner], &data.shape[inner + 1..]];
    // Of planes without elements there may be any number.
    let others = if data.shape.contains(&0) { [0; 3] } else { others.map(|axes| axes.iter().product()) };
    Some(Routine::PoolGradient(PoolGradient { others, windows: [first, second], columns_first, mean, dtype: data.dtype }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{AVG_POOL2D, AVG_POOL2D_GRAD, MAX_POOL2D_GRAD};
    use crate::trial::{Trial, call};

    fn set(trial: Trial) -> Trial {
        trial.ints("pool_size", &[2, 3]).ints("strides", &[1, 2]).ints("padding", &[1, 0, 0, 2]).ints("dilation", &[2, 1])
    }

    /// The mean is linear: `pool(x) · y == x · gradient(y)`.
    #[test]
    fn the_gradient_of_the_mean() {
        let x = Tensor::from_fn(&[2, 3, 5, 6], |i| (i * 7 % 11) as f64 - 5.0);
        let out = set(call(&AVG_POOL2D)).eval(&[&x]).expect("it runs").remove(0);
        let y = Tensor::from_fn(out.shape(), |i| (i * 3 % 7) as f64 - 3.0);
        let dx = set(call(&AVG_POOL2D_GRAD)).eval(&[&y, &x]).expect("it runs").remove(0);
        let dot = |a: &Tensor, b: &Tensor| -> f64 { a.to_f64s().iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum() };
        assert!((dot(&out, &y) - dot(&x, &dx)).abs() < 1e-9);
    }

    #[test]
    fn the_first_of_the_largest() {
        let grad = |x: Vec<f32>| {
            let y = Tensor::from_vec(&[1, 1, 1, 2], vec![10f32, 100.0]);
            call(&MAX_POOL2D_GRAD).ints("pool_size", &[1, 2]).values(&[&y, &Tensor::from_vec(&[1, 1, 1, 3], x)])
        };
        assert_eq!(grad(vec![1.0, 3.0, 2.0]), [0.0, 110.0, 0.0]);
        assert_eq!(grad(vec![2.0, 2.0, 2.0]), [10.0, 100.0, 0.0]);
        assert_eq!(grad(vec![9.0, f32::NAN, f32::NAN]), [0.0, 110.0, 0.0]);
        // Channels last; the second window covers padding only.
        let x = Tensor::from_vec(&[1, 1, 1, 2], vec![-7i8, 3]);
        let y = Tensor::from_vec(&[1, 1, 2, 2], vec![5i8, 6, 7, 8]);
        let last = call(&MAX_POOL2D_GRAD).ints("pool_size", &[1, 1]).ints("padding", &[0, 0, 0, 1]).text("layout", "NHWC");
        assert_eq!(last.values(&[&y, &x]), [5.0, 6.0]);
    }
}
