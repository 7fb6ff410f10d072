//! One client's conversation: statements of all languages, and the transaction that is open.

use crate::answer::Answer;
use crate::errors::{Stop, closed, ended, misused, raised};
use crate::home::{Dependents, Ends, OwnedByProcess, ProcessDatabase};
use crate::params::params;
use crate::patience::{CTRL_C, Pressed, locked, locked_for, patiently};
use crate::running::{Call, Running};
use database::gremlin::GremlinOptions;
use database::{Error, Limits, Mode};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A session, shared by the object and its running calls.
struct Conversation {
    session: Mutex<Option<database::Session>>,
    running: Running,
    /// It was closed; the thread that uses the session drops it.
    ended: AtomicBool,
}

impl Ends for Conversation {
    fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.running.close();
        // A handler of a signal came here from a call of its own thread, which drops the session behind it.
        if !self.running.is_here() {
            let session = self.session.lock().take();
            drop(session);
        }
    }
}

/// A session. Threads may share it: statements run one after the other.
#[pyclass(frozen, weakref, module = "tanglewood")]
pub struct Session {
    shared: OwnedByProcess<Arc<Conversation>>,
    dependents: Dependents,
    running: Running,
    pressed: Pressed,
}

/// A time limit in seconds, as an option.
pub fn seconds(time: Option<f64>) -> Result<Option<Duration>, Error> {
    let Some(time) = time else { return Ok(None) };
    match Duration::try_from_secs_f64(time) {
        Ok(time) => Ok(Some(time)),
        Err(_) => Err(misused("a timeout is a number of seconds, not negative", "such as timeout=2.5")),
    }
}

impl Session {
    pub fn new(mut session: database::Session, home: ProcessDatabase, dependents: Dependents) -> Session {
        let (interrupter, pressed) = (session.interrupter(), Pressed::default());
        let (seen, stopped) = (pressed.clone(), interrupter.clone());
        session.set_meanwhile(move || seen.look(&stopped));
        let (session, running) = (Mutex::new(Some(session)), Running::new(interrupter));
        let shared =
            Arc::new(Conversation { session, running: running.clone(), ended: AtomicBool::new(false) });
        let weak = Arc::downgrade(&shared);
        dependents.add(weak);
        Session { shared: OwnedByProcess::new(shared, home), dependents, running, pressed }
    }
    /// Does something with the session, without the interpreter.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut database::Session) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.detached(work)).map_err(|stop| stop.raised(py))
    }
    fn detached<T>(&self, work: impl FnOnce(&mut database::Session) -> Result<T, Error>) -> Result<T, Stop> {
        self.shared.home().check()?;
        let shared = self.shared.as_ref().ok_or_else(|| closed("session"))?;
        if self.running.is_here() {
            let hint = "a handler of signals may close the session, set a flag, or raise";
            return Err(misused("the session runs a statement of this thread", hint).into());
        }
        let mut open = locked(&shared.session)?;
        let session = open.as_mut().ok_or_else(|| closed("session"))?;
        let call = Call::new();
        self.running.enter(&call);
        let outcome = work(session);
        self.running.leave(&call);
        let pressed = self.pressed.take();
        let dropped = if shared.ended.load(Ordering::Acquire) { open.take() } else { None };
        drop(open);
        drop(dropped);
        match pressed {
            Some(signal) => Err(signal.into()),
            None => Ok(outcome?),
        }
    }
}

