//! Anchors: kernels of the operator that decides a group's loops, with the computations on its operands and its result.

use super::group::{Lazy, Load, Source, Value};
use super::lowering::{Anchor, Kind, Lowering};
use super::request::margins;
use super::{BufferId, Move, Place, Step, Work};
use relayc_ir::ExprId;
use relayc_ir::kernel::{
    Access, BYTES, BinaryOp, Body, ByteProducts, Columns, Contraction, ContractionDim, Depthwise, Factors, Instr, Kernel, Nest,
    Operand, ScalarType, Stage, Store, UnaryOp, Val, View, Winograd,
};
use relayc_ir::types::DType;
use relayc_ops::OpDef;
use relayc_ops::lower::{AxisMap, Call, Product, Tensor};
use std::sync::Arc;

/// Maximum number of rows of F64 that are multiplied with weights as they lie.
const FEW_POINTS: u64 = 4;

/// The stride of each loop dimension where a tensor with these indices is seen so, and the first element.
pub(super) fn strides(axes: &[AxisMap], view: &View, n_dims: usize) -> (Vec<i64>, i64) {
    let (mut strides, mut offset) = (vec![0; n_dims], view.offset);
    for (map, stride) in axes.iter().zip(&view.strides) {
        offset += map.offset * stride;
        for &(dim, step) in &map.terms {
            strides[dim] += step * stride;
        }
    }
    (strides, offset)
}

/// Arguments of a kernel, each buffer once.
#[derive(Default)]
pub(super) struct Args {
    buffers: Vec<BufferId>,
    writes: Vec<bool>,
}

impl Args {
    pub(super) fn add(&mut self, buffer: BufferId, write: bool) -> usize {
        let at = self.buffers.iter().position(|&known| known == buffer).unwrap_or_else(|| {
            self.buffers.push(buffer);
            self.writes.push(false);
            self.buffers.len() - 1
        });
        self.writes[at] |= write;
        at
    }
}

