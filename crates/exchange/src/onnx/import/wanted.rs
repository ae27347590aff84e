//! Shapes that are wanted for inputs: `--shape x=batch,3,224,224`. A number or a name may stand where the model has another number.
//!
//! The inputs of a model that is widened so say nothing any more of what is behind them, so the shapes that the model declares for
//! other values are forgotten. What nodes hold in constants stays; `baked.rs` finds it where it contradicts the wanted shapes.

use super::super::proto::{GraphProto, ModelProto, TypeProto, ValueInfoProto};
use relayc_base::Span;

/// What is wanted for a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WantedDim {
    /// `?`: the model's own size, or one without a name.
    Open,
    Size(i64),
    Name(String),
}

impl WantedDim {
    pub(crate) fn size(&self) -> Option<i64> {
        match self {
            WantedDim::Size(size) => Some(*size),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            WantedDim::Open => "?".to_owned(),
            WantedDim::Size(size) => size.to_string(),
            WantedDim::Name(name) => name.clone(),
        }
    }
}

/// The shape that is wanted for an input, by its name in the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WantedShape {
    pub name: String,
    pub dims: Vec<WantedDim>,
    /// The place of each dimension in the option.
    pub places: Vec<Span>,
}

impl WantedShape {
    /// The dimensions as the option has them.
    pub(crate) fn text(&self) -> String {
        self.dims.iter().map(WantedDim::text).collect::<Vec<_>>().join(",")
    }
}

/// A dimension of an input that the model fixes and that shall be another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Widened {
    pub input: String,
    pub axis: usize,
    /// The number that the model has.
    pub from: i64,
    pub to: WantedDim,
    pub(crate) option: String,
    pub(crate) place: Span,
}

/// The fixed dimensions of a model that shall be others.
pub(crate) fn widened(model: &ModelProto, wanted: &[WantedShape]) -> Vec<Widened> {
    let mut all = vec![];
    for shape in wanted {
        let of = |input: &&ValueInfoProto| input.name.as_deref() == Some(&shape.name);
        let Some(input) = model.graph.iter().flat_map(|graph| &graph.input).find(of) else { continue };
        let said =
            input.r#type.as_ref().and_then(|ty| ty.tensor_type.as_ref()?.shape.as_ref()).map_or(&[][..], |shape| &shape.dim);
        if said.len() != shape.dims.len() {
            continue;
        }
        for (axis, (dim, to)) in said.iter().zip(&shape.dims).enumerate() {
            let Some(from) = dim.dim_value.filter(|&from| from >= 0 && to.size() != Some(from)) else { continue };
            let place = shape.places.get(axis).copied().unwrap_or(Span::NONE);
            let option = format!("--shape {}={}", shape.name, shape.text());
            all.push(Widened { input: shape.name.clone(), axis, from, to: to.clone(), option, place });
        }
    }
    all
}

/// The shapes without what widens.
pub(crate) fn narrowed(wanted: &[WantedShape], widened: &[Widened]) -> Vec<WantedShape> {
    let mut wanted = wanted.to_vec();
    for one in widened {
        let shape = wanted.iter_mut().find(|shape| shape.name == one.input);
        if let Some(dim) = shape.and_then(|shape| shape.dims.get_mut(one.axis)) {
            *dim = WantedDim::Open;
        }
    }
    wanted
}

/// Forgets the dimensions that a model declares for values that are not its inputs.
pub(crate) fn forget_declared(model: &mut ModelProto) {
    let Some(main) = &mut model.graph else { return };
    main.output.iter_mut().chain(&mut main.value_info).for_each(forget);
    let mut left: Vec<&mut GraphProto> = inner(main);
    while let Some(graph) = left.pop() {
        graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info).for_each(forget);
        left.extend(inner(graph));
    }
}

fn inner(graph: &mut GraphProto) -> Vec<&mut GraphProto> {
    let attributes = graph.node.iter_mut().flat_map(|node| &mut node.attribute);
    attributes.filter_map(|attribute| attribute.g.as_deref_mut()).collect()
}

fn forget(value: &mut ValueInfoProto) {
    let Some(TypeProto { tensor_type: Some(tensor), .. }) = &mut value.r#type else { return };
    let dims = tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim);
    dims.for_each(|dim| (dim.dim_value, dim.dim_param) = (None, None));
}
