//! The answer of a statement as an object: rows that come while the statement runs, and the same as columns.
//!
//! Iterating returns rows and drops them. Conversions of the whole answer (`rows`, Arrow, data frames) read the rest and keep it, so that they can be
//! repeated, and in another form.

use crate::arrow;
use crate::cells::{Cells, shown};
use crate::errors::{Stop, closed, ended, raised};
use crate::home::{Dependents, Ends, OwnedByProcess, ProcessDatabase};
use crate::imported::Imported;
use crate::patience::{CTRL_C, LOOK_EVERY, locked, locked_for, patiently};
use crate::running::{Call, Running};
use database::{Error, GremlinRows, QueryResult, Summary};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use world::clock::monotonic_ns;

static RECORD: Imported = Imported::new("tanglewood.graph", "record_class");

/// An answer.
#[pyclass(frozen, weakref, name = "Result", module = "tanglewood")]
pub struct Answer {
    rows: OwnedByProcess<Arc<Answered>>,
    #[pyo3(get)]
    columns: Py<PyTuple>,
    record: Mutex<Option<Py<PyAny>>>,
}

/// The rows, shared by the object and by threads that wait for them.
struct Answered {
    rows: Mutex<Rows>,
    /// Of the session whose traversal they come from.
    running: Option<Running>,
}

impl Ends for Answered {
    fn end(&self) {
        self.running.iter().for_each(Running::close);
        let dropped = self.rows.lock().close();
        drop(dropped);
    }
}

struct Rows {
    source: Source,
    /// Read, and not handed out.
    kept: VecDeque<Arc<Cells>>,
    /// How many rows that are.
    left: usize,
    /// Rows of the first of these that were handed out.
    handed: usize,
    summary: Option<Summary>,
}

enum Source {
    Query(Box<QueryResult>),
    Traversal(Box<GremlinRows>),
    Ended,
    /// It did not come to its end: every look says so again.
    Failed(Error),
    Closed,
}

/// The result of looking for more rows.
enum Found {
    More,
    NotYet,
    End,
    Closed,
}

impl Rows {
    /// Waits so long for more rows.
    fn more(&mut self, time: Duration) -> Result<Found, Error> {
        let found = match &mut self.source {
            Source::Closed => return Ok(Found::Closed),
            Source::Ended => return Ok(Found::End),
            Source::Failed(error) => return Err(error.clone()),
            Source::Query(result) => match result.next_batch_timeout(time) {
                Ok(None) => return Ok(Found::NotYet),
                Ok(Some(None)) => {
                    self.summary = Some(result.summary().clone());
                    Ok(None)
                }
                Ok(Some(Some(batch))) => Cells::of_batch(&batch, shown(result)).map(Some),
                Err(error) => Err(error),
            },
            Source::Traversal(rows) => rows.next_objects().map(|objects| objects.map(Cells::of_objects)),
        };
        match found {
            Ok(Some(cells)) => {
                if cells.len > 0 {
                    self.left += cells.len;
                    self.kept.push_back(Arc::new(cells));
                }
                Ok(Found::More)
            }
            Ok(None) => {
                self.source = Source::Ended;
                Ok(Found::End)
            }
            Err(error) => {
                self.source = Source::Failed(error.clone());
                Err(error)
            }
        }
    }
    /// No more rows; the returned source is to be dropped.
    fn close(&mut self) -> Source {
        if let Source::Query(result) = &self.source {
            self.summary = Some(result.summary().clone());
        }
        self.kept.clear();
        (self.left, self.handed) = (0, 0);
        std::mem::replace(&mut self.source, Source::Closed)
    }
    fn is_over(&self) -> bool {
        self.left == 0 && matches!(self.source, Source::Ended | Source::Closed)
    }
    /// Reads on until this many rows are kept, the end, or the time is over.
    fn more_until(&mut self, rows: usize, time: Duration) -> Result<Found, Error> {
        let begun_ns = monotonic_ns();
        while self.left < rows {
            let spent = Duration::from_nanos(monotonic_ns() - begun_ns);
            match self.more(time.saturating_sub(spent))? {
                Found::More if spent < time => {}
                found => return Ok(found),
            }
        }
        Ok(Found::End)
    }
    /// The next row that is there.
    fn take(&mut self) -> Option<(Arc<Cells>, usize)> {
        let (first, row) = (self.kept.front()?.clone(), self.handed);
        self.handed += 1;
        self.left -= 1;
        if self.handed == first.len {
            self.kept.pop_front();
            self.handed = 0;
        }
        Some((first, row))
    }
    /// Parts that are there, each with the first row that was not handed out.
    fn parts(&self) -> Vec<(Arc<Cells>, usize)> {
        let begin = |at: usize| if at == 0 { self.handed } else { 0 };
        self.kept.iter().enumerate().map(|(at, cells)| (cells.clone(), begin(at))).collect()
    }
}

