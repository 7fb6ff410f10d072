//! Services: background work that lives as long as some state, runs a turn at a time, and belongs to no query.
//!
//! Problem: the maintenance of a standing answer must be listed, charged and ended as a query is. Idea: each of its turns works under a watch of its
//! own. At its first look, or its first charge, a turn enters the list of queries, with a number of its own, and leaves it when it ends. A kill, and
//! the time that its tenant allows for one query, end the service at its next look; its bytes end it where those that it holds itself, in this turn
//! and between turns, exceed the limit of an account. Where an account is over its limit only through others' bytes, its own are counted and it goes
//! on, since an end would be for good.
//!
//! Invariant: once a service was ended, each turn of it ends at its first look. It needs no admission: maintained state must follow the commits. Cost
//! of a turn that neither looks nor charges: one allocation.

use crate::accounting::accounts::Accounts;
use crate::accounting::watch::{self, Entered, Stopped, Watch};
use crate::terms::ids::Level;
use crate::{QueryId, QueryInfo, TenantNo};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use world::clock::monotonic_ns;

/// The turns that are in the list of queries, by their numbers.
#[derive(Default)]
pub(crate) struct Services {
    turns: Mutex<BTreeMap<u64, Arc<Turn>>>,
}

impl Services {
    pub(crate) fn infos(&self) -> Vec<QueryInfo> {
        self.turns.lock().iter().map(|(number, turn)| turn.info(*number)).collect()
    }
    /// Ends the service whose turn has this number; false if none has.
    pub(crate) fn cancel(&self, number: u64, reason: &str) -> bool {
        let turn = self.turns.lock().get(&number).cloned();
        turn.is_some_and(|turn| turn.work.end(Ending::Told(reason.to_string())))
    }
    /// Ends all that are at work.
    pub(crate) fn shut_down(&self, reason: &str) {
        let turns: Vec<_> = self.turns.lock().values().cloned().collect();
        turns.iter().for_each(|turn| {
            turn.work.end(Ending::Told(reason.to_string()));
        });
    }
}

/// Why a service was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By a command, for this reason.
    Told(String),
    /// A turn took longer than its accounts allow, in nanoseconds.
    Time(u64),
    /// The limit of this account in bytes is lower than its own usage.
    Bytes(Level, u64),
}

/// A service. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    work: Arc<Work>,
}

/// The counter of numbers for queries and for turns of services.
pub(crate) type Numbers = Arc<AtomicU64>;

struct Work {
    services: Arc<Services>,
    numbers: Numbers,
    accounts: Box<dyn Fn() -> Accounts + Send + Sync>,
    tenant: TenantNo,
    label: String,
    /// Bytes that it holds between its turns; they are charged elsewhere.
    kept_bytes: AtomicU64,
    has_ended: AtomicBool,
    ending: Mutex<Option<Ending>>,
}

impl Work {
    /// The first reason stays; false where it was ended before.
    fn end(&self, why: Ending) -> bool {
        let mut ending = self.ending.lock();
        let is_first = ending.is_none();
        ending.get_or_insert(why);
        self.has_ended.store(true, Relaxed);
        is_first
    }
}

impl Service {
    pub(crate) fn new(
        (services, numbers): (Arc<Services>, Numbers),
        accounts: impl Fn() -> Accounts + Send + Sync + 'static,
        tenant: TenantNo,
        label: String,
    ) -> Service {
        let work = Work {
            services,
            numbers,
            accounts: Box::new(accounts),
            tenant,
            label,
            kept_bytes: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
            ending: Mutex::new(None),
        };
        Service { work: Arc::new(work) }
    }
    /// Makes the thread work for this service until the returned guard is dropped.
    pub fn begin(&self) -> ServiceTurn {
        let turn = Arc::new(Turn {
            work: self.work.clone(),
            began_ns: monotonic_ns(),
            began_work_ns: watch::work_clock_ns(),
            worked_ns: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            listed: OnceLock::new(),
        });
        ServiceTurn { watched: Some(watch::enter(Arc::new(Watched(turn.clone())))), turn }
    }
    /// Sets the bytes that it holds between its turns; they are on an account already.
    pub fn keeps(&self, bytes: u64) {
        self.work.kept_bytes.store(bytes, Relaxed);
    }
    /// Ends it: the current turn, and each that begins later.
    pub fn end(&self, reason: &str) {
        self.work.end(Ending::Told(reason.to_string()));
    }
    /// Why it was ended, if it was.
    pub fn ending(&self) -> Option<Ending> {
        self.work.ending.lock().clone()
    }
}

/// The entry of a turn in the list: its number, its accounts, and its deadline on the clock.
struct Listed {
    number: u64,
    accounts: Accounts,
    until_ns: u64,
}

struct Turn {
    work: Arc<Work>,
    began_ns: u64,
    began_work_ns: u64,
    worked_ns: AtomicU64,
    bytes: AtomicU64,
    listed: OnceLock<Listed>,
}

impl Turn {
    fn info(&self, number: u64) -> QueryInfo {
        QueryInfo {
            id: QueryId(number),
            tenant: self.work.tenant,
            user: 0,
            running: true,
            label: self.work.label.clone(),
            age_ns: monotonic_ns().saturating_sub(self.began_ns),
            cpu_ns: self.worked_ns.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            rows: 0,
        }
    }
}

/// A turn as the watch of its thread.
struct Watched(Arc<Turn>);

impl Watched {
    fn listed(&self) -> &Listed {
        let turn = &self.0;
        turn.listed.get_or_init(|| {
            let (number, accounts) = (turn.work.numbers.fetch_add(1, Relaxed), (turn.work.accounts)());
            turn.work.services.turns.lock().insert(number, turn.clone());
            let until_ns = turn.began_ns.saturating_add(accounts.time_max_ns());
            Listed { number, accounts, until_ns }
        })
    }
}

impl Watch for Watched {
    fn look(&self, now_ns: u64) -> Result<(), Stopped> {
        let (turn, listed) = (&self.0, self.listed());
        turn.worked_ns.store(watch::work_clock_ns().saturating_sub(turn.began_work_ns), Relaxed);
        if now_ns >= listed.until_ns {
            turn.work.end(Ending::Time(listed.until_ns - turn.began_ns));
        }
        if turn.work.has_ended.load(Relaxed) { Err(Stopped::Time) } else { Ok(()) }
    }
    fn charge(&self, bytes: u64) -> Result<(), Stopped> {
        let (turn, accounts) = (&self.0, &self.listed().accounts);
        let in_turn = turn.bytes.fetch_add(bytes, Relaxed).saturating_add(bytes);
        if accounts.charge(bytes).is_ok() {
            return Ok(());
        }
        let (level, limit) = accounts.bytes_max();
        if in_turn.saturating_add(turn.work.kept_bytes.load(Relaxed)) <= limit {
            return Ok(());
        }
        turn.work.end(Ending::Bytes(level, limit));
        Err(Stopped::Bytes)
    }
    fn release(&self, bytes: u64) {
        self.0.bytes.fetch_sub(bytes, Relaxed);
        self.listed().accounts.release(bytes);
    }
}

/// A turn of a service; dropping it ends the turn.
#[must_use]
pub struct ServiceTurn {
    watched: Option<Entered>,
    turn: Arc<Turn>,
}

impl Drop for ServiceTurn {
    fn drop(&mut self) {
        // What it holds is given back first.
        drop(self.watched.take());
        if let Some(listed) = self.turn.listed.get() {
            self.turn.work.services.turns.lock().remove(&listed.number);
        }
    }
}
