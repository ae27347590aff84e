//! The native module of the Python package `relayc`.

mod arrays;
mod bridge;
mod compile;
mod engines;
mod error;
mod executable;
mod face;
mod graph;
mod image;
mod import;
mod module;
mod nodes;
mod operators;
mod profile;
mod signals;
mod signature;
mod subgraphs;
mod values;
mod weights;
mod zoo;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
fn _relayc(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(operators::operators, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::astext, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::parse_module, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::parse_expr, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::infer_module, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::run_pass, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::native_of, module)?)?;
    module.add_function(wrap_pyfunction!(import::import_model, module)?)?;
    module.add_function(wrap_pyfunction!(image::read_image, module)?)?;
    module.add_function(wrap_pyfunction!(zoo::network, module)?)?;
    module.add_class::<module::Module>()?;
    module.add_class::<bridge::tensors::NativeTensor>()?;
    signals::register(module)?;
    executable::register(module)?;
    face::register(module)?;
    values::register(module)?;
    module.add_function(wrap_pyfunction!(graph::graph_of, module)?)?;
    module.add_function(wrap_pyfunction!(graph::with_constants, module)?)?;
    weights::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
