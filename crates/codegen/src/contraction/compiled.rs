//! A compiled contraction of any kind.

use super::attention::{self, AttentionCode};
use super::code::Code;
use super::encode::{Calls, StoreWords};
use super::pack::{Packer, Source, Weights};
use super::strategy::{self, Strategies};
use super::winograd;
use super::winograd::Size;
use super::{ContractionCode, Packing, Work, compile_with, depthwise, grouped, rows};
use crate::asm::{Asm, Isa};
use crate::legalize::widths::{LegalizedStage, machine, machined};
use crate::legalize::{legalize, rounded_later};
use half::{bf16, f16};
use relayc_ir::kernel::{Attention, Contraction, Depthwise, Factors, Kernel, Reason, ScalarType, Stage, Store, Target, Winograd};
use relayc_ir::types::DType;
use relayc_runtime::contraction::Sum;
use relayc_runtime::split::Piece;

/// What packed weights depend on, besides the elements of their source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WeightLayout {
    packing: Packing,
    /// The transform of Winograd's method, and the steps of its windows.
    tiles: Option<(Size, [i64; 2])>,
}

/// A contraction with its code.
#[derive(Clone, Debug)]
pub struct Compiled {
    code: Code,
    calls: Calls,
}

impl From<ContractionCode> for Compiled {
    fn from(direct: ContractionCode) -> Compiled {
        Compiled::new(Code::Direct(Box::new(direct)))
    }
}

impl From<winograd::Winograd> for Compiled {
    fn from(tiles: winograd::Winograd) -> Compiled {
        Compiled::new(Code::Tiles(Box::new(tiles)))
    }
}

impl From<AttentionCode> for Compiled {
    fn from(code: AttentionCode) -> Compiled {
        Compiled::new(Code::Attention(Box::new(code)))
    }
}

impl Compiled {
    fn new(code: Code) -> Compiled {
        Compiled { calls: Calls::of(&code), code }
    }

    /// Emits the code of a kernel, and returns the reason for its strategy: the `wanted` one, if a reason of this kernel names it
    /// and there is code for it, otherwise that of the least estimate.
    ///
    /// `None` for loop nests and for contractions without code. Constant weights are packed before the first run. The bits of the
    /// result do not depend on whether they are shared.
    pub fn of(
        kernel: &Kernel,
        weights: Weights,
        wanted: Option<&str>,
        target: &Target,
        asm: &mut Asm,
    ) -> Option<(Compiled, Reason)> {
        let target = &Target { lanes: asm.isa().lanes(), registers: asm.isa().regs(), ..*target };
        match kernel {
            Kernel::Nest(_) => None,
            Kernel::Contraction(contract) => {
                Compiled::contraction(&primitive(contract, asm.isa()), None, weights, wanted, target, asm)
            }
            Kernel::Depthwise(own) => {
                let own = Depthwise { contract: primitive(&own.contract, asm.isa()), ..own.clone() };
                let code = depthwise::compile(&own, target, asm)?;
                let reason = asm.reason(|| strategy::converting(&code, strategy::depthwise(&own.contract, target)));
                Some((code.into(), reason))
            }
            Kernel::Winograd(Winograd { contract, tile }) => {
                Compiled::contraction(&primitive(contract, asm.isa()), Some(*tile), weights, wanted, target, asm)
            }
            Kernel::Attention(own) => {
                let [scores, values] = [&own.scores, &own.values].map(|contract| primitive(contract, asm.isa()));
                let own = Attention { scores, values, ..(**own).clone() };
                let (code, weighed) = attention::compile(&own, target, asm)?;
                let reason = asm.reason(|| strategy::attention(&code, &weighed));
                Some((code.into(), reason))
            }
        }
    }

    fn contraction(
        contract: &Contraction,
        tile: Option<u64>,
        weights: Weights,
        wanted: Option<&str>,
        target: &Target,
        asm: &mut Asm,
    ) -> Option<(Compiled, Reason)> {
        let strategies = Strategies::of(contract, tile, weights, target);
        if let Some(size) = strategies.size(wanted)
            && let Some(code) = winograd::compile(contract, size, target, asm)
        {
            let reason = asm.reason(|| strategies.by_tiles(&code, size));
            return Some((code.into(), reason));
        }
        if strategies.takes_rows(wanted)
            && let Some(code) = rows::compile(contract, target, asm)
        {
            let reason = asm.reason(|| strategy::converting(&code, strategies.by_rows()));
            return Some((code.into(), reason));
        }
        if strategies.takes_groups(wanted)
            && let Some(code) = grouped::compile(contract, target, asm)
        {
            let reason = asm.reason(|| strategies.by_groups());
            return Some((code.into(), reason));
        }
        let choice = strategies.tile(wanted);
        let code = compile_with(contract, target, asm, choice)?;
        let reason = asm.reason(|| strategies.direct(choice, &code));
        Some((code.into(), reason))
    }

