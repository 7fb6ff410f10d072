//! The states of aggregates, by group.

use super::grouping::Call;
use crate::ExecuteError;
use crate::operator::distinct::{VertexSet, plain_vertices};
use crate::turn::Try;
use expression::segments::Segments;
use expression::{Aggregator, Extremes, Sums};
use model::batch::Carried;
use model::{Column, ColumnBuilder, Nulls, Value};
use plan::AggregateFunction;
use std::ops::Range;

/// States of a call that are weighed at one look.
pub(super) const STATES_WEIGHED_PER_LOOK: usize = 4_096;

/// The states of one call, by group.
pub(super) enum States {
    /// Rows, or values that are not null.
    Counts(Segments<i64>),
    /// `count(DISTINCT vertex)` of the single group.
    Vertices(VertexSet),
    /// Sums and averages.
    Sums(Sums),
    /// Least and greatest values.
    Extremes(Extremes),
    General(Segments<Aggregator>),
}

impl States {
    pub(super) fn new(call: &Call, single: bool) -> States {
        match call.function {
            AggregateFunction::CountRows | AggregateFunction::Count if !call.distinct => {
                States::Counts(Segments::default())
            }
            AggregateFunction::Sum | AggregateFunction::Average if !call.distinct => {
                States::Sums(Sums::new(call.function))
            }
            AggregateFunction::Min | AggregateFunction::Max if !call.distinct => {
                States::Extremes(Extremes::new(call.function))
            }
            AggregateFunction::Count if single => States::Vertices(VertexSet::default()),
            _ => States::General(Segments::default()),
        }
    }
    pub(super) fn grow(&mut self, groups: usize, call: &Call) {
        match self {
            States::Counts(counts) => counts.grow_to(groups, || 0),
            States::Vertices(_) => {}
            States::Sums(sums) => sums.grow_to(groups),
            States::Extremes(extremes) => extremes.grow_to(groups),
            States::General(states) => {
                states.grow_to(groups, || Aggregator::new(call.function, call.distinct))
            }
        }
    }
    /// Another type than vertices came: on with the general form.
    pub(super) fn generalise(&mut self, call: &Call) -> Try<&mut Segments<Aggregator>> {
        if let States::Vertices(set) = self {
            let vertices: Vec<_> = set.iter().collect();
            let len = vertices.len();
            let mut state = Aggregator::new(call.function, call.distinct);
            state.update_all(&[Carried::new(Column::Vertex(vertices, Nulls::none()))], 0..len)?;
            *self = States::General([state].into_iter().collect());
        }
        match self {
            States::General(states) => Ok(states),
            _ => Err(ExecuteError::Plan("a count has no general form".to_string()).into()),
        }
    }
    pub(super) fn update(
        &mut self,
        call: &Call,
        arguments: &[Carried],
        groups: Option<&[u32]>,
        rows: usize,
    ) -> Try<()> {
        match (&mut *self, groups) {
            (States::Counts(counts), None) => {
                counts[0] += match arguments.first() {
                    None => rows as i64,
                    Some(argument) if plain_vertices(argument).is_some() => rows as i64,
                    Some(argument) if matches!(argument.column(), Column::Constant(..)) => {
                        if rows == 0 || argument.is_null(0) { 0 } else { rows as i64 }
                    }
                    Some(argument) => (0..rows).filter(|row| !argument.is_null(*row)).count() as i64,
                };
                Ok(())
            }
            (States::Counts(counts), Some(groups)) => {
                match arguments.first() {
                    None => groups.iter().for_each(|group| counts[*group as usize] += 1),
                    Some(argument) => groups.iter().enumerate().for_each(|(row, group)| {
                        counts[*group as usize] += i64::from(!argument.is_null(row));
                    }),
                }
                Ok(())
            }
            (States::Vertices(set), _) if plain_vertices(&arguments[0]).is_some() => {
                let vertices = plain_vertices(&arguments[0]).expect("just tested");
                match arguments[0].rows() {
                    None => vertices.iter().for_each(|vertex| {
                        set.insert(*vertex);
                    }),
                    Some(map) => map.iter().for_each(|at| {
                        set.insert(vertices[*at as usize]);
                    }),
                }
                Ok(())
            }
            (States::Sums(sums), groups) => Ok(sums.update(&arguments[0], groups, rows)?),
            (States::Extremes(extremes), groups) => {
                extremes.update(&arguments[0], groups, rows);
                Ok(())
            }
            (_, None) => Ok(self.generalise(call)?[0].update_all(arguments, 0..rows)?),
            (_, Some(groups)) => Ok(Aggregator::update_groups(self.generalise(call)?, arguments, groups)?),
        }
    }
    /// Moves as many of the other's groups, from its end, as `groups` has numbers for, into this one.
    pub(super) fn merge(&mut self, call: &Call, other: &mut States, groups: &[u32]) -> Try<()> {
        match (&mut *self, other) {
            (States::Counts(mine), States::Counts(theirs)) => {
                for group in groups.iter().rev() {
                    mine[*group as usize] += theirs.pop().unwrap_or(0);
                }
            }
            (States::Vertices(mine), States::Vertices(theirs)) => mine.merge(theirs),
            (States::Sums(mine), States::Sums(theirs)) => mine.merge(theirs, groups)?,
            (States::Extremes(mine), States::Extremes(theirs)) => mine.merge(theirs, groups),
            (_, theirs) => {
                let theirs = theirs.generalise(call)?;
                let mine = self.generalise(call)?;
                for group in groups.iter().rev() {
                    theirs.pop().map_or(Ok(()), |state| mine[*group as usize].merge(state))?;
                }
            }
        }
        Ok(())
    }
    /// Moves the other's last group, which is new here, into this one.
    pub(super) fn take_last(&mut self, call: &Call, other: &mut States, group: u32) -> Try<()> {
        if let (States::General(mine), States::General(theirs)) = (&mut *self, &mut *other) {
            // What it holds may be much, and stays where it is.
            theirs.pop().into_iter().for_each(|state| mine[group as usize] = state);
            return Ok(());
        }
        self.merge(call, other, &[group])
    }
    /// The answers of some groups.
    pub(super) fn finish(&mut self, call: &Call, groups: Range<usize>) -> Try<Column> {
        Ok(match self {
            States::Counts(counts) => Column::Int(groups.map(|group| counts[group]).collect(), Nulls::none()),
            States::Vertices(set) => Column::Constant(Value::Int(set.len() as i64), groups.len()),
            States::Sums(sums) => sums.column(groups)?,
            States::Extremes(extremes) => extremes.column(groups),
            States::General(states) => {
                let mut column = ColumnBuilder::new();
                for group in groups {
                    let empty = Aggregator::new(call.function, false);
                    column.push(std::mem::replace(&mut states[group], empty).finish()?);
                }
                column.finish()
            }
        })
    }
    /// Does a slice of the remaining work before a group can be emitted; true if there is none.
    pub(super) fn settle(&mut self, group: usize) -> bool {
        match self {
            States::General(states) => states[group].settle(),
            States::Counts(_) | States::Vertices(_) | States::Sums(_) | States::Extremes(_) => true,
        }
    }
}

/// Bytes of the states of one call: each state weighs itself and they may be many, so a part is weighed at each look, in rounds, and for the others
/// the weight of the last round counts.
#[derive(Clone, Default)]
pub(super) struct Weighing {
    /// The next state to be weighed, and the bytes of those before it.
    pub(super) next: usize,
    pub(super) weighed: usize,
    /// Bytes of all states in the last round.
    pub(super) whole: usize,
}

impl Weighing {
    pub(super) fn look(&mut self, states: &Segments<Aggregator>) -> usize {
        let end = states.len().min(self.next + STATES_WEIGHED_PER_LOOK);
        self.weighed += (self.next..end).map(|group| states[group].bytes()).sum::<usize>();
        self.next = end;
        if end == states.len() {
            self.whole = self.weighed;
            (self.next, self.weighed) = (0, 0);
            return self.whole;
        }
        self.whole.max(self.weighed + (states.len() - end) * size_of::<Aggregator>())
    }
}
