//! Follows the control flow of a program whose shapes are known, without its data. The result has no functions ([`Flow`]).
//!
//! * *A call of a subgraph* is an instruction; [`Subgraphs`] says which functions are subgraphs, and what shapes their results have.
//! * *A call of another function* becomes the instructions of its body, in place.
//! * *A function that calls itself* as the last thing that it does becomes a loop. Its parameters are values that each turn writes.
//! * *A branch* that only a run decides becomes jumps, and both of its ends write the same values.
//! * *Tuples and functions* are followed: they are known when the program is, and leave no instruction.
//!
//! What cannot be followed is an [`Obstacle`]. Nested calls and branches are followed by recursion, whose depth is bounded.
//! Functions that leave no instruction take time as well, so what is followed is counted.

use crate::lower::{BlockId, CodeId, Instr, InstrKind, LoweredModule, Slot};
use relayc_base::Idx;
use relayc_ir::flow::{Flow, FlowInstr, Place, TensorType};
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, FuncId, GlobalId, Module};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The functions of a program that are followed as one instruction.
pub trait Subgraphs {
    /// The reason why one cannot be had.
    type Error;

    fn contains(&self, func: FuncId) -> bool;

    /// The number of a subgraph for tensors of these types, and the types of its results.
    fn find(&mut self, func: FuncId, args: &[TensorType]) -> Result<(usize, Vec<TensorType>), Self::Error>;
}

/// Why a program cannot be followed.
#[derive(Debug)]
pub enum Obstacle<E> {
    /// An expression, and what it is in words.
    Expr(ExprId, &'static str),
    /// A subgraph cannot be had.
    Subgraph(E),
}

/// The most instructions, the most of the program that is followed to find them, and the deepest nesting of calls and branches.
const MAX_INSTRS: usize = 1 << 16;
const MAX_FOLLOWED: usize = 1 << 20;
const MAX_DEPTH: usize = 100;

/// Follows a global whose inputs have these types. Errors: the first obstacle.
pub fn follow<S: Subgraphs>(
    module: &Module,
    program: &LoweredModule,
    entry: GlobalId,
    inputs: &[TensorType],
    subgraphs: &mut S,
) -> Result<Flow, Obstacle<S::Error>> {
    let (code, func) = (program.globals[entry.index()], &module.funcs[module.globals[entry].func]);
    let mut follower = Follower {
        module,
        program,
        subgraphs,
        flow: Flow { inputs: inputs.to_vec(), ..Flow::default() },
        loops: vec![],
        depth: 0,
        followed: 0,
        recursive: FxHashMap::default(),
    };
    let mut leaves = (0..inputs.len()).map(Place::Input);
    let types = func.params.iter().map(|&var| module.vars[var].checked_ty.or(module.vars[var].ty).unwrap_or(Ty::ERROR));
    let args = types.map(|ty| follower.shaped(ty, &mut leaves)).collect();
    let at = func.body;
    let Some(result) = follower.call(at, Known::Function(code, Rc::new([])), args, 0)? else {
        return Err(Obstacle::Expr(at, ENDLESS));
    };
    let outputs = follower.leaves(at, &result)?;
    follower.flow.outputs = outputs.iter().map(|&place| follower.ty(place)).collect();
    for (output, from) in outputs.into_iter().enumerate() {
        follower.copy(at, from, Place::Output(output))?;
    }
    Ok(follower.flow)
}

const ENDLESS: &str = "a loop that never ends";
const TOO_MUCH: &str = "too many instructions, with a copy of its function for each call";
const OTHER_TURN: &str = "a tensor that has another shape in the next turn";
const OTHER_BRANCH: &str = "a tensor that has another shape if the condition does not hold";

/// What is known of a value: everything but the elements of tensors.
#[derive(Clone, PartialEq, Eq)]
enum Known {
    Tensor(Place),
    Tuple(Rc<[Known]>),
    /// A function with what it has captured.
    Function(CodeId, Rc<[Known]>),
}

/// A loop that is being followed.
struct Loop {
    code: CodeId,
    captured: Rc<[Known]>,
    params: Vec<Known>,
    header: usize,
}

struct Follower<'a, S> {
    module: &'a Module,
    program: &'a LoweredModule,
    subgraphs: &'a mut S,
    flow: Flow,
    loops: Vec<Loop>,
    depth: usize,
    /// Number of instructions of the program that were followed, each as often as it was reached.
    followed: usize,
    /// Whether functions can come to a call of themselves.
    recursive: FxHashMap<CodeId, bool>,
}

