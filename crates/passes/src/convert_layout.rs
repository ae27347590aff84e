//! Has operators work in layouts that are asked for: TVM's `ConvertLayout` (`src/relay/transforms/convert_layout.cc`,
//! `transform_layout.h`).
//!
//! An operator with a desired layout gets it, and its operands are transformed to it. What follows works in that layout too, if it can: its
//! axes are changed with it, and a value is only transformed back where something does not follow. Biases become additions first.
//!
//! The rewrite is sound because a transform moves elements and nothing else, and an operator's declaration says what its call means in
//! another layout (`relayc_ops::layouts_of`). A call whose type is not the transformed one stays as it was. Sums are taken in another order.
//!
//! ```text
//! nn.relu(nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO"))
//! →
//! layout_transform(nn.relu(nn.conv2d(layout_transform(%x, "NHWC", "NCHW"), layout_transform(%w, "HWIO", "OIHW"))), "NCHW", "NHWC")
//! ```

use super::build::{ExprKey, args, project, tuple};
use super::canonicalise::bias;
use super::effects::Pure;
use super::rewrite::{rewrite, with_children};
use super::step::{ArgKind, Param};
use super::{Pass, PassCx, Stop, refused};
use relayc_base::diag::Diagnostic;
use relayc_ir::types::{Ty, dims_of};
use relayc_ir::{AttrValue, ExprId, ExprKind, FuncId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{EXPAND_DIMS, LAYOUT_TRANSFORM};
use relayc_ops::layouts_of::{Asked, Layouts, desired, layouts_of};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "convert-layout",
    doc: "Has convolutions, pooling and what follows them work in desired layouts, such as NHWC.",
    params: &[Param {
        name: "layouts",
        kind: ArgKind::WordLists,
        default: "{}",
        doc: "the layouts of each operator's data and weight, `{nn.conv2d=[NHWC, default]}`",
    }],
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    let wanted = cx.args.word_lists("layouts");
    rewrite(module, |module, expr| bias(module, cx, expr));
    let funcs: Vec<FuncId> = module.globals.iter().map(|global| global.func).collect();
    for func in funcs {
        if module.funcs[func].is_for_a_compiler() {
            continue;
        }
        let body = module.funcs[func].body;
        let order = module.post_order(&[body]);
        let mut convert = Convert {
            cx,
            wanted: &wanted,
            pure: Pure::of(module, &order),
            done: FxHashMap::default(),
            layouts: FxHashMap::default(),
            tuples: FxHashMap::default(),
            transforms: FxHashMap::default(),
        };
        for expr in order {
            let new = convert.visit(module, expr).map_err(|why| {
                let stop = Stop::from(why).at(module.exprs[expr].span);
                refused(&PASS, stop)
            })?;
            convert.done.insert(expr, new);
        }
        let new = convert.done[&body];
        module.funcs[func].body = convert.settled(module, new);
    }
    Ok(true)
}

/// The layouts of a value in the program and at hand.
#[derive(Clone)]
struct Held {
    old: String,
    new: String,
}

struct Convert<'a> {
    cx: &'a PassCx<'a>,
    wanted: &'a [(&'a str, Vec<&'a str>)],
    pure: Pure,
    done: FxHashMap<ExprId, ExprId>,
    /// The values that are held in a layout that need not be that of the program.
    layouts: FxHashMap<ExprId, Held>,
    /// Tuples with their fields in the layouts of the program.
    tuples: FxHashMap<ExprId, ExprId>,
    /// The transforms so far, by their operand and both layouts.
    transforms: FxHashMap<(ExprKey, String, String), ExprId>,
}

