//! All standing queries of a database: created, fed commit by commit, read and dropped.
//!
//! A query is created on the caller's thread, over a snapshot of its own; when its first answer is computed, and it has caught up with the commits
//! made meanwhile, it joins the others of one *place*, that with the fewest. Each place is fed on its own, on an executor of its own, by
//! [`Keeper::turn`]; an error in one query ends that one alone, with its reason.

use crate::StandingError;
use crate::answer_keeper::Definition;
use crate::follower::{Follower, Gathered};
use crate::installing::Installing;
use crate::limits::{QUERIES_MAX, RESUME_WAIT_MAX};
use crate::mark::Resume;
use crate::query::{Joined, Query};
use crate::resume::{Missed, Resuming};
use crate::row::Row;
use crate::status::{Ledger, Standing};
use crate::subscription::{Begin, Subscription, SubscriptionEnd};
use dataflow::{Service, watch};
use model::Value;
use parking_lot::{Mutex, MutexGuard};
use plan::expr::Name;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::Restriction;
use transact::{Engine, Waker};
use world::clock::{after_ns, monotonic_ns};
use world::failpoint;
use world::fiber;
use world::panics::caught;
use world::threads;

/// How long a list waits in total for places that are at work.
const LIST_WAIT: Duration = Duration::from_millis(20);
/// How long a drop waits for the query's place; after that the place's next turn informs its readers.
const DROP_WAIT: Duration = Duration::from_secs(1);
/// How long a thread that waits for a place to catch up sleeps between checks.
const CATCH_UP_LOOK: Duration = Duration::from_micros(200);
/// How long an executor waits for a place before it yields.
const PLACE_WAIT: Duration = Duration::from_micros(50);

/// The queries of one place.
#[derive(Default)]
struct Inner {
    follower: Option<Follower>,
    queries: BTreeMap<String, Query>,
    /// Time of the last turns by payer, in nanoseconds, until it is taken.
    spent: BTreeMap<u32, u64>,
}

/// Keeps the standing queries of one database. Cheap to clone.
#[derive(Clone)]
pub struct Keeper {
    engine: Engine,
    places: Arc<[Mutex<Inner>]>,
    /// The names of all queries. Locked only to go through them, never while a query is processed; a thread that holds a place may lock it.
    names: Arc<Mutex<BTreeMap<String, QueryEntry>>>,
    /// Makes an account of bytes for a payer, and a service for each query's upkeep.
    ledger: Option<Ledger>,
    upkeep: Option<Upkeep>,
    /// The restriction of all its queries, if there is one.
    restriction: Option<Arc<Restriction>>,
    /// Readers that resume and must read the log are served one after the other: each also computes an answer anew.
    resuming: Arc<Mutex<()>>,
}

/// The place of a query, and its status for when that place is at work.
struct QueryEntry {
    at: usize,
    upkeep: Option<Service>,
    shown: Arc<Mutex<Standing>>,
    leaves: Arc<OnceLock<SubscriptionEnd>>,
    /// Wakes its place.
    wake: Waker,
}

impl QueryEntry {
    /// Marks it as leaving, and ends its upkeep; its readers get this end.
    fn leave(&self, end: SubscriptionEnd, why: &str) {
        // Who said so first was heard.
        let _ = self.leaves.set(end);
        self.upkeep.iter().for_each(|upkeep| upkeep.end(why));
    }
}

/// Makes the service of a query's upkeep, from its payer and its name in lists.
pub type Upkeep = Arc<dyn Fn(u32, String) -> Service + Send + Sync>;

/// Called with the number of a place that has work; it must return at once.
pub type PlaceWaker = Arc<dyn Fn(usize) + Send + Sync>;

/// The end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// There was something to do, and may be more.
    More,
    /// Nothing to do until there is another commit.
    Done,
    /// A thread creates or reads a query at this moment: try again soon.
    InTheWay,
}

