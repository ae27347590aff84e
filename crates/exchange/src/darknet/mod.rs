//! Imports Darknet: a network, `.cfg`, with its `.weights`, becomes a Relay program and its weights.
//!
//! `cfg.rs` reads the sections, `supply.rs` the numbers of the weights, `cx.rs` is the context of a layer's converter, and
//! `layers/` holds the converters. The builder of the ONNX import makes the program. The results are in the order of TVM's
//! importer (`python/tvm/relay/frontend/darknet.py`): the last layer; then for each `[yolo]` and `[region]` what says how its
//! boxes are read, the last such layer first; then the states of recurrent layers. Layers that
//! cannot be imported are reported at once, with their places in the network's text; a layer is silent if one that it takes was
//! refused. Absent: opening files, inference of the whole, and printing.

mod cfg;
mod cx;
mod layers;
mod supply;
mod training;

use super::onnx::import::build::{Builder, Val};
use super::onnx::import::errors::{self, Refusal, Unsupported, shown};
use super::onnx::import::{Imported, Shapes, Text};
use cfg::Section;
use cx::{Cx, Extra, Image, Layer, Stop};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::nearest;
use relayc_base::{FileId, Span};
use relayc_ir::VarId;
use relayc_ir::types::{DType, Dim};
use relayc_weights::Named;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use supply::{Numbers, Param, Supply};
use training::TRAINING;

/// A request to import.
pub struct Import<'a> {
    /// Name of the file, for messages.
    pub name: &'a str,
    /// The file number of its text.
    pub file: FileId,
    /// The shape of the data, by its name.
    pub shapes: &'a Shapes,
    /// The name and the bytes of a `.weights` file; without one, weights are parameters without values.
    pub weights: Option<(&'a str, &'a [u8])>,
    /// Whether weights become parameters; otherwise they are constants of the program.
    pub as_params: bool,
}

/// The name of the input.
const DATA: &str = "data";

/// The most messages about layers.
const MAX_WRONG: usize = 20;

/// Imports a network. Also returns its text, into which places of messages and expressions point.
///
/// Errors: E0703 for an unsound network or weights of another length, E0715 for all layers that cannot be imported, E0716 for
/// layers that break a rule, E0705 and E0706 for shapes that do not fit, E0804 and E0805 for limits.
pub fn import(bytes: &[u8], request: &Import) -> (Text, Result<Imported, Vec<Diagnostic>>) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let sections = match cfg::read(request.name, request.file, &text) {
        Ok(sections) => sections,
        Err(errors) => return (Text::new(text, vec![]), Err(errors)),
    };
    let names: Vec<String> = sections.iter().enumerate().map(|(at, section)| name_of(at.checked_sub(1), section)).collect();
    let starts = sections.iter().zip(&names).map(|(section, name)| (section.span.start, Arc::from(name.as_str()))).collect();
    let result = imported(&sections, &names, request);
    (Text::new(text, starts), result)
}

/// Whether a section of this name is the network's own or a layer's.
pub(crate) fn is_section(name: &str) -> bool {
    matches!(name, "net" | "network") || layers::find(name).is_some()
}

/// `convolutional0`; the network itself has no number.
fn name_of(index: Option<usize>, section: &Section) -> String {
    let kind = layers::find(&section.kind).map_or(section.kind.as_str(), |(kind, _)| kind);
    index.map_or("net".to_owned(), |index| format!("{}{index}", shown(kind)))
}

fn imported(sections: &[Section], names: &[String], request: &Import) -> Result<Imported, Vec<Diagnostic>> {
    let walk = |numbers| Walk::new(sections, names, request, numbers).run();
    let first = walk(None)?;
    let Some((name, bytes)) = request.weights else { return Ok(first.finish()) };
    let numbers = Numbers::new(name, bytes).and_then(|numbers| numbers.fitted(name, &first.supply.wanted, first.supply.beta));
    drop(first);
    Ok(walk(Some(numbers.map_err(|error| vec![error])?))?.finish())
}

/// A network under conversion.
struct Walk<'a> {
    sections: &'a [Section],
    names: &'a [String],
    request: &'a Import<'a>,
    b: Builder,
    supply: Supply<'a>,
    extra: Extra,
    layers: Vec<Option<Layer>>,
    unsupported: Unsupported,
    wrong: Vec<Diagnostic>,
}

