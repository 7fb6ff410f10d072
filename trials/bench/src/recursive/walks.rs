//! Questions that explode where walks are listed one by one: only ends, or nothing but an honest refusal, may be answered at once.

use super::ours::told;
use crate::report::Report;
use crate::timing::{shown_ms, timed};
use database::{Database, MEMORY, Options, Params, Session, Value};

/// All of these within this time.
const TIME_MS_MAX: f64 = 2_000.0;
/// Vertices of the mesh, in which everybody knows everybody, and of the long cycle.
const MESH: i64 = 50;
const CYCLE: i64 = 1_000_000;

fn asked(session: &mut Session, text: &str) -> Result<Value, String> {
    session.query(text, Params::new()).and_then(|result| result.single()).map_err(|error| told(&error))
}

/// Asks them all.
///
/// # Errors
/// A graph could not be made.
pub fn run(report: &mut Report) -> Result<(), String> {
    report.section("walks that explode where they are listed");
    let options = Options { query_bytes_max: 256 << 20, ..Options::default() };
    let database = Database::open(MEMORY, options).map_err(|error| told(&error))?;
    let mut session = database.session();
    let mesh = format!(
        "UNWIND range(1, {MESH}) AS i CREATE (:M {{id: i}}) WITH count(*) AS made \
         MATCH (a:M), (b:M) WHERE a.id <> b.id CREATE (a)-[:E]->(b) RETURN count(*)"
    );
    asked(&mut session, &mesh)?;
    let cycle = format!("UNWIND range(0, {}) AS i CREATE (:C {{id: i}}) RETURN count(*)", CYCLE - 1);
    asked(&mut session, &cycle)?;
    asked(&mut session, "CREATE INDEX cycle FOR (c:C) ON (c.id)").or_else(|_| asked(&mut session, "RETURN 1"))?;
    let joined = format!("MATCH (a:C) MATCH (b:C {{id: (a.id + 1) % {CYCLE}}}) CREATE (a)-[:NEXT]->(b) RETURN count(*)");
    asked(&mut session, &joined)?;
    let questions = [
        ("distinct ends in a mesh of 50", "MATCH (a:M {id: 1})-[:E*]->(b) RETURN count(DISTINCT b)", MESH),
        ("ends of all its vertices", "MATCH (a:M)-[:E*1..30]->(b) WITH DISTINCT a, b RETURN count(*)", MESH * MESH),
        ("a cycle of a million vertices", "MATCH (a:C {id: 7})-[:NEXT*]->(b) RETURN count(DISTINCT b)", CYCLE),
        ("existence in it", "MATCH (a:C {id: 7}) RETURN CASE WHEN EXISTS { (a)-[:NEXT*]->(:C {id: 6}) } THEN 1 ELSE 0 END", 1),
    ];
    for (name, text, right) in questions {
        let (answer, time_ms) = timed(|| asked(&mut session, text));
        let is_right = matches!(&answer, Ok(Value::Int(found)) if *found == right);
        let target = format!("{right} within {}", shown_ms(TIME_MS_MAX));
        report.figure(name, &shown_ms(time_ms), &target, is_right && time_ms < TIME_MS_MAX);
        if !is_right {
            report.note(format!("  {answer:?}"));
        }
    }
    Ok(())
}
