//! Figure 5.3: questions a second by the number of replicas, asked by 64 clients that go round them.
//!
//! All replicas and the clients share this machine's cores, so the sums cannot grow with the replicas here. Measured as well is the processor time
//! that a question costs, at the replica that answers and beside it at the leader, which confirms what is concurrent; from these the throughput of
//! replicas with a core each is computed.

use super::group::Group;
use super::preloaded::{EVENTS, ORDERS, Preloaded, connect, runtime};
use crate::report::Report;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use world::chance::Chance;
use world::clock::{after_ns, monotonic_ns};

const CLIENTS: u64 = 64;
const WARM_UP: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(5);
const REPLICAS_MAX: usize = 3;
const MODELLED: [usize; 6] = [1, 2, 3, 6, 9, 12];
/// Of twelve replicas, by the model, over one.
const SCALE_TARGET: f64 = 10.0;

struct Measured {
    rate: f64,
    /// Processor time of each replica for each question of all, in microseconds.
    cpu_us: Vec<f64>,
    leader: usize,
}

pub(super) fn run(report: &mut Report) -> Result<(), String> {
    report.section(&format!("figure 5.3: query_order, {EVENTS} events, {ORDERS} orders, {CLIENTS} clients"));
    let mut last = None;
    for count in 1..=REPLICAS_MAX {
        let group = match Group::start(count) {
            Ok(group) => group,
            Err(why) => {
                report.skipped("query_order by replicas", &why);
                return Ok(());
            }
        };
        let measured = runtime()?.block_on(measure(&group))?;
        let cpu = measured.cpu_us.iter().map(|us| format!("{us:.1}")).collect::<Vec<_>>().join(" + ");
        report.note(format!(
            "{count} replicas, on the same cores: {:.1} k/s; processor time a question {cpu} us",
            measured.rate / 1e3
        ));
        last = Some(measured);
    }
    if let Some(measured) = last {
        model(report, &measured);
    }
    Ok(())
}

/// `n` replicas with a core each: the leader has its share of the questions, and confirms for all.
fn model(report: &mut Report, measured: &Measured) {
    let count = measured.cpu_us.len() as f64;
    let others: f64 =
        measured.cpu_us.iter().enumerate().filter(|(at, _)| *at != measured.leader).map(|(_, us)| us).sum();
    let answering_us = others / (count - 1.0) * count;
    let leading_us = (measured.cpu_us[measured.leader] - answering_us / count).max(0.0);
    let rate = |replicas: usize| 1e6 / (answering_us / replicas as f64 + leading_us);
    report.note(format!(
        "model: {answering_us:.1} us where it is answered, {leading_us:.2} us more at the leader"
    ));
    for replicas in MODELLED {
        report.note(format!("model: {replicas:>2} replicas   {:6.1} k/s", rate(replicas) / 1e3));
    }
    let scale = rate(12) / rate(1);
    let shown = format!("{scale:.1} times one");
    report.figure(
        "12 replicas, by the model",
        &shown,
        "10 times (paper: proportional)",
        scale > SCALE_TARGET,
    );
}

async fn measure(group: &Group) -> Result<Measured, String> {
    let kronos = connect(group.addresses()).await?;
    let preloaded = Arc::new(Preloaded::load(&kronos).await?);
    let asked = Arc::new(AtomicU64::new(0));
    let end_ns = after_ns(WARM_UP + MEASURED);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (kronos, preloaded, asked) = (kronos.clone(), preloaded.clone(), asked.clone());
            tokio::spawn(async move {
                let mut chance = Chance::seeded(super::SEED + client);
                while monotonic_ns() < end_ns {
                    preloaded.ask(&kronos, &mut chance).await?;
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<(), String>(())
            })
        })
        .collect();
    tokio::time::sleep(WARM_UP).await;
    let (began_ns, before, cpu_before) = (monotonic_ns(), asked.load(Ordering::Relaxed), group.cpu_seconds());
    for client in clients {
        client.await.map_err(super::fault)??;
    }
    let questions = (asked.load(Ordering::Relaxed) - before) as f64;
    let cpu = group.cpu_seconds().into_iter().zip(cpu_before);
    let leader = kronos.stats().await.map_err(super::fault)?.leader;
    Ok(Measured {
        rate: questions * 1e9 / (monotonic_ns() - began_ns) as f64,
        cpu_us: cpu.map(|(after, before)| (after - before) * 1e6 / questions).collect(),
        leader: group.addresses().iter().position(|address| *address == leader).unwrap_or(0),
    })
}
