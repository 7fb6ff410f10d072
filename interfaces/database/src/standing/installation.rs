//! Standing queries that do not run yet: those of the catalogue are installed in the background after the open, one after the other.
//!
//! ```text
//!   open ──> waiting ──> installing ──> running (the keeper has it)          CREATE ──> creating ──> running
//!                 ^          │ error, panic, no room, no time
//!                 └─ RETRY ──┴──> set aside
//! ```
//!
//! Problem: a standing query may be damaged, may fail, or may need hours for its first answer; the database must open even so. Idea: the open only
//! reads the entries. Each query has a state under its name from then on, so it is listed and can be dropped in any state; a subscriber waits for a
//! bounded time. A query whose installation does not end within [`INSTALL_TIME_MAX`], or that passes a limit of memory, is set aside with the reason.
//! So is one at whose installation the process died too often (see [`Attempts`]).
//! Invariant: a name is here, or with the keeper, or nowhere; but for a moment between two states it may be in both.

use super::attempts::Attempts;
use super::definition::Definition;
use super::maker::{Creator, Maker, await_within};
use crate::Error;
use crate::entries::SetAside;
use crate::notes::Notes;
use ::standing::{Installing, Standing, StandingError, State};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Entries, EntryKind};
use world::clock::{after_ns, monotonic_ns};
use world::failpoint;
use world::panics::caught;
use world::threads::Thread;

/// Time that the first answer of one query may take after an open.
pub const INSTALL_TIME_MAX: Duration = Duration::from_secs(600);
/// How long a session waits for a query that is being installed.
const WAIT_TIME_MAX: Duration = Duration::from_secs(30);

enum InstallationStage {
    /// It is installed as soon as those before it are.
    Waiting(Definition),
    /// Its first answer is being computed; this can be ended.
    Installing(Arc<Installing>),
    /// A session creates it, and has not been answered yet.
    Creating,
    SetAside(Error),
}

struct Pending {
    text: String,
    payer: u32,
    stage: InstallationStage,
}

#[derive(Default)]
struct Names {
    pending: BTreeMap<String, Pending>,
    /// A thread installs those that wait.
    is_busy: bool,
    thread: Option<Thread<()>>,
    is_closed: bool,
}

/// The queries that do not run yet, by name.
pub(super) struct Installations {
    names: Mutex<Names>,
    changed: Condvar,
    attempts: Attempts,
}

