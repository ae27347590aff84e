//! Records what happened to the subgraphs of a program, for reports.

use crate::cross_check::Agreement;
use relayc_base::text::{count, thousands};

/// A record of events.
#[derive(Clone, Default, Debug)]
pub(super) struct Record {
    pub(crate) compiled: usize,
    /// Reasons for interpreting subgraphs, and the number of variants for each.
    pub(crate) refused: Vec<(String, usize)>,
    pub(crate) without_kernel: Vec<&'static str>,
    pub(crate) agreement: Agreement,
}

impl Record {
    /// Counts one more interpreted variant.
    pub(crate) fn refuse(&mut self, why: &str) {
        match self.refused.iter_mut().find(|(known, _)| known == why) {
            Some((_, n)) => *n += 1,
            None => self.refused.push((why.to_owned(), 1)),
        }
    }

    pub(crate) fn fall_back(&mut self, names: &[&'static str]) {
        for name in names {
            if !self.without_kernel.contains(name) {
                self.without_kernel.push(name);
            }
        }
    }

    pub(crate) fn add(&mut self, other: Record) {
        self.compiled += other.compiled;
        for (reason, n) in other.refused {
            (0..n).for_each(|_| self.refuse(&reason));
        }
        self.fall_back(&other.without_kernel);
        self.agreement.groups += other.agreement.groups;
        self.agreement.worst = self.agreement.worst.max(other.agreement.worst);
    }

    /// Describes the record in words.
    pub(crate) fn summary(mut self) -> String {
        self.refused.sort();
        self.without_kernel.sort_unstable();
        let mut words = format!("{} compiled", count(self.compiled, "subgraph"));
        let n: usize = self.refused.iter().map(|(_, n)| n).sum();
        if n > 0 {
            let reasons: Vec<String> = self
                .refused
                .iter()
                .map(|(reason, n)| match n {
                    1 => reason.clone(),
                    n => format!("{reason} ({})", thousands(*n as u64)),
                })
                .collect();
            words.push_str(&format!(", {} interpreted: {}", thousands(n as u64), reasons.join("; ")));
        }
        if !self.without_kernel.is_empty() {
            words.push_str(&format!(", without a kernel: {}", self.without_kernel.join(", ")));
        }
        words
    }
}
