//! Aggregate: groups rows. Each executor aggregates what comes to it; at the end of the input the parts meet at home, where they are
//! merged and handed on. The parts travel through a place that the twins share, not as messages: they are tables, not rows.
//!
//! Inside a sub-query the number of the outer row leads the keys, and an aggregate without keys of its own has one row for every
//! outer row, also where there was no inner row.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::operator::distinct::{VertexSet, plain_vertices};
use crate::scope_rows::ScopeRows;
use crate::spill::{SpilledPart, SpilledParts, is_tight, joined};
use crate::stream::{Feed, Stream};
use crate::turn::{Breaker, Breaking, Here, Progress, Try, Turn};
use expression::segments::Segments;
use expression::{Aggregator, Compiled, Extremes, GroupTable, Layout, NO_GROUP, Sums};
use model::batch::Carried;
use model::{Batch, Column, ColumnBuilder, Nulls, Value};
use parking_lot::Mutex;
use plan::AggregateFunction;
use plan::physical::Algorithm;
use std::ops::Range;
use std::sync::Arc;

struct Call {
    function: AggregateFunction,
    distinct: bool,
    arguments: Vec<Compiled>,
}

struct Grouping {
    keys: Vec<Compiled>,
    calls: Vec<Call>,
    /// One group that is there without any row.
    single: bool,
    /// Inside a sub-query, without keys of its own: the outer rows of each instance.
    every: Option<Arc<ScopeRows>>,
}

