//! Emits a body as vector instructions and allocates registers for its values.
//!
//! A value gets a register where it is computed and frees it after its last use. If no register is free, the value with the
//! farthest next use is spilled. Constants and spilled values are memory operands where the instruction has one. A Bool is a
//! vector of lanes of all ones or all zeros; on AVX-512 a comparison that only selects is an opmask.

use super::normalize::PrimitiveStage;
use super::reduction::Accumulators;
use super::state::{Gen, Point, SCRATCH, SCRATCH_MASK};
use crate::asm::{IPred, Isa, K, Mask, Mem, R, Rm, Round, V, forms};
use crate::machine::{machine_op, predicates};
use relayc_ir::kernel::{BinaryOp, Cmp, Instr, ScalarType, UnaryOp, Val};

/// Location of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loc {
    Nowhere,
    Reg(V),
    /// A whole vector at an offset from `rsp`.
    Slot(i32),
    Const(u32),
    /// A constant of 64 bits a lane.
    Quad(u64),
    /// An opmask, and whether it is one of 64-bit lanes.
    Mask(K, bool),
    /// A whole vector of an argument, read directly by its only user.
    Mem(Mem),
}

/// What a run finds and where its folds go.
pub(crate) struct Body<'b> {
    /// Values that are already computed, by instruction; `Nowhere` for the others.
    pub(crate) pinned: Option<&'b [Loc]>,
    pub(crate) accumulators: Option<(&'b Accumulators, usize)>,
}

/// A run over some instructions of a body.
pub(crate) struct Run {
    pub(crate) at: Vec<Loc>,
    /// Registers that this run may free.
    own: Vec<bool>,
    /// Instructions that use each value, ascending; [`END`] for values used after all of them.
    pub(crate) uses: Vec<Vec<usize>>,
    pub(crate) now: usize,
}

const END: usize = usize::MAX;

/// The error if a value is ever not at its recorded location, so that no code reads a wrong register.
const WHAT: &str = "the body of a nest";

