//! The law: whatever facts come and go, the answer is that of the twin over the facts as they are; and what is told of a change is the
//! difference of the two answers. Random programs, random facts, random changes; a failure prints its seed.

mod naive;

use datalog::{ErrorKind, Program, RelationNo, Source};
use model::Value;
use naive::{Facts, answer, whole};
use std::collections::BTreeMap;
use tanglewood_rules::{Bounds, Change, Evaluation};

/// A small generator of its own, so that a seed means the same for ever.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

const VARIABLES: [&str; 5] = ["x", "y", "z", "v", "w"];
const GIVEN: [(&str, usize); 3] = [("e", 2), ("f", 2), ("g", 1)];
const DERIVED: [(&str, usize); 5] = [("a", 2), ("b", 2), ("c", 1), ("d", 2), ("h", 3)];
const VALUES: usize = 7;

fn atom(dice: &mut Dice, (name, arity): (&str, usize), bound: &mut Vec<&'static str>) -> String {
    let mut columns = Vec::new();
    for _ in 0..arity {
        columns.push(match dice.below(12) {
            0 => dice.below(VALUES).to_string(),
            1 => "_".to_string(),
            _ => {
                let variable = VARIABLES[dice.below(VARIABLES.len())];
                if !bound.contains(&variable) {
                    bound.push(variable);
                }
                variable.to_string()
            }
        });
    }
    format!("{name}({})", columns.join(", "))
}

fn rule(dice: &mut Dice, head: (&str, usize)) -> String {
    let all: Vec<(&str, usize)> = GIVEN.iter().chain(&DERIVED).copied().collect();
    let (mut bound, mut body) = (Vec::new(), Vec::new());
    for _ in 0..1 + dice.below(3) {
        let relation = all[dice.below(all.len())];
        body.push(atom(dice, relation, &mut bound));
    }
    if bound.is_empty() {
        bound.push("x");
        body.push("g(x)".to_string());
    }
    let pick = |dice: &mut Dice, bound: &[&str]| bound[dice.below(bound.len())].to_string();
    if dice.one_in(4) {
        let (name, arity) = all[dice.below(all.len())];
        let columns: Vec<String> =
            (0..arity).map(|_| if dice.one_in(4) { "_".to_string() } else { pick(dice, &bound) }).collect();
        body.push(format!("!{name}({})", columns.join(", ")));
    }
    if dice.one_in(4) {
        let sign = ["<", "!=", ">=", "="][dice.below(4)];
        body.push(format!("{} {sign} {}", pick(dice, &bound), pick(dice, &bound)));
    }
    if dice.one_in(5) {
        let from = pick(dice, &bound);
        body.push(format!("n = {from} + 1, n < {VALUES}"));
        bound.push("n");
    }
    let columns: Vec<String> = (0..head.1).map(|_| pick(dice, &bound)).collect();
    if dice.one_in(6) && head.1 > 1 {
        let call = ["count()", "sum(", "min(", "max("][dice.below(4)];
        let call =
            if call.ends_with(')') { call.to_string() } else { format!("{call}{})", pick(dice, &bound)) };
        // Kept small, so that what is computed from it stays finite.
        return format!(
            "big_{}({}, {call}) :- {}.\n{}({}) :- big_{}({}, k), k < {VALUES}.",
            head.0,
            columns[1..].join(", "),
            body.join(", "),
            head.0,
            (0..head.1)
                .map(|at| if at + 1 == head.1 { "k".to_string() } else { format!("p{at}") })
                .collect::<Vec<_>>()
                .join(", "),
            head.0,
            (0..head.1 - 1).map(|at| format!("p{at}")).collect::<Vec<_>>().join(", ")
        );
    }
    format!("{}({}) :- {}.", head.0, columns.join(", "), body.join(", "))
}

/// A program that makes sense, and its text.
fn program(dice: &mut Dice) -> (String, Program) {
    loop {
        let mut text: Vec<String> = DERIVED
            .iter()
            .map(|(name, arity)| {
                format!("{name}({}) :- e(x, y), f(y, z).", ["x", "z", "y"][..*arity].join(", "))
            })
            .collect();
        let kept = dice.below(text.len());
        text.rotate_left(kept);
        for (name, arity) in GIVEN {
            text.push(format!("{name}({}).", vec!["0"; arity].join(", ")));
        }
        for _ in 0..2 + dice.below(7) {
            let head = DERIVED[dice.below(DERIVED.len())];
            text.push(rule(dice, head));
        }
        let text = text.join("\n");
        match datalog::compile(&text) {
            Ok(program) => return (text, program),
            Err(error) if error.kind == ErrorKind::Strata => {}
            Err(error) if error.message.contains("columns") => {}
            Err(error) => panic!("{text}\n{error:?}"),
        }
    }
}

fn given_of(program: &Program) -> Vec<(RelationNo, usize)> {
    let relations = program.relations.iter().enumerate();
    relations
        .filter(|(_, relation)| relation.source == Source::Facts)
        .map(|(at, found)| (at, found.arity))
        .collect()
}

fn facts_of(evaluation: &Evaluation<'_>, relation: RelationNo) -> Facts {
    let facts: Vec<Vec<i64>> = evaluation.facts(relation).map(|fact| whole(&fact)).collect();
    let set: Facts = facts.iter().cloned().collect();
    assert_eq!(set.len(), facts.len(), "a fact comes once");
    set
}

fn check(seed: u64, evaluation: &Evaluation<'_>, expected: &[Facts], text: &str, step: usize) {
    for (relation, expected) in expected.iter().enumerate() {
        let found = facts_of(evaluation, relation);
        let name = &evaluation.program().relations[relation].name;
        assert_eq!(&found, expected, "seed {seed}, step {step}, relation {name}\n{text}");
    }
}

fn run(seed: u64, steps: usize, rank_max: Option<u32>) -> (usize, usize) {
    let mut dice = Dice(seed);
    for _ in 0..4 {
        dice.below(2);
    }
    let (text, program) = program(&mut dice);
    let relations = given_of(&program);
    let mut given: BTreeMap<RelationNo, Facts> = BTreeMap::new();
    let mut evaluation =
        Evaluation::new(program.clone(), |_| None, None, Bounds::default()).expect("it starts");
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
            if known.insert(fact.clone()) {
                evaluation.give(*relation, &values(&fact)).expect("it is given");
            }
        }
    }
    evaluation.evaluate().expect("it is evaluated");
    let bare = Program { facts: Vec::new(), ..program };
    let mut before = answer(&bare, &given);
    check(seed, &evaluation, &before, &text, 0);
    let mut moved = 0;
    for step in 1..=steps {
        let mut changes = Vec::new();
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
        evaluation.change(&changes).expect("it changes");
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
        evaluation.settle().expect("it settles");
        check(seed, &evaluation, &after, &text, step);
        before = after;
    }
    (moved, text.matches('!').count())
}

#[test]
fn what_is_kept_is_what_would_be_evaluated() {
    let (mut moved, mut negations) = (0, 0);
    for seed in 0..150 {
        let (some, negated) = run(seed, 12, None);
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
        run(seed, 10, Some(2));
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
        let mut evaluation = Evaluation::new(focused, |_| None, None, Bounds::default()).expect("it starts");
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
