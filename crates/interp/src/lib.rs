//! The reference interpreter: every other engine is compared with its results.
//!
//! Promises simple code: instructions run in the order of `lower.rs`, and operators by their `eval`. Calls use a list of frames,
//! so recursion costs heap and has an explicit limit. No input makes it panic; a failure is a [`Diagnostic`] at the call that
//! failed. [`follow`] gives the control flow of a program without its data. Absent: kernels, and any knowledge of a machine.

pub mod follow;
mod lower;
mod matching;
mod memory;
mod shapes;
mod value;

pub use lower::{LoweredModule, lower};
pub(crate) use value::Closure;
pub use value::{Cell, Value};

use lower::{BlockId, CodeId, Instr, InstrKind, Slot};
use memory::Memory;
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::limits::{CALL_DEPTH, CALLS};
use relayc_ir::types::{DType, Solver, Ty, Types};
use relayc_ir::{ExprId, ExprKind, FuncId, Module};
use relayc_ops::Table;
use relayc_ops::eval::{ArgValue, EvalCx, MAX_TENSOR_BYTES, OutTy, Outputs, Trap};
use relayc_ops::rel::RelCx;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The limits of a run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest tensor, in bytes.
    pub max_tensor_bytes: u64,
    /// The bytes of all tensors that are alive at one time.
    pub max_live_bytes: u64,
    /// The deepest nesting of calls.
    pub max_depth: usize,
    /// The total number of function calls.
    pub max_calls: u64,
    /// The end of a run's time. It is tested before each operator and each call, never inside an operator: a run ends at the
    /// first test after it.
    pub deadline: Option<Instant>,
    /// Whether the run is to end, asked where the deadline is tested.
    pub interrupted: Option<fn() -> bool>,
    /// Whether the system has no memory left, asked where the deadline is tested.
    pub short_of_memory: fn() -> bool,
    /// The last operator or call that a run with a deadline started; shared by copies.
    pub under_way: CurrentCall,
}

/// An operator or a call: its name if it is an operator, and its place.
pub type CurrentCall = Arc<Mutex<(Option<&'static str>, Span)>>;

impl Default for Limits {
    /// The default limits (reliability 2).
    fn default() -> Limits {
        let under_way = Arc::new(Mutex::new((None, Span::NONE)));
        Limits {
            max_tensor_bytes: MAX_TENSOR_BYTES,
            max_live_bytes: u64::MAX,
            max_depth: CALL_DEPTH.count(),
            max_calls: CALLS.get(),
            deadline: None,
            interrupted: None,
            short_of_memory: || false,
            under_way,
        }
    }
}

impl Limits {
    /// E0805 at the last started operator or call, for a caller that watches the clock beside the run.
    pub fn out_of_time(&self) -> Diagnostic {
        let (name, span) = *self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        told(name, span, Trap { help: Some("--timeout sets another limit"), ..Trap::new(codes::E0805, "out of time") })
    }
}

/// Computes some of a program's functions by other means.
pub trait Engine {
    /// Offered every call of a function in the program. Errors: the failure that ends the run.
    fn call(&self, func: FuncId, args: &[Value]) -> Result<EngineResult, Box<Diagnostic>>;
}

/// How an engine handled a call.
pub enum EngineResult {
    /// Not at all: the interpreter runs it as an ordinary call.
    No,
    /// Left to the interpreter. The function is the engine's, so its call does not count as a call of the program.
    Interpret,
    Value(Value),
}

/// Observes the values that a run computes.
pub trait ValueObserver {
    /// Observes the value of an expression.
    fn value(&self, module: &Module, expr: ExprId, value: &Value);

    /// Observes a call of an operator with its operands. Errors: the failure that ends the run.
    fn call(&self, module: &Module, call: ExprId, operands: &[&Value], result: &Value) -> Result<(), Box<Diagnostic>>;
}

/// Runs functions of a lowered module.
pub struct Interp<'a> {
    module: &'a Module,
    ops: &'a Table,
    program: &'a LoweredModule,
    limits: Limits,
    n_calls: u64,
    memory: Memory,
    engine: Option<&'a dyn Engine>,
    witness: Option<&'a dyn ValueObserver>,
    /// The types for shapes that are known only at run time; made when first needed.
    types: Option<Types>,
}

/// An activation of a function.
struct Frame {
    slots: Vec<Option<Value>>,
    /// The blocks entered, with the next instruction of each and the slot that takes the block's result.
    blocks: Vec<(BlockId, usize, Slot)>,
    /// Where the caller wants the result.
    ret: Slot,
}

