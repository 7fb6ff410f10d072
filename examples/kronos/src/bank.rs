//! A bank over a key-value store in shards: transactions that are ordered by Kronos, and a twin that locks (Weaver, §2.5.3 and figure 5.2).
//!
//! ```text
//!   client ── join e ──> shard 1 ── assign_order: last of each account before e? ──> Kronos
//!          ── join e ──> shard 2 ──            (both at once)                   ──>
//!          <── values, as soon as e is the first in line at its accounts
//!          ── finish: new values ──> both
//! ```
//!
//! Idea: a transaction is an event. Each shard orders it behind the last transaction of each account, if Kronos allows it; where shards would
//! disagree, Kronos refuses one of them, and the transaction starts over without an effect. So the lines of all shards follow one order: there is no
//! deadlock, and a client calls all shards at once, where a locking client calls them one after the other.
//! Invariant: money is neither made nor lost, also not for an audit that reads all accounts while transfers go on.
//! Cost: a shard calls Kronos once for all transactions that came during its last call.

mod history;
mod locks;
mod ordered;

pub use history::{Access, History};

use crate::{Events, Load, LockClient, Outcome};
use std::time::Duration;
use tanglewood_kronos::blocking::Kronos;
use tanglewood_kronos::{KronosError, Options};
use world::chance::Chance;

/// Shards of the store.
pub const SHARDS: usize = 4;
/// The first balance of each account.
pub const OPENING_BALANCE: i64 = 1_000;
/// The largest sum of one transfer.
const TRANSFER_MAX: u64 = 300;

/// An operation of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Operation {
    /// Money from one account to another, if there is enough.
    Transfer { from: usize, to: usize, amount: i64 },
    /// Reads all accounts.
    Audit,
}

impl Operation {
    /// The accounts it needs, by shard and number.
    fn accounts(&self, accounts: usize) -> Vec<usize> {
        let mut needed = match self {
            Operation::Transfer { from, to, .. } => vec![*from, *to],
            Operation::Audit => (0..accounts).collect(),
        };
        needed.sort_by_key(|account| (shard_of(*account), *account));
        needed
    }
    /// The new balances from those that it read, in the same order.
    fn carry_out(&self, read: &[(usize, i64)]) -> Vec<(usize, i64)> {
        let Operation::Transfer { from, to, amount } = self else { return Vec::new() };
        let balance = |account| read.iter().find(|one| one.0 == account).map_or(0, |one| one.1);
        if balance(*from) < *amount {
            return Vec::new();
        }
        vec![(*from, balance(*from) - amount), (*to, balance(*to) + amount)]
    }
}

fn shard_of(account: usize) -> usize {
    account % SHARDS
}

/// The operations of one client.
fn operations(load: &Load, client: usize, count: usize, accounts: usize) -> impl Iterator<Item = Operation> {
    let mut chance = Chance::seeded(load.seed.wrapping_mul(1_000_003) + client as u64);
    (0..count).map(move |at| {
        // The first client audits: seldom among many accounts, so that audits cost no more than the transfers.
        if client == 0 && at % (accounts * 2).max(16) == 8 {
            return Operation::Audit;
        }
        let from = chance.index(accounts);
        let to = (from + 1 + chance.index(accounts - 1)) % accounts;
        Operation::Transfer { from, to, amount: 1 + chance.below(TRANSFER_MAX) as i64 }
    })
}

/// Results of one client.
#[derive(Default)]
struct Done {
    history: Vec<Vec<Access>>,
    repeated: u64,
}

fn outcome(
    done: Vec<Result<Done, KronosError>>,
    elapsed: Duration,
    calls: u64,
    accounts: usize,
    balances: &[i64],
) -> Result<Outcome, KronosError> {
    let done: Vec<Done> = done.into_iter().collect::<Result<_, _>>()?;
    let repeated = done.iter().map(|one| one.repeated).sum();
    let history = History(done.into_iter().flat_map(|one| one.history).collect());
    let verdict = history.check(&vec![OPENING_BALANCE; accounts], balances);
    Ok(Outcome { operations: history.0.len(), elapsed, repeated, calls, verdict })
}

/// The bank with transactions ordered by Kronos. At least two accounts.
///
/// # Errors
/// Kronos is away or full.
pub fn with_kronos(kronos: Options, load: &Load, accounts: usize) -> Result<Outcome, KronosError> {
    // All clients and shards of the store are one process and share one client of Kronos.
    let kronos = Kronos::connect_with(Options { gather: true, ..kronos })?;
    let store = ordered::Store::new(kronos.clone(), accounts);
    let events = Events::new(kronos.clone());
    let (done, elapsed) = load.run(|client, count| {
        let mut done = Done::default();
        for operation in operations(load, client, count, accounts) {
            let (accesses, repeated) = store.transact(&events, load, &operation)?;
            done.history.push(accesses);
            done.repeated += repeated;
        }
        Ok(done)
    });
    let (balances, calls) = (store.balances(), store.calls());
    drop((store, events));
    kronos.close()?;
    outcome(done, elapsed, calls, accounts, &balances)
}

/// The twin that locks by a service, over the same wire and as durably as Kronos orders.
///
/// # Errors
/// The service is away.
pub fn with_lock_service(locks: &LockClient, load: &Load, accounts: usize) -> Result<Outcome, KronosError> {
    let store = locks::Store::new(accounts);
    let calls_before = locks.tickets();
    let (done, elapsed) = load.run(|client, count| {
        let all = operations(load, client, count, accounts);
        let history = all.map(|operation| store.transact_with(locks, load, &operation));
        Ok(Done { history: history.collect::<Result<_, _>>()?, repeated: 0 })
    });
    let (balances, calls) = (store.balances(), locks.tickets() - calls_before);
    outcome(done, elapsed, calls, accounts, &balances)
}

/// The twin whose shards lock each account until the transaction is over; their locks are in memory and cost nothing but the messages.
pub fn with_locks(load: &Load, accounts: usize) -> Outcome {
    let store = locks::Store::new(accounts);
    let (done, elapsed) = load.run(|client, count| {
        let all = operations(load, client, count, accounts);
        let history = all.map(|operation| store.transact(load, &operation)).collect();
        Ok(Done { history, repeated: 0 })
    });
    let balances = store.balances();
    outcome(done, elapsed, 0, accounts, &balances).expect("locks never fail")
}

/// A store without transactions: reads, then writes, with nothing to keep others away. It is the fastest, and it is wrong: the verdict
/// says how.
pub fn without_order(load: &Load, accounts: usize) -> Outcome {
    let store = locks::Store::new(accounts);
    let (done, elapsed) = load.run(|client, count| {
        let all = operations(load, client, count, accounts);
        let history = all.map(|operation| store.hope(load, &operation)).collect();
        Ok(Done { history, repeated: 0 })
    });
    let balances = store.balances();
    outcome(done, elapsed, 0, accounts, &balances).expect("nothing to fail")
}
