//! Removal of files behind the horizon and behind the oldest reader.

use super::{Horizon, thinned};
use crate::{Engine, TransactError, Waker};
use std::sync::atomic::Ordering;

impl Engine {
    /// Could [`Engine::give_up`] have something to do?
    pub fn has_garbage(&self) -> bool {
        self.shared.files.has_ended()
    }
    /// Has `waker` called whenever a reader ends that was the last to need some file; it must return at once.
    pub fn on_garbage(&self, waker: Waker) {
        *self.shared.files.ended.waker.lock() = Some(waker);
    }
    /// Removes everything behind the horizon and behind the oldest reader: anchors, log segments, blob files.
    pub fn give_up(&self) -> Result<(), TransactError> {
        let _one_at_a_time = self.shared.checkpointing.lock();
        let horizon = self.horizon();
        let _nobody_reads = self.shared.past.giving_up.write();
        self.give_up_now(&horizon)
    }
    /// The present horizon.
    pub(crate) fn horizon(&self) -> Horizon {
        let (shared, logged_bytes) = (&self.shared, self.shared.past.logged_bytes());
        Horizon::of(self.history(), &shared.limits, &self.snapshot(), shared.clock.wall_us(), logged_bytes)
    }
    /// As [`Engine::give_up`], for callers that hold the locks. The horizon is computed before they are taken: readers of the past wait for them.
    pub(crate) fn give_up_now(&self, horizon: &Horizon) -> Result<(), TransactError> {
        let backing = &self.shared.backing;
        // The files of a load whose checkpoint failed are named by its record alone.
        if !backing.is_durable() || self.shared.load_unfinished.load(Ordering::Acquire) {
            return Ok(());
        }
        self.shared.files.take_ended();
        let kept = thinned(&backing.anchors(), horizon);
        backing.keep_anchors(&kept)?;
        let anchors = backing.anchors();
        if let Some(oldest) = anchors.first() {
            self.shared.past.forget_before(oldest.commit_version);
            backing.truncate_before(oldest.commit_version + 1)?;
        }
        let live = self.shared.files.live(&anchors, backing.as_ref(), &self.snapshot())?;
        Ok(backing.retire(&live)?)
    }
}