impl Keeper {
    /// A keeper for this engine's graph with `places` places; there are no queries yet.
    pub fn new(engine: Engine, places: usize) -> Keeper {
        Keeper {
            engine,
            places: (0..places.max(1)).map(|_| Mutex::default()).collect(),
            names: Arc::default(),
            ledger: None,
            upkeep: None,
            restriction: None,
            resuming: Arc::default(),
        }
    }
    /// Another keeper of as many places, on the same accounts, whose queries are answered under this restriction.
    pub fn beside(&self, restriction: Arc<Restriction>) -> Keeper {
        Keeper {
            engine: self.engine.clone(),
            places: self.places.iter().map(|_| Mutex::default()).collect(),
            names: Arc::default(),
            ledger: self.ledger.clone(),
            upkeep: self.upkeep.clone(),
            restriction: Some(restriction),
            resuming: Arc::default(),
        }
    }
    fn begin(&self, waker: Option<Waker>) -> Follower {
        Follower::begin(&self.engine, waker, self.restriction.as_ref())
    }
    /// Counts the bytes of queries made from now on in these accounts.
    pub fn charging(self, ledger: Ledger) -> Keeper {
        Keeper { ledger: Some(ledger), ..self }
    }
    /// The upkeep of queries created from now on is listed, limited and ended as these services are. Turns are made by the woken executors, never by
    /// readers.
    pub fn serving(self, upkeep: Upkeep) -> Keeper {
        Keeper { upkeep: Some(upkeep), ..self }
    }

