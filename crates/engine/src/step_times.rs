//! The times of the steps of a program.

use relayc_base::diag::Diagnostic;
use relayc_exec::program::TraceCallback;
use std::time::Instant;

/// The times of the steps of runs, in milliseconds.
pub(crate) struct StepTimes {
    /// Half the digits are more than the clock has.
    of: Vec<Vec<f32>>,
    pub(crate) runs: u64,
    /// The times of one run of so many are kept.
    one_of: u64,
}

/// Of each step at most so many times are kept, from all over the runs: a small program has 100,000 of them in a second, which
/// would take more memory than all else of it.
const MAX_TIMES: usize = 1 << 10;

impl Default for StepTimes {
    fn default() -> StepTimes {
        StepTimes { of: vec![], runs: 0, one_of: 1 }
    }
}

impl StepTimes {
    /// Runs something once that tells before each step, and when all are done.
    pub(crate) fn measure<T>(
        &mut self,
        run: impl FnOnce(TraceCallback) -> Result<T, Box<Diagnostic>>,
    ) -> Result<T, Box<Diagnostic>> {
        self.measure_steps(|begins| {
            run(&mut |next, _| {
                // After the last step its successor, which never ends.
                begins(Some(next));
                Ok(())
            })
        })
    }

    /// Like [`StepTimes::measure`], for a run that gives the number of each step that begins, and `None` when all are done.
    pub(crate) fn measure_steps<T>(&mut self, run: impl FnOnce(&mut dyn FnMut(Option<usize>)) -> T) -> T {
        let kept = self.runs.is_multiple_of(self.one_of);
        self.runs += 1;
        let mut running: Option<(usize, Instant)> = None;
        let result = run(&mut |next| {
            let now = Instant::now();
            let ended = std::mem::replace(&mut running, next.map(|step| (step, now)));
            if let Some((step, begun)) = ended.filter(|_| kept) {
                self.of.resize_with(self.of.len().max(step + 1), Vec::new);
                self.of[step].push(((now - begun).as_secs_f64() * 1e3) as f32);
            }
        });
        if self.of.iter().any(|times| times.len() >= MAX_TIMES) {
            self.one_of *= 2;
            for times in &mut self.of {
                *times = times.iter().copied().step_by(2).collect();
            }
        }
        result
    }

    /// The median time of each step; none of a step that is done once.
    pub(crate) fn medians(&self) -> Vec<Option<f64>> {
        let median = |times: &Vec<f32>| {
            let mut times = times.clone();
            times.sort_by(f32::total_cmp);
            times.get(times.len() / 2).copied().map(f64::from)
        };
        self.of.iter().map(median).collect()
    }
}
