//! A standing query at work: its steps in order, each fed with the changes of those before it.
//!
//! One tick at a time goes through the whole network, from the graph's changes to those of the answer; work is proportional to
//! change. Idea: as ticks are totally ordered and every step keeps what it needs, a step's new changes follow from its inputs' and
//! its state alone, without any bookkeeping of times.

use crate::StandingError;
use crate::evaluate::{Evaluator, Surroundings};
use crate::join::JoinState;
use crate::limits::RESULT_ROWS_MAX;
use crate::operator::{Aggregate, Combine, Distinct, Pair, Reach, Top};
use crate::row::Row;
use crate::shape::{Shape, StepKind, StepNo};
use crate::table::HashMap;
use crate::view::{Tick, Touched, View};
use model::Value;
use std::sync::Arc;
use store::Snapshot;

/// Rows that come (positive) and go (negative), so many times each.
pub(crate) type Changes = Vec<(Row, isize)>;

/// What happens at one tick.
pub(crate) struct Turn<'a> {
    pub view: &'a View,
    pub tick: Tick,
    /// What the commit of this tick touched, if it is one.
    pub touched: Option<&'a Touched>,
}

/// Adds up what is said of equal rows; what cancels is gone.
pub(crate) fn consolidate(changes: &mut Changes) {
    if changes.len() > 1 {
        changes.sort_by(|(a, _), (b, _)| a.cmp(b));
        changes.dedup_by(|(row, diff), (kept, sum)| {
            let same = row == kept;
            if same {
                *sum += *diff;
            }
            same
        });
    }
    changes.retain(|(_, diff)| *diff != 0);
}

enum Operator {
    Arguments,
    Join(Box<JoinState>),
    Filter(StepNo, Evaluator),
    Map(StepNo, Vec<Evaluator>),
    Unwind(StepNo, Evaluator),
    Distinct(StepNo, Distinct),
    Aggregate(StepNo, Option<StepNo>, Aggregate),
    Reach(StepNo, Reach),
    Pair(StepNo, Pair),
    Top(StepNo, Top),
    Union(StepNo, StepNo),
    Combine(StepNo, StepNo, Combine),
}

/// The steps of one query and their state.
pub(crate) struct Network {
    operators: Vec<Operator>,
    /// Where a join's input comes from.
    inputs: Vec<StepNo>,
    output: StepNo,
    /// Where the parameters stand in the rows of the answer.
    arguments: Vec<usize>,
    /// Rows of the answer by the arguments they belong to, so many times each.
    answers: HashMap<Row, Answer>,
    rows: usize,
}

/// Rows, so many times each.
pub(crate) type Answer = HashMap<Row, isize>;