impl Answer {
    pub fn of_query(
        py: Python<'_>,
        result: QueryResult,
        home: ProcessDatabase,
        dependents: &Dependents,
    ) -> PyResult<Answer> {
        let columns = PyTuple::new(py, result.columns().iter().map(|column| &**column))?.unbind();
        Ok(Answer::new(Source::Query(Box::new(result)), None, columns, home, dependents))
    }
    pub fn of_traversal(
        py: Python<'_>,
        rows: GremlinRows,
        running: Running,
        home: ProcessDatabase,
        dependents: &Dependents,
    ) -> PyResult<Answer> {
        let columns = PyTuple::new(py, ["value"])?.unbind();
        Ok(Answer::new(Source::Traversal(Box::new(rows)), Some(running), columns, home, dependents))
    }
    fn new(
        source: Source,
        running: Option<Running>,
        columns: Py<PyTuple>,
        home: ProcessDatabase,
        dependents: &Dependents,
    ) -> Answer {
        let rows = Mutex::new(Rows { source, kept: VecDeque::new(), left: 0, handed: 0, summary: None });
        let answered = Arc::new(Answered { rows, running });
        let weak = Arc::downgrade(&answered);
        dependents.add(weak);
        Answer { rows: OwnedByProcess::new(answered, home), columns, record: Mutex::new(None) }
    }
    fn shared(&self) -> Result<&Arc<Answered>, Error> {
        self.rows.home().check()?;
        self.rows.as_ref().ok_or_else(|| closed("result"))
    }
    /// Looks at the rows, or changes them, without the interpreter.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Rows) -> T + Send) -> PyResult<T> {
        let look = || Ok(work(&mut *locked(&self.shared()?.rows)?));
        py.detach(look).map_err(|stop: Stop| stop.raised(py))
    }
    /// As `with`, if the rows are not in use now: for short work.
    fn at_hand<T>(&self, work: impl FnOnce(&mut Rows) -> T) -> Option<T> {
        self.shared().ok()?.rows.try_lock().map(|mut held| work(&mut held))
    }
    /// Reads on until this many rows are kept, or the end; false if the time was over first. Ctrl-C ends the statement.
    fn read_until(&self, py: Python<'_>, rows: usize, time: Option<Duration>) -> PyResult<bool> {
        match self.look_until(py, rows, time)? {
            Found::Closed => Err(raised(py, closed("result"))),
            found => Ok(matches!(found, Found::End)),
        }
    }
    /// As `read_until`, where it may be closed meanwhile.
    fn look_until(&self, py: Python<'_>, rows: usize, time: Option<Duration>) -> PyResult<Found> {
        if self.at_hand(|held| held.left >= rows).unwrap_or(false) {
            return Ok(Found::End);
        }
        let begun_ns = monotonic_ns();
        loop {
            let left = time.map(|time| time.saturating_sub(Duration::from_nanos(monotonic_ns() - begun_ns)));
            let look = left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY));
            let step = self.with(py, |held| match held.source {
                // It cannot look for signals while it waits.
                Source::Traversal(..) if held.left < rows => Ok(None),
                _ => held.more_until(rows, look).map(Some),
            })?;
            match step.map_err(|error| raised(py, error))? {
                Some(found @ (Found::End | Found::Closed)) => return Ok(found),
                Some(Found::More) => {}
                Some(Found::NotYet) if left.is_some_and(|left| left.is_zero()) => {
                    return Ok(Found::NotYet);
                }
                Some(Found::NotYet) => {}
                None => self.walk(py)?,
            }
            if let Err(signal) = py.check_signals() {
                self.cancel(py, CTRL_C)?;
                return Err(signal);
            }
        }
    }
    /// Waits for more objects of a traversal.
    fn walk(&self, py: Python<'_>) -> PyResult<()> {
        let shared = self.shared().map_err(|error| raised(py, error))?.clone();
        let (call, running) = (Call::new(), shared.running.clone());
        let (own, ours) = (call.clone(), running.clone());
        let work = move || {
            let mut rows = locked_for(&shared.rows, &own)?;
            if !ours.iter().all(|running| running.enter(&own)) {
                return Err(ended(CTRL_C));
            }
            let found = rows.more(Duration::ZERO);
            ours.iter().for_each(|running| running.leave(&own));
            found
        };
        let end = || running.iter().for_each(|running| running.give_up(&call, CTRL_C));
        patiently(py, work, end)?.map(drop).map_err(|error| raised(py, error))
    }
    fn whole(&self, py: Python<'_>) -> PyResult<Vec<(Arc<Cells>, usize)>> {
        self.read_until(py, usize::MAX, None)?;
        self.at_hand(|held| held.parts()).map_or_else(|| self.with(py, |held| held.parts()), Ok)
    }
    fn cancel(&self, py: Python<'_>, reason: &'static str) -> PyResult<()> {
        self.with(py, |held| {
            if let Source::Query(result) = &held.source {
                result.cancel(reason);
            }
            if !matches!(held.source, Source::Ended | Source::Failed(_) | Source::Closed) {
                held.source = Source::Failed(ended(reason));
            }
        })
    }
}