impl Gen<'_> {
    pub(crate) fn take_register(&mut self) -> Option<V> {
        if self.free == 0 {
            return None;
        }
        // The lower registers make shorter instructions.
        let register = self.free.trailing_zeros() as u8;
        self.free &= !(1 << register);
        Some(V(register))
    }

    fn take_slot(&mut self) -> i32 {
        match self.spare_slots.pop() {
            Some(slot) => slot,
            None => self.slots.take(64),
        }
    }

    /// Frees what [`Gen::hoist`] has pinned.
    pub(crate) fn unpin(&mut self, pinned: Vec<Vec<Loc>>) -> Option<()> {
        for loc in pinned.into_iter().flatten() {
            match loc {
                Loc::Reg(register) => self.free |= 1 << register.0,
                Loc::Slot(slot) if !self.is_fixed(slot) => self.spare_slots.push(slot),
                _ => (),
            }
        }
        Some(())
    }

    fn is_fixed(&self, slot: i32) -> bool {
        self.count == Some(slot) || self.folded.iter().flatten().any(|&folded| folded == slot)
    }

    /// Computes the invariant instructions that others need, and keeps them in at most `budget` registers; the rest is spilled.
    ///
    /// Constants in positions that take no memory operand get registers as well.
    pub(crate) fn hoist(
        &mut self,
        program: &PrimitiveStage,
        invariant: &[bool],
        point: &Point,
        budget: usize,
    ) -> Option<Vec<Loc>> {
        let (needed, select) = needed(program, invariant, None);
        let run = self.hoisting(program, (&needed, &select), None, point)?;
        let mut pinned = vec![Loc::Nowhere; invariant.len()];
        let mut left = budget;
        for at in (0..pinned.len()).filter(|&at| needed[at] && select[at]) {
            pinned[at] = match run.at[at] {
                Loc::Reg(register) if left > 0 => {
                    left -= 1;
                    Loc::Reg(register)
                }
                Loc::Reg(register) => {
                    let slot = self.take_slot();
                    self.asm.store(Mem::at(R::RSP, slot), register);
                    self.free |= 1 << register.0;
                    Loc::Slot(slot)
                }
                other => other,
            };
        }
        self.pin_constants(program, invariant, &mut pinned, left)?;
        Some(pinned)
    }

    /// Computes values that all rows of a tile share once, and returns their locations. Does nothing if too few registers would
    /// remain. Skips values that are already pinned.
    pub(crate) fn share(&mut self, program: &PrimitiveStage, shared: &[bool], pinned: &[Loc], point: &Point) -> Option<Vec<Loc>> {
        let (needed, select) = needed(program, shared, Some(pinned));
        let n = (0..select.len()).filter(|&at| needed[at] && select[at]).count();
        if n > self.pin_budget() {
            return Some(Vec::new());
        }
        let run = self.hoisting(program, (&needed, &select), Some(pinned), point)?;
        let keep = |at: usize| if needed[at] && select[at] { run.at[at] } else { Loc::Nowhere };
        Some((0..select.len()).map(keep).collect())
    }

    /// Computes the selected instructions; the values needed later keep their location.
    fn hoisting(
        &mut self,
        program: &PrimitiveStage,
        (needed, select): (&[bool], &[bool]),
        pinned: Option<&[Loc]>,
        point: &Point,
    ) -> Option<Run> {
        let mut run = self.begin(program, select, pinned, point);
        for (at, uses) in run.uses.iter_mut().enumerate() {
            if needed[at] && select[at] {
                uses.push(END);
            }
        }
        self.instructions(program, select, point, &mut run)?;
        Some(run)
    }

    /// Pins constants in positions that take no memory operand, while registers remain.
    fn pin_constants(&mut self, program: &PrimitiveStage, invariant: &[bool], pinned: &mut [Loc], mut left: usize) -> Option<()> {
        for (at, instr) in program.body.instrs.iter().enumerate() {
            let first = match *instr {
                Instr::Binary(
                    BinaryOp::Sub | BinaryOp::Div | BinaryOp::MaxSecond | BinaryOp::MinSecond | BinaryOp::Scale,
                    a,
                    _,
                ) => a,
                Instr::Cmp(_, a, _) => a,
                Instr::Select(_, _, other) => other,
                _ => continue,
            };
            if !invariant[at] {
                self.pin_constant(program, first, pinned, &mut left)?;
            }
        }
        Some(())
    }

    /// Pins other constants in otherwise unused registers, because loads limit short loops.
    pub(crate) fn pin_operands(
        &mut self,
        program: &PrimitiveStage,
        invariant: &[bool],
        pinned: &mut [Loc],
        budget: usize,
    ) -> Option<()> {
        let taken = pinned.iter().filter(|loc| matches!(loc, Loc::Reg(_))).count();
        let mut left = budget.saturating_sub(taken);
        for (at, instr) in program.body.instrs.iter().enumerate().filter(|&(at, _)| !invariant[at]) {
            // A shift wants to know its count.
            let shift = matches!(instr, Instr::Binary(BinaryOp::Shl | BinaryOp::ShrSigned | BinaryOp::ShrUnsigned, ..));
            if shift || is_of_halves(program, at) {
                continue;
            }
            for val in instr.operands() {
                self.pin_constant(program, val, pinned, &mut left)?;
            }
        }
        Some(())
    }

    fn pin_constant(&mut self, program: &PrimitiveStage, val: Val, pinned: &mut [Loc], left: &mut usize) -> Option<()> {
        let at = val.0 as usize;
        let Instr::Const(bits, lane) = program.body.instrs[at] else { return Some(()) };
        if lane.is_half() || *left == 0 || pinned[at] != Loc::Nowhere {
            return Some(());
        }
        *left -= 1;
        let register = self.take_register()?;
        self.asm.splat_bits(register, bits as u32);
        pinned[at] = Loc::Reg(register);
        Some(())
    }

    /// Computes all values that are not pinned, then stores and reduces.
    pub(crate) fn run(&mut self, program: &PrimitiveStage, point: &Point, body: Body) -> Option<()> {
        let known = |at: usize| body.pinned.is_some_and(|pinned| pinned[at] != Loc::Nowhere);
        let mut wanted = vec![false; program.body.instrs.len()];
        let results = program.stores.iter().map(|store| store.val).chain(program.folds.iter().map(|fold| fold.0));
        results.for_each(|val| wanted[val.0 as usize] = true);
        for at in (0..wanted.len()).rev() {
            if wanted[at] && !known(at) {
                program.body.instrs[at].operands().for_each(|val| wanted[val.0 as usize] = true);
            }
        }
        let select: Vec<bool> =
            program.body.instrs.iter().enumerate().map(|(at, instr)| wanted[at] && !known(at) && !is_free(*instr)).collect();
        let mut run = self.begin(program, &select, body.pinned, point);
        for val in program.stores.iter().map(|store| store.val).chain(program.folds.iter().map(|fold| fold.0)) {
            run.uses[val.0 as usize].push(END);
        }
        self.instructions(program, &select, point, &mut run)?;
        for store in &program.stores {
            let value = self.in_register(&run, store.val, 1);
            self.put(store, point, value)?;
        }
        if let Some((accumulators, set)) = body.accumulators {
            let across = matches!(self.shape.lane, super::shape::LaneDim::Reduced(_));
            for (fold, (val, _)) in program.folds.iter().enumerate() {
                let value = self.in_register(&run, *val, 1);
                accumulators.add(self, set, point, fold, value, across && point.vector.tail);
            }
        }
        for at in 0..run.at.len() {
            self.release(&mut run, at);
        }
        Some(())
    }

    fn begin(&self, program: &PrimitiveStage, select: &[bool], pinned: Option<&[Loc]>, point: &Point) -> Run {
        let mut at = pinned.map_or_else(|| vec![Loc::Nowhere; select.len()], <[Loc]>::to_vec);
        let mut uses = vec![Vec::new(); select.len()];
        for (place, instr) in program.body.instrs.iter().enumerate() {
            if at[place] == Loc::Nowhere {
                at[place] = match *instr {
                    Instr::Const(bits, lane) if lane.is_half() => Loc::Quad(bits),
                    Instr::Const(bits, _) => Loc::Const(bits as u32),
                    Instr::Reduced(fold) => Loc::Slot(self.folded[usize::from(fold)][point.index]),
                    Instr::Count => match self.count {
                        Some(slot) => Loc::Slot(slot),
                        None => Loc::Const((self.n.reduced_points() as f32).to_bits()),
                    },
                    _ => Loc::Nowhere,
                };
            }
            if select[place] {
                instr.operands().for_each(|val| uses[val.0 as usize].push(place));
            }
        }
        Run { at, own: select.to_vec(), uses, now: 0 }
    }

    fn instructions(&mut self, program: &PrimitiveStage, select: &[bool], point: &Point, run: &mut Run) -> Option<()> {
        for (at, _) in select.iter().enumerate().filter(|&(_, &selected)| selected) {
            run.now = at;
            self.instruction(program, at, point, run)?;
            program.body.instrs[at].operands().for_each(|val| self.release_if_dead(run, val));
            if run.uses[at].is_empty() {
                self.release(run, at);
            }
        }
        Some(())
    }

    /// The register of a value; a value without one is loaded into the scratch register of this number.
    pub(crate) fn in_register(&mut self, run: &Run, val: Val, scratch: usize) -> V {
        let to = SCRATCH[scratch];
        match run.at[val.0 as usize] {
            Loc::Reg(register) => return register,
            Loc::Slot(slot) => self.asm.load(to, Mem::at(R::RSP, slot)),
            Loc::Const(bits) => self.asm.splat_bits(to, bits),
            Loc::Quad(bits) => self.asm.splat_quads(to, bits),
            Loc::Mask(mask, wide) => self.spread(to, mask, wide),
            Loc::Mem(mem) => self.asm.load(to, mem),
            Loc::Nowhere => self.asm.refuse(WHAT, "a value is read that is nowhere"),
        }
        to
    }

    pub(crate) fn operand(&mut self, run: &Run, val: Val) -> Rm {
        match run.at[val.0 as usize] {
            Loc::Slot(slot) => Rm::Mem(Mem::at(R::RSP, slot)),
            Loc::Mem(mem) => Rm::Mem(mem),
            Loc::Const(bits) => self.asm.splat_bits_rm(bits),
            Loc::Quad(bits) => self.asm.splat_quads_rm(bits),
            Loc::Reg(register) => Rm::Reg(register),
            Loc::Mask(..) | Loc::Nowhere => Rm::Reg(self.in_register(run, val, 1)),
        }
    }

    /// Expands a mask to lanes of all ones or all zeros.
    fn spread(&mut self, dst: V, mask: K, wide: bool) {
        self.asm.zero(dst);
        let ones = self.splat(u64::MAX, wide);
        self.select(Mask::K(mask), dst, ones, dst, wide);
    }

    /// A constant in all lanes of 32 bits, or of 64.
    fn splat(&mut self, bits: u64, wide: bool) -> Rm {
        if wide { self.asm.splat_quads_rm(bits) } else { self.asm.splat_bits_rm(bits as u32) }
    }

    /// Whether the result may take a value's register, because nothing uses the value any more.
    fn dies(&self, run: &Run, val: Val) -> bool {
        let at = val.0 as usize;
        run.own[at] && matches!(run.at[at], Loc::Reg(_)) && run.uses[at].last().is_none_or(|&last| last <= run.now)
    }

    fn release_if_dead(&mut self, run: &mut Run, val: Val) {
        let at = val.0 as usize;
        if run.uses[at].last().is_none_or(|&last| last <= run.now) {
            self.release(run, at);
        }
    }

    fn release(&mut self, run: &mut Run, at: usize) {
        if !run.own[at] {
            return;
        }
        match run.at[at] {
            Loc::Reg(register) => self.free |= 1 << register.0,
            Loc::Mask(K(mask), _) => self.free_masks |= 1 << mask,
            Loc::Slot(slot) => self.spare_slots.push(slot),
            Loc::Nowhere | Loc::Const(_) | Loc::Quad(_) | Loc::Mem(_) => (),
        }
        run.at[at] = Loc::Nowhere;
    }

    /// A register for the result of the current instruction.
    pub(crate) fn result(&mut self, program: &PrimitiveStage, run: &mut Run) -> Option<V> {
        for val in program.body.instrs[run.now].operands() {
            self.release_quietly(run, val);
        }
        self.fresh(program, run)
    }

    /// Frees the register of a dying operand although the instruction still reads it.
    fn release_quietly(&mut self, run: &mut Run, val: Val) {
        if self.dies(run, val) {
            self.release(run, val.0 as usize);
        }
    }

    /// A register that holds none of the operands.
    pub(crate) fn fresh(&mut self, program: &PrimitiveStage, run: &mut Run) -> Option<V> {
        let register = match self.take_register() {
            Some(register) => register,
            None => self.evict(program, run)?,
        };
        run.at[run.now] = Loc::Reg(register);
        Some(register)
    }

    /// Spills the value with the farthest next use.
    fn evict(&mut self, program: &PrimitiveStage, run: &mut Run) -> Option<V> {
        let operands: Vec<Val> = program.body.instrs[run.now].operands().collect();
        let next = |at: usize| run.uses[at].iter().copied().find(|&place| place > run.now).unwrap_or(END);
        let candidates = (0..run.at.len()).filter(|&at| {
            run.own[at] && at != run.now && matches!(run.at[at], Loc::Reg(_)) && operands.iter().all(|val| val.0 as usize != at)
        });
        let farthest = candidates.max_by_key(|&at| next(at))?;
        let Loc::Reg(register) = run.at[farthest] else { return None };
        let slot = self.take_slot();
        self.asm.store(Mem::at(R::RSP, slot), register);
        run.at[farthest] = Loc::Slot(slot);
        Some(register)
    }

    fn instruction(&mut self, program: &PrimitiveStage, at: usize, point: &Point, run: &mut Run) -> Option<()> {
        let halves = is_of_halves(program, at);
        match program.body.instrs[at] {
            Instr::Const(..) | Instr::Reduced(_) | Instr::Count => Some(()),
            Instr::ReadHalf(read, half) => {
                let dst = self.fresh(program, run)?;
                self.read_half(usize::from(read), half, point, dst)
            }
            Instr::Unary(op, a) if halves => self.half_unary(program, op, a, run),
            Instr::Fma(..) | Instr::Gather(..) if halves => None,
            Instr::Read(read) => {
                if let Some(mem) = self.read_by_its_use(program, usize::from(read), point, run) {
                    run.at[at] = Loc::Mem(mem);
                    return Some(());
                }
                let dst = self.fresh(program, run)?;
                self.read(usize::from(read), point, dst)
            }
            Instr::Gather(read, at, steps) => {
                // A gather's result may not be the register of its places.
                let dst = self.fresh(program, run)?;
                let uniform = self.shape.uniform(self.n, program)[at.0 as usize];
                let places = self.in_register(run, at, 0);
                let steps = self.shape.lane_steps(self.n, program, at, steps);
                self.gather_read(usize::from(read), places, (uniform, steps), point, dst)
            }
            Instr::Unary(op, a) => self.unary(program, op, a, run),
            Instr::Binary(op, a, b) => self.binary(program, op, [a, b], run),
            Instr::Fma(a, b, c) => self.multiply_add(program, [a, b, c], run),
            Instr::Cmp(op, a, b) => self.compare(program, op, [a, b], run),
            Instr::Select(condition, then, other) => self.choose(program, [condition, then, other], run),
        }
    }

    /// Folds a read into its only user, if it is a whole vector and the user takes a memory operand. No store comes between.
    fn read_by_its_use(&mut self, program: &PrimitiveStage, access: usize, point: &Point, run: &Run) -> Option<Mem> {
        let &[user] = &run.uses[run.now][..] else { return None };
        let takes_memory =
            matches!(program.body.instrs.get(user)?, Instr::Binary(..) | Instr::Fma(..)) && !is_of_halves(program, user);
        takes_memory.then_some(())?;
        self.whole_vector(access, point)
    }

    fn unary(&mut self, program: &PrimitiveStage, op: UnaryOp, a: Val, run: &mut Run) -> Option<()> {
        let float = program.lanes[a.0 as usize] == ScalarType::F32;
        let bits = match op {
            UnaryOp::Neg if float => Some((&forms::VXORPS, 1 << 31)),
            UnaryOp::Abs if float => Some((&forms::VANDPS, i32::MAX as u32)),
            UnaryOp::Not => Some((&forms::VXORPS, u32::MAX)),
            UnaryOp::BoolToFloat => Some((&forms::VANDPS, 1f32.to_bits())),
            UnaryOp::BoolToInt => Some((&forms::VANDPS, 1)),
            _ => None,
        };
        if let Some((op, bits)) = bits {
            let x = self.in_register(run, a, 0);
            let dst = self.result(program, run)?;
            let bits = self.asm.splat_bits_rm(bits);
            self.asm.op3(op, dst, x, bits);
            return Some(());
        }
        let x = self.operand(run, a);
        if matches!(op, UnaryOp::Neg | UnaryOp::Abs) {
            // Integers: 0 - x, and of that and x the greater.
            let dst = self.fresh(program, run)?;
            self.asm.zero(dst);
            self.asm.op3(&forms::VPSUBD, dst, dst, x);
            if op == UnaryOp::Abs {
                self.asm.op3(&forms::VPMAXSD, dst, dst, x);
            }
            return Some(());
        }
        let dst = self.result(program, run)?;
        match op {
            UnaryOp::Sqrt => self.asm.sqrt(dst, x),
            UnaryOp::Floor => self.asm.round(Round::Down, dst, x),
            UnaryOp::Ceil => self.asm.round(Round::Up, dst, x),
            UnaryOp::Trunc => self.asm.round(Round::Trunc, dst, x),
            UnaryOp::RoundEven => self.asm.round(Round::Nearest, dst, x),
            UnaryOp::TruncToInt => self.asm.cvt_f2i_trunc(dst, x),
            UnaryOp::NearestToInt => self.asm.cvt_f2i_nearest(dst, x),
            UnaryOp::ToFloat => self.asm.cvt_i2f(dst, x),
            UnaryOp::Bits | UnaryOp::FromBits => match x {
                Rm::Reg(register) if register == dst => (),
                Rm::Reg(register) => self.asm.mov(dst, register),
                Rm::Mem(mem) => self.asm.load(dst, mem),
                Rm::Bcast(mem) => self.asm.bcast(dst, mem),
            },
            _ => return None,
        }
        Some(())
    }

    fn binary(&mut self, program: &PrimitiveStage, op: BinaryOp, [a, b]: [Val; 2], run: &mut Run) -> Option<()> {
        let lane = match program.lanes[a.0 as usize] {
            ScalarType::Bool => ScalarType::I32,
            lane => lane,
        };
        let count = match run.at[b.0 as usize] {
            Loc::Const(bits) => Some(bits as u8 & 31),
            Loc::Quad(bits) => Some(bits as u8 & 63),
            _ => None,
        };
        let shift = match (op, lane.is_half()) {
            (BinaryOp::Shl, false) => Some(&forms::VPSLLD_IMM),
            (BinaryOp::Shl, true) => Some(&forms::VPSLLQ_IMM),
            (BinaryOp::ShrSigned, false) => Some(&forms::VPSRAD_IMM),
            (BinaryOp::ShrSigned, true) => Some(&forms::VPSRAQ_IMM),
            (BinaryOp::ShrUnsigned, false) => Some(&forms::VPSRLD_IMM),
            (BinaryOp::ShrUnsigned, true) => Some(&forms::VPSRLQ_IMM),
            _ => None,
        };
        if let (Some(shift), Some(count)) = (shift, count) {
            let x = self.in_register(run, a, 0);
            let dst = self.result(program, run)?;
            self.asm.shift(shift, dst, x, count);
            return Some(());
        }
        if matches!(op, BinaryOp::JoinLow | BinaryOp::JoinFloat) {
            return self.join(program, op, [a, b], run);
        }
        if op == BinaryOp::Mul && lane == ScalarType::HalfI64 {
            let (x, y) = (self.in_register(run, a, 0), self.operand(run, b));
            let dst = self.result(program, run)?;
            self.multiply_quads(dst, x, y);
            return Some(());
        }
        if op == BinaryOp::Scale {
            let (x, y) = (self.in_register(run, a, 0), self.operand(run, b));
            let dst = self.result(program, run)?;
            self.asm.scalef(dst, x, y);
            return Some(());
        }
        let (op, commutes) = machine_op(op, lane)?;
        let in_memory = |val: Val| matches!(run.at[val.0 as usize], Loc::Const(_) | Loc::Slot(_) | Loc::Mem(_));
        let (a, b) = if commutes && in_memory(a) && !in_memory(b) { (b, a) } else { (a, b) };
        let (x, y) = (self.in_register(run, a, 0), self.operand(run, b));
        let dst = self.result(program, run)?;
        self.asm.op3(op, dst, x, y);
        Some(())
    }

    /// Emits the form that overwrites an operand which dies here, if one does.
    fn multiply_add(&mut self, program: &PrimitiveStage, [a, b, c]: [Val; 3], run: &mut Run) -> Option<()> {
        let is_reg = |run: &Run, val: Val| matches!(run.at[val.0 as usize], Loc::Reg(_));
        // The factor that is more likely in memory comes second.
        let (a, b) = if is_reg(run, a) || !is_reg(run, b) { (a, b) } else { (b, a) };
        if self.dies(run, c) {
            let (x, y) = (self.in_register(run, a, 0), self.operand(run, b));
            let dst = self.inherit(run, c);
            self.asm.fma(dst, x, y);
            return Some(());
        }
        for (dying, other) in [(a, b), (b, a)] {
            if self.dies(run, dying) {
                if !is_reg(run, other) && is_reg(run, c) {
                    let (x, y) = (self.in_register(run, c, 0), self.operand(run, other));
                    let dst = self.inherit(run, dying);
                    self.asm.fma132(dst, x, y);
                } else {
                    let (x, y) = (self.in_register(run, other, 0), self.operand(run, c));
                    let dst = self.inherit(run, dying);
                    self.asm.fma213(dst, x, y);
                }
                return Some(());
            }
        }
        let x = self.in_register(run, a, 0);
        let dst = self.fresh(program, run)?;
        if is_reg(run, c) || !is_reg(run, b) {
            match self.operand(run, c) {
                Rm::Reg(register) => self.asm.mov(dst, register),
                Rm::Mem(mem) => self.asm.load(dst, mem),
                Rm::Bcast(mem) => self.asm.bcast(dst, mem),
            }
            let y = self.operand(run, b);
            self.asm.fma(dst, x, y);
        } else {
            let y = self.in_register(run, b, 1);
            self.asm.mov(dst, y);
            let z = self.operand(run, c);
            self.asm.fma213(dst, x, z);
        }
        Some(())
    }

    /// Lets the result take the register of a dying value.
    fn inherit(&mut self, run: &mut Run, val: Val) -> V {
        let Loc::Reg(register) = run.at[val.0 as usize] else {
            self.asm.refuse(WHAT, "a value has no register to leave behind");
            return SCRATCH[0];
        };
        run.at[val.0 as usize] = Loc::Nowhere;
        run.at[run.now] = Loc::Reg(register);
        register
    }

    fn compare(&mut self, program: &PrimitiveStage, op: Cmp, [a, b]: [Val; 2], run: &mut Run) -> Option<()> {
        let lane = program.lanes[a.0 as usize];
        let x = self.in_register(run, a, 0);
        let y = match (op, self.isa(), lane) {
            (_, _, ScalarType::F32) => self.operand(run, b),
            (Cmp::Lt | Cmp::Ge, Isa::Avx2, _) if !lane.is_half() => Rm::Reg(self.in_register(run, b, 1)),
            _ => self.operand(run, b),
        };
        let kept = self.isa() == Isa::Avx512 && self.free_masks != 0 && only_chooses(program, run);
        let dst = match self.isa() {
            Isa::Avx512 if kept => {
                let number = self.free_masks.trailing_zeros() as u8;
                self.free_masks &= !(1 << number);
                run.at[run.now] = Loc::Mask(K(number), lane.is_half());
                Mask::K(K(number))
            }
            Isa::Avx512 => Mask::K(SCRATCH_MASK),
            Isa::Avx2 => Mask::V(self.result(program, run)?),
        };
        match lane {
            ScalarType::F32 => self.asm.cmp(predicates(op).0, dst, x, y),
            _ if lane.is_half() => self.compare_halves(op, lane, dst, x, y)?,
            _ => self.asm.cmp_i(predicates(op).1, dst, x, y),
        }
        if let (Mask::K(mask), false) = (dst, kept) {
            let dst = self.result(program, run)?;
            self.spread(dst, mask, lane.is_half());
        }
        Some(())
    }

    fn choose(&mut self, program: &PrimitiveStage, [condition, then, other]: [Val; 3], run: &mut Run) -> Option<()> {
        let wide = is_of_halves(program, run.now);
        let mask = match (run.at[condition.0 as usize], self.isa()) {
            (Loc::Mask(mask, _), _) => Mask::K(mask),
            (_, Isa::Avx2) => Mask::V(self.in_register(run, condition, 1)),
            (_, Isa::Avx512) => {
                let lanes = self.in_register(run, condition, 1);
                let zero = self.splat(0, wide);
                match wide {
                    true => self.compare_halves(Cmp::Ne, ScalarType::HalfI64, Mask::K(SCRATCH_MASK), lanes, zero)?,
                    false => self.asm.cmp_i(IPred::Ne, Mask::K(SCRATCH_MASK), lanes, zero),
                }
                Mask::K(SCRATCH_MASK)
            }
        };
        let z = self.in_register(run, other, 0);
        // The mask on AVX2 may lie in the other scratch register.
        let y = match run.at[then.0 as usize] {
            Loc::Mask(mask, wide) => {
                let dst = self.fresh(program, run)?;
                self.spread(dst, mask, wide);
                Rm::Reg(dst)
            }
            _ => self.operand(run, then),
        };
        let dst = match run.at[run.now] {
            Loc::Reg(dst) => dst,
            _ => self.result(program, run)?,
        };
        self.select(mask, dst, y, z, wide);
        Some(())
    }
}