impl Network {
    /// A network that has seen nothing; its answer is empty.
    pub fn new(shape: Shape, names: &Snapshot) -> Result<Network, StandingError> {
        let surroundings = Surroundings::new(names.clone());
        let layouts: Vec<_> = shape.steps.iter().map(|step| step.layout.clone()).collect();
        let (mut operators, mut inputs) = (Vec::new(), Vec::new());
        for step in shape.steps {
            let mut from = 0;
            operators.push(match step.kind {
                StepKind::Arguments => Operator::Arguments,
                StepKind::Join(join) => {
                    from = join.input;
                    Operator::Join(Box::new(JoinState::new(*join, &surroundings)?))
                }
                StepKind::Filter { input, predicate } => {
                    Operator::Filter(input, surroundings.compile(&predicate, &layouts[input])?)
                }
                StepKind::Map { input, items } => {
                    let items = items.iter().map(|item| surroundings.compile(item, &layouts[input]));
                    Operator::Map(input, items.collect::<Result<_, _>>()?)
                }
                StepKind::Unwind { input, list } => {
                    Operator::Unwind(input, surroundings.compile(&list, &layouts[input])?)
                }
                StepKind::Distinct { input } => Operator::Distinct(input, Distinct::default()),
                StepKind::Aggregate { input, keys, calls, whole } => {
                    Operator::Aggregate(input, whole, Aggregate::new(keys, calls))
                }
                StepKind::Pair { input, walk, max } => Operator::Pair(input, Pair::new(walk, max)),
                StepKind::Reach { input, walk } => Operator::Reach(input, Reach::new(walk)),
                StepKind::Top { input, group, keys, skip, limit } => {
                    Operator::Top(input, Top::new(group, keys, skip, limit))
                }
                StepKind::Union { left, right } => Operator::Union(left, right),
                StepKind::Combine { left, right, on, kind } => {
                    Operator::Combine(left, right, Combine::new(&on, kind))
                }
            });
            inputs.push(from);
        }
        let arguments = shape.arguments.iter().map(|(_, place)| *place).collect();
        Ok(Network {
            operators,
            inputs,
            output: shape.output,
            arguments,
            answers: HashMap::default(),
            rows: 0,
        })
    }
    /// The changes of the answer at this tick; the arguments' own are given.
    pub fn advance(&mut self, turn: &Turn<'_>, arguments: &Changes) -> Result<Changes, StandingError> {
        let mut all: Vec<Changes> = Vec::with_capacity(self.operators.len());
        for (number, operator) in self.operators.iter_mut().enumerate() {
            let mut changes = match operator {
                Operator::Arguments => arguments.clone(),
                Operator::Join(join) => join.advance(turn, &all[self.inputs[number]])?,
                Operator::Filter(input, predicate) => filtered(&all[*input], predicate)?,
                Operator::Map(input, items) => mapped(&all[*input], items)?,
                Operator::Unwind(input, list) => unwound(&all[*input], list)?,
                Operator::Distinct(input, distinct) => distinct.advance(&all[*input]),
                Operator::Aggregate(input, whole, aggregate) => {
                    aggregate.advance(&all[*input], whole.map(|whole| &all[whole]))?
                }
                Operator::Pair(input, pair) => pair.advance(turn, &all[*input])?,
                Operator::Reach(input, reach) => reach.advance(turn, &all[*input])?,
                Operator::Top(input, top) => top.advance(&all[*input]),
                Operator::Union(left, right) => all[*left].iter().chain(&all[*right]).cloned().collect(),
                Operator::Combine(left, right, combine) => combine.advance(&all[*left], &all[*right]),
            };
            consolidate(&mut changes);
            all.push(changes);
        }
        let changes = all.swap_remove(self.output);
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
        if self.rows > RESULT_ROWS_MAX {
            return Err(StandingError::TooLarge { what: "the rows of the answer", limit: RESULT_ROWS_MAX });
        }
        Ok(changes)
    }
    /// The arguments that a row of the answer belongs to.
    pub fn arguments_of(&self, row: &Row) -> Row {
        row.pick(&self.arguments)
    }
    /// The answer for these arguments as it is now: rows and how often each occurs.
    pub fn answer(&self, arguments: &Row) -> Changes {
        let rows = self.answers.get(arguments).into_iter().flatten();
        rows.map(|(row, count)| (row.clone(), *count)).collect()
    }
    /// Rows of all answers, equal ones counted once.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

fn filtered(input: &Changes, predicate: &Evaluator) -> Result<Changes, StandingError> {
    if input.is_empty() {
        return Ok(Changes::new());
    }
    let passing = predicate.passing(input.iter().map(|(row, _)| row.values()))?;
    Ok(passing.into_iter().map(|row| input[row as usize].clone()).collect())
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

fn unwound(input: &Changes, list: &Evaluator) -> Result<Changes, StandingError> {
    let lists = list.values(input.iter().map(|(row, _)| row.values()))?;
    let mut found = Changes::new();
    for ((row, diff), list) in input.iter().zip(lists) {
        match list {
            Value::Null => {}
            Value::List(list) => {
                let list: &Arc<Vec<Value>> = &list;
                found.extend(list.iter().map(|value| (row.join(std::slice::from_ref(value)), *diff)));
            }
            single => found.push((row.join(&[single]), *diff)),
        }
    }
    Ok(found)
}