impl Lowering<'_> {
    pub(super) fn anchor_product(
        &mut self,
        op: &'static OpDef,
        call: &Call,
        args: &[Value],
        products: Vec<Product>,
    ) -> Option<Value> {
        let inputs = self.inputs(args)?;
        (!call.out().shape.contains(&0)).then_some(())?;
        let data_arg = products.first()?.data_arg;
        let shape = call.arg(data_arg).shape.clone();
        let (weight_arg, mut placed) = (1 - data_arg, vec![]);
        let converted = self.converted(inputs.get(weight_arg)?);
        for (arg, input) in inputs.iter().enumerate() {
            let converted = converted.clone().filter(|_| arg == weight_arg);
            placed.push(converted.map_or_else(|| self.in_buffers(input), Lazy::load));
        }
        let mut wanted = vec![];
        products.iter().for_each(|product| super::request::widen(&mut wanted, &margins(product, &shape)));
        let lanes = [ScalarType::of(call.arg(0).dtype)?, ScalarType::of(call.arg(1).dtype)?];
        let out = ScalarType::of(call.out().dtype)?;
        let words = self.options.target.byte_products == ByteProducts::Words;
        let bytes = match [lanes[0], lanes[1], out] {
            [ScalarType::U8, ScalarType::I16, ScalarType::I32] => true,
            [ScalarType::U8, ScalarType::I8, ScalarType::I32] => words,
            _ => false,
        };
        let strided = |product: &Product| !in_whole_words(&product.data, &placed[data_arg], product);
        if bytes && products.iter().any(strided) {
            placed[data_arg] = self.copied(&placed[data_arg]);
        }
        placed[data_arg] = self.with_margins(&placed[data_arg], &wanted, 0);
        // Channels that do not lie side by side fill no vectors; a nest has its lanes along the window then.
        let held = |product: &Product| match [lanes[0], lanes[1], out] {
            [ScalarType::F32, ScalarType::F32, ScalarType::F32] => !product.depthwise || side_by_side(product, &placed[data_arg]),
            // A few rows are not worth packing what is no constant.
            [ScalarType::F64, ScalarType::F64, ScalarType::F64] => {
                let is_constant = placed[weight_arg].loads.iter().all(|load| self.is_constant(load));
                let in_blocks = product.columns.iter().all(|&extent| extent > 1);
                !product.depthwise && !in_blocks && (is_constant || product.points.iter().product::<u64>() > FEW_POINTS)
            }
            [ScalarType::U8, ScalarType::I32, ScalarType::I32] => {
                let has_code = self.has_byte_columns(product);
                has_code && product.depthwise && data_arg == 0 && side_by_side(product, &placed[0])
            }
            _ => bytes && data_arg == 0 && by_words(product, &placed[0], &placed[1]),
        };
        let has_code = self.refused() < 2 && products.iter().all(held);
        if !has_code && converted.is_some() {
            // Nests read elements as often as they need them, so they are converted once.
            placed[weight_arg] = self.in_buffers(&inputs[weight_arg]);
        }
        let kind = match has_code {
            true => Kind::Products(products),
            false => Kind::Nests(products.iter().map(|product| product.nest(lanes, out)).collect()),
        };
        let product = self.anchor(kind, placed, op, call.out());
        // What was refused may be what follows: tiles take few operands.
        Some(if has_code && self.refused() == 1 { self.without_anchors(&product)?.into() } else { product })
    }

    fn is_constant(&self, load: &Load) -> bool {
        matches!(load.source, Source::Buffer(buffer) if self.constant.contains(&buffer))
    }

    /// The 16-bit floats of a constant that a value is, as F32.
    fn converted(&self, lazy: &Lazy) -> Option<Load> {
        let [load @ Load { source: Source::Buffer(buffer), .. }] = &lazy.loads[..] else { return None };
        let Instr::Unary(UnaryOp::To(ScalarType::F32), of) = lazy.body.instrs[lazy.result.0 as usize] else { return None };
        let is_read = lazy.body.instrs[of.0 as usize] == Instr::Read(0);
        let half = ScalarType::of(load.dtype).is_some_and(is_half);
        (half && is_read && self.constant.contains(buffer)).then(|| load.clone())
    }

    /// The tensors of the operands, with the fields of tuples in order; none has a pending anchor.
    pub(super) fn inputs(&mut self, args: &[Value]) -> Option<Vec<Lazy>> {
        let mut inputs = vec![];
        for arg in args {
            let tensors = if let Value::Tuple(fields) = arg { &fields[..] } else { std::slice::from_ref(arg) };
            for tensor in tensors {
                inputs.push(self.without_anchors(tensor)?);
            }
        }
        Some(inputs)
    }

    pub(super) fn anchor(&mut self, kind: Kind, inputs: Vec<Lazy>, op: &'static OpDef, out: &Tensor) -> Value {
        let anchor =
            Anchor { kind, inputs, dims: out.shape.clone(), dtype: out.dtype, op: op.name, origin: self.origin, stored: None };
        self.anchors.push(anchor);
        let source = Source::Anchor(self.anchors.len() - 1);
        Lazy::load(Load { source, dtype: out.dtype, view: View::dense(&out.shape) }).into()
    }

    /// The value in a buffer with margins of these bits.
    pub(super) fn with_margins(&mut self, lazy: &Lazy, wanted: &[(u64, u64)], bits: u64) -> Lazy {
        if wanted.iter().all(|&margin| margin == (0, 0)) {
            return lazy.clone();
        }
        if let Some(Load { source: Source::Buffer(buffer), view, .. }) = lazy.plain()
            && let Some(padded) = self.padded.get(buffer)
            && padded.bits == bits
            && padded.surrounds(view, wanted)
        {
            return lazy.clone();
        }
        let tensor = Tensor { shape: lazy.dims.clone(), dtype: lazy.dtype };
        let (buffer, view) = self.padded_buffer(&tensor, wanted, bits, Place::Arena(0));
        self.store(lazy, buffer, &view);
        Lazy::load(Load { source: Source::Buffer(buffer), dtype: lazy.dtype, view })
    }

    /// Computes a value into a new buffer, in the axis order that suits its kernel.
    pub(super) fn emit(&mut self, lazy: &Lazy) -> (BufferId, View) {
        let order = match lazy.anchors()[..] {
            [.., last] => self.anchors[last].order(),
            [] => (0..lazy.dims.len()).collect(),
        };
        self.emit_in(lazy, &order)
    }

    /// As [`Self::emit`], with the axes in this order in memory.
    fn emit_in(&mut self, lazy: &Lazy, order: &[usize]) -> (BufferId, View) {
        let dims: Vec<u64> = order.iter().map(|&axis| lazy.dims[axis]).collect();
        let buffer = self.buffer(&Tensor { shape: dims.clone(), dtype: lazy.dtype }, Place::Arena(0));
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
        let view = View::dense(&dims).transpose(&back);
        self.store(lazy, buffer, &view);
        (buffer, view)
    }

    /// Computes a value into a given buffer.
    pub(super) fn store(&mut self, lazy: &Lazy, buffer: BufferId, view: &View) {
        if lazy.dims.contains(&0) {
            return;
        }
        let mut lazy = self.with_stored(lazy);
        let anchors = lazy.anchors();
        if let [others @ .., _] = &anchors[..]
            && !others.is_empty()
        {
            for &anchor in others {
                if self.goes_along(anchor, &anchors) {
                    continue;
                }
                let raw = self.raw(anchor);
                let place = self.emit(&raw);
                self.anchors[anchor].stored = Some(place);
            }
            lazy = self.with_stored(&lazy);
        }
        match anchors.last() {
            None => self.store_elements(&lazy, buffer, view),
            Some(&anchor) => match self.anchors[anchor].kind.clone() {
                // What a nest keeps in its result for later must be of the result's dtype.
                Kind::Nests(templates) if lazy.dtype != self.anchors[anchor].dtype && Self::read_results(&templates) => {
                    self.store_in_order(anchor, &lazy, buffer, view);
                }
                Kind::Nests(templates) => {
                    templates.iter().for_each(|template| self.store_nest(anchor, template, &lazy, buffer, view));
                }
                Kind::Products(products) => self.store_products(anchor, &products, &lazy, buffer, view),
            },
        }
    }

    /// Replaces loads of pending results by loads of memory, where they have been stored.
    fn with_stored(&self, lazy: &Lazy) -> Lazy {
        let mut lazy = lazy.clone();
        for load in &mut lazy.loads {
            if let Source::Anchor(anchor) = load.source
                && let Some((buffer, view)) = &self.anchors[anchor].stored
            {
                *load = Load { source: Source::Buffer(*buffer), dtype: load.dtype, view: view.clone() };
            }
        }
        lazy
    }

    pub(super) fn step(&mut self, kernel: Kernel, args: Args, origin: ExprId, ops: Vec<&'static str>) {
        self.work(Work::Kernel(Arc::new(kernel)), args, origin, ops);
    }

    pub(super) fn work(&mut self, work: Work, args: Args, origin: ExprId, mut ops: Vec<&'static str>) {
        ops.dedup();
        let reads_constants = args.buffers.iter().zip(&args.writes).all(|(buffer, &write)| {
            let arena = matches!(self.plan.buffers[*buffer].place, Place::Arena(_) | Place::Kept(_));
            let whole = !self.padded.contains_key(buffer) && !self.parts.contains(buffer);
            if write { arena && whole } else { self.constant.contains(buffer) }
        });
        // A buffer filled from constants alone is filled once; one that others write too is not.
        let once = reads_constants && args.writes.iter().any(|&write| !write);
        if once {
            for (&buffer, _) in args.buffers.iter().zip(&args.writes).filter(|(_, write)| **write) {
                self.constant.insert(buffer);
                self.plan.buffers[buffer].place = Place::Kept(0);
            }
        }
        self.plan.steps.push(Step { work, args: args.buffers, writes: args.writes.into(), origin, ops: ops.into(), once });
    }

    fn store_elements(&mut self, lazy: &Lazy, buffer: BufferId, view: &View) {
        let mut args = Args::default();
        if relayc_ops::lower::lane(lazy.dtype).is_none() {
            return self.store_moved(lazy, buffer, view);
        }
        let (mut body, mut reads) = (Body::new(), vec![]);
        let val = lazy.append_to(&mut body, |body, load| {
            let Source::Buffer(source) = load.source else { unreachable!("no result waits here") };
            let access = Access {
                arg: args.add(source, false),
                dtype: load.dtype,
                offset: load.view.offset,
                kept: load.view.strides.clone(),
                reduced: vec![],
            };
            body.read(number(&mut reads, access))
        });
        let write = Access {
            arg: args.add(buffer, true),
            dtype: lazy.dtype,
            offset: view.offset,
            kept: view.strides.clone(),
            reduced: vec![],
        };
        let stage = Stage { each: true, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
        let nest = Nest { dims: lazy.dims.clone(), reduce: vec![], reads, writes: vec![write], stages: vec![stage] };
        let ops = if lazy.ops.is_empty() { vec!["copy"] } else { lazy.ops.clone() };
        let origin = self.origin;
        self.step(Kernel::Nest(nest), args, origin, ops);
    }

    /// Stores elements that no lane holds, which can only be moved.
    fn store_moved(&mut self, lazy: &Lazy, buffer: BufferId, view: &View) {
        let Some(Load { source: Source::Buffer(source), view: from, .. }) = lazy.plain() else {
            unreachable!("nothing is computed of elements that no lane holds")
        };
        let moved = Move {
            dims: lazy.dims.clone(),
            from: (from.offset, from.strides.clone()),
            to: (view.offset, view.strides.clone()),
            width: usize::from(lazy.dtype.bits.div_ceil(8)),
        };
        let ops = if lazy.ops.is_empty() { vec!["copy"] } else { lazy.ops.clone() };
        let (args, writes) = (vec![*source, buffer], [false, true].into());
        self.plan.steps.push(Step { work: Work::Move(moved), args, writes, origin: self.origin, ops: ops.into(), once: false });
    }

    fn store_products(&mut self, anchor: usize, products: &[Product], after: &Lazy, buffer: BufferId, view: &View) {
        let after = &self.with_wide_loads(after);
        let fits = products.iter().all(|product| {
            let (_, columns, sum) = product.first();
            let (own, _) = strides(&product.out, view, sum + product.sum.len());
            (own[columns + 1] == 1 || product.columns[1] == 1) && is_epilogue(after, self.has_byte_columns(product))
        });
        if !fits {
            return self.store_in_order(anchor, after, buffer, view);
        }
        let after = match products.first() {
            Some(first) => &self.with_columns_side_by_side(anchor, first, after.clone()),
            None => after,
        };
        for product in products {
            self.store_product(anchor, product, after, buffer, view);
        }
    }

    /// The computation with F32 in memory in place of 16-bit floats, of which an epilogue reads none.
    fn with_wide_loads(&mut self, after: &Lazy) -> Lazy {
        let mut wide = after.clone();
        wide.body = Body::new();
        let mut reads = vec![];
        for (at, load) in wide.loads.iter_mut().enumerate() {
            let read = wide.body.read(at);
            let lane = ScalarType::of(load.dtype).filter(|&lane| is_half(lane) && matches!(load.source, Source::Buffer(_)));
            reads.push(lane.map_or(read, |lane| wide.body.un(UnaryOp::ToExact(lane), read)));
            if lane.is_some() {
                *load = self.wide_load(load);
            }
        }
        wide.result = wide.body.append(&after.body, &reads, after.result);
        wide
    }

    /// The same elements as F32 in memory, each once.
    fn wide_load(&mut self, load: &Load) -> Load {
        let order: Vec<usize> = (0..load.view.dims.len()).collect();
        self.stored_once(load, &order, |lazy| {
            lazy.result = lazy.body.un(UnaryOp::To(ScalarType::F32), lazy.result);
            (lazy.dtype, lazy.ops) = (DType::F32, vec!["cast"]);
        })
    }

    /// What `change` makes of the elements, in memory once, with the axes in this order.
    fn stored_once(&mut self, load: &Load, order: &[usize], change: impl FnOnce(&mut Lazy)) -> Load {
        let mut once = load.clone();
        for (dim, stride) in once.view.dims.iter_mut().zip(&once.view.strides) {
            *dim = if *stride == 0 { 1 } else { *dim };
        }
        let mut lazy = Lazy::load(once);
        change(&mut lazy);
        let (buffer, mut view) = self.emit_in(&lazy, order);
        for ((dim, stride), own) in view.dims.iter_mut().zip(&mut view.strides).zip(load.view.dims.iter().zip(&load.view.strides))
        {
            (*dim, *stride) = (*own.0, if *own.1 == 0 { 0 } else { *stride });
        }
        Load { source: Source::Buffer(buffer), dtype: lazy.dtype, view }
    }

    /// The computation with copies of operands whose columns do not lie side by side, of which an epilogue would read an element
    /// at a time.
    fn with_columns_side_by_side(&mut self, anchor: usize, product: &Product, mut after: Lazy) -> Lazy {
        let (_, columns, sum) = product.first();
        let order = self.anchors[anchor].order();
        for load in &mut after.loads {
            let step = strides(&product.out, &load.view, sum + product.sum.len()).0[columns + 1];
            if matches!(load.source, Source::Buffer(_)) && product.columns[1] > 1 && ![0, 1].contains(&step) {
                *load = self.stored_once(load, &order, |_| ());
            }
        }
        after
    }

    /// Stores an anchor's own result first, in an order that suits its kernel, then the computation on it.
    fn store_in_order(&mut self, anchor: usize, after: &Lazy, buffer: BufferId, view: &View) {
        let raw = self.raw(anchor);
        let place = self.emit(&raw);
        self.anchors[anchor].stored = Some(place);
        let after = self.with_stored(after);
        self.store_elements(&after, buffer, view);
    }

    /// The result of an anchor as it is.
    fn raw(&self, anchor: usize) -> Lazy {
        let Anchor { dtype, dims, .. } = &self.anchors[anchor];
        Lazy::load(Load { source: Source::Anchor(anchor), dtype: *dtype, view: View::dense(dims) })
    }

    /// The largest tile of Winograd's method that is accurate enough; `None` where none ever is.
    fn most_tile(&self, contract: &Contraction, weight: BufferId) -> Option<u64> {
        match contract.factors {
            Factors::Floats => Some(self.options.tile),
            Factors::Pairs => {
                let Place::Const(id) = self.plan.buffers[weight].place else { return None };
                let weights = self.module.consts[id].to_vec::<i16>()?;
                contract.is_exact_by_tiles(&weights).then_some(4)
            }
            Factors::Doubles | Factors::Bytes | Factors::WidePairs | Factors::Widened => None,
        }
    }

    /// Whether a buffer holds constants that are integers of 8 bits.
    fn holds_bytes(&self, buffer: BufferId) -> bool {
        let Place::Const(id) = self.plan.buffers[buffer].place else { return false };
        self.module.consts[id].to_vec::<i32>().is_some_and(|values| values.iter().all(|&value| i8::try_from(value).is_ok()))
    }

    /// Whether code for integers of 8 bits suits the columns of a product.
    fn has_byte_columns(&self, product: &Product) -> bool {
        product.columns[1].is_multiple_of(self.options.byte_columns)
    }

    fn store_product(&mut self, anchor: usize, product: &Product, after: &Lazy, buffer: BufferId, view: &View) {
        let mut args = Args::default();
        let (points, columns, sum) = product.first();
        let n_dims = sum + product.sum.len();
        let inputs = self.anchors[anchor].inputs.clone();
        let plain = |arg: usize| match inputs[arg].plain() {
            Some(Load { source: Source::Buffer(buffer), view, .. }) => (*buffer, view.clone()),
            _ => unreachable!("operands of a product lie in buffers"),
        };
        let (data_buffer, data_view) = plain(product.data_arg);
        let (weight_buffer, weight_view) = plain(1 - product.data_arg);
        let (data, data_offset) = strides(&product.data, &data_view, n_dims);
        let (weight, weight_offset) = strides(&product.weight, &weight_view, n_dims);
        let (out, out_offset) = strides(&product.out, view, n_dims);
        let factors = match self.anchors[anchor].dtype == DType::I32 {
            true if product.depthwise => Factors::Widened,
            true if inputs[1 - product.data_arg].dtype == DType::I16 => Factors::Pairs,
            true => Factors::Bytes,
            false if self.anchors[anchor].dtype == DType::F64 => Factors::Doubles,
            false => Factors::Floats,
        };
        let by = factors.products() as i64;
        let (data, data_offset) = in_words(&data, data_offset, by);
        let (weight, weight_offset) = in_words(&weight, weight_offset, by);
        let mut extents = product.sum.clone();
        if let Some(last) = extents.last_mut() {
            *last /= by as u64;
        }
        let input = (args.add(data_buffer, false), data_offset);
        let weight_at = (args.add(weight_buffer, false), weight_offset);
        let out_at = (args.add(buffer, true), out_offset);
        let columns_of =
            |strides: &[i64]| Columns { block: product.columns[1], outer: strides[columns], inner: strides[columns + 1] };
        let (mut body, mut operands) = (Body::new(), vec![]);
        let result = after.append_to(&mut body, |body, load| match load.source {
            Source::Anchor(_) => body.read(0),
            Source::Buffer(source) => {
                let (strides, offset) = strides(&product.out, &load.view, n_dims);
                let operand = Operand {
                    arg: args.add(source, false),
                    dtype: load.dtype,
                    offset,
                    group: strides[0],
                    points: strides[points..columns].to_vec(),
                    columns: columns_of(&strides),
                };
                let at = operands.iter().position(|known| *known == operand).unwrap_or_else(|| {
                    operands.push(operand);
                    operands.len() - 1
                });
                body.read(1 + at)
            }
        });
        let (body, result) = on_sums(&body, result);
        let dim = |at: usize, extent: u64, other: &[i64]| ContractionDim { extent, input: data[at], other: other[at] };
        let contract = Contraction {
            factors,
            dtype: after.dtype,
            weight_dtype: inputs[1 - product.data_arg].dtype,
            groups: product.groups,
            group_steps: [data[0], weight[0], out[0]],
            points: product.points.iter().enumerate().map(|(at, &extent)| dim(points + at, extent, &out)).collect(),
            columns: product.columns[0] * product.columns[1],
            sum: extents.iter().enumerate().map(|(at, &extent)| dim(sum + at, extent, &weight)).collect(),
            weight_columns: columns_of(&weight),
            out_columns: columns_of(&out),
            input,
            weight: weight_at,
            out: out_at,
            body,
            result,
            operands,
        };
        let mut ops = vec![self.anchors[anchor].op];
        ops.extend(&after.ops);
        let origin = self.anchors[anchor].origin;
        let kernel = match product.depthwise {
            true => {
                let has_byte_weights = contract.factors == Factors::Widened && self.holds_bytes(weight_buffer);
                Kernel::Depthwise(Depthwise { contract, input_columns: columns_of(&data), has_byte_weights })
            }
            // Whether it is worth it, and possible at all, the code generator knows.
            false if [product.points.len(), product.sum.len()] == [3, 4] => match self.most_tile(&contract, weight_buffer) {
                Some(tile) => Kernel::Winograd(Winograd { contract, tile }),
                None => Kernel::Contraction(contract),
            },
            false => Kernel::Contraction(contract),
        };
        self.step(kernel, args, origin, ops);
    }
}

