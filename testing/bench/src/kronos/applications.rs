//! Figures 5.1 and 5.2: a graph store and a bank ordered by the service, beside twins that lock. Each history is replayed one operation after the
//! other.
//!
//! Shards live in this process and a message between client and shard takes [`HOP`] each way; calls of the service go over loopback.

use super::fault;
use super::group::Group;
use crate::data;
use crate::report::Report;
use kronos_client::Options;
use kronos_examples::kronograph::{self, Social};
use kronos_examples::{Load, LockClient, LockService, Outcome, bank};
use std::path::Path;
use std::time::Duration;

const HOP: Duration = Duration::from_micros(200);
const GRAPH_CLIENTS: usize = 32;
const GRAPH_OPERATIONS: usize = 6_000;
const PEOPLE: u32 = 10_000;
const NETWORK: &str = "ego-twitter.txt";
const BANK_CLIENTS: usize = 64;
const BANK_OPERATIONS: usize = 10_000;
/// Runs of each store.
const TURNS: usize = 3;
const ACCOUNTS: usize = 1_000;

pub(super) fn run(folder: Option<&Path>, report: &mut Report) -> Result<(), String> {
    // The paper's service, and the stores of its applications, hold their state in memory; ours syncs its log before it answers.
    one(report, folder, "logs in memory", Group::start_in_memory(1))?;
    one(report, folder, "logs on disk", Group::start(1))
}

fn one(
    report: &mut Report,
    folder: Option<&Path>,
    place: &str,
    group: Result<Group, String>,
) -> Result<(), String> {
    let group = match group {
        Ok(group) => group,
        Err(why) => {
            report.skipped(&format!("applications, {place}"), &why);
            return Ok(());
        }
    };
    let service = LockService::start(group.folder()).map_err(fault)?;
    let locks = LockClient::connect(service.address()).map_err(fault)?;
    recommendations(report, folder, place, &group, &locks)?;
    transfers(report, place, &group, &locks)
}

fn recommendations(
    report: &mut Report,
    folder: Option<&Path>,
    place: &str,
    group: &Group,
    locks: &LockClient,
) -> Result<(), String> {
    let hop_us = HOP.as_micros();
    report.section(&format!(
        "figure 5.1: friend recommendation, {place}, {GRAPH_CLIENTS} clients, 95/5, {hop_us} us a hop"
    ));
    let mut graphs = vec![
        ("sparse", 1.4, Social::random(PEOPLE, 10, super::SEED)),
        ("dense", 8.3, Social::random(PEOPLE, 100, super::SEED)),
    ];
    match folder.map(twitter) {
        Some(Ok(social)) => graphs.push(("ego-twitter", 50.0, social)),
        Some(Err(why)) => report.skipped("ego-twitter", &why),
        None => report.skipped("ego-twitter", "it needs --data"),
    }
    for (name, paper, social) in graphs {
        let load = Load { seed: super::SEED, hop: HOP, ..Load::new(GRAPH_CLIENTS, GRAPH_OPERATIONS) };
        let options = Options::new(group.addresses().to_vec());
        let [ordered, locked, free] = in_turns([
            &|| kronograph::with_kronos(options.clone(), &load, &social).map_err(fault),
            &|| kronograph::with_lock_service(locks, &load, &social).map_err(fault),
            &|| Ok(kronograph::with_locks(&load, &social)),
        ])?;
        ratio(report, name, &ordered, &locked, &free, paper);
    }
    Ok(())
}

fn transfers(report: &mut Report, place: &str, group: &Group, locks: &LockClient) -> Result<(), String> {
    let hop_us = HOP.as_micros();
    report.section(&format!(
        "figure 5.2: transfers, {place}, {BANK_CLIENTS} clients, {ACCOUNTS} accounts, {hop_us} us a hop"
    ));
    let load = Load { seed: super::SEED, hop: HOP, ..Load::new(BANK_CLIENTS, BANK_OPERATIONS) };
    let options = Options::new(group.addresses().to_vec());
    let [ordered, locked, free] = in_turns([
        &|| bank::with_kronos(options.clone(), &load, ACCOUNTS).map_err(fault),
        &|| bank::with_lock_service(locks, &load, ACCOUNTS).map_err(fault),
        &|| Ok(bank::with_locks(&load, ACCOUNTS)),
    ])?;
    ratio(report, "bank", &ordered, &locked, &free, 3.0);
    let hoped = bank::without_order(&load, ACCOUNTS);
    let part = ordered.per_second() / hoped.per_second();
    let shown = format!("{:.0} %, {:.0}/s without", part * 100.0, hoped.per_second());
    report.figure("bank beside no order at all", &shown, "94 % (paper)", part >= 0.94);
    Ok(())
}

/// Alternates the measurements, so that other load affects all of them; returns each store's run with the median rate.
fn in_turns<const N: usize>(
    stores: [&dyn Fn() -> Result<Outcome, String>; N],
) -> Result<[Outcome; N], String> {
    let mut runs: [Vec<Outcome>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..TURNS {
        for (store, runs) in stores.iter().zip(&mut runs) {
            runs.push(right(store()?)?);
        }
    }
    Ok(runs.map(|mut runs| {
        runs.sort_by(|a, b| a.per_second().total_cmp(&b.per_second()));
        runs.swap_remove(TURNS / 2)
    }))
}

fn right(outcome: Outcome) -> Result<Outcome, String> {
    outcome.verdict.clone().map(|()| outcome)
}

/// Beside the twin that locks by a service, and the one whose shards lock for nothing.
fn ratio(report: &mut Report, name: &str, ordered: &Outcome, locked: &Outcome, free: &Outcome, paper: f64) {
    for (how, outcome) in [("ordered", ordered), ("with a lock service", locked), ("with free locks", free)] {
        report.note(format!(
            "{name}: {:.0}/s {how}, {:.2} awaited calls an operation, {} began again",
            outcome.per_second(),
            outcome.calls as f64 / outcome.operations as f64,
            outcome.repeated
        ));
    }
    let times = ordered.per_second() / locked.per_second();
    report.note(format!("{name}: {:.2} times the free locks", ordered.per_second() / free.per_second()));
    let name = format!("{name} beside its lock service");
    report.figure(&name, &format!("{times:.2} times"), &format!("{paper} times (paper)"), times >= paper);
}

/// The network of the paper's figure: lines of two numbers.
fn twitter(folder: &Path) -> Result<Social, String> {
    let text = data::text(folder, NETWORK)?;
    let mut friendships = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(a)), Some(Ok(b))) = (numbers.next(), numbers.next()) else {
            return Err(format!("{NETWORK}: `{line}` is no edge"));
        };
        friendships.push((a, b));
    }
    let people = friendships.iter().map(|(a, b)| a.max(b) + 1).max().ok_or("it has no edges")?;
    Ok(Social::new(people, friendships))
}
