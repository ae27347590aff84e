//! Converters of Darknet's layers to Relay, with the semantics of Darknet when it does not train; where TVM's importer has a
//! layer (`python/tvm/relay/frontend/darknet.py`), in its operators.

mod activation;
mod heads;
mod linear;
mod recurrent;
mod shapes;
mod window;

use super::cx::{Cx, Image, Layer, Result, wrong};

type Convert = fn(&mut Cx) -> Result;

/// A layer with all its names.
pub(super) struct Kind {
    names: &'static [&'static str],
    convert: Convert,
}

const fn kind(names: &'static [&'static str], convert: Convert) -> Kind {
    Kind { names, convert }
}

/// Every layer, one list for each file.
const FAMILIES: &[&[Kind]] =
    &[linear::FAMILY, window::FAMILY, shapes::FAMILY, activation::FAMILY, heads::FAMILY, recurrent::FAMILY];

/// The name and the converter of a section.
pub(super) fn find(name: &str) -> Option<(&'static str, Convert)> {
    let kind = FAMILIES.iter().flat_map(|family| family.iter()).find(|kind| kind.names.contains(&name))?;
    Some((kind.names.first()?, kind.convert))
}

/// The names of all layers.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.iter()).flat_map(|kind| kind.names.iter().copied())
}

/// Whether a layer has a state.
pub(super) fn is_recurrent(name: &str) -> bool {
    recurrent::FAMILY.iter().any(|kind| kind.names.contains(&name))
}

/// The size of the data: an image, or numbers.
pub(super) fn network(cx: &mut Cx) -> Result {
    let (h, w, c) = (cx.natural("height", 0)?, cx.natural("width", 0)?, cx.natural("channels", 0)?);
    let image = Image { c, h, w };
    let inputs = cx.natural("inputs", image.len())?;
    cx.extra.rows = cx.positive("time_steps", 1)?;
    let nothing = cx.input.val;
    match (image.len() > 0, inputs) {
        (true, _) if inputs == image.len() => Ok(Layer::of(nothing, image)),
        (true, _) => Err(wrong(format!("`inputs` is {inputs}, but the image has {} numbers", image.len()))),
        (false, 0) => Err(wrong("it says no input: `width`, `height` and `channels` of an image, or `inputs`")),
        (false, _) => Ok(Layer::flat(nothing, inputs)),
    }
}
