//! The official Python driver, unchanged, against the server. Passed over, with a notice, where there is no Python or no driver.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use database::{Database, MEMORY, Options};
use std::process::Command;
use tanglewood_server::{ServeOptions, Server};

/// The driver's major version that the script is written for.
const DRIVER: &str = "import neo4j, sys; sys.exit(0 if neo4j.__version__.startswith('6.') else 1)";

#[test]
fn the_official_driver_runs_unchanged() {
    let present = Command::new("python3").args(["-c", DRIVER]).output();
    if !present.is_ok_and(|output| output.status.success()) {
        eprintln!("passed over: needs python3 with the package neo4j 6");
        return;
    }
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let server = Server::start(database, &ServeOptions { bolt: "127.0.0.1:0".into() }).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver.py");
    let port = server.address().port().to_string();
    let output = Command::new("python3").args([script, &port]).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    println!("{}", text(&output.stdout));
}
