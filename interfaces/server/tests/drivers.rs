//! The official drivers, unchanged, against the server. Each is passed over, with a notice, where its language or package is missing;
//! `.ci/drivers` fetches the packages into `target/drivers`.
//!
//! Each script connects over `bolt://` and `neo4j://`, sends and gets values of every type, retries transactions that conflict, streams a
//! million rows, cancels, meets errors, hands on bookmarks and reads notifications. Meanwhile the server's memory is watched.
#![allow(clippy::disallowed_methods)]

use database::{Database, MEMORY, Options};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tanglewood_server::{ServeOptions, Server};

/// A million rows go through, of some hundred megabytes as values; kept at once is little.
const GROWTH_BYTES_MAX: u64 = 192 << 20;
/// One driver at a time, since memory is the process's.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn sources(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(language)
}

/// Where packages were fetched to; `None`, with a notice, where they were not.
fn fetched(language: &str, what: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TANGLEWOOD_DRIVERS")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/drivers"));
    let folder = root.join(language);
    let found = folder.join(what).exists();
    if !found {
        eprintln!("passed over: the {language} driver was not fetched; `.ci/drivers` does");
    }
    found.then_some(folder)
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs the driver's script against a fresh server, which must stay small.
fn check(command: impl FnOnce(&str) -> Command) {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let server = Server::start(database, &ServeOptions::at("127.0.0.1:0")).unwrap();
    let port = server.address().port().to_string();
    let resident = || world::memory::resident_bytes().unwrap_or(0);
    let (before, ended, most) = (resident(), AtomicBool::new(false), AtomicU64::new(0));
    let output: Output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Acquire) {
                most.fetch_max(resident(), Ordering::AcqRel);
                world::threads::sleep(Duration::from_millis(5));
            }
        });
        let output = command(&port).output();
        ended.store(true, Ordering::Release);
        output
    })
    .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    let grown = most.into_inner().saturating_sub(before);
    println!("{}the server grew by {} MB", text(&output.stdout), grown >> 20);
    assert!(grown < GROWTH_BYTES_MAX, "the server grew by {grown} bytes");
}

#[test]
fn python() {
    let driver = "import neo4j, sys; sys.exit(0 if neo4j.__version__[:2] in ('5.', '6.') else 1)";
    if !succeeds(Command::new("python3").args(["-c", driver])) {
        eprintln!("passed over: needs python3 with the package neo4j");
        return;
    }
    check(|port| {
        let mut command = Command::new("python3");
        command.arg(sources("python").join("driver.py")).arg(port);
        command
    });
}

#[test]
fn javascript() {
    if !succeeds(Command::new("node").arg("--version")) {
        eprintln!("passed over: needs node");
        return;
    }
    let Some(folder) = fetched("javascript", "node_modules/neo4j-driver") else { return };
    // Packages are looked for from the script's folder on upwards.
    let script = folder.join("driver.mjs");
    std::fs::copy(sources("javascript").join("driver.mjs"), &script).unwrap();
    check(|port| {
        let mut command = Command::new("node");
        command.arg(&script).arg(port);
        command
    });
}

/// Two generations of the driver.
#[test]
fn java() {
    for generation in ["5", "6"] {
        let Some(folder) = fetched("java", generation) else { continue };
        if !succeeds(Command::new("java").arg("--version")) {
            eprintln!("passed over: needs java");
            return;
        }
        check(|port| {
            let mut command = Command::new("java");
            let jars = folder.join(generation).join("*");
            command.arg("-cp").arg(jars).arg(sources("java").join("DriverCheck.java")).arg(port);
            command
        });
    }
}

/// Neo4j's own prompt, as an outside tool: texts on its standard input, rows on its standard output.
#[test]
fn cypher_shell() {
    let Some(folder) = fetched("java", "shell") else { return };
    if !succeeds(Command::new("java").arg("--version")) {
        eprintln!("passed over: needs java");
        return;
    }
    check(|port| {
        let mut command = Command::new("java");
        command.arg("-cp").arg(folder.join("shell").join("*")).arg("org.neo4j.shell.Main");
        command.args([
            "-a",
            &format!("neo4j://127.0.0.1:{port}"),
            "-u",
            "neo4j",
            "-p",
            "secret",
            "--format",
            "plain",
        ]);
        command.arg("-f").arg(sources("java").join("shell.cypher"));
        command
    });
}

/// Neo4j's JDBC driver: statements, transactions, and what tools such as DBeaver ask about a database.
#[test]
fn jdbc() {
    let Some(folder) = fetched("java", "jdbc") else { return };
    if !succeeds(Command::new("java").arg("--version")) {
        eprintln!("passed over: needs java");
        return;
    }
    check(|port| {
        let mut command = Command::new("java");
        command
            .arg("-cp")
            .arg(folder.join("jdbc").join("*"))
            .arg(sources("java").join("JdbcCheck.java"))
            .arg(port);
        command
    });
}

/// langchain-neo4j and neo4j-graphrag: they import a graph, ask for its schema and answer questions.
#[test]
fn graph_tools() {
    let Some(folder) = fetched("tools", "bin/python") else { return };
    let python = folder.join("bin/python");
    if !succeeds(Command::new(&python).args(["-c", "import langchain_neo4j, neo4j_graphrag"])) {
        eprintln!("passed over: needs the packages langchain-neo4j and neo4j-graphrag");
        return;
    }
    check(|port| {
        let mut command = Command::new(python);
        command.arg(sources("tools").join("graph_tools.py")).arg(port);
        command
    });
}

#[test]
fn go() {
    let Some(folder) = fetched("go", "driver") else { return };
    check(|port| {
        let mut command = Command::new(folder.join("driver"));
        command.arg(port);
        command
    });
}
