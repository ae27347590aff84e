//! Names for what a pass adds to a program.

use relayc_ir::Module;
use rustc_hash::{FxHashMap, FxHashSet};

/// The names that are taken. The cost of a new one does not depend on how many there are.
#[derive(Default)]
pub(crate) struct Names {
    taken: FxHashSet<Box<str>>,
    /// The number to try next, by what stands before it.
    next: FxHashMap<String, usize>,
}

impl Names {
    pub(crate) fn new<'a>(taken: impl Iterator<Item = &'a str>) -> Names {
        Names { taken: taken.map(Box::from).collect(), next: FxHashMap::default() }
    }

    /// The names of global functions.
    pub(crate) fn of_globals(module: &Module) -> Names {
        Names::new(module.globals.iter().map(|global| &*global.name))
    }

    /// The name itself if it is free, else the first that is free with a number behind `join`.
    pub(crate) fn free(&mut self, name: &str, join: &str) -> Box<str> {
        if self.taken.insert(name.into()) {
            return name.into();
        }
        self.next.entry(format!("{name}{join}")).or_insert(1);
        self.numbered(&format!("{name}{join}"))
    }

    /// The first name with a number that is free.
    pub(crate) fn numbered(&mut self, kind: &str) -> Box<str> {
        let next = self.next.entry(kind.to_owned()).or_default();
        loop {
            let name: Box<str> = format!("{kind}{next}").into();
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
