//! Questions that keep more rows than their memory holds: they put rows aside on disk, and answer what they answer with room for all.
//!
//! Random questions over random values, each asked twice. The seed is printed; `SEED=… cargo test -p tanglewood-database --test suite spill`
//! replays one, and `ROUNDS=…` makes more.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use database::{Database, Error, Limits, MEMORY, Options, Params, Session, Value};
use model::compare::total_order;
use tanglewood_database as database;
use world::chance::Chance;
use world::files::TemporaryFolder;

/// Nodes of the graph.
const NODES: usize = 30_000;
/// Memory of a question that has little: far from enough for all rows.
const LITTLE: u64 = 5 << 20;

fn numbered(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

fn rows(database: &Database, bytes_max: Option<u64>, text: &str) -> Result<Vec<Vec<Value>>, String> {
    let mut session = database.session();
    session.set_limits(Limits { timeout: None, bytes_max });
    drained(&mut session, text).map_err(|error| error.to_string())
}

fn drained(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>, Error> {
    let mut answer = session.query(text, Params::new())?;
    let mut rows = Vec::new();
    while let Some(batch) = answer.next_batch()? {
        rows.extend((0..batch.len()).map(|row| batch.row(row)));
    }
    Ok(rows)
}

/// Keys of few and of many values, numbers, texts, nulls, and of several types.
fn filled(options: Options) -> (TemporaryFolder, Database) {
    let folder = TemporaryFolder::new("spill").unwrap();
    let database = Database::open(folder.path(), options).unwrap();
    fill(&database);
    (folder, database)
}

fn fill(database: &Database) {
    let text = format!(
        "UNWIND range(0, {}) AS k \
         CREATE (:N {{k: k, few: k % 7, many: k * 7919 % 29989, s: 'a text that is rather long ' + toString(k * 31 % 19997), \
                     f: CASE k % 11 WHEN 0 THEN null ELSE k * 1.5 % 997 END, \
                     m: CASE k % 4 WHEN 0 THEN k % 100 WHEN 1 THEN toString(k % 300) WHEN 2 THEN k % 100 * 1.0 ELSE [k % 50, k % 3] END}})",
        NODES - 1
    );
    rows(database, None, &text).unwrap();
}

const COLUMNS: &[&str] = &["n.few", "n.many", "n.s", "n.f", "n.m", "n.many % 1000", "n.k"];

fn aliased(keys: &[&str]) -> String {
    let named = keys.iter().enumerate().map(|(at, key)| format!("{key} AS k{at}"));
    named.collect::<Vec<_>>().join(", ")
}

/// A question, and whether its rows come in one order only.
fn question(chance: &mut Chance) -> (String, bool) {
    let column = |chance: &mut Chance| COLUMNS[chance.index(COLUMNS.len())];
    let keys = (0..1 + chance.index(3)).map(|_| column(chance)).collect::<Vec<_>>();
    let directed = |chance: &mut Chance, keys: &[&str]| {
        let key = |key: &&str| format!("{key}{}", if chance.happens(0.4) { " DESC" } else { "" });
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    };
    match chance.below(5) {
        3 => (format!("MATCH (n:N) RETURN DISTINCT {}", aliased(&keys)), false),
        4 => {
            let (key, on) = (column(chance), ["s", "k", "f", "m"][chance.index(4)]);
            let text = format!(
                "MATCH (n:N), (o:N) WHERE n.{on} = o.{on} AND o.k % 9 < 4 AND n.k % 5 = 1 RETURN {key} AS key, o.s AS s, n.k AS k, o.k AS l"
            );
            (text, false)
        }
        0 => {
            let order = directed(chance, &keys);
            let extra = column(chance);
            (format!("MATCH (n:N) RETURN {extra} AS extra, n.k AS k, n.s AS s ORDER BY {order}, k"), true)
        }
        1 => {
            let calls = [
                "sum(n.k) AS a",
                "min(n.s) AS a",
                "avg(n.f) AS a",
                "stdev(n.k) AS a",
                "count(DISTINCT n.few) AS a",
            ];
            let call = calls[chance.index(calls.len())];
            let keys = aliased(&keys);
            (format!("MATCH (n:N) RETURN {keys}, count(*) AS c, max(n.f) AS b, {call}"), false)
        }
        _ => {
            let key = column(chance);
            let order = directed(chance, &["c", "key", "a"]);
            (
                format!(
                    "MATCH (n:N) WITH {key} AS key, count(*) AS c, sum(n.k) AS a RETURN * ORDER BY {order}"
                ),
                true,
            )
        }
    }
}

/// Rows whose order, and lists whose order is nobody's business, in one order.
fn settled(mut rows: Vec<Vec<Value>>, is_ordered: bool) -> Vec<String> {
    for value in rows.iter_mut().flatten() {
        if let Value::List(list) = value {
            let mut values = list.to_vec();
            values.sort_by(total_order);
            *value = Value::list(values);
        }
    }
    let mut shown: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    if !is_ordered {
        shown.sort();
    }
    shown
}

#[test]
fn answers_are_the_same_with_little_memory() {
    let seed = numbered("SEED", Chance::system_seed());
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let (_folder, database) = filled(Options { executors: Some(1 + chance.index(3)), ..Options::default() });
    let (mut spilled, mut refused) = (0, 0);
    let rounds = numbered("ROUNDS", 6);
    for round in 0..rounds {
        let (text, is_ordered) = question(&mut chance);
        let before = database.spilled_bytes();
        let few = match rows(&database, Some(LITTLE), &text) {
            Ok(few) => few,
            // A grouping and a sort behind it may want more at one moment than both left to others.
            Err(error) if error.contains("memory budget") => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("seed {seed}: {text}: {error}"),
        };
        spilled += u64::from(database.spilled_bytes() > before);
        let all = rows(&database, None, &text).unwrap();
        let (few, all) = (settled(few, is_ordered), settled(all, is_ordered));
        assert_eq!(few.len(), all.len(), "seed {seed} round {round}: {text}");
        for (row, (few, all)) in few.iter().zip(&all).enumerate() {
            assert_eq!(few, all, "seed {seed} round {round}: row {row} of {text}");
        }
    }
    assert!(refused * 10 <= rounds + 9, "seed {seed}: {refused} of {rounds} ended for memory");
    // Of a few questions none may have many rows.
    assert!(spilled > 0 || rounds < 20, "seed {seed}: no question put anything aside");
}

const SORT: &str = "MATCH (n:N) RETURN n.s AS s, n.k AS k ORDER BY s, k";

/// Long rows, long lists of groups that several executors share, and first rows that are too many to keep only those.
#[test]
fn long_rows_and_large_limits_find_room() {
    let (_folder, database) = filled(Options { executors: Some(3), ..Options::default() });
    for text in [
        "MATCH (n:N) WITH n.k AS k, n.s + n.s + n.s + n.s + n.s + n.s + n.s + n.s AS s ORDER BY s DESC, k RETURN count(*), sum(k)",
        "MATCH (n:N) RETURN n.k AS k, n.s AS s ORDER BY s, k DESC LIMIT 70000",
        "UNWIND range(1, 4) AS x MATCH (n:N) WITH n.k AS k, x, n.s AS s ORDER BY s, x, k LIMIT 100000 RETURN sum(k * x), max(s)",
        "MATCH (n:N) WITH n.s AS s, collect(n.k) AS ks RETURN sum(size(ks)), count(*), max(s)",
        "MATCH (n:N), (m:N {few: 3}) WHERE n.s = m.s AND m.k < 300 RETURN count(*), sum(n.k)",
        "MATCH (n:N {few: 3}), (m:N) WHERE n.s = m.s AND n.k < 300 RETURN count(*), sum(m.k)",
    ] {
        let few = rows(&database, Some(6 << 20), text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(settled(few, true), settled(rows(&database, None, text).unwrap(), true), "{text}");
    }
}

#[test]
fn nothing_is_left_behind() {
    let (folder, database) = filled(Options::default());
    let place = folder.path().join("spill");
    let files = || std::fs::read_dir(&place).map_or(0, |files| files.count());
    assert_eq!(rows(&database, Some(LITTLE), SORT).unwrap().len(), NODES);
    assert!(database.spilled_bytes() > 0);
    let gone = |what: &str| {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while files() > 0 {
            assert!(std::time::Instant::now() < until, "the files of a question that {what}");
            std::thread::yield_now();
        }
    };
    gone("is done");
    // One that is left in its middle.
    let mut session = database.session();
    session.set_limits(Limits { timeout: None, bytes_max: Some(LITTLE) });
    let mut answer = session.query(SORT, Params::new()).unwrap();
    assert!(answer.next_batch().unwrap().is_some());
    assert!(files() > 0, "a question at work has files");
    drop(answer);
    drop(session);
    gone("was left");
    // And what a killed process left.
    drop(database);
    std::fs::write(place.join("7.rows"), b"left").unwrap();
    let _database = Database::open(folder.path(), Options::default()).unwrap();
    assert_eq!(files(), 0);
}

#[test]
fn where_nothing_may_be_put_aside_the_memory_ends_a_question() {
    let (_folder, forbidden) = filled(Options { spill_bytes_max: 0, ..Options::default() });
    let error = rows(&forbidden, Some(LITTLE), SORT).unwrap_err();
    assert!(error.contains("memory"), "{error}");
    let memory = Database::open(MEMORY, Options::default()).unwrap();
    fill(&memory);
    let error = rows(&memory, Some(LITTLE), SORT).unwrap_err();
    assert!(error.contains("memory"), "{error}");
    let folder = TemporaryFolder::new("spill").unwrap();
    let spill_folder = Some(folder.path().join("rows"));
    std::fs::create_dir(folder.path().join("rows")).unwrap();
    let others = folder.path().join("rows/others.txt");
    std::fs::write(&others, b"not ours").unwrap();
    let elsewhere =
        Database::open(MEMORY, Options { spill_folder: spill_folder.clone(), ..Options::default() }).unwrap();
    fill(&elsewhere);
    assert_eq!(rows(&elsewhere, Some(LITTLE), SORT).unwrap().len(), NODES);
    assert!(elsewhere.spilled_bytes() > 0);
    assert!(others.exists(), "a file of somebody else");
    let second = Database::open(MEMORY, Options { spill_folder, ..Options::default() });
    assert!(second.is_err_and(|error| error.hint.is_some()), "two databases in one folder");
}

#[test]
fn a_tenant_puts_aside_what_it_may() {
    let (_folder, database) = filled(Options::default());
    rows(&database, None, "CREATE TENANT t SET SPILL '0B'").unwrap();
    let asked = |text: &str| {
        let mut session = database.session();
        session.set_tenant("t");
        session.set_limits(Limits { timeout: None, bytes_max: Some(LITTLE) });
        let answer = drained(&mut session, text);
        answer.map(|rows| rows.len()).map_err(|error| format!("{error} ({:?})", error.hint))
    };
    let error = asked(SORT).unwrap_err();
    assert!(error.contains("memory"), "{error}");
    rows(&database, None, "ALTER TENANT t SET SPILL '100KB'").unwrap();
    let error = asked(SORT).unwrap_err();
    assert!(error.contains("SPILL"), "{error}");
    rows(&database, None, "ALTER TENANT t SET SPILL NONE").unwrap();
    assert_eq!(asked(SORT).unwrap(), NODES);
    // What it puts aside is counted until the question ends, and no longer.
    rows(&database, None, "ALTER TENANT t SET SPILL '6MB'").unwrap();
    for _ in 0..4 {
        assert_eq!(asked(SORT).unwrap(), NODES);
    }
    let told = rows(&database, None, "SHOW TENANTS YIELD name, spill WHERE name = 't' RETURN spill").unwrap();
    assert_eq!(format!("{told:?}"), "[[Int(6000000)]]");
}
