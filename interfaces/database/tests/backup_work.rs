//! CALL dbms.backup as work like any other: listed, ended by KILL, a timeout, its tenant and its client; what was ended leaves nothing behind.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::{Database, Limits, Options, Params, params};
use world::files::TemporaryFolder;

const TEXT: &str = "CALL dbms.backup('copy')";

#[test]
fn it_is_listed_and_ended_and_leaves_nothing_behind() {
    let folder = TemporaryFolder::new("backup-work").unwrap();
    let below = folder.path().join("backups");
    std::fs::create_dir(&below).unwrap();
    let options = Options { executors: Some(2), backup_folder: Some(below.clone()), ..Options::default() };
    let database = Database::open(folder.path().join("db"), options).unwrap();
    let ask = |text: &str| drop(database.session().query(text, Params::new()).unwrap().rows().unwrap());
    ask(
        "UNWIND range(1, 60000) AS i CREATE (:V {i: i, text: 'some text that is long enough to take a while ' + i})",
    );
    ask("CREATE INDEX FOR (v:V) ON (v.text)");
    ask("CREATE TENANT t SET TIME '1ms'");
    database.checkpoint().unwrap();
    let nothing_is_left = || {
        assert!(database.running().is_empty());
        assert!(!below.join("copy").exists(), "a part of the copy was left");
    };
    let is_whole = || {
        let disk: std::sync::Arc<dyn world::disk::Disk> = std::sync::Arc::new(world::disk::RealDisk);
        let checked = tanglewood_database::check(&disk, below.join("copy")).unwrap();
        assert!(checked.report.problems.is_empty(), "{checked:?}");
    };
    let remove = || std::fs::remove_dir_all(below.join("copy")).unwrap();

    // At different moments; where it came to its own end first, a little earlier.
    for ends_by_kill in [true, false] {
        let mut pauses = [100, 30, 10, 3, 1, 0, 0, 0].into_iter();
        let mut ended = 0;
        while ended < 3 {
            let pause = pauses.next().expect("it always came to its own end first");
            let mut session = database.session();
            let interrupter = session.interrupter();
            let outcome = std::thread::scope(|scope| {
                let work =
                    scope.spawn(move || session.query(TEXT, params! {}).and_then(|found| found.rows()));
                let began = Instant::now();
                let id = loop {
                    if let Some(query) = database.running().into_iter().find(|query| query.text == TEXT) {
                        break Some(query.id);
                    }
                    if work.is_finished() {
                        break None;
                    }
                    assert!(began.elapsed() < Duration::from_secs(60), "it is never listed");
                };
                std::thread::sleep(Duration::from_millis(pause));
                match (id, ends_by_kill) {
                    (Some(id), true) => drop(database.kill(&id, "by the test")),
                    _ => interrupter.close(),
                }
                work.join().unwrap()
            });
            match outcome {
                Ok(_) => remove(),
                Err(error) => {
                    assert!(error.code.ends_with("Terminated"), "{error:?}");
                    // The client may go when the copy is made and its answer is not: then it is a whole copy.
                    if !ends_by_kill && below.join("copy").exists() {
                        is_whole();
                        remove();
                        continue;
                    }
                    nothing_is_left();
                    ended += 1;
                }
            }
        }
    }

    let soon = Limits { timeout: Some(Duration::from_millis(1)), bytes_max: None };
    let error = database.session().query_within(TEXT, params! {}, &soon).err().unwrap();
    assert!(error.code.ends_with("TransactionTimedOut"), "{error:?}");
    nothing_is_left();
    let mut poor = database.session();
    poor.set_tenant("t");
    let error = poor.query(TEXT, params! {}).err().unwrap();
    assert!(error.code.ends_with("TransactionTimedOut"), "{error:?}");
    nothing_is_left();

    // An export is ended in the same way.
    let formats: &[&str] = &["csv", "jsonl", "cypher", "graphson"];
    for format in formats {
        let text = format!("EXPORT DATABASE 'copy' (FORMAT = '{format}')");
        let error = database.session().query_within(&text, params! {}, &soon).err().unwrap();
        assert!(error.code.ends_with("TransactionTimedOut"), "{format}: {error:?}");
        nothing_is_left();
    }

    // Nothing stands in the way of it afterwards, and it is whole.
    ask(TEXT);
    is_whole();
}
