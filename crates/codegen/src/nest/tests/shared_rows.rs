//! Data that several rows share: a bias for each column of a long row, slopes and shifts of rows that are normalized side by
//! side.

use super::super::normalize::NormalizedNest;
use super::super::shape::Shape;
use super::{Case, Maker, Match, check};
use crate::cpu::Cpu;
use fastrand::Rng;
use relayc_ir::kernel::{Access, BinaryOp, Body, Instr, Reduction, Stage, Store, UnaryOp};
use relayc_ir::types::DType;

/// An argument of `n` elements with this access.
fn plain(maker: &mut Maker, kept: Vec<i64>, reduced: Vec<i64>, n: u64) -> Access {
    let bytes = (0..n).flat_map(|_| maker.element(DType::F32)).collect();
    maker.memory.push(bytes);
    Access { arg: maker.memory.len() - 1, dtype: DType::F32, offset: 0, kept, reduced }
}

/// `clip(x * 0.5 + bias)`, the bias along the last of two dimensions.
fn biased(rng: &mut Rng, rows: u64, columns: u64) -> Case {
    let mut maker = Maker::new(rng, 0, 0, 1);
    maker.dims = vec![rows, columns];
    let [x, result] = [0, 1].map(|_| plain(&mut maker, vec![columns as i64, 1], vec![], rows * columns));
    let bias = plain(&mut maker, vec![0, 1], vec![], columns);
    (maker.reads, maker.writes) = (vec![x, bias], vec![result]);
    let mut body = Body::new();
    let (x, bias) = (body.read(0), body.read(1));
    let [half, least, most] = [0.5, 0.0, 1.0].map(|value| body.f32(value));
    let scaled = body.bin(BinaryOp::Mul, x, half);
    let sum = body.bin(BinaryOp::Add, scaled, bias);
    let above = body.bin(BinaryOp::Max, sum, least);
    let val = body.bin(BinaryOp::Min, above, most);
    let store = Store { val, write: 0 };
    let stage = Stage { each: true, body, reductions: vec![], stores: vec![store] };
    maker.case(vec![stage], vec![], Match::Exact)
}

#[test]
fn columns_of_a_bias_that_the_first_cache_does_not_hold_are_cut() {
    for (seed, (rows, columns, chunk)) in
        [(3, 1000, None), (5, 2100, Some(1088)), (2, 3072, Some(1024)), (40, 1500, Some(768)), (700, 2048, None)]
            .into_iter()
            .enumerate()
    {
        let mut rng = Rng::with_seed(seed as u64);
        let case = biased(&mut rng, rows, columns);
        for isa in Cpu::get().isas() {
            let normal = NormalizedNest::new(&case.nest, isa == crate::asm::Isa::Avx512).expect("it has a form");
            let (shape, _) = Shape::new(&normal, isa.lanes(), None);
            let first = shape.chunk.filter(|found| found.outer == 0 && shape.outer.len() == 2).map(|found| found.steps);
            // A tile of AVX2 is half as long.
            let tile = shape.unroll as u64 * isa.lanes() as u64;
            assert_eq!(first.map(|steps| steps.next_multiple_of(64)), chunk, "{rows}x{columns}, tiles of {tile}");
        }
        if rows < 100 {
            check(&case, "bias", seed as u64);
        }
    }
}

/// Rows minus their mean, times a slope and plus a shift for each column.
#[test]
fn rows_side_by_side_read_slopes_and_shifts_once() {
    for (seed, (rows, columns)) in [(8, 96), (9, 100), (4, 768), (7, 33), (1, 64)].into_iter().enumerate() {
        let mut rng = Rng::with_seed(seed as u64);
        let mut maker = Maker::new(&mut rng, 0, 0, 1);
        (maker.dims, maker.reduce, maker.windows, maker.special) = (vec![rows], vec![columns], vec![None], false);
        let [x, normed, shifts] = [0, 1, 2].map(|_| plain(&mut maker, vec![columns as i64], vec![1], rows * columns));
        let [slope, shift] = [0, 1].map(|_| plain(&mut maker, vec![0], vec![1], columns));
        (maker.reads, maker.writes) = (vec![x, slope, shift], vec![normed, shifts]);
        let mut body = Body::new();
        let x = body.read(0);
        let sum = Stage { each: true, body, reductions: vec![(x, Reduction::Sum)], stores: vec![] };
        let mut body = Body::new();
        let (x, sum_of_row, count, slope, shift) =
            (body.read(0), body.folded(0), body.push(Instr::Count), body.read(1), body.read(2));
        let mean = body.bin(BinaryOp::Div, sum_of_row, count);
        let centred = body.bin(BinaryOp::Sub, x, mean);
        // The slope is made of something, too, and the shift is stored as it is read by all rows.
        let slope = body.un(UnaryOp::Abs, slope);
        let val = body.fma(centred, slope, shift);
        let stores = vec![Store { val, write: 0 }, Store { val: shift, write: 1 }];
        let last = Stage { each: true, body, reductions: vec![], stores };
        check(&maker.case(vec![sum, last], vec![], Match::Near), "norm", seed as u64);
    }
}
