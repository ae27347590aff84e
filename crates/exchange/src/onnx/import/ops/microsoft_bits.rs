//! Converts ONNX Runtime's product with weights of few bits, which its tools make of language models: domain `com.microsoft`
//! (`onnxruntime/core/graph/contrib_ops/contrib_defs.cc`).

use super::building_blocks::*;
use super::{Converter, op};

/// The numbers of a few bits in bytes, the first one in the lowest bits, along the last axis.
fn unpacked(cx: &mut Cx, bytes: Val, bits: i64) -> Result {
    let last = cx.rank(bytes)?.saturating_sub(1);
    let of_byte = part_of_byte(bits)?;
    let mask = cx.like(bytes, 2f64.powi(i32::try_from(bits).unwrap_or(8)) - 1.0)?;
    let mut parts = vec![];
    for at in 0..of_byte {
        let shift = cx.like(bytes, f64::from(u32::try_from(at.saturating_mul(bits)).unwrap_or(0)))?;
        let shifted = cx.binary("right_shift", bytes, shift)?;
        parts.push(cx.binary("bitwise_and", shifted, mask)?);
    }
    let apart = cx.stack(&parts, last.saturating_add(1))?;
    let length = cx.size(bytes, last)?.saturating_mul(of_byte);
    cx.reshape_behind(apart, last, &[length])
}

/// How many numbers a byte has.
fn part_of_byte(bits: i64) -> Result<i64> {
    match bits {
        2 => Ok(4),
        4 => Ok(2),
        8 => Ok(1),
        _ => Err(refuse(format!("weights of {bits} bits"))),
    }
}

/// The number of parts of a length, the last of which may be shorter.
fn parts(whole: i64, part: i64) -> i64 {
    whole.saturating_sub(1).checked_div(part).unwrap_or(0).saturating_add(1)
}

/// `x w^T`, for weights in rows of blocks, each with a scale and a zero point.
fn matmul_n_bits(cx: &mut Cx) -> Results {
    if cx.opt(4).is_some() {
        return Err(refuse("columns that are in the blocks of a list (`g_idx`)"));
    }
    if cx.int("weight_prepacked", 0)? != 0 {
        return Err(refuse("weights in the order of a processor (`weight_prepacked`)"));
    }
    // How precise ONNX Runtime is.
    cx.ignore("accuracy_level");
    let (n_in, n_out, block) = (cx.required_int("K")?, cx.required_int("N")?, cx.required_int("block_size")?);
    let bits = cx.int("bits", 4)?;
    let of_byte = part_of_byte(bits)?;
    if n_in < 1 || n_out < 1 || block < 1 || block.checked_rem(of_byte) != Some(0) {
        return Err(Refusal::wrong(format!("a matrix of {n_in} rows and {n_out} columns in blocks of {block} numbers")));
    }
    let n_blocks = parts(n_in, block);
    let (x, bytes, scales) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let dtype = cx.dtype(scales)?;
    let bytes = cx.reshape(bytes, &[n_out, n_blocks, parts(block, of_byte)])?;
    let numbers = unpacked(cx, bytes, bits)?;
    let numbers = cx.cast(numbers, dtype)?;
    let zero_points = match cx.opt(3) {
        None => cx.scalar(dtype, 2f64.powi(i32::try_from(bits.saturating_sub(1)).unwrap_or(7)))?,
        Some(packed) if cx.dtype(packed)? == DType::U8 => {
            let rows = cx.reshape(packed, &[n_out, parts(n_blocks, of_byte)])?;
            let all = unpacked(cx, rows, bits)?;
            let own = cx.slice(all, 1, 0, n_blocks)?;
            let own = cx.cast(own, dtype)?;
            cx.expand_dims(own, 2, 1)?
        }
        Some(zero_points) => cx.reshape(zero_points, &[n_out, n_blocks, 1])?,
    };
    let scales = cx.reshape(scales, &[n_out, n_blocks, 1])?;
    let weights = cx.b.formula(numbers, (numbers - zero_points) * scales)?;
    let rows = cx.reshape(weights, &[n_out, n_blocks.saturating_mul(block)])?;
    let rows = cx.slice(rows, 1, 0, n_in)?;
    let columns = cx.transpose(rows, &[1, 0])?;
    let y = cx.matmul(x, columns)?;
    one(match cx.opt(5) {
        Some(bias) => cx.binary("add", y, bias)?,
        None => y,
    })
}

pub(crate) const FAMILY: &[Converter] =
    &[op("com.microsoft.MatMulNBits", &[1], matmul_n_bits).but("other than 2, 4 and 8 bits; `g_idx`; `weight_prepacked`")];