    /// Creates a query and its first answer. `wake` is called whenever [`Keeper::turn`] has something to do. `payer` is charged from then on; the
    /// first answer is charged to the caller.
    ///
    /// # Errors
    /// The answer cannot be maintained; a row fails; a limit is passed; the name is taken.
    pub fn create(
        &self,
        name: &str,
        text: &str,
        definition: impl Into<Definition>,
        payer: u32,
        wake: PlaceWaker,
    ) -> Result<(), StandingError> {
        self.create_within(name, text, definition, payer, wake, &Arc::default())
    }
    /// As [`Keeper::create`], within these bounds.
    ///
    /// # Errors
    /// As there; a bound is passed.
    pub fn create_within(
        &self,
        name: &str,
        text: &str,
        definition: impl Into<Definition>,
        payer: u32,
        wake: PlaceWaker,
        bounds: &Arc<Installing>,
    ) -> Result<(), StandingError> {
        let at = self.check_room(name, &self.names.lock())?;
        let wake: Waker = Arc::new(move || wake(at));
        let begin_ns = watch::work_clock_ns();
        let mut own = self.begin(None);
        own.view.bounds = Some(bounds.clone());
        bounds.charge(self.ledger.as_ref().map(|ledger| ledger(payer)));
        let query = Query::begin((name, text), definition.into(), &own.view, own.timestamp, own.at);
        bounds.charge(None);
        let mut query = query?;
        query.payer = payer;
        query.held = self.ledger.as_ref().map(|ledger| ledger(payer));
        query.upkeep =
            self.upkeep.as_ref().map(|upkeep| upkeep(payer, format!("upkeep of STANDING QUERY {name}")));
        query.charge()?;
        query.used_ns = watch::work_clock_ns() - begin_ns;
        loop {
            catch_up(&mut own, &self.engine, &mut query)?;
            let mut inner = lock_watched(&self.places[at])?;
            let others = inner.follower.get_or_insert_with(|| self.begin(Some(wake.clone())));
            // What the others have taken up already would never reach it.
            if others.at.commit_version <= query.at.commit_version {
                let mut names = self.names.lock();
                self.check_room(name, &names)?;
                query.show();
                let (upkeep, shown, leaves) =
                    (query.upkeep.clone(), query.shown.clone(), query.leaves.clone());
                names.insert(name.to_string(), QueryEntry { at, upkeep, shown, leaves, wake });
                drop(names);
                // One of the same name may be about to leave.
                if let Some(mut before) = inner.queries.insert(name.to_string(), query) {
                    before.end_all(&SubscriptionEnd::Dropped);
                }
                return Ok(());
            }
        }
    }
    /// The place for a query of this name: the one with the fewest.
    fn check_room(&self, name: &str, names: &BTreeMap<String, QueryEntry>) -> Result<usize, StandingError> {
        if names.contains_key(name) {
            return Err(StandingError::NameTaken(name.to_string()));
        }
        if names.len() >= QUERIES_MAX {
            return Err(StandingError::TooMany);
        }
        let load = |at: &usize| names.values().filter(|kept| kept.at == *at).count();
        Ok((0..self.places.len()).min_by_key(load).unwrap_or(0))
    }
    /// Ends a query and its subscriptions, and its upkeep if that is at work. Its name is free at once; where its place is at work for long, its
    /// state and its readers go with the next turn there.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_query(&self, name: &str) -> Result<(), StandingError> {
        let kept = self.names.lock().remove(name).ok_or_else(|| no_such(name))?;
        kept.leave(SubscriptionEnd::Dropped, "it was dropped");
        let until_ns = monotonic_ns() + DROP_WAIT.as_nanos() as u64;
        match lock_until(&self.places[kept.at], until_ns) {
            Ok(Some(mut inner)) => inner.part(),
            _ => (kept.wake)(),
        }
        Ok(())
    }
    /// Is there a query of this name?
    pub fn has(&self, name: &str) -> bool {
        self.names.lock().contains_key(name)
    }
    /// All queries, in order of their names. The status of those whose place is at work for longer than a moment is the last known one.
    pub fn list(&self) -> Vec<Standing> {
        let until_ns = monotonic_ns() + LIST_WAIT.as_nanos() as u64;
        for place in self.places.iter() {
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            if let Some(inner) = place.try_lock_for(left) {
                inner.queries.values().for_each(Query::show_readers);
            }
        }
        self.names.lock().values().map(|kept| kept.shown.lock().clone()).collect()
    }
    /// Ends all subscriptions, and all upkeep: the database is closing.
    pub fn close(&self) {
        for (_, kept) in std::mem::take(&mut *self.names.lock()) {
            kept.leave(SubscriptionEnd::Closed, "the database is closing");
        }
        for place in self.places.iter() {
            let mut inner = lock_pausing(place);
            inner.part();
            inner.queries.values_mut().for_each(|query| query.end_all(&SubscriptionEnd::Closed));
            *inner = Inner::default();
        }
    }

    /// Subscribes to a query with these arguments: changes since a mark or a commit, or from now on; or the whole answer first. Changes that are not
    /// remembered are read from the log, commit by commit.
    ///
    /// # Errors
    /// No such query; it has failed; an argument is missing; the mark is of another answer or database, lies ahead, or before all that is kept.
    pub fn subscribe(
        &self,
        name: &str,
        argument: &dyn Fn(&Name) -> Option<Value>,
        begin: Begin,
    ) -> Result<Subscription, StandingError> {
        let begin = Begin { from: begin.from.filter(|_| !begin.snapshot), ..begin };
        let joined = self.with_query(name, argument, |query, arguments, follower| {
            query.subscribe(arguments, begin, follower, self.ledger.as_ref())
        })?;
        match (joined, begin.from) {
            (Joined::Missed(missed), Some(from)) => self.resume(name, argument, from, missed),
            (Joined::Reads(subscription), _) => Ok(subscription),
            (Joined::Missed(_), None) => unreachable!("who resumes nothing has missed nothing"),
        }
    }
    /// Reads the changes that a reader has missed from the log, up to those that the query remembers.
    fn resume(
        &self,
        name: &str,
        argument: &dyn Fn(&Name) -> Option<Value>,
        from: Resume,
        missed: Missed,
    ) -> Result<Subscription, StandingError> {
        let until_ns = after_ns(RESUME_WAIT_MAX);
        let _one_at_a_time = lock_until(&self.resuming, until_ns)?.ok_or(StandingError::Busy)?;
        self.look_up(name, argument, from, missed)
    }
    fn look_up(
        &self,
        name: &str,
        argument: &dyn Fn(&Name) -> Option<Value>,
        from: Resume,
        missed: Missed,
    ) -> Result<Subscription, StandingError> {
        let answer = missed.answer;
        let mut resuming = Resuming::begin(&self.engine, from, missed, self.restriction.as_ref())?;
        loop {
            let has_enough = resuming.catch_up()?;
            let (at, queue) = (resuming.at, &resuming.queue);
            let joined = self.with_query(name, argument, |query, arguments, follower| match has_enough {
                // Another one of the same name was made meanwhile.
                _ if query.fingerprint(arguments) != answer => Err(no_such(name)),
                true => Ok(Some(query.reader_of(arguments, queue.clone()))),
                false => query.join(arguments, at.commit_version, queue, follower),
            })?;
            if let Some(mut subscription) = joined {
                subscription.base = resuming.base;
                return Ok(subscription);
            }
        }
    }
    /// Locks the place of a query, once it has processed all present commits. Upkeep takes its time: the waiting caller can be ended.
    fn lock_caught_up(&self, name: &str) -> Result<MutexGuard<'_, Inner>, StandingError> {
        let place_of = |kept: &QueryEntry| (kept.at, kept.wake.clone());
        let (at, wake) = self.names.lock().get(name).map(place_of).ok_or_else(|| no_such(name))?;
        let newest = self.engine.snapshot().commit_version();
        loop {
            let mut inner = lock_watched(&self.places[at])?;
            if self.upkeep.is_none() {
                inner.turn(&self.engine);
            }
            if !inner.is_behind(newest) {
                return Ok(inner);
            }
            drop(inner);
            wake();
            watch::spend(watch::UNITS_PER_LOOK)?;
            match fiber::is_running() {
                true => watch::give_way(),
                false => threads::sleep(CATCH_UP_LOOK),
            }
        }
    }
    /// Does something with a query and its arguments, when all that was committed is taken up.
    fn with_query<T>(
        &self,
        name: &str,
        argument: &dyn Fn(&Name) -> Option<Value>,
        work: impl FnOnce(&mut Query, &Row, &mut Follower) -> Result<T, StandingError>,
    ) -> Result<T, StandingError> {
        let mut inner = self.lock_caught_up(name)?;
        let Inner { follower, queries, .. } = &mut *inner;
        let begin_ns = watch::work_clock_ns();
        let there = queries.get_mut(name).filter(|query| query.leaves.get().is_none());
        let query = there.ok_or_else(|| no_such(name))?;
        let given =
            |name: &Name| argument(name).ok_or_else(|| StandingError::MissingArgument(name.to_string()));
        let arguments = query.parameters.iter().map(given).collect::<Result<Vec<_>, _>>()?;
        if let Some(follower) = follower.as_mut() {
            query.withdraw(follower, monotonic_ns());
        }
        let outcome = match (follower, query.failure()) {
            (_, Some(error)) => Err(error.clone()),
            (None, None) => Err(no_such(name)),
            (Some(follower), None) => work(query, &Row::new(arguments), follower),
        };
        query.used_ns += watch::work_clock_ns() - begin_ns;
        outcome
    }

    /// Time that turns of a place have spent since the last call: payers and nanoseconds.
    pub fn take_spent(&self, at: usize) -> Vec<(u32, u64)> {
        let inner = self.places[at].try_lock();
        inner.map(|mut inner| std::mem::take(&mut inner.spent).into_iter().collect()).unwrap_or_default()
    }

    /// Processes, in one place, the commits since its last turn. It never waits: a subscriber may hold the lock.
    pub fn turn(&self, at: usize) -> TurnEnd {
        let Some(mut inner) = self.places[at].try_lock() else { return TurnEnd::InTheWay };
        if inner.turn(&self.engine) { TurnEnd::More } else { TurnEnd::Done }
    }
}

