//! Has products of dequantized tensors multiply the integers, where the machine has instructions for that. What is around them stays
//! in float32; TVM's `FakeQuantizationToInteger`, in which whole regions compute on integers, is `fake_quantization`.
//!
//! A quantized network of ONNX or of a framework says `dequantize`, a product in float32, `quantize`. Where data and weights are
//! integers of 8 bits, the sum of their products is computed in int32, without any rounding, and scaled once. The same holds for
//! products of int32 that hold such integers, as `QLinearConv` and `MatMulInteger` are written.
//!
//! The rewrite is sound because `Σ sx·(x - zx) · sw·(w - zw) = sx·sw · (Σ x·w' - zx · Σ w')` for constants `w' = w - zw`, and
//! because 16 bits of a product and `2^31 / 2^15` terms of a sum overflow nothing. It rounds less than the sum in float32 did, so
//! a number that lies between two integers may be quantized to the other one. The factor of a quantization, `1 / scale`, is then
//! multiplied into the constants before it (`scale`), and signed tensors are held as unsigned ones (`unsigned`), which is what the
//! instruction wants.
//!
//! Where the machine has no products of four bytes, weights are of 16 bits and two products are added at once; a convolution of 3x3
//! whose channels and weights Winograd's method does not suit in integers stays in float32 then, where that method is as fast.
//!
//! Does not rewrite products with weights that are not constant, convolutions in groups of several channels, and other windows than
//! those of two axes.
//!
//! ```text
//! %2 = multiply(cast(subtract(cast(%x, "int32"), 3), "float32"), 0.1f);      %0 = nn.conv2d(%x, w, …, out_dtype="int32");
//! %3 = multiply(cast(%w, "float32"), 0.02f);                             →   %1 = add(%0, -3 · Σ w);
//! nn.conv2d(%2, %3, …)                                                       multiply(cast(%1, "float32"), 0.002f)
//! ```

mod find;
mod product;
mod scale;
mod unsigned;

use super::rewrite::rewrite;
use super::users::Users;
use super::{Pass, PassCx};
use relayc_ir::Module;

pub(crate) const PASS: Pass = Pass {
    name: "integer-products",
    doc: "Has products of dequantized 8-bit integers multiply the integers, and scales their sums once.",
    level: 3,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let mut products = product::Products::new(cx);
    let any = rewrite(module, |module, expr| products.visit(module, expr));
    if any {
        let (users, _) = Users::of(module);
        rewrite(module, |module, expr| scale::quantized(module, cx, &users, expr));
    }
    any
}
