//! Limits of tenants and users: concurrent queries, bytes in memory and spilled, time.
//!
//! A query belongs to a user, a user to a tenant, a tenant to the machine. On each level the same limits can be set. Bytes are drawn from the
//! levels in grains, so that most charges touch no shared counter.

use crate::terms::ids::Level;
use crate::terms::rules::Rule;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Limits of a tenant or a user, and its share.
#[derive(Clone, Debug)]
pub struct AccountOptions {
    /// Share of each executor's time, relative to others on the same level that have work; the default is 100.
    pub share: u32,
    /// Queries that run at once; further ones wait. None for no limit.
    pub queries_max: Option<u64>,
    /// Bytes that all its queries together may hold. None for no limit.
    pub bytes_max: Option<u64>,
    /// Bytes that all queries together put aside on disk. None for no limit.
    pub spilled_max: Option<u64>,
    /// Time after which a query ends, whatever its own options. None for no limit.
    pub time_max: Option<Duration>,
    /// Rules for queries that run away.
    pub rules: Vec<Rule>,
}

impl Default for AccountOptions {
    fn default() -> AccountOptions {
        AccountOptions {
            share: crate::accounting::stride::SHARE_DEFAULT,
            queries_max: None,
            bytes_max: None,
            spilled_max: None,
            time_max: None,
            rules: Vec::new(),
        }
    }
}

/// Present usage of an account that has limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccountUsage {
    /// Queries that may run at once, over all runtimes that share the account; none for no limit.
    pub queries_max: Option<u64>,
    /// Queries that run in this runtime.
    pub running: u64,
    /// Queries that wait in this runtime.
    pub waiting: u64,
    /// Bytes that are held in this runtime.
    pub bytes: u64,
}

/// The room that other runtimes leave of an account that they share with this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccountRoom {
    /// Queries that may run in this runtime at once.
    pub queries: u64,
    /// Bytes that the other runtimes hold.
    pub bytes_elsewhere: u64,
}

impl Default for AccountRoom {
    /// No usage elsewhere.
    fn default() -> AccountRoom {
        AccountRoom { queries: u64::MAX, bytes_elsewhere: 0 }
    }
}

/// The counters of a user, a tenant, or the machine.
pub(crate) struct Account {
    queries_max: AtomicU64,
    /// Queries that the other runtimes leave of the limit.
    queries_here: AtomicU64,
    bytes_elsewhere: AtomicU64,
    bytes_max: AtomicU64,
    time_max_ns: AtomicU64,
    running: AtomicU64,
    bytes: AtomicU64,
    spilled_max: AtomicU64,
    spilled: AtomicU64,
    rules: Mutex<Arc<[Rule]>>,
}

