//! Pending commits: accepted, built upon by the next, not yet on disk, not visible.
//!
//! ```text
//!   accept  --a--b--c---d-e----f--g--h---->      each on its own thread, behind the last one accepted
//!   log        |- a -||- b c -||-- d e f --||    one append and sync at a time, of all that were accepted by then
//!   seen              a        b c          d e f
//! ```
//! Idea: while one group is synced the next is validated and applied, so disk and processor work at the same time. A committer that finds no leader
//! leads: it appends and syncs all pending commits, makes the last of them the present, and wakes each of its group by a signal of its own. If more
//! came meanwhile, the log's own thread leads on, group after group, until a sync ends with nothing pending: between two syncs no thread has to be
//! woken, and no published committer is kept busy. In memory, where syncs cost nothing, the first of the newcomers leads instead.
//!
//! Invariants: records are published in the order of their commit versions; nothing is visible or acknowledged before its sync; commits accepted
//! behind a group that failed fail too, since they were built upon it; a thread that holds the committer and has waited until everything is published
//! is alone. Cost: a thread sleeps and is woken once a commit; one thread more, made when two commits first meet. Bounded by
//! [`PENDING_BYTES_ENOUGH`].

use crate::TransactError;
use crate::committer::Committer;
use crate::engine::Shared;
use crate::feed::CommitRecord;
use crate::history::Point;
use crate::limits::PENDING_BYTES_ENOUGH;
use durable::DurableError;
use model::walk;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use store::{NameCounts, Snapshot};
use world::failpoint;
use world::panics::{Panicked, caught};
use world::threads::{Background, Pace};

/// A pending commit.
pub(crate) struct Accepted {
    pub record: Arc<CommitRecord>,
    /// Its bytes for the log.
    pub payload: Vec<u8>,
    /// The graph with it, and with all before it.
    pub snapshot: Snapshot,
    /// Names that are on disk with it.
    pub named: NameCounts,
    /// A bulk load, which feeds cannot show as changes.
    pub is_load: bool,
}

impl Accepted {
    fn point(&self) -> Point {
        Point { commit_version: self.record.commit_version, time_micros: self.record.time_micros }
    }
}

/// All that are pending, by commit version.
#[derive(Default)]
pub(crate) struct PendingCommits {
    all: VecDeque<(Accepted, Arc<Waiting>)>,
    bytes: usize,
    /// There is a leader, or one was called.
    led: bool,
    /// The error of commits behind a group that failed, until the committer has gone back to the state on disk.
    failure: Option<DurableError>,
    /// Set for good: a group is on disk, but a panic kept it from being published. The next commit would be built on another graph than the log's.
    is_stopped: bool,
}

/// The wait for a commit to be published.
#[derive(Default)]
pub(crate) struct Waiting {
    news: Mutex<Option<News>>,
    came: Condvar,
}

enum News {
    /// Its thread leads next.
    Lead,
    /// The outcome, and the commit's memory: freeing it takes time, which the leader has not.
    Published(Result<u64, TransactError>, Option<Accepted>),
}

impl Waiting {
    fn tell(&self, news: News) {
        *self.news.lock() = Some(news);
        self.came.notify_one();
    }
    fn wait(&self) -> News {
        let mut news = self.news.lock();
        loop {
            match news.take() {
                Some(news) => return news,
                None => self.came.wait(&mut news),
            }
        }
    }
}

/// The outcome of a group, to be passed to the waiting threads.
#[must_use]
struct GroupOutcome {
    outcomes: Vec<(Arc<Waiting>, News)>,
    /// The first of the commits that are pending now, if any.
    next: Option<Arc<Waiting>>,
}

impl GroupOutcome {
    fn tell(self) {
        self.outcomes.into_iter().for_each(|(waiting, news)| waiting.tell(news));
    }
}

/// Leads where one group comes behind the other.
pub(crate) struct LogThread {
    /// It was called to lead, and has not begun.
    is_due: Arc<AtomicBool>,
    job: Background,
}

