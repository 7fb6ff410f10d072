//! `CALL program.NAME(…) CACHED`, beside the same calls that are never cached: at each snapshot, beside other sessions, within rights and limits.

use tanglewood_database::{Database, History, MEMORY, Mode, Options, Params, Session, Value, params};
use world::chance::Chance;
use world::files::TemporaryFolder;
use world::threads::in_parallel;

const VERTICES: u64 = 24;

fn run(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    let rows = session.query(text, params! {}).and_then(|result| result.rows());
    rows.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Rows as texts, in order.
fn sorted(session: &mut Session, text: &str) -> Vec<String> {
    let mut rows: Vec<String> = run(session, text).iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// Entries, hits, misses, invalidations, evictions and bypasses of a program.
fn counts(session: &mut Session, program: &str) -> [i64; 6] {
    let text = format!(
        "SHOW CACHES YIELD * WHERE program = '{program}' RETURN entries, hits, misses, invalidations, evictions, bypasses"
    );
    let rows = run(session, &text);
    let figure = |at: usize| rows.first().map_or(0, |row| row[at].as_int().unwrap());
    std::array::from_fn(figure)
}

const FILL: [&str; 4] = [
    "CREATE INDEX FOR (v:V) ON (v.id)",
    "UNWIND range(0, 23) AS id CREATE (v:V {id: id, k: id % 3}) FOREACH (x IN CASE WHEN id % 2 = 0 THEN [1] ELSE [] END | SET v:A)",
    "UNWIND range(0, 23) AS id UNWIND [1, 5, 7] AS far MATCH (a:V {id: id}), (b:V {id: (id * far + 1) % 24}) \
     CREATE (a)-[:R {k: id % 2, w: far}]->(b)",
    "MATCH (a:V {id: 0}), (b:V {id: 3}) CREATE (a)-[:S {k: 0, w: 1}]->(b)",
];

/// Calls with `CACHED` left open; each reads something else.
const CALLS: [&str; 12] = [
    "MATCH (s:V {id: 1}) CALL program.reach(s, {types: 'R', depth: 2}) # YIELD node, value RETURN node, value",
    "MATCH (s:V {id: 2}) CALL program.reach(s, {direction: 'in', depth: 1}) # YIELD node, value RETURN node, value",
    "MATCH (s:V {id: 3}) CALL program.reach(s, {depth: 3, label: 'A'}) # YIELD node, value RETURN node, value",
    "MATCH (s:V {id: 4}) CALL program.reach(s, {depth: 3, node: {k: 1}}) # YIELD node, value RETURN node, value",
    "MATCH (s:V {id: 5}) CALL program.reach(s, {depth: 3, edge: {k: 1}}) # YIELD node, value RETURN node, value",
    "MATCH (s:V {id: 6}) CALL program.shortestDistance(s, {weight: 'w', types: 'R', depth: 3}) # YIELD node, value RETURN node, value",
    "MATCH (s:V {id: 7}) CALL program.clusteringCoefficient(s) # YIELD node, value RETURN node, value",
    "CALL program.countEdges(null, {label: 'A'}) # YIELD node, value RETURN node, value",
    "CALL program.countEdges() # YIELD node, value RETURN node, value",
    "MATCH (s:V {id: 8}) CALL program.blockRender(s, {depth: 1}) # YIELD node, value RETURN node, value",
    "CALL program.labelPropagation(null, {iterations: 2}) # YIELD node, value RETURN node, value",
    "MATCH (s:V) WHERE s.id < 3 CALL program.countEdges(s, {types: ['R', 'S'], edge: {k: 0}}) # YIELD node, value RETURN node, value",
];

/// Something is written: edges come and go, of one type to the last, and so do labels, properties and vertices.
fn random_write(chance: &mut Chance) -> String {
    let (a, b) = (chance.below(VERTICES), chance.below(VERTICES));
    let kind = ["R", "R", "S"][chance.index(3)];
    match chance.below(12) {
        0..3 => format!(
            "MATCH (a:V {{id: {a}}}), (b:V {{id: {b}}}) CREATE (a)-[:{kind} {{k: {}, w: {}}}]->(b)",
            chance.below(2),
            1 + chance.below(9)
        ),
        3..5 => format!("MATCH (:V {{id: {a}}})-[r]->() WITH r LIMIT 1 DELETE r"),
        5 => "MATCH ()-[r:S]->() DELETE r".into(),
        6 => format!("MATCH (a:V {{id: {a}}}) SET a.k = {}", chance.below(3)),
        7 => format!("MATCH (a:V {{id: {a}}}) SET a:A"),
        8 => format!("MATCH (a:V {{id: {a}}}) REMOVE a:A"),
        9 => format!("MATCH (:V {{id: {a}}})-[r]->() WITH r LIMIT 1 SET r.k = {}", chance.below(2)),
        10 => format!("CREATE (:V:A {{id: {}}})", 100 + chance.below(4)),
        _ => "MATCH (v:V) WHERE v.id >= 100 DETACH DELETE v".into(),
    }
}

/// The same call, cached and not, in one snapshot.
fn is_the_same(session: &mut Session, call: &str, what: &str) {
    let (cached, plain) = (call.replace('#', "CACHED"), call.replace('#', ""));
    assert_eq!(sorted(session, &cached), sorted(session, &plain), "{what}: {call}");
}

fn open(place: Option<&TemporaryFolder>, executors: usize) -> Database {
    let options = Options { executors: Some(executors), ..Options::default() };
    let options = Options { history: place.map(|_| History::Forever), ..options };
    match place {
        Some(folder) => Database::open(folder.path(), options).unwrap(),
        None => Database::open(MEMORY, options).unwrap(),
    }
}

fn filled(place: Option<&TemporaryFolder>, executors: usize) -> Database {
    let database = open(place, executors);
    let mut session = database.session();
    FILL.iter().for_each(|text| drop(run(&mut session, text)));
    database
}

/// A session that writes and asks at random, in transactions or not; how often it asked about a moment of the past.
fn goes_on(database: &Database, seed: u64, rounds: usize, has_past: bool) -> usize {
    let (mut chance, mut session) = (Chance::seeded(seed), database.session());
    let (mut versions, mut past) = (Vec::new(), 0);
    for round in 0..rounds {
        let (call, what) = (CALLS[chance.index(CALLS.len())], format!("seed {seed}, round {round}"));
        match chance.below(6) {
            0..2 => {
                let written = session.query(&random_write(&mut chance), params! {});
                versions
                    .extend(written.and_then(|result| result.finish()).ok().map(|end| end.commit_version));
            }
            2 => {
                session.begin(Mode::Write).unwrap();
                is_the_same(&mut session, call, &what);
                drop(session.query(&random_write(&mut chance), params! {}).and_then(|result| result.rows()));
                is_the_same(&mut session, call, &what);
                let end = if chance.below(2) == 0 { session.commit().map(drop) } else { session.rollback() };
                // Others may have written what it read.
                drop(end);
            }
            3 if has_past && !versions.is_empty() => {
                let call = format!("AS OF {} {call}", versions[chance.index(versions.len())]);
                is_the_same(&mut session, &call, &what);
                past += 1;
            }
            _ => {
                session.begin(Mode::Read).unwrap();
                (0..3).for_each(|_| is_the_same(&mut session, call, &what));
                session.rollback().unwrap();
            }
        }
    }
    past
}

#[test]
fn cached_answers_are_those_of_calls_that_are_never_cached() {
    for (seed, executors) in [(1, 1), (2, 3)] {
        for on_disk in [false, true] {
            let folder = on_disk.then(|| TemporaryFolder::new("cached").unwrap());
            let database = filled(folder.as_ref(), executors);
            let past = goes_on(&database, seed, 400, on_disk);
            assert!(!on_disk || past > 20, "{past}");
            let mut session = database.session();
            let [_, hits, misses, invalidations, ..] = counts(&mut session, "reach");
            assert!(hits > 30 && misses > 30 && invalidations > 5, "{hits} {misses} {invalidations}");
        }
    }
}

#[test]
fn beside_each_other_sessions_get_what_their_snapshots_say() {
    for seed in 0..2 {
        let database = filled(None, 2);
        in_parallel("asker", 4, |number| goes_on(&database, 10 * seed + number as u64, 120, false));
        let mut session = database.session();
        CALLS.iter().for_each(|call| is_the_same(&mut session, call, "at the end"));
    }
}

#[test]
fn only_what_a_result_depends_on_ends_it() {
    let database = filled(None, 2);
    let mut session = database.session();
    let call = CALLS[0].replace('#', "CACHED");
    let ask = |session: &mut Session, wanted: [i64; 4]| {
        let answer = sorted(session, &call);
        assert_eq!(counts(session, "reach")[..4], wanted);
        answer
    };
    let first = ask(&mut session, [1, 0, 1, 0]);
    assert_eq!(ask(&mut session, [1, 1, 1, 0]), first);
    // Not read: properties, labels, edges of another type, and edges far away.
    for text in [
        "MATCH (v:V) SET v.k = 9",
        "MATCH (v:V {id: 1}) SET v:A",
        "MATCH (a:V {id: 1}), (b:V {id: 20}) CREATE (b)-[:R]->(a)",
        "CREATE (:V {id: 200})",
    ] {
        run(&mut session, text);
    }
    assert_eq!(ask(&mut session, [1, 2, 1, 0]), first);
    run(&mut session, "MATCH (a:V {id: 1}), (b:V {id: 200}) CREATE (a)-[:R]->(b)");
    let second = ask(&mut session, [1, 2, 2, 1]);
    assert_eq!(second.len(), first.len() + 1);
    // A call that is another: a whole number is no float, and a start no list of it.
    let (whole, float) = ("{x: 2}", "{x: 2.0}");
    for parameters in [whole, float, whole, float] {
        let text = format!(
            "MATCH (s:V {{id: 1}}) CALL program.reach(s, {{depth: 1, node: {parameters}}}) CACHED YIELD node RETURN node"
        );
        run(&mut session, &text);
    }
    assert_eq!(counts(&mut session, "reach")[..3], [3, 4, 4]);
    let profiled = session.query(&format!("PROFILE {call}"), params! {}).unwrap();
    let plan = profiled.finish().unwrap().plan_text.unwrap();
    assert!(plan.contains("from the cache"), "{plan}");
    let refused = session.query("CALL graph.wcc({}) CACHED YIELD node RETURN node", params! {}).map(drop);
    assert!(refused.unwrap_err().message.contains("no node program"));
}

#[test]
fn a_transaction_that_was_answered_from_the_cache_is_validated_by_what_the_program_read() {
    let database = filled(None, 2);
    let (mut one, mut other) = (database.session(), database.session());
    let call = CALLS[0].replace('#', "CACHED");
    run(&mut one, &call);
    for (write, is_refused) in [
        ("MATCH (a:V {id: 1})-[r:R]->() WITH r LIMIT 1 DELETE r", true),
        ("MATCH (a:V {id: 9})-[r:R]->() WITH r LIMIT 1 SET r.k = 5", false),
    ] {
        run(&mut other, &call);
        one.begin(Mode::Write).unwrap();
        let hits = counts(&mut other, "reach")[1];
        run(&mut one, &call);
        assert_eq!(counts(&mut other, "reach")[1], hits + 1);
        run(&mut other, write);
        run(&mut one, "MATCH (a:V {id: 20}) SET a.k = 2");
        assert_eq!(one.commit().is_err(), is_refused, "{write}");
    }
    // What nobody committed is not answered from the cache, nor kept there.
    one.begin(Mode::Write).unwrap();
    run(&mut one, "MATCH (a:V {id: 1}) SET a.k = 2");
    let before = counts(&mut other, "reach");
    run(&mut one, &call);
    let after = counts(&mut other, "reach");
    assert_eq!((after[1], after[2], after[5]), (before[1], before[2], before[5] + 1));
    one.rollback().unwrap();
}

#[test]
fn traversals_use_the_same_results() {
    let database = filled(None, 2);
    let mut session = database.session();
    let ask = |cached: &str| {
        let mut session = database.session();
        let text = format!(
            "g.V().has('V', 'id', 1).call('program.reach').with('types', 'R').with('depth', 2){cached}.select('value').order()"
        );
        super::programs::objects(&mut session, &text).unwrap()
    };
    let plain = ask("");
    assert_eq!(ask(".with('~cached', true)"), plain);
    assert_eq!(ask(".with('~cached', true)"), plain);
    assert_eq!(ask(".with('~cached', false)"), plain);
    assert_eq!(counts(&mut session, "reach")[..3], [1, 1, 1]);
    run(&mut session, &CALLS[0].replace('#', "CACHED"));
    assert_eq!(counts(&mut session, "reach")[..3], [1, 2, 1], "Cypher asks the same");
}

#[test]
fn who_is_shown_less_neither_gets_nor_stores_a_result() {
    let database = filled(None, 2);
    let mut session = database.session();
    for text in [
        "CREATE USER eve SET PASSWORD 'secret-secret'",
        "CREATE ROLE some",
        "GRANT ROLE some TO eve",
        "GRANT MATCH {*} ON GRAPH * TO some",
        // One that the start leads to; relationships of the type are left.
        "MATCH (v:V {id: 2}) SET v:Hidden",
        "DENY TRAVERSE ON GRAPH * NODES Hidden TO some",
        "GRANT EXECUTE PROCEDURE * ON DBMS TO some",
    ] {
        run(&mut session, text);
    }
    let call = CALLS[0].replace('#', "CACHED");
    let all = sorted(&mut session, &call);
    let mut eve = database.session();
    eve.log_on(database.users().log_on("eve", "secret-secret").unwrap().unwrap());
    let shown = sorted(&mut eve, &call);
    assert!(shown.len() < all.len());
    assert_eq!(sorted(&mut eve, &CALLS[0].replace('#', "")), shown);
    assert_eq!(sorted(&mut session, &call), all);
    assert_eq!(counts(&mut session, "reach"), [1, 1, 1, 0, 0, 1]);
    let refused = eve.query("SHOW CACHES", params! {}).and_then(|result| result.rows());
    assert!(refused.unwrap_err().code.contains("Forbidden"));
}

#[test]
fn results_are_charged_to_a_tenant_and_what_was_used_longest_ago_goes() {
    let database = filled(None, 2);
    let mut session = database.session();
    run(
        &mut session,
        "UNWIND range(0, 39) AS i CREATE (:Big {i: i, text: reduce(s = 'x', n IN range(1, 21) | s + s) + i})",
    );
    let mut render = |i: usize| {
        let text = format!(
            "MATCH (b:Big {{i: {i}}}) CALL program.blockRender(b) CACHED YIELD value RETURN size(value.properties.text)"
        );
        run(&mut session, &text);
    };
    // A result has some 2 MiB: 31 have room.
    (0..40).for_each(&mut render);
    (0..3).for_each(&mut render);
    let [entries, hits, misses, _, evictions, _] = counts(&mut session, "blockRender");
    assert_eq!((hits, misses), (0, 43));
    assert!((28..=32).contains(&entries) && evictions == misses - entries, "{entries} {evictions}");
    let bytes = run(&mut session, "SHOW CACHES YIELD bytes RETURN sum(bytes)")[0][0].as_int().unwrap();
    assert!((50 << 20..=64 << 20).contains(&bytes), "{bytes}");
    // One that is too large is not kept.
    run(&mut session, "CREATE (:Big {i: 99, text: reduce(s = 'x', n IN range(1, 22) | s + s)})");
    run(
        &mut session,
        "MATCH (b:Big {i: 99}) CALL program.blockRender(b) CACHED YIELD value RETURN size(value.properties.text)",
    );
    assert_eq!(counts(&mut session, "blockRender")[0], entries);
    // A call that is too large neither.
    let before = counts(&mut session, "reach");
    let text =
        "MATCH (s:V {id: 1}) CALL program.reach(s, {node: {k: $long}}) CACHED YIELD node RETURN count(*)";
    run(&mut session, &CALLS[0].replace('#', "CACHED"));
    for (bytes, is_kept) in [(65_000, true), (66_000, false)] {
        let long = Params::from([("long".into(), Value::from("x".repeat(bytes).as_str()))]);
        session.query(text, long).unwrap().rows().unwrap();
        assert_eq!(counts(&mut session, "reach")[5] == before[5], is_kept, "{bytes}");
    }
}

#[test]
fn a_tenant_without_room_is_answered_and_keeps_nothing() {
    let database = filled(None, 2);
    let mut session = database.session();
    run(&mut session, "UNWIND range(1, 3000) AS i CREATE (:W {i: i})");
    run(&mut session, "CREATE TENANT small SET MEMORY '2MB'");
    let mut small = database.session();
    small.set_tenant("small");
    // Each result has some 400 kB, most of it for what it depends on.
    for key in 0..12 {
        let all = format!(
            "CALL program.countEdges(null, {{label: 'W', edge: {{x: {key}}}}}) CACHED YIELD value RETURN count(*)"
        );
        assert_eq!(run(&mut small, &all)[0][0].as_int(), Some(3_000));
    }
    let [entries, hits, misses, ..] = counts(&mut session, "countEdges");
    assert!((1..=4).contains(&entries) && (hits, misses) == (0, 12), "{entries} {hits} {misses}");
    // Another one has room.
    run(&mut session, "CALL program.countEdges(null, {label: 'W'}) CACHED YIELD value RETURN count(*)");
    assert_eq!(counts(&mut session, "countEdges")[0], entries + 1);
}

#[test]
fn a_restart_forgets_results_and_answers_the_same() {
    let folder = TemporaryFolder::new("cached-restart").unwrap();
    let database = filled(Some(&folder), 2);
    let call = CALLS[0].replace('#', "CACHED");
    let before = sorted(&mut database.session(), &call);
    drop(database);
    let database = open(Some(&folder), 2);
    let mut session = database.session();
    assert!(run(&mut session, "SHOW CACHES").is_empty());
    assert_eq!(sorted(&mut session, &call), before);
    assert_eq!(counts(&mut session, "reach")[..3], [1, 0, 1]);
}
