//! Files of named tensors as their entries: what each is called and what it is. Elements are read when they are wanted, one
//! tensor at a time, so that a file is never in memory beside what was made of it.

use super::bytes::{Bytes, checked, fields};
use super::item::{Item, Place, about};
use super::{Named, errors, unpack};
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::binary;

/// A file of named tensors.
pub struct TensorFile<B> {
    name: String,
    bytes: B,
    format: &'static str,
    items: Vec<Item>,
}

impl<B: Bytes> TensorFile<B> {
    /// A file whose tensors are known.
    pub(super) fn new(name: &str, bytes: B, format: &'static str, items: Vec<Item>) -> TensorFile<B> {
        TensorFile { name: name.to_owned(), bytes, format, items }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The usual extension of the format, without a dot.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// The tensors in file order; their names differ.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The tensor of that name.
    pub fn find(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }

    /// Reads a tensor of this file. Errors: E0703 for invalid elements, E0803 without memory.
    pub fn read(&self, item: &Item) -> Result<Tensor, Diagnostic> {
        match &item.place {
            Place::Entry(entry) => unpack::read_entry(&self.name, &self.bytes, entry),
            &Place::At(at) => {
                // As large as nothing: elements are read in larger pieces than any buffer here.
                let mut fields = fields(&self.bytes, at, 0);
                let read = binary::elements(&mut fields, &item.head);
                let read = read.map_err(|error| errors::binary(&self.name, &error).note(about(&item.name)));
                checked(&self.bytes, &fields, read)
            }
        }
    }

    /// Reads all tensors.
    pub fn read_all(mut self) -> Result<Named, Diagnostic> {
        let items = std::mem::take(&mut self.items);
        let mut all = Named::with_capacity(items.len());
        for item in items {
            let tensor = self.read(&item)?;
            all.push((item.name, tensor));
        }
        Ok(all)
    }
}
