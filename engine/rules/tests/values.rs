//! Values of every kind through the table of words and through arithmetic; pages of an answer; and how often an evaluation is looked at.

use model::{EdgeId, EdgeRef, Value, VertexId};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tanglewood_rules::{Bounds, Evaluation, RulesError, Words};

fn values() -> Vec<Value> {
    let small_end = 1_i64 << 30;
    let mut all: Vec<Value> =
        [0, 1, -1, 7, small_end - 1, small_end, small_end + 1, 1 << 31, 1 << 32, i64::MAX, i64::MIN]
            .map(Value::Int)
            .to_vec();
    for vertex in [0, 1, small_end - 1, small_end, 1 << 31, 1 << 32] {
        all.push(VertexId(vertex as u64).into());
    }
    let edge = |id| EdgeRef { id: EdgeId(id), source: VertexId(1), target: VertexId(2) };
    all.extend([
        0.5.into(),
        1.0.into(),
        0.0.into(),
        f64::NAN.into(),
        f64::INFINITY.into(),
        "".into(),
        "a".into(),
        "1".into(),
    ]);
    all.extend([
        true.into(),
        false.into(),
        Value::Null,
        edge(1).into(),
        edge(2).into(),
        Value::list(vec![1.into()]),
    ]);
    all.push(Value::list(vec![1.0.into()]));
    all
}

/// Nothing with a sign is nothing: the two are one value.
fn shown(value: &Value) -> String {
    format!("{value:?}").replace("Float(-0.0)", "Float(0.0)")
}

#[test]
fn each_value_has_a_word_of_its_own() {
    let all = values();
    let mut words = Words::new(usize::MAX);
    let found: Vec<_> = all.iter().map(|value| words.word(value).unwrap()).collect();
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), all.len() - 1, "equal lists are one value");
    for (value, word) in all.iter().zip(&found) {
        let back = words.value(*word);
        assert!(
            model::compare::equivalent(&back, value) && back.value_type() == value.value_type(),
            "{value:?}"
        );
        assert_eq!((words.word(value).unwrap(), words.known(value)), (*word, Some(*word)));
        let vertex = if let Value::Vertex(vertex) = value { Some(*vertex) } else { None };
        assert_eq!(words.as_vertex(*word), vertex);
        if let Some(vertex) = vertex {
            assert_eq!(words.vertex(vertex).unwrap(), *word);
        }
    }
    assert_eq!(words.known(&"not there".into()), None);
    let bytes = words.bytes();
    words.word(&"x".repeat(10_000).into()).unwrap();
    assert!(words.bytes() >= bytes + 10_000);
    let mut none = Words::new(bytes);
    assert!(matches!(none.word(&"x".repeat(bytes).into()), Err(RulesError::TooLarge { .. })));
    assert!(none.word(&Value::Int(3)).is_ok(), "a small number takes nothing");
}

fn evaluated(
    text: &str,
    facts: Vec<Value>,
    look: impl Fn(usize) -> Result<(), RulesError> + Send + 'static,
) -> Evaluation<'static> {
    let program = datalog::compile(text).unwrap();
    let facts = Value::list(facts);
    let bounds = Bounds { bytes_max: usize::MAX, look: Box::new(look) };
    let given = move |name: &str| (name == "n").then(|| facts.clone());
    let mut evaluation = Evaluation::new(program, given, bounds).unwrap();
    evaluation.evaluate().unwrap();
    evaluation
}

fn answer(evaluation: &Evaluation<'_>, name: &str) -> BTreeSet<String> {
    let relation = evaluation.program().relation(name).unwrap();
    evaluation.facts(relation).map(|fact| shown(&Value::list(fact))).collect()
}

/// What an operator makes of two values, by definition: whole numbers stay whole, texts are joined, and what has no result is none.
fn computed(operator: char, a: &Value, b: &Value) -> Option<Value> {
    let float = |value: &Value| match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    };
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        let (wide_a, wide_b) = (i128::from(*a), i128::from(*b));
        let wide = match operator {
            '+' => Some(wide_a + wide_b),
            '-' => Some(wide_a - wide_b),
            '*' => Some(wide_a * wide_b),
            '/' => wide_a.checked_div(wide_b),
            _ => wide_a.checked_rem(wide_b).filter(|_| (*a, *b) != (i64::MIN, -1)),
        };
        return wide.and_then(|wide| i64::try_from(wide).ok()).map(Value::Int);
    }
    if let (Value::String(a), Value::String(b), '+') = (a, b, operator) {
        return Some(format!("{a}{b}").into());
    }
    let (a, b) = (float(a)?, float(b)?);
    Some(Value::Float(match operator {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '/' => a / b,
        _ => a % b,
    }))
}

