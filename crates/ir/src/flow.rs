//! The control flow of a program as a list of instructions: subgraphs that are run, copies, and jumps.
//!
//! There are no functions, tuples or frames: every tensor has a place of its own. Absent: what a subgraph computes.

use super::ConstId;
use super::types::DType;
use std::ops::Range;

/// The location of a tensor. Only values and outputs are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    Input(usize),
    Output(usize),
    Const(ConstId),
    Value(usize),
}

/// The type of a tensor whose shape is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    pub dtype: DType,
    pub shape: Vec<usize>,
}

impl TensorType {
    /// Number of bytes, of which there is no limit.
    pub fn bytes(&self) -> u64 {
        let elements = self.shape.iter().fold(1, |n: u64, &dim| n.saturating_mul(dim as u64));
        elements.saturating_mul(self.dtype.bytes())
    }
}

/// An instruction. A jump names the instruction that is next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowInstr {
    /// Runs a subgraph, by its number, on tensors; its results are other tensors.
    Run {
        part: usize,
        args: Vec<Place>,
        results: Vec<Place>,
    },
    Copy {
        from: Place,
        to: Place,
        bytes: u64,
    },
    Jump(usize),
    /// Jumps if a tensor, one bool, is false.
    Unless(Place, usize),
}

/// The instructions of a program, from the first to the end.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Flow {
    pub instrs: Vec<FlowInstr>,
    /// The types of the inputs and of the outputs, unless it is [`Flow::straight`].
    pub inputs: Vec<TensorType>,
    pub outputs: Vec<TensorType>,
    /// The types of the values, by number.
    pub values: Vec<TensorType>,
    /// The instructions of each loop; inner loops come first.
    pub loops: Vec<Range<usize>>,
}

impl Flow {
    /// The flow of a program that is one subgraph.
    pub fn straight(n_inputs: usize, n_outputs: usize) -> Flow {
        let (args, results) = ((0..n_inputs).map(Place::Input).collect(), (0..n_outputs).map(Place::Output).collect());
        Flow { instrs: vec![FlowInstr::Run { part: 0, args, results }], ..Flow::default() }
    }

    /// The first and the last instruction at which each value is kept: a value that comes into a loop is kept until its end.
    /// `None` for a value that nothing names.
    pub fn lives(&self) -> Vec<Option<Range<usize>>> {
        let mut lives: Vec<Option<Range<usize>>> = vec![None; self.values.len()];
        for (at, instr) in self.instrs.iter().enumerate() {
            for place in instr.places() {
                if let Place::Value(value) = place {
                    let life = lives[value].get_or_insert(at..at);
                    life.end = at;
                }
            }
        }
        for looped in &self.loops {
            for life in lives.iter_mut().flatten() {
                if life.start < looped.start && life.end >= looped.start {
                    life.end = life.end.max(looped.end - 1);
                }
            }
        }
        lives
    }
}

impl FlowInstr {
    /// The tensors that it reads and writes.
    fn places(&self) -> Vec<Place> {
        match self {
            FlowInstr::Run { args, results, .. } => args.iter().chain(results).copied().collect(),
            FlowInstr::Copy { from, to, .. } => vec![*from, *to],
            FlowInstr::Jump(_) => vec![],
            FlowInstr::Unless(cond, _) => vec![*cond],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_into_a_loop_is_kept_until_its_end() {
        let copy = |from: usize, to: usize| FlowInstr::Copy { from: Place::Value(from), to: Place::Value(to), bytes: 4 };
        let instrs =
            vec![copy(0, 1), copy(2, 3), FlowInstr::Unless(Place::Value(1), 6), copy(3, 4), copy(4, 1), FlowInstr::Jump(2)];
        let values = vec![TensorType { dtype: DType::F32, shape: vec![] }; 6];
        let flow = Flow { instrs, values, loops: vec![3..4, 2..6], ..Flow::default() };
        assert_eq!(flow.lives(), [Some(0..0), Some(0..5), Some(1..1), Some(1..5), Some(3..4), None]);
    }
}
