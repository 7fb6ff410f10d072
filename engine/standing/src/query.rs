//! One standing query: its network, its remembered changes, and its readers.
//!
//! A query with parameters is one network for all arguments: they are rows of its first step, given and withdrawn as readers come and go, and each
//! reader gets the rows that belong to its arguments.

use crate::StandingError;
use crate::answer_keeper::{AnswerKeeper, Definition};
use crate::error::{caught, too_large};
use crate::event_context::{Changes, EventContext, consolidate, in_order};
use crate::follower::{Follower, Step};
use crate::limits::{LINGER_NS, LINGERING_MAX, REMEMBERED_ROWS_MAX, WITHDRAW_EVERY_NS};
use crate::mark::{Resume, fingerprint};
use crate::resume::Missed;
use crate::row::Row;
use crate::status::{Ledger, Standing, State};
use crate::subscription::{Begin, Column, Pulse, Queue, Subscription, SubscriptionEnd};
use crate::table::HashMap;
use crate::view::{Timestamp, View};
use dataflow::{AccountedBytes, Ending, Service};
use parking_lot::Mutex;
use plan::expr::Name;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};
use transact::Point;
use world::failpoint;

/// Readers with the same arguments.
struct Readers {
    arguments: Row,
    queues: Vec<Weak<Queue>>,
    /// The commit from which on changes for these arguments are remembered.
    since: u64,
    /// When it was first noticed that there are no readers.
    left_ns: Option<u64>,
}

/// A query that runs.
struct Work {
    definition: Arc<Definition>,
    kept: AnswerKeeper,
}

/// Changes of one commit.
struct Remembered {
    at: Point,
    changes: Changes,
}

/// A reader, or one that has missed so much that the log must be read.
pub(crate) enum Joined {
    Reads(Subscription),
    Missed(Missed),
}

/// One standing query.
pub(crate) struct Query {
    name: String,
    pub text: String,
    pub columns: Arc<[Column]>,
    pub parameters: Arc<[Name]>,
    /// The commit up to which its answer is known.
    pub at: Point,
    /// The tenant that pays for it.
    pub payer: u32,
    /// Time spent on it, nanoseconds.
    pub used_ns: u64,
    /// Where its bytes are counted.
    pub held: Option<AccountedBytes>,
    /// Its upkeep, as lists of running queries show it.
    pub upkeep: Option<Service>,
    /// Its status for lists of standing queries.
    pub shown: Arc<Mutex<Standing>>,
    /// Set once it is to leave: the end that its readers get.
    pub leaves: Arc<OnceLock<SubscriptionEnd>>,
    /// Its network, or why it has failed.
    work: Result<Work, StandingError>,
    /// By their arguments.
    readers: HashMap<Row, Readers>,
    /// Arguments without readers that are not withdrawn yet.
    lingering: usize,
    /// When that was looked at last.
    withdrawn_ns: u64,
    pulse: Arc<Pulse>,
    remembered: VecDeque<Remembered>,
    remembered_rows: usize,
    /// Everything after this commit is remembered.
    remembered_from: u64,
}

