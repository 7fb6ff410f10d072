//! Counts of all vertices or edges, which are looked up, are those that a scan finds: on random graphs with loops and parallel edges, inside
//! transactions that write, while others commit, in the past and after a reopen.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use tanglewood_database::{Database, MEMORY, Mode, Options, Params, Session};
use world::chance::Chance;
use world::files::TemporaryFolder;

/// A question whose answer is looked up, and one whose answer is gone for.
fn questions() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for labels in ["", ":A", ":A:B", ":A|B", ":!A", ":A&!B", ":%", ":!%", ":Nowhere"] {
        for counted in ["*", "n", "DISTINCT n"] {
            all.push((
                format!("MATCH (n{labels}) RETURN count({counted}) AS c"),
                format!("MATCH (n{labels}) WITH n, 1 AS one ORDER BY id(n) RETURN count({counted}) AS c"),
            ));
        }
        for edge in ["-[r]->", "<-[r]-", "-[r:R]->", "<-[r:R|S|R]-", "-[r:Nowhere]->"] {
            for counted in ["*", "r", "DISTINCT r", "n"] {
                let twin = format!("WITH n, r, 1 AS one ORDER BY id(r) RETURN count({counted}) AS c");
                for pattern in [format!("(n{labels}){edge}()"), format!("(){edge}(n{labels})")] {
                    let asked = format!("MATCH {pattern} RETURN count({counted}) AS c");
                    all.push((asked, format!("MATCH {pattern} {twin}")));
                }
            }
        }
    }
    all
}

fn number(session: &mut Session, text: &str) -> i64 {
    session.query(text, Params::new()).unwrap().rows().unwrap()[0][0].as_int().unwrap()
}

/// Some of the questions, of the present or of a place of the past.
fn compare(session: &mut Session, chance: &mut Chance, of: &str) {
    let all = questions();
    for _ in 0..40 {
        let (asked, twin) = &all[chance.below(all.len() as u64) as usize];
        let (found, wanted) =
            (number(session, &format!("{of}{asked}")), number(session, &format!("{of}{twin}")));
        assert_eq!(found, wanted, "{of}{asked}");
    }
}

/// Some random change.
fn change(session: &mut Session, chance: &mut Chance) {
    let labels = ["", ":A", ":B", ":A:B", ":C"];
    let mut pick = |below: u64| chance.below(below);
    let node = format!("MATCH (n) WITH n ORDER BY id(n) SKIP {} LIMIT {}", pick(20), 1 + pick(4));
    let other = format!("MATCH (m) WITH n, m ORDER BY id(m) SKIP {} LIMIT {}", pick(20), 1 + pick(4));
    let text = match pick(7) {
        0 | 1 => {
            format!("UNWIND range(1, {}) AS i CREATE ({})", 1 + pick(9), labels[pick(5) as usize])
        }
        2 => format!("{node} {other} CREATE (n)-[:{}]->(m)", ["R", "S"][pick(2) as usize]),
        3 => format!("{node} CREATE (n)-[:R]->(n), (n)-[:R]->(n)"),
        4 => format!("{node} SET n:A REMOVE n:B"),
        5 => format!("{node} REMOVE n:A SET n:C"),
        _ if pick(2) == 0 => format!("{node} MATCH (n)-[r]-() DELETE r"),
        _ => format!("{node} DETACH DELETE n"),
    };
    session.query(&text, Params::new()).unwrap().rows().unwrap();
}

#[test]
fn what_is_looked_up_is_what_a_scan_finds() {
    for seed in 0..2_u64 {
        let mut chance = Chance::seeded(seed);
        println!("seed {seed}");
        let folder = TemporaryFolder::new("counts").unwrap();
        let at = folder.path().join("db");
        let open = || Database::open(&at, Options { executors: Some(2), ..Options::default() }).unwrap();
        let mut database = open();
        database.session().query("CREATE (:A)-[:R]->(:B)", Params::new()).unwrap().rows().unwrap();
        compare(&mut database.session(), &mut chance, "");
        for round in 0..4 {
            let mut session = database.session();
            for _ in 0..12 {
                change(&mut session, &mut chance);
            }
            compare(&mut session, &mut chance, "");
            session.begin(Mode::Write).unwrap();
            for _ in 0..4 {
                change(&mut session, &mut chance);
            }
            compare(&mut session, &mut chance, "");
            if round % 2 == 0 {
                session.commit().unwrap();
            } else {
                session.rollback().unwrap();
            }
            compare(&mut session, &mut chance, "");
            drop(session);
            if round == 2 {
                database.checkpoint().unwrap();
            }
            database.close().unwrap();
            database = open();
            compare(&mut database.session(), &mut chance, "");
        }
    }
}

/// Two transactions each count, and write where the count is even: one of them has to go again.
#[test]
fn a_count_is_a_read() {
    for (counted, made) in [
        ("MATCH (n:A) RETURN count(n)", "CREATE (:A)"),
        ("MATCH ()-[r:R]->() RETURN count(r)", "MATCH (a:Z), (b:Y) CREATE (a)-[:R]->(b)"),
        ("MATCH (:Z)-[r]->() RETURN count(r)", "MATCH (a:Z), (b:Y) CREATE (a)-[:R]->(b)"),
    ] {
        let database = Database::open(MEMORY, Options::default()).unwrap();
        database.session().query("CREATE (:Z), (:Y)", Params::new()).unwrap().rows().unwrap();
        let (mut one, mut two) = (database.session(), database.session());
        for session in [&mut one, &mut two] {
            session.begin(Mode::Write).unwrap();
            assert_eq!(number(session, counted), 0, "{counted}");
            session.query(made, Params::new()).unwrap().rows().unwrap();
            assert_eq!(number(session, counted), 1, "{counted}");
        }
        one.commit().unwrap();
        let refused = two.commit().err();
        assert!(refused.is_some_and(|error| error.retryable), "{counted}");
        assert_eq!(number(&mut database.session(), counted), 1, "{counted}");
    }
}
