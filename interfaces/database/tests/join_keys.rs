//! Joins on computed keys against the filtered product: random tables, random key expressions, in every clause that joins.
//!
//! The product is taken of collected lists, which no rewrite turns into a join. The seed is printed;
//! `SEED=… cargo test -p tanglewood-database --test suite join_keys` replays one, and `ROUNDS=…` makes more.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, Instant};
use tanglewood_database::{Database, Limits, MEMORY, Options, Params, Session, Value};
use world::chance::Chance;

/// Graphs in a run, unless told otherwise.
const ROUNDS: usize = 6;
/// Conditions asked of one graph.
const CONDITIONS: usize = 12;

/// What a property may hold; keys that are equal though they differ in form stand beside each other.
const VALUES: [&str; 26] = [
    "null",
    "0",
    "1",
    "1.0",
    "-0.0",
    "2",
    "2.5",
    "9007199254740993",
    "9007199254740992.0",
    "0.0 / 0.0",
    "1.0 / 0.0",
    "true",
    "'a'",
    "'A'",
    "'1'",
    "[1, 2]",
    "[1.0, 2.0]",
    "['a']",
    "date('2020-01-01')",
    "datetime('2020-01-01T12:00Z')",
    "datetime('2020-01-01T13:00+01:00')",
    "localdatetime('2020-01-01T12:00')",
    "duration('P1D')",
    "duration('PT24H')",
    "point({x: 1, y: 2})",
    "time('12:00Z')",
];

/// Expressions over one row that never fail, whatever the properties hold.
const KEYS: [&str; 16] = [
    "V.x",
    "V.y",
    "V.x",
    "[V.x, V.y]",
    "[V.x, 1]",
    "{k: V.x}",
    "toIntegerOrNull(V.x) % 7",
    "toFloatOrNull(V.x) * 2",
    "toLower(toStringOrNull(V.x))",
    "coalesce(V.x, V.y)",
    "CASE WHEN V.x IS NULL THEN 0 ELSE V.x END",
    "V.x = V.y",
    "size(toStringOrNull(V.y))",
    "V.i % 3",
    "1.0 * (V.i % 4)",
    "labels(V)[1]",
];

fn session() -> Session {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap().session()
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    let found = session.query(text, Params::new()).and_then(|result| result.rows());
    let mut rows: Vec<Vec<Value>> =
        found.unwrap_or_else(|error| panic!("{text}: {error}")).iter().map(|row| row.to_vec()).collect();
    rows.sort_by_key(|row| format!("{row:?}"));
    rows
}

fn numbers(session: &mut Session, text: &str) -> Vec<Vec<Option<i64>>> {
    let rows = rows(session, text);
    let mut rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(Value::as_int).collect()).collect();
    rows.sort();
    rows
}

fn fill(session: &mut Session, chance: &mut Chance) -> [usize; 2] {
    let sizes = [chance.below(30) as usize, chance.below(30) as usize];
    let mut text = String::new();
    for (label, size) in ["A", "B"].into_iter().zip(sizes) {
        for i in 0..size {
            let value = |chance: &mut Chance| VALUES[chance.below(VALUES.len() as u64) as usize];
            let more = if chance.below(2) == 0 { "" } else { ":Z" };
            let (x, y) = (value(chance), value(chance));
            let _ = writeln!(text, "CREATE (:{label}{more} {{i: {i}, x: {x}, y: {y}}})");
        }
    }
    if !text.is_empty() {
        rows(session, &text);
    }
    sizes
}

fn key(chance: &mut Chance, of: &str) -> String {
    KEYS[chance.below(KEYS.len() as u64) as usize].replace('V', of)
}

/// A condition between `a` and `b`.
fn condition(chance: &mut Chance) -> String {
    let mut parts = Vec::new();
    for _ in 0..1 + chance.below(2) {
        let (mut left, mut right) = (key(chance, "a"), key(chance, "b"));
        if chance.below(3) == 0 {
            right = left.replace("a.", "b.").replace("(a)", "(b)");
        }
        if chance.below(2) == 0 {
            std::mem::swap(&mut left, &mut right);
        }
        parts.push(format!("{left} = {right}"));
    }
    let others = ["a.i < b.i + 3", "a.i <> 2", "b.i > 1", "a.i + b.i = 7", "a.x <> b.y", "1 = 1"];
    if chance.below(2) == 0 {
        parts.push(others[chance.below(others.len() as u64) as usize].to_string());
    }
    parts.join(" AND ")
}

