//! Loops that converters write themselves, over a length that only a run knows: a function that calls itself.
//!
//! ```text
//! let %turns = fn (%i: int64, %v: T, %s: Tensor[(?, …), …]) -> (T, Tensor[(?, …), …]) {
//!   if (less(%i, %n)) { …; %turns(add(%i, 1i64), %v', concatenate((%s, expand_dims(%s', axis=0)))) } else { (%v, %s) }
//! };
//! ```

use super::build::{Turn, Val};
use super::cx::{Cx, Result, dims_attr};
use super::errors::Refusal;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, Ty};
use relayc_ir::{AttrValue, ExprKind, VarId};

/// What a turn gives: the values that the next one takes, and one that is stacked over all turns.
pub(crate) type Given = (Vec<Val>, Val);

impl Cx<'_> {
    /// A new variable of a type.
    fn variable(&mut self, name: &str, ty: Ty) -> (VarId, Val) {
        let free = self.names.free(name);
        self.b.var(&free, ty)
    }

    /// A value that the inside of a function may mention without computing it again: a variable, or a constant.
    pub(crate) fn bound(&mut self, name: &str, value: Val) -> Val {
        if matches!(self.b.kind(value), ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Error) {
            return value;
        }
        let ty = self.b.ty(value);
        let (var, variable) = self.variable(name, ty);
        self.b.alias(variable, value);
        self.lets.push((var, value));
        variable
    }

    /// Runs `turn` for the numbers from 0 to `n`, an int64, on values that begin as `init`; the last values, and what was stacked
    /// along a new first axis. A turn must not change types, and what it mentions from outside must be [`Cx::bound`].
    pub(crate) fn turns(
        &mut self,
        n: Val,
        init: &[Val],
        stacked: (&[Dim], DType),
        turn: impl FnOnce(&mut Self, Val, &[Val]) -> Result<Given>,
    ) -> Result<Given> {
        let n = self.bound("n", n);
        let int = self.b.module.types.scalar(DType::I64);
        let (i_var, i) = self.variable("i", int);
        let types: Vec<Ty> = init.iter().map(|&val| self.b.ty(val)).collect();
        let carried: Vec<(VarId, Val)> = types.iter().map(|&ty| self.variable("state", ty)).collect();
        let (dims, dtype) = stacked;
        let all: Vec<Dim> = std::iter::once(Dim::Any).chain(dims.iter().copied()).collect();
        let all_ty = self.b.module.types.tensor(&all, dtype);
        let (all_var, all) = self.variable("states", all_ty);
        let values: Vec<Val> = carried.iter().map(|(_, val)| *val).collect();

        let outer = std::mem::take(&mut self.lets);
        let given = turn(self, i, &values);
        let lets = std::mem::replace(&mut self.lets, outer);
        let (mut next, shown) = given?;
        if next.iter().zip(&types).any(|(&val, &ty)| self.b.ty(val) != ty) {
            return Err(Refusal::unsupported("a state whose type changes from step to step"));
        }
        let one = self.constant(Tensor::scalar(1i64));
        let behind = self.binary("add", i, one)?;
        let shown = self.expand_dims(shown, 0, 1)?;
        let longer = self.concatenate(&[all, shown], 0)?;
        next.insert(0, behind);
        next.push(longer);

        let ret: Vec<Ty> = types.iter().copied().chain([all_ty]).collect();
        let ret = self.b.together_ty(&ret);
        let params: Vec<VarId> = std::iter::once(i_var).chain(carried.iter().map(|(var, _)| *var)).chain([all_var]).collect();
        let fn_ty = self.b.function_ty(&params, ret);
        let (turns_var, myself) = self.variable("turns", fn_ty);
        self.b.forget_ty(turns_var);
        let go = self.binary("less", i, n)?;
        let done = values.into_iter().chain([all]).collect();
        let function = self.b.recursion(myself, &params, go, Turn { lets, next, done }, ret);
        self.lets.push((turns_var, function));

        let zero = self.constant(Tensor::scalar(0i64));
        let nothing: Vec<Dim> = std::iter::once(Dim::known(0)).chain(dims.iter().copied()).collect();
        let nothing = self.call("zeros", &[], &[("shape", dims_attr(&nothing)), ("dtype", AttrValue::DType(Some(dtype)))])?;
        let args: Vec<Val> = std::iter::once(zero).chain(init.iter().copied()).chain([nothing]).collect();
        let result = self.b.apply(myself, &args, ret);
        let result = self.bound("ended", result);
        let last: Vec<Val> = (0..init.len()).map(|index| self.field(result, index)).collect::<Result<_>>()?;
        Ok((last, self.field(result, init.len())?))
    }
}
