//! What is known of values and cells before a run.

use relayc_base::{IndexVec, index_type};
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

index_type! {
    /// The fields of a tuple or of data.
    pub(super) struct FieldsId;
}

index_type! {
    pub(super) struct ClosureId;
}

/// What known values are made of. It lives as long as the evaluation: no value owns another, so that none is freed recursively.
#[derive(Default)]
pub(super) struct Heap {
    pub(super) fields: IndexVec<FieldsId, Rc<[Value]>>,
    pub(super) closures: IndexVec<ClosureId, Rc<Closure>>,
}

/// A known value.
#[derive(Clone)]
pub(super) enum Known {
    Tensor(Tensor),
    Tuple(FieldsId),
    Data(CtorId, FieldsId),
    /// A cell, by its number.
    Cell(u64),
    Op(OpId),
    Ctor(CtorId),
    Closure(ClosureId),
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

/// What is known of cells; where a path ends that may not be taken, what was known before it is known again.
#[derive(Default)]
pub(super) struct Store {
    cells: FxHashMap<u64, Written>,
    n_cells: u64,
    /// Values that were written before have been forgotten.
    since: u64,
    now: u64,
    /// What to do to know what was known before, the last first.
    undo: Vec<Undo>,
    /// How long that list was where each path began.
    paths: Vec<usize>,
}

#[derive(Clone)]
struct Written {
    at: u64,
    value: Value,
}

enum Undo {
    Write(u64, Option<Written>),
    Forget(u64),
}

impl Store {
    pub(super) fn fresh_cell(&mut self) -> u64 {
        self.n_cells += 1;
        self.n_cells
    }

    pub(super) fn write(&mut self, cell: u64, value: Value) {
        self.now += 1;
        let before = self.cells.insert(cell, Written { at: self.now, value });
        self.undo.push(Undo::Write(cell, before));
    }

    pub(super) fn read(&self, cell: u64) -> Option<&Value> {
        self.cells.get(&cell).filter(|written| written.at > self.since).map(|written| &written.value)
    }

    /// Forgets everything, until the path ends.
    pub(super) fn forget(&mut self) {
        self.undo.push(Undo::Forget(self.since));
        self.since = self.now;
    }

    /// Begins a path that may not be taken.
    pub(super) fn begin(&mut self) {
        self.paths.push(self.undo.len());
    }

    /// Ends a path: what is known is what was known before it.
    pub(super) fn end(&mut self) {
        let begun = self.paths.pop().expect("a path was begun");
        for undo in self.undo.drain(begun..).rev() {
            match undo {
                Undo::Write(cell, Some(before)) => drop(self.cells.insert(cell, before)),
                Undo::Write(cell, None) => drop(self.cells.remove(&cell)),
                Undo::Forget(since) => self.since = since,
            }
        }
    }
}
