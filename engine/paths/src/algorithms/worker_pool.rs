//! Several workers at one algorithm: stage after stage, each cut into morsels that free workers draw.
//!
//! Idea: like path searches (see `dispatch`), for work without a frontier: a stage is a number of positions with the same work at each; a worker
//! draws a range of them, processes it within its quota, and hands in its results; the worker that finishes the last range makes the next stage. No
//! worker waits: one that finds nothing gets [`Turn::Idle`]. Invariant: ranges are cut alike whichever worker draws them, and a stage writes nothing
//! that it reads elsewhere but values that only ever fall, so answers depend neither on scheduling nor on quotas. Cost: two atomic additions and a
//! short lock a range.

use crate::dispatch::Turn;
use crate::error::PathError;
use crate::morsel::{Morsel, MorselDispatcher, MorselPolicy};
use crate::work::Work;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many positions at which the same is done, in ranges of this length.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<K> {
    /// The step.
    pub kind: K,
    /// Positions.
    pub count: usize,
    /// Positions in a range.
    pub morsel: usize,
}

/// An algorithm in stages. Its state is shared by all workers.
pub trait Staged: Send + Sync {
    /// The work at a position.
    type Kind: Copy + Send + Sync;
    /// The results of one worker in a range, its place within a position, and its scratch.
    type Own: Default + Send;

    /// The first stage.
    fn first(&self) -> Option<Stretch<Self::Kind>>;
    /// Handles positions from `range.start` on, which it moves, until the range is empty or the work is over.
    fn work(
        &self,
        kind: Self::Kind,
        range: &mut std::ops::Range<usize>,
        own: &mut Self::Own,
        work: &mut Work<'_>,
    );
    /// A range is done.
    fn hand_in(&self, _kind: Self::Kind, _range: std::ops::Range<usize>, _own: &mut Self::Own) {}
    /// All ranges of a stage are done: the next stage, if there is one. Called by one worker, and short.
    fn next(&self, kind: Self::Kind) -> Option<Stretch<Self::Kind>>;
    /// Why it cannot go on.
    fn fault(&self) -> Option<PathError>;
    /// Bytes held.
    fn bytes(&self) -> usize;
}

struct Stage<K> {
    kind: K,
    morsels: MorselDispatcher,
}

struct Task<K> {
    stage: Arc<Stage<K>>,
    morsel: Morsel,
    left: std::ops::Range<usize>,
}

/// The state of one worker between turns; used by one thread at a time.
pub struct Hand<S: Staged> {
    own: S::Own,
    task: Option<Task<S::Kind>>,
}

impl<S: Staged> Default for Hand<S> {
    fn default() -> Self {
        Hand { own: S::Own::default(), task: None }
    }
}

/// See the module's head.
pub struct WorkerPool<S: Staged> {
    job: S,
    stage: RwLock<Option<Arc<Stage<S::Kind>>>>,
    visited: AtomicU64,
}

impl<S: Staged> WorkerPool<S> {
    /// Before anything is done.
    pub fn new(job: S) -> WorkerPool<S> {
        let first = job.first();
        let worker_pool = WorkerPool { job, stage: RwLock::new(None), visited: AtomicU64::new(0) };
        worker_pool.begin(first);
        worker_pool
    }

    /// One turn of one worker: until the work is over.
    ///
    /// # Errors
    /// The graph cannot be read, or is invalid.
    pub fn work_on(&self, hand: &mut Hand<S>, work: &mut Work<'_>) -> Result<Turn, PathError> {
        let before = work.edges_visited();
        let turn = self.turn(hand, work);
        self.visited.fetch_add(work.edges_visited() - before, Ordering::Relaxed);
        turn
    }

    fn turn(&self, hand: &mut Hand<S>, work: &mut Work<'_>) -> Result<Turn, PathError> {
        loop {
            if let Some(fault) = self.job.fault() {
                return Err(fault);
            }
            if work.is_over() {
                return Ok(Turn::More);
            }
            if hand.task.is_none() {
                let Some(stage) = self.stage.read().clone() else { return Ok(Turn::Done) };
                let Some(morsel) = stage.morsels.draw() else { return Ok(Turn::Idle) };
                hand.task = Some(Task { stage, left: morsel.positions.clone(), morsel });
            }
            let Some(task) = &mut hand.task else { continue };
            self.job.work(task.stage.kind, &mut task.left, &mut hand.own, work);
            if task.left.is_empty()
                && let Some(task) = hand.task.take()
            {
                let kind = task.stage.kind;
                self.job.hand_in(kind, task.morsel.positions.clone(), &mut hand.own);
                if task.stage.morsels.finish(&task.morsel) {
                    self.begin(self.job.next(kind));
                }
            }
        }
    }

    /// Stages without positions are over at once.
    fn begin(&self, mut stretch: Option<Stretch<S::Kind>>) {
        while let Some(Stretch { kind, count: 0, .. }) = stretch {
            stretch = self.job.next(kind);
        }
        *self.stage.write() = stretch.map(|Stretch { kind, count, morsel }| {
            let morsels = MorselDispatcher::new(count, MorselPolicy { vertices_max: morsel });
            Arc::new(Stage { kind, morsels })
        });
    }

    /// The algorithm.
    pub fn job(&self) -> &S {
        &self.job
    }

    /// Edges visited so far, by all.
    pub fn edges_visited(&self) -> u64 {
        self.visited.load(Ordering::Relaxed)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.job.bytes()
    }
}
