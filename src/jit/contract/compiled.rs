//! Any sum of products with its code, whichever way it is computed.

use super::pack::{Element, Packer, Source};
use super::reason;
use super::winograd::{self, Size};
use super::{Contraction, Item, compile, depthwise, rows};
use crate::jit::asm::{Asm, Isa};
use crate::jit::expand::expand;
use crate::kernel::{Contract, Depthwise, Kernel, Lane, Reason, Target, Winograd};

/// A sum of products with its code.
#[derive(Clone, Debug)]
pub enum Compiled {
    Direct(Box<Contraction>),
    Tiles(Box<winograd::Winograd>),
}

/// With no more points than this, weights are read as they come if they can be, unless they are constants near by: packing
/// them in a run would cost more than it saves.
pub const FEW_POINTS: u64 = 4;

/// Constants of more bytes than this come from the memory anyway, which is as fast for rows as for packed columns (within a
/// tenth, measured with 67 and 411 MB); below it columns take half to nine tenths of the time, for they add no lanes.
pub const NEAR_WEIGHTS: u64 = 16 << 20;

impl Compiled {
    /// Emits the code of a kernel, and says why it is this code; `None` of nests, and of what has no code. Weights that are
    /// `constant` are packed before the first run.
    pub fn of(kernel: &Kernel, constant: bool, target: &Target, asm: &mut Asm) -> Option<(Compiled, Reason)> {
        let target = &Target { lanes: asm.isa().lanes(), registers: asm.isa().regs(), ..*target };
        match kernel {
            Kernel::Nest(_) => None,
            Kernel::Contract(contract) => Compiled::direct(&primitive(contract, asm.isa()), constant, target, asm),
            Kernel::Depthwise(own) => {
                let own = Depthwise { contract: primitive(&own.contract, asm.isa()), ..own.clone() };
                let code = depthwise::compile(&own, target, asm)?;
                Some((direct(code), reason::depthwise(&own.contract)))
            }
            Kernel::Winograd(Winograd { contract, tile }) => {
                let contract = primitive(contract, asm.isa());
                let weighed = winograd::weigh(&contract, *tile >= Size::Four.outputs() as u64, target);
                if let Some(tiles) = weighed.best.and_then(|size| winograd::compile(&contract, size, target, asm)) {
                    let reason = reason::winograd(&tiles, &contract, &weighed);
                    return Some((Compiled::Tiles(Box::new(tiles)), reason));
                }
                let (code, reason) = Compiled::direct(&contract, constant, target, asm)?;
                Some((code, reason::not_winograd(reason, &contract, &weighed)))
            }
        }
    }

    fn direct(contract: &Contract, constant: bool, target: &Target, asm: &mut Asm) -> Option<(Compiled, Reason)> {
        let points: u64 = contract.points.iter().map(|dim| dim.extent).product();
        let packs = constant && 4 * contract.columns * contract.sum.iter().map(|dim| dim.extent).product::<u64>() <= NEAR_WEIGHTS;
        if points <= FEW_POINTS
            && !packs
            && let Some(code) = rows::compile(contract, target, asm)
        {
            return Some((direct(code), reason::rows(contract, constant, target)));
        }
        let code = compile(contract, target, asm)?;
        let mut reason = reason::direct(&code, target);
        if points <= FEW_POINTS {
            reason.others.push(reason::no_rows(packs));
        }
        Some((direct(code), reason))
    }

    /// Whether it reads packed weights; if not, it reads them as they come.
    pub fn is_packed(&self) -> bool {
        match self {
            Compiled::Direct(direct) => direct.is_packed(),
            Compiled::Tiles(_) => true,
        }
    }

    /// Elements of packed weights.
    pub fn packed_len(&self) -> usize {
        match self {
            Compiled::Direct(direct) => direct.packing.elements() as usize,
            Compiled::Tiles(tiles) => tiles.filters.elements() as usize,
        }
    }