/// Whether the current value is used only as a condition.
fn only_chooses(program: &PrimitiveStage, run: &Run) -> bool {
    let own = run.now as u32;
    run.uses[run.now].iter().all(|&at| match program.body.instrs.get(at) {
        Some(Instr::Select(condition, then, other)) => condition.0 == own && then.0 != own && other.0 != own,
        _ => false,
    })
}

/// Which invariant instructions others need, and which of them are still to be computed.
fn needed(program: &PrimitiveStage, invariant: &[bool], pinned: Option<&[Loc]>) -> (Vec<bool>, Vec<bool>) {
    let instrs = &program.body.instrs;
    let known = |at: usize| pinned.is_some_and(|pinned| pinned[at] != Loc::Nowhere);
    let mut needed = vec![false; invariant.len()];
    for (_, instr) in instrs.iter().enumerate().filter(|&(at, _)| !invariant[at] && !known(at)) {
        instr.operands().for_each(|val| needed[val.0 as usize] |= invariant[val.0 as usize]);
    }
    let mut select = vec![false; invariant.len()];
    let mut wanted = needed.clone();
    for at in (0..instrs.len()).rev() {
        // What is stored or folded is computed where it is needed, from what is kept.
        select[at] = wanted[at] && invariant[at] && !known(at) && !is_free(instrs[at]);
        if select[at] {
            instrs[at].operands().for_each(|val| wanted[val.0 as usize] = true);
        }
    }
    (needed, select)
}

/// Whether an instruction produces or uses 64-bit lanes, or otherwise does not work on 32-bit lanes.
fn is_of_halves(program: &PrimitiveStage, at: usize) -> bool {
    let half = |at: usize| program.lanes[at].is_half();
    let instr = program.body.instrs[at];
    !is_free(instr)
        && (half(at) || matches!(instr, Instr::Unary(UnaryOp::ThroughF16, _)) || instr.operands().any(|val| half(val.0 as usize)))
}

/// Whether an instruction needs no code.
fn is_free(instr: Instr) -> bool {
    matches!(instr, Instr::Const(..) | Instr::Reduced(_) | Instr::Count)
}