type Failure = Box<Diagnostic>;

impl<'a> Interp<'a> {
    /// Prepares a run. `module` is typed and without errors, `program` its lowering.
    pub fn new(module: &'a Module, ops: &'a Table, program: &'a LoweredModule, limits: Limits) -> Self {
        let memory = Memory::new(limits.max_live_bytes);
        Interp { module, ops, program, limits, n_calls: 0, memory, engine: None, witness: None, types: None }
    }

    /// As [`Interp::new`]; calls of functions are offered to an engine first.
    pub fn with_engine(
        module: &'a Module,
        ops: &'a Table,
        program: &'a LoweredModule,
        limits: Limits,
        engine: &'a dyn Engine,
    ) -> Self {
        Interp { engine: Some(engine), ..Interp::new(module, ops, program, limits) }
    }

    /// Returns the interpreter with an observer of its values.
    pub fn seen_by(self, witness: Option<&'a dyn ValueObserver>) -> Self {
        Interp { witness, ..self }
    }

    /// Calls a global with arguments of its parameters' types.
    pub fn call_global(&mut self, global: relayc_ir::GlobalId, args: Vec<Value>) -> Result<Value, Failure> {
        let code = self.program.globals[global.0 as usize];
        self.run(code, vec![], None, args)
    }

    /// Evaluates a bare expression with the values of its free variables, in the order of `Module::free_vars`.
    pub fn eval_root(&mut self, free: Vec<Value>) -> Result<Value, Failure> {
        match self.program.root {
            Some(code) => self.run(code, vec![], None, free),
            None => Err(Diagnostic::new(codes::E0901, "a module has no bare expression").into()),
        }
    }

    /// Calls a function that a program returned.
    pub fn call_closure(&mut self, closure: &Closure, args: Vec<Value>) -> Result<Value, Failure> {
        self.run(closure.code, closure.captured.to_vec(), Some(closure), args)
    }

    fn frame(&self, code: CodeId, captured: Vec<Value>, own: Option<&Closure>, args: Vec<Value>, ret: Slot) -> Frame {
        let code = &self.program.codes[code];
        let mut slots: Vec<Option<Value>> = vec![None; code.n_slots as usize];
        for (&slot, value) in code.params.iter().zip(args) {
            slots[slot as usize] = Some(value);
        }
        for (&slot, value) in code.captures.iter().zip(captured) {
            slots[slot as usize] = Some(value);
        }
        if let (Some(slot), Some(own)) = (code.self_slot, own) {
            slots[slot as usize] = Some(Value::Closure(own.clone()));
        }
        let body = code.body.expect("every code has a body");
        Frame { slots, blocks: vec![(body, 0, 0)], ret }
    }

    fn run(&mut self, code: CodeId, captured: Vec<Value>, own: Option<&Closure>, args: Vec<Value>) -> Result<Value, Failure> {
        let program = self.program;
        self.memory.add_all(&args);
        let mut frames = vec![self.frame(code, captured, own, args, 0)];
        loop {
            let depth = frames.len();
            let frame = frames.last_mut().expect("the loop ends with the last frame");
            let (block, at, dst) = *frame.blocks.last().expect("a frame is in a block until it returns");
            let block = &program.blocks[block];
            let Some(instr) = block.instrs.get(at) else {
                let result = frame.slots[block.result as usize].clone().expect("a block computes its result");
                frame.blocks.pop();
                if !frame.blocks.is_empty() {
                    self.give(frame, dst, result)?;
                    continue;
                }
                let ret = frame.ret;
                frames.pop();
                let Some(caller) = frames.last_mut() else { return Ok(result) };
                self.give(caller, ret, result)?;
                continue;
            };
            match &instr.kind {
                InstrKind::If(cond, then_block, else_block) => {
                    let taken = if is_true(read(frame, *cond)) { *then_block } else { *else_block };
                    frame.blocks.push((taken, 0, instr.dst));
                }
                InstrKind::Match(scrutinee, arms) => {
                    let Some((arm, values)) = matching::find(self.module, arms, read(frame, *scrutinee)) else {
                        let found = matching::preview(self.module, read(frame, *scrutinee));
                        return Err(self.fail(instr.expr, Trap::new(codes::E0504, format!("no clause matches {found}"))));
                    };
                    for (&slot, value) in arm.binds.iter().zip(values) {
                        frame.slots[slot as usize] = Some(value);
                    }
                    frame.blocks.push((arm.block, 0, instr.dst));
                }
                InstrKind::Call(callee, args) => {
                    let args: Vec<Value> = args.iter().map(|&slot| read(frame, slot).clone()).collect();
                    let Value::Closure(closure) = read(frame, *callee).clone() else {
                        unreachable!("inference required a function");
                    };
                    match self.offer(&closure, &args)? {
                        EngineResult::No => self.count_call(instr.expr, depth)?,
                        EngineResult::Interpret => {}
                        EngineResult::Value(value) => {
                            self.memory.add_all([&value]);
                            self.give(frame, instr.dst, value)?;
                            continue;
                        }
                    }
                    let new = self.frame(closure.code, closure.captured.to_vec(), Some(&closure), args, instr.dst);
                    frames.push(new);
                }
                _ => {
                    let value = self.compute(instr, frame)?;
                    self.give(frame, instr.dst, value)?;
                }
            }
        }
    }

