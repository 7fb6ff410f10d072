//! Subscribers: one bounded queue each. A commit never waits for it.

use crate::event_context::Changes;
use crate::limits::SUBSCRIBER_ROWS_MAX;
use crate::mark::{Mark, Resume};
use crate::row::Row;
use futures_core::Stream;
use parking_lot::{Condvar, Mutex, MutexGuard};
use plan::expr::Name;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use transact::Point;
use world::clock::{monotonic_ns, span_ns};

/// An event of a subscription.
#[derive(Clone, Debug)]
pub enum Event {
    /// The whole answer as of a commit: rows with multiplicities. Later events build upon it.
    Snapshot {
        /// The commit's version.
        commit_version: u64,
        /// Wall clock at the commit, microseconds since 1970; 0 where that is not known.
        time_micros: u64,
        /// Rows with their counts, in no order.
        rows: Arc<Vec<(Row, isize)>>,
    },
    /// The changes of a commit to the answer: rows that came (positive) and went (negative).
    Changes {
        /// The commit's version.
        commit_version: u64,
        /// Wall clock at the commit, microseconds since 1970; 0 where that is not known.
        time_micros: u64,
        /// Rows with their deltas; each row once.
        rows: Arc<Vec<(Row, isize)>>,
    },
    /// Commits up to this version changed nothing more.
    Progress {
        /// The last such commit's version.
        commit_version: u64,
        /// Wall clock at that commit, microseconds since 1970; 0 where that is not known.
        time_micros: u64,
    },
}

impl Event {
    /// Version of its commit. An event has all changes of its commit, so a reader that has processed it can resume from here.
    pub fn commit_version(&self) -> u64 {
        self.at().commit_version
    }
    /// Its commit, with the time.
    pub fn at(&self) -> Point {
        match self {
            Event::Snapshot { commit_version, time_micros, .. }
            | Event::Changes { commit_version, time_micros, .. }
            | Event::Progress { commit_version, time_micros } => {
                Point { commit_version: *commit_version, time_micros: *time_micros }
            }
        }
    }
}

/// Why nothing more will come.
#[derive(Clone, Debug, PartialEq)]
pub enum SubscriptionEnd {
    /// The query was dropped.
    Dropped,
    /// The query failed, for this reason.
    Failed(String),
    /// The subscriber fell more than [`SUBSCRIBER_ROWS_MAX`] rows behind. It got everything up to there, and may resume from its last mark.
    Lagged,
    /// The database was closed.
    Closed,
}

/// A column of the answer, for clients that show its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its title.
    pub title: Name,
    /// Where it stands in a [`Row`].
    pub at: usize,
    /// The column with the content of its node or relationship, if it may hold one: a list of its labels (or its type) and the map of its properties,
    /// as of the row's commit.
    pub content: Option<usize>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    rows: usize,
    /// The last commit that was handed out; none before a snapshot.
    told: Option<Point>,
    end: Option<SubscriptionEnd>,
    /// A stream has said so.
    end_told: bool,
    /// The task that polled the stream and found nothing.
    waker: Option<Waker>,
    /// That task is counted among those who wait.
    polls: bool,
}

impl State {
    /// Is it behind this point?
    fn is_behind(&self, reached: Point) -> bool {
        self.told.is_none_or(|told| told.commit_version < reached.commit_version)
    }
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    ready: Condvar,
}

