//! A reader's copy of an answer, kept by the rows of a SUBSCRIBE alone; and the commits and queries of the test.

use std::collections::BTreeMap;
use std::time::Duration;
use tanglewood_database::{Database, Params, QueryResult, Session, Value, params};
use world::chance::Chance;

pub type Rows = BTreeMap<String, isize>;

/// `$x` is 3.
pub const SHAPES: &[&str] = &[
    "MATCH (a:P) RETURN a.x AS x",
    "MATCH (a:P)-[r:R]->(b) RETURN id(a) AS a, id(r) AS r, b.x AS x",
    "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN id(a) AS a, id(b) AS b, id(c) AS c",
    "MATCH (a:P) RETURN count(*) AS n, sum(a.x) AS s, min(a.x) AS lo, avg(a.x * 0.1) AS m",
    "MATCH (a:P)-[:R]->(b) WITH a.x AS x, b.x AS y ORDER BY y WITH x, collect(y) AS c, count(DISTINCT y) AS d RETURN x, c, d",
    "MATCH (a:P) OPTIONAL MATCH (a)-[:R]->(b:Q) RETURN id(a) AS a, id(b) AS b, b.x AS x",
    "MATCH (a:P) WHERE NOT EXISTS { MATCH (a)-[:R]->(b) WHERE b.x > 3 } RETURN id(a) AS a",
    "MATCH (a)-[:R]->(b) RETURN DISTINCT b.x AS x",
    "MATCH (a) WHERE a.x IS NOT NULL RETURN id(a) AS a, a.x AS x ORDER BY x DESC, a LIMIT 3",
    "MATCH (a:P {x: 4})-[:R*]->(b) RETURN DISTINCT id(a) AS a, id(b) AS b",
    "MATCH (a:Z)-[:NEVER]->(b) RETURN count(*) AS n",
    "MATCH (a:P) WHERE a.x > $x RETURN id(a) AS a, a.x AS x",
    "MATCH (a:P {x: $x})-[:R]->(b) WITH b.x AS y ORDER BY y RETURN count(*) AS n, collect(y) AS c",
    "DATALOG { tc(a, b) :- R(a, b). tc(a, c) :- tc(a, b), R(b, c). ?- tc(a, b). }",
    "DATALOG { from(b) :- P.x(a, $x), R(a, b). from(c) :- from(b), R(b, c). ?- from(b). }",
    "RETURN 1 AS one",
];

fn shown(row: &[Value]) -> String {
    row.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(" | ")
}

/// The answer now.
pub fn asked(session: &mut Session, text: &str) -> Rows {
    let result = session.query(text, params! { "x" => 3 }).and_then(|result| result.rows());
    let mut rows = Rows::new();
    for row in result.unwrap_or_else(|error| panic!("{text}: {error}")) {
        *rows.entry(shown(&row)).or_insert(0) += 1;
    }
    rows
}

/// What a reader keeps: rows are taken up when the mark behind them has come.
#[derive(Clone, Debug, Default)]
pub struct Copy {
    pub rows: Rows,
    pub mark: Option<String>,
    pub commit_version: u64,
}

impl Copy {
    /// Takes up changes that a mark stands behind.
    pub fn take(&mut self, pending: &mut Vec<(String, isize)>, commit_version: u64, mark: &str) {
        for (row, difference) in pending.drain(..) {
            let count = self.rows.entry(row).or_insert(0);
            *count += difference;
        }
        self.rows.retain(|_, count| *count != 0);
        assert!(self.rows.values().all(|count| *count > 0), "a row went that never came: {:?}", self.rows);
        assert!(self.mark.is_none() || self.commit_version <= commit_version, "versions only rise");
        (self.commit_version, self.mark) = (commit_version, Some(mark.to_string()));
    }
    /// Reads the rows that come next, so many at most: what is left of that. `at_mark` sees the copy at each mark, and its time.
    pub fn read(
        &mut self,
        told: &mut QueryResult,
        mut rows_left: usize,
        at_mark: &mut dyn FnMut(&Copy, Option<i64>),
    ) -> usize {
        let batch = told
            .next_batch_timeout(Duration::from_secs(30))
            .unwrap()
            .expect("it does not end")
            .expect("in time");
        let mut pending = Vec::new();
        for at in 0..batch.len() {
            if rows_left == 0 {
                return 0;
            }
            rows_left -= 1;
            let row = batch.row(at);
            let commit_version = row[0].as_int().unwrap() as u64;
            match row[3].as_str() {
                None => pending.push((shown(&row[4..]), row[2].as_int().unwrap() as isize)),
                Some(mark) => {
                    self.take(&mut pending, commit_version, mark);
                    at_mark(self, row[1].as_int());
                }
            }
        }
        assert!(pending.is_empty(), "a commit ends with its mark");
        rows_left
    }
}

pub fn random_commit(database: &Database, chance: &mut Chance) {
    let mut pick = |bound: u64| chance.below(bound);
    let (x, w, n) = (pick(6), pick(5), pick(40));
    let label = ["P", "Q", "P:Q"][pick(3) as usize];
    let text = match pick(10) {
        0 => format!("UNWIND range(1, 4) AS i CREATE (:{label} {{x: i + {x}}})"),
        1 => format!("CREATE (:P {{x: {x}}})-[:R {{w: {w}}}]->(:{label} {{x: {w}}})"),
        2..=4 => format!(
            "MATCH (a), (b) WITH a, b ORDER BY (id(a) * 31 + id(b) * 17 + {n}) % 101 LIMIT 2 CREATE (a)-[:R {{w: {w}}}]->(b)"
        ),
        5 => format!("MATCH ()-[r]->() WITH r ORDER BY (id(r) * 7 + {n}) % 53 LIMIT 1 DELETE r"),
        6 => format!("MATCH (a) WITH a ORDER BY (id(a) * 13 + {n}) % 37 LIMIT 1 DETACH DELETE a"),
        7 => format!("MATCH (a) WITH a ORDER BY (id(a) * 11 + {n}) % 41 LIMIT 3 SET a.x = {x}"),
        8 => format!("MATCH (a) WITH a ORDER BY (id(a) * 3 + {n}) % 43 LIMIT 1 REMOVE a:P SET a:Q"),
        _ => "CREATE (:Other)".to_string(),
    };
    let result = database.session().query(&text, Params::new()).and_then(|result| result.finish());
    result.unwrap_or_else(|error| panic!("{text}: {error}"));
}
