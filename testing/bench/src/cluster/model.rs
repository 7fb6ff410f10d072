//! Reads of a cluster as queues, with costs that were measured: what its throughput would be if each process had a machine of its own.
//!
//! ```text
//!   clients of a gate ── wait ──> a round: gate ── to each shard ── asks each other gate for a NOP ──> shard answers ──> gate ── answers each read of the round
//! ```
//! Each process is one server with one queue; a message takes a time of its own. A read that comes while a round is under way waits for the next, with all others who
//! come meanwhile, as in the program. Clients ask again at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Costs of each process per operation, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// A gate, for one read: its session, and the query.
    pub read_us: f64,
    /// A gate, for one round of its own.
    pub round_us: f64,
    /// A gate, for a NOP that a shard requests because of another gate's round.
    pub nop_us: f64,
    /// A shard, for one round.
    pub shard_us: f64,
    /// A message on its way.
    pub message_us: f64,
}

/// The cluster that is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub gates: usize,
    pub shards: usize,
    /// Clients of each gate.
    pub clients: usize,
}

/// Simulated time.
const SIMULATED_US: f64 = 400_000.0;

#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    /// A client's read comes to its gate.
    Asked(usize),
    /// The gate has begun its round.
    Begun(usize),
    /// The read of this gate's round is at the shard.
    AtShard { gate: usize, shard: usize },
    /// Another gate was asked for a NOP for it.
    Wanted { other: usize, gate: usize, shard: usize },
    /// Another gate has made the NOP for it.
    Nop { gate: usize, shard: usize },
    /// All that the shard waits for is there.
    Served { gate: usize, shard: usize },
    /// The shard's answer is at the gate.
    Answered(usize),
    /// One read of the gate's round is answered.
    Done(usize),
}

struct Simulation {
    costs: Costs,
    size: Size,
    /// By time; then in the order in which they were made.
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    made: Vec<What>,
    gates_free_us: Vec<f64>,
    shards_free_us: Vec<f64>,
    waiting: Vec<usize>,
    /// Reads of the round under way, and shards that have not answered.
    rounds: Vec<Option<(usize, usize)>>,
    /// NOPs that a shard waits for in a gate's round.
    missing: Vec<usize>,
    done: u64,
}

/// Reads a second.
pub fn throughput(costs: Costs, size: Size) -> f64 {
    let mut simulation = Simulation {
        costs,
        size,
        events: BinaryHeap::new(),
        made: Vec::new(),
        gates_free_us: vec![0.0; size.gates],
        shards_free_us: vec![0.0; size.shards],
        waiting: vec![0; size.gates],
        rounds: vec![None; size.gates],
        missing: vec![0; size.gates * size.shards],
        done: 0,
    };
    for gate in 0..size.gates {
        (0..size.clients).for_each(|_| simulation.at(0.0, What::Asked(gate)));
    }
    while let Some(Reverse((at_ns, _, what))) = simulation.events.pop() {
        let now_us = at_ns as f64 / 1e3;
        if now_us > SIMULATED_US {
            break;
        }
        simulation.step(now_us, simulation.made[what]);
    }
    simulation.done as f64 * 1e6 / SIMULATED_US
}

impl Simulation {
    fn at(&mut self, time_us: f64, what: What) {
        let number = self.made.len();
        self.made.push(what);
        self.events.push(Reverse(((time_us * 1e3) as u64, number as u64, number)));
    }
    /// The gate works for so long as soon as it can; then something happens, after a message if there is one.
    fn gate_works(&mut self, gate: usize, (now_us, cost_us): (f64, f64), behind_us: f64, what: What) {
        let end_us = self.gates_free_us[gate].max(now_us) + cost_us;
        self.gates_free_us[gate] = end_us;
        self.at(end_us + behind_us, what);
    }
    fn begin(&mut self, now_us: f64, gate: usize) {
        let reads = std::mem::take(&mut self.waiting[gate]);
        if reads > 0 {
            self.rounds[gate] = Some((reads, self.size.shards));
            self.gate_works(gate, (now_us, self.costs.round_us), self.costs.message_us, What::Begun(gate));
        }
    }
    fn step(&mut self, now_us: f64, what: What) {
        let (costs, size) = (self.costs, self.size);
        match what {
            What::Asked(gate) => {
                self.waiting[gate] += 1;
                if self.rounds[gate].is_none() {
                    self.begin(now_us, gate);
                }
            }
            What::Begun(gate) => {
                (0..size.shards).for_each(|shard| self.at(now_us, What::AtShard { gate, shard }));
            }
            What::AtShard { gate, shard } => {
                self.missing[gate * size.shards + shard] = size.gates - 1;
                for other in (0..size.gates).filter(|other| *other != gate) {
                    self.at(now_us + costs.message_us, What::Wanted { other, gate, shard });
                }
                if size.gates == 1 {
                    self.at(now_us, What::Served { gate, shard });
                }
            }
            What::Wanted { other, gate, shard } => {
                self.gate_works(other, (now_us, costs.nop_us), costs.message_us, What::Nop { gate, shard });
            }
            What::Nop { gate, shard } => {
                let missing = &mut self.missing[gate * size.shards + shard];
                *missing -= 1;
                if *missing == 0 {
                    self.at(now_us, What::Served { gate, shard });
                }
            }
            What::Served { gate, shard } => {
                let end_us = self.shards_free_us[shard].max(now_us) + costs.shard_us;
                self.shards_free_us[shard] = end_us;
                self.at(end_us + costs.message_us, What::Answered(gate));
            }
            What::Answered(gate) => {
                let Some((reads, missing)) = self.rounds[gate] else { return };
                if missing > 1 {
                    self.rounds[gate] = Some((reads, missing - 1));
                    return;
                }
                self.rounds[gate] = None;
                (0..reads)
                    .for_each(|_| self.gate_works(gate, (now_us, costs.read_us), 0.0, What::Done(gate)));
                self.begin(now_us, gate);
            }
            What::Done(gate) => {
                self.done += 1;
                self.at(now_us, What::Asked(gate));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where one station has all the work, its cost alone is the limit; a second gate doubles what gates limit, and nothing that shards limit. Where reads
    /// cost nothing but their round, the first of those that were answered begins the next alone, and all others wait for the one behind it: 64 in two.
    #[test]
    fn the_dearest_station_is_the_limit() {
        let size = |gates| Size { gates, shards: 2, clients: 64 };
        let gates = Costs { read_us: 100.0, ..Costs::default() };
        let shards = Costs { shard_us: 6_400.0, ..Costs::default() };
        for (costs, gates, wanted) in
            [(gates, 1, 10_000.0), (gates, 2, 20_000.0), (shards, 1, 5_000.0), (shards, 2, 5_000.0)]
        {
            let found = throughput(costs, size(gates));
            assert!(
                (found / wanted - 1.0).abs() < 0.05,
                "{costs:?}, {gates} gates: {found} instead of {wanted}"
            );
        }
    }

    #[test]
    fn a_message_costs_time_and_no_throughput_while_reads_share_rounds() {
        let costs = Costs { read_us: 50.0, round_us: 100.0, nop_us: 20.0, shard_us: 50.0, message_us: 30.0 };
        let size = Size { gates: 4, shards: 3, clients: 64 };
        let slow = Costs { message_us: 300.0, ..costs };
        let (near, far) = (throughput(costs, size), throughput(slow, size));
        assert!(near > 30_000.0 && near < 80_000.0, "{near}");
        assert!(far < near, "{far} {near}");
    }
}
