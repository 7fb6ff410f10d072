//! Extreme values: every function, operator, procedure, step of Gremlin and builtin of Datalog is given numbers at their edges, NaN,
//! infinities, empty and huge things, dates at their edges, nulls and wrong types. Each answers or refuses with a reason; none panics
//! (the build checks overflows), takes long, or takes much.
//!
//! `TANGLEWOOD_EXTREMES_SEED` replays the choices, `TANGLEWOOD_EXTREMES_ROUNDS` makes more of them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, Limits, MEMORY, Options, Params, Session, Value};
use world::chance::Chance;

/// Values of Cypher, as expressions.
const VALUES: [&str; 62] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "2",
    "64",
    "1000000",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "0.0",
    "-0.0",
    "0.5",
    "1e308",
    "-1e308",
    "5e-324",
    "9.3e18",
    "(0.0/0.0)",
    "(1.0/0.0)",
    "(-1.0/0.0)",
    "''",
    "' '",
    "'a'",
    "'aß\\u0000😀'",
    "'9223372036854775808'",
    "'-1e999'",
    "'NaN'",
    "'2024-02-29'",
    "'P1Y'",
    "'yyyy-MM-dd'",
    "'+999999999-12-31'",
    "reduce(s = 'ab', i IN range(1, 16) | s + s)",
    "[]",
    "[null]",
    "[1, 'a', null, 2.5]",
    "[1, 2, 3]",
    "['a', 'b']",
    "[[], [1]]",
    "range(1, 10000)",
    "{}",
    "{a: 1}",
    "{year: 999999999, month: 12, day: 31}",
    "{year: -999999999}",
    "{year: 2024, month: 13}",
    "{x: 1.0, y: 2.0}",
    "{latitude: 91.0, longitude: 181.0}",
    "{days: 9223372036854775807}",
    "{months: -9223372036854775807, seconds: 9223372036854775807}",
    "{epochSeconds: 9223372036854775807}",
    "{epochMillis: -9223372036854775807}",
    "date('0000-01-01')",
    "date({year: 9999, month: 12, day: 31})",
    "datetime('2024-03-31T02:30:00[Europe/Berlin]')",
    "localdatetime('9999-12-31T23:59:59.999999999')",
    "time('23:59:59.999999999+18:00')",
    "localtime('00:00')",
    "duration({months: 9223372036854775807})",
    "duration({days: -9223372036854775807, seconds: -9223372036854775807})",
    "duration('P1Y2M3DT4H5M6.7S')",
    "point({x: 1e308, y: -1e308, z: 0.0})",
];

const OPERATORS: [&str; 22] = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "AND",
    "OR",
    "XOR",
    "IN",
    "STARTS WITH",
    "ENDS WITH",
    "CONTAINS",
    "=~",
    "||",
    "IS NOT NULL =",
];

/// Properties of values, some of which they have.
const PROPERTIES: [&str; 12] = [
    "a",
    "year",
    "week",
    "epochMillis",
    "offset",
    "months",
    "nanoseconds",
    "x",
    "z",
    "crs",
    "quarterOfYear",
    "``",
];

/// Time for one: an unoptimised build on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(10);
const BYTES_MAX: u64 = 64 << 20;
/// Bytes of an error.
const ERROR_BYTES_MAX: usize = 4_096;

fn chance() -> Chance {
    let given = std::env::var("TANGLEWOOD_EXTREMES_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(Chance::system_seed);
    println!("TANGLEWOOD_EXTREMES_SEED={seed}");
    Chance::seeded(seed)
}

fn rounds() -> u64 {
    std::env::var("TANGLEWOOD_EXTREMES_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn database() -> Database {
    let options = Options { executors: Some(2), query_bytes_max: BYTES_MAX, ..Options::default() };
    let database = Database::open(MEMORY, options).unwrap();
    let made = "UNWIND range(1, 5) AS x CREATE (:A {x: x, t: 'a'})-[:R {x: x}]->(:B {x: -x, l: [x]})";
    database.session().query(made, Params::new()).unwrap().finish().unwrap();
    database
}

fn pick<'a, T: ?Sized>(chance: &mut Chance, among: &[&'a T]) -> &'a T {
    among[chance.below(among.len() as u64) as usize]
}

