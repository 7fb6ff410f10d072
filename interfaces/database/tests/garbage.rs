//! Old versions that only a reader needed are freed soon after that reader, in a database without writers.

use std::path::PathBuf;
use std::time::Duration;
use tanglewood_database::{Database, Options, Params, Session};
use world::files::{TemporaryFolder, list_folder};

fn ask(session: &mut Session, text: &str) {
    session.query(text, Params::new()).unwrap().finish().unwrap();
}

#[test]
fn files_go_within_a_second_of_their_last_reader() {
    let place = TemporaryFolder::new("garbage").unwrap();
    let database = Database::open(place.path().join("db"), Options::default()).unwrap();
    let files = || -> Vec<PathBuf> { list_folder(&place.path().join("db/data")).unwrap() };
    let mut session = database.session();
    ask(&mut session, "UNWIND range(1, 2000) AS number CREATE (:N {number: number, text: 'first'})");
    database.checkpoint().unwrap();
    let (reader, first) = (database.snapshot(), files());
    for text in ["second", "third"] {
        ask(&mut session, &format!("MATCH (n:N) SET n.text = '{text}'"));
        database.checkpoint().unwrap();
    }
    assert!(first.iter().all(|file| files().contains(file)), "the reader may still ask for it");
    drop(reader);
    for _ in 0..100 {
        if first.iter().all(|file| !files().contains(file)) {
            return;
        }
        world::threads::sleep(Duration::from_millis(10));
    }
    panic!("{first:?} are still among {:?}", files());
}
