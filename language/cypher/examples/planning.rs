//! How long a text takes to become a plan, without a cache and without statistics: parsing, lowering and planning of each query in a
//! folder, the median of many turns each.
//!
//! `cargo run --release -p tanglewood-cypher --example planning -- testing/bench/queries/ldbc`
#![allow(clippy::disallowed_methods, reason = "a measurement of this room, which knows no other")]

use std::time::Instant;

use plan::statistics::NothingKnown;
use tanglewood_cypher as cypher;

/// Turns for each query.
const TURNS: usize = 500;

fn median_us(mut work: impl FnMut()) -> f64 {
    let turn = |_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64() * 1e6
    };
    let mut times: Vec<f64> = (0..TURNS).map(turn).collect();
    times.sort_by(f64::total_cmp);
    times[TURNS / 2]
}

fn main() {
    let folder = std::env::args().nth(1).expect("the folder of the queries is named");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder can be read")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let mut all = Vec::new();
    println!("{:<16} {:>9} {:>9} {:>9}", "query", "parse µs", "lower µs", "plan µs");
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "cypher")) {
        let text = std::fs::read_to_string(file).expect("a query can be read");
        let Ok(tree) = cypher::parse(&text) else { continue };
        let Ok(statement) = cypher::lower(&text, &tree) else { continue };
        let parse = median_us(|| drop(cypher::parse(&text)));
        let lower = median_us(|| drop(cypher::lower(&text, &tree)));
        let plan = median_us(|| drop(plan::optimize(statement.clone(), &NothingKnown)));
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        println!("{name:<16} {parse:>9.1} {lower:>9.1} {plan:>9.1}");
        all.push(parse + lower + plan);
    }
    all.sort_by(f64::total_cmp);
    if let (Some(middle), Some(most)) = (all.get(all.len() / 2), all.last()) {
        println!("{} queries: median {middle:.1} µs, longest {most:.1} µs", all.len());
    }
}
