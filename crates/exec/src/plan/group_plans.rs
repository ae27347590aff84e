//! The plans of groups that were met, by their descriptions ([`super::repeat`]).

use super::group::{Padded, Value};
use super::{Buffer, Step};
use relayc_codegen::recent::Recent;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Plans = Recent<Box<[u64]>, Arc<GroupPlan>>;

/// The plans of groups, in programs of one network with the same options.
#[derive(Default)]
pub struct GroupPlans {
    plans: Mutex<Plans>,
    forms: Mutex<Forms>,
}

/// The numbers of groups' forms, and how many there have been.
#[derive(Default)]
struct Forms {
    numbers: Recent<Box<[u64]>, u64>,
    n_forms: u64,
}

impl GroupPlans {
    pub(super) fn find(&self, description: &[u64]) -> Option<Arc<GroupPlan>> {
        self.lock().get(description).cloned()
    }

    pub(super) fn add(&self, description: Vec<u64>, plan: GroupPlan) {
        self.lock().insert(description.into(), Arc::new(plan));
    }

    /// The number of a form, which no other one has.
    pub(super) fn number(&self, form: Vec<u64>) -> u64 {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        let Forms { numbers, n_forms } = &mut *forms;
        if let Some(&mut number) = numbers.get(&form[..]) {
            return number;
        }
        *n_forms += 1;
        numbers.insert(form.into(), *n_forms);
        *n_forms
    }

    /// Ends a program.
    pub(crate) fn end(&self) {
        self.lock().end();
        self.forms.lock().unwrap_or_else(PoisonError::into_inner).numbers.end();
    }

    fn lock(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The plan of a group. Its buffers are numbered: those that it finds, then those that it makes. Its expressions are numbered in
/// the order of the group, behind which is the group's call.
pub(super) struct GroupPlan {
    pub(super) made: Vec<Made>,
    pub(super) steps: Vec<Step>,
    pub(super) value: Value,
}

/// A buffer that a group makes.
pub(super) struct Made {
    pub(super) buffer: Buffer,
    /// The expression of the constant that it holds.
    pub(super) constant: Option<usize>,
    pub(super) is_constant: bool,
    pub(super) is_shared: bool,
    pub(super) padded: Option<Padded>,
}
