//! Indexes over the properties of relationships: what they find is what a search through all relationships finds, whatever was written before.
#![allow(clippy::disallowed_methods)]

use tanglewood_database::{Database, MEMORY, Mode, Options, Params, Session, Value, params};

fn memory() -> Database {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap()
}

fn rows(session: &mut Session, text: &str, params: Params) -> Vec<String> {
    let result = session.query(text, params).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut rows: Vec<String> = result.rows().unwrap().iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

fn run(session: &mut Session, text: &str) {
    session
        .query(text, Params::new())
        .and_then(|result| result.finish())
        .unwrap_or_else(|error| panic!("{text}: {error}"));
}

fn plan(session: &mut Session, text: &str) -> String {
    let explained = session.query(&format!("EXPLAIN {text}"), Params::new()).unwrap();
    explained.summary().plan_text.clone().unwrap()
}

/// SplitMix64: small, seeded, replayable.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

const QUESTIONS: [&str; 14] = [
    "MATCH (a)-[r:PAID {sum: $x}]->(b) RETURN a.n, r.sum, b.n",
    "MATCH (a)<-[r:PAID {sum: $x}]-(b) RETURN a.n, r.sum, b.n",
    "MATCH (a)-[r:PAID {sum: $x}]-(b) RETURN a.n, r.sum, b.n",
    "MATCH ()-[r:PAID {sum: $x}]-() RETURN count(*)",
    "MATCH (a:Even)-[r:PAID]->(b:Odd) WHERE r.sum = $x RETURN a.n, b.n",
    "MATCH (a)-[r:PAID]->() WHERE r.sum > $x AND r.sum <= $y RETURN a.n, r.sum",
    "MATCH (a)-[r:PAID]->() WHERE $x > r.sum RETURN a.n, r.sum",
    "MATCH (a)-[r:PAID]->(b) WHERE r.sum IN [$x, $y, $x, null] RETURN a.n, b.n",
    "MATCH (a)-[r:PAID]->(b) WHERE r.word STARTS WITH 'w1' RETURN a.n, r.word",
    "MATCH (a)-[r:PAID {sum: $x}]->(b)-[s:PAID]->(c) RETURN a.n, b.n, c.n, s.sum",
    "MATCH (a)-[r:PAID {sum: $x}]-(b)-[s]-(c) RETURN a.n, b.n, c.n, s.sum",
    "UNWIND [$x, $y] AS z MATCH (a)-[r:PAID {sum: z}]->(b) RETURN z, a.n, b.n",
    "MATCH (m:Even) WHERE m.n < 4 OPTIONAL MATCH (a)-[r:PAID {sum: $x}]->(b) WHERE a.n > m.n RETURN m.n, a.n, b.n",
    "MATCH (a)-[r:PAID {sum: $x, word: 'w1'}]->(b) RETURN a.n, b.n",
];

/// The twin is the same database without the index.
#[test]
fn what_an_index_finds_is_what_a_search_finds() {
    for seed in 1..4 {
        println!("seed {seed}");
        let mut chance = Chance(seed);
        let (indexed, plain) = (memory(), memory());
        let mut sessions = [indexed.session(), plain.session()];
        let write =
            |sessions: &mut [Session; 2], text: &str| sessions.iter_mut().for_each(|one| run(one, text));
        write(
            &mut sessions,
            "UNWIND range(0, 39) AS n FOREACH (_ IN CASE n % 2 WHEN 0 THEN [1] ELSE [] END | CREATE (:Even {n: n})) FOREACH (_ IN CASE n % 2 WHEN 1 THEN [1] ELSE [] END | CREATE (:Odd {n: n}))",
        );
        for round in 0..6 {
            for _ in 0..40 {
                let (a, b, sum) = (chance.below(40), chance.below(40), chance.below(9));
                let value = ["null".to_string(), format!("{sum}.0"), format!("'t{sum}'"), sum.to_string()]
                    [chance.below(8).min(3) as usize]
                    .clone();
                let text = match chance.below(8) {
                    0 => format!("MATCH (a {{n: {a}}})-[r:PAID]->() WITH r LIMIT 1 SET r.sum = {value}"),
                    1 => format!("MATCH (a {{n: {a}}})-[r:PAID]->() WITH r LIMIT 1 DELETE r"),
                    2 => format!(
                        "MATCH (a {{n: {a}}}), (b {{n: {b}}}) CREATE (a)-[:OWES {{sum: {value}}}]->(b)"
                    ),
                    _ => format!(
                        "MATCH (a {{n: {a}}}), (b {{n: {b}}}) CREATE (a)-[:PAID {{sum: {value}, word: 'w{}'}}]->(b)",
                        chance.below(20)
                    ),
                };
                write(&mut sessions, &text);
            }
            if round == 1 {
                run(&mut sessions[0], "CREATE INDEX sums FOR ()-[r:PAID]-() ON (r.sum)");
                run(&mut sessions[0], "CREATE INDEX words FOR ()-[r:PAID]-() ON (r.word)");
                run(&mut sessions[0], "CREATE INDEX FOR ()-[r:PAID]-() ON (r.sum, r.word)");
            }
            for text in QUESTIONS {
                let (x, y) = (chance.below(9) as i64, chance.below(9) as i64);
                let params = || params! { "x" => x, "y" => y };
                let [found, twin] = [0, 1].map(|which| rows(&mut sessions[which], text, params()));
                assert_eq!(found, twin, "seed {seed}, round {round}, x {x}, y {y}: {text}");
            }
        }
        let [indexed, plain] = &mut sessions;
        let used = QUESTIONS.iter().filter(|text| plan(indexed, text).contains("SeekEdges")).count();
        assert!(used >= 10, "only {used} questions use an index");
        assert!(!plan(plain, QUESTIONS[0]).contains("SeekEdges"));
        let listed =
            rows(indexed, "SHOW INDEXES YIELD name, entityType, labelsOrTypes, properties", Params::new());
        assert!(listed.len() == 3 && listed.iter().all(|row| row.contains("RELATIONSHIP")), "{listed:?}");
        run(indexed, "DROP INDEX sums");
        assert!(!plan(indexed, QUESTIONS[0]).contains("SeekEdges"));
    }
}

#[test]
fn a_transaction_finds_its_own_and_conflicts_with_what_it_searched() {
    let database = memory();
    let (mut a, mut b) = (database.session(), database.session());
    run(&mut a, "CREATE INDEX FOR ()-[r:PAID]-() ON (r.sum)");
    run(&mut a, "CREATE (:P)-[:PAID {sum: 1}]->(:P)");
    let question = "MATCH ()-[r:PAID {sum: $x}]->() RETURN r.sum";
    a.begin(Mode::Write).unwrap();
    run(&mut a, "CREATE (:P)-[:PAID {sum: 2}]->(:P)");
    assert_eq!(rows(&mut a, question, params! { "x" => 2 }).len(), 1);
    assert_eq!(rows(&mut b, question, params! { "x" => 2 }).len(), 0, "nobody else sees it");
    assert_eq!(rows(&mut a, question, params! { "x" => 3 }).len(), 0);
    run(&mut b, "CREATE (:P)-[:PAID {sum: 4}]->(:P)");
    assert!(a.commit().is_ok(), "four is none of its business");
    a.begin(Mode::Write).unwrap();
    assert_eq!(rows(&mut a, question, params! { "x" => 5 }).len(), 0);
    run(&mut a, "CREATE (:P {none: true})");
    run(&mut b, "MATCH ()-[r:PAID {sum: 4}]->() SET r.sum = 5");
    let refused = a.commit().unwrap_err();
    assert!(refused.retryable, "a phantom: {refused}");
}

#[test]
fn constraints_of_relationships_hold() {
    let folder = world::files::TemporaryFolder::new("edge-index").unwrap();
    let path = folder.path().join("db");
    let refuse = |session: &mut Session, text: &str| {
        let outcome = session.query(text, Params::new()).and_then(|result| result.finish());
        outcome.map(|_| ()).unwrap_err().to_string()
    };
    {
        let database = Database::open(&path, Options::default()).unwrap();
        let mut session = database.session();
        run(
            &mut session,
            "CREATE (a:P), (b:P), (a)-[:R {w: 1}]->(b), (b)-[:R {w: 1}]->(a), (a)-[:R {w: 2}]->(b), (a)-[:R]->(b)",
        );
        let told = refuse(&mut session, "CREATE CONSTRAINT u FOR ()-[r:R]-() REQUIRE r.w IS UNIQUE");
        assert!(
            told.contains("`u`") && told.contains("relationships") && told.contains("same values"),
            "{told}"
        );
        run(&mut session, "MATCH (a)-[r:R {w: 1}]->(b) WITH r LIMIT 1 SET r.w = 7");
        run(&mut session, "CREATE CONSTRAINT u FOR ()-[r:R]-() REQUIRE r.w IS UNIQUE");
        let told = refuse(
            &mut session,
            "CREATE CONSTRAINT k FOR ()-[r:R]-() REQUIRE (r.w, r.v) IS RELATIONSHIP KEY",
        );
        assert!(told.contains("must have the property"), "{told}");
        let listed = rows(&mut session, "SHOW CONSTRAINTS YIELD name, type", Params::new());
        assert!(listed[0].contains("RELATIONSHIP_UNIQUENESS"), "{listed:?}");
        let told = refuse(&mut session, "MATCH (a)-[r:R {w: 7}]->(b) CREATE (a)-[:R {w: 2}]->(b)");
        assert!(told.contains("`u`") && told.contains("relationship"), "{told}");
        database.checkpoint().unwrap();
        run(&mut session, "MATCH (a)-[r:R {w: 7}]->(b) CREATE (a)-[:R {w: 3}]->(b)");
    }
    let database = Database::open(&path, Options::default()).unwrap();
    let mut session = database.session();
    for w in [2, 3, 7] {
        let text = "MATCH ()-[r:R {w: $w}]->() RETURN r.w";
        assert!(plan(&mut session, "MATCH ()-[r:R {w: 7}]->() RETURN r.w").contains("SeekEdges"));
        assert_eq!(rows(&mut session, text, params! { "w" => w }).len(), 1, "after a restart");
        refuse(&mut session, &format!("MATCH (a:P) WITH a LIMIT 1 CREATE (a)-[:R {{w: {w}}}]->(a)"));
    }
    // Two who make the same value at once: one of them is refused.
    let mut other = database.session();
    for one in [&mut session, &mut other] {
        one.begin(Mode::Write).unwrap();
        run(one, "MATCH (a:P) WITH a LIMIT 1 CREATE (a)-[:R {w: 9}]->(a)");
    }
    assert!(session.commit().is_ok());
    assert!(other.commit().is_err());
    run(&mut session, "DROP CONSTRAINT u");
    run(&mut session, "MATCH (a:P) WITH a LIMIT 1 CREATE (a)-[:R {w: 9}]->(a)");
    let values: Value = 2.into();
    let found = rows(&mut session, "MATCH ()-[r:R {w: 9}]->() RETURN count(*)", Params::new());
    assert_eq!(found, [format!("{:?}", vec![values])]);
}
