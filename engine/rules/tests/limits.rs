//! Limits of an evaluation: memory of values, of derivations on their way and of groups; and that it can be ended at any time.

use model::Value;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tanglewood_rules::{Bounds, Evaluation, RulesError, Source, Word, Words};

/// Outcome of a program with these facts of `n`, how often it was looked at, and the most bytes of its tables.
fn outcome(text: &str, count: i64, bytes_max: usize, looks_max: u64) -> (Result<(), RulesError>, usize) {
    let program = datalog::compile(text).expect("a program");
    let given = program.relations.iter().position(|relation| &*relation.name == "n@input");
    let facts = given.map(|_| Value::list((0..count).map(Value::Int).collect()));
    let looks = Cell::new(0);
    let look = move |_: usize| {
        looks.set(looks.get() + 1);
        if looks.get() > looks_max { Err(RulesError::Cancelled("enough".to_string())) } else { Ok(()) }
    };
    let bounds = Bounds { bytes_max, look: Box::new(look) };
    let mut evaluation = Evaluation::new(program, move |_| facts.clone(), bounds).expect("it starts");
    let found = evaluation.evaluate();
    (found, evaluation.bytes())
}

fn is_too_large(found: &Result<(), RulesError>, bytes_max: usize) -> bool {
    matches!(found, Err(RulesError::TooLarge { limit, .. }) if *limit == bytes_max)
}

const N: &str = ".input n(1, $n) n(x) :- never(x). never(0) :- n(0), n(1), 1 = 2.";

#[test]
fn texts_are_counted() {
    let doubled = "s('a'). s(y) :- s(x), y = x + x. ?- s(x).";
    let (found, bytes) = outcome(doubled, 0, 1 << 20, u64::MAX);
    assert!(is_too_large(&found, 1 << 20), "{found:?}");
    assert!(bytes <= 1 << 20, "{bytes}");
    // Texts that are only compared are made, too.
    let compared = format!("s('{}'). p(1) :- s(x), x + x + x + x != 'b'. ?- p(x).", "a".repeat(1 << 16));
    let (found, _) = outcome(&compared, 0, 100_000, u64::MAX);
    assert!(is_too_large(&found, 100_000), "{found:?}");
    assert_eq!(outcome(&compared, 0, 1 << 20, u64::MAX).0, Ok(()));
}

#[test]
fn derivations_on_their_way_are_counted_and_can_be_ended() {
    let product = format!("{N} q(a, b, c) :- n(a), n(b), n(c). ?- q(a, b, c).");
    let (found, bytes) = outcome(&product, 400, 4 << 20, u64::MAX);
    assert!(is_too_large(&found, 4 << 20), "{found:?}");
    assert!(bytes < 16 << 20, "{bytes}");
    let (found, _) = outcome(&product, 400, usize::MAX, 3);
    assert_eq!(found, Err(RulesError::Cancelled("enough".to_string())));
    assert_eq!(outcome(&product, 40, 64 << 20, u64::MAX).0, Ok(()));
}

#[test]
fn groups_are_counted() {
    let grouped = format!("{N} k(x, min(x)) :- n(x). ?- k(x, y).");
    let (found, _) = outcome(&grouped, 40_000, 4 << 20, u64::MAX);
    assert!(is_too_large(&found, 4 << 20), "{found:?}");
    let (found, bytes) = outcome(&grouped, 40_000, usize::MAX, u64::MAX);
    assert_eq!(found, Ok(()));
    assert!(bytes > 40_000 * 128, "{bytes}");
}

/// A rule that reads its own relation has a plan from each of its parts.
#[test]
fn plans_are_counted_and_can_be_ended() {
    let rule = format!("q(x) :- {}.", vec!["q(x)"; 256].join(", "));
    let text = format!("q(1). {} ?- q(x).", [rule.as_str(); 4].join("\n"));
    let (found, _) = outcome(&text, 0, 1 << 20, u64::MAX);
    assert!(is_too_large(&found, 1 << 20), "{found:?}");
    assert_eq!(outcome(&text, 0, usize::MAX, 100).0, Err(RulesError::Cancelled("enough".to_string())));
    assert_eq!(outcome(&text, 0, usize::MAX, u64::MAX).0, Ok(()));
}

