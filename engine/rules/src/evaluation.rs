//! The evaluation of one program: its relations, its parts in order, and its bounds.

use crate::aggregate::Groups;
use crate::compile::{Start, Surroundings, plan};
use crate::component::{Lower, Members, Part, PlansOf, RulesPart, Upkeep};
use crate::error::RulesError;
use crate::limits::{FIRST_LOOK, LOOK_EVERY, RANK_MAX};
use crate::plan::Step;
use crate::relation::{Relation, hash, state};
use crate::source::{Over, Source};
use crate::words::{Word, Words, out_of_memory};
use datalog::{Component, Literal, Program, RelationNo, VARIABLES_MAX};
use model::Value;
use std::collections::BTreeSet;

/// Called with the bytes that an evaluation holds; may end it.
pub trait Look: Fn(usize) -> Result<(), RulesError> + Send {}

impl<F: Fn(usize) -> Result<(), RulesError> + Send> Look for F {}

/// Bounds of an evaluation.
pub struct Bounds {
    /// Bytes of its tables.
    pub bytes_max: usize,
    /// Called now and then, with the bytes of its tables: an error ends the evaluation.
    pub look: Box<dyn Look>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { bytes_max: usize::MAX, look: Box::new(|_| Ok(())) }
    }
}

/// A given fact that comes or goes.
#[derive(Clone, Debug)]
pub struct Change {
    /// Of a relation that has no rules.
    pub relation: RelationNo,
    /// The fact.
    pub fact: Vec<Value>,
    /// It comes; otherwise it goes.
    pub comes: bool,
}

/// The last changes of a relation.
#[derive(Clone, Debug, Default)]
pub struct RelationDelta {
    /// Facts that are no more.
    pub gone: Vec<Vec<Value>>,
    /// Facts that are new.
    pub come: Vec<Vec<Value>>,
}

type ParameterLookup<'a> = Box<dyn Fn(&str) -> Option<Value> + Send + 'a>;

/// A program, its facts, and their consequences.
///
/// After an error its state lies between two answers, and it must be dropped.
pub struct Evaluation<'a> {
    pub(crate) program: Program,
    pub(crate) relations: Vec<Relation>,
    pub(crate) words: Words,
    parts: Vec<Part>,
    parameters: ParameterLookup<'a>,
    /// Relations of the graph whose facts are read on demand; their tables hold only the facts that a change moves.
    pub(crate) is_read: Vec<bool>,
    /// Relations of the graph of which all facts were taken.
    pub(crate) is_copied: Vec<bool>,
    /// Facts that the steps of a plan have read.
    pub(crate) buffers: Vec<Vec<Word>>,
    pub(crate) look: Box<dyn Look>,
    pub(crate) turns_taken: u64,
    pub(crate) slots: [Word; VARIABLES_MAX],
    pub(crate) out: Vec<u32>,
    /// By relation.
    pub(crate) outs: Vec<Vec<u32>>,
    /// Facts derived, ever.
    pub(crate) derived: usize,
    /// As many when it is checked next whether there is room for more.
    look_at: usize,
    /// Bytes of the groups of aggregates.
    group_bytes: usize,
    plan_bytes: usize,
    /// Bytes of all, as counted last: at each look, and beside each rule that is compiled.
    counted: usize,
    /// Those of the values among them.
    counted_words: usize,
    /// Ranks grow, slowly, with changes.
    pub(crate) rank_max: u32,
    ranks_are_high: bool,
}