    /// Whether it reads packed weights; otherwise it reads them unpacked.
    pub fn is_packed(&self) -> bool {
        match &self.code {
            Code::Direct(direct) => direct.is_packed(),
            Code::Tiles(_) => true,
            Code::Attention(_) => false,
        }
    }

    /// Whether it reads each weight as it lies, once for each row.
    pub fn reads_unpacked(&self) -> bool {
        matches!(&self.code, Code::Direct(direct) if !direct.is_packed())
    }

    /// Bytes of the packed weights.
    pub fn packed_bytes(&self) -> usize {
        match &self.code {
            Code::Direct(direct) => (direct.weight_bytes * direct.packing.elements()) as usize,
            Code::Tiles(tiles) => 4 * tiles.filters.elements() as usize,
            Code::Attention(_) => 0,
        }
    }

    /// Bytes of an element of the weights before they are packed.
    pub fn weight_bytes(&self) -> u64 {
        match &self.code {
            Code::Direct(direct) => direct.weight_bytes,
            Code::Tiles(tiles) => tiles.filters.dtype.bytes(),
            Code::Attention(_) => 4,
        }
    }

    /// What its packed weights depend on; `None` for code that packs what it needs itself.
    pub fn weight_layout(&self) -> Option<WeightLayout> {
        match &self.code {
            Code::Direct(direct) => Some(WeightLayout { packing: direct.packing.of_weights(), tiles: None }),
            Code::Tiles(tiles) => {
                let filters = &tiles.filters;
                Some(WeightLayout { packing: filters.packing.of_weights(), tiles: Some((filters.size, filters.taps)) })
            }
            Code::Attention(_) => None,
        }
    }

    /// Packs weights chunk by chunk, of which only elements of [`Compiled::weight_bytes`] are read. Returns whether it did: false
    /// if a side is too short.
    pub fn pack_from<S: Source<[u8; 2]> + Source<[u8; 4]>>(&self, source: &mut S, packed: &mut [f32]) -> bool {
        match &self.code {
            Code::Direct(direct) if direct.weight_bytes == 2 => direct.packing.pack_from(source, elements::<2>(packed)),
            Code::Direct(direct) => direct.packing.pack_from(source, elements::<4>(packed)),
            Code::Tiles(tiles) => match tiles.filters.dtype {
                DType::F16 => tiles.filters.pack_from(source, packed, |bytes: [u8; 2]| f16::from_ne_bytes(bytes).to_f32()),
                DType::BF16 => tiles.filters.pack_from(source, packed, |bytes: [u8; 2]| bf16::from_ne_bytes(bytes).to_f32()),
                _ => tiles.filters.pack_from(source, packed, f32::from_ne_bytes),
            },
            Code::Attention(_) => false,
        }
    }

    /// Precomputes the offsets for packing by pieces, so that runs do not allocate.
    pub fn prepare_pieces(&mut self) {
        if let Code::Direct(direct) = &mut self.code {
            direct.packer = Some(Packer::of(&direct.packing));
        }
    }

    /// Number of pieces that can be packed in parallel.
    ///
    /// Packing a piece of a prepared direct contraction allocates nothing. Winograd tiles are one piece, whose transform
    /// allocates and starts its own threads.
    pub fn n_pieces(&self) -> usize {
        match &self.code {
            Code::Direct(direct) => direct.packing.n_pieces(),
            Code::Tiles(_) => 1,
            Code::Attention(_) => 0,
        }
    }

    /// Packs one piece of weights of four bytes; all pieces together equal [`Compiled::pack_from`]. Returns the same value.
    ///
    /// # Safety
    /// `packed` has [`Compiled::packed_bytes`], and no other thread uses this piece's part of them meanwhile.
    pub unsafe fn pack_piece(&self, mut source: &[[u8; 4]], packed: *mut f32, piece: usize) -> bool {
        match &self.code {
            Code::Direct(direct) => {
                let (begin, len) = direct.packing.piece(piece);
                // SAFETY: pieces lie in the packed weights and do not overlap; the caller vouches for the rest.
                let to = unsafe { std::slice::from_raw_parts_mut(packed.add(begin), len) };
                let fits = direct.packing.inside(source.len());
                if fits {
                    match &direct.packer {
                        Some(packer) => packer.pack(source, piece, elements(to)),
                        None => Packer::of(&direct.packing).pack(source, piece, elements(to)),
                    }
                }
                fits
            }
            Code::Tiles(tiles) => {
                // SAFETY: the only piece is all of them.
                let to = unsafe { std::slice::from_raw_parts_mut(packed, self.packed_bytes() / 4) };
                tiles.filters.pack_from(&mut source, to, f32::from_ne_bytes)
            }
            Code::Attention(_) => false,
        }
    }

