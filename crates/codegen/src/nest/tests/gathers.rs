//! Tests of gathers that reach from the first to the last element of their argument.

use super::{Case, Maker, Match, check_all, dtype};
use fastrand::Rng;
use relayc_ir::kernel::{Access, BinaryOp, Body, Reduction, ScalarType, Stage, Steps, Store, UnaryOp, Val};
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
    body.pick(data, places, Steps::Any)
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

/// Reads elements by a table whose numbers change by little from one to the next, in each row of the data.
fn along_a_table(rng: &mut Rng) -> Case {
    let mut maker = Maker::new(rng, 2, 0, 3000);
    let (rows, n) = (maker.dims[0] as i64, maker.dims[1]);
    let lane = [ScalarType::F32, ScalarType::I32, ScalarType::Bool][maker.rng.usize(..3)];
    let least = if maker.rng.bool() { -1 } else { 0 };
    let mut table = vec![0i32];
    for _ in 1..n {
        let step = if maker.rng.u8(..4) == 0 { maker.rng.i32(least..=1) } else { 1 };
        table.push(table[table.len() - 1] + step);
    }
    let first = table.iter().min().copied().unwrap_or(0);
    table.iter_mut().for_each(|at| *at -= first);
    let length = i64::from(table.iter().max().copied().unwrap_or(0)) + 1;
    let steps = Steps::of(&table.iter().map(|&at| at as u32).collect::<Vec<u32>>(), 0);
    assert_ne!(steps, Steps::Any);
    // The row is part of the displacement, or of the place.
    let is_displaced = maker.rng.bool();
    let starts: Vec<u8> = (0..rows).flat_map(|row| ((row * length) as i32).to_le_bytes()).collect();
    let data: Vec<u8> = (0..rows * length).flat_map(|_| maker.element(dtype(lane))).collect();
    let numbers: Vec<u8> = table.iter().flat_map(|at| at.to_le_bytes()).collect();
    let row = if is_displaced { 0 } else { length };
    let args = [(numbers, DType::I32, [0, 1]), (starts, DType::I32, [1, 0]), (data, dtype(lane), [row, 0])];
    for (bytes, dtype, kept) in args {
        maker.memory.push(bytes);
        maker.reads.push(Access { arg: maker.memory.len() - 1, dtype, offset: 0, kept: kept.to_vec(), reduced: vec![] });
    }
    let mut body = Body::new();
    let mut at = body.read(0);
    if is_displaced {
        let start = body.read(1);
        at = body.bin(BinaryOp::Add, start, at);
    }
    let val = body.pick(2, at, steps);
    let stores = vec![Store { val, write: maker.write(dtype(lane), true) }];
    maker.case(vec![Stage { each: true, body, reductions: Vec::new(), stores }], Vec::new(), Match::Exact)
}

#[test]
fn elements_along_tables() {
    check_all("elements along a table", along_a_table, 200);
}
