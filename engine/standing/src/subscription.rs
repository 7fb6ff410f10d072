//! Who is told: one bounded queue a subscriber. A commit never waits for it.

use crate::limits::SUBSCRIBER_ROWS_MAX;
use crate::network::Changes;
use crate::row::Row;
use parking_lot::{Condvar, Mutex};
use plan::expr::Name;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What a subscriber is told.
#[derive(Clone, Debug)]
pub enum Event {
    /// The whole answer as of a commit: rows, and how often each occurs. What comes after builds upon it.
    Snapshot {
        /// The commit's place.
        place: u64,
        /// Rows with their counts, in no order.
        rows: Arc<Vec<(Row, isize)>>,
    },
    /// What a commit changed in the answer: rows that came (positive) and went (negative).
    Changes {
        /// The commit's place. What was received up to here can be resumed from here.
        place: u64,
        /// Wall clock at the commit, microseconds since 1970.
        time_micros: u64,
        /// Rows with their differences; each row once.
        rows: Arc<Vec<(Row, isize)>>,
    },
    /// Commits up to this place changed nothing more.
    Progress {
        /// The last such commit's place.
        place: u64,
    },
}

impl Event {
    /// Place of the commit that it tells of: the token to resume from.
    pub fn place(&self) -> u64 {
        match self {
            Event::Snapshot { place, .. } | Event::Changes { place, .. } | Event::Progress { place } => {
                *place
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
    /// The subscriber fell more than [`SUBSCRIBER_ROWS_MAX`] rows behind; it may resume from the last place it read.
    Lagged,
    /// The database was closed.
    Closed,
}

/// A column of the answer, for whoever shows its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its title.
    pub title: Name,
    /// Where it stands in a [`Row`].
    pub at: usize,
    /// Where the content of the node or relationship in it stands, if it may hold one: a list of its labels (or its type) and the map of
    /// its properties, as of the row's commit.
    pub content: Option<usize>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    rows: usize,
    /// Commits up to here are in `events`, or changed nothing.
    progress: u64,
    /// The last place that was handed out.
    told: u64,
    end: Option<SubscriptionEnd>,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    ready: Condvar,
}

impl Queue {
    /// Appends; cuts off a subscriber who is too far behind. False where nobody listens any more.
    fn push(&self, event: Event, rows: usize) {
        let mut state = self.state.lock();
        if state.end.is_some() {
            return;
        }
        // The first event is the answer itself, however large it is.
        if state.rows > 0 && state.rows + rows > SUBSCRIBER_ROWS_MAX {
            state.events.clear();
            state.end = Some(SubscriptionEnd::Lagged);
        } else {
            state.rows += rows;
            state.progress = event.place();
            state.events.push_back(event);
        }
        self.ready.notify_all();
    }
    pub fn snapshot(&self, place: u64, rows: Vec<(Row, isize)>) {
        let count = rows.len();
        self.push(Event::Snapshot { place, rows: Arc::new(rows) }, count);
    }
    pub fn changes(&self, place: u64, time_micros: u64, rows: Arc<Changes>) {
        let count = rows.len();
        self.push(Event::Changes { place, time_micros, rows }, count);
    }
    pub fn progress(&self, place: u64) {
        let mut state = self.state.lock();
        if state.progress < place {
            state.progress = place;
            if state.events.is_empty() {
                self.ready.notify_all();
            }
        }
    }
    /// The commit from which on this subscriber will be told everything.
    pub fn begin(&self, place: u64) {
        let mut state = self.state.lock();
        (state.progress, state.told) = (place, place);
    }
    pub fn end(&self, end: SubscriptionEnd) {
        self.state.lock().end.get_or_insert(end);
        self.ready.notify_all();
    }
    pub fn has_ended(&self) -> bool {
        self.state.lock().end.is_some()
    }
}

/// A reader of a standing query; dropping it ends it.
pub struct Subscription {
    pub(crate) queue: Arc<Queue>,
    pub(crate) columns: Arc<[Column]>,
}

impl Subscription {
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
        let is_due =
            |state: &State| !state.events.is_empty() || state.end.is_some() || state.told < state.progress;
        if !is_due(&state) {
            self.queue.ready.wait_for(&mut state, timeout);
        }
        if let Some(event) = state.events.pop_front() {
            state.rows -= match &event {
                Event::Snapshot { rows, .. } | Event::Changes { rows, .. } => rows.len(),
                Event::Progress { .. } => 0,
            };
            state.told = event.place();
            return Ok(Some(event));
        }
        if let Some(end) = &state.end {
            return Err(end.clone());
        }
        if state.told < state.progress {
            state.told = state.progress;
            return Ok(Some(Event::Progress { place: state.told }));
        }
        Ok(None)
    }
}
