//! Loop nests of operators: planned over operands in memory, and stored with the computations on operands and result.
//!
//! Operators that only read elements at the same points, such as picks from tables, share one nest. A table whose elements do not lie
//! along the vectors is copied first where it is read often.

use super::BufferId;
use super::anchor::{Args, number, strides};
use super::group::{Lazy, Load, Source, Value};
use super::lowering::{Anchor, Kind, Lowering};
use relayc_ir::kernel::{Access, BinaryOp, Body, Instr, Kernel, Nest, ScalarType, Stage, Steps, Store, Val, View};
use relayc_ir::types::DType;
use relayc_ops::OpDef;
use relayc_ops::lower::{AxisMap, Call, Read, Source as ReadSource, Template, Tensor};

/// Whether a template gathers each element of an operand more than about once, so that fusing the operand's computation would
/// repeat it.
fn often(template: &Template, arg: usize, elements: u64) -> bool {
    let points = template.dims.iter().chain(template.reduce.iter().map(|dim| &dim.extent)).product::<u64>();
    let picks = template.reads.iter().filter(|read| read.source == ReadSource::Arg(arg) && !read.picked.is_empty()).count();
    points.saturating_mul(picks as u64) > elements
}

/// How often each element is gathered at least where it pays to copy the operand first.
const OFTEN: u64 = 4;

/// Whether a template gathers elements side by side that do not lie so, but would in a copy of the operand.
fn is_scattered(template: &Template, arg: usize, input: &Lazy) -> bool {
    let (Some(load), Some(last)) = (input.plain(), template.dims.len().checked_sub(1)) else { return false };
    let n_dims = template.dims.len() + template.reduce.len();
    let step = |axes: &[AxisMap], view: &View| strides(axes, view, n_dims).0[last];
    let copy = View::dense(&input.dims);
    let mut gathers = template.reads.iter().filter(|read| read.source == ReadSource::Arg(arg) && !read.picked.is_empty());
    gathers.any(|read| step(&read.axes, &copy) == 1 && ![0, 1].contains(&step(&read.axes, &load.view)))
}

/// Whether a template reads what an earlier stage stored in the result.
fn keeps(template: &Template) -> bool {
    template.reads.iter().any(|read| matches!(read.source, ReadSource::Out(_)))
}

/// Whether a template only moves or selects 64-bit elements, and computes nothing with them.
fn only_moved(template: &Template, inputs: &[Lazy], is_index: &dyn Fn(usize) -> bool) -> bool {
    let is_wide = |read: u16| match template.reads[usize::from(read)].source {
        ReadSource::Arg(arg) => !is_index(arg) && ScalarType::of(inputs[arg].dtype).is_none_or(ScalarType::is_wide),
        ReadSource::Out(_) => true,
        ReadSource::Table(_) => false,
    };
    template.stages.iter().all(|stage| {
        let mut wide: Vec<bool> = vec![];
        stage.body.instrs.iter().all(|instr| {
            let of = |val: Val| wide[val.0 as usize];
            let (result, moved) = match *instr {
                Instr::Read(read) => (is_wide(read), true),
                Instr::Select(condition, a, b) => (of(a), !of(condition) && of(a) == of(b)),
                _ => (false, !instr.operands().any(of)),
            };
            wide.push(result);
            moved
        }) && stage.reductions.iter().all(|fold| !wide[fold.0.0 as usize])
    })
}

/// The displacement in elements that values add to a read's indices, if any do.
fn displacement(body: &mut Body, read: &Read, map: &[Val], view: &View) -> Option<Val> {
    let mut sum: Option<Val> = None;
    for &(axis, val) in &read.picked {
        // Along an axis of one element there is nowhere to go.
        let stride = if view.dims[axis] == 1 { 0 } else { view.strides[axis] };
        if stride == 0 {
            continue;
        }
        let mut way = map[val.0 as usize];
        if stride != 1 {
            let stride = body.i32(stride as i32);
            way = body.bin(BinaryOp::Mul, way, stride);
        }
        sum = Some(sum.map_or(way, |sum| body.bin(BinaryOp::Add, sum, way)));
    }
    sum
}

