//! A database four times as large as its memory budget: it answers as one without, reads and writes, and stays within the budget.
#![allow(clippy::disallowed_methods)]

use tanglewood_database::{Database, Options, Params};
use world::files::TemporaryFolder;

/// Labels, each with a chunk of its own.
const GROUPS: usize = 16;
const PER_GROUP: usize = 250;

fn ask(database: &Database, text: &str) -> String {
    format!("{:?}", database.session().query(text, Params::new()).unwrap().rows().unwrap())
}

fn fill(database: &Database) {
    for group in 0..GROUPS {
        let create = format!(
            "UNWIND range(0, {}) AS n CREATE (:Person:G{group} \
             {{id: {group} * {PER_GROUP} + n, name: 'person number ' + toString(n), age: n % 90}})",
            PER_GROUP - 1
        );
        ask(database, &create);
    }
    ask(database, "CREATE INDEX person_id FOR (p:Person) ON (p.id)");
    for step in [1, 7, 310, 2011] {
        let connect = format!(
            "MATCH (a:Person) MATCH (b:Person {{id: (a.id + {step}) % {}}}) CREATE (a)-[:KNOWS {{since: a.age}}]->(b)",
            GROUPS * PER_GROUP
        );
        ask(database, &connect);
    }
}

const QUESTIONS: &[&str] = &[
    "MATCH (p:Person) RETURN count(*), sum(p.age), min(p.name)",
    "MATCH (:Person)-[k:KNOWS]->(b) RETURN count(*), sum(k.since), sum(b.age)",
    "MATCH (a:Person)-[:KNOWS]->()-[:KNOWS]->(c) WHERE a.id % 97 = 0 RETURN count(*), sum(c.id)",
    "MATCH (a:Person {id: 5})-[:KNOWS*1..5]-(b) RETURN count(DISTINCT b), sum(b.age)",
    "MATCH p = shortestPath((a:Person {id: 5})-[:KNOWS*]->(b:Person {id: 3333})) RETURN length(p)",
    "MATCH (p:Person) WHERE p.id > 1000 AND p.id < 1400 RETURN p.id, p.name ORDER BY p.name, p.id LIMIT 50",
    "MATCH (p:G7) RETURN p.id, properties(p) ORDER BY p.id DESC LIMIT 20",
];

const WRITES: &[&str] = &[
    "MATCH (p:Person) WHERE p.id % 11 = 0 SET p.age = p.age + 1, p.seen = true",
    "MATCH (a:Person)-[k:KNOWS]->() WHERE a.id % 13 = 3 DELETE k",
    "MATCH (p:G3) WHERE p.id % 2 = 0 DETACH DELETE p",
    "MATCH (a:G4) MATCH (b:Person {id: a.id - 700}) CREATE (a)-[:KNOWS {since: 1}]->(b)",
];

#[test]
fn a_database_four_times_its_budget_answers() {
    let (folder, copy) = (TemporaryFolder::new("memory").unwrap(), TemporaryFolder::new("memory").unwrap());
    let roomy = Database::open(folder.path(), Options::default()).unwrap();
    fill(&roomy);
    roomy.checkpoint().unwrap();
    let bytes = roomy.memory().page_bytes;
    let backup = copy.path().join("backup");
    roomy.backup(&backup).unwrap();
    let path = copy.path().join("tight");
    tanglewood_database::restore(&backup, &path).unwrap();
    let budget = bytes / 4;
    let tight = Database::open(&path, Options { memory_bytes: Some(budget), ..Options::default() }).unwrap();
    assert_eq!(tight.memory().budget_bytes, Some(budget));
    let mut peak = 0;
    for round in 0..=WRITES.len() {
        for question in QUESTIONS {
            assert_eq!(ask(&tight, question), ask(&roomy, question), "round {round}: {question}");
            peak = peak.max(tight.memory().total_bytes());
        }
        if let Some(write) = WRITES.get(round) {
            assert_eq!(ask(&tight, write), ask(&roomy, write));
            tight.checkpoint().unwrap();
        }
    }
    let memory = tight.memory();
    println!("budget {budget}, peak {peak}, {memory:?}");
    assert!(memory.evictions > 50, "{memory:?}");
    // Executors load a page each before room is made for it.
    let page = bytes / GROUPS as u64;
    assert!(peak <= budget + page * 2 * tight.executors() as u64, "{peak} bytes of {budget}");
    tight.close().unwrap();
    let again = Database::open(&path, Options::default()).unwrap();
    for question in QUESTIONS {
        assert_eq!(ask(&again, question), ask(&roomy, question));
    }
}
