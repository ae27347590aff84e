//! Combines the products of one operand with several weights into one product and splits its result: TVM's
//! `CombineParallelConv2D` and `CombineParallelDense` (`src/relay/transforms/combine_parallel_conv2d.cc`,
//! `combine_parallel_dense.cc`).
//!
//! The rewrite is sound because every channel of the result is a sum of its own: `conv(x, W)` and `conv(x, V)` are bit for bit
//! the slices of `conv(x, concat(W, V))`. The weights are constants, so joining them costs nothing at run time. The result is one
//! image or one row with consecutive channels, so splitting it costs nothing either. All products must be computed in the same
//! region. As in TVM, at least three products are needed. Unlike in TVM, the operators after each product stay behind the split.
//! They cannot be fused with the product there, so the pass runs on request only.
//!
//! ```text
//! nn.conv2d(%x, W1);  nn.conv2d(%x, W2);  nn.conv2d(%x, W3)
//!     →    %0 = split(nn.conv2d(%x, concat(W1, W2, W3)), …);  %0.0;  %0.1;  %0.2
//! ```

use super::build::{ExprKey, args, shape, typed, value_of};
use super::regions::{RegionId, Regions};
use super::rewrite::rewrite;
use super::{ON_REQUEST, Pass, PassCx};
use relayc_ir::tensor::Tensor;
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{CONV2D, Conv2dAttrs, DENSE, SPLIT};
use rustc_hash::FxHashMap;

pub(crate) const CONV2D_PASS: Pass = Pass {
    name: "combine-parallel-conv2d",
    doc: "Makes one convolution of three or more that differ in their constant weights only, and cuts its result. For batch 1 \
          in the layout NCHW.",
    level: ON_REQUEST,
    run: |module, cx| Ok(run(module, cx, &CONV2D, conv)),
    ..Pass::BASE
};

pub(crate) const DENSE_PASS: Pass = Pass {
    name: "combine-parallel-dense",
    doc: "Makes one dense layer of three or more that differ in their constant weights only, and cuts its result. For one row.",
    level: ON_REQUEST,
    run: |module, cx| Ok(run(module, cx, &DENSE, dense)),
    ..Pass::BASE
};

/// Fewer products are left alone (TVM's `min_num_branches`).
const MIN_BRANCHES: usize = 3;

/// The properties that combined products must share, besides their operand.
type Common = (RegionId, Vec<usize>, String);

/// The axis of the result along which the outputs lie, and what else counts; `None` for what cannot be combined.
type Kind = fn(&Module, ExprId, &Tensor) -> Option<(usize, String)>;

fn run(module: &mut Module, cx: &PassCx, def: &OpDef, kind: Kind) -> bool {
    let order = module.post_order(&module.roots());
    let regions = Regions::of(module, &order);
    let mut groups: FxHashMap<(ExprKey, Common), Vec<ExprId>> = FxHashMap::default();
    for &expr in order.iter().filter(|&&expr| cx.calls(module, expr, def)) {
        let operands = args(module, expr);
        let Some(weight) = operands.get(1).and_then(|&weight| value_of(module, weight)) else { continue };
        let Some((_, rest)) = kind(module, expr, weight) else { continue };
        let common = (regions.region(expr), weight.shape()[1..].to_vec(), format!("{:?} {rest}", weight.dtype()));
        groups.entry((ExprKey::of(module, operands[0]), common)).or_default().push(expr);
    }
    let mut branch_of: FxHashMap<ExprId, (usize, Vec<ExprId>)> = FxHashMap::default();
    for group in groups.into_values().filter(|group| group.len() >= MIN_BRANCHES) {
        for (at, &expr) in group.iter().enumerate() {
            branch_of.insert(expr, (at, group.clone()));
        }
    }
    let mut made: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    rewrite(module, |module, expr| {
        let (at, group) = branch_of.get(&expr)?;
        let parts = match made.get(&group[0]) {
            Some(&parts) => parts,
            None => {
                let parts = combine(module, cx, def, kind, group)?;
                made.insert(group[0], parts);
                parts
            }
        };
        let (span, ty) = (module.exprs[expr].span, module.ty(expr));
        Some(typed(module, span, ExprKind::Proj { tuple: parts, index: *at as i32 }, ty))
    })
}

/// One product with all weights of a group, in the place of the first, cut into its parts.
fn combine(module: &mut Module, cx: &PassCx, def: &OpDef, kind: Kind, group: &[ExprId]) -> Option<ExprId> {
    let first = group[0];
    let (span, operands) = (module.exprs[first].span, args(module, first));
    let weights: Option<Vec<Tensor>> = group.iter().map(|&expr| value_of(module, *args(module, expr).get(1)?).cloned()).collect();
    let weights = weights?;
    let (axis, _) = kind(module, first, &weights[0])?;
    let ends: Vec<i64> = weights.iter().scan(0, |end, weight| Some(add(end, weight.shape()[0]))).collect();
    let (total, cuts) = ends.split_last()?;
    let weight = cx.constant(module, span, Tensor::concat(&weights, 0)?);
    let mut values = module.call_attrs(first).to_vec();
    let schema = def.attrs?;
    for name in ["channels", "units"] {
        if let Some(at) = schema.position(name)
            && values[at] != AttrValue::None
        {
            values[at] = AttrValue::int(*total);
        }
    }
    cx.call_ty(module, def, &[operands[0], weight], &values)?;
    let product = cx.call(module, span, def, &[operands[0], weight], values);
    let places = [("indices_or_sections", AttrValue::ints(cuts)), ("axis", AttrValue::int(axis as i64))];
    Some(cx.call(module, span, &SPLIT, &[product], SPLIT.attrs?.values(&places)))
}

fn add(end: &mut i64, n: usize) -> i64 {
    *end += n as i64;
    *end
}

/// Attributes as text, without those that say how many outputs there are.
fn rest(module: &Module, expr: ExprId, def: &OpDef) -> Option<String> {
    let fields = def.attrs?.fields.iter().zip(module.call_attrs(expr));
    let rest: Vec<_> = fields.filter(|(field, _)| !["channels", "units"].contains(&field.name)).map(|(_, value)| value).collect();
    Some(format!("{rest:?}"))
}

fn conv(module: &Module, expr: ExprId, weight: &Tensor) -> Option<(usize, String)> {
    let options = Conv2dAttrs::read(module.call_attrs(expr));
    let plain = options.data_layout == "NCHW" && options.kernel_layout == "OIHW";
    let out_plain = options.out_layout.is_empty() || options.out_layout == "NCHW";
    let one_image = shape(module, expr)?.first() == Some(&1);
    let whole = options.groups == 1 && weight.rank() == 4;
    let known = format!("channels {} {}", options.channels.is_some(), rest(module, expr, &CONV2D)?);
    (plain && out_plain && one_image && whole).then_some((1, known))
}

fn dense(module: &Module, expr: ExprId, _: &Tensor) -> Option<(usize, String)> {
    let out = shape(module, expr)?;
    let (_, rows) = out.split_last()?;
    let units = module.call_attrs(expr).first() != Some(&AttrValue::None);
    let known = format!("units {units} {}", rest(module, expr, &DENSE)?);
    rows.iter().all(|&dim| dim == 1).then_some((rows.len(), known))
}
