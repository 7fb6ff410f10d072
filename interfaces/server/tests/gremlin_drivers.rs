//! TinkerPop's drivers, unchanged, against the server; and TinkerPop's features through one of them. Each is passed over, with a notice,
//! where its language or package is missing; `.ci/drivers` fetches the packages into `target/drivers`.
#![allow(clippy::disallowed_methods)]

mod common;

use common::socket::within;
use database::{Database, GraphsonImport, MEMORY, Options};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tanglewood_server::gremlin::{Manner, Sources};
use tanglewood_server::users::Gate;
use tanglewood_server::{GremlinServeOptions, GremlinServer, Limits};
use world::files::TemporaryFolder;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Where packages were fetched to; `None`, with a notice, where they were not.
fn fetched(what: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TANGLEWOOD_DRIVERS").map(PathBuf::from);
    let found = root.unwrap_or_else(|| here("../../target/drivers")).join(what);
    if found.exists() {
        return Some(found);
    }
    eprintln!("passed over: {what} was not fetched; `.ci/drivers` does");
    None
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn database() -> Database {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap()
}

fn serve(sources: Sources) -> GremlinServer {
    let manner = Manner { sources: sources.into(), gate: Gate::open(), timeout: None };
    let (address, limits) = ("127.0.0.1:0".to_string(), Limits::default());
    GremlinServer::start(GremlinServeOptions { address, manner, tls: None, limits, cors: Vec::new() })
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a driver's script against a fresh server; nothing may run or be open when it is gone.
fn check(command: impl FnOnce(&str) -> Command) {
    let database = database();
    let server = serve(Sources::from([("g".to_string(), database.clone())]));
    let output: Output = command(&server.address().port().to_string()).output().unwrap();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    print!("{}", text(&output.stdout));
    within(5_000, "the end of what was left", || database.running().is_empty() && server.connections() == 0);
}

#[test]
fn python() {
    if !succeeds(Command::new("python3").args(["-c", "import gremlin_python"])) {
        eprintln!("passed over: needs python3 with the package gremlinpython");
        return;
    }
    check(|port| {
        let mut command = Command::new("python3");
        command.arg(here("tests/drivers/gremlin-python/driver.py")).arg(port);
        command
    });
}

#[test]
fn javascript() {
    if !succeeds(Command::new("node").arg("--version")) {
        eprintln!("passed over: needs node");
        return;
    }
    let Some(package) = fetched("gremlin-javascript/node_modules/gremlin") else { return };
    // Packages are looked for from the script's folder on upwards.
    let script = package.join("../../driver.mjs");
    std::fs::copy(here("tests/drivers/gremlin-javascript/driver.mjs"), &script).unwrap();
    check(|port| {
        let mut command = Command::new("node");
        command.arg(&script).arg(port);
        command
    });
}

#[test]
fn java() {
    let Some(jars) = fetched("java/gremlin") else { return };
    if !succeeds(Command::new("java").arg("--version")) {
        eprintln!("passed over: needs java");
        return;
    }
    check(|port| {
        let mut command = Command::new("java");
        command.arg("-cp").arg(jars.join("*")).arg(here("tests/drivers/gremlin-java/DriverCheck.java"));
        command.arg(port);
        command
    });
}

/// Where the outside suites are: the folder named by `TANGLEWOOD_CONFORMANCE`, or one beside the checkout.
fn suites() -> Option<PathBuf> {
    let named = std::env::var_os("TANGLEWOOD_CONFORMANCE").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| here("../../../shared/conformance"));
    let found = folder.join("gremlin_runner.py").exists();
    let runs = succeeds(Command::new("python3").args(["-c", "import gremlin_python, gherkin"]));
    if !found || !runs {
        eprintln!(
            "passed over: needs the outside suite, and python3 with gremlinpython and gherkin-official"
        );
    }
    (found && runs).then_some(folder)
}

/// Of the scenarios that neither need a graph computer nor what the client cannot decode, so many of a hundred must pass.
const PERCENT_MIN: usize = 90;

/// TinkerPop's features through gremlinpython, by the suite's own runner. What does not pass stands in `known/gremlin.txt`, each with its
/// reason; the list may only shrink.
#[test]
fn features() {
    let Some(suites) = suites() else { return };
    let data = suites.join("tinkerpop/data");
    let files = [
        ("gmodern", "tinkerpop-modern.json"),
        ("gclassic", "tinkerpop-classic.json"),
        ("gcrew", "tinkerpop-crew.json"),
        ("gsink", "tinkerpop-sink.json"),
        ("ggrateful", "grateful-dead.json"),
    ];
    let mut sources = Sources::from([("ggraph".to_string(), database())]);
    for (name, file) in files {
        let database = database();
        let import = GraphsonImport { from: data.join(file), ..GraphsonImport::default() };
        database.import_graphson(&import).unwrap();
        sources.insert(name.to_string(), database);
    }
    let server = serve(sources);
    let folder = TemporaryFolder::new("features").unwrap();
    let report = folder.path().join("report.json");
    let output = Command::new("python3")
        .arg(suites.join("gremlin_runner.py"))
        .arg("--features")
        .arg(suites.join("tinkerpop/features"))
        .args(["--uri", &format!("ws://{}/gremlin", server.address())])
        .arg("--out")
        .arg(&report)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    judge(&world::files::read_text(&report).unwrap());
}

fn judge(report: &str) {
    let outcomes: serde_json::Value = serde_json::from_str(report).unwrap();
    let known: BTreeSet<&str> = include_str!("known/gremlin.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.rsplit_once(": ").map_or(line, |(id, _)| id))
        .collect();
    let (mut passed, mut failed, mut unexpected, mut better) = (0, 0, Vec::new(), Vec::new());
    for outcome in outcomes.as_array().unwrap() {
        let id = outcome["id"].as_str().unwrap();
        match outcome["status"].as_str().unwrap() {
            "pass" => {
                passed += 1;
                better.extend(known.contains(id).then_some(id));
            }
            "skip" => {}
            _ => {
                failed += 1;
                unexpected.extend((!known.contains(id)).then(|| format!("{id}: {}", outcome["why"])));
            }
        }
    }
    println!("gremlinpython: {passed} pass, {failed} do not");
    assert!(unexpected.is_empty(), "pass no more:\n{}", unexpected.join("\n"));
    assert!(better.is_empty(), "pass now, and may leave the list:\n{}", better.join("\n"));
    assert!(passed * 100 >= (passed + failed) * PERCENT_MIN, "{passed} of {}", passed + failed);
}
