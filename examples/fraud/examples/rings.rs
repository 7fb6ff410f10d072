//! Books payments and tells of rings: `cargo run --release -p tanglewood-fraud-examples --example rings -- [edges.csv]`.
//!
//! The file has a payment a line: who, whom, how much, when in seconds. SNAP's bitcoin-otc has this shape. Without one, payments are drawn. For
//! each ring it measures the time from the call that books the closing payment to the alert.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use fraud::{Ledger, Payment};
use std::path::Path;
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;

/// Payments that are drawn, between so many accounts.
const DRAWN: usize = 20_000;
const ACCOUNTS: u64 = 3_000;
/// An alert that is not there by then is counted as late.
const PATIENCE: Duration = Duration::from_millis(20);

fn main() -> Result<(), String> {
    let payments = match std::env::args().nth(1) {
        Some(file) => read(Path::new(&file))?,
        None => drawn(),
    };
    let told = |error: database::Error| error.to_string();
    let mut ledger = Ledger::open(None).map_err(told)?;
    let mut alerts = ledger.watch(false).map_err(told)?;
    let (mut rings, mut times_us, begin) = (0, Vec::new(), monotonic_ns());
    for payment in &payments {
        let booked_ns = monotonic_ns();
        ledger.pay(*payment).map_err(told)?;
        let committed_ns = monotonic_ns();
        // Rings of this payment come at once; who books many does not wait for each.
        let found = alerts.next(Duration::from_micros(200)).map_err(told)?;
        if !found.is_empty() {
            rings += found.len();
            times_us.push([booked_ns, committed_ns].map(|from| (monotonic_ns() - from) / 1_000));
        }
    }
    rings += alerts.next(PATIENCE).map_err(told)?.len();
    let seconds = (monotonic_ns() - begin) as f64 / 1e9;
    println!("{} payments in {seconds:.1} s, {rings} rings", payments.len());
    for (at, from) in ["booked", "committed"].into_iter().enumerate() {
        let mut times: Vec<u64> = times_us.iter().map(|times| times[at]).collect();
        times.sort_unstable();
        if let [_, ..] = times.as_slice() {
            let part = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
            println!(
                "from {from:<9} to the alert: median {} us, 99 of 100 within {} us",
                part(0.5),
                part(0.99)
            );
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<Payment>, String> {
    let text = world::files::read_text(file).map_err(|error| error.to_string())?;
    let payment = |line: &str| {
        let mut numbers =
            line.split(',').map(|word| word.trim().parse::<f64>().ok().map(|number| number as i64));
        let mut next = || numbers.next().flatten();
        Some(Payment { from: next()?, to: next()?, amount: next()?, time: next()? })
    };
    let mut payments: Vec<Payment> = text.lines().filter_map(payment).collect();
    payments.sort_by_key(|payment| payment.time);
    Ok(payments)
}

fn drawn() -> Vec<Payment> {
    let mut chance = Chance::seeded(7);
    let mut account = || (chance.below(ACCOUNTS) * chance.below(ACCOUNTS) / ACCOUNTS) as i64;
    let payment =
        |at| Payment { from: account(), to: account(), amount: 1 + at as i64 % 100, time: 60 * at as i64 };
    (0..DRAWN).map(payment).collect()
}
