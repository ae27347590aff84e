//! Lets convolutions work on blocks of channels: `NCHW` becomes `NCHW16c` wherever the neighbouring operators allow it. TVM's
//! `AlterOpLayout` (`src/relay/transforms/alter_op_layout.cc`).
//!
//! The rewrite is sound because a layout determines only where elements lie. Each rewritten call is the same call between two
//! `layout_transform`s, and two transforms that undo each other are removed. The block depends on the number of channels alone,
//! so a convolution reads the layout that the convolution before it writes. The block is the length of a vector if that divides
//! the channels and no group is cut, else all channels, which makes them the last axis. Tensors with up to 4 channels, such as
//! images, keep their layout. Operators that work element by element, join, split, pad, pool, resize or reduce height and width
//! take over the layout of their operand, and convolutions read channels that are last where they lie. All other operators get plain
//! `NCHW`. Weights stay `OIHW`: the plan packs them. Where height and width are 1, a `reshape` replaces the transform and no element
//! moves.
//!
//! Does not rewrite other dtypes than float32 and products of bytes, other layouts than `NCHW`, and 1D and 3D convolutions.
//!
//! ```text
//! %0 = nn.conv2d(%x, %w, …);       %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW16c");
//! nn.relu(%0)                 →    %1 = nn.conv2d(%0, %w, …, data_layout="NCHW16c", out_layout="NCHW16c");
//!                                  %2 = nn.relu(%1);
//!                                  layout_transform(%2, src_layout="NCHW16c", dst_layout="NCHW")
//! ```

use super::build::{args, dtype, set_ty, shape, value_of};
use super::rewrite::rewrite;
use super::{Pass, PassCx};
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId, ExprKind, Module, Operand, VarId};
use relayc_ops::blocks::{Blocks, Channels, Ends, PLAIN};
use relayc_ops::declarations::{LAYOUT_TRANSFORM, RESHAPE, STRIDED_SLICE};
use relayc_ops::lower::{self, Lower};
use relayc_ops::{Fuse, OpDef};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "alter-op-layout",
    doc: "Has convolutions and what is between them work on blocks of channels. `NCHW` becomes `NCHW16c`, `NCHW8c` or all channels last, \
          with transforms at the borders only.",
    level: 3,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// More channels than this are not put next to each other.
const MAX_BLOCK: i64 = 2048;

/// Points that are a multiple of so many channels apart displace each other in the first-level cache: 2 KiB, of which a way has two.
const DISPLACING: i64 = 512;

/// Tensors with so few channels stay as they are.
const FEW_CHANNELS: i64 = 4;

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let mut alter = Alter { cx, blocked: FxHashMap::default(), vars: FxHashMap::default() };
    rewrite(module, |module, expr| alter.visit(module, expr))
}

struct Alter<'a> {
    cx: &'a PassCx<'a>,
    /// The same tensor in blocks, by the expression that others know and the block.
    blocked: FxHashMap<ExprId, Vec<(i64, ExprId)>>,
    /// The first mention of each variable, which all others are.
    vars: FxHashMap<VarId, ExprId>,
}

/// The axis inside a block.
const LAST: usize = 4;

/// The dimensions of a tensor in `NCHW`.
type Nchw = [i64; 4];

