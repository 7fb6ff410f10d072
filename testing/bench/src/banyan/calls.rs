//! How long one operator call keeps its executor: the delay that a kill, a deadline or a small query of another client may wait for.

use super::Graph;
use super::isolation::{ENDLESS, ENDLESS_WRITE};
use super::load::run_rows;
use crate::report::Report;
use crate::timing::shown_ms;
use database::{Database, params};
use std::collections::BTreeMap;
use std::time::Duration;
use world::clock::{monotonic_ns, span_ns};
use world::threads::{sleep, spawn};

/// Work without end, or nearly, of each kind of operator.
const WORK: [(&str, &str); 10] = [
    ("a cross product", ENDLESS),
    ("writes", ENDLESS_WRITE),
    ("a sort", "UNWIND range(1, 100000000) AS x RETURN x * 7919 % 1000003 AS y ORDER BY y, x"),
    ("groups", "UNWIND range(1, 100000000) AS x WITH x % 1000003 AS k, count(*) AS n RETURN sum(n) AS n"),
    ("a list", "UNWIND range(1, 100000000) AS x WITH collect(x) AS xs RETURN size(xs) AS n"),
    ("distinct rows", "UNWIND range(1, 100000000) AS x WITH DISTINCT x * 31 AS y RETURN count(y) AS n"),
    (
        "a hash join",
        "MATCH (a:Person), (b:Person), (c:Person) WHERE a.firstName = b.firstName AND b.gender = c.gender RETURN count(a.lastName + c.lastName) AS n",
    ),
    ("paths", "MATCH p = (a:Person)-[:KNOWS*1..7]-(b:Person) RETURN count(p) AS n"),
    (
        "shortest paths",
        "MATCH (a:Person), (b:Person) MATCH p = shortestPath((a)-[:KNOWS*]-(b)) RETURN sum(length(p)) AS n",
    ),
    (
        "sub-queries",
        "MATCH (a:Person), (b:Person) WHERE EXISTS { MATCH (a)-[:KNOWS*1..3]-(c)-[:KNOWS]-(b) WHERE c.id = 0 } RETURN count(*) AS n",
    ),
];
/// How long each is watched.
const WATCHED: Duration = Duration::from_millis(700);
/// No call may take so long.
const CALL_MS_MAX: f64 = 5.0;

/// The longest call of each operator while a query runs, in milliseconds; then it is killed.
fn watched(database: &Database, text: &str) -> BTreeMap<String, f64> {
    let (own, statement) = (database.clone(), text.to_string());
    let client = spawn("watched", move || {
        let mut session = own.session();
        session.set_tenant("watched");
        // Killed, or at the end of its memory: that is no news.
        let _ = run_rows(&mut session, &statement, params! {});
    });
    let (begin_ns, mut longest) = (monotonic_ns(), BTreeMap::new());
    loop {
        sleep(Duration::from_millis(5));
        let is_over = monotonic_ns() - begin_ns > span_ns(WATCHED);
        for query in database.running().into_iter().filter(|query| query.tenant == "watched") {
            for operator in database.progress(&query.id) {
                let most = longest.entry(operator.name).or_insert(0.0_f64);
                *most = most.max(operator.longest_us as f64 / 1e3);
            }
            if is_over {
                // It may just have ended by itself.
                let _ = database.kill(&query.id, "it was watched long enough");
            }
        }
        if client.is_finished() {
            return longest;
        }
    }
}

/// Each kind of work, alone.
pub(crate) fn run(graph: &Graph, report: &mut Report) {
    for (name, text) in WORK {
        let longest = watched(&graph.database, text);
        let Some((operator, most)) = longest.iter().max_by(|a, b| a.1.total_cmp(b.1)) else {
            report.skipped(&format!("longest call, {name}"), "it was over before it was seen");
            continue;
        };
        report.figure(
            &format!("longest call, {name}"),
            &format!("{}, {operator}", shown_ms(*most)),
            &format!("under {CALL_MS_MAX} ms"),
            *most < CALL_MS_MAX,
        );
    }
}
