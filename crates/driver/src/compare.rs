//! `relayc diff` and `relayc params diff`: compares two files of tensors, or two programs.
//!
//! Tensors are compared by name, read two at a time. Programs are compared by what they compute: the names of variables and the
//! numbers of graph bindings do not count.

mod allowed;
mod errors;
mod lines;
mod nodes;
mod origin;
pub mod programs;
pub mod values;

pub use lines::Differences;
use lines::Lines;

use super::tensors::{self, FileBytes};
use relayc_base::diag::Diagnostic;
use relayc_base::text::{count, one_line, thousands};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::compare::{Comparison, Incomparable, Tolerance, compare};
use relayc_ir::tensor::text::type_text;
use relayc_ir::types::Dim;
use relayc_weights as formats;
use relayc_weights::{Kind, TensorFile, images, tar};
use std::fmt::Write;
use std::path::Path;

/// One side of a comparison of tensors.
enum Side {
    Named(tensors::File),
    /// A `.npy` file, the pixels of an image, one entry of a file.
    One(Tensor),
}

/// The kind of a file of tensors, with its bytes. An archive stands for the program in it.
fn kind_of(path: &Path) -> Result<Option<(Kind, FileBytes)>, Diagnostic> {
    let name = path.display().to_string();
    let held = FileBytes::open(path, &|_| Ok(()))?;
    let start = held.start(&name)?;
    let kind = Kind::of(&name, &start).filter(|_| !tar::is_tar(&start));
    Ok(kind.map(|kind| (kind, held)))
}

/// `FILE:KEY`, unless it is a file itself.
fn entry_of(path: &Path) -> Option<(&str, &str)> {
    let entry = path.to_str()?.rsplit_once(':').filter(|(file, key)| !file.is_empty() && !key.is_empty());
    entry.filter(|_| !path.exists())
}

/// Whether a path names tensors, valid or not.
pub fn is_of_tensors(path: &Path) -> bool {
    path.to_str() != Some("-") && (entry_of(path).is_some() || path.is_file() && kind_of(path).is_ok_and(|kind| kind.is_some()))
}

/// The tensors of a path. Errors: those of the file, E0722 for a file that seems to have no tensors.
fn side_of(path: &Path) -> Result<Side, Diagnostic> {
    let name = path.display().to_string();
    if let Some((file, key)) = entry_of(path) {
        return super::params::get(Path::new(file), key).map(Side::One);
    }
    match kind_of(path)? {
        Some((Kind::Picture, held)) => images::pixels(&name, &held.whole()?).map(Side::One),
        Some((Kind::Named, held)) => TensorFile::open(&name, held).map(Side::Named),
        Some((Kind::Npy, held)) => formats::read_npy(&name, &held.whole()?).map(Side::One),
        None => Err(errors::no_tensors(&name)),
    }
}

/// Compares the tensors of two files. Errors: those of the files, E0722 for sides that cannot be compared.
pub fn tensors(a: &Path, b: &Path, tolerance: Tolerance) -> Result<Differences, Diagnostic> {
    let (from, to) = (side_of(a)?, side_of(b)?);
    let mut found = Tally::new(&a.display().to_string(), &b.display().to_string(), tolerance);
    let only = |file: &tensors::File, name: &str| match file.items() {
        [only] => file.read(only),
        items => Err(errors::no_partner(name, file.name(), items.len())),
    };
    match (from, to) {
        (Side::Named(from), Side::Named(to)) => found.files(&from, &to)?,
        (Side::One(from), Side::One(to)) => found.pair("", &from, &to),
        (Side::Named(file), Side::One(to)) => found.pair("", &only(&file, &found.b)?, &to),
        (Side::One(from), Side::Named(file)) => found.pair("", &from, &only(&file, &found.a)?),
    }
    Ok(found.finish())
}

/// The differences so far.
struct Tally {
    a: String,
    b: String,
    tolerance: Tolerance,
    lines: Lines,
    equal: usize,
    within: usize,
    differ: usize,
    alone: usize,
}

impl Tally {
    fn new(a: &str, b: &str, tolerance: Tolerance) -> Tally {
        Tally { a: one_line(a), b: one_line(b), tolerance, lines: Lines::unlimited(), equal: 0, within: 0, differ: 0, alone: 0 }
    }

    fn line(&mut self, text: &str) {
        self.lines.push(text, &[]);
    }

    fn files(&mut self, from: &tensors::File, to: &tensors::File) -> Result<(), Diagnostic> {
        self.only_in(from, to, &self.a.clone());
        self.only_in(to, from, &self.b.clone());
        let items = names(to);
        for item in from.items() {
            let Some(other) = items.get(item.name.as_str()) else { continue };
            if item.head == other.head {
                self.pair(&item.name, &from.read(item)?, &to.read(other)?);
            } else {
                let ty = |head: &relayc_ir::tensor::binary::Head| {
                    let dims: Vec<Dim> = head.shape.iter().map(|&dim| Dim::known(dim as i64)).collect();
                    type_text(&dims, head.dtype)
                };
                self.of_two_types(&item.name, &ty(&item.head), &ty(&other.head));
            }
        }
        Ok(())
    }

    fn only_in(&mut self, this: &tensors::File, other: &tensors::File, name: &str) {
        let others = names(other);
        for item in this.items().iter().filter(|item| !others.contains_key(item.name.as_str())) {
            self.alone += 1;
            self.line(&format!("{}: only in {name}", one_line(&item.name)));
        }
    }

    fn of_two_types(&mut self, name: &str, a: &str, b: &str) {
        self.differ += 1;
        self.line(&format!("{}{a} in {}, {b} in {}", label(name), self.a, self.b));
    }

    fn pair(&mut self, name: &str, from: &Tensor, to: &Tensor) {
        match compare(from, to, self.tolerance) {
            Err(Incomparable::Shape { .. } | Incomparable::DType { .. }) => {
                self.of_two_types(name, &from.type_text(), &to.type_text());
            }
            Ok(comparison) if !comparison.agrees() => {
                self.differ += 1;
                self.line(&format!("{}{}", label(name), words(&comparison)));
            }
            Ok(Comparison { worst: None, .. }) => self.equal += 1,
            Ok(_) => self.within += 1,
        }
    }

    fn finish(self) -> Differences {
        let mut parts = vec![format!("{} equal", count(self.equal, "tensor"))];
        for (n, what) in [(self.within, "within the tolerance"), (self.differ, "different"), (self.alone, "on one side only")] {
            if n > 0 {
                parts.push(format!("{n} {what}"));
            }
        }
        Differences::new(self.differ + self.alone == 0, self.lines, parts.join(", "))
    }
}

/// The tensors of a file by name.
fn names(file: &tensors::File) -> rustc_hash::FxHashMap<&str, &formats::Item> {
    file.items().iter().map(|item| (item.name.as_str(), item)).collect()
}

fn label(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{}: ", one_line(name)) }
}

/// How many elements differ, and which one most.
fn words(comparison: &Comparison) -> String {
    let of = |n: usize| thousands(n as u64);
    let mut text = format!("{} of {} elements differ", of(comparison.n_mismatches), of(comparison.n_elements));
    if let Some(worst) = &comparison.worst {
        let _ = write!(text, ", most at {:?}: {} and {}, off by {:.3e}", worst.index, worst.got, worst.expected, worst.abs);
        let _ = write!(text, "; at most {:.3e} of an element", comparison.max_rel);
    }
    text
}
