//! Grouping rows that come vertex by vertex.

use super::grouping::{Evaluated, Grouping};
use super::groups::Groups;
use crate::turn::{Breaker, Progress, Try, Turn};
use model::Batch;
use std::ops::Range;
use std::sync::Arc;

/// Groups rows that come vertex by vertex: hands on the groups of vertices that are done with.
pub(super) struct Streaming {
    pub(super) plan: Arc<Grouping>,
    /// Which key is the vertex.
    pub(super) key: usize,
    pub(super) groups: Groups,
    /// Groups that are whole, and which of them were not handed on yet.
    pub(super) whole: Option<(Groups, Range<usize>)>,
    /// Groups that are searched at a time for complete ones.
    pub(super) looked_at: usize,
    pub(super) charged: usize,
}

/// Groups from which on those that are whole are handed on.
pub(super) const GROUPS_HANDED_ON_MIN: usize = 2 * model::batch::BATCH_ROWS;
/// Groups of the last vertex that are taken along at once; with more of them, nothing is handed on until the vertex is done with.
pub(super) const GROUPS_TAKEN_ALONG_MAX: usize = 4_096;

impl Streaming {
    pub(super) fn new(plan: Arc<Grouping>, key: usize) -> Streaming {
        let groups = Groups::new(&plan);
        Streaming { plan, key, groups, whole: None, looked_at: GROUPS_HANDED_ON_MIN, charged: 0 }
    }
    /// Charges the present bytes of the groups.
    pub(super) fn charge(&mut self, turn: &mut Turn<'_, '_>) -> Try<()> {
        let whole = self.whole.as_mut().map_or(0, |(groups, _)| groups.bytes());
        let bytes = self.groups.bytes() + whole;
        turn.context.charge(bytes.saturating_sub(self.charged))?;
        turn.context.release(self.charged.saturating_sub(bytes));
        self.charged = bytes;
        Ok(())
    }
    /// Sets the groups of all vertices but the last aside: its rows may go on.
    pub(super) fn set_aside(&mut self) -> Try<()> {
        let len = self.groups.len(&self.plan);
        let first = len.saturating_sub(GROUPS_TAKEN_ALONG_MAX + 1);
        let keys = self.groups.table.key_column(self.key, first..len);
        let last = keys.vertex(keys.len() - 1);
        let open = (0..keys.len()).rev().take_while(|row| keys.vertex(*row) == last).count();
        if open > GROUPS_TAKEN_ALONG_MAX {
            self.looked_at = 2 * len;
            return Ok(());
        }
        let mut whole = std::mem::replace(&mut self.groups, Groups::new(&self.plan));
        self.groups.merge_from(&self.plan, &mut whole, len - open..len)?;
        self.whole = Some((whole, 0..len - open));
        self.looked_at = GROUPS_HANDED_ON_MIN.max(2 * open);
        Ok(())
    }
    /// Hands on some of the groups that are whole; true if there are no more.
    pub(super) fn hand_on(&mut self, turn: &mut Turn<'_, '_>) -> Try<bool> {
        let Some((groups, left)) = &mut self.whole else { return Ok(true) };
        let end = left.end.min(left.start + turn.execution.environment.batch_rows);
        if !groups.hand_on(&self.plan, left.start..end, turn)? {
            return Ok(false);
        }
        left.start = end;
        if left.start == left.end {
            self.whole = None;
        }
        Ok(self.whole.is_none())
    }
}

impl Breaker for Streaming {
    fn reads(&self) -> &[usize] {
        &self.plan.looks_at
    }
    fn take(&mut self, _: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        self.groups.take(&self.plan, &Evaluated::new(&self.plan, &batch, turn.execution)?)?;
        // A batch opens about as many groups as are handed on at once.
        if self.whole.is_some() {
            self.hand_on(turn)?;
        } else if self.groups.len(&self.plan) >= self.looked_at {
            self.set_aside()?;
        }
        self.charge(turn)
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        let len = self.groups.len(&self.plan);
        if self.whole.is_none() && len > 0 {
            let groups = std::mem::replace(&mut self.groups, Groups::new(&self.plan));
            self.whole = Some((groups, 0..len));
        }
        let done = self.hand_on(turn)? && self.groups.len(&self.plan) == 0;
        Ok(if done { Progress::Done } else { Progress::More })
    }
}
