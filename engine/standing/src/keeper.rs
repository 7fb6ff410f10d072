//! All standing queries of a database: made, fed commit by commit, read and dropped.
//!
//! A query is made on the thread of whoever asks for it, over a snapshot of its own; when its first answer stands, and it has caught
//! up with the commits made meanwhile, it joins the others. From then on [`Keeper::turn`] feeds all of them; an error in one ends that
//! one alone, with its reason.

use crate::StandingError;
use crate::analysis::analyse;
use crate::follower::{Follower, Gathered, Step};
use crate::limits::{QUERIES_MAX, REMEMBERED_ROWS_MAX};
use crate::network::{Changes, Network, Turn, consolidate};
use crate::row::Row;
use crate::subscription::{Column, Queue, Subscription, SubscriptionEnd};
use crate::view::{Tick, View};
use parking_lot::Mutex;
use plan::Statement;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use transact::{Engine, Moment, Waker};

/// What is known of a standing query.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Rows of its answer, equal ones counted once.
    pub rows: usize,
    /// Who reads it now.
    pub subscribers: usize,
    /// The commit up to which its answer is known.
    pub place: u64,
    /// Why it ended, if it did.
    pub failure: Option<StandingError>,
}

struct Query {
    text: String,
    columns: Arc<[Column]>,
    /// What keeps it, or why nothing does any more.
    work: Result<Work, StandingError>,
    place: u64,
    subscribers: Vec<Weak<Queue>>,
    /// Changes by commit, the oldest first.
    remembered: VecDeque<(u64, u64, Arc<Changes>)>,
    remembered_rows: usize,
    /// Everything after this commit is remembered.
    remembered_from: u64,
}

/// A query that runs.
struct Work {
    statement: Statement,
    network: Network,
}

struct Inner {
    follower: Option<Follower>,
    queries: BTreeMap<String, Query>,
}

/// Keeps the standing queries of one database. Cheap to clone.
#[derive(Clone)]
pub struct Keeper {
    engine: Engine,
    inner: Arc<Mutex<Inner>>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// There was something to do, and may be more.
    More,
    /// Nothing to do until there is another commit.
    Done,
    /// Somebody makes or reads a query at this moment: try again soon.
    InTheWay,
}

/// A query over a snapshot: its answer, and its columns.
fn begin(statement: &Statement, view: &View, tick: Tick) -> Result<(Network, Arc<[Column]>), StandingError> {
    let names = view.newest();
    let shape = analyse(statement, names)?;
    let columns = shape.columns.iter().map(|column| Column {
        title: column.title.clone(),
        at: column.column,
        content: column.content,
    });
    let columns = columns.collect();
    let mut network = Network::new(shape, names)?;
    let turn = Turn { view, tick, touched: None };
    network.advance(&turn, &vec![(Row::unit(), 1)])?;
    Ok((network, columns))
}

impl Query {
    fn new(text: &str, work: Result<Work, StandingError>, columns: Arc<[Column]>, place: u64) -> Query {
        Query {
            text: text.to_string(),
            columns,
            work,
            place,
            subscribers: Vec::new(),
            remembered: VecDeque::new(),
            remembered_rows: 0,
            remembered_from: place,
        }
    }
    /// Feeds it a commit, and tells its subscribers.
    fn advance(&mut self, follower: &Follower, step: &Step) {
        let Ok(work) = &mut self.work else { return };
        if step.place <= self.place {
            return;
        }
        let turn = Turn { view: &follower.view, tick: step.tick, touched: Some(&step.touched) };
        // A query that panics is a bug of ours, and must not become everybody's.
        let outcome = catch_unwind(AssertUnwindSafe(|| work.network.advance(&turn, &Changes::new())));
        let outcome = outcome.unwrap_or_else(|panic| {
            let why = panic.downcast_ref::<&str>().map(|why| why.to_string());
            let why = why.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(StandingError::Failed(format!("internal error: {why}")))
        });
        match outcome {
            Ok(changes) => self.tell(step.place, step.time_micros, changes),
            Err(error) => self.fail(error),
        }
    }
    fn tell(&mut self, place: u64, time_micros: u64, changes: Changes) {
        self.place = place;
        if changes.is_empty() {
            return;
        }
        let changes = Arc::new(changes);
        self.subscribers.retain(|queue| {
            let Some(queue) = queue.upgrade() else { return false };
            queue.changes(place, time_micros, changes.clone());
            !queue.has_ended()
        });
        self.remembered_rows += changes.len();
        self.remembered.push_back((place, time_micros, changes));
        while self.remembered_rows > REMEMBERED_ROWS_MAX {
            let Some((place, _, oldest)) = self.remembered.pop_front() else { break };
            self.remembered_rows -= oldest.len();
            self.remembered_from = place;
        }
    }
    fn progress(&mut self, place: u64) {
        self.place = self.place.max(place);
        self.subscribers.retain(|queue| queue.upgrade().inspect(|queue| queue.progress(place)).is_some());
    }
    fn fail(&mut self, error: StandingError) {
        let end = SubscriptionEnd::Failed(error.to_string());
        self.subscribers
            .drain(..)
            .filter_map(|queue| queue.upgrade())
            .for_each(|queue| queue.end(end.clone()));
        self.work = Err(error);
    }
    fn rows(&self) -> Vec<(Row, isize)> {
        let answer = self.work.iter().flat_map(|work| work.network.answer());
        answer.map(|(row, count)| (row.clone(), count)).collect()
    }
}

