//! Pictures as tensors.

use crate::arrays::{Array, array_of, dtype_named};
use crate::error::said;
use pyo3::prelude::*;
use relayc_ir::types::Dim;
use relayc_sys as sys;
use relayc_weights::images::{self, Preset};
use std::path::PathBuf;

/// Reads a PNG or JPEG as a tensor of a shape, as `-i NAME=@FILE:PRESET` of the command line does.
///
/// Errors: RelayError for a file that cannot be read, an unknown preset, and a shape that no picture has.
#[pyfunction]
pub(crate) fn read_image<'py>(
    py: Python<'py>,
    path: PathBuf,
    preset: &str,
    shape: Vec<i64>,
    dtype: &str,
) -> PyResult<Array<'py>> {
    let dtype = dtype_named("like", dtype)?;
    let dims: Vec<Dim> = shape.into_iter().map(Dim::known).collect();
    let name = path.display().to_string();
    let read = || images::read(&name, &sys::read_file(&path, sys::Limit::data())?, Preset::find(preset)?, &dims, dtype);
    array_of(py, &read().map_err(said)?)
}
