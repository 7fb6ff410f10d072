//! A standing query at work: its steps in order, each fed with the changes of those before it.
//!
//! One timestamp at a time goes through the whole network, from the graph's changes to those of the answer; work is proportional to change. Idea: as
//! timestamps are totally ordered and every step has its state, a step's new changes follow from its inputs' and its state alone, without any
//! bookkeeping of times.

use crate::StandingError;
use crate::evaluate::Surroundings;
use crate::event_context::{Changes, EventContext};
use crate::limits::RESULT_ROWS_MAX;
use crate::row::Row;
use crate::shape::Shape;
use crate::steps::Steps;
use crate::table::HashMap;
use crate::weight::{Weighed, Weight};
use store::Snapshot;

/// The steps of one query and their state.
pub(crate) struct Network {
    steps: Steps,
    /// Where the parameters stand in the rows of the answer.
    arguments: Vec<usize>,
    /// Rows of the answer by their arguments, with multiplicities.
    answers: HashMap<Row, Answer>,
    rows: usize,
    weighed: Weighed,
}

/// Rows with multiplicities.
pub(crate) type Answer = HashMap<Row, isize>;

impl Network {
    /// A network that has seen nothing; its answer is empty.
    pub fn new(shape: Shape, names: &Snapshot) -> Result<Network, StandingError> {
        let Shape { steps, output, arguments, .. } = shape;
        let steps = Steps::new(steps, output, &Surroundings::new(names.clone()))?;
        let arguments = arguments.iter().map(|(_, place)| *place).collect();
        Ok(Network { steps, arguments, answers: HashMap::default(), rows: 0, weighed: Weighed::default() })
    }
    /// The changes of the answer at this timestamp; the arguments' own are given.
    pub fn advance(
        &mut self,
        turn: &EventContext<'_>,
        arguments: &Changes,
    ) -> Result<Changes, StandingError> {
        // Now, while nobody else holds the rows of the timestamp before.
        if self.weighed.is_due() {
            self.weigh();
        }
        let changes = self.steps.advance(turn, arguments)?;
        self.weighed.changed(self.steps.take_moved());
        for (row, diff) in &changes {
            let key = self.arguments_of(row);
            let answer = self.answers.entry(key.clone()).or_default();
            let before = answer.len();
            let count = answer.entry(row.clone()).or_insert(0);
            *count += diff;
            if *count == 0 {
                answer.remove(row);
            }
            self.rows = self.rows + answer.len() - before;
            if answer.is_empty() {
                self.answers.remove(&key);
            }
        }
        debug_assert!(
            changes.iter().all(|(row, _)| self.count_of(row) >= 0),
            "no row is in an answer fewer than zero times"
        );
        if self.rows > RESULT_ROWS_MAX {
            return Err(StandingError::TooLarge { what: "the rows of the answer", limit: RESULT_ROWS_MAX });
        }
        Ok(changes)
    }
    /// How often a row is in the answer.
    fn count_of(&self, row: &Row) -> isize {
        let answer = self.answers.get(&self.arguments_of(row));
        answer.and_then(|answer| answer.get(row)).copied().unwrap_or(0)
    }
    /// The arguments that a row of the answer belongs to.
    pub fn arguments_of(&self, row: &Row) -> Row {
        row.pick(&self.arguments)
    }
    /// The present answer for these arguments: rows with multiplicities.
    pub fn answer(&self, arguments: &Row) -> Changes {
        let rows = self.answers.get(arguments).into_iter().flatten();
        rows.map(|(row, count)| (row.clone(), *count)).collect()
    }
    /// Weighs all state.
    pub fn weigh(&mut self) {
        self.weighed.weighed(self.steps.bytes_behind() + self.answers.bytes_behind());
    }
    /// Bytes of the state: weighed, and added since.
    pub fn bytes(&self) -> usize {
        self.weighed.bytes()
    }
    /// Rows of all answers, equal ones counted once.
    pub fn rows(&self) -> usize {
        self.rows
    }
}
