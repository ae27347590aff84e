//! What is known of values and cells before a run.

use relayc_ir::tensor::Tensor;
use relayc_ir::types::Ty;
use relayc_ir::{CtorId, ExprId, FuncId, OpId, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A value of the new program.
#[derive(Clone)]
pub(super) struct Value {
    /// What is known of it.
    pub(super) known: Option<Known>,
    /// The expression that mentions it: a variable or a name.
    pub(super) dynamic: ExprId,
    /// When it was made; later values have larger numbers.
    pub(super) time: u64,
}

/// A known value.
#[derive(Clone)]
pub(super) enum Known {
    Tensor(Tensor),
    Tuple(Rc<[Value]>),
    Data(CtorId, Rc<[Value]>),
    /// A cell, by its number.
    Cell(u64),
    Op(OpId),
    Ctor(CtorId),
    Closure(Rc<Closure>),
}

/// A function with what it captured.
pub(super) struct Closure {
    pub(super) func: FuncId,
    /// The variable by which it calls itself.
    pub(super) name: Option<VarId>,
    pub(super) captured: Vec<(VarId, Value)>,
    pub(super) subst: Rc<Subst>,
}

/// What type parameters are where a body is written; `None` for one of which that is not known.
pub(super) type Subst = FxHashMap<Ty, Option<Ty>>;

/// What the arguments of a call allow: their ages and, for numbers, their values.
pub(super) type Fuel = Vec<(u64, u64)>;

/// The meet of the fuel of the calls so far with that of another; `None` if nothing became less.
pub(super) fn meet(now: Option<&Fuel>, other: &Fuel) -> Option<Fuel> {
    let Some(now) = now else { return Some(other.clone()) };
    let less: Fuel = now.iter().zip(other).map(|(a, b)| (a.0.min(b.0), a.1.min(b.1))).collect();
    (less != *now).then_some(less)
}

impl Value {
    /// The fuel of an argument.
    pub(super) fn fuel(&self) -> (u64, u64) {
        let number = match &self.known {
            Some(Known::Tensor(tensor)) if tensor.rank() == 0 && tensor.dtype().is_int() => {
                tensor.to_ints().first().map_or(0, |&number| u64::try_from(number.max(0)).unwrap_or(u64::MAX))
            }
            _ => 0,
        };
        (self.time, number)
    }
}

/// What is known of cells; frames are dropped where a path ends that may not be taken.
#[derive(Default)]
pub(super) struct Store {
    frames: Vec<Frame>,
    n_cells: u64,
}

struct Frame {
    cells: FxHashMap<u64, Value>,
    /// Whether older frames still hold.
    older_hold: bool,
    /// Whether it begins a path.
    begins: bool,
}

impl Store {
    pub(super) fn fresh_cell(&mut self) -> u64 {
        self.n_cells += 1;
        self.n_cells
    }

    pub(super) fn write(&mut self, cell: u64, value: Value) {
        if self.frames.is_empty() {
            self.push(true, false);
        }
        let last = self.frames.last_mut().expect("there is a frame");
        last.cells.insert(cell, value);
    }

    pub(super) fn read(&self, cell: u64) -> Option<&Value> {
        for frame in self.frames.iter().rev() {
            if let Some(value) = frame.cells.get(&cell) {
                return Some(value);
            }
            if !frame.older_hold {
                return None;
            }
        }
        None
    }

    /// Forgets everything, until the path ends.
    pub(super) fn forget(&mut self) {
        self.push(false, false);
    }

    /// Begins a path that may not be taken.
    pub(super) fn begin(&mut self) {
        self.push(true, true);
    }

    /// Ends a path: what is known is what was known before it.
    pub(super) fn end(&mut self) {
        while self.frames.pop().is_some_and(|frame| !frame.begins) {}
    }

    fn push(&mut self, older_hold: bool, begins: bool) {
        self.frames.push(Frame { cells: FxHashMap::default(), older_hold, begins });
    }
}
