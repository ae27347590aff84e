//! Loop nests as machine code.
//!
//! [`normalize`] simplifies a nest, and [`shape`] chooses its lanes and loops and states the rules. The result is one function
//! `extern "sysv64" fn(args: *const *mut u8, begin: usize, end: usize)` that computes the items `begin..end`. The same
//! instructions compute every point whatever the range, so any split of the items among threads writes the same bytes.
//!
//! A vector has a 32-bit lane for each of its points. `legalize::widths` legalizes elements of other widths to such lanes, or
//! to two registers of half as many 64-bit lanes. Their instructions and accesses are here ([`halves`], [`narrow`]). Absent:
//! which nests there are (`plan`), who calls them (`jit`'s runner).

mod access;
mod emit;
mod form;
mod frame;
mod gather;
mod generate;
mod halved;
mod halves;
mod narrow;
mod normalize;
mod reason;
mod reduce;
mod reduction;
mod rows;
mod shape;
mod state;
mod window;
mod words;

#[cfg(test)]
mod tests;

use super::asm::{Asm, Isa, Kind};

use form::Form;
use normalize::NormalizedNest;
use relayc_ir::kernel::{Instr, Nest, Reason};
pub use rows::{Reach, Rows};
use shape::{LaneDim, Shape};
use state::Gen;

/// A nest's function in an assembler.
#[derive(Clone, PartialEq, Debug)]
pub struct NestCode {
    /// Offset of the function in the code.
    pub entry: usize,
    /// The items are `0..n_items`.
    pub n_items: usize,
    /// Estimated cost of one item, in nanoseconds on one core.
    pub item_cost_ns: f64,
    /// The rows of its items, if it has any.
    pub rows: Option<Rows>,
    /// Why it is walked this way.
    pub reason: Reason,
}

/// The estimated time of a nest in nanoseconds on one core; `None` for unsupported element types.
pub fn estimate(nest: &Nest, isa: Isa) -> Option<f64> {
    let normal = normalized(nest, isa)?;
    let (shape, _) = Shape::new(&normal, isa.lanes(), None);
    Some(cost(&normal, &shape, 1, isa.lanes()))
}

fn normalized(nest: &Nest, isa: Isa) -> Option<NormalizedNest> {
    let changed = halved::halved(nest).or_else(|| words::in_words(nest));
    NormalizedNest::new(changed.as_ref().unwrap_or(nest), isa == Isa::Avx512)
}

/// Appends the function of a nest, by the `wanted` strategy if a reason of this nest names it; `None`, with nothing appended, for
/// unsupported element types or extents.
pub fn compile(asm: &mut Asm, nest: &Nest, wanted: Option<&str>) -> Option<NestCode> {
    let isa = asm.isa();
    let normal = normalized(nest, isa)?;
    let lane = wanted.and_then(|wanted| LaneDim::named(wanted, &normal));
    if normal.dims.contains(&0) {
        let entry = asm.here();
        asm.ret();
        return Some(NestCode {
            entry,
            n_items: 0,
            item_cost_ns: 0.0,
            rows: None,
            reason: Reason::only("nothing", "there are no elements"),
        });
    }
    let (shape, prices) = Shape::new(&normal, isa.lanes(), lane);
    let n_items = shape.n_items();
    if n_items >= 1 << 31 || !frame::steps_fit(&normal) {
        return None;
    }
    let n_items = usize::try_from(n_items).ok()?;
    let item_cost_ns = cost(&normal, &shape, n_items, isa.lanes());
    let reason = asm.reason(|| reason::of(&shape, &prices, &normal, item_cost_ns * n_items as f64));
    // Halves of elements have no bytes of their own.
    let rows = Rows::of(&normal, &shape).filter(|_| halved::halved(nest).is_none());
    let (form, numbers) = Form::of(normal, shape, isa.lanes())?;
    let entry = asm.function(Kind::Nest, &form, &numbers, |asm| Gen::new(asm, &form).generate())?;
    Some(NestCode { entry, n_items, item_cost_ns, rows, reason })
}

/// Cost of an element apart from its neighbouring lane's: in another cache line, or in the same.
const APART_NS: [f64; 2] = [0.8, 0.3];

/// Estimates the cost of an item: a sixth of a nanosecond for each vector instruction, plus the time to move the bytes. They
/// come from the second-level cache, or from line to line if lanes are apart.
fn cost(n: &NormalizedNest, shape: &Shape, n_items: usize, lanes: usize) -> f64 {
    let points: f64 = n.dims.iter().map(|&dim| dim as f64).product();
    let reduced = n.reduced_points() as f64;
    let of_stage = |stage: &normalize::PrimitiveStage| {
        let times = if stage.each { reduced } else { 1.0 };
        let count = |counts: fn(&Instr) -> bool| stage.body.instrs.iter().filter(|instr| counts(instr)).count();
        let moved =
            4 * (count(|instr| matches!(instr, Instr::Read(_) | Instr::ReadHalf(..) | Instr::Gather(..))) + stage.stores.len());
        let work = count(|instr| !matches!(instr, Instr::Const(..) | Instr::Reduced(_) | Instr::Count)) + 3 * stage.folds.len();
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
