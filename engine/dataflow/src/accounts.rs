//! What tenants and users may take: queries at once, bytes, time; and who waits until there is room.
//!
//! A query belongs to a user, a user to a tenant, a tenant to the machine. On each level the same limits can be set; a query runs while
//! all three have room for it, else it waits in line, and if the line is full it is refused. The line is served in turns over users, so
//! that one who asks for much keeps nobody else out. Bytes are drawn from the levels in grains, so that most charges touch no shared
//! counter.
//!
//! Invariant: a query that was admitted is counted once on each of its levels until it ends.

use crate::links::Shared;
use crate::query::QueryShared;
use crate::rules::Rule;
use crate::runtime::{TenantNo, UserNo};
use crate::{Message, limits::QUERIES_WAITING_MAX};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What a tenant or a user may take, and how the scheduler treats it.
#[derive(Clone, Debug)]
pub struct AccountOptions {
    /// Part of each executor's time, relative to others on the same level that have work; 100 is what everyone has who was given none.
    pub share: u32,
    /// Queries that run at once; further ones wait. None for no limit.
    pub queries_max: Option<u64>,
    /// Bytes that all queries together hold. None for no limit.
    pub bytes_max: Option<u64>,
    /// Time after which a query ends, whatever it asked for itself. None for no limit.
    pub time_max: Option<Duration>,
    /// What becomes of queries that take more than they should.
    pub rules: Vec<Rule>,
}

impl Default for AccountOptions {
    fn default() -> AccountOptions {
        AccountOptions {
            share: crate::stride::SHARE_DEFAULT,
            queries_max: None,
            bytes_max: None,
            time_max: None,
            rules: Vec::new(),
        }
    }
}

/// Whose limit it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The query's own.
    Query,
    /// The user's.
    User,
    /// The tenant's.
    Tenant,
    /// The machine's.
    Machine,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Query => "query",
            Level::User => "user",
            Level::Tenant => "tenant",
            Level::Machine => "machine",
        })
    }
}

/// The counters of a user, a tenant, or the machine.
pub(crate) struct Account {
    queries_max: AtomicU64,
    bytes_max: AtomicU64,
    time_max_ns: AtomicU64,
    running: AtomicU64,
    bytes: AtomicU64,
    rules: Mutex<Arc<[Rule]>>,
}

impl Account {
    fn new() -> Account {
        Account {
            queries_max: AtomicU64::new(u64::MAX),
            bytes_max: AtomicU64::new(u64::MAX),
            time_max_ns: AtomicU64::new(u64::MAX),
            running: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            rules: Mutex::new(Arc::new([])),
        }
    }
    fn set(&self, options: &AccountOptions) {
        let time_ns = options.time_max.map(world::clock::span_ns);
        self.queries_max.store(options.queries_max.unwrap_or(u64::MAX).max(1), Relaxed);
        self.bytes_max.store(options.bytes_max.unwrap_or(u64::MAX), Relaxed);
        self.time_max_ns.store(time_ns.unwrap_or(u64::MAX), Relaxed);
        *self.rules.lock() = options.rules.as_slice().into();
    }
    fn has_room(&self) -> bool {
        self.running.load(Relaxed) < self.queries_max.load(Relaxed)
    }
}

/// The levels a query belongs to: its user, its tenant, the machine.
#[derive(Clone)]
pub(crate) struct Accounts([Arc<Account>; 3]);

impl Accounts {
    /// Counts bytes on all levels. They are counted even if one has no room for them; returns that one, and its limit.
    pub(crate) fn charge(&self, bytes: u64) -> Result<(), (Level, u64)> {
        let mut outcome = Ok(());
        for (account, level) in self.0.iter().zip([Level::User, Level::Tenant, Level::Machine]) {
            let limit = account.bytes_max.load(Relaxed);
            if account.bytes.fetch_add(bytes, Relaxed) + bytes > limit && outcome.is_ok() {
                outcome = Err((level, limit));
            }
        }
        outcome
    }
    /// The level that has the least room, for who is alone, and its limit.
    pub(crate) fn bytes_max(&self) -> (Level, u64) {
        let levels = [Level::User, Level::Tenant, Level::Machine];
        let limits =
            self.0.iter().zip(levels).map(|(account, level)| (level, account.bytes_max.load(Relaxed)));
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
    fn have_room(&self) -> bool {
        self.0.iter().all(|account| account.has_room())
    }
    pub(crate) fn enter(&self) {
        self.0.iter().for_each(|account| {
            account.running.fetch_add(1, Relaxed);
        });
    }
    fn leave(&self) {
        self.0.iter().for_each(|account| {
            account.running.fetch_sub(1, Relaxed);
        });
    }
}

type UserKey = (TenantNo, UserNo);

struct Line<M: Message> {
    /// Who waits, by user; nobody's line is empty.
    waiting: BTreeMap<UserKey, VecDeque<Shared<M>>>,
    count: usize,
    /// Who was let in last.
    last: UserKey,
}

/// All accounts of a runtime, and the line before it.
pub(crate) struct Admission<M: Message> {
    machine: Arc<Account>,
    tenants: Mutex<BTreeMap<TenantNo, Arc<Account>>>,
    users: Mutex<BTreeMap<UserKey, Arc<Account>>>,
    line: Mutex<Line<M>>,
    /// Stands for all that were never set: no limit.
    open: Arc<Account>,
}

/// What became of a query at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Admitted,
    Waits,
    Refused,
}

