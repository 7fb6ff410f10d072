//! Books payments and tells of rings: `cargo run --release -p tanglewood-fraud-examples --example rings -- [edges.csv]`.
//!
//! The file has a payment a line: who, whom, how much, when in seconds. SNAP's bitcoin-otc has this shape. Without one, payments are drawn. For
//! each ring it measures the time from the call that books the closing payment to the alert.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use fraud::{Alert, Ledger, Payment};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;

/// Number of generated payments, and of accounts.
const DRAWN: usize = 20_000;
const ACCOUNTS: u64 = 3_000;
/// Behind each payment it waits so long for alerts; later ones are met behind a later payment, and timed from their own.
const AT_ONCE: Duration = Duration::from_micros(200);
/// At the end no more are to come once none came for so long.
const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> Result<(), String> {
    let payments = match std::env::args().nth(1) {
        Some(file) => read(Path::new(&file))?,
        None => drawn(),
    };
    let told = |error: database::Error| error.to_string();
    let mut ledger = Ledger::open(None).map_err(told)?;
    let mut alerts = ledger.watch(false).map_err(told)?;
    let (mut rings, mut times_us, begin) = (0, Vec::new(), monotonic_ns());
    // By the moment of a payment: when the last one of it was booked, and when that call returned.
    let mut booked: BTreeMap<i64, [u64; 2]> = BTreeMap::new();
    let mut meet = |found: &[Alert], booked: &BTreeMap<i64, [u64; 2]>| {
        let now_ns = monotonic_ns();
        for alert in found {
            rings += alert.difference;
            let from = booked.get(&alert.times[1]);
            times_us.extend(from.map(|from| from.map(|from_ns| (now_ns - from_ns) / 1_000)));
        }
    };
    for payment in &payments {
        let booked_ns = monotonic_ns();
        ledger.pay(*payment).map_err(told)?;
        booked.insert(payment.time, [booked_ns, monotonic_ns()]);
        // Rings of this payment come at once; who books many does not wait for each.
        meet(&alerts.next(AT_ONCE).map_err(told)?, &booked);
    }
    loop {
        let found = alerts.next(PATIENCE).map_err(told)?;
        if found.is_empty() {
            break;
        }
        meet(&found, &booked);
    }
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