impl<'a> Walk<'a> {
    fn new(sections: &'a [Section], names: &'a [String], request: &'a Import<'a>, numbers: Option<Numbers<'a>>) -> Walk<'a> {
        Walk {
            sections,
            names,
            request,
            b: Builder::new(),
            supply: Supply::new(numbers, request.as_params),
            extra: Extra::default(),
            layers: vec![],
            unsupported: Unsupported::default(),
            wrong: vec![],
        }
    }

    fn run(mut self) -> Result<Walk<'a>, Vec<Diagnostic>> {
        let Some((net, layers)) = self.sections.split_first() else { return Err(vec![]) };
        let mut data = self.converted(None, net, "net", None, layers::network);
        data = data.and_then(|data| self.data(data, net));
        for (index, section) in layers.iter().enumerate() {
            let name = self.names.get(index.saturating_add(1)).map_or("", String::as_str);
            let input = if index == 0 { data } else { self.layers.last().copied().flatten() };
            let layer = match layers::find(&section.kind) {
                Some((_, convert)) => self.converted(Some(index), section, name, input, convert),
                None => {
                    self.unknown(section, name);
                    None
                }
            };
            self.layers.push(layer);
        }
        if !self.unsupported.is_empty() {
            self.wrong.insert(0, errors::unsupported(self.request.name, &self.unsupported, layers.len()));
        }
        if layers.is_empty() {
            self.wrong.push(errors::structure(self.request.name, "a network without layers"));
        }
        if self.wrong.is_empty() { Ok(self) } else { Err(self.wrong) }
    }

    /// Runs a converter; its refusals are recorded. A missing input is that of a refused layer.
    fn converted(
        &mut self,
        index: Option<usize>,
        section: &Section,
        name: &str,
        input: Option<Layer>,
        convert: impl FnOnce(&mut Cx) -> cx::Result,
    ) -> Option<Layer> {
        self.b.span = section.span;
        let nothing = Layer::flat(self.b.poison(), 0);
        if index.is_some() && input.is_none() {
            return None;
        }
        let Walk { b, supply, extra, layers, .. } = self;
        let input = input.unwrap_or(nothing);
        let index = index.unwrap_or(0);
        let mut cx = Cx { b, supply, extra, section, name, index, layers, input, read: vec![] };
        let result = convert(&mut cx);
        let read = std::mem::take(&mut cx.read);
        match result {
            Ok(layer) => {
                self.unread(section, name, &read);
                Some(layer)
            }
            Err(Stop::Silent) => None,
            Err(Stop::Refused(Refusal::Unsupported(reason))) => {
                self.unsupported.entry((shown(&section.kind), reason)).or_default().push((name.to_owned(), section.span));
                None
            }
            Err(Stop::Refused(Refusal::Wrong(found))) => {
                self.says(*found, section, name);
                None
            }
        }
    }

    /// Records a mistake in a layer.
    fn says(&mut self, found: Diagnostic, section: &Section, name: &str) {
        if self.wrong.len() >= MAX_WRONG {
            return;
        }
        let message = format!("`{}`, layer `{name}`: {}", self.request.name, found.message);
        let found = Diagnostic { message, ..found };
        self.wrong.push(if found.labels.is_empty() { found.at(section.span, "") } else { found });
    }

    fn unknown(&mut self, section: &Section, name: &str) {
        let reason = match nearest(&section.kind, layers::names()) {
            Some(near) => format!("relayc does not know it; there is `[{near}]`"),
            None => "relayc does not know it".to_owned(),
        };
        self.unsupported.entry((shown(&section.kind), reason)).or_default().push((name.to_owned(), section.span));
    }

    /// Refuses keys that the converter did not ask for, unless they are for training: they could change what the layer computes.
    fn unread(&mut self, section: &Section, name: &str, read: &[&'static str]) {
        for option in &section.options {
            let key = option.key.as_str();
            if read.contains(&key) || TRAINING.contains(&key) {
                continue;
            }
            let error = Diagnostic::new(codes::E0716, format!("`[{}]` has no key `{}`", shown(&section.kind), shown(key)));
            let error = error.at(option.key_span, "");
            let known = read.iter().chain(TRAINING).copied();
            self.says(
                match nearest(key, known) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help("remove the line if Darknet does not read it: it says \"Unused field\" then"),
                },
                section,
                name,
            );
        }
    }

