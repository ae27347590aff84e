//! One tensor of a file, before its elements are read: its name, its type, and the place of its elements.

use super::archive::Entry;
use relayc_base::u64_of;
use relayc_ir::tensor::binary::Head;

/// A tensor of a file whose elements have not been read.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub name: String,
    pub head: Head,
    pub(super) place: Place,
}

/// Where the elements are.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Place {
    /// As they are, from this byte on.
    At(u64),
    /// In the `.npy` file that is an entry of an archive.
    Entry(Box<Entry>),
}

impl Place {
    /// The same place where the bytes that it counts begin at another's byte.
    pub(crate) fn shift(&mut self, by: usize) {
        if let Place::At(at) = self {
            *at = at.saturating_add(u64_of(by));
        }
    }
}

/// The note that names the tensor where something is wrong.
pub(super) fn about(entry: &str) -> String {
    format!("this is tensor `{entry}`")
}