impl Alter<'_> {
    /// The replacement of a call, or of a piece of a tensor that is split: a transform of a call on blocks.
    fn visit(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        if let ExprKind::Proj { tuple, index } = module.exprs[expr].kind {
            let (call, block) = self.piece(module, expr, tuple, index as usize)?;
            return self.known(module, call, nchw(module, expr)?, block);
        }
        let def = self.cx.called(module, expr).filter(|def| !def.internal)?;
        let out = nchw(module, expr)?;
        let (call, block) = match (def.blocks, &def.lower) {
            (Some(Blocks::Product(of)), _) => {
                let operand = *args(module, expr).first()?;
                let mut data = self.channels(nchw(module, operand)?[1]);
                // Channels that are last stay there: to move them costs more than it gives.
                if let Some((_, block)) = self.first_blocked(operand)
                    && block == data.count
                    && block % DISPLACING != 0
                {
                    data.block = Some(block);
                }
                // A word of bytes, whose products are added at once.
                if dtype(module, expr) == Some(DType::I32) && data.count == FEW_CHANNELS {
                    data.block = Some(FEW_CHANNELS);
                }
                let out = self.channels(out[1]);
                let whole = |channels: Channels| Channels { block: Some(channels.count), ..channels };
                // Blocks that cut groups give way to channels that are last.
                let ends = [Ends { data, out }, Ends { data: whole(data), out: whole(out) }];
                let n_ends = if data.count.max(out.count) <= MAX_BLOCK { 2 } else { 1 };
                let call_attrs = module.call_attrs(expr);
                let with = |ends: Ends| Some((ends, of(def.attrs?, call_attrs, ends)?));
                let (Ends { data, out }, attrs) = ends.into_iter().take(n_ends).find_map(with)?;
                (self.product(module, expr, def, data, attrs)?, out.block)
            }
            (Some(Blocks::Same(of)), _) => {
                let (_, block) = self.first_blocked(*args(module, expr).first()?)?;
                let attrs = of(def.attrs?, module.call_attrs(expr), Channels { count: out[1], block: Some(block) })?;
                (self.same(module, expr, def, block, attrs)?, Some(block))
            }
            (None, Some(Lower::Join(axis))) => {
                let (call, block) = self.join(module, expr, def, *axis)?;
                (call, Some(block))
            }
            (None, lower) if is_elementwise(module, expr, def, lower.as_ref()) => {
                let (call, block) = self.elementwise(module, expr, def, out)?;
                (call, Some(block))
            }
            _ => return None,
        };
        match block {
            Some(block) => self.known(module, call, out, block),
            None => Some(call),
        }
    }

    /// The plain form of a call whose result is in blocks, remembered with it.
    fn known(&mut self, module: &mut Module, call: ExprId, out: Nchw, block: i64) -> Option<ExprId> {
        // What the relation says must be what the blocks mean.
        if shape(module, call)? != blocked_shape(out, block) {
            return None;
        }
        let plain = self.moved(module, call, out, Some(block), None)?;
        self.blocked.insert(plain, vec![(block, call)]);
        Some(plain)
    }

    /// The block that tensors of so many channels have.
    fn channels(&self, count: i64) -> Channels {
        let lanes = self.cx.lanes as i64;
        let block = match count {
            _ if count <= FEW_CHANNELS => None,
            _ if count % lanes == 0 => Some(lanes),
            _ => (count <= MAX_BLOCK).then_some(count),
        };
        Channels { count, block }
    }

    /// A tensor that some call has in blocks already, the first of them.
    fn first_blocked(&self, expr: ExprId) -> Option<(ExprId, i64)> {
        self.blocked.get(&expr)?.first().map(|&(block, blocked)| (blocked, block))
    }

    /// A convolution: its data is put in blocks whatever it was.
    fn product(
        &mut self,
        module: &mut Module,
        expr: ExprId,
        def: &OpDef,
        data: Channels,
        attrs: Vec<AttrValue>,
    ) -> Option<ExprId> {
        let mut args = args(module, expr);
        let dtypes = args.iter().chain([&expr]).map(|&tensor| dtype(module, tensor)).collect::<Option<Vec<DType>>>()?;
        let weights = dtypes.get(1).is_some_and(|dtype| [DType::I8, DType::I16, DType::I32].contains(dtype));
        let bytes = weights && [dtypes.first(), dtypes.last()] == [Some(&DType::U8), Some(&DType::I32)];
        if !bytes && dtypes.iter().any(|&dtype| dtype != DType::F32) {
            return None;
        }
        if let Some(block) = data.block {
            args[0] = self.in_blocks(module, args[0], block)?;
        }
        self.typed_call(module, expr, def, &args, attrs)
    }

    fn same(&mut self, module: &mut Module, expr: ExprId, def: &OpDef, block: i64, attrs: Vec<AttrValue>) -> Option<ExprId> {
        let mut args = args(module, expr);
        args[0] = self.in_blocks(module, args[0], block)?;
        self.typed_call(module, expr, def, &args, attrs)
    }

    /// Tensors one after the other: in blocks of vectors, if the first of those in blocks has these and they divide all, else with the
    /// channels last. `None` if none is in blocks.
    fn join(
        &mut self,
        module: &mut Module,
        expr: ExprId,
        def: &OpDef,
        axis: fn(&lower::Call) -> Option<usize>,
    ) -> Option<(ExprId, i64)> {
        let &[tuple] = &args(module, expr)[..] else { return None };
        let ExprKind::Tuple(_) = module.exprs[tuple].kind else { return None };
        let fields = args(module, tuple);
        let (_, first) = fields.iter().find_map(|&field| self.first_blocked(field))?;
        let shapes: Vec<Nchw> = fields.iter().map(|&field| nchw(module, field)).collect::<Option<_>>()?;
        let axis = axis(&lower::Call {
            attrs: module.call_attrs(expr),
            args: &[tensors(module, &fields)?],
            outs: &tensors(module, &[expr])?,
        })?;
        let joined = nchw(module, expr)?[1];
        let cut = first == self.cx.lanes as i64 && shapes.iter().all(|shape| shape[1] % first == 0);
        // Counted from the front, the axes of the plain layout stay where they are; channels that are last are joined there.
        let (block, axis) = match () {
            () if cut => (first, axis),
            () if joined > MAX_BLOCK => return None,
            () => (joined, if axis == 1 { LAST } else { axis }),
        };
        let own = |shape: &Nchw| if axis == LAST { shape[1] } else { block };
        let fields = fields.into_iter().zip(&shapes);
        let fields: Option<Vec<ExprId>> = fields.map(|(field, shape)| self.in_blocks(module, field, own(shape))).collect();
        let tuple = new_tuple(module, tuple, &fields?);
        let mut attrs = module.call_attrs(expr).to_vec();
        attrs[def.attrs?.position("axis")?] = AttrValue::int(axis as i64);
        Some((self.typed_call(module, expr, def, &[tuple], attrs)?, block))
    }

    /// A tensor's piece between two channels: a slice of its blocks, if they divide both, or of channels that are last.
    fn piece(&self, module: &mut Module, piece: ExprId, split: ExprId, index: usize) -> Option<(ExprId, i64)> {
        let def = self.cx.called(module, split).filter(|def| matches!(def.lower, Some(Lower::Split(_))))?;
        let &[data] = &args(module, split)[..] else { return None };
        let (whole, own) = (nchw(module, data)?, nchw(module, piece)?);
        let axis = module.call_attrs(split)[def.attrs?.position("axis")?].as_int()?;
        (axis.rem_euclid(whole.len() as i64) == 1).then_some(())?;
        let pieces = module.types.as_tuple(module.ty(split))?;
        let lengths: Option<Vec<i64>> =
            pieces[..index].iter().map(|&piece| module.types.as_tensor(piece)?.0[1].value()).collect();
        let begin: i64 = lengths?.iter().sum();
        let end = begin + own[1];
        let versions = self.blocked.get(&data)?;
        let cut = |&(block, version): &(i64, ExprId)| {
            (begin % block == 0 && end % block == 0).then_some((version, 1, [begin / block, end / block], block))
        };
        let last = |&(block, version): &(i64, ExprId)| (block == whole[1]).then_some((version, LAST, [begin, end], own[1]));
        let found = versions.iter().find_map(cut).or_else(|| versions.iter().find_map(last));
        let (version, axis, [begin, end], block) = found?;
        let ints = |value| AttrValue::ints(&[value]);
        let bounds = [("begin", ints(begin)), ("end", ints(end)), ("strides", ints(1)), ("axes", ints(axis as i64))];
        let bounds = STRIDED_SLICE.attrs?.values(&bounds);
        Some((self.typed_call(module, piece, &STRIDED_SLICE, &[version], bounds)?, block))
    }

    /// An operator that takes each element by itself, operands broadcast.
    fn elementwise(&mut self, module: &mut Module, expr: ExprId, def: &OpDef, out: Nchw) -> Option<(ExprId, i64)> {
        let operands = args(module, expr);
        let whole = |operand: &&ExprId| nchw(module, **operand) == Some(out);
        let (_, block) = operands.iter().filter(whole).find_map(|&operand| self.first_blocked(operand))?;
        let operands: Option<Vec<ExprId>> =
            operands.into_iter().map(|operand| self.broadcast(module, operand, out[1], block)).collect();
        let attrs = module.call_attrs(expr).to_vec();
        Some((self.typed_call(module, expr, def, &operands?, attrs)?, block))
    }

    /// An operand of an elementwise operator whose other operands are in blocks; `None` if that is not possible.
    fn broadcast(&mut self, module: &mut Module, operand: ExprId, channels: i64, block: i64) -> Option<ExprId> {
        let own = shape(module, operand)?;
        if own.iter().all(|&dim| dim == 1) {
            return (own.len() <= 5).then_some(operand);
        }
        let mut full = [1; 4];
        full.get_mut(4usize.checked_sub(own.len())?..)?.copy_from_slice(&own);
        if full[1] == channels {
            let is_vector = full[2..] == [1, 1] && !self.blocked.contains_key(&operand);
            if is_vector {
                return self.reshaped(module, operand, &blocked_shape(full, block));
            }
            let operand = self.reshaped(module, operand, &full)?;
            return self.in_blocks(module, operand, block);
        }
        self.reshaped(module, operand, &[full[0], full[1], full[2], full[3], 1])
    }

    /// A tensor in blocks, which all users share.
    fn in_blocks(&mut self, module: &mut Module, expr: ExprId, block: i64) -> Option<ExprId> {
        let expr = match module.exprs[expr].kind {
            ExprKind::Var(var) => *self.vars.entry(var).or_insert(expr),
            _ => expr,
        };
        let versions = self.blocked.get(&expr);
        if let Some(&(_, version)) = versions.into_iter().flatten().find(|(own, _)| *own == block) {
            return Some(version);
        }
        let of = nchw(module, expr)?;
        let version = match self.first_blocked(expr) {
            Some((other, own)) => self.moved(module, other, of, Some(own), Some(block))?,
            None => self.moved(module, expr, of, None, Some(block))?,
        };
        self.blocked.entry(expr).or_default().push((block, version));
        Some(version)
    }

    /// A tensor in another layout.
    fn moved(&self, module: &mut Module, expr: ExprId, of: Nchw, from: Option<i64>, to: Option<i64>) -> Option<ExprId> {
        // With one position, channels lie in their order in any blocks.
        if of[2] == 1 && of[3] == 1 {
            let shape = to.map_or(of.to_vec(), |block| blocked_shape(of, block));
            return self.reshaped(module, expr, &shape);
        }
        let layout = |block| AttrValue::str(&Channels { count: of[1], block }.layout());
        let attrs = LAYOUT_TRANSFORM.attrs?.values(&[("src_layout", layout(from)), ("dst_layout", layout(to))]);
        let span = module.exprs[expr].span;
        self.cx.typed_call(module, span, &LAYOUT_TRANSFORM, &[expr], attrs)
    }

    /// A tensor in another shape.
    fn reshaped(&self, module: &mut Module, expr: ExprId, to: &[i64]) -> Option<ExprId> {
        if shape(module, expr)? == to {
            return Some(expr);
        }
        let span = module.exprs[expr].span;
        if let Some(value) = value_of(module, expr) {
            let to: Vec<usize> = to.iter().map(|&dim| dim as usize).collect();
            let value = value.reshape(&to)?;
            return Some(self.cx.constant(module, span, value));
        }
        let attrs = RESHAPE.attrs?.values(&[("newshape", AttrValue::ints(to))]);
        self.cx.typed_call(module, span, &RESHAPE, &[expr], attrs)
    }

    /// A call in the place of another.
    fn typed_call(&self, module: &mut Module, of: ExprId, def: &OpDef, args: &[ExprId], attrs: Vec<AttrValue>) -> Option<ExprId> {
        let span = module.exprs[of].span;
        self.cx.typed_call(module, span, def, args, attrs)
    }
}

