//! The store whose operations are ordered by Kronos.
//!
//! Invariants: the unsettled updates of a person stand in the order of Kronos; when an update is committed, all that are before it anywhere are, too;
//! each committed update is after the one committed before it, so that what a question sees is the beginning of that chain (else one question could see the
//! first of two unrelated updates and not the second, and another the second and not the first); a question is before every update
//! that it might have missed.

use super::{Friends, Operation, SHARDS, Social, Step, recommend, shard_of, with_change};
use crate::{Events, Held, Load};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tanglewood_kronos::{Assigned, BATCH_MAX, Constraint, Event, KronosError, Order};

/// Locks of places, shared by the persons of equal remainder.
const PLACING: usize = 1_024;

pub(super) struct Store {
    events: Events,
    shards: Vec<Shard>,
    /// By person: one update at a time is placed.
    placing: Vec<Mutex<()>>,
    under_way: Mutex<UnderWay>,
    committed: Condvar,
    commits: Mutex<Commits>,
    commits_changed: Condvar,
    calls: AtomicU64,
}

#[derive(Default)]
struct Shard {
    people: Mutex<HashMap<u32, Person>>,
}

/// Updates become committed one after the other; those that come while some are, go together.
#[derive(Default)]
struct Commits {
    /// The update that was committed last.
    latest: Option<Arc<Update>>,
    /// Each with the number of its operation.
    waiting: Vec<(u64, Arc<Update>)>,
    is_busy: bool,
    failed: Option<KronosError>,
}

#[derive(Default, Clone)]
struct Person {
    friends: Friends,
    unsettled: Vec<Arc<Update>>,
}

struct Update {
    held: Held,
    one: u32,
    other: u32,
    add: bool,
    /// Operations from this number on come after it; 0 until it is committed.
    horizon: AtomicU64,
}

impl Update {
    fn friend_of(&self, person: u32) -> u32 {
        if person == self.one { self.other } else { self.one }
    }
    fn is_committed(&self) -> bool {
        self.horizon.load(Ordering::SeqCst) > 0
    }
    fn is_settled(&self, oldest: u64) -> bool {
        let horizon = self.horizon.load(Ordering::SeqCst);
        horizon > 0 && horizon <= oldest
    }
}

/// Operations that have begun and are not over, by number.
struct UnderWay {
    next: u64,
    /// The events of questions.
    operations: BTreeMap<u64, Option<Arc<Held>>>,
}

impl UnderWay {
    fn oldest(&self) -> u64 {
        self.operations.first_key_value().map_or(self.next, |(number, _)| *number)
    }
}

/// The orders that Kronos answered to one operation.
type Orders = Vec<(Event, Event)>;

