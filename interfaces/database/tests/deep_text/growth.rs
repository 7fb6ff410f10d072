//! Does the time of a text grow as its size does? Four times the text may take some four times the processor's time, not sixteen times: so a
//! quadratic walk is found on any machine, long before anybody's patience ends.

use super::{Database, Production, ask, database};

/// Sizes, each four times the one before; the short form ends early.
const SIZES: [usize; 4] = [2_500, 10_000, 40_000, 160_000];
const SIZES_SHORT: usize = 2;
/// Four times the size may take so many times the time: 4 is linear, 16 quadratic.
const GROWTH_MAX: f64 = 8.0;
/// Less is too little to be measured beside other work.
const LEAST_NS: u64 = 10_000_000;
/// A growth that looks too great is measured again: other work on the machine takes a part of the caches.
const TRIES: usize = 3;

/// Processor time of all threads of this process so far.
pub fn cpu_ns() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: std::fs::DirEntry| {
        let told = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        told.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    threads.flatten().map(of).sum::<u64>()
}

fn time(part: &str, text: &str, database: &mut Database) -> (u64, String) {
    let began = cpu_ns();
    let came = ask(part, &mut database.session(), text);
    // A thread that ended meanwhile takes its time with it.
    let took = cpu_ns().saturating_sub(began);
    if database.snapshot().commit_version() > 1 {
        *database = self::database();
    }
    (took, came)
}

/// What grows too fast in one production.
pub fn measure(part: &str, (name, text): Production, database: &mut Database, long: bool) -> Vec<String> {
    let sizes = if long { &SIZES[..] } else { &SIZES[..SIZES_SHORT] };
    let mut before: Option<(usize, u64)> = None;
    for size in sizes {
        println!("ask {name} {size}");
        let large = text(*size);
        let (mut took, came) = time(part, &large, database);
        for _ in 1..TRIES {
            let too_long =
                |(_, before): &&mut (usize, u64)| took as f64 > GROWTH_MAX * (*before).max(LEAST_NS) as f64;
            let Some((smaller, before)) = before.as_mut().filter(too_long) else { break };
            took = took.min(time(part, &large, database).0);
            // Too little may have been seen of the smaller one: a thread that ends takes its time with it.
            *before = time(part, &text(*smaller), database).0.max(*before);
        }
        println!("done {took} {came}");
        if let Some((_, before)) = before.replace((*size, took)) {
            let growth = took as f64 / before.max(LEAST_NS) as f64;
            if growth > GROWTH_MAX {
                return vec![format!(
                    "{name} {size}: {growth:.1} times as long as a quarter of it, {took} ns, {came}"
                )];
            }
        }
    }
    Vec::new()
}
