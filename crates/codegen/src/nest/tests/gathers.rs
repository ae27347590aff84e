//! Tests of gathers that reach from the first to the last element of their argument.

use super::{Case, Maker, Match, check_all, dtype};
use fastrand::Rng;
use relayc_ir::kernel::{BinaryOp, Body, Reduction, ScalarType, Stage, Store, UnaryOp, Val};
use relayc_ir::types::DType;

/// Reads an element displaced by an index, whatever its value, clamped to the existing rows.
fn pick(maker: &mut Maker, body: &mut Body, lane: ScalarType, of_reduced: bool) -> Val {
    let index = maker.read(DType::I32, of_reduced, true);
    let data = maker.read(dtype(lane), of_reduced, true);
    let arg = maker.reads[data].arg;
    let elements = maker.memory[arg].len() / dtype(lane).bytes() as usize;
    let (rows, step) = (maker.rng.i32(1..9), if maker.rng.bool() { elements as i32 } else { maker.rng.i32(0..4) });
    let more: Vec<u8> = (0..(rows - 1) * step).flat_map(|_| maker.element(dtype(lane))).collect();
    maker.memory[arg].extend(more);
    let (at, least, most, step) = (body.read(index), body.i32(0), body.i32(rows - 1), body.i32(step));
    let at = body.bin(BinaryOp::Max, at, least);
    let at = body.bin(BinaryOp::Min, at, most);
    let places = body.bin(BinaryOp::Mul, at, step);
    body.pick(data, places)
}

fn elements(rng: &mut Rng) -> Case {
    let rank = rng.usize(0..5);
    let mut maker = Maker::new(rng, rank, 0, 1500);
    let lane = [ScalarType::F32, ScalarType::F32, ScalarType::I32, ScalarType::Bool][maker.rng.usize(..4)];
    let mut body = Body::new();
    let mut val = pick(&mut maker, &mut body, lane, true);
    if lane != ScalarType::Bool && maker.rng.bool() {
        let (added, read) = (maker.read(dtype(lane), true, true), val);
        let other = body.read(added);
        val = body.bin(BinaryOp::Add, read, other);
    }
    if lane == ScalarType::Bool {
        val = body.un(UnaryOp::Not, val);
    }
    let stores = vec![Store { val, write: maker.write(dtype(lane), true) }];
    let each = maker.rng.bool();
    maker.case(vec![Stage { each, body, reductions: Vec::new(), stores }], Vec::new(), Match::Exact)
}

fn folds(rng: &mut Rng) -> Case {
    let (kept, reduced) = (rng.usize(0..4), rng.usize(1..3));
    let mut maker = Maker::new(rng, kept, reduced, 2500);
    let fold = [Reduction::Sum, Reduction::Max, Reduction::Min][maker.rng.usize(..3)];
    maker.special = false;
    let mut body = Body::new();
    let a = pick(&mut maker, &mut body, ScalarType::F32, true);
    let b = pick(&mut maker, &mut body, ScalarType::F32, true);
    let x = body.bin(BinaryOp::Sub, a, b);
    let first = Stage { each: true, body, reductions: vec![(x, fold)], stores: Vec::new() };
    let mut body = Body::new();
    let folded = body.folded(0);
    // A place that a fold decides is the same for all lanes of a row.
    let other = pick(&mut maker, &mut body, ScalarType::F32, false);
    let val = body.bin(BinaryOp::Add, folded, other);
    let stores = vec![Store { val, write: maker.write(DType::F32, false) }];
    let last = Stage { each: false, body, reductions: Vec::new(), stores };
    maker.case(vec![first, last], Vec::new(), Match::Near)
}

#[test]
fn elements_at_computed_places() {
    check_all("picked elements", elements, 150);
}

#[test]
fn folds_of_elements_at_computed_places() {
    check_all("picked rows", folds, 100);
}