impl Store {
    pub(super) fn new(events: Events, social: &Social) -> Store {
        let shards: Vec<Shard> = (0..SHARDS).map(|_| Shard::default()).collect();
        for person in 0..social.people() {
            let friends = Arc::new(social.friends(person).to_vec());
            let person_of = Person { friends, unsettled: Vec::new() };
            shards[shard_of(person)].people.lock().insert(person, person_of);
        }
        // Numbers begin at 1: 0 says that an update is not committed.
        let under_way = UnderWay { next: 1, operations: BTreeMap::new() };
        Store {
            events,
            shards,
            placing: (0..PLACING).map(|_| Mutex::default()).collect(),
            under_way: Mutex::new(under_way),
            committed: Condvar::new(),
            commits: Mutex::default(),
            commits_changed: Condvar::new(),
            calls: AtomicU64::new(0),
        }
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(super) fn carry_out(&self, load: &Load, operation: Operation) -> Result<Step, KronosError> {
        let held = self.events.take()?;
        match operation {
            Operation::Update { one, other, add } => {
                let horizon = AtomicU64::new(0);
                self.update(load, operation, Arc::new(Update { held, one, other, add, horizon }))
            }
            Operation::Recommend { person } => self.ask(load, operation, person, Arc::new(held)),
        }
    }

    fn begin(&self, question: Option<Arc<Held>>) -> u64 {
        let mut under_way = self.under_way.lock();
        let number = under_way.next;
        under_way.next += 1;
        under_way.operations.insert(number, question);
        number
    }
    /// Ends an operation. Returns the number of the next one to begin.
    fn end(&self, number: u64) -> u64 {
        let mut under_way = self.under_way.lock();
        under_way.operations.remove(&number);
        under_way.next
    }

    fn assign(&self, constraints: &[Constraint], orders: &mut Orders) -> Result<Vec<Assigned>, KronosError> {
        let mut all = Vec::with_capacity(constraints.len());
        for batch in constraints.chunks(BATCH_MAX) {
            self.calls.fetch_add(1, Ordering::Relaxed);
            all.extend(self.events.kronos().assign_order(batch)?);
        }
        orders.extend(constraints.iter().zip(&all).map(|(one, assigned)| match assigned.order {
            Order::After => (one.second, one.first),
            _ => (one.first, one.second),
        }));
        Ok(all)
    }

    fn update(&self, load: &Load, operation: Operation, update: Arc<Update>) -> Result<Step, KronosError> {
        let number = self.begin(None);
        let mut orders = Orders::new();
        load.travel();
        let before = self.place(&update, &mut orders)?;
        load.travel();
        let mut under_way = self.under_way.lock();
        while !before.iter().all(|one| one.is_committed()) {
            self.committed.wait(&mut under_way);
        }
        drop(under_way);
        let ended = self.commit(number, &update, &mut orders)?;
        let event = update.held.event();
        Ok(Step { operation, answer: None, event, began: number, ended, orders })
    }

    /// From here on all operations that begin see the update. Returns the number of the next one to begin. A thread that finds no other at it commits
    /// all waiting updates, in the order in which they came: each is behind the one before it, as if they had come one by one.
    fn commit(&self, number: u64, update: &Arc<Update>, orders: &mut Orders) -> Result<u64, KronosError> {
        let mut commits = self.commits.lock();
        commits.waiting.push((number, update.clone()));
        loop {
            if let Some(error) = &commits.failed {
                return Err(error.clone());
            }
            if update.is_committed() {
                return Ok(update.horizon.load(Ordering::SeqCst));
            }
            if commits.is_busy {
                self.commits_changed.wait(&mut commits);
                continue;
            }
            commits.is_busy = true;
            let (latest, all) = (commits.latest.clone(), std::mem::take(&mut commits.waiting));
            let done = MutexGuard::unlocked(&mut commits, || self.commit_all(latest, &all, orders));
            commits.is_busy = false;
            commits.failed = done.err();
            commits.latest = all.last().map(|(_, update)| update.clone());
            self.commits_changed.notify_all();
        }
    }

    fn commit_all(
        &self,
        latest: Option<Arc<Update>>,
        all: &[(u64, Arc<Update>)],
        orders: &mut Orders,
    ) -> Result<(), KronosError> {
        let oldest = self.under_way.lock().oldest();
        let latest = latest.filter(|latest| !latest.is_settled(oldest));
        let chain = latest.iter().chain(all.iter().map(|(_, update)| update));
        let events: Vec<Event> = chain.map(|update| update.held.event()).collect();
        let behind = |pair: &[Event]| Constraint::must(pair[0], Order::Before, pair[1]);
        self.assign(&events.windows(2).map(behind).collect::<Vec<_>>(), orders)?;
        let mut under_way = self.under_way.lock();
        for (number, update) in all {
            update.horizon.store(under_way.next, Ordering::SeqCst);
            under_way.operations.remove(number);
        }
        drop(under_way);
        self.committed.notify_all();
        Ok(())
    }

    /// Puts an update among those of both of its persons, with one call of Kronos. Returns those before it.
    fn place(&self, update: &Arc<Update>, orders: &mut Orders) -> Result<Vec<Arc<Update>>, KronosError> {
        let people = [update.one, update.other];
        let alone = BTreeSet::from(people.map(|person| person as usize % PLACING));
        let _alone: Vec<MutexGuard<'_, ()>> = alone.into_iter().map(|at| self.placing[at].lock()).collect();
        let others = people.map(|person| self.announce(person, update));
        let questions: Vec<Arc<Held>> =
            self.under_way.lock().operations.values().flatten().cloned().collect();
        let event = update.held.event();
        let ask_before = |held: &Arc<Held>| Constraint::must(held.event(), Order::Before, event);
        let like_before = |one: &Arc<Update>| Constraint::prefer(one.held.event(), Order::Before, event);
        let constraints: Vec<Constraint> =
            others.iter().flatten().map(like_before).chain(questions.iter().map(ask_before)).collect();
        let assigned = self.assign(&constraints, orders)?;
        let (mut said, mut before) = (assigned.into_iter(), Vec::new());
        for (person, others) in people.into_iter().zip(others) {
            let is_before = |_: &Arc<Update>| said.next().is_some_and(|one| one.order == Order::Before);
            let (earlier, later): (Vec<_>, Vec<_>) = others.into_iter().partition(is_before);
            if !later.is_empty() {
                self.put_before(person, update, &later);
            }
            before.extend(earlier);
        }
        Ok(before)
    }

    /// From here on questions see that the update is coming. Returns the updates that arrived before it.
    fn announce(&self, person: u32, update: &Arc<Update>) -> Vec<Arc<Update>> {
        let oldest = self.under_way.lock().oldest();
        let mut people = self.shards[shard_of(person)].people.lock();
        let one = people.entry(person).or_default();
        one.settle(person, oldest);
        let others = one.unsettled.clone();
        one.unsettled.push(update.clone());
        others
    }

    /// Kronos knows it to be earlier than some that arrived before it.
    fn put_before(&self, person: u32, update: &Arc<Update>, later: &[Arc<Update>]) {
        let mut people = self.shards[shard_of(person)].people.lock();
        let unsettled = &mut people.entry(person).or_default().unsettled;
        unsettled.retain(|one| !Arc::ptr_eq(one, update));
        let is_later = |one: &Arc<Update>| later.iter().any(|other| Arc::ptr_eq(other, one));
        let at = unsettled.iter().position(is_later).unwrap_or(unsettled.len());
        unsettled.insert(at, update.clone());
    }

    fn ask(
        &self,
        load: &Load,
        operation: Operation,
        person: u32,
        held: Arc<Held>,
    ) -> Result<Step, KronosError> {
        let began = self.begin(Some(held.clone()));
        let mut orders = Orders::new();
        load.travel();
        let own = self.read(&[person], &held, &mut orders);
        load.travel();
        let answer = own.and_then(|mut own| {
            let own = own.remove(0);
            load.travel();
            let theirs = self.read(&own, &held, &mut orders)?;
            load.travel();
            Ok(recommend(person, &own, theirs.iter().map(|friends| friends.as_slice())))
        });
        let ended = self.end(began);
        Ok(Step { operation, answer: answer?, event: held.event(), began, ended, orders })
    }

    /// The friends of each, with the updates that come before the question.
    fn read(
        &self,
        people: &[u32],
        question: &Held,
        orders: &mut Orders,
    ) -> Result<Vec<Friends>, KronosError> {
        let oldest = self.under_way.lock().oldest();
        let mut found: Vec<Person> = Vec::with_capacity(people.len());
        for person in people {
            let mut shard = self.shards[shard_of(*person)].people.lock();
            found.push(shard.get_mut(person).map_or_else(Person::default, |one| {
                one.settle(*person, oldest);
                one.clone()
            }));
        }
        let event = question.event();
        let met = found.iter().flat_map(|one| &one.unsettled);
        let constraint = |update: &Arc<Update>| match update.is_committed() {
            true => Constraint::prefer(update.held.event(), Order::Before, event),
            false => Constraint::prefer(update.held.event(), Order::After, event),
        };
        let constraints: Vec<Constraint> = met.map(constraint).collect();
        if !constraints.is_empty() {
            let assigned = self.assign(&constraints, orders)?;
            let mut said = assigned.into_iter();
            for (person, one) in people.iter().zip(&mut found) {
                for update in std::mem::take(&mut one.unsettled) {
                    if said.next().is_some_and(|one| one.order == Order::Before) {
                        with_change(Arc::make_mut(&mut one.friends), update.friend_of(*person), update.add);
                    }
                }
            }
        }
        Ok(found.into_iter().map(|one| one.friends).collect())
    }
}

impl Person {
    /// The earliest updates that all comes after which is under way become part of the friends.
    fn settle(&mut self, person: u32, oldest: u64) {
        let count = self.unsettled.iter().take_while(|one| one.is_settled(oldest)).count();
        for update in self.unsettled.drain(..count) {
            with_change(Arc::make_mut(&mut self.friends), update.friend_of(person), update.add);
        }
    }
}
