//! Steps at work: each fed with the changes of those before it, one timestamp at a time.

use crate::StandingError;
use crate::evaluate::{Evaluator, Surroundings, satisfying};
use crate::event_context::{Changes, EventContext, consolidate};
use crate::join::JoinState;
use crate::limits::BLOCK_ROWS;
use crate::operator::{Aggregate, Combine, Distinct, Pair, Reach, Rounds, Top};
use crate::row::Row;
use crate::shape::{Step, StepKind, StepNo};
use crate::view::View;
use crate::weight::Weight;
use model::Value;

enum StepOperator {
    Arguments,
    Join(Box<JoinState>),
    Filter(StepNo, Vec<Evaluator>),
    Map(StepNo, Vec<Evaluator>),
    Unwind(StepNo, Evaluator),
    Distinct(StepNo, Distinct),
    Aggregate(StepNo, Option<StepNo>, Aggregate),
    Reach(StepNo, Reach),
    Pair(StepNo, Box<Pair>),
    Rounds(StepNo, Box<Rounds>),
    Top(StepNo, Top),
    Union(StepNo, StepNo),
    Combine(StepNo, StepNo, Combine),
}

/// A list of steps and their states.
pub(crate) struct Steps {
    operators: Vec<StepOperator>,
    /// Where a join's input comes from.
    inputs: Vec<StepNo>,
    output: StepNo,
    /// Bytes of the rows that came and went, since they were last taken.
    moved: usize,
}

impl Weight for StepOperator {
    fn bytes_behind(&self) -> usize {
        match self {
            StepOperator::Arguments
            | StepOperator::Filter(..)
            | StepOperator::Map(..)
            | StepOperator::Unwind(..)
            | StepOperator::Union(..) => 0,
            StepOperator::Join(join) => join.bytes_behind(),
            StepOperator::Distinct(_, distinct) => distinct.bytes_behind(),
            StepOperator::Aggregate(.., aggregate) => aggregate.bytes_behind(),
            StepOperator::Reach(_, reach) => reach.bytes_behind(),
            StepOperator::Pair(_, pair) => pair.bytes_behind(),
            StepOperator::Rounds(_, rounds) => rounds.bytes_behind(),
            StepOperator::Top(_, top) => top.bytes_behind(),
            StepOperator::Combine(.., combine) => combine.bytes_behind(),
        }
    }
}

impl Weight for Steps {
    fn bytes_behind(&self) -> usize {
        self.operators.iter().map(Weight::bytes_behind).sum()
    }
}