impl Queue {
    /// Appends an event; cuts off a subscriber who is too far behind, after the events in its queue.
    fn push(&self, event: Event, rows: usize) {
        let mut state = self.state.lock();
        if state.end.is_some() {
            return;
        }
        // The first event is the answer itself, however large it is.
        if state.rows > 0 && state.rows + rows > SUBSCRIBER_ROWS_MAX {
            state.end = Some(SubscriptionEnd::Lagged);
        } else {
            state.rows += rows;
            state.events.push_back(event);
        }
        self.rouse(state);
    }
    pub fn snapshot(&self, at: Point, rows: Vec<(Row, isize)>) {
        let (Point { commit_version, time_micros }, count) = (at, rows.len());
        self.push(Event::Snapshot { commit_version, time_micros, rows: Arc::new(rows) }, count);
    }
    pub fn changes(&self, at: Point, rows: Arc<Changes>) {
        let (Point { commit_version, time_micros }, count) = (at, rows.len());
        self.push(Event::Changes { commit_version, time_micros, rows }, count);
    }
    /// Queues changes that a resuming reader has missed; returns the rows in the queue then.
    pub fn missed(&self, at: Point, rows: Changes) -> usize {
        let (Point { commit_version, time_micros }, rows) = (at, Arc::new(rows));
        let mut state = self.state.lock();
        state.rows += rows.len();
        state.events.push_back(Event::Changes { commit_version, time_micros, rows });
        state.rows
    }
    /// Queues a mark of its own.
    pub fn progress(&self, Point { commit_version, time_micros }: Point) {
        self.push(Event::Progress { commit_version, time_micros }, 0);
    }
    /// The commit from which on this subscriber gets everything.
    pub fn begin(&self, at: Point) {
        self.state.lock().told = Some(at);
    }
    /// There is progress to report. A reader that looked before it was made, and is about to wait, holds the lock until it waits.
    pub fn wake(&self) {
        self.rouse(self.state.lock());
    }
    pub fn end(&self, end: SubscriptionEnd) {
        let mut state = self.state.lock();
        state.end.get_or_insert(end);
        self.rouse(state);
    }
    /// Wakes the waiting thread or task.
    fn rouse(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        self.ready.notify_all();
        waker.into_iter().for_each(Waker::wake);
    }
    pub fn has_ended(&self) -> bool {
        self.state.lock().end.is_some()
    }
}

/// How far a query is, for all its readers; and whether any of them waits.
#[derive(Debug)]
pub(crate) struct Pulse {
    at: Mutex<Point>,
    waiting: AtomicUsize,
    /// A reader went: the arguments it gave may be withdrawn.
    left: AtomicBool,
}

impl Pulse {
    pub fn at(at: Point) -> Pulse {
        Pulse { at: Mutex::new(at), waiting: AtomicUsize::new(0), left: AtomicBool::new(false) }
    }
    /// Commits up to here are in the queues, or changed nothing. True where a reader waits for it.
    pub fn advance(&self, to: Point) -> bool {
        let mut at = self.at.lock();
        if at.commit_version < to.commit_version {
            *at = to;
        }
        drop(at);
        // Who counted itself before it took the lock is seen here; who took it later has seen what was put there.
        self.waiting.load(Ordering::SeqCst) > 0
    }
    fn reached(&self) -> Point {
        *self.at.lock()
    }
    /// Has a reader gone since the last call?
    pub fn take_left(&self) -> bool {
        self.left.load(Ordering::Relaxed) && self.left.swap(false, Ordering::Relaxed)
    }
}

/// How often an iterator without a time limit looks up: nothing depends on it.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// A reader of a standing query; dropping it ends it.
pub struct Subscription {
    queue: Arc<Queue>,
    columns: Arc<[Column]>,
    pulse: Arc<Pulse>,
    /// Which answer it reads, see [`Mark`].
    answer: u32,
    /// The answer where it began, if that was wanted.
    pub(crate) base: Option<Changes>,
}

/// How a subscription begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begin {
    /// The point after which it resumes; from now on where absent.
    pub from: Option<Resume>,
    /// The whole answer comes first; overrides `from`.
    pub snapshot: bool,
    /// A reader that resumes without the answer gets it separately; see [`Subscription::take_base`].
    pub with_base: bool,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if self.queue.state.lock().polls {
            self.pulse.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        self.pulse.left.store(true, Ordering::Relaxed);
    }
}