impl Installations {
    /// The queries of the catalogue: those that can be read wait, the others are set aside.
    pub fn of(entries: &Entries, payer: impl Fn(&str) -> u32, attempts: Attempts) -> Installations {
        let mut names = Names::default();
        for (name, read) in Definition::read_all(entries) {
            let pending = match read {
                Ok(definition) => Pending {
                    text: definition.text.to_string(),
                    payer: payer(&definition.tenant),
                    stage: match attempts.refusal(&name) {
                        Some(why) => InstallationStage::SetAside(Error::new(
                            "Tanglewood.DatabaseError.Standing.Deaths",
                            why,
                        )),
                        None => InstallationStage::Waiting(definition),
                    },
                },
                Err(error) => {
                    Pending { text: String::new(), payer: 0, stage: InstallationStage::SetAside(error) }
                }
            };
            names.pending.insert(name.to_string(), pending);
        }
        Installations { names: Mutex::new(names), changed: Condvar::new(), attempts }
    }
    /// Reserves a name for a query that is being created; dropping the guard frees it.
    ///
    /// # Errors
    /// The name is taken, here or according to `is_kept`.
    pub fn reserve(
        &self,
        name: &str,
        text: &str,
        payer: u32,
        is_kept: impl FnOnce() -> bool,
    ) -> Result<Reserved<'_>, StandingError> {
        let mut names = self.names.lock();
        if names.pending.contains_key(name) || is_kept() {
            return Err(StandingError::NameTaken(name.into()));
        }
        let pending = Pending { text: text.into(), payer, stage: InstallationStage::Creating };
        names.pending.insert(name.into(), pending);
        Ok(Reserved { installations: self, name: name.into() })
    }
    /// Waits until the query of this name is neither waiting nor installing nor creating, or for a bounded time.
    ///
    /// # Errors
    /// It is not ready in time, or set aside; the caller was interrupted.
    pub fn await_ready(&self, name: &str, asks: &Creator<'_>) -> Result<(), Error> {
        let time = asks.time.map_or(WAIT_TIME_MAX, |time| time.min(WAIT_TIME_MAX));
        let until_ns = after_ns(time);
        loop {
            let interrupted = (asks.interrupted)();
            let mut names = self.names.lock();
            match names.pending.get(name).map(|pending| &pending.stage) {
                None => return Ok(()),
                Some(InstallationStage::SetAside(error)) => {
                    // The reason may tell of what a reader does not see.
                    let hides =
                        asks.restricted_view.as_ref().is_some_and(|restricted_view| restricted_view.hides());
                    let why = if hides { String::new() } else { format!(": {}", error.message) };
                    return Err(Error::new(
                        "Tanglewood.ClientError.Standing.SetAside",
                        format!("the standing query `{name}` is set aside{why}"),
                    )
                    .hint("DROP STANDING QUERY removes it; ALTER STANDING QUERY … RETRY tries it again"));
                }
                Some(_) if let Some(reason) = interrupted => {
                    return Err(Error::new("Neo.TransientError.Transaction.Terminated", reason));
                }
                Some(_) if monotonic_ns() >= until_ns => {
                    let message = format!("the standing query `{name}` is still being installed");
                    let code = "Tanglewood.TransientError.Standing.Installing";
                    let error = Error { retryable: true, ..Error::new(code, message) };
                    return Err(error.hint("try again later; SHOW STANDING QUERIES tells its state"));
                }
                Some(_) => {
                    let left = until_ns.saturating_sub(monotonic_ns()).min(LOOK_EVERY_NS);
                    self.changed.wait_for(&mut names, Duration::from_nanos(left));
                }
            }
        }
    }
    /// Does one of this name wait, or is it installed, created or set aside?
    pub fn has(&self, name: &str) -> bool {
        self.names.lock().pending.contains_key(name)
    }
    /// Why a query was set aside, if it was.
    pub fn refusal(&self, name: &str) -> Option<Error> {
        match &self.names.lock().pending.get(name)?.stage {
            InstallationStage::SetAside(error) => Some(error.clone()),
            _ => None,
        }
    }
    /// Waits until no session creates a query of this name any more; true if there is one then.
    pub fn await_created(&self, name: &str) -> bool {
        let mut names = self.names.lock();
        loop {
            match names.pending.get(name).map(|pending| &pending.stage) {
                Some(InstallationStage::Creating) => self.changed.wait(&mut names),
                found => return found.is_some(),
            }
        }
    }
    /// Forgets a query, and ends its installation.
    pub fn drop_query(&self, name: &str) {
        let mut names = self.names.lock();
        self.attempts.pardon(name, names.is_busy);
        if let Some(Pending { stage: InstallationStage::Installing(installing), .. }) =
            names.pending.remove(name)
        {
            installing.end("it was dropped");
        }
        self.changed.notify_all();
    }
    /// Lets a query wait for its installation again. True if it was set aside, or is not known here.
    pub fn retry(&self, name: &str, definition: Result<Definition, Error>, payer: u32) -> bool {
        let mut names = self.names.lock();
        if names
            .pending
            .get(name)
            .is_some_and(|pending| !matches!(pending.stage, InstallationStage::SetAside(_)))
        {
            return false;
        }
        let (text, stage) = match definition {
            Ok(definition) => (definition.text.to_string(), InstallationStage::Waiting(definition)),
            Err(error) => (String::new(), InstallationStage::SetAside(error)),
        };
        self.attempts.pardon(name, names.is_busy);
        names.pending.insert(name.into(), Pending { text, payer, stage });
        self.changed.notify_all();
        true
    }
    /// Those that are not set aside have not begun, or are not done yet; with those that are.
    pub fn list(&self) -> Vec<Standing> {
        let names = self.names.lock();
        let describe = |(name, pending): (&String, &Pending)| {
            let (state, failure) = match &pending.stage {
                InstallationStage::SetAside(error) => {
                    (State::SetAside, Some(StandingError::SetAside(error.message.clone())))
                }
                _ => (State::Installing, None),
            };
            Standing { failure, ..Standing::not_running(name, &pending.text, pending.payer, state) }
        };
        names.pending.iter().map(describe).collect()
    }
    /// Names of queries in the catalogue whose first answer is not computed yet.
    pub fn waiting(&self) -> Vec<String> {
        let names = self.names.lock();
        let waits = |pending: &Pending| {
            matches!(pending.stage, InstallationStage::Waiting(_) | InstallationStage::Installing(_))
        };
        names.pending.iter().filter(|(_, pending)| waits(pending)).map(|(name, _)| name.clone()).collect()
    }
    /// Those that are set aside.
    pub fn set_aside(&self) -> Vec<SetAside> {
        let names = self.names.lock();
        let aside = |(name, pending): (&String, &Pending)| match &pending.stage {
            InstallationStage::SetAside(error) => {
                Some(SetAside::new(EntryKind::STANDING, name, &error.message))
            }
            _ => None,
        };
        names.pending.iter().filter_map(aside).collect()
    }
    /// The database closes: the running installation is ended, and waiting ones are not begun.
    pub fn close(&self) {
        let mut names = self.names.lock();
        names.is_closed = true;
        for pending in names.pending.values() {
            if let InstallationStage::Installing(installing) = &pending.stage {
                installing.end("the database is closing");
            }
        }
        let thread = names.thread.take();
        self.changed.notify_all();
        drop(names);
        // Its end is waited for: nothing that reads the graph outlives the database.
        drop(thread);
    }
    /// Waits until nothing is installed any more, or for so long.
    pub fn await_rest(&self, time: Duration) {
        let until_ns = after_ns(time);
        let mut names = self.names.lock();
        while names.is_busy && monotonic_ns() < until_ns {
            self.changed.wait_for(&mut names, Duration::from_nanos(LOOK_EVERY_NS));
        }
    }
    /// The next that waits, which is being installed from now on.
    fn next(&self) -> Option<(String, Definition, u32, Arc<Installing>)> {
        let mut names = self.names.lock();
        let waits = |(name, pending): (&String, &Pending)| {
            matches!(pending.stage, InstallationStage::Waiting(_)).then(|| name.clone())
        };
        let found = if names.is_closed { None } else { names.pending.iter().find_map(waits) };
        let Some(name) = found else {
            self.attempts.end_all();
            names.is_busy = false;
            self.changed.notify_all();
            return None;
        };
        let installing = Arc::new(Installing::within(INSTALL_TIME_MAX));
        let pending = names.pending.get_mut(&name).expect("found a moment ago");
        let payer = pending.payer;
        match std::mem::replace(&mut pending.stage, InstallationStage::Installing(installing.clone())) {
            InstallationStage::Waiting(definition) => Some((name, definition, payer, installing)),
            _ => unreachable!("only what waits is found"),
        }
    }
    /// An installation ended. True if the query was dropped meanwhile.
    fn ended(&self, name: &str, installing: &Arc<Installing>, outcome: Result<(), Error>) -> bool {
        let mut names = self.names.lock();
        let is_closed = names.is_closed;
        let own = names.pending.get_mut(name).filter(
            |pending| matches!(&pending.stage, InstallationStage::Installing(other) if Arc::ptr_eq(other, installing)),
        );
        let Some(pending) = own else { return true };
        match outcome {
            Err(error) if !is_closed => pending.stage = InstallationStage::SetAside(error),
            _ => drop(names.pending.remove(name)),
        }
        self.changed.notify_all();
        false
    }
}