impl<'a> Evaluation<'a> {
    /// A program with the facts of its text and its parameters only. Those of the graph are read on demand, or given by [`Evaluation::give`].
    ///
    /// # Errors
    /// A parameter is missing, or holds no facts where it should.
    pub fn new(
        program: Program,
        parameters: impl Fn(&str) -> Option<Value> + Send + 'a,
        bounds: Bounds,
    ) -> Result<Evaluation<'a>, RulesError> {
        let relations: Vec<Relation> =
            program.relations.iter().map(|relation| Relation::new(relation.arity)).collect();
        let count = relations.len();
        let mut evaluation = Evaluation {
            program,
            relations,
            words: Words::new(bounds.bytes_max),
            parts: Vec::new(),
            parameters: Box::new(parameters),
            is_read: vec![false; count],
            is_copied: vec![false; count],
            buffers: Vec::new(),
            look: bounds.look,
            turns_taken: 0,
            slots: [0; VARIABLES_MAX],
            out: Vec::new(),
            outs: vec![Vec::new(); count],
            derived: 0,
            look_at: FIRST_LOOK,
            group_bytes: 0,
            plan_bytes: 0,
            counted: 0,
            counted_words: 0,
            rank_max: RANK_MAX,
            ranks_are_high: false,
        };
        evaluation.give_texts()?;
        Ok(evaluation)
    }
    /// Begins anew where a rank passes this: for tests, which cannot wait until one passes its limit.
    #[doc(hidden)]
    pub fn limit_ranks(&mut self, rank_max: u32) {
        self.rank_max = rank_max.min(RANK_MAX);
    }
    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }
    pub(crate) fn parameter(&self, name: &str) -> Result<Value, RulesError> {
        (self.parameters)(name).ok_or_else(|| RulesError::MissingParameter(name.to_string()))
    }
    /// Adds a fact of a relation without rules, before the evaluation. A fact given twice must be taken twice.
    ///
    /// # Errors
    /// There are too many facts.
    pub fn give(&mut self, relation: RelationNo, fact: &[Value]) -> Result<(), RulesError> {
        let mut words = std::mem::take(&mut self.out);
        words.clear();
        for value in fact {
            words.push(self.words.word(value)?);
        }
        let outcome = self.give_words(relation, &words);
        words.clear();
        self.out = words;
        outcome
    }
    pub(crate) fn give_words(&mut self, relation: RelationNo, words: &[Word]) -> Result<(), RulesError> {
        let found = &mut self.relations[relation];
        let hash = hash(words.iter().copied());
        if let Some(row) = found.find_hashed(hash, words) {
            return found.add_support(row);
        }
        let row = found.insert(hash, words, 0, 1)?;
        found.set_state(row, state::STABLE);
        found.index(row);
        self.derived += 1;
        self.check_room()
    }

    /// Computes the answer from the facts that were given.
    ///
    /// # Errors
    /// As [`Evaluation::evaluate_over`].
    pub fn evaluate(&mut self) -> Result<(), RulesError> {
        self.answer(None)
    }
    /// Computes the answer over a graph.
    ///
    /// # Errors
    /// A limit is passed, the graph could not be read, or it was cancelled.
    pub fn evaluate_over(&mut self, graph: &dyn Source) -> Result<(), RulesError> {
        self.begin_reading();
        self.answer(Some(graph))
    }
    fn answer(&mut self, over: Over<'_>) -> Result<(), RulesError> {
        let mut whole = BTreeSet::new();
        self.count();
        for at in 0..self.program.components.len() {
            let part = match self.program.components[at].clone() {
                Component::Aggregate(at) => {
                    let aggregate = self.program.aggregates[at].clone();
                    Part::Aggregate(Groups::new(aggregate))
                }
                Component::Rules { relations, rules } => {
                    Part::Rules(Box::new(self.rules_part(relations, rules, over, &mut whole)?))
                }
            };
            self.parts.push(part);
        }
        self.copy(whole, over)?;
        self.first_answers(over)
    }
    fn first_answers(&mut self, over: Over<'_>) -> Result<(), RulesError> {
        let mut parts = std::mem::take(&mut self.parts);
        for part in &mut parts {
            match part {
                Part::Rules(part) => self.first_answer(part, over)?,
                Part::Aggregate(groups) => self.advance_groups(groups, false)?,
            }
        }
        self.parts = parts;
        Ok(())
    }
    fn advance_groups(&mut self, groups: &mut Groups, is_change: bool) -> Result<(), RulesError> {
        let (others, bytes_max) = (self.bytes() - groups.bytes(), self.words.bytes_max);
        self.group_bytes -= groups.bytes();
        let look = &self.look;
        let has_room = |bytes: usize| match look(others.saturating_add(bytes)) {
            Ok(()) if others.saturating_add(bytes) > bytes_max => Err(out_of_memory(bytes_max)),
            outcome => outcome,
        };
        groups.advance(&mut self.relations, &mut self.words, is_change, &has_room)?;
        self.group_bytes += groups.bytes();
        Ok(())
    }
    /// Compiles rules; `own` are the relations of their part.
    fn compile(
        &mut self,
        rule: usize,
        start: Start,
        own: &Members,
        over: Over<'_>,
        whole: &mut BTreeSet<RelationNo>,
    ) -> Result<crate::plan::Plan, RulesError> {
        let before = self.bytes_around(rule);
        let Evaluation { program, relations, words, parameters, is_read, .. } = self;
        let read = |relation: RelationNo| over.filter(|_| is_read[relation]);
        let is_derived = |relation: RelationNo| program.relations[relation].source == datalog::Source::Rules;
        let (parameters, is_derived, read) = (&**parameters, &is_derived, &read);
        let mut around = Surroundings { relations, words, parameters, own, is_derived, read, whole };
        let plan = plan(&program.rules[rule], start, &mut around)?;
        // A long rule has a plan from each of its parts, and a plan may want indexes of what it reads.
        let step_bytes = plan.steps.len() * size_of::<Step>();
        self.plan_bytes += step_bytes;
        self.counted += step_bytes + (self.bytes_around(rule) - before);
        (self.look)(self.counted)?;
        if self.plan_bytes > self.words.bytes_max {
            return Err(out_of_memory(self.words.bytes_max));
        }
        Ok(plan)
    }
    /// Bytes of the relations that a rule names. All relations are counted before rules are compiled, then only these are: ten thousand rules are
    /// not counted ten thousand times.
    fn bytes_around(&self, rule: usize) -> usize {
        let rule = &self.program.rules[rule];
        let atoms = rule.body.iter().filter_map(|literal| match literal {
            Literal::Holds(atom) | Literal::Absent(atom) => Some(atom.relation),
            _ => None,
        });
        let mut named: Vec<RelationNo> = atoms.collect();
        named.push(rule.head.relation);
        named.sort_unstable();
        named.dedup();
        named.into_iter().map(|relation| self.relations[relation].bytes()).sum()
    }
    /// Positions in a rule's body where a relation is read: position, relation, and whether it is negated.
    fn places(&self, rule: usize) -> Vec<(usize, RelationNo, bool)> {
        let body = self.program.rules[rule].body.iter().enumerate();
        let place = |(at, literal): (usize, &Literal)| match literal {
            Literal::Holds(atom) => Some((at, atom.relation, false)),
            Literal::Absent(atom) => Some((at, atom.relation, true)),
            _ => None,
        };
        body.filter_map(place).collect()
    }
    fn rules_part(
        &mut self,
        relations: Vec<RelationNo>,
        rules: Vec<usize>,
        over: Over<'_>,
        whole: &mut BTreeSet<RelationNo>,
    ) -> Result<RulesPart, RulesError> {
        let relations = Members::new(relations);
        let mut own = PlansOf::default();
        let mut exits = Vec::new();
        for rule in &rules {
            let places = self.places(*rule);
            let recursive = places.iter().filter(|(_, relation, _)| relations.contains(*relation));
            let recursive: Vec<(usize, RelationNo)> =
                recursive.map(|(at, relation, _)| (*at, *relation)).collect();
            if recursive.is_empty() {
                exits.push(self.compile(*rule, Start::Whole, &relations, over, whole)?);
            }
            for (at, relation) in recursive {
                let plan = self.compile(*rule, Start::Literal(at), &relations, over, whole)?;
                own.push(relation, plan);
            }
        }
        Ok(RulesPart { relations, rules, exits, own, upkeep: None })
    }
    /// Prepares for changes: plans from every position, and the indexes they need.
    ///
    /// # Errors
    /// A parameter is missing, or a limit is passed.
    pub fn prepare(&mut self) -> Result<(), RulesError> {
        self.prepare_upkeep(None)
    }
    /// Likewise, over the graph that was evaluated over last.
    ///
    /// # Errors
    /// Likewise, and the graph could not be read.
    pub fn prepare_over(&mut self, graph: &dyn Source) -> Result<(), RulesError> {
        self.prepare_upkeep(Some(graph))
    }
    fn prepare_upkeep(&mut self, over: Over<'_>) -> Result<(), RulesError> {
        let lacks = |part: &Part| matches!(part, Part::Rules(part) if part.upkeep.is_none());
        if !self.parts.iter().any(lacks) {
            return Ok(());
        }
        self.count();
        let mut whole = BTreeSet::new();
        let mut parts = std::mem::take(&mut self.parts);
        for part in &mut parts {
            let Part::Rules(part) = part else { continue };
            if part.upkeep.is_some() {
                continue;
            }
            let mut upkeep = Upkeep { lower: Vec::new(), search: PlansOf::default() };
            for rule in &part.rules {
                for (at, relation, is_negated) in self.places(*rule) {
                    if !part.relations.contains(relation) {
                        let plan =
                            self.compile(*rule, Start::Literal(at), &part.relations, over, &mut whole)?;
                        upkeep.lower.push(Lower { relation, is_negated, plan });
                    }
                }
                let head = self.program.rules[*rule].head.relation;
                let search = self.compile(*rule, Start::Head, &part.relations, over, &mut whole)?;
                upkeep.search.push(head, search);
            }
            part.upkeep = Some(upkeep);
        }
        self.parts = parts;
        self.copy(whole, over)
    }

    /// Carries changes of given facts through the program. The results are in [`Evaluation::difference`] until [`Evaluation::settle`], which must
    /// come before the next changes. A removal of a missing fact is ignored.
    ///
    /// # Errors
    /// A limit is passed, or it was cancelled.
    pub fn change(&mut self, changes: &[Change]) -> Result<(), RulesError> {
        self.carry(changes, None)
    }
    /// Likewise, over the graph as it was *before* these changes. Changes of the graph's relations are facts that came or went; each once.
    ///
    /// # Errors
    /// Likewise, and the graph could not be read.
    pub fn change_over(&mut self, changes: &[Change], before: &dyn Source) -> Result<(), RulesError> {
        self.carry(changes, Some(before))
    }
    fn carry(&mut self, changes: &[Change], over: Over<'_>) -> Result<(), RulesError> {
        self.prepare_upkeep(over)?;
        for change in changes {
            let words: Vec<Word> =
                change.fact.iter().map(|value| self.words.word(value)).collect::<Result<_, _>>()?;
            self.change_words(change.relation, &words, change.comes)?;
        }
        let mut parts = std::mem::take(&mut self.parts);
        for part in &mut parts {
            match part {
                Part::Rules(part) => {
                    let is_low = self.upkeep(part, over)?;
                    self.ranks_are_high |= !is_low;
                }
                Part::Aggregate(groups) => self.advance_groups(groups, true)?,
            }
        }
        self.parts = parts;
        Ok(())
    }
    fn change_words(&mut self, relation: RelationNo, words: &[Word], comes: bool) -> Result<(), RulesError> {
        let found = &mut self.relations[relation];
        let hash = hash(words.iter().copied());
        let row = found.find_hashed(hash, words);
        match (row, comes) {
            (None, comes) if comes || self.is_read[relation] => {
                let row = found.insert(hash, words, 0, 1)?;
                found.index(row);
                found.mark(row, if comes { state::ADDED } else { state::REMOVED });
                self.derived += 1;
            }
            (Some(row), true) => {
                found.add_support(row)?;
                match found.state(row) {
                    state::REMOVED => found.mark(row, state::STABLE),
                    state::WAITING => found.mark(row, state::ADDED),
                    _ => {}
                }
            }
            (Some(row), false) if found.support(row) > 0 => {
                if found.take_support(row) == 0 {
                    let was_new = found.state(row) == state::ADDED;
                    found.mark(row, if was_new { state::WAITING } else { state::REMOVED });
                }
            }
            (Some(_), false) | (None, _) => {}
        }
        self.check_room()
    }
    /// The last changes of a relation.
    pub fn difference(&self, relation: RelationNo) -> RelationDelta {
        let found = &self.relations[relation];
        let shown = |rows: Vec<u32>| rows.iter().map(|row| self.values(relation, *row)).collect();
        RelationDelta {
            gone: shown(found.marked_as(state::REMOVED)),
            come: shown(found.marked_as(state::ADDED)),
        }
    }
    /// Makes the last changes final.
    ///
    /// # Errors
    /// As [`Evaluation::evaluate`]: once in a very long while everything is evaluated anew.
    pub fn settle(&mut self) -> Result<(), RulesError> {
        self.finish(None)
    }
    /// Likewise, over the graph as it is after the changes.
    ///
    /// # Errors
    /// As [`Evaluation::evaluate_over`].
    pub fn settle_over(&mut self, graph: &dyn Source) -> Result<(), RulesError> {
        self.finish(Some(graph))
    }
    fn finish(&mut self, over: Over<'_>) -> Result<(), RulesError> {
        for (relation, is_read) in self.relations.iter_mut().zip(&self.is_read) {
            if *is_read { relation.forget_moved() } else { relation.settle() }
        }
        if std::mem::take(&mut self.ranks_are_high) {
            for part in &mut self.parts {
                match part {
                    Part::Rules(part) => {
                        part.relations.iter().for_each(|relation| self.relations[*relation].clear());
                    }
                    Part::Aggregate(groups) => {
                        self.relations[groups.aggregate.output].clear();
                        self.group_bytes -= groups.bytes();
                        *groups = Groups::new(groups.aggregate.clone());
                    }
                }
            }
            self.first_answers(over)?;
        }
        Ok(())
    }

    fn values(&self, relation: RelationNo, row: u32) -> Vec<Value> {
        self.relations[relation].words(row).iter().map(|word| self.words.value(*word)).collect()
    }
    /// Number of facts of a relation.
    pub fn len(&self, relation: RelationNo) -> usize {
        self.relations[relation].len()
    }
    /// All facts of a relation.
    pub fn facts(&self, relation: RelationNo) -> impl Iterator<Item = Vec<Value>> + '_ {
        self.relations[relation].seen(state::STABLE).map(move |row| self.values(relation, row))
    }
    /// Facts of a relation, at most `count`, from this row on; and the row where to go on, where there may be more.
    pub fn some_facts(
        &self,
        relation: RelationNo,
        from: u32,
        count: usize,
    ) -> (Vec<Vec<Value>>, Option<u32>) {
        let (found, mut row, mut facts) = (&self.relations[relation], from, Vec::new());
        while row < found.bound() && facts.len() < count {
            if found.state(row) == state::STABLE {
                facts.push(self.values(relation, row));
            }
            row += 1;
        }
        (facts, Some(row).filter(|row| *row < found.bound()))
    }
    /// All facts of a relation as words, of which small numbers are their own.
    pub fn fact_words(&self, relation: RelationNo) -> impl Iterator<Item = &[Word]> + '_ {
        let found = &self.relations[relation];
        found.seen(state::STABLE).map(move |row| found.words(row))
    }
    /// Relations of the graph that were copied as a whole, because the graph does not serve the rules' look-ups.
    pub fn copied(&self) -> impl Iterator<Item = RelationNo> + '_ {
        (0..self.is_copied.len()).filter(|relation| self.is_copied[*relation])
    }
    /// An index of a relation by its first columns, for [`Evaluation::facts_of`].
    pub fn index_first(&mut self, relation: RelationNo, columns: usize) -> usize {
        let columns: Vec<usize> = (0..columns).collect();
        self.relations[relation].index_of(&columns)
    }
    /// Facts of which the first columns are these, by an index of [`Evaluation::index_first`].
    pub fn facts_of(
        &self,
        relation: RelationNo,
        index: usize,
        key: &[Value],
    ) -> impl Iterator<Item = Vec<Value>> + '_ {
        let words: Option<Vec<Word>> = key.iter().map(|value| self.words.known(value)).collect();
        let found = &self.relations[relation];
        let rows = words.map_or(&[][..], |words| found.seek(index, &words)).iter();
        rows.filter(|row| found.state(**row) == state::STABLE).map(move |row| self.values(relation, *row))
    }
    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        let waiting = self.out.capacity() + self.outs.iter().map(Vec::capacity).sum::<usize>();
        let read = self.buffers.iter().map(Vec::capacity).sum::<usize>();
        self.relations.iter().map(Relation::bytes).sum::<usize>()
            + self.words.bytes()
            + self.group_bytes
            + self.plan_bytes
            + (waiting + read) * size_of::<u32>()
    }
    /// Bytes of the values that facts have or had: they grow until the evaluation begins anew.
    pub fn value_bytes(&self) -> usize {
        self.words.bytes()
    }
    /// Now and then: checks memory and cancellation.
    pub(crate) fn check_room(&mut self) -> Result<(), RulesError> {
        if self.derived < self.look_at {
            return Ok(());
        }
        self.look_at = self.derived + self.derived.min(LOOK_EVERY);
        self.count();
        self.look_around(0)
    }
    fn count(&mut self) {
        (self.counted, self.counted_words) = (self.bytes(), self.words.bytes());
    }
    /// Checks cancellation, and whether there is room for `read` words that were read. The facts derived since the last count are too few to be
    /// counted again.
    pub(crate) fn look_around(&self, read: usize) -> Result<(), RulesError> {
        let values = self.words.bytes().saturating_sub(self.counted_words);
        let bytes = self.counted + values + read * size_of::<Word>();
        (self.look)(bytes)?;
        if bytes > self.words.bytes_max {
            return Err(out_of_memory(self.words.bytes_max));
        }
        Ok(())
    }
}
