//! Runs a plan: every derivation from a start, written as the words of its head and its rank.

use crate::error::RulesError;
use crate::evaluation::Look;
use crate::limits::LOOK_EVERY_TURNS;
use crate::plan::{Formula, Masks, Operand, Plan, Role, Shape, Step};
use crate::relation::{Relation, Row, state};
use crate::source::Over;
use crate::words::{Word, Words, out_of_memory};
use datalog::{ARITY_MAX, Operator, Order, RelationNo, VARIABLES_MAX};
use model::Value;
use model::compare::{compare, equals};
use std::cmp::Ordering;

/// Where a plan starts from.
#[derive(Clone, Copy)]
pub(crate) enum From<'a> {
    Nothing,
    /// A fact of the plan's start.
    Row(Row),
    /// Likewise, where facts are read.
    Fact(&'a [Word]),
}

/// State that runs share.
pub(crate) struct Ground<'a> {
    pub relations: &'a [Relation],
    pub words: &'a mut Words,
    pub masks: Masks,
    /// Which relations are read on demand, and their source.
    pub is_read: &'a [bool],
    pub over: Over<'a>,
    /// Facts that steps have read, by step.
    pub buffers: &'a mut Vec<Vec<Word>>,
    pub look: &'a dyn Look,
    /// Since the last look.
    pub turns: u64,
    pub slots: &'a mut [Word; VARIABLES_MAX],
}

struct Run<'a, 'g> {
    ground: &'g mut Ground<'a>,
    plan: &'g Plan,
    start: Option<(RelationNo, Row)>,
    out: &'g mut Vec<u32>,
}

impl<'a> Ground<'a> {
    /// All derivations of a plan from a fact, appended to `out`: for each the words of the head, then its rank. `rank` is that of the
    /// start, 0 where that is of another component.
    pub fn run(
        &mut self,
        plan: &Plan,
        from: From<'_>,
        rank: u32,
        out: &mut Vec<u32>,
    ) -> Result<(), RulesError> {
        let relations = self.relations;
        let start = match (&plan.start, from) {
            (Some((relation, shape)), From::Row(row)) => {
                if !accept(shape, relations[*relation].words(row), self.slots) {
                    return Ok(());
                }
                Some((*relation, row))
            }
            (Some((_, shape)), From::Fact(fact)) => {
                if !accept(shape, fact, self.slots) {
                    return Ok(());
                }
                None
            }
            _ => None,
        };
        Run { ground: self, plan, start, out }.step(0, rank)
    }
}

#[inline]
fn accept(shape: &Shape, words: &[Word], slots: &mut [Word; VARIABLES_MAX]) -> bool {
    for (column, slot) in &shape.take {
        slots[*slot] = words[*column];
    }
    shape.same.iter().all(|(column, operand)| words[*column] == get(*operand, slots))
}

#[inline]
fn get(operand: Operand, slots: &[Word; VARIABLES_MAX]) -> Word {
    match operand {
        Operand::Slot(slot) => slots[slot],
        Operand::Word(word) => word,
    }
}

