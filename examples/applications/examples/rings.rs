//! Books payments and tells of rings: `cargo run --release -p tanglewood-applications-examples --example rings -- [DATA] [--out FOLDER] [--page PAGE.md]`.
//!
//! DATA is the folder of packed data sets, or one with `edges.csv`: a payment a line, who, whom, how much, when in seconds. SNAP's bitcoin-otc has this
//! shape. Without it, payments are drawn. For each ring it measures the time from the call that books the closing payment to the alert. At the end,
//! all that was told must be what a search through all payments finds.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::command::{Arguments, lines, since, told};
use applications::findings::Findings;
use applications::rings::{Alert, Ledger, Payment};
use applications::search;
use applications::times::{Times, times_chart};
use std::collections::BTreeMap;
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;

/// Payments that are drawn, between so many accounts.
const DRAWN: usize = 20_000;
const ACCOUNTS: u64 = 3_000;
const SEED: u64 = 7;
/// Behind each payment it waits so long for alerts; later ones are met behind a later payment, and timed from their own.
const AT_ONCE: Duration = Duration::from_micros(200);
/// At the end no more are to come once none came for so long.
const PATIENCE: Duration = Duration::from_secs(1);
/// An alert should come within this time of its commit.
const SOON: Duration = Duration::from_millis(1);

/// What was told so far.
#[derive(Default)]
struct Told {
    /// By accounts and times, how many rings.
    rings: BTreeMap<([i64; 3], [i64; 2]), i64>,
    /// By the moment of a payment: when the last one of it was booked, and when that call returned.
    booked: BTreeMap<i64, [u64; 2]>,
    /// From the call that booked the closing payment to the alert, and from its return.
    from_call: Times,
    from_commit: Times,
    soon: usize,
}

impl Told {
    fn meet(&mut self, found: &[Alert]) {
        for alert in found {
            *self.rings.entry((alert.accounts, alert.times)).or_default() += alert.difference;
            let Some([called_ns, committed_ns]) = self.booked.get(&alert.times[1]).copied() else { continue };
            let waited = since(committed_ns);
            self.from_call.push(since(called_ns));
            self.from_commit.push(waited);
            self.soon += usize::from(waited <= SOON);
        }
    }
}

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let (payments, about) = match arguments.folder("snap-small", "bitcoin-otc")? {
        Some(folder) => {
            (read(&lines(&folder.join("edges.csv"), 0)?), "SNAP's bitcoin-otc, each rating as a payment")
        }
        None => (drawn(), "payments that are drawn"),
    };
    let mut findings = Findings::begin("rings", about, SEED);
    let mut ledger = Ledger::open(None).map_err(|error| told(&error))?;
    let mut alerts = ledger.watch(false).map_err(|error| told(&error))?;
    let (mut all, mut commits, begin_ns) = (Told::default(), Times::default(), monotonic_ns());
    for payment in &payments {
        let booked_ns = monotonic_ns();
        ledger.pay(*payment).map_err(|error| told(&error))?;
        all.booked.insert(payment.time, [booked_ns, monotonic_ns()]);
        commits.push(since(booked_ns));
        // Rings of this payment come at once; who books many does not wait for each.
        all.meet(&alerts.next(AT_ONCE).map_err(|error| told(&error))?);
    }
    let took = since(begin_ns);
    loop {
        let found = alerts.next(PATIENCE).map_err(|error| told(&error))?;
        if found.is_empty() {
            break;
        }
        all.meet(&found);
    }
    all.rings.retain(|_, count| *count != 0);
    if all.rings != search::rings(&payments) {
        return Err("what was told is not what a search finds".into());
    }
    let rings = all.rings.values().sum::<i64>() as usize;
    findings.count("payments, each one commit", payments.len());
    findings.count("rings", rings);
    findings.time("all payments and their alerts", took);
    findings.times("a payment", &commits);
    findings.times("from the call that books the closing payment to the alert", &all.from_call);
    findings.times("from its return to the alert", &all.from_commit);
    findings.count("alerts within 1 ms of the return", all.soon);
    findings.check(format!("all {rings} rings that were told, beside a search through all payments"));
    findings.chart(times_chart(
        "Rings of payments: from the closing payment to the alert",
        &[
            ("a payment", &commits),
            ("from its call to the alert", &all.from_call),
            ("from its return to the alert", &all.from_commit),
        ],
    ));
    findings.end(&arguments)
}

fn read(lines: &[String]) -> Vec<Payment> {
    let payment = |line: &String| {
        let mut numbers =
            line.split(',').map(|word| word.trim().parse::<f64>().ok().map(|number| number as i64));
        let mut next = || numbers.next().flatten();
        Some(Payment { from: next()?, to: next()?, amount: next()?, time: next()? })
    };
    let mut payments: Vec<Payment> = lines.iter().filter_map(payment).collect();
    payments.sort_by_key(|payment| payment.time);
    payments
}

fn drawn() -> Vec<Payment> {
    let mut chance = Chance::seeded(SEED);
    let mut account = || (chance.below(ACCOUNTS) * chance.below(ACCOUNTS) / ACCOUNTS) as i64;
    let payment =
        |at| Payment { from: account(), to: account(), amount: 1 + at as i64 % 100, time: 60 * at as i64 };
    (0..DRAWN).map(payment).collect()
}