#[pymethods]
impl Session {
    /// Runs one statement of Cypher, or a Datalog program in braces, and returns its answer.
    #[pyo3(signature = (text, params=None, *, timeout=None, memory=None, read_only=false))]
    fn query(
        &self,
        py: Python<'_>,
        text: PyBackedStr,
        params: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        memory: Option<u64>,
        read_only: bool,
    ) -> PyResult<Answer> {
        let home = self.shared.home();
        let params = self::params(params, home)?;
        let timeout = seconds(timeout).map_err(|error| raised(py, error))?;
        let limits = Limits { timeout, bytes_max: memory };
        let result = self.with(py, |session| match read_only {
            true => session.query_reading(&text, params, &limits),
            false => session.query_within(&text, params, &limits),
        })?;
        Answer::of_query(py, result, home, &self.dependents)
    }
    /// Runs a Datalog program, without braces around it, and returns the answer of its question.
    #[pyo3(signature = (program, params=None, *, timeout=None, memory=None))]
    fn datalog(
        &self,
        py: Python<'_>,
        program: PyBackedStr,
        params: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        memory: Option<u64>,
    ) -> PyResult<Answer> {
        let home = self.shared.home();
        let params = self::params(params, home)?;
        let timeout = seconds(timeout).map_err(|error| raised(py, error))?;
        let result = self.with(py, |session| {
            session.set_limits(Limits { timeout, bytes_max: memory });
            let outcome = session.datalog(&program, params);
            session.set_limits(Limits::default());
            outcome
        })?;
        Answer::of_query(py, result, home, &self.dependents)
    }
    /// Runs a text of Gremlin and returns its objects, as the column `value`.
    #[pyo3(signature = (text, bindings=None, *, timeout=None))]
    fn gremlin(
        &self,
        py: Python<'_>,
        text: String,
        bindings: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Answer> {
        let home = self.shared.home();
        home.check().map_err(|error| raised(py, error))?;
        let params = self::params(bindings, home)?;
        let timeout = seconds(timeout).map_err(|error| raised(py, error))?;
        let Some(shared) = self.shared.as_ref().cloned() else { return Err(raised(py, closed("session"))) };
        let (call, running) = (Call::new(), self.running.clone());
        let own = call.clone();
        let work = move || {
            let mut open = locked_for(&shared.session, &own)?;
            let session = open.as_mut().ok_or_else(|| closed("session"))?;
            if !running.enter(&own) {
                return Err(ended(CTRL_C));
            }
            let options = GremlinOptions { timeout, machine_only: false };
            let rows = session.gremlin_text(&text, &params, &options);
            running.leave(&own);
            rows
        };
        let outcome = patiently(py, work, || self.running.give_up(&call, CTRL_C));
        let rows = outcome?.map_err(|error| raised(py, error))?;
        Answer::of_traversal(py, rows, self.running.clone(), home, &self.dependents)
    }
    /// Begins a transaction.
    #[pyo3(signature = (*, read_only=false, timeout=None))]
    fn begin(&self, py: Python<'_>, read_only: bool, timeout: Option<f64>) -> PyResult<()> {
        let timeout = seconds(timeout).map_err(|error| raised(py, error))?;
        let mode = if read_only { Mode::Read } else { Mode::Write };
        self.with(py, |session| session.begin_within(mode, timeout))
    }
    /// Commits the open transaction; returns the number of the commit.
    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, database::Session::commit)
    }
    /// Forgets the open transaction.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, database::Session::rollback)
    }
    /// Is a transaction open?
    #[getter]
    fn in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |session| Ok(session.in_transaction()))
    }
    /// Ends what this session runs now, and results that it still reads, from another thread; nothing that begins later.
    fn interrupt(&self, py: Python<'_>) {
        if self.shared.home().is_here() {
            py.detach(|| self.running.interrupt("interrupted by its session"));
        }
    }
    /// Ends what runs, forgets the open transaction, and serves nothing any more.
    fn close(&self, py: Python<'_>) {
        if !self.shared.home().is_here() {
            return;
        }
        py.detach(|| self.shared.iter().for_each(|shared| shared.end()));
    }
    /// Was it closed? In a forked process it is.
    #[getter]
    fn closed(&self) -> bool {
        let is_ended = |shared: &Arc<Conversation>| shared.ended.load(Ordering::Acquire);
        !self.shared.home().is_here() || self.shared.as_ref().is_none_or(is_ended)
    }
}
