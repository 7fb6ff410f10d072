//! The database as an object: opened, used through sessions, filled from files, closed.

use crate::errors::{closed, raised};
use crate::home::{Dependents, OwnedByProcess, ProcessDatabase};
use crate::patience::patiently;
use crate::session::{Session, seconds};
use database::{Error, ExistingPolicy, ImportLayout, ImportOptions, Options, UrlRules};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An open database.
#[pyclass(frozen, weakref, module = "tanglewood")]
pub struct Database {
    held: OwnedByProcess<Mutex<Option<database::Database>>>,
    dependents: Dependents,
    #[pyo3(get)]
    path: String,
}

/// Opens a database in a folder, or in memory.
#[pyfunction]
#[pyo3(signature = (path, *, create=true, threads=None, query_memory=None, query_timeout=None, memory=None,
    import_folder=None, import_urls=None, backup_folder=None))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python")]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    create: bool,
    threads: Option<usize>,
    query_memory: Option<u64>,
    query_timeout: Option<f64>,
    memory: Option<u64>,
    import_folder: Option<PathBuf>,
    import_urls: Option<String>,
    backup_folder: Option<PathBuf>,
) -> PyResult<Database> {
    let standard = Options::default();
    let import_urls = UrlRules::parse(import_urls.as_deref().unwrap_or_default());
    let import_urls = import_urls.map_err(|what| {
        let error = Error::new("Neo.ClientError.Statement.ArgumentError", format!("import_urls: {what}"));
        raised(py, error)
    })?;
    let options = Options {
        create,
        executors: threads,
        query_bytes_max: query_memory.unwrap_or(standard.query_bytes_max),
        query_timeout: seconds(query_timeout).map_err(|error| raised(py, error))?,
        memory_bytes: memory,
        import_folder,
        import_urls,
        backup_folder,
        ..standard
    };
    let shown = path.display().to_string();
    let opened = patiently(py, move || database::Database::open(&path, options), || ());
    let database = opened?.map_err(|error| raised(py, error))?;
    let held = OwnedByProcess::new(Mutex::new(Some(database)), ProcessDatabase::new());
    Ok(Database { held, dependents: Dependents::default(), path: shown })
}

impl Database {
    fn database(&self, py: Python<'_>) -> PyResult<database::Database> {
        let home = self.held.home();
        let found = py.detach(|| {
            home.check()?;
            let open = self.held.as_ref().map(|held| held.lock());
            open.and_then(|open| open.clone()).ok_or_else(|| closed("database"))
        });
        found.map_err(|error| raised(py, error))
    }
}

#[pymethods]
impl Database {
    /// A session. Make one for each thread, or share one: its statements run one after the other.
    fn session(&self, py: Python<'_>) -> PyResult<Session> {
        let database = self.database(py)?;
        Ok(py.detach(|| Session::new(database.session(), self.held.home(), self.dependents.clone())))
    }
    /// Writes a checkpoint, so that the next open need not replay the log.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let database = self.database(py)?;
        let work = move || database.checkpoint();
        patiently(py, work, || ())?.map(drop).map_err(|error| raised(py, error))
    }
    /// Copies the database into a folder that is missing or empty; nobody waits for it.
    fn backup(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let database = self.database(py)?;
        let work = move || database.backup(folder);
        patiently(py, work, || ())?.map(drop).map_err(|error| raised(py, error))
    }
    /// Reads files into the database, all of them or nothing.
    #[pyo3(signature = (from_, *, existing="fail", strict=false, layout="auto", threads=None, progress=None, delimiter=None))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python")]
    fn import_files<'py>(
        &self,
        py: Python<'py>,
        from_: PathBuf,
        existing: &str,
        strict: bool,
        layout: &str,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
        delimiter: Option<u8>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let database = self.database(py)?;
        let existing = chosen(py, "existing", existing, &EXISTING)?;
        let layout = chosen(py, "layout", layout, &LAYOUTS)?;
        let stop = Arc::new(AtomicBool::new(false));
        let progress = progress.map(|listener| {
            let told: database::ProgressListener = Arc::new(move |progress: &database::ImportProgress| {
                let _ = Python::try_attach(|py| {
                    let sizes = (progress.bytes_done, progress.bytes_total);
                    listener.call1(py, (progress.phase, sizes, progress.vertices, progress.edges))
                });
            });
            told
        });
        let options = ImportOptions {
            from: from_,
            existing,
            strict,
            layout,
            threads,
            progress,
            delimiter,
            stop: Some(stop.clone()),
            ..ImportOptions::default()
        };
        let work = move || database.import(&options);
        let report = patiently(py, work, || stop.store(true, Ordering::Release))?;
        told(py, &report.map_err(|error| raised(py, error))?)
    }
    /// Closes it in order: its sessions end, and the folder can be opened again.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.held.home().is_here() {
            return Ok(());
        }
        let outcome = py.detach(|| {
            let database = self.held.as_ref().and_then(|held| held.lock().take());
            let Some(database) = database else { return Ok(()) };
            self.dependents.end();
            database.close()
        });
        outcome.map_err(|error| raised(py, error))
    }
    /// Was it closed? In a forked process it is.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        if !self.held.home().is_here() {
            return true;
        }
        py.detach(|| self.held.as_ref().is_none_or(|held| held.lock().is_none()))
    }
}

const EXISTING: [(&str, ExistingPolicy); 3] =
    [("fail", ExistingPolicy::Fail), ("skip", ExistingPolicy::Skip), ("merge", ExistingPolicy::Merge)];
const LAYOUTS: [(&str, ImportLayout); 4] = [
    ("auto", ImportLayout::Auto),
    ("ldbc", ImportLayout::Ldbc),
    ("headers", ImportLayout::Headers),
    ("edges", ImportLayout::Edges),
];

fn chosen<T: Copy>(py: Python<'_>, what: &str, word: &str, words: &[(&str, T)]) -> PyResult<T> {
    let found = words.iter().find(|(known, _)| *known == word).map(|(_, meant)| *meant);
    found.ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        let message = format!("{what}={word:?} is not known");
        raised(py, crate::errors::misused(&message, &format!("one of: {}", known.join(", "))))
    })
}

fn told<'py>(py: Python<'py>, report: &database::ImportReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("nodes", report.vertices)?;
    dict.set_item("relationships", report.edges)?;
    dict.set_item("existing", report.existing)?;
    dict.set_item("bytes", report.bytes)?;
    dict.set_item("seconds", report.seconds)?;
    dict.set_item("rejected", report.rejected)?;
    let skipped = report.skipped.iter().map(|path| path.display().to_string());
    dict.set_item("skipped", skipped.collect::<Vec<_>>())?;
    let first = report.rejected_first.iter();
    let first: Vec<_> =
        first.map(|one| (one.file.display().to_string(), one.line, one.what.clone())).collect();
    dict.set_item("rejected_first", first)?;
    dict.set_item("by_label", report.by_label.clone())?;
    dict.set_item("by_type", report.by_type.clone())?;
    Ok(dict)
}