    /// Packs weights as they come, turn by turn. Answers whether it did: not if a side is too short.
    pub fn pack_from<E: Element>(&self, source: &mut impl Source<E>, packed: &mut [f32]) -> bool {
        match self {
            Compiled::Direct(direct) => direct.packing.pack_from(source, packed),
            Compiled::Tiles(tiles) => tiles.filters.pack_from(source, packed),
        }
    }

    /// Works out what packing piece by piece needs, so that runs allocate nothing for it.
    pub fn prepare_pieces(&mut self) {
        if let Compiled::Direct(direct) = self {
            direct.packer = Some(Packer::of(&direct.packing));
        }
    }

    /// How many pieces can be packed beside each other. Packing a piece of a direct sum that is prepared for it allocates nothing; tiles are one
    /// piece, whose transform allocates and has threads of its own.
    pub fn n_pieces(&self) -> usize {
        match self {
            Compiled::Direct(direct) => direct.packing.n_pieces(),
            Compiled::Tiles(_) => 1,
        }
    }

    /// Packs a piece; all of them together are [`Compiled::pack_from`]. The answer is as there.
    ///
    /// # Safety
    /// `packed` has [`Compiled::packed_len`] elements, and nobody else uses this piece's meanwhile.
    pub unsafe fn pack_piece<E: Element>(&self, source: &[E], packed: *mut f32, piece: usize) -> bool {
        match self {
            Compiled::Direct(direct) => {
                let (begin, len) = direct.packing.piece(piece);
                // SAFETY: pieces lie in the packed weights and do not overlap; the caller vouches for the rest.
                let to = unsafe { std::slice::from_raw_parts_mut(packed.add(begin), len) };
                let fits = direct.packing.inside(source.len());
                if fits {
                    match &direct.packer {
                        Some(packer) => packer.pack(source, piece, to),
                        None => Packer::of(&direct.packing).pack(source, piece, to),
                    }
                }
                fits
            }
            Compiled::Tiles(tiles) => {
                // SAFETY: the only piece is all of them.
                let to = unsafe { std::slice::from_raw_parts_mut(packed, self.packed_len()) };
                tiles.filters.pack(source, to)
            }
        }
    }

    /// Elements of scratch memory that each thread needs.
    pub fn scratch_len(&self) -> usize {
        match self {
            Compiled::Direct(_) => 0,
            Compiled::Tiles(tiles) => tiles.scratch_len(),
        }
    }

    /// The items of each of `threads`, in order.
    pub fn split(&self, threads: usize) -> Vec<Vec<Item>> {
        match self {
            Compiled::Direct(direct) => direct.work.split(threads),
            Compiled::Tiles(tiles) => tiles.work.split(threads),
        }
    }

    /// Multiplications and additions; those of the direct sum, however it is computed.
    pub fn flops(&self) -> u64 {
        match self {
            Compiled::Direct(direct) => direct.flops(),
            Compiled::Tiles(tiles) => tiles.flops(),
        }
    }

    /// How it is computed, in words.
    pub fn describe(&self) -> String {
        match self {
            Compiled::Direct(direct) => direct.describe(),
            Compiled::Tiles(tiles) => tiles.describe(),
        }
    }

    /// Computes an item.
    ///
    /// # Safety
    /// As [`Contraction::run`]; `scratch` has [`Compiled::scratch_len`] elements that nobody else uses meanwhile.
    pub unsafe fn run(&self, code: *const u8, args: &[*mut u8], packed: *const f32, scratch: *mut f32, item: &Item) {
        // SAFETY: the caller vouches for it.
        unsafe {
            match self {
                Compiled::Direct(direct) => direct.run(code, args, packed, item),
                Compiled::Tiles(tiles) => tiles.run(code, args, packed, scratch, item),
            }
        }
    }
}

fn direct(direct: Contraction) -> Compiled {
    Compiled::Direct(Box::new(direct))
}

/// The same with a body of what the machine has.
pub fn primitive(contract: &Contract, isa: Isa) -> Contract {
    let reads = vec![Lane::F32; 1 + contract.operands.len()];
    let (body, results) = expand(&contract.body, &reads, &[contract.result], isa == Isa::Avx512);
    Contract { body, result: results[0], ..contract.clone() }
}