impl<M: Message> Admission<M> {
    pub(crate) fn new(machine: &AccountOptions) -> Admission<M> {
        let account = Account::new();
        account.set(machine);
        Admission {
            machine: Arc::new(account),
            tenants: Mutex::default(),
            users: Mutex::default(),
            line: Mutex::new(Line { waiting: BTreeMap::new(), count: 0, last: (0, 0) }),
            open: Arc::new(Account::new()),
        }
    }

    pub(crate) fn set_tenant(&self, tenant: TenantNo, options: &AccountOptions) {
        self.tenants.lock().entry(tenant).or_insert_with(|| Arc::new(Account::new())).set(options);
    }

    pub(crate) fn set_user(&self, tenant: TenantNo, user: UserNo, options: &AccountOptions) {
        self.users.lock().entry((tenant, user)).or_insert_with(|| Arc::new(Account::new())).set(options);
    }

    /// The accounts of a user. Limits hold for queries that begin after they were first set.
    pub(crate) fn accounts(&self, tenant: TenantNo, user: UserNo) -> Accounts {
        let unlimited = || self.open.clone();
        let tenant_account = self.tenants.lock().get(&tenant).cloned().unwrap_or_else(unlimited);
        let user_account = self.users.lock().get(&(tenant, user)).cloned().unwrap_or_else(unlimited);
        Accounts([user_account, tenant_account, self.machine.clone()])
    }

    /// Lets a new query in, or puts it into the line.
    pub(crate) fn enter(&self, query: &Shared<M>) -> Entry {
        let mut line = self.line.lock();
        let key = (query.tenant, query.user);
        if !line.waiting.contains_key(&key) && query.accounts.have_room() {
            query.admit();
            return Entry::Admitted;
        }
        if line.count >= QUERIES_WAITING_MAX {
            return Entry::Refused;
        }
        line.count += 1;
        line.waiting.entry(key).or_default().push_back(query.clone());
        Entry::Waits
    }

    /// A query ended. Returns those that may begin now.
    pub(crate) fn leave(&self, query: &QueryShared<M>) -> Vec<Shared<M>> {
        let mut line = self.line.lock();
        let key = (query.tenant, query.user);
        if query.is_admitted() {
            query.accounts.leave();
        } else if let Some(waiting) = line.waiting.get_mut(&key) {
            let before = waiting.len();
            waiting.retain(|other| other.id != query.id);
            let gone = before - waiting.len();
            if waiting.is_empty() {
                line.waiting.remove(&key);
            }
            line.count -= gone;
        }
        let mut admitted = Vec::new();
        while let Some(next) = line.next() {
            next.admit();
            admitted.push(next);
        }
        admitted
    }

    /// Queries that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.line.lock().count
    }
}

impl<M: Message> Line<M> {
    /// The first in line of the next user, in turns, for whom there is room.
    fn next(&mut self) -> Option<Shared<M>> {
        let after = (std::ops::Bound::Excluded(self.last), std::ops::Bound::Unbounded);
        let turns = self.waiting.range(after).chain(self.waiting.range(..=self.last));
        let free = |(_, waiting): &(&UserKey, &VecDeque<Shared<M>>)| {
            waiting.front().is_some_and(|query| query.accounts.have_room())
        };
        let key = *turns.into_iter().find(free)?.0;
        let waiting = self.waiting.get_mut(&key)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&key);
        }
        (self.last, self.count) = (key, self.count - 1);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_named_in_errors() {
        let named = [Level::Query, Level::User, Level::Tenant, Level::Machine].map(|level| level.to_string());
        assert_eq!(named, ["query", "user", "tenant", "machine"]);
    }
}