#[pymethods]
impl Answer {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }
    /// The next row, as a record.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (cells, row) = loop {
            self.read_until(py, 1, None)?;
            let next = |held: &mut Rows| (held.take(), held.is_over());
            match self.at_hand(next).map_or_else(|| self.with(py, next), Ok)? {
                (Some(taken), _) => break taken,
                (None, true) => return Ok(None),
                // Another thread was first.
                (None, false) => {}
            }
        };
        let tuple = cells.tuple(py, row, self.rows.home().number)?;
        let known = self.record.lock().as_ref().map(|class| class.clone_ref(py));
        let class = match known {
            Some(class) => class.into_bound(py),
            None => {
                let class = RECORD.get(py)?.call1((&self.columns,))?;
                *self.record.lock() = Some(class.clone().unbind());
                class
            }
        };
        Ok(Some(class.call1((tuple,))?))
    }
    /// All rows that are left, as tuples.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (rows, home) = (PyList::empty(py), self.rows.home().number);
        for (cells, begin) in self.whole(py)? {
            for row in begin..cells.len {
                rows.append(cells.tuple(py, row, home)?)?;
            }
            py.check_signals()?;
        }
        Ok(rows)
    }
    /// All rows that are left, as dicts.
    fn dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (rows, home) = (PyList::empty(py), self.rows.home().number);
        let names = self.columns.bind(py);
        for (cells, begin) in self.whole(py)? {
            for row in begin..cells.len {
                let dict = PyDict::new(py);
                for (name, column) in names.iter_borrowed().zip(&cells.columns) {
                    dict.set_item(name, column.get(py, row, home)?)?;
                }
                rows.append(dict)?;
            }
            py.check_signals()?;
        }
        Ok(rows)
    }
    /// Up to `count` rows that are left, as tuples; they stay.
    fn peek<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        self.read_until(py, count, None)?;
        let (rows, home) = (PyList::empty(py), self.rows.home().number);
        let parts = self.with(py, |held| held.parts())?;
        let places = parts.iter().flat_map(|(cells, begin)| (*begin..cells.len).map(move |row| (cells, row)));
        for (cells, row) in places.take(count) {
            rows.append(cells.tuple(py, row, home)?)?;
        }
        Ok(rows)
    }
    /// How many rows can be taken without waiting.
    #[getter]
    fn _ready(&self) -> usize {
        self.at_hand(|held| held.left).unwrap_or(0)
    }
    /// The rows that come within so many seconds, handed out: None at the end, an empty list if none came.
    #[pyo3(signature = (seconds=None))]
    fn _wait<'py>(&self, py: Python<'py>, seconds: Option<f64>) -> PyResult<Option<Bound<'py, PyList>>> {
        let time = crate::session::seconds(seconds).map_err(|error| raised(py, error))?;
        let rows = PyList::empty(py);
        let taken = loop {
            match self.look_until(py, 1, time)? {
                Found::NotYet | Found::More => return Ok(Some(rows)),
                Found::Closed => return Ok(None),
                Found::End => {}
            }
            let take = |held: &mut Rows| {
                let is_over = held.is_over();
                (std::iter::from_fn(|| held.take()).collect::<Vec<_>>(), is_over)
            };
            match self.with(py, take)? {
                (taken, true) if taken.is_empty() => return Ok(None),
                // Another thread was first.
                (taken, false) if taken.is_empty() && time.is_none() => {}
                (taken, _) => break taken,
            }
        };
        let home = self.rows.home().number;
        for (cells, row) in &taken {
            rows.append(cells.tuple(py, *row, home)?)?;
        }
        Ok(Some(rows))
    }
    /// One column of all rows that are left, as a list.
    fn _column<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyList>> {
        let (values, home) = (PyList::empty(py), self.rows.home().number);
        for (cells, begin) in self.whole(py)? {
            for row in begin..cells.len {
                values.append(cells.columns[at].get(py, row, home)?)?;
            }
        }
        Ok(values)
    }
    /// Which columns have one of Arrow's plain types.
    fn _flat(&self, py: Python<'_>) -> PyResult<Vec<bool>> {
        let (parts, width) = (self.whole(py)?, self.columns.bind(py).len());
        Ok(py.detach(|| (0..width).map(|at| arrow::kind(&parts, at).is_some()).collect()))
    }
    /// These columns, all plain, as a stream of Arrow.
    fn _arrow<'py>(&self, py: Python<'py>, columns: Vec<usize>) -> PyResult<Bound<'py, PyCapsule>> {
        let parts = self.whole(py)?;
        let names = self.columns.bind(py);
        let named = columns.iter().map(|at| names.get_item(*at)?.extract::<String>());
        let named = named.collect::<PyResult<Vec<_>>>()?;
        let stream = py.detach(|| arrow::stream(&parts, &columns, named));
        arrow::capsule(py, stream)
    }
    /// What the statement did, once its last row was read.
    fn _summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = self.with(py, |held| match &held.source {
            Source::Query(result) => Some(result.summary().clone()),
            _ => held.summary.clone(),
        })?;
        let dict = PyDict::new(py);
        let Some(summary) = summary else { return Ok(dict) };
        told(&dict, &summary)?;
        Ok(dict)
    }
    /// Gives up the rows that are left: a statement that only reads ends now.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.rows.home().is_here() {
            return Ok(());
        }
        let dropped = self.with(py, Rows::close)?;
        py.detach(|| drop(dropped));
        Ok(())
    }
}

