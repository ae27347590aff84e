//! Any sum of products with its code, whichever way it is computed.

use super::flat::{Calls, Put};
use super::pack::{Element, Packer, Source};
use super::reason;
use super::winograd;
use super::{Contraction, Work, compile, depthwise, rows};
use crate::jit::ahead::runtime::contract::Sum;
use crate::jit::ahead::runtime::split::Piece;
use crate::jit::asm::{Asm, Isa};
use crate::jit::expand::expand;
use crate::kernel::{Contract, Depthwise, Kernel, Lane, Reason, Target, Winograd};

/// A sum of products with its code.
#[derive(Clone, Debug)]
pub struct Compiled {
    code: Code,
    calls: Calls,
}

/// Which way it is computed.
#[derive(Clone, Debug)]
pub(super) enum Code {
    Direct(Box<Contraction>),
    Tiles(Box<winograd::Winograd>),
}

impl From<Contraction> for Compiled {
    fn from(direct: Contraction) -> Compiled {
        Compiled::new(Code::Direct(Box::new(direct)))
    }
}

impl From<winograd::Winograd> for Compiled {
    fn from(tiles: winograd::Winograd) -> Compiled {
        Compiled::new(Code::Tiles(Box::new(tiles)))
    }
}

/// With no more points than this, weights are read as they come if they can be, unless they are constants near by: packing
/// them in a run would cost more than it saves.
pub const FEW_POINTS: u64 = 4;

/// Constants of more bytes than this come from the memory anyway, which is as fast for rows as for packed columns (within a
/// tenth, measured with 67 and 411 MB); below it columns take half to nine tenths of the time, for they add no lanes.
pub const NEAR_WEIGHTS: u64 = 16 << 20;

impl Compiled {
    fn new(code: Code) -> Compiled {
        Compiled { calls: Calls::of(&code), code }
    }

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
                Some((code.into(), reason::depthwise(&own.contract)))
            }
            Kernel::Winograd(Winograd { contract, tile }) => {
                let contract = primitive(contract, asm.isa());
                let weighed = winograd::weigh(&contract, *tile, constant, target);
                if let Some(tiles) = weighed.best.and_then(|size| winograd::compile(&contract, size, target, asm)) {
                    let reason = reason::winograd(&tiles, &contract, &weighed);
                    return Some((tiles.into(), reason));
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
            return Some((code.into(), reason::rows(contract, constant, target)));
        }
        let code = compile(contract, target, asm)?;
        let mut reason = reason::direct(&code, target);
        if points <= FEW_POINTS {
            reason.others.push(reason::no_rows(packs));
        }
        Some((code.into(), reason))
    }

    /// Whether it reads packed weights; if not, it reads them as they come.
    pub fn is_packed(&self) -> bool {
        match &self.code {
            Code::Direct(direct) => direct.is_packed(),
            Code::Tiles(_) => true,
        }
    }

    /// Elements of packed weights.
    pub fn packed_len(&self) -> usize {
        match &self.code {
            Code::Direct(direct) => direct.packing.elements() as usize,
            Code::Tiles(tiles) => tiles.filters.elements() as usize,
        }
    }

    /// Packs weights as they come, turn by turn. Answers whether it did: not if a side is too short.
    pub fn pack_from<E: Element>(&self, source: &mut impl Source<E>, packed: &mut [f32]) -> bool {
        match &self.code {
            Code::Direct(direct) => direct.packing.pack_from(source, packed),
            Code::Tiles(tiles) => tiles.filters.pack_from(source, packed),
        }
    }

    /// Works out what packing piece by piece needs, so that runs allocate nothing for it.
    pub fn prepare_pieces(&mut self) {
        if let Code::Direct(direct) = &mut self.code {
            direct.packer = Some(Packer::of(&direct.packing));
        }
    }

    /// How many pieces can be packed beside each other. Packing a piece of a direct sum that is prepared for it allocates nothing; tiles are one
    /// piece, whose transform allocates and has threads of its own.
    pub fn n_pieces(&self) -> usize {
        match &self.code {
            Code::Direct(direct) => direct.packing.n_pieces(),
            Code::Tiles(_) => 1,
        }
    }

    /// Packs a piece; all of them together are [`Compiled::pack_from`]. The answer is as there.
    ///
    /// # Safety
    /// `packed` has [`Compiled::packed_len`] elements, and nobody else uses this piece's meanwhile.
    pub unsafe fn pack_piece<E: Element>(&self, source: &[E], packed: *mut f32, piece: usize) -> bool {
        match &self.code {
            Code::Direct(direct) => {
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
            Code::Tiles(tiles) => {
                // SAFETY: the only piece is all of them.
                let to = unsafe { std::slice::from_raw_parts_mut(packed, self.packed_len()) };
                tiles.filters.pack(source, to)
            }
        }
    }

    /// Elements of scratch memory that each thread needs.
    pub fn scratch_len(&self) -> usize {
        match &self.code {
            Code::Direct(_) => 0,
            Code::Tiles(tiles) => tiles.scratch_len(),
        }
    }

    /// The pieces of each of `threads`, in order.
    pub fn split(&self, threads: usize) -> Vec<Vec<Piece>> {
        self.work().split(threads)
    }

    /// Multiplications and additions; those of the direct sum, however it is computed.
    pub fn flops(&self) -> u64 {
        match &self.code {
            Code::Direct(direct) => direct.flops(),
            Code::Tiles(tiles) => tiles.flops(),
        }
    }

    /// How it is computed, in words.
    pub fn describe(&self) -> String {
        match &self.code {
            Code::Direct(direct) => direct.describe(),
            Code::Tiles(tiles) => tiles.describe(),
        }
    }

    /// The work that is split among threads.
    pub fn work(&self) -> &Work {
        match &self.code {
            Code::Direct(direct) => &direct.work,
            Code::Tiles(tiles) => &tiles.work,
        }
    }

    /// What computes its pieces.
    pub fn sum(&self) -> Sum<'_> {
        self.calls.sum()
    }

    /// The words of its calls.
    pub fn flatten(&self, words: &mut Vec<u64>, put: Put) {
        self.code.flatten(words, put);
    }

    /// The words of how weights are packed, where a run packs them.
    pub fn flatten_packing(&self, words: &mut Vec<u64>) {
        self.code.flatten_packing(words);
    }
}

/// The same with a body of what the machine has.
pub fn primitive(contract: &Contract, isa: Isa) -> Contract {
    let reads = vec![Lane::F32; 1 + contract.operands.len()];
    let (body, results) = expand(&contract.body, &reads, &[contract.result], isa == Isa::Avx512);
    Contract { body, result: results[0], ..contract.clone() }
}