/// The pairs for which the condition holds, by trying all.
fn product(session: &mut Session, condition: &str) -> BTreeSet<(i64, i64)> {
    let text = format!(
        "MATCH (a:A) WITH collect(a) AS left MATCH (b:B) WITH left, collect(b) AS right \
         UNWIND left AS a UNWIND right AS b WITH a, b WHERE {condition} RETURN a.i, b.i"
    );
    numbers(session, &text).into_iter().map(|row| (row[0].unwrap(), row[1].unwrap())).collect()
}

/// What each clause must answer, by the pairs.
fn compare(session: &mut Session, c: &str, [left, _]: [usize; 2], pairs: &BTreeSet<(i64, i64)>) {
    let both: Vec<Vec<Option<i64>>> = pairs.iter().map(|(a, b)| vec![Some(*a), Some(*b)]).collect();
    let partners = |a: i64| pairs.iter().filter(|pair| pair.0 == a).map(|pair| pair.1).collect::<Vec<_>>();
    let all = 0..left as i64;
    for text in [
        format!("MATCH (a:A), (b:B) WHERE {c} RETURN a.i, b.i"),
        format!("MATCH (a:A) MATCH (b:B) WHERE {c} RETURN a.i, b.i"),
        format!("MATCH (a:A) WITH a ORDER BY a.i MATCH (b:B) WHERE {c} RETURN a.i, b.i"),
        format!("MATCH (a:A), (b:B) WITH a, b WHERE {c} RETURN a.i, b.i"),
        format!("MATCH (a:A) CALL (a) {{ MATCH (b:B) WHERE {c} RETURN b }} RETURN a.i, b.i"),
        format!("MATCH (a:A) UNWIND [1] AS one MATCH (b:B) WHERE {c} AND one = 1 RETURN a.i, b.i"),
        format!("MATCH (b:B) CALL (b) {{ MATCH (a:A) WHERE {c} RETURN a.i AS i }} RETURN i, b.i"),
    ] {
        assert_eq!(numbers(session, &text), both, "{text}");
    }
    let count = vec![vec![Some(pairs.len() as i64)]];
    assert_eq!(numbers(session, &format!("MATCH (a:A), (b:B) WHERE {c} RETURN count(*)")), count, "{c}");
    let with_nulls = |a: i64| match &partners(a)[..] {
        [] => vec![vec![Some(a), None]],
        found => found.iter().map(|b| vec![Some(a), Some(*b)]).collect(),
    };
    let mut optional: Vec<_> = all.clone().flat_map(with_nulls).collect();
    optional.sort();
    let text = format!("MATCH (a:A) OPTIONAL MATCH (b:B) WHERE {c} RETURN a.i, b.i");
    assert_eq!(numbers(session, &text), optional, "{text}");
    let of = |test: &dyn Fn(i64) -> bool| -> Vec<_> {
        all.clone().filter(|a| test(*a)).map(|a| vec![Some(a)]).collect()
    };
    let text = format!("MATCH (a:A) WHERE EXISTS {{ MATCH (b:B) WHERE {c} }} RETURN a.i");
    assert_eq!(numbers(session, &text), of(&|a| !partners(a).is_empty()), "{text}");
    let text = format!("MATCH (a:A) WHERE NOT EXISTS {{ (b:B) WHERE {c} }} RETURN a.i");
    assert_eq!(numbers(session, &text), of(&|a| partners(a).is_empty()), "{text}");
    let text = format!("MATCH (a:A) WHERE a.i < 0 OR EXISTS {{ (b:B) WHERE {c} }} RETURN a.i");
    assert_eq!(numbers(session, &text), of(&|a| !partners(a).is_empty()), "{text}");
    let counts: Vec<_> = all.clone().map(|a| vec![Some(a), Some(partners(a).len() as i64)]).collect();
    for text in [
        format!("MATCH (a:A) RETURN a.i, COUNT {{ MATCH (b:B) WHERE {c} }}"),
        format!("MATCH (a:A) RETURN a.i, size(COLLECT {{ MATCH (b:B) WHERE {c} RETURN b.i }})"),
    ] {
        assert_eq!(numbers(session, &text), counts, "{text}");
    }
    let text = format!("MATCH (a:A), (b:B), (d:A) WHERE {c} AND d.i % 5 = b.i % 5 RETURN a.i, b.i, d.i");
    let third = |(a, b): &(i64, i64)| {
        let (a, b) = (*a, *b);
        all.clone().filter(move |d| d % 5 == b % 5).map(move |d| vec![Some(a), Some(b), Some(d)])
    };
    let mut three: Vec<_> = pairs.iter().flat_map(third).collect();
    three.sort();
    assert_eq!(numbers(session, &text), three, "{text}");
}

