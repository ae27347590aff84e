//! The state of a nest being made into code: registers, stack slots, pointers, and the point at hand.

use super::form::Form;
use super::normalize::NormalizedNest;
use super::shape::{LaneDim, Shape};
use crate::asm::{Asm, Isa, K, Mask, R, V};
use relayc_ir::kernel::Access;

/// A nest being made into code.
pub(crate) struct Gen<'a> {
    pub(crate) asm: &'a mut Asm,
    pub(crate) form: &'a Form,
    pub(crate) n: &'a NormalizedNest,
    pub(crate) shape: &'a Shape,
    /// Lanes of a vector.
    pub(crate) lanes: usize,
    pub(crate) groups: Vec<Group>,
    /// For each access its group and the displacement in bytes.
    pub(crate) places: Vec<(usize, i64)>,
    pub(crate) slots: Slots,
    pub(crate) items: Items,
    /// Free vector registers and opmasks, as bits.
    pub(crate) free: u32,
    pub(crate) free_masks: u8,
    /// The mask of the last vector of the lane dimension, and how many lanes that is.
    pub(crate) tail: Option<(Mask, usize)>,
    /// What folds gave, for each fold and vector of the tile.
    pub(crate) folded: Vec<Vec<i32>>,
    /// How many points are inside, as a vector, where windows are clipped.
    pub(crate) count: Option<i32>,
    /// Where the first index inside and their number stand, for each reduced dimension that is clipped.
    pub(crate) bounds: Vec<Option<[i32; 2]>>,
    /// The index of the walk, where a clip wants it.
    pub(crate) walk_index: i32,
    /// Whether no window is clipped along the walk where the code at hand runs.
    pub(crate) inside: bool,
    pub(crate) spare_slots: Vec<i32>,
    /// Where lanes are taken one by one.
    pub(crate) lane_slot: Option<i32>,
    /// Where each crossing read's transposed vectors stand, while they do.
    pub(crate) crossed: Vec<(usize, i32)>,
}

/// One vector of a tile: where it is from the pointers, and whether it is the last of its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Vector {
    pub(crate) walk: i64,
    pub(crate) lane: i64,
    pub(crate) tail: bool,
}

/// Where a body runs.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) vector: Vector,
    /// Steps along reduced dimensions from the pointers.
    pub(crate) reduced: Vec<(usize, i64)>,
    pub(crate) each: bool,
    /// The number of the vector in its tile.
    pub(crate) index: usize,
}

/// Vector registers that no value lives in: for operands that come from memory, and for what takes several steps.
pub(crate) const SCRATCH: [V; 2] = [V(0), V(1)];

/// A mask that no value lives in, on AVX-512.
pub(crate) const SCRATCH_MASK: K = K(2);

/// Accesses to one argument with the same strides; they differ by a displacement.
pub(crate) struct Group {
    /// The first of them, and its number.
    pub(crate) access: Access,
    pub(crate) number: usize,
    /// Bytes of an element.
    pub(crate) size: i64,
    /// Where the pointer is while an item is computed; else it is at `work` on the stack.
    pub(crate) register: Option<R>,
    pub(crate) work: i32,
    /// Where the item's pointer is.
    pub(crate) item: i32,
    /// Where the pointer waits while a clipped window moves it.
    pub(crate) saved: i32,
}

/// Stack slots that the items need.
pub(crate) struct Items {
    pub(crate) args: i32,
    pub(crate) remaining: i32,
    /// The index of the item in each outer dimension.
    pub(crate) index: Vec<i32>,
}

impl Items {
    pub(crate) fn new(slots: &mut Slots, n: usize) -> Items {
        Items { args: 0, remaining: 0, index: (0..n).map(|_| slots.take(8)).collect() }
    }
}

/// Room on the stack, by its offset from `rsp`.
#[derive(Default)]
pub(crate) struct Slots {
    next: i32,
}

impl Slots {
    pub(crate) fn take(&mut self, bytes: i32) -> i32 {
        self.next = (self.next + bytes - 1) / bytes * bytes;
        self.next += bytes;
        self.next - bytes
    }

    pub(crate) fn bytes(&self) -> usize {
        self.next as usize
    }
}

impl<'a> Gen<'a> {
    pub(crate) fn new(asm: &'a mut Asm, form: &'a Form) -> Gen<'a> {
        let isa = asm.isa();
        let Form { n, shape, .. } = form;
        let mut slots = Slots::default();
        let items = Items::new(&mut slots, shape.outer.len());
        let tail = match (shape.lane_extent as usize % isa.lanes(), isa) {
            _ if shape.lane == LaneDim::Single => None,
            (0, _) => None,
            (rest, Isa::Avx512) => Some((Mask::K(K(1)), rest)),
            (rest, Isa::Avx2) => Some((Mask::V(V(15)), rest)),
        };
        let mut free = if isa == Isa::Avx512 { u32::MAX } else { 0xffff } & !0b11;
        if isa == Isa::Avx2 && tail.is_some() {
            free &= !(1 << 15);
        }
        let bounds = n.reduce.iter().map(|dim| dim.clip.map(|_| [slots.take(8), slots.take(8)])).collect();
        let walk_index = slots.take(8);
        let n_vectors = shape.unroll * shape.vectors;
        let folded = n.folded.iter().map(|_| (0..n_vectors).map(|_| slots.take(64)).collect()).collect();
        let count = n.reduce.iter().any(|dim| dim.clip.is_some()).then(|| slots.take(64));
        Gen {
            asm,
            form,
            n,
            lanes: isa.lanes(),
            shape,
            groups: Vec::new(),
            places: Vec::new(),
            slots,
            items,
            free,
            free_masks: 0b1111_1000,
            tail,
            folded,
            count,
            bounds,
            walk_index,
            inside: true,
            spare_slots: Vec::new(),
            lane_slot: None,
            crossed: Vec::new(),
        }
    }

    pub(crate) fn isa(&self) -> Isa {
        self.asm.isa()
    }

    pub(crate) fn set_tail(&mut self) {
        if let Some((mask, n)) = self.tail {
            self.asm.set_tail(mask, n, R::RAX);
        }
    }
}
