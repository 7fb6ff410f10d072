//! Grouping of the rows of one executor.

use super::grouping::{Evaluated, Grouping};
use super::groups::Groups;
use crate::spill::{PARTS, SpilledPart, SpilledParts, is_tight};
use crate::turn::{Breaker, Progress, Try, Turn};
use model::Batch;
use parking_lot::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

/// State shared by the twins of one grouping: each leaves its groups here, and the merge draws them.
#[derive(Clone, Default)]
pub(super) struct Shared {
    /// Groups of twins that have few.
    pub(super) whole: Arc<WaitingGroups>,
    /// Groups of all executors by part, once there are any.
    pub(super) parts: Arc<OnceLock<Box<[WaitingGroups]>>>,
    /// The next part to be merged.
    pub(super) next: Arc<AtomicUsize>,
    /// Rows that were put aside.
    pub(super) aside: Arc<Mutex<Vec<SpilledPart>>>,
}

/// Groups that wait to be merged, and their bytes that are charged nowhere else.
pub(super) type WaitingGroups = Mutex<Vec<(Groups, usize)>>;

impl Shared {
    pub(super) fn part(&self, number: usize) -> &WaitingGroups {
        &self.parts.get_or_init(|| (0..PARTS).map(|_| Mutex::default()).collect())[number]
    }
    /// Is there nothing in it, and was it never in parts?
    fn is_empty(&self) -> bool {
        self.parts.get().is_none() && self.whole.lock().is_empty() && self.aside.lock().is_empty()
    }
    /// The groups that wait to be merged: of one part, or those that are whole.
    pub(super) fn waiting(&self, part: Option<usize>) -> &WaitingGroups {
        part.map_or(&*self.whole, |number| self.part(number))
    }
    /// Bytes of all waiting groups that are charged nowhere else.
    pub(super) fn waiting_bytes(&self) -> usize {
        let lists = self.parts.get().into_iter().flatten().chain([&*self.whole]);
        lists.map(|list| list.lock().iter().map(|(_, bytes)| bytes).sum::<usize>()).sum()
    }
    /// Takes the rows that were put aside: of one part, or all.
    pub(super) fn rows_aside(&self, part: Option<usize>) -> Vec<SpilledPart> {
        let mut aside = self.aside.lock();
        aside.extract_if(.., |rows| part.is_none_or(|part| rows.number() == part)).collect()
    }
}

/// Groups of one executor beyond which they are divided by the hash of their keys into parts, which are merged in parallel.
pub(super) const WHOLE_GROUPS_MAX: usize = 8_192;

/// The groups of one executor.
pub(super) enum ExecutorGroups {
    Whole(Box<Groups>),
    /// By part.
    Spread(Vec<Groups>),
}

impl ExecutorGroups {
    pub(super) fn new(plan: &Grouping) -> ExecutorGroups {
        ExecutorGroups::Whole(Box::new(Groups::new(plan)))
    }
    fn take(&mut self, plan: &Grouping, rows: &Evaluated) -> Try<()> {
        match self {
            ExecutorGroups::Whole(groups) => groups.take(plan, rows),
            ExecutorGroups::Spread(parts) => {
                let batch = rows.batch();
                for (part, picked) in parts.iter_mut().zip(rows.rows_of_parts()) {
                    if !picked.is_empty() {
                        part.take(plan, &Evaluated::of(plan, &batch.select(picked)))?;
                    }
                }
                Ok(())
            }
        }
    }
    /// Takes the rows of existing groups; returns the others.
    fn take_known(&mut self, plan: &Grouping, rows: &Evaluated) -> Try<Vec<u32>> {
        match self {
            ExecutorGroups::Whole(groups) => groups.take_known(plan, rows),
            ExecutorGroups::Spread(parts) => {
                let (batch, mut others) = (rows.batch(), Vec::new());
                for (part, picked) in parts.iter_mut().zip(rows.rows_of_parts()) {
                    let rows = Evaluated::of(plan, &batch.select(picked.clone()));
                    let unknown = part.take_known(plan, &rows)?;
                    others.extend(unknown.into_iter().map(|row| picked[row as usize]));
                }
                Ok(others)
            }
        }
    }
    /// Keeps the groups in parts from now on.
    fn spread(&mut self, plan: &Grouping) -> Try<()> {
        let ExecutorGroups::Whole(groups) = self else { return Ok(()) };
        let mut parts: Vec<Groups> = (0..PARTS).map(|_| Groups::new(plan)).collect();
        let mut left = groups.len(plan);
        while left > 0 {
            left = groups.spread(plan, &mut parts, left)?;
        }
        *self = ExecutorGroups::Spread(parts);
        Ok(())
    }
    /// The groups, unless they are in parts.
    pub(super) fn whole(self) -> Option<Groups> {
        match self {
            ExecutorGroups::Whole(groups) => Some(*groups),
            ExecutorGroups::Spread(_) => None,
        }
    }
    fn all(&self) -> &[Groups] {
        match self {
            ExecutorGroups::Whole(groups) => std::slice::from_ref(groups),
            ExecutorGroups::Spread(parts) => parts,
        }
    }
    fn bytes(&mut self) -> usize {
        match self {
            ExecutorGroups::Whole(groups) => groups.bytes(),
            ExecutorGroups::Spread(parts) => parts.iter_mut().map(Groups::bytes).sum(),
        }
    }
}

