//! Has operators on 16-bit floats compute in float32: TVM's `BF16ComputeLegalize` (`src/tir/transforms/unsupported_dtype_legalize.cc`),
//! for float16 too and on whole tensors.
//!
//! The machine multiplies and adds no 16-bit floats, so what lies between two operators is float32 that holds 16-bit numbers: a
//! result is rounded once, where it is computed, and no operator behind it converts it again. Where the 16-bit tensor itself is
//! wanted, as a result or by an operator that stays, a conversion makes it, which is exact.
//!
//! The rewrite is sound because sums of 16-bit floats, and what is made of such sums, are defined as those of float32, rounded
//! once. An operator on single elements may round more than once: it stays one on 16-bit floats, between conversions that cost
//! nothing where its kernel has float32 in registers anyway. It and an operator that only moves elements follow their operands:
//! they take part where one of these does already, so that no table is widened to take a few rows of it.
//!
//! Does not rewrite operators without a kernel, routines, what draws random numbers, and maxima that may be over nothing, which are
//! the least number of their dtype. Operands of quantised operators stay.
//!
//! ```text
//! %0 = nn.dense(%x, %w);         %0 = nn.dense(cast(%x, "float32"), cast(%w, "float32"));
//! nn.softmax(%0)            →    %1 = cast(cast(%0, "float16"), "float32");
//!                                cast(nn.softmax(%1), "float16")
//! ```

use super::build::{args, dims, dtype, tuple, typed};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_base::Span;
use relayc_ir::types::{DType, Dim};
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::declarations::CAST;
use relayc_ops::lower::Lower;
use relayc_ops::{Fuse, OpDef};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) const PASS: Pass = Pass {
    name: "half-compute-legalize",
    doc: "Has operators on float16 and bfloat16 compute in float32. Results are rounded once; what lies between two operators is \
          float32 that holds 16-bit numbers.",
    level: 1,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let mut legalize = Legalize { cx, wide: FxHashMap::default(), split: FxHashSet::default() };
    rewrite(module, |module, expr| match module.exprs[expr].kind {
        ExprKind::Proj { tuple, index } if legalize.split.contains(&tuple) => {
            args(module, tuple).get(usize::try_from(index).ok()?).copied()
        }
        ExprKind::Call { .. } => legalize.call(module, expr),
        _ => None,
    })
}

struct Legalize<'a> {
    cx: &'a PassCx<'a>,
    /// The float32 tensor with the same numbers, of 16-bit tensors.
    wide: FxHashMap<ExprId, ExprId>,
    /// The tuples that stand in the place of calls.
    split: FxHashSet<ExprId>,
}

fn is_half(dtype: DType) -> bool {
    dtype == DType::F16 || dtype == DType::BF16
}

/// How an operator treats the elements of its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Computes,
    /// Each element of the result is computed of one of each operand.
    Scalar,
    /// Each element of the result is one of an operand, or computed of few that are near each other.
    Gathers,
    /// Each element of the result is one of an operand.
    Moves,
}

fn kind(def: &OpDef) -> Option<Kind> {
    match def.lower.as_ref()? {
        _ if def.internal || def.random => None,
        Lower::View(_) | Lower::Move(..) | Lower::Split(_) | Lower::Join(_) | Lower::Stack(_) => Some(Kind::Moves),
        Lower::Routine(_) | Lower::NestOr(..) | Lower::AlongOr(..) | Lower::Shifted(..) | Lower::Reinterpret => None,
        Lower::Scalar(_) | Lower::Divided(_) | Lower::Along(..) => Some(Kind::Scalar),
        Lower::Padded(..) => Some(Kind::Gathers),
        _ if def.fuse == Some(Fuse::Injective) => Some(Kind::Gathers),
        Lower::Nest(_) | Lower::Nests(_) | Lower::Product(_) | Lower::Windows(..) => Some(Kind::Computes),
    }
}

