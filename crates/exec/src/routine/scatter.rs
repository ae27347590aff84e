//! Scatters: writes elements where indices point, one after the other.

use super::{Bytes, Outside};
use relayc_ir::kernel::{MAX_RANK, Scatter, ScatterTarget};
use relayc_ir::tensor::{Element, with_dtype};

/// Runs the routine. Errors: an index out of range; nothing is written then.
pub(super) fn run(scatter: &Scatter, args: &[Bytes]) -> Result<(), Outside> {
    with_dtype!(scatter.dtype, |T| put::<T>(scatter, args)).unwrap_or(Err(Outside))
}

fn put<T: Element>(scatter: &Scatter, args: &[Bytes]) -> Result<(), Outside> {
    let [data, indices, updates, out] = args else { return Err(Outside) };
    let (floats, ints) = (scatter.join.floats(), scatter.join.ints());
    let join = |to: usize, from: usize| out.put::<T>(to, out.get::<T>(to).apply2(updates.get(from), floats, ints));
    match scatter.to {
        ScatterTarget::Along(axis) => {
            let length = scatter.data[axis] as i128;
            let n = scatter.indices.iter().product::<u64>() as usize;
            let index = |at: usize| {
                let index = indices.int(scatter.index, at);
                if index < 0 { index + length } else { index }
            };
            (0..n).all(|at| (0..length).contains(&index(at))).then_some(()).ok_or(Outside)?;
            out.copy_from(*data);
            let mut place = [0u64; MAX_RANK];
            let rank = scatter.data.len();
            for at in 0..n {
                let (mut to, mut from) = (0, 0);
                for (d, &here) in place[..rank].iter().enumerate() {
                    let own = if d == axis { index(at) as u64 } else { here };
                    to = to * scatter.data[d] + own;
                    from = from * scatter.updates[d] + here;
                }
                join(to as usize, from as usize);
                for d in (0..rank).rev() {
                    place[d] += 1;
                    if place[d] < scatter.indices[d] {
                        break;
                    }
                    place[d] = 0;
                }
            }
        }
        ScatterTarget::Places => {
            let columns = scatter.indices[0] as usize;
            let (indexed, part) = scatter.data.split_at(columns);
            let (part, places) = (part.iter().product::<u64>() as usize, scatter.indices[1..].iter().product::<u64>() as usize);
            let index = |column: usize, place: usize| indices.int(scatter.index, column * places + place);
            let inside = |column: usize, place: usize| (0..i128::from(indexed[column])).contains(&index(column, place));
            (0..columns).all(|column| (0..places).all(|place| inside(column, place))).then_some(()).ok_or(Outside)?;
            out.copy_from(*data);
            // Without an index for it there may be any number of places for nothing.
            for place in 0..if part == 0 { 0 } else { places } {
                let start =
                    (0..columns).fold(0, |start, column| start * indexed[column] as usize + index(column, place) as usize);
                for at in 0..part {
                    join(start * part + at, place * part + at);
                }
            }
        }
    }
    Ok(())
}
