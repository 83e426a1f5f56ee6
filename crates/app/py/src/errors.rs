//! Faults as Python exceptions, with the same messages.

use std::ffi::CString;

use anabranch_compare::{CompareError, CompareErrorKind};
use pyo3::{
    create_exception,
    exceptions::{PyException, PyKeyboardInterrupt, PyUserWarning},
    prelude::*,
};

create_exception!(
    anabranch,
    AnabranchError,
    PyException,
    "Anything that anabranch cannot do; the words are those of the command."
);
create_exception!(
    anabranch,
    UsageError,
    AnabranchError,
    "Wrong use or wrong input: where the command ends with status 2."
);
create_exception!(
    anabranch,
    WorkError,
    AnabranchError,
    "The work failed: where the command ends with status 1."
);

/// Adds the exceptions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("AnabranchError", py.get_type::<AnabranchError>())?;
    module.add("UsageError", py.get_type::<UsageError>())?;
    module.add("WorkError", py.get_type::<WorkError>())
}

/// The exception for a fault.
pub fn raised(fault: &CompareError) -> PyErr {
    let words = fault.to_string();
    match fault.kind {
        CompareErrorKind::WrongUse => UsageError::new_err(words),
        CompareErrorKind::Failed => WorkError::new_err(words),
        CompareErrorKind::Interrupted => PyKeyboardInterrupt::new_err(words),
    }
}

/// The exception for any error that becomes a fault.
pub fn raise(error: impl Into<CompareError>) -> PyErr {
    raised(&error.into())
}

/// Issues warnings, where the command prints notes.
pub fn warn(py: Python<'_>, remarks: &[String]) -> PyResult<()> {
    let category = py.get_type::<PyUserWarning>();
    for remark in remarks {
        // Past the package's own frame, so that the caller's line is shown.
        let words = CString::new(remark.replace('\0', ""))?;
        PyErr::warn(py, &category, &words, 2)?;
    }
    Ok(())
}

/// The exception for wrong use, with this message.
pub fn usage(words: impl std::fmt::Display) -> PyErr {
    UsageError::new_err(words.to_string())
}
