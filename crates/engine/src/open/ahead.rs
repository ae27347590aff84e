//! Compiles the next size of a sequence that grows, while the current one runs.
//!
//! A decoder is called with a past that is longer by one each time, so every call comes with a new size. Two equal steps from one
//! size to the next make the third likely: its code is made on a thread of its own, and the call that needs it finds it, or waits
//! for the rest. If no such call comes, a size was compiled in vain. Nothing else changes: the program of a size is the same
//! whoever compiled it.

use super::Open;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// The steps from size to size of a session.
#[derive(Default)]
pub(super) struct Ahead {
    /// The last step; empty if there was none.
    step: Vec<i64>,
    work: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Makes the key of the size that a session had that of the one it comes to. Returns whether the step is that before it. A size of
    /// the same ranks allocates nothing.
    pub(super) fn step(&mut self, key: &mut Vec<u64>, shapes: &[&[u64]]) -> bool {
        let numbers = shapes.iter().flat_map(|shape| [shape.len() as u64].into_iter().chain(shape.iter().copied()));
        let n = shapes.iter().map(|shape| 1 + shape.len()).sum();
        if key.len() != n {
            self.step.clear();
            key.clear();
            key.extend(numbers);
            return false;
        }
        let mut again = self.step.len() == n;
        self.step.resize(n, 0);
        for ((from, step), to) in key.iter_mut().zip(&mut self.step).zip(numbers) {
            let new = to.wrapping_sub(*from) as i64;
            again &= *step == new;
            (*from, *step) = (to, new);
        }
        again
    }

    /// Has the size compiled that follows this one by the last step, unless that is under way or was foreseen before.
    #[cold]
    pub(super) fn compile(&mut self, open: &Arc<Open>, key: &[u64]) {
        if self.work.as_ref().is_some_and(|work| !work.is_finished()) {
            return;
        }
        let next: Option<Vec<u64>> = key.iter().zip(&self.step).map(|(&at, &step)| at.checked_add_signed(step)).collect();
        let Some(next) = next.filter(|next| !open.keeps(next)) else { return };
        let open = open.clone();
        // A call with a size that is refused compiles it again, and says why. Without a thread, each call compiles its own.
        let work = move || _ = open.size(&next, &shapes(&next));
        self.work = Builder::new().name("relayc-ahead".into()).spawn(work).ok();
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            // It reports nothing.
            let _ = work.join();
        }
    }
}

/// The shapes of a key, each of which its rank precedes.
fn shapes(mut key: &[u64]) -> Vec<&[u64]> {
    let mut shapes = vec![];
    while let Some((&rank, rest)) = key.split_first() {
        let (shape, rest) = rest.split_at((rank as usize).min(rest.len()));
        shapes.push(shape);
        key = rest;
    }
    shapes
}
