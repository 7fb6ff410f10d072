//! The bytes that an evaluation says it keeps are those that the allocator gave it; and a limit holds at the byte.

use model::Value;
use tanglewood_rules::{Bounds, Change, Evaluation, RulesError};

/// Of a hundred bytes given so many are said at least, and at most.
const SAID_PERCENT: std::ops::RangeInclusive<usize> = 85..=125;

/// Facts of `n`, numbers or texts, and a rule over them.
fn programs() -> [(&'static str, String, bool); 7] {
    let input = ".input n(1, $n)";
    let facts = "n(x) :- never(x). never(0) :- n(0), n(1), 1 = 2.";
    [
        ("numbers", format!("{input} {facts} p(x) :- n(x), x >= 0. ?- p(x)."), false),
        ("texts", format!("{input} {facts} p(x) :- n(x). ?- p(x)."), true),
        (
            "pairs, by both ends",
            format!(
                "{input} {facts} p(x, y) :- n(x), y = x + 1. q(x, z) :- p(x, y), p(y, z). r(x) :- q(y, x), p(x, z). ?- r(x)."
            ),
            false,
        ),
        ("least of each", format!("{input} {facts} p(x, min(x)) :- n(x). ?- p(x, y)."), false),
        ("least of all", format!("{input} {facts} p(min(x), max(x)) :- n(x). ?- p(x, y)."), false),
        ("sums of floats", format!("{input} {facts} p(x, sum(y)) :- n(x), y = x / 3.0. ?- p(x, y)."), false),
        (
            "a closure",
            format!(
                "{input} {facts} e(x, y) :- n(x), y = x + 1, x < 120. t(x, y) :- e(x, y). t(x, z) :- t(x, y), e(y, z). ?- t(x, y)."
            ),
            false,
        ),
    ]
}

fn fits(text: &str, is_text: bool, count: i64, bytes_max: usize) -> bool {
    match begun(text, is_text, count, bytes_max).and_then(|mut evaluation| evaluation.evaluate()) {
        Ok(()) => true,
        Err(RulesError::TooLarge { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

fn evaluated(
    text: &str,
    is_text: bool,
    count: i64,
    bytes_max: usize,
) -> (Result<(), RulesError>, Evaluation<'static>) {
    let mut evaluation = begun(text, is_text, count, bytes_max).unwrap();
    let outcome = evaluation.evaluate();
    (outcome, evaluation)
}

fn begun(text: &str, is_text: bool, count: i64, bytes_max: usize) -> Result<Evaluation<'static>, RulesError> {
    let value = move |at: i64| match is_text {
        true => Value::string(format!("the text of number {at}")),
        false => Value::Int(at),
    };
    let bounds = Bounds { bytes_max, ..Bounds::default() };
    let facts = move |_: &str| Some(Value::list((0..count).map(value).collect()));
    Evaluation::new(datalog::compile(text).unwrap(), facts, bounds)
}

#[test]
fn what_is_said_to_be_kept_is_what_was_given() {
    let _turn = heap::turn();
    let mut faults = Vec::new();
    for (name, text, is_text) in programs() {
        for count in [3_000, 20_000, 70_000] {
            let before = heap::held();
            let (outcome, evaluation) = evaluated(&text, is_text, count, usize::MAX);
            outcome.unwrap();
            let given = (heap::held() - before) as usize;
            let percent = evaluation.bytes() * 100 / given;
            println!("{name}, {count}: given {given}, said {} ({percent} %)", evaluation.bytes());
            if !SAID_PERCENT.contains(&percent) {
                faults.push(format!("{name}, {count}: given {given}, said {}", evaluation.bytes()));
            }
            drop(evaluation);
            // The test's own thread tells what it prints.
            let left = heap::held() - before;
            assert!(left < 4_096, "{name}: {left} bytes are not given back");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What goes gives back what it kept, as far as tables shrink.
#[test]
fn what_comes_and_goes_leaves_what_there_was() {
    let _turn = heap::turn();
    let text = ".input n(1, $n) n(x) :- never(x). never(0) :- n(0), n(1), 1 = 2. p(x, min(y), sum(z)) :- n(y), x = y % 7, z = y / 3.0. ?- p(x, y, z).";
    let (outcome, mut evaluation) = evaluated(text, false, 2_000, usize::MAX);
    outcome.unwrap();
    evaluation.prepare().unwrap();
    let relation = evaluation.program().relation("n@input").unwrap();
    let first = evaluation.bytes();
    for round in 0..6 {
        for comes in [false, true] {
            let change = |at: i64| Change { relation, fact: vec![Value::Int(at)], comes };
            evaluation.change(&(0..2_000).map(change).collect::<Vec<_>>()).unwrap();
            evaluation.settle().unwrap();
            if !comes {
                assert!(evaluation.bytes() < first, "round {round}: what aggregates kept is gone");
            }
        }
        assert!(evaluation.bytes() <= first * 2, "round {round}: {} of {first}", evaluation.bytes());
    }
}

#[test]
fn a_limit_holds_at_the_byte() {
    let _turn = heap::turn();
    for (name, text, is_text) in programs() {
        let (outcome, evaluation) = evaluated(&text, is_text, 5_000, usize::MAX);
        outcome.unwrap();
        let bytes = evaluation.bytes();
        let (outcome, _) = evaluated(&text, is_text, 5_000, 3 * bytes);
        assert_eq!(outcome, Ok(()), "{name}");
        assert!(!fits(&text, is_text, 5_000, bytes / 3), "{name}");
    }
}

/// Averages and sums of whole numbers and floats together, while they come and go.
#[test]
fn an_average_is_that_of_what_is_there() {
    let _turn = heap::turn();
    let text = ".input n(2, $n) n(k, x) :- never(k, x). never(0, 0) :- n(0, 0), n(1, 0), 1 = 2. p(avg(x), sum(x)) :- n(k, x). ?- p(a, s).";
    let pair = |key: i64, value: Value| vec![Value::Int(key), value];
    let values = [Value::Int(3), Value::Float(0.5), Value::Float(0.5), Value::Float(2.5), Value::Int(-1)];
    let facts: Vec<Value> =
        values.iter().enumerate().map(|(key, value)| Value::list(pair(key as i64, value.clone()))).collect();
    let given = move |_: &str| Some(Value::list(facts.clone()));
    let mut evaluation = Evaluation::new(datalog::compile(text).unwrap(), given, Bounds::default()).unwrap();
    evaluation.evaluate().unwrap();
    evaluation.prepare().unwrap();
    let relation = evaluation.program().relation("n@input").unwrap();
    let answer = evaluation.program().relation("p").unwrap();
    let mut there: Vec<bool> = vec![true; values.len()];
    for step in [None, Some(2), Some(0), Some(2), Some(4), Some(0), Some(1), Some(3)] {
        if let Some(at) = step {
            there[at] = !there[at];
            let fact = pair(at as i64, values[at].clone());
            evaluation.change(&[Change { relation, fact, comes: there[at] }]).unwrap();
            evaluation.settle().unwrap();
        }
        let number = |value: &Value| match value {
            Value::Int(int) => *int as f64,
            Value::Float(float) => *float,
            other => panic!("{other:?}"),
        };
        let kept: Vec<f64> =
            (0..values.len()).filter(|at| there[*at]).map(|at| number(&values[at])).collect();
        let sum: f64 = kept.iter().sum();
        let found: Vec<Vec<f64>> =
            evaluation.facts(answer).map(|row| row.iter().map(number).collect()).collect();
        assert_eq!(found, [[sum / kept.len() as f64, sum]], "{there:?}");
    }
}

/// A group that goes takes all its bytes along, also those that its sum has room for.
#[test]
fn groups_that_come_and_go_leave_nothing() {
    let _turn = heap::turn();
    let text = ".input n(1, $n) n(x) :- never(x). never(0) :- n(0), n(1), 1 = 2. p(x, min(x), sum(z), avg(x), count()) :- n(x), z = x / 3.0. ?- p(x, a, b, c, d).";
    let (outcome, mut evaluation) = evaluated(text, false, 1, usize::MAX);
    outcome.unwrap();
    evaluation.prepare().unwrap();
    let relation = evaluation.program().relation("n@input").unwrap();
    let mut before = None;
    for round in 0..6 {
        for comes in [true, false] {
            let change = |at: i64| Change { relation, fact: vec![Value::Int(at)], comes };
            evaluation.change(&(1..2_000).map(change).collect::<Vec<_>>()).unwrap();
            evaluation.settle().unwrap();
        }
        let bytes = evaluation.bytes();
        assert!(before.is_none_or(|before| bytes <= before), "round {round}: {bytes}, not {before:?}");
        before = Some(bytes);
    }
}
