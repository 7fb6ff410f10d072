//! The store whose transactions are ordered by Kronos: accounts with lines of transactions, and threads of each shard that ask Kronos.
//!
//! Idea: a thread takes all transactions that wait, but for those whose accounts another thread is asking about. So a shard has several calls under way,
//! and each account has one at the most.
//! Invariants: of two transactions that stand in the lines of several accounts, one is behind the other in all of them, as Kronos has it;
//! transactions come to an account in the order in which they arrived.

use super::{Access, OPENING_BALANCE, Operation, SHARDS, shard_of};
use crate::{Events, Held, Load};
use crossbeam_channel::{Sender, bounded};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tanglewood_kronos::blocking::Kronos;
use tanglewood_kronos::{Assigned, Constraint, KronosError, Order};
use world::threads::{self, Thread};

/// Transactions that a shard puts in line with one call.
const JOINS_MAX: usize = 256;
/// Calls of Kronos that a shard has under way at once.
const ASKERS: usize = 3;

pub(super) struct Store {
    shards: Vec<Shard>,
    accounts: usize,
    next_number: AtomicU64,
    calls: Arc<AtomicU64>,
}

struct Shard {
    inner: Arc<Inner>,
    threads: Vec<Thread<()>>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// Messages arrived, or a call ended.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    accounts: Accounts,
    /// Transactions that Kronos was not called for yet, in the order of their arrival.
    arrived: VecDeque<Join>,
    /// Those in a call to Kronos, and whether they have left meanwhile.
    asked: BTreeMap<u64, bool>,
    is_closed: bool,
}

/// An account, its balance, and how often it was used.
type Value = (usize, i64, u64);

/// By number.
type Accounts = BTreeMap<usize, Account>;

struct Account {
    balance: i64,
    turn: u64,
    /// The latest transaction that was put in line, also after it is over.
    last: Option<Arc<Held>>,
    line: VecDeque<Arc<Ticket>>,
    /// True while a thread calls Kronos for the order.
    is_asked: bool,
}

/// A transaction in the lines of a shard.
struct Ticket {
    number: u64,
    accounts: Vec<usize>,
    /// Lines in which others are still before it.
    behind: AtomicU64,
    reply: Sender<Reply>,
}

struct Join {
    number: u64,
    held: Arc<Held>,
    accounts: Vec<usize>,
    reply: Sender<Reply>,
}

enum Reply {
    /// First in all lines.
    Values(Vec<Value>),
    /// Kronos has it otherwise.
    Refused,
    Failed(KronosError),
}

impl Store {
    pub(super) fn new(kronos: Kronos, accounts: usize) -> Store {
        let calls = Arc::new(AtomicU64::new(0));
        let shard = |at: usize| {
            let account = |number| (number, Account::new());
            let accounts: Accounts = (at..accounts).step_by(SHARDS).map(account).collect();
            let state = Mutex::new(State { accounts, ..State::default() });
            let inner = Arc::new(Inner { state, changed: Condvar::new() });
            let asker = |_| {
                let (own, kronos, calls) = (inner.clone(), kronos.clone(), calls.clone());
                threads::spawn("bank-shard", move || serve(&kronos, &own, &calls))
            };
            let threads = (0..ASKERS).map(asker).collect();
            Shard { inner, threads }
        };
        let shards = (0..SHARDS).map(shard).collect();
        Store { shards, accounts, next_number: AtomicU64::new(0), calls }
    }

    /// Tries until all shards have put it in line. Returns its result, and how often it started over.
    pub(super) fn transact(
        &self,
        events: &Events,
        load: &Load,
        operation: &Operation,
    ) -> Result<(Vec<Access>, u64), KronosError> {
        let needed = operation.accounts(self.accounts);
        let mut repeated = 0;
        loop {
            let number = self.next_number.fetch_add(1, Ordering::Relaxed);
            let held = Arc::new(events.take()?);
            load.travel();
            if let Some(values) = self.join(number, &held, &needed)? {
                load.travel();
                let read: Vec<(usize, i64)> = values.iter().map(|one| (one.0, one.1)).collect();
                let written = operation.carry_out(&read);
                load.travel();
                let accesses = self.finish(&values, &written);
                load.travel();
                return Ok((accesses, repeated));
            }
            repeated += 1;
            load.travel();
        }
    }