type Frame = Vec<Option<Known>>;
/// `None` for what goes on elsewhere: it has begun the next turn of a loop.
type Followed<E> = Result<Option<Known>, Obstacle<E>>;

impl<S: Subgraphs> Follower<'_, S> {
    /// Follows a block. It is the end of the turns of all loops from number `tail` on.
    fn block(&mut self, expr: ExprId, frame: &mut Frame, block: BlockId, tail: usize) -> Followed<S::Error> {
        if self.depth == MAX_DEPTH {
            return Err(Obstacle::Expr(expr, "too deep a nesting of calls and branches"));
        }
        self.depth += 1;
        let program = self.program;
        let block = &program.blocks[block];
        for (at, instr) in block.instrs.iter().enumerate() {
            let is_end = at + 1 == block.instrs.len() && instr.dst == block.result;
            match self.instr(frame, instr, if is_end { tail } else { self.loops.len() })? {
                Some(value) => frame[instr.dst as usize] = Some(value),
                None => {
                    self.depth -= 1;
                    return Ok(None);
                }
            }
        }
        self.depth -= 1;
        self.read(expr, frame, block.result).map(Some)
    }

    fn read(&self, expr: ExprId, frame: &Frame, slot: Slot) -> Result<Known, Obstacle<S::Error>> {
        frame[slot as usize].clone().ok_or(Obstacle::Expr(expr, "a value that nothing computes"))
    }

    fn instr(&mut self, frame: &mut Frame, instr: &Instr, tail: usize) -> Followed<S::Error> {
        let expr = instr.expr;
        if self.followed == MAX_FOLLOWED {
            return Err(Obstacle::Expr(expr, TOO_MUCH));
        }
        self.followed += 1;
        let all =
            |this: &Self, slots: &[Slot]| slots.iter().map(|&slot| this.read(expr, frame, slot)).collect::<Result<Vec<_>, _>>();
        let value = match &instr.kind {
            InstrKind::Const(id) => Known::Tensor(Place::Const(*id)),
            InstrKind::Global(global) => Known::Function(self.program.globals[global.index()], Rc::new([])),
            InstrKind::Tuple(slots) => Known::Tuple(all(self, slots)?.into()),
            InstrKind::Proj(slot, index) => match self.read(expr, frame, *slot)? {
                Known::Tuple(fields) => fields[*index as usize].clone(),
                _ => return Err(Obstacle::Expr(expr, "a field of no tuple")),
            },
            InstrKind::Closure(code, slots) => Known::Function(*code, all(self, slots)?.into()),
            InstrKind::Call(callee, slots) => {
                let (callee, args) = (self.read(expr, frame, *callee)?, all(self, slots)?);
                return self.call(expr, callee, args, tail);
            }
            InstrKind::If(cond, then_block, else_block) => {
                let cond = self.read(expr, frame, *cond)?;
                return self.branch(expr, frame, cond, [*then_block, *else_block], tail);
            }
            InstrKind::CallOp(..) => {
                return Err(Obstacle::Expr(expr, "an operator whose result has a shape that only a run knows"));
            }
            InstrKind::Adt(..) => return Err(Obstacle::Expr(expr, "a value of a data type")),
            InstrKind::Match(..) => return Err(Obstacle::Expr(expr, "a `match`")),
            InstrKind::RefNew(_) | InstrKind::RefRead(_) | InstrKind::RefWrite(..) => {
                return Err(Obstacle::Expr(expr, "a reference"));
            }
        };
        Ok(Some(value))
    }

    fn call(&mut self, expr: ExprId, callee: Known, args: Vec<Known>, tail: usize) -> Followed<S::Error> {
        let Known::Function(code, captured) = callee else { return Err(Obstacle::Expr(expr, "a call of no function")) };
        if let Some(func) = self.program.codes[code].func.filter(|&func| self.subgraphs.contains(func)) {
            return self.run(expr, func, &args).map(Some);
        }
        if let Some(at) = self.loops.iter().rposition(|known| known.code == code && known.captured == captured) {
            if at < tail {
                return Err(Obstacle::Expr(expr, "a recursive call that is not the last thing its function does"));
            }
            self.turn(expr, at, &args)?;
            return Ok(None);
        }
        let known = self.recursive.get(&code).copied();
        let is_recursive = known.unwrap_or_else(|| self.calls_itself(code));
        self.recursive.insert(code, is_recursive);
        if !is_recursive {
            return self.body(expr, code, captured, args, tail);
        }
        let params = args.iter().map(|arg| self.copied(expr, arg)).collect::<Result<Vec<_>, _>>()?;
        let header = self.flow.instrs.len();
        self.loops.push(Loop { code, captured: captured.clone(), params: params.clone(), header });
        let result = self.body(expr, code, captured, params, tail)?;
        self.loops.pop();
        self.flow.loops.push(header..self.flow.instrs.len());
        match result {
            None if tail >= self.loops.len() => Err(Obstacle::Expr(expr, ENDLESS)),
            result => Ok(result),
        }
    }

    /// Follows the body of a function.
    fn body(&mut self, expr: ExprId, code: CodeId, captured: Rc<[Known]>, args: Vec<Known>, tail: usize) -> Followed<S::Error> {
        let of = &self.program.codes[code];
        let mut frame: Frame = vec![None; of.n_slots as usize];
        let slots = of.params.iter().zip(args).chain(of.captures.iter().zip(captured.iter().cloned()));
        slots.for_each(|(&slot, value)| frame[slot as usize] = Some(value));
        if let Some(slot) = of.self_slot {
            frame[slot as usize] = Some(Known::Function(code, captured));
        }
        self.block(expr, &mut frame, of.body.expect("every code has a body"), tail)
    }

    /// Begins the next turn of a loop: its parameters become the arguments, all at once.
    fn turn(&mut self, expr: ExprId, at: usize, args: &[Known]) -> Result<(), Obstacle<S::Error>> {
        let (params, header) = (self.loops[at].params.clone(), self.loops[at].header);
        let mut moves = vec![];
        for (param, arg) in params.iter().zip(args) {
            self.matched((expr, OTHER_TURN), param, arg, &mut moves)?;
        }
        moves.retain(|(to, from)| to != from);
        let is_still = |instr: &FlowInstr| matches!(instr, FlowInstr::Jump(_) | FlowInstr::Unless(..));
        if moves.is_empty() && self.flow.instrs[header..].iter().all(is_still) {
            return Err(Obstacle::Expr(expr, ENDLESS));
        }
        // What another move overwrites is moved aside first.
        let written: Vec<Place> = moves.iter().map(|&(to, _)| to).collect();
        for (_, from) in &mut moves {
            if written.contains(from) {
                let Known::Tensor(aside) = self.copied(expr, &Known::Tensor(*from))? else { continue };
                *from = aside;
            }
        }
        for (to, from) in moves {
            self.copy(expr, from, to)?;
        }
        self.push(expr, FlowInstr::Jump(header)).map(drop)
    }

    fn branch(
        &mut self,
        expr: ExprId,
        frame: &mut Frame,
        cond: Known,
        [then_block, else_block]: [BlockId; 2],
        tail: usize,
    ) -> Followed<S::Error> {
        let Known::Tensor(cond) = cond else { return Err(Obstacle::Expr(expr, "a condition that is no tensor")) };
        let unless = self.push(expr, FlowInstr::Unless(cond, 0))?;
        let joined = match self.block(expr, frame, then_block, tail)? {
            None => None,
            Some(value) => Some((self.copied(expr, &value)?, self.push(expr, FlowInstr::Jump(0))?)),
        };
        self.flow.instrs[unless] = FlowInstr::Unless(cond, self.flow.instrs.len());
        let other = self.block(expr, frame, else_block, tail)?;
        let Some((joined, jump)) = joined else { return Ok(other) };
        if let Some(other) = other {
            let mut moves = vec![];
            self.matched((expr, OTHER_BRANCH), &joined, &other, &mut moves)?;
            for (to, from) in moves {
                self.copy(expr, from, to)?;
            }
        }
        self.flow.instrs[jump] = FlowInstr::Jump(self.flow.instrs.len());
        Ok(Some(joined))
    }

    /// The tensors of a value that takes the place of another, each behind the one whose place it takes. `at` is the obstacle if
    /// their shapes differ.
    fn matched(
        &self,
        at: (ExprId, &'static str),
        to: &Known,
        from: &Known,
        out: &mut Vec<(Place, Place)>,
    ) -> Result<(), Obstacle<S::Error>> {
        match (to, from) {
            (Known::Tensor(to), Known::Tensor(from)) if self.ty(*to) == self.ty(*from) => out.push((*to, *from)),
            (Known::Tensor(_), Known::Tensor(_)) => return Err(Obstacle::Expr(at.0, at.1)),
            (Known::Tuple(to), Known::Tuple(from)) => {
                for (to, from) in to.iter().zip(from.iter()) {
                    self.matched(at, to, from, out)?;
                }
            }
            _ if to == from => {}
            _ => return Err(Obstacle::Expr(at.0, "a function that only a run chooses")),
        }
        Ok(())
    }

    /// The value in new places.
    fn copied(&mut self, expr: ExprId, value: &Known) -> Result<Known, Obstacle<S::Error>> {
        Ok(match value {
            Known::Tensor(from) => {
                let to = self.value(self.ty(*from));
                self.copy(expr, *from, to)?;
                Known::Tensor(to)
            }
            Known::Tuple(fields) => Known::Tuple(fields.iter().map(|field| self.copied(expr, field)).collect::<Result<_, _>>()?),
            Known::Function(..) => value.clone(),
        })
    }

    fn run(&mut self, expr: ExprId, func: FuncId, args: &[Known]) -> Result<Known, Obstacle<S::Error>> {
        let mut places = vec![];
        for arg in args {
            places.extend(self.leaves(expr, arg)?);
        }
        let types: Vec<TensorType> = places.iter().map(|&place| self.ty(place)).collect();
        let (part, results) = self.subgraphs.find(func, &types).map_err(Obstacle::Subgraph)?;
        let results: Vec<Place> = results.into_iter().map(|ty| self.value(ty)).collect();
        let ret = self.module.funcs[func].ret.unwrap_or(Ty::ERROR);
        let result = self.shaped(ret, &mut results.iter().copied());
        self.push(expr, FlowInstr::Run { part, args: places, results })?;
        Ok(result)
    }

    /// The tensors of a value in order.
    fn leaves(&self, expr: ExprId, value: &Known) -> Result<Vec<Place>, Obstacle<S::Error>> {
        Ok(match value {
            Known::Tensor(place) => vec![*place],
            Known::Tuple(fields) => fields.iter().map(|field| self.leaves(expr, field)).collect::<Result<Vec<_>, _>>()?.concat(),
            Known::Function(..) => return Err(Obstacle::Expr(expr, "a function that is a result")),
        })
    }

    /// A value of a type, of these tensors.
    fn shaped(&self, ty: Ty, leaves: &mut dyn Iterator<Item = Place>) -> Known {
        match self.module.types.as_tuple(ty) {
            Some(fields) => Known::Tuple(fields.iter().map(|&field| self.shaped(field, leaves)).collect()),
            None => Known::Tensor(leaves.next().expect("a place for each tensor")),
        }
    }

    fn ty(&self, place: Place) -> TensorType {
        match place {
            Place::Input(at) => self.flow.inputs[at].clone(),
            Place::Value(at) => self.flow.values[at].clone(),
            Place::Const(id) => {
                let value = &self.module.consts[id];
                TensorType { dtype: value.dtype(), shape: value.shape().to_vec() }
            }
            Place::Output(_) => unreachable!("outputs are written last, and never read"),
        }
    }

    fn value(&mut self, ty: TensorType) -> Place {
        self.flow.values.push(ty);
        Place::Value(self.flow.values.len() - 1)
    }

    fn copy(&mut self, expr: ExprId, from: Place, to: Place) -> Result<(), Obstacle<S::Error>> {
        let bytes = self.ty(from).bytes();
        self.push(expr, FlowInstr::Copy { from, to, bytes }).map(drop)
    }

    fn push(&mut self, expr: ExprId, instr: FlowInstr) -> Result<usize, Obstacle<S::Error>> {
        if self.flow.instrs.len() == MAX_INSTRS {
            return Err(Obstacle::Expr(expr, TOO_MUCH));
        }
        self.flow.instrs.push(instr);
        Ok(self.flow.instrs.len() - 1)
    }

    /// Whether the body of a function can come to a call of the function itself.
    fn calls_itself(&self, code: CodeId) -> bool {
        let program = self.program;
        if program.codes[code].self_slot.is_some() {
            return true;
        }
        let mut seen = vec![false; program.codes.len()];
        let mut left = vec![code];
        while let Some(at) = left.pop() {
            let mut blocks: Vec<BlockId> = program.codes[at].body.into_iter().collect();
            while let Some(block) = blocks.pop() {
                for instr in &program.blocks[block].instrs {
                    let mentioned = match &instr.kind {
                        InstrKind::Global(global) => program.globals[global.index()],
                        InstrKind::Closure(inner, _) => *inner,
                        InstrKind::If(_, a, b) => {
                            blocks.extend([*a, *b]);
                            continue;
                        }
                        _ => continue,
                    };
                    if mentioned == code {
                        return true;
                    }
                    if !std::mem::replace(&mut seen[mentioned.index()], true) {
                        left.push(mentioned);
                    }
                }
            }
        }
        false
    }
}
