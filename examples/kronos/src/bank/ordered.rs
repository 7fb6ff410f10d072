//! The store whose transactions are ordered by Kronos: accounts with lines of transactions, a thread a shard that asks Kronos.
//!
//! Invariant: of two transactions that stand in the lines of several accounts, one is behind the other in all of them, as Kronos has it.

use super::{Access, OPENING_BALANCE, Operation, SHARDS, shard_of};
use crate::{Events, Held, Load};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tanglewood_kronos::blocking::Kronos;
use tanglewood_kronos::{Assigned, Constraint, KronosError, Order};
use world::threads::{self, Thread};

/// Transactions that a shard puts in line with one call.
const JOINS_MAX: usize = 256;

pub(super) struct Store {
    shards: Vec<Shard>,
    accounts: usize,
    next_number: AtomicU64,
    calls: Arc<AtomicU64>,
}

struct Shard {
    inbox: Option<Sender<Message>>,
    accounts: Arc<Mutex<Accounts>>,
    thread: Option<Thread<()>>,
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
}

/// A transaction in the lines of a shard.
struct Ticket {
    number: u64,
    accounts: Vec<usize>,
    /// Lines in which others are still before it.
    behind: AtomicU64,
    reply: Sender<Reply>,
}

enum Message {
    Join(Join),
    /// The transaction starts over: out of the lines.
    Leave(u64),
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
            let account = |number| {
                (number, Account { balance: OPENING_BALANCE, turn: 0, last: None, line: VecDeque::new() })
            };
            let accounts: Accounts = (at..accounts).step_by(SHARDS).map(account).collect();
            let accounts = Arc::new(Mutex::new(accounts));
            let (sender, receiver) = unbounded();
            let (own, kronos, calls) = (accounts.clone(), kronos.clone(), calls.clone());
            let thread = threads::spawn("bank-shard", move || serve(&kronos, &own, &receiver, &calls));
            Shard { inbox: Some(sender), accounts, thread: Some(thread) }
        };
        let shards = (0..SHARDS).map(shard).collect();
        Store { shards, accounts, next_number: AtomicU64::new(0), calls }
    }

    /// Tries until all shards have put it in line. Returns what it did, and how often it started over.
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
            self.send(shard_of(part[0]), Message::Join(join));
        }
        let mut values = Vec::with_capacity(needed.len());
        for _ in &parts {
            match replies.recv().expect("a shard answers every join") {
                Reply::Values(of_shard) => values.extend(of_shard),
                refused => {
                    let leave = |part: &&[usize]| self.send(shard_of(part[0]), Message::Leave(number));
                    parts.iter().for_each(leave);
                    return if let Reply::Failed(error) = refused { Err(error) } else { Ok(None) };
                }
            }
        }
        Ok(Some(values))
    }

    fn send(&self, shard: usize, message: Message) {
        let inbox = self.shards[shard].inbox.as_ref().expect("the inbox closes with the store");
        inbox.send(message).expect("a shard serves as long as the store lives");
    }

    /// The new balances; the next in each line may go on.
    fn finish(&self, values: &[Value], written: &[(usize, i64)]) -> Vec<Access> {
        let end = |(account, read, turn): &(usize, i64, u64)| {
            let left = written.iter().find(|one| one.0 == *account).map_or(*read, |one| one.1);
            let mut accounts = self.shards[shard_of(*account)].accounts.lock();
            let one = accounts.get_mut(account).expect("it was joined");
            one.balance = left;
            one.turn += 1;
            one.line.pop_front();
            advance(&mut accounts, *account);
            Access { account: *account, turn: *turn, read: *read, left }
        };
        values.iter().map(end).collect()
    }

    pub(super) fn balances(&self) -> Vec<i64> {
        let balance = |account| self.shards[shard_of(account)].accounts.lock()[&account].balance;
        (0..self.accounts).map(balance).collect()
    }
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shards.iter_mut().for_each(|shard| drop(shard.inbox.take()));
        for shard in &mut self.shards {
            shard.thread.take().into_iter().for_each(Thread::join);
        }
    }
}

fn serve(kronos: &Kronos, accounts: &Mutex<Accounts>, inbox: &Receiver<Message>, calls: &AtomicU64) {
    while let Ok(first) = inbox.recv() {
        let (mut joins, mut left) = (Vec::new(), BTreeSet::new());
        for message in std::iter::once(first).chain(inbox.try_iter().take(JOINS_MAX - 1)) {
            match message {
                Message::Join(join) => joins.push(join),
                Message::Leave(number) => drop(left.insert(number)),
            }
        }
        joins.retain(|join| !left.contains(&join.number));
        put_in_line(kronos, accounts, joins, calls);
        if !left.is_empty() {
            leave(&mut accounts.lock(), &left);
        }
    }
}

/// Asks Kronos to have each transaction behind the last one of each account, and behind those of this batch that came before it.
fn put_in_line(kronos: &Kronos, accounts: &Mutex<Accounts>, joins: Vec<Join>, calls: &AtomicU64) {
    let mut constraints = Vec::new();
    // For each constraint the join, and the one before it if that is of this batch.
    let mut meaning = Vec::new();
    // The transactions must live on until Kronos has answered.
    let mut kept = Vec::new();
    let locked = accounts.lock();
    for (at, join) in joins.iter().enumerate() {
        for account in &join.accounts {
            let earlier = joins[..at].iter().enumerate().filter(|(_, one)| one.accounts.contains(account));
            let earlier = earlier.map(|(other, one)| (Some(other), one.held.clone()));
            for (other, before) in locked[account].last.iter().map(|last| (None, last.clone())).chain(earlier)
            {
                constraints.push(Constraint::prefer(before.event(), Order::Before, join.held.event()));
                meaning.push((at, other));
                kept.push(before);
            }
        }
    }
    drop(locked);
    let assigned = match constraints.is_empty() {
        true => Ok(Vec::new()),
        false => assign(kronos, &constraints, calls),
    };
    let assigned = match assigned {
        Ok(assigned) => assigned,
        Err(error) => {
            let fail = |join: &Join| drop(join.reply.send(Reply::Failed(error.clone())));
            return joins.iter().for_each(fail);
        }
    };
    let mut refused = vec![false; joins.len()];
    for ((at, other), one) in meaning.into_iter().zip(assigned) {
        let other_is_in = other.is_none_or(|other| !refused[other]);
        refused[at] |= one.order != Order::Before && other_is_in;
    }
    let mut locked = accounts.lock();
    for (join, refused) in joins.into_iter().zip(refused) {
        if refused {
            // Who asked may have been refused elsewhere already.
            drop(join.reply.send(Reply::Refused));
        } else {
            append(&mut locked, join);
        }
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

fn leave(accounts: &mut Accounts, left: &BTreeSet<u64>) {
    let numbers: Vec<usize> = accounts.keys().copied().collect();
    for account in numbers {
        let line = &mut accounts.get_mut(&account).expect("its key was just seen").line;
        let was_first = line.front().is_some_and(|first| left.contains(&first.number));
        line.retain(|ticket| !left.contains(&ticket.number));
        if was_first {
            advance(accounts, account);
        }
    }
}
