//! kill -9 during imports: each happens whole or not at all, the database opens and is sound. Commits are killed in `testing/sim`.
//!
//! `TANGLEWOOD_KILL_ROUNDS` says how often (6 where unset), `TANGLEWOOD_KILL_SEED` replays the moments.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use database::{Database, Options, params};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::{Place, command};
use world::chance::Chance;

fn rounds() -> u64 {
    std::env::var("TANGLEWOOD_KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

fn chance() -> Chance {
    let given = std::env::var("TANGLEWOOD_KILL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(Chance::system_seed);
    eprintln!("TANGLEWOOD_KILL_SEED={seed}");
    Chance::seeded(seed)
}

fn options(create: bool) -> Options {
    Options { create, executors: Some(2), ..Options::default() }
}

/// Vertices of the file that is imported.
const IMPORT_VERTICES: i64 = 40_000;

fn edge_list(place: &Place) {
    let lines: Vec<String> = (0..IMPORT_VERTICES * 3)
        .map(|at| format!("{}\t{}", at % IMPORT_VERTICES, at * 7_919 % IMPORT_VERTICES))
        .collect();
    place.file("edges.txt", &lines.join("\n"));
}

fn counts(path: &Path) -> Option<(i64, i64)> {
    let database = match Database::open(path, options(false)) {
        Ok(database) => database,
        Err(error) if error.message.starts_with("there is no database") => return None,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let mut session = database.session();
    let mut count = |text: &str| session.query(text, params! {}).unwrap().single().unwrap().as_int().unwrap();
    Some((count("MATCH (n) RETURN count(*)"), count("MATCH ()-[r]->() RETURN count(*)")))
}

fn timed_import(place: &Place, name: &str) -> Duration {
    let started = Instant::now();
    assert!(place.run(&["import", name, "--from", "edges.txt"]).ok().starts_with("vertices"));
    started.elapsed()
}

#[test]
fn imports_happen_whole_or_not_at_all() {
    let (place, mut chance) = (Place::new(), chance());
    edge_list(&place);
    let mut whole_time = timed_import(&place, "whole.db");
    let whole = counts(&place.path().join("whole.db"));
    assert_eq!(whole, Some((IMPORT_VERTICES, IMPORT_VERTICES * 3)));
    let (mut none, mut all) = (0, 0);
    for round in 0..rounds() {
        let name = format!("round-{round}.db");
        let arguments = ["import", &name, "--from", "edges.txt"];
        let mut child = command(place.path(), &arguments).stdout(Stdio::null()).spawn().unwrap();
        // The end is where most happens.
        std::thread::sleep(whole_time.mul_f64(chance.float().sqrt() * 1.2));
        child.kill().unwrap();
        let acknowledged = child.wait().unwrap().success();
        let found = counts(&place.path().join(&name));
        let is_empty = found.is_none_or(|counts| counts == (0, 0));
        assert!(is_empty || found == whole, "round {round}: half an import: {found:?}");
        assert!(!(acknowledged && is_empty), "round {round}: an acknowledged import is lost");
        if is_empty {
            none += 1;
            // It can be tried again; how fast the machine is changes from round to round.
            whole_time = timed_import(&place, &name);
        } else {
            all += 1;
        }
        assert!(place.run(&["check", &name]).ok().ends_with("sound\n"));
    }
    eprintln!("{none} imports left nothing, {all} were whole");
}
