//! Imports an MXNet network, with weights from other files.

use super::{Outcome, Request, made, shape};
use crate::tensors;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_exchange::mxnet::{self, Import};
use relayc_weights::Named;

pub(super) fn import(bytes: &[u8], request: &Request) -> Outcome {
    let sources = Sources::new();
    let read = shape::numbers(&request.shapes).and_then(|shapes| Ok((shapes, weights(request)?)));
    let (shapes, weights) = match read {
        Ok(read) => read,
        Err(error) => return Outcome::refused(error),
    };
    let name = request.model.display().to_string();
    let how = Import { name: &name, file: sources.next_id(), shapes: &shapes, weights, as_params: request.params.is_some() };
    let (listing, imported) = mxnet::import(bytes, how);
    made(sources, &name, listing, imported, request)
}

/// All weights; of two with one name the last wins.
fn weights(request: &Request) -> Result<Named, Diagnostic> {
    let mut all = Named::new();
    for path in &request.weights {
        all.extend(tensors::open(path)?.read_all()?);
    }
    Ok(all)
}
