//! Reads at computed places, which reach from the first to the last element of their argument.

use super::{Case, Maker, Match, check_all, dtype};
use crate::kernel::{Bin, Body, Fold, Lane, Stage, Store, Un, Val};
use crate::types::DType;
use fastrand::Rng;

/// Reads an element displaced by what an index says, limited to the rows there are; whatever the index is.
fn pick(maker: &mut Maker, body: &mut Body, lane: Lane, of_reduced: bool) -> Val {
    let index = maker.read(DType::I32, of_reduced, true);
    let data = maker.read(dtype(lane), of_reduced, true);
    let arg = maker.reads[data].arg;
    let elements = maker.memory[arg].len() / dtype(lane).bytes() as usize;
    let (rows, step) = (maker.rng.i32(1..9), if maker.rng.bool() { elements as i32 } else { maker.rng.i32(0..4) });
    let more: Vec<u8> = (0..(rows - 1) * step).flat_map(|_| maker.element(dtype(lane))).collect();
    maker.memory[arg].extend(more);
    let (at, least, most, step) = (body.read(index), body.i32(0), body.i32(rows - 1), body.i32(step));
    let at = body.bin(Bin::Max, at, least);
    let at = body.bin(Bin::Min, at, most);
    let places = body.bin(Bin::Mul, at, step);
    body.pick(data, places)
}

fn elements(rng: &mut Rng) -> Case {
    let rank = rng.usize(0..5);
    let mut maker = Maker::new(rng, rank, 0, 1500);
    let lane = [Lane::F32, Lane::F32, Lane::I32, Lane::Bool][maker.rng.usize(..4)];
    let mut body = Body::new();
    let mut val = pick(&mut maker, &mut body, lane, true);
    if lane != Lane::Bool && maker.rng.bool() {
        let (added, read) = (maker.read(dtype(lane), true, true), val);
        let other = body.read(added);
        val = body.bin(Bin::Add, read, other);
    }
    if lane == Lane::Bool {
        val = body.un(Un::Not, val);
    }
    let stores = vec![Store { val, write: maker.write(dtype(lane), true) }];
    let each = maker.rng.bool();
    maker.case(vec![Stage { each, body, folds: Vec::new(), stores }], Vec::new(), Match::Exact)
}

fn folds(rng: &mut Rng) -> Case {
    let (kept, reduced) = (rng.usize(0..4), rng.usize(1..3));
    let mut maker = Maker::new(rng, kept, reduced, 2500);
    let fold = [Fold::Sum, Fold::Max, Fold::Min][maker.rng.usize(..3)];
    maker.special = false;
    let mut body = Body::new();
    let a = pick(&mut maker, &mut body, Lane::F32, true);
    let b = pick(&mut maker, &mut body, Lane::F32, true);
    let x = body.bin(Bin::Sub, a, b);
    let first = Stage { each: true, body, folds: vec![(x, fold)], stores: Vec::new() };
    let mut body = Body::new();
    let folded = body.folded(0);
    // A place that a fold decides is the same for all lanes of a row.
    let other = pick(&mut maker, &mut body, Lane::F32, false);
    let val = body.bin(Bin::Add, folded, other);
    let stores = vec![Store { val, write: maker.write(DType::F32, false) }];
    let last = Stage { each: false, body, folds: Vec::new(), stores };
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