    /// Asks all shards at once. Nothing if one of them refused.
    fn join(
        &self,
        number: u64,
        held: &Arc<Held>,
        needed: &[usize],
    ) -> Result<Option<Vec<Value>>, KronosError> {
        let (reply, replies) = bounded(SHARDS);
        let mut parts: Vec<&[usize]> = needed.chunk_by(|a, b| shard_of(*a) == shard_of(*b)).collect();
        // Which shard hears of it first is up to the network.
        let first = number as usize % parts.len();
        parts.rotate_left(first);
        for part in &parts {
            let join = Join { number, held: held.clone(), accounts: part.to_vec(), reply: reply.clone() };
            self.shards[shard_of(part[0])].inner.join(join);
        }
        let mut values = Vec::with_capacity(needed.len());
        for _ in &parts {
            match replies.recv().expect("a shard answers every join") {
                Reply::Values(of_shard) => values.extend(of_shard),
                refused => {
                    let leave = |part: &&[usize]| self.shards[shard_of(part[0])].inner.leave(number, part);
                    parts.iter().for_each(leave);
                    return if let Reply::Failed(error) = refused { Err(error) } else { Ok(None) };
                }
            }
        }
        Ok(Some(values))
    }

    /// The new balances; the next in each line may go on.
    fn finish(&self, values: &[Value], written: &[(usize, i64)]) -> Vec<Access> {
        let end = |(account, read, turn): &(usize, i64, u64)| {
            let left = written.iter().find(|one| one.0 == *account).map_or(*read, |one| one.1);
            let accounts = &mut self.shards[shard_of(*account)].inner.state.lock().accounts;
            let one = accounts.get_mut(account).expect("it was joined");
            one.balance = left;
            one.turn += 1;
            one.line.pop_front();
            advance(accounts, *account);
            Access { account: *account, turn: *turn, read: *read, left }
        };
        values.iter().map(end).collect()
    }

    pub(super) fn balances(&self) -> Vec<i64> {
        let balance = |account| self.shards[shard_of(account)].inner.state.lock().accounts[&account].balance;
        (0..self.accounts).map(balance).collect()
    }
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for shard in &self.shards {
            shard.inner.state.lock().is_closed = true;
            shard.inner.changed.notify_all();
        }
        self.shards.iter_mut().flat_map(|shard| shard.threads.drain(..)).for_each(Thread::join);
    }
}

impl Inner {
    fn join(&self, join: Join) {
        self.state.lock().arrived.push_back(join);
        self.changed.notify_one();
    }

    /// The transaction starts over: out of the lines, or before it comes there.
    fn leave(&self, number: u64, needed: &[usize]) {
        let mut state = self.state.lock();
        state.arrived.retain(|join| join.number != number);
        if let Some(has_left) = state.asked.get_mut(&number) {
            *has_left = true;
        }
        for account in needed {
            let line = &mut state.accounts.get_mut(account).expect("clients name accounts of the shard").line;
            let was_first = line.front().is_some_and(|first| first.number == number);
            line.retain(|ticket| ticket.number != number);
            if was_first {
                advance(&mut state.accounts, *account);
            }
        }
        drop(state);
        // One that came later may not have to wait any more.
        self.changed.notify_one();
    }
}

impl State {
    /// Transactions for the next call: those whose accounts are in no running call, and for which no earlier one waits.
    fn take(&mut self) -> Vec<Join> {
        let (mut taken, mut left, mut blocked) = (Vec::new(), VecDeque::new(), BTreeSet::new());
        for join in std::mem::take(&mut self.arrived) {
            let is_free = |account: &usize| !self.accounts[account].is_asked && !blocked.contains(account);
            if taken.len() < JOINS_MAX && join.accounts.iter().all(is_free) {
                taken.push(join);
            } else {
                blocked.extend(join.accounts.iter().copied());
                left.push_back(join);
            }
        }
        self.arrived = left;
        self.asked.extend(taken.iter().map(|join| (join.number, false)));
        self.mark(&taken, true);
        taken
    }

    fn mark(&mut self, joins: &[Join], is_asked: bool) {
        for account in joins.iter().flat_map(|join| &join.accounts) {
            self.accounts.get_mut(account).expect("clients name accounts of the shard").is_asked = is_asked;
        }
    }