impl Anchor {
    /// The axis order in memory that suits the kernel: contiguous columns of a product.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.dims.len()).collect();
        if let Kind::Products(products) = &self.kind
            && let Some(product) = products.first()
        {
            let inner = product.first().1 + 1;
            if let Some(axis) = product.out.iter().position(|map| map.terms.contains(&(inner, 1))) {
                order.retain(|&own| own != axis);
                order.push(axis);
            }
        }
        order
    }
}

/// Whether a contraction can run the computation as its epilogue: of F32 to F32, with comparisons and selections, and with
/// 16-bit floats on the way. With `narrow`, integers of 8 and 32 bits are read, computed and stored too. F64 is only stored.
fn is_epilogue(after: &Lazy, narrow: bool) -> bool {
    if after.dtype == DType::F64 {
        return after.plain().is_some();
    }
    let reads: Vec<ScalarType> = after.loads.iter().filter_map(|load| ScalarType::of(load.dtype)).collect();
    let lanes = after.body.lanes(&reads);
    let byte = |lane: ScalarType| narrow && matches!(lane, ScalarType::I8 | ScalarType::U8);
    let held = |lane: ScalarType| lane.is_plain() || is_half(lane) || byte(lane);
    let stored = |lane: ScalarType| matches!(lane, ScalarType::F32 | ScalarType::I32) || byte(lane);
    let number = |lane: ScalarType| stored(lane) || is_half(lane);
    reads.iter().all(|&lane| stored(lane))
        && ScalarType::of(after.dtype).is_some_and(stored)
        && lanes.iter().all(|&lane| held(lane))
        && !after.body.instrs.iter().any(|instr| match *instr {
            Instr::Unary(UnaryOp::To(to) | UnaryOp::ToExact(to), a) => !number(to) || !number(lanes[a.0 as usize]),
            // No condition comes from outside of its body.
            Instr::Const(_, lane) => lane == ScalarType::Bool,
            _ => false,
        })
}

