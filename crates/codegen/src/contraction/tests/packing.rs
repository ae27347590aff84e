//! Weights of several chunks, and of pieces that several tasks pack.

use crate::contraction::pack::{Packing, Source};
use relayc_ir::kernel::{Columns, ContractionDim};

/// Weights that lie as they are packed, but for the parts, which may lie in the opposite order.
fn in_order(parts: u64, steps: u64, backwards: bool) -> Packing {
    let len = 64 * steps as i64;
    Packing {
        parts,
        part_step: if backwards { -len } else { len },
        offset: if backwards { len * (parts as i64 - 1) } else { 0 },
        sum: vec![ContractionDim { extent: steps, input: 0, other: 64 }],
        columns: 64,
        source_columns: Columns { block: 64, outer: 0, inner: 1 },
        lanes: 16,
        vectors: 4,
    }
}

/// A source that no longer has what was reported as read.
struct Forgetful(Vec<f32>);

impl Source<f32> for Forgetful {
    fn elements(&self) -> &[f32] {
        &self.0
    }

    fn done(&mut self, n: usize) {
        self.0[..n].fill(f32::NAN);
    }
}

fn numbers(packing: &Packing) -> Vec<f32> {
    (0..packing.elements()).map(|at| at as f32).collect()
}

#[test]
fn tasks_of_a_piece_pack_its_steps_in_order() {
    let packing = in_order(1, 2500, false);
    let source = numbers(&packing);
    let mut packed = vec![f32::NAN; source.len()];
    assert!(packing.pack(&source, &mut packed));
    assert!(packed == source);
}

#[test]
fn chunks_keep_what_later_ones_read() {
    for backwards in [false, true] {
        let packing = in_order(12, 1024, backwards);
        let source = numbers(&packing);
        let mut packed = vec![f32::NAN; source.len()];
        assert!(packing.pack_from(&mut Forgetful(source.clone()), &mut packed));
        let parts = source.chunks(source.len() / 12);
        let wanted = if backwards { parts.rev().flatten().copied().collect() } else { source.clone() };
        assert!(packed == wanted, "backwards: {backwards}");
    }
}