impl LogThread {
    fn start(engine: Weak<Shared>) -> io::Result<LogThread> {
        let is_due = Arc::new(AtomicBool::new(false));
        let told = is_due.clone();
        let job = Background::try_start("log", move || {
            // Nobody's engine is touched unless somebody waits for it.
            if !told.swap(false, Ordering::AcqRel) {
                return Pace::Rest;
            }
            let Some(shared) = engine.upgrade() else { return Pace::End };
            shared.lead_to_the_end();
            Pace::Rest
        })?;
        Ok(LogThread { is_due, job })
    }
    fn lead_on(&self) {
        self.is_due.store(true, Ordering::Release);
        self.job.nudge();
    }
}

impl Shared {
    /// Ensures that the committer builds upon the state that is or will be on disk, and that there is room for one more pending commit.
    ///
    /// # Errors
    /// No commit is possible any more.
    pub fn make_ready(&self, committer: &mut Committer) -> Result<(), TransactError> {
        let pending = self.pending.lock();
        let (is_full, has_failed) = (pending.bytes >= PENDING_BYTES_ENOUGH, pending.failure.is_some());
        if let Some(failure) = pending.failure.as_ref().filter(|_| pending.is_stopped) {
            return Err(failure.clone().into());
        }
        drop(pending);
        if is_full || committer.is_torn() {
            self.land(u64::MAX);
        }
        if is_full || has_failed || committer.is_torn() {
            self.go_back(committer);
        }
        Ok(())
    }

    /// Adds a commit to the pending ones, behind all others. Fails if the pending commits it was built upon have failed.
    pub fn enqueue(
        &self,
        accepted: Accepted,
        _committer: &mut Committer,
    ) -> Result<(Arc<Waiting>, bool), TransactError> {
        let mut pending = self.pending.lock();
        if let Some(failure) = &pending.failure {
            return Err(failure.clone().into());
        }
        debug_assert!(
            pending
                .all
                .back()
                .is_none_or(|(last, _)| last.record.commit_version < accepted.record.commit_version)
        );
        let waiting = Arc::new(Waiting::default());
        pending.bytes += accepted.payload.len() + durable::RECORD_FRAME_BYTES;
        pending.all.push_back((accepted, waiting.clone()));
        Ok((waiting, !std::mem::replace(&mut pending.led, true)))
    }

    /// Waits for a commit to be published, and leads where that is due.
    pub fn await_publishing(&self, waiting: &Waiting, mut leads: bool) -> Result<u64, TransactError> {
        loop {
            if leads {
                self.lead();
            }
            match waiting.wait() {
                News::Published(outcome, _taken_apart_here) => return outcome,
                News::Lead => leads = true,
            }
        }
    }

    /// Leads one group, and sees to it that the next is led.
    fn lead(&self) {
        let outcome = self.publish_all();
        // First, since the disk waits for it.
        outcome.next.as_ref().inspect(|next| self.hand_over(next));
        outcome.tell();
    }

    /// Lets the log's thread lead on, or without one the first waiting thread.
    fn hand_over(&self, first: &Waiting) {
        match self.log_thread() {
            Some(thread) => thread.lead_on(),
            None => first.tell(News::Lead),
        }
    }

    /// Leads, for a caller that goes on to add pending commits: on the log's thread, if there is one.
    pub fn lead_beside(&self) {
        match self.log_thread() {
            Some(thread) => thread.lead_on(),
            None => self.lead(),
        }
    }

    /// The log's thread, if there is one. Only the leader asks.
    fn log_thread(&self) -> Option<&LogThread> {
        if !self.backing.is_durable() {
            return None;
        }
        self.log_thread.get_or_init(|| LogThread::start(self.itself.clone()).ok()).as_ref()
    }

    /// A turn of the log's thread: leads until nothing is pending. It releases the engine before the last waiting thread is woken, which may drop it,
    /// and open its folder again.
    fn lead_to_the_end(self: Arc<Shared>) {
        loop {
            let outcome = self.publish_all();
            if outcome.next.is_none() {
                drop(self);
                return outcome.tell();
            }
            outcome.tell();
        }
    }

