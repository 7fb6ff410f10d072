//! How programs scale (Weaver, Figures 5.9 and 5.10): reads of one node with one to three gates, local clustering coefficients with one to three shards; and what the
//! first would be with up to eight gates that have a machine each, by a simulation with the costs that were measured ([`model`](super::model)).

use super::model::{self, Costs, Size};
use super::processes::Cluster;
use super::{MEASURED_NS, NO_POSTGRES, WARM_UP_NS, client};
use crate::power_law::Graph;
use crate::report::Report;
use database::{Params, params};
use std::collections::BTreeSet;
use std::path::Path;
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::threads::in_parallel;

/// The part's name in `--only`.
pub const NAME: &str = "programs";
/// Gates that are measured with [`SHARDS`], and shards with one gate.
const MEASURED: [u16; 3] = [1, 2, 3];
const SHARDS: u16 = 2;
/// Gates and shards that are simulated.
const SIMULATED: [usize; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
/// Clients of each gate.
const CLIENTS: usize = 16;
/// Clients of each gate that is simulated: enough that it has always something to do.
const SIMULATED_CLIENTS: usize = 64;
/// A message between two machines of one network.
const MESSAGE_US: f64 = 50.0;
const SEED: u64 = 59;

/// The paper's figures, where its text says them: with eight gates, in programs a second.
const PAPER_8_GATES: f64 = 2_000_000.0;

const GET_NODE: &str = "MATCH (n:N {id: $id}) RETURN n.id";
const GET_NODE_NO_OLDER: &str = "READ NO OLDER THAN 2 s MATCH (n:N {id: $id}) RETURN n.id";
/// Edges among the neighbours of a node.
const CLUSTERING: &str = "MATCH (:N {id: $id})-[:E]-(near) WITH collect(DISTINCT near) AS all UNWIND all AS a MATCH (a)-[:E]->(b) WHERE b IN all RETURN count(*)";

/// The completed operations of a number of clients, and the processor time of each role meanwhile.
struct Run {
    programs: f64,
    seconds: f64,
    gates_us: f64,
    shards_us: f64,
    stamps: f64,
    nops: f64,
}

impl Run {
    fn rate(&self) -> f64 {
        self.programs / self.seconds
    }
}

/// Measures both; `database` holds the network.
pub fn run(network: &Graph, database: &Path, place: &Path, report: &mut Report) -> Result<(), String> {
    report.section("Figure 5.9: reads of one node, by gates");
    let get_node = |id: i64| vec![id];
    let mut costs = Costs { message_us: MESSAGE_US, ..Costs::default() };
    for gates in MEASURED {
        let Some(cluster) =
            Cluster::up(place.join(format!("gates-{gates}")), (gates, SHARDS), database, &[])?
        else {
            report.skipped("all", NO_POSTGRES);
            return Ok(());
        };
        if gates == 1 {
            let all = drive(&cluster, network, GET_NODE_NO_OLDER, &get_node)?;
            costs.read_us = all.gates_us / all.programs;
        }
        let all = drive(&cluster, network, GET_NODE, &get_node)?;
        learn(&mut costs, gates, &all);
        report.note(format!(
            "{gates} gates, {SHARDS} shards: {:.0}/s; processor time a program: gates {:.0} us, shards {:.0} us; {:.2} rounds a program",
            all.rate(),
            all.gates_us / all.programs,
            all.shards_us / all.programs,
            all.stamps / all.programs
        ));
    }
    report.note(format!(
        "all on the cores of this machine; costs: a read {:.0} us, a round {:.0} us at its gate, {:.0} us at each shard, a NOP of another gate {:.0} us",
        costs.read_us, costs.round_us, costs.shard_us, costs.nop_us
    ));
    let simulated = |shards: usize| {
        let one = |gates| model::throughput(costs, Size { gates, shards, clients: SIMULATED_CLIENTS });
        SIMULATED.map(|gates| format!("{gates}: {:.0}", one(gates))).join(", ")
    };
    for shards in [usize::from(SHARDS), 8] {
        report.note(format!(
            "SIMULATED with these costs, a core for each process, messages of {MESSAGE_US} us, {shards} shards; programs a second by gates: {}",
            simulated(shards)
        ));
    }
    report.note(format!("paper: linear in gates, {PAPER_8_GATES:.0}/s with 8 (28 machines of 8 cores)"));
    clustering(network, database, place, report)
}

/// Computes costs from the differences between runs of one and of two gates.
fn learn(costs: &mut Costs, gates: u16, all: &Run) {
    let rounds_us = (all.gates_us - all.programs * costs.read_us).max(0.0);
    let foreign = all.nops - all.stamps * f64::from(SHARDS);
    match gates {
        1 => {
            costs.round_us = rounds_us / all.stamps;
            costs.shard_us = all.shards_us / (all.stamps * f64::from(SHARDS));
        }
        2 => costs.nop_us = ((rounds_us - all.stamps * costs.round_us) / foreign.max(1.0)).max(0.0),
        _ => {}
    }
}

fn clustering(network: &Graph, database: &Path, place: &Path, report: &mut Report) -> Result<(), String> {
    report.section("Figure 5.10: local clustering coefficients, by shards");
    let right = |id: i64| vec![edges_among_neighbours(network, id as u32)];
    for shards in MEASURED {
        let Some(cluster) = Cluster::up(place.join(format!("shards-{shards}")), (1, shards), database, &[])?
        else {
            report.skipped("all", NO_POSTGRES);
            return Ok(());
        };
        let all = drive(&cluster, network, CLUSTERING, &right)?;
        report.note(format!(
            "1 gate, {shards} shards: {:.0}/s; processor time a program: gate {:.0} us, shards {:.0} us",
            all.rate(),
            all.gates_us / all.programs,
            all.shards_us / all.programs
        ));
    }
    report.note("paper: linear in shards, to 9. Here a gate has fetched what it reads and runs the program itself: gates are what to add");
    Ok(())
}

/// Edges whose ends are both neighbours of a node, along edges of either direction; loops of the node make it its own.
fn edges_among_neighbours(network: &Graph, id: u32) -> i64 {
    let mut near: BTreeSet<u32> = network.neighbours(id).iter().copied().collect();
    near.extend((0..network.vertex_count()).filter(|other| network.neighbours(*other).contains(&id)));
    near.iter().flat_map(|one| network.neighbours(*one)).filter(|target| near.contains(target)).count() as i64
}

/// All clients ask about nodes by chance for a time; every answer is checked.
fn drive(
    cluster: &Cluster,
    network: &Graph,
    text: &str,
    right: &(dyn Fn(i64) -> Vec<i64> + Sync),
) -> Result<Run, String> {
    let urls = cluster.gates();
    let begin_ns = monotonic_ns() + WARM_UP_NS;
    let end_ns = begin_ns + MEASURED_NS;
    let measured = || -> Result<_, String> {
        Ok((cluster.figures()?, cluster.processor_seconds("gate"), cluster.processor_seconds("shard")))
    };
    let answers =
        in_parallel("client", CLIENTS * urls.len() + 1, |number| -> Result<(f64, Option<Run>), String> {
            if number == CLIENTS * urls.len() {
                world::threads::sleep(std::time::Duration::from_nanos(
                    begin_ns.saturating_sub(monotonic_ns()),
                ));
                let (before, gates, shards) = measured()?;
                let from_ns = monotonic_ns();
                world::threads::sleep(std::time::Duration::from_nanos(end_ns.saturating_sub(from_ns)));
                let seconds = (monotonic_ns() - from_ns) as f64 / 1e9;
                let (after, gates_then, shards_then) = measured()?;
                let done = after.since(&before);
                let run = Run {
                    programs: 0.0,
                    seconds,
                    gates_us: (gates_then - gates) * 1e6,
                    shards_us: (shards_then - shards) * 1e6,
                    stamps: done.read_stamps,
                    nops: done.nops,
                };
                return Ok((0.0, Some(run)));
            }
            let mut client = client::connect(&urls[number % urls.len()])?;
            let (mut chance, mut programs) = (Chance::seeded(SEED + number as u64), 0);
            while monotonic_ns() < end_ns {
                let id = chance.below(network.vertex_count() as u64) as i64;
                let params: Params = params! {"id" => id};
                let found = client::asked(&mut client, text, &params)?;
                if found != right(id) {
                    return Err(format!("{text} of {id}: {found:?} instead of {:?}", right(id)));
                }
                programs += u64::from(monotonic_ns() >= begin_ns);
            }
            Ok((programs as f64, None))
        });
    let (mut programs, mut run) = (0.0, None);
    for answer in answers {
        let (some, of) = answer?;
        programs += some;
        run = run.or(of);
    }
    run.map(|run| Run { programs, ..run }).ok_or_else(|| "nobody measured".to_string())
}