/// Batches between two looks at the memory held; the first ones are looked at more often, as one batch may hold much.
pub(super) const BATCHES_PER_CHARGE: u32 = 16;

/// Groups its rows; at the end leaves its part for the merge.
///
/// Once memory is short, no group is added any more: rows of other groups are spilled by the hash of their keys, and are grouped part by part after
/// the merge (a hybrid hash aggregation: Graefe 1993, "Query Evaluation Techniques for Large Databases", 4.3).
pub(super) struct Partial {
    pub(super) plan: Arc<Grouping>,
    pub(super) groups: Option<ExecutorGroups>,
    pub(super) shared: Shared,
    pub(super) batches: u32,
    pub(super) charged: usize,
    /// Several executors group, and their groups are merged.
    pub(super) has_twins: bool,
    pub(super) aside: Option<SpilledParts>,
}

impl Partial {
    pub(super) fn new(plan: Arc<Grouping>, shared: Shared, has_twins: bool) -> Partial {
        Partial { plan, groups: None, shared, batches: 0, charged: 0, has_twins, aside: None }
    }
    /// Drops all groups; true if there is nothing of them elsewhere.
    pub(super) fn forget(&mut self) -> bool {
        (self.groups, self.aside) = (None, None);
        (self.batches, self.charged) = (0, 0);
        self.shared.is_empty()
    }
    /// Charges the present bytes of the groups; returns them as well.
    pub(super) fn charge_held(&mut self, turn: &mut Turn<'_, '_>) -> (Try<()>, usize) {
        let bytes = self.groups.as_mut().map_or(0, ExecutorGroups::bytes) + aside_bytes(&self.aside);
        let charged = turn.context.charge(bytes.saturating_sub(self.charged));
        self.charged = self.charged.max(bytes);
        (charged, bytes)
    }
    /// Charges it, or sees to it that no further group is opened.
    pub(super) fn charge(&mut self, turn: &mut Turn<'_, '_>) -> Try<()> {
        let (charged, bytes) = self.charge_held(turn);
        if self.plan.single || self.plan.every.is_some() || self.aside.is_some() {
            return charged;
        }
        // The groups of all twins become one table; values that are collected go on to come.
        let grows = self.groups.as_ref().is_some_and(|groups| groups.all().iter().any(Groups::grow_alone));
        let twins = if self.has_twins { turn.context.executors() } else { 0 };
        let needed = bytes * (twins + usize::from(grows));
        if charged.is_err() || is_tight(turn.context, bytes, needed) {
            self.aside = SpilledParts::create(
                Evaluated::width(&self.plan),
                None,
                turn.execution.environment.spill.as_ref(),
                turn.context,
            )?;
        }
        if self.aside.is_some() { Ok(()) } else { charged }
    }
}

pub(super) fn aside_bytes(aside: &Option<SpilledParts>) -> usize {
    aside.as_ref().map_or(0, SpilledParts::bytes)
}

impl Breaker for Partial {
    fn reads(&self) -> &[usize] {
        &self.plan.looks_at
    }
    fn take(&mut self, _: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        let groups = self.groups.get_or_insert_with(|| ExecutorGroups::new(&self.plan));
        let rows = Evaluated::new(&self.plan, &batch, turn.execution)?;
        match &mut self.aside {
            None => {
                groups.take(&self.plan, &rows)?;
                if self.has_twins
                    && let ExecutorGroups::Whole(whole) = groups
                    && !self.plan.single
                    && whole.len(&self.plan) > WHOLE_GROUPS_MAX
                {
                    groups.spread(&self.plan)?;
                }
            }
            Some(aside) => {
                let others = groups.take_known(&self.plan, &rows)?;
                aside.take(&rows.batch(), &rows.keys, others.into_iter(), turn.context)?;
            }
        }
        self.batches += 1;
        if self.batches.is_multiple_of(BATCHES_PER_CHARGE) || self.batches.is_power_of_two() {
            self.charge(turn)?;
        }
        Ok(())
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        self.charge_held(turn).0?;
        let mut released = 0;
        if let Some(aside) = self.aside.take() {
            let parts = aside.finish(turn.context)?;
            self.shared.aside.lock().extend(parts);
            // There is no room to be charged twice: whoever merges the groups is, from now on.
            released = std::mem::take(&mut self.charged);
        }
        match self.groups.take() {
            None => {}
            Some(ExecutorGroups::Whole(groups)) => self.shared.whole.lock().push((*groups, released)),
            Some(ExecutorGroups::Spread(parts)) => {
                for (number, mut part) in parts.into_iter().enumerate() {
                    let bytes = if released > 0 { part.bytes() } else { 0 };
                    self.shared.part(number).lock().push((part, bytes));
                }
            }
        }
        turn.context.release(released);
        Ok(Progress::Done)
    }
}
