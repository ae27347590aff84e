//! Moves a stride from a 1x1 convolution to the operator that computes its operand, so that no skipped position is computed.
//!
//! All users of a tensor may read only the same lattice of its positions, such as every second row and column. That holds for 1x1
//! convolutions of stride 2, also behind operators that work on each position by itself. Then the tensor is computed on that
//! lattice only. A convolution or a pool of any window gets the product of both strides. An elementwise operator works on fewer
//! positions, and its operand is sliced if other users need it whole. In a residual network, the last two convolutions of each
//! stage do a quarter of their work.
//!
//! The rewrite is sound because each remaining position is computed as before, from the same numbers in the same order, bit for
//! bit. Shapes must be known; `n` positions in steps of `s` are `ceil(n / s)` either way.
//!
//! ```text
//! %0 = nn.conv2d(%x, W, 3x3);  nn.conv2d(nn.relu(%0), V, strides=[2, 2], 1x1)
//!     →    %0 = nn.conv2d(%x, W, strides=[2, 2], 3x3);  nn.conv2d(nn.relu(%0), V, 1x1)
//! ```

use super::build::{args, set_ty, shape};
use super::users::Users;
use super::{Pass, PassCx};
use relayc_base::Idx;
use relayc_ir::{AttrValue, Attrs, ExprId, ExprKind, Module, Operand};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    ADD, AVG_POOL1D, AVG_POOL2D, AVG_POOL3D, BIAS_ADD, BiasAddAttrs, CAST, CLIP, CONV1D, CONV2D, CONV3D, Conv2dAttrs, DIVIDE,
    LEAKY_RELU, Layout, MAX_POOL1D, MAX_POOL2D, MAX_POOL3D, MAXIMUM, MINIMUM, MULTIPLY, MaxPool2dAttrs, PRELU, PReluAttrs, RELU,
    SIGMOID, STRIDED_SLICE, SUBTRACT, TANH,
};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "push-strides-up",
    doc: "Computes only the positions that 1x1 convolutions with strides read. The stride moves to the operators before them.",
    level: 2,
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

/// The axes of a tensor with the stride at which they are read; no axis occurs twice, and no stride is 1.
type Lattice = Vec<(usize, i64)>;

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let (users, order) = Users::of(module);
    let lattices = Reader { cx, module, users: &users }.lattices(&order);
    let edit = |expr: ExprId| Some((expr, edit(module, cx, &lattices, expr)?));
    let edits: Vec<(ExprId, Edit)> = order.into_iter().filter_map(edit).collect();
    let mut push = Push { cx, slices: FxHashMap::default() };
    let any = !edits.is_empty();
    for (expr, edit) in edits {
        push.apply(module, expr, edit);
    }
    any
}

const CONVS: [&OpDef; 3] = [&CONV1D, &CONV2D, &CONV3D];
const POOLS: [&OpDef; 6] = [&MAX_POOL1D, &MAX_POOL2D, &MAX_POOL3D, &AVG_POOL1D, &AVG_POOL2D, &AVG_POOL3D];
const UNARY: [&OpDef; 6] = [&RELU, &LEAKY_RELU, &CLIP, &SIGMOID, &TANH, &CAST];
const BINARY: [&OpDef; 6] = [&ADD, &SUBTRACT, &MULTIPLY, &DIVIDE, &MAXIMUM, &MINIMUM];

/// A convolution or a pool, by its windows.
struct Windows {
    /// The axes of operand 0 that they move along, and those of the result.
    axes: Vec<usize>,
    out_axes: Vec<usize>,
    strides: Vec<i64>,
    /// Whether every window is one position of the operand, and no position of the result lies in padding.
    single: bool,
}

impl Windows {
    fn of(module: &Module, cx: &PassCx, expr: ExprId) -> Option<Windows> {
        let operands = args(module, expr);
        if cx.calls_any(module, expr, &CONVS) {
            let attrs = Conv2dAttrs::read(module.call_attrs(expr));
            let axes = spatial_axes(&attrs.data_layout)?;
            let out_axes = if attrs.out_layout.is_empty() { axes.clone() } else { spatial_axes(&attrs.out_layout)? };
            let weight = shape(module, *operands.get(1)?)?;
            let sizes = spatial_axes(&attrs.kernel_layout)?;
            let point = sizes.iter().all(|&axis| weight.get(axis) == Some(&1));
            let single = point && attrs.padding.iter().all(|&padding| padding == 0);
            return Some(Windows { axes, out_axes, strides: attrs.strides, single });
        }
        if cx.calls_any(module, expr, &POOLS) {
            let attrs = MaxPool2dAttrs::read(module.call_attrs(expr));
            let axes = spatial_axes(&attrs.layout)?;
            // A last window that reaches over the end is not one of the windows of twice the stride.
            return (!attrs.ceil_mode).then(|| Windows { out_axes: axes.clone(), axes, strides: attrs.strides, single: false });
        }
        None
    }