    /// Stores the value of a frame's current instruction, and goes on after it.
    fn give(&self, frame: &mut Frame, dst: Slot, value: Value) -> Result<(), Failure> {
        if let (Some(witness), Some(&(block, at, _))) = (self.witness, frame.blocks.last()) {
            let instr = &self.program.blocks[block].instrs[at];
            witness.value(self.module, instr.expr, &value);
            if let InstrKind::CallOp(_, args) = &instr.kind {
                let operands: Vec<&Value> = args.iter().map(|&slot| read(frame, slot)).collect();
                witness.call(self.module, instr.expr, &operands, &value)?;
            }
        }
        frame.slots[dst as usize] = Some(value);
        finish(frame, self.program);
        Ok(())
    }

    fn offer(&self, closure: &Closure, args: &[Value]) -> Result<EngineResult, Failure> {
        match (self.engine, self.program.codes[closure.code].func) {
            (Some(engine), Some(func)) => engine.call(func, args),
            _ => Ok(EngineResult::No),
        }
    }

    fn count_call(&mut self, expr: ExprId, depth: usize) -> Result<(), Failure> {
        self.n_calls += 1;
        check_deadline(self.module, self.ops, expr, &self.limits)?;
        if depth >= self.limits.max_depth {
            let message = format!("more than {} nested calls", self.limits.max_depth);
            return Err(self.fail(
                expr,
                Trap { help: Some("`--limit call-depth=N` sets another limit"), ..Trap::new(codes::E0805, message) },
            ));
        }
        if self.n_calls > self.limits.max_calls {
            let message = format!("more than {} calls", self.limits.max_calls);
            return Err(
                self.fail(expr, Trap { help: Some("`--limit calls=N` sets another limit"), ..Trap::new(codes::E0805, message) })
            );
        }
        Ok(())
    }

    fn fail(&self, expr: ExprId, trap: Trap) -> Failure {
        failure(self.module, self.ops, expr, trap)
    }

    /// An instruction that neither branches nor calls a function.
    fn compute(&mut self, instr: &Instr, frame: &Frame) -> Result<Value, Failure> {
        Ok(match &instr.kind {
            InstrKind::Const(id) => Value::Tensor(self.module.consts[*id].clone()),
            InstrKind::Global(id) => {
                Value::Closure(Closure { code: self.program.globals[id.0 as usize], captured: Default::default() })
            }
            InstrKind::Tuple(fields) => Value::tuple(fields.iter().map(|&slot| read(frame, slot).clone()).collect()),
            InstrKind::Proj(tuple, index) => match read(frame, *tuple) {
                Value::Tuple(fields) => fields[*index as usize].clone(),
                _ => unreachable!("inference required a tuple"),
            },
            InstrKind::Closure(code, captured) => {
                let captured = captured.iter().map(|&slot| read(frame, slot).clone()).collect();
                Value::Closure(Closure { code: *code, captured: value::Shared::new(captured) })
            }
            InstrKind::CallOp(op, args) => {
                let args: Vec<&Value> = args.iter().map(|&slot| read(frame, slot)).collect();
                self.call_op(instr.expr, *op, &args)?
            }
            InstrKind::Adt(ctor, fields) => {
                let fields = fields.iter().map(|&slot| read(frame, slot).clone()).collect();
                Value::Adt(*ctor, value::Shared::new(fields))
            }
            InstrKind::RefNew(value) => Value::Cell(Cell::new(read(frame, *value).clone())),
            InstrKind::RefRead(cell) => read_cell(frame, *cell).get(),
            InstrKind::RefWrite(cell, value) => {
                read_cell(frame, *cell).set(read(frame, *value).clone());
                Value::tuple(vec![])
            }
            InstrKind::If(..) | InstrKind::Match(..) | InstrKind::Call(..) => unreachable!("they are run by the loop"),
        })
    }