impl Keeper {
    /// Keeps the queries of this engine's graph; there are none yet.
    pub fn new(engine: Engine) -> Keeper {
        Keeper { engine, inner: Arc::new(Mutex::new(Inner { follower: None, queries: BTreeMap::new() })) }
    }
    /// Are there queries to feed?
    pub fn is_idle(&self) -> bool {
        self.inner.lock().queries.is_empty()
    }

    /// Makes a query and its first answer. `statement` is normalised, not optimised. `wake` is called whenever [`Keeper::turn`] has
    /// something to do.
    ///
    /// # Errors
    /// The answer cannot be maintained; a row fails; a limit is passed; the name is taken.
    pub fn create(
        &self,
        name: &str,
        text: &str,
        statement: Statement,
        wake: Waker,
    ) -> Result<(), StandingError> {
        self.check_room(name)?;
        let mut own = Follower::begin(&self.engine, None);
        let (network, columns) = begin(&statement, &own.view, own.tick)?;
        let mut query = Query::new(text, Ok(Work { statement, network }), columns, own.place);
        loop {
            own.catch_up(&self.engine, &mut query)?;
            let mut inner = self.inner.lock();
            if inner.follower.is_none() {
                inner.follower = Some(Follower::begin(&self.engine, Some(wake.clone())));
            }
            let others = inner.follower.as_ref().map_or(0, |follower| follower.place);
            // What the others have taken up already would never reach it.
            if others <= query.place {
                check_room(&inner, name)?;
                inner.queries.insert(name.to_string(), query);
                return Ok(());
            }
        }
    }
    /// Keeps the name of a query that could not be made, with the reason, until it is dropped.
    pub fn keep_failed(&self, name: &str, text: &str, error: StandingError) {
        let query = Query::new(text, Err(error), Arc::from([]), self.engine.snapshot().place());
        self.inner.lock().queries.insert(name.to_string(), query);
    }
    fn check_room(&self, name: &str) -> Result<(), StandingError> {
        check_room(&self.inner.lock(), name)
    }
    /// Ends a query and its subscriptions.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_query(&self, name: &str) -> Result<(), StandingError> {
        let mut inner = self.inner.lock();
        let query = inner.queries.remove(name).ok_or_else(|| StandingError::NoSuchQuery(name.to_string()))?;
        query
            .subscribers
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(|queue| queue.end(SubscriptionEnd::Dropped));
        if inner.queries.is_empty() {
            inner.follower = None;
        }
        Ok(())
    }
    /// All queries, in order of their names.
    pub fn list(&self) -> Vec<Standing> {
        let inner = self.inner.lock();
        let describe = |(name, query): (&String, &Query)| Standing {
            name: name.clone(),
            text: query.text.clone(),
            rows: query.work.as_ref().map_or(0, |work| work.network.answer().len()),
            subscribers: query.subscribers.iter().filter(|queue| queue.strong_count() > 0).count(),
            place: query.place,
            failure: query.work.as_ref().err().cloned(),
        };
        inner.queries.iter().map(describe).collect()
    }
    /// Ends all subscriptions: the database is closing.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        for query in inner.queries.values_mut() {
            query
                .subscribers
                .drain(..)
                .filter_map(|queue| queue.upgrade())
                .for_each(|queue| queue.end(SubscriptionEnd::Closed));
        }
        inner.queries.clear();
        inner.follower = None;
    }

    /// Reads a query: from the commit at place `from` on, exclusively, or from now on; with `snapshot`, the whole answer comes first.
    /// Where the changes since `from` are not remembered one by one, but the graph of that commit is kept, they come as one.
    ///
    /// # Errors
    /// No such query; it has failed; `from` lies ahead, or before all that is kept.
    pub fn subscribe(
        &self,
        name: &str,
        from: Option<u64>,
        snapshot: bool,
    ) -> Result<Subscription, StandingError> {
        let mut inner = self.inner.lock();
        let query =
            inner.queries.get_mut(name).ok_or_else(|| StandingError::NoSuchQuery(name.to_string()))?;
        let work = query.work.as_ref().map_err(Clone::clone)?;
        let queue = Arc::new(Queue::default());
        let columns = query.columns.clone();
        match from.filter(|_| !snapshot) {
            None => {
                queue.begin(query.place);
                if snapshot {
                    queue.snapshot(query.place, query.rows());
                }
            }
            Some(from) if from > query.place => {
                return Err(StandingError::Unreached { from, newest: query.place });
            }
            Some(from) if from >= query.remembered_from => {
                queue.begin(from);
                for (place, time_micros, changes) in
                    query.remembered.iter().filter(|(place, ..)| *place > from)
                {
                    queue.changes(*place, *time_micros, changes.clone());
                }
                queue.progress(query.place);
            }
            Some(from) => {
                queue.begin(from);
                let changes = self.since(query, work, from)?;
                if !changes.is_empty() {
                    queue.changes(query.place, world::clock::wall_us(), Arc::new(changes));
                }
                queue.progress(query.place);
            }
        }
        query.subscribers.push(Arc::downgrade(&queue));
        Ok(Subscription { queue, columns })
    }
    /// What the answer has gained and lost since a commit of the past that is kept.
    fn since(&self, query: &Query, work: &Work, from: u64) -> Result<Changes, StandingError> {
        let past = self
            .engine
            .snapshot_at(Moment::Place(from))
            .map_err(|_| StandingError::Forgotten { from, oldest: query.remembered_from })?;
        let (network, _) = begin(&work.statement, &View::new(past), 1)?;
        let mut changes: Changes = query.rows();
        changes.extend(network.answer().map(|(row, count)| (row.clone(), -count)));
        consolidate(&mut changes);
        Ok(changes)
    }

    /// Takes up the commits that came since the last turn. It never waits: somebody who subscribes may be in the way.
    pub fn turn(&self) -> TurnEnd {
        let Some(mut inner) = self.inner.try_lock() else { return TurnEnd::InTheWay };
        let Inner { follower, queries } = &mut *inner;
        let Some(at) = follower else { return TurnEnd::Done };
        match at.gather(&self.engine) {
            Ok(Gathered::Steps(steps)) if steps.is_empty() => TurnEnd::Done,
            Ok(Gathered::Steps(steps)) => {
                let place = steps.last().map_or(at.place, |step| step.place);
                for query in queries.values_mut() {
                    steps.iter().for_each(|step| query.advance(at, step));
                    query.progress(place);
                }
                at.settle();
                TurnEnd::More
            }
            Ok(Gathered::Anew) => {
                let wake = at.waker();
                let mut anew = Follower::begin(&self.engine, wake);
                anew.tick = at.tick + 1;
                queries.values_mut().for_each(|query| query.replace(&anew));
                *at = anew;
                TurnEnd::More
            }
            Err(error) => {
                queries.values_mut().for_each(|query| query.fail(error.clone()));
                TurnEnd::Done
            }
        }
    }
}