    /// Number of elements of scratch memory for each thread.
    pub fn scratch_len(&self) -> usize {
        match &self.code {
            Code::Direct(direct) => direct.group_code.as_ref().map_or(0, |_| direct.packing.group_len() as usize),
            Code::Tiles(tiles) => tiles.scratch_len(),
            Code::Attention(attention) => attention.scratch_len(),
        }
    }

    /// The pieces of each of `threads` threads, in order.
    pub fn split(&self, threads: usize) -> Vec<Vec<Piece>> {
        self.work().split(threads)
    }

    /// All columns of the points from `first` up to `end`; `None` if tiles of other points belong to their bands, for a sum in
    /// several parts, and for one that is no direct sum of packed weights or needs scratch memory.
    pub fn piece_of_points(&self, [first, end]: [u64; 2]) -> Option<Piece> {
        let Code::Direct(direct) = &self.code else { return None };
        let Work { parts: 1, bands, groups, .. } = &direct.work else { return None };
        let mut before = 0;
        let starts: Vec<u64> = [0].into_iter().chain(bands.iter().map(|points| (before += points, before).1)).collect();
        let band = |point| starts.binary_search(&point).ok();
        let simple = direct.is_packed() && direct.group_code.is_none();
        let bands = [band(first)?, band(end)?];
        simple.then_some(Piece { part: 0, bands, groups: [0, groups.len()] })
    }

    /// Number of multiplications and additions of the direct sum, whatever the method.
    pub fn flops(&self) -> u64 {
        match &self.code {
            Code::Direct(direct) => direct.flops(),
            Code::Tiles(tiles) => tiles.flops(),
            Code::Attention(attention) => attention.flops(),
        }
    }

    /// Describes the method in words.
    #[cfg(test)]
    pub(crate) fn describe(&self) -> String {
        match &self.code {
            Code::Direct(direct) => direct.describe(),
            Code::Tiles(tiles) => tiles.describe(),
            Code::Attention(attention) => format!("{:?}", attention.work.bands),
        }
    }

    /// The work that is split among threads.
    pub fn work(&self) -> &Work {
        match &self.code {
            Code::Direct(direct) => &direct.work,
            Code::Tiles(tiles) => &tiles.work,
            Code::Attention(attention) => &attention.work,
        }
    }

    /// The code of its pieces.
    pub fn sum(&self) -> Sum<'_> {
        self.calls.sum()
    }

    /// Writes the words of its calls.
    pub fn flatten(&self, words: &mut Vec<u64>, put: StoreWords) {
        self.code.encode(words, put);
    }

    /// Writes the words of how weights are packed, if a run packs them.
    pub fn flatten_packing(&self, words: &mut Vec<u64>) {
        self.code.flatten_packing(words);
    }
}

/// The same contraction with a body of machine primitives.
pub(crate) fn primitive(contract: &Contraction, isa: Isa) -> Contraction {
    // Nothing is computed on a sum of F64, whose lanes are not those of a body.
    if contract.factors == Factors::Doubles {
        return contract.clone();
    }
    let operands = contract.operands.iter().filter_map(|operand| ScalarType::of(operand.dtype));
    let reads: Vec<ScalarType> = [contract.factors.sum()].into_iter().chain(operands).collect();
    let stores = vec![Store { val: contract.result, write: 0 }];
    let stage = Stage { each: true, body: contract.body.clone(), reductions: vec![], stores };
    let lanes = contract.body.lanes(&reads);
    let (body, result) = match machined(&stage, &lanes, &[], isa == Isa::Avx512) {
        Some(LegalizedStage { body, stores, .. }) if !stores.is_empty() => (body, stores[0].val),
        _ => (stage.body, contract.result),
    };
    let (body, result) = rounded_later(&body, result);
    let held: Vec<ScalarType> = reads.into_iter().map(machine).collect();
    let (body, results) = legalize(&body, &held, &[result], isa == Isa::Avx512);
    Contraction { body, result: results[0], ..contract.clone() }
}

/// Packed weights as elements of 2 or 4 bytes.
fn elements<const N: usize>(packed: &mut [f32]) -> &mut [[u8; N]] {
    const { assert!(N == 2 || N == 4) };
    let len = size_of_val(packed) / N;
    // SAFETY: the elements are the bytes of the slice, and all bytes are valid on both sides.
    unsafe { std::slice::from_raw_parts_mut(packed.as_mut_ptr().cast(), len) }
}
