//! Queries that wait for chunks of shards do not hold the executor that they run on.

use super::{cluster, end, rows, share};
use database::{Database, Mode, Session, params};
use parking_lot::Mutex;
use protocol::Sequence;
use std::sync::atomic::{AtomicBool, Ordering};
use world::clock::monotonic_ns;

/// Too long for a client's thread, and of nothing that a shard has.
const LONG: &str = "UNWIND range(1, 60000) AS n WITH n WHERE n % 7 = 3 RETURN count(n)";
const SCAN: &str = "READ NO OLDER THAN 2 s MATCH (a:A) RETURN count(a), sum(a.i)";

fn asked(database: &Database, text: &str) -> Result<String, String> {
    let rows = database.session().query(text, params! {}).and_then(|answer| answer.rows());
    rows.map(|rows| format!("{rows:?}")).map_err(|error| error.code.to_string())
}

/// A gate has one executor here. A query that waited for a lost shard kept it, and all others with it: at once where an expansion, an expression or a group
/// touched the chunk first, after three seconds where a scan did, for as long as it waited where a condition, a path, a sub-query or a write did.
#[test]
fn who_waits_for_a_lost_shard_does_not_hold_the_executor() {
    let mut cluster = cluster();
    let [reader, writer] = &cluster.gates.clone()[..] else { panic!() };
    for at in 0..6 {
        rows(writer, "UNWIND range(1, 1000) AS i CREATE (:A {i: i})", params! {});
        assert_eq!(
            asked(writer, "MATCH (a:A) RETURN count(a)"),
            Ok(format!("[[Int({})]]", (at + 1) * 1_000))
        );
    }
    let owned = |shard: u16| {
        let routes = cluster.truth.clone().routes().unwrap();
        let chunks = routes.into_iter().filter(move |route| route.owner == shard);
        chunks.map(|route| route.chunk).collect::<Vec<u32>>()
    };
    let (lost, other) = (owned(LOST), owned(OTHER));
    // An edge from a vertex of a shard that stays, which nobody else has, to one of the shard that is lost; and one the other way.
    let of = |chunks: &[u32]| {
        let is_there = |id: &u64| chunks.contains(&((id >> 12) as u32));
        let ids = writer.session().query("MATCH (a:A) RETURN id(a)", params! {}).unwrap().rows().unwrap();
        let id = |row: &Vec<database::Value>| row[0].as_int().unwrap() as u64;
        ids.iter().map(id).find(is_there).unwrap() as i64
    };
    let (from, to) = (of(&other), of(&lost));
    let link = "MATCH (f:A), (t:A) WHERE id(f) = $from AND id(t) = $to SET f:From CREATE (f)-[:TO]->(t), (t)-[:BACK]->(f)";
    rows(writer, link, params! { "from" => from, "to" => to });
    let texts: [&str; 14] = [
        "MATCH (a:A) RETURN count(a), sum(a.i)",
        "MATCH (f:From)-[:TO]->(t) RETURN t.i",
        "MATCH (f:From)-[:TO]->(t) RETURN t.i % 3, count(*)",
        "MATCH (f:From)-[:TO]->(t) WITH t ORDER BY t.i RETURN id(t)",
        "MATCH (f:From)-[:TO]->(t)-[:BACK]->(x) RETURN id(x)",
        // What no operator asks for ahead.
        "MATCH (f:From)-[:TO]->(t) WHERE f.i > 0 AND t.i > 0 RETURN f.i",
        "MATCH (f:From)-[:TO]->(t) WHERE f.i < 0 OR t.i > 0 RETURN f.i",
        "MATCH (f:From)-[:TO]->(t) RETURN CASE WHEN f.i > 0 THEN t.i END",
        "MATCH (f:From)-[:TO]->(t) WHERE NOT t:From RETURN f.i",
        "MATCH (f:From) WHERE EXISTS { (f)-[:TO]->(t) WHERE t.i > 0 } RETURN f.i",
        "MATCH (f:From) RETURN [(f)-[:TO]->(t) | t.i]",
        "MATCH p = (f:From)-[:TO|BACK*2..2]->(x) RETURN length(p)",
        "MATCH (f:From) ((a)-[:TO]->(b)-[:BACK]->(c) WHERE b.i > 0){1,2} (x) RETURN count(*)",
        "MATCH (f:From)-[:TO]->(t) SET t.seen = true RETURN id(t)",
    ];
    // Their graphs are of now, and they have no chunk of them: later no query could begin.
    let mode = |text: &str| if text.contains(" SET ") { Mode::Write } else { Mode::Read };
    let [waiting, asking] = [(); 2].map(|()| texts.map(|text| open(reader, mode(text))));
    cluster.small.shards[usize::from(LOST)] = None;
    for ((at, text), sessions) in texts.into_iter().enumerate().zip(waiting.into_iter().zip(asking)) {
        let waits = std::time::Duration::from_millis(if at == 0 { 4_000 } else { 300 });
        beside_one_that_waits(reader, sessions, text, waits);
    }
    let address = cluster.small.addresses.shards[usize::from(LOST)].clone();
    let truth = Box::new(cluster.truth.clone());
    cluster.small.start_shard_of(LOST, end(&address), truth, share(&cluster.disk, LOST));
    assert_eq!(
        asked(reader, "MATCH (a:A) RETURN count(a), sum(a.i)"),
        Ok("[[Int(6000), Int(3003000)]]".to_string())
    );
    for text in &texts[1..] {
        assert!(asked(reader, text).is_ok_and(|rows| rows != "[]"), "{text}");
    }
}

