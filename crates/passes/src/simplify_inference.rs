//! Replaces training operators by their meaning at inference. Batch normalisation by known statistics becomes a multiplication
//! and an addition for each channel; dropout becomes its operand. TVM's `SimplifyInference`
//! (`src/relay/transforms/simplify_inference.cc`).
//!
//! The rewrite is sound because it computes the same function of the operand, with its terms in another order. Where all
//! statistics of a channel are constants, scale and shift are computed in f64 and rounded once; a call stays if they leave the range of the dtype. The other results of a call (the
//! statistics, a mask of ones) stay the same, so a result that is used whole is rewritten too. A call stays if its number of
//! channels is not known to equal that of its statistics, because it may have to trap. A call stays if its statistics have
//! effects, because their order would change, or they would not be computed.
//!
//! Does not rewrite `nn.layer_norm`, `nn.instance_norm`, `nn.group_norm` and `nn.l2_normalize`, which TVM decomposes. Their
//! statistics depend on the operand, and a kernel for the whole operator reads it once.
//!
//! ```text
//! %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var);      %0 = multiply(%x, scale);
//! %0.0                                                →    add(%0, shift)
//! ```

use super::build::{args, dtype, rounded, value_of};
use super::effects::Pure;
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_base::Span;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, ExprKind, Module, Operand};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    ADD, BATCH_NORM, BatchNormAttrs, CAST, DIVIDE, DROPOUT, EXPAND_DIMS, MULTIPLY, NEGATIVE, ONES_LIKE, SQRT, SUBTRACT,
};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "simplify-inference",
    doc: "Writes batch normalisation as a multiplication and an addition, and dropout as its operand. Layer, group and instance \
          normalisation stay as they are: they have kernels.",
    level: 1,
    reorders_terms: true,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let mut pure = Pure::of(module, &module.post_order(&module.roots()));
    // The tuples that stand in the place of calls, and whether nothing is lost where only another field than the first is used.
    let mut made: FxHashMap<ExprId, bool> = FxHashMap::default();
    rewrite(module, |module, expr| match module.exprs[expr].kind {
        ExprKind::Proj { tuple, index } => {
            let field = usize::try_from(index).ok().filter(|&field| field == 0 || made.get(&tuple) == Some(&true))?;
            made.contains_key(&tuple).then(|| args(module, tuple).get(field).copied())?
        }
        ExprKind::Call { .. } => {
            pure.learn(module);
            let data_is_pure = args(module, expr).first().is_some_and(|&data| pure.is(data));
            let fields = if cx.calls(module, expr, &BATCH_NORM) {
                pure.are(args(module, expr).get(1..)?).then(|| batch_norm(module, cx, expr))??
            } else if cx.calls(module, expr, &DROPOUT) {
                dropout(module, cx, expr)?
            } else {
                return None;
            };
            let span = module.exprs[expr].span;
            let fields: Vec<Operand> = fields.into_iter().map(|expr| Operand { expr, span }).collect();
            let fields = module.operands(&fields);
            let tuple = module.expr(span, ExprKind::Tuple(fields));
            made.insert(tuple, data_is_pure);
            Some(tuple)
        }
        _ => None,
    })
}