/// What is wrong with an outcome, if anything is.
fn fault(text: &str, began: Instant, outcome: Result<usize, String>) -> Option<String> {
    let why = match outcome {
        Err(error) if error.contains("internal error") => error,
        Err(error) if error.len() > ERROR_BYTES_MAX => format!("an error of {} bytes", error.len()),
        Err(error) if error.trim().is_empty() => "an error without a word".into(),
        _ if began.elapsed() > TIME_MAX => format!("{:?}", began.elapsed()),
        _ => return None,
    };
    Some(format!("{text}: {why}"))
}

fn ask(session: &mut Session, text: &str, params: Params) -> Option<String> {
    let (began, limits) =
        (Instant::now(), Limits { timeout: Some(Duration::from_secs(3)), bytes_max: Some(BYTES_MAX) });
    let outcome = session.query_within(text, params, &limits).and_then(|found| Ok(found.rows()?.len()));
    fault(text, began, outcome.map_err(|error| error.to_string()))
}

#[track_caller]
fn assert_none(faults: &[String]) {
    let shown: Vec<&String> = faults.iter().take(40).collect();
    assert!(faults.is_empty(), "{} faults:\n{shown:#?}", faults.len());
}

fn column(session: &mut Session, text: &str) -> Vec<String> {
    let rows = session.query(text, Params::new()).unwrap().rows().unwrap();
    rows.iter().map(|row| row[0].as_str().unwrap().to_string()).collect()
}

/// The values themselves, as parameters: an operator that is given one is not computed ahead.
fn parameters(session: &mut Session) -> Params {
    let mut params = Params::new();
    for (number, value) in VALUES.iter().enumerate() {
        let found =
            session.query(&format!("RETURN {value} AS v"), Params::new()).and_then(|found| found.single());
        params.insert(format!("p{number}").as_str().into(), found.unwrap_or(Value::Null));
    }
    params
}

/// A value, written out or as a parameter.
fn value(chance: &mut Chance) -> String {
    let number = chance.below(VALUES.len() as u64) as usize;
    if chance.below(2) == 0 { VALUES[number].to_string() } else { format!("$p{number}") }
}

#[test]
fn operators_and_properties_of_extreme_values() {
    let (database, mut chance) = (database(), chance());
    let mut session = database.session();
    let params = parameters(&mut session);
    let mut faults = Vec::new();
    for operator in OPERATORS {
        for _ in 0..80 * rounds() {
            let (a, b) = (value(&mut chance), value(&mut chance));
            faults.extend(ask(&mut session, &format!("RETURN {a} {operator} {b} AS r"), params.clone()));
        }
    }
    for _ in 0..300 * rounds() {
        let (a, b, c) = (value(&mut chance), value(&mut chance), value(&mut chance));
        let property = pick(&mut chance, &PROPERTIES);
        for text in [
            format!("RETURN ({a}).{property} AS r"),
            format!("RETURN ({a})[{b}] AS r"),
            format!("RETURN ({a})[{b}..{c}] AS r"),
            format!("RETURN -({a}) AS r, NOT ({b}) AS s"),
            format!("UNWIND [{a}, {b}, {c}] AS x RETURN DISTINCT x ORDER BY x"),
            format!("RETURN CASE {a} WHEN {b} THEN {c} WHEN < {c} THEN 1 END AS r"),
            format!("MATCH (n:A) WHERE n.x = {a} OR n.x > {b} RETURN n SKIP 0 LIMIT 3"),
            format!("UNWIND range(1, 3) AS x RETURN x SKIP {a} LIMIT {b}"),
            format!("MATCH (n:A {{x: 1}}) SET n.v = {a} REMOVE n.v RETURN {b} IS :: INTEGER"),
            format!("RETURN reduce(s = {a}, x IN {b} | s + x) AS r"),
            format!("RETURN [x IN {a} WHERE x > {b} | x * {c}] AS r"),
            format!("FOREACH (x IN {a} | CREATE (:None {{v: {b}}}) ) "),
        ] {
            faults.extend(ask(&mut session, &text, params.clone()));
        }
    }
    assert_none(&faults);
}