impl Inner {
    /// True where there was something to do. After a panic outside of any one query the gathered commits are lost: all queries begin anew from the
    /// newest snapshot; if that fails too, they end.
    fn turn(&mut self, engine: &Engine) -> bool {
        self.part();
        let turned = caught(|| self.take_up(engine)).or_else(|_| caught(|| self.begin_anew(engine)));
        // Some may have been told to leave meanwhile.
        self.part();
        turned.unwrap_or_else(|why| {
            self.queries.values_mut().for_each(|query| query.fail(why.clone().into()));
            self.follower = None;
            false
        })
    }
    /// Those that are to leave do.
    fn part(&mut self) {
        let before = self.queries.len();
        self.queries.retain(|_, query| {
            let end = query.leaves.get().cloned();
            end.iter().for_each(|end| query.end_all(end));
            end.is_none()
        });
        if self.queries.is_empty() && before > 0 {
            self.follower = None;
        }
    }
    /// Is a commit up to this version unprocessed?
    fn is_behind(&self, newest: u64) -> bool {
        self.follower.as_ref().is_some_and(|follower| follower.at.commit_version < newest)
    }
    fn begin_anew(&mut self, engine: &Engine) -> bool {
        failpoint::visit("queries begin anew");
        let Some(follower) = &mut self.follower else { return false };
        *follower = follower.begin_anew(engine);
        self.queries.values_mut().for_each(|query| query.replace(follower));
        true
    }
    fn take_up(&mut self, engine: &Engine) -> bool {
        failpoint::visit("turn of a place");
        let Some(follower) = &mut self.follower else { return false };
        match follower.gather(engine) {
            Ok(Gathered::Steps(steps)) if steps.is_empty() => false,
            Ok(Gathered::Steps(steps)) => {
                let at = follower.at;
                let mut begin_ns = watch::work_clock_ns();
                for query in self.queries.values_mut() {
                    failpoint::visit("turn of a place, within");
                    steps.iter().for_each(|step| query.advance(&follower.view, step));
                    query.progress(at);
                    query.show();
                    let end_ns = watch::work_clock_ns();
                    query.used_ns += end_ns - begin_ns;
                    *self.spent.entry(query.payer).or_insert(0) += end_ns - begin_ns;
                    begin_ns = end_ns;
                }
                follower.settle();
                self.queries.values_mut().for_each(|query| query.withdraw(follower, monotonic_ns()));
                true
            }
            Ok(Gathered::Anew) => self.begin_anew(engine),
            Err(error) => {
                self.queries.values_mut().for_each(|query| query.fail(error.clone()));
                // What was taken off the feed is lost to it; whoever makes a query begins another.
                self.follower = None;
                false
            }
        }
    }
}