impl Query {
    /// A query over the graph of `view`, at this commit; without parameters it has its first answer at once.
    ///
    /// # Errors
    /// It cannot be maintained, or a row fails.
    pub fn begin(
        (name, text): (&str, &str),
        definition: Definition,
        view: &View,
        timestamp: Timestamp,
        at: Point,
    ) -> Result<Query, StandingError> {
        let turn = EventContext { view, timestamp, touched: None };
        let ((columns, parameters), kept) = caught(|| definition.begin(&turn, None))?;
        let work = Work { definition: Arc::new(definition), kept };
        Ok(Query { columns, parameters, ..Query::of(name, text, Ok(work), at) })
    }
    fn of(name: &str, text: &str, work: Result<Work, StandingError>, at: Point) -> Query {
        Query {
            name: name.to_string(),
            text: text.to_string(),
            columns: Arc::from([]),
            parameters: Arc::from([]),
            at,
            payer: 0,
            used_ns: 0,
            held: None,
            upkeep: None,
            shown: Arc::new(Mutex::new(Standing::not_running(name, text, 0, State::Running))),
            leaves: Arc::default(),
            work,
            readers: HashMap::default(),
            lingering: 0,
            withdrawn_ns: 0,
            pulse: Arc::new(Pulse::at(at)),
            remembered: VecDeque::new(),
            remembered_rows: 0,
            remembered_from: at.commit_version,
        }
    }
    /// Why it ended, if it did.
    pub fn failure(&self) -> Option<&StandingError> {
        self.work.as_ref().err()
    }
    /// Rows of all its answers.
    pub fn rows(&self) -> usize {
        self.work.as_ref().map_or(0, |work| work.kept.rows())
    }
    /// Estimated bytes of its state.
    pub fn bytes(&self) -> usize {
        self.work.as_ref().map_or(0, |work| work.kept.bytes())
    }
    /// Charges its bytes to the payer's account.
    ///
    /// # Errors
    /// There is no room.
    pub fn charge(&mut self) -> Result<(), StandingError> {
        let bytes = self.bytes() as u64;
        self.upkeep.iter().for_each(|upkeep| upkeep.keeps(bytes));
        let outcome = self.held.as_mut().map_or(Ok(()), |held| held.set(bytes));
        outcome.map_err(too_large)
    }
    /// Likewise; where there is no room only because of others' bytes, they are counted and it goes on.
    fn count(&mut self) -> Result<(), StandingError> {
        self.charge().or_else(|error| match error {
            StandingError::TooLarge { limit, .. } if self.bytes() <= limit => Ok(()),
            error => Err(error),
        })
    }
    /// Updates its status in lists.
    pub fn show(&self) {
        let mut shown = self.shown.lock();
        shown.state = if self.work.is_err() { State::Failed } else { State::Running };
        (shown.rows, shown.bytes) = (self.rows(), self.bytes());
        (shown.commit_version, shown.payer, shown.used_ns) =
            (self.at.commit_version, self.payer, self.used_ns);
        shown.failure = self.failure().cloned();
    }
    /// Likewise, and counts its readers.
    pub fn show_readers(&self) {
        self.show();
        self.shown.lock().subscribers = self.subscribers();
    }
    /// Number of readers.
    pub fn subscribers(&self) -> usize {
        let queues = self.readers.values().flat_map(|readers| &readers.queues);
        queues.filter(|queue| queue.strong_count() > 0).count()
    }