impl Subscription {
    pub(crate) fn new(
        queue: Arc<Queue>,
        columns: Arc<[Column]>,
        pulse: Arc<Pulse>,
        answer: u32,
    ) -> Subscription {
        Subscription { queue, columns, pulse, answer, base: None }
    }
    /// The answer where a subscription without a snapshot began, if it was requested: rows with multiplicities. Later events build upon it.
    pub fn take_base(&mut self) -> Option<Vec<(Row, isize)>> {
        self.base.take()
    }
    /// Where a reader of all events returned so far can resume; none before a snapshot.
    pub fn mark(&self) -> Option<Mark> {
        self.queue.state.lock().told.map(|at| Mark::new(at, self.answer))
    }
    /// Columns of the answer.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// The next event; waits for it at most `timeout`. `Ok(None)` means that none came in time. Marks of progress come only when
    /// nothing else waits, and only the latest.
    ///
    /// # Errors
    /// Nothing more will come, and why.
    pub fn next(&self, timeout: Duration) -> Result<Option<Event>, SubscriptionEnd> {
        let mut state = self.queue.state.lock();
        let is_due = |state: &State| {
            !state.events.is_empty() || state.end.is_some() || state.is_behind(self.pulse.reached())
        };
        if !is_due(&state) && !timeout.is_zero() {
            let timeout_ns = span_ns(timeout);
            let until_ns = monotonic_ns().saturating_add(timeout_ns);
            self.pulse.waiting.fetch_add(1, Ordering::SeqCst);
            // Whoever made progress before it saw the line above is seen here; and what woke the reader may have been read already.
            while !is_due(&state) {
                let left_ns = until_ns.saturating_sub(monotonic_ns());
                if left_ns == 0 {
                    break;
                }
                self.queue.ready.wait_for(&mut state, Duration::from_nanos(left_ns));
            }
            self.pulse.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        self.take(&mut state).transpose()
    }
    /// Every event, waiting for each as long as it takes; the last item says why nothing more comes.
    pub fn events(&self) -> impl Iterator<Item = Result<Event, SubscriptionEnd>> + '_ {
        let mut has_ended = false;
        std::iter::from_fn(move || {
            while !has_ended {
                let event = self.next(LOOK_EVERY).transpose();
                has_ended = matches!(event, Some(Err(_)));
                if event.is_some() {
                    return event;
                }
            }
            None
        })
    }
    /// The next event, if one is due.
    fn take(&self, state: &mut State) -> Option<Result<Event, SubscriptionEnd>> {
        // Read before the queue is found empty: what is told up to there is in it.
        let reached = self.pulse.reached();
        if let Some(event) = state.events.pop_front() {
            state.rows -= match &event {
                Event::Snapshot { rows, .. } | Event::Changes { rows, .. } => rows.len(),
                Event::Progress { .. } => 0,
            };
            state.told = Some(event.at());
            return Some(Ok(event));
        }
        if let Some(end) = &state.end {
            return Some(Err(end.clone()));
        }
        if state.is_behind(reached) {
            state.told = Some(reached);
            let Point { commit_version, time_micros } = reached;
            return Some(Ok(Event::Progress { commit_version, time_micros }));
        }
        None
    }
}

/// The events as they come, for programs that do not wait on a thread; the last item says why nothing more comes.
impl Stream for Subscription {
    type Item = Result<Event, SubscriptionEnd>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.queue.state.lock();
        if state.end_told {
            return Poll::Ready(None);
        }
        let mut found = self.take(&mut state);
        if found.is_none() {
            if !std::mem::replace(&mut state.polls, true) {
                self.pulse.waiting.fetch_add(1, Ordering::SeqCst);
            }
            // Whoever made progress before it saw the line above is seen here.
            found = self.take(&mut state);
        }
        state.waker = found.is_none().then(|| context.waker().clone());
        if found.is_some() && std::mem::replace(&mut state.polls, false) {
            self.pulse.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        state.end_told = matches!(found, Some(Err(_)));
        found.map_or(Poll::Pending, |found| Poll::Ready(Some(found)))
    }
}
