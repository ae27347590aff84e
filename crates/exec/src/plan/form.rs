//! Forms of groups: their operators and how these are connected, without shapes and other sizes. Programs of one network number them
//! alike. Absent: the memory of operands ([`super::repeat`]).

use super::group_plans::GroupPlans;
use super::order::{Lets, see_through};
use relayc_base::Idx;
use relayc_ir::attrs::AttrValue;
use relayc_ir::types::{DType, Ty};
use relayc_ir::{ExprId, ExprKind, FuncId, Module};
use rustc_hash::FxHashMap;

/// The form of a group.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) number: u64,
    /// Its constants, its calls, and those of the calls whose attributes have sizes, in order.
    pub(super) constants: Vec<ExprId>,
    pub(super) calls: Vec<ExprId>,
    pub(super) sized: Vec<ExprId>,
}

impl Form {
    /// The form of a group with these expressions. `None` if something else than operators with plain attributes is in it.
    pub(super) fn of(module: &Module, func: FuncId, order: &[ExprId], lets: &Lets, groups: &GroupPlans) -> Option<Form> {
        let mut form = Form { number: 0, constants: vec![], calls: vec![], sized: vec![] };
        let words = form.words(module, func, order, lets)?;
        form.number = groups.number(words.0);
        Some(form)
    }

    fn words(&mut self, module: &Module, func: FuncId, order: &[ExprId], lets: &Lets) -> Option<Words> {
        let mut words = Words::default();
        let params = &module.funcs[func].params;
        let numbers: FxHashMap<ExprId, u64> = order.iter().zip(0..).map(|(&expr, at)| (expr, at)).collect();
        let number = |expr| numbers.get(&see_through(module, lets, expr)).copied();
        words.0.extend([order.len() as u64, number(module.funcs[func].body)?]);
        for &expr in order {
            match module.exprs[expr].kind {
                ExprKind::Var(var) => match params.iter().position(|&param| param == var) {
                    Some(at) => words.0.extend([0, at as u64]),
                    None => words.0.extend([1, number(expr)?]),
                },
                ExprKind::Const(_) => {
                    words.0.push(2);
                    words.constant(module, expr)?;
                    self.constants.push(expr);
                }
                ExprKind::Tuple(fields) => {
                    words.0.push(3);
                    words.numbers(module.items(fields).iter().map(|field| number(field.expr)))?;
                }
                ExprKind::Proj { tuple, index } => words.0.extend([4, number(tuple)?, index as u64]),
                ExprKind::Call { args, .. } => {
                    words.0.extend([5, module.called_op(expr)?.index() as u64]);
                    words.numbers(module.items(args).iter().map(|arg| number(arg.expr)))?;
                    let attrs = module.call_attrs(expr);
                    words.attrs(attrs, true)?;
                    if attrs.iter().any(has_size) {
                        self.sized.push(expr);
                    }
                    let outs = outs(module, expr);
                    words.0.push(outs.len() as u64);
                    for &out in outs {
                        let (shape, dtype) = module.types.as_tensor(out)?;
                        words.dtype(dtype);
                        words.0.push(shape.len() as u64);
                    }
                    self.calls.push(expr);
                }
                _ => return None,
            }
        }
        Some(words)
    }
}

/// The tensors that a call computes.
pub(super) fn outs(module: &Module, call: ExprId) -> &[Ty] {
    let ty = module.expr_tys[call].as_ref();
    let fields = ty.and_then(|&ty| module.types.as_tuple(ty));
    fields.or(ty.map(std::slice::from_ref)).unwrap_or_default()
}

fn has_size(attr: &AttrValue) -> bool {
    match attr {
        AttrValue::Symbol(_) => true,
        AttrValue::List(items) => items.iter().any(has_size),
        _ => false,
    }
}

/// What something is, in words. Every list is preceded by its length, and every alternative by its number, so that no two things have
/// the same words.
#[derive(Default)]
pub(super) struct Words(pub(super) Vec<u64>);

impl Words {
    pub(super) fn list(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        self.0.push(words.len() as u64);
        self.0.extend(words);
    }

    pub(super) fn dtype(&mut self, dtype: DType) {
        self.0.push(dtype.code as u64 | u64::from(dtype.bits) << 8 | u64::from(dtype.lanes) << 16);
    }

    /// A list that is described as a whole, or not at all.
    fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = Option<u64>>) -> Option<()> {
        self.0.push(numbers.len() as u64);
        for number in numbers {
            self.0.push(number?);
        }
        Some(())
    }

    /// A constant: a number, or a tensor of any elements.
    fn constant(&mut self, module: &Module, expr: ExprId) -> Option<()> {
        let ExprKind::Const(id) = module.exprs[expr].kind else { return None };
        let value = &module.consts[id];
        if value.shape().is_empty() {
            let bytes = value.to_le_bytes();
            let mut bits = [0; 8];
            bits.get_mut(..bytes.len())?.copy_from_slice(&bytes);
            self.0.extend([1, u64::from_le_bytes(bits)]);
        } else {
            self.0.push(2);
        }
        self.dtype(value.dtype());
        self.list(value.shape().iter().map(|&dim| dim as u64));
        Some(())
    }

    /// Attributes. Those that are sizes have the same words for any size if they are `open`, and are not described otherwise.
    pub(super) fn attrs(&mut self, attrs: &[AttrValue], open: bool) -> Option<()> {
        self.0.push(attrs.len() as u64);
        attrs.iter().try_for_each(|attr| self.attr(attr, open))
    }

    fn attr(&mut self, attr: &AttrValue, open: bool) -> Option<()> {
        match attr {
            AttrValue::None => self.0.push(0),
            AttrValue::Bool(value) => self.0.extend([1, u64::from(*value)]),
            AttrValue::Int { value, bits } => self.0.extend([2, *value as u64, u64::from(*bits)]),
            AttrValue::Float { value, bits } => self.0.extend([3, value.to_bits(), u64::from(*bits)]),
            AttrValue::Str(text) => {
                self.0.push(4);
                self.list(text.bytes().map(u64::from));
            }
            AttrValue::DType(dtype) => {
                self.0.extend([5, u64::from(dtype.is_some())]);
                dtype.iter().for_each(|&dtype| self.dtype(dtype));
            }
            AttrValue::List(items) => {
                self.0.push(6);
                self.attrs(items, open)?;
            }
            AttrValue::Any => self.0.push(7),
            AttrValue::Symbol(_) if open => self.0.push(8),
            AttrValue::Symbol(_) | AttrValue::Object(_) | AttrValue::Const(..) | AttrValue::Expr(_) => return None,
        }
        Some(())
    }
}