    /// Takes the answer of Kronos: for each of the joins whether it is refused.
    fn put_in_line(&mut self, joins: Vec<Join>, refused: Result<Vec<bool>, KronosError>) {
        self.mark(&joins, false);
        for (at, join) in joins.into_iter().enumerate() {
            let has_left = self.asked.remove(&join.number).unwrap_or(true);
            // Who asked may have been refused elsewhere already.
            match &refused {
                Err(error) => drop(join.reply.send(Reply::Failed(error.clone()))),
                Ok(refused) if refused[at] => drop(join.reply.send(Reply::Refused)),
                Ok(_) if has_left => {}
                Ok(_) => append(&mut self.accounts, join),
            }
        }
    }
}

fn serve(kronos: &Kronos, inner: &Inner, calls: &AtomicU64) {
    let mut state = inner.state.lock();
    loop {
        let joins = state.take();
        if !joins.is_empty() {
            let question = Question::of(&state.accounts, &joins);
            let refused = MutexGuard::unlocked(&mut state, || question.ask(kronos, calls));
            state.put_in_line(joins, refused);
        } else if state.is_closed {
            return;
        } else {
            inner.changed.wait(&mut state);
        }
    }
}

/// May each transaction be behind the last one of each of its accounts, and behind those of this batch that came before it?
struct Question {
    constraints: Vec<Constraint>,
    /// For each constraint the join, and the one before it if that is of this batch.
    meaning: Vec<(usize, Option<usize>)>,
    /// The transactions must live on until Kronos has answered.
    _kept: Vec<Arc<Held>>,
    joins: usize,
}

impl Question {
    fn of(accounts: &Accounts, joins: &[Join]) -> Question {
        let (mut constraints, mut meaning, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        // The joins of this batch so far, by account.
        let mut earlier: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, join) in joins.iter().enumerate() {
            for account in &join.accounts {
                let of_batch = earlier.entry(*account).or_default();
                let last = accounts[account].last.iter().map(|last| (None, last.clone()));
                let others = of_batch.iter().map(|other| (Some(*other), joins[*other].held.clone()));
                for (other, before) in last.chain(others) {
                    constraints.push(Constraint::prefer(before.event(), Order::Before, join.held.event()));
                    meaning.push((at, other));
                    kept.push(before);
                }
                of_batch.push(at);
            }
        }
        Question { constraints, meaning, _kept: kept, joins: joins.len() }
    }

    /// For each join whether it is refused.
    fn ask(self, kronos: &Kronos, calls: &AtomicU64) -> Result<Vec<bool>, KronosError> {
        let assigned = assign(kronos, &self.constraints, calls)?;
        let mut refused = vec![false; self.joins];
        for ((at, other), one) in self.meaning.into_iter().zip(assigned) {
            let other_is_in = other.is_none_or(|other| !refused[other]);
            refused[at] |= one.order != Order::Before && other_is_in;
        }
        Ok(refused)
    }
}

impl Account {
    fn new() -> Account {
        Account { balance: OPENING_BALANCE, turn: 0, last: None, line: VecDeque::new(), is_asked: false }
    }
}

fn assign(kronos: &Kronos, all: &[Constraint], calls: &AtomicU64) -> Result<Vec<Assigned>, KronosError> {
    let mut assigned = Vec::with_capacity(all.len());
    for batch in all.chunks(tanglewood_kronos::BATCH_MAX) {
        calls.fetch_add(1, Ordering::Relaxed);
        assigned.extend(kronos.assign_order(batch)?);
    }
    Ok(assigned)
}

fn append(accounts: &mut Accounts, join: Join) {
    let ticket = Arc::new(Ticket {
        number: join.number,
        accounts: join.accounts,
        behind: AtomicU64::new(0),
        reply: join.reply,
    });
    for account in &ticket.accounts {
        let one = accounts.get_mut(account).expect("clients name accounts of the shard");
        one.last = Some(join.held.clone());
        ticket.behind.fetch_add(u64::from(!one.line.is_empty()), Ordering::Relaxed);
        one.line.push_back(ticket.clone());
    }
    if ticket.behind.load(Ordering::Relaxed) == 0 {
        grant(accounts, &ticket);
    }
}

/// The first in the line of this account has come there just now.
fn advance(accounts: &mut Accounts, account: usize) {
    let Some(first) = accounts[&account].line.front().cloned() else { return };
    if first.behind.fetch_sub(1, Ordering::Relaxed) == 1 {
        grant(accounts, &first);
    }
}

fn grant(accounts: &Accounts, ticket: &Ticket) {
    let value = |account: &usize| (*account, accounts[account].balance, accounts[account].turn);
    // A client that starts over does not listen any more, and leaves.
    drop(ticket.reply.send(Reply::Values(ticket.accounts.iter().map(value).collect())));
}
