//! Bytes that come from four places and lie in one: a nest that writes each apart stores one lane at a time.
//!
//! Where the innermost dimension of the bytes written has an extent of four, its index is unrolled: a point computes four bytes and
//! writes them as a word. So the next dimension can hold lanes. Products of bytes read such words of four channels.

use relayc_ir::kernel::{Access, BinaryOp, Body, Instr, Nest, ScalarType, Stage, Store, UnaryOp, Val};
use relayc_ir::types::DType;

/// Bytes of a word.
const BYTES: i64 = 4;

/// The nest by words; `None` if that is not possible, or if it also reads bytes that lie beside each other.
pub(crate) fn in_words(nest: &Nest) -> Option<Nest> {
    let ([write], [Stage { body, stores, reductions, .. }], []) = (&nest.writes[..], &nest.stages[..], &nest.reduce[..]) else {
        return None;
    };
    let ([Store { val, .. }], [], DType::U8 | DType::I8) = (&stores[..], &reductions[..], write.dtype) else { return None };
    let dim = nest.dims.iter().zip(&write.kept).position(|(&extent, &step)| (extent, step) == (BYTES as u64, 1))?;
    let beside = |access: &Access| access.kept[dim] == 1 && access.dtype.bytes() == 1;
    let is_narrow = |access: &Access| access.dtype.bytes() <= 4;
    let is_whole = |(at, step): (usize, &i64)| at == dim || nest.dims[at] == 1 || step % BYTES == 0;
    let moves_only = |instr: &Instr| !matches!(instr, Instr::Gather(..) | Instr::ReadHalf(..) | Instr::Reduced(_) | Instr::Count);
    let is_possible = write.offset % BYTES == 0
        && write.kept.iter().enumerate().all(is_whole)
        && nest.reads.iter().all(|read| is_narrow(read) && !beside(read))
        && nest.reads.iter().any(|read| read.kept[dim] != 0)
        && body.instrs.iter().all(moves_only);
    is_possible.then_some(())?;
    let without =
        |kept: &[i64]| kept.iter().enumerate().filter(|&(at, _)| at != dim).map(|(_, &step)| step).collect::<Vec<i64>>();
    let (mut word, mut reads) = (Body::new(), vec![]);
    let mut bytes: Option<Val> = None;
    for at in 0..BYTES {
        let own = nest.reads.iter().map(|read| {
            let access =
                Access { offset: read.offset + at * read.kept[dim], kept: without(&read.kept), reduced: vec![], ..read.clone() };
            let place = reads.iter().position(|known| *known == access).unwrap_or_else(|| {
                reads.push(access);
                reads.len() - 1
            });
            word.read(place)
        });
        let own: Vec<Val> = own.collect();
        let byte = word.append(body, &own, *val);
        let mut byte = word.un(UnaryOp::To(ScalarType::I32), byte);
        if write.dtype == DType::I8 {
            let low = word.i32(0xff);
            byte = word.bin(BinaryOp::And, byte, low);
        }
        if at > 0 {
            let place = word.i32(8 * at as i32);
            byte = word.bin(BinaryOp::Shl, byte, place);
        }
        bytes = Some(bytes.map_or(byte, |before| word.bin(BinaryOp::Or, before, byte)));
    }
    let kept = without(&write.kept).into_iter().map(|step| step / BYTES).collect();
    Some(Nest {
        dims: nest.dims.iter().enumerate().filter(|&(at, _)| at != dim).map(|(_, &extent)| extent).collect(),
        reduce: vec![],
        reads,
        writes: vec![Access { dtype: DType::I32, offset: write.offset / BYTES, kept, ..write.clone() }],
        stages: vec![Stage { each: true, body: word, reductions: vec![], stores: vec![Store { val: bytes?, write: 0 }] }],
    })
}
