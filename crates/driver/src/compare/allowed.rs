//! How far tensors may lie apart, and how they differ, in words.

use relayc_base::text::count;
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::compare::{Tolerance, compare};
use relayc_ir::types::DType;

/// How far floats may lie apart.
#[derive(Clone, Copy, Debug)]
pub enum Allowed {
    /// 1e-4 of the first tensor's largest magnitude: what `--accuracy fast` promises of a whole network.
    OfScale,
    /// As [`Allowed::OfScale`], for two ways to compute in one storage type: of 16-bit floats, which have no numbers so near, four
    /// times the distance of 1 to the next one.
    OfStorage,
    /// As [`Allowed::OfStorage`], where terms come in another order: a sum that left the range of its type is infinite in one and NaN in
    /// another.
    OfReordered,
    Each(Tolerance),
}

impl Allowed {
    /// The tolerance for a tensor that should equal `expected`.
    pub(super) fn of(self, expected: &Tensor) -> Tolerance {
        match self {
            Allowed::Each(tolerance) => tolerance,
            Allowed::OfScale | Allowed::OfStorage | Allowed::OfReordered if !expected.dtype().is_float() => {
                Tolerance { rtol: 0.0, atol: 0.0 }
            }
            Allowed::OfScale | Allowed::OfStorage | Allowed::OfReordered => {
                let finite = expected.to_f64s().into_iter().filter(|x| x.is_finite());
                let part = match (self, expected.dtype()) {
                    (Allowed::OfStorage | Allowed::OfReordered, DType::F16) => 4.0 * 2f64.powi(-10),
                    (Allowed::OfStorage | Allowed::OfReordered, DType::BF16) => 4.0 * 2f64.powi(-7),
                    _ => 1e-4,
                };
                Tolerance { rtol: 0.0, atol: part * finite.fold(0.0, |scale: f64, x| scale.max(x.abs())) }
            }
        }
    }
}

/// A tensor of floats with NaN for what is infinite.
fn without_infinities(tensor: &Tensor) -> Option<Tensor> {
    let numbers = tensor.to_f64s().into_iter().map(|x| if x.is_finite() { x } else { f64::NAN }).collect();
    Tensor::from_vec(tensor.shape(), numbers).cast(tensor.dtype())
}

/// Checks that two tensors agree. `Err` says how they differ.
pub(super) fn difference(from: &Tensor, to: &Tensor, allowed: Allowed) -> Result<(), String> {
    let reordered = matches!(allowed, Allowed::OfReordered) && from.dtype().is_float() && to.dtype().is_float();
    let alike = reordered.then(|| without_infinities(from).zip(without_infinities(to))).flatten();
    let (from, to) = alike.as_ref().map_or((from, to), |(from, to)| (from, to));
    match compare(to, from, allowed.of(from)) {
        Ok(comparison) if comparison.agrees() => Ok(()),
        Ok(comparison) => {
            let worst = comparison.worst.as_ref().map_or(String::new(), |worst| {
                format!(", most at {:?}: it was {}, now {}, off by {:.3e}", worst.index, worst.expected, worst.got, worst.abs)
            });
            Err(format!("{} of {} differ{worst}", comparison.n_mismatches, count(comparison.n_elements, "element")))
        }
        Err(_) => Err(format!("it was {}, now {}", from.type_text(), to.type_text())),
    }
}