impl Installations {
    /// Installs, in the background, the queries that wait for it.
    ///
    /// # Errors
    /// The system gives no thread; they go on waiting.
    pub fn begin(
        self: &Arc<Installations>,
        maker: impl FnOnce() -> Maker,
        notes: Arc<Notes>,
    ) -> std::io::Result<()> {
        let mut names = self.names.lock();
        let waits =
            names.pending.values().any(|pending| matches!(pending.stage, InstallationStage::Waiting(_)));
        if names.is_busy || names.is_closed || !waits {
            return Ok(());
        }
        names.is_busy = true;
        drop(names);
        let installer = Installer { maker: maker(), installations: self.clone(), notes };
        let thread = world::threads::try_spawn("standing", move || installer.run());
        let mut names = self.names.lock();
        match thread {
            Ok(thread) => {
                // The one before has ended, or is about to.
                let before = names.thread.replace(thread);
                drop(names);
                drop(before);
                Ok(())
            }
            Err(error) => {
                names.is_busy = false;
                Err(error)
            }
        }
    }
}

/// How often a waiting caller checks whether it may go on, in nanoseconds.
const LOOK_EVERY_NS: u64 = 50_000_000;

/// A name that is reserved for a query while it is created.
pub(super) struct Reserved<'a> {
    installations: &'a Installations,
    name: String,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.installations.names.lock().pending.remove(&self.name);
        self.installations.changed.notify_all();
    }
}

/// Installs queries on a thread of its own. It does not keep the database open: closing the database ends the installation.
struct Installer {
    maker: Maker,
    installations: Arc<Installations>,
    notes: Arc<Notes>,
}

impl Installer {
    fn run(self) {
        let attempts = &self.installations.attempts;
        attempts.begin_all();
        while let Some((name, definition, payer, installing)) = self.installations.next() {
            attempts.begin(&name);
            let made = caught(|| {
                failpoint::visit("installation in the background");
                let wait = &|job: &mut _| await_within(job, &installing);
                self.maker.make(&definition, payer, &installing, &Creator { wait, ..Creator::itself() })
            });
            attempts.ended(&name);
            let outcome = made.unwrap_or_else(|panicked| {
                Err(Error::new("Tanglewood.DatabaseError.Standing.Internal", panicked.to_string()))
            });
            if let Err(error) = &outcome {
                self.notes.add(&SetAside::new(EntryKind::STANDING, &name, &error.message).to_string());
            }
            if self.installations.ended(&name, &installing, outcome) {
                // It may have come to run in spite of that.
                let _ = self.maker.keeper.drop_query(&name);
            }
        }
    }
}