fn told(dict: &Bound<'_, PyDict>, summary: &Summary) -> PyResult<()> {
    let counters = &summary.counters;
    let counts = [
        ("nodes_created", counters.nodes_created),
        ("nodes_deleted", counters.nodes_deleted),
        ("relationships_created", counters.relationships_created),
        ("relationships_deleted", counters.relationships_deleted),
        ("properties_set", counters.properties_set),
        ("labels_added", counters.labels_added),
        ("labels_removed", counters.labels_removed),
        ("indexes_added", summary.schema.indexes_added),
        ("indexes_removed", summary.schema.indexes_removed),
        ("constraints_added", summary.schema.constraints_added),
        ("constraints_removed", summary.schema.constraints_removed),
    ];
    for (name, count) in counts {
        dict.set_item(name, count)?;
    }
    dict.set_item("commit", summary.commit_version)?;
    dict.set_item("first_after", summary.first_after.as_secs_f64())?;
    dict.set_item("elapsed", summary.elapsed.as_secs_f64())?;
    dict.set_item("plan", summary.plan_text.as_deref())?;
    dict.set_item("said", summary.said.as_deref())?;
    let notes = summary.notifications.iter().map(|note| (note.title, &*note.description));
    dict.set_item("notifications", notes.collect::<Vec<_>>())?;
    Ok(())
}
