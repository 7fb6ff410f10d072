//! After the end of the input: the groups of all executors are merged, then spilled rows are grouped, then groups are emitted.

use super::grouping::{Evaluated, Grouping};
use super::groups::Groups;
use super::partial::{ExecutorGroups, Partial, aside_bytes};
use crate::spill::{PARTS, SpilledPart, SpilledParts, is_tight, joined};
use crate::turn::{Breaker, Progress, Try, Turn};
use model::Batch;
use std::sync::atomic::Ordering;

/// Rows that were put aside, being grouped part by part.
pub(super) struct Rest {
    pub(super) parts: Vec<SpilledPart>,
    pub(super) part: Option<SpilledPart>,
    /// Those of the part that is read, or that was.
    pub(super) groups: Groups,
    /// Rows of the part that were spilled again, since there is no room for their groups either.
    pub(super) aside: Option<SpilledParts>,
    /// The next group that is handed on, once the part is read.
    pub(super) next: Option<usize>,
    pub(super) charged: usize,
}

impl Rest {
    pub(super) fn new(plan: &Grouping, parts: Vec<SpilledPart>) -> Rest {
        Rest { parts, part: None, groups: Groups::new(plan), aside: None, next: None, charged: 0 }
    }
    pub(super) fn charge(&mut self, plan: &Grouping, turn: &mut Turn<'_, '_>) -> Try<()> {
        let bytes = self.groups.bytes() + aside_bytes(&self.aside);
        let charged = turn.context.charge(bytes.saturating_sub(self.charged));
        turn.context.release(self.charged.saturating_sub(bytes));
        self.charged = bytes;
        // What is handed on may be kept behind it, while the groups that were always in memory are held.
        let needed = bytes * (1 + usize::from(self.groups.grow_alone()));
        if self.aside.is_none() && (charged.is_err() || is_tight(turn.context, bytes, needed)) {
            self.aside = SpilledParts::create(
                Evaluated::width(plan),
                self.part.as_ref(),
                turn.execution.environment.spill.as_ref(),
                turn.context,
            )?;
        }
        if self.aside.is_some() { Ok(()) } else { charged }
    }
    /// A slice of work, beside the groups that were always in memory; true if nothing is left.
    pub(super) fn step(&mut self, plan: &Grouping, kept: &mut Groups, turn: &mut Turn<'_, '_>) -> Try<bool> {
        if let Some(start) = self.next {
            let len = self.groups.len(plan);
            let end = len.min(start + turn.execution.environment.batch_rows);
            if self.groups.hand_on(plan, start..end, turn)? {
                self.next = (end < len).then_some(end);
            }
            return Ok(false);
        }
        let Some(part) = &mut self.part else {
            self.groups = Groups::new(plan);
            turn.context.release(std::mem::take(&mut self.charged));
            self.part = self.parts.pop();
            return Ok(self.part.is_none());
        };
        let Some((batch, held)) = part.next(turn.context)? else {
            // What is spread anew is of this part alone.
            if let Some(aside) = self.aside.take() {
                self.parts.extend(aside.finish(turn.context)?);
            }
            self.part = None;
            self.next = (self.groups.len(plan) > 0).then_some(0);
            return Ok(false);
        };
        let rows = Evaluated::of(plan, &batch);
        let others = kept.take_known(plan, &rows)?;
        let rows = Evaluated::of(plan, &rows.batch().select(others));
        match &mut self.aside {
            None => self.groups.take(plan, &rows)?,
            Some(aside) => {
                let others = self.groups.take_known(plan, &rows)?;
                aside.take(&rows.batch(), &rows.keys, others.into_iter(), turn.context)?;
            }
        }
        turn.context.release(held);
        self.charge(plan, turn)?;
        Ok(false)
    }
}

/// Groups that are being merged or spread, and how many of them are left.
type Left = (Groups, usize);

/// Groups that are being spread over parts.
pub(super) struct Spreading {
    groups: Groups,
    left: usize,
    parts: Vec<Groups>,
    /// Was the charge of the executor that made them released?
    is_released: bool,
}

/// The steps after the end of the input, in order.
pub(super) enum FinalStep {
    /// Nothing yet.
    Begin,
    /// Some have their groups in parts: home spreads whole tables over the parts as well; holds the groups of one of them.
    Spread(Option<Box<Spreading>>),
    /// The next part is drawn.
    Draw,
    /// Groups are merged: those of one executor.
    Merge(Option<Box<Left>>),
    /// Rows that were put aside are grouped.
    Rest(Box<Rest>),
    /// Emits groups from this one on.
    HandOn(usize),
}

/// Takes rows itself if it has no partial operator before it, merges the groups of all executors, and emits them. Groups in parts are merged on all
/// executors, each of which draws one part after the other.
pub(super) struct Final {
    partial: Partial,
    step: FinalStep,
    /// The part that is merged, or all.
    part: Option<usize>,
    groups: Option<Groups>,
}

