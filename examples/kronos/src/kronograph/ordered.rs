//! The store whose operations are ordered by Kronos.
//!
//! Invariants: the unsettled updates of a person stand in the order of Kronos; when an update is committed, all that are before it anywhere are, too;
//! each committed update is after the one committed before it, so that what a question sees is the beginning of that chain (else one question could see the
//! first of two unrelated updates and not the second, and another the second and not the first); a question is before every update
//! that it might have missed.

use super::{Friends, Operation, SHARDS, Social, Step, recommend, shard_of, with_change};
use crate::{Events, Held, Load};
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tanglewood_kronos::{Assigned, BATCH_MAX, Constraint, Event, KronosError, Order};

pub(super) struct Store {
    events: Events,
    shards: Vec<Shard>,
    under_way: Mutex<UnderWay>,
    committed: Condvar,
    /// The update that was committed last.
    latest: Mutex<Option<Arc<Update>>>,
    calls: AtomicU64,
}

struct Shard {
    people: Mutex<HashMap<u32, Person>>,
    /// One update at a time is placed.
    placing: Mutex<()>,
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
    /// What begins with this number or a later one comes after it; 0 until it is committed.
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

/// What Kronos answered to one operation.
type Orders = Vec<(Event, Event)>;

impl Store {
    pub(super) fn new(events: Events, social: &Social) -> Store {
        let shard = |_| Shard { people: Mutex::default(), placing: Mutex::default() };
        let shards: Vec<Shard> = (0..SHARDS).map(shard).collect();
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
            under_way: Mutex::new(under_way),
            committed: Condvar::new(),
            latest: Mutex::default(),
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
    /// Over. Returns the number of what begins next.
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
        let (mut orders, mut before) = (Orders::new(), Vec::new());
        load.travel();
        for person in [update.one, update.other] {
            before.extend(self.place(person, &update, &mut orders)?);
        }
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

    /// From here on everything that begins sees the update. Returns the number of what begins next.
    fn commit(&self, number: u64, update: &Arc<Update>, orders: &mut Orders) -> Result<u64, KronosError> {
        let mut latest = self.latest.lock();
        let oldest = self.under_way.lock().oldest();
        if let Some(latest) = latest.as_ref().filter(|latest| !latest.is_settled(oldest)) {
            let chain = Constraint::must(latest.held.event(), Order::Before, update.held.event());
            self.assign(&[chain], orders)?;
        }
        let mut under_way = self.under_way.lock();
        let ended = under_way.next;
        update.horizon.store(ended, Ordering::SeqCst);
        under_way.operations.remove(&number);
        drop(under_way);
        *latest = Some(update.clone());
        self.committed.notify_all();
        Ok(ended)
    }

    /// Puts an update among those of one of its persons. Returns those before it.
    fn place(
        &self,
        person: u32,
        update: &Arc<Update>,
        orders: &mut Orders,
    ) -> Result<Vec<Arc<Update>>, KronosError> {
        let shard = &self.shards[shard_of(person)];
        let _alone = shard.placing.lock();
        let others = {
            let oldest = self.under_way.lock().oldest();
            let mut people = shard.people.lock();
            let one = people.entry(person).or_default();
            one.settle(person, oldest);
            let others = one.unsettled.clone();
            // From here on questions see that it is coming.
            one.unsettled.push(update.clone());
            others
        };
        let questions: Vec<Arc<Held>> =
            self.under_way.lock().operations.values().flatten().cloned().collect();
        let event = update.held.event();
        let ask_before = |held: &Arc<Held>| Constraint::must(held.event(), Order::Before, event);
        let like_before = |one: &Arc<Update>| Constraint::prefer(one.held.event(), Order::Before, event);
        let constraints: Vec<Constraint> =
            others.iter().map(like_before).chain(questions.iter().map(ask_before)).collect();
        if constraints.is_empty() {
            return Ok(Vec::new());
        }
        let assigned = self.assign(&constraints, orders)?;
        let is_before = |at: &usize| assigned[*at].order == Order::Before;
        let before: Vec<Arc<Update>> =
            (0..others.len()).filter(is_before).map(|at| others[at].clone()).collect();
        if before.len() < others.len() {
            // Kronos knows it to be earlier than some that arrived before it.
            let mut people = shard.people.lock();
            let unsettled = &mut people.entry(person).or_default().unsettled;
            unsettled.retain(|one| !Arc::ptr_eq(one, update));
            let is_later = |one: &Arc<Update>| {
                others.iter().position(|other| Arc::ptr_eq(other, one)).is_some_and(|at| !is_before(&at))
            };
            let at = unsettled.iter().position(is_later).unwrap_or(unsettled.len());
            unsettled.insert(at, update.clone());
        }
        Ok(before)
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
