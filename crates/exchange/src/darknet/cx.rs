//! The context of a layer's converter: its section, the layers before it, its weights, and the program under construction.
//!
//! Darknet keeps what a layer computes as rows of numbers, which are an image of channels, height and width if the layer says so.
//! Here an image is a tensor of rank 4 and anything else one of rank 2; layers that look at the other form reshape.

use super::super::onnx::import::build::{Builder, Val};
use super::super::onnx::import::errors::{Refusal, shown};
use super::cfg::{Opt, Section};
use super::supply::Supply;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::join_words;
use relayc_ir::attrs::AttrValue;
use relayc_ir::types::DType;
use rustc_hash::FxHashMap;

/// Why a layer has no result.
pub(super) enum Stop {
    Refused(Refusal),
    /// A layer that it takes was refused.
    Silent,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

pub(super) type Result<T = Layer> = std::result::Result<T, Stop>;

pub(super) fn wrong(words: impl Into<String>) -> Stop {
    Stop::Refused(Refusal::wrong(words))
}

pub(super) fn unsupported(reason: impl Into<String>) -> Stop {
    Stop::Refused(Refusal::unsupported(reason))
}

/// The size of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Image {
    pub(super) c: i64,
    pub(super) h: i64,
    pub(super) w: i64,
}

impl Image {
    pub(super) fn len(self) -> i64 {
        self.c.saturating_mul(self.h).saturating_mul(self.w)
    }
}

/// The result of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    /// `(rows, c, h, w)` or `(rows, size)`.
    pub(super) val: Val,
    /// What it is as an image; `None` for numbers that are none.
    pub(super) image: Option<Image>,
    /// The numbers of a row.
    pub(super) size: i64,
}

impl Layer {
    pub(super) fn of(val: Val, image: Image) -> Layer {
        Layer { val, image: Some(image), size: image.len() }
    }

    /// Numbers that are no image.
    pub(super) fn flat(val: Val, size: i64) -> Layer {
        Layer { val, image: None, size }
    }
}

/// What a network has besides the results of its layers.
#[derive(Default)]
pub(super) struct Extra {
    /// What detections are read from, of each layer that makes some: its result, and what says how it is read.
    pub(super) detections: Vec<Detections>,
    /// The states after the run.
    pub(super) states: Vec<(String, Val)>,
    /// The number of states so far by the kind of their layer.
    pub(super) n_states: FxHashMap<&'static str, usize>,
    /// Steps of recurrent layers so far.
    pub(super) n_steps: usize,
    /// The rows of the data in a recurrent network, one for each step in time.
    pub(super) rows: i64,
}

pub(super) struct Detections {
    pub(super) layer: usize,
    pub(super) parts: Vec<(String, Val)>,
}

/// The greatest integer of a value: Darknet reads 32 bits.
const MAX_SIZE: i64 = 0x7fff_ffff;

pub(super) struct Cx<'a, 'w> {
    pub(super) b: &'a mut Builder,
    pub(super) supply: &'a mut Supply<'w>,
    pub(super) extra: &'a mut Extra,
    pub(super) section: &'a Section,
    /// `convolutional0`.
    pub(super) name: &'a str,
    pub(super) index: usize,
    /// The layers before this one; `None` for one that was refused.
    pub(super) layers: &'a [Option<Layer>],
    /// The result of the layer before, or the data.
    pub(super) input: Layer,
    /// The keys that were asked for.
    pub(super) read: Vec<&'static str>,
}

