//! Facts that are read where they are asked for: the answer is the twin's, nothing is kept of them, and nothing is read without need.

mod naive;

use datalog::{RelationNo, Source as Origin};
use naive::{Facts, answer, whole};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use tanglewood_rules::{Bounds, Evaluation, RulesError, Source, Word, Words};

/// Edges of one type, with a record of what was asked of them.
struct Edges {
    edges: Facts,
    /// Columns that they can be asked by, from the first.
    served: usize,
    /// By which column, or all.
    asked: Mutex<Vec<Option<(usize, Word)>>>,
}

impl Edges {
    fn note(&self, asked: Option<(usize, Word)>) {
        self.asked.lock().expect("nobody panicked").push(asked);
    }
}

impl Source for Edges {
    fn serves(&self, _: RelationNo, column: usize) -> bool {
        column < self.served
    }
    fn size(&self, _: RelationNo) -> usize {
        self.edges.len()
    }
    fn keys(
        &self,
        _: RelationNo,
        cursor: u64,
        _: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<Option<u64>, RulesError> {
        let is_first = cursor == 0;
        if is_first {
            self.note(None);
        }
        let keys: BTreeSet<Word> = self.edges.iter().map(|edge| edge[0] as Word).collect();
        let half = keys.len() / 2;
        let (skipped, taken) = if is_first { (0, half) } else { (half, usize::MAX) };
        found.extend(keys.into_iter().skip(skipped).take(taken));
        Ok(is_first.then_some(1))
    }
    fn read(
        &self,
        _: RelationNo,
        (column, word): (usize, Word),
        _: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError> {
        assert!(column < self.served, "asked by column {column}");
        self.note(Some((column, word)));
        let wanted = self.edges.iter().filter(|edge| edge[column] == i64::from(word));
        found.extend(wanted.flatten().map(|number| *number as Word));
        Ok(())
    }
}

const QUESTIONS: [&str; 6] = [
    "tc(x, y) :- E(x, y). tc(x, z) :- tc(x, y), E(y, z). ?- tc(3, y).",
    "tc(x, y) :- E(x, y). tc(x, z) :- tc(x, y), E(y, z). ?- tc(x, 3).",
    "tc(x, y) :- E(x, y). tc(x, z) :- E(x, y), tc(y, z). far(y) :- tc(3, x), tc(x, y), y > 5. ?- far(y).",
    "sg(x, y) :- E(p, x), E(p, y), x != y. sg(x, y) :- E(a, x), sg(a, b), E(b, y). ?- sg(3, y).",
    "tc(x, y) :- E(x, y). tc(x, z) :- tc(x, y), E(y, z). no(y) :- E(3, y), !tc(y, 3). ?- no(y).",
    "two(x, z) :- E(x, y), E(y, z). n(x, count()) :- two(x, z). ?- n(3, k).",
];

#[test]
fn a_question_reads_what_it_needs() {
    let mut state = 1_u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % bound) as i64
    };
    for round in 0..12 {
        let edges: Facts = (0..40).map(|_| vec![below(25), below(25)]).collect();
        for text in QUESTIONS {
            let program = datalog::compile(text).expect("a program");
            let number =
                program.relations.iter().position(|relation| matches!(relation.source, Origin::Graph(_)));
            let given = BTreeMap::from([(number.expect("it reads the graph"), edges.clone())]);
            let question = program.question.clone().expect("a question").relation;
            let expected = &answer(&program, &given)[question];
            let source = Edges { edges: edges.clone(), served: 2, asked: Mutex::default() };
            let focused = datalog::focus(&program);
            let asked = focused.question.clone().expect("a question").relation;
            let mut evaluation = Evaluation::new(focused, |_| None, Bounds::default()).expect("it starts");
            evaluation.evaluate_over(&source).expect("it is evaluated");
            let found: Facts = evaluation.facts(asked).map(|fact| whole(&fact)).collect();
            assert_eq!(&found, expected, "round {round}: {text}");
            assert_eq!(evaluation.copied().count(), 0, "nothing is copied: {text}");
            let read = source.asked.lock().expect("nobody panicked").clone();
            if text.starts_with("tc(x, y) :- E(x, y). tc(x, z) :- tc(x, y), E(y, z). ?-") {
                assert!(!read.contains(&None), "not all of it is read: {text}");
                let different: BTreeSet<_> = read.iter().collect();
                assert!(
                    different.len() <= 2 * found.len() + 2,
                    "what is reached is read, by each end: {text}"
                );
            }
        }
    }
}

/// What is asked by a column that the graph knows no way by is taken out of it, once.
#[test]
fn what_cannot_be_asked_is_copied() {
    let edges: Facts = (0..50).map(|number| vec![number, number % 7]).collect();
    let source = Edges { edges, served: 1, asked: Mutex::default() };
    let program =
        datalog::compile("alike(x, y) :- E(x, k), E(y, k), x < y. ?- alike(x, y).").expect("a program");
    let question = program.question.clone().expect("a question").relation;
    let mut evaluation = Evaluation::new(program, |_| None, Bounds::default()).expect("it starts");
    evaluation.evaluate_over(&source).expect("it is evaluated");
    assert_eq!(evaluation.len(question), 28 + 6 * 21);
    assert_eq!(evaluation.copied().count(), 1);
    let read = source.asked.lock().expect("nobody panicked").len();
    assert_eq!(read, 51, "its keys, and the facts of each once");
}
