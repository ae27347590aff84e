//! Has regions between `qnn.dequantize` and `qnn.quantize` compute on the integers: TVM's `FakeQuantizationToInteger`
//! (`src/relay/transforms/fake_quantization_to_integer.cc`).
//!
//! A region is what a `qnn.quantize` computes from dequantized tensors and constants. Its operators say how they compute on integers
//! (`relayc_ops::fake_quantization`). Each expression of the rewritten region has an affine type, `real = (integer - zero_point) *
//! scale` (`affine`); where the type of an operator's result does not follow from its operands, it is that of the region's result. A
//! region stays as it is if it holds anything but dataflow or an operator without a rule, or if an operator does not take the integers.
//! With `use_qat`, single operators on dequantized tensors are converted after that, with `qnn.dequantize` behind them.
//!
//! Results differ by roundings: operators of `qnn` round where the region was exact. Three checks are not TVM's. Scales of several
//! channels are followed through operators that move axes, or the region stays. Scales are equal if they differ by a hundred-thousandth
//! of themselves, however small they are. A region whose type would change stays. Scales that constants are computed to are constants
//! for this pass only after `fold-constants`.
//!
//! ```text
//! %0 = qnn.dequantize(%x, 2f, 0);                      %0 = qnn.conv2d(%x, %w, 0, 0, 2f, 0.5f, …);
//! %1 = qnn.dequantize(%w, 0.5f, 0);               →    qnn.requantize(%0, 1f, 0, 4f, 3, axis=1, out_dtype="int8")
//! qnn.quantize(nn.conv2d(%0, %1, …), 4f, 3, out_dtype="int8")
//! ```

mod affine;
mod convert;
mod region;
mod rules;

use super::rewrite::rewrite;
use super::step::{ArgKind, Param};
use super::{Pass, PassCx, Stop, refused};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::Module;

pub(crate) const PASS: Pass = Pass {
    name: "fake-quantization-to-integer",
    doc: "Has what stands between dequantization and quantization compute on the integers. Results differ by roundings.",
    params: &[
        Param {
            name: "hard_fail",
            kind: ArgKind::Bool,
            default: "false",
            doc: "whether a region that cannot be converted is an error",
        },
        Param { name: "use_qat", kind: ArgKind::Bool, default: "false", doc: "whether to convert single operators as well" },
        Param {
            name: "optional_qnn_ops",
            kind: ArgKind::Words,
            default: "[]",
            doc: "operators that are converted only on request: `nn.softmax`",
        },
        Param { name: "excluded", kind: ArgKind::Words, default: "[]", doc: "operators whose regions stay as they are" },
    ],
    keeps_answers: false,
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let rules = convert::Rules::of(cx);
    let mut failed = None;
    let mut said = |span: Span, converted: Result<_, Stop>| {
        converted.unwrap_or_else(|stop| {
            failed.get_or_insert(stop.at(span));
            None
        })
    };
    let mut any = rewrite(module, |module, expr| said(module.exprs[expr].span, convert::quantized(module, &rules, expr)));
    if cx.args.bool("use_qat") {
        any |= rewrite(module, |module, expr| said(module.exprs[expr].span, convert::alone(module, &rules, expr)));
    }
    match failed.filter(|_| cx.args.bool("hard_fail")) {
        Some(stop) => Err(refused(&PASS, stop)),
        None => Ok(any),
    }
}