#[test]
fn arithmetic_of_every_kind_of_value() {
    let all: Vec<Value> =
        values().into_iter().filter(|value| !matches!(value, Value::Null | Value::List(_))).collect();
    for operator in ['+', '-', '*', '/', '%'] {
        let text = format!(
            ".input n(1, $n) p(x, y, z) :- n(x), n(y), z = x {operator} y. m(x, z) :- n(x), z = -x. ?- p(x, y, z)."
        );
        let evaluation = evaluated(&text, all.clone(), |_| Ok(()));
        let mut wanted = BTreeSet::new();
        for a in &all {
            for b in &all {
                let found = computed(operator, a, b);
                wanted.extend(found.map(|z| shown(&Value::list(vec![a.clone(), b.clone(), z]))));
            }
        }
        assert_eq!(answer(&evaluation, "p"), wanted, "{operator}");
        let negative = |value: &Value| match value {
            Value::Int(int) => int.checked_neg().map(Value::Int),
            Value::Float(float) => Some(Value::Float(-float)),
            _ => None,
        };
        let wanted: BTreeSet<String> = all
            .iter()
            .filter_map(|value| Some(shown(&Value::list(vec![value.clone(), negative(value)?]))))
            .collect();
        assert_eq!(answer(&evaluation, "m"), wanted);
    }
}

#[test]
fn an_answer_comes_in_pages() {
    let text = ".input n(1, $n) p(x, y) :- n(x), y = x % 3. ?- p(x, y).";
    let evaluation = evaluated(text, (0..100).map(Value::Int).collect(), |_| Ok(()));
    let relation = evaluation.program().relation("p").unwrap();
    let whole = answer(&evaluation, "p");
    assert_eq!((whole.len(), evaluation.len(relation)), (100, 100));
    for count in [1, 2, 7, 99, 100, 101] {
        let (mut from, mut pages, mut found) = (Some(0), 0, BTreeSet::new());
        while let Some(row) = from {
            let (facts, next) = evaluation.some_facts(relation, row, count);
            assert!(facts.len() <= count && (next.is_none() || facts.len() == count));
            found.extend(facts.into_iter().map(|fact| shown(&Value::list(fact))));
            pages += 1;
            from = next;
        }
        assert_eq!((&found, pages), (&whole, 100_usize.div_ceil(count)), "{count} a page");
    }
}

#[test]
fn a_parameter_that_is_not_given_is_said() {
    let program = datalog::compile("q(1). q(2). p(x) :- q(x), x > $least. ?- p(x).").unwrap();
    let bounds = || Bounds { bytes_max: usize::MAX, look: Box::new(|_| Ok(())) };
    let run = |least: Option<Value>| {
        let given = move |name: &str| least.clone().filter(|_| name == "least");
        let mut evaluation = Evaluation::new(program.clone(), given, bounds())?;
        evaluation.evaluate()?;
        Ok(answer(&evaluation, "p").len())
    };
    assert_eq!(run(None), Err(RulesError::MissingParameter("least".to_string())));
    assert_eq!((run(Some(Value::Int(1))), run(Some(Value::Int(0)))), (Ok(1), Ok(2)));
}

/// Whoever waits for an end is answered soon, and the looks cost nothing beside the work.
#[test]
fn an_evaluation_is_looked_at_now_and_then() {
    let input = ".input n(1, $n)";
    let cases = [
        ("p(x) :- n(x). ?- p(x).", 60_000, 60_000),
        ("p(min(x), count()) :- n(x). ?- p(x, y).", 60_000, 60_000),
        ("p(x, min(x)) :- n(x). ?- p(x, y).", 60_000, 60_000),
        ("p(x) :- n(x), n(y), x + y < 0. ?- p(x).", 1_000, 1_000_000),
        ("p(x, y) :- n(x), n(y). ?- p(x, y).", 600, 360_000),
    ];
    for (rules, facts, work) in cases {
        let looks = Arc::new(Mutex::new((0_usize, 0)));
        let seen = looks.clone();
        let look = move |bytes: usize| {
            let mut seen = seen.lock().unwrap();
            *seen = (seen.0 + 1, seen.1.max(bytes));
            Ok(())
        };
        let evaluation = evaluated(&format!("{input} {rules}"), (0..facts).map(Value::Int).collect(), look);
        let (looks, most) = *looks.lock().unwrap();
        assert!(looks > work / 70_000 && looks <= work / 200 + 20, "{looks} looks for {work}: {rules}");
        // The looks know what is held: nothing is larger than the most that they saw, but for what grew since.
        assert!(most <= 4 * evaluation.bytes().max(1 << 20), "{most} bytes: {rules}");
    }
}