    /// Appends and syncs all pending commits, and makes them the present. After a panic here all pending commits fail, and no thread waits for ever.
    fn publish_all(&self) -> GroupOutcome {
        // It is done for all of them, whoever's work is over.
        let _whole = walk::unended();
        let mut group: Vec<(u64, Vec<u8>)> = Vec::new();
        for (accepted, _) in &mut self.pending.lock().all {
            group.push((accepted.record.commit_version, std::mem::take(&mut accepted.payload)));
        }
        let records: Vec<(u64, &[u8])> =
            group.iter().map(|(commit_version, payload)| (*commit_version, payload.as_slice())).collect();
        let bytes = |payload: &[u8]| payload.len() + durable::RECORD_FRAME_BYTES;
        let bytes = records.iter().map(|(_, payload)| bytes(payload)).sum();
        let outcome = caught(|| {
            failpoint::visit("group goes to the log");
            self.backing.append_and_sync(&records)
        });
        match outcome.unwrap_or_else(|panicked| Err(DurableError::Poisoned { cause: panicked.to_string() })) {
            Ok(()) => match caught(|| self.landed(group.len(), bytes)) {
                Ok(outcome) => outcome,
                Err(panicked) => self.stop(&panicked),
            },
            Err(error) => self.fail(group.len(), &error),
        }
    }

    /// The first `count` are on disk.
    fn landed(&self, count: usize, bytes: usize) -> GroupOutcome {
        let mut pending = self.pending.lock();
        let first = pending.all.front().map(|(first, _)| first.point());
        // They stay pending until they are seen, so that all who wait can be told of a panic.
        if let (Some(first), Some((last, _))) = (first, pending.all.range_mut(..count).next_back()) {
            failpoint::visit("group is on disk");
            self.store.names().mark_durable(last.named);
            self.past.logged(bytes as u64);
            let graph = std::mem::replace(&mut last.snapshot, self.store.current());
            self.past.publish(&self.store, graph, first, last.point());
        }
        let group: Vec<(Accepted, Arc<Waiting>)> = pending.all.drain(..count).collect();
        pending.bytes -= bytes;
        self.feed(&group);
        self.commits.fetch_add(count as u64, Ordering::Relaxed);
        self.groups.fetch_add(1, Ordering::Relaxed);
        let next = pending.all.front().map(|(_, waiting)| waiting.clone());
        pending.led = next.is_some();
        drop(pending);
        self.all_published.notify_all();
        let landed = |(accepted, waiting): (Accepted, Arc<Waiting>)| {
            (waiting, News::Published(Ok(accepted.record.commit_version), Some(accepted)))
        };
        GroupOutcome { outcomes: group.into_iter().map(landed).collect(), next }
    }

    /// Passes a published group to the feeds. After a panic they end, and their readers begin anew.
    fn feed(&self, group: &[(Accepted, Arc<Waiting>)]) {
        let mut feeds = self.feeds.lock();
        let load = group.iter().position(|(one, _)| one.is_load);
        let fed = caught(|| {
            failpoint::visit("group is seen");
            if !feeds.is_empty() {
                let told = &group[..load.unwrap_or(group.len())];
                feeds.publish(&told.iter().map(|(one, _)| one.record.clone()).collect::<Vec<_>>());
            }
        });
        if load.is_some() || fed.is_err() {
            // Their readers wake by code of theirs.
            let _ = caught(|| feeds.close());
        }
    }

    /// A panic kept a group on disk from being published: no commit is possible any more, and reading goes on.
    fn stop(&self, panicked: &Panicked) -> GroupOutcome {
        self.pending.lock().is_stopped = true;
        let cause =
            format!("{panicked}, after the commit was written: whether it happened shows at the next open");
        self.fail(0, &DurableError::Poisoned { cause })
    }