    /// Feeds it a commit, and sends the changes to its readers.
    pub fn advance(&mut self, view: &View, step: &Step) {
        if step.at.commit_version <= self.at.commit_version {
            return;
        }
        let turn = self.upkeep.as_ref().map(Service::begin);
        let fed = self.feed(view, step.timestamp, Some(step), &Changes::new());
        drop(turn);
        match fed {
            Ok(changes) => {
                self.tell(step.at, changes);
                if self.work.as_ref().is_ok_and(|work| work.kept.is_worn()) {
                    self.renew(view, step.timestamp);
                }
            }
            Err(error) => self.fail(error),
        }
    }
    /// Takes a timestamp through the network. After an error its state must not be used any more.
    fn feed(
        &mut self,
        view: &View,
        timestamp: Timestamp,
        step: Option<&Step>,
        arguments: &Changes,
    ) -> Result<Changes, StandingError> {
        let work = self.work.as_mut().map_err(|error| error.clone())?;
        let turn = EventContext { view, timestamp, touched: step.map(|step| &step.touched) };
        // A query that panics is a bug of ours, and must not become everybody's.
        let changes = caught(|| {
            failpoint::visit("upkeep of a query");
            work.kept.advance(&turn, arguments)
        })?;
        self.count()?;
        Ok(changes)
    }
    /// Rebuilds its state for the present readers: their answers stay the same. An error ends the query.
    fn renew(&mut self, view: &View, timestamp: Timestamp) {
        let arguments = self.given();
        if self.work.is_err() {
            return;
        }
        let Ok(Work { definition, kept }) =
            std::mem::replace(&mut self.work, Err(StandingError::Failed(String::new())))
        else {
            return;
        };
        // Not two of them at once, nor twice on the account.
        drop(kept);
        let _ = self.charge();
        let _turn = self.upkeep.as_ref().map(Service::begin);
        self.work = definition.anew(view, timestamp, &arguments).map(|kept| Work { definition, kept });
        let outcome = match &self.work {
            Ok(_) => self.count(),
            Err(error) => Err(error.clone()),
        };
        if let Err(error) = outcome {
            self.fail(error);
        }
    }
    /// The arguments of the present readers.
    fn given(&self) -> Changes {
        match self.parameters.is_empty() {
            true => vec![(Row::unit(), 1)],
            false => self.readers.values().map(|readers| (readers.arguments.clone(), 1)).collect(),
        }
    }
    fn tell(&mut self, at: Point, mut changes: Changes) {
        self.at = at;
        in_order(&mut changes);
        if changes.is_empty() {
            return;
        }
        for (key, changes) in self.by_arguments(&changes) {
            let Some(readers) = self.readers.get_mut(&key) else { continue };
            let changes = Arc::new(changes);
            readers.queues.retain(|queue| {
                let Some(queue) = queue.upgrade() else { return false };
                queue.changes(at, changes.clone());
                !queue.has_ended()
            });
        }
        self.remembered_rows += changes.len();
        self.remembered.push_back(Remembered { at, changes });
        while self.remembered_rows > REMEMBERED_ROWS_MAX {
            let Some(oldest) = self.remembered.pop_front() else { break };
            self.remembered_rows -= oldest.changes.len();
            self.remembered_from = oldest.at.commit_version;
        }
    }
    /// By the arguments that they belong to.
    fn by_arguments(&self, changes: &Changes) -> HashMap<Row, Changes> {
        let mut found: HashMap<Row, Changes> = HashMap::default();
        if let Ok(work) = &self.work {
            for (row, diff) in changes {
                found.entry(work.kept.arguments_of(row)).or_default().push((row.clone(), *diff));
            }
        }
        found
    }
    /// Commits up to here are processed.
    pub fn progress(&mut self, at: Point) {
        if self.at.commit_version < at.commit_version {
            self.at = at;
        }
        if self.pulse.advance(self.at) {
            self.readers.values().flat_map(|readers| &readers.queues).for_each(|queue| {
                queue.upgrade().inspect(|queue| queue.wake());
            });
        }
    }
    /// Fails it with this reason, or with the one for which its upkeep was ended.
    pub fn fail(&mut self, error: StandingError) {
        let error = match self.upkeep.as_ref().and_then(Service::ending) {
            Some(Ending::Told(why)) => StandingError::Ended(why),
            Some(Ending::Time(time_ns)) => StandingError::TimedOut(time_ns),
            Some(Ending::Bytes(level, limit)) => too_large((level, limit)),
            None => error,
        };
        // Whoever takes it away ends its upkeep, too.
        let end = self.leaves.get().cloned();
        self.end_all(&end.unwrap_or_else(|| SubscriptionEnd::Failed(error.to_string())));
        self.work = Err(error);
        self.held = None;
    }
    /// Ends all subscriptions.
    pub fn end_all(&mut self, end: &SubscriptionEnd) {
        let queues = self.readers.drain().flat_map(|(_, readers)| readers.queues);
        queues.filter_map(|queue| queue.upgrade()).for_each(|queue| queue.end(end.clone()));
    }

