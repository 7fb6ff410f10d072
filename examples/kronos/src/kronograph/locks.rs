//! The twin that locks: a question shares the locks of a person and of all friends, an update has those of its two alone, until the end. The shards
//! keep the locks, or a service does.
//!
//! A lock that cannot be had at once makes the operation give back what it has and start over, since friends are only known once the person is locked, so
//! that no order of locking would do.

use super::{Friends, Operation, SHARDS, Social, Step, recommend, shard_of, with_change};
use crate::{Load, LockClient};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tanglewood_kronos::{Event, KronosError};
use world::chance::Chance;
use world::threads;

/// The longest pause before an operation starts over, in microseconds.
const PAUSE_US_MAX: u64 = 200;

/// The answer, and the number of the operation; nothing where a lock was taken.
type Done = Option<(Option<u32>, u64)>;

pub(super) struct Store {
    shards: Vec<Mutex<HashMap<u32, Person>>>,
    /// Taken while all locks are held, so the order of the numbers is the order of the operations.
    next: AtomicU64,
}

#[derive(Default)]
struct Person {
    friends: Friends,
    shared: u32,
    is_locked: bool,
}

impl Store {
    pub(super) fn new(social: &Social) -> Store {
        let shards: Vec<Mutex<HashMap<u32, Person>>> = (0..SHARDS).map(|_| Mutex::default()).collect();
        for person in 0..social.people() {
            let friends = Arc::new(social.friends(person).to_vec());
            shards[shard_of(person)].lock().insert(person, Person { friends, ..Person::default() });
        }
        Store { shards, next: AtomicU64::new(0) }
    }

    fn with<T>(&self, person: u32, work: impl FnOnce(&mut Person) -> T) -> T {
        work(self.shards[shard_of(person)].lock().entry(person).or_default())
    }

    /// The friends of all, if none is locked by an update.
    fn share(&self, people: &[u32]) -> Option<Vec<Friends>> {
        let mut found = Vec::with_capacity(people.len());
        for person in people {
            let friends = self.with(*person, |one| {
                let is_free = !one.is_locked;
                one.shared += u32::from(is_free);
                is_free.then(|| one.friends.clone())
            });
            match friends {
                Some(friends) => found.push(friends),
                None => {
                    self.unshare(&people[..found.len()]);
                    return None;
                }
            }
        }
        Some(found)
    }
    fn unshare(&self, people: &[u32]) {
        people.iter().for_each(|person| self.with(*person, |one| one.shared -= 1));
    }

    fn lock(&self, people: [u32; 2]) -> bool {
        let try_lock = |person| {
            self.with(person, |one| {
                let is_free = !one.is_locked && one.shared == 0;
                one.is_locked |= is_free;
                is_free
            })
        };
        if !try_lock(people[0]) {
            return false;
        }
        let has_both = try_lock(people[1]);
        if !has_both {
            self.with(people[0], |one| one.is_locked = false);
        }
        has_both
    }

    /// Tries until all locks are had: those of the shards, or of a service. Returns how often it started over, too.
    pub(super) fn carry_out(
        &self,
        locks: Option<&LockClient>,
        load: &Load,
        operation: Operation,
        chance: &mut Chance,
    ) -> Result<(Step, u64), KronosError> {
        let mut repeated = 0;
        loop {
            let done = match (operation, locks) {
                (Operation::Update { one, other, add }, None) => self.update(load, one, other, add),
                (Operation::Recommend { person }, None) => self.ask(load, person),
                (Operation::Update { one, other, add }, Some(locks)) => {
                    self.update_with(locks, load, one, other, add)?
                }
                (Operation::Recommend { person }, Some(locks)) => self.ask_with(locks, load, person)?,
            };
            if let Some((answer, number)) = done {
                let (began, ended) = (number, number + 1);
                let event = Event(number);
                return Ok((Step { operation, answer, event, began, ended, orders: Vec::new() }, repeated));
            }
            repeated += 1;
            threads::sleep(Duration::from_micros(chance.below(PAUSE_US_MAX)));
        }
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    fn update(&self, load: &Load, one: u32, other: u32, add: bool) -> Done {
        load.travel();
        let has_both = self.lock([one.min(other), one.max(other)]);
        load.travel();
        if !has_both {
            return None;
        }
        let number = self.number();
        load.travel();
        for (person, friend) in [(one, other), (other, one)] {
            self.with(person, |found| {
                with_change(Arc::make_mut(&mut found.friends), friend, add);
                found.is_locked = false;
            });
        }
        load.travel();
        Some((None, number))
    }

    fn update_with(
        &self,
        locks: &LockClient,
        load: &Load,
        one: u32,
        other: u32,
        add: bool,
    ) -> Result<Done, KronosError> {
        let Some(granted) = locks.acquire_free(vec![one, other], false)? else { return Ok(None) };
        let number = self.number();
        load.travel();
        for (person, friend) in [(one, other), (other, one)] {
            self.with(person, |found| with_change(Arc::make_mut(&mut found.friends), friend, add));
        }
        load.travel();
        drop(granted);
        Ok(Some((None, number)))
    }

    fn ask_with(&self, locks: &LockClient, load: &Load, person: u32) -> Result<Done, KronosError> {
        let Some(first) = locks.acquire_free(vec![person], true)? else { return Ok(None) };
        load.travel();
        let own = self.with(person, |one| one.friends.clone());
        load.travel();
        let Some(rest) = locks.acquire_free(own.to_vec(), true)? else { return Ok(None) };
        load.travel();
        let theirs: Vec<Friends> =
            own.iter().map(|friend| self.with(*friend, |one| one.friends.clone())).collect();
        load.travel();
        let number = self.number();
        drop(first.join(rest));
        let answer = recommend(person, &own, theirs.iter().map(|friends| friends.as_slice()));
        Ok(Some((answer, number)))
    }

    fn ask(&self, load: &Load, person: u32) -> Done {
        load.travel();
        let own = self.share(&[person]);
        load.travel();
        let own = own?.remove(0);
        load.travel();
        let theirs = self.share(&own);
        load.travel();
        let answer = theirs.map(|theirs| {
            let number = self.number();
            (recommend(person, &own, theirs.iter().map(|friends| friends.as_slice())), number)
        });
        // Locks are given back without waiting for the shards.
        if answer.is_some() {
            self.unshare(&own);
        }
        self.unshare(&[person]);
        answer
    }
}