fn is_half(lane: ScalarType) -> bool {
    lane == ScalarType::F16 || lane == ScalarType::BF16
}

/// Whether the sum of a product of bytes goes along contiguous words of both operands.
fn by_words(product: &Product, data: &Lazy, weight: &Lazy) -> bool {
    let whole = product.sum.last().is_some_and(|extent| extent.is_multiple_of(BYTES));
    whole
        && !product.depthwise
        && in_whole_words(&product.data, data, product)
        && in_whole_words(&product.weight, weight, product)
}

/// Whether bytes lie along the last dimension of the sum, and everything else in whole words.
fn in_whole_words(axes: &[AxisMap], of: &Lazy, product: &Product) -> bool {
    let (_, _, sum) = product.first();
    let Some(load) = of.plain() else { return false };
    let (strides, offset) = strides(axes, &load.view, sum + product.sum.len());
    let (last, others) = strides.split_last().expect("a sum has a dimension");
    *last == 1 && others.iter().chain([&offset]).all(|step| step % BYTES as i64 == 0)
}

/// Strides and an offset in words of `by` elements, where the last dimension counts words.
fn in_words(strides: &[i64], offset: i64, by: i64) -> (Vec<i64>, i64) {
    let (last, others) = strides.split_last().expect("a sum has a dimension");
    (others.iter().map(|step| step / by).chain([*last]).collect(), offset / by)
}