    /// A new reader of the answer for these arguments: after the point it has reached, from now on, or with the whole answer first. The follower has
    /// processed all that this query has.
    pub fn subscribe(
        &mut self,
        arguments: &Row,
        begin: Begin,
        follower: &mut Follower,
        ledger: Option<&Ledger>,
    ) -> Result<Joined, StandingError> {
        if let Err(error) = &self.work {
            return Err(error.clone());
        }
        let queue = Arc::new(Queue::default());
        let Some(from) = begin.from else {
            self.admit(arguments, follower)?;
            match begin.snapshot {
                true => queue.snapshot(self.at, self.answer(arguments)),
                false => queue.begin(self.at),
            }
            let mut subscription = self.read(arguments, queue);
            subscription.base = (begin.with_base && !begin.snapshot).then(|| self.answer(arguments));
            return Ok(Joined::Reads(subscription));
        };
        if let Resume::Mark(mark) = from
            && !mark.is_of(self.fingerprint(arguments))
        {
            return Err(StandingError::ForeignMark);
        }
        if from.commit_version() > self.at.commit_version {
            return Err(StandingError::Unreached {
                from: from.commit_version(),
                newest: self.at.commit_version,
            });
        }
        let since = self.admit(arguments, follower)?;
        let known = follower.known(from.commit_version());
        let fits = match (known, from) {
            (Some(at), _) if !from.fits(at) => return Err(StandingError::ForeignMark),
            (Some(at), _) => Some(at),
            // Where nothing is on disk, a commit version is taken at its word.
            (None, Resume::Commit(_)) => None,
            (None, Resume::Mark(_)) => return self.missed(arguments, begin, ledger).map(Joined::Missed),
        };
        if from.commit_version() < since {
            return self.missed(arguments, begin, ledger).map(Joined::Missed);
        }
        fits.inspect(|at| queue.begin(*at));
        self.go_on(arguments, from.commit_version(), &queue);
        let mut subscription = self.read(arguments, queue);
        subscription.base = begin.with_base.then(|| self.answer_at(arguments, from.commit_version()));
        Ok(Joined::Reads(subscription))
    }
    /// The answer as it was right behind a commit since which all is remembered.
    fn answer_at(&self, arguments: &Row, commit_version: u64) -> Changes {
        let mut answer = self.answer(arguments);
        for one in self.remembered_since(commit_version) {
            let changes = self.by_arguments(&one.changes).remove(arguments).unwrap_or_default();
            answer.extend(changes.into_iter().map(|(row, count)| (row, -count)));
        }
        consolidate(&mut answer);
        answer
    }
    fn remembered_since(&self, commit_version: u64) -> impl Iterator<Item = &Remembered> {
        let first = self.remembered.partition_point(|one| one.at.commit_version <= commit_version);
        self.remembered.range(first..)
    }
    /// A reader that got everything up to the commit at version `from`, and missed no more than is remembered. None where it did.
    pub fn join(
        &mut self,
        arguments: &Row,
        from: u64,
        queue: &Arc<Queue>,
        follower: &mut Follower,
    ) -> Result<Option<Subscription>, StandingError> {
        if let Err(error) = &self.work {
            return Err(error.clone());
        }
        if from < self.admit(arguments, follower)? {
            return Ok(None);
        }
        self.go_on(arguments, from, queue);
        Ok(Some(self.read(arguments, queue.clone())))
    }
    /// A reader of the events in its queue, whether or not more will come.
    pub fn reader_of(&self, arguments: &Row, queue: Arc<Queue>) -> Subscription {
        let answer = self.fingerprint(arguments);
        Subscription::new(queue, self.columns.clone(), self.pulse.clone(), answer)
    }
    /// Distinguishes its answer for these arguments from others, see [`crate::Mark`].
    pub fn fingerprint(&self, arguments: &Row) -> u32 {
        fingerprint(&self.name, &self.text, arguments)
    }
    /// Queues the remembered changes since a commit for a reader.
    fn go_on(&self, arguments: &Row, from: u64, queue: &Queue) {
        for one in self.remembered_since(from) {
            if let Some(changes) = self.by_arguments(&one.changes).remove(arguments) {
                queue.changes(one.at, Arc::new(changes));
            }
        }
    }
    /// From now on this reader gets the changes.
    fn read(&mut self, arguments: &Row, queue: Arc<Queue>) -> Subscription {
        if let Some(readers) = self.readers.get_mut(arguments) {
            // Those who went are forgotten here too: changes may never come.
            readers.queues.retain(|queue| queue.strong_count() > 0);
            readers.queues.push(Arc::downgrade(&queue));
        }
        self.reader_of(arguments, queue)
    }
    fn missed(
        &self,
        arguments: &Row,
        begin: Begin,
        ledger: Option<&Ledger>,
    ) -> Result<Missed, StandingError> {
        let work = self.work.as_ref().map_err(|error| error.clone())?;
        let (definition, answer) = (work.definition.clone(), self.fingerprint(arguments));
        let (arguments, payer, ledger) = (arguments.clone(), self.payer, ledger.cloned());
        Ok(Missed { definition, arguments, answer, with_base: begin.with_base, payer, ledger })
    }
    /// Makes sure that the network works for these arguments; the commit from which on their changes are remembered.
    fn admit(&mut self, arguments: &Row, follower: &mut Follower) -> Result<u64, StandingError> {
        let key = arguments.clone();
        if let Some(readers) = self.readers.get(&key) {
            return Ok(readers.since.max(self.remembered_from));
        }
        let mut since = self.remembered_from;
        if !self.parameters.is_empty() {
            since = self.at.commit_version;
            follower.timestamp += 1;
            let given = vec![(arguments.clone(), 1)];
            if let Err(error) = self.feed(&follower.view, follower.timestamp, None, &given) {
                // Those who read already have asked for nothing new.
                self.renew(&follower.view, follower.timestamp);
                return Err(error);
            }
        }
        let arguments = arguments.clone();
        self.readers.insert(key, Readers { arguments, queues: Vec::new(), since, left_ns: None });
        Ok(since)
    }
    /// Withdraws arguments that had no readers for [`LINGER_NS`].
    pub fn withdraw(&mut self, follower: &mut Follower, now_ns: u64) {
        if now_ns < self.withdrawn_ns + WITHDRAW_EVERY_NS || (!self.pulse.take_left() && self.lingering == 0)
        {
            return;
        }
        self.withdrawn_ns = now_ns;
        let mut left: Vec<(u64, Row)> = Vec::new();
        for (key, readers) in &mut self.readers {
            match readers.queues.iter().any(|queue| queue.strong_count() > 0) {
                true => readers.left_ns = None,
                false => left.push((*readers.left_ns.get_or_insert(now_ns), key.clone())),
            }
        }
        left.sort_unstable_by_key(|(left_ns, _)| *left_ns);
        let is_over = |left_ns: u64| left_ns + LINGER_NS <= now_ns;
        let over = left.partition_point(|(left_ns, _)| is_over(*left_ns));
        let over = over.max(left.len().saturating_sub(LINGERING_MAX));
        self.lingering = left.len() - over;
        let unread = left.iter().take(over).filter_map(|(_, key)| self.readers.remove(key));
        let unread: Vec<Row> = unread.map(|readers| readers.arguments).collect();
        if !self.parameters.is_empty() && !unread.is_empty() {
            follower.timestamp += 1;
            let gone = unread.into_iter().map(|arguments| (arguments, -1)).collect();
            // Upkeep, whoever comes upon it: a reader's end is not the query's.
            let turn = self.upkeep.as_ref().map(Service::begin);
            let fed = self.feed(&follower.view, follower.timestamp, None, &gone);
            drop(turn);
            if let Err(error) = fed {
                self.fail(error);
            }
        }
    }
    fn answer(&self, arguments: &Row) -> Changes {
        self.work.as_ref().map_or_else(|_| Changes::new(), |work| work.kept.answer(arguments))
    }
    /// The graph was replaced as a whole: the answers are computed anew, and the differences are sent as one change.
    pub fn replace(&mut self, follower: &Follower) {
        let Ok(work) = &self.work else { return };
        let arguments = self.given();
        let turn = self.upkeep.as_ref().map(Service::begin);
        let made = work.definition.anew(&follower.view, follower.timestamp, &arguments);
        drop(turn);
        match made {
            Ok(kept) => {
                let mut changes = Changes::new();
                for (row, _) in &arguments {
                    changes.extend(kept.answer(row));
                    changes.extend(self.answer(row).into_iter().map(|(row, count)| (row, -count)));
                }
                consolidate(&mut changes);
                if let Ok(work) = &mut self.work {
                    work.kept = kept;
                }
                self.tell(follower.at, changes);
                self.progress(follower.at);
                // What became of the commits before one by one is not known.
                (self.remembered, self.remembered_rows) = (VecDeque::new(), 0);
                self.remembered_from = follower.at.commit_version;
            }
            Err(error) => self.fail(error),
        }
    }
}

#[cfg(test)]
mod tests;