/// Whether an operator takes each element by itself.
fn is_elementwise(module: &Module, expr: ExprId, def: &OpDef, lower: Option<&Lower>) -> bool {
    let operands = args(module, expr);
    let keeps_shape = operands.len() == 1 && shape(module, operands[0]) == shape(module, expr);
    let by_numbers = || operands[1..].iter().all(|&operand| shape(module, operand).is_some_and(|shape| shape.is_empty()));
    let along = matches!(lower, Some(Lower::Along(..) | Lower::AlongOr(..))) && by_numbers();
    along || lower.is_some_and(Lower::is_by_elements) || (def.fuse == Some(Fuse::ElemWise) && keeps_shape)
}

/// The shape of a tensor of four axes, none of them empty.
fn nchw(module: &Module, expr: ExprId) -> Option<Nchw> {
    Nchw::try_from(shape(module, expr)?).ok().filter(|shape| shape.iter().all(|&dim| dim > 0))
}

fn blocked_shape([n, c, h, w]: Nchw, block: i64) -> Vec<i64> {
    debug_assert!(c % block == 0, "{PLAIN}{block}c of {c} channels");
    vec![n, c / block, h, w, block]
}

/// The types of expressions, for an operator's own rule.
fn tensors(module: &Module, exprs: &[ExprId]) -> Option<Vec<lower::Tensor>> {
    let of = |&expr: &ExprId| {
        let dtype = dtype(module, expr)?;
        let shape = shape(module, expr)?.into_iter().map(|dim| u64::try_from(dim).ok()).collect::<Option<_>>()?;
        Some(lower::Tensor { shape, dtype })
    };
    exprs.iter().map(of).collect()
}

/// A tuple like another, with these fields.
fn new_tuple(module: &mut Module, like: ExprId, fields: &[ExprId]) -> ExprId {
    let span = module.exprs[like].span;
    let operands: Vec<Operand> = fields.iter().map(|&expr| Operand { expr, span: module.exprs[expr].span }).collect();
    let operands = module.operands(&operands);
    let tuple = module.expr(span, ExprKind::Tuple(operands));
    let tys: Vec<_> = fields.iter().map(|&field| module.ty(field)).collect();
    let ty = module.types.tuple(&tys);
    set_ty(module, tuple, ty);
    tuple
}
