//! Functions of the Python side of the package: looked up once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A name of a Python module.
pub struct Imported {
    module: &'static str,
    name: &'static str,
    found: PyOnceLock<Py<PyAny>>,
}

impl Imported {
    pub const fn new(module: &'static str, name: &'static str) -> Imported {
        Imported { module, name, found: PyOnceLock::new() }
    }
    pub fn get<'a, 'py>(&'a self, py: Python<'py>) -> PyResult<&'a Bound<'py, PyAny>> {
        let find = || Ok::<_, PyErr>(py.import(self.module)?.getattr(self.name)?.unbind());
        Ok(self.found.get_or_try_init(py, find)?.bind(py))
    }
}