impl Steps {
    /// Steps that have seen nothing.
    pub fn new(
        steps: Vec<Step>,
        output: StepNo,
        surroundings: &Surroundings,
    ) -> Result<Steps, StandingError> {
        let layouts: Vec<_> = steps.iter().map(|step| step.layout.clone()).collect();
        let (mut operators, mut inputs) = (Vec::new(), Vec::new());
        for step in steps {
            let mut from = 0;
            operators.push(match step.kind {
                StepKind::Arguments => StepOperator::Arguments,
                StepKind::Join(join) => {
                    from = join.input;
                    StepOperator::Join(Box::new(JoinState::new(*join, surroundings)?))
                }
                StepKind::Filter { input, predicates } => {
                    let all = predicates.iter().map(|one| surroundings.compile(one, &layouts[input]));
                    StepOperator::Filter(input, all.collect::<Result<_, _>>()?)
                }
                StepKind::Map { input, items } => {
                    let items = items.iter().map(|item| surroundings.compile(item, &layouts[input]));
                    StepOperator::Map(input, items.collect::<Result<_, _>>()?)
                }
                StepKind::Unwind { input, list } => {
                    StepOperator::Unwind(input, surroundings.compile(&list, &layouts[input])?)
                }
                StepKind::Distinct { input, grouped, exact } => {
                    StepOperator::Distinct(input, Distinct::new(layouts[input].len(), grouped, &exact))
                }
                StepKind::Aggregate { input, keys, exact, calls, whole } => {
                    StepOperator::Aggregate(input, whole, Aggregate::new(keys, &exact, calls))
                }
                StepKind::Pair { input, walk, max } => {
                    StepOperator::Pair(input, Box::new(Pair::new(walk, max)))
                }
                StepKind::Rounds { input, body, walk } => {
                    StepOperator::Rounds(input, Box::new(Rounds::new(*body, walk, surroundings)?))
                }
                StepKind::Reach { input, walk } => StepOperator::Reach(input, Reach::new(walk)),
                StepKind::Top { input, group, keys, skip, limit } => {
                    StepOperator::Top(input, Top::new(group, keys, skip, limit))
                }
                StepKind::Union { left, right } => StepOperator::Union(left, right),
                StepKind::Combine { left, right, on, kind } => {
                    StepOperator::Combine(left, right, Combine::new(&on, kind))
                }
            });
            inputs.push(from);
        }
        Ok(Steps { operators, inputs, output, moved: 0 })
    }
    /// The changes of the last step's rows, given those of the first step. It may be called again for the same timestamp, with more rows and without
    /// the commit.
    pub fn advance(
        &mut self,
        turn: &EventContext<'_>,
        arguments: &Changes,
    ) -> Result<Changes, StandingError> {
        let mut all: Vec<Changes> = Vec::with_capacity(self.operators.len());
        for (number, operator) in self.operators.iter_mut().enumerate() {
            let mut changes = match operator {
                StepOperator::Arguments => arguments.clone(),
                StepOperator::Join(join) => join.advance(turn, &all[self.inputs[number]])?,
                StepOperator::Filter(input, conditions) => satisfying(conditions, all[*input].clone())?,
                StepOperator::Map(input, items) => mapped(&all[*input], items)?,
                StepOperator::Unwind(input, list) => unwound(turn.view, &all[*input], list)?,
                StepOperator::Distinct(input, distinct) => distinct.advance(&all[*input]),
                StepOperator::Aggregate(input, whole, aggregate) => {
                    aggregate.advance(&all[*input], whole.map(|whole| &all[whole]))?
                }
                StepOperator::Pair(input, pair) => pair.advance(turn, &all[*input])?,
                StepOperator::Rounds(input, rounds) => rounds.advance(turn, &all[*input])?,
                StepOperator::Reach(input, reach) => reach.advance(turn, &all[*input])?,
                StepOperator::Top(input, top) => top.advance(&all[*input]),
                StepOperator::Union(left, right) => all[*left].iter().chain(&all[*right]).cloned().collect(),
                StepOperator::Combine(left, right, combine) => combine.advance(&all[*left], &all[*right]),
            };
            let counted = if matches!(operator, StepOperator::Unwind(..)) { changes.len() } else { 0 };
            turn.view.count(changes.len() - counted)?;
            consolidate(&mut changes);
            self.moved += changes.iter().map(|(row, _)| row.whole_bytes()).sum::<usize>();
            all.push(changes);
        }
        Ok(all.swap_remove(self.output))
    }
    /// Bytes of the rows that came and went since the last call.
    pub fn take_moved(&mut self) -> usize {
        std::mem::take(&mut self.moved)
    }
}

fn mapped(input: &Changes, items: &[Evaluator]) -> Result<Changes, StandingError> {
    if input.is_empty() {
        return Ok(Changes::new());
    }
    let rows = || input.iter().map(|(row, _)| row.values());
    let columns = items.iter().map(|item| item.values(rows())).collect::<Result<Vec<_>, _>>()?;
    let row = |at: usize| Row::new(columns.iter().map(|column| column[at].clone()));
    Ok(input.iter().enumerate().map(|(at, (_, diff))| (row(at), *diff)).collect())
}

/// The elements of lists as rows, which are charged as they are made: a few rows may become very many.
fn unwound(view: &View, input: &Changes, list: &Evaluator) -> Result<Changes, StandingError> {
    let mut found = Changes::new();
    for block in input.chunks(BLOCK_ROWS) {
        let lists = list.values(block.iter().map(|(row, _)| row.values()))?;
        for ((row, diff), list) in block.iter().zip(lists) {
            match list {
                Value::Null => {}
                Value::List(list) => {
                    for some in list.chunks(BLOCK_ROWS) {
                        view.count(some.len())?;
                        found.extend(some.iter().map(|value| (row.join(std::slice::from_ref(value)), *diff)));
                    }
                }
                single => {
                    view.count(1)?;
                    found.push((row.join(&[single]), *diff));
                }
            }
        }
    }
    Ok(found)
}