const LOST: u16 = 1;
const OTHER: u16 = 0;

/// A session with an open transaction.
fn open(database: &Database, mode: Mode) -> Mutex<Session> {
    let mut session = database.session();
    session.begin(mode).unwrap();
    session.query("RETURN 1", params! {}).unwrap();
    Mutex::new(session)
}

/// Asks for this, which needs a lost shard, and when it has waited for so long for something else; that is served, and the first one is ended.
fn beside_one_that_waits(
    reader: &Database,
    (waiting, asking): (Mutex<Session>, Mutex<Session>),
    text: &str,
    waits: std::time::Duration,
) {
    let is_over = AtomicBool::new(false);
    let ask = |session: &Mutex<Session>, text: &str| {
        let rows = session.lock().query(text, params! {}).and_then(|answer| answer.rows());
        rows.map(|rows| format!("{rows:?}")).map_err(|error| error.code.to_string())
    };
    let outcomes = world::threads::in_parallel("client", 2, |client| {
        if client == 0 {
            let outcome = ask(&waiting, text);
            is_over.store(true, Ordering::SeqCst);
            return outcome;
        }
        while !reader.running().iter().any(|query| query.text == text && query.running) {
            assert!(!is_over.load(Ordering::SeqCst), "it needs the lost shard: {text}");
            world::threads::sleep(std::time::Duration::from_millis(2));
        }
        world::threads::sleep(waits);
        assert!(!is_over.load(Ordering::SeqCst), "it needs the lost shard: {text}");
        let began_ns = monotonic_ns();
        let outcome = ask(&asking, LONG);
        println!("beside {text}: {} us", (monotonic_ns() - began_ns) / 1_000);
        assert!(!is_over.load(Ordering::SeqCst), "{text} had ended before this one was served");
        let own = reader.running().into_iter().filter(|query| query.text == text);
        own.for_each(|query| drop(reader.kill(&query.id, "enough")));
        outcome
    });
    assert_eq!(outcomes[1], Ok("[[Int(8572)]]".to_string()));
    assert!(outcomes[0].is_err(), "{:?}", outcomes[0]);
}

/// A figure: how long others wait beside readers of what the gate has no memory for.
#[test]
#[ignore = "a figure: it asserts answers alone"]
fn questions_beside_readers_of_remote_chunks() {
    const READERS: usize = 6;
    const QUESTIONS: usize = 40;
    let cluster = cluster();
    // The last one has hardly any memory.
    let [writer, gate] = &cluster.gates[..] else { panic!() };
    for _ in 0..6 {
        rows(writer, "UNWIND range(1, 2000) AS i CREATE (:A {i: i})", params! {});
    }
    let stop = AtomicBool::new(false);
    let figure = |name: &str, readers: usize| {
        stop.store(false, Ordering::SeqCst);
        let all = world::threads::in_parallel("client", readers + 1, |client| {
            let (mut times, mut scans) = (Vec::new(), 0);
            while client > 0 && !stop.load(Ordering::SeqCst) {
                assert_eq!(asked(gate, SCAN), Ok("[[Int(12000), Int(12006000)]]".to_string()));
                scans += 1;
            }
            if client == 0 {
                for _ in 0..QUESTIONS {
                    let began_ns = monotonic_ns();
                    assert_eq!(
                        asked(gate, &format!("READ NO OLDER THAN 2 s {LONG}")),
                        Ok("[[Int(8572)]]".to_string())
                    );
                    times.push((monotonic_ns() - began_ns) / 1_000);
                }
                stop.store(true, Ordering::SeqCst);
                times.sort_unstable();
            }
            (times, scans)
        });
        let times = &all[0].0;
        let scans: usize = all.iter().map(|(_, scans)| scans).sum();
        let (half, most) = (times[QUESTIONS / 2], times[QUESTIONS * 9 / 10]);
        println!("{name}: p50 {half} us, p90 {most} us; {scans} scans, {} loads", gate.memory().loads);
    };
    figure("alone", 0);
    figure("beside readers", READERS);
}
