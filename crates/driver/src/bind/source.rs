//! Parses the right side of `-i NAME=SPEC`: the source of a tensor.

use super::errors;
use super::leaves::Leaf;
use crate::tensors::{self, FileBytes};
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::size::{SizeError, size_to_make};
use relayc_ir::tensor::text::{Literal, LiteralError};
use relayc_ir::types::dims_of;
use relayc_weights as formats;
use relayc_weights::images::{self, Preset};
use relayc_weights::{Kind, TensorFile};
use rustc_hash::FxHashMap;
use std::path::Path;

/// A tensor made from its type alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Filling {
    Zeros,
    Ones,
    /// Random numbers with this seed, different for each name (`Tensor::random`); `signed` floats are from -2 to 2.
    Random {
        seed: u64,
        signed: bool,
    },
}

impl Filling {
    /// `zeros`, `ones`, `rand` (seed 0), `rand:seed=N`, `rand:seed=N:signed`.
    pub(crate) fn parse(text: &str) -> Option<Filling> {
        match text {
            "zeros" => Some(Filling::Zeros),
            "ones" => Some(Filling::Ones),
            "rand" => Some(Filling::Random { seed: 0, signed: false }),
            _ => {
                let seed = text.strip_prefix("rand:seed=")?;
                let unsigned = seed.strip_suffix(":signed");
                Some(Filling::Random { seed: unsigned.unwrap_or(seed).parse().ok()?, signed: unsigned.is_some() })
            }
        }
    }
}

/// A parsed specification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Source<'a> {
    /// `zeros`, `ones`, `rand[:seed=N]`.
    Filling(Filling),
    /// `1x3xf32=[1, 2, 3]`, see `tensor::text`.
    Literal(Literal<'a>),
    /// `@x.npy`, `@b.npz:key`, `@w.params:key`, `@w.safetensors:key`, `@pic.png:PRESET`. The text after the last colon is the
    /// key, unless a file has the whole name.
    File { path: &'a str, key: Option<&'a str> },
}

impl<'a> Source<'a> {
    /// Parses a specification. Errors are words: lower case, no full stop.
    pub(crate) fn parse(spec: &'a str) -> Result<Source<'a>, String> {
        let spec = spec.trim();
        if let Some(file) = spec.strip_prefix('@') {
            return match file.rsplit_once(':') {
                _ if file.is_empty() => Err("`@` without a file".into()),
                Some((path, key)) if !path.is_empty() && !key.is_empty() && !Path::new(file).exists() => {
                    Ok(Source::File { path, key: Some(key) })
                }
                _ => Ok(Source::File { path: file, key: None }),
            };
        }
        match (Filling::parse(spec), Literal::parse(spec)) {
            (Some(filling), _) => Ok(Source::Filling(filling)),
            (_, Some(literal)) => Ok(Source::Literal(literal)),
            _ if Path::new(spec).is_file() => Err(format!("a file is written with `@`: `@{spec}`")),
            _ => Err(format!("`{}` is no tensor", errors::short(spec))),
        }
    }
}

/// The content of a file.
enum Content {
    One(Tensor),
    Named(tensors::File),
    /// An image, decoded when its parameter's shape is known.
    Picture(Vec<u8>),
}

/// Reads each file once.
#[derive(Default)]
pub(crate) struct Files {
    contents: FxHashMap<String, Result<Content, Diagnostic>>,
}

impl Files {
    /// The tensor of a source for a parameter. `text` is the user's text.
    pub(crate) fn tensor(&mut self, source: &Source, leaf: &Leaf, text: &str) -> Result<Tensor, Diagnostic> {
        match source {
            Source::Filling(filling) => fill(*filling, leaf),
            Source::Literal(literal) => literal.tensor().map_err(|error| match error {
                LiteralError::Size(error @ (SizeError::TooLarge { .. } | SizeError::NoMemory(_))) => {
                    errors::wrong_size(leaf, &error)
                }
                error => errors::bad_input(text, &error.to_string()).help(errors::forms(leaf)),
            }),
            Source::File { path, key } => self.file(path, *key, leaf, text),
        }
    }

    fn file(&mut self, path: &str, key: Option<&str>, leaf: &Leaf, text: &str) -> Result<Tensor, Diagnostic> {
        let content = self.contents.entry(path.to_owned()).or_insert_with(|| content_of(path));
        match (content, key) {
            (Err(error), _) => Err(error.clone()),
            (Ok(Content::One(tensor)), None) => Ok(tensor.clone()),
            (Ok(Content::One(_)), Some(_)) => Err(errors::bad_input(text, "a .npy file has no entries to choose from")),
            (Ok(Content::Named(file)), key) => entry_of(file, key, leaf, text),
            (Ok(Content::Picture(bytes)), Some(preset)) => {
                let tensor = images::read(path, bytes, Preset::find(preset)?, &leaf.dims, leaf.dtype);
                tensor.map_err(|error| error.note(format!("parameter `{}` is {}", leaf.shown(), leaf.type_text())))
            }
            (Ok(Content::Picture(_)), None) => Err(errors::no_preset(text, path)),
        }
    }
}

fn content_of(path: &str) -> Result<Content, Diagnostic> {
    let kind = |start: &[u8]| Kind::of(path, start).ok_or_else(|| errors::unknown_file(path, start));
    let held = FileBytes::open(Path::new(path), &|start| kind(start).map(drop))?;
    match kind(&held.start(path)?)? {
        Kind::Picture => Ok(Content::Picture(held.whole()?)),
        Kind::Named => TensorFile::open(path, held).map(Content::Named),
        Kind::Npy => formats::read_npy(path, &held.whole()?).map(Content::One),
    }
}

/// The entry with that key; without a key the parameter's own entry, or the only one.
fn entry_of(file: &tensors::File, key: Option<&str>, leaf: &Leaf, text: &str) -> Result<Tensor, Diagnostic> {
    let names = || file.items().iter().map(|item| item.name.as_str());
    let item = match (key, file.items()) {
        (Some(key), _) => file.find(key).ok_or_else(|| errors::unknown_entry(key, file.name(), names()))?,
        (None, [only]) => only,
        (None, _) => {
            file.find(leaf.shown()).or_else(|| file.find(&leaf.name)).ok_or_else(|| errors::no_key(text, file.name(), names()))?
        }
    };
    file.read(item)
}

fn fill(filling: Filling, leaf: &Leaf) -> Result<Tensor, Diagnostic> {
    let dims = dims_of(&leaf.dims).ok_or_else(|| errors::open_dimension(leaf))?;
    let wrong = |error| errors::wrong_size(leaf, &error);
    let value = match filling {
        Filling::Random { seed, signed } => {
            let tensor = Tensor::random(leaf.dtype, &dims, seed, &leaf.name).map_err(wrong)?;
            if !signed || !leaf.dtype.is_float() {
                return Ok(tensor);
            }
            size_to_make(&dims, leaf.dtype).map_err(wrong)?;
            return Ok(tensor.map(|x| 4.0 * x - 2.0, |x| x));
        }
        Filling::Zeros => 0.0,
        Filling::Ones => 1.0,
    };
    let shape = size_to_make(&dims, leaf.dtype).map_err(wrong)?;
    Tensor::full(leaf.dtype, &shape, value).ok_or_else(|| wrong(SizeError::DType(leaf.dtype)))
}
