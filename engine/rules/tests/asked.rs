//! Facts that are fetched when they are asked for: the answer is the twin's, and nothing is fetched twice or without need.

mod naive;

use datalog::{GraphRelation, Source as Origin};
use model::Value;
use naive::{Facts, answer, whole};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use tanglewood_rules::{Bounds, Evaluation, RulesError, Source};

/// Edges of one type, with a record of what was asked of them.
struct Edges {
    edges: Facts,
    asked: Mutex<Vec<Option<(usize, i64)>>>,
}

impl Source for Edges {
    fn serves(&self, _: &GraphRelation, _: usize) -> bool {
        true
    }
    fn fetch(
        &self,
        _: &GraphRelation,
        by: Option<(usize, &Value)>,
        found: &mut dyn FnMut(&[Value]) -> Result<(), RulesError>,
    ) -> Result<(), RulesError> {
        let key = by.map(|(column, value)| (column, value.as_int().expect("whole numbers only")));
        self.asked.lock().expect("nobody panicked").push(key);
        let wanted = |edge: &&Vec<i64>| key.is_none_or(|(column, value)| edge[column] == value);
        for edge in self.edges.iter().filter(wanted) {
            found(&[Value::Int(edge[0]), Value::Int(edge[1])])?;
        }
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
fn a_question_fetches_what_it_needs_once() {
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
            let source = Edges { edges: edges.clone(), asked: Mutex::default() };
            let focused = datalog::focus(&program);
            let asked = focused.question.clone().expect("a question").relation;
            let mut evaluation =
                Evaluation::new(focused, |_| None, Some(&source), Bounds::default()).expect("it starts");
            evaluation.evaluate().expect("it is evaluated");
            let found: Facts = evaluation.facts(asked).map(|fact| whole(&fact)).collect();
            assert_eq!(&found, expected, "round {round}: {text}");
            let fetched = source.asked.lock().expect("nobody panicked").clone();
            let different: BTreeSet<_> = fetched.iter().collect();
            assert_eq!(different.len(), fetched.len(), "nothing is fetched twice: {text}");
            if text.starts_with("tc(x, y) :- E(x, y). tc(x, z) :- tc(x, y), E(y, z). ?-") {
                assert!(!fetched.contains(&None), "nothing is fetched whole: {text}");
                assert!(
                    fetched.len() <= 2 * found.len() + 2,
                    "what is reached is fetched, by each end: {text}"
                );
            }
        }
    }
}

/// A hub with many neighbours once took a run for each of them: what is missing is now fetched together.
#[test]
fn a_hub_takes_few_runs() {
    let edges: Facts = (1..20_000).map(|leaf| vec![0, leaf]).collect();
    let by_source: BTreeMap<i64, Vec<i64>> = BTreeMap::from([(0, (1..20_000).collect())]);
    struct Hub(BTreeMap<i64, Vec<i64>>);
    impl Source for Hub {
        fn serves(&self, _: &GraphRelation, column: usize) -> bool {
            column == 0
        }
        fn fetch(
            &self,
            _: &GraphRelation,
            by: Option<(usize, &Value)>,
            found: &mut dyn FnMut(&[Value]) -> Result<(), RulesError>,
        ) -> Result<(), RulesError> {
            let key = by.and_then(|(_, value)| value.as_int()).expect("by its source");
            let targets = self.0.get(&key).into_iter().flatten();
            targets.map(|target| [Value::Int(key), Value::Int(*target)]).try_for_each(|edge| found(&edge))
        }
    }
    let source = Hub(by_source);
    let program = datalog::compile("two(x) :- E(0, y), E(y, x). ?- two(x).").expect("a program");
    let looks = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = looks.clone();
    let look = move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    };
    let bounds = Bounds { look: Box::new(look), ..Bounds::default() };
    let mut evaluation = Evaluation::new(program, |_| None, Some(&source), bounds).expect("it starts");
    evaluation.evaluate().expect("it is evaluated");
    assert_eq!(edges.len(), 19_999);
    // A run for each neighbour would look hundreds of times: it looks at 200 million facts.
    let looks = looks.load(std::sync::atomic::Ordering::Relaxed);
    assert!(looks < 20, "{looks} looks");
}