/// The steps of a read's displacements from each number of a table to the next.
fn steps(read: &Read, (body, map): (&Body, &[Val]), (stage, template): (&Stage, &Template), view: &View) -> Steps {
    let mut along = read.picked.iter().filter(|(axis, _)| view.dims[*axis] > 1 && view.strides[*axis] == 1);
    let (Some((_, val)), None) = (along.next(), along.next()) else { return Steps::Any };
    let Instr::Read(number) = stage.body.instrs[val.0 as usize] else { return Steps::Any };
    let Instr::Read(own) = body.instrs[map[val.0 as usize].0 as usize] else { return Steps::Any };
    match &template.reads[usize::from(number)].source {
        ReadSource::Table(table) => Steps::of(&table.bits, own),
        ReadSource::Arg(_) | ReadSource::Out(_) => Steps::Any,
    }
}

/// The arguments and the reads of a nest that is being made.
struct Loops {
    args: Args,
    reads: Vec<Access>,
    n_kept: usize,
    n_dims: usize,
}

impl Loops {
    fn access(&self, arg: usize, dtype: DType, axes: &[AxisMap], view: &View) -> Access {
        let (strides, offset) = strides(axes, view, self.n_dims);
        Access { arg, dtype, offset, kept: strides[..self.n_kept].to_vec(), reduced: strides[self.n_kept..].to_vec() }
    }

    /// The number of a read of a buffer.
    fn read(&mut self, buffer: BufferId, dtype: DType, axes: &[AxisMap], view: &View) -> usize {
        let arg = self.args.add(buffer, false);
        let access = self.access(arg, dtype, axes, view);
        number(&mut self.reads, access)
    }
}

/// Maximum number of anchors that go along with another one.
const MAX_JOINED: usize = 7;
/// Maximum length of each.
const MAX_JOINED_INSTRS: usize = 8;