/// Whether the columns of the data are contiguous.
fn side_by_side(product: &Product, data: &Lazy) -> bool {
    let (_, columns, sum) = product.first();
    data.plain().is_some_and(|load| strides(&product.data, &load.view, sum + product.sum.len()).0[columns + 1] == 1)
}

/// Replaces limits by constants with the machine's own: `max(c, x)` keeps a NaN of `x`, and of two zeros gives that of `x`.
///
/// A sum that starts at +0 is never -0. Where a later product may be, +0 is added before a limit of 0.
fn on_sums(body: &Body, result: Val) -> (Body, Val) {
    let mut out = Body::new();
    let mut map: Vec<Val> = vec![];
    // Whether a value may be -0.
    let mut minus: Vec<bool> = vec![];
    for &instr in &body.instrs {
        let may_be = |val: Val| minus[val.0 as usize];
        let minus_zero = match instr {
            Instr::Read(0) => false,
            Instr::Const(bits, ScalarType::F32) => bits as u32 == (-0f32).to_bits(),
            Instr::Binary(BinaryOp::Add, a, b) => may_be(a) && may_be(b),
            Instr::Binary(BinaryOp::Sub, a, _) => may_be(a),
            Instr::Fma(_, _, c) => may_be(c),
            Instr::Binary(BinaryOp::Max | BinaryOp::Min, a, b) => may_be(a) || may_be(b),
            _ => true,
        };
        let constant = |val: Val| match body.instrs[val.0 as usize] {
            Instr::Const(bits, ScalarType::F32) => Some(f32::from_bits(bits as u32)).filter(|limit| !limit.is_nan()),
            _ => None,
        };
        let limited = match instr {
            Instr::Binary(op @ (BinaryOp::Max | BinaryOp::Min), a, b) => {
                let known = constant(b).map(|limit| (limit, b, a));
                known.or_else(|| constant(a).map(|limit| (limit, a, b))).map(|known| (op, known))
            }
            _ => None,
        };
        let val = match limited {
            Some((BinaryOp::Max, (limit, c, x))) if limit.to_bits() == 0 && may_be(x) => {
                let positive = out.bin(BinaryOp::Add, map[x.0 as usize], map[c.0 as usize]);
                out.bin(BinaryOp::MaxSecond, map[c.0 as usize], positive)
            }
            Some((BinaryOp::Max, (_, c, x))) => out.bin(BinaryOp::MaxSecond, map[c.0 as usize], map[x.0 as usize]),
            Some((_, (limit, c, x))) if limit.to_bits() != (-0f32).to_bits() => {
                out.bin(BinaryOp::MinSecond, map[c.0 as usize], map[x.0 as usize])
            }
            _ => out.push(instr.map(|val| map[val.0 as usize])),
        };
        map.push(val);
        minus.push(minus_zero);
    }
    (out, map[result.0 as usize])
}

/// The number of a read, which is added if it is new.
pub(super) fn number(reads: &mut Vec<Access>, access: Access) -> usize {
    reads.iter().position(|known| *known == access).unwrap_or_else(|| {
        reads.push(access);
        reads.len() - 1
    })
}