impl<'a> Cx<'a, '_> {
    // ---- Keys ----

    fn find(&mut self, key: &'static str) -> Option<&'a Opt> {
        self.read.push(key);
        self.section.options.iter().find(|option| option.key == key)
    }

    fn parsed<T>(&mut self, key: &'static str, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        let Some(option) = self.find(key) else { return Ok(None) };
        parse(&option.value).map(Some).ok_or_else(|| unexpected(option, what))
    }

    pub(super) fn some_int(&mut self, key: &'static str) -> Result<Option<i64>> {
        self.parsed(key, "an integer", int)
    }

    pub(super) fn int(&mut self, key: &'static str, default: i64) -> Result<i64> {
        Ok(self.some_int(key)?.unwrap_or(default))
    }

    /// An integer of at least 1.
    pub(super) fn positive(&mut self, key: &'static str, default: i64) -> Result<i64> {
        Ok(self.parsed(key, "a positive integer", |text| int(text).filter(|&n| n > 0))?.unwrap_or(default))
    }

    /// An integer of at least 0.
    pub(super) fn natural(&mut self, key: &'static str, default: i64) -> Result<i64> {
        Ok(self.parsed(key, "0 or a positive integer", |text| int(text).filter(|&n| n >= 0))?.unwrap_or(default))
    }

    /// Whether a number is not 0.
    pub(super) fn flag(&mut self, key: &'static str) -> Result<bool> {
        Ok(self.int(key, 0)? != 0)
    }

    pub(super) fn float(&mut self, key: &'static str, default: f64) -> Result<f64> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        Ok(self.parsed(key, "a number", number)?.unwrap_or(default))
    }

    pub(super) fn floats(&mut self, key: &'static str) -> Result<Option<Vec<f32>>> {
        let number = |text: &str| text.parse::<f32>().ok().filter(|number| number.is_finite());
        self.parsed(key, "numbers with commas between them", |text| list(text, number))
    }

    pub(super) fn ints(&mut self, key: &'static str) -> Result<Option<Vec<i64>>> {
        self.parsed(key, "integers with commas between them", |text| list(text, int))
    }

    pub(super) fn word(&mut self, key: &'static str) -> Option<&'a Opt> {
        self.find(key)
    }

    /// Refuses keys with which a layer computes something that Relay is not told here.
    pub(super) fn refuse(&mut self, keys: &[&'static str]) -> Result<()> {
        for key in keys {
            if let Some(option) = self.find(key)
                && option.value != "0"
                && option.value != "none"
            {
                return Err(unsupported(format!("`{key}={}`", shown(&option.value))));
            }
        }
        Ok(())
    }

    /// The layers that a key names, by their number, or by how far before this one they are.
    pub(super) fn sources(&mut self, key: &'static str) -> Result<Vec<Layer>> {
        let Some(option) = self.find(key) else {
            return Err(wrong(format!("`{key}` is missing: it names the layers to take")));
        };
        let numbers = list(&option.value, int).ok_or_else(|| unexpected(option, "numbers of layers with commas between them"))?;
        numbers.into_iter().map(|number| self.source(option, number)).collect()
    }

    fn source(&self, option: &Opt, number: i64) -> Result {
        let here = i64::try_from(self.index).unwrap_or(i64::MAX);
        let at = if number < 0 { here.saturating_add(number) } else { number };
        let layer = usize::try_from(at).ok().and_then(|at| self.layers.get(at));
        match layer {
            Some(Some(layer)) => Ok(*layer),
            Some(None) => Err(Stop::Silent),
            None => {
                let words = format!("`{}` names layer {number}, which does not come before this one, layer {here}", option.key);
                let help = "a negative number counts back from this layer, another one from 0, the first layer after `[net]`";
                let error = Diagnostic::new(codes::E0716, words).at(option.span, "").help(help);
                Err(Stop::Refused(Refusal::Wrong(Box::new(error))))
            }
        }
    }

    // ---- Forms of the input ----

    /// The rows, `-1` for a number that only a run knows.
    fn rows(&self, val: Val) -> Result<i64> {
        Ok(self.b.shape(val)?.first().and_then(|dim| dim.value()).unwrap_or(-1))
    }

    /// A layer as a tensor of rank 4, and its size.
    pub(super) fn image_of(&mut self, layer: Layer) -> Result<(Val, Image)> {
        let Some(image) = layer.image else {
            return Err(wrong(format!("it takes an image, found {} numbers", layer.size)));
        };
        let val =
            if self.b.shape(layer.val)?.len() == 4 { layer.val } else { self.reshape(layer.val, &[image.c, image.h, image.w])? };
        Ok((val, image))
    }

    pub(super) fn image(&mut self) -> Result<(Val, Image)> {
        self.image_of(self.input)
    }

    /// A layer as a tensor of rank 2.
    pub(super) fn flat_of(&mut self, layer: Layer) -> Result<Val> {
        match self.b.shape(layer.val)?.len() {
            2 => Ok(layer.val),
            _ => self.call("nn.batch_flatten", &[layer.val], &[]),
        }
    }

    pub(super) fn flat(&mut self) -> Result<Val> {
        self.flat_of(self.input)
    }

    /// Reshapes each row.
    pub(super) fn reshape(&mut self, val: Val, row: &[i64]) -> Result<Val> {
        let mut shape = vec![self.rows(val)?];
        shape.extend(row);
        self.call("reshape", &[val], &[("newshape", AttrValue::ints(&shape))])
    }

    // ---- The program ----

    pub(super) fn call(&mut self, op: &str, args: &[Val], attrs: &[(&str, AttrValue)]) -> Result<Val> {
        Ok(self.b.call(op, args, attrs)?)
    }

    pub(super) fn scalar(&mut self, value: f64) -> Result<Val> {
        Ok(self.b.scalar(DType::F32, value)?)
    }

    /// A binary operator with a number.
    pub(super) fn with(&mut self, op: &str, val: Val, number: f64) -> Result<Val> {
        let number = self.scalar(number)?;
        self.call(op, &[val, number], &[])
    }

    pub(super) fn concat(&mut self, vals: &[Val], axis: i64) -> Result<Val> {
        if let [one] = vals {
            return Ok(*one);
        }
        let all = self.b.tuple(vals);
        self.call("concatenate", &[all], &[("axis", AttrValue::int(axis))])
    }

    /// The parts of a tensor along an axis, cut before these positions.
    pub(super) fn split(&mut self, val: Val, cuts: &[i64], axis: i64) -> Result<Vec<Val>> {
        let attrs = [("indices_or_sections", AttrValue::ints(cuts)), ("axis", AttrValue::int(axis))];
        let parts = self.call("split", &[val], &attrs)?;
        (0..=cuts.len()).map(|part| Ok(self.b.field(parts, part)?)).collect()
    }

    /// The positions from `begin` before `end` of axes.
    pub(super) fn slice(&mut self, val: Val, axes: &[i64], begin: &[i64], end: &[i64], steps: &[i64]) -> Result<Val> {
        let attrs = [
            ("begin", AttrValue::ints(begin)),
            ("end", AttrValue::ints(end)),
            ("strides", AttrValue::ints(steps)),
            ("axes", AttrValue::ints(axes)),
        ];
        self.call("strided_slice", &[val], &attrs)
    }

    pub(super) fn transpose(&mut self, val: Val, axes: &[i64]) -> Result<Val> {
        self.call("transpose", &[val], &[("axes", AttrValue::ints(axes))])
    }

    pub(super) fn weight(&mut self, part: &'static str, shape: &[i64]) -> Result<Val> {
        Ok(self.supply.take(self.b, self.name, part, shape)?)
    }
}

/// A value that is not what its key takes.
fn unexpected(option: &Opt, what: &str) -> Stop {
    let words = format!("`{}` is `{}`, expected {what}", shown(&option.key), shown(&option.value));
    Stop::Refused(Refusal::Wrong(Box::new(Diagnostic::new(codes::E0716, words).at(option.span, ""))))
}

/// A value that is none of the known words.
pub(super) fn unknown_word(option: &Opt, what: &str, words: &[&str]) -> Stop {
    let mut error = Diagnostic::new(codes::E0716, format!("`{}` is not {what}", shown(&option.value))).at(option.span, "");
    error = error.help(match relayc_base::text::nearest(&option.value, words.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", join_words(&words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>(), "and")),
    });
    Stop::Refused(Refusal::Wrong(Box::new(error)))
}

fn int(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|n| (-MAX_SIZE..=MAX_SIZE).contains(n))
}

/// The most items of a list.
const MAX_ITEMS: usize = 1 << 12;

fn list<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let items: Vec<&str> = text.split(',').take(MAX_ITEMS.saturating_add(1)).collect();
    // A comma may follow the last.
    let items = match items.split_last() {
        Some((&"", rest)) if !rest.is_empty() => rest,
        _ => &items[..],
    };
    if items.len() > MAX_ITEMS {
        return None;
    }
    items.iter().map(|text| item(text)).collect()
}
