//! kill -9 of the server process: the reader resumes after the last whole mark, in the next process.
//!
//! `TANGLEWOOD_KILL_ROUNDS` says how often (6 where unset), `TANGLEWOOD_KILL_SEED` replays the moments.

use crate::copy::{Copy, SHAPES, asked, random_commit};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tanglewood_database::{Database, Options, params};
use world::chance::Chance;
use world::files::TemporaryFolder;

const DATABASE: &str = "TANGLEWOOD_RESUME_DATABASE";
const SUBSCRIBE: &str = "TANGLEWOOD_RESUME_SUBSCRIBE";
/// The query that is read: one with an argument and many rows.
const QUERY: usize = 1;

fn options() -> Options {
    // Checkpoints come often, so that a kill meets them.
    Options { executors: Some(2), checkpoint_log_bytes: 8 << 10, ..Options::default() }
}

/// Not a test of its own: the process that is killed. It commits, and writes what a reader is told.
#[test]
fn child_tells_until_it_is_killed() {
    let (Some(path), Ok(text)) = (std::env::var_os(DATABASE), std::env::var(SUBSCRIBE)) else { return };
    let database = Database::open(Path::new(&path), options()).unwrap();
    let writer = database.clone();
    let _writes = std::thread::spawn(move || {
        let mut chance = Chance::seeded(Chance::system_seed());
        loop {
            random_commit(&writer, &mut chance);
        }
    });
    let mut session = database.session();
    let mut told = session.query(&text, params! { "x" => 3 }).unwrap();
    let mut out = std::io::stdout().lock();
    while let Ok(Some(batch)) = told.next_batch() {
        for at in 0..batch.len() {
            let row = batch.row(at);
            let own: Vec<String> = row[4..].iter().map(|value| format!("{value:?}")).collect();
            let mark = row[3].as_str().unwrap_or("-");
            writeln!(
                out,
                "told {} {} {mark} {}",
                row[0].as_int().unwrap(),
                row[2].as_int().unwrap(),
                own.join(" | ")
            )
            .unwrap();
        }
        out.flush().unwrap();
    }
}

/// Takes up the lines that a child has written; what no mark stands behind is forgotten.
fn take(copy: &mut Copy, line: &str, pending: &mut Vec<(String, isize)>) {
    let Some(fields) = line.strip_prefix("told ") else { return };
    let fields: Vec<&str> = fields.splitn(4, ' ').collect();
    let [commit_version, difference, mark, own] = fields[..] else { return };
    match mark {
        "-" => pending.push((own.to_string(), difference.parse().unwrap())),
        mark => copy.take(pending, commit_version.parse().unwrap(), mark),
    }
}

#[test]
fn a_reader_goes_on_behind_a_kill() {
    if std::env::var_os(DATABASE).is_some() {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("TANGLEWOOD_KILL_SEED").unwrap_or_else(Chance::system_seed);
    eprintln!("TANGLEWOOD_KILL_SEED={seed}");
    let (mut chance, folder) = (Chance::seeded(seed), TemporaryFolder::new("standing-killed").unwrap());
    let database = Database::open(folder.path(), options()).unwrap();
    let made = format!("CREATE STANDING QUERY q AS {} RETAIN 1h", SHAPES[QUERY]);
    database.session().query(&made, params! {}).unwrap().finish().unwrap();
    database.close().unwrap();
    let mut copy = Copy::default();
    for round in 0..number("TANGLEWOOD_KILL_ROUNDS").unwrap_or(6) {
        let text = match &copy.mark {
            Some(mark) => format!("SUBSCRIBE q FROM '{mark}'"),
            None => "SUBSCRIBE q SNAPSHOT".into(),
        };
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::child_tells_until_it_is_killed", "--nocapture"])
            .env(DATABASE, folder.path())
            .env(SUBSCRIBE, text)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let read = std::thread::spawn({
            let mut copy = copy.clone();
            move || {
                let mut pending = Vec::new();
                lines.map_while(Result::ok).for_each(|line| take(&mut copy, &line, &mut pending));
                copy
            }
        });
        std::thread::sleep(Duration::from_millis(600 + chance.below(900)));
        child.kill().unwrap();
        child.wait().unwrap();
        let before = copy.commit_version;
        copy = read.join().unwrap();
        assert!(copy.mark.is_some() && copy.commit_version >= before, "round {round}: nothing was told");
        // And in a process that is not killed, to the end.
        let database = Database::open(folder.path(), options()).unwrap();
        let (mut session, mut whole) = (database.session(), copy.clone());
        let from = format!("SUBSCRIBE q FROM '{}'", copy.mark.as_ref().unwrap());
        let mut told = session.query(&from, params! {}).unwrap();
        while whole.commit_version < database.snapshot().commit_version() {
            whole.read(&mut told, usize::MAX, &mut |_, _| ());
        }
        assert_eq!(whole.rows, asked(&mut database.session(), SHAPES[QUERY]), "round {round}");
        eprintln!("round {round}: killed at commit {}, {} rows", whole.commit_version, whole.rows.len());
        drop((told, session));
        if chance.below(2) == 0 {
            database.close().unwrap();
        }
    }
}
