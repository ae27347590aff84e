//! Epilogues: element-wise operators on the sums of a tile before they are stored.
//!
//! The body runs on each vector of sums, in the registers that the sums leave. If it needs more, the sums are spilled to the
//! stack and it runs with all registers. If these do not suffice either, the kernel does not exist.

use super::points::Shape;
use super::registers::{INPUT, SPARE, TAIL};
use crate::asm::forms::{self, Form};
use crate::asm::{Asm, Isa, K, Mask, Mem, R, Rm, Round, V, Width};
use crate::legalize::widths::machine;
use crate::machine::{extending, load_extended, low_bytes, machine_op, predicates};
use relayc_ir::kernel::{BinaryOp, Body, Cmp, Instr, ScalarType, UnaryOp, Val};
use relayc_ir::types::DType;

/// How the columns of a stream map to lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Lanes {
    /// Contiguous.
    Vector,
    /// One element for all lanes.
    Splat,
}

/// A stream of the epilogue: the output or an operand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Stream {
    pub(crate) lanes: Lanes,
    /// Step from one column vector of a tile to the next, in elements.
    pub(crate) vector: i64,
    pub(crate) dtype: DType,
}

impl Stream {
    /// Bytes of an element.
    pub(crate) fn bytes(&self) -> i64 {
        self.dtype.bytes() as i64
    }

    /// Whether its elements are lanes as they are in memory.
    fn is_plain(&self) -> bool {
        self.dtype.bits >= 32
    }
}

/// A body and its streams.
#[derive(Hash)]
pub(crate) struct Epilogue<'a> {
    pub(crate) body: &'a Body,
    pub(crate) result: Val,
    /// The type of the sums.
    pub(crate) sum: ScalarType,
    pub(crate) streams: &'a [Stream],
}

impl Epilogue<'_> {
    /// Number of columns in a tile's row of the table: one for the input and one for each stream.
    pub(crate) fn n_streams(&self) -> usize {
        1 + self.streams.len()
    }

    /// Whether code exists for it, for whole vectors and for partial ones.
    pub(crate) fn possible(&self, isa: Isa) -> bool {
        let fits = |masked| self.fits(isa.regs(), isa, false, masked);
        // Partial vectors of bytes have no code on AVX2.
        let whole = isa == Isa::Avx2 && !self.is_plain();
        self.streams.len() <= SPARE.len() && fits(false) && (whole || fits(true))
    }

    /// The term that all points of a tile share, if there is one.
    pub(crate) fn first_term(&self, shape: &Shape) -> Option<FirstTerm> {
        let instrs = &self.body.instrs;
        let is_sum = |val: Val| instrs[val.0 as usize] == Instr::Read(0);
        let term = |instr: &Instr| match *instr {
            Instr::Binary(BinaryOp::Add, sum, term) if is_sum(sum) => Some(term),
            Instr::Binary(BinaryOp::Add, term, sum) if is_sum(sum) => Some(term),
            _ => None,
        };
        let (instr, term) = instrs.iter().enumerate().find_map(|(at, instr)| Some((at, term(instr)?)))?;
        let Instr::Read(stream) = instrs[term.0 as usize] else { return None };
        let stream = usize::from(stream);
        let used_once =
            instrs.iter().flat_map(|instr| instr.operands()).filter(|&val| is_sum(val)).count() == 1 && !is_sum(self.result);
        let along = self.streams.get(stream).is_some_and(|own| own.lanes == Lanes::Vector && own.dtype == DType::I32);
        let shared = shape.iter().all(|point| point.get(stream + 1) == shape[0].get(stream + 1));
        (self.sum == ScalarType::I32 && stream > 0 && used_once && along && shared).then_some(FirstTerm { instr, stream })
    }

    /// Whether the elements of all streams are lanes as they are in memory.
    pub(crate) fn is_plain(&self) -> bool {
        self.streams.iter().all(Stream::is_plain)
    }

    /// Whether the body fits into `n_free` registers beside the sums. In a `masked` vector, operands that could stay in memory
    /// need registers.
    fn fits(&self, n_free: usize, isa: Isa, in_register: bool, masked: bool) -> bool {
        self.constants_loaded(n_free, isa, in_register, masked, &[]).is_some()
    }

    /// The constants that a vector loads into registers, where those of `kept` stay in one; `None` if it does not fit.
    fn constants_loaded(&self, n_free: usize, isa: Isa, in_register: bool, masked: bool, kept: &[u32]) -> Option<Vec<u32>> {
        let mut free: Vec<V> = (0..n_free).map(|at| V(at as u8)).collect();
        let kept = kept.iter().map(|&bits| Some((bits, free.pop()?))).collect::<Option<Vec<_>>>()?;
        let mask = match isa {
            _ if !masked => None,
            Isa::Avx512 => Some(Mask::K(TAIL)),
            Isa::Avx2 => Some(Mask::V(free.pop()?)),
        };
        // A sum in a register leaves the last one out of `free`.
        let sum = if in_register { Place::Register(V(isa.regs() as u8 - 1)) } else { Place::Memory(Rm::Mem(Mem::at(R::RSP, 0))) };
        // The code of this trial is dropped.
        let mut asm = Asm::new(isa);
        let mut evaluation = Evaluation::new(self, &mut asm, free, sum, mask);
        evaluation.kept = &kept;
        evaluation.run()?;
        Some(evaluation.constants_loaded)
    }
}