/// The states of one call, by group.
enum States {
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
    fn new(call: &Call, single: bool) -> States {
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
    fn grow(&mut self, groups: usize, call: &Call) {
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
    fn generalise(&mut self, call: &Call) -> Try<&mut Segments<Aggregator>> {
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
    fn update(&mut self, call: &Call, arguments: &[Carried], groups: Option<&[u32]>, rows: usize) -> Try<()> {
        match (&mut *self, groups) {
            (States::Counts(counts), None) => {
                counts[0] += match arguments.first() {
                    None => rows as i64,
                    Some(argument) if plain_vertices(argument).is_some() => rows as i64,
                    Some(argument) => (0..rows).filter(|row| !argument.is_null(*row)).count() as i64,
                };
                Ok(())
            }
            (States::Counts(counts), Some(groups)) => {
                let counted = |row: usize| arguments.first().is_none_or(|argument| !argument.is_null(row));
                for (row, group) in groups.iter().enumerate() {
                    counts[*group as usize] += i64::from(counted(row));
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
    /// Takes over as many of the other's groups, from its end, as `groups` has their numbers here.
    fn merge(&mut self, call: &Call, other: &mut States, groups: &[u32]) -> Try<()> {
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
    /// The answers of some groups.
    fn finish(&mut self, call: &Call, groups: Range<usize>) -> Try<Column> {
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
    /// Does a piece of what is left to do for a group before it can be handed on; true if nothing is.
    fn settle(&mut self, group: usize) -> bool {
        match self {
            States::General(states) => states[group].settle(),
            States::Counts(_) | States::Vertices(_) | States::Sums(_) | States::Extremes(_) => true,
        }
    }
}

/// How much the states of one call hold: each tells for itself and they may be many, so some are asked at each look, in turns, and the others
/// are taken for what they were in the turn before.
#[derive(Clone, Default)]
struct Weighing {
    /// The next to be asked, and what those before it hold.
    next: usize,
    weighed: usize,
    /// What all held that there were in the last turn.
    whole: usize,
}

impl Weighing {
    fn look(&mut self, states: &Segments<Aggregator>) -> usize {
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

/// The keys and the arguments of the calls, of the rows of a batch.
struct Evaluated {
    keys: Vec<Carried>,
    /// By call.
    arguments: Vec<Vec<Carried>>,
    len: usize,
}

impl Evaluated {
    fn new(plan: &Grouping, batch: &Batch, here: &mut Here) -> Try<Evaluated> {
        let scope = here.scope();
        let all = |expressions: &[Compiled]| {
            let values = expressions.iter().map(|expression| expression.evaluate_carried(batch, &scope));
            values.collect::<Result<Vec<Carried>, _>>()
        };
        let arguments = plan.calls.iter().map(|call| all(&call.arguments)).collect::<Result<_, _>>()?;
        Ok(Evaluated { keys: all(&plan.keys)?, arguments, len: batch.len() })
    }
    /// As columns of a batch, keys first.
    fn batch(&self) -> Batch {
        let mut batch = Batch::new(Vec::new(), self.len);
        let columns = self.keys.iter().chain(self.arguments.iter().flatten());
        columns.for_each(|column| batch.push_carried(column.clone()));
        batch
    }
    /// Of such a batch.
    fn of(plan: &Grouping, batch: &Batch) -> Evaluated {
        let mut columns = (0..batch.width()).map(|at| batch.column(at).clone());
        let keys = columns.by_ref().take(plan.keys.len()).collect();
        let of_call = |call: &Call| columns.by_ref().take(call.arguments.len()).collect();
        Evaluated { keys, arguments: plan.calls.iter().map(of_call).collect(), len: batch.len() }
    }
    fn width(plan: &Grouping) -> usize {
        plan.keys.len() + plan.calls.iter().map(|call| call.arguments.len()).sum::<usize>()
    }
}

/// Groups so far, on one executor.
struct Groups {
    table: GroupTable,
    states: Vec<States>,
    weighing: Vec<Weighing>,
    groups: Vec<u32>,
}

impl Groups {
    fn new(plan: &Grouping) -> Groups {
        let states = plan.calls.iter().map(|call| States::new(call, plan.single)).collect();
        let weighing = vec![Weighing::default(); plan.calls.len()];
        let table = GroupTable::new(plan.keys.len());
        let mut groups = Groups { table, states, weighing, groups: Vec::new() };
        groups.grow(plan);
        groups
    }
    fn len(&self, plan: &Grouping) -> usize {
        if plan.single { 1 } else { self.table.len() }
    }
    fn grow(&mut self, plan: &Grouping) {
        let len = self.len(plan);
        self.states.iter_mut().zip(&plan.calls).for_each(|(state, call)| state.grow(len, call));
    }
    fn take(&mut self, plan: &Grouping, rows: &Evaluated) -> Try<()> {
        if !plan.single {
            self.table.assign(&rows.keys, rows.len, &mut self.groups);
            self.grow(plan);
        }
        self.update(plan, rows)
    }
    fn update(&mut self, plan: &Grouping, rows: &Evaluated) -> Try<()> {
        let groups = (!plan.single).then_some(self.groups.as_slice());
        let states = self.states.iter_mut().zip(&plan.calls).zip(&rows.arguments);
        for ((state, call), arguments) in states {
            state.update(call, arguments, groups, rows.len)?;
        }
        Ok(())
    }
    /// Takes the rows of groups that are there; returns the others.
    fn take_known(&mut self, plan: &Grouping, rows: &Evaluated) -> Try<Vec<u32>> {
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
    fn merge(&mut self, plan: &Grouping, other: &mut Groups, left: usize) -> Try<usize> {
        let start = if plan.single { 0 } else { left.saturating_sub(GROUPS_MERGED_PER_LOOK) };
        self.merge_from(plan, other, start..left)?;
        Ok(start)
    }
    /// Takes over these groups of another part, its last.
    fn merge_from(&mut self, plan: &Grouping, other: &mut Groups, range: Range<usize>) -> Try<()> {
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
    /// A group for each of the outer rows.
    fn open_all(&mut self, plan: &Grouping, rows: usize) {
        let numbers = Column::Int((0..rows as i64).collect(), Nulls::none());
        self.table.assign(&[Carried::new(numbers)], rows, &mut self.groups);
        self.grow(plan);
    }
    /// The groups of a range as rows.
    fn rows(&mut self, plan: &Grouping, start: usize, end: usize) -> Try<Batch> {
        let mut columns: Vec<Column> =
            (0..plan.keys.len()).map(|key| self.table.key_column(key, start..end)).collect();
        for (state, call) in self.states.iter_mut().zip(&plan.calls) {
            columns.push(state.finish(call, start..end)?);
        }
        Ok(Batch::new(columns, end - start))
    }
    /// Does a piece of what is left to do before the groups of a range can be rows; true if nothing is.
    fn settle(&mut self, start: usize, end: usize) -> bool {
        self.states.iter_mut().all(|state| (start..end).all(|group| state.settle(group)))
    }
    /// Most that the groups of a range hold besides while their answers are made: each lets go of its state before the next.
    fn finishing_bytes(&self, start: usize, end: usize) -> usize {
        let of_state = |state: &States| match state {
            States::General(states) => {
                (start..end).map(|group| states[group].finishing_bytes()).max().unwrap_or(0)
            }
            States::Counts(_) | States::Vertices(_) | States::Sums(_) | States::Extremes(_) => 0,
        };
        self.states.iter().map(of_state).max().unwrap_or(0)
    }
    /// Hands on the groups of a range as rows; false if something is left to do before, of which a piece was done.
    fn hand_on(&mut self, plan: &Grouping, range: Range<usize>, turn: &mut Turn<'_, '_>) -> Try<bool> {
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
    fn grow_alone(&self) -> bool {
        self.states.iter().any(|states| matches!(states, States::General(_)))
    }
    fn bytes(&mut self) -> usize {
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

/// What the twins of one grouping share.
#[derive(Clone, Default)]
struct Shared {
    /// Parts that wait to be merged, and the bytes of each that nobody is charged for.
    parts: Arc<Mutex<Vec<(Groups, usize)>>>,
    /// Rows that were put aside.
    aside: Arc<Mutex<Vec<SpilledPart>>>,
}

/// Groups of another part taken over between two looks at the clock.
const GROUPS_MERGED_PER_LOOK: usize = 1_024;

/// Batches between two looks at the memory held, once there were so many: of the first, more are looked at, as one batch may hold much.
const BATCHES_PER_CHARGE: u32 = 16;
/// States of a call that are asked at a look what they hold.
const STATES_WEIGHED_PER_LOOK: usize = 4_096;

/// Groups what comes; at the end leaves its part for the merge.
///
/// Once there is little room, no group is opened any more: the rows of others are put aside by the hash of their keys, and are grouped
/// part by part behind the merge (a hybrid hash aggregation: Graefe 1993, "Query Evaluation Techniques for Large Databases", 4.3).
struct Partial {
    plan: Arc<Grouping>,
    groups: Option<Groups>,
    shared: Shared,
    batches: u32,
    charged: usize,
    /// Several executors group, and their groups are merged.
    has_twins: bool,
    aside: Option<SpilledParts>,
}

impl Partial {
    fn new(plan: Arc<Grouping>, shared: Shared, has_twins: bool) -> Partial {
        Partial { plan, groups: None, shared, batches: 0, charged: 0, has_twins, aside: None }
    }
    /// Charges what the groups hold by now; returns how much that is as well.
    fn charge_held(&mut self, turn: &mut Turn<'_, '_>) -> (Try<()>, usize) {
        let bytes = self.groups.as_mut().map_or(0, Groups::bytes) + aside_bytes(&self.aside);
        let charged = turn.context.charge(bytes.saturating_sub(self.charged));
        self.charged = self.charged.max(bytes);
        (charged, bytes)
    }
    /// Charges it, or sees to it that no further group is opened.
    fn charge(&mut self, turn: &mut Turn<'_, '_>) -> Try<()> {
        let (charged, bytes) = self.charge_held(turn);
        if self.plan.single || self.plan.every.is_some() || self.aside.is_some() {
            return charged;
        }
        // The groups of all twins become one table; values that are collected go on to come.
        let grows = self.groups.as_ref().is_some_and(Groups::grow_alone);
        let twins = if self.has_twins { turn.context.executors() } else { 0 };
        let needed = bytes * (twins + usize::from(grows));
        if charged.is_err() || is_tight(turn.context, bytes, needed) {
            self.aside = SpilledParts::create(
                Evaluated::width(&self.plan),
                None,
                turn.here.environment.spill.as_ref(),
                turn.context,
            )?;
        }
        if self.aside.is_some() { Ok(()) } else { charged }
    }
}

fn aside_bytes(aside: &Option<SpilledParts>) -> usize {
    aside.as_ref().map_or(0, SpilledParts::bytes)
}

impl Breaker for Partial {
    fn take(&mut self, _: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        let groups = self.groups.get_or_insert_with(|| Groups::new(&self.plan));
        let rows = Evaluated::new(&self.plan, &batch, turn.here)?;
        match &mut self.aside {
            None => groups.take(&self.plan, &rows)?,
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
        self.shared.parts.lock().extend(self.groups.take().map(|groups| (groups, released)));
        turn.context.release(released);
        Ok(Progress::Done)
    }
}

/// Rows that were put aside, being grouped part by part.
struct Rest {
    parts: Vec<SpilledPart>,
    part: Option<SpilledPart>,
    /// Those of the part that is read, or that was.
    groups: Groups,
    /// Rows of the part for whose groups there is no room either.
    aside: Option<SpilledParts>,
    /// The next group that is handed on, once the part is read.
    next: Option<usize>,
    charged: usize,
}

impl Rest {
    fn new(plan: &Grouping, parts: Vec<SpilledPart>) -> Rest {
        Rest { parts, part: None, groups: Groups::new(plan), aside: None, next: None, charged: 0 }
    }
    fn charge(&mut self, plan: &Grouping, turn: &mut Turn<'_, '_>) -> Try<()> {
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
                turn.here.environment.spill.as_ref(),
                turn.context,
            )?;
        }
        if self.aside.is_some() { Ok(()) } else { charged }
    }
    /// A slice of work, beside the groups that were always in memory; true if nothing is left.
    fn step(&mut self, plan: &Grouping, kept: &mut Groups, turn: &mut Turn<'_, '_>) -> Try<bool> {
        if let Some(start) = self.next {
            let len = self.groups.len(plan);
            let end = len.min(start + turn.here.environment.batch_rows);
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

/// A part that is being merged, and how many of its groups are left.
type MergingPart = (Groups, usize);

/// What is done at home, in turn.
enum FinalStep {
    /// Parts are merged: one of them, and how many of its groups are left.
    Merge(Option<Box<MergingPart>>),
    /// Rows that were put aside are grouped.
    Rest(Box<Rest>),
    /// Groups are handed on from here.
    HandOn(usize),
}

/// Takes rows itself, merges the parts of others, hands on the groups.
struct Final {
    partial: Partial,
    step: FinalStep,
}

impl Final {
    /// Charges what the groups hold, the part that is merged, and those that wait.
    fn charge(&mut self, merging: &mut Option<Box<MergingPart>>, turn: &mut Turn<'_, '_>) -> Try<()> {
        let merging = merging.as_mut().map_or(0, |merging| merging.0.bytes());
        let partial = &mut self.partial;
        let waiting: usize = partial.shared.parts.lock().iter().map(|(_, bytes)| bytes).sum();
        let bytes = partial.groups.as_mut().map_or(0, Groups::bytes) + merging + waiting;
        turn.context.charge(bytes.saturating_sub(partial.charged))?;
        turn.context.release(partial.charged.saturating_sub(bytes));
        partial.charged = bytes;
        Ok(())
    }
    /// A slice of the merge; what comes behind it once it is done.
    fn merge(&mut self, mut merging: Option<Box<MergingPart>>, turn: &mut Turn<'_, '_>) -> Try<FinalStep> {
        let plan = self.partial.plan.clone();
        if let (Some(part), Some(groups)) = (&mut merging, &mut self.partial.groups) {
            let (part, left) = &mut **part;
            *left = groups.merge(&plan, part, *left)?;
            merging = merging.filter(|part| part.1 > 0);
            return Ok(FinalStep::Merge(merging));
        }
        self.charge(&mut merging, turn)?;
        let part = self.partial.shared.parts.lock().pop();
        if let Some((part, _)) = part {
            match &mut self.partial.groups {
                Some(_) => {
                    let left = part.len(&plan);
                    merging = Some(Box::new((part, left)));
                }
                None => self.partial.groups = Some(part),
            }
            self.charge(&mut merging, turn)?;
            return Ok(FinalStep::Merge(merging));
        }
        let groups = self.partial.groups.get_or_insert_with(|| Groups::new(&plan));
        if let Some(every) = &plan.every {
            groups.open_all(&plan, every.get(turn.context.executor(), turn.context.tag()));
        }
        let mut aside = std::mem::take(&mut *self.partial.shared.aside.lock());
        if let Some(own) = self.partial.aside.take() {
            aside.extend(own.finish(turn.context)?);
        }
        Ok(match aside.is_empty() {
            true => FinalStep::HandOn(0),
            false => FinalStep::Rest(Box::new(Rest::new(&plan, joined(aside)))),
        })
    }
}

impl Breaker for Final {
    fn take(&mut self, port: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        self.partial.take(port, batch, turn)
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        let plan = self.partial.plan.clone();
        let next = match &mut self.step {
            FinalStep::Merge(merging) => {
                let merging = merging.take();
                self.step = self.merge(merging, turn)?;
                return Ok(Progress::More);
            }
            FinalStep::Rest(rest) => {
                let kept = self.partial.groups.as_mut().expect("made when the parts were merged");
                let is_done = rest.step(&plan, kept, turn)?;
                // Values that were put aside may belong to groups that were in memory.
                let bytes = kept.bytes();
                turn.context.charge(bytes.saturating_sub(self.partial.charged))?;
                self.partial.charged = self.partial.charged.max(bytes);
                if is_done {
                    self.step = FinalStep::HandOn(0);
                }
                return Ok(Progress::More);
            }
            FinalStep::HandOn(next) => next,
        };
        let groups = self.partial.groups.as_mut().expect("made when the parts were merged");
        let len = groups.len(&plan);
        let end = len.min(*next + turn.here.environment.batch_rows);
        if !groups.hand_on(&plan, *next..end, turn)? {
            return Ok(Progress::More);
        }
        *next = end;
        Ok(if end == len { Progress::Done } else { Progress::More })
    }
}

/// Groups rows that come vertex by vertex: hands on the groups of vertices that are done with.
struct Streaming {
    plan: Arc<Grouping>,
    /// Which key is the vertex.
    key: usize,
    groups: Groups,
    /// Groups that are whole, and which of them were not handed on yet.
    whole: Option<(Groups, Range<usize>)>,
    /// So many groups are looked through for those that are whole.
    looked_at: usize,
    charged: usize,
}

/// Groups from which on those that are whole are handed on.
const GROUPS_HANDED_ON_MIN: usize = 2 * model::batch::BATCH_ROWS;
/// Groups of the last vertex that are taken along at once; with more of them, nothing is handed on until the vertex is done with.
const GROUPS_TAKEN_ALONG_MAX: usize = 4_096;

impl Streaming {
    fn new(plan: Arc<Grouping>, key: usize) -> Streaming {
        let groups = Groups::new(&plan);
        Streaming { plan, key, groups, whole: None, looked_at: GROUPS_HANDED_ON_MIN, charged: 0 }
    }
    /// Charges what the groups hold by now.
    fn charge(&mut self, turn: &mut Turn<'_, '_>) -> Try<()> {
        let whole = self.whole.as_mut().map_or(0, |(groups, _)| groups.bytes());
        let bytes = self.groups.bytes() + whole;
        turn.context.charge(bytes.saturating_sub(self.charged))?;
        turn.context.release(self.charged.saturating_sub(bytes));
        self.charged = bytes;
        Ok(())
    }
    /// Sets the groups of all vertices but the last aside: its rows may go on.
    fn set_aside(&mut self) -> Try<()> {
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
    fn hand_on(&mut self, turn: &mut Turn<'_, '_>) -> Try<bool> {
        let Some((groups, left)) = &mut self.whole else { return Ok(true) };
        let end = left.end.min(left.start + turn.here.environment.batch_rows);
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
    fn take(&mut self, _: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        self.groups.take(&self.plan, &Evaluated::new(&self.plan, &batch, turn.here)?)?;
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

fn grouping(
    compiler: &Compiler,
    node: &plan::algebra::Aggregate,
    layout: &Layout,
    output: &mut Layout,
) -> Result<Grouping, ExecuteError> {
    let mut keys = Vec::new();
    if let Some(row) = compiler.row() {
        keys.push(Compiled::column(Compiler::position(layout, row)?));
        output.push(row);
    }
    for (variable, expression) in &node.keys {
        keys.push(compiler.expression(expression, layout)?);
        output.push(*variable);
    }
    let mut calls = Vec::new();
    for (variable, call) in &node.aggregates {
        let arguments = call.arguments.iter().map(|argument| compiler.expression(argument, layout));
        let arguments = arguments.collect::<Result<_, _>>()?;
        calls.push(Call { function: call.function, distinct: call.distinct, arguments });
        output.push(*variable);
    }
    let every = compiler.inside.as_ref().filter(|_| node.keys.is_empty()).map(|inside| inside.rows.clone());
    Ok(Grouping { single: keys.is_empty(), keys, calls, every })
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Aggregate,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let mut input = compiler.rows(feed)?;
    // Grouping costs less than sharing rows out, unless they are shared out already.
    input.fans_out &= input.parallel;
    let mut layout = Layout::default();
    let plan = Arc::new(grouping(compiler, node, &input.layout, &mut layout)?);
    if let Algorithm::VertexByVertex { key } = compiler.algorithm()
        && compiler.stays_together()
    {
        let environment = compiler.environment.clone();
        let vertex = compiler.vertex("Aggregate", compiler.options(1), move || {
            Breaking::new(Streaming::new(plan.clone(), key), Here::new(&environment), 1)
        });
        let parallel = compiler.connect(&input, vertex, 0);
        return Ok(Stream { vertex, output: 0, layout, parallel, ordered: false, fans_out: false });
    }
    let shared: Option<Shared> = (input.parallel && compiler.inside.is_none()).then(Shared::default);
    let environment = compiler.environment.clone();
    if let Some(shared) = shared.clone() {
        let (plan, environment) = (plan.clone(), environment.clone());
        let vertex = compiler.vertex("Aggregate", compiler.options(1), move || {
            let partial = Partial::new(plan.clone(), shared.clone(), true);
            Breaking::new(partial, Here::new(&environment), 1)
        });
        compiler.connect(&input, vertex, 0);
        input = Stream { vertex, output: 0, parallel: true, fans_out: false, ..input };
    }
    let options = dataflow::VertexOptions {
        create_if_empty: plan.single || plan.every.is_some() || shared.is_some(),
        ..compiler.options(1)
    };
    let vertex = compiler.vertex("Aggregate", options, move || {
        let partial = Partial::new(plan.clone(), shared.clone().unwrap_or_default(), shared.is_some());
        Breaking::new(Final { partial, step: FinalStep::Merge(None) }, Here::new(&environment), 1)
    });
    compiler.gather(&input, vertex, 0);
    // Groups of rows that were shared out may be many, and have come to one place.
    let fans_out = input.parallel && !node.keys.is_empty();
    Ok(Stream { vertex, output: 0, layout, parallel: false, ordered: false, fans_out })
}