impl Account {
    pub(crate) fn new() -> Account {
        Account {
            queries_max: AtomicU64::new(u64::MAX),
            queries_here: AtomicU64::new(u64::MAX),
            bytes_elsewhere: AtomicU64::new(0),
            bytes_max: AtomicU64::new(u64::MAX),
            time_max_ns: AtomicU64::new(u64::MAX),
            running: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            spilled_max: AtomicU64::new(u64::MAX),
            spilled: AtomicU64::new(0),
            rules: Mutex::new(Arc::new([])),
        }
    }
    pub(crate) fn set(&self, options: &AccountOptions) {
        let time_ns = options.time_max.map(world::clock::span_ns);
        self.queries_max.store(options.queries_max.unwrap_or(u64::MAX).max(1), Relaxed);
        self.bytes_max.store(options.bytes_max.unwrap_or(u64::MAX), Relaxed);
        self.spilled_max.store(options.spilled_max.unwrap_or(u64::MAX), Relaxed);
        self.time_max_ns.store(time_ns.unwrap_or(u64::MAX), Relaxed);
        // What others leave of the new limits is heard soon.
        self.leave_room(AccountRoom::default());
        *self.rules.lock() = options.rules.as_slice().into();
    }
    /// Bytes that are counted.
    #[cfg(test)]
    pub(crate) fn held(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
    /// Nothing where it has no limit.
    pub(crate) fn usage(&self, waiting: u64) -> Option<AccountUsage> {
        let limit = |max: &AtomicU64| Some(max.load(Relaxed)).filter(|max| *max != u64::MAX);
        let (queries_max, bytes_max) = (limit(&self.queries_max), limit(&self.bytes_max));
        queries_max.or(bytes_max)?;
        let (running, bytes) = (self.running.load(Relaxed), self.bytes.load(Relaxed));
        // Those wait for another account, of their user or of the machine.
        let waiting = if self.has_room() { 0 } else { waiting };
        Some(AccountUsage { queries_max, running, waiting, bytes })
    }
    pub(crate) fn leave_room(&self, room: AccountRoom) {
        self.queries_here.store(room.queries, Relaxed);
        self.bytes_elsewhere.store(room.bytes_elsewhere, Relaxed);
    }
    fn has_room(&self) -> bool {
        let max = self.queries_max.load(Relaxed);
        // What others leave of a limit may be heard when there is none any more.
        max == u64::MAX || self.running.load(Relaxed) < max.min(self.queries_here.load(Relaxed))
    }
    /// Bytes that the other runtimes leave of the limit.
    fn bytes_here(&self) -> u64 {
        match self.bytes_max.load(Relaxed) {
            u64::MAX => u64::MAX,
            limit => limit.saturating_sub(self.bytes_elsewhere.load(Relaxed)),
        }
    }
}

/// The levels a query belongs to: its user, its tenant, the machine.
#[derive(Clone)]
pub(crate) struct Accounts([Arc<Account>; 3]);

impl Accounts {
    pub(crate) fn new(levels: [Arc<Account>; 3]) -> Accounts {
        Accounts(levels)
    }
    /// Counts bytes on all levels, also if one is over its limit then; returns that one, and its limit.
    pub(crate) fn charge(&self, bytes: u64) -> Result<(), (Level, u64)> {
        let mut outcome = Ok(());
        for (account, level) in self.with_levels() {
            let is_beyond = account.bytes.fetch_add(bytes, Relaxed) + bytes > account.bytes_here();
            if is_beyond && outcome.is_ok() {
                outcome = Err((level, account.bytes_max.load(Relaxed)));
            }
        }
        outcome
    }
    /// Bytes that could still be charged: the least that any level has left.
    pub(crate) fn room(&self) -> u64 {
        let room = |account: &Arc<Account>| account.bytes_here().saturating_sub(account.bytes.load(Relaxed));
        self.0.iter().map(room).min().unwrap_or(u64::MAX)
    }
    /// Counts spilled bytes, on all levels, unless one is over its limit then; returns that one, and its limit.
    pub(crate) fn charge_spilled(&self, bytes: u64) -> Result<(), (Level, u64)> {
        for (counted, (account, level)) in self.with_levels().enumerate() {
            let limit = account.spilled_max.load(Relaxed);
            if account.spilled.fetch_add(bytes, Relaxed) + bytes > limit {
                self.0[..=counted].iter().for_each(|account| {
                    account.spilled.fetch_sub(bytes, Relaxed);
                });
                return Err((level, limit));
            }
        }
        Ok(())
    }
    pub(crate) fn release_spilled(&self, bytes: u64) {
        self.0.iter().for_each(|account| {
            account.spilled.fetch_sub(bytes, Relaxed);
        });
    }
    fn with_levels(&self) -> impl Iterator<Item = (&Arc<Account>, Level)> {
        self.0.iter().zip([Level::User, Level::Tenant, Level::Machine])
    }
    /// The level with the lowest limit, and that limit.
    pub(crate) fn bytes_max(&self) -> (Level, u64) {
        let limits = self.with_levels().map(|(account, level)| (level, account.bytes_max.load(Relaxed)));
        limits.min_by_key(|(_, limit)| *limit).unwrap_or((Level::Machine, u64::MAX))
    }
    pub(crate) fn release(&self, bytes: u64) {
        self.0.iter().for_each(|account| {
            account.bytes.fetch_sub(bytes, Relaxed);
        });
    }
    /// The shortest of the levels' times, in nanoseconds.
    pub(crate) fn time_max_ns(&self) -> u64 {
        self.0.iter().map(|account| account.time_max_ns.load(Relaxed)).min().unwrap_or(u64::MAX)
    }
    pub(crate) fn rules(&self) -> Vec<Rule> {
        self.0.iter().flat_map(|account| account.rules.lock().iter().cloned().collect::<Vec<_>>()).collect()
    }
    pub(crate) fn have_room(&self) -> bool {
        self.0.iter().all(|account| account.has_room())
    }
    pub(crate) fn enter(&self) {
        self.0.iter().for_each(|account| {
            account.running.fetch_add(1, Relaxed);
        });
    }
    pub(crate) fn leave(&self) {
        self.0.iter().for_each(|account| {
            account.running.fetch_sub(1, Relaxed);
        });
    }
}