impl Convert<'_> {
    fn visit(&mut self, module: &mut Module, expr: ExprId) -> Result<ExprId, String> {
        let mut children = Vec::new();
        module.children(expr, &mut children);
        let mut new: Vec<ExprId> = children.iter().map(|child| self.done[child]).collect();
        match module.exprs[expr].kind {
            // Fields stay in the layouts in which they are held until something uses the tuple. What it uses then is made now, of fields
            // whose own is made already.
            ExprKind::Tuple(_) => {
                let tuple = with_children(module, expr, &new);
                let fields: Vec<ExprId> = new.into_iter().map(|field| self.settled(module, field)).collect();
                let settled = with_children(module, tuple, &fields);
                self.tuples.insert(tuple, settled);
                return Ok(tuple);
            }
            // Of a tuple that this pass made of a call, or of one of the program whose other fields have no effects.
            ExprKind::Proj { tuple, index } => {
                let is_tuple = |expr: ExprId| matches!(module.exprs[expr].kind, ExprKind::Tuple(_));
                if is_tuple(new[0]) && (!is_tuple(tuple) || self.pure.is(tuple)) {
                    return Ok(args(module, new[0])[index as usize]);
                }
            }
            ExprKind::Call { .. } => {
                if let Some(def) = self.cx.called(module, expr)
                    && let Some(converted) = self.call(module, expr, def, &new[1..])?
                {
                    return Ok(converted);
                }
            }
            _ => {}
        }
        for child in &mut new {
            *child = self.settled(module, *child);
        }
        Ok(with_children(module, expr, &new))
    }

    /// A value in the layout of the program.
    fn settled(&mut self, module: &mut Module, expr: ExprId) -> ExprId {
        if let Some(Held { old, new }) = self.layouts.get(&expr).cloned() {
            return self.transformed(module, expr, &new, &old).unwrap_or(expr);
        }
        self.tuples.get(&expr).copied().unwrap_or(expr)
    }

    /// A value in another layout; `None` if the two have other letters.
    fn transformed(&mut self, module: &mut Module, expr: ExprId, from: &str, to: &str) -> Option<ExprId> {
        let is_scalar = module.types.as_tensor(module.ty(expr)).is_some_and(|(shape, _)| shape.is_empty());
        if from == to || is_scalar {
            return Some(expr);
        }
        let key = (ExprKey::of(module, expr), from.to_owned(), to.to_owned());
        if let Some(&known) = self.transforms.get(&key) {
            return Some(known);
        }
        let span = module.exprs[expr].span;
        // Letters that the value does not have become axes in front.
        let missing: String = to.chars().filter(|letter| !from.contains(*letter)).collect();
        let (mut data, whole) = (expr, format!("{missing}{from}"));
        if !missing.is_empty() && from.len() < to.len() {
            let set = [("axis", AttrValue::int(0)), ("num_newaxis", AttrValue::int(missing.len() as i64))];
            let attrs = EXPAND_DIMS.attrs?.values(&set);
            data = self.cx.typed_call(module, span, &EXPAND_DIMS, &[data], attrs)?;
        }
        if whole.len() != to.len() {
            return None;
        }
        if whole != to {
            let set = [("src_layout", AttrValue::str(&whole)), ("dst_layout", AttrValue::str(to))];
            let attrs = LAYOUT_TRANSFORM.attrs?.values(&set);
            data = self.cx.typed_call(module, span, &LAYOUT_TRANSFORM, &[data], attrs)?;
        }
        self.transforms.insert(key, data);
        Some(data)
    }

    /// A call in the layout that is desired, or that its operands are held in; `None` if nothing is known of it.
    fn call(
        &mut self,
        module: &mut Module,
        expr: ExprId,
        def: &'static OpDef,
        operands: &[ExprId],
    ) -> Result<Option<ExprId>, String> {
        // The tensors among the operands, with those in tuples.
        let flat: Vec<ExprId> = operands.iter().flat_map(|&operand| fields(module, operand)).collect();
        let tys: Vec<Ty> = args(module, expr).iter().flat_map(|&arg| tensor_types(module, module.ty(arg))).collect();
        if flat.len() != tys.len() {
            return Ok(None);
        }
        let held: Vec<Option<Held>> = flat.iter().map(|tensor| self.layouts.get(tensor).cloned()).collect();
        let shapes: Vec<Option<Vec<i64>>> =
            tys.iter().map(|&ty| module.types.as_tensor(ty).and_then(|(shape, _)| dims_of(shape))).collect();
        let ranks: Vec<usize> = tys.iter().map(|&ty| module.types.as_tensor(ty).map_or(0, |(shape, _)| shape.len())).collect();
        let attrs = module.call_attrs(expr).to_vec();
        let old: Vec<Option<String>> = held.iter().map(|held| held.as_ref().map(|held| held.old.clone())).collect();
        let first = Asked { def, attrs: &attrs, old: &old, new: None, shapes: &shapes, ranks: &ranks };
        let Some(before) = layouts_of(&first).filter(|before| before.inputs.len() == flat.len()) else { return Ok(None) };
        let chosen = match self.wanted.iter().find(|(name, _)| *name == def.name) {
            Some((_, layouts)) => desired(&first, layouts).transpose()?,
            None => None,
        };
        let attrs = chosen.unwrap_or(before.attrs);
        let or_before = |at: usize, layout: Option<&String>| layout.cloned().unwrap_or_else(|| before.inputs[at].clone());
        let now: Vec<String> =
            held.iter().enumerate().map(|(at, held)| or_before(at, held.as_ref().map(|held| &held.new))).collect();
        let known: Vec<Option<String>> = old.iter().enumerate().map(|(at, old)| Some(or_before(at, old.as_ref()))).collect();
        let second = Asked { def, attrs: &attrs, old: &known, new: Some(&now), shapes: &shapes, ranks: &ranks };
        let Some(after) = layouts_of(&second) else { return Ok(None) };
        if after.inputs.len() != flat.len() || after.outputs.len() != before.outputs.len() {
            return Ok(None);
        }
        let mut moved = Vec::new();
        for (at, &tensor) in flat.iter().enumerate() {
            let there = self.operand(module, tensor, held[at].as_ref(), &before.inputs[at], &now[at], &after.inputs[at]);
            let Some(there) = there else { return Ok(None) };
            moved.push(there);
        }
        let operands = regrouped(module, operands, moved);
        Ok(self.result(module, expr, def, &operands, (before.outputs, after)))
    }

    /// An operand in the layout that the call takes. What is held in the layout of the program, which the call wants otherwise, comes back
    /// to that first.
    fn operand(
        &mut self,
        module: &mut Module,
        tensor: ExprId,
        held: Option<&Held>,
        before: &str,
        now: &str,
        after: &str,
    ) -> Option<ExprId> {
        match held {
            Some(held) if held.old == before => self.transformed(module, tensor, now, after),
            Some(held) => {
                let back = self.transformed(module, tensor, now, &held.old)?;
                self.transformed(module, back, before, after)
            }
            None => self.transformed(module, tensor, before, after),
        }
    }

    /// The new call, with the layouts of its results; `None` if it is not the old one in another layout.
    fn result(
        &mut self,
        module: &mut Module,
        expr: ExprId,
        def: &'static OpDef,
        operands: &[ExprId],
        (before, after): (Vec<String>, Layouts),
    ) -> Option<ExprId> {
        let span = module.exprs[expr].span;
        let old_ty = module.ty(expr);
        let call = self.cx.typed_call(module, span, def, operands, after.attrs)?;
        let (old_tys, new_tys) = (tensor_types(module, old_ty), tensor_types(module, module.ty(call)));
        let pairs = before.iter().zip(&after.outputs);
        let same = old_tys.len() == new_tys.len() && old_tys.len() == after.outputs.len();
        if !same || !pairs.zip(old_tys.iter().zip(&new_tys)).all(|(layouts, tys)| is_moved(module, layouts, tys)) {
            return None;
        }
        let held = before.into_iter().zip(after.outputs).map(|(old, new)| Held { old, new });
        if module.types.as_tuple(old_ty).is_none() {
            self.layouts.extend(held.map(|held| (call, held)));
            return Some(call);
        }
        let (mut fields, mut settled) = (Vec::new(), Vec::new());
        for (at, held) in held.enumerate() {
            let field = project(module, span, call, at);
            self.layouts.insert(field, held);
            fields.push(field);
            settled.push(self.settled(module, field));
        }
        let (fields, settled) = (tuple(module, span, &fields), tuple(module, span, &settled));
        self.tuples.insert(fields, settled);
        Some(fields)
    }
}

