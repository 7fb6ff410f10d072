//! A resuming reader: the changes since its mark, read again from the log.
//!
//! ```text
//!   log        ──┬──────────────────┬──────────────┬─────> commits
//!             mark               looked up       joins the others: later changes are remembered
//!               └─ answer there ──> commits fed ──┘
//! ```
//! Idea: the law of standing queries holds for any graph to begin with. So the query's answer is computed for the graph at the mark, and the commits
//! since are fed to it as they were fed to the query: its changes are those that the reader has missed. Commits store nothing extra for that. Once
//! the reader has reached the changes that the query remembers, it becomes one of its readers, and the temporary answer is dropped. Invariants:
//! resuming readers delay only other resuming readers; the queue of a reader stays below [`SUBSCRIBER_ROWS_MAX`], but for one commit. Cost: that of
//! the query's first answer at the mark, and of the commits since; one at a time.

use crate::StandingError;
use crate::answer_keeper::{AnswerKeeper, Definition};
use crate::error::{caught, too_large};
use crate::event_context::{Changes, EventContext, consolidate, in_order};
use crate::installing::Installing;
use crate::limits::{RESUME_TIME_MAX, SUBSCRIBER_ROWS_MAX};
use crate::mark::Resume;
use crate::row::Row;
use crate::shown::{Shown, view_of};
use crate::status::Ledger;
use crate::subscription::{Queue, SubscriptionEnd};
use crate::view::{Timestamp, View};
use dataflow::AccountedBytes;
use std::sync::Arc;
use store::Restriction;
use transact::{CommitRecord, Engine, Moment, Point, Since, Stretch, TransactError};
use world::clock::{after_ns, monotonic_ns};

/// The parts of a query that are needed to answer it elsewhere.
pub(crate) struct Missed {
    pub definition: Arc<Definition>,
    pub arguments: Row,
    /// Its fingerprint, see [`Mark`].
    pub answer: u32,
    /// The answer where the reader goes on is wanted.
    pub with_base: bool,
    /// The payer, and the account for bytes.
    pub payer: u32,
    pub ledger: Option<Ledger>,
}

impl Missed {
    fn account(&self) -> Option<AccountedBytes> {
        self.ledger.as_ref().map(|ledger| ledger(self.payer))
    }
    /// The answer over the graph of a view.
    fn answer(&self, view: &mut View, timestamp: Timestamp) -> Result<AnswerKeeper, StandingError> {
        let bounds = Arc::new(Installing::within(RESUME_TIME_MAX));
        bounds.charge(self.account());
        view.bounds = Some(bounds);
        let given = vec![(self.arguments.clone(), 1)];
        let begun = self.definition.anew(view, timestamp, &given);
        view.bounds = None;
        begun
    }
}

/// A reader on its way from a commit of the past to the present.
pub(crate) struct Resuming {
    since: Since,
    missed: Missed,
    kept: AnswerKeeper,
    held: Option<AccountedBytes>,
    view: View,
    /// The restriction of the view, if there is one.
    shown: Option<Shown>,
    timestamp: Timestamp,
    /// The last commit that was fed.
    pub at: Point,
    pub queue: Arc<Queue>,
    /// The answer where it began, if that is wanted.
    pub base: Option<Changes>,
    until_ns: u64,
}

