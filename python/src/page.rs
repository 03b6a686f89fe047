//! A page as a Python object.
//!
//! Rule: the class is in the Python module `fullpipe.page`.

use pyo3::prelude::*;

/// Returns the Python object for a page.
pub fn page(py: Python<'_>, html: String) -> PyResult<Bound<'_, PyAny>> {
    py.import("fullpipe.page")?.call_method1("Page", (html,))
}
