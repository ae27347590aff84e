//! Writes `exp`, `erf`, `tanh` and `nn.softmax` as the operators for which a kernel may approximate: TVM's `FastMath`
//! (`src/relay/transforms/fast_math.cc`).
//!
//! The rewrite is sound because the operators have one meaning here: kernels of neither approximate beyond the accuracy that was asked for.
//! So it makes nothing faster, and runs on request only, for programs that go on to TVM.
//!
//! ```text
//! exp(%x)    →    fast_exp(%x)
//! ```

use super::build::args;
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::{ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{ERF, EXP, FAST_ERF, FAST_EXP, FAST_SOFTMAX, FAST_TANH, SOFTMAX, TANH};

pub(crate) const PASS: Pass = Pass {
    name: "fast-math",
    doc: "Writes `exp`, `erf`, `tanh` and `nn.softmax` as the operators whose kernels may approximate. Kernels of relayc do not.",
    run: |module, cx| Ok(rewrite(module, |module, expr| fast(module, cx, expr))),
    ..Pass::BASE
};

/// The operators, and those for which a kernel may approximate.
const FAST: [(&OpDef, &OpDef); 4] = [(&EXP, &FAST_EXP), (&ERF, &FAST_ERF), (&TANH, &FAST_TANH), (&SOFTMAX, &FAST_SOFTMAX)];

fn fast(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<ExprId> {
    let called = cx.called(module, expr)?;
    let (_, fast) = FAST.iter().find(|(exact, _)| exact.name == called.name)?;
    let (operands, attrs) = (args(module, expr), module.call_attrs(expr).to_vec());
    Some(cx.call(module, module.exprs[expr].span, fast, &operands, attrs))
}
