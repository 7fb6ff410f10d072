//! Shares of conditions from a sample, beside the true ones; and when there is no such share.

use crate::support;

use cypher::compile;
use plan::algebra::Plan;
use plan::{Expr, Planning, Sampled, Var};
use std::sync::Arc;
use support::engine;
use tanglewood_execute::planning::{Samples, SnapshotPlanning};
use transact::{Engine, Mode};

/// People whose properties depend on each other: `b` is ten times `a`, and three of four have a `c`.
const PEOPLE: i64 = 20_000;
/// How far the share of a sample of 512 may be from the true one.
const FAR_MAX: f64 = 0.07;

fn filled(count: i64) -> Engine {
    let engine = engine();
    let transaction = engine.begin(Mode::Write);
    let label = transaction.label("P").unwrap();
    let keys = ["a", "b", "c", "t", "d"].map(|key| transaction.key(key).unwrap());
    for number in 0..count {
        // Not in the order of their values.
        let a = number * 7_919 % 1_000;
        let date = model::temporal::Date { days: 9_000 + a };
        let mut properties = vec![
            (keys[0], a.into()),
            (keys[1], (10 * a).into()),
            (keys[3], format!("text {}", a % 10).as_str().into()),
            (keys[4], model::Value::Date(date)),
        ];
        if number % 4 != 0 {
            properties.push((keys[2], a.into()));
        }
        transaction.create_vertex(&[label], properties).unwrap();
    }
    transaction.commit().unwrap();
    engine
}

/// The condition of `MATCH (n:P) WHERE …`, and the variable it reads.
fn condition(text: &str) -> (Var, Expr) {
    let statement = compile(&format!("MATCH (n:P) WHERE {text} RETURN 1")).unwrap();
    let mut found = None;
    let plan::StatementKind::Query { plan, .. } = &statement.kind else { panic!("{text}") };
    let mut at = plan;
    while found.is_none() {
        if let Plan::Match(node) = at {
            let predicates = node.pattern.predicates.iter().cloned();
            found = predicates.reduce(|a, b| Expr::binary(plan::expr::BinaryOperator::And, a, b));
        }
        if let Plan::Filter(node) = at {
            found = Some(node.predicate.clone());
        }
        match at.input() {
            Some(input) => at = input,
            None => break,
        }
    }
    let found = found.expect(text);
    (found.free_variables()[0], found)
}

fn sampled(planning: &SnapshotPlanning, text: &str) -> Option<Sampled> {
    let (var, expr) = condition(text);
    planning.sampled("P", var, &expr)
}

#[test]
fn a_sample_knows_ranges_texts_and_what_depends_on_each_other() {
    let engine = filled(PEOPLE);
    let planning = SnapshotPlanning::with_samples(engine.snapshot(), Arc::new(Samples::default()));
    for (text, right) in [
        ("n.a < 250", 0.25),
        ("n.a >= 400 AND n.a < 500", 0.1),
        ("n.a >= 900 AND n.a < 100", 0.0),
        ("n.a < 300 AND n.b < 3000", 0.3),
        ("n.a < 300 AND n.b >= 3000", 0.0),
        ("n.a * 10 = n.b", 1.0),
        ("n.c IS NULL", 0.25),
        ("n.c >= 0", 0.75),
        ("n.t ENDS WITH '7'", 0.1),
        ("n.t =~ '.* [0-4]'", 0.5),
        ("n.d < date({year: 1994, month: 8, day: 23}) + duration({days: 500})", 0.5),
        ("n.t IN ['text 1', 'text 2', 'no such text']", 0.2),
        ("NOT n.a < 250 OR n.t = 'text 1'", 0.775),
    ] {
        let found = sampled(&planning, text).unwrap_or_else(|| panic!("{text}: no share"));
        let share = found.hits as f64 / found.of as f64;
        assert!((share - right).abs() <= FAR_MAX, "{text}: {share} for {right}");
    }
}

#[test]
fn what_is_not_known_when_a_plan_is_made_has_no_share() {
    let engine = filled(PEOPLE);
    let planning = SnapshotPlanning::with_samples(engine.snapshot(), Arc::new(Samples::default()));
    assert_eq!(sampled(&planning, "n.a < $x"), None, "a parameter");
    assert_eq!(sampled(&planning, "n.a + 'text' - 1 > 0"), None, "it fails");
    assert!(sampled(&planning, "n.a < 10").is_some());
    assert_eq!(sampled(&SnapshotPlanning::new(engine.snapshot()), "n.a < 10"), None, "no samples");
    let few = filled(1_000);
    let planning = SnapshotPlanning::with_samples(few.snapshot(), Arc::new(Samples::default()));
    assert_eq!(sampled(&planning, "n.a < 10"), None, "few are read in no time");
}

#[test]
fn what_was_made_together_is_found_in_its_part_and_who_is_gone_is_replaced() {
    let engine = engine();
    let transaction = engine.begin(Mode::Write);
    let label = transaction.label("P").unwrap();
    let key = transaction.key("a").unwrap();
    // In the order of their values, and most of them made before the label's own.
    let other = transaction.label("Q").unwrap();
    let made: Vec<_> = (0..6 * PEOPLE)
        .map(|number| {
            let label = if number % 6 == 5 { label } else { other };
            transaction.create_vertex(&[label], vec![(key, number.into())]).unwrap()
        })
        .collect();
    transaction.commit().unwrap();
    let samples = Arc::new(Samples::default());
    let share = |text: &str| {
        let planning = SnapshotPlanning::with_samples(engine.snapshot(), samples.clone());
        let found = sampled(&planning, text).expect(text);
        found.hits as f64 / found.of as f64
    };
    for tenth in 0..10 {
        let (low, high) = (6 * PEOPLE / 10 * tenth, 6 * PEOPLE / 10 * (tenth + 1));
        let found = share(&format!("n.a >= {low} AND n.a < {high}"));
        assert!((found - 0.1).abs() <= FAR_MAX, "tenth {tenth}: {found}");
    }
    // A twentieth goes: the rest of the sample stands for the others.
    let transaction = engine.begin(Mode::Write);
    made.iter()
        .skip(5)
        .step_by(6 * 20)
        .for_each(|vertex| _ = transaction.delete_vertex(*vertex, false).unwrap());
    transaction.commit().unwrap();
    assert_eq!(share("n.a >= 0"), 1.0);
    // All but a half go, and others come: another sample is chosen.
    let transaction = engine.begin(Mode::Write);
    let half = made.iter().skip(5).step_by(12);
    half.for_each(|vertex| _ = transaction.delete_vertex(*vertex, false).unwrap());
    (0..PEOPLE / 2).for_each(|_| _ = transaction.create_vertex(&[label], vec![(key, (-1).into())]).unwrap());
    transaction.commit().unwrap();
    let found = share("n.a = -1");
    assert!((found - 0.5).abs() <= FAR_MAX, "{found}");
}