    /// The input of the program: what `[net]` says, or `--shape`.
    fn data(&mut self, net: Layer, section: &Section) -> Option<Layer> {
        let recurrent = self.sections.iter().any(|section| layers::is_recurrent(&section.kind));
        let rows = if recurrent { self.extra.rows } else { 1 };
        let own: Vec<i64> = net.image.map_or(vec![rows, net.size], |image| vec![rows, image.c, image.h, image.w]);
        let mut dims: Vec<Option<i64>> = own.iter().copied().map(Some).collect();
        for (name, wanted) in self.request.shapes {
            let text = |dims: &[Option<i64>]| {
                let dims: Vec<String> = dims.iter().map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string())).collect();
                dims.join(",")
            };
            let known = wanted.iter().skip(1).all(|dim| dim.is_some_and(|dim| dim > 0)) && wanted.first() != Some(&Some(0));
            let open = recurrent && wanted.first() == Some(&None);
            if name != DATA {
                self.wrong.push(errors::no_input("--shape", name, [DATA].into_iter()));
            } else if wanted.len() != own.len() || !known || open {
                let message = format!("`--shape {DATA}={}`: the network takes {}", text(wanted), text(&dims));
                let help = "only the number of rows may be open, and not that of a recurrent network";
                self.wrong.push(Diagnostic::new(codes::E0705, message).at(section.span, "").help(help));
            } else {
                dims.clone_from(wanted);
            }
        }
        let numbers: Vec<i64> = dims.iter().skip(1).map(|dim| dim.unwrap_or(1)).collect();
        let symbolic: Vec<Dim> = dims.iter().map(|dim| dim.map_or(Dim::Any, Dim::known)).collect();
        let val = self.supply.param(&mut self.b, DATA, symbolic, DType::F32, None);
        match numbers[..] {
            [c, h, w] => Some(Layer::of(val, Image { c, h, w })),
            [size] => Some(Layer { val, image: None, size }),
            _ => None,
        }
    }

    /// Builds `@main` around the results; inputs that they do not depend on are not parameters.
    fn finish(mut self) -> Imported {
        self.b.span = Span::NONE;
        let last = self.layers.iter().rposition(Option::is_some).unwrap_or(0);
        let mut results: Vec<(String, Val)> = vec![];
        let name = |at: usize| self.names.get(at.saturating_add(1)).cloned().unwrap_or_default();
        results.extend(self.layers.get(last).copied().flatten().map(|layer| (name(last), layer.val)));
        for detections in self.extra.detections.into_iter().rev() {
            if detections.layer != last {
                let layer = self.layers.get(detections.layer).copied().flatten();
                results.extend(layer.map(|layer| (name(detections.layer), layer.val)));
            }
            results.extend(detections.parts);
        }
        results.extend(self.extra.states);
        let (outputs, vals): (Vec<String>, Vec<Val>) = results.into_iter().unzip();
        let body = self.b.together(&vals);
        let used: FxHashSet<relayc_ir::ExprId> = self.b.module.post_order(&[body.0]).into_iter().collect();
        let made: Vec<Param> = self.supply.made.into_iter().filter(|param| used.contains(&param.val.0)).collect();
        let own = |param: &Param| self.b.module.vars.get(param.var).map_or_else(String::new, |var| var.name.to_string());
        // Inputs first.
        let (weights, inputs): (Vec<Param>, Vec<Param>) = made.into_iter().partition(|param| param.value.is_some());
        let params: Vec<VarId> = inputs.iter().chain(&weights).map(|param| param.var).collect();
        let inputs = inputs.iter().map(|param| (own(param), own(param))).collect();
        let named: Vec<String> = weights.iter().map(own).collect();
        let weights: Named = named.into_iter().zip(weights.into_iter().filter_map(|param| param.value)).collect();
        let module = self.b.finish(params, body);
        Imported { module, weights, inputs, outputs, united: vec![], warnings: vec![] }
    }
}

#[cfg(test)]
mod tests;