#[test]
fn random_keys_join_like_the_filtered_product() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("SEED").unwrap_or_else(|| Chance::from_system().next_u64());
    println!("SEED={seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..number("ROUNDS").unwrap_or(ROUNDS as u64) {
        let mut session = session();
        let sizes = fill(&mut session, &mut chance);
        for _ in 0..CONDITIONS {
            let condition = condition(&mut chance);
            let pairs = product(&mut session, &condition);
            compare(&mut session, &condition, sizes, &pairs);
        }
    }
}

fn large() -> Session {
    let mut session = session();
    rows(
        &mut session,
        "UNWIND range(1, 20000) AS i CREATE (:A {x: i, name: 'N' + i}), (:B {y: i, key: 'n' + i})",
    );
    session
}

#[test]
fn twenty_thousand_by_twenty_thousand_is_no_product() {
    let mut session = large();
    let started = Instant::now();
    for (text, count) in [
        ("MATCH (a:A), (b:B) WHERE a.x + 1 = b.y * 2 RETURN count(*)", 10_000),
        ("MATCH (a:A), (b:B) WHERE toLower(a.name) = b.key RETURN count(*)", 20_000),
        ("MATCH (a:A) OPTIONAL MATCH (b:B) WHERE toLower(a.name) = b.key + '0' RETURN count(b)", 2_000),
        ("MATCH (a:A) WHERE EXISTS { MATCH (b:B) WHERE toLower(a.name) = b.key } RETURN count(*)", 20_000),
        ("MATCH (a:A) WHERE NOT EXISTS { (b:B) WHERE a.x + 1 = b.y * 2 } RETURN count(*)", 10_000),
        ("MATCH (a:A) WITH a.x + 1 AS k MATCH (b:B) WHERE b.y * 2 = k RETURN count(*)", 10_000),
        ("MATCH (a:A), (b:B), (c:A) WHERE a.x + 1 = b.y AND b.y + 1 = c.x RETURN count(*)", 19_998),
        ("MATCH (a:A) RETURN sum(COUNT { (b:B) WHERE a.x + 1 = b.y * 2 })", 10_000),
        ("UNWIND range(1, 20000) AS i MATCH (b:B) WHERE b.y - 1 = i RETURN count(*)", 19_999),
    ] {
        assert_eq!(numbers(&mut session, text), [[Some(count)]], "{text}");
    }
    // Each was 400 million comparisons, minutes even in an optimised build.
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}

#[test]
fn keys_that_are_all_alike_can_be_stopped() {
    let mut session = large();
    // Every key is equal in form and none by value: NaN, and lists with null.
    for key in ["0.0 / (V.x - V.x)", "[V.x - V.x, null]"] {
        let (left, right) = (key.replace('V', "a"), key.replace('V', "b").replace(".x", ".y"));
        let text = format!("MATCH (a:A), (b:B) WHERE {left} = {right} RETURN count(*)");
        let started = Instant::now();
        session.set_limits(Limits { timeout: Some(Duration::from_millis(300)), ..Limits::default() });
        let outcome = session.query(&text, Params::new()).and_then(|result| result.rows());
        assert!(started.elapsed() < Duration::from_secs(20), "{text}: {:?}", started.elapsed());
        if let Ok(rows) = outcome {
            assert_eq!(rows[0][0].as_int(), Some(0), "{text}");
        }
    }
}