    fn call_op(&mut self, expr: ExprId, op: relayc_ir::OpId, operands: &[&Value]) -> Result<Value, Failure> {
        check_deadline(self.module, self.ops, expr, &self.limits)?;
        let def = self.ops.def(op);
        let gives_nothing = self.module.types.as_tuple(self.module.ty(expr)).is_some_and(<[_]>::is_empty);
        // What gives nothing, such as `memory.kill`, reads no cell, function or data.
        let unread = || gives_nothing.then(|| ArgValue::Tuple(vec![]));
        let args: Option<Vec<ArgValue>> = operands.iter().map(|value| arg_value(value).or_else(unread)).collect();
        let Some(args) = args else {
            // What gives a cell, a function or data its own type is a mere mark.
            if let [value] = operands
                && shapes::operand_types(self.module, expr).eq([self.module.ty(expr)])
            {
                return Ok((*value).clone());
            }
            return Err(self.fail(expr, Trap::new(codes::E0506, "an operand is neither a tensor nor a tuple of tensors")));
        };
        let attrs = match self.module.exprs[expr].kind {
            ExprKind::Call { attrs: Some(attrs), .. } => &*self.module.attrs[attrs].values,
            _ => &[],
        };
        if let Some(size) = attrs.iter().find_map(relayc_ir::AttrValue::named_size) {
            let message = format!("the size `{size}` has no number: no argument of the run determines it");
            return Err(self.fail(expr, Trap::new(codes::E0506, message)));
        }
        let expected = self.module.ty(expr);
        let types = &self.module.types;
        let static_out = shapes::as_typed(self.module, expr, &args).then(|| shapes::out_types(types, expected)).flatten();
        let out = match static_out {
            Some(out) => out,
            None => self.actual_out_types(expr, def, &args, attrs)?,
        };
        let outputs = self.evaluate(expr, def, &args, attrs, &out).map_err(|trap| self.fail(expr, trap))?;
        if let Some(trap) = shapes::disagree(&self.module.types, expected, &outputs) {
            return Err(self.fail(expr, trap));
        }
        let value = match outputs {
            Outputs::One(tensor) => Value::Tensor(tensor),
            Outputs::Tuple(tensors) => Value::tuple(tensors.into_iter().map(Value::Tensor).collect()),
        };
        self.memory.add_all([&value]);
        Ok(value)
    }

    /// Evaluates a call if there is room for its result and its work.
    fn evaluate(
        &mut self,
        expr: ExprId,
        def: &relayc_ops::OpDef,
        args: &[ArgValue],
        attrs: &[relayc_ir::AttrValue],
        out: &[OutTy],
    ) -> Result<Outputs, Trap> {
        let mut cx = EvalCx { args, attrs, out, max_bytes: self.limits.max_tensor_bytes };
        let mut result = 0u64;
        for ty in out {
            result = result.saturating_add(cx.check_size(&ty.shape, ty.dtype)?);
        }
        self.memory.require(result, def.work.bytes(&cx))?;
        if out.is_empty() {
            // Only the evaluator learns the size of the result.
            let types = &self.module.types;
            let dtype = types.as_tensor(self.module.ty(expr)).map_or(DType::BOOL, |(_, dtype)| dtype);
            cx.max_bytes = cx.max_bytes.min(def.work.result_within(self.memory.room(), dtype));
        }
        (def.eval)(&cx)
    }

    /// Runs the relation for the result's types at the actual shapes, if the program's types are incomplete or differ. Empty if
    /// only the data can tell.
    fn actual_out_types(
        &mut self,
        expr: ExprId,
        def: &relayc_ops::OpDef,
        args: &[ArgValue],
        attrs: &[relayc_ir::AttrValue],
    ) -> Result<Vec<OutTy>, Failure> {
        let module = self.module;
        let types = self.types.get_or_insert_with(|| Types::with_symbols(module.types.symbols.clone()));
        let mut solver = Solver::default();
        let arg_tys: Vec<Ty> = shapes::actual_types(module, expr, args, types);
        let out = solver.fresh(types);
        let mut cx = RelCx::new(types, &mut solver, attrs, &arg_tys, out);
        cx.at_run_time = true;
        cx.objects = Some(&module.objects);
        if let Err(relayc_ops::rel::Stop::Fault(fault)) = (def.rel)(&mut cx) {
            return Err(self.fail(expr, (*fault).into()));
        }
        let out = solver.shallow(types, out);
        Ok(shapes::out_types(types, out).unwrap_or_default())
    }
}

