//! Margins: what lies around a tensor in its buffer, for padding and for windows that extend over the ends of rows.
//!
//! A clipped dimension holds no lanes, because all lanes share bounds. If the operand is contiguous along that dimension, lanes
//! would be gathered, one element from each row. A padded copy, which no window exceeds, costs a fraction of that.

use super::group::{Lazy, Value};
use super::lowering::Lowering;
use super::request::reach;
use relayc_ir::kernel::{BinaryOp, Body, Clip, Instr, ReduceDim, Reduction, ScalarType, UnaryOp, Val, View};
use relayc_ir::types::DType;
use relayc_ops::lower::{AxisMap, Read, Source, Table, Template};

/// With fewer points than this along a row, lanes go over another dimension.
const ROW: u64 = 4;

impl Lowering<'_> {
    /// Operand 0 in a buffer with margins that hold operand 1; `None` if that is no constant of the same dtype, or nothing is padded.
    pub(super) fn padded(&mut self, args: &[Value], margins: &[(u64, u64)]) -> Option<Value> {
        let inputs = self.inputs(args)?;
        let [data, around] = &inputs[..] else { return None };
        let Instr::Const(bits, lane) = around.body.instrs[around.result.0 as usize] else { return None };
        let bits = if lane == ScalarType::Bool { bits & 1 } else { bits };
        let pads = margins.iter().any(|&margin| margin != (0, 0)) && !data.dims.contains(&0);
        (pads && around.dtype == data.dtype).then_some(())?;
        let mut load = self.with_margins(data, margins, bits).plain()?.clone();
        for (axis, &(before, after)) in margins.iter().enumerate() {
            load.view.offset -= before as i64 * load.view.strides[axis];
            load.view.dims[axis] += before + after;
        }
        Some(Lazy::load(load).into())
    }

    /// The same nest over a padded copy of its operand, if that is better.
    pub(super) fn unclipped(&mut self, template: Template, inputs: &mut [Lazy]) -> Template {
        let [input] = inputs else { return template };
        let Some((margins, bits)) = wanted(&template, input) else { return template };
        *input = self.with_margins(input, &margins, bits);
        without_clips(template)
    }
}

/// The margins that a pool needs, and their content; `None` if the nest is not a pool, or needs no margins.
fn wanted(template: &Template, input: &Lazy) -> Option<(Vec<(u64, u64)>, u64)> {
    let ([first, last], [read]) = (&template.stages[..], &template.reads[..]) else { return None };
    let plain = |instr: &Instr| matches!(instr, Instr::Read(0) | Instr::Unary(UnaryOp::To(_), _));
    let reads = |instr: &Instr| matches!(instr, Instr::Read(_) | Instr::Gather(..));
    let pool = first.each && first.body.instrs.iter().all(plain) && first.stores.is_empty() && !last.each;
    let &[(_, fold)] = &first.reductions[..] else { return None };
    (pool && read.source == Source::Arg(0) && read.picked.is_empty() && !last.body.instrs.iter().any(reads)).then_some(())?;
    let bits = nothing(fold, input.dtype)?;
    let view = input.plain().map_or_else(|| View::dense(&input.dims), |load| load.view.clone());
    let row = (0..view.dims.len()).find(|&axis| view.strides[axis] == 1 && view.dims[axis] > 1)?;
    let clips = |axis: usize| template.reduce.iter().any(|dim| dim.clip.is_some_and(|clip| moves(&read.axes[axis], clip.dim)));
    // Small elements that lie apart are read one by one, whichever way.
    let together = |step: i64| step == 1 || input.dtype.bits >= 32;
    let long = read.axes[row].terms.iter().any(|&(dim, step)| template.dims.get(dim) >= Some(&ROW) && together(step));
    (clips(row) && long).then_some(())?;
    let extents: Vec<u64> = template.dims.iter().copied().chain(template.reduce.iter().map(|dim| dim.extent)).collect();
    let margins = reach(&read.axes, &extents, &input.dims);
    // A window that is mostly outside is no pool's: there would be more outside than in.
    let narrow = |dim: &ReduceDim| {
        let Some(clip) = dim.clip else { return true };
        let mut own = (0..margins.len()).filter(|&axis| moves(&read.axes[axis], clip.dim)).map(|axis| margins[axis]);
        own.all(|(before, after)| 2 * before.max(after) <= dim.extent + 1)
    };
    template.reduce.iter().all(narrow).then_some((margins, bits))
}

fn moves(map: &AxisMap, dim: usize) -> bool {
    map.terms.iter().any(|&(own, step)| own == dim && step != 0)
}

/// The bits of the neutral element of a reduction.
fn nothing(fold: Reduction, dtype: DType) -> Option<u64> {
    match fold {
        Reduction::Sum => Some(0),
        Reduction::Max => Some(match dtype {
            DType::F32 => u64::from(f32::NEG_INFINITY.to_bits()),
            DType::F64 => f64::NEG_INFINITY.to_bits(),
            DType::F16 => 0xfc00,
            DType::BF16 => 0xff80,
            DType::I8 => 0x80,
            DType::I16 => 0x8000,
            DType::I32 => 1 << 31,
            DType::I64 => 1 << 63,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => 0,
            _ => return None,
        }),
        Reduction::Product | Reduction::Min => None,
    }
}

/// Makes all windows whole; tables supply the number of elements inside each window.
fn without_clips(mut template: Template) -> Template {
    let whole: u64 = template.reduce.iter().filter(|dim| dim.clip.is_none()).map(|dim| dim.extent).product();
    let clipped: Vec<(Clip, u64)> = template.reduce.iter().filter_map(|dim| Some((dim.clip?, dim.extent))).collect();
    let last = template.stages.len() - 1;
    let old = std::mem::take(&mut template.stages[last].body);
    let (mut body, mut map) = (Body::new(), Vec::<Val>::new());
    for &instr in &old.instrs {
        let val = if instr == Instr::Count {
            let mut number = body.f32(whole as f32);
            for &(clip, extent) in &clipped {
                let table = Table::floats((0..template.dims[clip.dim]).map(|at| inside(clip, extent, at) as f32));
                template.reads.push(Read::table(table, AxisMap::of(clip.dim)));
                let along = body.read(template.reads.len() - 1);
                number = if whole == 1 && matches!(body.instrs[number.0 as usize], Instr::Const(..)) {
                    along
                } else {
                    body.bin(BinaryOp::Mul, number, along)
                };
            }
            number
        } else {
            body.push(instr.map(|val| map[val.0 as usize]))
        };
        map.push(val);
    }
    template.stages[last].stores.iter_mut().for_each(|store| store.val = map[store.val.0 as usize]);
    template.stages[last].body = body;
    template.reduce.iter_mut().for_each(|dim| dim.clip = None);
    template
}

/// Number of points of a window inside at an index of the kept dimension.
fn inside(clip: Clip, extent: u64, at: u64) -> u64 {
    let place = |point: &u64| at as i64 * clip.stride + *point as i64 * clip.dilation - clip.before;
    (0..extent).filter(|point| (0..clip.size).contains(&place(point))).count() as u64
}
