//! Loop nests as machine code.
//!
//! A nest is brought to a simpler form ([`normal`]), its lanes and loops are chosen ([`shape`], which states the rules), and
//! code is emitted for one function `extern "sysv64" fn(args: *const *mut u8, begin: usize, end: usize)` that computes the
//! items `begin..end`. Every point is computed by the same instructions whatever the range, so any split of the items among
//! threads writes the same bytes.
//!
//! A vector has a lane of 32 bits for each of its points. Elements of other widths are brought to such lanes, or to two registers
//! of half as many lanes of 64 bits, by `expand`'s `widths`; here are their instructions ([`halves`]) and how they are read and
//! written ([`narrow`], [`halves`]). Deliberately not here: which nests there are (`plan`), who calls them (`jit`'s runner).

mod access;
mod emit;
mod fold;
mod frame;
mod generate;
mod half_fold;
mod halved;
mod halves;
mod narrow;
mod normal;
mod pick;
mod reason;
mod reduce;
mod shape;
mod window;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use super::asm::{Asm, Isa};
use crate::kernel::{Instr, Nest, Reason};
use generate::Gen;
use normal::Normal;
use shape::Shape;

/// A nest's function in an assembler.
#[derive(Clone, PartialEq, Debug)]
pub struct NestCode {
    /// The offset of the function in the code.
    pub entry: usize,
    /// The items are `0..n_items`.
    pub n_items: usize,
    /// What one costs, about, in nanoseconds on one core.
    pub item_cost_ns: f64,
    /// Why it is walked the way it is.
    pub reason: Reason,
}

/// Appends the function of a nest; `None` for element types or extents that it cannot have, and then nothing is appended.
pub fn compile(asm: &mut Asm, nest: &Nest) -> Option<NestCode> {
    let isa = asm.isa();
    let halved = halved::halved(nest);
    let normal = Normal::new(halved.as_ref().unwrap_or(nest), isa == Isa::Avx512)?;
    if normal.dims.contains(&0) {
        let entry = asm.here();
        asm.ret();
        return Some(NestCode { entry, n_items: 0, item_cost_ns: 0.0, reason: Reason::only("nothing", "there are no elements") });
    }
    // A first pass, whose code is dropped, tells how much stack the function needs, and whether it can be had at all.
    let mut draft = Asm::new(isa);
    let frame = Gen::new(&mut draft, &normal).generate(0)?;
    draft.finish().ok()?;
    asm.align(64);
    let entry = asm.here();
    asm.mark("items of the nest");
    let mut generator = Gen::new(asm, &normal);
    generator.generate(frame)?;
    let n_items = usize::try_from(generator.shape.n_items()).ok()?;
    let item_cost_ns = cost(&normal, &generator.shape, n_items, isa.lanes());
    let reason = reason::of(&generator.shape, &normal, item_cost_ns * n_items as f64);
    Some(NestCode { entry, n_items, item_cost_ns, reason })
}

/// Of an element that lies apart from that of the next lane: in a line of its own, or not.
const APART_NS: [f64; 2] = [0.8, 0.3];

/// A sixth of a nanosecond for each vector instruction, and what moving the bytes takes from the second cache, or from line to
/// line where lanes lie apart.
fn cost(n: &Normal, shape: &Shape, n_items: usize, lanes: usize) -> f64 {
    let points: f64 = n.dims.iter().map(|&dim| dim as f64).product();
    let reduced = n.reduced_points() as f64;
    let of_stage = |stage: &normal::Program| {
        let times = if stage.each { reduced } else { 1.0 };
        let count = |counts: fn(&Instr) -> bool| stage.body.instrs.iter().filter(|instr| counts(instr)).count();
        let moved =
            4 * (count(|instr| matches!(instr, Instr::Read(_) | Instr::ReadHalf(..) | Instr::Pick(..))) + stage.stores.len());
        let work = count(|instr| !matches!(instr, Instr::Const(..) | Instr::Folded(_) | Instr::Count)) + 3 * stage.folds.len();
        let reads = stage.body.instrs.iter().filter_map(|instr| match *instr {
            Instr::Read(read) | Instr::ReadHalf(read, _) => Some(usize::from(read)),
            _ => None,
        });
        let accesses = reads.map(|read| (read, 2)).chain(stage.stores.iter().map(|store| (n.n_reads + store.write, 1)));
        let apart = accesses.map(|(at, near)| {
            let stride = shape.lane_stride(&n.accesses[at], stage.each).unsigned_abs();
            match stride {
                _ if stride <= near || shape.crossing.contains(&at) => 0.0,
                _ => APART_NS[usize::from(stride * n.accesses[at].dtype.bytes() <= 32)],
            }
        });
        times * (work as f64 / (6 * lanes) as f64 + moved as f64 / 100.0 + apart.sum::<f64>())
    };
    points * n.stages.iter().map(of_stage).sum::<f64>() / n_items.max(1) as f64
}
