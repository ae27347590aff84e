//! The initial weights of a network, bit-identical with TVM's (`python/tvm/relay/testing/init.py`).
//!
//! Parameters are visited in `@main`'s order; the suffix of a name decides its rule. Random weights come from NumPy's legacy
//! generator, seeded once for all weights, so a weight depends on all before it.

use super::ZooError;
use super::mt19937::Mt19937;
use relayc_ir::Module;
use relayc_ir::tensor::{Element, Tensor, with_dtype};
use relayc_ir::types::{DType, checked_bytes, checked_elements, dims_of};

/// The size limit of one tensor in bytes (reliability 2).
const MAX_BYTES: u64 = 16 << 30;

/// The initial values of parameters called `…weight`; all others are 0 or 1 by their name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Uniform in `[-s, s)`, where s preserves the variance of activations.
    Xavier,
    /// 1/n in every element of a tensor of n elements.
    Constant,
}

/// A parameter with a weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    pub(crate) name: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) dtype: DType,
}

/// The parameters of `@main` with weights, in order, of a typed module.
pub fn params_of(module: &Module) -> Result<Vec<Param>, ZooError> {
    let Some(main) = module.find_global("main") else {
        return Err(ZooError::new("the module has no `@main`", "weights belong to the parameters of `@main`"));
    };
    let params = module.funcs[module.globals[main].func].params.iter().map(|&var| &module.vars[var]);
    params
        .filter(|var| !is_input(&var.name))
        .map(|var| {
            let tensor = var.checked_ty.or(var.ty).and_then(|ty| module.types.as_tensor(ty));
            match tensor.and_then(|(shape, dtype)| Some((dims_of(shape)?, dtype))) {
                Some((shape, dtype)) => Ok(Param { name: var.name.to_string(), shape, dtype }),
                None => Err(ZooError::new(
                    format!("the parameter `%{}` is no tensor of a known shape", var.name),
                    "weights are made once types are inferred",
                )),
            }
        })
        .collect()
}

/// Whether the name is an input's, given for each run: `data`, `data1`, ….
fn is_input(name: &str) -> bool {
    name.strip_prefix("data").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The initial value of each parameter, in order.
pub fn weights(params: &[Param], rule: Rule, seed: u32) -> Result<Vec<(String, Tensor)>, ZooError> {
    let mut random = Mt19937::new(seed);
    params.iter().map(|param| Ok((param.name.clone(), initial(param, rule, &mut random)?))).collect()
}

fn initial(param: &Param, rule: Rule, random: &mut Mt19937) -> Result<Tensor, ZooError> {
    let Some(bytes) = checked_bytes(&param.shape, param.dtype).filter(|&bytes| bytes <= MAX_BYTES) else {
        return Err(too_large(param));
    };
    let n = (bytes / param.dtype.bytes()) as usize;
    let ends_with = |suffixes: &[&str]| suffixes.iter().any(|suffix| param.name.ends_with(suffix));
    let tensor = if ends_with(&["weight"]) {
        match rule {
            Rule::Xavier => {
                let scale = xavier_scale(param)?;
                with_dtype!(param.dtype, |T| uniform::<T>(param, n, scale, random))
            }
            Rule::Constant => with_dtype!(param.dtype, |T| full::<T>(param, n, 1.0 / n as f64)),
        }
    } else if ends_with(&["bias", "beta", "mean"]) {
        with_dtype!(param.dtype, |T| full::<T>(param, n, 0.0))
    } else if ends_with(&["gamma", "var"]) {
        with_dtype!(param.dtype, |T| full::<T>(param, n, 1.0))
    } else {
        return Err(ZooError::new(
            format!("no rule says how the parameter `%{}` starts", param.name),
            "names that end in weight, bias, beta, mean, gamma or var have one",
        ));
    };
    tensor.unwrap_or_else(|| Err(ZooError::new(format!("no tensor holds {}", param.dtype), "weights are floats")))
}

/// sqrt(3 / factor), where factor is the mean of fan-in and fan-out.
fn xavier_scale(param: &Param) -> Result<f64, ZooError> {
    let [outputs, inputs, kernel @ ..] = &param.shape[..] else {
        let message = format!("the weight `%{}` has {} dimensions", param.name, param.shape.len());
        return Err(ZooError::new(message, "the Xavier rule needs at least two"));
    };
    let area = checked_elements(kernel).ok_or_else(|| too_large(param))? as f64;
    let (fan_in, fan_out) = (*inputs as f64 * area, *outputs as f64 * area);
    let factor = if param.name.contains("depthwise") { area } else { (fan_in + fan_out) / 2.0 };
    Ok((3.0 / factor).sqrt())
}

/// NumPy's `uniform(-scale, scale)`.
fn uniform<T: Element>(param: &Param, n: usize, scale: f64, random: &mut Mt19937) -> Result<Tensor, ZooError> {
    let span = scale - -scale;
    tensor_of::<T>(param, n, |out| {
        random.fill(n, |some| out.extend(some.iter().map(|u| T::from_f64(-scale + span * u))));
    })
}

fn full<T: Element>(param: &Param, n: usize, value: f64) -> Result<Tensor, ZooError> {
    tensor_of::<T>(param, n, |out| out.resize(n, T::from_f64(value)))
}

/// A tensor of `n` elements, which `fill` appends.
fn tensor_of<T: Element>(param: &Param, n: usize, fill: impl FnOnce(&mut Vec<T>)) -> Result<Tensor, ZooError> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(n).map_err(|_| too_large(param))?;
    fill(&mut elements);
    let shape: Vec<usize> = param.shape.iter().map(|&dim| dim as usize).collect();
    Ok(Tensor::from_vec(&shape, elements))
}