/// Feeds one query all commits made since its answer.
fn catch_up(follower: &mut Follower, engine: &Engine, query: &mut Query) -> Result<(), StandingError> {
    loop {
        match follower.gather(engine)? {
            Gathered::Steps(steps) if steps.is_empty() => return Ok(()),
            Gathered::Steps(steps) => {
                steps.iter().for_each(|step| query.advance(&follower.view, step));
                query.progress(follower.at);
                follower.settle();
            }
            Gathered::Anew => {
                let bounds = follower.view.bounds.take();
                *follower = follower.begin_anew(engine);
                follower.view.bounds = bounds;
                query.replace(follower);
            }
        }
        if let Some(error) = query.failure() {
            return Err(error.clone());
        }
    }
}

/// Locks a place whose holder may pause on this very thread: the wait lets others go on.
fn lock_pausing<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    while fiber::is_running() {
        match place.try_lock() {
            Some(inner) => return inner,
            None => watch::give_way(),
        }
    }
    place.lock()
}

/// Likewise, for work that may be ended meanwhile.
fn lock_watched<T>(place: &Mutex<T>) -> Result<MutexGuard<'_, T>, StandingError> {
    Ok(lock_until(place, u64::MAX)?.unwrap_or_else(|| place.lock()))
}

/// Likewise, until this reading of the clock; `None` where it is not free by then.
fn lock_until<T>(place: &Mutex<T>, until_ns: u64) -> Result<Option<MutexGuard<'_, T>>, StandingError> {
    loop {
        if let Some(inner) = place.try_lock_for(PLACE_WAIT) {
            return Ok(Some(inner));
        }
        watch::spend(watch::UNITS_PER_LOOK)?;
        if monotonic_ns() >= until_ns {
            return Ok(None);
        }
        watch::give_way();
    }
}

fn no_such(name: &str) -> StandingError {
    StandingError::NoSuchQuery(name.to_string())
}