    /// The lattice on which operand 0 is read if the result is needed on a lattice. `None` if all of it is read, or if the
    /// lattice lies along other axes.
    fn reads(&self, lattice: &Lattice) -> Option<Lattice> {
        if !self.single {
            return None;
        }
        let strides = self.combined(lattice)?;
        let read: Lattice = self.axes.iter().copied().zip(strides).filter(|&(_, stride)| stride > 1).collect();
        (!read.is_empty()).then_some(read)
    }

    /// The strides that make the result on a lattice.
    fn combined(&self, lattice: &Lattice) -> Option<Vec<i64>> {
        if lattice.iter().any(|(axis, _)| !self.out_axes.contains(axis)) {
            return None;
        }
        let step = |axis: usize| lattice.iter().find(|(of, _)| *of == axis).map_or(1, |&(_, step)| step);
        self.out_axes.iter().zip(&self.strides).map(|(&axis, &stride)| stride.checked_mul(step(axis))).collect()
    }
}

/// The spatial axes of a layout in the order D, H, W, if they are not in blocks.
fn spatial_axes(layout: &str) -> Option<Vec<usize>> {
    let layout = Layout::parse(layout).ok()?;
    let whole = ['D', 'H', 'W'].into_iter().all(|letter| layout.block(letter) == 1);
    whole.then(|| ['D', 'H', 'W'].into_iter().filter_map(|letter| layout.axis(letter)).collect())
}

/// How an operator on positions reads an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// Each position of the result depends on the same position of the operand.
    Positions,
    /// The operand is the same for all positions along the lattice's axes.
    Everywhere,
}

/// How an operator on positions reads each operand, for a lattice of its result; `None` where it is none.
fn pointwise(module: &Module, cx: &PassCx, expr: ExprId, lattice: &Lattice) -> Option<Vec<Reads>> {
    let operands = args(module, expr);
    let out = shape(module, expr)?;
    if cx.calls_any(module, expr, &UNARY) {
        return Some(vec![Reads::Positions]);
    }
    let vector_axis = if cx.calls(module, expr, &BIAS_ADD) {
        Some(BiasAddAttrs::read(module.call_attrs(expr)).axis.rem_euclid(out.len() as i64) as usize)
    } else if cx.calls(module, expr, &PRELU) {
        Some(PReluAttrs::read(module.call_attrs(expr)).axis as usize)
    } else {
        None
    };
    if let Some(axis) = vector_axis {
        return lattice.iter().all(|(along, _)| *along != axis).then(|| vec![Reads::Positions, Reads::Everywhere]);
    }
    if !cx.calls_any(module, expr, &BINARY) {
        return None;
    }
    let reads = |&operand: &ExprId| {
        let own = shape(module, operand)?;
        let missing = out.len().checked_sub(own.len())?;
        let dim = |axis: usize| axis.checked_sub(missing).map_or(1, |axis| own[axis]);
        if lattice.iter().all(|&(axis, _)| dim(axis) == 1) {
            return Some(Reads::Everywhere);
        }
        (missing == 0 && lattice.iter().all(|&(axis, _)| dim(axis) == out[axis])).then_some(Reads::Positions)
    };
    operands.iter().map(reads).collect()
}

/// Finds the lattices.
struct Reader<'a> {
    cx: &'a PassCx<'a>,
    module: &'a Module,
    users: &'a Users,
}

impl Reader<'_> {
    /// The tensors that are to be made on a lattice.
    fn lattices(&self, order: &[ExprId]) -> FxHashMap<ExprId, Lattice> {
        // What the users so far read of an expression: a lattice that all of them read, or `None` for anything else.
        let mut read: Vec<Option<Option<Lattice>>> = vec![None; self.module.exprs.len()];
        let mut lattices = FxHashMap::default();
        let mut children = Vec::new();
        for &expr in order.iter().rev() {
            let own = read[expr.index()].take().flatten().filter(|lattice| self.can_be_made(expr, lattice));
            children.clear();
            self.module.children(expr, &mut children);
            for (at, &child) in children.iter().enumerate() {
                // The children of a call are its callee, then its operands.
                let wanted = at.checked_sub(1).and_then(|arg| self.reads(expr, arg, own.as_ref()));
                let slot = &mut read[child.index()];
                *slot = match slot.take() {
                    None => Some(wanted),
                    Some(known) => Some(known.filter(|known| wanted.as_ref() == Some(known))),
                };
            }
            if let Some(own) = own {
                lattices.insert(expr, own);
            }
        }
        lattices
    }

    /// Whether an expression can be made on a lattice alone.
    fn can_be_made(&self, expr: ExprId, lattice: &Lattice) -> bool {
        if self.users.is_result(expr) || self.users.list(expr).is_empty() || shape(self.module, expr).is_none() {
            return false;
        }
        match Windows::of(self.module, self.cx, expr) {
            Some(windows) => windows.combined(lattice).is_some(),
            None => pointwise(self.module, self.cx, expr, lattice).is_some(),
        }
    }

    /// The lattice that an expression reads of an operand, itself being made on a lattice or whole.
    fn reads(&self, expr: ExprId, arg: usize, own: Option<&Lattice>) -> Option<Lattice> {
        if !matches!(self.module.exprs[expr].kind, ExprKind::Call { .. }) {
            return None;
        }
        if let Some(windows) = Windows::of(self.module, self.cx, expr) {
            return if arg == 0 { windows.reads(own.unwrap_or(&vec![])) } else { None };
        }
        let own = own?;
        let reads = pointwise(self.module, self.cx, expr, own)?;
        (reads.get(arg) == Some(&Reads::Positions)).then(|| own.clone())
    }
}

