//! The applications beside their twins, small enough to measure while one works: `--example compare -- [sparse] [dense] [bank] [memory]`.
//! `memory` keeps the service's log in a folder in memory. The figures of the guide are those of `tanglewood bench kronos`.
#![allow(clippy::print_stdout)]

use kronos::{Options as ServerOptions, serve};
use kronos_examples::kronograph::{self, Social};
use kronos_examples::{Load, LockClient, LockService, Outcome, bank};
use std::path::Path;
use std::time::Duration;
use tanglewood_kronos::Options;
use world::files::TemporaryFolder;

const HOP: Duration = Duration::from_micros(200);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let asked = |name: &str| wanted.iter().any(|one| one == name);
    let folder = match asked("memory") {
        true => TemporaryFolder::inside(Path::new("/dev/shm"), "compare").unwrap(),
        false => TemporaryFolder::new("compare").unwrap(),
    };
    let options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), folder.path().join("data"));
    let running = serve(&options).unwrap();
    let locks = LockService::start(folder.path()).unwrap();
    let locks = LockClient::connect(locks.address()).map(|client| (client, locks)).unwrap();
    let client = || Options::new([running.address().to_string()]);
    for (name, degree) in [("sparse", 10), ("dense", 100)] {
        if asked(name) {
            let social = Social::random(10_000, degree, 7_700);
            let load = Load { seed: 7_700, hop: HOP, ..Load::new(32, 8_000) };
            tell(name, "kronos", kronograph::with_kronos(client(), &load, &social).unwrap());
            tell(name, "service", kronograph::with_lock_service(&locks.0, &load, &social).unwrap());
            tell(name, "locks", kronograph::with_locks(&load, &social));
        }
    }
    if asked("bank") {
        let load = Load { seed: 7_700, hop: HOP, ..Load::new(64, 10_000) };
        tell("bank", "kronos", bank::with_kronos(client(), &load, 1_000).unwrap());
        tell("bank", "service", bank::with_lock_service(&locks.0, &load, 1_000).unwrap());
        tell("bank", "locks", bank::with_locks(&load, 1_000));
        println!("bank   no order {:.0}/s", bank::without_order(&load, 1_000).per_second());
    }
}

fn tell(name: &str, how: &str, outcome: Outcome) {
    assert_eq!(outcome.verdict, Ok(()));
    println!(
        "{name:<6} {how:<8} {:>7.0}/s, {:.2} calls an operation, {} began again",
        outcome.per_second(),
        outcome.calls as f64 / outcome.operations as f64,
        outcome.repeated
    );
}