impl Final {
    pub(super) fn new(partial: Partial) -> Final {
        Final { partial, step: FinalStep::Begin, part: None, groups: None }
    }
    /// Charges its own bytes, and, at home, those of waiting groups that are charged nowhere else.
    fn charge(&mut self, besides: usize, turn: &mut Turn<'_, '_>) -> Try<()> {
        let waiting = if turn.context.is_home() { self.partial.shared.waiting_bytes() } else { 0 };
        let bytes = self.groups.as_mut().map_or(0, Groups::bytes) + besides + waiting;
        let partial = &mut self.partial;
        turn.context.charge(bytes.saturating_sub(partial.charged))?;
        turn.context.release(partial.charged.saturating_sub(bytes));
        partial.charged = bytes;
        Ok(())
    }
    /// One slice; returns the next step. None if there is nothing more to do.
    fn step(&mut self, step: FinalStep, turn: &mut Turn<'_, '_>) -> Try<Option<FinalStep>> {
        let plan = self.partial.plan.clone();
        Ok(Some(match step {
            FinalStep::Begin => {
                self.groups = self.partial.groups.take().and_then(ExecutorGroups::whole);
                if self.partial.shared.parts.get().is_none() {
                    return Ok(Some(FinalStep::Merge(None)));
                }
                if turn.context.is_home() { FinalStep::Spread(None) } else { FinalStep::Draw }
            }
            FinalStep::Spread(spreading) => self.spread(&plan, spreading, turn)?,
            FinalStep::Draw => {
                let part = self.partial.shared.next.fetch_add(1, Ordering::Relaxed);
                if part >= PARTS {
                    turn.context.release(std::mem::take(&mut self.partial.charged));
                    return Ok(None);
                }
                self.part = Some(part);
                FinalStep::Merge(None)
            }
            FinalStep::Merge(merging) => self.merge(&plan, merging, turn)?,
            FinalStep::Rest(mut rest) => {
                let kept = self.groups.get_or_insert_with(|| Groups::new(&plan));
                let is_done = rest.step(&plan, kept, turn)?;
                // Values that were put aside may belong to groups that were in memory.
                let bytes = kept.bytes();
                turn.context.charge(bytes.saturating_sub(self.partial.charged))?;
                self.partial.charged = self.partial.charged.max(bytes);
                if is_done { FinalStep::HandOn(0) } else { FinalStep::Rest(rest) }
            }
            FinalStep::HandOn(next) => {
                let groups = self.groups.get_or_insert_with(|| Groups::new(&plan));
                let len = groups.len(&plan);
                let end = len.min(next + turn.execution.environment.batch_rows);
                if next < len && !groups.hand_on(&plan, next..end, turn)? {
                    return Ok(Some(FinalStep::HandOn(next)));
                }
                if end < len {
                    return Ok(Some(FinalStep::HandOn(end)));
                }
                self.groups = None;
                if self.part.is_none() {
                    return Ok(None);
                }
                self.charge(0, turn)?;
                FinalStep::Draw
            }
        }))
    }
    /// A slice of spreading whole tables over parts, until all groups are in parts: then the other executors are called.
    fn spread(
        &mut self,
        plan: &Grouping,
        spreading: Option<Box<Spreading>>,
        turn: &mut Turn<'_, '_>,
    ) -> Try<FinalStep> {
        let shared = self.partial.shared.clone();
        let Some(mut spreading) = spreading else {
            let Some((groups, released)) = shared.whole.lock().pop() else {
                turn.context.invite_peers();
                return Ok(FinalStep::Draw);
            };
            self.charge(released, turn)?;
            let (left, parts) = (groups.len(plan), (0..PARTS).map(|_| Groups::new(plan)).collect());
            let is_released = released > 0;
            return Ok(FinalStep::Spread(Some(Box::new(Spreading { groups, left, parts, is_released }))));
        };
        let Spreading { groups, left, parts, is_released } = &mut *spreading;
        *left = groups.spread(plan, parts, *left)?;
        if *left > 0 {
            return Ok(FinalStep::Spread(Some(spreading)));
        }
        for (number, mut part) in parts.drain(..).enumerate() {
            let bytes = if *is_released { part.bytes() } else { 0 };
            shared.part(number).lock().push((part, bytes));
        }
        self.charge(0, turn)?;
        Ok(FinalStep::Spread(None))
    }
    /// A slice of the merge; returns the next step once it is done.
    fn merge(
        &mut self,
        plan: &Grouping,
        mut merging: Option<Box<Left>>,
        turn: &mut Turn<'_, '_>,
    ) -> Try<FinalStep> {
        if let (Some(other), Some(groups)) = (&mut merging, &mut self.groups) {
            let (other, left) = &mut **other;
            *left = groups.merge(plan, other, *left)?;
            merging = merging.filter(|other| other.1 > 0);
            return Ok(FinalStep::Merge(merging));
        }
        let drawn = self.partial.shared.waiting(self.part).lock().pop();
        if let Some((mut other, _)) = drawn {
            let mut besides = 0;
            match &mut self.groups {
                Some(_) => {
                    besides = other.bytes();
                    let left = other.len(plan);
                    merging = Some(Box::new((other, left)));
                }
                None => self.groups = Some(other),
            }
            self.charge(besides, turn)?;
            return Ok(FinalStep::Merge(merging));
        }
        self.charge(0, turn)?;
        let groups = self.groups.get_or_insert_with(|| Groups::new(plan));
        if let Some(every) = &plan.every {
            groups.open_all(plan, every.get(turn.context.executor(), turn.context.tag()));
        }
        let mut aside = self.partial.shared.rows_aside(self.part);
        if let Some(own) = self.partial.aside.take() {
            aside.extend(own.finish(turn.context)?);
        }
        Ok(match aside.is_empty() {
            true => FinalStep::HandOn(0),
            false => FinalStep::Rest(Box::new(Rest::new(plan, joined(aside)))),
        })
    }
}

impl Breaker for Final {
    fn reads(&self) -> &[usize] {
        &self.partial.plan.looks_at
    }
    fn take(&mut self, port: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        self.partial.take(port, batch, turn)
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        let step = std::mem::replace(&mut self.step, FinalStep::Draw);
        Ok(match self.step(step, turn)? {
            Some(next) => {
                self.step = next;
                Progress::More
            }
            None => Progress::Done,
        })
    }
    fn end_run(&mut self) -> bool {
        (self.step, self.part, self.groups) = (FinalStep::Begin, None, None);
        self.partial.forget()
    }
}