/// `dropout(x) == (x, ones_like(x))`.
fn dropout(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<Vec<ExprId>> {
    let data = *args(module, expr).first()?;
    let mask = cx.call(module, module.exprs[expr].span, &ONES_LIKE, &[data], vec![]);
    Some(vec![data, mask])
}

/// `(x - mean) / sqrt(var + epsilon) * gamma + beta == x * scale + shift`, where `scale == gamma / sqrt(var + epsilon)` and
/// `shift == beta - mean * scale`.
fn batch_norm(module: &mut Module, cx: &PassCx, expr: ExprId) -> Option<Vec<ExprId>> {
    let span = module.exprs[expr].span;
    let options = BatchNormAttrs::read(module.call_attrs(expr));
    let operands: [ExprId; 5] = args(module, expr).try_into().ok()?;
    let (shape, dtype) = module.types.as_tensor(module.ty(operands[0]))?;
    let axis = options.axis.rem_euclid(shape.len() as i64) as usize;
    let (channels, n_after) = (shape.get(axis)?.value()?, shape.len() - axis - 1);
    let one_each = |&statistic: &ExprId| {
        let (shape, _) = module.types.as_tensor(module.ty(statistic))?;
        (shape.len() == 1 && shape[0].value() == Some(channels)).then_some(())
    };
    operands[1..].iter().try_for_each(one_each)?;
    let norm = Norm { span, options, dtype, n_after, operands };
    let (scale, shift) = match norm.known(module) {
        Some(known) => norm.of_constants(module, cx, known)?,
        None => norm.of_operands(module, cx),
    };
    let scaled = cx.call(module, span, &MULTIPLY, &[operands[0], scale], vec![]);
    let out = cx.call(module, span, &ADD, &[scaled, shift], vec![]);
    Some(vec![out, operands[3], operands[4]])
}

/// A batch normalisation.
struct Norm {
    span: Span,
    options: BatchNormAttrs,
    dtype: DType,
    /// How many axes of the operand follow that of the channels.
    n_after: usize,
    operands: [ExprId; 5],
}

impl Norm {
    /// Gamma, beta, mean and variance, if the result depends on constants only.
    fn known(&self, module: &Module) -> Option<[Vec<f64>; 4]> {
        let [_, gamma, beta, mean, var] = self.operands;
        let numbers = |expr| value_of(module, expr).map(Tensor::to_f64s);
        let (mean, var) = (numbers(mean)?, numbers(var)?);
        let gamma = if self.options.scale { numbers(gamma)? } else { vec![1.0; var.len()] };
        let beta = if self.options.center { numbers(beta)? } else { vec![0.0; var.len()] };
        Some([gamma, beta, mean, var])
    }

    /// Scale and shift as constants; `None` if they leave the range of the dtype.
    fn of_constants(&self, module: &mut Module, cx: &PassCx, known: [Vec<f64>; 4]) -> Option<(ExprId, ExprId)> {
        let [gamma, beta, mean, var] = known;
        let scale: Vec<f64> = gamma.iter().zip(&var).map(|(gamma, var)| gamma / (var + self.options.epsilon).sqrt()).collect();
        let shift = beta.iter().zip(mean.iter().zip(&scale)).map(|(beta, (mean, scale))| beta - mean * scale).collect();
        let mut shape = vec![1; self.n_after + 1];
        shape[0] = scale.len();
        let tensor = |numbers: Vec<f64>| rounded(&Tensor::from_vec(&shape, numbers), self.dtype);
        let (scale, shift) = (tensor(scale)?, tensor(shift)?);
        Some((cx.constant(module, self.span, scale), cx.constant(module, self.span, shift)))
    }

    /// Scale and shift, computed by the program; in f32 where the operands hold halves, which are rounded once.
    fn of_operands(&self, module: &mut Module, cx: &PassCx) -> (ExprId, ExprId) {
        let wide = if self.dtype.bytes() < 4 { DType::F32 } else { self.dtype };
        let span = self.span;
        let call = |module: &mut Module, def: &OpDef, args: &[ExprId]| cx.call(module, span, def, args, vec![]);
        let scalar = |module: &mut Module, value: f64| {
            let value = Tensor::full(wide, &[], value).expect("tensors can hold floats");
            cx.constant(module, span, value)
        };
        let widened = |operand| if wide == self.dtype { operand } else { self.cast(module, cx, operand, wide) };
        let [_, gamma, beta, mean, var] = self.operands.map(widened);
        let epsilon = scalar(module, self.options.epsilon);
        let var = call(module, &ADD, &[var, epsilon]);
        let deviation = call(module, &SQRT, &[var]);
        let gamma = if self.options.scale { gamma } else { scalar(module, 1.0) };
        let scale = call(module, &DIVIDE, &[gamma, deviation]);
        let mean = call(module, &MULTIPLY, &[mean, scale]);
        let shift = if self.options.center { call(module, &SUBTRACT, &[beta, mean]) } else { call(module, &NEGATIVE, &[mean]) };
        (self.spread(module, cx, scale), self.spread(module, cx, shift))
    }

    fn cast(&self, module: &mut Module, cx: &PassCx, expr: ExprId, dtype: DType) -> ExprId {
        let schema = CAST.attrs.expect("a cast has a dtype");
        cx.call(module, self.span, &CAST, &[expr], schema.values(&[("dtype", AttrValue::DType(Some(dtype)))]))
    }

    /// A vector of the channels, in the operand's dtype, with as many axes behind it as the operand's channels have.
    fn spread(&self, module: &mut Module, cx: &PassCx, vector: ExprId) -> ExprId {
        let narrow = dtype(module, vector) == Some(self.dtype);
        let vector = if narrow { vector } else { self.cast(module, cx, vector, self.dtype) };
        if self.n_after == 0 {
            return vector;
        }
        let schema = EXPAND_DIMS.attrs.expect("new axes have a place");
        let places = [("axis", AttrValue::int(1)), ("num_newaxis", AttrValue::int(self.n_after as i64))];
        cx.call(module, self.span, &EXPAND_DIMS, &[vector], schema.values(&places))
    }
}
