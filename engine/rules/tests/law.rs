//! The law: whatever facts come and go, the answer is that of the twin over the facts as they are; and what is told of a change is the
//! difference of the two answers. Random programs, random facts, random changes; a failure prints its seed.

mod naive;
mod random;

use datalog::{GraphRelation, Program, RelationNo, Source as Origin};
use model::Value;
use naive::{Facts, answer, whole};
use random::{DERIVED, Dice, VALUES, given_of, program};
use std::collections::{BTreeMap, BTreeSet};
use tanglewood_rules::{Bounds, Change, Evaluation, RulesError, Source, Word, Words};

/// Given facts as a graph that is read.
struct Graph<'a> {
    given: &'a BTreeMap<RelationNo, Facts>,
    /// Columns but the first that it can be asked by.
    serves: u64,
}

impl Graph<'_> {
    fn facts(&self, relation: RelationNo) -> impl Iterator<Item = Vec<Word>> {
        let facts = self.given.get(&relation).into_iter().flatten();
        facts.map(|fact| fact.iter().map(|number| *number as Word).collect())
    }
}

impl Source for Graph<'_> {
    fn serves(&self, relation: RelationNo, column: usize) -> bool {
        column == 0 || self.serves >> relation & 1 == 1
    }
    fn size(&self, relation: RelationNo) -> usize {
        self.facts(relation).count()
    }
    fn keys(
        &self,
        relation: RelationNo,
        cursor: u64,
        _: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<Option<u64>, RulesError> {
        let firsts: BTreeSet<Word> = self.facts(relation).map(|fact| fact[0]).collect();
        let next = cursor as usize + 3;
        found.extend(firsts.iter().skip(cursor as usize).take(3));
        Ok((next < firsts.len()).then_some(next as u64))
    }
    fn read(
        &self,
        relation: RelationNo,
        (column, word): (usize, Word),
        _: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError> {
        assert!(self.serves(relation, column), "it is asked as it can be");
        found.extend(self.facts(relation).filter(|fact| fact[column] == word).flatten());
        Ok(())
    }
}

fn facts_of(evaluation: &Evaluation<'_>, relation: RelationNo) -> Facts {
    let facts: Vec<Vec<i64>> = evaluation.facts(relation).map(|fact| whole(&fact)).collect();
    let set: Facts = facts.iter().cloned().collect();
    assert_eq!(set.len(), facts.len(), "a fact comes once");
    set
}

fn check(seed: u64, evaluation: &Evaluation<'_>, expected: &[Facts], text: &str, step: usize) {
    let copied: Vec<RelationNo> = evaluation.copied().collect();
    for (relation, expected) in expected.iter().enumerate() {
        let is_graph = matches!(evaluation.program().relations[relation].source, Origin::Graph(_));
        if is_graph && !copied.contains(&relation) {
            assert_eq!(evaluation.len(relation), 0, "seed {seed}: what is read is not kept");
            continue;
        }
        let found = facts_of(evaluation, relation);
        let name = &evaluation.program().relations[relation].name;
        assert_eq!(&found, expected, "seed {seed}, step {step}, relation {name}\n{text}");
    }
}

fn run(seed: u64, steps: usize, rank_max: Option<u32>, reads: bool) -> (usize, usize) {
    let mut dice = Dice(seed);
    for _ in 0..4 {
        dice.below(2);
    }
    let (text, mut program) = program(&mut dice);
    if reads {
        for relation in program.relations.iter_mut().filter(|relation| relation.source == Origin::Facts) {
            relation.source = Origin::Graph(GraphRelation::Label(relation.name.clone()));
        }
        program.facts.clear();
    }
    let serves = if reads { dice.0 >> 20 } else { 0 };
    let relations = given_of(&program);
    let mut given: BTreeMap<RelationNo, Facts> = BTreeMap::new();
    let mut evaluation = Evaluation::new(program.clone(), |_| None, Bounds::default()).expect("it starts");
    if let Some(rank_max) = rank_max {
        evaluation.limit_ranks(rank_max);
    }
    let values = |fact: &[i64]| fact.iter().map(|number| Value::Int(*number)).collect::<Vec<_>>();
    // The texts' own facts, which changes may take as well.
    for (relation, arity) in &relations {
        let count = dice.below(14);
        let known = given.entry(*relation).or_default();
        known.insert(vec![0; *arity]);
        for _ in 0..count {
            let fact: Vec<i64> = (0..*arity).map(|_| dice.below(VALUES) as i64).collect();
            if known.insert(fact.clone()) && !reads {
                evaluation.give(*relation, &values(&fact)).expect("it is given");
            }
        }
    }
    match reads {
        true => evaluation.evaluate_over(&Graph { given: &given, serves }),
        false => evaluation.evaluate(),
    }
    .expect("it is evaluated");
    let bare = Program { facts: Vec::new(), ..program };
    let mut before = answer(&bare, &given);
    check(seed, &evaluation, &before, &text, 0);
    let mut moved = 0;
    for step in 1..=steps {
        let (mut changes, old) = (Vec::new(), given.clone());
        for _ in 0..1 + dice.below(4) {
            let (relation, arity) = relations[dice.below(relations.len())];
            let fact: Vec<i64> = (0..arity).map(|_| dice.below(VALUES) as i64).collect();
            let known = given.entry(relation).or_default();
            let goes = match known.contains(&fact) {
                true => true,
                // Rather one that is there, half of the time.
                false => dice.one_in(2) && !known.is_empty(),
            };
            let fact = match goes && !known.contains(&fact) {
                true => known.iter().nth(dice.below(known.len())).expect("not empty").clone(),
                false => fact,
            };
            if goes {
                known.remove(&fact)
            } else {
                known.insert(fact.clone())
            };
            changes.push(Change { relation, fact: values(&fact), comes: !goes });
        }
        match reads {
            true => {
                let changes = differences(&old, &given);
                evaluation.change_over(&changes, &Graph { given: &old, serves })
            }
            false => evaluation.change(&changes),
        }
        .expect("it changes");
        let after = answer(&bare, &given);
        for relation in 0..after.len() {
            let told = evaluation.difference(relation);
            let gone: Facts = told.gone.iter().map(|fact| whole(fact)).collect();
            let come: Facts = told.come.iter().map(|fact| whole(fact)).collect();
            let expected_gone: Facts = before[relation].difference(&after[relation]).cloned().collect();
            let expected_come: Facts = after[relation].difference(&before[relation]).cloned().collect();
            let name = &evaluation.program().relations[relation].name;
            assert_eq!(gone, expected_gone, "seed {seed}, step {step}, gone from {name}\n{text}");
            assert_eq!(come, expected_come, "seed {seed}, step {step}, come to {name}\n{text}");
            moved += gone.len() + come.len();
        }
        match reads {
            true => evaluation.settle_over(&Graph { given: &given, serves }),
            false => evaluation.settle(),
        }
        .expect("it settles");
        check(seed, &evaluation, &after, &text, step);
        before = after;
    }
    (moved, text.matches('!').count())
}

/// What became a fact, and what is one no more.
fn differences(old: &BTreeMap<RelationNo, Facts>, new: &BTreeMap<RelationNo, Facts>) -> Vec<Change> {
    let mut found = Vec::new();
    for (relation, facts) in new {
        let none = Facts::new();
        let before = old.get(relation).unwrap_or(&none);
        let mut note = |fact: &Vec<i64>, comes: bool| {
            let fact = fact.iter().map(|number| Value::Int(*number)).collect();
            found.push(Change { relation: *relation, fact, comes });
        };
        before.difference(facts).for_each(|fact| note(fact, false));
        facts.difference(before).for_each(|fact| note(fact, true));
    }
    found
}

/// Facts that are read from a graph, and not kept, make no difference.
#[test]
fn what_is_read_is_as_what_is_given() {
    let mut moved = 0;
    for seed in 0..150 {
        moved += run(seed, 12, None, true).0;
    }
    for seed in 500..515 {
        moved += run(seed, 10, Some(2), true).0;
    }
    assert!(moved > 10_000, "changes reach the answers: {moved}");
}

#[test]
fn what_is_kept_is_what_would_be_evaluated() {
    let (mut moved, mut negations) = (0, 0);
    for seed in 0..150 {
        let (some, negated) = run(seed, 12, None, false);
        moved += some;
        negations += negated;
    }
    assert!(moved > 10_000, "changes reach the answers: {moved}");
    assert!(negations > 50, "negation is tried: {negations}");
}

/// Ranks that pass their limit make everything be evaluated anew; nobody sees it.
#[test]
fn ranks_that_grow_too_high_begin_anew() {
    for seed in 500..530 {
        run(seed, 10, Some(2), false);
    }
}

/// A question with bound columns has the answer that the whole program has.
#[test]
fn a_focused_program_answers_as_the_whole() {
    let mut asked = 0;
    for seed in 0..150 {
        let mut dice = Dice(seed);
        let (text, program) = program(&mut dice);
        let (name, arity) = DERIVED[dice.below(DERIVED.len())];
        let columns: Vec<String> = (0..arity)
            .map(|at| if dice.one_in(2) { dice.below(VALUES).to_string() } else { format!("q{at}") })
            .collect();
        let question = format!("{text}\n?- {name}({}).", columns.join(", "));
        let whole_program = datalog::compile(&question).expect("it compiles");
        let relations = given_of(&program);
        let mut given: BTreeMap<RelationNo, Facts> = BTreeMap::new();
        for (relation, arity) in &relations {
            let number = whole_program.relation(&program.relations[*relation].name).expect("the same names");
            for _ in 0..dice.below(14) {
                let fact: Vec<i64> = (0..*arity).map(|_| dice.below(VALUES) as i64).collect();
                given.entry(number).or_default().insert(fact);
            }
        }
        let expected = answer(&whole_program, &given);
        let answer = whole_program.question.clone().expect("it asks").relation;
        let focused = datalog::focus(&whole_program);
        let focused_answer = focused.question.clone().expect("it asks").relation;
        let mut evaluation = Evaluation::new(focused, |_| None, Bounds::default()).expect("it starts");
        for (relation, facts) in &given {
            for fact in facts {
                let values: Vec<Value> = fact.iter().map(|number| Value::Int(*number)).collect();
                evaluation.give(*relation, &values).expect("it is given");
            }
        }
        evaluation.evaluate().expect("it is evaluated");
        let found = facts_of(&evaluation, focused_answer);
        assert_eq!(found, expected[answer], "seed {seed}\n{question}");
        asked += found.len();
    }
    assert!(asked > 100, "questions have answers: {asked}");
}
