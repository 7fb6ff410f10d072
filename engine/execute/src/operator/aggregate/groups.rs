//! Groups on one executor: the table from keys to group numbers, and the states of each call.

use super::grouping::{Evaluated, Grouping};
use super::states::{States, Weighing};
use crate::turn::{Try, Turn};
use expression::{GroupTable, NO_GROUP};
use model::batch::Carried;
use model::{Batch, Column, Nulls};
use std::ops::Range;

/// Groups of another part taken over between two looks at the clock.
pub(super) const GROUPS_MERGED_PER_LOOK: usize = 1_024;

/// Groups so far, on one executor.
pub(super) struct Groups {
    pub(super) table: GroupTable,
    pub(super) states: Vec<States>,
    pub(super) weighing: Vec<Weighing>,
    pub(super) groups: Vec<u32>,
}

impl Groups {
    pub(super) fn new(plan: &Grouping) -> Groups {
        let states = plan.calls.iter().map(|call| States::new(call, plan.single)).collect();
        let weighing = vec![Weighing::default(); plan.calls.len()];
        let table = GroupTable::new(plan.keys.len());
        let mut groups = Groups { table, states, weighing, groups: Vec::new() };
        groups.grow(plan);
        groups
    }
    pub(super) fn len(&self, plan: &Grouping) -> usize {
        if plan.single { 1 } else { self.table.len() }
    }
    pub(super) fn grow(&mut self, plan: &Grouping) {
        let len = self.len(plan);
        self.states.iter_mut().zip(&plan.calls).for_each(|(state, call)| state.grow(len, call));
    }
    pub(super) fn take(&mut self, plan: &Grouping, rows: &Evaluated) -> Try<()> {
        if !plan.single {
            self.table.assign(&rows.keys, rows.len, &mut self.groups);
            self.grow(plan);
        }
        self.update(plan, rows)
    }
    pub(super) fn update(&mut self, plan: &Grouping, rows: &Evaluated) -> Try<()> {
        let groups = (!plan.single).then_some(self.groups.as_slice());
        let states = self.states.iter_mut().zip(&plan.calls).zip(&rows.arguments);
        for ((state, call), arguments) in states {
            state.update(call, arguments, groups, rows.len)?;
        }
        Ok(())
    }
    /// Takes the rows of existing groups; returns the others.
    pub(super) fn take_known(&mut self, plan: &Grouping, rows: &Evaluated) -> Try<Vec<u32>> {
        self.table.find(&rows.keys, rows.len, &mut self.groups);
        let of = |known: bool| {
            let is_it = |row: &u32| (self.groups[*row as usize] != NO_GROUP) == known;
            (0..rows.len as u32).filter(is_it).collect::<Vec<u32>>()
        };
        let (known, others) = (of(true), of(false));
        if others.is_empty() {
            self.update(plan, rows)?;
        } else if !known.is_empty() {
            let rows = Evaluated::of(plan, &rows.batch().select(known));
            self.groups.retain(|group| *group != NO_GROUP);
            self.update(plan, &rows)?;
        }
        Ok(others)
    }
    /// Takes over some groups of another part, from its end; `left` are those it still has. Returns how many are left.
    pub(super) fn merge(&mut self, plan: &Grouping, other: &mut Groups, left: usize) -> Try<usize> {
        let start = if plan.single { 0 } else { left.saturating_sub(GROUPS_MERGED_PER_LOOK) };
        self.merge_from(plan, other, start..left)?;
        Ok(start)
    }
    /// Takes over these groups of another part, its last.
    pub(super) fn merge_from(&mut self, plan: &Grouping, other: &mut Groups, range: Range<usize>) -> Try<()> {
        if plan.single {
            self.groups = vec![0];
        } else {
            self.table.merge(&other.table, range, &mut self.groups);
        }
        self.grow(plan);
        for ((mine, theirs), call) in self.states.iter_mut().zip(&mut other.states).zip(&plan.calls) {
            mine.merge(call, theirs, &self.groups)?;
        }
        Ok(())
    }
    /// Hands some groups, the last of `left`, over to the parts that their keys belong to. Returns how many are left.
    pub(super) fn spread(&mut self, plan: &Grouping, parts: &mut [Groups], left: usize) -> Try<usize> {
        let start = left.saturating_sub(GROUPS_MERGED_PER_LOOK);
        let keys: Vec<Carried> =
            (0..plan.keys.len()).map(|key| Carried::new(self.table.key_column(key, start..left))).collect();
        let keys = Evaluated { keys, arguments: Vec::new(), len: left - start };
        let batch = keys.batch();
        // Of each group its part, and its number there.
        let mut places = vec![(0, 0); keys.len];
        for (number, (part, rows)) in parts.iter_mut().zip(keys.rows_of_parts()).enumerate() {
            let columns: Vec<Carried> = {
                let batch = batch.select(rows.clone());
                (0..batch.width()).map(|at| batch.column(at).clone()).collect()
            };
            part.table.assign(&columns, rows.len(), &mut part.groups);
            part.grow(plan);
            rows.iter().zip(&part.groups).for_each(|(row, group)| places[*row as usize] = (number, *group));
        }
        for (state, call) in plan.calls.iter().enumerate() {
            for (part, group) in places.iter().rev() {
                parts[*part].states[state].take_last(call, &mut self.states[state], *group)?;
            }
        }
        Ok(start)
    }
    /// A group for each of the outer rows.
    pub(super) fn open_all(&mut self, plan: &Grouping, rows: usize) {
        let numbers = Column::Int((0..rows as i64).collect(), Nulls::none());
        self.table.assign(&[Carried::new(numbers)], rows, &mut self.groups);
        self.grow(plan);
    }
    /// The groups of a range as rows.
    pub(super) fn rows(&mut self, plan: &Grouping, start: usize, end: usize) -> Try<Batch> {
        let mut columns: Vec<Column> =
            (0..plan.keys.len()).map(|key| self.table.key_column(key, start..end)).collect();
        for (state, call) in self.states.iter_mut().zip(&plan.calls) {
            columns.push(state.finish(call, start..end)?);
        }
        Ok(Batch::new(columns, end - start))
    }
    /// Does a slice of the remaining work before the groups of a range can be rows; true if there is none.
    pub(super) fn settle(&mut self, start: usize, end: usize) -> bool {
        self.states.iter_mut().all(|state| (start..end).all(|group| state.settle(group)))
    }
    /// Upper bound of further bytes while the answers of a range of groups are made: each group drops its state before the next.
    pub(super) fn finishing_bytes(&self, start: usize, end: usize) -> usize {
        let of_state = |state: &States| match state {
            States::General(states) => {
                (start..end).map(|group| states[group].finishing_bytes()).max().unwrap_or(0)
            }
            States::Counts(_) | States::Vertices(_) | States::Sums(_) | States::Extremes(_) => 0,
        };
        self.states.iter().map(of_state).max().unwrap_or(0)
    }
    /// Hands on the groups of a range as rows; false if something is left to do before, of which a piece was done.
    pub(super) fn hand_on(
        &mut self,
        plan: &Grouping,
        range: Range<usize>,
        turn: &mut Turn<'_, '_>,
    ) -> Try<bool> {
        if !self.settle(range.start, range.end) {
            return Ok(false);
        }
        let finishing = self.finishing_bytes(range.start, range.end);
        turn.context.charge(finishing)?;
        let rows = self.rows(plan, range.start, range.end)?;
        turn.context.release(finishing);
        turn.emit(rows);
        Ok(true)
    }
    /// Do groups grow that are there?
    pub(super) fn grow_alone(&self) -> bool {
        self.states.iter().any(|states| matches!(states, States::General(_)))
    }
    pub(super) fn bytes(&mut self) -> usize {
        let states = self.states.iter().zip(&mut self.weighing).map(|(states, weighing)| match states {
            States::Counts(counts) => counts.bytes(),
            States::Vertices(set) => set.bytes(),
            States::Sums(sums) => sums.bytes(),
            States::Extremes(extremes) => extremes.bytes(),
            States::General(states) => weighing.look(states),
        });
        states.sum::<usize>() + self.table.bytes()
    }
}