impl Resuming {
    /// Computes the answer at the point where the reader resumes.
    ///
    /// # Errors
    /// That graph is no longer kept, or was no commit of this database; the answer cannot be computed.
    pub fn begin(
        engine: &Engine,
        from: Resume,
        missed: Missed,
        restriction: Option<&Arc<Restriction>>,
    ) -> Result<Resuming, StandingError> {
        let until_ns = after_ns(RESUME_TIME_MAX);
        let since = engine.since(from.commit_version()).map_err(not_kept)?;
        if !from.fits(since.at()) {
            return Err(StandingError::ForeignMark);
        }
        let ((mut view, shown), timestamp) = (view_of(since.graph().clone(), restriction), 1);
        let (kept, held) = (missed.answer(&mut view, timestamp)?, missed.account());
        let (at, queue) = (since.at(), Arc::<Queue>::default());
        queue.begin(at);
        let base = missed.with_base.then(|| kept.answer(&missed.arguments));
        let mut resuming =
            Resuming { since, missed, kept, held, view, shown, timestamp, at, queue, base, until_ns };
        resuming.charge()?;
        Ok(resuming)
    }
    /// Feeds the commits up to now. True where the reader has got enough for this time.
    ///
    /// # Errors
    /// The log cannot be read; a row fails; a limit is passed.
    pub fn catch_up(&mut self) -> Result<bool, StandingError> {
        while let Some(stretch) = self.since.read_next().map_err(not_kept)? {
            let is_enough = match stretch {
                Stretch::Commits { records, after } => {
                    let after = match &mut self.shown {
                        Some(shown) => shown.prepare(after),
                        None => after,
                    };
                    self.view.prepare(after);
                    self.feed(&records)?
                }
                Stretch::Replaced { graph, at } => {
                    let before = self.kept.answer(&self.missed.arguments);
                    let restriction = self.shown.as_ref().map(|shown| shown.restriction().clone());
                    (self.view, self.shown) = view_of(graph, restriction.as_ref());
                    self.timestamp += 1;
                    self.kept = self.missed.answer(&mut self.view, self.timestamp)?;
                    let mut changes = self.kept.answer(&self.missed.arguments);
                    changes.extend(before.into_iter().map(|(row, count)| (row, -count)));
                    consolidate(&mut changes);
                    self.tell(at, changes)
                }
            };
            self.charge()?;
            if is_enough {
                return Ok(true);
            }
            self.view.rebase();
            self.shown.iter_mut().for_each(Shown::rebase);
        }
        Ok(false)
    }
    fn feed(&mut self, records: &[Arc<CommitRecord>]) -> Result<bool, StandingError> {
        let mut steps = Vec::with_capacity(records.len());
        for record in records {
            self.timestamp += 1;
            let at = Point { commit_version: record.commit_version, time_micros: record.time_micros };
            let touched = match &mut self.shown {
                Some(shown) => {
                    let seen = shown.record(self.timestamp, record, &self.view)?;
                    // Rare: a vertex was hidden and shown again. Whoever resumes reads the whole answer instead.
                    let forgotten =
                        || StandingError::Forgotten { from: self.at.commit_version, oldest: None };
                    self.view.absorb(self.timestamp, &seen.ok_or_else(forgotten)?)?
                }
                None => self.view.absorb(self.timestamp, record)?,
            };
            steps.push((self.timestamp, at, touched));
        }
        for (timestamp, at, touched) in &steps {
            let turn = EventContext { view: &self.view, timestamp: *timestamp, touched: Some(touched) };
            let kept = &mut self.kept;
            let changes = caught(|| kept.advance(&turn, &Changes::new()))?;
            if self.tell(*at, changes) {
                return Ok(true);
            }
            if self.kept.is_worn() {
                self.kept = self.missed.answer(&mut self.view, *timestamp)?;
            }
        }
        Ok(false)
    }
    /// Queues a commit's changes for the reader. True where it is the last for this time: the reader resumes behind it.
    fn tell(&mut self, at: Point, mut changes: Changes) -> bool {
        self.at = at;
        changes.retain(|(row, _)| self.kept.arguments_of(row) == self.missed.arguments);
        in_order(&mut changes);
        let rows = if changes.is_empty() { 0 } else { self.queue.missed(at, changes) };
        let is_enough = rows >= SUBSCRIBER_ROWS_MAX || monotonic_ns() > self.until_ns;
        if is_enough {
            self.queue.progress(at);
            self.queue.end(SubscriptionEnd::Lagged);
        }
        is_enough
    }
    fn charge(&mut self) -> Result<(), StandingError> {
        let bytes = self.kept.bytes() as u64;
        self.held.as_mut().map_or(Ok(()), |held| held.set(bytes)).map_err(too_large)
    }
}

fn not_kept(error: TransactError) -> StandingError {
    match error {
        TransactError::NotKept { asked: Moment::CommitVersion(from), oldest } => {
            StandingError::Forgotten { from, oldest: oldest.map(|oldest| oldest.commit_version) }
        }
        TransactError::NotReached { asked: Moment::CommitVersion(from), newest } => {
            StandingError::Unreached { from, newest: newest.commit_version }
        }
        other => StandingError::Storage(other.to_string()),
    }
}
