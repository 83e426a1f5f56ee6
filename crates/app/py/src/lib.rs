//! `anabranch._core`: traces, devices and comparisons for the Python package around it, whose
//! classes and functions people use (`python/anabranch`). This crate decides nothing.

mod advice;
mod columns;
mod device;
mod errors;
mod lists;
mod patience;
mod replay;
mod scheme;
mod sweep;
mod trace;

use pyo3::prelude::*;

/// The Python module `anabranch._core`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    module.add_class::<trace::TraceCore>()?;
    module.add_class::<device::DeviceCore>()?;
    module.add_class::<scheme::Write>()?;
    module.add_class::<scheme::Writes>()?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(lists::schemes, module)?)?;
    module.add_function(wrap_pyfunction!(lists::devices, module)?)?;
    module.add_function(wrap_pyfunction!(advice::contexts, module)?)?;
    module.add_function(wrap_pyfunction!(advice::coverage, module)?)?;
    module.add_function(wrap_pyfunction!(advice::export, module)?)?;
    module.add_function(wrap_pyfunction!(advice::report, module)?)?;
    module.add_function(wrap_pyfunction!(advice::shown, module)?)?;
    sweep::register(module)
}