/// A tile with its sums in the first registers.
#[derive(Clone, Copy, Hash)]
pub(crate) struct Sums<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) vectors: usize,
    /// Number of 32-bit lanes of the last vector, if it is partial.
    pub(crate) tail: Option<usize>,
    /// Number of registers for it, if limited.
    pub(crate) limit: Option<usize>,
    /// What the sums begin with, if not 0.
    pub(crate) first: Option<FirstTerm>,
    pub(crate) epilogue: &'a Epilogue<'a>,
}

impl Sums<'_> {
    /// The width of the multiply-adds of a vector. The columns of a short last one lie in the lower half of a register, which
    /// processors with units of 256 bits multiply in half the time.
    pub(crate) fn width(&self, isa: Isa, vector: usize) -> Width {
        let is_short = self.tail.is_some_and(|columns| vector + 1 == self.vectors && is_half(columns as u64, isa.lanes()));
        if is_short { Width::Y } else { isa.width() }
    }
}

/// Whether so many columns leave half of a vector's lanes empty, and half a vector has instructions that may be faster.
pub(crate) fn is_half(columns: u64, lanes: usize) -> bool {
    lanes == Isa::Avx512.lanes() && columns <= lanes as u64 / 2
}

/// An operand that the epilogue adds to integer sums. It may as well be their first term, which changes no bit.
#[derive(Clone, Copy, Hash)]
pub(crate) struct FirstTerm {
    /// The number of the instruction that would add it.
    instr: usize,
    pub(crate) stream: usize,
}

impl Sums<'_> {
    pub(crate) fn points(&self) -> usize {
        self.shape.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.points() * self.vectors
    }

    /// The register of the sum of a point and a vector of columns.
    pub(crate) fn register(&self, point: usize, vector: usize) -> V {
        V((point * self.vectors + vector) as u8)
    }

    /// A register after those of the sums.
    pub(crate) fn extra(&self, at: usize) -> V {
        V((self.len() + at) as u8)
    }

    /// Whether the sums must be spilled.
    pub(crate) fn spill(&self, isa: Isa) -> bool {
        !self.masked().iter().all(|&masked| self.epilogue.fits(self.registers(isa) - self.len(), isa, true, masked))
    }

    /// Whether its vectors are partial: the different answers.
    fn masked(&self) -> &'static [bool] {
        match (self.tail, self.vectors) {
            (None, _) => &[false],
            (Some(_), 1) => &[true],
            (Some(_), _) => &[false, true],
        }
    }

    /// The constants that each vector would load, as many as registers are left for: they stay there for the whole tile.
    fn kept(&self, isa: Isa, n_free: usize, in_register: bool) -> Vec<u32> {
        let loaded = |masked: bool, kept: &[u32]| self.epilogue.constants_loaded(n_free, isa, in_register, masked, kept);
        let mut kept = if self.len() == 1 { vec![] } else { loaded(self.masked()[0], &[]).unwrap_or_default() };
        kept.sort_unstable();
        kept.dedup();
        while !kept.is_empty() && !self.masked().iter().all(|&masked| loaded(masked, &kept).is_some()) {
            kept.pop();
        }
        kept
    }

    fn registers(&self, isa: Isa) -> usize {
        self.limit.unwrap_or(isa.regs())
    }

    /// Number of bytes of stack that the epilogue needs.
    pub(crate) fn locals(&self, isa: Isa) -> usize {
        if self.spill(isa) { self.len() * isa.bytes() } else { 0 }
    }
}