/// On a thread with as little stack as a test has.
#[test]
fn the_longest_rule_has_room_on_the_stack() {
    let text =
        format!("q(1). p(x) :- {}, y = {}x. ?- p(x).", vec!["q(x)"; 255].join(", "), "x + ".repeat(999));
    assert_eq!(outcome(&text, 0, usize::MAX, u64::MAX).0, Ok(()));
}

/// A graph of vertices without end, in parts of this size, and without any facts.
struct Barren(usize);

impl Source for Barren {
    fn serves(&self, _: usize, column: usize) -> bool {
        column == 0
    }
    fn size(&self, _: usize) -> usize {
        0
    }
    fn keys(
        &self,
        _: usize,
        cursor: u64,
        _: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<Option<u64>, RulesError> {
        found.extend(0..self.0 as Word);
        Ok(Some(cursor + 1))
    }
    fn read(&self, _: usize, _: (usize, Word), _: &mut Words, _: &mut Vec<Word>) -> Result<(), RulesError> {
        Ok(())
    }
}

/// Whoever only reads, and finds nothing, is looked at and counted too.
#[test]
fn reading_in_vain_can_be_ended() {
    for text in ["p(x) :- E(x, y), E(y, x). ?- p(x).", "p(x, y) :- E(x, k), E(y, k). ?- p(x, y)."] {
        for (part, looks_max, bytes_max) in [(64, 100, usize::MAX), (1 << 20, u64::MAX, 1 << 20)] {
            let looks = Cell::new(0);
            let look = move |_: usize| {
                looks.set(looks.get() + 1);
                if looks.get() > looks_max {
                    Err(RulesError::Cancelled("enough".to_string()))
                } else {
                    Ok(())
                }
            };
            let program = datalog::compile(text).expect("a program");
            let bounds = Bounds { bytes_max, look: Box::new(look) };
            let mut evaluation = Evaluation::new(program, |_| None, bounds).expect("it starts");
            let found = evaluation.evaluate_over(&Barren(part));
            let is_full = is_too_large(&found, bytes_max);
            assert!(is_full != matches!(found, Err(RulesError::Cancelled(_))), "{text}: {found:?}");
            assert_eq!(is_full, bytes_max < usize::MAX, "{text}: {found:?}");
        }
    }
}

/// How often a program with these facts of `n` was looked at, and the most bytes that were told then.
fn looked(text: &str, facts: Vec<Value>, source: Option<&dyn Source>) -> (u64, usize, usize) {
    let program = datalog::compile(text).expect("a program");
    let seen = Arc::new(Mutex::new((0, 0)));
    let note = seen.clone();
    let look = move |bytes: usize| {
        let mut seen = note.lock().expect("nobody panicked");
        *seen = (seen.0 + 1, bytes.max(seen.1));
        Ok(())
    };
    let bounds = Bounds { bytes_max: usize::MAX, look: Box::new(look) };
    let mut evaluation =
        Evaluation::new(program, move |_| Some(Value::list(facts.clone())), bounds).expect("it starts");
    match source {
        Some(source) => evaluation.evaluate_over(source),
        None => evaluation.evaluate(),
    }
    .expect("it is evaluated");
    let (looks, most) = *seen.lock().expect("nobody panicked");
    (looks, most, evaluation.bytes())
}

/// Nothing is gone through without a look at least once in so many steps, and what is told then is what is held.
#[test]
fn work_is_looked_at_as_it_grows() {
    // As many as are looked at once; the crate's own limit is below that.
    const STEPS: u64 = 1 << 11;
    let numbers = |count: i64| (0..count).map(Value::Int).collect::<Vec<_>>();
    let product = format!("{N} q(x, y) :- n(x), n(y), x + y = -1. ?- q(x, y).");
    let (looks, ..) = looked(&product, numbers(600), None);
    assert!(looks >= 360_000 / STEPS, "{looks} looks");
    // Reading that finds nothing counts beside the facts that it is for.
    let read = format!("{N} p(x, y) :- n(x), E(x, y). ?- p(x, y).");
    let plain = format!("{N} p(x) :- n(x), x < 0. ?- p(x).");
    let (with, ..) = looked(&read, numbers(200_000), Some(&Nothing));
    let (without, ..) = looked(&plain, numbers(200_000), Some(&Nothing));
    assert!(with >= without + 200_000 / STEPS - 1, "{with} looks, {without} without reading");
    // A text that is made counts as it is long.
    let long = "a".repeat(1 << 16);
    let made = format!("{N} s('{long}'). p(y) :- s(x), n(y), x + x = 'b'. ?- p(y).");
    let (looks, ..) = looked(&made, numbers(1_000), None);
    let least = 1_000 * (2 << 16) / 64 / STEPS;
    assert!((least..least * 3).contains(&looks), "{looks} looks, not {least}");
    // Texts that the facts are made of are part of what is told.
    let texts = (0..1_000).map(|at| Value::string(format!("{at:02000}"))).collect();
    let (_, most, bytes) = looked(&product, texts, None);
    assert!(most >= 2_000_000 && most <= bytes * 3 / 2, "{most} bytes were told, {bytes} are held");
}

/// Nothing to read: every look-up is in vain.
struct Nothing;

impl Source for Nothing {
    fn serves(&self, _: usize, column: usize) -> bool {
        column == 0
    }
    fn size(&self, _: usize) -> usize {
        1 << 30
    }
    fn keys(&self, _: usize, _: u64, _: &mut Words, _: &mut Vec<Word>) -> Result<Option<u64>, RulesError> {
        Ok(None)
    }
    fn read(&self, _: usize, _: (usize, Word), _: &mut Words, _: &mut Vec<Word>) -> Result<(), RulesError> {
        Ok(())
    }
}

/// One group that keeps many values ends at the limit, not beyond; and a change of few facts is charged once.
#[test]
fn a_group_ends_at_the_limit() {
    let most = Arc::new(AtomicUsize::new(0));
    let started = |bytes_max: usize| {
        let note = most.clone();
        let look = move |bytes: usize| {
            note.fetch_max(bytes, Relaxed);
            Ok(())
        };
        let program = datalog::compile(&format!("{N} p(min(x), max(x), sum(x)) :- n(x). ?- p(x, y, z)."));
        let facts = Value::list((0..60_000).map(Value::Int).collect());
        let bounds = Bounds { bytes_max, look: Box::new(look) };
        Evaluation::new(program.expect("a program"), move |_| Some(facts.clone()), bounds).expect("it starts")
    };
    let mut whole = started(usize::MAX);
    whole.evaluate().expect("it is evaluated");
    let bytes = whole.bytes();
    most.store(0, Relaxed);
    let limit = bytes * 3 / 4;
    let found = started(limit).evaluate();
    assert!(is_too_large(&found, limit), "{found:?}");
    assert!(most.load(Relaxed) < bytes, "{} bytes were told before the end, of {bytes}", most.load(Relaxed));
    let mut enough = started(bytes * 3 / 2);
    enough.evaluate().expect("it is evaluated");
    enough.prepare().expect("it is prepared");
    let relation = enough.program().relation("n@input").expect("it is there");
    for at in 0..20 {
        let change = tanglewood_rules::Change { relation, fact: vec![Value::Int(at)], comes: false };
        enough.change(&[change]).expect("it has room");
        enough.settle().expect("it has room");
    }
}
