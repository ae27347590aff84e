//! Imports a Darknet network, with weights from another file.

use super::{Outcome, Request, made, shape};
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes};
use relayc_exchange::darknet::{self, Import};
use relayc_sys as sys;

pub(super) fn import(bytes: &[u8], request: &Request) -> Outcome {
    let sources = Sources::new();
    let read = shape::numbers(&request.shapes).and_then(|shapes| Ok((shapes, weights(request)?)));
    let (shapes, weights) = match read {
        Ok(read) => read,
        Err(error) => return Outcome::refused(error),
    };
    let name = request.model.display().to_string();
    let weights = weights.as_ref().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    let how = Import { name: &name, file: sources.next_id(), shapes: &shapes, weights, as_params: request.params.is_some() };
    let (listing, imported) = darknet::import(bytes, &how);
    made(sources, &name, listing, imported, request)
}

/// The name and the bytes of the only file of weights. Errors: E0701; E0707 for several.
fn weights(request: &Request) -> Result<Option<(String, Vec<u8>)>, Diagnostic> {
    match &request.weights[..] {
        [] => Ok(None),
        [path] => Ok(Some((path.display().to_string(), sys::read_file(path, sys::Limit::model())?))),
        _ => Err(Diagnostic::new(codes::E0707, "the weights of a network of Darknet are in one file: `--weights` is given once")),
    }
}