/// The change of an expression.
enum Edit {
    Strides(Vec<i64>),
    /// Slices operands that have users which need them whole.
    Slices(Vec<(usize, Lattice)>),
    /// Only the shapes of its operands change.
    Nothing,
}

/// The change of an expression, given the lattices of some expressions.
fn edit(module: &Module, cx: &PassCx, lattices: &FxHashMap<ExprId, Lattice>, expr: ExprId) -> Option<Edit> {
    let own = lattices.get(&expr);
    if let Some(windows) = Windows::of(module, cx, expr) {
        let given = args(module, expr).first().is_some_and(|data| lattices.contains_key(data));
        // An operand on its lattice holds exactly the positions that are read.
        let strides = if given { vec![1; windows.strides.len()] } else { windows.combined(own?)? };
        return Some(Edit::Strides(strides));
    }
    let own = own?;
    let reads = pointwise(module, cx, expr, own)?;
    let sliced = |(at, (operand, reads)): (usize, (ExprId, Reads))| {
        (reads == Reads::Positions && lattices.get(&operand) != Some(own)).then(|| (at, own.clone()))
    };
    let slices: Vec<(usize, Lattice)> = args(module, expr).into_iter().zip(reads).enumerate().filter_map(sliced).collect();
    Some(if slices.is_empty() { Edit::Nothing } else { Edit::Slices(slices) })
}

/// Changes calls in place: all that use them read no more of them.
struct Push<'a> {
    cx: &'a PassCx<'a>,
    slices: FxHashMap<(ExprId, Lattice), ExprId>,
}

impl Push<'_> {
    fn apply(&mut self, module: &mut Module, expr: ExprId, edit: Edit) {
        let ExprKind::Call { callee, args: operands, attrs: values } = module.exprs[expr].kind else { return };
        let kind = match edit {
            Edit::Nothing => module.exprs[expr].kind,
            Edit::Strides(strides) => {
                let schema = self.cx.called(module, expr).and_then(|def| def.attrs);
                let (Some(schema), Some(values)) = (schema, values) else { return };
                let mut all = module.attrs[values].values.to_vec();
                let Some(at) = schema.position("strides") else { return };
                all[at] = AttrValue::ints(&strides);
                let values = module.attrs.push(Attrs { values: all.into(), spans: Box::default() });
                ExprKind::Call { callee, args: operands, attrs: Some(values) }
            }
            Edit::Slices(slices) => {
                let mut operands: Vec<Operand> = module.items(operands).to_vec();
                for (at, lattice) in slices {
                    operands[at].expr = self.slice(module, operands[at].expr, lattice);
                }
                ExprKind::Call { callee, args: module.operands(&operands), attrs: values }
            }
        };
        module.exprs[expr].kind = kind;
        let Some(def) = self.cx.called(module, expr) else { return };
        let values = module.call_attrs(expr).to_vec();
        if let Some(ty) = self.cx.call_ty(module, def, &args(module, expr), &values) {
            set_ty(module, expr, ty);
        }
    }

    /// Slices a tensor to a lattice; the whole tensor stays.
    fn slice(&mut self, module: &mut Module, tensor: ExprId, lattice: Lattice) -> ExprId {
        if let Some(&slice) = self.slices.get(&(tensor, lattice.clone())) {
            return slice;
        }
        let span = module.exprs[tensor].span;
        let dims = shape(module, tensor).unwrap_or_default();
        let ints = |of: &dyn Fn(&(usize, i64)) -> i64| AttrValue::ints(&lattice.iter().map(of).collect::<Vec<i64>>());
        let values = STRIDED_SLICE.attrs.expect("a slice has bounds").values(&[
            ("begin", ints(&|_| 0)),
            ("end", ints(&|&(axis, _)| dims[axis])),
            ("strides", ints(&|&(_, step)| step)),
            ("axes", ints(&|&(axis, _)| axis as i64)),
        ]);
        let slice = self.cx.call(module, span, &STRIDED_SLICE, &[tensor], values);
        self.slices.insert((tensor, lattice), slice);
        slice
    }
}
