//! A network of MXNet, with the weights of other files.

use super::{Outcome, Request, made, parse_shape};
use crate::base::Sources;
use crate::diag::Diagnostic;
use crate::driver::tensors;
use crate::formats::Named;
use crate::formats::mxnet::{self, Import};

pub(super) fn import(bytes: &[u8], request: &Request) -> Outcome {
    let sources = Sources::new();
    let shapes = request.shapes.iter().map(|shape| parse_shape(shape)).collect::<Result<Vec<_>, _>>();
    let read = shapes.and_then(|shapes| Ok((shapes, weights(request)?)));
    let (shapes, weights) = match read {
        Ok(read) => read,
        Err(error) => return Outcome::refused(error),
    };
    let name = request.model.display().to_string();
    let how = Import { name: &name, file: sources.next_id(), shapes: &shapes, weights, as_params: request.params.is_some() };
    let (listing, imported) = mxnet::import(bytes, how);
    made(sources, &name, listing, imported, request)
}

/// All weights; of two with one name the last.
fn weights(request: &Request) -> Result<Named, Diagnostic> {
    let mut all = Named::new();
    for path in &request.weights {
        all.extend(tensors::open(path)?.read_all()?);
    }
    Ok(all)
}
