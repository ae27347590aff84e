//! The `relayc.toml` files of the programs of one command: each is read once, and what is wrong in it is reported once.

use super::{Console, exit};
use relayc_driver::ReadOptions;
use relayc_driver::config::{self, Project, Reach, WeightFiles};
use relayc_driver::lint::Levels;
use std::path::Path;
use std::rc::Rc;

pub(crate) struct Projects<'c> {
    console: &'c Console,
    known: Vec<Rc<Project>>,
    files: WeightFiles,
    /// The exit code of what was reported.
    pub(crate) code: u8,
}

impl<'c> Projects<'c> {
    pub(crate) fn new(console: &'c Console) -> Projects<'c> {
        Projects { console, known: vec![], files: WeightFiles::default(), code: exit::FINE }
    }

    /// The project of a program.
    pub(crate) fn of(&mut self, program: &Path) -> Rc<Project> {
        let Some(path) = config::find(program, &Reach::Everything) else { return Rc::default() };
        if let Some(project) = self.known.iter().find(|project| project.path() == Some(&path)) {
            return project.clone();
        }
        let project = Rc::new(Project::open(&path, &Reach::Everything));
        self.code = self.code.max(self.console.files(&project.diagnostics, &project.sources));
        self.known.push(project.clone());
        project
    }

    /// How to check a program: as its project chooses, with the levels that `flags` sets above those of the project.
    pub(crate) fn how(&mut self, program: &Path, otherwise: &ReadOptions, flags: impl FnOnce(&mut Levels)) -> ReadOptions {
        let project = self.of(program);
        let mut levels = project.levels.clone();
        flags(&mut levels);
        let weights = project.weights(program, &mut self.files);
        ReadOptions { levels, weights, ..otherwise.clone() }
    }

    /// Forgets the files, which may have changed.
    pub(crate) fn forget(&mut self) {
        (self.known, self.code) = (vec![], exit::FINE);
    }

    /// The errors in the files so far.
    pub(crate) fn n_errors(&self) -> usize {
        self.known.iter().flat_map(|project| &project.diagnostics).filter(|diagnostic| diagnostic.is_error()).count()
    }

    /// Every file that the projects so far were read from or name.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.known.iter().flat_map(|project| project.path().into_iter().chain(project.weight_files()))
    }
}