/// The error if trial and emission ever differ, so that nothing is omitted silently.
const WHAT: &str = "the epilogue";

/// Emits the body and the stores of a whole tile.
pub(crate) fn emit(tile: &Sums, asm: &mut Asm) {
    let isa = asm.isa();
    let n_sums = tile.len();
    let spilled = tile.spill(isa);
    let mut free: Vec<V> = (if spilled { 0 } else { n_sums }..tile.registers(isa)).map(|at| V(at as u8)).collect();
    let kept = tile.kept(isa, free.len(), !spilled);
    let kept: Vec<(u32, V)> = kept.into_iter().filter_map(|bits| Some((bits, free.pop()?))).collect();
    let scratch = |point: usize, vector: usize| Mem::at(R::RSP, ((point * tile.vectors + vector) * isa.bytes()) as i32);
    if spilled {
        for point in 0..tile.points() {
            for vector in 0..tile.vectors {
                asm.store(scratch(point, vector), tile.register(point, vector));
            }
        }
    }
    for &(bits, register) in &kept {
        let constant = asm.splat_bits_rm(bits);
        load(asm, register, constant);
    }
    for vector in 0..tile.vectors {
        let tail = tile.tail.filter(|_| vector + 1 == tile.vectors);
        let mask = match (tail, isa) {
            (None, _) => None,
            (Some(_), Isa::Avx512) => Some(Mask::K(TAIL)),
            (Some(lanes), Isa::Avx2) => {
                let Some(register) = free.pop() else { return asm.refuse(WHAT, "no register is left for its mask") };
                asm.set_tail(Mask::V(register), lanes, R::RAX);
                Some(Mask::V(register))
            }
        };
        for point in 0..tile.points() {
            let sum = match spilled {
                true => Place::Memory(Rm::Mem(scratch(point, vector))),
                false => Place::Register(tile.register(point, vector)),
            };
            let operand = |at: usize| {
                let stream = &tile.epilogue.streams[at];
                let element = tile.shape[point][at + 1] + vector as i64 * stream.vector;
                Mem::at(SPARE[at], (stream.bytes() * element) as i32)
            };
            let memory: Vec<Mem> = (0..tile.epilogue.streams.len()).map(operand).collect();
            let mut evaluation = Evaluation::new(tile.epilogue, asm, free.clone(), sum, mask);
            evaluation.memory = memory.clone();
            evaluation.kept = &kept;
            evaluation.first = tile.first.map(|first| first.instr);
            let Some(result) = evaluation.run() else {
                return asm.refuse(WHAT, "its registers do not suffice, although they did when it was tried");
            };
            match (tile.epilogue.streams[0].is_plain(), mask) {
                (true, mask) => asm.store_tail(memory[0], mask, result),
                (false, Some(Mask::K(mask))) => {
                    asm.under(mask, false).vector(&forms::VPMOVDB, isa.width(), result, V(0), memory[0], None);
                }
                (false, _) => store_bytes(asm, memory[0], result),
            }
        }
    }
}

/// Loads what may be the last operand of an instruction.
fn load(asm: &mut Asm, register: V, from: Rm) {
    match from {
        Rm::Mem(mem) => asm.load(register, mem),
        Rm::Bcast(mem) => asm.bcast(register, mem),
        Rm::Reg(from) => asm.mov(register, from),
    }
}