impl<'a> Run<'a, '_> {
    fn step(&mut self, at: usize, rank: u32) -> Result<(), RulesError> {
        let plan = self.plan;
        let Some(step) = plan.steps.get(at) else {
            self.emit(rank);
            return Ok(());
        };
        match step {
            Step::Seek { relation, index, key, shape, role } => {
                let mut words = [0; ARITY_MAX];
                for (place, operand) in key.iter().enumerate() {
                    words[place] = get(*operand, self.ground.slots);
                }
                let found: &'a Relation = &self.ground.relations[*relation];
                if self.ground.is_read[*relation] {
                    self.each_read(at, rank, (*relation, *role, shape), (*index, words[0]))?;
                    if found.len() == 0 {
                        return Ok(());
                    }
                }
                let rows = found.seek(*index, &words[..key.len()]);
                self.each(at, rank, *relation, *role, shape, rows.iter().copied())
            }
            Step::Scan { relation, shape, role } => {
                let bound = self.ground.relations[*relation].bound();
                self.each(at, rank, *relation, *role, shape, 0..bound)
            }
            Step::Check { relation, words, role } => {
                let mut key = [0; ARITY_MAX];
                let key = self.fill(words, &mut key);
                if self.ground.is_read[*relation] {
                    let mask = self.ground.masks.holds(*role);
                    return if self.reads(*relation, key, mask)? { self.step(at + 1, rank) } else { Ok(()) };
                }
                let found = &self.ground.relations[*relation];
                let Some(row) = found.find(key) else { return Ok(()) };
                if self.sees(*relation, *role, row) {
                    let own = matches!(role, Role::OwnBefore | Role::OwnAfter);
                    let below = if own { found.rank(row) } else { 0 };
                    self.step(at + 1, rank.max(below))?;
                }
                Ok(())
            }
            Step::Absent { relation, words, role } => {
                let mut key = [0; ARITY_MAX];
                let mask = self.ground.masks.absent(*role);
                let key = self.fill(words, &mut key);
                let is_there = match self.ground.is_read[*relation] {
                    true => self.reads(*relation, key, mask)?,
                    false => self.ground.relations[*relation].sees(key, mask),
                };
                if is_there { Ok(()) } else { self.step(at + 1, rank) }
            }
            Step::Compare(order, left, right) => {
                if self.holds(*order, left, right)? {
                    self.step(at + 1, rank)
                } else {
                    Ok(())
                }
            }
            Step::Let(slot, value) => {
                let Some(value) = self.value(value)? else { return Ok(()) };
                self.ground.slots[*slot] = self.ground.words.word(&value)?;
                self.step(at + 1, rank)
            }
            Step::Is(slot, value) => {
                let word = self.value(value)?.and_then(|value| self.ground.words.known(&value));
                if word == Some(self.ground.slots[*slot]) { self.step(at + 1, rank) } else { Ok(()) }
            }
        }
    }
    #[inline]
    fn fill<'k>(&self, words: &[Operand], key: &'k mut [Word; ARITY_MAX]) -> &'k [Word] {
        for (place, operand) in words.iter().enumerate() {
            key[place] = get(*operand, self.ground.slots);
        }
        &key[..words.len()]
    }
    #[inline]
    fn sees(&self, relation: RelationNo, role: Role, row: Row) -> bool {
        let found = &self.ground.relations[relation];
        found.state(row) & self.ground.masks.holds(role) != 0
            && !(role == Role::OwnBefore && self.start == Some((relation, row)))
    }
    /// Is this fact of an on-demand relation in one of these states? Facts that the change moved are in its own table.
    fn reads(&mut self, relation: RelationNo, fact: &[Word], mask: u32) -> Result<bool, RulesError> {
        let moved: &'a Relation = &self.ground.relations[relation];
        if moved.len() > 0
            && let Some(row) = moved.find(fact)
        {
            return Ok(moved.state(row) & mask != 0);
        }
        let Some(source) = self.ground.over.filter(|_| mask & state::STABLE != 0) else { return Ok(false) };
        self.turn()?;
        source.holds(relation, fact, self.ground.words)
    }
    /// Goes on from each fact of a relation that is read: those of the graph before the change. Those that came with it are in its table.
    fn each_read(
        &mut self,
        at: usize,
        rank: u32,
        (relation, role, shape): (RelationNo, Role, &Shape),
        (index, word): (usize, Word),
    ) -> Result<(), RulesError> {
        let moved: &'a Relation = &self.ground.relations[relation];
        let mask = self.ground.masks.holds(role);
        let Some(source) = self.ground.over.filter(|_| mask & (state::STABLE | state::REMOVED) != 0) else {
            return Ok(());
        };
        if self.ground.buffers.len() <= at {
            self.ground.buffers.resize(at + 1, Vec::new());
        }
        let mut facts = std::mem::take(&mut self.ground.buffers[at]);
        facts.clear();
        let column = moved.indexes[index].columns()[0];
        // Also where nothing is found: an empty answer takes its time.
        self.turn()?;
        source.read(relation, (column, word), self.ground.words, &mut facts)?;
        let is_last = at + 1 == self.plan.steps.len();
        for fact in facts.chunks_exact(moved.arity) {
            self.ground.turns += 1;
            if self.ground.turns >= LOOK_EVERY_TURNS {
                self.look()?;
            }
            let state = match moved.len() {
                0 => state::STABLE,
                _ => moved.find(fact).map_or(state::STABLE, |row| moved.state(row)),
            };
            if state & mask == 0 || !accept(shape, fact, self.ground.slots) {
                continue;
            }
            if is_last {
                self.emit(rank);
            } else {
                self.step(at + 1, rank)?;
            }
        }
        self.ground.buffers[at] = facts;
        Ok(())
    }
    /// Goes on from each fact that is seen and has the shape.
    #[inline]
    fn each(
        &mut self,
        at: usize,
        rank: u32,
        relation: RelationNo,
        role: Role,
        shape: &Shape,
        rows: impl Iterator<Item = Row>,
    ) -> Result<(), RulesError> {
        let found: &'a Relation = &self.ground.relations[relation];
        let mask = match (self.ground.masks.holds(role), self.ground.is_read[relation]) {
            // What was there before was read.
            (mask, true) => mask & state::ADDED,
            (mask, false) => mask,
        };
        let is_own = matches!(role, Role::OwnBefore | Role::OwnAfter);
        let is_last = at + 1 == self.plan.steps.len();
        for row in rows {
            self.ground.turns += 1;
            if self.ground.turns >= LOOK_EVERY_TURNS {
                self.look()?;
            }
            let record = found.record(row);
            if record[found.arity + 1] & mask == 0
                || (role == Role::OwnBefore && self.start == Some((relation, row)))
                || !accept(shape, record, self.ground.slots)
            {
                continue;
            }
            let rank = if is_own { rank.max(record[found.arity]) } else { rank };
            if is_last {
                self.emit(rank);
            } else {
                self.step(at + 1, rank)?;
            }
        }
        Ok(())
    }
    #[inline]
    fn turn(&mut self) -> Result<(), RulesError> {
        self.ground.turns += 1;
        if self.ground.turns >= LOOK_EVERY_TURNS { self.look() } else { Ok(()) }
    }
    /// Checks cancellation, and whether there is room for the results.
    #[cold]
    fn look(&mut self) -> Result<(), RulesError> {
        self.ground.turns = 0;
        let Ground { relations, words, buffers, .. } = &*self.ground;
        let tables: usize = relations.iter().map(Relation::bytes).sum();
        let found = self.out.capacity() + buffers.iter().map(Vec::capacity).sum::<usize>();
        let bytes = tables + words.bytes() + found * size_of::<u32>();
        (self.ground.look)(bytes)?;
        if bytes > words.bytes_max {
            return Err(out_of_memory(words.bytes_max));
        }
        Ok(())
    }
    #[inline]
    fn emit(&mut self, rank: u32) {
        for operand in &self.plan.terms {
            self.out.push(get(*operand, self.ground.slots));
        }
        self.out.push(rank + 1);
    }

    fn small(&self, formula: &Formula) -> Option<i64> {
        match formula {
            Formula::Operand(operand) => Words::small(get(*operand, self.ground.slots)),
            _ => None,
        }
    }
    fn holds(&mut self, order: Order, left: &Formula, right: &Formula) -> Result<bool, RulesError> {
        let by = |found: Ordering| match order {
            Order::Equal => found.is_eq(),
            Order::Unequal => found.is_ne(),
            Order::Less => found.is_lt(),
            Order::LessOrEqual => found.is_le(),
            Order::Greater => found.is_gt(),
            Order::GreaterOrEqual => found.is_ge(),
        };
        if let (Some(left), Some(right)) = (self.small(left), self.small(right)) {
            return Ok(by(left.cmp(&right)));
        }
        let (Some(left), Some(right)) = (self.value(left)?, self.value(right)?) else { return Ok(false) };
        Ok(match order {
            Order::Equal => equals(&left, &right) == Some(true),
            Order::Unequal => equals(&left, &right) == Some(false),
            _ => compare(&left, &right).is_some_and(by),
        })
    }
    /// The value of a formula, where it has one.
    fn value(&mut self, formula: &Formula) -> Result<Option<Value>, RulesError> {
        Ok(match formula {
            Formula::Operand(operand) => Some(self.ground.words.value(get(*operand, self.ground.slots))),
            Formula::Negate(inner) => match self.value(inner)? {
                Some(Value::Int(number)) => number.checked_neg().map(Value::Int),
                Some(Value::Float(number)) => Some(Value::Float(-number)),
                _ => None,
            },
            Formula::Binary(operator, left, right) => {
                let (Some(left), Some(right)) = (self.value(left)?, self.value(right)?) else {
                    return Ok(None);
                };
                if let (Operator::Add, Value::String(a), Value::String(b)) = (operator, &left, &right) {
                    self.make_room(a.len() + b.len())?;
                }
                binary(*operator, &left, &right)
            }
        })
    }
    /// A text is about to be made: it counts as work, and must have room.
    fn make_room(&mut self, bytes: usize) -> Result<(), RulesError> {
        let words = &self.ground.words;
        if bytes > words.bytes_max.saturating_sub(words.bytes()) {
            return Err(out_of_memory(words.bytes_max));
        }
        self.ground.turns += bytes as u64 / 64;
        if self.ground.turns >= LOOK_EVERY_TURNS { self.look() } else { Ok(()) }
    }
}

/// Arithmetic as in Cypher; an operation without a result satisfies nothing.
fn binary(operator: Operator, left: &Value, right: &Value) -> Option<Value> {
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        let found = match operator {
            Operator::Add => a.checked_add(*b),
            Operator::Subtract => a.checked_sub(*b),
            Operator::Multiply => a.checked_mul(*b),
            Operator::Divide => a.checked_div(*b),
            Operator::Remainder => a.checked_rem(*b),
        };
        return found.map(Value::Int);
    }
    if let (Operator::Add, Value::String(a), Value::String(b)) = (operator, left, right) {
        return Some(Value::string(format!("{a}{b}")));
    }
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    let (a, b) = (number(left)?, number(right)?);
    Some(Value::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => a % b,
    }))
}
