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
    last: Vec<u64>,
    /// The last step; empty if there was none.
    step: Vec<i64>,
    work: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Takes the key of the size that a session has come to, and has the next one compiled if it is foreseen.
    pub(super) fn follow(&mut self, open: &Arc<Open>, key: &[u64]) {
        // A call with a size that is kept allocates nothing.
        let from = if self.last.len() == key.len() { &self.last[..] } else { &[] };
        let steps = key.iter().zip(from).map(|(&to, &from)| to.wrapping_sub(from) as i64);
        let again = !from.is_empty() && steps.clone().eq(self.step.iter().copied());
        self.step.clear();
        self.step.extend(steps);
        self.last.clear();
        self.last.extend(key);
        if again && self.work.as_ref().is_none_or(JoinHandle::is_finished) {
            self.compile(open);
        }
    }

    fn compile(&mut self, open: &Arc<Open>) {
        let next: Option<Vec<u64>> = self.last.iter().zip(&self.step).map(|(&at, &step)| at.checked_add_signed(step)).collect();
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