/// Stores the low bytes of all lanes.
fn store_bytes(asm: &mut Asm, to: Mem, lanes: V) {
    if asm.isa() == Isa::Avx512 {
        return asm.vector(&forms::VPMOVDB, Width::Z, lanes, V(0), to, None);
    }
    // Those of each half to its front, then the fronts side by side.
    let order = asm.constant(&low_bytes(1));
    asm.vector(&forms::VPSHUFB, Width::Y, lanes, lanes, order, None);
    asm.vector(&forms::VPERMQ_IMM, Width::Y, lanes, V(0), lanes, Some(0b00_00_10_00));
    asm.vector(&forms::VPSHUFD, Width::X, lanes, V(0), lanes, Some(0b00_00_10_00));
    asm.vector(&forms::VMOVSD_STORE, Width::X, lanes, V(0), to, None);
}

/// Location of a value.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Nowhere,
    Register(V),
    /// In memory, as an operand of an instruction.
    Memory(Rm),
    /// An operand by number, to be loaded under the mask or broadcast.
    Operand(usize),
    /// A Bool, on AVX-512.
    Mask(K),
}

/// One run of the body on one vector.
struct Evaluation<'a> {
    epilogue: &'a Epilogue<'a>,
    asm: &'a mut Asm,
    free: Vec<V>,
    free_masks: Vec<K>,
    mask: Option<Mask>,
    /// The scalar type of each value.
    lanes: Vec<ScalarType>,
    /// Memory operands of the output and the operands, for this vector.
    memory: Vec<Mem>,
    places: Vec<Place>,
    /// Number of remaining reads of each value.
    uses: Vec<u32>,
    sum: Place,
    /// Constants by their bits, in registers that they keep.
    kept: &'a [(u32, V)],
    /// The instruction whose value the sum is.
    first: Option<usize>,
    /// The other constants that were loaded into registers.
    constants_loaded: Vec<u32>,
}