fn too_large(param: &Param) -> ZooError {
    let message = format!("the parameter `%{}` of the shape {:?} does not fit into memory", param.name, param.shape);
    ZooError::new(message, "choose a smaller input or fewer outputs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(name: &str, shape: &[i64], dtype: DType) -> Param {
        Param { name: name.into(), shape: shape.into(), dtype }
    }

    /// The sum of all elements' bits times their positions, so that one wrong bit or a swap shows.
    fn checksum(weights: &[(String, Tensor)]) -> u64 {
        let bytes = weights.iter().flat_map(|(_, tensor)| tensor.to_le_bytes());
        (1..).zip(bytes).fold(0u64, |sum, (i, byte)| sum.wrapping_add(u64::wrapping_mul(i, byte.into())))
    }

    /// The same tensors, made with NumPy 2.4.6 by the rules of the specification.
    #[test]
    fn as_numpy() {
        for (dtype, sum) in
            [(DType::F16, 10_345_223_921_155), (DType::F32, 44_585_461_873_070), (DType::F64, 191_035_647_760_367)]
        {
            let params = [
                param("a_weight", &[64, 3, 7, 7], dtype),
                param("a_bias", &[64], dtype),
                param("b_depthwise_weight", &[32, 1, 3, 3], dtype),
                param("c_gamma", &[3], dtype),
                param("d_weight", &[100, 2048], dtype),
            ];
            assert_eq!(checksum(&weights(&params, Rule::Xavier, 7).expect("weights")), sum, "{dtype}");
        }
    }

    #[test]
    fn constant_rule() {
        let all = weights(&[param("dense_weight", &[12, 12], DType::F64)], Rule::Constant, 0).expect("weights");
        assert_eq!(all[0].1.to_vec::<f64>().expect("f64"), [1.0 / 144.0; 144]);
    }

    #[test]
    fn hostile_parameters_are_refused() {
        for (name, shape) in [
            ("w_weight", &[1 << 21, 1 << 21][..]),
            ("w_weight", &[1 << 20, 1 << 19]),
            ("w_weight", &[-1, 3]),
            ("w_weight", &[3]),
            ("database", &[3]),
        ] {
            assert!(weights(&[param(name, shape, DType::F32)], Rule::Xavier, 0).is_err(), "{name} {shape:?}");
        }
    }

    #[test]
    fn inputs_have_no_weight() {
        assert!(["data", "data1", "data12"].into_iter().all(is_input));
        assert!(!["data_weight", "bn_data_gamma", "dat"].into_iter().any(is_input));
    }
}