/// Fails at the next expression with E0805 when the time is over or the run is interrupted, with E0803 when the system has no memory
/// left.
pub fn check_deadline(module: &Module, ops: &Table, expr: ExprId, limits: &Limits) -> Result<(), Box<Diagnostic>> {
    if limits.interrupted.is_some_and(|interrupted| interrupted()) {
        return Err(trapped(module, ops, expr, Trap::new(codes::E0805, "interrupted")));
    }
    if (limits.short_of_memory)() {
        return Err(trapped(module, ops, expr, Trap::new(codes::E0803, "the system has no memory left")));
    }
    let Some(deadline) = limits.deadline else { return Ok(()) };
    let name = module.called_op(expr).map(|op| ops.def(op).name);
    *limits.under_way.lock().unwrap_or_else(PoisonError::into_inner) = (name, module.exprs[expr].span);
    if Instant::now() > deadline { Err(Box::new(limits.out_of_time())) } else { Ok(()) }
}

/// Converts an operator's trap to a diagnostic at its call.
pub fn failure(module: &Module, ops: &Table, expr: ExprId, trap: Trap) -> Box<Diagnostic> {
    let name = module.called_op(expr).map(|op| ops.def(op).name);
    Box::new(told(name, module.exprs[expr].span, trap))
}

fn told(name: Option<&str>, span: Span, trap: Trap) -> Diagnostic {
    let message = name.map_or(trap.message.clone(), |name| format!("`{name}`: {}", trap.message));
    let diagnostic = Diagnostic::from(Trap { message, ..trap });
    if span == Span::NONE { diagnostic } else { diagnostic.at(span, "while running this") }
}

/// Runs one call of an operator, for engines that run the rest of the program. Errors: as a run's.
pub fn call_operator(
    module: &Module,
    ops: &Table,
    call: ExprId,
    args: &[Value],
    limits: &Limits,
) -> Result<Value, Box<Diagnostic>> {
    let program = LoweredModule::default();
    let op = module.called_op(call).expect("a call of an operator");
    let args: Vec<&Value> = args.iter().collect();
    Interp::new(module, ops, &program, limits.clone()).call_op(call, op, &args)
}

/// The failure of an operator's call, for engines that compute it themselves.
pub fn trapped(module: &Module, ops: &Table, call: ExprId, trap: Trap) -> Box<Diagnostic> {
    let program = LoweredModule::default();
    Interp::new(module, ops, &program, Limits::default()).fail(call, trap)
}

/// Goes on after a block's current instruction, and empties the slots that die there.
fn finish(frame: &mut Frame, program: &LoweredModule) {
    let Some((block, at, _)) = frame.blocks.last_mut() else { return };
    let dead = &program.blocks[*block].instrs[*at].dead;
    *at += 1;
    for &slot in dead {
        frame.slots[slot as usize] = None;
    }
}

fn read(frame: &Frame, slot: Slot) -> &Value {
    frame.slots[slot as usize].as_ref().expect("lowering computes a value before it is read")
}

fn read_cell(frame: &Frame, slot: Slot) -> &Cell {
    match read(frame, slot) {
        Value::Cell(cell) => cell,
        _ => unreachable!("inference required a reference"),
    }
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Tensor(tensor) if tensor.to_ints().first().is_some_and(|&x| x != 0))
}

fn arg_value(value: &Value) -> Option<ArgValue> {
    match value {
        Value::Tensor(tensor) => Some(ArgValue::Tensor(tensor.clone())),
        Value::Tuple(fields) => {
            let tensors: Option<Vec<_>> = fields
                .iter()
                .map(|field| match field {
                    Value::Tensor(tensor) => Some(tensor.clone()),
                    _ => None,
                })
                .collect();
            tensors.map(ArgValue::Tuple)
        }
        Value::Closure(_) | Value::Adt(..) | Value::Cell(_) => None,
    }
}