impl Lowering<'_> {
    pub(super) fn anchor_nest(&mut self, op: &'static OpDef, call: &Call, args: &[Value], template: Template) -> Option<Value> {
        let [out] = call.outs else { return None };
        relayc_ops::lower::lane(out.dtype)?;
        let mut inputs = self.inputs(args)?;
        let is_index = |arg: usize| template.positions.iter().any(|positions| positions.arg == arg);
        let held = |(arg, input): (usize, &Lazy)| is_index(arg) || relayc_ops::lower::lane(input.dtype).is_some();
        inputs.iter().enumerate().all(held).then_some(())?;
        for (arg, dims) in &template.shapes {
            inputs[*arg] = self.reshaped(&inputs[*arg], dims)?;
        }
        for (arg, input) in inputs.iter_mut().enumerate() {
            let elements = input.dims.iter().product::<u64>();
            if input.plain().is_none() && often(&template, arg, elements) {
                *input = self.in_buffers(input);
            }
            if often(&template, arg, elements.saturating_mul(OFTEN)) && is_scattered(&template, arg, input) {
                *input = self.straightened(input);
            }
        }
        let picks = template.reads.iter().any(|read| !read.picked.is_empty());
        // Elements of 64 bits fill two registers, for which there are no places: they can only be moved, as halves.
        let is_wide = |load: &Load| ScalarType::of(load.dtype).is_none_or(ScalarType::is_wide);
        let wide = |(arg, input): (usize, &Lazy)| !is_index(arg) && input.loads.iter().any(is_wide);
        let moves_wide = picks && inputs.iter().enumerate().any(wide);
        if moves_wide {
            inputs = inputs.iter().map(|input| self.in_buffers(input)).collect();
            only_moved(&template, &inputs, &is_index).then_some(())?;
        }
        (!picks || inputs.iter().all(|input| self.is_countable(input))).then_some(())?;
        for positions in &template.positions {
            inputs[positions.arg] = self.positions(positions, &inputs[positions.arg], op);
        }
        let template = self.unclipped(template, &mut inputs);
        match self.anchor(Kind::Nests(vec![template]), inputs, op, out) {
            // Nothing is computed of them on the way.
            Value::Tensor(lazy) if moves_wide => Some(self.in_buffers(&lazy).into()),
            value => Some(value),
        }
    }

    /// Plans a nest over operands in memory.
    pub(super) fn anchored(&mut self, op: &'static OpDef, inputs: Vec<Lazy>, template: Template, out: &Tensor) -> Value {
        self.anchor(Kind::Nests(vec![template]), inputs, op, out)
    }

    /// A copy of elements that one load has, in order; the operators of a group share it.
    fn straightened(&mut self, lazy: &Lazy) -> Lazy {
        let load = lazy.plain().cloned();
        let known = self.straight.iter().find(|(of, _)| load.as_ref() == Some(of)).map(|(_, copy)| copy.clone());
        known.unwrap_or_else(|| {
            let copy = self.copied(lazy);
            self.straight.extend(load.map(|load| (load, copy.clone())));
            copy
        })
    }

    /// The elements in order with other extents; a copy if strides cannot express that.
    fn reshaped(&mut self, lazy: &Lazy, dims: &[u64]) -> Option<Lazy> {
        let seen = |lazy: &Lazy| lazy.map_views(dims, |view| view.reshape(dims));
        seen(lazy).or_else(|| seen(&self.copied(lazy)))
    }

    /// Whether an index lane can hold the number of each element of the buffers that a value reads; of halves if elements are
    /// wide.
    fn is_countable(&self, lazy: &Lazy) -> bool {
        lazy.loads.iter().all(|load| match load.source {
            Source::Buffer(buffer) => self.plan.buffers[buffer].elements < if load.dtype.bits > 32 { 1 << 30 } else { 1 << 31 },
            Source::Anchor(_) => false,
        })
    }

    /// Whether any of these nests reads what an earlier stage stored in the result.
    pub(super) fn read_results(templates: &[Template]) -> bool {
        templates.iter().any(keeps)
    }

    /// Whether the nest of the last of few anchors can compute this one too at each of its points: both only read elements, at the
    /// same points.
    pub(super) fn goes_along(&self, anchor: usize, anchors: &[usize]) -> bool {
        let Some((&last, others)) = anchors.split_last().filter(|(_, others)| others.len() <= MAX_JOINED) else { return false };
        let [own, other] = [anchor, last].map(|anchor| match &self.anchors[anchor].kind {
            Kind::Nests(templates) => match &templates[..] {
                [template] if template.reduce.is_empty() && template.stages.len() == 1 && !keeps(template) => Some(template),
                _ => None,
            },
            Kind::Products(_) => None,
        });
        let short = |template: &Template| template.stages[0].body.instrs.len() <= MAX_JOINED_INSTRS;
        others.contains(&anchor)
            && own.zip(other).is_some_and(|(own, other)| own.dims == other.dims && own.outs == other.outs && short(own))
    }

    pub(super) fn store_nest(&mut self, anchor: usize, template: &Template, after: &Lazy, buffer: BufferId, view: &View) {
        let n_kept = template.dims.len();
        let mut loops = Loops { args: Args::default(), reads: vec![], n_kept, n_dims: n_kept + template.reduce.len() };
        let out = (loops.args.add(buffer, true), after.dtype, view);
        let inputs = self.anchors[anchor].inputs.clone();
        let (mut stages, mut ops) = (vec![], vec![]);
        let last = template.stages.len() - 1;
        for (at, stage) in template.stages.iter().enumerate() {
            let mut body = Body::new();
            let map = self.append_stage(&mut body, stage, template, &inputs, out, &mut loops);
            let stores = stage.stores.iter().map(|store| {
                let mut val = map[store.val.0 as usize];
                if at == last {
                    let raw = val;
                    val = after.append_to(&mut body, |body, load| match load.source {
                        Source::Anchor(own) if own == anchor => raw,
                        Source::Anchor(other) => self.append_anchor(body, other, out, &mut loops, &mut ops),
                        Source::Buffer(source) => {
                            let read = loops.read(source, load.dtype, &template.outs[0], &load.view);
                            body.read(read)
                        }
                    });
                }
                Store { val, write: 0 }
            });
            let stores = stores.collect();
            let folds = stage.reductions.iter().map(|&(val, fold)| (map[val.0 as usize], fold)).collect();
            stages.push(Stage { each: stage.each, body, reductions: folds, stores });
        }
        let write = loops.access(out.0, after.dtype, &template.outs[0], view);
        let Loops { args, reads, .. } = loops;
        let nest = Nest { dims: template.dims.clone(), reduce: template.reduce.clone(), reads, writes: vec![write], stages };
        inputs.iter().for_each(|input| ops.extend(&input.ops));
        ops.push(self.anchors[anchor].op);
        ops.extend(&after.ops);
        let origin = self.anchors[anchor].origin;
        self.step(Kernel::Nest(nest), args, origin, ops);
    }

    /// Appends an anchor that [goes along](Self::goes_along) with that of the loops, and returns its result.
    fn append_anchor(
        &mut self,
        body: &mut Body,
        anchor: usize,
        out: (usize, DType, &View),
        loops: &mut Loops,
        ops: &mut Vec<&'static str>,
    ) -> Val {
        let Anchor { kind, inputs, op, .. } = &self.anchors[anchor];
        let (Kind::Nests(templates), inputs, op) = (kind.clone(), inputs.clone(), *op) else {
            unreachable!("a product goes along with nothing")
        };
        inputs.iter().for_each(|input| ops.extend(&input.ops));
        ops.push(op);
        let stage = &templates[0].stages[0];
        let map = self.append_stage(body, stage, &templates[0], &inputs, out, loops);
        map[stage.stores[0].val.0 as usize]
    }

    /// Appends the body of a stage, and returns the value of each of its instructions.
    fn append_stage(
        &mut self,
        body: &mut Body,
        stage: &Stage,
        template: &Template,
        inputs: &[Lazy],
        (out, dtype, view): (usize, DType, &View),
        loops: &mut Loops,
    ) -> Vec<Val> {
        let mut map: Vec<Val> = vec![];
        for &instr in &stage.body.instrs {
            let val = match instr {
                Instr::Read(read) => {
                    let read = &template.reads[usize::from(read)];
                    let load = |body: &mut Body, at: usize, view: &View| match displacement(body, read, &map, view) {
                        None => body.read(at),
                        Some(places) => {
                            let steps = steps(read, (body, &map), (stage, template), view);
                            body.pick(at, places, steps)
                        }
                    };
                    match &read.source {
                        ReadSource::Out(_) => {
                            let access = loops.access(out, dtype, &read.axes, view);
                            load(body, number(&mut loops.reads, access), view)
                        }
                        ReadSource::Table(table) => {
                            let buffer = self.table(table);
                            let view = View::dense(&self.plan.buffers[buffer].shape);
                            load(body, loops.read(buffer, table.dtype, &read.axes, &view), &view)
                        }
                        ReadSource::Arg(arg) => inputs[*arg].append_to(body, |body, own| {
                            let Source::Buffer(source) = own.source else { unreachable!("operands do not wait") };
                            load(body, loops.read(source, own.dtype, &read.axes, &own.view), &own.view)
                        }),
                    }
                }
                _ => body.push(instr.map(|val| map[val.0 as usize])),
            };
            map.push(val);
        }
        map
    }
}
