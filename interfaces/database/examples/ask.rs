//! Imports files into memory and asks them: `cargo run --release --example ask -- FOLDER "MATCH (n) RETURN count(*)" …`
#![allow(missing_docs)]

use std::path::PathBuf;
use tanglewood_database::{Database, ImportOptions, MEMORY, Options, Params};

/// Times each question is asked; the median is shown.
const ROUNDS: usize = 15;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let from: PathBuf = arguments.next().expect("a folder or file to import").into();
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let report = database.import(&ImportOptions { from, ..ImportOptions::default() }).unwrap();
    println!("{} vertices, {} edges in {:.2} s", report.vertices, report.edges, report.seconds);
    let mut session = database.session();
    for text in arguments {
        let mut nanos = Vec::new();
        let mut rows = Vec::new();
        for _ in 0..ROUNDS {
            let start = world::clock::monotonic_ns();
            rows =
                session.query(&text, Params::new()).unwrap_or_else(|error| panic!("{error}")).rows().unwrap();
            nanos.push(world::clock::monotonic_ns() - start);
        }
        nanos.sort_unstable();
        println!("{:10.1} us  {text}", nanos[ROUNDS / 2] as f64 / 1e3);
        rows.iter().take(5).for_each(|row| println!("              {row:?}"));
    }
}
