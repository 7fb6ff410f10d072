//! The state of a join from timestamp to timestamp: its input, indexed as its routes look it up.
//!
//! Conditions are evaluated as soon as their variables are bound: also on a relationship whose end turns out to have another label, and on bindings
//! that are half of the timestamp before, which come and go again. One that fails on such a row must not end the query, so rows on which a condition
//! fails go on, and it is evaluated once more on the rows that are left in the end.

use super::focus::{Foci, Moment};
use super::pattern::{Condition, Join};
use super::run::{InputIndex, Lives, Resolved, Run, changes_of};
use crate::StandingError;
use crate::evaluate::{Evaluator, Surroundings, satisfying};
use crate::event_context::{Changes, EventContext, consolidate};
use crate::row::Row;
use crate::weight::Weight;
use std::cell::Cell;
use std::sync::Arc;
use store::NameTable;

/// A join at work.
pub(crate) struct JoinState {
    join: Join,
    lives: Vec<Lives>,
    conditions: Vec<Evaluator>,
    input: InputIndex,
    foci: Foci,
    /// The atoms' names as of this table of names.
    names: Option<(Arc<NameTable>, Vec<Resolved>)>,
}

impl JoinState {
    /// A join that has seen no input yet.
    pub fn new(join: Join, surroundings: &Surroundings) -> Result<JoinState, StandingError> {
        let compile = |condition: &Condition| surroundings.compile(&condition.expr, &join.layout);
        let conditions = join.conditions.iter().map(compile).collect::<Result<_, _>>()?;
        let (lives, input) = (Lives::of(&join.atoms), InputIndex::for_join(&join));
        let foci = Foci::of(&join, surroundings.names.catalog());
        Ok(JoinState { conditions, lives, input, foci, join, names: None })
    }
    /// Changes of the answer that follow from those of the graph and of the input at this timestamp.
    pub fn advance(&mut self, turn: &EventContext<'_>, input: &Changes) -> Result<Changes, StandingError> {
        let table = turn.view.newest().catalog().names();
        if !self.names.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, table)) {
            let catalog = turn.view.newest().catalog();
            let resolved = self.join.atoms.iter().map(|atom| atom.resolve(catalog)).collect();
            self.names = Some((table.clone(), resolved));
        }
        let names = self.names.as_ref().map_or(&[][..], |(_, names)| names);
        let moment = Moment { join: &self.join, names, view: turn.view, timestamp: turn.timestamp };
        let (mut found, doubts) = (Changes::default(), Cell::new(false));
        if let Some(touched) = turn.touched {
            self.foci.commit(touched, &moment)?;
            for (number, (atom, name)) in self.join.atoms.iter().zip(names).enumerate() {
                let lives = self.lives[number];
                let changes = changes_of(atom, name, lives, &self.foci, turn.view, turn.timestamp, touched)?;
                if !changes.is_empty() {
                    self.run(turn, names, number + 1, &doubts)
                        .complete(&changes, &mut |row, diff| found.push((row, diff)))?;
                }
            }
        }
        // What an OPTIONAL MATCH did not find is bound all the same: nothing matches it.
        let is_whole = |row: &Row| self.join.entities.iter().all(|column| !row.values()[*column].is_null());
        let input: Changes = input.iter().filter(|(row, _)| is_whole(row)).cloned().collect();
        let input = &input;
        if !input.is_empty() {
            self.foci.give(input, &moment)?;
            self.run(turn, names, 0, &doubts).complete(input, &mut |row, diff| found.push((row, diff)))?;
            input.iter().for_each(|(row, diff)| self.input.apply(row, *diff));
            self.foci.withdraw(input, &moment)?;
        }
        if doubts.get() && !self.join.is_asked_later {
            consolidate(&mut found);
            return satisfying(&self.conditions, found);
        }
        Ok(found)
    }
    fn run<'a>(
        &'a self,
        turn: &'a EventContext<'_>,
        names: &'a [Resolved],
        relation: usize,
        doubts: &'a Cell<bool>,
    ) -> Run<'a> {
        let JoinState { join, conditions, input, foci, .. } = self;
        Run {
            join,
            names,
            view: turn.view,
            input,
            foci,
            conditions,
            timestamp: turn.timestamp,
            relation,
            doubts,
        }
    }
}

impl Weight for JoinState {
    fn bytes_behind(&self) -> usize {
        self.input.bytes_behind() + self.foci.bytes_behind()
    }
}
