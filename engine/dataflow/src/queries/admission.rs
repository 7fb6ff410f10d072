//! Admission: which queries run, and which wait for room in their accounts.
//!
//! A query runs while its user, its tenant and the machine have room for it, else it waits in the queue; if the queue is full it is refused. The
//! queue is served round-robin over users, so that one with many queries keeps no other out.
//!
//! Invariant: a query that was admitted is counted once on each of its levels until it ends.

use crate::Message;
use crate::accounting::accounts::{Account, AccountOptions, AccountRoom, AccountUsage, Accounts};
use crate::queries::links::Shared;
use crate::queries::query::QueryShared;
use crate::terms::ids::{TenantNo, UserNo};
use crate::terms::limits::QUERIES_WAITING_MAX;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type UserKey = (TenantNo, UserNo);

struct Line<M: Message> {
    /// Waiting queries by user; no queue is empty.
    waiting: BTreeMap<UserKey, VecDeque<Shared<M>>>,
    count: usize,
    /// The user whose query was admitted last.
    last: UserKey,
}

/// All accounts of a runtime, and its admission queue.
pub(crate) struct Admission<M: Message> {
    machine: Arc<Account>,
    tenants: Mutex<BTreeMap<TenantNo, Arc<Account>>>,
    users: Mutex<BTreeMap<UserKey, Arc<Account>>>,
    /// Time that the queries of each tenant took, in nanoseconds.
    spent_ns: Mutex<BTreeMap<TenantNo, Arc<AtomicU64>>>,
    line: Mutex<Line<M>>,
    /// Stands for all that were never set: no limit.
    open: Arc<Account>,
}

/// The outcome of admission.
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
            spent_ns: Mutex::default(),
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

    /// Waiting queries for which there is room now, since a limit was changed.
    pub(crate) fn admit_waiting(&self) -> Vec<Shared<M>> {
        self.line.lock().admit_all()
    }

    /// The accounts of a user. Limits hold for queries that begin after they were first set.
    pub(crate) fn accounts(&self, tenant: TenantNo, user: UserNo) -> Accounts {
        let unlimited = || self.open.clone();
        let tenant_account = self.tenants.lock().get(&tenant).cloned().unwrap_or_else(unlimited);
        let user_account = self.users.lock().get(&(tenant, user)).cloned().unwrap_or_else(unlimited);
        Accounts::new([user_account, tenant_account, self.machine.clone()])
    }

    /// The counter of a tenant's time.
    pub(crate) fn spent(&self, tenant: TenantNo) -> Arc<AtomicU64> {
        self.spent_ns.lock().entry(tenant).or_default().clone()
    }

    /// Time that the queries of each tenant took, in nanoseconds.
    pub(crate) fn spent_all(&self) -> Vec<(TenantNo, u64)> {
        self.spent_ns.lock().iter().map(|(tenant, ns)| (*tenant, ns.load(Ordering::Relaxed))).collect()
    }

    /// Admits a new query, or puts it into the queue; one that does not wait is admitted, and counted, regardless of room.
    pub(crate) fn enter(&self, query: &Shared<M>, waits: bool) -> Entry {
        let mut line = self.line.lock();
        let key = (query.tenant, query.user);
        if !waits || (!line.waiting.contains_key(&key) && query.accounts.have_room()) {
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
        line.admit_all()
    }

    /// Usage of each account of a tenant or a user that has limits.
    pub(crate) fn usage(&self) -> Vec<(TenantNo, Option<UserNo>, AccountUsage)> {
        let line = self.line.lock();
        let waiting = |tenant: TenantNo, user: Option<UserNo>| -> u64 {
            let all = line
                .waiting
                .iter()
                .filter(|((of, who), _)| *of == tenant && user.is_none_or(|user| user == *who));
            all.map(|(_, waiting)| waiting.len() as u64).sum()
        };
        let tenants = self.tenants.lock();
        let tenants = tenants.iter().map(|(tenant, account)| (*tenant, None, account.clone()));
        let users = self.users.lock();
        let users = users.iter().map(|((tenant, user), account)| (*tenant, Some(*user), account.clone()));
        let usage = |(tenant, user, account): (TenantNo, Option<UserNo>, Arc<Account>)| {
            Some((tenant, user, account.usage(waiting(tenant, user))?))
        };
        tenants.chain(users).filter_map(usage).collect()
    }

    /// Sets the room that other runtimes leave of accounts. Returns the queries that may begin now.
    pub(crate) fn leave_room(&self, rooms: &[(TenantNo, Option<UserNo>, AccountRoom)]) -> Vec<Shared<M>> {
        for (tenant, user, room) in rooms {
            let account = match user {
                None => self.tenants.lock().get(tenant).cloned(),
                Some(user) => self.users.lock().get(&(*tenant, *user)).cloned(),
            };
            account.iter().for_each(|account| account.leave_room(*room));
        }
        self.line.lock().admit_all()
    }

    /// Queries that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.line.lock().count
    }
}

impl<M: Message> Line<M> {
    /// Admits all waiting queries for which there is room.
    fn admit_all(&mut self) -> Vec<Shared<M>> {
        let mut admitted = Vec::new();
        while let Some(next) = self.next() {
            next.admit();
            admitted.push(next);
        }
        admitted
    }
    /// The first waiting query of the next user, round-robin, for which there is room.
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