#[test]
fn functions_and_procedures_of_extreme_values() {
    let (database, mut chance) = (database(), chance());
    let mut session = database.session();
    let params = parameters(&mut session);
    let functions = column(&mut session, "SHOW FUNCTIONS YIELD name RETURN name");
    let procedures = column(&mut session, "SHOW PROCEDURES YIELD name RETURN name");
    assert!(functions.len() > 80 && procedures.len() > 5, "{} {}", functions.len(), procedures.len());
    let mut faults = Vec::new();
    for name in &functions {
        for count in 0..=4 {
            let times = if count == 0 { 1 } else { 12 * rounds() };
            for _ in 0..times {
                let given: Vec<String> = (0..count).map(|_| value(&mut chance)).collect();
                faults.extend(ask(
                    &mut session,
                    &format!("RETURN {name}({}) AS r", given.join(", ")),
                    params.clone(),
                ));
                let over = value(&mut chance);
                let text =
                    format!("UNWIND [{over}, {over}, 1, null] AS x RETURN {name}({}) AS r", given.join(", "));
                faults.extend(ask(&mut session, &text.replacen("$p1", "x", 1), params.clone()));
            }
        }
    }
    for name in procedures.iter().filter(|name| !name.contains("backup")) {
        for count in 0..=5 {
            for _ in 0..4 * rounds() {
                let given: Vec<String> = (0..count).map(|_| value(&mut chance)).collect();
                faults.extend(ask(
                    &mut session,
                    &format!("CALL {name}({})", given.join(", ")),
                    params.clone(),
                ));
            }
        }
    }
    assert_none(&faults);
}

/// Arguments of steps, as gremlin-lang writes them.
const ARGUMENTS: [&str; 36] = [
    "0",
    "1",
    "-1",
    "2147483647",
    "-2147483648",
    "9223372036854775807l",
    "-9223372036854775808l",
    "127b",
    "32767s",
    "NaN",
    "Infinity",
    "-Infinity",
    "0.0d",
    "1e308d",
    "3.4e38f",
    "99999999999999999999999999999999999999n",
    "1e-30m",
    "null",
    "true",
    "''",
    "'x'",
    "'😀'",
    "'a', 'b'",
    "[]",
    "[1, null, 'a']",
    "[:]",
    "['x': 1]",
    "{1, 2}",
    "__.out()",
    "__.identity()",
    "P.gt(0)",
    "P.within([])",
    "T.id",
    "Order.desc",
    "Scope.local",
    "datetime('9999-12-31T23:59:59Z')",
];

/// Steps that take arguments of many kinds.
const STEPS: [&str; 78] = [
    "V",
    "E",
    "out",
    "in",
    "both",
    "outE",
    "inE",
    "bothE",
    "has",
    "hasLabel",
    "hasId",
    "hasNot",
    "is",
    "values",
    "properties",
    "valueMap",
    "elementMap",
    "id",
    "label",
    "constant",
    "count",
    "sum",
    "min",
    "max",
    "mean",
    "fold",
    "unfold",
    "limit",
    "skip",
    "range",
    "tail",
    "sample",
    "coin",
    "dedup",
    "order",
    "group",
    "groupCount",
    "project",
    "select",
    "path",
    "simplePath",
    "cyclicPath",
    "tree",
    "times",
    "repeat",
    "emit",
    "until",
    "union",
    "coalesce",
    "choose",
    "optional",
    "local",
    "not",
    "and",
    "or",
    "where",
    "match",
    "math",
    "inject",
    "property",
    "addV",
    "addE",
    "mergeV",
    "store",
    "aggregate",
    "cap",
    "barrier",
    "index",
    "concat",
    "substring",
    "split",
    "replace",
    "asString",
    "asNumber",
    "asDate",
    "dateAdd",
    "dateDiff",
    "combine",
];

