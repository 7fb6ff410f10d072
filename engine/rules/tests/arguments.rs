//! One program for all arguments: whatever arguments and facts come and go, the answer for each of them is that of the program with
//! the values written out. Random programs; a failure prints its seed.

mod naive;
mod random;

use datalog::{Program, RelationNo};
use model::Value;
use naive::{Facts, answer, whole};
use random::{DERIVED, Dice, VALUES, given_of, program};
use std::collections::{BTreeMap, BTreeSet};
use tanglewood_rules::{Bounds, Change, Evaluation};

/// The values of the two parameters.
type Given = [i64; 2];

/// The text with parameters in place of some of its numbers, and with values in their place.
fn with_parameters(text: &str) -> (String, impl Fn(Given) -> String + use<>) {
    let marked: Vec<String> = text
        .lines()
        .map(|line| {
            let Some((head, body)) = line.split_once(":-") else { return line.to_string() };
            let body =
                body.replace("(3", "($p").replace(" 3", " $p").replace("(5", "($q").replace(" 5", " $q");
            format!("{head}:-{body}")
        })
        .collect();
    let text = marked.join("\n");
    let written = text.clone();
    (text, move |[p, q]| written.replace("$p", &p.to_string()).replace("$q", &q.to_string()))
}

fn question(text: &str, dice: &mut Dice) -> String {
    let (name, arity) = DERIVED[dice.below(DERIVED.len())];
    let columns: Vec<String> =
        (0..arity).map(|at| if dice.one_in(3) { "$p".to_string() } else { format!("q{at}") }).collect();
    format!("{text}\n?- {name}({}).", columns.join(", "))
}

fn compiled(text: &str) -> Program {
    datalog::compile(text).unwrap_or_else(|error| panic!("{text}\n{error:?}"))
}

struct Trial {
    seed: u64,
    text: String,
    parameters: Vec<usize>,
    evaluation: Evaluation<'static>,
    arguments: RelationNo,
    question: RelationNo,
    index: usize,
}

impl Trial {
    /// The program's own arguments of these values.
    fn own(&self, given: Given) -> Vec<Value> {
        self.parameters.iter().map(|at| Value::Int(given[*at])).collect()
    }
    fn check(
        &self,
        asked: &BTreeSet<Given>,
        given: &BTreeMap<RelationNo, Facts>,
        written: &dyn Fn(Given) -> String,
    ) {
        for values in asked {
            let program = Program { facts: Vec::new(), ..compiled(&written(*values)) };
            let question = program.question.clone().expect("it asks").relation;
            let expected = &answer(&program, given)[question];
            let key = self.own(*values);
            let facts = self.evaluation.facts_of(self.question, self.index, &key);
            let found: Facts = facts.map(|fact| whole(&fact)[key.len()..].to_vec()).collect();
            assert_eq!(&found, expected, "seed {}, {values:?}\n{}", self.seed, self.text);
        }
    }
}

fn run(seed: u64) -> usize {
    let mut dice = Dice(seed);
    for _ in 0..4 {
        dice.below(2);
    }
    let (text, plain) = program(&mut dice);
    let (text, _) = with_parameters(&text);
    let text = question(&text, &mut dice);
    let (_, written) = with_parameters(&text);
    let said = compiled(&text);
    let parameters: Vec<usize> = said.parameters.iter().map(|name| usize::from(&**name == "q")).collect();
    if parameters.is_empty() {
        return 0;
    }
    let shared = datalog::share(&said).expect("it is not too wide");
    let focused = datalog::focus(&shared.program);
    let answer = focused.question.clone().expect("it asks").relation;
    let mut evaluation = Evaluation::new(focused, |_| None, Bounds::default()).expect("it starts");
    evaluation.evaluate().expect("it is evaluated");
    let index = evaluation.index_first(answer, parameters.len());
    let mut trial =
        Trial { seed, text, parameters, evaluation, arguments: shared.arguments, question: answer, index };
    let relations = given_of(&plain);
    let mut given: BTreeMap<RelationNo, Facts> = BTreeMap::new();
    for (relation, arity) in &relations {
        given.entry(*relation).or_default().insert(vec![0; *arity]);
    }
    let (mut asked, mut rows) = (BTreeSet::new(), 0);
    let values = |fact: &[i64]| fact.iter().map(|number| Value::Int(*number)).collect::<Vec<_>>();
    for _ in 0..14 {
        let mut changes = Vec::new();
        if dice.one_in(2) {
            let one = [dice.below(VALUES) as i64, dice.below(VALUES) as i64];
            let comes = !asked.remove(&one) && asked.insert(one);
            changes.push(Change { relation: trial.arguments, fact: trial.own(one), comes });
        }
        for _ in 0..dice.below(5) {
            let (relation, arity) = relations[dice.below(relations.len())];
            let fact: Vec<i64> = (0..arity).map(|_| dice.below(VALUES) as i64).collect();
            let known = given.entry(relation).or_default();
            let comes = !known.remove(&fact) && known.insert(fact.clone());
            changes.push(Change { relation, fact: values(&fact), comes });
        }
        trial.evaluation.change(&changes).expect("it changes");
        trial.evaluation.settle().expect("it settles");
        trial.check(&asked, &given, &written);
        rows += trial.evaluation.len(trial.question);
    }
    rows
}

#[test]
fn arguments_come_and_go() {
    let rows: usize = (0..80).map(run).sum();
    assert!(rows > 500, "there are answers: {rows}");
}

/// Arguments share what does not depend on them, and what they ask for alike.
#[test]
fn what_arguments_have_in_common_is_there_once() {
    let text = "tc(x, y) :- e(x, y). tc(x, z) :- tc(x, y), e(y, z). e(0, 0). ?- tc($from, y).";
    let shared = datalog::share(&compiled(text)).expect("it is not too wide");
    let names: Vec<&str> =
        shared.program.question.iter().flat_map(|asked| &asked.names).map(|name| &**name).collect();
    assert_eq!(names, ["from", "y"]);
    let focused = datalog::focus(&shared.program);
    let copies: Vec<&str> = focused.relations.iter().map(|relation| &*relation.name).collect();
    assert!(copies.contains(&"tc@bf"), "asked by its first column: {copies:?}");
}