impl Legalize<'_> {
    fn call(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let def = self.cx.called(module, expr)?;
        if def.name == CAST.name {
            return self.conversion(module, expr);
        }
        let kind = kind(def)?;
        if def.limit.is_some_and(|may_be| may_be(module.call_attrs(expr))) {
            return None;
        }
        let operands = args(module, expr);
        let tensors: Vec<ExprId> = operands.iter().flat_map(|&operand| self.tensors(module, operand)).collect();
        let taken = match kind {
            Kind::Computes => tensors.iter().any(|&tensor| dtype(module, tensor).is_some_and(is_half)),
            Kind::Scalar | Kind::Gathers | Kind::Moves => tensors.iter().any(|tensor| self.wide.contains_key(tensor)),
        };
        let of_nothing = tensors.iter().any(|&tensor| dims(module, tensor).is_some_and(|dims| dims.contains(&Dim::known(0))));
        (taken && !of_nothing).then_some(())?;
        let outs = self.result_dtypes(module, expr)?;
        let span = module.exprs[expr].span;
        if kind == Kind::Scalar {
            return outs.iter().any(|&out| is_half(out)).then(|| self.narrow(module, span, expr, outs[0]));
        }
        let operands: Vec<ExprId> = operands.into_iter().map(|operand| self.widened(module, operand)).collect::<Option<_>>()?;
        let values = module.call_attrs(expr).iter().cloned().map(|value| match value {
            AttrValue::DType(Some(dtype)) if is_half(dtype) => AttrValue::DType(Some(DType::F32)),
            value => value,
        });
        let values = values.collect();
        let call = self.cx.typed_call(module, span, def, &operands, values)?;
        let computed = self.result_dtypes(module, call)?;
        let wider = |(&out, &computed): (&DType, &DType)| computed == (if is_half(out) { DType::F32 } else { out });
        (outs.len() == computed.len() && outs.iter().zip(&computed).all(wider)).then_some(())?;
        let Some(tys) = module.types.as_tuple(module.ty(call)).map(<[_]>::to_vec) else {
            return Some(self.rounded(module, span, call, outs[0], kind));
        };
        let mut fields = vec![];
        for (at, (ty, out)) in tys.into_iter().zip(outs).enumerate() {
            let field = typed(module, span, ExprKind::Proj { tuple: call, index: at as i32 }, ty);
            fields.push(self.rounded(module, span, field, out, kind));
        }
        let fields = tuple(module, span, &fields);
        self.split.insert(fields);
        Some(fields)
    }

    /// A conversion of the float32 tensor with the same numbers, if there is one.
    fn conversion(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        let [data] = args(module, expr).try_into().ok()?;
        let wide = *self.wide.get(&data)?;
        match dtype(module, expr)? {
            DType::F32 => Some(wide),
            to => Some(self.cast(module, module.exprs[expr].span, wide, to)),
        }
    }

    fn cast(&self, module: &mut Module, span: Span, data: ExprId, to: DType) -> ExprId {
        let values = CAST.attrs.map_or(vec![], |attrs| attrs.values(&[("dtype", AttrValue::DType(Some(to)))]));
        self.cx.call(module, span, &CAST, &[data], values)
    }

    /// The tensors of an operand: the fields of a tuple that is written out.
    fn tensors(&self, module: &Module, operand: ExprId) -> Vec<ExprId> {
        match module.exprs[operand].kind {
            ExprKind::Tuple(_) => args(module, operand),
            _ => vec![operand],
        }
    }

    /// The operand with float32 for 16-bit floats; `None` for a tuple that is not written out.
    fn widened(&mut self, module: &mut Module, operand: ExprId) -> Option<ExprId> {
        let span = module.exprs[operand].span;
        if let ExprKind::Tuple(_) = module.exprs[operand].kind {
            let fields = args(module, operand);
            let fields: Vec<ExprId> = fields.into_iter().map(|field| self.widened(module, field)).collect::<Option<_>>()?;
            return Some(tuple(module, span, &fields));
        }
        if !is_half(dtype(module, operand)?) {
            return Some(operand);
        }
        if let Some(&wide) = self.wide.get(&operand) {
            return Some(wide);
        }
        Some(self.cast(module, span, operand, DType::F32))
    }

    /// The dtypes of a call's results.
    fn result_dtypes(&self, module: &Module, call: ExprId) -> Option<Vec<DType>> {
        let ty = module.ty(call);
        let dtype = |ty| module.types.as_tensor(ty).map(|(_, dtype)| dtype);
        match module.types.as_tuple(ty) {
            Some(fields) => fields.iter().map(|&field| dtype(field)).collect(),
            None => Some(vec![dtype(ty)?]),
        }
    }

    /// A tensor computed in float32 as a 16-bit one, if `to` is.
    fn rounded(&mut self, module: &mut Module, span: Span, computed: ExprId, to: DType, kind: Kind) -> ExprId {
        match kind {
            _ if !is_half(to) => computed,
            Kind::Moves => self.of_wide(module, span, computed, to),
            _ => {
                let rounded = self.cast(module, span, computed, to);
                self.narrow(module, span, rounded, to)
            }
        }
    }

    /// A 16-bit tensor, by way of float32.
    fn narrow(&mut self, module: &mut Module, span: Span, half: ExprId, to: DType) -> ExprId {
        let wide = self.cast(module, span, half, DType::F32);
        self.of_wide(module, span, wide, to)
    }

    /// The 16-bit tensor with the numbers of a float32 one.
    fn of_wide(&mut self, module: &mut Module, span: Span, wide: ExprId, to: DType) -> ExprId {
        let narrow = self.cast(module, span, wide, to);
        self.wide.insert(narrow, wide);
        narrow
    }
}