impl Query {
    /// The graph was replaced as a whole: the answer is computed anew, and what differs is told as one change.
    fn replace(&mut self, follower: &Follower) {
        let Ok(work) = &self.work else { return };
        match begin(&work.statement, &follower.view, follower.tick) {
            Ok((network, _)) => {
                let mut changes: Changes =
                    network.answer().map(|(row, count)| (row.clone(), count)).collect();
                changes.extend(self.rows().into_iter().map(|(row, count)| (row, -count)));
                consolidate(&mut changes);
                if let Ok(work) = &mut self.work {
                    work.network = network;
                }
                self.tell(follower.place, world::clock::wall_us(), changes);
                self.progress(follower.place);
            }
            Err(error) => self.fail(error),
        }
    }
}

impl Follower {
    /// Feeds one query all commits made since its answer.
    fn catch_up(&mut self, engine: &Engine, query: &mut Query) -> Result<(), StandingError> {
        loop {
            match self.gather(engine)? {
                Gathered::Steps(steps) if steps.is_empty() => return Ok(()),
                Gathered::Steps(steps) => {
                    steps.iter().for_each(|step| query.advance(self, step));
                    query.progress(self.place);
                    self.settle();
                }
                Gathered::Anew => {
                    *self = Follower::begin(engine, None);
                    query.replace(self);
                }
            }
            if let Err(error) = &query.work {
                return Err(error.clone());
            }
        }
    }
}

fn check_room(inner: &Inner, name: &str) -> Result<(), StandingError> {
    if inner.queries.contains_key(name) {
        return Err(StandingError::NameTaken(name.to_string()));
    }
    if inner.queries.len() >= QUERIES_MAX {
        return Err(StandingError::TooMany);
    }
    Ok(())
}
