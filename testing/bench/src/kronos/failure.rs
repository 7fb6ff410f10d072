//! Figure 5.8: throughput around the loss of one of three replicas: the leader is killed (SIGKILL) while clients ask and write, and comes back later.

use super::fault;
use super::group::Group;
use super::preloaded::{Preloaded, connect, runtime};
use crate::report::Report;
use kronos_client::{Constraint, Kronos, Order};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use world::chance::Chance;
use world::clock::{monotonic_ns, span_ns};

const ASKING: u64 = 32;
const WRITING: u64 = 8;
const BUCKET: Duration = Duration::from_millis(100);
const KILLED_AT: usize = 30;
const BACK_AT: usize = 65;
const BUCKETS: usize = 100;
/// Buckets before the kill from which the usual rate is taken.
const USUAL: std::ops::Range<usize> = 10..30;
const BACK_TARGET_S: f64 = 2.0;

#[derive(Default)]
struct Counts {
    questions: AtomicU64,
    writes: AtomicU64,
    failures: AtomicU64,
    done: AtomicBool,
}

pub(super) fn run(report: &mut Report) -> Result<(), String> {
    report.section(&format!(
        "figure 5.8: the leader of three is killed; {ASKING} clients ask, {WRITING} write"
    ));
    let mut group = match Group::start(3) {
        Ok(group) => group,
        Err(why) => {
            report.skipped("throughput around a loss", &why);
            return Ok(());
        }
    };
    let counts = Arc::new(Counts::default());
    let buckets = runtime()?.block_on(drive(&mut group, &counts))?;
    for (what, at) in [("questions", 0), ("writes", 1)] {
        let rates: Vec<u64> = buckets.iter().map(|bucket| bucket[at]).collect();
        let usual = rates[USUAL].iter().sum::<u64>() as f64 / USUAL.len() as f64;
        let slow = |rate: &u64| (*rate as f64) < usual / 2.0;
        let last_slow = rates[KILLED_AT..BACK_AT].iter().rposition(slow).map_or(0, |at| at + 1);
        let back_s = last_slow as f64 * BUCKET.as_secs_f64();
        let per_second =
            |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len() as f64 / BUCKET.as_secs_f64();
        report.note(format!(
            "{what} a second: {:.0} before, {:.0} in the worst 0.1 s, {:.0} without the third, {:.0} with it again",
            per_second(&rates[USUAL]),
            *rates[KILLED_AT..BACK_AT].iter().min().unwrap_or(&0) as f64 / BUCKET.as_secs_f64(),
            per_second(&rates[BACK_AT - 10..BACK_AT]),
            per_second(&rates[BUCKETS - 10..])
        ));
        let name = format!("{what}: half of the usual rate again");
        report.figure(&name, &format!("after {back_s:.1} s"), "within 2 s", back_s <= BACK_TARGET_S);
    }
    let failures = counts.failures.load(Ordering::Relaxed);
    report.figure("errors at clients that retry", &failures.to_string(), "none", failures == 0);
    Ok(())
}

/// Questions and writes done in each bucket.
async fn drive(group: &mut Group, counts: &Arc<Counts>) -> Result<Vec<[u64; 2]>, String> {
    let kronos = connect(group.addresses()).await?;
    let preloaded = Arc::new(Preloaded::load(&kronos).await?);
    let mut clients = Vec::new();
    for client in 0..ASKING + WRITING {
        let (kronos, preloaded, counts) =
            (connect(group.addresses()).await?, preloaded.clone(), counts.clone());
        clients.push(tokio::spawn(async move {
            let mut chance = Chance::seeded(super::SEED + client);
            while !counts.done.load(Ordering::Relaxed) {
                let (outcome, count) = if client < ASKING {
                    (preloaded.ask(&kronos, &mut chance).await, &counts.questions)
                } else {
                    (write(&kronos).await, &counts.writes)
                };
                match outcome {
                    Ok(()) => count.fetch_add(1, Ordering::Relaxed),
                    Err(error) => {
                        eprintln!("{error}");
                        counts.failures.fetch_add(1, Ordering::Relaxed)
                    }
                };
            }
        }));
    }
    let (mut buckets, mut before, mut killed) = (Vec::new(), [0, 0], 0);
    let began_ns = monotonic_ns();
    for bucket in 0..BUCKETS {
        if bucket == KILLED_AT {
            let leader = kronos.stats().await.map_err(fault)?.leader;
            killed = group.addresses().iter().position(|address| *address == leader).unwrap_or(0);
            group.kill(killed)?;
        } else if bucket == BACK_AT {
            group.restart(killed)?;
        }
        let end_ns = began_ns + span_ns(BUCKET) * (bucket as u64 + 1);
        tokio::time::sleep(Duration::from_nanos(end_ns.saturating_sub(monotonic_ns()))).await;
        let now = [counts.questions.load(Ordering::Relaxed), counts.writes.load(Ordering::Relaxed)];
        buckets.push([now[0] - before[0], now[1] - before[1]]);
        before = now;
    }
    counts.done.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.map_err(fault)?;
    }
    Ok(buckets)
}

/// Creates two events, orders them and releases them: three changes, each answer checked.
async fn write(kronos: &Kronos) -> Result<(), String> {
    let events = kronos.create_events(2).await.map_err(fault)?;
    let assigned =
        kronos.assign_order(&[Constraint::must(events[0], Order::Before, events[1])]).await.map_err(fault)?;
    let collected = kronos.release_refs(&[events[1], events[0]]).await.map_err(fault)?;
    match (assigned.first(), collected) {
        (Some(one), 2) if one.order == Order::Before && one.decided => Ok(()),
        other => Err(format!("wrong: {other:?}")),
    }
}