    /// The first `count` failed, and so does everything behind them.
    fn fail(&self, count: usize, error: &DurableError) -> GroupOutcome {
        let behind = match error {
            // Nothing of them was ever written.
            DurableError::Unconfirmed { cause } => DurableError::Poisoned { cause: cause.to_string() },
            other => other.clone(),
        };
        let mut pending = self.pending.lock();
        let all = std::mem::take(&mut pending.all);
        (pending.bytes, pending.led) = (0, false);
        pending.failure = Some(behind.clone());
        drop(pending);
        self.all_published.notify_all();
        let failed = |(at, (_, waiting)): (usize, (Accepted, Arc<Waiting>))| {
            let error = if at < count { error } else { &behind };
            (waiting, News::Published(Err(error.clone().into()), None))
        };
        GroupOutcome { outcomes: all.into_iter().enumerate().map(failed).collect(), next: None }
    }

    /// Goes back to the state on disk, if a group has failed or a panic ended a commit half done. Then nothing is pending.
    fn go_back(&self, committer: &mut Committer) {
        let mut pending = self.pending.lock();
        let has_failed = !pending.is_stopped && pending.failure.take().is_some();
        drop(pending);
        if has_failed || committer.is_torn() {
            committer.jump_to(self.store.current(), self.backing.last_version());
        }
    }

    /// Waits until nothing up to this commit version is pending.
    pub fn land(&self, commit_version: u64) {
        let mut pending = self.pending.lock();
        while pending.all.front().is_some_and(|(first, _)| first.record.commit_version <= commit_version) {
            if std::mem::replace(&mut pending.led, true) {
                self.all_published.wait(&mut pending);
            } else {
                drop(pending);
                self.lead();
                pending = self.pending.lock();
            }
        }
    }

    /// The committer, with nothing pending: no commit happens while it is held, and its tip is the present.
    pub fn alone(&self) -> MutexGuard<'_, Committer> {
        let mut committer = self.committer.lock();
        self.land(u64::MAX);
        self.go_back(&mut committer);
        committer
    }

    /// Replaces the tip by the same graph in another form; readers see it with the last pending commit.
    pub fn reshape(&self, committer: &mut Committer, graph: Snapshot) {
        debug_assert_eq!(committer.tip.commit_version(), graph.commit_version());
        let mut pending = self.pending.lock();
        if pending.failure.is_some() {
            return;
        }
        committer.tip = graph.clone();
        match pending.all.back_mut() {
            Some((last, _)) => last.snapshot = graph,
            None => self.past.reshape(&self.store, graph),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Engine, Mode, OpenOptions, open};
    use std::path::Path;
    use std::sync::Arc;
    use world::disk::SimDisk;
    use world::threads::in_parallel;

    fn opened(disk: &SimDisk) -> Engine {
        open(Some((Arc::new(disk.clone()), Path::new("/db"))), &OpenOptions::default()).unwrap().0
    }

    fn write_together(engine: &Engine) {
        in_parallel("writer", 4, |_| {
            for _ in 0..25 {
                let t = engine.begin(Mode::Write);
                t.create_vertex(&[], vec![]).unwrap();
                t.commit().unwrap();
            }
        });
    }

    #[test]
    fn commits_are_published_where_the_system_gives_no_thread() {
        let engine = opened(&SimDisk::new());
        assert!(engine.shared.log_thread.set(None).is_ok());
        write_together(&engine);
        assert_eq!((engine.counts().commits, engine.snapshot().commit_version()), (100, 100));
    }

    /// Four commits are pending without a leader; then the log's thread is called.
    fn led_by_the_logs_thread(engine: &Engine) {
        let shared = &engine.shared;
        shared.pending.lock().led = true;
        in_parallel("writer", 5, |at| {
            if at < 4 {
                let t = engine.begin(Mode::Write);
                t.create_vertex(&[], vec![]).unwrap();
                t.commit().unwrap();
                return;
            }
            while shared.pending.lock().all.len() < 4 {
                world::threads::sleep(std::time::Duration::from_micros(50));
            }
            let first = shared.pending.lock().all[0].1.clone();
            shared.hand_over(&first);
        });
        assert!(matches!(shared.log_thread.get(), Some(Some(_))));
    }

    #[test]
    fn whoever_has_been_told_may_open_the_folder_again() {
        let disk = SimDisk::new();
        for life in 1..=100 {
            let engine = opened(&disk);
            led_by_the_logs_thread(&engine);
            assert_eq!(engine.snapshot().commit_version(), 4 * life);
        }
    }
}