#[test]
fn steps_with_extreme_arguments() {
    let (mut database, mut chance) = (database(), chance());
    let mut faults = Vec::new();
    for step in STEPS {
        for round in 0..40 * rounds() {
            let mut argument = || pick(&mut chance, &ARGUMENTS);
            let given = match round % 4 {
                0 => argument().to_string(),
                1 => String::new(),
                2 => format!("{}, {}", argument(), argument()),
                _ => format!("{}, {}, {}", argument(), argument(), argument()),
            };
            let (seed, begin) = (argument(), argument());
            for text in [
                format!("g.inject({seed}).{step}({given}).limit(9)"),
                format!("g.V().limit(3).{step}({given}).limit(9)"),
                format!("g.inject([{begin}, {seed}]).{step}({given}).by(__.values('x')).limit(9)"),
            ] {
                let began = Instant::now();
                let options =
                    GremlinOptions { timeout: Some(Duration::from_secs(3)), machine_only: round % 8 > 3 };
                let outcome =
                    database.session().gremlin_text(&text, &Params::new(), &options).and_then(|mut found| {
                        while found.next_objects()?.is_some() {}
                        Ok(0)
                    });
                faults.extend(fault(&text, began, outcome.map_err(|error| error.to_string())));
            }
            if database.snapshot().commit_version() > 200 {
                database = self::database();
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn rules_over_extreme_values() {
    let (database, mut chance) = (database(), chance());
    let mut session = database.session();
    let values = [
        "0",
        "1",
        "-1",
        "9223372036854775807",
        "-9223372036854775807",
        "9223372036854775808",
        "0.0",
        "1e308",
        "5e-324",
        "''",
        "'a'",
        "'9'",
        "true",
        "null",
        "$a",
        "$b",
        "x",
        "y",
    ];
    let operators = ["+", "-", "*", "/", "%", "<", "<=", "=", "!=", ">", ">="];
    let aggregates = ["sum", "min", "max", "count", "avg"];
    let params = |chance: &mut Chance, known: &Params| -> Params {
        let mut any =
            || known.values().nth(chance.below(known.len() as u64) as usize).cloned().unwrap_or_default();
        Params::from([("a".into(), any()), ("b".into(), any())])
    };
    let known = parameters(&mut session);
    let mut faults = Vec::new();
    for _ in 0..800 * rounds() {
        let mut any = || pick(&mut chance, &values);
        let (a, b, c) = (any(), any(), any());
        let (one, other) = (pick(&mut chance, &operators), pick(&mut chance, &operators));
        let aggregate = pick(&mut chance, &aggregates);
        let given = params(&mut chance, &known);
        for text in [
            format!("DATALOG {{ p(z) :- A.x(v, x), B.x(w, y), z = {a} {one} {b}, {c} {other} x. ?- p(z). }}"),
            format!("DATALOG {{ p({a}). p({b}). q({aggregate}(z)) :- p(z). ?- q(z). }}"),
            format!("DATALOG {{ p(x, {aggregate}(y)) :- A.x(x, y). ?- p(x, {c}). }}"),
            format!("DATALOG {{ n({a}). n(z) :- n(x), z = x {one} {b}, z < 100. ?- n(z). }}"),
        ] {
            faults.extend(ask(&mut session, &text, given.clone()));
        }
    }
    assert_none(&faults);
}
