//! The store with a lock on each account, first come, first served. The shards keep the locks of their accounts, and clients lock in one order of all
//! accounts, so that none waits in a circle; or a service keeps them all.

use super::{Access, OPENING_BALANCE, Operation, SHARDS, shard_of};
use crate::{Load, LockClient};
use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;
use std::collections::VecDeque;
use tanglewood_kronos::KronosError;

pub(super) struct Store {
    shards: Vec<Mutex<Vec<Account>>>,
    accounts: usize,
}

struct Account {
    balance: i64,
    turn: u64,
    is_locked: bool,
    waiting: VecDeque<Sender<()>>,
}

impl Store {
    pub(super) fn new(accounts: usize) -> Store {
        let account =
            || Account { balance: OPENING_BALANCE, turn: 0, is_locked: false, waiting: VecDeque::new() };
        let shard = |at: usize| Mutex::new((at..accounts).step_by(SHARDS).map(|_| account()).collect());
        Store { shards: (0..SHARDS).map(shard).collect(), accounts }
    }

    fn with<T>(&self, account: usize, work: impl FnOnce(&mut Account) -> T) -> T {
        work(&mut self.shards[shard_of(account)].lock()[account / SHARDS])
    }

    fn lock(&self, account: usize) {
        let wait = self.with(account, |one| {
            if !one.is_locked {
                one.is_locked = true;
                return None;
            }
            let (sender, receiver) = bounded(1);
            one.waiting.push_back(sender);
            Some(receiver)
        });
        if let Some(wait) = wait {
            wait.recv().expect("who holds the lock hands it on");
        }
    }

    pub(super) fn transact(&self, load: &Load, operation: &Operation) -> Vec<Access> {
        let needed = operation.accounts(self.accounts);
        // One message to each shard, one after the other.
        for of_shard in needed.chunk_by(|a, b| shard_of(*a) == shard_of(*b)) {
            load.travel();
            of_shard.iter().for_each(|account| self.lock(*account));
            load.travel();
        }
        let read = self.read(&needed);
        let written = operation.carry_out(&read);
        load.travel();
        let accesses = self.write(&read, &written, |one| match one.waiting.pop_front() {
            Some(next) => next.send(()).expect("who waits does not go away"),
            None => one.is_locked = false,
        });
        load.travel();
        accesses
    }

    /// With locks of a service, all had with one call and given back with another.
    pub(super) fn transact_with(
        &self,
        locks: &LockClient,
        load: &Load,
        operation: &Operation,
    ) -> Result<Vec<Access>, KronosError> {
        let needed = operation.accounts(self.accounts);
        let granted = locks.wait_for(needed.iter().map(|account| *account as u32).collect())?;
        load.travel();
        let read = self.read(&needed);
        load.travel();
        let written = operation.carry_out(&read);
        load.travel();
        let accesses = self.write(&read, &written, |_| ());
        load.travel();
        drop(granted);
        Ok(accesses)
    }

    /// Under the locks; then `unlock`.
    fn write(
        &self,
        read: &[(usize, i64)],
        written: &[(usize, i64)],
        unlock: impl Fn(&mut Account),
    ) -> Vec<Access> {
        let one = |(account, read): &(usize, i64)| {
            let left = written.iter().find(|one| one.0 == *account).map_or(*read, |one| one.1);
            self.with(*account, |one| {
                let access = Access { account: *account, turn: one.turn, read: *read, left };
                one.balance = left;
                one.turn += 1;
                unlock(one);
                access
            })
        };
        read.iter().map(one).collect()
    }

    fn read(&self, accounts: &[usize]) -> Vec<(usize, i64)> {
        accounts.iter().map(|account| (*account, self.with(*account, |one| one.balance))).collect()
    }

    /// Without any lock.
    pub(super) fn hope(&self, load: &Load, operation: &Operation) -> Vec<Access> {
        let needed = operation.accounts(self.accounts);
        load.travel();
        let read = self.read(&needed);
        load.travel();
        let written = operation.carry_out(&read);
        load.travel();
        let accesses = read.iter().map(|(account, read)| {
            let new = written.iter().find(|one| one.0 == *account).map(|one| one.1);
            self.with(*account, |one| {
                let access =
                    Access { account: *account, turn: one.turn, read: *read, left: new.unwrap_or(*read) };
                one.balance = new.unwrap_or(one.balance);
                one.turn += 1;
                access
            })
        });
        let accesses = accesses.collect();
        load.travel();
        accesses
    }

    pub(super) fn balances(&self) -> Vec<i64> {
        self.read(&(0..self.accounts).collect::<Vec<_>>()).into_iter().map(|one| one.1).collect()
    }
}