impl<'a> Evaluation<'a> {
    fn new(epilogue: &'a Epilogue<'a>, asm: &'a mut Asm, free: Vec<V>, sum: Place, mask: Option<Mask>) -> Evaluation<'a> {
        let n = epilogue.body.instrs.len();
        let mut uses = vec![0u32; n];
        if let Some(result) = uses.get_mut(epilogue.result.0 as usize) {
            *result = 1;
        }
        for (at, instr) in epilogue.body.instrs.iter().enumerate().rev() {
            if uses[at] > 0 {
                instr.operands().for_each(|val| uses[val.0 as usize] += 1);
            }
        }
        let memory = vec![Mem::at(R::RSP, 0); epilogue.streams.len()];
        let operands = epilogue.streams[1..].iter().filter_map(|stream| ScalarType::of(stream.dtype).map(machine));
        let reads: Vec<ScalarType> = [epilogue.sum].into_iter().chain(operands).collect();
        let lanes = epilogue.body.lanes(&reads);
        // The first opmask means none, the second is the tail's.
        let free_masks = (2..8).rev().map(K).collect();
        Evaluation {
            epilogue,
            asm,
            free,
            free_masks,
            mask,
            lanes,
            memory,
            places: vec![Place::Nowhere; n],
            uses,
            sum,
            kept: &[],
            first: None,
            constants_loaded: vec![],
        }
    }

    /// The register of the result; `None` if registers run out, or if the machine lacks an instruction.
    fn run(&mut self) -> Option<V> {
        for (at, &instr) in self.epilogue.body.instrs.iter().enumerate() {
            if self.uses[at] == 0 {
                continue;
            }
            let kept = |&&(bits, _): &&(u32, V)| matches!(instr, Instr::Const(own, _) if own as u32 == bits);
            if self.first == Some(at) {
                self.places[at] = self.sum;
            } else if let Some(&(_, register)) = self.kept.iter().find(kept) {
                // One more read, so that no other value takes its register.
                self.uses[at] += 1;
                self.places[at] = Place::Register(register);
            } else {
                self.places[at] = self.instr(instr)?;
            }
        }
        self.register(self.epilogue.result)
    }

    fn instr(&mut self, instr: Instr) -> Option<Place> {
        Some(match instr {
            Instr::Read(0) => self.sum,
            Instr::Read(operand) if usize::from(operand) < self.epilogue.streams.len() => Place::Operand(operand.into()),
            Instr::Const(bits, _) => Place::Memory(self.asm.splat_bits_rm(bits as u32)),
            Instr::Unary(op, a) if self.lane(a) == ScalarType::Bool => self.un_bool(op, a)?,
            Instr::Unary(op, a) => Place::Register(self.un(op, a)?),
            Instr::Binary(op, a, b) if self.is_mask(a) => self.bin_mask(op, a, b)?,
            Instr::Binary(op, a, b) => Place::Register(self.bin(op, a, b)?),
            Instr::Fma(a, b, c) => Place::Register(self.fma(a, b, c)?),
            Instr::Cmp(cmp, a, b) => self.cmp(cmp, a, b)?,
            Instr::Select(condition, a, b) => Place::Register(self.select(condition, a, b)?),
            Instr::Read(_) | Instr::ReadHalf(..) | Instr::Gather(..) | Instr::Reduced(_) | Instr::Count => return None,
        })
    }

    fn lane(&self, val: Val) -> ScalarType {
        self.lanes[val.0 as usize]
    }

    /// Whether a value is a Bool in an opmask.
    fn is_mask(&self, val: Val) -> bool {
        matches!(self.places[val.0 as usize], Place::Mask(_))
    }

    fn un(&mut self, op: UnaryOp, a: Val) -> Option<V> {
        let round = |round: Round| move |asm: &mut Asm, dst: V, src: V| asm.round(round, dst, src);
        match (op, self.lane(a)) {
            (UnaryOp::Neg, ScalarType::F32) => self.bits(&forms::VXORPS, 0x8000_0000, a),
            (UnaryOp::Abs, ScalarType::F32) => self.bits(&forms::VANDPS, 0x7fff_ffff, a),
            (UnaryOp::Sqrt, _) => self.map(a, |asm, dst, src| asm.sqrt(dst, src)),
            (UnaryOp::Floor, _) => self.map(a, round(Round::Down)),
            (UnaryOp::Ceil, _) => self.map(a, round(Round::Up)),
            (UnaryOp::Trunc, _) => self.map(a, round(Round::Trunc)),
            (UnaryOp::RoundEven, _) => self.map(a, round(Round::Nearest)),
            (UnaryOp::TruncToInt, _) => self.map(a, |asm, dst, src| asm.cvt_f2i_trunc(dst, src)),
            (UnaryOp::NearestToInt, _) => self.map(a, |asm, dst, src| asm.cvt_f2i_nearest(dst, src)),
            (UnaryOp::ToFloat, _) => self.map(a, |asm, dst, src| asm.cvt_i2f(dst, src)),
            (UnaryOp::ThroughF16, _) => self.map(a, |asm, dst, src| {
                let width = asm.isa().width();
                asm.vector(&forms::VCVTPS2PH, width, src, V(0), dst, Some(0));
                asm.vector(&forms::VCVTPH2PS, width, dst, V(0), dst, None);
            }),
            (UnaryOp::Bits | UnaryOp::FromBits, _) => self.map(a, |asm, dst, src| {
                if dst != src {
                    asm.mov(dst, src);
                }
            }),
            _ => None,
        }
    }

    /// Negates a Bool, or converts it to a number.
    fn un_bool(&mut self, op: UnaryOp, a: Val) -> Option<Place> {
        let one = match op {
            UnaryOp::Not => !0,
            UnaryOp::BoolToFloat => 1f32.to_bits(),
            UnaryOp::BoolToInt => 1,
            _ => return None,
        };
        let Place::Mask(mask) = self.places[a.0 as usize] else {
            let op = if op == UnaryOp::Not { &forms::VXORPS } else { &forms::VANDPS };
            return self.bits(op, one, a).map(Place::Register);
        };
        self.release(a);
        if op == UnaryOp::Not {
            let to = self.free_masks.pop()?;
            self.asm.mask_not(Mask::K(to), Mask::K(mask));
            return Some(Place::Mask(to));
        }
        let dst = self.take()?;
        let one = self.asm.splat_bits_rm(one);
        self.asm.zero(dst);
        self.asm.select(Mask::K(mask), dst, one, dst);
        Some(Place::Register(dst))
    }

    fn bin_mask(&mut self, op: BinaryOp, a: Val, b: Val) -> Option<Place> {
        let (Place::Mask(left), Place::Mask(right)) = (self.places[a.0 as usize], self.places[b.0 as usize]) else { return None };
        self.release(a);
        self.release(b);
        let to = self.free_masks.pop()?;
        let (to_mask, left, right) = (Mask::K(to), Mask::K(left), Mask::K(right));
        match op {
            BinaryOp::And => self.asm.mask_and(to_mask, left, right),
            BinaryOp::Or => self.asm.mask_or(to_mask, left, right),
            BinaryOp::Xor => self.asm.mask_xor(to_mask, left, right),
            _ => return None,
        }
        Some(Place::Mask(to))
    }

    fn cmp(&mut self, cmp: Cmp, a: Val, b: Val) -> Option<Place> {
        let left = self.register(a)?;
        let right = match self.lane(a) {
            ScalarType::F32 => self.operand(b)?,
            ScalarType::I32 => self.register(b).map(Rm::Reg)?,
            _ => return None,
        };
        self.release(a);
        self.release(b);
        let (place, mask) = match self.asm.isa() {
            Isa::Avx512 => self.free_masks.pop().map(|k| (Place::Mask(k), Mask::K(k)))?,
            Isa::Avx2 => self.take().map(|v| (Place::Register(v), Mask::V(v)))?,
        };
        let (float, int) = predicates(cmp);
        match self.lane(a) {
            ScalarType::I32 => self.asm.cmp_i(int, mask, left, right),
            _ => self.asm.cmp(float, mask, left, right),
        }
        Some(place)
    }

    fn select(&mut self, condition: Val, a: Val, b: Val) -> Option<V> {
        let mask = match self.places[condition.0 as usize] {
            Place::Mask(k) => Mask::K(k),
            // Lanes choose on AVX2 only.
            _ if self.asm.isa() == Isa::Avx512 => return None,
            _ => Mask::V(self.register(condition)?),
        };
        if self.is_mask(a) || self.is_mask(b) {
            return None;
        }
        let other = self.register(b)?;
        let then = self.operand(a)?;
        [condition, a, b].into_iter().for_each(|val| self.release(val));
        let dst = self.take()?;
        self.asm.select(mask, dst, then, other);
        Some(dst)
    }

    /// `op` with a constant.
    fn bits(&mut self, op: &'static Form, bits: u32, a: Val) -> Option<V> {
        self.map(a, move |asm, dst, src| {
            let constant = asm.splat_bits_rm(bits);
            asm.op3(op, dst, src, constant);
        })
    }

    fn map(&mut self, a: Val, f: impl Fn(&mut Asm, V, V)) -> Option<V> {
        let src = self.register(a)?;
        self.release(a);
        let dst = self.take()?;
        f(self.asm, dst, src);
        Some(dst)
    }

    fn bin(&mut self, op: BinaryOp, a: Val, b: Val) -> Option<V> {
        let scales = op == BinaryOp::Scale && self.asm.isa() == Isa::Avx512;
        let op = machine_op(op, self.lane(a));
        if op.is_none() && !scales {
            return None;
        }
        let commutes = op.is_some_and(|(_, commutes)| commutes);
        let (a, b) = if commutes && !self.in_register(a) && self.in_register(b) { (b, a) } else { (a, b) };
        let left = self.register(a)?;
        let right = self.operand(b)?;
        self.release(a);
        self.release(b);
        let dst = self.take()?;
        match op {
            Some((op, _)) => self.asm.op3(op, dst, left, right),
            None => self.asm.scalef(dst, left, right),
        }
        Some(dst)
    }

    /// `a·b + c`: the result replaces an operand without further reads, otherwise a copy of `c`.
    fn fma(&mut self, a: Val, b: Val, c: Val) -> Option<V> {
        // Of two factors the one in a register comes first, so that the other may stay in memory.
        let (a, b) = if self.in_register(a) { (a, b) } else { (b, a) };
        let left = self.register(a)?;
        if self.in_register(c) && self.last_use(c, [a, b]) {
            let sum = self.register(c)?;
            let right = self.operand(b)?;
            self.uses[c.0 as usize] = 0;
            self.release(a);
            self.release(b);
            self.asm.fma(sum, left, right);
            return Some(sum);
        }
        if self.last_use(a, [b, c]) {
            let right = self.register(b)?;
            let sum = self.operand(c)?;
            self.uses[a.0 as usize] = 0;
            self.release(b);
            self.release(c);
            self.asm.fma213(left, right, sum);
            return Some(left);
        }
        let right = self.operand(b)?;
        let sum = self.register(c)?;
        let dst = self.take()?;
        self.release(a);
        self.release(b);
        self.release(c);
        self.asm.mov(dst, sum);
        self.asm.fma(dst, left, right);
        Some(dst)
    }

    /// Whether this is the last read of a value, and none of `others` is the same value.
    fn last_use(&self, val: Val, others: [Val; 2]) -> bool {
        self.uses[val.0 as usize] == 1 && !others.contains(&val)
    }

    fn in_register(&self, val: Val) -> bool {
        matches!(self.places[val.0 as usize], Place::Register(_))
    }

    /// Loads a value into a register.
    fn register(&mut self, val: Val) -> Option<V> {
        let at = val.0 as usize;
        let place = self.places[at];
        match place {
            Place::Register(register) => return Some(register),
            Place::Mask(_) | Place::Nowhere => return None,
            Place::Memory(_) | Place::Operand(_) => {}
        }
        let register = self.take()?;
        self.places[at] = Place::Register(register);
        match place {
            Place::Memory(from) => {
                if let Instr::Const(bits, _) = self.epilogue.body.instrs[at] {
                    self.constants_loaded.push(bits as u32);
                }
                load(self.asm, register, from);
            }
            Place::Operand(operand) if !self.epilogue.streams[operand].is_plain() => self.load_bytes(register, operand),
            Place::Operand(operand) => match self.lanes(operand) {
                Lanes::Splat => self.asm.bcast(register, self.memory[operand]),
                Lanes::Vector => self.asm.load_tail(register, self.mask, self.memory[operand]),
            },
            Place::Nowhere | Place::Register(_) | Place::Mask(_) => {}
        }
        Some(register)
    }

    /// Loads bytes into lanes.
    fn load_bytes(&mut self, register: V, operand: usize) {
        let stream = &self.epilogue.streams[operand];
        let from = self.memory[operand];
        if stream.lanes == Lanes::Splat {
            // The pointer of the input, which the next tile sets again.
            self.asm.load_byte(INPUT, from);
            self.asm.vector(&forms::VMOVD_FROM_R, Width::X, register, V(0), V(INPUT.0), None);
            self.asm.vector(extending(stream.dtype), Width::X, register, V(0), register, None);
            return self.asm.bcast_lane0(register, register);
        }
        load_extended(self.asm, stream.dtype, register, self.mask, from);
    }

    /// A value as the last operand of an instruction: in memory where that is allowed.
    fn operand(&mut self, val: Val) -> Option<Rm> {
        let at = val.0 as usize;
        match (self.places[at], self.mask) {
            (Place::Memory(rm), _) if self.uses[at] == 1 || matches!(rm, Rm::Bcast(_)) => Some(rm),
            (Place::Operand(operand), None)
                if self.uses[at] == 1 && self.lanes(operand) == Lanes::Vector && self.epilogue.streams[operand].is_plain() =>
            {
                Some(Rm::Mem(self.memory[operand]))
            }
            _ => self.register(val).map(Rm::Reg),
        }
    }

    fn lanes(&self, operand: usize) -> Lanes {
        self.epilogue.streams[operand].lanes
    }

    fn take(&mut self) -> Option<V> {
        self.free.pop()
    }

    /// Counts one read of a value; frees its register after the last.
    fn release(&mut self, val: Val) {
        let at = val.0 as usize;
        self.uses[at] = self.uses[at].saturating_sub(1);
        match self.places[at] {
            Place::Register(register) if self.uses[at] == 0 && !self.free.contains(&register) => self.free.push(register),
            Place::Mask(mask) if self.uses[at] == 0 && !self.free_masks.contains(&mask) => self.free_masks.push(mask),
            _ => {}
        }
    }
}
