//! kill -9 during imports and during commits: no acknowledged commit is lost, no half of one is visible, the database opens and is sound.
//!
//! `TANGLEWOOD_KILL_ROUNDS` says how often (6 where unset), `TANGLEWOOD_KILL_SEED` replays the moments.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use database::{Database, Mode, Options, Session, params};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use support::{Place, command};
use world::chance::Chance;

/// Threads that commit at the same time in the child.
const WRITERS: i64 = 4;
/// In the child's environment: the database it commits to. Elsewhere the child's test does nothing.
const CHILD_DATABASE: &str = "TANGLEWOOD_KILL_DATABASE";
/// In the child's environment: a number that makes labels new in every round.
const CHILD_ROUND: &str = "TANGLEWOOD_KILL_ROUND";
/// So small that checkpoints happen all the time.
const CHECKPOINT_LOG_BYTES: u64 = 32 << 10;

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
    Options { create, executors: Some(2), checkpoint_log_bytes: CHECKPOINT_LOG_BYTES, ..Options::default() }
}

/// Not a test of its own: the process that is killed. Each commit is two statements; it is told of once it is durable.
#[test]
fn child_commits_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD_DATABASE) else { return };
    let round: u64 = std::env::var(CHILD_ROUND).unwrap().parse().unwrap();
    let database = Database::open(path, options(true)).unwrap();
    let found = present(&mut database.session());
    world::threads::in_parallel("writer", WRITERS as usize, |writer| {
        let writer = writer as i64;
        let mut session = database.session();
        let start = found.get(&writer).map_or(0, |numbers| numbers.len() as i64);
        for number in start.. {
            commit(&mut session, round, writer, number);
            // Written as one piece, past the test harness's capture.
            std::io::stdout().write_all(format!("ack {writer} {number}\n").as_bytes()).unwrap();
        }
    });
}

/// One commit: two vertices with an edge, in two statements. Now and then with names that nobody used before.
fn commit(session: &mut Session, round: u64, writer: i64, number: i64) {
    let label = format!("Round{round}Part{}", number / 16);
    loop {
        session.begin(Mode::Write).unwrap();
        let first = format!("CREATE (:Left:{label} {{writer: $writer, number: $number}})");
        let second = "MATCH (l:Left {writer: $writer, number: $number}) CREATE (l)-[:WITH]->(:Right {writer: $writer, number: $number})";
        let done = session
            .query(&first, params! { "writer" => writer, "number" => number })
            .and_then(|_| session.query(second, params! { "writer" => writer, "number" => number }))
            .map(drop);
        let done = match done {
            Ok(()) => session.commit().map(drop),
            Err(error) => session.rollback().and(Err(error)),
        };
        match done {
            Ok(()) => return,
            Err(error) if error.retryable => continue,
            Err(error) => panic!("{}: {error}", error.code),
        }
    }
}

/// Numbers of each writer whose whole commit is visible; panics over half a commit.
fn present(session: &mut Session) -> BTreeMap<i64, Vec<i64>> {
    let mut pairs = |text: &str| -> Vec<(i64, i64)> {
        let rows = session.query(text, params! {}).unwrap().rows().unwrap();
        rows.iter().map(|row| (row[0].as_int().unwrap(), row[1].as_int().unwrap())).collect()
    };
    let left = pairs("MATCH (n:Left) RETURN n.writer AS w, n.number AS n ORDER BY w, n");
    let right = pairs("MATCH (n:Right) RETURN n.writer AS w, n.number AS n ORDER BY w, n");
    let joined = pairs(
        "MATCH (l:Left)-[:WITH]->(r:Right) WHERE l.number = r.number AND l.writer = r.writer RETURN l.writer AS w, l.number AS n ORDER BY w, n",
    );
    assert_eq!(left, right, "half a commit is visible");
    assert_eq!(left, joined, "half a commit is visible");
    let mut by_writer: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    left.into_iter().for_each(|(writer, number)| by_writer.entry(writer).or_default().push(number));
    by_writer
}

/// Runs the child for `time` after its first commit, kills it, and returns the last commit acknowledged to each writer.
fn killed_while_committing(path: &Path, round: u64, time: Duration) -> BTreeMap<i64, i64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child_commits_until_it_is_killed", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD_DATABASE, path)
        .env(CHILD_ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    let reading = world::threads::spawn("acknowledged", move || {
        let mut last = BTreeMap::new();
        for line in out.lines().map_while(Result::ok) {
            // The harness's own words may stand before the first one on the same line.
            let Some(said) = line.find("ack ").map(|at| &line[at + 4..]) else { continue };
            let Some((writer, number)) = said.split_once(' ') else { continue };
            last.insert(writer.parse::<i64>().unwrap(), number.parse::<i64>().unwrap());
            // Nobody listens after the first.
            let _ = sender.send(());
        }
        last
    });
    receiver.recv_timeout(Duration::from_secs(60)).expect("the child commits within a minute");
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join()
}

#[test]
fn acknowledged_commits_survive() {
    if std::env::var_os(CHILD_DATABASE).is_some() {
        return;
    }
    let (place, mut chance) = (Place::new(), chance());
    let path = place.path().join("commits.db");
    let mut most = 0;
    for round in 0..rounds() {
        let time = Duration::from_micros(chance.range(0..400_000));
        let acknowledged = killed_while_committing(&path, round, time);
        assert!(place.run(&["check", "commits.db"]).ok().ends_with("sound\n"));
        let database =
            Database::open(&path, options(false)).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let found = present(&mut database.session());
        for (writer, last) in &acknowledged {
            let numbers =
                found.get(writer).unwrap_or_else(|| panic!("round {round}: writer {writer} lost all"));
            let complete = numbers.iter().copied().eq(0..numbers.len() as i64);
            assert!(complete, "round {round}: writer {writer} has holes: {numbers:?}");
            assert!(numbers.len() as i64 > *last, "round {round}: writer {writer} lost {last}");
            assert!(numbers.len() as i64 <= last + 2, "round {round}: commits appear that nobody made");
            most = most.max(*last);
        }
        // What is open at the end of a round is closed in order every other time.
        if round % 2 == 0 {
            database.close().unwrap();
        }
    }
    assert!(most > 0, "nothing was ever committed");
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
    if std::env::var_os(CHILD_DATABASE).is_some() {
        return;
    }
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
