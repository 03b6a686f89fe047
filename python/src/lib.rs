//! The native part of the Python package `fullpipe`.
//!
//! Rule: the wrapper is thin. The crates `captures`, `lab` and `report` do the work, and columns
//! cross to Python by the Arrow PyCapsule interface. No result passes through JSON.
//!
//! | content | module |
//! | --- | --- |
//! | columns as an Arrow stream | `table` |
//! | work outside the GIL, with signals and progress | `work` |
//! | exceptions | `errors` |
//! | experiments | `scenario`, `arguments` |
//! | run, sweep, explain | `results` |
//! | captures | `why`, `answer` |
//! | pages | `page` |
//! | sufficient sizes, presets | `size` |
#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod errors;
mod page;
mod results;
mod scenario;
mod size;
mod table;
mod why;
mod work;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<why::Why>()?;
    module.add_class::<size::Sizes>()?;
    module.add_function(wrap_pyfunction!(table::unpickled, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::unpickled, module)?)?;
    module.add_function(wrap_pyfunction!(why::why, module)?)?;
    module.add_function(wrap_pyfunction!(results::run, module)?)?;
    module.add_function(wrap_pyfunction!(results::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(results::grid_values, module)?)?;
    module.add_function(wrap_pyfunction!(results::explain, module)?)?;
    module.add_function(wrap_pyfunction!(size::size, module)?)?;
    module.add_function(wrap_pyfunction!(size::preset, module)?)?;
    module.add_function(wrap_pyfunction!(size::presets, module)?)
}