/// Whether a type is another with its axes in another order.
fn is_moved(module: &Module, (old, new): (&String, &String), (&old_ty, &new_ty): (&Ty, &Ty)) -> bool {
    let (Some((before, _)), Some((after, _))) = (module.types.as_tensor(old_ty), module.types.as_tensor(new_ty)) else {
        return false;
    };
    if before.len() != old.len() || after.len() != new.len() || old.len() != new.len() {
        return old == new && old_ty == new_ty;
    }
    new.chars().zip(after).all(|(letter, dim)| old.find(letter).is_some_and(|at| before[at].value() == dim.value()))
}

/// The tensors of an operand: itself, or the fields of a tuple.
fn fields(module: &Module, expr: ExprId) -> Vec<ExprId> {
    match module.exprs[expr].kind {
        ExprKind::Tuple(_) => args(module, expr),
        _ => vec![expr],
    }
}

fn tensor_types(module: &Module, ty: Ty) -> Vec<Ty> {
    module.types.as_tuple(ty).map_or_else(|| vec![ty], <[Ty]>::to_vec)
}

/// The operands of a call with other tensors.
fn regrouped(module: &mut Module, operands: &[ExprId], tensors: Vec<ExprId>) -> Vec<ExprId> {
    let mut tensors = tensors.into_iter();
    let mut grouped = Vec::new();
    for &operand in operands {
        match module.exprs[operand].kind {
            ExprKind::Tuple(fields) => {
                let fields: Vec<ExprId> = tensors.by_ref().take(fields.len()).collect();
                grouped.push(tuple(module, module.exprs[operand].span, &fields));
            }
            _ => grouped.extend(tensors.next()),
        }
    }
    grouped
}
